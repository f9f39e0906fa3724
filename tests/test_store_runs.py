"""Runs in the store: resumed, refused, counted, locked between processes; a killed one loses nothing that was saved."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import RunLocked, StoreError
from mtagent.records import Chain, Edit, Rating, Segment, Stage, Step, Verdict
from mtagent.store import Store
from tests.commands import ROOT
from tests.stored import post_edited, queried, rated, sql, start


def in_child(script: str, *arguments: object) -> subprocess.Popen[str]:
    pipe, environment = subprocess.PIPE, {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=pipe)


def next_line(child: subprocess.Popen[str]) -> str:
    """The next line of a child."""
    assert child.stdout is not None
    return child.stdout.readline()


# --- resuming


def test_a_started_run_is_taken_up_again_with_what_it_has(tmp_path: Path) -> None:
    settings = {"model": "m", "gate": {"margin": 0.5}, "path": Path("x"), "stages": ("postedit",)}
    with Store(tmp_path / "s.db") as store:
        store.start("r", settings=settings, inputs={"file": "a"}).save(4, post_edited("s"))
    with Store(tmp_path / "s.db") as store:
        run = store.start("r", settings=settings, inputs={"file": "a"})
        assert (run.done(4), run.done(3)) == (True, False)


def test_other_settings_or_inputs_are_refused_and_named(store: Store) -> None:
    before: dict[str, Any] = {"model": "m", "gate": {"margin": 0.5, "kind": "rate"}}
    store.start("r", settings=before, inputs={"n": 1}).close()
    with pytest.raises(StoreError) as refusal:
        store.start("r", settings={"gate": {"margin": 1, "kind": "rate"}, "x": "y" * 99}, inputs={"n": 2})
    for part in ("gate.margin was 0.5, is now 1", "model was 'm', is now not set", "n was 1, is now 2", "another name"):
        assert part in str(refusal.value)
    assert "kind" not in str(refusal.value)
    assert "y" * 60 not in str(refusal.value)
    assert store.start("r", settings={"gate": {"kind": "rate", "margin": 0.5}, "model": "m"}, inputs={"n": 1})


def test_a_setting_that_cannot_be_written_down_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="settings"):
        store.start("r", settings={"languages": {"en", "is"}}, inputs={})


def test_a_failed_try_is_not_done_and_is_replaced_but_a_finished_one_is_not(store: Store) -> None:
    run = start(store)
    run.save(0, post_edited("s", "failed"))
    assert not run.done(0)
    run.save(0, post_edited("s"))
    assert run.done(0)
    with pytest.raises(StoreError, match=r"position 0 is finished already; segment 's' is not saved"):
        run.save(0, post_edited("s", "rejected"))
    assert list(run.chains()) == [post_edited("s")]


def test_so_it_is_with_ratings(store: Store) -> None:
    run = start(store, kind="rating")
    run.save_ratings(0, rated("0", error="down"))
    run.save_ratings(1, rated("1"))
    assert (run.done(0), run.done(1)) == (False, True)
    assert run.counts().model_dump(exclude_defaults=True) == {"done": 1, "rated": 1, "failed": 1}
    run.save_ratings(0, rated("0"))
    assert run.counts().model_dump(exclude_defaults=True) == {"done": 2, "rated": 2}
    with pytest.raises(StoreError, match="position 1 is finished already; segment '1' is not saved"):
        run.save_ratings(1, rated("1"))
    assert [rated.error for rated in run.ratings()] == [None, None]


def test_a_closed_run_refuses_to_be_written_to_until_it_is_opened_again(store: Store) -> None:
    run = start(store)
    run.finish()
    with pytest.raises(StoreError, match=r"'first'.*start it again"):
        run.save(0, post_edited("s"))
    with store.reopen("first") as again:
        again.save(0, post_edited("s"))
    assert run.done(0)


# --- lists


def test_segments_are_counted_by_what_became_of_them(store: Store) -> None:
    verdicts: list[Verdict] = ["kept", "kept", "unchanged", "rejected", "failed"]
    run = start(store, total=9)
    for position, verdict in enumerate(verdicts):
        run.save(position, post_edited(str(position), verdict, text="after" if verdict == "kept" else "before"))
    assert run.counts().model_dump() == {
        "done": 4, "changed": 2, "unchanged": 1, "rejected": 1, "rated": 0, "failed": 1,
        "failed_changed": 0, "total": 9,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "texts", "changed"),
    [
        ("before", {"rules": "after"}, 1),
        ("before", {"rules": "before"}, 0),
        (None, {"translate": "made", "rules": "made"}, 0),
        (None, {"translate": "made", "rules": "after"}, 1),
        (None, {}, 0),
    ],
)
def test_a_failed_segment_counts_as_changed_if_an_earlier_stage_changed_its_text(
    store: Store, given: str | None, texts: dict[Stage, str], changed: int
) -> None:
    run = start(store)
    segment = post_edited("s").segment.model_copy(update={"translation": given})
    steps = [Step(stage=stage, verdict="kept", text=text, cause="because") for stage, text in texts.items()]
    last = steps[-1].text if steps else given or ""
    failed = Step(stage="postedit", verdict="failed", text=last, cause="because")
    chain = Chain(segment=segment, steps=(*steps, failed))
    run.save(0, chain)
    assert chain.changed == bool(changed)
    assert (run.counts().failed, run.counts().failed_changed) == (1, changed)


def test_runs_are_listed_with_their_states_and_an_unknown_name_gets_a_hint(store: Store) -> None:
    start(store, "wmt-a").finish()
    start(store, "wmt-b").finish("stopped")
    start(store, "wmt-c").close()
    start(store, "wmt-d")
    states = {run.name: run.state for run in store.runs()}
    assert states == {"wmt-a": "finished", "wmt-b": "stopped", "wmt-c": "interrupted", "wmt-d": "running"}
    with pytest.raises(StoreError, match="did you mean 'wmt-a'"):
        store.run("wmt-aa")
    with pytest.raises(StoreError, match="mtagent runs list"):
        store.read("zzz")


def test_a_run_keeps_its_kind_and_another_kind_under_its_name_is_refused(store: Store) -> None:
    with start(store, "r", kind="rating"), start(store, "c"):
        assert [(run.name, run.kind) for run in store.runs()] == [("r", "rating"), ("c", "chain")]
    for name, kind in (("r", "chain"), ("c", "rating")):
        with pytest.raises(StoreError, match=rf"run '{name}': holds .*: choose another name"):
            start(store, name, kind=kind)
    start(store, "r", kind="rating").close()  # the refusal has let go of the lock


def test_the_newest_run_is_the_one_that_was_worked_on_last(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no rating run yet"):
        store.newest("rating")
    with start(store, "first", kind="rating"), start(store, "second", kind="rating"), start(store, "third"):
        assert store.newest("rating") == "second"
    with sql(tmp_path / "s.db") as connection:
        connection.execute("UPDATE runs SET updated = '2999' WHERE name = 'first'")
    assert store.newest("rating") == "first"


# --- several processes

HOLD = """
import sys
from mtagent.store import Store
store = Store(sys.argv[1])
run = store.start("first", settings={}, inputs={})
print("held", flush=True)
sys.stdin.read()
"""


def test_a_run_that_another_process_works_on_is_locked_until_that_process_is_killed(
    store: Store, tmp_path: Path
) -> None:
    with in_child(HOLD, tmp_path / "s.db") as child:
        assert next_line(child) == "held\n"
        with pytest.raises(RunLocked, match=rf"'first': process {child.pid} is working on it.*another name"):
            start(store)
        with pytest.raises(RunLocked):
            store.reopen("first")
        assert store.run("first").state == "running"
        start(store, "second").save(0, post_edited("s"))  # another run of the same store goes on
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert store.run("first").state == "interrupted"
        start(store).save(0, post_edited("s"))


def test_a_store_opened_by_another_name_meets_the_same_lock(store: Store, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    start(store)
    with Store(tmp_path / "link" / "s.db") as same, pytest.raises(RunLocked):
        start(same)


@pytest.mark.parametrize("place", [":memory:", "s.db"])
def test_a_run_cannot_be_started_twice_in_one_process(tmp_path: Path, place: str) -> None:
    with Store(place if place == ":memory:" else tmp_path / place) as store:
        with start(store), pytest.raises(RunLocked, match=str(os.getpid())):
            start(store)
        start(store)


SAVE = """
import sys
from tests.stored import start
from tests.test_store_runs import Store, large
run = start(Store(sys.argv[1]))
for position in range(100_000):
    run.save(position, large(position))
    print(position, flush=True)
"""


def large(position: int) -> Chain:
    edits = tuple(Edit(old=str(n), new="new" * 50, outcome="applied") for n in range(40))
    ratings = (Rating(evaluator="e", score=-1.0, errors=()),) * 5
    step = Step(stage="postedit", text="t" * 5000, edits=edits, ratings=ratings, verdict="kept", cause="r")
    segment = Segment(id=str(position), source="s" * 5000, source_lang="en", target_lang="is")
    return Chain(segment=segment, steps=(step, step))


def test_killing_the_writer_loses_nothing_that_was_saved_and_leaves_only_whole_segments(tmp_path: Path) -> None:
    with in_child(SAVE, tmp_path / "s.db") as child, Store(tmp_path / "s.db") as store:
        second = start(store, "second")
        for position in range(30):
            reported = int(next_line(child))
            second.save(position, post_edited(str(position)))  # two processes write to one store in turn
        child.send_signal(signal.SIGKILL)
    with Store(tmp_path / "s.db") as store:
        assert store.run("second").counts.done == 30
        chains = list(start(store).chains())
        assert len(chains) > reported
        assert chains == [large(position) for position in range(len(chains))]
    assert queried(tmp_path / "s.db", "PRAGMA integrity_check") == [("ok",)]


OPEN = """
import sys
from mtagent.store import Store
print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    store.start(sys.argv[2], settings={}, inputs={}).finish()
"""


def test_processes_that_open_a_new_store_at_the_same_moment_all_succeed(tmp_path: Path) -> None:
    children = [in_child(OPEN, tmp_path / "s.db", name) for name in "abcd"]
    assert [next_line(child) for child in children] == ["ready\n"] * 4
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate()[1] for child in children] == [""] * 4
    with Store(tmp_path / "s.db") as store:
        assert sorted(run.name for run in store.runs()) == ["a", "b", "c", "d"]


def test_saving_waits_while_another_process_writes(store: Store, tmp_path: Path) -> None:
    run = start(store)
    with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        ended = threading.Timer(0.2, other.execute, ["COMMIT"])
        ended.start()
        run.save(0, post_edited("s"))
        ended.join()
    assert run.done(0)
