"""``mtagent serve`` as a process: it begins, refuses what is unsafe, and ends gracefully."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.commands import ROOT, Shell
from tests.pages import DOCS
from tests.serving import key_file
from tests.test_serve_state import usage_in

SLOW = "import time\ndef slow(text: str) -> str:\n    time.sleep(1.5)\n    return text.upper()\n"


NOISY = """
import asyncio, logging, threading, warnings

class Unraisable:
    def __del__(self):
        raise ValueError("unraisable secret")

async def fail():
    raise ValueError("a secret\\nof two lines")

async def noisy(text: str) -> str:
    logging.getLogger("elsewhere").warning("a message\\nof two lines")
    warnings.warn("a warning")
    threading.Thread(target=lambda: 1 / 0).start()
    Unraisable()
    asyncio.create_task(fail())
    await asyncio.sleep(0.1)
    if text == "fail":
        raise OSError("a secret\\nof two lines")
    return text.upper()
"""


HANGING = """
import asyncio, threading

def stuck(text: str) -> str:
    threading.Event().wait()

async def stubborn(text: str) -> str:
    while text == "hang":
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
    return text.upper()
"""


ENDING = """
import os, signal, threading

def end() -> None:
    os.kill(os.getpid(), signal.SIGTERM)

{when}

def shout(text: str) -> str:
    return text.upper()
"""


WITH_TRANSLATOR = ("--translator", "python:engine:slow", "--evaluator", "rules", "--stages", "tp")


@contextmanager
def serve(
    folder: Path, *, port: int = 0, arguments: tuple[str, ...] = WITH_TRANSLATOR, before: list[str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the address that it says; ``before`` takes the lines up to that one."""
    (folder / "engine.py").write_text(SLOW, encoding="utf-8")
    if "--state" not in arguments:
        arguments = ("--state", "s.db", *arguments)
    command = [sys.executable, "-m", "mtagent", "serve", "--port", str(port), *arguments]
    with subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": str(ROOT), "HOME": str(folder)}
    ) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if before is not None:
                    before.append(line)
                if found := re.search(r"serving at (http://[^\s\"]+)", line):
                    break
            else:
                raise AssertionError("it did not begin")
            yield process, found[1]
        finally:
            process.kill()


@pytest.mark.loopback
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
def test_at_sigterm_what_is_under_way_ends_and_what_is_new_gets_503_and_is_answered_after_the_restart(
    tmp_path: Path,
) -> None:
    body, answers = {"q": "one", "source": "en", "target": "es"}, dict[str, httpx.Response]()
    with serve(tmp_path) as (process, url), httpx.Client(base_url=url) as client:

        def ask() -> None:
            answers["first"] = httpx.post(f"{url}/translate", json=body, timeout=30)

        client.get("/healthz").raise_for_status()
        first = threading.Thread(target=ask)
        first.start()
        time.sleep(0.7)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        refused = client.post("/translate", json=body)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert client.get("/healthz").json() == {"status": "closing"}
        first.join()
        assert answers["first"].json() == {"translatedText": "ONE"}
        assert process.wait(timeout=20) == 0
        assert process.stderr is not None
        log = process.stderr.read()
        assert '"status": 503' in log
        assert "one" not in log.replace("None", "")
    with serve(tmp_path, port=int(url.rpartition(":")[2])) as (_, again):
        assert httpx.post(f"{again}/translate", json=body, timeout=30).json() == {"translatedText": "ONE"}


@pytest.mark.loopback
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
def test_at_sigterm_a_request_whose_body_is_incomplete_gets_503(tmp_path: Path) -> None:
    with serve(tmp_path) as (process, url):
        address = ("127.0.0.1", httpx.URL(url).port or 0)
        with socket.create_connection(address, 30) as first, socket.create_connection(address, 30) as second:
            for connection, path in ((first, "/translate"), (second, "/v2/translate")):
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                connection.sendall(f'{head}Content-Length: 100\r\n\r\n{{"q": "one"'.encode())
            # Answered after the two requests have begun.
            assert httpx.get(f"{url}/languages").status_code == 200
            process.send_signal(signal.SIGTERM)
            for connection, field in ((first, "error"), (second, "message")):
                answer = b"".join(iter(lambda: connection.recv(1000), b"")).decode()  # noqa: B023
                assert answer.startswith("HTTP/1.1 503 ")
                assert "retry-after: 1\r\n" in answer
                assert answer.endswith(f'\r\n\r\n{{"{field}":"the server is being stopped"}}')
        assert process.wait(timeout=20) == 0
        assert process.stderr is not None
        entries = [json.loads(line) for line in process.stderr]
    assert [entry.get("status") for entry in entries] == [200, 503, 503]


@pytest.mark.loopback
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
def test_a_translator_that_never_returns_does_not_keep_the_server_from_ending(tmp_path: Path) -> None:
    stuck = "import threading\ndef stuck(text: str) -> str:\n    threading.Event().wait()\n"
    (tmp_path / "waiting.py").write_text(stuck, encoding="utf-8")
    arguments = ("--translator", "python:waiting:stuck", "--stages", "t", "--deadline", "1s", "--grace", "1s")
    with serve(tmp_path, arguments=arguments) as (process, url):
        body = {"q": "one", "source": "en", "target": "es"}
        assert httpx.post(f"{url}/translate", json=body, timeout=30).status_code == 503
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


@pytest.mark.loopback
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
@pytest.mark.parametrize(
    ("translator", "grace"),
    [
        ("python:hanging:stuck", 1),
        ("python:hanging:stubborn", 1),
        ("command:sleep 3600", 1),
        ("python:hanging:stuck", 60),  # a second signal ends it
    ],
)
def test_requests_that_outlast_the_grace_get_503_in_the_form_of_their_interface(
    translator: str, grace: int, tmp_path: Path
) -> None:
    (tmp_path / "hanging.py").write_text(HANGING, encoding="utf-8")
    languages = {"source_lang": "EN", "target_lang": "ES"}
    improve = {**languages, "segments": [{"source": "hang"}]}
    requests: dict[str, tuple[str, Any, dict[str, str]]] = {
        "LibreTranslate": ("/translate", {"q": "hang", "source": "en", "target": "es"}, {}),
        "DeepL": ("/v2/translate", {**languages, "text": ["hang", "hang"]}, {}),
        "mtagent": ("/v1/improve", improve, {}),
        "stream": ("/v1/improve", improve, {"Accept": "application/x-ndjson"}),
    }
    answers: dict[str, httpx.Response] = {}

    def ask(name: str, path: str, body: Any, headers: dict[str, str]) -> None:
        answers[name] = httpx.post(f"{url}{path}", json=body, headers=headers, timeout=30)

    arguments = ("--translator", translator, "--stages", "t", "--deadline", "60s", "--grace", f"{grace}s")
    with serve(tmp_path, arguments=arguments) as (process, url):
        threads = [threading.Thread(target=ask, args=(name, *request)) for name, request in requests.items()]
        for thread in threads:
            thread.start()
        while "mtagent_requests_under_way 4.0" not in httpx.get(f"{url}/metrics").text:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        if grace == 60:
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert process.wait(timeout=10) == 0
        assert process.stderr is not None
        entries = [json.loads(line) for line in process.stderr]
    assert usage_in(tmp_path / "s.db") == {"anybody": 0}, "it is refunded"
    message = "the server is being stopped"
    assert answers.pop("stream").text == json.dumps({"error": message}) + "\n"
    assert {(answer.status_code, answer.headers["retry-after"]) for answer in answers.values()} == {(503, "1")}
    assert answers["DeepL"].json() == {"message": message}
    assert answers["LibreTranslate"].json() == answers["mtagent"].json() == {"error": message}
    assert sorted(entry["status"] for entry in entries if "request" in entry)[-4:] == [200, 503, 503, 503]
    warnings = [entry["message"] for entry in entries if "message" in entry]
    assert len(warnings) == (translator == "python:hanging:stubborn"), warnings


@pytest.mark.loopback
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
def test_an_async_translator_that_ignores_its_cancellation_delays_neither_answers_nor_the_end(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(HANGING, encoding="utf-8")
    arguments = ("--translator", "python:hanging:stubborn", "--stages", "t", "--deadline", "1s")
    with serve(tmp_path, arguments=arguments) as (process, url):
        for text, status in (("hang", 503), ("hang", 503), ("one", 200)):
            began = time.monotonic()
            body = {"q": text, "source": "en", "target": "es"}
            assert httpx.post(f"{url}/translate", json=body, timeout=30).status_code == status
            assert time.monotonic() - began < 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
        assert process.stderr is not None
        entries = [json.loads(line) for line in process.stderr]
    warnings = [entry["message"] for entry in entries if "message" in entry]
    assert len(warnings) == 1, warnings
    assert "stubborn: a call went on for 1 s after it was cancelled" in warnings[0]


@pytest.mark.loopback
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM")
@pytest.mark.parametrize("when", ["end()", "threading.Timer(0.1, end).start()"], ids=["in an import", "later"])
def test_at_sigterm_a_server_that_is_starting_ends_silently(when: str, tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text(ENDING.format(when=when), encoding="utf-8")
    arguments = ["--port", "0", "--state", "s.db", "--translator", "python:engine:shout", "--evaluator", "rules"]
    done = subprocess.run(
        [sys.executable, "-m", "mtagent", "serve", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (0, "")
    # It may have begun to serve before the signal came.
    assert all("serving at" in json.loads(line)["message"] for line in done.stderr.splitlines())


@pytest.mark.loopback
def test_the_log_is_json_whoever_writes_it(tmp_path: Path) -> None:
    (tmp_path / "noise.py").write_text(NOISY, encoding="utf-8")
    lines: list[str] = []
    arguments = ("--translator", "python:noise:noisy", "--stages", "tp")
    with serve(tmp_path, arguments=arguments, before=lines) as (process, url):
        for text, status in (("one", 200), ("fail", 500)):
            body = {"q": text, "source": "en", "target": "es"}
            assert httpx.post(f"{url}/translate", json=body, timeout=30).status_code == status
        with socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)) as broken:
            broken.sendall(b"no HTTP at all\r\n\r\n")
            broken.recv(1000)
        process.terminate()
        assert process.stderr is not None
        lines += process.stderr.readlines()
    log = [json.loads(line) for line in lines]
    assert all({"time", "level"} < set(entry) for entry in log)
    messages = " ".join(entry.get("message", "") for entry in log)
    for message in (
        "no model is set", "a message\nof two lines", "a warning", "a thread failed", "an error could not be raised",
        "Task exception was never retrieved", "Invalid HTTP request received",
    ):  # fmt: skip
        assert message.partition("\n")[0] in messages, message
    errors = " ".join(entry.get("error", "") for entry in log)
    assert "ZeroDivisionError at " in errors
    assert "secret" not in messages + errors


def test_the_image_gets_the_extras_and_files_that_there_are() -> None:
    container = (ROOT / "Containerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = re.findall(r"pip install .*'/src\[(.*)\]'", container)[0].split(",")
    assert set(extras) <= set(project["optional-dependencies"])
    copied = " ".join(re.findall("COPY (.*) /src", container)).split()
    assert [name for name in copied if not (ROOT / name).exists()] == []
    packaged = [project["readme"], *project["license-files"], "prompts", "mtagent", "pyproject.toml"]
    assert set(copied) == set(packaged)


def _deployed(kind: str) -> list[str]:
    """The options with which a container, a pod or a unit starts the server."""
    page = (DOCS / "how-to" / "deploy.md").read_text(encoding="utf-8")
    container: list[str] = json.loads(re.findall("ENTRYPOINT (.*)", (ROOT / "Containerfile").read_text("utf-8"))[0])
    arguments = {
        "docker": [*container, *re.findall(r"^  mtagent (.*)", page, re.MULTILINE)[0].split()],
        "kubernetes": [*container, *re.sub('[",]? |"', " ", re.findall(r"args: \[(.*)\]", page)[0]).split()],
        "systemd": re.findall("ExecStart=(.*)", page)[0].split(),
    }[kind]
    assert arguments[0].endswith("mtagent")
    assert arguments[1] == "serve"
    return arguments[2:]


@pytest.mark.loopback
@pytest.mark.parametrize("kind", ["docker", "kubernetes", "systemd"])
def test_the_documented_deployments_start_and_answer(kind: str, server: str, tmp_path: Path) -> None:
    key_file(tmp_path, ana="")
    places = {"/etc/mtagent": str(tmp_path), "/var/lib/mtagent": str(tmp_path), "0.0.0.0": "127.0.0.1"}
    arguments = _deployed(kind)
    for place, replacement in places.items():
        arguments = [argument.replace(place, replacement) for argument in arguments]
    page = (DOCS / "how-to" / "deploy.md").read_text(encoding="utf-8")
    with serve(tmp_path, arguments=(*arguments, "--base-url", server)) as (_, url):
        for path in re.findall(r"Probe: \{httpGet: \{path: (\S+),", page):
            assert httpx.get(f"{url}{path}").json() == {"status": "ok"}
        answer = httpx.post(
            f"{url}/translate",
            json={"q": "phrase 1 end.", "source": "en", "target": "es", "api_key": "secret-ana"},
            headers={"Host": "mt.example.org"},
            timeout=30,
        )
        assert (answer.status_code, list(answer.json())) == (200, ["translatedText"])
    assert (tmp_path / "serve.db").exists()


@pytest.mark.loopback
@pytest.mark.parametrize(
    ("arguments", "offline", "refuses"),
    [((), True, True), (("--evaluator", "rules"), False, True), (("--translator", "command:cat"), True, False)],
)
def test_without_a_model_it_prints_at_the_start_what_it_cannot_do(
    arguments: tuple[str, ...], offline: bool, refuses: bool, tmp_path: Path
) -> None:
    lines: list[str] = []
    with serve(tmp_path, arguments=arguments, before=lines) as (_, url):
        answer = httpx.post(f"{url}/translate", json={"q": "one", "source": "en", "target": "es"}, timeout=30)
    assert answer.status_code == (500 if refuses else 200)
    assert json.loads(lines[-1])["message"].endswith("(--deadline 10s)")
    assert [json.loads(line)["level"] for line in lines] == [*["warning"] * (len(lines) - 1), "info"]
    assert any("no model is set" in line for line in lines) == offline
    assert any("no MT system is set" in line for line in lines) == refuses


def test_a_public_address_needs_keys(shell: Shell) -> None:
    code, _, problem = shell("serve", "--host", "0.0.0.0", "--translator", "command:cat")
    assert code == 1
    assert "--host 0.0.0.0: without keys, others could spend your money" in problem


def test_a_key_is_made_and_shown_once(shell: Shell) -> None:
    code, secret, _ = shell("serve", "--keys", "keys.txt", "--add-key", "weblate")
    assert code == 0
    stored = (shell.folder / "keys.txt").read_text(encoding="utf-8")
    assert re.fullmatch(r"weblate:sha256:[0-9a-f]{64}\n", stored)
    assert re.fullmatch(r"mt-[\w-]{43}\n", secret)
    assert secret.strip() not in stored


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("my key", "--add-key: expected a name of at most 64 letters, digits and . _ - @, not 'my key'"),
        ("weblate", "--add-key weblate: keys.txt has a key of this name; choose another, or delete its line"),
    ],
)
def test_a_name_that_cannot_be_that_of_a_new_key_is_told_without_a_line(shell: Shell, name: str, why: str) -> None:
    shell("serve", "--keys", "keys.txt", "--add-key", "weblate")
    before = (shell.folder / "keys.txt").read_text(encoding="utf-8")
    code, _, problem = shell("serve", "--keys", "keys.txt", "--add-key", name)
    assert (code, why in problem, "keys.txt:" in problem.replace("keys.txt has", "")) == (1, True, False)
    assert (shell.folder / "keys.txt").read_text(encoding="utf-8") == before


@pytest.mark.parametrize("given", ["5 parsecs", "0s", "-1s"])
def test_a_deadline_is_a_duration(shell: Shell, given: str) -> None:
    code, _, problem = shell("serve", "--deadline", given)
    assert code == 1
    assert "expected a duration such as 5s, 500ms, 2min or 1h, not" in problem


@pytest.mark.loopback
def test_a_chain_that_cannot_be_is_an_error_before_anything_is_served(shell: Shell) -> None:
    code, _, problem = shell("serve", "--port", "0", "--stages", "tp", "--state", "s.db")
    assert code == 1
    assert "the stage translate has nothing to work with" in problem
    assert "serving at" not in problem


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--stages", "pe"), "--stages: with a --translator the first stage must be translate, as in tp or tpp"),
        (("--allow-origin", "evil"), "--allow-origin: expected an origin such as https://example.org, not 'evil'"),
        (("--allow-origin", "https://a.example/"), "--allow-origin: expected an origin such as https://example.org"),
        (("--host-name", "http://a"), "--host-name: expected a host name such as mt.example.org"),
    ],
)
def test_what_would_refuse_every_request_is_refused_at_the_start(
    shell: Shell, given: tuple[str, str], why: str
) -> None:
    code, _, problem = shell("serve", "--port", "0", "--translator", "command:cat", "--state", "s.db", *given)
    entry = json.loads(problem.splitlines()[-1])
    assert (code, entry["level"], why in entry["message"]) == (1, "error", True), problem
