"""What an evaluator is, what it must give back, the signature of its ratings, and the evaluators by name."""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, runtime_checkable

from pydantic import ValidationError

from mtagent.config import parse_spec, typed_options
from mtagent.errors import FATAL, ConfigError, EvaluationError, MtagentError, calls_of
from mtagent.llm.dialogue import Dialogue, settled
from mtagent.llm.prompts import Prompt, described
from mtagent.llm.protocol import LLM
from mtagent.llm.request import settings_of
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text import mqm, paragraphs, scripts
from mtagent.text.mqm import Preset
from mtagent.text.spans import find_spans
from mtagent.version import __version__

if TYPE_CHECKING:
    from mtagent.config import Config
    from mtagent.evaluators.pairwise import Pairwise


@runtime_checkable
class Evaluator(Protocol):
    """Rates a translation."""

    name: str

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation`` of ``segment``. Raises :class:`mtagent.errors.MtagentError`, never guesses."""
        ...


@runtime_checkable
class RatesTogether(Evaluator, Protocol):
    """An evaluator that rates several translations of one source, and uses what it learns for the later ones."""

    async def rate_all(self, segment: Segment, translations: Sequence[str]) -> list[Rating | MtagentError]:
        """One rating, or the error in its place, for each of ``translations``, in order."""
        ...


@runtime_checkable
class RatesSystems(Evaluator, Protocol):
    """An evaluator that must know whose translation it rates: what it knows may concern one system only."""

    async def rate_system(self, segment: Segment, translation: str, system: str, *, alone: bool) -> Rating:
        """Rate the ``translation`` that ``system`` made.

        ``alone``: no other system is rated beside it, so that ``system`` may be the name of any file.
        """
        ...


@runtime_checkable
class Suggests(Evaluator, Protocol):
    """An evaluator that suggests corrections. If ``suggests`` is true, a span without a suggestion stays as it is."""

    suggests: bool


@runtime_checkable
class HasBestScore(Evaluator, Protocol):
    """An evaluator whose ``best_score`` means that a text is free of errors."""

    best_score: float


@runtime_checkable
class HasWeights(Evaluator, Protocol):
    """An evaluator whose score is the :func:`mtagent.text.mqm.score` of its errors by these weights."""

    weights: Preset


@runtime_checkable
class CountsCalls(Evaluator, Protocol):
    """An evaluator that knows the fewest and the most calls of one rating, for ``mtagent estimate``."""

    calls: tuple[int, int]


@runtime_checkable
class Signed(Protocol):
    """An evaluator or a gate that states what its decisions depend on."""

    name: str

    @property
    def signature(self) -> str:
        """Name, model, prompts, settings, options and version, as :func:`signed` writes them."""
        ...


def counts_calls(evaluator: object) -> bool:
    """Whether ``evaluator`` is known to ask a model, and so to show a segment's notes to it."""
    return isinstance(evaluator, CountsCalls) and evaluator.calls[1] > 0


def suggests_edits(evaluator: Evaluator) -> bool:
    """Whether ``evaluator`` suggests every edit that it wants itself."""
    return bool(getattr(evaluator, "suggests", False))


def signed(name: str, llm: LLM, prompts: Iterable[Prompt | str], *parts: str, **options: object) -> str:
    """Name, model, prompts with version and content hash, sampling settings, ``parts``, ``options`` and version.

    As in ``gemba-mqm|model:m|prompt:gemba-mqm@1#0a1b2c3d|temperature:0.0|reference:no|weights:gemba|version:0.1.0``. A
    text among the ``prompts`` stands there as it is.
    """
    shown_prompts = [prompt if isinstance(prompt, str) else f"prompt:{prompt.signature}" for prompt in prompts]
    answers: dict[object, object] = {True: "yes", False: "no"}
    shown = [f"{option}:{answers[value] if isinstance(value, bool) else value}" for option, value in options.items()]
    return "|".join(
        [
            name,
            f"model:{llm.model}",
            *shown_prompts,
            *settings_of(llm),
            *parts,
            *shown,
            f"version:{__version__}",
        ]
    )


def rated(
    evaluator: Signed, dialogue: Dialogue, score: float, errors: tuple[ErrorSpan, ...] | None = None, **more: Any
) -> Rating:
    """The rating that ``evaluator`` gives at the end of its ``dialogue``."""
    return Rating(
        evaluator=evaluator.name,
        score=score,
        errors=errors,
        calls=tuple(dialogue.calls),
        signature=evaluator.signature,
        seconds=dialogue.seconds,
        **more,
    )


LOOKS_LIKE = "an evaluator is an object with `name`, a text, and `async def rate(self, segment, translation) -> Rating`"
GIVES = "`rate` must be `async def` and return a Rating with a finite score"
_AWAITED = ("Awaitable", "Coroutine", "Future")


class Named(Protocol):
    """Whatever has a name, and maybe a ``signature``."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


def checked_evaluator(evaluator: object) -> Evaluator:
    """``evaluator``, if it looks like one. Raises :class:`ConfigError`, which says what is missing."""
    kind = type(evaluator).__name__
    if isinstance(evaluator, type):
        raise ConfigError(f"{evaluator.__name__} is a class: pass an object of it; {LOOKS_LIKE}")
    if not callable(getattr(evaluator, "rate", None)):
        raise ConfigError(f"{kind} has no method `rate`; {LOOKS_LIKE}")
    name = getattr(evaluator, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"{kind} has no `name` that is a text; {LOOKS_LIKE}")
    for method in ("rate", "rate_all"):
        function = getattr(evaluator, method, None)
        if not (inspect.ismethod(function) or inspect.isfunction(function)):
            continue  # what else can be called shows only when it is
        original = inspect.unwrap(function)
        returns = str(getattr(original, "__annotations__", {}).get("return", ""))
        if not (inspect.iscoroutinefunction(original) or any(word in returns for word in _AWAITED)):
            raise ConfigError(f"{kind}.{method} is not async: write `async def`; {LOOKS_LIKE}")
        try:
            inspect.signature(function).bind(None, None)
        except TypeError as error:
            raise ConfigError(
                f"{kind}.{method} cannot be called with a segment and what to rate of it ({error}); {LOOKS_LIKE}"
            ) from None
    return cast(Evaluator, evaluator)


async def rating_by(
    evaluator: Evaluator, segment: Segment, translation: str, *, with_neighbours: bool = True
) -> Rating:
    """What ``evaluator`` says about ``translation``, with a warning about spans that do not occur in it.

    A long text is rated paragraph by paragraph by a model that marks errors whose weights make the score;
    ``with_neighbours`` shows it the paragraphs around each. Raises :class:`EvaluationError` where that is no rating
    with a finite score, and whatever the evaluator raises.
    """
    rating = await rating_as_given(evaluator, segment, translation, with_neighbours=with_neighbours)
    return with_absent_spans_noted(rating, translation)


async def rating_as_given(
    evaluator: Evaluator, segment: Segment, translation: str, *, with_neighbours: bool = True
) -> Rating:
    """The same without the warning."""
    cut = reviewed_paragraphs(evaluator, segment, translation)
    if not with_neighbours:
        alone = {"context": segment.context}
        cut = [part._replace(segment=part.segment.model_copy(update=alone)) for part in cut]
    if cut:
        assert isinstance(evaluator, HasWeights)
        rating = await rated_in_paragraphs(partial(_rating_of_one, evaluator), cut, translation, evaluator.weights)
        return checked_rating(rating, evaluator)
    return await _rating_of_one(evaluator, segment, translation)


def reviewed_paragraphs(evaluator: Evaluator, segment: Segment, translation: str) -> list[Paragraph]:
    """The paragraphs that ``evaluator`` rates one by one; none where it rates the text at once."""
    if getattr(evaluator, "calls", (0, 0)) == (0, 0) or getattr(evaluator, "weights", None) is None:
        return []
    return paragraphs_of(segment, translation)


async def _rating_of_one(evaluator: Evaluator, segment: Segment, translation: str) -> Rating:
    return checked_rating(await _awaited(evaluator, "rate", segment, translation), evaluator)


async def ratings_by(
    evaluator: RatesTogether, segment: Segment, translations: Sequence[str]
) -> Sequence[Rating | Exception]:
    """What ``evaluator`` says about all ``translations``. Only the number of ratings is checked."""
    ratings = await _awaited(evaluator, "rate_all", segment, translations)
    if not isinstance(ratings, Sequence):
        raise EvaluationError(f"{evaluator.name} gave {_shown(ratings)}: `rate_all` must return a list of ratings")
    if len(ratings) != len(translations):
        raise EvaluationError(f"{evaluator.name} gave {len(ratings)} ratings for {len(translations)} translations")
    return ratings


def checked_rating(rating: object, evaluator: Evaluator) -> Rating:
    """``rating``, if it is one with a finite score. Raises :class:`EvaluationError` with the calls it cost."""
    if not isinstance(rating, Rating):
        raise EvaluationError(f"{evaluator.name} gave {_shown(rating)}: {GIVES}")
    score: object = rating.score  # built without validation, it may be anything
    if isinstance(score, int | float) and isfinite(score):
        return rating
    error = EvaluationError(f"{evaluator.name} gave the score {score!r}: {GIVES}")
    error.calls = rating.calls
    raise error


_MOST_SHOWN = 3  # spans in a warning
_LONGEST_SHOWN = 40  # characters of each


def with_absent_spans_noted(rating: Rating, translation: str) -> Rating:
    """``rating`` with a warning that names marked spans which do not occur in ``translation``; they count all the same.

    Words of the source, and words that are missing from the translation, are not looked for.
    """
    unplaced = []
    for error in rating.errors or ():
        if error.side == "translation" and error.start is None and error.text:  # a missing mark has no text
            unplaced.append(error)
    if not unplaced:
        return rating
    findings = find_spans(translation, unplaced)
    absent = [error.text for error, finding in zip(unplaced, findings, strict=True) if not finding.places]
    if not absent:
        return rating
    shown = ", ".join(repr(text[:_LONGEST_SHOWN]) for text in absent[:_MOST_SHOWN])
    more = f" and {len(absent) - _MOST_SHOWN} more" if len(absent) > _MOST_SHOWN else ""
    warning = f"it marks what does not occur in the translation: {shown}{more}"
    return rating.model_copy(update={"warnings": (*rating.warnings, warning)})


async def _awaited(evaluator: Evaluator, method: str, segment: Segment, rated: object) -> object:
    """What ``method`` of ``evaluator`` gives. Raises :class:`EvaluationError` for a plain method, and for a record that
    it could not make.
    """
    culprit: object
    try:
        result = getattr(evaluator, method)(segment, rated)
        if inspect.isawaitable(result):
            return await result
        why, culprit = f"gave {_shown(result)} without being awaited: `{method}` is not async", result
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, (error.title, *first["loc"])))
        why = f"made an impossible record: {where}: {first['msg']} (got {first['input']!r:.80}); {GIVES}"
        culprit = error
    failure = EvaluationError(f"{evaluator.name} {why}")
    failure.calls = tuple(getattr(culprit, "calls", ()))
    raise failure


def _shown(result: object) -> str:
    return "nothing" if result is None else f"{type(result).__name__} {result!r:.80}"


def signature_of(part: Named) -> str:
    """The ``signature`` of an evaluator or a gate, or its class and a hash of the file in which that is written.

    The file is left out where it cannot be read. What it imports, and the options of the object, are not seen.
    """
    if isinstance(part, Signed) and part.signature:
        return part.signature
    kind = type(part)
    try:
        source = Path(inspect.getsourcefile(kind) or "").read_bytes()
        written_in = f"#{hashlib.sha256(source).hexdigest()[:8]}"
    except (OSError, TypeError):
        written_in = ""
    return f"{part.name} (no signature)|class:{kind.__module__}.{kind.__qualname__}{written_in}"


# Long texts, rated paragraph by paragraph: a reviewer of pages overlooks what a reviewer of a paragraph sees

LONG = 2000
"""Letters of the source, weighted by script: as many English ones fill a page."""


class Paragraph(NamedTuple):
    """A paragraph as a segment of its own, its translation, and where both begin in the whole texts."""

    segment: Segment
    text: str
    source_start: int
    start: int


def paragraphs_of(segment: Segment, translation: str) -> list[Paragraph]:
    """The paragraphs of a long text, each with its neighbours as context; none where the sides have not as many."""
    if len(segment.source) < LONG / 3 or scripts.letters(segment.source) <= LONG:
        return []
    source, text = paragraphs.split(segment.source), paragraphs.split(translation)
    number = len(source.texts)
    if number < 2 or len(text.texts) != number:
        return []
    references = paragraphs.split(segment.reference).texts if segment.reference else ()
    cut = []
    source_start = start = 0
    for i in range(number):
        source_start, start = source_start + len(source.separators[i]), start + len(text.separators[i])
        before = [(source.texts[i - 1], text.texts[i - 1])] if i else []
        following = source.texts[i + 1] if i + 1 < number else None
        around = filter(None, (segment.context, described(before, following, paragraphs=True)))
        changes: dict[str, str | None] = {"source": source.texts[i], "context": "\n".join(around)}
        if references:
            changes["reference"] = references[i] if len(references) == number else segment.reference
        cut.append(Paragraph(segment.model_copy(update=changes), text.texts[i], source_start, start))
        source_start, start = source_start + len(source.texts[i]), start + len(text.texts[i])
    return cut


async def rated_in_paragraphs(
    rate: Callable[[Segment, str], Awaitable[Rating]], cut: list[Paragraph], translation: str, weights: mqm.Preset
) -> Rating:
    """One rating of ``translation`` from those of its paragraphs, which are asked for at once.

    Where one of them fails, all have ended before its error is raised, with the calls of all.
    """
    began = time.perf_counter()
    results = await settled(*(rate(part.segment, part.text) for part in cut))
    ratings = [result for result in results if isinstance(result, Rating)]
    if failures := [result for result in results if isinstance(result, BaseException)]:
        failure = next((error for error in failures if isinstance(error, FATAL)), failures[0])
        paid = (result.calls if isinstance(result, Rating) else calls_of(result) for result in results)
        setattr(failure, "calls", tuple(call for calls in paid for call in calls))  # noqa: B010 may be anybody's
        raise failure
    errors: list[ErrorSpan] = []
    for part, rating in zip(cut, ratings, strict=True):
        for error in rating.errors or ():
            shift = part.source_start if error.side == "source" else part.start
            if error.start is not None and error.end is not None:
                error = error.model_copy(update={"start": error.start + shift, "end": error.end + shift})
            errors.append(error)
    correction = None
    if any(rating.correction is not None for rating in ratings):
        corrected = [
            part.text if rating.correction is None else rating.correction
            for part, rating in zip(cut, ratings, strict=True)
        ]
        correction = paragraphs.join(corrected, paragraphs.split(translation).separators)
    trusts = [rating.confidence for rating in ratings if rating.confidence is not None]
    return ratings[0].model_copy(
        update={
            "score": mqm.score(errors, weights),
            "errors": tuple(errors),
            "explanation": "\n".join(rating.explanation for rating in ratings if rating.explanation) or None,
            "calls": tuple(call for rating in ratings for call in rating.calls),
            "signature": f"{ratings[0].signature}|paragraphs:{len(cut)}" if ratings[0].signature else "",
            "correction": correction,
            "confidence": min(trusts, default=None),
            "gaps": tuple(gap for rating in ratings for gap in rating.gaps),
            "warnings": tuple(warning for rating in ratings for warning in rating.warnings),
            "seconds": time.perf_counter() - began,
        }
    )


# Evaluators by name: from ``m-mad:strategy=deliberation,rounds=2`` to the object that rates

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
_USUAL = "gemba-mqm"  # whose errors are checked, if nothing is said: those that the paper checks
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_CALLED_WITH = "an entry point is called with the configuration, the model (or None) and, by name, the options"


@dataclass(frozen=True)
class Surroundings:
    """What an evaluator may need besides its options. Each field goes to the parameter of that name, if there is one.

    ``data_folder`` is where calibrations are kept. ``another`` gives a model by its name, which is asked
    like ``llm`` otherwise.
    """

    llm: LLM | None
    config: Config
    data_folder: Path
    another: Callable[[str], LLM | None] | None = None

    def arguments(self) -> dict[str, Any]:
        """What can be passed on, by parameter. ``llm`` is left out if there is none."""
        arguments = {
            "prompts_folder": self.config.prompts,
            "data_folder": self.data_folder,
            "forced": self.config.forced,
        }
        return arguments if self.llm is None else {"llm": self.llm, **arguments}


def make_evaluator(spec: str, surroundings: Surroundings) -> Evaluator:
    """The evaluator that ``NAME[:OPTION=VALUE,...]`` names. Raises :class:`ConfigError` naming the culprit."""
    name, options = parse_spec(spec)
    if name == PAIRWISE:
        raise ConfigError(f"{name} compares two texts and rates none: name it with --judge")
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
    """Whether the judge or evaluator ``name`` asks a model; not known, and so denied, of other packages' ones."""
    return name == PAIRWISE or (name in EVALUATORS and "llm" in inspect.signature(_kind(name)).parameters)


def may_ask_model(spec: str) -> bool:
    """Whether the evaluator that ``spec`` names asks a model, or may do so, being another package's."""
    name = parse_spec(spec)[0]
    return name not in EVALUATORS or asks_model(name)


def takes_forced(spec: str) -> bool:
    """Whether the evaluator that ``spec`` names can be made to mark at least one error."""
    name, options = parse_spec(spec)
    if name in EVALUATORS and "evaluator" in inspect.signature(_kind(name)).parameters:
        name = options.get("evaluator", _USUAL)
    return name not in EVALUATORS or "forced" in inspect.signature(_kind(name)).parameters


def _kind(name: str) -> Any:
    module, _, attribute = EVALUATORS[name].partition(":")
    return getattr(import_module(module), attribute)


def _made(name: str, kind: Any, options: Mapping[str, str], surroundings: Surroundings, **parts: object) -> object:
    parameters = inspect.signature(kind).parameters
    arguments = {key: value for key, value in surroundings.arguments().items() if key in parameters}
    if "llm" in parameters and "llm" not in arguments:
        raise ConfigError(
            f"{name} asks a model, and there is none: set OPENAI_API_KEY, or give --base-url or --llm local"
        )
    return kind(**{**arguments, **parts, **typed_options(f"evaluator {name}", kind, options)})


def _around(name: str, kind: Any, options: Mapping[str, str], surroundings: Surroundings) -> Evaluator:
    """An evaluator that checks what another one marks: the options that it does not have itself are the other's."""
    own = {parameter.name for parameter in inspect.signature(kind).parameters.values() if parameter.kind is _KEYWORD}
    left = {key: value for key, value in options.items() if key not in own}
    inner, model = left.pop("evaluator", _USUAL), left.pop("judge_model", None)
    if not inner or inner == name:
        raise ConfigError(f"{name} checks the errors that another evaluator marks: write {name}:evaluator={_USUAL}")
    if ":" in inner:
        raise ConfigError(
            f"{name}: the options of the other evaluator stand beside it: write {name}:evaluator="
            f"{inner.replace(':', ',', 1)}"
        )
    spec = ",".join(f"{key}={value}" for key, value in left.items())
    parts = {"evaluator": make_evaluator(f"{inner}:{spec}" if spec else inner, surroundings)}
    if model is not None:
        llm = surroundings.another(model) if surroundings.another else None
        if llm is None:
            raise ConfigError(f"{name}: judge-model={model}: there is no way to ask another model here")
        parts["judge"] = cast(Evaluator, make_pairwise(PAIRWISE, replace(surroundings, llm=llm)))
    own_options = {key: value for key, value in options.items() if key in own}
    return cast(Evaluator, _made(name, kind, own_options, surroundings, **parts))


def evaluator_names() -> list[str]:
    """All names, including those from other packages."""
    return sorted({*EVALUATORS, *(entry.name for entry in entry_points(group="mtagent.evaluators"))})


def _foreign(name: str, options: Mapping[str, str], surroundings: Surroundings) -> Evaluator:
    """The evaluator that another package offers as ``name``. Whatever is wrong with it is a :class:`ConfigError`."""
    others = {entry.name: entry for entry in entry_points(group="mtagent.evaluators")}
    if name not in others:
        near = get_close_matches(name, evaluator_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(evaluator_names())}"
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
    known = list(options)
    with suppress(ValueError):  # a callable that does not tell takes any option, as one with **options does
        parameters = list(inspect.signature(make).parameters.values())
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            behind = [parameter for i, parameter in enumerate(parameters) if i >= 2 or parameter.kind is _KEYWORD]
            by_name = (_KEYWORD, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            known = [parameter.name for parameter in behind if parameter.kind in by_name]
    try:
        typed = typed_options(f"evaluator {entry.name}", make, options, known)
        evaluator = make(surroundings.config, surroundings.llm, **typed)
    except MtagentError:
        raise
    except Exception as error:
        raise ConfigError(f"{where} cannot be made: {type(error).__name__}: {error}; {_CALLED_WITH}") from error
    try:
        return checked_evaluator(evaluator)
    except ConfigError as error:
        raise ConfigError(f"{where} gave no evaluator: {error}") from None
