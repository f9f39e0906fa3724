"""Scores of translations in files, folders and runs: all are read into one form, a :class:`Side`.

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
from mtagent.formats.annotations import own_spans, sided_spans
from mtagent.formats.files import lines_of, parsed_lines, sha256
from mtagent.formats.mtme import MTME
from mtagent.formats.segments import PAIR, field_called, named_fields
from mtagent.formats.tables import open_table
from mtagent.metrics.scores_file import holds_objects, number_in, read_scores
from mtagent.records import ErrorSpan, Segment
from mtagent.store.store import Store
from mtagent.text import languages
from mtagent.text.amounts import first_of
from mtagent.text.foreign import UNKNOWN

UNNAMED = "system"
"""The name of a system that the file doesn't name."""
_MOST_SHOWN = 20


class TranslationKey(NamedTuple):
    """One translation: whose, and of which segment."""

    system: str
    item: str


class SegmentScore(NamedTuple):
    """A score as a file has it."""

    score: float | None
    """``None`` = missing."""
    where: str
    """The file and the line, for messages."""
    translation: str | None = None
    errors: tuple[ErrorSpan, ...] | None = None
    """Marked spans: ``()`` = error-free, ``None`` = the file has none."""
    why: str = ""
    """Why the score is missing."""


NO_SCORE = SegmentScore(None, "")


class SegmentInfo(NamedTuple):
    """What is known about a segment."""

    source: str | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    document: str | None = None
    domain: str | None = None

    def or_else(self, other: SegmentInfo) -> SegmentInfo:
        """The same, with what only ``other`` knows."""
        values = []
        for value, other_value in zip(self, other, strict=True):
            values.append(other_value if value is None else value)
        return SegmentInfo(*values)

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
    """The scores of an evaluator or of people."""

    name: str
    origin: str
    """The file, folder or run."""
    signature: str
    """Sums up ``signatures``."""
    segments: Mapping[TranslationKey, SegmentScore] = field(default_factory=dict)
    systems: Mapping[str, SegmentScore] = field(default_factory=dict)
    """Scores that were given for whole systems."""
    about: Mapping[str, SegmentInfo] = field(default_factory=dict)
    numbered: bool = False
    """The file names no segments: the items are their positions in the scores of each system, from 1."""
    reference: str | None = None
    """The name of the reference that the evaluator saw, if the file has it."""
    fields: str = ""
    """The meanings of a table's fields whose names this project doesn't use."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """The signatures of the single ratings (empty: not signed), each with the place where it is found first."""

    def names(self) -> list[str]:
        """The systems, in the order of the file."""
        return list(dict.fromkeys(key.system for key in self.segments) | dict.fromkeys(self.systems))

    def of_system(self, system: str) -> list[TranslationKey]:
        """The translations of a system, in the order of the file."""
        translations = []
        for key in self.segments:
            if key.system == system:
                translations.append(key)
        return translations

    def only(self, systems: Iterable[str]) -> Side:
        """Only the scores of ``systems``."""
        return self.with_names({name: name for name in systems})

    def of_items(self, items: Iterable[str]) -> Side:
        """Only the scores of these segments, and none that were given for whole systems."""
        chosen = set(items)
        segments = {}
        for key, score in self.segments.items():
            if key.item in chosen:
                segments[key] = score
        about = {}
        for item, info in self.about.items():
            if item in chosen:
                about[item] = info
        return replace(self, segments=segments, systems={}, about=about)

    def with_names(self, names: Mapping[str, str]) -> Side:
        """The scores of the systems in ``names``, under the names that these have there."""
        segments = {}
        for key, score in self.segments.items():
            if key.system in names:
                segments[TranslationKey(names[key.system], key.item)] = score
        systems = {}
        for system, score in self.systems.items():
            if system in names:
                systems[names[system]] = score
        return replace(self, segments=segments, systems=systems)

    def negated(self) -> Side:
        """The same for an evaluator whose lower scores are better."""
        segments, systems = dict(self.segments), dict(self.systems)
        for key, score in segments.items():
            if score.score is not None:
                segments[key] = score._replace(score=-score.score)
        for name, score in systems.items():
            if score.score is not None:
                systems[name] = score._replace(score=-score.score)
        return replace(self, signature=f"{self.signature}|negated:yes", segments=segments, systems=systems)

    @property
    def marks(self) -> bool:
        """Whether it has marked error spans, or marked translations as error-free."""
        return any(score.errors is not None for score in self.segments.values())


def joined_about(sides: Iterable[Side]) -> dict[str, SegmentInfo]:
    """What ``sides`` know about segments; where they differ, the first to know counts."""
    joined: dict[str, SegmentInfo] = {}
    for side in sides:
        for item, info in side.about.items():
            joined[item] = joined.get(item, info).or_else(info)
    return joined


def alternatives(wrong: str, known: Iterable[str]) -> str:
    """``; did you mean 'mqm'?``, or a list of the known names."""
    names = list(known)
    near = get_close_matches(wrong, names, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; there are: {first_of(names, _MOST_SHOWN) or 'none'}"


def digest(path: Path) -> str:
    """The beginning of the hash of a file's content."""
    return sha256(path)[:12]


def pooled(sides: Sequence[Side]) -> Side:
    """What several files hold of one rater. A score that is in two of them must be the same, of the same text.

    Raises :class:`InputError` where it is not, where a segment is of another language pair in another file, and where
    only some of the files name the segments.
    """
    first = sides[0]
    segments: dict[TranslationKey, SegmentScore] = {}
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
    first, *others = dict.fromkeys(signatures)
    return f"{first} (and {len(others)} others)" if others else first


def add_score(
    scores: dict[TranslationKey, SegmentScore], key: TranslationKey, score: SegmentScore, way_out: str = ""
) -> None:
    """Add a score. Raises :class:`InputError` where the translation has one already."""
    if key in scores:
        name = f"system {key.system!r}, segment {key.item!r}"
        raise InputError(f"{score.where}: {name} has a score already ({scores[key].where}){way_out}")
    scores[key] = score


def _is_same_rating(first: SegmentScore, second: SegmentScore) -> bool:
    """Whether they can be the same rating, read twice. What only one of them has does not matter."""
    if first.score != second.score:
        return False
    if first.errors is not None and second.errors is not None and first.errors != second.errors:
        return False
    if first.translation is None or second.translation is None:
        return True
    return first.translation.split() == second.translation.split()


def refuse_other_pair(side: Side, known: Mapping[str, SegmentInfo], origin: str) -> None:
    """Raise :class:`InputError` for a segment of ``side`` that is ``known`` to be of another language pair."""
    for item, about in side.about.items():
        other = known.get(item, about)
        # Languages that are written alike need not be compared, which takes time.
        is_same = (other.source_lang, other.target_lang) == (about.source_lang, about.target_lang)
        if is_same or other.pair is None or about.pair is None:
            continue
        if other.pair != about.pair:
            raise InputError(
                f"{side.origin}: segment {item!r} is {about.pair}, but {other.pair} in {origin}: take one language "
                "pair with -l, or name all columns that tell segments apart with --item"
            )


# --- a score a line


SEGMENTS, SYSTEMS, RATINGS = ".seg.score", ".sys.score", ".seg.rating"


def read_list(path: Path, name: str | None = None) -> Side:
    """The scores of a file; with a ``NAME.seg.score``, ``NAME.sys.score`` and ``NAME.seg.rating`` are read as well.

    Raises :class:`InputError`.
    """
    stem = path.name.removesuffix(SEGMENTS).removesuffix(SYSTEMS).removesuffix(RATINGS)
    if path.name.endswith((SYSTEMS, RATINGS)):
        raise InputError(f"{path}: give {stem}{SEGMENTS}; the files in the same folder are also read")
    segments: dict[TranslationKey, SegmentScore] = {}
    for system, scores in read_scores(path).items():
        metrics = dict.fromkeys(str(score.metric) for score in scores)
        if len(metrics) > 1:
            raise InputError(f"{path}: has scores of {', '.join(metrics)}; name the file .jsonl to read all")
        for number, score in enumerate(scores, start=1):
            key = TranslationKey(system or UNNAMED, str(number))
            segments[key] = SegmentScore(score.value, score.where, score.translation)
    systems: dict[str, SegmentScore] = {}
    signature = f"file:{path.name}|sha256:{digest(path)}"
    if path.name.endswith(SEGMENTS):
        system_scores, ratings = path.with_name(stem + SYSTEMS), path.with_name(stem + RATINGS)
        if system_scores.is_file():
            signature += f"|sys:{digest(system_scores)}"
            systems = _system_scores(system_scores)
        if ratings.is_file() and any(line.text.strip() for line in lines_of(ratings)):
            segments = _with_ratings(segments, ratings)
    if name is None:
        name = stem if stem != path.name else path.name.split(".")[0]
    return Side(name, str(path), signature, segments, systems, numbered=True, signatures={"": f"{path}:1"})


def _system_scores(path: Path) -> dict[str, SegmentScore]:
    systems = {}
    for system, (first, *more) in read_scores(path).items():
        if more or system is None:
            wrong = more[0] if more else first
            raise InputError(f"{wrong.where}: a line is SYSTEM⇥SCORE, and each system has one")
        systems[system] = SegmentScore(first.value, first.where)
    return systems


def _with_ratings(segments: dict[TranslationKey, SegmentScore], path: Path) -> dict[TranslationKey, SegmentScore]:
    """``segments`` with the errors of ``path``; a translation with errors and no score is missing a score."""
    rated: dict[TranslationKey, SegmentScore] = {}
    for rating in MTME.read_spans(path):
        key = TranslationKey(rating.system or UNNAMED, rating.segment or "")
        rated[key] = SegmentScore(None, rating.where, rating.translation, rating.errors)
    score_counts = Counter(key.system for key in segments)
    rating_counts = Counter(key.system for key in rated)
    for system, number in rating_counts.items():
        if score_counts[system] not in (0, number):
            raise InputError(
                f"{path}: {number} ratings of system {system!r}, and {score_counts[system]} scores beside it; a line "
                "is a segment, None one that was not rated"
            )
    joined = dict(rated)
    for key, score in segments.items():
        joined[key] = score._replace(errors=rated.get(key, NO_SCORE).errors)
    return joined


# --- stored runs


def read_run(store: Store, run: str, name: str | None = None, lp: tuple[str, str] | None = None) -> Side:
    """The ratings of ``run``, of the language pair ``lp``, as one evaluator, called as it calls itself or ``name``.

    Raises :class:`ConfigError` for a run of another kind, and for one without this language pair.
    """
    stored = store.read(run)
    if stored.kind != "rating":
        raise ConfigError(f"run {run!r} has no ratings of texts; rate its texts with mtagent rate --run {run}")
    segments: dict[TranslationKey, SegmentScore] = {}
    about: dict[str, SegmentInfo] = {}
    signed: list[str] = []
    signatures: dict[str, str] = {}
    for rated in stored.ratings():
        segment, rating = rated.segment, rated.rating
        info = SegmentInfo(segment.source, segment.source_lang, segment.target_lang, segment.document, segment.domain)
        if not info.is_of(lp):
            continue
        where = f"run {run!r}, segment {segment.id!r}, system {rated.system!r}"
        score = SegmentScore(None, where, rated.translation, why=rated.error or "")
        if rating:
            score = score._replace(score=rating.score, errors=rating.errors)
        add_score(segments, TranslationKey(rated.system, segment.id), score)
        about[segment.id] = info
        if rating:
            name = name or rating.evaluator
            signed.append(rating.signed)
            signatures.setdefault(rating.signature, where)
    if not segments:
        raise ConfigError(f"run {run!r}: has no segments of the language pair {'-'.join(lp or ())}")
    signature = summed_up(signed or [f"run:{run}"])
    return Side(name or run, f"run {run!r}", signature, segments, about=about, signatures=signatures)


# --- tables: a row for each translation, or for each score of an evaluator

MISSING = ("", "None", "null", "NA")
SCORE = "score"
_SYSTEM = ("system", "system_id", "sys")
_RATER = ("evaluator", "metric", "name")
_ITEM = ("segment", "seg", "item")
_SPANS = ("errors", "spans")
"""Error spans in this project's form, and those with ``side`` tgt, src or omission."""
_NO_SCORES = ("confidence", "seconds", "paragraph", "rater", "annotator")
"""Columns that are never scores, even if they hold numbers."""
_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
_JSON_LINES = (".jsonl", ".ndjson")
_LISTS = (".score", ".rating")
_LIST_ENDS = re.compile(r"none|score: \S+")
"""The end of a line of a list whose system may be called "system"."""
_DECIMAL_COMMA = re.compile(r"\A([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)\Z")


class ScoreRow(NamedTuple):
    """A row of a table."""

    where: str
    """The file and the line, for messages."""
    values: dict[str, Any]
    """By column."""


class ScoreFile(NamedTuple):
    """A table of scores as a file has it."""

    path: Path
    names: tuple[str, ...]
    """The columns in order."""
    rows: list[ScoreRow]
    head: str
    """The file and the line with the names of the columns, for messages."""
    meanings: Mapping[str, str] = {}
    """What fields were read as that hold objects or lists."""


def is_table(path: Path) -> bool:
    """Whether a file is a table: by the end of its name or, if that isn't clear, by its first line."""
    ending = path.suffix.casefold()
    if ending in (*_DELIMITERS, *_JSON_LINES):
        return True
    if ending in _LISTS or not path.is_file():
        return False
    first = _first_line(path)
    if holds_objects(first):
        return True
    cells = [cell.strip().casefold() for cell in first.split("\t")]
    # A list whose system is called "system" begins like the head of a table.
    if number_in(cells[-1]) is not None or _LIST_ENDS.fullmatch(cells[-1]):
        return False
    return not set(_SYSTEM).isdisjoint(cells)


def _first_line(path: Path) -> str:
    for line in lines_of(path):
        return line.text
    return ""


def read_table(path: Path) -> ScoreFile:
    """All rows of a file. Raises :class:`InputError` for a file without rows, and for a file that isn't a table."""
    ending = path.suffix.casefold()
    first = _first_line(path)
    if ending in _JSON_LINES or (ending not in _DELIMITERS and first.lstrip().startswith("{")):
        cells = []
        for number, values in parsed_lines(path):
            cells.append(ScoreRow(f"{path}:{number}", values))
        cells, meanings = _unfolded(cells)
        columns: dict[str, None] = {}
        for cell in cells:
            columns |= dict.fromkeys(cell.values)
        names = tuple(columns)
    else:
        meanings = {}
        names, cells = _read_columns(path, _DELIMITERS.get(ending, "\t"))
    if not cells:
        raise InputError(f"{path}: has no rows")
    return ScoreFile(path, names, cells, f"{path}:1", meanings)


def _unfolded(rows: list[ScoreRow]) -> tuple[list[ScoreRow], dict[str, str]]:
    """JSON rows whose fields hold scores or translations by system, or scores by metric, as plain rows and columns.

    A field is by system if its keys are among those of the translations, or of another field of scores, and no field
    names the system; other objects of numbers hold a score by metric. The second value
    holds the meanings of such fields.
    """
    kinds: dict[str, str] = {}
    keys: dict[str, dict[str, None]] = {}
    names_system = False
    for row in rows:
        if SCORE in row.values:  # ratings in this project's form, whose objects count calls and tokens
            return rows, {}
        for name, value in row.values.items():
            names_system = names_system or name.casefold() in _SYSTEM
            if isinstance(value, dict) and value:
                kinds.setdefault(name, _kind(value))
                keys.setdefault(name, {}).update(dict.fromkeys(map(str, value)))
    translations = []
    scores = []
    for name, kind in kinds.items():
        if kind == "texts" and field_called(name) == "translation":
            translations.append(name)
        elif kind == "scores":
            scores.append(name)
    by_system: list[str] = []
    if not names_system:
        for name in scores:
            for other in (*translations, *scores):
                if other != name and keys[name].keys() <= keys[other].keys():
                    by_system.append(name)
                    break
    meanings = {}
    for name in scores:
        meanings[name] = "scores by system" if name in by_system else f"scores of {', '.join(keys[name])}"
    if by_system:
        meanings |= dict.fromkeys(translations, "translations by system")
    unfolded = []
    for row in rows:
        plain: dict[str, Any] = {}
        for name, value in row.values.items():
            if name in scores and name not in by_system and isinstance(value, dict):
                for metric in value:
                    if metric in row.values:
                        raise InputError(f"{row.where}: {name!r} has the score {metric!r}, which is a field, too")
                plain |= value
            elif name not in by_system and (name not in translations or not by_system):
                plain[name] = value
        if not by_system:
            unfolded.append(ScoreRow(row.where, plain))
            continue
        systems: dict[str, None] = {}
        for name in (*translations, *by_system):
            systems |= dict.fromkeys(row.values.get(name) or {})
        for system in systems:
            values = {_SYSTEM[0]: system, **plain}
            for name in (*translations, *by_system):
                values[name] = (row.values.get(name) or {}).get(system)
            unfolded.append(ScoreRow(row.where, values))
    return unfolded, meanings


def _kind(values: dict[str, Any]) -> str:
    """What an object holds: ``scores``, ``texts`` or something else."""
    kinds = set()
    for value in values.values():
        if isinstance(value, str):
            kinds.add("texts")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            kinds.add("scores")
        elif value is not None:
            kinds.add("")
    return kinds.pop() if len(kinds) == 1 else ""


def _read_columns(path: Path, delimiter: str) -> tuple[tuple[str, ...], list[ScoreRow]]:
    header = next(lines_of(path), None)
    if header is None or not header.text.strip():
        raise InputError(f"{path}:1: is empty; the first line must name the columns")
    delimiters, quoted = delimiter, None
    if delimiter == ",":  # spreadsheets write semicolons where 0,5 is a half
        delimiters, quoted = ",;", True
    table = open_table(path, delimiters, quoted=quoted)
    table.refuse_repeated()
    cells = []
    for where, values in table.records():
        if table.dialect.delimiter == ";":
            for name, cell in values.items():
                values[name] = _DECIMAL_COMMA.sub(r"\1.\2", cell)
        cells.append(ScoreRow(where, values))
    return table.names, cells


def score_in(row: ScoreRow, column: str) -> float | None:
    """The score in ``column``; ``None``, ``null``, ``NA`` and an empty cell are missing ones.

    Raises :class:`InputError` for anything but a finite number.
    """
    value = row.values.get(column)
    if value is None or value in MISSING:
        return None
    number = number_in(value)
    if number is None or not math.isfinite(number):
        raise InputError(
            f"{row.where}: {column!r} must be a number, not {value!r:.60}; a missing score is None or an empty cell"
        )
    return number


def text_in(row: ScoreRow, column: str | None) -> str | None:
    """What ``column`` holds as text; ``None`` where it is missing."""
    if column is None:
        return None
    value = row.values.get(column)
    return None if value is None or value == "" else str(value)


def _first_column(names: Iterable[str], columns: Mapping[str, str]) -> str | None:
    """The column of the first of ``names`` that is in ``columns``."""
    for name in names:
        if name in columns:
            return columns[name]
    return None


class ScoreTable:
    """The scores of a table: a column for each evaluator, or (the long form) a row for each evaluator's score.

    ``item`` names the columns that identify a segment, ``lp`` the only language pair to read. Raises
    :class:`InputError` for a missing column, and if no row has the language pair.
    """

    def __init__(self, table: ScoreFile, item: tuple[str, ...] = (), lp: tuple[str, str] | None = None) -> None:
        self.table, self.names = table, table.names
        for name in item:
            if name not in table.names:
                raise InputError(f"{table.head}: no column {name!r}{alternatives(name, table.names)}")
        plain_columns = {name.strip().casefold(): name for name in table.names}
        columns = dict(zip(table.names, table.names, strict=True))
        self._fields: dict[str, str] = {}
        for name, place in named_fields(table.names, table.head).items():
            self._fields[name] = table.names[place]
        self._item = item
        if not item:
            item_column = self._fields.get("id") or _first_column(_ITEM, plain_columns)
            self._item = () if item_column is None else (item_column,)
        self._system = _first_column(_SYSTEM, plain_columns)
        # The long form has one column of scores, and another that names the evaluator.
        self._rater = None
        if SCORE in table.names:
            self._rater = _first_column(_RATER, columns)
        self._spans = _first_column(_SPANS, columns)
        self._taken = {*self._item, *self._fields.values(), *_ITEM, *_NO_SCORES, self._system, self._rater}
        self._rows = []
        pairs: dict[str, None] = {}
        for row in table.rows:
            about = self._about(row, lp)
            pairs["-".join(filter(None, (about.source_lang, about.target_lang)))] = None
            if about.is_of(lp):
                self._rows.append((row, about))
        if not self._rows:
            pair = "-".join(lp or ())
            raise InputError(f"{table.path}: no row is of the language pair {pair}{alternatives(pair, pairs)}")

    def _about(self, row: ScoreRow, lp: tuple[str, str] | None) -> SegmentInfo:
        values = [text_in(row, self._fields.get(name)) for name in SegmentInfo._fields]
        about = SegmentInfo(*values)
        if lp and not {"source_lang", "target_lang", PAIR} & set(self._fields):
            about = about._replace(source_lang=lp[0], target_lang=lp[1])
        pair = text_in(row, self._fields.get(PAIR))
        if pair:
            source_lang, target_lang = languages.parse_pair(pair)
            about = about._replace(source_lang=source_lang, target_lang=target_lang)
        return about

    def evaluators(
        self, name: str | None, chosen: Sequence[str], human_column: str | None
    ) -> tuple[list[Side], set[str]]:
        """The evaluators, and the names of all that the table has.

        ``name`` renames the only evaluator. ``chosen`` are names of evaluators; all if empty. ``human_column`` has
        people's scores. Raises :class:`InputError`.
        """
        columns = self._raters() if self._rater else self._score_columns(human_column, chosen)
        if not columns:
            exception = ""
            if human_column in self._numeric:
                exception = f" except {human_column!r}, which --human names"
            raise InputError(f"{self.table.head}: no column has scores{exception}{alternatives('', self.names)}")
        if name is not None and len(columns) > 1:
            raise InputError(
                f"{self.table.path}: has scores of {len(columns)} evaluators; leave out {name}=, and choose with "
                "--metrics"
            )
        sides = []
        names = set(columns)
        for column in columns:
            evaluator = column
            if name:
                evaluator = name
            elif column == SCORE:
                evaluator = self.table.path.stem
            names.add(evaluator)
            if not chosen or column in chosen or evaluator in chosen:
                sides.append(self._side(column, evaluator, self._rater is not None))
        return sides, names

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
        evaluators: dict[str, dict[str, SegmentScore]] = {}
        for name in self._score_columns(None, ()):
            evaluators[name] = {}
        for row, _ in self._rows:
            system = self._system_of(row)
            for name, column in evaluators.items():
                if system in column:
                    raise InputError(f"{row.where}: system {system!r} has a score already ({column[system].where})")
                column[system] = SegmentScore(score_in(row, name), row.where)
        return evaluators

    def _raters(self) -> list[str]:
        names: dict[str, None] = {}
        for row, _ in self._rows:
            name = text_in(row, self._rater)
            if name is not None:
                names[name] = None
        return list(names) or [self.table.path.stem]

    def _score_columns(self, human_column: str | None, chosen: Sequence[str]) -> list[str]:
        """Columns of numbers that are not known to hold something else, and the chosen ones."""
        numeric = self._numeric - {*self._taken, human_column}
        columns = []
        for name in self.names:
            if name in chosen or name in numeric:
                columns.append(name)
        return columns

    @cached_property
    def _numeric(self) -> set[str]:
        """Columns of which at least half of the values are numbers: the others are wrong ones."""
        numeric = set()
        for name in self.names:
            values = numbers = 0
            for row in self.table.rows:
                value = row.values.get(name)
                if value is not None and value not in MISSING:
                    values += 1
                    numbers += number_in(value) is not None
            if values and 2 * numbers >= values:
                numeric.add(name)
        return numeric

    def _side(self, name: str, called: str, by_rows: bool) -> Side:
        """The scores in the column ``name``, or (``by_rows``) of the rater ``name``."""
        segments: dict[TranslationKey, SegmentScore] = {}
        counts: Counter[str] = Counter()
        known: dict[str, SegmentInfo] = {}
        signatures: dict[str, str] = {}
        column = SCORE if by_rows else name
        # Where a row has several scores, its spans and its signature may belong to another one.
        is_only_score = by_rows or len(self._score_columns(None, ())) == 1
        names_systems = any(text_in(row, self._system) is not None for row, _ in self._rows)
        # In the long form people's score is repeated in the row of each evaluator.
        may_repeat = not by_rows and self._rater is not None
        rows = self._rows_of(name) if by_rows else self._rows
        for row, about in rows:
            system = self._system_of(row) if names_systems else UNNAMED
            counts[system] += 1
            key = TranslationKey(system, self._item_of(row) or str(counts[system]))
            score = self._score_in(row, column, is_only_score)
            is_repeated = may_repeat and key in segments and segments[key].score == score.score
            if not is_repeated:
                add_score(segments, key, score, self._way_out)
            before = known.get(key.item, about)
            if (before.source_lang, before.target_lang) != (about.source_lang, about.target_lang):
                pairs = f"{before.source_lang}-{before.target_lang} and {about.source_lang}-{about.target_lang}"
                raise InputError(
                    f"{row.where}: segment {key.item!r} has the language pairs {pairs}: take one with -l, or name all "
                    "columns that tell segments apart with --item"
                )
            known[key.item] = before.or_else(about)
            if score.score is not None or score.errors is not None:
                signature = text_in(row, "signature") if is_only_score else None
                signatures.setdefault(signature or "", row.where)
        path = self.table.path
        signed = list(filter(None, signatures))
        if not signed:
            signed = [f"file:{path.name}|column:{called}|sha256:{digest(path)}"]
        return Side(
            name=called,
            origin=str(path),
            signature=summed_up(signed),
            segments=segments,
            about=known,
            numbered=not self._item,
            fields=self._mapping(),
            signatures=signatures,
        )

    def _mapping(self) -> str:
        """The fields that were read under another name; empty if all have this project's names."""
        meanings = dict(self.table.meanings)
        for column in self._item:
            if column not in ("id", PAIR):
                meanings[column] = "segment"
        if self._system is not None and self._system != _SYSTEM[0]:
            meanings[self._system] = "system"
        for name, column in self._fields.items():
            if column.strip().casefold() != name and column not in self._item:
                meanings.setdefault(column, name)
        if self._spans not in (None, _SPANS[0]):
            meanings[str(self._spans)] = "errors"
        return ", ".join(f"{column} = {meaning}" for column, meaning in meanings.items())

    def _score_in(self, row: ScoreRow, column: str, is_only_score: bool) -> SegmentScore:
        """The score in ``column`` with the translation and, if it is the only score of the row, its errors."""
        errors = None
        marks: object = None
        if is_only_score and self._spans:
            marks = row.values.get(self._spans)
        if isinstance(marks, list):
            read = own_spans if self._spans == _SPANS[0] else sided_spans
            errors = read(marks, row.where)
        text = text_in(row, self._fields.get("translation"))
        return SegmentScore(score_in(row, column), row.where, text, errors, str(row.values.get("error") or ""))

    def _rows_of(self, name: str) -> list[tuple[ScoreRow, SegmentInfo]]:
        """The rows of one rater, and those that name none (failed ratings) of translations that it did not rate."""
        shared = bool(self._item) and len(self._raters()) > 1
        rated_places = set()
        if shared:
            for row, _ in self._rows:
                if text_in(row, self._rater) == name:
                    rated_places.add((text_in(row, self._system), self._item_of(row)))
        chosen = []
        for row, about in self._rows:
            rater = text_in(row, self._rater)
            place = (text_in(row, self._system), self._item_of(row))
            if rater == name or (rater is None and place not in rated_places):
                chosen.append((row, about))
        return chosen

    def _system_of(self, row: ScoreRow) -> str:
        name = text_in(row, self._system)
        if name is None:
            raise InputError(f"{row.where}: {self._system!r} is empty; it names the system")
        return name

    def _item_of(self, row: ScoreRow) -> str | None:
        parts = []
        for column in self._item:
            part = text_in(row, column)
            if part is None:
                raise InputError(f"{row.where}: {column!r} is empty; it names the segment")
            parts.append(part)
        return "/".join(parts) or None

    @cached_property
    def _way_out(self) -> str:
        """What to do where ids repeat."""
        columns = []
        for name in ("document", PAIR):
            if name in self._fields and self._fields[name] not in self._item:
                columns.append(self._fields[name])
        if columns:
            all_columns = ",".join([*columns, *self._item])
            return f"; where ids repeat, name all columns that tell segments apart: --item {all_columns}"
        return "" if self._system else "; no column names the system"
