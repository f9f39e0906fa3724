"""The edits of a stored run as judged pairs: which edits there are, who labelled them, and judges who are called later.

The judgements are by the gate of the run itself, or by judges (and a teacher) that ``gate calibrate --run`` asks. That
decides nothing: a judged pair is stored as a chain of one step with the text before and the text proposed, the ratings,
and a cause with the judgements.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, get_args

from rapidfuzz.distance import Levenshtein

from mtagent.analysis.review_summary import is_wanted
from mtagent.analysis.scores import ScoreRow, read_table, text_in
from mtagent.chain import hints
from mtagent.chain.calibration import Source
from mtagent.chain.decided_text import Decided, DecidedRun
from mtagent.chain.gate import Judge, Opinion, asks_model
from mtagent.config import Config, ModelSettings
from mtagent.errors import ConfigError, InputError, calls_of
from mtagent.evaluators.protocol import Evaluator
from mtagent.evaluators.rating import rating_by
from mtagent.formats.files import sha256
from mtagent.jobs.estimate import Counter, Estimator, Range
from mtagent.jobs.improve import outcome_of_chain
from mtagent.jobs.inputs import content_hashes
from mtagent.jobs.parts import OwnParts, Panel, assembled_panel, effective, judge_specs
from mtagent.jobs.run import Job, OnStart, RunModels, run_job
from mtagent.learning.gain import FEWEST_PAIRS, SAMPLE, refuse_equal_gains
from mtagent.learning.pairs import (
    Group,
    JudgedData,
    JudgedPair,
    Label,
    RatedText,
    averaged,
    group_of,
    mean_label,
    without_zeros,
)
from mtagent.learning.reading import label_in
from mtagent.llm.gathering import answered
from mtagent.records import (
    GAIN_DIGITS,
    Call,
    Cause,
    Chain,
    ErrorCause,
    GainCause,
    Judgement,
    Rating,
    RatingRole,
    Stage,
    Step,
    UndecidedCause,
    comparable,
    judgements_of,
)
from mtagent.store.runs import Run, RunSummary
from mtagent.store.store import Store, open_existing
from mtagent.text import edits, languages
from mtagent.text.amounts import counted

STRATA = 4
"""Quarters of the edits by size; a sample has the same share of each."""
SETTINGS = {"judge", "judge_model", "samples", "llm", *ModelSettings.model_fields}
"""The settings that judgements depend on; prompts and options are in the signatures."""
_SHOWN = 5
"""Segments that a remark names."""
_NO_JUDGE = (
    "no judge has rated its edits: name judges with --judge, as in `--judge pairwise --model NAME`, which has a "
    "model compare the texts before and after each edit"
)
_SCORES_OF_TEXTS = "scores of single texts go with the ratings of the run: mtagent rate --run"


# The edits of a run


def pairs_in(chain: Chain, *, as_kept: bool = False) -> Iterator[JudgedPair]:
    """The edits in ``chain`` that a gate decides on, rejected ones included, with the judgements of its own gate.

    Edits that the guards refused are left out. ``as_kept``: if a gate kept a part of an edit, that part. Edits after
    a reverted one are left out: they were proposed for another text.
    """
    before = chain.segment.translation
    for step in chain.steps:
        is_reverted = any(edit.outcome == "reverted" for edit in step.edits)
        if before is not None and before.strip():
            after = _text_after(step, before, is_reverted=is_reverted, as_kept=as_kept)
            if after is not None and after != before and after.strip():
                # A candidate that was held against another one was not judged against the text before.
                judgements = judgements_of(step.cause) if step.cause.against is None else ()
                unasked = step.cause.unasked if isinstance(step.cause, GainCause) else ()
                yield JudgedPair(
                    chain.segment, group_of(chain.segment), before, after, judgements, unasked=unasked, stage=step.stage
                )
        if is_reverted:
            break
        before = step.text


def _text_after(step: Step, before: str, *, is_reverted: bool, as_kept: bool) -> str | None:
    """The text that a step proposed to the gate; ``None`` if no gate decides on it."""
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
    """Whether the guards refused the whole proposal of a step, or it broke lines: no gate decides on that."""
    return step.verdict == "rejected" and step.cause.kind in ("guards", "lines")


EDITED_TEXT = "an edited text is what one stage made of a segment; it counts once all its edits are decided on"


class RunEdits(NamedTuple):
    """Edits of a run that a gate decides on, as pairs; with ``labels`` those that people labelled."""

    run: str
    pairs: list[JudgedPair]
    total: int
    """How many such edits the run has."""
    refused: int = 0
    """How many more the guards refused; the gate never sees those."""
    labels: EditLabels | None = None

    @property
    def progress(self) -> str:
        """How many edited texts people have decided on: ``31 edited texts (12 accepted, 19 rejected)``."""
        gains = [pair.label.gain or 0.0 for pair in self.pairs]
        accepted = sum(gain > 0 for gain in gains)
        rejected = sum(gain < 0 for gain in gains)
        words = f"{accepted} accepted, {rejected} rejected"
        if accepted + rejected < len(gains):
            words += f", {len(gains) - accepted - rejected} as much accepted as rejected"
        return f"{counted(len(gains), 'edited text')} ({words})"

    @property
    def recommended(self) -> str:
        """How many edited texts should be decided; empty if as many are."""
        if len(self.pairs) >= min(SAMPLE, self.total):
            return ""
        if self.total < SAMPLE:
            return f"; {SAMPLE} are recommended, and the run has {self.total}"
        return f"; {SAMPLE} are recommended"

    @property
    def too_few_decided(self) -> str:
        """Why people's decisions are too few to learn from."""
        words = f"you have decided on {self.progress}; at least {FEWEST_PAIRS} are needed to learn from"
        if self.total < FEWEST_PAIRS:
            return f"{words}. The run has only {counted(self.total, 'edited text')}: make a run of more texts"
        return f"{words}{self.recommended} ({EDITED_TEXT})"


def edits_to_judge(
    config: Config,
    name: str,
    labels: EditLabels | None = None,
    *,
    sample: int | None = None,
    seed: int = 0,
    lp: str | None = None,
) -> RunEdits:
    """The edits of a run that people labelled, all or a ``sample``; without ``labels``, a sample of all its edits. Of
    one language pair, if ``lp`` names one.

    Raises :class:`mtagent.errors.MtagentError` if nothing can be learnt, before any judge is called.
    """
    if labels is None:
        _require_judges(config)
    only = languages.parse_pair(lp) if lp else None
    pairs, sizes, places = list[JudgedPair](), list[int](), list[tuple[int, int]]()
    total, refused = 0, 0
    with open_existing(config.store) as store:
        run = store.read(name)
        if run.kind != "chain":
            raise ConfigError(f"run {name!r}: has ratings and no edits: name a run of postedit or translate")
        for position, chain in run.placed_chains():
            refused += sum(_is_refused(step) for step in chain.steps)
            # People saw the kept edits; a teacher sees the proposed ones.
            in_chain = list(pairs_in(chain, as_kept=labels is not None))
            total += len(in_chain)
            if only is not None and only != (chain.segment.source_lang, chain.segment.target_lang):
                continue
            if labels is not None:
                pairs += labels.labelled(in_chain)
                continue
            for number, pair in enumerate(in_chain):
                sizes.append(Levenshtein.distance(pair.before, pair.after))
                places.append((position, number))
        if labels is None:
            # A large run is read again rather than kept in memory.
            for index in sampled(sizes, sample or SAMPLE, seed):
                position, number = places[index]
                pairs.append(list(pairs_in(run.chain_at(position)))[number])
        elif sample is not None:
            sizes = [Levenshtein.distance(pair.before, pair.after) for pair in pairs]
            pairs = [pairs[index] for index in sampled(sizes, sample, seed)]
    run_edits = RunEdits(name, pairs, total, refused, labels)
    if len(pairs) < FEWEST_PAIRS:
        raise InputError(_too_few(run_edits, config))
    gains = []
    for pair in pairs:
        if pair.label.gain is not None:
            gains.append(pair.label.gain)
    if len(gains) == len(pairs):
        refuse_equal_gains(gains)
    return run_edits


def _too_few(run_edits: RunEdits, config: Config) -> str:
    """Why there is too little to learn from, and what to do."""
    labels = run_edits.labels
    if labels is not None and labels.are_decisions:
        message = f"run {run_edits.run!r}: {run_edits.too_few_decided}"
        if run_edits.total >= FEWEST_PAIRS:
            message += f". Go on with `mtagent review {shlex.quote(run_edits.run)}`"
    else:
        content = f"{counted(run_edits.total, 'edited text')} that a gate decides on"
        if run_edits.refused:
            content += f" (and {run_edits.refused} that the guards refused)"
        if labels is not None:
            content += f", of which {len(run_edits.pairs)} are labelled in {labels.where}"
        elif run_edits.total >= FEWEST_PAIRS:
            content += f"; the sample is of {len(run_edits.pairs)}"
        message = f"run {run_edits.run!r}: has {content}: at least {FEWEST_PAIRS} are needed to learn from"
    is_judged = any(pair.judgements for pair in run_edits.pairs)
    if run_edits.pairs and not config.judges and not is_judged:
        message += f"; and {_NO_JUDGE}"
    return message


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

    def __init__(self, where: str, source: Source, people: str) -> None:
        self.where = where
        """The file or run, for messages."""
        self.source = source
        self.people = people
        """What kind of labels these are."""
        self._labels: dict[tuple[str, str | None], list[Label]] = {}
        """Of several annotators, where there are several."""
        self._used = set[tuple[str, str | None]]()
        self.averaged = 0
        """How many of the labelled edits have several labels."""

    @classmethod
    def of_decisions(cls, store: Store, name: str) -> EditLabels:
        """What people decided about the edits of the run ``name``: see :func:`decided_gain`."""
        labels = cls(f"the decisions on run {name!r}", Source(option="--decisions", name=name), "decisions")
        for _, result in DecidedRun(store, name).segments(only_decided=True):
            for pair in pairs_in(result.chain, as_kept=True):
                gain = decided_gain(result, pair)
                if gain is not None:
                    where = f"run {name!r}, segment {pair.segment.id}"
                    labels._labels[pair.segment.id, pair.stage] = [Label(0.0, gain, where=where)]
        return labels

    @classmethod
    def read(cls, path: Path) -> EditLabels:
        """The labels in a table. Raises :class:`InputError` for rows that label nothing."""
        labels = cls(str(path), Source(option="--human", name=path.name, sha256=sha256(path)), "preferences")
        for row in read_table(path).rows:
            segment, stage = text_in(row, "id"), text_in(row, "stage")
            if segment is None:
                raise InputError(f"{row.where}: has no id: name the segment whose edit it is about; {_SCORES_OF_TEXTS}")
            if stage is not None and stage not in get_args(Stage):
                raise InputError(f"{row.where}: there is no stage {stage[:20]!r}; write postedit or proofread")
            label = _label_of_edit(row)
            if label.has_scores:
                labels.people = "human scores"
            if label.gain is not None:
                labels._labels.setdefault((segment, stage), []).append(label)
        return labels

    def labelled(self, pairs: Sequence[JudgedPair]) -> list[JudgedPair]:
        """The labelled ones among the edits of a segment, with their labels.

        Several labels of an edit are averaged. Raises :class:`InputError` for a label without a stage where the
        segment has edits in two.
        """
        labelled = []
        for pair in pairs:
            segment = pair.segment.id
            of_segment = self._labels.get((segment, None), [])
            labels = of_segment + self._labels.get((segment, pair.stage), [])
            if of_segment and len(pairs) > 1:
                stages = " and in ".join(str(other.stage) for other in pairs)
                raise InputError(
                    f"{of_segment[0].where}: segment {segment} has an edit in {stages}: name the stage in a column "
                    "`stage`"
                )
            if labels:
                self._used |= {(segment, None), (segment, pair.stage)}
                self.averaged += len(labels) > 1
                labelled.append(replace(pair, label=mean_label(labels)))
        return labelled

    @property
    def are_decisions(self) -> bool:
        """Whether people decided on the edits in a review, not in a table of labels."""
        return self.source.option == "--decisions"

    @property
    def without_edit(self) -> list[str]:
        """The segments whose labels are of no edit of the run."""
        segments = []
        for segment, stage in self._labels:
            if (segment, stage) not in self._used:
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

    The share of its single edits that people want, less the share that they do not want; all must be decided on. If
    they wrote another text, it counts how much nearer the machine's edit has come to it.
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


def decided_edits(store: Store, name: str, total: int) -> RunEdits:
    """The edits of the run ``name`` that people decided on; ``total`` is the number of all of its edits.

    Raises :class:`InputError` if they are too few to learn from.
    """
    labels = EditLabels.of_decisions(store, name)
    pairs = list[JudgedPair]()
    for _, result in DecidedRun(store, name).segments(only_decided=True):
        pairs += labels.labelled(list(pairs_in(result.chain, as_kept=True)))
    run_edits = RunEdits(name, pairs, total, labels=labels)
    if len(pairs) < FEWEST_PAIRS:
        raise InputError(run_edits.too_few_decided)
    return run_edits


def edits_of(store: Store, name: str) -> int:
    """How many edits a run has that a gate decides on. Reads the whole run."""
    total = 0
    for _, chain in store.read(name).placed_chains():
        total += sum(1 for _ in pairs_in(chain, as_kept=True))
    return total


def all_edits(config: Config, name: str, labels: EditLabels | None, *, lp: str | None = None) -> JudgedData:
    """All edits of a run that its own gate judged, those in ``labels`` with their labels; of one language pair, if
    ``lp`` names one.

    Raises as :func:`of_own_gate`.
    """
    only = languages.parse_pair(lp) if lp else None
    pairs = list[JudgedPair]()
    with open_existing(config.store) as store:
        run = store.read(name)
        if run.kind != "chain":
            raise ConfigError(f"run {name!r}: has ratings and no edits: name a run of postedit or translate")
        for _, chain in run.placed_chains():
            if only is not None and only != (chain.segment.source_lang, chain.segment.target_lang):
                continue
            in_chain = list(pairs_in(chain, as_kept=True))
            labelled = labels.labelled(in_chain) if labels is not None else []
            pairs += labelled
            stages = {pair.stage for pair in labelled}
            for pair in in_chain:
                if pair.stage not in stages:
                    pairs.append(pair)
    return of_own_gate(RunEdits(name, pairs, len(pairs), labels=labels))


def of_own_gate(run_edits: RunEdits) -> JudgedData:
    """Labelled edits with the judgements of the gate of their own run.

    Raises :class:`ConfigError` if there was no judge, or more than one panel.
    """
    if not run_edits.pairs and run_edits.labels is not None and run_edits.labels.are_decisions:
        raise InputError(f"no edit of run {run_edits.run!r} is decided on yet; {FEWEST_PAIRS} are the least")
    judged = []
    panels: dict[tuple[str, ...], str] = {}
    unasked = 0
    unasked_judges: dict[str, None] = {}
    for pair in run_edits.pairs:
        if pair.unasked:
            unasked += 1
            unasked_judges |= dict.fromkeys(pair.unasked)
        elif pair.judgements:
            judged.append(pair)
            panel = [comparable(judgement.signature) or judgement.judge for judgement in pair.judgements]
            panels[tuple(panel)] = " + ".join(judgement.plain_name for judgement in pair.judgements)
    remarks = []
    if unasked:
        remarks.append(
            f"{' and '.join(unasked_judges)}: not asked about {unasked} of {counted(len(run_edits.pairs), 'edit')}, on "
            "which the decision was clear: name all judges with --judge, and they are asked about these, too"
        )
    if unasked and len(judged) < FEWEST_PAIRS:
        raise InputError(f"run {run_edits.run!r}: {remarks[0]}")
    if not panels:
        raise ConfigError(f"run {run_edits.run!r}: {_NO_JUDGE}")
    if len(panels) > 1:
        shown = "; ".join(panels.values())
        if len(set(panels.values())) < len(panels):  # they differ in a prompt or a setting
            shown = "; ".join(" + ".join(panel) for panel in panels)
        raise ConfigError(
            f"run {run_edits.run!r}: its edits were judged by different panels ({shown}): name one panel with --judge"
        )
    left_out = {
        "edits that no judge has rated": len(run_edits.pairs) - len(judged) - unasked,
        "edits that not all judges have rated": unasked,
    }
    return _data_of(judged, run_edits, left_out, remarks)


def of_chains(run_edits: RunEdits, chains: Iterable[Chain]) -> JudgedData:
    """The edits as :func:`judge_edits` stored them; those without people's labels have their teacher's.

    Edits that a judge failed for are counted and named.
    """
    by_edit = {}
    for pair in run_edits.pairs:
        by_edit[pair.segment.id, pair.stage, pair.before, pair.after] = pair
    pairs, people = list[JudgedPair](), ""
    failed: dict[str, list[str]] = {}
    for chain in chains:
        (step,) = chain.steps
        cause = step.cause
        if not isinstance(cause, UndecidedCause):
            judge = cause.by if isinstance(cause, ErrorCause) else None
            failed.setdefault(judge or "a judge", []).append(chain.segment.id)
            continue
        edit = chain.segment.id, step.stage, step.text, step.proposed or ""
        pair = replace(by_edit[edit], judgements=cause.judgements, unasked=())
        if cause.teacher is not None:
            people = f"teacher {cause.teacher.signature or cause.teacher.judge}"
            pair = replace(pair, label=Label.of(cause.teacher))
        if pair.label.gain is not None:
            pairs.append(pair)
    left_out, remarks = {}, []
    for judge, segments in failed.items():
        left_out[f"edits for which {judge} failed"] = len(segments)
        remarks.append(f"{judge} failed for {_listed(segments)}: left out")
    if not pairs:
        raise InputError("no edit has the judgements of all judges: " + "; ".join(remarks))
    return _data_of(pairs, run_edits, left_out, remarks, people)


def _data_of(
    pairs: Sequence[JudgedPair],
    run_edits: RunEdits,
    left_out: Mapping[str, int],
    remarks: Sequence[str] = (),
    people: str = "",
) -> JudgedData:
    """Labelled pairs, with what is known about all of them."""
    sources, remarks, left_out = [Source(option="--run", name=run_edits.run)], list(remarks), dict(left_out)
    if run_edits.labels is not None:
        sources.append(run_edits.labels.source)
        people = run_edits.labels.people
        if run_edits.labels.averaged:
            remarks.append(averaged(run_edits.labels.averaged))
        segments = run_edits.labels.without_edit
        if segments:
            left_out["labels of no edit in the run"] = len(segments)
            remarks.append(f"labels of no edit in the run: {_listed(segments)}")
    # Documents stay together when a gate is learnt from some edits and tried on others, and so do equal texts.
    groups: dict[tuple[str, str], Group] = {}
    for pair in pairs:
        edit = pair.segment.source, pair.after
        groups[edit] = min(groups.get(edit, pair.group), pair.group)
    grouped, texts = list[JudgedPair](), list[RatedText]()
    language_pairs, domains = dict[str, None](), dict[str, None]()
    for pair in pairs:
        grouped.append(replace(pair, group=groups[pair.segment.source, pair.after]))
        texts += pair.texts
        language_pairs[languages.pair_of(pair.segment.source_lang, pair.segment.target_lang)] = None
        if pair.segment.domain:
            domains[pair.segment.domain] = None
    return JudgedData(
        judges=judge_names(pairs[0].judgements),
        texts=tuple(texts),
        pairs=tuple(grouped),
        signatures=tuple(judgement.signature for judgement in pairs[-1].judgements),
        sources=tuple(sources),
        language_pairs=tuple(language_pairs),
        domains=tuple(domains),
        left_out=without_zeros(left_out),
        remarks=tuple(remarks),
        people=people,
    )


def judge_names(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """The names of the judges; judges with one name are named by the parts of their signatures that differ."""
    names = []
    for judgement in judgements:
        signatures = []
        for other in judgements:
            if other.judge == judgement.judge:
                signatures.append(other.signature.split("|"))
        shared = set(signatures[0]).intersection(*signatures)
        distinct = []
        for part in judgement.signature.split("|"):
            if part not in shared:
                distinct.append(part)
        name = judgement.judge
        if len(signatures) > 1 and distinct:
            name += f" ({', '.join(distinct)})"
        names.append(name)
    return tuple(names)


def _listed(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    if len(names) <= _SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"


# Calling judges and a teacher


class JudgedRun(NamedTuple):
    """The judged pairs: a chain of one step for each, failed ones included."""

    run: RunSummary
    chains: list[Chain]


def _require_judges(config: Config) -> None:
    if not config.judges:
        raise ConfigError("name the gate's judges with --judge")


async def judge_edits(
    config: Config,
    run_edits: RunEdits,
    *,
    teacher: str | None = None,
    own: OwnParts = OwnParts(),
    on_start: OnStart = lambda *_: None,
    on_chain: Callable[[Chain], None] = lambda _: None,
) -> JudgedRun:
    """Have the judges of ``config`` and the ``teacher`` compare the texts of edits of a stored run.

    All of them rate again: the rating that caused an edit is never reused. The judges get the same requests as from the
    gate, so replies to the gate come from the store. The same command resumes it.
    """
    _require_judges(config)
    with open_existing(config.store) as store:
        models = RunModels(config, store)
        async with assembled_panel(config, teacher, own, wrap_llm=models.wrap) as panel:
            settings = {}
            for key, value in effective(config, own).for_results().items():
                if key in SETTINGS:
                    settings[key] = value
            signatures = {}
            for place, judge in enumerate(panel.judges, start=1):
                signatures[f"judge {place}"] = judge.signature
            if panel.teacher is not None:
                settings["teacher"] = teacher
                signatures["teacher"] = panel.teacher.signature
            prompts = content_hashes({}, config.model_copy(update={"glossary": None, "keep": None}))
            job = Job(
                command="calibrate",
                settings=settings,
                inputs={"run": run_edits.run, "pairs": _digest(run_edits.pairs, panel), **prompts},
                total=len(run_edits.pairs),
                items=lambda: run_edits.pairs,
                work=lambda run, position, pair: judged(pair, panel),
                save=Run.save,
                outcome=outcome_of_chain,
                signatures=signatures,
            )
            run = await run_job(job, config, store, models, on_start=on_start, on_result=on_chain)
        return JudgedRun(store.run(run.name), list(run.chains()))


def _digest(pairs: Iterable[JudgedPair], panel: Panel) -> str:
    """A hash of these edits and the questions about them, for the name of the run."""
    digest = hashlib.sha256()
    shows_hints = any(asks_model(judge) for judge in panel.judges)
    for pair in pairs:
        segment = pair.segment.model_dump_json(exclude_defaults=True)  # fields that come later change no name
        digest.update(repr((segment, pair.stage, pair.before, pair.after)).encode())
        questions = hints.hints(pair.segment, pair.before, pair.after) if shows_hints else ()
        if questions:
            digest.update(repr(questions).encode())
    return digest.hexdigest()


async def judged(pair: JudgedPair, panel: Panel) -> Chain:
    """The judgements of the panel and the teacher. Where one of them fails, the step has failed, and names it."""
    assert pair.stage is not None  # a run's edits have one
    began = time.perf_counter()
    judges = list(panel.judges)
    if panel.teacher is not None:
        judges.append(panel.teacher)
    opinions = await answered(*(_opinion(judge, pair) for judge in judges), calls=lambda opinion: opinion.paid)
    calls, ratings, judgements = list[Call](), list[Rating](), list[Judgement]()
    failure: ErrorCause | None = None
    for judge, opinion in zip(judges, opinions, strict=True):
        if not isinstance(opinion, Exception):
            calls += opinion.paid
            ratings += opinion.ratings
            judgements.append(opinion.judgement)
            continue
        calls += calls_of(opinion)
        if failure is None:
            who = f"the teacher {judge.name}" if judge is panel.teacher else judge.name
            failure = ErrorCause.of(opinion, f"{who}: {opinion}", by=who)
    cause: Cause
    if failure is not None:
        cause = failure
    else:
        teacher = judgements.pop() if panel.teacher is not None else None
        cause = UndecidedCause(judgements=tuple(judgements), teacher=teacher)
    step = Step(
        stage=pair.stage,
        text=pair.before,
        proposed=pair.after,
        verdict="unchanged" if failure is None else "failed",
        cause=cause,
        ratings=tuple(ratings),
        calls=tuple(calls),
        seconds=time.perf_counter() - began,
    )
    return Chain(segment=pair.segment.model_copy(update={"translation": pair.before}), steps=(step,))


async def _opinion(judge: Judge, pair: JudgedPair) -> Opinion:
    segment = pair.segment
    if asks_model(judge):  # as the gate of a chain shows it
        segment = hints.shown(pair.segment, pair.before, [pair.after]).segment

    async def rate(evaluator: Evaluator, text: str, role: RatingRole) -> Rating:
        rating = await rating_by(evaluator, segment, text)
        return rating.model_copy(update={"role": role})

    return await judge.judge(segment, pair.before, pair.after, rate)


def estimate_edits(config: Config, run_edits: RunEdits, teacher: str | None, tokens: Counter) -> dict[str, Range]:
    """What judging would take: rows for the judges of ``config``, the ``teacher`` and the reserve."""
    _require_judges(config)
    config = effective(config, OwnParts())
    estimator = Estimator(config, tokens)
    judges = []
    for spec, (settings, judge) in zip(judge_specs(config), estimator.judges, strict=True):
        judges.append((spec, settings, judge, config.samples))
    if teacher is not None:
        settings, judge = estimator.judge(teacher)
        judges.append((f"teacher {teacher}", settings, judge, 1))

    async def total_of_each() -> dict[str, Range]:
        totals = {name: Range() for name, *_ in judges}
        for pair in run_edits.pairs:
            texts = (pair.before, pair.after)
            for name, settings, judge, samples in judges:
                needed = await estimator.judgement(settings, judge, pair.segment, texts, samples)
                totals[name] = totals[name].plus(needed)
        return totals

    return asyncio.run(total_of_each()) | estimator.reserve
