"""Several corrections of one text made into one text."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

import regex

from mtagent import edits
from mtagent.records import Edit

# Words are whole; scripts without spaces between words go by characters.
_TOKEN = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]\p{M}*+|[\w\p{M}]++|\s++|."
)


def merged(text: str, corrections: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """``text`` with what all ``corrections`` of it change, and the corrections that could not go in.

    The most important come first: one that changes what a former one changes in another way is left out, all of it,
    since half a rewording is worse than none.
    """
    taken: list[Edit] = []
    left_out = []
    for correction in corrections:
        wanted = [edit for edit in word_edits(text, correction) if edit not in taken]
        if any(_touch(one, other) for one in wanted for other in taken):
            left_out.append(correction)
        else:
            taken += wanted
    return edits.apply(text, taken), tuple(left_out)


def word_edits(before: str, after: str) -> list[Edit]:
    """The edits, word by word, that turn ``before`` into ``after``."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    starts = [0]
    for token in old:
        starts.append(starts[-1] + len(token))
    return [
        Edit(old="".join(old[i:j]), new="".join(new[k:m]), start=starts[i], end=starts[j], outcome="applied")
        for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _touch(one: Edit, other: Edit) -> bool:
    """Whether two edits change the same place, or places with nothing in between."""
    first, second = sorted((one, other), key=lambda edit: (edit.start or 0, edit.end or 0))
    return (first.end or 0) >= (second.start or 0)
