"""Scores of several systems side by side: of texts, of files, of the stages of a stored run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mtagent.candidates import Candidates, Material, chosen
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError
from mtagent.files import spooled_copies
from mtagent.formats.files import lines_of
from mtagent.formats.lines import check_counts
from mtagent.metrics.distance import characters_to, ter_to
from mtagent.metrics.flags import UNKNOWN, Flag, flags
from mtagent.metrics.named import make_metrics
from mtagent.metrics.significance import Interval, Resampling, compared, counted, intervals
from mtagent.protocols import BySystem, Metric
from mtagent.rating import stored_stages
from mtagent.rating_files import RatingInputs
from mtagent.records import Score, Segment
from mtagent.store import open_existing


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
    """What to score with: the names of metrics, how to resample, and the text that edits are counted from.

    ``resampling`` gives intervals, and with ``paired`` also a test of each system against the first one. ``edits_from``
    names a system: TER and characters from its texts to those of each other are added.
    """

    metrics: Sequence[str] = ("bleu", "chrf", "ter")
    resampling: Resampling | None = None
    paired: bool = False
    edits_from: str | None = None
    systems: Sequence[str] = field(default_factory=tuple)


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
    lists = {**systems, "references": references, **({} if sources is None else {"sources": sources})}
    if len({len(texts) for texts in lists.values()}) > 1:
        listed = ", ".join(f"{name} {len(texts)}" for name, texts in lists.items())
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
    if wanted.paired and len(corpus.systems) < 2:
        raise ConfigError("a paired test compares systems with the first one, and there is only one: give more (-t)")
    texts = {name: [text or "" for text in found] for name, found in corpus.systems.items()}
    entries = [
        _entries(metric, segments, texts, wanted) for metric in make_metrics(wanted.metrics, _target_lang(segments))
    ]
    return ScoreReport(
        segments=tuple(segment.id for segment in segments),
        systems=tuple(corpus.systems),
        entries=(*entries, *_edits(texts, wanted.edits_from, _target_lang(segments))),
        flags={name: tuple(map(flags, segments, found)) for name, found in corpus.systems.items()},
        resampling=wanted.resampling,
        paired=wanted.paired,
    )


def _target_lang(segments: Iterable[Segment]) -> str:
    languages = sorted({segment.target_lang for segment in segments})
    if len(languages) > 1:
        raise ConfigError(f"the segments are in {', '.join(languages)}: score each target language by itself")
    return languages[0]


def _entries(
    metric: Metric, segments: Sequence[Segment], texts: Mapping[str, Sequence[str]], wanted: Wanted
) -> tuple[Entry, ...]:
    metrics = metric.each(tuple(texts)) if isinstance(metric, BySystem) else [metric] * len(texts)
    scores = [one.score(segments, found) for one, found in zip(metrics, texts.values(), strict=True)]
    entries = [Entry(system, score) for system, score in zip(texts, scores, strict=True)]
    if wanted.resampling is None:
        return tuple(entries)
    how = wanted.resampling
    rows = [
        counted(one, segments, found, score) for one, found, score in zip(metrics, texts.values(), scores, strict=True)
    ]
    if wanted.paired:
        tests = compared(rows, how)
        found = [
            entry._replace(interval=t.interval, p_value=t.p_value) for entry, t in zip(entries, tests, strict=True)
        ]
    else:
        found = [entry._replace(interval=one) for entry, one in zip(entries, intervals(rows, how), strict=True)]
    return tuple(entry._replace(score=_signed(entry.score, how)) for entry in found)


def _signed(score: Score, how: Resampling) -> Score:
    return score.model_copy(update={"signature": how.signed(score.signature)})


def _edits(texts: Mapping[str, list[str]], start: str | None, target_lang: str) -> list[tuple[Entry, ...]]:
    """TER and characters from the texts of ``start`` to those of each system."""
    if start is None:
        return []
    (start,) = chosen(tuple(texts), [start], "--edits-from")
    ters = [ter_to(texts[start], found, target_lang) for found in texts.values()]
    characters = [characters_to(texts[start], found) for found in texts.values()]
    return [
        tuple(
            Entry(system, score.model_copy(update={"metric": f"{score.metric} from {start}"}))
            for system, score in zip(texts, scores, strict=True)
        )
        for scores in (ters, characters)
    ]


def score_files(
    translations: Sequence[tuple[str, Path]],
    reference: Path | None,
    config: Config,
    *,
    source: Path | None = None,
    source_format: str | None = None,
    wanted: Wanted = Wanted(),
) -> ScoreReport:
    """Score line-aligned files, pairs of system and file, or a table with its translations and references (``source``).

    ``config`` tells the languages. Raises :class:`InputError` where the files have different numbers of lines.
    """
    if source is None:
        return score_corpus(_without_source(translations, reference, config, wanted.systems), wanted)
    inputs = RatingInputs(source, tuple(translations), reference, source_format, tuple(wanted.systems))
    with inputs.spooled() as inputs:
        return score_corpus(_gathered(inputs.material(config)), wanted)


def score_run(name: str, config: Config, *, reference: Path | None = None, wanted: Wanted = Wanted()) -> ScoreReport:
    """Score what the stages of the stored chain run ``name`` left, as given first.

    ``reference`` takes the place of the run's own references, line by line.
    """
    with open_existing(config.store) as store:
        corpus = _gathered(stored_stages(store, config, name, wanted.systems))
    if reference is None:
        return score_corpus(corpus, wanted)
    texts = [line.text for line in lines_of(reference)]
    if len(texts) != len(corpus.segments):
        raise InputError(f"{reference}: has {len(texts)} lines, and run {name!r} has {len(corpus.segments)} segments")
    segments = [
        segment.model_copy(update={"reference": text}) for segment, text in zip(corpus.segments, texts, strict=True)
    ]
    return score_corpus(Corpus(segments, corpus.systems), wanted)


def _gathered(material: Material) -> Corpus:
    found: list[Candidates] = list(material.candidates())
    systems = {name: [one.translations[name] for one in found] for name in material.systems}
    return Corpus([one.segment for one in found], systems)


def _without_source(
    translations: Sequence[tuple[str, Path]], reference: Path | None, config: Config, systems: Sequence[str]
) -> Corpus:
    """Translations and references alone, as sacreBLEU has them."""
    names = [name for name, _ in translations]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"two systems are called {twice!r}: name them with -t NAME=FILE")
    kept = chosen(names, systems, "-t")
    files = {f"-t {name}": path for name, path in translations if name in kept}
    with spooled_copies({**files, **({"-r": reference} if reference else {})}) as copies:
        check_counts(copies.values())
        texts = {name: [line.text for line in lines_of(path)] for name, path in copies.items()}
    number = len(next(iter(texts.values()), []))
    references: list[str | None] = [*texts.pop("-r")] if reference else [None] * number
    source_lang, target_lang = config.source_lang or UNKNOWN, config.target_lang or UNKNOWN
    segments = [
        Segment(id=str(i), source="", source_lang=source_lang, target_lang=target_lang, reference=text)
        for i, text in enumerate(references, start=1)
    ]
    return Corpus(segments, {name.removeprefix("-t "): [*found] for name, found in texts.items()})
