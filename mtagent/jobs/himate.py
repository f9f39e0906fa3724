"""HiMATE's threshold, found on development data: subtype evaluation and self-reflection only (appendix D)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from mtagent.config import Config
from mtagent.errors import FATAL, ConfigError, InputError, MtagentError
from mtagent.evaluators import confidence
from mtagent.evaluators.confidence import ConfidenceThreshold, Kind
from mtagent.evaluators.himate import HiMATE, Reflection
from mtagent.jobs.improve import outcome_of_chain
from mtagent.jobs.inputs import (
    Files,
    files_named,
    read_in_context,
    read_segments,
    refuse_overwriting,
    refuse_unwritable,
)
from mtagent.jobs.parts import OwnParts, assembled, settings_for_results
from mtagent.jobs.run import Job, RunModels, run_job
from mtagent.records import Chain, ErrorCause, NotedCause, PlainCause, Segment, Step
from mtagent.store.runs import Run, RunSummary
from mtagent.store.store import Store, default_path
from mtagent.text import languages

FEWEST = 2
"""Confidences below which there is no percentile to speak of."""


async def calibrate_file(
    config: Config,
    files: Files,
    *,
    percent: float = confidence.PERCENTILE,
    kind: Kind = "logprobs",
    own: OwnParts = OwnParts(),
    on_start: Callable[[str, int, int], None],
    on_chain: Callable[[Chain], None],
    output: Path | None = None,
) -> tuple[ConfidenceThreshold, RunSummary]:
    """The ``percent``-th percentile of the confidences of all verifications of the translations in ``files``.

    The run is stored, so that the same command again pays only for what is missing, also for another percentile.
    ``output`` is where the result will go; it must be none of the files that are read, and one that can be written.
    Segments that fail are left out and counted. Raises :class:`ConfigError` for several language pairs, and
    :class:`MtagentError` where there are fewer than two confidences.
    """
    if output is not None:
        others = {option: path for option, path in files_named(config).items() if not option.startswith("--evaluator")}
        refuse_overwriting([output], files.paths | others)
        refuse_unwritable(output)
    spec = f"himate:stages=se+sr,confidence={kind}"
    alone = {"stages": ("postedit",), "evaluator": spec, "gate": "none", "triage": None, "triage_above": None}
    config = config.model_copy(update=alone)
    settings = settings_for_results(config)
    checks: list[Reflection] = []
    with files.spooled(config) as (files, config), Store(config.store or default_path()) as store:
        pair, total = _only_pair(config, files)
        models = RunModels(config, store)
        async with assembled(config, own, wrap_llm=models.wrap) as plan:
            assert isinstance(plan.evaluator, HiMATE)
            evaluator = plan.evaluator

            async def reflect(run: Run, position: int, segment: Segment) -> Chain:
                step, confident = await _reflect(evaluator, segment)
                checks.extend(confident)
                return Chain(segment=segment, steps=(step,))

            def save(run: Run, position: int, chain: Chain) -> None:
                if not run.done(position):
                    run.save(position, chain)

            job = Job(
                command="calibrate",
                settings=settings,
                inputs=files.fingerprint(config),
                total=total,
                items=read_in_context(config, files),
                work=reflect,
                save=save,
                outcome=outcome_of_chain,
                redo=True,
            )
            run = await run_job(job, config, store, models, on_start=on_start, on_result=on_chain)
            counts = run.counts()
            calibration = _calibration(evaluator, pair, checks, percent, (counts.done + counts.failed, counts.failed))
        return calibration, store.run(run.name)


def data_folder(config: Config) -> Path:
    """Where the evaluator looks for calibrations: in the folder of the store."""
    return (config.store or default_path()).parent


def _only_pair(config: Config, files: Files) -> tuple[str, int]:
    """The language pair of all segments, and how many there are."""
    pairs: Counter[str] = Counter()
    translated = 0
    for segment in read_segments(config, files):
        pairs[languages.pair_of(segment.source_lang, segment.target_lang)] += 1
        translated += segment.translation is not None
    if not pairs:
        raise InputError(f"{files.source}: there is no segment in it")
    if not translated:
        raise InputError(f"{files.source}: there is no translation in it to calibrate on: give -t")
    if len(pairs) > 1:
        raise ConfigError(f"{files.source}: has {', '.join(sorted(pairs))}; calibrate one language pair at a time")
    return next(iter(pairs)), pairs.total()


async def _reflect(evaluator: HiMATE, segment: Segment) -> tuple[Step, list[Reflection]]:
    """One segment up to self-reflection; what fails is a failed step, as in a chain."""
    text = segment.translation or ""
    if not (segment.source.strip() and text.strip()):
        return Step(stage="postedit", text=text, verdict="unchanged", cause=PlainCause(kind="blank")), []
    try:
        rating, results = await evaluator.assess(segment, text)
    except FATAL:
        raise
    except MtagentError as error:
        cause = ErrorCause.of(error)
        return Step(stage="postedit", text=text, verdict="failed", cause=cause, calls=error.calls), []
    checks = []
    for result in results:
        if result.reflection is not None and result.reflection.confidence is not None:
            checks.append(result.reflection)
    noted = NotedCause(kind="other", detail=f"calibration: {len(checks)} confidences")
    step = Step(stage="postedit", text=text, verdict="unchanged", cause=noted, ratings=(rating,), calls=rating.calls)
    return step, checks


def _calibration(
    evaluator: HiMATE, pair: str, checks: list[Reflection], percent: float, segments: tuple[int, int]
) -> ConfidenceThreshold:
    values = [check.confidence for check in checks if check.confidence is not None]
    if len(values) < FEWEST:
        why = f"{segments[1]} of {segments[0]} segments failed" if segments[1] else "take more segments with errors"
        raise MtagentError(
            f"nothing was calibrated: at least {FEWEST} confidences are needed, and there are {len(values)}; {why}"
        )
    kinds: set[Kind] = {check.kind for check in checks}
    if len(kinds) > 1:
        raise ConfigError(
            "the server gives log-probabilities for some replies only: calibrate with --confidence verbal"
        )
    return ConfidenceThreshold(
        model=evaluator.model,
        pair=pair,
        threshold=confidence.percentile(values, percent),
        percentile=percent,
        n=len(values),
        smallest=min(values),
        largest=max(values),
        confidence=kinds.pop(),
        prompts=evaluator.reflection_signature,
        segments=segments[0],
        failed=segments[1],
    )
