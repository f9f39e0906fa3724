"""File formats: one file each, with its reader, writer and export; by name in the five tables below.

==================  ======================================================  =======================
``FORMATS``         segments in files: :class:`Format`                      ``postedit -s``, ``-o``
``RATING_FORMATS``  ratings to write: :class:`RatingFormat`                 ``rate -o``
``SPAN_FORMATS``    error spans to read: :class:`SpanFormat`                ``spans-file:path=``
``DOCUMENTS``       localization files: :class:`DocumentFormat`         ``postedit FILE…``
``EXPORTS``         what a run holds, for other tools: :class:`Export`      ``export --format``
==================  ======================================================  =======================

Another package adds a format of segments through the entry-point group ``mtagent.formats``: the entry's name is the
format's, its object is anything with the methods of :class:`Format`.
"""

from __future__ import annotations

import codecs
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal, TypeVar

from mtagent.errors import ConfigError, InputError
from mtagent.formats.annotations import BIO_MQM, COMET, Annotation, SpanFormat
from mtagent.formats.app_texts import APP_JSON, APP_YAML, ARB
from mtagent.formats.documents import DocumentFormat
from mtagent.formats.exports import STAGES, Export
from mtagent.formats.files import STANDARD, lines_of, parsed, spooled, whole_file
from mtagent.formats.html import HTML
from mtagent.formats.jsonl import JSONL, JSONL_LENIENT, JsonLines
from mtagent.formats.key_values import PROPERTIES, STRINGS
from mtagent.formats.markdown import MARKDOWN
from mtagent.formats.marot import MAROT
from mtagent.formats.mtme import MTME
from mtagent.formats.office import DOCX, XLSX
from mtagent.formats.parquet import PARQUET, Parquet
from mtagent.formats.pearmut import PEARMUT
from mtagent.formats.po import PO
from mtagent.formats.qt import TS
from mtagent.formats.ratings import RatingFormat
from mtagent.formats.segments import Format, Lines, Result, SegmentDefaults
from mtagent.formats.subtitles import SRT, VTT
from mtagent.formats.tables import CSV, TSV, TSV_QUOTED, SegmentTable
from mtagent.formats.wmt import ESA, WMT, WMT25
from mtagent.formats.workbook import WORKBOOK, Workbook
from mtagent.formats.xcstrings import XCSTRINGS
from mtagent.formats.xliff import XLIFF
from mtagent.formats.xml_resources import ANDROID, RESX, STRINGSDICT

ENTRY_POINTS = "mtagent.formats"
F = TypeVar("F", Format, RatingFormat, DocumentFormat)

FORMATS: dict[str, Format] = {
    form.name: form for form in (Lines(), TSV, TSV_QUOTED, CSV, JSONL, JSONL_LENIENT, PARQUET, WORKBOOK)
}
BINARY = (PARQUET.name, WORKBOOK.name)
"""The formats of segments that are not text."""
RATING_FORMATS: dict[str, RatingFormat] = {form.name: form for form in (JSONL, MTME, MAROT)}
SPAN_FORMATS: dict[str, SpanFormat] = {form.name: form for form in (MAROT, MTME, ESA, WMT, COMET, BIO_MQM, JSONL)}
SpanFormatName = Literal["marot", "mtme", "esa", "wmt", "comet", "bio-mqm", "jsonl"]
"""The names in ``SPAN_FORMATS``, for the option of ``spans-file``."""

_TWO_LANGUAGES = (XLIFF, PO, XCSTRINGS, TS)
_ONE_LANGUAGE = (APP_JSON, APP_YAML, ARB, PROPERTIES, STRINGS, ANDROID, RESX, STRINGSDICT)
_RUNNING_TEXT = (SRT, VTT, MARKDOWN, HTML, DOCX, XLSX)
DOCUMENTS: dict[str, DocumentFormat] = {form.name: form for form in (*_TWO_LANGUAGES, *_ONE_LANGUAGE, *_RUNNING_TEXT)}
RUNNING_TEXT = frozenset(form.name for form in _RUNNING_TEXT)
"""The documents that are only read if they are named one by one, since a folder may hold others like them."""
IN_FOLDERS = frozenset(form.name for form in _TWO_LANGUAGES)
"""The formats with sources and targets in one file, which are found in folders by their endings."""
EXPORTS: dict[str, Export] = {form.name: form for form in (MTME, MAROT, WMT25, PEARMUT, STAGES)}

_LOCALIZATION = (
    "is a localization file: `mtagent postedit FILE` and `mtagent translate FILE` improve it, without -s; `mtagent "
    "units` lists its texts; `mtagent export --like FILE` writes those of a run into it"
)
UNSUPPORTED = {
    "tmx": (
        "a translation memory",
        "give it with --memory, or convert it to csv with the columns source and translation",
    ),
    "tbx": ("a termbase", "which is not a text to translate: give it with --glossary"),
    "doc odt rtf pdf ppt pptx odp idml": ("a document with layout", "save its text as .txt, a segment a line"),
    "xls ods": ("a spreadsheet", "save it as .csv (UTF-8) with the columns source and translation"),
    "json5": ("JSON5", "convert it to .json, which `mtagent postedit FILE` improves"),
    "ftl": (
        "a file of an app's strings, whose keys and quotes are not text",
        "write its strings to .csv with the columns id, source and translation",
    ),
    "rst adoc tex": (
        "text with markup, whose code and links are not text",
        "extract its texts to .txt, a segment a line",
    ),
    "ass ssa sub": ("subtitles", "extract the texts to .txt, a subtitle a line"),
    "mo qm": ("a compiled catalogue", "start from the catalogue that it was compiled from"),
    "zip gz bz2 xz zst 7z tar xlz mqxlz sdlppx sdlrpx": ("compressed", "decompress it first"),
}
"""Endings of files that are known and have no segments: what such a file is, and the way out."""


@cache
def plugin_formats() -> dict[str, Format]:
    """The formats that other packages offer; a process loads them once, and only if it needs them."""
    offered: dict[str, Format] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        form = entry.load()
        if not isinstance(form, Format):
            raise ConfigError(f"the format {entry.name!r} ({entry.value}) lacks a name, suffixes, read or write")
        offered[entry.name] = form
    return offered


def by_path(path: Path, format_name: str | None = None) -> Format:
    """The format called ``format_name``, or else the format for the ending of the file's name, or ``lines``.

    Formats of other packages count too; the package's own go before them. Raises :class:`ConfigError` for
    standard input without a ``format_name``, and for files that are known not to be plain text.
    """
    if format_name is not None:
        form = FORMATS.get(format_name) or plugin_formats().get(format_name)
        if form is None:
            known = sorted({*FORMATS, *plugin_formats()})
            raise ConfigError(f"unknown format {format_name!r}; {_meant(format_name, known)}")
        return form
    form = by_suffix(path, FORMATS) or by_suffix(path, plugin_formats())
    if form:
        return form
    if path == STANDARD or (path.exists() and not path.is_file() and not path.is_dir()):
        file = "standard input or output" if path == STANDARD else str(path)
        names = ", ".join(sorted({*FORMATS, *plugin_formats()}))
        raise ConfigError(
            f"{file}: the name does not tell the format; give --format ({names}; `mtagent rate`: --input-format)"
        )
    if by_suffix(path, DOCUMENTS):
        hint = "; JSON Lines have an object a line, and end in .jsonl" if path.suffix.casefold() == ".json" else ""
        raise ConfigError(f"{path}: {_LOCALIZATION}{hint}")
    for endings, (kind, way_out) in UNSUPPORTED.items():
        if path.suffix[1:].casefold() in endings.split():
            raise ConfigError(f"{path}: is {kind}, which this command does not read or write; {way_out}")
    return FORMATS["lines"]


def with_columns(form: Format, path: Path, columns: Mapping[str, str], encoding: str | None) -> Format:
    """The format of a table whose fields have these ``columns``, and which has an ``encoding``.

    Raises :class:`ConfigError` for a format that isn't a table, or has always one encoding.
    """
    if columns:
        if not isinstance(form, SegmentTable | JsonLines | Parquet | Workbook):
            raise ConfigError(f"{path}: --columns is for tables: .csv, .tsv, .xlsx, .jsonl and .parquet")
        form = replace(form, columns=columns)
    if encoding is not None:
        if not isinstance(form, SegmentTable):
            raise ConfigError(f"{path}: --encoding is for .csv and .tsv")
        try:
            encoding = codecs.lookup(encoding).name
        except LookupError:
            raise ConfigError(f"--encoding: unknown encoding {encoding!r}; give one such as windows-1252") from None
        form = replace(form, encoding=encoding)
    return form


def other_endings() -> set[str]:
    """The endings of files that are neither texts nor tables, without their dots."""
    endings = set(" ".join(UNSUPPORTED).split())
    for form in DOCUMENTS.values():
        endings.update(suffix.removeprefix(".") for suffix in form.suffixes)
    return endings


def document_format(path: Path) -> DocumentFormat:
    """The format of localization files for the ending of the file's name. Raises :class:`ConfigError`."""
    form = by_suffix(path, DOCUMENTS)
    if form is None:
        endings = ", ".join(suffix for form in DOCUMENTS.values() for suffix in form.suffixes)
        raise ConfigError(f"{path}: the name tells no format of localization files; it must end in {endings}")
    return form


def by_suffix(path: Path, forms: Mapping[str, F]) -> F | None:
    """The first of ``forms`` for the ending of the file's name; ``None`` without one."""
    return next((form for form in forms.values() if path.name.casefold().endswith(form.suffixes)), None)


def _meant(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"there are {', '.join(known)}"


def rating_format(output: Path, name: str | None = None) -> RatingFormat:
    """The format called ``name``, or else the format for the ending of the file's name, or else ``jsonl``."""
    if name is None:
        return by_suffix(output, RATING_FORMATS) or RATING_FORMATS["jsonl"]
    if name not in RATING_FORMATS:
        raise ConfigError(f"unknown format of ratings {name!r}; {_meant(name, RATING_FORMATS)}")
    return RATING_FORMATS[name]


def refuse_other_kind(output: Path) -> None:
    """Raise :class:`ConfigError` if the name of a file for ratings has the ending of another kind of file."""
    ending = output.suffix[1:].casefold()
    if not by_suffix(output, RATING_FORMATS) and ending in {"csv", "json", "html", *other_endings()}:
        known = ", ".join(suffix for form in RATING_FORMATS.values() for suffix in form.suffixes)
        raise ConfigError(f"{output}: ratings are not written as {ending}; name it with {known}, or give --format")


def span_format(path: Path, name: str | None = None) -> SpanFormat:
    """The format of error spans that is called ``name``, or else the one that the content of ``path`` has.

    Raises :class:`InputError` where the file is empty, and where its content tells no known format.
    """
    first = next((line.text for line in lines_of(path) if line.text.strip()), None)
    if first is None:
        raise InputError(f"{path}: is empty")
    if name is not None:
        return SPAN_FORMATS[name]
    first = first.rstrip("\r")
    value = None
    if first.startswith(("{", "[")):
        try:  # JSON Lines have a whole object in their first line, and the other formats all in one
            value = parsed(first, str(path))
        except InputError:
            value = whole_file(path)
    for form in SPAN_FORMATS.values():
        if form.recognises(first, value):
            return form
    raise InputError(f"{path}:1: the content tells no known format; name one: format={'|'.join(SPAN_FORMATS)}")


def read_annotations(path: Path, name: str | None = None) -> list[Annotation]:
    """The annotations of ``path``, in its order; without a format's ``name`` its content tells the format.

    Raises :class:`InputError`, beginning with ``file:line``.
    """
    annotations = list(span_format(path, name).read_spans(path))
    if not annotations:
        raise InputError(f"{path}: has no annotations")
    return annotations


def texts_around(path: Path) -> list[Path]:
    """The further files that an annotated file takes its texts from; only mt-metrics-eval's ratings have such."""
    if not path.is_file() or span_format(path) is not MTME:
        return []
    return MTME.texts_around(path)


__all__ = [
    "BINARY",
    "DOCUMENTS",
    "EXPORTS",
    "FORMATS",
    "IN_FOLDERS",
    "PARQUET",
    "RATING_FORMATS",
    "RUNNING_TEXT",
    "SPAN_FORMATS",
    "STANDARD",
    "DocumentFormat",
    "Export",
    "Format",
    "Lines",
    "RatingFormat",
    "Result",
    "SegmentDefaults",
    "SpanFormatName",
    "by_path",
    "by_suffix",
    "document_format",
    "other_endings",
    "rating_format",
    "read_annotations",
    "refuse_other_kind",
    "span_format",
    "spooled",
    "texts_around",
    "with_columns",
]
