"""Files with a score a line and no names of segments: mt-metrics-eval's, those of COMET, plain numbers."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.errors import InputError
from mtagent.formats.annotations import Annotation, own_spans
from mtagent.formats.files import lines_of
from mtagent.formats.json_text import parsed_lines
from mtagent.formats.mtme import MTME
from mtagent.formats.segments import PAIR, named_fields
from mtagent.formats.tables import Dialect, rows, table_rows
from mtagent.metrics.scores_file import holds_objects, number_in, read_scores
from mtagent.records import ErrorSpan
from mtagent.text import languages

ONE = "system"
"""What the system is called where a file names none."""


_SHOWN = 20


class Key(NamedTuple):
    """One translation: whose, and of which segment."""

    system: str
    item: str


class Given(NamedTuple):
    """A score as it stands in a file; ``None`` = missing, and ``why`` may say how it came to that.

    ``errors`` are marked spans: ``()`` = error-free, ``None`` = none are given.
    """

    score: float | None
    where: str
    translation: str | None = None
    errors: tuple[ErrorSpan, ...] | None = None
    why: str = ""


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
    segments: Mapping[Key, Given] = field(default_factory=dict)
    systems: Mapping[str, Given] = field(default_factory=dict)
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
        kept = set(systems)
        return replace(
            self,
            segments={key: given for key, given in self.segments.items() if key.system in kept},
            systems={name: given for name, given in self.systems.items() if name in kept},
        )

    def with_names(self, names: Mapping[str, str]) -> Side:
        """The same with other names of systems."""
        segments = {Key(names.get(key.system, key.system), key.item): given for key, given in self.segments.items()}
        return replace(self, segments=segments, systems={names.get(n, n): given for n, given in self.systems.items()})

    def negated(self) -> Side:
        """The same for an evaluator whose lower scores are better."""
        return replace(
            self,
            signature=f"{self.signature}|negated:yes",
            segments={key: _negated(given) for key, given in self.segments.items()},
            systems={name: _negated(given) for name, given in self.systems.items()},
        )

    @property
    def marks(self) -> bool:
        """Whether it has marked error spans, or said that there are none."""
        return any(given.errors is not None for given in self.segments.values())


def _negated(given: Given) -> Given:
    return given if given.score is None else given._replace(score=-given.score)


def put(found: dict[Key, Given], key: Key, given: Given, way_out: str = "") -> None:
    """Add a score. Raises :class:`InputError` where the translation has one already."""
    if key in found:
        named = f"system {key.system!r}, segment {key.item!r}"
        raise InputError(f"{given.where}: {named} has a score already ({found[key].where}){way_out}")
    found[key] = given


def pooled(sides: Sequence[Side]) -> Side:
    """What several files hold of one rater. A score that stands in two of them must be the same, of the same text.

    Raises :class:`InputError` where it is not, where a segment is of another language pair in another file, and where
    only some of the files name the segments.
    """
    first = sides[0]
    if unlike := next((side for side in sides if side.numbered != first.numbered), None):
        raise InputError(f"{unlike.origin}: only one of this and {first.origin} names the segments (id)")
    segments: dict[Key, Given] = {}
    systems: dict[str, Given] = {}
    about: dict[str, About] = {}
    signatures: dict[str, str] = {}
    for side in sides:
        for key, given in side.segments.items():
            if key not in segments or not _is_same(segments[key], given):
                put(segments, key, given, f"; if {side.name} are two, name them apart with NAME=")
        for name, given in side.systems.items():
            if systems.setdefault(name, given).score != given.score:
                raise InputError(f"{given.where}: system {name!r} has another score ({systems[name].where})")
        refuse_other_pair(side, about, first.origin)
        signatures |= {one: where for one, where in side.signatures.items() if one not in signatures}
        about |= {item: about.get(item, known).or_else(known) for item, known in side.about.items()}
    others = len({side.signature for side in sides}) - 1
    return replace(
        first,
        signature=first.signature + (f" (and {others} others)" if others else ""),
        segments=segments,
        systems=systems,
        about=about,
        signatures=signatures,
    )


def _is_same(one: Given, other: Given) -> bool:
    """Whether they can be the same rating, read twice; what only one of them tells is no difference."""
    if one.score != other.score or (None not in (one.errors, other.errors) and one.errors != other.errors):
        return False
    texts = [" ".join(given.translation.split()) for given in (one, other) if given.translation is not None]
    return len(set(texts)) < 2


def refuse_other_pair(side: Side, known: Mapping[str, About], origin: str) -> None:
    """Raise :class:`InputError` for a segment of ``side`` that is ``known`` to be of another language pair."""
    for item, about in side.about.items():
        other = known.get(item)
        if other is None or other[1:3] == about[1:3] or None in (other.pair, about.pair) or other.pair == about.pair:
            continue
        raise InputError(
            f"{side.origin}: segment {item!r} is one of {about.pair}, and of {other.pair} in {origin}: take one "
            "language pair with -l, or name all columns that tell segments apart with --item"
        )


def meant(wrong: str, known: Iterable[str]) -> str:
    """``; did you mean 'mqm'?``, or what there is."""
    names = list(known)
    near = get_close_matches(wrong, names, n=1)
    shown = ", ".join([*names[:_SHOWN], *(["…"] if len(names) > _SHOWN else [])])
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {shown or 'none'}"


MISSING = ("", "None", "null", "NA")
SYSTEM = ("system", "system_id", "sys")
"""What the column of systems is called."""
_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
_JSON_LINES = (".jsonl", ".ndjson")
_LISTS = (".score", ".rating")
_LISTED = re.compile(r"none|score: \S+")
"""What a line of a list ends with, whose system may be called "system"."""
_COMMA = re.compile(r"([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)")


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
    """Whether a file is one of these: by the end of its name or, where that tells nothing, by its first line."""
    if _ending(path) in (*_DELIMITERS, *_JSON_LINES) or _ending(path) in _LISTS or not path.is_file():
        return _ending(path) in (*_DELIMITERS, *_JSON_LINES)
    first = next((line.text for line in lines_of(path)), "")
    cells = [cell.strip().casefold() for cell in first.split("\t")]
    listed = is_score(cells[-1]) or _LISTED.fullmatch(cells[-1])
    return holds_objects(first) or (any(name in cells for name in SYSTEM) and not listed)


def read_table(path: Path) -> Table:
    """All rows of a file. Raises :class:`InputError` for a file that has none, and for one that is no table."""
    first = next((line.text for line in lines_of(path)), "")
    objects = _ending(path) in _JSON_LINES or (_ending(path) not in _DELIMITERS and first.lstrip().startswith("{"))
    found = _of_json(path) if objects else _of_text(path)
    if not found.rows:
        raise InputError(f"{path}: there is no row in it")
    return found


def _ending(path: Path) -> str:
    return path.suffix.casefold()


def _of_json(path: Path) -> Table:
    found = [Cells(f"{path}:{number}", values) for number, values in parsed_lines(path)]
    return Table(path, tuple(dict.fromkeys(name for row in found for name in row.values)), found, f"{path}:1")


def _of_text(path: Path) -> Table:
    lines = lines_of(path)
    header = next(lines, None)
    if header is None or not header.text.strip():
        raise InputError(f"{path}:1: is empty; the first line must name the columns")
    delimiter = _DELIMITERS.get(_ending(path), "\t")
    if delimiter == "," and "," not in header.text and ";" in header.text:  # as spreadsheets write where 0,5 is a half
        delimiter = ";"
    quoted = all(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in header.text.split(delimiter))
    dialect = Dialect(delimiter, quoted or delimiter != "\t")
    names = tuple(next(rows([header], dialect, path)).cells)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{path}:1: two columns are called {twice!r}")
    found = table_rows(rows(lines, dialect, path), len(names), dialect, path)
    read = _with_point if delimiter == ";" else str
    cells = [Cells(f"{path}:{row.line}", dict(zip(names, map(read, row.cells), strict=True))) for row in found]
    return Table(path, names, cells, f"{path}:1")


def _with_point(cell: str) -> str:
    found = _COMMA.fullmatch(cell)
    return f"{found[1]}.{found[2]}" if found else cell


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


def is_score(value: object) -> bool:
    """Whether ``value`` is a score, or could be a wrong one (NaN)."""
    return number_in(value) is not None


def text_in(row: Cells, column: str | None) -> str | None:
    """What ``column`` holds as text; ``None`` where it is missing."""
    value = None if column is None else row.values.get(column)
    return None if value is None or value == "" else str(value)


SCORE = "score"
_WHO = ("evaluator", "metric", "name")
_ITEM = ("segment", "seg", "item")
_OTHERS = ("confidence", "seconds", "paragraph", "rater", "annotator")
"""Columns of numbers, or of names that look like some, that are no scores."""


@dataclass(frozen=True)
class ReadAs:
    """How tables are read: which columns tell segments apart, and the only language pair that is wanted."""

    item: tuple[str, ...] = ()
    lp: tuple[str, str] | None = None


DEFAULT = ReadAs()


class Layout(NamedTuple):
    """Which columns hold the system, the segment, who rated (long form), and what is known about segments."""

    system: str | None
    item: tuple[str, ...]
    who: str | None
    fields: dict[str, str]

    @property
    def taken(self) -> set[str]:
        """All columns that are known to hold no scores."""
        return {*filter(None, (self.system, self.who)), *self.item, *self.fields.values(), *_ITEM, *_OTHERS}


def layout_of(table: Table, read_as: ReadAs = DEFAULT) -> Layout:
    """The layout of a table. Raises :class:`InputError` for a column that is named and not there."""
    if unknown := [name for name in read_as.item if name not in table.names]:
        raise InputError(f"{table.head}: no column {unknown[0]!r}{meant(unknown[0], table.names)}")
    fields = {field: table.names[place] for field, place in named_fields(table.names, table.head).items()}
    plain = {name.strip().casefold(): name for name in table.names}
    found = [fields["id"]] if "id" in fields else [plain[name] for name in _ITEM if name in plain][:1]
    return Layout(
        system=next((plain[name] for name in SYSTEM if name in plain), None),
        item=read_as.item or tuple(found),
        who=next((name for name in _WHO if name in table.names), None) if SCORE in table.names else None,
        fields=fields,
    )


def evaluators_in(
    table: Table, name: str | None, wanted: Sequence[str], *, beside: str | None, read_as: ReadAs
) -> tuple[list[Side], set[str]]:
    """The evaluators of a table, and the names of all that it has.

    ``name``: what its only evaluator shall be called. ``wanted`` chooses some, by name; ``beside`` is the column with
    people's scores. Raises :class:`InputError`.
    """
    reader = _Reader(table, layout_of(table, read_as), read_as)
    long = reader.layout.who is not None
    names = reader.raters() if long else reader.columns(beside, wanted)
    chosen = [one for one in names if not wanted or one in wanted or (name in wanted and len(names) == 1)]
    called = {one: _called(one, name, table.path, len(names)) for one in names}
    return [reader.side(one, called[one]) for one in chosen], set(names) | set(called.values())


def people_in(table: Table, column: str | None, read_as: ReadAs) -> Side:
    """People's scores in a table: in ``column``, or by the rater of this name, or the only ones.

    Raises :class:`InputError` where ``column`` is not there, or has to be named.
    """
    reader = _Reader(table, layout_of(table, read_as), read_as)
    if column in table.names:
        return reader.side(column, column, long=False)
    names = reader.raters() if reader.layout.who else reader.columns(None, ())
    if column is None and len(names) != 1:
        raise InputError(
            f"{table.head}: which scores are people's? name them: --human NAME={table.path}{meant('', names)}"
        )
    if column is not None and column not in names:
        raise InputError(f"{table.head}: no column {column!r}{meant(column, dict.fromkeys([*table.names, *names]))}")
    return reader.side(column or names[0], column or names[0])


def system_scores(path: Path) -> dict[str, dict[str, Given]]:
    """Given scores of systems by evaluator: a row per system, a column per evaluator (people among them)."""
    table = read_table(path)
    layout = layout_of(table)
    if layout.system is None:
        raise InputError(f"{table.head}: no column 'system'{meant('system', table.names)}")
    found: dict[str, dict[str, Given]] = {}
    for name in _score_columns(table, layout.taken, ()):
        column = found.setdefault(name, {})
        for row in table.rows:
            system = _system(row, layout)
            if system in column:
                raise InputError(f"{row.where}: system {system!r} has a score already ({column[system].where})")
            column[system] = Given(score_in(row, name), row.where)
    return found


class _Reader:
    """Reads the sides of one table."""

    def __init__(self, table: Table, layout: Layout, read_as: ReadAs) -> None:
        self.table, self.layout, self._read_as = table, layout, read_as
        self._rows = [(row, about) for row, about in self._about() if about.is_of(read_as.lp)]
        self._names_systems = any(text_in(row, layout.system) is not None for row, _ in self._rows)
        if not self._rows:
            held = dict.fromkeys("-".join(filter(None, about[1:3])) for _, about in self._about())
            lp = "-".join(read_as.lp or ())
            raise InputError(f"{table.path}: no row is of the language pair {lp}{meant(lp, held)}")

    def _about(self) -> Iterator[tuple[Cells, About]]:
        fields = self.layout.fields
        for row in self.table.rows:
            values = {name: text_in(row, fields.get(name)) for name in About._fields}
            if self._read_as.lp and not {"source_lang", "target_lang", PAIR} & set(fields):
                values["source_lang"], values["target_lang"] = self._read_as.lp
            if pair := text_in(row, fields.get(PAIR)):
                values["source_lang"], values["target_lang"] = languages.parse_pair(pair)
            yield row, About(**values)

    def raters(self) -> list[str]:
        """Who rated, in the long form."""
        names = dict.fromkeys(text_in(row, self.layout.who) for row, _ in self._rows)
        return [name for name in names if name is not None] or [self.table.path.stem]

    def columns(self, beside: str | None, wanted: Sequence[str]) -> list[str]:
        """The columns of scores, in the wide form."""
        found = _score_columns(self.table, {*self.layout.taken, *([beside] if beside else [])}, wanted)
        if not found and beside is not None and _score_columns(self.table, self.layout.taken, ()):
            raise InputError(
                f"{self.table.head}: no column holds scores but {beside!r}, which --human names; if it is an "
                "evaluator's, give people's file alone (--human FILE), or another name to their column"
            )
        if not found:
            raise InputError(f"{self.table.head}: no column holds scores{meant('', self.table.names)}")
        return found

    def side(self, name: str, called: str, *, long: bool | None = None) -> Side:
        """The scores of one evaluator, or of people."""
        by_rows = self.layout.who is not None if long is None else long
        segments: dict[Key, Given] = {}
        counts: dict[str, int] = {}
        known: dict[str, About] = {}
        signatures: dict[str, str] = {}
        marks = by_rows or len(_score_columns(self.table, self.layout.taken, ())) == 1
        for row, about in self._rows_of(name) if by_rows else self._rows:
            system = _system(row, self.layout) if self._names_systems else ONE
            counts[system] = counts.get(system, 0) + 1
            key = Key(system, self._item(row) or str(counts[system]))
            given = self._given(row, SCORE if by_rows else name, marks)
            self._put(segments, key, given, repeats=not by_rows and self.layout.who is not None)
            before = known.get(key.item, about)
            if before[1:3] != about[1:3]:
                raise _of_two_pairs(row, key.item, before, about)
            known[key.item] = before if before == about else before.or_else(about)
            rated = given.score is not None or given.errors is not None
            if rated:
                signatures.setdefault((text_in(row, "signature") if marks else None) or "", row.where)
        signed = _signed(self.table.path, called, [one for one in signatures if one])
        numbered = not self.layout.item
        return Side(called, str(self.table.path), signed, segments, {}, known, numbered, signatures=signatures)

    def _rows_of(self, name: str) -> list[tuple[Cells, About]]:
        """The rows of one rater, and those that name none (failed ratings) of translations that it did not rate."""
        whose = [text_in(row, self.layout.who) for row, _ in self._rows]
        rated: set[tuple[str | None, str | None]] = set()
        if self.layout.item and len(self.raters()) > 1:
            rated = {self._key(row) for (row, _), who in zip(self._rows, whose, strict=True) if who == name}
        return [
            (row, about)
            for (row, about), who in zip(self._rows, whose, strict=True)
            if who == name or (who is None and (not rated or self._key(row) not in rated))
        ]

    def _key(self, row: Cells) -> tuple[str | None, str | None]:
        return text_in(row, self.layout.system), self._item(row)

    def _item(self, row: Cells) -> str | None:
        if not self.layout.item:
            return None
        parts = [text_in(row, column) for column in self.layout.item]
        if None in parts:
            raise InputError(f"{row.where}: {self.layout.item[parts.index(None)]!r} is empty; it names the segment")
        return "/".join(str(part) for part in parts)

    def _given(self, row: Cells, column: str, marks: bool) -> Given:
        """``marks``: the spans of the row are of who gave this score."""
        error = row.values.get("error")
        return Given(
            score=score_in(row, column),
            where=row.where,
            translation=text_in(row, self.layout.fields.get("translation")),
            errors=_errors(row.values.get("errors"), row.where) if marks else None,
            why=str(error) if error else "",
        )

    def _put(self, found: dict[Key, Given], key: Key, given: Given, *, repeats: bool) -> None:
        if repeats and key in found and found[key].score == given.score:
            return  # people's score stands in the row of each evaluator
        others = [self.layout.fields[name] for name in ("document", PAIR) if name in self.layout.fields]
        if others := [name for name in others if name not in self.layout.item]:
            columns = ",".join([*others, *self.layout.item])
            way_out = f"; where ids repeat, name all columns that tell segments apart: --item {columns}"
        else:
            way_out = "" if self.layout.system else "; no column names the system"
        put(found, key, given, way_out)


def _system(row: Cells, layout: Layout) -> str:
    name = text_in(row, layout.system)
    if name is None:
        raise InputError(f"{row.where}: {layout.system!r} is empty; it names the system")
    return name


def _of_two_pairs(row: Cells, item: str, *known: About) -> InputError:
    pairs = " and ".join(f"{about.source_lang}-{about.target_lang}" for about in known)
    return InputError(
        f"{row.where}: segment {item!r} is one of {pairs}: take one language pair with -l, or name all columns that "
        "tell segments apart with --item"
    )


def _score_columns(table: Table, taken: Iterable[str], wanted: Sequence[str]) -> list[str]:
    """Columns of numbers, and those that are ``wanted`` anyway."""
    free = [name for name in table.names if name in wanted or name not in set(taken)]
    return [name for name in free if name in wanted or _holds_scores(table, name)]


def _holds_scores(table: Table, name: str) -> bool:
    """Whether half of the values are numbers: then others are wrong ones, and no reason to pass the column over."""
    held = [value for row in table.rows if (value := row.values.get(name)) is not None and value not in MISSING]
    return bool(held) and 2 * sum(map(is_score, held)) >= len(held)


def _called(column: str, name: str | None, path: Path, number: int) -> str:
    if name is None:
        return path.stem if column == SCORE else column
    if number > 1:
        raise InputError(f"{path}: has scores of {number} evaluators; leave out {name}=, and choose with --metrics")
    return name


def _errors(value: Any, where: str) -> tuple[ErrorSpan, ...] | None:
    return own_spans(value, where) if isinstance(value, list) else None


def _signed(path: Path, column: str, signatures: Sequence[str]) -> str:
    if signatures:
        return signatures[0] + (f" (and {len(signatures) - 1} others)" if len(signatures) > 1 else "")
    return f"file:{path.name}|column:{column}|sha256:{digest(path)}"


def digest(path: Path) -> str:
    """The beginning of the hash of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


SEGMENTS, SYSTEMS, RATINGS = ".seg.score", ".sys.score", ".seg.rating"


def listed(path: Path, name: str | None = None) -> Side:
    """The scores of a file; beside a ``NAME.seg.score``, those of ``NAME.sys.score`` and ``NAME.seg.rating`` too.

    Raises :class:`InputError`.
    """
    stem = path.name.removesuffix(SEGMENTS).removesuffix(SYSTEMS).removesuffix(RATINGS)
    if path.name.endswith((SYSTEMS, RATINGS)):
        raise InputError(f"{path}: give {stem}{SEGMENTS}; what stands beside it is read as well")
    beside = {end: path.with_name(stem + end) for end in (SYSTEMS, RATINGS)}
    systems = _systems(beside[SYSTEMS]) if path.name.endswith(SEGMENTS) and beside[SYSTEMS].is_file() else {}
    segments = _segments(path)
    if path.name.endswith(SEGMENTS) and beside[RATINGS].is_file():
        segments = _rated(segments, beside[RATINGS])
    called = name or (stem if stem != path.name else path.name.split(".")[0])
    signature = f"file:{path.name}|sha256:{digest(path)}" + (f"|sys:{digest(beside[SYSTEMS])}" if systems else "")
    return Side(called, str(path), signature, segments, systems, numbered=True, signatures={"": f"{path}:1"})


def _segments(path: Path) -> dict[Key, Given]:
    found: dict[Key, Given] = {}
    for system, scores in read_scores(path).items():
        metrics = dict.fromkeys(one.metric for one in scores)
        if len(metrics) > 1:
            raise InputError(f"{path}: has scores of {', '.join(map(str, metrics))}; name the file .jsonl to read all")
        for number, one in enumerate(scores, start=1):
            found[Key(system or ONE, str(number))] = Given(one.value, one.where, one.translation)
    return found


def _rated(segments: dict[Key, Given], path: Path) -> dict[Key, Given]:
    """``segments`` with the errors of ``path``; what has errors and no score is missing a score."""
    ratings = _ratings(path)
    scored, rated = (Counter(key.system for key in one) for one in (segments, ratings))
    for system, number in rated.items():
        if scored[system] not in (0, number):
            raise InputError(
                f"{path}: {number} ratings of system {system!r}, and {scored[system]} scores beside it; a line is a "
                "segment, None one that was not rated"
            )
    found = {key: Given(None, one.where, one.translation, one.errors) for key, one in ratings.items()}
    return found | {
        key: given._replace(errors=found[key].errors if key in found else None) for key, given in segments.items()
    }


def _systems(path: Path) -> dict[str, Given]:
    found: dict[str, Given] = {}
    for system, (first, *more) in read_scores(path).items():
        if more or system is None:
            where = more[0].where if more else first.where
            raise InputError(f"{where}: a line is SYSTEM⇥SCORE, and each system has one")
        found[system] = Given(first.value, first.where)
    return found


def _ratings(path: Path) -> dict[Key, Annotation]:
    if not any(line.text.strip() for line in lines_of(path)):
        return {}
    return {Key(one.system or ONE, one.segment or ""): one for one in MTME.read_spans(path)}
