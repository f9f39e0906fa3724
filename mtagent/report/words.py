"""How numbers and names are shown in tables and plots."""

from __future__ import annotations

import math

_STAGES = {
    "given": "as given",
    "translate": "translate",
    "postedit": "post-edit",
    "proofread": "proofread",
    "final": "in the end",
}
_AFTER = {
    "translate": "after translation",
    "postedit": "after post-editing",
    "proofread": "after proofreading",
}
UNKNOWN = "unknown"


def stage_name(stage: str) -> str:
    """``postedit`` → ``post-edit``; another name stays."""
    return _STAGES.get(stage, stage)


def after_stage(stage: str) -> str:
    """``postedit`` → ``after post-editing``."""
    return _AFTER.get(stage, stage_name(stage))


def number(value: float) -> str:
    """A count: ``1,234,567``."""
    return f"{value:,.0f}"


def share(count: int, total: int) -> str:
    """``12.3 %`` of ``total``; ``0 %`` and ``100 %`` are exact, and of nothing there is no share: ``–``."""
    if not total:
        return "–"
    if count in (0, total):
        return "0 %" if count == 0 else "100 %"
    rounded = round(100 * count / total, 1)
    return "< 0.1 %" if rounded == 0 else "> 99.9 %" if rounded == 100 else f"{rounded:.1f} %"


def counted(count: int, total: int) -> str:
    """``1,234 · 12.3 %``."""
    return f"{number(count)} · {share(count, total)}"


def score(value: float | None, digits: int = 2) -> str:
    """A score; ``unknown`` where there is none."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def signed(value: float | None, digits: int = 2) -> str:
    """A difference with its sign; zero and what rounds to it have none. Nothing where there is none."""
    if value is None or not math.isfinite(value):
        return ""
    shown = f"{value:+,.{digits}f}"
    return shown[1:] if not shown.strip("+-0.,") else shown


def dollars(value: float | None) -> str:
    """``$0.0123``, with more digits for less than a cent."""
    if value is None:
        return UNKNOWN
    if 0 < value < 5e-7:
        return "< $0.000001"
    return f"${value:,.6f}" if 0 < value < 0.01 else f"${value:,.4f}"


def spent(value: float | None, unit: str) -> str:
    """Dollars or tokens."""
    if value is None:
        return f"{UNKNOWN} cost"
    return dollars(value) if unit == "dollars" else f"{number(value)} tokens"


def tick(value: float) -> str:
    """A number at an axis, as short as it can be: ``0.5``, ``20k``, ``3M``."""
    size = abs(value)
    for power, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= power:
            return f"{value / (1e3 if letter == 'k' else power):g}{letter}"
    return f"{value:g}"


def segments(count: int) -> str:
    """``1 segment``, ``2 segments``."""
    return f"{number(count)} segment{'' if count == 1 else 's'}"
