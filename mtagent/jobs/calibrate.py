"""The job of ``gate calibrate --run``: judges, and a teacher, say what they think of the edits of a stored run.

Nothing is decided here. A judged pair is stored as a chain of one step: the text before and the text proposed, the
ratings, and a cause with the judgements of the panel and of the teacher. What is learnt from them is in
``analysis/judged_run.py``.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from mtagent.chain import hints
from mtagent.chain.gate import Judge, Opinion, asks_model
from mtagent.config import Config, ModelSettings
from mtagent.errors import FATAL, ConfigError, OffScript, calls_of
from mtagent.evaluators.protocol import Evaluator, rating_by
from mtagent.jobs.improve import outcome_of_chain
from mtagent.jobs.inputs import content_hashes
from mtagent.jobs.parts import OwnParts, Panel, assembled_panel, effective
from mtagent.jobs.run import Job, OnStart, RunModels, run_job
from mtagent.llm.dialogue import together
from mtagent.records import Call, Cause, Chain, Judgement, Rating, RatingRole, Segment, Stage, Step
from mtagent.store.runs import Run, RunSummary, StoredRun
from mtagent.store.store import open_existing
from mtagent.text import edits

SAMPLE = 200
STRATA = 4
"""Quarters of the edits by size; each has the same share of a sample."""
SETTINGS = {"judge", "judge_model", "samples", "llm", *ModelSettings.model_fields}
"""The settings that judgements depend on; prompts and options are in the signatures."""


class StoredPair(NamedTuple):
    """An edit of a stored run that a gate decides on: the text ``before`` a stage, and ``after`` what it proposed.

    ``judgements`` are those by which the run's own gate decided on it; none where it held two candidates against each
    other.
    """

    segment: Segment
    stage: Stage
    before: str
    after: str
    judgements: tuple[Judgement, ...] = ()


class StoredPairs(NamedTuple):
    """The pairs of a run that were asked for, how many there are in it, and how many a gate would never see."""

    pairs: list[StoredPair]
    total: int
    refused: int


def pairs_in(chain: Chain, *, as_kept: bool = False) -> Iterator[StoredPair]:
    """The edits in ``chain`` that a gate decides on, rejected ones included.

    What the guards refused is not in them. ``as_kept``: where a gate kept a part of an edit, that part. What follows on
    an edit that was taken back is left out: it was proposed for another text.
    """
    before = chain.segment.translation
    for step in chain.steps:
        reverted = any(edit.outcome == "reverted" for edit in step.edits)
        if before is not None and step.proposed is not None and _is_edit(step) and not _is_refused(step):
            after = step.proposed
            left_out = {"refused", "rejected"} if as_kept and step.verdict == "kept" else {"refused"}
            if as_kept and step.verdict == "kept" and not reverted:
                after = step.text
            elif any(edit.outcome in left_out for edit in step.edits):
                judged = {"applied", "rejected", "reverted"} - left_out
                wanted = [edit for edit in step.edits if edit.outcome in judged and edit.start is not None]
                after = edits.apply(before, [edit.model_copy(update={"outcome": "applied"}) for edit in wanted])
            if after != before and before.strip() and after.strip():
                judgements = step.cause.judgements if step.cause.against is None else ()
                yield StoredPair(chain.segment, step.stage, before, after, judgements)
        if reverted:
            break
        before = step.text


def _is_edit(step: Step) -> bool:
    return step.stage not in ("translate", "rules") and step.verdict in ("kept", "rejected")


def _is_refused(step: Step) -> bool:
    """Whether the guards refused all that a step proposed, or it broke lines: no gate is asked about that."""
    return step.verdict == "rejected" and step.cause.kind in ("guards", "lines")


def read_pairs(
    run: StoredRun,
    *,
    sample: int | None = None,
    seed: int = 0,
    wanted: Callable[[StoredPair], bool] = lambda pair: True,
    as_kept: bool = False,
) -> StoredPairs:
    """A ``sample`` of the edits in ``run``, or all of them, that are ``wanted``.

    The run is read once for the sizes of the edits and once for those that were chosen. Raises :class:`ConfigError` for
    a run that holds no chains.
    """
    if run.kind != "chain":
        raise ConfigError(f"run {run.name!r}: holds ratings and no edits: name a run of postedit or translate")
    sizes, places, total, refused = list[int](), list[tuple[int, int]](), 0, 0
    for position, chain in run.placed_chains():
        refused += sum(map(_is_refused, chain.steps))
        for number, pair in enumerate(pairs_in(chain, as_kept=as_kept)):
            total += 1
            if wanted(pair):
                sizes.append(Levenshtein.distance(pair.before, pair.after))
                places.append((position, number))
    chosen = range(len(sizes)) if sample is None else sampled(sizes, sample, seed)
    pairs = []
    for position, number in (places[index] for index in chosen):
        pairs.append(list(pairs_in(run.chain_at(position), as_kept=as_kept))[number])
    return StoredPairs(pairs, total, refused)


def sampled(sizes: Sequence[int], number: int, seed: int) -> list[int]:
    """The places of ``number`` edits, in order: as many from each quarter by size.

    Quarters are equally many, so that each edit is as likely as any other, and the sample is like the whole. A larger
    sample of the same edits holds the smaller one: what was paid for it is not paid again.
    """
    by_size = sorted(range(len(sizes)), key=lambda place: (sizes[place], place))
    bounds = [len(sizes) * stratum // STRATA for stratum in range(STRATA + 1)]
    strata = [by_size[low:high] for low, high in pairwise(bounds)]
    for stratum, members in enumerate(strata):
        random.Random(f"{seed} {stratum}").shuffle(members)
    rounds = [members[turn] for turn in range(max(map(len, strata))) for members in strata if turn < len(members)]
    return sorted(rounds[:number])


class JudgedRun(NamedTuple):
    """What the judges said: a chain of one step for each pair, those that failed included."""

    run: RunSummary
    chains: list[Chain]


async def judge_run(
    config: Config,
    name: str,
    *,
    teacher: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    wanted: Callable[[StoredPair], bool] = lambda pair: True,
    refuse: Callable[[StoredPairs], None] = lambda pairs: None,
    own: OwnParts = OwnParts(),
    on_pairs: Callable[[StoredPairs], None] = lambda _: None,
    on_start: OnStart = lambda *_: None,
    on_chain: Callable[[Chain], None] = lambda _: None,
) -> JudgedRun:
    """Have the judges of ``config`` and the ``teacher`` compare the texts of edits of the chain run ``name``.

    All of them rate afresh: the rating that an edit was made by is never among these. The judges are asked as the gate
    would be, so that what it asked before comes from the store. ``refuse`` may raise for pairs that are no use, before
    anything is asked; ``on_pairs`` gets them. The same command again resumes it.
    """
    if not config.judges:
        raise ConfigError("name the judges that the gate is to ask, with --judge")
    with open_existing(config.store) as store:
        found = read_pairs(store.read(name), sample=sample, seed=seed, wanted=wanted, as_kept=teacher is None)
        refuse(found)
        models = RunModels(config, store)
        async with assembled_panel(config, teacher, own, wrap_llm=models.wrap) as panel:
            decided = effective(config, own).for_results()
            settings = {key: value for key, value in decided.items() if key in SETTINGS}
            asked = {f"judge {place}": judge.signature for place, judge in enumerate(panel.judges, start=1)}
            if panel.teacher is not None:
                settings["teacher"], asked["teacher"] = teacher, panel.teacher.signature
            digest = hashlib.sha256()
            for pair in found.pairs:
                segment = pair.segment.model_dump_json(exclude_defaults=True)  # fields that come later change no name
                digest.update(repr((segment, pair.stage, pair.before, pair.after)).encode())
                shown = hints.hints(pair.segment, pair.before, pair.after)
                if shown and any(map(asks_model, panel.judges)):  # answers to other questions are another run's
                    digest.update(repr(shown).encode())
            prompts = content_hashes({}, config.model_copy(update={"glossary": None, "keep": None}))
            job = Job(
                command="calibrate",
                settings=settings,
                inputs={"run": name, "pairs": digest.hexdigest(), **prompts},
                total=len(found.pairs),
                items=found.pairs,
                work=lambda run, position, pair: judged(pair, panel),
                save=Run.save,
                outcome=outcome_of_chain,
                signatures=asked,
            )
            on_pairs(found)
            run = await run_job(job, config, store, models, on_start=on_start, on_result=on_chain)
        return JudgedRun(store.run(run.name), list(run.chains()))


async def judged(pair: StoredPair, panel: Panel) -> Chain:
    """What the panel and the teacher say of a pair. Where one fails, the step has failed, and names it."""
    began = time.perf_counter()
    asked = [*panel.judges, *([panel.teacher] if panel.teacher else [])]
    answers = await together(*(_opinion(judge, pair) for judge in asked))
    calls, ratings, said = list[Call](), list[Rating](), list[Judgement]()
    failure: tuple[Judge, Exception] | None = None
    for judge, answer in zip(asked, answers, strict=True):
        if isinstance(answer, Exception):
            failure = failure or (judge, answer)
            calls += calls_of(answer)
            continue
        calls += answer.paid
        ratings += answer.ratings
        said.append(answer.judgement)
    if failure is not None:
        judge, error = failure
        who = f"the teacher {judge.name}" if judge is panel.teacher else judge.name
        cause = Cause.of_error(error, f"{who}: {error}", by=who)
    elif panel.teacher is not None:
        cause = Cause(kind="judged", judgements=tuple(said[:-1]), teacher=said[-1])
    else:
        cause = Cause(kind="judged", judgements=tuple(said))
    step = Step(
        stage=pair.stage,
        text=pair.before,
        proposed=pair.after,
        verdict="failed" if failure else "unchanged",
        cause=cause,
        ratings=tuple(ratings),
        calls=tuple(calls),
        seconds=time.perf_counter() - began,
    )
    return Chain(segment=pair.segment.model_copy(update={"translation": pair.before}), steps=(step,))


async def _opinion(judge: Judge, pair: StoredPair) -> Opinion | Exception:
    segment = pair.segment
    if asks_model(judge):  # as the gate of a chain shows it
        segment, _ = hints.shown(pair.segment, pair.before, [pair.after])

    async def rate(evaluator: Evaluator, text: str, role: RatingRole) -> Rating:
        rating = await rating_by(evaluator, segment, text)
        return rating.model_copy(update={"role": role})

    try:
        return await judge.judge(segment, pair.before, pair.after, rate)
    except (*FATAL, OffScript):
        raise
    except Exception as error:  # noqa: BLE001 a third party's part may raise anything; it must not stop the others
        return error
