"""Translate → Rerank → Postedit → Proofread for one segment. Start reading here.

:func:`improve` takes the steps of a :class:`Plan` one after the other. The translate stage compares the translator's
text with the source (:mod:`mtagent.chain.translation`). The rerank stage does the same with other systems' candidates;
the gate chooses one of them, or none. Each later stage proposes edits to the last accepted text: the guards refuse
edits that damage it (:mod:`mtagent.chain.guards`), the gate decides on the rest (:mod:`mtagent.chain.gate`), and the
step records what became of every edit. Whatever fails, the segment keeps its last accepted text.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar, get_args

from mtagent.chain import guards, hints, parts, translation
from mtagent.chain.correct import Corrector, is_error_free
from mtagent.chain.gate import (
    Gate,
    GateDecision,
    OpenGate,
    PanelGate,
    Threshold,
    asks_model,
    choose,
    decides_by_gain,
    refuse_open,
)
from mtagent.chain.guards import Damage, listed, names
from mtagent.chain.proofread import Proofreader
from mtagent.chain.shipped import ShippedPanel
from mtagent.errors import FATAL, ConfigError, NotAnswered, OffScript, UnusableTranslation, calls_of
from mtagent.evaluators.protocol import (
    Evaluator,
    asks_no_model,
    checked_evaluator,
    counts_calls,
    signature_of,
    suggests_edits,
)
from mtagent.evaluators.rating import rating_by
from mtagent.evaluators.rules import Rules
from mtagent.llm import prompts
from mtagent.llm.events import STEP, Observer, StepInWork, VerdictEvent
from mtagent.llm.gathering import aside, finished, turn
from mtagent.records import (
    Call,
    Cause,
    Chain,
    Edit,
    ErrorCause,
    GuardsCause,
    MemoryCause,
    MemoryMatch,
    NotedCause,
    PlainCause,
    Rating,
    RatingRole,
    Segment,
    Stage,
    Step,
    TranslatedCause,
    TriageCause,
    Verdict,
    judgements_of,
)
from mtagent.text import edits
from mtagent.text.amounts import counted
from mtagent.text.paragraphs import line_breaks
from mtagent.translators.llm import LLMTranslator
from mtagent.translators.protocol import Translator, checked

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

SHORTLIST, MANY = 2, 4
"""Of this many candidates or more, a gate that only compares sees so few: those that agree most with all texts."""


@dataclass(frozen=True)
class Plan:
    """What to do with a segment, and with which parts."""

    stages: tuple[Stage, ...]
    translator: Translator | None = None
    evaluator: Evaluator | None = None
    """Marks the errors that post-editing corrects."""
    proofreader: Proofreader | None = None
    gate: Gate = field(default_factory=lambda: OpenGate("guards"))
    gates: Mapping[Stage, Gate] = field(default_factory=dict)
    """Gates that decide on the edits of single stages instead of ``gate``."""
    candidate_gates: Mapping[int, Gate] = field(default_factory=dict)
    """Gates that decide on single candidates in the stage rerank, by the candidate's number from 1."""
    unlabelled: ShippedPanel | None = None
    """The judges of ``gate`` if their weights are shipped: a run settles a gate for each stage from its own edits."""
    corrector: Corrector = field(default_factory=Corrector)
    skip_guards: frozenset[str] = frozenset()
    own_guards: Mapping[str, guards.Guard] | None = None
    """A user's guards, which replace the built-in ones of the same name."""
    stop_when_error_free: bool = True
    rules: Rules = field(default_factory=Rules)
    thresholds: tuple[Threshold, ...] = ()
    """Calibrated scores from which a text is error-free."""
    triage: Threshold | None = None
    """Texts with this score or more aren't edited."""
    gate_calls: int = 12
    """The most calls for trying the edits of a rejected text in parts."""
    proposers: tuple[Evaluator, ...] = ()
    """Rate and propose edits like ``evaluator``; the gate chooses among the proposals."""
    published: bool = False
    """Whether models see what the papers' requests show."""
    observer: Observer | None = None
    """Receives the verdict on each step."""

    def __post_init__(self) -> None:
        needs = {
            "translate": self.translator,
            "rerank": self.gate,
            "rules": self.rules,
            "postedit": self.evaluator,
            "proofread": self.proofreader,
        }
        if not self.stages:
            raise ConfigError("there is no stage to run: name at least one, as in tpp, tp or pe")
        for stage in self.stages:
            if needs[stage] is None:
                raise ConfigError(f"the stage {stage} has nothing to work with: set OPENAI_API_KEY or base_url")
        if self.evaluator is not None:
            checked_evaluator(self.evaluator)
        if self.proposers:
            refuse_open(self.gate)
        if self.triage is not None:
            checked_evaluator(self.triage.evaluator)
            if self.stages == ("translate",):
                raise ConfigError("triage has nothing to decide: no stage comes after translate")

    @property
    def skip_translation_guards(self) -> frozenset[str]:
        """The guards over a whole translation that are left out."""
        return translation.skipped_guards(self.skip_guards, self.gate.name)

    @property
    def judges_doubts(self) -> bool:
        """Whether a judge that calls a model sees what may be damage. Elsewhere the guards refuse it.

        The papers' requests have no place for hints.
        """
        return asks_model(self.gate) and not self.published

    @property
    def raters(self) -> tuple[Evaluator, ...]:
        """The evaluators that decide whether a text is error-free."""
        raters = [threshold.evaluator for threshold in self.thresholds]
        if self.evaluator is None:
            return tuple(raters)
        raters.append(self.evaluator)
        if isinstance(self.gate, PanelGate):
            signature = signature_of(self.evaluator)
            for judge in self.gate.raters:
                if signature_of(judge) == signature:
                    raters.append(judge)
        return tuple(raters)

    def gate_of(self, stage: Stage) -> Gate:
        """The gate for the edits of ``stage``.

        It calls all judges if it chooses among several texts, and if a judge's rating can spare the text a later stage.
        """
        gate = self.gates.get(stage, self.gate)
        if not isinstance(gate, PanelGate) or gate.gain is None:
            return gate
        chooses = stage == "rerank" or (stage == "postedit" and self.proposers)
        is_last = stage == self.stages[-1]
        if chooses or (self.stop_when_error_free and not is_last and self._models_find_error_free(gate)):
            return gate.with_gain(gate.gain, ask_all=True)
        return gate

    def _models_find_error_free(self, gate: PanelGate) -> bool:
        """Whether a model among the judges of ``gate`` decides whether a text is error-free."""
        return any(counts_calls(rater) and rater in gate.raters for rater in self.raters)

    def threshold_of(self, evaluator: Evaluator) -> float | None:
        """The score from which a text is error-free, if it was calibrated for ``evaluator``."""
        for rater, score in self.thresholds:
            if rater is evaluator:
                return score
        return None

    @property
    def signatures(self) -> dict[str, str]:
        """The signatures of the evaluator that marks errors (``postedit``), the gate (``judge``) and ``triage``."""
        signatures = {}
        if self.evaluator is not None and "postedit" in self.stages:
            signatures["postedit"] = signature_of(self.evaluator)
        if not isinstance(self.gate, OpenGate):
            signatures["judge"] = signature_of(self.gate)
        if self.triage is not None:
            signatures["triage"] = signature_of(self.triage.evaluator)
        return signatures


async def improve(
    segment: Segment,
    plan: Plan,
    *,
    within: float | None = None,
    only: Collection[Stage] | None = None,
    on_step: Callable[[Segment, Step], object] = lambda segment, step: None,
    on_stop: Callable[[Chain], object] = lambda chain: None,
) -> Chain:
    """Run the stages of ``plan`` on ``segment``. Only errors that concern every segment are raised.

    The stage that is running after ``within`` seconds fails, and no stage follows it; a text that the MT system has
    returned by then is kept, although the guards have not looked at it. With ``only``, other stages of the plan are
    left out. ``on_step`` is called with each step, and awaited if it is async. ``on_stop`` is called with the
    unfinished chain if such an error or a cancellation stops it after a step, or after a reply that was paid for. Its
    last step has failed, unless ``on_step`` was running.
    """
    work = _SegmentWork(segment, plan, within)
    stages = [stage for stage in plan.stages if _applies(stage, segment, only)]
    if not segment.source.strip():  # white space is its own translation
        if segment.translation is not None:
            return Chain(segment=segment, steps=())
        copied = work.step("translate", "kept", PlainCause(kind="blank"), text=segment.source)
        return Chain(segment=segment, steps=(copied,))
    if segment.translation is None and "translate" not in plan.stages:
        if from_memory(segment, None, skip=plan.skip_translation_guards) is None:
            first = (stages or plan.stages)[0]
            return Chain(segment=segment, steps=(work.step(first, "failed", PlainCause(kind="no-translation")),))
        stages = ["translate", *stages]  # which takes the memory's text
    steps: list[Step] = []
    for stage in stages:
        began = time.perf_counter()
        STEP.set(StepInWork(segment.id, stage))
        try:
            step = await work.attempt(stage)
        except (*FATAL, asyncio.CancelledError) as error:
            work.count(calls_of(error))
            why = None if isinstance(error, FATAL) else "stopped before it was done"
            step = work.failed(stage, error, why).model_copy(update={"seconds": time.perf_counter() - began})
            if steps or step.usage.calls:
                on_stop(Chain(segment=segment, steps=(*steps, step)))
            if plan.observer is not None and not isinstance(error, NotAnswered):
                plan.observer(VerdictEvent.of(segment, step, stopped=True))
            raise
        if step is None:
            continue
        steps.append(step.model_copy(update={"seconds": time.perf_counter() - began}))
        result = on_step(segment, steps[-1])
        if inspect.isawaitable(result):
            with _on_cancel(lambda: on_stop(Chain(segment=segment, steps=tuple(steps)))):  # its steps are paid for
                await result
        if plan.observer is not None:
            plan.observer(VerdictEvent.of(segment, steps[-1]))
        work.text, work.calls, work.ratings = step.text, [], ()
        if step.verdict == "failed" or (work.error_free and plan.stop_when_error_free):
            break
    return Chain(segment=segment, steps=tuple(steps))


def _applies(stage: Stage, segment: Segment, only: Collection[Stage] | None) -> bool:
    """Whether ``stage`` has something to do with ``segment``, and is among the ``only`` ones."""
    if only is not None and stage not in only:
        return False
    if stage == "rerank":
        return any(segment.candidates)
    return stage != "translate" or segment.translation is None


@contextmanager
def _on_cancel(tell: Callable[[], object]) -> Iterator[None]:
    """Call ``tell`` if the block is cancelled."""
    try:
        yield
    except asyncio.CancelledError:
        tell()
        raise


def with_rules_step(chain: Chain, stages: Collection[str]) -> Chain:
    """``chain`` with a step of ``rules`` where that stage of ``stages`` looked at the text and found nothing.

    All other stages leave a step on each text that they look at. A chain without this one would be counted as one on
    which ``rules`` did not run.
    """
    if "rules" not in stages or not chain.segment.source.strip():
        return chain
    order = get_args(Stage)
    earlier = [step for step in chain.steps if order.index(step.stage) < order.index("rules")]
    later = chain.steps[len(earlier) :]
    is_stored = any(step.stage == "rules" for step in later)
    has_failed = any(step.verdict == "failed" for step in earlier)
    text = earlier[-1].text if earlier else chain.segment.translation
    # The stage that has no text to work on is stored as failed, and rules is the first that would have had it.
    if is_stored or has_failed or text is None:
        return chain
    rules = Step(stage="rules", text=text, verdict="unchanged", cause=PlainCause(kind="error-free"))
    return chain.model_copy(update={"steps": (*earlier, rules, *later)})


def _is_cancelled() -> bool:
    """Whether this task must end. A user's part raises the same error if one of its own tasks was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class _Proposal(NamedTuple):
    """A text that a stage proposes, and what the guards leave of it."""

    proposed: str
    text: str
    """The text without the edits that the guards refused."""
    edits: Sequence[Edit] = ()
    cause: Cause | None = None
    """Why no judge is asked about it."""
    rating: Rating | None = None
    """The editor's rating that it follows from."""


def _texts_to_judge(proposals: Iterable[_Proposal]) -> list[str]:
    """The texts of the ``proposals`` on which nothing decides before the judges, each once."""
    texts: dict[str, None] = {}
    for proposal in proposals:
        if proposal.cause is None:
            texts[proposal.text] = None
    return list(texts)


class _SegmentWork:
    """A segment on its way through the chain: its last accepted text, and the ratings and calls so far."""

    def __init__(self, segment: Segment, plan: Plan, within: float | None) -> None:
        self.segment = segment
        self.plan = plan
        self.within = within
        self._end = None if within is None else asyncio.get_running_loop().time() + within
        self._has_begun = False
        self.gate = plan.gate  # that of the stage
        # What the models see; the guards read the whole segment.
        self.for_translator = self.for_proofreader = self.for_raters = segment
        if plan.published:
            self.for_translator = prompts.published(segment, prompts.PUBLISHED_IN_TRANSLATE)
            self.for_proofreader = prompts.published(segment, prompts.PUBLISHED_IN_PROOFREAD)
            self.for_raters = prompts.published(segment)
        self.text = segment.translation or ""
        self.unchecked = ""  # what the MT system returned, while the guards look at it
        self.error_free = False
        self.calls: list[Call] = []
        self.ratings: tuple[Rating, ...] = ()  # of triage: they come first in the step's ratings
        self._triaged: Rating | None = None
        self._hints: tuple[str, ...] = ()
        # What judges that call a model see: the hints are in its notes, and similar texts are for wording only.
        self._judged = _without_matches(self.for_raters)
        # By evaluator, text, draw (0: a judge's), and the notes that were shown: ratings with other hints differ.
        self._ratings: dict[tuple[int, str, int, str | None], Rating] = {}

    async def attempt(self, stage: Stage) -> Step | None:
        """The step of ``stage``; a failed one after an error that concerns this segment alone. Others are raised."""
        clock = asyncio.timeout_at(self._end)
        try:
            async with clock:
                await turn(has_begun=self._has_begun)
                self._has_begun = True
                return await self.take(stage)
        except (*FATAL, OffScript):
            raise
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            self.count(calls_of(error))
            return self.failed(stage, error, "the work it waited for was cancelled")
        except Exception as error:
            self.count(calls_of(error))
            if error.__cause__ is not None:  # a timeout's cause is the cancelled work
                self.count(calls_of(error.__cause__))
            logger.debug("segment %s: %s failed", self.segment.id, stage, exc_info=error)
            if not (clock.expired() and isinstance(error, TimeoutError)):
                return self.failed(stage, error, None)
            late = self.failed(stage, error, f"not done within {self.within:g} s")
            if self.unchecked:
                return late.model_copy(update={"text": self.unchecked}).raised(error)
            return late

    async def take(self, stage: Stage) -> Step | None:
        """The step of ``stage``; ``None`` if it leaves none."""
        self.gate = self.plan.gate_of(stage)
        if self.segment.matches:
            remembered = await self._aside(self.remember, stage)
            if remembered is not None:
                return remembered
        triaged = await self.triage(stage)
        if triaged is not None:
            return triaged
        steps = {
            "translate": self.translate,
            "rerank": self.rerank,
            "rules": self.rules,
            "postedit": self.postedit,
            "proofread": self.proofread,
        }
        return await steps[stage]()

    def count(self, calls: Iterable[Call]) -> None:
        """Add calls to the step. A call that was added with its rating counts once."""
        counted_calls = set(map(id, self.calls))
        self.calls += [call for call in calls if id(call) not in counted_calls]

    def step(
        self, stage: Stage, verdict: Verdict, cause: Cause, ratings: tuple[Rating, ...] = (), **fields: Any
    ) -> Step:
        """A step with the calls so far. The text stays, unless ``fields`` hold another."""
        fields = {"text": self.text, "calls": tuple(self.calls), "ratings": (*self.ratings, *ratings), **fields}
        return Step(stage=stage, verdict=verdict, cause=cause, **fields)

    def failed(self, stage: Stage, error: BaseException, detail: str | None) -> Step:
        """The step in which ``error`` was raised; ``detail`` replaces its message."""
        return self.step(stage, "failed", ErrorCause.of(error, detail)).raised(error)

    def remember(self, stage: Stage) -> Step | None:
        """The step that takes the text of :func:`from_memory`, or leaves the text alone if it is one."""
        text = None if stage == "translate" else self.text
        match = from_memory(self.segment, text, skip=self.plan.skip_translation_guards)
        if match is None:
            return None
        verdict: Verdict = "kept" if text is None else "unchanged"
        return self.step(stage, verdict, MemoryCause(origin=match.origin), text=match.target)

    async def triage(self, stage: Stage) -> Step | None:
        """The step that skips the text, if triage rated it high enough before the first stage that would edit it."""
        if self.plan.triage is None or stage == "translate" or not self.text.strip():
            return None
        evaluator, threshold = self.plan.triage
        if self._triaged is None:
            self._triaged = await self._rate(evaluator, self.text, "triage")
            self.ratings = (self._triaged,)
        elif self._triaged.score >= threshold:
            self.ratings = (self._triaged.model_copy(update={"calls": ()}),)
        if self._triaged.score < threshold:
            return None
        score = self._triaged.score
        cause = TriageCause(by=evaluator.name, score=score, threshold=threshold)
        return self.step(stage, "unchanged", cause)

    async def translate(self) -> Step:
        """Have the source translated. An unusable text is requested once more, and then fails the step."""
        translator = self.plan.translator
        assert translator is not None
        try:
            text = await self._draft(translator)
        except UnusableTranslation as error:
            if isinstance(translator, LLMTranslator):
                raise  # it has asked once more itself, for the paragraph in question
            self.calls += error.calls
            text = await self._draft(translator, again=True)
        lost = await self._aside(self._losses, text)
        cause = TranslatedCause(by=translator.name, guards=names(lost), detail=listed(lost))
        return self.step("translate", "kept", cause, text=text)

    async def _draft(self, translator: Translator, again: bool = False) -> str:
        """What ``translator`` makes of the source. Raises :class:`UnusableTranslation` if it isn't a translation."""
        name, source = translator.name, self.segment.source
        if isinstance(translator, LLMTranslator):
            draft = await translator.draft(
                self.for_translator,
                why_unusable=lambda *attempt: listed(self._refusals(*attempt)),
                why_incomplete=lambda *attempt: tuple(map(str, self._lost_numbers(*attempt))),
            )
        else:
            draft = await translator.draft(self.segment)
        self.calls += draft.calls
        text = checked(draft.text, name)
        if "\n" not in source:
            text = text.strip("\r\n")
        if _adds_lines(source, text):
            raise UnusableTranslation(f"{name} made several lines of one")
        if isinstance(translator, LLMTranslator):
            return text  # it has checked its text itself
        self.unchecked = "" if again else text
        damages = await self._aside(self._refusals, self.segment, text, again)
        self.unchecked = ""
        if damages:
            raise UnusableTranslation(f"{name}: {listed(damages)}")
        return text

    def _refusals(self, segment: Segment, text: str, again: bool = False) -> tuple[Damage, ...]:
        """The damages that the guards find in ``text`` as a translation of ``segment``.

        A text that was asked for ``again`` may lack what a later stage can restore.
        """
        restorable = again and not {"postedit", "proofread"}.isdisjoint(self.plan.stages)
        skip = self.plan.skip_translation_guards | (translation.RESTORABLE if restorable else frozenset())
        return translation.refusals(segment, text, skip=skip)

    def _losses(self, text: str) -> tuple[Damage, ...]:
        """What a translation of the source that is good enough lost."""
        return (*self._refusals(self.segment, text), *self._lost_numbers(self.segment, text))

    def _lost_numbers(self, segment: Segment, text: str) -> tuple[Damage, ...]:
        return translation.lost_numbers(segment, text, skip=self.plan.skip_translation_guards)

    async def rerank(self) -> Step:
        """Have the gate choose among the candidates and the text as it is."""
        refuse_open(self.plan.gate)
        proposals = [await self._aside(self._candidate, text) for text in self.segment.candidates]
        if self.plan.unlabelled is None and not decides_by_gain(self.gate):
            proposals = self._shortlisted(proposals)
        return await self._settle("rerank", proposals)

    def _shortlisted(self, proposals: Sequence[_Proposal]) -> list[_Proposal]:
        """The ``proposals``, of which judges see only a few if there are many: those that agree most with all texts.

        Each comparison costs calls, and is one more chance for a judge's mistake.
        """
        texts = _texts_to_judge(proposals)
        if len(texts) < MANY:
            return list(proposals)
        shortlist = most_agreeing(self.segment, texts, self.text)[:SHORTLIST]
        shortlisted = []
        for proposal in proposals:
            if proposal.cause is None and proposal.text not in shortlist:
                proposal = proposal._replace(cause=PlainCause(kind="unasked"))
            shortlisted.append(proposal)
        return shortlisted

    def _candidate(self, text: str) -> _Proposal:
        """A candidate, compared with the source by the guards for whole translations and the guard for terms."""
        cause: Cause | None = None
        if not text.strip():
            cause = PlainCause(kind="missing")
        elif text == self.text:
            cause = PlainCause(kind="no-edit")
        elif _adds_lines(self.text, text, self.segment.source):
            cause = PlainCause(kind="lines")
        else:
            only_terms = self.plan.skip_guards | (guards.GUARDS.keys() - {"terms"})
            damages = self._refusals(self.segment, text)
            damages += guards.damages(self.segment, self.text, text, skip=only_terms)
            if damages:
                cause = GuardsCause(guards=names(damages), detail=listed(damages))
        changes = [] if cause else edits.between(self.text, text, self.segment.target_lang)
        return _Proposal(text, text, changes, cause)

    async def rules(self) -> Step | None:
        """Correct what the rules are sure of. The guards decide alone: no judge is asked about what is certain.

        The step also names errors that were found and not corrected. It is ``None`` if nothing was found.
        """
        rating = await self._rate(self.plan.rules, self.text, "editor")
        if not rating.errors:
            return None
        changes = edits.locate(self.text, rating.errors)
        best = await self._aside(self._screened, edits.apply(self.text, changes), changes, True)
        cause = best.cause or GuardsCause()
        verdict: Verdict = "rejected" if cause.kind in ("guards", "lines") else "unchanged"
        if best.cause is None:
            verdict = "kept"
        elif not changes:
            why = (error.explanation or error.category for error in rating.errors)
            cause = NotedCause(kind="found", detail="; ".join(dict.fromkeys(why)))
        text = best.text if verdict == "kept" else self.text
        fields = {"text": text, "proposed": best.proposed, "edits": tuple(best.edits)}
        return self.step("rules", verdict, cause, ratings=(rating,), **fields)

    async def postedit(self) -> Step:
        """Have the text rated, and correct what is marked. No error means no edit.

        Each proposer that finds errors makes a proposal; equal proposals are one.
        """
        evaluator = self.plan.evaluator
        assert evaluator is not None
        proposers = (evaluator, *self.plan.proposers)
        work = [self._rate(proposer, self.text, "editor", draw) for draw, proposer in enumerate(proposers, start=1)]
        ratings = await finished(*work)
        threshold = self.plan.threshold_of(evaluator)
        with_errors = []
        for rating, proposer in zip(ratings, proposers, strict=True):
            if not is_error_free(rating, proposer, threshold):
                with_errors.append((rating, proposer))
        self.error_free = not with_errors
        if self.error_free:
            return self.step("postedit", "unchanged", PlainCause(kind="error-free"), ratings=tuple(ratings))
        proposals: dict[str, _Proposal] = {}
        seen: list[tuple[object, ...]] = []
        for rating, proposer in with_errors:
            content = (rating.errors, rating.correction, rating.explanation)
            if content in seen:
                continue
            seen.append(content)
            proposal = await self.plan.corrector.propose(
                self.for_raters,
                self.text,
                rating,
                suggests=suggests_edits(proposer),
                skip_guards=self.plan.skip_translation_guards,
            )
            self.calls += proposal.calls
            if proposal.text not in proposals:
                screened = await self._aside(self._screened, proposal.text, proposal.edits)
                proposals[proposal.text] = screened._replace(rating=rating)
        return await self._settle("postedit", list(proposals.values()), tuple(ratings))

    async def proofread(self) -> Step:
        """Have the text reworded; the edits are the differences."""
        assert self.plan.proofreader is not None
        draft = await self.plan.proofreader.draft(
            self.for_proofreader, self.text, skip_guards=self.plan.skip_translation_guards
        )
        self.calls += draft.calls
        changes = await self._aside(edits.between, self.text, draft.text, self.segment.target_lang)
        return await self._settle("proofread", [await self._aside(self._screened, draft.text, changes)])

    async def _aside(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """The result of ``work``, which is done in a thread if the segment is large."""
        return await aside(len(self.segment.source) + len(self.text), work, *arguments)

    def _screened(self, proposed: str, changes: Sequence[Edit], doubts: bool = False) -> _Proposal:
        """What the guards leave of the ``changes`` that turn the text into ``proposed``.

        ``doubts``: they also refuse what may be damage, even if the gate calls a model, because no judge will see it.
        """
        text = proposed
        cause: Cause | None = None
        damages: tuple[Damage, ...] = ()
        if proposed != self.text and self.plan.gate.name != "none":
            changes, text, damages = self._screen(proposed, changes, doubts or not self.plan.judges_doubts)
        if text == self.text and damages:
            cause = GuardsCause(guards=names(damages), detail=listed(damages))
        elif text == self.text and changes:
            outcomes = sorted({f"{edit.outcome} {edit.old!r}" for edit in changes})
            cause = NotedCause(kind="unplaced", detail=", ".join(outcomes))
        elif text == self.text:
            cause = PlainCause(kind="no-edit")
        elif _adds_lines(self.text, text, self.segment.source):
            cause = PlainCause(kind="lines")
        return _Proposal(proposed, text, changes, cause)

    async def _settle(self, stage: Stage, proposals: Sequence[_Proposal], ratings: tuple[Rating, ...] = ()) -> Step:
        """Let the gate decide on a proposal that the guards let pass, or choose among several."""
        if self.plan.judges_doubts:
            unasked = await self._aside(self._show_hints, proposals)
            if unasked and stage != "rerank":
                proposals = [await self._aside(self._with_asked_doubts, proposal, unasked) for proposal in proposals]
                await self._aside(self._show_hints, proposals)
        best = proposals[0]
        if stage == "rerank" or len(proposals) > 1:
            best, decision = await self._choose(stage, proposals)
        elif best.cause is not None:
            decision = GateDecision(False, best.cause)
        else:
            decision = await self._decide(self.text, best.text)
            if not decision.keep and self.plan.gate_calls and parts.may_hold_a_bad_edit(decision):
                decision, text, changes = await self._in_parts(decision, best.text, best.edits)
                best = best._replace(text=text, edits=changes)
        cause, changes = decision.cause, best.edits
        if judgements_of(cause) or cause.candidates:
            cause = cause.model_copy(update={"hints": self._hints})
        ratings = tuple(sorted(ratings, key=lambda rating: rating is not best.rating))
        verdict: Verdict = "kept" if decision.keep else "rejected"
        if cause.kind in ("no-edit", "unplaced", "missing"):
            verdict = "unchanged"
        if verdict == "kept":
            self.error_free = self._is_error_free(best.text)
        if verdict == "rejected" and not cause.edits_tried:
            changes = _without_applied(changes, {"outcome": "rejected", "detail": cause.sentence})
        return self.step(
            stage,
            verdict,
            cause,
            text=best.text if verdict == "kept" else self.text,
            proposed=best.proposed,
            edits=tuple(changes),
            ratings=ratings + decision.ratings,
        )

    def _show_hints(self, proposals: Sequence[_Proposal]) -> frozenset[str]:
        """Prepare the segment as judges are shown it while they compare the ``proposals``. Returns the texts with a
        doubt that they are not asked about.
        """
        texts = [proposal.text for proposal in proposals if proposal.cause is None]
        skip = self.plan.skip_guards
        shown = hints.shown(self.segment, self.text, texts, skip=skip, instead=self.plan.own_guards)
        self._judged, self._hints = _without_matches(shown.segment), shown.hints
        return shown.unasked

    def _doubts_are_asked(self, text: str) -> bool:
        """Whether the hints that the judges are shown ask about each doubt that the guards have about ``text``."""
        skip, instead = self.plan.skip_guards, self.plan.own_guards
        doubts = guards.uncertain_damages(self.segment, self.text, text, skip=skip, instead=instead)
        return hints.are_asked(self.segment, self.text, text, doubts, self._hints)

    def _with_asked_doubts(self, proposal: _Proposal, unasked: Collection[str]) -> _Proposal:
        """The ``proposal``; without its doubtful edits if its text is among the ``unasked``."""
        if proposal.cause is not None or proposal.text not in unasked:
            return proposal
        screened = self._screened(proposal.proposed, proposal.edits, True)
        return screened._replace(rating=proposal.rating)

    async def _choose(self, stage: Stage, proposals: Sequence[_Proposal]) -> tuple[_Proposal, GateDecision]:
        """The best of several ``proposals``, and the decision on it, with the causes for all of them."""
        texts = _texts_to_judge(proposals)
        if not texts:
            best = proposals[0]
            for proposal in proposals:
                if proposal.cause and proposal.cause.kind in ("guards", "lines"):
                    best = proposal
                    break
            assert best.cause is not None
            causes = tuple(proposal.cause for proposal in proposals if proposal.cause)
            return best, GateDecision(False, best.cause.model_copy(update={"candidates": causes}))
        failures: list[Exception] = []
        number_of: dict[str, int] = {}  # the first proposal with each text, from 1
        for number, proposal in enumerate(proposals, 1):
            if proposal.cause is None:
                number_of.setdefault(proposal.text, number)

        async def decide(before: str, after: str) -> GateDecision:
            gate = self.gate
            if stage == "rerank":
                gate = self.plan.candidate_gates.get(number_of[after], gate)
            try:
                return await self._decide(before, after, gate)
            except (*FATAL, OffScript):
                raise
            except Exception as error:  # noqa: BLE001 as in improve; the others may still be chosen
                self.count(calls_of(error))
                failures.append(error)
                return GateDecision(False, ErrorCause.of(error))

        choice = await choose(self.gate, self.text, texts, decide)
        # A text that could not be judged might have been kept: the step fails, and is tried again.
        if failures and choice.kept is None:
            raise failures[0]
        numbers = [number_of[text] for text in texts]
        cause_of: dict[str, Cause] = {}
        ratings: list[Rating] = []
        for place, (text, decision) in enumerate(zip(texts, choice.decisions, strict=True)):
            against = choice.against[place]
            compared_with = None if against is None else numbers[against]
            cause_of[text] = decision.cause.model_copy(update={"against": compared_with})
            for rating in decision.ratings:
                # The text before has one rating; a candidate that is challenged was rated as a challenger.
                has_been = against is not None or any(earlier.role == "before" for earlier in ratings)
                is_repeated = rating.role == "before" and has_been
                if is_repeated and not rating.calls:
                    continue
                role = rating.role
                if is_repeated or (role == "after" and place != choice.best):
                    role = "try"
                ratings.append(rating.model_copy(update={"role": role}))
        best = proposals[numbers[choice.best] - 1]
        causes = tuple(proposal.cause or cause_of[proposal.text] for proposal in proposals)
        chosen = None if choice.kept is None else numbers[choice.kept]
        cause = cause_of[best.text].model_copy(update={"candidates": causes, "chosen": chosen})
        return best, GateDecision(choice.kept is not None, cause, tuple(ratings))

    def _screen(
        self, proposed: str, changes: Sequence[Edit], doubts: bool
    ) -> tuple[Sequence[Edit], str, tuple[Damage, ...]]:
        """What the guards leave of ``changes``. Edits without a place (the paper's) are kept or refused together."""
        skip = self.plan.skip_guards
        instead = self.plan.own_guards
        if all(edit.start is not None for edit in _applied(changes)):
            return guards.screen(self.segment, self.text, changes, skip=skip, instead=instead, doubts=doubts)
        damages = guards.damages(self.segment, self.text, proposed, skip=skip, instead=instead, doubts=doubts)
        if not damages:
            return changes, proposed, ()
        refused = {"outcome": "refused", "guards": names(damages), "detail": f"the whole text: {listed(damages)}"}
        return _without_applied(changes, refused), self.text, damages

    async def _decide(self, before: str, after: str, gate: Gate | None = None) -> GateDecision:
        """The decision on the two texts of ``gate``, by default of the stage's, with its calls counted."""
        decision = await (gate or self.gate).decide(self._judged, before, after, self._rate)
        self.count(call for rating in decision.ratings for call in rating.calls)
        self.count(decision.calls)
        return decision

    async def _in_parts(
        self, rejected: GateDecision, text: str, changes: Sequence[Edit]
    ) -> tuple[GateDecision, str, Sequence[Edit]]:
        """The decision, the text and the edits, after the edits of a ``rejected`` text were tried in parts."""
        skip = self.plan.skip_guards
        instead = self.plan.own_guards
        applied = _applied(changes)
        if any(edit.start is None for edit in applied):
            return rejected, text, changes
        doubts = not self.plan.judges_doubts
        inseparable = partial(guards.inseparable, skip=skip, instead=instead, doubts=doubts)
        groups = await self._aside(inseparable, self.segment, self.text, applied)

        def edits_of(numbers: Iterable[int]) -> list[Edit]:
            return [edit for number in numbers for edit in groups[number]]

        def damages_of(part: str) -> tuple[Damage, ...]:
            # All parts are judged with the hints of the whole text. No judge sees a doubt that is new in a part.
            unseen = doubts or not self._doubts_are_asked(part)
            return guards.damages(self.segment, self.text, part, skip=skip, instead=instead, doubts=unseen)

        async def decide(numbers: Sequence[int]) -> GateDecision:
            part = edits.apply(self.text, edits_of(numbers))
            if part == self.text:
                return GateDecision(False, PlainCause(kind="no-edit"))
            damages = await self._aside(damages_of, part)
            if damages:
                return GateDecision(False, GuardsCause(guards=names(damages), detail=listed(damages)))
            return await self._decide(self.text, part)

        result = await parts.keep_in_parts(
            len(groups),
            rejected,
            decide,
            calls=self.plan.gate_calls,
            suspected=parts.suspected(text, groups, rejected.ratings),
        )
        if not result.tries:
            return rejected, text, changes
        details: dict[int, str] = {}  # by the id of an edit that is left out
        for number, (decision, tried) in result.left_out.items():
            others = sum(len(groups[other]) for other in tried) - 1
            beside = f"with {counted(others, 'other edit')}: " if others else ""
            for edit in groups[number]:
                details[id(edit)] = beside + decision.cause.sentence
        changes_after: list[Edit] = []
        for edit in changes:
            if id(edit) in details:
                edit = edit.model_copy(update={"outcome": "rejected", "detail": details[id(edit)]})
            changes_after.append(edit)
        kept = edits_of(result.kept)
        final = result.decision or rejected
        cause = final.cause.model_copy(update={"edits_kept": len(kept), "edits_tried": len(applied)})
        ratings = parts.ratings_of_all((rejected, *result.tries), final)
        return final._replace(cause=cause, ratings=ratings), edits.apply(self.text, kept), changes_after

    async def _rate(self, evaluator: Evaluator, text: str, role: RatingRole, draw: int = 1) -> Rating:
        """The rating of ``text``, asked for once per segment and evaluator; the first to ask has its calls.

        The gate never gets a rating that edits were made from, nor one with other hints: the text is rated again.
        """
        is_judge = role not in ("triage", "editor")
        if asks_no_model(evaluator):  # such an evaluator sees all terms
            segment = self.segment
        elif is_judge and counts_calls(evaluator):
            segment = self._judged
        else:
            segment = self.for_raters
        key = (id(evaluator), text, 0 if is_judge else draw, segment.notes)
        if key in self._ratings:
            return self._ratings[key].model_copy(update={"role": role, "calls": ()})
        rating = await rating_by(evaluator, segment, text, with_neighbours=not self.plan.published)
        self._ratings[key] = rating
        self.calls += rating.calls
        return rating.model_copy(update={"role": role})

    def _is_error_free(self, text: str) -> bool:
        """Whether one of the plan's ``raters`` has rated ``text``, and found it error-free."""
        for evaluator in self.plan.raters:
            threshold = self.plan.threshold_of(evaluator)
            for (rater, rated_text, draw, _), rating in self._ratings.items():
                is_of_text = rater == id(evaluator) and rated_text == text and draw in (0, 1)
                if is_of_text and is_error_free(rating, evaluator, threshold):
                    return True
        return False


def _without_matches(segment: Segment) -> Segment:
    return segment.model_copy(update={"matches": ()}) if segment.matches else segment


def from_memory(segment: Segment, text: str | None, *, skip: Collection[str]) -> MemoryMatch | None:
    """The approved translation of the same source that ``text`` is; without a text, the one to take.

    None is taken if there are several, or if the guards refuse it, for example because it is too long. ``skip`` is what
    :func:`mtagent.chain.translation.skipped_guards` returns for the run.
    """
    approved = {match.target: match for match in segment.matches if match.exact}
    if text is not None:
        return approved.get(text)
    if len(approved) != 1:
        return None
    [match] = approved.values()
    is_refused = _adds_lines(segment.source, match.target) or translation.refusals(segment, match.target, skip=skip)
    return None if is_refused else match


def most_agreeing(segment: Segment, texts: Sequence[str], text: str) -> list[str]:
    """``texts``, those with the highest mean chrF against the others and ``text`` first.

    That is minimum-Bayes-risk decoding with chrF as the utility (Kumar and Byrne 2004).
    """
    from mtagent.metrics.overlap import chrf

    references = [*texts, text]
    rows, hypotheses = list[Segment](), list[str]()
    for place, hypothesis in enumerate(texts):
        for other_place, reference in enumerate(references):
            if place != other_place:
                rows.append(segment.model_copy(update={"reference": reference}))
                hypotheses.append(hypothesis)
    scores = chrf(segment.target_lang).score(rows, hypotheses).segments
    each = len(texts)
    utilities = [math.fsum(scores[each * place : each * (place + 1)]) for place in range(len(texts))]
    order = sorted(range(len(texts)), key=lambda place: -utilities[place])
    return [texts[place] for place in order]


def _applied(changes: Sequence[Edit]) -> list[Edit]:
    return [edit for edit in changes if edit.outcome == "applied"]


def _without_applied(changes: Sequence[Edit], fields: Mapping[str, Any]) -> list[Edit]:
    """``changes``, where those that were applied get ``fields``."""
    changed = []
    for edit in changes:
        if edit.outcome == "applied":
            edit = edit.model_copy(update=fields)
        changed.append(edit)
    return changed


def _adds_lines(before: str, after: str, source: str = "") -> bool:
    """Whether one line became several: that would shift all lines after it in a line-aligned file.

    A line of such a file may contain other line breaks than ``\\n``. A text may keep them, or take them from the
    ``source``; each further one would be a new line to some readers.
    """
    new = line_breaks(after)
    if not new:
        return False
    old = line_breaks(before)
    if "\n" in old:
        return False
    allowed = Counter(line_breaks(source))
    del allowed["\n"]
    return bool(Counter(new) - Counter(old) - allowed)
