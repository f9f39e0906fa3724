"""Tables of scores: CSV, TSV and JSON Lines with a row for each translation, or for each score of an evaluator."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.analysis.scores import UNNAMED, About, Key, SegmentScore, Side, add_score, alternatives, digest, summed_up
from mtagent.errors import InputError
from mtagent.formats.annotations import own_spans
from mtagent.formats.files import lines_of
from mtagent.formats.json_text import parsed_lines
from mtagent.formats.segments import PAIR, named_fields
from mtagent.formats.tables import Dialect, all_quoted, rows
from mtagent.metrics.scores_file import holds_objects, number_in
from mtagent.text import languages

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
_DECIMAL_COMMA = re.compile(r"([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)")


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
    lines = lines_of(path)
    header = next(lines, None)
    if header is None or not header.text.strip():
        raise InputError(f"{path}:1: is empty; the first line must name the columns")
    if delimiter == "," and "," not in header.text and ";" in header.text:  # as spreadsheets write where 0,5 is a half
        delimiter = ";"
    dialect = Dialect(delimiter, all_quoted(header, delimiter) or delimiter != "\t")
    names = tuple(next(rows([header], dialect, path)).cells)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{path}:1: two columns are called {twice!r}")
    cells = []
    for row in rows(lines, dialect, path, len(names)):
        values = [_with_point(cell) for cell in row.cells] if delimiter == ";" else row.cells
        cells.append(Cells(f"{path}:{row.line}", dict(zip(names, values, strict=True))))
    return names, cells


def _with_point(cell: str) -> str:
    number = _DECIMAL_COMMA.fullmatch(cell)
    return f"{number[1]}.{number[2]}" if number else cell


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


@dataclass(frozen=True)
class ReadAs:
    """How tables are read: which columns tell segments apart, and the only language pair that is wanted."""

    item: tuple[str, ...] = ()
    lp: tuple[str, str] | None = None


class ScoreTable:
    """The scores of a table: a column for each evaluator, or (the long form) a row for each evaluator's score.

    Raises :class:`InputError` for a column that ``read_as`` names and that is not there, and for no row of its language
    pair.
    """

    def __init__(self, table: Table, read_as: ReadAs) -> None:
        self.table, self.names = table, table.names
        if unknown := [name for name in read_as.item if name not in table.names]:
            raise InputError(f"{table.head}: no column {unknown[0]!r}{alternatives(unknown[0], table.names)}")
        plain = {name.strip().casefold(): name for name in table.names}
        self._fields = {name: table.names[place] for name, place in named_fields(table.names, table.head).items()}
        own_id = [self._fields["id"]] if "id" in self._fields else [plain[name] for name in _ITEM if name in plain][:1]
        self._item = read_as.item or tuple(own_id)
        self._system = next((plain[name] for name in _SYSTEM if name in plain), None)
        self._rater = next((name for name in _RATER if name in table.names), None) if SCORE in table.names else None
        self._taken = {*self._item, *self._fields.values(), *_ITEM, *_NO_SCORES, self._system, self._rater}
        abouts = [self._about(row, read_as.lp) for row in table.rows]
        self._rows = [(row, about) for row, about in zip(table.rows, abouts, strict=True) if about.is_of(read_as.lp)]
        if not self._rows:
            pairs = dict.fromkeys("-".join(filter(None, about[1:3])) for about in abouts)
            lp = "-".join(read_as.lp or ())
            raise InputError(f"{table.path}: no row is of the language pair {lp}{alternatives(lp, pairs)}")

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
            why = alternatives("", self.names)
            if beside is not None and self._score_columns(None, ()):
                why = (
                    f" but {beside!r}, which --human names; if it is an evaluator's, give people's file alone "
                    "(--human FILE), or another name to their column"
                )
            raise InputError(f"{self.table.head}: no column holds scores{why}")
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
            held = [value for row in self.table.rows if (value := row.values.get(name)) is not None]
            held = [value for value in held if value not in MISSING]
            if held and 2 * sum(number_in(value) is not None for value in held) >= len(held):
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
                pairs = " and ".join("-".join(map(str, known_pair)) for known_pair in (before[1:3], about[1:3]))
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
