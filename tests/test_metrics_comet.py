"""The metrics comet, cometkiwi and xcomet, in a process of their own with a fake COMET in it."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.analysis.score import ScoreOptions, score_texts
from mtagent.errors import ConfigError, InputError, MetricError
from mtagent.metrics.comet import (
    LICENCES,
    PYTHONS,
    REQUIREMENTS,
    UNKNOWN_LICENCE,
    USUAL,
    VARIABLE,
    WORKER,
    CometModel,
    Texts,
    licence_notes,
)
from mtagent.metrics.protocol import make_metric
from tests.comet_environment import BARE, REFERENCES, SEGMENTS, SOURCES, Fake, alive, until, worker_of
from tests.commands import ROOT, TRANSLATIONS, Shell


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Another environment."""
    return Fake(tmp_path)


# --- scores


def test_scores_come_back_whatever_comet_prints(fake: Fake) -> None:
    texts = ["a" * 10, "", "b" * 20]
    score = fake.metric("comet", model="fake/regression", batch_size=3, gpus="1").score(SEGMENTS, texts)
    assert score.segments == pytest.approx((0.6, 0.5, 0.7))
    assert (score.metric, score.value) == ("COMET", pytest.approx(0.6))
    assert score.signature == "model:fake/regression|comet:unknown|torch:unknown|refs:1|agg:mean|version:0.1.0"
    samples = zip(SOURCES, texts, REFERENCES, strict=True)
    assert fake.calls == [[{"src": source, "mt": text, "ref": reference} for source, text, reference in samples]]
    assert fake.options == {"batch_size": 3, "gpus": 1, "num_workers": 0, "progress_bar": False}


def test_a_model_that_needs_no_references_is_given_none_and_knows_no_text_by_them(fake: Fake) -> None:
    other = SEGMENTS[0].model_copy(update={"reference": "Otra cosa."})
    score = fake.metric("cometkiwi", model="fake/kiwi").score([SEGMENTS[0], other, BARE[0]], ["x"] * 3)
    assert "|refs:0|" in score.signature
    assert fake.calls == [[{"src": SOURCES[0], "mt": "x"}]]


def test_a_model_that_can_do_without_references_gets_all_or_none(fake: Fake) -> None:
    metric = fake.metric("xcomet", model="fake/xcomet")
    assert "|refs:1|" in metric.score(SEGMENTS, SOURCES).signature
    assert "|refs:0|" in metric.score(BARE, SOURCES).signature
    with pytest.raises(ConfigError, match="segment s1: has no reference"):
        metric.score([SEGMENTS[0], *BARE[1:]], SOURCES)


def test_many_texts_go_in_parts(fake: Fake) -> None:
    segments = [SEGMENTS[0].model_copy(update={"source": f"source {i}"}) for i in range(2_001)]
    score = fake.metric("comet", model="fake/regression").score(segments, ["x"] * 2_001)
    assert len(score.segments) == 2_001
    assert [len(call) for call in fake.calls] == [1_000, 1_000, 1]


def test_a_released_model_is_loaded_again_for_new_texts_alone(fake: Fake) -> None:
    metric = fake.metric("comet", model="fake/regression")
    metric.score(SEGMENTS, SOURCES)
    process = worker_of(fake)
    metric.release()
    assert not alive(process)
    metric.score(SEGMENTS, SOURCES)
    metric.score(SEGMENTS, REFERENCES)
    assert len(fake.calls) == 2


def test_several_systems_share_one_process_which_ends_and_are_tested(fake: Fake) -> None:
    scoring = ScoreOptions(metrics=["comet:model=fake/regression"], paired=True, comet_python=fake.python)
    systems = {"a": ["x", "xx", "xxx"], "b": ["x", "xx", "xxxx"], "c": ["x", "xx", "xxx"]}
    (group,) = score_texts(systems, REFERENCES, "es", sources=SOURCES, scoring=scoring).entries
    assert [entry.score.value for entry in group] == pytest.approx([0.52, 0.52 + 0.01 / 3, 0.52])
    assert [entry.p_value is None for entry in group] == [True, False, True]
    assert group[0].score.signature.startswith("model:fake/regression|bs:1000|seed:12345|")
    assert [len(call) for call in fake.calls] == [3, 1], "equal texts are scored once"
    with pytest.raises(AssertionError, match="no worker runs"):
        worker_of(fake)


# --- where it runs


@pytest.mark.skipif(importlib.util.find_spec("comet") is not None, reason="COMET is installed here")
def test_without_comet_the_ways_out_are_named(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, " ")
    with pytest.raises(ConfigError, match=r"`mtagent comet setup`.*--comet-python.*comet_python, MTAGENT_COMET_PYTHON"):
        make_metric("comet", "de")
    shell.write("ref.txt", *REFERENCES)
    done = shell("score -s en.txt -t es.txt -r ref.txt -l en-es -m comet")
    assert (done.code, done.err.splitlines()[0]) == (1, "mtagent: COMET model Unbabel/wmt22-comet-da: Apache-2.0")


def test_an_option_goes_before_the_command_line_and_that_before_the_environment(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = fake.python, Path("/bin/false")
    monkeypatch.setenv(VARIABLE, str(good))
    make_metric("comet:model=fake/regression", "es").score(SEGMENTS, SOURCES)
    monkeypatch.setenv(VARIABLE, str(bad))
    make_metric("comet:model=fake/regression", "es", comet_python=good).score(SEGMENTS, SOURCES)
    make_metric(f"comet:model=fake/regression,python={good}", "es", comet_python=bad).score(SEGMENTS, SOURCES)
    assert len(fake.calls) == 3


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("/no/such/python", "/no/such/python: no such program; name the Python"),
        ("~nobody-of-this-name/python", "~nobody-of-this-name/python: no such program"),
        ("/bin/echo", "/bin/echo: expected an answer of COMET, got '/"),
        ("/bin/false", "/bin/false: COMET ended with exit code 1"),
        ("{folder}/text", "text: cannot be run: Exec format error"),
    ],
)
def test_what_is_no_python_with_comet_is_named(python: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"\0")
    (tmp_path / "text").chmod(0o755)
    spec = f"comet:python={python.format(folder=tmp_path)},model=fake/regression"
    with pytest.raises(ConfigError, match=message):
        make_metric(spec, "es").score(SEGMENTS, SOURCES)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (None, r"COMET is not installed in .*python.*: `mtagent comet setup` makes"),
        (
            "raise ImportError('no pkg_resources\\n' + 'x' * 500)",
            "^COMET cannot be imported: ImportError: no pkg_resources x{1,300}; it needs 'setuptools<81' there$",
        ),
    ],
)
def test_a_python_in_which_comet_is_missing_or_broken_is_told(module: str | None, message: str, tmp_path: Path) -> None:
    bare = Fake(tmp_path, has_comet=False)
    if module is not None:
        (tmp_path / "comet").mkdir()
        (tmp_path / "comet" / "__init__.py").write_text(module)
    with pytest.raises(ConfigError, match=message):
        bare.metric("comet", model="fake/regression").score(SEGMENTS, SOURCES)


def test_the_worker_needs_no_newer_python_than_comet() -> None:
    tree = ast.parse(WORKER.read_text(encoding="utf-8"), feature_version=(3, 8))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports]
    assert {str(name).partition(".")[0] for name in names} - set(sys.stdlib_module_names) == {
        "comet",
        "huggingface_hub",  # comes with COMET
    }


def test_the_worker_ends_with_whoever_asked_it_even_if_that_is_killed(fake: Fake) -> None:
    script = (
        "from pathlib import Path\n"
        "from mtagent.metrics.comet import CometModel, Texts\n"
        f"model = CometModel('fake/hang', python=Path({str(fake.python)!r}), batch_size=1, gpus='0', timeout=None)\n"
        "model.predict([Texts('a', 'b')])\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    try:
        until(lambda: bool(fake.calls))
        worker = worker_of(fake)
        assert alive(worker)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    until(lambda: not alive(worker))


# --- what fails


@pytest.mark.parametrize(
    ("name", "options", "translations", "error", "message"),
    [
        ("cometkiwi", {"model": "fake/nan"}, ["a", "nan", "c"], MetricError, "segment s1: fake/nan gave the score nan"),
        ("cometkiwi", {"model": "fake/inf"}, ["a", "b", "inf"], MetricError, "segment s2: fake/inf gave the score inf"),
        ("cometkiwi", {"model": "fake/few"}, ["a", "b", "c"], MetricError, "fake/few gave 2 scores for 3 translations"),
        (
            "cometkiwi", {"model": "fake/kiwi"}, ["a", "raise", "c"], MetricError,
            "COMET cannot score: ValueError: COMET does not like this text",
        ),
        (
            "comet", {"model": "fake/crash"}, ["a", "b", "c"], ConfigError,
            "fake-python: COMET ended with exit code 3. It wrote: .*the last words on standard error$",
        ),
        (
            "comet", {"model": "fake/killed"}, ["a", "b", "c"], ConfigError,
            r"COMET was killed \(signal 9\): was there enough memory\?. It wrote: .*the last words",
        ),
        (
            "comet", {"model": "fake/hang", "timeout": 0.5}, ["a", "b", "c"], ConfigError,
            "gave no answer within 0.5 seconds; give it longer with the option timeout=SECONDS",
        ),
        (
            "comet", {"model": "fake/gone"}, ["a", "b", "c"], ConfigError,
            r"fake/gone cannot be downloaded: OSError: the hub cannot be reached; .*model=PATH.*log in",
        ),
        (
            "comet", {"model": "fake/pickle"}, ["a", "b", "c"], ConfigError,
            "fake/pickle cannot be loaded: RuntimeError: Weights only .*TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1",
        ),
    ],
)  # fmt: skip
def test_a_failure_is_an_error_never_a_score(
    fake: Fake, name: str, options: dict[str, Any], translations: Sequence[str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fake.metric(name, **options).score(SEGMENTS, translations)


def test_a_question_that_nobody_reads_is_given_up_too(fake: Fake) -> None:
    model = CometModel("fake/kiwi", python=fake.python, batch_size=None, gpus="0", timeout=1)
    model.predict([Texts("a", "b")])
    os.kill(worker_of(fake), signal.SIGSTOP)
    with pytest.raises(ConfigError, match="gave no answer within 1 seconds"):
        model.predict([Texts("a", "more than a pipe holds" * 10_000)])


def test_after_a_failure_another_process_takes_over(fake: Fake) -> None:
    metric = fake.metric("cometkiwi", model="fake/kiwi")
    metric.score(BARE, SOURCES)
    os.kill(worker_of(fake), signal.SIGKILL)
    with pytest.raises(ConfigError, match="was killed"):
        metric.score(BARE, REFERENCES)
    assert metric.score(BARE, REFERENCES).value > 0


def test_missing_texts_are_named_with_the_way_out(fake: Fake) -> None:
    metric = fake.metric("comet", model="fake/regression")
    with pytest.raises(ConfigError, match=r"segment s0: has no reference.*\(-r FILE\); cometkiwi scores without"):
        metric.score(BARE, SOURCES)
    with pytest.raises(ConfigError, match="comet compares translations with their sources, and there are none: add -s"):
        metric.score([segment.model_copy(update={"source": ""}) for segment in SEGMENTS], SOURCES)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("no/such/file", "no/such/file: no such checkpoint; models on the hub have names like Unbabel/wmt22-comet-da"),
        ("gone.ckpt", "gone.ckpt: no such checkpoint"),
        ("~nobody-of-this-name/model.ckpt", "~nobody-of-this-name/model.ckpt: no such checkpoint"),
        ("x" * 5_000, "x: cannot be opened: file name too long"),
        ("empty", "empty: holds 0 checkpoints"),
        ("two", "two: holds 2 checkpoints"),
    ],
)
def test_a_path_without_a_checkpoint_is_named_at_once(
    fake: Fake, model: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("empty", "two"):
        (tmp_path / folder).mkdir()
    for name in ("a.ckpt", "b.ckpt"):
        (tmp_path / "two" / name).touch()
    with pytest.raises(InputError, match=message):
        fake.metric("comet", model=model)


@pytest.mark.parametrize("where", ["tiny/checkpoints/model.ckpt", "tiny", "tiny/checkpoints"])
def test_a_checkpoint_is_a_file_or_its_folder_and_is_hashed(fake: Fake, where: str, tmp_path: Path) -> None:
    (tmp_path / "tiny" / "checkpoints").mkdir(parents=True)
    (tmp_path / "tiny" / "checkpoints" / "model.ckpt").write_bytes(b"weights")
    score = fake.metric("comet", model=str(tmp_path / where)).score(SEGMENTS, SOURCES)
    assert score.signature.startswith("model:tiny|sha256:9a129038d9a0|")


def test_a_checkpoint_in_the_hub_s_cache_is_a_link_beside_its_settings(fake: Fake, tmp_path: Path) -> None:
    checkpoint = tmp_path / "models--U--m" / "snapshots" / "0123456789abcdef" / "checkpoints" / "model.ckpt"
    checkpoint.parent.mkdir(parents=True)
    (tmp_path / "blob").write_bytes(b"weights")
    checkpoint.symlink_to(tmp_path / "blob")
    for model in (checkpoint, checkpoint.parent.parent, tmp_path / "models--U--m"):
        score = fake.metric("comet", model=str(model)).score(SEGMENTS, SOURCES)
        assert score.signature.startswith("model:0123456789abcdef|sha256:9a129038d9a0|revision:0123456789ab|")


@pytest.mark.parametrize("option", ["batch_size=0", "timeout=0", "gpus=2", "gpus=-1", "batch=2"])
def test_options_that_cannot_be_are_refused(fake: Fake, option: str) -> None:
    with pytest.raises(ConfigError):
        make_metric(f"comet:python={fake.python},{option}", "es")


# --- what was scored before


def checkpoint(folder: Path, name: str, weights: bytes = b"weights") -> Path:
    """A checkpoint as COMET distributes it, which the fake COMET takes for a model with references."""
    path = folder / name / "checkpoints" / "model.ckpt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(weights)
    return path


def test_texts_that_a_checkpoint_has_scored_are_not_scored_again(shell: Shell, fake: Fake) -> None:
    shell.write("ref.txt", *REFERENCES)
    path = checkpoint(shell.folder, "one")
    line = f"score -s en.txt -t es.txt -r ref.txt -l en-es -f json --comet-python {fake.python} -m comet:model="
    first = shell(f"{line}{path}")
    assert (shell(f"{line}{path}").out, len(fake.calls)) == (first.out, 1)
    shell.write("es.txt", "El gato.", *TRANSLATIONS[1:])
    shell(f"{line}{path}")
    assert [sample["mt"] for sample in fake.calls[-1]] == ["El gato."], "the only new text"
    shell.write("ref.txt", "Otra cosa.", *REFERENCES[1:])
    shell(f"{line}{path}")
    assert [sample["ref"] for sample in fake.calls[-1]] == ["Otra cosa."]
    assert len(fake.calls) == 3
    assert b"gato" not in (shell.folder / "data" / "mtagent" / "scores.db").read_bytes(), "hashes, no texts"


def test_other_weights_and_other_settings_beside_them_are_another_model(fake: Fake, tmp_path: Path) -> None:
    for weights, settings in ((b"1", "a"), (b"2", "a"), (b"2", "b"), (b"1", "a")):
        path = checkpoint(tmp_path, "one", weights)
        (tmp_path / "one" / "hparams.yaml").write_text(settings)
        fake.metric("comet", model=str(path)).score(SEGMENTS, SOURCES)
    assert len(fake.calls) == 3


def test_a_judge_and_a_metric_share_what_they_have_scored(shell: Shell, fake: Fake) -> None:
    path = checkpoint(shell.folder, "one")
    path.rename(path.with_name("kiwi.ckpt"))
    spec = f"cometkiwi:model={path.with_name('kiwi.ckpt')}"
    line = f"-s en.txt -t es.txt -l en-es --comet-python {fake.python}"
    assert shell(f"score {line} -m {spec}").code == 0
    rated = shell(f"rate {line} --evaluator {spec} -o r.jsonl --name r")
    assert (rated.code, len(fake.calls)) == (0, 1), rated.err


@pytest.mark.parametrize("newer", [False, True])
def test_a_model_on_the_hub_is_known_by_its_revision(newer: bool, tmp_path: Path, monkeypatch: Any) -> None:
    """If the hub has a newer one, all texts are scored with that, not only the new ones."""
    hub = Fake(tmp_path)
    (tmp_path / "hub" / "models--fake--hub" / "refs").mkdir(parents=True)
    main = tmp_path / "hub" / "models--fake--hub" / "refs" / "main"
    main.write_text("1" * 40)
    monkeypatch.setenv("FAKE_HUB", str(tmp_path / "hub"))
    checkpoint(tmp_path / "hub" / "models--fake--hub" / "snapshots", "1" * 40)
    checkpoint(tmp_path / "hub" / "models--fake--hub" / "snapshots", "2" * 40)
    first = hub.metric("comet", model="fake/hub").score(SEGMENTS[:2], ["x", "y"])
    assert f"|revision:{'1' * 12}|" in first.signature
    if newer:
        monkeypatch.setenv("FAKE_HUB_NEWEST", "2" * 40)
    second = hub.metric("comet", model="fake/hub").score(SEGMENTS[:2], ["x", "z"])
    scored = [[sample["mt"] for sample in call] for call in hub.calls]
    assert f"|revision:{('2' if newer else '1') * 12}|" in second.signature
    assert scored == ([["x", "y"], ["z"], ["x", "z"]] if newer else [["x", "y"], ["z"]])


def test_a_damaged_file_of_scores_is_reported_and_costs_no_score(shell: Shell, fake: Fake, caplog: Any) -> None:
    shell.write("ref.txt", *REFERENCES)
    path = checkpoint(shell.folder, "one")
    damaged = shell.folder / "data" / "mtagent" / "scores.db"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"no database" * 100)
    line = f"score -s en.txt -t es.txt -r ref.txt -l en-es --comet-python {fake.python} -m comet:model={path}"
    done = shell(line)
    assert (done.code, len(fake.calls)) == (0, 1)
    assert caplog.text.count("scores.db: scores are not remembered: file is not a database; delete the file") == 1


# --- the setting, and the environment of COMET's own


def test_the_setting_names_the_python_for_metrics_and_evaluators_once_trusted(shell: Shell, fake: Fake) -> None:
    shell.write("ref.txt", *REFERENCES)
    shell.write("mtagent.toml", f"comet_python = '{fake.python.name}'")
    lines = [
        "score -s en.txt -t es.txt -r ref.txt -l en-es -m comet:model=fake/regression",
        "rate -s en.txt -t es.txt -l en-es --evaluator cometkiwi:model=fake/kiwi -o r.jsonl --name r",
        "postedit -s en.txt -t es.txt -l en-es --judge cometkiwi:model=fake/kiwi -o better.txt --name p",
        "compare p -m cometkiwi:model=fake/kiwi",
        "report p -m cometkiwi:model=fake/kiwi --format json",
    ]
    for line in lines[:3]:
        refused = shell(line)
        assert refused.code == 1
        assert 'mtagent.toml: comet_python = "fake-python": runs this program' in refused.err
    assert fake.calls == []
    assert shell("config trust").code == 0
    for number, line in enumerate(lines):
        done = shell(line)
        assert done.code == 0, done.err
        assert len(fake.calls) > number, line
    other = shell(f"{lines[0]} --comet-python /bin/false")
    assert "/bin/false: COMET ended" in other.err, "an option overrides the setting"


def wheels(folder: Path, module: str) -> None:
    """Wheels of everything that `mtagent comet setup` installs, without content except ``comet``."""
    for requirement in REQUIREMENTS:
        name, _, number = requirement.partition("==")
        stem = f"{name.replace('-', '_')}-{number}"
        with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
            info = f"{stem}.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
            if name == "unbabel-comet":
                wheel.writestr("comet/__init__.py", module)


@pytest.mark.skipif(not PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1], reason="COMET supports no such Python")
def test_the_setup_makes_an_environment_that_is_found_without_a_setting(shell: Shell, monkeypatch: Any) -> None:
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(shell.folder), "CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    wheels(shell.folder, "raise ImportError('no pkg_resources')")
    broken = shell("comet setup")
    python = shell.folder / "data" / "mtagent" / "comet" / "bin" / "python"
    assert broken.code == 1
    assert f"{python}: COMET cannot be imported. It wrote: " in broken.last
    assert "ImportError: no pkg_resources" in broken.last
    module = "def download_model(model): return model\ndef load_from_checkpoint(path): raise OSError('no weights')\n"
    (python.parents[1] / "lib").joinpath(
        f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages", "comet", "__init__.py"
    ).write_text(module)
    done = shell("comet setup")
    assert (done.code, done.out) == (0, ""), done.err
    assert "mtagent: COMET 2.2.7 works there, with torch 2.13.0" in done.err
    scored = shell("score -s en.txt -t es.txt -r es.txt -l en-es -m comet:model=some/model")
    assert "some/model cannot be loaded: OSError: no weights" in scored.last, "the process ran there"
    elsewhere = shell(f"comet setup {python.parents[1].parent}")
    assert (elsewhere.code, "is not a virtual environment" in elsewhere.last) == (1, True)
    other = shell.folder / "other"
    python.parents[1].rename(other)
    moved = shell("comet setup other")
    assert moved.out == f'comet_python = "{other}/bin/python"\n', moved.err


@pytest.mark.parametrize(
    ("prints", "message"),
    [("3 9", "is Python 3.9, and COMET needs 3.10 to 3.12: name one with --python"), ("", "cannot be run")],
)
def test_a_python_that_comet_does_not_support_is_refused(prints: str, message: str, shell: Shell) -> None:
    python = shell.folder / "some-python"
    python.write_text(f"#!/bin/sh\n[ -n '{prints}' ] && echo {prints}\n")
    python.chmod(0o755)
    done = shell(f"comet setup env --python {python}")
    assert done.code == 1
    assert f"{python}: {message}" in done.last
    assert not (shell.folder / "env").exists()


# --- the command line


def test_the_command_scores_with_another_python_and_tells_the_licence(shell: Shell, fake: Fake) -> None:
    shell.write("ref.txt", *REFERENCES)
    line = f"score -s en.txt -t es.txt -r ref.txt -l en-es --comet-python {fake.python} -f json"
    done = shell(f"{line} -m comet:model=fake/regression cometkiwi:model=fake/kiwi -w 4")
    assert [(score["name"], score["score"]) for score in json.loads(done.out)] == [
        ("COMET", 0.6933), ("COMETKiwi", 0.1933)
    ]  # fmt: skip
    assert done.err.splitlines()[0] == f"mtagent: COMET model fake/regression: {UNKNOWN_LICENCE}"
    written = shell(f"{line} -m comet:model=fake/regression --sentence-level -w 15").out
    (shell.folder / "scores.jsonl").write_text(written, encoding="utf-8")
    read = json.loads(shell("score -t es.txt -l en-es -m scores-file:path=scores.jsonl -f json -w 4").out)
    assert (read["name"], read["score"]) == ("COMET", 0.6933)


def test_a_comparison_starts_the_other_python_once_and_shows_four_digits(shell: Shell, fake: Fake) -> None:
    shell.write("ref.txt", *REFERENCES)
    assert shell.postedit("-r ref.txt --name r -o o.txt -q").code == 0
    counting = shell.folder / "counting-python"
    counting.write_text(f"#!/bin/sh\necho >> '{shell.folder}/starts'\nexec '{fake.python}' \"$@\"\n")
    counting.chmod(0o755)
    comet = f"-m chrf,comet:model=fake/regression --deciding COMET --comet-python {counting}"
    rows = json.loads(shell(f"compare r --by length,document -ci {comet} -f json").out)["rows"]
    assert [row["scores"][1]["metric"] for row in rows] == ["COMET"] * 3
    assert rows[1]["scores"][1]["difference"] == pytest.approx(0.01 / 3), "one character more in one of three texts"
    assert len(shell.read("starts")) == 1
    assert [len(call) for call in fake.calls] == [3, 1], "the text that a stage changed, and none twice"
    out = shell(f"compare r --by length -ci {comet}").out
    assert re.search(r"^postedit  \d\d\.\d\d +\d+\.\d\d +\+\d\.\d\d  0\.\d{4}  0\.\d{4}  \+0\.0033$", out, re.MULTILINE)
    assert "0.0033" not in shell(f"compare r {comet} -w 2").out
    assert "+0.0033" in shell(f"report r {comet} --format markdown").out


def test_licences_of_models_in_metrics_and_evaluators() -> None:
    assert licence_notes(["bleu", "comet", "comet:batch_size=8", "xcomet:model=/my/model.ckpt"]) == [
        "COMET model Unbabel/wmt22-comet-da: Apache-2.0",
        f"COMET model /my/model.ckpt: {UNKNOWN_LICENCE}",
    ]
    assert all("not for commercial use" in LICENCES[USUAL[name]] for name in ("cometkiwi", "xcomet"))
