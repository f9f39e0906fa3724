"""Take back one edit of a chain, or all of them, long after the run."""

from __future__ import annotations

from mtagent.errors import ConfigError
from mtagent.records import Chain, Edit, Step
from mtagent.text import edits


def numbered(chain: Chain) -> list[tuple[int, Step, Edit]]:
    """All edits of ``chain`` with the number by which they are reverted, and their step."""
    pairs = [(step, edit) for step in chain.steps for edit in step.edits]
    return [(number, step, edit) for number, (step, edit) in enumerate(pairs, 1)]


def revert(chain: Chain, number: int | None = None) -> Chain:
    """The chain without its edit ``number`` (counted over all steps, from 1), or without any edit.

    Later edits stay, moved to where they belong now. Raises :class:`ConfigError` where the edit is not an applied one,
    or where a later edit covers its place.
    """
    rows = numbered(chain)
    if number is None:
        applied = [n for n, _, edit in rows if edit.outcome == "applied"]
        if not applied:
            raise ConfigError(f"segment {chain.segment.id} has no applied edit to revert")
        for last in reversed(applied):
            chain = revert(chain, last)
        return chain
    if not 1 <= number <= len(rows):
        raise ConfigError(f"segment {chain.segment.id} has no edit {number}; it has {len(rows)}")
    _, step, edit = rows[number - 1]
    if edit.outcome != "applied" or edit.start is None:
        state = "not located in the text (the paper's strategy)" if edit.outcome == "applied" else edit.outcome
        raise ConfigError(f"edit {number} of segment {chain.segment.id} cannot be reverted: it is {state}")
    index = next(i for i, other in enumerate(chain.steps) if other is step)
    steps = list(chain.steps[:index])
    text = steps[-1].text if steps else chain.segment.translation or ""
    undone = edits.after_applying(step.edits, edit)
    reverted = edit.model_copy(update={"outcome": "reverted", "detail": "reverted by the user"})
    changes = tuple(reverted if other is edit else other for other in step.edits)
    steps.append(step.model_copy(update={"edits": changes, "text": edits.apply(text, changes)}))
    for later in chain.steps[index + 1 :]:
        text, changes = steps[-1].text, later.edits
        if later.verdict == "kept":
            rebased = edits.rebase(changes, undone)
            if rebased is None:
                raise ConfigError(
                    f"a later edit of the stage {later.stage} covers the place of edit {number}: revert that one first"
                )
            changes, undone = rebased
            text = edits.apply(text, changes)
        steps.append(later.model_copy(update={"edits": changes, "text": text}))
    return chain.model_copy(update={"steps": tuple(steps)})
