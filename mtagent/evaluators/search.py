"""Where background knowledge is looked up: nowhere, in the user's own notes, or with a search engine.

========================  ========================================================================================
spec                      searches
========================  ========================================================================================
``none``                  nothing
``local``                 the user's notes and glossaries (``mtagent knowledge add``)
``searxng:URL``           a SearXNG server whose settings allow the JSON format
``endpoint:URL#PATHS``    any address that answers with JSON, see :mod:`mtagent.evaluators.search`
========================  ========================================================================================
"""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from urllib.parse import parse_qsl, quote, urlsplit

from mtagent.errors import ConfigError, SearchError, StoreError
from mtagent.evaluators.knowledge import Knowledge
from mtagent.llm.reply import clean, redirected
from mtagent.records import Found
from mtagent.text.masking import key_in, masked

if TYPE_CHECKING:
    from aiohttp import ClientResponse


@runtime_checkable
class Search(Protocol):
    """Looks up background knowledge. A ``signature``, where it has one, says more of what it may find than its name."""

    name: str

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best ``limit`` finds, best first; ``[]`` if there is none. Raises :class:`SearchError`."""
        ...


class NoSearch:
    """Finds nothing."""

    name = "none"

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """Nothing, whatever ``query`` is."""
        return []


class LocalSearch:
    """Searches the knowledge in the file ``path``.

    Raises :class:`ConfigError` where there is no such file: whoever asks for the notes has some.
    """

    name = "local"

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            Knowledge(path).close()
        except StoreError as error:
            raise ConfigError(f"search local: {error}") from error

    @property
    def signature(self) -> str:
        """With a hash of the notes as they are now: ``local#0a1b2c3d``. Raises :class:`SearchError`."""
        try:
            with Knowledge(self._path) as knowledge:
                return f"{self.name}#{knowledge.digest()}"
        except StoreError as error:
            raise SearchError(f"search local: {error}") from error

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best entries of the notes. Raises :class:`SearchError`."""
        try:
            return await asyncio.to_thread(self._find, query, limit)
        except StoreError as error:
            raise SearchError(f"search local: {error}") from error

    def _find(self, query: str, limit: int) -> list[Found]:
        with Knowledge(self._path) as knowledge:
            return knowledge.search(query, limit)


MOST_BYTES = 2_000_000
"""A longer answer is refused: no list of finds needs more."""

_MISSING = object()


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Where the finds stand in an answer, and where the key comes from; see the module's table."""

    list: str = ""
    title: str = "title"
    text: str = "text"
    url: str = "url"
    key: str = ""
    header: str = ""


class Endpoint:
    """A search server. ``template`` is its address with ``{query}``; one find in ``timeout`` seconds or none.

    Connections are opened for a search and closed after it. Raises :class:`ConfigError` for an unusable address.
    """

    def __init__(
        self, template: str, paths: Paths = Paths(), *, name: str = "endpoint", hint: str = "", timeout: float = 20.0
    ) -> None:
        _check(template, paths)
        self.name = f"{name}:{urlsplit(template).netloc}"  # stands in signatures: another server finds something else
        self._template, self._paths, self._hint, self._timeout = template, paths, hint, timeout
        self._where = f"search {name}: {urlsplit(template).netloc}"

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The first ``limit`` finds of the server, in its order. Raises :class:`SearchError`."""
        if not query.strip() or limit < 1:
            return []
        answer = await self._answer(query, limit)
        finds = _at(answer, self._paths.list)
        if not isinstance(finds, list):
            place = f"at {self._paths.list!r}" if self._paths.list else "as the whole answer"
            raise SearchError(f"{self._where}: no list of finds {place}; say where it is with #list=…")
        key = self._key()
        found = [find for find in (self._found(find, key) for find in finds) if find.title or find.text]
        if finds and not found:
            raise SearchError(
                f"{self._where}: no find has a text at {self._paths.title!r} or {self._paths.text!r}; "
                "say where they are with #title=…&text=…"
            )
        return found[:limit]

    def _found(self, find: Any, key: str) -> Found:
        """What a model reads and the store keeps: a server may say its key in it, most likely in an address."""
        paths = (self._paths.title, self._paths.text, self._paths.url)
        title, text, url = (masked(_text(_at(find, path)), key, hexadecimal=False) for path in paths)
        return Found(title=title, text=text, source=url)

    async def _answer(self, query: str, limit: int) -> Any:
        from aiohttp import ClientError, ClientSession, ClientTimeout
        from yarl import URL

        key = self._key()
        values = {"query": query, "limit": str(limit), "key": key}
        address = URL(_filled(self._template, values), encoded=True)
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=self._timeout)) as session,
                session.get(address, headers=self._headers(key), allow_redirects=False) as response,
            ):
                return self._parsed(await self._body(response, key), key)
        except TimeoutError:
            reason = f"no answer within {self._timeout:g} s"
        except (ClientError, OSError, ValueError) as error:  # the error's words may hold the address, and so the key
            reason = f"no connection, or it broke ({type(error).__name__})"
        raise SearchError(f"{self._where}: {reason}; is the address right, and the server there?")

    async def _body(self, response: ClientResponse, key: str) -> bytes:
        if 300 <= response.status < 400 and (location := response.headers.get("Location")):
            moved = redirected(location, key, "write it in the search")
            raise SearchError(f"{self._where}: status {response.status}: {moved}")
        if response.status != 200:
            raise SearchError(f"{self._where}: {self._status(response.status)}")
        body = bytearray()
        async for piece in response.content.iter_chunked(65_536):
            body += piece
            if len(body) > MOST_BYTES:
                raise SearchError(f"{self._where}: the answer is longer than {MOST_BYTES:,} bytes; ask for fewer finds")
        return bytes(body)

    def _parsed(self, body: bytes, key: str) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            begins = clean(body.decode(errors="replace"), key)[:80]
            hint = self._hint or "the address must answer with JSON"
            raise SearchError(f"{self._where}: the answer is not JSON, it begins {begins!r}; {hint}") from None

    def _status(self, status: int) -> str:
        if status in (401, 403):
            named = f"check the key in {self._paths.key}" if self._paths.key else "name its variable with #key=…"
            return f"status {status}: " + (self._hint or f"the server wants a key; {named}")
        if status == 429:
            return "status 429: too many searches; wait, lower --concurrency, or allow more on the server"
        if status >= 500:
            return f"status {status}: the server has failed; try again later"
        return f"status {status}; is the address right?"

    def _key(self) -> str:
        if not self._paths.key:
            return ""
        key = os.environ.get(self._paths.key, "").strip()
        if not key:
            raise SearchError(f"{self._where}: the environment variable {self._paths.key} is to hold the key; set it")
        return key

    def _headers(self, key: str) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if key and "{key}" not in self._template:
            headers |= {self._paths.header: key} if self._paths.header else {"Authorization": f"Bearer {key}"}
        return headers


def parse(address: str) -> Endpoint:
    """The endpoint that ``URL#PATHS`` describes. Raises :class:`ConfigError` naming the culprit."""
    template, _, described = address.partition("#")
    known = [field.name for field in fields(Paths)]
    values = dict(parse_qsl(described, keep_blank_values=True))
    for name in values:
        if name not in known:
            raise ConfigError(f"search endpoint: #{name}= is not known; there are {', '.join(known)}")
    return Endpoint(template, Paths(**values))


def searxng(url: str) -> Endpoint:
    """The SearXNG server at ``url``."""
    return Endpoint(
        f"{url.rstrip('/').removesuffix('/search')}/search?q={{query}}&format=json",
        Paths(list="results", text="content"),
        name="searxng",
        hint="allow JSON on the server: search.formats: [html, json] in its settings.yml",
    )


def _check(template: str, paths: Paths) -> None:
    try:
        parts = urlsplit(template)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and template.isprintable() and " " not in template
    except ValueError:
        usable = False
    if not usable or "{" in parts.netloc:
        raise ConfigError("search: write the address of a server, for example searxng:http://localhost:8888")
    if "@" in parts.netloc:
        raise ConfigError("search: the address holds a password; keys are read from the environment only, see #key=")
    if found := key_in(template):
        raise ConfigError(
            f"search: the address holds {found}: write {{key}} there, and name the environment variable that holds the "
            "key with #key=NAME"
        )
    if "{query}" not in template:
        raise ConfigError("search: the address has no {query}, the place for what is looked for")
    if ("{key}" in template or paths.header) and not paths.key:
        raise ConfigError("search: name the environment variable that holds the key, with #key=NAME")
    if paths.key and not paths.key.isidentifier():
        raise ConfigError("search: #key= is the name of an environment variable, not the key itself")


def _filled(template: str, values: dict[str, str]) -> str:
    """``template`` with ``values`` in their places, in one pass: a query may itself hold ``{key}``."""
    pieces = template.split("{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, closed, rest = piece.partition("}")
        filled.append(quote(values[name], safe="") + rest if closed and name in values else quote("{" + piece, safe=""))
    return "".join(filled)


def _at(value: Any, path: str) -> Any:
    """What stands at ``path`` (``web.results.0``); ``_MISSING`` where there is nothing."""
    for step in filter(None, path.split(".")):
        if isinstance(value, dict):
            value = value.get(step, _MISSING)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value


def _text(value: Any) -> str:
    """A text or a list of texts; anything else is none."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    return value.strip() if isinstance(value, str) else ""


KINDS = ("none", "local", "searxng:URL", "endpoint:URL")


def open_search(spec: str, knowledge: Path) -> Search:
    """The search that ``spec`` names; ``knowledge`` is the file of the user's notes.

    Nothing stays open between searches, so there is nothing to close. Raises :class:`ConfigError`.
    """
    kind, _, address = spec.strip().partition(":")
    if kind == "none" and not address:
        return NoSearch()
    if kind == "local" and not address:
        return LocalSearch(knowledge)
    if kind in ("searxng", "endpoint"):
        pass

        return searxng(address) if kind == "searxng" else parse(address)
    raise ConfigError(f"no search {spec!r}; write one of {', '.join(KINDS)}")
