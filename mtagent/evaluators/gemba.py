"""The GEMBA evaluators (Kocmi and Federmann 2023): MQM, ESA, DA and SQM."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

import regex

from mtagent.evaluators.headings import read_headed
from mtagent.evaluators.protocol import signed
from mtagent.evaluators.replies import refuse
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import read_json, whole_characters, without_thoughts
from mtagent.records import ErrorSpan, Rating, Segment, Severity
from mtagent.text import mqm


class GembaMQM:
    """One call. The score is the ``gemba`` one of :mod:`mtagent.text.mqm`: 0 for no error, down to -25.

    ``reference=True`` shows the model the reference where a segment has one; the published method has none.
    """

    name = "gemba-mqm"
    calls = (1, 1)
    weights: mqm.Preset = "gemba"

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm, self._reference = llm, reference
        self._prompt = prompts.load("gemba-mqm", prompts_folder)
        self.signature = signed(self.name, llm, [self._prompt], f"weights:{self.weights}", reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors of ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        reference = segment.reference if self._reference else None
        values = prompts.segment_values(segment, translation=translation, reference=reference)
        with Dialogue(self._llm, segment.id) as dialogue:
            errors = await dialogue.ask(
                self._prompt, values, "rate", lambda reply: read_headed(reply, translation, source=segment.source)
            )
        return Rating(
            evaluator=self.name,
            score=mqm.score(errors, self.weights),
            errors=errors,
            calls=tuple(dialogue.calls),
            signature=self.signature,
            seconds=dialogue.seconds,
        )


FLAWED = (66 + 100) / 2
"""A lower score is closer to the landmark for a few slips than to the one for a faultless translation."""


class GembaESA:
    """Two calls. The score is the number of the second, 0 to 100; the errors are those of the first.

    The score is the verdict, and the spans are there to prepare it: a score below :data:`FLAWED` without a span is one
    of a translation whose errors were not marked (``errors=None``), and not of one without errors.
    ``reference=True`` shows the model the reference where a segment has one.
    """

    name = "gemba-esa"
    calls = (2, 2)

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm, self._reference = llm, reference
        self._spans = prompts.load("gemba-esa", prompts_folder)
        self._score = prompts.load("gemba-esa-score", prompts_folder)
        self.signature = signed(self.name, llm, [self._spans, self._score], "scale:0-100", reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors, then score. Raises :class:`RatingParseError` if two replies to either cannot be read."""
        reference = segment.reference if self._reference else None
        values = prompts.segment_values(segment, translation=translation, reference=reference)
        with Dialogue(self._llm, segment.id) as dialogue:
            errors = await dialogue.ask(
                self._spans, values, "rate", lambda reply: read_headed(reply, translation, source=segment.source)
            )
            score = await dialogue.ask(self._score, {**values, "errors": listed(errors)}, "score", parse_score)
        unmarked = not errors and score < FLAWED
        return Rating(
            evaluator=self.name,
            score=score,
            errors=None if unmarked else errors,
            warnings=(f"no error is marked, and the score is only {score:g}",) if unmarked else (),
            calls=tuple(dialogue.calls),
            signature=self.signature,
            seconds=dialogue.seconds,
        )


def listed(errors: Iterable[ErrorSpan]) -> str:
    """``errors`` as they are shown to the scoring step: one per line under its severity, or no-error."""
    lines: dict[Severity, list[str]] = {"major": [], "minor": []}
    for error in errors:
        lines.setdefault(error.severity, []).append(f'{error.category} - "{error.text}"')
    worst_first = sorted(lines, key=mqm.severity_rank, reverse=True)
    return "\n".join(
        "\n".join([f"{severity.title()}:", *(lines[severity] or ["no-error"])]) for severity in worst_first
    )


class GembaDA:
    """One call. The score is the model's number, 0 to 100.

    ``reference=True`` shows the model the reference where a segment has one.
    """

    name = "gemba-da"
    best_score = 100.0
    calls = (1, 1)

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm, self._reference = llm, reference
        self._prompt = prompts.load(self.name, prompts_folder)
        self.signature = signed(self.name, llm, [self._prompt], "scale:0-100", reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Score ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        reference = segment.reference if self._reference else None
        values = prompts.segment_values(segment, translation=translation, reference=reference)
        with Dialogue(self._llm, segment.id) as dialogue:
            score = await dialogue.ask(self._prompt, values, "rate", parse_score)
        return Rating(
            evaluator=self.name,
            score=score,
            calls=tuple(dialogue.calls),
            signature=self.signature,
            seconds=dialogue.seconds,
        )


class GembaSQM(GembaDA):
    """The same with landmarks on the scale."""

    name = "gemba-sqm"


# Scores

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
    if _JSON.search(answer):
        data = read_json(answer)
        values = [value for key, value in data.items() if str(key).casefold() == "score"] if type(data) is dict else []
        if len(values) != 1 or isinstance(values[0], bool) or not isinstance(values[0], int | float | str):
            refuse("the JSON has no single number under the key score", answer)
        score = _score_in_text(values[0]) if isinstance(values[0], str) else float(values[0])
    else:
        score = _score_in_text(answer)
    if not 0 <= score <= 100:
        refuse("the score is not between 0 and 100", answer)
    return score + 0.0


def _score_in_text(answer: str) -> float:
    """The number on a line of its own or labelled as the score, or else the number that the text begins with."""
    text = unicodedata.normalize("NFKC", answer.replace(_OF_100, " ").replace(_SCALE, " "))
    text = _DECORATION.sub(lambda mark: " " if text[mark.start() - 1 : mark.start()].isdigit() else "", text)
    text = "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()
    text = _OUT_OF_100.sub(_OF_100, _ZERO_TO_HUNDRED.sub(_SCALE, _MEANING.sub("", text)))
    if _OTHER_SCALE.search(text):
        refuse("it speaks of another scale than 0 to 100", answer)
    numbers = list(_NUMBER.finditer(text))
    lines = [match for line in text.split("\n") if (match := _ALONE.fullmatch(line))]
    scores = {*(_value(match[2], match[1]) for match in lines), *_labelled(text, numbers)}
    if not scores and len(numbers) == 1 and numbers[0].start() == 0:  # "85, because …", "85. The translation …"
        end = numbers[0].end()
        is_item = text[end : end + 1] in (".", ")") and end < 2
        if _ENDS_THERE.match(text, end) and not is_item and not _TAKEN_AWAY.match(text, end):
            scores.add(_value(numbers[0].group(), ""))
    if len(scores) != 1:
        refuse("it holds several scores" if scores else "it holds no number that is certainly the score", answer)
    score = scores.pop()
    return refuse("it holds a range, or a score on another scale", answer) if score is None else score


def _labelled(text: str, numbers: Iterable[regex.Match[str]]) -> Iterator[float | None]:
    """The ``numbers`` that the words around them label as a score; ``None`` for a range or another scale."""
    for number in numbers:
        start, end = number.span()
        sign = text[start - 1 : start] if text[start - 1 : start] in ("-", "−", "–", "—") else ""
        before, after = text[max(0, start - _WINDOW) : start - len(sign)], text[end : end + 1]
        label = _LABEL.search(before)
        named = label is not None and not (
            _NOT_A_SCORE.search(before[label.start() :]) or _DENIED.search(before, endpos=label.start())
        )
        if after != _OF_100 and named and _GOES_ON.match(text, end):
            yield None
        elif after in (_OF_100, _SCALE) or (named and _ENDS_THERE.match(text, end)):
            yield _value(number.group(), sign)


def _value(digits: str, sign: str) -> float | None:
    """A number with a decimal point, or with a comma and one digit after it; ``None`` for any other."""
    _, comma, decimals = digits.partition(",")
    if digits.count(".") + digits.count(",") > 1 or (comma and len(decimals) != 1):
        return None
    number = float(digits.replace(",", "."))
    return -number if sign and sign in "-−–—" else number
