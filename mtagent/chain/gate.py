"""What the chain may keep: a gate looks at the text before and after a step and decides. Ties keep the earlier text.

``none`` keeps everything, including damage; ``guards`` keeps what the guards let pass. The others ask a panel of
judges: each either scores both texts or compares them in both orders. By default all must agree; a calibrated panel
(``gain``) predicts from their answers the gain that people would see, and keeps a text with a gain. It asks metrics
first, and a model only if it may change the decision. All other judges are called at once.

Both texts are rated again and in the same way. The gate never uses the rating that caused an edit: only texts that were
rated badly are edited, so a second rating of the same text would be better by chance alone.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from mtagent.chain.calibration import Calibration, ExpectedGain, Foreseen, read
from mtagent.errors import ConfigError
from mtagent.evaluators.pairwise import Pairwise
from mtagent.evaluators.protocol import Evaluator, checked_evaluator, counts_calls, rates_together, signature_of
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
    UndecidedCause,
    comparable,
    judgements_of,
    same_rater,
)

DECISIVE_DEVIATIONS = 2.0
"""A model is not asked if the gate decides alike for what it is expected to add, plus and minus this number of
deviations. On public scores less than 1 % of decisions then differ (``wmt/cheap_first.py``)."""
Rate = Callable[[Evaluator, str, RatingRole], Awaitable[Rating]]
"""Asks a judge for the rating of a text, once per segment."""
Answer = TypeVar("Answer")


class GateDecision(NamedTuple):
    """Whether to keep the text after a step, and why."""

    keep: bool
    cause: Cause
    ratings: tuple[Rating, ...] = ()
    """The judges' ratings of both texts, with their roles."""
    calls: tuple[Call, ...] = ()
    """The calls that are not in the ratings."""


class Gate(Protocol):
    """Decides on one step."""

    @property
    def name(self) -> str:
        """Its name in settings and in the report."""
        ...

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> GateDecision:
        """Whether ``after`` may take the place of ``before``; called only where the two differ."""
        ...


class OpenGate:
    """Keeps every step (gates ``none`` and ``guards``: the guards have decided before)."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> GateDecision:
        """Keep."""
        return GateDecision(True, GuardsCause() if self.name == "guards" else PlainCause(kind="unchecked"))


class Opinion(NamedTuple):
    """One judge's judgement of the two texts."""

    judgement: Judgement
    ratings: tuple[Rating, ...] = ()
    calls: tuple[Call, ...] = ()
    """The calls that are not in the ratings."""

    @property
    def paid(self) -> tuple[Call, ...]:
        """All calls, first the calls of the ratings."""
        return (*_calls_of_ratings(self.ratings), *self.calls)


class Judge(Protocol):
    """Compares two texts."""

    name: str

    @property
    def signature(self) -> str:
        """All that its answers depend on."""
        ...

    async def judge(self, segment: Segment, before: str, after: str, rate: Rate) -> Opinion:
        """Judge ``before`` and ``after``. Raises :class:`mtagent.errors.MtagentError`, never guesses."""
        ...


def asks_model(part: Judge | Gate) -> bool:
    """Whether a judge or gate calls a model, and so shows it a segment's notes. A user's part has a field for it."""
    return bool(getattr(part, "asks_model", False))


class RatingJudge:
    """Scores both texts. The score is the trimmed mean of several ``draws`` of one evaluator.

    An evaluator that rates several translations together (RATE) gets both at once, the earlier one first.
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
        """Whether the evaluator calls a model, as a metric does not."""
        return counts_calls(self.evaluator)

    @property
    def signature(self) -> str:
        """The evaluator's, with the number of samples where there are several."""
        samples = f"|samples:{len(self.draws)}" if len(self.draws) > 1 else ""
        return signature_of(self.evaluator) + samples

    async def judge(self, segment: Segment, before: str, after: str, rate: Rate) -> Opinion:
        """Rate both texts once for each draw."""
        work = [self._rate_both(draw, segment, before, after, rate) for draw in self.draws]
        pairs = await _all_asked(*work, calls=_calls_of_ratings)
        ratings: list[Rating] = []
        for pair in pairs:
            ratings += pair
        befores, afters = zip(*pairs, strict=True)
        judgement = Judgement(
            judge=self.name,
            signature=self.signature,
            before=trimmed_mean([rating.score for rating in befores]),
            after=trimmed_mean([rating.score for rating in afters]),
        )
        return Opinion(judgement, tuple(ratings))

    async def _rate_both(
        self, evaluator: Evaluator, segment: Segment, before: str, after: str, rate: Rate
    ) -> list[Rating]:
        if not rates_together(evaluator):
            return await _all_asked(
                _role(rate, evaluator, before, "before"), _role(rate, evaluator, after, "after"), calls=_calls_of_rating
            )
        # The earlier text comes first, so that it is an anchor for the later one.
        sides: list[tuple[RatingRole, str]] = [("before", before), ("after", after)]
        ratings = unfailed(await ratings_by(evaluator, segment, [text for _, text in sides]), calls=_calls_of_rating)
        checked_ratings = []
        for rating, (role, text) in zip(ratings, sides, strict=True):
            checked = with_absent_spans_noted(checked_rating(rating, evaluator), text)
            checked_ratings.append(checked.model_copy(update={"role": role}))
        return checked_ratings


def _calls_of_ratings(ratings: Iterable[Rating]) -> Iterator[Call]:
    for rating in ratings:
        yield from rating.calls


def _calls_of_rating(rating: object) -> Iterable[Call]:
    """The calls of a rating. A third party's rating may be anything until it is checked."""
    return rating.calls if isinstance(rating, Rating) else ()


async def _all_asked(*work: Coroutine[Any, Any, Answer], calls: CallsOf) -> list[Answer]:
    """The answers in order. If one fails, the others still end, unless the error stops all work."""
    return unfailed(await answered(*work, calls=calls), calls=calls)


async def _role(rate: Rate, evaluator: Evaluator, text: str, role: RatingRole) -> Rating:
    return await rate(evaluator, text, role)


def trimmed_mean(scores: Sequence[float]) -> float:
    """The mean without the highest and the lowest score, if there are three or more."""
    inner = sorted(scores)[1:-1] if len(scores) > 2 else scores
    return round(math.fsum(inner) / len(inner), GAIN_DIGITS)


def _raters_among(judges: Iterable[Judge]) -> list[Evaluator]:
    """The evaluators of the judges that rate single texts."""
    evaluators = []
    for judge in judges:
        if isinstance(judge, RatingJudge):
            evaluators.append(judge.evaluator)
    return evaluators


class PairwiseJudge:
    """Chooses the better of the two, in both orders."""

    asks_model = True

    def __init__(self, pairwise: Pairwise) -> None:
        self._pairwise = pairwise
        self.name = pairwise.label
        self.signature = pairwise.signature

    async def judge(self, segment: Segment, before: str, after: str, rate: Rate) -> Opinion:
        """Compare them twice."""
        choices, calls = await self._pairwise.compare(segment, before, after)
        return Opinion(Judgement(judge=self.name, signature=self.signature, choices=choices), calls=calls)


class PanelGate:
    """Asks all ``judges`` at once, and keeps a text that ``quorum`` of them prefer; by default, that all prefer.

    A judge prefers the later text if it scores it higher, by at least ``margin``, or chooses it in both orders. With
    ``gain``, a calibration for these judges, a text is kept if it predicts that people see a gain, unless all of
    several judges call the text worse; with ``cautious``, so that at most this share of the kept texts is worse. Judges
    that call no model are then called first, and the others only if they can still change the decision, unless
    ``ask_all``. Raises :class:`ConfigError` for a panel that cannot work, and for a promise that cannot be kept.
    """

    def __init__(
        self,
        *judges: Judge,
        margin: float = 0.0,
        quorum: int | None = None,
        gain: ExpectedGain | None = None,
        cautious: float | None = None,
        ask_all: bool = False,
    ) -> None:
        if not judges:
            raise ConfigError("a panel needs a judge: set judge")
        if quorum is not None and not 1 <= quorum <= len(judges):
            raise ConfigError(f"quorum {quorum}: needs that many judges, but there are {len(judges)}: name more judges")
        if gain is not None and cautious is not None:
            gain.highest_chance_of_worse(cautious)
        self.judges = judges
        self.margin = margin
        self.quorum = quorum or len(judges)
        self.gain = gain
        self.cautious = cautious
        self.ask_all = ask_all
        self._first = [place for place, judge in enumerate(judges) if not asks_model(judge)]
        self._foreseen = None if gain is None or ask_all else gain.foreseen(self._first)

    def with_gain(self, gain: ExpectedGain, *, ask_all: bool = False) -> PanelGate:
        """The same judges, who decide by ``gain``; with ``ask_all`` they are always all asked."""
        return PanelGate(*self.judges, gain=gain, cautious=self.cautious, ask_all=ask_all or self.ask_all)

    @property
    def name(self) -> str:
        """The gate's name: ``gain`` with a calibration, otherwise by what its judges do."""
        if self.gain is not None:
            return "gain"
        if all(isinstance(judge, RatingJudge) for judge in self.judges):
            return "rate"
        if all(isinstance(judge, PairwiseJudge) for judge in self.judges):
            return "pairwise"
        return "panel"

    @property
    def signature(self) -> str:
        """The judges' signatures: the decision depends on them."""
        return " + ".join(judge.signature for judge in self.judges)

    @property
    def asks_model(self) -> bool:
        """Whether one of the judges calls a model, which can tell whether a shorter text still says everything."""
        return any(asks_model(judge) for judge in self.judges)

    @property
    def raters(self) -> tuple[Evaluator, ...]:
        """The evaluators among the judges that rate single texts."""
        return tuple(_raters_among(self.judges))

    async def judged(self, segment: Segment, before: str, after: str, rate: Rate) -> GateDecision:
        """The judgements of all judges; nothing is decided, and nothing kept."""
        return _undecided(await self._opinions(range(len(self.judges)), segment, before, after, rate))

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> GateDecision:
        """Call the judges, and combine their judgements."""
        first: dict[int, Opinion] = {}
        if self._foreseen is not None:
            first = await self._opinions(self._first, segment, before, after, rate)
            decision = self._decided_without_model(first, self._foreseen)
            if decision is not None:
                return decision
        others = [place for place in range(len(self.judges)) if place not in first]
        undecided = _undecided(await self._opinions(others, segment, before, after, rate, first))
        judgements = judgements_of(undecided.cause)
        if self.gain is not None:
            cause = self._gain_cause(judgements, self.gain.predict(judgements))
            return undecided._replace(keep=self.gain.keeps(judgements, self.cautious), cause=cause)
        votes = sum(_prefers_after(judgement, self.margin) for judgement in judgements)
        margin = None if math.isinf(self.margin) else self.margin
        kinds: dict[str, Literal["scores", "choices", "panel"]]
        kinds = {"rate": "scores", "pairwise": "choices", "panel": "panel"}
        decided = DecidedCause(kind=kinds[self.name], judgements=judgements, margin=margin, quorum=self.quorum)
        return undecided._replace(keep=votes >= self.quorum, cause=decided)

    async def _opinions(
        self,
        places: Sequence[int],
        segment: Segment,
        before: str,
        after: str,
        rate: Rate,
        first: Mapping[int, Opinion] = MappingProxyType({}),
    ) -> dict[int, Opinion]:
        """What the judges at ``places`` think, with the opinions of the ``first``, in the order of the judges."""
        work = [self.judges[place].judge(segment, before, after, rate) for place in places]
        answers = await answered(*work, calls=_paid)
        opinions = unfailed([*first.values(), *answers], calls=_paid)
        return dict(sorted(zip([*first, *places], opinions, strict=True)))

    def _decided_without_model(self, opinions: Mapping[int, Opinion], foreseen: Foreseen) -> GateDecision | None:
        """The decision by the ``opinions`` of judges that call no model; ``None`` if the others may change it."""
        assert self.gain is not None
        undecided = _undecided(opinions)
        judgements = judgements_of(undecided.cause)
        gain = self.gain.expect(dict(zip(opinions, judgements, strict=True)), foreseen)
        error = DECISIVE_DEVIATIONS * foreseen.deviation
        keep = self._is_enough(gain - error)
        are_all_worse = all((judgement.difference or 0.0) < 0 for judgement in judgements)
        if keep != self._is_enough(gain + error) or (keep and are_all_worse):
            return None
        if keep and self.gain.pilot is not None and not any(judgement.difference for judgement in judgements):
            return None  # the others must see a difference, see ExpectedGain.keeps
        if keep and not self._is_enough(gain, foreseen.deviation):
            return None
        unasked = []
        for place, judge in enumerate(self.judges):
            if place not in opinions:
                unasked.append(judge.name)
        cause = self._gain_cause(judgements, gain, foreseen.deviation).model_copy(update={"unasked": tuple(unasked)})
        return undecided._replace(keep=keep, cause=cause)

    def _is_enough(self, gain: float, deviation: float = 0.0) -> bool:
        """Whether an expected ``gain``, known up to a ``deviation``, is above 0 and sure enough to be kept."""
        assert self.gain is not None
        if gain <= 0 or self.cautious is None:
            return gain > 0
        return self.gain.chance_of_worse(gain, deviation) <= self.gain.highest_chance_of_worse(self.cautious)

    def _gain_cause(self, judgements: tuple[Judgement, ...], gain: float, deviation: float = 0.0) -> GainCause:
        assert self.gain is not None
        highest = None if self.cautious is None else self.gain.highest_chance_of_worse(self.cautious)
        return GainCause(
            judgements=judgements,
            gain=gain,
            chance=self.gain.chance(gain, deviation),
            chance_of_worse=self.gain.chance_of_worse(gain, deviation),
            highest_chance_of_worse=highest,
        )


def _paid(opinion: Opinion) -> tuple[Call, ...]:
    return opinion.paid


def _undecided(opinions: Mapping[int, Opinion]) -> GateDecision:
    """The judgements and what they cost, before anything is decided."""
    ratings: list[Rating] = []
    calls: list[Call] = []
    for opinion in opinions.values():
        ratings += opinion.ratings
        calls += opinion.calls
    judgements = tuple(opinion.judgement for opinion in opinions.values())
    return GateDecision(False, UndecidedCause(judgements=judgements), tuple(ratings), tuple(calls))


class PilotGate:
    """Calls the judges of ``panel`` and keeps nothing: a pilot shows what edits are like before the gate decides."""

    def __init__(self, panel: PanelGate) -> None:
        self.panel = panel
        self.name = panel.name

    @property
    def signature(self) -> str:
        """The panel's."""
        return self.panel.signature

    @property
    def asks_model(self) -> bool:
        """Whether one of the judges calls a model."""
        return self.panel.asks_model

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> GateDecision:
        """Call the judges."""
        return await self.panel.judged(segment, before, after, rate)


def _prefers_after(judgement: Judgement, margin: float) -> bool:
    """Whether a judge prefers the later text. The margin is for scores only."""
    difference = judgement.difference
    if difference is None or difference <= 0:
        return False
    return bool(judgement.choices) or difference >= margin


class BestText(NamedTuple):
    """The best of several texts, by its place, and the decision on each of them."""

    kept: int | None
    """The text to keep; ``None``: none of them."""
    best: int
    """The text to keep, or the one that came nearest to being kept."""
    decisions: tuple[GateDecision, ...]
    against: tuple[int | None, ...]
    """The text that each was compared with; ``None``: the text before."""


def _expected_gain(cause: Cause) -> float:
    if isinstance(cause, GainCause) and cause.gain is not None:
        return cause.gain
    return -math.inf


async def choose(
    gate: Gate, before: str, texts: Sequence[str], decide: Callable[[str, str], Coroutine[Any, Any, GateDecision]]
) -> BestText:
    """Find the best of ``texts``, which all differ from ``before``; ``decide`` asks ``gate`` about two texts.

    A calibrated gain is a measure: each text is compared with ``before``, and the text with the highest gain is kept if
    the gate would keep it. Other gates only choose the better of two: the texts challenge the best so far, one after
    the other. The first of equal texts stays.
    """
    if decides_by_gain(gate):
        first = await decide(before, texts[0])  # alone, so that the text before is rated once
        decisions = [first, *await together(*(decide(before, text) for text in texts[1:]))]
        # A text that the gate would not keep comes after all texts that it would, whatever its gain.
        ranks = [(decision.keep, _expected_gain(decision.cause)) for decision in decisions]
        best = ranks.index(max(ranks))
        kept = best if decisions[best].keep else None
        return BestText(kept, best, tuple(decisions), (None,) * len(texts))
    kept = None
    decisions = []
    against: list[int | None] = []
    for place, text in enumerate(texts):
        best_so_far = before if kept is None else texts[kept]
        decision = await decide(best_so_far, text)
        decisions.append(decision)
        against.append(kept)
        if decision.keep:
            kept = place
    return BestText(kept, kept or 0, tuple(decisions), tuple(against))


def decides_by_gain(gate: Gate) -> bool:
    """Whether a gate has a measure of how much better a text is."""
    return isinstance(gate, PanelGate) and gate.gain is not None


def refuse_open(gate: Gate) -> None:
    """Raise :class:`ConfigError` for a gate that keeps any text, and so cannot choose one of several."""
    if isinstance(gate, OpenGate):
        raise ConfigError(
            f"the gate {gate.name} calls no judge, so it can't choose the best of several texts: set judge "
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
    """The score from which a text that ``evaluator`` rated is error-free."""

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
    """``gate`` with the calibration at ``path``, and the thresholds of the evaluators that it was made for.

    An expected gain concerns the whole panel. A threshold may concern the post-editor's evaluator, a judge, ``triage``
    or several of them. Raises :class:`ConfigError` for a calibration of another panel.
    """
    calibration = read(path)
    judges = gate.judges if isinstance(gate, PanelGate) else ()
    if cautious is not None and calibration.gain is None:
        raise ConfigError(
            f"{path}: has no expected gain, so the gate cannot know which edits may be worse: leave cautious out"
        )
    if calibration.gain is not None:
        if type(gate) not in (PanelGate, RateGate):
            raise ConfigError(f"{path}: calibrates a gate with judges, but the gate is {gate.name}: set judge")
        panel = [_judge_of(path, weight.signature, judges) for weight in calibration.gain.judges]
        for judge in judges:
            if judge not in panel:
                raise ConfigError(
                    f"{path}: was calibrated without the judge {judge.name}: leave it out, or calibrate again"
                )
        if isinstance(gate, PanelGate) and gate.quorum != len(judges):
            raise ConfigError(f"{path}: decides by the expected gain, not by a quorum: leave quorum out")
        ask_all = isinstance(gate, PanelGate) and gate.ask_all
        gate = PanelGate(*panel, gain=calibration.gain, cautious=cautious, ask_all=ask_all)
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
            raise ConfigError(
                f"{path}: cannot be used: it has no expected gain, and no threshold reached the precision that was "
                "asked for; calibrate on more data, or for a lower precision"
            )
        return ()
    if not calibration.signature:
        raise ConfigError(f"{path}: has no signature, so its judge is not known: calibrate again with --signature")
    thresholds: dict[int, Threshold] = {}  # by evaluator, which may have several roles
    for rater in (*_raters_among(judges), editor, triage):
        if rater is not None and calibration.holds_for(signature_of(rater)):
            thresholds[id(rater)] = Threshold(rater, calibration.threshold)
    if not thresholds:
        raise _made_for_another(path, calibration.signature, editor, judges, triage)
    return tuple(thresholds.values())


def _judge_of(path: Path, signature: str, judges: Sequence[Judge]) -> Judge:
    """The judge with the ``signature`` of a calibration. Raises :class:`ConfigError` that names the differences."""
    if not signature:
        raise ConfigError(f"{path}: has no signature, so its judge is not known: calibrate again with --signature")
    for judge in judges:
        if same_rater(signature, judge.signature):
            return judge
    raise _made_for_another(path, signature, None, judges)


def _made_for_another(
    path: Path, calibrated_for: str, editor: Evaluator | None, judges: Sequence[Judge], triage: Evaluator | None = None
) -> ConfigError:
    """The error that names the rater that comes nearest, and what differs."""
    raters = [("the gate", judge.signature) for judge in judges]
    if editor is not None:
        raters.append(("the post-editor", signature_of(editor)))
    if triage is not None:
        raters.append(("triage", signature_of(triage)))
    expected = comparable(calibrated_for).split("|")
    way_out = (
        f"set judge or evaluator to what `mtagent gate show {path} --details` prints, or calibrate again (mtagent gate "
        "calibrate)"
    )
    if not raters:
        return ConfigError(f"{path}: was calibrated for {expected[0]}, but no judge rates here: {way_out}")
    candidates = [(who, comparable(signature).split("|")) for who, signature in raters]
    who, asked = min(candidates, key=lambda candidate: len(set(expected).symmetric_difference(candidate[1])))

    def shown(parts: list[str], others: list[str]) -> str:
        """The evaluator with the settings that ``others`` lack; of another evaluator only the model is comparable."""
        is_another = parts[0] != others[0]
        differing = []
        for part in parts[1:]:
            if part not in others and (part.startswith("model:") or not is_another):
                differing.append(part)
        return " ".join([parts[0], *differing])

    return ConfigError(
        f"{path}: was calibrated for {shown(expected, asked)}, but {who} asks {shown(asked, expected)}: {way_out}"
    )
