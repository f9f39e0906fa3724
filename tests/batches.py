"""Batches in tests: a server in a thread, and a script that answers files of requests.

``python -m tests.batches FOLDER`` answers the files in a folder with :func:`tests.simulator.chain.improving`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.simulator import Settings, Simulator
from tests.simulator.chain import improving


@contextmanager
def serving(settings: Settings) -> Iterator[Simulator]:
    """The simulator on a free port, in a thread."""
    simulator = Simulator(settings)
    loop = asyncio.new_event_loop()
    ready, end = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with simulator:
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    try:
        assert ready.wait(10)
        yield simulator
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(10)
        loop.close()


def answer(folder: Path, settings: Settings, results: str = "results.jsonl", skipped: int = 0) -> int:
    """Answer each file of requests in ``folder`` that has no results, all but the first ``skipped`` requests.

    Returns the number of answers.
    """
    files = sorted(folder.glob("requests-*.jsonl"))
    return asyncio.run(_answer(files, Simulator(settings), results, skipped))


async def _answer(files: list[Path], simulator: Simulator, results: str, skipped: int) -> int:
    count = 0
    for path in files:
        output = path.with_name(f"{path.stem}-{results}".replace("requests", "answers"))
        if output.exists():
            continue
        with path.open("rb") as requests, output.open("w", encoding="utf-8") as answers:
            for number, line in enumerate(requests):
                if number < skipped:
                    continue
                request = json.loads(line)
                said = await simulator.answer(request["body"], number)
                response = {"status_code": said.status, "request_id": "req", "body": said.payload}
                result = {"id": "x", "custom_id": request["custom_id"], "response": response, "error": None}
                answers.write(json.dumps(result) + "\n")
                count += 1
    return count


if __name__ == "__main__":
    answer(Path(sys.argv[1]), Settings(behaviour=improving, keep=False))
