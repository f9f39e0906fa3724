"""``mtagent score`` and ``compare`` against sacreBLEU's own command: ``python -m bench.scores [--data DIR]``.

The case: a translation as given and three stages that each left 60 % of the segments unchanged; BLEU, chrF and TER with
a paired bootstrap of 1,000 resamples. Then the resampling alone, on counts that both have already, 3,000 segments. Both
run in turns in one run; sacreBLEU's command takes more than a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from mtagent.metrics import overlap as formulas
from mtagent.metrics.significance import Kind, Resampling, Statistics, paired_tests
from mtagent.records import Chain, PlainCause, Segment, Stage, Step
from mtagent.store import Store
from wmt.lib.data import run
from wmt.scores import corpora

RAN: tuple[Stage, ...] = ("translate", "postedit", "proofread")
STAGES = ("given", *RAN)
UNCHANGED = 0.6
RESAMPLED = 3_000
"""Segments of the test on random counts."""
Result = TypeVar("Result")


def case(data: Path, limit: int | None = None) -> tuple[list[str], dict[str, list[str]]]:
    """References and stages: WMT24's segments in languages with spaces, the first ``limit`` of them.

    A changed segment gets up to four words of its reference, or loses some, or has two words swapped.
    """
    spaced = [corpus for corpus in corpora(data) if not corpus.asian]
    references = [text for corpus in spaced for text in corpus.references][:limit]
    texts = {"given": [text for corpus in spaced for text in corpus.systems["ONLINE-B"]][:limit]}
    rng = random.Random(1)
    for former, stage in pairwise(STAGES):
        texts[stage] = [
            text if rng.random() < UNCHANGED else _edited(text.split(), reference.split(), rng)
            for text, reference in zip(texts[former], references, strict=True)
        ]
    return references, texts


def _edited(words: list[str], reference: list[str], rng: random.Random) -> str:
    for _ in range(rng.randint(1, 4)):
        if not words:
            break
        at, other = rng.randrange(len(words)), rng.randrange(len(words))
        kind = rng.random()
        if kind < 0.6:
            words[at] = rng.choice(reference)
        elif kind < 0.8:
            words.pop(at)
        else:
            words[at], words[other] = words[other], words[at]
    return " ".join(words)


def commands(data: Path, limit: int | None = None) -> str:
    """Both commands on the case: seconds, their ratio, and whether scores and p-values are equal."""
    references, stages = case(data, limit)
    with tempfile.TemporaryDirectory() as folder:
        for name, texts in {"ref": references, **stages}.items():
            (Path(folder) / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        files = [f"{name}.txt" for name in stages]
        ours = ["mtagent", "score", "-t", *files, "-r", "ref.txt", "-l", "en-de", "-m", "bleu,chrf,ter", "-w", "10"]
        theirs = ["sacrebleu", "ref.txt", "-i", *files, "-m", "bleu", "chrf", "ter"]
        comparison = ["mtagent", "compare", "r", "--store", "store.db", "-m", "bleu,chrf,ter", "--paired-bs"]
        _store(Path(folder) / "store.db", references, stages)
        _, compare_seconds = _least(lambda: _run(comparison, folder))
        found, own_seconds = _least(lambda: _run([*ours, "--paired-bs", "-f", "json"], folder))
        expected, seconds = _timed(lambda: _run([*theirs, "-w", "10", "--paired-bs", "-f", "latex"], folder))
    own_cells = _own_cells(found, list(stages))
    equal = sum(one == other for one, other in zip(own_cells, _cells(expected), strict=True))
    return (
        f"{len(references)} segments, given and three stages, BLEU, chrF and TER with paired bootstrap:\n"
        f"sacrebleu {seconds:.1f} s, mtagent score {own_seconds:.1f} s, ratio {seconds / own_seconds:.1f};"
        f" {equal} of {len(own_cells)} scores with their p-values equal;\n"
        f"mtagent compare (with edits, outcomes and costs) {compare_seconds:.1f} s,"
        f" ratio {seconds / compare_seconds:.1f}"
    )


def _store(path: Path, references: list[str], stages: dict[str, list[str]]) -> None:
    """A run whose stages left these texts."""
    with Store(path) as store:
        run = store.start("r", settings={}, inputs={}, total=len(references))
        for place, reference in enumerate(references):
            given = stages["given"][place]
            of = Segment(
                id=str(place), source="-", source_lang="en", target_lang="de", translation=given, reference=reference
            )
            steps = tuple(
                Step(stage=stage, text=stages[stage][place], verdict="kept", cause=PlainCause(kind="unchecked"))
                for stage in RAN
            )
            run.save(place, Chain(segment=of, steps=steps))
        run.finish()


def _least(call: Callable[[], Result]) -> tuple[Result, float]:
    """The result, and the least time of three calls."""
    return min((_timed(call) for _ in range(3)), key=lambda timed: timed[1])


def _run(command: list[str], folder: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "NO_COLOR": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's installation has its bytecode
    environment["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's idle threads take processor time, and save none here
    module = [sys.executable, "-m", *command]
    return subprocess.run(module, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def _own_cells(output: str, systems: Sequence[str]) -> list[tuple[str, str]]:
    """Score and p-value by system, then by metric, as sacreBLEU prints them."""
    scores = json.loads(output)
    cells = []
    for system in systems:
        for score in scores:
            if score["system"] == system:
                p_value = score["p_value"]
                cells.append((f"{score['score']:.10f}", "" if p_value is None else f"{p_value:.4f}"))
    return cells


def _cells(table: str) -> list[tuple[str, str]]:
    """Score and p-value of each cell of sacreBLEU's table.

    Its JSON of a paired test with chrF fails with NumPy 2.
    """
    return re.findall(r"& +([\d.]+) \([^)]* ± [^)]*\)(?: \(p = ([\d.]+)\))?", table)


def _timed(call: Callable[[], Result]) -> tuple[Result, float]:
    """The result, and the processor time of this process and its children: other work on the machine does not count."""
    before = _processor_time()
    result = call()
    return result, _processor_time() - before


def _processor_time() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _told(metric: Any, rows: dict[str, Any]) -> Any:
    """sacreBLEU's ``metric``, told the counts of each text, so that nothing but the resampling is measured."""
    metric.num_refs = 1
    metric._extract_corpus_statistics = lambda hypotheses, references: rows[hypotheses[0]]
    return metric


def resampling(kind: Kind, segments: int = RESAMPLED) -> str:
    """Two systems, counts already there: sacreBLEU's test against ours, and whether the p-values are equal."""
    rng = np.random.default_rng(1)
    bleu = np.sort(rng.integers(5, 30, size=(2, segments, 4)), axis=2)[:, :, ::-1]
    counts = {
        "BLEU": np.concatenate([rng.integers(20, 40, size=(2, segments, 2)), bleu // 2, bleu], axis=2),
        "chrF2": rng.integers(20, 60, size=(2, segments, 18)),
        "TER": rng.integers(5, 30, size=(2, segments, 2)),
    }
    metrics = {"BLEU": BLEU(), "chrF2": CHRF(), "TER": TER()}
    known = {name: _told(one, dict(zip("ab", counts[name].tolist(), strict=True))) for name, one in metrics.items()}
    named: list[tuple[str, Sequence[str]]] = [("a", ["a"] * segments), ("b", ["b"] * segments)]
    found, seconds = _timed(lambda: PairedTest(named, known, None, test_type=kind)())
    theirs: dict[str, Any] = found[1]
    apply = {"BLEU": formulas.bleu_scores, "chrF2": formulas.chrf_scores, "TER": formulas.ter_scores}
    systems = {
        name: [Statistics(rows.astype(np.float64), apply[name]) for rows in both] for name, both in counts.items()
    }
    ours, own_seconds = _timed(lambda: paired_tests(list(systems.values()), [(0, 1)], Resampling(kind)))
    equal = 0
    for own, name in zip(ours, counts, strict=True):
        equal += own.significances[0].p_value == theirs[name][1].p_value
    return (
        f"{kind}, {segments} segments, three metrics: sacrebleu {seconds:.2f} s, mtagent {own_seconds:.2f} s, "
        f"ratio {seconds / own_seconds:.1f}; {equal} of 3 p-values equal"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("MTAGENT_TEST_DATA", str(Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--limit", type=int, metavar="N", help="Take only the first N segments.")
    options = parser.parse_args()
    segments = options.limit or RESAMPLED
    print(resampling("bs", segments))  # noqa: T201 - a benchmark is read by a person
    print(resampling("ar", segments))  # noqa: T201
    print(commands(options.data, options.limit))  # noqa: T201


if __name__ == "__main__":
    run(main)
