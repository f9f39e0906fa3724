"""The queue of a review: the segments of runs, those first where something is most likely wrong; decisions on them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.chain.decided import Decided, findings
from mtagent.chain.guards import Damage
from mtagent.decisions import Decision, fingerprint, text_hash
from mtagent.errors import ConfigError, DecidedElsewhere, NotStored, StoreError
from mtagent.jobs.decide import DecidedRun
from mtagent.records import Chain, GainCause, Step, guards_of, judgements_of
from mtagent.store.store import Store
from mtagent.text.amounts import counted

_SAID = ("edit", "verdict", "text", "who", "withdraws")
_ERROR = {"neutral": 0.0, "minor": 0.3, "major": 0.6, "critical": 0.8}
_NO_TRANSLATION, _FAILED, _REFUSED, _UNJUDGED = 1.0, 0.8, 0.35, 0.3
_STEEP = 2.0
"""How likely it is that something is wrong: an error that nobody corrected, by severity; a guard's refusal; a change
that no judge saw. A judge's typical difference in favour leaves a doubt of 12 %, a tie one of 50 %."""


class Doubt(NamedTuple):
    """Why a segment is worth a look. ``chance`` is that something is wrong; where judges decided, their ``differences``
    say it, ``sign`` is -1 for a change that was kept.
    """

    words: str
    chance: float = 0.0
    differences: tuple[tuple[str, float], ...] = ()
    sign: int = 1


def doubts(chain: Chain) -> list[Doubt]:
    """All that may be wrong with a chain's text."""
    if chain.given is None:
        return [Doubt("no translation", _NO_TRANSLATION)]
    found = list[Doubt]()
    for step in chain.steps:
        if step.verdict == "failed":
            found.append(Doubt(f"{step.stage} failed", _FAILED))
        elif step.stage != "translate" and step.verdict in ("kept", "rejected"):
            found += _of_step(step)
    if left := [error for step in chain.steps[-1:] for error in _remaining(chain, step)]:
        found.append(Doubt(f"{counted(len(left), 'error')} left", 1 - math.prod(1 - _ERROR[s] for s in left)))
    return found


def _of_step(step: Step) -> Iterable[Doubt]:
    guards = list(dict.fromkeys(guard for edit in step.edits for guard in edit.guards)) or list(guards_of(step.cause))
    if guards:
        yield Doubt(f"refused by {', '.join(guards)}", _REFUSED)
        if step.cause.kind == "guards":
            return
    cause = step.cause
    if isinstance(cause, GainCause) and cause.gain is not None:
        words, differences = f"expected gain {cause.gain:+.2g}", [("gain", cause.gain)]
    else:
        differences = [(j.judge, j.difference) for j in judgements_of(cause) if j.difference is not None]
        words = ", ".join(
            f"{j.judge} {'/'.join(j.choices) if j.choices else f'{j.difference or 0:+.2g}'}"
            for j in judgements_of(cause)
        )
    sign = 1 if step.verdict == "rejected" else -1
    yield Doubt(f"{step.verdict}{f', {words}' if words else ''}", _UNJUDGED, tuple(differences), sign)


def _remaining(chain: Chain, last: Step) -> list[str]:
    """The severities of the errors that are known to be in the final text."""
    after = last.rating("after") if last.verdict == "kept" else None
    if after is not None and after.errors is not None:
        return [error.severity for error in after.errors if error.severity != "neutral"]
    editors = [step for step in chain.steps if step.rating("editor")]
    return [error.severity for error in editors[-1].not_fixed] if editors else []


Plain = dict[str, Any]


class ReviewQueue:
    """Runs to decide on, by one person. Made for one thread, as the store is."""

    def __init__(self, store: Store, names: Sequence[str], who: str = "") -> None:
        self.store, self.names, self.who = store, list(dict.fromkeys(names)), who
        self._runs = [DecidedRun(store, name) for name in self.names]
        self._known = dict[int, tuple[object, list[tuple[Plain, list[Doubt]]]]]()

    @property
    def store_key(self) -> str:
        """What tells this store from others, without its path."""
        return text_hash(str(Path(self.store.database.path).resolve()))

    def obstacle(self) -> str:
        """Why no decision can be stored now; empty if one can."""
        try:
            with self.store.database.writing():
                return ""
        except StoreError as error:
            return str(error)

    def rows(self) -> list[Plain]:
        """All segments as plain data, those first that are most worth a look."""
        rows, all_doubts = list[Plain](), list[list[Doubt]]()
        for row, found in (pair for number in range(len(self._runs)) for pair in self._segments(number)):
            rows.append(row)
            all_doubts.append(found)
        squares = defaultdict[str, list[float]](list)  # by judge: what is a large difference for one is not for all
        for judge, difference in (pair for found in all_doubts for doubt in found for pair in doubt.differences):
            squares[judge].append(difference**2)
        usual = {judge: math.sqrt(math.fsum(values) / len(values)) or 1.0 for judge, values in squares.items()}
        for row, found in zip(rows, all_doubts, strict=True):
            chances = [_chance(doubt, usual) for doubt in found]
            row["why"] = [doubt.words for _, doubt in sorted(zip(chances, found, strict=True), reverse=True)]
            row["worth"] = round(1 - math.prod(1 - chance for chance in chances), 4)
        return sorted(rows, key=lambda row: (-row["worth"], row["run"], row["position"]))

    def _segments(self, number: int) -> list[tuple[Plain, list[Doubt]]]:
        """The segments of a run; those that were read before are read again where a decision is new."""
        run, versions, counts = self._runs[number], self._runs[number].log.versions(), self._runs[number].run.counts()
        known, segments = self._known.get(number, (None, []))
        if known != counts:
            segments = [
                (_row(number, position, result) | status(result, versions.get(position, 0)), doubts(result.chain))
                for position, result in run.segments()
            ]
            self._known[number] = counts, segments
        for row, _ in segments:
            if row["version"] != versions.get(row["position"], 0):
                row.update(status(*self.segment(number, row["position"])))
        return segments

    def segment(self, run: int, position: int) -> tuple[Decided, int]:
        """A segment with its decisions, and their version. Raises :class:`NotStored` where there is none."""
        opened = self._run(run, position)
        version = opened.log.version(position)
        return opened.segment(position), version

    def versions(self) -> list[dict[int, int]]:
        """Of each run, the versions of the segments with decisions."""
        return [run.log.versions() for run in self._runs]

    def check(self, run: int, position: int, text: str) -> tuple[str, tuple[Damage, ...]]:
        """Why ``text`` cannot be the segment's (empty if it can), and what the guards have against it there."""
        opened = self._run(run, position)
        chain = opened.run.chain_at(position)
        try:
            opened.checked(chain, Decision(segment=chain.segment.id, verdict="text", text=text), ())
        except ConfigError as error:
            return str(error), ()
        return "", () if chain.given is None else findings(chain, chain.given, text, opened.skip)

    def decide(self, run: int, position: int, decision: Decision, *, version: int, seen: str) -> int:
        """Write a decision on the segment of which ``version`` and the fingerprint ``seen`` were shown. Returns its id.

        If this very decision is the last one there, it is not written again: its answer was lost. Raises
        :class:`DecidedElsewhere` where the segment is another one by now, and :class:`ConfigError` for a decision that
        cannot be made.
        """
        opened = self._run(run, position)
        chain = opened.run.chain_at(position)
        if fingerprint(chain) != seen:
            raise DecidedElsewhere(f"segment {chain.segment.id} was done again meanwhile; look at it again")
        said = decision.model_copy(update={"segment": chain.segment.id, "who": self.who})
        history = opened.log.history(position)
        if history and history[-1].id != version:
            if all(getattr(history[-1], name) == getattr(said, name) for name in _SAID):
                return history[-1].id
            raise DecidedElsewhere(f"segment {chain.segment.id} was decided on elsewhere meanwhile; look at it again")
        made = opened.checked(chain, said, history)
        return opened.log.append([(position, made)], expected={position: version})[position]

    def _run(self, run: int, position: int) -> DecidedRun:
        if not 0 <= run < len(self._runs):
            raise ConfigError(f"there is no run {run} in this review")
        if not 0 <= position < 2**63 or self._runs[run].run.text_at(position) is None:
            raise NotStored(f"run {self.names[run]!r}: has no segment at position {position}, or was deleted")
        return self._runs[run]


def _chance(doubt: Doubt, usual: dict[str, float]) -> float:
    if not doubt.differences:
        return doubt.chance
    mean = math.fsum(difference / usual[judge] for judge, difference in doubt.differences) / len(doubt.differences)
    return 1 / (1 + math.exp(max(-50.0, min(50.0, -doubt.sign * _STEEP * mean))))


def _row(run: int, position: int, result: Decided) -> Plain:
    """What a segment is found by."""
    chain, segment = result.chain, result.chain.segment
    steps = [step for step in chain.steps if step.edits or step.verdict not in ("unchanged", "kept")]
    guards = [guard for step in steps for edit in step.edits for guard in edit.guards]
    guards += [guard for step in steps if step.verdict == "rejected" for guard in guards_of(step.cause)]
    spans = [edit.span for step in steps for edit in step.edits if edit.span]
    spans += [error for step in chain.steps for rating in step.ratings for error in rating.errors or ()]
    facts: dict[str, Iterable[str | None]] = {
        "state": [chain.state],
        "guard": guards,
        "category": [span.category for span in spans],
        "severity": [span.severity for span in spans],
        "stage": [step.stage for step in steps],
        "document": [segment.document],
    }
    return {
        "run": run,
        "position": position,
        "id": segment.id,
        "source_lang": segment.source_lang,
        "target_lang": segment.target_lang,
        "source": segment.source,
        "given": chain.given,
        "proposed": [edit.new for step in chain.steps for edit in step.edits],
        **{name: [value for value in dict.fromkeys(values) if value] for name, values in facts.items()},
    }


def status(result: Decided, version: int) -> Plain:
    """What was decided on a segment, as plain data."""
    last = result.decision or next((row.decision for row in reversed(result.edits) if row.decision), None)
    return {
        "text": result.text,
        "seen": fingerprint(result.chain),
        "version": version,
        "decided": "all" if result.approved else "some" if result.reviewed else "no",
        "verdict": last.verdict if last else None,
        "findings": len(result.findings),
    }
