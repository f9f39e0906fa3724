"""10,000 edits on a text of a megabyte: locate and apply. ``python -m bench.edits``."""

from __future__ import annotations

import random
import time

from mtagent.records import ErrorSpan
from mtagent.text import edits

EDITS, WORDS = 10_000, 170_000


def case(seed: int = 1) -> tuple[str, list[ErrorSpan]]:
    """A megabyte of random words, and spans of it with eight characters of context on each side, no offsets."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 9))) for _ in range(WORDS)]
    text = " ".join(words)
    errors = []
    for start in rng.sample(range(len(text) - 40), EDITS):
        end = start + 5 + start % 20
        before, after = text[max(0, start - 8) : start], text[end : end + 8]
        errors.append(
            ErrorSpan(
                text=text[start:end], category="style", severity="minor", suggestion="X", before=before, after=after
            )
        )
    return text, errors


def measure() -> str:
    """Seconds of CPU time for locating and for applying."""
    text, errors = case()
    began = time.process_time()
    found = edits.locate(text, errors)
    located = time.process_time()
    edits.apply(text, found)
    applied = time.process_time()
    count = sum(edit.outcome == "applied" for edit in found)
    return (
        f"{len(errors)} spans on {len(text) / 1e6:.2f} MB: located in {located - began:.2f} s,"
        f" {count} applied in {applied - located:.2f} s (CPU)"
    )


if __name__ == "__main__":
    print(measure())  # noqa: T201 - a benchmark is read by a person
