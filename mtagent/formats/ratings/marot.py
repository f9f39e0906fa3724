"""Ratings in the TSV of Marot and of Google's MQM data: a row per error, its span in ``<v>…</v>``."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mtagent.candidates import Candidates
from mtagent.errors import OutputError
from mtagent.formats.files import Sink, replacing
from mtagent.formats.ratings.places import place_of
from mtagent.formats.ratings.protocol import Ratings
from mtagent.records import ErrorSpan, Rated, Segment

COLUMNS = (
    *("system", "doc", "docSegId", "globalSegId", "rater"),
    *("source", "target", "category", "severity", "metadata"),
)
_WAY_OUT = "use --format jsonl or mtme"


@dataclass(frozen=True)
class Marot:
    """Has no room for a score, a failed rating, or a rating without spans."""

    name: str = "marot"
    suffixes: tuple[str, ...] = (".tsv",)

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
                    f"hold; {_WAY_OUT}"
                )

    def write(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write the rows, and say how many ratings have none because they failed."""
        left_out, numbers = 0, _Numbers()
        with replacing(output) as sink:
            _write_row(sink, COLUMNS)
            for rated in ratings.read(None):
                left_out += rated.error is not None
                for row in _rows(rated, numbers.of(rated.segment), output):
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


def _rows(rated: Rated, number: str, output: Path) -> Iterator[tuple[str, ...]]:
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
        said = (_capital(span.category), _capital(span.severity), _metadata(span))
        yield (*about, *_marked(span, segment.source, rated.translation), *said)


def _marked(span: ErrorSpan, source: str, translation: str) -> tuple[str, str]:
    """Source and translation with the span marked where its place is known."""
    place = place_of(span, source, translation)
    if place is None:
        return source, translation
    text = source if place.in_source else translation
    marked = f"{text[: place.start]}<v>{text[place.start : place.end]}</v>{text[place.end :]}"
    return (marked, translation) if place.in_source else (source, marked)


def _metadata(span: ErrorSpan) -> str:
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
