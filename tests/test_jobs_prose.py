"""Running text through the chain: what breaks a text reaches no file, and what isn't translated keeps its bytes."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import docx
import openpyxl
import pytest
import webvtt
from lxml import html as lxml_html
from markdown_it import MarkdownIt
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont

from mtagent.formats import document_format
from mtagent.formats.documents import LocalizationFile, placeholder_fault
from tests.commands import Shell

NUMBER = 24
"""Texts in each document: enough for each way in which the simulator treats tags."""
FORMATS = ("html", "docx", "md", "srt", "vtt", "xlsx")


def written_html(path: Path) -> None:
    paragraphs = "\n".join(
        f"<p>The <b>big cat</b> and <i>dog</i><br> number {n} sat here.</p>\n<p translate='no'>The brand {n}</p>"
        for n in range(NUMBER)
    )
    head = "<!DOCTYPE html>\n<html><head><script>var text = '<p>no</p>';</script></head>\n<body>\n<!-- a comment -->\n"
    path.write_text(f"{head}{paragraphs}\n<pre>as  it is</pre>\n</body></html>\n", encoding="utf-8")


def written_docx(path: Path) -> None:
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "12.5"
    for number in range(NUMBER):
        paragraph = document.add_paragraph("The ")
        paragraph.add_run("big cat").bold = True
        paragraph.add_run(" and ")
        paragraph.add_run("dog").italic = True
        paragraph.add_run(f" number {number} sat here.")
        document.add_paragraph(f"{number}.5")
    document.save(str(path))


def written_md(path: Path) -> None:
    paragraphs = "\n\n".join(
        f"The `big --cat` and the `dog` [number {n}](https://example.org/{n}) sat here.\n\n```\nrun {n}\n```"
        for n in range(NUMBER)
    )
    path.write_text(f"---\ntitle: Not touched\n---\n{paragraphs}\n", encoding="utf-8")


def written_srt(path: Path) -> None:
    cues = []
    for number in range(1, 2 * NUMBER, 2):
        for place, text in ((number, f"When we came home {number},"), (number + 1, "the lights were <i>on</i>.")):
            times = " --> ".join(f"00:{5 * end // 60:02}:{5 * end % 60:02},000" for end in (place, place + 1))
            cues.append(f"{place}\n{times}\n{text}\n")
    path.write_text("\n".join(cues), encoding="utf-8")


def written_vtt(path: Path) -> None:
    written_srt(path)
    content = re.sub(r"(\d\d),(\d{3})", r"\1.\2", path.read_text(encoding="utf-8"))
    path.write_text(f"WEBVTT\n\nNOTE not shown\n\n{content}", encoding="utf-8")


def written_xlsx(path: Path) -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for number in range(NUMBER):
        bold, italic = TextBlock(InlineFont(b=True), "big cat"), TextBlock(InlineFont(i=True), "dog")
        sheet.append([CellRichText("The ", bold, " and ", italic, f" number {number} sat here."), number, "=1+1"])
    workbook.save(path)


WRITTEN = {form: globals()[f"written_{form}"] for form in FORMATS}


class _Structure(HTMLParser):
    """The tags of a page with those attributes that aren't texts, and what must not be translated."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: Counter[str] = Counter()
        self._kept: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        texts = {"alt", "title", "placeholder", "value", "content", "label", "summary", "aria-label"}
        self.parts[f"{tag} {sorted((name, value) for name, value in attrs if name not in texts)}"] += 1
        if tag in ("script", "style", "pre", "code") or ("translate", "no") in attrs:
            self._kept = tag

    def handle_endtag(self, tag: str) -> None:
        self.parts[f"/{tag}"] += 1
        if tag == self._kept:
            self._kept = None

    def handle_comment(self, data: str) -> None:
        self.parts[f"<!--{data}"] += 1

    def handle_data(self, data: str) -> None:
        if self._kept:
            self.parts[data] += 1


def html_structure(data: bytes) -> object:
    lxml_html.fromstring(data)
    structure = _Structure()
    structure.feed(data.decode("utf-8", "surrogateescape"))
    return structure.parts


def docx_structure(data: bytes) -> object:
    document = docx.Document(io.BytesIO(data))
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        texts = re.compile(r"word/(document\d*|header\d*|footer\d*|footnotes|endnotes)\.xml")
        others = {name: zipped.read(name) for name in zipped.namelist() if not texts.fullmatch(name)}
    shown = []
    for paragraph in document.paragraphs:
        style = paragraph.style.name if paragraph.style is not None else None
        shown.append((style, len(paragraph.hyperlinks)))
    return shown, others


def xlsx_structure(data: bytes) -> object:
    workbook = openpyxl.load_workbook(io.BytesIO(data))
    cells = []
    for sheet in workbook:
        for row in sheet.iter_rows():
            for cell in row:
                is_text = cell.data_type == "s"
                cells.append((cell.coordinate, cell.data_type, None if is_text else cell.value))
    return cells


def md_structure(data: bytes) -> object:
    kept: Counter[str] = Counter()
    blocks = []
    for token in MarkdownIt("commonmark").enable("table").parse(data.decode("utf-8-sig")):
        blocks.append((token.type, token.content if token.type in ("fence", "code_block", "html_block") else ""))
        for child in token.children or ():
            if child.type in ("code_inline", "html_inline"):
                kept[child.content] += 1
            elif child.type in ("link_open", "image"):
                kept[str(child.attrs.get("href") or child.attrs.get("src"))] += 1
    return blocks, kept


def vtt_structure(data: bytes, ending: str = "vtt") -> object:
    captions = webvtt.from_buffer(io.StringIO(data.decode("utf-8-sig")), format=ending)
    return [(caption.identifier, caption.start, caption.end, bool(caption.text.strip())) for caption in captions]


def srt_structure(data: bytes) -> object:
    return vtt_structure(data, "srt")


STRUCTURE = {form: globals()[f"{form}_structure"] for form in FORMATS}
"""What an independent reader sees of a file, except its texts. It must be the same in the translation."""


def opened(path: Path, source: Path | None = None) -> LocalizationFile:
    return document_format(path).open(path, source)


def chunks(data: bytes, form: str) -> list[bytes]:
    """The file cut into lines or cues, and documents of Office into paragraphs or rows."""
    if form not in ("docx", "xlsx"):
        return re.split(rb"\n\n" if form in ("srt", "vtt") else rb"\n", data)
    part, start = ("word/document.xml", b"<w:p>") if form == "docx" else ("xl/worksheets/sheet1.xml", b"<row ")
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        return zipped.read(part).split(start)


def with_model(server: str) -> list[str]:
    return ["--base-url", server, "--model", "m", "--gate", "guards", "--force"]


def translated(shell: Shell, form: str, server: str, name: str) -> tuple[int, int]:
    """Translate ``en/NAME`` into ``es/NAME``, and compare the two; how many texts have a target, with tags moved."""
    path = Path("es", name)
    done = shell(f"translate en/{name} -o {path} -l en-es --details d.jsonl", *with_model(server))
    assert done.code == 0, done.err
    original = opened(Path("en", name))
    units = {unit.id: unit for unit in original.units}
    changed = moved = 0
    for result in shell.objects("d.jsonl"):
        unit = units[result["id"]]
        if result.get("not_written") or not result["text"]:
            continue
        assert placeholder_fault(unit, result["text"]) is None
        changed += 1
        # The simulator puts all tags behind the text, or reverses them.
        moved += "<1>" in unit.source and "<1>big" not in result["text"]
        moved += "`dog`" in unit.source and re.search("`dog`.*`big", result["text"]) is not None
    assert STRUCTURE[form](path.read_bytes()) == STRUCTURE[form](original.data), name
    return changed, moved


def postedited_once(shell: Shell, form: str, server: str, name: str) -> None:
    """Post-edit ``es/NAME`` with a lock file; a second run must have nothing to do."""
    path = Path("es", name)
    command = f"postedit {path} -s en/{name} -l en-es --in-place --lock"
    done = shell(command, *with_model(server))
    assert done.code == 0, done.err
    data = path.read_bytes()
    assert STRUCTURE[form](data) == STRUCTURE[form](Path("en", name).read_bytes())
    again = shell(command, *with_model(server))
    assert "nothing to process; no model was called" in again.err, again.err
    assert path.read_bytes() == data


@pytest.fixture
def folders(shell: Shell) -> Shell:
    for name in ("en", "es"):
        (shell.folder / name).mkdir()
    return shell


@pytest.mark.loopback
@pytest.mark.parametrize("form", FORMATS)
def test_no_broken_tag_reaches_a_document_and_moved_ones_do(folders: Shell, shaking: str, form: str) -> None:
    name = f"a.{form}"
    WRITTEN[form](folders.folder / "en" / name)

    changed, moved = translated(folders, form, shaking, name)

    assert len(opened(Path("en", name)).units) == NUMBER
    assert 0 < changed < NUMBER, "the simulator breaks some of them"
    assert (moved > 0) == (form not in ("srt", "vtt")), "parts of subtitles stay in their order"
    postedited_once(folders, form, shaking, name)


def test_a_lock_file_needs_the_sources_of_running_text(folders: Shell) -> None:
    written_md(folders.folder / "a.md")

    for option in ("--lock --in-place", "--frozen"):
        done = folders(f"translate a.md -l en-es {option}")
        assert done.code == 1
        assert "a.md: a lock file needs the source texts" in done.last


def test_the_only_copy_of_running_text_is_not_replaced(folders: Shell) -> None:
    Path("a.md").write_text("# A title\n\nSome text and that.\n", encoding="utf-8")
    data = Path("a.md").read_bytes()

    done = folders("translate a.md -l en-es --in-place --translator", "command:cat")

    assert (done.code, Path("a.md").read_bytes()) == (1, data)
    assert "a.md: a translation in place would replace the source texts; give -o FILE, or --backup" in done.last
    done = folders("translate a.md -l en-es --in-place --backup --translator", "command:sed s/a/e/")
    assert done.code == 0, done.err
    assert Path("a.md.bak").read_bytes() == data


@pytest.mark.loopback
@pytest.mark.parametrize("form", FORMATS)
def test_what_is_not_translated_in_a_document_keeps_its_bytes(folders: Shell, server: str, form: str) -> None:
    name = f"a.{form}"
    WRITTEN[form](folders.folder / "en" / name)
    data = Path("en", name).read_bytes()

    assert folders(f"translate en/{name} -o es/{name} -l en-es --limit 3", *with_model(server)).code == 0

    pairs = list(zip(chunks(data, form), chunks(Path("es", name).read_bytes(), form), strict=True))
    different = [old for old, new in pairs if old != new]
    assert 1 <= len(different) <= 6  # a sentence has up to two subtitles
    assert different == [old for old, _ in pairs if old in different][: len(different)]
    assert not any(b"brand" in old or b"run" in old or b"title" in old for old in different)
    assert folders(f"translate en/{name} -o es/{name} -l en-es --only locked", *with_model(server)).code == 0
    assert Path("es", name).read_bytes() == data


@pytest.mark.loopback
@pytest.mark.data
@pytest.mark.filterwarnings("ignore::UserWarning:openpyxl")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("form", FORMATS)
def test_no_broken_tag_reaches_a_real_document(data: Path, folders: Shell, shaking: str, form: str) -> None:
    changed = 0
    for original in sorted((data / "formats" / form).iterdir()):
        content = original.read_bytes()
        (folders.folder / "en" / original.name).write_bytes(content)
        done = folders(f"units en/{original.name}")
        if done.code or not 0 < len(done.lines) <= 20:
            continue
        changed += translated(folders, form, shaking, original.name)[0]
        postedited_once(folders, form, shaking, original.name)
    assert changed >= 5
