"""A chain as the page's script reads it: texts, changes, errors, edits and decisions as plain data."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import regex

from mtagent.chain.fates import plain_reason
from mtagent.records import Chain, Edit, ErrorCause, ErrorSpan, Rating, Step
from mtagent.text import alignment, edits, scripts
from mtagent.text.amounts import counted, dollars, seconds
from mtagent.text.foreign import Flag, flags
from mtagent.text.markup import inline_codes

Packed = dict[str, Any]

_DIGITS = 9  # as the noise below which scores are the same
_EXCERPT = 600  # code units of a text beyond which a closed row shows no changes
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff\ufffe\uffff]")
MOST_COMPARED = 10**8
"""Where the pieces between the first and the last difference, multiplied, are more, all of them count as replaced."""
_CHARACTER = regex.compile(r"\X")
_WORD = regex.compile(r"[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}\u200c\u200d]|['’](?=\p{L}))*+|\X")
_SPACES = regex.compile(r"[ \u00a0]+")


def script_json(value: object) -> str:
    """``value`` as JSON that is safe inside a ``<script>`` element, whatever its texts hold.

    Anything that could end the element or is not valid UTF-8 is escaped; reading the JSON gives back the same texts.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda match: _IN_SCRIPT.get(match[0], f"\\u{ord(match[0]):04x}"), text)


def packed(
    chain: Chain,
    scores: Sequence[Sequence[float]] = (),
    gain: float | None = None,
    known_flags: Sequence[Flag] | None = None,
) -> Packed:
    """One segment with its steps, without empty fields.

    ``scores`` holds, for each metric, the score of the segment in each row of the comparison; ``gain`` is how much its
    score by the deciding metric improved from first to last; ``known_flags`` are those of its last text, where these
    were computed before. ``change`` is what :func:`changes` finds between the first and the last text.
    """
    segment = chain.segment
    usage = chain.usage
    language = segment.target_lang
    first = chain.given or ""
    if chain.given is None:
        known_flags = flags(segment, None)
    elif known_flags is None:
        known_flags = flags(segment, chain.text)
    change = None
    is_short = max(units(first), units(chain.text)) <= _EXCERPT
    if chain.changed and is_short:
        change = changes(first, chain.text, language)
    names = ("source_lang", "target_lang", "reference", "document", "domain", "context", "notes")
    fields = {name: getattr(segment, name) for name in names}
    terms = []
    for term in segment.terms:
        if not term.forbidden:
            terms.append([term.source, term.target])
    rounded_scores = []
    for metric_scores in scores:
        rounded_scores.append([_rounded(value) for value in metric_scores])
    seconds_spent = sum(step.seconds for step in chain.steps)
    cost = None
    if usage.calls:
        cost = dollars(usage.cost, "price unknown")
    fields |= {
        "terms": terms,
        "given": segment.translation,
        "reviewed": chain.reviewed,
        "change": change,
        "steps": list(_steps(chain)),
        "scores": rounded_scores,
        "gain": _rounded(gain),
        "flags": list(known_flags),
        "failed": chain.failed is not None,
        "changed": chain.changed,
        "spent": [usage.cost, usage.tokens, round(seconds_spent, 2)],
        "cost": cost,
    }
    return {"id": segment.id, "source": segment.source} | _filled(fields)


_OF_ALL_RUNS = ("id", "source", "source_lang", "target_lang", "reference", "document", "domain", "scores")
_MAY_DIFFER = ("context", "notes", "terms")
"""What the models were shown beside the texts, which may differ between runs."""


def packed_runs(chains: Sequence[Chain], versions: Sequence[Packed]) -> Packed:
    """One segment of several runs: what it has in common once, and its ``runs``, from their ``chains`` and packed.

    ``difference`` is what :func:`changes` finds between the last text of the first run and that of another run.
    """
    common = [*_OF_ALL_RUNS]
    for name in _MAY_DIFFER:
        if all(version.get(name) == versions[0].get(name) for version in versions):
            common.append(name)
    segment: Packed = {}
    runs = []
    first = chains[0].text
    for chain, version in zip(chains, versions, strict=True):
        run = {}
        for name, value in version.items():
            if name in common:
                segment.setdefault(name, value)
            else:
                run[name] = value
        if chain.text != first:
            run["difference"] = changes(first, chain.text, chain.segment.target_lang)
        runs.append(run)
    return segment | {"runs": runs}


def _steps(chain: Chain) -> Iterator[Packed]:
    """The steps; ``first`` is the number of the first edit of a step, as ``mtagent revert`` counts."""
    before = chain.segment.translation or ""
    number = 1
    for step in chain.steps:
        texts = _texts(step, before)
        changed_texts = {}
        for name, words in texts.items():
            # Of a first translation all is new.
            is_first = name == "text" and step.stage == "translate" and not before
            if words is not None and not is_first:
                changed_texts[name] = changes(before, words, chain.segment.target_lang)
        editor = step.rating("editor")
        spans: Sequence[ErrorSpan] = ()
        if editor is not None and editor.errors is not None:
            spans = editor.errors
        ratings = []
        for rating in step.ratings:
            if rating.role == "try":
                continue  # of texts that are not shown; the edits' details have what it decided
            rated_text = compared_text(step, before) if rating.role == "after" else before
            ratings.append(_rating(rating, rated_text))
        fields = texts | {
            "changes": changed_texts or None,
            "edits": [_edit(edit, before, spans) for edit in step.edits],
            "first": number if step.edits else None,
            "ratings": ratings,
            "took": _took(step),
            "error": _error_class(step),
        }
        yield {"stage": step.stage, "verdict": step.verdict, "reason": plain_reason(step)} | _filled(fields)
        before = step.text
        number += len(step.edits)


def _texts(step: Step, before: str) -> dict[str, str | None]:
    """The text after the step, the one that the gate compared and the proposed one: each only where it differs."""
    is_kept = step.verdict == "kept"
    compared = compared_text(step, before)
    text: str | None = None
    if step.text != before or (step.stage == "translate" and is_kept):
        text = step.text
    proposed = step.proposed
    if proposed in (step.text, before) or (is_kept and proposed == compared):
        proposed = None
    shown_compared: str | None = compared
    if compared == before or compared == (step.text if is_kept else proposed):
        shown_compared = None
    return {"text": text, "compared": shown_compared, "proposed": proposed}


def compared_text(step: Step, before: str) -> str:
    """The text that the gate compared with ``before``: with the edits that the guards let pass."""
    if step.verdict == "kept" and not any(edit.outcome == "reverted" for edit in step.edits):
        return step.text
    # A rejected step's edits are all "rejected"; the gate saw the text with those that the guards let pass.
    undone = ("rejected", "reverted") if step.verdict == "rejected" else ("reverted",)
    passed = []
    for edit in step.edits:
        if edit.outcome in undone:
            passed.append(edit.model_copy(update={"outcome": "applied"}))
        else:
            passed.append(edit)
    try:
        return edits.apply(before, passed)
    except ValueError:  # edits without a place (the paper's strategy): all that is known is what was proposed
        if step.proposed is None:
            return before
        return step.proposed


def _error_class(step: Step) -> str | None:
    """The exception that stopped the step, and the status of the server, for those who look for the fault."""
    if not isinstance(step.cause, ErrorCause):
        return None
    if step.cause.status is None:
        return step.cause.error
    return f"{step.cause.error}, HTTP status {step.cause.status}"


def _took(step: Step) -> str:
    usage = step.usage
    calls = counted(usage.calls, "call")
    if usage.reused:
        calls += f", {counted(usage.reused, 'reply', 'replies')} from the store"
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    cost = dollars(usage.cost, "price unknown")
    return f"{calls}, {tokens}, {cost}, {seconds(step.seconds)}"


def _rating(rating: Rating, text: str) -> Packed:
    """A rating of ``text``, the text before or after the step."""
    about = "after" if rating.role == "after" else "before"
    fields = {
        "explanation": rating.explanation,
        "confidence": rating.confidence,
        "correction": rating.correction,
        "gaps": list(rating.gaps),
        "warnings": list(rating.warnings),
    }
    rating_data: Packed = {"evaluator": rating.evaluator, "score": _rounded(rating.score), "about": about} | _filled(
        fields
    )
    if rating.errors is not None:  # an empty list is "no errors", and stays
        rating_data["errors"] = [packed_error(span, text) for span in rating.errors]
    return rating_data


def packed_error(span: ErrorSpan, text: str) -> Packed:
    """An error, with its place if the text really reads so there."""
    place = None
    if span.side == "translation" and span.start is not None and text[span.start : span.end] == span.text:
        place = _place(text, span.start, span.text)
    fields = {
        "at": place,
        "side": None if span.side == "translation" else span.side,
        "suggestion": span.suggestion,
        "explanation": span.explanation,
    }
    return {"text": span.text, "category": span.category, "severity": span.severity} | _filled(fields)


def _edit(edit: Edit, before: str, spans: Sequence[ErrorSpan]) -> Packed:
    """An edit; ``error`` is the number of the editor's error that it corrects, ``span`` one that has no number."""
    number = span = None
    if edit.span in spans:
        number = spans.index(edit.span)
    elif edit.span is not None:
        span = packed_error(edit.span, before)
    fields = {
        "at": _place(before, edit.start, edit.old),
        "detail": edit.detail,
        "error": number,
        "span": span,
    }
    return {"old": edit.old, "new": edit.new, "outcome": edit.outcome} | _filled(fields)


def _place(text: str, start: int | None, words: str) -> list[int] | None:
    """Where ``words`` begin and end in ``text``, in UTF-16 code units."""
    if start is None:
        return None
    begin = units(text[:start])
    return [begin, begin + units(words)]


def _rounded(value: float | None) -> float | None:
    """JSON has no number for NaN and infinity."""
    if value is None or not math.isfinite(value):
        return None
    return round(value, _DIGITS)


def _filled(fields: Packed) -> Packed:
    """The fields with content; numbers and ``""`` are content."""
    filled = {}
    for name, value in fields.items():
        if value is not None and value is not False and value != []:
            filled[name] = value
    return filled


def units(text: str) -> int:
    """The length of ``text`` in UTF-16 code units, as JavaScript counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@lru_cache(maxsize=8)
def changes(before: str, after: str, language: str) -> tuple[int, ...]:
    """What changed, as three lengths in code units for each change: kept, deleted, inserted.

    Words are compared, or characters if the language is written without spaces. Tags, placeholders and other inline
    codes are compared as a whole. No piece splits a character from its combining marks. A single space between two
    replacements belongs to them.
    """
    pattern = _WORD if scripts.has_spaces(language) else _CHARACTER
    a, b = _pieces(before, pattern), _pieces(after, pattern)
    start, end = alignment.shared_ends(a, b)
    old, new = a[start : len(a) - end], b[start : len(b) - end]
    parts = [["".join(a[:start]), "", ""]]
    if len(old) * len(new) > MOST_COMPARED:
        parts[-1][1:] = "".join(old), "".join(new)
    else:
        for code in alignment.opcodes(old, new):
            deleted = "".join(old[code.src_start : code.src_end])
            inserted = "".join(new[code.dest_start : code.dest_end])
            if code.tag == "equal":
                parts.append([deleted, "", ""])
            else:
                parts[-1][1:] = parts[-1][1] + deleted, parts[-1][2] + inserted
    joined = parts[:1]
    for part in parts[1:]:
        former = joined[-1]
        kept, deleted, inserted = part
        both_replace = bool(former[1] and former[2] and deleted and inserted)
        if both_replace and _SPACES.fullmatch(kept):
            former[1:] = [former[1] + kept + deleted, former[2] + kept + inserted]
        else:
            joined.append(part)
    lengths: list[int] = []
    for part in joined:
        if part[1] or part[2]:
            lengths += map(units, part)
    return tuple(lengths)


def _pieces(text: str, pattern: regex.Pattern[str]) -> list[str]:
    """The inline codes of ``text``, and what ``pattern`` finds between them."""
    pieces: list[str] = []
    done = 0
    for code in inline_codes(text):
        pieces += pattern.findall(text, done, code.start)
        pieces.append(text[code.start : code.end])
        done = code.end
    return pieces + pattern.findall(text, done)
