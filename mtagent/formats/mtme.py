"""A test set in the folders of mt-metrics-eval, one line per segment, a set of files for each language pair.

==============================================  ================================================================
``sources/LP.txt``, ``references/LP.refA.txt``  the texts; no references where no segment has one
``system-outputs/LP/NAME.txt``                  those of each stage or system
``documents/LP.docs``                           ``DOMAIN⇥DOCUMENT`` per segment
``metric-scores/LP/EVALUATOR-REF.*.score``      ``SYSTEM⇥SCORE``; ``REF`` is ``refA`` for who saw references, or ``src``
==============================================  ================================================================
"""

from __future__ import annotations

import json
import os.path
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.formats.annotations import Annotation, marked, objects_in, offset
from mtagent.formats.exports import Entry, Held, Raters, mapped, pair_name, plain_name, renamed, strict_name
from mtagent.formats.files import STANDARD, Sink, lines_of, replacing
from mtagent.formats.json_text import parsed
from mtagent.formats.ratings import Candidates, Place, Ratings, place_of
from mtagent.records import ErrorSpan, Rated, Rating, Segment
from mtagent.text import mqm

_ENDS = (".seg.score", ".sys.score", ".seg.rating")


@dataclass(frozen=True)
class MtmeRatings:
    """Three files with the name that is given and the three ends, whichever of them was named."""

    name: str = "mtme"
    suffixes: tuple[str, ...] = _ENDS

    def paths(self, output: Path) -> tuple[Path, ...]:
        """``NAME.seg.score``, ``NAME.sys.score`` and ``NAME.seg.rating``."""
        if output == STANDARD:
            raise ConfigError("mtme writes several files: give -o NAME.seg.score")
        stem = next((output.name.removesuffix(end) for end in _ENDS if output.name.endswith(end)), output.name)
        return tuple(output.with_name(stem + end) for end in _ENDS)

    def refuse(self, candidates: Candidates, output: Path) -> None:
        """The files hold no texts; only the names of systems may get into each other's way."""
        shared = Counter(plain_name(system) for system in candidates.translations)
        if twice := [system for system in candidates.translations if shared[plain_name(system)] > 1]:
            raise OutputError(
                f"{output}: mtme allows no '.' and '-' in names, and without them {' and '.join(map(repr, twice))} "
                "are the same: name them otherwise with -t NAME=FILE"
            )

    def write(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write the three files."""
        unplaced = 0
        with ExitStack() as stack:
            scores, averages, spans = (stack.enter_context(replacing(path)) for path in self.paths(output))
            for system in ratings.systems:
                unplaced += _write_system(system, ratings, scores, averages, spans)
        return _remarks(ratings.systems, unplaced)


def _write_system(system: str, ratings: Ratings, scores: Sink, averages: Sink, spans: Sink) -> int:
    """Write the lines of one system, and return how many of its spans have no place in the text."""
    name, found, unplaced = plain_name(system), [], 0
    for rated in ratings.read(system):
        found.append(rated.rating.score if rated.rating else None)
        line, lost = _rating(rated)
        spans.write(f"{name}\t{line}\n")
        unplaced += lost
    write_scores(name, found, scores, averages)
    return unplaced


def write_scores(
    name: str, found: Sequence[float | None], scores: Sink, averages: Sink, *, given: float | None = None
) -> None:
    """Write a line per segment, and the mean of all; ``None`` = not rated. ``given`` stands in place of the mean.

    There is no mean where a segment is not rated: that of the others would look better or worse than the system is.
    """
    rated = [score for score in found if score is not None]
    for score in found:
        scores.write(f"{name}\t{score}\n")
    if given is not None:
        averages.write(f"{name}\t{given}\n")
        return
    averages.write(f"{name}\t{fsum(rated) / len(rated) if rated and len(rated) == len(found) else None}\n")


def _rating(rated: Rated) -> tuple[str, int]:
    """``JSON⇥RATER`` or ``None``, and how many spans have no place."""
    rating = rated.rating
    if rating is None:
        return "None", 0
    return rating_line(rating.errors, rating.evaluator, rated.segment.source, rated.translation)


def rating_line(errors: Sequence[ErrorSpan] | None, rater: str, source: str, translation: str) -> tuple[str, int]:
    """``JSON⇥RATER``, or ``None`` where no errors are known of; and how many errors have no place."""
    if errors is None:
        return "None", 0
    placed = [(span, place_of(span, source, translation)) for span in errors]
    found = json.dumps({"errors": [_error(span, place) for span, place in placed]}, ensure_ascii=False)
    rater = re.sub(r"\s", "_", rater)
    return f"{found}\t{rater}", sum(place is None for _, place in placed)


def _error(span: ErrorSpan, place: Place | None) -> dict[str, Any]:
    """An error without a place is an empty span at the start: it overlaps nothing, and its severity still counts."""
    start, end, in_source = place or Place(0, 0, span.side != "translation")
    return {
        "start": start,
        "end": end,
        "category": span.category,
        "severity": span.severity,
        "score": mqm.weight(span) if span.penalty is None else span.penalty,
        "is_source_error": in_source,
    }


def _remarks(systems: tuple[str, ...], unplaced: int) -> tuple[str, ...]:
    renamed = [f"{system} is {plain_name(system)}" for system in systems if plain_name(system) != system]
    remarks = [f"mtme allows no '.' and '-' in names: {', '.join(renamed)} in the files"] if renamed else []
    if unplaced:
        remarks.append(f"{unplaced} errors have no known place in the text: they stand as empty spans at its start")
    return tuple(remarks)


NOT_RATED = "None"


def recognised(line: str) -> bool:
    """Whether ``line`` is one of this format."""
    cells = line.split("\t")
    return len(cells) in (2, 3) and (cells[1] == NOT_RATED or cells[1].startswith("{"))


def read_mtme(path: Path) -> list[Annotation]:
    """The annotations of a file. Raises :class:`InputError`, also where the texts around it have other numbers."""
    counts: Counter[str] = Counter()
    found = []
    for line in lines_of(path):
        where = f"{path}:{line.number}"
        cells = line.text.split("\t")
        if len(cells) not in (2, 3):
            raise InputError(f"{where}: {len(cells)} columns; a line is SYSTEM⇥JSON⇥RATER or SYSTEM⇥None")
        counts[cells[0]] += 1
        found.append(
            Annotation(
                where=where,
                errors=None if cells[1] == NOT_RATED else _errors(parsed(cells[1], where), where),
                segment=str(counts[cells[0]]),
                system=cells[0],
                rater=cells[2] if len(cells) == 3 else None,
            )
        )
    return _with_texts(found, path, counts)


def _errors(data: Any, where: str) -> tuple[ErrorSpan, ...]:
    errors = objects_in(data.get("errors") if isinstance(data, dict) else None, '"errors"', where)
    return tuple(_mtme_error(error, where) for error in errors)


def _mtme_error(error: dict[str, Any], where: str) -> ErrorSpan:
    """An empty span at the start is how this format writes an error without a place, an omission too."""
    start, end = offset(error.get("start"), where), offset(error.get("end"), where)
    placed = end > 0
    return marked(
        where,
        severity=error.get("severity"),
        start=start if placed else None,
        end=end if placed else None,
        category=error.get("category"),
        side="source" if error.get("is_source_error") else "translation",
        penalty=error.get("score"),
    )


def texts_around(path: Path) -> list[Path]:
    """The files with sources and translations in MTME's folders around ``path``, as far as they are there."""
    root, lp = path.absolute().parent.parent, path.name.split(".")[0]
    systems = dict.fromkeys(line.text.split("\t")[0] for line in lines_of(path))
    texts = [text_file(root, lp, system) for system in systems]
    sources = root / "sources" / f"{lp}.txt"
    return [*([sources] if sources.is_file() else []), *(text for text in texts if text)]


def _with_texts(found: list[Annotation], path: Path, counts: Counter[str]) -> list[Annotation]:
    root, lp = path.absolute().parent.parent, path.name.split(".")[0]
    sources = root / "sources" / f"{lp}.txt"
    texts = {system: text_file(root, lp, system) for system in counts}
    if not sources.is_file() or any(text is None for text in texts.values()):
        return found
    source = _lines(sources)
    outputs = {system: _lines(text) for system, text in texts.items() if text}
    for system, lines in outputs.items():
        if not len(lines) == len(source) == counts[system]:
            numbers = f"{counts[system]} ratings, {len(lines)} translations, {len(source)} sources"
            raise InputError(f"{path}: system {system!r} has {numbers}; they must be equally many")
    return [_with_text(one, source, outputs) for one in found]


def _with_text(one: Annotation, source: list[str], outputs: dict[str, list[str]]) -> Annotation:
    at = int(one.segment or 1) - 1
    return one.model_copy(update={"source": source[at], "translation": outputs[one.system or ""][at]})


def text_file(root: Path, lp: str, system: str) -> Path | None:
    """Where a system's translations are; references are rated like systems."""
    if "/" in system:
        return None
    places = (root / "system-outputs" / lp / f"{system}.txt", root / "references" / f"{lp}.{system}.txt")
    isfile = os.path.isfile
    return next((place for place in places if isfile(place)), None)


def _lines(path: Path) -> list[str]:
    return [line.text for line in lines_of(path)]


REFERENCE = "refA"
_UNKNOWN = "unknown"
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})
ESCAPED = (
    r"escaped: in all texts a line feed is written \n, a carriage return \r, a backslash \\; "
    "read these from left to right to undo it"
)


@dataclass(frozen=True)
class MtmeExport:
    """``escape`` allows line breaks in segments: they, and backslashes, are escaped in all texts."""

    escape: bool = False
    name: str = "mtme"
    folder: bool = True
    one_system: bool = False

    def write(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write the folders. Raises :class:`OutputError` for a segment with a line break, unless ``escape``."""
        broken = held.survey.broken
        if broken and not self.escape:
            raise OutputError(
                f"segment {broken[0]!r} (and {len(broken) - 1} more): has a line break, and mt-metrics-eval holds a "
                "segment a line; --escape writes \\n for it"
            )
        names = mapped(held.systems, strict_name, output)
        pairs: dict[str, _Pair] = {}
        with ExitStack() as stack:
            for entry in held.entries():
                lp = pair_name(entry.segment)
                if lp not in pairs:
                    pairs[lp] = _Pair(_Folder(output, stack, self.escape), lp, names, held.survey.referenced.get(lp, 0))
                pairs[lp].add(entry)
            remarks = [remark for pair in pairs.values() for remark in pair.finish(held.run)]
        evaluators = {name: plain for pair in pairs.values() for name, plain in pair.raters.plain_names.items()}
        return (*([ESCAPED] if self.escape else []), *renamed(names | evaluators), *remarks)


@dataclass(frozen=True)
class _Folder:
    """Where the files go, all of which stay open until the last segment."""

    path: Path
    stack: ExitStack
    escape: bool

    def open(self, *parts: str) -> Sink:
        path = self.path.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return self.stack.enter_context(replacing(path))

    def write(self, sink: Sink, text: str | None) -> None:
        """Write one line; there is none of a text that is missing."""
        text = text or ""
        sink.write((text.translate(_ESCAPES) if self.escape else text) + "\n")


class _Pair:
    """The files of one language pair."""

    def __init__(self, folder: _Folder, lp: str, names: dict[str, str], referenced: int) -> None:
        self._folder, self._lp, self._names, self._referenced = folder, lp, names, referenced
        self._sources = folder.open("sources", f"{lp}.txt")
        self._references = folder.open("references", f"{lp}.{REFERENCE}.txt") if referenced else None
        self._outputs = {system: folder.open("system-outputs", lp, f"{name}.txt") for system, name in names.items()}
        self._docs = folder.open("documents", f"{lp}.docs")
        self._documents, self.raters = _Documents(), Raters(strict_name)
        self._scores: dict[str, dict[str, list[float | None]]] = {}
        self._count = 0

    def add(self, entry: Entry) -> None:
        """Write the lines of one segment, and remember its scores, which stand system by system."""
        segment = entry.segment
        self._folder.write(self._sources, segment.source)
        if self._references is not None:
            self._folder.write(self._references, segment.reference)
        for system, sink in self._outputs.items():
            self._folder.write(sink, entry.texts[system])
        self._docs.write("\t".join(self._documents.line(segment)) + "\n")
        self._remember(entry)
        self._count += 1

    def finish(self, run: str) -> list[str]:
        """Write the scores, and return the remarks on this language pair."""
        for metric, by_system in self._scores.items():
            scores, averages = (
                self._folder.open("metric-scores", self._lp, f"{metric}.{level}.score") for level in ("seg", "sys")
            )
            for system, found in by_system.items():
                write_scores(self._names[system], found, scores, averages)
        remarks = [*self.raters.remarks, *self._documents.remarks(), *self._unrated(run)]
        if 0 < self._referenced < self._count:
            remarks.append(f"{self._count - self._referenced} of {self._count} segments have no reference: empty lines")
        return [f"{self._lp}: {remark}" for remark in remarks]

    def _remember(self, entry: Entry) -> None:
        found: dict[tuple[str, str], float] = {}
        for rated in entry.rated:
            if rated.rating is not None:
                metric = self._metric(rated.rating)
                if metric not in self._scores:  # a default that is made for every rating would be quadratic
                    self._scores[metric] = {system: [None] * self._count for system in self._names}
                found[metric, rated.system] = rated.rating.score
        for metric, by_system in self._scores.items():
            for system, scores in by_system.items():
                scores.append(found.get((metric, system)))

    def _metric(self, rating: Rating) -> str:
        """``NAME-REF`` as mt-metrics-eval wants it."""
        seen = self._referenced and "reference:yes" in rating.signature.split("|")
        return f"{self.raters.name(rating)}-{REFERENCE if seen else 'src'}"

    def _unrated(self, run: str) -> list[str]:
        if not self._scores:
            return [] if not run else ["the run holds no rating of these texts: no metric-scores"]
        return [
            f"{metric}: {missing} of {sum(map(len, by_system.values()))} texts are not rated (None), which "
            f"mt-metrics-eval does not read as a metric's scores: `mtagent rate --run {run}` rates all"
            for metric, by_system in self._scores.items()
            if (missing := sum(scores.count(None) for scores in by_system.values()))
        ]


class _Documents:
    """Names of domains and documents as mt-metrics-eval needs them: without white space, each document in one piece."""

    def __init__(self) -> None:
        self._raw: str | None = None
        self._name = ""
        self._used: set[str] = set()
        self._changed: dict[str, None] = {}

    def line(self, segment: Segment) -> tuple[str, str]:
        """Domain and document of the next segment."""
        if not self._used or segment.document != self._raw:
            self._raw, self._name = segment.document, self._fresh(_bare(segment.document))
            if segment.document and self._name != segment.document:
                self._changed[f"{segment.document} is {self._name}"] = None
        return _bare(segment.domain), self._name

    def remarks(self) -> list[str]:
        """What was renamed."""
        if not self._changed:
            return []
        shown = ", ".join([*list(self._changed)[:3], *(["…"] if len(self._changed) > 3 else [])])
        return [f"documents renamed, to stand in one piece and without spaces: {len(self._changed)} ({shown})"]

    def _fresh(self, name: str) -> str:
        number, fresh = 1, name
        while fresh in self._used:
            number += 1
            fresh = f"{name}_{number}"
        self._used.add(fresh)
        return fresh


def _bare(name: str | None) -> str:
    return "_".join((name or "").split()) or _UNKNOWN
