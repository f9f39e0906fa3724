"""A table of words and numbers, and how it is written: plain text, Markdown, LaTeX (booktabs), CSV, tab-separated."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

from mtagent.text.escaping import harmless, visible

_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~#]")
_LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "\\": r"\textbackslash{}",
        "~": r"\~{}",
        "^": r"\^{}",
        "ε": r"$\varepsilon$",
        "τ": r"$\tau$",
        "→": r"$\rightarrow$",
        "≤": r"$\leq$",
        "–": "--",
        "−": "$-$",
        "×": r"$\times$",
        "±": r"$\pm$",
        "Δ": r"$\Delta$",
        "<": "$<$",
        ">": "$>$",
        "|": r"\textbar{}",
    }
)


_SCALED = r"\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


class Bar(NamedTuple):
    """What a cell shows as a bar: where it starts and how wide it is, as shares of the cell, and its colour."""

    start: float
    width: float
    colour: str


@dataclass(frozen=True)
class Table:
    """A table with its cells as they are shown."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    """A line below the table."""
    labels: int = 1
    """The first columns that hold words; the others hold numbers, and are aligned to the right."""
    bars: Mapping[tuple[int, int], Bar] = field(default_factory=dict)
    """What a page draws in the cells, by row and column."""


def text(tables: Sequence[Table], below: Sequence[str] = (), warnings: Sequence[str] = ()) -> str:
    """The tables one below the other, each under its title."""
    lines = []
    for table in tables:
        if table.title:
            lines.append(f"{table.title}:")
        lines += _columns(table)
        if table.note:
            lines.append(f"({table.note})")
        lines.append("")
    lines += below
    for warning in warnings:
        lines.append(f"warning: {visible(warning, one_line=True)}")
    return "\n".join(lines).rstrip("\n")


def markdown(
    tables: Sequence[Table], below: Sequence[str] = (), warnings: Sequence[str] = (), *, level: int = 3
) -> str:
    """The tables under headings of a ``level``, followed by lists of the lines below them and of warnings."""
    lines = []
    for table in tables:
        if table.title:
            title = table.title[:1].upper() + table.title[1:]
            lines += [f"{'#' * level} {escaped(title)}", ""]
        alignments = ["---"] * table.labels + ["---:"] * (len(table.head) - table.labels)
        lines.append(f"| {' | '.join(map(escaped, table.head))} |")
        lines.append(f"| {' | '.join(alignments)} |")
        for row in table.rows:
            lines.append(f"| {' | '.join(map(escaped, row))} |")
        lines.append("")
        if table.note:
            lines += [escaped(table.note), ""]
    for line in below:
        if "`" in line:  # it would end the code that the line is shown as
            lines.append(f"- {escaped(line)}")
        else:
            lines.append(f"- `{_one_line(line)}`")
    for warning in warnings:
        lines.append(f"- **warning:** {escaped(warning)}")
    return "\n".join(lines).rstrip()


def latex(tables: Sequence[Table], below: Sequence[str] = (), warnings: Sequence[str] = ()) -> str:
    r"""A tabular for each table (booktabs); titles, notes, the lines below and warnings are comments.

    Columns of numbers are siunitx's ``S``, aligned at the point. A table that is wider than its place is scaled down.
    The document needs ``\usepackage{booktabs,siunitx,graphicx}``.
    """
    lines = []
    for table in tables:
        if table.title:
            lines.append(f"% {_one_line(table.title)}")
        columns = "l" * table.labels
        numeric = set()
        for place in range(table.labels, len(table.head)):
            form = _number_form([row[place] for row in table.rows])
            columns += form or "r"
            if form is not None:
                numeric.add(place)
        head = []
        for place, name in enumerate(table.head):
            head.append(f"{{{_latex_text(name)}}}" if place in numeric else _latex_text(name))
        rows = [" & ".join(head)]
        for row in table.rows:
            cells = []
            for place, cell in enumerate(row):
                cells.append(_latex_number(cell) if place in numeric else _latex_text(cell))
            rows.append(" & ".join(cells))
        first, *others = [rf"{row} \\" for row in rows]
        tabular = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", first, r"\midrule", *others]
        lines += [_SCALED, *tabular, r"\bottomrule", r"\end{tabular}}"]
        if table.note:
            lines.append(f"% {_one_line(table.note)}")
        lines.append("")
    for line in below:
        lines.append(f"% {_one_line(line)}")
    for warning in warnings:
        lines.append(f"% {_one_line(f'warning: {warning}')}")
    return "\n".join(lines).rstrip()


_NUMBER = re.compile(
    r"(?P<below>(?:< ?)?)\$?(?P<sign>[+−-]?)\$?(?P<whole>\d[\d,]*)(?:\.(?P<decimals>\d+))?(?P<mark>\*?)"
)


def _number_form(cells: Sequence[str]) -> str | None:
    """The column for ``cells`` that are numbers, or words such as ``unknown``; ``None`` for any other cells."""
    wholes, decimals = [0], [0]
    has_sign = has_mark = is_below = False
    for cell in cells:
        number = _NUMBER.fullmatch(cell)
        if number is None:
            if any(character.isdigit() for character in cell):
                return None
            continue  # nothing, or a word for it
        has_sign = has_sign or bool(number["sign"])
        has_mark = has_mark or bool(number["mark"])
        is_below = is_below or bool(number["below"])
        wholes.append(len(number["whole"].replace(",", "")))
        decimals.append(len(number["decimals"] or ""))
    if max(wholes) == 0:
        return None
    width = f"{max(wholes)}.{max(decimals)}"
    options = f"table-format={width}"
    if has_sign:
        options = f"table-format=+{width},retain-explicit-plus"
    if is_below:
        options += ",table-space-text-pre={$<$}"
    if has_mark:
        options += ",table-space-text-post={*}"
    return f"S[{options}]"


def _latex_number(cell: str) -> str:
    """A cell of a column of numbers; words and marks are in braces, which siunitx leaves alone."""
    number = _NUMBER.fullmatch(cell)
    if number is None:
        return f"{{{_latex_text(cell)}}}" if cell else ""
    digits = number["whole"].replace(",", "")
    if number["decimals"]:
        digits += f".{number['decimals']}"
    sign = "-" if number["sign"] in ("-", "−") else number["sign"]
    mark = "{*}" if number["mark"] else ""
    below = "{$<$}" if number["below"] else ""
    return f"{below}{sign}{digits}{mark}"


def _latex_text(words: str) -> str:
    return _one_line(words).translate(_LATEX)


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
        cells: dict[str, object] = {}
        guarded = []
        for name, cell in row.items():
            if isinstance(cell, float) and not isfinite(cell):
                cells[name] = ""
            elif guard and isinstance(cell, str):
                cells[name] = harmless(cell)
                if cells[name] != cell:
                    guarded.append(harmless(name))
            else:
                cells[name] = cell
        if guard:
            cells["guarded"] = " ".join(guarded)
        values = [cells.get(name) for name in columns]
        yield written("" if value is None else value for value in values)


def tab_separated(cells: Iterable[str]) -> str:
    """One row for programs, without the end of its line. No cell can hold a tab or a line break."""
    return "\t".join(visible(cell, one_line=True) for cell in cells)


def escaped(words: str) -> str:
    """``words`` in one line, with nothing in it that Markdown would read as more than text."""
    return visible(_MARKDOWN.sub(r"\\\g<0>", _one_line(words)))


def _columns(table: Table) -> list[str]:
    """The head and the rows, with all cells of a column equally wide."""
    lines = []
    for row in (table.head, *table.rows):
        if row:  # a table of names and values has no head
            lines.append([visible(cell, one_line=True) for cell in row])
    widths = [max(map(width_of, column)) for column in zip(*lines, strict=True)]
    aligned_lines = []
    for line in lines:
        cells = []
        for place, (cell, width) in enumerate(zip(line, widths, strict=True)):
            is_label = place < table.labels
            spaces = " " * (width - width_of(cell))
            cells.append(cell + spaces if is_label else spaces + cell)
        aligned_lines.append("  ".join(cells).rstrip())
    return aligned_lines


def width_of(words: str) -> int:
    """How many columns of a terminal ``words`` take."""
    width = 0
    for character in words:
        if unicodedata.east_asian_width(character) in "WF":
            width += 2
        elif unicodedata.category(character) not in ("Mn", "Me", "Cf"):  # these have no place of their own
            width += 1
    return width


def _one_line(words: str) -> str:
    return " ".join(words.split())
