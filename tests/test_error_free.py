"""Telling error-free translations from others."""

from __future__ import annotations

import pytest

from mtagent.analysis.error_spans import SegmentsLeftOut
from mtagent.analysis.span_scores import (
    ESA_ERROR_FREE,
    detection,
    is_error_free,
)
from mtagent.errors import ConfigError, InputError
from mtagent.records import ErrorSpan

MINOR = ErrorSpan(text="x", category="other", severity="minor")
NEUTRAL = MINOR.model_copy(update={"severity": "neutral"})
SOURCE = MINOR.model_copy(update={"side": "source"})
OMISSION = MINOR.model_copy(update={"side": "omission"})


def test_labels_of_wmt26_need_a_score_and_no_spans() -> None:
    table = [((), 85.0, True), ((), 84.9, False), ((MINOR,), 99.0, False), ((NEUTRAL,), 99.0, False)]
    for errors, score, label in table:
        assert is_error_free(errors, score, at_least=ESA_ERROR_FREE) is label
    assert is_error_free((), None, at_least=ESA_ERROR_FREE) is None
    assert is_error_free((MINOR,), None, at_least=ESA_ERROR_FREE) is False


def test_not_rated_is_no_label_and_no_errors_is_one() -> None:
    assert is_error_free(None) is None
    assert is_error_free(None, 99.0, at_least=85) is None
    assert is_error_free(()) is True


def test_errors_of_any_severity_and_side_count() -> None:
    assert [is_error_free((error,)) for error in (NEUTRAL, SOURCE, OMISSION)] == [False] * 3


def test_the_four_cases_are_counted() -> None:
    gold = [True, True, True, False, False, False, False, None, True, True, None, None, None]
    predicted = [True, True, False, True, False, False, False, True, None, None, None, None, None]
    with pytest.raises(InputError, match="segment number 8: no label of people"):
        detection(gold, predicted)
    found = detection(gold, predicted, unrated="leave-out")
    cases = (found.true_positives, found.false_positives, found.false_negatives, found.true_negatives)
    assert cases == (2, 1, 1, 3)
    assert (found.precision, found.recall, found.f1, found.accuracy) == pytest.approx((2 / 3, 2 / 3, 2 / 3, 5 / 7))
    assert (found.segments, found.left_out) == (7, SegmentsLeftOut(gold=1, predicted=2, both=3))


def test_a_share_of_nothing_is_none() -> None:
    never = detection([True, False], [False, False])
    assert (never.precision, never.recall, never.f1, never.accuracy) == (None, 0, 0, 0.5)
    nowhere = detection([False, False], [False, False])
    assert (nowhere.precision, nowhere.recall, nowhere.f1, nowhere.accuracy) == (None, None, None, 1)
    assert detection([False], [True]).recall is None


def test_wrong_lists_are_refused() -> None:
    with pytest.raises(InputError, match="2 labels of people and 1"):
        detection([True, False], [True])
    with pytest.raises(InputError, match="no segment"):
        detection([None], [True], unrated="leave-out")
    with pytest.raises(ConfigError, match="unrated"):
        detection([True], [True], unrated="ignore")  # type: ignore[arg-type]
