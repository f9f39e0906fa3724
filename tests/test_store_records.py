"""What is saved in the store comes back exactly, or is refused by name; it is read in order and page by page."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.errors import StoreError
from mtagent.records import (
    Call,
    Cause,
    Chain,
    Completion,
    DecidedCause,
    Edit,
    ErrorSpan,
    Judgement,
    Message,
    Rated,
    Rating,
    Record,
    Segment,
    Term,
    Usage,
)
from mtagent.store import Run, Store
from tests.stored import paid, post_edited, queried, rated, sql, start

ODD = [
    *("", "None", "null", "NaN", "a\x00b", "\x00", "e\u0301", "\u00a0", "👩‍👩‍👧", "\U0010ffff", "[]", "1e999"),
    "'; DROP TABLE runs; --",
]

texts = st.sampled_from(ODD) | st.text(max_size=20)  # lone surrogates are not drawn: Hypothesis' default
numbers = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 2**53)


saved = st.builds(Usage, calls=counts, input_tokens=counts, output_tokens=counts, cost=st.none() | numbers)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "max_length": st.none() | st.integers(1, 2**53), "saved": st.none() | saved, "similarity": st.integers(0, 100)
}  # fmt: skip
"""Fields that take not all values of their type."""


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type that a field of a record has."""
    if kind in STRATEGIES:
        return STRATEGIES[kind]
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is tuple:
        return st.lists(values(get_args(kind)[0]), max_size=2).map(tuple)
    if get_args(kind):
        return st.one_of(*map(values, get_args(kind)))
    return records(kind)


def records(kind: type[Record], /, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Records with every field filled, those of today and those that come."""
    known = {name: strategy for name, strategy in FIELDS.items() if name in kind.model_fields} | fields
    rest = {name: values(field.annotation) for name, field in kind.model_fields.items() if name not in known}
    return st.fixed_dictionaries(rest | known).map(lambda drawn: kind(**drawn))


STRATEGIES: dict[Any, st.SearchStrategy[Any]] = {
    str: texts, int: counts, float: numbers, bool: st.booleans(), type(None): st.none()
}  # fmt: skip
STRATEGIES[Term] = records(Term, source=texts.filter(bool))
STRATEGIES[ErrorSpan] = st.builds(
    lambda span, offsets: span.model_copy(update=dict(zip(("start", "end"), offsets, strict=True))),
    records(ErrorSpan, start=st.none(), end=st.none()),
    st.just((None, None)) | st.tuples(counts, counts).map(sorted),
)
scored = st.lists(records(Judgement, before=numbers, after=numbers), max_size=2).map(tuple)


def causes(candidates: st.SearchStrategy[tuple[Cause, ...]]) -> st.SearchStrategy[Cause]:
    """Causes of all kinds."""
    by_scores = records(DecidedCause, judgements=scored, candidates=candidates)
    others = [records(kind, candidates=candidates) for kind in CAUSES if kind is not DecidedCause]
    return st.one_of(by_scores, *others)


CAUSES = get_args(get_args(Cause)[0])
no_candidates: st.SearchStrategy[tuple[Cause, ...]] = st.just(())
FIELDS["cause"] = causes(no_candidates) | causes(st.lists(causes(no_candidates), max_size=2).map(tuple))
ratings = records(Rating, role=st.none())
usages = records(Usage, reused=st.just(0), saved=st.none())


@st.composite
def rated_segments(draw: st.DrawFn) -> list[Rated]:
    """The ratings of one segment: ratings of one's own, shared ones, failures, and nothing to rate."""
    segment, several = draw(records(Segment)), []
    for system in draw(st.lists(texts, min_size=1, max_size=3, unique=True)):
        rated = draw(records(Rated, segment=st.just(segment), system=st.just(system), rating=st.none() | ratings))
        if rated.rating is not None:
            rated = rated.model_copy(update={"error": None})
            if draw(st.booleans()):
                rated = rated.model_copy(update={"calls": rated.rating.calls})
        several.append(rated)
    return several


@given(st.lists(records(Chain, reviewed=st.none()), max_size=3), st.randoms())  # decisions have a table of their own
@settings(max_examples=60)
def test_chains_come_back_as_they_were_saved_and_in_order_of_position(
    saved: list[Chain], chance: random.Random
) -> None:
    with Store(":memory:") as store:
        run = start(store)
        for position in chance.sample(range(len(saved)), len(saved)):
            run.save(position, saved[position])
        assert list(run.chains()) == saved


@given(st.lists(rated_segments(), max_size=3))
@settings(max_examples=60)
def test_ratings_come_back_as_they_were_saved_and_in_order_of_position(saved: list[list[Rated]]) -> None:
    with Store(":memory:") as store:
        run = start(store, kind="rating")
        for position in reversed(range(len(saved))):
            run.save_ratings(position, saved[position])
        assert list(run.ratings()) == [rated for of_segment in saved for rated in of_segment]
        assert [run.ratings_at(position) for position in range(len(saved))] == saved


@given(
    records(
        Completion,
        attempts=st.just(()), retries=st.just(()), waited=st.just(0.0), endpoint=st.none(), usage=usages,
    )
)  # fmt: skip
@settings(max_examples=60)
def test_a_reply_comes_back_as_it_was_recorded(answer: Completion) -> None:
    call, _ = paid(answer.text, usage=answer.usage)
    with Store(":memory:") as store:
        store.calls.record(start(store).id, "s", "p", "k", call, answer)
        other = start(store, "second")
        assert store.calls.recall(other.id, "s", "k") == answer.model_copy(
            update={"usage": Usage(reused=1, saved=answer.usage)}
        )
        assert store.calls.recall(other.id, "s", "k2") is None


def test_texts_like_none_and_null_stay_texts_and_a_missing_domain_stays_missing(store: Store) -> None:
    segment = Segment(
        id="s", source="None", source_lang="en", target_lang="is", translation="null", context="NA", notes=""
    )
    run = start(store)
    run.save(0, Chain(segment=segment))
    assert run.chain("s")[1].segment == segment
    assert run.chain("s")[1].segment.domain is None


def test_a_new_try_takes_away_all_rows_of_the_failed_one(store: Store, tmp_path: Path) -> None:
    edits = tuple(Edit(old=old, new="", outcome="applied") for old in "abc")
    former = post_edited("s", "failed", edits=edits)
    run = start(store)
    run.save(0, former.model_copy(update={"steps": former.steps * 2}))
    run.save(0, post_edited("s"))
    assert run.chain("s") == (0, post_edited("s"))
    assert queried(tmp_path / "s.db", "SELECT count(*) FROM edits") == [(0,)]


# --- reading


def test_a_chain_is_found_by_the_id_of_its_segment(store: Store) -> None:
    run = start(store)
    for position, name in enumerate(["a", "b", "b"]):
        run.save(position, post_edited(name))
    assert run.chain("a") == (0, post_edited("a"))
    with pytest.raises(StoreError, match=r"no segment 'c'"):
        run.chain("c")
    with pytest.raises(StoreError, match=r"several segments are called 'b', at positions 1, 2"):
        run.chain("b")


def test_ratings_are_read_by_system_by_segment_or_up_to_a_limit_over_several_pages(store: Store) -> None:
    run = start(store, kind="rating")
    for position in range(130):
        run.save_ratings(position, rated(str(position), *(("b", "a", "c") if position == 129 else ("b", "a"))))
    assert run.systems() == ("b", "a", "c")
    assert [rated.translation for rated in run.ratings("a")] == [f"{position} a" for position in range(130)]
    assert [rated.segment.id for rated in run.ratings("c")] == ["129"]
    assert [rated.segment.id for rated in run.ratings(limit=2)] == ["0", "0", "1", "1"]
    assert [rated.system for rated in run.ratings_of("7")] == ["b", "a"]
    assert run.ratings_of("none") == []


def test_a_run_is_read_in_order_of_position_while_it_goes_on(store: Store, tmp_path: Path) -> None:
    run = start(store)
    for position in reversed(range(0, 404, 2)):
        run.save(position, post_edited(str(position)))
    with Store(tmp_path / "s.db") as reader:
        chains: Iterator[Chain] = reader.read("first").chains()
        assert next(chains) == post_edited("0")
        run.save(404, post_edited("404"))
        assert [chain.segment.id for chain in chains] == [str(position) for position in range(2, 406, 2)]
        assert reader.run("first").counts.done == 203


def test_a_run_is_read_without_its_dialogues_and_from_any_position(store: Store, tmp_path: Path) -> None:
    call, _ = paid()
    rating = Rating(evaluator="e", score=-1.0, errors=(), calls=(call,), signature="e|1", role="editor")
    chains = [post_edited(str(number), calls=(call,), ratings=(rating,)) for number in range(120)]
    with start(store) as run:
        for position, chain in enumerate(chains):
            run.save(position, chain)
    bare = call.model_copy(update={"messages": (), "reply": None})
    step = {"calls": (bare,), "ratings": (rating.model_copy(update={"calls": (bare,)}),)}
    expected = []
    for chain in chains:
        expected.append(chain.model_copy(update={"steps": (chain.steps[0].model_copy(update=step),)}))
    stored = store.read("first")
    assert list(stored.chains()) == chains
    assert list(stored.chains(dialogues=False)) == expected
    assert list(stored.placed_chains(after=69, dialogues=False)) == list(enumerate(expected))[70:]
    with sql(tmp_path / "s.db") as connection:
        connection.execute("DELETE FROM texts")
    assert list(stored.chains(dialogues=False)) == expected
    with pytest.raises(StoreError, match="is missing"):
        list(stored.chains())


def test_memory_does_not_grow_with_the_number_of_segments(store: Store) -> None:
    run = start(store)
    saving, reading = [], []
    for first, last in ((0, 200), (200, 1200)):
        tracemalloc.start()
        for position in range(first, last):
            call, answer = paid(str(position))
            store.calls.record(run.id, str(position), "p", str(position), call, answer)
            run.save(position, post_edited(str(position), calls=(call,)))
        saving.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        tracemalloc.start()
        assert sum(1 for _ in run.chains()) == last
        reading.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert saving[1] < saving[0] * 1.5
    assert reading[1] < reading[0] * 1.5


# --- what cannot be stored

HALF = Call(purpose="p", model="m", messages=(Message(role="user", content="\udfff"),))
FAR = Edit(old="a", new="b", outcome="applied", start=2**70, end=2**70)


@pytest.mark.parametrize(
    ("of_step", "reason"),
    [
        ({"text": "ab\ud800"}, r"U\+D800 at offset 2"),
        ({"calls": (HALF,)}, r"U\+DFFF"),
        ({"ratings": (Rating(evaluator="e", score=1.0, signature="\ud800"),)}, r"U\+D800"),
        ({"ratings": (Rating(evaluator="e", score=float("nan")),)}, "missing or not a number"),
        ({"edits": (FAR,)}, "too large"),
    ],
    ids=["half a character", "in a message", "in a signature", "no number", "beyond 64 bits"],
)
def test_what_cannot_be_stored_is_refused_by_its_segment_and_nothing_else_is_lost(
    of_step: dict[str, Any], reason: str, store: Store
) -> None:
    run = start(store)
    run.save(0, post_edited("good"))
    with pytest.raises(StoreError, match=rf"segment 'bad'.*{reason}"):
        run.save(1, post_edited("bad", **of_step))
    assert not run.done(1)
    run.save(2, post_edited("next"))
    assert [chain.segment.id for chain in run.chains()] == ["good", "next"]


def test_of_ratings_that_cannot_be_stored_nothing_of_the_segment_is(store: Store) -> None:
    bad = rated("0", "a", "b")
    bad[1] = bad[1].model_copy(update={"rating": Rating(evaluator="e", score=float("nan"))})
    run: Run = start(store, kind="rating")
    with pytest.raises(StoreError, match="segment '0': cannot be stored, a value is missing or not a number"):
        run.save_ratings(0, bad)
    assert list(run.ratings()) == []
    assert not run.has("0")


def test_a_segment_that_is_not_there_is_named_beside_those_that_are(store: Store) -> None:
    with store.start("r", settings={}, inputs={}) as run:
        for position, name in enumerate(("a-1", "a-2", "a-3", "a-4")):
            run.save(position, post_edited(name))
    with pytest.raises(StoreError, match=r"has no segment '2'; its segments are called 'a-1', 'a-2', 'a-3' …"):
        store.read("r").chain("2")
