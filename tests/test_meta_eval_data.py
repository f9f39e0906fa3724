"""The published rows from the data: unrounded values, and every digit that was printed."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mtagent.analysis.agreement import (
    PairedScores,
    accuracy,
    calibrated_accuracy,
    kendall,
    mean_absolute_error,
    mean_squared_error,
    pearson,
    soft_pairwise_accuracy,
    spearman,
    system_level,
)
from tests.meta_scores import himate_bleu, lines, ment, one_system, wmt23

pytestmark = pytest.mark.data


def test_ment_row_of_rate(data: Path) -> None:
    scores = ment(data)
    systems = system_level(scores)
    found = [one(systems).value for one in (accuracy, pearson, spearman)]
    found += [one(scores).value for one in (calibrated_accuracy, pearson, spearman)]
    assert found == pytest.approx(
        [44 / 45, 0.9927779370775296, 0.9969650916353059, 4904105 / 7918210, 0.7449709820521865, 0.6642071749075665],
        rel=1e-12,
    )
    assert [f"{100 * (value or 0):.1f}" for value in found] == ["97.8", "99.3", "99.7", "61.9", "74.5", "66.4"]


def test_ment_by_item_is_another_number_than_the_published_one(data: Path) -> None:
    found = calibrated_accuracy(ment(data), "item")
    assert found.value == pytest.approx(11096 / 17910, rel=1e-12)
    assert f"{100 * (found.value or 0):.2f}" == "61.95"
    assert (found.epsilon, found.groups, found.groups_left_out, found.pairs) == (0.0, 398, 0, 17910)


def test_ment_system_scores_are_those_given(data: Path) -> None:
    given = [line.split("\t") for line in lines(data / "ment_sys_scores.tsv")[1:]]
    systems = system_level(ment(data))
    assert systems.systems == tuple(row[1] for row in given)
    assert (systems.human * 398).tolist() == pytest.approx([float(row[2]) for row in given])
    assert (systems.evaluator * 398).tolist() == pytest.approx([float(row[3]) for row in given])


def test_soft_pairwise_accuracy_of_rate_is_not_the_published_100(data: Path) -> None:
    """The paper's Table 7 has 100.0, although its own accuracy of 97.8 means that one pair of ten systems is wrong."""
    found = soft_pairwise_accuracy(ment(data))
    assert found.value == pytest.approx(0.9708222222222223, abs=1e-12)
    assert found.pairs == 45


@pytest.mark.parametrize(
    ("name", "values", "printed"),
    [
        ("M-MAD", (64 / 66, 0.9790281229337854, 0.5554018445322794, 0.5516640338775947), ".970 .979 .555 .552"),
        ("GEMBA-MQM", (64 / 66, 0.9729210833944579, 0.4743741765480896, 0.42892993502829013), ".970 .973 .474 .429"),
        ("EAPrompt", (62 / 66, 0.9620186163600029, 0.47134387351778656, 0.5198015565227485), ".939 .962 .471 .520"),
        ("BLEU", (59 / 66, 0.9165409261353756, 0.5195981554677207, 0.1920500314269828), ".894 .917 .520 .192"),
        ("chrF", (54 / 66, 0.865726154300167, 0.519235836627141, 0.23197804539891997), ".818 .866 .519 .232"),
        ("COMET", (64 / 66, 0.9902836416102442, 0.57401185770751, 0.4324035819600272), ".970 .990 .574 .432"),
        ("CometKiwi", (65 / 66, 0.9455259709310663, 0.5691699604743082, 0.47526860180193403), ".985 .946 .569 .475"),
        ("MetricX-23", (60 / 66, 0.9768681293167505, 0.6026021080368906, 0.5854841389689726), ".909 .977 .603 .585"),
        (
            "XCOMET-Ensemble",
            (62 / 66, 0.9802347791655796, 0.6039855072463768, 0.6953226528996593),
            ".939 .980 .604 .695",
        ),
    ],
)
def test_wmt23_rows_of_m_mads_table_2(
    data: Path, name: str, values: tuple[float, float, float, float], printed: str
) -> None:
    segments, systems = wmt23(data, name)
    assert (len(segments.systems), len(segments.items), segments.missing.total) == (12, 460, 0)
    found = [accuracy(systems).value, pearson(systems).value]
    found += [calibrated_accuracy(segments, "item").value, pearson(segments).value]
    assert found == pytest.approx(values, rel=1e-10)
    assert " ".join(f"{value or 0:.3f}".lstrip("0") for value in found) == printed


def test_wmt23_thresholds_are_differences_that_occur(data: Path) -> None:
    scores = wmt23(data, "MetricX-23")[0]
    found = calibrated_accuracy(scores, "item")
    assert found.epsilon == pytest.approx(0.14917266400000007, rel=1e-12)
    apart = [
        np.abs(np.subtract.outer(values, values))
        for item in range(460)
        for values in [scores.evaluator[scores.item == item]]
    ]
    assert found.epsilon in np.stack(apart)


def test_himates_row_of_bleu(data: Path) -> None:
    scores = himate_bleu(data)
    found = [kendall(scores).value, spearman(scores).value]
    found += [mean_absolute_error(scores, "minmax").value, mean_squared_error(scores, "minmax").value]
    expected = [0.17220616423548396, 0.2326721543866429, 0.684953739124911, 0.5065212665104757]
    assert found == pytest.approx(expected, rel=1e-10)
    assert [f"{value or 0:.{digits}f}" for value, digits in zip(found, (3, 3, 4, 4), strict=True)] == [
        *("0.172", "0.233"),
        *("0.6850", "0.5065"),
    ]


def many(data: Path, name: str) -> PairedScores:
    header, *rows = (line.split("\t") for line in lines(data / "wmt25_paragraph_scores.tsv")[:33_593])
    places = header.index(name), header.index("GEMBA-ESA-GPT4.1")
    return one_system(*([float(row[place]) for row in rows] for place in places))


@pytest.mark.parametrize(("name", "value"), [("GEMBA-ESA-CMDA", 0.7195055057224988), ("XCOMET-XL", 0.6563068285912695)])
def test_half_a_billion_pairs_need_little_memory(data: Path, name: str, value: float) -> None:
    scores = many(data, name)
    tracemalloc.start()
    found = calibrated_accuracy(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150 * 2**20
    assert found.pairs == 33_592 * 33_591 // 2
    assert found.value == pytest.approx(value, rel=1e-12)
