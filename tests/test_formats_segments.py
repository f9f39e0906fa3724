"""Segments in files: lines, CSV, TSV, JSON Lines. What is read is exact, what is written looks like the input."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.errors import InputError, OutputError
from mtagent.formats import BINARY, FORMATS, Format, Lines, Result, SegmentDefaults
from mtagent.formats.jsonl import JSONL, JSONL_LENIENT
from mtagent.formats.tables import CSV, TSV, TSV_QUOTED
from mtagent.records import Segment, Term

PAIR = SegmentDefaults(source_lang="en", target_lang="is")
LINES = Lines()
ODD = "\u2028\x85\x0b\x0c\x1c\x7f\xa0\ufeff"  # what other programs take for a line's end, a space or a mark
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from(ODD)
TEXT = st.text(CHARACTERS, max_size=20)
ONE_LINE = TEXT.filter(lambda text: "\n" not in text and "\t" not in text and not text.endswith("\r"))


def file(folder: Path, content: str | bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(form: Format, path: Path) -> list[Segment]:
    return list(form.read(path, PAIR))


def results(texts: Iterable[str]) -> list[Result]:
    return [
        Result(segment=Segment(id=str(number), source="s", source_lang="en", target_lang="is"), text=text)
        for number, text in enumerate(texts, start=1)
    ]


def rewritten(form: Format, path: Path, texts: list[str] | None = None) -> str:
    """The file's content after its segments were written back over it, with new texts where these are given."""
    segments = read(form, path)
    if texts is None:
        texts = [(segment.source if form == LINES else segment.translation) or "" for segment in segments]
    form.write(path, [Result(segment=s, text=text) for s, text in zip(segments, texts, strict=True)], path)
    return path.read_bytes().decode()


ALL = {
    "id": "7", "source_lang": "de", "target_lang": "pt_BR", "source": "Q", "translation": "Z", "reference": "R",
    "document": "d", "domain": "news", "context": "before", "notes": "mind",
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "content", "terms"),
    [
        (CSV, f"{','.join(ALL)}\n{','.join(ALL.values())}\n", ()),
        (TSV, "\t".join(ALL) + "\n" + "\t".join(ALL.values()), ()),
        (JSONL, json.dumps(ALL | {"terms": [{"source": "Q", "target": "Z"}]}), (Term(source="Q", target="Z"),)),
    ],
)
def test_every_field_is_read(form: Format, content: str, terms: tuple[Term, ...], tmp_path: Path) -> None:
    fields: dict[str, Any] = {**ALL, "target_lang": "pt-BR", "terms": terms}
    assert read(form, file(tmp_path, content)) == [Segment(**fields)]


@pytest.mark.parametrize(
    ("form", "content", "pairs"),
    [
        (CSV, 'source,translation\n"a\n\nb, ""c""","d\r\ne\rf"\ng,h\n', [('a\n\nb, "c"', "d\r\ne\rf"), ("g", "h")]),
        (CSV, "id,source,translation,domain\n,a,,\n,,,\n", [("a", None), ("", "")]),
        *((CSV, f"id{mark}source\nx{mark}a b\n", [("a b", None)]) for mark in ",;\t|"),
        (CSV, "source,mt,translation\ns,alias,own\n", [("s", "own")]),
        (CSV, "source,x\na,b\n\n\n", [("a", None)]),
        (CSV, "source,translation\r\n", []),
        (CSV, f"source\n{'x' * 300_000}\n", [("x" * 300_000, None)]),
        (TSV, "source\na\n\nb\n", [("a", None), ("", None), ("b", None)]),
        (TSV, 'source\ttranslation\n"Hi" he\t"H"\n5" p\t"\n', [('"Hi" he', '"H"'), ('5" p', '"')]),
        (TSV, '"source"\t"translation"\n"a\nb"\t"c ""d"""\n', [("a\nb", 'c "d"')]),
        (TSV_QUOTED, 'source\ttranslation\n"a\nb"\tc\n', [("a\nb", "c")]),
        (JSONL, '{"source":"a","translation":null}\n{"source":"","translation":""}\n', [("a", None), ("", "")]),
        *(
            (form, head + "".join(f'{{"source": "{w}"}}\n' if form is JSONL else f"{w}\n" for w in words), pairs)
            for form, head in ((LINES, ""), (CSV, "source\n"), (TSV, "source\n"), (JSONL, ""))
            for words in [["None", "NA", "null", "nan", "NaN", "N/A", "#N/A", "0", "1e5", " "]]
            for pairs in [[(word, None) for word in words]]
        ),
        (LINES, b"", []),
        (LINES, b"\n", [("", None)]),
        (LINES, b"a", [("a", None)]),
        (LINES, b"a\n\n", [("a", None), ("", None)]),
        (LINES, b"\xef\xbb\xbfa\nb\r\nc", [("a", None), ("b", None), ("c", None)]),
    ],
)
def test_texts_are_read_exactly(
    form: Format, content: str, pairs: list[tuple[str, str | None]], tmp_path: Path
) -> None:
    assert [(segment.source, segment.translation) for segment in read(form, file(tmp_path, content))] == pairs


def test_ids_may_be_numbers_and_default_to_the_place_in_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, '{"source":"a"}\n{"id":70,"source":"b"}\n{"id":null,"source":"c"}')
    assert [segment.id for segment in read(JSONL, path)] == ["1", "70", "3"]


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


@pytest.mark.parametrize(
    ("form", "content"),
    [
        (CSV, "source,max_length\nSave,12\nOpen,\n"),
        (TSV, "source\tcharacter_limit\nSave\t12\nOpen\t\n"),
        (JSONL, '{"source": "Save", "max_length": 12}\n{"source": "Open"}\n'),
        (JSONL_LENIENT, '{"source": "Save", "maxwidth": 12}\n{"source": "Open"}\n'),
    ],
)
def test_a_maximum_length_is_read(form: Format, content: str, tmp_path: Path) -> None:
    assert [segment.max_length for segment in read(form, file(tmp_path, content))] == [12, None]
    with pytest.raises(InputError, match=r"file:[12]: field 'max_length': .*greater than or equal to 1"):
        read(form, file(tmp_path, content.replace("12", "0")))


def test_a_lenient_reader_maps_foreign_names(tmp_path: Path) -> None:
    path = file(tmp_path, '{"doc_id":"x","src_text":"a","tgt_lang":"is_IS","mt":"b","n":[1.5,{"q":null}]}\n')
    (segment,) = read(JSONL_LENIENT, path)
    assert (segment.document, segment.source, segment.target_lang, segment.translation) == ("x", "a", "is-IS", "b")


@pytest.mark.parametrize(
    ("form", "content", "reason"),
    [
        (CSV, "", "file: is empty; the first line must name the columns"),
        (CSV, "sorce,x\na,b\n", "file:1: no column holds the source; .* sorce, x: .* source=sorce,translation=x"),
        (CSV, "Hello,Halló\n", "the first line must name the columns"),
        *((CSV, f"{head}\n", "file:1: .* both mean") for head in ("source,target,mt", "source,ref,ref_text", "mt,MT")),
        (CSV, "lp,source\nen-xx,a\n", "file:2: 'en-xx' is not a language pair"),
        (CSV, "source,source_lang\na,Elvish!\n", "file:2: unknown language 'Elvish!'"),
        (CSV, "source,x\na,b\nc,d,e\n", "file:3: 3 columns instead of 2"),
        (CSV, "source,x\na,b\n\nc,d\n", "file:3: an empty line between the rows"),
        (CSV, 'source,x\na,"b\n\n', "file:2: a quote opens here and is never closed"),
        (CSV, 'source,x\n"a"b,c\n', "file:2: text after a closing quote"),
        (CSV, "source,x\na\rb,c\n", "file:2: a carriage return outside of quotes"),
        (CSV, "source,x\na,b\r\r\n", "file:2: a carriage return outside of quotes"),
        (CSV, 'source,x\n"a\nb",c\nd\n', "file:4: 1 columns instead of 2"),
        (CSV, "id,source\nx,a\ny,b\nx,c\n", "file:4: the id 'x' was already used in line 2"),
        (CSV, "id,source\n2,a\n,b\n", "file:3: the id '2' was already used in line 2"),
        (TSV, 'source\ttranslation\n"a\nb"\tc\n', "file:2: 1 columns instead of 2; .*--format tsv-quoted"),
        (JSONL, '{"source": "a"}\n' * 3 + '{"src_text": "b"}\n', "file:4: unknown field 'src_text'.* 'source'"),
        (JSONL, '{"source": "a", "tarns": "b"}\n', "file:1: unknown field 'tarns'; did you mean 'terms'"),
        (JSONL, '{"source": "a", "qqq": "b"}\n', "file:1: unknown field 'qqq'; --format jsonl-lenient"),
        (JSONL, "{", "file:1:2: not JSON"),
        (JSONL, "[1]", "file:1: a line must hold an object"),
        (JSONL, '{"translation": "b"}', "file:1: field 'source': field required"),
        (JSONL, '{"source": null}', "file:1: field 'source': field required"),
        (JSONL, '{"source": 7}', "file:1: field 'source': input should be a valid string"),
        (JSONL, '{"id": true, "source": "a"}', "file:1: field 'id': input should be a valid string"),
        (JSONL, '{"source": "a", "terms": [{"sorce": "b"}]}', r"file:1: field 'terms\.0\.so"),
        (JSONL, '{"source": "a", "source": "b"}', "file:1: .*the field 'source' comes twice"),
        (JSONL, '{"source": "\\ud83d"}', r"file:1: .*an escaped lone surrogate \(.ud83d\)"),
        (JSONL, '{"source": "a\\u0000"}', "file:1: an escaped NUL"),
        (JSONL, '{"source": NaN}', "file:1: .*NaN is not a JSON number"),
        (JSONL, '{"source": ' + "[" * 100_000, "file:1: not usable JSON"),
        (JSONL, '{"source": "a"}\n\n{"source": "b"}', "file:2: an empty line between the objects"),
        (JSONL, '{"id": "1", "source": "a"}\n{"id": 1, "source": "b"}', "file:2: the id '1' was already used"),
    ],
)  # fmt: skip
def test_a_defect_is_refused_with_file_and_line(form: Format, content: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=reason):
        read(form, file(tmp_path, content))


@pytest.mark.parametrize("form", [form for form in FORMATS.values() if form.name not in BINARY], ids=str)
def test_a_missing_language_is_refused_with_the_option_to_give(form: Format, tmp_path: Path) -> None:
    path = file(tmp_path, '{"source": "a"}\n' if "jsonl" in form.name else "source\na\n")
    with pytest.raises(InputError, match=r"file:\d: no target_lang; .*-l en-es"):
        next(form.read(path, SegmentDefaults(source_lang="en")))


# --- writing back


@pytest.mark.parametrize(
    ("form", "content"),
    [
        (CSV, 'source,x,translation\n"a",1,b\nc,"2",d\n'),
        (CSV, "\ufeffsource;translation\r\na;b\r\n"),
        (CSV, '"source","translation"\n"a","b"'),
        (CSV, "note,source,target\n,a,\n,,\n"),
        (CSV, "source,translation"),
        (TSV, 'source\ttranslation\n"Hi"\t"\n'),
        (JSONL, '\ufeff{"source":  "a", "translation": "b"}\r\n{"translation":"d","source":"c"}'),
        (JSONL, '{"source": "\\u00e9", "translation": "\\u00e9"}\n'),
        (JSONL, '{"source": "a", "translation": null}\n'),
        (JSONL, ""),
        *((LINES, content) for content in ("a\nb", "\ufeffa\r\nb\r\n", "a\nb\r\nc\r\n\n", "\ufeff\ufeffa\n", "")),
    ],
)
def test_unchanged_texts_give_the_same_bytes(form: Format, content: str, tmp_path: Path) -> None:
    assert rewritten(form, file(tmp_path, content)) == content


@pytest.mark.parametrize(
    ("form", "before", "text", "after"),
    [
        (LINES, "\ufeffa\r\nb", "x", "\ufeffx\r\nx"),
        (LINES, "a\nb", "", "\n\n"),
        (CSV, "source,mt,translation\ns,alias,own\n", "new", "source,mt,translation\ns,alias,new\n"),
        (CSV, "lp,source\nen-sr_Latn_RS,a\n", "b", "lp,source,translation\nen-sr_Latn_RS,a,b\n"),
        (CSV, '\ufeff"x";"source";"mt"\r\n"1";"a";""\r\n', '"', '\ufeff"x";"source";"mt"\r\n"1";"a";""""\r\n'),
        (CSV, "source,x\r\na,1\r\n", "d,e", 'source,x,translation\r\na,1,"d,e"\r\n'),
        (TSV, '"source"\t"translation"\n"a\nb"\t"c"\n', "e\nf", '"source"\t"translation"\n"a\nb"\t"e\nf"\n'),
        (TSV, "source\ttranslation\na\tb\n", "b\rc", "source\ttranslation\na\tb\rc\n"),
        (JSONL, '{"translation": "a", "source": "é"}\r\n', "ö", '{"translation": "ö", "source": "é"}\r\n'),
        (JSONL, '{"translation": "a", "source": "\\u00e9"}', "ö", '{"translation": "\\u00f6", "source": "\\u00e9"}'),
        (JSONL, '{"id":  7,"source":"s", "terms":[ ]}', "b", '{"id":  7,"source":"s", "terms":[ ], "translation":"b"}'),
        *((JSONL_LENIENT, before, "b", after) for before, after in [
            ('{"mt":"a","source":"s","n":0.1234567890123456789}', '{"mt":"b","source":"s","n":0.1234567890123456789}'),
            ('{"n": [1.10, 1e5, -0, 1E-2], "mt": "a", "source": "s"}',
             '{"n": [1.10, 1e5, -0, 1E-2], "mt": "b", "source": "s"}'),
            ('{"source": "s", "n": {"mt": 1e9}, "mt": "a"}\r\n', '{"source": "s", "n": {"mt": 1e9}, "mt": "b"}\r\n'),
            ('\ufeff {"source" :\t"s" ,"mt":  "a\\"}" , "n":[ ] } \n',
             '\ufeff {"source" :\t"s" ,"mt":  "b" , "n":[ ] } \n'),
            ('{"source":"\\/\\u0073","m\\u0074":null}', '{"source":"\\/\\u0073","m\\u0074":"b"}'),
            ('{ "source" : "s" , "n" : 1e5 }', '{ "source" : "s" , "n" : 1e5 , "translation" : "b" }'),
            ('{"source":"s"}', '{"source":"s","translation":"b"}'),
        ]),
    ],
)  # fmt: skip
def test_a_new_text_leaves_every_other_character_as_it_was(
    form: Format, before: str, text: str, after: str, tmp_path: Path
) -> None:
    path = file(tmp_path, before)
    assert rewritten(form, path, [text] * len(read(form, path))) == after


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        *((LINES, text, "the text of segment '2' has a line break") for text in ("a\nb", "a\n", "\n", "a\r", "a\r\n")),
        *((TSV, text, "segment '2': a tab or a line break .*tsv-quoted") for text in ("a\tb", "a\nb")),
    ],
)
def test_a_text_that_does_not_fit_is_refused_and_the_old_file_stays(
    form: Format, text: str, reason: str, tmp_path: Path
) -> None:
    output = file(tmp_path, "old\n")
    with pytest.raises(OutputError, match=f"file: {reason}"):
        form.write(output, results(["fine", text]))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old\n"]


def test_a_carriage_return_at_the_end_of_a_plain_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="does not fit"):
        rewritten(TSV, file(tmp_path, "source\ttranslation\na\tb\n"), ["b\r"])


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([("1", "x")], "the results end after 1, before .*in:2"),
        ([("1", "x"), ("2", "y"), ("3", "z")], "result 3 is one more"),
        ([("2", "x"), ("1", "y")], "result 1 is for segment '2', but .*:1 holds segment '1'"),
    ],
)
def test_results_and_lines_must_agree(texts: list[tuple[str, str]], reason: str, tmp_path: Path) -> None:
    wrong = [Result(segment=results("x")[0].segment.model_copy(update={"id": key}), text=text) for key, text in texts]
    with pytest.raises(OutputError, match=reason):
        LINES.write(tmp_path / "out", wrong, like=file(tmp_path, "a\nb\n", "in"))
    assert not (tmp_path / "out").exists()


# --- lines in several files


def test_source_translation_and_reference_are_read_side_by_side(tmp_path: Path) -> None:
    files = [file(tmp_path, f"{name}1\n{name}2\n", name) for name in ("s", "t", "r")]
    defaults = PAIR.model_copy(update={"document": "d", "domain": "news"})
    source, translation, reference = files
    segments = list(Lines(translation=translation, reference=reference).read(source, defaults))
    assert [(s.id, s.source, s.translation, s.reference) for s in segments] == [
        ("1", "s1", "t1", "r1"), ("2", "s2", "t2", "r2")
    ]  # fmt: skip
    assert {(s.source_lang, s.target_lang, s.document, s.domain) for s in segments} == {("en", "is", "d", "news")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"einn\n", r"source has 2, .*translation has 1"),
        ("einn\ntveir\n\u0a61\n".encode("utf-16"), r"translation:1: is UTF-16; convert it first: iconv"),
        ("einn\ntveir\n\u0a61\n".encode("utf-16-be"), r"translation:1:1: a NUL byte; .*UTF-16"),
        ("einn\ntveir\nþrír\n".encode("latin-1"), r"translation:3:1: byte 0xFE is not UTF-8; convert"),
    ],
)
def test_different_numbers_of_lines_are_refused_at_once_after_wrong_encodings(
    content: bytes, message: str, tmp_path: Path
) -> None:
    source, translation = file(tmp_path, "one\ntwo\n", "source"), file(tmp_path, content, "translation")
    with pytest.raises(InputError, match=message):
        next(Lines(translation=translation).read(source, PAIR))


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd, where open pipes have names")
def test_a_pipe_that_ends_early_is_refused_where_it_ends(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"einn\n")
    os.close(writing)
    segments = Lines(translation=Path(f"/dev/fd/{reading}")).read(file(tmp_path, "one\ntwo\n"), PAIR)
    assert next(segments).translation == "einn"
    with pytest.raises(InputError, match=r"/dev/fd/\d+: ends after 1 lines"):
        next(segments)
    os.close(reading)


# --- any text


@settings(max_examples=60)
@given(st.data(), st.sampled_from([LINES, TSV, CSV, TSV_QUOTED, JSONL]))
def test_any_texts_that_are_written_are_read_back_the_same(data: st.DataObject, form: Format) -> None:
    texts = data.draw(st.lists(ONE_LINE if form in (LINES, TSV) else TEXT, max_size=5))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t")
        assert form.write(path, results(texts)) == len(texts)
        segments = list(form.read(path, PAIR))
    assert [(s.source if form == LINES else s.translation) or "" for s in segments] == texts


@settings(max_examples=60)
@given(st.lists(st.tuples(ONE_LINE, st.sampled_from(["\n", "\r\n"])), max_size=6), st.booleans())
def test_any_mixture_of_line_ends_is_kept(lines: list[tuple[str, str]], mark: bool) -> None:
    content = ("\ufeff" if mark and lines else "") + "".join(text + end for text, end in lines)
    with tempfile.TemporaryDirectory() as folder:
        path = file(Path(folder), content)
        assert rewritten(LINES, path) == content


@settings(max_examples=60)
@given(st.data(), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_any_csv_that_python_writes_is_rewritten_in_place(data: st.DataObject, quoting: Any) -> None:
    rows = data.draw(st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=4))
    texts = data.draw(st.lists(TEXT, min_size=len(rows), max_size=len(rows)))
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=quoting).writerows([("source", "translation", "x"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        content = rewritten(CSV, file(Path(folder), stream.getvalue()), texts)
    expected = [(source, text, x) for (source, _, x), text in zip(rows, texts, strict=True)]
    assert list(map(tuple, csv.reader(io.StringIO(content, newline=""))))[1:] == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80)
@given(
    st.dictionaries(st.text('nmx"\\é漢 :,{', max_size=4), VALUES, max_size=4),
    st.none() | TEXT,
    TEXT.filter(bool),
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "  : ")]),
)
def test_any_object_differs_in_its_text_alone(
    others: dict[str, Any], old: str | None, new: str, escape: bool, separators: tuple[str, str]
) -> None:
    def line(text: str | None) -> str:
        return json.dumps({"source": "é", "mt": text, **others}, ensure_ascii=escape, separators=separators)

    with tempfile.TemporaryDirectory() as folder:
        assert rewritten(JSONL_LENIENT, file(Path(folder), line(old)), [new]) == line(new)
