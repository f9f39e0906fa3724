"""Which annotations of a file are about a given translation of a given segment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path

from mtagent.errors import ConfigError, EvaluationError
from mtagent.records import Segment
from mtagent.span_files.annotation import Annotation

_SHOWN = 24


class Annotations:
    """The annotations of one file, of one ``system`` and one ``rater`` where those are named.

    Raises :class:`ConfigError` for a system or rater that is not in the file, and where a file without texts has
    several systems.
    """

    def __init__(
        self, annotations: Iterable[Annotation], path: Path, *, system: str | None = None, rater: str | None = None
    ) -> None:
        self._path = path
        chosen = _only(list(annotations), "system", system, path)
        chosen = _only(chosen, "rater", rater, path)
        self.without_texts = any(one.translation is None for one in chosen)
        systems = sorted({one.system or "" for one in chosen})
        if self.without_texts and len(systems) > 1:
            raise ConfigError(
                f"{path}: has no texts, and {len(systems)} systems: choose with system={'|'.join(systems)}"
            )
        self._by_text: dict[str, list[Annotation]] = defaultdict(list)
        self._by_id: dict[str, list[Annotation]] = defaultdict(list)
        for one in chosen:
            if one.translation is not None:
                self._by_text[one.translation.strip()].append(one)
            self._by_id[one.segment or ""].append(one)

    def of(self, segment: Segment, translation: str) -> list[Annotation]:
        """All raters' annotations of exactly this ``translation``; white space around a text does not count.

        Source and translation must be those of the file. Where they stand there more than once, the segment's id, and
        then its document, tells which are meant; a file without texts is matched by id alone. Raises
        :class:`EvaluationError`.
        """
        found = [one for one in self._by_text.get(translation.strip(), ()) if _same_source(one, segment)]
        if self.without_texts:
            found += [one for one in self._by_id.get(segment.id, ()) if one.translation is None]
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
