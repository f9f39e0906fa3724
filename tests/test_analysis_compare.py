"""Comparisons of stored runs: every number computed by hand, what is unknown, what does not fit, what is warned of."""

from __future__ import annotations

import csv
import io
import string
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mtagent.analysis.compare import RunComparison, compare_run, compare_runs
from mtagent.analysis.compare_tables import flat
from mtagent.analysis.compared_rows import Moved, grouped
from mtagent.analysis.score import ScoreOptions
from mtagent.analysis.staged_run import Cost, Outcomes
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError, StoreError
from mtagent.metrics.significance import Resampling
from mtagent.records import Call, Chain, Edit, Rated, Rating, Score, Segment, Step, Usage
from mtagent.store import Store
from tests.stored import improve, scripted, segment, step, store
from tests.taken_back import taken_back

SOURCES = ["A red house.", "Open the door now.", "Two old friends met.", "The cat sat here."]
REFERENCES = ["A red acertado house.", "Open the door now.", "Two old friends acertado met.", "The cat sat there."]
TRANSLATED = ["A red errado house.", "Open the door errado now.", "Two old friends errado met.", "The cat sat here."]
POSTEDITED = [text.replace("errado", "acertado") for text in TRANSLATED]
PROOFREAD = [text.replace("errado", "correcto") for text in TRANSLATED]

# 4o-mini's list prices for a million tokens: 0.15 fresh, 0.075 cached, 0.60 output
USAGES = {
    # (2,000 - 1,024) x 0.15 + 1,024 x 0.075 + 300 x 0.60 = 146.4 + 76.8 + 180 = 403.2 millionths
    "translate": Usage(calls=1, input_tokens=2000, cached_tokens=1024, output_tokens=300, reasoning_tokens=120,
                       cost=0.0004032),
    # 928 x 0.15 + 3,072 x 0.075 + 500 x 0.60 = 139.2 + 230.4 + 300 = 669.6 millionths
    "rate": Usage(calls=1, input_tokens=4000, cached_tokens=3072, output_tokens=500, reasoning_tokens=200,
                  cost=0.0006696),
    # 1,000 x 0.15 + 100 x 0.60 = 150 + 60 = 210 millionths
    "proofread": Usage(calls=1, input_tokens=1000, output_tokens=100, cost=0.00021),
}  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(store=tmp_path / "store.db")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The store of ``config``."""
    return tmp_path / "store.db"


@pytest.fixture
def whole(tmp_path: Path, config: Config) -> RunComparison:
    """A run of all three stages by a scripted model, with cached and reasoning tokens."""
    return compared_chain(tmp_path, config)


def compared_chain(folder: Path, config: Config, **how: Any) -> RunComparison:
    improve(folder, scripted(USAGES), "r", SOURCES)
    return compare_runs(["r"], config, reference=written(folder / "ref.txt", REFERENCES), **how)


def written(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def compared(folder: Path, *chains: Chain | None, **how: Any) -> RunComparison:
    """A run of ``chains``, compared."""
    store(folder / "store.db", "r", *chains, settings=how.pop("settings", None), total=how.pop("total", None))
    with Store(folder / "store.db") as opened:
        return compare_run(opened, "r", **how)


def chain(number: int, given: str, *steps: Step, **more: Any) -> Chain:
    return Chain(segment=segment(number, f"source {number}", given, **more), steps=steps)


def usage(tokens: int, cost: float | None = 0.0, **more: int) -> Usage:
    return Usage(calls=1, input_tokens=tokens, output_tokens=tokens // 10, cost=cost, **more)


def applied(old: str, new: str, start: int = 0) -> Edit:
    return Edit(old=old, new=new, outcome="applied", start=start, end=start + len(old))


def cost_of(result: RunComparison, row: str) -> Cost:
    cost = result.row(row).cost
    assert cost is not None
    return cost


def moved_of(result: RunComparison, row: str) -> Moved:
    moved = result.row(row).moved
    assert moved is not None
    return moved


def gain_of(result: RunComparison, row: str, place: int = 1) -> float:
    difference = result.row(row).cells[place].difference
    assert difference is not None
    return difference


# --- one run, by hand


def test_the_rows_are_the_stages_and_the_final_texts(whole: RunComparison) -> None:
    assert [(row.name, row.run, row.stage, row.former) for row in whole.rows] == [
        ("translate", "r", "translate", None),
        ("postedit", "r", "postedit", "translate"),
        ("proofread", "r", "proofread", "postedit"),
        ("final", "r", "final", "translate"),
    ]
    assert [list(row.texts) for row in whole.rows] == [TRANSLATED, POSTEDITED, PROOFREAD, PROOFREAD]
    assert (whole.segments, whole.metrics, whole.deciding) == (("1", "2", "3", "4"), ("BLEU", "chrF2", "TER"), "chrF2")


def test_scores_and_differences_are_sacrebleu_s(whole: RunComparison) -> None:
    for place, metric in ((1, CHRF()), (2, TER())):
        expected = [metric.corpus_score(list(row.texts), [REFERENCES]).score for row in whole.rows]
        assert [row.cells[place].score.value for row in whole.rows] == expected
        first, second, third, _ = expected
        differences = [row.cells[place].difference for row in whole.rows]
        assert differences == [None, second - first, third - second, third - first]


def test_the_way_from_row_to_row_by_hand(whole: RunComparison) -> None:
    postedit, proofread, final = (moved_of(whole, name) for name in ("postedit", "proofread", "final"))
    # one word of 4, 5, 5 and none of 4 is another one: 3 of 18 words
    assert postedit.edited_percent == proofread.edited_percent == final.edited_percent == pytest.approx(100 * 3 / 18)
    # errado -> acertado: "ac" before, "rr" to "rt" (3 changes); acertado -> correcto (5); errado -> correcto (5)
    assert (postedit.characters, proofread.characters, final.characters) == (3 * 3, 3 * 6, 3 * 5)
    assert postedit.changed == proofread.changed == final.changed == 0.75
    chrf = CHRF()
    before, after, last = (
        [chrf.sentence_score(text, [reference]).score for text, reference in zip(texts, REFERENCES, strict=True)]
        for texts in (TRANSLATED, POSTEDITED, PROOFREAD)
    )
    assert postedit.regressed == sum(b > a for b, a in zip(before, after, strict=True)) / 4
    assert proofread.regressed == sum(b > a for b, a in zip(after, last, strict=True)) / 4 > 0
    assert postedit.gain_to_edit == pytest.approx(gain_of(whole, "postedit") / postedit.edited_percent)


def test_outcomes_by_hand(whole: RunComparison) -> None:
    assert [row.outcomes for row in whole.rows] == [
        Outcomes(kept=4, edits={}),
        Outcomes(kept=3, unchanged=1, edits={"applied": 3}),
        Outcomes(kept=3, idle=1, edits={"applied": 3}),
        Outcomes(kept=3, unchanged=1, edits={"applied": 6}),
    ]


def tokens(of: Usage) -> tuple[int, ...]:
    return (of.calls, of.input_tokens, of.cached_tokens, of.output_tokens, of.reasoning_tokens)


def test_costs_with_cached_and_reasoning_tokens_by_hand(whole: RunComparison) -> None:
    translate, postedit, proofread, final = (cost_of(whole, row.name) for row in whole.rows)
    # four translations; four reviews, and three ratings before and after the edits; three wordings and their ratings
    assert tokens(translate.usage) == (4, 4 * 2000, 4 * 1024, 4 * 300, 4 * 120)
    assert tokens(postedit.usage) == (10, 10 * 4000, 10 * 3072, 10 * 500, 10 * 200)
    assert tokens(proofread.usage) == (6, 3 * 1000 + 3 * 4000, 3 * 3072, 3 * 100 + 3 * 500, 3 * 200)
    assert tokens(final.usage) == (20, 63_000, 44_032, 8_000, 3_080)
    assert [cost.usage.cost for cost in (translate, postedit, proofread, final)] == pytest.approx(
        [4 * 0.0004032, 10 * 0.0006696, 3 * 0.00021 + 3 * 0.0006696, 0.0016128 + 0.006696 + 0.0026388]
    )
    assert (translate.per_kept_edit, translate.per_point) == (None, None)
    assert postedit.per_kept_edit == pytest.approx(0.006696 / 3)
    assert final.per_kept_edit == pytest.approx((0.006696 + 0.0026388) / 6), "the translation is no edit"
    assert gain_of(whole, "postedit") > 0
    assert postedit.per_point == pytest.approx(0.006696 / gain_of(whole, "postedit"))
    assert proofread.per_point is None, "nothing was gained: there is no price of a point"
    assert whole.prices == "as paid at the time of the run"


def test_another_deciding_metric_and_one_that_falls_when_it_is_better(tmp_path: Path, config: Config) -> None:
    result = compared_chain(tmp_path, config, deciding="ter")
    postedit, proofread = moved_of(result, "postedit"), moved_of(result, "proofread")
    assert result.deciding == "TER"
    assert gain_of(result, "postedit", 2) < 0, "TER fell, and that is better"
    assert (postedit.regressed, proofread.regressed) == (0, 0.5), "acertado was right in two of four"
    assert postedit.gain_to_edit is not None
    assert postedit.gain_to_edit > 0
    assert cost_of(result, "postedit").per_point == pytest.approx(0.006696 / -gain_of(result, "postedit", 2))
    assert cost_of(result, "proofread").per_point is None
    with pytest.raises(
        ConfigError, match="--deciding 'comet': is not one of the metrics; scored are: BLEU, chrF2, TER"
    ):
        compare_runs(["r"], config, reference=tmp_path / "ref.txt", deciding="comet")


# --- dollars


def test_dollars_anew_by_a_price_file(tmp_path: Path, config: Config) -> None:
    prices = written(
        tmp_path / "p.toml", ["[[prices]]", 'model = "gpt-4o-mini"', "input = 1", "cached_input = 0.5", "output = 10"]
    )
    result = compared_chain(tmp_path, config, prices=prices)
    cost = cost_of(result, "translate")
    # four times 976 x 1 + 1,024 x 0.5 + 300 x 10 = 4,488 millionths
    assert cost.usage.cost == pytest.approx(4 * 0.004488)
    assert tokens(cost.usage) == (4, 8000, 4096, 1200, 480)
    assert str(prices) in result.prices
    # 17 calls: 51,000 - 34,816 fresh, 34,816 cached, 6,500 output
    assert cost_of(result, "final").usage.cost == pytest.approx((18_968 + 22_016 + 80_000) / 1e6)


def test_a_price_file_may_name_a_model_as_its_server_does(tmp_path: Path) -> None:
    prices = written(tmp_path / "p.toml", ["[[prices]]", 'model = "own-2024"', "input = 1", "output = 1"])
    call = Call(purpose="rate", model="own-2024", usage=Usage(calls=1, input_tokens=1000, cost=None))
    run_chain = chain(1, "a", Step(stage="postedit", text="b", verdict="kept", cause="-", calls=(call,)))
    result = compared(tmp_path, run_chain, settings={"model": "own"}, prices=prices)
    assert cost_of(result, "postedit").usage.cost == pytest.approx(0.001)


def test_a_price_that_depends_on_the_prompt_s_length_is_that_of_each_call(tmp_path: Path, path: Path) -> None:
    """gemini-2.5-pro costs 1.25 for a million tokens in prompts of up to 200,000, and twice as much in longer ones."""
    prices = written(tmp_path / "prices.toml", ["[[prices]]", 'model = "nobody"', "input = 1", "output = 1"])
    name = "gemini-2.5-pro"
    call = Call(purpose="rate", model=name, usage=Usage(calls=1, input_tokens=150_000, cost=0.0))
    settings_ = {"model": name, "base_url": "https://generativelanguage.googleapis.com/v1beta/openai"}
    with Store(path) as opened:
        run = opened.start("r", settings=settings_, inputs={}, total=1)
        for number in range(3):  # two of them failed
            opened.calls.record(run.id, "1", "rate", f"k{number}", call, None)
        run.save(0, chain(1, "a", Step(stage="postedit", text="b", verdict="kept", cause="-", calls=(call,))))
        run.finish()
        result = compare_run(opened, "r", prices=prices)
    assert cost_of(result, "postedit").usage.cost == pytest.approx(0.1875)
    assert cost_of(result, "final").usage.cost == pytest.approx(3 * 0.1875)


def test_unknown_prices_stay_unknown(tmp_path: Path) -> None:
    paid = step("postedit", "b", edits=[applied("a", "b")], usage=usage(10, None))
    result = compared(tmp_path, chain(1, "a", paid, reference="b"), chain(2, "a", step("postedit", "a", "unchanged")))
    cost = cost_of(result, "postedit")
    assert (cost.usage.cost, cost.per_kept_edit, cost.per_point, cost.usage.input_tokens) == (None, None, None, 10)
    assert cost_of(result, "final").usage.cost is None


def test_the_price_of_a_point_of_a_whole_run_has_no_translation_in_it(tmp_path: Path) -> None:
    made = step("translate", "a b c x", usage=usage(10, 0.5))
    edited = step("postedit", "a b c d", edits=[applied("x", "d")], usage=usage(10, 0.25))
    whole_run = Chain(segment=segment(1, "s", reference="a b c d"), steps=(made, edited))
    result = compared(tmp_path, whole_run, scoring=ScoreOptions(metrics=["ter"]))
    for name in ("postedit", "final"):
        cost = cost_of(result, name)
        assert (cost.per_kept_edit, cost.per_point) == (pytest.approx(0.25), pytest.approx(0.25 / 25))


def test_failed_tries_are_in_the_costs_of_the_whole_run(path: Path) -> None:
    """Unknown ones stay unknown, and reused replies are counted."""
    again, paid = Usage(reused=1), usage(10, 0.5)
    calls = tuple(Call(purpose="rate", model="m", usage=of) for of in (again, paid))
    for name, cost, message, expected in (
        ("a", 0.25, "also paid for 1 call (11 tokens, $0.2500) that no stored step holds", 0.75),
        ("b", None, "also paid for 1 call (11 tokens, unknown dollars)", None),
    ):
        with Store(path) as opened:
            run = opened.start(name, settings={}, inputs={}, total=1)
            for number, of in enumerate((paid, usage(10, cost))):
                call = Call(purpose="rate", model="m", usage=of, error=None if number else "unreadable")
                opened.calls.record(run.id, "1", "rate", f"k{number}", call, None)
            run.save(0, chain(1, "a", Step(stage="postedit", text="b", verdict="kept", cause="-", calls=calls)))
            run.finish()
            result = compare_run(opened, name)
        assert any(message in warning for warning in result.warnings)
        final = cost_of(result, "final").usage
        assert (final.cost, final.calls, final.reused) == (expected, 2, 1)
        assert cost_of(result, "postedit").usage.cost == 0.5


def test_replies_from_the_store_are_told(tmp_path: Path, config: Config) -> None:
    improve(tmp_path, scripted(USAGES), "a", SOURCES)
    improve(tmp_path, scripted(USAGES), "b", SOURCES, preset="paper", stages=("translate", "proofread"))
    (warning,) = (
        warning for warning in compare_runs(["a", "b"], config).warnings if "replies came from the store" in warning
    )
    assert warning.startswith("run 'b': 4 replies came from the store and cost nothing here")


# --- what is not there, not complete, or taken back


def test_without_references_the_edits_and_costs_are_told(tmp_path: Path) -> None:
    result = compared(tmp_path, chain(1, "a b", step("postedit", "a c", usage=usage(10, 0.5))), chain(2, "x"))
    assert (result.metrics, result.deciding) == ((), None)
    assert result.warnings[0].startswith("the segments have no reference: BLEU, chrF and TER are left out")
    moved = moved_of(result, "postedit")
    assert (moved.edited_percent, moved.changed, moved.regressed, moved.gain_to_edit) == (
        pytest.approx(100 / 3),
        0.5,
        None,
        None,
    )


def test_some_references_are_not_enough(tmp_path: Path, path: Path) -> None:
    result = compared(tmp_path, chain(1, "a", reference="a"), chain(2, "b"))
    assert result.warnings[0].startswith("1 of 2 segments have no reference")
    for wanted, message in (
        (ScoreOptions(metrics=["chrf"]), "segment 2: has no reference"),
        (ScoreOptions(paired=True), "a test needs a metric, and segment '2' has no reference"),
    ):
        with Store(path) as opened, pytest.raises(ConfigError, match=message):
            compare_run(opened, "r", scoring=wanted)


def test_failed_segments_keep_their_text_and_untranslated_ones_are_empty(tmp_path: Path) -> None:
    untranslated = Chain(segment=segment(2, "s", reference="r"), steps=(step("translate", "", "failed"),))
    result = compared(tmp_path, chain(1, "a", step("postedit", "a", "failed"), reference="b"), untranslated)
    assert [row.texts for row in result.rows] == [("a", "")] * 4
    assert result.row("postedit").outcomes == Outcomes(failed=1, idle=1, edits={})
    assert result.row("final").outcomes == Outcomes(failed=2, edits={})
    assert "run 'r': 2 segments failed and kept the last accepted text" in result.warnings
    assert "run 'r': 1 segment without any translation, scored as empty: 2" in result.warnings
    assert [warning for warning in result.warnings if "1 empty (2)" in warning] == ["given: 1 empty (2)"], (
        "equal rows are told once"
    )


REFUSED = Step(stage="proofread", text="b", proposed="c", verdict="rejected", cause="gate: worse")
TRIED = Step(stage="postedit", text="a", proposed="z", verdict="rejected", cause="gate: worse",
             edits=(Edit(old="a", new="z", outcome="rejected", start=0, end=1),))  # fmt: skip
TWO_EDITS = step("postedit", "x y", edits=[applied("a", "x"), applied("b", "y", 2)])
REWORDED = step("proofread", "x z", edits=[applied("y", "z", 2)])
EDITED = step("postedit", "b", edits=[applied("a", "b")], usage=usage(10, 0.5))


@pytest.mark.parametrize(
    ("chains", "outcomes"),
    [
        pytest.param([chain(1, "a", EDITED), taken_back(chain(2, "a", EDITED), 1)], [
            Outcomes(kept=1, reverted=1, edits={"applied": 1, "reverted": 1}),
            Outcomes(kept=1, reverted=1, edits={"applied": 1, "reverted": 1}),
        ], id="taken back"),
        pytest.param([taken_back(chain(1, "a b", TWO_EDITS), 1)], [
            Outcomes(kept=1, edits={"reverted": 1, "applied": 1}), Outcomes(kept=1, edits={"reverted": 1, "applied": 1})
        ], id="taken back in part"),
        pytest.param([taken_back(chain(1, "a b", TWO_EDITS, REWORDED), 3)], [
            Outcomes(kept=1, edits={"applied": 2}), Outcomes(reverted=1, edits={"reverted": 1}),
            Outcomes(kept=1, edits={"applied": 2, "reverted": 1}),
        ], id="taken back in a later stage"),
        pytest.param([taken_back(chain(1, "a", EDITED, REFUSED), 1)], [
            Outcomes(reverted=1, edits={"reverted": 1}), Outcomes(rejected=1, edits={}),
            Outcomes(reverted=1, edits={"reverted": 1}),
        ], id="taken back beside a rejected stage"),
        pytest.param([chain(1, "a", TRIED)], [
            Outcomes(rejected=1, edits={"rejected": 1}), Outcomes(rejected=1, edits={"rejected": 1})
        ], id="rejected"),
    ],
)  # fmt: skip
def test_outcomes_of_what_was_taken_back_or_rejected(
    tmp_path: Path, chains: list[Chain], outcomes: list[Outcomes]
) -> None:
    result = compared(tmp_path, *chains)
    assert [row.outcomes for row in result.rows if row.outcomes] == outcomes
    if len(chains) == 2:
        assert result.row("postedit").texts == ("b", "a")
        assert moved_of(result, "postedit").changed == 0.5
        assert cost_of(result, "postedit").per_kept_edit == pytest.approx(1), "paid for both, for one that stands"
    if chains[0].steps[0].verdict == "rejected":
        moved = moved_of(result, "postedit")
        assert (moved.edited_percent, moved.characters, moved.changed, moved.gain_to_edit) == (0, 0, 0, None)


def test_a_run_that_is_not_complete_takes_the_lines_of_its_segments(tmp_path: Path, path: Path) -> None:
    run_chain = chain(1, "a", step("postedit", "b"), reference="b")
    result = compared(tmp_path, None, run_chain, None, chain(4, "x", reference="x"), total=5)
    assert result.warnings[0] == "run 'r' is finished: 3 of its 5 segments are not in it yet"
    references = written(tmp_path / "ref.txt", ["no", "b", "no", "x", "last"])
    other = written(tmp_path / "other.txt", ["no", "c", "no", "d", "last"])
    with Store(path) as opened:
        result = compare_run(opened, "r", reference=references, baselines=[("other", other)])
        assert result.row("other").texts == ("c", "d")
        assert result.row("postedit").cells[2].score.value == 0
        run = opened.start("q", settings={}, inputs={}, total=None)
        run.save(2, chain(3, "a"))
        run.finish()
        result = compare_run(opened, "q", baselines=[("o", written(tmp_path / "o.txt", ["x", "y", "z"]))])
        assert result.row("o").texts == ("z",), "a run of unknown length reaches as far as its last segment"


# --- several runs, and other systems


def two_runs(path: Path, **other: Any) -> None:
    store(path, "a", chain(1, "x", step("postedit", "b"), reference="b"), chain(2, "y", reference="y"))
    first = chain(1, "x", step("proofread", "c"), reference="b")
    first = first.model_copy(update={"segment": first.segment.model_copy(update={"source": "source 1", **other})})
    store(path, "b", first, chain(2, "y", reference="y"))


def test_texts_as_given_stand_once_where_they_are_the_same(config: Config, path: Path) -> None:
    def rows(*names: str) -> list[tuple[str, str | None]]:
        return [(row.name, row.former) for row in compare_runs(names, config).rows]

    two_runs(path)
    same = compare_runs(["a", "b"], config).rows
    assert [(row.name, row.run, row.former) for row in same] == [
        ("given", None, None),
        ("a/postedit", "a", "given"), ("a/final", "a", "given"),
        ("b/proofread", "b", "given"), ("b/final", "b", "given"),
    ]  # fmt: skip
    assert [name for name, _ in rows("safe=a", "b")[:3]] == ["given", "safe/postedit", "safe/final"]
    store(path, "c", *(Chain(segment=segment(i, f"source {i}"), steps=(step("translate", "x"),)) for i in (1, 2)))
    first = [("a/given", None), ("a/postedit", "a/given"), ("a/final", "a/given")]
    assert rows("a", "c") == [*first, ("c/translate", None), ("c/final", "c/translate")]
    store(path, "d", chain(1, "z", step("proofread", "c"), reference="b"), chain(2, "y", reference="y"))
    assert rows("a", "d") == [*first, ("d/given", None), ("d/proofread", "d/given"), ("d/final", "d/given")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": "another"}, "segment 1 has another source in run 'b' than in run 'a': 'another' and 'source 1'"),
        ({"id": "7"}, "segment 1 has another id in run 'b' than in run 'a': '7' and '1'"),
        ({"target_lang": "is"}, "segment 1 has another target language in run 'b' than in run 'a': 'is' and 'de'"),
    ],
)
def test_other_segments_are_refused_and_can_be_left_out(
    config: Config, path: Path, changes: dict[str, str], message: str
) -> None:
    two_runs(path, **changes)
    with pytest.raises(InputError) as refused:
        compare_runs(["a", "b"], config)
    assert str(refused.value) == f"{message}; --shared compares the segments that all runs have"
    result = compare_runs(["a", "b"], config, shared=True)
    assert (result.segments, result.row("a/postedit").texts) == (("2",), ("y",))
    assert result.warnings[0] == "1 segments are in all runs, and compared; left out: 1 of 2 of a, 1 of 2 of b"


def test_a_run_with_fewer_segments(config: Config, path: Path, tmp_path: Path) -> None:
    store(path, "a", chain(1, "x"), chain(2, "y"), chain(3, "z"), total=5)
    store(path, "b", chain(2, "y"), chain(1, "x"))
    store(path, "c", chain(1, "x"), chain(2, "y"))
    store(path, "d", chain(9, "x"))
    with pytest.raises(InputError, match="run 'a' has 3 segments, and run 'c' has 2; segment '3' is the first that it"):
        compare_runs(["a", "c"], config)
    assert compare_runs(["a", "b"], config, shared=True).segments == ("1", "2"), "the order is that of the first run"
    with pytest.raises(InputError, match="no segment is in all of them"):
        compare_runs(["a", "d"], config, shared=True)
    other = written(tmp_path / "o.txt", ["x", "y", "z"])
    with pytest.raises(InputError, match=r"o\.txt: has 3 lines, and the input of run 'a' has 5 segments and holds 3"):
        compare_runs(["a", "b"], config, shared=True, baselines=[("o", other)])


def test_a_baseline_goes_by_the_first_row_and_a_table_is_checked(tmp_path: Path, path: Path) -> None:
    chains = [chain(1, "a", step("postedit", "b"), reference="b"), chain(2, "x", reference="x")]
    result = compared(tmp_path, *chains, baselines=[("online", written(tmp_path / "o.txt", ["b", "x"]))])
    row = result.row("online")
    assert (row.run, row.stage, row.former, row.outcomes, row.cost) == (None, None, "given", None, None)
    assert (row.cells[2].difference, moved_of(result, "online").changed) == (-50, 0.5)
    good = written(tmp_path / "o.tsv", ["source\ttranslation", "source 1\tB", "source 2\tC"])
    bad = written(tmp_path / "bad.tsv", ["source\ttranslation", "source 1\tB", "source 3\tC"])
    with Store(path) as opened:
        assert compare_run(opened, "r", baselines=[("t", good)]).row("t").texts == ("B", "C")
        with pytest.raises(InputError, match=r"bad.tsv: '2' has another source than segment '2' of the run"):
            compare_run(opened, "r", baselines=[("t", bad)])


def test_references_come_from_the_run_that_has_them_and_unlike_ones_are_told(config: Config, path: Path) -> None:
    store(path, "bare", chain(1, "a b"), chain(2, "c d"))
    store(path, "full", chain(1, "a b", reference="a x"), chain(2, "c d", reference="c d"))
    store(path, "other", chain(1, "a b", reference="a b"), chain(2, "c d", reference="c d"))
    result = compare_runs(["bare", "full"], config, scoring=ScoreOptions(metrics=["ter"]))
    assert result.row("given").cells[0].score.value == 25
    assert not [warning for warning in result.warnings if "reference" in warning]
    result = compare_runs(["full", "other"], config)
    start = "the references of the runs differ for 1 segment (1): those of the first run are used"
    assert any(warning.startswith(start) for warning in result.warnings)
    assert result.row("given").cells[2].score.value == 25


def test_a_row_equal_to_the_baseline_has_no_p_value(tmp_path: Path) -> None:
    same = [chain(i, f"w{i} a b", step("postedit", f"w{i} a b", "unchanged"), reference=f"w{i} a c") for i in range(9)]
    result = compared(tmp_path, *same, scoring=ScoreOptions(resampling=Resampling("bs", 50), paired=True))
    assert {contrast.p_value for contrast in result.contrasts} == {contrast.p_holm for contrast in result.contrasts}
    assert {contrast.p_value for contrast in result.contrasts} == {None}
    assert all(cell.interval is not None for row in result.rows for cell in row.cells)
    assert all("|bs:50|seed:12345|" in line for line in result.signatures[:3])


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["ratings"], ConfigError, "it rated the stages of run 'r': name that run instead"),
        (["others"], ConfigError, "-m scores-file:path=FILE"),
        (["empty"], InputError, "run 'empty': has no segments yet"),
        (["rr"], StoreError, "there is no run 'rr'; did you mean 'r'?"),
        (["r", "r"], ConfigError, "two runs are called 'r'"),
    ],
)
def test_what_is_no_run_to_compare_is_refused_with_a_way_out(
    path: Path, config: Config, names: list[str], error: type[Exception], message: str
) -> None:
    store(path, "r", chain(1, "a"))
    rated = Rated(segment=segment(1, "s"), system="x", translation="t", rating=Rating(evaluator="e", score=1))
    with Store(path) as opened:
        for name, inputs in (("ratings", {"run": "r"}), ("others", {})):
            run = opened.start(name, settings={}, inputs=inputs, kind="rating")
            run.save_ratings(0, [rated])
            run.finish()
        opened.start("empty", settings={}, inputs={}, total=3).finish()
    with pytest.raises(error, match=message):
        compare_runs(names, config)


# --- parts, lengths, metrics of one's own


class Letters:
    """A metric of one's own: the share of vowels; its score is no mean, so that parts are scored anew."""

    name, higher_is_better = "vowels", True

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        each = tuple(float(sum(c in "aeiou" for c in text)) for text in translations)
        return Score(metric="vowels", value=max(each), segments=each, signature="vowels|max")


def test_parts_by_domain_length_and_document(tmp_path: Path) -> None:
    sources, domains = ["one two", "w " * 11, "w " * 10, "w " * 90], ["news", None, "news", ""]
    chains = [
        Chain(
            segment=segment(i, source, "a b", reference="a b c", domain=domain, document=f"d{i % 2}"),
            steps=(step("postedit", "a b c" if i < 2 else "a b"),),
        )
        for i, (source, domain) in enumerate(zip(sources, domains, strict=True))
    ]
    result = compared(
        tmp_path, *chains, by=["domain", "length", "document"], scoring=ScoreOptions(metrics=["ter", Letters()])
    )
    parts = result.parts or {}
    assert {name: [(part.name, len(part.places)) for part in of] for name, of in parts.items()} == {
        "domain": [("news", 2), ("no domain", 2)],
        "length": [("0–10 words", 2), ("11–20 words", 1), ("over 80 words", 1)],
        "document": [("d0", 2), ("d1", 2)],
    }
    news = parts["domain"][0]
    # given: 1 of 3 words is missing, in both; after postedit, in one of two
    assert [scores[0] for scores in news.scores] == pytest.approx([100 / 3, 100 / 6, 100 / 6])
    assert [scores[1] for scores in news.scores] == [1, 1, 1]


def test_lengths_in_words_come_first_and_characters_are_counted_without_spaces() -> None:
    mixed = [segment(1, "猫" * 20 + " ", source_lang="ja"), segment(2, "猫" * 21, source_lang="ja"), segment(3, "one")]
    assert grouped("length", mixed) == [("0–10 words", [2]), ("0–20 characters", [0]), ("21–40 characters", [1])]
    assert grouped("domain", [segment(1, "s")]) == [("no domain", [0])]
    with pytest.raises(ConfigError, match="no grouping 'colour'"):
        grouped("colour", mixed)  # type: ignore[arg-type]


def test_scripts_without_spaces_are_measured_in_characters_and_ter_too(tmp_path: Path) -> None:
    of = segment(1, "猫 が" + "座" * 30, "我们喜欢猫", source_lang="ja", target_lang="zh", reference="我们喜欢狗")
    result = compared(tmp_path, Chain(segment=of, steps=(step("postedit", "我们喜欢狗"),)), by=["length"])
    moved = moved_of(result, "postedit")
    assert (moved.edited_percent, moved.characters) == (pytest.approx(20), 1)
    assert [part.name for part in (result.parts or {})["length"]] == ["21–40 characters"]
    assert any("edited %|TER between rows|" in line and "asian:yes" in line for line in result.signatures)
    assert any(line.startswith("BLEU|") and "tok:zh" in line for line in result.signatures)


def test_the_parts_of_all_segments_score_as_all(whole: RunComparison, tmp_path: Path, path: Path) -> None:
    with Store(path) as opened:
        result = compare_run(opened, "r", reference=tmp_path / "ref.txt", by=["domain"])
    ((part,),) = (result.parts or {}).values()
    expected = [tuple(cell.score.value for cell in row.cells) for row in whole.rows]
    assert [pytest.approx(scores) for scores in part.scores] == expected


def test_two_metrics_of_one_name_are_told_apart(tmp_path: Path) -> None:
    wanted = ScoreOptions(metrics=["bleu", "bleu:tokenize=char"])
    run_chain = chain(1, "a cab x y z", step("postedit", "a cat x y z"), reference="a car x y z")
    result = compared(tmp_path, run_chain, by=["domain"], scoring=wanted)
    assert result.metrics == ("BLEU", "BLEU (2)")
    (line, *_) = csv.DictReader(io.StringIO(flat([result])))
    assert (line["BLEU"], line["BLEU (2)"]) == tuple(str(cell.score.value) for cell in result.rows[0].cells)
    assert line["BLEU"] != line["BLEU (2)"]
    assert next(signature for signature in result.signatures if "tok:char" in signature).startswith("BLEU (2)|")


def test_ter_is_counted_in_words_of_the_later_text_and_says_where_it_tried_no_shifts(tmp_path: Path) -> None:
    result = compared(tmp_path, chain(1, "a b c d", step("postedit", "a b"), step("proofread", "a b x y z")))
    # two of four words are deleted: 2 of 2; three inserted: 3 of 5; two replaced and one inserted: 3 of 5
    assert [row.moved.edited_percent for row in result.rows if row.moved] == pytest.approx([100, 60, 60])
    long, folder = " ".join(f"w{i}" for i in range(20_001)), tmp_path / "long"
    folder.mkdir()
    result = compared(folder, chain(1, long, step("postedit", f"x {long}")), by=["length"])
    assert any(
        line.startswith("edited %|TER between rows|") and "|long:noshifts|" in line for line in result.signatures
    )
    assert "a text has more than 20,000 words: TER counts no shifts of words there (long:noshifts)" in result.warnings


class Lengths(Letters):
    """Scores that differ by less than a hundredth: the number of letters, in thousandths of thousandths."""

    def __init__(self, unit: float) -> None:
        self._unit = unit

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        each = tuple(1 + self._unit * len(text) for text in translations)
        return Score(metric="length", value=sum(each) / len(each), segments=each, signature="length")


def test_a_small_gain_has_its_price_and_noise_is_no_loss(tmp_path: Path) -> None:
    words = "w " * 200
    run_chain = chain(1, f"{words}end", step("postedit", f"{words}ending", usage=usage(10, 0.5)))
    result = compared(tmp_path, run_chain, scoring=ScoreOptions(metrics=[Lengths(1e-3)]))
    assert cost_of(result, "postedit").per_point == pytest.approx(0.5 / 0.003)
    assert moved_of(result, "postedit").gain_to_edit == pytest.approx(0.003 / (100 / 201))
    for unit, regressed in ((-1e-3, 1), (-1e-12, 0)):
        (tmp_path / str(regressed)).mkdir()
        result = compared(tmp_path / str(regressed), run_chain, scoring=ScoreOptions(metrics=[Lengths(unit)]))
        assert moved_of(result, "postedit").regressed == regressed


# --- gates and their own metrics


class Named(Letters):
    def __init__(self, name: str) -> None:
        self.name = name

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        return super().score(segments, translations).model_copy(update={"metric": self.name.upper()})


OTHERS, ALONE = "Go by the other metrics", "Never report it alone"


@pytest.mark.parametrize(
    ("run_settings", "metrics", "expected"),
    [
        ({"gate": "rate", "judge": {"evaluator": "qe-e5"}}, ["qe-e5", "ter"], [OTHERS]),
        ({"gate": "rate", "judge": {"evaluator": "cometkiwi:model=x"}}, ["wmt22-cometkiwi-da"], [ALONE]),
        ({"gate": "rate", "evaluator": "xcomet"}, ["xcomet", "ter"], [OTHERS]),
        ({"gate": "guards", "evaluator": "xcomet"}, ["xcomet", "ter"], []),
        ({"gate": "rate", "evaluator": "rubric-mqm"}, ["comet", "ter"], []),
        ({}, ["rate", "ter"], []),
        ({"gate": "rate", "evaluator": "rubric-mqm"}, ["error-rate", "ter"], []),
        ({}, ["own-qe", "rubric-mqm"], [OTHERS]),
    ],
)
def test_the_gate_s_own_metric_proves_nothing(
    tmp_path: Path, run_settings: dict[str, Any], metrics: list[str], expected: list[str]
) -> None:
    """The judge is known by the settings, and by the stored ratings."""
    ratings = (
        Rating(evaluator="rubric-mqm", role="editor", score=-1, errors=()),
        Rating(evaluator="own-qe", role="after", score=1),
    )
    judged = Step(stage="postedit", text="b", verdict="kept", cause="-", ratings=ratings)
    scoring = ScoreOptions(metrics=[name if name == "ter" else Named(name) for name in metrics])
    result = compared(tmp_path, chain(1, "a", judged, reference="a"), settings=run_settings, scoring=scoring)
    warnings = [warning for warning in result.warnings if "let its gate keep only what" in warning]
    assert [advice for warning in warnings for advice in (OTHERS, ALONE) if advice in warning] == expected


@pytest.mark.parametrize(
    ("signatures", "reference", "who"),
    [
        ({"postedit": "rubric-mqm|m|reference:yes|v"}, "a", "its editor"),
        ({"postedit": "x|reference:yes|v", "judge": "y|reference:yes|v"}, "a", "its editor and its judge"),
        ({"postedit": "rubric-mqm|m|reference:no|v"}, "a", None),
        ({"postedit": "rubric-mqm|m|reference:yes|v"}, None, None),
    ],
)
def test_it_is_said_who_saw_the_references(
    tmp_path: Path, signatures: dict[str, str], reference: str | None, who: str | None
) -> None:
    result = compared(tmp_path, chain(1, "a", reference=reference), settings={"signatures": signatures})
    warnings = [warning for warning in result.warnings if "showed the references to" in warning]
    assert warnings == ([f"run 'r' showed the references to {who}: scores against them prove nothing"] if who else [])


# --- properties

WORDS = st.lists(st.sampled_from(["a", "b", "c c", "d."]), min_size=1, max_size=4).map(" ".join)
VERDICTS = st.sampled_from(["kept", "unchanged", "rejected", "failed", None])


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    given_text = draw(WORDS)
    steps, text = [], given_text
    for stage in ("postedit", "proofread"):
        verdict = draw(VERDICTS)
        if verdict is not None:
            text = draw(WORDS) if verdict == "kept" else text
            steps.append(step(stage, text, verdict, usage=usage(draw(st.integers(0, 50)), draw(st.floats(0, 1)))))
    source = "".join(draw(st.lists(st.sampled_from(string.ascii_letters + " "), max_size=99)))
    domain = draw(st.sampled_from([None, "x", "y"]))
    return Chain(segment=segment(1, source, given_text, reference=draw(WORDS), domain=domain), steps=tuple(steps))


@settings(max_examples=60, deadline=None)
@given(st.lists(chains(), min_size=1, max_size=6))
def test_shares_add_up_and_parts_hold_every_segment_once(run_chains: list[Chain]) -> None:
    with Store(":memory:") as opened:
        run = opened.start("r", settings={}, inputs={}, total=len(run_chains))
        for place, one in enumerate(run_chains):
            run.save(place, one.model_copy(update={"segment": one.segment.model_copy(update={"id": str(place)})}))
        comparison = compare_run(opened, "r", by=["domain", "length"], scoring=ScoreOptions(metrics=["ter"]))
    for row in comparison.rows[1:]:
        moved = moved_of(comparison, row.name)
        outcomes = row.outcomes
        assert outcomes is not None
        counts = [getattr(outcomes, f.name) for f in fields(Outcomes) if f.name not in ("edits", "failed_changed")]
        assert sum(counts) == len(run_chains)
        lost = sum(chain.failed is not None and chain.changed for chain in run_chains)
        assert outcomes.failed_changed == (lost if row.stage == "final" else 0)
        assert 0 <= moved.changed <= 1
        assert (moved.edited_percent == 0) >= (moved.changed == 0)
        assert moved.regressed is not None
        assert moved.regressed <= moved.changed, "what is the same cannot be worse"
    for parts in (comparison.parts or {}).values():
        assert sum(len(part.places) for part in parts) == len(run_chains)
    stages = [row.cost.usage.cost or 0 for row in comparison.rows[1:-1] if row.cost]
    assert cost_of(comparison, "final").usage.cost == pytest.approx(sum(stages))
