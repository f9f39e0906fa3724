"""Tie-calibrated accuracy against a plain list of all pairs: ``python -m bench.meta_eval [--data DIR] [--worst]``.

The plain way computes the differences of all pairs of scores with NumPy, sorts them and adds up; ours gives the same ε
and accuracy. Time and memory (the peak of what NumPy allocates) are of one run each, both ways one after the other. The
plain way is left out where it would need tens of gigabytes. With the research data, the cases are MENT, WMT23 en-de and
WMT25; without it, random scores of the same sizes. ``--worst`` adds a case in which every threshold is about equally
good.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mtagent.analysis.agreement import Averaging, PairedScores, ScorePair, calibrated_accuracy, groups_of, paired
from mtagent.analysis.ties import Floats, pairs_in

DATA = Path(os.environ.get("MTAGENT_TEST_DATA", str(Path(__file__).parents[2] / "shared" / "data")))
MANY = 33_592
LISTED = 20_000_000
"""Pairs beyond which the plain way is left out."""


class Case(NamedTuple):
    """What is measured."""

    name: str
    scores: PairedScores
    averaging: Averaging = "none"


class Cost(NamedTuple):
    """What a call took, and what it found."""

    seconds: float
    megabytes: float
    found: tuple[float, float]


def plain(scores: PairedScores, averaging: Averaging) -> tuple[float, float]:
    """ε and accuracy by listing all pairs of each group."""
    of = {"none": np.zeros(len(scores), dtype=np.int64), "item": scores.item, "system": scores.system}[averaging]
    members = [np.flatnonzero(of == group) for group in np.unique(of)]
    parts = [_pairs(scores.evaluator[places], scores.human[places]) for places in members if len(places) > 1]
    apart = np.concatenate([part[0] for part in parts])
    gain = np.concatenate([part[1] / len(part[1]) for part in parts]) / len(parts)
    start = sum(float(np.mean(part[1] < 0)) for part in parts) / len(parts)
    order = np.argsort(apart)
    apart, gains = np.r_[0.0, apart[order]], np.r_[0.0, np.cumsum(gain[order])]
    last = np.flatnonzero(np.r_[apart[1:] != apart[:-1], True])
    best = last[np.argmax(gains[last].round(12))]
    return float(apart[best]), start + float(gains[best])


def _pairs(evaluator: Floats, human: Floats) -> tuple[Floats, Floats]:
    """The differences of all pairs, and what a tie of each would gain: 1, 0 or −1."""
    first, second = np.triu_indices(len(human), 1)
    difference, verdict = evaluator[first] - evaluator[second], np.sign(human[first] - human[second])
    return np.abs(difference), (verdict == 0).astype(np.float64) - (difference * verdict > 0)


def ours(scores: PairedScores, averaging: Averaging) -> tuple[float, float]:
    """ε and accuracy by the package."""
    found = calibrated_accuracy(scores, averaging)
    assert found.epsilon is not None
    assert found.value is not None
    return found.epsilon, found.value


def cost(call: Callable[[], tuple[float, float]]) -> Cost:
    """Time of one call, memory of another."""
    began = time.perf_counter()
    found = call()
    seconds = time.perf_counter() - began
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Cost(seconds, peak / 2**20, found)


def compare(case: Case) -> str:
    """One line on a case."""
    own = cost(lambda: ours(case.scores, case.averaging))
    pairs = int(pairs_in(groups_of(case.scores, case.averaging).counts()).sum())
    told = f"{case.name}, {pairs:,} pairs: acc-t {own.found[1]:.4f}, {own.seconds:.3f} s, {own.megabytes:.0f} MB"
    if pairs > LISTED:
        return f"{told}; a list of all pairs would not fit"
    other = cost(lambda: plain(case.scores, case.averaging))
    same = "the same" if np.allclose(own.found, other.found, rtol=0, atol=1e-9) else f"OTHER THAN {other.found}"
    ratio = other.seconds / own.seconds
    return f"{told}; listed {other.seconds:.3f} s, {other.megabytes:.0f} MB, ratio {ratio:.1f}; {same}"


def cases(data: Path) -> list[Case]:
    """From the research data, or random ones."""
    return list(_real(data)) if (data / "ment_zh-en.jsonl").is_file() else list(_random())


def worst() -> Case:
    """No threshold is better than another but by chance: nearly all pairs must be looked at."""
    rng = np.random.default_rng(1)
    return Case("worst case: chance", _pooled(rng.normal(size=MANY), rng.integers(0, 3, MANY).astype(np.float64)))


def _random() -> Iterable[Case]:
    rng = np.random.default_rng(1)
    human = np.round(rng.normal(size=MANY) * 4) / 4
    yield Case("random, pooled", _pooled(human[:3980] + rng.normal(size=3980), human[:3980]))
    scores = human[:5520] + rng.normal(size=5520)
    rows = (
        ScorePair(str(i % 12), str(i // 12), one, other) for i, (one, other) in enumerate(_lists(scores, human[:5520]))
    )
    yield Case("random, by item", paired(rows), "item")
    yield Case("random, pooled", _pooled(human + rng.normal(size=MANY), human))


def _real(data: Path) -> Iterable[Case]:
    segments = [json.loads(line) for line in _lines(data / "ment_zh-en.jsonl")]
    rows = [(name, one["seg"], one["rate"][name], one["human"][name]) for one in segments for name in one["human"]]
    yield Case("MENT, RATE, pooled", paired(ScorePair(name, str(item), *scores) for name, item, *scores in rows))
    wmt23 = [row for row in _table(data / "wmt23_en-de_seg_scores.tsv") if row["system"] != "refA"]
    for name in ("M-MAD", "XCOMET-Ensemble"):
        scores = paired(ScorePair(row["system"], row["seg"], float(row[name]), float(row["mqm"])) for row in wmt23)
        yield Case(f"WMT23 en-de, {name}, by item", scores, "item")
        yield Case(f"WMT23 en-de, {name}, pooled", scores)
    wmt25 = list(_table(data / "wmt25_paragraph_scores.tsv"))[:MANY]
    human = np.array([float(row["GEMBA-ESA-GPT4.1"]) for row in wmt25])
    for name in ("GEMBA-ESA-CMDA", "MetricX-24-Hybrid-XL"):
        yield Case(
            f"WMT25, {name} against another judge, pooled",
            _pooled(np.array([row[name] for row in wmt25], float), human),
        )


def _pooled(evaluator: Floats, human: Floats) -> PairedScores:
    return paired(ScorePair("all", str(place), *both) for place, both in enumerate(_lists(evaluator, human)))


def _lists(evaluator: Floats, human: Floats) -> Iterable[tuple[float, float]]:
    return zip(evaluator.tolist(), human.tolist(), strict=True)


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


def _table(path: Path) -> Iterable[Mapping[str, str]]:
    header, *lines = (line.split("\t") for line in _lines(path))
    return (dict(zip(header, line, strict=True)) for line in lines)


def measure(data: Path = DATA) -> str:
    """All cases but the worst."""
    return "\n".join(compare(case) for case in cases(data))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--worst", action="store_true")
    given = parser.parse_args()
    print(measure(given.data))  # noqa: T201 - a benchmark is read by a person
    if given.worst:
        print(compare(worst()))  # noqa: T201


if __name__ == "__main__":
    main()
