"""MQM annotations in a TSV, as Marot and Google's MQM data have them: one row per error, its span in ``<v>…</v>``."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.annotations import Annotation, error_span, is_omission
from mtagent.formats.exports import RaterNames, RunTexts, pair_name
from mtagent.formats.files import lines_of, replacing
from mtagent.formats.ratings import Candidates, Ratings, place_of
from mtagent.formats.tables import open_table
from mtagent.records import ErrorSpan, Rated
from mtagent.text import mqm

COLUMNS = ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity", "metadata"]
_READ_AS = ["system", "doc", "doc_seg_id", "global_seg_id", "rater", "source", "target", "category", "severity", "note"]
_NAMES = {"docsegid": "doc_seg_id", "doc_id": "doc_seg_id", "globalsegid": "global_seg_id", "seg_id": "global_seg_id"}
_NEEDED = {"system", "rater", "source", "target", "category", "severity"}
_NO_ERROR = {"no-error", "no error", "no_error"}
_TEST = "hotw"  # "hands on the wheel": a planted error that tests whether the rater is awake
_MARK = re.compile(r"<v>(.*?)</v>", re.DOTALL)
_RESERVED = {"\t": "tab", "\n": "line break", "\r": "carriage return", "<v>": "<v>", "</v>": "</v>"}
_WAY_OUT = "use --format jsonl or mtme"


class _Text(NamedTuple):
    """A text without its ``<v>`` marks, and the places that they enclosed."""

    text: str
    places: list[tuple[int, int]]


class _Row(NamedTuple):
    """A row's cells by name, its texts without marks, and its place in the file."""

    cells: dict[str, str]
    source: _Text
    target: _Text
    where: str


class Marot:
    """Reads and writes ratings with error spans. Has no room for a score, a failed rating, or one without spans."""

    name = "marot"
    suffixes: tuple[str, ...] = (".tsv",)
    folder = False
    one_system = False

    def recognises(self, first: str, value: Any) -> bool:
        """Whether a file begins with this format's header, or with a row of it."""
        cells = first.split("\t")
        return value is None and (_is_header(cells) or _is_row(cells))

    def read_spans(self, path: Path) -> Iterator[Annotation]:
        """Yield the annotations of a file, one per rater and translation. Raises :class:`InputError`."""
        first = next(lines_of(path), None)
        if first is None or not self.recognises(first.text, None):
            raise InputError(f"{path}:1: no header with the columns {', '.join(sorted(_NEEDED))}; add it")
        cells_of_first = first.text.split("\t")
        columns = None if _is_header(cells_of_first) else _READ_AS[: len(cells_of_first)]
        table = open_table(path, "\t", quoted=False, columns=columns, plain=_column_name)
        groups: dict[tuple[str, ...], list[_Row]] = {}
        for where, cells in table.records():
            row = _Row(cells, _unmarked(cells["source"], where), _unmarked(cells["target"], where), where)
            if cells["rater"] and not cells["severity"].casefold().startswith(_TEST):
                ids = [cells.get(name, "") for name in ("system", "doc", "doc_seg_id", "global_seg_id", "rater")]
                groups.setdefault((*ids, row.target.text), []).append(row)
        yield from map(_annotation, groups.values())

    def paths(self, output: Path) -> tuple[Path, ...]:
        """The output itself."""
        return (output,)

    def refuse(self, candidates: Candidates, output: Path, way_out: str = _WAY_OUT) -> None:
        """A tab, a line break or a mark in a text would be taken for the file's own."""
        segment = candidates.segment
        texts = {"source": segment.source, "document": segment.document or "", "id": segment.id}
        for system, translation in candidates.translations.items():
            texts[f"translation by {system}"] = translation or ""
        for what, text in texts.items():
            for mark, name in _RESERVED.items():
                if mark in text:
                    raise OutputError(
                        f"{output}: segment {segment.id!r}: the {what} has a {name}, which a Marot file cannot hold; "
                        f"{way_out}"
                    )

    def write_ratings(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write the rows, and return how many ratings have no row because they failed."""
        failed = 0
        numbers = Counter[str | None]()  # the segments of each document so far
        last: tuple[str | None, str] | None = None
        with replacing(output) as sink:
            sink.write("\t".join(COLUMNS) + "\n")
            for rated in ratings.read(None):
                failed += rated.error is not None
                segment = rated.segment
                if (segment.document, segment.id) != last:  # the ratings of a segment come one after the other
                    numbers[segment.document] += 1
                    last = (segment.document, segment.id)
                for cells in _rows(rated, numbers[segment.document], output):
                    sink.write("\t".join(re.sub(r"[\t\r\n]", " ", cell) for cell in cells) + "\n")
        return (f"{failed} failed ratings have no row in a Marot file",) if failed else ()

    def export(self, run: RunTexts, output: Path) -> tuple[str, ...]:
        """Write the rows of all ratings with error spans; an unmarked text has no row."""
        marked = unmarked = 0
        for segment, texts, rated in run.segments():
            self.refuse(Candidates(segment=segment, translations=texts), output, "use --format mtme --escape")
            for item in rated:
                if item.rating is not None:
                    marked += item.rating.errors is not None
                    unmarked += item.rating.errors is None
        if not marked:
            raise OutputError(
                f"{output}: no text of run {run.name!r} has a rating with error spans: see `mtagent rate`"
            )
        raters: dict[str, RaterNames] = defaultdict(RaterNames)

        def with_names() -> Iterator[Rated]:
            """The ratings under the names of their raters in this file; those without spans left out."""
            for entry in run.segments():
                for rated in entry.rated:
                    rating = rated.rating
                    if rating is None or rating.errors is None:
                        yield rated.model_copy(update={"rating": None})
                        continue
                    name = raters[pair_name(rated.segment)].name(rating)
                    yield rated.model_copy(update={"rating": rating.model_copy(update={"evaluator": name})})

        remarks = list(self.write_ratings(Ratings(run.systems, lambda _: with_names()), output))
        if unmarked:
            remarks.append(f"ratings without a row, as their evaluator marks no spans: {unmarked}")
        for names in raters.values():
            remarks += names.remarks
        return tuple(remarks)


MAROT = Marot()


def _column_name(cell: str) -> str:
    """The plain spelling of a column's name."""
    name = cell.strip().casefold().replace(" ", "_")
    return _NAMES.get(name, name)


def _is_header(cells: list[str]) -> bool:
    return _NEEDED.issubset(map(_column_name, cells))


def _is_row(cells: list[str]) -> bool:
    """Whether a line has the columns of this format, of which the last may be missing, and marks an error or none."""
    if len(cells) not in (len(_READ_AS) - 1, len(_READ_AS)):
        return False
    severity = cells[_READ_AS.index("severity")].strip().casefold()
    return any("<v>" in cell for cell in cells) or severity in (*_NO_ERROR, *mqm.SEVERITIES)


def _unmarked(text: str, where: str) -> _Text:
    plain, places = "", []
    for number, piece in enumerate(_MARK.split(text)):
        if number % 2:  # every second piece is between marks
            places.append((len(plain), len(plain) + len(piece)))
        plain += piece
    if "<v>" in plain or "</v>" in plain:
        raise InputError(f"{where}: a <v> has no </v>, or the other way round; correct the row, or delete it")
    return _Text(plain, places)


def _annotation(group: list[_Row]) -> Annotation:
    """A rater's errors in a translation, from one row per error."""
    first = group[0]
    errors, warnings = [], []
    for row in group:
        category, severity = row.cells["category"].strip().casefold(), row.cells["severity"].strip().casefold()
        if category not in _NO_ERROR and severity not in _NO_ERROR:
            error, warning = _error(row)
            errors.append(error)
            if warning:
                warnings.append(f"{row.where}: {warning}")
    if 0 < len(errors) < len(group):
        warnings.append(f"{first.where}: the rater marks errors and 'no error'; the errors count")
    return Annotation(
        where=first.where,
        errors=tuple(errors),
        segment=first.cells.get("global_seg_id") or first.cells.get("doc_seg_id") or None,
        document=first.cells.get("doc") or None,
        system=first.cells["system"],
        rater=first.cells["rater"],
        source=first.source.text,
        translation=first.target.text,
        warnings=tuple(warnings),
    )


def _error(row: _Row) -> tuple[ErrorSpan, str]:
    """The error of a row, and what is odd about it."""
    category, metadata = row.cells["category"], _metadata(row.cells)
    warning = ""
    in_source = bool(row.source.places) and not row.target.places
    text, places = row.source if in_source else row.target
    if not places and mqm.is_non_translation(category):
        places = [(0, len(text))]
    if not places and not is_omission(category) and not metadata.get("marked_text"):
        warning = f"the error {category!r} marks no span"
    if len(places) > 1:
        warning = f"the error marks {len(places)} spans; only the first one is taken"
    start, end = places[0] if places else (None, None)
    error = error_span(
        row.where,
        severity=row.cells["severity"],
        start=start,
        end=end,
        text=metadata.get("marked_text", "") if start is None else text[start:end],
        category=category,
        side="source" if in_source else "translation",
        explanation=metadata.get("note", "").strip() or None,
        suggestion=metadata.get("suggestion"),
    )
    return error, warning


def _metadata(cells: dict[str, str]) -> dict[str, str]:
    """The texts in the JSON of the last column; in older files that column is the rater's note itself."""
    written = cells.get("note") or cells.get("metadata") or cells.get("comment") or ""
    try:
        values = json.loads(written)
    except (ValueError, RecursionError):
        values = written
    if not isinstance(values, dict):
        return {"note": written}
    texts = {}
    for name, value in values.items():
        if isinstance(value, str):
            texts[name] = value
    return texts


def _rows(rated: Rated, number: int, output: Path) -> Iterator[tuple[str, ...]]:
    """A row per error; ``number`` counts the segments of the document."""
    rating, segment = rated.rating, rated.segment
    if rating is None:
        return
    if rating.errors is None:
        raise OutputError(
            f"{output}: {rating.evaluator} marks no spans, and a Marot file holds nothing else; {_WAY_OUT}"
        )
    about = (rated.system, segment.document or "-", str(number), segment.id, rating.evaluator)
    if not rating.errors:
        yield (*about, segment.source, rated.translation, "No-error", "No-error", "{}")
    for span in rating.errors:
        texts = [segment.source, rated.translation]
        place = place_of(span, *texts)
        if place is not None:
            side = 0 if place.in_source else 1
            text = texts[side]
            texts[side] = f"{text[: place.start]}<v>{text[place.start : place.end]}</v>{text[place.end :]}"
        # Marot shows this next to an error. It is also the only trace of a span whose place is unknown.
        metadata = {"marked_text": span.text, "note": span.explanation, "suggestion": span.suggestion}
        shown = {name: value for name, value in metadata.items() if value is not None}
        category = "/".join(word[:1].upper() + word[1:] for word in span.category.split("/"))
        yield (*about, *texts, category, span.severity.capitalize(), json.dumps(shown, ensure_ascii=False))
