"""The simulator's files and batches. A batch is answered when somebody looks at it, after ``batch_seconds``."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.simulator.journal import Entry, sha256
from tests.simulator.settings import Body, Settings

Respond = Callable[[Body], Awaitable[tuple[int, Any]]]


class BatchQueue:
    """Files and batches of one server. ``endings`` of the settings are consumed one a batch.

    ``completed``, and with the number of requests that are answered before it: ``expired:5``, ``cancelled:5``,
    ``silent:5`` (completed, and nothing is known of the others); ``invalid`` and ``full`` fail as a whole.
    """

    def __init__(self, settings: Settings, respond: Respond, write: Callable[[Entry], None]) -> None:
        self.settings = settings
        self.files: dict[str, dict[str, Any]] = {}
        self.contents: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.keys: dict[str, str] = {}
        self._endings = deque(settings.endings)
        self._ending_of: dict[str, str] = {}
        self._respond, self._write = respond, write
        self._lock = asyncio.Lock()

    def add_routes(self, app: web.Application) -> None:
        """Serve under the addresses of OpenAI and of Azure."""
        for root in ("/v1", "/openai"):
            app.router.add_post(f"{root}/files", self._upload)
            app.router.add_get(f"{root}/files", self._list_files)
            app.router.add_get(f"{root}/files/{{id}}", self._file)
            app.router.add_get(f"{root}/files/{{id}}/content", self._content)
            app.router.add_post(f"{root}/batches", self._create)
            app.router.add_get(f"{root}/batches", self._list_batches)
            app.router.add_get(f"{root}/batches/{{id}}", self._batch)
            app.router.add_post(f"{root}/batches/{{id}}/cancel", self._cancel)

    def _new_file(self, name: str, content: bytes, purpose: str) -> str:
        number = f"file-{len(self.files) + 1}"
        self.contents[number] = content
        self.files[number] = {
            "id": number, "object": "file", "bytes": len(content), "created_at": int(time.time()), "filename": name,
            "purpose": purpose, "status": "processed",
        }  # fmt: skip
        return number

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        sent: Any = form["file"]
        number = self._new_file(sent.filename, sent.file.read(), str(form["purpose"]))
        if self.settings.slow_upload and len(self.files) == 1:  # pending until another file is in a batch
            self.files[number]["status"] = "pending"
        await asyncio.sleep(self.settings.batch_latency)
        return web.json_response(self.files[number])

    async def _list_files(self, _: web.Request) -> web.Response:
        return _listed([file for file in self.files.values() if file["purpose"] == "batch"])

    async def _file(self, request: web.Request) -> web.Response:
        return web.json_response(self.files[request.match_info["id"]])

    async def _content(self, request: web.Request) -> web.Response:
        await asyncio.sleep(self.settings.batch_latency)
        if request.match_info["id"] not in self.contents:
            return web.json_response({"error": {"message": "No such File object"}}, status=404)
        return web.Response(body=self.contents[request.match_info["id"]])

    async def _create(self, request: web.Request) -> web.Response:
        told = await request.json()
        number = f"batch_{len(self.batches) + 1}"
        for file in self.files.values():
            file["status"] = "processed"
        self.keys[number] = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self._ending_of[number] = self._endings.popleft() if self._endings else "completed"
        self.batches[number] = {
            "id": number, "object": "batch", "status": "validating", "created_at": int(time.time()), **told,
            "output_file_id": None, "error_file_id": None, "began": time.monotonic(),
        }  # fmt: skip
        await asyncio.sleep(self.settings.batch_latency)
        return web.json_response(self.batches[number])

    async def _list_batches(self, _: web.Request) -> web.Response:
        return _listed(list(self.batches.values()))

    async def _batch(self, request: web.Request) -> web.Response:
        batch = self.batches.get(request.match_info["id"])
        if batch is None:
            return web.json_response({"error": {"message": "No such batch"}}, status=404)
        async with self._lock:
            is_refused = self._ending_of[batch["id"]] in ("invalid", "full")
            is_over = time.monotonic() - batch["began"] >= self.settings.batch_seconds
            if batch["status"] == "validating" and (is_refused or is_over):
                await self._work(batch)
        return web.json_response(batch)

    async def _cancel(self, request: web.Request) -> web.Response:
        batch = self.batches[request.match_info["id"]]
        self._ending_of[batch["id"]] = "cancelled:0"
        return web.json_response(batch)

    async def _work(self, batch: dict[str, Any]) -> None:
        ending, _, count = self._ending_of[batch["id"]].partition(":")
        if ending in ("invalid", "full"):
            code = "token_limit_exceeded" if ending == "full" else "invalid_json_line"
            error = {"code": code, "message": f"This batch is {ending}.", "line": 3 if ending == "invalid" else None}
            batch |= {"status": "failed", "errors": {"object": "list", "data": [error]}}
            return
        lines = [json.loads(line) for line in self.contents[batch["input_file_id"]].splitlines()]
        answered = int(count) if count else len(lines)
        output, errors = [], []
        for number, line in enumerate(lines):
            result: dict[str, Any] = {"id": f"batch_req_{number}", "custom_id": line["custom_id"], "response": None}
            if number >= answered:
                if ending == "expired":
                    errors.append(result | {"error": {"code": "batch_expired", "message": "It could not be executed."}})
                continue
            began = time.time()
            status, body = await self._respond(line["body"])
            name = line["custom_id"]
            self._write(
                Entry(name, began, time.time(), status, True, sha256(line["body"]), line["body"], {}, batch["id"])
            )
            response = {"status_code": status, "request_id": f"req_{number}", "body": body}
            (output if status == 200 else errors).append(result | {"response": response, "error": None})
        for field, results in (("output_file_id", output), ("error_file_id", errors)):
            if results:
                content = "".join(json.dumps(result) + "\n" for result in results).encode()
                batch[field] = self._new_file(f"{batch['id']}_{field}.jsonl", content, "batch_output")
        batch["status"] = "completed" if ending == "silent" else ending


def _listed(items: list[dict[str, Any]]) -> web.Response:
    return web.json_response({"object": "list", "data": items[::-1], "has_more": False})
