"""MQM: severities, categories and the weights by which errors add up to a score.

===========  ========  =====  =====  =======  ================================================================
preset       critical  major  minor  neutral  besides
===========  ========  =====  =====  =======  ================================================================
``mqm``      25        5      1      0        minor fluency/punctuation 0.1, non-translation 25, source errors 0
``gemba``    25        5      1      0        the five worst errors count; non-translation 25; never below −25
``himate``   5         5      1      0        minor fluency/punctuation 0.1
``mmad``     5         5      1      0
``rubric``   4         3      1      0        the span's own ``penalty`` where it has one: the number that was given
===========  ========  =====  =====  =======  ================================================================

Sources: Freitag et al. 2021 (``mqm``), GEMBA-MQM, HiMATE (Table 6), M-MAD (§2.2, equation 1) and RUBRIC-MQM. The scales
of HiMATE and M-MAD end at major: a critical error counts as major there.

RUBRIC-MQM rates a severity by a number. Each quarter of its scale has a name, and a name that comes in place of a
number counts as the one in brackets:

=========  ========  ==========  ==========  ============
scale      neutral   minor       major       critical
=========  ========  ==========  ==========  ============
``1-4``    0         1–2 (1)     3 (3)       4 (4)
``1-8``    0         1–4 (2)     5–6 (6)     7–8 (8)
``1-100``  0         1–50 (25)   51–75 (75)  76–100 (100)
=========  ========  ==========  ==========  ============
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, get_args

from mtagent.errors import ConfigError
from mtagent.records import ErrorSpan, Severity

Preset = Literal["mqm", "gemba", "himate", "mmad", "rubric"]
Scale = Literal["1-4", "1-8", "1-100"]

SEVERITIES: tuple[Severity, ...] = ("neutral", "minor", "major", "critical")
"""From harmless to worst."""

_WEIGHTS: dict[str, dict[Severity, float]] = {
    "mqm": {"neutral": 0, "minor": 1, "major": 5, "critical": 25},
    "gemba": {"neutral": 0, "minor": 1, "major": 5, "critical": 25},
    "himate": {"neutral": 0, "minor": 1, "major": 5, "critical": 5},
    "mmad": {"neutral": 0, "minor": 1, "major": 5, "critical": 5},
    "rubric": {"neutral": 0, "minor": 1, "major": 3, "critical": 4},
}
PRESETS: tuple[Preset, ...] = get_args(Preset)
_LIGHT_PUNCTUATION = 0.1
_NON_TRANSLATION = 25.0
_GEMBA_ERRORS = 5
_GEMBA_FLOOR = 25.0


def severity_rank(severity: Severity) -> int:
    """0 for neutral to 3 for critical."""
    return SEVERITIES.index(severity)


def highest(scale: Scale) -> int:
    """The worst number of a RUBRIC-MQM scale."""
    return int(scale.rpartition("-")[2])


def severity_of_number(number: float, scale: Scale = "1-4") -> Severity:
    """The name of a RUBRIC-MQM severity: minor in the lower half of the scale, then major, then critical; 0 is neutral.

    Raises :class:`ValueError` for a number off the scale. The number itself belongs into the span's ``penalty``.
    """
    top = highest(scale)
    if not 0 <= number <= top:
        raise ValueError(f"severity {number} is not on the scale from 1 to {top}")
    return ("neutral", "minor", "minor", "major", "critical")[math.ceil(number * 4 / top)]


def number_of_severity(severity: Severity, scale: Scale = "1-4") -> float:
    """The RUBRIC-MQM number of a severity that came as a name: minor 1, major 3, critical 4, neutral 0 of 4."""
    return _WEIGHTS["rubric"][severity] * highest(scale) / 4


def _plain(category: str) -> str:
    return category.casefold().replace("_", " ").replace("–", "-").strip()


def is_punctuation(category: str) -> bool:
    """Whether a category is punctuation: ``fluency/punctuation``, ``Punctuation`` …"""
    return _plain(category).rpartition("/")[2].strip() == "punctuation"


def is_non_translation(category: str) -> bool:
    """Whether a category means that the text isn't a translation at all."""
    return _plain(category).replace(" ", "-").rstrip("!").startswith("non-translation")


def is_source_error(category: str) -> bool:
    """Whether a category means that the error is in the source: ``Source error``, ``source issue`` …"""
    return _plain(category).replace("-", " ").startswith(("source error", "source issue"))


def weight(span: ErrorSpan, preset: Preset = "mqm") -> float:
    """What one error costs, ≥ 0. Raises :class:`mtagent.errors.ConfigError` for an unknown preset."""
    if preset not in _WEIGHTS:
        raise ConfigError(f"unknown MQM weights {preset!r}; choose one of {', '.join(get_args(Preset))}")
    if is_source_error(span.category) or _plain(span.category).replace("-", " ") in ("no error", "no errors"):
        return 0.0
    if preset == "rubric" and span.penalty is not None:
        return span.penalty
    if preset in ("mqm", "gemba") and is_non_translation(span.category):
        return _NON_TRANSLATION
    if preset in ("mqm", "himate") and span.severity == "minor" and is_punctuation(span.category):
        return _LIGHT_PUNCTUATION
    return float(_WEIGHTS[preset][span.severity])


def score(errors: Iterable[ErrorSpan], preset: Preset = "mqm") -> float:
    """The MQM score of a segment: minus the sum of the weights, ≤ 0; no errors give 0.0."""
    weights = [weight(span, preset) for span in errors]
    if preset == "gemba":
        worst = sorted(weights, reverse=True)[:_GEMBA_ERRORS]
        return 0.0 - min(math.fsum(worst), _GEMBA_FLOOR)
    return 0.0 - math.fsum(weights)


def weighted(span: ErrorSpan, preset: Preset = "mqm") -> ErrorSpan:
    """A copy of ``span`` whose ``penalty`` is its weight."""
    return span.model_copy(update={"penalty": weight(span, preset)})
