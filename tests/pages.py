"""The pages of the documentation, by section."""

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
    (folder / "mtagent").mkdir()
    (folder / "mtagent" / "sample").symlink_to(ROOT / "mtagent" / "sample")
    return [(output, run(folder, *command.split())) for command, output in commands]
