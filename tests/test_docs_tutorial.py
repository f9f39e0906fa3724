"""The tutorial, typed from top to bottom as it stands there, without a key and without network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands import run
from tests.pages import DOCS, linked_sample

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
SETUP = ("make ", ". ", "pip ")
"""What the commands in ``sh`` begin with that prepare the machine and are not run here."""


def stable(text: str) -> list[str]:
    """The lines in any order, without seconds: standard output and standard error are two streams here."""
    text = re.sub(r" by \S+, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", " by NAME, TIME", text)
    lines = [re.sub(r"(\$\d[\d.]*| -) +\d+\.\d$", r"\1", line.rstrip()) for line in text.splitlines()]
    return sorted(line for line in lines if line)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_command_of_the_tutorial_does_what_the_page_shows(tmp_path: Path) -> None:
    linked_sample(tmp_path)
    compared = 0
    for language, block in BLOCK.findall((DOCS / "tutorial.md").read_text(encoding="utf-8")):
        if language == "text":
            (tmp_path / "mine.csv").write_text(block, encoding="utf-8")
        elif language == "console":
            for command, shown in re.findall(r"\$ mtagent (.*)\n((?:(?!\$ ).*\n)*)", block):
                done = run(tmp_path, *command.split())
                assert (done.code, stable(done.out + done.err)) == (0, stable(shown)), command
                compared += 1
        elif language == "sh":
            for command in block.splitlines():
                if command.startswith(SETUP):
                    continue
                if " report " in command:
                    pytest.importorskip("jinja2", reason="the report needs jinja2")
                done = run(tmp_path, *command.removeprefix("mtagent ").split())
                assert done.code == 0, done.err
        else:
            assert language == "bash", "what needs a key stands in ```bash"
    assert compared == 9
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_every_command_of_the_tutorial_for_apps_does_what_the_page_shows(tmp_path: Path) -> None:
    page = (DOCS / "tutorial-localization.md").read_text(encoding="utf-8")
    compared = 0
    for name, language, block in re.findall(r"(?:`([^`\n]+)`:\n\n)?```(\w+)\n(.*?)```", page, re.DOTALL):
        if name:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block, encoding="utf-8")
        elif language == "console":
            for command, shown in re.findall(r"\$ mtagent (.*)\n((?:(?!\$ ).*\n)*)", block):
                done = run(tmp_path, *command.split())
                assert (done.code, without_runs(done.out + done.err)) == (0, without_runs(shown)), command
                compared += 1
    assert compared == 6
    corrected = [path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob("*/**/*es*.*"))]
    assert all("Tu cesta está vacía." in text for text in corrected if "Tu cesta" in text)
    assert sum("Tu cesta está vacía." in text for text in corrected) == 2
    assert "Paga %(total)s ahora." in (tmp_path / "locale/es/LC_MESSAGES/django.po").read_text(encoding="utf-8")
    assert 'state="needs-review-translation"' in (tmp_path / "src/locale/messages.es.xlf").read_text(encoding="utf-8")


def without_runs(text: str) -> list[str]:
    """The lines in any order, without the names of runs, which depend on the version."""
    return [re.sub(r"postedit-\w{8}", "postedit-", line) for line in stable(text)]
