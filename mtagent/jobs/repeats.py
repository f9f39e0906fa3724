"""Repeats of a run: the same job several times, each in a run with its own name, seed, replies and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats import RATING_FORMATS, STANDARD, by_suffix
from mtagent.jobs.inputs import Files
from mtagent.jobs.outputs import RatingOutput
from mtagent.jobs.parts import OwnParts, effective, rater_settings
from mtagent.jobs.run import refuse_foreign_outputs
from mtagent.store.store import Store, default_path

FIRST_SEED = 1


def repeats(config: Config, number: int, reads: Mapping[str, Path]) -> list[Config]:
    """The settings of ``number`` repeats: the runs ``NAME-SEED``, with seeds from ``config.seed`` (or 1) on.

    ``reads`` are the files that each of them reads, by option. Raises :class:`ConfigError` if the run has no name, and
    for standard input, which can be read only once.
    """
    if config.run is None:
        raise ConfigError("repeat: the runs need a name: with --name trial they are called trial-1, trial-2 …")
    settings_files = {"--glossary": config.glossary, "--keep": config.keep, "--prices": config.prices}
    for option, path in {**reads, **settings_files}.items():
        if path == STANDARD:
            raise ConfigError(f"repeat: {option} is standard input, which can be read only once: give it a file")
    first = FIRST_SEED if config.seed is None else config.seed
    seeds = range(first, first + number)
    return [config.model_copy(update={"run": f"{config.run}-{seed}", "seed": seed}) for seed in seeds]


def output_of_repeat(path: Path, seed: int | None) -> Path:
    """``out.txt`` as ``out-SEED.txt``. Raises :class:`ConfigError` for standard output, which has room for one run."""
    if path == STANDARD:
        raise ConfigError("repeat: each run writes a file of its own: give -o FILE, which becomes FILE-1, FILE-2 …")
    length = len(path.suffix)
    form = by_suffix(path, RATING_FORMATS)
    if form is not None:
        for ending in form.suffixes:
            if path.name.casefold().endswith(ending):
                length = len(ending)
                break
    stem = path.name[: len(path.name) - length]
    return path.with_name(f"{stem}-{seed}{path.name[len(stem) :]}")


def of_files(config: Config, files: Files, number: int) -> list[tuple[Config, Files]]:
    """The settings and the files of each repeat of improving ``files``.

    Raises :class:`OutputError` for an output that another run has written, before the first repeat is paid for.
    """
    tasks = []
    for of_repeat in repeats(config, number, files.paths):
        details = None
        if files.details is not None:
            details = output_of_repeat(files.details, of_repeat.seed)
        output = output_of_repeat(files.output, of_repeat.seed)
        tasks.append((of_repeat, replace(files, output=output, details=details)))
    if not files.force:
        refuse_foreign((of_repeat, (task.output, task.details)) for of_repeat, task in tasks)
    return tasks


def of_ratings(
    config: Config, output: RatingOutput, number: int, reads: Mapping[str, Path]
) -> list[tuple[Config, RatingOutput]]:
    """The settings and the output of each repeat of rating; ``reads`` are the files, by option."""
    tasks = []
    for of_repeat in repeats(config, number, reads):
        tasks.append((of_repeat, replace(output, path=output_of_repeat(output.path, of_repeat.seed))))
    if not output.force:
        refuse_foreign((of_repeat, task.paths) for of_repeat, task in tasks)
    return tasks


def refuse_foreign(outputs: Iterable[tuple[Config, Sequence[Path | None]]]) -> None:
    """Raise :class:`OutputError` for an output that another run has written."""
    for config, paths in outputs:
        written = [path for path in paths if path is not None]
        with Store(config.store or default_path()) as store:
            refuse_foreign_outputs(written, config, store, str(config.run))


def alike(config: Config, *, rates: bool = False) -> str | None:
    """Why repeats may be alike: no model, or temperature 0 where texts are written or (``rates``) rated."""
    config = effective(config, OwnParts())
    if config.offline:
        return "no model is set, so the repeats will be alike"
    _, evaluator_model, _ = rater_settings(config.evaluator or "rules", config.model_for(None if rates else "postedit"))
    if rates:
        temperatures = {"rate": evaluator_model.temperature}
    else:
        temperatures = {
            "translate": config.model_for("translate").temperature,
            "postedit": evaluator_model.temperature,
            "proofread": config.model_for("proofread").temperature,
        }
    at_zero = []
    for stage in ("rate",) if rates else config.stages or ():
        if temperatures.get(stage) == 0:
            at_zero.append(stage)
    if not at_zero:
        return None
    return f"temperature is 0 in {', '.join(at_zero)}, so the repeats may be alike: set --temperature"
