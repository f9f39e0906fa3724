"""A chain as the page's script gets it: any text as it was, places as JavaScript counts them, differences."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.chain.decided_text import decided
from mtagent.records import Chain, Edit, ErrorCause, Rating, Step
from mtagent.records.decisions import Decision
from mtagent.report.packing import changes, packed, script_json, units
from tests.report_runs import edited, error, rating, segment, varied
from tests.taken_back import taken_back


@pytest.mark.parametrize(
    "text",
    [
        "</script>",
        "<!--<script>",
        "&lt;",
        "\u2028\u2029",
        "\ud800 alone",
        "\0\x1f\x7f\ufffe\uffff",
        '"\\',
        "👩\u200d👧",
    ],
)
def test_any_text_comes_back_from_the_script_element_as_it_was(text: str) -> None:
    written = script_json({"text": text})
    assert json.loads(written) == {"text": text}
    assert not set("<>&\u2028\u2029") & set(written)
    written.encode("utf-8")


def test_places_are_counted_as_javascript_counts_them() -> None:
    text = "👍 gut 👍 schlecht"
    chain = edited(segment("1", "good", text), "👍 gut 👍 recht", error(text, "schlecht", "recht"))
    step = packed(chain)["steps"][0]
    start, end = step["ratings"][0]["errors"][0]["at"]
    assert text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le") == "schlecht"
    assert step["edits"][0]["at"] == [start, end]
    assert step["edits"][0]["error"] == 0


def test_an_error_whose_text_stands_elsewhere_is_listed_without_a_place() -> None:
    moved = error("schlecht", "schlecht").model_copy(update={"start": 3, "end": 11})
    step = packed(edited(segment("1", "bad", "ganz schlecht"), "gut", moved))["steps"][0]
    assert "at" not in step["ratings"][0]["errors"][0]


def test_the_text_that_the_gate_decided_on_is_kept_where_guards_refused_some_edits() -> None:
    applied = Edit(old="a", new="x", outcome="rejected", start=0, end=1, detail="worse")
    refused = Edit(old="{n}", new="n", outcome="refused", start=2, end=5, detail="placeholders")
    step = Step(
        stage="proofread", text="a {n}", proposed="x n", edits=(applied, refused), verdict="rejected", cause="gate",
        ratings=(Rating(evaluator="judge", score=0, role="before"), Rating(evaluator="judge", score=0, role="after")),
    )  # fmt: skip
    packed_step = packed(Chain(segment=segment("1", "a {n}", "a {n}"), steps=(step,)))["steps"][0]
    assert (packed_step["compared"], packed_step["proposed"], "text" in packed_step) == ("x {n}", "x n", False)
    assert [rating["about"] for rating in packed_step["ratings"]] == ["before", "after"]


def test_the_judge_s_errors_stand_in_the_text_that_it_rated_although_edits_were_taken_back() -> None:
    before, after = "ein Hund und ein Tor", "die Katze und eine Tür"
    spans = error(before, "ein Hund", "die Katze"), error(before, "ein Tor", "eine Tür")
    chain = edited(segment("1", "a cat and a door", before), after, *spans)
    (step,) = chain.steps
    late = step.model_copy(update={"ratings": (*step.ratings[:1], rating(-5, error(after, "eine Tür"), role="after"))})
    packed_step = packed(taken_back(chain.model_copy(update={"steps": (late,)}), 1))["steps"][0]
    assert packed_step["text"] == "ein Hund und eine Tür"
    start, end = packed_step["ratings"][1]["errors"][0]["at"]
    assert packed_step.get("compared", packed_step["text"])[start:end] == "eine Tür"


def test_the_numbers_of_edits_go_on_over_stages_and_are_those_that_people_decide_on() -> None:
    chain = varied()[0]
    steps = packed(chain)["steps"]
    assert [step["first"] for step in steps] == [1, 2]
    decision = Decision(segment=chain.segment.id, edit=steps[0]["first"], verdict="reject")
    assert decided(chain, [decision]).text == chain.segment.translation


def test_a_loss_in_the_fifth_digit_is_a_loss_and_an_empty_translation_is_not_a_missing_one() -> None:
    assert packed(varied()[0], [[0.912345, 0.912341]])["scores"] == [[0.912345, 0.912341]]
    for verdict, text in (("kept", ""), ("failed", None)):
        draft = Step.model_validate({"stage": "translate", "text": "", "verdict": verdict, "cause": "-"})
        (step,) = packed(Chain(segment=segment("1", "", None), steps=(draft,)))["steps"]
        assert step.get("text") == text


def rebuilt(before: str, after: str, runs: Sequence[int]) -> tuple[list[str], str]:
    """The pieces that went, and the later text, made of the earlier one and the pieces that came."""
    old, new = (text.encode("utf-16-le", "surrogatepass") for text in (before, after))
    gone, made, i, j = [], b"", 0, 0
    for same, went, came in zip(runs[::3], runs[1::3], runs[2::3], strict=True):
        made += old[2 * i : 2 * (i + same)] + new[2 * (j + same) : 2 * (j + same + came)]
        gone.append(old[2 * (i + same) : 2 * (i + same + went)].decode("utf-16-le", "surrogatepass"))
        i, j = i + same + went, j + same + came
    return gone, (made + old[2 * i :]).decode("utf-16-le", "surrogatepass")


_TEXTS = st.lists(st.sampled_from(["a ", "b", " ", "e\u0301", "👩‍👩‍👧", "猫", "\n", ".", "\u200b", "word "])).map(
    "".join
)


@given(_TEXTS, _TEXTS, st.sampled_from(["de", "ja", "xx"]))
def test_a_difference_leads_from_one_text_to_the_other(before: str, after: str, language: str) -> None:
    assert rebuilt(before, after, changes(before, after, language))[1] == after


@pytest.mark.parametrize(
    ("language", "before", "after", "gone"),
    [
        ("de", "Die Bank des Flusses.", "Das Ufer des Flusses.", ["Die Bank"]),
        ("ja", "水曜日に閉じる", "火曜日に閉じる", ["水"]),
        ("hi", "पुराने पुल को", "पुरानी पुल को", ["पुराने"]),
        ("th", "สวัสดีครับ", "สวัสดีค่ะ", ["ครับ"]),
        ("ar", "يوم الأربعاء هنا", "يوم الثلاثاء هنا", ["الأربعاء"]),
        ("de", "one, two.", "one two.", [","]),
        ("de", "x e\u0301 👩‍👩‍👧", "x e\u0300 👩‍👩‍👦", ["e\u0301 👩‍👩‍👧"]),
        ("de", "a b c d " * 9000, "e f g h " * 9000, [("a b c d " * 9000)[:-1]]),
    ],
)
def test_a_difference_goes_by_words_or_characters_and_splits_none(
    language: str, before: str, after: str, gone: list[str]
) -> None:
    assert rebuilt(before, after, changes(before, after, language)) == (gone, after)
    assert units("👩") == 2


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("Hi {name}!", "Hi {nome}!", (3, 6, 6)), ("<b>x</b>", "<i>x</i>", (0, 3, 3, 1, 4, 4)),
        ("%s now", "%d now", (0, 2, 2)), ("a [x](http://a.b/c)", "a [x](http://a.b/d)", (4, 15, 15)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("language", ["de", "ja"])
def test_tags_placeholders_and_links_change_as_a_whole(
    before: str, after: str, expected: tuple[int, ...], language: str
) -> None:
    assert changes(before, after, language) == expected


def test_an_error_is_told_in_words_and_its_class_is_a_detail() -> None:
    cause = ErrorCause(error="ServerError", detail="no answer at http://127.0.0.1:9", status=503)
    stopped = Step(stage="postedit", text="gut", verdict="failed", cause=cause)
    unknown = stopped.model_copy(update={"cause": ErrorCause(error="KeyError", detail="'x'")})
    chains = [Chain(segment=segment("1", "good", "gut"), steps=(step,)) for step in (stopped, unknown)]
    shown = [packed(chain)["steps"][0] for chain in chains]
    assert [(step["reason"], step["error"]) for step in shown] == [
        ("the server failed: no answer at http://127.0.0.1:9", "ServerError, HTTP status 503"),
        ("unexpected error: 'x'", "KeyError"),
    ]
