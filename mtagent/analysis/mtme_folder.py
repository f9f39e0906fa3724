"""Folders of mt-metrics-eval with scores of people and metrics: read, and written so that they are read back alike.

Texts are written by ``mtagent export``'s writer, where all are known; scores and spans as ``mtagent rate`` does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from mtagent.analysis.scores import (
    NO_SCORE,
    RATINGS,
    SEGMENTS,
    SYSTEMS,
    SegmentInfo,
    SegmentScore,
    Side,
    TranslationKey,
    alternatives,
    joined_about,
    read_list,
)
from mtagent.errors import InputError, OutputError
from mtagent.formats.exports import RunTexts, SegmentTexts, has_break, mapped, pair_name, renamed, strict_name
from mtagent.formats.files import lines_of, replacing
from mtagent.formats.mtme import MTME, rating_line, text_file, write_scores
from mtagent.jobs.export import Target
from mtagent.records import Segment
from mtagent.text import languages
from mtagent.text.foreign import UNKNOWN

PEOPLE, METRICS = "human-scores", "metric-scores"
NO_REFERENCE = "src"


def read_folder(
    folder: Path, lp: str | None, human: str | None, metrics: Sequence[str] = (), *, any_human: bool = False
) -> tuple[Side, list[Side]]:
    """The scores of people and of the metrics, for the language pair ``lp`` (optional if there is only one).

    ``human`` is the NAME of people's scores, ``metrics`` are NAMEs or NAME-REFs; all, if none is given.
    ``any_human``: people's scores are not asked for, so that they may be several.
    Raises :class:`InputError` for missing files, and for files with different numbers of segments.
    """
    names_by_pair = _people_by_pair(folder)
    pair = _pair_in(folder, lp, list(names_by_pair))
    names = names_by_pair[pair]
    if human is None:
        if len(names) > 1 and not any_human:
            raise InputError(f"{folder}: has several scores of people; choose with --human{alternatives('', names)}")
        human = names[0]
    if human not in names:
        raise InputError(f"{folder / PEOPLE}: no {pair}.{human}{SEGMENTS}{alternatives(human, names)}")
    scores = folder / METRICS / pair
    metric_names = []
    for path in sorted(scores.glob(f"*{SEGMENTS}")):
        metric_names.append(path.name.removesuffix(SEGMENTS))
    if not metric_names:
        raise InputError(f"{scores}: expected a metric's scores in a file NAME-REF{SEGMENTS}, found none")
    chosen_metrics = set()
    for name in metrics:
        called_so = [metric for metric in metric_names if is_metric(metric, name)]
        if not called_so:
            raise InputError(f"{scores}: no metric {name!r}{alternatives(name, metric_names)}")
        chosen_metrics.update(called_so)
    about = _about_folder(folder, pair)
    people = _with_texts(read_list(folder / PEOPLE / f"{pair}.{human}{SEGMENTS}", human), folder, pair, about)
    sides = []
    for metric in metric_names:
        if not metrics or metric in chosen_metrics:
            sides.append(_with_texts(read_list(scores / f"{metric}{SEGMENTS}", metric), folder, pair, about))
    return people, sides


def folder_pairs(folder: Path, human: str | None) -> list[str]:
    """The language pairs for which the folder has scores of metrics and of people (called ``human``)."""
    pairs = []
    for pair, names in _people_by_pair(folder).items():
        if (human is None or human in names) and any((folder / METRICS / pair).glob(f"*{SEGMENTS}")):
            pairs.append(pair)
    return pairs


def _people_by_pair(folder: Path) -> dict[str, list[str]]:
    """The names of people's scores for each language pair. Raises :class:`InputError` without any."""
    names_by_pair: dict[str, list[str]] = {}
    for path in sorted((folder / PEOPLE).glob(f"*{SEGMENTS}")):
        pair, _, name = path.name.removesuffix(SEGMENTS).partition(".")
        names_by_pair.setdefault(pair, []).append(name)
    if not names_by_pair:
        if not folder.is_dir():
            raise InputError(f"{folder}: is not a folder; expected a folder of mt-metrics-eval")
        raise InputError(f"{folder / PEOPLE}: expected people's scores in a file LP.NAME{SEGMENTS}, found none")
    return names_by_pair


def _pair_in(folder: Path, lp: str | None, pairs: Sequence[str]) -> str:
    """The language pair of ``pairs`` that is ``lp``, or the only one."""
    if lp is None and len(pairs) > 1:
        raise InputError(f"{folder}: has {len(pairs)} language pairs; choose one with -l{alternatives('', pairs)}")
    for pair in pairs:
        if lp in (None, pair) or languages.parse_pair(pair) == languages.parse_pair(lp):
            return pair
    raise InputError(f"{folder / PEOPLE}: nothing for {lp!r}{alternatives(str(lp), pairs)}")


def is_metric(metric: str, name: str) -> bool:
    """Whether ``metric`` is called ``name``, with or without the reference that it saw."""
    return name in (metric, metric.rpartition("-")[0])


def _about_folder(folder: Path, pair: str) -> dict[str, SegmentInfo]:
    """What the folder has about each segment; empty where it has neither sources nor documents."""
    sources = _lines(folder / "sources" / f"{pair}.txt")
    docs = folder / "documents" / f"{pair}.docs"
    documents = [line.split() for line in _lines(docs)]
    if sources and documents and len(sources) != len(documents):
        raise InputError(f"{docs}: has {len(documents)} lines, and there are {len(sources)} sources")
    source_lang, target_lang = languages.parse_pair(pair)
    about = {}
    for place in range(len(sources) or len(documents)):
        source = sources[place] if sources else None
        domain = document = None
        if documents and len(documents[place]) > 1:
            domain, document = documents[place][:2]
        about[str(place + 1)] = SegmentInfo(source, source_lang, target_lang, document, domain)
    return about


def _with_texts(side: Side, folder: Path, pair: str, about: dict[str, SegmentInfo]) -> Side:
    """``side`` with its translations and all that the folder has about segments."""
    segments = dict(side.segments)
    for system, count in Counter(key.system for key in side.segments).items():
        translations = text_file(folder, pair, system)
        texts = _lines(translations)
        if len(about) not in (0, count):
            raise InputError(f"{side.origin}: {count} scores of {system!r}, and there are {len(about)} segments")
        if len(texts) not in (0, count):
            raise InputError(f"{side.origin}: {count} scores of {system!r}, and {len(texts)} translations in {folder}")
        for number, text in enumerate(texts, start=1):
            key = TranslationKey(system, str(number))
            segments[key] = segments[key]._replace(translation=text)
    only_languages = SegmentInfo(None, *languages.parse_pair(pair))
    infos = dict.fromkeys((key.item for key in side.segments), only_languages) | about
    reference = None
    is_metrics = Path(side.origin).parent.name == pair
    if is_metrics and "-" in side.name:
        reference = side.name.rpartition("-")[2]
        if reference == NO_REFERENCE:
            reference = None
    return replace(side, segments=segments, about=infos, reference=reference)


def _lines(path: Path | None) -> list[str]:
    if path is None or not path.is_file():
        return []
    return [line.text for line in lines_of(path)]


# --- writing


def write_folder(
    people: Sequence[Side], evaluators: Sequence[Side], target: Target, lp: str | None = None
) -> list[str]:
    """Write the scores of people and of all evaluators, and return remarks.

    ``people`` has their scores of the systems that they share with each evaluator. A missing score is ``None``. ``lp``
    is the language pair, where the scores do not tell it. Raises :class:`mtagent.errors.OutputError` where it is not
    known, where two names would become one, and where the folder is not empty.
    """
    target.refuse_taken_folder()
    writer = _Writer(people, evaluators, target.path, lp)
    with target.filled() as folder:
        remarks = writer.write(folder)
        # Older ratings, scores of systems or texts next to the new scores would be read as if they belonged to them.
        beside = []
        for scores in folder.rglob(f"*{SEGMENTS}"):
            stem = scores.name.removesuffix(SEGMENTS)
            for end in (SYSTEMS, RATINGS):
                beside.append(scores.with_name(stem + end).relative_to(folder))
        beside += [Path("sources", f"{writer.pair}.txt"), Path("documents", f"{writer.pair}.docs")]
        for name in writer.systems.values():
            beside.append(Path("system-outputs", writer.pair, f"{name}.txt"))
        for path in beside:
            if (target.path / path).is_file() and not (folder / path).is_file():
                raise OutputError(
                    f"{target.path / path}: is from an earlier export, and would be read with the new scores: remove it"
                )
    names = dict(writer.systems)
    for name, written in writer.evaluators.items():
        if not written.startswith(name):
            names[name] = written
    return [*renamed(names), *remarks, f"written: {target.path}"]


class _Writer:
    def __init__(self, people: Sequence[Side], evaluators: Sequence[Side], path: Path, lp: str | None) -> None:
        human_segments: dict[TranslationKey, SegmentScore] = {}
        human_systems: dict[str, SegmentScore] = {}
        for side in people:
            human_segments |= side.segments
            human_systems |= side.systems
        self._human = replace(people[0], segments=human_segments, systems=human_systems)
        self._metrics = evaluators
        sides = [self._human, *evaluators]
        systems: dict[str, None] = {}
        items: dict[str, None] = {}
        self._texts: dict[TranslationKey, str] = {}
        for side in sides:
            systems |= dict.fromkeys(side.names())
            for key, score in side.segments.items():
                items[key.item] = None
                if score.translation is not None:
                    self._texts[key] = score.translation
        self._items = list(items)
        self.systems = mapped(list(systems), strict_name, path)
        self.evaluators = mapped([side.name for side in evaluators], _file_name, path)
        about = joined_about(sides)
        only_languages = SegmentInfo()
        if lp:
            only_languages = SegmentInfo(None, *languages.parse_pair(lp))
        self._segments: list[Segment] = []
        self._sources: list[str | None] = []
        for item in self._items:
            info = about.get(item, only_languages).or_else(only_languages)
            self._segments.append(info.segment(item))
            self._sources.append(info.source)
        pairs = list(dict.fromkeys(map(pair_name, self._segments)))
        if len(pairs) != 1:
            raise OutputError(f"{path}: the scores are of {len(pairs)} language pairs; name one with -l, e.g. -l en-de")
        if UNKNOWN in pairs[0].split("-"):
            raise OutputError(f"{path}: no file has the language pair; name one with -l, e.g. -l en-de")
        self.pair = pairs[0]

    def write(self, folder: Path) -> list[str]:
        """Write all files, and return remarks. Texts are written only if all are known and none has a line break."""
        texts = list(self._sources)
        for system in self.systems:
            for item in self._items:
                texts.append(self._texts.get(TranslationKey(system, item)))
        if any(text is None or has_break(text) for text in texts):
            remarks = [
                "sources, translations and documents are not written: not all are known, or one has a line break"
            ]
        else:
            remarks = []
            remarks_of_folder = renamed(self.systems)  # write_folder makes them of all names
            for remark in MTME.export(RunTexts("", tuple(self.systems), self._entries), folder):
                if remark not in remarks_of_folder:
                    remarks.append(remark)
        unplaced = self._write_side(self._human, folder / PEOPLE, f"{self.pair}.{strict_name(self._human.name)}")
        for side in self._metrics:
            unplaced += self._write_side(side, folder / METRICS / self.pair, self.evaluators[side.name])
        if unplaced:
            remarks.append(f"{unplaced} errors have no known place: empty spans at the text's start")
        return remarks

    def _entries(self) -> Iterator[SegmentTexts]:
        for segment in self._segments:
            texts: dict[str, str | None] = {}
            for name in self.systems:
                texts[name] = self._texts[TranslationKey(name, segment.id)]
            yield SegmentTexts(segment, texts, ())

    def _write_side(self, side: Side, folder: Path, stem: str) -> int:
        """Write the files of one side, and return how many errors have no place."""
        folder.mkdir(parents=True, exist_ok=True)
        ends = [SEGMENTS, SYSTEMS]
        if side.marks:
            ends.append(RATINGS)
        rater = _without_reference(side.name)
        unplaced = 0
        with ExitStack() as stack:
            sinks = [stack.enter_context(replacing(folder / (stem + end))) for end in ends]
            for system in side.names():
                name = self.systems[system]
                given = side.systems.get(system, NO_SCORE).score
                scores = [side.segments.get(TranslationKey(system, item), NO_SCORE) for item in self._items]
                write_scores(name, [score.score for score in scores], *sinks[:2], given=given)
                if not side.marks:
                    continue
                for segment, score in zip(self._segments, scores, strict=True):
                    text = self._texts.get(TranslationKey(system, segment.id), "")
                    line, line_unplaced = rating_line(score.errors, rater, segment.source, text)
                    sinks[2].write(f"{name}\t{line}\n")
                    unplaced += line_unplaced
        return unplaced


def _file_name(name: str) -> str:
    """``NAME-REF``: what an evaluator's files are called; names that have such an end keep it."""
    bare = _without_reference(name)
    reference = name.removeprefix(bare).removeprefix("-") or NO_REFERENCE
    return f"{strict_name(bare)}-{strict_name(reference)}"


def _without_reference(name: str) -> str:
    """``name`` without the ``-REF`` of a file of mt-metrics-eval."""
    base, dash, reference = name.rpartition("-")
    if dash and (reference == NO_REFERENCE or reference.startswith("ref")):
        return base
    return name
