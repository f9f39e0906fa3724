"""Markdown structure: what a renderer would make of a text's marks, not how they are written."""

from __future__ import annotations

from collections import Counter, defaultdict, deque

import regex

from mtagent.marks.characters import Mark, alphabet, remembered

_BLOCK = regex.compile(
    r"""
    ^[ ]{0,3} (?: (?P<heading>\#{1,6})(?=[ \t]) | (?P<fence>```++|~~~++) | (?P<quote>>)(?=[ \t]) | (?P<table>\|) )
    | ^[ \t]*+ (?: (?P<bullet>[-*+])(?=[ \t]) | (?P<ordered>\d{1,9}[.)])(?=[ \t]) )
    """,
    flags=regex.VERBOSE | regex.MULTILINE,
)
_BLOCK_STARTS = frozenset("#>|~`+-*0123456789")
_LINK = regex.compile(r"\]\((?P<target>[^\s()<>]*+(?:\([^\s()<>]*+\)[^\s()<>]*+)?+)(?:[ \t]++\"[^\"\n()]*+\")?+\)")
_FOOTNOTE = regex.compile(r"\[\^[\w-]++\]")
_BACKTICKS = regex.compile(r"`++")
_EMPHASIS = regex.compile(r"\*{1,3}+(?=[^\s*])|(?<=[^\s*])\*{1,3}+|(?<!\w)_{1,3}+(?=[^\s_])|(?<=[^\s_])_{1,3}+(?!\w)")


def code_spans(text: str) -> list[Mark]:
    """Code between equal runs of backticks, in linear time: each run looks for the next of its length."""
    runs = list(_BACKTICKS.finditer(text))
    waiting: defaultdict[int, deque[int]] = defaultdict(deque)
    for index, run in enumerate(runs):
        waiting[len(run.group())].append(index)
    spans, taken = [], -1
    for index, run in enumerate(runs):
        partners = waiting[len(run.group())]
        while partners and partners[0] <= max(index, taken):
            partners.popleft()
        if index > taken and partners:
            taken = partners[0]
            code = text[run.end() : runs[taken].start()]
            spans.append(Mark("code block" if "\n" in code else f"`{code.strip()}`", run.start(), runs[taken].end()))
    return spans


def _blocks(text: str) -> list[str]:
    found = []
    for match in _BLOCK.finditer(text):
        kind = match.lastgroup or ""
        found.append(f"heading {match.group().strip()}" if kind == "heading" else kind)
    return found


def _emphasis(text: str) -> list[str]:
    """Bold and italic pairs, by the number of marks; an odd mark (a footnote's star) is none."""
    count = Counter(len(match.group()) for match in _EMPHASIS.finditer(text))
    names = {1: "italic", 2: "bold", 3: "bold italic"}
    return [names[size] for size, marks in count.items() for _ in range(marks // 2)]


@remembered
def markdown_marks(text: str) -> Counter[str]:
    """Headings by level, list items, quotes, table rows, fences, code, links by target, footnotes, bold and italic."""
    characters = alphabet(text)
    marks: Counter[str] = Counter()
    if "\n" in characters or text.lstrip()[:1] in _BLOCK_STARTS:
        marks.update(_blocks(text))
    if "](" in text:
        marks.update(f"link to {match['target']}" for match in _LINK.finditer(text))
    if "[^" in text:
        marks.update(f"footnote {match.group()}" for match in _FOOTNOTE.finditer(text))
    if "`" in characters:
        marks.update(span.key for span in code_spans(text))
    if not characters.isdisjoint("*_"):
        marks.update(_emphasis(text))
    return marks
