"""Tables with the user's own columns and encodings."""

from __future__ import annotations

import shlex
import zipfile
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest

from mtagent.errors import InputError, OutputError
from mtagent.formats import Result, SegmentDefaults
from mtagent.formats.tables import CSV
from mtagent.formats.workbook import WORKBOOK
from tests.commands import Shell

TABLE = 'Key,English,German text,Max length\nk1,Hello world.,"Hallo , Welt.",40\nk2,A café.,Ein Café.,\n'
BETTER = TABLE.replace('"Hallo , Welt."', '"Hallo, Welt."')
COLUMNS = 'source=English,target=German text,id=Key,max_length="Max length"'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1252"])
def test_a_table_keeps_its_columns_and_its_encoding(shell: Shell, encoding: str) -> None:
    (shell.folder / "a.csv").write_bytes(TABLE.encode(encoding))
    given = ("--encoding", encoding) if encoding == "windows-1252" else ()

    done = shell("postedit -s a.csv -l en-de -o b.csv --details d.jsonl --columns", COLUMNS, *given)

    assert done.code == 0, done.err
    assert (shell.folder / "b.csv").read_bytes() == BETTER.encode(encoding)
    assert [details["id"] for details in shell.objects("d.jsonl")] == ["k1", "k2"]


def test_json_lines_may_have_names_of_their_own_too(shell: Shell) -> None:
    shell.write("a.jsonl", '{"en": "Hello world.", "de": "Hallo , Welt.", "n": [1]}', '{"de": "Ja", "en": "Yes"}')

    done = shell("postedit -s a.jsonl -l en-de -o b.jsonl --columns source=en,translation=de")

    assert done.code == 0, done.err
    assert shell.read("b.jsonl") == [
        '{"en": "Hello world.", "de": "Hallo, Welt.", "n": [1]}',
        '{"de": "Ja", "en": "Yes"}',
    ]


def workbook(path: Path, *rows: tuple[object, ...]) -> None:
    """An Excel file with these rows, and a second sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(row)
    book.create_sheet("other")["A1"] = "=1+1"
    book.save(path)


def replace_in_sheet(path: Path, old: str, new: str) -> None:
    """Replace a piece of the first sheet."""
    with zipfile.ZipFile(path) as zipped:
        parts = {name: zipped.read(name).decode() for name in zipped.namelist()}
    assert old in parts["xl/worksheets/sheet1.xml"], parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(old, new)
    with zipfile.ZipFile(path, "w") as zipped:
        for name, content in parts.items():
            zipped.writestr(name, content)


def cells(path: Path) -> list[tuple[object, ...]]:
    """The values of the first sheet."""
    return list(openpyxl.load_workbook(path).active.iter_rows(values_only=True))


def test_only_improved_cells_of_a_workbook_change(shell: Shell) -> None:
    head = ("Key", "English", "German text", "Max length")
    rows = [
        ("k1", "Hello world & more.", "Hallo , Welt & mehr.", 40),
        ("k2", "Yes", "Ja", None),
        (None, "No", "Nein", 5),
    ]
    workbook(shell.folder / "a.xlsx", head, *rows)

    done = shell("postedit -s a.xlsx -l en-de -o b.xlsx --columns", COLUMNS)

    assert done.code == 0, done.err
    changed = ("k1", "Hello world & more.", "Hallo, Welt & mehr.", 40)
    assert cells(shell.folder / "b.xlsx") == [head, changed, *rows[1:]]
    with zipfile.ZipFile(shell.folder / "a.xlsx") as old, zipfile.ZipFile(shell.folder / "b.xlsx") as new:
        assert [name for name in old.namelist() if old.read(name) != new.read(name)] == ["xl/worksheets/sheet1.xml"]


def test_a_workbook_gets_a_column_for_translations(shell: Shell) -> None:
    workbook(shell.folder / "a.xlsx", ("source", "id"), ("Hello", "x"), ("World", "y"))

    done = shell("translate -s a.xlsx -l en-de -o b.xlsx --stages t --translator", "command:tr a-z A-Z")

    assert done.code == 0, done.err
    expected = [("source", "id", "translation"), ("Hello", "x", "HELLO"), ("World", "y", "WORLD")]
    assert cells(shell.folder / "b.xlsx") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [("a\x0bb", "cell A2 has the character U\\+000B"), ("x" * 32_768, "cell A2 has 32,768 characters")],
)
def test_a_text_that_a_cell_cannot_hold_is_refused(tmp_path: Path, text: str, message: str) -> None:
    workbook(tmp_path / "a.xlsx", ("translation", "source"), ("Hallo", "Hello"))
    [segment] = WORKBOOK.read(tmp_path / "a.xlsx", SegmentDefaults(source_lang="en", target_lang="de"))

    with pytest.raises(OutputError, match=message):
        WORKBOOK.write(tmp_path / "b.xlsx", [Result(segment=segment, text=text)], like=tmp_path / "a.xlsx")
    assert not (tmp_path / "b.xlsx").exists()


def test_a_translation_that_is_a_formula_is_refused(shell: Shell) -> None:
    workbook(shell.folder / "a.xlsx", ("source", "translation"), ("Hello", '=CONCATENATE("Hal","lo")'))

    assert "a.xlsx:2: the translation in B2 is a formula" in shell("postedit -s a.xlsx -l en-de -o b.xlsx").last


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        ("<is><t>東京</t><rPh><t>とうきょう</t></rPh></is>", "東京"),
        ("<is><r><t>To</t></r><r><t>kyo</t></r></is>", "Tokyo"),
    ],
)
def test_the_text_of_a_cell_has_all_runs_and_no_readings(tmp_path: Path, cell: str, source: str) -> None:
    workbook(tmp_path / "a.xlsx", ("source",), ("Tokyo",))
    replace_in_sheet(tmp_path / "a.xlsx", "<is><t>Tokyo</t></is>", cell)
    [segment] = WORKBOOK.read(tmp_path / "a.xlsx", SegmentDefaults(source_lang="ja", target_lang="de"))

    assert segment.source == source


def test_a_cell_that_refers_to_no_text_is_refused(tmp_path: Path) -> None:
    workbook(tmp_path / "a.xlsx", ("source",), ("Tokyo",))
    replace_in_sheet(tmp_path / "a.xlsx", 't="inlineStr"><is><t>Tokyo</t></is>', 't="s"><v>99</v>')

    with pytest.raises(InputError, match=r"a.xlsx:2: a cell refers to the text '99'"):
        list(WORKBOOK.read(tmp_path / "a.xlsx", SegmentDefaults(source_lang="ja", target_lang="de")))


def test_the_columns_that_are_proposed_can_be_given_as_they_are(shell: Shell) -> None:
    shell.write("a.csv", '"English, US",German (DE)', "Hello,Hallo")

    proposed = shell("postedit -s a.csv -l en-de -o b.csv").last.rpartition("--columns ")[2]

    assert proposed == """'source="English, US",translation=German (DE)'"""
    assert shell("postedit -s a.csv -l en-de -o b.csv --columns", *shlex.split(proposed)).code == 0


def test_what_a_workbook_cannot_do_is_said(shell: Shell) -> None:
    workbook(shell.folder / "a.xlsx", ("source", "translation"), ("Hello", "Hallo"), ("World", "Welt"))
    (shell.folder / "b.xlsx").write_bytes(b"no zip")

    assert "cannot be written to standard output" in shell("postedit -s a.xlsx -l en-de").last
    assert "leave --limit out" in shell("postedit -s a.xlsx -l en-de -o c.xlsx --limit 1").last
    assert "b.xlsx: isn't a document of this kind" in shell("postedit -s b.xlsx -l en-de -o c.xlsx").last


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a.csv:1: no column holds the source; the first line must name the columns, and has Key, English"),
        (("--columns", "source=English,target=english"), "'english' is given for source and for translation"),
        ((), "as in --columns 'source=English,translation=German text,id=Key'"),
        (("--columns", "source=Englisch"), "a.csv:1: no column 'Englisch' for source; the columns are Key, English"),
        (("--columns", "sorce=English"), "no field is called 'sorce'; the fields are id, source_lang"),
        (("--columns", "source=English,src=Key"), "source is given twice"),
        (("--columns", "English"), "expected FIELD=COLUMN"),
        (("--columns", "source=English", "--encoding", "latin-99"), "unknown encoding 'latin-99'"),
        (("--columns", "source=English", "--encoding", "utf-16-le"), "a.csv:1: "),
    ],
)
def test_what_is_wrong_with_columns_is_said_with_the_way_out(
    shell: Shell, arguments: tuple[str, ...], message: str
) -> None:
    (shell.folder / "a.csv").write_text(TABLE, encoding="utf-8")

    done = shell("postedit -s a.csv -l en-de -o b.csv", *arguments)

    assert done.code == 1
    assert message in done.last
    assert not (shell.folder / "b.csv").exists()


def test_a_table_in_another_encoding_is_refused_with_the_option_to_give(shell: Shell) -> None:
    (shell.folder / "a.csv").write_bytes(TABLE.encode("windows-1252"))

    done = shell("postedit -s a.csv -l en-de -o b.csv --columns", COLUMNS)

    assert "a.csv:3:9: byte 0xE9 is not UTF-8" in done.last
    assert "--encoding windows-1252" in done.last


def test_a_text_that_the_encoding_lacks_is_an_error_and_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    content = "source,translation\nIt is “so”,Es ist\n".encode("windows-1252")
    path.write_bytes(content)
    table = replace(CSV, encoding="windows-1252")
    [segment] = table.read(path, SegmentDefaults(source_lang="en", target_lang="zh"))

    with pytest.raises(OutputError, match="the character 你 cannot be written as windows-1252"):
        table.write(path, [Result(segment=segment, text="你好")], like=path)

    assert path.read_bytes() == content


@pytest.mark.parametrize("option", ["--columns source=x", "--encoding utf-16"])
def test_line_aligned_texts_have_no_columns(shell: Shell, option: str) -> None:
    assert "is for" in shell.postedit(option).last
