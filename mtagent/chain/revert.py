"""Take back one edit of a chain, or all of them, long after the run."""

from __future__ import annotations

from mtagent.errors import ConfigError
from mtagent.records import Chain, Edit, Step
from mtagent.text import edits


def revert(chain: Chain, number: int | None = None) -> Chain:
    """The chain without its edit ``number`` (counted over all steps, from 1), or without any edit.

    Later edits stay, moved to where they belong now. Raises :class:`ConfigError` where the edit is not an applied one,
    or where a later edit covers its place.
    """
    if number is None:
        applied = [n for n, _, edit in numbered(chain) if edit.outcome == "applied"]
        if not applied:
            raise ConfigError(f"segment {chain.segment.id} has no applied edit to revert")
        for each in reversed(applied):
            chain = revert(chain, each)
        return chain
    step_index, edit = _find(chain, number)
    steps = list(chain.steps)
    undone = edits.after_applying(steps[step_index].edits, edit)
    undone = undone.model_copy(update={"old": edit.old})
    taken_back = edit.model_copy(update={"outcome": "reverted", "detail": "reverted by the user"})
    before = _text_before(chain, step_index)
    steps[step_index] = _with(
        steps[step_index], before, tuple(taken_back if e is edit else e for e in steps[step_index].edits)
    )
    for i in range(step_index + 1, len(steps)):
        steps[i], undone = _moved(steps[i], steps[i - 1].text, undone, number)
    return chain.model_copy(update={"steps": tuple(steps)})


def numbered(chain: Chain) -> list[tuple[int, Step, Edit]]:
    """All edits of ``chain`` with the number by which they are reverted, and their step."""
    pairs = [(step, edit) for step in chain.steps for edit in step.edits]
    return [(number, step, edit) for number, (step, edit) in enumerate(pairs, 1)]


def _find(chain: Chain, number: int) -> tuple[int, Edit]:
    for n, step, edit in numbered(chain):
        if n == number:
            if edit.outcome != "applied" or edit.start is None:
                raise ConfigError(
                    f"edit {number} of segment {chain.segment.id} cannot be reverted: it is {_state(edit)}"
                )
            return next(i for i, one in enumerate(chain.steps) if one is step), edit
    raise ConfigError(f"segment {chain.segment.id} has no edit {number}; it has {len(numbered(chain))}")


def _state(edit: Edit) -> str:
    return "not located in the text (the paper's strategy)" if edit.outcome == "applied" else edit.outcome


def _text_before(chain: Chain, index: int) -> str:
    return chain.steps[index - 1].text if index else chain.segment.translation or ""


def _with(step: Step, before: str, changed: tuple[Edit, ...]) -> Step:
    return step.model_copy(update={"edits": changed, "text": edits.apply(before, changed)})


def _moved(step: Step, before: str, undone: Edit, number: int) -> tuple[Step, Edit]:
    """``step`` on the text without ``undone``, and ``undone`` in the offsets of the text after the step as it was."""
    if step.verdict != "kept":
        return step.model_copy(update={"text": before}), undone
    moved = edits.rebase(step.edits, undone)
    if moved is None:
        raise ConfigError(
            f"a later edit of the stage {step.stage} covers the place of edit {number}: revert that one first"
        )
    applied = [edit for edit in step.edits if edit.outcome == "applied"]
    shift = sum(len(e.new) - len(e.old) for e in applied if (e.start or 0) + len(e.old) <= (undone.start or 0))
    start = (undone.start or 0) + shift
    return _with(step, before, moved), undone.model_copy(update={"start": start, "end": start + len(undone.new)})
