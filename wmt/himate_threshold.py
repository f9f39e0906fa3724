"""The confidence below which the findings of the evaluator himate are discussed, for a model and a language pair.

    python -m wmt.himate_threshold -s dev.src -t dev.tgt -l zh-en --model gpt-6-luna --reasoning-effort none
    python -m wmt.himate_threshold -s dev.src -t dev.tgt -l zh-en --model gpt-6-luna --percentile 50

Takes translations that are not evaluated later on, about 150 of them. Each costs 19 calls (subtype evaluation), and 2
more for each type of error that is flagged (self-reflection; HiMATE, appendix D). The threshold goes where the
evaluator finds it: into the folder himate next to the store. The same command again pays only for what is missing.

Exit code 3: segments failed and were left out.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from mtagent.cli import options as offered
from mtagent.cli import run as run_command
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import say
from mtagent.config import Config
from mtagent.errors import FATAL, ConfigError, InputError, MtagentError
from mtagent.evaluators import confidence
from mtagent.evaluators.confidence import ConfidenceThreshold, Kind, keep
from mtagent.evaluators.himate import HiMATE, Reflection
from mtagent.jobs.improve import outcome_of_chain
from mtagent.jobs.inputs import Files, OpenFiles
from mtagent.jobs.parts import OwnParts, assembled, settings_for_results
from mtagent.jobs.run import Job, OnStart, RunModels, run_job
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
    on_start: OnStart,
    on_chain: Callable[[Chain], None],
) -> tuple[ConfidenceThreshold, RunSummary]:
    """The ``percent``-th percentile of the confidences of all verifications of the translations in ``files``.

    The run is stored, so that the same command again pays only for what is missing, also for another percentile.
    Segments that fail are left out and counted. Raises :class:`ConfigError` for several language pairs, and
    :class:`MtagentError` where there are fewer than two confidences.
    """
    spec = f"himate:stages=se+sr,confidence={kind}"
    alone = {"stages": ("postedit",), "evaluator": spec, "gate": "none", "triage": None, "triage_above": None}
    config = config.model_copy(update=alone)
    settings = settings_for_results(config)
    checks: list[Reflection] = []
    with files.opened(config) as inputs, Store(config.store or default_path()) as store:
        config = inputs.config
        pair, total = _only_pair(inputs)
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
                inputs=inputs.hashes(),
                total=total,
                items=inputs.in_context,
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


def _only_pair(inputs: OpenFiles) -> tuple[str, int]:
    """The language pair of all segments, and how many there are."""
    pairs: Counter[str] = Counter()
    translated = 0
    for segment in inputs.segments():
        pairs[languages.pair_of(segment.source_lang, segment.target_lang)] += 1
        translated += segment.translation is not None
    if not pairs:
        raise InputError(f"{inputs.files.source}: has no segments")
    if not translated:
        raise InputError(f"{inputs.files.source}: has no translations to calibrate on: give -t")
    if len(pairs) > 1:
        raise ConfigError(
            f"{inputs.files.source}: has {', '.join(sorted(pairs))}; calibrate one language pair at a time"
        )
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


@click.command(help=__doc__.replace("\n\n    python", "\n\n\b\n    python", 1))
@offered.with_options(
    offered.SOURCE_OPTIONS,
    [
        click.option("-t", "--translation", type=offered.FILE, help="Translations of the sources, line-aligned."),
        click.option("--percentile", type=click.FloatRange(0, 100), default=60.0, show_default=True),
        click.option(
            "--confidence", type=click.Choice(["logprobs", "verbal"]), default="logprobs", show_default=True,
            help="What the agents' confidence is taken from.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="No progress, only errors."),
    ],
    offered.LANGUAGE_OPTIONS,
    offered.PROMPT_OPTIONS,
    offered.MODEL_OPTIONS,
    offered.CHAIN_RUN_OPTIONS,
    offered.PACE_OPTIONS,
    offered.RUN_OPTIONS,
)  # fmt: skip
def command(percentile: float, confidence: Kind, quiet: bool, **options: Any) -> None:
    """Calibrate, keep the threshold, and print it."""
    source, translation, form = (options.pop(name) for name in ("source", "translation", "format_name"))
    config = offered.read_config(options)
    files = Files(source=source, translation=translation, format=form)
    with Progress(quiet=quiet) as progress:
        work = calibrate_file(
            config, files, percent=percentile, kind=confidence, on_start=progress.start, on_chain=progress.advance
        )
        calibration, summary = asyncio.run(work)
    progress.finish(summary)
    path = keep(calibration, data_folder(config))
    click.echo(f"{calibration.threshold:.6g}")
    if not quiet:
        scale = f"from {calibration.smallest:.4g} to {calibration.largest:.4g} ({calibration.confidence})"
        about = f"{calibration.n} confidences {scale}; in {path}"
        say(f"himate_threshold: {calibration.threshold:.6g} for {calibration.pair}: {about}")
    sys.exit(3 if calibration.failed else 0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run_command(command, arguments)


if __name__ == "__main__":
    main()
