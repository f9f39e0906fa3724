"""The library inside programs that other people's servers run: Celery, gunicorn with uvicorn's workers, uvicorn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest

from mtagent.web import listening_socket
from tests.commands import ROOT

pytestmark = [pytest.mark.extra, pytest.mark.timeout(300)]
needs_celery = pytest.mark.skipif(find_spec("celery") is None, reason="Celery is not installed: make test-extras")
needs_gunicorn = pytest.mark.skipif(
    find_spec("gunicorn") is None or find_spec("uvicorn_worker") is None,
    reason="gunicorn or uvicorn-worker is not installed: make test-extras",
)


@contextmanager
def running(command: Sequence[str], log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program, ended at the end with all processes that it started."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@needs_celery
def test_agents_work_in_the_forked_workers_of_celery_whose_parent_used_them_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_FOLDER", str(tmp_path))
    from tests.programs import celery_tasks

    worker = [*("celery", "-A", "tests.programs.celery_tasks", "worker"), *("--pool", "prefork", "--concurrency", "2")]
    options = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    log = tmp_path / "log.txt"
    with running([*worker, *options], log, CELERY_FOLDER=str(tmp_path)):
        tasks = (celery_tasks.with_shared_agent, celery_tasks.with_new_agent, celery_tasks.with_async_calls)
        results = []
        for _ in range(2):
            for task in tasks:
                results.append(task.delay("one two"))
        for result in results:
            try:
                reply = result.get(timeout=90)
            except Exception as error:
                raise AssertionError(log.read_text(encoding="utf-8")[-5000:]) from error
            assert reply == ["uno dos", True]


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens."""
    with listening_socket("127.0.0.1", 0) as listening:
        return int(listening.getsockname()[1])


def first_reply(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> httpx.Response:
    """The reply to the first request that the server accepts."""
    while process.poll() is None:
        try:
            return client.post("/translate", params={"text": "one two"})
        except httpx.ConnectError:
            time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))


def check_service(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> httpx.Response:
    """The first reply of the service, which answers with chains, and reports a failure as one."""
    reply = first_reply(client, process, log)
    assert reply.json()["text"] == "uno dos"
    assert reply.json()["state"] == "changed"
    failed = client.post("/translate", params={"text": "broken"})
    assert (failed.status_code, failed.json()) == (502, {"detail": "the translation failed"})
    return reply


@needs_gunicorn
@pytest.mark.parametrize("preload", [True, False])
def test_an_agent_works_in_gunicorn_with_uvicorn_s_workers(preload: bool, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log.txt"
    command = [*("gunicorn", "tests.programs.fastapi_app:app", "--bind", f"127.0.0.1:{port}", "--workers", "2")]
    command += ["--worker-class", "uvicorn_worker.UvicornWorker"]
    if preload:
        command.append("--preload")
    with running(command, log) as process, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        assert check_service(client, process, log).headers["X-Forked"] == str(preload)
        processes = set()
        for _ in range(50):
            reply = httpx.post(f"http://127.0.0.1:{port}/translate", params={"text": "one two"}, timeout=60)
            assert reply.json()["text"] == "uno dos"
            processes.add(reply.headers["X-Process"])
            if len(processes) == 2:
                break
        assert str(process.pid) not in processes


def test_an_agent_works_in_the_lifespan_of_fastapi(tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log.txt"
    command = ["uvicorn", "tests.programs.fastapi_app:app", "--host", "127.0.0.1", "--port", str(port)]
    with running(command, log) as process, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        check_service(client, process, log)
    assert process.returncode in (0, -signal.SIGTERM)
    assert "Application shutdown complete" in log.read_text(encoding="utf-8")
