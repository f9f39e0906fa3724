"""How a rule marks an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import regex

from mtagent import mqm
from mtagent.records import ErrorSpan, Segment, Severity

Rule = Callable[[Segment, str], Iterable[ErrorSpan]]
"""``rule(segment, translation)`` marks errors, with a suggestion only where the fix is certain."""

_CONTEXT = 20


def located(
    text: str,
    start: int,
    end: int,
    category: str,
    severity: Severity,
    explanation: str,
    suggestion: str | None = None,
) -> ErrorSpan:
    """The error ``text[start:end]`` with its neighbourhood and its HiMATE weight."""
    return mqm.weighted(
        ErrorSpan(
            text=text[start:end],
            start=start,
            end=end,
            before=text[max(0, start - _CONTEXT) : start],
            after=text[end : end + _CONTEXT],
            category=category,
            severity=severity,
            explanation=explanation,
            suggestion=suggestion,
        ),
        "himate",
    )


def omitted(source_text: str, category: str, severity: Severity, explanation: str) -> ErrorSpan:
    """``source_text`` is missing from the translation; where it belongs is not known."""
    return mqm.weighted(
        ErrorSpan(text=source_text, side="omission", category=category, severity=severity, explanation=explanation),
        "himate",
    )


_WIDE = {
    "%": "%％",
    "{": "{｛",
    "}": "}｝",
    "$": "$＄",
    "<": "<＜",
    ">": ">＞",
    "(": "(（",
    ")": ")）",
    "/": "/／",
    ":": ":：",
}
_MAX_LOOSE = 400


def loosened(mark: str) -> regex.Pattern[str] | None:
    """A pattern of what translation makes of ``mark``: spaces beside its signs, full-width signs, another case.

    ``None`` for marks that are too long to be searched so.
    """
    if len(mark) > _MAX_LOOSE:
        return None
    parts = [r"(?<![\\A-Za-z0-9_])" if mark[0].isalnum() else r"(?<!\d|\d[ \u00a0])" if mark[0] == "%" else ""]
    for index, sign in enumerate(mark):
        if index and not (sign.isalnum() and mark[index - 1].isalnum()):
            parts.append(r"[ \u00a0\u202f]?+")
        wide = _WIDE.get(sign)
        parts.append(f"[{regex.escape(wide)}]" if wide else r"[ \u00a0\u202f]?+" if sign == " " else regex.escape(sign))
    parts.append(r"(?![A-Za-z0-9_])" if mark[-1].isalnum() and mark[0] != "\\" else "")
    return regex.compile("".join(parts), flags=regex.IGNORECASE)
