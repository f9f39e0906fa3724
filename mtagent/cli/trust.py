"""Which settings of a file that was found and not named can do harm, and which such files the user has trusted.

``mtagent.toml`` is read from the working folder, and a folder may come from anyone. This module alone decides what in
it needs trust. It imports the settings, the evaluators' names and what reads, locks and masks; no command.

Trust is stored in ``trusted.json`` in the user's data folder: the SHA-256 of the file's bytes under the file's absolute
path. A file that changes or moves isn't trusted any more.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mtagent.config import Config, JudgeSettings, ModelSettings, SettingsFile, parse_spec
from mtagent.errors import ConfigError, OutputError, UntrustedSettings
from mtagent.evaluators.registry import EVALUATORS, PAIRWISE
from mtagent.formats.files import reason_of, replacing
from mtagent.store.database import make_private_file, make_private_folder, user_folder
from mtagent.text.escaping import visible
from mtagent.text.masking import MASK, key_in, masked

LOCK_SECONDS = 10.0
LONGEST_VALUE = 1000
"""Characters of a value to show; the number of the hidden ones is added."""
MOST_SETTINGS = 100
"""Settings to show; one more line counts the others."""

HARMLESS = frozenset(
    {
        *("source_lang", "target_lang", "preset", "stages", "strategy", "fix", "forced", "rules_first"),
        *("stop_when_error_free", "on_ambiguous", "skip_guards", "embeddings", "context", "domain"),
        *("gate", "margin", "samples", "quorum", "cautious", "ask_all", "gate_calls", "proposals", "triage_above"),
        "any_language",
        *("model", "judge_model", "temperature", "top_p", "max_tokens", "seed", "reasoning_effort"),
        *("api_version", "cache_control"),
        *("concurrency", "requests_per_minute", "tokens_per_minute", "timeout", "deadline", "give_up_after"),
        *("run", "limit", "budget", "token_budget", "own_memory"),
    }
)
"""Settings that hold a number, a word or a name, and neither send anything elsewhere nor open or run anything."""
TABLES = ("translate", "postedit", "proofread", "judge")
SPECS = ("evaluator", "triage")
"""Settings that are written ``NAME:OPTION=VALUE,…``; in the table ``judge`` also as a list of them."""
INPUT_PATHS = ("glossary", "keep", "instructions", "prompts", "prices", "calibration")
HARMLESS_OPTIONS = frozenset(
    {
        *("scale", "forced", "reference", "steps", "strategy", "topic", "rounds", "stages", "threshold", "turns"),
        *(
            "confidence",
            "unmended",
            "most",
            "reason",
            "skip",
            "format",
            "system",
            "rater",
            "batch_size",
            "gpus",
            "timeout",
        ),
        *("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "judge_model"),
        *("api_version", "cache_control"),
    }
)
"""Options of evaluators of which the same is true."""
PATH_OPTIONS = ("path", "knowledge")
CHECKPOINT_EVALUATORS = ("cometkiwi", "xcomet")
"""Their option ``model`` names a checkpoint: a file that can run code when it is loaded."""

UNKNOWN = "is not known to be harmless"
_SENDS = "texts and the key are sent to this address"
_SENDS_KEYS = "texts are sent to these addresses, with the key or the values of these variables"
_READS_KEY = "the value of this variable is sent as the key"
_READS_HEADERS = "the values of these variables are sent as headers"
_READS = "reads outside the folder of the settings"
_STORES = "texts are stored in this file, and replies stored in it are used"
_APPENDS = "lines are added to this file"
_LOADS_CHECKPOINT = "loads this checkpoint, which can run code"
_TRANSLATORS = {
    "command": "runs this command",
    "python": "runs this code",
    "libretranslate": "texts and the key are sent to this address",
}


@dataclass(frozen=True)
class SensitiveSetting:
    """A setting that needs trust: its full name, as in ``judge.base_url``, its value, and what it can do."""

    name: str
    value: Any
    effect: str


def sensitive_settings(settings: Mapping[str, Any], folder: Path) -> list[SensitiveSetting]:
    """The settings, as they are written in a file of ``folder``, that need trust.

    A setting or an option that is not known to be harmless needs trust. Unknown settings are not reported, because a
    file that has one is refused anyway.
    """
    sensitive: list[SensitiveSetting] = []
    for name, value in settings.items():
        if name in TABLES and isinstance(value, Mapping):
            table = JudgeSettings if name == "judge" else ModelSettings
            table_fields = table.model_fields
            for field, field_value in value.items():
                if field in table_fields:
                    sensitive += _sensitive(f"{name}.{field}", field, field_value, folder)
        elif name in Config.model_fields:
            sensitive += _sensitive(name, name, value, folder)
    return sensitive


def _sensitive(full_name: str, name: str, value: Any, folder: Path) -> Iterator[SensitiveSetting]:
    """The setting ``name``, if it needs trust; a list of evaluators counts as several settings."""
    if name in SPECS:
        specs = value if isinstance(value, list) else [value]
        for spec in specs:
            effect = None
            if isinstance(spec, str):
                effect = _effect_of_spec(spec, folder)
            if effect is not None:
                yield SensitiveSetting(full_name, spec, effect)
        return
    effect = _effect(name, value, folder)
    if effect is not None:
        yield SensitiveSetting(full_name, value, effect)


def _effect(name: str, value: Any, folder: Path) -> str | None:
    """What the setting can do that needs trust; ``None`` if it is harmless."""
    if name in HARMLESS:
        return None
    if name in ("base_url", "azure_endpoint"):
        return _SENDS
    if name == "endpoint":
        return _SENDS_KEYS
    if name == "api_key_env":
        return _READS_KEY
    if name == "header":
        return _READS_HEADERS
    if name == "translator":
        if value == "llm":
            return None
        kind = str(value).partition(":")[0]
        return _TRANSLATORS.get(kind, "runs the code of this translator")
    if name == "comet_python":
        return "runs this program"
    if name == "llm":
        return None if value in ("local", "openai") else "loads this file as a model"
    if name == "prompts":
        return _READS if _leaves(folder, value) or _holds_a_prompt_that_leaves(folder, value) else None
    if name in INPUT_PATHS:
        return _READS if _leaves(folder, value) else None
    if name in ("instructions_for", "memory"):
        paths = [value]
        if isinstance(value, Mapping):
            paths = list(value.values())
        elif isinstance(value, list | tuple):
            paths = list(value)
        return _READS if any(_leaves(folder, path) for path in paths) else None
    if name == "store":
        # Wherever it is: it may hold replies that no model gave, and the files next to it may be symbolic links.
        return _STORES
    if name == "log":
        return _APPENDS
    return UNKNOWN


def _effect_of_spec(spec: str, folder: Path) -> str | None:
    """What the evaluator, with its options, can do that needs trust; ``None`` if all of it is harmless."""
    try:
        name, options = parse_spec(spec)
    except ConfigError:
        return "cannot be read"
    names = {name, options.pop("evaluator", name)}  # an evaluator may check another one, and brings its options
    if names - {*EVALUATORS, PAIRWISE}:
        return "runs the code of an evaluator of another package"
    effects = []
    for option, value in options.items():
        effect = _effect_of_option(names, option, value, folder)
        if effect == UNKNOWN:
            effects.append(f"{option.replace('_', '-')} {effect}")
        elif effect is not None:
            effects.append(effect)
    return "; ".join(effects) or None


def _effect_of_option(names: set[str], option: str, value: str, folder: Path) -> str | None:
    if option in HARMLESS_OPTIONS:
        return None
    if option in ("base_url", "azure_endpoint"):
        return _SENDS
    if option == "endpoint":
        return _SENDS_KEYS
    if option == "api_key_env":
        return _READS_KEY
    if option == "header":
        return _READS_HEADERS
    if option == "model":
        return _LOADS_CHECKPOINT if names.intersection(CHECKPOINT_EVALUATORS) else None
    if option == "python":
        return "runs this program"
    if option == "search":
        if value in ("none", "local"):
            return None
        return "searches, which hold parts of texts, and a key are sent to this address"
    if option in PATH_OPTIONS:
        paths = str(value).split("+") if option == "knowledge" else [value]  # notes may be in several files
        return _READS if any(_leaves(folder, path) for path in paths) else None
    return UNKNOWN


def _leaves(folder: Path, value: Any) -> bool:
    """Whether the path ``value``, as it is written, leads out of ``folder``, by itself or by a symbolic link."""
    if not isinstance(value, str):
        return False  # the settings refuse it
    folder = folder.absolute()
    written = os.path.expanduser(value)  # noqa: PTH111  its counterpart raises for a name that nobody has
    # First by its letters alone: looking at an address of another machine may already tell it who looks.
    if not Path(os.path.normpath(folder / written)).is_relative_to(os.path.normpath(folder)):
        return True
    try:
        return not (folder / written).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # RuntimeError: links that lead to each other
        return True


def _holds_a_prompt_that_leaves(folder: Path, value: Any) -> bool:
    """Whether a prompt in the folder ``value``, which doesn't leave ``folder`` itself, is a link out of ``folder``."""
    if not isinstance(value, str):
        return False  # the settings refuse it
    prompts = folder / os.path.expanduser(value)  # noqa: PTH111  its counterpart raises for a name that nobody has
    try:
        names = [path.name for path in prompts.iterdir() if path.suffix.lower() == ".toml"]
    except (FileNotFoundError, NotADirectoryError):
        return False  # no prompt is read from there
    except (OSError, ValueError):
        return True
    return any(_leaves(folder, str(prompts.absolute() / name)) for name in names)


def sensitive_lines(file: SettingsFile) -> tuple[str, ...]:
    """The settings of ``file`` that need trust, a line each: ``FILE: NAME = VALUE: what it does``.

    The values are shown as they are read, not as they are written, so that no spelling hides one. Keys are masked.
    Raises :class:`ConfigError` for a file that isn't TOML.
    """
    settings = sensitive_settings(file.written(), file.folder)
    lines = []
    for setting in settings[:MOST_SETTINGS]:
        value = MASK
        if not key_in(str(setting.value)):
            value = json.dumps(setting.value, ensure_ascii=False, default=str)
        lines.append(f"{file.path}: {setting.name} = {_one_line(value)}: {setting.effect}")
    if len(settings) > MOST_SETTINGS:
        lines.append(f"{file.path}: … ({len(settings) - MOST_SETTINGS:,} more settings)")
    return tuple(lines)


def _one_line(text: str) -> str:
    """``text`` for a terminal, with keys masked and cut if it is long."""
    text = masked(visible(text.strip(), one_line=True))
    hidden = len(text) - LONGEST_VALUE
    if hidden <= 0:
        return text
    return f"{text[:LONGEST_VALUE]}… ({hidden:,} more characters)"


# Which files are trusted


def check(file: SettingsFile) -> None:
    """Raise :class:`UntrustedSettings` for a file that needs trust and doesn't have it."""
    if not needs_trust(file) or is_trusted(file):
        return
    state = "is not trusted: it has changed since you trusted it" if has_changed(file) else "is not trusted"
    raise UntrustedSettings(
        f"{absolute(file.path)}: was found in the working folder and {state}. These settings can send texts or keys "
        "elsewhere, run code, use a store, or read files outside the folder:",
        (
            *sensitive_lines(file),
            "mtagent: nothing was sent or run. If you want these settings, `mtagent config trust` trusts the file "
            f"until it changes, and `--config {file.path}` trusts it for one command. Otherwise remove the settings.",
        ),
    )


def needs_trust(file: SettingsFile) -> bool:
    """Whether ``file`` holds settings that need trust. Raises :class:`ConfigError` for a file that isn't TOML."""
    return bool(sensitive_settings(file.written(), file.folder))


def is_trusted(file: SettingsFile) -> bool:
    """Whether the user has trusted a file with this content at this path. Raises :class:`ConfigError`."""
    return _read().get(_place(file.path)) == _hash(file)


def has_changed(file: SettingsFile) -> bool:
    """Whether the user has trusted a file at this path, with another content. Raises :class:`ConfigError`."""
    return _read().get(_place(file.path), _hash(file)) != _hash(file)


def trust(file: SettingsFile) -> None:
    """Trust ``file`` with this content at this path. Raises :class:`ConfigError` and :class:`OutputError`."""
    with _locked():
        _write({**_read(), _place(file.path): _hash(file)})


def distrust(path: Path) -> bool:
    """Remove the trust in the file at ``path``, and return whether there was any."""
    with _locked():
        stored = _read()
        was_trusted = stored.pop(_place(path), None) is not None
        if was_trusted:
            _write(stored)
    return was_trusted


def trusted_path() -> Path:
    """The file with the list of trusted files: in ``$XDG_DATA_HOME``, or ``~/.local/share``.

    ``$MTAGENT_STORE`` doesn't move it: a store may lie in the working folder, and this file must not. Raises
    :class:`ConfigError` if neither folder is known.
    """
    folder = user_folder()
    if folder is None:
        raise ConfigError("cannot find a folder to store trust in; set HOME, or XDG_DATA_HOME, to an absolute path")
    return folder / "trusted.json"


def absolute(path: Path) -> Path:
    """The file's path from the root on."""
    return path if path.is_absolute() else Path.cwd() / path


def _place(path: Path) -> str:
    """The file's path without symbolic links to its folder. The file itself may be a link, which is not followed:
    files and modules that its settings name are looked for next to the link.
    """
    return str(absolute(path).parent.resolve() / path.name)


def _hash(file: SettingsFile) -> str:
    return hashlib.sha256(file.content).hexdigest()


def _read() -> dict[str, str]:
    """The hash of each trusted file, by its path."""
    path = trusted_path()
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: {reason_of(error)}; it lists the files with settings that you trust") from None
    if not content:  # another process is making it
        return {}
    try:
        stored = json.loads(content)
    except (ValueError, RecursionError):
        stored = None
    if not isinstance(stored, dict) or not all(isinstance(value, str) for value in stored.values()):
        raise ConfigError(f"{path}: is damaged; delete it, and trust your files again with `mtagent config trust`")
    return stored


def _write(stored: Mapping[str, str]) -> None:
    path = trusted_path()
    make_private_file(path)  # so that what takes its place is private, too
    with replacing(path) as sink:
        sink.write(json.dumps(stored, indent=1, sort_keys=True) + "\n")


@contextmanager
def _locked() -> Iterator[None]:
    """Only one process at a time changes which files are trusted."""
    path = trusted_path()
    try:
        make_private_folder(path.parent)
        with FileLock(path.with_suffix(".lock"), timeout=LOCK_SECONDS, mode=0o600):
            yield
    except Timeout:
        raise OutputError(f"{path}: another process keeps it locked; try again later") from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {reason_of(error)}") from None
