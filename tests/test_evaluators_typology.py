"""The typology of HiMATE, Table 8: what it holds, and how models write its names."""

from __future__ import annotations

import pytest

from mtagent.evaluators.typology import CORES, SUBTYPES, category_of, described, subtype_of, subtypes_of


def test_it_has_the_five_core_types_and_nineteen_subtypes_of_himate_table_8() -> None:
    assert {core: len(subtypes_of(core)) for core in CORES} == {
        "accuracy": 4,
        "terminology": 2,
        "fluency": 6,
        "style": 1,
        "locale convention": 6,
    }
    assert len({subtype.category for subtype in SUBTYPES}) == 19


def test_every_name_means_itself_with_and_without_its_core_type() -> None:
    for subtype in SUBTYPES:
        assert subtype_of(subtype.category) == subtype_of(subtype.name) == subtype


@pytest.mark.parametrize(
    ("written", "category"),
    [
        ("Accuracy/Mistranslation", "accuracy/mistranslation"),
        ("MISTRANSLATION", "accuracy/mistranslation"),
        ("accuracy - omission", "accuracy/omission"),
        ("Accuracy: Untranslated", "accuracy/untranslated text"),
        ("untranslated_text", "accuracy/untranslated text"),
        ("Locale Convention/Date", "locale convention/date format"),
        ("locale-convention/time_format", "locale convention/time format"),
        ("Locale convention (currency)", "locale convention/currency format"),
        ("terminology/inappropriate", "terminology/inappropriate for context"),
        ("inconsistent use", "terminology/inconsistent use"),
        ("fluency/inconsistency", "fluency/inconsistency"),
        ("Fluency/Inconsistent", "fluency/inconsistency"),
        ("terminology/inconsistency", "terminology/inconsistent use"),
        ("mistranslation/accuracy", "accuracy/mistranslation"),
        ("accuracy/omission/error", "accuracy/omission"),
        ("**Style/Awkward**", "style/awkward"),
        ("fluency > punctuation", "fluency/punctuation"),
        ("Fluency", "fluency"),
        ("Hallucination", "hallucination"),
    ],
)
def test_a_category_as_models_write_it(written: str, category: str) -> None:
    assert category_of(written) == category


def test_it_is_described_line_by_line_for_a_prompt() -> None:
    lines = described(subtypes_of("terminology")).split("\n")
    assert [line.partition(":")[0] for line in lines] == [
        "- terminology/inappropriate for context",
        "- terminology/inconsistent use",
    ]
