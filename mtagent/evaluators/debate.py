"""Stage 2 of M-MAD: the debate about one dimension's errors, by one of four strategies (M-MAD paper, §2.2 and §4.3).

Annotator A supports the errors that were marked at first, annotator B disputes them. In a round both speak at once:
each answers what the other had said in the round before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from mtagent import mqm
from mtagent.evaluators.m_mad_replies import (
    Errors,
    as_json,
    parse_consensus,
    parse_judgement,
    parse_statement,
    parse_words,
    remembered,
)
from mtagent.llm.dialogue import Dialogue
from mtagent.prompts import Prompt, Values
from mtagent.records import ErrorSpan
from mtagent.together import together

Topic = Literal["severity", "category", "entirety"]
Strategy = Literal["consensus", "deliberation", "interactive-review", "consultancy-review"]
_ROLES = {"A": "supporter", "B": "opponent"}


class Turn(NamedTuple):
    """What somebody said in the debate; ``errors`` are the annotations of an annotator."""

    speaker: str
    when: str
    text: str
    errors: Errors = ()


@dataclass(frozen=True)
class Debate:
    """What all turns of a debate share. ``prompts`` are those of :data:`PROMPTS` by name."""

    dialogue: Dialogue
    prompts: Mapping[str, Prompt]
    values: Values
    dimension: str
    translation: str
    initial: Errors
    opposed: Errors
    rounds: int

    async def statement(self, annotator: str, number: int, said: Sequence[Turn], *, alone: bool = False) -> Turn:
        """What annotator A or B says in round ``number`` after all that was ``said`` before it."""
        more = {"annotator": annotator, "opposed": None if alone else "yes"}
        statement = await self.dialogue.ask(
            self.prompts["debate"],
            self._values(said, **more),
            f"m-mad {self.dimension} round {number} {_ROLES[annotator]}",
            lambda reply: parse_statement(reply, self.translation, self.dimension),
        )
        errors = remembered(statement.errors, self.initial)
        return Turn(f"Annotator {annotator}", f"round {number}", statement.text, errors)

    async def statements(self, number: int, said: Sequence[Turn]) -> list[Turn]:
        """What both say in round ``number``."""
        return await together(*(self.statement(annotator, number, said) for annotator in _ROLES))

    async def agreed(self, number: int, first: Errors, second: Errors) -> bool:
        """Whether the consensus checker finds the two annotations consistent."""
        values = {"first": as_json(first, context=False), "second": as_json(second, context=False)}
        purpose = f"m-mad {self.dimension} round {number} checker"
        return await self.dialogue.ask(self.prompts["consensus"], values, purpose, parse_consensus)

    async def questions(self, number: int, said: Sequence[Turn], *, alone: bool = False) -> Turn:
        """What the reviewer asks in round ``number``."""
        values = self._values(said, closing=None, opposed=None if alone else "yes")
        purpose = f"m-mad {self.dimension} round {number} reviewer"
        text = await self.dialogue.ask(self.prompts["review"], values, purpose, parse_words)
        return Turn("Reviewer", f"round {number}", text)

    async def recommendation(self, said: Sequence[Turn]) -> Turn:
        """What the reviewer tells the judge at the end of a consultation."""
        values = self._values(said, closing="yes", opposed=None)
        purpose = f"m-mad {self.dimension} closing reviewer"
        text = await self.dialogue.ask(self.prompts["review"], values, purpose, parse_words)
        return Turn("Reviewer", "at the end", text)

    async def decision(self, said: Sequence[Turn]) -> Errors:
        """What the judge of the dimension makes of the whole debate."""
        judgement = await self.dialogue.ask(
            self.prompts["decide"],
            self._values(said),
            f"m-mad {self.dimension} judge",
            lambda reply: parse_judgement(reply, self.translation, self.dimension),
        )
        return remembered(judgement.errors, self.initial)

    def openings(self) -> list[Turn]:
        """The standpoints that the two annotators start from."""
        starts = {"A": self.initial, "B": self.opposed}
        return [Turn(f"Annotator {name}", "at the start", as_json(errors), errors) for name, errors in starts.items()]

    def _values(self, said: Sequence[Turn], **more: str | None) -> Values:
        debate = "\n\n".join(f"{turn.speaker}, {turn.when}:\n{turn.text}" for turn in said)
        return {**self.values, "debate": debate, **more}


async def consensus(debate: Debate) -> Errors:
    """Up to ``rounds`` rounds, until the annotations agree. Without agreement the supporter's last ones stand."""
    said = debate.openings()
    for number in range(1, debate.rounds + 1):
        supporter, opponent = await debate.statements(number, said)
        if await debate.agreed(number, supporter.errors, opponent.errors):
            break
        said += [supporter, opponent]
    return supporter.errors


async def deliberation(debate: Debate) -> Errors:
    """All rounds, then a judge decides."""
    said = debate.openings()
    for number in range(1, debate.rounds + 1):
        said += await debate.statements(number, said)
    return await debate.decision(said)


async def interactive_review(debate: Debate) -> Errors:
    """After each round but the last a reviewer asks questions, which the next round answers; then a judge decides."""
    said = debate.openings()
    for number in range(1, debate.rounds + 1):
        if number > 1:
            said.append(await debate.questions(number - 1, said))
        said += await debate.statements(number, said)
    return await debate.decision(said)


async def consultancy_review(debate: Debate) -> Errors:
    """A alone answers a reviewer's questions in each round; the reviewer reports to a judge, who decides."""
    said = debate.openings()[:1]
    for number in range(1, debate.rounds + 1):
        said.append(await debate.questions(number, said, alone=True))
        said.append(await debate.statement("A", number, said, alone=True))
    said.append(await debate.recommendation(said))
    return await debate.decision(said)


STRATEGIES: dict[Strategy, Callable[[Debate], Awaitable[Errors]]] = {
    "consensus": consensus,
    "deliberation": deliberation,
    "interactive-review": interactive_review,
    "consultancy-review": consultancy_review,
}
PROMPTS: dict[Strategy, tuple[str, ...]] = {
    "consensus": ("debate", "consensus"),
    "deliberation": ("debate", "decide"),
    "interactive-review": ("debate", "review", "decide"),
    "consultancy-review": ("debate", "review", "decide"),
}
"""What each strategy asks: the prompts ``m-mad-NAME``."""


def disputed(errors: Errors, topic: Topic) -> bool:
    """Whether there is something to debate: a major error, or for the other topics any error."""
    return any(error.severity == "major" for error in errors) if topic == "severity" else bool(errors)


def opposed(errors: Errors, topic: Topic) -> Errors:
    """The opponent's first standpoint. The words and places of the errors are never changed.

    On severity: every major error is minor. On categories: the errors are of another category. On the entirety: there
    is no error. A non-translation is denied, whatever the topic.
    """
    if topic == "entirety" or any(mqm.is_non_translation(error.category) for error in errors):
        return ()
    return tuple(_disputed(error, topic) for error in errors)


def _disputed(error: ErrorSpan, topic: Topic) -> ErrorSpan:
    if topic == "category":
        return error.model_copy(update={"category": f"not {error.category}"})
    return error.model_copy(update={"severity": "minor"})
