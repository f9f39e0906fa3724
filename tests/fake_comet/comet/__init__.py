"""Plays COMET for ``mtagent/metrics/comet_worker.py``, without torch: the model's name says how it behaves.

A score is a hundredth of the translation's length, and 0.5 more with a reference; ``words`` counts errors of the
simulator's translations instead. Every call is logged, as a line with
its samples, to the file that ``FAKE_COMET_LOG`` names.
"""

import json
import os
import re
import signal
import sys
import time
from types import SimpleNamespace
from typing import Any

sys.stdout.write("COMET's banner, on standard output\n")
os.write(1, b"and one from compiled code\n")

SAID = "the last words on standard error"


def download_model(model: str) -> str:
    """As COMET's: what really went wrong is hidden behind two other errors."""
    if model == "fake/hub":
        folder = os.path.join(os.environ["FAKE_HUB"], "models--fake--hub", "snapshots")  # noqa: PTH118
        return os.path.join(folder, os.environ.get("FAKE_HUB_NEWEST", "1" * 40), "checkpoints", "model.ckpt")  # noqa: PTH118
    if model != "fake/gone":
        return model
    try:
        raise OSError("the hub cannot be reached")
    except OSError:
        try:
            raise ValueError("no such legacy model")
        except ValueError:
            raise KeyError(f"Model {model!r} not supported by COMET.")  # noqa: B904  COMET has no "from" either


def load_from_checkpoint(path: str) -> "Model":
    """A model."""
    if path == "fake/pickle":
        raise RuntimeError("Weights only load failed:\nre-run with `weights_only` set to False")
    if path.endswith("kiwi.ckpt"):
        path = "fake/kiwi"
    if path.endswith(".ckpt"):
        path = "fake/regression"
    return Model(path.removeprefix("fake/"))


class Model:
    """Behaves as ``kind`` says."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.hparams = SimpleNamespace()
        if kind == "kiwi":
            self.hparams.input_segments = ["mt", "src"]
        if kind == "xcomet":
            self.hparams.input_segments = ["mt", "src", "ref"]

    def requires_references(self) -> bool:
        """All do, but for two and those that misbehave."""
        return self.kind == "regression"

    def predict(self, samples: list[dict[str, str]], **options: Any) -> dict[str, Any]:
        """Scores; ``xcomet`` marks each "bad" with the space before it, and "<s>" where the text begins with "!"."""
        with open(os.environ["FAKE_COMET_LOG"], "a", encoding="utf-8") as log:  # noqa: PTH123
            log.write(json.dumps([samples, options]) + "\n")
        sys.stdout.write("a progress bar\n")
        sys.stderr.write(f"{SAID}\n")
        self.misbehave()
        scores = [self.score(**sample) for sample in samples]
        if self.kind == "few":
            scores.pop()
        if self.kind != "xcomet":
            return {"scores": scores, "system_score": 0}
        return {"scores": scores, "metadata": {"error_spans": [self.spans(sample["mt"]) for sample in samples]}}

    def misbehave(self) -> None:
        """What ends or stops a process."""
        if self.kind == "crash":
            os._exit(3)
        if self.kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "hang":
            time.sleep(60)

    def score(self, src: str, mt: str, ref: "str | None" = None) -> float:
        """A score, unless the translation asks for something else."""
        if mt in ("nan", "inf"):
            return float(mt)
        if mt == "raise":
            raise ValueError("COMET does not like\nthis text")
        if self.kind == "words":
            return 1 - len(re.findall("absurdo|errado|ajeno|dudoso|exagerado", mt)) / 10 - len(mt) / 10_000
        if mt == "third":
            return 1 / 3
        return len(mt) / 100 + (0.5 if ref is not None else 0)

    def spans(self, mt: str) -> list[dict[str, Any]]:
        """As XCOMET writes them: offsets take in the space before a word, the text is put together from tokens."""
        found = [
            {"text": f"{one[0].strip()}<unk>", "severity": "major", "confidence": 0.875, "start": one.start(),
             "end": one.end()}
            for one in re.finditer(" ?bad", mt)
        ]  # fmt: skip
        if mt.startswith("!"):
            found.insert(0, {"text": "<s>", "confidence": 1.0, "severity": "critical", "start": 0, "end": 0})
        for text, start, end in (("outside", 3, 30), ("before", -1, 3), ("a  gap", 1, 3)):
            if mt == text:
                found.append({"text": "x", "confidence": 1.0, "severity": "minor", "start": start, "end": end})
        return found
