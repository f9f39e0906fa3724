"""HiMATE: nineteen agents, one for each subtype of error, check themselves and talk over what they are not sure of.

HiMATE paper, §3 and appendices A, B, D, G. Each subtype's agent goes its own way, all nineteen at once: it evaluates
the translation; if it finds errors, it corrects the translation and compares the two (self-reflection); what
reflection confirms with little confidence, it discusses with the agent of its core type, which knows all of the
type's subtypes. A reference is never shown. The parsing of replies is in :mod:`mtagent.evaluators.himate_replies`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

import regex
from rapidfuzz.distance import Levenshtein

import mtagent
from mtagent.errors import ConfigError
from mtagent.evaluators import confidence as confidences
from mtagent.evaluators import typology
from mtagent.evaluators.confidence import Calibration, Kind
from mtagent.evaluators.himate_replies import (
    Opinion,
    Verdict,
    View,
    parse_correction,
    parse_opinion,
    parse_subtype,
    parse_sure,
    parse_verdict,
)
from mtagent.evaluators.typology import SUBTYPES, Subtype
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue, together
from mtagent.llm.protocol import LLM
from mtagent.llm.request import settings_of
from mtagent.records import Edit, ErrorSpan, Rating, Segment
from mtagent.text import edits, languages, mqm
from mtagent.text.scripts import UNSPACED

# Words are whole; scripts without spaces between words go by characters.
_TOKEN = regex.compile(rf"[{UNSPACED}]\p{{M}}*+|[[\w\p{{M}}]--[{UNSPACED}]]++|\s++|.", regex.V1)


_MOST_LOOKS = 5_000_000
"""Up to which difflib chooses the edits. It looks at all pairs of equal words, again for each difference."""
_MOST_COMPARED = 200_000_000
"""The number of words of one text times that of the other up to which all edits are told apart: 50 MB."""


def merged(text: str, corrections: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """``text`` with what all ``corrections`` of it change, and the corrections that could not go in.

    The most important come first: one that changes what a former one changes in another way is left out, all of it,
    since half a rewording is worse than none.
    """
    taken: list[Edit] = []
    left_out = []
    for correction in corrections:
        wanted = [edit for edit in word_edits(text, correction) if edit not in taken]
        if any(_touch(one, other) for one in wanted for other in taken):
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


def _touch(one: Edit, other: Edit) -> bool:
    """Whether two edits change the same place, or places with nothing in between."""
    first, second = sorted((one, other), key=lambda edit: (edit.start or 0, edit.end or 0))
    return (first.end or 0) >= (second.start or 0)


class Check(NamedTuple):
    """What came of self-reflection. ``confidence`` is ≤ 0, and ``None`` where the correction changed nothing."""

    correction: str
    verdict: Verdict
    confidence: float | None = None
    kind: Kind = "logprobs"


@dataclass(frozen=True)
class Finding:
    """The errors of one subtype on their way through the stages: those flagged, and those ``kept`` so far."""

    subtype: Subtype
    kept: tuple[ErrorSpan, ...]
    flagged: tuple[ErrorSpan, ...] = ()
    check: Check | None = None
    talk: tuple[Opinion, ...] = ()
    warnings: tuple[str, ...] = ()


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
        said = [_view(number, view) for number, view in enumerate(opinion.views, start=1)]
        lines.append(f"{('expert', 'evaluator')[turn % 2]}: {'; '.join(said)}. {opinion.comment}".rstrip())
    return "\n".join(lines) or None


def _view(number: int, view: View) -> str:
    return f"error {number} {f'exists, {view.severity}' if view.exists else 'does not exist'}"


def corrected(translation: str, findings: Iterable[Finding]) -> tuple[str | None, list[str]]:
    """One text with the corrections of all errors that survived, the most severe first; ``None`` where there are none.

    The other value says which could not go in, because they change the same words in another way.
    """
    survivors = [finding for finding in findings if finding.kept and finding.check]
    if not survivors:
        return None, []
    survivors.sort(key=lambda finding: -max(mqm.severity_rank(error.severity) for error in finding.kept))
    by_correction = {finding.check.correction: finding for finding in reversed(survivors) if finding.check}
    wanted = list(dict.fromkeys(finding.check.correction for finding in survivors if finding.check))
    text, left_out = merged(translation, wanted)
    names = [by_correction[correction].subtype.category for correction in left_out]
    return text, [
        *(f"{name}: its correction is not in the corrected text; another changes the same words" for name in names),
        *(_overdone(finding) for finding in survivors if len(finding.kept) < len(finding.flagged)),
    ]


def _overdone(finding: Finding) -> str:
    """A warning: a correction is of all errors of its subtype, and cannot be taken apart."""
    kept = {(error.text, error.start) for error in finding.kept}
    dropped = [repr(error.text) for error in finding.flagged if (error.text, error.start) not in kept]
    return f"{finding.subtype.category}: the corrected text may also change what was dropped: {', '.join(dropped)}"


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


Stages = Literal["se", "se+sr", "se+sr+cd"]
PROMPTS = ("himate-subtype", "himate-correct", "himate-verify", "himate-discuss-1", "himate-discuss-2")
_USED: dict[Stages, int] = {"se": 1, "se+sr": 3, "se+sr+cd": 5}


@dataclass(frozen=True)
class _Case:
    """What all agents look at, and the threshold that holds for it; ``calibration`` is where it comes from."""

    segment: Segment
    translation: str
    dialogue: Dialogue
    values: Mapping[str, str | None]
    threshold: float
    calibration: Calibration | None


class HiMATE:
    """19 calls where nothing is flagged, 2 more for each flagged subtype, up to ``turns`` more for each discussed one.

    ``threshold`` takes the place of the calibrated one, which is looked up in ``data_folder`` by model and language
    pair; without either every error that reflection confirms is discussed. ``confidence="verbal"`` asks the agents how
    sure they are, in place of the log-probabilities of their verdicts, which not every server gives.
    """

    name = "himate"

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
            raise ConfigError(f"himate: a discussion of {turns} turns is none; for none use stages=se+sr")
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

        Raises :class:`mtagent.errors.RatingParseError` if one of the agents cannot be understood, and
        :class:`ConfigError` for a threshold that was calibrated otherwise.
        """
        rating, _ = await self.assess(segment, translation)
        return rating

    async def assess(self, segment: Segment, translation: str) -> tuple[Rating, tuple[Finding, ...]]:
        """The same, with what each agent found and what became of it."""
        calibration = self._calibration(segment)
        threshold = calibration.threshold if calibration else math.inf
        with Dialogue(self._llm, segment.id) as dialogue:
            case = _Case(
                segment=segment,
                translation=translation,
                dialogue=dialogue,
                values=prompts.segment_values(segment, translation=translation),
                threshold=threshold if self._threshold is None else self._threshold,
                calibration=calibration,
            )
            findings = await together(*(self._follow(case, subtype) for subtype in SUBTYPES))
        return self._rating(case, findings), tuple(findings)

    async def _follow(self, case: _Case, subtype: Subtype) -> Finding:
        """One subtype's way through the stages, up to where nothing is left to be decided."""
        finding = await self._evaluate(case, subtype)
        if not finding.flagged or self._stages == "se":
            return finding
        finding = await self._reflect(case, finding)
        if not finding.kept or self._stages == "se+sr" or self._is_sure(case, finding):
            return finding
        return await self._discuss(case, finding)

    async def _evaluate(self, case: _Case, subtype: Subtype) -> Finding:
        """Subtype evaluation (§3.2). What is neutral is a matter of taste, costs nothing, and goes no further."""
        values = {**case.values, **_about(subtype)}
        errors = await case.dialogue.ask(
            self._prompts["himate-subtype"],
            values,
            f"evaluate {subtype.category}",
            lambda reply: parse_subtype(reply, case.translation, subtype),
        )
        flagged = tuple(error for error in errors if error.severity != "neutral")
        return Finding(subtype, kept=flagged, flagged=flagged)

    async def _reflect(self, case: _Case, finding: Finding) -> Finding:
        """Self-reflection (§3.3): only what a correction corrects was an error."""
        values = {**case.values, **_about(finding.subtype), "findings": listed(finding.flagged)}
        correction = await case.dialogue.ask(
            self._prompts["himate-correct"],
            values,
            f"correct {finding.subtype.category}",
            lambda reply: parse_correction(reply, case.segment, case.translation),
        )
        if correction == case.translation:
            check = Check(correction, "no difference")
        else:
            check = await self._verify(case, finding.subtype, {**values, "correction": correction}, correction)
        return replace(finding, check=check, kept=finding.flagged if check.verdict == "corrected" else ())

    async def _verify(self, case: _Case, subtype: Subtype, values: Mapping[str, str | None], correction: str) -> Check:
        """Compare the translation with its correction; the reply's log-probabilities are the confidence."""
        prompt, purpose = self._prompts["himate-verify"], f"verify {subtype.category}"
        if self._kind == "logprobs":
            verdict, reply = await case.dialogue.ask_fully(prompt, values, purpose, parse_verdict, logprobs=True)
            if (sure := confidences.of_tokens(reply)) is not None:
                return Check(correction, verdict, sure)
        verdict, percent = await case.dialogue.ask(prompt, {**values, "verbal": "yes"}, purpose, parse_sure)
        return Check(correction, verdict, confidences.of_percent(percent), "verbal")

    def _is_sure(self, case: _Case, finding: Finding) -> bool:
        check = finding.check
        assert check is not None
        assert check.confidence is not None
        if case.calibration is not None:
            case.calibration.refuse_other_kind(check.kind)
        return check.confidence >= case.threshold

    async def _discuss(self, case: _Case, finding: Finding) -> Finding:
        """Collaborative discussion (§3.4): the core type's agent begins, and the last statement decides."""
        subtype, check = finding.subtype, finding.check
        assert check is not None
        values = {**case.values, **_about(subtype), "findings": listed(finding.flagged), "correction": check.correction}
        standing = tuple(View(True, error.severity) for error in finding.flagged)
        talk: list[Opinion] = []
        agreed = False
        while len(talk) < self._turns and not agreed:
            opinion = await case.dialogue.ask(
                self._prompts[f"himate-discuss-{1 + len(talk) % 2}"],
                {**values, "history": minutes(talk)},
                f"discuss {subtype.category}",
                lambda reply, views=standing: parse_opinion(reply, views),  # type: ignore[misc]
            )
            agreed = bool(talk) and opinion.views == standing
            standing = opinion.views
            talk.append(opinion)
        kept = tuple(
            error.model_copy(update={"severity": view.severity})
            for error, view in zip(finding.flagged, standing, strict=True)
            if view.counts
        )
        warnings = () if agreed else (f"{subtype.category}: no agreement in {len(talk)} turns; the last one decided",)
        return replace(finding, kept=kept, talk=tuple(talk), warnings=warnings)

    def _calibration(self, segment: Segment) -> Calibration | None:
        """The stored threshold for this model and language pair, where it is needed and there is one."""
        if self._stages != "se+sr+cd" or self._threshold is not None or self._data_folder is None:
            return None
        pair = languages.pair_of(segment.source_lang, segment.target_lang)
        found = confidences.read(self._data_folder, self._llm.model, pair, self._kind)
        if found is not None:
            found.refuse_other_prompts(self.reflection_signature)
            if self._kind == "verbal":
                found.refuse_other_kind("verbal")
        return found

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
        return Rating(
            evaluator=self.name,
            score=mqm.score(errors, "himate"),
            errors=errors,
            explanation="\n".join(story(finding) for finding in findings if finding.flagged) or None,
            calls=tuple(case.dialogue.calls),
            signature=self._signature(case, findings),
            correction=correction,
            warnings=(*self._warnings(case, findings), *left_out),
            seconds=case.dialogue.seconds,
        )

    @property
    def signature(self) -> str:
        """What ratings depend on, as far as it is known before one; a rating's own says how it came about."""
        return self._signed(f"confidence:{self._kind}", "calibrated")

    def _signature(self, case: _Case, findings: list[Finding]) -> str:
        confidence = "confidence:verbal(no logprobs)" if self._fell_back(findings) else f"confidence:{self._kind}"
        return self._signed(confidence, case.calibration.signature if case.calibration else "none(all discussed)")

    def _signed(self, confidence: str, threshold: str) -> str:
        used = PROMPTS[: _USED[self._stages]]
        parts = [f"model:{self._llm.model}", *(f"prompt:{self._prompts[name].signature}" for name in used)]
        parts += [typology.SIGNATURE, *settings_of(self._llm), f"stages:{self._stages}"]
        if self._stages != "se":
            parts.append(confidence)
        if self._stages == "se+sr+cd":
            parts.append(f"threshold:{threshold if self._threshold is None else f'{self._threshold:.6g}'}")
            parts.append(f"turns:{self._turns}")
        return "|".join([self.name, *parts, f"version:{mtagent.__version__}"])

    def _warnings(self, case: _Case, findings: list[Finding]) -> list[str]:
        warnings = [warning for finding in findings for warning in finding.warnings]
        if self._fell_back(findings):
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
        return warnings

    def _fell_back(self, findings: list[Finding]) -> bool:
        checks = [finding.check for finding in findings if finding.check]
        return self._kind == "logprobs" and any(check.kind == "verbal" for check in checks)


def _about(subtype: Subtype) -> dict[str, str]:
    """What the prompts say of a subtype, and the conditions under which its examples are shown."""
    return {
        "subtype": subtype.category,
        "definition": subtype.definition,
        "core": subtype.core,
        "core_meaning": typology.CORES[subtype.core],
        "definitions": typology.described(typology.subtypes_of(subtype.core)),
        subtype.core: "yes",
        subtype.category: "yes",
    }
