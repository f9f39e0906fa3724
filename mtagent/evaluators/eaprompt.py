"""EAPrompt (Lu et al. 2024; M-MAD, Figure 6; RATE, Figure 25): list the major and minor errors, then count them.

The score follows from the errors that were read, not from the model's count: so it always fits the errors of the
rating, and models count and add badly. The count is there to catch a list that was written or read wrongly: where the
two disagree, the rating says so in its warnings.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.errors import ConfigError
from mtagent.evaluators.headings import read_headed
from mtagent.evaluators.protocol import rated, signed
from mtagent.evaluators.replies import refuse
from mtagent.evaluators.typology import category_of
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import without_thoughts
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text import mqm

Errors = tuple[ErrorSpan, ...]
_PROMPTS = {1: ("eaprompt-once",), 2: ("eaprompt-errors", "eaprompt-count")}


class Counted(NamedTuple):
    """The errors that a model counted."""

    score: int
    """At most 0."""
    major: int | None = None
    """``None`` if the model gave only the score."""
    minor: int | None = None

    @classmethod
    def of(cls, major: int, minor: int) -> Counted:
        """The count with the score that follows from it."""
        return cls(-(MAJOR * major + MINOR * minor), major, minor)

    def agrees(self, other: Counted) -> bool:
        """Whether the two agree; one without counts is compared by its score."""
        if self.major is None or other.major is None:
            return self.score == other.score
        return self == other

    def __str__(self) -> str:
        if self.major is None:
            return f"a score of {self.score}"
        return f"{self.major} major and {self.minor} minor"


class EAPrompt:
    """Two calls, or one with ``steps=1``. The score is -(5 major + 1 minor), without a floor; 0 is error-free.

    ``reference=True`` shows the model the reference of segments that have one. Raises
    :class:`mtagent.errors.ConfigError` for other ``steps``.
    """

    name = "eaprompt"
    weights: mqm.Preset = "mmad"

    def __init__(
        self, llm: LLM, *, steps: int = 2, reference: bool = False, prompts_folder: Path | None = None
    ) -> None:
        if steps not in _PROMPTS:
            raise ConfigError(f"evaluator eaprompt: steps is 1 or 2, not {steps}")
        self._llm = llm
        self._reference = reference
        self.calls = (1, steps)  # counting an empty list is one request for all segments, and paid for once
        self._prompts = [prompts.load(name, prompts_folder) for name in _PROMPTS[steps]]
        self.signature = signed(
            self.name, llm, self._prompts, f"weights:{self.weights}", steps=steps, reference=reference
        )

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """List the errors of ``translation`` and check their number.

        Raises :class:`RatingParseError` if two replies to the same request cannot be read, also for the request that
        counts: otherwise checked and unchecked scores would have the same signature.
        """
        values = prompts.segment_values(segment, show_reference=self._reference, translation=translation)
        to_list, *to_count = self._prompts
        with Dialogue(self._llm, segment.id) as dialogue:
            if to_count:  # the second step sees nothing but the list
                errors, completion = await dialogue.ask_fully(
                    to_list, values, "rate", lambda reply: parse(reply, translation, segment.source)
                )
                values = {"errors": without_thoughts(completion.text)}
                counted = await dialogue.ask(to_count[0], values, "count", read_count)
            else:
                errors, counted = await dialogue.ask(
                    to_list, values, "rate", lambda reply: parse_once(reply, translation, segment.source)
                )
        warnings = tuple(disagreement(errors, counted))
        return rated(self, dialogue, mqm.score(errors, self.weights), errors, warnings=warnings)


def parse(reply: str, translation: str, source: str = "") -> Errors:
    """The listed errors, located in ``translation`` if that is certain; ``()`` only for a stated "no-error".

    A category that means a subtype of HiMATE's typology gets its name (``grammar`` is ``fluency/grammar``). Raises
    :class:`RatingParseError`.
    """
    errors = read_headed(reply, translation, source=source)
    return tuple(error.model_copy(update={"category": category_of(error.category)}) for error in errors)


def parse_once(reply: str, translation: str, source: str = "") -> tuple[Errors, Counted]:
    """The listed errors, and the score or the counts in the same reply. Raises :class:`RatingParseError`."""
    plain, counts = _without_counts(reply)
    listed, ending = split_score(plain)
    errors = parse(listed, translation, source)
    if _TAGGED.search(reply) or _SCORE_LINE.search(ending):
        return errors, read_score(reply)
    last = ending.strip().rpartition("\n")[2].strip()
    if last.startswith(("-", "−", "–")) or last == "0":
        return errors, Counted(_score(last))
    return errors, read_count(ending if ending.strip() else counts)


def disagreement(errors: Errors, counted: Counted) -> list[str]:
    """A warning if ``counted`` differs from the number of ``errors``."""
    minor = sum(error.severity == "minor" for error in errors)
    major = sum(error.severity in ("major", "critical") for error in errors)
    listed = Counted.of(major, minor)
    if counted.agrees(listed):
        return []
    return [f"the model counts {counted}, its list holds {listed}; the list decides"]


# Counts

MAJOR, MINOR = 5, 1
"""The points that EAPrompt deducts for an error."""
_UP_TO_TEN = ("no none zero nil", "one a an", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDS = {word: number for number, words in enumerate(_UP_TO_TEN) for word in words.split()}
_NUMBER = rf"(?P<number>\d{{1,4}}|(?:{'|'.join(_WORDS)})\b)"
# The number ends a phrase: it is neither a part of another number nor the number of an item, as in `Major: (1) "Sie"`.
_LABELLED = regex.compile(
    rf"\b(?P<kind>major|minor)s?\b(?:\s+(?:error|mistake|issue|one)s?\b)?\s*(?:count\s*)?"
    rf"(?:[:=：]|[-–—]\s|is\b|are\b|\((?=\d+\)))?\s*{_NUMBER}\)?"
    r"(?=[.)\]]?\s*(?:$|[,;&+/|(，、；]|(?:and|major|minor|total|errors?)\b))",
    regex.IGNORECASE | regex.MULTILINE,
)
_COUNTED = regex.compile(rf"(?<![\d.\-−–]){_NUMBER}\s+(?P<kind>major|minor)s?\b", regex.IGNORECASE)
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
    r"|\b(?:major|minor)(?:\s+errors?)?\s*[:=]\s*\d{1,4}\b(?!\s*[.)]\s*\w)|^\W*\d{1,3}\s?[,;&]\s?\d{1,3}\W*$"
    r"|^\s*[-−–]?\d{1,3}\s*$",
    regex.IGNORECASE,
)
_SCORE = regex.compile(r"(?:[^\n]*=)?+\s*(?P<minus>[-−–]?)\s*(?P<digits>\d{1,6})(?:\.0+)?(?:\s*points?)?\s*\.?\s*")
_MARKS = regex.compile(r"[*_`]+")
_HEADING_WITH_COUNT = regex.compile(
    r"^(?P<name>[^\w\n]*(?P<kind>major|minor)(?: +errors?)?)[^\w\n−–-]*(?:\n?[^\w\n−–-]*(?P<number>\d{1,2})[^\w\n]*)?$",
    regex.IGNORECASE | regex.MULTILINE,
)


def read_count(reply: str) -> Counted:
    """How many errors ``reply`` counts, or the score that it gives instead.

    Raises :class:`RatingParseError` for a reply without either, with a single number, or with contradictions.
    """
    text = regex.sub(r"[*_`\"'{}]+", "", without_thoughts(reply)).strip()
    counted = _by_kind(_LABELLED, text)
    if counted is not None:
        return counted
    pairs: set[tuple[int, int]] = set()
    for pair in _PAIR.finditer(text):
        kinds = regex.findall("major|minor", (pair["label"] or "").casefold())
        if kinds in ([], ["major", "minor"]):  # the label names no other order
            pairs.add((int(pair["major"]), int(pair["minor"])))
    if len(pairs) > 1:
        refuse("it gives several counts", text)
    if pairs:
        return Counted.of(*pairs.pop())
    counted = _by_kind(_COUNTED, text)
    if counted is not None:
        return counted
    if _NEITHER.search(text) and not _SOME.search(text):
        return Counted.of(0, 0)
    return _tagged(text) or refuse("it does not say how many major and minor errors there are", text)


def read_score(reply: str) -> Counted:
    """The score at the end of a reply with the list of errors: in ``<score>`` tags, or after the word score.

    Raises :class:`RatingParseError` for no score, several scores, and a score that isn't a whole number ≤ 0.
    """
    text = _MARKS.sub("", without_thoughts(reply)).strip()
    counted = _tagged(text)
    if counted is not None:
        return counted
    scores = [match[1] for match in _SCORE_LINE.finditer(text)]
    if not scores:
        refuse("it gives no score", text)
    return Counted(_score(scores[-1]))


def split_score(reply: str) -> tuple[str, str]:
    """``reply`` in two parts: the second has the score at the end, and the counts and sums that lead to it."""
    lines = _TAGGED.sub("", reply).rstrip().split("\n")
    end = len(lines)
    while end > 0:
        line = lines[end - 1]
        leads_to_score = not line.strip() or _LEADS_TO_SCORE.search(line)
        if not leads_to_score or _QUOTE.search(line):  # a line with a quote may be an error of the list
            break
        end -= 1
    return "\n".join(lines[:end]), "\n".join(lines[end:])


def _without_counts(reply: str) -> tuple[str, str]:
    """``reply`` without the numbers of errors in its headings, and these numbers.

    A heading with the number 0 gets "no-error". Counts behind the lists stay.
    """
    counts: dict[str, str] = {}

    def without(heading: regex.Match[str]) -> str:
        kind = heading["kind"].casefold()
        number = heading["number"]
        is_first = kind not in counts
        if is_first:
            counts[kind] = f"{kind}: {number}" if number else ""
        if not number or not is_first:
            return heading.group()
        no_error = "" if int(number) else "no-error"
        return f"{heading['name']}:\n{no_error}"

    plain = _HEADING_WITH_COUNT.sub(without, reply)
    return plain, "\n".join(counts.values())


def _by_kind(pattern: regex.Pattern[str], text: str) -> Counted | None:
    """The count of both kinds; ``None`` if either is missing."""
    counts: dict[str, set[int]] = {"major": set(), "minor": set()}
    for match in pattern.finditer(text):
        number = match["number"].casefold()
        counts[match["kind"].casefold()].add(_WORDS[number] if number in _WORDS else int(number))
    if any(len(numbers) > 1 for numbers in counts.values()):
        refuse("it counts the same errors twice, differently", text)
    if not counts["major"] or not counts["minor"]:
        return None
    return Counted.of(counts["major"].pop(), counts["minor"].pop())


def _tagged(text: str) -> Counted | None:
    scores = {_score(match[1]) for match in _TAGGED.finditer(text)}
    if len(scores) > 1:
        refuse("it gives several scores", text)
    return Counted(scores.pop()) if scores else None


def _score(written: str) -> int:
    """``-15``, also at the end of a sum: ``-5-5-5 = -15``."""
    match = _SCORE.fullmatch(written)
    if match is None:
        refuse("its score isn't a whole number", written)
    if int(match["digits"]) and not match["minus"]:
        refuse("its score is above 0, although every error takes points away", written)
    return -int(match["digits"])
