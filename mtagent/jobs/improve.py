"""A file in, a file out: read the segments, improve them in a stored run, write the texts and the details."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from mtagent import formats
from mtagent.chain.chain import Plan, improve
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError, MtagentError
from mtagent.formats.jsonl import write_details
from mtagent.jobs.inputs import (
    Files,
    files_named,
    read_segments,
    refuse_overwriting,
)
from mtagent.jobs.parts import Given, RunModels, assembled, effective, settings_for_results
from mtagent.jobs.run import improve_all
from mtagent.llm.limits import Sleepers
from mtagent.records import Chain
from mtagent.store.runs import Run, RunSummary, StoredRun
from mtagent.store.store import Store, default_path

OnStart = Callable[[str, int, int], None]
OnChain = Callable[[Chain], None]


async def improve_file(
    config: Config, files: Files, *, command: str, given: Given = Given(), on_start: OnStart, on_chain: OnChain
) -> RunSummary:
    """Improve every segment of ``files.source`` and write the outputs when all are there.

    The run is stored under ``config.run``, or under a name made from the settings and the input, so that the same
    command again resumes it. ``on_start`` gets its name, the number of segments, and how many are done already.
    """
    files.refuse_collisions(config.limit)
    refuse_overwriting((files.output, files.details), files_named(config))
    files.refuse_unwritable()
    settings = settings_for_results(effective(config, given))
    with files.spooled(config) as (files, config):
        total = _count(effective(config, given), files)
        inputs = files.fingerprint(config)
        with Store(config.store or default_path()) as store:
            models = RunModels(config, store)
            async with assembled(config, given, wrap_llm=models.wrap) as plan:
                # Only now: a setting that fails must not leave a run behind that the corrected one does not fit.
                name, settings = _identity(config.run, command, settings, plan.signatures, inputs, store)
                run = store.start(name, settings=settings, inputs=inputs, total=total)
                with models.working_on(run):
                    on_start(name, total, min(total, run.counts().done))
                    await _improve(config, files, plan, run, models.sleepers, on_chain)
            run.finish()
            kind, like = files.writer()
            write_outputs(
                store.read(name), kind, files, like=like if config.limit is None else None, limit=config.limit
            )
            return store.run(name)


def _identity(
    chosen: str | None,
    command: str,
    settings: dict[str, Any],
    signatures: dict[str, str],
    inputs: dict[str, str],
    store: Store,
) -> tuple[str, dict[str, Any]]:
    """The name and the settings of the run: those of one that was stored before signatures were kept have none."""
    unsigned = chosen or _name(command, settings, inputs)
    stored = store.settings(unsigned)
    if not signatures or (stored is not None and "signatures" not in stored):
        return unsigned, settings
    settings = {**settings, "signatures": signatures}
    return chosen or _name(command, settings, inputs), settings


def _name(command: str, settings: dict[str, Any], inputs: dict[str, str]) -> str:
    return f"{command}-{hashlib.sha256(repr((settings, inputs)).encode()).hexdigest()[:8]}"


async def _improve(config: Config, files: Files, plan: Plan, run: Run, sleepers: Sleepers, on_chain: OnChain) -> None:
    fruitful, fruitless = run.counts().done > 0, ""

    def save(position: int, chain: Chain) -> None:
        nonlocal fruitful, fruitless
        run.save(position, chain)
        on_chain(chain)
        fruitful = fruitful or bool(chain.text.strip())
        fruitless = fruitless or (chain.failed.reason if chain.failed else "")

    await improve_all(
        read_segments(config, files),
        partial(improve, plan=plan),
        save,
        concurrency=config.concurrency,
        sleepers=sleepers,
        done=run.done,
        give_up_after=config.give_up_after,
    )
    if fruitless and not fruitful:
        raise MtagentError(f"no segment could be translated, and nothing was written: {fruitless}")


def write_outputs(
    run: StoredRun, kind: formats.Format, files: Files, *, like: Path | None = None, limit: int | None = None
) -> None:
    """Write what ``run`` holds, in input order: the texts in the form of ``like``, and the details if asked for."""
    results = (formats.Result(segment=chain.segment, text=chain.text) for chain in islice(run.chains(), limit))
    kind.write(files.output, results, like)
    if files.details is not None:
        write_details(files.details, islice(run.chains(), limit))


def _count(config: Config, files: Files) -> int:
    """Read the whole input once, so that a defect in its last line is found before anything is paid for."""
    total = filled = workable = 0
    for segment in read_segments(config, files):
        total += 1
        filled += bool(segment.source.strip())
        workable += bool(segment.source.strip()) and segment.translation is not None
    if not total:
        raise InputError(f"{files.source}: there is no segment in it")
    if filled and not workable and "translate" not in (config.stages or ()):
        raise ConfigError(
            f"{files.source}: there is no translation in it, and nothing to translate with: "
            "give -t, or the stage translate with OPENAI_API_KEY, --base-url, --llm local or --translator"
        )
    return total
