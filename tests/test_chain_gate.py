"""Gates: what a judge's word lets the chain keep."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Unpack

import pytest

from mtagent import __version__
from mtagent.chain.calibration import CautiousPoint, ExpectedGain, JudgeWeight, Moments, Pilot
from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import OpenGate, PairwiseGate, PairwiseJudge, PanelGate, RateGate, RatingJudge, Threshold
from mtagent.chain.guards import GUARDS
from mtagent.chain.proofread import Proofreader
from mtagent.errors import BadRequest, ConfigError, EvaluationError, MtagentError, RatingParseError
from mtagent.evaluators.pairwise import Pairwise, read_choice
from mtagent.evaluators.protocol import Evaluator
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.llm.prompts import load
from mtagent.llm.protocol import RequestOptions
from mtagent.records import (
    Call,
    Choice,
    Completion,
    DecidedCause,
    Judgement,
    Message,
    Rating,
    RatingRole,
    Segment,
    Term,
    Usage,
)
from tests.codes import without_codes

SEGMENT = Segment(id="1", source="s", source_lang="en", target_lang="es")


class Judge:
    """Scores texts from a table."""

    name = "judge"

    def __init__(self, **scores: float) -> None:
        self.scores = scores

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=self.scores[translation])


async def ask(evaluator: Evaluator, text: str, role: RatingRole) -> Rating:
    return (await evaluator.rate(SEGMENT, text)).model_copy(update={"role": role})


@pytest.mark.parametrize(
    ("before", "after", "margin", "keep", "reason"),
    [
        (-5, -1, 0, True, "better"), (-1, -5, 0, False, "worse"),
        (-3, -3, 0, False, "a tie keeps the earlier text"), (-5, -4, 2, False, "below the margin"),
        (-5, -3, 2, True, "better"), (-0.3, -0.2, 0.1, True, "better"),
        (-0.1 - 0.2, -0.3, 0, False, "a tie keeps the earlier text"), (70, 70.5, 0, True, "better"),
    ],
)  # fmt: skip
async def test_rate_keeps_only_what_scores_higher(
    before: float, after: float, margin: float, keep: bool, reason: str
) -> None:
    decision = await RateGate(Judge(b=before, a=after), margin=margin).decide(SEGMENT, "b", "a", ask)
    assert (decision.keep, decision.cause.sentence) == (keep, f"judge {before:g} -> {after:g}: {reason}")
    assert [(rating.role, rating.score) for rating in decision.ratings] == [("before", before), ("after", after)]


@pytest.mark.parametrize(
    ("first", "second", "keep"),
    [
        ("B", "A", True), ("A", "B", False), ("B", "B", False), ("A", "A", False),
        ("tie", "A", False), ("B", "tie", False),
    ],
)  # fmt: skip
async def test_pairwise_keeps_only_what_wins_in_both_orders(first: str, second: str, keep: bool) -> None:
    llm = ScriptedLLM([f'{{"better": "{first}"}}', f'{{"better": "{second}"}}'])
    decision = await PairwiseGate(llm).decide(SEGMENT, "old", "new", ask)
    assert decision.keep is keep
    assert len(decision.calls) == 2
    assert decision.cause.sentence.startswith("scripted, comparing both texts: ")
    shown = [without_codes(request.messages[-1].content) for request in llm.requests]
    assert "<translation_a>old</translation_a>" in shown[0]
    assert "<translation_a>new</translation_a>" in shown[1]


@pytest.mark.parametrize(
    ("name", "signature", "plain"),
    [
        (
            "m (compare@3#c6e863ae)",
            "pairwise|model:m|prompt:compare@3#c6e863ae|reference:no",
            "m, comparing both texts",
        ),
        ("gemba-da", "gemba-da|model:m|prompt:gemba-da@1#0a1b2c3d|temperature:0.0", "gemba-da (m)"),
        ("gemba-da", "gemba-da|model:m:free|prompt:gemba-da@1#0a1b2c3d|samples:3", "gemba-da (m:free, asked 3 times)"),
        ("cometkiwi", "cometkiwi|model:Unbabel/wmt22-cometkiwi-da|comet:2.2", "cometkiwi"),
        ("rules", "rules (no signature)|class:mtagent.Rules#0a1b2c3d", "rules"),
        ("stored without one", "", "stored without one"),
    ],
)
def test_people_read_the_name_of_a_judge_without_prompts_and_hashes(name: str, signature: str, plain: str) -> None:
    assert Judgement(judge=name, signature=signature).plain_name == plain


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (("before", "before"), "prefers the earlier text"),
        (("tie", "tie"), "prefers neither text"),
        (("after", "tie"), "undecided, it prefers the new text in one order and neither text in the other"),
        (("before", "after"), "undecided, it chose the same place in both orders"),
    ],
)
def test_choices_are_put_into_words(choices: tuple[Choice, ...], words: str) -> None:
    judgement = Judgement(judge="judge", choices=choices)
    assert DecidedCause(kind="choices", judgements=(judgement,)).sentence == f"judge: {words}"


def test_a_gate_that_asks_says_whom() -> None:
    pairwise = PairwiseGate(ScriptedLLM([], model="m")).signature
    assert pairwise == f"pairwise|model:m|prompt:{load('compare').signature}|reference:no|version:{__version__}"
    assert RateGate(Judge(a=1)).signature.startswith("judge (no signature)|class:")


async def test_open_gates_ask_nobody() -> None:
    assert PairwiseGate(ForbiddenLLM()).name == "pairwise"
    for name in ("none", "guards"):
        assert (await OpenGate(name).decide(SEGMENT, "old", "new", ask)).keep


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ('{"better": "A"}', "a"), ('{"better": "b"}', "b"),
        ('```json\n{"better": "Tie"}\n```', "tie"), ("B", "b"), ("**A**", "a"), ("b.", "b"),
        ("I compared both.\n{'better': 'A'}", "a"),
    ],
)  # fmt: skip
def test_a_choice_is_read_whatever_its_case_and_wrapping(reply: str, choice: str) -> None:
    assert read_choice(reply) == choice


@pytest.mark.parametrize("reply", ["", "Both are fine.", '{"better": "C"}', '{"worse": "A"}', '["A"]', "Yes", "A or B"])
def test_anything_else_is_an_error_and_no_tie(reply: str) -> None:
    with pytest.raises(RatingParseError):
        read_choice(reply)


# --- panels


class Drawing:
    """Another score each time a text is rated."""

    name = "drawing"

    def __init__(self, **scores: list[float]) -> None:
        self.scores = scores

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=self.scores[translation].pop(0))


class Together(Judge):
    """Rates all translations of a source in one go."""

    asked: tuple[str, ...] = ()

    async def rate_all(self, segment: Segment, translations: Sequence[str]) -> list[Rating | MtagentError]:
        self.asked = tuple(translations)
        return [await self.rate(segment, text) for text in translations]


def votes(*gains: float) -> list[RatingJudge]:
    return [RatingJudge(Judge(b=0, a=gain)) for gain in gains]


def choosing(first: str, second: str) -> PairwiseJudge:
    return PairwiseJudge(Pairwise(ScriptedLLM([f'{{"better": "{first}"}}', f'{{"better": "{second}"}}'])))


@pytest.mark.parametrize(
    ("gains", "quorum", "keep"),
    [
        ((1, 2), None, True), ((1, 0), None, False), ((1, -1), None, False),
        ((1, -1), 1, True), ((1, 1, -9), 2, True), ((1, -1, -9), 2, False),
    ],
)  # fmt: skip
async def test_all_judges_or_a_quorum_must_prefer_the_later_text(
    gains: tuple[float, ...], quorum: int | None, keep: bool
) -> None:
    decision = await PanelGate(*votes(*gains), quorum=quorum).decide(SEGMENT, "b", "a", ask)
    assert decision.keep is keep
    assert [judgement.difference for judgement in decision.cause.judgements] == list(gains)
    assert decision.cause.sentence.startswith(f"{quorum} must agree: " if quorum else "judge 0 -> 1: better; ")
    assert [rating.role for rating in decision.ratings] == ["before", "after"] * len(gains)


async def test_judges_that_score_and_judges_that_compare_sit_on_one_panel() -> None:
    for first, second, keep in (("B", "A", True), ("B", "B", False)):
        gate = PanelGate(*votes(1), choosing(first, second))
        decision = await gate.decide(SEGMENT, "b", "a", ask)
        assert (gate.name, decision.keep, len(decision.calls)) == ("panel", keep, 2)
        assert gate.signature.count("|version:") + gate.signature.count("(no signature)") == 2


@pytest.mark.parametrize(
    ("before", "after", "mean"),
    [
        ([3], [4], (3, 4)), ([1, 3], [2, 2], (2, 2)), ([1, 3, 50], [9, 4, 5], (3, 5)),
        ([1, 2, 4, 90], [0, 0, 0, 0], (3, 0)),
    ],
)  # fmt: skip
async def test_of_several_samples_the_trimmed_mean_counts(
    before: list[float], after: list[float], mean: tuple[float, float]
) -> None:
    drawing = Drawing(b=before.copy(), a=after.copy())
    judge = RatingJudge(*[drawing] * len(before))
    decision = await PanelGate(judge).decide(SEGMENT, "b", "a", ask)
    (judgement,) = decision.cause.judgements
    assert (judgement.before, judgement.after) == mean
    assert decision.keep is (mean[1] > mean[0])
    assert len(decision.ratings) == 2 * len(before), "every sample is on record"
    assert judge.signature.endswith(f"|samples:{len(before)}") is (len(before) > 1)


async def test_who_rates_together_is_given_both_texts_at_once_the_earlier_one_first() -> None:
    texts = [f"a{number}" for number in range(10)]
    together = Together(b=-2, **dict.fromkeys(texts, -1))
    for text in texts:
        decision = await RateGate(together).decide(SEGMENT, "b", text, ask)
        assert decision.keep
        assert together.asked == ("b", text)
        assert [(rating.role, rating.score) for rating in decision.ratings] == [("before", -2), ("after", -1)]

    class Failing(Together):
        async def rate_all(self, segment: Segment, translations: Sequence[str]) -> list[Rating | MtagentError]:
            return [await self.rate(segment, "b"), EvaluationError("no reply")]

    with pytest.raises(EvaluationError, match="no reply"):
        await RateGate(Failing(b=1)).decide(SEGMENT, "b", "a", ask)


class Paid(Judge):
    """Has a call for each rating, and one for a text that it has no score for."""

    async def rate(self, segment: Segment, translation: str) -> Rating:
        if translation not in self.scores:
            error = EvaluationError("no reply")
            error.calls = (Call(purpose="failed", model="m"),)
            raise error
        calls = (Call(purpose="rated", model="m"),)
        return (await super().rate(segment, translation)).model_copy(update={"calls": calls})


class PaidTogether(Paid):
    async def rate_all(self, segment: Segment, translations: Sequence[str]) -> list[Rating | MtagentError]:
        ratings: list[Rating | MtagentError] = []
        for text in translations:
            try:
                ratings.append(await self.rate(segment, text))
            except EvaluationError as error:
                ratings.append(error)
        return ratings


@pytest.mark.parametrize("failing", [Paid(b=1), PaidTogether(b=1)])
async def test_what_all_judges_cost_stands_on_the_error_of_one_that_fails(failing: Judge) -> None:
    panel = PanelGate(RatingJudge(failing), choosing("B", "A"), RatingJudge(Paid(b=1, a=2)))
    with pytest.raises(EvaluationError, match="no reply") as caught:
        await panel.decide(SEGMENT, "b", "a", ask)
    assert Counter(call.purpose for call in caught.value.calls) == {"rated": 3, "failed": 1, "judge": 2}


@pytest.mark.parametrize("judge", [Paid(b=0, a=1), PaidTogether(b=0, a=1)])
async def test_a_step_has_each_call_of_its_judges_once(judge: Judge) -> None:
    class Editor:
        name = "editor"

        async def rate(self, segment: Segment, translation: str) -> Rating:
            return Rating(evaluator=self.name, score=0, correction="a")

    segment = SEGMENT.model_copy(update={"translation": "b"})
    plan = Plan(("postedit",), evaluator=Editor(), gate=RateGate(judge), skip_guards=frozenset(GUARDS))
    (step,) = (await improve(segment, plan)).steps
    assert (step.verdict, [call.purpose for call in step.calls]) == ("kept", ["rated", "rated"])


def gain(*weights: float, intercept: float = 0.0) -> ExpectedGain:
    judges = tuple(JudgeWeight(judge="judge", signature="", scale=2, weight=weight) for weight in weights)
    points = []
    for chance, worse in ((0.10, 0.05), (0.15, 0.08), (0.16, 0.1), (0.2, 0.14), (0.3, 0.09)):
        points.append(CautiousPoint(chance_of_worse=chance, worse=worse, kept=0.5))
    return ExpectedGain(
        intercept=intercept, judges=judges, scale=1.0, tie_band=0.0, ridge=0.3, calibrated_on=100,
        cautious=tuple(points),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("weights", "intercept", "cautious", "keep"),
    [
        ((1, 1), 0.0, None, True),  # signed roots of the differences: (4 + -2) / 2 = 1
        ((1, 3), 0.0, None, False),  # (4 - 6) / 2 = -1
        ((1, 1), -1.0, None, False),  # a tie keeps the earlier text
        ((1, 1), 0.0, 0.1, True), ((1, 1), 0.0, 0.08, False),  # one standard deviation: worse with 15.9 %
        ((1, 1), -0.1, 0.1, False),  # not beyond the first point that breaks the promise
        ((-1, 3), 0.0, 0.5, False),  # -5: no gain is expected
    ],
)  # fmt: skip
async def test_a_calibrated_panel_keeps_what_promises_a_gain(
    weights: tuple[float, ...], intercept: float, cautious: float | None, keep: bool
) -> None:
    gate = PanelGate(*votes(16, -4), gain=gain(*weights, intercept=intercept), cautious=cautious)
    decision = await gate.decide(SEGMENT, "b", "a", ask)
    assert (gate.name, decision.keep) == ("gain", keep)
    assert decision.cause.gain == pytest.approx(intercept + 2 * weights[0] - weights[1])
    assert decision.cause.sentence.startswith(f"expected gain {decision.cause.gain:+.3g}")


async def test_a_cautious_panel_tells_the_chance_of_worse_and_refuses_what_it_cannot_promise() -> None:
    decision = await PanelGate(*votes(16, -4), gain=gain(1, 1), cautious=0.1).decide(SEGMENT, "b", "a", ask)
    assert decision.cause.sentence.startswith("expected gain +1 (16% likely worse; 16% allowed): ")
    assert (decision.cause.chance, decision.cause.chance_of_worse) == pytest.approx((0.841, 0.159), abs=1e-3)
    with pytest.raises(
        ConfigError, match=r"cautious 0\.04: .*the smallest share .* is 0\.05; give that, calibrate on more"
    ):
        PanelGate(*votes(16, -4), gain=gain(1, 1), cautious=0.04)
    silent = gain(1, 1).model_copy(update={"cautious": ()})
    with pytest.raises(ConfigError, match=r"cautious 0\.4: this gate can't promise anything"):
        PanelGate(*votes(16, -4), gain=silent, cautious=0.4)


@pytest.mark.parametrize(("differences", "keep"), [((-1, -1), False), ((-1, 0), True), ((0, 0), True)])
async def test_a_calibrated_panel_never_keeps_what_every_judge_calls_worse(
    differences: tuple[float, float], keep: bool
) -> None:
    gate = PanelGate(*votes(*differences), gain=gain(1, 1, intercept=5))
    decision = await gate.decide(SEGMENT, "b", "a", ask)
    assert decision.keep is keep
    assert decision.cause.gain > 0
    assert ("but every judge calls it worse" in decision.cause.sentence) is not keep


async def test_a_single_judge_has_no_veto() -> None:
    decision = await PanelGate(*votes(-1), gain=gain(1, intercept=5)).decide(SEGMENT, "b", "a", ask)
    assert (decision.keep, "every judge" in decision.cause.sentence) == (True, False)


class Model(Judge):
    """Asks a model, and remembers what about."""

    calls = (1, 1)

    def __init__(self, **scores: float) -> None:
        super().__init__(**scores)
        self.rated: list[str] = []

    async def rate(self, segment: Segment, translation: str) -> Rating:
        self.rated.append(translation)
        return await super().rate(segment, translation)


FORETOLD = Moments(means=(0, 0), covariances=((0.5, 0.5), (0.5, 1)))
"""The metric is the second judge: a model adds half of what it adds, up to a deviation of 0.5."""


@pytest.mark.parametrize(
    ("metric", "intercept", "cautious", "ask_all", "expected"),
    [
        (4, 0, None, False, 1.5),  # its root is 2, and counts 1: 1 + 0.5 is more than twice 0.5
        (1, 0, None, False, None),  # 0.5 + 0.25 is not
        (-4, 0, None, False, -1.5), (-1, 0, None, False, None), (0, 0, None, False, None),
        (0, 1.01, None, False, 1.01), (0, -1.01, None, False, -1.01),
        (-4, 5, None, False, None),  # the metric calls it worse: the model must be asked before it is kept
        (4, 0, None, True, None),
        (4, 0, 0.8, False, None),  # a gain of 0.52 is sure enough, and 0.5 is possible
        (16, 0, 0.8, False, 3), (-4, 0, 0.8, False, -1.5),
    ],
)  # fmt: skip
async def test_a_model_is_asked_only_if_it_can_change_what_the_metric_foretells(
    metric: float, intercept: float, cautious: float | None, ask_all: bool, expected: float | None
) -> None:
    model = Model(b=0, a=1)
    foretelling = gain(1, 1, intercept=intercept).model_copy(update={"moments": FORETOLD})
    judges = RatingJudge(model), RatingJudge(Judge(b=0, a=metric))
    panel = PanelGate(*judges, gain=foretelling, cautious=cautious, ask_all=ask_all)
    decision = await panel.decide(SEGMENT, "b", "a", ask)
    cause = decision.cause
    assert (not model.rated, len(cause.judgements)) == ((True, 1) if expected is not None else (False, 2))
    if expected is None:
        assert (cause.gain, cause.unasked) == (pytest.approx(foretelling.predict(cause.judgements)), ())
        return
    assert (decision.keep, cause.gain, cause.unasked) == (expected > 0, pytest.approx(expected), ("judge",))
    assert cause.chance == pytest.approx(foretelling.chance(expected * 2 / 5**0.5))  # the error is 1 and 0.5
    assert f", judge not asked: judge 0 -> {metric:g}" in cause.sentence


async def test_a_model_is_asked_where_a_metric_without_labels_sees_no_difference() -> None:
    pilot = Pilot(agreement=0.0, trust=0.0, drift=1.01)
    foretelling = gain(1, 1, intercept=1.01).model_copy(update={"moments": FORETOLD, "pilot": pilot})
    for after, keep in ((0.0, False), (1.0, True)):
        model = Model(b=0, a=after)
        panel = PanelGate(RatingJudge(model), RatingJudge(Judge(b=0, a=0)), gain=foretelling)
        decision = await panel.decide(SEGMENT, "b", "a", ask)
        assert (bool(model.rated), decision.keep) == (True, keep), after


async def test_no_model_is_left_out_that_can_spare_a_later_stage_or_helps_to_choose() -> None:
    foretelling = gain(1, 1).model_copy(update={"moments": FORETOLD})

    class Editor:
        name = "editor"

        async def rate(self, segment: Segment, translation: str) -> Rating:
            return Rating(evaluator=self.name, score=0, correction="a")

    for threshold, proposers, stages in (
        (None, (), ["postedit", "proofread"]),
        (1.0, (), ["postedit"]),
        (None, (Editor(),), ["postedit", "proofread"]),  # the best of several is chosen
    ):
        model = Model(b=0, a=1)
        plan = Plan(
            ("postedit", "proofread"),
            evaluator=Editor(),
            proofreader=Proofreader(ScriptedLLM(lambda messages, purpose: "a")),
            gate=PanelGate(RatingJudge(model), RatingJudge(Judge(b=0, a=4)), gain=foretelling),
            thresholds=(Threshold(model, threshold),) if threshold else (),
            proposers=proposers,
            skip_guards=frozenset(GUARDS),
        )
        steps = (await improve(SEGMENT.model_copy(update={"translation": "b"}), plan)).steps
        assert model.rated == (["b", "a"] if threshold or proposers else [])
        assert [step.stage for step in steps] == stages


def test_a_panel_that_cannot_decide_is_refused() -> None:
    with pytest.raises(ConfigError, match="a panel needs a judge"):
        PanelGate()
    with pytest.raises(ConfigError, match="quorum 3: needs that many judges, but there are 2"):
        PanelGate(*votes(1, 1), quorum=3)


async def test_the_comparing_judge_sees_context_notes_and_terms_and_the_reference_only_on_request() -> None:
    segment = SEGMENT.model_copy(
        update={
            "reference": "R?", "context": "C?", "notes": "N?", "terms": (Term(source="T?", target="U?"),),
        }
    )  # fmt: skip
    for reference in (False, True):
        llm = ScriptedLLM(['{"better": "tie"}'] * 2)
        await Pairwise(llm, reference=reference).compare(segment, "old", "new")
        for request in llm.requests:
            shown = request.messages[-1].content
            assert all(text in shown for text in ("C?", "N?", "T? = U?"))
            assert ("R?" in shown) is reference


async def test_a_comparison_that_fails_does_not_give_up_the_other_one_which_is_paid_for() -> None:
    class Failing:
        """Refuses the first order at once, and answers the second a little later."""

        model = "m"
        answered = 0

        async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
            if "<translation_a>old" in without_codes(messages[-1].content):
                raise BadRequest("refused")
            await asyncio.sleep(0)
            self.answered += 1
            return Completion(text='{"better": "A"}', model="m", usage=Usage(calls=1))

    llm = Failing()
    with pytest.raises(BadRequest) as caught:
        await Pairwise(llm).compare(SEGMENT, "old", "new")
    assert llm.answered == 1
    assert sum(call.usage.calls for call in caught.value.calls) == 1
