"""The pages of the documentation, by section, and the files that their commands read."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def section(page: str, title: str) -> str:
    """What stands under the heading ``## title`` of a page, up to the next of its kind."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def linked_sample(folder: Path) -> None:
    """The sample's texts in ``folder``, where the commands of the pages look for them; no package to import there."""
    sample = folder / "mtagent" / "sample"
    sample.mkdir(parents=True)
    for file in (DOCS.parent / "mtagent" / "sample").iterdir():
        if file.suffix != ".py" and file.is_file():
            (sample / file.name).symlink_to(file)
