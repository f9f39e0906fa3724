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
    ESA_ERROR_FREE,
    THRESHOLDS,
    CharacterF1,
    Matching,
    Measure,
    PartialOverlap,
    by_group,
    by_threshold,
    counts_of,
    detection,
    difference,
    heaviest,
    is_error_free,
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
OVERLAP, FULL = PartialOverlap(), PartialOverlap(credit="full")


def span(start: int | None, end: int | None = None, severity: Any = "minor", **more: Any) -> ErrorSpan:
    return ErrorSpan(**({"text": "", "category": "other", "severity": severity, "start": start, "end": end} | more))


def pairs_of(gold: Sequence[ErrorSpan] | None, predicted: Sequence[ErrorSpan] | None, **rules: Any) -> SpanPairs:
    return span_pairs([SegmentErrors(gold, predicted, TEXT, "source text of it")], SpanRules(**rules))


def rates(pairs: SpanPairs, measure: Measure) -> tuple[float, float, float]:
    found = score(pairs, measure)
    return found.precision, found.recall, found.f1


def words_at(text: str, part: str) -> ErrorSpan:
    return span(text.index(part), text.index(part) + len(part), text=part)


# --- measures


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
        ([], [], 0, 0, 0),
    ],
)
def test_characters_are_credited_as_at_wmt25(
    gold: list[ErrorSpan], predicted: list[ErrorSpan], credited: float, marked: int, wanted: int
) -> None:
    found = score(pairs_of(gold, predicted), CharacterF1())
    assert (found.right, found.predicted, found.found, found.gold) == (credited, marked, credited, wanted)


def test_nothing_marked_is_perfect_only_where_nothing_is_wrong() -> None:
    for measure in MEASURES:
        assert rates(pairs_of([], []), measure) == (1, 1, 1)
        assert rates(pairs_of([span(0, 3)], []), measure) == (1, 0, 0)
        assert rates(pairs_of([], [span(0, 3)]), measure) == (0, 1, 0)


def test_a_corpus_is_scored_by_its_sums_and_segments_by_themselves() -> None:
    sides = [([span(0, 10)], [span(0, 5)]), ([], []), ([span(0, 10)], [span(10, 30)])]
    pairs = span_pairs([SegmentErrors(gold, predicted, TEXT) for gold, predicted in sides])
    found = score(pairs, CharacterF1())
    assert (found.precision, found.recall, found.segments) == (5 / 25, 5 / 20, 3)
    each = segment_scores(pairs, CharacterF1())
    assert each == pytest.approx(np.array([[1, 0.5, 2 / 3], [1, 1, 1], [0, 0, 0]]))
    assert found.macro_f1 == pytest.approx((2 / 3 + 1 + 0) / 3)


@pytest.mark.parametrize(
    ("measure", "gold", "predicted", "precise", "recalled"),
    [
        (OVERLAP, [span(0, 10)], [span(0, 5)], 1, 0.5),
        (OVERLAP, [span(0, 10)], [span(0, 5), span(5, 10)], 1 / 2, 0.5),  # one partner alone
        (OVERLAP, [span(0, 4), span(4, 10)], [span(0, 10)], 0.6, 0.5),  # the longer part has the higher Dice
        (OVERLAP, [span(0, 4), span(2, 10)], [span(2, 4), span(4, 10)], (1 + 1) / 2, (0.5 + 6 / 8) / 2),
        (OVERLAP, [span(0, 10, "major")], [span(0, 5)], 1, 0.5),
        (OVERLAP, [span(0, 5)], [span(5, 10)], 0, 0),
        (OVERLAP, [span(10, 14)], [span(9, 11), span(12, 20)], 2 / 8 / 2, 2 / 4),  # both have Dice 1/3
        # Dice 1/3 and 2/3, or 1/2 and 1/2; three characters in common in both: the more alike pairs
        (OVERLAP, [span(1, 3), span(0, 4)], [span(2, 6), span(5, 6), span(0, 2)], 1.25 / 3, 1 / 2),
        (FULL, [span(0, 10), span(8, 20)], [span(0, 3), span(4, 12)], 1, 1),  # not the next best ones
        (PartialOverlap(severity_credit=0.5), [span(0, 10, "major")], [span(0, 5)], 0.5, 0.25),
        (PartialOverlap("full", 0.5), [span(0, 10, "major")], [span(0, 5)], 0.5, 0.5),
    ],
)
def test_partners_are_credited_with_their_share(
    measure: Measure, gold: list[ErrorSpan], predicted: list[ErrorSpan], precise: float, recalled: float
) -> None:
    assert rates(pairs_of(gold, predicted), measure)[:2] == pytest.approx((precise, recalled))
    assert rates(pairs_of(predicted, gold), measure)[:2] == pytest.approx((recalled, precise))


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
    marked = SegmentErrors([span(None, text=" ".join(gold))], [span(None, text=" ".join(detected))], "")
    for threshold, found in by_threshold(span_pairs([marked], SpanRules(unlocated="miss"))).items():
        assert found.found == algorithm_1(list(gold), list(detected), threshold), threshold


def test_the_papers_example_has_five_words_on_both_sides_and_four_in_common() -> None:
    """Appendix E prints 4, 5 and 3 words, 75 % and 60 %; there are 5, 5 and 4."""
    gold, detected, text = "go back to the lab", "back to the lab tomorrow", "they go back to the lab tomorrow"
    assert (len(words(gold)), len(words(detected)), longest_run(words(gold), words(detected))) == (5, 5, 4)
    pairs = span_pairs([SegmentErrors([words_at(text, gold)], [words_at(text, detected)], text)])
    assert {at: found.f1 for at, found in by_threshold(pairs).items()} == {at: float(at <= 0.8) for at in THRESHOLDS}


def test_a_threshold_that_is_just_reached_is_reached() -> None:
    for tenths in range(1, 10):
        curve = by_threshold(pairs_of([span(0, 10)], [span(0, tenths)]), Matching(by="characters"))
        assert [at for at, found in curve.items() if found.f1] == [at for at in THRESHOLDS if at * 10 <= tenths]


def test_words_match_wherever_they_stand_and_a_span_has_one_partner_or_any() -> None:
    """HiMATE, Tables 16 and 17: two annotations of one word, and one detected span."""
    the = span_pairs([SegmentErrors([span(0, 3, text="the")], [span(12, 15, text="the")], "the cat and the dog")])
    assert [score(the, Matching(by=by)).f1 for by in ("words", "characters")] == [1, 0]  # type: ignore[arg-type]
    text = "diese Woche noch stärker gemacht wurde, als ein Feuerwerk"
    gold = [words_at(text, "stärker gemacht"), words_at(text, "Feuerwerk"), words_at(text, "Feuerwerk")]
    detected = [words_at(text, "stärker gemacht wurde"), words_at(text, "Feuerwerk")]
    pairs = span_pairs([SegmentErrors(gold, detected, text)])
    assert rates(pairs, Matching(0.5))[:2] == (1, 2 / 3)
    assert rates(pairs, Matching(0.5, partners="any"))[:2] == (1, 1)
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


# --- what cannot simply be compared


def test_not_rated_and_error_free_are_not_the_same() -> None:
    with pytest.raises(InputError, match=r"segment 'b': was not rated by people.*unrated='leave-out'"):
        span_pairs([SegmentErrors([], [], TEXT), SegmentErrors(None, [], TEXT, name="b")])
    with pytest.raises(InputError, match="segment number 1: was not rated by the evaluator, or it marks no spans"):
        span_pairs([SegmentErrors([], None, TEXT)])
    sides = [([span(0, 2)], [span(0, 2)]), (None, [span(0, 2)]), *[([], None)] * 2, *[(None, None)] * 3, ([], [])]
    rows = [SegmentErrors(*both, TEXT) for both in sides]
    pairs = span_pairs(rows, SpanRules(unrated="leave-out"))
    assert (pairs.kept, pairs.left_out) == ((0, 7), SegmentsLeftOut(gold=1, predicted=2, both=3))
    assert score(pairs, CharacterF1()).predicted == 2
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
    assert ([one.start for one in pairs.predicted[0]], pairs.predicted_left_out.unlocated) == (starts, unlocated)
    assert score(pairs, CharacterF1()).predicted == characters
    if policy == "miss":  # Algorithm 1 compares words, not places
        assert (score(pairs, OVERLAP).right, score(pairs, Matching()).right) == (0, 1)


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [(span(None, text="abc"), "'abc'"), (span(4, 7, text="abc"), "'abc' at 4–7"), (span(9, 99), "9")],
)
def test_spans_without_a_place_are_refused(wrong: ErrorSpan, shown: str) -> None:
    """Also where other words stand at the offsets."""
    with pytest.raises(InputError, match=f"segment 's': the human span .*{shown}.* has no place.*unlocated='locate'"):
        span_pairs([SegmentErrors([wrong], [], "xyz xyz abc", name="s")])


def test_spans_without_characters_and_of_other_severities_are_left_out_and_counted() -> None:
    gold = [span(2, 2), span(0, 3, "neutral"), span(5, 6)]
    pairs = pairs_of(gold, [span(5, 6)])
    assert pairs.gold_left_out == SpansLeftOut(severity=1, empty=1)
    assert rates(pairs, CharacterF1()) == (1, 1, 1)
    assert len(pairs_of(gold, [], severities=SEVERITIES).gold[0]) == 2
    invented = pairs_of([span(0, 3)], [span(0, 3), span(None)], unlocated="miss")
    assert score(invented, CharacterF1()).precision == 3 / 4  # without words it is one character


OMITTED = span(None, text="text", category="accuracy/omission", side="omission")
WORDLESS = span(None, category="omission", side="omission")
IN_SOURCE = span(7, 11, text="text", category="source error", side="source")


def test_omissions_and_source_errors_are_left_out_and_counted() -> None:
    pairs = pairs_of([OMITTED, IN_SOURCE, span(0, 3)], [WORDLESS, span(0, 3)])
    assert pairs.gold_left_out == SpansLeftOut(omissions=1, source_errors=1)
    assert pairs.predicted_left_out == SpansLeftOut(omissions=1)
    assert rates(pairs, OVERLAP) == (1, 1, 1)


def test_omissions_and_source_errors_are_spans_of_the_source() -> None:
    rules = {"outside": "source", "unlocated": "locate"}
    pairs = pairs_of([OMITTED], [WORDLESS, IN_SOURCE], **rules)
    assert pairs.predicted_left_out == SpansLeftOut(unlocated=1)
    found = score(pairs, CharacterF1())
    assert (found.right, found.predicted, found.gold) == (4, 4, 4)
    assert rates(pairs_of([OMITTED], [span(7, 11)], **rules), CharacterF1())[2] == 0  # of the translation
    row = SegmentErrors([OMITTED], [span(0, 4, text="text")], "text it is", "source text of it")
    assert score(span_pairs([row], SpanRules(**rules)), Matching()).right == 0  # type: ignore[arg-type]


def test_the_context_and_the_place_of_an_omission_are_of_the_translation() -> None:
    rules = SpanRules(outside="source", unlocated="locate")
    around = OMITTED.model_copy(update={"after": " two"})
    pairs = span_pairs([SegmentErrors([around, span(3, 3, side="omission")], [], TEXT, "text one text two")], rules)
    assert pairs.gold_left_out == SpansLeftOut(unlocated=2)
    assert len(span_pairs([SegmentErrors([around], [], TEXT, "one text")], rules).gold[0]) == 1


def test_omissions_and_source_errors_match_by_segment() -> None:
    pairs = pairs_of([OMITTED, OMITTED, IN_SOURCE], [WORDLESS, span(0, 3)], outside="segment")
    for measure in (OVERLAP, Matching(), Matching(by="characters")):
        found = score(pairs, measure)
        assert (found.right, found.predicted, found.found, found.gold) == (1, 2, 1, 3)
    found = score(pairs, CharacterF1())
    assert (found.right, found.predicted, found.gold) == (1, 4, 3)


@pytest.mark.parametrize(
    ("made", "culprit"),
    [
        *((lambda wrong=wrong: SpanRules(**wrong), next(iter(wrong))) for wrong in (
            {"unrated": "ignore"}, {"unlocated": "guess"}, {"outside": "target"}, {"severities": ("mild",)}
        )),
        *((lambda wrong=wrong: Matching(wrong), "threshold") for wrong in (0, -1, 1.01, float("nan"))),
        (lambda: CharacterF1(2), "credit"),
        (lambda: PartialOverlap(severity_credit=-1), "severity_credit"),
        (lambda: by_group(pairs_of([], []), CharacterF1(), "severity", "all"), "'same' or 'any'"),
    ],
)  # fmt: skip
def test_unknown_settings_are_named(made: Any, culprit: str) -> None:
    with pytest.raises(ConfigError, match=culprit):
        made()


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
        ("other", ["Other/"]),
        ("my own", ["my own"]),
    ],
)
def test_major_categories(major: str, categories: list[str]) -> None:
    assert {major_category(category) for category in categories} == {major}


def test_by_category() -> None:
    gold = [span(0, 4, category="Accuracy/Mistranslation"), span(5, 9, category="Style/Awkward")]
    predicted = [span(0, 4, category="fluency/grammar"), span(5, 9, category="style")]
    same = by_group(pairs_of(gold, predicted), OVERLAP, "category")
    assert list(same) == ["accuracy", "fluency", "style"]
    assert [(found.recall, found.gold, found.predicted) for found in same.values()] == [(0, 1, 0), (1, 0, 1), (1, 1, 1)]
    assert (same["style"].group, "group:style|against:same" in same["style"].signature) == ("style", True)
    found = by_group(pairs_of(gold, predicted), OVERLAP, "category", against="any")
    assert [(one.recall, one.precision) for one in found.values()] == [(1, 1)] * 3
    by_name = by_group(pairs_of(gold, predicted, category=plain_category), OVERLAP, "category")
    assert set(by_name) == {"accuracy/mistranslation", "style/awkward", "fluency/grammar", "style"}


def test_by_severity() -> None:
    pairs = pairs_of([span(0, 4, "major"), span(5, 9)], [span(0, 4), span(5, 9)])
    same = by_group(pairs, Matching(by="characters"), "severity")
    assert [(name, one.precision, one.recall) for name, one in same.items()] == [("minor", 0.5, 1), ("major", 1, 0)]
    found = by_group(pairs, Matching(by="characters"), "severity", against="any")
    assert found["major"].recall == found["minor"].precision == 1


# --- what must hold for all spans


def drawn(seed: int, number: int = 40) -> list[SegmentErrors]:
    """Segments with up to five spans on both sides, some alike."""
    chance = random.Random(seed)

    def side() -> list[ErrorSpan]:
        places = [sorted(chance.sample(range(len(TEXT) + 1), 2)) for _ in range(chance.randrange(6))]
        return [span(*place, chance.choice(["minor", "major", "critical"])) for place in places]

    return [SegmentErrors(gold := side(), side() + gold[: chance.randrange(3)], TEXT) for _ in range(number)]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.signature)
@pytest.mark.parametrize("seed", range(5))
def test_identical_is_perfect_disjoint_is_nothing_and_order_and_sides_do_not_matter(
    measure: Measure, seed: int
) -> None:
    rows = drawn(seed)
    plain = segment_scores(span_pairs(rows), measure)
    assert (segment_scores(span_pairs([row._replace(predicted=row.gold) for row in rows]), measure) == 1).all()
    apart = [row._replace(gold=[span(0, 9)], predicted=[span(12, 20), span(22, 30)]) for row in rows]
    assert score(span_pairs(apart), measure).f1 == 0
    reversed_ = [row._replace(gold=(row.gold or ())[::-1], predicted=(row.predicted or ())[::-1]) for row in rows]
    assert (segment_scores(span_pairs(reversed_), measure) == plain).all()
    turned = segment_scores(span_pairs([row._replace(gold=row.predicted, predicted=row.gold) for row in rows]), measure)
    assert turned[:, [1, 0, 2]] == pytest.approx(plain)


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
    rows = drawn(seed)
    counts = counts_of(span_pairs(rows), CharacterF1(0.5))
    assert counts[:, [0, 1, 3]].tolist() == [list(one_by_one(row, 0.5)) for row in rows]


@pytest.mark.parametrize("seed", range(100))
def test_chosen_pairs_are_the_best_of_all(seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows, columns = chance.integers(1, 6, 2)
    table = chance.random((rows, columns)) * (chance.random((rows, columns)) < 0.7)
    partner = heaviest(table)
    chosen = table[np.arange(rows), partner][partner >= 0]
    assert len(set(partner[partner >= 0])) == len(chosen)
    assert (chosen > 0).all()
    ways = itertools.permutations([*range(columns), *[-1] * rows], int(rows))
    best = max(sum(table[row, column] for row, column in enumerate(way) if column >= 0) for way in set(ways))
    assert chosen.sum() == pytest.approx(best)


def test_neither_long_texts_nor_many_spans_over_one_place_take_long() -> None:
    gold, predicted = ([span(at * 5, at * 5 + size) for at in range(200)] for size in (200, 150))
    pairs = span_pairs([SegmentErrors(gold, predicted, "word " * 1_000_000)])
    assert score(pairs, CharacterF1()).predicted == 200 * 150
    assert rates(pairs, OVERLAP)[:2] == pytest.approx((1, 0.75))


# --- tests between evaluators


def test_a_better_evaluator_is_told_from_a_worse_one_and_not_from_itself() -> None:
    rows = drawn(7, 200)
    good, bad = span_pairs([row._replace(predicted=row.gold) for row in rows]), span_pairs(rows)
    for how in (Resampling("bs", 500), Resampling("ar", 500)):
        found = difference(good, bad, CharacterF1(), how)
        assert found.value == pytest.approx(1 - score(bad, CharacterF1()).f1)
        assert ((found.p_value or 0) < 0.01, f"{how.kind}:500|seed:12345" in found.signature) == (True, True)
        assert found == difference(good, bad, CharacterF1(), how)
        means = [interval.mean for interval in (found.first, found.second) if interval is not None]
        assert means == ([] if how.kind == "ar" else pytest.approx([1, score(bad, CharacterF1()).f1], abs=0.05))
    same = difference(bad, bad, OVERLAP)
    assert (same.value, same.p_value, same.segments) == (0, None, 200)


def test_evaluators_are_compared_on_the_segments_that_both_have_with_the_same_people_and_rules() -> None:
    rows = drawn(8, 20)
    rules = SpanRules(unrated="leave-out")
    first = span_pairs([row._replace(predicted=None) if at < 5 else row for at, row in enumerate(rows)], rules)
    second = span_pairs([row._replace(predicted=None) if at > 14 else row for at, row in enumerate(rows)], rules)
    found = difference(first, second, CharacterF1())
    assert (found.segments, found.value, found.p_value) == (10, 0, None)
    with pytest.raises(InputError, match="no segment in common"):
        difference(first, span_pairs([rows[0], *(row._replace(gold=None) for row in rows[1:])], rules), CharacterF1())
    alone = span_pairs([row._replace(gold=[span(0, 4)]) for row in rows])
    for other in ([span(0, 4), span(1, 2)], [span(0, 4, "major")], [span(1, 5)], [span(0, 5)]):
        with pytest.raises(InputError, match="people's spans differ"):
            difference(alone, span_pairs([row._replace(gold=other) for row in rows]), CharacterF1())
    with pytest.raises(ConfigError, match="different rules"):
        difference(span_pairs(rows), span_pairs(rows, SpanRules(outside="segment")), CharacterF1())


def test_a_number_carries_what_it_depends_on() -> None:
    pairs = pairs_of([OMITTED, span(0, 3)], [span(0, 3, "neutral")], unlocated="locate")
    assert score(pairs, Matching(0.3)).signature.startswith(
        "match|threshold:0.3|by:words|partners:one|severities:minor,major,critical|unlocated:locate|outside:leave-out"
        "|left-out:0,1,1|version:"
    )


# --- error-free translations


@pytest.mark.parametrize(
    ("errors", "esa", "label"),
    [
        ((), 85.0, True),
        ((), 84.9, False),
        ((span(0, 1),), 99.0, False),
        ((span(0, 1, "neutral"),), 99.0, False),
        ((IN_SOURCE,), 99.0, False),
        ((), None, None),
        ((span(0, 1),), None, False),
        (None, 99.0, None),
    ],
)
def test_labels_of_wmt26_need_a_score_and_no_spans(errors: Any, esa: float | None, label: bool | None) -> None:
    assert is_error_free(errors, esa, at_least=ESA_ERROR_FREE) is label
    if esa is None or esa > 90:
        assert is_error_free(errors) is (None if errors is None else not errors)


def test_the_four_cases_are_counted() -> None:
    gold = [True, True, True, False, False, False, False, None, True, True, None, None, None]
    predicted = [True, True, False, True, False, False, False, True, None, None, None, None, None]
    with pytest.raises(InputError, match="segment number 8: no label of people"):
        detection(gold, predicted)
    found = detection(gold, predicted, unrated="leave-out")
    assert found == (2, 1, 1, 3, SegmentsLeftOut(gold=1, predicted=2, both=3))
    assert (found.precision, found.recall, found.f1, found.accuracy) == pytest.approx((2 / 3, 2 / 3, 2 / 3, 5 / 7))
    nowhere = detection([False, False], [False, False])
    assert (nowhere.precision, nowhere.recall, nowhere.f1, nowhere.accuracy) == (None, None, None, 1)


def test_wrong_lists_of_labels_are_refused() -> None:
    with pytest.raises(InputError, match="2 labels of people and 1"):
        detection([True, False], [True])
    with pytest.raises(InputError, match="no segment"):
        detection([None], [True], unrated="leave-out")
    with pytest.raises(ConfigError, match="unrated"):
        detection([True], [True], unrated="ignore")  # type: ignore[arg-type]
