"""An OpenAI-compatible server for tests, with every fault a real one shows."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections import deque
from email.utils import formatdate
from typing import Any, NamedTuple, Self

from aiohttp import web

from tests.simulator import refusals, replies
from tests.simulator.batches import BatchQueue
from tests.simulator.faults import FAULTS
from tests.simulator.journal import Entry, Journal, sha256, visible
from tests.simulator.odd import ODD
from tests.simulator.settings import Body, Fault, RetryAfterStyle, Settings

BACKLOG = 4096
HANG = 3600.0


class Answer(NamedTuple):
    """What goes back: ``status=0`` resets the connection."""

    status: int
    payload: Any
    headers: dict[str, str] = {}  # noqa: RUF012
    fault: str | None = None


class Simulator:
    """``async with Simulator(Settings(...)) as server:`` serves on a free port of 127.0.0.1.

    ``server.base_url`` is the address for a client; ``server.journal.entries`` lists what was answered.
    """

    def __init__(self, settings: Settings | None = None, *, port: int = 0) -> None:
        self.settings = settings or Settings()
        self.journal = Journal(self.settings.log, keep=self.settings.keep)
        self.queue = BatchQueue(self.settings, self._respond, self.journal.write)
        self.port = port
        self._script = deque(self.settings.script)
        self._random = random.Random(self.settings.seed)
        self._recent: deque[float] = deque()
        self._prefixes = replies.PrefixCache(1 if self.settings.o200k else replies.CHARS_PER_TOKEN)
        self._marks = replies.MarkCache()
        self._received = 0
        self._hanging = asyncio.Event()
        self.arrived: list[tuple[str, dict[str, str]]] = []
        """Path with query, and all headers, keys included, of each request; in memory only."""
        self.hung = asyncio.Event()
        """Set as soon as a request is left without an answer."""

    @property
    def base_url(self) -> str:
        """Where clients connect, with ``/v1``."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[Body]:
        """The bodies of the answered requests."""
        return [entry.body for entry in self.journal.entries]

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=256 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/openai/deployments/{deployment}/chat/completions", self._chat)  # as Azure's
        app.router.add_get("/v1/models", self._models)
        self.queue.add_routes(app)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=BACKLOG).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._hanging.set()
        await self._runner.cleanup()
        self.journal.close()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "simulator", "object": "model"}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        start = time.time()
        self._received += 1
        number = self._received
        self.arrived.append((request.path_qs, {name.lower(): value for name, value in request.headers.items()}))
        body = json.loads(await request.read())
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        answer = await self.answer(body, number, key)
        response = web.Response(status=answer.status or 500, headers=answer.headers)
        response.headers["x-request-id"] = f"req_{number}"
        sent = await self._send(request, response, answer)
        headers = visible(request.headers)
        self.journal.write(
            Entry(f"req_{number}", start, time.time(), answer.status, sent, sha256(body), body, headers, answer.fault)
        )
        return response

    async def _respond(self, body: Body) -> tuple[int, Any]:
        """Status and body of the answer to a request in a batch."""
        self._received += 1
        answer = await self.answer(body, self._received, self.settings.api_key or "")
        payload = answer.payload
        if isinstance(payload, str | bytes):
            payload = {"unreadable": str(payload)}
        return answer.status or 500, payload

    async def _send(self, request: web.Request, response: web.Response, answer: Answer) -> bool:
        transport = request.transport
        if answer.status == 0 or transport is None or transport.is_closing():
            if transport is not None:
                transport.abort()
            return False
        if isinstance(answer.payload, bytes):
            response.body = answer.payload
        else:
            raw = isinstance(answer.payload, str)
            response.text = answer.payload if raw else json.dumps(answer.payload, ensure_ascii=False)
        response.content_type = "application/json"
        try:
            await response.prepare(request)
            await response.write_eof()
        except ConnectionError:
            return False
        return True

    async def answer(self, body: Body, number: int = 0, key: str = "") -> Answer:
        """The answer to the request of this number, as it would go over the wire."""
        if self.settings.api_key is not None and key != self.settings.api_key:
            return self._status(Fault("status", 401), body, key)
        if (wait := self._over_limit()) is not None:
            fault = Fault("status", 429, retry_after=wait, style=self.settings.retry_after_style)
            refused = self._status(fault, body, key)
            return refused._replace(headers={**refused.headers, **self._rate_headers()})
        rate_headers = self._rate_headers()
        answer = await self._answer(body, number, key)
        return answer._replace(headers={**answer.headers, **rate_headers})

    async def _answer(self, body: Body, number: int, key: str) -> Answer:
        if (refused := refusals.unsupported(body, self.settings.unsupported)) is not None:
            return Answer(400, refused)
        if self.settings.latency:
            await asyncio.sleep(self.settings.latency)
        step = self._script.popleft() if self._script else self._draw()
        if step is not None and step == self.settings.named:
            return await self._named(step, body, number)
        if isinstance(step, dict):
            return Answer(200, step)
        if isinstance(step, Fault):
            return await self._fault(step, body, number, key)
        told = step or (self.settings.behaviour or replies.default_behaviour)(replies.plain(body))
        if isinstance(told, Fault):
            return await self._fault(told, body, number, key)
        return Answer(200, self._reply(body, number, told))

    def _draw(self) -> Fault | str | None:
        if self.settings.fault_rate and self._random.random() < self.settings.fault_rate:
            return self.settings.named or self._random.choice(self.settings.faults)
        return None

    async def _named(self, name: str, body: Body, number: int) -> Answer:
        wire = FAULTS[name](self._reply(body, number, None))
        if wire.delay:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wire.delay):
                    await self._hanging.wait()
        headers = {"Content-Type": wire.content_type, **wire.headers}
        return Answer(wire.status, wire.content, headers, fault=name)

    def _over_limit(self) -> float | None:
        """Seconds until the window has room again, ``None`` where it has room now."""
        if self.settings.requests_per_window is None:
            return None
        now = asyncio.get_running_loop().time()
        while self._recent and self._recent[0] <= now - self.settings.window:
            self._recent.popleft()
        if len(self._recent) >= self.settings.requests_per_window:
            return self._recent[0] + self.settings.window - now
        self._recent.append(now)
        return None

    def _rate_headers(self) -> dict[str, str]:
        """The headers that state how much of the window is left."""
        most = self.settings.requests_per_window
        if most is None or not self.settings.rate_headers:
            return {}
        reset = self._recent[-1] + self.settings.window - asyncio.get_running_loop().time()
        return {
            "x-ratelimit-limit-requests": str(most),
            "x-ratelimit-remaining-requests": str(most - len(self._recent)),
            "x-ratelimit-reset-requests": f"{int(reset // 60)}m{reset % 60:.3f}s",
        }

    async def _fault(self, fault: Fault, body: Body, number: int, key: str) -> Answer:
        match fault.kind:
            case "status":
                return self._status(fault, body, key)
            case "hang":
                await self._hang()
                return Answer(0, None)
            case "reset":
                return Answer(0, None)
            case "bad-json":
                return Answer(200, '{"id": "chatcmpl-broken", "choices": [{"mess')
            case "no-choices":
                return Answer(200, {**replies.completion(body, number, ""), "choices": []})
            case "azure-filter":
                return Answer(400, refusals.AZURE_FILTER)
            case kind if kind in ODD:
                payload = ODD[kind](self._reply(body, number, None))
                return Answer(200, payload, {"Content-Encoding": "gzip"} if isinstance(payload, bytes) else {})
        return Answer(200, self._odd_reply(fault, body, number))

    def _odd_reply(self, fault: Fault, body: Body, number: int) -> Body:
        match fault.kind:
            case "empty":
                return self._with_usage(replies.completion(body, number, ""), body, "")
            case "refusal":
                refusal = fault.message or "I'm sorry, I can't help with that."
                return self._with_usage(replies.completion(body, number, None, refusal=refusal), body, "")
            case "content-filter":
                return self._with_usage(replies.completion(body, number, "", finish="content_filter"), body, "")
            case "nonsense":
                return self._reply(body, number, fault.message or replies.NONSENSE)
            case "bad-call":
                return self._reply(body, number, replies.broken_call(body))
        return self._reply(body, number, None, cut=True)

    async def _hang(self) -> None:
        """Wait until the server stops."""
        self.hung.set()
        try:
            async with asyncio.timeout(HANG):
                await self._hanging.wait()
        except TimeoutError:
            return

    def _status(self, fault: Fault, body: Body, key: str) -> Answer:
        payload = refusals.status_error(fault.status, body, key, fault.message, fault.code, fault.param)
        return Answer(fault.status, payload, retry_after_header(fault.retry_after, fault.style))

    def _reply(self, body: Body, number: int, text: str | Body | None, *, cut: bool = False) -> Body:
        behaviour = self.settings.behaviour or replies.default_behaviour
        told = behaviour(replies.plain(body)) if text is None else text
        reply = "" if isinstance(told, Fault) else told
        room = body.get("max_completion_tokens", body.get("max_tokens")) or 0
        cut = cut or (self.settings.truncate_below is not None and room < self.settings.truncate_below)
        if isinstance(reply, dict):
            finish = "length" if cut else "tool_calls"
            return self._with_usage(replies.completion(body, number, reply, finish=finish), body, replies.said(reply))
        reply = reply[: len(reply) // 2] if cut else reply
        finish = "length" if cut else "stop"
        return self._with_usage(replies.completion(body, number, reply, finish=finish), body, reply)

    def _with_usage(self, reply: Body, body: Body, text: str) -> Body:
        if not self.settings.usage:
            return reply
        prompt = replies.prompt_text(replies.plain(body))
        numbers = replies.tokens(prompt), replies.tokens(text)
        if self.settings.o200k:
            prompt, text = replies.in_o200k(replies.tools_and_schema(body) + prompt), replies.in_o200k(text)
            numbers = len(prompt), len(text)
        cached = written = 0
        if self.settings.cached_tokens and self.settings.cached_to_marks:
            cached, written = self._marks.cached([*map(replies.in_o200k, replies.marked_prompts(body))])
        elif self.settings.cached_tokens:
            cached = self._prefixes.cached(prompt)
        return {**reply, "usage": replies.usage(*numbers, cached, self.settings.reasoning_tokens, written)}


def retry_after_header(seconds: float | None, style: RetryAfterStyle) -> dict[str, str]:
    """The header that asks to come back after ``seconds``."""
    if seconds is None or style == "none":
        return {}
    if style == "ms":
        return {"retry-after-ms": str(round(seconds * 1000))}
    if style == "date":
        return {"Retry-After": formatdate(time.time() + seconds, usegmt=True)}
    return {"Retry-After": str(round(seconds, 3))}
