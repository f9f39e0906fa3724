"""The pages of the documentation, by section."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def section(page: str, title: str) -> str:
    """What stands under the heading ``## title`` of a page, up to the next of its kind."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]
