"""Good and bad edits as localization engineers meet them: which good ones are refused, which bad ones kept.

    python -m wmt.edit_table [--kind KIND] [--show] [-f text|markdown|json]

The table is ``tests/data/edits.jsonl``: source, text before, text after, ``langs``, whether the edit is ``good`` or
``bad``, and why. A bad edit is ``seen`` where a program can see it without understanding the text. ``--show`` prints
the good edits that are refused and the bad ones that are kept, though a program can see them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from mtagent.chain.guards import Damage
from mtagent.cli.terminal import display
from mtagent.records import Segment, Term
from mtagent.text import languages
from mtagent.text.table import FORMS, Table
from wmt.guards import Change
from wmt.lib.data import records, run
from wmt.real_edits import judged

EDITS = Path(__file__).parents[1] / "tests" / "data" / "edits.jsonl"


class Edit(NamedTuple):
    """A line of the table, and the guards' complaints about it."""

    name: str
    change: Change
    verdict: str
    seen: bool
    why: str
    damages: tuple[Damage, ...]

    @property
    def kind(self) -> str:
        """The kind of text or damage; the name is it and a number."""
        return self.name.rpartition("-")[0]

    @property
    def wrong(self) -> bool:
        """Whether a good edit is refused, or a bad one kept that a program can see."""
        return bool(self.damages) if self.verdict == "good" else self.seen and not self.damages


def read_edits(path: Path = EDITS, kind: str | None = None) -> list[Edit]:
    """The edits of the table, or those of one kind, judged by the guards."""
    rows = records(path, "id", "langs", "verdict", "source", "before", "after", "why")
    rows = [row for row in rows if kind in (None, row["id"].rpartition("-")[0])]
    changes = []
    for row in rows:
        source_lang, target_lang = languages.parse_pair(row["langs"])
        segment = Segment(
            id=row["id"],
            source=row["source"],
            source_lang=source_lang,
            target_lang=target_lang,
            terms=tuple(Term(**term) for term in row.get("terms", [])),
        )
        changes.append(Change(segment, row["before"], row["after"]))
    return [
        Edit(row["id"], change, row["verdict"], row.get("seen", True), row["why"], found.damages + found.doubts)
        for row, change, found in zip(rows, changes, judged(changes), strict=True)
    ]


class Count(NamedTuple):
    """How many edits there are, and how many of them the guards treat wrongly."""

    good: int
    refused: int
    seen: int
    kept: int
    unseen: int
    unseen_refused: int


def count(edits: Iterable[Edit]) -> Count:
    """The counts of some edits."""
    edits = list(edits)
    good = [edit for edit in edits if edit.verdict == "good"]
    seen = [edit for edit in edits if edit.verdict == "bad" and edit.seen]
    unseen = [edit for edit in edits if edit.verdict == "bad" and not edit.seen]
    wrong = [sum(edit.wrong for edit in part) for part in (good, seen)]
    return Count(len(good), wrong[0], len(seen), wrong[1], len(unseen), sum(bool(e.damages) for e in unseen))


def table(edits: Sequence[Edit]) -> Table:
    """The counts by kind."""
    kinds = sorted({edit.kind for edit in edits})
    counts = [(kind, count(edit for edit in edits if edit.kind == kind)) for kind in kinds]
    total = count(edits)
    rows = [(kind, *(str(number or "") for number in numbers)) for kind, numbers in [*counts, ("all", total)]]
    head = ("kind", "good", "refused", "bad, to be seen", "kept", "bad, not to be seen", "refused")
    shares = [
        f"{wrong} of {number} ({wrong / number:.1%}) {what}"
        for what, wrong, number in (
            ("good edits are refused", total.refused, total.good),
            ("bad edits are kept that a program can see", total.kept, total.seen),
        )
        if number
    ]
    targets = {edit.change.segment.target_lang for edit in edits}
    return Table(f"edits in {len(targets)} target languages", head, tuple(rows), "; ".join(shares))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=EDITS, metavar="FILE", help="the edits (default: %(default)s)")
    parser.add_argument("--kind", help="only this kind")
    parser.add_argument("--show", action="store_true", help="print what is refused or kept wrongly")
    parser.add_argument("-f", "--format", choices=("text", "markdown", "json"), default="text")
    options = parser.parse_args(arguments)
    edits = read_edits(options.table, options.kind)
    for edit in edits if options.show else ():
        if edit.wrong:
            segment, before, after = edit.change
            head = f"{edit.name} {segment.source_lang}-{segment.target_lang} {edit.verdict}: {edit.why}"
            texts = (f"S {segment.source}", f"B {before}", f"A {after}")
            display("\n".join([head, *(f"! {damage}" for damage in edit.damages), *texts, ""]), err=True)
    if options.format == "json":
        wrong = [edit.name for edit in edits if edit.wrong]
        display(json.dumps({**count(edits)._asdict(), "wrong": wrong}, indent=1))
    else:
        display(FORMS[options.format]([table(edits)]))


if __name__ == "__main__":
    run(main)
