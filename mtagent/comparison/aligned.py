"""The segments that several runs have in common, in one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from mtagent.comparison.held import HeldRun, restricted
from mtagent.errors import InputError
from mtagent.records import Segment

_SHOWN = 40
_Key = tuple[str, str, str, str, int]
_WAY_OUT = "--shared compares the segments that all runs have"


class Aligned(NamedTuple):
    """Runs with the same segments, and what had to be left out for that."""

    runs: tuple[HeldRun, ...]
    remarks: tuple[str, ...] = ()


def aligned(runs: Sequence[HeldRun], *, shared: bool = False) -> Aligned:
    """The ``runs`` with the same segments in the order of the first.

    Segments are the same where id, source and languages are. Raises :class:`InputError` naming the first difference;
    with ``shared`` the segments that not all have are left out instead.
    """
    keys = [_keys(run) for run in runs]
    if all(own == keys[0] for own in keys):
        return Aligned(tuple(runs))
    if not shared:
        other = next(number for number, own in enumerate(keys) if own != keys[0])
        raise InputError(f"{_difference(runs[0], runs[other])}; {_WAY_OUT}")
    common = set(keys[0]).intersection(*keys[1:])
    if not common:
        raise InputError(f"runs {', '.join(run.name for run in runs)}: no segment is in all of them")
    wanted = [key for key in keys[0] if key in common]
    kept = []
    for run, own in zip(runs, keys, strict=True):
        place = {key: index for index, key in enumerate(own)}
        kept.append(restricted(run, [place[key] for key in wanted]))
    return Aligned(tuple(kept), (_left_out(runs, len(wanted)),))


def _keys(run: HeldRun) -> list[_Key]:
    seen: Counter[tuple[str, ...]] = Counter()
    keys = []
    for segment in (one.segment for one in run.passed):
        same = (segment.id, segment.source, segment.source_lang, segment.target_lang)
        seen[same] += 1
        keys.append((*same, seen[same]))
    return keys


def _difference(one: HeldRun, other: HeldRun) -> str:
    """The first segment in which two runs differ, and how."""
    for number, (ours, theirs) in enumerate(zip(one.passed, other.passed, strict=False), start=1):
        if found := _differing(ours.segment, theirs.segment):
            field, a, b = found
            return f"segment {number} has another {field} in run {other.name!r} than in run {one.name!r}: {b} and {a}"
    few, many = sorted((one, other), key=lambda run: len(run.passed))
    first = many.passed[len(few.passed)].segment.id
    return (
        f"run {many.name!r} has {len(many.passed)} segments, and run {few.name!r} has {len(few.passed)}; "
        f"segment {first!r} is the first that it lacks"
    )


def _differing(one: Segment, other: Segment) -> tuple[str, str, str] | None:
    for field in ("id", "source_lang", "target_lang", "source"):
        ours, theirs = str(getattr(one, field)), str(getattr(other, field))
        if ours != theirs:
            return field.replace("_lang", " language"), _short(ours), _short(theirs)
    return None


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _left_out(runs: Sequence[HeldRun], kept: int) -> str:
    lost = ", ".join(f"{len(run.passed) - kept} of {len(run.passed)} of {run.name}" for run in runs)
    return f"{kept} segments are in all runs, and compared; left out: {lost}"
