"""Another environment with a fake COMET in it, and texts to score there."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mtagent.metrics.comet import Comet
from mtagent.records import Segment
from tests.commands import ROOT

SOURCES = ["The cat sat here.", "Hello big world.", "Pay 5 dollars now."]
REFERENCES = ["El gato se sentó.", "Hola.", "Paga ya."]
SEGMENTS = [
    Segment(id=f"s{i}", source=source, source_lang="en", target_lang="es", reference=reference)
    for i, (source, reference) in enumerate(zip(SOURCES, REFERENCES, strict=True))
]
BARE = [one.model_copy(update={"reference": None}) for one in SEGMENTS]


class Fake:
    """Another environment, with a COMET that behaves as the model's name says."""

    def __init__(self, folder: Path, *, has_comet: bool = True) -> None:
        self.log = folder / "log.jsonl"
        self.python = folder / "fake-python"
        packages = ROOT / "tests" / "fake_comet" if has_comet else folder
        lines = ["#!/bin/sh", f"FAKE_COMET_LOG='{self.log}' PYTHONPATH='{packages}' exec '{sys.executable}' -S \"$@\""]
        self.python.write_text("\n".join(lines) + "\n")
        self.python.chmod(0o755)

    def metric(self, name: str, **options: Any) -> Comet:
        """The metric ``name``, with this environment."""
        return Comet(name, name.upper(), python=self.python, **options)

    @property
    def calls(self) -> list[list[dict[str, str]]]:
        """The samples of each prediction so far."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [json.loads(line)[0] for line in lines]

    @property
    def options(self) -> dict[str, Any]:
        """The options of the last prediction."""
        found: dict[str, Any] = json.loads(self.log.read_text(encoding="utf-8").splitlines()[-1])[1]
        return found


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended, and nobody has asked for, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def worker_of(fake: Fake) -> int:
    """The process that runs the worker of ``fake``."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if f"FAKE_COMET_LOG={fake.log}".encode() in environment:
            return int(entry.name)
    raise AssertionError("no worker runs")


def until(happened: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until it has happened."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
