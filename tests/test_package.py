"""What is published: the public names, quick start-up, and the wheel in a clean environment."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

import mtagent
from mtagent import records
from mtagent.chain.guards import GUARDS
from mtagent.config import GUARD_NAMES
from mtagent.jobs import demo as sample
from mtagent.llm import prompts

ROOT = Path(__file__).parents[1]


def test_the_public_names_are_these() -> None:
    assert mtagent.__all__ == [
        "LLM", "Agent", "Call", "Chain", "Completion", "Config", "Draft", "Edit", "ErrorSpan", "Evaluator", "Message",
        "MtagentError", "Plan", "Rated", "Rating", "Segment", "Step", "Store", "Term", "Translator", "Usage", "improve",
        "make_segments", "rate", "revert",
    ]  # fmt: skip
    for name in mtagent.__all__:
        assert getattr(mtagent, name).__name__ == name


def test_the_public_records_are_those_of_the_module() -> None:
    assert all(hasattr(records, name) for name in records.__all__)
    for name in set(records.__all__) & set(mtagent.__all__):
        assert getattr(mtagent, name) is getattr(records, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Agnt'"):
        mtagent.Agnt  # noqa: B018


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from mtagent.cli import cli;"
        "result = CliRunner().invoke(cli, ['--help']); assert result.exit_code == 0, result.output;"
        "print(sorted({'openai', 'pydantic', 'sacrebleu', 'numpy', 'regex', 'aiohttp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_python_m_mtagent_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mtagent", "--version"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == f"mtagent, version {mtagent.__version__}"


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_wheel_holds_every_prompt_and_the_sample(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT], check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", wheel], check=True, capture_output=True)
    code = (
        "import mtagent; from mtagent.jobs import demo; from mtagent.llm import prompts;"
        "print(*[prompts.load(name).signature for name in prompts.names()]);"
        "print(all(demo.sample_path(name).is_file() for name in demo.SAMPLE_FILES), mtagent.__file__)"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    signatures, rest = done.stdout.splitlines()
    assert signatures.split() == [prompts.load(name).signature for name in prompts.names()]
    assert rest.startswith("True ")
    assert str(tmp_path) in rest
    demo = subprocess.run(
        [tmp_path / "env" / "bin" / "mtagent", "demo"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "No model was called" in demo.stdout
    assert sample.sample_path("demo.json").is_file()


def test_the_help_names_all_guards() -> None:
    assert tuple(GUARDS) == GUARD_NAMES
