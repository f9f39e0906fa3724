"""How many needless edits a gate keeps where the judge is as noisy as the reviewer who proposed them.

    python -m wmt.self_judging [--texts N] [--seed N]

A reviewer marks a needless error in a text with probability q, whatever the text, and suggests another word for it; the
judges do the same. The project's own chain and gates run on made-up texts with scripted reviewers and models. First all
texts are free of errors; then half of them have one, which reviewer and judges mark with probability 0.9. Asks no
model. See wmt/README.md for what to expect.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import (
    Gate,
    GateDecision,
    OpenGate,
    PairwiseGate,
    PanelGate,
    PilotGate,
    Rate,
    RatingJudge,
)
from mtagent.chain.shipped import PanelMember, ShippedPanel
from mtagent.cli.terminal import display
from mtagent.evaluators.protocol import Evaluator
from mtagent.learning.gain import JudgedPairs, learn
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import ErrorSpan, Message, Rating, RatingRole, Segment, Step, judgements_of
from wmt.lib.data import run

NOISE = (0.2, 0.4, 0.6)
FOUND = 0.9
"""The probability that an error is marked."""
LEARNT_FROM, PILOT, EACH = 200, 100, 100
WRONG, RIGHT = "midnight", "noon"
TASTES = ("begins", "starts")
PEOPLE = {"needless": ((-1, 0.35), (0, 0.55), (1, 0.10)), "mending": ((-1, 0.05), (0, 0.15), (1, 0.80))}
"""What people say of an edit, from worse to better, and how often: they are noisy too."""


class Reviewer:
    """Marks what is wrong with probability :data:`FOUND`, and something needless with probability ``noise``.

    With ``favours_edits`` it sees nothing needless in the words of the editing reviewer, like a model of its family.
    ``first`` holds the first rating of each text by segment and text, as former versions of the chain did.
    """

    suggests = True
    best_score = 0.0

    def __init__(self, name: str, noise: float, rng: random.Random, *, favours_edits: bool = False) -> None:
        self.name, self.noise, self._rng = name, noise, rng
        self.favours_edits = favours_edits
        self.first: dict[tuple[str, str], Rating] = {}
        self.signature = f"{name}|noise:{noise:g}"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """A point off for each mark."""
        marks = []
        if WRONG in translation and self._rng.random() < FOUND:
            marks.append((WRONG, RIGHT))
        is_edited = TASTES[1] in translation
        if self._rng.random() < self.noise and not (is_edited and self.favours_edits):
            old, new = TASTES if TASTES[0] in translation else TASTES[::-1]
            marks.append((old, new))
        errors = [
            ErrorSpan(
                text=old, category="accuracy", severity="minor", suggestion=new,
                start=translation.index(old), end=translation.index(old) + len(old),
            )
            for old, new in marks
        ]  # fmt: skip
        rating = Rating(evaluator=self.name, score=float(-len(errors)), errors=tuple(errors), signature=self.signature)
        self.first.setdefault((segment.id, translation), rating)
        return rating


class RememberingGate:
    """The rule of former versions: the text before is not rated again, since the reviewer has rated it to edit it."""

    name = "rate"

    def __init__(self, reviewer: Reviewer) -> None:
        self._reviewer, self._gate = reviewer, PanelGate(RatingJudge(reviewer))

    async def decide(self, segment: Segment, before: str, after: str, rate: Rate) -> GateDecision:
        """Decide with the rating that caused the edit."""

        async def remembered(judge: Evaluator, text: str, role: RatingRole) -> Rating:
            first = self._reviewer.first.get((segment.id, text)) if role == "before" else None
            return first or await rate(judge, text, role)

        return await self._gate.decide(segment, before, after, remembered)


def comparing(choose: Callable[[str, str], str]) -> PairwiseGate:
    """The gate ``pairwise`` with a model that chooses A, B or tie of two texts."""

    def reply(messages: Sequence[Message], purpose: str) -> str:
        first, second = messages[-1].content.split("Translation B:")
        return f'{{"better": "{choose(first.split("Translation A:")[1], second)}"}}'

    return PairwiseGate(ScriptedLLM(reply, model="comparer"))


class Outcome(NamedTuple):
    """Edits that a gate decided on, by kind, and how many of them it kept."""

    kept: dict[str, int]
    edits: dict[str, int]

    def add(self, kind: str, kept: bool) -> None:
        """Count one edit."""
        self.edits[kind] = self.edits.get(kind, 0) + 1
        self.kept[kind] = self.kept.get(kind, 0) + kept

    def share(self, kind: str) -> float:
        """The share of the edits of ``kind`` that were kept; NaN without any."""
        return self.kept[kind] / self.edits[kind] if kind in self.edits else float("nan")


def texts(number: int, flawed: float, rng: random.Random) -> list[Segment]:
    """Segments with a translation, a share of which is wrong."""
    return [
        Segment(
            id=str(place), source=f"La charla {place} empieza al mediodía.", source_lang="es", target_lang="en",
            translation=f"Talk {place} begins at {WRONG if rng.random() < flawed else RIGHT}.",
        )
        for place in range(number)
    ]  # fmt: skip


def kind_of(step: Step, segment: Segment) -> str:
    """Whether the proposed edit mends an error."""
    return "mending" if WRONG in (segment.translation or "") and WRONG not in (step.proposed or "") else "needless"


async def edited(
    segments: Sequence[Segment], reviewer: Reviewer, gate: Gate, most: int | None = None
) -> list[tuple[Segment, Step]]:
    """The steps of the chain that proposed an edit, or the first ``most`` of them."""
    plan = Plan(stages=("postedit",), evaluator=reviewer, gate=gate)
    steps: list[tuple[Segment, Step]] = []
    for segment in segments:
        step = (await improve(segment, plan)).steps[0]
        if step.verdict in ("kept", "rejected"):
            steps.append((segment, step))
        if len(steps) == most:
            break
    return steps


async def calibrated(noise: float, flawed: float, judges: Sequence[Reviewer], rng: random.Random) -> PanelGate:
    """A panel of judges that has learnt from people's word on :data:`LEARNT_FROM` edits of other texts."""
    panel = [RatingJudge(judge) for judge in judges]
    gate = PanelGate(*panel)

    def judged(segment: Segment) -> Rate:
        async def rate(judge: Evaluator, text: str, role: RatingRole) -> Rating:
            return await judge.rate(segment, text)

        return rate

    segments = texts(2 * int(LEARNT_FROM / noise), flawed, rng)
    differences, gains = [], []
    for segment, step in await edited(segments, Reviewer("reviewer", noise, rng), OpenGate("none"), LEARNT_FROM):
        decision = await gate.decide(segment, segment.translation or "", step.text, judged(segment))
        differences.append([judgement.difference for judgement in judgements_of(decision.cause)])
        values, weights = zip(*PEOPLE[kind_of(step, segment)], strict=True)
        gains.append(rng.choices(values, weights)[0])
    pairs = JudgedPairs(
        judges=tuple(judge.name for judge in panel),
        differences=np.array(differences, dtype=np.float64),
        human_before=np.zeros(len(gains)),
        human_after=np.array(gains, dtype=np.float64),
        groups=np.arange(len(gains)),
        signatures=tuple(judge.signature for judge in panel),
    )
    return PanelGate(*panel, gain=learn(pairs))


async def piloted(
    noise: float, flawed: float, judges: Sequence[Reviewer], rng: random.Random
) -> Callable[[frozenset[int]], PanelGate]:
    """A panel with shipped weights, after a pilot of :data:`PILOT` edits of other texts. Nobody labels them.

    It takes the places of the judges that are known to favour the edits.
    """
    panel = PanelGate(*map(RatingJudge, judges))
    segments = texts(2 * int(PILOT / noise), flawed, rng)
    differences = []
    for _, step in await edited(segments, Reviewer("reviewer", noise, rng), PilotGate(panel), PILOT):
        differences.append([judgement.difference or 0.0 for judgement in judgements_of(step.cause)])
    members = []
    for judge, kind in zip(panel.judges, ("mqm", "qe"), strict=True):
        members.append(PanelMember(judge.name, judge.signature, kind))

    def settled(favours: frozenset[int]) -> PanelGate:
        gain = ShippedPanel(tuple(members), {"postedit": favours}).settled(differences, "postedit")
        return PanelGate(*panel.judges, gain=gain)

    return settled


async def unlabelled_gates(noise: float, flawed: float, rng: random.Random) -> dict[str, tuple[Reviewer, Gate]]:
    """The reviewer and the gate with shipped weights, also if a judge favours the edits."""

    def reviewer(name: str, *, favours_edits: bool = False) -> Reviewer:
        return Reviewer(name, noise, rng, favours_edits=favours_edits)

    judges = [reviewer("judge 1"), reviewer("judge 2")]
    partial = [reviewer("judge 1", favours_edits=True), judges[1]]
    neutral_panel = await piloted(noise, flawed, judges, rng)
    partial_panel = await piloted(noise, flawed, partial, rng)
    nobody: frozenset[int] = frozenset()
    return {
        "panel of two, shipped weights": (reviewer("reviewer"), neutral_panel(nobody)),
        "panel of two, one favours the edits: both must agree": (
            reviewer("reviewer"), PanelGate(*map(RatingJudge, partial)),
        ),
        "panel of two, one favours the edits: shipped weights": (
            reviewer("reviewer"), partial_panel(frozenset({0})),
        ),
        "panel of two, one favours the edits, which nobody knows: shipped weights": (
            reviewer("reviewer"), partial_panel(nobody),
        ),
    }  # fmt: skip


async def gates(noise: float, flawed: float, rng: random.Random) -> dict[str, tuple[Reviewer, Gate]]:
    """The reviewer and the gate, by what is shown of them."""

    def reviewer(name: str) -> Reviewer:
        return Reviewer(name, noise, rng)

    def marks(text: str) -> int:
        return (WRONG in text and rng.random() < FOUND) + (rng.random() < noise)

    def better(first: str, second: str) -> str:
        one, other = marks(first), marks(second)
        return "A" if one < other else "B" if other < one else "tie"

    self_judge = reviewer("reviewer")
    judges = [reviewer("judge 1"), reviewer("judge 2")]
    calibrated_panel = await calibrated(noise, flawed, judges, rng)
    samples = [reviewer("judge") for _ in range(3)]
    return {
        "none: every edit": (reviewer("reviewer"), OpenGate("none")),
        "rate, before = the rating that caused the edit (former rule)": (
            self_judge, RememberingGate(self_judge),
        ),
        "rate, both afresh, by the reviewer itself": (self_judge, PanelGate(RatingJudge(self_judge))),
        "rate, both afresh, 3 samples": (reviewer("reviewer"), PanelGate(RatingJudge(*samples))),
        "pairwise, a coin: A or B": (reviewer("reviewer"), comparing(lambda *_: rng.choice("AB"))),
        "pairwise, a coin: A, B or tie": (reviewer("reviewer"), comparing(lambda *_: rng.choice(("A", "B", "tie")))),
        "pairwise, a judge as noisy": (reviewer("reviewer"), comparing(better)),
        "panel of two, both must agree": (reviewer("reviewer"), PanelGate(*map(RatingJudge, judges))),
        "panel of two, expected gain": (reviewer("reviewer"), calibrated_panel),
    }  # fmt: skip


async def outcomes(number: int, flawed: float, seed: int) -> dict[str, list[Outcome]]:
    """What each gate keeps, for each of :data:`NOISE`. Gates are made, and calibrated, for :data:`EACH` texts."""
    results: dict[str, list[Outcome]] = {}
    for place, noise in enumerate(NOISE):
        rng = random.Random(f"{seed} {noise} {flawed}")
        other_rng = random.Random(f"{seed} {noise} {flawed} unlabelled")  # rows that are added change no other row
        segments = texts(number, flawed, rng)
        for first in range(0, number, EACH):
            of_all = await gates(noise, flawed, rng) | await unlabelled_gates(noise, flawed, other_rng)
            for name, (reviewer, gate) in of_all.items():
                by_noise = results.setdefault(name, [Outcome({}, {}) for _ in NOISE])
                for segment, step in await edited(segments[first : first + EACH], reviewer, gate):
                    kind = kind_of(step, segment)
                    kept = step.verdict == "kept" and (kind == "needless" or WRONG not in step.text)
                    by_noise[place].add(kind, kept)
    return results


def lines(number: int, seed: int) -> Iterator[str]:
    """The two tables."""
    for flawed, kinds in ((0.0, ("needless",)), (0.5, ("needless", "mending"))):
        every = asyncio.run(outcomes(number, flawed, seed))
        what = f"{number} texts, half of them with an error" if flawed else f"{number} texts free of errors"
        yield f"### {what}: share of the edits that is kept\n"
        yield "| gate | " + " | ".join(f"{kind}, q = {q:g}" for kind in kinds for q in NOISE) + " |"
        yield "| --- |" + " ---: |" * len(kinds) * len(NOISE)
        for name, by_noise in every.items():
            yield (
                f"| {name} | "
                + " | ".join(f"{100 * found.share(kind):.1f} %" for kind in kinds for found in by_noise)
                + " |"
            )
        yield ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=12345)
    options = parser.parse_args(arguments)
    for line in lines(options.texts, options.seed):
        display(line)


if __name__ == "__main__":
    run(main)
