"""Two texts side by side: what they share, in order and whatever its order."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq, Levenshtein, Opcodes, Postfix, Prefix

from mtagent.text.scripts import UNSPACED_LETTER, words

MOST_MATCHED, MOST_APPROACHED = 400_000_000, 4_000_000_000
"""The words of one text times those of the other up to which a longest common subsequence is found (in 50 MB), and up
to which it is approached by the edit distance, in linear memory. Of longer texts only the common ends are matched."""


def match(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Index pairs of equal words, rising on both sides."""
    work = len(before) * len(after)
    if work > MOST_APPROACHED:
        head, tail = shared_ends(before, after)
        ends = zip(range(len(before) - tail, len(before)), range(len(after) - tail, len(after)), strict=True)
        return [*((k, k) for k in range(head)), *ends]
    runs = opcodes(before, after) if work <= MOST_MATCHED else Levenshtein.opcodes(before, after, score_hint=64)
    matched: list[tuple[int, int]] = []
    for run in runs:
        if run.tag == "equal":
            matched += zip(range(run.src_start, run.src_end), range(run.dest_start, run.dest_end), strict=True)
    return matched


def opcodes(before: Sequence[str], after: Sequence[str]) -> Opcodes:
    """The runs of words or characters that two texts share (``tag`` is ``equal``) and those that differ, in order.

    As few as possible are deleted and inserted; none is called replaced. Takes time and memory by the product of both
    lengths.
    """
    return LCSseq.opcodes(before, after)


def shared_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Length of the common beginning of two texts, and of the common end of what follows it."""
    head = Prefix.similarity(before, after)
    return head, Postfix.similarity(before[head:], after[head:])


def difference(before: str, after: str) -> tuple[str, str]:
    """What is between the common beginning and the common end of two texts."""
    head, tail = shared_ends(before, after)
    return before[head : len(before) - tail], after[head : len(after) - tail]


def grams(text: str) -> list[str]:
    """Groups of four letters within each word, its two ends among them; in scripts without spaces, of two characters.

    They are shared by inflected and misspelt forms, and do not mind the order of words.
    """
    groups: list[str] = []
    character_before = ""
    for word in words(text.casefold()):
        if UNSPACED_LETTER.match(word):
            if character_before:
                groups.append(character_before + word)
            character_before = word
        else:
            character_before = ""
            with_ends = f" {word} "
            groups += [with_ends[start : start + 4] for start in range(max(1, len(with_ends) - 3))]
    return groups
