"""Error spans of evaluators against people's: tables made by hand, and what must hold for all spans."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.analysis.error_spans import (
    SegmentErrors,
    SegmentsLeftOut,
    SpanPairs,
    SpanRules,
    SpansLeftOut,
    major_category,
    plain_category,
    span_pairs,
)
from mtagent.analysis.span_scores import (
    THRESHOLDS,
    CharacterF1,
    Matching,
    Measure,
    PartialOverlap,
    best_pairs,
    by_group,
    by_threshold,
    difference,
    heaviest,
    longest_run,
    score,
    segment_scores,
    words,
)
from mtagent.errors import ConfigError, InputError
from mtagent.metrics.significance import Resampling
from mtagent.records import ErrorSpan
from mtagent.text.mqm import SEVERITIES

TEXT = "0123456789 abcdefghij klmnopqrst"
MEASURES: list[Measure] = [
    CharacterF1(),
    CharacterF1(credit=0),
    PartialOverlap(),
    PartialOverlap(credit="full", severity_credit=0.5),
    Matching(0.3),
    Matching(0.5, by="characters"),
    Matching(0.9, by="characters", partners="any"),
]


def span(
    start: int | None, end: int | None = None, severity: Any = "minor", category: str = "other", **more: Any
) -> ErrorSpan:
    return ErrorSpan(text=more.pop("text", ""), category=category, severity=severity, start=start, end=end, **more)


def pairs_of(gold: Sequence[ErrorSpan] | None, predicted: Sequence[ErrorSpan] | None, **rules: Any) -> SpanPairs:
    return span_pairs([SegmentErrors(gold, predicted, TEXT, "source text of it")], SpanRules(**rules))


def rates(pairs: SpanPairs, measure: Measure) -> tuple[float, float, float]:
    found = score(pairs, measure)
    return found.precision, found.recall, found.f1


# --- characters: WMT25 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "predicted", "credited", "marked", "wanted"),
    [
        ([span(0, 10)], [span(0, 10)], 10, 10, 10),
        ([span(0, 10)], [span(5, 15)], 5, 10, 10),
        ([span(0, 10)], [span(10, 15)], 0, 5, 10),
        ([span(0, 10, "major")], [span(0, 10)], 5, 10, 10),
        ([span(0, 10, "major")], [span(0, 10, "critical")], 10, 10, 10),
        ([span(0, 4), span(0, 4)], [span(0, 4)], 4, 4, 8),
        ([span(0, 4), span(0, 4, "major")], [span(0, 4), span(0, 4)], 4 + 2, 8, 8),
        ([span(0, 4, "major"), span(2, 6)], [span(0, 6)], 2 * 0.5 + 4, 6, 8),
        ([], [span(3, 5)], 0, 2, 0),
        ([span(3, 5)], [], 0, 0, 2),
        ([], [], 0, 0, 0),
    ],
)
def test_characters_are_credited_as_at_wmt25(
    gold: list[ErrorSpan], predicted: list[ErrorSpan], credited: float, marked: int, wanted: int
) -> None:
    found = score(pairs_of(gold, predicted), CharacterF1())
    assert (found.right, found.predicted, found.found, found.gold) == (credited, marked, credited, wanted)
    assert found.unit == "characters"


def test_nothing_marked_is_perfect_only_where_nothing_is_wrong() -> None:
    for measure in MEASURES:
        assert rates(pairs_of([], []), measure) == (1, 1, 1)
        assert rates(pairs_of([span(0, 3)], []), measure) == (1, 0, 0)
        assert rates(pairs_of([], [span(0, 3)]), measure) == (0, 1, 0)


def test_a_corpus_is_scored_by_its_sums_and_segments_by_themselves() -> None:
    pairs = span_pairs([
        SegmentErrors([span(0, 10)], [span(0, 5)], TEXT),
        SegmentErrors([], [], ""),
        SegmentErrors([span(0, 10)], [span(10, 30)], TEXT),
    ])  # fmt: skip
    found = score(pairs, CharacterF1())
    assert (found.precision, found.recall) == (5 / 25, 5 / 20)
    each = segment_scores(pairs, CharacterF1())
    assert each == pytest.approx(np.array([[1, 0.5, 2 / 3], [1, 1, 1], [0, 0, 0]]))
    assert found.macro_f1 == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert found.segments == 3


# --- partial overlap --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "predicted", "precise", "recalled"),
    [
        ([span(0, 10)], [span(0, 5)], 1, 0.5),
        ([span(0, 10)], [span(0, 5), span(5, 10)], 1 / 2, 0.5),  # one partner alone
        ([span(0, 4), span(4, 10)], [span(0, 10)], 0.6, 0.5),  # the longer part has the higher Dice
        ([span(0, 4), span(2, 10)], [span(2, 4), span(4, 10)], (1 + 1) / 2, (0.5 + 6 / 8) / 2),
        ([span(0, 10, "major")], [span(0, 5)], 1, 0.5),
        ([span(0, 5)], [span(5, 10)], 0, 0),
    ],
)
def test_partners_are_credited_with_their_share(
    gold: list[ErrorSpan], predicted: list[ErrorSpan], precise: float, recalled: float
) -> None:
    assert rates(pairs_of(gold, predicted), PartialOverlap())[:2] == pytest.approx((precise, recalled))


def test_the_best_partners_are_not_the_next_best_ones() -> None:
    gold, predicted = [span(0, 10), span(8, 20)], [span(0, 3), span(4, 12)]
    assert rates(pairs_of(gold, predicted), PartialOverlap(credit="full"))[:2] == (1, 1)


def test_a_wrong_severity_costs_what_is_asked_for() -> None:
    pairs = pairs_of([span(0, 10, "major")], [span(0, 5)])
    assert rates(pairs, PartialOverlap(severity_credit=0.5))[:2] == (0.5, 0.25)
    assert rates(pairs, PartialOverlap(credit="full", severity_credit=0.5))[:2] == (0.5, 0.5)
    assert rates(pairs, PartialOverlap(severity_credit=0))[2] == 0


def test_ties_between_partners_are_broken_alike_from_both_sides() -> None:
    gold, predicted = [span(10, 14)], [span(9, 11), span(12, 20)]  # both have Dice 1/3
    one, other = (rates(pairs, PartialOverlap()) for pairs in (pairs_of(gold, predicted), pairs_of(predicted, gold)))
    assert one[:2] == pytest.approx((2 / 8 / 2, 2 / 4))
    assert (one[0], one[1]) == pytest.approx((other[1], other[0]))


@pytest.mark.parametrize("turned", [False, True])
def test_of_equally_good_choices_the_one_with_the_more_alike_pairs_counts(turned: bool) -> None:
    """Dice 1/3 and 2/3, or 1/2 and 1/2; three characters in common in both."""
    sides = [span(1, 3), span(0, 4)], [span(2, 6), span(5, 6), span(0, 2)]
    gold, predicted = reversed(sides) if turned else sides
    found = score(pairs_of(gold, predicted), PartialOverlap())
    assert (found.right, found.found)[:: -1 if turned else 1] == (1.25, 1)


# --- Algorithm 1 ------------------------------------------------------------------------------------------------------


def algorithm_1(gold: Sequence[str], detected: Sequence[str], threshold: float) -> bool:
    """The paper's loop, from the longest run to the shortest."""
    for size in range(min(len(gold), len(detected)), 0, -1):
        for i in range(len(gold) - size + 1):
            common = any(gold[i : i + size] == detected[j : j + size] for j in range(len(detected) - size + 1))
            if common and size / len(gold) >= threshold and size / len(detected) >= threshold:
                return True
    return False


@given(st.text("abc", min_size=1, max_size=12), st.text("abc", min_size=1, max_size=12))
@settings(deadline=None)
def test_a_pair_matches_as_in_algorithm_1(gold: str, detected: str) -> None:
    pairs = span_pairs(
        [SegmentErrors([span(None, text=" ".join(gold))], [span(None, text=" ".join(detected))], "")],
        SpanRules(unlocated="miss"),
    )
    for threshold, found in by_threshold(pairs).items():
        assert found.found == algorithm_1(list(gold), list(detected), threshold), threshold


def words_at(text: str, part: str) -> ErrorSpan:
    return span(text.index(part), text.index(part) + len(part), text=part)


def test_the_papers_example_has_five_words_on_both_sides_and_four_in_common() -> None:
    """Appendix E prints 4, 5 and 3 words, 75 % and 60 %; there are 5, 5 and 4."""
    gold, detected = words("go back to the lab"), words("back to the lab tomorrow")
    assert (len(gold), len(detected), longest_run(gold, detected)) == (5, 5, 4)
    text = "they go back to the lab tomorrow"
    pairs = span_pairs([
        SegmentErrors([words_at(text, "go back to the lab")], [words_at(text, "back to the lab tomorrow")], text)
    ])  # fmt: skip
    assert {at: found.f1 for at, found in by_threshold(pairs).items()} == {at: float(at <= 0.8) for at in THRESHOLDS}


def test_a_threshold_that_is_just_reached_is_reached() -> None:
    for tenths in range(1, 10):
        pairs = pairs_of([span(0, 10)], [span(0, tenths)])
        curve = by_threshold(pairs, Matching(by="characters"))
        assert [at for at, found in curve.items() if found.f1] == [at for at in THRESHOLDS if at * 10 <= tenths]


def test_words_match_wherever_they_stand_and_characters_only_in_place() -> None:
    text = "the cat and the dog"
    pairs = span_pairs([SegmentErrors([span(0, 3, text="the")], [span(12, 15, text="the")], text)])
    assert score(pairs, Matching(by="words")).f1 == 1
    assert score(pairs, Matching(by="characters")).f1 == 0


def test_a_span_has_one_partner_or_any() -> None:
    """HiMATE, Tables 16 and 17: two annotations of one word, and one detected span."""
    text = "diese Woche noch stärker gemacht wurde, als ein Feuerwerk"
    gold = [words_at(text, "stärker gemacht"), words_at(text, "Feuerwerk"), words_at(text, "Feuerwerk")]
    detected = [words_at(text, "stärker gemacht wurde"), words_at(text, "Feuerwerk")]
    pairs = span_pairs([SegmentErrors(gold, detected, text)])
    one, anyone = score(pairs, Matching(0.5)), score(pairs, Matching(0.5, partners="any"))
    assert (one.precision, one.recall) == (1, 2 / 3)
    assert (anyone.precision, anyone.recall) == (1, 1)
    assert score(pairs, Matching(0.7)).precision == 1 / 2  # two of three words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("go back, now.", ("go", "back", ",", "now", ".")),
        ("我爱 Python3！", ("我", "爱", "Python3", "！")),
        ("हिन्दी भाषा", ("हिन्दी", "भाषा")),
        ("ที่นี่", ("ที่", "นี่")),
        ("  ", ("  ",)),
        ("", ()),
    ],
)
def test_words(text: str, found: tuple[str, ...]) -> None:
    assert words(text) == found


# --- what cannot simply be compared -----------------------------------------------------------------------------------


def test_not_rated_and_error_free_are_not_the_same() -> None:
    with pytest.raises(InputError, match=r"segment 'b': was not rated by people.*unrated='leave-out'"):
        span_pairs([SegmentErrors([], [], TEXT), SegmentErrors(None, [], TEXT, name="b")])
    with pytest.raises(InputError, match="segment number 1: was not rated by the evaluator, or it marks no spans"):
        span_pairs([SegmentErrors([], None, TEXT)])
    rows = [
        SegmentErrors([span(0, 2)], [span(0, 2)], TEXT),
        SegmentErrors(None, [span(0, 2)], TEXT),
        *[SegmentErrors([], None, TEXT)] * 2,
        *[SegmentErrors(None, None, TEXT)] * 3,
        SegmentErrors([], [], TEXT),
    ]
    pairs = span_pairs(rows, SpanRules(unrated="leave-out"))
    assert (pairs.kept, pairs.left_out) == ((0, 7), SegmentsLeftOut(gold=1, predicted=2, both=3))
    assert score(pairs, CharacterF1()).predicted == 2
    with pytest.raises(InputError, match="no segment"):
        span_pairs(rows[1:-1], SpanRules(unrated="leave-out"))


LOST = span(None, text="abc")
TWICE = span(None, text="xyz")


def unlocated(policy: str) -> SpanPairs:
    marked = SegmentErrors([span(0, 3, text="xyz")], [LOST, TWICE], "xyz xyz abc", name="s")
    return span_pairs([marked], SpanRules(unlocated=policy))  # type: ignore[arg-type]


def test_spans_without_a_place_are_refused_left_out_located_or_missed() -> None:
    with pytest.raises(InputError, match=r"segment 's': the evaluator's span 'abc' has no place.*unlocated='locate'"):
        unlocated("refuse")
    assert unlocated("leave-out").predicted_left_out.unlocated == 2
    found = unlocated("locate")
    assert (len(found.predicted[0]), found.predicted_left_out.unlocated) == (1, 1)
    assert ([span.start for span in found.predicted[0]], score(found, CharacterF1()).predicted) == ([8], 3)
    missed = unlocated("miss")
    assert (len(missed.predicted[0]), missed.predicted_left_out.unlocated) == (2, 0)
    assert [span.start for span in missed.predicted[0]] == [-1, 8]
    assert score(missed, CharacterF1()).predicted == 6
    assert score(missed, PartialOverlap()).predicted == 2
    assert score(missed, PartialOverlap()).right == 0
    assert score(missed, Matching()).right == 1  # Algorithm 1 compares words, not places


def test_an_invented_span_without_words_is_one_character() -> None:
    pairs = pairs_of([span(0, 3)], [span(0, 3), span(None)], unlocated="miss")
    assert score(pairs, CharacterF1()).precision == 3 / 4


def test_offsets_at_which_other_words_stand_are_no_place() -> None:
    wrong = span(4, 7, text="abc")
    for beyond in (wrong, span(9, 99)):
        with pytest.raises(InputError, match=f"at {beyond.start}–{beyond.end} has no place"):
            span_pairs([SegmentErrors([beyond], [], "xyz xyz abc")])
    pairs = span_pairs([SegmentErrors([wrong], [], "xyz xyz abc")], SpanRules(unlocated="locate"))
    assert [span.start for span in pairs.gold[0]] == [8]


def test_spans_without_characters_and_of_other_severities_are_left_out_and_counted() -> None:
    gold = [span(2, 2), span(0, 3, "neutral"), span(5, 6)]
    pairs = pairs_of(gold, [span(5, 6)])
    assert pairs.gold_left_out == SpansLeftOut(severity=1, empty=1)
    assert rates(pairs, CharacterF1()) == (1, 1, 1)
    assert len(pairs_of(gold, [], severities=SEVERITIES).gold[0]) == 2
    assert len(pairs_of([span(0, 3, "major"), span(5, 6)], [], severities=("major",)).gold[0]) == 1


OMITTED = span(None, text="text", category="accuracy/omission", side="omission")
WORDLESS = span(None, category="omission", side="omission")
IN_SOURCE = span(7, 11, text="text", category="source error", side="source")


def test_omissions_and_source_errors_are_left_out_and_counted() -> None:
    pairs = pairs_of([OMITTED, IN_SOURCE, span(0, 3)], [WORDLESS, span(0, 3)])
    assert pairs.gold_left_out == SpansLeftOut(omissions=1, source_errors=1)
    assert pairs.predicted_left_out == SpansLeftOut(omissions=1)
    assert rates(pairs, PartialOverlap()) == (1, 1, 1)


def test_omissions_and_source_errors_are_spans_of_the_source() -> None:
    with pytest.raises(InputError, match="the human span '' has no place"):
        pairs_of([WORDLESS], [], outside="source", unlocated="refuse")
    rules = {"outside": "source", "unlocated": "locate"}
    pairs = pairs_of([OMITTED], [WORDLESS, IN_SOURCE], **rules)
    assert pairs.predicted_left_out == SpansLeftOut(unlocated=1)
    found = score(pairs, CharacterF1())
    assert (found.right, found.predicted, found.gold) == (4, 4, 4)
    assert rates(pairs_of([OMITTED], [span(7, 11)], **rules), CharacterF1())[2] == 0  # of the translation


def test_the_context_and_the_place_of_an_omission_are_of_the_translation() -> None:
    rules = SpanRules(outside="source", unlocated="locate")
    around = OMITTED.model_copy(update={"after": " two"})
    pairs = span_pairs([SegmentErrors([around, span(3, 3, side="omission")], [], TEXT, "text one text two")], rules)
    assert pairs.gold_left_out == SpansLeftOut(unlocated=2)
    assert len(span_pairs([SegmentErrors([around], [], TEXT, "one text")], rules).gold[0]) == 1


def test_words_of_the_source_do_not_match_words_of_the_translation() -> None:
    marked = SegmentErrors([OMITTED], [span(0, 4, text="text")], "text it is", "source text of it")
    pairs = span_pairs([marked], SpanRules(outside="source", unlocated="locate"))
    assert (len(pairs.gold[0]), len(pairs.predicted[0]), score(pairs, Matching()).right) == (1, 1, 0)


def test_omissions_and_source_errors_match_by_segment() -> None:
    pairs = pairs_of([OMITTED, OMITTED, IN_SOURCE], [WORDLESS, span(0, 3)], outside="segment")
    for measure in (PartialOverlap(), Matching(), Matching(by="characters")):
        found = score(pairs, measure)
        assert (found.right, found.predicted, found.found, found.gold) == (1, 2, 1, 3)
    found = score(pairs, CharacterF1())
    assert (found.right, found.predicted, found.gold) == (1, 4, 3)


@pytest.mark.parametrize(
    "rules", [{"unrated": "ignore"}, {"unlocated": "guess"}, {"outside": "target"}, {"severities": ("mild",)}]
)
def test_unknown_rules_are_named(rules: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(rules))):
        SpanRules(**rules)


def test_unknown_settings_of_measures_are_named() -> None:
    for wrong in (0, -1, 1.01, float("nan")):
        with pytest.raises(ConfigError, match="threshold"):
            Matching(wrong)
    with pytest.raises(ConfigError, match="credit"):
        CharacterF1(2)
    with pytest.raises(ConfigError, match="severity_credit"):
        PartialOverlap(severity_credit=-1)
    with pytest.raises(ConfigError, match="'same' or 'any'"):
        by_group(pairs_of([], []), CharacterF1(), "severity", "all")  # type: ignore[arg-type]


# --- groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "major"),
    [
        ("Accuracy/Mistranslation", "accuracy"),
        ("accuracy/omission", "accuracy"),
        ("Mistranslation", "accuracy"),
        ("untranslated text", "accuracy"),
        ("Linguistic_conventions/Spelling", "fluency"),
        ("fluency/inconsistency", "fluency"),
        ("Locale_conventions/Measurement_format", "locale convention"),
        ("Style/Non_fluent", "style"),
        ("Source/", "source error"),
        ("source issue", "source error"),
        ("Other/", "other"),
        ("Non-translation!", "non-translation"),
        ("non_translation", "non-translation"),
        ("Terminology", "terminology"),
        ("date format", "locale convention"),
        ("Spelling/Capitalization", "fluency"),
        ("my own", "my own"),
    ],
)
def test_major_categories(category: str, major: str) -> None:
    assert major_category(category) == major


def test_by_category() -> None:
    gold = [span(0, 4, category="Accuracy/Mistranslation"), span(5, 9, category="Style/Awkward")]
    predicted = [span(0, 4, category="fluency/grammar"), span(5, 9, category="style")]
    pairs = pairs_of(gold, predicted)
    same = by_group(pairs, PartialOverlap(), "category")
    assert list(same) == ["accuracy", "fluency", "style"]
    assert [(found.recall, found.gold, found.predicted) for found in same.values()] == [(0, 1, 0), (1, 0, 1), (1, 1, 1)]
    found = by_group(pairs, PartialOverlap(), "category", against="any")
    assert [(one.recall, one.precision) for one in found.values()] == [(1, 1)] * 3
    assert same["style"].group == "style"
    assert "group:style|against:same" in same["style"].signature
    by_name = by_group(pairs_of(gold, predicted, category=plain_category), PartialOverlap(), "category")
    assert set(by_name) == {"accuracy/mistranslation", "style/awkward", "fluency/grammar", "style"}


def test_by_severity() -> None:
    pairs = pairs_of([span(0, 4, "major"), span(5, 9)], [span(0, 4), span(5, 9)])
    same = by_group(pairs, Matching(by="characters"), "severity")
    assert {name: (found.precision, found.recall) for name, found in same.items()} == {
        "minor": (0.5, 1),
        "major": (1, 0),
    }
    found = by_group(pairs, Matching(by="characters"), "severity", against="any")
    assert found["major"].recall == found["minor"].precision == 1


# --- what must hold for all spans -------------------------------------------------------------------------------------


def drawn(random_: random.Random, number: int = 40) -> list[SegmentErrors]:
    """Segments with up to five spans on both sides, some alike."""

    def side() -> list[ErrorSpan]:
        places = [sorted(random_.sample(range(len(TEXT) + 1), 2)) for _ in range(random_.randrange(6))]
        return [span(*place, random_.choice(["minor", "major", "critical"])) for place in places]

    return [SegmentErrors(gold := side(), side() + gold[: random_.randrange(3)], TEXT) for _ in range(number)]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.signature)
@pytest.mark.parametrize("seed", range(5))
def test_identical_is_perfect_disjoint_is_nothing_and_order_does_not_matter(measure: Measure, seed: int) -> None:
    random_ = random.Random(seed)
    rows = drawn(random_)
    itself = segment_scores(span_pairs([row._replace(predicted=row.gold) for row in rows]), measure)
    assert (itself == 1).all()
    apart = [row._replace(gold=[span(0, 9)], predicted=[span(12, 20), span(22, 30)]) for row in rows]
    assert score(span_pairs(apart), measure).f1 == 0
    shuffled = [
        row._replace(
            gold=random_.sample(row.gold or [], len(row.gold or [])), predicted=list(row.predicted or [])[::-1]
        )
        for row in rows
    ]
    assert (segment_scores(span_pairs(shuffled), measure) == segment_scores(span_pairs(rows), measure)).all()


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.signature)
@pytest.mark.parametrize("seed", range(5))
def test_exchanging_the_sides_exchanges_precision_and_recall(measure: Measure, seed: int) -> None:
    rows = drawn(random.Random(seed))
    given_ = segment_scores(span_pairs(rows), measure)
    turned = segment_scores(span_pairs([row._replace(gold=row.predicted, predicted=row.gold) for row in rows]), measure)
    assert turned[:, [1, 0, 2]] == pytest.approx(given_)


def one_by_one(row: SegmentErrors, credit: float) -> tuple[float, float, float]:
    """WMT25's score, character by character."""
    depths = [[[0, 0] for _ in row.translation] for _ in range(2)]
    for depth, side in zip(depths, (row.gold or (), row.predicted or ()), strict=True):
        for one in side:
            for at in range(one.start or 0, one.end or 0):
                depth[at][one.severity != "minor"] += 1
    matched = 0.0
    for gold, predicted in zip(*depths, strict=True):
        same = [min(pair) for pair in zip(gold, predicted, strict=True)]
        left = [sum(side) - sum(same) for side in (gold, predicted)]
        matched += sum(same) + credit * min(left)
    return matched, sum(map(sum, depths[1])), sum(map(sum, depths[0]))


@pytest.mark.parametrize("seed", range(5))
def test_characters_agree_with_counting_one_by_one(seed: int) -> None:
    rows = drawn(random.Random(seed))
    counts = CharacterF1(0.5).counts(span_pairs(rows))
    assert counts[:, [0, 1, 3]].tolist() == [list(one_by_one(row, 0.5)) for row in rows]


@pytest.mark.parametrize("seed", range(100))
def test_chosen_pairs_are_the_best_of_all(seed: int) -> None:
    random_ = np.random.default_rng(seed)
    rows, columns = random_.integers(1, 6, 2)
    table = random_.random((rows, columns)) * (random_.random((rows, columns)) < 0.7)
    partner = heaviest(table)
    assert len(set(partner[partner >= 0])) == np.count_nonzero(partner >= 0)
    assert (table[np.arange(rows), partner][partner >= 0] > 0).all()
    ways = itertools.permutations([*range(columns), *[-1] * rows], int(rows))
    best = max(sum(table[row, column] for row, column in enumerate(way) if column >= 0) for way in set(ways))
    assert table[np.arange(rows), partner][partner >= 0].sum() == pytest.approx(best)


def test_neither_long_texts_nor_many_spans_over_one_place_take_long() -> None:
    text = "word " * 1_000_000
    gold, predicted = ([span(at * 5, at * 5 + size) for at in range(200)] for size in (200, 150))
    pairs = span_pairs([SegmentErrors(gold, predicted, text)])
    assert score(pairs, CharacterF1()).predicted == 200 * 150
    assert score(pairs, PartialOverlap()).precision == 1
    assert score(pairs, PartialOverlap()).recall == pytest.approx(0.75)


def test_no_pairs_are_no_pairs() -> None:
    assert best_pairs({}) == []


# --- significance -----------------------------------------------------------------------------------------------------


def test_a_better_evaluator_is_told_from_a_worse_one_and_not_from_itself() -> None:
    rows = drawn(random.Random(7), 200)
    good = span_pairs([row._replace(predicted=row.gold) for row in rows])
    bad = span_pairs(rows)
    for kind in ("bs", "ar"):
        found = difference(good, bad, CharacterF1(), Resampling(kind, 500))  # type: ignore[arg-type]
        assert found.value == pytest.approx(1 - score(bad, CharacterF1()).f1)
        assert found.p_value is not None
        assert found.p_value < 0.01
        assert f"{kind}:500|seed:12345" in found.signature
        assert found == difference(good, bad, CharacterF1(), Resampling(kind, 500))  # type: ignore[arg-type]
        if kind == "bs":
            assert found.first is not None
            assert found.second is not None
            assert (found.first.mean, found.second.mean) == pytest.approx((1, score(bad, CharacterF1()).f1), abs=0.05)
    same = difference(bad, bad, PartialOverlap())
    assert (same.value, same.p_value, same.segments) == (0, None, 200)


def test_evaluators_are_compared_on_the_segments_that_both_have() -> None:
    rows = drawn(random.Random(8), 20)
    rules = SpanRules(unrated="leave-out")
    first = span_pairs([row._replace(predicted=None) if at < 5 else row for at, row in enumerate(rows)], rules)
    second = span_pairs([row._replace(predicted=None) if at > 14 else row for at, row in enumerate(rows)], rules)
    found = difference(first, second, CharacterF1())
    assert (found.segments, found.value, found.p_value) == (10, 0, None)
    with pytest.raises(InputError, match="no segment in common"):
        difference(first, span_pairs([rows[0], *(row._replace(gold=None) for row in rows[1:])], rules), CharacterF1())


def test_evaluators_are_compared_with_the_same_people_and_rules() -> None:
    rows = drawn(random.Random(9), 20)
    alone = [row._replace(gold=[span(0, 4)]) for row in rows]
    for other in ([span(0, 4), span(1, 2)], [span(0, 4, "major")], [span(1, 5)], [span(0, 5)]):
        with pytest.raises(InputError, match="people's spans differ"):
            difference(span_pairs(alone), span_pairs([row._replace(gold=other) for row in rows]), CharacterF1())
    with pytest.raises(ConfigError, match="different rules"):
        difference(span_pairs(rows), span_pairs(rows, SpanRules(outside="segment")), CharacterF1())


def test_a_number_carries_what_it_depends_on() -> None:
    pairs = pairs_of([OMITTED, span(0, 3)], [span(0, 3, "neutral")], unlocated="locate")
    assert score(pairs, Matching(0.3)).signature.startswith(
        "match|threshold:0.3|by:words|partners:one|severities:minor,major,critical|unlocated:locate|outside:leave-out"
        "|left-out:0,1,1|version:"
    )
