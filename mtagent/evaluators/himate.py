"""HiMATE: nineteen agents, one per subtype of error, check themselves and discuss what they are not sure of.

HiMATE paper, §3 and appendices A, B, D, G. Each subtype's agent goes its own way, all nineteen at once: it evaluates
the translation; if it finds errors, it corrects the translation and compares the two (self-reflection); what
reflection confirms with little confidence, it discusses with the agent of its core type, which knows all of the
type's subtypes. A reference is never shown.

Read :meth:`HiMATE.assess` for the story; then come the corrected text, and the readers of the five kinds of replies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import regex
from rapidfuzz.distance import Levenshtein

from mtagent.errors import ConfigError, EmptyReply, RatingParseError, UnreadableReply
from mtagent.evaluators import confidence as confidences
from mtagent.evaluators import typology
from mtagent.evaluators.confidence import ConfidenceThreshold, Kind
from mtagent.evaluators.protocol import signed
from mtagent.evaluators.replies import NO_ERROR, Item, Weighed, errors_in, fields_of, read_severity, refuse, text_in
from mtagent.evaluators.typology import SUBTYPES, Subtype, subtype_of
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.gathering import together
from mtagent.llm.prompts import Values
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import read_answer, read_json
from mtagent.records import Completion, Edit, ErrorSpan, Rating, Segment, Severity
from mtagent.text import alignment, commentary, edits, languages, mqm, omission
from mtagent.text.scripts import UNSPACED

T = TypeVar("T")
UNREADABLE = (UnreadableReply, EmptyReply)
Verdict = Literal["corrected", "no difference", "worse"]


class ErrorOpinion(NamedTuple):
    """What an agent thinks of one error."""

    exists: bool
    severity: Severity


class DiscussionTurn(NamedTuple):
    """One turn of a discussion."""

    views: tuple[ErrorOpinion, ...]
    """On each error, in order."""
    comment: str = ""
    """The reason."""


class Reflection(NamedTuple):
    """The outcome of self-reflection."""

    correction: str
    verdict: Verdict
    confidence: float | None = None
    """The logarithm of a probability, ≤ 0; ``None`` if the correction changed nothing."""
    kind: Kind = "logprobs"


@dataclass(frozen=True)
class SubtypeErrors:
    """The errors of one subtype on their way through the stages."""

    subtype: Subtype
    kept: tuple[ErrorSpan, ...]
    """The errors that count so far."""
    flagged: tuple[ErrorSpan, ...] = ()
    """The errors that the agent found first."""
    reflection: Reflection | None = None
    discussion: tuple[DiscussionTurn, ...] = ()
    warnings: tuple[str, ...] = ()
    unreadable: str = ""
    """Why none of the agent's replies could be read."""


MOST_UNREADABLE = 3
"""Agents that a rating can do without, if the others find errors."""
Stages = Literal["se", "se+sr", "se+sr+cd"]
PROMPTS = ("himate-subtype", "himate-correct", "himate-verify", "himate-discuss-1", "himate-discuss-2")
_PROMPTS_USED: dict[Stages, int] = {"se": 1, "se+sr": 3, "se+sr+cd": 5}


@dataclass(frozen=True)
class _Case:
    """What all agents look at."""

    segment: Segment
    translation: str
    dialogue: Dialogue
    values: Values
    calibrated: ConfidenceThreshold | None
    """The calibrated threshold for the model and the language pair, if there is one."""


class HiMATE:
    """19 calls if nothing is flagged, 2 more for each flagged subtype, up to ``turns`` more for each discussed one.

    ``threshold`` replaces the calibrated one, which is looked up in ``data_folder`` by model and language pair.
    Without either, every error that reflection confirms is discussed. ``confidence="verbal"`` asks the agents how sure
    they are, instead of using the log-probabilities of their verdicts, which not every server gives.
    """

    name = "himate"
    weights: mqm.Preset = "himate"

    def __init__(
        self,
        llm: LLM,
        *,
        stages: Stages = "se+sr+cd",
        threshold: float | None = None,
        turns: int = 4,
        confidence: Kind = "logprobs",
        data_folder: Path | None = None,
        prompts_folder: Path | None = None,
    ) -> None:
        if turns < 1:
            raise ConfigError(f"himate: a discussion needs at least 1 turn, not {turns}; stages=se+sr has none")
        if threshold is not None and math.isnan(threshold):
            raise ConfigError("himate: the threshold must be a number of at most 0, not nan")
        if threshold is not None and threshold > 0:
            raise ConfigError(f"himate: a confidence is at most 0, so a threshold of {threshold:g} is never reached")
        self._llm = llm
        self._stages = stages
        self._threshold = threshold
        self._turns = turns
        self._kind = confidence
        self._data_folder = data_folder
        # An agent evaluates, corrects, verifies (twice without log-probabilities), and then discusses.
        most_calls: dict[Stages, int] = {"se": 1, "se+sr": 4, "se+sr+cd": 4 + turns}
        self.calls = (len(SUBTYPES), len(SUBTYPES) * most_calls[stages])
        self._prompts = {name: prompts.load(name, prompts_folder) for name in PROMPTS}

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation``: −Σ weights (major 5, minor 1, minor punctuation 0.1), and offer a corrected text.

        If both replies of an agent are unreadable, it is called once more, without them. If that reply is unreadable,
        too, the rating continues without the agent, with a warning. Raises :class:`mtagent.errors.RatingParseError` if
        that happens to more than :data:`MOST_UNREADABLE` agents, or if the others find nothing: the text may have
        errors. Raises :class:`ConfigError` for a threshold that was calibrated with other prompts or confidences.
        """
        rating, _ = await self.assess(segment, translation)
        return rating

    async def assess(self, segment: Segment, translation: str) -> tuple[Rating, tuple[SubtypeErrors, ...]]:
        """The same, with each agent's findings and their outcomes."""
        calibrated = self._calibrated_threshold(segment)
        with Dialogue(self._llm, segment.id) as dialogue:
            values = prompts.segment_values(segment, translation=translation, severities=typology.SEVERITIES)
            case = _Case(segment, translation, dialogue, values, calibrated)
            results = await together(*(self._follow(case, subtype) for subtype in SUBTYPES))
            unreadable = [result for result in results if result.unreadable]
            has_errors = any(result.kept for result in results)
            if unreadable and (len(unreadable) > MOST_UNREADABLE or not has_errors):
                names = ", ".join(result.subtype.category for result in unreadable)
                raise RatingParseError(
                    f"{len(unreadable)} of {len(results)} agents ({names}): {unreadable[0].unreadable}"
                )
        return self._rating(case, results), tuple(results)

    def _calibrated_threshold(self, segment: Segment) -> ConfidenceThreshold | None:
        """The stored threshold, if it is needed and there is one. Raises :class:`ConfigError` if it does not fit."""
        if self._stages != "se+sr+cd" or self._threshold is not None or self._data_folder is None:
            return None
        pair = languages.pair_of(segment.source_lang, segment.target_lang)
        calibrated = confidences.read(self._data_folder, self._llm.model, pair, self._kind)
        if calibrated is not None:
            calibrated.refuse_other_prompts(self.reflection_signature)
            # Log-probabilities may be missing: only the first reply shows which kind the server gives.
            if self._kind == "verbal":
                calibrated.refuse_other_kind("verbal")
        return calibrated

    async def _follow(self, case: _Case, subtype: Subtype) -> SubtypeErrors:
        """One subtype's way through the stages, until nothing is left to decide.

        It begins with subtype evaluation (§3.2). Neutral errors are a matter of taste: they cost nothing and go no
        further.
        """
        values = {
            **case.values,
            "subtype": subtype.category,
            "definition": subtype.definition,
            "core": subtype.core,
            "core_meaning": typology.CORES[subtype.core],
            "definitions": typology.described(typology.subtypes_of(subtype.core)),
            subtype.core: "yes",  # the conditions under which examples are shown
            subtype.category: "yes",
        }
        try:
            errors, _ = await self._ask(
                case,
                "himate-subtype",
                values,
                f"evaluate {subtype.category}",
                lambda reply: parse_subtype(reply, case.translation, subtype),
            )
        except UNREADABLE as error:
            left_out = f"{subtype.category}: its agent could not be read and is left out: {error}"
            return SubtypeErrors(subtype, kept=(), warnings=(left_out,), unreadable=str(error))
        flagged = tuple(error for error in errors if error.severity != "neutral")
        if not flagged or self._stages == "se":
            return SubtypeErrors(subtype, kept=flagged, flagged=flagged)
        values["findings"] = listed(flagged)
        try:
            reflection = await self._reflect(case, subtype, values)
        except UNREADABLE as error:
            unchecked = f"{subtype.category}: its errors count unchecked, the reflection could not be read: {error}"
            return SubtypeErrors(subtype, kept=flagged, flagged=flagged, warnings=(unchecked,))
        if reflection.verdict != "corrected":
            return SubtypeErrors(subtype, kept=(), flagged=flagged, reflection=reflection)
        confirmed = SubtypeErrors(subtype, kept=flagged, flagged=flagged, reflection=reflection)
        if self._stages == "se+sr":
            return confirmed
        threshold = math.inf  # every confirmed error is discussed
        if self._threshold is not None:
            threshold = self._threshold
        elif case.calibrated is not None:
            case.calibrated.refuse_other_kind(reflection.kind)
            threshold = case.calibrated.threshold
        assert reflection.confidence is not None
        if reflection.confidence >= threshold:
            return confirmed
        return await self._discuss(case, confirmed, {**values, "correction": reflection.correction})

    async def _reflect(self, case: _Case, subtype: Subtype, values: Values) -> Reflection:
        """Self-reflection (§3.3): the agent corrects the translation, and compares it with the correction.

        Only what the correction changes was an error. The log-probabilities of the verdict are the confidence.
        """
        correction, _ = await self._ask(
            case,
            "himate-correct",
            values,
            f"correct {subtype.category}",
            lambda reply: parse_correction(reply, case.segment, case.translation),
        )
        if correction == case.translation:
            return Reflection(correction, "no difference")
        purpose = f"verify {subtype.category}"
        values = {**values, "correction": correction}
        if self._kind == "logprobs":
            verdict, reply = await self._ask(case, "himate-verify", values, purpose, parse_verdict, logprobs=True)
            confidence = confidences.of_tokens(reply)
            if confidence is not None:
                return Reflection(correction, verdict, confidence)
            # The server gives no log-probabilities, so the agent states its confidence.
        (verdict, percent), _ = await self._ask(case, "himate-verify", {**values, "verbal": "yes"}, purpose, parse_sure)
        return Reflection(correction, verdict, confidences.of_percent(percent), "verbal")

    async def _discuss(self, case: _Case, confirmed: SubtypeErrors, values: Values) -> SubtypeErrors:
        """Collaborative discussion (§3.4): the core type's agent begins, and the last statement decides."""
        category = confirmed.subtype.category
        views = tuple(ErrorOpinion(True, error.severity) for error in confirmed.flagged)
        discussion: list[DiscussionTurn] = []
        agreed = False
        warning = ""
        while len(discussion) < self._turns and not agreed:
            try:
                statement, _ = await self._ask(
                    case,
                    f"himate-discuss-{1 + len(discussion) % 2}",
                    {**values, "history": minutes(discussion)},
                    f"discuss {category}",
                    partial(parse_statement, current=views),
                )
            except UNREADABLE as error:
                warning = f"{category}: its discussion ends where a reply could not be read: {error}"
                break
            # The first statement answers the reflection; only the second can agree with a statement.
            agreed = bool(discussion) and statement.views == views
            views = statement.views
            discussion.append(statement)
        if not agreed and not warning:
            warning = f"{category}: no agreement in {len(discussion)} turns; the last one decided"
        kept = []
        for flagged, view in zip(confirmed.flagged, views, strict=True):
            if view.exists and view.severity != "neutral":
                kept.append(flagged.model_copy(update={"severity": view.severity}))
        warnings = (warning,) if warning else ()
        return replace(confirmed, kept=tuple(kept), discussion=tuple(discussion), warnings=warnings)

    async def _ask(
        self,
        case: _Case,
        prompt_name: str,
        values: Values,
        purpose: str,
        read: Callable[[str], T],
        *,
        logprobs: bool = False,
    ) -> tuple[T, Completion]:
        """What :meth:`Dialogue.ask_fully` returns; the question is repeated if neither of two replies can be read."""
        prompt = self._prompts[prompt_name]
        try:
            return await case.dialogue.ask_fully(prompt, values, purpose, read, logprobs=logprobs)
        except UNREADABLE:
            return await case.dialogue.ask_fully(prompt, values, purpose, read, logprobs=logprobs)

    @property
    def model(self) -> str:
        """The model that all agents ask."""
        return self._llm.model

    @property
    def reflection_signature(self) -> str:
        """The prompts that a confidence depends on."""
        signatures = [self._prompts[name].signature for name in PROMPTS[:3]]
        return ",".join([*signatures, typology.SIGNATURE])

    def _rating(self, case: _Case, results: list[SubtypeErrors]) -> Rating:
        errors: list[ErrorSpan] = []
        warnings: list[str] = []
        stories: list[str] = []
        asked_verbally = was_discussed = False
        for result in results:
            errors += result.kept
            warnings += result.warnings
            if result.flagged:
                stories.append(story(result))
            if result.reflection is not None and result.reflection.kind == "verbal":
                asked_verbally = True
            if result.discussion:
                was_discussed = True
        confidence: str = self._kind
        if self._kind == "logprobs" and asked_verbally:
            confidence = "verbal(no logprobs)"
            warnings.append(
                "the server gives no log-probabilities: the agents were asked how sure they are, which takes another "
                "call for each flagged subtype; confidence=verbal asks at once"
            )
        if case.calibrated is None and self._threshold is None and was_discussed:
            pair = languages.pair_of(case.segment.source_lang, case.segment.target_lang)
            warnings.append(
                f"no threshold is calibrated for {self._llm.model} and {pair}, so every confirmed error was "
                f"discussed; calibrate: {confidences.command(self._llm.model, pair)}"
            )
        correction, correction_warnings = corrected(case.translation, results)
        threshold = case.calibrated.signature if case.calibrated else "none(all discussed)"
        return Rating(
            evaluator=self.name,
            score=mqm.score(errors, self.weights),
            errors=tuple(errors),
            explanation="\n".join(stories) or None,
            calls=tuple(case.dialogue.calls),
            signature=self._signed(confidence, threshold),
            correction=correction,
            warnings=(*warnings, *correction_warnings),
            seconds=case.dialogue.seconds,
        )

    @property
    def signature(self) -> str:
        """Everything known in advance that ratings depend on; each rating also has its own signature."""
        return self._signed(self._kind, "calibrated")

    def _signed(self, confidence: str, threshold: str) -> str:
        used_prompts = [self._prompts[name] for name in PROMPTS[: _PROMPTS_USED[self._stages]]]
        options: dict[str, object] = {"stages": self._stages}
        if self._stages != "se":
            options["confidence"] = confidence
        if self._stages == "se+sr+cd":
            options["threshold"] = threshold if self._threshold is None else f"{self._threshold:.6g}"
            options["turns"] = self._turns
        return signed(self.name, self._llm, [*used_prompts, typology.SIGNATURE], **options)


def listed(errors: Iterable[ErrorSpan]) -> str:
    """Errors as the prompts show them, numbered from 1."""
    lines = []
    for number, error in enumerate(errors, start=1):
        line = f'{number}. {error.severity}: "{error.text}"'
        if error.side == "omission":
            line += " (missing)"
        if error.explanation:
            line += f" - {error.explanation}"
        lines.append(line)
    return "\n".join(lines)


def minutes(discussion: Sequence[DiscussionTurn]) -> str | None:
    """The statements so far, as the prompts show them to the next agent."""
    lines = []
    for turn, statement in enumerate(discussion):
        speaker = ("expert", "evaluator")[turn % 2]
        views = []
        for number, view in enumerate(statement.views, start=1):
            existence = f"exists, {view.severity}" if view.exists else "does not exist"
            views.append(f"error {number} {existence}")
        lines.append(f"{speaker}: {'; '.join(views)}. {statement.comment}".rstrip())
    return "\n".join(lines) or None


def corrected(translation: str, results: Iterable[SubtypeErrors]) -> tuple[str | None, list[str]]:
    """One text with the corrections of all errors that count, the most severe first; ``None`` if there are none.

    The warnings name what the text can't show: a correction that changes the same words differently is left out, and a
    correction fixes all errors of its subtype, also dropped ones.
    """
    confirmed = []
    for result in results:
        if result.kept and result.reflection:
            confirmed.append((result, result.reflection.correction))
    if not confirmed:
        return None, []
    confirmed.sort(key=lambda pair: -max(mqm.severity_rank(error.severity) for error in pair[0].kept))
    first_with_correction: dict[str, SubtypeErrors] = {}
    for result, correction in confirmed:
        first_with_correction.setdefault(correction, result)
    text, left_out = merged(translation, first_with_correction)
    warnings = []
    for correction in left_out:
        category = first_with_correction[correction].subtype.category
        warnings.append(f"{category}: its correction is not in the corrected text; another changes the same words")
    for result, _ in confirmed:
        kept = {(error.text, error.start) for error in result.kept}
        dropped = [repr(error.text) for error in result.flagged if (error.text, error.start) not in kept]
        if dropped:
            about = f"the corrected text may also change what was dropped: {', '.join(dropped)}"
            warnings.append(f"{result.subtype.category}: {about}")
    return text, warnings


def story(result: SubtypeErrors) -> str:
    """One line about the outcome of a flagged subtype."""
    spans = ", ".join(f"{error.severity} {error.text!r}" for error in result.flagged)
    line = f"{result.subtype.category}: {spans}"
    if result.reflection:
        line += f"; reflection: {result.reflection.verdict}"
        if result.reflection.confidence is not None:
            line += f" ({result.reflection.confidence:.4g})"
    if result.discussion:
        line += f"; discussion: {len(result.discussion)} turns"
    if not result.kept:
        return f"{line}; dropped"
    return f"{line}; kept as {', '.join(error.severity for error in result.kept)}"


# The corrected text

# Words are whole; scripts without spaces between words go by characters.
_TOKEN = regex.compile(rf"[{UNSPACED}]\p{{M}}*+|[[\w\p{{M}}]--[{UNSPACED}]]++|\s++|.", regex.V1)
_MOST_LOOKS = 5_000_000
"""The most work left to difflib, which looks at all pairs of equal words, again for each difference."""
_MOST_COMPARED = 200_000_000
"""The largest product of the two texts' numbers of words for which all edits are computed: 50 MB."""


def merged(text: str, corrections: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """``text`` with the changes of all ``corrections``, and the corrections that didn't fit.

    The most important come first. A correction that contradicts a former one is left out as a whole, because half a
    rewording is worse than none.
    """
    taken: list[Edit] = []
    left_out = []
    for correction in corrections:
        new_edits = [edit for edit in word_edits(text, correction) if edit not in taken]
        if any(_touch(edit, other) for edit in new_edits for other in taken):
            left_out.append(correction)
        else:
            taken += new_edits
    return edits.apply(text, taken), tuple(left_out)


def _touch(edit: Edit, other: Edit) -> bool:
    """Whether two edits change the same place, or places with nothing in between."""
    places = [(edit.start or 0, edit.end or 0), (other.start or 0, other.end or 0)]
    (_, first_end), (second_start, _) = sorted(places)
    return first_end >= second_start


def word_edits(before: str, after: str) -> list[Edit]:
    """The edits, word by word, that turn ``before`` into ``after``."""
    old = _TOKEN.findall(before)
    new = _TOKEN.findall(after)
    starts = [0]
    for token in old:
        starts.append(starts[-1] + len(token))
    changes = []
    for start, end, new_start, new_end in _differences(old, new):
        old_text = "".join(old[start:end])
        new_text = "".join(new[new_start:new_end])
        changes.append(Edit(old=old_text, new=new_text, start=starts[start], end=starts[end], outcome="applied"))
    return changes


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """What differs, as (start and end in ``old``, start and end in ``new``).

    The time is bounded: texts that are very long or repeat themselves are compared by the edit distance, or only by
    what is the same at both ends.
    """
    in_new = Counter(new)
    equal_pairs = sum(count * in_new[word] for word, count in Counter(old).items())
    bounded = len(old) * len(new) <= _MOST_COMPARED
    if bounded and equal_pairs * (Levenshtein.distance(old, new) + 1) <= _MOST_LOOKS:
        for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                yield start, end, new_start, new_end
    elif bounded:
        for is_equal, group in groupby(Levenshtein.opcodes(old, new), lambda opcode: opcode.tag == "equal"):
            if not is_equal:
                run = list(group)
                yield run[0].src_start, run[-1].src_end, run[0].dest_start, run[-1].dest_end
    elif old != new:
        at_start, at_end = alignment.shared_ends(old, new)
        yield at_start, len(old) - at_end, at_start, len(new) - at_end


# Replies

_YES = frozenset({"yes", "true", "1", "y"})
_NO = frozenset({"no", "false", "0", "n", "none"})
_EXISTS = ("exists", "error exists", "error exist", "error exist?", "error", "has error")


def parse_subtype(reply: str, translation: str, subtype: Subtype) -> tuple[ErrorSpan, ...]:
    """The errors of ``subtype`` in ``reply``, including neutral ones; ``()`` only for a stated "no error".

    Raises :class:`RatingParseError`, also for an error of another agent's subtype.
    """

    def with_category(item: Item) -> Item | None:
        if _says_none(item):
            return None
        written = str(item.get("category") or item.get("type") or "").strip()
        if written.casefold() in NO_ERROR:
            return item
        other = subtype_of(written)
        if other is not None and other != subtype:
            refuse(f"it lists an error of the type {other.category}; only {subtype.category} is asked for")
        return {**item, "category": subtype.category}

    answer = read_answer(reply)
    if isinstance(answer.value, dict) and _says_none(fields_of(answer.value)):
        answer = answer._replace(value=[])
    return errors_in(answer, translation, _severity, with_category)


def _says_none(fields: Mapping[str, Any]) -> bool:
    """Whether ``fields`` state that there is no error. The statement must agree with the listed errors."""
    exists = _truth(fields, _EXISTS)
    if exists is None:
        return False
    if exists != any(fields.get(name) for name in ("errors", "annotations", "span", "error span")):
        refuse(f"it says that {'an' if exists else 'no'} error exists, and lists another number of them")
    return not exists


def _truth(fields: Mapping[str, Any], names: Iterable[str]) -> bool | None:
    """Whether the first of ``names`` in ``fields`` means yes or no; ``None`` for neither."""
    value = next((fields[name] for name in names if name in fields), None)
    if value is None:
        return None
    word = str(value).strip().rstrip(".").casefold()
    if word in _YES:
        return True
    if word in _NO:
        return False
    return None


def _severity(value: Any) -> Weighed:
    """Major, minor or neutral. The scale ends at major, so critical counts as major."""
    severity = read_severity(value).severity
    return Weighed("major" if severity == "critical" else severity)


def parse_correction(reply: str, segment: Segment, translation: str) -> str:
    """The corrected whole translation in ``reply``, which may be equal to ``translation``.

    Raises :class:`RatingParseError` for remarks instead of it or next to it, for several lines made of one, and for a
    reply without text. Whether the correction is good is for the verification to decide.
    """
    if _JSON_BEGINS.match(reply) and not translation.lstrip().startswith("{"):
        fields = fields_of(read_json(reply))
        inside = next((fields[name] for name in _TEXT_KEYS if name in fields), None)
        if not isinstance(inside, str):
            refuse("it is JSON; give the corrected translation as plain text")
        reply = inside
    text = text_in(reply, translation)
    # A text that begins like a remark may translate such a sentence: then it resembles the translation.
    if _REMARK.match(text) and SequenceMatcher(None, text, translation).ratio() < _SIMILAR:
        refuse("it is a remark; give the whole translation, unchanged if there is nothing to correct")
    if "\n" not in translation and "\n" in text:
        refuse("it makes several lines of one; give the corrected translation and nothing else")
    additions = commentary.grown(segment.source, translation, text, target_lang=segment.target_lang)
    if additions:
        refuse(f"it is not the corrected translation alone: {additions[0]}")
    losses = omission.lost(segment.source, translation, text, target_lang=segment.target_lang)
    if losses:
        refuse(f"it is not the whole translation: {losses[0]}")
    return text


_JSON_BEGINS = regex.compile(r"\s*(?:```\w*\s*)?\{")

_REMARK = regex.compile(
    r"\W*(?:no (?:changes?|corrections?|errors?|issues?|revisions?|modifications?)\b|none\W*$|n/a\W*$|unchanged\W*$"
    r"|nothing (?:to|needs)\b|the (?:original |given )?translation (?:is|was|does|has|needs|appears|seems)\b"
    r"|there (?:is|are) no (?:errors?|need|changes?)\b|(?:no|without) correction\b|same as (?:the )?original)",
    regex.IGNORECASE,
)
_SIMILAR = 0.6
_TEXT_KEYS = ("correction", "corrected translation", "corrected", "translation", "corrected text", "text")


def parse_verdict(reply: str) -> Verdict:
    """``corrected``, ``no difference`` or ``worse``, at the start of the reply: a reason may follow.

    Raises :class:`RatingParseError` for none or several of them.
    """
    words = _short_answer(reply).casefold()
    for verdict, form in _VERDICTS.items():
        match = form.match(words)
        if match is None:
            continue
        rest_of_line = words[match.end() :].partition("\n")[0]
        if _ANOTHER_VERDICT.search(rest_of_line):
            refuse("it gives several verdicts")
        return verdict
    return refuse("it gives none of the verdicts corrected, no difference, worse")


_LABELLED = r"(?:(?:my |the )?verdict\W+)?"
_ERROR_IS = r"(?:(?:the |all )?errors? (?:\d )?(?:(?:has|have|is|are|was|were) ))?"
# In this order, so that "not corrected" is taken before "corrected" is looked for.
_VERDICTS: dict[Verdict, regex.Pattern[str]] = {
    "no difference": regex.compile(
        rf"{_LABELLED}(?:(?:there is )?no[-_ ](?:\w+ )?differences?\b|{_ERROR_IS}not (?:been )?corrected\b)"
    ),
    "worse": regex.compile(rf"{_LABELLED}(?:the corrected translation is )?worse\b"),
    "corrected": regex.compile(
        rf"{_LABELLED}{_ERROR_IS}(?:been )?(?:corrected|fixed)\b"
        r"(?!\W*(?:no|not|false|translation|version|text|sentence)\b)"
    ),
}
_ANOTHER_VERDICT = regex.compile(
    r"(?:\b(?:or|and|but)\b|[/|])\W*(?:(?!the )\w+ )?(?:worse|no difference|corrected|not corrected)\b"
)
_NUMBER = regex.compile(r"(?<![\w.,/-])(-?\d+(?:[.,]\d+)?)(?:\s*/\s*100)?(?![\w/–-])")


def parse_sure(reply: str) -> tuple[Verdict, float]:
    """A verdict, and the confidence that the agent states, from 0 to 100. Raises :class:`RatingParseError`."""
    answer = _short_answer(reply)
    label = regex.search(r"confiden\w+|\bsure\b|certain\w*", answer, regex.IGNORECASE)
    numbers = _NUMBER.findall(answer, label.end() if label else 0)
    if len(numbers) != 1:
        refuse(f"it gives {len(numbers)} numbers; one confidence from 0 to 100 is asked for")
    percent = float(numbers[0].replace(",", "."))
    # A number between 0 and 1 would be a probability: 0.9 is not 0.9 %.
    if not 0 <= percent <= 100 or 0 < percent < 1:
        refuse(f"the confidence {percent:g} is not on the scale from 0 to 100")
    return parse_verdict(reply), percent


def _short_answer(reply: str) -> str:
    """The words of a short reply, without thoughts, marks of emphasis and quotes, and the brackets of JSON."""
    return regex.sub(r"[*#`\"“”{}]+|\b_|_\b", "", text_in(reply)).strip()


def parse_statement(reply: str, current: tuple[ErrorOpinion, ...]) -> DiscussionTurn:
    """An agent's views on the errors, given the ``current`` views; an agent that agrees need not repeat them.

    Reads JSON with ``agrees``, ``errors`` and ``comment``. Raises :class:`RatingParseError` if an error is not judged,
    or if agreement and views contradict each other.
    """
    data = read_json(reply)
    fields: Mapping[str, Any] = {}
    items: Any = data
    if type(data) is not list:
        fields = fields_of(data)
        items = fields.get("errors", fields.get("views"))
    agrees = _truth(fields, ("agrees", "agree", "agreement"))
    comment = ""
    for name in ("comment", "explanation", "reason"):
        value = fields.get(name)
        if isinstance(value, str):
            comment = value.strip()
            break
    if items is None and any(name in fields for name in _EXISTS):
        items = fields  # the view on a single error, without a list around it
    if not items:
        if not agrees:
            refuse("it says of no error whether it exists")
        return DiscussionTurn(current, comment)
    if isinstance(items, dict):
        items = [items]
    if not isinstance(items, list):
        refuse("its errors are no list")
    by_number: dict[str, ErrorOpinion] = {}
    for place, item in enumerate(items, start=1):
        judged = fields_of(item)
        exists = _truth(judged, _EXISTS)
        if exists is None:
            refuse(f"it says neither yes nor no to whether an error exists: {str(item)[:40]!r}")
        severity = _severity(judged.get("severity")).severity if exists else "neutral"
        by_number[str(judged.get("number", place))] = ErrorOpinion(exists, severity)
    numbers = [str(number) for number in range(1, len(current) + 1)]
    if len(by_number) != len(items) or set(by_number) != set(numbers):
        refuse(f"it judges the errors {', '.join(by_number)}; there are 1 to {len(current)}")
    views = tuple(by_number[number] for number in numbers)
    if agrees and views != current:
        refuse("it agrees, and gives views of its own that differ")
    return DiscussionTurn(views, comment)
