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
        ("mqm", (0, 1, 5, 25)), ("gemba", (0, 1, 5, 25)), ("himate", (0, 1, 5, 5)),
        ("mmad", (0, 1, 5, 5)), ("rubric", (0, 1, 3, 4)),
    ],
)  # fmt: skip
def test_every_preset_weighs_the_severities(preset: mqm.Preset, weights: tuple[float, ...]) -> None:
    assert tuple(mqm.weight(error(severity), preset) for severity in mqm.SEVERITIES) == weights


MINOR_MARK = error("minor", "fluency/punctuation")


@pytest.mark.parametrize(
    ("preset", "errors", "score"),
    [
        ("mqm", [], 0),
        ("mqm", [MINOR_MARK], -0.1),  # Freitag et al. 2021
        ("mqm", [error("minor", "Punctuation"), error("major", "fluency/punctuation")], -5.1),
        *(("mqm", [error("minor", category)], -25) for category in ("non-translation", "Non-translation!")),
        *(("mqm", [error("minor", category)], -25) for category in ("Non translation", "non-translation/other")),
        ("mqm", [error("major", "Source error"), error("major", "Source issue"), error("neutral", "No-error")], 0),
        ("mqm", [error("minor", "No errors")], 0),
        ("mqm", [error("minor", "no errors except")], -1),
        ("gemba", [MINOR_MARK], -1),
        ("gemba", [*[error("minor")] * 9, error("major")], -9),  # the five worst count
        ("gemba", [error("major")] * 9, -25),
        ("gemba", [error("critical"), error("critical")], -25),  # never below
        ("gemba", [error("minor", "non-translation")], -25),
        ("himate", [MINOR_MARK] * 10, -1),  # Table 6
        ("himate", [error("major", "fluency/punctuation"), error("minor", "style/awkward")], -6),
        ("himate", [error("neutral", "fluency/punctuation"), error("neutral", "accuracy/omission")], 0),
        ("himate", [error("major", "non-translation")], -5),  # appendix B
        ("mmad", [error("major"), error("major", "fluency/punctuation"), error("minor"), MINOR_MARK], -12),
        ("mmad", [error("major")] * 9, -45),
        ("mmad", [error("major", "non-translation")], -5),
        ("rubric", [MINOR_MARK, error("minor", penalty=2), error("critical", penalty=4)], -7),
    ],
)
def test_errors_add_up_as_the_papers_say(preset: mqm.Preset, errors: list[ErrorSpan], score: float) -> None:
    assert mqm.score(errors, preset) == score
    assert str(mqm.score(errors, preset)) != "-0.0"


@pytest.mark.parametrize(
    ("scale", "last_of_each", "numbers"),
    [
        ("1-4", (0, 2, 3, 4), (0, 1, 3, 4)),
        ("1-8", (0, 4, 6, 8), (0, 2, 6, 8)),
        ("1-100", (0, 50, 75, 100), (0, 25, 75, 100)),
    ],
)
def test_every_rubric_scale_has_the_names_of_the_table(
    scale: mqm.Scale, last_of_each: tuple[int, ...], numbers: tuple[int, ...]
) -> None:
    assert [mqm.severity_of_number(last, scale) for last in last_of_each] == list(mqm.SEVERITIES)
    assert [mqm.severity_of_number(last + 1, scale) for last in last_of_each[:-1]] == list(mqm.SEVERITIES[1:])
    assert tuple(mqm.number_of_severity(severity, scale) for severity in mqm.SEVERITIES) == numbers
    for number in (-1, 0.5 + mqm.highest(scale)):
        with pytest.raises(ValueError, match=f"scale from 1 to {mqm.highest(scale)}"):
            mqm.severity_of_number(number, scale)


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"'mqn'.*mqm, gemba, himate, mmad, rubric"):
        mqm.score([error("minor")], "mqn")  # type: ignore[arg-type]


def test_weighted_puts_the_weight_on_the_span() -> None:
    assert mqm.weight(error("minor", penalty=2), "mqm") == 1, "only RUBRIC-MQM goes by the number that was given"
    assert mqm.weighted(error("minor", "fluency/punctuation"), "himate").penalty == 0.1


@given(st.lists(st.sampled_from(mqm.SEVERITIES)), st.sampled_from(mqm.PRESETS))
def test_scores_are_never_positive_and_an_error_never_raises_one(
    severities: list[Severity], preset: mqm.Preset
) -> None:
    errors = [error(severity) for severity in severities]
    before = mqm.score(errors, preset)
    assert before <= 0
    assert mqm.score([*errors, error("minor")], preset) <= before
    assert [mqm.severity_rank(severity) for severity in mqm.SEVERITIES] == [0, 1, 2, 3]
