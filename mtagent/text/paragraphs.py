"""Paragraphs and sentences: where a text may be cut, how its pieces are joined again, exactly, and how they end.

:func:`split` cuts at line breaks, into paragraphs and the separators around them. A separator is a run of white space
that holds a line break; white space at the two ends of a text belongs to the outer separators. ``join(*split(text)) ==
text`` for every text. :func:`blocks` cuts at blank lines alone, :func:`sentences` also at the ends of sentences.
:func:`is_ended` and :func:`endings` read their last marks.

What a line break is, is defined here for the guards, the chain, the formats and reviews: :data:`LINE_BREAKS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import regex

from mtagent.text import scripts
from mtagent.text.word_lists import word_lists, words_by_language

LINE_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""The characters at which Python's ``str.splitlines`` begins a new line; ``\\r\\n`` is one line break.

All of them count, because some program that reads an output file by lines would see one line more: Python's universal
newlines and csv readers split at a lone ``\\r``, editors and ``splitlines`` at the rest. A text file is read by
``\\n`` and ``\\r\\n`` alone (``formats.files.lines_of``), as ``wc -l`` counts it, so a text from a file may hold any of
the others. It may keep them, and an edit may bring back those of its source; no edit may add any other to a text of one
line.
"""
_LINE_BREAK = regex.compile(rf"\r\n|[{LINE_BREAKS}]")
_SPACE = re.compile(r"\s+")


def line_breaks(text: str) -> list[str]:
    """The line breaks in ``text``, in order. ``\\r\\n`` is one, written ``\\n``: files differ in it, texts do not."""
    return ["\n" if found == "\r\n" else found for found in _LINE_BREAK.findall(text)]


def new_line_breaks(text: str, *known: str) -> set[str]:
    """The kinds of line breaks that ``text`` has, and none of the ``known`` texts."""
    if text.isprintable():
        return set()
    return set(line_breaks(text)).difference(*map(line_breaks, known))


class Paragraphs(NamedTuple):
    """``texts`` holds the n paragraphs, ``separators`` the n + 1 pieces of white space around them."""

    texts: tuple[str, ...]
    separators: tuple[str, ...]


def split(text: str) -> Paragraphs:
    """Split ``text`` at line breaks. A blank text has no paragraph and one separator: itself."""
    body = text.strip()
    if not body:
        return Paragraphs((), (text,))
    first = text.index(body[0])
    last = first + len(body)
    if len(body.splitlines()) == 1:
        return Paragraphs((body,), (text[:first], text[last:]))
    texts, separators, start = [], [text[:first]], first
    for space in _SPACE.finditer(text, first, last):
        if _LINE_BREAK.search(space.group()):
            texts.append(text[start : space.start()])
            separators.append(space.group())
            start = space.end()
    texts.append(text[start:last])
    separators.append(text[last:])
    return Paragraphs(tuple(texts), tuple(separators))


def join(texts: Sequence[str], separators: Sequence[str]) -> str:
    """The inverse of :func:`split`. Raises ``ValueError`` if there is not one separator more than texts."""
    if len(separators) != len(texts) + 1:
        raise ValueError(f"{len(texts)} paragraphs need {len(texts) + 1} separators, not {len(separators)}")
    pieces = [separators[0]]
    for text, separator in zip(texts, separators[1:], strict=True):
        pieces += [text, separator]
    return "".join(pieces)


def like(text: str, model: str) -> str | None:
    """``text`` with the separators of ``model``, or ``None`` if the two differ in their number of paragraphs."""
    texts, separators = split(text).texts, split(model).separators
    return join(texts, separators) if len(separators) == len(texts) + 1 else None


_CLOSERS = "\"'”’“‘»)\\]*_"
_WIDE_CLOSERS = "\"'”’」』）》】"
_ENDS = (
    rf"(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?=\s|$)"
    rf"|[。！？｡]++[{_WIDE_CLOSERS}]*+|[।॥؟۔။។]++[{_CLOSERS}]*+|[{LINE_BREAKS}]"
)
_END = regex.compile(rf"(?:{_ENDS})\s*+")
_BY_SPACE = regex.compile(rf"(?:{_ENDS}|\s)\s*+")
_END_BY_LANGUAGE = {
    "el": regex.compile(rf"(?:{_ENDS}|;(?=\s|$))\s*+"),  # Greek asks with a semicolon
    "th": _BY_SPACE,  # Thai and Lao end a sentence with nothing but a space
    "lo": _BY_SPACE,
}
_BLANK_LINE = regex.compile(rf"(?>\r\n|[{LINE_BREAKS}])[^\S{LINE_BREAKS}]*+[{LINE_BREAKS}]\s*+")


def blocks(text: str) -> list[str]:
    """Cut ``text`` at blank lines; white space stays with the paragraph before it, and nothing is lost."""
    return _cut(text, _BLANK_LINE)


@scripts.remembered
def sentences(text: str, lang: str = "") -> tuple[str, ...]:
    """Cut ``text`` into sentences and lines; white space stays with the sentence before it, and nothing is lost."""
    return tuple(_cut(text, _END_BY_LANGUAGE.get(lang.split("-")[0].lower(), _END)))


def ends_sentence(text: str) -> bool:
    """Whether a sentence or a line ends in ``text``."""
    return _END.search(text) is not None


def _cut(text: str, end: regex.Pattern[str]) -> list[str]:
    pieces: list[str] = []
    start = 0
    for match in end.finditer(text):
        is_within = match[0].strip() == "." and not line_breaks(match[0])
        if is_within and _ends_in_abbreviation(text, start, match.start()):
            continue
        if text[start : match.end()].strip():
            pieces.append(text[start : match.end()])
            start = match.end()
    if text[start:].strip():
        pieces.append(text[start:])
    elif pieces:
        pieces[-1] += text[start:]
    return pieces


# -- full stops that end no sentence: abbreviations, initials, list numbers and ordinals

# The tables hold the abbreviations of running text, by language. They are used for texts in any language: a text quotes
# others, and a source's language is often not given. So a word that is also a plain word in one of these languages is
# in a table only if what follows tells which of the two it is.
_ABBREVIATIONS = word_lists("abbreviations")


def _in_any_language(table: dict[str, str]) -> frozenset[str]:
    return frozenset().union(*words_by_language(table).values())


_NEVER_LAST = _in_any_language(_ABBREVIATIONS["never_last"])
"""What a name or more of the sentence follows."""
_BEFORE_A_NUMBER = _in_any_language(_ABBREVIATIONS["before_a_number"])
"""What a number follows. Alone they may be words that end a sentence: "No." """
_MAY_BE_LAST = _in_any_language(_ABBREVIATIONS["may_be_last"])
"""What ends a sentence if a capital letter follows."""
_GERMAN_MONTHS = frozenset([
    "januar", "jänner", "februar", "feber", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober",
    "november", "dezember",
])  # fmt: skip
"""German writes them with a capital, as it does the beginning of a sentence: "am 3. Mai"."""
_FARTHEST = 24  # characters before a full stop that are looked at
_CHAIN = regex.compile(r"(?<![\p{L}\p{M}\p{N}])(?:\p{L}\.[ \u00a0\u202f]?)+\p{L}\Z")
_LAST_WORD = regex.compile(r"(?<![\p{L}\p{M}\p{N}])[\p{L}\p{M}№][\p{L}\p{M}\p{N}.º°-]*+\Z")
_ENUMERATOR = regex.compile(r"[^\p{L}\p{N}]*+(?:\p{N}{1,3}+(?:\.\p{N}{1,3}+)*+|\p{L}|[IVXivx]{1,5}+)\Z")
_ORDINAL = regex.compile(r"(?<![\p{L}\p{N}.,])\p{N}{1,2}\Z")
_NEXT = regex.compile(r"[ \u00a0\u202f]*+([^\s\p{L}\p{N}]*+)([\p{L}\p{M}]++|\p{N}|\Z)(\.?)")


def _ends_in_abbreviation(text: str, start: int, stop: int) -> bool:
    """Whether the full stop at ``stop`` belongs to what is before it, in a sentence that begins at ``start``."""
    follows = _NEXT.match(text, stop + 1)
    if follows is None:
        return False
    marks, following, stop_follows = follows.groups()
    if _ENUMERATOR.match(text, start, stop):
        return bool(following)
    begins_small = following[:1].islower()
    before = max(start, stop - _FARTHEST)
    if _ORDINAL.search(text, before, stop):
        return begins_small or following.casefold() in _GERMAN_MONTHS
    chain, word = _CHAIN.search(text, before, stop), _LAST_WORD.search(text, before, stop)
    if word is None:
        return False
    abbreviation = "".join((chain or word)[0].casefold().split())
    if abbreviation in _MAY_BE_LAST:
        return begins_small or following.isdigit() or marks[:1] in (",", ";", ":", ")")
    if chain is not None or abbreviation in _NEVER_LAST:
        return True
    if abbreviation in _BEFORE_A_NUMBER and following.isdigit():
        return True
    is_initial = len(abbreviation) == 1 and word[0].isupper()
    begins_chain = len(abbreviation) == 1 and len(following) == 1 and stop_follows == "."
    return is_initial or begins_chain


# -- how a text and its sentences end

# Every script's own marks; Armenian sets its question mark into the stressed word.
_FINAL = regex.compile(r"(?:[\p{Sentence_Terminal}…:：」』፧։།༎\u037e][\p{P}\p{Sm}\s*_]*|[՞՜][^։.]*)\Z")
_GREEK_QUESTION = regex.compile(r";[\p{P}\s*_]*\Z")
_TAIL = 40


def is_ended(text: str, lang: str, *, surely: bool = False) -> bool:
    """Whether ``text`` ends with a mark that ends a sentence in ``lang``, or in a script that has none, if not
    ``surely``."""
    tail = text[-_TAIL:]
    if not surely and scripts.script_of(lang) in scripts.WITHOUT_FINAL_MARKS:
        return True
    is_greek = scripts.language_of(lang) == "el"
    return bool(_FINAL.search(tail) or (is_greek and _GREEK_QUESTION.search(tail)))


class Endings(NamedTuple):
    """How the sentences of a text end."""

    questions: list[tuple[str, ...]]
    """The last two words of each question."""
    statements: list[tuple[str, ...]]
    """The last two words of each statement."""
    last: str
    """``question`` or ``statement``, for the last sentence; empty if it is neither for certain."""


_SENTENCE_MARK = regex.compile(r"[?？؟⸮፧՞\u037e.。।։!！…]++")
_GREEK_MARK = regex.compile(r"[?;\u037e.!…]++")
_ASKING = frozenset("?？؟⸮፧՞\u037e")
_STATING = frozenset(".。।։")
_BEFORE_MARK = 40  # characters in which the last two words are looked for
_JAPANESE_QUESTION = regex.compile(r"[かのねよわな][\p{Pe}\p{Pf}]*+\Z")
_JAPANESE_REQUEST = regex.compile(
    r"(?:くださ[いり]|下さい|なさい|願い(?:いた|致|申し上げ)?(?:し)?ます|ましょう|ちょうだい|頂戴|てくれ|でくれ|[てで](?:欲|ほ)しい(?:です)?)"
    r"(?:ませ)?[\p{Pe}\p{Pf}]*+\Z"
)
"""A request, which other languages put as a question: would you close the door?"""


def asks_alike(text: str, other: str) -> bool:
    """Whether two texts have as many marks of questions (``;`` is one in Greek)."""
    marks = ";?？؟⸮፧՞\u037e"
    return all(text.count(mark) == other.count(mark) for mark in marks)


def endings(text: str, lang: str) -> Endings:
    """How the sentences of ``text`` end. A Japanese question without a mark is neither question nor statement here."""
    endings = Endings([], [], "")
    last = ""
    language = scripts.language_of(lang)
    is_japanese = language == "ja"
    asking, pattern = _ASKING, _SENTENCE_MARK
    if language == "el":
        asking, pattern = _ASKING | {";"}, _GREEK_MARK
    for match in pattern.finditer(text):
        sentence = text[max(0, match.start() - _BEFORE_MARK) : match.start()]
        words = tuple(map(str.casefold, scripts.word_pattern(sentence).findall(sentence)[-2:]))
        last = ""
        if not asking.isdisjoint(match.group()):
            endings.questions.append(words)
            last = "question"
        elif match.group() in _STATING and not (is_japanese and _JAPANESE_QUESTION.search(sentence)):
            endings.statements.append(words)
            # A request may stand for a question in other words, but not for one in the same.
            if not is_japanese or not _JAPANESE_REQUEST.search(sentence):
                last = "statement"
    return endings._replace(last=last)
