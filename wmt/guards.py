"""How often each guard refuses a change that people would keep.

    python -m wmt.guards [--data DIR] [--show GUARD]
    python -m wmt.guards --translations [--data DIR] [--show GUARD]

Three kinds of change, each with the share of changed texts that a guard refuses: human post-edits (MLQE-PE), another
system's paragraph instead of a good system's (WMT24), and the human reference instead of a good system's (WMT24).

``--translations``: how often the guards of the translate stage, which have no text before, refuse a translation, by
language pair: those by people and by systems in six sets of data. ``--show all`` prints what is refused.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.chain.guards import GUARDS, damages
from mtagent.chain.translation import refusals
from mtagent.cli.terminal import display
from mtagent.records import Segment
from mtagent.text import languages
from wmt.lib.data import DATA, records, run


class Change(NamedTuple):
    """A text that replaces another as translation of ``segment``."""

    segment: Segment
    before: str
    after: str


def post_edits(data: Path) -> Iterator[Change]:
    """MLQE-PE: machine translation → human post-edit (tokenised text)."""
    for number, record in enumerate(records(data / "mlqe_pe.jsonl")):
        source_lang, target_lang = record["lp"].split("-")
        segment = Segment(id=str(number), source=record["src"], source_lang=source_lang, target_lang=target_lang)
        yield Change(segment, record["mt"], record["pe"])


def _of_tier(document: dict[str, Any], tier: str) -> str:
    tiers: dict[str, str] = document["tier"]
    return next(name for name, level in tiers.items() if level == tier)


def _paragraphs(data: Path) -> Iterator[tuple[Segment, str, dict[str, str], dict[str, str]]]:
    for document in records(data / "wmt24_docs.jsonl"):
        source_lang, target_lang = document["lp"].split("-")
        good = document["hyps"][_of_tier(document, "good")]
        for index, source in enumerate(document["src"]):
            segment = Segment(
                id=f"{document['doc']}:{index}", source=source, source_lang=source_lang, target_lang=target_lang
            )
            others = {name: texts[index] for name, texts in document["hyps"].items()}
            references = {name: texts[index] for name, texts in document["refs"].items()}
            yield segment, good[index], others, references


def systems(data: Path) -> Iterator[Change]:
    """WMT24: a middling system's paragraph → the good system's."""
    middling = (_of_tier(document, "mid") for document in records(data / "wmt24_docs.jsonl") for _ in document["src"])
    for (segment, good, others, _), name in zip(_paragraphs(data), middling, strict=True):
        yield Change(segment, others[name], good)


def references(data: Path) -> Iterator[Change]:
    """WMT24: the good system's paragraph → each human reference."""
    for segment, good, _, human in _paragraphs(data):
        for text in human.values():
            yield Change(segment, good, text)


def translations(data: Path) -> Iterator[tuple[str, Segment, str]]:
    """Who translated (``people`` or ``systems``), the segment and the translation, each pair of texts once."""
    known: set[tuple[str, str]] = set()
    for who, pair, source, text in _translated(data):
        if source.strip() and text.strip() and (source, text) not in known:
            known.add((source, text))
            source_lang, target_lang = languages.parse_pair(pair)
            yield who, Segment(id=pair, source=source, source_lang=source_lang, target_lang=target_lang), text


def _translated(data: Path) -> Iterator[tuple[str, str, str, str]]:
    for segment, _, others, human in _paragraphs(data):
        pair = f"{segment.source_lang}-{segment.target_lang}"
        for who, texts in (("systems", others), ("people", human)):
            yield from ((who, pair, segment.source, text) for text in texts.values())
    for document in records(data / "wmt25_docs.jsonl"):
        source = document["src"].split("\n\n")
        for text in document["hyps"].values():
            parts = text.split("\n\n")
            whole = ([document["src"]], [text])
            for one, other in zip(*((source, parts) if len(parts) == len(source) else whole), strict=True):
                yield "systems", document["lp"], one, other
    for record in records(data / "mlqe_pe.jsonl"):
        yield "systems", record["lp"], record["src"], record["mt"]
        yield "people", record["lp"], record["src"], record["pe"]
    for name in ("esa24_spans.jsonl", "mqm_spans.jsonl"):
        for record in records(data / name):
            yield "systems", record["lp"], record["src"], record["tgt"]
    for record in records(data / "ment_zh-en.jsonl"):
        yield "people", record["lp"], record["src"], record["ref"]
        yield from (("systems", record["lp"], record["src"], text) for text in record["hyp"].values())
    for record in records(data / "wmt22_zh-en_HuaweiTSC.jsonl"):
        yield "people", "zh-en", record["src"], record["refA"]
        yield "systems", "zh-en", record["src"], record["hyp"]


KINDS = {"post-edits": post_edits, "systems": systems, "references": references}


def main() -> None:
    """Print one row per guard."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    parser.add_argument("--show", metavar="GUARD", help="print every change that this guard refuses")
    parser.add_argument("--translations", action="store_true", help="the guards of the translate stage")
    options = parser.parse_args()
    if options.translations:
        _tell_translations(options.data, options.show)
        return
    columns, sizes = {}, {}
    for kind, read in KINDS.items():
        changes = [change for change in read(options.data) if change.before != change.after]
        refused: Counter[str] = Counter()
        for change in changes:
            found = damages(*change)
            refused.update({damage.guard for damage in found})
            refused["any guard"] += bool(found)
            mine = [str(damage) for damage in found if damage.guard == options.show]
            if mine:
                texts = (change.segment.source, change.before, change.after)
                display("\n".join([kind, change.segment.target_lang, *mine, *texts, ""]), err=True)
        columns[kind], sizes[kind] = refused, len(changes)
    display("| guard | " + " | ".join(f"{kind} ({sizes[kind]})" for kind in KINDS) + " |")
    display("|---|" + "---|" * len(KINDS))
    for name in [*GUARDS, "any guard"]:
        shares = (f"{columns[kind][name]} ({columns[kind][name] / sizes[kind]:.2%})" for kind in KINDS)
        display(f"| {name} | " + " | ".join(shares) + " |")


def _tell_translations(data: Path, show: str | None) -> None:
    """Print one row per language pair."""
    sizes, refused = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for who, segment, text in translations(data):
        found = refusals(segment, text)
        for pair in (segment.id, "all"):
            sizes[who, pair] += 1
            refused[who, pair] += bool(found)
        if show in ("all", *(damage.guard for damage in found)) and found:
            display("\n".join([f"{who} {segment.id}", *map(str, found), segment.source, text, ""]), err=True)
    display("| language pair | by people | refused | by systems | refused |\n|---|---|---|---|---|")
    for pair in dict.fromkeys(pair for _, pair in sizes if pair != "all") | {"all": None}:
        cells = (f"{sizes[who, pair] or ''} | {refused[who, pair] or ''}" for who in ("people", "systems"))
        display(f"| {pair} | {' | '.join(cells)} |")


if __name__ == "__main__":
    run(main)
