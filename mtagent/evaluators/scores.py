"""A score from 0 to 100 out of a model's reply: ``{"score": 85}``, ``85/100``, ``I would give it 85.5.`` …

What could be a count, a range, a score on another scale or one of several is refused: no number is better than a wrong
one.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from typing import Any, NoReturn

import regex

from mtagent.errors import RatingParseError
from mtagent.llm.plain import whole_characters
from mtagent.llm.reading import EXCERPT, Pairs, read_json, without_thoughts

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
_NOT_A_SCORE = regex.compile(r"deduct|penalt|minus|subtract|error|mistake|issue|count|number|weight", regex.IGNORECASE)
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
        named = label is not None and not _NOT_A_SCORE.search(before[label.start() :])
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
        if _ENDS_THERE.match(text, end) and not is_item:
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
