"""One line of a list of errors: its categories, spans, suggestions and explanations, whichever comes first.

``accuracy/mistranslation - "span"``, ``(1) "span" - Mistranslation``, ``style/awkward: "span" should be "other"`` …
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import regex

from mtagent import mqm
from mtagent.evaluators.quoted import MARK, Line
from mtagent.spans import normalise

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
_SENTENCE = frozenset(
    ["is", "are", "was", "were", "be", "been", "has", "have", "should", "could", "would", "this", "that", "it", "not"]
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
    words = name.casefold().split()
    return (
        0 < len(words) <= _MOST_WORDS
        and len(name) <= _LONGEST_CATEGORY
        and _SENTENCE.isdisjoint(words)
        and _CATEGORY.fullmatch(name) is not None
    )


def category_of(written: str) -> str:
    """A category with its dimension before a slash: ``Accuracy (Mistranslation)`` is ``accuracy/mistranslation``."""
    written = written.strip(_EDGES + "[]_*`").replace("_", " ")
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
