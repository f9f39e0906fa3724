"""What ``qe-e5`` sees and what it does not: damaged texts, human post-edits, the better of two systems.

Prints the tables of ``wmt/README.md`` as Markdown (some minutes; needs ``mtagent[qe]``)::

    python -m wmt.qe_e5 [--data DIR] [--sentences N] [--documents N]
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mtagent.metrics.protocol import make_metric
from mtagent.records import Segment
from mtagent.text.paragraphs import sentences
from wmt.lib.data import DATA, records, run

MARGINS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03)
BETTER = 5.0
"""GEMBA-ESA points by which one text must be better than another to count as better."""


class Pair(NamedTuple):
    """A text and a worse one (or one that is hardly different)."""

    kind: str
    lp: str
    source: str
    text: str
    other: str


def scores(texts: Sequence[tuple[str, str, str]]) -> list[float]:
    """The score of each language pair, source, translation; equal ones once."""
    distinct = list(dict.fromkeys(texts))
    segments = []
    for number, (lp, source, _) in enumerate(distinct):
        source_lang, target_lang = lp.replace("_", "-").split("-", 1)
        segments.append(Segment(id=str(number), source=source, source_lang=source_lang, target_lang=target_lang))
    found = make_metric("qe-e5", "").score(segments, [text for *_, text in distinct]).segments
    known = dict(zip(distinct, found, strict=True))
    return [known[one] for one in texts]


# --- damage

_IS = {
    "en": re.compile(r"\b(is|was|are|were|has|have|will|can|could|would)\b(?! not)"),
    "de": re.compile(r"\b(ist|war|sind|waren|hat|haben|wird|werden|kann|wurde)\b(?! nicht)"),
}
_NOT = {"en": "not", "de": "nicht"}
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")


def negated(text: str, lang: str) -> str:
    """``text`` without its first "not", or with one more."""
    word = _NOT[lang]
    fewer = text.replace(f" {word} ", " ", 1)
    return fewer if fewer != text else _IS[lang].sub(rf"\1 {word}", text, count=1)


def renumbered(text: str) -> str:
    """``text`` with another first digit in its first number."""
    return re.sub(r"\d", lambda digit: str((int(digit.group()) + 3) % 10), text, count=1)


def half(text: str) -> str:
    """The first half of the words."""
    words = text.split()
    return " ".join(words[: max(1, len(words) // 2)])


def untokenized(text: str) -> str:
    """``text`` without the spaces that tokenization put before punctuation marks."""
    return re.sub(r" ([.,;:!?%)])", r"\1", text)


def damaged(data: Path, limit: int | None) -> Iterator[Pair]:
    """Human post-edits of sentences, and what damage makes of them."""
    by_lp = defaultdict(list)
    for record in records(data / "mlqe_pe.jsonl"):
        by_lp[record["lp"]].append(record)
    for lp, edits in by_lp.items():
        some = edits[:limit]
        names = [found.group() for record in some if (found := _NAME.search(record["pe"]))]
        for record, following in pairwise([*some, some[0]]):
            source, text, lang = record["src"], record["pe"], lp[-2:]
            one = _NAME.search(text) if lang == "en" else None
            strange = next((name for name in names if name not in text), "")
            for kind, other in (
                ("post-edit", record["mt"]),
                ("half", half(text)),
                ("meaning", following["pe"]),
                ("number", renumbered(text)),
                ("negation", negated(text, lang)),
                ("name", text.replace(one.group(), strange) if one else text),
                ("spaces", untokenized(text)),
                ("stop", text.removesuffix(" .")),
            ):
                if other != text:
                    yield Pair(kind, lp, source, text, other)


def shortened(data: Path, limit: int | None) -> Iterator[Pair]:
    """Whole documents of the two better WMT24 systems, and what is left of them without a part."""
    for document in first_of_each(records(data / "wmt24_docs.jsonl"), limit):
        for system, paragraphs in document["hyps"].items():
            source, text = "\n\n".join(document["src"]), "\n\n".join(paragraphs)
            parts = sentences(text)
            if document["tier"][system] == "poor" or len(paragraphs) < 2:
                continue
            middle = len(parts) // 2
            for kind, other in (
                ("last paragraph", "\n\n".join(paragraphs[:-1])),
                ("last sentence", "".join(parts[:-1]).strip()),
                ("sentence", "".join(parts[:middle] + parts[middle + 1 :]).strip()),
                ("second half", "".join(parts[:middle]).strip()),
                ("copy", source),
            ):
                yield Pair(kind, document["lp"], source, text, other)


def first_of_each(documents: Iterable[dict[str, Any]], limit: int | None) -> Iterator[dict[str, Any]]:
    """The first ``limit`` documents of each language pair."""
    by_lp = defaultdict(list)
    for document in documents:
        by_lp[document["lp"]].append(document)
    for some in by_lp.values():
        yield from islice(some, limit)


# --- the better of two


class Choice(NamedTuple):
    """Two texts of a paragraph: by how much the second is better, for GEMBA-ESA and for ``qe-e5``."""

    judged: float
    scored: float


def choices(data: Path, limit: int | None) -> Iterator[Choice]:
    """The paragraphs of WMT25, each system's before and each other's after."""
    found = []
    for document in first_of_each(records(data / "wmt25_docs.jsonl"), limit):
        source = document["src"].split("\n\n")
        texts = {name: text.split("\n\n") for name, text in document["hyps"].items()}
        judged = {name: document["auto"].get(name, {}).get("GEMBA-ESA-GPT4.1") or [] for name in texts}
        fit = [name for name in texts if len(texts[name]) == len(source) == len(judged[name])]
        for i, paragraph in enumerate(source):
            rated = [(document["lp"], paragraph, texts[name][i], judged[name][i]) for name in fit]
            found += [pair for pair in permutations(rated, 2) if None not in (pair[0][3], pair[1][3])]
    before, after = (scores([pair[side][:3] for pair in found]) for side in (0, 1))
    for (one, two), old, new in zip(found, before, after, strict=True):
        yield Choice(two[3] - one[3], new - old)


# --- tables


def preferred(one: Sequence[float], other: Sequence[float]) -> float:
    """How often ``one`` is higher than its ``other``; a tie is half."""
    ahead = np.subtract(one, other)
    return float(np.mean((ahead > 0) + 0.5 * (ahead == 0)))


def auc(good: Sequence[float], bad: Sequence[float]) -> float:
    """How often any of ``good`` is higher than any of ``bad``."""
    return float(np.mean([preferred([one] * len(bad), bad) for one in good]))


SENTENCES = {
    "meaning": "another sentence's translation",
    "half": "second half of the words missing",
    "number": "a wrong digit",
    "negation": 'a "not" more or less (into English, German)',
    "name": "another name (into English)",
    "post-edit": "the machine translation before a human post-edit",
    "stop": "without the final full stop (no damage)",
    "spaces": "other spaces before punctuation (no damage)",
}
DOCUMENTS = {
    "second half": "second half missing",
    "last paragraph": "last paragraph missing",
    "last sentence": "last sentence missing",
    "sentence": "a sentence in the middle missing",
    "copy": "the source, untranslated",
}


def damage_table(pairs: Sequence[Pair], kinds: Mapping[str, str]) -> Iterator[str]:
    """One row for each kind of damage; the margins of what people edited."""
    texts = scores([(pair.lp, pair.source, pair.text) for pair in pairs])
    others = scores([(pair.lp, pair.source, pair.other) for pair in pairs])
    yield "| compared with the good text | texts | good one preferred | AUC | median difference | 90 % within |"
    yield "|---|---|---|---|---|---|"
    for kind, name in kinds.items():
        some = [i for i, pair in enumerate(pairs) if pair.kind == kind]
        one, other = [texts[i] for i in some], [others[i] for i in some]
        low, middle, high = np.quantile(np.subtract(one, other), [0.05, 0.5, 0.95])
        cells = f"{preferred(one, other):.3f} | {auc(one, other):.3f} | {middle:+.4f} | {low:+.3f} … {high:+.3f}"
        yield f"| {name} | {len(some)} | {cells} |"
    gains = np.array([texts[i] - others[i] for i, pair in enumerate(pairs) if pair.kind == "post-edit"])
    if len(gains):
        yield "\n| margin | human post-edits let pass | the same turned round |\n|---|---|---|"
        for margin in MARGINS:
            kept, reverse = (np.mean((gain > 0) & (gain >= margin)) for gain in (gains, -gains))
            yield f"| {margin:g} | {kept:.1%} | {reverse:.1%} |"


def choice_table(found: Sequence[Choice]) -> Iterator[str]:
    """What a gate with each margin lets pass, and what it gains."""
    judged, scored = np.array([one.judged for one in found]), np.array([one.scored for one in found])
    for points in (BETTER, 20.0, 40.0):
        far = np.abs(judged) >= points
        right = preferred(np.sign(judged[far]) * scored[far], [0.0] * int(far.sum()))
        yield f"- texts {points:g} points apart or more: {right:.3f} preferred rightly ({far.sum()})"
    yield "\n| margin | let pass | of these better | of these worse | points gained over all |\n|---|---|---|---|---|"
    for margin in (None, *MARGINS):
        passed = np.full(len(scored), True) if margin is None else (scored > 0) & (scored >= margin)
        better, worse = (np.mean(side >= BETTER) for side in (judged[passed], -judged[passed]))
        name = "no gate" if margin is None else f"{margin:g}"
        gain = judged[passed].sum() / len(judged)
        yield f"| {name} | {passed.mean():.1%} | {better:.1%} | {worse:.1%} | {gain:+.2f} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    parser.add_argument("--sentences", type=int, default=60, help="per language pair (default: %(default)s)")
    parser.add_argument("--documents", type=int, default=1, help="per language pair (default: %(default)s)")
    arguments = parser.parse_args()
    data, documents = arguments.data, arguments.documents
    for table in (
        damage_table(list(damaged(data, arguments.sentences)), SENTENCES),
        damage_table(list(shortened(data, documents)), DOCUMENTS),
        choice_table(list(choices(data, documents))),
    ):
        for line in table:
            sys.stdout.write(line + "\n")
        sys.stdout.write("\n")
        sys.stdout.flush()


if __name__ == "__main__":
    run(main)
