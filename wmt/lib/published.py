"""Published numbers next to measured ones: what the drivers of meta-evaluation print."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mtagent.analysis.agreement import Statistic
from mtagent.cli.terminal import display
from wmt.lib.data import DATA, refuse_absent


class Cell(NamedTuple):
    """A statistic and what was printed of it; ``scale`` 100 for percentages, no ``printed`` where nothing was."""

    measured: Statistic
    printed: str | None = None
    scale: float = 1.0
    digits: int = 3

    def shown(self) -> str:
        """``0.970 =``, or the measured value and how far it is from the published one."""
        if self.measured.value is None:
            return "–"
        value = self.measured.value * self.scale
        if self.printed is None:
            return f"{value:.{self.digits}f}"
        digits = len(self.printed.partition(".")[2])
        rounded = f"{value:.{digits}f}"
        if float(rounded) == float(self.printed):
            return f"{rounded} ="
        return f"{rounded} (published {self.printed}, {float(rounded) - float(self.printed):+.{digits}f})"


def table(head: Sequence[str], rows: Iterable[tuple[str, Sequence[Cell]]]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    yield f"| {' | '.join(head)} |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    for name, cells in rows:
        empty = [""] * (len(head) - 1 - len(cells))
        yield f"| {' | '.join([name, *(cell.shown() for cell in cells), *empty])} |"


def reproduced(cells: Iterable[Cell]) -> str:
    """How many of the published numbers came out."""
    compared = [cell for cell in cells if cell.printed is not None]
    equal = sum(cell.shown().endswith("=") for cell in compared)
    return f"{equal} of {len(compared)} published numbers, to every printed digit"


def report(head: Sequence[str], rows: Sequence[tuple[str, Sequence[Cell]]]) -> None:
    """Print the table, and how many of the published numbers came out."""
    display("\n".join([*table(head, rows), "", reproduced(cell for _, cells in rows for cell in cells)]))


def data_folder(description: str, given: Sequence[str] | None, files: Sequence[str], compared: str) -> Path | None:
    """The folder that the command line names; none for a dry run, which says what would be ``compared``.

    Raises ``InputError`` where one of ``files`` is not in the folder.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the research data")
    parser.add_argument("--dry-run", action="store_true", help="say what would be read and computed")
    options = parser.parse_args(given)
    refuse_absent(*(options.data / name for name in files))
    if not options.dry_run:
        return Path(options.data)
    display(f"would read {options.data / ' and '.join(files)} and compare {compared}; asks no model: $0")
    return None
