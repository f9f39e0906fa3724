"""COMET itself, with tiny checkpoints of every kind: in another environment, in its own, and by comet-score."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mtagent.analysis.score import ScoreOptions, score_texts
from mtagent.evaluators import metric as metric_evaluators
from mtagent.llm.gathering import together
from mtagent.metrics.comet import VARIABLE
from mtagent.metrics.protocol import make_metric
from mtagent.records import Rating, Segment
from tests.commands import ROOT, Done, Shell

PYTHON = os.environ.get(VARIABLE) or (sys.executable if importlib.util.find_spec("comet") else "")
pytestmark = [
    pytest.mark.extra,
    pytest.mark.comet,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PYTHON, reason=f"needs COMET, under this Python or the one that {VARIABLE} names"),
]

SOURCES = ["The cat sat here, and the dog barked.", "Pay five dollars now."]
SOURCES += [SOURCES[0], "Hi"]
SYSTEMS = {
    "a": ["El gato se sentó aquí, y el perro ladró.", "Paga cinco dólares ahora.", "El gato", ""],
    "b": ["Der Hund bellte den Briefträger an.", "Paga  cinco ½ 漢 dólares.", "El gato", "Hola"],
}
REFERENCES = [
    "El gato se sentó aquí, y el perro ladró al cartero.",
    "Paga cinco dólares.",
    "El gato, y el perro.",
    "¡Hola!",
]
SEGMENTS = [Segment(id=str(i), source=text, source_lang="en", target_lang="es") for i, text in enumerate(SOURCES)]
KINDS = {"comet": "regression", "cometkiwi": "unified", "xcomet": "xcomet"}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the checkpoints."""
    folder = tmp_path_factory.mktemp("tiny")
    command = [PYTHON, str(ROOT / "tests" / "tiny_comet.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@cache
def scored(name: str, checkpoint: Path) -> dict[str, tuple[float, ...]]:
    """The scores of the segments, by system, with ``python=`` as an option."""
    wanted = ScoreOptions(metrics=[f"{name}:model={checkpoint},python={PYTHON}"], paired=True)
    (entries,) = score_texts(SYSTEMS, REFERENCES, "es", sources=SOURCES, scoring=wanted).entries
    return {entry.system: entry.score.segments for entry in entries}


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The texts as files."""
    for name, texts in {"src": SOURCES, **SYSTEMS, "ref": REFERENCES}.items():
        shell.write(f"{name}.txt", *texts)
    return shell


@pytest.mark.parametrize(("name", "kind"), [*KINDS.items(), ("cometkiwi", "referenceless")])
def test_all_ways_to_comet_give_the_same_scores(name: str, kind: str, tiny: Path, files: Shell) -> None:
    here = scored(name, tiny / kind)
    assert len({*here["a"], *here["b"]}) == 7  # eight translations, two of which are equal
    assert here["a"][2] == here["b"][2]

    base = "score -s src.txt -t a.txt b.txt -r ref.txt -l en-es"
    written = files(f"{base} --comet-python {PYTHON} -m {name}:model={tiny / kind} --sentence-level -f json -w 15")
    assert written.code == 0, written.err
    lines = [json.loads(line) for line in written.out.splitlines()]
    assert {s: tuple(score["score"] for score in lines if score["system"] == s) for s in "ab"} == {
        s: pytest.approx(scores, abs=1e-14) for s, scores in here.items()
    }

    (files.folder / "scores.jsonl").write_text(written.out, encoding="utf-8")
    read = files(f"{base} -m scores-file:path=scores.jsonl --sentence-level -f json -w 15")
    assert [json.loads(line)["score"] for line in read.out.splitlines()] == [score["score"] for score in lines]


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_comet_score_gives_the_same_to_its_half_precision(name: str, kind: str, tiny: Path, files: Shell) -> None:
    """``comet-score`` 2.2.7 halves the model's precision; it also cuts the white space at the ends of a line."""
    checkpoint = tiny / kind / "checkpoints" / "model.ckpt"
    arguments = f"-s src.txt -t a.txt b.txt --gpus 0 --to_json x.json --model {checkpoint}".split()
    references = [] if kind == "unified" else ["-r", "ref.txt"]
    run = "import sys; from comet.cli.score import score_command; sys.argv[0] = 'comet-score'; score_command()"
    command = [PYTHON, "-c", run, *arguments, *references]
    done = subprocess.run(command, cwd=files.folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    read = files("score -s src.txt -t a.txt b.txt -r ref.txt -l en-es -m scores-file:path=x.json -sl -f json -w 9")
    assert read.code == 0, read.err
    theirs = [json.loads(line)["score"] for line in read.out.splitlines()]
    ours = scored(name, tiny / kind)
    assert [*ours["a"], *ours["b"]] == pytest.approx(theirs, abs=5e-3)


def in_own_environment(folder: Path, *arguments: str) -> Done:
    """``mtagent`` under the Python that has COMET."""
    kept = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "OPENAI_API_KEY")}
    environment = {**kept, "PYTHONPATH": str(ROOT), "MTAGENT_STORE": str(folder / "store.db")}
    command = [PYTHON, "-m", "mtagent", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return Done(done.returncode, done.stdout, done.stderr)


def test_where_the_extra_is_installed_no_other_python_is_needed(tiny: Path, files: Shell) -> None:
    if subprocess.run([PYTHON, "-c", "import aiohttp, pydantic, sacrebleu, click"], capture_output=True).returncode:
        pytest.skip(f"{PYTHON} has COMET, but not what mtagent itself needs: pip install 'mtagent[comet]' there")
    line = f"score -s src.txt -t a.txt b.txt -r ref.txt -l en-es -m comet:model={tiny / 'regression'} -sl -f json -w 15"
    own = in_own_environment(files.folder, *line.split())
    assert own.code == 0, own.err
    other = files(f"{line} --comet-python {PYTHON}")
    assert own.out == other.out
    assert own.err == other.err


@pytest.mark.parametrize(
    ("model", "message"),
    [("nobody/nothing", "cannot be downloaded: .*model=PATH"), ("broken.ckpt", "cannot be loaded: ")],
)
def test_a_model_that_cannot_be_had_is_named(model: str, message: str, files: Shell, monkeypatch: Any) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (files.folder / "broken.ckpt").write_bytes(b"no weights")
    done = files(f"score -s src.txt -t a.txt -r ref.txt -l en-es -m comet:model={model} --comet-python {PYTHON}")
    assert (done.code, done.out) == (1, "")
    assert re.search(f"{model} {message}", done.err)


@cache
def rated(kind: str, tiny: Path) -> list[Rating]:
    """The ratings of system b, asked for at once."""
    evaluator = getattr(metric_evaluators, kind)(model=str(tiny / KINDS[kind]), python=Path(PYTHON))

    async def all_at_once() -> list[Rating]:
        return await together(*map(evaluator.rate, SEGMENTS, SYSTEMS["b"]))

    return asyncio.run(all_at_once())


@pytest.mark.parametrize("kind", ["cometkiwi", "xcomet"])
def test_a_judge_rates_as_the_metric_scores_without_references(kind: str, tiny: Path) -> None:
    metric = make_metric(f"{kind}:model={tiny / KINDS[kind]},python={PYTHON}", "es")
    scores = metric.score(SEGMENTS, SYSTEMS["b"]).segments
    assert [rating.score for rating in rated(kind, tiny)] == pytest.approx(scores, abs=2e-6)


def test_spans_of_a_real_xcomet_model_stand_in_the_translation(tiny: Path) -> None:
    ratings = rated("xcomet", tiny)
    spans = [(error, text) for rating, text in zip(ratings, SYSTEMS["b"], strict=True) for error in rating.errors or ()]
    assert len(spans) > 3
    assert {error.severity for error, _ in spans} <= {"minor", "major", "critical"}
    for error, text in spans:
        assert text[error.start : error.end] == error.text == error.text.strip()
        assert not error.text.startswith("<s>")
