"""The configuration: one frozen record, filled from the command line, a TOML file, a preset, and the defaults.

The same names are used everywhere: ``concurrency = 32`` in the file, ``--concurrency 32`` on the command line,
``Config(concurrency=32)`` in Python.
"""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, TypedDict, cast, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Field, PrivateAttr, TypeAdapter, ValidationError, field_serializer, field_validator

from mtagent.errors import ConfigError
from mtagent.formats.files import reason_of, refuse_pipe
from mtagent.llm.server import AZURE_EXAMPLE, CacheControl, address_problem
from mtagent.records import Record, Stage
from mtagent.text import languages
from mtagent.text.edits import OnAmbiguous
from mtagent.text.masking import key_in, masked

Strategy = Literal["located", "paper"]
Fix = Literal["offered", "asked"]
JUDGE_KINDS = {
    **dict.fromkeys(("rubric-mqm", "gemba-mqm", "eaprompt", "single-agent", "m-mad", "himate", "mqm-ape"), "mqm"),
    **dict.fromkeys(("gemba-da", "gemba-esa", "gemba-sqm", "rate"), "da"),
    **dict.fromkeys(("cometkiwi", "xcomet"), "qe"),
    "pairwise": "pairwise",
}
"""Kinds of judges by name: a model that marks errors (``mqm``), one that rates (``da``), a quality-estimation metric
(``qe``), and a model that compares in both orders (``pairwise``). Judges of a kind share a shipped weight."""
GateName = Literal["none", "guards", "rate", "pairwise", "panel", "gain", "qe"]

_NEXT_OPTION = re.compile(r",(?=\s*[A-Za-z][\w-]*=)")


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """``m-mad:rounds=2,topic=severity`` as a name and options. A comma ends a value only before another ``OPTION=``."""
    name, _, rest = spec.partition(":")
    options: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in _NEXT_OPTION.split(rest))):
        key, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(f"{spec!r}: {part!r} is not an option; write {name}:OPTION=VALUE,OPTION=VALUE")
        key = key.strip().replace("-", "_")
        if key in options:
            raise ConfigError(f"{spec!r}: the option {key} is given twice")
        options[key] = value.strip()
    return name.strip(), options


def unforced(spec: str) -> str:
    """``spec`` without the option ``forced``: a judge may find no errors, even if the post-editor must."""
    name, options = parse_spec(spec)
    left = [f"{key}={value}" for key, value in options.items() if key != "forced"]
    return f"{name}:{','.join(left)}" if left else name


def typed_options(
    who: str, kind: Any, options: Mapping[str, str], known: Sequence[str] | None = None
) -> dict[str, Any]:
    """``options`` converted to the annotated types of the parameters of ``kind``, a class or a function.

    Options without an annotation stay text. ``known`` are the names of all options; by default the keyword-only
    parameters. Raises :class:`ConfigError`, which begins with ``who``.
    """
    if known is None:
        known = [
            parameter.name
            for parameter in inspect.signature(kind).parameters.values()
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in ("prompts_folder", "data_folder")
        ]
    for key in options:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'no options'}"
            raise ConfigError(f"{who}: no option {key!r}; {hint}")
    function = kind
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type):
        function = cast(Any, function).__init__
    else:
        function = inspect.unwrap(function) if inspect.isroutine(function) else type(function).__call__
    noted = {key: hint for key, hint in getattr(function, "__annotations__", {}).items() if key in options}
    # Only the annotations of these options: others may name classes that are imported for type checkers only.
    hints = get_type_hints(SimpleNamespace(__annotations__=noted), globalns=getattr(function, "__globals__", {}))
    typed = {}
    for key, value in options.items():
        written: str | list[str] = value
        if get_origin(hints.get(key)) in (frozenset, set, tuple, list):
            written = value.split("+")
        try:
            typed[key] = TypeAdapter(hints.get(key, str)).validate_python(written)
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"{who}: {key}: {first['msg'].lower()} (got {first['input']!r})") from None
    return typed


DEFAULT_MODEL = "gpt-6-luna"
GUARD_NAMES = (
    "placeholders", "literals", "hotkeys", "tags", "urls", "emails", "numbers", "units", "markdown", "paragraphs",
    "whitespace", "terms", "brackets", "quotes", "script", "language", "control", "width", "repetition", "end",
    "length", "max_length",
)  # fmt: skip
"""The guards of :mod:`mtagent.chain.guards`, for help texts. A program may add guards there, and then skip them."""
Role = Literal["translate", "postedit", "proofread", "judge"]
_STAGES: dict[str, tuple[Stage, ...]] = {
    "t": ("translate",),
    "r": ("rerank",),
    "p": ("postedit",),
    "pe": ("postedit",),
    "pr": ("proofread",),
    "tp": ("translate", "postedit"),
    "tpe": ("translate", "postedit"),
    "tpr": ("translate", "proofread"),
    "tpp": ("translate", "postedit", "proofread"),
    "pp": ("postedit", "proofread"),
    "rpe": ("rerank", "postedit"),
    "rpp": ("rerank", "postedit", "proofread"),
    "trpp": ("translate", "rerank", "postedit", "proofread"),
    **{stage: (stage,) for stage in get_args(Stage)},
}

_NOT_SHOWN = ("base_url", "azure_endpoint", "endpoint", "api_key_env", "header")  # where people put keys by mistake


def _address(address: str) -> str:
    if not address.strip():
        raise ValueError("is empty: give the address of a server, or leave it out for OpenAI's")
    problem = address_problem(address)
    if problem:
        raise ValueError(problem)
    return address


def _azure_address(address: str) -> str:
    problem = address_problem(address, example=AZURE_EXAMPLE)
    if problem:
        raise ValueError(problem)
    return address


def _run_name(name: str) -> str:
    if not name.strip() or not name.isprintable() or name.startswith("-"):
        raise ValueError("must be a name of printable characters, in one line, that does not begin with '-'")
    return name


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("must be the name of an environment variable, not the key itself")
    return name


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty: give a name, or leave it out")
    return text


def _header(text: str) -> str:
    name, equals, variable = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise ValueError("must be NAME=VARIABLE: a header, and the environment variable that holds its value")
    if "," in variable:
        raise ValueError("holds a comma, which doesn't separate headers: repeat --header, or give a list")
    _variable(variable)
    return text


def endpoint_parts(text: str) -> tuple[str, str | None]:
    """The address in ``URL=VARIABLE``, and the variable that holds the key; without one, ``None``.

    In ``URL?api-version=VALUE`` the text after the last ``=`` belongs to the address.
    """
    address, _, variable = text.rpartition("=")
    last_parameter = re.split(r"[?&]", address)[-1]
    if not address or ("?" in address and "=" not in last_parameter):
        return text, None
    return address, variable


def _endpoint(text: str) -> str:
    address, variable = endpoint_parts(text)
    _address(address)
    if variable is not None:
        _variable(variable)
    return text


NonBlank = Annotated[str, AfterValidator(_not_blank)]
SERVER_NAMES = ("base_url", "azure_endpoint", "api_version")
"""Settings that name a server."""
SERVER_FIELDS = (*SERVER_NAMES, "endpoint", "header")


class ModelSettings(Record):
    """The model, its server and parameters. ``None`` = as in the general settings; unset parameters aren't sent."""

    model: NonBlank | None = None
    base_url: Annotated[str, AfterValidator(_address)] | None = None
    azure_endpoint: Annotated[str, AfterValidator(_azure_address)] | None = None
    api_version: Annotated[str, Field(pattern=r"^[A-Za-z0-9.-]+$")] | None = None
    endpoint: tuple[Annotated[str, AfterValidator(_endpoint)], ...] | None = None
    """Further servers for the model, each as ``URL`` or ``URL=VARIABLE``; the variable holds the key."""
    header: tuple[Annotated[str, AfterValidator(_header)], ...] | None = None
    """Headers, each as ``NAME=VARIABLE``; the environment variable holds the value."""
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = None
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, gt=0)
    seed: int | None = None
    reasoning_effort: NonBlank | None = None
    cache_control: CacheControl | None = None
    """The kind of cache marks to send: Claude's (also through a gateway), or OpenAI's (GPT-5.6 and later)."""

    @property
    def server(self) -> tuple[str | None, str | None, str | None]:
        """What names the server: its address, or the Azure resource with the version of its interface."""
        return self.base_url, self.azure_endpoint, self.api_version

    def overridden(self, settings: Mapping[str, Any]) -> ModelSettings:
        """These settings, overridden by others. If they name another server, this server's fields are dropped."""
        update = dict(settings)
        if "base_url" in update or "azure_endpoint" in update:
            update = {**dict.fromkeys(SERVER_FIELDS), **update}
        return self.model_copy(update=update)

    @field_validator("header", "endpoint", mode="before")
    @classmethod
    def _one_or_more(cls, texts: Any) -> Any:
        return (texts,) if isinstance(texts, str) else texts

    @field_validator("*")
    @classmethod
    def _without_key(cls, value: Any) -> Any:
        """Settings are stored with the run, printed by `mtagent config` and part of signatures."""
        texts = value if isinstance(value, tuple) else (value,)
        for text in texts:
            if not isinstance(text, str):
                continue
            kind_of_key = key_in(text)
            if kind_of_key:
                raise ValueError(f"holds {kind_of_key}; it would be stored: keys are read from the environment only")
        return value


class JudgeSettings(ModelSettings):
    """The model that judges in the gate, and the evaluators that call it; ``None`` = the gate's default."""

    evaluator: str | tuple[str, ...] | None = None

    @field_validator("evaluator")
    @classmethod
    def _one_or_several(cls, evaluator: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if evaluator is None:
            return None
        specs = (evaluator,) if isinstance(evaluator, str) else evaluator
        if not specs or not all(spec.strip() for spec in specs):
            raise ValueError("is empty: name an evaluator, or leave it out")
        return specs[0] if len(specs) == 1 else specs


class Config(ModelSettings):
    """All settings of a run. The tables ``translate``, ``postedit``, ``proofread``, ``judge`` override the model's.

    ``docs/reference/configuration.md`` explains each one.
    """

    # What is done
    source_lang: str | None = None
    target_lang: str | None = None
    preset: Literal["safe", "paper"] = "safe"
    stages: tuple[Stage, ...] | None = None

    # Who finds errors, and which changes are kept
    evaluator: str | None = Field(default=None, min_length=1)
    gate: GateName | None = None
    margin: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    samples: int = Field(default=1, ge=1)
    quorum: int | None = Field(default=None, ge=1)
    cautious: float | None = Field(default=None, gt=0, lt=1)
    ask_all: bool = False
    gate_calls: int = Field(default=12, ge=0)
    proposals: int = Field(default=1, ge=1)
    calibration: Path | None = None
    any_language: bool = False
    comet_python: Path | None = None

    # Which texts are skipped
    triage: str | None = Field(default=None, min_length=1)
    triage_above: float | None = Field(default=None, allow_inf_nan=False)

    # Which models are called, and which MT system
    judge_model: NonBlank | None = None
    judge: JudgeSettings = JudgeSettings()
    translate: ModelSettings = ModelSettings()
    postedit: ModelSettings = ModelSettings()
    proofread: ModelSettings = ModelSettings()
    llm: str | None = None
    translator: str = "llm"

    # How texts are changed
    strategy: Strategy = "located"
    fix: Fix = "offered"
    forced: bool = False
    rules_first: bool | None = None
    stop_when_error_free: bool = True
    on_ambiguous: tuple[OnAmbiguous, ...] = ("skip",)
    skip_guards: tuple[str, ...] = ()
    embeddings: bool = False

    # What prompts are told besides the text
    context: int = Field(default=0, ge=0)
    domain: str | None = None
    glossary: Path | None = None
    keep: Path | None = None
    memory: tuple[Path, ...] = ()
    own_memory: bool = True
    instructions: Path | None = None
    instructions_for: dict[str, Path] = Field(default={})  # by target language
    prompts: Path | None = None

    # How fast, and for how long a server may fail
    concurrency: int = Field(default=16, ge=1)
    requests_per_minute: int | None = Field(default=None, gt=0)
    tokens_per_minute: int | None = Field(default=None, gt=0)
    timeout: float = Field(default=300.0, gt=0)
    deadline: float = Field(default=900.0, gt=0)
    give_up_after: int = Field(default=20, ge=0)

    # What is recorded, and what a run may cost
    store: Path | None = None
    log: Path | None = None
    run: Annotated[str, AfterValidator(_run_name)] | None = None
    limit: int | None = Field(default=None, ge=1)
    prices: Path | None = None
    budget: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    token_budget: int | None = Field(default=None, gt=0)
    _file: Path | None = PrivateAttr(default=None)

    @field_validator("stages", mode="before")
    @classmethod
    def _stages_in_short(cls, stages: Any) -> Any:
        if not isinstance(stages, str | list | tuple):
            return stages
        try:
            return parse_stages(stages if isinstance(stages, str) else ",".join(map(str, stages)))
        except ConfigError as error:
            raise ValueError(str(error)) from None

    @field_validator("instructions_for")
    @classmethod
    def _by_language(cls, files: dict[str, Path]) -> dict[str, Path]:
        by_language: dict[str, Path] = {}
        for written, path in files.items():
            try:
                lang = languages.normalise(written)
            except ConfigError as error:
                raise ValueError(str(error)) from None
            if lang in by_language:
                raise ValueError(f"{lang} has two files, {by_language[lang]} and {path}: keep one")
            by_language[lang] = path
        return by_language

    @field_validator("on_ambiguous", mode="before")
    @classmethod
    def _policies(cls, value: Any) -> Any:
        policies = value.split(",") if isinstance(value, str) else value
        if not isinstance(policies, list | tuple) or not all(isinstance(policy, str) for policy in policies):
            return value  # pydantic refuses it
        policies = [policy.strip() for policy in policies]
        for policy in policies:
            if policy not in get_args(OnAmbiguous):
                raise ValueError(f"no policy {policy!r}; there are: {', '.join(get_args(OnAmbiguous))}")
        if not policies or policies[:-1] not in ([], ["spaced"]):
            raise ValueError("give one policy, or spaced followed by another policy: spaced,first")
        return policies

    @field_serializer("on_ambiguous")
    def _policies_in_short(self, policies: tuple[OnAmbiguous, ...]) -> str:
        return ",".join(policies)

    @property
    def file(self) -> Path | None:
        """The TOML file that the settings were read from; not a setting itself."""
        return self._file

    @property
    def offline(self) -> bool:
        """Whether no model can be called: no server and no model is set, and no key is in the environment."""
        models_and_servers = [
            self.model,
            self.base_url,
            self.azure_endpoint,
            self.endpoint,
            self.llm,
            self.judge_model,
            os.environ.get("OPENAI_BASE_URL"),
        ]
        for role in get_args(Role):
            settings: ModelSettings = getattr(self, role)
            models_and_servers += [settings.model, settings.base_url, settings.azure_endpoint]
        has_key = bool(os.environ.get(self.api_key_env or "OPENAI_API_KEY"))
        return not any(models_and_servers) and not has_key

    def effective(self, *, offline: bool | None = None, translator: bool | None = None) -> Config:
        """This configuration with a value for everything that was left open.

        By default the settings show whether there is no model (``offline``), and whether there is an MT system
        (``translator``). A caller passes these if a user's objects replace models.
        """
        if offline is None:
            offline = self.offline
        if translator is None:
            translator = self.translator != "llm"
        stages: tuple[Stage, ...] = ("translate", "rerank", "postedit", "proofread")
        if offline and translator:
            stages = ("translate", "rerank", "postedit")
        elif offline:
            stages = ("rerank", "postedit")
        defaults: dict[str, Any] = {
            "stages": stages,
            "evaluator": "rules" if offline else "rubric-mqm",
            "gate": self._default_gate(offline),
            "model": None if offline else DEFAULT_MODEL,
        }
        decided = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        stages = self.stages or stages
        if "postedit" in stages and "rules" not in stages and self._has_rules_first(decided):
            place = stages.index("postedit")
            decided["stages"] = (*stages[:place], "rules", *stages[place:])
        if self.gate == "qe":  # the gate rate, with a judge that needs neither a model nor a reference
            judge = self.judge.model_copy(update={"evaluator": self.judge.evaluator or "qe-e5"})
            decided |= {"gate": "rate", "judge": judge}
        return self.model_copy(update=decided)

    def _has_rules_first(self, decided: Mapping[str, Any]) -> bool:
        """Whether the rules correct certain errors before a model is used; by default whenever that does no harm.

        It does harm without guards, in the paper's method, and before annotations of the given texts.
        """
        if self.rules_first is not None:
            return self.rules_first
        evaluator = self.evaluator or decided["evaluator"]
        has_guards = (self.gate or decided["gate"]) != "none"
        reads_annotations = any("spans-file" in spec for spec in (evaluator, *self.judges))
        are_rules_already = evaluator.partition(":")[0] == "rules"
        return has_guards and self.strategy == "located" and not reads_annotations and not are_rules_already

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges that were named, as ``NAME:OPTION=VALUE,…``."""
        if isinstance(self.judge.evaluator, str):
            return (self.judge.evaluator,)
        return self.judge.evaluator or ()

    @property
    def judges_differ(self) -> bool:
        """Whether there are judges of two kinds, all with a shipped weight (:data:`JUDGE_KINDS`)."""
        kinds = {JUDGE_KINDS.get(spec.partition(":")[0]) for spec in self.judges}
        return len(kinds) > 1 and None not in kinds

    def _default_gate(self, offline: bool) -> GateName:
        """The gate that suits the named judges: ``gain`` if they are of two kinds.

        Without judges it is ``pairwise``, or ``guards`` if no model can compare. It is ``rate`` if other settings need
        scores: margin, samples, or a calibration.
        """
        if self.judges:
            names = {spec.partition(":")[0] for spec in self.judges}
            if self.calibration is None and not self.quorum and not self.margin and self.judges_differ:
                return "gain"
            if names == {"spans-file"}:  # it rates only the given texts, not edited ones
                return "guards"
            if names == {"pairwise"}:
                return "pairwise"
            return "panel" if "pairwise" in names else "rate"
        if self.calibration is not None and self.triage is None:  # with triage, it is the calibration of triage
            return "rate"
        if offline:
            return "guards"
        needs_scores = self.margin > 0 or self.samples > 1
        return "rate" if needs_scores else "pairwise"

    def model_for(self, role: Role | None) -> ModelSettings:
        """The settings of the model for ``role``; ``None`` = the general settings, which `mtagent rate` uses.

        By default the judge has the settings of the post-editor.
        """
        general = ModelSettings.model_validate({name: getattr(self, name) for name in ModelSettings.model_fields})
        if role is None:
            return general
        role_settings: ModelSettings = getattr(self, role)
        if role == "judge":
            role_settings = role_settings.model_copy(update={"model": role_settings.model or self.judge_model})
            general = self.model_for("postedit")
        update = role_settings.model_dump(exclude_none=True, include=set(ModelSettings.model_fields))
        return general.overridden(update)

    def for_results(self) -> dict[str, Any]:
        """The settings that results depend on, as plain data, without the content of the calibration."""
        pace = {"concurrency", "requests_per_minute", "tokens_per_minute", "timeout", "deadline", "give_up_after"}
        money = {"prices", "budget", "token_budget"}
        # The stages show whether the rules come first.
        apart = {"store", "log", "run", "limit", "calibration", "any_language", "rules_first", "comet_python"}
        unset = {name for name in ADDED if getattr(self, name) == Config.model_fields[name].default}
        settings = self.model_dump(mode="json", exclude=pace | money | apart | unset, exclude_none=True)
        if self.stages is not None:  # the job adds rerank if there are candidates
            settings["stages"] = [stage for stage in self.stages if stage != "rerank"]
        for table in (settings, *(settings.get(role, {}) for role in get_args(Role))):
            table.pop("endpoint", None)  # its replies count as those of base_url
        if self.context:  # sets such runs apart from earlier versions, which showed only sources
            settings["context"] = f"{self.context} with translations"
        return {name: value for name, value in settings.items() if value != {}}


class Settings(TypedDict, total=False):
    """The settings of :class:`Config` as :class:`mtagent.Agent` takes them, for type checkers and editors."""

    preset: Literal["safe", "paper"]
    stages: str | Sequence[str] | None
    margin: float
    samples: int
    quorum: int | None
    cautious: float | None
    ask_all: bool
    gate_calls: int
    proposals: int
    calibration: str | Path | None
    any_language: bool
    comet_python: str | Path | None
    triage_above: float | None
    rules_first: bool | None
    judge_model: str | None
    translate: Mapping[str, Any] | ModelSettings
    postedit: Mapping[str, Any] | ModelSettings
    proofread: Mapping[str, Any] | ModelSettings
    strategy: Strategy
    fix: Fix
    forced: bool
    stop_when_error_free: bool
    on_ambiguous: str | Sequence[OnAmbiguous]
    skip_guards: Sequence[str]
    embeddings: bool
    context: int
    domain: str | None
    instructions: str | Path | None
    instructions_for: Mapping[str, str | Path]
    prompts: str | Path | None
    memory: Sequence[str | Path]
    model: str | None
    base_url: str | None
    azure_endpoint: str | None
    api_version: str | None
    endpoint: str | Sequence[str] | None
    header: str | Sequence[str] | None
    cache_control: CacheControl | None
    api_key_env: str | None
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    seed: int | None
    reasoning_effort: str | None
    concurrency: int
    requests_per_minute: int | None
    tokens_per_minute: int | None
    timeout: float
    deadline: float
    store: str | Path | None
    log: str | Path | None
    prices: str | Path | None
    budget: float | None
    token_budget: int | None


ADDED = (
    "samples", "ask_all", "gate_calls", "proposals", "embeddings", "instructions_for", "memory", "own_memory",
)  # fmt: skip
"""Settings that were added later: their defaults are not stored with a run, so that earlier runs keep their names."""

PRESETS: dict[str, dict[str, Any]] = {
    "safe": {},
    # Multi-agentMT §2.3 (forced corrections, Algorithm 1), §4 (temperature 0) and §3.1 (1,024 tokens); no check at all
    "paper": {
        "gate": "none",
        "strategy": "paper",
        "forced": True,
        "rules_first": False,
        "stop_when_error_free": False,
        "temperature": 0.0,
        "max_tokens": 1024,
    },
}


PATHS = ("glossary", "keep", "instructions", "prompts", "store", "log", "prices", "calibration", "comet_python")
"""Settings that name a file or a folder; in a file with settings, relative to that file."""


@dataclass(frozen=True)
class SettingsFile:
    """A TOML file with settings. Its bytes are read once, so that what is checked is what is used."""

    path: Path
    content: bytes

    @classmethod
    def read(cls, path: Path) -> SettingsFile:
        """The file at ``path``. Raises :class:`ConfigError` if it cannot be read."""
        refuse_pipe(path, "the settings file")
        try:
            return cls(path, path.read_bytes())
        except OSError as error:
            raise ConfigError(f"{path}: {reason_of(error)}") from None

    @property
    def folder(self) -> Path:
        """The folder that relative paths in the file start from."""
        return self.path.parent

    def text(self) -> str:
        """The content as text; each line ends with a line feed, as in any text file. Raises :class:`ConfigError`."""
        try:
            return self.content.decode().replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError:
            raise ConfigError(f"{self.path}: is not UTF-8; save it in that encoding") from None

    def written(self) -> dict[str, Any]:
        """The settings as they are written. Raises :class:`ConfigError` for a file that is not TOML."""
        try:
            return tomllib.loads(self.text())
        except tomllib.TOMLDecodeError as error:
            reason = f"{str(error)[:1].lower()}{str(error)[1:]}"
            raise ConfigError(
                f"{self.path}: is not valid TOML: {reason}; a setting is NAME = VALUE, with texts in quotes"
            ) from None
        except RecursionError:
            raise ConfigError(f"{self.path}: its lists or tables are nested too deeply") from None

    def settings(self) -> dict[str, Any]:
        """The settings, with paths that start from the working folder. Raises :class:`ConfigError`."""
        settings = self.written()
        for name in PATHS:
            if isinstance(settings.get(name), str):
                settings[name] = self.folder / Path(settings[name]).expanduser()
                if name == "comet_python":  # a bare name would be searched for in PATH
                    settings[name] = settings[name].absolute()
        by_language = settings.get("instructions_for")
        if isinstance(by_language, dict):
            for lang, path in by_language.items():
                if isinstance(path, str):
                    by_language[lang] = self.folder / Path(path).expanduser()
        if isinstance(settings.get("memory"), list):
            settings["memory"] = [self.folder / Path(path).expanduser() for path in settings["memory"]]
        return settings


def load(
    file: Path | SettingsFile | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    arguments: Collection[str] = (),
) -> Config:
    """The configuration from ``overrides``, then the TOML file, then the preset, then the defaults.

    ``arguments`` are names of the caller's other arguments, to suggest for an unknown setting. Raises
    :class:`ConfigError`, which names the file and the setting.
    """
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    if isinstance(file, Path):
        file = SettingsFile.read(file)
    path = None if file is None else file.path
    data = {} if file is None else file.settings()
    if "judge_model" in given:  # it overrides the table in the file, like every option
        given["judge"] = {"model": given["judge_model"], **given.get("judge", {})}
    if ("base_url" in given or "azure_endpoint" in given) and "endpoint" not in given:
        data.pop("endpoint", None)  # it adds servers to another one
    names_local = str(given.get("llm", "")).startswith("local")
    if names_local:  # a local model given now overrides a server in the file, and the reverse
        for name in (*SERVER_NAMES, "endpoint"):
            if name not in given:
                data.pop(name, None)
    elif ("base_url" in given or "azure_endpoint" in given) and "llm" not in given:
        data.pop("llm", None)
    preset = given.get("preset", data.get("preset", "safe"))
    settings = _merged(PRESETS.get(str(preset), {}), data, given)
    try:
        config = Config.model_validate(settings)
        config._file = path
    except ValidationError as error:
        raise ConfigError(_explain(error, path, data, given, arguments)) from None
    if config.llm not in (None, "openai"):
        for name in SERVER_NAMES:
            if getattr(config, name):
                raise ConfigError(
                    f"llm: {config.llm} is set beside {name}, whose server would be called instead: leave one of the "
                    "two out"
                )
    _refuse_unfit_gate(config)
    _refuse_unpublished(config)
    if config.calibration is not None:
        refuse_pipe(config.calibration, "calibration")
    if config.instructions is not None:
        refuse_pipe(config.instructions, "instructions")
    for lang, path in config.instructions_for.items():
        refuse_pipe(path, f"instructions_for.{lang}")
    if config.prompts is not None:
        # Without an error, mtagent's prompts would be used instead of the user's.
        if not config.prompts.is_dir():
            what = "is a file; name its folder" if config.prompts.exists() else "no such folder"
            raise ConfigError(f"prompts {config.prompts}: {what}")
        if not any(config.prompts.glob("*.toml")):
            raise ConfigError(f"prompts {config.prompts}: has no prompts; a prompt is a file NAME.toml")
    if config.source_lang is not None and config.source_lang == config.target_lang:
        raise ConfigError(f"source and target language are both {config.source_lang}")
    return config


def _refuse_unfit_gate(config: Config) -> None:
    """Raise :class:`ConfigError` if the gate, its judges and its settings do not go together."""
    for spec in config.judges:
        if config.judges.count(spec) > 1:
            raise ConfigError(
                f"judge: {spec} is named twice and would give the same ratings: use samples for more ratings"
            )
    compares = [spec.partition(":")[0] == "pairwise" for spec in config.judges]
    has_no_judge = config.gate in ("none", "guards")
    compares_in_rating_gate = config.gate in ("rate", "qe") and any(compares)
    rates_in_comparing_gate = config.gate == "pairwise" and not all(compares)
    if config.judges and (has_no_judge or compares_in_rating_gate or rates_in_comparing_gate):
        raise ConfigError(
            f"the judge {' and '.join(config.judges)} has no effect with the gate {config.gate}: leave gate out, so "
            "that the judges decide"
        )
    if has_no_judge and (config.samples > 1 or config.margin):
        name = "samples" if config.samples > 1 else "margin"
        raise ConfigError(f"{name}: concerns judges' scores, but the gate {config.gate} calls no judge: leave gate out")
    if config.gate == "pairwise" or (config.judges and all(compares)):
        for name, is_set in (("margin", config.margin > 0), ("samples", config.samples > 1)):
            if is_set:
                raise ConfigError(
                    f"{name}: concerns scores, but comparisons have none: name a judge that rates, or set gate=rate"
                )
    if config.gate == "gain" and config.margin:
        raise ConfigError("margin: the gate gain decides by an expected gain: leave margin or gate out")
    if config.quorum and config.gate not in (None, "panel", "rate", "pairwise"):
        raise ConfigError(f"quorum: the gate {config.gate} does not count judges' votes: leave quorum or gate out")
    if config.cautious and config.calibration is None:
        raise ConfigError("cautious: only a calibrated gate knows the chance that an edit is worse: set calibration")
    if config.any_language and config.calibration is None:
        raise ConfigError("any_language: needs a calibration: set calibration")
    if config.calibration is not None and config.margin:
        raise ConfigError(
            f"margin: {config.margin:g} is set beside the calibration {config.calibration}: give one of the two"
        )


def _refuse_unpublished(config: Config) -> None:
    """Raise :class:`ConfigError` for a setting that has no effect because the papers' requests do not show it."""
    if config.preset == "paper" and config.context:
        raise ConfigError(
            f"context: is {config.context}, but like the papers the preset paper shows no neighbouring segments: leave "
            "context or preset=paper out"
        )
    if config.preset == "paper" and config.memory:
        raise ConfigError(
            f"memory: {config.memory[0]} has no effect, because like the papers the preset paper uses no translation "
            "memory: leave memory or preset=paper out"
        )
    for name in ("glossary", "keep"):
        path = getattr(config, name)
        if path is not None:
            refuse_idle_terms(config, name, str(path))


def refuse_idle_terms(config: Config, name: str, terms: str) -> None:
    """Raise :class:`ConfigError` if ``terms``, given as the setting ``name``, would neither be shown nor checked.

    The preset ``paper`` shows no terms. The guards check them if there is a gate, and the rules if they run.
    """
    evaluator = (config.evaluator or "").partition(":")[0]
    are_checked = config.gate != "none" or config.rules_first or evaluator == "rules"
    if config.preset == "paper" and not are_checked:
        raise ConfigError(
            f"{name}: {terms} has no effect: the preset paper shows no terms, like the papers, and the gate none "
            f"checks no terms; leave {name} out, or have the guards check its terms with gate=guards"
        )


def _merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of all ``layers``. Later layers override earlier ones, in tables setting by setting."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            former = merged.get(name)
            if isinstance(former, Mapping) and isinstance(value, Mapping):
                value = {**former, **value}
            merged[name] = value
    return merged


def parse_stages(spec: str) -> tuple[Stage, ...]:
    """``tpp``, ``tp``, ``t-pr``, ``pe``, ``postedit,proofread`` … as stages, each at most once and in order."""
    stages: list[Stage] = []
    for word in re.split(r"[\s,+>-]+", spec.strip().lower()):
        if word not in _STAGES:
            raise ConfigError(
                f"no stage {word!r} in {spec!r}; write for example tpp, tp, t-pr, pe or postedit,proofread"
            )
        stages += _STAGES[word]
    if stages != sorted(set(stages), key=get_args(Stage).index):
        raise ConfigError(f"stages {spec!r}: each at most once, in the order translate, rerank, postedit, proofread")
    return tuple(stages)


def _explain(
    error: ValidationError,
    path: Path | None,
    data: Mapping[str, Any],
    given: Mapping[str, Any],
    arguments: Collection[str],
) -> str:
    """What is wrong with the first wrong setting, and the file if it is from there.

    ``arguments`` are further names to suggest for an unknown setting.
    """
    first = error.errors()[0]
    name = ""
    for part in first["loc"]:
        if isinstance(part, int):
            name += f" {part + 1}"  # header 2: the second one
        else:
            name += f".{part}" if name else str(part)
    top = str(first["loc"][0])
    where = f"{path}: " if path and top in data and top not in given else ""
    if first["type"] == "extra_forbidden":
        table: type[Record] = Config
        if len(first["loc"]) > 1:
            table = JudgeSettings if top == "judge" else ModelSettings
        names = [*table.model_fields]
        if len(first["loc"]) == 1:
            names += arguments
        near = get_close_matches(str(first["loc"][-1]), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`mtagent config` lists the settings"
        if name == "batch":
            hint = "only the commands translate, postedit and rate have --batch: others answer at once"
        return f"{where}unknown setting {name!r}; {hint}"
    if first["type"] == "value_error" or first["loc"][-1] in _NOT_SHOWN or key_in(str(first["input"])):
        return f"{where}{name}: {first['msg'].removeprefix('Value error, ')}"
    return f"{where}{name}: {first['msg'].lower()} (got {masked(repr(first['input']))})"
