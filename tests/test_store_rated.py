"""Ratings in the store: what is saved comes back, whatever it is, and a rating run is a run like others."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.errors import StoreError
from mtagent.records import Call, Completion, Rated, Rating, Segment, Usage
from mtagent.store import Run, Store
from mtagent.store.tables import MIGRATIONS, migrate
from tests.test_store import call, maybe, number, segment, span, text, tuples
from tests.test_store import rating as rating_in_chain

whole = st.builds(
    Rating, evaluator=text, score=number, errors=st.none() | tuples(span()), explanation=maybe, calls=tuples(call),
    signature=text, correction=maybe, confidence=st.none() | number, gaps=tuples(text), warnings=tuples(text),
    seconds=number,
)  # fmt: skip


rating = rating_in_chain.map(lambda rating: rating.model_copy(update={"role": None}))


@st.composite
def several(draw: st.DrawFn) -> list[Rated]:
    """The ratings of one segment: ratings of one's own, shared ones, failures, and nothing to rate."""
    of, found = draw(segment), []
    for system in draw(st.lists(text, min_size=1, max_size=3, unique=True)):
        one = draw(st.none() | whole | rating)
        paid = one.calls if one is not None and draw(st.booleans()) else draw(tuples(call))
        error = None if one is not None else draw(maybe)
        fields = {"translation": draw(text), "calls": paid, "seconds": draw(number)}
        found.append(Rated(segment=of, system=system, rating=one, error=error, **fields))
    return found


def started(store: Store, name: str = "r") -> Run:
    return store.start(name, settings={}, inputs={}, kind="rating")


def example(name: str, *systems: str, error: str | None = None, calls: tuple[Call, ...] = ()) -> list[Rated]:
    given = Segment(id=name, source="source", source_lang="en", target_lang="is")
    rating = None if error else Rating(evaluator="e", score=-1.5, errors=(), calls=calls, signature="e|1")
    return [
        Rated(segment=given, system=system, translation=f"{name} {system}", rating=rating, error=error, calls=calls)
        for system in systems or ("a",)
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(several(), max_size=3))
def test_ratings_come_back_exactly_as_they_were_saved(saved: list[list[Rated]]) -> None:
    with Store(":memory:") as store:
        run = started(store)
        for position in reversed(range(len(saved))):
            run.save_ratings(position, saved[position])
        assert list(run.ratings()) == [one for of in saved for one in of]
        for position, of in enumerate(saved):
            assert run.ratings_at(position) == of


def test_one_system_or_the_first_segments_can_be_read_alone_over_several_pages() -> None:
    with Store(":memory:") as store:
        run = started(store)
        for position in range(120):
            run.save_ratings(position, example(str(position), "b", "a"))
        assert run.systems() == ("b", "a")
        assert [one.translation for one in run.ratings("a")] == [f"{i} a" for i in range(120)]
        assert [one.segment.id for one in run.ratings(limit=2)] == ["0", "0", "1", "1"]
        assert [one.system for one in run.ratings_of("7")] == ["b", "a"]
        assert run.ratings_of("none") == []


def test_a_page_in_which_a_system_has_nothing_does_not_end_the_reading() -> None:
    with Store(":memory:") as store:
        run = started(store)
        for position in range(130):
            run.save_ratings(position, example(str(position), *(["a", "b"] if position == 129 else ["a"])))
        assert [one.segment.id for one in run.ratings("b")] == ["129"]


def test_a_failed_try_is_replaced_a_finished_one_is_not_and_both_are_counted() -> None:
    with Store(":memory:") as store:
        run = started(store)
        run.save_ratings(0, example("0", error="down"))
        run.save_ratings(1, example("1"))
        assert (run.done(0), run.done(1)) == (False, True)
        assert run.counts().model_dump(exclude_defaults=True) == {"done": 1, "rated": 1, "failed": 1}
        run.save_ratings(0, example("0"))
        assert run.counts().model_dump(exclude_defaults=True) == {"done": 2, "rated": 2}
        with pytest.raises(StoreError, match="position 1 is finished already; segment '1' is not saved"):
            run.save_ratings(1, example("1"))
        assert [one.error for one in run.ratings()] == [None, None]


def test_a_score_that_is_not_a_number_is_refused_and_nothing_of_the_segment_is_stored() -> None:
    bad = example("0", "a", "b")
    bad[1] = bad[1].model_copy(update={"rating": Rating(evaluator="e", score=float("nan"))})
    with Store(":memory:") as store:
        run = started(store)
        with pytest.raises(StoreError, match="segment '0': cannot be stored, a value is missing or not a number"):
            run.save_ratings(0, bad)
        assert list(run.ratings()) == []
        assert not run.has("0")


def test_the_kind_of_a_run_is_kept_and_another_kind_under_its_name_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        started(store, "r").finish()
        store.start("c", settings={}, inputs={}).finish()
        assert [(run.name, run.kind) for run in store.runs()] == [("r", "rating"), ("c", "chain")]
        assert store.newest("rating") == "r"
        with pytest.raises(StoreError, match="run 'r': holds ratings, not improved texts"):
            store.start("r", settings={}, inputs={})
        started(store, "r").close()  # the refusal has let go of the lock


def test_the_newest_run_is_the_one_that_was_worked_on_last() -> None:
    with Store(":memory:") as store:
        with pytest.raises(StoreError, match="there is no rating run yet"):
            store.newest("rating")
        first, second = started(store, "first"), started(store, "second")
        assert store.newest("rating") == "second"
        store.database.connection.execute("UPDATE runs SET updated = '2999' WHERE name = 'first'")
        assert store.newest("rating") == "first"
        first.close()
        second.close()


def test_a_store_made_before_there_were_ratings_holds_chains(tmp_path: Path) -> None:
    place = tmp_path / "old.db"
    old = sqlite3.connect(place, isolation_level=None)
    migrate(old, MIGRATIONS[:3])
    old.execute("INSERT INTO runs VALUES (1, 'old', 'finished', '{}', '{}', 1, NULL, '2025', '2025')")
    old.close()
    with Store(place) as store:
        assert store.run("old").kind == "chain"
        started(store).save_ratings(0, example("1"))


def test_calls_of_a_failed_rating_are_not_trusted_again() -> None:
    made = Call(purpose="rate", model="m", reply="?", usage=Usage(calls=1), error="RatingParseError: no")
    with Store(":memory:") as store:
        run = started(store)
        reply = Completion(text="?", model="m", usage=Usage(calls=1))
        store.record_call(run.id, "0", "rate", "k", made.model_copy(update={"error": None}), reply)
        assert store.recall(run.id, "0", "k") is not None
        run.save_ratings(0, example("0", error="unreadable", calls=(made,)))
        assert store.recall(run.id, "0", "k") is None
        assert run.usage().calls == 1


def test_ratings_whose_segment_is_gone_are_named(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        run = started(store)
        run.save_ratings(0, example("s1"))
        with sqlite3.connect(tmp_path / "s.db") as other:
            other.execute("DELETE FROM segments")
        other.close()
        with pytest.raises(StoreError, match="segment 's1': its row is missing"):
            run.ratings_at(0)
