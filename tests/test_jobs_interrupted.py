"""Runs that are killed, interrupted, locked, or out of space: nothing is lost, and nothing is paid for twice."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.store import Store
from tests import killing
from tests.commands import Done, Shell, environment, run, start
from tests.simulator import Entry, read_journal

SERVING = ("--behaviour", "tests.simulator.chain:improving")


@pytest.fixture
def job(shell: Shell) -> Shell:
    """The shell with the 60 texts of :func:`command`."""
    (shell.folder / "long.txt").write_text(killing.sources(60), encoding="utf-8")
    return shell


def command(server: str, *more: str) -> list[str]:
    files = ["-s", "long.txt", "-o", "out.txt", "-l", "en-es", "--name", "mine"]
    return ["translate", *files, "--base-url", server, "--concurrency", "8", *more]


def paid(job: Shell) -> int:
    """The calls that the run has paid for until now."""
    runs = job.runs()
    return runs["mine"].usage.calls if runs else 0


@contextmanager
def begun(job: Shell, server: str, calls: int = 8) -> Iterator[subprocess.Popen[str]]:
    """The run in a process of its own, once it has paid for some calls."""
    with start(job.folder, *command(server)) as process:
        try:
            until = time.monotonic() + 30
            while paid(job) < calls:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


def finish(job: Shell, server: str, done_before: int = 0) -> None:
    """Go on with the run: it is resumed, completed, and every line is there."""
    done = run(job.folder, *command(server))
    assert done.code == 0, done.err
    resumed = re.search(r"resuming run mine: (\d+) of 60 segments are done", done.err)
    assert int(resumed[1] if resumed else 0) >= done_before
    assert len(job.read("out.txt")) == 60
    assert not any("errado" in line for line in job.read("out.txt"))


# --- kill -9


@pytest.mark.slow
@pytest.mark.loopback
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("job", "segments", "kills"),
    [(killing.TRANSLATE, 40, 2), (killing.TRANSLATE, 2000, 20), (killing.RATE, 40, 2), (killing.CALIBRATE, 60, 2)],
)
def test_a_run_that_is_killed_resumes_and_pays_for_no_finished_call_twice(
    job: killing.Job, segments: int, kills: int, tmp_path: Path
) -> None:
    if job is killing.CALIBRATE:
        killing.edited(tmp_path, segments)
    outcome = killing.kill_and_resume(tmp_path, segments=segments, kills=kills, seed=1, job=job)
    assert outcome.equal
    assert (outcome.kills, outcome.unexplained) == (kills, 0), str(outcome)
    assert outcome.repeated <= outcome.in_flight
    if job is killing.RATE:
        assert outcome.calls == 2 * segments
        scores = (tmp_path / "disturbed.seg.score").read_text(encoding="utf-8").splitlines()
        assert sorted(line.split("\t")[0] for line in scores) == ["a"] * segments + ["b"] * segments
        assert not any("None" in line for line in scores)
    elif job is killing.CALIBRATE:
        assert outcome.calls == 4 * segments
    else:
        assert (tmp_path / "disturbed.txt").read_bytes().count(b"\n") == segments


def test_the_measure_of_repeated_calls_can_fail() -> None:
    def entry(name: str, start: float) -> Entry:
        return Entry(name, start, start + 0.1, 200, True, name, {}, {})

    log = [entry("a", 1.0), entry("b", 4.9), entry("a", 6.0), entry("b", 6.0)]
    outcome = killing.outcome(log, [5.0], segments=1, calls=2, equal=True, seconds=1.0)
    assert (outcome.repeated, outcome.unexplained, outcome.in_flight) == (2, 1, 1)


# --- one process at a time, and Ctrl-C


def test_a_run_that_another_process_works_on_is_refused_and_told_which(shell: Shell) -> None:
    shell.postedit("--name mine --limit 1")
    with Store(shell.folder / "store.db") as store, store.reopen("mine"):
        done = shell.postedit("--name mine")
    assert (done.code, done.out) == (1, "")
    assert f"run 'mine': process {os.getpid()} is working on it" in done.last


@pytest.mark.slow
@pytest.mark.loopback
def test_ctrl_c_ends_with_130_says_how_to_go_on_and_the_run_resumes(job: Shell) -> None:
    with simulator(*SERVING, "--latency", "0.3") as server:
        with begun(job, server, calls=30) as process:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (130, "")
        assert err.splitlines()[-1].startswith("mtagent: stopped. Finished work is stored")
        assert "Traceback" not in err
        assert not (job.folder / "out.txt").exists()
        before = paid(job)
        finish(job, server, 1)
        assert paid(job) > before >= 30


BLOCKING = ("import time", "def translate(text):", "    print('begun', flush=True)", "    time.sleep(60)")
SLOW_TO_STOP = (
    *("import asyncio", "async def translate(text):", "    print('begun', flush=True)"),
    *("    try:", "        await asyncio.sleep(60)", "    finally:", "        await asyncio.sleep(60)"),
)


@pytest.mark.parametrize(("function", "times"), [(BLOCKING, 1), (SLOW_TO_STOP, 2)])
def test_ctrl_c_ends_at_once_without_a_traceback(shell: Shell, function: Sequence[str], times: int) -> None:
    shell.write("mt.py", *function)
    line = ["translate", "-s", "en.txt", "-l", "en-es", "-o", "out.txt", "--translator", "python:mt:translate"]
    with start(shell.folder, *line, "--stages", "t") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        for _ in range(times):
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            if times > 1:
                time.sleep(1.0)  # two at the same moment may be one to a process
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "mtagent: stopped. Finished work is stored" in err


# --- no space, no folder


@pytest.mark.slow
@pytest.mark.loopback
def test_a_store_that_cannot_grow_stops_the_run_and_keeps_what_is_paid_for(job: Shell, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with simulator(*SERVING, "--log", str(log)) as server:
        stopped = run(job.folder, *command(server), shell_prefix="ulimit -f 600")  # no file may grow beyond this
        assert stopped.code == 1, stopped.err
        assert "store.db: cannot be read or written; check the disk, or choose another place" in stopped.err
        assert "Traceback" not in stopped.err
        assert paid(job) > 0
        finish(job, server)
    answered = [entry.sha256 for entry in read_journal(log)]
    assert len(answered) - len(set(answered)) <= 8  # only what was under way when the store failed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_under_the_output_is_named_and_only_the_writing_is_left_to_do(shell: Shell) -> None:
    done = shell.postedit("-o /dev/full")
    assert done.code == 1
    assert done.last == "mtagent: /dev/full: cannot be written: no space left on device"
    again = shell.postedit("-o o.txt -v")
    assert again.code == 0
    assert "3 of 3 segments are done" in again.err


@pytest.mark.parametrize("option", ["-o", "--details"])
def test_a_folder_that_is_missing_or_read_only_is_found_before_the_work_begins(option: str, shell: Shell) -> None:
    assert "the folder missing does not exist" in shell.postedit(f"{option} missing/out").err
    done = shell.postedit(f"{option} /proc/out")
    assert done.code == 1
    assert "mtagent: /proc/out: the folder /proc cannot be written to: " in done.err
    assert shell.runs() == {}


# --- many segments


def measured(folder: Path, segments: int) -> tuple[int, Done]:
    """Peak memory in KiB, and what was said, of an offline run."""
    texts = {
        "en": ["The cat number {} sat here.", "Hello big world {}.", "Pay {} dollars now."],
        "es": ["El gato número {} se sentó aquí", "Hola gran mundo {}.", "Paga {} dólares ahora."],
    }
    for language, patterns in texts.items():
        lines = (patterns[i % 3].format(i) + "\n" for i in range(segments))
        (folder / f"{segments}.{language}").write_text("".join(lines), encoding="utf-8")
    code = "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]); "
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(done.returncode)"
    arguments = ["postedit", "-s", f"{segments}.en", "-t", f"{segments}.es", "--format", "lines", "-l", "en-es"]
    done = subprocess.run(
        [sys.executable, "-c", code, sys.executable, "-m", "mtagent", *arguments, "-o", f"{segments}.out"],
        cwd=folder, env=environment(folder / "store.db"), text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout), Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_segments(tmp_path: Path) -> None:
    small, large = (measured(tmp_path, segments)[0] for segments in (200, 4000))
    assert large - small < 12_000  # KiB: 20 times as many segments, each of which would take some KiB


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_hundred_thousand_segments_take_less_than_500_mb(tmp_path: Path) -> None:
    kib, done = measured(tmp_path, 100_000)
    assert kib < 500_000
    assert "100,000 segments: 33334 changed" in done.err
    assert (tmp_path / "100000.out").read_bytes().count(b"\n") == 100_000
