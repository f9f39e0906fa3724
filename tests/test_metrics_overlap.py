"""BLEU, chrF, chrF++ and TER: sacreBLEU's numbers and signatures, to the last digit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import ConfigError
from mtagent.metrics.overlap import NAMES, Name, Overlap
from mtagent.records import Segment

OURS = ["Das ist ein Test.", "", "Der Hund schläft.", "Der Hund schläft."]
REFERENCES = ["Dies ist ein Test!", "Etwas.", "Der Hund schläft.", "Der Hund schläft."]


def segments(references: list[str], target_lang: str = "de") -> list[Segment]:
    return [
        Segment(id=str(i), source="x", source_lang="en", target_lang=target_lang, reference=text)
        for i, text in enumerate(references)
    ]


def sacrebleu(folder: Path, ours: list[str], references: list[str], *options: str) -> list[dict[str, Any]]:
    """What sacreBLEU's own command says."""
    for name, texts in (("ours", ours), ("ref", references)):
        (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "ours", "-w", "10", "-f", "json", *options]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return found if isinstance(found, list) else [found]


FLAGS: dict[Name, list[str]] = {
    "bleu": ["-m", "bleu"], "chrf": ["-m", "chrf"], "ter": ["-m", "ter"],
    "chrf++": ["-m", "chrf", "--chrf-word-order", "2"],
}  # fmt: skip
ASIAN = ["--ter-asian-support", "--ter-normalized"]


@pytest.mark.parametrize("name", NAMES)
def test_small_texts_score_as_with_sacrebleu(name: Name, tmp_path: Path) -> None:
    (theirs,) = sacrebleu(tmp_path, OURS, REFERENCES, *FLAGS[name])
    ours = Overlap(name, "de").score(segments(REFERENCES), OURS)
    assert round(ours.value, 10) == theirs["score"]
    assert ours.signature == theirs["signature"]
    assert len(ours.segments) == len(OURS)
    assert ours.segments[2] == ours.segments[3] == (0 if name == "ter" else pytest.approx(100))


def test_a_missing_reference_is_named() -> None:
    with pytest.raises(ConfigError, match="segment 7: has no reference"):
        Overlap("bleu", "de").score([Segment(id="7", source="x", source_lang="en", target_lang="de")], ["y"])


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NAMES)
def test_documents_of_eleven_language_pairs_score_as_with_sacrebleu(name: Name, data: Path, tmp_path: Path) -> None:
    by_pair: dict[str, list[dict[str, Any]]] = {}
    for line in (data / "wmt24_docs.jsonl").read_text(encoding="utf-8").split("\n"):
        if line:
            document = json.loads(line)
            by_pair.setdefault(document["lp"], []).append(document)
    assert len(by_pair) == 11
    for pair, documents in by_pair.items():
        target = pair.split("-")[1]
        (reference_name,) = {min(document["refs"]) for document in documents}
        references = [_line(text) for document in documents for text in document["refs"][reference_name]]
        system = min(documents[0]["hyps"])
        ours = [_line(text) for document in documents for text in document["hyps"].get(system, document["src"])]
        flags = [*FLAGS[name], *(["-tok", Overlap("bleu", target).tokenizer] if name == "bleu" else [])]
        flags += ASIAN if name == "ter" and target[:2] in ("zh", "ja") else []
        (theirs,) = sacrebleu(tmp_path, ours, references, *flags)
        score = Overlap(name, target).score(segments(references, target), ours)
        assert (pair, round(score.value, 10), score.signature) == (pair, theirs["score"], theirs["signature"])


def _line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.data
def test_ter_capped_at_one_is_the_official_hter(data: Path) -> None:
    rows = [json.loads(line) for line in (data / "mlqe_pe.jsonl").read_text(encoding="utf-8").split("\n") if line]
    assert len(rows) == 600
    ter = Overlap("ter", "xx", asian=False)
    score = ter.score(segments([row["pe"] for row in rows]), [row["mt"] for row in rows])
    differing = [
        row for row, value in zip(rows, score.segments, strict=True) if abs(min(value / 100, 1) - row["hter"]) > 1e-6
    ]
    assert differing == []
