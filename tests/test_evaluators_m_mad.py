"""M-MAD as a whole: its stages, who is asked what and how often, what comes out, and the paper's worked example."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import RatingParseError
from mtagent.evaluators.m_mad import (
    DENIAL,
    DIMENSIONS,
    MMAD,
    as_json,
    disputed,
    opposed,
    parse,
    parse_statement,
    settled,
    with_former_places,
)
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Completion, ErrorSpan, Message, Segment
from tests.codes import without_codes

SEGMENT = Segment(id="1", source="The major road by the bank is closed.", source_lang="en", target_lang="es")
TEXT = "La carretera major junto al banco está abierta."
OPEN = ("abierta", "mistranslation", "major")
MAJOR = ("major", "untranslated text", "minor")
Mark = tuple[str, str, str]
Reply = Callable[[Sequence[Message], str], str]


def annotated(*marks: Mark) -> str:
    items = [{"error_span": text, "category": category, "severity": severity} for text, category, severity in marks]
    return json.dumps({"annotations": items}, ensure_ascii=False)


class Script:
    """Replies by purpose: the first key that the purpose ends with (a debate: ``accuracy round 1 checker``)."""

    def __init__(self, replies: dict[str, str], *, judge: str | None = None) -> None:
        self.replies = {"m-mad judge": judge, **replies}

    def but(self, **replies: str) -> Script:
        """The same with ``replies`` to other or more special purposes; ``_`` stands for a space."""
        changed = {key.replace("_", " "): reply for key, reply in replies.items()}
        script = Script({})
        script.replies = {**changed, **{key: reply for key, reply in self.replies.items() if key not in changed}}
        return script

    def __call__(self, messages: Sequence[Message], purpose: str) -> str:
        reply = next((reply for key, reply in self.replies.items() if reply and purpose.endswith(key)), None)
        if reply is not None:
            return reply
        assert purpose.endswith("annotate"), f"no reply for {purpose}"
        return annotated()


def debating(dimensions: Sequence[str] = ("accuracy",), checker: str = "no") -> Script:
    """``dimensions`` mark a major error each; the supporter keeps it and the opponent holds it for minor."""
    marked = {f"{name} annotate": annotated(("abierta", DIMENSIONS[name][0], "major")) for name in dimensions}
    minor = "It is harmless.\n" + annotated(("abierta", "mistranslation", "minor"))
    talk = {
        "supporter": "It is grave.\n" + annotated(OPEN),
        "opponent": minor,
        "checker": checker,
        "reviewer": "Why is it grave?",
        **{f"{name} judge": '{"analysis": "harmless", ' + minor.partition("{")[2] for name in dimensions},
    }
    return Script({**marked, **talk}, judge='{"analysis": "merged", ' + annotated(OPEN)[1:])


async def rated(script: Script, **options: Any) -> ScriptedLLM:
    """The model that was asked for a rating."""
    llm = ScriptedLLM(script)
    await MMAD(llm, **options).rate(SEGMENT, TEXT)
    return llm


def asked(llm: ScriptedLLM, dimension: str = "accuracy") -> list[str]:
    start = f"m-mad {dimension} "
    return [sent.purpose.removeprefix(start) for sent in llm.requests if sent.purpose.startswith(start)]


def request(llm: ScriptedLLM, purpose: str) -> str:
    """What was sent last for ``purpose``, without the system message."""
    return next(without_codes(sent.messages[-1].content) for sent in llm.requests if sent.purpose == f"m-mad {purpose}")


def seen(errors: tuple[ErrorSpan, ...] | None) -> list[tuple[str, str, str]]:
    return [(error.text, error.category, error.severity) for error in errors or ()]


# ---- how many calls, and which


MINOR_STYLE = Script({"style annotate": annotated(MAJOR)}, judge=annotated(MAJOR))


def turns(rounds: int) -> list[str]:
    roles = ("supporter", "opponent", "checker")
    return [f"round {number} {role}" for number in range(1, rounds + 1) for role in roles]


@pytest.mark.parametrize(
    ("script", "rounds", "calls", "accuracy"),
    [
        pytest.param(Script({}), 3, 4, [], id="no error, no judge"),
        pytest.param(MINOR_STYLE, 3, 5, [], id="minor errors are merged but not debated"),
        pytest.param(debating(checker="Yes."), 3, 8, turns(1), id="agreed at once"),
        *(pytest.param(debating(), n, 5 + 3 * n, turns(n), id=f"{n} rounds without consensus") for n in (1, 2, 3)),
        pytest.param(debating(tuple(DIMENSIONS)), 3, 41, turns(3), id="all dimensions without consensus"),
    ],
)
async def test_how_many_calls_a_rating_takes(script: Script, rounds: int, calls: int, accuracy: list[str]) -> None:
    llm = ScriptedLLM(script)
    rating = await MMAD(llm, rounds=rounds).rate(SEGMENT, TEXT)
    assert rating.usage.calls == len(llm.requests) == calls
    assert asked(llm) == ["annotate", *accuracy]
    assert (rating.errors == ()) is (calls == 4)


REVIEWED = "round 1 supporter/round 1 opponent/round 1 reviewer/round 2 supporter/round 2 opponent/judge"
CONSULTED = "round 1 reviewer/round 1 supporter/round 2 reviewer/round 2 supporter/closing reviewer/judge"


@pytest.mark.parametrize(
    ("strategy", "purposes"),
    [
        ("deliberation", REVIEWED.replace("round 1 reviewer/", "").split("/")),
        ("interactive-review", REVIEWED.split("/")),
        ("consultancy-review", CONSULTED.split("/")),
    ],
)
async def test_the_other_strategies_end_with_a_judge_of_the_dimension(strategy: Any, purposes: list[str]) -> None:
    llm = ScriptedLLM(debating())
    rating = await MMAD(llm, strategy=strategy, rounds=2).rate(SEGMENT, TEXT)
    assert asked(llm) == ["annotate", *purposes]
    decided = json.loads(re.findall(r"<accuracy_errors>(.*?)</", request(llm, "judge"))[0])
    assert decided["annotations"][0]["severity"] == "minor"  # what the judge of the dimension found, not the debaters
    assert rating.usage.calls == 4 + len(purposes) + 1


# ---- stage 1


# ---- stage 2


async def test_the_opponent_starts_from_the_same_errors_with_every_major_turned_minor() -> None:
    reply = annotated(("carretera major", "mistranslation", "major"), MAJOR)
    llm = await rated(debating().but(accuracy_annotate=reply))
    first, second = openings(llm)
    assert [[item["severity"] for item in side] for side in (first, second)] == [["major", "minor"], ["minor"] * 2]
    # the published prototype replaces the word "major" inside the spans, too
    assert [[item["error_span"] for item in side] for side in (first, second)] == [["carretera major", "major"]] * 2


def openings(llm: ScriptedLLM) -> list[list[dict[str, str]]]:
    """What the supporter and the opponent start from, as each of them is shown its own words."""
    supporter, opponent = (conversation(llm, f"accuracy round 1 {role}") for role in ("supporter", "opponent"))
    for one, other in ((supporter, opponent), (opponent, supporter)):
        assert f"<other>{other[2][1]}</other>" in one[3][1], "and the other's as the user's"
    return [json.loads(said[2][1])["annotations"] for said in (supporter, opponent)]


def conversation(llm: ScriptedLLM, purpose: str) -> list[tuple[str, str]]:
    """The roles and texts of what was sent for ``purpose``."""
    messages = next(sent.messages for sent in llm.requests if sent.purpose == f"m-mad {purpose}")
    return [(message.role, without_codes(message.content)) for message in messages]


async def test_the_opponent_denies_a_non_translation() -> None:
    llm = await rated(debating().but(accuracy_annotate=annotated(("all", "non-translation", "major"))))
    supporter, opponent = (conversation(llm, f"accuracy round 1 {role}") for role in ("supporter", "opponent"))
    assert [item["error_span"] for item in json.loads(supporter[2][1])["annotations"]] == ["all"]
    assert opponent[2] == ("assistant", DENIAL)
    assert f"<other>{DENIAL}</other>" in supporter[3][1]
    assert "{" not in DENIAL, "it says so in words: an empty list would mean that nothing is wrong"
    system = next(sent.messages[0].content for sent in llm.requests if sent.purpose.endswith("opponent"))
    assert "One of you marks the text as a non-translation" in system


async def test_own_words_are_the_assistants_and_the_others_of_the_round_before_the_users() -> None:
    """M-MAD, Figures 8 and 9."""
    script, said = debating(), {"supporter": "It is grave.", "opponent": "It is harmless."}
    for number in (1, 2, 3):
        words = {
            f"round_{number}_{role}": f"Round {number}. {text}" + script.replies[role].partition("\n")[2]
            for role, text in said.items()
        }
        script = script.but(**words)
    llm = await rated(script)
    for role, other in (("supporter", "opponent"), ("opponent", "supporter")):
        rounds = [conversation(llm, f"accuracy round {number} {role}") for number in (1, 2, 3)]
        assert [[who for who, _ in sent] for sent in rounds] == [
            ["system", "user", *["assistant", "user"] * number] for number in (1, 2, 3)
        ]
        assert rounds[1][: len(rounds[0])] == rounds[0], "each round goes on from the one before, so it can be cached"
        assert rounds[2][: len(rounds[1])] == rounds[1]
        (_, texts), third = rounds[0][1], rounds[2]
        assert texts.endswith(f"Spanish translation:\n<translation>{TEXT}</translation>")
        for number in (1, 2):
            assert third[2 + 2 * number][1].startswith(f"Round {number}. {said[role]}")
            assert f"<other>Round {number}. {said[other]}" in third[3 + 2 * number][1]
        assert not any("Round 3" in text for _, text in third)
        assert third[-1][1].endswith("give your reasons, and at the end your annotations in JSON.")


@pytest.mark.parametrize(
    ("checker", "said_by", "mark"), [("yes", "round_1_supporter", MAJOR), ("no", "round_3_supporter", OPEN)]
)
async def test_with_and_without_consensus_the_supporters_last_statement_stands(
    checker: str, said_by: str, mark: Mark
) -> None:
    llm = await rated(debating(checker=checker).but(**{said_by: annotated(("banco", "mistranslation", "minor"), mark)}))
    assert re.findall(r'"error_span": "(\w+)"', request(llm, "judge")) == ["banco", mark[0]]


async def test_the_checker_sees_both_annotations_and_no_context() -> None:
    llm = await rated(debating(), rounds=1)
    content = request(llm, "accuracy round 1 checker")
    assert re.findall(r'"severity": "(\w+)"', content) == ["major", "minor"]
    assert "before" not in content
    assert "grave" not in content


async def test_only_dimensions_with_a_major_error_are_debated() -> None:
    llm = await rated(debating(("fluency",)).but(style_annotate=annotated(("banco", "awkward", "minor"))), rounds=1)
    assert [len(asked(llm, name)) for name in DIMENSIONS] == [1, 4, 1, 1]


async def test_a_reviewers_questions_are_answered_in_the_next_round() -> None:
    llm = await rated(debating(), strategy="interactive-review")
    assert "reviewer" not in request(llm, "accuracy round 1 supporter")
    for role, letter in (("supporter", "A"), ("opponent", "B")):
        sent = conversation(llm, f"accuracy round 2 {role}")
        assert "The reviewer:\n<questions>Why is it grave?</questions>" in sent[-1][1]
        assert sent[1][1].endswith(f"You are the one whom a reviewer calls annotator {letter}.")
    transcript = request(llm, "accuracy judge")
    assert re.findall(r"^(?:<debate>)?(\w+ ?[AB]?), (?:round \d|at the start):$", transcript, re.MULTILINE) == [
        "Annotator A", "Annotator B", "Annotator A", "Annotator B", "Reviewer",
        "Annotator A", "Annotator B", "Reviewer", "Annotator A", "Annotator B",
    ]  # fmt: skip


async def test_a_consultancy_is_between_the_supporter_and_a_reviewer_who_reports_to_the_judge() -> None:
    llm = await rated(
        debating().but(closing_reviewer="It is minor after all."), strategy="consultancy-review", rounds=1
    )
    transcript = request(llm, "accuracy judge")
    assert "Annotator B" not in transcript
    assert "Reviewer, at the end:\nIt is minor after all." in transcript
    system = {sent.purpose: sent.messages[0].content for sent in llm.requests}
    assert "You defend your annotations" in system["m-mad accuracy round 1 supporter"]
    sent = conversation(llm, "accuracy round 1 supporter")
    assert [who for who, _ in sent] == ["system", "user", "assistant", "user"]
    assert sent[-1][1].startswith("The reviewer:\n<questions>Why is it grave?</questions>")
    assert "Ask up to three questions" in system["m-mad accuracy round 1 reviewer"]
    assert "Nobody else disputes them" in system["m-mad accuracy round 1 reviewer"]
    assert "A reviewer puts questions" in system["m-mad accuracy round 1 supporter"]
    assert "Report to the judge" in system["m-mad accuracy closing reviewer"]


SMALL = ErrorSpan(text="major", category="accuracy/omission", severity="minor")
GRAVE = SMALL.model_copy(update={"severity": "major"})
WHOLE = ErrorSpan(text="x", category="non-translation", severity="major", start=0, end=1)


@pytest.mark.parametrize(
    ("topic", "small_is_disputed", "opponent"),
    [
        ("severity", False, (SMALL, SMALL)),
        ("category", True, tuple(e.model_copy(update={"category": f"not {e.category}"}) for e in (GRAVE, SMALL))),
        ("entirety", True, ()),
    ],
)
def test_what_is_debated_and_what_the_opponent_starts_from_depend_on_the_topic(
    topic: Any, small_is_disputed: bool, opponent: tuple[ErrorSpan, ...]
) -> None:
    assert disputed((SMALL,), topic) is small_is_disputed
    assert (disputed((), topic), disputed((WHOLE,), topic), opposed((WHOLE,), topic)) == (False, True, ())
    assert opposed((GRAVE, SMALL), topic) == opponent


@pytest.mark.parametrize(
    ("topic", "words"),
    [("severity", "about the severity"), ("category", "about the categories"), ("entirety", "as a whole")],
)
async def test_the_debaters_are_told_the_topic(topic: Any, words: str) -> None:
    llm = await rated(debating(), topic=topic, rounds=1)
    system = next(sent.messages[0].content for sent in llm.requests if sent.purpose.endswith("opponent"))
    assert words in system
    assert system.count("The debate is about") == 1
    assert system.count("An error of ") == 1


# ---- stage 3


@pytest.mark.parametrize(
    ("judged", "score"),
    [
        ([OPEN, MAJOR], -6),
        ([OPEN] * 7, -5),
        ([(word, "accuracy/mistranslation", "major") for word in TEXT.rstrip(".").split()], -40),
        ([("all", "non-translation", "major"), OPEN], -5),
        ([("abierta", "style/awkward", "minor"), ("abierta", "fluency/grammar", "minor")], -1),
        ([], 0),
    ],
)
async def test_the_score_is_five_per_major_and_one_per_minor_without_a_cap(judged: list[Mark], score: float) -> None:
    script = Script({"accuracy annotate": annotated(MAJOR)}, judge=annotated(*judged))
    rating = await MMAD(ScriptedLLM(script)).rate(SEGMENT, TEXT)
    assert rating.score == score


async def test_the_judge_sees_all_dimensions_and_its_analysis_is_kept() -> None:
    script = debating(("accuracy", "style"), checker="yes")
    llm = ScriptedLLM(script)
    rating = await MMAD(llm).rate(SEGMENT, TEXT)
    content = request(llm, "judge")
    assert re.findall(r"<(\w+)_errors>", content) == list(DIMENSIONS)
    assert '<fluency_errors>{"annotations": []}<' in content
    assert rating.explanation == "merged"
    assert rating.warnings == ()


async def test_an_error_that_the_judge_adds_counts_with_a_warning() -> None:
    added = ("carretera", "style/awkward", "minor")
    script = Script({"accuracy annotate": annotated(MAJOR)}, judge=annotated(MAJOR, added))
    rating = await MMAD(ScriptedLLM(script)).rate(SEGMENT, TEXT)
    assert rating.score == -2
    assert rating.warnings == ("the judge marks 'carretera', which no dimension had marked",)


async def test_an_error_keeps_its_place_through_debate_and_judgement() -> None:
    text = "La casa y la otra casa."
    item = {"error_span": "casa", "before": "otra ", "after": ".", "category": "mistranslation", "severity": "major"}
    minor = annotated(("casa", "accuracy/mistranslation", "minor"))
    talk = {"accuracy annotate": json.dumps([item]), "supporter": minor, "opponent": minor, "checker": "yes"}
    rating = await MMAD(ScriptedLLM(Script(talk, judge=minor))).rate(SEGMENT, text)
    (error,) = rating.errors or ()
    assert (error.start, error.severity, error.before) == (18, "minor", "otra ")
    llm = ScriptedLLM(Script({**talk, "accuracy judge": '{"analysis": "harmless", ' + minor[1:]}, judge=minor))
    await MMAD(llm, strategy="deliberation").rate(SEGMENT, text)
    (decided,) = json.loads(re.findall(r"<accuracy_errors>(.*?)</", request(llm, "judge"))[0])["annotations"]
    assert (decided["before"], decided["severity"]) == ("otra ", "minor")


# ---- failures, accounts, settings


async def test_calls_under_way_when_another_fails_stand_on_the_error() -> None:
    class Slow(ScriptedLLM):
        async def complete(self, messages: Sequence[Message], **more: Any) -> Completion:
            if not more["purpose"].startswith("m-mad style"):
                await asyncio.sleep(60)
            return await super().complete(messages, **more)

    with pytest.raises(RatingParseError) as raised:
        await MMAD(Slow(["?", "?"])).rate(SEGMENT, TEXT)
    calls = {call.purpose: call for call in raised.value.calls}
    assert sorted(calls) == sorted(f"m-mad {name} annotate" for name in DIMENSIONS)
    assert "in flight" in (calls["m-mad fluency annotate"].error or "")
    assert len(raised.value.calls) == 5


# ---- lists of errors


GERMAN = "Die „große“ Straße ist gesperrt,\nweil die große Brücke — 3 m breit — repariert wird."
FIELDS = '"category": "accuracy/mistranslation", "severity": "major", "is_source_error": "no"'
ERROR = f'{{"error_span": "Brücke", "before": "große ", "after": " — 3", {FIELDS}}}'


def test_a_statement_keeps_its_reasons_but_not_its_thoughts() -> None:
    reply = f'<think>let me see</think>\nB is right about the bridge.\n```json\n{{"annotations": [{ERROR}]}}\n```'
    text, _ = parse_statement(reply, GERMAN, "accuracy")
    assert text.startswith("B is right about the bridge.")
    assert "let me see" not in text


def span(text: str, category: str, severity: str, start: int | None = None, **more: object) -> ErrorSpan:
    end = None if start is None else start + len(text)
    return ErrorSpan.model_validate(
        {"text": text, "category": category, "severity": severity, "start": start, "end": end, **more}
    )


def test_a_place_keeps_its_worst_error_and_of_equals_the_first_of_the_typology() -> None:
    style, grammar = span("ab", "style/awkward", "minor", 0), span("ab", "fluency/grammar", "minor", 0)
    term, other = span("ab", "terminology/inconsistent use", "major", 0), span("ab", "other", "minor", 0)
    assert settled([other, style, grammar]) == (grammar,)
    assert settled([style, grammar, term]) == (term,)
    assert settled([style, other]) == (style,)
    overlapping, unlocated = span("abc", "style/awkward", "minor", 0), span("ab", "style/awkward", "minor")
    assert settled([style, overlapping, unlocated, unlocated]) == (style, overlapping, unlocated, unlocated)


def test_an_error_without_context_is_remembered_where_it_was() -> None:
    first = span("der", "fluency/grammar", "major", 7, before="mit ", after=" Frau")
    again = span("der", "fluency/grammar", "minor")
    assert with_former_places([again], [first]) == (first.model_copy(update={"severity": "minor"}),)
    assert with_former_places([again], [first, span("der", "fluency/grammar", "major", 20)]) == (again,)
    elsewhere = span("der", "fluency/grammar", "minor", 30, before="auf ")
    assert with_former_places([elsewhere], [first]) == (elsewhere,)
    assert with_former_places([again], [span("den", "fluency/grammar", "major", 7)]) == (again,)


def test_an_omission_is_remembered_as_one_though_its_words_stand_in_the_text_by_chance() -> None:
    first = span("on", "accuracy/omission", "major", side="omission", before="bleibt ", after="zu")
    (said,) = parse(
        '[{"error_span": "on", "category": "omission", "severity": "minor"}]', "Sie bleibt zu on.", "accuracy"
    )
    assert said.side == "translation"
    assert [(error.side, error.before, error.start) for error in with_former_places([said], [first])] == [
        ("omission", "bleibt ", None)
    ]


def test_a_missing_word_is_not_put_where_the_same_word_was_wrong() -> None:
    wrong = span("on", "accuracy/mistranslation", "major", 14)
    missing = span("on", "accuracy/omission", "minor", side="omission")
    assert with_former_places([missing], [wrong]) == (missing,)


def test_annotations_are_shown_as_they_are_asked_for_and_can_be_read_again() -> None:
    errors = parse(f'{{"annotations": [{ERROR}]}}', GERMAN, "accuracy")
    assert parse(as_json(errors), GERMAN) == errors
    assert json.loads(as_json(errors, context=False)) == {
        "annotations": [{"error_span": "Brücke", **json.loads(f"{{{FIELDS}}}")}]
    }
    whole = parse('[{"error_span": "all", "category": "non-translation", "severity": "major"}]', GERMAN)
    assert json.loads(as_json(whole))["annotations"][0]["error_span"] == "all"


# ---- the paper's example


@pytest.mark.data
async def test_the_worked_example_of_the_paper(data: Path) -> None:
    """Table 8: accuracy debates its three major errors down to minor; the judge merges what overlaps; −4."""
    example = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))["m_mad"][0]
    text = example["translation"]

    def marks(items: list[dict[str, str]], severity: str | None = None) -> str:
        return annotated(*((item["span"], item["category"], severity or item["severity"]) for item in items))

    by_dimension = {name: [i for i in example["stage_1"] if i["category"].startswith(name)] for name in DIMENSIONS}
    accuracy = by_dimension["accuracy"]
    script = Script(
        {
            **{f"{name} annotate": marks(items) for name, items in by_dimension.items()},
            "round 1 supporter": "They are major.\n" + marks(accuracy),
            "round 2 supporter": "B is right.\n" + marks(accuracy, "minor"),
            "opponent": "They do not mislead.\n" + marks(accuracy, "minor"),
            "round 1 checker": "No",
            "round 2 checker": "Yes.",
        },
        judge='{"analysis": "no non-translation", ' + marks(example["stage_3"])[1:],
    )
    llm = ScriptedLLM(script)
    segment = Segment(id="1", source="表的走时是很准的…", source_lang="zh", target_lang="en")
    rating = await MMAD(llm).rate(segment, text)

    assert [len(asked(llm, name)) for name in DIMENSIONS] == [7, 1, 1, 1]
    shown = request(llm, "judge")
    assert '"severity": "major"' not in shown
    assert shown.count('"severity": "minor"') == len(example["stage_1"])
    assert seen(rating.errors) == [(item["span"], item["category"], item["severity"]) for item in example["stage_3"]]
    omitted = {item["span"] for item in example["stage_1"] if item.get("not_in_translation")}
    for error in rating.errors or ():
        assert (error.side == "omission") == (error.text in omitted)
        assert error.start == (None if error.text in omitted else text.index(error.text))
    assert rating.score == example["final_score"]
    assert rating.warnings == ()
