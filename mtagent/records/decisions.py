"""The record of what a person decides about an edit or a segment of a run, and which decisions of a history count.

From the record to the decided text::

    with store.open_existing() as opened:                     # mtagent.store.store
        run = DecidedRun(opened, "postedit-1a2b3c4d")         # mtagent.chain.decided_text
        position, chain = run.run.chain("17")
        version, history = run.log.version(position), run.log.history(position)   # show them, and send the version back
        decision = run.checked(chain, Decision(segment="17", edit=2, verdict="accept", who="ana"), history)
        run.log.append([(position, decision)], expected={position: version})   # DecidedElsewhere: another was first
        result = run.segment(position)                        # mtagent.chain.decided_text: .text .edits .findings

Decisions are only ever added to a run's log (``mtagent.store.runs``), and what the machine did stays as it is.
A later decision about the same edit, or about the same segment as a whole, replaces the earlier one. ``undecided``
takes it back. A decision that ``withdraws`` another restores what was decided before that one. Edits are counted from
1 over all steps of a chain, as ``mtagent runs show`` counts them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

from pydantic import model_validator

from mtagent.records import Chain, Record, Stage

DecisionVerdict = Literal["accept", "reject", "text", "undecided"]
_SHOWN_CHARACTERS = 80
_VERDICT_WORDS = {
    "accept": "accepted",
    "reject": "rejected",
    "text": "a text of their own",
    "undecided": "taken back",
}


class Decision(Record):
    """A person's decision about one ``edit`` of a segment, or about the segment as a whole (``edit=None``).

    ==============  ==================================================  ================================================
    ``verdict``     of an edit                                          of a segment
    ==============  ==================================================  ================================================
    ``accept``      applied, even if the guards or the gate refused it  the text is right as it is
    ``reject``      not applied                                         only edits accepted afterwards are applied
    ``text``        applied, with ``text`` in place of its words        ``text`` is the translation
    ``undecided``   as the machine left it                              the decision about the whole is taken back
    ==============  ==================================================  ================================================

    Accepting a segment that was rejected or has a person's text confirms that decision.
    """

    segment: str
    edit: int | None = None
    verdict: DecisionVerdict
    text: str | None = None
    reason: str | None = None
    who: str = ""
    at: str = ""
    """The time in UTC; the log sets it where it is empty."""
    seconds: float | None = None
    """How long it took to decide."""
    stage: Stage | None = None
    """The stage that made the edit."""
    chain: str = ""
    """The :func:`fingerprint` of the chain. The decision no longer counts once the segment was processed again."""
    approves: str = ""
    """The :func:`text_hash` of the one text that an accepted segment approves."""
    withdraws: int | None = None
    """The ``id`` of a decision that no longer counts."""
    id: int = 0
    """The decision's number in the log, which sets it."""
    command: int = 0
    """The ``id`` of the first decision that was written together with this one; the log sets it."""

    @model_validator(mode="after")
    def _with_text(self) -> Decision:
        if (self.verdict == "text") != (self.text is not None):
            raise ValueError("a text goes with the decision 'text', and with no other")
        if self.withdraws is not None and self.verdict != "undecided":
            raise ValueError("a decision that withdraws another must be 'undecided'")
        return self

    @property
    def sentence(self) -> str:
        """The decision, for people: ``rejected by ana, 2026-11-23 06:00:00.000: not our style``."""
        words = _VERDICT_WORDS[self.verdict]
        if self.text is not None:
            ellipsis = "…" if len(self.text) > _SHOWN_CHARACTERS else ""
            words += f" ({self.text[:_SHOWN_CHARACTERS]!r}{ellipsis})"
        if self.who:
            words += f" by {self.who}"
        words += f", {self.at}"
        if self.reason:
            words += f": {self.reason}"
        return words


def not_withdrawn(history: Iterable[Decision]) -> list[Decision]:
    """The decisions of one segment's ``history`` that were not withdrawn, oldest first.

    Decisions that came from another store are put in order by their time. Those without a time, which are not stored
    yet, come last.
    """
    history = list(history)
    withdrawn = {decision.withdraws for decision in history}
    standing = [decision for decision in history if decision.withdraws is None and decision.id not in withdrawn]
    first_of_command = dict[int, Decision]()
    for decision in history:
        first_of_command.setdefault(decision.command, decision)

    def order(decision: Decision) -> tuple[bool, str, str, int, str, str]:
        if not decision.at:
            return (True, "", "", 0, "", "")
        # What one person decided at the same time on two machines has the same order in both stores.
        first = first_of_command[decision.command]
        return (False, decision.at, decision.who, first.edit or 0, first.verdict, first.text or "")

    standing.sort(key=order)
    return standing


def latest(history: Iterable[Decision]) -> tuple[Decision, ...]:
    """The decisions of one segment's ``history`` that count, oldest first: the last one on each edit and on the whole.

    Rejecting a segment hides the earlier decisions about its edits; taking the rejection back shows them again.
    Accepting a segment that was rejected or has a person's text leaves it so.
    """
    by_edit: dict[int | None, Decision] = {}
    for decision in not_withdrawn(history):
        if decision.edit is None and decision.verdict == "accept":
            previous = by_edit.get(None)
            if previous is not None and previous.verdict in ("reject", "text"):
                continue
        by_edit.pop(decision.edit, None)  # so that the new one comes last
        by_edit[decision.edit] = decision
    whole = by_edit.get(None)
    if whole is not None and whole.verdict == "reject":
        order = list(by_edit)
        for edit in order[: order.index(None)]:
            del by_edit[edit]
    return tuple(decision for decision in by_edit.values() if decision.verdict != "undecided")


def text_hash(text: str) -> str:
    """A hash of a text that was approved."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def fingerprint(chain: Chain) -> str:
    """A hash of what people decide about: the source, every step's text, and its edits."""
    edits, texts = [], []
    for step in chain.steps:
        edits.append([(edit.old, edit.new, edit.start, edit.outcome) for edit in step.edits])
        texts.append((step.stage, step.text))
    content = repr((chain.segment.source, chain.segment.translation, texts, edits))
    return text_hash(content)
