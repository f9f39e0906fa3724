"""Scores of several systems side by side, with tests and flags; ``scoring_files.py`` reads files and runs for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mtagent.candidates import chosen
from mtagent.errors import ConfigError, InputError
from mtagent.metrics.distance import characters_to, ter_to
from mtagent.metrics.flags import UNKNOWN, Flag, flags
from mtagent.metrics.named import make_metrics
from mtagent.metrics.overlap import Overlap
from mtagent.metrics.significance import Compared, Counted, Interval, Resampling, compared, counted, intervals
from mtagent.protocols import BySystem, Metric, Releases
from mtagent.records import Score, Segment


class Corpus(NamedTuple):
    """Segments and their translations by system; ``None`` = the system has none."""

    segments: list[Segment]
    systems: dict[str, list[str | None]]


class Entry(NamedTuple):
    """One system's score; the interval and the p-value where they were asked for."""

    system: str
    score: Score
    interval: Interval | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class ScoreReport:
    """What the systems of a corpus score.

    ``entries`` holds, metric by metric, one entry for each system; ``flags`` by system what is wrong with each segment
    as a whole; ``first`` is the system that the others were tested against, where they were (``resampling``).
    """

    segments: tuple[str, ...]
    systems: tuple[str, ...]
    entries: tuple[tuple[Entry, ...], ...]
    flags: Mapping[str, tuple[tuple[Flag, ...], ...]]
    resampling: Resampling | None = None
    paired: bool = False


@dataclass(frozen=True)
class Wanted:
    """What to score with: metrics by name or of one's own, how to resample, and where edits are counted from.

    ``resampling`` gives intervals, and with ``paired`` also a test of each system against the first one. ``edits_from``
    names a system: TER and characters from its texts to those of each other are added. ``systems`` are those to read
    from files or a run; none = all. ``comet_python`` is the Python of another environment that runs COMET.
    """

    metrics: Sequence[str | Metric] = ("bleu", "chrf", "ter")
    resampling: Resampling | None = None
    paired: bool = False
    edits_from: str | None = None
    systems: Sequence[str] = ()
    comet_python: Path | None = None


def score_texts(
    translations: Sequence[str] | Mapping[str, Sequence[str | None]],
    references: Sequence[str],
    target_lang: str,
    *,
    sources: Sequence[str] | None = None,
    source_lang: str = UNKNOWN,
    wanted: Wanted = Wanted(),
) -> ScoreReport:
    """Score translations, or those of several systems by name. Raises :class:`ConfigError` for lists that do not fit.

    ``sources`` are for the flags only: without them copies are not seen.
    """
    systems = translations if isinstance(translations, Mapping) else {"translation": translations}
    lists = [*systems.items(), ("references", references), *([] if sources is None else [("sources", sources)])]
    if len({len(texts) for _, texts in lists}) > 1:
        listed = ", ".join(f"{name} {len(texts)}" for name, texts in lists)
        raise ConfigError(f"the lists have different lengths: {listed}")
    segments = [
        Segment(id=str(i + 1), source=sources[i] if sources else "", source_lang=source_lang, target_lang=target_lang,
                reference=reference)
        for i, reference in enumerate(references)
    ]  # fmt: skip
    return score_corpus(Corpus(segments, {name: list(texts) for name, texts in systems.items()}), wanted)


def score_corpus(corpus: Corpus, wanted: Wanted = Wanted()) -> ScoreReport:
    """Score every system with every metric. Missing translations are scored as empty ones, and flagged."""
    segments = corpus.segments
    if not segments or not corpus.systems:
        raise InputError("there is nothing to score: " + ("no translation" if segments else "no segment") + " in it")
    if wanted.paired and wanted.resampling is None:
        wanted = replace(wanted, resampling=Resampling())
    if wanted.paired and len(corpus.systems) < 2:
        raise ConfigError("a paired test compares systems with the first one, and there is only one: give more (-t)")
    texts = {name: [text or "" for text in found] for name, found in corpus.systems.items()}
    metrics = make_metrics(wanted.metrics, _target_lang(segments), comet_python=wanted.comet_python)
    entries = _scored(metrics, segments, texts, wanted)
    return ScoreReport(
        segments=tuple(segment.id for segment in segments),
        systems=tuple(corpus.systems),
        entries=(*entries, *_edits(texts, wanted.edits_from, _target_lang(segments))),
        flags=_flagged(corpus),
        resampling=wanted.resampling,
        paired=wanted.paired,
    )


def _flagged(corpus: Corpus) -> dict[str, tuple[tuple[Flag, ...], ...]]:
    """The flags of each system's texts; stages share most texts, and each is looked at once."""
    found: dict[str, list[tuple[Flag, ...]]] = {name: [] for name in corpus.systems}
    for segment, *texts in zip(corpus.segments, *corpus.systems.values(), strict=True):
        known = {text: flags(segment, text) for text in dict.fromkeys(texts)}
        for of_system, text in zip(found.values(), texts, strict=True):
            of_system.append(known[text])
    return {name: tuple(of_system) for name, of_system in found.items()}


def _target_lang(segments: Iterable[Segment]) -> str:
    languages = sorted({segment.target_lang for segment in segments})
    if len(languages) > 1:
        raise ConfigError(f"the segments are in {', '.join(languages)}: score each target language by itself")
    return languages[0]


def _scored(
    metrics: Sequence[Metric], segments: Sequence[Segment], texts: Mapping[str, Sequence[str]], wanted: Wanted
) -> list[tuple[Entry, ...]]:
    """One group of entries for each metric."""
    groups, rows = [], []
    for metric in metrics:
        each = metric.each(tuple(texts)) if isinstance(metric, BySystem) else [metric] * len(texts)
        scores = [one.score(segments, found) for one, found in zip(each, texts.values(), strict=True)]
        if isinstance(metric, Releases):
            metric.release()
        groups.append(tuple(map(Entry, texts, scores)))
        if wanted.resampling:
            found = zip(each, texts.values(), scores, strict=True)
            rows.append([counted(one, segments, its, score, scores) for one, its, score in found])
    if wanted.resampling is None:
        return groups
    tests = _resampled(rows, wanted.resampling, paired=wanted.paired)
    return [
        tuple(_tested(entry, test, wanted.resampling) for entry, test in zip(group, of_group, strict=True))
        for group, of_group in zip(groups, tests, strict=True)
    ]


def _resampled(rows: list[list[Counted]], how: Resampling, *, paired: bool) -> list[list[Compared]]:
    if paired:
        return compared(rows, how)
    found = iter(intervals([system for group in rows for system in group], how))
    return [[Compared(next(found), None) for _ in group] for group in rows]


def _tested(entry: Entry, test: Compared, how: Resampling) -> Entry:
    score = entry.score.model_copy(update={"signature": how.signed(entry.score.signature)})
    return Entry(entry.system, score, test.interval, test.p_value)


def _edits(texts: Mapping[str, list[str]], start: str | None, target_lang: str) -> list[tuple[Entry, ...]]:
    """TER and characters from the texts of ``start`` to those of each system."""
    if start is None:
        return []
    (start,) = chosen(tuple(texts), [start], "--edits-from")
    ter = Overlap("ter", target_lang)
    ters = [ter_to(texts[start], found, target_lang, ter) for found in texts.values()]
    characters = [characters_to(texts[start], found) for found in texts.values()]
    return [
        tuple(
            Entry(system, score.model_copy(update={"metric": f"{score.metric} from {start}"}))
            for system, score in zip(texts, scores, strict=True)
        )
        for scores in (ters, characters)
    ]
