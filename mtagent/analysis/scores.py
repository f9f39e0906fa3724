"""Scores of translations as they stand in files, folders and runs: all are read into one form, a :class:`Side`.

=====================  ======================================================================
``ScoreTable``         CSV, TSV and JSON Lines, a row per translation (``score_tables.py``)
``read_list``          a score a line: mt-metrics-eval's ``.seg.score``, COMET's, plain numbers
``read_run``           the ratings of a stored run
``read_folder``        a folder of mt-metrics-eval (``mtme_folder.py``)
=====================  ======================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of
from mtagent.formats.mtme import MTME
from mtagent.jobs.inputs import sha256
from mtagent.metrics.scores_file import read_scores
from mtagent.records import ErrorSpan, Segment
from mtagent.store.store import Store
from mtagent.text import languages
from mtagent.text.foreign import UNKNOWN

UNNAMED = "system"
"""What the system is called where a file names none."""
_MOST_SHOWN = 20


class Key(NamedTuple):
    """One translation: whose, and of which segment."""

    system: str
    item: str


class SegmentScore(NamedTuple):
    """A score as it stands in a file; ``None`` = missing, and ``why`` may say how it came to that.

    ``errors`` are marked spans: ``()`` = error-free, ``None`` = none are given.
    """

    score: float | None
    where: str
    translation: str | None = None
    errors: tuple[ErrorSpan, ...] | None = None
    why: str = ""


NO_SCORE = SegmentScore(None, "")


class About(NamedTuple):
    """What is known about a segment."""

    source: str | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    document: str | None = None
    domain: str | None = None

    def or_else(self, other: About) -> About:
        """What ``other`` knows where this does not."""
        return About(*(own if own is not None else more for own, more in zip(self, other, strict=True)))

    def is_of(self, lp: tuple[str, str] | None) -> bool:
        """Whether it is of this language pair, as far as it is known."""
        if lp is None or self.source_lang is None or self.target_lang is None:
            return True
        return (languages.normalise(self.source_lang), languages.normalise(self.target_lang)) == lp

    @property
    def pair(self) -> str | None:
        """The languages without their regions; ``None`` where one is not known."""
        if self.source_lang is None or self.target_lang is None:
            return None
        return languages.pair_of(languages.normalise(self.source_lang), languages.normalise(self.target_lang))

    def segment(self, item: str) -> Segment:
        """The segment ``item``, as far as it is known."""
        return Segment(
            id=item,
            source=self.source or "",
            source_lang=self.source_lang or UNKNOWN,
            target_lang=self.target_lang or UNKNOWN,
            document=self.document,
            domain=self.domain,
        )


@dataclass(frozen=True)
class Side:
    """The scores of an evaluator or of people.

    ``origin`` is the file, folder or run. ``systems`` are scores that were given for whole systems. ``numbered``: the
    file names no segments, and the items are their positions in the scores of each system, from 1. ``reference`` is the
    name of the reference that the evaluator saw, where the file tells. ``signatures`` are those of the single
    ratings (empty: not signed), with the place at which each stands first; ``signature`` sums them up.
    """

    name: str
    origin: str
    signature: str
    segments: Mapping[Key, SegmentScore] = field(default_factory=dict)
    systems: Mapping[str, SegmentScore] = field(default_factory=dict)
    about: Mapping[str, About] = field(default_factory=dict)
    numbered: bool = False
    reference: str | None = None
    signatures: Mapping[str, str] = field(default_factory=dict)

    def names(self) -> list[str]:
        """The systems, in the order of the file."""
        return list(dict.fromkeys([*(key.system for key in self.segments), *self.systems]))

    def of_system(self, system: str) -> list[Key]:
        """The translations of a system, in the order of the file."""
        return [key for key in self.segments if key.system == system]

    def only(self, systems: Iterable[str]) -> Side:
        """Only the scores of ``systems``."""
        return self.with_names({name: name for name in systems})

    def with_names(self, names: Mapping[str, str]) -> Side:
        """The scores of the systems in ``names``, under the names that these have there."""
        segments = {
            Key(names[key.system], key.item): score for key, score in self.segments.items() if key.system in names
        }
        systems = {names[system]: score for system, score in self.systems.items() if system in names}
        return replace(self, segments=segments, systems=systems)

    def negated(self) -> Side:
        """The same for an evaluator whose lower scores are better."""

        def turned(score: SegmentScore) -> SegmentScore:
            return score._replace(score=None if score.score is None else -score.score)

        return replace(
            self,
            signature=f"{self.signature}|negated:yes",
            segments={key: turned(score) for key, score in self.segments.items()},
            systems={name: turned(score) for name, score in self.systems.items()},
        )

    @property
    def marks(self) -> bool:
        """Whether it has marked error spans, or said that there are none."""
        return any(score.errors is not None for score in self.segments.values())


def joined_about(sides: Iterable[Side]) -> dict[str, About]:
    """What ``sides`` know about segments; where they differ, the first to know counts."""
    about: dict[str, About] = {}
    for side in sides:
        for item, known in side.about.items():
            about[item] = about.get(item, known).or_else(known)
    return about


def alternatives(wrong: str, known: Iterable[str]) -> str:
    """``; did you mean 'mqm'?``, or what there is."""
    names = list(known)
    near = get_close_matches(wrong, names, n=1)
    shown = ", ".join([*names[:_MOST_SHOWN], *(["…"] if len(names) > _MOST_SHOWN else [])])
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {shown or 'none'}"


def digest(path: Path) -> str:
    """The beginning of the hash of a file's content."""
    return sha256(path)[:12]


def pooled(sides: Sequence[Side]) -> Side:
    """What several files hold of one rater. A score that stands in two of them must be the same, of the same text.

    Raises :class:`InputError` where it is not, where a segment is of another language pair in another file, and where
    only some of the files name the segments.
    """
    first = sides[0]
    segments: dict[Key, SegmentScore] = {}
    systems: dict[str, SegmentScore] = {}
    signatures: dict[str, str] = {}
    for number, side in enumerate(sides):
        if side.numbered != first.numbered:
            raise InputError(f"{side.origin}: only one of this and {first.origin} names the segments (id)")
        refuse_other_pair(side, joined_about(sides[:number]), first.origin)
        for key, score in side.segments.items():
            if key not in segments or not _is_same_rating(segments[key], score):
                add_score(segments, key, score, f"; if {side.name} are two, name them apart with NAME=")
        for name, score in side.systems.items():
            if systems.setdefault(name, score).score != score.score:
                raise InputError(f"{score.where}: system {name!r} has another score ({systems[name].where})")
        for signature, where in side.signatures.items():
            signatures.setdefault(signature, where)
    return replace(
        first,
        signature=summed_up(side.signature for side in sides),
        segments=segments,
        systems=systems,
        about=joined_about(sides),
        signatures=signatures,
    )


def summed_up(signatures: Iterable[str]) -> str:
    """The first of the signatures, and how many others there are."""
    distinct = list(dict.fromkeys(signatures))
    return distinct[0] + (f" (and {len(distinct) - 1} others)" if len(distinct) > 1 else "")


def add_score(scores: dict[Key, SegmentScore], key: Key, score: SegmentScore, way_out: str = "") -> None:
    """Add a score. Raises :class:`InputError` where the translation has one already."""
    if key in scores:
        name = f"system {key.system!r}, segment {key.item!r}"
        raise InputError(f"{score.where}: {name} has a score already ({scores[key].where}){way_out}")
    scores[key] = score


def _is_same_rating(first: SegmentScore, second: SegmentScore) -> bool:
    """Whether they can be the same rating, read twice; what only one of them tells is no difference."""
    if first.score != second.score or (None not in (first.errors, second.errors) and first.errors != second.errors):
        return False
    return len({" ".join(text.split()) for text in (first.translation, second.translation) if text is not None}) < 2


def refuse_other_pair(side: Side, known: Mapping[str, About], origin: str) -> None:
    """Raise :class:`InputError` for a segment of ``side`` that is ``known`` to be of another language pair."""
    for item, about in side.about.items():
        other = known.get(item, about)
        if other[1:3] != about[1:3] and None not in (*other[1:3], *about[1:3]) and other.pair != about.pair:
            raise InputError(
                f"{side.origin}: segment {item!r} is one of {about.pair}, and of {other.pair} in {origin}: take one "
                "language pair with -l, or name all columns that tell segments apart with --item"
            )


# --- a score a line


SEGMENTS, SYSTEMS, RATINGS = ".seg.score", ".sys.score", ".seg.rating"


def read_list(path: Path, name: str | None = None) -> Side:
    """The scores of a file; beside a ``NAME.seg.score``, those of ``NAME.sys.score`` and ``NAME.seg.rating`` too.

    Raises :class:`InputError`.
    """
    stem = path.name.removesuffix(SEGMENTS).removesuffix(SYSTEMS).removesuffix(RATINGS)
    if path.name.endswith((SYSTEMS, RATINGS)):
        raise InputError(f"{path}: give {stem}{SEGMENTS}; what stands beside it is read as well")
    segments: dict[Key, SegmentScore] = {}
    for system, scores in read_scores(path).items():
        if len(metrics := dict.fromkeys(str(score.metric) for score in scores)) > 1:
            raise InputError(f"{path}: has scores of {', '.join(metrics)}; name the file .jsonl to read all")
        for number, score in enumerate(scores, start=1):
            segments[Key(system or UNNAMED, str(number))] = SegmentScore(score.value, score.where, score.translation)
    systems: dict[str, SegmentScore] = {}
    signature = f"file:{path.name}|sha256:{digest(path)}"
    given, ratings = path.with_name(stem + SYSTEMS), path.with_name(stem + RATINGS)
    if path.name.endswith(SEGMENTS) and given.is_file():
        signature += f"|sys:{digest(given)}"
        for system, (first, *more) in read_scores(given).items():
            if more or system is None:
                raise InputError(f"{(more or [first])[0].where}: a line is SYSTEM⇥SCORE, and each system has one")
            systems[system] = SegmentScore(first.value, first.where)
    if path.name.endswith(SEGMENTS) and ratings.is_file() and any(line.text.strip() for line in lines_of(ratings)):
        segments = _with_ratings(segments, ratings)
    called = name or (stem if stem != path.name else path.name.split(".")[0])
    return Side(called, str(path), signature, segments, systems, numbered=True, signatures={"": f"{path}:1"})


def _with_ratings(segments: dict[Key, SegmentScore], path: Path) -> dict[Key, SegmentScore]:
    """``segments`` with the errors of ``path``; what has errors and no score is missing a score."""
    rated = {
        Key(rating.system or UNNAMED, rating.segment or ""): SegmentScore(
            None, rating.where, rating.translation, rating.errors
        )
        for rating in MTME.read_spans(path)
    }
    scores, ratings = (Counter(key.system for key in keys) for keys in (segments, rated))
    for system, number in ratings.items():
        if scores[system] not in (0, number):
            raise InputError(
                f"{path}: {number} ratings of system {system!r}, and {scores[system]} scores beside it; a line is a "
                "segment, None one that was not rated"
            )
    return rated | {
        key: score._replace(errors=rated[key].errors if key in rated else None) for key, score in segments.items()
    }


# --- stored runs


def read_run(store: Store, run: str, name: str | None = None, lp: tuple[str, str] | None = None) -> Side:
    """The ratings of ``run``, of the language pair ``lp``, as one evaluator, called as it calls itself or ``name``.

    Raises :class:`ConfigError` for a run of another kind, and for one without this language pair.
    """
    stored = store.read(run)
    if stored.kind != "rating":
        raise ConfigError(f"run {run!r} holds no ratings of texts; rate what it made: mtagent rate --run {run}")
    segments: dict[Key, SegmentScore] = {}
    about: dict[str, About] = {}
    signed: list[str] = []
    signatures: dict[str, str] = {}
    for rated in stored.ratings():
        segment, rating = rated.segment, rated.rating
        known = About(*(getattr(segment, name) for name in About._fields))
        if not known.is_of(lp):
            continue
        where = f"run {run!r}, segment {segment.id!r}, system {rated.system!r}"
        score, errors = (rating.score, rating.errors) if rating else (None, None)
        key = Key(rated.system, segment.id)
        add_score(segments, key, SegmentScore(score, where, rated.translation, errors, rated.error or ""))
        about[segment.id] = known
        if rating:
            name = name or rating.evaluator
            signed.append(rating.signed)
            signatures.setdefault(rating.signature, where)
    if not segments:
        raise ConfigError(f"run {run!r}: no segment is of the language pair {'-'.join(lp or ())}")
    signature = summed_up(signed or [f"run:{run}"])
    return Side(name or run, f"run {run!r}", signature, segments, about=about, signatures=signatures)
