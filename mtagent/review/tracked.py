"""A chain's text with every edit in its place, as tracked changes: what was there, what came, and by which edit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from mtagent.chain.decided_text import Decided
from mtagent.records import Chain, Edit, Step
from mtagent.report.packing import changes
from mtagent.text.markup import InlineCode, inline_codes

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


def tracked_as_decided(result: Decided) -> tuple[list[Piece], bool]:
    """The pieces of a chain, and whether the edits in its decided text make that text of them.

    They don't if people wrote words of their own, or if only a part of an edit fitted.
    """
    pieces = tracked(result.chain)
    in_text = {UNNUMBERED}
    for row in result.edits:
        if row.stands != "no":
            in_text.add(row.number)
    _take_what_came_before(pieces, in_text)
    text = ""
    for piece in pieces:
        if (piece.brought is None or piece.brought in in_text) and in_text.isdisjoint(piece.taken):
            text += piece.text
    return pieces, text == result.text


def _take_what_came_before(pieces: Sequence[Piece], in_text: Collection[int]) -> None:
    """Let an edit that replaces the words of one that was taken back also take the words from before that one."""
    for index, piece in enumerate(pieces):
        if piece.brought is None or piece.brought in in_text:
            continue
        takers = [number for number in piece.taken if number in in_text]
        place = index - 1
        while place >= 0 and (pieces[place].brought == piece.brought or piece.brought in pieces[place].taken):
            for number in takers:
                if piece.brought in pieces[place].taken and number not in pieces[place].taken:
                    pieces[place].taken.append(number)
            place -= 1


def _with_step(pieces: Sequence[Piece], step: Step, first: int, language: str) -> list[Piece]:
    """``pieces`` with the edits of ``step``, which are numbered from ``first``."""
    before = "".join(piece.text for piece in pieces if piece.is_after)
    edits = [(number, edit) for number, edit in enumerate(step.edits, first) if edit.start is not None]
    whole_codes = [(number, _with_whole_codes(before, edit)) for number, edit in edits]
    # If even the edits are not the whole change, only the difference can be shown.
    difference = Edit(old=before, new=step.text, start=0, end=len(before), outcome="applied")
    for attempt in (whole_codes, edits, [(UNNUMBERED, difference)]):
        entered = [Piece(piece.text, piece.brought, [*piece.taken], piece.is_after, piece.is_after) for piece in pieces]
        for number, edit in attempt:
            _enter(entered, number, edit, language, first)
        if "".join(piece.text for piece in entered if piece.is_after) == step.text:
            break
    return entered


def _with_whole_codes(before: str, edit: Edit) -> Edit:
    """``edit`` with all of the tags and placeholders of which it changes a part."""
    start = edit.start or 0
    end = start + len(edit.old)
    old, new = edit.old, edit.new
    for code in inline_codes(before):
        is_cut_before = code.start < start < code.end
        is_cut_behind = code.start < end < code.end
        if is_cut_before:
            old, new = before[code.start : start] + old, before[code.start : start] + new
        if is_cut_behind:
            old, new = old + before[end : code.end], new + before[end : code.end]
        if is_cut_before:
            start = code.start
        if is_cut_behind:
            end = code.end
    return edit.model_copy(update={"old": old, "new": new, "start": start, "end": end})


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


def codes_of_pieces(pieces: Sequence[Piece]) -> list[list[InlineCode]]:
    """The inline codes in each piece, found in the given text or in the machine's text, in which they make sense."""
    found: list[list[InlineCode]] = [[*inline_codes(piece.text)] for piece in pieces]
    for layer in (
        [index for index, piece in enumerate(pieces) if piece.is_after],
        [index for index, piece in enumerate(pieces) if piece.brought is None],
    ):
        codes = inline_codes("".join(pieces[index].text for index in layer))
        offset = 0
        for index in layer:
            length = len(pieces[index].text)
            found[index] = []
            for code in codes:
                start, end = max(0, code.start - offset), min(length, code.end - offset)
                if start < end:
                    found[index].append(InlineCode(start, end, code.meaning))
            offset += length
    return found
