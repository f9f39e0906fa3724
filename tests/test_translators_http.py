"""The LibreTranslate interface, against a server on this machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from mtagent.errors import TranslatorError
from mtagent.records import Segment
from mtagent.translators import LibreTranslate, aclose, wrap
from mtagent.translators.http import API_KEY, LARGEST_REPLY

pytestmark = pytest.mark.loopback

Reply = tuple[int, str] | tuple[int, str, dict[str, str]]


class Server:
    """Answers with scripted replies first and with upper case afterwards; keeps what it was sent."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.languages: object = [{"code": "en"}, {"code": "pt-BR"}, {"code": "es"}, {"code": "zh"}]
        self.questions: list[dict[str, Any]] = []
        self.language_questions = 0
        self.url = ""

    async def translate(self, request: web.Request) -> web.Response:
        question = await request.json()
        self.questions.append(question)
        if self.replies:
            status, body, *headers = self.replies.pop(0)
            return web.Response(status=status, text=body, headers=headers[0] if headers else None)
        return web.json_response({"translatedText": question["q"].upper()})

    async def offered(self, request: web.Request) -> web.Response:
        self.language_questions += 1
        return web.json_response(self.languages)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    served = Server()
    app = web.Application()
    app.router.add_post("/translate", served.translate)
    app.router.add_get("/languages", served.offered)
    running = TestServer(app)
    await running.start_server()
    served.url = str(running.make_url("")).rstrip("/")
    yield served
    await running.close()


@pytest.fixture
async def make(server: Server) -> AsyncIterator[Callable[..., LibreTranslate]]:
    made: list[LibreTranslate] = []

    def new(**options: Any) -> LibreTranslate:
        made.append(LibreTranslate(server.url, pause=0.01, **options))
        return made[-1]

    yield new
    for translator in made:
        await translator.aclose()


def segment(source: str = "a cat", target_lang: str = "es") -> Segment:
    return Segment(id="1", source=source, source_lang="en", target_lang=target_lang)


Make = Callable[..., LibreTranslate]


async def test_a_text_is_sent_as_libretranslate_takes_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(API_KEY, raising=False)
    translator = wrap(f"libretranslate:{server.url}/")
    assert (await translator.draft(segment("a cat\n\na dog"))).text == "A CAT\n\nA DOG"
    assert server.questions == [{"q": "a cat\n\na dog", "source": "en", "target": "es", "format": "text"}]
    await aclose(translator)
    assert (await translator.draft(segment(" \n"))).text == " \n"
    assert (await translator.draft(segment())).text == "A CAT", "it opens again"
    assert (len(server.questions), server.language_questions) == (2, 1)
    await aclose(translator)


async def test_the_key_comes_from_the_environment(server: Server, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(API_KEY, "secret")
    await make().draft(segment())
    assert server.questions[0]["api_key"] == "secret"


@pytest.mark.parametrize(
    ("code", "sent"), [("es", "es"), ("pt-BR", "pt-BR"), ("pt-br", "pt-BR"), ("es-MX", "es"), ("zh-TW", "zh")]
)
async def test_the_servers_own_language_codes_are_used(server: Server, make: Make, code: str, sent: str) -> None:
    await make().draft(segment(target_lang=code))
    assert server.questions[0]["target"] == sent


async def test_a_language_the_server_lacks_is_named(make: Make) -> None:
    with pytest.raises(TranslatorError, match="has no language 'is'; it has en, es, pt-BR, zh"):
        await make().draft(segment(target_lang="is"))


@pytest.mark.parametrize("languages", [[], {"error": "no"}, [{"name": "English"}]])
async def test_an_unreadable_list_of_languages_is_an_error(server: Server, make: Make, languages: object) -> None:
    server.languages = languages
    with pytest.raises(TranslatorError, match="list of languages cannot be read"):
        await make().draft(segment())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{}", "got None"),
        ('{"translatedText": null}', "got None"),
        ('{"translatedText": ""}', "the translation is empty"),
        ('{"translatedText": ["a"]}', "got list"),
        ("[]", "got list"),
        ("<html>", "the reply is not JSON"),
        ("", "expected a string"),
        ("[" * 200_000 + "]" * 200_000, "the reply is not JSON"),
        (json.dumps({"translatedText": "x" * LARGEST_REPLY}), "the reply is larger than 16,000,000 bytes"),
    ],
    ids=range(9),
)
async def test_a_reply_without_a_translation_is_an_error(server: Server, make: Make, body: str, message: str) -> None:
    server.replies = [(200, body)]
    with pytest.raises(TranslatorError, match=message):
        await make().draft(segment())
    assert len(server.questions) == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_passing_failure_is_tried_again_after_the_pause_that_the_server_asks_for(
    server: Server, make: Make, status: int
) -> None:
    server.replies = [(status, "busy"), (status, "busy", {"Retry-After": "1"})]
    started = asyncio.get_running_loop().time()
    assert (await make().draft(segment())).text == "A CAT"
    assert len(server.questions) == 3
    assert asyncio.get_running_loop().time() - started >= 1
    server.replies = [(status, "down for maintenance")] * 5
    with pytest.raises(TranslatorError, match=rf"status {status}: down for maintenance \(after 2 attempts\)") as caught:
        await make(attempts=2).draft(segment())
    assert (caught.value.status, caught.value.retryable) == (status, True)
    assert len(server.questions) == 5


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
async def test_what_cannot_succeed_is_not_repeated(server: Server, make: Make, status: int) -> None:
    server.replies = [(status, json.dumps({"error": "no"}))]
    with pytest.raises(TranslatorError, match=f"status {status}") as caught:
        await make().draft(segment())
    assert (caught.value.status, caught.value.retryable) == (status, False)
    assert len(server.questions) == 1


async def test_a_server_that_is_not_there_is_named() -> None:
    translator = LibreTranslate("http://127.0.0.1:9", attempts=2, pause=0.01)
    with pytest.raises(
        TranslatorError, match=r"http://127\.0\.0\.1:9/languages: ClientConnector.*2 attempts"
    ) as caught:
        await translator.draft(segment())
    assert (caught.value.cause, caught.value.retryable) == ("ConnectionRefusedError", True)
    await translator.aclose()
