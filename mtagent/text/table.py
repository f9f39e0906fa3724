"""A table of words and numbers, and how it is written: plain text, Markdown, LaTeX (booktabs), CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

from mtagent.text.escaping import harmless, visible

_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~#]")
_LATEX = str.maketrans(
    {**{char: f"\\{char}" for char in "&%$#_{}"}, "\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}
    | {
        "ε": r"$\varepsilon$",
        "τ": r"$\tau$",
        "→": r"$\rightarrow$",
        "≤": r"$\leq$",
        "–": "--",
        "−": "$-$",
        "×": r"$\times$",
        "<": "$<$",
        ">": "$>$",
        "|": r"\textbar{}",
    }
)


class Bar(NamedTuple):
    """What a cell shows as a bar: where it starts and how wide it is, as shares of the cell, and its colour."""

    start: float
    width: float
    colour: str


@dataclass(frozen=True)
class Table:
    """Cells as they are shown: in the first ``labels`` columns words, in the others numbers, which are set to the
    right. ``note`` is a line below it. On a page the ``bars`` stand in their cells, by row and column.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    labels: int = 1
    bars: Mapping[tuple[int, int], Bar] = field(default_factory=dict)


def text(tables: Sequence[Table], below: Sequence[str] = (), warnings: Sequence[str] = ()) -> str:
    """The tables one below the other, each under its title."""
    lines = [line for table in tables for line in (*_columns(table), "")]
    return "\n".join([*lines, *below, *(f"warning: {visible(line, one_line=True)}" for line in warnings)]).rstrip("\n")


def markdown(
    tables: Sequence[Table], below: Sequence[str] = (), warnings: Sequence[str] = (), *, level: int = 3
) -> str:
    """The tables under headings of a ``level``, and lists of what stands below them and of warnings."""
    lines = []
    for table in tables:
        if table.title:
            lines += [f"{'#' * level} {escaped(table.title[:1].upper() + table.title[1:])}", ""]
        ruler = ["---" if place < table.labels else "---:" for place in range(len(table.head))]
        cells = [map(escaped, table.head), ruler, *(map(escaped, row) for row in table.rows)]
        lines += [f"| {' | '.join(row)} |" for row in cells]
        lines += ["", escaped(table.note), ""] if table.note else [""]
    # a line that holds the sign with which code ends cannot be code
    lines += [f"- {escaped(line) if '`' in line else f'`{_one_line(line)}`'}" for line in below]
    return "\n".join([*lines, *(f"- **warning:** {escaped(line)}" for line in warnings)]).rstrip()


def latex(tables: Sequence[Table], below: Sequence[str] = (), warnings: Sequence[str] = ()) -> str:
    """A tabular for each table; titles, notes, what stands below and warnings are comments."""
    lines = []
    for table in tables:
        head, *rows = [
            " & ".join(_one_line(cell).translate(_LATEX) for cell in row) + r" \\" for row in (table.head, *table.rows)
        ]
        columns = "l" * table.labels + "r" * (len(table.head) - table.labels)
        lines += [f"% {_one_line(table.title)}"] if table.title else []
        lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
        lines += [r"\end{tabular}", *([f"% {_one_line(table.note)}"] if table.note else []), ""]
    lines += [f"% {_one_line(line)}" for line in (*below, *(f"warning: {line}" for line in warnings))]
    return "\n".join(lines).rstrip()


FORMS = {"text": text, "markdown": markdown, "latex": latex}
"""How tables are written for people, by the name of the form."""


def as_csv(
    columns: Sequence[str], rows: Iterable[Mapping[str, object]], delimiter: str = ",", *, guard: bool = True
) -> Iterator[str]:
    """The header and a line for each row, each with its end. An empty cell is what there is not, or no finite number.

    A text or column that a spreadsheet would run gets an apostrophe before it (:func:`mtagent.text.escaping.harmless`);
    the column ``guarded`` of ``columns`` names these. Numbers are never touched. Without ``guard`` nothing is.
    """

    def written(cells: Iterable[object]) -> str:
        sheet = io.StringIO()  # a lone CR in a cell is quoted only where CR is part of the line's end
        csv.writer(sheet, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
        return sheet.getvalue()[:-2] + "\n"

    yield written(map(harmless, columns) if guard else columns)
    for row in rows:
        cells = {name: "" if isinstance(cell, float) and not isfinite(cell) else cell for name, cell in row.items()}
        if guard:
            safe = {name: harmless(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}
            cells = {**safe, "guarded": " ".join(harmless(name) for name in cells if safe[name] != cells[name])}
        yield written("" if (cell := cells.get(name)) is None else cell for name in columns)


def escaped(words: str) -> str:
    """``words`` in one line, with nothing in it that Markdown would read as more than text."""
    return visible(_MARKDOWN.sub(r"\\\g<0>", _one_line(words)))


def _columns(table: Table) -> list[str]:
    lines = [[visible(cell, one_line=True) for cell in line] for line in (table.head, *table.rows)]
    sizes = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = [
        "  ".join(
            cell.ljust(size) if place < table.labels else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(line, sizes, strict=True))
        ).rstrip()
        for line in lines
    ]
    return [*([f"{table.title}:"] if table.title else []), *body, *([f"({table.note})"] if table.note else [])]


def _one_line(words: str) -> str:
    return " ".join(words.split())
