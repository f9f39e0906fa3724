"""The ``spans-file`` evaluator: errors that people or other tools have marked, read from a file."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import permutations, takewhile
from operator import attrgetter
from pathlib import Path

from mtagent.errors import ConfigError, EvaluationError
from mtagent.formats import SpanFormatName, read_annotations, span_format
from mtagent.formats.annotations import Annotation
from mtagent.formats.exports import plain_name
from mtagent.formats.files import refuse_pipe
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text import mqm
from mtagent.text.spans import find_spans
from mtagent.version import __version__

_SHOWN = 24
UNCHECKED = "the file holds no texts: that this is the translation which was rated cannot be checked"


class Annotations:
    """The annotations of one file, of one ``system`` and one ``rater`` where those are named.

    Raises :class:`ConfigError` for a system or rater that is not in the file.
    """

    def __init__(
        self, annotations: Iterable[Annotation], path: Path, *, system: str | None = None, rater: str | None = None
    ) -> None:
        self._path = path
        annotations = list(annotations)
        for field, wanted in (("system", system), ("rater", rater)):
            known = sorted({name for annotation in annotations if (name := getattr(annotation, field)) is not None})
            if wanted is not None and wanted not in known:
                near = get_close_matches(wanted, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known[:20]) or 'none'}"
                raise ConfigError(f"{path}: no {field} {wanted!r}; {hint}")
            annotations = [each for each in annotations if wanted is None or getattr(each, field) == wanted]
        self._by_text: dict[str, list[Annotation]] = defaultdict(list)
        self._by_id: dict[str, list[Annotation]] = defaultdict(list)
        for annotation in annotations:
            if annotation.translation is not None:
                self._by_text[annotation.translation.strip()].append(annotation)
            self._by_id[annotation.segment or ""].append(annotation)
        self._systems = sorted({a.system or "" for a in annotations if a.translation is None})
        """Those without texts."""
        self._elsewhere = _with_other_texts(annotations)

    def of(
        self, segment: Segment, translation: str, system: str | None = None, *, alone: bool = True
    ) -> list[Annotation]:
        """All raters' annotations of exactly this ``translation``; white space around a text does not count.

        Source and translation must be those of the file. Where they stand there more than once, the name of the
        ``system``, then the segment's id, and then its document, tells which are meant; a file without texts is matched
        by system and id. Raises :class:`EvaluationError`, and :class:`ConfigError` where a file without texts has
        several systems and nothing tells which is meant.
        """
        fitting = [a for a in self._by_text.get(translation.strip(), ()) if _same_source(a, segment)]
        if self._systems:
            fitting += self._by_number(segment, system, alone)
        if not fitting:
            raise EvaluationError(self._refusal(segment, translation))
        tests: list[Callable[[Annotation], bool]] = [
            lambda annotation: annotation.system == system,
            lambda annotation: same_system(annotation.system, system),
            lambda annotation: annotation.segment == segment.id,
            lambda annotation: annotation.document == segment.document,
        ]
        for test in tests:
            fitting = list(filter(test, fitting)) or fitting
        if len({(a.document, a.segment) for a in fitting}) > 1 and len({a.errors for a in fitting}) > 1:
            places = ", ".join(annotation.where for annotation in fitting[:3])
            raise EvaluationError(
                f"segment {segment.id!r}: its texts stand at {places} with different errors; give it its id there"
            )
        return fitting

    def left_out(self, annotations: Iterable[Annotation]) -> list[str]:
        """What the file says about other translations of the same segments by the same system, which do not count."""
        return list(dict.fromkeys(line for a in annotations for line in self._elsewhere.get(a.where, ())))

    def _by_number(self, segment: Segment, system: str | None, alone: bool) -> list[Annotation]:
        """The annotations without texts for the segment's id and the one system that is meant."""
        same = [name for name in self._systems if same_system(name, system)]
        meant = [name for name in same if name == system] or same
        if not meant and not alone:
            raise EvaluationError(
                f"segment {segment.id!r}: {self._path} holds no ratings of system {system!r}; "
                f"it has those of {', '.join(self._systems[:20])}"
            )
        if not meant and len(self._systems) > 1:
            raise ConfigError(
                f"{self._path}: has no texts, and {len(self._systems)} systems: "
                f"choose with system={'|'.join(self._systems)}"
            )
        meant = meant or self._systems
        candidates = self._by_id.get(segment.id, ())
        return [a for a in candidates if a.translation is None and (a.system or "") in meant]

    def _refusal(self, segment: Segment, translation: str) -> str:
        """Why there is no annotation of this translation."""
        named = f"segment {segment.id!r}"
        annotation = next((a for a in self._by_id.get(segment.id, ()) if a.translation is not None), None)
        if annotation is None:
            hint = "; it tells segments by their numbers, as line-aligned files do" if self._systems else ""
            return f"{named}: {self._path} holds no annotation of this translation{hint}"
        if not _same_source(annotation, segment):
            difference = _difference(segment.source, annotation.source or "")
            return f"{named}: has another source at {annotation.where}: {difference}"
        return (
            f"{named}: is not the translation that was rated at {annotation.where}: "
            f"{_difference(translation, annotation.translation or '')}; "
            "edited texts need another judge: set judge, or gate=guards"
        )


def _with_other_texts(annotations: Iterable[Annotation]) -> dict[str, list[str]]:
    """For each place in the file: at which other places the same system's same segment has another translation."""
    items: dict[tuple[str | None, ...], list[Annotation]] = defaultdict(list)
    for annotation in annotations:
        if annotation.system and annotation.segment and None not in (annotation.translation, annotation.errors):
            source = (annotation.source or "").strip()
            items[annotation.system, annotation.document, annotation.segment, source].append(annotation)
    elsewhere: dict[str, list[str]] = defaultdict(list)
    for here, other in (pair for item in items.values() for pair in permutations(item, 2)):
        text, other_text = (here.translation or "").strip(), (other.translation or "").strip()
        if text != other_text:
            rater = f" by {other.rater}" if other.rater else ""
            why = f"is left out, since it is of another text than {here.where}: {_difference(other_text, text)}"
            elsewhere[here.where].append(f"{other.where}: this rating{rater} {why}")
    return elsewhere


def same_system(name: str | None, other: str | None) -> bool:
    """Whether two names mean one system; mt-metrics-eval writes ``_`` for some characters."""
    return name == other or (name is not None and other is not None and plain_name(name) == plain_name(other))


def _same_source(annotation: Annotation, segment: Segment) -> bool:
    """A file without sources must name the segment."""
    if annotation.source is None:
        return annotation.segment == segment.id
    return annotation.source.strip() == segment.source.strip()


def _difference(text: str, rated: str) -> str:
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, rated, strict=False)))
    begin = max(0, same - 8)
    return f"{text[begin : begin + _SHOWN]!r} is {rated[begin : begin + _SHOWN]!r} there (character {same + 1})"


def placed(error: ErrorSpan, translation: str, source: str, where: str) -> tuple[ErrorSpan, str | None]:
    """``error`` with its words and its place in the translation, and a warning if something had to be done for that.

    An error of the source's side keeps its words alone: offsets are into the translation everywhere. The same goes for
    an omission, unless it marks a mere place of the translation.
    """
    if error.side == "source" or (error.side == "omission" and error.start != error.end):
        located, warning = _located(error, source, f"{where}: in the source: ")
        return located.model_copy(update={"start": None, "end": None}), warning
    return _located(error, translation, f"{where}: ")


def _located(error: ErrorSpan, text: str, where: str) -> tuple[ErrorSpan, str | None]:
    start, end = error.start, error.end
    nowhere = error.model_copy(update={"start": None, "end": None})
    if start is not None and end is not None:
        if end <= len(text) and error.text in ("", text[start:end]):
            return error.model_copy(update={"text": text[start:end]}), None
        if not error.text and start < len(text):
            cut = error.model_copy(update={"text": text[start:], "end": len(text)})
            return cut, f"{where}the span {start}–{end} ends behind the text of {len(text)} characters; it is cut there"
        if not error.text:
            why = f"lies behind the text of {len(text)} characters; it has no place"
            return nowhere, f"{where}the span {start}–{end} {why}"
    elif not error.text or error.side == "omission":
        return error, None
    # Only the words tell the place, if they occur in one place only.
    span = f"{where}the span {error.text!r}"
    wrong = "" if start is None else f" is not at {start}–{end}"
    finding = find_spans(text, [nowhere])[0]
    if not finding.certain:
        return nowhere, f"{span}{wrong}{', and' if wrong else ':'} {finding.why}; it has no place"
    start, end = finding.places[0]
    located = error.model_copy(update={"start": start, "end": end})
    return located, f"{span}{wrong}, but at {start}–{end}; it is taken from there" if wrong else None


class SpansFile:
    """Rates a translation with the errors that the file ``path`` holds for exactly this text; asks nobody.

    ``system`` and ``rater`` choose among those of the file. The errors of several raters are joined, and the score is
    the mean of theirs (as Marot computes it), each with the MQM weights of Freitag et al. 2021. Of several systems
    that are rated side by side, each gets the file's ratings of the system with its name; without such, only where the
    file holds the very text. The file is read at once: raises :class:`mtagent.errors.InputError` where it cannot be.
    """

    name = "spans-file"
    calls = (0, 0)
    weights: mqm.Preset = "mqm"

    def __init__(
        self,
        *,
        path: Path | None = None,
        format: SpanFormatName | None = None,  # noqa: A002 the name that users write
        system: str | None = None,
        rater: str | None = None,
    ) -> None:
        if path is None:
            raise ConfigError("spans-file rates with a file: write spans-file:path=FILE")
        refuse_pipe(path, "spans-file:path")
        read_as = format or span_format(path).name
        self._annotations = Annotations(read_annotations(path, read_as), path, system=system, rater=rater)
        self._system_is_chosen = system is not None
        chosen = [f"{field}:{value}" for field, value in (("system", system), ("rater", rater)) if value]
        content = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        read = [f"file:{path.name}", f"sha256:{content}", f"format:{read_as}", *chosen]
        self.signature = "|".join([self.name, *read, f"weights:{self.weights}", f"version:{__version__}"])

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """The file's rating of ``translation``.

        Raises :class:`EvaluationError` where the file does not hold this segment with this very text, or says that it
        was not rated.
        """
        return self._rating(self._annotations.of(segment, translation), segment, translation)

    async def rate_system(self, segment: Segment, translation: str, system: str, *, alone: bool) -> Rating:
        """The same, with the ratings of ``system`` where the file has such.

        Raises :class:`EvaluationError` also where the file holds no texts and none of its ratings are of ``system``,
        unless it is rated ``alone``: then the name may be a mere file's, and the rating warns of it.
        """
        annotations = self._annotations.of(segment, translation, system, alone=alone)
        return self._rating(annotations, segment, translation, None if self._system_is_chosen else system)

    def _rating(
        self, annotations: list[Annotation], segment: Segment, translation: str, system: str | None = None
    ) -> Rating:
        rated = [annotation for annotation in annotations if annotation.errors is not None]
        if not rated:
            raise EvaluationError(f"segment {segment.id!r}: was not rated, says {annotations[0].where}")
        mark = attrgetter("side", "start", "end", "text", "category", "severity")
        joined, scores, warnings = list[ErrorSpan](), [], list[str]()
        for annotation in rated:
            errors = []
            warnings += annotation.warnings
            for error in annotation.errors or ():
                located, warning = placed(error, translation, segment.source, annotation.where)
                if warning and annotation.translation is None:  # an offset beyond the text shows it
                    raise EvaluationError(f"{warning}: this is not the translation that was rated")
                errors.append(located)
                warnings += [warning] if warning else []
            scores.append(mqm.score(errors, self.weights))
            # What several raters marked alike stands once; what one rater marked twice stands twice.
            others = set(map(mark, joined))
            joined += [error for error in errors if mark(error) not in others]
        without_texts = [annotation for annotation in rated if annotation.translation is None]
        if without_texts:
            warnings = [UNCHECKED, *self._annotations.left_out(rated), *warnings]
            if system is not None and not all(same_system(annotation.system, system) for annotation in without_texts):
                named = without_texts[0].system
                warnings.insert(0, f"the file's ratings are of the system {named!r}, and this one is called {system!r}")
        else:
            warnings = [*self._annotations.left_out(rated), *warnings]
        names = ", ".join(dict.fromkeys(annotation.rater or "unnamed" for annotation in rated))
        by = [f"rated by {names} ({rated[0].where})", rated[0].note]
        if len(rated) > 1:
            by = [f"rated by {names}; the score is the mean of {len(rated)} ratings"]
        return Rating(
            evaluator=self.name,
            score=math.fsum(scores) / len(scores),
            errors=tuple(joined),
            explanation="; ".join(filter(None, by)),
            signature=self.signature,
            warnings=tuple(dict.fromkeys(warnings)),
        )
