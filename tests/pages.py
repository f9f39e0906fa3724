"""The pages of the documentation, by section, and the files that their commands read."""

from __future__ import annotations

import re
from pathlib import Path

from tests.commands import ROOT, Done, run

DOCS = ROOT / "docs"


def section(page: str, title: str) -> str:
    """What stands under the heading ``## title`` of a page, up to the next of its kind."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def transcripts(page: str, folder: Path) -> list[tuple[str, Done]]:
    """What the transcripts on a page show, and what their commands, typed in ``folder`` beside the sample, do."""
    blocks = re.findall(r"```console\n(\$ .*?)```", page, re.DOTALL)
    commands = [pair for block in blocks for pair in re.findall(r"\$ mtagent (.*)\n((?:(?!\$ ).*\n)*)", block)]
    linked_sample(folder)
    return [(output, run(folder, *command.split())) for command, output in commands]


def linked_sample(folder: Path) -> None:
    """The sample's texts in ``folder``, where the commands of the pages look for them; no package to import there."""
    sample = folder / "mtagent" / "sample"
    sample.mkdir(parents=True)
    for file in (ROOT / "mtagent" / "sample").iterdir():
        if file.suffix != ".py" and file.is_file():
            (sample / file.name).symlink_to(file)
