"""What an evaluator is, what it must give back, and the signature of its ratings."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from pydantic import ValidationError

import mtagent
from mtagent.errors import ConfigError, EvaluationError, MtagentError
from mtagent.evaluators.long_texts import Paragraph, paragraphs_of, rated_in_paragraphs
from mtagent.llm.prompts import Prompt
from mtagent.llm.protocol import LLM
from mtagent.llm.request import settings_of
from mtagent.records import Rating, Segment
from mtagent.text.mqm import Preset


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


def suggests_edits(evaluator: Evaluator) -> bool:
    """Whether ``evaluator`` suggests every edit that it wants itself."""
    return isinstance(evaluator, Suggests) and evaluator.suggests


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
            f"version:{mtagent.__version__}",
        ]
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


async def rating_by(evaluator: Evaluator, segment: Segment, translation: str) -> Rating:
    """What ``evaluator`` says about ``translation``.

    A long text is rated paragraph by paragraph by a model that marks errors whose weights make the score. Raises
    :class:`EvaluationError` where that is no rating with a finite score, and whatever the evaluator raises.
    """
    if cut := reviewed_paragraphs(evaluator, segment, translation):
        assert isinstance(evaluator, HasWeights)
        rating = await rated_in_paragraphs(partial(_rating_of_one, evaluator), cut, translation, evaluator.weights)
        return checked_rating(rating, evaluator)
    return await _rating_of_one(evaluator, segment, translation)


def reviewed_paragraphs(evaluator: Evaluator, segment: Segment, translation: str) -> list[Paragraph]:
    """The paragraphs that ``evaluator`` rates one by one; none where it rates the text at once."""
    asks = getattr(evaluator, "calls", (0, 0)) != (0, 0) and isinstance(evaluator, HasWeights)
    return paragraphs_of(segment, translation) if asks else []


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
