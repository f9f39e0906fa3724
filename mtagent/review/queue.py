"""The queue of a review: the segments of runs, the most doubtful first, and decisions on them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mtagent.chain.decided_text import Decided, DecidedRun, findings
from mtagent.chain.guards import Damage
from mtagent.errors import ConfigError, DecidedElsewhere, NotStored, StoreError
from mtagent.records import Chain, GainCause, Judgement, Step, guards_of, judgements_of
from mtagent.records.decisions import Decision, fingerprint, text_hash
from mtagent.review.page_data import PlainData, row_data, status_data
from mtagent.store.store import Store
from mtagent.text.amounts import counted

# The chance that something is wrong, for each kind of doubt.
_NO_TRANSLATION = 1.0
_FAILED_STEP = 0.8
_REFUSED_BY_GUARD = 0.35
_NOT_JUDGED = 0.3
_UNCORRECTED_ERROR = {"neutral": 0.0, "minor": 0.3, "major": 0.6, "critical": 0.8}
_STEEPNESS = 2.0
"""How fast a judge's difference removes doubt: its typical difference in favour leaves 12 %, a tie leaves 50 %."""
_MOST_POSITION = 2**63
"""SQLite's integers are smaller."""


class Doubt(NamedTuple):
    """A reason to look at a segment."""

    words: str
    chance: float = 0.0
    """The chance that something is wrong, where no judges compared the texts."""
    differences: tuple[tuple[str, float], ...] = ()
    """Each judge with the score difference that it saw; it counts instead of ``chance``."""
    sign: int = 1
    """-1 for a change that was kept: a difference in its favour removes doubt."""


def doubts(chain: Chain) -> list[Doubt]:
    """All that may be wrong with a chain's text."""
    if chain.given is None:
        return [Doubt("no translation", _NO_TRANSLATION)]
    result = list[Doubt]()
    for step in chain.steps:
        if step.verdict == "failed":
            result.append(Doubt(f"{step.stage} failed", _FAILED_STEP))
        elif step.stage != "translate" and step.verdict in ("kept", "rejected"):
            result += _step_doubts(step)
    severities = _uncorrected_severities(chain)
    if severities:
        chance_of_none = math.prod(1 - _UNCORRECTED_ERROR[severity] for severity in severities)
        result.append(Doubt(f"{counted(len(severities), 'error')} left", 1 - chance_of_none))
    return result


def _step_doubts(step: Step) -> Iterator[Doubt]:
    """The doubts about a step that changed the text or tried to."""
    cause = step.cause
    edit_guards = dict.fromkeys(guard for edit in step.edits for guard in edit.guards)
    guards = list(edit_guards or guards_of(cause))
    if guards:
        yield Doubt(f"refused by {', '.join(guards)}", _REFUSED_BY_GUARD)
        if cause.kind == "guards":
            return
    differences = list[tuple[str, float]]()
    if isinstance(cause, GainCause) and cause.gain is not None:
        words = f"{step.verdict}, expected gain {cause.gain:+.2g}"
        differences.append(("gain", cause.gain))
    else:
        words = ", ".join([step.verdict, *map(_opinion, judgements_of(cause))])
        for judgement in judgements_of(cause):
            if judgement.difference is not None:
                differences.append((judgement.judge, judgement.difference))
    sign = 1 if step.verdict == "rejected" else -1
    yield Doubt(words, _NOT_JUDGED, tuple(differences), sign)


def _opinion(judgement: Judgement) -> str:
    if judgement.choices:
        return f"{judgement.judge} {'/'.join(judgement.choices)}"
    return f"{judgement.judge} {judgement.difference or 0:+.2g}"


def _uncorrected_severities(chain: Chain) -> list[str]:
    """The severities of the errors that are known to be in the final text."""
    if not chain.steps:
        return []
    last = chain.steps[-1]
    rating = last.rating("after") if last.verdict == "kept" else None
    if rating is not None and rating.errors is not None:
        return [error.severity for error in rating.errors if error.severity != "neutral"]
    for step in reversed(chain.steps):
        if step.rating("editor"):
            return [error.severity for error in step.not_fixed]
    return []


def _chance(doubt: Doubt, typical_differences: Mapping[str, float]) -> float:
    """The chance that something is wrong."""
    if not doubt.differences:
        return doubt.chance
    ratios = [difference / typical_differences[judge] for judge, difference in doubt.differences]
    evidence = doubt.sign * _STEEPNESS * (math.fsum(ratios) / len(ratios))
    return 1 / (1 + math.exp(max(-50.0, min(50.0, -evidence))))


class QueueRow(NamedTuple):
    """A segment in the queue: what the page shows, and why people should look at it."""

    data: PlainData
    doubts: list[Doubt]


class ReviewQueue:
    """Runs to decide on, by one person. It is used by one thread, as the store is."""

    def __init__(self, store: Store, names: Sequence[str], who: str = "") -> None:
        self.store, self.names, self.who = store, list(dict.fromkeys(names)), who
        self._runs = [DecidedRun(store, name) for name in self.names]
        # The rows of each run that were read before, with the counts of the run at that time.
        self._cached = dict[int, tuple[object, list[QueueRow]]]()

    @property
    def store_key(self) -> str:
        """What distinguishes this store from others, without its path."""
        return text_hash(str(Path(self.store.database.path).resolve()))

    def obstacle(self) -> str:
        """Why decisions cannot be stored now; empty if they can."""
        try:
            with self.store.database.writing():
                return ""
        except StoreError as error:
            return str(error)

    def rows(self) -> list[PlainData]:
        """All segments as plain data, the most doubtful first."""
        rows = list[QueueRow]()
        for run in range(len(self._runs)):
            rows += self._read_rows(run)
        typical_differences = _typical_differences(rows)
        for row in rows:
            chances = [_chance(doubt, typical_differences) for doubt in row.doubts]
            by_chance = sorted(zip(chances, row.doubts, strict=True), reverse=True)
            row.data["why"] = [doubt.words for _, doubt in by_chance]
            row.data["worth"] = round(1 - math.prod(1 - chance for chance in chances), 4)
        in_order = sorted(rows, key=lambda row: (-row.data["worth"], row.data["run"], row.data["position"]))
        return [row.data for row in in_order]

    def _read_rows(self, run: int) -> list[QueueRow]:
        """The segments of a run. Those that were read before are read again only if there is a new decision."""
        opened = self._runs[run]
        versions, counts = opened.log.versions(), opened.run.counts()
        cached_counts, rows = self._cached.get(run, (None, []))
        if cached_counts != counts:
            rows = []
            for position, result in opened.segments():
                data = row_data(run, position, result) | status_data(result, versions.get(position, 0))
                rows.append(QueueRow(data, doubts(result.chain)))
            self._cached[run] = counts, rows
        for row in rows:
            position = row.data["position"]
            if row.data["version"] != versions.get(position, 0):
                row.data.update(status_data(*self.segment(run, position)))
        return rows

    def segment(self, run: int, position: int) -> tuple[Decided, int]:
        """A segment with its decisions, and their version. Raises :class:`NotStored` if there is none."""
        opened = self._run(run, position)
        version = opened.log.version(position)
        return opened.segment(position), version

    def versions(self) -> list[dict[int, int]]:
        """For each run, the versions of the segments with decisions."""
        return [run.log.versions() for run in self._runs]

    def check(self, run: int, position: int, text: str) -> tuple[str, tuple[Damage, ...]]:
        """Why ``text`` cannot be the segment's text (empty if it can), and the damage that the guards see in it."""
        opened = self._run(run, position)
        chain = opened.run.chain_at(position)
        try:
            opened.checked(chain, Decision(segment=chain.segment.id, verdict="text", text=text), ())
        except ConfigError as error:
            return str(error), ()
        if chain.given is None:
            return "", ()
        return "", findings(chain, chain.given, text, opened.skip)

    def decide(self, run: int, position: int, decision: Decision, *, version: int, seen: str) -> int:
        """Store a decision on a segment whose ``version`` and fingerprint ``seen`` were shown, and return its id.

        If the last decision there is this one, it is not stored again: the page did not receive the answer and asked
        again. Raises :class:`DecidedElsewhere` if the segment has changed since it was shown, and
        :class:`ConfigError` for a decision that cannot be made.
        """
        opened = self._run(run, position)
        chain = opened.run.chain_at(position)
        if fingerprint(chain) != seen:
            raise DecidedElsewhere(f"segment {chain.segment.id} was done again meanwhile; look at it again")
        signed = decision.model_copy(update={"segment": chain.segment.id, "who": self.who})
        history = opened.log.history(position)
        if history and history[-1].id != version:
            if _is_repeated(signed, history[-1]):
                return history[-1].id
            raise DecidedElsewhere(f"segment {chain.segment.id} was decided on elsewhere meanwhile; look at it again")
        checked = opened.checked(chain, signed, history)
        return opened.log.append([(position, checked)], expected={position: version})[position]

    def _run(self, run: int, position: int) -> DecidedRun:
        if not 0 <= run < len(self._runs):
            raise ConfigError(f"there is no run {run} in this review, which has {counted(len(self._runs), 'run')}")
        if not 0 <= position < _MOST_POSITION or self._runs[run].run.text_at(position) is None:
            raise NotStored(f"run {self.names[run]!r}: has no segment at position {position}, or was deleted")
        return self._runs[run]


def _typical_differences(rows: Sequence[QueueRow]) -> dict[str, float]:
    """The root mean square of each judge's differences: a large one for one judge may be small for another."""
    squares = defaultdict[str, list[float]](list)
    for row in rows:
        for doubt in row.doubts:
            for judge, difference in doubt.differences:
                squares[judge].append(difference**2)
    typical = {}
    for judge, values in squares.items():
        typical[judge] = math.sqrt(math.fsum(values) / len(values)) or 1.0
    return typical


def _is_repeated(decision: Decision, last: Decision) -> bool:
    """Whether ``decision`` was stored already as the ``last`` one."""
    fields = ("edit", "verdict", "text", "who", "withdraws")
    return all(getattr(decision, field) == getattr(last, field) for field in fields)
