"""The edits of a stored run as judged pairs: which edits there are, who labelled them, and what is learnt from them.

The judgements are by the gate of the run itself, or by judges who are asked later (``asking.py``).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, get_args

from rapidfuzz.distance import Levenshtein

from mtagent.analysis.review_summary import is_wanted
from mtagent.analysis.scores import ScoreRow, read_table, text_in
from mtagent.chain.calibration import Source
from mtagent.chain.decided_run import DecidedRun
from mtagent.chain.decided_text import Decided
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import sha256
from mtagent.learning.pairs import Group, JudgedData, JudgedPair, Label, RatedText, counted, group_of
from mtagent.learning.reading import label_in
from mtagent.records import (
    GAIN_DIGITS,
    Chain,
    ErrorCause,
    Judgement,
    Stage,
    Step,
    UndecidedCause,
    comparable,
    judgements_of,
)
from mtagent.store.runs import StoredRun
from mtagent.store.store import Store
from mtagent.text import edits, languages

STRATA = 4
"""Quarters of the edits by size; a sample has the same share of each."""
_SHOWN = 5
"""Segments that a remark names."""
NO_JUDGE = "no judge was asked about its edits: name judges with --judge"
_SCORES_OF_TEXTS = "scores of single texts go with the ratings of the run: mtagent rate --run"


# The edits of a run


class RunEdits(NamedTuple):
    """Edits of a run that a gate decides on, as pairs without a label."""

    pairs: list[JudgedPair]
    total: int
    """How many such edits the run has."""
    refused: int
    """How many more the guards refused; the gate never sees those."""


def pairs_in(chain: Chain, *, as_kept: bool = False) -> Iterator[JudgedPair]:
    """The edits in ``chain`` that a gate decides on, rejected ones included, with the judgements of its own gate.

    Edits that the guards refused are left out. ``as_kept``: where a gate kept a part of an edit, that part. Edits after
    one that was taken back are left out: they were proposed for another text.
    """
    before = chain.segment.translation
    for step in chain.steps:
        is_reverted = any(edit.outcome == "reverted" for edit in step.edits)
        if before is not None and before.strip():
            after = _text_after(step, before, is_reverted=is_reverted, as_kept=as_kept)
            if after is not None and after != before and after.strip():
                # A candidate that was held against another one was not judged against the text before.
                judgements = judgements_of(step.cause) if step.cause.against is None else ()
                yield JudgedPair(chain.segment, group_of(chain.segment), before, after, judgements, step.stage)
        if is_reverted:
            break
        before = step.text


def _text_after(step: Step, before: str, *, is_reverted: bool, as_kept: bool) -> str | None:
    """The text that a step proposed to the gate; ``None`` where no gate decides on it."""
    is_edit = step.stage not in ("translate", "rules") and step.verdict in ("kept", "rejected")
    if step.proposed is None or not is_edit or _is_refused(step):
        return None
    only_kept = as_kept and step.verdict == "kept"
    if only_kept and not is_reverted:
        return step.text
    left_out = {"refused", "rejected"} if only_kept else {"refused"}
    if all(edit.outcome not in left_out for edit in step.edits):
        return step.proposed
    judged = {"applied", "rejected", "reverted"} - left_out
    applied = []
    for edit in step.edits:
        if edit.outcome in judged and edit.start is not None:
            applied.append(edit.model_copy(update={"outcome": "applied"}))
    return edits.apply(before, applied)


def _is_refused(step: Step) -> bool:
    """Whether the guards refused all that a step proposed, or it broke lines: no gate is asked about that."""
    return step.verdict == "rejected" and step.cause.kind in ("guards", "lines")


def read_edits(
    run: StoredRun,
    *,
    sample: int | None = None,
    seed: int = 0,
    wanted: Callable[[JudgedPair], bool] = lambda pair: True,
    as_kept: bool = False,
) -> RunEdits:
    """The edits in ``run`` that are ``wanted``, all or a ``sample``.

    The run is read once for the sizes of the edits and once for the chosen edits. Raises :class:`ConfigError` for a run
    that holds no chains.
    """
    if run.kind != "chain":
        raise ConfigError(f"run {run.name!r}: holds ratings and no edits: name a run of postedit or translate")
    sizes, places = list[int](), list[tuple[int, int]]()
    total, refused = 0, 0
    for position, chain in run.placed_chains():
        refused += sum(_is_refused(step) for step in chain.steps)
        for number, pair in enumerate(pairs_in(chain, as_kept=as_kept)):
            total += 1
            if wanted(pair):
                sizes.append(Levenshtein.distance(pair.before, pair.after))
                places.append((position, number))
    chosen = list(range(len(sizes)))
    if sample is not None:
        chosen = sampled(sizes, sample, seed)
    pairs = []
    for index in chosen:
        position, number = places[index]
        pairs.append(list(pairs_in(run.chain_at(position), as_kept=as_kept))[number])
    return RunEdits(pairs, total, refused)


def sampled(sizes: Sequence[int], number: int, seed: int) -> list[int]:
    """The places of ``number`` edits, in order: as many from each quarter by size.

    The quarters have the same number of edits, so each edit is equally likely, and the sample is like the whole. A
    larger sample of the same edits contains the smaller one: judgements that were paid for are not paid for again.
    """
    by_size = sorted(range(len(sizes)), key=lambda place: (sizes[place], place))
    bounds = [len(sizes) * stratum // STRATA for stratum in range(STRATA + 1)]
    strata = [by_size[low:high] for low, high in pairwise(bounds)]
    for stratum, members in enumerate(strata):
        random.Random(f"{seed} {stratum}").shuffle(members)
    # One of each quarter, then the next of each, and so on.
    places = []
    for turn in range(max(len(members) for members in strata)):
        for members in strata:
            if turn < len(members):
                places.append(members[turn])
    return sorted(places[:number])


# People's labels of the edits


class EditLabels:
    """People's labels of the edits of a run, by segment and stage; where a segment has one edit, without the stage."""

    def __init__(self, where: str, source: Source, people: str = "preferences") -> None:
        self.where = where
        """The file or run, for messages."""
        self.source = source
        self.people = people
        """What kind of labels these are."""
        self._labels: dict[tuple[str, str | None], Label] = {}
        self._stages: dict[str, list[Stage]] = {}
        self._has_scores = False

    @classmethod
    def of_decisions(cls, store: Store, name: str) -> EditLabels:
        """What people decided about the edits of the run ``name``: see :func:`decided_gain`."""
        labels = cls(f"the decisions on run {name!r}", Source(option="--decisions", name=name), "decisions")
        for _, result in DecidedRun(store, name).segments(only_decided=True):
            for pair in pairs_in(result.chain, as_kept=True):
                gain = decided_gain(result, pair)
                if gain is not None:
                    where = f"run {name!r}, segment {pair.segment.id}"
                    labels._labels[pair.segment.id, pair.stage] = Label(0.0, gain, where=where)
        return labels

    @classmethod
    def read(cls, path: Path) -> EditLabels:
        """The labels in a table. Raises :class:`InputError` for rows that label nothing."""
        labels = cls(str(path), Source(option="--human", name=path.name, sha256=sha256(path)))
        for row in read_table(path).rows:
            segment, stage = text_in(row, "id"), text_in(row, "stage")
            if segment is None:
                raise InputError(f"{row.where}: has no id: name the segment whose edit it is about; {_SCORES_OF_TEXTS}")
            if stage is not None and stage not in get_args(Stage):
                raise InputError(f"{row.where}: there is no stage {stage[:20]!r}; write postedit or proofread")
            label = _label_of_edit(row)
            if label.has_scores:
                labels._has_scores, labels.people = True, "human scores"
            if label.gain is not None:
                first = labels._labels.setdefault((segment, stage), label)
                first.refuse_other(label, f"segment {segment}")
        return labels

    def __len__(self) -> int:
        return len(self._labels)

    def label_of(self, pair: JudgedPair) -> Label | None:
        """The label of an edit. Raises :class:`InputError` where two contradict each other."""
        segment = pair.segment.id
        of_segment, of_stage = self._labels.get((segment, None)), self._labels.get((segment, pair.stage))
        if of_segment is not None and of_stage is not None:
            of_segment.refuse_other(of_stage, f"segment {segment}")
        label = of_segment or of_stage
        # One row with scores makes all labels of a table scores.
        return None if label is None else label._replace(has_scores=self._has_scores)

    def see(self, pair: JudgedPair) -> bool:
        """Whether an edit of the run is labelled; notes that the run has it.

        Raises :class:`InputError` for a label without a stage, where a segment has edits in two.
        """
        assert pair.stage is not None  # a run's edits have one
        segment = pair.segment.id
        stages = self._stages.setdefault(segment, [])
        stages.append(pair.stage)
        label = self._labels.get((segment, None))
        if label is not None and len(stages) > 1:
            raise InputError(
                f"{label.where}: segment {segment} has an edit in {' and in '.join(stages)}: say in a column stage "
                "which one is meant"
            )
        return self.label_of(pair) is not None

    @property
    def without_edit(self) -> list[str]:
        """The segments whose labels are of no edit that was seen."""
        segments = []
        for segment, stage in self._labels:
            stages = self._stages.get(segment)
            if stages is None or (stage is not None and stage not in stages):
                segments.append(segment)
        return segments


def _label_of_edit(row: ScoreRow) -> Label:
    """People's scores or preference in a row of a table of labels."""
    if {"human_before", "human_after"} <= row.values.keys():
        return label_in(row, "human")
    for name in ("preference", "human"):
        if name in row.values:
            return label_in(row, name)
    raise InputError(
        f"{row.where}: has {', '.join(row.values) or 'nothing'}; the label of an edit is a preference (before, "
        f"after or same), or human_before and human_after; {_SCORES_OF_TEXTS}"
    )


def decided_gain(result: Decided, pair: JudgedPair) -> float | None:
    """How far people's decisions agree with an edit that a gate decided on, from -1 to 1; ``None`` without decisions.

    The share of its single edits that people want, less the share that they do not want; all must be decided on. A text
    of their own counts by how much nearer the machine's edit has come to it.
    """
    assert pair.stage is not None  # a run's edits have one
    decision = result.decision
    if decision is not None and decision.text is not None:
        return _nearer(pair.before, pair.after, decision.text)
    is_kept = result.chain.by_stage()[pair.stage].verdict == "kept"
    outcome = "applied" if is_kept else "rejected"
    gains = []
    for row in result.edits:
        if row.stage != pair.stage or row.edit.outcome != outcome:
            continue
        if row.decision is not None and row.decision.text is not None:
            gains.append(_nearer(row.edit.old, row.edit.new, row.decision.text))
            continue
        verdict = is_wanted(result, row)
        if verdict is None:
            return None
        gains.append(1.0 if verdict else -1.0)
    if not gains and decision is not None:  # a rewording without single edits
        gains.append(1.0 if is_kept and decision.verdict == "accept" else -1.0)
    if not gains:
        return None
    return round(sum(gains) / len(gains), GAIN_DIGITS)


def _nearer(before: str, after: str, decided: str) -> float:
    """How much nearer ``after`` is to the ``decided`` text than ``before``: 1 = it is that text."""
    was, becomes = Levenshtein.distance(before, decided), Levenshtein.distance(after, decided)
    return round((was - becomes) / max(was, becomes, 1), GAIN_DIGITS)


# Judged and labelled


def decided_edits(store: Store, name: str) -> JudgedData:
    """The edits of the run ``name`` that people decided on, with the judgements of its own gate.

    Raises :class:`ConfigError` where there was no judge, or more than one panel.
    """
    labels = EditLabels.of_decisions(store, name)
    pairs = []
    for _, result in DecidedRun(store, name).segments(only_decided=True):
        for pair in pairs_in(result.chain, as_kept=True):
            if labels.see(pair):
                pairs.append(pair)
    return of_own_gate(pairs, labels, name)


def of_own_gate(pairs: Sequence[JudgedPair], labels: EditLabels, name: str) -> JudgedData:
    """The edits with people's labels and the judgements of the gate of their own run.

    Raises :class:`ConfigError` where there was no judge, or more than one panel.
    """
    judged = [pair for pair in pairs if pair.judgements]
    panels = Counter(_panel(pair) for pair in judged)
    if not panels:
        raise ConfigError(f"run {name!r}: {NO_JUDGE}")
    if len(panels) > 1:
        shown = "; ".join(" + ".join(panel) for panel in panels)
        raise ConfigError(f"run {name!r}: its edits were judged by different panels ({shown}): name one with --judge")
    labelled = []
    for pair in judged:
        label = labels.label_of(pair)
        if label is not None:
            labelled.append(replace(pair, label=label))
    left_out = {"edits that no judge was asked about": len(pairs) - len(judged)}
    return _data_of(labelled, labels, name, left_out)


def _panel(pair: JudgedPair) -> tuple[str, ...]:
    """Who judged a pair."""
    return tuple(comparable(judgement.signature) or judgement.judge for judgement in pair.judgements)


def of_chains(chains: Sequence[Chain], labels: EditLabels | None, name: str) -> JudgedData:
    """The edits of the run ``name`` that a calibration run judged; without ``labels`` its teacher labels them.

    Edits that a judge failed for are counted and named.
    """
    pairs, people = list[JudgedPair](), ""
    failed: dict[str, list[str]] = {}
    for chain in chains:
        for step in chain.steps:
            cause = step.cause
            if not isinstance(cause, UndecidedCause):
                judge = cause.by if isinstance(cause, ErrorCause) else None
                failed.setdefault(judge or "a judge", []).append(chain.segment.id)
                continue
            after = step.proposed or ""
            pair = JudgedPair(chain.segment, group_of(chain.segment), step.text, after, cause.judgements, step.stage)
            if labels is not None:
                label = labels.label_of(pair)
            else:
                label = _teachers_label(cause.teacher)
                if label is not None and cause.teacher is not None:
                    people = f"teacher {cause.teacher.signature or cause.teacher.judge}"
            if label is not None:
                pairs.append(replace(pair, label=label))
    left_out, remarks = {}, []
    for judge, segments in failed.items():
        left_out[f"edits for which {judge} failed"] = len(segments)
        remarks.append(f"{judge} failed for {_listed(segments)}: left out")
    if not pairs:
        raise InputError("no edit has the judgements of all judges: " + "; ".join(remarks))
    return _data_of(pairs, labels, name, left_out, remarks, people)


def _teachers_label(teacher: Judgement | None) -> Label | None:
    """A teacher's scores of both texts, or its preference."""
    if teacher is None or teacher.difference is None:
        return None
    if teacher.choices:
        return Label(0.0, teacher.difference)
    return Label(teacher.before, teacher.after, has_scores=True)


def _data_of(
    pairs: Sequence[JudgedPair],
    labels: EditLabels | None,
    name: str,
    left_out: Mapping[str, int],
    remarks: Sequence[str] = (),
    people: str = "",
) -> JudgedData:
    """Labelled pairs of the run ``name``, with what is known about all of them."""
    data, remarks, left_out = [Source(option="--run", name=name)], list(remarks), dict(left_out)
    if labels is not None:
        data.append(labels.source)
        people = labels.people
        segments = labels.without_edit
        if segments:
            left_out["labels of no edit in the run"] = len(segments)
            remarks.append(f"labels of no edit in the run: {_listed(segments)}")
    grouped, texts = list[JudgedPair](), list[RatedText]()
    language_pairs, domains = dict[str, None](), dict[str, None]()
    for pair, group in zip(pairs, _groups(pairs), strict=True):
        grouped.append(replace(pair, group=group))
        texts += pair.texts
        language_pairs[languages.pair_of(pair.segment.source_lang, pair.segment.target_lang)] = None
        if pair.segment.domain:
            domains[pair.segment.domain] = None
    return JudgedData(
        judges=judge_names(pairs[0].judgements),
        texts=tuple(texts),
        pairs=tuple(grouped),
        signatures=tuple(judgement.signature for judgement in pairs[-1].judgements),
        data=tuple(data),
        language_pairs=tuple(language_pairs),
        domains=tuple(domains),
        left_out=counted(left_out),
        remarks=tuple(remarks),
        people=people,
    )


def _groups(pairs: Sequence[JudgedPair]) -> list[Group]:
    """What stays together when a gate is learnt from some edits and tried on others: documents, and equal texts."""
    first: dict[tuple[str, str], Group] = {}
    for pair in pairs:
        texts = pair.segment.source, pair.after
        first[texts] = min(first.get(texts, pair.group), pair.group)
    return [first[pair.segment.source, pair.after] for pair in pairs]


def judge_names(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """What the judges are called; judges of one name by the parts of their signatures that differ."""
    names = []
    for judgement in judgements:
        signatures = [other.signature.split("|") for other in judgements if other.judge == judgement.judge]
        shared = set(signatures[0]).intersection(*signatures)
        own = [part for part in judgement.signature.split("|") if part not in shared]
        is_shared = len(signatures) > 1 and bool(own)
        names.append(f"{judgement.judge} ({', '.join(own)})" if is_shared else judgement.judge)
    return tuple(names)


def _listed(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    if len(names) <= _SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
