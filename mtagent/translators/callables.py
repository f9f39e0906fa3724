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
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from mtagent.errors import ConfigError, MtagentError, TranslatorError
from mtagent.records import Draft, Segment
from mtagent.translators.protocol import checked, line_by_line

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
        owner = getattr(function, "__self__", None)
        bound = owner is not None and not inspect.ismodule(owner)
        called = type(owner) if bound else function
        self.name = name or str(getattr(called, "__name__", type(function).__name__))
        self._function = function
        self._by_line = by_line
        try:
            self._parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # built-in functions may have no signature: rule 4
            self._parameters = []
        self._takes_list = _wants_list(self._parameters) if takes_list is None else takes_list
        # An instance with an async __call__ is not itself a coroutine function.
        self._is_async = any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))
        # A thread outlives the task that was cancelled, so the calls are counted by threads, not by tasks.
        self._threads = ThreadPoolExecutor(_IN_FLIGHT if thread_safe else 1)

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``; a blank source comes back as it is, without a call."""
        if not segment.source.strip():
            return Draft(text=segment.source)
        if self._by_line:
            return Draft(text=await line_by_line(segment.source, lambda line: self._translate(line, segment)))
        return Draft(text=await self._translate(segment.source, segment))

    async def _translate(self, text: str, segment: Segment) -> str:
        call = partial(self._function, [text] if self._takes_list else text)
        positional, named = language_arguments(self._parameters, segment)
        try:
            if self._is_async:
                reply = await call(*positional, **named)
            else:
                run = asyncio.get_running_loop().run_in_executor
                reply = await run(self._threads, partial(copy_context().run, call, *positional, **named))
                reply = await reply if inspect.isawaitable(reply) else reply
        except MtagentError:
            raise
        except Exception as cause:  # foreign code may raise anything; the cause is kept
            raise TranslatorError(f"{self.name}: {type(cause).__name__}: {cause}") from cause
        if self._takes_list:
            is_list = isinstance(reply, Sequence) and not isinstance(reply, str)
            if not is_list or len(reply) != 1:
                got = len(reply) if is_list else type(reply).__name__
                raise TranslatorError(f"{self.name}: expected a list with one translation, got {got}")
            reply = reply[0]
        answer: object = reply if isinstance(reply, str) else getattr(reply, "text", reply)
        return checked(answer, self.name)


def _wants_list(parameters: Sequence[inspect.Parameter]) -> bool:
    first = parameters[0] if parameters else None
    if first is None or first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        return False
    if first.annotation is first.empty:
        return first.name == "texts"
    annotation = first.annotation if isinstance(first.annotation, str) else inspect.formatannotation(first.annotation)
    return annotation.split("[")[0].rsplit(".", 1)[-1].lower() in _LIST_TYPES


def language_arguments(
    parameters: Sequence[inspect.Parameter], segment: Segment
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The arguments, positional and named, that tell a function with these ``parameters`` the segment's languages."""
    source_lang, target_lang = segment.source_lang, segment.target_lang
    names = {parameter.name for parameter in parameters[1:]}
    if "direction" in names:
        return (), {"direction": f"{source_lang.split('-')[0].lower()}-{target_lang.split('-')[0].lower()}"}
    for source, target in LANGUAGE_PARAMETERS:
        if {source, target} <= names:
            return (), {source: source_lang, target: target_lang}
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len([parameter for parameter in positional if parameter.default is parameter.empty]) >= 3:
        return (source_lang, target_lang), {}
    return (), {}
