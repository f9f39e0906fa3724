"""The quality of a gate that was learnt from 200 decisions of a reviewer, with the commands that a user types.

    python -m wmt.review_worth [--data DIR] [--decisions N] [--seeds N …]

Two systems' translations stand for the text before and after an edit. A run holds such edits of half of the documents,
with what judges said of them; the reviewer accepts an edit where people scored the second text higher, rejects it where
they scored it lower, and leaves out ties. ``mtagent decide`` takes these decisions over, ``mtagent gate calibrate --run
--decisions`` learns the gate, and the gate is compared with people's scores of the other half. Calls no model. See
wmt/README.md for what to expect.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mtagent.chain.calibration import Effect, read
from mtagent.cli.terminal import display
from mtagent.learning.calibrate import check
from mtagent.learning.gain import JudgedPairs
from mtagent.learning.pairs import JudgedData, JudgedPair, Label, group_of
from mtagent.learning.text import figure
from mtagent.records import Chain, Choice, DecidedCause, Edit, Judgement, Segment, Step
from mtagent.store import Store
from wmt.lib.data import DATA as FOLDER
from wmt.lib.data import run
from wmt.lib.gate_data import Case, DataSet, ment, people

RUN = "edits"
FEWEST_DOCUMENTS = 20
_CHOICES: dict[float, tuple[Choice, ...]] = {1.0: ("after",) * 2, -1.0: ("before",) * 2, 0.0: ("after", "before")}


class Found(NamedTuple):
    """What came of the decisions: the crosswise worth that the file states, and the worth on other documents."""

    decisions: int
    accepted: int
    told: Effect
    held_out: Effect
    seconds: float


def segment_of(pairs: JudgedPairs, number: int) -> Segment:
    """The segment of an edit: its number stands for the texts."""
    return Segment(
        id=str(number), source=f"text {number}", source_lang="en", target_lang="es",
        translation=f"text {number} before", document=str(pairs.groups[number]),
    )  # fmt: skip


def judgements_of(data: DataSet, pairs: JudgedPairs, number: int) -> tuple[Judgement, ...]:
    """Each judge's answer about an edit."""
    judgements = []
    for place, judge in enumerate(pairs.judges):
        signature = f"{judge}|published"
        difference, score = float(pairs.differences[number, place]), float(pairs.scores_before[number, place])
        if judge in data.verdicts:
            judgements.append(Judgement(judge=judge, signature=signature, choices=_CHOICES[difference]))
        else:
            judgements.append(Judgement(judge=judge, signature=signature, before=score, after=score + difference))
    return tuple(judgements)


def chains(data: DataSet, pairs: JudgedPairs, numbers: Sequence[int]) -> Iterator[Chain]:
    """The edits of these numbers as a run holds them; kept where every judge is in favour."""
    for number in numbers:
        judgements = judgements_of(data, pairs, number)
        keep = all((judgement.difference or 0.0) > 0 for judgement in judgements)
        before, after = f"text {number} before", f"text {number} after"
        edit = Edit(old=before, new=after, start=0, end=len(before), outcome="applied" if keep else "rejected")
        compares = all(judgement.choices for judgement in judgements)
        cause = DecidedCause(kind="choices" if compares else "scores", judgements=judgements)
        step = Step(
            stage="postedit", text=after if keep else before, proposed=after, edits=(edit,),
            verdict="kept" if keep else "rejected", cause=cause,
        )  # fmt: skip
        yield Chain(segment=segment_of(pairs, number), steps=(step,))


def worth(data: DataSet, decisions: int, seed: int) -> Found:
    """Let the reviewer decide on edits of half of the documents, learn the gate, and hold it against the other half."""
    every = Case("all", tuple(permutations(data.systems, 2)))
    pairs = data.pairs(every)[data.target]
    rng = np.random.default_rng(seed)
    documents = rng.permutation(np.unique(pairs.groups))
    ours = np.isin(pairs.groups, documents[: len(documents) // 2])
    gains = pairs.human_after - pairs.human_before
    decided = rng.permutation(np.flatnonzero(ours & (gains != 0)))[:decisions].tolist()
    with tempfile.TemporaryDirectory(prefix="wmt-") as folder:
        store, table, gate = (Path(folder, name) for name in ("store.db", "decisions.csv", "gate.json"))
        with Store(store) as opened, opened.start(RUN, settings={}, inputs={}, total=len(decided)) as stored:
            for position, chain in enumerate(chains(data, pairs, decided)):
                stored.save(position, chain)
            stored.finish()
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["segment", "edit", "decision"])
            writer.writerows([number, 1, "accept" if gains[number] > 0 else "reject"] for number in decided)
        typed("decide", RUN, str(table), "--store", str(store), "--who", "people")
        began = time.perf_counter()
        typed("gate", "calibrate", "--run", RUN, "--decisions", "-o", str(gate), "-q", "--store", str(store))
        seconds, calibration = time.perf_counter() - began, read(gate)
    others = []
    for number in np.flatnonzero(~ours).tolist():
        segment = segment_of(pairs, number)
        label = Label(float(pairs.human_before[number]), float(pairs.human_after[number]), has_scores=True)
        judgements = judgements_of(data, pairs, number)
        others.append(JudgedPair(segment, group_of(segment), judgements=judgements, label=label))
    signatures = tuple(f"{judge}|published" for judge in pairs.judges)
    held_out = check(calibration, JudgedData(pairs.judges, pairs=tuple(others), signatures=signatures)).effect
    assert calibration.gain is not None
    assert calibration.gain.held_out is not None
    return Found(len(decided), int(sum(gains[decided] > 0)), calibration.gain.held_out, held_out, seconds)


def typed(*words: str) -> None:
    """Run a command of mtagent in a process of its own."""
    done = subprocess.run([sys.executable, "-m", "mtagent", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"review_worth: mtagent {words[0]}: {done.stderr.strip()}")


def sets(folder: Path) -> Iterator[DataSet]:
    """The data with people's scores of enough documents, each with the one judge that saw both orders or scored."""
    for data in (*people(folder), *ment(folder)):
        if data.groups.max() >= FEWEST_DOCUMENTS:
            yield replace(data, judges=data.judges[:1], panels=())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--decisions", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args(arguments)
    display("| edits | judge | decisions | never | always | gate | oracle | lead | headroom | told: headroom |")
    display("|---|---|---|---|---|---|---|---|---|---|")
    for data, seed in product(sets(given.data), given.seeds):
        found = worth(data, given.decisions, seed)
        name = data.name.partition(",")[0]
        held = found.held_out
        rooms = [effect.headroom.value for effect in (held, found.told)]
        cells = [
            f"{name}, {seed}", data.judges[0], f"{found.decisions}, {found.accepted} accepted",
            *(f"{value.value:.2f}" for value in (held.never, held.always, held.gate, held.oracle)),
            figure(held.lead, signed=True), *("–" if room is None else f"{100 * room:.0f} %" for room in rooms),
        ]  # fmt: skip
        display(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    run(main)
