"""Errors listed as text under the headings Critical, Major and Minor, in the shapes that models give them.

This is the reply of GEMBA-MQM (``accuracy/mistranslation - "span"``) and of EAPrompt (``(1) "span" - Mistranslation``).
A line is a heading, one or more errors, a stated "no-error", or a remark; any other line makes the reply unreadable.
Quoted spans are marked first, so that nothing in them is taken for structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import NamedTuple, cast

import regex

from mtagent.evaluators.replies import WHOLE_TRANSLATION, errors_in, is_all, located, read_error, refuse, verdict_on_all
from mtagent.evaluators.replies import Item as Fields
from mtagent.llm.reading import read_answer, whole_characters, without_thoughts
from mtagent.records import ErrorSpan, Severity
from mtagent.text import mqm
from mtagent.text.scripts import is_spaced
from mtagent.text.spans import normalise
from mtagent.text.word_lists import alternatives, word_lists

# Quoted spans

MARK = "\ue000"
_MOST_QUOTES = 60  # looked at to find the end of one span, and spans in one line; bounds the work
_MOST_ENDS = 8
_CLOSERS = {
    '"': '"', "＂": "＂", "“": "”", "”": "”", "„": '“”"', "«": "»", "»": "«»", "‹": "›", "「": "」", "『": "』",
    "‘": "’", "’": "’", "‚": "‘’", "'": "'",
}  # fmt: skip
_QUOTE = regex.compile(r"[\"＂“”„«»‹›「」『』‘’‚']|`++")
_APOSTROPHES = frozenset("'’‘‚`")


class Quoted(NamedTuple):
    """A quoted span: its text, and how it is written with its quotes."""

    text: str
    written: str


class MarkedLine(NamedTuple):
    """A line with :data:`MARK` in place of each quoted span."""

    text: str
    quoted: tuple[Quoted, ...] = ()
    open: bool = False
    """Whether a quotation in it does not end."""

    def part(self, start: int, end: int | None = None) -> MarkedLine:
        """``text[start:end]`` with the spans in it, without surrounding white space."""
        text = self.text[start:end]
        first = self.text.count(MARK, 0, start)
        return MarkedLine(text.strip(), self.quoted[first : first + text.count(MARK)], self.open)

    def written(self) -> str:
        """The line as the model wrote it."""
        written, *pieces = self.text.split(MARK)
        for quoted, piece in zip(self.quoted, pieces, strict=True):
            written += quoted.written + piece
        return written.strip()


class QuotableTexts:
    """The texts that spans are quoted from: the translation, and the source if there is one."""

    def __init__(self, translation: str, source: str = "") -> None:
        self.translation, self.source, self.texts = translation, source, (translation, source)
        self._normal = (normalise(translation), normalise(source))

    def quotes(self, span: str) -> bool:
        """Whether ``span`` is in one of them, letter by letter."""
        return any(span in text for text in self.texts)

    def holds(self, span: str) -> bool:
        """Whether ``span`` is in one of them, quotes, case and spaces aside."""
        return self.quotes(span) or any(normalise(span) in text for text in self._normal)


def with_marks(line: str, quotable: QuotableTexts) -> MarkedLine:
    """``line`` with its quoted spans marked, without what models add to them: escapes, spaces of French quotes."""
    pieces: list[str] = []
    quoted: list[Quoted] = []
    at = begin = 0
    for _ in range(_MOST_QUOTES):
        opening = _next_opening(line, begin)
        if opening is None:
            return MarkedLine("".join([*pieces, line[at:]]), tuple(quoted))
        quote, begin = opening.group(), opening.end()
        end = _end_of_span(line, begin, quote, quotable)
        if end is not None:
            text, close = line[begin:end], end + len(quote)
            escaped = text.replace('\\"', '"').replace("\\'", "'")
            spellings = (text, escaped, text.strip(), escaped.replace("\\n", "\n").strip())
            meant = escaped
            for spelling in spellings:
                if quotable.quotes(spelling):
                    meant = spelling
                    break
            quoted.append(Quoted(meant, line[opening.start() : close]))
            pieces += [line[at : opening.start()], MARK]
            at = begin = close
        elif quote[0] not in _APOSTROPHES:  # an apostrophe alone isn't a quote
            break
    return MarkedLine("".join([*pieces, line[at:]]), tuple(quoted), _QUOTE.search(line, at) is not None)


def _next_opening(line: str, begin: int) -> regex.Match[str] | None:
    for mark in _QUOTE.finditer(line, begin):
        if _opens(line, mark.start(), mark.group()):
            return mark
    return None


def _end_of_span(line: str, at: int, quote: str, quotable: QuotableTexts) -> int | None:
    """The end of the span that begins at ``at``: of the longest span in the texts, else where its quotes balance."""
    closers = _CLOSERS.get(quote, quote)
    ends: list[int] = []
    balanced: int | None = None
    depth = 1
    for match in islice(_QUOTE.finditer(line, at), _MOST_QUOTES):
        place, mark = match.start(), match.group()
        if line[place - 1] == "\\":
            continue
        after = line[match.end() : match.end() + 1]
        word_goes_on = mark not in "”»›」』" and after and _in_word(after)
        if mark in closers and not word_goes_on:
            ends.append(place)
            depth -= 1
            if depth == 0 and balanced is None:
                balanced = place
            if len(ends) == _MOST_ENDS:
                break
        elif mark == quote:
            depth += _opens(line, place, mark)
    for end in reversed(ends):
        if quotable.quotes(line[at:end]):
            return end
    return balanced


def _opens(line: str, at: int, quote: str) -> bool:
    """Whether a span may begin here: not within a word, unless the script has no spaces."""
    return quote in "“„«‹「『" or at == 0 or not (_in_word(line[at - 1]) or line[at - 1] == "\\")


def _in_word(char: str) -> bool:
    return char.isalnum() and is_spaced(char)


# Lines of errors

_LISTS = word_lists("headings")
_DIMENSION = rf"(?:{alternatives(_LISTS['dimension'])})"
_KNOWN = rf"(?:{_DIMENSION}|{alternatives(_LISTS['subtype'])})"
_CATEGORY = regex.compile(r"[^\W\d_][\w /&'’-]*+", regex.IGNORECASE)
_KNOWN_WORD = regex.compile(rf"\b{_KNOWN}\b", regex.IGNORECASE)
_TWO_LEVELS = regex.compile(rf"({_DIMENSION})(?:\s*+[/\\:>|→(]|\s[-–—]+\s)\s*+([^()\s][^()]*+)\)?", regex.IGNORECASE)
_SENTENCE = regex.compile(rf"(?<!\S)(?:{alternatives(_LISTS['sentence'])})(?!\S)")
_BULLETS = regex.compile(
    r"(?:[-*•‣▪◦·–—+>#]++\s*+|\(?\d{1,3}[.):\]]++\s*+|\[\d{1,3}\]\s*+|\(?[a-z][.)]\s++|\s++)*+", regex.IGNORECASE
)
# Not to be begun within white space: that would be tried again from every space of a long run.
_SEPARATOR = regex.compile(r"(?<!\s)\s*+(?:[:：=|]|[-–—]++(?=\s|$)|(?P<tight>(?<=\S)[-–—](?=[\w\[])))\s*+")
_EDGES = " \t\n-–—:：=>|(,→.;)/"
_NAME_ENDS = ("-", "–", "—", ":", "：", "=", "|")
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
_FIX = regex.compile(rf"(?:{alternatives(_LISTS['fix'])})\s?:?\s?{MARK}", regex.IGNORECASE)
# The words before a span after which it is only the place of an error: "missing comma after …", "the verb in …"
_BESIDE = regex.compile(rf"\b(?:{alternatives(_LISTS['beside'])})\b[^{MARK}.:;]{{0,30}}$", regex.IGNORECASE)
_OFFERED = regex.compile(alternatives(_LISTS["offered"]), regex.IGNORECASE)
_DESCRIBED = regex.compile(alternatives(_LISTS["described"]), regex.IGNORECASE)
_INSTEAD = regex.compile(rf"\s*+(?:instead\sof|rather\sthan|in\splace\sof)\s{MARK}", regex.IGNORECASE)
_RENDERED = regex.compile(rf"(?:{alternatives(_LISTS['rendered'])})\s{MARK}", regex.IGNORECASE)
_ARROW_BETWEEN = regex.compile(rf"\s*+(?:->|→|=>|⇒)\s*+{MARK}")
_INTRODUCED = regex.compile(
    rf"(?:the\s)?(?:source\s|original\s)?(?:word|phrase|term|expression|name|text|sentence)s?\s(?={MARK})",
    regex.IGNORECASE,
)
_NONE = regex.compile(
    rf"(?:there\s(?:is|are|was|were)\s)?(?:{alternatives(_LISTS['none'])}"
    rf"|no\s(?:(?:{alternatives(_LISTS['none_kinds'])}|{_DIMENSION}),?\s)*+(?:errors?|issues?|problems?|mistakes?))"
    rf"(?:\s(?:(?:were|was|are|is|have\sbeen|has\sbeen|to)\s)?(?:{alternatives(_LISTS['none_found'])}))?"
    r"(?:\sin\s(?:the|this)\stranslation)?(?:\s?\([^()]*+\))?",
    regex.IGNORECASE,
)
_NO_CATEGORY = regex.compile(rf"\b(?:{alternatives(_LISTS['no_category'])})", regex.IGNORECASE)
_FRAGMENTS = regex.compile(r"[:：,;()|=.]|\s[-–—]+\s|\s[-–—]+$|^[-–—]+")
_CUT = regex.compile(r"\s\(|\s(?:->|→|=>|⇒|[-–—])\s|[;:,]\s|\.$")
_ARROW = regex.compile(r"(?:->|→|=>|⇒)\s*+([^\s(;→>]++(?:\s[^\s(;→>]++)*+)")
_ALTERNATIVE = regex.compile(r"\s*+,?\s*+(?:or\b|and\b|/)", regex.IGNORECASE)
_QUOTE_MARKS = tuple("\"'“”„«»‹›「」『』‘’‚`")
_PLAIN = str.maketrans(dict.fromkeys("\u00a0\u202f\u3000", " ") | dict.fromkeys("‐‑−―", "-"))
_MOST_SEPARATORS = 6
_MOST_WORDS, _MOST_SHARED, _LONGEST_CATEGORY = 6, 80, 60


class Item(NamedTuple):
    """An error as a line gives it."""

    category: str
    span: str | None
    """``None`` if the line quotes no span."""
    suggestion: str | None = None
    explanation: str | None = None


def plain(line: MarkedLine) -> MarkedLine:
    """``line`` without bullets, numbers, Markdown's emphasis, and the quotes around a category that it begins with."""
    text = line.text.replace("**", "").replace("__", "").translate(_PLAIN).strip()
    bullets = _BULLETS.match(text)
    line = line._replace(text=text).part(bullets.end() if bullets else 0)
    if len(line.quoted) > 1 and line.text.startswith(MARK):
        first = line.quoted[0].text
        if "/" in first and is_category(first):
            line = line._replace(text=first + line.text[1:], quoted=line.quoted[1:])
    return line._replace(text=line.text.removeprefix("*").removesuffix("*").strip())


def says_none(line: MarkedLine) -> bool:
    """Whether the line only states that the text has no errors."""
    written = line.quoted[0].text if line.text.strip(_EDGES) == MARK else line.text
    return _NONE.fullmatch(written.strip(_EDGES + "[]_*`").replace("_", " ")) is not None


def read_listed(line: MarkedLine, quotable: QuotableTexts) -> list[Item] | None:
    """The errors of one line without its bullet; ``None`` if any part of it isn't an error."""
    line = plain(line)
    if _INTRODUCED.match(line.text) and _RENDERED.search(line.text):
        line = line.part(line.text.index(MARK))
    verdict = verdict_on_all(line.text)
    if verdict:
        return [Item(verdict, WHOLE_TRANSLATION, explanation=line.text)]
    following = _NEXT_BY_SPAN if line.text.startswith(MARK) else _NEXT_BY_CATEGORY
    items: list[Item] = []
    at = 0
    breaks = [match.span() for match in following.finditer(line.text)]
    for start, end in [*breaks, (len(line.text), 0)]:
        entry = plain(line.part(at, start))
        read_entry = _span_first if entry.text.startswith(MARK) else _category_first
        items_of_entry = read_entry(entry, quotable)
        if items_of_entry is None:
            return None
        items += items_of_entry
        at = end
    return items


def _category_first(entry: MarkedLine, quotable: QuotableTexts) -> list[Item] | None:
    """``category - "span"``, also with several spans, and words around them.

    A span without quotes must be in one of the texts, unless it is an omission.
    """
    category, rest = _head(entry)
    if not category or rest.text.startswith(_QUOTE_MARKS):  # a quote that has no end
        return None
    spans, tail = _spans_at_start(rest)
    if len(spans) > 1:
        return [Item(category, span, explanation=_words(tail)) for span in spans]
    if rest.quoted and (rest.text.strip(_EDGES) == MARK or not quotable.holds(rest.written())):
        first = rest.text.find(MARK)
        span, suggestion, tail = _span_and_fix(
            category, rest.text[:first], rest.quoted[0].text, rest.part(first + 1), quotable
        )
        explanation = rest.written() if rest.text[:first].strip(_EDGES) else _words(tail)
        return [Item(category, span, suggestion, explanation)]
    words = rest.written().strip("*_ []")
    if not words or mqm.is_non_translation(category):
        return [Item(category, "" if category.endswith("omission") else None, explanation=words or None)]
    if is_all(words) or verdict_on_all(words):
        return [Item(category, WHOLE_TRANSLATION, explanation=words)]
    cuts = [cut.start() for cut in islice(_CUT.finditer(words), _MOST_SEPARATORS)]
    for end in [len(words), *reversed(cuts)]:
        span = words[:end].strip("*_ ")
        if not quotable.holds(span):
            continue
        after = words[end:].strip()
        arrow = _ARROW.fullmatch(after)
        if arrow and _replaces(span, arrow[1], quotable):
            return [Item(category, span, arrow[1])]
        return [Item(category, span, explanation=_words(MarkedLine(after)))]
    if says_none(MarkedLine(words)):
        return [Item("no-error", None)]
    return [Item(category, words)] if category.endswith("omission") else None


def _span_first(entry: MarkedLine, quotable: QuotableTexts) -> list[Item] | None:
    """``"span" - category``, the category being anywhere among the words behind the span."""
    spans, tail = _spans_at_start(entry)
    span, suggestion, tail = _span_and_fix("", "", spans[-1], tail, quotable)
    fragments = [fragment.strip(_EDGES + "*`") for fragment in _FRAGMENTS.split(tail.text)]
    parts = list(filter(None, fragments))
    place = next((index for index, part in enumerate(parts) if is_category(part)), None)
    category, explanation = "", _words(tail)
    if place is not None:
        category = category_of(parts[place])
        parts_of_category = 1
        if len(parts) > place + 1:
            with_next = category_of(f"{category}: {parts[place + 1]}")
            if "/" in with_next and is_category(with_next):
                category = with_next
                parts_of_category = 2
        if len(parts) <= parts_of_category:
            explanation = None
    elif len(parts) == 1 and _is_short(parts[0]) and not parts[0].startswith("for "):
        category, explanation = parts[0], None
    elif not all(quotable.holds(span) for span in spans):
        return None
    category = category or "other"
    items = [Item(category, other_span, None, explanation) for other_span in spans[:-1]]
    return [*items, Item(category, span, suggestion, explanation)]


def _head(entry: MarkedLine) -> tuple[str, MarkedLine]:
    """The category that an entry begins with, and what follows it; ``""`` if it begins with none."""
    first = entry.text.find(MARK)
    head = entry.text if first < 0 else entry.text[:first]
    if first > 0 and is_category(head):
        return category_of(head), entry.part(first)
    for separator in reversed(list(islice(_SEPARATOR.finditer(head), _MOST_SEPARATORS))):
        left = head[: separator.start()]
        if is_category(left) and (not separator["tight"] or _KNOWN_WORD.search(left.rpartition("/")[2])):
            return category_of(left), entry.part(separator.end())
    if first < 0 and is_category(head):
        return category_of(head), MarkedLine("")
    name = category_of(head)
    ends_as_name = first > 0 and head.rstrip().endswith(_NAME_ENDS)
    if ends_as_name and _is_short(name) and not _NO_CATEGORY.search(name):
        return name, entry.part(first)
    return "", entry


def is_category(text: str) -> bool:
    """Whether ``text`` names a kind of error."""
    if len(text) > 2 * _LONGEST_CATEGORY:
        return False
    name = category_of(text)
    return _is_short(name) and " -" not in name and _KNOWN_WORD.search(name) is not None


def _is_short(name: str) -> bool:
    short = 0 < len(name.split()) <= _MOST_WORDS and len(name) <= _LONGEST_CATEGORY
    return short and _SENTENCE.search(name.casefold()) is None and _CATEGORY.fullmatch(name) is not None


def category_of(written: str) -> str:
    """A category with its dimension before a slash: ``Accuracy (Mistranslation)`` is ``accuracy/mistranslation``."""
    written = written.strip(_EDGES + "[]_*`!").replace("_", " ")
    levels = _TWO_LEVELS.fullmatch(written)
    if levels and ("/" in written or _KNOWN_WORD.search(levels[2])):
        written = f"{levels[1]}/{levels[2].strip()}"
    return regex.sub(r"\s*+/\s*+", "/", written).casefold()


def _spans_at_start(rest: MarkedLine) -> tuple[list[str], MarkedLine]:
    """The spans at the start, as in ``"x", "y" and "z"``, and what follows them."""
    spans = _MORE_SPANS.match(rest.text)
    end = spans.end() if spans else 0
    return [quoted.text for quoted in rest.part(0, end).quoted], rest.part(end)


def _span_and_fix(
    category: str, before: str, span: str, tail: MarkedLine, quotable: QuotableTexts
) -> tuple[str, str | None, MarkedLine]:
    """The wrong words, their replacement if the line clearly states one, and the remaining words.

    ``before`` are the words between the category and the span.
    """
    if len(tail.quoted) != 1:
        return span, None, tail
    other = tail.quoted[0].text
    here, there = span in quotable.translation, other in quotable.translation
    rendered = _RENDERED.search(tail.text)
    if rendered and here and span not in quotable.source:
        rendered = None
    if rendered is None and not here:
        rendered = _ARROW_BETWEEN.match(tail.text)
    if rendered and there and not category.endswith("omission"):  # the words of the source, then their translation
        rest = tail.text[rendered.end() :].strip(_EDGES)
        return other, None, MarkedLine(f"for {span!r}; {rest}" if rest else f"for {span!r}")
    fix = _FIX.search(tail.text)
    instead = None if fix else _INSTEAD.match(tail.text)
    if instead and there and not here:
        span, other = other, span
    elif not (fix or (instead and here and not there)):
        return span, None, tail
    replacement = cast("regex.Match[str]", fix or instead)
    words_to_replacement = f"{before} {tail.text[: replacement.end()]}"
    is_one_of_several = _OFFERED.search(words_to_replacement) or _ALTERNATIVE.match(tail.text, replacement.end())
    if is_one_of_several or _BESIDE.search(before) or not _replaces(span, other, quotable):
        return span, None, tail
    words_before = "" if instead else tail.text[: replacement.start()].rstrip()
    words_after = tail.text[replacement.end() :].lstrip()
    return span, other, MarkedLine(f"{words_before} {words_after}".strip())


def _replaces(span: str, suggestion: str, quotable: QuotableTexts) -> bool:
    """Whether ``suggestion`` can replace ``span`` and nothing else.

    It cannot if it describes the change, leaves words out with dots, is text of the source, only takes capitals away,
    or repeats the words around the span.
    """
    text, source = quotable.texts
    if _DESCRIBED.fullmatch(suggestion.strip()):
        return False
    for dots in ("...", "…"):
        if dots in suggestion and dots not in span:
            return False
    if suggestion in source and suggestion not in text and suggestion.casefold() != span.casefold():
        return False
    if suggestion.casefold() == span.casefold() and sum(map(str.isupper, suggestion)) < sum(map(str.isupper, span)):
        return False
    at = text.find(span)
    for _ in range(_MOST_QUOTES):
        if at < 0 or not span:
            return True
        end = at + len(span)
        before, after = text[max(0, at - _MOST_SHARED) : at], text[end : end + _MOST_SHARED]
        if _overlaps(before, suggestion, span) or _overlaps(suggestion, after, span):
            return False
        at = text.find(span, end)
    return False


def _overlaps(left: str, right: str, span: str) -> bool:
    """Whether ``left`` ends with what ``right`` begins with: words, a mark, or letters of a script without spaces."""
    left, right = left.rstrip()[-_MOST_SHARED:], right.lstrip()[:_MOST_SHARED]
    for size in range(1, min(len(left), len(right)) + 1):
        shared = right[:size]
        if left.endswith(shared) and shared not in (span[:size], span[-size:]):
            inside = _in_word(shared[0]) and left[-size - 1 : -size] and _in_word(left[-size - 1])
            goes_on = _in_word(shared[-1]) and right[size : size + 1] and _in_word(right[size])
            if not inside and not goes_on:
                return True
    return False


def _words(line: MarkedLine) -> str | None:
    """The words of a line, if it has any."""
    words = line.written().strip(_EDGES)
    if not any(map(str.isalnum, words)):
        return None
    return words


# Replies

REQUIRED: tuple[Severity, ...] = ("major", "minor")
_SEVERITY = r"(critical|major|minor|neutral)"
_NAMES = regex.compile(rf"\b{_SEVERITY}\b", regex.IGNORECASE)
_ERRORS = r"(?:[\s-](?:severity|level))?(?:\s(?:translation\s)?(?:errors?|issues?|problems?|mistakes?))?"
_HEADING = regex.compile(
    rf"[\[<(]?{_SEVERITY}{_ERRORS}[\])>]?(?:\s?\([^(){MARK}]{{0,80}}\))?\s?(?:[:：]|(?P<dash>[-–—]\s)|$)\*?\s*+",
    regex.IGNORECASE,
)
# "x" is a minor fluency/grammar error: a list without headings
_SENTENCE_OF_ERROR = regex.compile(
    rf"{MARK}\s(?:is|are)\s(?:an?\s)?{_SEVERITY}\s([^{MARK}]{{2,60}}?)(?:\serrors?)?\.?", regex.IGNORECASE
)
_WITHIN = regex.compile(rf"\b{_SEVERITY}{_ERRORS}(?:\s?\([^(){MARK}]{{0,40}}\))?\s?[:：]\s*+", regex.IGNORECASE)
_ENDS = (MARK, ".", ";", "|", ",", ")", "annotations:")
_FENCE = regex.compile(r"^[ \t]*+```[\w-]*+[ \t]*+$\n?", regex.MULTILINE)
_JSON = regex.compile(r"^[ \t]*+(?:\{|\[\s*+[\[{\"'\]])|\{\s*+[\"']", regex.MULTILINE)
_LABEL = regex.compile(r"(explanation|reason(?:ing)?)\s?[:：]\s*+", regex.IGNORECASE)
_SUGGESTION = regex.compile(
    rf"(?:suggest(?:ion|ed(?:\s\w+)?)|correct(?:ion|ed(?:\s\w+)?)|fix)\s?[:：]\s?{MARK}\.?", regex.IGNORECASE
)
_REMARK = regex.compile(alternatives(_LISTS["remark"]), regex.IGNORECASE)
_ABOUT_ALL = regex.compile(alternatives(_LISTS["about_all"]), regex.IGNORECASE)
_COMPLAINT = regex.compile(alternatives(_LISTS["complaint"]), regex.IGNORECASE)
_NO_COMPLAINT = regex.compile(
    r"\b(?:no|any|without|zero|not\sany|free\s(?:of|from))\s(?:[\w/'-]+,?\s){0,12}?(?:errors?|issues?|problems?|mistakes?)\b",
    regex.IGNORECASE,
)
_PRAISE = regex.compile(rf"\b(?:{alternatives(_LISTS['praise'])})\b", regex.IGNORECASE)
_LIMITED = regex.compile(rf"\b(?:{alternatives(_LISTS['limited'])})\b", regex.IGNORECASE)
# "Accuracy errors:" above a separate list, as in an annotation by dimensions
_GROUP = regex.compile(
    rf"\[?({_DIMENSION}(?:\sand\smarkup)?|(?:non-translation|other)(?=\serr))(?:\s(?:errors?|issues?))?\]?\s?(?:[:：]\s*+|$)",
    regex.IGNORECASE,
)
_TITLE = regex.compile(r"[^\W\d_][\w -]{0,40}:")


@dataclass
class _Section:
    """The content below one heading."""

    severity: Severity
    group: str = ""
    """The dimension whose list it belongs to."""
    errors: list[Fields] = field(default_factory=list)
    """As :func:`read_error` takes them."""
    states_none: bool = False
    """Whether a line below it states "no error"."""


def read_headed(reply: str, translation: str, *, source: str = "") -> tuple[ErrorSpan, ...]:
    """The errors in ``reply``, located in ``translation`` where that is certain.

    ``()`` only if the reply states that the text has no errors, or no major and no minor ones. The ``source`` helps to
    find where a quoted omission ends. JSON in place of the list is read by :func:`errors_in`. Raises
    :class:`RatingParseError` for a reply without a heading, for one that seems cut off, and for one with a line that
    is neither an error, nor "no-error", nor a remark at its end.
    """
    answer = without_thoughts(whole_characters(reply)).strip().removeprefix("\ufeff")
    text = _FENCE.sub("", answer).strip().replace(MARK, "\ufffd").replace("\r\n", "\n")
    lists = _Lists(QuotableTexts(translation, source))
    if not _JSON.match(text):
        for line in text.split("\n"):
            lists.read(line)
    sections, stated = lists.sections, lists.stated
    if not sections and not stated:
        if _JSON.search(answer):
            return errors_in(read_answer(answer), translation)
        if _says_only_none(text, lists.quotable):
            return ()
        refuse("it has no heading (Critical, Major, Minor)", answer)
    _refuse_several_lists(sections)
    errors: list[ErrorSpan] = []
    for section in sections:
        if section.states_none:
            stated.add(section.severity)
        for fields in section.errors:
            error = read_error(fields, translation)
            if error is None:  # an item that states no error
                stated.add(section.severity)
            else:
                errors.append(error)
    if sections and not (sections[-1].errors or sections[-1].states_none):
        refuse("nothing stands under the last heading: neither an error nor no-error", sections[-1].severity)
    if not errors and not stated.issuperset(REQUIRED):
        refuse("it names no error, but does not say no-error under each heading", ", ".join(sorted(stated)))
    _refuse_errors_in_remarks(lists.remarks, lists.quotable, {error.text for error in errors})
    return located(errors, translation)


@dataclass
class _Lists:
    """The lists of a reply, as far as its lines were read."""

    quotable: QuotableTexts
    sections: list[_Section] = field(default_factory=list)
    remarks: list[tuple[MarkedLine, bool]] = field(default_factory=list)
    """Each with whether it comes after the first heading."""
    stated: set[Severity] = field(default_factory=set)
    """The severities that a line calls error-free."""
    group: str = ""
    after_blank: bool = False
    in_remark: bool = False

    def read(self, written: str) -> None:
        """Read the next line."""
        whole = plain(with_marks(written, self.quotable))
        sentence = _SENTENCE_OF_ERROR.fullmatch(whole.text)
        if sentence and is_category(sentence[2]):
            error = Item(category_of(sentence[2]), whole.quoted[0].text)
            severity_of_error = cast(Severity, sentence[1].casefold())
            fields = {**error._asdict(), "severity": severity_of_error}
            self.sections.append(_Section(severity_of_error, self.group, [fields]))
            return
        self.group, rest = _after_group(whole, self.group)
        for severity, line in _pieces(rest):
            if severity:
                self.sections.append(_Section(severity, self.group))
                self.in_remark = False
            if line.text:
                self._read_piece(line)
        self.after_blank = not whole.text
        self.in_remark = self.in_remark and not self.after_blank

    def _read_piece(self, line: MarkedLine) -> None:
        """Read a line, or the part of one, that isn't a heading."""
        is_none = says_none(line)
        named = set[Severity]()
        if is_none:
            for name in _NAMES.findall(line.text):
                named.add(cast(Severity, name.casefold()))
            self.stated |= named
        if not self.sections:
            if not named:
                self.remarks.append((line, False))
            return
        section = self.sections[-1]
        if is_none:  # "no minor errors" under Major doesn't rule out major ones
            section.states_none |= not named or section.severity in named
        elif not self.after_blank and _explains_last(line, section):
            return
        elif (section.errors or section.states_none) and self._begins_remark(line):
            self._remark(line)
        else:
            # A quotation mark without a partner must occur in the texts, or the line is unreadable.
            items = read_listed(MarkedLine(line.written()) if line.open else line, self.quotable)
            if line.open and (items is None or any(item.explanation for item in items)):
                refuse("a quotation does not end: it is cut off, or quotes stand inside of it", line.written())
            if items is not None:
                for item in items:
                    section.errors.append({**item._asdict(), "severity": section.severity})
            elif self.after_blank and _praises(line, self.sections):
                self._remark(line)
            else:
                problem = "a line is neither an error with its category and its span in quotes, nor no-error"
                refuse(problem, line.written())

    def _begins_remark(self, line: MarkedLine) -> bool:
        words = line.text.lstrip("([")
        is_about_all = self.after_blank and _ABOUT_ALL.match(words) is not None
        return self.in_remark or is_about_all or _REMARK.match(words) is not None

    def _remark(self, line: MarkedLine) -> None:
        self.remarks.append((line, True))
        self.in_remark = True


def _pieces(line: MarkedLine) -> Iterator[tuple[Severity | None, MarkedLine]]:
    """A line cut at the headings in it: the severity of the section that each piece opens, if any, and its text."""
    heading = _HEADING.match(line.text)
    if heading and heading["dash"]:
        rest = line.part(heading.end())
        if not rest.text or not (says_none(rest) or MARK in rest.text or "/" in rest.text):
            heading = None
    at, severity = (heading.end(), heading[1].casefold()) if heading else (0, None)
    for within in _WITHIN.finditer(line.text, at):
        before = line.part(at, within.start())
        if before.text.endswith(_ENDS) or says_none(before):
            yield cast(Severity | None, severity), before
            at, severity = within.end(), within[1].casefold()
    yield cast(Severity | None, severity), line.part(at)


def _explains_last(line: MarkedLine, section: _Section) -> bool:
    """Whether a line explains the error above it; if so, it is added to that error."""
    if not section.errors:
        return False
    error = section.errors[-1]
    if _SUGGESTION.fullmatch(line.text) and error["suggestion"] is None:
        error["suggestion"] = line.quoted[0].text
        return True
    label = _LABEL.match(line.text)
    if label and error["explanation"] is None:
        error["explanation"] = line.part(label.end()).written()
        return True
    return False


def _after_group(line: MarkedLine, group: str) -> tuple[str, MarkedLine]:
    """The dimension whose list begins with ``line``, or else ``group``; and what follows its name in the line."""
    heading = _GROUP.match(line.text)
    if heading:
        rest = line.part(heading.end())
        if not rest.text or says_none(rest):
            return heading[1].casefold(), rest
    return group, line


def _says_only_none(text: str, quotable: QuotableTexts) -> bool:
    """Whether ``text``, with or without a title, only states that there are no errors."""
    lines = []
    for written in text.split("\n"):
        line = plain(with_marks(written, quotable))
        if line.text:
            lines.append(line)
    stated = False
    for line in lines:
        group, rest = _after_group(line, "")
        if says_none(rest) and (group or len(lines) > 1 or "error" in rest.text.casefold()):
            stated = True
        elif not (group and not rest.text) and not _TITLE.fullmatch(line.text):
            return False
    return stated


def _praises(line: MarkedLine, sections: Sequence[_Section]) -> bool:
    """Whether a line behind a complete list finds nothing wrong."""
    complete = {section.severity for section in sections}.issuperset(REQUIRED)
    is_good = _NO_COMPLAINT.search(line.text) or _PRAISE.search(line.text)
    return bool(complete and is_good) and not (_complains(line.text) or _LIMITED.search(line.text))


def _complains(text: str) -> bool:
    """Whether a remark reports a problem; "there are no errors" doesn't, unless a "but" follows."""
    if not _COMPLAINT.search(text):
        return False
    if _LIMITED.search(text):
        return True
    return _COMPLAINT.search(_NO_COMPLAINT.sub("", text)) is not None


def _refuse_several_lists(sections: Sequence[_Section]) -> None:
    """Raise if the headings start over: a repeated example or a second draft would be counted with the list.

    Headings also start over if every single error has a heading, but then none has "no-error" below it. Each dimension
    may have a separate list.
    """
    groups = [list(group) for _, group in groupby(sections, lambda section: section.group)]
    if len(groups) > 1 and len({group[0].group for group in groups}) == len(groups):
        for group in groups:
            _refuse_several_lists(group)
        return
    lists: list[list[_Section]] = []
    for section in sections:
        if not lists or (section.severity == lists[0][0].severity and len(lists[-1]) > 1):
            lists.append([])
        lists[-1].append(section)
    if len(lists) < 2:
        return
    errors_by_list = []
    for sections_of_list in lists:
        errors_by_list.append([section.errors for section in sections_of_list])
    are_alike = all(errors == errors_by_list[0] for errors in errors_by_list)
    if are_alike or any(section.states_none for section in sections):
        refuse("it has several lists", ", ".join(section.severity for section in sections))


def _refuse_errors_in_remarks(
    remarks: Sequence[tuple[MarkedLine, bool]], quotable: QuotableTexts, spans: set[str]
) -> None:
    """Raise if an error is named only outside the lists."""
    for line, is_behind in remarks:
        items = read_listed(line, quotable) if line.quoted else None
        named_spans = [item.span for item in items or () if is_category(item.category)]
        if is_behind and not named_spans and _complains(line.text):
            named_spans = [quoted.text for quoted in line.quoted]
        if named_spans and spans.isdisjoint(named_spans):
            refuse("an error is named outside of the lists", line.written())
