"""Python functions and objects as translators.

How a function is called is read from its signature once, by the first rule that fits:

1. a parameter ``direction``: ``f(text, direction="en-pt")``, with the primary language subtags;
2. parameters whose names say that they are the languages (:data:`SOURCE_NAMES`, :data:`TARGET_NAMES`):
   ``f(text, source_lang="en", target_lang="pt-BR")``;
3. three required positional parameters: ``f(text, "en", "pt-BR")``;
4. no other required parameter: ``f(text)``.

Anything else is an error, which says how to name the parameters (``languages``). Where the first parameter is annotated
as a list or a sequence, or is called ``texts``, the function gets lists of up to ``batch_size`` texts, filled from
requests that come within a few milliseconds or while a call is under way; ``takes_list`` overrides that. A reply is a
string, an object whose ``.text`` is one, or a dictionary as Hugging Face's pipelines give it.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, NamedTuple

from mtagent.errors import ConfigError, MtagentError, TranslatorError
from mtagent.records import Draft, Segment
from mtagent.translators.codes import Codes, codes_of
from mtagent.translators.protocol import checked, line_by_line

SOURCE_NAMES = frozenset(
    {"source_lang", "src_lang", "source_language", "src_language", "source_code", "src_code", "source_lang_code"}
    | {"from_code", "from_lang", "from_language", "from_", "lang_from", "language_from", "source", "src", "sl"}
)
TARGET_NAMES = frozenset(
    {"target_lang", "tgt_lang", "trg_lang", "dest_lang", "target_language", "tgt_language", "dest_language"}
    | {"target_code", "tgt_code", "target_lang_code", "to_code", "to_lang", "to_language", "to", "lang_to"}
    | {"language_to", "target", "tgt", "trg", "dest", "tl"}
)
"""The names under which MT libraries take the source and the target language."""
_EITHER = frozenset({"lang", "language", "langs", "languages", "lang_code", "language_code", "locale", "lang_pair"})
_TEXTS = ("translation_text", "translatedText", "translated_text", "generated_text", "translation", "text")
_HOW = 'say which parameters are the languages: CallableTranslator(f, languages=("from", "to")), or languages=()'
_POSITIONAL_ONLY, _KEYWORD_ONLY = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_LIST_TYPES = ("list", "sequence", "iterable", "collection")

BATCH_SIZE = 32
WINDOW = 0.003
"""Seconds that the first text of a list waits for others."""
_IN_FLIGHT = 8


class CallableTranslator:
    """A sync or async function as a :class:`mtagent.translators.protocol.Translator`.

    A sync function runs in a thread. Its object is called by one thread at a time, however often it is wrapped, unless
    the function is ``thread_safe``; ``owner`` is that object where the function is not a method of it. ``by_line``
    sends the lines of a text one by one, for a system that does not keep line breaks. ``languages`` names the
    parameters of the source and the target language (``None`` for one that there is not; ``()``: the function takes no
    languages), ``langs`` says how it writes them (see :mod:`mtagent.translators.codes`). ``timeout``: seconds that a
    call may take. Whatever the function raises becomes a :class:`TranslatorError` that names the function and the
    cause; of a list that fails each half is tried alone. Raises :class:`ConfigError` for a signature that says too
    little.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        thread_safe: bool = False,
        by_line: bool = False,
        takes_list: bool | None = None,
        batch_size: int = BATCH_SIZE,
        languages: tuple[()] | tuple[str | None, str | None] | None = None,
        langs: str | Mapping[str, str] | Collection[str] | Codes | None = None,
        timeout: float | None = None,
        owner: object | None = None,
    ) -> None:
        if not callable(function):
            raise ConfigError(f"{function!r} is not callable: pass a function of a text, or an object with .translate")
        if owner is None:
            owner = getattr(function, "__self__", None)
        bound = owner is not None and not inspect.ismodule(owner)
        called = type(owner) if bound else function
        self.name = name or str(getattr(called, "__name__", type(function).__name__))
        self._function, self._by_line, self._timeout = function, by_line, timeout
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # built-in functions may have no signature: rule 4
            parameters = []
        self._takes_list = _wants_list(parameters) if takes_list is None else takes_list
        self._languages = _named(languages) if languages is not None else _languages_of(parameters, self.name)
        self._codes = codes_of(langs)
        # An instance with an async __call__ is not itself a coroutine function.
        self._is_async = any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))
        self._threads = None if self._is_async else _threads_of(owner if bound else function, thread_safe)
        self.batch_size = batch_size if self._takes_list else 1
        in_flight = _IN_FLIGHT if self._is_async or thread_safe else 1
        self._lists = _Lists(self._translate_all, self.batch_size, in_flight)

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``; a blank source comes back as it is, without a call."""
        if not segment.source.strip():
            return Draft(text=segment.source)
        languages = self._languages.arguments(segment, self._codes)
        if self._by_line:
            return Draft(text=await line_by_line(segment.source, lambda line: self._translate(line, languages)))
        return Draft(text=await self._translate(segment.source, languages))

    async def _translate(self, text: str, languages: _Arguments) -> str:
        if self._takes_list:
            return checked(_text_in(await self._lists.translate(text, languages)), self.name)
        reply = await self._call(text, languages)
        if isinstance(reply, list | tuple) and len(reply) == 1:  # as pipelines answer, also about a single text
            reply = reply[0]
        return checked(_text_in(reply), self.name)

    async def _translate_all(self, texts: list[str], languages: _Arguments) -> list[object]:
        try:
            reply = await self._call(texts, languages)
            is_list = isinstance(reply, Sequence) and not isinstance(reply, str)
            if not is_list or len(reply) != len(texts):
                received = len(reply) if is_list else type(reply).__name__
                expected = "one translation" if len(texts) == 1 else f"{len(texts)} translations"
                raise TranslatorError(f"{self.name}: expected a list with {expected}, got {received}")
        except TranslatorError as error:
            if len(texts) == 1:
                return [error]
            middle = len(texts) // 2  # one text that the system cannot stand does not fail the others
            first_half = await self._translate_all(texts[:middle], languages)
            return first_half + await self._translate_all(texts[middle:], languages)
        return list(reply)

    async def _call(self, given: str | list[str], languages: _Arguments) -> Any:
        call = partial(self._function, given, *languages.positional, **dict(languages.named))
        try:
            async with asyncio.timeout(self._timeout):
                if self._threads is None:
                    return await call()
                run = asyncio.get_running_loop().run_in_executor
                reply = await run(self._threads, partial(copy_context().run, _guarded, call))
                return await reply if inspect.isawaitable(reply) else reply
        except MtagentError:
            raise
        except asyncio.CancelledError as cause:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise TranslatorError(f"{self.name}: what it waited for was cancelled") from cause
        except TimeoutError as cause:
            why = f"no reply in {self._timeout:g} seconds" if self._timeout else f"{type(cause).__name__}: {cause}"
            raise TranslatorError(f"{self.name}: {why}") from cause
        except (Exception, SystemExit) as cause:  # foreign code may raise anything; the cause is kept
            raise TranslatorError(f"{self.name}: {type(cause).__name__}: {cause}") from cause


def _guarded(call: Callable[[], object]) -> object:
    """The result of a call in a thread. A future cannot hold StopIteration, and none may end the program."""
    try:
        return call()
    except (StopIteration, SystemExit, KeyboardInterrupt, GeneratorExit) as cause:
        raise RuntimeError(f"raised {type(cause).__name__}") from cause


def _text_in(reply: object) -> object:
    """The text of a reply; what is no text comes back as it is. Raises the error that stands in place of one."""
    if isinstance(reply, TranslatorError):
        raise reply
    if isinstance(reply, Mapping):
        return next((reply[key] for key in _TEXTS if key in reply), reply)
    return reply if isinstance(reply, str) else getattr(reply, "text", reply)


# -- one call at a time

_pools: dict[int, tuple[Callable[[], object], ThreadPoolExecutor]] = {}
_pools_lock = threading.Lock()


def _threads_of(owner: object, thread_safe: bool) -> ThreadPoolExecutor:
    """The threads that call ``owner``: one for an object that is not ``thread_safe``, however often it is wrapped.

    A thread outlives the task that was cancelled, so calls are counted by threads and not by tasks.
    """
    if thread_safe:
        return ThreadPoolExecutor(_IN_FLIGHT)
    with _pools_lock:
        known = _pools.get(id(owner))
        if known is not None and known[0]() is owner:
            return known[1]
        pool = ThreadPoolExecutor(1)
        try:
            alive: Callable[[], object] = weakref.ref(owner)
            weakref.finalize(owner, _pools.pop, id(owner), None)
        except TypeError:  # nothing can refer to it weakly: it is kept
            alive = partial(_itself, owner)
        _pools[id(owner)] = alive, pool
        return pool


def _itself(owner: object) -> object:
    return owner


# -- lists of texts


class _Lists:
    """Fills lists of up to ``size`` texts for ``call``, of which ``in_flight`` run at a time in an event loop."""

    def __init__(
        self, call: Callable[[list[str], _Arguments], Awaitable[list[object]]], size: int, in_flight: int
    ) -> None:
        self._call, self._size, self._in_flight = call, size, in_flight
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = weakref.WeakKeyDictionary()

    async def translate(self, text: str, languages: _Arguments) -> object:
        """The reply about ``text``, asked for together with others."""
        loop = asyncio.get_running_loop()
        queue = self._queues.setdefault(loop, _Queue(deque(), set()))
        reply: asyncio.Future[object] = loop.create_future()
        queue.waiting.append((text, languages, reply))
        if len(queue.waiting) >= self._size:
            self._send(queue)
        elif len(queue.waiting) == 1:
            loop.call_later(WINDOW, self._send, queue)
        return await reply

    def _send(self, queue: _Queue) -> None:
        while queue.waiting and len(queue.calls) < self._in_flight:
            languages = queue.waiting[0][1]
            batch, others = list[_Request](), deque[_Request]()
            for request in queue.waiting:
                if request[2].cancelled():
                    continue
                if request[1] == languages and len(batch) < self._size:
                    batch.append(request)
                else:
                    others.append(request)
            queue.waiting.clear()
            queue.waiting.extend(others)
            if batch:
                task = asyncio.ensure_future(self._answer(batch, queue))
                queue.calls.add(task)

    async def _answer(self, batch: list[_Request], queue: _Queue) -> None:
        replies: Sequence[object]
        try:
            replies = await self._call([text for text, _, _ in batch], batch[0][1])
        except BaseException as error:  # noqa: BLE001 those who wait must hear of it
            for _, _, reply in batch:
                if reply.done():
                    continue
                if isinstance(error, Exception):
                    reply.set_exception(error)
                else:
                    reply.cancel()
        else:
            for (_, _, reply), answer in zip(batch, replies, strict=True):
                if not reply.done():
                    reply.set_result(answer)
        finally:
            task = asyncio.current_task()
            if task is not None:
                queue.calls.discard(task)
            self._send(queue)


class _Arguments(NamedTuple):
    """What tells a function the languages of a segment."""

    positional: tuple[str | None, ...] = ()
    named: tuple[tuple[str, str | None], ...] = ()


_Request = tuple[str, _Arguments, "asyncio.Future[object]"]


class _Queue(NamedTuple):
    """Requests that wait, and the calls under way."""

    waiting: deque[_Request]
    calls: set[asyncio.Future[None]]


# -- signatures


class _Languages(NamedTuple):
    """How a function takes the languages: by these names, by ``direction``, by position, or not at all."""

    source: str | None = None
    target: str | None = None
    direction: bool = False
    positional: bool = False

    def arguments(self, segment: Segment, codes: Codes) -> _Arguments:
        """The arguments for the languages of ``segment``."""
        if self == _Languages():
            return _Arguments()
        source, target = codes(segment.source_lang, False), codes(segment.target_lang, True)
        if self.direction:
            first, second = ((code or "auto").split("-")[0].lower() for code in (source, target))
            return _Arguments(named=(("direction", f"{first}-{second}"),))
        if self.positional:
            return _Arguments(positional=(source, target))
        both = ((self.source, source), (self.target, target))
        return _Arguments(named=tuple((name, code) for name, code in both if name is not None))


def _named(names: tuple[()] | tuple[str | None, str | None]) -> _Languages:
    if names and len(names) != 2:
        raise ConfigError(f"languages={names!r}: name the parameters of the source and of the target language, or ()")
    return _Languages(*names)


def _languages_of(parameters: Sequence[inspect.Parameter], name: str) -> _Languages:
    """How a function with these ``parameters`` takes languages. Raises :class:`ConfigError` where that is unclear."""
    others = [parameter for parameter in parameters[1:] if parameter.kind not in _VARIADIC]
    called = {parameter.name.lower(): parameter.name for parameter in others if parameter.kind != _POSITIONAL_ONLY}
    if "direction" in called:
        return _Languages(direction=True)
    source = _first_called(called, SOURCE_NAMES)
    target = _first_called(called, TARGET_NAMES)
    required = [parameter for parameter in others if parameter.default is parameter.empty]
    unknown = [parameter.name for parameter in required if parameter.name not in (source, target)]
    if len(required) == len(unknown) == 2 and all(parameter.kind != _KEYWORD_ONLY for parameter in required):
        return _Languages(positional=True)
    if unknown:
        raise ConfigError(f"{name} needs {unknown[0]!r}, and a translator is given a text and its languages: {_HOW}")
    if source is not None and target is None:
        raise ConfigError(f"{name} takes {source!r}, and no parameter for the target language: {_HOW}")
    ambiguous = _first_called(called, _EITHER)
    if target is None and ambiguous is not None:
        raise ConfigError(f"{name} takes {ambiguous!r}, which may be either language: {_HOW}")
    return _Languages(source, target)


def _first_called(called: Mapping[str, str], names: Collection[str]) -> str | None:
    """The first parameter whose lower-case name is one of ``names``."""
    for word, parameter in called.items():
        if word in names:
            return parameter
    return None


def _wants_list(parameters: Sequence[inspect.Parameter]) -> bool:
    first = parameters[0] if parameters else None
    if first is None or first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        return False
    if first.annotation is first.empty:
        return first.name == "texts"
    annotation = first.annotation if isinstance(first.annotation, str) else inspect.formatannotation(first.annotation)
    return annotation.split("[")[0].rsplit(".", 1)[-1].lower() in _LIST_TYPES
