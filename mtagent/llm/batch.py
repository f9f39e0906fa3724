"""Batches: requests are written to files, which a server answers within a day, usually at half the price.

A run works in waves: the ordinary chain runs over the segments that are not finished. A :class:`BatchTransport`
answers a request from the files of results. If there is no result, it writes the request to a file, and raises
:class:`NotAnswered`, which leaves the segment unfinished. After a wave the files are submitted and the results fetched.

All that is known of the batches is in one folder, so a run goes on after a kill and on another machine::

    run.json                 the run, the parameters that models refused, and the newest call in the store before the
                             first batch: failed calls after it are read again; the number of round trips
    reserved.json            what a budget has reserved for requests whose results were not read
    failed.txt               the positions of segments that failed
    requests-0001.jsonl      requests that are or were in a batch, and in requests-0001.json where they were sent
    results-0001-0.jsonl     its results (the name of a file of results is free, if others submit the requests)
    unanswered-0001.jsonl    written for requests without a result when the batch ended

The id of a request is a hash of what is sent, and the number of the attempt.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

from mtagent.errors import (
    BadRequest,
    BatchOpen,
    ConfigError,
    InputError,
    MtagentError,
    NotAnswered,
    ServerError,
    ServerPaused,
)
from mtagent.formats.files import dumped, opened, reason_of, replacing, whole_file
from mtagent.llm.budget import Amount
from mtagent.llm.limits import ReadLimits
from mtagent.llm.reply import RequestFailure, parsed, read_reply, status_failure, words_of
from mtagent.llm.request import Body, key_of, refused_parameter, sent_json
from mtagent.llm.server import Endpoint
from mtagent.text.amounts import by_cause, counted
from mtagent.text.masking import clean, masked_reply

logger = logging.getLogger(__name__)

BatchMode = Literal["submit", "write", "read"]
ATTEMPTS = 3
"""A request is tried in this many batches; then the segment fails."""
FIRST_WAIT, LONGEST_WAIT = 0.1, 60.0
"""Seconds between two looks at a batch."""
MOST_FAILURES = 12
"""This many failures in a row stop the run: with the longest waits, after some minutes."""
ENDED = ("completed", "expired", "cancelled")
QUEUE_FULL = ("token_limit_exceeded", "quota_exceeded")
"""Codes of a batch that failed because other batches fill the queue of the account."""
TAG = "mtagent"
"""The field of a batch's metadata that names its file of requests."""


class Batches:
    """The batches of a run. ``write`` and ``read``: others submit the files in ``folder``."""

    most_requests = 50_000
    most_bytes = 200_000_000
    """What OpenAI takes in one file; Azure takes more requests."""

    def __init__(self, mode: BatchMode = "submit", folder: Path | None = None) -> None:
        self.mode = mode
        self.folder = folder or Path()
        self.failed: set[int] = set()
        """The positions of segments that failed. They are tried again when the others are done, by a new command."""
        self._is_named = folder is not None
        self._about: dict[str, Any] = {}  # the content of run.json
        self._number = 0  # of the last file of requests
        self._endpoints: dict[tuple[str, str], Endpoint] = {}  # by address, and where the key comes from
        self._waiting: dict[str, Path] = {}  # id of a request without a result → its file
        self._results: dict[str, tuple[Path, int]] = {}  # id → file and place of its result
        self._opened: dict[Path, BinaryIO] = {}  # files of results
        self._read_once: set[str] = set()  # ids of results that were read
        self._used: dict[str, int] = {}  # request → the last attempt whose result was used in this wave
        self._writers: dict[str, RequestFile] = {}  # by server, key and model
        self._states: dict[Path, dict[str, Any]] = {}  # of the files of requests whose results are not here
        self._failures = 0  # in a row
        self._reasons: list[str] = []  # of requests that this wave asks again

    def transport(self, endpoint: Endpoint, draw: str = "") -> BatchTransport:
        """What sends the requests to ``endpoint``; the results of one ``draw`` are not used for another."""
        if self.mode == "submit":
            endpoint.check_key()
        self._endpoints[endpoint.address, endpoint.key_source] = endpoint
        return BatchTransport(self, endpoint, draw)

    @property
    def waiting(self) -> int:
        """How many requests have no result."""
        return len(self._waiting)

    @property
    def number_read(self) -> int:
        """How many results were read, each counted once."""
        return len(self._read_once)

    # -- the folder

    @property
    def newest_call(self) -> int:
        """The number of the newest call in the store before the first of these batches."""
        return int(self._about["newest_call"])

    def open(self, run: str, folder: Path, newest_call: int = 0, *, is_stored: bool = False) -> None:
        """Read the ``folder``, unless the user named another. ``newest_call`` is the newest one in the store now.

        If the run was finished and ``is_stored``, its failed segments are tried with new requests; without its store
        all results are read again. Raises :class:`InputError` for unreadable results, and :class:`BatchOpen` if
        ``read`` finds none.
        """
        if not self._is_named:
            self.folder = folder
        try:
            if self.mode == "read" and not (self.folder / "run.json").exists():
                raise InputError(f"{self.folder}: has no requests of a run: --batch write {self.folder} writes them")
            if self.folder.exists() and not self.folder.is_dir():
                raise ConfigError(f"{self.folder}: is a file: name a folder for the requests")
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ConfigError(
                f"{self.folder}: cannot be the folder for the requests: {reason_of(error)}: name another folder"
            ) from None
        for unfinished in self.folder.glob(".mtagent-*.tmp"):
            unfinished.unlink()
        self._about = self._about_of(run)
        if self._about["finished"]:
            self._begin_again(newest_call if is_stored else None)
        self.failed = set()
        if (self.folder / "failed.txt").exists():
            self.failed.update(map(int, (self.folder / "failed.txt").read_text(encoding="utf-8").split()))
        # The store may be another one than before, with fewer calls.
        self._about["newest_call"] = min(newest_call, self._about.get("newest_call", newest_call))
        _write_json(self.folder / "run.json", self._about)
        sizes: dict[Path, int] = {}
        for path in sorted(self.folder.glob("requests-*.jsonl")):
            before = self.waiting
            for _, request in _lines(path):
                self._waiting[request] = path
            sizes[path] = self.waiting - before
            self._number = int(path.stem.removeprefix("requests-"))
            self._states[path] = whole_file(path.with_suffix(".json"))
        for path in sorted(self.folder.glob("*.jsonl")):
            if path not in sizes:
                self._take_results(path)
        unanswered = set(self._waiting.values())
        for path, state in list(self._states.items()):
            if "ended" in state and path in unanswered and self.mode == "submit":
                del state["ended"]  # a file of results is gone: it is fetched again
            elif "ended" in state:
                del self._states[path]
        if self.mode == "read" and self._waiting and not self._results:
            raise BatchOpen(f"{self.folder}: has no file with results (*.jsonl): put the results of its requests there")
        if self.mode != "submit":  # a file that has some results has no others
            for path, size in sizes.items():
                if 0 < list(self._waiting.values()).count(path) < size:
                    self._close(path, "no file of results has a line for it")

    def _about_of(self, run: str) -> dict[str, Any]:
        """The content of run.json, at first that of a new folder for ``run``."""
        if not (self.folder / "run.json").exists():
            return {
                "run": run,
                # Tells the batches of this folder from those of another machine, or of an earlier try.
                "token": secrets.token_hex(8),
                "refused": {},
                "finished": False,
                "round_trips": 0,
                # Attempts of each request: done with, and allowed.
                "attempts_before": 0,
                "attempts": ATTEMPTS,
            }
        about: dict[str, Any] = whole_file(self.folder / "run.json")
        if about["run"] != run:
            raise ConfigError(
                f"{self.folder}: has the batches of the run {about['run']!r}, and this run is {run!r}: name "
                "another folder, or give the command of that run"
            )
        return about

    def _begin_again(self, newest_call: int | None) -> None:
        """Go on with a finished run, whose store has calls up to ``newest_call``; ``None``: the run is not in it."""
        self._about["finished"] = False
        (self.folder / "failed.txt").unlink(missing_ok=True)
        self._about["attempts_before"] = 0
        if newest_call is not None:
            self._about["newest_call"] = newest_call
            self._about["attempts_before"] = self._about["attempts"]
            self._about["attempts"] += ATTEMPTS

    def _take_results(self, path: Path) -> None:
        """Note the place of each result in ``path``."""
        known = place = 0
        for length, name in _lines(path, of_results=True):
            if self._waiting.pop(name, None) is not None:
                self._results[name] = (path, place)
            known += name in self._results
            place += length
        if not known and place:
            raise InputError(f"{path}: has no results of requests in {self.folder}: remove it from the folder")

    def _close(self, requests: Path, why: str) -> int:
        """Write a result for each of the ``requests`` without one, because no further will come; return how many."""
        names = [name for name, path in self._waiting.items() if path == requests]
        self._states.pop(requests, None)
        if not names:
            return 0
        path = requests.with_name(requests.name.replace("requests", "unanswered"))
        with replacing(path) as file:
            for name in names:
                file.write(dumped({"custom_id": name, "error": {"code": "unanswered", "message": why}}) + "\n")
        self._take_results(path)
        return len(names)

    def note_failed(self, position: int) -> None:
        """Note at once that a segment failed: after a kill it must not be worked on again."""
        self.failed.add(position)
        with (self.folder / "failed.txt").open("a", encoding="utf-8") as file:
            file.write(f"{position}\n")

    def begin_wave(self) -> None:
        """Read the results from the first attempts again. The files of requests stay open."""
        for file in self._opened.values():
            file.close()
        self._opened, self._used = {}, {}

    def end_wave(self) -> None:
        """Complete the files of requests, and close the files of results."""
        self.begin_wave()
        for writer in self._writers.values():
            writer.close()
        if self._writers:
            self._about["round_trips"] = self.round_trips + 1
        for count, reason in by_cause(self._reasons):
            requests = f"{counted(count, 'request')} failed and {'is' if count == 1 else 'are'} asked again"
            logger.info("round trip %d: %s: %s", self.round_trips, requests, reason)
        self._writers, self._reasons = {}, []
        _write_json(self.folder / "run.json", self._about)

    @property
    def round_trips(self) -> int:
        """How many waves have asked for new requests, also in earlier processes."""
        return int(self._about.get("round_trips", 0))

    def keep_reserved(self, reserved: Mapping[str, Amount]) -> None:
        """Keep what a budget has reserved for requests, by key: after a kill their results are still to be read."""
        amounts = {key: [amount.dollars, amount.tokens] for key, amount in reserved.items()}
        _write_json(self.folder / "reserved.json", amounts)

    def reserved(self) -> dict[str, Amount]:
        """What :meth:`keep_reserved` has kept."""
        path = self.folder / "reserved.json"
        if not path.exists():
            return {}
        return {key: Amount(*amounts) for key, amounts in whole_file(path).items()}

    def finish(self) -> None:
        """The run is finished, and all its replies are stored. A folder that the user named is kept."""
        if not self._is_named:
            shutil.rmtree(self.folder)
            return
        _write_json(self.folder / "run.json", self._about | {"finished": True})

    # -- requests and results

    def result(self, endpoint: Endpoint, draw: str, body: Body) -> object | RequestFailure:
        """The result of a request. Without one, the request gets into a file, and :class:`NotAnswered` is raised.

        Asked again in the same wave, it is the result of the next attempt, as a server may answer an equal request
        differently.
        """
        refused = self._about["refused"].setdefault(f"{body['model']} at {endpoint.address}", {})
        for parameter, fields in refused.items():  # of other requests, maybe in another process
            failure = RequestFailure(BadRequest, **fields)
            if refused_parameter(failure, body) == parameter:
                return failure
        request = key_of(body, f"{endpoint.address}#{draw}").rpartition(":")[2][:40]
        first = self._about["attempts_before"] + 1
        attempt = self._used.get(request, first - 1) + 1
        outcome: object = None
        while True:
            name = f"{request}-{attempt}"
            if name not in self._results:
                if attempt <= self._about["attempts"]:
                    if attempt > first and name not in self._waiting:
                        reason = "an empty reply"
                        if isinstance(outcome, RequestFailure):
                            reason = _with_status(outcome)
                        self._reasons.append(reason)
                    self._write(name, endpoint, body)
                    raise NotAnswered("the request is in a batch: the command with --batch again goes on with it")
                break
            outcome = read_result(self._read(name))
            if not isinstance(outcome, RequestFailure) or not outcome.transient:
                break
            attempt += 1
        self._used[request] = attempt
        if isinstance(outcome, RequestFailure):
            name = refused_parameter(outcome, body) or ""
            if name not in ("", "response_format"):  # of which there are several, and one may be refused
                refused[name] = {field: getattr(outcome, field) for field in ("message", "status", "param", "code")}
            return replace(outcome, transient=False)
        return outcome or RequestFailure(ServerError, f"no usable answer in {ATTEMPTS} batches")

    def _read(self, name: str) -> Any:
        path, place = self._results[name]
        self._read_once.add(name)
        if path not in self._opened:
            self._opened[path] = path.open("rb")
        self._opened[path].seek(place)
        return parsed(self._opened[path].readline())

    def _write(self, name: str, endpoint: Endpoint, body: Body) -> None:
        """Write a request to the file for its server and model, unless it is in a file already."""
        if name in self._waiting:
            return
        url = "/v1/chat/completions" if endpoint.azure_endpoint is None else "/chat/completions"
        line = f'{{"custom_id":"{name}","method":"POST","url":"{url}","body":{sent_json(body).decode()}}}\n'
        # A file may name only one model, and is submitted with one key.
        queue = f"{body['model']} at {endpoint.address} with {endpoint.key_source}"
        writer = self._writers.get(queue)
        size = len(line.encode())
        if writer is None or writer.requests >= self.most_requests or writer.bytes + size > self.most_bytes:
            if writer is not None:
                writer.close()
            self._number += 1
            writer = RequestFile(self.folder / f"requests-{self._number:04}.jsonl")
            # The number of a file that the user deleted is used again, and its batch must not be found again.
            tag = f"{self._about['token']}-{writer.path.stem}-{secrets.token_hex(4)}"
            state = {"server": endpoint.address, "key": endpoint.key_source, "url": url, "tag": tag}
            _write_json(writer.path.with_suffix(".json"), state)
            self._writers[queue], self._states[writer.path] = writer, state
        writer.write(line, size)
        self._waiting[name] = writer.path

    # -- submitting, and fetching the results

    async def answered(self) -> None:
        """Submit the files of requests, and wait for all results. Raises :class:`BatchOpen` if others submit them."""
        if self.mode != "submit":
            open_files = sorted({path.name for path in self._waiting.values()})
            raise BatchOpen(
                f"{counted(self.waiting, 'request')} to answer in {self.folder} ({', '.join(open_files)}): submit each "
                f"file, put the files of results there, and give the same command with --batch read {self.folder}"
            )
        from mtagent.llm.sdk import made_client

        wait = FIRST_WAIT
        async with AsyncExitStack() as stack:
            clients: dict[tuple[str, str], Any] = {}
            for place in {(state["server"], state["key"]) for state in self._states.values()}:
                if place not in self._endpoints:
                    raise ConfigError(
                        f"{self.folder}: has a batch at {place[0]} with the key in {place[1]}, which the settings no "
                        "longer name"
                    )
                clients[place] = await made_client(self._endpoints[place])
                stack.push_async_callback(clients[place].close)
            while self._states:
                for path, state in list(self._states.items()):
                    await self._advance(clients[state["server"], state["key"]], path, state)
                if self._states:
                    await asyncio.sleep(wait)
                    wait = min(2 * wait, LONGEST_WAIT)

    async def _advance(self, client: Any, path: Path, state: dict[str, Any]) -> None:
        """Submit a file, or look at its batch, and fetch the results when it has ended."""
        from mtagent.llm.sdk import failure_of

        try:
            if "batch" in state:
                await self._look(client, path, state)
            elif not (state.get("postponed") and self._has_batch_under_way()):
                await self._submit(client, path, state)
            self._failures = 0
        except MtagentError:
            raise
        except Exception as error:  # noqa: BLE001 as in SDKTransport
            failure = failure_of(error, str(client.api_key), LONGEST_WAIT, time.time())
            self._failures += 1
            message = f"batches at {state['server']}: {_with_status(failure)}"
            if failure.transient and self._failures < MOST_FAILURES:
                logger.info("%s; tried again", message)
                return
            way_out = "nothing is lost: the same command goes on"
            if failure.status == 404 and "batch" in state:
                way_out = f"the results may have been deleted: without the file {path} its requests are asked again"
            elif failure.status == 404:
                way_out = "the server may have no batches: --batch write DIR only writes the requests"
            kind = ServerPaused if failure.transient else failure.kind
            raise kind(f"{message}; {way_out}") from None

    async def _submit(self, client: Any, path: Path, state: dict[str, Any]) -> None:
        """Make a batch of a file. A process that was killed may have made it already: it is looked for first.

        A file that the server has not read yet is left for the next round.
        """
        tag = state["tag"]
        batch = await _first(
            client.batches.list(limit=100),
            lambda batch: (batch.metadata or {}).get(TAG) == tag and batch.status != "failed",
        )
        if batch is None:
            name = f"{TAG}-{tag}.jsonl"
            uploads = client.files.list(purpose="batch", limit=100)
            upload = await _first(uploads, lambda file: file.filename == name and file.status != "error")
            if upload is None:
                with path.open("rb") as content:
                    upload = await client.files.create(file=(name, content, "application/jsonl"), purpose="batch")
            if upload.status == "pending":  # Azure reads a file before a batch can be made of it
                return
            metadata = {TAG: tag, "run": self._about["run"][:512]}
            batch = await client.batches.create(
                input_file_id=upload.id, endpoint=state["url"], completion_window="24h", metadata=metadata
            )
        state["batch"] = batch.id
        _write_json(path.with_suffix(".json"), state)
        logger.info("%s is in the batch %s: %s", path.name, batch.id, batch.status)

    async def _look(self, client: Any, path: Path, state: dict[str, Any]) -> None:
        """Fetch the results of a batch if it has ended, and write the others of its requests off."""
        batch = await client.batches.retrieve(state["batch"])
        if batch.status == "failed":
            self._refuse_failed(batch, path, state)
            return
        if batch.status not in ENDED:
            return
        for number, file_id in enumerate(filter(None, (batch.output_file_id, batch.error_file_id))):
            results = path.with_name(f"{path.stem.replace('requests', 'results')}-{number}.jsonl")
            fetched = results.with_name(f".mtagent-{results.stem}.tmp")
            async with client.files.with_streaming_response.content(file_id) as response:
                await response.stream_to_file(fetched)
            fetched.replace(results)
            self._take_results(results)
        missing = self._close(path, f"the batch {batch.id} was {batch.status} before it was answered")
        _write_json(path.with_suffix(".json"), state | {"ended": batch.status})
        logger.info("batch %s: %s, %s not answered", batch.id, batch.status, counted(missing, "request"))
        if batch.status == "cancelled":
            raise MtagentError(
                f"stopped: the batch {batch.id} was cancelled. Its answers are kept, and are paid for; the same "
                f"command sends the rest ({counted(missing, 'request')}) in a new batch"
            )

    def _has_batch_under_way(self) -> bool:
        return any("batch" in state for state in self._states.values())

    def _refuse_failed(self, batch: Any, path: Path, state: dict[str, Any]) -> None:
        """Raise :class:`MtagentError` for a batch that the server refused, unless it can be submitted later."""
        errors = (batch.errors and batch.errors.data) or []
        is_full = any(error.code in QUEUE_FULL for error in errors)
        del state["batch"]
        state["postponed"] = is_full
        _write_json(path.with_suffix(".json"), state)
        if is_full and self._has_batch_under_way():
            logger.info("%s waits until the account's queue has room", path.name)
            return
        lines = []
        for error in errors[:3]:
            line = f"line {error.line}: " if error.line else ""
            lines.append(clean(f"{line}{error.message}", ""))
        way_out = "change the settings, or ask without --batch"
        if is_full:
            way_out = "the same command submits it when the account's queue has room"
        raise MtagentError(
            f"{path}: the server refused the batch {batch.id}: {'; '.join(lines) or 'no reason given'}: {way_out}"
        )


class BatchTransport:
    """Answers the requests to ``endpoint`` with the results of ``batches``."""

    def __init__(self, batches: Batches, endpoint: Endpoint, draw: str) -> None:
        self._batches, self._endpoint, self._draw = batches, endpoint, draw

    async def post(self, body: Body, seconds: float, read_limits: ReadLimits | None = None) -> object | RequestFailure:
        """The parsed reply body, or the failure. Raises :class:`NotAnswered`."""
        return self._batches.result(self._endpoint, self._draw, body)

    async def aclose(self) -> None:
        """Nothing was opened."""


class RequestFile:
    """A file of requests that is being written. It gets its name when it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.requests = self.bytes = 0
        self._stack = ExitStack()
        self._file = self._stack.enter_context(replacing(path))
        self.close = self._stack.close

    def write(self, line: str, size: int) -> None:
        """Add a request of ``size`` bytes."""
        self._file.write(line)
        self.requests += 1
        self.bytes += size


def _write_json(path: Path, value: dict[str, Any]) -> None:
    with replacing(path) as file:
        file.write(dumped(value) + "\n")


def _lines(path: Path, *, of_results: bool = False) -> Iterator[tuple[int, str]]:
    """The length in bytes and the id of each line. Raises :class:`InputError` for a line that has none."""
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                yield len(line), ""
                continue
            try:
                fields = parsed(line)
            except (ValueError, RecursionError):
                fields = None
            if not isinstance(fields, dict) or not isinstance(fields.get("custom_id"), str):
                raise InputError(
                    f"{path}:{number}: expected a line of a batch, in JSON with a custom_id: fetch it again"
                )
            if of_results and "response" not in fields and "error" not in fields:
                raise InputError(f"{path}:{number}: is a request, not a result: remove the file from the folder")
            yield len(line), fields["custom_id"]


def read_result(line: Any) -> object | RequestFailure:
    """The reply body in a line of results, or the failure, such as a body without a reply."""
    response = line.get("response") if isinstance(line.get("response"), dict) else {}
    body, error = response.get("body"), line.get("error")
    status = response.get("status_code") or 0
    if isinstance(body, dict) and status in (0, 200):
        body = masked_reply(body)
        reply = read_reply(body, "")
        return reply if isinstance(reply, RequestFailure) else body
    if status >= 300:
        return status_failure(status, {}, body or error, now=0.0)
    message = error.get("message") if isinstance(error, dict) else error
    return RequestFailure(ServerError, clean(words_of(message or "no reason given"), ""), transient=True)


def _with_status(failure: RequestFailure) -> str:
    """The message, after the status if the server sent one."""
    return failure.message if failure.status in (0, 200) else f"HTTP {failure.status}: {failure.message}"


async def _first(items: AsyncIterator[Any], is_sought: Callable[[Any], bool]) -> Any:
    """The first of the ``items``, page after page, that is sought; ``None`` if none is."""
    async for item in items:
        if is_sought(item):
            return item
    return None
