"""RATE: a core agent that decides, round by round, whom to ask (RATE/MENT paper, §4, appendix B, figures 15 to 20).

It may have the translation evaluated, background knowledge searched for, the score compared with an anchor's, and must
finish with a score from 0 to 4. What is learnt about a source, knowledge and anchors, serves its later translations.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import mtagent
from mtagent import prompts
from mtagent.errors import FATAL, ConfigError, MtagentError, UnreadableReply
from mtagent.evaluators.rate_actions import read_turn
from mtagent.evaluators.rate_case import Agents, Case, Final, Memory
from mtagent.evaluators.rate_comparison import HIGHEST
from mtagent.evaluators.rate_replies import severity_at
from mtagent.evaluators.rate_tools import COMPARE, EVALUATE, FINISH, SEARCH, Action
from mtagent.llm.dialogue import AGAIN, Dialogue
from mtagent.llm.sampling import settings_of
from mtagent.protocols import LLM, Search
from mtagent.records import Completion, ErrorSpan, Message, Rating, Segment, Tool

FEWEST_ROUNDS = 2  # one to have the translation evaluated, one to finish
LAST_ROUND = "The next round is the last one, and only finish can be called in it."
Turn = tuple[Completion, tuple[Action, ...]]


class RATE:
    """At least three calls: core agent, evaluation, core agent. The score is 0 to 4; 4 is excellent.

    ``search`` is ``none``, ``local`` (the notes in ``knowledge``), ``searxng:URL`` or ``endpoint:URL``. In Python,
    as in the paper, the evaluation and the comparison can have a model of their own, ``judges``; and any
    :class:`mtagent.protocols.Search` can be the ``finder``.
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
    from mtagent.knowledge import default_path
    from mtagent.search import open_search

    beside_the_store = data_folder / "knowledge.db" if data_folder else default_path()
    return open_search(search, knowledge or beside_the_store)
