"""How a rating came about, as a person reads it (``mtagent rate --show``), and a run at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mtagent.jobs.summary import MOST_SCORED, stage_table
from mtagent.records import Call, Chain, ErrorSpan, Message, Rated, Rating, Segment, Stage, Step, ToolCall, Usage
from mtagent.store import Store
from tests.commands import Shell
from tests.report_runs import edited, segment
from tests.stored import start

SEGMENT = Segment(
    id="7", source="The bank\nlends.", source_lang="en", target_lang="de", reference="Die Bank\nverleiht."
)


def call(purpose: str, messages: Sequence[Message], reply: str | None = None, **more: Any) -> Call:
    usage = Usage(calls=1, input_tokens=30, output_tokens=4, cost=0.0025)
    return Call(
        purpose=purpose, model="gpt", messages=tuple(messages), reply=reply, usage=usage, seconds=1.26
    ).model_copy(update=more)


def shown(shell: Shell, rated: Rated) -> list[str]:
    """What the command shows of the only rating in the store."""
    with Store(shell.folder / "store.db") as store:
        start(store, "r", kind="rating").save_ratings(0, [rated])
    done = shell("rate --show 7 --run r")
    assert (done.code, done.err) == (0, "")
    return done.lines


def story(shell: Shell, *calls: Call, **of_rating: Any) -> list[str]:
    """What the command shows of a rating that came about by ``calls``."""
    rating = Rating(evaluator="judge", score=-5, calls=calls, signature="judge|1", **of_rating)
    translation = "Das Ufer\nverleiht."
    return shown(shell, Rated(segment=SEGMENT, system="mt", translation=translation, rating=rating, calls=calls))


SYSTEM = Message(role="system", content="You rate. " * 40)
EXAMPLES = [Message(role="user", content="example"), Message(role="assistant", content="[]")]
ASKED = Message(role="user", content="Rate <translation>Das Ufer</translation>")


def test_the_texts_stand_first_and_then_each_call_with_purpose_model_cost_question_and_reply(shell: Shell) -> None:
    lines = story(shell, call("severity", [SYSTEM, *EXAMPLES, ASKED], "[]\nnone"))
    assert lines[:7] == [
        "segment 7, system mt, en-de",
        "source       The bank",
        "             lends.",
        "translation  Das Ufer",
        "             verleiht.",
        "reference    Die Bank",
        "             verleiht.",
    ]
    assert lines[8] == "1. severity  (gpt, 30 + 4 tokens, $0.0025, 1.3 s)"
    assert lines[9].startswith("system       You rate. You rate. ")
    assert lines[9].endswith("… (400 characters, -v shows all)")
    assert lines[10:14] == [
        "…            2 messages with examples (-v shows them)",
        "user         Rate <translation>Das Ufer</translation>",
        "reply        []",
        "             none",
    ]


def test_of_a_long_question_the_end_is_shown_where_the_texts_are_and_in_full_all_of_it(shell: Shell) -> None:
    question = Message(role="user", content="notes " * 300 + "THE TEXT")
    calls = call("rate", [SYSTEM, *EXAMPLES, question], "[]")
    line = story(shell, calls)[11]
    assert line.startswith("user         (1,808 characters, -v shows all) …")
    assert line.endswith("THE TEXT")
    text = shell("rate --show 7 --run r -v").out
    assert "user         example\nassistant    []\n" in text
    assert SYSTEM.content.strip() in text
    assert question.content in text
    assert "-v shows" not in text


def test_a_conversation_that_goes_on_shows_what_is_new(shell: Shell) -> None:
    further = [Message(role="assistant", content="major"), Message(role="user", content="Sure?")]
    other = [Message(role="system", content="Other."), ASKED]
    questions = {"debate": [SYSTEM, ASKED], "judge": other, "again": [SYSTEM, ASKED, *further]}
    text = "\n".join(story(shell, *(call(name, messages, "major") for name, messages in questions.items())))
    third = text.split("\n3. again  (gpt, 30 + 4 tokens, $0.0025, 1.3 s)\n")[1]
    assert third.startswith("before       as in call 1 (3 messages)\nuser         Sure?\nreply        major\n")


def test_tool_calls_and_their_answers_are_shown(shell: Shell) -> None:
    wish = (ToolCall(id="1", name="search", arguments='{"query": "Ufer"}'),)
    answers = [
        Message(role="assistant", content="", tool_calls=wish),
        Message(role="tool", content="a shore", tool_call_id="1"),
    ]
    first, second = [SYSTEM, ASKED], [SYSTEM, ASKED, *answers]
    text = "\n".join(story(shell, call("core", first, "", tool_calls=wish), call("core", second, "done")))
    assert '\ncalls        search({"query": "Ufer"})\n' in text
    assert "reply        \n" not in text
    assert "before       as in call 1 (3 messages)\ntool         a shore\nreply        done\n" in text


def test_failed_free_and_unpriced_calls_say_so(shell: Shell) -> None:
    lines = story(
        shell,
        call("rate", [ASKED], None, error="RateLimited: 429", usage=Usage()),
        call("rate", [ASKED], "[]", usage=Usage(reused=1)),
        call("rate", [ASKED], "[]", usage=Usage(calls=1, cost=None)),
    )
    assert "error        RateLimited: 429" in lines
    assert any("$0.0000, from the store," in line for line in lines)
    assert any("price unknown" in line for line in lines)


def test_the_rating_stands_at_the_end_with_all_that_it_says(shell: Shell) -> None:
    spans = (
        ErrorSpan(text="Ufer", category="accuracy/mistranslation", severity="major", start=4, end=8, suggestion="Bank"),
        ErrorSpan(text="lends", category="accuracy/omission", severity="minor", side="omission", explanation="gone"),
    )
    lines = story(
        shell, call("rate", [ASKED], "…"), errors=spans, explanation="two errors", correction="Die Bank",
        confidence=0.75, gaps=("which bank?",), warnings=("the count was wrong",), seconds=2.04,
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


@pytest.mark.parametrize(("errors", "said"), [((), True), (None, False)])
def test_rated_error_free_and_no_spans_at_all_are_told_apart(errors: Any, said: bool, shell: Shell) -> None:
    assert ("errors       none found" in story(shell, errors=errors)) == said


@pytest.mark.parametrize(
    ("fields", "last"),
    [
        ({"error": "RatingParseError: no", "calls": (call("rate", []),)}, "no rating    RatingParseError: no"),
        ({}, "no rating    source and translation have no words"),
        (
            {"rating": Rating(evaluator="judge", score=0, calls=(call("rate", [ASKED], "[]"),))},
            "paid         nothing: a system with an equal text had it rated",
        ),
    ],
    ids=["failed", "blank", "shared"],
)
def test_why_there_is_no_rating_or_no_cost_is_told(fields: dict[str, Any], last: str, shell: Shell) -> None:
    lines = shown(shell, Rated(segment=SEGMENT, system="mt", translation="x", **fields))
    assert lines[-1] == last
    assert any(line.startswith("1. rate  (gpt") for line in lines) == bool(fields)


def test_ratings_are_named_by_segment_or_system_or_stage_and_segment_also_where_an_id_has_a_slash(shell: Shell) -> None:
    def step(stage: Stage, score: float) -> Step:
        rating = Rating(evaluator="judge", score=score, calls=(call("rate", [ASKED], f"{score}"),))
        return Step(stage=stage, text="t", verdict="kept", cause="r", ratings=(rating,))

    with Store(shell.folder / "store.db") as store:
        ratings = start(store, "r", kind="rating")
        for position, of in enumerate((SEGMENT, SEGMENT.model_copy(update={"id": "a/7"}))):
            ratings.save_ratings(position, [Rated(segment=of, system=s, translation=s) for s in ("a", "b")])
        start(store, "c").save(0, Chain(segment=SEGMENT, steps=(step("postedit", -5), step("proofread", -1))))
    shown = {
        name: shell(f"rate --run {name[0]} --show {name[2:]}").out.count("\nsource ")
        for name in ("r 7", "r b/7", "r a/7", "r b/a/7", "c 7", "c postedit/7")
    }
    assert shown == {"r 7": 2, "r b/7": 1, "r a/7": 2, "r b/a/7": 1, "c 7": 2, "c postedit/7": 1}
    for name in ("r c/7", "r 8", "c 8", "c translate/7"):
        done = shell(f"rate --run {name[0]} --show {name[2:]}")
        assert (done.code, done.out) == (1, "")
        assert "has no rating of" in done.err


def test_the_table_of_stages_scores_no_more_segments_than_can_be_scored_at_once() -> None:
    chain = edited(segment("1", "Hello.", "Hallo.", reference="Hi!"), "Hi!")
    head, given, *_, signature = stage_table([chain] * 2).splitlines()
    assert head.split()[-1] == "chrF"
    assert given.startswith("as given"), "its row has a score"
    assert signature.startswith("chrF: nrefs:1|")
    head, postedit, hint = stage_table([chain] * (MOST_SCORED + 1)).splitlines()
    assert "chrF" not in head
    assert postedit.split()[:2] == ["postedit", "10001"]
    assert hint == "scores of more than 10,000 segments: `mtagent compare`"
