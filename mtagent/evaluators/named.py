"""Evaluators by name: from ``m-mad:strategy=deliberation,rounds=2`` to the object that rates."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from pydantic import ValidationError, create_model

from mtagent.errors import ConfigError
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
    "rules": "mtagent.evaluators.rules:Rules",
    "spans-file": "mtagent.evaluators.spans_file:SpansFile",
}
"""Name: module and class. Another package adds one through the entry-point group ``mtagent.evaluators``: a callable
that takes the configuration, the model (or ``None``) and the options, and gives an evaluator."""


_NEXT_OPTION = re.compile(r",(?=\s*[A-Za-z][\w-]*=)")


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
        options[key.strip().replace("-", "_")] = value.strip()
    return name.strip(), options


def typed_options(who: str, kind: Any, options: Mapping[str, str]) -> dict[str, Any]:
    """``options`` as the types that the keyword parameters of ``kind``, a class or a function, have.

    Raises :class:`ConfigError` that begins with ``who``.
    """
    hints = get_type_hints(kind.__init__ if inspect.isclass(kind) else kind)
    known = {
        key: hints[key]
        for key, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and key not in ("prompts_folder", "data_folder")
    }
    for key in options:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'no options'}"
            raise ConfigError(f"{who}: no option {key!r}; {hint}")
    fields: dict[str, Any] = {key: (known[key], ...) for key in options}
    try:
        read = create_model("Options", **fields).model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{who}: {first['loc'][0]}: {first['msg'].lower()} (got {first['input']!r})") from None
    return {key: getattr(read, key) for key in options}


def _foreign(name: str, options: Mapping[str, str], surroundings: Surroundings) -> Evaluator:
    others = {entry.name: entry for entry in entry_points(group="mtagent.evaluators")}
    if name not in others:
        near = get_close_matches(name, evaluator_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(evaluator_names())}"
        raise ConfigError(f"no evaluator {name!r}; {hint}")
    return cast(Evaluator, others[name].load()(surroundings.config, surroundings.llm, **options))
