"""What people decide about edits and segments of a run. How to use it, from the record to the decided text::

    with store.open_existing() as opened:                     # mtagent.store.store
        run, log = opened.read("postedit-1a2b3c4d"), opened.decisions("postedit-1a2b3c4d")
        position, chain = run.chain("17")
        version = log.version(position)                       # show it with the segment, and send it back
        decision = checked(chain, Decision(segment="17", edit=2, verdict="accept", who="ana"))
        log.append([(position, decision)], expected={position: version})   # DecidedElsewhere: another window was first
        result = decided(chain, log.history(position))        # mtagent.chain.decided, pure: .text .edits .findings

The log is append-only: a later decision about the same edit, or about the same segment as a whole, goes before an
earlier one, ``undecided`` takes it back, and what the machine did stays as it is. Edits are counted over all steps of
a chain from 1, as ``mtagent runs show`` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

from pydantic import model_validator

from mtagent.records import Chain, Record, Stage

DecisionVerdict = Literal["accept", "reject", "text", "undecided"]


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

    @model_validator(mode="after")
    def _with_text(self) -> Decision:
        if (self.verdict == "text") != (self.text is not None):
            raise ValueError("a text goes with the decision 'text', and with no other")
        return self


def latest(history: Iterable[Decision]) -> tuple[Decision, ...]:
    """The decisions of one segment's ``history`` that hold, oldest first: the last one on each edit and on the whole.

    A segment that is rejected hides what was decided about its edits before; taking that back shows it again.
    """
    last: dict[int | None, Decision] = {}
    for decision in history:
        last.pop(decision.edit, None)
        last[decision.edit] = decision
    whole = last.get(None)
    if whole is not None and whole.verdict == "reject":
        places = list(last)
        for edit in places[: places.index(None)]:
            del last[edit]
    return tuple(decision for decision in last.values() if decision.verdict != "undecided")


def fingerprint(chain: Chain) -> str:
    """A hash of what people decide about: the source, every step's text, and its edits."""
    edits = [[(edit.old, edit.new, edit.start, edit.outcome) for edit in step.edits] for step in chain.steps]
    texts = [(step.stage, step.text) for step in chain.steps]
    content = repr((chain.segment.source, chain.segment.translation, texts, edits))
    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
