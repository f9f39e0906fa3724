"""One bad edit among five good ones: what the gate keeps of a step, and how many judge calls that takes.

``python -m bench.parts``. A reviewer corrects five errors of each text, and makes one critical error of a right word,
at a random one of the six places. A scripted judge knows the truth except for its noise: one that rates overlooks each
error with probability ``noise``, and as often marks one that is none; one that compares gives any answer but the right
one with that probability, in each order on its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import Gate, PairwiseGate, RateGate
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Call, ErrorSpan, Message, Rating, Segment, Severity, Step

TEXTS, PLACES = 500, 6
WEIGHTS: dict[Severity, int] = {"minor": 1, "major": 5, "critical": 25}
JUDGES = ("rate", "rate with spans", "pairwise")
_WRONG = re.compile(r"torto[a-f]")


class Case(NamedTuple):
    """A text, and for each of its places the error that it has, or that the bad edit makes."""

    segment: Segment
    bad: int
    severities: tuple[Severity, ...]

    def errors(self, text: str) -> list[ErrorSpan]:
        """The errors that ``text`` has."""
        return [
            ErrorSpan(text=match[0], category="accuracy/mistranslation", severity=self.severity(match[0]))
            for match in _WRONG.finditer(text)
        ]

    def severity(self, word: str) -> Severity:
        """How bad ``word`` is."""
        return self.severities[ord(word[-1]) - ord("a")]


def case(number: int, bad_severity: Severity, rng: random.Random) -> Case:
    """Six words to edit among others; five are wrong, one is right and the bad edit makes it wrong."""
    bad = rng.randrange(PLACES)
    severities = [bad_severity if place == bad else rng.choice(("minor", "major")) for place in range(PLACES)]
    words = [f"{'recto' if place == bad else 'torto'}{chr(ord('a') + place)}" for place in range(PLACES)]
    text = " ".join(f"El camino {word} sigue" for word in words) + "."
    source = " ".join(["The right way goes on"] * PLACES) + "."
    segment = Segment(id=str(number), source=source, source_lang="en", target_lang="es", translation=text)
    return Case(segment, bad, tuple(severities))


class Reviewer:
    """Marks the six words, and suggests the edits."""

    name = "reviewer"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Five of the suggestions are right."""
        swap = {"recto": "torto", "torto": "recto"}
        errors = [
            ErrorSpan(text=word[0], category="other", severity="major", suggestion=swap[word[1]] + word[0][-1])
            for word in re.finditer(r"(recto|torto)[a-f]", translation)
        ]
        return Rating(evaluator=self.name, score=-1.0, errors=tuple(errors))


class Judge:
    """Rates by MQM; with ``spans`` it says where the errors are."""

    name = "judge"

    def __init__(self, case: Case, noise: float, rng: random.Random, *, spans: bool) -> None:
        self._case, self._noise, self._rng, self._spans = case, noise, rng, spans

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """One call."""
        errors = [error for error in self._case.errors(translation) if self._rng.random() >= self._noise]
        if self._rng.random() < self._noise:
            word = self._rng.choice(re.findall(r"recto[a-f]|sigue", translation))
            errors.append(ErrorSpan(text=word, category="other", severity=self._rng.choice(("minor", "major"))))
        return Rating(
            evaluator=self.name,
            score=-float(sum(WEIGHTS[error.severity] for error in errors)),
            errors=tuple(errors) if self._spans else None,
            calls=(Call(purpose="rate", model="scripted"),),
        )


def comparing(case: Case, noise: float, rng: random.Random) -> ScriptedLLM:
    """A model that compares two texts."""

    def reply(messages: Sequence[Message], purpose: str) -> str:
        found = re.findall(r"<translation_([ab])\S*>(.*?)</translation_", messages[-1].content)
        cost = {side: sum(WEIGHTS[error.severity] for error in case.errors(text)) for side, text in found}
        right = "tie" if cost["a"] == cost["b"] else "A" if cost["a"] < cost["b"] else "B"
        wrong = rng.choice(sorted({"A", "B", "tie"} - {right}))
        return json.dumps({"better": wrong if rng.random() < noise else right})

    return ScriptedLLM(reply)


class Kept(NamedTuple):
    """Shares of the edits that were kept, and judge calls for a text."""

    good: float
    bad: float
    calls: float
    most: int

    def __str__(self) -> str:
        return f"{self.good:.1%} | {self.bad:.1%} | {self.calls:.2f} | {self.most}"


def measure(
    judge: str, noise: float, *, texts: int = TEXTS, bad: Severity = "critical", calls: int = 12, seed: int = 1
) -> Kept:
    """What is kept of ``texts`` by a judge of :data:`JUDGES`; ``calls`` are the gate's for each step."""

    async def steps() -> list[tuple[Case, Step]]:
        rng, done = random.Random(seed), list[tuple[Case, Step]]()
        for number in range(texts):
            one = case(number, bad, rng)
            gate: Gate = PairwiseGate(comparing(one, noise, rng))
            if judge != "pairwise":
                gate = RateGate(Judge(one, noise, rng, spans=judge == "rate with spans"))
            plan = Plan(("postedit",), evaluator=Reviewer(), gate=gate, gate_calls=calls)
            done.append((one, (await improve(one.segment, plan)).steps[0]))
        return done

    kept, counts = Counter[bool](), list[int]()
    for one, step in asyncio.run(steps()):
        for edit in step.edits:
            is_bad = edit.old[-1] == chr(ord("a") + one.bad)
            kept[is_bad] += edit.outcome == "applied"
        counts.append(len(step.calls))
    return Kept(kept[False] / (texts * (PLACES - 1)), kept[True] / texts, sum(counts) / texts, max(counts))


def table(rows: Iterable[tuple[str, float, Severity, int]], texts: int = TEXTS) -> str:
    """A line for each judge, noise, severity of the bad edit, and number of calls."""
    head = "| judge | noise | bad edit | `--gate-calls` | good kept | bad kept | calls a text | most |"
    lines = [
        f"| {judge} | {noise:.0%} | {bad} | {calls} | {measure(judge, noise, texts=texts, bad=bad, calls=calls)} |"
        for judge, noise, bad, calls in rows
    ]
    return "\n".join([head, "|---" * 8 + "|", *lines])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=TEXTS, help="Texts of each row.")
    texts = parser.parse_args().texts
    rows: list[tuple[str, float, Severity, int]] = []
    for judge in JUDGES:
        rows += [(judge, noise, "critical", 12) for noise in (0.0, 0.01, 0.02, 0.05, 0.1)]
        rows += [(judge, 0.0, "critical", 0), (judge, 0.0, "major", 12)]
    sys.stdout.write(table(rows, texts) + "\n")


if __name__ == "__main__":
    main()
