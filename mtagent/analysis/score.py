"""Scores of translations in files, in the stages of a run, or in lists; several systems side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.config import Config
from mtagent.errors import ConfigError, InputError, MissingExtra
from mtagent.formats.files import lines_of, spooled_copies
from mtagent.formats.ratings import Material, chosen
from mtagent.formats.segments import check_counts
from mtagent.jobs.inputs import RatingInputs
from mtagent.metrics.overlap import Overlap, characters_to, ter_to
from mtagent.metrics.protocol import (
    CountsTogether,
    HeavyMetric,
    Metric,
    SegmentWithReferences,
    WarnsOfTokenized,
    for_systems,
    make_metric,
    make_metrics,
)
from mtagent.metrics.significance import (
    FEW,
    Bounds,
    Interval,
    PairedTests,
    Resampling,
    Significance,
    holm,
    is_significant,
    paired_tests,
    statistics_of,
)
from mtagent.records import Score, Segment
from mtagent.store.store import Store, open_existing
from mtagent.text import table
from mtagent.text.amounts import counted, first_of
from mtagent.text.foreign import FLAGS, UNKNOWN, Flag, flags
from mtagent.text.languages import pair_of
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
    """Of the difference to the first system, if that was tested."""
    p_holm: float | None = None
    """The same, corrected for the number of tested systems (Holm 1979)."""
    difference: float | None = None
    """To the first system, if that was tested."""
    difference_bounds: Bounds | None = None
    """The 95 % interval of this difference, by paired bootstrap."""


Pair = tuple[str, str]
"""Two systems: the second minus the first is the difference."""


@dataclass(frozen=True)
class ScoreReport:
    """The scores of the systems of a corpus."""

    segments: tuple[str, ...]
    systems: tuple[str, ...]
    entries: tuple[tuple[SystemScore, ...], ...]
    """Metric by metric, a score for each system."""
    flags: Mapping[str, tuple[tuple[Flag, ...], ...]]
    """By system, the faults of each segment."""
    resampling: Resampling | None = None
    pairs: tuple[Pair, ...] = ()
    """What was tested."""
    tests: tuple[tuple[Significance, ...], ...] = ()
    """Metric by metric, the test of each pair."""
    without_reference: tuple[str, ...] = ()
    """The segments of which one of several references is empty."""
    left_out: tuple[str, ...] = ()
    """Why default metrics are left out."""

    @property
    def paired(self) -> bool:
        """Whether differences were tested."""
        return bool(self.pairs)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which default metrics are missing, and why the tests prove little."""
        number = len(self.segments)
        if self.paired and number < FEW:
            return (*self.left_out, f"{counted(number, 'segment')}: too few for a p-value to mean much")
        return self.left_out

    def flagged(self, system: str) -> dict[str, list[str]]:
        """The ids of the flagged segments of ``system``, by flag."""
        ids_by_flag: dict[str, list[str]] = {}
        for flag in FLAGS:
            ids = []
            for segment, segment_flags in zip(self.segments, self.flags[system], strict=True):
                if flag in segment_flags:
                    ids.append(segment)
            if ids:
                ids_by_flag[flag] = ids
        return ids_by_flag


@dataclass(frozen=True)
class ScoreOptions:
    """How to score."""

    metrics: Sequence[str | Metric] = ("bleu", "chrf", "ter")
    """Each ``NAME[:OPTION=VALUE,…]``, or an object."""
    resampling: Resampling | None = None
    paired: bool = False
    """Test differences between systems."""
    pairs: Sequence[Pair] = ()
    """The differences to test; by default each system is tested against the first one."""
    edits_from: str | None = None
    """A system: edited words and characters from its texts to the texts of the others are added."""
    systems: Sequence[str] = ()
    """The systems to read from files or a run; all if empty."""
    comet_python: Path | None = None
    """The Python of another environment, which runs COMET."""


def score_texts(
    translations: Sequence[str] | Mapping[str, Sequence[str | None]],
    references: Sequence[str],
    target_lang: str,
    *,
    sources: Sequence[str] | None = None,
    source_lang: str = UNKNOWN,
    scoring: ScoreOptions = ScoreOptions(),
) -> ScoreReport:
    """Score translations, or the translations of several systems by name.

    Raises :class:`ConfigError` for lists of different lengths.

    ``sources`` serve the flags only: without them copies are not detected.
    """
    systems = translations if isinstance(translations, Mapping) else {"translation": translations}
    # A list, since a system may be called "references".
    lists: list[tuple[str, Sequence[str | None]]] = [*systems.items(), ("references", references)]
    if sources is not None:
        lists.append(("sources", sources))
    lengths = set()
    listed = []
    for name, texts in lists:
        lengths.add(len(texts))
        listed.append(f"{name} {len(texts)}")
    if len(lengths) > 1:
        raise ConfigError(f"the lists have different lengths: {', '.join(listed)}")
    segments = _numbered(references, source_lang, target_lang, sources)
    corpus = Corpus(segments, {})
    for name, texts in systems.items():
        corpus.systems[name] = list(texts)
    return score_corpus(corpus, scoring)


def score_files(
    translations: Sequence[tuple[str, Path]],
    references: Sequence[Path],
    config: Config,
    *,
    source: Path | None = None,
    source_format: str | None = None,
    scoring: ScoreOptions = ScoreOptions(),
) -> ScoreReport:
    """Score line-aligned files (pairs of system and file), or a table with translations and references (``source``).

    Several ``references`` are used together, as in sacreBLEU; they replace the references of a table.
    ``config`` gives the languages; its ``limit`` is ignored, since a score of the first segments would look like one of
    all. Raises :class:`InputError` if the files have different numbers of lines.
    """
    if source is not None:
        first, more = (references[0], references[1:]) if references else (None, ())
        inputs = RatingInputs(source, tuple(translations), first, source_format, tuple(scoring.systems))
        with inputs.opened(config.model_copy(update={"limit": None})) as (material, _):
            corpus = _gathered(material)
            more_texts = [_lines_for(path, corpus, str(source)) for path in more]
            return score_corpus(_with_more_references(corpus, more_texts), scoring)
    names = [name for name, _ in translations]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two systems are called {name!r}: name them with -t NAME=FILE")
    names = [*chosen(names, scoring.systems, "-t")]
    files = {}
    for name, path in translations:
        if name in names:
            files[f"-t {name}"] = path
    for number, path in enumerate(references, start=1):
        files["-r" if len(references) == 1 else f"-r {number}"] = path
    texts: list[list[str]] = []
    with spooled_copies(files) as copies:
        check_counts(copies.values())
        for path in copies.values():
            texts.append([line.text for line in lines_of(path)])
    systems: dict[str, list[str | None]] = {}
    for name, lines in zip(names, texts, strict=False):
        systems[name] = [*lines]
    reference_texts = texts[len(names) :]
    first_reference = reference_texts[0] if reference_texts else [None] * len(texts[0] if texts else [])
    segments = _numbered(first_reference, config.source_lang or UNKNOWN, config.target_lang or UNKNOWN)
    return score_corpus(_with_more_references(Corpus(segments, systems), reference_texts[1:]), scoring)


def score_runs(
    runs: Sequence[str],
    config: Config,
    *,
    references: Sequence[Path] = (),
    scoring: ScoreOptions = ScoreOptions(),
) -> ScoreReport:
    """Score the stages of stored chain runs, each ``RUN`` or ``NAME=RUN``.

    The stages of several runs are called ``NAME/STAGE``. Only segments in the languages of ``config`` are scored, if it
    has any. The lines of ``references`` replace the runs' own references.
    Raises :class:`ConfigError` for runs of different segments or, without ``references``, with different references.
    """
    from mtagent.jobs.rate import stored_stages  # which brings the evaluators

    unlimited = config.model_copy(update={"limit": None})
    systems: dict[str, list[str | None]] = {}
    segments: list[Segment] = []
    with open_existing(config.store) as store:
        named = named_runs(runs, store)
        for name, run in named.items():
            corpus = _gathered(stored_stages(store, unlimited, run, scoring.systems))
            if config.source_lang is not None or config.target_lang is not None:
                corpus = _in_languages(corpus, config.source_lang, config.target_lang, run)
            if segments:
                _refuse_other_segments(segments, corpus.segments, run, has_references=bool(references))
            segments = segments or corpus.segments
            for stage, translations in corpus.systems.items():
                systems[stage if len(runs) == 1 else f"{name}/{stage}"] = translations
    corpus = Corpus(segments, systems)
    texts = [_lines_for(path, corpus, f"run {next(iter(named.values()))!r}") for path in references]
    if texts:
        with_first = []
        for segment, text in zip(segments, texts[0], strict=True):
            with_first.append(segment.model_copy(update={"reference": text}))
        corpus = Corpus(with_first, systems)
    return score_corpus(_with_more_references(corpus, texts[1:]), scoring)


def _in_languages(corpus: Corpus, source_lang: str | None, target_lang: str | None, run: str) -> Corpus:
    """The segments in one language pair; ``None`` is any language.

    Raises :class:`ConfigError` if ``run`` has no such segments.
    """
    places = []
    pairs: dict[str, None] = {}
    for place, segment in enumerate(corpus.segments):
        pairs[pair_of(segment.source_lang, segment.target_lang)] = None
        is_source = source_lang in (None, segment.source_lang)
        is_target = target_lang in (None, segment.target_lang)
        if is_source and is_target:
            places.append(place)
    if not places:
        named = pair_of(source_lang or "any", target_lang or "any")
        raise ConfigError(f"-l {named}: run {run!r} has no such segments, only {', '.join(pairs)}")
    systems = {}
    for name, translations in corpus.systems.items():
        systems[name] = [translations[place] for place in places]
    return Corpus([corpus.segments[place] for place in places], systems)


def named_runs(specs: Sequence[str], store: Store) -> dict[str, str]:
    """The names of runs by the names to show, from ``RUN`` or ``NAME=RUN``."""
    stored = store.names()
    runs: dict[str, str] = {}
    for spec in specs:
        name, equals, run = spec.partition("=")
        if not (equals and name) or spec in stored:
            name = run = spec
        if name in runs:
            raise ConfigError(f"two runs are called {name!r}: name each run once, or as NAME=RUN")
        runs[name] = run
    return runs


def _refuse_other_segments(
    segments: Sequence[Segment], others: Sequence[Segment], run: str, *, has_references: bool
) -> None:
    """Raise :class:`ConfigError` unless the ``others``, of ``run``, are the same texts to translate."""
    if len(others) != len(segments):
        raise ConfigError(
            f"run {run!r} has {len(others)} segments, and the first run has {len(segments)}: all runs must have the "
            "same segments"
        )
    for segment, other in zip(segments, others, strict=True):
        if (segment.id, segment.source, segment.target_lang) != (other.id, other.source, other.target_lang):
            raise ConfigError(f"run {run!r}: segment {other.id} is not segment {segment.id} of the first run")
    for segment, other in zip(segments, others, strict=True):
        if not has_references and segment.reference != other.reference:
            raise ConfigError(f"run {run!r}: segment {other.id} has another reference than in the first run: give -r")


def _lines_for(path: Path, corpus: Corpus, origin: str) -> list[str]:
    """A line of ``path`` for each segment of ``corpus``. Raises :class:`InputError` for another number of lines."""
    texts = [line.text for line in lines_of(path)]
    if len(texts) != len(corpus.segments):
        raise InputError(f"{path}: has {len(texts)} lines, and {origin} has {len(corpus.segments)} segments")
    return texts


def _with_more_references(corpus: Corpus, references: Sequence[Sequence[str]]) -> Corpus:
    """``corpus`` with further references, each a list of texts for all segments."""
    if not references:
        return corpus
    segments: list[Segment] = []
    for segment, *more in zip(corpus.segments, *references, strict=True):
        segments.append(SegmentWithReferences(**dict(segment), more_references=tuple(more)))
    return Corpus(segments, corpus.systems)


def _gathered(material: Material) -> Corpus:
    segments: list[Segment] = []
    systems: dict[str, list[str | None]] = {name: [] for name in material.systems}
    for candidate in material.candidates():
        segments.append(candidate.segment)
        for name, translations in systems.items():
            translations.append(candidate.translations[name])
    return Corpus(segments, systems)


def _numbered(
    references: Sequence[str | None], source_lang: str, target_lang: str, sources: Sequence[str] | None = None
) -> list[Segment]:
    """A segment for each reference, with its number as id."""
    segments: list[Segment] = []
    for source, reference in zip(sources or [""] * len(references), references, strict=True):
        number = str(len(segments) + 1)
        segments.append(
            Segment(id=number, source=source, source_lang=source_lang, target_lang=target_lang, reference=reference)
        )
    return segments


def score_corpus(corpus: Corpus, scoring: ScoreOptions = ScoreOptions()) -> ScoreReport:
    """Score every system with every metric. Missing translations are scored as empty, and flagged."""
    segments = corpus.segments
    if not segments:
        raise InputError("there are no segments to score")
    if not corpus.systems:
        raise InputError("there are no translations to score")
    if scoring.paired and scoring.resampling is None:
        scoring = replace(scoring, resampling=Resampling())
    if scoring.paired and len(corpus.systems) < 2:
        raise ConfigError(
            "a paired test compares systems with the first system, and there is only one: give more systems (-t)"
        )
    languages = sorted({segment.target_lang for segment in segments})
    if len(languages) > 1:
        raise ConfigError(f"the segments are in {', '.join(languages)}: score each target language separately (-l)")
    texts: dict[str, list[str]] = {}
    for name, translations in corpus.systems.items():
        texts[name] = [text or "" for text in translations]
    specs, left_out = installed_metrics(scoring.metrics, languages[0])
    metrics = make_metrics(specs, languages[0], comet_python=scoring.comet_python)
    if isinstance(segments[0], SegmentWithReferences):
        _refuse_single_references(metrics)
    pairs: tuple[Pair, ...] = ()
    if scoring.paired:
        first, *others = corpus.systems
        pairs = tuple(scoring.pairs) or tuple((first, other) for other in others)
    entries, tests = _scored(metrics, segments, texts, scoring.resampling, pairs)
    if scoring.edits_from is not None:
        (start,) = chosen(tuple(texts), [scoring.edits_from], "--edits-from")
        entries += _edits(texts, start, languages[0])
    return ScoreReport(
        segments=tuple(segment.id for segment in segments),
        systems=tuple(corpus.systems),
        entries=tuple(entries),
        tests=tuple(tests),
        pairs=pairs,
        flags=_flags(corpus),
        without_reference=_lacking_references(segments),
        left_out=left_out,
        resampling=scoring.resampling,
    )


def installed_metrics(
    specs: Sequence[str | Metric], target_lang: str
) -> tuple[Sequence[str | Metric], tuple[str, ...]]:
    """The default metrics, without those that need a package that is missing, and why these are left out.

    BLEU needs one for Japanese and for Korean. Metrics that somebody chose are returned as they are.
    """
    if tuple(specs) != ScoreOptions.metrics:
        return specs, ()
    installed: list[str | Metric] = []
    remarks = []
    for name in ScoreOptions.metrics:
        assert isinstance(name, str)
        try:
            make_metric(name, target_lang)
        except MissingExtra as error:
            remarks.append(f"without {name}: {error}")
        else:
            installed.append(name)
    return installed, tuple(remarks)


def _lacking_references(segments: Sequence[Segment]) -> tuple[str, ...]:
    """The segments of which one of several references is empty."""
    lacking = []
    for segment in segments:
        if isinstance(segment, SegmentWithReferences):
            references = (segment.reference or "", *segment.more_references)
            if not all(reference.strip() for reference in references):
                lacking.append(segment.id)
    return tuple(lacking)


def _refuse_single_references(metrics: Sequence[Metric]) -> None:
    """Raise :class:`ConfigError` for a metric that would compare with the first of several references only."""
    for metric in metrics:
        if getattr(metric, "references", "one") == "one":
            raise ConfigError(
                f"{metric.name} compares with one reference, but there are several: give one -r, or leave the metric "
                "out"
            )


def _edits(texts: Mapping[str, Sequence[str]], start: str, target_lang: str) -> list[tuple[SystemScore, ...]]:
    """Edited words and characters from the texts of the system ``start`` to the texts of each system."""
    metric = Overlap("ter", target_lang)
    edited, characters = list[SystemScore](), list[SystemScore]()
    for system, translations in texts.items():
        words = ter_to(texts[start], translations, target_lang, metric)
        # The name TER is left to the metric against a reference.
        renamed = {"metric": f"edited % from {start}", "signature": f"TER between systems|{words.signature}"}
        edited.append(SystemScore(system, words.model_copy(update=renamed)))
        distance = characters_to(texts[start], translations)
        characters.append(SystemScore(system, distance.model_copy(update={"metric": f"characters from {start}"})))
    return [tuple(edited), tuple(characters)]


def _flags(corpus: Corpus) -> dict[str, tuple[tuple[Flag, ...], ...]]:
    """The faults of each text, by system."""
    flagged: dict[str, list[tuple[Flag, ...]]] = {name: [] for name in corpus.systems}
    for segment, *translations in zip(corpus.segments, *corpus.systems.values(), strict=True):
        # Stages share most texts, and flags take time.
        by_text: dict[str | None, tuple[Flag, ...]] = {}
        for system_flags, text in zip(flagged.values(), translations, strict=True):
            if text not in by_text:
                by_text[text] = flags(segment, text)
            system_flags.append(by_text[text])
    return {name: tuple(system_flags) for name, system_flags in flagged.items()}


def _scored(
    metrics: Sequence[Metric],
    segments: Sequence[Segment],
    texts: Mapping[str, Sequence[str]],
    resampling: Resampling | None,
    pairs: Sequence[Pair],
) -> tuple[list[tuple[SystemScore, ...]], list[tuple[Significance, ...]]]:
    """A group of scores for each metric, with intervals, and the tests of ``pairs``.

    Metrics are tested one after the other, since the counts of a large corpus take much memory.
    """
    systems = list(texts)
    places = [(systems.index(first), systems.index(second)) for first, second in pairs]
    groups: list[tuple[SystemScore, ...]] = []
    tests: list[tuple[Significance, ...]] = []
    for metric in metrics:
        outputs = list(zip(for_systems(metric, systems), texts.values(), strict=True))
        if isinstance(metric, CountsTogether):
            metric.count(segments, list(texts.values()))
        if isinstance(metric, WarnsOfTokenized):
            metric.warn_of_tokenized(texts)
        scores = []
        for system_metric, translations in outputs:
            scores.append(system_metric.score(segments, translations))
        if resampling is None:
            groups.append(tuple(map(SystemScore, systems, scores)))
        else:
            counts = []
            for (system_metric, translations), score in zip(outputs, scores, strict=True):
                counts.append(statistics_of(system_metric, segments, translations, score, scores))
        if isinstance(metric, HeavyMetric):
            metric.release()
        if resampling is not None:
            (test,) = paired_tests([counts], places, resampling)
            groups.append(_tested(systems, scores, pairs, test, resampling))
            tests.append(tuple(test.significances))
    return groups, tests


def _tested(
    systems: Sequence[str], scores: Sequence[Score], pairs: Sequence[Pair], test: PairedTests, resampling: Resampling
) -> tuple[SystemScore, ...]:
    """The scores by one metric with their intervals, and with p-values where the first system was tested."""
    tests: dict[str, Significance] = {}
    for (first, second), significance in zip(pairs, test.significances, strict=True):
        if first == systems[0]:
            tests[second] = significance
    corrected = dict(zip(tests, holm([significance.p_value for significance in tests.values()]), strict=True))
    entries = []
    for place, (system, score) in enumerate(zip(systems, scores, strict=True)):
        signed_score = score.model_copy(update={"signature": resampling.signed(score.signature)})
        interval = test.intervals[place] if test.intervals else None
        entry = SystemScore(system, signed_score, interval)
        if system in tests:
            entry = entry._replace(
                p_value=tests[system].p_value,
                p_holm=corrected[system],
                difference=score.value - scores[0].value,
                difference_bounds=tests[system].bounds,
            )
        entries.append(entry)
    return tuple(entries)


_SHOWN = 10


def shown(report: ScoreReport, form: str = "text", width: int | None = None) -> str:
    """The scores as ``text``, ``markdown`` or ``latex``; a single system as text has a line per metric, as in
    sacreBLEU.

    ``width`` is the number of digits after the point; by default each metric has its own. Signatures, the test and
    flags follow. LaTeX has separate columns for intervals and p-values.
    """
    remarks = []
    if report.resampling and report.paired:
        remarks.append(f"each system against {report.systems[0]}: {report.resampling.description}")
        tests = _tests_by_metric(report)
        if tests:
            remarks.append(report.resampling.star(f"{tests} systems" if tests > 1 else ""))
    if report.without_reference:
        remarks.append(
            f"{counted(len(report.without_reference), 'segment')} with an empty reference, which counts as a text "
            f"without words, as in sacreBLEU: {first_of(report.without_reference, _SHOWN)}"
        )
    for system in report.systems:
        flagged = report.flagged(system)
        if flagged:
            remarks.append(f"{system}: {listed_flags(flagged, _SHOWN)}")
    if form == "text" and len(report.systems) == 1:
        warnings = [f"warning: {warning}" for warning in report.warnings]
        return "\n".join([*_sacrebleu_lines(report, width), *remarks, *warnings])
    head = ["system"]
    rows = [[system] for system in report.systems]
    signatures: dict[str, None] = {}
    for entries in report.entries:
        metric = entries[0].score.metric
        metric_width = _entry_digits(entries, width)
        head.append(metric)
        if form == "latex" and entries[0].interval is not None:
            head.append(f"{metric} ±")
        if form == "latex" and report.paired:
            head.append(f"{metric} p")
        for row, entry in zip(rows, entries, strict=True):
            signatures[f"{metric}|{entry.score.signature}"] = None
            if form != "latex":
                row.append(tested(entry, metric_width))
                continue
            row.append(f"{entry.score.value:.{metric_width}f}")
            if entry.interval is not None:
                row.append(f"{entry.interval.half_width:.{metric_width}f}")
            if report.paired:
                row.append("" if entry.p_value is None else f"{entry.p_value:.4f}{_mark(entry)}")
    scores = Table("", tuple(head), tuple(map(tuple, rows)))
    return table.FORMS[form]([scores], [*signatures, *remarks], report.warnings)


def _tests_by_metric(report: ScoreReport) -> int:
    """How many systems have a p-value, by the metric that distinguishes most systems from the first one."""
    most = 0
    for entries in report.entries:
        most = max(most, sum(entry.p_value is not None for entry in entries))
    return most


def _sacrebleu_lines(report: ScoreReport, width: int | None) -> list[str]:
    """A line per metric for the only system."""
    lines = []
    for (entry,) in report.entries:
        score = entry.score
        value = tested(entry, digits([score], width))
        lines.append((f"{score.metric}|{score.signature}", f"{value} {score.detail}".rstrip()))
    longest = max(len(name) for name, _ in lines)
    return [f"{name:>{longest}} = {value}" for name, value in lines]


def as_json(report: ScoreReport, width: int | None = None) -> str:
    """An object with sacreBLEU's keys for each metric and system, in a list where there are several.

    Numbers are rounded to ``width`` digits after the point only if it is given.
    """
    objects = []
    for entries in report.entries:
        metric_width = _entry_digits(entries, width)  # of the interval in words
        for entry in entries:
            score = entry.score
            fields: dict[str, Any] = {
                "name": score.metric,
                "score": _rounded(score.value, width),
                "signature": score.signature,
                "system": entry.system,
            }
            if entry.interval:
                fields["confidence_mean"] = _rounded(entry.interval.mean, width)
                fields["confidence_var"] = _rounded(entry.interval.half_width, width)
                fields["confidence"] = _confidence(entry.interval, metric_width)
            if report.paired:
                fields["p_value"] = entry.p_value
                fields["p_holm"] = entry.p_holm
                low, high = entry.difference_bounds or (None, None)
                fields |= {"difference": entry.difference, "difference_low": low, "difference_high": high}
            if score.detail:
                fields["verbose_score"] = score.detail
            # The parts of the signature are fields too, as sacreBLEU has it.
            for part in score.signature.split("|"):
                key, colon, value = part.partition(":")
                if colon:
                    fields.setdefault(key, value)
            objects.append({**fields, "flags": report.flagged(entry.system)})
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=1, ensure_ascii=False)


def flat(report: ScoreReport, delimiter: str = ",", *, by_sentence: bool = False) -> str:
    """A line for each system or, ``by_sentence``, for each system and segment, with columns for each metric.

    Numbers are not rounded; an empty cell means no value. Formulas are guarded as in
    :func:`mtagent.text.table.as_csv`.
    """
    lines: list[dict[str, object]] = []
    for number, system in enumerate(report.systems):
        if not by_sentence:
            line: dict[str, object] = {"system": system, "segments": len(report.segments)}
            for entries in report.entries:
                line |= _columns_of(entries[number], paired=report.paired)
            ids_by_flag = report.flagged(system)
            for flag in FLAGS:
                line[flag] = len(ids_by_flag.get(flag, ()))
            lines.append(line)
            continue
        for place, (segment, flagged) in enumerate(zip(report.segments, report.flags[system], strict=True)):
            line = {"system": system, "id": segment}
            for entries in report.entries:
                score = entries[number].score
                line[score.metric] = score.segments[place]
                line[f"{score.metric} signature"] = score.segment_signature or score.signature
            lines.append(line | {"flags": " ".join(flagged)})
    return "".join(table.as_csv([*lines[0], "guarded"], lines, delimiter)).rstrip("\n")


def _columns_of(entry: SystemScore, *, paired: bool) -> dict[str, object]:
    """The cells for the score of a system, by column."""
    metric = entry.score.metric
    columns: dict[str, object] = {metric: entry.score.value}
    if entry.interval is not None:
        for name, value in entry.interval._asdict().items():
            columns[f"{metric} {name}"] = value
    if paired:
        columns[f"{metric} p"] = entry.p_value
        columns[f"{metric} p_holm"] = entry.p_holm
        low, high = entry.difference_bounds or (None, None)
        columns[f"{metric} difference"] = entry.difference
        columns |= {f"{metric} difference low": low, f"{metric} difference high": high}
    columns[f"{metric} signature"] = entry.score.signature
    return columns


def sentences(report: ScoreReport, form: str = "text", width: int | None = None) -> Iterator[str]:
    """A line per system, segment and metric: as ``text`` like sacreBLEU's, as ``json`` an object.

    The metric ``scores-file`` reads the objects back.
    """
    is_only_score = len(report.systems) == len(report.entries) == 1
    for number, system in enumerate(report.systems):
        for place, (segment, flagged) in enumerate(zip(report.segments, report.flags[system], strict=True)):
            for entries in report.entries:
                score = entries[number].score
                metric_width = _entry_digits(entries, width)
                value = score.segments[place]
                signature = score.segment_signature or score.signature
                if form == "json":
                    fields = {
                        "id": segment,
                        "system": system,
                        "name": score.metric,
                        "score": _rounded(value, width),
                        "signature": signature,
                        "flags": list(flagged),
                    }
                    yield json.dumps(fields, ensure_ascii=False)
                else:
                    start = "" if is_only_score else f"{system}\t{segment}\t"
                    end = f" [{', '.join(flagged)}]" if flagged else ""
                    yield f"{start}{score.metric}|{signature} = {value:.{metric_width}f}{end}"


def digits(scores: Iterable[Score], width: int | None = None) -> int:
    """The digits after the point for ``scores`` of one metric: ``width``, or what suits all of them."""
    if width is not None:
        return width
    return min((score.digits for score in scores), default=2)


def _rounded(number: float, width: int | None) -> float:
    return number if width is None else round(number, width)


def _entry_digits(entries: Iterable[SystemScore], width: int | None) -> int:
    return digits((entry.score for entry in entries), width)


def tested(entry: SystemScore, width: int) -> str:
    """A score with its interval and its p-value in brackets."""
    parts = [f"{entry.score.value:.{width}f}"]
    if entry.interval:
        parts.append(f"({_confidence(entry.interval, width)})")
    if entry.p_value is not None:
        parts.append(f"(p = {entry.p_value:.4f}){_mark(entry)}")
    return " ".join(parts)


def _mark(entry: SystemScore) -> str:
    """A star if the difference to the first system is significant after correction."""
    if entry.difference is None:
        return ""
    return "*" if is_significant(entry.difference, entry.p_holm, entry.difference_bounds) else ""


def _confidence(interval: Interval, width: int) -> str:
    return f"μ = {interval.mean:.{width}f} ± {interval.half_width:.{width}f}"


def listed_flags(flagged: Mapping[str, Sequence[str]], most: int) -> str:
    """``2 empty (4, 9), 1 copied (12)``, with the first ids."""
    parts = []
    for flag, ids in flagged.items():
        parts.append(f"{len(ids)} {flag} ({first_of(ids, most)})")
    return ", ".join(parts)
