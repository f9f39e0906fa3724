"""Real localization files: how many are read, and whether a new text changes anything else.

    python -m wmt.formats [--data DIR] [--units 20] [--kind po] [-f FORMAT] [--show]

``formats/KIND/`` of the data has files from public repositories. Each file is read or refused. In a file that is read,
every target is written as it is, and the bytes must be the same. Then ``--units`` of its units (0: all) get a new text,
one at a time: no other unit may differ, and a parser that isn't part of this project must find the new text once, if it
can read the original. ``--show`` prints the messages of the files that are refused.

A file with one language is its own file of sources. Tables, translation memories and glossaries are only read.
"""

from __future__ import annotations

import argparse
import io
import json
import plistlib
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import docx
import javaproperties
import openpyxl  # type: ignore[import-untyped]
import openstep_plist  # type: ignore[import-untyped]
import polib
import webvtt
import yaml
from lxml import etree
from lxml import html as lxml_html
from markdown_it import MarkdownIt

from mtagent.errors import MtagentError
from mtagent.formats import by_path, document_format
from mtagent.formats.documents import (
    LocalizationFile,
    TranslationUnit,
    fault,
    marked_encoding,
    placeholders,
    replaced,
)
from mtagent.formats.glossary import is_tbx, read_tbx
from mtagent.formats.segments import SegmentDefaults
from mtagent.formats.tmx import TmxFile
from mtagent.text.table import FORMS, Table
from wmt.lib.data import DATA, refuse_absent, run

MARKER = "ZYX <&> ZYX"
RUNNING_TEXT = {".srt", ".vtt", ".md", ".html", ".docx", ".xlsx"}
"""Their own texts are the sources; a translation takes the place of its source."""
WITH_SOURCES = {".xlf", ".xliff", ".sdlxliff", ".po", ".pot", ".xcstrings"}
LANGUAGE = "es"
"""The language that is written in a file of several languages."""
HEAD = (
    "kind",
    "files",
    "read",
    "refused",
    "refused, but read by the other parser",
    "same bytes",
    "units",
    "replaced",
    "checked by the other parser",
    "found there",
)


# -- parsers that are not part of this project


def decoded(data: bytes) -> str:
    """The characters of a file in UTF-8 or UTF-16, or else in ISO-8859-1."""
    mark, encoding = marked_encoding(data)
    try:
        return data[len(mark) :].decode(encoding or "utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def xml_text(data: bytes) -> str:
    """The texts of an XML file."""
    return "".join(etree.fromstring(data).itertext())


def plist_text(data: bytes) -> str:
    """The texts of a property list, which plistlib reads, too."""
    plistlib.loads(data)
    return xml_text(data)


def catalogue_text(data: bytes) -> str:
    """The translations of a PO file."""
    messages = []
    for entry in polib.pofile(decoded(data)):
        messages += [entry.msgstr, *entry.msgstr_plural.values()]
    return "\n".join(messages)


def strings_in(value: object) -> Iterator[str]:
    """All texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from strings_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings_in(each)


def json_text(data: bytes) -> str:
    """The texts of a JSON file."""
    return "\n".join(strings_in(json.loads(data)))


def yaml_text(data: bytes) -> str:
    """The texts of a YAML file."""
    events = yaml.parse(data, Loader=yaml.SafeLoader)
    return "\n".join(event.value for event in events if isinstance(event, yaml.ScalarEvent))


def markdown_text(data: bytes) -> str:
    """The texts of a Markdown file, with entities and escapes undone."""
    texts = []
    for token in MarkdownIt("commonmark").enable("table").parse(decoded(data)):
        for child in token.children or ():
            texts += [child.content, *map(str, child.attrs.values())]
    return "\n".join(texts)


def html_text(data: bytes) -> str:
    """The texts and attributes of an HTML file."""
    page = lxml_html.document_fromstring(decoded(data).encode(), parser=lxml_html.HTMLParser(encoding="utf-8"))
    texts = list(page.itertext())
    for element in page.iter():
        texts += map(str, element.attrib.values())
    return "".join(texts)


def word_text(data: bytes) -> str:
    """The texts of the parts of a Word file that python-docx opens."""
    package = docx.Document(io.BytesIO(data)).part.package
    assert package is not None
    texts = []
    for part in package.iter_parts():
        if part.partname.startswith("/word/") and part.partname.endswith(".xml"):
            root = etree.fromstring(part.blob)
            for repeated in root.iter("{*}Fallback"):  # text boxes are there a second time, for older programs
                repeated.clear()
            texts += root.itertext()
    return "".join(texts)


def workbook_text(data: bytes) -> str:
    """The texts of the cells of an Excel file, each once."""
    texts: set[str] = set()
    sheets = openpyxl.load_workbook(io.BytesIO(data)).worksheets
    if not sheets:
        raise ValueError("openpyxl finds no sheet in a file of Strict Open XML")
    for sheet in sheets:
        for row in sheet.iter_rows(values_only=True):
            texts.update(str(value) for value in row if value is not None)
    return "\n".join(texts)


def captions_text(form: str) -> Callable[[bytes], str]:
    """The texts of a file of subtitles."""

    def text(data: bytes) -> str:
        file = webvtt.from_buffer(io.StringIO(decoded(data)), format=form)
        return "\n".join(caption.text for caption in file.captions)

    return text


OTHER_PARSERS: dict[str, tuple[str, Callable[[bytes], str]]] = {
    ".sdlxliff": ("lxml", xml_text),
    ".xlf": ("lxml", xml_text),
    ".xliff": ("lxml", xml_text),
    ".po": ("polib", catalogue_text),
    ".pot": ("polib", catalogue_text),
    ".json": ("json", json_text),
    ".arb": ("json", json_text),
    ".xcstrings": ("json", json_text),
    ".yaml": ("PyYAML", yaml_text),
    ".yml": ("PyYAML", yaml_text),
    ".properties": ("javaproperties", lambda data: "\n".join(javaproperties.loads(decoded(data)).values())),
    ".strings": ("openstep-plist", lambda data: "\n".join(openstep_plist.loads(decoded(data)).values())),
    ".stringsdict": ("plistlib", plist_text),
    ".xml": ("lxml", xml_text),
    ".resx": ("lxml", xml_text),
    ".srt": ("webvtt-py", captions_text("srt")),
    ".vtt": ("webvtt-py", captions_text("vtt")),
    ".md": ("markdown-it-py", markdown_text),
    ".html": ("lxml", html_text),
    ".docx": ("python-docx", word_text),
    ".xlsx": ("openpyxl", workbook_text),
}


def text_by_others(kind: str, data: bytes) -> str | None:
    """The texts that the other parser finds; ``None`` if it cannot read the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return OTHER_PARSERS[kind][1](data)
    except Exception:  # noqa: BLE001 - each library has errors of its own
        return None


# -- one file


def open_document(path: Path, original: Path) -> LocalizationFile:
    """The file; ``original`` is the file of sources of one with one language."""
    form = document_format(path)
    if path.suffix == ".xcstrings":
        return form.open(path, target_lang=LANGUAGE)
    if path.suffix in WITH_SOURCES or path.suffix in RUNNING_TEXT:
        return form.open(path)
    return form.open(path, original)


def texts_of(document: LocalizationFile, kind: str) -> list[tuple[str, str]]:
    """The id and the writable text of each unit. Running text has its id from its text."""
    if kind in RUNNING_TEXT:
        return [("", unit.source) for unit in document.units]
    return [(unit.id, unit.target or "") for unit in document.units]


def new_text(document: LocalizationFile, unit: TranslationUnit) -> str | None:
    """The marker with all that the unit's text must keep; ``None`` if the unit must not change or is too short."""
    if unit.protected or (unit.max_length or len(MARKER)) < len(MARKER):
        return None
    start = "\n" * unit.source.startswith("\n")
    end = "\n" * unit.source.endswith("\n")
    target = f"{start}{MARKER}{''.join(placeholders(unit, unit.source))}{end}"
    suffix = document.path.suffix
    if suffix in (".srt", ".vtt"):
        target = " ".join([MARKER, *(f"{cut} YY" for cut in unit.inline)])
    elif suffix in RUNNING_TEXT:
        target = f"ZYX {unit.source}"
    return None if fault(document, unit, target) else target


def replace_each(document: LocalizationFile, original: Path, most_units: int, counts: Counter[str]) -> None:
    """Replace some units of a copy, one at a time. Raises :class:`AssertionError` if another one differs."""
    kind = document.path.suffix
    marker, marker_count = MARKER, 1
    if kind in RUNNING_TEXT:
        marker = "ZYX"
        marker_count = 2 if kind in (".srt", ".vtt") else 1
    before = texts_of(document, kind)
    is_read_by_others = text_by_others(kind, document.data) is not None
    step = max(1, len(before) // most_units) if most_units else 1
    for number, unit in list(enumerate(document.units))[::step]:
        target = new_text(document, unit)
        if target is None:
            counts["not replaced"] += 1
            continue
        new = replaced(document, {unit.id: target})
        document.path.write_bytes(new)
        after = texts_of(open_document(document.path, original), kind)
        differences = [place for place, texts in enumerate(zip(before, after, strict=True)) if texts[0] != texts[1]]
        assert differences == [number], f"{document.path}: {unit.id!r} changed the units {differences}"
        counts["replaced"] += 1
        if is_read_by_others:
            counts["checked"] += 1
            counts["found"] += (text_by_others(kind, new) or "").count(marker) == marker_count


def read_document(path: Path, folder: Path, most_units: int, counts: Counter[str]) -> None:
    """Read a localization file, write it as it is, and replace its units. Raises :class:`MtagentError`."""
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    document = open_document(copy, path)
    counts["read"] += 1
    counts["units"] += len(document.units)
    same: dict[str, str] = {}
    if path.suffix not in RUNNING_TEXT:
        for unit in document.units:
            if unit.target is not None and not unit.protected:
                same[unit.id] = unit.target
    counts["same"] += replaced(document, same) == path.read_bytes()
    replace_each(document, path, most_units, counts)


def read_other(path: Path, counts: Counter[str]) -> None:
    """Read a table, a translation memory or a glossary. Raises :class:`MtagentError`."""
    if path.suffix == ".tmx":
        languages = TmxFile(path).languages
        counts["units"] += len(list(TmxFile(path).entries(*languages[:2]))) if len(languages) > 1 else 0
    elif is_tbx(path):
        languages = [lang for lang in ("fr", "hu", "pt") if f'"{lang}"'.encode() in path.read_bytes()]
        counts["units"] += len(read_tbx(path, "en", languages[0]))
    else:
        languages_of_table = SegmentDefaults(source_lang="en", target_lang=LANGUAGE)
        counts["units"] += len(list(by_path(path).read(path, languages_of_table)))
    counts["read"] += 1


def row_of(folder: Path, temporary: Path, most_units: int, refusals: list[str]) -> tuple[str, ...]:
    """The row of a kind of file."""
    counts: Counter[str] = Counter()
    kind = f".{folder.name}"
    for path in sorted(folder.iterdir()):
        counts["files"] += 1
        try:
            if kind in OTHER_PARSERS:
                read_document(path, temporary, most_units, counts)
            else:
                read_other(path, counts)
        except MtagentError as error:
            counts["refused"] += 1
            is_read_by_others = kind in OTHER_PARSERS and text_by_others(kind, path.read_bytes()) is not None
            counts["valid"] += is_read_by_others
            refusals.append(f"{error}".replace(f"{folder.parent}/", "").replace(f"{temporary}/", f"{folder.name}/"))
    cells = [counts["files"], counts["read"], counts["refused"]]
    if kind not in OTHER_PARSERS:
        return (kind, *map(str, cells), "–", "–", str(counts["units"]), "–", "–", "–")
    names = ("valid", "same", "units", "replaced", "checked", "found")
    cells += [counts[name] for name in names]
    return (kind, *map(str, cells))


def summed(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The last row of the table."""
    sums: list[Any] = ["all"]
    for cells in zip(*(row[1:] for row in rows), strict=True):
        sums.append(str(sum(int(cell) for cell in cells if cell != "–")))
    return tuple(sums)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    parser.add_argument(
        "--units", type=int, default=20, help="units to replace in a file; 0: all (default: %(default)s)"
    )
    parser.add_argument("--kind", help="only files with this ending")
    parser.add_argument("--show", action="store_true", help="print why files are refused")
    parser.add_argument("-f", "--format", choices=sorted(FORMS), default="text", help="form of the table")
    options = parser.parse_args()
    refuse_absent(options.data / "formats" / "files.tsv")
    refusals: list[str] = []
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for folder in sorted((options.data / "formats").glob(options.kind or "*")):
            if folder.is_dir():
                rows.append(row_of(folder, Path(temporary), options.units, refusals))
    table = Table("Real localization files", HEAD, (*rows, summed(rows)))
    print(FORMS[options.format]([table], refusals if options.show else ()))  # noqa: T201


if __name__ == "__main__":
    run(main)
