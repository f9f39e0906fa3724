"""Several corrections of one text made into one text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby

import regex
from rapidfuzz.distance import Levenshtein

from mtagent import edits
from mtagent.records import Edit

# Words are whole; scripts without spaces between words go by characters.
_TOKEN = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]\p{M}*+|[\w\p{M}]++|\s++|."
)


_MOST_LOOKS = 5_000_000
"""Up to which difflib chooses the edits. It looks at all pairs of equal words, again for each difference."""
_MOST_COMPARED = 200_000_000
"""The number of words of one text times that of the other up to which all edits are told apart: 50 MB."""


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
        for i, j, k, m in _differences(old, new)
    ]


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """What differs, as (start and end in ``old``, start and end in ``new``), in a time that is bounded: texts that are
    very long or repeat themselves go by the edit distance, or by what is the same at both ends.
    """
    in_new = Counter(new)
    pairs = sum(count * in_new[word] for word, count in Counter(old).items())
    bounded = len(old) * len(new) <= _MOST_COMPARED
    if bounded and pairs * (Levenshtein.distance(old, new) + 1) <= _MOST_LOOKS:
        for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                yield i, j, k, m
    elif bounded:
        for alike, group in groupby(Levenshtein.opcodes(old, new), lambda opcode: opcode.tag == "equal"):
            if not alike:
                run = list(group)
                yield run[0].src_start, run[-1].src_end, run[0].dest_start, run[-1].dest_end
    elif old != new:
        start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        rest = min(len(old), len(new)) - start
        end = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
        yield start, len(old) - end, start, len(new) - end


def _touch(one: Edit, other: Edit) -> bool:
    """Whether two edits change the same place, or places with nothing in between."""
    first, second = sorted((one, other), key=lambda edit: (edit.start or 0, edit.end or 0))
    return (first.end or 0) >= (second.start or 0)
