"""A server whose every byte a test decides: status lines, headers and bodies that no well-behaved framework sends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Answer:
    """An answer; ``raw`` stands in place of all of it."""

    body: str
    status: int = 200
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str = ""


class ScriptedServer:
    """Answers as ``answer`` says, and keeps the ``requests``."""

    def __init__(self) -> None:
        self.answer: Callable[[Request], Answer] = lambda request: Answer("{}")
        self.requests: list[Request] = []
        self.url = ""


@contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    """A server on a free port of 127.0.0.1, in a thread of its own."""
    script = ScriptedServer()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            request = Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            script.requests.append(request)
            answer = script.answer(request)
            self.close_connection = True
            if answer.raw:
                self.wfile.write(answer.raw.encode())
                return
            self.send_response(answer.status, answer.reason or None)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body.encode())))
            self.end_headers()
            self.wfile.write(answer.body.encode())

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Nothing: standard error is searched for keys."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # beyond this a client waits a second before it tries to connect again

    with Server(("127.0.0.1", 0), Handler) as server:
        script.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield script
        finally:
            server.shutdown()
            thread.join()
