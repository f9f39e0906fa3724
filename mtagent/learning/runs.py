"""A stored run as pairs to calibrate a gate on: what judges say of its edits, and the labels of a teacher or of people.

The judges are asked by ``jobs/calibrate.py``, unless the run's own gate has asked them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from rapidfuzz.distance import Levenshtein

from mtagent.analysis.review import wanted
from mtagent.analysis.scores import Cells, read_table, text_in
from mtagent.chain.calibration import Source
from mtagent.chain.decided import Decided
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError
from mtagent.jobs.decide import DecidedRun
from mtagent.jobs.inputs import sha256
from mtagent.jobs.parts import OwnParts
from mtagent.jobs.run import OnStart
from mtagent.learning.asking import SAMPLE, StoredPair, StoredPairs, judge_run, pairs_in, read_pairs
from mtagent.learning.gain import FEWEST_PAIRS
from mtagent.learning.reading import Group, Judged, Pair, Text, before_and_after
from mtagent.records import GAIN_DIGITS, Chain, Judgement, Segment, Stage, comparable
from mtagent.store.runs import RunSummary
from mtagent.store.store import Store, open_existing
from mtagent.text import languages
from mtagent.text.amounts import counted

_NAMED = 5
"""Segments that a remark names."""
_NO_JUDGE = "no judge was asked about its edits: name judges with --judge"
_SCORES_OF_TEXTS = "scores of single texts go with the ratings of the run: mtagent rate --run"


class Label(NamedTuple):
    """People's scores of the texts before and after an edit; a preference is a gain from 0. ``where`` it stands."""

    before: float
    after: float
    where: str

    @property
    def gain(self) -> float:
        """What people see."""
        return round(self.after - self.before, GAIN_DIGITS)


class Labels:
    """People's labels of the edits of a run, by segment and stage; where a segment has one edit, without the stage.

    ``where`` says where they stand, ``source`` is what the calibration says of that, and ``people`` what they are.
    """

    def __init__(self, where: str, source: Source, people: str = "preferences") -> None:
        self.where, self.source, self.people = where, source, people
        self._labels: dict[tuple[str, str | None], Label] = {}
        self._stages: dict[str, list[Stage]] = {}
        self.scores = False

    @classmethod
    def of_decisions(cls, store: Store, name: str) -> Labels:
        """What people decided about the edits of the run ``name``: see :func:`decided_gain`."""
        labels = cls(f"the decisions on run {name!r}", Source(option="--decisions", name=name), "decisions")
        for _, result in DecidedRun(store, name).segments(only_decided=True):
            for pair in pairs_in(result.chain, as_kept=True):
                if (gain := decided_gain(result, pair)) is not None:
                    segment = result.chain.segment.id
                    labels._labels[segment, pair.stage] = Label(0.0, gain, f"run {name!r}, segment {segment}")
        return labels

    @classmethod
    def read(cls, path: Path) -> Labels:
        """The labels in a table. Raises :class:`InputError` for rows that label nothing."""
        self = cls(str(path), Source(option="--human", name=path.name, sha256=sha256(path)))
        for row in read_table(path).rows:
            segment, stage = text_in(row, "id"), text_in(row, "stage")
            if segment is None:
                raise InputError(f"{row.where}: has no id: name the segment whose edit it is about; {_SCORES_OF_TEXTS}")
            if stage is not None and stage not in get_args(Stage):
                raise InputError(f"{row.where}: there is no stage {stage[:20]!r}; write postedit or proofread")
            label = self._label(row)
            if label is None:
                continue
            first = self._labels.setdefault((segment, stage), label)
            _refuse_contradiction(segment, first, label)
        return self

    def _label(self, row: Cells) -> Label | None:
        names = [name for name in ("preference", "human") if name in row.values]
        if {"human_before", "human_after"} <= row.values.keys():
            names = ["human"]
        if not names:
            raise InputError(
                f"{row.where}: has {', '.join(row.values) or 'nothing'}; the label of an edit is a preference (before, "
                f"after or same), or human_before and human_after; {_SCORES_OF_TEXTS}"
            )
        before, after, scored = before_and_after(row, names[0])
        if scored:
            self.scores, self.people = True, "human scores"
        return None if before is None or after is None else Label(before, after, row.where)

    def __len__(self) -> int:
        return len(self._labels)

    def of(self, segment: str, stage: Stage) -> Label | None:
        """The label of an edit. Raises :class:`InputError` where two contradict each other."""
        found = [label for key in ((segment, None), (segment, stage)) if (label := self._labels.get(key))]
        if len(found) > 1:
            _refuse_contradiction(segment, *found)
        return found[0] if found else None

    def see(self, pair: StoredPair) -> bool:
        """Whether an edit of the run is labelled; notes that it is there.

        Raises :class:`InputError` for a label that says no stage, where a segment has edits in two.
        """
        segment, stages = pair.segment.id, self._stages.setdefault(pair.segment.id, [])
        stages.append(pair.stage)
        label = self._labels.get((segment, None))
        if label is not None and len(stages) > 1:
            raise InputError(
                f"{label.where}: segment {segment} has an edit in {' and in '.join(stages)}: say in a column stage "
                "which one is meant"
            )
        return self.of(segment, pair.stage) is not None

    @property
    def without_edit(self) -> list[str]:
        """The segments whose labels are of no edit that was seen."""
        return [
            segment
            for segment, stage in self._labels
            if segment not in self._stages or (stage is not None and stage not in self._stages[segment])
        ]


def _refuse_contradiction(segment: str, first: Label, second: Label) -> None:
    if first.gain != second.gain:
        raise InputError(
            f"{second.where}: the gain of segment {segment} is {second.gain:g}, and in {first.where} {first.gain:g}: "
            "these labels contradict each other; keep one"
        )


def decided_gain(result: Decided, pair: StoredPair) -> float | None:
    """What people's decisions say of an edit that a gate decided on, from -1 to 1; ``None`` where they say nothing.

    The share of its single edits that they want, less the share that they do not; all must be decided on. Words of
    one's own count by how much nearer the machine's edit has come to them.
    """
    if result.decision is not None and result.decision.text is not None:
        return _nearer(pair.before, pair.after, result.decision.text)
    kept = result.chain.by_stage()[pair.stage].verdict == "kept"
    gains = []
    for row in result.edits:
        if row.stage == pair.stage and row.edit.outcome == ("applied" if kept else "rejected"):
            if row.decision is not None and row.decision.text is not None:
                gains.append(_nearer(row.edit.old, row.edit.new, row.decision.text))
            elif (verdict := wanted(result, row)) is not None:
                gains.append(1.0 if verdict else -1.0)
            else:
                return None
    if not gains and result.decision is not None:  # a rewording without single edits
        gains = [1.0 if kept and result.decision.verdict == "accept" else -1.0]
    return round(sum(gains) / len(gains), GAIN_DIGITS) if gains else None


def _nearer(before: str, after: str, own: str) -> float:
    """How much nearer ``after`` is to one's ``own`` text than ``before``: 1 = it is that text."""
    was, becomes = Levenshtein.distance(before, own), Levenshtein.distance(after, own)
    return round((was - becomes) / max(was, becomes, 1), GAIN_DIGITS)


class JudgedEdit(NamedTuple):
    """An edit with the judgements of a panel, and the scores that label its texts (a preference: 0 and the gain).

    ``text`` is the one that it makes.
    """

    segment: Segment
    stage: Stage
    text: str
    judgements: tuple[Judgement, ...]
    before: float
    after: float
    scored: bool


class RunJudged(NamedTuple):
    """What was found out about a run's edits. ``run`` is where the judging is stored; ``None``: nobody was asked."""

    judged: Judged
    run: RunSummary | None = None


def wanted_edits(labels: Labels | None = None, lp: str | None = None) -> Callable[[StoredPair], bool]:
    """Whether an edit is of the language pair ``lp``, and labelled, where that is asked."""
    languages_wanted = languages.parse_pair(lp) if lp else None

    def wanted(pair: StoredPair) -> bool:
        ours = languages_wanted in (None, (pair.segment.source_lang, pair.segment.target_lang))
        return ours and (labels is None or labels.see(pair))

    return wanted


def refusal(name: str, labels: Labels | None) -> Callable[[StoredPairs], None]:
    """What raises :class:`InputError` for pairs of the run ``name`` that are too few to learn from."""

    def refuse(found: StoredPairs) -> None:
        edits = f"{counted(found.total, 'edit')} that a gate decides on"
        if found.refused:
            edits += f" (and {found.refused} that the guards refused)"
        if labels is not None:
            edits += f", of which {len(found.pairs)} are labelled in {labels.where}"
        if len(found.pairs) < FEWEST_PAIRS:
            sampled = f"; the sample is of {len(found.pairs)}" if labels is None and found.total >= FEWEST_PAIRS else ""
            raise InputError(f"run {name!r}: has {edits}{sampled}: at least {FEWEST_PAIRS} are needed to learn from")

    return refuse


async def judge_edits(
    config: Config,
    name: str,
    *,
    teacher: str | None = None,
    labels: Labels | None = None,
    sample: int | None = None,
    seed: int = 0,
    lp: str | None = None,
    own: OwnParts = OwnParts(),
    on_pairs: Callable[[StoredPairs], None] = lambda _: None,
    on_start: OnStart = lambda *_: None,
    on_chain: Callable[[Chain], None] = lambda _: None,
) -> RunJudged:
    """The edits of the chain run ``name`` with what judges say of them, labelled by a ``teacher`` or by ``labels``.

    Where people gave the labels and no judge is named, the judgements are those of the run's own gate, and no model is
    asked. Raises :class:`mtagent.errors.MtagentError` before anything is asked where that cannot teach anything.
    """
    refuse, wanted = refusal(name, labels), wanted_edits(labels, lp)
    source = Source(option="--run", name=name)
    if labels is not None and not config.judges:
        with open_existing(config.store) as store:
            found = read_pairs(store.read(name), sample=sample, seed=seed, wanted=wanted, as_kept=True)
        try:
            refuse(found)
        except InputError as error:
            if not found.pairs or any(pair.judgements for pair in found.pairs):
                raise
            raise InputError(f"{error}; and {_NO_JUDGE}") from error
        on_pairs(found)
        return RunJudged(_of_own_gate(found.pairs, labels, name, source))
    if labels is None:
        sample = sample or SAMPLE
    judged = await judge_run(
        config, name, teacher=teacher, sample=sample, seed=seed, wanted=wanted, refuse=refuse, own=own,
        on_pairs=on_pairs, on_start=on_start, on_chain=on_chain,
    )  # fmt: skip
    return RunJudged(_of_chains(judged.chains, labels, source), judged.run)


def decided_edits(store: Store, name: str) -> Judged:
    """The edits of the run ``name`` that people decided on, with what its own gate's judges said of them.

    Raises :class:`ConfigError` where there was no judge, or not one panel.
    """
    labels, run = Labels.of_decisions(store, name), DecidedRun(store, name)
    pairs = [pair for _, result in run.segments(only_decided=True) for pair in pairs_in(result.chain, as_kept=True)]
    return _of_own_gate([pair for pair in pairs if labels.see(pair)], labels, name, Source(option="--run", name=name))


def _of_own_gate(pairs: Sequence[StoredPair], labels: Labels, name: str, source: Source) -> Judged:
    """The edits with the judgements of the gate of their own run."""
    judged = [pair for pair in pairs if pair.judgements]
    kinds = Counter(tuple(comparable(j.signature) or j.judge for j in pair.judgements) for pair in judged)
    if not kinds:
        raise ConfigError(f"run {name!r}: {_NO_JUDGE}")
    if len(kinds) > 1:
        shown = "; ".join(" + ".join(panel) for panel in kinds)
        raise ConfigError(f"run {name!r}: its edits were judged by different panels ({shown}): name one with --judge")
    found = [_labelled(pair.segment, pair.stage, pair.after, pair.judgements, labels) for pair in judged]
    lacking = {"edits that no judge was asked about": len(pairs) - len(found)}
    return _judged([edit for edit in found if edit], labels, source, lacking, ())


def _of_chains(chains: Sequence[Chain], labels: Labels | None, source: Source) -> Judged:
    """The edits that a calibration run holds; those that a judge failed for are counted and named."""
    edits, failed, people = list[JudgedEdit](), dict[str, list[str]](), ""
    for chain in chains:
        for step in chain.steps:
            cause = step.cause
            if cause.kind != "judged":
                failed.setdefault(cause.by or "a judge", []).append(chain.segment.id)
            elif labels is not None:
                edit = _labelled(chain.segment, step.stage, step.proposed or "", cause.judgements, labels)
                edits += [edit] if edit else []
            elif (teacher := cause.teacher) is not None and (gain := teacher.difference) is not None:
                before, after = (0.0, gain) if teacher.choices else (teacher.before, teacher.after)
                assert before is not None
                assert after is not None
                scored, made = not teacher.choices, step.proposed or ""
                edits.append(JudgedEdit(chain.segment, step.stage, made, cause.judgements, before, after, scored))
                people = f"teacher {teacher.signature or teacher.judge}"
    lacking = {f"edits for which {name} failed": len(segments) for name, segments in failed.items()}
    remarks = [f"{name} failed for {_listed(segments)}: left out" for name, segments in failed.items()]
    if not edits:
        raise InputError("no edit has the judgements of all judges: " + "; ".join(remarks))
    return _judged(edits, labels, source, lacking, remarks, people)


def _labelled(
    segment: Segment, stage: Stage, text: str, judgements: tuple[Judgement, ...], labels: Labels
) -> JudgedEdit | None:
    label = labels.of(segment.id, stage)
    return JudgedEdit(segment, stage, text, judgements, label.before, label.after, labels.scores) if label else None


def _groups(edits: Sequence[JudgedEdit]) -> list[Group]:
    """What stays together when a gate is learnt from some edits and tried on others: documents, and equal texts."""
    first, groups = dict[tuple[str, str], Group](), list[Group]()
    for edit in edits:
        document = edit.segment.document
        groups.append(("segment", edit.segment.id) if document is None else ("document", document))
        equal = edit.segment.source, edit.text
        first[equal] = min(first.get(equal, groups[-1]), groups[-1])
    return [first[edit.segment.source, edit.text] for edit in edits]


def _judged(
    edits: Sequence[JudgedEdit],
    labels: Labels | None,
    source: Source,
    left_out: Mapping[str, int],
    remarks: Sequence[str],
    people: str = "",
) -> Judged:
    data, remarks, left_out = [source], list(remarks), dict(left_out)
    if labels is not None:
        data.append(labels.source)
        people = labels.people
        if without := labels.without_edit:
            left_out["labels of no edit in the run"] = len(without)
            remarks.append(f"labels of no edit in the run: {_listed(without)}")
    pairs, texts = list[Pair](), list[Text]()
    for group, (segment, stage, _, judgements, before, after, scored) in zip(_groups(edits), edits, strict=True):
        differences = tuple(judgement.difference for judgement in judgements)
        scores = tuple(None if judgement.choices else judgement.before for judgement in judgements)
        pairs.append(Pair(group, f"{segment.id} {stage}", scores, differences, before, after))
        for system, human in (("before", before), ("after", after)) if scored else ():
            of_text = tuple(getattr(judgement, system) for judgement in judgements)
            texts.append(Text(system, segment.id, of_text, human, document=segment.document))
    segments = [edit.segment for edit in edits]
    language_pairs = (languages.pair_of(segment.source_lang, segment.target_lang) for segment in segments)
    return Judged(
        judges=_names(edits[0].judgements),
        texts=tuple(texts),
        pairs=tuple(pairs),
        signatures=tuple(judgement.signature for judgement in edits[-1].judgements),
        data=tuple(data),
        language_pairs=tuple(dict.fromkeys(language_pairs)),
        domains=tuple(dict.fromkeys(segment.domain for segment in segments if segment.domain)),
        left_out={reason: number for reason, number in left_out.items() if number},
        remarks=tuple(remarks),
        people=people,
    )


def _names(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """What the judges are called; those of one name by what their signatures do not share."""
    names = []
    for judgement in judgements:
        alike = [other.signature.split("|") for other in judgements if other.judge == judgement.judge]
        own = [part for part in judgement.signature.split("|") if not all(part in parts for parts in alike)]
        names.append(f"{judgement.judge} ({', '.join(own)})" if len(alike) > 1 and own else judgement.judge)
    return tuple(names)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
