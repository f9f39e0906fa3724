"""Translate → Postedit → Proofread for one segment. Start reading here.

A translation is held against its source; one that is none is asked for once more, and then fails. So does a text that
a later stage makes of it. Each later stage proposes edits to the last accepted text: the guards refuse what damages it,
the gate decides on the rest, and the step says what became of every edit. Whatever fails, the segment keeps its last
accepted text.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mtagent.chain import guards, translation
from mtagent.chain.calibration import Threshold
from mtagent.chain.correct import Corrector, is_error_free
from mtagent.chain.gate import Gate, OpenGate
from mtagent.chain.guards import Damage, listed, names
from mtagent.chain.proofread import Proofreader
from mtagent.errors import FATAL, ConfigError, OffScript, UnusableTranslation, calls_of
from mtagent.evaluators.protocol import Evaluator, checked_evaluator, rating_by, signature_of, suggests_edits
from mtagent.records import Call, Cause, Chain, Edit, Rating, RatingRole, Segment, Stage, Step, Verdict
from mtagent.text import edits
from mtagent.translators.llm import LLMTranslator
from mtagent.translators.protocol import Translator, checked


@dataclass(frozen=True)
class Plan:
    """What to do with a segment, and with which parts."""

    stages: tuple[Stage, ...]
    translator: Translator | None = None
    evaluator: Evaluator | None = None
    proofreader: Proofreader | None = None
    gate: Gate = field(default_factory=lambda: OpenGate("guards"))
    corrector: Corrector = field(default_factory=Corrector)
    skip_guards: frozenset[str] = frozenset()
    stop_when_error_free: bool = True
    thresholds: tuple[Threshold, ...] = ()

    def __post_init__(self) -> None:
        needs = {"translate": self.translator, "postedit": self.evaluator, "proofread": self.proofreader}
        if not self.stages:
            raise ConfigError("there is no stage to run: name at least one, as in tpp, tp or pe")
        for stage in self.stages:
            if needs[stage] is None:
                raise ConfigError(f"the stage {stage} has nothing to work with: set OPENAI_API_KEY, or give --base-url")
        if self.evaluator is not None:
            checked_evaluator(self.evaluator)
        if self.corrector.strategy == "paper" and self.gate.name != "none":
            raise ConfigError(
                "the paper's Algorithm 1 makes edits that no guard or gate can take apart: use --gate none"
            )

    @property
    def skip_translation_guards(self) -> frozenset[str]:
        """The guards over a whole translation that are left out. Without a gate only control characters count."""
        only_form = translation.TRANSLATION_GUARDS.keys() - {"control"} if self.gate.name == "none" else frozenset()
        return self.skip_guards | only_form

    @property
    def signatures(self) -> dict[str, str]:
        """Who marks the errors and who judges, with all that their ratings depend on; nothing for who is not there."""
        evaluator = self.evaluator if "postedit" in self.stages else None
        parts = {"postedit": evaluator, "judge": None if isinstance(self.gate, OpenGate) else self.gate}
        return {role: signature_of(part) for role, part in parts.items() if part is not None}


async def improve(segment: Segment, plan: Plan) -> Chain:
    """Run the stages of ``plan`` on ``segment``. Only errors that concern every segment are raised."""
    work = _Work(segment, plan)
    if not segment.source.strip():
        return work.blank()
    if segment.translation is None and "translate" not in plan.stages:
        return work.without_translation()
    for stage in plan.stages:
        if stage == "translate" and segment.translation is not None:
            continue
        step = await work.attempt(stage)
        if step.verdict == "failed" or (work.error_free and plan.stop_when_error_free):
            break
    return Chain(segment=segment, steps=tuple(work.steps))


class _Work:
    """A segment on its way through the chain."""

    def __init__(self, segment: Segment, plan: Plan) -> None:
        self.segment, self.plan = segment, plan
        self.text = segment.translation or ""
        self.steps: list[Step] = []
        self.error_free = False
        self._calls: list[Call] = []
        self._ratings: dict[tuple[int, str], Rating] = {}

    def blank(self) -> Chain:
        """The chain of a source without words: the translation stays, or is the same white space."""
        if self.segment.translation is not None:
            return Chain(segment=self.segment)
        step = self._step("translate", "kept", Cause(kind="blank"), text=self.segment.source)
        return Chain(segment=self.segment, steps=(step,))

    def without_translation(self) -> Chain:
        """The chain of a segment that nothing can be done for."""
        step = self._step(self.plan.stages[0], "failed", Cause(kind="no-translation"))
        return Chain(segment=self.segment, steps=(step,))

    async def attempt(self, stage: Stage) -> Step:
        """Take one step; an error becomes a failed step that keeps the text."""
        stages: dict[Stage, Callable[[], Awaitable[Step]]] = {
            "translate": self._translate,
            "postedit": self._postedit,
            "proofread": self._proofread,
        }
        began, self._calls = time.perf_counter(), []
        try:
            step = await stages[stage]()
        except (*FATAL, OffScript):
            raise
        except Exception as error:  # noqa: BLE001 a third party's part may raise anything; it must not stop the others
            self._calls += calls_of(error)
            step = self._step(stage, "failed", Cause(kind="error", error=type(error).__name__, detail=str(error)))
        step = step.model_copy(update={"seconds": time.perf_counter() - began})
        self.steps.append(step)
        self.text = step.text
        return step

    async def _translate(self) -> Step:
        assert self.plan.translator is not None
        try:
            text = await self._drafted(self.plan.translator)
        except UnusableTranslation as error:
            if isinstance(self.plan.translator, LLMTranslator):
                raise  # it has asked again itself, saying why
            self._calls += error.calls
            text = await self._drafted(self.plan.translator, again=True)
        lost = self._refusals(self.segment, text)
        cause = Cause(kind="translated", by=self.plan.translator.name, guards=names(lost), detail=listed(lost) or None)
        return self._step("translate", "kept", cause, text=text)

    async def _drafted(self, translator: Translator, again: bool = False) -> str:
        """What ``translator`` makes of the source. Raises :class:`UnusableTranslation` for what is no translation."""
        asks_again = isinstance(translator, LLMTranslator)
        more: dict[str, Any] = {"why_unusable": self._why_unusable} if asks_again else {}
        draft = await translator.draft(self.segment, **more)
        self._calls += draft.calls
        text, name = checked(draft.text, translator.name), translator.name
        if "\n" not in self.segment.source:
            text = text.strip("\r\n")
        if not _same_lines(self.segment.source, text):
            raise UnusableTranslation(f"{name} made several lines of one")
        if not asks_again and (reason := self._why_unusable(self.segment, text, again)):
            raise UnusableTranslation(f"{name}: {reason}")
        return text

    def _why_unusable(self, segment: Segment, text: str, again: bool = False) -> str | None:
        return listed(self._refusals(segment, text, again)) or None

    def _refusals(self, segment: Segment, text: str, again: bool = False) -> tuple[Damage, ...]:
        """What the guards have against ``text`` as a translation of ``segment``. Without a gate only form counts.

        Where it was asked for ``again``, what is lost may be restored by the stages that follow, if any do.
        """
        restorable = again and self.plan.stages[-1] != "translate"
        skip = self.plan.skip_translation_guards | (translation.RESTORABLE if restorable else frozenset())
        return translation.refusals(segment, text, skip=skip)

    async def _postedit(self) -> Step:
        assert self.plan.evaluator is not None
        evaluator = self.plan.evaluator
        rating = await self._rate(evaluator, self.text, "editor")
        self.error_free = self._is_error_free(evaluator, self.text)
        if self.error_free:
            return self._step("postedit", "unchanged", Cause(kind="error-free"), ratings=(rating,))
        proposal = await self.plan.corrector.propose(
            self.segment,
            self.text,
            rating,
            suggests=suggests_edits(evaluator),
            skip_guards=self.plan.skip_translation_guards,
        )
        self._calls += proposal.calls
        return await self._settle("postedit", proposal.edits, proposal.text, (rating,))

    async def _proofread(self) -> Step:
        assert self.plan.proofreader is not None
        draft = await self.plan.proofreader.draft(
            self.segment, self.text, skip_guards=self.plan.skip_translation_guards
        )
        self._calls += draft.calls
        return await self._settle("proofread", edits.between(self.text, draft.text), draft.text, ())

    async def _settle(
        self, stage: Stage, proposed_edits: tuple[Edit, ...], proposed: str, ratings: tuple[Rating, ...]
    ) -> Step:
        """Let the guards and the gate decide on the edits that turn the text into ``proposed``."""
        fields: dict[str, Any] = {"edits": proposed_edits, "ratings": ratings, "proposed": proposed}
        text = proposed
        if text != self.text and self.plan.gate.name != "none":
            kept, text, damages = guards.screen(
                self.segment, self.text, proposed_edits, edits.apply, skip=self.plan.skip_guards
            )
            fields["edits"] = tuple(kept)
            if text == self.text:
                cause = Cause(kind="guards", guards=names(damages), detail=listed(damages))
                return self._step(stage, "rejected", cause, **fields)
        if not _same_lines(self.text, text):
            fields["edits"] = tuple(_rejected(edit, "several lines of one") for edit in fields["edits"])
            return self._step(stage, "rejected", Cause(kind="lines"), **fields)
        if text == self.text:
            return self._step(stage, "unchanged", _why_unchanged(proposed_edits), **fields)
        decision = await self.plan.gate.decide(self.segment, self.text, text, self._rate)
        self._calls += decision.calls
        fields["ratings"] = ratings + decision.ratings
        if decision.keep:
            self.error_free = self._known_error_free(text)
            return self._step(stage, "kept", decision.cause, text=text, **fields)
        fields["edits"] = tuple(_rejected(edit, decision.cause.sentence) for edit in fields["edits"])
        return self._step(stage, "rejected", decision.cause, **fields)

    def _known_error_free(self, text: str) -> bool:
        """Whether the gate had ``text`` rated by one who may say so, the editor's evaluator above all, and that was
        error-free.
        """
        raters = [self.plan.evaluator, *(one.evaluator for one in self.plan.thresholds)]
        return any(self._is_error_free(rater, text) for rater in raters if rater is not None)

    def _is_error_free(self, evaluator: Evaluator, text: str) -> bool:
        """Whether ``evaluator`` has rated ``text``, and found it error-free."""
        rating = self._ratings.get((id(evaluator), text))
        threshold = next((one.score for one in self.plan.thresholds if one.evaluator is evaluator), None)
        return rating is not None and is_error_free(rating, evaluator, threshold)

    async def _rate(self, evaluator: Evaluator, text: str, role: RatingRole) -> Rating:
        """The rating of ``text``, asked for once per segment and evaluator; the first to ask has its calls."""
        key = (id(evaluator), text)
        if key in self._ratings:
            return self._ratings[key].model_copy(update={"role": role, "calls": ()})
        rating = await rating_by(evaluator, self.segment, text)
        self._ratings[key] = rating
        self._calls += rating.calls
        return rating.model_copy(update={"role": role})

    def _step(self, stage: Stage, verdict: Verdict, cause: Cause, text: str | None = None, **fields: Any) -> Step:
        text = self.text if text is None else text
        return Step(stage=stage, text=text, verdict=verdict, cause=cause, calls=tuple(self._calls), **fields)


def _same_lines(before: str, after: str) -> bool:
    """Whether a text of one line stayed one: a second line would shift all that follow in a line-aligned file."""
    return "\n" in before or not ("\n" in after or (after.endswith("\r") and not before.endswith("\r")))


def _why_unchanged(proposed: Sequence[Edit]) -> Cause:
    if not proposed:
        return Cause(kind="no-edit")
    outcomes = ", ".join(sorted({f"{edit.outcome} {edit.old!r}" for edit in proposed}))
    return Cause(kind="unplaced", detail=outcomes)


def _rejected(edit: Edit, reason: str) -> Edit:
    return edit.model_copy(update={"outcome": "rejected", "detail": reason}) if edit.outcome == "applied" else edit
