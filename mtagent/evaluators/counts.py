"""How many errors a model counts, or which score it gives for them, in the shapes that models answer with.

``2, 1``, ``Major: 2, Minor: 1``, ``There are two major errors and no minor ones``, ``{"major": 2, "minor": 1}``,
``<score>-11</score>`` … This is EAPrompt's second step, and the end of its one-step reply.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, NoReturn

import regex

from mtagent.errors import RatingParseError
from mtagent.llm.reading import read_json, without_thoughts

MAJOR, MINOR = 5, 1
"""What EAPrompt deducts for an error."""

_UP_TO_TEN = ("no none zero nil", "one a an", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDS = {word: number for number, words in enumerate(_UP_TO_TEN) for word in words.split()}
_NUMBER = rf"(?P<number>\d{{1,4}}|(?:{'|'.join(_WORDS)})\b)"
_KIND = r"(?P<kind>major|minor)s?\b"
_NOUN = r"(?:\s+(?:error|mistake|issue|one)s?\b)?"
# The number ends a phrase: it is neither a part of another number nor the number of an item, as in `Major: (1) "Sie"`.
_PHRASE_ENDS = r"(?=[.)\]]?\s*(?:$|[,;&+/|(，、；]|(?:and|major|minor|total|errors?)\b))"
_LABELLED = regex.compile(
    rf"\b{_KIND}{_NOUN}\s*(?:count\s*)?(?:[:=：]|[-–—]\s|is\b|are\b|\((?=\d+\)))?\s*{_NUMBER}\)?{_PHRASE_ENDS}",
    regex.IGNORECASE | regex.MULTILINE,
)
_COUNTED = regex.compile(rf"(?<![\d.\-−–]){_NUMBER}\s+{_KIND}", regex.IGNORECASE)
_NEITHER = regex.compile(
    r"\b(?:no|neither|zero)\s+(?:major|minor)(?:\s+errors?)?,?\s+(?:or|nor|and)\s+(?:major|minor)\b"
    r"|\bno(?:t any)?[ -](?:errors?|mistakes?|issues?)\b",
    regex.IGNORECASE,
)
_SOME = regex.compile(rf"\d|\b(?:{'|'.join(_UP_TO_TEN[2:])}|one|except|but|apart|other)\b", regex.IGNORECASE)
_PAIR = regex.compile(
    r"^(?P<label>[^\d\n]{0,40}[:=：]\s?)?[^\w\n]{0,20}(?<![\d.\-−–])(?P<major>\d{1,4})(?:\.0)?"
    r"\s*(?:[,;，、&]|\band\b|\s)\s*(?P<minor>\d{1,4})(?:\.0)?[^\w\n]{0,20}$",
    regex.MULTILINE,
)
_TAGGED = regex.compile(r"<\s*score\s*>([^<]{0,200})<\s*/\s*score\s*>", regex.IGNORECASE)
_SCORE_LINE = regex.compile(r"\bscore\b[^\n]{0,200}?(?:\s*(?:[:=：]|\bis\b|\bof\b))++([^\n]*)", regex.IGNORECASE)
_QUOTE = regex.compile(r"[\"“”„«»「」]")
_LEADS_TO_SCORE = regex.compile(
    r"\bscore\b|^(?=[^=]*+=)[\W\d]++$|^\W*(?:based\son|total|deduct)|\b\d{1,4}\s+(?:x\s+)?(?:major|minor)\b"
    r"|\b(?:major|minor)(?:\s+errors?)?\s*[:=]\s*\d{1,4}\b(?!\s*[.)]\s*\w)",
    regex.IGNORECASE,
)
_SCORE = regex.compile(r"(?:[^\n]*=)?+\s*(?P<minus>[-−–]?)\s*(?P<digits>\d{1,6})(?:\.0+)?(?:\s*points?)?\s*\.?\s*")
_MARKS = regex.compile(r"[*_`]+")


class Counted(NamedTuple):
    """What a model counted. ``major`` and ``minor`` are ``None`` where it only gave the ``score``, which is ≤ 0."""

    score: int
    major: int | None = None
    minor: int | None = None

    @classmethod
    def of(cls, major: int, minor: int) -> Counted:
        """The count with the score that follows from it."""
        return cls(-(MAJOR * major + MINOR * minor), major, minor)

    def agrees(self, other: Counted) -> bool:
        """Whether the two say the same, as far as both say it."""
        if self.major is None or other.major is None:
            return self.score == other.score
        return self == other

    def __str__(self) -> str:
        return f"a score of {self.score}" if self.major is None else f"{self.major} major and {self.minor} minor"


def read_count(reply: str) -> Counted:
    """How many errors ``reply`` counts, or the score it gives in place of that.

    Raises :class:`RatingParseError` for a reply that says neither, one number alone, or different things.
    """
    text = _MARKS.sub("", without_thoughts(reply)).strip()
    for read in (_json, _labelled, _pair, _counted, _neither, _tagged):
        if (counted := read(text)) is not None:
            return counted
    _fail("it does not say how many major and minor errors there are", text)


def read_score(reply: str) -> Counted:
    """The score at the end of a reply that holds the list of errors too: in ``<score>`` tags, or after the word score.

    Raises :class:`RatingParseError` for none, for several, and for one that is no whole number ≤ 0.
    """
    text = _MARKS.sub("", without_thoughts(reply)).strip()
    if (counted := _tagged(text)) is not None:
        return counted
    lines = [found[1] for found in _SCORE_LINE.finditer(text)]
    return Counted(_score(lines[-1])) if lines else _fail("it gives no score", text)


def without_score(reply: str) -> str:
    """``reply`` without the score at its end and the lines that lead to it: counts and sums, no quoted spans."""
    lines = _TAGGED.sub("", reply).rstrip().split("\n")
    while lines and not _QUOTE.search(lines[-1]) and (not lines[-1].strip() or _LEADS_TO_SCORE.search(lines[-1])):
        lines.pop()
    return "\n".join(lines)


def _json(text: str) -> Counted | None:
    if "{" not in text and not text.startswith("["):
        return None
    data = read_json(text)
    if isinstance(data, list) and len(data) == 2:
        return Counted.of(_whole(data[0], text), _whole(data[1], text))
    if not isinstance(data, dict):
        _fail("its JSON is no count", text)
    named = {kind: [data[key] for key in data if str(key).casefold().startswith(kind)] for kind in ("major", "minor")}
    if any(len(values) != 1 for values in named.values()):
        _fail("its JSON does not say how many major and how many minor errors there are", text)
    return Counted.of(_whole(named["major"][0], text), _whole(named["minor"][0], text))


def _labelled(text: str) -> Counted | None:
    return _both(_LABELLED.finditer(text), text)


def _counted(text: str) -> Counted | None:
    return _both(_COUNTED.finditer(text), text)


def _both(found: Iterable[regex.Match[str]], text: str) -> Counted | None:
    """The count of both kinds, ``None`` where one is not counted."""
    said: dict[str, set[int]] = {"major": set(), "minor": set()}
    for match in found:
        number = match["number"].casefold()
        said[match["kind"].casefold()].add(_WORDS[number] if number in _WORDS else int(number))
    if any(len(numbers) > 1 for numbers in said.values()):
        _fail("it counts the same errors twice, differently", text)
    return Counted.of(said["major"].pop(), said["minor"].pop()) if all(said.values()) else None


def _pair(text: str) -> Counted | None:
    """Two numbers on a line of their own, or after a word such as "Answer:" that does not put them in another order."""
    found = {
        (int(pair["major"]), int(pair["minor"])) for pair in _PAIR.finditer(text) if _in_order(pair["label"] or "")
    }
    if len(found) > 1:
        _fail("it gives several counts", text)
    return Counted.of(*found.pop()) if found else None


def _in_order(label: str) -> bool:
    return regex.findall("major|minor", label.casefold()) in ([], ["major", "minor"])


def _neither(text: str) -> Counted | None:
    return Counted.of(0, 0) if _NEITHER.search(text) and not _SOME.search(text) else None


def _tagged(text: str) -> Counted | None:
    scores = {_score(found[1]) for found in _TAGGED.finditer(text)}
    if len(scores) > 1:
        _fail("it gives several scores", text)
    return Counted(scores.pop()) if scores else None


def _score(written: str) -> int:
    """``-15``, also at the end of a sum: ``-5-5-5 = -15``."""
    found = _SCORE.fullmatch(written)
    if found is None:
        _fail("its score is no whole number", written)
    number = int(found["digits"])
    if number and not found["minus"]:
        _fail("its score is above 0, where every error takes points away", written)
    return -number


def _whole(value: object, text: str) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= 4:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != value // 1:
        _fail(f"{value!r} is no number of errors", text)
    return int(value)


def _fail(problem: str, text: str) -> NoReturn:
    raise RatingParseError(f"{problem}: {text[:120]!r}")
