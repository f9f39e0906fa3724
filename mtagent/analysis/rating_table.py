"""The stored ratings of one or several runs in one table: a row for each text, a column for each run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mtagent.analysis.score import named_runs
from mtagent.analysis.scores import TranslationKey, summed_up
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats.files import dumped
from mtagent.formats.ratings import chosen
from mtagent.records import UNIT_DIGITS, Rated
from mtagent.store.store import Store, open_existing
from mtagent.text import table
from mtagent.text.amounts import NOTHING
from mtagent.text.table import Table


class RatingRow(NamedTuple):
    """A text with its ratings, one from each column; ``None`` where the run has none of it."""

    key: TranslationKey
    ratings: tuple[Rated | None, ...]


class ColumnMean(NamedTuple):
    """The value of a column for a system."""

    mean: float | None
    """Over the rated texts; ``None`` without any."""
    rated: int
    texts: int
    signature: str


@dataclass(frozen=True)
class RatingTable:
    """The ratings of several runs side by side."""

    columns: tuple[str, ...]
    """``EVALUATOR``, or ``RUN/EVALUATOR`` if there are several runs."""
    rows: tuple[RatingRow, ...]

    @property
    def systems(self) -> tuple[str, ...]:
        """All systems, in the order of the runs."""
        return tuple(dict.fromkeys(row.key.system for row in self.rows))

    def mean(self, system: str, column: int) -> ColumnMean:
        """The mean of a column for a system. Failed ratings and texts without words are left out, and not counted."""
        scores: list[float] = []
        signatures: list[str] = []
        texts = 0
        for row in self.rows:
            rated = row.ratings[column]
            if row.key.system != system or rated is None:
                continue
            texts += 1
            if rated.rating is not None:
                scores.append(rated.rating.score)
                signatures.append(rated.rating.signed)
        if not scores:
            return ColumnMean(None, 0, texts, "")
        return ColumnMean(math.fsum(scores) / len(scores), len(scores), texts, summed_up(signatures))


def read_ratings(specs: Sequence[str], config: Config, systems: Sequence[str] = ()) -> RatingTable | None:
    """The ratings in stored runs, each ``RUN`` or ``NAME=RUN``; ``None`` if none of them is a run of ratings.

    ``systems`` are the systems to keep; all if empty. Where two runs rate different texts under the same system and
    segment, their systems are called ``RUN/SYSTEM``. Raises :class:`ConfigError` for runs of both kinds.
    """
    with open_existing(config.store) as store:
        names = named_runs(specs, store)
        kinds = {run: store.read(run).kind for run in names.values()}
        if "rating" not in kinds.values():
            return None
        for run, kind in kinds.items():
            if kind != "rating":
                raise ConfigError(f"run {run!r} holds no ratings, and others do: `mtagent rate --run {run}` rates it")
        ratings = {}
        for name, run in names.items():
            ratings[name] = _by_text(store, run)
    if _differ_in_texts(list(ratings.values())):
        for name, of_run in ratings.items():
            ratings[name] = {}
            for key, rated in of_run.items():
                ratings[name][key._replace(system=f"{name}/{key.system}")] = rated
    keys: dict[TranslationKey, None] = {}
    for of_run in ratings.values():
        keys |= dict.fromkeys(of_run)
    known_systems = tuple(dict.fromkeys(key.system for key in keys))
    kept = chosen(known_systems, systems, "--run")
    rows = []
    for key in keys:
        if key.system in kept:
            rows.append(RatingRow(key, tuple(of_run.get(key) for of_run in ratings.values())))
    columns = []
    for name, of_run in ratings.items():
        evaluators: dict[str, None] = {}
        for rated in of_run.values():
            if rated.rating:
                evaluators[rated.rating.evaluator] = None
        evaluator = "+".join(evaluators) or "no rating"
        columns.append(evaluator if len(names) == 1 else f"{name}/{evaluator}")
    return RatingTable(tuple(columns), tuple(rows))


def _by_text(store: Store, run: str) -> dict[TranslationKey, Rated]:
    ratings: dict[TranslationKey, Rated] = {}
    for rated in store.read(run).ratings():
        key = TranslationKey(rated.system, rated.segment.id)
        if key in ratings:
            raise ConfigError(f"run {run!r} has two segments {key.item!r}; each segment of a table needs its own id")
        ratings[key] = rated
    return ratings


def _differ_in_texts(runs: Sequence[dict[TranslationKey, Rated]]) -> bool:
    """Whether two runs have different texts of the same system and segment."""
    texts: dict[TranslationKey, tuple[str, str]] = {}
    for of_run in runs:
        for key, rated in of_run.items():
            text = (rated.segment.source, rated.translation)
            if texts.setdefault(key, text) != text:
                return True
    return False


def shown(ratings: RatingTable, form: str, width: int | None = None, *, by_sentence: bool = False) -> str:
    """The means of the systems, or (``by_sentence``) the scores of each text, as ``text``, ``markdown`` or ``latex``.

    Means that leave texts out tell how many were rated.
    """
    digits = []
    for number in range(len(ratings.columns)):
        digits.append(_digits(ratings, number) if width is None else width)
    rows: list[tuple[str, ...]] = []
    below: dict[str, None] = {}
    if by_sentence:
        for row in ratings.rows:
            cells = []
            for rated, places in zip(row.ratings, digits, strict=True):
                cell = NOTHING
                if rated is not None and rated.rating is not None:
                    cell = f"{rated.rating.score:.{places}f}"
                cells.append(cell)
            rows.append((row.key.system, row.key.item, *cells))
    for system in ratings.systems:
        cells = []
        for number, column in enumerate(ratings.columns):
            mean = ratings.mean(system, number)
            cells.append(NOTHING if mean.mean is None else f"{mean.mean:.{digits[number]}f}")
            if mean.signature:
                below[f"{column}|{mean.signature}"] = None
            if mean.rated < mean.texts:
                below[f"{column}: {mean.rated} of {mean.texts} texts of {system} are rated"] = None
        if not by_sentence:
            rows.append((system, *cells))
    head = ("system", "id") if by_sentence else ("system",)
    return table.FORMS[form]([Table("", (*head, *ratings.columns), tuple(rows), labels=len(head))], [*below])


def _digits(ratings: RatingTable, column: int) -> int:
    """The digits after the point for a column: more where all scores are between -1 and 1."""
    for row in ratings.rows:
        rated = row.ratings[column]
        if rated and rated.rating and abs(rated.rating.score) > 1:
            return 2
    return UNIT_DIGITS


def as_json(ratings: RatingTable) -> str:
    """A list with an object for each system and column."""
    objects = []
    for number, column in enumerate(ratings.columns):
        for system in ratings.systems:
            mean = ratings.mean(system, number)
            fields = {"name": column, "score": mean.mean, "signature": mean.signature, "system": system}
            objects.append({**fields, "rated": mean.rated, "texts": mean.texts})
    return dumped(objects, indent=1)


def sentence_objects(ratings: RatingTable) -> list[str]:
    """A line of JSON for each text and column that has it; ``score`` is ``null`` where there is no rating."""
    lines = []
    for row in ratings.rows:
        for column, rated in zip(ratings.columns, row.ratings, strict=True):
            if rated is None:
                continue
            fields: dict[str, Any] = {"id": row.key.item, "system": row.key.system, "name": column, "score": None}
            if rated.rating is not None:
                fields |= {"score": rated.rating.score, "signature": rated.rating.signed}
            if rated.error is not None:
                fields["error"] = rated.error
            lines.append(dumped(fields))
    return lines


def flat(ratings: RatingTable, delimiter: str = ",", *, by_sentence: bool = False) -> str:
    """A line for each system or, ``by_sentence``, for each text, with columns for each run.

    Scores are not rounded; an empty cell is a missing one. Formulas are guarded as in
    :func:`mtagent.text.table.as_csv`.
    """
    lines: list[dict[str, object]] = []
    if by_sentence:
        for row in ratings.rows:
            line: dict[str, object] = {"id": row.key.item, "system": row.key.system}
            for column, rated in zip(ratings.columns, row.ratings, strict=True):
                line |= {column: None, f"{column} signature": None, f"{column} error": None}
                if rated is None:
                    continue
                line[f"{column} error"] = rated.error
                if rated.rating is not None:
                    line[column] = rated.rating.score
                    line[f"{column} signature"] = rated.rating.signed
            lines.append(line)
    else:
        for system in ratings.systems:
            line = {"system": system}
            for number, column in enumerate(ratings.columns):
                mean = ratings.mean(system, number)
                line |= {column: mean.mean, f"{column} rated": mean.rated, f"{column} texts": mean.texts}
                line[f"{column} signature"] = mean.signature
            lines.append(line)
    return "".join(table.as_csv([*lines[0], "guarded"], lines, delimiter)).rstrip("\n")
