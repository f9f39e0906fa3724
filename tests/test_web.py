"""What the servers do with clients that send too much, too slowly, or without a key."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from mtagent.serve.account import Limits
from mtagent.serve.app import MOST_STRANGERS, STRANGER_SECONDS
from mtagent.serve.service import Service
from mtagent.web import HEADER_SECONDS, MOST_HEADER_BYTES
from tests.serving import bearer, key_file, serving, shout

pytestmark = pytest.mark.loopback
ONE = {"q": "one", "source": "en", "target": "es"}
SECRET = {"api_key": "secret-ana"}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A server with the key of ana, and one place for a request in flight."""
    with serving(Service(translator=shout, keys=key_file(tmp_path, ana=""), limits=Limits(in_flight=1))) as url:
        yield url


@contextmanager
def connected(url: str, *sent: bytes) -> Iterator[socket.socket]:
    """A connection that has sent something and waits."""
    address = urlsplit(url)
    with closing(socket.create_connection((str(address.hostname), int(address.port or 0)), 30)) as connection:
        for part in sent:
            connection.sendall(part)
        yield connection


def status(connection: socket.socket) -> int:
    """The status of the next answer, which is read whole."""
    with connection.makefile("rb") as file:
        number = int(file.readline().split()[1])
        headers = http.client.parse_headers(file)
        file.read(int(headers["Content-Length"]))
    return number


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes the connection after what it still sends."""
    while received := connection.recv(10_000):
        assert received
    return True


def half(path: str, *headers: str) -> bytes:
    """A request whose body has a byte too few."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers]
    return "\r\n".join([*lines, "Content-Length: 3", "", "{}"]).encode()


# -- headers


@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"], ids=["first", "second"])
def test_endless_headers_are_cut_off(url: str, before: bytes) -> None:
    with connected(url) as connection:
        if before:
            connection.sendall(before)
            assert status(connection) == 200
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        sent = 0
        try:
            while sent < 300_000_000:
                sent += connection.send(b"x" * 65_536)
        except OSError:
            pass  # the server has closed the connection
    assert sent < 20_000_000, "what fits into the buffers of two sockets"


@pytest.mark.parametrize(("size", "expected"), [(1000, 200), (MOST_HEADER_BYTES, 431)])
def test_long_headers_that_arrive_at_once_are_refused(url: str, size: int, expected: int) -> None:
    for header in (f"X: {'x' * size}\r\n", f"X: {'x' * 100}\r\n" * (size // 100)):
        request = f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode()
        with connected(url, request) as connection:
            assert status(connection) == expected


def test_a_large_body_before_the_next_request_is_not_counted_as_headers(url: str) -> None:
    body = b'{"q": "one", "source": "en", "target": "es", "other": "%s"}' % (b"x" * 200_000)
    head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret-ana\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    request = head.encode() + body
    with connected(url, request + request[:40]) as connection:
        assert status(connection) == 200
        connection.sendall(request[40:])
        assert status(connection) == 200


def test_what_is_not_http_is_refused(url: str) -> None:
    with connected(url, b"\x16\x03\x01 no HTTP\r\n\r\n") as connection:
        assert status(connection) == 400
        assert is_closed(connection)


# -- bodies


def test_half_sent_bodies_take_no_place_of_a_request(url: str) -> None:
    halves = [
        half("/translate"),
        half("/v1/improve", "Authorization: Bearer secret-ana"),
        half("/v1/improve", "Authorization: Bearer other"),
        half("/v2/translate"),
    ]
    with ExitStack() as stack:
        for request in 20 * halves:
            stack.enter_context(connected(url, request))
        answer = httpx.post(f"{url}/translate", json=ONE | SECRET, timeout=5)
        assert answer.json() == {"translatedText": "ONE"}


@pytest.mark.parametrize(
    ("path", "header", "expected"),
    [("/v1/improve", "X: y", 401), ("/v1/improve", "Authorization: Bearer other", 403)],
)
def test_without_a_key_a_body_is_not_waited_for(url: str, path: str, header: str, expected: int) -> None:
    with connected(url, half(path, header)) as connection:
        assert status(connection) == expected
        assert is_closed(connection)


def test_of_too_many_half_sent_bodies_of_strangers_the_oldest_is_cut_off(url: str) -> None:
    with connected(url, half("/translate")) as oldest, ExitStack() as stack:
        httpx.get(f"{url}/healthz")
        for _ in range(MOST_STRANGERS):
            stack.enter_context(connected(url, half("/translate")))
        oldest.settimeout(STRANGER_SECONDS / 2)
        # It may be an honest client among many, which tries again.
        answer = b"".join(iter(lambda: oldest.recv(1000), b"")).decode().lower()
        assert answer.startswith("http/1.1 503 ")
        assert "retry-after: 1\r\n" in answer
        assert answer.endswith('{"error":"the server is busy"}')
        assert httpx.post(f"{url}/translate", json=ONE | SECRET, timeout=5).status_code == 200


@pytest.mark.slow
def test_slow_senders_are_cut_off(url: str) -> None:
    starts = [b"", b"GET /healthz HTTP/1.1\r\nHost: loc", half("/translate")]
    with ExitStack() as stack:
        slow = [stack.enter_context(connected(url, start)) for start in starts]
        end = time.monotonic() + HEADER_SECONDS - 1
        while time.monotonic() < end:
            slow[1].sendall(b"x")
            time.sleep(0.5)
        assert [status(connection) for connection in slow] == [408, 408, 408]
        assert all(map(is_closed, slow))


# -- what is malformed


@pytest.mark.parametrize("path", ["/translate", "/v2/translate", "/v1/improve"])
@pytest.mark.parametrize("origin", [b"http://[", b"http://a b", b"\xff", b"nothing", b"http://a/path"])
def test_a_malformed_origin_is_400(url: str, path: str, origin: bytes) -> None:
    headers = {b"Origin": origin, **{name.encode(): value.encode() for name, value in bearer("ana").items()}}
    answer = httpx.post(f"{url}{path}", json={}, headers=headers)
    assert (answer.status_code, list(answer.json().values())) == (400, ["the header Origin is malformed"])


@pytest.mark.parametrize("host", ["10.1.2.3:5000", "10.1.2.3", "[fd00::1]:5000", "[fd00::1]", "localhost"])
def test_probes_name_the_address_of_a_pod(url: str, host: str) -> None:
    assert httpx.get(f"{url}/healthz", headers={"Host": host}).json() == {"status": "ok"}
    metrics = httpx.get(f"{url}/metrics", headers={"Host": host} | bearer("ana"))
    assert "mtagent_requests_total" in metrics.text


@pytest.mark.parametrize("host", ["evil.example", "10.1.2.3.evil.example", "[", "", "fd00::1:5000x"])
def test_a_probe_by_another_name_is_refused(url: str, host: str) -> None:
    assert httpx.get(f"{url}/healthz", headers={"Host": host}).status_code == 400
    assert httpx.get(f"{url}/languages", headers={"Host": "10.1.2.3"}).status_code == 400


def test_a_malformed_host_is_no_failure_where_all_hosts_are_allowed() -> None:
    with serving(Service(translator=shout), host_names=["*"]) as url:
        answer = httpx.post(f"{url}/translate", json=ONE, headers={"Host": "["})
        assert answer.status_code < 500
