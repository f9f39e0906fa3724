"""The searches behind their one protocol: none, the user's notes, SearXNG, any JSON endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mtagent.errors import ConfigError, InputError, SearchError
from mtagent.evaluators.search import MOST_BYTES, HTTPSearch, Search, open_search, parse
from mtagent.records import Found

RESULTS = [
    {"title": "夺笋", "content": "Internet slang: harsh, sarcastic.", "url": "https://example.org/a", "score": 1.5},
    {"title": "Bamboo", "content": "", "url": "https://example.org/b"},
]


def opened(spec: str, *notes: Path) -> Search:
    search = open_search(spec, notes)
    assert search is not None
    return search


class Server:
    """Answers every GET with ``status`` and ``body``; keeps the addresses and headers it saw."""

    def __init__(self) -> None:
        self.status, self.body, self.delay = 200, json.dumps({"results": RESULTS}).encode(), 0.0
        self.requests: list[web.Request] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(request)
        await asyncio.sleep(self.delay)
        moved = {"Location": "/elsewhere"} if self.status == 302 and request.path != "/elsewhere" else {}
        return web.Response(status=200 if request.path == "/elsewhere" else self.status, body=self.body, headers=moved)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    served = Server()
    app = web.Application()
    app.router.add_get("/{path:.*}", served.answer)
    running = TestServer(app)
    await running.start_server()
    served.url = str(running.make_url("")).rstrip("/")
    yield served
    await running.close()


async def test_local_finds_in_the_notes(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("".join(f"# {n}\nnote {n} on banks\n" for n in range(1, 8)))
    search = opened("local", notes)
    assert isinstance(search, Search)
    assert await search.find("note 3", limit=1) == [Found(title="3", text="note 3 on banks", source=f"{notes}:6")]
    assert len(await search.find("bank")) == 5
    assert await search.find("river") == []


def test_local_without_notes_says_how_to_name_them() -> None:
    with pytest.raises(ConfigError, match="search local: name your notes: search=local,knowledge="):
        open_search("local")


def test_notes_without_a_search_that_reads_them_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="knowledge: only search=local reads notes"):
        open_search("none", [tmp_path / "notes.md"])


def test_notes_that_cannot_be_read_are_an_error_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.md"):
        open_search("local", [tmp_path / "gone.md"])


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("google", "no search 'google'; write one of none, local, searxng:URL, endpoint:URL"),
        ("", "no search ''"),
        ("local:notes.db", "no search 'local:notes.db'"),
        ("searxng", "write the address of a server"),
        ("searxng:localhost", "write the address of a server"),
        ("searxng:ftp://x", "write the address of a server"),
        ("searxng:http://[", "write the address of a server"),
        ("searxng:http://my host", "write the address of a server"),
        ("searxng:http://a\nb", "write the address of a server"),
        ("searxng:http://a:port", "write the address of a server"),
        ("endpoint:http://{query}/", "write the address of a server"),
        ("endpoint:http://x/s", r"has no \{query\}"),
        ("endpoint:http://me:secret@x/{query}", "keys are read from the environment only"),
        ("endpoint:http://x/{query}?k={key}", "with #key=NAME"),
        ("endpoint:http://x/{query}#key=sk-12", "not the key itself"),
        (
            "endpoint:http://x/{query}#list=web.results",
            "only #key=NAME .* which must answer as",
        ),
        ("endpoint:http://x/{query}#key=A&list=web.results", "only #key=NAME may follow the address"),
    ],
)
def test_a_wrong_spec_names_the_way_out(spec: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as raised:
        open_search(spec)
    assert "sk-12" not in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.loopback
@pytest.mark.parametrize("path", ["", "/", "/search"])
async def test_searxng(server: Server, path: str) -> None:
    search = opened(f"searxng:{server.url}{path}")
    assert isinstance(search, Search)
    assert search.name == f"searxng:{server.url.removeprefix('http://')}"
    finds = await search.find("夺笋 & {key} #1 +", limit=5)
    assert finds[0] == Found(title="夺笋", text="Internet slang: harsh, sarcastic.", source="https://example.org/a")
    assert [find.title for find in finds] == ["夺笋", "Bamboo"]
    assert server.requests[0].path == "/search"
    assert dict(server.requests[0].query) == {"q": "夺笋 & {key} #1 +", "format": "json"}
    assert len(await search.find("x", limit=1)) == 1
    assert await search.find("  ") == []
    server.body = b'{"results": []}'
    assert await search.find("x") == []
    assert len(server.requests) == 3


@pytest.mark.loopback
@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (403, b"Forbidden", r"status 403: allow JSON on the server: search\.formats"),
        (429, b"", "status 429: too many searches"),
        (502, b"", "status 502; the server has failed; try again later"),
        (404, b"", "status 404; is the address right"),
        (204, b"", "status 204"),
        (200, b"<!DOCTYPE html>\n<p>hi", "is not JSON, it begins '<!DOCTYPE html> <p>hi'; allow JSON on the server"),
        (200, b"", "is not JSON"),
        (200, b"\xff\xfe", "is not JSON"),
        (200, b"[" * 100_000, "is not JSON"),
        (200, b'{"error": "no"}', "the answer is neither"),
        (200, b"null", "the answer is neither"),
        (200, b'{"results": {"a": 1}}', "the answer is neither"),
        (200, b'{"results": [1, null, {"heading": "x"}]}', "no result has a text under title, content or text"),
        (200, b" " * (MOST_BYTES + 1), "longer than 2,000,000 bytes"),
    ],
)
async def test_what_is_no_answer_is_a_search_error(server: Server, status: int, body: bytes, reason: str) -> None:
    server.status, server.body = status, body
    with pytest.raises(SearchError, match=reason):
        await opened(f"searxng:{server.url}").find("x")


@pytest.mark.loopback
async def test_a_slow_or_absent_server_is_a_search_error(server: Server) -> None:
    server.delay = 0.4
    with pytest.raises(SearchError, match=r"no answer within 0\.05 s"):
        await HTTPSearch(f"{server.url}/?q={{query}}", timeout=0.05).find("x")
    with pytest.raises(SearchError, match=r"127\.0\.0\.1:1: no connection"):
        await opened("searxng:http://127.0.0.1:1").find("x")


@pytest.mark.loopback
@pytest.mark.parametrize(
    "answer",
    [
        [{"title": "T", "text": " X ", "url": "U"}],
        {"results": [{"title": "T", "content": "X", "url": "U"}, {"other": 1}, "junk"]},
    ],
)
async def test_an_endpoint_answers_as_searxng_does(server: Server, answer: object) -> None:
    server.body = json.dumps(answer).encode()
    search = parse(f"{server.url}/find/{{query}}?n={{limit}}")
    assert await search.find("a/b?c", limit=3) == [Found(title="T", text="X", source="U")]
    assert (server.requests[0].raw_path, server.requests[0].query["n"]) == ("/find/a%2Fb%3Fc?n=3", "3")


@pytest.mark.loopback
@pytest.mark.parametrize(
    ("address", "header", "sent"),
    [
        ("/{query}#key=MY_KEY", "Authorization", "Bearer k3y"),
        ("/{query}?k={key}#key=MY_KEY", None, "k3y"),
    ],
)
async def test_keys_come_from_the_environment_and_stay_out_of_messages(
    server: Server, monkeypatch: pytest.MonkeyPatch, address: str, header: str | None, sent: str
) -> None:
    search = parse(server.url + address)
    with pytest.raises(SearchError, match="the environment variable MY_KEY is to hold the key"):
        await search.find("x")
    monkeypatch.setenv("MY_KEY", "k3y")
    server.status = 401
    with pytest.raises(SearchError, match="check the key in MY_KEY") as raised:
        await search.find("x")
    assert "k3y" not in str(raised.value)
    request = server.requests[0]
    assert (request.headers[header] if header else request.query["k"]) == sent
    assert ("Authorization" in request.headers) == (header == "Authorization")


@pytest.mark.loopback
async def test_no_redirect_is_followed_with_a_key_or_without(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "k3y")
    server.status = 302
    with pytest.raises(SearchError, match="status 302"):
        await parse(f"{server.url}/{{query}}#key=MY_KEY").find("x")
    assert [request.path for request in server.requests] == ["/x"]
    with pytest.raises(SearchError, match="the server redirects to /elsewhere; key and texts do not follow"):
        await parse(f"{server.url}/{{query}}").find("y")
    assert [request.path for request in server.requests[1:]] == ["/y"]
