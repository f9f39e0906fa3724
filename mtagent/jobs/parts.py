"""From a configuration to the working parts: models, translator, evaluator, proofreader, gate.

:func:`effective` decides what the configuration leaves open. :func:`assembled` opens everything and gives the plan of
the chain; :func:`checked_plan` makes the same plan without opening anything. Read :func:`_plan` for the story; then
come the models, the parts one after the other, and the settings of evaluators and judges.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, get_args
from zlib import crc32

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
from mtagent.chain.shipped import PanelMember, ShippedPanel, shipped_weights
from mtagent.config import (
    DEFAULT_MODEL,
    JUDGE_KINDS,
    Config,
    ModelSettings,
    Role,
    endpoint_parts,
    parse_spec,
    unforced,
)
from mtagent.errors import ConfigError
from mtagent.evaluators.pairwise import Pairwise
from mtagent.evaluators.protocol import Evaluator, checked_evaluator, signature_of, suggests_edits
from mtagent.evaluators.registry import PAIRWISE, Surroundings, asks_model, make_evaluator, make_pairwise, may_ask_model
from mtagent.llm.budget import Budget, Budgeted
from mtagent.llm.cache import Redrawn
from mtagent.llm.events import EventLog, Observed, Observer, Observers
from mtagent.llm.prices import Prices
from mtagent.llm.prompts import Instructed, read_instructions
from mtagent.llm.protocol import LLM, KeyedLLM
from mtagent.llm.server import ApiKey, is_sdk_client, refuse_closed
from mtagent.records import Stage, same_rater
from mtagent.store.store import Store, default_path
from mtagent.text.masking import clean
from mtagent.translators import CallableTranslator, check_spec, wrap
from mtagent.translators.llm import LLMTranslator
from mtagent.translators.protocol import Translator

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from mtagent.llm.batch import Batches
    from mtagent.llm.client import OpenAIClient
    from mtagent.llm.ledger import Ledger
    from mtagent.llm.limits import Limiter
    from mtagent.llm.request import LearntParameters
    from mtagent.llm.server import LocalServer
    from mtagent.metrics.qe_e5 import E5


def budget_of(config: Config, runs: Sequence[str] = ()) -> Budget | None:
    """The budget that ``config`` sets, if it sets one; ``runs`` share it."""
    if config.budget or config.token_budget:
        return Budget(config.budget, config.token_budget, runs)
    return None


WrapLLM = Callable[[LLM], LLM]
"""Puts something around a model, such as a budget or the call cache."""


def budgeted_by(budget: Budget | None) -> WrapLLM:
    """A function that puts ``budget`` around each model."""
    return lambda llm: Budgeted(llm, budget) if budget else llm


def instructed(llm: LLM, config: Config) -> LLM:
    """``llm`` with the instructions of ``config`` added to each request. Raises :class:`InputError`."""
    if config.instructions:
        return Instructed(llm, read_instructions(config.instructions))
    return llm


@dataclass(frozen=True)
class OwnParts:
    """A user's objects, used instead of the parts that the configuration names. mtagent doesn't close them.

    Raises :class:`ConfigError` for objects without the methods that they need.
    """

    translator: object | None = None
    evaluator: Evaluator | None = None
    judges: tuple[Evaluator, ...] = ()
    triage: Evaluator | None = None
    gate: Gate | None = None
    llm: LLM | None = None
    """Replaces the model of the general settings."""
    llms: Mapping[Role, LLM] = field(default_factory=dict)
    """Replace the models of these roles."""
    api_key: ApiKey | None = field(default=None, repr=False)
    """For the servers of models that are not replaced; ``headers`` and ``http_client`` too."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    http_client: ClientSession | None = None
    client: Any = None
    """A client of the ``openai`` package for the server of the general settings, or a function that makes one for each
    event loop; those that it makes are closed."""
    clients: Mapping[Role, Any] = field(default_factory=dict)
    """The same for the servers of these roles."""
    instrumented: bool = False
    """Requests go through ``chat.completions.create`` of the ``openai`` package."""
    observer: Observer | None = None
    """Receives each event: calls, retries, waits and verdicts."""
    ledger: Ledger | None = None
    """Shares the requests and tokens per minute with other processes."""

    def __post_init__(self) -> None:
        for evaluator in (self.evaluator, *self.judges, self.triage):
            if evaluator is not None:
                checked_evaluator(evaluator)
        for number, judge in enumerate(self.judges):
            if any(same_rater(signature_of(judge), signature_of(other)) for other in self.judges[:number]):
                raise ConfigError(f"judge: two judges have the same signature, {signature_of(judge)}: leave one out")
        gate: Any = self.gate
        if gate is not None:
            has_name = isinstance(getattr(gate, "name", None), str)
            if not has_name or not _has_method(gate, "decide"):
                raise ConfigError(
                    f"{gate!r:.80} isn't a gate: a gate is an object with a string `name` and `async def decide`"
                )
        for role, llm in (("llm", self.llm), *self.llms.items()):
            if role not in ("llm", *get_args(Role)):
                raise ConfigError(f"llms: no role {role!r}; there are: {', '.join(get_args(Role))}")
            if llm is not None and not (isinstance(llm, LLM) and callable(llm.complete)):
                raise ConfigError(
                    f"{role}: {llm!r:.80} isn't a model: a model has `model`, its name, and `async def complete`"
                )
        is_text = isinstance(self.api_key, str) and bool(self.api_key.strip())
        if not is_text and not (self.api_key is None or callable(self.api_key)):
            # the key itself is never shown
            raise ConfigError("api_key: must be a text that is not empty, or a function that returns one")
        for name, value in self.headers.items():
            are_texts = isinstance(name, str) and isinstance(value, str)
            if not are_texts or not f"{name}{value}".isprintable() or not f"{name}{value}".isascii():
                raise ConfigError(f"headers: {name!r}: a header is a name and a text of ASCII characters, in one line")
        if self.client is not None and not is_sdk_client(self.client) and not callable(self.client):
            raise ConfigError(f"client: {self.client!r:.80} isn't an openai.AsyncOpenAI or AsyncAzureOpenAI")
        for client in (self.client, *self.clients.values()):
            if is_sdk_client(client):
                refuse_closed(client)
        instrumented: Any = self.instrumented
        if not isinstance(instrumented, bool):
            raise ConfigError(f"instrumented: expected True or False, not {instrumented!r:.80}")
        if self.instrumented and self.http_client is not None:
            raise ConfigError("http_client: isn't used with instrumented: pass client with an http_client of its own")
        if self.client is not None:
            for name in ("api_key", "headers", "http_client"):
                if getattr(self, name):
                    raise ConfigError(f"{name}: the client that you pass has its own: leave one of the two out")
        if self.http_client is not None:
            from aiohttp import ClientSession  # loaded already, if the user has made one

            if not isinstance(self.http_client, ClientSession):
                raise ConfigError(
                    f"http_client: {self.http_client!r:.80} isn't an aiohttp.ClientSession; a client of httpx goes "
                    "into client: openai.AsyncOpenAI(http_client=…)"
                )
            if self.http_client.closed:
                raise ConfigError("http_client: is closed; open it before the agent is made")


def _has_method(thing: object, method: str) -> bool:
    """Whether ``thing`` is an object with this method. A class doesn't count."""
    return not isinstance(thing, type) and callable(getattr(thing, method, None))


def effective(config: Config, own: OwnParts) -> Config:
    """``config`` with a value for everything that was left open; a user's object (``own``) may replace a model."""
    has_translator = own.translator is not None or config.translator != "llm"
    if config.gate is None and config.calibration is not None and read(config.calibration).gain is not None:
        config = config.model_copy(update={"gate": "gain"})
    elif config.gate is None and own.judges:
        config = config.model_copy(update={"gate": "rate"})
    if own.evaluator is not None and config.rules_first is None:
        # A user's evaluator may know only the given texts, not texts that the rules have changed.
        config = config.model_copy(update={"rules_first": False})
    objects = (own.llm, own.llms, own.client, own.clients, own.api_key, own.http_client)
    has_model = any(objects)
    return config.effective(offline=config.offline and not has_model, translator=has_translator)


def settings_for_results(config: Config) -> dict[str, Any]:
    """The settings that results depend on, as plain data: what a resumed run must agree with.

    ``calibrated`` holds the content of the calibration, wherever its file is; ``embeddings`` is the signature of their
    model. Raises :class:`ConfigError`.
    """
    settings = config.for_results()
    if config.calibration:
        settings["calibrated"] = read(config.calibration).settings()
    elif config.gate == "gain":
        settings["shipped"] = shipped_weights().model_dump()
    if config.embeddings:
        settings["embeddings"] = _embeddings().signature
    return settings


LANGUAGE_IDENTIFIER = "language identifier (extra languages)"
NOT_INSTALLED = "none"
"""The version of a package that isn't installed."""


def package_versions(config: Config) -> dict[str, str]:
    """What results depend on besides the settings: the language identifier of the guard ``language``.

    It is stored with a run and compared, but isn't part of the run's name.
    """
    if config.gate == "none" or "language" in config.skip_guards:
        return {}
    identifier = NOT_INSTALLED
    if find_spec("py3langid") is not None:
        identifier = f"py3langid {version('py3langid')}"
    return {LANGUAGE_IDENTIFIER: identifier}


def _checked_guards(names: Sequence[str]) -> frozenset[str]:
    """The ``names``, if they are names of guards. Raises :class:`ConfigError`."""
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
    batches: Batches | None = None,
) -> AsyncIterator[Plan]:
    """The plan that ``config`` describes; everything it opened is closed at the end, including ``store``.

    By default, ``wrap_llm`` puts the budget of ``config`` around each model. ``translates``: whether any segment needs
    a translation; if none does, the code of an MT system isn't loaded. ``batches`` get the requests to models.
    """
    config = effective(config, own)
    async with AsyncExitStack() as stack:
        if store is not None:
            stack.enter_context(store)
        models = _Models(config, own, stack, wrap_llm, batches)
        yield _plan(config, own, models, stack, translates=translates)


class CheckedPlan(NamedTuple):
    """A plan that can be assembled."""

    plan: Plan
    config: Config
    roles: frozenset[Role]
    """The roles that call a model."""
    asks_server: bool
    """Whether requests go to a server, and not only to a user's objects."""


def checked_plan(config: Config, own: OwnParts) -> CheckedPlan:
    """The plan that would be assembled, without opening anything; no key is needed yet.

    Raises what :func:`assembled` would raise, except errors of servers and of other people's code.
    """
    config = effective(config, own)
    models = _Models(config, own, None, None)
    plan = _plan(config, own, models, None)
    roles, server_roles = set(models.roles), set(models.server_roles)
    if not {"postedit", "proofread", "rerank"}.intersection(plan.stages):
        # The gate doesn't decide on a first translation.
        roles.discard("judge")
        server_roles.discard("judge")
    return CheckedPlan(plan, config, frozenset(roles), bool(server_roles))


def refuse_other_languages(config: Config, pairs: Iterable[str]) -> None:
    """Raise :class:`ConfigError` for language pairs that the calibration was not made for, unless they are allowed."""
    if config.calibration is not None and not config.any_language:
        read(config.calibration).refuse_other_languages(config.calibration, pairs)


def gate_warnings(config: Config, plan: Plan, *, in_run: bool) -> Iterator[str]:
    """Warnings about the gate of ``plan``; ``config`` as users wrote it, ``in_run``: whether a run is stored."""
    if config.calibration is not None:
        gain = read(config.calibration).gain
        if gain is not None and gain.held_out is not None:
            for rival in gain.held_out.loses_to:
                yield f"{config.calibration}: on the edits of its calibration this gate loses to {rival}"
    gate = plan.gate
    if not isinstance(gate, PanelGate) or gate.gain is not None:
        return
    if plan.unlabelled is not None and not in_run:
        yield (
            "gate gain: all judges must agree here, because only a run has a pilot of its own edits; "
            "use a run, or set calibration"
        )
    if config.gate is None and config.judges_differ and (config.margin or config.quorum):
        yield (
            "with margin or quorum the gate is panel: judges vote on every edit; without them judges of two kinds "
            "decide by the gate gain, which weighs them"
        )


def _plan(
    config: Config, own: OwnParts, models: _Models, stack: AsyncExitStack | None, *, translates: bool = True
) -> Plan:
    """The parts one after the other, each made from the configuration or taken from the user's."""
    stages = config.stages or ()
    evaluator_spec = config.evaluator or "rules"
    evaluator = own.evaluator
    if evaluator is None and "postedit" in stages:
        evaluator = _evaluator(config, evaluator_spec, models, config.model_for("postedit"), role="postedit")
    gate = own.gate or _gate(config, own, models)
    triage = own.triage or _triage(config, own, models, evaluator)
    thresholds: tuple[Threshold, ...] = ()
    if config.calibration is not None:
        gate, thresholds = calibrated(config.calibration, gate, evaluator, triage=triage, cautious=config.cautious)
    if own.gate is None:
        _refuse_other_rule(config, gate)
    # If an evaluator of mtagent suggests edits, it suggests all; a user's evaluator may leave some to a model.
    fixing_llm = None
    if evaluator is not None and (own.evaluator is not None or not suggests_edits(evaluator)):
        fixing_llm = models.get("postedit")
    editors: dict[Stage, list[LLM | None]] = {"postedit": _post_editors(config, own, models, evaluator, fixing_llm)}
    proofreader = None
    if "proofread" in stages:
        llm = _needed(models.get("proofread"), "the proofread stage")
        editors["proofread"] = [llm]
        proofreader = Proofreader(llm, strategy=config.strategy, prompts_folder=config.prompts)
    translator = None
    if "translate" in stages:
        translator = _translator(config, own, models, stack, translates=translates)
    return Plan(
        stages=stages,
        translator=translator,
        evaluator=evaluator,
        corrector=Corrector(
            fixing_llm,
            strategy=config.strategy,
            on_ambiguous=config.on_ambiguous,
            fix=config.fix,
            prompts_folder=config.prompts,
        ),
        proofreader=proofreader,
        gate=gate,
        unlabelled=_unlabelled(config, own, gate, models, editors),
        thresholds=thresholds,
        triage=_triage_threshold(config, triage, thresholds),
        skip_guards=_checked_guards(config.skip_guards),
        own_guards={"length": guards.Length(_embeddings().nearest)} if config.embeddings else None,
        stop_when_error_free=config.stop_when_error_free,
        gate_calls=config.gate_calls,
        proposers=_proposers(config, own, models, evaluator),
        published=config.preset == "paper",
        observer=models.observers,
    )


def _proposers(config: Config, own: OwnParts, models: _Models, evaluator: Evaluator | None) -> tuple[Evaluator, ...]:
    """The evaluators that suggest further edits besides ``evaluator``: the same one, called again."""
    if evaluator is None:
        return ()
    proposers: list[Evaluator] = []
    spec, settings = config.evaluator or "rules", config.model_for("postedit")
    for draw in range(2, config.proposals + 1):
        proposers.append(
            own.evaluator or _evaluator(config, spec, models, settings, f"proposal-{draw}", "postedit", drawn=True)
        )
    return tuple(proposers)


def _post_editors(
    config: Config, own: OwnParts, models: _Models, evaluator: Evaluator | None, fixing_llm: LLM | None
) -> list[LLM | None]:
    """The models that may write edits in Postedit; ``None`` for a user's evaluator, whose model is unknown."""
    spec = config.evaluator or "rules"
    post_editors: list[LLM | None] = []
    if own.evaluator is not None:
        post_editors.append(None)
    elif evaluator is not None and asks_model(spec.partition(":")[0]):
        _, settings, _ = rater_settings(spec, config.model_for("postedit"))
        post_editors.append(models.with_settings(settings, role="postedit"))
    if fixing_llm is not None:
        post_editors.append(fixing_llm)
    return post_editors


@asynccontextmanager
async def assembled_evaluator(
    config: Config,
    own: OwnParts = OwnParts(),
    *,
    wrap_llm: WrapLLM | None = None,
    batches: Batches | None = None,
) -> AsyncIterator[Evaluator]:
    """The evaluator that ``config`` names, which calls the model of the general settings; closed at the end.

    The setting ``forced`` applies to the post-editor only: here the evaluator may find no errors, unless it has the
    option ``forced`` itself.
    """
    config = effective(config, own).model_copy(update={"forced": False})
    async with AsyncExitStack() as stack:
        models = _Models(config, own, stack, wrap_llm, batches)
        yield own.evaluator or _evaluator(config, config.evaluator or "rules", models, config.model_for(None))


@asynccontextmanager
async def assembled_model(config: Config, *, wrap_llm: WrapLLM) -> AsyncIterator[LLM]:
    """The model of the general settings; closed at the end. Raises :class:`ConfigError` if none is set."""
    config = effective(config, OwnParts())
    async with AsyncExitStack() as stack:
        models = _Models(config, OwnParts(), stack, wrap_llm)
        yield _needed(models.with_settings(config.model_for(None)), "this command")


LARGEST_SEED = 2**31 - 1
"""Some servers read a seed as a signed number of 32 bits."""
DRAWN_AT = 1.0
"""The temperature for several answers to the same request, unless another is set."""


class _Models:
    """The models of a plan: one client for each set of settings, one limiter for each model at a server.

    Stages that call the same model share its limiter, which admits requests in the order of their arrival.

    Without a ``stack`` that closes them at the end, no server and no connection is opened.
    """

    def __init__(
        self,
        config: Config,
        own: OwnParts,
        stack: AsyncExitStack | None,
        wrap_llm: WrapLLM | None,
        batches: Batches | None = None,
    ) -> None:
        self.roles = set[Role]()
        """The roles for which a model was requested."""
        self.server_roles = set[Role]()
        """The roles whose requests go to a server, and not to a user's object."""
        self._config = config
        self._own = own
        self._stack = stack
        self._wrap = wrap_llm or budgeted_by(budget_of(config))
        self._batches = batches
        self._clients: dict[tuple[ModelSettings, int | None, str], LLM] = {}  # by settings, a user's client, and draw
        self._models: dict[tuple[int, ModelSettings, str], LLM] = {}  # by client, settings and draw
        self._limiters: dict[tuple[str, object, str | None], Limiter] = {}  # by model, server and key
        self._learnt: dict[tuple[str, object], LearntParameters] = {}  # by model and server
        self._warned = set[tuple[str, str | None]]()  # models and endpoints whose errors were logged
        self._local: LocalServer | None = None
        self._sdk_client_here: Any = None
        self._prices = Prices(config.prices, batch=batches is not None)
        self.observers = None if stack is None else _observers(config, own, stack)

    def get(self, role: Role | None) -> LLM | None:
        """The model for ``role``; ``None`` = the model of the general settings. Without any model, ``None``."""
        return self.with_settings(self._config.model_for(role), role=role)

    def with_settings(self, settings: ModelSettings, draw: str = "", *, role: Role | None = None) -> LLM | None:
        """The model with these ``settings``. A reply that was cached in one ``draw`` is not used in another.

        Each draw gets its own seed, derived from the configured one; with equal seeds, a server would answer all draws
        alike. A user's object replaces the model if ``role`` would call the same model.
        """
        self.roles.add(role or "judge")  # triage counts as a judge
        # An effective configuration names a model if there is one to call.
        if self._config.model is None and settings.model is None and not any(settings.server):
            return None
        client = None
        if _same_model(settings, self._config.model_for(None)):
            client = self._own.llm
        if role is not None and role in self._own.llms and _same_model(settings, self._config.model_for(role)):
            client = self._own.llms[role]
        if draw and settings.seed is not None:
            settings = settings.model_copy(update={"seed": crc32(f"{settings.seed} {draw}".encode()) & LARGEST_SEED})
        if client is None:
            self.server_roles.add(role or "judge")
            sdk_client = self._sdk_client(settings, role)
            draw_in_batches = draw if self._batches is not None else ""
            place = (settings, None if sdk_client is None else id(sdk_client), draw_in_batches)
            if place not in self._clients:
                self._clients[place] = self._client(settings, sdk_client, draw_in_batches)
            client = self._clients[place]
        key = (id(client), settings, draw)
        if key not in self._models:
            # A request passes the instructions, the cache and the budget (both from wrap_llm), the draw, the observers
            # and then the client.
            model = client
            if self.observers is not None:
                model = Observed(model, self.observers)
            if draw and isinstance(model, KeyedLLM):
                model = Redrawn(model, draw)
            self._models[key] = instructed(self._wrap(model), self._config)
        return self._models[key]

    def _sdk_client(self, settings: ModelSettings, role: Role | None) -> Any:
        """The user's client of the ``openai`` package for the server of ``settings``; ``None`` if there is none."""
        if role is not None and role in self._own.clients and settings.server == self._config.model_for(role).server:
            return self._own.clients[role]
        if self._own.client is None or settings.server != self._config.model_for(None).server:
            return None
        if self._sdk_client_here is None:
            self._sdk_client_here = self._made_sdk_client(self._own.client)
        return self._sdk_client_here

    def _made_sdk_client(self, client: Any) -> Any:
        """A user's client, or one from a user's function for the event loop in which these models are opened."""
        if is_sdk_client(client):
            return client
        try:
            made = client()
        except Exception as error:
            message = clean(f"client: the function raised {type(error).__name__}: {error}", "")
            raise ConfigError(message) from error
        if not is_sdk_client(made):
            raise ConfigError(f"client: the function returned {made!r:.80}, not an openai.AsyncOpenAI")
        if self._stack is not None:
            self._stack.push_async_callback(made.close)
        return made

    def _client(self, settings: ModelSettings, sdk_client: Any, draw: str) -> LLM:
        """The client of the model's server, or one over the clients of all its endpoints."""
        if not settings.endpoint or sdk_client is not None:
            return self._client_at(settings, sdk_client, draw)
        from mtagent.llm.endpoints import Endpoints

        if self._batches is not None:
            raise ConfigError("batch: a batch goes to one server: leave endpoint out")
        address_field = "azure_endpoint" if settings.azure_endpoint else "base_url"
        if getattr(settings, address_field) is None:
            raise ConfigError("endpoint: adds a server to base_url or azure_endpoint: set one of the two")
        clients = [self._client_at(settings, endpoint=str(getattr(settings, address_field)))]
        for text in settings.endpoint:
            address, variable = endpoint_parts(text)
            update = {address_field: address, "api_key_env": variable or settings.api_key_env}
            clients.append(self._client_at(settings.model_copy(update=update), endpoint=text))
        return Endpoints(clients, warned=self._warned)

    def _client_at(
        self, settings: ModelSettings, sdk_client: Any = None, draw: str = "", endpoint: str | None = None
    ) -> OpenAIClient:
        """The client of one server; ``endpoint`` is its name if there are several."""
        from mtagent.llm.client import OpenAIClient
        from mtagent.llm.ledger import rates_of
        from mtagent.llm.limits import Limiter
        from mtagent.llm.protocol import Sampling
        from mtagent.llm.request import LearntParameters

        sampling = {name: getattr(settings, name) for name in Sampling.model_fields if name != "extra"}
        model = settings.model or DEFAULT_MODEL
        base_url = settings.base_url
        leave_out: tuple[str, ...] = ()
        known_as = None
        if sdk_client is None and not any(settings.server):
            local = self._local_server()
            if local:
                model, base_url, known_as = local.model, local.base_url, local.name
                if not local.tools:
                    leave_out = ("tools",)
        server: object = base_url or settings.azure_endpoint
        if sdk_client is not None:
            server = id(sdk_client)
        place = (model, server, settings.api_key_env)
        if place not in self._limiters:
            self._limiters[place] = Limiter(
                self._config.concurrency,
                requests_per_minute=None if self._batches else self._config.requests_per_minute,
                tokens_per_minute=None if self._batches else self._config.tokens_per_minute,
                make_rate=rates_of(self._own.ledger, str(place)) if self._own.ledger else None,
            )
        client = OpenAIClient(
            model,
            base_url=base_url,
            azure_endpoint=settings.azure_endpoint,
            api_version=settings.api_version,
            api_key_env=settings.api_key_env,
            sampling=Sampling(**sampling),
            deadline=self._config.deadline,
            timeout=self._config.timeout,
            limiter=self._limiters[place],
            learnt=self._learnt.setdefault((model, server), LearntParameters(model, leave_out)),
            known_as=known_as,
            price=self._prices,
            # A key that was passed from Python isn't for a server with a key of its own.
            api_key=self._own.api_key if settings.api_key_env == self._config.api_key_env else None,
            headers={**self._headers(settings), **self._own.headers},
            http_client=self._own.http_client,
            client=sdk_client,
            instrumented=self._own.instrumented,
            cache_control=settings.cache_control,
            endpoint=endpoint,
            observer=self.observers,
            transport=None if self._stack is not None else _UNOPENED,
            batch=None if self._batches is None else partial(self._batches.transport, draw=draw),
        )
        if self._stack is not None:
            self._stack.push_async_callback(client.aclose)
        return client

    def _headers(self, settings: ModelSettings) -> dict[str, str]:
        """The headers that ``settings`` name, with the values of their variables; none before anything is opened."""
        headers = {}
        for header in settings.header or ():
            name, _, variable = header.partition("=")
            value = os.environ.get(variable, "").strip()
            headers[name] = value
            if self._stack is not None and not value:
                raise ConfigError(f"header {name}: the environment variable {variable} is not set")
            if not value.isascii() or not value.isprintable():
                raise ConfigError(f"header {name}: the value of {variable} has unusual characters; copy it again")
        return headers

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


def _observers(config: Config, own: OwnParts, stack: AsyncExitStack) -> Observers | None:
    """The observers of all events, with the log that ``config`` names; ``None`` if there are none."""
    observers = [] if own.observer is None else [own.observer]
    if config.log is not None:
        observers.append(stack.enter_context(closing(EventLog(config.log))))
    return Observers(observers) if observers else None


_UNOPENED: Any = object()
"""The transport of clients that are never called; see :func:`checked_plan`."""


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
    if stack is not None and own.translator is None:
        close = getattr(translator, "aclose", None)
        if close is not None:
            stack.push_async_callback(close)
    return translator


def _gate(config: Config, own: OwnParts, models: _Models) -> Gate:
    gate = config.gate or "guards"
    if gate in ("none", "guards"):
        return OpenGate(gate)
    own_judges = own.judges
    if not own_judges and own.evaluator is not None and gate == "rate" and not config.judges:
        own_judges = (own.evaluator,)
    judges: tuple[Judge, ...] = tuple(RatingJudge(judge) for judge in own_judges)
    if not judges:
        judges = _judges(config, models)
    return PanelGate(*judges, margin=config.margin, quorum=config.quorum, ask_all=config.ask_all)


def _refuse_other_rule(config: Config, gate: Gate) -> None:
    """Raise :class:`ConfigError` if the gate and the calibration decide by different rules."""
    by_gain = isinstance(gate, PanelGate) and gate.gain is not None
    if by_gain and config.gate != "gain":
        raise ConfigError(
            f"{config.calibration}: decides by an expected gain, but the gate is {config.gate}: leave gate out"
        )
    if config.gate == "gain" and not by_gain and not config.judges_differ:
        raise ConfigError(
            "the gate gain decides by an expected gain: name two judges of different kinds in judge, such as gemba-mqm "
            "and cometkiwi, or set calibration to a file that `mtagent gate calibrate` wrote"
        )


def _unlabelled(config: Config, own: OwnParts, gate: Gate, models: _Models, editors: Editors) -> ShippedPanel | None:
    """The judges of ``gate`` with their kinds, if the gate ``gain`` has no calibration."""
    is_calibrated = isinstance(gate, PanelGate) and gate.gain is not None
    if config.gate != "gain" or is_calibrated or own.gate is not None or not isinstance(gate, PanelGate):
        return None
    members = []
    for spec, judge in zip(judge_specs(config), gate.judges, strict=True):
        members.append(PanelMember(judge.name, judge.signature, JUDGE_KINDS[spec.partition(":")[0]]))
    return ShippedPanel(tuple(members), _favours(config, models, editors))


Editors = Mapping[Stage, Sequence[LLM | None]]
"""The models that write the edits of a stage; ``None``: a user's object, whose model is not known."""


def _favours(config: Config, models: _Models, editors: Editors) -> dict[Stage, frozenset[int]]:
    """By stage, the places of the judges whose model may belong to the family of a model that edits."""
    favours: dict[Stage, frozenset[int]] = {}
    for stage, writers in editors.items():
        families = {_family(writer) for writer in writers}
        places = set[int]()
        for place, spec in enumerate(judge_specs(config)):
            name, settings, _ = judge_settings(config, spec)
            if not families or not asks_model(name):
                continue
            judge_family = _family(models.with_settings(settings, role="judge"))
            if _UNKNOWN_FAMILY in (judge_family, *families) or judge_family in families:
                places.add(place)
        favours[stage] = frozenset(places)
    return favours


_FAMILIES = {
    "claude": "claude", "command": "command", "deepseek": "deepseek", "gemini": "gemini", "gemma": "gemma",
    "glm": "glm", "gpt": "gpt", "grok": "grok", "kimi": "kimi", "llama": "llama", "ministral": "mistral",
    "mistral": "mistral", "mixtral": "mistral", "nova": "nova", "phi": "phi", "qwen": "qwen",
}  # fmt: skip
"""Families by a part of a model's name."""
_UNKNOWN_FAMILY = ""


def _family(llm: LLM | None) -> str:
    """The family of a model by its name: models of one family prefer each other's texts."""
    name = str(getattr(llm, "model", None) or "").rpartition("/")[2].lower()
    for part, family in _FAMILIES.items():
        if part in name:
            return family
    if re.match(r"o\d", name):  # OpenAI's o1, o3 …
        return "gpt"
    match = re.search(r"[a-z]+", name)
    return _UNKNOWN_FAMILY if match is None else match[0]


def _judges(config: Config, models: _Models) -> tuple[Judge, ...]:
    """The judges that ``config`` names. A calibrated judge is called as it was for the calibration.

    Raises :class:`ConfigError` if two judges have the same signature.
    """
    calibrated_signatures = read(config.calibration).signatures if config.calibration else ()

    def is_calibrated(judge: Judge) -> bool:
        return any(same_rater(judge.signature, signature) for signature in calibrated_signatures)

    judges: list[Judge] = []
    for spec in judge_specs(config):
        judge = _judge(config, spec, models)
        if calibrated_signatures and not is_calibrated(judge):
            # Stages and samples decide whether answers are drawn; the calibration may have been made without them.
            for drawn in (False, True):
                variant = _judge(config, spec, models, drawn=drawn)
                if is_calibrated(variant):
                    judge = variant
                    break
        if any(same_rater(judge.signature, other.signature) for other in judges):
            raise ConfigError(f"judge: {spec} is named twice")
        judges.append(judge)
    return tuple(judges)


def _judge(config: Config, spec: str, models: _Models, who: str = "judge", drawn: bool | None = None) -> Judge:
    """The judge that ``spec`` names: ``pairwise``, or an evaluator with as many samples as ``config`` sets.

    Settings of the model among its options (``model``, ``base_url`` …) are for this judge only. Replies that were
    cached for ``who`` are not used for another role.
    """
    name, settings, spec = judge_settings(config, spec, who=who, drawn=drawn)
    role: Role | None = "judge" if who == "judge" else None
    if name == PAIRWISE:
        draw = "" if who == "judge" else who
        caller = "the pairwise gate" if who == "judge" else f"the {who} pairwise"
        llm = _needed(models.with_settings(settings, draw, role=role), caller)
        return PairwiseJudge(named_pairwise(config, spec, llm))
    config = config.model_copy(update={"forced": False})  # a judge may find no error
    samples = config.samples if asks_model(name) else 1
    draws = [f"{who}-{number}" for number in range(1, samples + 1)]
    return RatingJudge(*(_evaluator(config, spec, models, settings, draw, role) for draw in draws))


class Panel(NamedTuple):
    """The judges of a gate that will be calibrated."""

    judges: tuple[Judge, ...]
    teacher: Judge | None = None
    """Labels the pairs instead of people, if there is one."""


@asynccontextmanager
async def assembled_panel(
    config: Config, teacher: str | None, own: OwnParts = OwnParts(), *, wrap_llm: WrapLLM | None = None
) -> AsyncIterator[Panel]:
    """The judges that ``config`` names, set up as in the gate, and a ``teacher``; closed at the end.

    The teacher is called once for each text. Raises :class:`ConfigError` for a teacher that is one of the judges, and
    for a judge that is named twice.
    """
    config = effective(config, own)
    async with AsyncExitStack() as stack:
        models = _Models(config, own, stack, wrap_llm)
        judges = _judges(config, models)
        if teacher is None:
            yield Panel(judges)
            return
        teaching_judge = _judge(config.model_copy(update={"samples": 1}), teacher, models, "teacher")
        if any(same_rater(judge.signature, teaching_judge.signature) for judge in judges):
            raise ConfigError(f"teacher: {teacher} is one of the judges; name a stronger model")
        yield Panel(judges, teaching_judge)


def _triage(config: Config, own: OwnParts, models: _Models, editor: Evaluator | None) -> Evaluator | None:
    """The evaluator whose score decides whether a text is edited.

    It is the post-editor's evaluator (``editor``) if both have the same settings: then one rating serves both.
    """
    if config.triage is None:
        return None
    name, settings, spec = judge_settings(config, config.triage, who="triage")
    has_settings_of_editor = (name, settings, spec) == rater_settings(
        config.evaluator or "rules", config.model_for("postedit")
    )
    if editor is not None and own.evaluator is None and not config.forced and has_settings_of_editor:
        return editor
    return _evaluator(config.model_copy(update={"forced": False}), spec, models, settings)


def _triage_threshold(config: Config, triage: Evaluator | None, calibrated: tuple[Threshold, ...]) -> Threshold | None:
    """The score from which triage skips a text. Raises :class:`ConfigError` if none is set or calibrated."""
    if triage is None:
        if config.triage_above is not None:
            raise ConfigError(f"triage_above: {config.triage_above:g} needs an evaluator that gives scores: set triage")
        return None
    if config.triage_above is not None:
        return Threshold(triage, config.triage_above)
    for threshold in calibrated:
        if threshold.evaluator is triage:
            return threshold
    why = "no score is known from which a text is skipped"
    if config.calibration is not None:
        why = f"{config.calibration} has no threshold for {signature_of(triage)}"
    raise ConfigError(
        f"triage {triage.name}: {why}: set triage_above, or set calibration to a file from "
        "`mtagent gate calibrate` of its scores and what people call error-free"
    )


def rater_settings(
    spec: str, settings: ModelSettings, *, who: str = "evaluator", drawn: bool = False
) -> tuple[str, ModelSettings, str]:
    """An evaluator's or a judge's name, the settings of its model, and ``spec`` without them.

    ``settings`` are for its role; settings among its options replace them. If neither sets a temperature, it is 0, or
    :data:`DRAWN_AT` for one of several ``drawn`` answers. Raises :class:`ConfigError`, which names ``who``.
    """
    name, options = parse_spec(spec)
    if not asks_model(name):
        return name, settings, spec
    settings_in_spec = {key: options.pop(key) for key in ModelSettings.model_fields if key in options}
    try:
        settings = settings.overridden(ModelSettings.model_validate(settings_in_spec).model_dump(exclude_unset=True))
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{who} {name}: {first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}") from None
    if settings.temperature is None:
        temperature = DRAWN_AT if drawn else 0.0
        settings = settings.model_copy(update={"temperature": temperature})
    rest = ",".join(f"{key}={value}" for key, value in options.items())
    spec = name
    if rest:
        spec = f"{name}:{rest}"
    return name, settings, spec


def judge_settings(
    config: Config, spec: str, *, who: str = "judge", drawn: bool | None = None
) -> tuple[str, ModelSettings, str]:
    """The same for a judge; ``who`` may be a teacher or triage.

    Unless ``drawn`` is given, a judge's answers are sampled at :data:`DRAWN_AT` in two cases: if ``samples`` is above
    1, and if judge and editor are the same evaluator with the same model. At temperature 0 such a judge would repeat
    the rating that caused the edit.
    """
    settings = config.model_for("judge")
    if who != "judge" or spec.partition(":")[0] == PAIRWISE:
        return rater_settings(spec, settings, who=who)
    is_uncalibrated = config.gate in ("rate", "panel") or (config.gate == "gain" and config.calibration is None)
    if drawn is None and "postedit" in (config.stages or ()) and is_uncalibrated:
        judge_name, judge_model, _ = rater_settings(spec, settings, who=who)
        editor_name, editor_model, _ = rater_settings(config.evaluator or "rules", config.model_for("postedit"))
        drawn = judge_name == editor_name and _same_model(judge_model, editor_model)
    return rater_settings(spec, settings, who=who, drawn=bool(drawn) or config.samples > 1)


def judge_specs(config: Config) -> tuple[str, ...]:
    """The judges by name: the configuration's, or else the default judge of its gate."""
    if config.judges:
        return config.judges
    if config.gate in ("pairwise", "panel"):
        return (PAIRWISE,)
    return (unforced(config.evaluator or "rules"),)


def judges_by_the_editor(config: Config) -> str | None:
    """The model that judges its own edits, if one does."""
    if "postedit" not in (config.stages or ()) or config.gate in (None, "none", "guards") or config.model is None:
        return None
    editor = config.model_for("postedit")
    for spec in judge_specs(config):
        name, settings, _ = judge_settings(config, spec)
        if asks_model(name) and _same_model(settings, editor):
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
    """The evaluator that ``spec`` names, with the model of ``settings``; ``drawn`` if it is one of several samples.

    Raises :class:`ConfigError`.
    """
    _, settings, spec = rater_settings(spec, settings, drawn=drawn)

    def another(model: str) -> LLM | None:
        return models.with_settings(settings.model_copy(update={"model": model}), draw)

    llm = models.with_settings(settings, draw, role=role) if may_ask_model(spec) else None
    return make_evaluator(spec, replace(_surroundings(config, llm), another=another))


def named_evaluator(config: Config, spec: str, llm: LLM | None) -> Evaluator:
    """The evaluator that ``spec`` names, which calls ``llm`` and no other model. Raises :class:`ConfigError`."""
    _, _, spec = rater_settings(spec, ModelSettings())
    return make_evaluator(spec, replace(_surroundings(config, llm), another=lambda model: llm))


def named_pairwise(config: Config, spec: str, llm: LLM | None) -> Pairwise:
    """The judge ``pairwise``, which calls ``llm``. Raises :class:`ConfigError`."""
    return make_pairwise(spec, _surroundings(config, llm))


def _surroundings(config: Config, llm: LLM | None) -> Surroundings:
    return Surroundings(llm=llm, config=config, data_folder=(config.store or default_path()).parent)


def _needed(llm: LLM | None, what: str) -> LLM:
    if llm is None:
        raise ConfigError(f"{what} calls a model, but none is set: set OPENAI_API_KEY, base_url, or llm=local")
    return llm


def _same_model(settings: ModelSettings, other: ModelSettings) -> bool:
    return (settings.model, settings.server) == (other.model, other.server)
