"""Python functions and objects as translators.

How a function is called is read from its signature once, by the first rule that fits:

1. a parameter ``direction``: ``f(text, direction="en-pt")``, with the primary language subtags;
2. a pair of parameters with one of the names in :data:`LANGUAGE_PARAMETERS`: ``f(text, source_lang="en",
   target_lang="pt-BR")``, with the segment's own codes;
3. at least three required positional parameters: ``f(text, "en", "pt-BR")``;
4. otherwise: ``f(text)``.

Where the first parameter is annotated as a list or a sequence, or is called ``texts``, a list of one text is passed
and a list of one reply is expected. ``takes_list`` overrides that. A reply is a string or an object whose ``.text`` is
one.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

from mtagent.errors import ConfigError, MtagentError, TranslatorError
from mtagent.records import Draft, Segment
from mtagent.translators.protocol import Turns, checked, line_by_line

LANGUAGE_PARAMETERS = (
    ("source_lang", "target_lang"),
    ("src_lang", "tgt_lang"),
    ("source_language", "target_language"),
    ("from_code", "to_code"),
    ("from_lang", "to_lang"),
    ("source", "target"),
    ("src", "dest"),
)
"""The names under which MT libraries take the source and the target language."""

_IN_FLIGHT = 8
_LIST_TYPES = ("list", "sequence", "iterable", "collection")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class CallableTranslator:
    """A sync or async function as a :class:`mtagent.translators.protocol.Translator`.

    A sync function runs in a thread; one call at a time, unless it is ``thread_safe``. ``by_line`` sends the lines of
    a text one by one, for a system that does not keep line breaks. Whatever the function raises becomes a
    :class:`TranslatorError` that names the function and the cause.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        thread_safe: bool = False,
        by_line: bool = False,
        takes_list: bool | None = None,
    ) -> None:
        if not callable(function):
            raise ConfigError(f"{function!r} is not callable: pass a function of a text, or an object with .translate")
        self.name = name or _name_of(function)
        self._function = function
        self._by_line = by_line
        parameters = _parameters(function)
        self._takes_list = _wants_list(parameters) if takes_list is None else takes_list
        self._languages = _language_arguments(parameters)
        self._is_async = _is_async(function)
        self._turns = Turns(_IN_FLIGHT if thread_safe else 1)
        self._busy = None if thread_safe else threading.Lock()

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``; a blank source comes back as it is, without a call."""
        if not segment.source.strip():
            return Draft(text=segment.source)
        if self._by_line:
            return Draft(text=await line_by_line(segment.source, lambda line: self._translate(line, segment)))
        return Draft(text=await self._translate(segment.source, segment))

    async def _translate(self, text: str, segment: Segment) -> str:
        positional, named = self._languages(segment)
        try:
            reply = await self._call([text] if self._takes_list else text, *positional, **named)
        except MtagentError:
            raise
        except Exception as cause:  # foreign code may raise anything; the cause is kept
            raise TranslatorError(f"{self.name}: {type(cause).__name__}: {cause}") from cause
        return checked(_text_of(self._only(reply) if self._takes_list else reply), self.name)

    async def _call(self, *positional: Any, **named: Any) -> object:
        if self._is_async:
            return await self._function(*positional, **named)
        async with self._turns.one():
            reply = await asyncio.to_thread(self._locked, *positional, **named)
        return await reply if inspect.isawaitable(reply) else reply

    def _locked(self, *positional: Any, **named: Any) -> object:
        # A cancelled task gives its turn back while its thread still runs; this lock is held by the thread itself.
        if self._busy is None:
            return self._function(*positional, **named)
        with self._busy:
            return self._function(*positional, **named)

    def _only(self, replies: object) -> object:
        if isinstance(replies, str) or not isinstance(replies, Sequence):
            raise TranslatorError(f"{self.name}: expected a list with one translation, got {type(replies).__name__}")
        if len(replies) != 1:
            raise TranslatorError(f"{self.name}: expected a list with one translation, got {len(replies)}")
        return replies[0]


def _text_of(reply: object) -> object:
    return reply if isinstance(reply, str) else getattr(reply, "text", reply)


def _name_of(function: Callable[..., Any]) -> str:
    owner = getattr(function, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        return type(owner).__name__
    return getattr(function, "__name__", type(function).__name__)


def _is_async(function: Callable[..., Any]) -> bool:
    # An instance with an async __call__ is not itself a coroutine function.
    called = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built-in functions may have no signature: rule 4
        return []


def _wants_list(parameters: Sequence[inspect.Parameter]) -> bool:
    first = next((parameter for parameter in parameters if parameter.kind in _POSITIONAL), None)
    if first is None:
        return False
    if first.annotation is inspect.Parameter.empty:
        return first.name == "texts"
    annotation = first.annotation if isinstance(first.annotation, str) else inspect.formatannotation(first.annotation)
    return annotation.split("[")[0].rsplit(".", 1)[-1].lower() in _LIST_TYPES


def _language_arguments(
    parameters: Sequence[inspect.Parameter],
) -> Callable[[Segment], tuple[list[str], dict[str, str]]]:
    names = {parameter.name for parameter in parameters[1:]}
    if "direction" in names:
        return lambda segment: ([], {"direction": direction(segment)})
    for source, target in LANGUAGE_PARAMETERS:
        if {source, target} <= names:
            return lambda segment: ([], {source: segment.source_lang, target: segment.target_lang})
    required = [p for p in parameters if p.kind in _POSITIONAL and p.default is inspect.Parameter.empty]
    if len(required) >= 3:
        return lambda segment: ([segment.source_lang, segment.target_lang], {})
    return lambda _: ([], {})


def direction(segment: Segment) -> str:
    """The primary subtags of a segment's languages, as in ``en-pt``."""
    return f"{segment.source_lang.split('-')[0].lower()}-{segment.target_lang.split('-')[0].lower()}"
