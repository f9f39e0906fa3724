"""From a configuration to the working parts: models, translator, evaluator, proofreader, gate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mtagent.chain.calibration import Threshold, calibrated, read
from mtagent.chain.chain import Plan
from mtagent.chain.correct import Corrector
from mtagent.chain.gate import Gate, OpenGate, PairwiseGate, RateGate
from mtagent.chain.proofread import Proofreader
from mtagent.config import DEFAULT_MODEL, Config, ModelSettings, Role, unforced
from mtagent.errors import ConfigError
from mtagent.evaluators.named import Surroundings, make_evaluator
from mtagent.evaluators.protocol import Evaluator, checked_evaluator
from mtagent.llm.budget import Budget, Budgeted
from mtagent.llm.prices import Prices
from mtagent.llm.protocol import LLM
from mtagent.store.store import default_path
from mtagent.translators import wrap
from mtagent.translators.llm import LLMTranslator
from mtagent.translators.protocol import Translator

if TYPE_CHECKING:
    from mtagent.llm.limits import Limiter
    from mtagent.llm.server import LocalServer


def budget_of(config: Config) -> Budget | None:
    """The budget that ``config`` sets; ``None`` for none."""
    return Budget(config.budget, config.token_budget) if config.budget or config.token_budget else None


def within_budget(config: Config) -> Callable[[LLM], LLM]:
    """Something that puts the budget of ``config`` around each model that it gets."""
    budget = budget_of(config)
    return lambda llm: Budgeted(llm, budget) if budget else llm


WrapLLM = Callable[[LLM], LLM]


@dataclass(frozen=True)
class OwnParts:
    """Objects to use in place of what the configuration names. Anything with the right methods will do.

    Raises :class:`ConfigError` for evaluators that are none.
    """

    translator: object | None = None
    evaluator: Evaluator | None = None
    judge: Evaluator | None = None
    gate: Gate | None = None
    llm: LLM | None = None

    def __post_init__(self) -> None:
        for evaluator in (self.evaluator, self.judge):
            if evaluator is not None:
                checked_evaluator(evaluator)


def effective(config: Config, own: OwnParts) -> Config:
    """``config`` with everything decided that was left open; an object of the user's ``own`` may stand for a model."""
    translator = own.translator is not None or config.translator != "llm"
    return config.effective(offline=config.offline and own.llm is None, translator=translator)


def settings_for_results(config: Config) -> dict[str, Any]:
    """The settings that results depend on, as plain data: what a resumed run must agree with.

    ``calibrated`` holds what the calibration says, wherever its file lies. Raises :class:`ConfigError`.
    """
    calibrated = {"calibrated": read(config.calibration).settings()} if config.calibration else {}
    return config.for_results() | calibrated


@asynccontextmanager
async def assembled(
    config: Config, own: OwnParts = OwnParts(), *, wrap_llm: WrapLLM | None = None
) -> AsyncIterator[Plan]:
    """The plan that ``config`` describes; everything it opened is closed at the end.

    ``wrap_llm`` puts something around each model, such as the call cache; by default, the budget of ``config``.
    """
    config = effective(config, own)
    async with AsyncExitStack() as stack:
        models = _Models(config, own, stack, wrap_llm)
        stages = config.stages or ()
        evaluator = own.evaluator or (
            named_evaluator(config, config.evaluator or "rules", models.get("postedit"))
            if "postedit" in stages
            else None
        )
        gate = own.gate or _gate(config, own, models, evaluator)
        thresholds: tuple[Threshold, ...] = ()
        if config.calibration is not None:
            gate, thresholds = calibrated(config.calibration, gate, evaluator)
        proofreader = None
        if "proofread" in stages:
            llm = _needed(models.get("proofread"), "the proofread stage")
            proofreader = Proofreader(llm, prompts_folder=config.prompts)
        yield Plan(
            stages=stages,
            translator=_translator(config, own, models, stack) if "translate" in stages else None,
            evaluator=evaluator,
            corrector=Corrector(
                models.get("postedit"),
                strategy=config.strategy,
                on_ambiguous=config.on_ambiguous,
                fix=config.fix,
                prompts_folder=config.prompts,
            ),
            proofreader=proofreader,
            gate=gate,
            thresholds=thresholds,
            skip_guards=frozenset(config.skip_guards),
            stop_when_error_free=config.stop_when_error_free,
            gate_calls=config.gate_calls,
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
        yield own.evaluator or named_evaluator(config, config.evaluator or "rules", models.get(None))


class _Models:
    """One client for each set of settings, one limit for each server; ``None`` for every role where no model is."""

    def __init__(self, config: Config, own: OwnParts, stack: AsyncExitStack, wrap_llm: WrapLLM | None) -> None:
        self._config, self._own, self._stack = config, own, stack
        self._wrap = wrap_llm or within_budget(config)
        self._made: dict[ModelSettings, LLM] = {}
        self._limiters: dict[str | None, Limiter] = {}
        self._local: LocalServer | None = None
        self._prices = Prices(config.prices)

    def get(self, role: Role | None) -> LLM | None:
        """The model that plays ``role``; ``None`` = the one of the general settings."""
        if self._config.model is None:  # an effective configuration names one, unless there is none to ask
            return None
        settings = self._config.model_for(role)
        if settings not in self._made:
            self._made[settings] = self._wrap(self._own.llm or self._client(settings))
        return self._made[settings]

    def _client(self, settings: ModelSettings) -> LLM:
        from mtagent.llm.client import OpenAIClient
        from mtagent.llm.limits import Limiter
        from mtagent.llm.request import Sampling

        sampling = {name: getattr(settings, name) for name in Sampling.model_fields if name != "extra"}
        local = None if settings.base_url else self._local_server()
        base_url = local.base_url if local else settings.base_url
        if base_url not in self._limiters:
            self._limiters[base_url] = Limiter(
                self._config.concurrency,
                requests_per_minute=self._config.requests_per_minute,
                tokens_per_minute=self._config.tokens_per_minute,
            )
        client = OpenAIClient(
            local.model if local else settings.model or DEFAULT_MODEL,
            base_url=base_url,
            api_key_env=settings.api_key_env or "OPENAI_API_KEY",
            sampling=Sampling(**sampling),
            deadline=self._config.deadline,
            timeout=self._config.timeout,
            limiter=self._limiters[base_url],
            leave_out=() if local is None or local.tools else ("tools",),
            known_as=local.name if local else None,
            price=self._prices,
        )
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
        self._local = self._local or self._stack.enter_context(LocalServer(path or None))
        return self._local


def _translator(config: Config, own: OwnParts, models: _Models, stack: AsyncExitStack) -> Translator | None:
    if own.translator is None and config.translator == "llm":
        llm = models.get("translate")
        return LLMTranslator(llm, prompts_folder=config.prompts) if llm else None
    translator = wrap(own.translator or config.translator)
    if close := getattr(translator, "aclose", None):
        stack.push_async_callback(close)
    return translator


def _gate(config: Config, own: OwnParts, models: _Models, evaluator: Evaluator | None) -> Gate:
    if config.gate == "pairwise":
        return PairwiseGate(_needed(models.get("judge"), "the pairwise gate"), prompts_folder=config.prompts)
    if config.gate == "rate":
        judge = own.judge
        if judge is None and judge_is_editor(config, own):
            judge = evaluator  # the judge would be asked alike: the rating of the text before is at hand
        if judge is None:
            free = config.model_copy(update={"forced": False})
            judge = named_evaluator(free, judge_spec(config), models.get("judge"))
        return RateGate(judge, margin=config.margin)
    return OpenGate(config.gate or "guards")


def judge_spec(config: Config) -> str:
    """The evaluator that judges, by name."""
    return config.judge.evaluator or unforced(config.evaluator or "rules")


def judge_is_editor(config: Config, own: OwnParts = OwnParts()) -> bool:
    """Whether the judge is asked as the post-editor's evaluator is, so that its rating of the text before is known."""
    if own.evaluator is not None:  # config.evaluator does not name it, and config.forced does not reach it
        alike = config.judge.evaluator is None
    else:
        alike = judge_spec(config) == config.evaluator and not config.forced
    return alike and config.model_for("judge") == config.model_for("postedit")


def named_evaluator(config: Config, spec: str, llm: LLM | None) -> Evaluator:
    """The evaluator that ``spec`` names, asking ``llm``. Raises :class:`ConfigError`."""
    folder = (config.store or default_path()).parent
    return make_evaluator(spec, Surroundings(llm=llm, config=config, data_folder=folder))


def _needed(llm: LLM | None, what: str) -> LLM:
    if llm is None:
        raise ConfigError(
            f"{what} asks a model, and there is none: set OPENAI_API_KEY, or give --base-url or --llm local"
        )
    return llm
