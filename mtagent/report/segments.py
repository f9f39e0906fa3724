"""What the page needs to know of each segment, packed small: empty fields and repeated texts are left out.

Offsets become UTF-16 code units, which is how JavaScript counts. Nothing is marked up here: texts stay texts, and the
page shows them as such.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mtagent import edits
from mtagent.metrics.flags import flags
from mtagent.records import Chain, Edit, ErrorSpan, Rating, Segment, Step

Packed = dict[str, Any]

_DIGITS = 9  # as the noise below which scores are the same
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def packed(chain: Chain, scores: Sequence[Sequence[float]] = ()) -> Packed:
    """One segment with its steps; ``scores`` are its own ones, for each metric those of each row of the comparison."""
    segment = chain.segment
    given = chain.given if segment.translation is not None else None
    fields = {
        "given": given,
        "steps": list(_steps(chain)),
        "scores": [[_rounded(value) for value in row] for row in scores],
        "flags": _flags(chain),
        "failed": chain.failed is not None,
        "changed": chain.changed,
    }
    return _segment(segment) | _filled(fields)


def script_json(value: object) -> str:
    """``value`` as JSON that can stand in a ``<script>`` element, whatever its texts hold.

    What could end the element, and what is no valid UTF-8, is escaped: reading the JSON gives the same texts again.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: _IN_SCRIPT.get(found[0], f"\\u{ord(found[0]):04x}"), text)


def signatures(chain: Chain) -> Iterator[str]:
    """The signatures of the ratings in ``chain``."""
    return (rating.signed for step in chain.steps for rating in step.ratings)


def _segment(segment: Segment) -> Packed:
    named = ("id", "source", "source_lang", "target_lang", "reference", "document", "domain", "context", "notes")
    terms = [[term.source, term.target] for term in segment.terms if not term.forbidden]
    return {"id": segment.id, "source": segment.source} | _filled(
        {name: getattr(segment, name) for name in named} | {"terms": terms}
    )


def _steps(chain: Chain) -> Iterator[Packed]:
    before, number = chain.segment.translation or "", 1
    for step in chain.steps:
        yield _step(step, before, number)
        before, number = step.text, number + len(step.edits)


def _step(step: Step, before: str, number: int) -> Packed:
    """A step; ``number`` is that of its first edit, by which ``mtagent revert`` knows it."""
    compared, usage = _compared(step, before), step.usage
    known = (step.text, before, compared if step.verdict == "kept" else before)
    proposed = None if step.proposed in known else step.proposed
    spans = step.ratings[0].errors or () if step.ratings else ()
    fields = {
        "text": step.text if step.text != before or (step.stage, step.verdict) == ("translate", "kept") else None,
        "proposed": proposed,
        "compared": compared if compared not in (before, step.text if step.verdict == "kept" else proposed) else None,
        "edits": [_edit(edit, before, spans) for edit in step.edits],
        "first": number if step.edits else None,
        "ratings": [
            _rating(rating, about, before if about == "before" else compared) for rating, about in _ratings(step)
        ],
        "usage": [usage.calls, usage.reused, usage.input_tokens, usage.output_tokens, usage.cost],
        "seconds": round(step.seconds, 2),
    }
    return {"stage": step.stage, "verdict": step.verdict, "reason": step.reason} | _filled(fields)


def _compared(step: Step, before: str) -> str:
    """The text that the gate compared with ``before``: that of the edits which the guards let pass."""
    if step.verdict == "kept" and not _reverted(step):
        return step.text
    passed = [
        edit.model_copy(update={"outcome": "applied"}) if edit.outcome in ("rejected", "reverted") else edit
        for edit in step.edits
    ]
    try:
        return edits.apply(before, passed)
    except ValueError:  # edits without a place (the paper's strategy): all that is known is what was proposed
        return before if step.proposed is None else step.proposed


def _reverted(step: Step) -> bool:
    return any(edit.outcome == "reverted" for edit in step.edits)


def _ratings(step: Step) -> Iterator[tuple[Rating, str]]:
    """The ratings of a step, each with what it is about: the text ``before``, or the one ``after`` its edits.

    The editor's comes first. Of the judge's two, that of the text before is missing where the judge is the editor.
    """
    editors = step.ratings[:1] if step.stage == "postedit" else ()
    judges = step.ratings[len(editors) :]
    yield from ((rating, "before") for rating in editors)
    for rating in judges[:-1]:
        yield rating, "before"
    for rating in judges[-1:]:
        yield rating, "after"


def _rating(rating: Rating, about: str, text: str) -> Packed:
    fields = {
        "errors": None if rating.errors is None else [_error(span, text) for span in rating.errors],
        "explanation": rating.explanation,
        "confidence": rating.confidence,
        "correction": rating.correction,
        "gaps": list(rating.gaps),
        "warnings": list(rating.warnings),
    }
    found = {"evaluator": rating.evaluator, "score": _rounded(rating.score), "about": about} | _filled(fields)
    return found | ({"errors": []} if rating.errors == () else {})


def _error(span: ErrorSpan, text: str) -> Packed:
    """An error; its place only where the text really reads so there."""
    located = span.side == "translation" and span.start is not None and text[span.start : span.end] == span.text
    fields = {
        "at": [_units(text, span.start), _units(text, span.end)] if located else None,
        "side": span.side if span.side != "translation" else None,
        "suggestion": span.suggestion,
        "explanation": span.explanation,
    }
    kept = {name: value for name, value in fields.items() if value is not None}
    return {"text": span.text, "category": span.category, "severity": span.severity} | kept


def _edit(edit: Edit, before: str, spans: Sequence[ErrorSpan]) -> Packed:
    """An edit; ``error`` is the number of the editor's error that it mends, ``span`` that error where it has none."""
    number = next((i for i, span in enumerate(spans) if span is edit.span or span == edit.span), None)
    fields: Packed = {
        "at": [_units(before, edit.start), _units(before, edit.end)] if edit.start is not None else None,
        "detail": edit.detail,
        "error": number,
        "span": _error(edit.span, before) if edit.span is not None and number is None else None,
    }
    kept = {name: value for name, value in fields.items() if value is not None}
    return {"old": edit.old, "new": edit.new, "outcome": edit.outcome} | kept


def _flags(chain: Chain) -> list[str]:
    """What is wrong with the final text as a whole."""
    return list(flags(chain.segment, None if chain.given is None else chain.text))


def _rounded(value: float) -> float | None:
    """JSON has no number for what is not finite."""
    return round(value, _DIGITS) if math.isfinite(value) else None


def _units(text: str, offset: int | None) -> int:
    """``offset`` in code points as one in UTF-16 code units."""
    return len(text[: offset or 0].encode("utf-16-le", "surrogatepass")) // 2


def _filled(fields: Packed) -> Packed:
    """Only what says something; numbers and ``""`` do."""
    return {name: value for name, value in fields.items() if value is not None and value is not False and value != []}
