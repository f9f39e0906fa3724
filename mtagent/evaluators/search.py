"""What RATE looks up: the user's notes, or a search server.

A search (:func:`open_search`) is one of these:

========================  ========================================================================================
``none``                  nothing
``local``                 the user's notes and glossaries (:mod:`mtagent.evaluators.knowledge`)
``searxng:URL``           a SearXNG server whose settings allow the JSON format
``endpoint:URL``          any address with ``{query}`` (and ``{limit}``) that answers as SearXNG does
========================  ========================================================================================

An endpoint answers a GET with ``{"results": [{"title": "…", "content": "…", "url": "…"}]}``, or with the list alone;
``text`` may stand for ``content``. ``URL#key=NAME`` names the environment variable that holds its key: it goes where
the address has ``{key}``, or else as ``Authorization: Bearer``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable
from urllib.parse import quote, urlsplit

from mtagent.errors import ConfigError, SearchError
from mtagent.evaluators.knowledge import Knowledge
from mtagent.records import Found
from mtagent.text.masking import clean, key_in, masked, redirected


@runtime_checkable
class Search(Protocol):
    """Looks up background knowledge. An optional ``signature`` says more about what it may find than its name."""

    name: str

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best ``limit`` results, best first; ``[]`` if there are none. Raises :class:`SearchError`."""
        ...


class LocalSearch:
    """Searches the notes in ``files``, which are read here. The signature names a hash of them: ``local#0a1b2c3d``.

    Raises :class:`ConfigError` without files, and :class:`mtagent.errors.InputError` for a file that cannot be read.
    """

    name = "local"

    def __init__(self, files: Sequence[Path]) -> None:
        if not files:
            raise ConfigError("search local: name your notes: search=local,knowledge=notes.md+glossary.csv")
        self._knowledge = Knowledge(files)
        self.signature = f"{self.name}#{self._knowledge.digest}"

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best entries of the notes."""
        return self._knowledge.search(query, limit)


MOST_BYTES = 2_000_000
"""Longer answers are refused: no list of results needs more."""
_PLACE = re.compile(r"\{(query|limit|key)\}")


class HTTPSearch:
    """A search server. ``template`` is its address with ``{query}``; one find in ``timeout`` seconds or none.

    Connections are opened for a search and closed after it. Raises :class:`ConfigError` for an unusable address.
    """

    def __init__(
        self, template: str, *, key: str = "", name: str = "endpoint", hint: str = "", timeout: float = 20.0
    ) -> None:
        try:
            parts = urlsplit(template)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or not template.isprintable() or " " in template or "{" in parts.netloc:
            raise ConfigError("search: write the address of a server, for example searxng:http://localhost:8888")
        if secret := key_in(template):
            raise ConfigError(
                f"search: the address holds {secret}; keys are read from the environment only: write {{key}} there, "
                "and name the variable that holds the key with #key=NAME"
            )
        if "{query}" not in template:
            raise ConfigError("search: the address has no {query}, the place for what is looked for")
        if "{key}" in template and not key:
            raise ConfigError("search: name the environment variable that holds the key, with #key=NAME")
        if key and not key.isidentifier():
            raise ConfigError("search: #key= is the name of an environment variable, not the key itself")
        self.name = f"{name}:{parts.netloc}"  # stands in signatures: another server finds something else
        self._where = f"search {name}: {parts.netloc}"
        self._template, self._variable, self._hint, self._timeout = template, key, hint, timeout

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The first ``limit`` results of the server, in its order. Raises :class:`SearchError`."""
        if not query.strip() or limit < 1:
            return []
        key = os.environ.get(self._variable, "").strip() if self._variable else ""
        if self._variable and not key:
            raise self._failure(f"the environment variable {self._variable} is to hold the key; set it")
        body = await self._get({"query": query, "limit": str(limit), "key": key})
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            begins = clean(body.decode(errors="replace"), key)[:80]
            hint = self._hint or "the address must answer with JSON"
            raise self._failure(f"the answer is not JSON, it begins {begins!r}; {hint}") from None
        results = answer.get("results") if isinstance(answer, dict) else answer
        if not isinstance(results, list):
            raise self._failure('the answer is neither {"results": [...]} nor a list')
        finds = []
        for item in filter(lambda item: isinstance(item, dict), results):
            texts = (item.get("title"), item.get("content", item.get("text")), item.get("url"))
            # A server may repeat its key in a result, most likely in an address; models read and the store keeps these.
            title, text, url = (
                masked(text.strip(), key, hexadecimal=False) if isinstance(text, str) else "" for text in texts
            )
            if title or text:
                finds.append(Found(title=title, text=text, source=url))
        if results and not finds:
            raise self._failure("no result has a text under title, content or text")
        return finds[:limit]

    async def _get(self, values: dict[str, str]) -> bytes:
        from aiohttp import ClientError, ClientSession, ClientTimeout
        from yarl import URL

        # In one pass, because a query may itself contain {key}; other braces stay as they are.
        filled = _PLACE.sub(lambda place: quote(values[place[1]], safe=""), self._template)
        headers, key = {"Accept": "application/json"}, values["key"]
        if key and "{key}" not in self._template:
            headers["Authorization"] = f"Bearer {key}"
        body = bytearray()
        try:
            async with (
                ClientSession(timeout=ClientTimeout(total=self._timeout)) as session,
                session.get(
                    URL(quote(filled, safe="%/:?#[]@!$&'()*+,;=~"), encoded=True),
                    headers=headers,
                    allow_redirects=False,
                ) as response,
            ):
                if response.status != 200:
                    raise self._failure(self._status(response.status, response.headers.get("Location"), key))
                async for piece in response.content.iter_chunked(65_536):
                    body += piece
                    if len(body) > MOST_BYTES:
                        raise self._failure(f"the answer is longer than {MOST_BYTES:,} bytes; ask for fewer finds")
                return bytes(body)
        except TimeoutError:
            reason = f"no answer within {self._timeout:g} s"
        except (ClientError, OSError, ValueError) as error:  # the error's words may hold the address, and so the key
            reason = f"no connection, or it broke ({type(error).__name__})"
        raise self._failure(f"{reason}; is the address right, and the server there?")

    def _status(self, status: int, location: str | None, key: str) -> str:
        """What a status other than 200 means, and what to do about it."""
        if 300 <= status < 400 and location:
            return f"status {status}: {redirected(location, key, 'write it in the search')}"
        if status in (401, 403):
            named = f"check the key in {self._variable}" if self._variable else "name its variable with #key=NAME"
            return f"status {status}: {self._hint or f'the server wants a key; {named}'}"
        if status == 429:
            return "status 429: too many searches; wait, lower --concurrency, or allow more on the server"
        return (
            f"status {status}; {'the server has failed; try again later' if status >= 500 else 'is the address right?'}"
        )

    def _failure(self, reason: str) -> SearchError:
        return SearchError(f"{self._where}: {reason}")


def parse(address: str) -> HTTPSearch:
    """The endpoint that ``URL`` or ``URL#key=NAME`` describes. Raises :class:`ConfigError` naming the culprit."""
    template, _, described = address.partition("#")
    option, _, key = described.partition("=")
    if described and (option != "key" or "&" in key):
        raise ConfigError(
            "search endpoint: only #key=NAME may stand behind the address, which must answer as SearXNG does: "
            '{"results": [{"title": "…", "content": "…", "url": "…"}]}'
        )
    return HTTPSearch(template, key=key)


def searxng(url: str) -> HTTPSearch:
    """The SearXNG server at ``url``."""
    return HTTPSearch(
        f"{url.rstrip('/').removesuffix('/search')}/search?q={{query}}&format=json",
        name="searxng",
        hint="allow JSON on the server: search.formats: [html, json] in its settings.yml",
    )


def open_search(spec: str, knowledge: Sequence[Path] = ()) -> Search | None:
    """The search that ``spec`` names, ``None`` for none; ``knowledge`` are the files of the user's notes.

    Nothing stays open between searches. Raises :class:`ConfigError`.
    """
    kind, _, address = spec.strip().partition(":")
    if spec.strip() == "local":
        return LocalSearch(knowledge)
    if knowledge:
        raise ConfigError(f"knowledge: only the search local looks into notes, and the search is {spec.strip()!r}")
    if spec.strip() == "none":
        return None
    if kind == "searxng":
        return searxng(address)
    if kind == "endpoint":
        return parse(address)
    raise ConfigError(f"no search {spec!r}; write one of none, local, searxng:URL, endpoint:URL")
