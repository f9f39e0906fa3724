"""CSV and TSV: columns and their aliases, exact cells, and output that looks like the input."""

from __future__ import annotations

import csv
import io
import logging
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.errors import InputError, OutputError
from mtagent.formats import CSV, TSV, TSV_QUOTED, Result, SegmentDefaults, Table
from mtagent.records import Segment

PAIR = SegmentDefaults(source_lang="en", target_lang="is")
CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


def file(folder: Path, content: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


def read(path: Path, table: Table = CSV) -> list[Segment]:
    return list(table.read(path, PAIR))


def rewritten(path: Path, table: Table, texts: list[str], **extra: Any) -> str:
    """The file's content after its segments were written back over it with new texts."""
    segments = read(path, table)
    table.write(
        path, [Result(segment=s, text=text, extra=extra) for s, text in zip(segments, texts, strict=True)], path
    )
    return path.read_bytes().decode()


def result(text: str, number: int = 1, **extra: Any) -> Result:
    return Result(
        segment=Segment(id=str(number), source="s", source_lang="en", target_lang="is"), text=text, extra=extra
    )


def test_every_field_has_its_column(tmp_path: Path) -> None:
    header = "id,source_lang,target_lang,source,translation,reference,document,domain,context,notes"
    (segment,) = read(file(tmp_path, f"{header}\n7,de,pt_BR,Q,Z,R,d,news,before,mind\n"))
    assert segment == Segment(
        id="7",
        source_lang="de",
        target_lang="pt-BR",
        source="Q",
        translation="Z",
        reference="R",
        document="d",
        domain="news",
        context="before",
        notes="mind",
    )


def test_a_multi_agent_mt_file_is_read_and_its_renamed_columns_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = file(tmp_path, "src_lang,tgt_lang,src_text,target,ref_text,domain\nEnglish,Spanish,Hi,Hola,Ey,\n")
    with caplog.at_level(logging.INFO, logger="mtagent.formats"):
        (segment,) = CSV.read(path)
    assert (segment.source_lang, segment.target_lang, segment.source) == ("en", "es", "Hi")
    assert (segment.translation, segment.reference, segment.domain) == ("Hola", "Ey", None)
    assert len(caplog.messages) == 5
    assert any(message.endswith("column 'src_text' is read as source") for message in caplog.messages)


def test_a_field_s_own_name_goes_before_an_alias(tmp_path: Path) -> None:
    path = file(tmp_path, "source,mt,translation\ns,alias,own\n")
    assert read(path)[0].translation == "own"
    assert rewritten(path, CSV, ["new"]) == "source,mt,translation\ns,alias,new\n"


def test_a_language_pair_column_stands_for_both_languages_and_is_left_as_it_is(tmp_path: Path) -> None:
    path = file(tmp_path, "lp,source\nen-sr_Latn_RS,a\n")
    (segment,) = CSV.read(path)
    assert (segment.source_lang, segment.target_lang) == ("en", "sr-Latn-RS")
    assert rewritten(path, CSV, ["b"]) == "lp,source,translation\nen-sr_Latn_RS,a,b\n"
    with pytest.raises(InputError, match=r"table\.csv:2: 'en-xx' is not a language pair"):
        read(file(tmp_path, "lp,source\nen-xx,a\n"))


@pytest.mark.parametrize("header", ["source,target,mt", "source,src,ref,ref_text", "source,Source"])
def test_two_columns_for_one_field_are_refused(tmp_path: Path, header: str) -> None:
    with pytest.raises(InputError, match=r"table\.csv:1: .* both mean"):
        read(file(tmp_path, f"{header}\n"))


def test_a_header_without_a_source_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"table\.csv:1: no column 'source' among 'sorce', 'x'; did you mean 'source'"):
        read(file(tmp_path, "sorce,x\na,b\n"))
    with pytest.raises(InputError, match="the first line must name the columns"):
        read(file(tmp_path, "Hello,Halló\n"))


def test_a_file_without_header_is_read_where_its_columns_are_named(tmp_path: Path) -> None:
    table = replace(TSV, columns=("system", "source", "translation"))
    path = file(tmp_path, "A\tone\teinn\nB\ttwo\ttveir\n", "table.tsv")
    assert [(s.source, s.translation) for s in read(path, table)] == [("one", "einn"), ("two", "tveir")]
    assert rewritten(path, table, ["eitt", "tveir"]) == "A\tone\teitt\nB\ttwo\ttveir\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_shows_the_delimiter_of_a_csv(tmp_path: Path, delimiter: str) -> None:
    path = file(tmp_path, delimiter.join(["id", "source"]) + "\n" + delimiter.join(["x", "a b"]) + "\n")
    assert (read(path)[0].id, read(path)[0].source) == ("x", "a b")


def test_cells_with_line_breaks_quotes_and_delimiters_are_read_exactly(tmp_path: Path) -> None:
    path = file(tmp_path, 'source,translation\n"a\n\nb, ""c""","d\r\ne\rf"\ng,h\n')
    first, second = read(path)
    assert (first.source, first.translation) == ('a\n\nb, "c"', "d\r\ne\rf")
    assert (second.id, second.source) == ("2", "g")


def test_a_quote_in_a_plain_tsv_is_a_character(tmp_path: Path) -> None:
    path = file(tmp_path, 'source\ttranslation\n"Hi" he said\t"Hæ" sagði hann\n5" pipe\t"\n', "table.tsv")
    assert [s.source for s in read(path, TSV)] == ['"Hi" he said', '5" pipe']
    assert rewritten(path, TSV, ['"', 'x"']).endswith('\n"Hi" he said\t"\n5" pipe\tx"\n')


def test_a_tsv_with_a_quoted_header_has_quoted_cells(tmp_path: Path) -> None:
    path = file(tmp_path, '"source"\t"translation"\n"a\nb"\t"c ""d"""\n', "table.tsv")
    assert [(s.source, s.translation) for s in read(path, TSV)] == [("a\nb", 'c "d"')]
    assert rewritten(path, TSV, ["e\nf"]) == '"source"\t"translation"\n"a\nb"\t"e\nf"\n'


def test_multi_line_cells_in_a_plain_tsv_are_refused_with_the_way_out(tmp_path: Path) -> None:
    path = file(tmp_path, 'source\ttranslation\n"a\nb"\tc\n', "table.tsv")
    with pytest.raises(InputError, match=r"table\.tsv:2: 1 columns instead of 2; .*--format tsv-quoted"):
        read(path, TSV)
    assert read(path, TSV_QUOTED)[0].source == "a\nb"


@pytest.mark.parametrize("word", ["None", "NA", "null", "nan", "NaN", "N/A", "#N/A", "0", "1e5", " "])
def test_words_that_other_readers_take_for_missing_stay_text(tmp_path: Path, word: str) -> None:
    (segment,) = read(file(tmp_path, f"source,translation,domain\n{word},{word},{word}\n"))
    assert (segment.source, segment.translation, segment.domain) == (word, word, word)


def test_an_empty_cell_is_a_missing_field_and_never_the_word_nan(tmp_path: Path) -> None:
    first, second = read(file(tmp_path, "id,source,translation,domain\n,a,,\n,,,\n"))
    assert (first.id, first.translation, first.domain) == ("1", None, None)
    assert (second.source, second.translation) == ("", "")


@pytest.mark.parametrize("inside", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\ufeff", "x" * 1_000_000])
@pytest.mark.parametrize("table", [CSV, TSV, TSV_QUOTED])
def test_unusual_characters_and_long_cells_survive(tmp_path: Path, inside: str, table: Table) -> None:
    delimiter = table.delimiters[0]
    path = file(tmp_path, f"source{delimiter}translation\nq{inside}r{delimiter}a\n")
    assert read(path, table)[0].source == f"q{inside}r"
    assert rewritten(path, table, [f"b{inside}c"]).endswith(f"q{inside}r{delimiter}b{inside}c\n")


@pytest.mark.parametrize(
    "content",
    [
        'source,x,translation\n"a",1,b\nc,"2",d\n',
        "\ufeffsource;translation\r\na;b\r\n",
        '"source","translation"\n"a","b"',
        "note,source,target\n,a,\n,,\n",
        "source,translation\n",
        "source,translation",
    ],
)
def test_unchanged_texts_give_the_same_bytes(tmp_path: Path, content: str) -> None:
    path = file(tmp_path, content)
    assert rewritten(path, CSV, [segment.translation or "" for segment in read(path)]) == content


def test_changed_rows_keep_columns_quoting_line_ends_and_mark(tmp_path: Path) -> None:
    path = file(tmp_path, '\ufeff"x";"source";"mt"\r\n"1";"a";"b"\r\n"2";"c";"d ""e"""\r\n')
    expected = '\ufeff"x";"source";"mt"\r\n"1";"a";"b"\r\n"2";"c";"f ""g"""\r\n'
    assert rewritten(path, CSV, ["b", 'f "g"']) == expected


def test_a_new_translation_column_comes_after_the_others(tmp_path: Path) -> None:
    path = file(tmp_path, "source,x\r\na,1\r\nb,2\r\n")
    assert rewritten(path, CSV, ["c", "d,e"]) == 'source,x,translation\r\na,1,c\r\nb,2,"d,e"\r\n'


def test_extra_values_get_columns_of_their_own_or_replace_those_of_an_earlier_run(tmp_path: Path) -> None:
    path = file(tmp_path, "source,translation\na,b\n")
    assert rewritten(path, CSV, ["c"], status="edited", score=None) == "source,translation,status,score\na,c,edited,\n"
    assert rewritten(path, CSV, ["c"], status="kept") == "source,translation,status,score\na,c,kept,\n"


def test_results_with_differing_extra_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"segment '2' has the extra values .'other'., but the first segment has"):
        CSV.write(tmp_path / "out.csv", [result("a", 1, status="x"), result("b", 2, other="x")])
    with pytest.raises(OutputError, match="'target' is a segment's own field"):
        CSV.write(tmp_path / "out.csv", [result("a", 1, target="x")])


@pytest.mark.parametrize("text", ["a\tb", "a\nb"])
def test_a_text_that_does_not_fit_into_a_plain_tsv_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(OutputError, match=r"out\.tsv: segment '1': a tab or a line break .*tsv-quoted"):
        TSV.write(tmp_path / "out.tsv", [result(text)])
    assert list(tmp_path.iterdir()) == []


def test_a_carriage_return_at_the_end_of_a_plain_row_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, "source\ttranslation\na\tb\n", "table.tsv")
    with pytest.raises(OutputError, match="does not fit"):
        rewritten(path, TSV, ["b\r"])
    assert rewritten(path, TSV, ["b\rc"]).endswith("b\rc\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", r"table\.csv: is empty; the first line must name the columns"),
        ("source,x\na\n", r"table\.csv:2: 1 columns instead of 2"),
        ("source,x\na,b\nc,d,e\n", r"table\.csv:3: 3 columns instead of 2"),
        ("source,x\na,b\n\nc,d\n", r"table\.csv:3: an empty line between the rows"),
        ('source,x\na,"b\n\n', r"table\.csv:2: a quote opens here and is never closed"),
        ('source,x\n"a"b,c\n', r"table\.csv:2: text after a closing quote"),
        ("source,x\na\rb,c\n", r"table\.csv:2: a carriage return outside of quotes"),
        ("source,x\na,b\r\r\n", r"table\.csv:2: a carriage return outside of quotes"),
        ('source,x\n"a\nb",c\nd\n', r"table\.csv:4: 1 columns instead of 2"),
        ("id,source\nx,a\ny,b\nx,c\n", r"table\.csv:4: the id 'x' was already used in line 2"),
        ("id,source\n2,a\n,b\n", r"table\.csv:3: the id '2' was already used in line 2"),
        ("source,source_lang\na,Elvish!\n", r"table\.csv:2: unknown language 'Elvish!'"),
        ("source\nok\nbad\0\n", r"table\.csv:3:4: a NUL byte"),
    ],
)
def test_a_defect_is_refused_with_file_and_line(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(file(tmp_path, content))


def test_empty_lines_at_the_end_of_a_table_are_no_rows(tmp_path: Path) -> None:
    assert [segment.source for segment in read(file(tmp_path, "source,x\na,b\n\n\n"))] == ["a"]


def test_in_a_single_column_an_empty_line_is_an_empty_segment(tmp_path: Path) -> None:
    assert [segment.source for segment in read(file(tmp_path, "source\na\n\nb\n"), TSV)] == ["a", "", "b"]


def test_a_header_alone_is_a_table_without_segments(tmp_path: Path) -> None:
    assert read(file(tmp_path, "source,translation\r\n")) == []


@settings(max_examples=60)
@given(st.lists(st.tuples(CELL, CELL, CELL), max_size=5), st.sampled_from([CSV, TSV_QUOTED]))
def test_any_texts_written_to_a_quoted_table_are_read_back_the_same(
    rows: list[tuple[str, str, str]], table: Table
) -> None:
    segments = [
        Segment(id=f"n{number}", source=source, source_lang="en", target_lang="is", notes=notes or None)
        for number, (source, _, notes) in enumerate(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        written = [Result(segment=s, text=text) for s, (_, text, _) in zip(segments, rows, strict=True)]
        assert table.write(path, written) == len(rows)
        back = [(s.source, s.translation or "", s.notes or "") for s in table.read(path)]
        with path.open(newline="", encoding="utf-8") as stream:
            seen = [
                tuple(row[name] for name in ("source", "translation", "notes")) for row in dictionaries(stream, table)
            ]
    assert back == rows
    assert seen == rows


def dictionaries(stream: io.TextIOBase | Any, table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(stream, delimiter=table.delimiters[0]))


@settings(max_examples=60)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\t")), max_size=5))
def test_any_one_line_texts_written_to_a_plain_tsv_are_read_back_the_same(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.tsv")
        TSV.write(path, [result(text, number) for number, text in enumerate(texts)])
        assert [segment.translation or "" for segment in TSV.read(path)] == texts


@settings(max_examples=60)
@given(st.data())
def test_any_csv_that_python_writes_is_rewritten_in_place(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=4))
    texts = data.draw(st.lists(CELL, min_size=len(rows), max_size=len(rows)))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=data.draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])))
    writer.writerows([("source", "translation", "x"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        content = rewritten(file(Path(folder), stream.getvalue()), CSV, texts)
    expected = [(source, text, x) for (source, _, x), text in zip(rows, texts, strict=True)]
    assert list(map(tuple, csv.reader(io.StringIO(content, newline=""))))[1:] == expected
