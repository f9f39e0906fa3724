"""Error spans of evaluators against people's: tables made by hand, and what must hold for all spans."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from mtagent.analysis.error_spans import (
    CHARACTERS,
    ESA_ERROR_FREE,
    MEASURES,
    PARTIAL_OVERLAP,
    THRESHOLDS,
    Measure,
    SegmentErrors,
    SegmentsLeftOut,
    SpanPairs,
    SpanRules,
    SpansLeftOut,
    best_pairs,
    by_group,
    common_words,
    detection,
    is_error_free,
    major_category,
    matching,
    score,
    span_pairs,
    words,
)
from mtagent.errors import ConfigError, InputError
from mtagent.records import ErrorSpan

TEXT = "0123456789 abcdefghij klmnopqrst"
every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)


def span(start: int | None, end: int | None = None, severity: Any = "minor", **more: Any) -> ErrorSpan:
    return ErrorSpan(**({"text": "", "category": "other", "severity": severity, "start": start, "end": end} | more))


def pairs_of(gold: Sequence[ErrorSpan] | None, predicted: Sequence[ErrorSpan] | None, **rules: Any) -> SpanPairs:
    return span_pairs([SegmentErrors(gold, predicted, TEXT, "source text of it")], SpanRules(**rules))


def rates(pairs: SpanPairs, measure: Measure) -> tuple[float, float, float]:
    result = score(pairs, measure)
    return result.precision, result.recall, result.f1


def words_at(text: str, part: str) -> ErrorSpan:
    return span(text.index(part), text.index(part) + len(part), text=part)


# --- measures


@pytest.mark.parametrize(
    ("gold", "predicted", "credited", "marked", "wanted"),
    [
        ([span(0, 10)], [span(5, 15)], 5, 10, 10),
        ([span(0, 10)], [span(10, 15)], 0, 5, 10),
        ([span(0, 10, "major")], [span(0, 10)], 5, 10, 10),
        ([span(0, 10, "major")], [span(0, 10, "critical")], 10, 10, 10),
        ([span(0, 4), span(0, 4)], [span(0, 4)], 4, 4, 8),
        ([span(0, 4), span(0, 4, "major")], [span(0, 4), span(0, 4)], 4 + 2, 8, 8),
        ([span(0, 4, "major"), span(2, 6)], [span(0, 6)], 2 * 0.5 + 4, 6, 8),
    ],
)
def test_characters_are_credited_as_at_wmt25(
    gold: list[ErrorSpan], predicted: list[ErrorSpan], credited: float, marked: int, wanted: int
) -> None:
    result = score(pairs_of(gold, predicted), CHARACTERS)
    assert (result.right, result.predicted, result.found, result.gold) == (credited, marked, credited, wanted)


@every_measure
def test_nothing_marked_is_perfect_only_where_nothing_is_wrong(measure: Measure) -> None:
    assert rates(pairs_of([], []), measure) == (1, 1, 1)
    assert rates(pairs_of([span(0, 3)], []), measure) == (1, 0, 0)
    assert rates(pairs_of([], [span(0, 3)]), measure) == (0, 1, 0)


def test_a_corpus_is_scored_by_its_sums_and_macro_f1_is_the_mean_of_its_segments() -> None:
    sides = [([span(0, 10)], [span(0, 5)]), ([], []), ([span(0, 10)], [span(10, 30)])]
    result = score(span_pairs([SegmentErrors(gold, predicted, TEXT) for gold, predicted in sides]), CHARACTERS)
    assert (result.precision, result.recall, result.segments) == (5 / 25, 5 / 20, 3)
    assert result.macro_f1 == pytest.approx((2 / 3 + 1 + 0) / 3)


@pytest.mark.parametrize(
    ("gold", "predicted", "precise", "recalled"),
    [
        ([span(0, 10)], [span(0, 5)], 1, 0.5),
        ([span(0, 10)], [span(0, 5), span(5, 10)], 1 / 2, 0.5),  # one partner alone
        ([span(0, 4), span(4, 10)], [span(0, 10)], 0.6, 0.5),  # the longer part has the higher Dice
        ([span(0, 4), span(2, 10)], [span(2, 4), span(4, 10)], (1 + 1) / 2, (0.5 + 6 / 8) / 2),
        ([span(0, 10, "major")], [span(0, 5)], 1, 0.5),
        ([span(0, 5)], [span(5, 10)], 0, 0),
        ([span(10, 14)], [span(9, 11), span(12, 20)], 2 / 8 / 2, 2 / 4),  # both have Dice 1/3
        # Dice 1/3 and 2/3, or 1/2 and 1/2; three characters in common in both: the more alike pairs
        ([span(1, 3), span(0, 4)], [span(2, 6), span(5, 6), span(0, 2)], 1.25 / 3, 1 / 2),
    ],
)
def test_partners_are_credited_with_their_share(
    gold: list[ErrorSpan], predicted: list[ErrorSpan], precise: float, recalled: float
) -> None:
    assert rates(pairs_of(gold, predicted), PARTIAL_OVERLAP)[:2] == pytest.approx((precise, recalled))
    assert rates(pairs_of(predicted, gold), PARTIAL_OVERLAP)[:2] == pytest.approx((recalled, precise))


@given(st.text("abc", min_size=1, max_size=12), st.text("abc", min_size=1, max_size=12))
def test_a_pair_matches_as_in_algorithm_1(gold: str, detected: str) -> None:
    """The paper's loop, from the longest run to the shortest."""
    sizes = range(min(len(gold), len(detected)), 0, -1)
    longest = next((n for n in sizes if any(gold[i : i + n] in detected for i in range(len(gold) - n + 1))), 0)
    marked = SegmentErrors([span(None, text=" ".join(gold))], [span(None, text=" ".join(detected))], "")
    pairs = span_pairs([marked], SpanRules(unlocated="miss"))
    for threshold in THRESHOLDS:
        matched = longest > 0 and longest / len(gold) >= threshold and longest / len(detected) >= threshold
        assert score(pairs, matching(threshold)).found == matched, threshold


def test_the_papers_example_has_five_words_on_both_sides_and_four_in_common() -> None:
    """Appendix E prints 4, 5 and 3 words, 75 % and 60 %; there are 5, 5 and 4."""
    gold, detected, text = "go back to the lab", "back to the lab tomorrow", "they go back to the lab tomorrow"
    assert (len(words(gold)), len(words(detected)), common_words(gold, detected)) == (5, 5, 4 / 5)
    pairs = span_pairs([SegmentErrors([words_at(text, gold)], [words_at(text, detected)], text)])
    assert {at: score(pairs, matching(at)).f1 for at in THRESHOLDS} == {at: float(at <= 0.8) for at in THRESHOLDS}


def test_words_match_wherever_they_stand_and_a_span_has_one_partner() -> None:
    """HiMATE, Tables 16 and 17: two annotations of one word, and one detected span."""
    the = span_pairs([SegmentErrors([span(0, 3, text="the")], [span(12, 15, text="the")], "the cat and the dog")])
    assert score(the, matching()).f1 == 1
    text = "diese Woche noch stärker gemacht wurde, als ein Feuerwerk"
    gold = [words_at(text, "stärker gemacht"), words_at(text, "Feuerwerk"), words_at(text, "Feuerwerk")]
    detected = [words_at(text, "stärker gemacht wurde"), words_at(text, "Feuerwerk")]
    pairs = span_pairs([SegmentErrors(gold, detected, text)])
    assert rates(pairs, matching(0.5))[:2] == (1, 2 / 3)
    assert score(pairs, matching(0.7)).precision == 1 / 2  # two of three words


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("go back, now.", ("go", "back", ",", "now", ".")),
        ("我爱 Python3！", ("我", "爱", "Python3", "！")),
        ("हिन्दी भाषा", ("हिन्दी", "भाषा")),
        ("ที่นี่", ("ที่", "นี่")),
        ("  ", ("  ",)),
        ("", ()),
    ],
)
def test_words(text: str, parts: tuple[str, ...]) -> None:
    assert words(text) == parts


# --- what cannot simply be compared


def test_not_rated_and_error_free_are_not_the_same() -> None:
    with pytest.raises(InputError, match=r"segment 'b': was not rated by people.*unrated='leave-out'"):
        span_pairs([SegmentErrors([], [], TEXT), SegmentErrors(None, [], TEXT, name="b")])
    with pytest.raises(InputError, match="segment number 1: was not rated by the evaluator, or it marks no spans"):
        span_pairs([SegmentErrors([], None, TEXT)])
    sides = [([span(0, 2)], [span(0, 2)]), (None, [span(0, 2)]), *[([], None)] * 2, *[(None, None)] * 3, ([], [])]
    rows = [SegmentErrors(*both, TEXT) for both in sides]
    pairs = span_pairs(rows, SpanRules(unrated="leave-out"))
    assert (len(pairs.gold), pairs.left_out) == (2, SegmentsLeftOut(gold=1, predicted=2, both=3))
    assert score(pairs, CHARACTERS).predicted == 2
    with pytest.raises(InputError, match="no segment"):
        span_pairs(rows[1:-1], SpanRules(unrated="leave-out"))


@pytest.mark.parametrize(
    ("policy", "starts", "unlocated", "characters"),
    [("leave-out", [], 2, 0), ("locate", [8], 1, 3), ("miss", [-1, 8], 0, 6)],
)
def test_spans_without_a_place_are_left_out_located_or_missed(
    policy: Any, starts: list[int], unlocated: int, characters: int
) -> None:
    row = SegmentErrors([span(0, 3, text="xyz")], [span(None, text="abc"), span(None, text="xyz")], "xyz xyz abc")
    pairs = span_pairs([row], SpanRules(unlocated=policy))
    assert ([place.start for place in pairs.predicted[0]], pairs.predicted_left_out.unlocated) == (starts, unlocated)
    assert score(pairs, CHARACTERS).predicted == characters
    if policy == "miss":  # Algorithm 1 compares words, not places
        assert (score(pairs, PARTIAL_OVERLAP).right, score(pairs, matching()).right) == (0, 1)


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [(span(None, text="abc"), "'abc'"), (span(4, 7, text="abc"), "'abc' at 4–7"), (span(9, 99), "9")],
)
def test_spans_without_a_place_are_refused(wrong: ErrorSpan, shown: str) -> None:
    """Also where other words stand at the offsets."""
    with pytest.raises(InputError, match=f"segment 's': the human span .*{shown}.* has no place.*unlocated='locate'"):
        span_pairs([SegmentErrors([wrong], [], "xyz xyz abc", name="s")])


def test_neutral_spans_and_spans_without_characters_are_left_out_and_counted() -> None:
    pairs = pairs_of([span(2, 2), span(0, 3, "neutral"), span(5, 6)], [span(5, 6)])
    assert pairs.gold_left_out == SpansLeftOut(severity=1, empty=1)
    assert rates(pairs, CHARACTERS) == (1, 1, 1)
    invented = pairs_of([span(0, 3)], [span(0, 3), span(None)], unlocated="miss")
    assert score(invented, CHARACTERS).precision == 3 / 4  # without words it is one character


OMITTED = span(None, text="text", category="accuracy/omission", side="omission")
WORDLESS = span(None, category="omission", side="omission")
IN_SOURCE = span(7, 11, text="text", category="source error", side="source")


def test_omissions_and_source_errors_are_left_out_and_counted() -> None:
    pairs = pairs_of([OMITTED, IN_SOURCE, span(0, 3)], [WORDLESS, span(0, 3)])
    assert pairs.gold_left_out == SpansLeftOut(omissions=1, source_errors=1)
    assert pairs.predicted_left_out == SpansLeftOut(omissions=1)
    assert rates(pairs, PARTIAL_OVERLAP) == (1, 1, 1)


def test_omissions_and_source_errors_are_spans_of_the_source() -> None:
    rules = {"outside": "source", "unlocated": "locate"}
    pairs = pairs_of([OMITTED], [WORDLESS, IN_SOURCE], **rules)
    assert pairs.predicted_left_out == SpansLeftOut(unlocated=1)
    result = score(pairs, CHARACTERS)
    assert (result.right, result.predicted, result.gold) == (4, 4, 4)
    assert rates(pairs_of([OMITTED], [span(7, 11)], **rules), CHARACTERS)[2] == 0  # of the translation
    row = SegmentErrors([OMITTED], [span(0, 4, text="text")], "text it is", "source text of it")
    assert score(span_pairs([row], SpanRules(**rules)), matching()).right == 0  # type: ignore[arg-type]


def test_the_context_and_the_place_of_an_omission_are_of_the_translation() -> None:
    rules = SpanRules(outside="source", unlocated="locate")
    around = OMITTED.model_copy(update={"after": " two"})
    pairs = span_pairs([SegmentErrors([around, span(3, 3, side="omission")], [], TEXT, "text one text two")], rules)
    assert pairs.gold_left_out == SpansLeftOut(unlocated=2)
    assert len(span_pairs([SegmentErrors([around], [], TEXT, "one text")], rules).gold[0]) == 1


def test_omissions_and_source_errors_match_by_segment() -> None:
    pairs = pairs_of([OMITTED, OMITTED, IN_SOURCE], [WORDLESS, span(0, 3)], outside="segment")
    for measure in (PARTIAL_OVERLAP, matching()):
        result = score(pairs, measure)
        assert (result.right, result.predicted, result.found, result.gold) == (1, 2, 1, 3)
    result = score(pairs, CHARACTERS)
    assert (result.right, result.predicted, result.gold) == (1, 4, 3)


def test_unknown_settings_are_named() -> None:
    for wrong in ({"unrated": "ignore"}, {"unlocated": "guess"}, {"outside": "target"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            SpanRules(**wrong)  # type: ignore[arg-type]
    for threshold in (0, 1.01, float("nan")):
        with pytest.raises(ConfigError, match="threshold"):
            matching(threshold)


# --- groups


@pytest.mark.parametrize(
    ("major", "categories"),
    [
        ("accuracy", ["Accuracy/Mistranslation", "accuracy/omission", "Mistranslation", "untranslated text"]),
        ("fluency", ["Linguistic_conventions/Spelling", "fluency/inconsistency", "Spelling/Capitalization"]),
        ("locale convention", ["Locale_conventions/Measurement_format", "date format"]),
        ("source error", ["Source/", "source issue"]),
        ("non-translation", ["Non-translation!", "non_translation"]),
        ("style", ["Style/Non_fluent"]),
        ("other", ["Other/", ""]),
        ("my own", ["my own"]),
    ],
)
def test_major_categories(major: str, categories: list[str]) -> None:
    assert {major_category(category) for category in categories} == {major}


def test_by_category_and_by_severity() -> None:
    gold = [span(0, 4, "major", category="Accuracy/Mistranslation"), span(5, 9, category="Style/Awkward")]
    predicted = [span(0, 4, category="fluency/grammar"), span(5, 9, category="style")]
    categories = {}
    for name, pairs in by_group(pairs_of(gold, predicted), "category").items():
        categories[name] = score(pairs, PARTIAL_OVERLAP)
    counts = {name: (group.recall, group.gold, group.predicted) for name, group in categories.items()}
    assert counts == {"accuracy": (0, 1, 0), "fluency": (1, 0, 1), "style": (1, 1, 1)}
    assert categories["style"].group == "style"
    assert categories["style"].signature.endswith("|group:style|against:same")
    severities = {}
    for name, pairs in by_group(pairs_of(gold, predicted), "severity").items():
        severities[name] = score(pairs, CHARACTERS)
    assert [(name, group.precision, group.recall) for name, group in severities.items()] == [
        ("minor", 0.5, 1), ("major", 1, 0)
    ]  # fmt: skip


def test_a_number_carries_what_it_depends_on() -> None:
    pairs = pairs_of([OMITTED, span(0, 3)], [span(0, 3, "neutral")], unlocated="locate")
    assert score(pairs, matching(0.3)).signature.startswith(
        "match|threshold:0.3|by:words|partners:one|severities:minor,major,critical|unlocated:locate|outside:leave-out"
        "|left-out:0,1,1|version:"
    )


# --- what must hold for all spans


def drawn(seed: int, number: int = 40) -> list[SegmentErrors]:
    """Segments with up to five spans on both sides, some alike."""
    chance = random.Random(seed)

    def side() -> list[ErrorSpan]:
        places = [sorted(chance.sample(range(len(TEXT) + 1), 2)) for _ in range(chance.randrange(6))]
        return [span(*place, chance.choice(["minor", "major", "critical"])) for place in places]

    return [SegmentErrors(gold := side(), side() + gold[: chance.randrange(3)], TEXT) for _ in range(number)]


@every_measure
@pytest.mark.parametrize("seed", range(5))
def test_identical_is_perfect_disjoint_is_nothing_and_order_and_sides_do_not_matter(
    measure: Measure, seed: int
) -> None:
    rows = drawn(seed)
    plain = score(span_pairs(rows), measure)
    assert rates(span_pairs([row._replace(predicted=row.gold) for row in rows]), measure) == (1, 1, 1)
    apart = [row._replace(gold=[span(0, 9)], predicted=[span(12, 20), span(22, 30)]) for row in rows]
    assert score(span_pairs(apart), measure).f1 == 0
    reversed_ = [row._replace(gold=(row.gold or ())[::-1], predicted=(row.predicted or ())[::-1]) for row in rows]
    assert score(span_pairs(reversed_), measure) == plain
    turned = score(span_pairs([row._replace(gold=row.predicted, predicted=row.gold) for row in rows]), measure)
    assert (turned.recall, turned.precision, turned.macro_f1) == pytest.approx(
        (plain.precision, plain.recall, plain.macro_f1)
    )


def one_by_one(row: SegmentErrors) -> tuple[float, float, float]:
    """WMT25's score, character by character."""
    depths = [[[0, 0] for _ in row.translation] for _ in range(2)]
    for depth, side in zip(depths, (row.gold or (), row.predicted or ()), strict=True):
        for error in side:
            for at in range(error.start or 0, error.end or 0):
                depth[at][error.severity != "minor"] += 1
    matched = 0.0
    for gold, predicted in zip(*depths, strict=True):
        same = [min(pair) for pair in zip(gold, predicted, strict=True)]
        matched += sum(same) + 0.5 * min(sum(side) - sum(same) for side in (gold, predicted))
    return matched, sum(map(sum, depths[1])), sum(map(sum, depths[0]))


def test_characters_agree_with_counting_one_by_one() -> None:
    for row in drawn(1, 200):
        result = score(span_pairs([row]), CHARACTERS)
        assert (result.right, result.predicted, result.gold) == one_by_one(row)


@pytest.mark.parametrize("seed", range(100))
def test_chosen_pairs_are_the_best_of_all(seed: int) -> None:
    chance = np.random.default_rng(seed)
    shape = chance.integers(1, 8, 2)
    table = chance.random(shape) * (chance.random(shape) < 0.7)
    pairs = best_pairs({(row, column): table[row, column] for row, column in np.argwhere(table).tolist()})
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    best = table[scipy.optimize.linear_sum_assignment(table, maximize=True)].sum()
    assert sum(table[pair] for pair in pairs) == pytest.approx(best)


def test_neither_long_texts_nor_many_spans_over_one_place_take_long() -> None:
    gold, predicted = ([span(at * 5, at * 5 + size) for at in range(200)] for size in (200, 150))
    pairs = span_pairs([SegmentErrors(gold, predicted, "word " * 1_000_000)])
    assert score(pairs, CHARACTERS).predicted == 200 * 150
    assert rates(pairs, PARTIAL_OVERLAP)[:2] == pytest.approx((1, 0.75))


def test_spans_without_a_place_are_searched_together() -> None:
    invented = [span(None, text=f"not there {number}") for number in range(200)]
    began = time.process_time()
    pairs = span_pairs([SegmentErrors(invented, invented, "some words of a text " * 1000)], SpanRules(unlocated="miss"))
    assert time.process_time() - began < 3  # one by one it takes 17 s
    assert score(pairs, matching()).f1 == 1


# --- error-free translations


@pytest.mark.parametrize(
    ("errors", "esa", "label"),
    [
        ((), 85.0, True),
        ((), 84.9, False),
        ((span(0, 1, "neutral"),), 99.0, False),
        ((IN_SOURCE,), None, False),
        ((), None, None),
        (None, 99.0, None),
    ],
)
def test_labels_of_wmt26_need_a_score_and_no_spans(errors: Any, esa: float | None, label: bool | None) -> None:
    assert is_error_free(errors, esa, at_least=ESA_ERROR_FREE) is label
    assert is_error_free(errors) is (None if errors is None else not errors)


def test_error_free_translations_are_detected_as_counted_by_hand() -> None:
    gold = [True, True, True, False, False, False, False, None, True, True, None, None, None]
    predicted = [True, True, False, True, False, False, False, True, None, None, None, None, None]
    with pytest.raises(InputError, match="segment number 8: no label of people"):
        detection(gold, predicted)
    with pytest.raises(InputError, match="2 labels of people and 1"):
        detection([True, False], [True])
    result = detection(gold, predicted, unrated="leave-out")
    assert result[:4] == (2, 1, 1, 3)
    assert result.left_out == SegmentsLeftOut(gold=1, predicted=2, both=3)
    assert (result.precision, result.recall, result.f1, result.accuracy) == pytest.approx((2 / 3, 2 / 3, 2 / 3, 5 / 7))
    nowhere = detection([False, False], [False, False])
    assert (nowhere.precision, nowhere.recall, nowhere.f1, nowhere.accuracy) == (None, None, None, 1)
