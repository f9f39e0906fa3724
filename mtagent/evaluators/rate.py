"""RATE: a core agent that decides, round by round, whom to ask (RATE/MENT paper, §4, appendix B, figures 15 to 20).

It may have the translation evaluated, background knowledge searched for, the score compared with an anchor's, and must
finish with a score from 0 to 4. What is learnt about a source, knowledge and anchors, serves its later translations.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import mtagent
from mtagent.errors import FATAL, ConfigError, EvaluationError, MtagentError, UnreadableReply
from mtagent.evaluators import rate_replies
from mtagent.evaluators.rate_replies import (
    COMPARE,
    EVALUATE,
    FINISH,
    HIGH_ANCHOR,
    HIGHEST,
    LOW_ANCHOR,
    SEARCH,
    Action,
    Anchor,
    Assessment,
    Outcome,
    read_assessment,
    read_queries,
    read_summary,
    read_turn,
    read_winner,
    score_of,
    severity_at,
    text_of,
)
from mtagent.evaluators.search import Search
from mtagent.llm import prompts
from mtagent.llm.dialogue import AGAIN, Dialogue, together
from mtagent.llm.prompts import Prompt
from mtagent.llm.protocol import LLM
from mtagent.llm.request import settings_of
from mtagent.records import Completion, ErrorSpan, Found, Message, Rating, Segment, Tool

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
        self.anchors[rate_replies.level(anchor.score)] = anchor


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
        anchor = rate_replies.closest(self.memory.anchors.values(), tentative)
        outcomes = await together(self._duel(anchor, notes, "a"), self._duel(anchor, notes, "b"))
        calibration = rate_replies.calibrate(tentative, anchor.score, (outcomes[0], outcomes[1]))
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
                self.memory.anchors.setdefault(rate_replies.level(score), Anchor(text, score))

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


FEWEST_ROUNDS = 2  # one to have the translation evaluated, one to finish
LAST_ROUND = "The next round is the last one, and only finish can be called in it."
Turn = tuple[Completion, tuple[Action, ...]]


class RATE:
    """At least three calls: core agent, evaluation, core agent. The score is 0 to 4; 4 is excellent.

    ``search`` is ``none``, ``local`` (the notes in ``knowledge``), ``searxng:URL`` or ``endpoint:URL``. In Python,
    as in the paper, the evaluation and the comparison can have a model of their own, ``judges``; and any
    :class:`mtagent.evaluators.search.Search` can be the ``finder``.
    """

    name = "rate"
    best_score = HIGHEST

    def __init__(
        self,
        llm: LLM,
        judges: LLM | None = None,
        finder: Search | None = None,
        *,
        rounds: int = 10,
        search: str = "none",
        knowledge: Path | None = None,
        data_folder: Path | None = None,
        prompts_folder: Path | None = None,
    ) -> None:
        if rounds < FEWEST_ROUNDS:
            raise ConfigError(f"evaluator rate: rounds={rounds} is too few, it takes at least {FEWEST_ROUNDS}")
        self._llm, self._judges, self._rounds = llm, judges or llm, rounds
        self.calls = (3, 3 * rounds - 2)  # the core agent in each round, and a tool of two calls in all but the last
        self._finder = finder or _open(search, knowledge, data_folder)
        self._tools = (EVALUATE, *((SEARCH,) if self._finder else ()), COMPARE, FINISH)
        self._core = prompts.load("rate-core", prompts_folder)
        self._agents = Agents.load(prompts_folder)

    @property
    def signature(self) -> str:
        """Of a translation that is rated alone, with the notes as they are now."""
        return self._signed(1)

    def _signed(self, order: int) -> str:
        """The signature of the ``order``-th rating of a source, in which those before it have a part."""
        own, finder = self._judges is not self._llm, self._finder
        searching = (self._agents.search, self._agents.summarise) if finder else ()
        used = (self._core, self._agents.evaluate, *searching, self._agents.compare)
        return "|".join(
            [
                self.name,
                f"model:{self._llm.model}",
                *([f"judges:{self._judges.model}"] if own else []),
                *(f"prompt:{prompt.signature}" for prompt in used),
                *settings_of(self._llm),
                *(f"judges-{setting}" for setting in settings_of(self._judges) if own),
                f"rounds:{self._rounds}",
                f"search:{getattr(finder, 'signature', finder.name) if finder else 'none'}",
                f"order:{order}",
                f"version:{mtagent.__version__}",
            ]
        )

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate one translation, with nothing known about its source.

        Raises :class:`RatingParseError` if the core agent cannot be read twice in a row, and :class:`EvaluationError`
        if all rounds pass without an evaluation.
        """
        return await self._rate(segment, translation, Memory(), 1)

    async def rate_all(self, segment: Segment, translations: Sequence[str]) -> list[Rating | MtagentError]:
        """Rate translations of one source one after the other, each with the knowledge and the anchors of those before.

        A translation that cannot be rated has the error in its place. Fatal errors are raised, with all calls so far.
        """
        memory = Memory()
        results: list[Rating | MtagentError] = []
        for order, translation in enumerate(translations, 1):
            try:
                results.append(await self._rate(segment, translation, memory, order))
            except FATAL as error:
                error.calls = (*(call for result in results for call in result.calls), *error.calls)
                raise
            except MtagentError as error:
                results.append(error)
        return results

    async def _rate(self, segment: Segment, translation: str, memory: Memory, order: int) -> Rating:
        signature = self._signed(order)
        with Dialogue(self._llm, segment.id) as core:
            judges = Dialogue(self._judges, segment.id)
            judges.calls = core.calls  # one account, in the order of the calls
            case = Case(segment, translation, memory, self._agents, core, judges, self._finder)
            final = await self._lead(core, case) or case.unfinished(self._rounds)
        return Rating(
            evaluator=self.name,
            score=final.score,
            errors=_errors(final),
            explanation=final.rationale,
            calls=tuple(core.calls),
            signature=signature,
            confidence=final.assessment.confidence,
            gaps=final.assessment.gaps,
            warnings=tuple(case.warnings),
            seconds=core.seconds,
        )

    async def _lead(self, core: Dialogue, case: Case) -> Final | None:
        """The core agent's loop: observe, orient, decide, act. ``None`` if it does not finish in its rounds."""
        values = {"rounds": str(self._rounds), "search": "yes" if self._finder else None}
        messages = self._core.render(case.values(**values))
        for left in reversed(range(self._rounds)):
            completion, actions = await _decide(core, messages, self._tools if left else (FINISH,))
            answers: list[str] = []
            for action in actions:
                answers.append(await case.carry_out(action, self._offered(left, actions)))
                if case.final is not None:
                    return case.final
            messages = (*messages, *_told(completion, actions, answers, LAST_ROUND if left == 1 else ""))
        return None

    def _offered(self, left: int, actions: Sequence[Action]) -> tuple[Tool, ...]:
        """What can be called now. A score beside other calls would be given before their answers are read."""
        if not left:
            return (FINISH,)
        same = all(action.wish == actions[0].wish for action in actions)
        return self._tools if same else tuple(tool for tool in self._tools if tool is not FINISH)


async def _decide(core: Dialogue, messages: Sequence[Message], tools: Sequence[Tool]) -> Turn:
    """The core agent's next wish. A reply that calls no tool is asked for once more, with the reason."""
    completion = await core.send(messages, "rate-core", tools=tools)
    try:
        return completion, read_turn(completion)
    except UnreadableReply as error:
        core.mark_unreadable(completion, error)
        again = Message(role="user", content=AGAIN.format(reason=error))
    messages = (*messages, Message(role="assistant", content=completion.text), again)
    completion = await core.send(messages, "rate-core", tools=tools)
    try:
        return completion, read_turn(completion)
    except UnreadableReply as error:
        core.mark_unreadable(completion, error)
        raise


def _told(completion: Completion, actions: Sequence[Action], answers: Sequence[str], note: str) -> list[Message]:
    """What the core agent said and the answers, in the form in which it called the tools; ``note`` comes last."""
    if not completion.tool_calls:
        said = Message(role="assistant", content=completion.text)
        told = [f"Answer of {action.tool}: {answer}" for action, answer in zip(actions, answers, strict=True)]
        return [said, Message(role="user", content="\n\n".join([*told, *([note] if note else [])]))]
    calls = tuple(action.as_call() for action in actions)
    *first, last = answers
    told = [*first, f"{last}\n\n{note}" if note else last]
    return [
        Message(role="assistant", content=completion.text, tool_calls=calls),
        *(Message(role="tool", content=a, tool_call_id=c.id) for c, a in zip(calls, told, strict=True)),
    ]


def _errors(final: Final) -> tuple[ErrorSpan, ...] | None:
    """The errors of the last evaluation; ``None`` where it marks none and yet the translation is not excellent."""
    severity, marked = severity_at(final.score), final.assessment.errors
    if not marked and final.score < HIGHEST:
        return None
    return tuple(error.model_copy(update={"severity": severity}) for error in marked)


def _open(search: str, knowledge: Path | None, data_folder: Path | None) -> Search | None:
    """The search that an option names; ``None`` for none."""
    if search == "none":
        return None
    from mtagent.evaluators.knowledge import default_path
    from mtagent.evaluators.search import open_search

    beside_the_store = data_folder / "knowledge.db" if data_folder else default_path()
    return open_search(search, knowledge or beside_the_store)
