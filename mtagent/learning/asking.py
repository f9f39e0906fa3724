"""Judges, and a teacher, are asked about the edits of a stored run: ``gate calibrate --run``.

Nothing is decided here. A judged pair is stored as a chain of one step: the text before and the text proposed, the
ratings, and a cause with the judgements of the panel and of the teacher. ``runs.py`` makes :class:`JudgedData` of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from mtagent.chain import hints
from mtagent.chain.gate import Judge, Opinion, asks_model
from mtagent.config import Config, ModelSettings
from mtagent.errors import ConfigError, InputError, calls_of
from mtagent.evaluators.protocol import Evaluator
from mtagent.evaluators.rating import rating_by
from mtagent.jobs.estimate import Counter, Estimator, Range
from mtagent.jobs.improve import outcome_of_chain
from mtagent.jobs.inputs import content_hashes
from mtagent.jobs.parts import OwnParts, Panel, assembled_panel, effective, judge_specs
from mtagent.jobs.run import Job, OnStart, RunModels, run_job
from mtagent.learning.gain import FEWEST_PAIRS
from mtagent.learning.pairs import JudgedData, JudgedPair
from mtagent.learning.runs import NO_JUDGE, EditLabels, RunEdits, of_chains, of_own_gate, read_edits
from mtagent.llm.gathering import answered
from mtagent.records import Call, Cause, Chain, ErrorCause, Judgement, Rating, RatingRole, Step, UndecidedCause
from mtagent.store.runs import Run, RunSummary, StoredRun
from mtagent.store.store import open_existing
from mtagent.text import languages
from mtagent.text.amounts import counted

SAMPLE = 200
"""How many edits a teacher labels, unless the user names a number."""
SETTINGS = {"judge", "judge_model", "samples", "llm", *ModelSettings.model_fields}
"""The settings that judgements depend on; prompts and options are in the signatures."""


class JudgedRun(NamedTuple):
    """What was judged: a chain of one step for each pair, failed ones included."""

    run: RunSummary
    chains: list[Chain]


def require_judges(config: Config) -> None:
    """Raise :class:`ConfigError` if no judge is named."""
    if not config.judges:
        raise ConfigError("name the judges that the gate is to ask, with --judge")


def edits_to_judge(
    run: StoredRun, labels: EditLabels | None, *, sample: int | None = None, seed: int = 0, lp: str | None = None
) -> RunEdits:
    """The edits of a chain run that have ``labels``, or a sample for a teacher to label; of one language pair if named.

    Raises :class:`InputError` for labels that contradict each other.
    """
    only = languages.parse_pair(lp) if lp else None

    def is_wanted(pair: JudgedPair) -> bool:
        if only is not None and only != (pair.segment.source_lang, pair.segment.target_lang):
            return False
        return labels is None or labels.see(pair)

    if labels is None:
        sample = sample or SAMPLE
    # People saw what the gate kept; a teacher is shown what was proposed.
    return read_edits(run, sample=sample, seed=seed, wanted=is_wanted, as_kept=labels is not None)


def refuse_few(edits: RunEdits, name: str, labels: EditLabels | None) -> None:
    """Raise :class:`InputError` if the edits of the run ``name`` are too few to learn from."""
    if len(edits.pairs) >= FEWEST_PAIRS:
        return
    there = f"{counted(edits.total, 'edit')} that a gate decides on"
    if edits.refused:
        there += f" (and {edits.refused} that the guards refused)"
    if labels is not None:
        there += f", of which {len(edits.pairs)} are labelled in {labels.where}"
    elif edits.total >= FEWEST_PAIRS:
        there += f"; the sample is of {len(edits.pairs)}"
    raise InputError(f"run {name!r}: has {there}: at least {FEWEST_PAIRS} are needed to learn from")


async def judge_edits(
    config: Config,
    name: str,
    *,
    teacher: str | None = None,
    labels: EditLabels | None = None,
    sample: int | None = None,
    seed: int = 0,
    lp: str | None = None,
    own: OwnParts = OwnParts(),
    on_pairs: Callable[[RunEdits], None] = lambda _: None,
    on_start: OnStart = lambda *_: None,
    on_chain: Callable[[Chain], None] = lambda _: None,
) -> tuple[JudgedData, RunSummary | None]:
    """The edits of the chain run ``name`` with the judges' scores, labelled by a ``teacher`` or by ``labels``.

    Also returns the run in which the judging is stored. It is ``None`` where people gave the labels and no judge is
    named: then no model is asked, and the judgements are by the run's own gate. Raises
    :class:`mtagent.errors.MtagentError` before anything is asked where nothing can be learnt.
    """
    by_own_gate = labels is not None and not config.judges
    if not by_own_gate:
        require_judges(config)
    with open_existing(config.store) as store:
        edits = edits_to_judge(store.read(name), labels, sample=sample, seed=seed, lp=lp)
    try:
        refuse_few(edits, name, labels)
    except InputError as error:
        is_unjudged = bool(edits.pairs) and not any(pair.judgements for pair in edits.pairs)
        if by_own_gate and is_unjudged:
            raise InputError(f"{error}; and {NO_JUDGE}") from error
        raise
    if labels is not None and by_own_gate:
        on_pairs(edits)
        return of_own_gate(edits.pairs, labels, name), None
    judged_run = await judge_run(
        config, name, edits, teacher=teacher, own=own, on_pairs=on_pairs, on_start=on_start, on_chain=on_chain
    )
    return of_chains(judged_run.chains, labels, name), judged_run.run


async def judge_run(
    config: Config,
    name: str,
    edits: RunEdits,
    *,
    teacher: str | None = None,
    own: OwnParts = OwnParts(),
    on_pairs: Callable[[RunEdits], None] = lambda _: None,
    on_start: OnStart = lambda *_: None,
    on_chain: Callable[[Chain], None] = lambda _: None,
) -> JudgedRun:
    """Have the judges of ``config`` and the ``teacher`` compare the texts of ``edits`` of the chain run ``name``.

    All of them rate afresh: the rating that an edit was made by is never reused. The judges are asked as the gate would
    ask them, so that what it asked before comes from the store. ``on_pairs`` is called before the first request. The
    same command again resumes it.
    """
    require_judges(config)
    with open_existing(config.store) as store:
        models = RunModels(config, store)
        async with assembled_panel(config, teacher, own, wrap_llm=models.wrap) as panel:
            decided = effective(config, own).for_results()
            settings = {key: value for key, value in decided.items() if key in SETTINGS}
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
                inputs={"run": name, "pairs": _digest(edits, panel), **prompts},
                total=len(edits.pairs),
                items=edits.pairs,
                work=lambda run, position, pair: judged(pair, panel),
                save=Run.save,
                outcome=outcome_of_chain,
                signatures=signatures,
            )
            on_pairs(edits)
            run = await run_job(job, config, store, models, on_start=on_start, on_result=on_chain)
        return JudgedRun(store.run(run.name), list(run.chains()))


def _digest(edits: RunEdits, panel: Panel) -> str:
    """What tells these edits, and the questions that go with them, from others, in the name of the run."""
    digest = hashlib.sha256()
    shows_hints = any(asks_model(judge) for judge in panel.judges)
    for pair in edits.pairs:
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
    answers = await answered(*(_opinion(judge, pair) for judge in judges), calls=lambda opinion: opinion.paid)
    calls, ratings, judgements = list[Call](), list[Rating](), list[Judgement]()
    failure: ErrorCause | None = None
    for judge, answer in zip(judges, answers, strict=True):
        if not isinstance(answer, Exception):
            calls += answer.paid
            ratings += answer.ratings
            judgements.append(answer.judgement)
            continue
        calls += calls_of(answer)
        if failure is None:
            who = f"the teacher {judge.name}" if judge is panel.teacher else judge.name
            failure = ErrorCause.of(answer, f"{who}: {answer}", by=who)
    cause: Cause
    if failure is not None:
        cause = failure
    elif panel.teacher is not None:
        cause = UndecidedCause(judgements=tuple(judgements[:-1]), teacher=judgements[-1])
    else:
        cause = UndecidedCause(judgements=tuple(judgements))
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


def estimate_pairs(
    config: Config, pairs: Iterable[JudgedPair], teacher: str | None, tokens: Counter
) -> dict[str, Range]:
    """What judging ``pairs`` would take: rows for the judges of ``config``, the ``teacher`` and the reserve."""
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
        for pair in pairs:
            texts = (pair.before, pair.after)
            for name, settings, judge, samples in judges:
                needed = await estimator.judgement(settings, judge, pair.segment, texts, samples)
                totals[name] = totals[name].plus(needed)
        return totals

    return asyncio.run(total_of_each()) | estimator.reserve
