"""Translate → Rerank → Postedit → Proofread for one segment. Start reading here.

:func:`improve` takes the steps of a :class:`Plan` one after the other. The translate stage holds what the translator
says against the source (:mod:`mtagent.chain.translation`), and so does the rerank stage with other systems' candidates,
of which the gate chooses one, or none. Each later stage proposes edits to the last accepted text:
the guards refuse those that damage it (:mod:`mtagent.chain.guards`), the gate decides on the rest
(:mod:`mtagent.chain.gate`), and the step says what became of every edit. Whatever fails, the segment keeps its last
accepted text.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mtagent.chain import guards, hints, parts, translation
from mtagent.chain.correct import Corrector, is_error_free
from mtagent.chain.gate import Gate, GateDecision, OpenGate, PanelGate, Threshold, asks_model, choose, refuse_open
from mtagent.chain.guards import Damage, listed, names
from mtagent.chain.proofread import Proofreader
from mtagent.errors import FATAL, ConfigError, OffScript, UnusableTranslation, calls_of
from mtagent.evaluators.protocol import Evaluator, checked_evaluator, counts_calls, signature_of, suggests_edits
from mtagent.evaluators.rating import rating_by
from mtagent.evaluators.rules import Rules
from mtagent.llm import prompts
from mtagent.llm.gathering import finished
from mtagent.llm.turns import turn
from mtagent.records import (
    Call,
    Cause,
    Chain,
    Edit,
    ErrorCause,
    GuardsCause,
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


@dataclass(frozen=True)
class Plan:
    """What to do with a segment, and with which parts.

    Each of ``proposers`` rates and proposes edits like ``evaluator``, and the gate chooses among the proposals.
    ``own_guards`` stand in place of those of the same name. ``published``: models see what the papers' requests show.
    """

    stages: tuple[Stage, ...]
    translator: Translator | None = None
    evaluator: Evaluator | None = None
    proofreader: Proofreader | None = None
    gate: Gate = field(default_factory=lambda: OpenGate("guards"))
    corrector: Corrector = field(default_factory=Corrector)
    skip_guards: frozenset[str] = frozenset()
    own_guards: Mapping[str, guards.Guard] | None = None
    stop_when_error_free: bool = True
    rules: Rules = field(default_factory=Rules)
    thresholds: tuple[Threshold, ...] = ()
    triage: Threshold | None = None
    gate_calls: int = 12
    proposers: tuple[Evaluator, ...] = ()
    published: bool = False

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
        """The guards over a whole translation that are left out. Without a gate only control characters count."""
        if self.gate.name != "none":
            return self.skip_guards
        return self.skip_guards | {"numbers"} | (translation.TRANSLATION_GUARDS.keys() - {"control"})

    @property
    def judges_doubts(self) -> bool:
        """Whether a judge that asks a model sees what may be damage. Elsewhere the guards refuse it.

        The papers' requests have no place for hints.
        """
        return asks_model(self.gate) and not self.published

    @property
    def raters(self) -> tuple[Evaluator, ...]:
        """Those whose word counts on whether a text is error-free."""
        raters = [threshold.evaluator for threshold in self.thresholds]
        if self.evaluator is not None:
            own = signature_of(self.evaluator)
            judges = self.gate.raters if isinstance(self.gate, PanelGate) else ()
            raters += [self.evaluator, *(judge for judge in judges if signature_of(judge) == own)]
        return tuple(raters)

    def threshold_of(self, evaluator: Evaluator) -> float | None:
        """From which score on a text is error-free, where that was calibrated for ``evaluator``."""
        return next((score for rater, score in self.thresholds if rater is evaluator), None)

    @property
    def signatures(self) -> dict[str, str]:
        """Who marks the errors and who judges, with all that their ratings depend on; nothing for who is not there."""
        evaluator = self.evaluator if "postedit" in self.stages else None
        who = {"postedit": evaluator, "judge": None if isinstance(self.gate, OpenGate) else self.gate}
        who |= {"triage": self.triage.evaluator if self.triage else None}
        return {role: signature_of(part) for role, part in who.items() if part is not None}


async def improve(
    segment: Segment,
    plan: Plan,
    *,
    within: float | None = None,
    on_step: Callable[[Segment, Step], object] = lambda segment, step: None,
    on_stop: Callable[[Chain], object] = lambda chain: None,
) -> Chain:
    """Run the stages of ``plan`` on ``segment``. Only errors that concern every segment are raised.

    The stage that is under way after so many seconds (``within``) fails, and none follows on it. ``on_step``
    hears of each step. ``on_stop`` hears how far the chain has come where such an error or a cancellation stops it
    after a step, or after a reply that was paid for: its last step is a failed one.
    """
    work = _Work(segment, plan)
    end = None if within is None else asyncio.get_running_loop().time() + within
    stages = [stage for stage in plan.stages if stage != "rerank" or any(segment.candidates)]
    if not segment.source.strip():  # white space is its own translation
        copied = work.step("translate", "kept", PlainCause(kind="blank"), text=segment.source)
        return Chain(segment=segment, steps=(copied,) if segment.translation is None else ())
    if segment.translation is None and "translate" not in plan.stages:
        first = (stages or plan.stages)[0]
        return Chain(segment=segment, steps=(work.step(first, "failed", PlainCause(kind="no-translation")),))
    take = {
        "translate": work.translate,
        "rerank": work.rerank,
        "rules": work.rules,
        "postedit": work.postedit,
        "proofread": work.proofread,
    }
    steps: list[Step] = []
    for stage in stages:
        if stage == "translate" and segment.translation is not None:
            continue
        began, clock = time.perf_counter(), asyncio.timeout_at(end)
        try:
            async with clock:
                await turn()
                step = await work.triage(stage) or await take[stage]()
        except OffScript:
            raise
        except (*FATAL, asyncio.CancelledError) as error:
            work.count(calls_of(error))
            if isinstance(error, FATAL) or _is_cancelled():
                if steps or any(call.usage.calls for call in work.calls):
                    why = None if isinstance(error, FATAL) else "stopped before it was done"
                    on_stop(Chain(segment=segment, steps=(*steps, work.failed(stage, error, why))))
                raise
            step = work.failed(stage, error, "what was waited for was cancelled")
        except Exception as error:
            for raised in (error, error.__cause__):  # a timeout's cause is the cancelled work
                work.count(() if raised is None else calls_of(raised))
            late = clock.expired() and isinstance(error, TimeoutError)
            logger.debug("segment %s: %s failed", segment.id, stage, exc_info=error)
            step = work.failed(stage, error, f"not done within {within:g} s" if late else None)
        if step is None:
            continue
        steps.append(step.model_copy(update={"seconds": time.perf_counter() - began}))
        on_step(segment, steps[-1])
        work.text, work.calls, work.ratings = step.text, [], ()
        if step.verdict == "failed" or (work.error_free and plan.stop_when_error_free):
            break
    return Chain(segment=segment, steps=tuple(steps))


def _is_cancelled() -> bool:
    """Whether this task is to end. A part of the user's raises the same where a task of its own was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class _Proposal(NamedTuple):
    """A text that a stage proposes, and what the guards leave of it.

    ``cause``: why no judge is asked about it. ``rating``: the editor's that it follows from.
    """

    proposed: str
    text: str
    edits: Sequence[Edit] = ()
    cause: Cause | None = None
    rating: Rating | None = None


class _Work:
    """A segment on its way through the chain: its last accepted text, and the ratings and calls so far."""

    def __init__(self, segment: Segment, plan: Plan) -> None:
        self.segment, self.plan = segment, plan
        # What the models see; the guards read the whole segment.
        self.for_translator = self.for_proofreader = self.for_raters = segment
        if plan.published:
            self.for_translator = prompts.published(segment, prompts.PUBLISHED_IN_TRANSLATE)
            self.for_proofreader = prompts.published(segment, prompts.PUBLISHED_IN_PROOFREAD)
            self.for_raters = prompts.published(segment)
        self.text = segment.translation or ""
        self.error_free = False
        self.calls: list[Call] = []
        self.ratings: tuple[Rating, ...] = ()  # of triage: the step has them before its own
        self._triaged: Rating | None = None
        self._hints: tuple[str, ...] = ()
        self._judged = self.for_raters  # as judges that ask a model are shown it: with the hints in its notes
        # by evaluator, text, draw (0: a judge's), and the notes that were shown: ratings with other hints differ
        self._ratings: dict[tuple[int, str, int, str | None], Rating] = {}

    def count(self, calls: Iterable[Call]) -> None:
        """Note calls of the step; those that were noted with their rating count once."""
        known = set(map(id, self.calls))
        self.calls += [call for call in calls if id(call) not in known]

    def step(
        self, stage: Stage, verdict: Verdict, cause: Cause, ratings: tuple[Rating, ...] = (), **fields: Any
    ) -> Step:
        """A step with the calls so far. The text stays, unless ``fields`` hold another."""
        fields = {"text": self.text, "calls": tuple(self.calls), "ratings": (*self.ratings, *ratings), **fields}
        return Step(stage=stage, verdict=verdict, cause=cause, **fields)

    def failed(self, stage: Stage, error: BaseException, detail: str | None) -> Step:
        """The step in which ``error`` was raised; ``detail`` in place of its message."""
        return self.step(stage, "failed", ErrorCause.of(error, detail)).raised(error)

    async def triage(self, stage: Stage) -> Step | None:
        """The step that leaves the text alone, if it was rated so high before the first stage that would edit it."""
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
        """Have the source translated. What is no translation is asked for once more, and then fails the step."""
        translator = self.plan.translator
        assert translator is not None
        try:
            text = await self._draft(translator)
        except UnusableTranslation as error:
            if isinstance(translator, LLMTranslator):
                raise  # it has asked once more itself, for the paragraph in question
            self.calls += error.calls
            text = await self._draft(translator, again=True)
        lost = (*self._refusals(self.segment, text), *self._lost_numbers(self.segment, text))
        cause = TranslatedCause(by=translator.name, guards=names(lost), detail=listed(lost))
        return self.step("translate", "kept", cause, text=text)

    async def _draft(self, translator: Translator, again: bool = False) -> str:
        """What ``translator`` makes of the source. Raises :class:`UnusableTranslation` for what is no translation."""
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
        if not isinstance(translator, LLMTranslator) and (damages := self._refusals(self.segment, text, again)):
            raise UnusableTranslation(f"{name}: {listed(damages)}")
        return text

    def _refusals(self, segment: Segment, text: str, again: bool = False) -> tuple[Damage, ...]:
        """What the guards have against ``text`` as a translation of ``segment``.

        A text that was asked for ``again`` may lack what a later stage can restore.
        """
        restorable = again and not {"postedit", "proofread"}.isdisjoint(self.plan.stages)
        skip = self.plan.skip_translation_guards | (translation.RESTORABLE if restorable else frozenset())
        return translation.refusals(segment, text, skip=skip)

    def _lost_numbers(self, segment: Segment, text: str) -> tuple[Damage, ...]:
        return translation.lost_numbers(segment, text, skip=self.plan.skip_translation_guards)

    async def rerank(self) -> Step:
        """Have the gate choose among the candidates and the text as it is."""
        refuse_open(self.plan.gate)
        return await self._settle("rerank", [self._candidate(text) for text in self.segment.candidates])

    def _candidate(self, text: str) -> _Proposal:
        """A candidate, held against the source by the guards over translations, and by that of the terms."""
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

        The step says what was found besides; there is none where nothing was.
        """
        rating = await self._rate(self.plan.rules, self.text, "editor")
        if not rating.errors:
            return None
        changes = edits.locate(self.text, rating.errors)
        best = self._screened(edits.apply(self.text, changes), changes, doubts=True)
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

        Of several proposers each that finds errors makes a proposal; equal ones are one.
        """
        evaluator = self.plan.evaluator
        assert evaluator is not None
        proposers = (evaluator, *self.plan.proposers)
        ratings = await finished(
            *(self._rate(proposer, self.text, "editor", draw) for draw, proposer in enumerate(proposers, start=1))
        )
        threshold = self.plan.threshold_of(evaluator)
        work = [
            (rating, proposer)
            for rating, proposer in zip(ratings, proposers, strict=True)
            if not is_error_free(rating, proposer, threshold)
        ]
        self.error_free = not work
        if self.error_free:
            return self.step("postedit", "unchanged", PlainCause(kind="error-free"), ratings=tuple(ratings))
        proposals, heard = dict[str, _Proposal](), list[tuple[object, ...]]()
        for rating, proposer in work:
            if (said := (rating.errors, rating.correction, rating.explanation)) in heard:
                continue
            heard.append(said)
            proposal = await self.plan.corrector.propose(
                self.for_raters,
                self.text,
                rating,
                suggests=suggests_edits(proposer),
                skip_guards=self.plan.skip_translation_guards,
            )
            self.calls += proposal.calls
            if proposal.text not in proposals:
                proposals[proposal.text] = self._screened(proposal.text, proposal.edits)._replace(rating=rating)
        return await self._settle("postedit", list(proposals.values()), tuple(ratings))

    async def proofread(self) -> Step:
        """Have the text reworded; the edits are what became different."""
        assert self.plan.proofreader is not None
        draft = await self.plan.proofreader.draft(
            self.for_proofreader, self.text, skip_guards=self.plan.skip_translation_guards
        )
        self.calls += draft.calls
        changes = edits.between(self.text, draft.text, self.segment.target_lang)
        return await self._settle("proofread", [self._screened(draft.text, changes)])

    def _screened(self, proposed: str, changes: Sequence[Edit], *, doubts: bool = False) -> _Proposal:
        """What the guards leave of the ``changes`` that turn the text into ``proposed``.

        ``doubts``: they refuse what may be damage even if the gate asks a model, since no judge will see it.
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
        texts = [proposal.text for proposal in proposals if proposal.cause is None]
        if self.plan.judges_doubts:
            self._judged, self._hints = hints.shown(self.segment, self.text, texts)
        best = proposals[0]
        if stage == "rerank" or len(proposals) > 1:
            best, decision = await self._choose(proposals)
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
            rejected = {"outcome": "rejected", "detail": cause.sentence}
            changes = [edit.model_copy(update=rejected) if edit.outcome == "applied" else edit for edit in changes]
        return self.step(
            stage,
            verdict,
            cause,
            text=best.text if verdict == "kept" else self.text,
            proposed=best.proposed,
            edits=tuple(changes),
            ratings=ratings + decision.ratings,
        )

    async def _choose(self, proposals: Sequence[_Proposal]) -> tuple[_Proposal, GateDecision]:
        """The best of several ``proposals``, and the decision on it, which holds what was said of all of them."""
        texts = list(dict.fromkeys(proposal.text for proposal in proposals if proposal.cause is None))
        if not texts:
            refused = [
                proposal for proposal in proposals if proposal.cause and proposal.cause.kind in ("guards", "lines")
            ]
            best = (refused or proposals)[0]
            assert best.cause is not None
            causes = tuple(proposal.cause for proposal in proposals if proposal.cause)
            return best, GateDecision(False, best.cause.model_copy(update={"candidates": causes}))
        failures = list[Exception]()

        async def decide(before: str, after: str) -> GateDecision:
            try:
                return await self._decide(before, after)
            except (*FATAL, OffScript):
                raise
            except Exception as error:  # noqa: BLE001 as in improve; the others may still be chosen
                self.count(calls_of(error))
                failures.append(error)
                return GateDecision(False, ErrorCause.of(error))

        choice = await choose(self.plan.gate, self.text, texts, decide)
        if failures and choice.kept is None:  # one that could not be judged might have been kept: to be tried again
            raise failures[0]
        numbers = [next(i for i, p in enumerate(proposals, 1) if p.text == text and not p.cause) for text in texts]
        said = dict[str, Cause]()
        ratings: list[Rating] = []
        for place, (text, decision) in enumerate(zip(texts, choice.decisions, strict=True)):
            against = choice.against[place]
            said[text] = decision.cause.model_copy(update={"against": None if against is None else numbers[against]})
            for rating in decision.ratings:
                # of the text before, or of a candidate so far
                has_been = choice.against[place] is not None or any(known.role == "before" for known in ratings)
                is_known = rating.role == "before" and has_been
                if not is_known or rating.calls:
                    role = "try" if is_known or (rating.role == "after" and place != choice.best) else rating.role
                    ratings.append(rating.model_copy(update={"role": role}))
        best = proposals[numbers[choice.best] - 1]
        cause = said[best.text].model_copy(
            update={
                "candidates": tuple(proposal.cause or said[proposal.text] for proposal in proposals),
                "chosen": None if choice.kept is None else numbers[choice.kept],
            }
        )
        return best, GateDecision(choice.kept is not None, cause, tuple(ratings))

    def _screen(
        self, proposed: str, changes: Sequence[Edit], doubts: bool
    ) -> tuple[Sequence[Edit], str, tuple[Damage, ...]]:
        """What the guards leave of ``changes``. Edits without a place (the paper's) stand or fall together."""
        skip, instead = self.plan.skip_guards, self.plan.own_guards
        if all(edit.start is not None for edit in changes if edit.outcome == "applied"):
            return guards.screen(self.segment, self.text, changes, skip=skip, instead=instead, doubts=doubts)
        damages = guards.damages(self.segment, self.text, proposed, skip=skip, instead=instead, doubts=doubts)
        if not damages:
            return changes, proposed, ()
        refused = {"outcome": "refused", "guards": names(damages), "detail": f"the whole text: {listed(damages)}"}
        changes = [edit.model_copy(update=refused) if edit.outcome == "applied" else edit for edit in changes]
        return changes, self.text, damages

    async def _decide(self, before: str, after: str) -> GateDecision:
        """The gate's decision on the two texts, with its calls counted."""
        decision = await self.plan.gate.decide(self._judged, before, after, self._rate)
        self.count(call for rating in decision.ratings for call in rating.calls)
        self.count(decision.calls)
        return decision

    async def _in_parts(
        self, rejected: GateDecision, text: str, changes: Sequence[Edit]
    ) -> tuple[GateDecision, str, Sequence[Edit]]:
        """The decision, the text and the edits, after the edits of a ``rejected`` text were tried in parts."""
        skip, instead = self.plan.skip_guards, self.plan.own_guards
        applied = [edit for edit in changes if edit.outcome == "applied"]
        if any(edit.start is None for edit in applied):
            return rejected, text, changes
        doubts = not self.plan.judges_doubts
        groups = guards.inseparable(self.segment, self.text, applied, skip=skip, instead=instead, doubts=doubts)

        async def decide(numbers: Sequence[int]) -> GateDecision:
            part = edits.apply(self.text, [edit for number in numbers for edit in groups[number]])
            if part == self.text:
                return GateDecision(False, PlainCause(kind="no-edit"))
            # All parts are judged under the hints of the whole text. A doubt that is new in a part is in none of them.
            unseen = doubts or not set(hints.hints(self.segment, self.text, part)) <= set(self._hints)
            damages = guards.damages(self.segment, self.text, part, skip=skip, instead=instead, doubts=unseen)
            if damages:
                return GateDecision(False, GuardsCause(guards=names(damages), detail=listed(damages)))
            return await self._decide(self.text, part)

        found = await parts.keep_in_parts(
            len(groups),
            rejected,
            decide,
            calls=self.plan.gate_calls,
            suspected=parts.suspected(text, groups, rejected.ratings),
        )
        if not found.tries:
            return rejected, text, changes
        details = dict[int, str]()
        for number, (decision, tried) in found.left_out.items():
            others = sum(len(groups[other]) for other in tried) - 1
            beside = f"with {counted(others, 'other edit')}: " if others else ""
            details |= {id(edit): beside + decision.cause.sentence for edit in groups[number]}
        changes = [
            edit.model_copy(update={"outcome": "rejected", "detail": details[id(edit)]})
            if id(edit) in details
            else edit
            for edit in changes
        ]
        kept = [edit for number in found.kept for edit in groups[number]]
        final = found.decision or rejected
        cause = final.cause.model_copy(update={"edits_kept": len(kept), "edits_tried": len(applied)})
        ratings = parts.ratings_of_all((rejected, *found.tries), final)
        return final._replace(cause=cause, ratings=ratings), edits.apply(self.text, kept), changes

    async def _rate(self, evaluator: Evaluator, text: str, role: RatingRole, draw: int = 1) -> Rating:
        """The rating of ``text``, asked for once per segment and evaluator; the first to ask has its calls.

        What was rated to edit by it, in one or several draws, is rated afresh for the gate, also by the same evaluator,
        and so is what the gate rated under other hints.
        """
        is_judge = role not in ("triage", "editor")
        if getattr(evaluator, "calls", None) == (0, 0):  # such as the rules, which read the terms
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
        """Whether the post-editor's evaluator, a judge that rates like it, or one with a calibrated threshold has
        rated ``text`` by now, and found it error-free.
        """
        for evaluator in self.plan.raters:
            threshold = self.plan.threshold_of(evaluator)
            for (rater, rated_text, draw, _), rating in self._ratings.items():
                is_of_text = rater == id(evaluator) and rated_text == text and draw in (0, 1)
                if is_of_text and is_error_free(rating, evaluator, threshold):
                    return True
        return False


def _adds_lines(before: str, after: str, source: str = "") -> bool:
    """Whether one line became several: that would shift all lines after it in a line-aligned file.

    A text of such a file may hold any line break but ``\\n``, and keep it or take it from the ``source``; each one more
    is a line more to some reader.
    """
    old, new = line_breaks(before), line_breaks(after)
    allowed = Counter(found for found in line_breaks(source) if found != "\n")
    return "\n" not in old and bool(Counter(new) - Counter(old) - allowed)
