"""The ratings of a run as MQM annotations in Marot's TSV: the stages are the systems, the evaluators the raters."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.errors import InputError, OutputError
from mtagent.formats import ratings
from mtagent.formats.annotations import Annotation, Unmarked, is_omission, marked
from mtagent.formats.exports import Entry, Held, Raters, pair_name
from mtagent.formats.files import Sink, lines_of, replacing
from mtagent.formats.ratings import Candidates, Ratings, place_of
from mtagent.formats.tables import Dialect, rows, table_rows
from mtagent.records import ErrorSpan, Rated, Segment
from mtagent.text import mqm

COLUMNS = ("system", "doc", "doc_seg_id", "global_seg_id", "rater", "source", "target", "category", "severity", "note")
_NEEDED = {"system", "rater", "source", "target", "category", "severity"}
_NAMES = {"docsegid": "doc_seg_id", "doc_id": "doc_seg_id", "globalsegid": "global_seg_id", "seg_id": "global_seg_id"}
_NO_ERROR = {"no-error", "no error", "no_error"}
_TEST = "hotw"  # "hands on the wheel": a planted error that tests whether the rater is awake
_REMARKS = ("note", "metadata", "comment")
_DIALECT = Dialect("\t", quoted=False)
_MARK = regex.compile(r"<v>(.*?)</v>", regex.DOTALL)


class _Row(NamedTuple):
    """A row's cells by name, its texts without marks, and where it stands."""

    cells: dict[str, str]
    source: Unmarked
    target: Unmarked
    where: str

    @property
    def key(self) -> tuple[str, ...]:
        ids = ("system", "doc", "doc_seg_id", "global_seg_id", "rater")
        return (*(self.cells.get(name, "") for name in ids), self.target.text)


class Layout(NamedTuple):
    """The names of the columns, and whether they stand in a first line of their own."""

    names: list[str]
    header: bool


def layout(first: str) -> Layout | None:
    """The layout of a file that begins with the line ``first``; ``None`` if it is not one of this format."""
    names = [cell.strip().casefold().replace(" ", "_") for cell in first.split("\t")]
    names = [_NAMES.get(name, name) for name in names]
    if _NEEDED.issubset(names):
        return Layout(names, header=True)
    headless = len(names) in (9, 10) and ("<v>" in first or names[8] in (*_NO_ERROR, *mqm.SEVERITIES))
    return Layout(list(COLUMNS[: len(names)]), header=False) if headless else None


def read_marot(path: Path) -> list[Annotation]:
    """The annotations of a file, one per rater and translation. Raises :class:`InputError`."""
    groups: dict[tuple[str, ...], list[_Row]] = {}
    for row in _rows(path):
        if row.cells["rater"] and not row.cells["severity"].casefold().startswith(_TEST):
            groups.setdefault(row.key, []).append(row)
    return [_annotation(group) for group in groups.values()]


def _rows(path: Path) -> Iterator[_Row]:
    first = next(lines_of(path), None)
    found = layout(first.text) if first else None
    if found is None:
        raise InputError(f"{path}:1: no header with the columns {', '.join(sorted(_NEEDED))}; add it")
    names = found.names
    for row in table_rows(rows(lines_of(path), _DIALECT, path), len(names), _DIALECT, path):
        if row.line == 1 and found.header:
            continue
        where = f"{path}:{row.line}"
        cells = dict(zip(names, row.cells, strict=True))
        yield _Row(cells, _unmarked(cells["source"], where), _unmarked(cells["target"], where), where)


def _unmarked(text: str, where: str) -> Unmarked:
    places, plain, done = [], "", 0
    for mark in _MARK.finditer(text):
        plain += text[done : mark.start()]
        places.append((len(plain), len(plain) + len(mark[1])))
        plain += mark[1]
        done = mark.end()
    plain += text[done:]
    if "<v>" in plain or "</v>" in plain:
        raise InputError(f"{where}: a <v> has no </v>, or the other way round; correct the row, or delete it")
    return Unmarked(plain, places)


def _annotation(group: list[_Row]) -> Annotation:
    first = group[0]
    found = [(row, *_error(row)) for row in group if not _says_no_error(row)]
    warnings = [warning for _, _, warning in found if warning]
    if found and len(found) < len(group):
        warnings.append(f"{first.where}: the rater says that there is no error, and marks some: they count")
    return Annotation(
        where=first.where,
        errors=tuple(error for _, error, _ in found),
        segment=first.cells.get("global_seg_id") or first.cells.get("doc_seg_id") or None,
        document=first.cells.get("doc") or None,
        system=first.cells["system"],
        rater=first.cells["rater"],
        source=first.source.text,
        translation=first.target.text,
        warnings=tuple(warnings),
    )


def _says_no_error(row: _Row) -> bool:
    return any(row.cells[name].strip().casefold() in _NO_ERROR for name in ("category", "severity"))


def _error(row: _Row) -> tuple[ErrorSpan, str | None]:
    """The error of a row, and what is odd about it."""
    category, warning, told = row.cells["category"], None, _metadata(row)
    from_source = bool(row.source.places) and not row.target.places
    text, places = row.source if from_source else row.target
    if not places and mqm.is_non_translation(category):
        places = [(0, len(text))]
    if not places and not is_omission(category) and not told.get("marked_text"):
        warning = f"{row.where}: the error {category!r} marks no span"
    if len(places) > 1:
        warning = f"{row.where}: the error marks {len(places)} spans; only the first one is taken"
    start, end = places[0] if places else (None, None)
    error = marked(
        row.where,
        severity=row.cells["severity"],
        start=start,
        end=end,
        text=told.get("marked_text", "") if start is None else text[start:end],
        category=category,
        side="source" if from_source else "translation",
        explanation=told.get("note", "").strip() or None,
        suggestion=told.get("suggestion"),
    )
    return error, warning


def _metadata(row: _Row) -> dict[str, str]:
    """The texts in the JSON of the last column; in older files that column is the rater's note itself."""
    written = next((row.cells[name] for name in _REMARKS if row.cells.get(name)), "")
    try:
        data = json.loads(written)
    except (ValueError, RecursionError):
        data = written
    if not isinstance(data, dict):
        return {"note": written}
    return {name: value for name, value in data.items() if isinstance(value, str)}


RATING_COLUMNS = (
    *("system", "doc", "docSegId", "globalSegId", "rater"),
    *("source", "target", "category", "severity", "metadata"),
)
_WAY_OUT = "use --format jsonl or mtme"


@dataclass(frozen=True)
class MarotRatings:
    """Has no room for a score, a failed rating, or a rating without spans."""

    name: str = "marot"
    suffixes: tuple[str, ...] = (".tsv",)
    way_out: str = _WAY_OUT

    def paths(self, output: Path) -> tuple[Path, ...]:
        """The output itself."""
        return (output,)

    def refuse(self, candidates: Candidates, output: Path) -> None:
        """A tab, a line break or a mark in a text would be taken for the file's own."""
        segment = candidates.segment
        texts = {"source": segment.source, "document": segment.document or "", "id": segment.id}
        texts |= {f"translation by {system}": text or "" for system, text in candidates.translations.items()}
        for what, text in texts.items():
            if found := next((mark for mark in ("\t", "\n", "\r", "<v>", "</v>") if mark in text), None):
                raise OutputError(
                    f"{output}: segment {segment.id!r}: the {what} has a {_named(found)}, which a Marot file cannot "
                    f"hold; {self.way_out}"
                )

    def write(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write the rows, and say how many ratings have none because they failed."""
        left_out, numbers = 0, _Numbers()
        with replacing(output) as sink:
            _write_row(sink, RATING_COLUMNS)
            for rated in ratings.read(None):
                left_out += rated.error is not None
                for row in _marot_rows(rated, numbers.of(rated.segment), output):
                    _write_row(sink, row)
        return (f"{left_out} failed ratings have no row in a Marot file",) if left_out else ()


class _Numbers:
    """Numbers the segments of a document from 1."""

    def __init__(self) -> None:
        self._last: tuple[str | None, str] | None = None
        self._count = Counter[str | None]()

    def of(self, segment: Segment) -> str:
        """The number of the segment in its document; the ratings of a segment come one after the other."""
        document = segment.document
        if (document, segment.id) != self._last:
            self._count[document] += 1
            self._last = (document, segment.id)
        return str(self._count[document])


def _marot_rows(rated: Rated, number: str, output: Path) -> Iterator[tuple[str, ...]]:
    rating, segment = rated.rating, rated.segment
    if rating is None:
        return
    if rating.errors is None:
        raise OutputError(
            f"{output}: {rating.evaluator} marks no spans, and a Marot file holds nothing else; {_WAY_OUT}"
        )
    about = (rated.system, segment.document or "-", number, segment.id, rating.evaluator)
    if not rating.errors:
        yield (*about, segment.source, rated.translation, "No-error", "No-error", "{}")
    for span in rating.errors:
        said = (_capital(span.category), _capital(span.severity), _marot_metadata(span))
        yield (*about, *_marked(span, segment.source, rated.translation), *said)


def _marked(span: ErrorSpan, source: str, translation: str) -> tuple[str, str]:
    """Source and translation with the span marked where its place is known."""
    place = place_of(span, source, translation)
    if place is None:
        return source, translation
    text = source if place.in_source else translation
    marked = f"{text[: place.start]}<v>{text[place.start : place.end]}</v>{text[place.end :]}"
    return (marked, translation) if place.in_source else (source, marked)


def _marot_metadata(span: ErrorSpan) -> str:
    """What Marot shows beside an error; also the way to a span whose place is not known."""
    found = {"marked_text": span.text, "note": span.explanation, "suggestion": span.suggestion}
    return json.dumps({name: value for name, value in found.items() if value is not None}, ensure_ascii=False)


def _capital(words: str) -> str:
    """``accuracy/mistranslation`` as these files spell it: ``Accuracy/Mistranslation``."""
    return "/".join(word[:1].upper() + word[1:] for word in words.split("/"))


def _named(mark: str) -> str:
    return {"\t": "tab", "\n": "line break", "\r": "carriage return"}.get(mark, mark)


def _write_row(sink: Sink, cells: tuple[str, ...]) -> None:
    sink.write("\t".join(re.sub(r"[\t\r\n]", " ", cell) for cell in cells) + "\n")  # a category may hold anything


@dataclass(frozen=True)
class MarotExport:
    """Error spans and nothing else: a text that nobody marked has no row."""

    name: str = "marot"
    folder: bool = False
    one_system: bool = False

    def write(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write the rows of all ratings with spans; see :class:`mtagent.formats.marot.MarotRatings`."""
        file = MarotRatings(way_out="use --format mtme --escape")
        marked = scored = 0
        for entry in held.entries():
            file.refuse(Candidates(segment=entry.segment, translations=entry.texts), output)
            marked += sum(_marks(rated) for rated in entry.rated)
            scored += sum(rated.rating is not None and not _marks(rated) for rated in entry.rated)
        if not marked:
            raise OutputError(
                f"{output}: no text of run {held.run!r} has a rating with error spans: see `mtagent rate`"
            )
        raters: dict[str, Raters] = defaultdict(Raters)
        remarks = file.write(ratings.Ratings(held.systems, lambda _: _export_rows(held, raters)), output)
        without = (f"ratings without a row, for their evaluator marks no spans: {scored}",) if scored else ()
        return (*remarks, *without, *(remark for pair in raters.values() for remark in pair.remarks))


def _export_rows(held: Held, raters: dict[str, Raters]) -> Iterator[Rated]:
    for entry in held.entries():
        yield from (_marot_named(rated, entry, raters) for rated in entry.rated)


def _marot_named(rated: Rated, entry: Entry, raters: dict[str, Raters]) -> Rated:
    """``rated`` with the rater's name in this file; without a rating that marks no spans."""
    if rated.rating is None or rated.rating.errors is None:
        return rated.model_copy(update={"rating": None})
    name = raters[pair_name(entry.segment)].name(rated.rating)
    return rated.model_copy(update={"rating": rated.rating.model_copy(update={"evaluator": name})})


def _marks(rated: Rated) -> bool:
    return rated.rating is not None and rated.rating.errors is not None
