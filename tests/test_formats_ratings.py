"""Files of ratings, character by character: JSON Lines, mt-metrics-eval, Marot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtagent.errors import ConfigError, OutputError
from mtagent.formats import RATING_FORMATS, rating_format, refuse_other_kind
from mtagent.formats.ratings import Ratings, place_of, side_by_side
from mtagent.records import Call, ErrorSpan, Rated, Rating, Segment, Usage


def segment(number: int, source: str, document: str | None = None, **more: str) -> Segment:
    return Segment(id=str(number), source=source, source_lang="en", target_lang="de", document=document, **more)


FIRST = segment(1, "The bank, yes the bank, lends money.", "news", reference="Die Bank verleiht Geld.")
SECOND = segment(2, "It rains.", "news")
THIRD = segment(1, "Stop here.", "talk").model_copy(update={"id": "t1"})
SPANS = (
    ErrorSpan(
        text="Ufer", category="accuracy/mistranslation", severity="major", start=4, end=8, suggestion="Bank",
        explanation="a bank that\tlends is no shore", before="Das ", after=" ver", penalty=5,
    ),
    ErrorSpan(text="lends money", category="accuracy/omission", severity="minor", side="omission"),
    ErrorSpan(text="bank", category="accuracy/omission", severity="neutral", side="omission"),
    ErrorSpan(text="bank", category="source issue", severity="minor", start=4, end=8, side="source"),
)  # fmt: skip
CALL = Call(purpose="rate", model="m", usage=Usage(calls=1, input_tokens=9, output_tokens=2, cost=None))


def of(segment: Segment, system: str, text: str, rating: Rating | None, error: str | None = None) -> Rated:
    calls = rating.calls if rating else ()
    return Rated(segment=segment, system=system, translation=text, rating=rating, error=error, calls=calls, seconds=0.5)


def by_judge(score: float, *errors: ErrorSpan, calls: tuple[Call, ...] = ()) -> Rating:
    return Rating(evaluator="judge", score=score, errors=errors, signature="judge|1", calls=calls)


RATED = [
    of(FIRST, "gpt-4.1", "Das Ufer verleiht.", by_judge(-6.1, *SPANS, calls=(CALL,))),
    of(FIRST, "b", "Die Bank verleiht Geld.", by_judge(0)),
    of(SECOND, "gpt-4.1", "Es regnet.", None, "RatingParseError: no\nlist"),
    of(SECOND, "b", "Es regnet.", by_judge(0)),
    of(THIRD, "gpt-4.1", "Halt.", by_judge(-1, SPANS[1])),
    of(THIRD, "b", "", None),
]


def only(*rated: Rated) -> Ratings:
    systems = tuple(dict.fromkeys(item.system for item in rated))
    return Ratings(systems, lambda system: (item for item in rated if system in (None, item.system)))


def written(name: str, path: Path, *rated: Rated) -> tuple[list[str], tuple[str, ...]]:
    """The lines of the file, and the remarks."""
    remarks = RATING_FORMATS[name].write_ratings(only(*(rated or RATED)), path)
    return path.read_text(encoding="utf-8").split("\n")[:-1], remarks


# --- JSON Lines


def test_jsonl_is_one_object_per_segment_and_system_with_these_fields(tmp_path: Path) -> None:
    lines, remarks = written("jsonl", tmp_path / "o.jsonl")
    assert remarks == ()
    first = json.loads(lines[0])
    spans = first.pop("errors")
    assert first == {
        "id": "1", "system": "gpt-4.1", "source_lang": "en", "target_lang": "de", "document": "news", "domain": None,
        "source": "The bank, yes the bank, lends money.", "translation": "Das Ufer verleiht.",
        "reference": "Die Bank verleiht Geld.", "evaluator": "judge", "score": -6.1, "explanation": None,
        "confidence": None, "gaps": [], "warnings": [], "correction": None, "signature": "judge|1",
        "usage": {
            "calls": 1, "reused": 0, "input_tokens": 9, "cached_tokens": 0, "cache_write_tokens": 0,
            "output_tokens": 2, "reasoning_tokens": 0, "batched": 0, "cost": None, "saved": None,
        },
        "seconds": 0.5, "error": None,
    }  # fmt: skip
    assert tuple(ErrorSpan(**span) for span in spans) == SPANS
    assert list(first)[:2] == ["id", "system"]


def test_mtme_gives_the_penalty_of_the_span_before_its_mqm_weight(tmp_path: Path) -> None:
    errors = [SPANS[0].model_copy(update={"penalty": penalty}) for penalty in (3.0, None)]
    written("mtme", tmp_path / "j.seg.score", of(FIRST, "a", "Das Ufer verleiht.", by_judge(-8, *errors)))
    line = json.loads((tmp_path / "j.seg.rating").read_text(encoding="utf-8").split("\t")[1])
    assert [error["score"] for error in line["errors"]] == [3.0, 5.0]


def test_jsonl_keeps_error_free_failed_and_not_rated_apart(tmp_path: Path) -> None:
    objects = [json.loads(line) for line in written("jsonl", tmp_path / "o.jsonl")[0]]
    assert [(o["score"], o["errors"], o["error"]) for o in objects[1:3]] == [
        (0, [], None), (None, None, "RatingParseError: no\nlist")
    ]  # fmt: skip
    assert (objects[5]["score"], objects[5]["errors"], objects[5]["error"]) == (None, None, None)
    assert "reference" not in objects[2]


def test_jsonl_holds_every_text(tmp_path: Path) -> None:
    odd = of(segment(1, "a\tb\nc"), "s\t\n", 'd\u2028"\r\n<v>\ud800', by_judge(0))
    lines, _ = written("jsonl", tmp_path / "o.jsonl", odd)
    assert len(lines) == 1
    assert json.loads(lines[0])["translation"] == odd.translation


def test_an_evaluator_without_spans_gives_null_and_not_an_empty_list(tmp_path: Path) -> None:
    da = of(SECOND, "a", "Es regnet.", Rating(evaluator="da", score=90, signature="da|1"))
    assert json.loads(written("jsonl", tmp_path / "o.jsonl", da)[0][0])["errors"] is None
    written("mtme", tmp_path / "o.seg.score", da)
    assert (tmp_path / "o.seg.rating").read_text(encoding="utf-8") == "a\tNone\n"
    assert (tmp_path / "o.seg.score").read_text(encoding="utf-8") == "a\t90.0\n"
    with pytest.raises(OutputError, match="da marks no spans, and a Marot file holds nothing else; use --format jsonl"):
        written("marot", tmp_path / "o.tsv", da)
    assert not (tmp_path / "o.tsv").exists()


# --- mt-metrics-eval


def test_mtme_scores_stand_by_system_in_input_order_and_none_is_missing(tmp_path: Path) -> None:
    lines, remarks = written("mtme", tmp_path / "j-src.seg.score")
    assert lines == ["gpt_4_1\t-6.1", "gpt_4_1\tNone", "gpt_4_1\t-1.0", "b\t0.0", "b\t0.0", "b\tNone"]
    assert (tmp_path / "j-src.sys.score").read_text(encoding="utf-8") == "gpt_4_1\tNone\nb\tNone\n"
    assert remarks[0].endswith(": gpt-4.1 is gpt_4_1")


def test_mtme_ratings_hold_offsets_and_an_error_without_a_place_is_an_empty_span(tmp_path: Path) -> None:
    _, remarks = written("mtme", tmp_path / "j.seg.score")
    rows = [line.split("\t") for line in (tmp_path / "j.seg.rating").read_text(encoding="utf-8").split("\n")[:-1]]
    assert [row[1:] for row in rows[1:2] + rows[3:]] == [
        ["None"], ['{"errors": []}', "judge"], ['{"errors": []}', "judge"], ["None"]
    ]  # fmt: skip
    assert (rows[0][0], rows[0][2]) == ("gpt_4_1", "judge")
    errors = json.loads(rows[0][1])["errors"]
    assert list(errors[0]) == ["start", "end", "category", "severity", "score", "is_source_error"]
    assert [tuple(error.values()) for error in errors] == [
        (4, 8, "accuracy/mistranslation", "major", 5.0, False),
        (24, 35, "accuracy/omission", "minor", 1.0, True),
        (0, 0, "accuracy/omission", "neutral", 0.0, True),
        (4, 8, "source issue", "minor", 0.0, True),
    ]
    assert FIRST.source[24:35] == "lends money"
    assert remarks[1] == "2 errors have no known place in the text: they are written as empty spans at its start"


@pytest.mark.parametrize("name", ["x.seg.score", "x.seg.rating", "x.sys.score", "x"])
def test_mtme_writes_three_files_whichever_is_named(name: str, tmp_path: Path) -> None:
    paths = RATING_FORMATS["mtme"].paths(tmp_path / name)
    assert [path.name for path in paths] == ["x.seg.score", "x.sys.score", "x.seg.rating"]
    RATING_FORMATS["mtme"].write_ratings(only(*RATED), tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)


def test_only_a_system_that_was_rated_as_a_whole_has_an_average(tmp_path: Path) -> None:
    rated = [of(item, "a", "x", by_judge(score)) for item, score in ((FIRST, -6.1), (SECOND, -1.0))]
    partly = [of(FIRST, "b", "x", by_judge(0)), of(SECOND, "b", "x", None, "down")]
    never = [of(SECOND, "c", "x", None, "down")]
    written("mtme", tmp_path / "o.seg.score", *rated, *partly, *never)
    assert (tmp_path / "o.sys.score").read_text(encoding="utf-8") == "a\t-3.55\nb\tNone\nc\tNone\n"


# --- Marot


def test_marot_has_a_row_per_error_and_says_where_there_is_none(tmp_path: Path) -> None:
    lines, remarks = written("marot", tmp_path / "o.tsv")
    source = FIRST.source
    missing = source.replace("lends money", "<v>lends money</v>")
    note = '{"marked_text": "Ufer", "note": "a bank that\\tlends is no shore", "suggestion": "Bank"}'
    about, text = ["gpt-4.1", "news", "1", "1", "judge"], "Das Ufer verleiht."
    assert [line.split("\t") for line in lines] == [
        ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity", "metadata"],
        [*about, source, "Das <v>Ufer</v> verleiht.", "Accuracy/Mistranslation", "Major", note],
        [*about, missing, text, "Accuracy/Omission", "Minor", '{"marked_text": "lends money"}'],
        [*about, source, text, "Accuracy/Omission", "Neutral", '{"marked_text": "bank"}'],
        [*about, "The <v>bank</v>" + source[8:], text, "Source issue", "Minor", '{"marked_text": "bank"}'],
        ["b", "news", "1", "1", "judge", source, "Die Bank verleiht Geld.", "No-error", "No-error", "{}"],
        ["b", "news", "2", "2", "judge", "It rains.", "Es regnet.", "No-error", "No-error", "{}"],
        ["gpt-4.1", "talk", "1", "t1", "judge", "Stop here.", "Halt.", "Accuracy/Omission", "Minor",
         '{"marked_text": "lends money"}'],
    ]  # fmt: skip
    assert remarks == ("1 failed ratings have no row in a Marot file",)


@pytest.mark.parametrize("place", ["source", "document", "translation by a", "id"])
@pytest.mark.parametrize("mark", ["\t", "\n", "\r", "<v>", "</v>"])
def test_marot_refuses_what_would_be_taken_for_the_file_s_own(place: str, mark: str, tmp_path: Path) -> None:
    texts = dict.fromkeys(("source", "document", "translation by a", "id"), "text") | {place: f"a{mark}b"}
    own = Segment(
        id=texts["id"], source=texts["source"], document=texts["document"], source_lang="en", target_lang="de"
    )
    with pytest.raises(OutputError, match=f"the {place} has a .*, which a Marot file cannot hold; use --format jsonl"):
        RATING_FORMATS["marot"].refuse(side_by_side(own, {"a": texts["translation by a"]}), tmp_path / "o.tsv")


def test_odd_categories_and_missing_documents_do_not_break_a_row(tmp_path: Path) -> None:
    span = ErrorSpan(text="Es", category="a\tb\nc", severity="minor", start=0, end=2)
    rated = of(segment(7, "It rains."), "a", "Es regnet.", by_judge(-1, span))
    lines, _ = written("marot", tmp_path / "o.tsv", rated)
    (cells,) = (line.split("\t") for line in lines[1:])
    assert cells[:5] == ["a", "-", "1", "7", "judge"]  # readers skip an empty name of a document
    assert cells[7] == "A b c"


# --- all of them


def test_the_name_tells_the_format_and_jsonl_is_the_default() -> None:
    names = {"a.jsonl": "jsonl", "a.ndjson": "jsonl", "a.seg.score": "mtme", "a.sys.score": "mtme", "a.tsv": "marot"}
    assert {name: rating_format(Path(name)).name for name in names} == names
    assert rating_format(Path("-")).name == rating_format(Path("a.out")).name == "jsonl"
    assert rating_format(Path("a.tsv"), "jsonl").name == "jsonl"
    with pytest.raises(ConfigError, match="unknown format of ratings 'marrot'; did you mean 'marot'"):
        rating_format(Path("a"), "marrot")


def test_a_writer_that_fails_leaves_the_former_files_as_they_were(tmp_path: Path) -> None:
    def failing(system: str | None) -> Iterator[Rated]:
        yield RATED[0]
        raise OutputError("in the middle")

    for name, path in {"jsonl": "o.jsonl", "mtme": "o.seg.score", "marot": "o.tsv"}.items():
        (tmp_path / path).write_text("good", encoding="utf-8")
        with pytest.raises(OutputError, match="in the middle"):
            RATING_FORMATS[name].write_ratings(Ratings(("gpt-4.1",), failing), tmp_path / path)
        assert (tmp_path / path).read_text(encoding="utf-8") == "good"
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("span", "place"),
    [
        ({"text": "x", "start": 1, "end": 2}, (1, 2, False)),
        ({"text": "x", "start": 1, "end": 2, "side": "source"}, (1, 2, True)),
        ({"text": "ab"}, (0, 2, False)),
        ({"text": "c"}, None),
        ({"text": "S", "side": "source"}, (0, 1, True)),
        ({"text": "T", "side": "omission"}, (1, 2, True)),
        ({"text": "", "side": "omission"}, None),
        ({"text": "ab", "side": "omission"}, None),
    ],
)
def test_the_place_of_an_error_is_known_or_not_and_never_guessed(span: dict[str, object], place: object) -> None:
    known = place_of(ErrorSpan(category="c", severity="minor", **span), "STQQ", "abcc")  # type: ignore[arg-type]
    assert (None if known is None else tuple(known)) == place


@pytest.mark.parametrize("name", ["a.csv", "a.JSON", "a.xlsx"])
def test_a_name_of_another_kind_of_file_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"{name}: ratings are not written as .*; name it with \.jsonl, "):
        refuse_other_kind(Path(name))
