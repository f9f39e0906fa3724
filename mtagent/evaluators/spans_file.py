"""The ``spans-file`` evaluator: errors that people or other tools have marked already, read from a file."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

from mtagent import __version__, mqm
from mtagent.errors import ConfigError, EvaluationError
from mtagent.formats.files import refuse_pipe
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.span_files import Annotation, SpanFormat, read_annotations, recognised
from mtagent.span_files.matching import Annotations, same_system
from mtagent.span_files.placing import placed

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
        per_rater = [_located(one, translation, segment.source) for one in rated]
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


def _located(one: Annotation, translation: str, source: str) -> tuple[tuple[ErrorSpan, ...], list[str]]:
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
