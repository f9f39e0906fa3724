"""The agreement of evaluators with people for programs: one JSON object. Nothing is rounded; ``null`` is no value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mtagent.meta_eval.evaluated import Agreement, Block, Contest
from mtagent.meta_eval.span_level import SpanEntry, SpanLevel


def as_json(found: Agreement, spans: SpanLevel | None, warnings: Sequence[str]) -> str:
    """``levels`` has an object for each evaluator, level, averaging and part."""
    return json.dumps(
        {
            "human": found.human._asdict(),
            "evaluators": [one._asdict() for one in found.evaluators],
            "levels": [one for block in found.blocks for one in _block(block)],
            "spans": _spans(spans) if spans else None,
            "tests": [_contest(one) for one in found.contests],
            "warnings": list(warnings),
        },
        indent=1,
        ensure_ascii=False,
        allow_nan=False,
    )


def _block(block: Block) -> list[dict[str, Any]]:
    about = {"level": block.level, "averaging": block.averaging, "grouping": block.grouping, "part": block.part}
    return [
        {
            "evaluator": entry.evaluator,
            **about,
            "given": entry.evaluator in block.given,
            "statistics": {one.name: asdict(one) | {"missing": one.missing._asdict()} for one in entry.statistics},
        }
        for entry in block.entries
    ]


def _contest(contest: Contest) -> dict[str, Any]:
    return {
        "statistic": contest.test.statistic,
        "level": contest.level,
        "averaging": contest.test.averaging,
        "scores": contest.scores,
        "ranked": [one._asdict() for one in contest.ranked],
        "p_values": [{"better": a, "worse": b, "p_value": p} for (a, b), p in contest.p_values.items()],
        "left_out": list(contest.left_out),
        "signature": contest.signature,
    }


def _spans(spans: SpanLevel) -> dict[str, Any]:
    return {
        "measures": [_span(one, "measure") for one in spans.measures],
        "thresholds": [_span(one, "threshold") for one in spans.thresholds],
        **{grouping: [_span(one, grouping) for one in entries] for grouping, entries in spans.groups.items()},
    }


def _span(one: SpanEntry, kind: str) -> dict[str, Any]:
    score = asdict(one.score)
    left_out = {name: value._asdict() for name, value in vars(one.score).items() if name.endswith("left_out")}
    return {"evaluator": one.evaluator, kind: one.kind, **score, **left_out}
