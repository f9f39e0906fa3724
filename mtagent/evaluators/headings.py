"""Errors listed as text under the headings Critical, Major and Minor, in the shapes that models give them.

This is the reply of GEMBA-MQM (``accuracy/mistranslation - "span"``) and of EAPrompt (``(1) "span" - Mistranslation``).
A line is a heading, one or more errors, a stated "no-error", or a remark; what is none of them makes the reply
unreadable. Quoted spans are marked first (:mod:`mtagent.evaluators.headings`), so that nothing in them is taken for
structure, and lines of errors are read in :mod:`mtagent.evaluators.headings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, NoReturn, cast

import regex

from mtagent.errors import RatingParseError
from mtagent.evaluators.annotations import located, named_severity, read_annotations, read_error, read_items
from mtagent.llm.reading import EXCERPT, Pairs, read_json, whole_characters, without_thoughts
from mtagent.records import ErrorSpan, Severity
from mtagent.text import mqm
from mtagent.text.scripts import is_spaced
from mtagent.text.spans import normalise

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


_DIMENSION = (
    r"(?:accuracy|adequacy|fluency|style|terminology|locale(?:[ -]conventions?)?|audience(?:[ -]appropriateness)?"
    r"|linguistic[ -]conventions?|design|markup|verity)"
)
_SUBTYPE = (
    r"(?:additions?|mis-?translat(?:ions?|ed)|(?:under|over)-?translation|omissions?|omitted|untranslated|grammar"
    r"|grammatical|inconsisten(?:cy|t)|punctuation|register|spelling|typos?|awkward(?:ness)?|unnatural|unidiomatic"
    r"|inappropriate|non-?translation|other|source (?:error|issue)|word (?:order|choice|form)|capitali[sz]ation|tense"
    r"|agreement|syntax|wording|literal|format(?:ting)?|redundan(?:cy|t)|gender|character[ -]encoding|no[ -]errors?"
    r"|incorrect|wrong)"
)
_KNOWN = rf"(?:{_DIMENSION}|{_SUBTYPE})"
_CATEGORY = regex.compile(r"[^\W\d_][\w /&'’-]*+", regex.IGNORECASE)
_KNOWN_WORD = regex.compile(rf"\b{_KNOWN}\b", regex.IGNORECASE)
_TWO_LEVELS = regex.compile(rf"({_DIMENSION})(?:\s*+[/\\:>|→(]|\s[-–—]+\s)\s*+([^()\s][^()]*+)\)?", regex.IGNORECASE)
_SENTENCE = regex.compile(
    r"(?<!\S)(?:is|are|was|were|be|been|has|have|should|could|would|this|that|it|not|except|but|apart|besides)(?!\S)"
)
_BULLETS = regex.compile(
    r"(?:[-*•‣▪◦·–—+>#]++\s*+|\(?\d{1,3}[.):\]]++\s*+|\[\d{1,3}\]\s*+|\(?[a-z][.)]\s++|\s++)*+", regex.IGNORECASE
)
# Not to be begun within white space: that would be tried again from every space of a long run.
_SEPARATOR = regex.compile(r"(?<!\s)\s*+(?:[:：=|]|[-–—]++(?=\s|$)|(?P<tight>(?<=\S)[-–—](?=[\w\[])))\s*+")
_NAME_ENDS = ("-", "–", "—", ":", "：", "=", "|")
_EDGES = " \t\n-–—:：=>|(,→.;)/"
_BEFORE_ITEM = r"(?:\(?\d{1,3}[.)]\s*+)"
_NEXT_BY_CATEGORY = regex.compile(
    rf"(?:[,;|]\s*+{_BEFORE_ITEM}?|\s{_BEFORE_ITEM})(?={_KNOWN}\b[\w /'-]{{0,60}}?\s*+[-–—]+\s*+{MARK})"
    rf"|\s(?={_DIMENSION}\s?/\s?[\w '-]{{1,60}}?\s*+[-–—:(]+\s*+{MARK})",
    regex.IGNORECASE,
)
_NEXT_BY_SPAN = regex.compile(
    rf"(?:[,;|]\s*+{_BEFORE_ITEM}?|\s{_BEFORE_ITEM})(?={MARK}\s*+[-–—:(]+\s*+(?:\w+\s)?{_KNOWN}\b)", regex.IGNORECASE
)
_MORE_SPANS = regex.compile(rf"(?:\s*+(?:[,;、，]\s*+)?(?:(?:and|und|&)\s)?\s*+{MARK})*+", regex.IGNORECASE)
_FIX = regex.compile(
    rf"(?:(?:->|→|=>|⇒)"
    r"|\b(?:should|must|ought\sto|needs\sto)\s(?:rather\s|instead\s|have\s|better\s)?(?:be|been|read|say)(?:\stranslated\sas)?"
    r"|\b(?:suggest(?:ion|ed)|correct(?:ion|ed)?|fix|better|replaced?|changed?|use)"
    r"(?:\s(?:translation|version|fix|correction|it|to|with|by|as|would\sbe|is))*+)"
    rf"\s?:?\s?{MARK}",
    regex.IGNORECASE,
)
_INSTEAD = regex.compile(rf"\s*+(?:instead\sof|rather\sthan|in\splace\sof)\s{MARK}", regex.IGNORECASE)
_RENDERED = regex.compile(rf"\b(?:translated|rendered|became|put)\s(?:as|to|into|with|by)\s{MARK}", regex.IGNORECASE)
_NONE = regex.compile(
    r"(?:there\s(?:is|are|was|were)\s)?(?:no[- ]?errors?|none|n\s?/\s?a|na|nil|nothing|not\sapplicable|zero\serrors"
    rf"|no\s(?:(?:critical|major|minor|neutral|serious|significant|notable|obvious|apparent|other|further|such|mqm"
    rf"|translation|{_DIMENSION}|or|and)\s)*+(?:errors?|issues?|problems?|mistakes?))"
    r"(?:\s(?:(?:were|was|are|is|have\sbeen|has\sbeen|to)\s)?(?:found|identified|detected|present|observed|noted|report|here))?"
    r"(?:\sin\s(?:the|this)\stranslation)?(?:\s?\([^()]*+\))?",
    regex.IGNORECASE,
)
_NO_CATEGORY = regex.compile(
    r"\b(?:suggest|correct|fix\b|better\b|source|original|reference|translat|target|text|context|expla|reason|rationale"
    r"|example|note|comment|instead|meaning|literally|score|(?:word|phrase|sentence)s?\b)",
    regex.IGNORECASE,
)
_FRAGMENTS = regex.compile(r"[:：,;()|=.]|\s[-–—]+\s|\s[-–—]+$|^[-–—]+")
_CUT = regex.compile(r"\s\(|\s(?:->|→|=>|⇒|[-–—])\s|[;:,]\s|\.$")
_ARROW = regex.compile(r"(?:->|→|=>|⇒)\s*+([^\s(;→>]++(?:\s[^\s(;→>]++)*+)")
_ARROWS = regex.compile(r"\s*+(?:->|→|=>|⇒)")
_ALTERNATIVE = regex.compile(r"\s*+,?\s*+(?:or\b|and\b|/)", regex.IGNORECASE)
_QUOTE_MARKS = tuple("\"'“”„«»‹›「」『』‘’‚`")
_PLAIN = str.maketrans(dict.fromkeys("\u00a0\u202f\u3000", " ") | dict.fromkeys("‐‑−―", "-"))
_MOST_SEPARATORS = 6
_MOST_WORDS = 6
_LONGEST_CATEGORY = 60


class Item(NamedTuple):
    """An error as a line names it. ``span=None`` where the line names none."""

    category: str
    span: str | None
    suggestion: str | None = None
    explanation: str | None = None

    def fields(self, severity: str) -> dict[str, str | None]:
        """The item as :func:`mtagent.evaluators.annotations.read_error` takes it."""
        return {**self._asdict(), "severity": severity}


def plain(line: Line) -> Line:
    """``line`` without bullets, numbers and Markdown's emphasis."""
    text = line.text.replace("**", "").replace("__", "").translate(_PLAIN)
    line = line._replace(text=text.strip())
    line = _without_quoted_category(line.part(_BULLETS.match(line.text).end()))  # type: ignore[union-attr]
    return line._replace(text=line.text.removeprefix("*").removesuffix("*").strip())


def _without_quoted_category(line: Line) -> Line:
    """A line that begins with a category in quotes, as in ```style/awkward` - "span"``, without those quotes."""
    first = line.quoted[0].text if line.quoted and line.text.startswith(MARK) else ""
    if len(line.quoted) > 1 and "/" in first and is_category(first):
        return line._replace(text=first + line.text[1:], quoted=line.quoted[1:])
    return line


def says_none(line: Line) -> bool:
    """Whether the line says that there is no error, and nothing else."""
    written = line.quoted[0].text if line.text.strip(_EDGES) == MARK else line.text
    return _NONE.fullmatch(written.strip(_EDGES + "[]_*`").replace("_", " ")) is not None


class Known:
    """The texts that spans are taken from: the translation first, and the source where it is at hand."""

    def __init__(self, translation: str, source: str = "") -> None:
        self.translation, self.texts = translation, (translation, source)
        self._normal = (normalise(translation), normalise(source))

    def holds(self, span: str) -> bool:
        """Whether ``span`` stands in one of them, quotes, case and spaces aside."""
        return any(span in text for text in self.texts) or any(normalise(span) in text for text in self._normal)


def read_listed(line: Line, known: Known) -> list[Item] | None:
    """The errors of one line without its bullet; ``None`` if any part of it is no error."""
    items: list[Item] = []
    for entry in _entries(plain(line)):
        found = _read_entry(plain(entry), known)
        if found is None:
            return None
        items += found
    return items


def _entries(line: Line) -> Iterator[Line]:
    at = 0
    for following in (_NEXT_BY_SPAN if line.text.startswith(MARK) else _NEXT_BY_CATEGORY).finditer(line.text):
        yield line.part(at, following.start())
        at = following.end()
    yield line.part(at)


def _read_entry(entry: Line, known: Known) -> list[Item] | None:
    if entry.text.startswith(MARK):
        return _span_first(entry, known)
    category, rest = _head(entry)
    if not category or rest.text.startswith(_QUOTE_MARKS):  # a quote that has no end
        return None
    spans = _quoted_list(rest)
    if rest.text.startswith(MARK) and len(spans) > 1:
        explanation = _words(rest.part(_end_of_list(rest)))
        return [Item(category, span, explanation=explanation) for span in spans]
    if rest.quoted and (rest.text.strip(_EDGES) == MARK or not known.holds(rest.written())):
        return [_described(category, rest, known)]
    return _without_quotes(category, rest.written(), known)


def _head(entry: Line) -> tuple[str, Line]:
    """The category that an entry begins with, and what follows it; ``""`` if it begins with none."""
    first = entry.text.find(MARK)
    head = entry.text if first < 0 else entry.text[:first]
    if first > 0 and is_category(head):
        return category_of(head), entry.part(first)
    best = "", 0
    for separator in islice(_SEPARATOR.finditer(head), _MOST_SEPARATORS):
        left = head[: separator.start()]
        if is_category(left) and (not separator["tight"] or _KNOWN_WORD.search(left.rpartition("/")[2])):
            best = category_of(left), separator.end()
    if best[0]:
        return best[0], entry.part(best[1])
    if first < 0 and is_category(head):
        return category_of(head), Line("")
    name = category_of(head)
    is_named = first > 0 and head.rstrip().endswith(_NAME_ENDS) and _is_short(name) and not _NO_CATEGORY.search(name)
    return (name, entry.part(first)) if is_named else ("", entry)


def is_category(text: str) -> bool:
    """Whether ``text`` names a kind of error."""
    name = category_of(text) if len(text) <= 2 * _LONGEST_CATEGORY else ""
    return _is_short(name) and " -" not in name and _KNOWN_WORD.search(name) is not None


def _is_short(name: str) -> bool:
    words = name.split()
    return (
        0 < len(words) <= _MOST_WORDS
        and len(name) <= _LONGEST_CATEGORY
        and _SENTENCE.search(name.casefold()) is None
        and _CATEGORY.fullmatch(name) is not None
    )


def category_of(written: str) -> str:
    """A category with its dimension before a slash: ``Accuracy (Mistranslation)`` is ``accuracy/mistranslation``."""
    written = written.strip(_EDGES + "[]_*`!").replace("_", " ")
    levels = _TWO_LEVELS.fullmatch(written)
    if levels and ("/" in written or _KNOWN_WORD.search(levels[2])):
        written = f"{levels[1]}/{levels[2].strip()}"
    return regex.sub(r"\s*+/\s*+", "/", written).casefold()


def _end_of_list(rest: Line) -> int:
    return _MORE_SPANS.match(rest.text).end()  # type: ignore[union-attr]


def _quoted_list(rest: Line) -> list[str]:
    """The spans at the start, as in ``"x", "y" and "z"``."""
    return [quoted.text for quoted in rest.part(0, _end_of_list(rest)).quoted]


def _described(category: str, rest: Line, known: Known) -> Item:
    """An error whose category is known: its span is the first quoted one, unless the words say otherwise."""
    first = rest.text.find(MARK)
    lead, tail = rest.text[:first].strip(_EDGES), rest.part(first + 1)
    span, suggestion, tail = _span_and_fix(category, rest.quoted[0].text, tail, known)
    explanation = rest.written() if lead else _words(tail)
    return Item(category, span, suggestion, explanation)


def _span_and_fix(category: str, span: str, tail: Line, known: Known) -> tuple[str, str | None, Line]:
    """The wrong words, what to write in their place if that is said unmistakably, and the words left over."""
    others = [quoted.text for quoted in tail.quoted]
    if len(others) != 1:
        return span, None, tail
    here, there = span in known.translation, others[0] in known.translation
    missing = category.endswith("omission")
    if there and not here and not missing and (_RENDERED.search(tail.text) or _ARROWS.match(tail.text)):
        return others[0], None, Line(f"for {span!r}")
    if fix := _FIX.search(tail.text):
        left = Line(f"{tail.text[: fix.start()].rstrip()} {tail.text[fix.end() :].lstrip()}".strip())
        return (span, None, tail) if _ALTERNATIVE.match(tail.text, fix.end()) else (span, others[0], left)
    if (instead := _INSTEAD.match(tail.text)) and here != there:
        left = tail.part(instead.end())
        return (span, others[0], left) if here else (others[0], span, left)
    return span, None, tail


def _words(line: Line) -> str | None:
    """What a line says, if it says anything."""
    said = line.written().strip(_EDGES)
    return said if any(char.isalnum() for char in said) else None


def _span_first(entry: Line, known: Known) -> list[Item] | None:
    spans = _quoted_list(entry)
    tail = entry.part(_end_of_list(entry))
    span, suggestion, left = _span_and_fix("", spans[-1], tail, known)
    category, explanation = _category_in(left)
    if not category:
        if not all(known.holds(one) for one in spans):
            return None
        category = "other"
    return [Item(category, one, None, explanation) for one in spans[:-1]] + [
        Item(category, span, suggestion, explanation)
    ]


def _category_in(tail: Line) -> tuple[str, str | None]:
    """The category among the words behind a span, and the other words."""
    parts = [part.strip(_EDGES + "*`") for part in _FRAGMENTS.split(tail.text)]
    parts = [part for part in parts if part]
    place = next((i for i, part in enumerate(parts) if is_category(part)), None)
    if place is None:
        return (parts[0], None) if len(parts) == 1 and _is_short(parts[0]) else ("", _words(tail))
    category, used = category_of(parts[place]), 1
    if (
        len(parts) > place + 1
        and is_category(joined := f"{category}: {parts[place + 1]}")
        and "/" in category_of(joined)
    ):
        category, used = category_of(joined), 2
    return category, _words(tail) if len(parts) > used else None


def _without_quotes(category: str, said: str, known: Known) -> list[Item] | None:
    """An error whose span has no quotes: it must stand in one of the texts, but for what is missing."""
    said = said.strip("*_ []")
    if not said or mqm.is_non_translation(category):
        return [Item(category, "" if category.endswith("omission") else None, explanation=said or None)]
    cuts = [cut.start() for cut in islice(_CUT.finditer(said), _MOST_SEPARATORS)]
    for end in [len(said), *reversed(cuts)]:
        if known.holds(span := said[:end].strip("*_ ")):
            tail = said[end:].strip()
            arrow = _ARROW.fullmatch(tail)
            return [Item(category, span, arrow[1] if arrow else None, None if arrow else _words(Line(tail)))]
    if says_none(Line(said)):
        return [Item("no-error", None)]
    return [Item(category, said)] if category.endswith("omission") else None


REQUIRED: tuple[Severity, ...] = ("major", "minor")
_SEVERITY = r"(critical|major|minor|neutral)"
_ERRORS = r"(?:[\s-](?:severity|level))?(?:\s(?:translation\s)?(?:errors?|issues?|problems?|mistakes?))?"
_HEADING = regex.compile(
    rf"[\[<(]?{_SEVERITY}{_ERRORS}[\])>]?(?:\s?\([^(){MARK}]{{0,80}}\))?\s?(?:[:：]|(?P<dash>[-–—]\s)|$)\*?\s*+",
    regex.IGNORECASE,
)
_WITHIN = regex.compile(rf"\b{_SEVERITY}{_ERRORS}(?:\s?\([^(){MARK}]{{0,40}}\))?\s?[:：]\s*+", regex.IGNORECASE)
_ENDS = (MARK, ".", ";", "|", ",", ")", "annotations:")
_NONE_OF = regex.compile(
    rf"(?:there\s(?:are|is|were)\s)?no\s({_SEVERITY}(?:(?:,\s|\sor\s|\sand\s|/|,\sor\s){_SEVERITY})*+)"
    r"[\s-]+(?:translation\s)?(?:errors?|issues?)(?:\s(?:were\s|are\s)?(?:found|identified|detected|present))?\W*+",
    regex.IGNORECASE,
)
_NAMES = regex.compile(_SEVERITY, regex.IGNORECASE)
_FENCE = regex.compile(r"^[ \t]*+```[\w-]*+[ \t]*+$\n?", regex.MULTILINE)
_JSON = regex.compile(r"^[ \t]*+(?:\{|\[\s*+[\[{\"'\]])|\{\s*+[\"']", regex.MULTILINE)
_LABEL = regex.compile(r"(explanation|reason(?:ing)?|rationale|justification|comment)\s?[:：]\s*+", regex.IGNORECASE)
_SUGGESTION = regex.compile(
    rf"(?:suggest(?:ion|ed(?:\s\w+)?)|correct(?:ion|ed(?:\s\w+)?)|fix)\s?[:：]\s?{MARK}\.?", regex.IGNORECASE
)
_HEADINGS_CATEGORY = regex.compile(r"(?:error\s)?(?:category|type)\s?[:：]\s*+([^:：]++)", regex.IGNORECASE)
_REMARK = regex.compile(
    r"overall|in\s(?:summary|conclusion|total|general|short)|to\s(?:sum|conclude)|summary|conclusion|notes?\b|please"
    r"|let\sme\sknow|i\shope|hope\sth|if\syou|feel\sfree|based\son|total|(?:mqm\s|overall\s|quality\s|final\s)?score"
    r"|<score>|final|all\sother|all\sin\sall|no\s(?:other|further|additional|more)\b|other\sthan|apart\sfrom|otherwise"
    r"|thank|end\sof|(?:corrected|improved|suggested|better|revised)\s(?:translation|version)|explanations?\b|[-=*_~]{3,}$",
    regex.IGNORECASE,
)
_ABOUT_ALL = regex.compile(
    r"the\s(?:rest|remaining|other|above|final|translation|overall)|this\stranslation|these", regex.IGNORECASE
)
_COMPLAINT = regex.compile(
    r"error|mistransl|omi(?:t|ss)|should|wrong|incorrect|missing|inaccura|awkward|\balso\b", regex.IGNORECASE
)


@dataclass
class _Section:
    """What stands under one heading; ``errors`` as :func:`read_error` takes them."""

    severity: Severity
    errors: list[dict[str, Any]] = field(default_factory=list)
    states_none: bool = False

    def add(self, items: Iterable[Item]) -> None:
        self.errors += [item.fields(self.severity) for item in items]


@dataclass
class _Reading:
    """What has been read so far."""

    known: Known
    sections: list[_Section] = field(default_factory=list)
    introduction: list[Line] = field(default_factory=list)
    remarks: list[Line] = field(default_factory=list)
    none: set[Severity] = field(default_factory=set)
    after_blank: bool = False
    in_remark: bool = False

    def add_none(self, statement: str) -> None:
        """Take over what a line like "There are no major or critical errors" states, under a heading or without."""
        for severity in _NAMES.findall(statement):
            self.none |= set(_named(severity))
        if self.sections and self.sections[-1].severity in self.none:
            self.sections[-1].states_none = True


def read_headed(reply: str, translation: str, *, source: str = "") -> tuple[ErrorSpan, ...]:
    """The errors in ``reply``, located in ``translation`` where that is certain.

    ``()`` only where it is stated that there is no major and no minor error. The ``source`` helps to tell where a
    quoted omission ends. JSON in place of the list is read too, also with the severities as keys. Raises
    :class:`RatingParseError` for a reply without a heading, for one that seems cut off, and for one with a line that
    is neither an error, nor "no-error", nor a remark at its end.
    """
    answer = without_thoughts(whole_characters(reply)).strip().removeprefix("\ufeff")
    reading = _Reading(Known(translation, source))
    if not _JSON.match(_FENCE.sub("", answer).strip()):
        _read_text(_FENCE.sub("", answer).strip(), reading)
    if not (reading.sections or reading.none):
        if not _JSON.search(answer):
            _fail("it has no heading (Critical, Major, Minor)", answer)
        reading.sections = _sections_in_json(read_json(answer), reading.known)
        if not reading.sections:
            return read_annotations(answer, translation, named_severity)
    return _errors(reading)


def _read_text(answer: str, reading: _Reading) -> None:
    for line in map(plain, read_lines(answer, reading.known.texts)):
        if _NONE_OF.fullmatch(line.text):
            reading.add_none(line.text)
        else:
            for severities, part in _pieces(line):
                reading.sections += map(_Section, severities)
                reading.in_remark = reading.in_remark and not severities
                if part.text:
                    _read_line(part, reading)
        reading.after_blank = not line.text
        reading.in_remark = reading.in_remark and not reading.after_blank


def _pieces(line: Line) -> Iterator[tuple[list[Severity], Line]]:
    """A line cut at the headings in it: the severity that each piece begins, if it begins one, and its text."""
    heading = _HEADING.match(line.text)
    if heading and heading["dash"] and not (heading.end() < len(line.text) and _is_content(line.part(heading.end()))):
        heading = None
    at, severities = (heading.end(), _named(heading[1])) if heading else (0, [])
    for within in _WITHIN.finditer(line.text, at):
        before = line.part(at, within.start())
        if before.text.endswith(_ENDS) or says_none(before):
            yield severities, before
            at, severities = within.end(), _named(within[1])
    yield severities, line.part(at)


def _named(severity: str) -> list[Severity]:
    return [cast(Severity, severity.casefold())]


def _is_content(line: Line) -> bool:
    return says_none(line) or MARK in line.text or "/" in line.text


def _read_line(line: Line, reading: _Reading) -> None:
    if not reading.sections:
        reading.introduction.append(line)
        return
    section = reading.sections[-1]
    if says_none(line):
        section.states_none = True
    elif not reading.after_blank and _explains_last(line, section):
        return
    elif _is_remark(line, section, reading):
        reading.remarks.append(line)
        reading.in_remark = True
    elif line.open:
        section.add(_without_end_of_quote(line, reading.known))
    elif (items := read_listed(line, reading.known)) is not None:
        section.add(items)
    else:
        _fail("a line is neither an error with its category and its span in quotes, nor no-error", line.written())


def _without_end_of_quote(line: Line, known: Known) -> list[Item]:
    """The error of a line whose last quote has no end, if that is because it stands so in the texts."""
    items = read_listed(Line(line.written()), known)
    if items is None or any(item.explanation for item in items):
        _fail("a quotation does not end: it is cut off, or quotes stand inside of it", line.written())
    return items


def _is_remark(line: Line, section: _Section, reading: _Reading) -> bool:
    """Whether a line belongs to what a model says after it has listed the errors."""
    if not (section.errors or section.states_none):
        return False
    text = line.text.lstrip("([")
    if reading.in_remark or _REMARK.match(text):
        return True
    return reading.after_blank and _ABOUT_ALL.match(text) is not None


def _explains_last(line: Line, section: _Section) -> bool:
    """Whether a line says more about the error above it; takes it over if so."""
    if not section.errors:
        return False
    error = section.errors[-1]
    if _SUGGESTION.fullmatch(line.text) and error["suggestion"] is None:
        error["suggestion"] = line.quoted[0].text
    elif (named := _HEADINGS_CATEGORY.fullmatch(line.text)) and is_category(named[1]) and error["category"] == "other":
        error["category"] = category_of(named[1])
    elif (label := _LABEL.match(line.text)) and error["explanation"] is None:
        error["explanation"] = line.part(label.end()).written()
    else:
        return False
    return True


def _sections_in_json(data: Any, known: Known) -> list[_Section]:
    """The sections of an object with severities as keys; none for JSON of another shape."""
    pairs = _pairs(data)
    if len(pairs) == 1 and _pairs(pairs[0][1]):
        pairs = _pairs(pairs[0][1])
    keys = [_HEADING.fullmatch(str(key)) for key, _ in pairs]
    return [
        _section_in_json(_Section(_named(key[1])[0]), value, known)
        for key, (_, value) in zip(keys, pairs, strict=True)
        if key and all(keys)
    ]


def _pairs(data: Any) -> list[tuple[str, Any]]:
    return list(data.items()) if isinstance(data, dict) else list(data) if isinstance(data, Pairs) else []


def _section_in_json(section: _Section, value: Any, known: Known) -> _Section:
    for one in value if isinstance(value, list) and not isinstance(value, Pairs) else [value]:
        if isinstance(one, str):
            for line in read_lines(one, known.texts):
                _read_line(plain(line), _Reading(known, [section]))
        elif one is not None:
            section.errors += [{**error, "severity": section.severity} for error in read_items(one)]
    section.states_none = section.states_none or not section.errors
    return section


def _errors(reading: _Reading) -> tuple[ErrorSpan, ...]:
    """The errors of all sections, if nothing speaks against it that these are all."""
    _refuse_several_lists(reading.sections)
    translation, found, stated = reading.known.translation, list[ErrorSpan](), reading.none
    for section in reading.sections:
        errors = [read_error(error, translation, named_severity) for error in section.errors]
        found += [error for error in errors if error]
        if section.states_none or None in errors:
            stated.add(section.severity)
    for last in reading.sections[-1:]:
        if not (last.errors or last.states_none):
            _fail("nothing stands under the last heading: neither an error nor no-error", last.severity)
    if not found and not stated.issuperset(REQUIRED):
        _fail("it names no error, but does not say no-error under each heading", ", ".join(sorted(stated)))
    _check_remarks(reading, found)
    return located(found, translation)


def _refuse_several_lists(sections: list[_Section]) -> None:
    """Raise if the headings begin anew: an example that is repeated, or a second draft, would count with the list.

    A heading before every single error begins anew too, but then none of them says no-error.
    """
    lists: list[list[_Section]] = []
    for section in sections:
        if not lists or (section.severity == lists[0][0].severity and len(lists[-1]) > 1):
            lists.append([])
        lists[-1].append(section)
    alike = all([one.errors for one in each] == [one.errors for one in lists[0]] for each in lists)
    if len(lists) > 1 and (alike or any(section.states_none for section in sections)):
        _fail("it has several lists", ", ".join(section.severity for section in sections))


def _check_remarks(reading: _Reading, found: list[ErrorSpan]) -> None:
    """Raise if an error is named outside of the lists only."""
    spans = {error.text for error in found}
    for line in (*reading.introduction, *reading.remarks):
        items = read_listed(line, reading.known) if line.quoted else None
        named = [item.span for item in items or () if is_category(item.category)]
        if line in reading.remarks and not named and _COMPLAINT.search(line.text):
            named = [quoted.text for quoted in line.quoted]
        if named and spans.isdisjoint(named):
            _fail("an error is named outside of the lists", line.written())


def _fail(problem: str, culprit: str) -> NoReturn:
    shown = culprit if len(culprit) <= EXCERPT else f"{culprit[:EXCERPT]}…"
    raise RatingParseError(f"{problem}: {shown!r}") from None
