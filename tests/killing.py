"""Kill a run again and again, resume it, and compare it with a run that nobody disturbed.

``python -m tests.killing`` kills a run of 2,000 segments 20 times with ``kill -9`` and prints what was paid for twice.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.harness import simulator
from mtagent.records import Chain, GuardsCause, Step
from tests import stored
from tests.commands import start
from tests.simulator import Entry, read_journal

WINDOW = 0.25
"""Seconds around a kill: a reply that was sent so shortly before may not have reached the store, and a request that the
server read so shortly after was sent by the dead process, since a new one needs longer to start."""


@dataclass(frozen=True)
class Outcome:
    """What came out of a run that was killed. Times are in seconds."""

    segments: int
    kills: int
    calls: int
    requests: int
    in_flight: int
    repeated: int
    unexplained: int
    longest_before: float
    equal: bool
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.segments} segments, {self.kills} kills, {self.seconds:.0f} s: output "
            f"{'equal to' if self.equal else 'DIFFERENT FROM'} that of the undisturbed run\n"
            f"calls needed: {self.calls}; requests that the server answered whole: {self.requests}\n"
            f"requests under way at the kills: {self.in_flight} (answered up to {WINDOW} s before, or read up to "
            f"{WINDOW} s after, included)\n"
            f"answered twice: {self.repeated}; the first answer came at most {1000 * self.longest_before:.0f} ms "
            "before the kill\n"
            f"answered twice without a kill to explain it: {self.unexplained}"
        )


class Job(NamedTuple):
    """A command to kill, and how the name of its output ends."""

    words: tuple[str, ...]
    ending: str


TRANSLATE = Job(("translate", "-s", "en.txt"), ".txt")
RATE = Job(("rate", "-s", "en.txt", "-t", "a.txt", "b.txt", "--evaluator", "rubric-mqm", "--force"), ".seg.rating")
CALIBRATE = Job(
    ("gate", "calibrate", "--run", "first", "--judge", "pairwise", "--teacher", "rubric-mqm:model=strong"), ".json"
)
"""The run ``first`` must be there: see :func:`edited`."""


def edited(folder: Path, segments: int) -> None:
    """Store a run ``first`` in which every edit is a good one or a bad one."""
    texts = sources(segments).splitlines()
    chains = []
    for place, text in enumerate(texts):
        versions = text.replace("about", "errado"), text.replace("about", "acertado")
        before, after = versions if place % 2 else versions[::-1]
        segment = stored.segment(place, text, before, target_lang="es")
        step = Step(stage="postedit", text=after, proposed=after, verdict="kept", cause=GuardsCause())
        chains.append(Chain(segment=segment, steps=(step,)))
    stored.store(folder / "store.db", "first", *chains)


def sources(segments: int) -> str:
    """Lines that differ, so that each call of a run is a different one."""
    return "".join(f"Text number {i} is about {i * 7919 % 1000} things of kind {i % 97}.\n" for i in range(segments))


def kill_and_resume(
    folder: Path, *, segments: int, kills: int, seed: int = 0, latency: float = 0.01, job: Job = TRANSLATE
) -> Outcome:
    """Do the ``job`` on ``segments`` texts twice, once with ``kills`` kills at random moments."""
    lines = sources(segments)
    (folder / "en.txt").write_text(lines, encoding="utf-8")
    (folder / "a.txt").write_text(lines.replace("about", "errado"), encoding="utf-8")
    (folder / "b.txt").write_text(lines.replace("about", "acertado").replace("Text number 1 ", ""), encoding="utf-8")
    quiet, log = folder / "undisturbed.jsonl", folder / "disturbed.jsonl"
    serving = ("--behaviour", "tests.simulator.chain:improving", "--latency", str(latency), "--log")
    with simulator(*serving, str(quiet)) as server:
        _finish(folder, server, "undisturbed", job)
    calls = len(read_journal(quiet))
    began, chance, part = time.time(), random.Random(seed), calls / (kills + 1)
    moments = [int(part * (i + chance.uniform(0.05, 1.0))) for i in range(kills)]  # each in its own part of the run
    with simulator(*serving, str(log)) as server:
        times = _killed(folder, server, log, moments, job)
        _finish(folder, server, "disturbed", job)
    equal = len({(folder / f"{name}{job.ending}").read_bytes() for name in ("undisturbed", "disturbed")}) == 1
    seconds = time.time() - began
    return outcome(read_journal(log), times, segments=segments, calls=calls, equal=equal, seconds=seconds)


def _begin(folder: Path, server: str, name: str, job: Job) -> subprocess.Popen[str]:
    words = (*job.words, "-o", f"{name}{job.ending}", "--name", name, "-l", "en-es", "--base-url", server)
    return start(folder, *words, "--concurrency", "32", "-q")


def _finish(folder: Path, server: str, name: str, job: Job) -> None:
    with _begin(folder, server, name, job) as process:
        out, err = process.communicate(timeout=500)
    assert process.returncode == 0, (process.returncode, out, err)


def _killed(folder: Path, server: str, log: Path, moments: Sequence[int], job: Job) -> list[float]:
    """Kill the run when so many requests were answered, and begin it again; the times of the kills."""
    times: list[float] = []
    answered = 0
    with log.open("rb") as journal:
        for moment in moments:
            with _begin(folder, server, "disturbed", job) as process:
                while (answered := answered + journal.read().count(b"\n")) < moment:
                    assert process.poll() is None, f"ended before kill {len(times) + 1}: {process.communicate()}"
                    time.sleep(0.003)
                process.kill()
                times.append(time.time())
    return times


def outcome(
    entries: list[Entry], kills: list[float], *, segments: int, calls: int, equal: bool, seconds: float
) -> Outcome:
    """Compare the server's journal with the times of the kills."""
    whole = [entry for entry in entries if entry.sent and entry.status == 200]
    same: dict[str, list[Entry]] = defaultdict(list)
    for entry in whole:
        same[entry.sha256].append(entry)
    repeated = [entry for each in same.values() for entry in sorted(each, key=lambda e: e.start)[:-1]]
    explained = [kill - entry.finish for entry in repeated for kill in kills if _under_way(entry, kill)]
    return Outcome(
        segments=segments,
        kills=len(kills),
        calls=calls,
        requests=len(whole),
        in_flight=sum(_under_way(entry, kill) for entry in entries for kill in kills),
        repeated=len(repeated),
        unexplained=len(repeated) - sum(any(_under_way(entry, kill) for kill in kills) for entry in repeated),
        longest_before=max(0.0, *explained, 0.0),
        equal=equal,
        seconds=seconds,
    )


def _under_way(entry: Entry, kill: float) -> bool:
    return entry.start - WINDOW <= kill <= entry.finish + WINDOW


def main() -> None:
    """Parse, kill, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(kill_and_resume(Path(folder), **vars(options)))  # noqa: T201 - read by a person


if __name__ == "__main__":
    main()
