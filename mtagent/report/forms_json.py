"""All that a report knows as one JSON object, written segment by segment.

======================  ================================================================================================
key                     value
======================  ================================================================================================
``version``             1; a change that breaks readers raises it
``run``                 the run's name
``figures``             :class:`mtagent.report.figures.Figures`, by the names of its fields
``comparison``          what ``mtagent compare -f json`` writes of the same rows, or null
``segments``            a list, in the order of the run: the fields of ``--details`` (docs/formats.md), and ``fates``,
                        ``scores`` and ``others``
``segments[].fates``    by stage: ``kind`` and ``reason``, the group in which the figures count the segment
``segments[].scores``   by row, then by metric; ``NAME difference`` is to the row's former one
``segments[].others``   the texts of the rows that are not of this run, by row
======================  ================================================================================================

``null`` is what there is not, what is not known, and a number that is not finite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mtagent.comparison.data import as_data
from mtagent.comparison.rows import Comparison
from mtagent.formats.details import details
from mtagent.json_text import dumped
from mtagent.records import Chain
from mtagent.report.fates import fate, final_fate
from mtagent.report.figures import Figures
from mtagent.report.segment_scores import SegmentScores

VERSION = 1


def as_json(run: str, chains: Iterable[Chain], figures: Figures, comparison: Comparison | None = None) -> Iterator[str]:
    """One object in pieces: the head, a line for each segment, the end. ``chains`` is read once."""
    head = {"version": VERSION, "run": run, "figures": figures, "comparison": comparison and as_data(comparison)}
    yield dumped(head)[:-1] + ', "segments": ['
    scores, separator = SegmentScores(run, comparison), "\n"
    for chain in chains:
        yield separator + dumped(_segment(chain, scores))
        separator = ",\n"
    yield "\n]}\n"


def _segment(chain: Chain, scores: SegmentScores) -> dict[str, Any]:
    own = chain.segment.id
    rows = scores.rows_of(own)
    return {
        **details(chain),
        "fates": {stage: fate(step) for stage, step in chain.by_stage().items()} | {"final": final_fate(chain)},
        "scores": {name: scores.of_row(own, row) for name, row in rows.items()},
        "others": {row.name: scores.text(own, row) for row in scores.others if row.name in rows},
    }
