"""The GEMBA evaluators (Kocmi and Federmann 2023): MQM, ESA, DA and SQM; and how the score in a reply is read."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.evaluators.headings import read_headed
from mtagent.evaluators.protocol import rated, signed
from mtagent.evaluators.replies import refuse
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import read_json, whole_characters, without_thoughts
from mtagent.records import ErrorSpan, Rating, Segment, Severity
from mtagent.text import mqm
from mtagent.text.word_lists import alternatives, word_lists


class GembaMQM:
    """One call. The score is the ``gemba`` one of :mod:`mtagent.text.mqm`: 0 for no error, down to -25.

    ``reference=True`` shows the model the reference of segments that have one; the published method has none.
    """

    name = "gemba-mqm"
    calls = (1, 1)
    weights: mqm.Preset = "gemba"

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm = llm
        self._reference = reference
        self._prompt = prompts.load("gemba-mqm", prompts_folder)
        self.signature = signed(self.name, llm, [self._prompt], f"weights:{self.weights}", reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors of ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        values = prompts.segment_values(segment, show_reference=self._reference, translation=translation)
        with Dialogue(self._llm, segment.id) as dialogue:
            errors = await dialogue.ask(
                self._prompt, values, "rate", lambda reply: read_headed(reply, translation, source=segment.source)
            )
        return rated(self, dialogue, mqm.score(errors, self.weights), errors)


FLAWED = (66 + 100) / 2
"""A lower score is closer to the landmark for a few slips than to the one for a faultless translation."""


class GembaESA:
    """Two calls. The score is the number of the second, 0 to 100; the errors are those of the first.

    The score is the verdict, and the spans only prepare it: a score below :data:`FLAWED` without a span means that the
    errors of the translation were not marked (``errors=None``), not that it has none. ``reference=True`` shows the
    model the reference of segments that have one.
    """

    name = "gemba-esa"
    calls = (2, 2)

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm = llm
        self._reference = reference
        self._spans = prompts.load("gemba-esa", prompts_folder)
        self._score = prompts.load("gemba-esa-score", prompts_folder)
        self.signature = signed(self.name, llm, [self._spans, self._score], "scale:0-100", reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors, then score. Raises :class:`RatingParseError` if two replies to either cannot be read."""
        values = prompts.segment_values(segment, show_reference=self._reference, translation=translation)
        with Dialogue(self._llm, segment.id) as dialogue:
            errors = await dialogue.ask(
                self._spans, values, "rate", lambda reply: read_headed(reply, translation, source=segment.source)
            )
            score = await dialogue.ask(self._score, {**values, "errors": listed(errors)}, "score", parse_score)
        if not errors and score < FLAWED:
            warning = f"no error is marked, and the score is only {score:g}"
            return rated(self, dialogue, score, warnings=(warning,))
        return rated(self, dialogue, score, errors)


def listed(errors: Iterable[ErrorSpan]) -> str:
    """``errors`` as the scoring step shows them: one per line under its severity, or no-error."""
    by_severity: dict[Severity, list[str]] = {"major": [], "minor": []}
    for error in errors:
        by_severity.setdefault(error.severity, []).append(f'{error.category} - "{error.text}"')
    lines = []
    for severity in sorted(by_severity, key=mqm.severity_rank, reverse=True):
        lines.append(f"{severity.title()}:")
        lines += by_severity[severity] or ["no-error"]
    return "\n".join(lines)


class GembaDA:
    """One call. The score is the model's number, 0 to 100.

    ``reference=True`` shows the model the reference of segments that have one.
    """

    name = "gemba-da"
    best_score = 100.0
    calls = (1, 1)

    def __init__(self, llm: LLM, *, reference: bool = False, prompts_folder: Path | None = None) -> None:
        self._llm = llm
        self._reference = reference
        self._prompt = prompts.load(self.name, prompts_folder)
        self.signature = signed(self.name, llm, [self._prompt], "scale:0-100", reference=reference)

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Score ``translation``. Raises :class:`RatingParseError` if two replies cannot be read."""
        values = prompts.segment_values(segment, show_reference=self._reference, translation=translation)
        with Dialogue(self._llm, segment.id) as dialogue:
            score = await dialogue.ask(self._prompt, values, "rate", parse_score)
        return rated(self, dialogue, score)


class GembaSQM(GembaDA):
    """The same with landmarks on the scale."""

    name = "gemba-sqm"


# The score in a reply: a bare number, JSON, or prose that names the score. Prose is read by a small grammar. A number
# is a score if it is alone on a line, begins the reply, is "out of 100", or is joined to a word such as *score* or
# *give* in the same clause. It isn't a score if it numbers a list, is in a quotation, belongs to another version of the
# text, is taken away, is a bound ("below 30") or the end of the scale ("the full score of 100"). If several different
# numbers are left, only a final or overall score counts; a range is refused.


def parse_score(reply: str) -> float:
    """The score in ``reply``, 0.0 to 100.0, from JSON with a key ``score`` or from text.

    Raises :class:`RatingParseError` for a reply without a number, for several numbers without a final score, for a
    range ("80-90"), for a fraction of another scale ("7/10"), and for a number that is out of range.
    """
    answer = without_thoughts(whole_characters(reply)).strip()
    score = _score_in_json(answer) if _JSON.search(answer) else _score_in_text(answer)
    if not 0 <= score <= 100:
        refuse("the score is not between 0 and 100", answer)
    return score + 0.0  # of −0, which would be shown as such


def _score_in_json(answer: str) -> float:
    data = read_json(answer)
    values = []
    if type(data) is dict:
        values = [value for key, value in data.items() if str(key).casefold() == "score"]
    if len(values) != 1 or isinstance(values[0], bool) or not isinstance(values[0], int | float | str):
        refuse("the JSON has no single number under the key score", answer)
    return _score_in_text(values[0]) if isinstance(values[0], str) else float(values[0])


class _Candidate(NamedTuple):
    """A number that may be the score."""

    value: float | None
    """``None``: a range, or a score on another scale."""
    final: bool = False
    """Whether it is called the final or overall score."""


def _score_in_text(answer: str) -> float:
    text = _normalised(answer)
    if _OTHER_SCALE.search(text):
        refuse("it speaks of another scale than 0 to 100", answer)
    candidates = list(_candidates(text))
    if not candidates:
        refuse("it holds no number that is certainly the score", answer)
    values = {candidate.value for candidate in candidates}
    if len(values) > 1:
        values = {candidate.value for candidate in candidates if candidate.final}
    if len(values) != 1:
        refuse("it holds several scores", answer)
    value = values.pop()
    if value is None or (0 < value < 1 and len(candidates) > 1):  # "90/100, a final score of 0.9"
        refuse("it holds a range, or a score on another scale", answer)
    return value


# The text, with marks for numbers that cannot be the score

_OF_100, _SCALE, _QUOTED = "\ue001", "\ue002", "\ue003"
_JSON = regex.compile(r"\{\s*+(?:[\"'“}]|\w++\s*+:)")
_QUOTATION = regex.compile(r'"([^"\n]*+)"|“([^“”\n]*+)”|„([^“”„\n]*+)[“”]|«([^«»\n]*+)»|「([^「」\n]*+)」')
_DECORATION = regex.compile(
    r"[*`\"“”„«»#{}\\$]|</?\w{1,20}>|(?<!\w)_|_(?!\w)|\bboxed\b|^[ \t]*+>[ \t]", regex.IGNORECASE | regex.MULTILINE
)
_MEANING = regex.compile(r"(?<=\bscore|\brating)[ ]?\([^()]{0,120}\)(?=[ ]?[:=])", regex.IGNORECASE)
_ZERO_TO_HUNDRED = regex.compile(
    r"(?:\b(?:on|in|from|using|within)\s(?:a|the)\s)?(?:\bcontinuous\s)?(?:\b(?:scale|range)\s)?"
    r"(?:\b(?:of|from|between)\s)?\(?(?<![\d.,-])(?:0|(?<=\bscale\s(?:of|from)\s)1)\s?(?:-|–|—|to|and)\s?100(?!\d|[.,]\d)"
    r"\)?(?:[\s-](?:points?[\s-])?(?:scale|range))?|\b(?:on|in)\sa\s(?:scale\sof\s100\b|100[-\s]point\s(?:\w+\s)?scale)",
    regex.IGNORECASE,
)
_OUT_OF_100 = regex.compile(
    r"(?<=\d)[ ]?\(?(?:points?[ ])?(?:/|out\sof|of)[ ]?(?:a\s)?(?:(?:possible|maximum|total)\s)?(?:of\s)?"
    r"100(?:[.,]0+)?(?!\d|[.,]\d)\)?",
    regex.IGNORECASE,
)
_OTHER_SCALE = regex.compile(
    r"\bscale[ ](?:of|from|between)?[ ]?\d|\b(?!100\b)\d{1,3}(?:-stars?\b|[ -]point[ ](?:\w+[ ])?scale)",
    regex.IGNORECASE,
)


def _normalised(answer: str) -> str:
    """The text without decoration; quotations, the scale and "out of 100" become marks."""
    answer = regex.sub(f"[{_OF_100}{_SCALE}{_QUOTED}]", " ", answer)
    whole_quotation = _QUOTATION.fullmatch(answer.strip())
    if whole_quotation is not None:
        answer = next(text for text in whole_quotation.groups() if text is not None)
    answer = _QUOTATION.sub(_marked, answer)
    text = unicodedata.normalize("NFKC", answer)
    text = _DECORATION.sub(lambda mark: " " if text[mark.start() - 1 : mark.start()].isdigit() else "", text)
    text = "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()
    return _OUT_OF_100.sub(_OF_100, _ZERO_TO_HUNDRED.sub(_SCALE, _MEANING.sub("", text)))


def _marked(quotation: regex.Match[str]) -> str:
    """A mark for a quotation of more than two words, with the end of its sentence."""
    text = quotation.group()
    if len(text.split()) <= 2:
        return text
    return _QUOTED + (text[-2] if text[-2] in ".!?" else "")


# Numbers

_NUMBER = regex.compile(r"(?<![\p{Latin}\d_])(?<!\d[.,])(?:\d++(?:[.,]\d++)*+|(?<![.,])[.]\d++)")
_ALONE = regex.compile(
    rf"(?:[-•]\s)?([-+−–—~≈]?)({_NUMBER.pattern})\s?(?:{_OF_100}|{_SCALE}|%|points?|pts|分|점|点)?[.!]?"
)
_ITEM = regex.compile(
    r"(?:(?:^|(?<=[.!?:…][ ]))\(?|(?<=[ (])(?=\d++\)))(\d{1,3})(?:[.):、](?!\d)|[ ][-–—][ ])", regex.MULTILINE
)
_MINUS = ("-", "−", "–", "—")
_CLAUSE = regex.compile(r"\n|[。;]|[.!?][ )](?!\p{Ll})")
_WINDOW = 160  # characters before a number that may say what it is
_WORD = regex.compile(
    r"\b(?:scores?|scored|scoring|ratings?|(?<!\b(?:the|overall)[ ])rate|rated|grade|quality|overall|result|answer"
    r"|assessment|evaluation|verdict|value|marks?|give|(?<!\bis[ ]|\bare[ ]|\bthe[ ])given|giving"
    r"|(?<=\b(?:that|this|which|it)[ ])gives|assign(?:ed)?|award(?:ed)?|deserves?|earns?|gets?|receives?|say|estimate"
    r"|evaluate|judge|worth"
    r"|punkte|punktzahl|bewertung|note|puntuación|puntaje|calificación|pontuação|nota|оценка|балл\w?|skóre|hodnocení)\b"
    rf"|得分|分数|分數|评分|評分|スコア|点数|評価|점수|{_SCALE}",
    regex.IGNORECASE,
)
_LEADS = regex.compile(
    r"(?:[^\n!?;\d]{0,120}?(?:\b(?:as|at|is|be|of|an?|it|this|translation|around|about|approximately|roughly|only"
    r"|perhaps|with|(?<!\bup[ ]|\bclose[ ])to|score|rating|please|an?[ ](?:\w+[ -])?(?:high|low|moderate|solid|good))\b"
    rf"|是|为|은|는|[:=,(|→>~≈]|\s[-–—]|[{_SCALE}{_QUOTED}]))?\s*+",
    regex.IGNORECASE,
)
_NOT_A_SCORE = regex.compile(
    r"deduct|penalt|minus|subtract|error|mistake|issue|count|number|weight|confiden|probab|\bn/a\b|not[ ]applicable"
    r"|\bnone\b|\bnot\b|n['’]t\b|\bnever\b|\bwould[ ]be[ ]given\b",
    regex.IGNORECASE,
)
_DENIED = regex.compile(
    r"(?:\b(?:not|never|cannot|hardly|refuse[ds]?|unable|decline[ds]?|prevents?|keeps?|than|instead[ ]of)|n['’]t)"
    r"[ ](?:\w+[ ]){0,3}$|\b(?:perfect|ideal|flawless)[ ]\w+[ ](?:would|should|could)[ ]$",
    regex.IGNORECASE,
)
_END_OF_SCALE = regex.compile(
    r"\b(?:full|perfect|maximum|highest|best|top|possible|ideal)"
    r"(?:[ ](?:possible|score|rating|grade|mark|of|a|is|being))*+[ ]$",
    regex.IGNORECASE,
)
_GIVEN = regex.compile(
    r"\bI(?:(?:[ ]\w+)?[ ]|['’]d[ ])(?:give|rate|score|assign|award)\b[^\d,]{0,60}$"
    r"|(?<!would[ ])\b(?:deserves|receives|earns|gets|merits)\b[^\d,]{0,20}$",
    regex.IGNORECASE,
)
_ANOTHER_TEXT = regex.compile(
    r"\b(?:an?|the|this|my)[ ](?:(?:slightly|much|even|more|further)[ ])*"
    r"(?:own|better|improved|corrected|alternative|suggested|revised|ideal|edited|rephrased|(?<=more[ ])\w+)[ ]"
    r"(?:[\w-]+[ ]){0,3}?(?:translation|version|sentence|rendering|solution|equivalent|text|wording|one)\b"
    r"|\bmy[ ](?:\w+[ ]){0,2}(?:translation|version|rendering|suggestion)\b"
    r"|\b(?:would|could|might|may)[ ](?:\w+[ ])?(?:require|bring|raise|improve|increase|make|mean|need)\b"
    r"|\bif\b[^.\n]{0,80}\b(?:were|had|weren['’]t)\b",
    regex.IGNORECASE,
)
_FINAL = regex.compile(
    r"\b(?:overall|final|finally|combined|total|in[ ](?:total|conclusion|summary))\b", regex.IGNORECASE
)
_TAKEN_AWAY = regex.compile(
    r"[ ]?(?:points?|pts|%)?[ ](?:\w+[ ])?(?:deducted|deduction|off|lost|subtracted|taken)\b", regex.IGNORECASE
)
_ENDS_THERE = regex.compile(
    rf"[ ]?(?:$|\n|[.,;:!?)\]'’<（(|…]|%|{_OF_100}|{_SCALE}|分|점|点|(?:[ ][-–—]|[-–—][ ])[ ]?[^\W\d]"
    r"|(?:points?|pts|because|since|as|based|due|given|giving|considering|which|with|without|overall|percent|for|in|on|by|from"
    r"|but|though|although|while|when|where|seems|appears|here|according|indicating|reflecting"
    r"|score|rating|grade)\b(?![ ]\d)|(?:and|to)\b(?![ ](?:an?[ ])?\d))",
    regex.IGNORECASE,
)
_GOES_ON = regex.compile(
    r"[ ]?\(?(?:[-–—−~±+/,;]|\b(?:to|or|and|out[ ]of|of)\b)[ ]?(?:an?[ ])?(?:maximum[ ]|total[ ])?\d|[ ]?[+±]",
    regex.IGNORECASE,
)
_RANGE_BEFORE = regex.compile(
    r"\b(?:between|zwischen|entre|tra|fra|между|mezi)[ ]$"
    r"|\d[ ]?(?:%|/100)?[ ]?(?:-|–|—|to|and|or|bis|und|oder|et|à|y|o|e|a|и|до|až|[到至〜~から에서])[ ]?$",
    regex.IGNORECASE,
)
_BOUNDS = word_lists("gemba")["bound_before"]
_BOUND_BEFORE = regex.compile(
    rf"(?:\b(?:{alternatives(_BOUNDS['words'])})(?:[ ](?:an?|the|of|a[ ]score[ ]of|score[ ]of))?[ ]?"
    rf"|(?:{alternatives(_BOUNDS['parts'])})[ ]?|(?<![-=~])[<>≤≥≦≧][ ]?)$",
    regex.IGNORECASE,
)
_BOUND_AFTER = regex.compile(
    rf"(?:{_OF_100}|%|[ ]points?|分|점|点)?(?:[ ](?:at[ ](?:best|least|most|worst|the[ ](?:very[ ])?(?:least|most))"
    r"|(?:or|and)[ ](?:above|below|better|greater|higher|less|lower|more|over|under|worse)"
    r"|oder[ ](?:höher|mehr|niedriger|weniger)|o[ ](?:más|menos)|ou[ ](?:plus|moins|mais|menos))\b"
    r"|[ ]?(?:以上|以下|未満|未满|이상|이하|미만)|\+)",
    regex.IGNORECASE,
)
_NAMED_AFTER = regex.compile(r"[ -]points?[ -](?:score|rating|grade|mark)\b", regex.IGNORECASE)
_ASPECT = regex.compile(rf"(?:{_OF_100}|%)?[ ](?:for|in[ ]terms|on)\b", regex.IGNORECASE)
_ANOTHER_ASPECT = regex.compile(r"(?:,|\band)[ ](?:an?[ ])?(?:\w+[ ])?$", regex.IGNORECASE)
_IN_BRACKETS = regex.compile(r"\([^()\n]*+$")


def _candidates(text: str) -> Iterator[_Candidate]:
    """The numbers in ``text`` that may be the score, and the ranges."""
    items = {match.start(1): int(match[1]) for match in _ITEM.finditer(text)}
    start_of_line = 0
    for line in text.split("\n"):
        alone = _ALONE.fullmatch(line)
        for number in _NUMBER.finditer(line):
            at = start_of_line + number.start()
            if items.get(at, 101) <= len(items) + 1 and not (alone and line == text):
                continue  # it is the number of an item in a list
            if alone:
                yield _Candidate(_value(alone[2], alone[1]))
                continue
            candidate = _candidate(line, number, is_first=at == 0)
            if candidate is not None:
                yield candidate
        start_of_line += len(line) + 1


def _candidate(line: str, number: regex.Match[str], *, is_first: bool) -> _Candidate | None:
    """A ``number`` in ``line`` as a candidate, if it may be the score; ``is_first``: the reply begins with it."""
    start, end = number.span()
    before = line[max(0, start - _WINDOW) : start]
    sign = before[-1:] if before.endswith(_MINUS) and not before[-2:-1].isalnum() else ""
    before = before.removesuffix(sign)
    clause = before[max((cut.end() for cut in _CLAUSE.finditer(before)), default=0) :]
    label = next(reversed(list(_WORD.finditer(clause))), None)
    named = label is not None and _LEADS.fullmatch(clause, label.end()) is not None
    by_itself = not clause and (is_first or _WORD.search(before) is not None)  # a sentence of nothing but the number
    is_aspect = _ANOTHER_ASPECT.search(clause) is not None and _ASPECT.match(line, end) is not None
    named = named or is_aspect or _NAMED_AFTER.match(line, end) is not None
    on_scale = line[end : end + 1] in (_OF_100, _SCALE)
    if not (named or by_itself or on_scale) or _TAKEN_AWAY.match(line, end):
        return None
    if _BOUND_BEFORE.search(clause) or _BOUND_AFTER.match(line, end):
        return None
    if label is not None and (
        _NOT_A_SCORE.search(clause, label.start()) or _DENIED.search(clause, endpos=label.start())
    ):
        return None
    whose = line[:start] if _IN_BRACKETS.search(clause) else clause
    if _ANOTHER_TEXT.search(whose) or (_IN_BRACKETS.search(clause) and _QUOTED in whose):
        return None
    end_of_scale = _END_OF_SCALE.search(clause)
    if end_of_scale and not _GIVEN.search(clause, endpos=end_of_scale.start()):
        return None
    final = _FINAL.search(clause) is not None
    if _RANGE_BEFORE.search(clause) or (not on_scale and _GOES_ON.match(line, end)):
        return _Candidate(None, final) if named or on_scale else None
    ends = on_scale or _ENDS_THERE.match(line, end) or _NAMED_AFTER.match(line, end)
    return _Candidate(_value(number.group(), sign), final) if ends else None


def _value(digits: str, sign: str) -> float | None:
    """A number with a decimal point, or with a comma and one digit after it; ``None`` for any other."""
    _, comma, decimals = digits.partition(",")
    if digits.count(".") + digits.count(",") > 1 or (comma and len(decimals) != 1):
        return None
    number = float(digits.replace(",", "."))
    return -number if sign and sign in "-−–—" else number
