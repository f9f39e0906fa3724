"""What the chain may keep: a gate looks at the text before and after a step and decides. Ties keep the earlier text.

``none`` keeps everything, damage included; ``guards`` keeps what the guards let pass. The others ask a panel of judges,
all at once: each either scores both texts or compares them in both orders. By default all must agree; a calibrated
panel (``gain``) predicts from their answers the gain that people would see, and keeps what promises one.

Both texts are rated afresh and alike. The rating that caused an edit is never the gate's: only texts that were rated
badly get edited, so that a second rating of the same text is better by chance alone.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from mtagent.chain.calibration import Calibration, ExpectedGain, read
from mtagent.errors import ConfigError
from mtagent.evaluators.pairwise import Pairwise
from mtagent.evaluators.protocol import Evaluator, RatesTogether, checked_evaluator, counts_calls, signature_of
from mtagent.evaluators.rating import checked_rating, ratings_by, with_absent_spans_noted
from mtagent.llm.gathering import CallsOf, answered, together, unfailed
from mtagent.llm.protocol import LLM
from mtagent.records import (
    GAIN_DIGITS,
    Call,
    Cause,
    DecidedCause,
    GainCause,
    GuardsCause,
    Judgement,
    PlainCause,
    Rating,
    RatingRole,
    Segment,
    comparable,
    same_rater,
)

Rate = Callable[[Evaluator, str, RatingRole], Awaitable[Rating]]
"""The chain's way to a judge's rating of a text, asked for once in a segment."""
Answer = TypeVar("Answer")


class GateDecision(NamedTuple):
    """Whether to keep the text after a step, why, and the judges' ratings of both texts, with their roles."""

    keep: bool
    cause: Cause
    ratings: tuple[Rating, ...] = ()
    calls: tuple[Call, ...] = ()


class Gate(Protocol):
    """Decides on one step."""

    @property
    def name(self) -> str:
        """What it is called in settings and in the report."""
        ...

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> GateDecision:
        """Whether ``after`` may take the place of ``before``; called only where the two differ."""
        ...


class OpenGate:
    """Keeps every step (gates ``none`` and ``guards``: the guards have spoken before)."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> GateDecision:
        """Keep."""
        return GateDecision(True, GuardsCause() if self.name == "guards" else PlainCause(kind="unchecked"))


class Opinion(NamedTuple):
    """What one judge says of the two texts, and what that took. Ratings hold their own calls."""

    judgement: Judgement
    ratings: tuple[Rating, ...] = ()
    calls: tuple[Call, ...] = ()

    @property
    def paid(self) -> tuple[Call, ...]:
        """All calls, those of the ratings first."""
        return (*(call for rating in self.ratings for call in rating.calls), *self.calls)


class Judge(Protocol):
    """Holds two texts against each other."""

    name: str

    @property
    def signature(self) -> str:
        """All that its answers depend on."""
        ...

    async def judge(self, segment: Segment, before: str, after: str, rate: Rate) -> Opinion:
        """What it says of ``before`` and ``after``. Raises :class:`mtagent.errors.MtagentError`, never guesses."""
        ...


def asks_model(part: Judge | Gate) -> bool:
    """Whether a judge or gate asks a model, and so shows it a segment's notes. Others' parts say so themselves."""
    return bool(getattr(part, "asks_model", False))


class RatingJudge:
    """Scores both texts. Of several ``draws`` of one evaluator the trimmed mean counts.

    An evaluator that rates several translations together (RATE) is given both at once, the earlier one first.
    """

    def __init__(self, *draws: Evaluator) -> None:
        self.draws = tuple(map(checked_evaluator, draws))
        self.name = draws[0].name

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator, the first of its draws."""
        return self.draws[0]

    @property
    def asks_model(self) -> bool:
        """Whether the evaluator asks a model, as a metric does not."""
        return counts_calls(self.evaluator)

    @property
    def signature(self) -> str:
        """The evaluator's, with the number of samples where there are several."""
        samples = f"|samples:{len(self.draws)}" if len(self.draws) > 1 else ""
        return signature_of(self.evaluator) + samples

    async def judge(self, segment: Segment, before: str, after: str, rate: Rate) -> Opinion:
        """Rate both texts once for each draw."""
        pairs = await _all_asked(
            *(self._rate_both(draw, segment, before, after, rate) for draw in self.draws),
            calls=lambda pair: (call for rating in pair for call in rating.calls),
        )
        old, new = (trimmed_mean([pair[side].score for pair in pairs]) for side in (0, 1))
        judgement = Judgement(judge=self.name, signature=self.signature, before=old, after=new)
        return Opinion(judgement, tuple(rating for pair in pairs for rating in pair))

    async def _rate_both(
        self, evaluator: Evaluator, segment: Segment, before: str, after: str, rate: Rate
    ) -> list[Rating]:
        if not isinstance(evaluator, RatesTogether):
            return await _all_asked(
                _role(rate, evaluator, before, "before"), _role(rate, evaluator, after, "after"), calls=_calls_of_rating
            )
        # The earlier text first, which then is an anchor for the later one.
        sides: list[tuple[RatingRole, str]] = [("before", before), ("after", after)]
        ratings = unfailed(await ratings_by(evaluator, segment, [text for _, text in sides]), calls=_calls_of_rating)
        rated = {
            role: with_absent_spans_noted(checked_rating(rating, evaluator), text).model_copy(update={"role": role})
            for rating, (role, text) in zip(ratings, sides, strict=True)
        }
        return [rated["before"], rated["after"]]


def _calls_of_rating(rating: object) -> Iterable[Call]:
    return rating.calls if isinstance(rating, Rating) else ()  # a third party's may be anything, until it is checked


async def _all_asked(*work: Coroutine[Any, Any, Answer], calls: CallsOf) -> list[Answer]:
    """The answers in order. If one fails, the others still end, unless the error stops all work."""
    return unfailed(await answered(*work, calls=calls), calls=calls)


async def _role(rate: Rate, evaluator: Evaluator, text: str, role: RatingRole) -> Rating:
    return await rate(evaluator, text, role)


def trimmed_mean(scores: Sequence[float]) -> float:
    """The mean without the highest and the lowest score, where there are three or more."""
    inner = sorted(scores)[1:-1] if len(scores) > 2 else scores
    return round(math.fsum(inner) / len(inner), GAIN_DIGITS)


class PairwiseJudge:
    """Says which of the two is better, in both orders."""

    asks_model = True

    def __init__(self, pairwise: Pairwise) -> None:
        self._pairwise, self.name, self.signature = pairwise, pairwise.label, pairwise.signature

    async def judge(self, segment: Segment, before: str, after: str, rate: Rate) -> Opinion:
        """Compare them twice."""
        choices, calls = await self._pairwise.compare(segment, before, after)
        return Opinion(Judgement(judge=self.name, signature=self.signature, choices=choices), calls=calls)


class PanelGate:
    """Asks all ``judges`` at once, and keeps a text that ``quorum`` of them prefer; by default, that all prefer.

    A judge prefers the later text if it scores it higher, by at least ``margin``, or chooses it in both orders. With
    ``gain``, a calibration for these judges, a text is kept where people would see a gain by its prediction; with
    ``cautious``, where the chance of a gain is at least that. Raises :class:`ConfigError` for a panel that cannot work.
    """

    def __init__(
        self,
        *judges: Judge,
        margin: float = 0.0,
        quorum: int | None = None,
        gain: ExpectedGain | None = None,
        cautious: float | None = None,
    ) -> None:
        if not judges:
            raise ConfigError("a panel needs a judge: set judge")
        if quorum is not None and not 1 <= quorum <= len(judges):
            raise ConfigError(f"quorum {quorum}: needs as many judges, and there are {len(judges)}: name more in judge")
        self.judges, self.margin, self.quorum = judges, margin, quorum or len(judges)
        self.gain, self.cautious = gain, cautious

    @property
    def name(self) -> str:
        """The gate's name: ``gain``, and without a calibration by what its judges do."""
        if self.gain is not None:
            return "gain"
        if all(isinstance(judge, RatingJudge) for judge in self.judges):
            return "rate"
        return "pairwise" if all(isinstance(judge, PairwiseJudge) for judge in self.judges) else "panel"

    @property
    def signature(self) -> str:
        """The judges', which sign what decides."""
        return " + ".join(judge.signature for judge in self.judges)

    @property
    def asks_model(self) -> bool:
        """Whether one of the judges asks a model: it can tell whether a shorter text still says everything."""
        return any(asks_model(judge) for judge in self.judges)

    @property
    def raters(self) -> tuple[Evaluator, ...]:
        """The evaluators among the judges that rate single texts."""
        return tuple(judge.evaluator for judge in self.judges if isinstance(judge, RatingJudge))

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> GateDecision:
        """Ask the judges, and combine what they say."""
        opinions = await _all_asked(
            *(judge.judge(segment, before, after, rate) for judge in self.judges), calls=lambda opinion: opinion.paid
        )
        judgements = tuple(opinion.judgement for opinion in opinions)
        ratings = tuple(rating for opinion in opinions for rating in opinion.ratings)
        calls = tuple(call for opinion in opinions for call in opinion.calls)
        if self.gain is not None:
            gain = self.gain.predict(judgements)
            chance = self.gain.chance(gain)
            keep = gain > 0 if self.cautious is None else chance >= self.cautious and gain > 0
            cause = GainCause(judgements=judgements, gain=gain, chance=chance, required_chance=self.cautious)
            return GateDecision(keep, cause, ratings, calls)
        votes = sum(_prefers_after(judgement, self.margin) for judgement in judgements)
        margin = None if math.isinf(self.margin) else self.margin
        kinds: dict[str, Literal["scores", "choices", "panel"]]
        kinds = {"rate": "scores", "pairwise": "choices", "panel": "panel"}
        decided = DecidedCause(kind=kinds[self.name], judgements=judgements, margin=margin, quorum=self.quorum)
        return GateDecision(votes >= self.quorum, decided, ratings, calls)


def _prefers_after(judgement: Judgement, margin: float) -> bool:
    """Whether a judge's answer speaks for the later text. The margin is one of scores."""
    difference = judgement.difference
    return difference is not None and difference > 0 and (bool(judgement.choices) or difference >= margin)


class Choice(NamedTuple):
    """Which of several texts to keep, by its place (``None``: none of them), and the decision on each of them.

    ``against`` holds for each the place of the text that it was held against; ``None``: the text before. ``best`` is
    the text that was kept, or the one that came nearest to it.
    """

    kept: int | None
    best: int
    decisions: tuple[GateDecision, ...]
    against: tuple[int | None, ...]


def _expected_gain(cause: Cause) -> float:
    if isinstance(cause, GainCause) and cause.gain is not None:
        return cause.gain
    return -math.inf


async def choose(
    gate: Gate, before: str, texts: Sequence[str], decide: Callable[[str, str], Coroutine[Any, Any, GateDecision]]
) -> Choice:
    """Find the best of ``texts``, which all differ from ``before``; ``decide`` asks ``gate`` about two texts.

    A calibrated gain is a measure: each text is held against ``before``, and of those that the gate would keep, the one
    with the highest gain is kept. Other gates only tell the better of two: the texts challenge the best so far, one
    after the other. Of equals the first stays.
    """
    if isinstance(gate, PanelGate) and gate.gain is not None:
        first = await decide(before, texts[0])  # alone, so that the text before is rated once
        decisions = [first, *await together(*(decide(before, text) for text in texts[1:]))]
        gains = [_expected_gain(decision.cause) for decision in decisions]
        best = max(range(len(texts)), key=gains.__getitem__)
        return Choice(best if decisions[best].keep else None, best, tuple(decisions), (None,) * len(texts))
    kept, decisions, against = None, [], list[int | None]()
    for place, text in enumerate(texts):
        against.append(kept)
        decisions.append(await decide(before if kept is None else texts[kept], text))
        kept = place if decisions[-1].keep else kept
    return Choice(kept, kept or 0, tuple(decisions), tuple(against))


def refuse_open(gate: Gate) -> None:
    """Raise :class:`ConfigError` for a gate that keeps any text, and so cannot choose one of several."""
    if isinstance(gate, OpenGate):
        raise ConfigError(
            f"the gate {gate.name} asks no judge, and cannot choose the best of several texts: set judge "
            "(offline: judge=qe-e5)"
        )


class RateGate(PanelGate):
    """Keeps a text whose score by ``judge`` is higher than before, by at least ``margin``."""

    def __init__(self, judge: Evaluator, *, margin: float = 0.0) -> None:
        super().__init__(RatingJudge(judge), margin=margin)


class PairwiseGate(PanelGate):
    """Keeps a text that a model prefers in both orders; a tie or a disagreement keeps the earlier text."""

    def __init__(self, llm: LLM, *, prompts_folder: Path | None = None) -> None:
        super().__init__(PairwiseJudge(Pairwise(llm, prompts_folder=prompts_folder)))


class Threshold(NamedTuple):
    """The score from which on a text that ``evaluator`` rated is error-free."""

    evaluator: Evaluator
    score: float


def calibrated(
    path: Path,
    gate: Gate,
    editor: Evaluator | None,
    *,
    triage: Evaluator | None = None,
    cautious: float | None = None,
) -> tuple[Gate, tuple[Threshold, ...]]:
    """``gate`` with what the calibration at ``path`` says of its judges, and the thresholds of those that it holds for.

    An expected gain is the whole panel's. A threshold is the post-editor's evaluator's, a judge's, that of ``triage``,
    or of several of them. Raises :class:`ConfigError` where the panel is another one.
    """
    calibration = read(path)
    judges = gate.judges if isinstance(gate, PanelGate) else ()
    if cautious is not None and calibration.gain is None:
        raise ConfigError(f"{path}: has no expected gain, so the gate cannot know its chance: leave cautious out")
    if calibration.gain is not None and type(gate) not in (PanelGate, RateGate):
        raise ConfigError(f"{path}: calibrates a gate that asks judges, and the gate is {gate.name}: set judge")
    if calibration.gain is not None:
        panel = [_judge_of(path, weight.signature, judges) for weight in calibration.gain.judges]
        if others := [judge.name for judge in judges if judge not in panel]:
            raise ConfigError(f"{path}: was calibrated without the judge {others[0]}: leave it out, or calibrate anew")
        if isinstance(gate, PanelGate) and gate.quorum != len(judges):
            raise ConfigError(f"{path}: decides by the expected gain, not by a quorum: leave quorum out")
        gate = PanelGate(*panel, gain=calibration.gain, cautious=cautious)
    return gate, _thresholds(path, calibration, judges, editor, triage)


def _thresholds(
    path: Path,
    calibration: Calibration,
    judges: Sequence[Judge],
    editor: Evaluator | None,
    triage: Evaluator | None,
) -> tuple[Threshold, ...]:
    if calibration.threshold is None:
        if calibration.gain is None:
            raise ConfigError(f"{path}: holds no gain, and no threshold reached the wanted precision: nothing to use")
        return ()
    if not calibration.signature:
        raise ConfigError(f"{path}: has no signature, so its judge is not known: calibrate again with --signature")
    raters = [judge.evaluator for judge in judges if isinstance(judge, RatingJudge)]
    raters += [rater for rater in (editor, triage) if rater is not None]
    fitting = {id(rater): rater for rater in raters if calibration.holds_for(signature_of(rater))}
    if not fitting:
        raise _made_for_another(path, calibration.signature, editor, judges, triage)
    return tuple(Threshold(rater, calibration.threshold) for rater in fitting.values())


def _judge_of(path: Path, signature: str, judges: Sequence[Judge]) -> Judge:
    """The judge that a calibration means. Raises :class:`ConfigError`, which says what is asked otherwise."""
    if not signature:
        raise ConfigError(f"{path}: has no signature, so its judge is not known: calibrate again with --signature")
    for judge in judges:
        if same_rater(signature, judge.signature):
            return judge
    raise _made_for_another(path, signature, None, judges)


def _made_for_another(
    path: Path, wanted: str, editor: Evaluator | None, judges: Sequence[Judge], triage: Evaluator | None = None
) -> ConfigError:
    """The error that names the signatures, and the parts in which they differ."""
    signatures = [("the gate asks", judge.signature) for judge in judges]
    if editor is not None:
        signatures.insert(0, ("the post-editor asks", signature_of(editor)))
    if triage is not None:
        signatures.append(("triage asks", signature_of(triage)))
    there = [f"{who} {signature}" for who, signature in signatures] or ["nobody rates here"]
    parts = {part for _, signature in signatures for part in comparable(signature).split("|")}
    missing = [part for part in comparable(wanted).split("|") if part not in parts]
    hint = f" (not asked like that: {', '.join(missing)})" if missing else ""
    return ConfigError(
        f"{path}: was calibrated for {wanted}, but {' and '.join(there)}{hint}; name that "
        "evaluator in judge or evaluator, or calibrate for this one: mtagent gate calibrate"
    )
