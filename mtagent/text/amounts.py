"""Numbers and lists as people read them: dollars, counts, shares, differences, scores, the first of many names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

UNKNOWN = "unknown"
NOTHING = "-"
"""Shown in a table in place of a missing number."""


def dollars(cost: float | None, unknown: str = UNKNOWN) -> str:
    """``$0.0123``, ``$1,234.5000``; small ones with two significant digits: ``$0.00021``.

    Only what costs nothing is ``$0.0000``. ``unknown`` is shown for ``None``.
    """
    if cost is None:
        return unknown
    if 0 < cost < 5e-7:
        return "< $0.000001"
    if cost == 0 or cost >= 0.001:
        return f"${cost:,.4f}"
    whole, point, digits = f"{cost:.{_decimals(cost)}f}".partition(".")
    return f"${whole}{point}{digits.rstrip('0'):0<4}"


def rounded_up(cost: float) -> float:
    """``cost`` rounded up to the digits that :func:`dollars` shows."""
    if cost < 5e-7:
        return cost
    power = 10.0 ** _decimals(cost)
    return math.ceil(round(cost * power, 6)) / power


def _decimals(cost: float) -> int:
    """Four decimals, or enough for two significant digits."""
    return 4 if cost >= 0.001 else 1 - math.floor(math.log10(cost))


def first_of(names: Sequence[str], most: int, between: str = ", ") -> str:
    """The first ``most`` names, and ``…`` for the others."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append("…")
    return between.join(shown)


def natural_order(name: str) -> tuple[tuple[str, int, str], ...]:
    """A key that sorts numbers in names by size: 9 before 10."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", name)
    numbers = [(text, digits.lstrip("0") if digits.strip("0") else digits[:1]) for text, digits in parts]
    return tuple((text, len(digits), digits) for text, digits in numbers)


def seconds(time: float) -> str:
    """``1.3 s``."""
    return f"{time:,.1f} s"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 segment``, ``1,234 segments``."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


_MOST_CAUSES = 5
_VARYING = re.compile(r"\s*(\([^()]*\)|'[^']*'|\"[^\"]*\")")
"""What differs between messages of one cause: attempts and ports in brackets, quoted parts of a reply."""


def cause_of(message: str) -> str:
    """What messages of one cause have in common."""
    return _VARYING.sub("", message)


def by_cause(messages: Iterable[str], hint: str = "") -> list[tuple[int, str]]:
    """How many of the ``messages`` have one cause, and one of these messages, the most frequent cause first.

    After five causes, the last row counts the messages of all others and ends with ``hint``.
    """
    causes: dict[str, list[str]] = {}
    for message in messages:
        causes.setdefault(cause_of(message), []).append(message)
    groups = sorted(causes.values(), key=lambda group: (-len(group), min(group)))
    rows = [(len(group), min(group)) for group in groups[:_MOST_CAUSES]]
    others = groups[_MOST_CAUSES:]
    if others:
        rows.append((sum(map(len, others)), f"{counted(len(others), 'other cause')}{hint}"))
    return rows


def share(count: float, total: float) -> str:
    """``12.3 %`` of ``total``; ``0 %`` and ``100 %`` are exact, and ``–`` is the share of an empty total."""
    if not total:
        return "–"
    if count == 0:
        return "0 %"
    if count == total:
        return "100 %"
    rounded = round(100 * count / total, 1)
    if rounded == 0:
        return "< 0.1 %"
    if rounded == 100:
        return "> 99.9 %"
    return f"{rounded:.1f} %"


def score(value: float | None, digits: int = 2) -> str:
    """A score; ``unknown`` for ``None``."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def signed(value: float, digits: int = 2) -> str:
    """``+0.42`` or ``-0.42``; what rounds to nothing is ``+0.00``."""
    text = f"{value:+,.{digits}f}"
    return text if text.strip("+-0.,") else text.replace("-", "+")
