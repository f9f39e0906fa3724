"""The commands on the page of the review, typed as they stand there."""

from __future__ import annotations

from pathlib import Path

from tests.pages import DOCS, transcripts


def test_the_page_shows_what_the_commands_say(tmp_path: Path) -> None:
    shown = transcripts((DOCS / "how-to/review.md").read_text(encoding="utf-8"), tmp_path)
    assert len(shown) == 5
    for output, done in shown:
        assert done.code == 0, done.err
        assert sorted(output.splitlines()) == sorted([*done.out.splitlines(), *done.err.splitlines()])
