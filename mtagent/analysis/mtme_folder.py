"""Scores that were compared, written into the folders of mt-metrics-eval, from which they are read back as they were.

The texts are written by ``mtagent export``'s writer, where all are known; scores and spans as ``mtagent rate`` does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mtagent.analysis.scores_matched import NOTHING, Match
from mtagent.analysis.scores_read import RATINGS, SEGMENTS, SYSTEMS, About, Given, Key, Side, listed, meant
from mtagent.errors import InputError, OutputError
from mtagent.formats import mtme
from mtagent.formats.exports import Entry, Held, Survey, mapped, pair_name, renamed, strict_name
from mtagent.formats.files import lines_of, replacing
from mtagent.formats.mtme import MTME, rating_line, write_scores
from mtagent.jobs.export import Target, has_break
from mtagent.records import Segment
from mtagent.text import languages
from mtagent.text.foreign import UNKNOWN

PEOPLE, METRICS = "human-scores", "metric-scores"
NO_REFERENCE = "src"


class Folder(NamedTuple):
    """What was read: people's scores, and those of the metrics."""

    human: Side
    metrics: list[Side]


def read_folder(
    folder: Path, lp: str | None, human: str | None, metrics: Sequence[str] = (), *, any_human: bool = False
) -> Folder:
    """The scores of the language pair ``lp`` (may be left out where there is one only).

    ``human`` is the NAME of people's scores, ``metrics`` are NAMEs or NAME-REFs; all, if none is given.
    ``any_human``: people's scores are not asked for, so that they may be several.
    Raises :class:`InputError` for what is not there, and where the files are not about equally many segments.
    """
    pair, name = _people(folder, lp, human, any_human=any_human)
    about, count = _about(folder, pair)
    read = _Reader(folder, pair, about, count)
    people = read.side(folder / PEOPLE / f"{pair}.{name}{SEGMENTS}", name)
    chosen = _chosen(folder / METRICS / pair, metrics)
    found = [read.side(folder / METRICS / pair / f"{one}{SEGMENTS}", one) for one in chosen]
    return Folder(people, found)


def _people(folder: Path, lp: str | None, human: str | None, *, any_human: bool) -> tuple[str, str]:
    """The language pair as the files write it, and the name of the scores."""
    held: dict[str, list[str]] = {}
    for path in sorted((folder / PEOPLE).glob(f"*{SEGMENTS}")):
        pair, _, name = path.name.removesuffix(SEGMENTS).partition(".")
        held.setdefault(pair, []).append(name)
    if not held:
        raise InputError(f"{folder / PEOPLE}: there is no LP.NAME{SEGMENTS}, which would hold people's scores")
    if lp is None and len(held) > 1:
        raise InputError(f"{folder}: has {len(held)} language pairs; choose one with -l{meant('', held)}")
    pair = next(iter(held)) if lp is None else _same_pair(lp, held, folder / PEOPLE)
    names = held[pair]
    if human is None and len(names) > 1 and not any_human:
        raise InputError(f"{folder}: people's scores are several; choose with --human{meant('', names)}")
    if human is not None and human not in names:
        raise InputError(f"{folder / PEOPLE}: no {pair}.{human}{SEGMENTS}{meant(human, names)}")
    return pair, human or names[0]


def _same_pair(lp: str, held: dict[str, list[str]], folder: Path) -> str:
    wanted = languages.parse_pair(lp)
    found = next((pair for pair in held if lp == pair or languages.parse_pair(pair) == wanted), None)
    if found is None:
        raise InputError(f"{folder}: nothing for {lp!r}{meant(lp, held)}")
    return found


def _chosen(folder: Path, wanted: Sequence[str]) -> list[str]:
    held = [path.name.removesuffix(SEGMENTS) for path in sorted(folder.glob(f"*{SEGMENTS}"))]
    if not held:
        raise InputError(f"{folder}: there is no NAME-REF{SEGMENTS}, which would hold a metric's scores")
    for name in wanted:
        if not any(_is(one, name) for one in held):
            raise InputError(f"{folder}: no metric {name!r}{meant(name, held)}")
    return [one for one in held if not wanted or any(_is(one, name) for name in wanted)]


def _is(metric: str, name: str) -> bool:
    return name in (metric, metric.rpartition("-")[0])


def _about(folder: Path, pair: str) -> tuple[dict[str, About], int | None]:
    """What is known about the segments, by their numbers, and how many there are."""
    source_lang, target_lang = languages.parse_pair(pair)
    sources = _lines(folder / "sources" / f"{pair}.txt")
    documents = [line.split() for line in _lines(folder / "documents" / f"{pair}.docs")]
    count = len(sources) or len(documents)
    if sources and documents and len(sources) != len(documents):
        raise InputError(
            f"{folder / 'documents' / f'{pair}.docs'}: has {len(documents)} lines, and there are {count} sources"
        )
    found = {}
    for place in range(count):
        domain, document = documents[place][:2] if documents and len(documents[place]) > 1 else (None, None)
        source = sources[place] if sources else None
        found[str(place + 1)] = About(source, source_lang, target_lang, document, domain)
    return found, count or None


class _Reader(NamedTuple):
    folder: Path
    pair: str
    about: dict[str, About]
    total: int | None

    def side(self, path: Path, name: str) -> Side:
        side = listed(path, name)
        texts = {system: self._texts(system) for system in side.names()}
        for system in dict.fromkeys(key.system for key in side.segments):
            self._refuse_misfit(side, system, len(texts[system]))
        languages_alone = About(None, *languages.parse_pair(self.pair))
        about = {key.item: languages_alone for key in side.segments} | self.about
        segments = {key: _with_text(key, given, texts[key.system]) for key, given in side.segments.items()}
        saw = name.rpartition("-")[2] if path.parent.name == self.pair and "-" in name else NO_REFERENCE
        return replace(side, segments=segments, about=about, reference=None if saw == NO_REFERENCE else saw)

    def _refuse_misfit(self, side: Side, system: str, texts: int) -> None:
        held = len(side.of_system(system))
        if self.total not in (None, held):
            raise InputError(f"{side.origin}: {held} scores of {system!r}, and there are {self.total} segments")
        if texts not in (0, held):
            raise InputError(f"{side.origin}: {held} scores of {system!r}, and {texts} translations in {self.folder}")

    def _texts(self, system: str) -> list[str]:
        path = mtme.text_file(self.folder, self.pair, system)
        return _lines(path) if path else []


def _with_text(key: Key, given: Given, texts: list[str]) -> Given:
    place = int(key.item) - 1
    return given._replace(translation=texts[place]) if place < len(texts) else given


def _lines(path: Path) -> list[str]:
    return [line.text for line in lines_of(path)] if path.is_file() else []


_NO_TEXTS = "sources, translations and documents are not written: not all are known, or one has a line break"


def write_folder(matches: Sequence[Match], target: Target, lp: str | None = None) -> list[str]:
    """Write people's scores and those of all evaluators, and return remarks.

    A missing score is ``None``. ``lp`` is the language pair, where the scores do not tell it. Raises
    :class:`mtagent.errors.OutputError` where it is not known, where two names would become one, and where the folder is
    not empty.
    """
    target.refuse_taken_folder()
    writer = _Writer(matches, target.path, lp)
    with target.filled() as folder:
        remarks = writer.write(folder)
        _refuse_leftovers(folder, target.path, writer.systems.values())
    names = {name: written for name, written in writer.evaluators.items() if not written.startswith(name)}
    return [*renamed(writer.systems | names), *remarks, f"written: {target.path}"]


def _refuse_leftovers(fresh: Path, path: Path, systems: Iterable[str]) -> None:
    """Former scores of systems, ratings or texts beside new scores would be read as if they were theirs."""
    ratings = (
        scores.with_name(scores.name.removesuffix(SEGMENTS) + end).relative_to(fresh)
        for scores in fresh.rglob(f"*{SEGMENTS}")
        for end in (SYSTEMS, RATINGS)
    )
    (pair,) = (one.name for one in (fresh / METRICS).iterdir())
    texts = (Path("system-outputs", pair, f"{name}.txt") for name in systems)
    for one in (*ratings, Path("sources", f"{pair}.txt"), Path("documents", f"{pair}.docs"), *texts):
        if (path / one).is_file() and not (fresh / one).is_file():
            raise OutputError(f"{path / one}: is an older one, and would be read with the new scores: remove it")


class _Writer:
    def __init__(self, matches: Sequence[Match], path: Path, lp: str | None) -> None:
        sides = [_written_people(matches), *(one.evaluator for one in matches)]
        self._human, self._metrics = sides[0], sides[1:]
        self._items = list(dict.fromkeys(key.item for side in sides for key in side.segments))
        self._path = path
        names = list(dict.fromkeys(name for side in sides for name in side.names()))
        self.systems = mapped(names, strict_name, path)
        self.evaluators = mapped([side.name for side in self._metrics], _file_name, path)
        self._unknown = About(None, *(languages.parse_pair(lp) if lp else ()))
        self._about: dict[str, About] = {}
        self._texts: dict[Key, str] = {}
        for side in sides:
            for item, about in side.about.items():
                self._about[item] = self._about.get(item, About()).or_else(about)
            self._texts |= {key: one.translation for key, one in side.segments.items() if one.translation is not None}

    def write(self, folder: Path) -> list[str]:
        segments = [self._segment(item) for item in self._items]
        lp = self._pair(segments)
        remarks = self._write_texts(segments, folder)
        lost = self._write_side(self._human, folder / PEOPLE, f"{lp}.{strict_name(self._human.name)}")
        for side in self._metrics:
            lost += self._write_side(side, folder / METRICS / lp, self.evaluators[side.name])
        return [*remarks, *([f"{lost} errors have no known place: empty spans at the text's start"] if lost else [])]

    def _write_side(self, side: Side, folder: Path, stem: str) -> int:
        """Write the files of one side, and return how many errors have no place."""
        folder.mkdir(parents=True, exist_ok=True)
        ends = (SEGMENTS, SYSTEMS, *([RATINGS] if side.marks else []))
        lost = 0
        with ExitStack() as stack:
            sinks = [stack.enter_context(replacing(folder / (stem + end))) for end in ends]
            for system in side.names():
                given = [side.segments.get(Key(system, item), NOTHING) for item in self._items]
                own = side.systems.get(system, NOTHING).score
                write_scores(self.systems[system], [one.score for one in given], *sinks[:2], given=own)
                for item, one in zip(self._items, given, strict=True) if side.marks else ():
                    source = self._about.get(item, About()).source or ""
                    text = self._texts.get(Key(system, item), "")
                    line, unplaced = rating_line(one.errors, _bare(side.name), source, text)
                    sinks[2].write(f"{self.systems[system]}\t{line}\n")
                    lost += unplaced
        return lost

    def _segment(self, item: str) -> Segment:
        about = self._about.get(item, About()).or_else(self._unknown)
        return Segment(
            id=item,
            source=about.source or "",
            source_lang=about.source_lang or UNKNOWN,
            target_lang=about.target_lang or UNKNOWN,
            document=about.document,
            domain=about.domain,
        )

    def _pair(self, segments: Sequence[Segment]) -> str:
        pairs = list(dict.fromkeys(pair_name(one) for one in segments))
        if len(pairs) > 1 or UNKNOWN in pairs[0].split("-"):
            why = (
                f"the scores are of {len(pairs)} language pairs"
                if len(pairs) > 1
                else "no file tells the language pair"
            )
            raise OutputError(f"{self._path}: {why}; name one with -l, e.g. -l en-de")
        return pairs[0]

    def _write_texts(self, segments: Sequence[Segment], folder: Path) -> list[str]:
        """Write sources, translations and documents, where all are known and stand in a line each; return remarks."""
        wanted = [self._texts.get(Key(system, item)) for system in self.systems for item in self._items]
        texts = [*wanted, *(self._about.get(item, About()).source for item in self._items)]
        if any(text is None or has_break(text) for text in texts):
            return [_NO_TEXTS]

        def entries() -> Iterator[Entry]:
            for one in segments:
                yield Entry(one, {name: self._texts[Key(name, one.id)] for name in self.systems}, ())

        remarks = MTME.export(Held("", tuple(self.systems), entries, Survey((), (), {})), folder)
        return [one for one in remarks if one not in renamed(self.systems)]


def _written_people(matches: Sequence[Match]) -> Side:
    """People's scores of all systems that they share with any of the evaluators."""
    sides = [one.human for one in matches]
    return replace(
        sides[0],
        segments={key: given for side in sides for key, given in side.segments.items()},
        systems={name: given for side in sides for name, given in side.systems.items()},
    )


def _file_name(name: str) -> str:
    """``NAME-REF``: what an evaluator's files are called; names that have such an end keep it."""
    bare = _bare(name)
    return f"{strict_name(bare)}-{strict_name(name.removeprefix(bare).removeprefix('-') or NO_REFERENCE)}"


def _bare(name: str) -> str:
    """``name`` without the ``-REF`` of a file of mt-metrics-eval."""
    base, dash, reference = name.rpartition("-")
    return base if dash and (reference == NO_REFERENCE or reference.startswith("ref")) else name
