"""Guards over a text's outer shape: Markdown, paragraphs, white space, pairs, the last character."""

from __future__ import annotations

from collections import Counter

import regex

from mtagent import marks
from mtagent.guards.newly import difference
from mtagent.records import Segment


def markdown(segment: Segment, text: str) -> list[str]:
    """Headings, lists, links, code and emphasis are those of the source; how they are written is free."""
    wanted, there = marks.markdown_marks(segment.source), marks.markdown_marks(text)
    return difference(wanted.elements(), there.elements(), "Markdown: ") if wanted != there else []


_BREAKS = regex.compile(r"[ \t]*+\r?\n(?:[ \t]*+\r?\n)*+")


@marks.remembered
def _breaks(text: str) -> tuple[int, ...]:
    """The line breaks between the lines of ``text``: 1 ends a line, more end a paragraph."""
    if "\n" not in text:
        return ()
    return tuple(match.group().count("\n") for match in _BREAKS.finditer(text.strip()))


def _counts(breaks: tuple[int, ...]) -> tuple[int, int]:
    """Paragraphs and lines, less one."""
    return sum(size > 1 for size in breaks), len(breaks)


def paragraphs(segment: Segment, before: str, after: str) -> list[str]:
    """Line and paragraph breaks stay as they were, or come closer to those of the source."""
    had, has, wanted = _breaks(before), _breaks(after), _breaks(segment.source)
    if has in (had, wanted):
        return []
    far, near = (
        tuple(abs(count - aim) for count, aim in zip(_counts(side), _counts(wanted), strict=True))
        for side in (had, has)
    )
    if near != far and all(now <= then for now, then in zip(near, far, strict=True)):
        return []
    (old_paragraphs, old_lines), (new_paragraphs, new_lines) = _counts(had), _counts(has)
    return [
        f"{new_paragraphs + 1} paragraphs and {new_lines + 1} lines instead of {old_paragraphs + 1} and {old_lines + 1}"
    ]


def _edges(text: str) -> tuple[str, str]:
    lead = text[: len(text) - len(text.lstrip())]
    return lead, text[len(text.rstrip()) :] if len(lead) < len(text) else ""


def whitespace(segment: Segment, before: str, after: str) -> list[str]:
    """White space at both ends and tabs inside stay as they were, or become as in the source."""
    faults = []
    sides = zip(("leading", "trailing"), _edges(before), _edges(after), _edges(segment.source), strict=True)
    for name, had, has, wanted in sides:
        if has not in (had, wanted):
            faults.append(f"{name} white space is {has!r} instead of {had!r}")
    tabs = after.count("\t")
    if tabs not in (before.count("\t"), segment.source.count("\t")):
        faults.append(f"{tabs} tabs instead of {before.count(chr(9))}")
    return faults


def brackets(segment: Segment, text: str) -> list[str]:
    """No bracket without its partner, but for those of the source."""
    alone = marks.unpaired_brackets(marks.prose(text))
    if not alone:
        return []
    allowed = Counter(mark.key for mark in marks.unpaired_brackets(marks.prose(segment.source)))
    faults = Counter(mark.key for mark in alone) - allowed
    return [f"{bracket} has no partner" for bracket in faults.elements()]


def quotes(segment: Segment, text: str) -> list[str]:
    """Double quotation marks, of whatever style, come in even number where they do in the source."""
    if len(marks.double_quotes(marks.prose(text))) % 2 == 0:
        return []
    odd_source = len(marks.double_quotes(marks.prose(segment.source))) % 2
    return [] if odd_source else ["a quotation mark has no partner"]


_FINAL = regex.compile(r"[.!?…։。！？．｡।॥؟۔።፧:：」』][\p{P}\p{Sm}\s*_]*+\Z")
_TAIL = 40
_SAME_WORDING = 0.7
_FEW_WORDS = 4


def _ends(text: str) -> bool:
    return _FINAL.search(text[-_TAIL:]) is not None


def end(segment: Segment, before: str, after: str) -> list[str]:
    """Final punctuation that the source has is not dropped, unless the text is worded anew."""
    if _ends(after) or not _ends(before) or not _ends(segment.source) or not after.strip():
        return []
    had, has = Counter(marks.words(before)), Counter(marks.words(after))
    if had.total() >= _FEW_WORDS and (had & has).total() < _SAME_WORDING * had.total():
        return []
    return ["the final punctuation is missing"]
