"""``pairwise``: a model chooses the better of two translations, in both orders.

Small models that cannot rate can compare, and the second order guards against a judge that prefers the first text. It
rates no single text, so it is only a judge. A judge that chooses by place contradicts itself in most comparisons. The
result looks like a tie, so such a judge is recognised and reported once.
"""

from __future__ import annotations

import logging
from collections import deque
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.errors import RatingParseError
from mtagent.evaluators.protocol import signed
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.gathering import finished
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import read_json, without_thoughts
from mtagent.records import Call, Choice, Segment, contradict, plain_judge_name

logger = logging.getLogger(__name__)
WATCHED = 20
"""How many of the last comparisons show whether a judge chooses by place, without ties in both orders."""
MOST_CONTRADICTIONS = 16
"""A judge with this many contradicting choices among these is reported."""


class PairwiseAnswer(NamedTuple):
    """The judge's choice in each order."""

    choices: tuple[Choice, ...]
    """With the earlier text first, then with the later text first."""
    calls: tuple[Call, ...] = ()


BARE_TOKENS = (1, 30)
"""The fewest and the most tokens of a reply, for ``mtagent estimate``."""
REASONED_TOKENS = (10, 150)
"""The same for a reply with a reason of one or two sentences."""


class Pairwise:
    """Two calls. ``reference=True`` shows the model the reference of segments that have one.

    ``reason=True`` asks for the reason before the choice and shows six examples: a longer request, most of which
    providers can cache, and a longer reply.
    """

    name = "pairwise"
    calls = (2, 2)

    def __init__(
        self, llm: LLM, *, reason: bool = False, reference: bool = False, prompts_folder: Path | None = None
    ) -> None:
        self._llm = llm
        self._reference = reference
        self._prompt = prompts.load("compare-reasoned" if reason else "compare", prompts_folder)
        self.reply_tokens = REASONED_TOKENS if reason else BARE_TOKENS
        self.signature = signed(self.name, llm, [self._prompt], reference=reference)
        self.label = plain_judge_name(self.name, self.signature)
        self._contradicted: deque[bool] = deque(maxlen=WATCHED)
        self._is_reported = False

    async def compare(self, segment: Segment, before: str, after: str) -> PairwiseAnswer:
        """Ask for the better of the two, twice. Raises :class:`RatingParseError` if two replies cannot be read."""
        with Dialogue(self._llm, segment.id) as dialogue:
            first, second = await finished(
                self._ask(dialogue, segment, before, after), self._ask(dialogue, segment, after, before)
            )
        choices = (_SIDES[first], _SIDES_SWAPPED[second])
        self._watch(choices)
        return PairwiseAnswer(choices, tuple(dialogue.calls))

    def _watch(self, choices: tuple[Choice, ...]) -> None:
        """Warn once if the judge contradicted itself in :data:`MOST_CONTRADICTIONS` of the last comparisons.

        A tie in both orders says nothing about places. A tie in one order isn't a contradiction.
        """
        if set(choices) == {"tie"}:
            return
        self._contradicted.append(contradict(choices))
        contradictions = sum(self._contradicted)
        if len(self._contradicted) < WATCHED or contradictions < MOST_CONTRADICTIONS or self._is_reported:
            return
        self._is_reported = True
        logger.warning(
            "the judge (%s) contradicted itself in %d of its last %d comparisons (ties in both orders left out): it "
            "chose the same place, A or B, whichever text was there; such comparisons can't decide: name another "
            "model or another judge",
            self.label,
            contradictions,
            WATCHED,
        )

    async def _ask(self, dialogue: Dialogue, segment: Segment, a: str, b: str) -> str:
        values = prompts.segment_values(segment, show_reference=self._reference, translation_a=a, translation_b=b)
        return await dialogue.ask(self._prompt, values, "judge", read_choice)


_SIDES: dict[str, Choice] = {"a": "before", "b": "after", "tie": "tie"}
_SIDES_SWAPPED: dict[str, Choice] = {"a": "after", "b": "before", "tie": "tie"}
_FIELDS = ("better", "winner", "preferred", "preference", "choice", "best", "verdict", "answer")
_NAMED = regex.compile(r"(?:translation|text|version|option|candidate)?\s?(a|b|tie)", regex.IGNORECASE)
_STATED = regex.compile(
    r"\b(?:translation|text|version|option)?\s?(?-i:([AB]))\s(?:is|reads)\s(?:(?:clearly|slightly|much|a\sbit|marginally)\s)?"
    r"better\b",
    regex.IGNORECASE,
)
_BOXED = regex.compile(r"\\boxed\{\s?(?:\\text\{)?(A|B|tie)\}{1,2}[\s$.*]*\Z", regex.IGNORECASE)
_BUT = regex.compile(
    r"\b(?:not|neither|nor|if|would|could|which|whether|but|however|tie)\b|n['’]t\b|\?", regex.IGNORECASE
)


def read_choice(reply: str) -> str:
    """``a``, ``b`` or ``tie``: alone, in JSON, or in a sentence such as "Translation A is better".

    Raises :class:`RatingParseError` for anything else.
    """
    answer = without_thoughts(reply)
    bare = _NAMED.fullmatch(answer.strip().strip("\"'.*"))
    if bare:
        return str(bare[1].casefold())
    boxed = _BOXED.search(answer)
    if boxed:
        return str(boxed[1].casefold())
    if "{" not in answer:
        stated = {choice.casefold() for choice in _STATED.findall(answer)}
        if len(stated) == 1 and not _BUT.search(answer):
            return str(stated.pop())
        raise RatingParseError("the reply chooses neither A nor B nor tie")
    data = read_json(answer, last=True)
    chosen: set[str] = set()
    for name in _FIELDS:
        value = data.get(name, "") if isinstance(data, dict) else ""
        choice = _NAMED.fullmatch(str(value).strip())
        if choice:
            chosen.add(choice[1].casefold())
    if len(chosen) != 1:
        raise RatingParseError("the reply chooses neither A nor B nor tie")
    return str(chosen.pop())
