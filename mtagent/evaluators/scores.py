"""Scores and counts out of a model's reply."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, NoReturn

import regex

from mtagent.errors import RatingParseError
from mtagent.llm.reading import EXCERPT, Pairs, read_json, whole_characters, without_thoughts

_OF_100, _SCALE = "\ue001", "\ue002"  # stand for "out of 100" and "on a scale from 0 to 100"
_WINDOW = 100  # characters before a number that may say what it is
_JSON = regex.compile(r"\{\s*+(?:[\"'“}]|\w++\s*+:)")
_DECORATION = regex.compile(
    r"[*`\"“”„«»#{}\\$]|</?\w{1,20}>|(?<!\w)_|_(?!\w)|\bboxed\b|^[ \t]*+>[ \t]", regex.IGNORECASE | regex.MULTILINE
)
_ZERO_TO_HUNDRED = regex.compile(
    r"(?:\b(?:on|in|from|using|within)\s(?:a|the)\s)?(?:\bcontinuous\s)?(?:\b(?:scale|range)\s)?"
    r"(?:\b(?:of|from|between)\s)?\(?(?<![\d.,-])(?:0|(?<=\bscale\s(?:of|from)\s)1)\s?(?:-|–|—|to|and)\s?100(?!\d|[.,]\d)"
    r"\)?(?:\s(?:scale|range))?",
    regex.IGNORECASE,
)
_OUT_OF_100 = regex.compile(
    r"(?<=\d)[ ]?\(?(?:/|out\sof|of)[ ]?(?:a\s)?(?:(?:possible|maximum|total)\s)?(?:of\s)?"
    r"100(?:[.,]0+)?(?!\d|[.,]\d)\)?",
    regex.IGNORECASE,
)
_NUMBER = regex.compile(r"(?<![\p{Latin}\d_])(?<!\d[.,])(?:\d++(?:[.,]\d++)*+|(?<![.,])[.]\d++)")
_ALONE = regex.compile(
    rf"(?:[-•]\s)?([-+−–—~≈]?)({_NUMBER.pattern})\s?(?:{_OF_100}|{_SCALE}|%|points?|pts|分|점|点)?[.!]?"
)
_WORD = (
    r"(?:scores?|scored|ratings?|rate|rated|grade|quality|overall|result|answer|assessment|evaluation|verdict|value|marks?"
    r"|gives?|given|giving|assign(?:ed)?|award(?:ed)?|deserves?|earns?|gets?|say|estimate|evaluate|judge|worth"
    r"|punkte|punktzahl|bewertung|note|puntuación|puntaje|calificación|pontuação|nota|оценка|балл\w?|skóre|hodnocení"
    r"|得分|分数|分數|评分|評分|スコア|点数|評価|점수)"
)
_LABEL = regex.compile(
    rf"(?:\b{_WORD}|{_SCALE})(?:[^\n.!?;\d]{{0,80}}?(?:\b(?:as|at|is|be|of|a|an|it|this|translation|around|about"
    rf"|approximately|roughly|with|to|score|rating|please|是|为|은|는)|[:=,(|→>~≈]|\s[-–—]|{_SCALE}))?\s*+$",
    regex.IGNORECASE,
)
_NOT_A_SCORE = regex.compile(
    r"deduct|penalt|minus|subtract|error|mistake|issue|count|number|weight|\bn/a\b|not[ ]applicable|\bnone\b",
    regex.IGNORECASE,
)
_DENIED = regex.compile(
    r"(?:\b(?:not|never|cannot|hardly|refuse[ds]?|unable|decline[ds]?|best|highest|maximum)|n['’]t)[ ](?:\w+[ ]){0,3}$"
    r"|\bperfect[ ]\w+[ ]would[ ]$",
    regex.IGNORECASE,
)
_TAKEN_AWAY = regex.compile(
    r"[ ]?(?:points?|pts|%)?[ ](?:\w+[ ])?(?:deducted|off|lost|subtracted|taken)\b", regex.IGNORECASE
)
_ENDS_THERE = regex.compile(
    rf"[ ]?(?:$|\n|[.,;:!?)\]'’<（(|]|%|{_OF_100}|{_SCALE}|分|점|点|(?:[ ][-–—]|[-–—][ ])[ ]?[^\W\d]"
    r"|(?:points?|pts|because|since|as|based|due|given|which|with|overall|percent)\b|and\b(?![ ]\d))",
    regex.IGNORECASE,
)
_GOES_ON = regex.compile(
    r"[ ]?\(?(?:[-–—−~±+/,;]|\b(?:to|or|and|out[ ]of|of)\b)[ ]?(?:a[ ])?(?:maximum[ ]|total[ ])?\d|[ ]?[+±]",
    regex.IGNORECASE,
)
_MEANING = regex.compile(r"(?<=\bscore|\brating)[ ]?\([^()]{0,120}\)(?=[ ]?[:=])", regex.IGNORECASE)
_OTHER_SCALE = regex.compile(
    r"\bscale[ ](?:of|from|between)?[ ]?\d|\d-(?:point|star)|\d[ ]point[ ]scale", regex.IGNORECASE
)


def parse_score(reply: str) -> float:
    """The score in ``reply``, 0.0 to 100.0, from JSON with a key ``score`` or from text.

    Several different numbers are read only if one of them is marked as the score. Raises :class:`RatingParseError`
    for no number, for a range ("80-90"), for a fraction of another scale ("7/10"), and out of range.
    """
    answer = without_thoughts(whole_characters(reply)).strip()
    score = _in_json(read_json(answer), answer) if _JSON.search(answer) else _in_text(answer)
    if not 0 <= score <= 100:
        _fail("the score is not between 0 and 100", answer)
    return score + 0.0


def _in_json(data: Any, answer: str) -> float:
    pairs = list(data.items()) if isinstance(data, dict) else data if isinstance(data, Pairs) else []
    if len(pairs) == 1 and isinstance(pairs[0][1], dict):
        pairs = list(pairs[0][1].items())
    names = [str(key).strip().casefold() for key, _ in pairs]
    exact = [value for name, (_, value) in zip(names, pairs, strict=True) if name == "score"]
    found = exact or [value for name, (_, value) in zip(names, pairs, strict=True) if name.endswith("score")]
    if len(found) != 1 or isinstance(found[0], bool) or not isinstance(found[0], int | float | str):
        _fail("the JSON has no single number under the key score", answer)
    if isinstance(found[0], str):
        return _in_text(found[0])
    return float(found[0]) if abs(found[0]) <= 100 else math.inf


def _in_text(answer: str) -> float:
    text = _OUT_OF_100.sub(_OF_100, _ZERO_TO_HUNDRED.sub(_SCALE, _MEANING.sub("", _plain(answer))))
    if _OTHER_SCALE.search(text):
        _fail("it speaks of another scale than 0 to 100", answer)
    scores = {*_alone(text), *_labelled(text)} or set(_at_start(text))
    if len(scores) != 1:
        _fail("it holds several scores" if scores else "it holds no number that is certainly the score", answer)
    score = scores.pop()
    return _fail("it holds a range, or a score on another scale", answer) if score is None else score


def _plain(answer: str) -> str:
    """``answer`` without Markdown, quotes and tags, with plain digits and spaces."""
    answer = answer.replace(_OF_100, " ").replace(_SCALE, " ")
    text = unicodedata.normalize("NFKC", answer)
    text = _DECORATION.sub(lambda mark: " " if text[mark.start() - 1 : mark.start()].isdigit() else "", text)
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()


def _alone(text: str) -> Iterator[float | None]:
    """The numbers that have a line of their own."""
    for line in text.split("\n"):
        if found := _ALONE.fullmatch(line):
            yield _value(found[2], found[1])


def _labelled(text: str) -> Iterator[float | None]:
    """The numbers that words around them make a score; ``None`` for one that is a range or on another scale."""
    for number in _NUMBER.finditer(text):
        start, end = number.span()
        sign = text[start - 1 : start] if text[start - 1 : start] in ("-", "−", "–", "—") else ""
        before = text[max(0, start - _WINDOW) : start - len(sign)]
        label = _LABEL.search(before)
        named = label is not None and not (
            _NOT_A_SCORE.search(before[label.start() :]) or _DENIED.search(before, endpos=label.start())
        )
        if text[end : end + 1] == _OF_100:
            yield _value(number.group(), sign)
        elif named and _GOES_ON.match(text, end):
            yield None
        elif (named and _ENDS_THERE.match(text, end)) or text[end : end + 1] == _SCALE:
            yield _value(number.group(), sign)


def _at_start(text: str) -> Iterator[float | None]:
    """The number that the reply begins with, if it is the only one: ``85, because …``, ``85. The translation …``"""
    numbers = list(_NUMBER.finditer(text))
    if len(numbers) == 1 and numbers[0].start() == 0:
        end = numbers[0].end()
        is_item = text[end : end + 1] in (".", ")") and end < 2
        if _ENDS_THERE.match(text, end) and not is_item and not _TAKEN_AWAY.match(text, end):
            yield _value(numbers[0].group(), "")


def _value(digits: str, sign: str) -> float | None:
    """A number with a decimal point, or with a comma and one digit behind it; ``None`` for any other."""
    _, comma, decimals = digits.partition(",")
    if digits.count(".") + digits.count(",") > 1 or (comma and len(decimals) != 1):
        return None
    number = float(digits.replace(",", "."))
    return -number if sign and sign in "-−–—" else number


def _fail(problem: str, answer: str) -> NoReturn:
    raise RatingParseError(f"{problem}: {answer[:EXCERPT]!r}") from None


MAJOR, MINOR = 5, 1
"""What EAPrompt deducts for an error."""

_UP_TO_TEN = ("no none zero nil", "one a an", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDS = {word: number for number, words in enumerate(_UP_TO_TEN) for word in words.split()}
_COUNTS_NUMBER = rf"(?P<number>\d{{1,4}}|(?:{'|'.join(_WORDS)})\b)"
_KIND = r"(?P<kind>major|minor)s?\b"
_NOUN = r"(?:\s+(?:error|mistake|issue|one)s?\b)?"
# The number ends a phrase: it is neither a part of another number nor the number of an item, as in `Major: (1) "Sie"`.
_PHRASE_ENDS = r"(?=[.)\]]?\s*(?:$|[,;&+/|(，、；]|(?:and|major|minor|total|errors?)\b))"
_LABELLED = regex.compile(
    rf"\b{_KIND}{_NOUN}\s*(?:count\s*)?(?:[:=：]|[-–—]\s|is\b|are\b|\((?=\d+\)))?\s*{_COUNTS_NUMBER}\)?{_PHRASE_ENDS}",
    regex.IGNORECASE | regex.MULTILINE,
)
_COUNTED = regex.compile(rf"(?<![\d.\-−–]){_COUNTS_NUMBER}\s+{_KIND}", regex.IGNORECASE)
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
    for read in (_json, _counts_labelled, _pair, _counted, _neither, _tagged):
        if (counted := read(text)) is not None:
            return counted
    _counts_fail("it does not say how many major and minor errors there are", text)


def read_score(reply: str) -> Counted:
    """The score at the end of a reply that holds the list of errors too: in ``<score>`` tags, or after the word score.

    Raises :class:`RatingParseError` for none, for several, and for one that is no whole number ≤ 0.
    """
    text = _MARKS.sub("", without_thoughts(reply)).strip()
    if (counted := _tagged(text)) is not None:
        return counted
    lines = [found[1] for found in _SCORE_LINE.finditer(text)]
    return Counted(_score(lines[-1])) if lines else _counts_fail("it gives no score", text)


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
        _counts_fail("its JSON is no count", text)
    named = {kind: [data[key] for key in data if str(key).casefold().startswith(kind)] for kind in ("major", "minor")}
    if any(len(values) != 1 for values in named.values()):
        _counts_fail("its JSON does not say how many major and how many minor errors there are", text)
    return Counted.of(_whole(named["major"][0], text), _whole(named["minor"][0], text))


def _counts_labelled(text: str) -> Counted | None:
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
        _counts_fail("it counts the same errors twice, differently", text)
    return Counted.of(said["major"].pop(), said["minor"].pop()) if all(said.values()) else None


def _pair(text: str) -> Counted | None:
    """Two numbers on a line of their own, or after a word such as "Answer:" that does not put them in another order."""
    found = {
        (int(pair["major"]), int(pair["minor"])) for pair in _PAIR.finditer(text) if _in_order(pair["label"] or "")
    }
    if len(found) > 1:
        _counts_fail("it gives several counts", text)
    return Counted.of(*found.pop()) if found else None


def _in_order(label: str) -> bool:
    return regex.findall("major|minor", label.casefold()) in ([], ["major", "minor"])


def _neither(text: str) -> Counted | None:
    return Counted.of(0, 0) if _NEITHER.search(text) and not _SOME.search(text) else None


def _tagged(text: str) -> Counted | None:
    scores = {_score(found[1]) for found in _TAGGED.finditer(text)}
    if len(scores) > 1:
        _counts_fail("it gives several scores", text)
    return Counted(scores.pop()) if scores else None


def _score(written: str) -> int:
    """``-15``, also at the end of a sum: ``-5-5-5 = -15``."""
    found = _SCORE.fullmatch(written)
    if found is None:
        _counts_fail("its score is no whole number", written)
    number = int(found["digits"])
    if number and not found["minus"]:
        _counts_fail("its score is above 0, where every error takes points away", written)
    return -number


def _whole(value: object, text: str) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) <= 4:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != value // 1:
        _counts_fail(f"{value!r} is no number of errors", text)
    return int(value)


def _counts_fail(problem: str, text: str) -> NoReturn:
    raise RatingParseError(f"{problem}: {text[:120]!r}")
