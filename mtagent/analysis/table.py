"""A table of words and numbers, and how it is written: plain text, Markdown, LaTeX (booktabs), HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mtagent.text.escaping import element, plain, visible

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


@dataclass(frozen=True)
class Table:
    """Cells as they are shown: in the first ``labels`` columns words, in the others numbers, which are set to the
    right. ``note`` is a line below it.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    labels: int = 1


def text(tables: Sequence[Table], below: Sequence[str] = (), warnings: Sequence[str] = ()) -> str:
    """The tables one below the other, each under its title."""
    lines = [line for table in tables for line in (*_columns(table), "")]
    return "\n".join([*lines, *below, *(f"warning: {visible(one, one_line=True)}" for one in warnings)]).rstrip("\n")


def markdown(
    tables: Sequence[Table], below: Sequence[str] = (), warnings: Sequence[str] = (), *, level: int = 3
) -> str:
    """The tables under headings of a ``level``, and lists of what stands below them and of warnings."""
    lines = [line for table in tables for line in (*_piped(table, level), "")]
    lines += [f"- {_code(one)}" for one in below]
    return "\n".join([*lines, *(f"- **warning:** {escaped(one)}" for one in warnings)]).rstrip()


def latex(tables: Sequence[Table], below: Sequence[str] = (), warnings: Sequence[str] = ()) -> str:
    """A tabular for each table; titles, notes, what stands below and warnings are comments."""
    lines = [line for table in tables for line in (*_tabular(table), "")]
    return "\n".join([*lines, *map(_remark, below), *(_remark(f"warning: {one}") for one in warnings)]).rstrip()


def html(table: Table, summary: str = "The numbers as a table") -> str:
    """The table in a ``<details>``, escaped; ``summary`` is what one clicks on."""
    head = element("tr", "".join(_cell(table, i, cell, "col") for i, cell in enumerate(table.head)))
    lines = ("".join(_cell(table, i, cell, None if i else "row") for i, cell in enumerate(row)) for row in table.rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    caption = f"<caption>{plain(table.title)}</caption>"
    found = f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"
    note = element("p", plain(table.note)) if table.note else ""
    scrolls = element("div", found, class_="scroll", role="region", tabindex=0, aria_label=table.title)
    return f"<details><summary>{plain(summary)}</summary>{scrolls}{note}</details>"


def escaped(words: str) -> str:
    """``words`` in one line, with nothing in it that Markdown would read as more than text."""
    return visible(_MARKDOWN.sub(r"\\\g<0>", " ".join(words.split())))


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
    return [*_titled(table, f"{table.title}:"), *body, *([f"({table.note})"] if table.note else [])]


def _piped(table: Table, level: int) -> list[str]:
    ruler = ["---" if place < table.labels else "---:" for place in range(len(table.head))]
    lines = [map(escaped, table.head), ruler, *(map(escaped, row) for row in table.rows)]
    body = [f"| {' | '.join(line)} |" for line in lines]
    heading = f"{'#' * level} {escaped(table.title[:1].upper() + table.title[1:])}"
    return [*_titled(table, heading, ""), *body, *(["", escaped(table.note)] if table.note else [])]


def _tabular(table: Table) -> list[str]:
    lines = (table.head, *table.rows)
    head, *rows = [" & ".join(" ".join(cell.split()).translate(_LATEX) for cell in line) + r" \\" for line in lines]
    columns = "l" * table.labels + "r" * (len(table.head) - table.labels)
    body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
    return [*_titled(table, _remark(table.title)), *body, *([_remark(table.note)] if table.note else [])]


def _remark(words: str) -> str:
    """``words`` as a comment, which ends with its line."""
    return f"% {' '.join(words.split())}"


def _titled(table: Table, *lines: str) -> Sequence[str]:
    return lines if table.title else ()


def _code(words: str) -> str:
    """``words`` as code; as plain text where they hold the sign that code ends with."""
    return escaped(words) if "`" in words else f"`{' '.join(words.split())}`"


def _cell(table: Table, column: int, words: str, scope: str | None) -> str:
    tag = "th" if scope else "td"
    class_ = "number" if column >= table.labels else None
    return element(tag, plain(words), scope=scope, class_=class_) if words else f"<{tag}></{tag}>"
