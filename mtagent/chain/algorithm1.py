"""Algorithm 1 of the Multi-agentMT paper (post-edit by substitution), to the letter, for reproduction only.

It corrupts texts: it replaces every occurrence, hits inside words, reads suggestions as regular-expression templates
and drops all edits when one fails. The ``paper`` preset uses it; :mod:`mtagent.text.edits` is for everyone else. Two
of its lines call functions that the paper does not print: ``clean_suggestion`` only strips white space here, and
``preserve_paragraph`` restores the separators where the number of paragraphs allows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mtagent.records import Edit, ErrorSpan, Outcome
from mtagent.text import paragraphs

MIN_SAFE_SPAN_LEN = 2


def substitute(text: str, errors: Iterable[ErrorSpan]) -> tuple[str, tuple[Edit, ...]]:
    """The text after sequential substitution, and one edit without offsets for each span that suggests something.

    The paper reads a JSON object keyed by span: of equal spans only the last is left, in the place of the first.
    """
    by_span = {error.text: error for error in errors}
    suggesting = []
    for error in by_span.values():
        new = (error.suggestion or "").strip()
        if new not in ("", error.text):
            suggesting.append((error, new))
    corrected = text
    edits = []
    for error, new in suggesting:
        outcome: Outcome = "not-found"
        if len(error.text) < MIN_SAFE_SPAN_LEN:
            detail: str | None = "the paper skips spans of one character"
        else:
            try:
                corrected, count = re.subn(f" {re.escape(error.text)} ", f" {new} ", corrected)
                if count == 0:
                    corrected, count = re.subn(re.escape(error.text), new, corrected)
            except (re.error, IndexError) as failure:
                why = f"a suggestion failed as a template ({failure}), and the paper then drops all edits"
                return text, tuple(_edit(error, new, "not-found", why) for error, new in suggesting)
            detail = None
            if count == 0:
                detail = "the span is not in the text"
            else:
                outcome = "applied"
                if count > 1:
                    detail = f"{count} times"
        edits.append(_edit(error, new, outcome, detail))
    return paragraphs.like(corrected, text) or corrected, tuple(edits)


def _edit(error: ErrorSpan, new: str, outcome: Outcome, detail: str | None) -> Edit:
    return Edit(span=error, old=error.text, new=new, outcome=outcome, detail=detail)
