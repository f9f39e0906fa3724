"""A test set in the folders of mt-metrics-eval, one line per segment, a set of files for each language pair.

==============================================  ================================================================
``sources/LP.txt``, ``references/LP.refA.txt``  the texts; no references where no segment has one
``system-outputs/LP/NAME.txt``                  the translations of each stage or system
``documents/LP.docs``                           ``DOMAIN⇥DOCUMENT`` per segment
``metric-scores/LP/EVALUATOR-REF.*.score``      ``SYSTEM⇥SCORE``; ``REF`` is ``refA`` with references, else ``src``
``human-scores/LP.NAME.seg.rating``             ``SYSTEM⇥JSON⇥RATER``, or ``SYSTEM⇥None`` = not rated
==============================================  ================================================================
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import fsum
from os.path import isfile
from pathlib import Path
from typing import Any

from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.formats.annotations import Annotation, TextSide, error_span, objects_in, offset
from mtagent.formats.exports import (
    RaterNames,
    RunTexts,
    SegmentTexts,
    free_name,
    mapped,
    pair_name,
    plain_name,
    renamed,
    strict_name,
)
from mtagent.formats.files import STANDARD, Sink, lines_of, parsed, replacing
from mtagent.formats.ratings import Candidates, Ratings, SpanPlace, place_of
from mtagent.records import ErrorSpan, Segment
from mtagent.text import mqm
from mtagent.text.amounts import first_of

NOT_RATED = "None"
REFERENCE = "refA"
ESCAPED = (
    r"escaped: in all texts a line feed is written \n, a carriage return \r, a backslash \\; "
    "read these from left to right to undo it"
)
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Mtme:
    """Reads error spans; writes ratings into three files, and whole runs into folders.

    ``escape`` allows line breaks in the segments of a run: they, and backslashes, are escaped in all texts.
    """

    name: str = "mtme"
    suffixes: tuple[str, ...] = (".seg.score", ".sys.score", ".seg.rating")
    folder: bool = True
    one_system: bool = False
    escape: bool = False

    def recognises(self, first: str, value: Any) -> bool:
        """Whether a file that begins so is one of ratings."""
        cells = first.split("\t")
        return len(cells) in (2, 3) and (cells[1] == NOT_RATED or cells[1].startswith("{"))

    def read_spans(self, path: Path) -> Iterator[Annotation]:
        """Yield the annotations of a file of ratings, with the texts in the folders around it if these exist.

        Raises :class:`InputError`, also where the numbers of ratings and texts differ.
        """
        counts: Counter[str] = Counter()
        annotations = []
        for line in lines_of(path):
            where = f"{path}:{line.number}"
            cells = line.text.split("\t")
            if len(cells) not in (2, 3):
                raise InputError(f"{where}: {len(cells)} columns; a line is SYSTEM⇥JSON⇥RATER or SYSTEM⇥None")
            system, rating = cells[:2]
            counts[system] += 1
            errors = None
            if rating != NOT_RATED:
                errors = tuple(_errors(parsed(rating, where), where))
            annotations.append(
                Annotation(
                    where=where,
                    errors=errors,
                    segment=str(counts[system]),
                    system=system,
                    rater=cells[2] if len(cells) == 3 else None,
                )
            )
        sources, files = _text_files(path, counts)
        if not sources.is_file() or None in files.values():
            yield from annotations
            return
        source_lines = [line.text for line in lines_of(sources)]
        translations: dict[str, list[str]] = {}
        for system, file in files.items():
            assert file is not None
            lines = [line.text for line in lines_of(file)]
            if not len(lines) == len(source_lines) == counts[system]:
                numbers = f"{counts[system]} ratings, {len(lines)} translations, {len(source_lines)} sources"
                raise InputError(f"{path}: system {system!r} has {numbers}; their numbers must be equal")
            translations[system] = lines
        for annotation in annotations:
            index = int(annotation.segment or "") - 1
            texts = {"source": source_lines[index], "translation": translations[annotation.system or ""][index]}
            yield annotation.model_copy(update=texts)

    def texts_around(self, path: Path) -> list[Path]:
        """The files with sources and translations in the folders around ``path`` that exist."""
        systems: dict[str, None] = {}
        for line in lines_of(path):
            systems[line.text.split("\t")[0]] = None
        sources, files = _text_files(path, systems)
        texts = list(filter(None, files.values()))
        if sources.is_file():
            texts.insert(0, sources)
        return texts

    def paths(self, output: Path) -> tuple[Path, ...]:
        """``NAME.seg.score``, ``NAME.sys.score`` and ``NAME.seg.rating``, whichever of them is named."""
        if output == STANDARD:
            raise ConfigError("mtme writes several files: give -o NAME.seg.score")
        stem = output.name
        for suffix in self.suffixes:
            if stem.endswith(suffix):
                stem = stem.removesuffix(suffix)
                break
        return tuple(output.with_name(stem + suffix) for suffix in self.suffixes)

    def refuse(self, candidates: Candidates, output: Path) -> None:
        """The files hold no texts; only the names of systems may get into each other's way."""
        mapped(tuple(candidates.translations), plain_name, output, "name them otherwise with -t NAME=FILE")

    def write_ratings(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write the three files."""
        unplaced = 0
        with ExitStack() as stack:
            scores, averages, spans = (stack.enter_context(replacing(path)) for path in self.paths(output))
            for system in ratings.systems:
                name = plain_name(system)
                values: list[float | None] = []
                for rated in ratings.read(system):
                    rating = rated.rating
                    score: float | None = None
                    line, line_unplaced = NOT_RATED, 0
                    if rating is not None:
                        score = rating.score
                        texts = (rated.segment.source, rated.translation)
                        line, line_unplaced = rating_line(rating.errors, rating.evaluator, *texts)
                    values.append(score)
                    spans.write(f"{name}\t{line}\n")
                    unplaced += line_unplaced
                write_scores(name, values, scores, averages)
        remarks = list(renamed({system: plain_name(system) for system in ratings.systems}))
        if unplaced:
            remarks.append(
                f"{unplaced} errors have no known place in the text: they are written as empty spans at its start"
            )
        return tuple(remarks)

    def export(self, run: RunTexts, output: Path) -> tuple[str, ...]:
        """Write the folders. Raises :class:`OutputError` for a segment with a line break, unless ``escape``."""
        if run.broken and not self.escape:
            raise OutputError(
                f"segment {run.broken[0]!r} (and {len(run.broken) - 1} more): has a line break, and mt-metrics-eval "
                "holds a segment a line; --escape writes \\n for it"
            )
        names = mapped(run.systems, strict_name, output)
        pairs: dict[str, _PairFiles] = {}
        with ExitStack() as stack:

            def create(*parts: str) -> Sink:
                """A file of the folder; all stay open until the last segment."""
                path = output.joinpath(*parts)
                path.parent.mkdir(parents=True, exist_ok=True)
                return stack.enter_context(replacing(path))

            for entry in run.segments():
                lp = pair_name(entry.segment)
                if lp not in pairs:
                    pairs[lp] = _PairFiles(create, lp, names, run.references.get(lp, 0), self.escape)
                pairs[lp].add(entry)
            remarks: list[str] = []
            for files in pairs.values():
                remarks += files.finish(run.name)
                names = names | files.raters.plain_names
        escaped = (ESCAPED,) if self.escape else ()
        return (*escaped, *renamed(names), *remarks)


MTME = Mtme()


def _errors(data: Any, where: str) -> Iterator[ErrorSpan]:
    errors = data.get("errors") if isinstance(data, dict) else None
    for error in objects_in(errors, '"errors"', where):
        start: int | None = offset(error.get("start"), where)
        end: int | None = offset(error.get("end"), where)
        if not end:  # this format writes an error without a place as an empty span at the start
            start = end = None
        side: TextSide = "translation"
        if error.get("is_source_error"):
            side = "source"
        yield error_span(
            where,
            severity=error.get("severity"),
            start=start,
            end=end,
            category=error.get("category"),
            side=side,
            penalty=error.get("score"),
        )


def _text_files(path: Path, systems: Iterable[str]) -> tuple[Path, dict[str, Path | None]]:
    """Where the sources should be, and the translations of each system, in the folders around ``path``."""
    root, lp = path.absolute().parent.parent, path.name.split(".")[0]
    return root / "sources" / f"{lp}.txt", {system: text_file(root, lp, system) for system in systems}


def text_file(root: Path, lp: str, system: str) -> Path | None:
    """Where a system's translations are; references are rated like systems."""
    if "/" in system:
        return None
    places = (root / "system-outputs" / lp / f"{system}.txt", root / "references" / f"{lp}.{system}.txt")
    for place in places:
        if isfile(place):  # noqa: PTH113 Path's raises for long names
            return place
    return None


def write_scores(
    name: str, values: Sequence[float | None], scores: Sink, averages: Sink, *, given: float | None = None
) -> None:
    """Write a line per segment, and the mean of all; ``None`` = not rated. ``given`` is written instead of the mean.

    If a segment is not rated, the mean is ``None``: the others' mean would make the system look better or worse.
    """
    for score in values:
        scores.write(f"{name}\t{score}\n")
    rated = [score for score in values if score is not None]
    if given is None and rated and len(rated) == len(values):
        given = fsum(rated) / len(rated)
    averages.write(f"{name}\t{given}\n")


def rating_line(errors: Sequence[ErrorSpan] | None, rater: str, source: str, translation: str) -> tuple[str, int]:
    """``JSON⇥RATER``, or ``None`` where the errors are not known; and how many errors have no place.

    An error without a place is an empty span at the start: it overlaps nothing, and its severity still counts.
    """
    if errors is None:
        return NOT_RATED, 0
    items, unplaced = [], 0
    for span in errors:
        place = place_of(span, source, translation)
        if place is None:
            unplaced += 1
            place = SpanPlace(0, 0, span.side != "translation")
        item = {
            "start": place.start,
            "end": place.end,
            "category": span.category,
            "severity": span.severity,
            "score": mqm.weight(span) if span.penalty is None else span.penalty,
            "is_source_error": place.in_source,
        }
        items.append(item)
    rater = re.sub(r"\s", "_", rater)
    return f"{json.dumps({'errors': items}, ensure_ascii=False)}\t{rater}", unplaced


class _PairFiles:
    """The files of one language pair, as a run is written."""

    def __init__(
        self, create: Callable[..., Sink], lp: str, names: dict[str, str], references: int, escape: bool
    ) -> None:
        self._create = create
        self._lp = lp
        self._names = names
        self._references_count = references  # how many of the segments have one
        self._escape = escape
        self._sources = create("sources", f"{lp}.txt")
        self._references = create("references", f"{lp}.{REFERENCE}.txt") if references else None
        self._outputs = {system: create("system-outputs", lp, f"{name}.txt") for system, name in names.items()}
        self._docs = create("documents", f"{lp}.docs")
        self._documents = _Documents()
        self.raters = RaterNames(strict_name)
        self._scores: dict[str, dict[str, list[float | None]]] = {}
        self._count = 0

    def add(self, entry: SegmentTexts) -> None:
        """Write the lines of one segment, and remember its scores, since their files are ordered by system."""
        segment = entry.segment
        self._write_line(self._sources, segment.source)
        for system, sink in self._outputs.items():
            self._write_line(sink, entry.texts[system])
        if self._references is not None:
            self._write_line(self._references, segment.reference)
        self._docs.write(f"{_bare(segment.domain)}\t{self._documents.name(segment)}\n")
        scores: dict[tuple[str, str], float] = {}
        for rated in entry.rated:
            rating = rated.rating
            if rating is None:
                continue
            uses_reference = self._references_count and "reference:yes" in rating.signature.split("|")
            reference = REFERENCE if uses_reference else "src"
            metric = f"{self.raters.name(rating)}-{reference}"
            if metric not in self._scores:  # a default that is made for every rating would be quadratic
                self._scores[metric] = {system: [None] * self._count for system in self._names}
            scores[metric, rated.system] = rating.score
        for metric, by_system in self._scores.items():
            for system, values in by_system.items():
                values.append(scores.get((metric, system)))
        self._count += 1

    def _write_line(self, sink: Sink, text: str | None) -> None:
        text = text or ""  # the line of a missing text is empty
        if self._escape:
            text = text.translate(_ESCAPES)
        sink.write(text + "\n")

    def finish(self, run: str) -> list[str]:
        """Write the scores, and return the remarks on this language pair."""
        remarks = [*self.raters.remarks, *self._documents.remarks()]
        for metric, by_system in self._scores.items():
            scores = self._create("metric-scores", self._lp, f"{metric}.seg.score")
            averages = self._create("metric-scores", self._lp, f"{metric}.sys.score")
            for system, values in by_system.items():
                write_scores(self._names[system], values, scores, averages)
            missing = sum(values.count(None) for values in by_system.values())
            if missing:
                remarks.append(
                    f"{metric}: {missing} of {sum(map(len, by_system.values()))} texts are not rated (None), which "
                    f"mt-metrics-eval does not read as a metric's scores: `mtagent rate --run {run}` rates all"
                )
        if run and not self._scores:
            remarks.append("the run holds no rating of these texts: no metric-scores")
        if 0 < self._references_count < self._count:
            without = self._count - self._references_count
            remarks.append(f"{without} of {self._count} segments have no reference: empty lines")
        return [f"{self._lp}: {remark}" for remark in remarks]


class _Documents:
    """Names of documents as mt-metrics-eval needs them: without white space, each document in one piece."""

    def __init__(self) -> None:
        self._document: str | None = None
        self._name = ""
        self._used: set[str] = set()
        self._renamed: dict[str, None] = {}

    def name(self, segment: Segment) -> str:
        """The name of the next segment's document."""
        document = segment.document
        if not self._used or document != self._document:
            self._document, self._name = document, free_name(_bare(document), self._used)
            self._used.add(self._name)
            if document and self._name != document:
                self._renamed[f"{document} is {self._name}"] = None
        return self._name

    def remarks(self) -> list[str]:
        """What was renamed."""
        if not self._renamed:
            return []
        examples = first_of(list(self._renamed), 3)
        return [f"documents renamed, to be in one piece and without spaces: {len(self._renamed)} ({examples})"]


def _bare(name: str | None) -> str:
    return "_".join((name or "").split()) or _UNKNOWN
