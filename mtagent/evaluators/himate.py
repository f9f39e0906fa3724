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
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import regex
from rapidfuzz.distance import Levenshtein

from mtagent.errors import ConfigError, EmptyReply, RatingParseError, UnreadableReply
from mtagent.evaluators import confidence as confidences
from mtagent.evaluators import typology
from mtagent.evaluators.confidence import Calibration, Kind
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
from mtagent.text import commentary, edits, languages, mqm, omission
from mtagent.text.scripts import UNSPACED

T = TypeVar("T")
UNREADABLE = (UnreadableReply, EmptyReply)
Verdict = Literal["corrected", "no difference", "worse"]


class View(NamedTuple):
    """What an agent thinks of one error."""

    exists: bool
    severity: Severity


class Opinion(NamedTuple):
    """One turn of a discussion: the view on each error, in order, and the reason."""

    views: tuple[View, ...]
    comment: str = ""


class Check(NamedTuple):
    """The outcome of self-reflection. ``confidence`` is ≤ 0, and ``None`` if the correction changed nothing."""

    correction: str
    verdict: Verdict
    confidence: float | None = None
    kind: Kind = "logprobs"


@dataclass(frozen=True)
class Finding:
    """The errors of one subtype on their way through the stages: those flagged, and those ``kept`` so far.

    ``unread`` says why nothing that its agent replied could be read.
    """

    subtype: Subtype
    kept: tuple[ErrorSpan, ...]
    flagged: tuple[ErrorSpan, ...] = ()
    check: Check | None = None
    talk: tuple[Opinion, ...] = ()
    warnings: tuple[str, ...] = ()
    unread: str = ""


MOST_UNREAD = 3
"""Agents that a rating can do without, if the others find errors."""
Stages = Literal["se", "se+sr", "se+sr+cd"]
PROMPTS = ("himate-subtype", "himate-correct", "himate-verify", "himate-discuss-1", "himate-discuss-2")
_USED: dict[Stages, int] = {"se": 1, "se+sr": 3, "se+sr+cd": 5}


@dataclass(frozen=True)
class _Case:
    """What all agents look at, and the calibrated threshold, if there is one."""

    segment: Segment
    translation: str
    dialogue: Dialogue
    values: Values
    calibration: Calibration | None


class HiMATE:
    """19 calls where nothing is flagged, 2 more for each flagged subtype, up to ``turns`` more for each discussed one.

    ``threshold`` takes the place of the calibrated one, which is looked up in ``data_folder`` by model and language
    pair; without either every error that reflection confirms is discussed. ``confidence="verbal"`` asks the agents how
    sure they are, in place of the log-probabilities of their verdicts, which not every server gives.
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
            raise ConfigError("himate: a threshold that is no number lets nothing be decided")
        if threshold is not None and threshold > 0:
            raise ConfigError(f"himate: a confidence is at most 0, a threshold of {threshold:g} is never reached")
        self._llm, self._stages, self._threshold, self._turns = llm, stages, threshold, turns
        self._kind, self._data_folder = confidence, data_folder
        # An agent evaluates, corrects, verifies (twice where there are no log-probabilities), and then discusses.
        way: dict[Stages, int] = {"se": 1, "se+sr": 4, "se+sr+cd": 4 + turns}
        self.calls = (len(SUBTYPES), len(SUBTYPES) * way[stages])
        self._prompts = {name: prompts.load(name, prompts_folder) for name in PROMPTS}

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation``: −Σ weights (major 5, minor 1, minor punctuation 0.1), and offer a corrected text.

        An agent whose two replies cannot be read is asked afresh, alone. If it cannot be read then either, the rating
        goes on without it and says so in its warnings. Raises :class:`mtagent.errors.RatingParseError` if that happens
        to more than :data:`MOST_UNREAD` agents, or if the others find nothing: the text is not known to be free of
        errors. Raises :class:`ConfigError` for a threshold that was calibrated otherwise.
        """
        rating, _ = await self.assess(segment, translation)
        return rating

    async def assess(self, segment: Segment, translation: str) -> tuple[Rating, tuple[Finding, ...]]:
        """The same, with what each agent found and what became of it."""
        calibration = None
        if self._stages == "se+sr+cd" and self._threshold is None and self._data_folder is not None:
            pair = languages.pair_of(segment.source_lang, segment.target_lang)
            calibration = confidences.read(self._data_folder, self._llm.model, pair, self._kind)
        if calibration is not None:
            calibration.refuse_other_prompts(self.reflection_signature)
            if self._kind == "verbal":
                calibration.refuse_other_kind("verbal")
        with Dialogue(self._llm, segment.id) as dialogue:
            values = prompts.segment_values(segment, translation=translation, severities=typology.SEVERITIES)
            case = _Case(segment, translation, dialogue, values, calibration)
            findings = await together(*(self._follow(case, subtype) for subtype in SUBTYPES))
            unread = [finding for finding in findings if finding.unread]
            if unread and (len(unread) > MOST_UNREAD or not any(finding.kept for finding in findings)):
                names = ", ".join(finding.subtype.category for finding in unread)
                raise RatingParseError(f"{len(unread)} of {len(findings)} agents ({names}): {unread[0].unread}")
        return self._rating(case, findings), tuple(findings)

    async def _follow(self, case: _Case, subtype: Subtype) -> Finding:
        """One subtype's way through the stages, until nothing is left to decide.

        It begins with subtype evaluation (§3.2). What is neutral is a matter of taste, costs nothing, and goes no
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
            return Finding(subtype, kept=(), warnings=(left_out,), unread=str(error))
        flagged = tuple(error for error in errors if error.severity != "neutral")
        if not flagged or self._stages == "se":
            return Finding(subtype, kept=flagged, flagged=flagged)
        values["findings"] = listed(flagged)
        try:
            check = await self._reflect(case, subtype, values)
        except UNREADABLE as error:
            unchecked = f"{subtype.category}: its errors stand unchecked, the reflection could not be read: {error}"
            return Finding(subtype, kept=flagged, flagged=flagged, warnings=(unchecked,))
        if check.verdict != "corrected":
            return Finding(subtype, kept=(), flagged=flagged, check=check)
        finding = Finding(subtype, kept=flagged, flagged=flagged, check=check)
        if self._stages == "se+sr":
            return finding
        if case.calibration is not None:
            case.calibration.refuse_other_kind(check.kind)
        threshold = case.calibration.threshold if case.calibration else math.inf
        assert check.confidence is not None
        if check.confidence >= (threshold if self._threshold is None else self._threshold):
            return finding
        return await self._discuss(case, finding, {**values, "correction": check.correction})

    async def _reflect(self, case: _Case, subtype: Subtype, values: Values) -> Check:
        """Self-reflection (§3.3): the agent corrects the translation, and compares it with the correction.

        Only what a correction corrects was an error. The log-probabilities of the verdict are the confidence.
        """
        correction, _ = await self._ask(
            case,
            "himate-correct",
            values,
            f"correct {subtype.category}",
            lambda reply: parse_correction(reply, case.segment, case.translation),
        )
        if correction == case.translation:
            return Check(correction, "no difference")
        purpose = f"verify {subtype.category}"
        values = {**values, "correction": correction}
        if self._kind == "logprobs":
            verdict, reply = await self._ask(case, "himate-verify", values, purpose, parse_verdict, logprobs=True)
            if (confidence := confidences.of_tokens(reply)) is not None:
                return Check(correction, verdict, confidence)
        (verdict, percent), _ = await self._ask(case, "himate-verify", {**values, "verbal": "yes"}, purpose, parse_sure)
        return Check(correction, verdict, confidences.of_percent(percent), "verbal")

    async def _discuss(self, case: _Case, finding: Finding, values: Values) -> Finding:
        """Collaborative discussion (§3.4): the core type's agent begins, and the last statement decides."""
        standing = tuple(View(True, error.severity) for error in finding.flagged)
        talk: list[Opinion] = []
        agreed = False
        unread = ""
        while len(talk) < self._turns and not agreed:
            try:
                opinion, _ = await self._ask(
                    case,
                    f"himate-discuss-{1 + len(talk) % 2}",
                    {**values, "history": minutes(talk)},
                    f"discuss {finding.subtype.category}",
                    lambda reply, views=standing: parse_opinion(reply, views),  # type: ignore[misc]
                )
            except UNREADABLE as error:
                unread = f"{finding.subtype.category}: its discussion ends where a reply could not be read: {error}"
                break
            agreed = bool(talk) and opinion.views == standing
            standing = opinion.views
            talk.append(opinion)
        kept = tuple(
            error.model_copy(update={"severity": view.severity})
            for error, view in zip(finding.flagged, standing, strict=True)
            if view.exists and view.severity != "neutral"  # what is a matter of taste does not count
        )
        no_agreement = f"{finding.subtype.category}: no agreement in {len(talk)} turns; the last one decided"
        warnings = () if agreed else (unread or no_agreement,)
        return replace(finding, kept=kept, talk=tuple(talk), warnings=warnings)

    async def _ask(
        self,
        case: _Case,
        prompt: str,
        values: Values,
        purpose: str,
        read: Callable[[str], T],
        *,
        logprobs: bool = False,
    ) -> tuple[T, Completion]:
        """What :meth:`Dialogue.ask_fully` gives; the agent is asked afresh if neither of its replies can be read."""
        asked = self._prompts[prompt]
        try:
            return await case.dialogue.ask_fully(asked, values, purpose, read, logprobs=logprobs)
        except UNREADABLE:
            return await case.dialogue.ask_fully(asked, values, purpose, read, logprobs=logprobs)

    @property
    def model(self) -> str:
        """The model that all agents ask."""
        return self._llm.model

    @property
    def reflection_signature(self) -> str:
        """The prompts that a confidence depends on."""
        return ",".join([*(self._prompts[name].signature for name in PROMPTS[:3]), typology.SIGNATURE])

    def _rating(self, case: _Case, findings: list[Finding]) -> Rating:
        errors = tuple(error for finding in findings for error in finding.kept)
        correction, left_out = corrected(case.translation, findings)
        warnings = [warning for finding in findings for warning in finding.warnings]
        checks = [finding.check for finding in findings if finding.check]
        confidence: str = self._kind
        if self._kind == "logprobs" and any(check.kind == "verbal" for check in checks):
            confidence = "verbal(no logprobs)"
            warnings.append(
                "the server gives no log-probabilities: the agents were asked how sure they are, which takes a further "
                "call for each flagged subtype; confidence=verbal asks at once"
            )
        if case.calibration is None and self._threshold is None and any(finding.talk for finding in findings):
            pair = languages.pair_of(case.segment.source_lang, case.segment.target_lang)
            warnings.append(
                f"no threshold is calibrated for {self._llm.model} and {pair}, so that every confirmed error was "
                f"discussed; calibrate: {confidences.command(self._llm.model, pair)}"
            )
        threshold = case.calibration.signature if case.calibration else "none(all discussed)"
        return Rating(
            evaluator=self.name,
            score=mqm.score(errors, self.weights),
            errors=errors,
            explanation="\n".join(story(finding) for finding in findings if finding.flagged) or None,
            calls=tuple(case.dialogue.calls),
            signature=self._signed(confidence, threshold),
            correction=correction,
            warnings=(*warnings, *left_out),
            seconds=case.dialogue.seconds,
        )

    @property
    def signature(self) -> str:
        """What ratings depend on, as far as that is known in advance; each rating has a signature of its own."""
        return self._signed(self._kind, "calibrated")

    def _signed(self, confidence: str, threshold: str) -> str:
        used = [self._prompts[name] for name in PROMPTS[: _USED[self._stages]]]
        options: dict[str, object] = {"stages": self._stages}
        if self._stages != "se":
            options["confidence"] = confidence
        if self._stages == "se+sr+cd":
            options["threshold"] = threshold if self._threshold is None else f"{self._threshold:.6g}"
            options["turns"] = self._turns
        return signed(self.name, self._llm, [*used, typology.SIGNATURE], **options)


def listed(errors: Iterable[ErrorSpan]) -> str:
    """Errors as the agents are shown them, numbered from 1."""
    return "\n".join(
        f'{number}. {error.severity}: "{error.text}"{" (missing)" if error.side == "omission" else ""}'
        f"{f' - {error.explanation}' if error.explanation else ''}"
        for number, error in enumerate(errors, start=1)
    )


def minutes(talk: Sequence[Opinion]) -> str | None:
    """What was said so far, for the next agent."""
    lines = []
    for turn, opinion in enumerate(talk):
        views = [
            f"error {number} {f'exists, {view.severity}' if view.exists else 'does not exist'}"
            for number, view in enumerate(opinion.views, start=1)
        ]
        lines.append(f"{('expert', 'evaluator')[turn % 2]}: {'; '.join(views)}. {opinion.comment}".rstrip())
    return "\n".join(lines) or None


def corrected(translation: str, findings: Iterable[Finding]) -> tuple[str | None, list[str]]:
    """One text with the corrections of all errors that survived, the most severe first; ``None`` where there are none.

    The other value says what the text cannot show: corrections that change the same words in another way are left out,
    and a correction is of all errors of its subtype, those that were dropped among them.
    """
    survivors = [(finding, finding.check.correction) for finding in findings if finding.kept and finding.check]
    if not survivors:
        return None, []
    survivors.sort(key=lambda survivor: -max(mqm.severity_rank(error.severity) for error in survivor[0].kept))
    by_correction = {correction: finding for finding, correction in reversed(survivors)}
    text, left_out = merged(translation, dict.fromkeys(correction for _, correction in survivors))
    warnings = [
        f"{by_correction[correction].subtype.category}: its correction is not in the corrected text; "
        "another changes the same words"
        for correction in left_out
    ]
    for finding, _ in survivors:
        kept = {(error.text, error.start) for error in finding.kept}
        dropped = [repr(error.text) for error in finding.flagged if (error.text, error.start) not in kept]
        if dropped:
            about = f"the corrected text may also change what was dropped: {', '.join(dropped)}"
            warnings.append(f"{finding.subtype.category}: {about}")
    return text, warnings


def story(finding: Finding) -> str:
    """One line on what became of a flagged subtype."""
    spans = ", ".join(f"{error.severity} {error.text!r}" for error in finding.flagged)
    line = f"{finding.subtype.category}: {spans}"
    if finding.check:
        sure = finding.check.confidence
        line += f"; reflection: {finding.check.verdict}" + (f" ({sure:.4g})" if sure is not None else "")
    if finding.talk:
        line += f"; discussion: {len(finding.talk)} turns"
    kept = ", ".join(error.severity for error in finding.kept)
    return f"{line}; {f'kept as {kept}' if kept else 'dropped'}"


# The corrected text

# Words are whole; scripts without spaces between words go by characters.
_TOKEN = regex.compile(rf"[{UNSPACED}]\p{{M}}*+|[[\w\p{{M}}]--[{UNSPACED}]]++|\s++|.", regex.V1)
_MOST_LOOKS = 5_000_000
"""The most work left to difflib, which looks at all pairs of equal words, again for each difference."""
_MOST_COMPARED = 200_000_000
"""The largest product of the two texts' numbers of words for which all edits are computed: 50 MB."""


def merged(text: str, corrections: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """``text`` with what all ``corrections`` of it change, and the corrections that could not go in.

    The most important come first: one that changes what a former one changes in another way is left out, all of it,
    since half a rewording is worse than none.
    """

    def place(edit: Edit) -> tuple[int, int]:
        return edit.start or 0, edit.end or 0

    taken: list[Edit] = []
    left_out = []
    for correction in corrections:
        wanted = [edit for edit in word_edits(text, correction) if edit not in taken]
        # Edits touch if they change the same place, or places with nothing in between.
        pairs = [sorted((place(edit), place(other))) for edit in wanted for other in taken]
        if any(first[1] >= second[0] for first, second in pairs):
            left_out.append(correction)
        else:
            taken += wanted
    return edits.apply(text, taken), tuple(left_out)


def word_edits(before: str, after: str) -> list[Edit]:
    """The edits, word by word, that turn ``before`` into ``after``."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    starts = [0]
    for token in old:
        starts.append(starts[-1] + len(token))
    return [
        Edit(old="".join(old[i:j]), new="".join(new[k:m]), start=starts[i], end=starts[j], outcome="applied")
        for i, j, k, m in _differences(old, new)
    ]


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """What differs, as (start and end in ``old``, start and end in ``new``), in a time that is bounded: texts that are
    very long or repeat themselves go by the edit distance, or by what is the same at both ends.
    """
    in_new = Counter(new)
    pairs = sum(count * in_new[word] for word, count in Counter(old).items())
    bounded = len(old) * len(new) <= _MOST_COMPARED
    if bounded and pairs * (Levenshtein.distance(old, new) + 1) <= _MOST_LOOKS:
        for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                yield i, j, k, m
    elif bounded:
        for alike, group in groupby(Levenshtein.opcodes(old, new), lambda opcode: opcode.tag == "equal"):
            if not alike:
                run = list(group)
                yield run[0].src_start, run[-1].src_end, run[0].dest_start, run[-1].dest_end
    elif old != new:
        start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        rest = min(len(old), len(new)) - start
        end = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
        yield start, len(old) - end, start, len(new) - end


# Replies

_YES = frozenset({"yes", "true", "1", "y"})
_NO = frozenset({"no", "false", "0", "n", "none"})
_EXISTS = ("exists", "error exists", "error exist", "error exist?", "error", "has error")


def parse_subtype(reply: str, translation: str, subtype: Subtype) -> tuple[ErrorSpan, ...]:
    """The errors of ``subtype`` in ``reply``, neutral ones included; ``()`` only for a stated "no error".

    Raises :class:`RatingParseError`, also for an error that another agent is there for.
    """

    def complete(item: Item) -> Item | None:
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
    return errors_in(answer, translation, _severity, complete)


def _says_none(fields: Mapping[str, Any]) -> bool:
    """Whether ``fields`` state that there is no error. What they state must agree with what they list."""
    exists = _truth(fields, _EXISTS)
    if exists is None:
        return False
    if exists != any(fields.get(name) for name in ("errors", "annotations", "span", "error span")):
        refuse(f"it says that {'an' if exists else 'no'} error exists, and lists another number of them")
    return not exists


def _truth(fields: Mapping[str, Any], names: Iterable[str]) -> bool | None:
    """Whether the first of ``names`` that ``fields`` has says yes or no; ``None`` for neither."""
    value = next((fields[name] for name in names if name in fields), None)
    word = "" if value is None else str(value).strip().rstrip(".").casefold()
    return True if word in _YES else False if word in _NO else None


def _severity(value: Any) -> Weighed:
    """Major, minor or neutral. The scale ends at major, so critical counts as major."""
    severity = read_severity(value).severity
    return Weighed("major" if severity == "critical" else severity)


def parse_correction(reply: str, segment: Segment, translation: str) -> str:
    """The corrected whole translation in ``reply``, which may be equal to ``translation``.

    Raises :class:`RatingParseError` for remarks in its place or beside it, for several lines made of one, and where
    there is no text. Whether the correction is any good is for the verification to say.
    """
    if regex.match(r"\s*(?:```\w*\s*)?\{", reply) and not translation.lstrip().startswith("{"):
        fields = fields_of(read_json(reply))
        inside = next((fields[name] for name in _TEXT_KEYS if name in fields), None)
        if not isinstance(inside, str):
            refuse("it is JSON; give the corrected translation as plain text")
        reply = inside
    text = text_in(reply, translation)
    if _REMARK.match(text) and SequenceMatcher(None, text, translation).ratio() < _ALIKE:
        refuse("it is a remark; give the whole translation, unchanged if there is nothing to correct")
    if text.count("\n") > translation.count("\n") == 0:
        refuse("it makes several lines of one; give the corrected translation and nothing else")
    if complaints := commentary.grown(segment.source, translation, text, target_lang=segment.target_lang):
        refuse(f"it is not the corrected translation alone: {complaints[0]}")
    if complaints := omission.lost(segment.source, translation, text, target_lang=segment.target_lang):
        refuse(f"it is not the whole translation: {complaints[0]}")
    return text


_REMARK = regex.compile(
    r"\W*(?:no (?:changes?|corrections?|errors?|issues?|revisions?|modifications?)\b|none\W*$|n/a\W*$|unchanged\W*$"
    r"|nothing (?:to|needs)\b|the (?:original |given )?translation (?:is|was|does|has|needs|appears|seems)\b"
    r"|there (?:is|are) no (?:errors?|need|changes?)\b|(?:no|without) correction\b|same as (?:the )?original)",
    regex.IGNORECASE,
)
_ALIKE = 0.6  # what begins like a remark may be the translation of such a sentence: then it is like the one before
_TEXT_KEYS = ("correction", "corrected translation", "corrected", "translation", "corrected text", "text")


def parse_verdict(reply: str) -> Verdict:
    """``corrected``, ``no difference`` or ``worse``, at the start of the reply: a reason may follow.

    Raises :class:`RatingParseError` for none or several of them.
    """
    words = _short_answer(reply).casefold()
    for verdict, form in _VERDICTS.items():
        if match := form.match(words):
            if _ANOTHER_VERDICT.search(words[match.end() :].partition("\n")[0]):
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
    """A verdict, and how sure the agent says it is, from 0 to 100. Raises :class:`RatingParseError`."""
    answer = _short_answer(reply)
    named = regex.search(r"confiden\w+|\bsure\b|certain\w*", answer, regex.IGNORECASE)
    numbers = _NUMBER.findall(answer, named.end() if named else 0)
    if len(numbers) != 1:
        refuse(f"it gives {len(numbers)} numbers; one confidence from 0 to 100 is asked for")
    percent = float(numbers[0].replace(",", "."))
    if not 0 <= percent <= 100 or 0 < percent < 1:
        refuse(f"the confidence {percent:g} is not on the scale from 0 to 100")
    return parse_verdict(reply), percent


def _short_answer(reply: str) -> str:
    """The words of a short reply, without thoughts, marks of emphasis and quotes, and the brackets of JSON."""
    return regex.sub(r"[*#`\"“”{}]+|\b_|_\b", "", text_in(reply)).strip()


def parse_opinion(reply: str, standing: tuple[View, ...]) -> Opinion:
    """An agent's views on the errors, given the ``standing`` views; an agent that agrees need not repeat them.

    Reads JSON with ``agrees``, ``errors`` and ``comment``. Raises :class:`RatingParseError` where an error is not
    judged, or where agreement and views contradict each other.
    """
    data = read_json(reply)
    fields = {} if type(data) is list else fields_of(data)
    agrees = _truth(fields, ("agrees", "agree", "agreement"))
    comment = next((v for k in ("comment", "explanation", "reason") if isinstance(v := fields.get(k), str)), "")
    items = data if type(data) is list else fields.get("errors", fields.get("views"))
    if items is None and any(name in fields for name in _EXISTS):
        items = fields
    if not items:
        return Opinion(standing, comment.strip()) if agrees else refuse("it says of no error whether it exists")
    items = [items] if isinstance(items, dict) else items
    by_number: dict[str, View] = {}
    if not isinstance(items, list):
        refuse("its errors are no list")
    for place, item in enumerate(items, start=1):
        judged = fields_of(item)
        if (exists := _truth(judged, _EXISTS)) is None:
            refuse(f"it says neither yes nor no to whether an error exists: {str(item)[:40]!r}")
        severity = _severity(judged.get("severity")).severity if exists else "neutral"
        by_number[str(judged.get("number", place))] = View(exists, severity)
    numbers = [str(number) for number in range(1, len(standing) + 1)]
    if len(by_number) != len(items) or set(by_number) != set(numbers):
        refuse(f"it judges the errors {', '.join(by_number)}; there are 1 to {len(standing)}")
    views = tuple(by_number[number] for number in numbers)
    if agrees and views != standing:
        refuse("it agrees, and gives views of its own that differ")
    return Opinion(views, comment.strip())
