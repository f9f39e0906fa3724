"""Gates: what a judge's word lets the chain keep."""

from __future__ import annotations

import pytest

from mtagent import __version__
from mtagent.chain.gate import OpenGate, PairwiseGate, RateGate
from mtagent.errors import RatingParseError
from mtagent.evaluators.pairwise import read_choice
from mtagent.evaluators.protocol import Evaluator
from mtagent.llm.fake import ForbiddenLLM, ScriptedLLM
from mtagent.llm.prompts import load
from mtagent.records import Rating, RatingRole, Segment
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
    assert decision.cause.sentence.startswith(f"compared in both orders by scripted ({load('compare').signature}): ")
    shown = [without_codes(request.messages[-1].content) for request in llm.requests]
    assert "<translation_a>old</translation_a>" in shown[0]
    assert "<translation_a>new</translation_a>" in shown[1]


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
