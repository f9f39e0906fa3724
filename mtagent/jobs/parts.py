"""From a configuration to the working parts: models, translator, evaluator, proofreader, gate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from pydantic import ValidationError

from mtagent.chain import guards
from mtagent.chain.calibration import read
from mtagent.chain.chain import Plan
from mtagent.chain.correct import Corrector
from mtagent.chain.gate import (
    Gate,
    Judge,
    OpenGate,
    PairwiseJudge,
    PanelGate,
    RatingJudge,
    Threshold,
    calibrated,
)
from mtagent.chain.proofread import Proofreader
from mtagent.config import DEFAULT_MODEL, Config, ModelSettings, Role, parse_spec, unforced
from mtagent.errors import ConfigError
from mtagent.evaluators.pairwise import Pairwise
from mtagent.evaluators.protocol import Evaluator, checked_evaluator, signature_of, suggests_edits
from mtagent.evaluators.registry import PAIRWISE, Surroundings, asks_model, make_evaluator, make_pairwise, may_ask_model
from mtagent.llm.budget import Budget, Budgeted
from mtagent.llm.cache import Redrawn
from mtagent.llm.prices import Prices
from mtagent.llm.prompts import Instructed, read_instructions
from mtagent.llm.protocol import LLM, KeyedLLM
from mtagent.records import same_rater
from mtagent.store.store import Store, default_path
from mtagent.translators import CallableTranslator, check_spec, wrap
from mtagent.translators.llm import LLMTranslator
from mtagent.translators.protocol import Translator

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from mtagent.llm.limits import Limiter
    from mtagent.llm.request import LearntParameters
    from mtagent.llm.server import LocalServer
    from mtagent.metrics.qe_e5 import E5


def budget_of(config: Config) -> Budget | None:
    """The budget that ``config`` sets; ``None`` for none."""
    return Budget(config.budget, config.token_budget) if config.budget or config.token_budget else None


def within(budget: Budget | None) -> Callable[[LLM], LLM]:
    """Something that puts ``budget`` around each model that it gets."""
    return lambda llm: Budgeted(llm, budget) if budget else llm


def instructed(llm: LLM, config: Config) -> LLM:
    """``llm``, shown the instructions that ``config`` names with each request. Raises :class:`InputError`."""
    return Instructed(llm, read_instructions(config.instructions)) if config.instructions else llm


WrapLLM = Callable[[LLM], LLM]


@dataclass(frozen=True)
class OwnParts:
    """Objects to use in place of what the configuration names. Anything with the right methods will do.

    ``llm`` stands for the model of the general settings, ``llms`` for that of a role. ``api_key``, ``headers`` and
    ``http_client`` are for the servers of the others. None of these objects is closed.

    Raises :class:`ConfigError` for objects that cannot take the part.
    """

    translator: object | None = None
    evaluator: Evaluator | None = None
    judge: Evaluator | None = None
    triage: Evaluator | None = None
    gate: Gate | None = None
    llm: LLM | None = None
    llms: Mapping[Role, LLM] = field(default_factory=dict)
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    http_client: ClientSession | None = None

    def __post_init__(self) -> None:
        for evaluator in (self.evaluator, self.judge, self.triage):
            if evaluator is not None:
                checked_evaluator(evaluator)
        gate: Any = self.gate
        if gate is not None and not (isinstance(getattr(gate, "name", None), str) and callable(_of(gate, "decide"))):
            raise ConfigError(
                f"{gate!r:.80} is no gate: a gate is an object with `name`, a text, and `async def decide`"
            )
        for role, llm in (("llm", self.llm), *self.llms.items()):
            if role not in ("llm", *get_args(Role)):
                raise ConfigError(f"llms: no role {role!r}; there are: {', '.join(get_args(Role))}")
            if llm is not None and not (isinstance(llm, LLM) and callable(llm.complete)):
                raise ConfigError(
                    f"{role}: {llm!r:.80} is no model: a model has `model`, its name, and `async def complete`"
                )
        if self.api_key is not None and not (isinstance(self.api_key, str) and self.api_key.strip()):
            raise ConfigError("api_key: must be a text that is not empty")  # which is not shown
        for name, value in self.headers.items():
            if not isinstance(name, str) or not isinstance(value, str) or not f"{name}{value}".isprintable():
                raise ConfigError(f"headers: {name!r}: a header is a name and a text, each in one line")
        if self.http_client is not None and not callable(_of(self.http_client, "post")):
            raise ConfigError(f"http_client: {self.http_client!r:.80} is no aiohttp.ClientSession")


def _of(thing: object, method: str) -> object:
    return None if isinstance(thing, type) else getattr(thing, method, None)


def effective(config: Config, own: OwnParts) -> Config:
    """``config`` with everything decided that was left open; an object of the user's ``own`` may stand for a model."""
    translator = own.translator is not None or config.translator != "llm"
    if config.gate is None and config.calibration is not None and read(config.calibration).gain is not None:
        config = config.model_copy(update={"gate": "gain"})
    elif config.gate is None and own.judge is not None:
        config = config.model_copy(update={"gate": "rate"})
    if own.evaluator is not None and config.rules_first is None:  # it may know the given texts only
        config = config.model_copy(update={"rules_first": False})
    has_model = own.llm is not None or bool(own.llms) or own.api_key is not None or own.http_client is not None
    return config.effective(offline=config.offline and not has_model, translator=translator)


def settings_for_results(config: Config) -> dict[str, Any]:
    """The settings that results depend on, as plain data: what a resumed run must agree with.

    ``calibrated`` holds what the calibration says, wherever its file lies, and ``embeddings`` whose they are. Raises
    :class:`ConfigError`.
    """
    more: dict[str, Any] = {"calibrated": read(config.calibration).settings()} if config.calibration else {}
    if config.embeddings:
        more["embeddings"] = _embeddings().signature
    return config.for_results() | more


def installed(config: Config) -> dict[str, str]:
    """What results depend on beside the settings: the language identifier of the guard ``language``, if it is there.

    It is stored with a run and compared, but is no part of the run's name.
    """
    if config.gate == "none" or "language" in config.skip_guards:
        return {}
    there = find_spec("py3langid") is not None
    return {"language identifier (extra languages)": f"py3langid {version('py3langid')}" if there else "none"}


def _known_guards(names: Sequence[str]) -> frozenset[str]:
    """The guards of these ``names``. Raises :class:`ConfigError` for a name that no guard has."""
    for name in names:
        if name not in guards.GUARDS:
            raise ConfigError(f"skip_guards: no guard {name!r}; there are: {', '.join(guards.GUARDS)}")
    return frozenset(names)


def _embeddings() -> E5:
    from mtagent.metrics.qe_e5 import E5

    return E5("embeddings")


@asynccontextmanager
async def assembled(
    config: Config,
    own: OwnParts = OwnParts(),
    *,
    wrap_llm: WrapLLM | None = None,
    store: Store | None = None,
    translates: bool = True,
) -> AsyncIterator[Plan]:
    """The plan that ``config`` describes; everything it opened is closed at the end, and ``store`` with it.

    ``wrap_llm`` puts something around each model, such as the call cache; by default, the budget of ``config``.
    ``translates``: whether any segment needs a translation. Where none does, no code of an MT system is loaded.
    """
    config = effective(config, own)
    async with AsyncExitStack() as stack:
        if store is not None:
            stack.enter_context(store)
        models = _Models(config, own, stack, wrap_llm)
        yield _plan(config, own, models, stack, translates=translates)


class CheckedPlan(NamedTuple):
    """A plan that can be assembled, which roles ask a model in it, and whether requests go to a server at all."""

    plan: Plan
    config: Config
    roles: frozenset[Role]
    asks_server: bool


def checked_plan(config: Config, own: OwnParts) -> CheckedPlan:
    """The plan that would be assembled, without opening anything; no key is needed yet.

    Raises what :func:`assembled` would raise, but for what shows only when a server or another's code is called.
    """
    config = effective(config, own)
    models = _Models(config, own, None, None)
    plan = _plan(config, own, models, None)
    return CheckedPlan(plan, config, frozenset(models.roles), models.asks_server)


def _plan(
    config: Config, own: OwnParts, models: _Models, stack: AsyncExitStack | None, *, translates: bool = True
) -> Plan:
    stages = config.stages or ()
    evaluator = own.evaluator or (
        _evaluator(config, config.evaluator or "rules", models, config.model_for("postedit"), role="postedit")
        if "postedit" in stages
        else None
    )
    gate = own.gate or _gate(config, own, models)
    triage = own.triage or _triage(config, own, models, evaluator)
    thresholds: tuple[Threshold, ...] = ()
    if config.calibration is not None:
        gate, thresholds = calibrated(config.calibration, gate, evaluator, triage=triage, cautious=config.cautious)
    if own.gate is None:
        _refuse_other_rule(config, gate)
    proposers: list[Evaluator] = []
    if evaluator is not None:
        spec, settings = config.evaluator or "rules", config.model_for("postedit")
        proposers = [
            own.evaluator or _evaluator(config, spec, models, settings, f"proposal-{draw}", "postedit", drawn=True)
            for draw in range(2, config.proposals + 1)
        ]
    # Evaluators of mtagent that suggest edits suggest all that they want.
    fixes = evaluator is not None and (own.evaluator is not None or not suggests_edits(evaluator))
    proofreader = None
    if "proofread" in stages:
        llm = _needed(models.get("proofread"), "the proofread stage")
        proofreader = Proofreader(llm, strategy=config.strategy, prompts_folder=config.prompts)
    return Plan(
        stages=stages,
        translator=_translator(config, own, models, stack, translates=translates) if "translate" in stages else None,
        evaluator=evaluator,
        corrector=Corrector(
            models.get("postedit") if fixes else None,
            strategy=config.strategy,
            on_ambiguous=config.on_ambiguous,
            fix=config.fix,
            prompts_folder=config.prompts,
        ),
        proofreader=proofreader,
        gate=gate,
        thresholds=thresholds,
        triage=_triage_threshold(config, triage, thresholds),
        skip_guards=_known_guards(config.skip_guards),
        own_guards={"length": guards.Length(_embeddings().nearest)} if config.embeddings else None,
        stop_when_error_free=config.stop_when_error_free,
        gate_calls=config.gate_calls,
        proposers=tuple(proposers),
        published=config.preset == "paper",
    )


@asynccontextmanager
async def assembled_evaluator(
    config: Config, own: OwnParts = OwnParts(), *, wrap_llm: WrapLLM | None = None
) -> AsyncIterator[Evaluator]:
    """The evaluator that ``config`` names, alone, asking the model of the general settings; closed at the end.

    ``forced`` belongs to the post-editor: a rating may find nothing, unless the evaluator's own option says otherwise.
    """
    config = effective(config, own).model_copy(update={"forced": False})
    async with AsyncExitStack() as stack:
        models = _Models(config, own, stack, wrap_llm)
        yield own.evaluator or _evaluator(config, config.evaluator or "rules", models, config.model_for(None))


class _Models:
    """One client for each set of settings, one limit for each server; ``None`` for every role where no model is.

    ``roles`` are those that a model was wanted for. Without a ``stack`` that closes it at the end, nothing is opened.
    """

    def __init__(self, config: Config, own: OwnParts, stack: AsyncExitStack | None, wrap_llm: WrapLLM | None) -> None:
        self.roles = set[Role]()
        self._config, self._own, self._stack = config, own, stack
        self._wrap = wrap_llm or within(budget_of(config))
        self._clients: dict[ModelSettings, LLM] = {}
        self._made: dict[tuple[int, ModelSettings, str], LLM] = {}
        self._limiters: dict[str | None, Limiter] = {}
        self._learnt: dict[tuple[str, str | None], LearntParameters] = {}
        self._local: LocalServer | None = None
        self._prices = Prices(config.prices)

    def get(self, role: Role | None) -> LLM | None:
        """The model that plays ``role``; ``None`` = the one of the general settings."""
        return self.asked(self._config.model_for(role), role=role)

    @property
    def asks_server(self) -> bool:
        """Whether requests go to a server, and not to objects of the user's alone."""
        return bool(self._clients)

    def asked(self, settings: ModelSettings, draw: str = "", *, role: Role | None = None) -> LLM | None:
        """The model of ``settings``. What it says in one ``draw`` is not recalled in another.

        The user's own object stands for it where it is the model that ``role`` would ask.
        """
        self.roles.add(role or "judge")  # triage is asked like a judge
        if self._config.model is None and settings.model is None and settings.base_url is None:
            return None  # an effective configuration names one, unless there is none to ask
        own = self._own.llm if _same_model(settings, self._config.model_for(None)) else None
        if role is not None and role in self._own.llms and _same_model(settings, self._config.model_for(role)):
            own = self._own.llms[role]
        if own is None and settings not in self._clients:
            self._clients[settings] = self._client(settings)
        client = own or self._clients[settings]
        key = (id(client), settings, draw)
        if key not in self._made:
            drawn = Redrawn(client, draw) if draw and isinstance(client, KeyedLLM) else client
            self._made[key] = instructed(self._wrap(drawn), self._config)
        return self._made[key]

    def _client(self, settings: ModelSettings) -> LLM:
        from mtagent.llm.client import OpenAIClient
        from mtagent.llm.limits import Limiter
        from mtagent.llm.protocol import Sampling
        from mtagent.llm.request import LearntParameters

        sampling = {name: getattr(settings, name) for name in Sampling.model_fields if name != "extra"}
        local = None if settings.base_url else self._local_server()
        base_url = local.base_url if local else settings.base_url
        if base_url not in self._limiters:
            self._limiters[base_url] = Limiter(
                self._config.concurrency,
                requests_per_minute=self._config.requests_per_minute,
                tokens_per_minute=self._config.tokens_per_minute,
            )
        model = local.model if local else settings.model or DEFAULT_MODEL
        leave_out = () if local is None or local.tools else ("tools",)
        client = OpenAIClient(
            model,
            base_url=base_url,
            api_key_env=settings.api_key_env or "OPENAI_API_KEY",
            sampling=Sampling(**sampling),
            deadline=self._config.deadline,
            timeout=self._config.timeout,
            limiter=self._limiters[base_url],
            learnt=self._learnt.setdefault((model, base_url), LearntParameters(model, leave_out)),
            known_as=local.name if local else None,
            price=self._prices,
            api_key=self._own.api_key,
            headers=self._own.headers,
            http_client=self._own.http_client,
            transport=None if self._stack is not None else _UNOPENED,
        )
        if self._stack is not None:
            self._stack.push_async_callback(client.aclose)
        return client

    def _local_server(self) -> LocalServer | None:
        """The server in this process, if the configuration asks for one; started once."""
        if self._config.llm in (None, "openai"):
            return None
        from mtagent.llm.server import LocalServer

        name, _, path = str(self._config.llm).partition(":")
        if name != "local":
            raise ConfigError(f"no llm {self._config.llm!r}; write local or local:/path/to/model.gguf")
        if self._local is None:
            local = LocalServer(path or None)
            self._local = local if self._stack is None else self._stack.enter_context(local)
        return self._local


_UNOPENED: Any = object()
"""The transport of clients that are never asked."""


def _translator(
    config: Config, own: OwnParts, models: _Models, stack: AsyncExitStack | None, *, translates: bool
) -> Translator | None:
    if own.translator is None and config.translator == "llm":
        llm = models.get("translate")
        if llm is None:
            return None
        return LLMTranslator(llm, with_neighbours=config.preset != "paper", prompts_folder=config.prompts)
    if own.translator is None and (stack is None or not translates):
        check_spec(config.translator)
        return CallableTranslator(str, name="never called")
    translator = wrap(own.translator or config.translator)
    if stack is not None and own.translator is None and (close := getattr(translator, "aclose", None)):
        stack.push_async_callback(close)
    return translator


def _gate(config: Config, own: OwnParts, models: _Models) -> Gate:
    gate = config.gate or "guards"
    if gate in ("none", "guards"):
        return OpenGate(gate)
    own_judge = own.judge or (own.evaluator if gate == "rate" and not config.judges else None)
    if own_judge is not None:
        judges: tuple[Judge, ...] = (RatingJudge(own_judge),)
    else:
        judges = _judges(config, models)
    return PanelGate(*judges, margin=config.margin, quorum=config.quorum)


def _refuse_other_rule(config: Config, gate: Gate) -> None:
    """Raise :class:`ConfigError` where the gate that is named goes by another rule than the calibration."""
    by_gain = isinstance(gate, PanelGate) and gate.gain is not None
    if by_gain and config.gate != "gain":
        raise ConfigError(
            f"{config.calibration}: decides by an expected gain, and the gate is {config.gate}: leave gate out"
        )
    if config.gate == "gain" and not by_gain:
        raise ConfigError(
            "the gate gain goes by an expected gain: set calibration to a file that `mtagent gate calibrate` makes "
            "of these judges' scores of edits"
        )


def _judges(config: Config, models: _Models) -> tuple[Judge, ...]:
    """The judges that ``config`` names, each as it was calibrated if it was.

    Raises :class:`ConfigError` where two, spelt otherwise, would say the same.
    """
    calibrated = read(config.calibration).signatures if config.calibration else ()
    judges: list[Judge] = []
    for spec in judge_specs(config):
        usual = _judge(config, spec, models)
        ways = (usual, *(_judge(config, spec, models, drawn=drawn) for drawn in (False, True) if calibrated))
        fitting = (judge for judge in ways if any(same_rater(judge.signature, known) for known in calibrated))
        judge = next(fitting, usual)
        if any(same_rater(judge.signature, other.signature) for other in judges):
            raise ConfigError(f"judge: {spec} is named twice")
        judges.append(judge)
    return tuple(judges)


def _judge(config: Config, spec: str, models: _Models, who: str = "judge", drawn: bool | None = None) -> Judge:
    """The judge that ``spec`` names: an evaluator, as many times as samples are wanted of it, or ``pairwise``.

    Settings of the model among its options (``model``, ``base_url`` …) are its own. What it says as ``who`` is not
    recalled in another role.
    """
    name, settings, spec = judge_settings(config, spec, who=who, drawn=drawn)
    if name == PAIRWISE:
        llm = _needed(
            models.asked(settings, "" if who == "judge" else who, role="judge" if who == "judge" else None),
            "the pairwise gate" if who == "judge" else f"the {who} pairwise",
        )
        return PairwiseJudge(named_pairwise(config, spec, llm))
    free = config.model_copy(update={"forced": False})
    draws = config.samples if asks_model(name) else 1
    role: Role | None = "judge" if who == "judge" else None
    return RatingJudge(*(_evaluator(free, spec, models, settings, f"{who}-{draw + 1}", role) for draw in range(draws)))


class Panel(NamedTuple):
    """The judges of a gate that is to be calibrated, and the teacher that says what is better, if there is one."""

    judges: tuple[Judge, ...]
    teacher: Judge | None = None


@asynccontextmanager
async def assembled_panel(
    config: Config, teacher: str | None, own: OwnParts = OwnParts(), *, wrap_llm: WrapLLM | None = None
) -> AsyncIterator[Panel]:
    """The judges that ``config`` names, asked as in the gate, and a ``teacher``; closed at the end.

    The teacher is asked once for each text. Raises :class:`ConfigError` for one that is among the judges, and for a
    judge that is named twice.
    """
    config = effective(config, own)
    async with AsyncExitStack() as stack:
        models = _Models(config, own, stack, wrap_llm)
        judges = _judges(config, models)
        panel = Panel(judges)
        if teacher is not None:
            panel = Panel(judges, _judge(config.model_copy(update={"samples": 1}), teacher, models, "teacher"))
        for judge in judges:
            if panel.teacher is not None and same_rater(judge.signature, panel.teacher.signature):
                raise ConfigError(
                    f"teacher: {teacher} is one of the judges and would confirm itself: name a stronger model"
                )
        yield panel


def _triage(config: Config, own: OwnParts, models: _Models, editor: Evaluator | None) -> Evaluator | None:
    """Who says which texts are left alone: the post-editor's own evaluator, if it would be asked alike."""
    if config.triage is None:
        return None
    name, settings, spec = judge_settings(config, config.triage, who="triage")
    as_editor = (name, settings, spec) == rater_settings(config.evaluator or "rules", config.model_for("postedit"))
    if editor is not None and own.evaluator is None and not config.forced and as_editor:
        return editor
    return _evaluator(config.model_copy(update={"forced": False}), spec, models, settings)


def _triage_threshold(config: Config, triage: Evaluator | None, calibrated: tuple[Threshold, ...]) -> Threshold | None:
    """From which score on triage leaves a text alone. Raises :class:`ConfigError` where nothing says so."""
    if triage is None:
        if config.triage_above is not None:
            raise ConfigError(f"triage_above: {config.triage_above:g} is a score of no evaluator: set triage")
        return None
    if config.triage_above is not None:
        return Threshold(triage, config.triage_above)
    if own := next((threshold for threshold in calibrated if threshold.evaluator is triage), None):
        return own
    if config.calibration is None:
        why = "nothing says from which score on a text is left alone"
    else:
        why = f"{config.calibration} has no threshold for {signature_of(triage)}"
    raise ConfigError(
        f"triage {triage.name}: {why}: set triage_above, or set calibration to a file from "
        "`mtagent gate calibrate` of its scores and what people call error-free"
    )


DRAWN_AT = 1.0
"""The temperature at which the same is asked again, for an answer of its own, where no other is set."""


def rater_settings(
    spec: str, settings: ModelSettings, *, who: str = "evaluator", drawn: bool = False
) -> tuple[str, ModelSettings, str]:
    """An evaluator's or a judge's name, the settings of its model, and ``spec`` without them.

    ``settings`` are those of its role; those among its options go before them. Where none of them sets a temperature,
    it is 0, and for one of several ``drawn`` answers :data:`DRAWN_AT`. Raises :class:`ConfigError`, which says ``who``
    it is about.
    """
    name, options = parse_spec(spec)
    if not asks_model(name):
        return name, settings, spec
    own = {key: options.pop(key) for key in ModelSettings.model_fields if key in options}
    try:
        settings = settings.model_copy(update=ModelSettings.model_validate(own).model_dump(exclude_unset=True))
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{who} {name}: {first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}") from None
    if settings.temperature is None:
        settings = settings.model_copy(update={"temperature": DRAWN_AT if drawn else 0.0})
    rest = ",".join(f"{key}={value}" for key, value in options.items())
    return name, settings, f"{name}:{rest}" if rest else name


def judge_settings(
    config: Config, spec: str, *, who: str = "judge", drawn: bool | None = None
) -> tuple[str, ModelSettings, str]:
    """The same for a judge; ``who`` may be a teacher or triage.

    Unless it is said, a judge's answers are drawn where there are several ``samples``, and where they would repeat the
    editor's: at temperature 0 the same evaluator and model would give the very rating that caused the edit.
    """
    settings = config.model_for("judge")
    if who != "judge" or spec.partition(":")[0] == PAIRWISE:
        return rater_settings(spec, settings, who=who)
    if drawn is None and "postedit" in (config.stages or ()) and config.gate in ("rate", "panel"):
        judge, its_settings, _ = rater_settings(spec, settings, who=who)
        editor, editors_settings, _ = rater_settings(config.evaluator or "rules", config.model_for("postedit"))
        drawn = judge == editor and _same_model(its_settings, editors_settings)
    return rater_settings(spec, settings, who=who, drawn=bool(drawn) or config.samples > 1)


def judge_specs(config: Config) -> tuple[str, ...]:
    """The judges by name: those of the configuration, else the one that goes with its gate."""
    usual = PAIRWISE if config.gate in ("pairwise", "panel") else unforced(config.evaluator or "rules")
    return config.judges or (usual,)


def judges_by_the_editor(config: Config) -> str | None:
    """The model that judges its own edits, if one does."""
    if "postedit" not in (config.stages or ()) or config.gate in (None, "none", "guards") or config.model is None:
        return None
    editor = config.model_for("postedit")
    for spec in judge_specs(config):
        name, settings, _ = judge_settings(config, spec)
        if asks_model(name) and (settings.model, settings.base_url) == (editor.model, editor.base_url):
            return settings.model
    return None


def _evaluator(
    config: Config,
    spec: str,
    models: _Models,
    settings: ModelSettings,
    draw: str = "",
    role: Role | None = None,
    *,
    drawn: bool = False,
) -> Evaluator:
    """The evaluator that ``spec`` names, asking the model of ``settings``; it may be one of several ``drawn``.

    Raises :class:`ConfigError`.
    """
    _, settings, spec = rater_settings(spec, settings, drawn=drawn)

    def another(model: str) -> LLM | None:
        return models.asked(settings.model_copy(update={"model": model}), draw)

    llm = models.asked(settings, draw, role=role) if may_ask_model(spec) else None
    return make_evaluator(spec, replace(_surroundings(config, llm), another=another))


def named_evaluator(config: Config, spec: str, llm: LLM | None) -> Evaluator:
    """The evaluator that ``spec`` names, asking ``llm`` and no other model. Raises :class:`ConfigError`."""
    _, _, spec = rater_settings(spec, ModelSettings())
    return make_evaluator(spec, replace(_surroundings(config, llm), another=lambda model: llm))


def named_pairwise(config: Config, spec: str, llm: LLM | None) -> Pairwise:
    """The judge ``pairwise``, asking ``llm``. Raises :class:`ConfigError`."""
    return make_pairwise(spec, _surroundings(config, llm))


def _surroundings(config: Config, llm: LLM | None) -> Surroundings:
    return Surroundings(llm=llm, config=config, data_folder=(config.store or default_path()).parent)


def _needed(llm: LLM | None, what: str) -> LLM:
    if llm is None:
        raise ConfigError(f"{what} asks a model, and there is none: set OPENAI_API_KEY, base_url, or llm=local")
    return llm


def _same_model(settings: ModelSettings, other: ModelSettings) -> bool:
    return (settings.model, settings.base_url) == (other.model, other.base_url)
