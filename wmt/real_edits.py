"""What the guards refuse of edits that people and models really made.

    python -m wmt.real_edits [--data DIR] [--set NAME] [--pair PAIR] [--show GUARD] [-f text|markdown|json]

Refused is what the guards are sure of. "To a judge" is what they refuse only where no judge that calls a model sees it,
and "with a hint" is what a judge is shown questions about (``mtagent.chain.hints``), the former included.

Five sets in the folder ``real`` of the research data. An edit is a row: the text before is replaced by the text after
as a whole. ``refinements by paragraph`` are the documents of ``llm_refinements``, with one edit for each line that
differs, where source, before and after have the same number of lines.

``scored_refinements`` tells how COMET changed (points of 100): what a guard refuses should be worse than what passes.
``rewrite_comments.txt`` names the rows of ``llm_rewrites`` that are a comment on the translation, or hold one: all of
them should be refused. ``--show`` prints refused edits (``all``: by any guard; ``doubts``: those to a judge;
``comments``: these rows, refused or not).
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from mtagent.chain.guards import GUARDS, Damage, damages
from mtagent.chain.hints import hints
from mtagent.cli.terminal import display
from mtagent.records import Segment
from mtagent.text import paragraphs
from mtagent.text.scripts import without_stray_spaces
from mtagent.text.table import FORMS, Table
from wmt.guards import Change
from wmt.lib.data import DATA, records, run

PEOPLE = "human_postedits"
SCORED = "scored_refinements"
REWRITES = "llm_rewrites"
SETS = (PEOPLE, "llm_postedits", "llm_refinements", SCORED, REWRITES)
BY_PARAGRAPH = "refinements by paragraph"
MISALIGNED = "en-ta"
"""In this pair many rows of ``human_postedits`` are the edit of another sentence."""
COMMENTS = Path(__file__).with_name("rewrite_comments.txt")


class Edit(NamedTuple):
    """An edit of the set ``group``, with the changes of COMET where they are known, and what the guards say of it.

    ``doubts`` are the damages where no judge is called, ``hints`` the questions that a judge is shown.
    """

    group: str
    change: Change
    gains: dict[str, float]
    damages: tuple[Damage, ...] = ()
    doubts: tuple[Damage, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def pair(self) -> str:
        """The language pair."""
        return f"{self.change.segment.source_lang}-{self.change.segment.target_lang}"

    @property
    def guards(self) -> set[str]:
        """The guards that refuse it."""
        return {damage.guard for damage in self.damages}


def read_edits(data: Path, groups: Iterable[str] = SETS) -> Iterator[Edit]:
    """The edits of the sets named ``groups``, as in the files."""
    for group in groups:
        after = "pe" if group == PEOPLE else "reply"
        fields = ("id", "source_lang", "target_lang", "source", "translation", after)
        for row in records(data / "real" / f"{group}.jsonl", *fields):
            segment = Segment(**{name: row[name] for name in fields[:4]})
            gains = {name: row[f"delta_{name}"] for name in ("comet22", "cometkiwi") if group == SCORED}
            whole = Edit(group, Change(segment, row["translation"], row[after]), gains)
            yield whole
            if group == "llm_refinements":
                yield from _by_paragraph(whole)


def _by_paragraph(whole: Edit) -> Iterator[Edit]:
    segment, before, after = whole.change
    texts = [paragraphs.split(text).texts for text in (segment.source, before, after)]
    if len({len(lines) for lines in texts}) > 1:
        texts = [(text,) for text in (segment.source, before, after)]
    for source, old, new in zip(*texts, strict=True):
        if old != new:
            yield Edit(BY_PARAGRAPH, Change(segment.model_copy(update={"source": source}), old, new), {})


class Findings(NamedTuple):
    """What the guards are sure of; else what they refuse where no judge is called, and what a judge is asked about."""

    damages: tuple[Damage, ...]
    doubts: tuple[Damage, ...] = ()
    hints: tuple[str, ...] = ()


def judged(changes: Sequence[Change], few: int = 500) -> list[Findings]:
    """What the guards say of each change, as a chain makes it. More than a ``few`` are shared out among processors."""
    if len(changes) <= few:
        return [_findings(change) for change in changes]
    with ProcessPoolExecutor(min(8, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        return list(pool.map(_findings, changes, chunksize=100))


def _findings(change: Change) -> Findings:
    segment, before, after = change
    after = without_stray_spaces(after, before)
    found = damages(segment, before, after)
    if found:
        return Findings(found)
    return Findings((), damages(segment, before, after, doubts=True), hints(segment, before, after))


class Group(NamedTuple):
    """A row of the tables: the edits of a set, or of a part of it."""

    name: str
    edits: list[Edit]


def figures(edits: Sequence[Edit], comments: frozenset[str]) -> dict[str, Any]:
    """All counts: by set, by set and guard, by set and language pair, the worth of refusals, and the comments."""
    groups = [
        Group(name, [edit for edit in edits if edit.group == name]) for name in dict.fromkeys(e.group for e in edits)
    ]
    without = [edit for edit in edits if edit.group == PEOPLE and edit.pair != MISALIGNED]
    if without:
        groups.insert(1, Group(f"{PEOPLE} without {MISALIGNED}", without))
    found = [edit for edit in edits if edit.group == REWRITES and edit.change.segment.id in comments]
    return {
        "sets": {name: _share(group) for name, group in groups},
        "guards": {
            name: {guard: sum(guard in edit.guards for edit in group) for guard in GUARDS} for name, group in groups
        },
        "pairs": {
            name: {pair: _share([e for e in group if e.pair == pair]) for pair in sorted({e.pair for e in group})}
            for name, group in groups
        },
        "worth": _worth([edit for edit in edits if edit.gains]),
        "comments": {
            **_share(found),
            "passed": [edit.change.segment.id for edit in found if not edit.damages],
        },
    }


def _share(edits: Sequence[Edit]) -> dict[str, int]:
    return {
        "edits": len(edits),
        "refused": sum(bool(edit.damages) for edit in edits),
        "to a judge": sum(bool(edit.doubts) for edit in edits),
        "with a hint": sum(bool(edit.hints) for edit in edits),
    }


def _worth(edits: Sequence[Edit]) -> dict[str, dict[str, float]]:
    kinds = {guard: [edit for edit in edits if guard in edit.guards] for guard in GUARDS}
    kinds["any guard"] = [edit for edit in edits if edit.damages]
    kinds["passed"] = [edit for edit in edits if not edit.damages]
    return {
        kind: {"edits": len(chosen)} | {name: 100 * fmean(e.gains[name] for e in chosen) for name in chosen[0].gains}
        for kind, chosen in kinds.items()
        if chosen
    }


def tables(counts: dict[str, Any]) -> list[Table]:
    """The :func:`figures` for people. A guard or pair without refusals has no row."""
    sets = counts["sets"]
    shares = [
        (name, str(n["edits"]), str(n["refused"]), _percent(n), str(n["to a judge"]), str(n["with a hint"]))
        for name, n in sets.items()
    ]
    columns = ("set", "edits", "refused", "%", "to a judge", "with a hint")
    shown = [Table("refused by set", columns, tuple(shares))]
    guards = [guard for guard in GUARDS if any(counts["guards"][name][guard] for name in sets)]
    lines = [(guard, *(str(counts["guards"][name][guard] or "") for name in sets)) for guard in guards]
    shown.append(Table("refused by guard", ("guard", *sets), tuple(lines)))
    for name, pairs in counts["pairs"].items():
        if len(pairs) > 1 and " without " not in name:
            by_pair = [
                (pair, str(n["edits"]), str(n["refused"]), _percent(n), str(n["to a judge"]))
                for pair, n in pairs.items()
            ]
            of_pairs = ("pair", "edits", "refused", "%", "to a judge")
            shown.append(Table(f"{name}, by language pair", of_pairs, tuple(by_pair)))
    if worth := counts["worth"]:
        means = [(name, str(n["edits"]), f"{n['comet22']:+.2f}", f"{n['cometkiwi']:+.2f}") for name, n in worth.items()]
        of_worth = ("guard", "edits", "mean change of COMET-22", "of CometKiwi")
        shown.append(Table(f"{SCORED}: what refused edits are worth", of_worth, tuple(means)))
    if (comments := counts["comments"])["edits"]:
        row = (str(comments["edits"]), str(comments["refused"]), ", ".join(comments["passed"]))
        title = f"{REWRITES}: comments in place of or around a translation"
        shown.append(Table(title, ("comments", "refused", "let through"), (row,), labels=0))
    return shown


def _percent(count: dict[str, int]) -> str:
    return f"{count['refused'] / count['edits']:.2%}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set (may be repeated)")
    parser.add_argument("--pair", metavar="PAIR", help="only this language pair")
    parser.add_argument(
        "--show", metavar="GUARD", help="print what this guard refuses (all: any guard; or doubts, comments)"
    )
    parser.add_argument("-f", "--format", choices=("text", "markdown", "json"), default="text")
    options = parser.parse_args(arguments)
    comments = frozenset(COMMENTS.read_text(encoding="utf-8").split())
    edits = [edit for edit in read_edits(options.data, options.set or SETS) if options.pair in (None, edit.pair)]
    found = judged([edit.change for edit in edits])
    edits = [edit._replace(**findings._asdict()) for edit, findings in zip(edits, found, strict=True)]
    for edit in edits:
        segment, before, after = edit.change
        kinds = {*edit.guards}
        if edit.damages:
            kinds.add("all")
        if edit.doubts:
            kinds.add("doubts")
        if segment.id in comments:
            kinds.add("comments")
        if options.show in kinds:
            gains = " ".join(f"{name} {100 * gain:+.1f}" for name, gain in edit.gains.items())
            head = f"{edit.group} {edit.pair} {segment.id} {gains}".rstrip()
            lines = [head, *(f"! {damage}" for damage in edit.damages + edit.doubts)]
            lines += [f"? {hint}" for hint in edit.hints]
            lines += [f"S {segment.source}", f"B {before}", f"A {after}", ""]
            display("\n".join(lines), err=True)
    counts = figures(edits, comments)
    if options.format == "json":
        display(json.dumps(counts, ensure_ascii=False, indent=1))
    else:
        display(FORMS[options.format](tables(counts)))


if __name__ == "__main__":
    run(main)
