"""What translations score: those of files, of the stages of a run, or in lists; several systems side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.config import Config
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of, spooled_copies
from mtagent.formats.lines import check_counts
from mtagent.formats.ratings import Material, chosen
from mtagent.jobs.inputs import RatingInputs
from mtagent.jobs.rate import stored_stages
from mtagent.metrics.overlap import Overlap, characters_to, ter_to
from mtagent.metrics.protocol import HeavyMetric, Metric, for_systems, make_metrics
from mtagent.metrics.significance import (
    FEW,
    SIGNIFICANT,
    Interval,
    Resampling,
    Significance,
    intervals,
    paired_tests,
    statistics_of,
)
from mtagent.records import Score, Segment
from mtagent.store.store import open_existing
from mtagent.text import table
from mtagent.text.foreign import FLAGS, UNKNOWN, Flag, flags
from mtagent.text.table import Table


class Corpus(NamedTuple):
    """Segments and their translations by system; ``None`` = missing."""

    segments: list[Segment]
    systems: dict[str, list[str | None]]


class SystemScore(NamedTuple):
    """The score of a system, with interval and p-value if requested."""

    system: str
    score: Score
    interval: Interval | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class ScoreReport:
    """What the systems of a corpus score.

    ``entries`` holds, metric by metric, a score for each system; ``flags``, by system, what is wrong with each segment.
    ``paired`` tests are against the first system.
    """

    segments: tuple[str, ...]
    systems: tuple[str, ...]
    entries: tuple[tuple[SystemScore, ...], ...]
    flags: Mapping[str, tuple[tuple[Flag, ...], ...]]
    resampling: Resampling | None = None
    paired: bool = False

    def flagged(self, system: str) -> dict[str, list[str]]:
        """The ids of the flagged segments of ``system``, by flag."""
        pairs = list(zip(self.segments, self.flags[system], strict=True))
        by_flag = {str(flag): [segment for segment, own_flags in pairs if flag in own_flags] for flag in FLAGS}
        return {flag: ids for flag, ids in by_flag.items() if ids}


@dataclass(frozen=True)
class ScoreOptions:
    """How to score: metrics (``NAME[:OPTION=VALUE,…]``, or objects), tests and intervals.

    ``paired`` tests all systems against the first one. ``edits_from`` names a system, from whose texts to those of the
    others TER and characters are added. ``systems`` selects those to read from files or a run (default: all).
    ``comet_python`` is the Python of another environment, which runs COMET.
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
    scoring: ScoreOptions = ScoreOptions(),
) -> ScoreReport:
    """Score translations, or those of several systems by name. Raises :class:`ConfigError` for lists of different
    lengths.

    ``sources`` serve the flags only: without them copies are not detected.
    """
    systems = translations if isinstance(translations, Mapping) else {"translation": translations}
    lists = [*systems.items(), ("references", references), *([] if sources is None else [("sources", sources)])]
    if len({len(texts) for _, texts in lists}) > 1:
        listed = ", ".join(f"{name} {len(texts)}" for name, texts in lists)
        raise ConfigError(f"the lists have different lengths: {listed}")
    segments = _numbered(references, source_lang, target_lang, sources)
    return score_corpus(Corpus(segments, {name: list(texts) for name, texts in systems.items()}), scoring)


def score_files(
    translations: Sequence[tuple[str, Path]],
    reference: Path | None,
    config: Config,
    *,
    source: Path | None = None,
    source_format: str | None = None,
    scoring: ScoreOptions = ScoreOptions(),
) -> ScoreReport:
    """Score line-aligned files (pairs of system and file), or a table with translations and references (``source``).

    ``config`` gives the languages; its ``limit`` is ignored, since a score of the first segments would look like one of
    all. Raises :class:`InputError` if the files have different numbers of lines.
    """
    if source is not None:
        inputs = RatingInputs(source, tuple(translations), reference, source_format, tuple(scoring.systems))
        with inputs.opened(config.model_copy(update={"limit": None})) as (material, _):
            return score_corpus(_gathered(material), scoring)
    names = [name for name, _ in translations]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"two systems are called {twice!r}: name them with -t NAME=FILE")
    names = [*chosen(names, scoring.systems, "-t")]
    files = {f"-t {name}": path for name, path in translations if name in names}
    with spooled_copies({**files, **({"-r": reference} if reference else {})}) as copies:
        check_counts(copies.values())
        texts = {name: [line.text for line in lines_of(path)] for name, path in copies.items()}
    number = len(next(iter(texts.values()), []))
    references: Sequence[str | None] = texts.pop("-r") if reference else [None] * number
    segments = _numbered(references, config.source_lang or UNKNOWN, config.target_lang or UNKNOWN)
    systems: dict[str, list[str | None]] = dict(zip(names, map(list, texts.values()), strict=True))
    return score_corpus(Corpus(segments, systems), scoring)


def score_run(
    name: str, config: Config, *, reference: Path | None = None, scoring: ScoreOptions = ScoreOptions()
) -> ScoreReport:
    """Score the stages of the stored chain run ``name``.

    The lines of ``reference`` replace the run's own references.
    """
    with open_existing(config.store) as store:
        unlimited = config.model_copy(update={"limit": None})
        corpus = _gathered(stored_stages(store, unlimited, name, scoring.systems))
    if reference is None:
        return score_corpus(corpus, scoring)
    texts = [line.text for line in lines_of(reference)]
    if len(texts) != len(corpus.segments):
        raise InputError(f"{reference}: has {len(texts)} lines, and run {name!r} has {len(corpus.segments)} segments")
    segments = [
        segment.model_copy(update={"reference": text}) for segment, text in zip(corpus.segments, texts, strict=True)
    ]
    return score_corpus(Corpus(segments, corpus.systems), scoring)


def _gathered(material: Material) -> Corpus:
    candidates = list(material.candidates())
    systems = {name: [candidate.translations[name] for candidate in candidates] for name in material.systems}
    return Corpus([candidate.segment for candidate in candidates], systems)


def _numbered(
    references: Sequence[str | None], source_lang: str, target_lang: str, sources: Sequence[str] | None = None
) -> list[Segment]:
    """A segment for each reference, with its number as id."""
    pairs = zip(sources or [""] * len(references), references, strict=True)
    return [
        Segment(id=str(i), source=source, source_lang=source_lang, target_lang=target_lang, reference=reference)
        for i, (source, reference) in enumerate(pairs, start=1)
    ]


def score_corpus(corpus: Corpus, scoring: ScoreOptions = ScoreOptions()) -> ScoreReport:
    """Score every system with every metric. Missing translations are scored as empty, and flagged."""
    segments = corpus.segments
    if not segments or not corpus.systems:
        raise InputError("there is nothing to score: " + ("no translation" if segments else "no segment") + " in it")
    if scoring.paired and scoring.resampling is None:
        scoring = replace(scoring, resampling=Resampling())
    if scoring.paired and len(corpus.systems) < 2:
        raise ConfigError("a paired test compares systems with the first one, and there is only one: give more (-t)")
    languages = sorted({segment.target_lang for segment in segments})
    if len(languages) > 1:
        raise ConfigError(f"the segments are in {', '.join(languages)}: score each target language by itself")
    texts = {name: [text or "" for text in each] for name, each in corpus.systems.items()}
    metrics = make_metrics(scoring.metrics, languages[0], comet_python=scoring.comet_python)
    entries = _scored(metrics, segments, texts, scoring)
    if scoring.edits_from is not None:
        (start,) = chosen(tuple(texts), [scoring.edits_from], "--edits-from")
        ter = Overlap("ter", languages[0])
        edits = [
            [ter_to(texts[start], each, languages[0], ter) for each in texts.values()],
            [characters_to(texts[start], each) for each in texts.values()],
        ]
        for scores in edits:
            named = (score.model_copy(update={"metric": f"{score.metric} from {start}"}) for score in scores)
            entries.append(tuple(map(SystemScore, texts, named)))
    flagged: dict[str, list[tuple[Flag, ...]]] = {name: [] for name in corpus.systems}
    for segment, *each in zip(segments, *corpus.systems.values(), strict=True):
        known = {text: flags(segment, text) for text in dict.fromkeys(each)}  # stages share most texts
        for of_system, text in zip(flagged.values(), each, strict=True):
            of_system.append(known[text])
    return ScoreReport(
        segments=tuple(segment.id for segment in segments),
        systems=tuple(corpus.systems),
        entries=tuple(entries),
        flags={name: tuple(of_system) for name, of_system in flagged.items()},
        resampling=scoring.resampling,
        paired=scoring.paired,
    )


def _scored(
    metrics: Sequence[Metric], segments: Sequence[Segment], texts: Mapping[str, Sequence[str]], scoring: ScoreOptions
) -> list[tuple[SystemScore, ...]]:
    """A group of scores for each metric, tested as ``scoring`` says."""
    groups, counts = [], []
    for metric in metrics:
        each = for_systems(metric, tuple(texts))
        pairs = list(zip(each, texts.values(), strict=True))
        scores = [system_metric.score(segments, translations) for system_metric, translations in pairs]
        groups.append(tuple(map(SystemScore, texts, scores)))
        if scoring.resampling:
            counts.append(
                [
                    statistics_of(system_metric, segments, translations, score, scores)
                    for (system_metric, translations), score in zip(pairs, scores, strict=True)
                ]
            )
        if isinstance(metric, HeavyMetric):
            metric.release()
    if scoring.resampling is None:
        return groups
    if scoring.paired:
        tests = paired_tests(counts, scoring.resampling)
    else:
        alone = iter(intervals([system for group in counts for system in group], scoring.resampling))
        tests = [[Significance(next(alone), None) for _ in group] for group in counts]
    signed = scoring.resampling.signed
    return [
        tuple(
            SystemScore(system, score.model_copy(update={"signature": signed(score.signature)}), *test)
            for (system, score, *_), test in zip(group, of_group, strict=True)
        )
        for group, of_group in zip(groups, tests, strict=True)
    ]


_SHOWN = 10


def shown(report: ScoreReport, form: str = "text", width: int | None = None) -> str:
    """The scores as ``text``, ``markdown`` or ``latex``; a single system as text has a line per metric, as in
    sacreBLEU.

    ``width`` is the number of digits after the point; by default each metric has its own. Signatures, the test and
    flags follow.
    """
    below = list(dict.fromkeys(f"{e.score.metric}|{e.score.signature}" for group in report.entries for e in group))
    remarks = []
    if report.resampling and report.paired:
        remarks.append(f"each system against {report.systems[0]}: {report.resampling.description}")
        if (number := len(report.segments)) < FEW:
            remarks.append(f"segments: {number}, too few for a p-value to mean much")
    for system in report.systems:
        if flagged := report.flagged(system):
            remarks.append(f"{system}: {listed_flags(flagged, _SHOWN)}")
    if form == "text" and len(report.systems) == 1:
        lines = []
        for (entry,) in report.entries:
            score = entry.score
            value = tested(score.value, entry.interval, None, digits([score], width))
            lines.append((f"{score.metric}|{score.signature}", f"{value} {score.detail}".rstrip()))
        at = max(len(name) for name, _ in lines)
        return "\n".join([*(f"{name:>{at}} = {value}" for name, value in lines), *remarks])
    head = ("system", *(entries[0].score.metric for entries in report.entries))
    rows = [[system] for system in report.systems]
    for entries in report.entries:
        own = digits((entry.score for entry in entries), width)
        for row, entry in zip(rows, entries, strict=True):
            row.append(tested(entry.score.value, entry.interval, entry.p_value, own))
    return table.FORMS[form]([Table("", head, tuple(map(tuple, rows)))], [*below, *remarks])


def as_json(report: ScoreReport, width: int | None = None) -> str:
    """An object with sacreBLEU's keys for each metric and system, in a list where there are several."""
    objects = []
    for entries in report.entries:
        own = digits((entry.score for entry in entries), width)
        for entry in entries:
            score, interval = entry.score, entry.interval
            fields: dict[str, Any] = {
                "name": score.metric, "score": round(score.value, own), "signature": score.signature,
                "system": entry.system,
            }  # fmt: skip
            if interval:
                fields["confidence_mean"] = round(interval.mean, own)
                fields["confidence_var"] = round(interval.half_width, own)
                fields["confidence"] = _confidence(interval, own)
            if report.paired:
                fields["p_value"] = entry.p_value
            if score.detail:
                fields["verbose_score"] = score.detail
            for part in score.signature.split("|"):
                key, colon, value = part.partition(":")
                if colon:
                    fields.setdefault(key, value)
            objects.append({**fields, "flags": report.flagged(entry.system)})
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=1, ensure_ascii=False)


def sentences(report: ScoreReport, form: str = "text", width: int | None = None) -> Iterator[str]:
    """A line per system, segment and metric: as ``text`` like sacreBLEU's, as ``json`` an object.

    The metric ``scores-file`` reads the objects back.
    """
    alone = len(report.systems) == len(report.entries) == 1
    for number, system in enumerate(report.systems):
        for place, (segment, flagged) in enumerate(zip(report.segments, report.flags[system], strict=True)):
            for entries in report.entries:
                score, own = entries[number].score, digits((entry.score for entry in entries), width)
                value, signature = score.segments[place], score.segment_signature or score.signature
                if form == "json":
                    fields = {
                        "id": segment, "system": system, "name": score.metric, "score": round(value, own),
                        "signature": signature, "flags": list(flagged),
                    }  # fmt: skip
                    yield json.dumps(fields, ensure_ascii=False)
                else:
                    start = "" if alone else f"{system}\t{segment}\t"
                    end = f" [{', '.join(flagged)}]" if flagged else ""
                    yield f"{start}{score.metric}|{signature} = {value:.{own}f}{end}"


def digits(scores: Iterable[Score], width: int | None = None) -> int:
    """The digits after the point for ``scores`` of one metric: ``width``, or what suits all of them."""
    return min((score.digits for score in scores), default=2) if width is None else width


def tested(score: float, interval: Interval | None, p_value: float | None, width: int, *more: str) -> str:
    """A score with its interval, ``more`` text and its p-value in brackets."""
    parts = [f"{score:.{width}f}", *([f"({_confidence(interval, width)})"] if interval else []), *more]
    if p_value is not None:
        parts.append(f"(p = {p_value:.4f})" + ("*" if p_value < SIGNIFICANT else ""))
    return " ".join(parts)


def _confidence(interval: Interval, width: int) -> str:
    return f"μ = {interval.mean:.{width}f} ± {interval.half_width:.{width}f}"


def listed_flags(flagged: Mapping[str, Sequence[str]], most: int) -> str:
    """``2 empty (4, 9), 1 copied (12)``, with the first ids."""
    return ", ".join(
        f"{len(ids)} {flag} ({', '.join(ids[:most])}{', …' if len(ids) > most else ''})"
        for flag, ids in flagged.items()
    )
