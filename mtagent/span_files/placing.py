"""Errors of a file, put to their place in the text that is rated: checked, searched for, or reported."""

from __future__ import annotations

from mtagent.records import ErrorSpan
from mtagent.spans import find_spans


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
