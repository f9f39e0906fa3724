"""What the documents show is true: transcripts are run again, tables are made again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mtagent.chain.guards import GUARDS
from mtagent.config import Config, load
from mtagent.evaluators.named import EVALUATORS
from mtagent.llm import prompts

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TRANSCRIPTS = [
    pytest.param(command, output, id=command[:40])
    for block in re.findall(r"```console\n(\$ .*?)```", README, re.DOTALL)
    for command, output in re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", block)
]


@pytest.mark.parametrize(("command", "output"), TRANSCRIPTS)
def test_the_transcripts_in_the_readme_are_true(command: str, output: str, tmp_path: Path) -> None:
    python = f"{sys.executable} -m mtagent"
    first = (
        "postedit -s mtagent/sample/sample.en.txt -t mtagent/sample/sample.apertium.es.txt -l en-es -o better.es.txt -q"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MTAGENT_STORE": str(tmp_path / "store.db")}
    shutil.copytree(
        ROOT / "mtagent" / "sample", tmp_path / "mtagent" / "sample", ignore=shutil.ignore_patterns("*.py*")
    )
    if not command.startswith("mtagent"):
        subprocess.run(f"{python} {first}", shell=True, cwd=tmp_path, env=environment, check=True)
    command = re.sub(r"^mtagent ", f"{python} ", command)
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment, check=True, text=True, stdout=-1, stderr=subprocess.STDOUT
    )
    assert _shown(done.stdout) == _shown(output)


def _shown(text: str) -> list[str]:
    """The lines without a progress bar's, and without the tenths of a second that a table ends in."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and ", changed=" not in line]
    return [re.sub(r"(\$\d\.\d{4} +)\d\.\d$", r"\1", line) for line in lines]


def test_there_are_transcripts_to_check() -> None:
    assert len(TRANSCRIPTS) >= 4


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert [name for name in Config.model_fields if f"`{name}`" not in page and f"[{name}]" not in page] == []


def test_the_configuration_file_of_the_page_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mtagent.toml").write_text(block, encoding="utf-8")
    config = load(tmp_path / "mtagent.toml")
    assert config.model_for("judge").model == "qwen3-32b"
    assert config.glossary == tmp_path / "terms.csv"


def test_every_guard_and_prompt_is_documented() -> None:
    page = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
    assert [name for name in GUARDS if f"`{name}`" not in page] == []
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert [name for name in prompts.names() if f"`{name}.toml`" not in page] == []


def test_the_tests_that_the_page_on_the_prototypes_names_exist() -> None:
    page = (ROOT / "docs" / "prototypes.md").read_text(encoding="utf-8")
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    assert [name for name in re.findall(r"`(test_\w+)`", page) if f"def {name}(" not in tests] == []


def test_links_between_the_documents_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    missing = [
        f"{page.name}: {link}"
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert missing == []


@pytest.mark.data
def test_the_table_of_located_spans_is_true(data: Path) -> None:
    done = subprocess.run(
        [sys.executable, "wmt/locating.py", "--data", data], cwd=ROOT, check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout in (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")


def test_the_table_of_tokens_is_true() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.tokens"], cwd=ROOT, check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout in (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")


def test_every_evaluator_has_its_place_on_the_page() -> None:
    page = (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
    assert [name for name in EVALUATORS if f"`{name}`" not in page] == []
