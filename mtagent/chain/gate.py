"""What the chain may keep: a gate looks at the text before and after a step and decides. Ties keep the earlier text.

``none`` keeps everything, damage included; ``guards`` keeps what the guards let pass; ``rate`` and ``pairwise`` ask a
judge as well. A judge's rating of a text is asked for once per segment (``rate`` is the chain's memory of ratings).
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from mtagent.errors import RatingParseError
from mtagent.evaluators.protocol import Evaluator, checked_evaluator, signature_of, signed
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue, together
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import read_json
from mtagent.records import Call, Cause, Choice, Judgement, Rating, RatingRole, Segment

Rate = Callable[[Evaluator, str, RatingRole], Awaitable[Rating]]


class Decision(NamedTuple):
    """Whether to keep the text after a step, why, and the judge's ratings of both texts, with their roles."""

    keep: bool
    cause: Cause
    ratings: tuple[Rating, ...] = ()
    calls: tuple[Call, ...] = ()


class Gate(Protocol):
    """Decides on one step."""

    name: str

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> Decision:
        """Whether ``after`` may take the place of ``before``; called only where the two differ."""
        ...


class OpenGate:
    """Keeps every step (gates ``none`` and ``guards``: the guards have spoken before)."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> Decision:
        """Keep."""
        return Decision(True, Cause(kind="guards" if self.name == "guards" else "unchecked"))


class RateGate:
    """Keeps a text whose score by ``judge`` is higher than before, by at least ``margin``."""

    name = "rate"

    def __init__(self, judge: Evaluator, *, margin: float = 0.0) -> None:
        self.judge, self.margin = checked_evaluator(judge), margin

    @property
    def signature(self) -> str:
        """The judge's, which signs the ratings that decide."""
        return signature_of(self.judge)

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> Decision:
        """Rate both texts and compare."""
        old, new = await rate(self.judge, before, "before"), await rate(self.judge, after, "after")
        judgement = Judgement(judge=self.judge.name, before=old.score, after=new.score)
        gain = judgement.gain or 0.0
        margin = None if math.isinf(self.margin) else self.margin
        cause = Cause(kind="scores", judgements=(judgement,), margin=margin)
        return Decision(gain > 0 and gain >= self.margin, cause, (old, new))


class PairwiseGate:
    """Keeps a text that a judge prefers in both orders; a tie or a disagreement keeps the earlier text."""

    name = "pairwise"

    def __init__(self, llm: LLM, *, prompts_folder: Path | None = None) -> None:
        self._llm, self._prompt = llm, prompts.load("compare", prompts_folder)
        self.signature = signed(self.name, llm, [self._prompt])

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> Decision:
        """Ask for the better of the two, twice."""
        with Dialogue(self._llm, segment.id) as dialogue:
            first, second = await together(
                self._compare(dialogue, segment, before, after), self._compare(dialogue, segment, after, before)
            )
        choices = (_SIDES[first], _SIDES_SWAPPED[second])
        judge = f"{self._llm.model} ({self._prompt.signature})"
        cause = Cause(kind="choices", judgements=(Judgement(judge=judge, choices=choices),))
        return Decision(choices == ("after", "after"), cause, calls=tuple(dialogue.calls))

    async def _compare(self, dialogue: Dialogue, segment: Segment, a: str, b: str) -> str:
        values = prompts.segment_values(segment, translation_a=a, translation_b=b)
        return await dialogue.ask(self._prompt, values, "judge", read_choice)


_SIDES: dict[str, Choice] = {"a": "before", "b": "after", "tie": "tie"}
_SIDES_SWAPPED: dict[str, Choice] = {"a": "after", "b": "before", "tie": "tie"}


def read_choice(reply: str) -> str:
    """``a``, ``b`` or ``tie``. Raises :class:`RatingParseError` for anything else."""
    bare = reply.strip().strip("\"'.*").casefold()
    if bare in _SIDES:
        return bare
    data = read_json(reply)
    choice = str(data.get("better", "")).strip().casefold() if isinstance(data, dict) else ""
    if choice not in _SIDES:
        raise RatingParseError("the reply chooses neither A nor B nor tie")
    return choice
