"""MQM weights and scores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import ConfigError
from mtagent.records import ErrorSpan, Severity
from mtagent.text import mqm


def error(severity: Severity, category: str = "accuracy/mistranslation", penalty: float | None = None) -> ErrorSpan:
    return ErrorSpan(text="x", category=category, severity=severity, penalty=penalty)


@pytest.mark.parametrize(
    ("preset", "weights"),
    [
        ("mqm", (0, 1, 5, 25)),
        ("gemba", (0, 1, 5, 25)),
        ("himate", (0, 1, 5, 5)),
        ("mmad", (0, 1, 5, 5)),
        ("rubric", (0, 1, 3, 4)),
    ],
)
def test_every_preset_weighs_the_severities(preset: mqm.Preset, weights: tuple[float, ...]) -> None:
    assert tuple(mqm.weight(error(severity), preset) for severity in mqm.SEVERITIES) == weights


@pytest.mark.parametrize(("preset", "light"), [("mqm", 0.1), ("himate", 0.1), ("mmad", 1), ("gemba", 1), ("rubric", 1)])
def test_minor_punctuation_is_light_only_where_the_paper_says_so(preset: mqm.Preset, light: float) -> None:
    for category in ("fluency/punctuation", "Fluency/Punctuation", "punctuation"):
        assert mqm.weight(error("minor", category), preset) == light
    assert mqm.weight(error("major", "fluency/punctuation"), "mqm") == 5


def test_a_non_translation_costs_25_whatever_its_severity() -> None:
    for category in ("non-translation", "Non-translation!", "Non translation", "non-translation/other"):
        assert mqm.weight(error("major", category), "mqm") == 25
        assert mqm.score([error("minor", category)], "gemba") == -25


def test_source_errors_and_no_error_rows_cost_nothing() -> None:
    errors = [error("major", "Source error"), error("major", "Source issue"), error("neutral", "No-error")]
    assert mqm.score(errors, "mqm") == 0.0


def test_a_category_that_only_begins_like_no_error_costs_what_it_costs() -> None:
    assert mqm.score([error("minor", "no errors except")], "mqm") == -1.0
    assert mqm.score([error("minor", "No errors")], "mqm") == 0.0


def test_gemba_counts_the_five_worst_errors_and_stops_at_minus_25() -> None:
    assert mqm.score([*[error("minor")] * 9, error("major")], "gemba") == -9
    assert mqm.score([error("major")] * 9, "gemba") == -25
    assert mqm.score([error("critical"), error("critical")], "gemba") == -25


def test_scores_add_up_exactly_and_no_error_is_plain_zero() -> None:
    assert mqm.score([error("minor", "fluency/punctuation")] * 10, "himate") == -1.0
    assert str(mqm.score([], "mqm")) == "0.0"


def test_rubric_numbers_keep_their_value_in_the_penalty() -> None:
    names = [mqm.severity_of_number(number) for number in (0, 1, 2, 3, 4)]
    assert names == ["neutral", "minor", "minor", "major", "critical"]
    assert mqm.score([error("minor", penalty=2), error("critical", penalty=4)], "rubric") == -6
    assert mqm.weight(error("minor", penalty=2), "mqm") == 1
    assert [mqm.number_of_severity(name) for name in mqm.SEVERITIES] == [0, 1, 3, 4]


@pytest.mark.parametrize(
    ("scale", "last_of_each", "given"),
    [
        ("1-4", (0, 2, 3, 4), (0, 1, 3, 4)),
        ("1-8", (0, 4, 6, 8), (0, 2, 6, 8)),
        ("1-100", (0, 50, 75, 100), (0, 25, 75, 100)),
    ],
)
def test_every_rubric_scale_has_the_names_of_the_table(
    scale: mqm.Scale, last_of_each: tuple[int, ...], given: tuple[int, ...]
) -> None:
    for severity, last, beyond in zip(mqm.SEVERITIES, last_of_each, (*last_of_each[1:], None), strict=True):
        assert mqm.severity_of_number(last, scale) == severity
        assert (
            beyond is None or mqm.severity_of_number(last + 1, scale) == mqm.SEVERITIES[mqm.severity_rank(severity) + 1]
        )
    assert tuple(mqm.number_of_severity(severity, scale) for severity in mqm.SEVERITIES) == given
    assert [mqm.severity_of_number(number, scale) for number in given] == list(mqm.SEVERITIES)
    with pytest.raises(ValueError, match=f"scale from 1 to {mqm.highest(scale)}"):
        mqm.severity_of_number(mqm.highest(scale) + 1, scale)


@pytest.mark.parametrize(
    ("category", "severity", "cost"),
    [
        ("accuracy/mistranslation", "major", 5),
        ("fluency/punctuation", "major", 5),
        ("fluency/punctuation", "minor", 0.1),
        ("fluency/grammar", "minor", 1),
        ("style/awkward", "minor", 1),
        ("fluency/punctuation", "neutral", 0),
        ("accuracy/omission", "neutral", 0),
    ],
)
def test_the_weights_of_himate_table_6(category: str, severity: Severity, cost: float) -> None:
    assert mqm.weight(error(severity, category), "himate") == cost


def test_himate_has_no_extra_weight_for_a_non_translation_as_its_appendix_b_says() -> None:
    assert mqm.weight(error("major", "non-translation"), "himate") == 5


def test_the_weights_of_m_mad_equation_1() -> None:
    errors = [error("major"), error("major", "fluency/punctuation"), error("minor"), error("minor", "punctuation")]
    assert mqm.score(errors, "mmad") == -(5 * 2 + 1 * 2)
    assert mqm.score([error("major")] * 9, "mmad") == -45
    assert mqm.weight(error("major", "non-translation"), "mmad") == 5


def test_the_weights_of_mqm_as_freitag_2021_has_them() -> None:
    assert mqm.weight(error("major", "non-translation"), "mqm") == 25
    assert mqm.weight(error("minor", "fluency/punctuation"), "mqm") == 0.1
    assert [mqm.weight(error(severity), "mqm") for severity in ("major", "minor", "neutral")] == [5, 1, 0]


@pytest.mark.parametrize("number", [-1, 5, 4.5])
def test_numbers_off_the_scale_are_errors(number: float) -> None:
    with pytest.raises(ValueError, match="scale from 1 to 4"):
        mqm.severity_of_number(number)


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'mqn'.*mqm, gemba, himate, mmad, rubric"):
        mqm.score([error("minor")], "mqn")  # type: ignore[arg-type]


def test_weighted_puts_the_weight_on_the_span() -> None:
    assert mqm.weighted(error("minor", "fluency/punctuation"), "himate").penalty == 0.1


def test_there_are_ten_rubric_categories() -> None:
    assert len(set(mqm.RUBRIC_CATEGORIES)) == 10


@given(st.lists(st.sampled_from(mqm.SEVERITIES)), st.sampled_from(mqm.PRESETS))
def test_scores_are_never_positive_and_an_error_never_raises_one(
    severities: list[Severity], preset: mqm.Preset
) -> None:
    errors = [error(severity) for severity in severities]
    before = mqm.score(errors, preset)
    assert before <= 0
    assert mqm.score([*errors, error("minor")], preset) <= before
    assert [mqm.severity_rank(severity) for severity in mqm.SEVERITIES] == [0, 1, 2, 3]
