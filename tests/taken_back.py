"""Chains as versions before the log of decisions stored them, when an edit was taken back."""

from __future__ import annotations

from mtagent.chain.decided_text import numbered
from mtagent.records import Chain
from mtagent.text import edits


def taken_back(chain: Chain, number: int) -> Chain:
    """``chain`` with its edit ``number`` reverted; later steps must have changed nothing."""
    _, step, edit = numbered(chain)[number - 1]
    at = next(place for place, other in enumerate(chain.steps) if other is step)
    before = chain.steps[at - 1].text if at else chain.segment.translation or ""
    reverted = edit.model_copy(update={"outcome": "reverted", "detail": "reverted by the user"})
    changes = tuple(reverted if other is edit else other for other in step.edits)
    text = edits.apply(before, changes)
    later = [other.model_copy(update={"text": text}) for other in chain.steps[at + 1 :]]
    done = step.model_copy(update={"edits": changes, "text": text})
    return chain.model_copy(update={"steps": (*chain.steps[:at], done, *later)})
