"""Evaluators by name: from ``m-mad:strategy=deliberation,rounds=2`` to the object that rates."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from mtagent.errors import ConfigError, MtagentError
from mtagent.evaluators.checked import checked_evaluator
from mtagent.protocols import LLM, Evaluator

if TYPE_CHECKING:
    from mtagent.config import Config

EVALUATORS = {
    "rubric-mqm": "mtagent.evaluators.rubric_mqm:RubricMQM",
    "gemba-mqm": "mtagent.evaluators.gemba_mqm:GembaMQM",
    "gemba-esa": "mtagent.evaluators.gemba_esa:GembaESA",
    "gemba-da": "mtagent.evaluators.gemba_scores:GembaDA",
    "gemba-sqm": "mtagent.evaluators.gemba_scores:GembaSQM",
    "eaprompt": "mtagent.evaluators.eaprompt:EAPrompt",
    "single-agent": "mtagent.evaluators.single_agent:SingleAgent",
    "m-mad": "mtagent.evaluators.m_mad:MMAD",
    "himate": "mtagent.evaluators.himate:HiMATE",
    "rate": "mtagent.evaluators.rate:RATE",
    "qe-e5": "mtagent.evaluators.qe_e5:qe_e5",
    "rules": "mtagent.evaluators.rules:Rules",
    "spans-file": "mtagent.evaluators.spans_file:SpansFile",
    "cometkiwi": "mtagent.evaluators.by_comet:cometkiwi",
    "xcomet": "mtagent.evaluators.by_comet:xcomet",
}
"""Name: module and class. Another package adds one through the entry-point group ``mtagent.evaluators``: a callable
that takes the configuration, the model (or ``None``) and, by name, the options, and gives an evaluator."""


_NEXT_OPTION = re.compile(r",(?=\s*[A-Za-z][\w-]*=)")
_CALLED_WITH = "an entry point is called with the configuration, the model (or None) and, by name, the options"


@dataclass(frozen=True)
class Surroundings:
    """What an evaluator may need besides its options; each goes to the parameter of that name, where there is one.

    ``data_folder`` is where calibrations and knowledge are kept.
    """

    llm: LLM | None
    config: Config
    data_folder: Path

    def arguments(self) -> dict[str, Any]:
        """All that can be passed on, by the parameter that takes it. ``llm`` is left out where there is none."""
        given = {"prompts_folder": self.config.prompts, "data_folder": self.data_folder, "forced": self.config.forced}
        return given if self.llm is None else {"llm": self.llm, **given}


def make_evaluator(spec: str, surroundings: Surroundings) -> Evaluator:
    """The evaluator that ``NAME[:OPTION=VALUE,...]`` names. Raises :class:`ConfigError` naming the culprit."""
    name, options = parse_spec(spec)
    if name not in EVALUATORS:
        return _foreign(name, options, surroundings)
    module, _, attribute = EVALUATORS[name].partition(":")
    kind = getattr(import_module(module), attribute)
    parameters = inspect.signature(kind).parameters
    given = {key: value for key, value in surroundings.arguments().items() if key in parameters}
    if "llm" in parameters and "llm" not in given:
        raise ConfigError(
            f"{name} asks a model, and there is none: set OPENAI_API_KEY, or give --base-url or --llm local"
        )
    return cast(Evaluator, kind(**{**given, **typed_options(f"evaluator {name}", kind, options)}))


def evaluator_names() -> list[str]:
    """All names, those of other packages included."""
    return sorted({*EVALUATORS, *(entry.name for entry in entry_points(group="mtagent.evaluators"))})


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """``m-mad:rounds=2,topic=severity`` as a name and options. A comma ends a value only before another ``OPTION=``."""
    name, _, rest = spec.partition(":")
    options: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in _NEXT_OPTION.split(rest))):
        key, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(f"evaluator {spec!r}: {part!r} is no option; write {name}:OPTION=VALUE,OPTION=VALUE")
        key = key.strip().replace("-", "_")
        if key in options:
            raise ConfigError(f"evaluator {spec!r}: the option {key} is given twice")
        options[key] = value.strip()
    return name.strip(), options


def unforced(spec: str) -> str:
    """``spec`` without the demand for errors: a judge may find none, also where the post-editor must."""
    name, options = parse_spec(spec)
    left = [f"{key}={value}" for key, value in options.items() if key != "forced"]
    return f"{name}:{','.join(left)}" if left else name


def typed_options(who: str, kind: Any, options: Mapping[str, str]) -> dict[str, Any]:
    """``options`` as the types that the keyword parameters of ``kind``, a class or a function, have.

    Raises :class:`ConfigError` that begins with ``who``.
    """
    known = [
        parameter.name
        for parameter in inspect.signature(kind).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name not in ("prompts_folder", "data_folder")
    ]
    _refuse_unknown(who, options, known)
    return _typed(who, kind, options)


def _refuse_unknown(who: str, options: Mapping[str, str], known: Sequence[str]) -> None:
    for key in options:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'no options'}"
            raise ConfigError(f"{who}: no option {key!r}; {hint}")


def _typed(who: str, make: Any, options: Mapping[str, str]) -> dict[str, Any]:
    """``options`` as the types with which ``make`` annotates its parameters; text where there is none."""
    function = _function(make)
    noted = {key: hint for key, hint in getattr(function, "__annotations__", {}).items() if key in options}
    # Only what is needed: other annotations may name what is imported for type checkers alone.
    hints = get_type_hints(SimpleNamespace(__annotations__=noted), globalns=getattr(function, "__globals__", {}))
    return {key: _read(who, key, value, hints.get(key, str)) for key, value in options.items()}


def _function(make: Any) -> Any:
    """The function whose parameters ``make`` takes."""
    while isinstance(make, partial):
        make = make.func
    if isinstance(make, type):
        return cast(Any, make).__init__
    return inspect.unwrap(make) if inspect.isroutine(make) else type(make).__call__


def _read(who: str, key: str, value: str, hint: Any) -> Any:
    several = get_origin(hint) in (frozenset, set, tuple, list)
    try:
        return TypeAdapter(hint).validate_python(value.split("+") if several else value)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{who}: {key}: {first['msg'].lower()} (got {first['input']!r})") from None


def _foreign(name: str, options: Mapping[str, str], surroundings: Surroundings) -> Evaluator:
    others = {entry.name: entry for entry in entry_points(group="mtagent.evaluators")}
    if name not in others:
        near = get_close_matches(name, evaluator_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(evaluator_names())}"
        raise ConfigError(f"no evaluator {name!r}; {hint}")
    return _made(others[name], options, surroundings)


def _made(entry: EntryPoint, options: Mapping[str, str], surroundings: Surroundings) -> Evaluator:
    """The evaluator that another package offers as ``entry``. Whatever is wrong with it is a :class:`ConfigError`."""
    package = entry.dist.name if entry.dist else "an unknown package"
    where = f"evaluator {entry.name} ({entry.value} of {package})"
    try:
        make = entry.load()
    except Exception as error:  # another package may raise anything
        raise ConfigError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(make):
        raise ConfigError(f"{where} is {make!r}, which cannot be called: {_CALLED_WITH}")
    _refuse_unknown(f"evaluator {entry.name}", options, _foreign_options(make, options))
    try:
        made = make(surroundings.config, surroundings.llm, **_typed(f"evaluator {entry.name}", make, options))
    except MtagentError:
        raise
    except Exception as error:
        raise ConfigError(f"{where} cannot be made: {type(error).__name__}: {error}; {_CALLED_WITH}") from error
    try:
        return checked_evaluator(made)
    except ConfigError as error:
        raise ConfigError(f"{where} gave no evaluator: {error}") from None


def _foreign_options(make: Callable[..., object], given: Iterable[str]) -> list[str]:
    """What ``make`` takes by name after configuration and model; whatever is ``given``, where it takes any name."""
    try:
        parameters = list(inspect.signature(make).parameters.values())
    except ValueError:  # a callable that does not tell
        return list(given)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return list(given)
    after = [parameter for i, parameter in enumerate(parameters) if i >= 2 or parameter.kind is parameter.KEYWORD_ONLY]
    return [one.name for one in after if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
