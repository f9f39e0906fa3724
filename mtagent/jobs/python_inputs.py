"""Inputs of ``Agent`` and ``rate``: texts, terms and settings in Python become segments and a configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast, get_args

from pydantic import ValidationError

from mtagent import config as configuration
from mtagent.chain.gate import OpenGate
from mtagent.config import SERVER_FIELDS, Config, ModelSettings, Role
from mtagent.errors import ConfigError
from mtagent.evaluators.protocol import Evaluator
from mtagent.evaluators.registry import asks_model, may_ask_model, takes_forced
from mtagent.formats.glossary import Glossary, GlossaryFor, read_terms, with_terms
from mtagent.jobs.parts import CheckedPlan, OwnParts, checked_plan, judge_specs
from mtagent.llm.protocol import LLM
from mtagent.llm.server import is_sdk_client
from mtagent.metrics.comet import USUAL
from mtagent.records import Segment, Term
from mtagent.text import languages
from mtagent.translators import CallableTranslator

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Terms = Mapping[str, str] | Iterable[Term] | Glossary


class TextDetails(TypedDict, total=False):
    """Details of texts."""

    # Terms to use: {"segment": "Segment"}, or Term records.
    terms: Terms | None
    # Text around them, which is not translated.
    context: str | None
    domain: str | None
    # How to translate them, such as "Address the reader formally."
    instructions: str | None
    # Seconds after which the text is returned as it is.
    timeout: float | None


def mapping_of(given: Mapping[Any, Any] | None, what: str) -> dict[Any, Any]:
    """``given`` as a dictionary. Raises :class:`ConfigError`, which begins with ``what``, for anything else."""
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"{what}, not {given!r:.80}")
    return dict(given or {})


def split_judges(
    judge: Evaluator | str | Sequence[str] | Sequence[Evaluator] | Mapping[str, Any] | None,
) -> tuple[Mapping[str, Any] | None, tuple[Evaluator, ...]]:
    """The settings of judges that are named, or the judges that are objects.

    Raises :class:`ConfigError` for names and objects together.
    """
    if judge is None:
        return None, ()
    if isinstance(judge, Mapping):
        return judge, ()
    if isinstance(judge, str):
        return {"evaluator": judge}, ()
    if not isinstance(judge, Sequence):
        return None, (judge,)
    names = [one_judge for one_judge in judge if isinstance(one_judge, str)]
    if len(names) == len(judge):
        return {"evaluator": judge}, ()
    if names:
        raise ConfigError(
            f"judge: {names[0]!r} is a name, but other judges are objects: give only names, or only objects"
        )
    return None, tuple(cast("Sequence[Evaluator]", judge))


def split_models(
    llms: Mapping[Role, LLM | AsyncOpenAI] | None,
) -> tuple[dict[Role, LLM], dict[Role, AsyncOpenAI]]:
    """The models, and the clients of the ``openai`` package, by role. Raises :class:`ConfigError`."""
    models: dict[Role, LLM] = {}
    clients: dict[Role, AsyncOpenAI] = {}
    for role, model in mapping_of(llms, "llms: expected a model for each role, as in {'judge': model}").items():
        if is_sdk_client(model):
            clients[role] = model
        else:
            models[role] = model
    return models, clients


def refuse_uncallable(**functions: object) -> None:
    """Raise :class:`ConfigError` for an argument that is given, and isn't a function."""
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise ConfigError(f"{name}: expected a function, not {function!r:.80}")


def loaded(
    config_file: str | Path | None,
    given: Mapping[str, Any],
    glossary: Terms | str | Path | None,
    keep: Iterable[str] | str | Path | None,
    arguments: Collection[str] = (),
) -> tuple[Config, GlossaryFor]:
    """The configuration, and the terms to use, from files or as given. Raises :class:`ConfigError`.

    ``arguments`` of the caller may be meant by an unknown setting.
    """
    files: dict[str, str | Path] = {}
    if isinstance(glossary, str | Path):
        files["glossary"] = glossary
    if isinstance(keep, str | Path):
        files["keep"] = keep
    if config_file is not None and not (isinstance(config_file, str | Path) and str(config_file).strip()):
        raise ConfigError(f"config_file: expected a path, not {config_file!r:.80}")
    file = None if config_file is None else Path(config_file)
    config = configuration.load(file, {**given, **files}, arguments=arguments)
    terms = () if "glossary" in files else terms_of(glossary)  # type: ignore[arg-type]
    kept = list[Term]()
    if "keep" not in files and keep is not None:
        if not isinstance(keep, Iterable):
            raise ConfigError(f"keep: expected a file or a list of words, not {keep!r:.80}")
        words = list(keep)
        for word in words:
            if not isinstance(word, str) or not word.strip():
                raise ConfigError(f"keep: expected words, not {word!r:.80}")
        kept = [Term(source=word) for word in words]
    for name, what, given_terms in (("glossary", "the glossary", terms), ("keep", "the list of words", kept)):
        if given_terms:
            configuration.refuse_idle_terms(config, name, what)
    return config, read_terms(config.glossary, config.keep, terms, kept)


def terms_of(terms: Terms | None) -> tuple[Term, ...]:
    """Terms given as ``{"source": "target"}``, as records, or as a glossary. Raises :class:`ConfigError`."""
    if terms is None:
        return ()
    if isinstance(terms, Glossary):
        return terms.terms
    if isinstance(terms, Mapping):
        try:
            return tuple(Term(source=source, target=target) for source, target in terms.items())
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"terms: {first['loc'][0]} {first['input']!r:.80}: {first['msg'].lower()}") from None
    if not isinstance(terms, Iterable):
        raise ConfigError(f"terms: {terms!r:.80} are not terms: give a mapping from source to target, or Term records")
    records = tuple(terms)
    for term in records:
        if not isinstance(term, Term):
            raise ConfigError(f"terms: {term!r} is not a term: give a mapping from source to target, or Term records")
    return records


def segments_of(
    texts: str | Iterable[str],
    translations: str | Iterable[str] | None,
    source_lang: str,
    target_lang: str,
    about: TextDetails,
) -> list[Segment]:
    """Make segments of one text or several, with their details ``about``. Raises :class:`ConfigError`."""
    for name in about:
        if name not in TextDetails.__annotations__:
            names = ", ".join(TextDetails.__annotations__)
            raise TypeError(f"unexpected keyword argument {name!r}; expected one of: {names}")
    if isinstance(texts, str):
        if translations is not None and not isinstance(translations, str):
            raise ConfigError("give one translation for one text, and a list of translations for a list of texts")
        texts = [texts]
        if translations is not None:
            translations = [translations]
    details = {"context": about.get("context"), "domain": about.get("domain"), "notes": about.get("instructions")}
    fields = {name: value for name, value in details.items() if value}
    segments = []
    for segment in make_segments(texts, translations, source_lang, target_lang):
        segments.append(segment.model_copy(update=fields))
    terms = Glossary(terms_of(about.get("terms")))
    return list(with_terms(segments, lambda *_: terms))


def make_segments(
    sources: Iterable[str], translations: Iterable[str] | None, source_lang: str, target_lang: str
) -> list[Segment]:
    """Make segments numbered from 1, each with its translation, if ``translations`` are given.

    The source language ``"auto"`` is for MT systems that detect it. Raises :class:`ConfigError` for anything but texts,
    and for different numbers of sources and translations.
    """
    sources = texts_of(sources, "source")
    texts: list[Any] = [None] * len(sources)
    if translations is not None:
        texts = texts_of(translations, "translation")
    if len(texts) != len(sources):
        raise ConfigError(f"{len(sources)} sources and {len(texts)} translations: there must be one for each")
    given_languages: tuple[tuple[str, Any], ...] = (("source_lang", source_lang), ("target_lang", target_lang))
    for name, language in given_languages:
        if not isinstance(language, str):
            hint = '; for an MT system that detects it, write "auto"' if name == "source_lang" else ""
            raise ConfigError(f"{name}: expected a language code such as 'en', not {language!r:.80}{hint}")
    source_lang = languages.UNKNOWN if source_lang == "auto" else languages.normalise(source_lang)
    target_lang = languages.normalise(target_lang)
    return [
        Segment(id=str(i), source=source, translation=translation, source_lang=source_lang, target_lang=target_lang)
        for i, (source, translation) in enumerate(zip(sources, texts, strict=True), 1)
    ]


def texts_of(given: Iterable[str], what: str) -> list[str]:
    """The texts of ``given``, whatever can be iterated over in order. Raises :class:`ConfigError` for anything else."""
    if isinstance(given, str | bytes):
        raise ConfigError("give a list of texts, not one text")
    if isinstance(given, Mapping | set | frozenset) or not isinstance(given, Iterable):
        raise ConfigError(f"give a list of texts as {what}s, not {type(given).__name__} {given!r:.80}")
    texts = list(given)
    for i, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise ConfigError(f"{what} {i}: expected a text, not {text!r}")
    return texts


# -- settings that do nothing in an agent

FOREIGN = {
    "source_lang": "name the languages of each text",
    "target_lang": "name the languages of each text",
    "run": "name the run in agent.run(NAME)",
    "limit": "pass only as many segments as you need",
    "give_up_after": "leave the loop over agent.stream(…) when too many chains have failed",
}
"""Settings of the configuration that an agent doesn't have, with what to do instead."""
SERVER_SETTINGS = {
    *("client", "instrumented", "api_key", "headers", "http_client", "prices"),
    *("requests_per_minute", "tokens_per_minute", "timeout", "deadline"),
}
"""Settings for the servers of models, which a model object doesn't use."""
CLIENT_SETTINGS = {*SERVER_FIELDS, "api_key_env"}
"""Settings that a client of the ``openai`` package has of its own."""
NO_MODEL = "this agent uses no model; set OPENAI_API_KEY, or give base_url, model or llm, and a part that uses it"


def refuse_foreign(given: Mapping[str, Any]) -> None:
    """Raise :class:`ConfigError` for settings that an agent doesn't have."""
    for name in given:
        if name in FOREIGN:
            raise ConfigError(f"{name}: has no effect in an agent: {FOREIGN[name]}")


def refuse_idle(given: Mapping[str, Any], config: Config, own: OwnParts) -> CheckedPlan:
    """Make the plan of an agent. Raises :class:`ConfigError` for settings ``given`` that don't work or do nothing.

    Settings with their default value are accepted, and so are settings in a file, which may be for other commands.
    """
    defaults = Config()
    checked = checked_plan(config, own)
    objects: dict[str, Any] = {}
    for name in _OBJECTS:
        if getattr(own, name):
            objects[name] = getattr(own, name)
    if own.judges:
        objects["judge"] = own.judges
    if own.clients:
        objects["llms"] = {**own.llms, **own.clients}
    for name in {**given, **objects}:
        is_default = name in Config.model_fields and getattr(config, name) == getattr(defaults, name)
        if is_default and name not in objects:
            continue
        reason = _why_idle(name, objects.get(name, given.get(name)), checked, own)
        if reason:
            raise ConfigError(f"{name}: {reason}")
    return checked


_OF_JUDGES = ("llms", "judge", "judge_model", "margin", "samples", "quorum", "cautious", "ask_all")


def _why_idle(name: str, value: Any, checked: CheckedPlan, own: OwnParts) -> str | None:
    """Why the setting ``name`` does nothing; ``None`` if it does something."""
    plan, config, stages = checked.plan, checked.config, checked.plan.stages
    if name in ModelSettings.model_fields or name in SERVER_SETTINGS:
        if own.llm is not None and (name in ModelSettings.model_fields or not checked.asks_server):
            return _THE_MODELS
        if own.llms and checked.roles and not checked.asks_server:
            return _THE_MODELS
        if own.client is not None and name in CLIENT_SETTINGS:
            return _THE_CLIENTS
        return None if checked.asks_server else NO_MODEL
    if name in _OF_JUDGES or name in get_args(Role):
        return _why_idle_in_role(name, value, checked, own)
    if name == "llm" and own.client is not None and config.llm not in (None, "openai"):
        return "the client that you pass (client) would be called instead: leave one of the two out"
    if name in ("llm", "budget", "token_budget", "instructions", "instructions_for", "prompts"):
        return None if checked.roles else NO_MODEL
    if name in ("domain", "context"):
        # Only an object of the user's may read them besides models.
        reads_segments = (own.evaluator, own.gate, own.triage, *own.judges)
        own_translator = own.translator is not None and not isinstance(own.translator, CallableTranslator)
        return None if checked.roles or any(reads_segments) or own_translator else NO_MODEL
    if name == "gate_calls":
        if isinstance(plan.gate, OpenGate):
            return f"the gate {plan.gate.name} uses no judge"
        return _needs_edits(stages)
    if name == "translator":
        return None if "translate" in stages else f"translate is not among the stages ({','.join(stages)})"
    if name == "evaluator":
        has_own_judge = own.gate is not None or own.judges or config.judges
        if config.gate in ("rate", "gain") and not has_own_judge:
            return None  # the evaluator is the judge
        return _needs_postedit(stages)
    if name in ("fix", "forced", "on_ambiguous", "rules_first", "proposals"):
        return _needs_postedit(stages) or _why_idle_in_postedit(name, config, own)
    if name == "strategy":
        return _needs_edits(stages)
    if name == "stop_when_error_free":
        return _needs_edits(stages) or ("needs at least two stages" if len(stages) == 1 else None)
    if name in ("store", "log"):
        path: Path | None = getattr(config, name)
        if path is not None and path.is_dir():
            return f"expected a file, but {path} is a folder"
        return None
    if name == "comet_python":
        names = {_name(spec) for spec in (config.evaluator, *judge_specs(config), config.triage) if spec}
        return None if names.intersection(USUAL) else "no COMET model is the evaluator, a judge or triage"
    if name in ("skip_guards", "embeddings") and plan.gate.name == "none":
        return "the gate none uses no guards"
    if name == "embeddings" and "length" in plan.skip_guards:
        return "embeddings are for the guard length, which is switched off"
    return None


_OBJECTS = (
    *("translator", "gate", "llm", "llms", "triage"),
    *("evaluator", "client", "instrumented", "api_key", "headers", "http_client"),
)
"""What a user can pass as an object, and not only as a name in the configuration."""
_THE_CLIENTS = "the client that you pass (client, llms) has its own address, keys and headers; set them there"
_THE_MODELS = "the model that you pass (llm, llms) has its own settings; set it there"


def _why_idle_in_role(name: str, value: Any, checked: CheckedPlan, own: OwnParts) -> str | None:
    """The same for settings of one role's model or of the judges."""
    plan, config, edits_nothing = checked.plan, checked.config, _needs_edits(checked.plan.stages)
    roles = set(checked.roles)
    if name == "llms":
        for llm_role in value:
            if llm_role not in roles:
                return f"this agent uses no model as {llm_role!r}"
        return None
    role: Role = "judge" if name == "judge_model" else name  # type: ignore[assignment]
    if role in get_args(Role):
        table: ModelSettings = getattr(config, role)
        model = config.judge_model if name == "judge_model" else table.model
        if role in own.clients and any(getattr(table, field) is not None for field in CLIENT_SETTINGS):
            return _THE_CLIENTS
        sets_model = bool(table.model_dump(exclude_none=True, exclude={"evaluator"}))
        if sets_model and (role in own.llms or (own.llm is not None and model is None and table.base_url is None)):
            return _THE_MODELS
        is_inherited = role == "postedit" and "judge" in roles  # a judge has the post-editor's settings by default
        if role != "judge":
            return None if role in roles or is_inherited else f"this agent uses no model as {role!r}"
    if own.gate is not None:
        return "the gate that you pass (gate) has its own settings; set it there"
    if edits_nothing:
        return f"{edits_nothing}, so no judge is used"
    if isinstance(plan.gate, OpenGate):
        return f"the gate {plan.gate.name} uses no judge; leave gate out, or name a judge or a model"
    if name == "judge_model" or (name == "judge" and not own.judges and not config.judges):
        return None if "judge" in roles else "the judges of this agent use no model"
    if name == "ask_all" and config.gate != "gain":
        return f"the gate {config.gate} always asks all judges; only the gate gain asks some of them first"
    if name == "samples":
        if not own.judges and any(asks_model(_name(spec)) for spec in judge_specs(config)):
            return None
        return "the judges give the same rating each time; only judges that use a model can rate several times"
    return None


def _why_idle_in_postedit(name: str, config: Config, own: OwnParts) -> str | None:
    """The same for settings of the post-editor."""
    spec = config.evaluator or "rules"
    if name == "forced" and (own.evaluator is not None or not takes_forced(spec)):
        return "this evaluator cannot be forced to find errors"
    if name == "proposals" and own.evaluator is None and not may_ask_model(spec):
        return f"the evaluator {spec} gives the same rating each time"
    if name == "rules_first" and config.rules_first and _name(spec) == "rules":
        return "the evaluator rules already is the post-editor"
    if name == "on_ambiguous" and config.strategy == "paper":
        return "the strategy paper replaces every occurrence"
    return None


def _name(spec: str) -> str:
    return spec.partition(":")[0]


def _needs_postedit(stages: tuple[str, ...]) -> str | None:
    return None if "postedit" in stages else f"postedit is not among the stages ({','.join(stages)})"


def _needs_edits(stages: tuple[str, ...]) -> str | None:
    if {"postedit", "proofread", "rerank"}.intersection(stages):
        return None
    return f"none of the stages ({','.join(stages)}) edits"
