"""Units of a text: paragraphs, sentences, words, and how much text they are."""

from __future__ import annotations

from itertools import islice

import regex

_CLOSERS = "\"'”’“‘»)\\]*_"
_WIDE_CLOSERS = "\"'”’」』）》】"
_ENDS = rf"(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?=\s|$)|[。！？｡]++[{_WIDE_CLOSERS}]*+|[।॥؟۔။។]++[{_CLOSERS}]*+|\n"
_END = regex.compile(rf"(?:{_ENDS})\s*+")
# Greek asks with a semicolon; Thai and Lao end a sentence with nothing but a space.
_GREEK_END = regex.compile(rf"(?:{_ENDS}|;(?=\s|$))\s*+")
_SPACE_END = regex.compile(rf"(?:{_ENDS}|\s)\s*+")
_END_BY_LANGUAGE = {"el": _GREEK_END, "th": _SPACE_END, "lo": _SPACE_END}

_BLANK_LINE = regex.compile(r"\n[^\S\n]*+\n\s*+")
_DENSE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(rf"(?V1)[{_DENSE}]\p{{M}}*+|[[\p{{L}}\p{{M}}\p{{N}}]--[{_DENSE}]]++")

# How many Latin letters say as much as one character of the script.
_LETTERS_PER_CHARACTER = (
    (regex.compile(r"\p{Han}"), 3.2),
    (regex.compile(r"[\p{Hiragana}\p{Katakana}]"), 1.8),
    (regex.compile(r"\p{Hangul}"), 2.2),
    (regex.compile(r"[\p{Arabic}\p{Hebrew}]"), 1.25),
)
_VISIBLE = regex.compile(r"\S++")


def paragraphs(text: str) -> list[str]:
    """Cut ``text`` at blank lines; white space stays with the paragraph before it, and nothing is lost."""
    return _cut(text, _BLANK_LINE)


def sentences(text: str, lang: str = "") -> list[str]:
    """Cut ``text`` into sentences and lines; white space stays with the sentence before it, and nothing is lost."""
    return _cut(text, _END_BY_LANGUAGE.get(lang.split("-")[0].lower(), _END))


def has_end(text: str) -> bool:
    """Whether a sentence or a line ends in ``text``."""
    return _END.search(text) is not None


def _cut(text: str, end: regex.Pattern[str]) -> list[str]:
    found: list[str] = []
    start = 0
    for match in end.finditer(text):
        if text[start : match.end()].strip():
            found.append(text[start : match.end()])
            start = match.end()
    if text[start:].strip():
        found.append(text[start:])
    elif found:
        found[-1] += text[start:]
    return found


def words(text: str) -> list[str]:
    """The words of ``text``, case folded; of a script without spaces, its characters."""
    found: list[str] = _WORD.findall(text.casefold())
    return found


def stretch(text: str, low: int, high: int) -> str:
    """The words ``low`` to ``high`` (exclusive) of ``text`` with what stands between them."""
    found = list(islice(_WORD.finditer(text), low, high))
    return text[found[0].start() : found[-1].end()] if found else ""


def letters(text: str) -> float:
    """The amount of ``text`` in Latin letters: a Chinese character says as much as about three. At least 1."""
    size = float(sum(len(run) for run in _VISIBLE.findall(text)))
    if text.isascii():
        return max(size, 1.0)
    for script, weight in _LETTERS_PER_CHARACTER:
        size += (weight - 1) * len(script.findall(text))
    return max(size, 1.0)


def shared_ends(before: str, after: str) -> tuple[int, int]:
    """Length of the common beginning of two texts, and of the common end of what follows it."""
    head = _common(before, after)
    return head, _common(before[head:][::-1], after[head:][::-1])


def changed(before: str, after: str) -> tuple[str, str]:
    """What stands between the common beginning and the common end of two texts."""
    head, tail = shared_ends(before, after)
    return before[head : len(before) - tail], after[head : len(after) - tail]


def _common(one: str, two: str) -> int:
    """Length of the common beginning, found by halving."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def quoted(text: str, width: int = 60) -> str:
    """``text`` on one line in quotes, its middle left out where it is long."""
    line = " ".join(text.split())
    if len(line) > width:
        line = f"{line[: width // 2].rstrip()} … {line[-width // 3 :].lstrip()}"
    return f"“{line}”"
