"""Figures that must not change: of samples made up here, by hand or by SciPy, and published ones from research data."""

from __future__ import annotations

import json
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mtagent.analysis.agreement import (
    STATISTICS,
    Averaging,
    Name,
    accuracy,
    calibrated_accuracy,
    mean_absolute_error,
    mean_squared_error,
    soft_pairwise_accuracy,
    system_level,
)
from mtagent.analysis.error_spans import (
    CHARACTERS,
    ESA_ERROR_FREE,
    MEASURES,
    PARTIAL_OVERLAP,
    THRESHOLDS,
    SegmentErrors,
    SpanRules,
    SpansLeftOut,
    by_group,
    detection,
    is_error_free,
    matching,
    score,
    span_pairs,
)
from mtagent.analysis.permutation import Test, ranked
from mtagent.records import ErrorSpan
from tests.meta_scores import HUMAN, JUDGE, one_system, scores
from tests.test_analysis_error_spans import one_by_one
from wmt import himate_table1, metaeval_ment, metaeval_wmt23

# --- samples made up here


@pytest.mark.parametrize(
    ("averaging", "figures"),
    [
        # counted pair by pair in fractions; correlations by SciPy
        ("none", (37 / 46, 0.8991539724022515, 0.8898164794344132, 0.7789239276946748, 227 / 276)),
        ("item", (13 / 18, 0.886796284120342, 0.8745667066090892, 0.7989070210362573, 5 / 6)),
        ("system", (13 / 15, 0.9042832435168852, 0.898800364676117, 0.8289400583677772, 13 / 15)),
    ],
)
def test_a_small_sample_at_the_level_of_segments(averaging: Averaging, figures: tuple[float, ...]) -> None:
    sample = scores(JUDGE, HUMAN)
    names: tuple[Name, ...] = ("acc", "pearson", "spearman", "kendall", "acc-t")
    assert [STATISTICS[name](sample, averaging).value for name in names] == pytest.approx(figures, rel=1e-12)
    assert calibrated_accuracy(sample, averaging).epsilon == (0 if averaging == "system" else 2)
    distances = [mean_absolute_error(sample, "minmax").value, mean_squared_error(sample, "minmax").value]
    assert distances == pytest.approx([0.08863636363636362, 0.018413039485766763])


def test_a_small_sample_at_the_level_of_systems() -> None:
    """SPA by all 64 ways to swap the segments is 329/384; the authors' 1,000 random ones come close."""
    systems = system_level(scores(JUDGE, HUMAN))
    names: tuple[Name, ...] = ("acc", "pearson", "spearman", "kendall")
    figures = [5 / 6, 0.8991047525093725, 0.8, 2 / 3]
    assert [STATISTICS[name](systems, "none").value for name in names] == pytest.approx(figures, rel=1e-12)
    spa = soft_pairwise_accuracy(scores(JUDGE, HUMAN)).value
    assert spa == pytest.approx(0.8565, rel=1e-12)
    assert spa == pytest.approx(329 / 384, abs=0.01)


def test_a_small_sample_of_error_spans() -> None:
    """Three segments: both marked two errors, nobody marked any, people alone marked one."""

    def mark(text: str, start: int, severity: Any) -> ErrorSpan:
        return ErrorSpan(text=text, start=start, end=start + len(text), category="style", severity=severity)

    gold = [mark("aaaa bbbbb", 0, "major"), mark("dddd", 13, "minor")]
    predicted = [mark("aaaa", 0, "major"), mark("dddd eee", 13, "major")]
    rows = [
        SegmentErrors(gold, predicted, "aaaa bbbbb c dddd eee"),
        SegmentErrors([], [], "fff"),
        SegmentErrors([mark("gggg", 0, "minor")], [], "gggg"),
    ]
    results = {name: score(span_pairs(rows), measure) for name, measure in MEASURES.items()}
    assert {name: (own.precision, own.recall, own.f1, own.macro_f1) for name, own in results.items()} == {
        "characters": pytest.approx((6 / 12, 6 / 18, 12 / 30, (12 / 26 + 1) / 3)),
        "partial overlap": pytest.approx((1.5 / 2, 1.4 / 3, 2.1 / 3.65, (1.05 / 1.45 + 1) / 3)),
        "match at 0.5": pytest.approx((1, 2 / 3, 0.8, 2 / 3)),
    }  # fmt: skip
    assert score(span_pairs(rows), matching(0.6)).f1 == 0


# --- published


def lines(path: Path) -> list[str]:
    """The lines of a file; only ``\\n`` ends one."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.data
def test_ment_row_of_rate(data: Path) -> None:
    """By item Acc-t is another number; SPA is no 100.0 (Table 7), as one pair of ten systems is in the wrong order."""
    ment = metaeval_ment.scores(data / metaeval_ment.FILE)
    (_, systems), (_, segments), (_, by_item) = metaeval_ment.rows(ment)
    expected = [44 / 45, 0.9927779370775296, 0.9969650916353059, 0.9708222222222223]
    expected += [4904105 / 7918210, 0.7449709820521865, 0.6642071749075665, 11096 / 17910]
    measured = [cell.measured.value for cell in (*systems, *segments, by_item[0])]
    assert measured == pytest.approx(expected, rel=1e-12)
    item = by_item[0].measured
    assert (item.epsilon, item.groups, item.groups_left_out, item.pairs) == (0.0, 398, 0, 17910)
    given = [line.split("\t") for line in lines(data / "ment_sys_scores.tsv")[1:]]
    means = system_level(ment)
    assert means.systems == tuple(row[1] for row in given)
    for values, column in ((means.human, 2), (means.evaluator, 3)):
        assert (values * 398).tolist() == pytest.approx([float(row[column]) for row in given])


@pytest.mark.data
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
    cells = metaeval_wmt23.cells(data, name)
    assert [cell.measured.value for cell in cells] == pytest.approx(values, rel=1e-10)
    if name == "MetricX-23":  # its threshold is a difference that occurs
        own = metaeval_wmt23.scores(data / metaeval_wmt23.SEGMENTS, name)
        epsilon = cells[2].measured.epsilon
        assert epsilon == pytest.approx(0.14917266400000007, rel=1e-12)
        by_item = [own.evaluator[own.item == item] for item in range(460)]
        assert any(epsilon in np.abs(np.subtract.outer(values, values)) for values in by_item)


@pytest.mark.data
def test_himates_row_of_bleu(data: Path) -> None:
    path = data / himate_table1.FILE
    bleu = himate_table1.scores([json.loads(line) for line in lines(path)], "BLEU-refA", path)
    expected = [0.17220616423548396, 0.2326721543866429, 0.684953739124911, 0.5065212665104757]
    assert [cell.measured.value for cell in himate_table1.cells(bleu, "BLEU-refA")] == pytest.approx(expected)


@pytest.mark.data
def test_half_a_billion_pairs_need_little_memory(data: Path) -> None:
    header, *rows = (line.split("\t") for line in lines(data / "wmt25_paragraph_scores.tsv")[:33_593])
    places = header.index("GEMBA-ESA-CMDA"), header.index("GEMBA-ESA-GPT4.1")
    both = one_system(*([float(row[place]) for row in rows] for place in places))
    tracemalloc.start()
    tied = calibrated_accuracy(both)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150 * 2**20
    assert (tied.pairs, tied.value) == (33_592 * 33_591 // 2, pytest.approx(0.7195055057224988, rel=1e-12))
    assert (accuracy(both).value or 0) <= (tied.value or 0)


@pytest.mark.data
def test_ranks_on_wmt23(data: Path) -> None:
    expected = {"XCOMET-Ensemble": 1, "MetricX-23": 2, "M-MAD": 3, "COMET": 4, "GEMBA-MQM": 4, "BLEU": 5}
    metrics = {name: metaeval_wmt23.scores(data / metaeval_wmt23.SEGMENTS, name) for name in expected}
    assert {own.name: own.rank for own in ranked(metrics, Test("pearson", permutations=200))} == expected


# --- error spans that people marked, against themselves, against spoilt copies and against each other


SIDES = {"tgt": "translation", "src": "source", "omission": "omission"}
Rows = list[dict[str, Any]]


def rows_of(path: Path) -> Rows:
    return [json.loads(line) for line in lines(path)]


def spans_of(row: dict[str, Any]) -> tuple[ErrorSpan, ...]:
    return tuple(
        ErrorSpan(**{**span, "side": SIDES[span["side"]], "category": span["category"] or "other"})
        for span in row["spans"]
    )


def with_themselves(path: Path) -> list[SegmentErrors]:
    return [SegmentErrors(spans_of(row), spans_of(row), row["tgt"], row["src"], row["seg"]) for row in rows_of(path)]


@pytest.mark.data
def test_people_agree_with_themselves_and_what_is_left_out_is_counted(data: Path) -> None:
    esa, mqm = (with_themselves(data / f"{name}_spans.jsonl") for name in ("esa24", "mqm"))
    for rows in (esa, mqm):
        for rules in (SpanRules(), SpanRules(outside="segment")):
            results = [score(span_pairs(rows, rules), measure) for measure in (*MEASURES.values(), matching(0.9))]
            assert [(own.f1, own.macro_f1) for own in results] == [(1, 1)] * 4
    assert span_pairs(esa).gold_left_out == SpansLeftOut(omissions=39)
    assert span_pairs(mqm).gold_left_out == SpansLeftOut(severity=35, source_errors=102)
    wordless = span_pairs(esa, SpanRules(outside="source", unlocated="leave-out"))
    assert wordless.gold_left_out == SpansLeftOut(unlocated=39)
    categories = by_group(span_pairs(mqm), "category")  # of several typologies
    assert {"accuracy", "fluency", "style", "terminology", "locale convention", "other"} <= set(categories)
    assert not any(name.startswith(("linguistic", "source ")) or "_" in name or "/" in name for name in categories)


@pytest.mark.data
def test_a_copy_without_offsets_is_located_or_missed(data: Path) -> None:
    def bare(row: SegmentErrors) -> SegmentErrors:
        spans = (span for span in row.predicted or () if span.side == "translation")
        return row._replace(predicted=[span.model_copy(update={"start": None, "end": None}) for span in spans])

    rows = [bare(row) for row in with_themselves(data / "esa24_spans.jsonl")]
    located, missed = (span_pairs(rows, SpanRules(unlocated=policy)) for policy in ("locate", "miss"))  # type: ignore[arg-type]
    lost = located.predicted_left_out.unlocated
    assert (sum(map(len, missed.predicted)), sum(map(len, located.predicted)) + lost) == (444, 444)
    assert lost == 104
    precise, sober = score(located, PARTIAL_OVERLAP), score(missed, PARTIAL_OVERLAP)
    assert precise.recall == sober.recall < 1
    assert precise.precision > sober.precision
    assert score(missed, matching(1.0)).f1 == 1  # by words alone


@pytest.mark.data
def test_two_annotators_agree_as_far_as_counted_one_by_one(data: Path) -> None:
    by_text: dict[tuple[str, ...], Rows] = defaultdict(list)
    for row in rows_of(data / "mqm_spans.jsonl"):
        if row["dataset"] == "google/sxs2023":
            by_text[row["src"], row["tgt"]].append(row)
    twice = [both for both in by_text.values() if len({row["rater"] for row in both}) > 1]
    rows = [SegmentErrors(spans_of(first), spans_of(second), first["tgt"], first["src"]) for first, second, *_ in twice]
    for row in rows:
        gold, predicted = (
            [span for span in side or () if span.side == "translation" and span.severity != "neutral"]
            for side in row[:2]
        )
        own = score(span_pairs([row]), CHARACTERS)
        assert (own.right, own.predicted, own.gold) == one_by_one(row._replace(gold=gold, predicted=predicted))
    pairs = span_pairs(rows)
    characters = score(pairs, CHARACTERS)
    assert (characters.segments, characters.predicted, characters.gold) == (60, 2026, 3058)
    assert characters.f1 == pytest.approx(0.2116443745082612)
    others = [PARTIAL_OVERLAP, matching(0.1), matching(0.5), matching(0.9)]
    assert [round(score(pairs, measure).f1, 3) for measure in others] == [0.368, 0.407, 0.32, 0.284]


@pytest.mark.data
def test_the_papers_examples(data: Path) -> None:
    """HiMATE's gold annotations and final verdicts (Tables 11 to 17), by its own Algorithm 1."""
    examples = json.loads((data / "worked_examples.json").read_text(encoding="utf-8"))["himate"]
    curves = []
    for example in examples:
        text = example.get("translation") or example["translation_part"]
        gold, final = (
            [
                ErrorSpan(text=mark["span"], category=mark["subtype"], severity=mark["severity"])
                for mark in example[side]
            ]
            for side in ("gold", "final")
        )
        pairs = span_pairs([SegmentErrors(gold, final, text)], SpanRules(unlocated="miss"))
        curve = [score(pairs, matching(threshold)) for threshold in THRESHOLDS]
        curves.append([(round(own.precision, 3), round(own.recall, 3)) for own in curve])
    assert curves[0] == [(1, 1)] * 9
    assert curves[1] == [(1, 1)] * 6 + [(0, 0)] * 3  # "late stage" is two of the three words of "the late stage"
    assert curves[2] == [(1, 0.667)] * 6 + [(0.5, 0.333)] * 3


@pytest.mark.data
def test_error_free_segments_by_esa(data: Path) -> None:
    rows = rows_of(data / "esa24_spans.jsonl")
    gold = [is_error_free(spans_of(row), row["esa"], at_least=ESA_ERROR_FREE) for row in rows]
    by_spans = [is_error_free(spans_of(row)) for row in rows]
    assert (by_spans.count(True), gold.count(True)) == (120, 101)
    result = detection(gold, by_spans)
    assert (result.recall, result.false_negatives, result.precision) == (1, 0, 101 / 120)
