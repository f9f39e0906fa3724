"""What an evaluator is, and the signature of its ratings."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Protocol, TypeGuard, cast, runtime_checkable

from mtagent.errors import ConfigError, MtagentError
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.prompts import Prompt
from mtagent.llm.protocol import LLM
from mtagent.llm.request import settings_of
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text.mqm import Preset
from mtagent.version import __version__


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

        ``alone``: no other system is rated together with it, so that ``system`` may be the name of any file.
        """
        ...


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


# isinstance() with a protocol takes long, and these functions are called for each text.


def rates_together(evaluator: object) -> TypeGuard[RatesTogether]:
    """Whether ``evaluator`` rates several translations of one source together."""
    return hasattr(evaluator, "rate_all")


def stated_calls(evaluator: object) -> tuple[int, int] | None:
    """The fewest and the most calls of a rating, as ``evaluator`` states them; ``None`` if it does not."""
    match getattr(evaluator, "calls", None):
        case (int(fewest), int(most)):
            return fewest, most
    return None


def counts_calls(evaluator: object) -> bool:
    """Whether ``evaluator`` is known to call a model, and so to show a segment's notes to it."""
    match getattr(evaluator, "calls", None):
        case (_, Real() as most):  # an evaluator of another package may state other numbers than int
            return float(most) > 0
    return False


def asks_no_model(evaluator: object) -> bool:
    """Whether ``evaluator`` is known to call no model, as the rules."""
    return stated_calls(evaluator) == (0, 0)


def suggests_edits(evaluator: Evaluator) -> bool:
    """Whether ``evaluator`` itself suggests every edit, so that a span without a suggestion stays as it is."""
    return bool(getattr(evaluator, "suggests", False))


def signed(name: str, llm: LLM, prompts: Iterable[Prompt | str], *parts: str, **options: object) -> str:
    """Name, model, prompts with version and content hash, sampling settings, ``parts``, ``options`` and version.

    As in ``gemba-mqm|model:m|prompt:gemba-mqm@1#0a1b2c3d|temperature:0.0|reference:no|weights:gemba|version:0.1.0``. A
    text among the ``prompts`` is taken as it is.
    """
    fields = [name, f"model:{llm.model}"]
    for prompt in prompts:
        fields.append(prompt if isinstance(prompt, str) else f"prompt:{prompt.signature}")
    fields += settings_of(llm)
    fields += parts
    for option, value in options.items():
        if isinstance(value, bool):
            value = "yes" if value else "no"
        fields.append(f"{option}:{value}")
    fields.append(f"version:{__version__}")
    return "|".join(fields)


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


LOOKS_LIKE = "an evaluator is an object with a string `name` and `async def rate(self, segment, translation) -> Rating`"
_AWAITED = ("Awaitable", "Coroutine", "Future")


class Named(Protocol):
    """An object with a name, and maybe a ``signature``."""

    @property
    def name(self) -> str:
        """Its name in settings and reports."""
        ...


def checked_evaluator(evaluator: object) -> Evaluator:
    """``evaluator``, if it looks like one. Raises :class:`ConfigError` that names what is missing."""
    kind = type(evaluator).__name__
    if isinstance(evaluator, type):
        raise ConfigError(f"{evaluator.__name__} is a class: pass an object of it; {LOOKS_LIKE}")
    if not callable(getattr(evaluator, "rate", None)):
        raise ConfigError(f"{kind} has no method `rate`; {LOOKS_LIKE}")
    name = getattr(evaluator, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"{kind} has no string `name`; {LOOKS_LIKE}")
    for method in ("rate", "rate_all"):
        function = getattr(evaluator, method, None)
        if not (inspect.ismethod(function) or inspect.isfunction(function)):
            continue  # other callables show only when called whether they are async
        original = inspect.unwrap(function)
        returns = str(getattr(original, "__annotations__", {}).get("return", ""))
        returns_awaitable = any(word in returns for word in _AWAITED)
        if not inspect.iscoroutinefunction(original) and not returns_awaitable:
            raise ConfigError(f"{kind}.{method} is not async: write `async def`; {LOOKS_LIKE}")
        try:
            inspect.signature(function).bind(None, None)
        except TypeError as error:
            raise ConfigError(
                f"{kind}.{method} cannot be called with a segment and a translation ({error}); {LOOKS_LIKE}"
            ) from None
    return cast(Evaluator, evaluator)


def signature_of(part: Named) -> str:
    """The ``signature`` of an evaluator or a gate, or its class and a hash of the file that defines it.

    The file is left out if it cannot be read. Changes in what it imports, and the object's options, go unnoticed.
    """
    signature: str | None = getattr(part, "signature", None)
    if signature:
        return signature
    kind = type(part)
    try:
        source = Path(inspect.getsourcefile(kind) or "").read_bytes()
        written_in = f"#{hashlib.sha256(source).hexdigest()[:8]}"
    except (OSError, TypeError):
        written_in = ""
    return f"{part.name} (no signature)|class:{kind.__module__}.{kind.__qualname__}{written_in}"
