"""What each fault of a server costs a run: segments, calls and money; and whether the same command again mends it.

``python -m bench.faults [NAME …]`` runs ``mtagent translate`` (three stages and the default gate) against the test
server, which answers a share of the requests with one named fault; then the same command again, while
the server is healthy. ``--package DIR`` tests the mtagent of another checkout; the server is always this one's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.harness import ROOT
from tests.simulator import Settings, Simulator
from tests.simulator.chain import improving
from tests.simulator.faults import FAULTS, RARE

MODEL = "sim"
HEALTHY = "none"
COLUMNS = (
    "fault",
    "right",
    "failed",
    "wrong",
    "lost",
    "exit",
    "s",
    "calls",
    "dollars",
    "then right",
    "repeated",
    "exit",
)


@dataclass(frozen=True)
class Job:
    """What is run: ``mtagent`` of ``package`` on ``segments`` segments, with ``share`` of the requests spoilt.

    A run that takes longer than ``seconds`` is killed.
    """

    package: Path = ROOT
    segments: int = 150
    share: float = 0.2
    seed: int = 1
    seconds: float = 120.0


@dataclass(frozen=True)
class Row:
    """A fault: what the run that met it left, and then the same command on a healthy server.

    Segments are right, failed, wrong (another text and no error) or lost (not there). ``dollars`` is ``None`` where the
    cost of a call is not known. ``repeated`` counts requests that the first run had been given a good answer to.
    """

    fault: str
    right: int
    failed: int
    wrong: int
    lost: int
    code: str
    seconds: float
    calls: int
    dollars: float | None
    then_right: int
    repeated: int
    then_code: str

    def cells(self) -> tuple[str, ...]:
        """As in a table under :data:`COLUMNS`."""
        dollars = "unknown" if self.dollars is None else f"${self.dollars:.4f}"
        shown = {**vars(self), "seconds": f"{self.seconds:.1f}", "dollars": dollars}
        return tuple(map(str, shown.values()))


def sources(count: int) -> list[str]:
    """Sources that the simulator's translator makes an error in, so that each takes all five calls."""
    found = (f"Report {number} is good, clear and short." for number in range(10 * count + 10))
    return [source for source in found if zlib.crc32(source.encode()) % 3][:count]


def expected(source: str) -> str:
    """What the chain makes of ``source`` in the end, if nothing goes wrong."""
    head, _, last = source.rpartition(" ")
    return f"{head} correcto {last}"


async def measured(fault: str, job: Job) -> Row:
    """Run with ``fault``, and again without."""
    spoilt = Settings(
        behaviour=improving,
        named=None if fault == HEALTHY else fault,
        fault_rate=0.0 if fault == HEALTHY else RARE.get(fault, job.share),
        seed=job.seed,
    )
    with tempfile.TemporaryDirectory(prefix="mtagent-faults-") as name:
        folder = Path(name)
        lines = sources(job.segments)
        (folder / "en.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        async with Simulator(spoilt) as server:
            price = f'[[prices]]\nmodel = "{MODEL}"\nbase_url = "{server.base_url}"\ninput = 1\noutput = 2\n'
            (folder / "prices.toml").write_text(price, encoding="utf-8")
            line = f"translate -s en.txt -l en-es -o es.txt --name one --model {MODEL} --prices prices.toml -q"
            line += f" --timeout 2 --deadline 8 --base-url {server.base_url}"
            began = time.perf_counter()
            code = await _mtagent(job, folder, line)
            seconds = time.perf_counter() - began
            met = server.journal.entries.copy()
            await _mtagent(job, folder, "export one --partial -o texts.txt --details details.jsonl")
            server.journal.entries.clear()
            server.settings = replace(spoilt, fault_rate=0.0)
            then_code = await _mtagent(job, folder, line)
            answered = {entry.sha256 for entry in met if entry.sent and entry.fault is None}
            repeated = sum(entry.sha256 in answered for entry in server.journal.entries)
        details, texts = _lines(folder / "details.jsonl"), _lines(folder / "es.txt")
    segments = [json.loads(row) for row in details]
    costs = [segment["usage"]["cost"] for segment in segments]
    fates = Counter(
        "failed" if one["error"] else "right" if one["text"] == expected(one["source"]) else "wrong" for one in segments
    )
    return Row(
        fault=fault,
        right=fates["right"],
        failed=fates["failed"],
        wrong=fates["wrong"],
        lost=job.segments - len(segments),
        code=code,
        seconds=seconds,
        calls=len(met),
        dollars=None if None in costs else sum(costs),
        then_right=sum(text == expected(line) for text, line in zip(texts, lines, strict=False)),
        repeated=repeated,
        then_code=then_code,
    )


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []


async def _mtagent(job: Job, folder: Path, line: str) -> str:
    """The exit code, with ``!`` after a traceback; ``late`` for a run that had to be ended."""
    keyless = {name: value for name, value in os.environ.items() if name not in ("OPENAI_API_KEY", "OPENAI_BASE_URL")}
    environment = {**keyless, "PYTHONPATH": str(job.package), "MTAGENT_STORE": str(folder / "store.db")}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "mtagent", *line.split(), cwd=folder, env=environment, stdout=pipe, stderr=pipe
    )
    talk = asyncio.ensure_future(process.communicate())
    finished, _ = await asyncio.wait([talk], timeout=job.seconds)
    if not finished:
        process.kill()
    said = b"".join(await talk)
    return "late" if not finished else f"{process.returncode}{'!' if b'Traceback' in said else ''}"


async def _all(names: Sequence[str], job: Job) -> None:
    """Print a table in Markdown, each row as soon as it is there."""
    for cells in (COLUMNS, ("---", *("---:",) * (len(COLUMNS) - 1))):
        print(f"| {' | '.join(cells)} |", flush=True)  # noqa: T201 - a benchmark is read by a person
    for name in names:
        row = await measured(name, job)
        print(f"| {' | '.join(row.cells())} |", flush=True)  # noqa: T201


def main() -> None:
    """Parse, measure, print row by row."""
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{HEALTHY}, {', '.join(FAULTS)}; none named = all")
    parser.add_argument("--package", type=Path, default=Job.package, metavar="DIR", help="the checkout to test")
    parser.add_argument("--segments", type=int, default=Job.segments)
    parser.add_argument("--share", type=float, default=Job.share, help="of the requests that are spoilt")
    parser.add_argument("--seed", type=int, default=Job.seed)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in (HEALTHY, *FAULTS)]:
        parser.error(f"no fault {unknown[0]!r}; there are {HEALTHY}, {', '.join(FAULTS)}")
    job = Job(options.package.resolve(), options.segments, options.share, options.seed)
    asyncio.run(_all(options.names or [HEALTHY, *FAULTS], job))


if __name__ == "__main__":
    main()
