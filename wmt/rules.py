"""What the ``rules`` evaluator says about human translations, where almost nothing should be wrong.

    python -m wmt.rules [--data DIR] [--show RULE]

Runs over all references of WMT24 (plain text) and all post-edits of MLQE-PE (tokenised text). The table gives marked
errors and suggestions by category; ``--show`` prints every suggestion of one category (``all`` for all of them).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mtagent.cli.terminal import display
from mtagent.evaluators.rules import Rules
from mtagent.records import Segment
from wmt.lib.data import DATA, records, run


class Human(NamedTuple):
    """A translation that a person made."""

    segment: Segment
    text: str


def references(data: Path) -> Iterator[Human]:
    """WMT24: every paragraph of every reference."""
    for document in records(data / "wmt24_docs.jsonl"):
        source_lang, target_lang = document["lp"].split("-")
        for texts in document["refs"].values():
            for source, text in zip(document["src"], texts, strict=True):
                yield Human(
                    Segment(id=document["doc"], source=source, source_lang=source_lang, target_lang=target_lang), text
                )


def post_edits(data: Path) -> Iterator[Human]:
    """MLQE-PE: every post-edit."""
    for record in records(data / "mlqe_pe.jsonl"):
        source_lang, target_lang = record["lp"].split("-")
        yield Human(
            Segment(id=str(record["seg"]), source=record["src"], source_lang=source_lang, target_lang=target_lang),
            record["pe"],
        )


def real_post_edits(data: Path) -> Iterator[Human]:
    """Post-edits of eleven sets, without en-ta, whose rows are misaligned."""
    for row in records(data / "real" / "human_postedits.jsonl"):
        if row["target_lang"] != "ta":
            yield Human(Segment(**{key: row[key] for key in ("id", "source", "source_lang", "target_lang")}), row["pe"])


KINDS = {"references": references, "post-edits": post_edits, "other post-edits": real_post_edits}


def main() -> None:
    """Print one row per category."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    parser.add_argument("--show", metavar="CATEGORY", help="print the suggestions of this category, or of all")
    options = parser.parse_args()
    rules = Rules()
    rows: dict[str, Counter[str]] = {}
    for kind, read in KINDS.items():
        humans = list(read(options.data))
        for segment, text in humans:
            for span in rules.find(segment, text):
                row = rows.setdefault(f"{span.category}: {(span.explanation or '').split(' ', 1)[0]} …", Counter())
                row[f"{kind} errors"] += 1
                if span.suggestion is not None:
                    row[f"{kind} suggestions"] += 1
                    if options.show in (span.category, "all"):
                        shown = f"{(span.before or '')}[[{span.text}→{span.suggestion}]]{span.after or ''}"
                        display(f"{kind} {segment.target_lang} {span.explanation} {shown!r}", err=True)
        display(f"{kind}: {len(humans)} segments")
    names = [f"{kind} {what}" for kind in KINDS for what in ("errors", "suggestions")]
    display("| category | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for category in sorted(rows):
        display(f"| {category} | " + " | ".join(str(rows[category][name]) for name in names) + " |")


if __name__ == "__main__":
    run(main)
