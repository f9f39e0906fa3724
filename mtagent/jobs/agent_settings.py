"""Settings that would do nothing in an agent are refused, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from mtagent.chain.gate import OpenGate
from mtagent.config import Config, ModelSettings, Role
from mtagent.errors import ConfigError
from mtagent.evaluators.registry import asks_model, may_ask_model, takes_forced
from mtagent.jobs.parts import CheckedPlan, OwnParts, checked_plan, judge_specs

FOREIGN = {
    "source_lang": "name the languages of each text",
    "target_lang": "name the languages of each text",
    "run": "name the run in agent.run(NAME)",
    "limit": "give as many segments as you want worked on",
    "give_up_after": "leave the loop over agent.stream(…) where too many chains have failed",
}
"""Settings of the configuration that an agent does not have."""
OF_SERVERS = {
    *("api_key", "headers", "http_client", "prices"),
    *("requests_per_minute", "tokens_per_minute", "timeout", "deadline"),
}
"""What is for the servers of models, and not for a model that is passed."""
NO_MODEL = "no model is asked here: set OPENAI_API_KEY, or give base_url, model or llm, and a part that asks it"


def refuse_foreign(given: Mapping[str, Any]) -> None:
    """Raise :class:`ConfigError` for settings that an agent does not have."""
    for name in given:
        if name in FOREIGN:
            raise ConfigError(f"{name}: does nothing in an agent: {FOREIGN[name]}")


def refuse_idle(given: Mapping[str, Any], config: Config, own: OwnParts) -> CheckedPlan:
    """The plan of an agent. Raises :class:`ConfigError` for what was ``given`` and cannot work, or would do nothing.

    Settings at their defaults do no harm, and neither do those of a file, which may be there for other commands.
    """
    usual = Config()
    checked = checked_plan(config, own)
    own_objects = {name: getattr(own, name) for name in ("translator", "judge", "gate", "llm", "llms", "triage")}
    others = {
        "evaluator": own.evaluator,
        "api_key": own.api_key,
        "headers": own.headers,
        "http_client": own.http_client,
    }
    passed = {name: value for name, value in (own_objects | others).items() if value}
    for name in {**given, **passed}:
        value = passed.get(name, given.get(name))
        if name in Config.model_fields and name not in passed and getattr(config, name) == getattr(usual, name):
            continue
        if why := _why_idle(name, value, checked, own):
            raise ConfigError(f"{name}: {why}")
    return checked


def _why_idle(name: str, value: Any, checked: CheckedPlan, own: OwnParts) -> str | None:
    """Why the setting ``name`` does nothing; ``None`` where it does something."""
    plan, config, stages = checked.plan, checked.config, checked.plan.stages
    if name in ModelSettings.model_fields or name in OF_SERVERS:
        if own.llm is not None and (name in ModelSettings.model_fields or not checked.asks_server):
            return _THE_MODELS
        if own.llms and checked.roles and not checked.asks_server:
            return _THE_MODELS
        return None if checked.asks_server else NO_MODEL
    if name in ("llms", "judge", "judge_model", "margin", "samples", "quorum", "cautious") or name in get_args(Role):
        return _why_idle_in_role(name, value, checked, own)
    if name in ("llm", "budget", "token_budget", "instructions", "prompts"):
        return None if checked.roles else NO_MODEL
    if name == "gate_calls":
        open_gate = isinstance(plan.gate, OpenGate)
        return f"the gate {plan.gate.name} asks no judge" if open_gate else _needs_edits(stages)
    if name == "translator":
        return None if "translate" in stages else f"there is no stage translate in {','.join(stages)}"
    if name == "evaluator":
        judges = own.gate is None and own.judge is None and not config.judges and config.gate in ("rate", "gain")
        return None if judges else _needs_postedit(stages)
    if name in ("fix", "forced", "on_ambiguous", "rules_first", "proposals"):
        return _needs_postedit(stages) or _why_idle_in_postedit(name, config, own)
    if name == "strategy":
        return _needs_edits(stages)
    if name == "stop_when_error_free":
        return _needs_edits(stages) or (None if len(stages) > 1 else "there is one stage alone")
    if name == "store":
        return f"{config.store} is a folder: name a file" if config.store and config.store.is_dir() else None
    if name in ("skip_guards", "embeddings") and plan.gate.name == "none":
        return "the gate none checks nothing"
    if name == "embeddings" and "length" in plan.skip_guards:
        return "they are for the guard length, which is left out"
    return None


_THE_MODELS = "the model that you pass (llm, llms) has settings of its own: set it there"


def _why_idle_in_role(name: str, value: Any, checked: CheckedPlan, own: OwnParts) -> str | None:
    """The same for what is about one role's model, or about the judges."""
    plan, config, edits_nothing = checked.plan, checked.config, _needs_edits(checked.plan.stages)
    roles = checked.roles - ({"judge"} if edits_nothing else set())  # no gate decides on a first translation
    if name == "llms":
        idle = next((role for role in value if role not in roles), None)
        return idle and f"no model is asked as {idle!r} here"
    role: Role = "judge" if name == "judge_model" else name  # type: ignore[assignment]
    if role in get_args(Role):
        table: ModelSettings = getattr(config, role)
        model = config.judge_model if name == "judge_model" else table.model
        sets_model = bool(table.model_dump(exclude_none=True, exclude={"evaluator"}))
        if sets_model and (role in own.llms or (own.llm is not None and model is None and table.base_url is None)):
            return _THE_MODELS
        heirs = {"judge"} if role == "postedit" else set()  # the judge is asked like the post-editor
        if role != "judge":
            return None if {role, *heirs} & roles else f"no model is asked as {role!r} here"
    if own.gate is not None:
        return "the gate that you pass (gate) has settings of its own: set it there"
    if edits_nothing:
        return f"{edits_nothing}, and no judge is asked"
    if isinstance(plan.gate, OpenGate):
        return f"the gate {plan.gate.name} asks no judge: leave gate out, or name a judge or a model"
    if name == "judge_model" or (name == "judge" and own.judge is None and not config.judges):
        return None if "judge" in roles else "no judge asks a model here"
    if name == "samples" and not (own.judge is None and any(asks_model(_name(spec)) for spec in judge_specs(config))):
        return "the judges say the same each time: only models are asked for several ratings"
    return None


def _why_idle_in_postedit(name: str, config: Config, own: OwnParts) -> str | None:
    """The same for what is about the post-editor."""
    spec = config.evaluator or "rules"
    if name == "forced" and (own.evaluator is not None or not takes_forced(spec)):
        return "this evaluator cannot be made to find errors"
    if name == "proposals" and own.evaluator is None and not may_ask_model(spec):
        return f"the evaluator {spec} says the same each time"
    if name == "rules_first" and config.rules_first and _name(spec) == "rules":
        return "the evaluator rules is the post-editor already"
    if name == "on_ambiguous" and config.strategy == "paper":
        return "the strategy paper replaces every occurrence"
    return None


def _name(spec: str) -> str:
    return spec.partition(":")[0]


def _needs_postedit(stages: tuple[str, ...]) -> str | None:
    return None if "postedit" in stages else f"there is no stage postedit in {','.join(stages)}"


def _needs_edits(stages: tuple[str, ...]) -> str | None:
    return None if {"postedit", "proofread", "rerank"} & {*stages} else f"{','.join(stages)} edits nothing"
