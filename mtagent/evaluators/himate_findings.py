"""What HiMATE's agents find: the errors of one subtype on their way through the stages, and how they are told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mtagent import mqm
from mtagent.evaluators.confidence import Kind
from mtagent.evaluators.himate_replies import Opinion, Verdict, View
from mtagent.evaluators.typology import Subtype
from mtagent.merging import merged
from mtagent.records import ErrorSpan


class Check(NamedTuple):
    """What came of self-reflection. ``confidence`` is ≤ 0, and ``None`` where the correction changed nothing."""

    correction: str
    verdict: Verdict
    confidence: float | None = None
    kind: Kind = "logprobs"


@dataclass(frozen=True)
class Finding:
    """The errors of one subtype on their way through the stages: those flagged, and those ``kept`` so far."""

    subtype: Subtype
    kept: tuple[ErrorSpan, ...]
    flagged: tuple[ErrorSpan, ...] = ()
    check: Check | None = None
    talk: tuple[Opinion, ...] = ()
    warnings: tuple[str, ...] = ()


def listed(errors: Iterable[ErrorSpan]) -> str:
    """Errors as the agents are shown them, numbered from 1."""
    return "\n".join(
        f'{number}. {error.severity}: "{error.text}"{" (missing)" if error.side == "omission" else ""}'
        f"{f' - {error.explanation}' if error.explanation else ''}"
        for number, error in enumerate(errors, start=1)
    )


def minutes(talk: Sequence[Opinion]) -> str | None:
    """What was said so far, for the next agent."""
    lines = []
    for turn, opinion in enumerate(talk):
        said = [_view(number, view) for number, view in enumerate(opinion.views, start=1)]
        lines.append(f"{('expert', 'evaluator')[turn % 2]}: {'; '.join(said)}. {opinion.comment}".rstrip())
    return "\n".join(lines) or None


def _view(number: int, view: View) -> str:
    return f"error {number} {f'exists, {view.severity}' if view.exists else 'does not exist'}"


def corrected(translation: str, findings: Iterable[Finding]) -> tuple[str | None, list[str]]:
    """One text with the corrections of all errors that survived, the most severe first; ``None`` where there are none.

    The other value says which could not go in, because they change the same words in another way.
    """
    survivors = [finding for finding in findings if finding.kept and finding.check]
    if not survivors:
        return None, []
    survivors.sort(key=lambda finding: -max(mqm.severity_rank(error.severity) for error in finding.kept))
    by_correction = {finding.check.correction: finding for finding in reversed(survivors) if finding.check}
    wanted = list(dict.fromkeys(finding.check.correction for finding in survivors if finding.check))
    text, left_out = merged(translation, wanted)
    names = [by_correction[correction].subtype.category for correction in left_out]
    return text, [
        f"{name}: its correction is not in the corrected text; another changes the same words" for name in names
    ]


def story(finding: Finding) -> str:
    """One line on what became of a flagged subtype."""
    spans = ", ".join(f"{error.severity} {error.text!r}" for error in finding.flagged)
    line = f"{finding.subtype.category}: {spans}"
    if finding.check:
        sure = finding.check.confidence
        line += f"; reflection: {finding.check.verdict}" + (f" ({sure:.4g})" if sure is not None else "")
    if finding.talk:
        line += f"; discussion: {len(finding.talk)} turns"
    kept = ", ".join(error.severity for error in finding.kept)
    return f"{line}; {f'kept as {kept}' if kept else 'dropped'}"
