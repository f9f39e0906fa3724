"""What a gate is learnt from: pairs of a text before and after an edit, as judges and people see them.

A :class:`JudgedPair` is the one record of such a pair, wherever it was read; a :class:`RatedText` is a single text, for
the threshold from which texts are error-free. :class:`JudgedData` holds both. ``reading.py`` makes it from files,
``runs.py`` from stored runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from mtagent.chain.calibration import Source
from mtagent.errors import ConfigError, InputError
from mtagent.records import GAIN_DIGITS, Judgement, Segment, Stage, comparable
from mtagent.text import languages
from mtagent.text.amounts import counted, natural_order

Group = tuple[str, str]
"""What an edit or text belongs to: ``("document", NAME)``, or ``("segment", ID)`` where no document is known."""
BEFORE, AFTER = "before", "after"
"""The systems of the two texts of a pair."""
KINDS: dict[str, float] = {"mqm": 0.0, "esa": 85.0, "rate": 4.0}
"""Kinds of human scores, and from which score people call a text error-free: WMT's for MQM and ESA, RATE's best."""


def group_of(segment: Segment) -> Group:
    """The document of a segment, or the segment itself."""
    if segment.document is None:
        return "segment", segment.id
    return "document", segment.document


def block_length(segments: int) -> int:
    """How many neighbouring segments are resampled together if their documents are not known.

    The cube root of their number: the length with the most exact variance grows like that (Hall, Horowitz and Jing
    1995, "On blocking rules for the bootstrap with dependent data").
    """
    return max(1, round(math.cbrt(segments)))


class Definition(NamedTuple):
    """What people call error-free: a score of ``cut`` or more and, with ``unmarked``, no marked error."""

    kind: str = "human scores"
    cut: float | None = None
    unmarked: bool = False

    def __str__(self) -> str:
        score = "a label" if self.cut is None else f"{self.kind} >= {self.cut:g}"
        return f"{score} and nothing marked" if self.unmarked else score

    def holds_for(self, human: float | None, marked: bool | None) -> bool | None:
        """Whether a text with this score is error-free, where people ``marked`` an error or not; ``None``: unknown."""
        if human is None or self.cut is None:
            return None
        return human >= self.cut and not (self.unmarked and marked)


def definition(kind: str | None, cut: float | None) -> Definition:
    """The definition for a ``kind`` of scores (see :data:`KINDS`), or one with its own ``cut``."""
    if cut is not None and not math.isfinite(cut):
        raise ConfigError(f"error-free from {cut:g} on: give a number")
    if kind is None or cut is not None:
        return Definition(kind or "human scores", cut)
    return Definition(kind, KINDS[kind], unmarked=kind == "esa")


class RatedText(NamedTuple):
    """A text that a system made of a segment, with each judge's score and what people found."""

    system: str
    segment: Segment
    scores: tuple[float | None, ...]
    """One for each judge; ``None``: a judge gave none, or only compares."""
    human: float | None = None
    marked: bool | None = None
    """Whether people marked an error."""
    label: bool | None = None
    """Whether people called it error-free."""

    @property
    def is_labelled(self) -> bool:
        """Whether people gave a score or a label."""
        return self.human is not None or self.label is not None

    def error_free(self, definition: Definition) -> bool | None:
        """Whether people found it error-free; ``None``: not known. Their label goes before their score."""
        if self.label is not None:
            return self.label
        return definition.holds_for(self.human, self.marked)


class Label(NamedTuple):
    """The judgement of people (or a teacher) on a pair: scores of the two texts, or a preference as 0 and the gain."""

    before: float | None = None
    after: float | None = None
    has_scores: bool = False
    """Whether these are scores, and not a preference."""
    where: str = ""
    """File and line, or run and segment."""

    @classmethod
    def of(cls, judgement: Judgement, where: str = "") -> Label:
        """The same as the judgement of one who scores both texts, or who compares them."""
        if judgement.choices:
            return cls(0.0, judgement.difference, where=where)
        return cls(judgement.before, judgement.after, has_scores=True, where=where)

    @property
    def gain(self) -> float | None:
        """What people gain by the edit; ``None`` where they did not judge both texts."""
        if self.before is None or self.after is None:
            return None
        return round(self.after - self.before, GAIN_DIGITS)


NO_LABEL = Label()


def mean_label(labels: Sequence[Label]) -> Label:
    """The mean of several annotators' labels of one pair; labels without a gain are left out.

    Raises :class:`InputError` where some are scores and others preferences.
    """
    before, after = list[float](), list[float]()
    first = NO_LABEL
    for label in labels:
        if label.before is None or label.after is None:
            continue
        if not before:
            first = label
        elif label.has_scores != first.has_scores:
            raise InputError(
                f"{label.where}: this label and the one in {first.where} are of the same edit; expected scores in both "
                "or preferences in both"
            )
        before.append(label.before)
        after.append(label.after)
    if not before:
        return labels[0] if labels else NO_LABEL
    return first._replace(before=math.fsum(before) / len(before), after=math.fsum(after) / len(after))


def averaged(edits: int) -> str:
    """A remark that several annotators labelled some edits."""
    return f"several labels of one edit are averaged: {counted(edits, 'edit')}"


@dataclass(frozen=True)
class JudgedPair:
    """A text before an edit and after it: the judgements of each judge and of people (or a teacher)."""

    segment: Segment
    """The segment, as far as it is known: a file of scores may give its id alone."""
    group: Group
    before: str = ""
    after: str = ""
    """The texts; empty where a file gives only scores."""
    judgements: tuple[Judgement, ...] = ()
    """One for each judge, always in the same order; empty: no judge was called."""
    unasked: tuple[str, ...] = ()
    """Judges that the gate did not ask, since they could hardly change its decision."""
    stage: Stage | None = None
    """The stage of a chain that made the edit."""
    systems: tuple[str, str] | None = None
    """The systems of the two texts, in files of scores."""
    label: Label = NO_LABEL

    @property
    def name(self) -> str:
        """The id of the segment, with the stage where there is one."""
        return self.segment.id if self.stage is None else f"{self.segment.id} {self.stage}"

    @cached_property
    def differences(self) -> tuple[float | None, ...]:
        """By how much each judge prefers the text after; ``None`` for a judge that failed."""
        return tuple(judgement.difference for judgement in self.judgements)

    @property
    def scores_before(self) -> tuple[float | None, ...]:
        """Each judge's score of the text before; ``None`` for a judge that compares."""
        return tuple(None if judgement.choices else judgement.before for judgement in self.judgements)

    @property
    def is_complete(self) -> bool:
        """Whether every judge and people judged both texts."""
        return self.label.gain is not None and None not in self.differences

    @property
    def texts(self) -> tuple[RatedText, ...]:
        """The two texts, where the label is two scores."""
        if not self.label.has_scores:
            return ()
        scores_after = tuple(None if judgement.choices else judgement.after for judgement in self.judgements)
        return (
            RatedText(BEFORE, self.segment, self.scores_before, self.label.before),
            RatedText(AFTER, self.segment, scores_after, self.label.after),
        )


@dataclass(frozen=True)
class JudgedData:
    """Pairs and texts with the judgements of judges and people, and the files they were read from."""

    judges: tuple[str, ...]
    texts: tuple[RatedText, ...] = ()
    pairs: tuple[JudgedPair, ...] | None = None
    """``None``: no edits were named."""
    signatures: tuple[str, ...] = ()
    """The signature of each judge; ``""``: its ratings have none."""
    sources: tuple[Source, ...] = ()
    language_pairs: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How much was read and cannot be used, by the reason."""
    remarks: tuple[str, ...] = ()
    """Warnings for the user."""
    people: str = ""
    """Who gave the labels, where it is not simply people's scores."""

    @cached_property
    def groups(self) -> dict[Group, int]:
        """A number for each group that can be used; the order of a file changes no number.

        Segments without a document are numbered by blocks of neighbours, in the order of their ids: they are often of
        one text.
        """
        usable = {pair.group for pair in self.pairs or () if pair.is_complete}
        for text in self.texts:
            is_scored = any(score is not None for score in text.scores)
            if is_scored and text.is_labelled:
                usable.add(group_of(text.segment))
        documents = sorted(group for group in usable if group[0] == "document")
        segments = [group for group in usable if group[0] == "segment"]
        segments.sort(key=lambda group: natural_order(group[1]))
        numbers = {group: number for number, group in enumerate(documents)}
        length = block_length(len(segments))
        for place, group in enumerate(segments):
            numbers[group] = len(documents) + place // length
        return numbers

    @property
    def has_documents(self) -> bool:
        """Whether the document of a segment is known."""
        return any(kind == "document" for kind, _ in self.groups)

    @property
    def scoring_judge(self) -> int:
        """The place of the first judge that scores texts; 0 where all compare."""
        for place in range(len(self.judges)):
            if any(text.scores[place] is not None for text in self.texts):
                return place
        return 0

    def with_details(self, signatures: Sequence[str], lp: str | None) -> JudgedData:
        """The same with the signatures (``[NAME=]SIGNATURE``) and the language pair that the user gives.

        Raises :class:`ConfigError` where they contradict the ratings.
        """
        language_pairs = self.language_pairs
        if not language_pairs and lp:
            language_pairs = (languages.pair_of(*languages.parse_pair(lp)),)
        completed = list(self.signatures)
        for option in signatures:
            place, signature = self._signature_in(option)
            if completed[place] and comparable(completed[place]) != comparable(signature):
                raise ConfigError(f"--signature {option}: the ratings are signed {completed[place]}")
            completed[place] = completed[place] or signature
        return replace(self, signatures=tuple(completed), language_pairs=language_pairs)

    def _signature_in(self, option: str) -> tuple[int, str]:
        """The place of the judge that ``[NAME=]SIGNATURE`` is about, and the signature."""
        name, equals, signature = option.partition("=")
        if equals and name in self.judges:
            return self.judges.index(name), signature
        # A signature may hold a "=" itself, but only after a "|".
        if equals and "|" not in name:
            raise ConfigError(f"--signature {option}: no judge {name!r}; there are {', '.join(self.judges)}")
        if len(self.judges) > 1:
            raise ConfigError(f"--signature {option}: whose? --signature NAME=…, for {' or '.join(self.judges)}")
        return 0, option

    def refuse_unsigned(self) -> None:
        """Raise :class:`InputError` if the evaluator of ratings is not known."""
        for name, signature in zip(self.judges, self.signatures, strict=True):
            if not signature:
                read = ", ".join(source.name for source in self.sources)
                raise InputError(
                    f"{read}: the ratings of {name} carry no signature, so the gate cannot tell who made them: give "
                    "--signature; `mtagent rate` writes it into JSON Lines, and `rate --show` prints it"
                )


def without_zeros(reasons: Mapping[str, int]) -> dict[str, int]:
    """Only the reasons for which something was left out."""
    return {reason: number for reason, number in reasons.items() if number}
