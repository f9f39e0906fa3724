"""The files that a configuration makes a run read: results depend on them, and no output may take their place."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import isfile
from pathlib import Path

from mtagent.config import Config
from mtagent.evaluators.confidence import FOLDER
from mtagent.evaluators.named import parse_spec
from mtagent.formats.files import refuse_pipe
from mtagent.store import default_path


def files_named(config: Config) -> dict[str, Path]:
    """Every such file, by the option that names it; some may not be there."""
    named = {"--config": config.file, "--glossary": config.glossary, "--keep": config.keep}
    named |= {"--prices": config.prices, "--calibration": config.calibration}
    found = {option: path for option, path in named.items() if path is not None}
    for path in prompts_of(config):
        found[f"--prompts, {path.name}"] = path
    for name, options in _evaluators(config):
        files = {key: value for key, value in options.items() if isfile(value)}  # noqa: PTH113 Path's raises for long ones
        found |= {f"--evaluator {name}:{key}={value}": Path(value) for key, value in files.items()}
        found |= {f"--evaluator {name}, {path}": path for path in _beside(name, options, config)}
    kind, _, model = (config.llm or "").partition(":")
    if kind == "local" and model:
        found["--llm"] = Path(model)
    return found | {"--store": config.store or default_path()}


def files_of_evaluators(config: Config) -> dict[str, Path]:
    """The files that the option ``path`` of editor and judge names, and the texts that belong to them."""
    found = {}
    for name, options in _evaluators(config):
        if "path" in options:
            found[f"{name}:{options['path']}"] = Path(options["path"])
            found |= {f"{name}:{path}": path for path in _texts_around(name, options)}
    return found


def prompts_of(config: Config) -> list[Path]:
    """The user's own prompts."""
    return sorted(config.prompts.glob("*.toml")) if config.prompts else []


def _evaluators(config: Config) -> Iterator[tuple[str, dict[str, str]]]:
    for name, options in map(parse_spec, filter(None, (config.evaluator, config.judge.evaluator))):
        if "path" in options:
            refuse_pipe(Path(options["path"]), f"{name}:path")
        yield name, options


def _beside(name: str, options: dict[str, str], config: Config) -> list[Path]:
    """What an evaluator reads without being told: annotated texts, thresholds, and the index of knowledge."""
    folder = (config.store or default_path()).parent
    if name == "himate":
        return sorted((folder / FOLDER).glob("*.json"))
    return [folder / "knowledge.db"] if name == "rate" else _texts_around(name, options)


def _texts_around(name: str, options: dict[str, str]) -> list[Path]:
    from mtagent.span_files import texts_around

    return texts_around(Path(options["path"])) if name == "spans-file" and "path" in options else []
