"""How well spans are located: human MQM annotations with known offsets, given to ``mtagent.text.edits`` without them.

``python -m wmt.locating [--data DIR]`` prints the table of ``wmt/README.md``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from mtagent import ErrorSpan
from mtagent.cli.terminal import display
from mtagent.text.edits import locate
from wmt.lib.data import DATA, records, run


def outcomes(path: Path, context: int) -> Counter[str]:
    """How many spans of ``path`` are located right, wrong, ambiguous or not at all, with ``context`` characters."""
    found: Counter[str] = Counter()
    for row in records(path, "tgt", "spans"):
        for span in row["spans"]:
            if span["side"] == "tgt" and span["end"] > span["start"]:
                found[outcome(row["tgt"], span["start"], span["end"], context)] += 1
    return found


def outcome(text: str, start: int, end: int, context: int) -> str:
    """``right`` or ``wrong`` for an applied edit, else the edit's own outcome."""
    error = ErrorSpan(
        text=text[start:end],
        category="any",
        severity="minor",
        suggestion=text[start:end] + "*",
        before=text[max(0, start - context) : start] or None,
        after=text[end : end + context] or None,
    )
    edit = locate(text, [error])[0]
    if edit.outcome != "applied":
        return edit.outcome
    return "right" if (edit.start, edit.end) == (start, end) else "wrong"


def table(path: Path) -> str:
    """The table in Markdown."""
    rows = ["| context | spans | right | ambiguous | not found | wrong |", "|---|---|---|---|---|---|"]
    for context in (0, 8):
        found = outcomes(path, context)
        total = sum(found.values())
        shares = (f"{found[name]} ({found[name] / total:.1%})" for name in ("right", "ambiguous", "not-found", "wrong"))
        rows.append(f"| {context or 'none'} | {total} | {' | '.join(shares)} |")
    return "\n".join(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    display(table(parser.parse_args().data / "mqm_spans.jsonl"))


if __name__ == "__main__":
    run(main)
