"""What is published: the public names, what the documents show, and the wheel in a clean environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import mtagent
from mtagent import records
from mtagent.chain.guards import GUARDS
from mtagent.cli.demo import SAMPLE_FILES
from mtagent.config import GUARD_NAMES, Config, load
from mtagent.evaluators.registry import EVALUATORS
from mtagent.llm import prompts
from mtagent.text.word_lists import word_lists
from tests.commands import ROOT, environment, python
from tests.pages import DOCS, linked_sample

WORD_LISTS = sorted(path.stem for path in (ROOT / "mtagent/text/data").glob("*.toml"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_public_names_are_these() -> None:
    assert mtagent.__all__ == [
        "LLM", "Agent", "Call", "Chain", "Completion", "Config", "Decision", "Draft", "Edit", "ErrorSpan", "Evaluator",
        "Message", "MtagentError", "Plan", "Rated", "Rating", "Segment", "Step", "Store", "Term", "Translator", "Usage",
        "decided", "improve", "make_segments", "rate",
    ]  # fmt: skip
    assert [getattr(mtagent, name).__name__ for name in mtagent.__all__] == mtagent.__all__
    assert all(hasattr(records, name) for name in records.__all__)
    for name in set(records.__all__) & set(mtagent.__all__):
        assert getattr(mtagent, name) is getattr(records, name)
    with pytest.raises(AttributeError, match="no attribute 'Agnt'"):
        mtagent.Agnt  # noqa: B018


def test_the_settings_know_all_guards() -> None:
    assert tuple(GUARDS) == GUARD_NAMES


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_wheel_holds_prompts_sample_word_lists_and_the_page_of_the_review(tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def done(*command: object) -> str:
        words = list(map(str, command))
        return subprocess.run(words, env=clean, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    done(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    binaries = tmp_path / "env" / "bin"
    done(binaries / "python", "-m", "pip", "install", "-q", wheel)
    code = (
        "import mtagent; from mtagent.cli import demo; from mtagent.llm import prompts;"
        "print(*[prompts.load(name).signature for name in prompts.names()]);"
        "print(*[name for name in demo.SAMPLE_FILES if demo.sample_path(name).is_file()]); print(mtagent.__file__);"
        "from importlib.resources import files;"
        "print(*sorted(path.name for path in files('mtagent.review').iterdir() if not path.name.endswith('.py')));"
        "from mtagent.text import word_lists;"
        f"print(*[len(word_lists.word_lists(name)) for name in {WORD_LISTS}])"
    )
    signatures, files, place, page, sizes = done(binaries / "python", "-c", code).splitlines()
    assert signatures.split() == [prompts.load(name).signature for name in prompts.names()]
    assert files.split() == list(SAMPLE_FILES)
    assert place.startswith(str(tmp_path))
    assert set(page.split()) >= {"review.css", "review.html", "review.js", "saving.js"}
    assert sizes.split() == [str(len(word_lists(name))) for name in WORD_LISTS]
    assert "No model was called" in done(binaries / "mtagent", "demo")


# --- the documents


TRANSCRIPTS = [
    (command, output)
    for block in re.findall(r"```console\n(\$ .*?)```", README, re.DOTALL)
    for command, output in re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", block)
]


@pytest.mark.parametrize(("command", "output"), TRANSCRIPTS, ids=[command[:40] for command, _ in TRANSCRIPTS])
def test_the_transcripts_in_the_readme_are_true(command: str, output: str, tmp_path: Path) -> None:
    def run(line: str) -> str:
        line = re.sub(r"^mtagent ", f"{sys.executable} -m mtagent ", line)
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=environment(tmp_path / "store.db"), check=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return done.stdout

    def stable(text: str) -> list[str]:
        """The lines without a progress bar's, and without the tenths of a second that a table ends in."""
        lines = [line.rstrip() for line in text.splitlines() if line.strip() and ", changed=" not in line]
        return [re.sub(r"(\$\d\.\d{4} +)\d\.\d$", r"\1", line) for line in lines]

    assert len(TRANSCRIPTS) >= 4
    linked_sample(tmp_path)
    if not command.startswith("mtagent"):
        files = "-s mtagent/sample/sample.en.txt -t mtagent/sample/sample.apertium.es.txt"
        run(f"mtagent postedit {files} -l en-es -o better.es.txt -q")
    assert stable(run(command)) == stable(output)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("reference/configuration.md", [f"[`[]{name}[]`]" for name in Config.model_fields]),
        ("reference/configuration.md", [f"`{name}[.]toml`" for name in prompts.names()]),
        ("explanation/safety.md", [f"`{name}`" for name in GUARDS]),
        ("reference/evaluators.md", [f"`{name}`" for name in EVALUATORS]),
    ],
    ids=["settings", "prompts", "guards", "evaluators"],
)
def test_everything_with_a_name_has_its_place_on_a_page(page: str, names: list[str]) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [name for name in names if not re.search(name, text)] == []


def test_the_configuration_file_of_the_page_is_valid(tmp_path: Path) -> None:
    page = (DOCS / "reference/configuration.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mtagent.toml").write_text(block, encoding="utf-8")
    config = load(tmp_path / "mtagent.toml")
    assert config.model_for("judge").model == "qwen3-32b"
    assert config.glossary == tmp_path / "terms.csv"


def test_the_tests_that_the_page_on_the_prototypes_names_exist() -> None:
    page = (DOCS / "explanation/prototypes.md").read_text(encoding="utf-8")
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    assert [name for name in re.findall(r"`(test_\w+)`", page) if f"def {name}(" not in tests] == []


def test_links_and_the_tests_that_are_named_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]
    pages += [ROOT / "bench/README.md", ROOT / "wmt/README.md", *DOCS.rglob("*.md")]
    text = {page: page.read_text(encoding="utf-8") for page in pages}
    links = [(page, page.parent / link) for page in pages for link in re.findall(r"\]\(([^)#:]+)[)#]", text[page])]
    links += [(page, ROOT / name) for page in pages for name in re.findall(r"`(tests/[\w/]+\.py)`", text[page])]
    assert [(page.name, str(place)) for page, place in links if not place.exists()] == []


@pytest.mark.data
def test_the_table_of_located_spans_is_true(data: Path) -> None:
    done = python("wmt/locating.py", "--data", str(data))
    assert done.out
    assert done.out in (ROOT / "wmt/README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_table_of_tokens_is_true() -> None:
    done = python("-m", "bench.tokens")
    page = (ROOT / "bench/README.md").read_text(encoding="utf-8")
    tables = done.out.strip().split("\n\n")
    assert len(tables) == 2
    assert [table for table in tables if table not in page] == []
