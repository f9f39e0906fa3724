"""How often the omission guard refuses good texts, and how often it catches dropped text.

The first five show what is refused where no judge sees the edit. The sixth shows what is refused where one does, and
what it is asked about with a hint (``mtagent.chain.hints``).

Prints the six tables of ``wmt/README.md`` as Markdown; the first two with ``--embeddings`` (needs ``mtagent[qe]``)::

    python -m wmt.omission [--data DIR] [--limit N] [--embeddings]
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, permutations
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.chain.hints import DOUBTFUL
from mtagent.metrics.qe_e5 import E5
from mtagent.text.commentary import grown
from mtagent.text.omission import STRICTNESS, Nearest, losses
from mtagent.text.paragraphs import sentences
from mtagent.text.scripts import letters
from wmt.lib.data import DATA, records, run

STRICTNESSES = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0)
"""The points of the curve."""
POOR = 50.0
"""Mean GEMBA-ESA (GPT-4.1) below which a WMT25 system counts as poor; the WMT24 file names its tiers itself."""


class Trial(NamedTuple):
    """One call of the guard: what was done to the text after, and what came of it."""

    kind: str
    held_out: bool
    evidence: float
    shorter: float
    """Text before / text after, in letters: what a guard that knows lengths alone would go by."""
    grown: bool
    sentences: int
    sure: bool = False
    """Whether it is refused even if a judge could be asked."""


class Pair(NamedTuple):
    """A text before and after."""

    lp: str
    held_out: bool
    source: str
    before: str
    after: str


def try_out(kind: str, pair: Pair, count: int = 0, nearest: Nearest | None = None) -> Trial:
    """Ask the guard about one pair."""
    lang = pair.lp.split("-")[1].split("_")[0]
    texts = pair.source, pair.before, pair.after
    stretches = list(losses(*texts, lang, nearest))
    return Trial(
        kind,
        pair.held_out,
        max((stretch.evidence for stretch in stretches), default=-inf),
        letters(pair.before) / letters(pair.after),
        bool(grown(*texts, target_lang=lang)),
        count,
        any(stretch.is_sure for stretch in stretches),
    )


def is_held_out(document: str) -> bool:
    """Half of the documents, whatever their language pair; thresholds were tuned on the other half."""
    return hashlib.md5(document.split("_#_")[-1].encode(), usedforsecurity=False).digest()[0] % 2 == 1


def post_edits(data: Path, limit: int | None, nearest: Nearest | None = None) -> Iterator[Trial]:
    """Paragraphs of five human post-edits: as they are, less one sentence, less half of a sentence."""
    by_pair: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for record in records(data / "mlqe_pe.jsonl"):
        by_pair[record["lp"]].append((record["src"], record["mt"], record["pe"]))
    for lp, found in by_pair.items():
        yield from fives(lp, found, limit, nearest)


def more_post_edits(data: Path, limit: int | None, nearest: Nearest | None = None) -> Iterator[tuple[str, list[Trial]]]:
    """The same of the sets of ``real/human_postedits.jsonl``, by language pair; en-ta has misaligned rows."""
    by_pair: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for record in records(data / "real" / "human_postedits.jsonl"):
        pair = f"{record['source_lang']}-{record['target_lang']}"
        if pair != "en-ta":
            by_pair[pair].append((record["source"], record["translation"], record["pe"]))
    for lp in sorted(by_pair):
        yield lp, list(fives(lp, by_pair[lp], limit, nearest))


def fives(
    lp: str, edits: Sequence[tuple[str, str, str]], limit: int | None, nearest: Nearest | None
) -> Iterator[Trial]:
    """Trials of five sentences at a time."""
    for number, start in enumerate(islice(range(0, len(edits) - 4, 5), limit)):
        sources, before, edited = zip(*edits[start : start + 5], strict=True)
        for kind, after in damaged(edited):
            pair = Pair(lp, number % 2 == 1, " ".join(sources), " ".join(before), after)
            yield try_out(kind, pair, nearest=nearest)


def damaged(edited: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The sentences joined as they are, then with one sentence, or half of it, left out."""
    yield "good", " ".join(edited)
    for k, sentence in enumerate(edited):
        words = sentence.split()
        half = len(words) // 2
        yield "sentence", " ".join([*edited[:k], *edited[k + 1 :]])
        if half:
            yield "second half", " ".join([*edited[:k], " ".join(words[:half]), *edited[k + 1 :]])
            yield "first half", " ".join([*edited[:k], " ".join(words[half:]), *edited[k + 1 :]])


def single_edits(data: Path, limit: int | None) -> Iterator[Trial]:
    """Every human post-edit by itself, and deletions that are a loss or take away what was never said."""
    found = records(data / "mlqe_pe.jsonl")[:limit]
    for number, (record, other) in enumerate(zip(found, found[1:] + found[:1], strict=True)):
        source, before, edited = (record[field] for field in ("src", "mt", "pe"))
        words, said = before.split(), edited.split()
        surplus = other["pe"].split()[: max(3, len(said) // 2)]
        twice = said[: len(said) // 2] + said[max(0, len(said) // 2 - 4) :]
        for kind, old, new in (
            ("single", before, edited),
            ("letters", before, before[: len(before) // 2].rstrip() + "."),
            ("post-edited letters", before, edited[: len(edited) // 2].rstrip() + "."),
            ("third", before, " ".join(words[: len(words) - max(1, len(words) // 3)])),
            ("surplus", " ".join(said + surplus), edited),
            ("twice", " ".join(twice), edited),
        ):
            yield try_out(kind, Pair(record["lp"], number // 5 % 2 == 1, source, old, new))


def poor_systems(documents: Iterable[dict[str, Any]]) -> set[tuple[str, str]]:
    """Language pair and name of the WMT25 systems to leave out."""
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for document in documents:
        for system, metrics in document["auto"].items():
            scores[document["lp"], system] += [x for x in metrics.get("GEMBA-ESA-GPT4.1", []) if x is not None]
    return {key for key, values in scores.items() if values and sum(values) / len(values) < POOR}


def rewrites(data: Path, limit: int | None) -> Iterator[Pair]:
    """One system's paragraph before, another system's after."""
    for document in islice(records(data / "wmt24_docs.jsonl"), limit):
        good = [name for name in document["hyps"] if document["tier"][name] != "poor"]
        for one, two in permutations(good, 2):
            for texts in zip(document["src"], document["hyps"][one], document["hyps"][two], strict=True):
                yield Pair(document["lp"], is_held_out(document["doc"]), *texts)
    documents = records(data / "wmt25_docs.jsonl")
    poor = poor_systems(documents)
    for document in islice(documents, limit):
        good = [name for name in document["hyps"] if (document["lp"], name) not in poor]
        source = document["src"].split("\n\n")
        for one, two in permutations(good, 2):
            before, after = (document["hyps"][name].split("\n\n") for name in (one, two))
            if len(source) == len(before) == len(after):
                for texts in zip(source, before, after, strict=True):
                    yield Pair(document["lp"], is_held_out(document["doc"]), *texts)


def rewritten(data: Path, limit: int | None) -> Iterator[Trial]:
    """Rewrites of at least two sentences, as they are and less each sentence in turn."""
    for pair in rewrites(data, limit):
        parts = sentences(pair.after)
        if len(parts) < 2:
            continue
        yield try_out("good", pair, len(parts))
        for k in range(len(parts)):
            less = "".join([*parts[:k], *parts[k + 1 :]]).strip()
            yield try_out("sentence", pair._replace(after=less), len(parts))


def documents_less_a_paragraph(data: Path, limit: int | None) -> Iterator[Trial]:
    """Whole WMT25 texts less each paragraph in turn: the same system's text, and another's."""
    documents = records(data / "wmt25_docs.jsonl")
    poor = poor_systems(documents)
    for document in islice(documents, limit):
        held_out = is_held_out(document["doc"])
        texts = document["hyps"]
        for one, before in texts.items():
            for two, after in texts.items():
                parts = after.split("\n\n")
                same = one == two
                if not same and (
                    len(parts) != before.count("\n\n") + 1 or {(document["lp"], x) for x in (one, two)} & poor
                ):
                    continue
                pair = Pair(document["lp"], held_out, document["src"], before, after)
                if not same:
                    yield try_out("good", pair)
                for k in range(len(parts) if len(parts) > 1 else 0):
                    less = "\n\n".join([*parts[:k], *parts[k + 1 :]])
                    yield try_out("own paragraph" if same else "other paragraph", pair._replace(after=less))


def share(trials: Iterable[Trial], caught: Callable[[Trial], bool]) -> str:
    """How many of ``trials`` the guard refuses, in per cent."""
    results = [caught(trial) for trial in trials]
    return f"{100 * sum(results) / len(results):.1f} %" if results else "–"


def rows(trials: Sequence[Trial], names: dict[str, str], caught: Callable[[Trial], bool]) -> Iterator[str]:
    """One row for each kind of trial: number, tuning half, held-out half, all."""
    for kind, name in names.items():
        some = [trial for trial in trials if trial.kind == kind]
        halves = [[trial for trial in some if trial.held_out is held_out] for held_out in (False, True)]
        yield f"| {name} | {len(some)} | {' | '.join(share(part, caught) for part in (*halves, some))} |"


def is_lost(trial: Trial, strictness: float = STRICTNESS) -> bool:
    """Whether the guard refuses the text after."""
    return trial.evidence + strictness > 0


def with_judge(trials: Sequence[Trial], names: dict[str, str]) -> Iterator[str]:
    """What is refused, asked about with a hint, and either, for each kind of trial, where a judge calls a model."""
    for kind, name in names.items():
        some = [trial for trial in trials if trial.kind == kind]
        refused = share(some, lambda trial: trial.sure)
        asked = share(some, lambda trial: not trial.sure and trial.evidence > DOUBTFUL)
        either = share(some, lambda trial: trial.sure or trial.evidence > DOUBTFUL)
        yield f"| {name} | {len(some)} | {refused} | {asked} | {either} | {share(some, is_lost)} |"


def curve(trials: Sequence[Trial]) -> Iterator[str]:
    """Refused and caught at every strictness, and what length alone catches at the same refusals."""
    good = [trial for trial in trials if trial.kind == "good"]
    drops = [trial for trial in trials if trial.kind == "sentence"]
    long = [trial for trial in drops if trial.sentences > 2]
    for point in STRICTNESSES:

        def refused(trial: Trial, point: float = point) -> bool:
            return is_lost(trial, point)

        ratios = sorted((trial.shorter for trial in good), reverse=True)
        limit = ratios[sum(map(refused, good))] if not all(map(refused, good)) else -inf
        cells = [share([t for t in part if t.held_out is h], refused) for part in (good, drops) for h in (False, True)]
        alone = share(drops, lambda trial, limit=limit: trial.shorter > limit)  # type: ignore[misc]
        all_ = [share(part, refused) for part in (good, drops, long)]
        yield f"| {point:+.0f} | {' | '.join((*all_, alone, *cells))} |"


HEAD = "| | texts | tuning half | held-out half | all |\n|---|---|---|---|---|"
CURVE_HEAD = (
    "| strictness | good refused | caught | caught, 3 sentences or more | length alone | good, tuning | good, held out "
    "| caught, tuning | caught, held out |\n|---|---|---|---|---|---|---|---|---|"
)
OWN = {"own paragraph": "own text less a paragraph", "other paragraph": "another's text less a paragraph"}
EDITS = {
    "good": "good post-edits refused (5.7 %)",
    "sentence": "one sentence dropped, caught (88 %)",
    "second half": "second half of a sentence dropped, caught (20 %)",
    "first half": "first half of a sentence dropped, caught",
}


SINGLES = {
    "single": "good post-edits refused",
    "surplus": "good: a foreign ending, half as long, taken away; refused",
    "twice": "good: a phrase said twice, once taken away; refused",
    "letters": "second half of the letters cut off, caught",
    "post-edited letters": "post-edited, then the second half of the letters cut off, caught",
    "third": "last third of the words cut off, caught",
}


def tables(data: Path, limit: int | None, nearest: Nearest | None = None) -> Iterator[str]:
    """The six tables, line by line; the first two with ``nearest``, which takes much longer."""
    edits = list(post_edits(data, limit, nearest))
    yield "### Human post-edits, five sentences\n"
    yield HEAD
    yield from rows(edits, EDITS, is_lost)
    yield from rows(edits, {"good": "good post-edits refused for growth"}, lambda trial: trial.grown)
    yield "\n### Human post-edits, five sentences, by language pair\n"
    yield "| pair | texts | good refused | sentence dropped | second half | first half |\n|---|---|---|---|---|---|"
    every: list[Trial] = []
    for lp, trials in (*more_post_edits(data, limit, nearest), ("all", every)):
        shares = [share([trial for trial in trials if trial.kind == kind], is_lost) for kind in EDITS]
        yield f"| {lp} | {sum(trial.kind == 'good' for trial in trials)} | {' | '.join(shares)} |"
        every += trials if lp != "all" else []
    if nearest is not None:
        return
    yield "\n### Human post-edits, one sentence\n"
    yield HEAD
    singles = list(single_edits(data, limit))
    yield from rows(singles, SINGLES, is_lost)
    whole = list(documents_less_a_paragraph(data, limit))
    yield "\n### Texts of several paragraphs\n"
    yield HEAD
    yield from rows(whole, OWN | {"good": "another's whole text refused"}, is_lost)
    yield from rows(whole, {"good": "another's whole text refused for growth"}, lambda trial: trial.grown)
    rewrite = list(rewritten(data, limit))
    yield "\n### One system's paragraph before, another's after\n"
    yield CURVE_HEAD
    yield from curve(rewrite)
    yield f"\n{HEAD}"
    yield from rows(rewrite, {"good": "good texts refused for growth"}, lambda trial: trial.grown)
    yield "\n### With a judge that asks a model\n"
    yield "| | texts | refused | asked about | either | refused without a judge |\n|---|---|---|---|---|---|"
    yield from with_judge(edits, {kind: f"five sentences: {kind}" for kind in EDITS})
    yield from with_judge(every, {kind: f"five sentences, by language pair: {kind}" for kind in EDITS})
    yield from with_judge(singles, {kind: f"one sentence: {kind}" for kind in SINGLES})
    yield from with_judge(whole, {kind: f"several paragraphs: {kind}" for kind in ("good", *OWN)})
    yield from with_judge(rewrite, {kind: f"another system's: {kind}" for kind in ("good", "sentence")})


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    parser.add_argument("--limit", type=int, help="documents per file and paragraphs per language pair")
    parser.add_argument("--embeddings", action="store_true", help="ask sentence embeddings in doubtful cases")
    arguments = parser.parse_args()
    nearest = E5("--embeddings").nearest if arguments.embeddings else None
    for line in tables(arguments.data, arguments.limit, nearest):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    run(main)
