"""The log of calls: what a run has paid for, which replies are recalled, and what SQL users read in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtagent.errors import StoreError
from mtagent.records import Call, Chain, Completion, Message, Segment, Step, ToolCall, Usage
from mtagent.store import Store
from tests.stored import paid, post_edited, queried, rated, sql, start

SEARCH = ToolCall(id="1", name="search", arguments='{"query": "æ"}')
FINISH = ToolCall(id="2", name="finish", arguments="{}")


def test_a_run_has_paid_for_its_failed_calls_and_not_for_those_of_another_run(store: Store) -> None:
    call, answer = paid()
    first, second, third = (start(store, name) for name in ("first", "second", "third"))
    store.calls.record(first.id, "s", "p", "k", call, answer)
    store.calls.record(first.id, "s", "p", "k2", call.model_copy(update={"error": "cut off"}), None)
    store.calls.record(second.id, "s", "p", "k3", call, answer)
    assert [run.usage() for run in (first, second, third)] == [answer.usage + answer.usage, answer.usage, Usage()]


def test_failed_calls_that_are_read_again_are_forgotten_and_attempts_of_a_reply_stay(store: Store) -> None:
    call, answer = paid()
    failed = call.model_copy(update={"error": "cut off"})
    run = start(store)
    store.calls.record(run.id, "s", "p", "before", failed, None)
    newest = store.calls.newest()
    store.calls.record(run.id, "s", "p", "replied", failed, None)
    store.calls.record(run.id, "s", "p", "replied", call, answer)
    store.calls.record(run.id, "s", "p", "failed", failed, None)
    forgotten = store.calls.forget_unfinished(run.id, newest)
    assert forgotten == answer.usage
    assert run.usage().calls == 3 * answer.usage.calls


def test_an_unknown_price_stays_unknown_in_the_sum_of_a_run(store: Store) -> None:
    call, answer = paid()
    unpriced = call.model_copy(update={"usage": Usage(calls=1, input_tokens=1, cost=None)})
    run = start(store)
    store.calls.record(run.id, "s", "p", "k", call, answer)
    store.calls.record(run.id, "s", "p", "k2", unpriced, answer)
    assert run.usage() == answer.usage + unpriced.usage
    assert run.usage().cost is None


def test_the_dialogue_shows_tool_calls_and_what_they_gave_back(store: Store, tmp_path: Path) -> None:
    sent = (
        Message(role="user", content="Rate."),
        Message(role="assistant", content="First,", tool_calls=(SEARCH, FINISH)),
        Message(role="tool", content="found", tool_call_id="1"),
    )
    _, answer = paid("", tool_calls=(FINISH,))
    call = Call(purpose="p", model="m", messages=sent, reply="", tool_calls=(FINISH,), usage=answer.usage)
    store.calls.record(start(store).id, "s", "p", "k", call, answer)
    assert queried(tmp_path / "s.db", "SELECT role, text FROM dialogue ORDER BY turn") == [
        ("user", "Rate."),
        ("assistant", 'First,\nsearch({"query": "æ"})\nfinish({})'),
        ("tool", "found"),
        ("reply", "finish({})"),
    ]


def test_only_the_reply_with_the_tool_calls_that_failed_is_distrusted(store: Store) -> None:
    run = start(store)
    for key, wish in (("k1", SEARCH), ("k2", FINISH)):
        call, answer = paid("", tool_calls=(wish,))
        store.calls.record(run.id, "s", "p", key, call, answer)
    failed = call.model_copy(update={"tool_calls": (SEARCH,), "error": "no such tool"})
    run.save(0, post_edited("s", "failed", calls=(failed,)))
    assert store.calls.recall(run.id, "s", "k1") is None
    recalled = store.calls.recall(run.id, "s", "k2")
    assert recalled is not None
    assert recalled.tool_calls == (FINISH,)


def test_a_reply_that_made_a_rating_fail_is_not_recalled(store: Store) -> None:
    call = Call(purpose="rate", model="m", reply="?", usage=Usage(calls=1), error="RatingParseError: no")
    run = start(store, kind="rating")
    reply = Completion(text="?", model="m", usage=Usage(calls=1))
    store.calls.record(run.id, "0", "rate", "k", call.model_copy(update={"error": None}), reply)
    assert store.calls.recall(run.id, "0", "k") is not None
    run.save_ratings(0, rated("0", error="unreadable", calls=(call,)))
    assert store.calls.recall(run.id, "0", "k") is None
    assert run.usage().calls == 1


def test_a_constant_prompt_is_stored_once(store: Store, tmp_path: Path) -> None:
    run = start(store)
    for name in "abc":
        call, answer = paid(name)
        store.calls.record(run.id, name, "p", name, call, answer)
        run.save(ord(name), post_edited(name, calls=(call,)))
    assert queried(tmp_path / "s.db", "SELECT count(*) FROM texts WHERE text = 'constant'") == [(1,)]
    assert queried(tmp_path / "s.db", "SELECT count(*) FROM texts") == [(7,)]


def test_a_text_that_does_not_match_its_hash_is_named_and_not_used(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    call, answer = paid("Hola.")
    chain = Chain(
        segment=Segment(id="0", source="Hello?", source_lang="en", target_lang="es"),
        steps=(Step(stage="translate", text="Hola.", verdict="kept", cause="-", calls=(call,)),),
    )
    with Store(place) as store:
        run = start(store)
        store.calls.record(run.id, "0", "rate", "key", call, answer)
        run.save(0, chain)
        assert store.calls.recall(run.id, "1", "key") is not None
    with sql(place) as connection:
        connection.execute("UPDATE texts SET text = 'Adios.' WHERE text = 'Hola.'")
    with Store(place) as store:
        with pytest.raises(StoreError, match=r"at run 'first' .*the text [0-9a-f]{32} does not match its hash"):
            list(store.read("first").chains())
        assert store.calls.recall(1, "1", "key") is None, "the call is made again"
        run = store.reopen("first")
        store.calls.record(run.id, "1", "rate", "key", call, answer)
        assert list(run.chains()) == [chain], "the same text, stored again, mends it"
        assert store.calls.recall(run.id, "2", "key") == answer.model_copy(update={"usage": Usage(reused=1)})
