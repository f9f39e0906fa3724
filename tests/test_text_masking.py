"""No key reaches the store, a log, a message or a file, in whatever way a server says it or a user misplaces it."""

from __future__ import annotations

import base64
import html
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import regex

from mtagent.errors import MtagentError
from mtagent.evaluators.search import parse
from mtagent.llm.client import OpenAIClient
from mtagent.records import Message, Tool
from mtagent.text.masking import MASK, clean, key_in, masked
from tests.commands import Shell
from tests.scripted_server import Answer, Request, ScriptedServer, scripted_server

# What is said → the part of it that is secret.
KEYS = {
    "sk-Zq8wLm4Rt7Yb2Nc9Vx5Kd3": "Zq8wLm4Rt7Yb2Nc9Vx5Kd3",
    "sk-ant-api03-Qw3Er5Ty7Ui9Op1As-AA": "Qw3Er5Ty7Ui9Op1As",
    "sk-proj-Gh6Jk8Lz0Xc2Vb4Nm_Qq": "Gh6Jk8Lz0Xc2Vb4Nm",
    "Bearer opaque.Pl9Ok8Ij7Uh6Yg5": "Pl9Ok8Ij7Uh6Yg5",
    "AIzaSyB1nC2mD3kE4jF5hG6gH7fJ8dK9sL0aZ1x": "SyB1nC2mD3kE4jF5hG6gH7",
    "xoxb-8642097531-Rf4Tg6Yh8Uj0": "Rf4Tg6Yh8Uj0",
    "ghp_Wx1Cv2Bn3Ml4Kj5Hg6Fd7Sa8Qp9Oi0Uy1Tr2": "Wx1Cv2Bn3Ml4Kj5Hg6",
    "github_pat_11AAB2Cc3Dd4Ee5Ff_Gg6Hh7": "11AAB2Cc3Dd4Ee5Ff",
    "hf_TyUiOpAsDfGhJkLzXcVbNmQw": "TyUiOpAsDfGhJkLzXcVb",
    "AKIAY3Z4X5C6V7B8N9M0": "Y3Z4X5C6V7B8N9M0",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJyb290LTQ3MTEifQ.s5t6u7v8w9x0": "s5t6u7v8w9x0",
    "gsk_Lk9Jh8Gf7Ds6Aq5Wz4Xe3": "Lk9Jh8Gf7Ds6Aq5Wz4Xe3",
    "r8_Mn1Bv2Cx3Zl4Kj5Hg6Fd7": "Mn1Bv2Cx3Zl4Kj5Hg6Fd7",
    "3f9a1c7e5b2d4860af13ce579b8d2046": "3f9a1c7e5b2d4860af13ce579b8d2046",
    "api-key: Uu7Ii8Oo9Pp0Aa1Ss2": "Uu7Ii8Oo9Pp0Aa1Ss2",
    "Basic dXNlcjpwYXNzd29yZC00NzEx": "dXNlcjpwYXNzd29yZC00NzEx",
}
OWN = 'own/Key+4711&<"odd">%=tail'  # of no known shape, and written otherwise in URLs, JSON, HTML and Base64


def own_in_base64() -> list[str]:
    return [base64.b64encode(f"{user}:{OWN}".encode()).decode() for user in ("", "u", "me", "you")]


def leaks(*texts: str) -> list[str]:
    """The secrets that stand in ``texts``, as they are or as they are written elsewhere."""
    everything = "\n".join(texts)
    forms = {OWN, quote(OWN, safe=""), quote(OWN), json.dumps(OWN)[1:-1], OWN.replace("/", "\\/"), *own_in_base64()}
    forms |= {form for secret in KEYS.values() for form in (secret, base64.b64encode(secret.encode()).decode()[:-4])}
    return sorted(form for form in forms if form in everything)


def files_below(folder: Path) -> str:
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file())


def usable(text: str = "Una respuesta", **more: object) -> dict[str, object]:
    message = {"role": "assistant", "content": text}
    return {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more}


def with_choice(**more: object) -> dict[str, object]:
    reply = usable()
    reply["choices"] = [{**reply["choices"][0], **more}]  # type: ignore[index]
    return reply


def error(message: str, **more: object) -> str:
    return json.dumps({"error": {"message": message, "type": "x", **more}})


def reply(body: object, status: int = 200, **more: object) -> Answer:
    return Answer(body if isinstance(body, str) else json.dumps(body), status, **more)  # type: ignore[arg-type]


MODEL_WAYS: dict[str, Callable[[str], Answer]] = {
    "400, message": lambda key: reply(error(f"Upstream refused {key} today"), 400),
    "400, code and param": lambda key: reply(error("no", code=key, param=key), 400),
    "400, detail": lambda key: reply({"detail": [{"loc": ["header"], "msg": f"invalid: {key}"}]}, 400),
    "400, the request's headers": lambda key: reply(
        {"error": {"headers": {"authorization": f"Bearer {key}", "api-key": key}}}, 400
    ),
    "400, in a query": lambda key: reply(error(f"GET /v1?api_key={quote(key)}&sig={quote(key, safe='')} failed"), 400),
    "400, JSON in a text": lambda key: reply(error(json.dumps(json.dumps({"api_key": key}))), 400),
    "400, in HTML": lambda key: reply(f"<html><body>Bad key <b>{key}</b></body></html>", 400),
    "400, at the end of a long text": lambda key: reply(error("x " * 180 + key), 400),
    "401": lambda key: reply(error(f"Incorrect API key provided: {key}. Find yours at …"), 401),
    "403, plain text": lambda key: reply(f"Forbidden for {key}", 403, headers={"Content-Type": "text/plain"}),
    "429, no money": lambda key: reply(error(f"quota of {key} is spent", code="insufficient_quota"), 429),
    "503, Retry-After": lambda key: reply("busy", 503, headers={"Retry-After": key}),
    "200, error object": lambda key: reply({"error": {"message": f"provider said {key}", "code": 502}}),
    "200, error beside choices": lambda key: reply(usable("", error={"message": key})),
    "200, no choices": lambda key: reply({"choices": [], "note": key}),
    "200, not JSON": lambda key: reply(f"<html>{key}</html>"),
    "200, refusal": lambda key: reply(with_choice(message={"content": None, "refusal": f"I saw {key}"})),
    "200, finish reason": lambda key: reply(with_choice(finish_reason=key)),
    "200, fingerprint and id": lambda key: reply(usable(id=key, system_fingerprint=key, provider={"name": key})),
    "200, headers": lambda key: reply(usable(), headers={"x-request-id": key, "Set-Cookie": f"k={key}"}),
    "400, status line": lambda key: reply("", 400, reason=f"Bad key {key}"),
    "401, headers": lambda key: reply("", 401, headers={"WWW-Authenticate": f'Bearer realm="{key}"'}),
    "broken status line": lambda key: Answer("", raw=f"HTTP/9 {key}\r\n\r\n"),
    "broken header": lambda key: Answer("", raw=f"HTTP/1.1 200 OK\r\n{key}\x00\r\n\r\n"),
    "302, elsewhere": lambda key: reply("", 302, headers={"Location": f"http://127.0.0.2:9/v1?api_key={quote(key)}"}),
    "307, with a password": lambda key: reply(
        "", 307, headers={"Location": f"http://me:{quote(key, safe='')}@127.0.0.2:9/"}
    ),
    "308, in the path": lambda key: reply("", 308, headers={"Location": f"/{key}/v1"}),
}
FATAL = {"401", "403, plain text", "401, headers"}
PASSING = ("5", "200, error", "200, no", "broken")  # asked again until the deadline
WAYS = [pytest.param(way, marks=[pytest.mark.slow] * (way in FATAL or way.startswith(PASSING))) for way in MODEL_WAYS]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as running:
        yield running


def answering(way: Callable[[str], Answer], only: str | None = None) -> Callable[[Request], Answer]:
    """Answers that say the key whose number stands in the text."""
    keys = [*KEYS, OWN]

    def answer(request: Request) -> Answer:
        number = regex.search(r"Text (\d+)\.", request.body)
        return way(only or keys[int(number[1]) if number else 0])

    return answer


@pytest.mark.loopback
@pytest.mark.parametrize("way", WAYS)
def test_no_key_that_a_model_server_says_is_kept_or_shown(
    way: str, server: ScriptedServer, shell: Shell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("OPENAI_API_KEY", OWN)
    shell.write("en.txt", *(f"Text {number}." for number in range(len(KEYS) + 1)))
    shell.write("es.txt", *(f"Texto {number}." for number in range(len(KEYS) + 1)))
    with sqlite3.connect(shell.folder / "store.db"):  # kept open, so that the log beside the store stays to be searched
        pass
    shell.postedit("--stages pr --gate guards --name first -q --limit 1 --base-url http://127.0.0.1:1 --deadline 0.01")
    reader = sqlite3.connect(shell.folder / "store.db")
    reader.execute("SELECT count(*) FROM runs").fetchall()
    deadline = 3 if way.startswith(PASSING) else 900
    line = f"--stages pr --gate guards -vv --deadline {deadline} --give-up-after 0 --base-url {server.url}/v1"
    shown = []
    for number, key in enumerate([*KEYS, OWN] if way in FATAL else [None]):
        server.answer = answering(MODEL_WAYS[way], key)
        run = f"--name mine{number} -o out{number}.txt --details details{number}.jsonl"
        shown += shell.postedit(f"{line} {run}")
    assert len(server.requests) > len(KEYS)
    for rest in ("runs list", "runs show mine0", "runs show mine0 1", "report mine0 -o report.html", "export mine0"):
        shown += shell(rest)
    shown += shell(f"config --base-url {server.url}/v1")
    assert leaks(*map(str, shown), caplog.text, files_below(shell.folder)) == []
    assert (shell.folder / "store.db-wal").exists()
    reader.close()


LIBRETRANSLATE_WAYS: dict[str, Callable[[str], Answer]] = {
    "403": lambda key: reply({"error": f"Invalid API key: {key}"}, 403),
    "400, HTML": lambda key: reply(f"<html>{key}</html>", 400),
    "400, after the two hundredth character": lambda key: reply("x" * 190 + f" {key}", 400),
    "400, status line": lambda key: reply("", 400, reason=key),
    "200, error": lambda key: reply({"error": key}),
    "200, not a text": lambda key: reply({"translatedText": [key]}),
    "200, not JSON": lambda key: reply(key),
    "302": lambda key: reply("", 302, headers={"Location": f"http://127.0.0.2:9/?key={quote(key)}"}),
    "broken status line": lambda key: Answer("", raw=f"HTTP/9 {key}\r\n\r\n"),
    "languages, error": lambda key: reply({"error": f"no key {key}"}),
    "languages, codes": lambda key: reply([{"code": key}]),
}


@pytest.mark.loopback
@pytest.mark.parametrize("way", LIBRETRANSLATE_WAYS)
def test_no_key_that_libretranslate_says_is_kept_or_shown(
    way: str, server: ScriptedServer, shell: Shell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("LIBRETRANSLATE_API_KEY", OWN)
    shown = []
    for number, key in enumerate([*KEYS, OWN]):

        def answer(request: Request, key: str = key) -> Answer:
            if request.path == "/languages" and not way.startswith("languages"):
                return reply([{"code": "en"}, {"code": "es"}])
            return LIBRETRANSLATE_WAYS[way](key)

        server.answer = answer
        shell.write("one.txt", f"Text {number}.")
        line = f"translate -s one.txt -l en-es --stages t --gate none -vv --name r{number} -o out.txt --details d.jsonl"
        shown += shell(f"{line} --translator libretranslate:{server.url}")
        if way == "broken status line":
            break  # four attempts, with pauses between them
    shown += shell("runs show r0")
    assert leaks(*map(str, shown), caplog.text, files_below(shell.folder)) == []


SEARCH_WAYS: dict[str, Callable[[str], Answer]] = {
    "finds": lambda key: reply([{"title": key, "text": f"a {key} b", "url": f"http://x/?api_key={quote(key)}"}]),
    "not JSON": lambda key: reply(f"{key}, and no JSON"),
    "not JSON, later": lambda key: reply("x" * 60 + f" {key}"),
    "no list": lambda key: reply({"error": key}),
    "401": lambda key: reply({"error": key}, 401),
    "status line": lambda key: reply("", 418, reason=key),
    "redirect": lambda key: reply("", 302, headers={"Location": f"http://127.0.0.2:9/?key={quote(key)}"}),
    "broken status line": lambda key: Answer("", raw=f"HTTP/9 {key}\r\n\r\n"),
}


@pytest.mark.loopback
@pytest.mark.parametrize("way", SEARCH_WAYS)
async def test_no_key_that_a_search_server_says_is_found(
    way: str, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("MY_KEY", OWN)
    for key in [*KEYS, OWN]:
        server.answer = lambda request, key=key: SEARCH_WAYS[way](key)  # type: ignore[misc]
        for address in (f"{server.url}/{{query}}#key=MY_KEY", f"{server.url}/{{query}}?k={{key}}#key=MY_KEY"):
            try:
                text = str(await parse(address).find("words"))
            except MtagentError as failure:
                text = str(failure)
            # A list of finds is a text to read, where 32 hexadecimal digits are mostly a checksum.
            assert [leak for leak in leaks(text, caplog.text) if way != "finds" or len(leak) != 32] == []


MISPLACED = [
    "--base-url http://me:{key}@127.0.0.1:9/v1",
    "--base-url http:/me:{key}@127.0.0.1:9/v1",
    "--base-url me:{key}@127.0.0.1:9/v1",
    "--base-url http://127.0.0.1:9/v1?api_key={key}",
    "--base-url http://127.0.0.1:9/v1?api-version=2024-06-01&sig={key}",
    "--base-url http://127.0.0.1:9/v1#key={key}",
    "--base-url http://127.0.0.1:9/proxy/sk-{key}/v1",
    "--base-url {key}",
    "--base-url http://[{key}/v1",
    "--api-key-env {key}",
    "--translator libretranslate:http://127.0.0.1:9/?api_key={key} --stages t",
    "--translator libretranslate:http://me:{key}@127.0.0.1:9 --stages t",
    "--translator libretranslate:127.0.0.1:9?api_key={key} --stages t",
    "--base-url http://127.0.0.1:9/v1 --evaluator rate:search=endpoint:http://127.0.0.1:9/{{query}}?token={key}",
    "--base-url http://127.0.0.1:9/v1 --evaluator rate:search=searxng:http://me:{key}@127.0.0.1:9",
    "--base-url http://127.0.0.1:9/v1 --stages pr --judge rate:search=endpoint:http://h/{{query}}?apikey={key}",
    "--config key.toml",
    "--config server.toml",
]


@pytest.mark.parametrize("line", MISPLACED)
def test_a_key_in_the_wrong_place_is_refused_unseen_and_unstored(
    line: str, shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    secret = "Gh6Jk8Lz0Xc2Vb4Nm"
    shell.write("key.toml", "api_key = 'sk-Gh6Jk8Lz0Xc2Vb4Nm'")
    shell.write("server.toml", "[proofread]", "base_url = 'http://127.0.0.1:9/v1?key=Gh6Jk8Lz0Xc2Vb4Nm'")
    words = line.format(key=secret)
    stages = "" if "--stages" in line else "--stages pr"
    done = shell.postedit(f"{stages} --gate guards -vv --name mine --deadline 0.01 {words}")
    for path in shell.folder.glob("*.toml"):
        path.unlink()
    assert done.code == 1
    assert "Traceback" not in done.err
    assert [line.partition(":")[0] for line in done.remarks if "offline" not in line] == ["mtagent"]
    assert leaks(*map(str, done), str(shell("runs list")), caplog.text, files_below(shell.folder)) == []


def test_the_message_about_a_key_in_an_address_names_the_way_out(shell: Shell) -> None:
    done = shell("config --base-url http://h/v1?api-key=4711")
    assert done.err == (
        "mtagent: base_url: holds a key in its query (api-key=); it would be stored and shown: put the key in the "
        "environment variable OPENAI_API_KEY, or in the one that api_key_env names\n"
    )


@pytest.mark.loopback
@pytest.mark.parametrize("ending", ["?api-version=2024-06-01", "/?api-version=2024-06-01&x=a%20b"])
def test_a_query_that_is_no_key_reaches_the_server(ending: str, server: ScriptedServer, shell: Shell) -> None:
    server.answer = lambda request: reply(usable())
    done = shell.postedit(f"--stages pr --gate guards -q --base-url {server.url}/openai/deployments/d{ending}")
    assert done.code == 0
    query = ending.partition("?")[2]
    assert {request.path for request in server.requests} == {f"/openai/deployments/d/chat/completions?{query}"}


# --- redirects


@pytest.mark.loopback
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("translator", ["llm", "libretranslate"])
def test_no_request_follows_a_redirect(
    status: int, translator: str, server: ScriptedServer, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", OWN)
    monkeypatch.setenv("LIBRETRANSLATE_API_KEY", OWN)
    with scripted_server() as other:
        target = other.url.replace("127.0.0.1", "localhost")
        server.answer = lambda request: reply("", status, headers={"Location": f"{target}{request.path}"})
        spec = "llm" if translator == "llm" else f"libretranslate:{server.url}"
        done = shell(f"translate -s en.txt -l en-es --stages t --gate none --translator {spec} --base-url {server.url}")
        assert other.requests == []
    assert server.requests
    assert f"the server redirects to {target}/" in done.err
    assert "key and texts do not follow" in done.err


# --- what is masked, and what is not


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in a URL": lambda key: quote(key, safe=""),
    "in a URL, lower case": lambda key: quote(key, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
    "in JSON": lambda key: json.dumps(key),
    "in PHP's JSON": lambda key: json.dumps(key).replace("/", "\\/"),
    "in JSON twice": lambda key: json.dumps(json.dumps(key)),
    "as a Python text": repr,
    "Base64": lambda key: base64.b64encode(key.encode()).decode(),
    "Base64 after a name": lambda key: base64.b64encode(f"me:{key}:x".encode()).decode(),
    "Base64 for URLs": lambda key: base64.urlsafe_b64encode(f"you:{key}".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "wholly in percents": lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    "in a URL twice": lambda key: quote(quote(key, safe=""), safe=""),
    "wholly in escapes": lambda key: "".join(f"\\u{ord(letter):04X}" for letter in key),
    "wholly in escapes, in JSON": lambda key: json.dumps("".join(f"\\u{ord(letter):04x}" for letter in key)),
    "in HTML": html.escape,
    "in numbers of HTML": lambda key: "".join(f"&#{ord(letter)};" for letter in key),
    "in hexadecimal numbers of HTML": lambda key: "".join(f"&#x{ord(letter):X};" for letter in key),
    "with zero-width characters": lambda key: "\u200b".join(key),
    "over two lines": lambda key: f"{key[:9]}\r\n    {key[9:]}",
    "in capitals": str.upper,
    "in small letters": str.lower,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", [*KEYS, OWN, "no shape at all 1", r"back\\slash%&4711"])
def test_the_configured_key_is_masked_in_every_form(key: str, form: str) -> None:
    cleaned = masked(f"it was {FORMS[form](key)} indeed", key)
    assert MASK in cleaned
    assert cleaned.startswith("it was ")
    assert cleaned.endswith(" indeed")
    assert len(cleaned) <= 40 + 8  # what Base64 shares with its neighbours may stay


@pytest.mark.parametrize("key", KEYS)
def test_other_keys_are_masked_by_their_shape(key: str) -> None:
    for text in (f"it was {key}", f"({key})", f'{{"x": "{key}"}}', f"x={key}", f"'{key}', at last", f"Key:{key}"):
        assert KEYS[key] not in masked(text)


def test_a_quotation_mark_in_a_key_is_not_its_end() -> None:
    assert masked("you sent Authorization: Bearer Zq8w\"Rt7Yb'2Nc9 to us") == f"you sent Authorization: {MASK} to us"
    assert masked('{"authorization": "Bearer Zq8wRt7Yb", "x": "Bearer Zq8wRt7Yb"}').count(MASK) == 2
    assert masked("""curl -H "Authorization: Bearer Zq8wRt7Yb" 'x'""") == f"""curl -H "Authorization: {MASK}" 'x'"""


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("local-key", "the local key; a local‑key, local-\n"),
        ("testtest", "a test test of tests"),
        ("key", "The monkey has keys."),
        ("test", "The latest contest"),
        ("a", "a-b, banana"),
        ("", "Incorrect API key provided. Set your API key: see the docs."),
        ("", "You didn't provide an API key in an Authorization header using Bearer auth"),
        ("", "Missing bearer token; basic authentication is switched off"),
        ("", "Basic Information: the task-force met in sk-Latn, sk-SK, sk-de.csv, sk-en.tar.gz and disk-based places"),
        ("", "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
        ("", "Invalid schema: key 'properties' is missing, token limit 8192 reached"),
        ("", "password: required"),
        ("", "request 123e4567-e89b-12d3-a456-426614174000 at http://host:8000/v1?api-version=2024-06-01"),
    ],
)
def test_ordinary_words_stay(key: str, text: str) -> None:
    assert masked(text, key) == text


def test_a_short_key_is_masked_as_a_word() -> None:
    assert masked("wrong key: k3y. (k3y) k3yring", "k3y") == f"wrong key: {MASK}. ({MASK}) k3yring"


@pytest.mark.parametrize("text", [*KEYS, f"El monedero {OWN} sk-1234567", "api_key=abc123"])
@pytest.mark.loopback
async def test_what_a_model_writes_is_never_altered(
    text: str, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", OWN)
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": json.dumps({"q": text})}}
    message = {"content": text, "tool_calls": [call], "refusal": None}
    server.answer = lambda request: reply(with_choice(message=message))
    client = OpenAIClient("m", base_url=server.url)
    tool = Tool(name="find", description="", parameters={"type": "object"})
    done = await client.complete([Message(role="user", content="Hello")], tools=[tool])
    await client.aclose()
    assert done.text == text
    assert json.loads(done.tool_calls[0].arguments)["q"] == text


def test_messages_are_cleaned_and_shortened_and_of_an_endless_one_only_the_beginning_is_read() -> None:
    assert clean("a key: sk-1234567,\n bearer  x\n", "") == "a key: [key], [key]"
    assert len(clean("x " * 10_000, "")) == 400
    began = time.process_time()
    clean("a key is wrong " * 1_000_000, "sk-4711")
    assert time.process_time() - began < 0.2


PIECES = [
    "x",
    "key ",
    "Bearer ",
    "basic ",
    "api_key",
    "&token",
    "?a=",
    "eyJ.",
    "://",
    "://a@",
    "key: '",
    " ",
    "\\",
    "o",
]
PIECES += ["%25", "&amp;", "&#0", "0", "o\u200b", "o\n", "own/Key+4711&amp;", "Bearer a'"]


@pytest.mark.parametrize("piece", PIECES)
def test_a_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    start = time.perf_counter()
    masked(piece * (200_000 // len(piece)), OWN)
    assert time.perf_counter() - start < 60  # a second; where each character looks at all others, some minutes


@pytest.mark.parametrize(
    "setting",
    [
        "endpoint:https://h/{query}?k={key}#key=BRAVE_KEY&list=web.results",
        "endpoint:https://h/{query}?token={key}#list=a&key=NAME",
        "command:curl -H 'Authorization: Bearer $TOKEN' http://h/",
        *("http://h/v1?api-version=2024-06-01", "gpt-4o-mini", "ft:gpt-4o:org::9a1b2c3d"),
    ],
)
def test_settings_without_a_key_are_taken(setting: str) -> None:
    assert key_in(setting) == ""


def test_a_key_in_a_command_is_refused(shell: Shell) -> None:
    shell.write("c.toml", "translator = \"command:curl -H 'Authorization: Bearer Zq8wLm4Rt7Yb2'\"")
    done = shell("config --config c.toml")
    assert done.code == 1
    assert "translator: holds what looks like a key" in done.err
    assert "Zq8" not in done.err
