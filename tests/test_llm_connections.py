"""Which errors of HTTP packages mean a lost connection: real ones, of servers that refuse, hang up, wait and answer."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import httpx
import openai
import pytest

from mtagent.llm.connections import lost_connection

pytestmark = pytest.mark.loopback

SECONDS = 0.3
"""What each package waits for an answer."""
HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
REFUSAL = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
ANSWERS = {
    "hangs up": b"",
    "hangs up before TLS": b"",
    "breaks off": HALF,
    "refuses the token": REFUSAL,
    "hangs": None,
    "speaks no TLS": REFUSAL,
}


def serve(listener: socket.socket, answer: bytes | None, over: threading.Event) -> None:
    with suppress(OSError):  # the test closes the listener
        while True:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(100_000)
                if answer is None:
                    over.wait()
                else:
                    connection.sendall(answer)


@pytest.fixture
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that behaves as the parameter tells."""
    if request.param == "has no name":
        yield "http://no-such-host.invalid/"
        return
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    if request.param == "is down":
        listener.close()
        yield f"http://127.0.0.1:{port}/"
        return
    over = threading.Event()
    is_tls = "TLS" in request.param
    answer = ANSWERS[request.param]
    thread = threading.Thread(target=serve, args=(listener, answer, over), daemon=True)
    thread.start()
    yield f"http{'s' * is_tls}://127.0.0.1:{port}/"
    over.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def by_urllib(address: str) -> None:
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as response:
            response.read()
    except urllib.error.HTTPError as refusal:
        refusal.close()
        raise


def by_httpx(address: str) -> None:
    httpx.get(address, timeout=SECONDS).raise_for_status()


def by_requests(address: str) -> None:
    requests = pytest.importorskip("requests")
    requests.get(address, timeout=SECONDS).raise_for_status()


def by_aiohttp(address: str) -> None:
    async def get() -> None:
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout, raise_for_status=True) as session,
            session.get(address) as response,
        ):
            await response.read()

    asyncio.run(get())


def by_openai(address: str) -> None:
    with openai.OpenAI(api_key="k", base_url=address, timeout=SECONDS, max_retries=0) as client:
        client.models.list()


@pytest.mark.parametrize("package", [by_urllib, by_httpx, by_requests, by_aiohttp, by_openai])
@pytest.mark.parametrize(
    ("address", "is_lost"),
    [
        ("is down", True),
        ("hangs up", True),
        ("hangs up before TLS", True),
        ("breaks off", True),
        ("hangs", True),
        ("has no name", True),
        ("refuses the token", False),
        ("speaks no TLS", False),
    ],
    indirect=["address"],
)
def test_a_lost_connection_is_told_from_a_refusal(address: str, is_lost: bool, package: Callable[[str], None]) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011  each package has its own
        package(address)
    assert (lost_connection(caught.value) is not None) == is_lost


@pytest.mark.parametrize("is_hidden", [False, True])
def test_an_error_that_a_function_hides_does_not_count(is_hidden: bool) -> None:
    refused = ConnectionRefusedError("port 1")

    def translate() -> None:
        try:
            raise refused
        except ConnectionRefusedError as error:
            raise LookupError("no translation") from (None if is_hidden else error)

    with pytest.raises(LookupError) as caught:
        translate()
    assert lost_connection(caught.value) is (None if is_hidden else refused)


def test_a_file_that_is_missing_counts_more_than_a_connection_that_was_lost_before(tmp_path: Path) -> None:
    def token() -> str:
        try:
            raise ConnectionRefusedError("no cache")
        except ConnectionError:
            return (tmp_path / "token").read_text()

    with pytest.raises(FileNotFoundError) as caught:
        token()
    assert lost_connection(caught.value) is None


def test_causes_in_a_circle_end() -> None:
    first, second = LookupError("first"), LookupError("second")
    first.__cause__, second.__cause__ = second, first
    assert lost_connection(first) is None
