"""What the evaluators read of replies that real models gave: six files in ``real/`` of the research data.

``python -m wmt.replies [--show FILE] [--data DIR]`` prints for each file how many replies are read, refused and read
wrongly, where that is known, and how many suggestions in prose are applied; ``--show`` prints what is refused or wrong.
Each reply is given to the evaluator whose kind of reply it is, twice, as a second one is asked for. Calls no model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from mtagent import Segment
from mtagent.cli.terminal import display
from mtagent.errors import EmptyReply, UnreadableReply
from mtagent.evaluators.gemba import GembaDA, GembaMQM
from mtagent.evaluators.pairwise import Pairwise
from mtagent.evaluators.replies import Item, Weighed, errors_in
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.reading import read_answer
from mtagent.records import Edit, ErrorSpan
from mtagent.text.edits import locate
from wmt.lib.data import DATA, records, refuse_absent, run

CHECKED = Path(__file__).with_name("replies_checked.json")
Row = dict[str, Any]


class Outcome(NamedTuple):
    """What became of a reply: what was read, or why it was refused; ``wrong`` where the truth is known and another."""

    read: Any = None
    why: str = ""
    wrong: bool = False


def segment_of(row: Row) -> Segment:
    """The segment that a reply is about; some files do not say what it is, and no reader asks for its languages."""
    return Segment(id=row["id"], source=row.get("source") or "?", source_lang="en", target_lang="de")


async def score(row: Row) -> Outcome:
    """A score from 0 to 100, by ``gemba-da``; the truth is known of the rows that a person has read."""
    llm = ScriptedLLM([row["reply"]] * 2)
    read = (await GembaDA(llm).rate(segment_of(row), row.get("translation") or "?")).score
    return Outcome(read, wrong=read != checked("score_replies").get(row["id"], read))


async def headed(row: Row) -> Outcome:
    """Errors under headings, by ``gemba-mqm``."""
    rating = await GembaMQM(ScriptedLLM([row["reply"]] * 2)).rate(segment_of(row), row.get("translation") or "?")
    return Outcome(rating.errors or ())


async def json_spans(row: Row) -> Outcome:
    """Errors in JSON, by the reader that all evaluators with such replies share; ``type`` stands for a severity.

    Wrong are other spans than the publishers read, and a place that holds other words, case aside.
    """

    def complete(item: Item) -> Item:
        return {**item, "category": f"type {item.get('type')}", "severity": "minor"}

    text = row["translation"]
    errors = errors_in(read_answer(row["reply"]), text, lambda _: Weighed("minor"), complete)
    expected = [(span["text"], f"type {span['type']}") for span in row["expected"]]
    misplaced = any(
        error.start is not None and text[error.start : error.end].casefold() != error.text.casefold()
        for error in errors
    )
    return Outcome(errors, wrong=misplaced or [(error.text, error.category) for error in errors] != expected)


async def choice(row: Row) -> Outcome:
    """Which of two is better, by ``pairwise``; the truth is what the reply has under ``winner``."""
    llm = ScriptedLLM([row["reply"]] * 4)
    chosen = (await Pairwise(llm).compare(segment_of(row), "?", "!")).choices[0]
    read = {"before": "a", "after": "b"}.get(chosen, chosen)
    stated = re.findall(r'"winner"\s*:\s*"([^"]*)"', row["reply"])
    return Outcome(read, wrong=bool(stated) and stated[-1].casefold() != read)


async def of_mqm_ape(row: Row) -> Outcome:
    """Replies of several kinds; that with one corrected text answers a request that mtagent does not make."""
    return await (choice if row["kind"] == "pairwise" else headed)(row)


FILES: dict[str, Callable[[Row], Awaitable[Outcome]]] = {
    "score_replies": score,
    "mqm_replies": headed,
    "json_span_replies": json_spans,
    "pairwise_replies": choice,
    "gemba_mqm_replies": of_mqm_ape,
    "self_feedback_replies": headed,
}
REFUSALS = re.compile(
    r"\b(?:cannot|can't|unable to|not able to|don't have the ability|do not have the ability|not possible to"
    r"|impossible to)\b[^.\n]{0,60}\b(?:scor|evaluat|rat|assess)",
    re.IGNORECASE,
)
"""A model that declines to score, and gives no number in the end: to be refused."""


def checked(name: str) -> dict[str, Any]:
    """What a person read of some rows of a file, by their ids."""
    values: dict[str, Any] = json.loads(CHECKED.read_text(encoding="utf-8"))[name]
    return values


def applied(row: Row, errors: tuple[ErrorSpan, ...]) -> list[Edit]:
    """The edits that the suggestions among ``errors`` make."""
    return [edit for edit in locate(row["translation"], errors) if edit.outcome == "applied"]


async def outcomes(path: Path, read: Callable[[Row], Awaitable[Outcome]]) -> list[tuple[Row, Outcome]]:
    """What becomes of each reply of a file."""
    read_rows = []
    for row in records(path, "id", "reply"):
        try:
            read_rows.append((row, await read(row)))
        except (UnreadableReply, EmptyReply) as error:
            read_rows.append((row, Outcome(why=" ".join(str(error).split()))))
    return read_rows


WITH_TRUTH = ("score_replies", "json_span_replies", "pairwise_replies")
"""The files of which the right reading is known, in whole or (scores) of a draw."""


def main() -> None:
    """Print the table, or what is refused or wrong of one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    parser.add_argument("--show", choices=FILES, metavar="FILE", help=f"one of {', '.join(FILES)}")
    options = parser.parse_args()
    names = [options.show] if options.show else list(FILES)
    paths = {name: options.data / "real" / f"{name}.jsonl" for name in names}
    refuse_absent(*paths.values())
    if not options.show:
        display("| file | replies | read | refused | wrong | suggestions applied |\n|---|---|---|---|---|---|")
    for name, path in paths.items():
        rows = asyncio.run(outcomes(path, FILES[name]))
        if options.show:
            for row, outcome in rows:
                if outcome.why or outcome.wrong:
                    display(f"{row['id']}: {outcome.why or f'wrong: {outcome.read}'}")
            continue
        count = Counter("refused" if outcome.why else "wrong" if outcome.wrong else "read" for _, outcome in rows)
        declined = sum(bool(outcome.why and REFUSALS.search(row["reply"])) for row, outcome in rows)
        refused = f"{count['refused']}" + (f" ({declined} decline)" if name == "score_replies" else "")
        edits = (
            str(sum(len(applied(row, outcome.read)) for row, outcome in rows if outcome.read))
            if FILES[name] is headed
            else "–"
        )
        share = (count["read"] + count["wrong"]) / len(rows)
        wrong = count["wrong"] if name in WITH_TRUTH else "–"
        cells = (name, len(rows), f"{count['read'] + count['wrong']} ({share:.1%})", refused, wrong, edits)
        display(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    run(main)
