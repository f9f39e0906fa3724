"""What a guard is, and how complaints about one text become a guard over a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from mtagent.records import Segment

Guard = Callable[[Segment, str, str], Sequence[str]]
"""``guard(segment, before, after)`` names what going from ``before`` to ``after`` newly damages; empty = nothing."""

Complaints = Callable[[Segment, str], Iterable[str]]
"""``complaints(segment, text)`` lists, with repeats, what is wrong with ``text`` as a translation of the source."""


def newly(complaints: Complaints) -> Guard:
    """The guard that refuses what ``complaints`` says of the text after, but did not say of the text before.

    So old damage may stay, and may be repaired, but none may be added.
    """

    def guard(segment: Segment, before: str, after: str) -> list[str]:
        found = Counter(complaints(segment, after))
        if found:
            found -= Counter(complaints(segment, before))
        return list(found.elements())

    guard.__doc__ = complaints.__doc__
    return guard


def difference(source: Iterable[str], text: Iterable[str], what: str) -> list[str]:
    """Complaints about marks that must be the same in source and text: the lost ones and the added ones."""
    wanted, there = Counter(source), Counter(text)
    if wanted == there:
        return []
    lost = [f"{what}{mark} is missing" for mark in (wanted - there).elements()]
    return lost + [f"{what}{mark} is not in the source" for mark in (there - wanted).elements()]
