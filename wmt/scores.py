"""Whether mtagent's BLEU, chrF, chrF++ and TER are those of sacreBLEU's own command, on eleven language pairs.

    python -m wmt.scores [--data DIR]

Scores the first system of each language pair of WMT24's documents with both, whole texts, signatures included, to ten
digits after the point. Takes a minute, nearly all of it sacreBLEU's TER. The table says ``=`` where both agree.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from mtagent.cli.terminal import display
from mtagent.metrics.overlap import NAMES, Name, Overlap
from mtagent.records import Segment
from wmt.lib.data import DATA, records, run

_FLAGS: dict[Name, list[str]] = {
    "bleu": ["-m", "bleu"],
    "chrf": ["-m", "chrf"],
    "ter": ["-m", "ter"],
    "chrf++": ["-m", "chrf", "--chrf-word-order", "2"],
}
_ASIAN = ["--ter-asian-support", "--ter-normalized"]


@dataclass
class Corpus:
    """The paragraphs of a language pair, one a line."""

    pair: str
    sources: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    systems: dict[str, list[str]] = field(default_factory=dict)

    @property
    def target_lang(self) -> str:
        """Its target language."""
        return self.pair.split("-")[1]

    @property
    def asian(self) -> bool:
        """Whether TER counts characters."""
        return self.target_lang[:2] in ("zh", "ja")

    @property
    def translations(self) -> list[str]:
        """Those of the first system."""
        return self.systems[min(self.systems)]


def corpora(data: Path) -> Iterator[Corpus]:
    """WMT24's documents by language pair: the first reference, and the systems that translated all of them."""
    by_pair: dict[str, list[dict[str, Any]]] = {}
    for document in records(data / "wmt24_docs.jsonl", "lp", "src", "refs", "hyps"):
        by_pair.setdefault(document["lp"], []).append(document)
    for pair, documents in by_pair.items():
        corpus = Corpus(pair)
        names = set.intersection(*(set(document["hyps"]) for document in documents))
        for document in documents:
            corpus.sources += map(_line, document["src"])
            corpus.references += map(_line, document["refs"][min(document["refs"])])
            for name in sorted(names):
                corpus.systems.setdefault(name, []).extend(map(_line, document["hyps"][name]))
        yield corpus


def _line(text: str) -> str:
    return " ".join(text.split())


def flags_of(name: Name, target_lang: str) -> list[str]:
    """sacreBLEU's options for what mtagent does of itself."""
    tokenizer = ["-tok", Overlap("bleu", target_lang).tokenizer] if name == "bleu" else []
    asian = _ASIAN if name == "ter" and target_lang[:2] in ("zh", "ja") else []
    return [*_FLAGS[name], *tokenizer, *asian]


def sacrebleu_scores(
    folder: Path, translations: list[str], references: list[str], *options: str
) -> list[dict[str, Any]]:
    """The output of sacreBLEU's own command: its objects, sorted by the metric's name."""
    for name, texts in (("ours", translations), ("ref", references)):
        (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    metrics = [option for flag, option in pairwise(options) if flag == "-m"]
    rest = [option for i, option in enumerate(options) if option != "-m" and (i == 0 or options[i - 1] != "-m")]
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "ours", "-w", "10", "-f", "json", *rest, "-m", *metrics]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return found if isinstance(found, list) else [found]


def main() -> None:
    """Print the table, and exit with 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    found = corpora(parser.parse_args().data)
    differing = 0
    display("| pair | segments | BLEU | chrF2 | chrF2++ | TER |\n|---|---:|---:|---:|---:|---:|")
    seconds = [0.0, 0.0]
    for corpus in found:
        cells = []
        for name in NAMES:
            equal, value = _compared(name, corpus, seconds)
            differing += not equal
            cells.append(f"{value:.2f} {'=' if equal else '≠'}")
        display(f"| {corpus.pair} | {len(corpus.references)} | {' | '.join(cells)} |")
    display(f"\n{differing} differ; sacreBLEU's commands {seconds[0]:.0f} s, mtagent {seconds[1]:.0f} s")
    sys.exit(1 if differing else 0)


def _compared(name: Name, corpus: Corpus, seconds: list[float]) -> tuple[bool, float]:
    segments = [
        Segment(id=str(i), source="", source_lang="und", target_lang=corpus.target_lang, reference=reference)
        for i, reference in enumerate(corpus.references)
    ]
    began = time.perf_counter()
    ours = Overlap(name, corpus.target_lang).score(segments, corpus.translations)
    seconds[1] += time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        flags = flags_of(name, corpus.target_lang)
        (theirs,) = sacrebleu_scores(Path(folder), corpus.translations, corpus.references, *flags)
        seconds[0] += time.perf_counter() - began
    return (round(ours.value, 10), ours.signature) == (theirs["score"], theirs["signature"]), ours.value


if __name__ == "__main__":
    run(main)
