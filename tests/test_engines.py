"""Ray and Spark themselves: a local cluster with two workers does what a single process does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bench.harness import simulator
from mtagent.jobs.tables import SHARD
from mtagent.store import Store
from tests.commands import ROOT, environment

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="the extra ray is not installed")
needs_spark = pytest.mark.skipif(
    find_spec("pyspark") is None or shutil.which("java") is None, reason="PySpark or Java is not installed"
)
pytestmark = [pytest.mark.extra, pytest.mark.slow, pytest.mark.timeout(300)]


def bench(*arguments: str) -> dict[str, Any]:
    """What :mod:`bench.engines` reports; it fails if a row is lost or wrong."""
    command = [sys.executable, "-m", "bench.engines", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@needs_ray
def test_a_killed_worker_of_ray_loses_nothing() -> None:
    report = bench("ray", "--segments", "200", "--shard", "10", "--latency", "0.05")
    assert report["killed workers"] == 1
    assert report["tokens in the ledger"] == report["tokens in all stores"] > 0
    assert report["rows"] == 200
    assert report["with error"] == 2
    assert report["shards"] == 20


@needs_spark
def test_spark_improves_each_row() -> None:
    report = bench("spark", "--segments", "200", "--shard", "50", "--latency", "0.05")
    assert report["rows"] == 200
    assert report["with error"] == 2


@needs_ray
def test_a_command_with_ray_writes_what_it_writes_without(server: str, tmp_path: Path) -> None:
    for name, text in (
        ("en.txt", "The cat number {} sat here."),
        ("es.txt", "El gato número {} se sentó errado aquí."),
    ):
        lines = [text.format(number) + "\n" for number in range(20)]
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
    command = ["postedit", "-s", "en.txt", "-t", "es.txt", "-l", "en-es", "--base-url", server, "--model", "simulator"]
    for name, options in (("alone", []), ("ray", ["--engine", "ray:1"])):
        done = subprocess.run(
            [sys.executable, "-m", "mtagent", *command, "-o", f"{name}.txt", *options],
            cwd=tmp_path,
            env=environment(tmp_path / f"{name}.db") | {"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "ray.txt").read_bytes() == (tmp_path / "alone.txt").read_bytes()
    assert "correcto" in (tmp_path / "ray.txt").read_text(encoding="utf-8")


def counts(store: Path) -> tuple[int, int]:
    """How many segments the only run in a store has finished, and its calls; zeros for a store without a run."""
    with Store(store) as opened:
        runs = list(opened.runs())
    return (runs[0].counts.done, runs[0].usage.calls) if runs else (0, 0)


@needs_ray
def test_ctrl_c_stops_a_command_with_ray_and_the_same_command_goes_on(tmp_path: Path) -> None:
    total = 2 * SHARD
    (tmp_path / "en.txt").write_text("".join(f"The cat number {i} sat.\n" for i in range(total)), encoding="utf-8")
    (tmp_path / "es.txt").write_text("".join(f"El gato {i} errado.\n" for i in range(total)), encoding="utf-8")
    files = ["-s", "en.txt", "-t", "es.txt", "-l", "en-es", "-o", "out.txt", "--model", "simulator"]
    options = ["--stages", "p", "--gate", "guards", "--engine", "ray:1"]
    command = [sys.executable, "-m", "mtagent", "postedit", *files, *options]
    settings: Any = {"cwd": tmp_path, "env": environment(tmp_path / "s.db") | {"PATH": os.environ["PATH"]}}
    with simulator("--behaviour", "tests.simulator.chain:improving", "--latency", "0.4") as server:
        command += ["--base-url", server]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **settings) as process:
            while process.poll() is None and counts(tmp_path / "s.db")[0] < SHARD:
                time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=100)
        assert process.returncode == 130
        assert "mtagent: stopped. Finished work is stored" in err
        done, calls = counts(tmp_path / "s.db")
        assert done == SHARD
        for shard in tmp_path.glob("s.db.shards/*/shard-*.db"):
            assert counts(shard)[0] < SHARD, "it didn't wait for the shard in work"
        subprocess.run(command, check=True, capture_output=True, **settings)
    assert counts(tmp_path / "s.db") == (total, total * calls // SHARD)
    assert len((tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()) == total
