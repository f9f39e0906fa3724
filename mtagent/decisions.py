"""What people decide about edits and segments of a run. How to use it, from the record to the decided text::

    with store.open_existing() as opened:                     # mtagent.store.store
        run = DecidedRun(opened, "postedit-1a2b3c4d")         # mtagent.jobs.decide
        position, chain = run.run.chain("17")
        version, history = run.log.version(position), run.log.history(position)   # show them, and send the version back
        decision = run.checked(chain, Decision(segment="17", edit=2, verdict="accept", who="ana"), history)
        run.log.append([(position, decision)], expected={position: version})   # DecidedElsewhere: another was first
        result = run.segment(position)                        # mtagent.chain.decided: .text .edits .findings

The log is append-only: a later decision about the same edit, or about the same segment as a whole, goes before an
earlier one, ``undecided`` takes it back, one that ``withdraws`` another leaves what was decided before that, and what
the machine did stays as it is. Edits are counted over all steps of a chain from 1, as ``mtagent runs show`` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

from pydantic import model_validator

from mtagent.records import Chain, Record, Stage

DecisionVerdict = Literal["accept", "reject", "text", "undecided"]
_SHOWN = 80
_VERDICTS = {"accept": "accepted", "reject": "rejected", "text": "a text of their own", "undecided": "taken back"}


class Decision(Record):
    """A person's decision about one ``edit`` of a segment, or about the segment as a whole (``edit=None``).

    ==============  ==================================================  ================================================
    ``verdict``     of an edit                                          of a segment
    ==============  ==================================================  ================================================
    ``accept``      it stands, also where guards or gate refused it     the text is right as it stands
    ``reject``      it does not stand                                   no edit stands, but those decided on afterwards
    ``text``        it stands, with ``text`` in place of its words      ``text`` is the translation
    ``undecided``   as the machine left it                              the decision about the whole is taken back
    ==============  ==================================================  ================================================

    An accepted segment ``approves`` one text, of which it holds the :func:`text_hash`; where a segment was rejected or
    got an own text, that is confirmed. ``id`` is the decision's number in the log, ``command`` that of the first
    one that was written with it; the log gives both. ``withdraws`` is the ``id`` of one that does not count any more.
    ``seconds`` is how long it took to decide, ``at`` the time in UTC. ``stage`` is the edit's and ``chain`` the
    :func:`fingerprint` of what was decided about: a decision does not hold for a segment that was done again.
    """

    segment: str
    edit: int | None = None
    verdict: DecisionVerdict
    text: str | None = None
    reason: str | None = None
    who: str = ""
    at: str = ""
    seconds: float | None = None
    stage: Stage | None = None
    chain: str = ""
    approves: str = ""
    withdraws: int | None = None
    id: int = 0
    command: int = 0

    @model_validator(mode="after")
    def _with_text(self) -> Decision:
        if (self.verdict == "text") != (self.text is not None):
            raise ValueError("a text goes with the decision 'text', and with no other")
        if self.withdraws is not None and self.verdict != "undecided":
            raise ValueError("what withdraws a decision is 'undecided'")
        return self

    @property
    def sentence(self) -> str:
        """The decision, for people: ``rejected by ana, 2026-11-23 06:00:00.000: not our style``."""
        by = f" by {self.who}" if self.who else ""
        own = "" if self.text is None else f" ({self.text[:_SHOWN]!r}{'…' if len(self.text) > _SHOWN else ''})"
        why = f": {self.reason}" if self.reason else ""
        return f"{_VERDICTS[self.verdict]}{own}{by}, {self.at}{why}"


def standing(history: Iterable[Decision]) -> list[Decision]:
    """The decisions of one segment's ``history`` that were not withdrawn, oldest first."""
    history = list(history)
    withdrawn = {decision.withdraws for decision in history}
    return [decision for decision in history if decision.withdraws is None and decision.id not in withdrawn]


def latest(history: Iterable[Decision]) -> tuple[Decision, ...]:
    """The decisions of one segment's ``history`` that hold, oldest first: the last one on each edit and on the whole.

    A segment that is rejected hides what was decided about its edits before; taking that back shows it again. Accepting
    a segment that was rejected or has an own text leaves it so.
    """
    last: dict[int | None, Decision] = {}
    for decision in standing(history):
        there = last.get(decision.edit)
        if decision.edit is None and decision.verdict == "accept" and there and there.verdict in ("reject", "text"):
            continue
        last.pop(decision.edit, None)
        last[decision.edit] = decision
    whole = last.get(None)
    if whole is not None and whole.verdict == "reject":
        places = list(last)
        for edit in places[: places.index(None)]:
            del last[edit]
    return tuple(decision for decision in last.values() if decision.verdict != "undecided")


def text_hash(text: str) -> str:
    """A hash of a text that was approved."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def fingerprint(chain: Chain) -> str:
    """A hash of what people decide about: the source, every step's text, and its edits."""
    edits = [[(edit.old, edit.new, edit.start, edit.outcome) for edit in step.edits] for step in chain.steps]
    texts = [(step.stage, step.text) for step in chain.steps]
    content = repr((chain.segment.source, chain.segment.translation, texts, edits))
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
