"""``python -m bench.growth``: how processor time, memory and the store grow with the number of segments.

A run of three stages is made at each size, on the simulator, and the same command is given again when the run is
finished. Then the commands that read a run are measured at the largest size, and a review, as its page and its script
use the server. Every command is a process of its own; its processor time (user and system) and its peak memory are
those that the system reports.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.harness import ROOT, simulator

TEXT = "the small house of old stones stands behind a wide river where green boats wait for morning wind"
LIFETIME = 6 * 3600.0
RUN = "translate -s en.txt -r ref.txt -l en-es -o es.txt --stages tpp --name run -q --concurrency 64"
COMMANDS = (
    "runs list",
    "runs show run",
    "runs show run 17",
    "export run -o out.txt --force",
    "export run -o out.txt --details edits.jsonl --force",
    "score --run run -m bleu,chrf",
    "compare run",
    "compare run other",
    "report run -o report.html --force",
)
OTHER = "postedit -s en.txt -t es.txt -r ref.txt -l en-es -o other.txt --name other -q"
"""A second run of the same segments, by rules."""


class Cost(NamedTuple):
    """What a command took: seconds of processor time, and its peak of resident memory in MB."""

    cpu: float
    peak: float


def environment(folder: Path) -> dict[str, str]:
    """The environment of a command: no key, and the store of ``folder``."""
    kept = {name: value for name, value in os.environ.items() if name not in ("OPENAI_API_KEY", "OPENAI_BASE_URL")}
    return {**kept, "PYTHONPATH": str(ROOT), "MTAGENT_STORE": str(folder / "store.db")}


def measured(folder: Path, arguments: Sequence[str]) -> Cost:
    """Run ``mtagent`` in ``folder``. Raises :class:`RuntimeError` with its last words if it fails."""
    errors = folder / "stderr.txt"
    with errors.open("w") as stderr, (folder / "stdout.txt").open("w") as stdout:
        process = subprocess.Popen(
            [sys.executable, "-m", "mtagent", *arguments],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"mtagent {' '.join(arguments)}: {errors.read_text()[-2000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def write_texts(folder: Path, segments: int) -> None:
    """Line-aligned sources of 5 to 18 words, all different, and references."""
    sources: list[str] = []
    text = TEXT.split()
    for number in range(segments):
        words = itertools.islice(itertools.cycle(text), number % 17, number % 17 + 3 + number % 14)
        sources.append(f"{' '.join(words)} {number} times.")
    (folder / "en.txt").write_text("".join(f"{text}\n" for text in sources), encoding="utf-8")
    references = (text.replace("times", "correcto times") for text in sources)
    (folder / "ref.txt").write_text("".join(f"{text}\n" for text in references), encoding="utf-8")


def growth(folder: Path, segments: int, base_url: str, gate: str) -> list[str]:
    """The row of one size: the run, its store, and the same command again. A finished run in ``folder`` is kept."""
    row = [f"{segments:,}"]
    store, server = folder / "store.db", folder / "server.txt"
    if store.exists():
        base_url = server.read_text()  # another address would be another run
    command = [*RUN.split(), "--gate", gate, "--base-url", base_url]
    if store.exists():
        row += ["", ""]
    else:
        write_texts(folder, segments)
        server.write_text(base_url)
        cost = measured(folder, command)
        row += [f"{1000 * cost.cpu / segments:.2f}", f"{cost.peak:.0f}"]
    row += [f"{store.stat().st_size / 1e6:.1f}", f"{store.stat().st_size / segments:.0f}"]
    written = (folder / "es.txt").read_bytes()
    (folder / "es.txt").unlink()
    again = measured(folder, command)
    if (folder / "es.txt").read_bytes() != written:
        raise RuntimeError("the finished run has written another output")
    return [*row, f"{again.cpu:.1f}", f"{again.peak:.0f}"]


class Server:
    """``mtagent review`` of the run in ``folder``."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "mtagent", "review", "run", "--no-browser", "--port", "0"]
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment(folder), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/#\S+", line)
        if found is None:
            raise RuntimeError(line + self.process.stderr.read())
        self.address = found[0]

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> float:
        """End the server, and return its peak memory in MB."""
        self.process.send_signal(signal.SIGINT)
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        return usage.ru_maxrss / 1024


_TIMED = """async (act) => {
  const began = performance.now();
  await act();
  document.body.offsetHeight;
  return performance.now() - began;
}"""


def review(folder: Path) -> list[tuple[str, str]]:
    """What a review takes, in Chromium: until its page is there, until all is read, and for what a person does."""
    from playwright.sync_api import sync_playwright

    began = time.perf_counter()
    server = Server(folder)
    results: list[tuple[str, str]] = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page()
        results.append(("the server listens after, CPU", f"{server.cpu():.1f} s"))
        page.goto(server.address)
        page.wait_for_selector("html[data-ready]", timeout=600_000)
        ready = page.evaluate("Number(document.documentElement.dataset.ready) / 1000")
        results.append(
            ("the first segment can be decided after", f"{ready:.1f} s; CPU of the server {server.cpu():.1f} s")
        )
        results.append(("a decision meanwhile", f"{1000 * _decision(page):.0f} ms"))
        page.wait_for_selector("html[data-complete]", timeout=600_000)
        complete = page.evaluate("Number(document.documentElement.dataset.complete) / 1000")
        results.append(("the whole queue is read after", f"{complete:.1f} s; CPU of the server {server.cpu():.1f} s"))
        cpu = server.cpu()
        decisions = sorted(_decision(page) for _ in range(15))
        spent = (server.cpu() - cpu) / len(decisions)
        results.append(
            (
                "a decision, until the next segment",
                f"{1000 * decisions[7]:.0f} ms; CPU of the server {1000 * spent:.0f} ms",
            )
        )
        for name, act in (
            ("the first search", "change({ q: '77 ' })"),
            ("another search", "change({ q: 'river' })"),
            ("a filter", "change({ q: '', state: 'changed' })"),
            ("another order", "change({ state: '', sort: 'position' })"),
        ):
            took = page.evaluate(f"({_TIMED})(() => {act})")
            results.append((name, f"{took:.0f} ms"))
        heap = page.evaluate("performance.memory.usedJSHeapSize / 1e6")
        results.append(("JavaScript's memory", f"{heap:.0f} MB"))
        browser.close()
    results.append(("peak of the server's memory", f"{server.end():.0f} MB"))
    results.append(("all of it", f"{time.perf_counter() - began:.0f} s"))
    return results


def _decision(page: Any) -> float:
    """Seconds from a key to the next segment on the screen. The decision is saved afterwards."""
    page.wait_for_selector("html[data-pending='0']")
    return float(
        page.evaluate(
            """() => new Promise((done) => {
              const title = () => document.getElementById("segment-title").innerText;
              const [before, began] = [title(), performance.now()];
              document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "A", bubbles: true }));
              const look = () => (title() === before ? setTimeout(look, 1) : done((performance.now() - began) / 1000));
              look();
            })"""
        )
    )


def say(*cells: str) -> None:
    """Print a row at once."""
    sys.stdout.write(f"{' | '.join(cells)}\n")
    sys.stdout.flush()


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--segments", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--gate", default="guards", help="guards: three calls for a segment; rate: five.")
    parser.add_argument(
        "--folder", type=Path, help="Folder to keep the runs in; runs that are there are not made again."
    )
    parser.add_argument("--no-review", action="store_true", help="Leave out the review, which needs Chromium.")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as temporary,
        simulator("--behaviour", "tests.simulator.chain:improving", lifetime=LIFETIME) as base_url,
    ):
        for segments in options.segments:
            folder = (options.folder or Path(temporary)) / str(segments)
            folder.mkdir(parents=True, exist_ok=True)
            say(*growth(folder, segments, base_url, options.gate))
        for command in COMMANDS:
            if "other" in command:
                measured(folder, OTHER.split())
            cost = measured(folder, command.split())
            say(f"mtagent {command}", f"{cost.cpu:.1f}", f"{cost.peak:.0f}")
        if not options.no_review:
            for name, value in review(folder):
                say(name, value)


if __name__ == "__main__":
    main()
