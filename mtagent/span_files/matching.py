"""Which annotations of a file are about a given translation of a given segment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import permutations, takewhile
from pathlib import Path

from mtagent.errors import ConfigError, EvaluationError
from mtagent.formats.ratings.mtme import plain_name
from mtagent.records import Segment
from mtagent.span_files.annotation import Annotation

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
