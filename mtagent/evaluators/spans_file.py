"""The ``spans-file`` evaluator: errors that people or other tools have marked already, read from a file."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import permutations, takewhile
from pathlib import Path

from mtagent import __version__
from mtagent.errors import ConfigError, EvaluationError
from mtagent.formats.annotations import Annotation
from mtagent.formats.exports import plain_name
from mtagent.formats.files import refuse_pipe
from mtagent.formats.named import SpanFormat, read_annotations, recognised
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text import mqm
from mtagent.text.spans import find_spans

_SHOWN = 24


class Annotations:
    """The annotations of one file, of one ``system`` and one ``rater`` where those are named.

    Raises :class:`ConfigError` for a system or rater that is not in the file.
    """

    def __init__(
        self, annotations: Iterable[Annotation], path: Path, *, system: str | None = None, rater: str | None = None
    ) -> None:
        self._path = path
        chosen = _only(list(annotations), "system", system, path)
        chosen = _only(chosen, "rater", rater, path)
        self.without_texts = any(one.translation is None for one in chosen)
        self._systems = sorted({one.system or "" for one in chosen if one.translation is None})
        self._by_text: dict[str, list[Annotation]] = defaultdict(list)
        self._by_id: dict[str, list[Annotation]] = defaultdict(list)
        for one in chosen:
            if one.translation is not None:
                self._by_text[one.translation.strip()].append(one)
            self._by_id[one.segment or ""].append(one)
        self._elsewhere = _with_other_texts(chosen)

    def of(
        self, segment: Segment, translation: str, system: str | None = None, *, alone: bool = True
    ) -> list[Annotation]:
        """All raters' annotations of exactly this ``translation``; white space around a text does not count.

        Source and translation must be those of the file. Where they stand there more than once, the name of the
        ``system``, then the segment's id, and then its document, tells which are meant; a file without texts is matched
        by system and id. Raises :class:`EvaluationError`, and :class:`ConfigError` where a file without texts has
        several systems and nothing tells which is meant.
        """
        found = [one for one in self._by_text.get(translation.strip(), ()) if _same_source(one, segment)]
        if self.without_texts:
            found += self._by_number(segment, system, alone)
        found = _narrowed(found, lambda one: one.system == system)
        found = _narrowed(found, lambda one: same_system(one.system, system))
        found = _narrowed(found, lambda one: one.segment == segment.id)
        found = _narrowed(found, lambda one: one.document == segment.document)
        if not found:
            raise EvaluationError(self._refusal(segment, translation))
        if len({(one.document, one.segment) for one in found}) > 1 and len({one.errors for one in found}) > 1:
            places = ", ".join(one.where for one in found[:3])
            raise EvaluationError(
                f"segment {segment.id!r}: its texts stand at {places} with different errors; give it its id there"
            )
        return found

    def left_out(self, found: Iterable[Annotation]) -> list[str]:
        """What the file says about other texts of the same system's same segments, which a rating cannot count in."""
        return list(dict.fromkeys(line for one in found for line in self._elsewhere.get(one.where, ())))

    def _by_number(self, segment: Segment, system: str | None, alone: bool) -> list[Annotation]:
        """The annotations without texts of the segment with this id, of the one system that is meant."""
        same = [name for name in self._systems if same_system(name, system)]
        known = [name for name in same if name == system] or same
        if not known and not alone:
            raise EvaluationError(
                f"segment {segment.id!r}: {self._path} holds no ratings of system {system!r}; "
                f"it has those of {', '.join(self._systems[:20])}"
            )
        if not known and len(self._systems) > 1:
            raise ConfigError(
                f"{self._path}: has no texts, and {len(self._systems)} systems: "
                f"choose with system={'|'.join(self._systems)}"
            )
        meant = known or self._systems
        return [
            one for one in self._by_id.get(segment.id, ()) if one.translation is None and (one.system or "") in meant
        ]

    def _refusal(self, segment: Segment, translation: str) -> str:
        named = f"segment {segment.id!r}"
        same_id = [one for one in self._by_id.get(segment.id, ()) if one.translation is not None]
        if not same_id:
            hint = "; it tells segments by their numbers, as line-aligned files do" if self.without_texts else ""
            return f"{named}: {self._path} holds no annotation of this translation{hint}"
        one = same_id[0]
        if not _same_source(one, segment):
            return f"{named}: has another source at {one.where}: {_difference(segment.source, one.source or '')}"
        return (
            f"{named}: is not the translation that was rated at {one.where}: "
            f"{_difference(translation, one.translation or '')}; "
            "edited texts need another judge: --judge NAME, or --gate guards"
        )


def _with_other_texts(annotations: Iterable[Annotation]) -> dict[str, list[str]]:
    """For each place in the file: at which other places the same system's same segment has another translation."""
    items: dict[tuple[str | None, ...], list[Annotation]] = defaultdict(list)
    for one in annotations:
        if one.system and one.segment and one.translation is not None and one.errors is not None:
            items[one.system, one.document, one.segment, (one.source or "").strip()].append(one)
    found: dict[str, list[str]] = defaultdict(list)
    for one, other in (pair for item in items.values() for pair in permutations(item, 2)):
        here, there = (one.translation or "").strip(), (other.translation or "").strip()
        if here != there:
            rater = f" by {other.rater}" if other.rater else ""
            left_out = f"{other.where}: this rating{rater} is left out, since it is of another text than {one.where}"
            found[one.where].append(f"{left_out}: {_difference(there, here)}")
    return found


def same_system(one: str | None, other: str | None) -> bool:
    """Whether two names mean one system; mt-metrics-eval writes ``_`` for some characters."""
    return one == other or (one is not None and other is not None and plain_name(one) == plain_name(other))


def _only(annotations: list[Annotation], field: str, wanted: str | None, path: Path) -> list[Annotation]:
    if wanted is None:
        return annotations
    chosen = [one for one in annotations if getattr(one, field) == wanted]
    if not chosen:
        known = sorted({getattr(one, field) for one in annotations} - {None})
        near = get_close_matches(wanted, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known[:20]) or 'none'}"
        raise ConfigError(f"{path}: no {field} {wanted!r}; {hint}")
    return chosen


def _narrowed(found: list[Annotation], fits: Callable[[Annotation], bool]) -> list[Annotation]:
    """Those that fit, or all where none does."""
    return [one for one in found if fits(one)] or found


def _same_source(one: Annotation, segment: Segment) -> bool:
    """A file without sources must name the segment."""
    return one.segment == segment.id if one.source is None else one.source.strip() == segment.source.strip()


def _difference(given: str, rated: str) -> str:
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(given, rated, strict=False)))
    begin = max(0, same - 8)
    return f"{given[begin : begin + _SHOWN]!r} is {rated[begin : begin + _SHOWN]!r} there (character {same + 1})"


def placed(error: ErrorSpan, translation: str, source: str, where: str) -> tuple[ErrorSpan, str | None]:
    """``error`` with its words and, in the translation, its place; and what had to be done about it, if anything.

    An error of the source's side keeps its words alone: offsets are into the translation everywhere. The same goes for
    an omission, unless it marks a mere place of the translation.
    """
    if error.side == "source" or (error.side == "omission" and error.start != error.end):
        found, warning = _located(error, source, f"{where}: in the source: ")
        return found.model_copy(update={"start": None, "end": None}), warning
    return _located(error, translation, f"{where}: ")


def _located(error: ErrorSpan, text: str, where: str) -> tuple[ErrorSpan, str | None]:
    start, end = error.start, error.end
    if start is None or end is None:
        return _searched(error, text, where) if error.text and error.side != "omission" else (error, None)
    if end <= len(text) and error.text in ("", text[start:end]):
        return error.model_copy(update={"text": text[start:end]}), None
    if error.text:
        return _searched(error, text, where)
    if start < len(text):
        cut = error.model_copy(update={"text": text[start:], "end": len(text)})
        return cut, f"{where}the span {start}–{end} ends behind the text of {len(text)} characters; it is cut there"
    lost = error.model_copy(update={"start": None, "end": None})
    return lost, f"{where}the span {start}–{end} lies behind the text of {len(text)} characters; it has no place"


def _searched(error: ErrorSpan, text: str, where: str) -> tuple[ErrorSpan, str | None]:
    """The error at the only place where its words stand."""
    said = f"{where}the span {error.text!r}"
    given = "" if error.start is None else f" is not at {error.start}–{error.end}"
    bare = error.model_copy(update={"start": None, "end": None})
    finding = find_spans(text, [bare])[0]
    if not finding.certain:
        return bare, f"{said}{given}{', and' if given else ':'} {finding.why}; it has no place"
    start, end = finding.places[0]
    found = error.model_copy(update={"start": start, "end": end})
    return found, f"{said}{given}, but at {start}–{end}; it is taken from there" if given else None


UNCHECKED = "the file holds no texts: that this is the translation which was rated cannot be checked"


class SpansFile:
    """Rates a translation with the errors that the file ``path`` holds for exactly this text; asks nobody.

    ``system`` and ``rater`` choose among those of the file. The errors of several raters are joined, and the score is
    the mean of theirs (as Marot computes it), each with the MQM weights of Freitag et al. 2021. Of several systems
    that are rated side by side, each gets the file's ratings of the system with its name; without such, only where the
    file holds the very text. The file is read at once: raises :class:`mtagent.errors.InputError` where it cannot be.
    """

    name = "spans-file"
    calls = (0, 0)

    def __init__(
        self,
        *,
        path: Path | None = None,
        format: SpanFormat | None = None,  # noqa: A002 the name that users write
        system: str | None = None,
        rater: str | None = None,
    ) -> None:
        if path is None:
            raise ConfigError("spans-file rates with a file: write spans-file:path=FILE")
        refuse_pipe(path, "spans-file:path")
        read_as = format or recognised(path)
        self._annotations = Annotations(read_annotations(path, read_as), path, system=system, rater=rater)
        self._system_is_chosen = system is not None
        chosen = [f"{field}:{value}" for field, value in (("system", system), ("rater", rater)) if value]
        content = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        parts = [self.name, f"file:{path.name}", f"sha256:{content}", f"format:{read_as}", *chosen, "weights:mqm"]
        self.signature = "|".join([*parts, f"version:{__version__}"])

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
        found = self._annotations.of(segment, translation, system, alone=alone)
        return self._rating(found, segment, translation, None if self._system_is_chosen else system)

    def _rating(self, found: list[Annotation], segment: Segment, translation: str, system: str | None = None) -> Rating:
        rated = [one for one in found if one.errors is not None]
        if not rated:
            raise EvaluationError(f"segment {segment.id!r}: was not rated, says {found[0].where}")
        per_rater = [_spans_file_located(one, translation, segment.source) for one in rated]
        scores = [mqm.score(errors, "mqm") for errors, _ in per_rater]
        warnings = [warning for _, warnings in per_rater for warning in warnings]
        return Rating(
            evaluator=self.name,
            score=math.fsum(scores) / len(scores),
            errors=_joined([errors for errors, _ in per_rater]),
            explanation=_raters(rated),
            signature=self.signature,
            warnings=tuple(dict.fromkeys([*_unchecked(rated, system), *self._annotations.left_out(rated), *warnings])),
        )


def _unchecked(rated: list[Annotation], system: str | None) -> list[str]:
    """What a file without texts leaves open."""
    without = [one for one in rated if one.translation is None]
    if system is None or all(same_system(one.system, system) for one in without):
        return [UNCHECKED] if without else []
    return [f"the file's ratings are of the system {without[0].system!r}, and this one is called {system!r}", UNCHECKED]


def _spans_file_located(one: Annotation, translation: str, source: str) -> tuple[tuple[ErrorSpan, ...], list[str]]:
    """The errors of one rater in their places, and what looked wrong.

    An offset beyond the text shows that a file without texts is about another translation.
    """
    pairs = [placed(error, translation, source, one.where) for error in one.errors or ()]
    warnings = [warning for _, warning in pairs if warning]
    if warnings and one.translation is None:
        raise EvaluationError(f"{warnings[0]}: this is not the translation that was rated")
    return tuple(error for error, _ in pairs), [*one.warnings, *warnings]


def _joined(per_rater: list[tuple[ErrorSpan, ...]]) -> tuple[ErrorSpan, ...]:
    """All errors; one that several raters marked alike stands once, one that a rater marked twice stands twice."""
    joined: list[ErrorSpan] = []
    for errors in per_rater:
        others = list(joined)
        joined += [error for error in errors if not any(_alike(error, other) for other in others)]
    return tuple(joined)


def _alike(one: ErrorSpan, other: ErrorSpan) -> bool:
    fields = ("side", "start", "end", "text", "category", "severity")
    return all(getattr(one, field) == getattr(other, field) for field in fields)


def _raters(rated: list[Annotation]) -> str:
    names = ", ".join(dict.fromkeys(one.rater or "unnamed" for one in rated))
    if len(rated) > 1:
        return f"rated by {names}; the score is the mean of {len(rated)} ratings"
    return "; ".join(filter(None, [f"rated by {names} ({rated[0].where})", rated[0].note]))
