"""Find a text that was only cut: the text before less one stretch, give or take the marks at its end."""

from __future__ import annotations

import regex

from mtagent.omission.evidence import LONG_ENOUGH, Stretch, had_surplus
from mtagent.omission.split import letters, shared_ends, words

TAIL_SHARE, TAIL_LETTERS = 0.22, 4
"""Share and number of letters from which a missing end is a loss."""
TORN_SHARE = 0.1
"""The same share where the end was torn off inside a word and whole words went with it."""
SHARE, LETTERS = 0.4, 9
"""Share and number of letters from which a missing beginning or middle is a loss: a word or two may be needless."""
_SLOPE = 15.0

_SAYS = regex.compile(r"[\p{L}\p{N}]")


def only_takes(gone: str, come: str) -> bool:
    """Whether an edit that puts ``come`` for ``gone`` takes words away and puts none."""
    return len(gone) >= TAIL_LETTERS and _SAYS.search(come) is None and _SAYS.search(gone) is not None


def may_be_large(before: str, after: str) -> bool:
    """Whether what is gone may be a large share of its line; a look that costs next to nothing."""
    head, tail = shared_ends(before, after)
    end = len(before) - tail
    line_end = before.find("\n", end)
    line = (len(before) if line_end < 0 else line_end) - before.rfind("\n", 0, head)
    return end - head >= TORN_SHARE / 2 * line and only_takes(before[head:end], after[head : len(after) - tail])


def cut(source: str, before: str, after: str) -> Stretch | None:
    """What was cut out of ``before``, with evidence that rises by its share; ``None`` if that is no loss.

    No loss: few letters, what the source never said (``before`` was over-long), and a phrase said twice.
    """
    head, tail = shared_ends(before, after)
    gone = before[head : len(before) - tail]
    if not only_takes(gone, after[head : len(after) - tail]):
        return None
    size = letters(gone)
    at_end = _SAYS.search(before, len(before) - tail) is None
    torn = at_end and len(gone.split()) > 1 and not set(words(after)) <= set(words(before))
    least, limit = (TAIL_LETTERS, TAIL_SHARE) if at_end else (LETTERS, SHARE)
    if size < least or (not torn and (had_surplus(source, before, after) or _is_repeat(source, gone, after))):
        return None
    share = size / letters(before)
    return Stretch(_whole_words(before, head, tail), _SLOPE * (share - (TORN_SHARE if torn else limit)))


def _is_repeat(source: str, gone: str, after: str) -> bool:
    """Whether ``after`` says what is gone, and is as long as its source even so."""
    return set(words(gone)) <= set(words(after)) and letters(after) >= LONG_ENOUGH * letters(source)


def _whole_words(text: str, head: int, tail: int) -> str:
    while head and _SAYS.match(text, head - 1) and _SAYS.match(text, head):
        head -= 1
    return text[head : len(text) - tail].strip()
