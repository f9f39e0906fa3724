"""Hints: what a judge is asked to look at, who is asked, and that both texts are judged alike."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import Gate, OpenGate, PairwiseGate, PanelGate, RateGate, RatingJudge
from mtagent.chain.guards import damages, screen
from mtagent.chain.hints import HEADING, MOST, brackets, hints, names, shown
from mtagent.chain.proofread import Proofreader
from mtagent.evaluators.gemba import GembaDA
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Chain, Edit, Message, Rating, Segment
from mtagent.text.edits import between

SOURCE = "We also had quite specifically to try to take the subject of tunnel safety seriously. It matters to everyone."
BEFORE = (
    "Wir mussten auch ganz konkret versuchen, das Thema der Sicherheit in Tunneln ernst zu nehmen. "
    "Es ist für alle wichtig."
)
SHORTER = "Tunnelsicherheit mussten wir klar zum Thema machen. Es ist für alle sehr wichtig."
QUESTION = "Is “We also had quite specifically to try to take the subject of tunnel safety seriously.” of the source"


def segment(source: str = SOURCE, before: str = BEFORE, source_lang: str = "en", target_lang: str = "de") -> Segment:
    return Segment(id="1", source=source, source_lang=source_lang, target_lang=target_lang, translation=before)


def test_a_doubtful_loss_is_a_damage_only_where_no_judge_is_asked() -> None:
    assert damages(segment(), BEFORE, SHORTER) == ()
    (damage,) = damages(segment(), BEFORE, SHORTER, doubts=True)
    assert (damage.guard, damage.detail.startswith("lost from the text: “Wir")) == ("length", True)


def test_an_edit_that_only_takes_words_away_is_no_doubt() -> None:
    cut = "Wir mussten auch ganz konkret versuchen."
    assert [damage.guard for damage in damages(segment(), BEFORE, cut)] == ["length"]


def test_an_omission_is_asked_about_in_words_of_the_source() -> None:
    (hint,) = hints(segment(), BEFORE, SHORTER)
    assert hint == f"{QUESTION} said in full?"


@pytest.mark.parametrize(("source", "before", "after", "hint"), [
    ("You must not open it.", "Sie dürfen es nicht öffnen.", "Sie dürfen es öffnen.",
     "Is the negation “not” of the source kept?"),
    ("It has at least two doors.", "Es hat mindestens zwei Türen.", "Es hat zwei Türen.",
     "Is “at least” of the source kept?"),
    ("It has at most two doors.", "Es hat höchstens zwei Türen.", "Es hat zwei Türen.",
     "Is “at most” of the source kept?"),
    ("Then Aurora left.", "Dann fuhr Aurora ab.", "Dann fuhr sie ab.", "Is the name “Aurora” of the source there?"),
    ("The ship left.", "Das Schiff fuhr ab.", "Das Schiff (ein Kahn) fuhr ab.",
     "If there are words in brackets: does the source say them?"),
])  # fmt: skip
def test_what_a_small_word_turns_round_is_asked_about(source: str, before: str, after: str, hint: str) -> None:
    assert hint in hints(segment(source, before), before, after)
    assert hints(segment(source, before), before, before) == ()


@pytest.mark.parametrize(("source_lang", "target_lang", "source", "before", "after"), [
    ("en", "fr", "It isn't open.", "Il n'est pas ouvert.", "Il est ouvert."),
    ("de", "en", "Er hat keinen Hund.", "He has no dog.", "He has a dog."),
    ("en", "zh", "He does not eat.", "他不吃。", "他吃。"),
    ("en", "ja", "He does not eat.", "彼は食べない。", "彼は食べる。"),
    ("en", "ru", "He never eats.", "Он никогда не ест.", "Он ест."),
    ("en", "hi", "He does not eat.", "वह नहीं खाता।", "वह खाता है।"),
    ("en", "cs", "He does not know.", "On to neví.", "On to ví."),
])  # fmt: skip
def test_negations_of_many_languages_are_known(
    source_lang: str, target_lang: str, source: str, before: str, after: str
) -> None:
    one = segment(source, before, source_lang, target_lang)
    assert any("negation" in hint for hint in hints(one, before, after))


@pytest.mark.parametrize(("source", "before", "after"), [
    ("You must open it.", "Sie dürfen es nicht öffnen.", "Sie müssen es öffnen."),  # the source has none
    ("You must not open it.", "Sie dürfen es öffnen.", "Man darf es öffnen."),  # the text before has none
    ("You must not open it.", "Sie dürfen es nicht öffnen.", "Öffnen Sie es nie."),  # another negation
    ("Then Aurora left.", "Dann fuhr Aurora ab.", "Dann war Auroras Abfahrt."),  # inflected
    ("The ship (old) left.", "Das alte Schiff fuhr ab.", "Das Schiff (alt) fuhr ab."),  # the source has brackets
])  # fmt: skip
def test_what_the_source_does_not_have_or_the_text_still_has_is_not_asked_about(
    source: str, before: str, after: str
) -> None:
    assert hints(segment(source, before), before, after) == ()


def test_hints_follow_the_users_notes_and_are_few() -> None:
    noted = segment().model_copy(update={"notes": "Formal."})
    judged, listed, unasked = shown(noted, BEFORE, [SHORTER])
    assert not unasked
    assert judged.notes == f"Formal.\n{HEADING}\n- {listed[0]}"
    assert shown(noted, BEFORE, [BEFORE.replace("ganz ", "")]) == (noted, (), frozenset())


def test_no_more_than_five_hints_are_shown_the_gravest_first() -> None:
    source = "We did not see Ann and Bea and Cleo and at least 2 and at most 3."
    before = "Wir sahen nicht Ann und Bea und Cleo und mindestens 2 und höchstens 3."
    after = "Wir sahen 2 (zwei) und 3."
    one = segment(source, before)
    assert hints(one, before, after) == (
        f"Is “{source}” of the source said in full?",
        "Is the negation “not” of the source kept?",
        "Is “at least” of the source kept?",
        "Is “at most” of the source kept?",
        "Is the name “Ann” of the source there?",
    )
    assert MOST == 5
    left_out = [*list(names(one, before, after))[1:], *brackets(one, before, after)]
    assert left_out == [
        "Is the name “Bea” of the source there?",
        "Is the name “Cleo” of the source there?",
        "If there are words in brackets: does the source say them?",
    ]


# -- in the chain


class Metric:
    """Scores the text after higher, and asks no model."""

    name = "metric"
    calls = (0, 0)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=float(translation != BEFORE))


def better(messages: Sequence[Message], purpose: str) -> str:
    """Prefers the shorter text, by comparison or by score."""
    content = messages[-1].content
    if purpose == "judge":
        first = content.index(SHORTER) < content.index(BEFORE)
        return '{"better": "A"}' if first else '{"better": "B"}'
    return "90" if SHORTER in content else "50"


async def proofread(gate: Gate, one: Segment | None = None) -> Chain:
    plan = Plan(("proofread",), proofreader=Proofreader(ScriptedLLM([SHORTER])), gate=gate)
    return await improve(one or segment(), plan)


async def test_a_judge_that_compares_sees_the_hint_in_both_orders_and_the_step_keeps_it() -> None:
    llm = ScriptedLLM(better)
    chain = await proofread(PairwiseGate(llm))
    assert chain.text == SHORTER
    assert [request.messages[-1].content.count(QUESTION) for request in llm.requests] == [1, 1]
    (step,) = chain.steps
    assert step.cause.hints == hints(segment(), BEFORE, SHORTER)
    assert sum(QUESTION in message.content for call in step.calls for message in call.messages) == 2


async def test_a_judge_that_rates_sees_the_same_hint_with_both_texts() -> None:
    llm = ScriptedLLM(better)
    chain = await proofread(RateGate(GembaDA(llm)))
    assert chain.text == SHORTER
    texts = [request.messages[-1].content for request in llm.requests]
    assert [content.count(QUESTION) for content in texts] == [1, 1]
    assert [SHORTER in content for content in texts] in ([True, False], [False, True])


@pytest.mark.parametrize("gate", [OpenGate("guards"), RateGate(Metric())], ids=["guards", "a metric"])
async def test_without_a_model_the_guards_refuse_the_doubt(gate: Gate) -> None:
    chain = await proofread(gate)
    assert "das Thema der Sicherheit in Tunneln" in chain.text
    (step,) = chain.steps
    assert {edit.guards for edit in step.edits if edit.outcome == "refused"} == {("length",)}
    assert step.cause.hints == ()


async def test_a_panel_with_one_model_is_asked_and_its_metric_is_shown_no_hint() -> None:
    seen: set[str | None] = set()

    class Noting(Metric):
        async def rate(self, segment: Segment, translation: str) -> Rating:
            seen.add(segment.notes)
            return await super().rate(segment, translation)

    chain = await proofread(PanelGate(RatingJudge(Noting()), RatingJudge(GembaDA(ScriptedLLM(better)))))
    assert (chain.text, seen) == (SHORTER, {None})


async def test_a_rating_under_other_hints_is_not_used_again() -> None:
    """The text that a step kept is the text before of the next one, whose hints are others."""
    llm = ScriptedLLM(lambda messages, purpose: "90" if "Tunnelsicherheit" in messages[-1].content else "50")
    proofreader = Proofreader(ScriptedLLM([SHORTER, SHORTER.replace("klar ", "deutlich ")]))
    plan = Plan(
        ("proofread", "proofread"), proofreader=proofreader, gate=RateGate(GembaDA(llm)), stop_when_error_free=False
    )
    await improve(segment(), plan)
    asked = [request.messages[-1].content for request in llm.requests]
    with_hint = [content for content in asked if QUESTION in content]
    assert (len(asked), len(with_hint)) == (4, 2)
    assert len(set(asked)) == 4


def test_screening_keeps_a_doubtful_edit_for_the_judge() -> None:
    changes = between(BEFORE, SHORTER, "de")
    for doubts, outcomes in ((False, {"applied"}), (True, {"refused"})):
        edits, text, _ = screen(segment(), BEFORE, changes, doubts=doubts)
        assert {edit.outcome for edit in edits if isinstance(edit, Edit)} >= outcomes
        assert (text == SHORTER) is not doubts


# -- more doubts than a judge can be asked about


WORDS = ("Haus", "Baum", "Schiff", "Hafen", "Brücke", "Straße", "Turm")
PLAIN = "Hier steht kein {word}, und dort war es {adjective}."
ADJECTIVES = ("rot", "blau", "grün", "gelb", "weiß", "grau", "alt")


def doubled(number: int) -> tuple[Segment, str]:
    """A segment whose sentences each hold an adjective, and its text with the first ``number`` of them doubled."""
    sentences = [
        PLAIN.format(word=word, adjective=adjective) for word, adjective in zip(WORDS, ADJECTIVES, strict=True)
    ]
    before = " ".join(sentences)
    after = before
    for adjective in ADJECTIVES[:number]:
        after = after.replace(f"{adjective}.", f"{adjective} {adjective}.")
    source = " ".join(f"There is no thing {number} here, and there it was old." for number in "abcdefg")
    return segment(source, before), after


async def with_doubled_words(number: int, llm: ScriptedLLM) -> Chain:
    given, after = doubled(number)
    better_ending = after.replace("war es alt.", "war alles alt.")
    proofreader = Proofreader(ScriptedLLM([better_ending]))
    return await improve(given, Plan(("proofread",), proofreader=proofreader, gate=PairwiseGate(llm)))


def always_after(messages: Sequence[Message], purpose: str) -> str:
    """Prefers the text with the new ending."""
    content = messages[-1].content
    if content.index("war alles alt") < content.rindex("war es alt"):
        return '{"better": "A"}'
    return '{"better": "B"}'


async def test_a_judge_is_asked_about_each_doubt_as_long_as_there_is_room() -> None:
    llm = ScriptedLLM(always_after)
    chain = await with_doubled_words(MOST, llm)
    assert chain.text.count("rot rot") == 1
    (step,) = chain.steps
    assert step.cause.hints == tuple(
        f"If “{adjective}” stands twice in a row: is it meant to?" for adjective in ADJECTIVES[:MOST]
    )
    assert all(step.cause.hints[-1] in request.messages[-1].content for request in llm.requests)


async def test_doubts_that_no_judge_is_asked_about_are_refused_and_the_other_edits_judged() -> None:
    llm = ScriptedLLM(always_after)
    chain = await with_doubled_words(MOST + 1, llm)
    (step,) = chain.steps
    assert chain.text.endswith("war alles alt.")
    assert not any(f"{adjective} {adjective}" in chain.text for adjective in ADJECTIVES)
    refused = [edit for edit in step.edits if edit.outcome == "refused"]
    assert (len(refused), {edit.guards for edit in refused}) == (MOST + 1, {("repetition",)})
    assert step.cause.hints == ()
    assert len(llm.requests) == 2


async def test_without_a_judge_each_doubt_is_refused() -> None:
    given, after = doubled(1)
    proofreader = Proofreader(ScriptedLLM([after]))
    chain = await improve(given, Plan(("proofread",), proofreader=proofreader, gate=OpenGate("guards")))
    assert chain.text == given.translation
    (step,) = chain.steps
    assert {edit.guards for edit in step.edits} == {("repetition",)}


async def test_a_word_that_is_never_doubled_is_refused_where_a_judge_is_asked() -> None:
    llm = ScriptedLLM(always_after)
    given, _ = doubled(0)
    after = (given.translation or "").replace(", und dort war es alt.", ", und und dort war es alt.")
    proofreader = Proofreader(ScriptedLLM([after]))
    chain = await improve(given, Plan(("proofread",), proofreader=proofreader, gate=PairwiseGate(llm)))
    assert (chain.text, llm.requests) == (given.translation, [])
