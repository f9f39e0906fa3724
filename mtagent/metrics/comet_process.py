"""The other side of ``comet_worker.py``: a process that holds a COMET model, asked line by line."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import IO, Any

from mtagent.errors import ConfigError, MetricError, MissingExtra

VARIABLE = "MTAGENT_COMET_PYTHON"
WORKER = Path(__file__).with_name("comet_worker.py")
_ELSEWHERE = "COMET, where no other Python is named for it (--comet-python, MTAGENT_COMET_PYTHON),"
_GREETING_SECONDS = 60.0
_TAIL_LINES, _TAIL = 4, 600


def chosen_python(python: Path | None) -> str:
    """The program that runs COMET: ``python``, else what ``MTAGENT_COMET_PYTHON`` names, else this very Python.

    Raises :class:`MissingExtra` where this one has no COMET, and :class:`ConfigError` where there is no such program.
    """
    named = str(python or os.environ.get(VARIABLE, "").strip())
    if not named:
        if importlib.util.find_spec("comet") is None:
            raise MissingExtra(_ELSEWHERE, "comet")
        return sys.executable
    found = shutil.which(at_home(Path(named)))
    if found is None:
        raise ConfigError(
            f"{named}: no such program; name the Python of the environment with COMET, as in .venv/bin/python"
        )
    return found


def at_home(path: Path) -> Path:
    """``path`` with the home folder for its ``~``; where nobody has that name, as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  its counterpart raises for a name that nobody has


class CometProcess:
    """COMET in a process of its own, which is started at once and lives until :meth:`close`.

    It also ends when this object or this Python is gone, even if that was killed. ``versions`` are those of ``comet``
    and ``torch``. An answer must come within ``timeout`` seconds. Raises :class:`ConfigError` for one without COMET.
    """

    def __init__(self, python: str, *, timeout: float) -> None:
        self._python, self._timeout = python, timeout
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed by _end
        try:
            self._process = subprocess.Popen(
                [python, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self._stderr.close()
            raise ConfigError(f"{python}: cannot be run: {error.strerror}") from error
        self.close = weakref.finalize(self, _end, self._process, self._stderr)
        self.versions: dict[str, str] = self._answer(_GREETING_SECONDS)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The worker's answer.

        Raises :class:`MetricError` where it cannot score these texts, and :class:`ConfigError` where it cannot score
        any: no such model, a process that ended or does not answer.
        """
        return self._answer(self._timeout, json.dumps(request).encode() + b"\n")

    def _answer(self, seconds: float, question: bytes = b"") -> dict[str, Any]:
        line, late = self._line(seconds, question)
        try:
            answer = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failure(line, seconds if late else None)
        if "error" in answer:
            raise _error(**answer["error"])
        return answer

    def _line(self, seconds: float, question: bytes) -> tuple[bytes, bool]:
        """What the process writes until the end of the line, and whether it was ended because that took too long."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            _kill(self._process)

        timer = threading.Timer(seconds, give_up)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended: that there is no answer says why
                self._process.stdin.write(question)
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        return line, late.is_set() and not line.endswith(b"\n")

    def _failure(self, line: bytes, seconds: float | None) -> ConfigError:
        """What went wrong, with what the process said at last. The process is of no more use."""
        if seconds is not None:
            how = f"gave no answer within {seconds:g} seconds; give it longer with the option timeout=SECONDS"
        elif line:
            how = f"runs no COMET, it wrote {line[:80].decode('utf-8', 'replace').strip()!r}"
        else:
            how = f"COMET {_ending(self._process)}"
        said = _tail(self._stderr) if self.close.alive else ""  # closed while this thread waited: Python ends
        self.close()
        return ConfigError(f"{self._python}: {how}" + (f". It said: {said}" if said else ""))


def _error(kind: str, message: str) -> ConfigError | MetricError:
    return MetricError(message) if kind == "prediction" else ConfigError(message)


def _ending(process: subprocess.Popen[bytes]) -> str:
    try:
        code = process.wait(_GREETING_SECONDS)
    except subprocess.TimeoutExpired:
        return "closed its output"
    if code >= 0:
        return f"ended with exit code {code}"
    killed = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"was killed ({killed})" + (": was there enough memory?" if killed == "SIGKILL" else "")


def _tail(stderr: IO[bytes]) -> str:
    stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, stderr.tell() - _TAIL))
    lines = stderr.read().decode("utf-8", "replace").splitlines()
    return " / ".join([line.strip() for line in lines if line.strip()][-_TAIL_LINES:])


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
    """End the process and whatever it started, and close all that belongs to it."""
    if process.poll() is None:
        _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout, stderr):
        with contextlib.suppress(OSError):
            pipe.close()  # type: ignore[union-attr]
