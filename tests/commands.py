"""The command line as tests use it: in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mtagent.cli import main
from mtagent.store import RunSummary, Store

ROOT = Path(__file__).parents[1]
SOURCES = ["The cat sat here.", "Hello big world.", "Pay 5 dollars now."]
TRANSLATIONS = ["El gato se sentó aquí", "Hola gran mundo.", "Paga 5 dólares ahora."]
IMPROVED = ["El gato se sentó aquí.", *TRANSLATIONS[1:]]
NEXT = "mtagent: to decide on the changes: "


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What went to standard output."""
        return self.out.splitlines()

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The same, where each line is an object."""
        return [json.loads(line) for line in self.lines]

    @property
    def remarks(self) -> list[str]:
        """The lines of standard error, without the one that names the file with settings."""
        return [line for line in self.err.splitlines() if not line.startswith("mtagent: settings from ")]

    @property
    def last(self) -> str:
        """The last line of standard error, without the next command that is offered after it."""
        return [line for line in self.err.splitlines() if not line.startswith(NEXT)][-1]


class Shell:
    """Runs ``mtagent`` in this process, in a folder with ``en.txt`` and ``es.txt`` and a store of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.write("en.txt", *SOURCES)
        self.write("es.txt", *TRANSLATIONS)

    def write(self, name: str, *lines: str) -> Path:
        """A file of ``lines`` in the folder."""
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def read(self, name: str) -> list[str]:
        """The lines of a file in the folder."""
        return (self.folder / name).read_text(encoding="utf-8").splitlines()

    def objects(self, name: str) -> list[dict[str, Any]]:
        """The objects in a file of JSON Lines in the folder."""
        return [json.loads(line) for line in self.read(name)]

    def runs(self) -> dict[str, RunSummary]:
        """The runs in the store, by name; the store need not be there."""
        if not (self.folder / "store.db").exists():
            return {}
        with Store(self.folder / "store.db") as store:
            return {run.name: run for run in store.runs()}

    def __call__(self, line: str, *more: str) -> Done:
        """Run ``mtagent`` with the words of ``line`` and ``more``."""
        self._capsys.readouterr()
        code = 0
        try:
            main([*line.split(), *more])
        except SystemExit as done:
            code = int(done.code or 0)
        captured = self._capsys.readouterr()
        return Done(code, captured.out, captured.err)

    def postedit(self, line: str = "", *more: str) -> Done:
        """``mtagent postedit`` on the two files."""
        return self(f"postedit -s en.txt -t es.txt -l en-es {line}", *more)


def environment(store: Path) -> dict[str, str]:
    """The environment of an ``mtagent`` in a process of its own: no key, and a store of the test's."""
    secret = {"OPENAI_API_KEY", "OPENAI_BASE_URL"}
    kept = {name: value for name, value in os.environ.items() if name not in secret}
    return {**kept, "PYTHONPATH": str(ROOT), "MTAGENT_STORE": str(store)}


def start(folder: Path, *arguments: str, shell_prefix: str = "") -> subprocess.Popen[str]:
    """``python -m mtagent`` in a process of its own, working in ``folder`` with the store ``store.db`` there."""
    command = [sys.executable, "-m", "mtagent", *arguments]
    if shell_prefix:
        command = ["sh", "-c", f'{shell_prefix}; exec "$@"', "sh", *command]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment(folder / "store.db"), text=True, stdin=pipe, stdout=pipe, stderr=pipe
    )


def run(folder: Path, *arguments: str, stdin: str = "", shell_prefix: str = "") -> Done:
    """The same, to its end."""
    with start(folder, *arguments, shell_prefix=shell_prefix) as process:
        out, err = process.communicate(stdin, timeout=100)
    return Done(process.returncode, out, err)


def python(*arguments: str, folder: Path = ROOT, pipe: str = "cat") -> Done:
    """Python in a process of its own, with its output going through ``pipe``."""
    command = ["sh", "-c", f'"$@" | {pipe}', "sh", sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder / "store.db"), text=True, capture_output=True, timeout=100
    )
    return Done(done.returncode, done.stdout, done.stderr)
