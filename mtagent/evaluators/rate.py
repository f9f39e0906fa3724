"""RATE: a core agent decides, round by round, which agent to ask (RATE/MENT paper, §4, appendix B, figures 15–20).

It may have the translation evaluated, background knowledge searched for, the score compared with an anchor's, and must
finish with a score from 0 to 4. What is learnt about a source, knowledge and anchors, serves its later translations.
Read :meth:`RATE._rate` for the story; then come the tools, the arithmetic of anchors, and the readers of the replies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mtagent.errors import FATAL, ConfigError, EvaluationError, MtagentError, UnreadableReply
from mtagent.evaluators.protocol import signed
from mtagent.evaluators.rate_replies import (
    COMPARE,
    EVALUATE,
    FINISH,
    HIGHEST,
    LOWEST,
    SEARCH,
    Action,
    Assessment,
    read_assessment,
    read_queries,
    read_score,
    read_summary,
    read_turn,
    read_winner,
    severity_at,
    text_of,
)
from mtagent.evaluators.search import Search, open_search
from mtagent.llm import prompts
from mtagent.llm.dialogue import AGAIN, Dialogue
from mtagent.llm.gathering import together
from mtagent.llm.prompts import Prompt
from mtagent.llm.protocol import LLM
from mtagent.llm.request import settings_of
from mtagent.records import Completion, ErrorSpan, Found, Message, Rating, Segment, Tool

LOW_ANCHOR, HIGH_ANCHOR = 1.0, 4.0
"""The scores of the two anchors that the core agent writes itself, while there are no others."""
FINDS = 5  # per query
LONGEST_FIND = 1_000  # characters of one find that the search agent reads
FEWEST_ROUNDS = 2  # one to have the translation evaluated, one to finish
LAST_ROUND = "The next round is the last one, and only finish can be called in it."

Outcome = Literal["win", "tie", "lose"]


class Anchor(NamedTuple):
    """A translation of the same source whose score is settled."""

    text: str
    score: float
    written: bool = False
    """Whether the core agent wrote it as an anchor."""


AGENTS = ("evaluate", "search", "summarise", "compare")
"""The agents that the core agent calls: their prompts are ``rate-NAME``."""


@dataclass
class Memory:
    """What is known about one source."""

    answers: dict[str, str] = field(default_factory=dict)
    """By search; ``""`` if nothing was found."""
    anchors: dict[int, Anchor] = field(default_factory=dict)
    """By score level."""

    def knowledge(self) -> str | None:
        """All answers, one line per search."""
        lines = [f"- {request}: {answer}" for request, answer in self.answers.items() if answer]
        return "\n".join(lines) or None

    def settle(self, translation: str, score: float) -> None:
        """Make ``translation`` the anchor of the level of its ``score``."""
        self.anchors[level(score)] = Anchor(translation, score)

    def former_scores(self) -> str | None:
        """The scores of the anchors that are former translations, from the lowest up."""
        scores = [anchor.score for anchor in self.anchors.values() if not anchor.written]
        return ", ".join(f"{score:g}" for score in sorted(scores)) or None


class Final(NamedTuple):
    """The score that a rating ends with, why, and the last evaluation."""

    score: float
    rationale: str
    assessment: Assessment


class RATE:
    """At least three calls: core agent, evaluation, core agent. The score is 0 to 4; 4 is excellent.

    ``search`` is ``none``, ``local`` (the notes in the files and folders ``knowledge``), ``searxng:URL`` or
    ``endpoint:URL``. In Python, as in the paper, the evaluation and the comparison can have a model of their own,
    ``judges``; and any :class:`mtagent.evaluators.search.Search` can be the ``finder``.
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
        knowledge: tuple[Path, ...] = (),
        prompts_folder: Path | None = None,
    ) -> None:
        if rounds < FEWEST_ROUNDS:
            raise ConfigError(f"evaluator rate: rounds={rounds} is too few, it takes at least {FEWEST_ROUNDS}")
        self._llm = llm
        self._judges = judges or llm
        self._rounds = rounds
        self.calls = (3, 3 * rounds - 2)  # the core agent in each round, and a tool of two calls in all but the last
        self._finder = finder or open_search(search, knowledge)
        self._tools: tuple[Tool, ...] = (EVALUATE, COMPARE, FINISH)
        if self._finder:
            self._tools = (EVALUATE, SEARCH, COMPARE, FINISH)
        self._core = prompts.load("rate-core", prompts_folder)
        self._agents = {name: prompts.load(f"rate-{name}", prompts_folder) for name in AGENTS}

    @property
    def signature(self) -> str:
        """The signature of a translation that is rated alone, with the notes as they are now."""
        return self._signed(1)

    def _signed(self, order: int) -> str:
        """The signature of the ``order``-th rating of a source, which depends on the ratings before it."""
        used_prompts: list[Prompt | str] = [self._core]
        for name in AGENTS:
            if self._finder or name in ("evaluate", "compare"):
                used_prompts.append(self._agents[name])
        judge_settings: list[str] = []
        if self._judges is not self._llm:
            used_prompts.insert(0, f"judges:{self._judges.model}")
            judge_settings = [f"judges-{setting}" for setting in settings_of(self._judges)]
        search = "none"
        if self._finder:
            search = getattr(self._finder, "signature", self._finder.name)
        return signed(
            self.name, self._llm, used_prompts, *judge_settings, rounds=self._rounds, search=search, order=order
        )

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate one translation, with nothing known about its source.

        Raises :class:`RatingParseError` if the core agent cannot be read twice in a row, and :class:`EvaluationError`
        if all rounds pass without an evaluation.
        """
        return await self._rate(segment, translation, Memory(), 1)

    async def rate_all(self, segment: Segment, translations: Sequence[str]) -> list[Rating | MtagentError]:
        """Rate translations of one source one after the other. Each uses the knowledge and anchors of the former ones.

        So the first is an anchor of the second: the gate puts the earlier text first.

        A translation that cannot be rated has the error in its place. Fatal errors are raised, with all calls so far.
        """
        memory = Memory()
        results: list[Rating | MtagentError] = []
        for order, translation in enumerate(translations, 1):
            try:
                results.append(await self._rate(segment, translation, memory, order))
            except FATAL as error:
                former_calls = [call for result in results for call in result.calls]
                error.calls = (*former_calls, *error.calls)
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
        severity = severity_at(final.score)
        errors: tuple[ErrorSpan, ...] | None
        errors = tuple(error.model_copy(update={"severity": severity}) for error in final.assessment.errors)
        if not errors and final.score < HIGHEST:
            errors = None  # the translation is flawed, and the errors are not known
        return Rating(
            evaluator=self.name,
            score=final.score,
            errors=errors,
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
        values: dict[str, str | None] = {"rounds": str(self._rounds), "search": "yes" if self._finder else None}
        messages = self._core.render(case.values(**values))
        for rounds_left in reversed(range(self._rounds)):
            offered = self._tools if rounds_left else (FINISH,)
            completion, actions = await _decide(core, messages, offered)
            # Some models repeat a call; only different calls are several.
            if rounds_left and any(action[:2] != actions[0][:2] for action in actions):
                # A score together with other calls would be given before their answers are read.
                offered = tuple(tool for tool in self._tools if tool is not FINISH)
            answers: list[str] = []
            for action in actions:
                answers.append(await case.carry_out(action, offered))
                if case.final is not None:
                    return case.final
            note = LAST_ROUND if rounds_left == 1 else ""
            messages = (*messages, *_answer_messages(completion, actions, answers, note))
        return None


async def _decide(
    core: Dialogue, messages: Sequence[Message], tools: Sequence[Tool]
) -> tuple[Completion, tuple[Action, ...]]:
    """The core agent's next tool calls. A reply without any is requested once more, with the reason."""
    for is_last in (False, True):
        completion = await core.send(messages, "rate-core", tools=tools)
        try:
            return completion, read_turn(completion)
        except UnreadableReply as error:
            core.mark_unreadable(completion, error)
            if is_last:
                raise
            again = Message(role="user", content=AGAIN.format(reason=error))
        messages = (*messages, Message(role="assistant", content=completion.text), again)
    raise AssertionError


def _answer_messages(
    completion: Completion, actions: Sequence[Action], answers: Sequence[str], note: str
) -> list[Message]:
    """The core agent's reply and the answers to it, in the form in which it called the tools; ``note`` comes last."""
    if not completion.tool_calls:
        reply = Message(role="assistant", content=completion.text)
        texts = [f"Answer of {action.tool}: {answer}" for action, answer in zip(actions, answers, strict=True)]
        if note:
            texts.append(note)
        return [reply, Message(role="user", content="\n\n".join(texts))]
    calls = tuple(action.as_call() for action in actions)
    texts = list(answers)
    if note:
        texts[-1] = f"{texts[-1]}\n\n{note}"
    messages = [Message(role="assistant", content=completion.text, tool_calls=calls)]
    for call, text in zip(calls, texts, strict=True):
        messages.append(Message(role="tool", content=text, tool_call_id=call.id))
    return messages


@dataclass
class Case:
    """One translation that the core agent has to score. The tools use this source and this translation, no others."""

    segment: Segment
    translation: str
    memory: Memory
    agents: Mapping[str, Prompt]
    core: Dialogue
    judges: Dialogue
    finder: Search | None
    assessment: Assessment | None = None
    """The last evaluation."""
    tentative: float | None = None
    """The score of the last evaluation or comparison."""
    final: Final | None = None
    compared: set[float] = field(default_factory=set)
    """The scores that were compared with an anchor."""
    warnings: list[str] = field(default_factory=list)

    def values(self, **texts: str | None) -> dict[str, str | None]:
        """The variables of the prompts: the segment's, and what the memory holds."""
        of_memory = {
            "knowledge": self.memory.knowledge(),
            "anchors": "yes" if self.memory.anchors else None,
            "former_scores": self.memory.former_scores(),
        }
        return prompts.segment_values(self.segment, translation=self.translation) | of_memory | texts

    async def carry_out(self, action: Action, offered: Sequence[Tool]) -> str:
        """The answer of a tool, or why it has none. Errors that concern every segment alike are raised."""
        tools = {"evaluate": self.evaluate, "search": self.search, "compare": self.compare, "finish": self.finish}
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
            failures = [warning for warning in self.warnings if warning.startswith("evaluate ")]
            if not failures:
                failures = self.warnings
            last = f" ({failures[-1]})" if failures else ""
            raise EvaluationError(f"rate: {why}, and there was no evaluation{last}")
        self.warnings.append(f"{why}: the score is that of the last evaluation or comparison")
        self.memory.settle(self.translation, self.tentative)
        return Final(self.tentative, self.assessment.rationale, self.assessment)

    async def evaluate(self, arguments: dict[str, Any]) -> str:
        """Have the evaluation agent assess the translation."""
        values = self.values(background=text_of(arguments, "notes"), focus=text_of(arguments, "instruction"))
        assessment = await self.judges.ask(
            self.agents["evaluate"], values, "rate-evaluate", lambda reply: read_assessment(reply, self.translation)
        )
        self.assessment = assessment
        self.tentative = assessment.score
        return _answer(
            score=assessment.score,
            confidence=assessment.confidence,
            rationale=assessment.rationale,
            errors=assessment.shown_errors,
            gaps=assessment.gaps,
        )

    async def search(self, arguments: dict[str, Any]) -> str:
        """Have the search agent make queries and sum up what they find. An earlier answer is used again."""
        request = " ".join((text_of(arguments, "query", required=True) or "").split())
        answer = None
        for earlier_request, earlier_answer in self.memory.answers.items():
            if earlier_request.casefold() == request.casefold():
                answer = earlier_answer
                break
        if answer is None:
            answer = await self._searched(request)
            self.memory.answers[request] = answer
        if not answer:
            return _answer(answer=None, note="nothing was found; ask differently, or go on without")
        return _answer(answer=answer)

    async def _searched(self, request: str) -> str:
        """What the search agent sums up; ``""`` if nothing is found.

        A query that fails is an error only if the others find nothing.
        """
        failures: list[Exception] = []

        async def find(query: str) -> list[Found]:
            assert self.finder is not None
            try:
                return await self.finder.find(query, limit=FINDS)
            except FATAL:
                raise
            except (MtagentError, OSError) as error:
                failures.append(error)
                return []

        values = self.values(request=request)
        queries = await self.core.ask(self.agents["search"], values, "rate-search", read_queries)
        pages: dict[Found, None] = {}  # in order, equal ones once
        for pages_of_query in await together(*map(find, queries)):
            pages |= dict.fromkeys(pages_of_query)
        if failures and not pages:
            raise failures[0]
        if not pages:
            return ""
        shown = [f"[{number}] {page.title}\n{page.text[:LONGEST_FIND]}" for number, page in enumerate(pages, 1)]
        values = self.values(request=request, results="\n\n".join(shown))
        return await self.core.ask(self.agents["summarise"], values, "rate-summarise", read_summary)

    async def compare(self, arguments: dict[str, Any]) -> str:
        """Have the translation compared with the anchor nearest to a tentative score, shown as A and as B."""
        tentative = read_score(arguments.get("tentative_score"))
        notes = text_of(arguments, "notes")
        if tentative in self.compared:
            raise UnreadableReply(f"{tentative:g} has been compared already: decide now, and call finish")
        low = text_of(arguments, "low_anchor")
        high = text_of(arguments, "high_anchor")
        if not self.memory.anchors and not (low and high):
            raise UnreadableReply(
                "there are no anchors yet: call compare again with low_anchor, a translation that deserves 1, "
                "and high_anchor, one that deserves 4"
            )
        for text, score in ((low, LOW_ANCHOR), (high, HIGH_ANCHOR)):
            if text:  # a translation that has taken the slot stays
                self.memory.anchors.setdefault(level(score), Anchor(text, score, written=True))
        anchor = closest(self.memory.anchors.values(), tentative)

        async def outcome_as(place: Literal["a", "b"]) -> Outcome:
            other_place = "b" if place == "a" else "a"
            texts = {f"translation_{place}": self.translation, f"translation_{other_place}": anchor.text}
            values = self.values(background=notes, **texts)
            winner = await self.judges.ask(self.agents["compare"], values, "rate-compare", read_winner)
            if winner == "tie":
                return "tie"
            return "win" if winner == place else "lose"

        outcomes = await together(outcome_as("a"), outcome_as("b"))
        advice, self.tentative = calibrate(tentative, anchor.score, (outcomes[0], outcomes[1]))
        self.compared.add(tentative)
        return _answer(
            anchor_score=anchor.score,
            outcomes=outcomes,
            advice=advice,
            suggested_score=self.tentative,
            note="there are anchors now; leave low_anchor and high_anchor out",
        )

    async def finish(self, arguments: dict[str, Any]) -> str:
        """Settle the score. The translation becomes the anchor of its level."""
        score = read_score(arguments.get("score"))
        rationale = text_of(arguments, "rationale", required=True)
        if self.assessment is None:
            raise UnreadableReply("nothing has been evaluated yet: call evaluate first")
        self.final = Final(score, rationale or "", self.assessment)
        self.memory.settle(self.translation, score)
        return _answer(score=score)


def _answer(**fields: Any) -> str:
    """A tool's answer as the core agent reads it."""
    return json.dumps(fields, ensure_ascii=False)


# Anchors

_STEPS = {("win", "win"): 1.0, ("tie", "win"): 0.5, ("lose", "tie"): -0.5, ("lose", "lose"): -1.0}
_ADVICE = {1.0: "upgrade", 0.5: "adjust", -0.5: "adjust", -1.0: "downgrade"}


def calibrate(tentative: float, anchor: float, outcomes: tuple[Outcome, Outcome]) -> tuple[str, float]:
    """What the outcomes in both orders advise for a ``tentative`` score, and the score that follows, 0 to 4."""
    step = _STEPS.get((min(outcomes), max(outcomes)), 0.0)
    suggested = min(HIGHEST, max(LOWEST, tentative + step))
    if (step > 0 and tentative > anchor) or (step < 0 and tentative < anchor):
        suggested = tentative  # the score is on that side of the anchor already
    advice = "confirm" if suggested == tentative else _ADVICE[step]
    return advice, suggested


def closest(anchors: Iterable[Anchor], score: float) -> Anchor:
    """The anchor whose score is nearest to ``score``.

    Of equally near ones a former translation goes before one that was written for the purpose, then the lower one.
    """
    return min(anchors, key=lambda anchor: (abs(anchor.score - score), anchor.written, anchor.score))


def level(score: float) -> int:
    """The anchor slot, 0 to 4, of a score: the nearest whole number, halves go up. The anchor keeps its exact score."""
    return math.floor(score + 0.5)
