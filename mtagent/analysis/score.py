"""Scores on paper: text as sacreBLEU prints it, Markdown, LaTeX, JSON with sacreBLEU's keys; always with signatures.

``width`` is the number of digits after the point, by default for each metric its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.analysis import table
from mtagent.analysis.table import Table
from mtagent.errors import ConfigError, InputError
from mtagent.formats.ratings import chosen
from mtagent.metrics.named import make_metrics
from mtagent.metrics.overlap import Overlap, characters_to, ter_to
from mtagent.metrics.protocol import BySystem, Metric, Releases
from mtagent.metrics.significance import (
    FEW,
    SIGNIFICANT,
    Compared,
    Counted,
    Interval,
    Resampling,
    compared,
    counted,
    intervals,
)
from mtagent.records import Score, Segment
from mtagent.text.foreign import FLAGS, UNKNOWN, Flag, flags


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


_SHOWN = 10


def text(report: ScoreReport, width: int | None = None) -> str:
    """One system: a line per metric, as sacreBLEU has it. Several: a table, and the signatures below."""
    if len(report.systems) == 1:
        return "\n".join(
            [
                *_aligned([_line(entries[0], digits(_scores(entries), width)) for entries in report.entries]),
                *_remarks(report),
            ]
        )
    return table.text([_table(report, width)], _below(report))


def markdown(report: ScoreReport, width: int | None = None) -> str:
    """A table in Markdown, and the signatures in a list below."""
    return table.markdown([_table(report, width)], _below(report))


def latex(report: ScoreReport, width: int | None = None) -> str:
    """A table for the booktabs package; signatures are comments."""
    return table.latex([_table(report, width)], _below(report))


def as_json(report: ScoreReport, width: int | None = None) -> str:
    """An object for each metric and system, in a list where there are several."""
    objects = [
        _object(report, entry, digits(_scores(entries), width)) for entries in report.entries for entry in entries
    ]
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=1, ensure_ascii=False)


def sentences_as_text(report: ScoreReport, width: int | None = None) -> Iterator[str]:
    """A line per metric, system and segment, as sacreBLEU has it; with several, system and segment stand before it."""
    alone = len(report.systems) == len(report.entries) == 1
    for system, number, segment in _segments(report):
        for entries in report.entries:
            score = entries[number].score
            value = f"{score.segments[segment]:.{digits(_scores(entries), width)}f}"
            line = f"{score.metric}|{score.segment_signature or score.signature} = {value}"
            flagged = report.flags[system][segment]
            suffix = f" [{', '.join(flagged)}]" if flagged else ""
            yield line + suffix if alone else f"{system}\t{report.segments[segment]}\t{line}{suffix}"


def sentences_as_json(report: ScoreReport, width: int | None = None) -> Iterator[str]:
    """JSON Lines, an object per metric, system and segment; the metric ``scores-file`` reads them back."""
    for system, number, segment in _segments(report):
        for entries in report.entries:
            score = entries[number].score
            values = {
                "id": report.segments[segment], "system": system, "name": score.metric,
                "score": round(score.segments[segment], digits(_scores(entries), width)),
                "signature": score.segment_signature or score.signature, "flags": list(report.flags[system][segment]),
            }  # fmt: skip
            yield json.dumps(values, ensure_ascii=False)


def digits(scores: Iterable[Score], width: int | None) -> int:
    """How many digits after the point ``scores`` of one metric are shown with: ``width``, or what suits all of them."""
    return min((score.digits for score in scores), default=2) if width is None else width


def _scores(entries: Iterable[Entry]) -> list[Score]:
    return [entry.score for entry in entries]


def _segments(report: ScoreReport) -> Iterator[tuple[str, int, int]]:
    for number, system in enumerate(report.systems):
        for segment in range(len(report.segments)):
            yield system, number, segment


def _line(entry: Entry, width: int) -> str:
    score = entry.score
    return f"{score.metric}|{score.signature} = {_cell(entry, width)} {score.detail}".rstrip()


def _aligned(lines: list[str]) -> list[str]:
    """The lines with their signs of equality below each other."""
    at = max(line.index(" = ") for line in lines)
    return [" " * (at - line.index(" = ")) + line for line in lines]


def _table(report: ScoreReport, width: int | None) -> Table:
    head = ("system", *(entries[0].score.metric for entries in report.entries))
    rows = (
        (system, *(_cell(entries[number], digits(_scores(entries), width)) for entries in report.entries))
        for number, system in enumerate(report.systems)
    )
    return Table("", head, tuple(rows))


def _below(report: ScoreReport) -> list[str]:
    return [*_signatures(report), *_remarks(report)]


def _cell(entry: Entry, width: int) -> str:
    return tested(entry.score.value, entry.interval, entry.p_value, width)


def tested(score: float, interval: Interval | None, p_value: float | None, width: int, *more: str) -> str:
    """A score with its interval, what ``more`` there is of it, and its p-value, each in brackets."""
    parts = [f"{score:.{width}f}", *([_confidence(interval, width)] if interval else []), *more]
    if p_value is not None:
        parts.append(f"(p = {p_value:.4f})" + ("*" if p_value < SIGNIFICANT else ""))
    return " ".join(parts)


def _confidence(interval: Interval, width: int) -> str:
    return f"(μ = {interval.mean:.{width}f} ± {interval.half_width:.{width}f})"


def _signatures(report: ScoreReport) -> list[str]:
    """Each signature once: those of scores that were made elsewhere may differ by system."""
    return list(dict.fromkeys(f"{e.score.metric}|{e.score.signature}" for entries in report.entries for e in entries))


def _remarks(report: ScoreReport) -> list[str]:
    """What the test was, and what is flagged."""
    return [
        *_test_remarks(report),
        *(f"{system}: {_score_tables_flagged(report, system)}" for system in _with_flags(report)),
    ]


def _test_remarks(report: ScoreReport) -> list[str]:
    if report.resampling is None or not report.paired:
        return []
    test = f"each system against {report.systems[0]}: {report.resampling.told}"
    number = len(report.segments)
    return [test, *([f"segments: {number}, too few for a p-value to mean much"] if number < FEW else [])]


def _with_flags(report: ScoreReport) -> list[str]:
    return [system for system in report.systems if any(report.flags[system])]


def _score_tables_flagged(report: ScoreReport, system: str) -> str:
    """``2 empty (4, 9), 1 copied (12)``."""
    found = _by_flag(report, system)
    return ", ".join(
        f"{len(ids)} {flag} ({', '.join(ids[:_SHOWN])}{', …' if len(ids) > _SHOWN else ''})"
        for flag, ids in found.items()
    )


def _by_flag(report: ScoreReport, system: str) -> dict[str, list[str]]:
    """The ids of the flagged segments, by flag."""
    pairs = list(zip(report.segments, report.flags[system], strict=True))
    by_flag = {str(flag): [segment for segment, found in pairs if flag in found] for flag in FLAGS}
    return {flag: ids for flag, ids in by_flag.items() if ids}


def _object(report: ScoreReport, entry: Entry, width: int) -> dict[str, Any]:
    score = entry.score
    found: dict[str, Any] = {
        "name": score.metric, "score": round(score.value, width), "signature": score.signature, "system": entry.system,
    }  # fmt: skip
    if entry.interval:
        found["confidence_mean"] = round(entry.interval.mean, width)
        found["confidence_var"] = round(entry.interval.half_width, width)
        found["confidence"] = _confidence(entry.interval, width)[1:-1]
    if report.paired:
        found["p_value"] = entry.p_value
    if score.detail:
        found["verbose_score"] = score.detail
    for part in score.signature.split("|"):
        key, colon, value = part.partition(":")
        if colon:
            found.setdefault(key, value)
    return {**found, "flags": _by_flag(report, entry.system)}
