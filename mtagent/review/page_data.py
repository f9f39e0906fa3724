"""Segments, decisions and what a gate learns from them, as the plain data that the page's scripts read."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

from mtagent.chain.decided_text import Decided
from mtagent.errors import ConfigError, InputError
from mtagent.learning.calibrate import expected_lead
from mtagent.learning.runs import decided_edits
from mtagent.records import ErrorSpan, Step, guards_of
from mtagent.records.decisions import Decision, fingerprint
from mtagent.report.packing import changes, packed
from mtagent.store.store import Store

PlainData = dict[str, Any]
"""What JSON can hold."""


def row_data(run: int, position: int, result: Decided) -> PlainData:
    """A segment's row in the queue: what people search and filter by."""
    chain, segment = result.chain, result.chain.segment
    guards, spans, stages = list[str](), list[ErrorSpan](), list[str]()
    for step in chain.steps:
        if not step.edits and step.verdict in ("unchanged", "kept"):
            continue
        stages.append(step.stage)
        for edit in step.edits:
            guards += edit.guards
            if edit.span:
                spans.append(edit.span)
    for step in chain.steps:
        if step.verdict == "rejected":
            guards += guards_of(step.cause)
        for rating in step.ratings:
            spans += rating.errors or ()
    return {
        "run": run,
        "position": position,
        "id": segment.id,
        "source_lang": segment.source_lang,
        "target_lang": segment.target_lang,
        "source": segment.source,
        "given": chain.given,
        "proposed": [edit.new for step in chain.steps for edit in step.edits],
        "state": _distinct([chain.state]),
        "guard": _distinct(guards),
        "category": _distinct(span.category for span in spans),
        "severity": _distinct(span.severity for span in spans),
        "stage": _distinct(stages),
        "document": _distinct([segment.document]),
    }


def _distinct(values: Iterable[str | None]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]


def status_data(result: Decided, version: int) -> PlainData:
    """What was decided on a segment."""
    last = result.decision
    if last is None:
        for row in result.edits:
            last = row.decision or last
    if result.approved:
        extent = "all"
    elif result.reviewed:
        extent = "some"
    else:
        extent = "no"
    return {
        "text": result.text,
        "seen": fingerprint(result.chain),
        "version": version,
        "decided": extent,
        "verdict": last.verdict if last else None,
        "findings": len(result.findings),
    }


def segment_data(result: Decided) -> PlainData:
    """An open segment with its edits and decisions."""
    chain, language = result.chain, result.chain.segment.target_lang
    given = chain.given or ""
    edits = []
    for row in result.edits:
        edits.append({
            "number": row.number,
            "stands": row.stands,
            "remark": row.remark,
            "alone": row.alone,
            "guards": row.edit.guards,
            "changes": changes(row.edit.old, row.edit.new, language),
            "decision": _decision_data(row.decision),
        })  # fmt: skip
    return {
        "chain": packed(chain),
        "left": [_uncorrected(step) for step in chain.steps],
        "terms": [term.shown for term in chain.segment.terms],
        "changes": changes(given, result.text, language) if result.text != given else [],
        "edits": edits,
        "decision": _decision_data(result.decision),
        "only_whole": result.only_whole,
        "found": [damage.model_dump() for damage in result.findings],
        "stale": len(result.stale),
    }


def _decision_data(decision: Decision | None) -> PlainData | None:
    if decision is None:
        return None
    return {"verdict": decision.verdict, "text": decision.text, "who": decision.who}


def _uncorrected(step: Step) -> list[int]:
    """The numbers of the editor's errors for which there is no edit: the text was left as it is."""

    def key(error: ErrorSpan) -> tuple[str | None, ...]:
        # An edit's span may have got a place or a suggestion since, so these are not compared.
        return error.text, error.category, error.severity, error.explanation

    rating = step.rating("editor")
    if rating is None:
        return []
    edited = {key(edit.span) for edit in step.edits if edit.span}
    numbers = []
    for number, error in enumerate(rating.errors or ()):
        is_fixed = not any(error is other for other in step.not_fixed)
        if not is_fixed and key(error) not in edited:
            numbers.append(number)
    return numbers


def gate_data(store: Store, name: str) -> PlainData:
    """Whether the gate can learn from the decisions on a run, in words, and the commands to do so if it is worth it."""
    try:
        edits, lead, needed = expected_lead(decided_edits(store, name))
    except (ConfigError, InputError) as error:
        return {"words": f"The gate cannot learn from the decisions yet: {error}.", "commands": []}
    assert lead.value is not None
    numbers = f"{lead.value:+.2f}"
    if lead.low is not None:
        numbers += f", {lead.low:+.2f} to {lead.high:+.2f}"
    scale = "where an edit that you want counts 1 and one that you do not want -1"
    if lead.low is None or lead.low <= 0:
        outlook = "it does not seem so" if needed is None else f"about {needed:,} would show it"
        words = (
            f"From {edits:,} edits it cannot be told whether a gate that learns from them is worth more than keeping "
            f"all or none ({numbers}, {scale}): {outlook}."
        )
        return {"words": words, "commands": []}
    words = (
        f"Learnt from {edits:,} edits, the gate is worth more than keeping all or none ({numbers} an edit, {scale}). "
        "It can decide on the rest; the ratings are stored, so that it costs nothing:"
    )
    commands = [
        f"mtagent gate calibrate --run {shlex.quote(name)} --decisions -o gate.json",
        "# then the command that made the run, with --calibration gate.json and another -o",
    ]
    return {"words": words, "commands": commands}
