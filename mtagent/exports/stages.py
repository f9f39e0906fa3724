"""The texts of each stage in a file of its own, in the form of the source: line-aligned, or JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mtagent.exports.names import file_name, mapped, renamed
from mtagent.exports.protocol import Held
from mtagent.formats import JSONL, Lines, Result


@dataclass(frozen=True)
class Stages:
    """``RUN.STAGE.txt``, a segment a line; ``RUN.STAGE.jsonl`` for all stages where any text has a line break."""

    name: str = "stages"
    folder: bool = True
    one_system: bool = False

    def write(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write one file per stage."""
        broken = held.survey.broken
        kind, end = (JSONL, ".jsonl") if broken else (Lines(), ".txt")
        names = mapped(held.systems, file_name, output)
        for system, name in names.items():
            kind.write(output / f"{file_name(held.run)}.{name}{end}", _results(held, system))
        why = (
            f"JSON Lines, for there are segments with a line break: {len(broken)} (first: {broken[0]!r})"
            if broken
            else ""
        )
        return (*([why] if why else []), *renamed(names))


def _results(held: Held, system: str) -> Iterator[Result]:
    return (Result(segment=entry.segment, text=entry.texts[system] or "") for entry in held.entries())
