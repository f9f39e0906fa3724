"""The ``spans-file`` evaluator: errors that people or other tools have marked, read from a file."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import permutations
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

_SHOWN = 24  # characters of each text in a difference
UNCHECKED = "the file has no texts, so it cannot be checked that this is the translation which was rated"


class Annotations:
    """The annotations of one file, or only those of one ``system`` and one ``rater``.

    Raises :class:`ConfigError` for a system or rater that is not in the file.
    """

    def __init__(
        self, annotations: Iterable[Annotation], path: Path, *, system: str | None = None, rater: str | None = None
    ) -> None:
        self._path = path
        annotations = list(annotations)
        for field, chosen in (("system", system), ("rater", rater)):
            if chosen is None:
                continue
            names = sorted({getattr(annotation, field) for annotation in annotations} - {None})
            if chosen not in names:
                near = get_close_matches(chosen, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names[:20]) or 'none'}"
                raise ConfigError(f"{path}: no {field} {chosen!r}; {hint}")
            annotations = [annotation for annotation in annotations if getattr(annotation, field) == chosen]
        self._by_text: dict[str, list[Annotation]] = defaultdict(list)
        self._by_id: dict[str, list[Annotation]] = defaultdict(list)
        systems_without_texts: set[str] = set()
        for annotation in annotations:
            if annotation.translation is None:
                systems_without_texts.add(annotation.system or "")
            else:
                self._by_text[annotation.translation.strip()].append(annotation)
            self._by_id[annotation.segment or ""].append(annotation)
        self._systems_without_texts = sorted(systems_without_texts)
        self._elsewhere = _with_other_texts(annotations)

    def of(
        self, segment: Segment, translation: str, system: str | None = None, *, alone: bool = True
    ) -> list[Annotation]:
        """All raters' annotations of exactly this ``translation``; white space around a text does not count.

        Source and translation must be the same as in the file. If they occur there more than once, the name of the
        ``system``, then the segment's id, and then its document decides; a file without texts is matched by system and
        id. Raises :class:`EvaluationError`, and :class:`ConfigError` if a file without texts has several systems and
        none has the name.
        """
        matching = []
        for annotation in self._by_text.get(translation.strip(), ()):
            if _same_source(annotation, segment):
                matching.append(annotation)
        if self._systems_without_texts:
            matching += self._by_number(segment, system, alone)
        if not matching:
            raise EvaluationError(self._refusal(segment, translation))
        criteria: list[Callable[[Annotation], bool]] = [
            lambda annotation: annotation.system == system,
            lambda annotation: same_system(annotation.system, system),
            lambda annotation: annotation.segment == segment.id,
            lambda annotation: annotation.document == segment.document,
        ]
        for criterion in criteria:
            # A criterion that no annotation meets decides nothing.
            matching = list(filter(criterion, matching)) or matching
        segments = {(annotation.document, annotation.segment) for annotation in matching}
        different_errors = {annotation.errors for annotation in matching}
        if len(segments) > 1 and len(different_errors) > 1:
            places = ", ".join(annotation.where for annotation in matching[:3])
            raise EvaluationError(
                f"segment {segment.id!r}: its texts are at {places} with different errors; give it its id there"
            )
        return matching

    def left_out(self, annotations: Iterable[Annotation]) -> list[str]:
        """Warnings about unused annotations: of other translations of the same segments by the same system."""
        lines: dict[str, None] = {}
        for annotation in annotations:
            lines |= dict.fromkeys(self._elsewhere.get(annotation.where, ()))
        return list(lines)

    def _by_number(self, segment: Segment, system: str | None, alone: bool) -> list[Annotation]:
        """The annotations without texts for the segment's id and its system."""
        all_systems = self._systems_without_texts
        systems = [name for name in all_systems if same_system(name, system)]
        if system in systems:
            systems = [system]
        if not systems and not alone:
            raise EvaluationError(
                f"segment {segment.id!r}: {self._path} has no ratings of system {system!r}; "
                f"it has ratings of {', '.join(all_systems[:20])}"
            )
        if not systems and len(all_systems) > 1:
            raise ConfigError(
                f"{self._path}: has no texts, and {len(all_systems)} systems: choose with "
                f"system={'|'.join(all_systems)}"
            )
        if not systems:
            systems = all_systems
        matching = []
        for annotation in self._by_id.get(segment.id, ()):
            if annotation.translation is None and (annotation.system or "") in systems:
                matching.append(annotation)
        return matching

    def _refusal(self, segment: Segment, translation: str) -> str:
        """Why there is no annotation of this translation."""
        named = f"segment {segment.id!r}"
        candidates = self._by_id.get(segment.id, ())
        annotation = next((candidate for candidate in candidates if candidate.translation is not None), None)
        if annotation is None:
            hint = ""
            if self._systems_without_texts:
                hint = "; it identifies segments by their numbers, as line-aligned files do"
            return f"{named}: {self._path} has no annotation of this translation{hint}"
        if not _same_source(annotation, segment):
            difference = _difference(segment.source, annotation.source or "")
            return f"{named}: has another source at {annotation.where}: {difference}"
        return (
            f"{named}: isn't the translation that was rated at {annotation.where}: "
            f"{_difference(translation, annotation.translation or '')}; "
            "edited texts need another judge: set judge, or gate=guards"
        )


def _with_other_texts(annotations: Iterable[Annotation]) -> dict[str, list[str]]:
    """For each place in the file, warnings about other places where the system's segment has another translation."""
    of_segment: dict[tuple[str | None, ...], list[Annotation]] = defaultdict(list)
    for annotation in annotations:
        if annotation.system and annotation.segment and None not in (annotation.translation, annotation.errors):
            source = (annotation.source or "").strip()
            of_segment[annotation.system, annotation.document, annotation.segment, source].append(annotation)
    elsewhere: dict[str, list[str]] = defaultdict(list)
    for same_segment in of_segment.values():
        for here, other in permutations(same_segment, 2):
            text = (here.translation or "").strip()
            other_text = (other.translation or "").strip()
            if text == other_text:
                continue
            rater = f" by {other.rater}" if other.rater else ""
            why = f"is left out, since it is of another text than {here.where}: {_difference(other_text, text)}"
            elsewhere[here.where].append(f"{other.where}: this rating{rater} {why}")
    return elsewhere


def same_system(name: str | None, other: str | None) -> bool:
    """Whether two names mean one system; mt-metrics-eval writes ``_`` for some characters."""
    if name is None or other is None:
        return name == other
    return name == other or plain_name(name) == plain_name(other)


def _same_source(annotation: Annotation, segment: Segment) -> bool:
    """Whether the sources are equal. In a file without sources the segment's id must be equal."""
    if annotation.source is None:
        return annotation.segment == segment.id
    return annotation.source.strip() == segment.source.strip()


def _difference(text: str, rated: str) -> str:
    """Where two texts begin to differ, with a few characters before."""
    same = 0
    while text[same : same + 1] == rated[same : same + 1] != "":
        same += 1
    begin = max(0, same - 8)
    return f"{text[begin : begin + _SHOWN]!r} is {rated[begin : begin + _SHOWN]!r} there (character {same + 1})"


def placed(error: ErrorSpan, translation: str, source: str, where: str) -> tuple[ErrorSpan, str | None]:
    """``error`` with its words and its place in the translation, and a warning if these had to be changed.

    An error in the source keeps only its words: offsets are offsets into the translation everywhere. So does an
    omission, unless it marks a place between two characters of the translation.
    """
    if error.side == "source" or (error.side == "omission" and error.start != error.end):
        located, warning = _located(error, source, f"{where}: in the source: ")
        return located.model_copy(update={"start": None, "end": None}), warning
    return _located(error, translation, f"{where}: ")


def _located(error: ErrorSpan, text: str, where: str) -> tuple[ErrorSpan, str | None]:
    """``error`` with its words and its place in ``text``. ``where`` is the beginning of the warning."""
    start = error.start
    end = error.end
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
    # The words give the place, if they occur only once.
    finding = find_spans(text, [nowhere])[0]
    span = f"{where}the span {error.text!r}"
    if start is None:
        if not finding.certain:
            return nowhere, f"{span}: {finding.why}; it has no place"
        return error.model_copy(update=finding.places[0]._asdict()), None
    if not finding.certain:
        return nowhere, f"{span} is not at {start}–{end}, and {finding.why}; it has no place"
    place = finding.places[0]
    warning = f"{span} is not at {start}–{end}, but at {place.start}–{place.end}; it is taken from there"
    return error.model_copy(update=place._asdict()), warning


class SpansFile:
    """Rates a translation with the errors that the file ``path`` has for exactly this text; calls no model.

    ``system`` and ``rater`` choose among the file's systems and raters. The errors of several raters are joined, and
    the score is the mean of their scores (as Marot computes it), with the MQM weights of Freitag et al. 2021. If
    several systems are rated side by side, each gets the file's ratings of the system with its name, or ratings of
    exactly its text. The file is read at once. Raises :class:`mtagent.errors.InputError` if it cannot be read.
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
        format_name = format or span_format(path).name
        self._annotations = Annotations(read_annotations(path, format_name), path, system=system, rater=rater)
        self._system_is_chosen = system is not None
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        fields = [self.name, f"file:{path.name}", f"sha256:{digest}", f"format:{format_name}"]
        if system:
            fields.append(f"system:{system}")
        if rater:
            fields.append(f"rater:{rater}")
        self.signature = "|".join([*fields, f"weights:{self.weights}", f"version:{__version__}"])

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """The file's rating of ``translation``.

        Raises :class:`EvaluationError` if the file does not have this segment with exactly this text, or if it was not
        rated there.
        """
        return self._rating(self._annotations.of(segment, translation), segment, translation)

    async def rate_system(self, segment: Segment, translation: str, system: str, *, alone: bool) -> Rating:
        """The same, with the ratings of ``system`` if the file has any.

        Also raises :class:`EvaluationError` if the file has no texts and no ratings of ``system``, unless it is rated
        ``alone``: then the name may be only the name of a file, and the rating warns about it.
        """
        annotations = self._annotations.of(segment, translation, system, alone=alone)
        return self._rating(annotations, segment, translation, None if self._system_is_chosen else system)

    def _rating(
        self, annotations: list[Annotation], segment: Segment, translation: str, system: str | None = None
    ) -> Rating:
        rated = [annotation for annotation in annotations if annotation.errors is not None]
        if not rated:
            raise EvaluationError(f"segment {segment.id!r}: was not rated at {annotations[0].where}")
        content = attrgetter("side", "start", "end", "text", "category", "severity")
        all_errors: list[ErrorSpan] = []
        scores: list[float] = []
        annotation_warnings: list[str] = []
        for annotation in rated:
            errors = []
            annotation_warnings += annotation.warnings
            for error in annotation.errors or ():
                located, warning = placed(error, translation, segment.source, annotation.where)
                if warning and annotation.translation is None:
                    # Without the text, only an offset beyond its end shows that it is another one.
                    raise EvaluationError(f"{warning}: this is not the translation that was rated")
                errors.append(located)
                if warning:
                    annotation_warnings.append(warning)
            scores.append(mqm.score(errors, self.weights))
            # An error that several raters marked counts once; an error that one rater marked twice counts twice.
            of_other_raters = set(map(content, all_errors))
            all_errors += [error for error in errors if content(error) not in of_other_raters]
        warnings = [*self._annotations.left_out(rated), *annotation_warnings]
        without_texts = [annotation for annotation in rated if annotation.translation is None]
        if without_texts:
            warnings.insert(0, UNCHECKED)
            if system is not None and not all(same_system(annotation.system, system) for annotation in without_texts):
                name = without_texts[0].system
                warnings.insert(0, f"the file's ratings are of the system {name!r}, and this one is called {system!r}")
        names = ", ".join(dict.fromkeys(annotation.rater or "unnamed" for annotation in rated))
        if len(rated) == 1:
            explanation = f"rated by {names} ({rated[0].where})"
            if rated[0].note:
                explanation += f"; {rated[0].note}"
        else:
            explanation = f"rated by {names}; the score is the mean of {len(rated)} ratings"
        return Rating(
            evaluator=self.name,
            score=math.fsum(scores) / len(scores),
            errors=tuple(all_errors),
            explanation=explanation,
            signature=self.signature,
            warnings=tuple(dict.fromkeys(warnings)),
        )
