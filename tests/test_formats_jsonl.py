"""JSON Lines: strict about names, exact about texts, and output that looks like the input."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.errors import InputError, OutputError
from mtagent.formats import JSONL, JSONL_LENIENT, JsonLines, Result, SegmentDefaults
from mtagent.records import Segment, Term

PAIR = SegmentDefaults(source_lang="en", target_lang="is")
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


def file(folder: Path, content: str) -> Path:
    path = folder / "segments.jsonl"
    path.write_bytes(content.encode())
    return path


def read(path: Path, form: JsonLines = JSONL) -> list[Segment]:
    return list(form.read(path, PAIR))


def rewritten(path: Path, form: JsonLines, texts: list[str], **extra: Any) -> str:
    """The file's content after its segments were written back over it with new texts."""
    form.write(
        path, [Result(segment=s, text=t, extra=extra) for s, t in zip(read(path, form), texts, strict=True)], path
    )
    return path.read_bytes().decode()


def test_all_fields_of_a_segment_are_read(tmp_path: Path) -> None:
    segment = Segment(
        id="a",
        source="Q\n\nq",
        source_lang="en",
        target_lang="is",
        translation="",
        reference="R",
        document="d",
        domain="news",
        context="before",
        notes="mind",
        terms=(Term(source="Q", target="Z"),),
    )
    assert read(file(tmp_path, segment.model_dump_json())) == [segment]


def test_null_is_a_missing_field_and_an_empty_string_is_a_text(tmp_path: Path) -> None:
    first, second = read(file(tmp_path, '{"source":"a","translation":null}\n{"source":"","translation":""}\n'))
    assert (first.translation, second.source, second.translation) == (None, "", "")


def test_ids_may_be_numbers_and_default_to_the_place_in_the_file(tmp_path: Path) -> None:
    assert [s.id for s in read(file(tmp_path, '{"source":"a"}\n{"id":70,"source":"b"}\n{"id":null,"source":"c"}'))] == [
        "1",
        "70",
        "3",
    ]


def test_an_unknown_field_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    lines = '{"source": "a"}\n' * 16 + '{"src_text": "b"}\n'
    with pytest.raises(InputError, match=r"segments\.jsonl:17: unknown field 'src_text'; did you mean 'source'\?$"):
        read(file(tmp_path, lines))
    with pytest.raises(InputError, match=r":1: unknown field 'tarns'; did you mean 'terms'\?|--format jsonl-lenient"):
        read(file(tmp_path, '{"source": "a", "tarns": "b"}\n'))


def test_a_lenient_reader_maps_foreign_names_and_carries_other_fields_through(tmp_path: Path) -> None:
    path = file(tmp_path, '{"doc_id":"x","src_text":"a","tgt_lang":"is_IS","mt":"b","n":[1.5,{"q":null}]}\n')
    (segment,) = read(path, JSONL_LENIENT)
    assert (segment.document, segment.source, segment.target_lang, segment.translation) == ("x", "a", "is-IS", "b")
    assert rewritten(path, JSONL_LENIENT, ["c"]) == (
        '{"doc_id":"x","src_text":"a","tgt_lang":"is_IS","mt":"c","n":[1.5,{"q":null}]}\n'
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", r":1:2: not JSON"),
        ("[1]", ":1: a line must hold an object"),
        ("null", ":1: a line must hold an object"),
        ('{"translation": "b"}', ":1: field 'source': field required"),
        ('{"source": null}', ":1: field 'source': field required"),
        ('{"source": 7}', ":1: field 'source': input should be a valid string"),
        ('{"id": true, "source": "a"}', ":1: field 'id': input should be a valid string"),
        ('{"source": "a", "terms": [{"sorce": "b"}]}', r":1: field 'terms\.0\.so"),
        ('{"source": "a", "source": "b"}', ":1: .*the field 'source' comes twice"),
        ('{"source": "\\ud83d"}', r":1: .*an escaped lone surrogate \(.ud83d\)"),
        ('{"source": "a\\u0000"}', ":1: an escaped NUL"),
        ('{"source": NaN}', ":1: .*NaN is not a JSON number"),
        ('{"source": ' + "[" * 100_000, ":1: not usable JSON"),
        ('{"source": "a"}\n\n{"source": "b"}', ":2: an empty line between the objects"),
        ('{"id": "1", "source": "a"}\n{"id": 1, "source": "b"}', ":2: the id '1' was already used in line 1"),
        ('{"source": "a", "source_lang": "xx"}', ":1: unknown language 'xx'"),
    ],
)
def test_a_defect_is_refused_with_file_and_line(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(InputError, match=r"segments\.jsonl" + reason):
        read(file(tmp_path, line))


@pytest.mark.parametrize("inside", ["\u2028", "\x85", "\x7f", "\ufeff", "None", "x" * 1_000_000])
def test_unusual_characters_and_long_texts_survive(tmp_path: Path, inside: str) -> None:
    path = file(tmp_path, f'{{"source": "a{inside}b"}}\n')
    assert read(path)[0].source == f"a{inside}b"
    assert json.loads(rewritten(path, JSONL, [inside]))["translation"] == inside


@pytest.mark.parametrize(
    "content",
    [
        '\ufeff{"source":  "a", "translation": "b"}\r\n{"translation":"d","source":"c"}',
        '{"source": "\\u00e9", "translation": "\\u00e9"}\n',
        '{"source": "a", "translation": null}\n',
        "",
    ],
)
def test_unchanged_texts_give_the_same_bytes(tmp_path: Path, content: str) -> None:
    path = file(tmp_path, content)
    assert rewritten(path, JSONL, [segment.translation or "" for segment in read(path)]) == content


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"translation": "a", "source": "é"}\r\n', '{"translation": "ö", "source": "é"}\r\n'),
        ('{"translation":"a","source":"é"}', '{"translation":"ö","source":"é"}'),
        ('{"translation": "a", "source": "\\u00e9"}', '{"translation": "\\u00f6", "source": "\\u00e9"}'),
    ],
)
def test_a_changed_object_keeps_its_order_spacing_and_escapes(tmp_path: Path, before: str, after: str) -> None:
    assert rewritten(file(tmp_path, before), JSONL, ["ö"]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"mt":"a","source":"s","n":0.12345678901234567890}', '{"mt":"b","source":"s","n":0.12345678901234567890}'),
        (
            '{"n": [1.10, 1e5, -0, 1E-2], "mt": "a", "source": "s"}',
            '{"n": [1.10, 1e5, -0, 1E-2], "mt": "b", "source": "s"}',
        ),
        ('{"source": "s", "n": {"mt": 1e400}, "mt": "a"}\r\n', '{"source": "s", "n": {"mt": 1e400}, "mt": "b"}\r\n'),
        (
            '\ufeff {"source" :\t"s" ,"mt":  "a\\"}" , "n":[ ] } \n',
            '\ufeff {"source" :\t"s" ,"mt":  "b" , "n":[ ] } \n',
        ),
        ('{"source":"\\/\\u0073","m\\u0074":null}', '{"source":"\\/\\u0073","m\\u0074":"b"}'),
        ('{"source": "s", "n":1.10 }', '{"source": "s", "n":1.10, "translation":"b" }'),
        ('{ "source" : "s" , "n" : 1e5 }', '{ "source" : "s" , "n" : 1e5 , "translation" : "b" }'),
        ('{"source":"s"}', '{"source":"s","translation":"b"}'),
    ],
)
def test_a_changed_text_leaves_every_other_character_as_it_was(tmp_path: Path, before: str, after: str) -> None:
    assert rewritten(file(tmp_path, before), JSONL_LENIENT, ["b"]) == after


def test_numbers_stay_beside_a_change_where_unknown_fields_are_refused(tmp_path: Path) -> None:
    path = file(tmp_path, '{"id":  7,"source":"s", "terms": [ ],"translation" : "a"}')
    assert rewritten(path, JSONL, ["b"]) == '{"id":  7,"source":"s", "terms": [ ],"translation" : "b"}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80)
@given(
    st.dictionaries(st.text('nmx"\\é漢 :,{', max_size=4), JSON, max_size=4),
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
        path = file(Path(folder), line(old))
        assert rewritten(path, JSONL_LENIENT, [new]) == line(new)


def test_extra_values_become_fields(tmp_path: Path) -> None:
    assert rewritten(file(tmp_path, '{"source": "a"}\n'), JSONL, ["b"], score=1.5) == (
        '{"source": "a", "translation": "b", "score": 1.5}\n'
    )


def test_extra_values_that_are_there_already_are_replaced_where_they_stand(tmp_path: Path) -> None:
    path = file(tmp_path, '{"score":0.50,"source":"a","status":"x","n":1.10}\n')
    assert rewritten(path, JSONL_LENIENT, ["b"], score=0.5, status="y", why=[1, 2]) == (
        '{"score":0.50,"source":"a","status":"y","n":1.10,"translation":"b","why":[1,2]}\n'
    )


@pytest.mark.parametrize("value", [float("nan"), {1, 2}])
def test_an_extra_value_that_json_cannot_hold_is_refused(tmp_path: Path, value: Any) -> None:
    segment = Segment(id="7", source="a", source_lang="en", target_lang="is")
    with pytest.raises(OutputError, match=r"out\.jsonl: segment '7': "):
        JSONL.write(tmp_path / "out.jsonl", [Result(segment=segment, text="b", extra={"x": value})])
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXT, TEXT, st.none() | TEXT), max_size=5))
def test_any_texts_are_read_back_the_same(rows: list[tuple[str, str, str | None]]) -> None:
    segments = [
        Segment(id=f"n{number}", source=source, source_lang="en", target_lang="is", notes=notes)
        for number, (source, _, notes) in enumerate(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.jsonl")
        JSONL.write(path, [Result(segment=s, text=text) for s, (_, text, _) in zip(segments, rows, strict=True)])
        back = list(JSONL.read(path))
    assert [(one.source, one.translation, one.notes) for one in back] == rows
    assert [one.model_copy(update={"translation": None}) for one in back] == segments
