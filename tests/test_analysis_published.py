"""Published numbers from the research data, unrounded: segments, systems, error spans."""

from __future__ import annotations

import json
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtagent.analysis.agreement import calibrated_accuracy, soft_pairwise_accuracy, system_level
from mtagent.analysis.error_spans import SegmentErrors, SpanRules, SpansLeftOut, span_pairs
from mtagent.analysis.permutation import Test, ranked
from mtagent.analysis.span_scores import (
    ESA_ERROR_FREE,
    CharacterF1,
    Matching,
    Measure,
    PartialOverlap,
    by_group,
    by_threshold,
    counts_of,
    detection,
    difference,
    is_error_free,
    score,
)
from mtagent.records import ErrorSpan
from mtagent.text.mqm import SEVERITIES
from tests.meta_scores import one_system
from tests.test_analysis_error_spans import one_by_one
from wmt import himate_table1, metaeval_ment, metaeval_wmt23

pytestmark = pytest.mark.data


def lines(path: Path) -> list[str]:
    """The lines of a file; only ``\\n`` ends one."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


def test_ment_row_of_rate(data: Path) -> None:
    """By item Acc-t is another number; SPA is no 100.0 (Table 7), as one pair of ten systems is in the wrong order."""
    scores = metaeval_ment.scores(data / metaeval_ment.FILE)
    (_, systems), (_, segments), (_, by_item) = metaeval_ment.rows(scores)
    found = [cell.measured.value for cell in (*systems, *segments, by_item[0])]
    expected = [44 / 45, 0.9927779370775296, 0.9969650916353059, 0.9708222222222223]
    expected += [4904105 / 7918210, 0.7449709820521865, 0.6642071749075665, 11096 / 17910]
    assert found == pytest.approx(expected, rel=1e-12)
    item = calibrated_accuracy(scores, "item")
    assert (item.epsilon, item.groups, item.groups_left_out, item.pairs) == (0.0, 398, 0, 17910)
    assert soft_pairwise_accuracy(scores).pairs == 45
    given = [line.split("\t") for line in lines(data / "ment_sys_scores.tsv")[1:]]
    means = system_level(scores)
    assert means.systems == tuple(row[1] for row in given)
    for values, column in ((means.human, 2), (means.evaluator, 3)):
        assert (values * 398).tolist() == pytest.approx([float(row[column]) for row in given])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("M-MAD", (64 / 66, 0.9790281229337854, 0.5554018445322794, 0.5516640338775947)),
        ("GEMBA-MQM", (64 / 66, 0.9729210833944579, 0.4743741765480896, 0.42892993502829013)),
        ("EAPrompt", (62 / 66, 0.9620186163600029, 0.47134387351778656, 0.5198015565227485)),
        ("BLEU", (59 / 66, 0.9165409261353756, 0.5195981554677207, 0.1920500314269828)),
        ("chrF", (54 / 66, 0.865726154300167, 0.519235836627141, 0.23197804539891997)),
        ("COMET", (64 / 66, 0.9902836416102442, 0.57401185770751, 0.4324035819600272)),
        ("CometKiwi", (65 / 66, 0.9455259709310663, 0.5691699604743082, 0.47526860180193403)),
        ("MetricX-23", (60 / 66, 0.9768681293167505, 0.6026021080368906, 0.5854841389689726)),
        ("XCOMET-Ensemble", (62 / 66, 0.9802347791655796, 0.6039855072463768, 0.6953226528996593)),
    ],
)
def test_wmt23_rows_of_m_mads_table_2(data: Path, name: str, values: tuple[float, float, float, float]) -> None:
    assert [cell.measured.value for cell in metaeval_wmt23.cells(data, name)] == pytest.approx(values, rel=1e-10)


def test_wmt23_thresholds_are_differences_that_occur(data: Path) -> None:
    scores = metaeval_wmt23.scores(data / metaeval_wmt23.SEGMENTS, "MetricX-23")
    found = calibrated_accuracy(scores, "item")
    assert found.epsilon == pytest.approx(0.14917266400000007, rel=1e-12)
    by_item = [scores.evaluator[scores.item == item] for item in range(460)]
    assert any(found.epsilon in np.abs(np.subtract.outer(values, values)) for values in by_item)


def test_himates_row_of_bleu(data: Path) -> None:
    path = data / himate_table1.FILE
    scores = himate_table1.scores([json.loads(line) for line in lines(path)], "BLEU-refA", path)
    expected = [0.17220616423548396, 0.2326721543866429, 0.684953739124911, 0.5065212665104757]
    assert [cell.measured.value for cell in himate_table1.cells(scores, "BLEU-refA")] == pytest.approx(expected)


@pytest.mark.parametrize(("name", "value"), [("GEMBA-ESA-CMDA", 0.7195055057224988), ("XCOMET-XL", 0.6563068285912695)])
def test_half_a_billion_pairs_need_little_memory(data: Path, name: str, value: float) -> None:
    header, *rows = (line.split("\t") for line in lines(data / "wmt25_paragraph_scores.tsv")[:33_593])
    places = header.index(name), header.index("GEMBA-ESA-GPT4.1")
    scores = one_system(*([float(row[place]) for row in rows] for place in places))
    tracemalloc.start()
    found = calibrated_accuracy(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150 * 2**20
    assert (found.pairs, found.value) == (33_592 * 33_591 // 2, pytest.approx(value, rel=1e-12))


def test_ranks_on_wmt23(data: Path) -> None:
    expected = {"XCOMET-Ensemble": 1, "MetricX-23": 2, "M-MAD": 3, "COMET": 4, "GEMBA-MQM": 4, "BLEU": 5}
    scores = {name: metaeval_wmt23.scores(data / metaeval_wmt23.SEGMENTS, name) for name in expected}
    assert {one.name: one.rank for one in ranked(scores, Test("pearson", permutations=200))} == expected


# --- error spans that people marked, against themselves, against spoilt copies and against each other


MEASURES: list[Measure] = [
    CharacterF1(),
    PartialOverlap(severity_credit=0.5),
    Matching(0.9),
    Matching(0.9, by="characters"),
]
SIDES = {"tgt": "translation", "src": "source", "omission": "omission"}
Rows = list[dict[str, Any]]


def rows_of(path: Path) -> Rows:
    return [json.loads(line) for line in lines(path)]


def spans_of(row: dict[str, Any]) -> tuple[ErrorSpan, ...]:
    return tuple(
        ErrorSpan(**{**span, "side": SIDES[span["side"]], "category": span["category"] or "other"})
        for span in row["spans"]
    )


def with_themselves(rows: Rows) -> list[SegmentErrors]:
    return [SegmentErrors(spans_of(row), spans_of(row), row["tgt"], row["src"], row["seg"]) for row in rows]


@pytest.fixture
def esa(data: Path) -> list[SegmentErrors]:
    return with_themselves(rows_of(data / "esa24_spans.jsonl"))


@pytest.fixture
def mqm(data: Path) -> list[SegmentErrors]:
    return with_themselves(rows_of(data / "mqm_spans.jsonl"))


def test_people_agree_with_themselves_and_what_is_left_out_is_counted(
    esa: list[SegmentErrors], mqm: list[SegmentErrors]
) -> None:
    for rows in (esa, mqm):
        for rules in (SpanRules(), SpanRules(outside="segment", severities=SEVERITIES)):
            pairs = span_pairs(rows, rules)
            assert [(score(pairs, measure).f1, score(pairs, measure).macro_f1) for measure in MEASURES] == [(1, 1)] * 4
    assert span_pairs(esa).gold_left_out == SpansLeftOut(omissions=39)
    assert span_pairs(mqm).gold_left_out == SpansLeftOut(severity=35, source_errors=102)
    wordless = span_pairs(esa, SpanRules(outside="source", unlocated="leave-out"))
    assert wordless.gold_left_out == SpansLeftOut(unlocated=39)


def test_a_copy_without_offsets_is_located_or_missed(esa: list[SegmentErrors]) -> None:
    bare = [
        row._replace(
            predicted=[
                span.model_copy(update={"start": None, "end": None})
                for span in row.predicted or ()
                if span.side == "translation"
            ]
        )
        for row in esa
    ]
    located, missed = (span_pairs(bare, SpanRules(unlocated=policy)) for policy in ("locate", "miss"))  # type: ignore[arg-type]
    lost = located.predicted_left_out.unlocated
    assert (sum(map(len, missed.predicted)), sum(map(len, located.predicted)) + lost) == (444, 444)
    assert lost == sum(not span.placed for spans in missed.predicted for span in spans) > 0
    precise, sober = score(located, PartialOverlap()), score(missed, PartialOverlap())
    assert precise.recall == sober.recall < 1
    assert precise.precision > sober.precision
    assert score(missed, Matching(1.0)).f1 == 1  # by words alone


def test_categories_of_several_typologies_are_joined(mqm: list[SegmentErrors]) -> None:
    found = by_group(span_pairs(mqm, SpanRules(severities=SEVERITIES)), PartialOverlap(), "category")
    assert {"accuracy", "fluency", "style", "terminology", "locale convention", "other"} <= set(found)
    assert not any(name.startswith(("linguistic", "source ")) or "_" in name or "/" in name for name in found)
    assert all(group.f1 == 1 for group in found.values())


def test_two_annotators_agree_as_far_as_counted_one_by_one(data: Path) -> None:
    by_text: dict[tuple[str, ...], Rows] = defaultdict(list)
    for row in rows_of(data / "mqm_spans.jsonl"):
        if row["dataset"] == "google/sxs2023":
            by_text[row["src"], row["tgt"]].append(row)
    twice = [found for found in by_text.values() if len({row["rater"] for row in found}) > 1]
    rows = [SegmentErrors(spans_of(one), spans_of(other), one["tgt"], one["src"]) for one, other, *_ in twice]
    pairs = span_pairs(rows)
    kept = [
        row._replace(**{
            side: [span for span in getattr(row, side) if span.side == "translation" and span.severity != "neutral"]
            for side in ("gold", "predicted")
        })
        for row in rows
    ]  # fmt: skip
    assert counts_of(pairs, CharacterF1())[:, [0, 1, 3]].tolist() == [list(one_by_one(row, 0.5)) for row in kept]
    found = score(pairs, CharacterF1())
    assert (found.segments, found.predicted, found.gold) == (60, 2026, 3058)
    others = [PartialOverlap(), PartialOverlap(credit="full"), Matching(0.1), Matching(0.5), Matching(0.9)]
    assert [round(score(pairs, measure).f1, 3) for measure in others] == [0.368, 0.415, 0.407, 0.32, 0.284]
    assert found.f1 == pytest.approx(0.2116443745082612)
    lead = difference(span_pairs([row._replace(predicted=row.gold) for row in rows]), pairs, CharacterF1())
    assert (lead.value, (lead.p_value or 0) < 0.01) == (pytest.approx(1 - found.f1), True)


def test_the_papers_examples(data: Path) -> None:
    """HiMATE's gold annotations and final verdicts (Tables 11 to 17), by its own Algorithm 1."""
    examples = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))["himate"]
    curves = []
    for example in examples:
        text = example.get("translation") or example["translation_part"]
        gold, final = (
            [ErrorSpan(text=one["span"], category=one["subtype"], severity=one["severity"]) for one in example[side]]
            for side in ("gold", "final")
        )
        curve = by_threshold(span_pairs([SegmentErrors(gold, final, text)], SpanRules(unlocated="miss")))
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
    assert (found.recall, found.false_negatives, found.precision) == (1, 0, 101 / 120)
