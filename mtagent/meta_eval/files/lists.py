"""Files with a score a line and no names of segments: mt-metrics-eval's, those of COMET, plain numbers."""

from __future__ import annotations

from pathlib import Path

from mtagent.errors import InputError
from mtagent.formats.files import lines_of
from mtagent.meta_eval.files.columns import digest
from mtagent.meta_eval.files.side import ONE, Given, Key, Side
from mtagent.metrics.score_formats import read_scores
from mtagent.records import ErrorSpan
from mtagent.span_files import mtme

SEGMENTS, SYSTEMS, RATINGS = ".seg.score", ".sys.score", ".seg.rating"


def listed(path: Path, name: str | None = None) -> Side:
    """The scores of a file; beside a ``NAME.seg.score``, those of ``NAME.sys.score`` and ``NAME.seg.rating`` too.

    Raises :class:`InputError`.
    """
    stem = path.name.removesuffix(SEGMENTS).removesuffix(SYSTEMS).removesuffix(RATINGS)
    if path.name.endswith((SYSTEMS, RATINGS)):
        raise InputError(f"{path}: give {stem}{SEGMENTS}; what stands beside it is read as well")
    beside = {end: path.with_name(stem + end) for end in (SYSTEMS, RATINGS)}
    errors = _ratings(beside[RATINGS]) if path.name.endswith(SEGMENTS) and beside[RATINGS].is_file() else {}
    systems = _systems(beside[SYSTEMS]) if path.name.endswith(SEGMENTS) and beside[SYSTEMS].is_file() else {}
    segments = _segments(path, errors)
    called = name or (stem if stem != path.name else path.name.split(".")[0])
    signature = f"file:{path.name}|sha256:{digest(path)}" + (f"|sys:{digest(beside[SYSTEMS])}" if systems else "")
    return Side(called, str(path), signature, segments, systems, numbered=True)


def _segments(path: Path, errors: dict[Key, tuple[ErrorSpan, ...] | None]) -> dict[Key, Given]:
    found: dict[Key, Given] = {}
    for system, scores in read_scores(path).items():
        metrics = {one.metric for one in scores}
        if len(metrics) > 1:
            raise InputError(f"{path}: has scores of {', '.join(map(str, metrics))}; name the file .jsonl to read all")
        for number, one in enumerate(scores, start=1):
            key = Key(system or ONE, str(number))
            found[key] = Given(one.value, one.where, one.translation, errors.get(key))
    return found


def _systems(path: Path) -> dict[str, Given]:
    """Scores of systems; none at all where one is missing: the means of segments then take their place."""
    found: dict[str, Given] = {}
    for system, (first, *more) in read_scores(path).items():
        if more or system is None:
            where = more[0].where if more else first.where
            raise InputError(f"{where}: a line is SYSTEM⇥SCORE, and each system has one")
        found[system] = Given(first.value, first.where)
    return {} if any(given.score is None for given in found.values()) else found


def _ratings(path: Path) -> dict[Key, tuple[ErrorSpan, ...] | None]:
    if not any(line.text.strip() for line in lines_of(path)):
        return {}
    return {Key(one.system or ONE, one.segment or ""): one.errors for one in mtme.read(path)}
