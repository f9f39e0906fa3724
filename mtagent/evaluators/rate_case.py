"""One rating of RATE under way: what is known so far, and what the core agent's tools do."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mtagent import prompts
from mtagent.errors import FATAL, EvaluationError, MtagentError, UnreadableReply
from mtagent.evaluators import rate_comparison
from mtagent.evaluators.rate_comparison import HIGH_ANCHOR, LOW_ANCHOR, Anchor, Outcome
from mtagent.evaluators.rate_replies import Assessment, read_assessment, read_queries, read_summary, read_winner
from mtagent.evaluators.rate_tools import Action, score_of, text_of
from mtagent.llm.dialogue import Dialogue
from mtagent.prompts import Prompt
from mtagent.protocols import Search
from mtagent.records import Found, Segment, Tool
from mtagent.together import together

FINDS = 5  # per query
LONGEST_FIND = 1_000  # characters of one find that the search agent reads


class Agents(NamedTuple):
    """The sub-agents' prompts."""

    evaluate: Prompt
    search: Prompt
    summarise: Prompt
    compare: Prompt

    @classmethod
    def load(cls, folder: Path | None) -> Agents:
        return cls(*(prompts.load(f"rate-{name}", folder) for name in cls._fields))


@dataclass
class Memory:
    """What is known about one source: the answer to each search, ``""`` for none, and an anchor per score level."""

    answers: dict[str, str] = field(default_factory=dict)
    anchors: dict[int, Anchor] = field(default_factory=dict)

    def knowledge(self) -> str | None:
        """All that was found, one line per search."""
        return "\n".join(f"- {request}: {answer}" for request, answer in self.answers.items() if answer) or None

    def put(self, anchor: Anchor) -> None:
        """Let ``anchor`` take the slot of its score level."""
        self.anchors[rate_comparison.level(anchor.score)] = anchor


class Final(NamedTuple):
    """The score that a rating ends with, why, and the last evaluation."""

    score: float
    rationale: str
    assessment: Assessment


@dataclass
class Case:
    """One translation that the core agent has to score. The tools use this source and this translation, no others."""

    segment: Segment
    translation: str
    memory: Memory
    agents: Agents
    core: Dialogue
    judges: Dialogue
    finder: Search | None
    assessment: Assessment | None = None
    tentative: float | None = None
    final: Final | None = None
    compared: set[float] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def values(self, **texts: str | None) -> dict[str, str | None]:
        """The variables of the prompts: the segment's, and what the memory holds."""
        known = {"knowledge": self.memory.knowledge(), "anchors": "yes" if self.memory.anchors else None}
        return prompts.segment_values(self.segment, translation=self.translation, **{**known, **texts})

    async def carry_out(self, action: Action, offered: Sequence[Tool]) -> str:
        """The answer of a tool, or why there is none. What concerns every segment alike is raised."""
        tools: dict[str, Callable[[dict[str, Any]], Awaitable[str]]] = {
            "evaluate": self._evaluate,
            "search": self._search,
            "compare": self._compare,
            "finish": self._finish,
        }
        names = [tool.name for tool in offered]
        try:
            if action.tool not in names:
                raise UnreadableReply(f"{action.tool!r} cannot be called here, only {', '.join(names)}")
            if action.problem:
                raise UnreadableReply(action.problem)
            return await tools[action.tool](action.arguments)
        except FATAL:
            raise
        except (MtagentError, OSError) as error:
            self.warnings.append(f"{action.tool} failed: {type(error).__name__}: {error}")
            return _answer(error=str(error) or type(error).__name__)

    def unfinished(self, rounds: int) -> Final:
        """The last tentative score, with a warning. Raises :class:`EvaluationError` if there was no evaluation."""
        why = f"the core agent did not finish in {rounds} rounds"
        if self.assessment is None or self.tentative is None:
            failures = [warning for warning in self.warnings if warning.startswith("evaluate ")] or self.warnings
            last = f" ({failures[-1]})" if failures else ""
            raise EvaluationError(f"rate: {why}, and there was no evaluation{last}")
        self.warnings.append(f"{why}: the score is that of the last evaluation or comparison")
        return Final(self.tentative, self.assessment.rationale, self.assessment)

    async def _evaluate(self, arguments: dict[str, Any]) -> str:
        values = self.values(background=text_of(arguments, "notes"), focus=text_of(arguments, "instruction"))
        found = await self.judges.ask(
            self.agents.evaluate, values, "rate-evaluate", lambda reply: read_assessment(reply, self.translation)
        )
        self.assessment, self.tentative = found, found.score
        errors = [{"text": error.text, "issue": error.explanation} for error in found.errors]
        return _answer(
            score=found.score, confidence=found.confidence, rationale=found.rationale, errors=errors, gaps=found.gaps
        )

    async def _search(self, arguments: dict[str, Any]) -> str:
        request = " ".join((text_of(arguments, "query", required=True) or "").split())
        known = next((text for text in self.memory.answers if text.casefold() == request.casefold()), None)
        if known is None:
            self.memory.answers[request] = await self._look_up(request)
        answer = self.memory.answers[known or request]
        if not answer:
            return _answer(answer=None, note="nothing was found; ask differently, or go on without")
        return _answer(answer=answer)

    async def _look_up(self, request: str) -> str:
        """The answer to ``request``; ``""`` if the search brings none."""
        queries = await self.core.ask(self.agents.search, self.values(request=request), "rate-search", read_queries)
        found = await self._find(queries)
        if not found:
            return ""
        results = "\n\n".join(f"[{n}] {one.title}\n{one.text[:LONGEST_FIND]}" for n, one in enumerate(found, 1))
        values = self.values(request=request, results=results)
        return await self.core.ask(self.agents.summarise, values, "rate-summarise", read_summary)

    async def _find(self, queries: Sequence[str]) -> list[Found]:
        """What all queries find, each find once. A query that fails is an error only if the others find nothing."""
        brought = await together(*(self._attempt(query) for query in queries))
        found = [one for finds in brought if isinstance(finds, list) for one in finds]
        failed = [error for error in brought if isinstance(error, Exception)]
        if failed and not found:
            raise failed[0]
        return list(dict.fromkeys(found))

    async def _attempt(self, query: str) -> list[Found] | MtagentError | OSError:
        assert self.finder is not None
        try:
            return await self.finder.find(query, limit=FINDS)
        except FATAL:
            raise
        except (MtagentError, OSError) as error:
            return error

    async def _compare(self, arguments: dict[str, Any]) -> str:
        tentative, notes = score_of(arguments, "tentative_score"), text_of(arguments, "notes")
        if tentative in self.compared:
            raise UnreadableReply(f"{tentative:g} has been compared already: decide now, and call finish")
        self._take_synthetic_anchors(arguments)
        anchor = rate_comparison.closest(self.memory.anchors.values(), tentative)
        outcomes = await together(self._duel(anchor, notes, "a"), self._duel(anchor, notes, "b"))
        calibration = rate_comparison.calibrate(tentative, anchor.score, (outcomes[0], outcomes[1]))
        self.compared.add(tentative)
        self.tentative = calibration.score
        return _answer(
            anchor_score=anchor.score,
            outcomes=outcomes,
            advice=calibration.advice,
            suggested_score=calibration.score,
            note="there are anchors now; leave low_anchor and high_anchor out",
        )

    def _take_synthetic_anchors(self, arguments: dict[str, Any]) -> None:
        """Fill the slots of 1 and 4 with what the core agent wrote, where no translation has taken them."""
        low, high = text_of(arguments, "low_anchor"), text_of(arguments, "high_anchor")
        if not self.memory.anchors and not (low and high):
            raise UnreadableReply(
                "there are no anchors yet: call compare again with low_anchor, a translation that deserves 1, "
                "and high_anchor, one that deserves 4"
            )
        for text, score in ((low, LOW_ANCHOR), (high, HIGH_ANCHOR)):
            if text:
                self.memory.anchors.setdefault(rate_comparison.level(score), Anchor(text, score))

    async def _duel(self, anchor: Anchor, notes: str | None, place: str) -> Outcome:
        """The translation against ``anchor``, shown in ``place``."""
        a, b = (self.translation, anchor.text) if place == "a" else (anchor.text, self.translation)
        values = self.values(background=notes, translation_a=a, translation_b=b)
        winner = await self.judges.ask(self.agents.compare, values, "rate-compare", read_winner)
        return "tie" if winner == "tie" else "win" if winner == place else "lose"

    async def _finish(self, arguments: dict[str, Any]) -> str:
        score, rationale = score_of(arguments, "score"), text_of(arguments, "rationale", required=True)
        if self.assessment is None:
            raise UnreadableReply("nothing has been evaluated yet: call evaluate first")
        self.final = Final(score, rationale or "", self.assessment)
        self.memory.put(Anchor(self.translation, score))
        return _answer(score=score)


def _answer(**fields: Any) -> str:
    """A tool's answer as the core agent reads it."""
    return json.dumps(fields, ensure_ascii=False)
