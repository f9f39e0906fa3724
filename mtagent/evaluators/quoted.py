"""Quoted spans in a model's prose: where they begin and end, with every kind of quotes, and quotes inside of them.

A line is read with a mark in place of each quoted span, so that what stands around the spans can be read without being
misled by what stands in them. Where the end of a span is not certain, the texts that were rated decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import regex

from mtagent.spans import is_spaced

MARK = "\ue000"
_MOST_LINES = 40  # of one span
_MOST_QUOTES = 60  # looked at to find the end of one span, and spans in one line; bounds the work
_MOST_ENDS = 8

_CLOSERS = {
    '"': '"',
    "＂": "＂",
    "“": "”",
    "”": "”",
    "„": '“”"',
    "«": "»",
    "»": "«»",
    "‹": "›",
    "「": "」",
    "『": "』",
    "‘": "’",
    "’": "’",
    "‚": "‘’",
    "'": "'",
}
_QUOTE = regex.compile(r"[\"＂“”„«»‹›「」『』‘’‚']|`++")
_APOSTROPHES = frozenset("'’‘‚`")
_PUNCTUATION = frozenset(")]}>.,;:!?-–—/|*_")


class Quoted(NamedTuple):
    """A quoted span: its text, and how it is written with its quotes."""

    text: str
    written: str


class Line(NamedTuple):
    """A line (or more, where a span goes on) with :data:`MARK` for each of ``quoted``; ``open`` if one does not end."""

    text: str
    quoted: tuple[Quoted, ...] = ()
    open: bool = False

    def part(self, start: int, end: int | None = None) -> Line:
        """``text[start:end]`` with the spans that stand there, without white space around."""
        text = self.text[start:end]
        first = self.text.count(MARK, 0, start)
        return Line(text.strip(), self.quoted[first : first + text.count(MARK)], self.open)

    def written(self) -> str:
        """The line as the model wrote it."""
        pieces = self.text.split(MARK)
        spans = [*(quoted.written for quoted in self.quoted), ""]
        return "".join(piece + span for piece, span in zip(pieces, spans, strict=True)).strip()


def read_lines(text: str, known: Sequence[str]) -> Iterator[Line]:
    """The lines of ``text``. ``known`` are the texts that quoted spans are taken from, as far as they are at hand."""
    lines = text.replace(MARK, "\ufffd").replace("\r\n", "\n").split("\n")
    known = [one.replace("\r\n", "\n") for one in known if one]
    at = 0
    while at < len(lines):
        line = _marked(lines[at], known)
        if line.open and any("\n" in one for one in known):
            line = _with_rest_of_span(lines[at : at + _MOST_LINES], known) or line
        yield line
        at += 1 + line.written().count("\n")


def _with_rest_of_span(lines: Sequence[str], known: Sequence[str]) -> Line | None:
    """The first of ``lines`` with those that a quoted span of several lines, which the texts know, goes on in."""
    begin = next(start + len(quote) for start, quote, end in _spans(lines[0], known) if end is None)
    whole = lines[0]
    for following in lines[1:]:
        if not any(f"{whole[begin:]}\n" in one for one in known):
            return None
        whole = f"{whole}\n{following}"
        line = _marked(whole, known)
        if not line.open and any("\n" in span.text for span in line.quoted):
            return line
    return None


def _marked(line: str, known: Sequence[str]) -> Line:
    pieces: list[str] = []
    quoted: list[Quoted] = []
    at, is_open = 0, False
    for start, quote, end in _spans(line, known):
        if end is None:
            is_open = True
            break
        close = end + len(quote)
        quoted.append(Quoted(_as_meant(line[start + len(quote) : end], known), line[start:close]))
        pieces += [line[at:start], MARK]
        at = close
    return Line("".join([*pieces, line[at:]]), tuple(quoted), is_open)


def _as_meant(text: str, known: Sequence[str]) -> str:
    """A quoted span without what models add to it: escapes, and the spaces of French quotes."""
    if any(text in one for one in known):
        return text
    escaped = text.replace('\\"', '"').replace("\\'", "'")
    spellings = (escaped, text.strip(), escaped.replace("\\n", "\n").strip())
    return next((spelling for spelling in spellings if any(spelling in one for one in known)), escaped)


def _spans(line: str, known: Sequence[str]) -> Iterator[tuple[int, str, int | None]]:
    """The start, opening quote and end of each quoted span; ``None`` for one that does not end, or is one too many."""
    at = 0
    for _ in range(_MOST_QUOTES):
        opening = next((m for m in _QUOTE.finditer(line, at) if _opens(line, m.start(), m.group())), None)
        if opening is None:
            return
        start, quote = opening.start(), opening.group()
        end = _end(line, opening.end(), quote, known)
        if end is not None or quote[0] not in _APOSTROPHES:  # an apostrophe alone is no quote
            yield start, quote, end
        at = opening.end() if end is None else end + len(quote)
    if _QUOTE.search(line, at):
        yield at, "", None


def _end(line: str, at: int, quote: str, known: Sequence[str]) -> int | None:
    """Where the span that begins at ``at`` ends: the longest that the texts know, or else where its quotes balance."""
    ends, balanced = _ends(line, at, quote)
    if ends and (len(ends) > 1 or balanced is None):
        for end in reversed(ends):
            if any(line[at:end] in one for one in known):
                return end
    return balanced


def _ends(line: str, at: int, quote: str) -> tuple[list[int], int | None]:
    """The first places where the span may end, and the one where all quotes inside of it are closed."""
    closers = _CLOSERS.get(quote, quote)
    ends: list[int] = []
    balanced, depth = None, 1
    for found in islice(_QUOTE.finditer(line, at), _MOST_QUOTES):
        place, mark = found.start(), found.group()
        if line[place - 1] == "\\":
            continue
        if mark in closers and _closes(line, place, mark, quote):
            ends.append(place)
            depth -= 1
            if depth == 0 and balanced is None:
                balanced = place
            if len(ends) == _MOST_ENDS:
                break
        elif mark == quote:
            depth += _opens(line, place, mark)
    return ends, balanced


def _opens(line: str, at: int, quote: str) -> bool:
    """Whether a span may begin here: not within a word, unless the script has no spaces."""
    if quote in "“„«‹「『" or at == 0:
        return True
    return not _in_word(line[at - 1]) and line[at - 1] != "\\"


def _closes(line: str, at: int, mark: str, quote: str) -> bool:
    """Whether a span may end here: where no word goes on, and no quote inside of it begins."""
    after = line[at + len(mark) : at + len(mark) + 1]
    if mark == quote and line[at - 1].isspace() and after and not after.isspace() and after not in _PUNCTUATION:
        return False
    return mark in "”»›」』" or not (after and _in_word(after))


def _in_word(char: str) -> bool:
    return char.isalnum() and is_spaced(char)
