"""Error spans that people marked, against themselves, against spoilt copies and against each other."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from mtagent.analysis.error_spans import SegmentErrors, SpanRules, SpansLeftOut, span_pairs
from mtagent.analysis.span_scores import (
    ESA_ERROR_FREE,
    CharacterF1,
    Matching,
    Measure,
    PartialOverlap,
    by_group,
    by_threshold,
    detection,
    difference,
    is_error_free,
    score,
)
from mtagent.records import ErrorSpan
from mtagent.text.mqm import SEVERITIES
from tests.test_meta_spans import one_by_one

pytestmark = pytest.mark.data

MEASURES: list[Measure] = [
    CharacterF1(),
    PartialOverlap(severity_credit=0.5),
    Matching(0.9),
    Matching(0.9, by="characters"),
]
SIDES = {"tgt": "translation", "src": "source", "omission": "omission"}
Rows = list[dict[str, Any]]


def rows_of(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def spans_of(row: dict[str, Any]) -> tuple[ErrorSpan, ...]:
    return tuple(
        ErrorSpan(**{**one, "side": SIDES[one["side"]], "category": one["category"] or "other"}) for one in row["spans"]
    )


def marked(rows: Rows) -> list[SegmentErrors]:
    return [SegmentErrors(spans_of(row), spans_of(row), row["tgt"], row["src"], row["seg"]) for row in rows]


@pytest.fixture
def esa(data: Path) -> list[SegmentErrors]:
    return marked(rows_of(data / "esa24_spans.jsonl"))


@pytest.fixture
def mqm(data: Path) -> list[SegmentErrors]:
    return marked(rows_of(data / "mqm_spans.jsonl"))


def test_people_agree_with_themselves(esa: list[SegmentErrors], mqm: list[SegmentErrors]) -> None:
    for rows in (esa, mqm):
        for rules in (SpanRules(), SpanRules(outside="segment", severities=SEVERITIES)):
            pairs = span_pairs(rows, rules)
            assert [(score(pairs, measure).f1, score(pairs, measure).macro_f1) for measure in MEASURES] == [(1, 1)] * 4
    by_source = span_pairs(mqm, SpanRules(outside="source"))
    assert [score(by_source, measure).f1 for measure in MEASURES] == [1] * 4


def test_what_is_left_out_is_counted(esa: list[SegmentErrors], mqm: list[SegmentErrors]) -> None:
    assert span_pairs(esa).gold_left_out == SpansLeftOut(omissions=39)
    assert span_pairs(mqm).gold_left_out == SpansLeftOut(severity=35, source_errors=102)
    wordless = span_pairs(esa, SpanRules(outside="source", unlocated="leave-out"))
    assert wordless.gold_left_out == SpansLeftOut(unlocated=39)


def changed(rows: list[SegmentErrors], **update: Any) -> list[SegmentErrors]:
    return [
        row._replace(
            predicted=[one.model_copy(update=update) for one in row.predicted or () if one.side == "translation"]
        )
        for row in rows
    ]


def test_a_copy_with_other_severities_has_half_of_the_credit(esa: list[SegmentErrors]) -> None:
    others = {"minor": "major", "major": "minor"}
    spoilt = [
        row._replace(
            predicted=[one.model_copy(update={"severity": others[one.severity]}) for one in row.predicted or ()]
        )
        for row in esa
    ]
    pairs = span_pairs(spoilt)
    assert score(pairs, CharacterF1()).f1 == 0.5
    assert score(pairs, PartialOverlap(severity_credit=0.5)).f1 == 0.5
    assert score(pairs, Matching()).f1 == 1
    assert {name: found.f1 for name, found in by_group(pairs, CharacterF1(), "severity").items()} == {
        "minor": 0,
        "major": 0,
    }


def test_a_copy_cut_in_half_is_precise_and_finds_half(esa: list[SegmentErrors]) -> None:
    def half(one: ErrorSpan) -> ErrorSpan:
        end = (one.start or 0) + max(1, len(one.text) // 2)
        return one.model_copy(update={"end": end, "text": ""})

    cut = [row._replace(predicted=[half(one) for one in row.predicted or () if one.start is not None]) for row in esa]
    pairs = span_pairs(cut)
    found = score(pairs, PartialOverlap())
    assert found.precision == 1
    assert 0.45 < found.recall < 0.6
    curve = [found.f1 for found in by_threshold(pairs, Matching(by="characters")).values()]
    assert curve == sorted(curve, reverse=True)
    assert (curve[2], curve[8] < 0.1) == (1, True)


def test_a_copy_without_offsets_is_located_or_missed(esa: list[SegmentErrors]) -> None:
    bare = changed(esa, start=None, end=None)
    located, missed = (span_pairs(bare, SpanRules(unlocated=policy)) for policy in ("locate", "miss"))  # type: ignore[arg-type]
    number = sum(map(len, missed.predicted))
    assert (number, sum(map(len, located.predicted)) + located.predicted_left_out.unlocated) == (444, 444)
    assert (
        located.predicted_left_out.unlocated
        == number - sum(span.placed for spans in missed.predicted for span in spans)
        > 0
    )
    precise, sober = score(located, PartialOverlap()), score(missed, PartialOverlap())
    assert precise.recall == sober.recall < 1
    assert precise.precision > sober.precision
    assert score(missed, Matching(1.0)).f1 == 1  # by words alone


def test_categories_of_several_typologies_are_joined(mqm: list[SegmentErrors]) -> None:
    found = by_group(span_pairs(mqm, SpanRules(severities=SEVERITIES)), PartialOverlap(), "category")
    assert {"accuracy", "fluency", "style", "terminology", "locale convention", "other"} <= set(found)
    assert not any(name.startswith(("linguistic", "source ")) or "_" in name or "/" in name for name in found)
    assert all(one.f1 == 1 for one in found.values())


def two_annotators(rows: Rows) -> list[SegmentErrors]:
    by_text: dict[tuple[str, ...], Rows] = defaultdict(list)
    for row in rows:
        if row["dataset"] == "google/sxs2023":
            by_text[row["src"], row["tgt"]].append(row)
    twice = [found for found in by_text.values() if len({row["rater"] for row in found}) > 1]
    return [SegmentErrors(spans_of(one), spans_of(other), one["tgt"], one["src"]) for one, other, *_ in twice]


def test_two_annotators_agree_as_far_as_counted_one_by_one(data: Path) -> None:
    rows = two_annotators(rows_of(data / "mqm_spans.jsonl"))
    pairs = span_pairs(rows)
    counts = CharacterF1().counts(pairs)
    kept = [
        row._replace(**{
            side: [one for one in getattr(row, side) if one.side == "translation" and one.severity != "neutral"]
            for side in ("gold", "predicted")
        })
        for row in rows
    ]  # fmt: skip
    assert counts[:, [0, 1, 3]].tolist() == [list(one_by_one(row, 0.5)) for row in kept]
    found = score(pairs, CharacterF1())
    assert (found.segments, found.predicted, found.gold) == (60, 2026, 3058)
    assert found.f1 == pytest.approx(0.2116443745082612)
    assert score(pairs, PartialOverlap()).f1 < score(pairs, PartialOverlap(credit="full")).f1
    themselves = span_pairs([row._replace(predicted=row.gold) for row in rows])
    lead = difference(themselves, pairs, CharacterF1())
    assert lead.value == pytest.approx(1 - found.f1)
    assert lead.p_value is not None
    assert lead.p_value < 0.01


def test_the_papers_examples(data: Path) -> None:
    """HiMATE's gold annotations and final verdicts (Tables 11 to 17), by its own Algorithm 1."""
    examples = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))["himate"]
    curves = []
    for one in examples:
        text = one.get("translation") or one["translation_part"]
        sides = [
            [ErrorSpan(text=span["span"], category=span["subtype"], severity=span["severity"]) for span in one[side]]
            for side in ("gold", "final")
        ]
        curve = by_threshold(span_pairs([SegmentErrors(sides[0], sides[1], text)], SpanRules(unlocated="miss")))
        curves.append([(round(found.precision, 3), round(found.recall, 3)) for found in curve.values()])
    assert curves[0] == [(1, 1)] * 9
    assert curves[1] == [(1, 1)] * 6 + [(0, 0)] * 3  # "late stage" is two of the three words of "the late stage"
    assert curves[2] == [(1, 0.667)] * 6 + [(0.5, 0.333)] * 3


def test_error_free_segments_by_esa(data: Path) -> None:
    rows = rows_of(data / "esa24_spans.jsonl")
    gold = [is_error_free(spans_of(row), row["esa"], at_least=ESA_ERROR_FREE) for row in rows]
    by_spans = [is_error_free(spans_of(row)) for row in rows]
    assert (by_spans.count(True), gold.count(True)) == (120, 101)
    found = detection(gold, by_spans)
    assert (found.recall, found.false_negatives) == (1, 0)
    assert found.precision == 101 / 120
