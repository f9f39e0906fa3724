"""Algorithm 1 of the Multi-agentMT paper (post-edit by substitution), to the letter, for reproduction only.

It corrupts texts: it replaces every occurrence, hits inside words, reads suggestions as regular-expression templates
and drops all edits when one fails. The ``paper`` preset uses it; :mod:`mtagent.text.edits` is for everyone else. Two
of its lines call functions that the paper does not print: ``clean_suggestion`` only strips white space here, and
``preserve_paragraph`` restores the separators where the number of paragraphs allows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mtagent.records import Edit, ErrorSpan
from mtagent.text import paragraphs

MIN_SAFE_SPAN_LEN = 2


def substitute(text: str, errors: Iterable[ErrorSpan]) -> tuple[str, tuple[Edit, ...]]:
    """The text after sequential substitution, and one edit without offsets for each span that suggests something."""
    errors = [error for error in _last_of_each(errors) if (error.suggestion or "").strip() not in ("", error.text)]
    corrected, edits = text, []
    try:
        for error in errors:
            corrected, edit = _substitute_one(corrected, error)
            edits.append(edit)
    except (re.error, IndexError) as failure:
        why = f"a suggestion failed as a template ({failure}), and the paper then drops all edits"
        return text, tuple(_edit(error, "not-found", why) for error in errors)
    return paragraphs.like(corrected, text) or corrected, tuple(edits)


def _substitute_one(text: str, error: ErrorSpan) -> tuple[str, Edit]:
    if len(error.text) < MIN_SAFE_SPAN_LEN:
        return text, _edit(error, "not-found", "the paper skips spans of one character")
    new = (error.suggestion or "").strip()
    text, count = re.subn(" " + re.escape(error.text) + " ", " " + new + " ", text)
    if count == 0:
        text, count = re.subn(re.escape(error.text), new, text)
    if count == 0:
        return text, _edit(error, "not-found", "the span is not in the text")
    return text, _edit(error, "applied", f"{count} times" if count > 1 else None)


def _last_of_each(errors: Iterable[ErrorSpan]) -> list[ErrorSpan]:
    """The paper reads a JSON object keyed by span: of equal spans only the last is left, in the first one's place."""
    return list({error.text: error for error in errors}.values())


def _edit(error: ErrorSpan, outcome: str, detail: str | None) -> Edit:
    fields = {"span": error, "old": error.text, "new": (error.suggestion or "").strip()}
    return Edit.model_validate({**fields, "outcome": outcome, "detail": detail})
