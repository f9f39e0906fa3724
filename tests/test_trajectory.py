"""How a rating came about, as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mtagent.errors import StoreError
from mtagent.jobs.summary import rated_trajectory, show_ratings, step_trajectories
from mtagent.records import Call, Chain, ErrorSpan, Message, Rated, Rating, Segment, Step, ToolCall, Usage
from mtagent.store import Store

SEGMENT = Segment(
    id="7", source="The bank\nlends.", source_lang="en", target_lang="de", reference="Die Bank\nverleiht."
)
PAID = Usage(calls=1, input_tokens=30, output_tokens=4, cost=0.0025)


def said(role: str, content: str, **more: object) -> Message:
    return Message(role=role, content=content, **more)  # type: ignore[arg-type]


def call(purpose: str, messages: Sequence[Message], reply: str | None = None, **more: object) -> Call:
    fields = {"usage": PAID, "seconds": 1.26, **more}
    return Call(purpose=purpose, model="gpt", messages=tuple(messages), reply=reply, **fields)  # type: ignore[arg-type]


def story(*calls: Call, full: bool = False, **more: object) -> list[str]:
    rating = Rating(evaluator="judge", score=-5, calls=calls, signature="judge|1", **more)  # type: ignore[arg-type]
    rated = Rated(segment=SEGMENT, system="mt", translation="Das Ufer\nverleiht.", rating=rating, calls=calls)
    return rated_trajectory(rated, full=full).split("\n")


SYSTEM = said("system", "You rate. " * 40)
EXAMPLES = [said("user", "example"), said("assistant", "[]")]
ASKED = said("user", "Rate <translation>Das Ufer</translation>")


def test_the_texts_stand_first_and_their_further_lines_are_set_in() -> None:
    assert story()[:7] == [
        "segment 7, system mt, en-de",
        "source       The bank",
        "             lends.",
        "translation  Das Ufer",
        "             verleiht.",
        "reference    Die Bank",
        "             verleiht.",
    ]


def test_a_call_shows_purpose_model_tokens_dollars_seconds_question_and_reply() -> None:
    lines = story(call("severity", [SYSTEM, *EXAMPLES, ASKED], "[]\nnone"))
    assert lines[8] == "1. severity  (gpt, 30 + 4 tokens, $0.0025, 1.3 s)"
    assert lines[9].startswith("system       You rate. You rate. ")
    assert lines[9].endswith("… (400 characters, -v shows all)")
    assert lines[10:14] == [
        "…            2 messages with examples (-v shows them)",
        "user         Rate <translation>Das Ufer</translation>",
        "reply        []",
        "             none",
    ]


def test_in_full_nothing_is_left_out() -> None:
    text = "\n".join(story(call("rate", [SYSTEM, *EXAMPLES, said("user", "x" * 2000)], "[]"), full=True))
    assert SYSTEM.content.strip() in text
    assert "user         example\nassistant    []\n" in text
    assert "x" * 2000 in text
    assert "-v shows" not in text


def test_of_a_long_question_the_end_is_shown_where_the_texts_are() -> None:
    lines = story(call("rate", [SYSTEM, said("user", "notes " * 300 + "THE TEXT")], "[]"))
    assert lines[10].startswith("user         (1,808 characters, -v shows all) …")
    assert lines[10].endswith("THE TEXT")


def test_a_conversation_that_goes_on_shows_what_is_new() -> None:
    first = call("debate", [SYSTEM, ASKED], "major")
    other = call("judge", [said("system", "Other."), ASKED], "minor")
    again = call("debate", [SYSTEM, ASKED, said("assistant", "major"), said("user", "Sure?")], "yes")
    lines = story(first, other, again)
    start = lines.index("3. debate  (gpt, 30 + 4 tokens, $0.0025, 1.3 s)")
    assert lines[start + 1 : start + 4] == [
        "before       as in call 1 (3 messages)",
        "user         Sure?",
        "reply        yes",
    ]


def test_tool_calls_and_their_answers_are_shown() -> None:
    wish = ToolCall(id="1", name="search", arguments='{"query": "Ufer"}')
    asked = call("core", [SYSTEM, ASKED], "", tool_calls=(wish,))
    answered = [SYSTEM, ASKED, said("assistant", "", tool_calls=(wish,)), said("tool", "a shore", tool_call_id="1")]
    lines = story(asked, call("core", answered, "done"))
    assert 'calls        search({"query": "Ufer"})' in lines
    assert lines.count("reply        ") == 0
    start = next(i for i, line in enumerate(lines) if line.startswith("2. core"))
    assert lines[start + 1 : start + 4] == [
        "before       as in call 1 (3 messages)",
        "tool         a shore",
        "reply        done",
    ]


def test_failed_free_and_unpriced_calls_say_so() -> None:
    lines = story(
        call("rate", [ASKED], None, error="RateLimited: 429", usage=Usage()),
        call("rate", [ASKED], "[]", usage=Usage(reused=1)),
        call("rate", [ASKED], "[]", usage=Usage(calls=1, cost=None)),
    )
    assert "error        RateLimited: 429" in lines
    assert any("$0.0000, from the store," in line for line in lines)
    assert any("price unknown" in line for line in lines)


def test_the_rating_stands_at_the_end_with_all_that_it_says() -> None:
    spans = (
        ErrorSpan(text="Ufer", category="accuracy/mistranslation", severity="major", start=4, end=8, suggestion="Bank"),
        ErrorSpan(text="lends", category="accuracy/omission", severity="minor", side="omission", explanation="gone"),
    )
    lines = story(
        call("rate", [ASKED], "…"), errors=spans, explanation="two errors", correction="Die Bank", confidence=0.75,
        gaps=("which bank?",), warnings=("the count was wrong",), seconds=2.04,
    )  # fmt: skip
    assert lines[lines.index("rating       judge: -5") :] == [
        "rating       judge: -5",
        "error        major accuracy/mistranslation 'Ufer' (4–8) → 'Bank'",
        "error        minor accuracy/omission 'lends' (no place known, omission): gone",
        "explanation  two errors",
        "correction   Die Bank",
        "confidence   0.75",
        "gap          which bank?",
        "warning      the count was wrong",
        "cost         1 calls, 30 + 4 tokens, $0.0025, 2.0 s",
        "signature    judge|1",
    ]
    assert "errors       none found" in story(errors=())
    assert "errors       none found" not in story(errors=None)


def test_a_failure_and_a_shared_rating_are_told() -> None:
    failed = Rated(
        segment=SEGMENT, system="mt", translation="x", error="RatingParseError: no", calls=(call("rate", []),)
    )
    assert "1. rate  (gpt" in rated_trajectory(failed)
    assert rated_trajectory(failed).endswith("no rating    RatingParseError: no")
    blank = Rated(segment=SEGMENT, system="mt", translation="")
    assert rated_trajectory(blank).endswith("no rating    source and translation have no words")
    rating = Rating(evaluator="judge", score=0, calls=(call("rate", [ASKED], "[]"),))
    shared = rated_trajectory(Rated(segment=SEGMENT, system="b", translation="x", rating=rating))
    assert shared.endswith("paid         nothing: a system with an equal text had it rated")


def chain() -> Chain:
    def step(stage: str, score: float) -> Step:
        rating = Rating(evaluator="judge", score=score, calls=(call("rate", [ASKED], f"{score}"),))
        return Step(stage=stage, text="t", verdict="kept", cause="r", ratings=(rating,))  # type: ignore[arg-type]

    return Chain(segment=SEGMENT, steps=(step("postedit", -5), step("proofread", -1)))


def test_the_ratings_of_a_chain_are_shown_stage_by_stage() -> None:
    both = step_trajectories(chain())
    assert [text.split("\n")[0] for text in both] == [
        "segment 7, stage postedit, en-de", "segment 7, stage proofread, en-de"
    ]  # fmt: skip
    assert step_trajectories(chain(), "proofread") == both[1:]


def test_stored_ratings_are_found_by_segment_or_system_and_segment_also_where_an_id_has_a_slash() -> None:
    odd = SEGMENT.model_copy(update={"id": "a/7"})
    with Store(":memory:") as store:
        run = store.start("r", settings={}, inputs={}, kind="rating")
        for position, one in enumerate((SEGMENT, odd)):
            run.save_ratings(position, [Rated(segment=one, system=s, translation=s) for s in ("a", "b")])
        chains = store.start("c", settings={}, inputs={})
        chains.save(0, chain())
        shown = {name: show_ratings(run, name) for name in ("7", "b/7", "a/7", "b/a/7")}
        assert {name: text.count("segment ") for name, text in shown.items()} == {
            "7": 2,
            "b/7": 1,
            "a/7": 2,
            "b/a/7": 1,
        }
        assert show_ratings(chains, "postedit/7").count("segment 7, stage ") == 1
        for stored, name in ((run, "c/7"), (run, "8"), (chains, "8"), (chains, "translate/7")):
            with pytest.raises(StoreError, match="has no rating of"):
                show_ratings(stored, name)
