"""Tables on paper: plain text, Markdown, LaTeX (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mtagent.comparison.tables import Table

_LATEX = re.compile(r"[&%$#_{}]")


def text(tables: Sequence[Table], below: Sequence[str], warnings: Sequence[str]) -> str:
    """The tables one below the other, each under its title."""
    lines = [line for table in tables for line in (*_columns(table), "")]
    return "\n".join([*lines, *below, *(f"warning: {one}" for one in warnings)]).rstrip("\n")


def _columns(table: Table) -> list[str]:
    lines = [table.head, *table.rows]
    sizes = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = [
        "  ".join(
            cell.ljust(size) if place < table.labels else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(line, sizes, strict=True))
        ).rstrip()
        for line in lines
    ]
    return [f"{table.title}:", *body, *([f"({table.note})"] if table.note else [])]


def markdown(tables: Sequence[Table], below: Sequence[str], warnings: Sequence[str]) -> str:
    """The tables under headings, and lists of signatures and warnings."""
    lines = [line for table in tables for line in (*_piped(table), "")]
    return "\n".join(
        [*lines, *(f"- `{one}`" for one in below), *(f"- **warning:** {one}" for one in warnings)]
    ).rstrip()


def _piped(table: Table) -> list[str]:
    ruler = ["---" if place < table.labels else "---:" for place in range(len(table.head))]
    lines = [[cell.replace("|", r"\|") for cell in line] for line in (table.head, ruler, *table.rows)]
    body = [f"| {' | '.join(line)} |" for line in lines]
    return [f"### {table.title[0].upper()}{table.title[1:]}", "", *body, *(["", table.note] if table.note else [])]


def latex(tables: Sequence[Table], below: Sequence[str], warnings: Sequence[str]) -> str:
    """A tabular for each table; titles, notes, signatures and warnings are comments."""
    lines = [line for table in tables for line in (*_tabular(table), "")]
    return "\n".join([*lines, *(f"% {one}" for one in below), *(f"% warning: {one}" for one in warnings)]).rstrip()


def _tabular(table: Table) -> list[str]:
    head, *rows = [
        " & ".join(_LATEX.sub(r"\\\g<0>", cell) for cell in line) + r" \\" for line in (table.head, *table.rows)
    ]
    columns = "l" * table.labels + "r" * (len(table.head) - table.labels)
    body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
    return [f"% {table.title}", *body, *([f"% {table.note}"] if table.note else [])]
