"""A run at a glance: the table of its stages."""

from __future__ import annotations

from mtagent.jobs.summary import MOST_SCORED, stage_table
from tests.report_runs import edited, segment


def test_the_table_of_stages_scores_no_more_segments_than_can_be_scored_at_once() -> None:
    chain = edited(segment("1", "Hello.", "Hallo.", reference="Hi!"), "Hi!")
    head, *_, signature = stage_table([chain] * 2).splitlines()
    assert head.split()[-1] == "chrF"
    assert signature.startswith("chrF: nrefs:1|")
    head, _, postedit, hint = stage_table([chain] * (MOST_SCORED + 1)).splitlines()
    assert "chrF" not in head
    assert postedit.split()[:2] == ["postedit", "10001"]
    assert hint == "scores of so many segments: `mtagent compare`"
