"""Scores of translations as they stand in files, folders and runs: all are read into one form, a :class:`Side`.

=====================  ======================================================================
``ScoreTable``         CSV, TSV and JSON Lines, a row per translation or per score
``read_list``          a score a line: mt-metrics-eval's ``.seg.score``, COMET's, plain numbers
``read_run``           the ratings of a stored run
``read_folder``        a folder of mt-metrics-eval (``mtme_folder.py``)
=====================  ======================================================================
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.errors import ConfigError, InputError
from mtagent.formats.annotations import own_spans
from mtagent.formats.files import lines_of, sha256
from mtagent.formats.json_text import parsed_lines
from mtagent.formats.mtme import MTME
from mtagent.formats.segments import PAIR, named_fields
from mtagent.formats.tables import open_table
from mtagent.metrics.scores_file import holds_objects, number_in, read_scores
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


# --- tables: a row for each translation, or for each score of an evaluator

MISSING = ("", "None", "null", "NA")
SCORE = "score"
_SYSTEM = ("system", "system_id", "sys")
_RATER = ("evaluator", "metric", "name")
_ITEM = ("segment", "seg", "item")
_NO_SCORES = ("confidence", "seconds", "paragraph", "rater", "annotator")
"""Columns of numbers, or of names that look like some, that are no scores."""
_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
_JSON_LINES = (".jsonl", ".ndjson")
_LISTS = (".score", ".rating")
_LIST_ENDS = re.compile(r"none|score: \S+")
"""What a line of a list ends with, whose system may be called "system"."""
_DECIMAL_COMMA = re.compile(r"\A([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)\Z")


class Cells(NamedTuple):
    """A row: the line it stands in, and its values by column."""

    where: str
    values: dict[str, Any]


class Table(NamedTuple):
    """The rows of a file, and the names of its columns in order; ``head`` is where these stand."""

    path: Path
    names: tuple[str, ...]
    rows: list[Cells]
    head: str


def is_table(path: Path) -> bool:
    """Whether a file is a table: by the end of its name or, where that tells nothing, by its first line."""
    ending = path.suffix.casefold()
    if ending in (*_DELIMITERS, *_JSON_LINES) or ending in _LISTS or not path.is_file():
        return ending in (*_DELIMITERS, *_JSON_LINES)
    first = next((line.text for line in lines_of(path)), "")
    cells = [cell.strip().casefold() for cell in first.split("\t")]
    listed = number_in(cells[-1]) is not None or _LIST_ENDS.fullmatch(cells[-1])
    return holds_objects(first) or (any(name in cells for name in _SYSTEM) and not listed)


def read_table(path: Path) -> Table:
    """All rows of a file. Raises :class:`InputError` for a file that has none, and for one that is no table."""
    ending = path.suffix.casefold()
    first = next((line.text for line in lines_of(path)), "")
    if ending in _JSON_LINES or (ending not in _DELIMITERS and first.lstrip().startswith("{")):
        cells = [Cells(f"{path}:{number}", values) for number, values in parsed_lines(path)]
        names = tuple(dict.fromkeys(name for row in cells for name in row.values))
    else:
        names, cells = _read_columns(path, _DELIMITERS.get(ending, "\t"))
    if not cells:
        raise InputError(f"{path}: there is no row in it")
    return Table(path, names, cells, f"{path}:1")


def _read_columns(path: Path, delimiter: str) -> tuple[tuple[str, ...], list[Cells]]:
    header = next(lines_of(path), None)
    if header is None or not header.text.strip():
        raise InputError(f"{path}:1: is empty; the first line must name the columns")
    # Spreadsheets write semicolons where 0,5 is a half.
    table = open_table(path, ",;" if delimiter == "," else delimiter, quoted=True if delimiter == "," else None)
    table.refuse_repeated()
    cells = []
    for where, values in table.records():
        if table.dialect.delimiter == ";":
            values = {name: _DECIMAL_COMMA.sub(r"\1.\2", cell) for name, cell in values.items()}
        cells.append(Cells(where, values))
    return table.names, cells


def score_in(row: Cells, column: str) -> float | None:
    """The score in ``column``; ``None``, ``null``, ``NA`` and an empty cell are missing ones.

    Raises :class:`InputError` for what is no finite number.
    """
    value = row.values.get(column)
    if value is None or value in MISSING:
        return None
    number = number_in(value)
    if number is None or not math.isfinite(number):
        raise InputError(
            f"{row.where}: {column!r} is {value!r:.60}, which is no score; a missing one is None (or an empty cell)"
        )
    return number


def text_in(row: Cells, column: str | None) -> str | None:
    """What ``column`` holds as text; ``None`` where it is missing."""
    value = None if column is None else row.values.get(column)
    return None if value is None or value == "" else str(value)


class ScoreTable:
    """The scores of a table: a column for each evaluator, or (the long form) a row for each evaluator's score.

    ``item`` names the columns that tell segments apart, ``lp`` the only language pair that is wanted. Raises
    :class:`InputError` for a column that is not there, and where no row is of the language pair.
    """

    def __init__(self, table: Table, item: tuple[str, ...] = (), lp: tuple[str, str] | None = None) -> None:
        self.table, self.names = table, table.names
        if unknown := [name for name in item if name not in table.names]:
            raise InputError(f"{table.head}: no column {unknown[0]!r}{alternatives(unknown[0], table.names)}")
        plain = {name.strip().casefold(): name for name in table.names}
        self._fields = {name: table.names[place] for name, place in named_fields(table.names, table.head).items()}
        own_id = [self._fields["id"]] if "id" in self._fields else [plain[name] for name in _ITEM if name in plain][:1]
        self._item = item or tuple(own_id)
        self._system = next((plain[name] for name in _SYSTEM if name in plain), None)
        self._rater = next((name for name in _RATER if name in table.names), None) if SCORE in table.names else None
        self._taken = {*self._item, *self._fields.values(), *_ITEM, *_NO_SCORES, self._system, self._rater}
        abouts = [self._about(row, lp) for row in table.rows]
        self._rows = [(row, about) for row, about in zip(table.rows, abouts, strict=True) if about.is_of(lp)]
        if not self._rows:
            pairs = dict.fromkeys("-".join(filter(None, about[1:3])) for about in abouts)
            pair = "-".join(lp or ())
            raise InputError(f"{table.path}: no row is of the language pair {pair}{alternatives(pair, pairs)}")

    def _about(self, row: Cells, lp: tuple[str, str] | None) -> About:
        about = About(*(text_in(row, self._fields.get(name)) for name in About._fields))
        if lp and not {"source_lang", "target_lang", PAIR} & set(self._fields):
            about = about._replace(source_lang=lp[0], target_lang=lp[1])
        if pair := text_in(row, self._fields.get(PAIR)):
            source_lang, target_lang = languages.parse_pair(pair)
            about = about._replace(source_lang=source_lang, target_lang=target_lang)
        return about

    def evaluators(self, name: str | None, wanted: Sequence[str], beside: str | None) -> tuple[list[Side], set[str]]:
        """The evaluators, and the names of all that there are.

        ``name``: what its only evaluator shall be called. ``wanted`` chooses some, by name; ``beside`` is the column
        with people's scores. Raises :class:`InputError`.
        """
        names = self._raters() if self._rater else self._score_columns(beside, wanted)
        if not names:
            but = f" but {beside!r}, which --human names" if beside in self._numeric else ""
            raise InputError(f"{self.table.head}: no column holds scores{but}{alternatives('', self.names)}")
        if name is not None and len(names) > 1:
            raise InputError(
                f"{self.table.path}: has scores of {len(names)} evaluators; leave out {name}=, and choose with "
                "--metrics"
            )
        stem = self.table.path.stem
        called = {column: name or (stem if column == SCORE else column) for column in names}
        chosen = [column for column in names if not wanted or column in wanted or called[column] in wanted]
        sides = [self._side(column, called[column], self._rater is not None) for column in chosen]
        return sides, {*names, *called.values()}

    def people(self, column: str | None) -> Side:
        """People's scores: in ``column``, or by the rater of this name, or the only ones.

        Raises :class:`InputError` where ``column`` is not there, or has to be named.
        """
        if column is not None and column in self.names:
            return self._side(column, column, False)
        names = self._raters() if self._rater else self._score_columns(None, ())
        if column is None and len(names) != 1:
            raise InputError(
                f"{self.table.head}: which scores are people's? name them: --human NAME={self.table.path}"
                f"{alternatives('', names)}"
            )
        if column is not None and column not in names:
            known = dict.fromkeys([*self.names, *names])
            raise InputError(f"{self.table.head}: no column {column!r}{alternatives(column, known)}")
        return self._side(names[0] if column is None else column, column or names[0], self._rater is not None)

    def systems(self) -> dict[str, dict[str, SegmentScore]]:
        """Given scores of whole systems by evaluator: a row per system, a column per evaluator (people among them)."""
        if self._system is None:
            raise InputError(f"{self.table.head}: no column 'system'{alternatives('system', self.names)}")
        evaluators: dict[str, dict[str, SegmentScore]] = {name: {} for name in self._score_columns(None, ())}
        for row, _ in self._rows:
            system = self._system_of(row)
            for name, column in evaluators.items():
                if system in column:
                    raise InputError(f"{row.where}: system {system!r} has a score already ({column[system].where})")
                column[system] = SegmentScore(score_in(row, name), row.where)
        return evaluators

    def _raters(self) -> list[str]:
        names = dict.fromkeys(text_in(row, self._rater) for row, _ in self._rows)
        return [name for name in names if name is not None] or [self.table.path.stem]

    def _score_columns(self, beside: str | None, wanted: Sequence[str]) -> list[str]:
        """Columns of numbers that are not known to hold something else, and the wanted ones."""
        taken = {*self._taken, beside}
        return [name for name in self.names if name in wanted or (name in self._numeric and name not in taken)]

    @cached_property
    def _numeric(self) -> set[str]:
        """Columns of which at least half of the values are numbers: the others are wrong ones."""
        numeric = set()
        for name in self.names:
            values = [value for row in self.table.rows if (value := row.values.get(name)) is not None]
            values = [value for value in values if value not in MISSING]
            if values and 2 * sum(number_in(value) is not None for value in values) >= len(values):
                numeric.add(name)
        return numeric

    def _side(self, name: str, called: str, by_rows: bool) -> Side:
        """The scores in the column ``name``, or (``by_rows``) of the rater ``name``."""
        segments: dict[Key, SegmentScore] = {}
        counts: Counter[str] = Counter()
        known: dict[str, About] = {}
        signatures: dict[str, str] = {}
        column = SCORE if by_rows else name
        alone = by_rows or len(self._score_columns(None, ())) == 1  # the row's spans are of who gave this score
        names_systems = any(text_in(row, self._system) is not None for row, _ in self._rows)
        for row, about in self._rows_of(name) if by_rows else self._rows:
            system = self._system_of(row) if names_systems else UNNAMED
            counts[system] += 1
            key = Key(system, self._item_of(row) or str(counts[system]))
            marks = row.values.get("errors")
            errors = own_spans(marks, row.where) if alone and isinstance(marks, list) else None
            text = text_in(row, self._fields.get("translation"))
            score = SegmentScore(score_in(row, column), row.where, text, errors, str(row.values.get("error") or ""))
            repeated = not by_rows and self._rater is not None  # people's score stands in the row of each evaluator
            if not (repeated and key in segments and segments[key].score == score.score):
                add_score(segments, key, score, self._way_out)
            before = known.get(key.item, about)
            if before[1:3] != about[1:3]:
                pairs = " and ".join("-".join(map(str, pair)) for pair in (before[1:3], about[1:3]))
                raise InputError(
                    f"{row.where}: segment {key.item!r} is one of {pairs}: take one language pair with -l, or name all "
                    "columns that tell segments apart with --item"
                )
            known[key.item] = before.or_else(about)
            if score.score is not None or errors is not None:
                signatures.setdefault((text_in(row, "signature") if alone else None) or "", row.where)
        signed = [signature for signature in signatures if signature]
        path = self.table.path
        signature = summed_up(signed) if signed else f"file:{path.name}|column:{called}|sha256:{digest(path)}"
        numbered = not self._item
        return Side(called, str(path), signature, segments, {}, known, numbered, signatures=signatures)

    def _rows_of(self, name: str) -> list[tuple[Cells, About]]:
        """The rows of one rater, and those that name none (failed ratings) of translations that it did not rate."""
        places = [(text_in(row, self._system), self._item_of(row)) for row, _ in self._rows]
        whose = [text_in(row, self._rater) for row, _ in self._rows]
        rated = {place for place, who in zip(places, whose, strict=True) if who == name}
        shared = bool(self._item) and len(self._raters()) > 1
        return [
            row
            for row, place, who in zip(self._rows, places, whose, strict=True)
            if who == name or (who is None and not (shared and place in rated))
        ]

    def _system_of(self, row: Cells) -> str:
        name = text_in(row, self._system)
        if name is None:
            raise InputError(f"{row.where}: {self._system!r} is empty; it names the system")
        return name

    def _item_of(self, row: Cells) -> str | None:
        parts = [text_in(row, column) for column in self._item]
        if None in parts:
            raise InputError(f"{row.where}: {self._item[parts.index(None)]!r} is empty; it names the segment")
        return "/".join(map(str, parts)) if parts else None

    @cached_property
    def _way_out(self) -> str:
        """What to do where ids repeat."""
        others = [self._fields[name] for name in ("document", PAIR) if name in self._fields]
        if others := [name for name in others if name not in self._item]:
            columns = ",".join([*others, *self._item])
            return f"; where ids repeat, name all columns that tell segments apart: --item {columns}"
        return "" if self._system else "; no column names the system"
