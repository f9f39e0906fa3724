"""What changed between two texts: words where the language has spaces, else characters as people count them."""

from __future__ import annotations

from functools import lru_cache

import regex
from rapidfuzz.distance import Indel

from mtagent.text import scripts

MOST_COMPARED = 10**8
"""Where the pieces between the first and the last difference, multiplied, are more, all of them count as replaced."""
_CHARACTER = regex.compile(r"\X")
_WORD = regex.compile(r"[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}\u200c\u200d]|['’](?=\p{L}))*+|\X")
_SPACES = regex.compile(r"[ \u00a0]+")


def units(text: str) -> int:
    """The length of ``text`` in UTF-16 code units, as JavaScript counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@lru_cache(maxsize=8)
def changes(before: str, after: str, language: str) -> tuple[int, ...]:
    """What stayed, was deleted and was inserted, again and again: three numbers of code units for each change.

    No piece ends inside a character with its combining marks. A lone space between two replacements belongs to them.
    """
    pattern = _WORD if scripts.has_spaces(language) else _CHARACTER
    a, b = pattern.findall(before), pattern.findall(after)
    shorter = min(len(a), len(b))
    start = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    rest = shorter - start
    end = next((i for i in range(rest) if a[-1 - i] != b[-1 - i]), rest)
    old, new = a[start : len(a) - end], b[start : len(b) - end]
    parts = [["".join(a[:start]), "", ""]]
    if len(old) * len(new) > MOST_COMPARED:
        parts[-1][1:] = "".join(old), "".join(new)
    else:
        for code in Indel.opcodes(old, new):
            went = "".join(old[code.src_start : code.src_end])
            came = "".join(new[code.dest_start : code.dest_end])
            if code.tag == "equal":
                parts.append([went, "", ""])
            else:
                parts[-1][1:] = parts[-1][1] + went, parts[-1][2] + came
    joined = parts[:1]
    for part in parts[1:]:
        former = joined[-1]
        if all((*former[1:], *part[1:])) and _SPACES.fullmatch(part[0]):
            former[1:] = [former[1] + part[0] + part[1], former[2] + part[0] + part[2]]
        else:
            joined.append(part)
    return tuple(units(piece) for part in joined if part[1] or part[2] for piece in part)
