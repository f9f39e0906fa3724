"""All that a report knows as one JSON object, written segment by segment.

======================  ================================================================================================
key                     value
======================  ================================================================================================
``version``             1; a change that breaks readers raises it
``run``                 the run's name
``figures``             :class:`mtagent.report.figures.Figures`, by the names of its fields
``comparison``          :class:`mtagent.comparison.rows.Comparison` without texts and single scores, or null
``segments``            a list, in the order of the run: the fields of ``--details`` (docs/formats.md), and ``fates``,
                        ``scores`` and ``others``
``segments[].fates``    by stage: ``kind`` and ``reason``, the group in which the figures count the segment
``segments[].scores``   by row, then by metric; ``NAME difference`` is to the row's former one
``segments[].others``   the texts of the rows that are not of this run, by row
======================  ================================================================================================

``null`` is what there is not, what is not known, and a number that is not finite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from mtagent.comparison.rows import Cell, Comparison, Row
from mtagent.formats.details import details
from mtagent.records import Chain
from mtagent.report.fates import fate, final_fate
from mtagent.report.figures import Figures
from mtagent.report.segment_scores import SegmentScores

VERSION = 1


def as_json(run: str, chains: Iterable[Chain], figures: Figures, comparison: Comparison | None = None) -> Iterator[str]:
    """One object in pieces: the head, a line for each segment, the end. ``chains`` is read once."""
    head = {"version": VERSION, "run": run, "figures": figures, "comparison": comparison and _comparison(comparison)}
    yield dumped(head)[:-1] + ', "segments": ['
    scores, separator = SegmentScores(run, comparison), "\n"
    for chain in chains:
        yield separator + dumped(_segment(chain, scores))
        separator = ",\n"
    yield "\n]}\n"


def dumped(value: object) -> str:
    """``value`` as JSON in one line. A lone surrogate, which UTF-8 cannot hold, is written as an escape."""
    told = plain(value)
    text = json.dumps(told, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(told, allow_nan=False)
    return text


def plain(value: Any) -> Any:
    """Records, dataclasses, mappings and sequences as plain data; no number is left that JSON cannot hold."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _segment(chain: Chain, scores: SegmentScores) -> dict[str, Any]:
    own = chain.segment.id
    rows = scores.rows_of(own)
    return {
        **details(chain),
        "fates": {stage: fate(step) for stage, step in chain.by_stage().items()} | {"final": final_fate(chain)},
        "scores": {name: scores.of_row(own, row) for name, row in rows.items()},
        "others": {row.name: scores.text(own, row) for row in scores.others if row.name in rows},
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    told = {field.name: getattr(comparison, field.name) for field in fields(comparison) if field.name != "rows"}
    return told | {"rows": [_row(row) for row in comparison.rows]}


def _row(row: Row) -> dict[str, Any]:
    told = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in ("texts", "cells")}
    return told | {"scores": [_cell(cell) for cell in row.cells]}


def _cell(cell: Cell) -> dict[str, Any]:
    score = cell.score
    return {
        "metric": score.metric,
        "score": score.value,
        "difference": cell.difference,
        "interval": cell.interval,
        "p_value": cell.p_value,
        "higher_is_better": score.higher_is_better,
        "signature": score.signature,
        "segment_signature": score.segment_signature or score.signature,
    }
