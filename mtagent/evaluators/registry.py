"""Evaluators by name: from ``m-mad:strategy=deliberation,rounds=2`` to the object that rates."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mtagent.config import parse_spec, typed_options
from mtagent.errors import ConfigError, MtagentError
from mtagent.evaluators.protocol import Evaluator, checked_evaluator
from mtagent.llm.protocol import LLM

if TYPE_CHECKING:
    from mtagent.config import Config
    from mtagent.evaluators.pairwise import Pairwise


EVALUATORS = {
    "rubric-mqm": "mtagent.evaluators.rubric_mqm:RubricMQM",
    "gemba-mqm": "mtagent.evaluators.gemba:GembaMQM",
    "gemba-esa": "mtagent.evaluators.gemba:GembaESA",
    "gemba-da": "mtagent.evaluators.gemba:GembaDA",
    "gemba-sqm": "mtagent.evaluators.gemba:GembaSQM",
    "eaprompt": "mtagent.evaluators.eaprompt:EAPrompt",
    "single-agent": "mtagent.evaluators.single_agent:SingleAgent",
    "m-mad": "mtagent.evaluators.m_mad:MMAD",
    "himate": "mtagent.evaluators.himate:HiMATE",
    "rate": "mtagent.evaluators.rate:RATE",
    "mqm-ape": "mtagent.evaluators.mqm_ape:MqmApe",
    "qe-e5": "mtagent.evaluators.metric:qe_e5",
    "rules": "mtagent.evaluators.rules:Rules",
    "spans-file": "mtagent.evaluators.spans_file:SpansFile",
    "cometkiwi": "mtagent.evaluators.metric:cometkiwi",
    "xcomet": "mtagent.evaluators.metric:xcomet",
}
"""Name: module and class. Another package adds one through the entry-point group ``mtagent.evaluators``: a callable
that takes the configuration, the model (or ``None``) and, by name, the options, and gives an evaluator."""
PAIRWISE = "pairwise"
"""The judge that compares two texts and rates none."""
_DEFAULT_INNER = "gemba-mqm"
"""The evaluator whose errors MQM-APE checks unless another is named, as in the paper."""
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_CALLED_WITH = "an entry point is called with the configuration, the model (or None) and, by name, the options"


@dataclass(frozen=True)
class Surroundings:
    """What an evaluator may need besides its options. Each field is passed to the parameter of that name."""

    llm: LLM | None
    config: Config
    data_folder: Path
    """Where calibrations are kept."""
    another: Callable[[str], LLM | None] | None = None
    """A model by its name, with the settings of ``llm``."""

    def arguments(self) -> dict[str, Any]:
        """The arguments by parameter. ``llm`` is left out if there is none."""
        arguments: dict[str, Any] = {
            "prompts_folder": self.config.prompts,
            "data_folder": self.data_folder,
            "forced": self.config.forced,
            "comet_python": self.config.comet_python,
        }
        if self.llm is not None:
            arguments["llm"] = self.llm
        return arguments


def make_evaluator(spec: str, surroundings: Surroundings) -> Evaluator:
    """The evaluator that ``NAME[:OPTION=VALUE,...]`` names. Raises :class:`ConfigError` naming the culprit."""
    name, options = parse_spec(spec)
    if name == PAIRWISE:
        raise ConfigError(f"{name} compares two texts and does not rate: use it as judge")
    if name not in EVALUATORS:
        return _foreign(name, options, surroundings)
    kind = _kind(name)
    if "evaluator" in inspect.signature(kind).parameters:
        return _around(name, kind, options, surroundings)
    return cast(Evaluator, _made(name, kind, options, surroundings))


def make_pairwise(spec: str, surroundings: Surroundings) -> Pairwise:
    """The comparing judge with the options of ``spec``. Raises :class:`ConfigError` naming the culprit."""
    from mtagent.evaluators.pairwise import Pairwise

    name, options = parse_spec(spec)
    return cast("Pairwise", _made(name, Pairwise, options, surroundings))


def asks_model(name: str) -> bool:
    """Whether the judge or evaluator ``name`` calls a model. False for other packages' evaluators."""
    if name == PAIRWISE:
        return True
    return name in EVALUATORS and "llm" in inspect.signature(_kind(name)).parameters


def may_ask_model(spec: str) -> bool:
    """Whether the evaluator that ``spec`` names may call a model, as other packages' evaluators may."""
    name = parse_spec(spec)[0]
    return name not in EVALUATORS or asks_model(name)


def takes_forced(spec: str) -> bool:
    """Whether the evaluator that ``spec`` names can be made to mark at least one error."""
    name, options = parse_spec(spec)
    if name in EVALUATORS and "evaluator" in inspect.signature(_kind(name)).parameters:
        name = options.get("evaluator", _DEFAULT_INNER)
    return name not in EVALUATORS or "forced" in inspect.signature(_kind(name)).parameters


def _kind(name: str) -> Any:
    module, _, attribute = EVALUATORS[name].partition(":")
    return getattr(import_module(module), attribute)


def _made(name: str, kind: Any, options: Mapping[str, str], surroundings: Surroundings, **parts: object) -> object:
    parameters = inspect.signature(kind).parameters
    arguments = {key: value for key, value in surroundings.arguments().items() if key in parameters}
    if "llm" in parameters and "llm" not in arguments:
        raise ConfigError(f"{name} calls a model, but none is set: set OPENAI_API_KEY, base_url, or llm=local")
    return kind(**{**arguments, **parts, **typed_options(f"evaluator {name}", kind, options)})


def _around(name: str, kind: Any, options: Mapping[str, str], surroundings: Surroundings) -> Evaluator:
    """An evaluator that checks the errors of another one. Options that it does not have itself are for the other."""
    outer_options: dict[str, str] = {}
    inner_options: dict[str, str] = {}
    parameters = inspect.signature(kind).parameters
    for key, value in options.items():
        if key in parameters and parameters[key].kind is _KEYWORD:
            outer_options[key] = value
        else:
            inner_options[key] = value
    inner = inner_options.pop("evaluator", _DEFAULT_INNER)
    judge_model = inner_options.pop("judge_model", None)
    if not inner or inner == name:
        raise ConfigError(
            f"{name} checks the errors that another evaluator marks: write {name}:evaluator={_DEFAULT_INNER}"
        )
    if ":" in inner:
        raise ConfigError(
            f"{name}: the options of the other evaluator come after a comma: write {name}:evaluator="
            f"{inner.replace(':', ',', 1)}"
        )
    spec = ",".join(f"{key}={value}" for key, value in inner_options.items())
    parts: dict[str, object] = {"evaluator": make_evaluator(f"{inner}:{spec}" if spec else inner, surroundings)}
    if judge_model is not None:
        llm = surroundings.another(judge_model) if surroundings.another else None
        if llm is None:
            raise ConfigError(f"{name}: judge-model={judge_model}: no other model can be used here")
        parts["judge"] = make_pairwise(PAIRWISE, replace(surroundings, llm=llm))
    return cast(Evaluator, _made(name, kind, outer_options, surroundings, **parts))


def evaluator_names() -> list[str]:
    """All names, including other packages' evaluators."""
    return sorted({*EVALUATORS, *(entry.name for entry in entry_points(group="mtagent.evaluators"))})


def _foreign(name: str, options: Mapping[str, str], surroundings: Surroundings) -> Evaluator:
    """The evaluator that another package offers as ``name``. Whatever is wrong with it is a :class:`ConfigError`."""
    others = {entry.name: entry for entry in entry_points(group="mtagent.evaluators")}
    if name not in others:
        near = get_close_matches(name, [*evaluator_names(), PAIRWISE], n=1)
        hint = f"there are: {', '.join(evaluator_names())}; and as a judge: {PAIRWISE}"
        if near:
            hint = f"did you mean {near[0]!r}?"
        raise ConfigError(f"no evaluator {name!r}; {hint}")
    entry = others[name]
    package = entry.dist.name if entry.dist else "an unknown package"
    where = f"evaluator {entry.name} ({entry.value} of {package})"
    try:
        make = entry.load()
    except Exception as error:  # another package may raise anything
        raise ConfigError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(make):
        raise ConfigError(f"{where} is {make!r}, which cannot be called: {_CALLED_WITH}")
    try:
        typed = typed_options(f"evaluator {entry.name}", make, options, _option_names(make, options))
        evaluator = make(surroundings.config, surroundings.llm, **typed)
    except MtagentError:
        raise
    except Exception as error:
        raise ConfigError(f"{where} cannot be made: {type(error).__name__}: {error}; {_CALLED_WITH}") from error
    try:
        return checked_evaluator(evaluator)
    except ConfigError as error:
        raise ConfigError(f"{where} gave no evaluator: {error}") from None


def _option_names(make: Callable[..., object], options: Mapping[str, str]) -> list[str]:
    """The options that an entry point takes: its parameters by name, after the configuration and the model."""
    try:
        parameters = list(inspect.signature(make).parameters.values())
    except ValueError:  # a callable without a signature is tried with all options
        return list(options)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return list(options)
    names = []
    for place, parameter in enumerate(parameters):
        is_option_by_position = place >= 2 and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        if is_option_by_position or parameter.kind is _KEYWORD:
            names.append(parameter.name)
    return names
