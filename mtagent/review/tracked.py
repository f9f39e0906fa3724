"""A chain's text with every edit in its place, as tracked changes: what was there, what came, and by which edit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mtagent.records import Chain, Edit, Step
from mtagent.report.packing import changes

UNNUMBERED = 0
"""The number of a change that no edit explains, as the paper's strategy (Algorithm 1) makes them."""


@dataclass
class Piece:
    """A stretch of text that the same edits brought and took."""

    text: str
    brought: int | None = None
    """The number of the edit that inserts it; ``None`` if it was in the text from the start."""
    taken: list[int] = field(default_factory=list)
    """The numbers of the edits that delete it, whether they were applied or only proposed."""
    is_before: bool = True
    """Whether it is in the machine's text before the step that is being entered."""
    is_after: bool = True
    """Whether it is in the machine's text after that step."""


def tracked(chain: Chain) -> list[Piece]:
    """The pieces of the given text and of all edits, in reading order.

    An edit is entered by what it changes, word by word: words that it leaves alone belong to no edit. Edits without a
    place are not entered.
    """
    steps = list(chain.steps)
    pieces = [Piece(chain.given or "")]
    number = 1
    if chain.segment.translation is None:
        while steps:
            step = steps.pop(0)
            number += len(step.edits)
            if step.stage == "translate" and step.verdict == "kept":
                break
    for step in steps:
        pieces = _with_step(pieces, step, number, chain.segment.target_lang)
        number += len(step.edits)
    return [piece for piece in pieces if piece.text]


def _with_step(pieces: Sequence[Piece], step: Step, first: int, language: str) -> list[Piece]:
    """``pieces`` with the edits of ``step``, which are numbered from ``first``."""
    entered = _copied(pieces)
    for number, edit in enumerate(step.edits, first):
        if edit.start is not None:
            _enter(entered, number, edit, language, first)
    if _machine_text(entered, after=True) != step.text:
        # The edits are not the whole change, so only the difference can be shown.
        entered = _copied(pieces)
        before = _machine_text(entered, after=False)
        whole = Edit(old=before, new=step.text, start=0, end=len(before), outcome="applied")
        _enter(entered, UNNUMBERED, whole, language, first)
    for piece in entered:
        piece.is_before = piece.is_after
    return entered


def _copied(pieces: Sequence[Piece]) -> list[Piece]:
    return [Piece(piece.text, piece.brought, [*piece.taken], piece.is_before, piece.is_before) for piece in pieces]


def _machine_text(pieces: Sequence[Piece], *, after: bool) -> str:
    return "".join(piece.text for piece in pieces if (piece.is_after if after else piece.is_before))


def _enter(pieces: list[Piece], number: int, edit: Edit, language: str, first: int) -> None:
    """Enter one edit of the step whose ``first`` edit has that number, with offsets in the text before the step."""
    is_applied = edit.outcome == "applied"
    offset = edit.start or 0
    for kept, deleted, inserted in _parts(edit.old, edit.new, language):
        offset += len(kept)
        index = _split(pieces, offset)
        end = _split(pieces, offset + len(deleted))
        for piece in pieces[index:end]:
            if piece.is_before:
                piece.taken.append(number)
                piece.is_after = piece.is_after and not is_applied
        # New words come directly behind those that they replace, and behind the new words of the step's other edits.
        while end < len(pieces) and not pieces[end].is_before:
            is_of_step = (pieces[end].brought or 0) >= first
            if deleted and not is_of_step:
                break
            end += 1
        if inserted:
            pieces.insert(end, Piece(inserted, number, [], is_before=False, is_after=is_applied))
        offset += len(deleted)


def _split(pieces: list[Piece], offset: int) -> int:
    """The index of the piece that begins at ``offset`` of the text before the step; a piece is cut if none does."""
    position = 0
    for index, piece in enumerate(pieces):
        if position == offset:
            return index
        if not piece.is_before:
            continue
        length = len(piece.text)
        if offset < position + length:
            cut = offset - position
            rest = Piece(piece.text[cut:], piece.brought, [*piece.taken], piece.is_before, piece.is_after)
            piece.text = piece.text[:cut]
            pieces.insert(index + 1, rest)
            return index + 1
        position += length
    return len(pieces)


def _parts(old: str, new: str, language: str) -> Iterator[tuple[str, str, str]]:
    """What :func:`changes` finds, as texts: kept, deleted and inserted."""
    before, after = old.encode("utf-16-le", "surrogatepass"), new.encode("utf-16-le", "surrogatepass")
    lengths = iter(changes(old, new, language))
    at = to = 0
    for kept, deleted, inserted in zip(lengths, lengths, lengths, strict=True):
        gone, come = at + 2 * kept + 2 * deleted, to + 2 * kept + 2 * inserted
        stretches = (before[at : at + 2 * kept], before[at + 2 * kept : gone], after[to + 2 * kept : come])
        yield tuple(stretch.decode("utf-16-le", "surrogatepass") for stretch in stretches)  # type: ignore[misc]
        at, to = gone, come
