"""Word and Excel documents: one text changes, other parts keep their bytes, and other readers read the result."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import docx
import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl.worksheet.table import Table

from mtagent.errors import InputError
from mtagent.formats import document_format
from mtagent.formats.documents import LocalizationFile, fault, replaced


def word_file(folder: Path) -> Path:
    """A document with formatting, a table and a header."""
    document = docx.Document()
    document.add_heading("The title", 1)
    paragraph = document.add_paragraph("Read ")
    paragraph.add_run("this").bold = True
    paragraph.add_run(" first,\tthen\nthe rest.")
    document.add_paragraph("12.5")
    document.add_table(1, 2).cell(0, 1).text = "In a cell"
    document.sections[0].header.paragraphs[0].text = "On each page"
    path = folder / "a.docx"
    document.save(str(path))
    return path


def opened(path: Path) -> LocalizationFile:
    """The document."""
    return document_format(path).open(path)


def parts_of(data: bytes) -> dict[str, bytes]:
    """The content of each part."""
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        assert zipped.testzip() is None
        return {name: zipped.read(name) for name in zipped.namelist()}


def test_paragraphs_cells_and_headers_are_units(tmp_path: Path) -> None:
    document = opened(word_file(tmp_path))

    assert [unit.source for unit in document.units] == [
        "The title",
        "Read <1>this</1> first,\tthen\nthe rest.",
        "In a cell",
        "On each page",
    ]
    assert replaced(document, {}) == document.data


def test_a_new_text_keeps_its_formatting_and_all_other_parts(tmp_path: Path) -> None:
    document = opened(word_file(tmp_path))
    unit = document.units[1]
    target = "Zuerst\t<1>dies & das</1>\nlesen."
    assert fault(document, unit, target) is None

    new = replaced(document, {unit.id: target})

    (tmp_path / "b.docx").write_bytes(new)
    paragraph = docx.Document(str(tmp_path / "b.docx")).paragraphs[1]
    assert paragraph.text == "Zuerst\tdies & das\nlesen."
    assert [run.text for run in paragraph.runs if run.bold] == ["dies & das"]
    old_parts, new_parts = parts_of(document.data), parts_of(new)
    assert list(old_parts) == list(new_parts)
    assert {name for name in old_parts if old_parts[name] != new_parts[name]} == {"word/document.xml"}


def with_part(path: Path, name: str, old: str, new: str) -> Path:
    """The document, in one part of which ``new`` takes the place of ``old``."""
    parts = parts_of(path.read_bytes())
    assert old in parts[name].decode()
    parts[name] = parts[name].decode().replace(old, new, 1).encode()
    with zipfile.ZipFile(path, "w") as zipped:
        for part, content in parts.items():
            zipped.writestr(part, content)
    return path


def word_paragraph(folder: Path, content: str) -> Path:
    """A document whose first paragraph has this content."""
    heading = "<w:r><w:t>The title</w:t></w:r>"
    return with_part(word_file(folder), "word/document.xml", heading, content)


CONTROL = (
    '<w:sdt><w:sdtPr><w:alias w:val="x"/></w:sdtPr><w:sdtContent><w:r><w:t>Name</w:t></w:r></w:sdtContent></w:sdt>'
)


def test_no_text_comes_between_the_properties_and_the_content_of_a_control(tmp_path: Path) -> None:
    before = '<w:r><w:t xml:space="preserve">Dear </w:t></w:r>'
    document = opened(word_paragraph(tmp_path, before + CONTROL))
    [unit] = [unit for unit in document.units if unit.source.startswith("Dear")]

    assert unit.source == "Dear <1>Name</1>"
    new = parts_of(replaced(document, {unit.id: "<1>Vorname</1> zuerst"}))["word/document.xml"].decode()

    control = CONTROL.replace("<w:t>Name", '<w:t xml:space="preserve">Vorname')
    assert f'{control}<w:r><w:t xml:space="preserve"> zuerst</w:t></w:r>' in new


def test_an_empty_control_is_an_object(tmp_path: Path) -> None:
    run = "<w:r><w:t>Dear</w:t></w:r>"
    document = opened(word_paragraph(tmp_path, f"{run}<w:sdt><w:sdtPr/><w:sdtContent/></w:sdt>{run}"))

    assert document.units[0].source == "Dear<1/>Dear"


def test_a_bookmark_within_a_text_does_not_become_empty(tmp_path: Path) -> None:
    bold = "<w:r><w:rPr><w:b/></w:rPr><w:t>{}</w:t></w:r>"
    begin, end = '<w:bookmarkStart w:id="7" w:name="x"/>', '<w:bookmarkEnd w:id="7"/>'
    plain = '<w:r><w:t xml:space="preserve"> and the rest</w:t></w:r>'
    document = opened(word_paragraph(tmp_path, f"{bold.format('One')}{begin}{bold.format('Two')}{end}{plain}"))

    assert document.units[0].source == "<1>OneTwo</1> and the rest"
    new = parts_of(replaced(document, {document.units[0].id: "<1>Eins</1>"}))["word/document.xml"].decode()

    eins = bold.format("Eins").replace("<w:t>", '<w:t xml:space="preserve">')
    assert f"{begin}{eins}{end}" in new


def text_box(text: str) -> str:
    """A text box as Word writes it: once for new programs and once for old ones."""
    paragraph = f"<w:txbxContent><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:txbxContent>"
    return (
        '<w:r><mc:AlternateContent xmlns:mc="x"><mc:Choice Requires="wps"><w:drawing>'
        f"{paragraph}</w:drawing></mc:Choice><mc:Fallback><w:pict>{paragraph}</w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )


def run(text: str, properties: str = "") -> str:
    """A run of Word."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


LINK = f'<w:hyperlink r:id="r">{run("on")}</w:hyperlink>'
LINK_STYLE = '<w:rStyle w:val="Hyperlink"/>'
WEB_SPACE = '<w:rStyle w:val="apple-converted-space"/><w:color w:val="000000"/>'


@pytest.mark.parametrize(
    ("texts", "source"),
    [
        (run("page", LINK_STYLE), "See <1>page</1> now."),
        (run("the ", LINK_STYLE) + run("key", f"{LINK_STYLE}<w:b/>"), "See <1>the <2>key</2></1> now."),
    ],
)
def test_the_style_of_a_link_needs_no_placeholder_of_its_own(tmp_path: Path, texts: str, source: str) -> None:
    link = f'<w:hyperlink w:anchor="a">{texts}</w:hyperlink>'
    document = opened(word_paragraph(tmp_path, run("See ") + link + run(" now.")))
    unit = document.units[0]
    assert unit.source == source

    new = replaced(document, {unit.id: f"Now {source.replace('See ', '')}"})

    changed = parts_of(new)["word/document.xml"].decode()
    assert link in changed.replace("<w:rPr></w:rPr>", "")
    assert changed.count(LINK_STYLE) == texts.count(LINK_STYLE)


@pytest.mark.parametrize(
    ("content", "source"),
    [
        (run("Star", "<w:i/>") + run("\xa0", WEB_SPACE) + run("is a game."), "<1>Star</1>\xa0is a game."),
        (run("One", "<w:b/>") + run(" ", "<w:i/>") + run("two", "<w:b/>") + run(" of all"), "<1>One two</1> of all"),
        (run("Read ") + LINK + run(" ", "<w:b/>") + run("here"), "Read <1>on</1> here"),
        (run("Some text") + run("\t", "<w:b/>") + run("more", "<w:i/>"), "Some text\t<1>more</1>"),
        (run("A line") + run(" ", '<w:u w:val="single"/>') + run("to fill"), "A line<1> </1>to fill"),
        (run("A style") + run(" ", '<w:rStyle w:val="Link"/>') + run("to keep"), "A style<1> </1>to keep"),
        (
            run("One", "<w:u/>") + run(" ", "<w:b/>") + run("two", "<w:u/>") + run(" and more"),
            "<1>One</1> <2>two</2> and more",
        ),
        (run("All is so", "<w:strike/>") + run(" ", "<w:b/>") + run("far", "<w:strike/>"), "All is so<1> </1>far"),
        (run("A") + '<w:r><w:rPr><w:sz w:val="96"/></w:rPr><w:br/></w:r>' + run("text"), "A<1>\n</1>text"),
    ],
)
def test_white_space_needs_no_placeholder_where_its_formatting_cannot_be_seen(
    tmp_path: Path, content: str, source: str
) -> None:
    document = opened(word_paragraph(tmp_path, content))
    unit = document.units[0]
    assert unit.source == source
    assert replaced(document, {}) == document.data
    (tmp_path / "b.docx").write_bytes(replaced(document, {unit.id: f"ZQX {source}"}))
    assert [each.source for each in opened(tmp_path / "b.docx").units] == [
        f"ZQX {source}",
        *[each.source for each in document.units[1:]],
    ]


def test_a_text_that_a_document_repeats_for_older_programs_is_one_unit(tmp_path: Path) -> None:
    document = opened(word_paragraph(tmp_path, text_box("In a box") + "<w:r><w:t>Beside it</w:t></w:r>"))

    texts = [unit.source for unit in document.units]
    assert texts[:2] == ["In a box", "Beside it"]
    assert texts.count("In a box") == 1
    new = replaced(document, {document.units[0].id: "Im Kasten"})
    assert parts_of(new)["word/document.xml"].decode().count(">Im Kasten</w:t>") == 2
    (tmp_path / "b.docx").write_bytes(new)
    again = opened(tmp_path / "b.docx")
    assert [unit.source for unit in again.units] == ["Im Kasten", *texts[1:]]


def test_other_texts_for_older_programs_stay_units(tmp_path: Path) -> None:
    box = text_box("In a box").replace("<w:pict>", "<w:pict><w:p><w:r><w:t>See a newer Word</w:t></w:r></w:p>")
    document = opened(word_paragraph(tmp_path, box))

    assert [unit.source for unit in document.units[:3]] == ["In a box", "See a newer Word", "In a box"]


def mark(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def field(instruction: str, result: str, more: str = "") -> str:
    """A field as Word writes it, in several runs; its result may have more runs than the first."""
    code = f'<w:r><w:instrText xml:space="preserve"> {instruction} </w:instrText></w:r>'
    return f"{mark('begin')}{code}{mark('separate')}<w:r><w:t>{result}</w:t></w:r>{more}{mark('end')}"


BEFORE, AFTER = '<w:r><w:t xml:space="preserve">See </w:t></w:r>', "<w:r><w:t>.</w:t></w:r>"


@pytest.mark.parametrize(
    ("content", "source"),
    [
        (field("HYPERLINK &quot;https://example.org&quot;", "our page"), "See <1>our page</1>."),
        (field('HYPERLINK \\l "top"', "page", field("PAGEREF top", "7") + AFTER), "See <1>page<2/>.</1>."),
        (field("REF top", "the first chapter"), "See <1/>."),
        (field("DATE", "1 May"), "See <1/>."),
        (field("SEQ Figure", "one"), "See <1/>."),
        ('<w:fldSimple w:instr=" SEQ Figure "><w:r><w:t>one</w:t></w:r></w:fldSimple>', "See <1/>."),
        ('<w:fldSimple w:instr="HYPERLINK x"><w:r><w:t>one</w:t></w:r></w:fldSimple>', "See <1>one</1>."),
        ("<w:r>" + field("HYPERLINK x", "one").replace("<w:r>", "").replace("</w:r>", "") + "</w:r>", "See <1/>."),
        (f'<w:ins w:id="1">{mark("begin")}</w:ins>{field("HYPERLINK x", "one")}{mark("end")}', None),
    ],
)
def test_the_text_of_a_link_is_translated_and_computed_fields_stay(
    tmp_path: Path, content: str, source: str | None
) -> None:
    document = opened(word_paragraph(tmp_path, BEFORE + content + AFTER))

    if source is None:  # the field and the change cross each other
        assert "See" not in [unit.source[:3] for unit in document.units]
        return
    assert document.units[0].source == source
    link = source.replace("See", "Siehe").replace("our page", "unsere Seite")
    new = replaced(document, {document.units[0].id: link})
    text = parts_of(new)["word/document.xml"].decode()
    assert text.count("w:fldCharType") == content.count("w:fldCharType")
    (tmp_path / "b.docx").write_bytes(new)
    assert opened(tmp_path / "b.docx").units[0].source == link
    docx.Document(str(tmp_path / "b.docx"))


def test_a_table_of_contents_stays_and_texts_around_it_do_not(tmp_path: Path) -> None:
    entry = f"<w:p>{field('HYPERLINK x', 'A chapter')}</w:p>"
    start = f"{mark('begin')}<w:r><w:instrText>TOC \\o</w:instrText></w:r>{mark('separate')}"
    contents = f"{start}<w:r><w:t>The first chapter</w:t></w:r></w:p>{entry}{entry}<w:p>{mark('end')}"
    document = opened(word_paragraph(tmp_path, f"{BEFORE}{contents}<w:r><w:t>After it</w:t></w:r>"))

    assert [unit.source for unit in document.units[:3]] == [
        "See ",
        "After it",
        "Read <1>this</1> first,\tthen\nthe rest.",
    ]
    unclosed = opened(word_paragraph(tmp_path, f"{start}</w:p>{entry}<w:p>"))
    assert unclosed.units[0].source == "<1>A chapter</1>", "no end, so nothing tells how far it reaches"


def test_a_text_after_a_blank_run_of_a_cell_stays_in_a_run(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active["A1"] = "Price"
    workbook.save(tmp_path / "a.xlsx")
    blank = '<r><t xml:space="preserve"> </t></r>'
    path = with_part(tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", "<t>Price</t>", f"{blank}<r><t>Price</t></r>")
    document = opened(path)

    new = parts_of(replaced(document, {document.units[0].id: "Preis"}))["xl/worksheets/sheet1.xml"].decode()

    assert f'<is>{blank}<r><t xml:space="preserve">Preis</t></r></is>' in new


def test_a_document_with_other_prefixes_is_refused_and_not_taken_for_empty(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active["A1"] = "Price"
    workbook.save(tmp_path / "a.xlsx")
    sheet = parts_of((tmp_path / "a.xlsx").read_bytes())["xl/worksheets/sheet1.xml"].decode()
    prefixed = sheet.replace("</", "</x:").replace("<", "<x:").replace("<x:/x:", "</x:").replace("xmlns=", "xmlns:x=")
    path = with_part(tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", sheet, prefixed)

    with pytest.raises(InputError, match="its first element is <x:worksheet>; open the document in Office"):
        opened(path)


def test_heads_of_tables_stay_because_formulas_refer_to_them(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    for row in (("Price", "Total"), ("Low", 2)):
        workbook.active.append(row)
    workbook.active.add_table(Table(displayName="Prices", ref="A1:B2"))
    workbook.save(tmp_path / "a.xlsx")

    assert [unit.source for unit in opened(tmp_path / "a.xlsx").units] == ["Low"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_parts_of_one_name_are_refused(tmp_path: Path) -> None:
    path = word_file(tmp_path)
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr("word/document.xml", "<w:document/>")

    with pytest.raises(InputError, match="two parts of the same name"):
        opened(path)


def test_a_directory_of_zip64_is_replaced(tmp_path: Path) -> None:
    path = word_file(tmp_path)
    data = path.read_bytes()
    place = data.rindex(b"PK\x05\x06")
    count, size, start = struct.unpack("<HLL", data[place + 10 : place + 20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, place, 1)
    end = b"PK\x05\x06" + b"\xff" * 16 + b"\0\0"
    path.write_bytes(data[:place] + record + locator + end)
    document = opened(path)

    new = replaced(document, {document.units[0].id: "Titel"})

    assert "Titel" in parts_of(new)["word/document.xml"].decode()
    assert struct.unpack("<2H", new[-14:-10]) == (count, count)


def test_texts_of_several_parts_change_at_once(tmp_path: Path) -> None:
    document = opened(word_file(tmp_path))
    targets = {unit.id: f"neu: {unit.source}" for unit in document.units}

    (tmp_path / "b.docx").write_bytes(replaced(document, targets))

    again = opened(tmp_path / "b.docx")
    assert [unit.source for unit in again.units] == list(targets.values())


def test_texts_of_a_workbook_change_and_formulas_stay(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for place, value in (("A1", "Price"), ("A2", 5), ("B1", "Price"), ("B2", "=A2*2"), ("C1", " two\nlines ")):
        sheet[place] = value
    workbook.save(tmp_path / "a.xlsx")
    document = opened(tmp_path / "a.xlsx")

    assert [unit.source for unit in document.units] == ["Price", "Price", " two\nlines "]  # openpyxl shares none
    targets = {unit.id: "Preis <&>" for unit in document.units[:2]}
    (tmp_path / "b.xlsx").write_bytes(replaced(document, targets))

    sheet = openpyxl.load_workbook(tmp_path / "b.xlsx").active
    cells = [[cell.value for cell in row] for row in sheet.iter_rows()]
    assert cells == [["Preis <&>", "Preis <&>", " two\nlines "], [5, "=A2*2", None]]


def test_broken_and_harmful_files_are_refused(tmp_path: Path) -> None:
    path = word_file(tmp_path)
    data = path.read_bytes()
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("word/document.xml", b"<a>" + b" " * 8_000_000)
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as zipped:
        zipped.writestr("mimetype", "x")
    for content, message in (
        (data[: len(data) // 2], "isn't a document of this kind"),
        (b"not a zip file", "isn't a document of this kind"),
        (bomb.getvalue(), "word/document.xml has 8,000,003 bytes"),
        (other.getvalue(), "isn't a Word document"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            opened(path)


def test_a_character_that_xml_lacks_is_refused(tmp_path: Path) -> None:
    document = opened(word_file(tmp_path))

    assert "U+0001" in str(fault(document, document.units[0], "a\x01b"))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("ab <>&\"'é\u00a0\t\n字😀", min_size=1, max_size=20))
def test_any_text_comes_back(tmp_path: Path, text: str) -> None:
    document = opened(word_file(tmp_path))

    (tmp_path / "b.docx").write_bytes(replaced(document, {document.units[0].id: text}))

    assert docx.Document(str(tmp_path / "b.docx")).paragraphs[0].text == text


@pytest.mark.filterwarnings("ignore::UserWarning:openpyxl")
@pytest.mark.parametrize("ending", ["docx", "xlsx"])
def test_real_files_are_changed_in_one_place_only_and_can_be_read(data: Path, tmp_path: Path, ending: str) -> None:
    for path in sorted((data / "formats" / ending).iterdir()):
        document = opened(path)
        assert replaced(document, {}) == document.data
        for unit in document.units[:10]:
            target = f"ZQX {unit.source}"
            assert fault(document, unit, target) is None
            new_path = tmp_path / f"new.{ending}"
            new_path.write_bytes(replaced(document, {unit.id: target}))
            again = opened(new_path)
            pairs = zip(document.units, again.units, strict=True)
            differences = [(old.source, new.source) for old, new in pairs if old.source != new.source]
            assert differences == [(unit.source, target)]
            if ending == "docx":
                docx.Document(str(new_path))
            else:
                openpyxl.load_workbook(new_path)
