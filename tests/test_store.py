"""The store: what is saved comes back, a killed or resumed run loses nothing, and refusals say what to do."""

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.errors import RunLocked, StoreError
from mtagent.records import (
    Call,
    Cause,
    Chain,
    Completion,
    Edit,
    ErrorSpan,
    Judgement,
    Message,
    Rated,
    Rating,
    Segment,
    Step,
    Term,
    TokenLogprob,
    ToolCall,
    Usage,
)
from mtagent.store import Run, Store, default_path, rescue
from mtagent.store.database import MIGRATIONS, migrate, version

ROOT = Path(__file__).parent.parent
ODD = [
    "",
    "None",
    "null",
    "NaN",
    "a\x00b",
    "\x00",
    "e\u0301",
    "\u00a0",
    "👩‍👩‍👧",
    "\U0010ffff",
    "'; DROP TABLE runs; --",
    "[]",
    "1e999",
]

text = st.sampled_from(ODD) | st.text(max_size=20)  # lone surrogates are not drawn: Hypothesis' default
maybe = st.none() | text
number = st.floats(allow_nan=False, allow_infinity=False)
count = st.integers(0, 2**53)
severity = st.sampled_from(["neutral", "minor", "major", "critical"])
usage = st.builds(
    Usage, calls=count, reused=count, input_tokens=count, cached_tokens=count, output_tokens=count,
    reasoning_tokens=count, cost=st.none() | number,
)  # fmt: skip


def tuples(of: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(of, max_size=2).map(tuple)


tool_call = st.builds(ToolCall, id=text, name=text, arguments=text)
roles = st.sampled_from(["system", "user", "assistant", "tool"])
message = st.builds(Message, role=roles, content=text, tool_calls=tuples(tool_call), tool_call_id=maybe)

call = st.builds(
    Call, purpose=text, model=text, messages=tuples(message), reply=maybe, tool_calls=tuples(tool_call), usage=usage,
    seconds=number, error=maybe,
)  # fmt: skip
offsets = st.none() | st.tuples(count, count).map(sorted)


@st.composite
def span(draw: st.DrawFn) -> ErrorSpan:
    start, end = draw(offsets) or (None, None)
    fields = {name: draw(maybe) for name in ("suggestion", "explanation", "before", "after")}
    side = draw(st.sampled_from(["translation", "source", "omission"]))
    penalty = draw(st.none() | number)
    of = {"text": draw(text), "category": draw(text), "severity": draw(severity)}
    return ErrorSpan(**of, start=start, end=end, side=side, penalty=penalty, **fields)


outcome = st.sampled_from(["applied", "not-found", "ambiguous", "overlapping", "refused", "rejected", "reverted"])
edit = st.builds(
    Edit, old=text, new=text, outcome=outcome, start=st.none() | count, end=st.none() | count,
    span=st.none() | span(), detail=maybe, guards=tuples(text),
)  # fmt: skip
rating = st.builds(
    Rating, evaluator=text, role=st.none() | st.sampled_from(["editor", "before", "after"]), score=number,
    errors=st.none() | tuples(span()), explanation=maybe, calls=tuples(call), signature=text, correction=maybe,
    confidence=st.none() | number, gaps=tuples(text), warnings=tuples(text), seconds=number,
)  # fmt: skip
choice = st.sampled_from(["before", "after", "tie"])
judgement = st.builds(
    Judgement, judge=text, before=st.none() | number, after=st.none() | number, choices=tuples(choice)
)
cause = st.builds(
    Cause, kind=st.sampled_from(["blank", "error-free", "guards", "lines", "other"]), guards=tuples(text),
    judgements=tuples(judgement), margin=st.none() | number, by=maybe, error=maybe, detail=maybe,
)  # fmt: skip
step = st.builds(
    Step, stage=st.sampled_from(["translate", "postedit", "proofread"]), text=text, proposed=maybe, edits=tuples(edit),
    ratings=tuples(rating), calls=tuples(call), verdict=st.sampled_from(["kept", "unchanged", "rejected", "failed"]),
    cause=cause, seconds=number,
)  # fmt: skip
term = st.builds(Term, source=text.filter(bool), target=maybe, forbidden=st.booleans(), case_sensitive=st.booleans())
segment = st.builds(
    Segment, id=text, source=text, source_lang=text, target_lang=text, translation=maybe, reference=maybe,
    document=maybe, domain=maybe, context=maybe, notes=maybe, terms=tuples(term),
)  # fmt: skip
chain = st.builds(Chain, segment=segment, steps=tuples(step))


def example(name: str, verdict: str = "kept", after: str = "after", calls: tuple[Call, ...] = ()) -> Chain:
    given = Segment(id=name, source="source", source_lang="en", target_lang="is", translation="before")
    step = Step(stage="postedit", text=after, verdict=verdict, cause="because", calls=calls)
    return Chain(segment=given, steps=(step,))


def start(store: Store, name: str = "first", **more: object) -> Run:
    return store.start(name, settings={}, inputs={}, **more)


def in_child(script: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        **options,
    )  # fmt: skip


# Round trips


@given(st.lists(chain, max_size=3), st.randoms())
@settings(max_examples=60, deadline=None)
def test_chains_come_back_exactly_as_they_were_saved_and_in_order_of_position(chains, random):
    with Store(":memory:") as store:
        run = start(store)
        order = list(enumerate(chains))
        random.shuffle(order)
        for position, one in order:
            run.save(position, one)
        assert list(run.chains()) == chains


def test_not_rated_and_rated_error_free_stay_apart():
    ratings = tuple(Rating(evaluator="e", score=0, errors=errors) for errors in (None, ()))
    saved = example("s")
    saved = saved.model_copy(update={"steps": (saved.steps[0].model_copy(update={"ratings": ratings}),)})
    with Store(":memory:") as store:
        run = start(store)
        run.save(0, saved)
        assert [rating.errors for rating in run.chain("s")[1].steps[0].ratings] == [None, ()]


def test_all_steps_of_a_segment_are_kept_not_only_the_last_text():
    steps = tuple(
        Step(stage=stage, text=stage, proposed="p", verdict="kept", cause="r")
        for stage in ("translate", "postedit", "proofread")
    )
    saved = Chain(segment=Segment(id="s", source="x", source_lang="en", target_lang="is"), steps=steps)
    with Store(":memory:") as store:
        run = start(store)
        run.save(0, saved)
        assert [step.text for step in run.chain("s")[1].steps] == ["translate", "postedit", "proofread"]


def test_more_chains_than_a_page_are_read_in_order(tmp_path):
    with Store(tmp_path / "s.db") as store:
        run = start(store)
        for position in reversed(range(0, 404, 2)):
            run.save(position, example(str(position)))
        assert [one.segment.id for one in run.chains()] == [str(position) for position in range(0, 404, 2)]


def test_a_chain_is_found_by_the_id_of_its_segment():
    with Store(":memory:") as store:
        run = start(store)
        for position, name in enumerate(["a", "b", "b"]):
            run.save(position, example(name))
        assert run.chain("a") == (0, example("a"))
        with pytest.raises(StoreError, match=r"no segment 'c'"):
            run.chain("c")
        with pytest.raises(StoreError, match=r"several segments are called 'b', at positions 1, 2"):
            run.chain("b")


def test_texts_like_none_and_null_stay_texts_and_a_missing_domain_stays_missing():
    given = Segment(
        id="s", source="None", source_lang="en", target_lang="is", translation="null", context="NA", notes=""
    )
    with Store(":memory:") as store:
        run = start(store)
        run.save(0, Chain(segment=given))
        assert run.chain("s")[1].segment == given
        assert run.chain("s")[1].segment.domain is None


def test_a_lone_surrogate_is_refused_by_the_name_of_its_segment_and_nothing_else_is_lost():
    with Store(":memory:") as store:
        run = start(store)
        run.save(0, example("good"))
        with pytest.raises(StoreError, match=r"segment 'bad': .*U\+D800 at offset 2"):
            run.save(1, example("bad", after="ab\ud800"))
        message = Message(role="user", content="\udfff")
        with pytest.raises(StoreError, match=r"segment 'bad'.*U\+DFFF"):
            run.save(1, example("bad", calls=(Call(purpose="p", model="m", messages=(message,)),)))
        run.save(2, example("next"))
        assert [one.segment.id for one in run.chains()] == ["good", "next"]


@pytest.mark.parametrize("wrong", [{"score": float("nan")}, {"score": 1.0, "signature": "\ud800"}])
def test_a_score_that_is_not_a_number_is_refused_and_not_stored_as_missing(wrong):
    rating = Rating(evaluator="e", **wrong)
    saved = example("bad")
    saved = saved.model_copy(update={"steps": (saved.steps[0].model_copy(update={"ratings": (rating,)}),)})
    with Store(":memory:") as store:
        run = start(store)
        with pytest.raises(StoreError, match="segment 'bad'"):
            run.save(0, saved)
        assert not run.done(0)


def test_an_offset_beyond_64_bits_is_refused_by_the_name_of_its_segment():
    edit = Edit(old="a", new="b", outcome="applied", start=2**70, end=2**70)
    saved = example("bad")
    saved = saved.model_copy(update={"steps": (saved.steps[0].model_copy(update={"edits": (edit,)}),)})
    with Store(":memory:") as store, pytest.raises(StoreError, match=r"segment 'bad'.*too large"):
        start(store).save(0, saved)


# Resuming


def test_a_started_run_is_taken_up_again_with_what_it_has(tmp_path):
    given = {"model": "m", "gate": {"margin": 0.5}, "path": Path("x"), "stages": ("postedit",)}
    with Store(tmp_path / "s.db") as store:
        store.start("r", settings=given, inputs={"file": "a"}).save(4, example("s"))
    with Store(tmp_path / "s.db") as store:
        run = store.start("r", settings=given, inputs={"file": "a"})
        assert run.done(4)
        assert not run.done(3)


def test_other_settings_or_inputs_are_refused_and_named(tmp_path):
    with Store(tmp_path / "s.db") as store:
        store.start("r", settings={"model": "m", "gate": {"margin": 0.5, "kind": "rate"}}, inputs={"n": 1}).close()
        with pytest.raises(StoreError) as refusal:
            store.start("r", settings={"gate": {"margin": 1, "kind": "rate"}, "x": "y" * 99}, inputs={"n": 2})
        said = str(refusal.value)
        for part in ("gate.margin was 0.5, is now 1", "model was 'm', is now not set", "n was 1, is now 2", "--name"):
            assert part in said
        assert "kind" not in said
        assert "y" * 60 not in said
        assert store.start("r", settings={"model": "m", "gate": {"kind": "rate", "margin": 0.5}}, inputs={"n": 1})


def test_a_setting_that_cannot_be_written_down_is_refused():
    with Store(":memory:") as store, pytest.raises(StoreError, match="settings"):
        store.start("r", settings={"languages": {"en", "is"}}, inputs={})


def test_a_failed_try_is_not_done_and_is_replaced_but_a_finished_one_is_not():
    with Store(":memory:") as store:
        run = start(store)
        run.save(0, example("s", "failed"))
        assert not run.done(0)
        run.save(0, example("s", "kept"))
        assert run.done(0)
        with pytest.raises(StoreError, match=r"position 0 is finished already; segment 's' is not saved"):
            run.save(0, example("s", "rejected"))
        assert list(run.chains()) == [example("s", "kept")]


def test_replacing_takes_away_all_rows_of_the_former_chain():
    edits = tuple(Edit(old=old, new="", outcome="applied") for old in "abc")
    former = example("s")
    former = former.model_copy(update={"steps": (former.steps[0].model_copy(update={"edits": edits}),) * 2})
    with Store(":memory:") as store:
        run = start(store)
        run.save(0, former)
        run.replace(0, example("s"))
        assert run.chain("s") == (0, example("s"))
        assert store.database.query("SELECT count(*) FROM edits") == [(0,)]
        with pytest.raises(StoreError, match="nothing at position 1"):
            run.replace(1, example("s"))


def test_segments_are_counted_by_what_became_of_them():
    with Store(":memory:") as store:
        run = start(store, total=9)
        for position, (verdict, after) in enumerate(
            [
                ("kept", "after"),
                ("kept", "after"),
                ("unchanged", "before"),
                ("rejected", "before"),
                ("failed", "before"),
            ]
        ):
            run.save(position, example(str(position), verdict, after))
        counts = run.counts()
        assert counts.model_dump() == {
            "done": 4, "changed": 2, "unchanged": 1, "rejected": 1, "rated": 0, "failed": 1, "total": 9
        }  # fmt: skip


def test_runs_are_listed_with_their_states_and_an_unknown_name_gets_a_hint(tmp_path):
    with Store(tmp_path / "s.db") as store:
        start(store, "wmt-a").finish()
        start(store, "wmt-b").finish("stopped")
        start(store, "wmt-c").close()
        start(store, "wmt-d")
        states = {run.name: run.state for run in store.runs()}
        assert states == {"wmt-a": "finished", "wmt-b": "stopped", "wmt-c": "interrupted", "wmt-d": "running"}
        assert store.run("wmt-a").settings == {}
        with pytest.raises(StoreError, match="did you mean 'wmt-a'"):
            store.run("wmt-aa")
        with pytest.raises(StoreError, match="mtagent runs list"):
            store.read("zzz")


def test_a_closed_run_refuses_to_be_written_to(tmp_path):
    with Store(tmp_path / "s.db") as store:
        run = start(store)
        run.finish()
        with pytest.raises(StoreError, match=r"'first'.*start it again"):
            run.save(0, example("s"))
        with store.reopen("first") as again:
            again.save(0, example("s"))
        assert run.done(0)


# Several processes

HOLD = """
import sys
from mtagent.store import Store
store = Store(sys.argv[1])
run = store.start("first", settings={}, inputs={})
print("held", flush=True)
sys.stdin.read()
"""


def test_a_run_that_another_process_works_on_is_locked_until_that_process_is_killed(tmp_path):
    child = in_child(HOLD, tmp_path / "s.db")
    with child, Store(tmp_path / "s.db") as store:
        assert child.stdout.readline() == "held\n"
        with pytest.raises(RunLocked, match=rf"'first': process {child.pid} is working on it.*--name"):
            start(store)
        with pytest.raises(RunLocked):
            store.reopen("first")
        assert store.run("first").state == "running"
        start(store, "second").save(0, example("s"))  # another run of the same store goes on
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert store.run("first").state == "interrupted"
        start(store).save(0, example("s"))


def test_a_store_opened_by_another_name_meets_the_same_lock(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    with Store(tmp_path / "s.db") as store, Store(tmp_path / "link" / "s.db") as same:
        start(store)
        with pytest.raises(RunLocked):
            start(same)


@pytest.mark.parametrize("place", [":memory:", "s.db"])
def test_a_run_cannot_be_started_twice_in_one_process(tmp_path, place):
    with Store(place if place == ":memory:" else tmp_path / place) as store:
        run = start(store)
        with pytest.raises(RunLocked, match=str(os.getpid())):
            start(store)
        run.close()
        start(store)


SAVE = """
import sys
sys.path.insert(0, sys.argv[2])
from test_store import Store, big_chain
run = Store(sys.argv[1]).start("first", settings={}, inputs={})
for position in range(100_000):
    run.save(position, big_chain(position))
    print(position, flush=True)
"""


def big_chain(position: int) -> Chain:
    edits = tuple(Edit(old=str(n), new="new" * 50, outcome="applied") for n in range(40))
    ratings = (Rating(evaluator="e", score=-1.0, errors=()),) * 5
    step = Step(stage="postedit", text="t" * 5000, edits=edits, ratings=ratings, verdict="kept", cause="r")
    given = Segment(id=str(position), source="s" * 5000, source_lang="en", target_lang="is")
    return Chain(segment=given, steps=(step, step))


def test_killing_the_writer_loses_nothing_that_was_saved_and_leaves_only_whole_segments(tmp_path):
    with in_child(SAVE, tmp_path / "s.db", Path(__file__).parent) as child, Store(tmp_path / "s.db") as store:
        second = start(store, "second")
        for position in range(30):
            reported = int(child.stdout.readline())
            second.save(position, example(str(position)))  # two processes write to one store in turn
        child.send_signal(signal.SIGKILL)
    with Store(tmp_path / "s.db") as store:
        assert store.run("second").counts.done == 30
        chains = list(start(store).chains())
        assert len(chains) > reported
        assert chains == [big_chain(position) for position in range(len(chains))]
        assert store.database.query("PRAGMA integrity_check") == [("ok",)]


def save_up_to(end: int, run: Run) -> None:
    for position in range(end):
        if not run.done(position):
            run.save(position, big_chain(position))


OPEN = """
import sys
from mtagent.store import Store
print("ready", flush=True)
sys.stdin.readline()
with Store(sys.argv[1]) as store:
    run = store.start(sys.argv[2], settings={}, inputs={})
    run.finish()
"""


def test_processes_that_open_a_new_store_at_the_same_moment_all_succeed(tmp_path):
    children = [in_child(OPEN, tmp_path / "s.db", name) for name in "abcd"]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate()[1] for child in children] == [""] * 4
    with Store(tmp_path / "s.db") as store:
        assert sorted(run.name for run in store.runs()) == ["a", "b", "c", "d"]


def test_saving_waits_while_another_process_writes(tmp_path):
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None, check_same_thread=False)
    with Store(tmp_path / "s.db") as store:
        run = start(store)
        other.execute("BEGIN IMMEDIATE")
        ended = threading.Timer(0.2, other.execute, ["COMMIT"])
        ended.start()
        run.save(0, example("s"))
        assert run.done(0)
        ended.join()
    other.close()


def test_a_run_is_read_while_it_goes_on(tmp_path):
    with Store(tmp_path / "s.db") as writer, Store(tmp_path / "s.db") as reader:
        run = start(writer)
        for position in range(60):
            run.save(position, example(str(position)))
        chains = reader.read("first").chains()
        assert next(chains) == example("0")
        run.save(60, example("60"))
        assert len(list(chains)) == 60
        assert reader.run("first").counts.done == 61


# Refusals


def test_a_place_without_a_folder_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "s.db", tmp_path):
        with pytest.raises(StoreError, match=r"--store PATH") as refusal:
            Store(place)
        assert str(place) in str(refusal.value)


READ_ONLY = """
import os, sys
from mtagent.errors import StoreError
from mtagent.store import Store
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    store = Store(sys.argv[1])
    print([run.name for run in store.runs()])
    store.start("more", settings={}, inputs={})
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("exists", [False, True])
def test_a_read_only_folder_is_refused_with_the_way_out_and_a_store_in_it_can_be_read(exists):
    with TemporaryDirectory() as folder:  # not tmp_path: the child, which is not root, could not enter its parents
        place = Path(folder) / "s.db"
        if exists:
            with Store(place) as store:
                start(store).close()
            place.chmod(0o444)
        Path(folder).chmod(0o555)
        said, errors = in_child(READ_ONLY, place).communicate()
        Path(folder).chmod(0o755)
    assert errors == ""
    assert said.startswith("['first']\n" * exists + str(place))
    assert "--store PATH" in said


def test_a_file_that_is_no_database_is_refused_and_left_untouched(tmp_path):
    place = tmp_path / "notes.txt"
    place.write_bytes(b"my precious notes\n" * 999)
    with pytest.raises(StoreError, match=r"notes.txt: is not a SQLite database.*--store PATH"):
        Store(place)
    assert place.read_bytes() == b"my precious notes\n" * 999
    assert list(tmp_path.iterdir()) == [place]


def test_a_database_of_another_program_is_refused_and_left_untouched(tmp_path):
    place = tmp_path / "other.db"
    with sqlite3.connect(place) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    before = place.read_bytes()
    with pytest.raises(StoreError, match=r"other.db: is a database of another program"):
        Store(place)
    assert place.read_bytes() == before


def test_a_store_of_a_newer_version_is_refused_and_left_untouched(tmp_path):
    place = tmp_path / "s.db"
    Store(place).close()
    with sqlite3.connect(place) as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()
    before = place.read_bytes()
    with pytest.raises(StoreError, match=r"newer mtagent \(store version 99.*pip install -U mtagent.*--store PATH"):
        Store(place)
    assert place.read_bytes() == before


def test_a_damaged_store_says_so(tmp_path):
    place = tmp_path / "s.db"
    with Store(place) as store:
        save_up_to(50, start(store))
    content = bytearray(place.read_bytes())
    content[8192:-4096] = b"\xff" * (len(content) - 12288)
    place.write_bytes(content)
    with (
        pytest.raises(StoreError, match=r"is damaged .*; restore a copy of it, or save what is whole"),
        Store(place) as store,
    ):
        list(start(store).chains())


def test_a_run_whose_lock_file_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "s.db.run-1.lock").mkdir()
    with Store(tmp_path / "s.db") as store, pytest.raises(StoreError, match="cannot lock run 'first'"):
        start(store)


def test_a_full_disk_is_an_error_that_keeps_all_that_was_saved_readable(tmp_path):
    with Store(tmp_path / "s.db") as store:
        run = start(store)
        save_up_to(1, run)
        (pages,) = store.database.query("PRAGMA page_count")[0]
        store.database.query(f"PRAGMA max_page_count = {pages + 20}")
        with pytest.raises(StoreError, match=r"the disk is full; free some space, or .*--store PATH"):
            save_up_to(50, run)
        saved = list(run.chains())
        assert saved == [big_chain(number) for number in range(len(saved))]
        assert store.database.query("PRAGMA integrity_check") == [("ok",)]
        store.database.query("PRAGMA max_page_count = 100000")
        run.save(len(saved), big_chain(len(saved)))
        assert len(list(run.chains())) == len(saved) + 1


def test_a_full_disk_refuses_a_call_whole(tmp_path):
    with Store(tmp_path / "s.db") as store:
        run = start(store)
        (pages,) = store.database.query("PRAGMA page_count")[0]
        store.database.query(f"PRAGMA max_page_count = {pages}")
        reply = Completion(text="x" * 9000, model="m", usage=Usage(calls=1))
        with pytest.raises(StoreError, match="the disk is full"):
            store.record_call(run.id, "s", "p", "k", Call(purpose="p", model="m"), reply)
        assert store.recall(run.id, "s", "k") is None
        assert store.database.query("SELECT count(*) FROM texts") == [(0,)]


def test_using_a_closed_store_is_an_error_of_the_store(tmp_path):
    store = Store(tmp_path / "s.db")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.runs()


# Calls


def paid(reply: str = "reply", **more: object) -> tuple[Call, Completion]:
    used = Usage(calls=1, input_tokens=7, cached_tokens=1, output_tokens=5, reasoning_tokens=2, cost=0.25)
    answer = Completion(**{"text": reply, "model": "m-2025", "usage": used, **more})
    messages = (Message(role="system", content="constant"), Message(role="user", content=f"about {reply}"))
    return Call(purpose="p", model="m", messages=messages, reply=answer.text, usage=answer.usage), answer


logprobs = tuples(st.builds(TokenLogprob, token=text, logprob=st.floats(allow_nan=False)))


@given(text, text, st.none() | logprobs, usage, tuples(tool_call))
@settings(max_examples=60, deadline=None)
def test_a_reply_comes_back_exactly_as_it_was_recorded(reply, finish_reason, logprobs, used, tool_calls):
    used = used.model_copy(update={"reused": 0})
    made, answer = paid(reply, finish_reason=finish_reason, logprobs=logprobs, usage=used, tool_calls=tool_calls)
    with Store(":memory:") as store:
        run = start(store)
        store.record_call(run.id, "s", "p", "k", made, answer)
        run.close()
        assert store.recall(run.id, "other", "k") == answer.model_copy(update={"usage": Usage(reused=1)})
        assert store.recall(run.id, "s", "k2") is None


def test_a_run_has_paid_for_its_failed_calls_and_not_for_those_of_another_run():
    made, answer = paid()
    with Store(":memory:") as store:
        first, second = start(store), start(store, "second")
        store.record_call(first.id, "s", "p", "k", made, answer)
        store.record_call(first.id, "s", "p", "k2", made.model_copy(update={"error": "cut off"}), None)
        store.record_call(second.id, "s", "p", "k3", made, answer)
        assert first.usage() == answer.usage + answer.usage
        assert second.usage() == answer.usage
        assert start(store, "third").usage() == Usage()


def test_an_unknown_price_stays_unknown_in_the_sum_of_a_run():
    made, answer = paid()
    free = made.model_copy(update={"usage": Usage(calls=1, input_tokens=1, cost=None)})
    with Store(":memory:") as store:
        run = start(store)
        store.record_call(run.id, "s", "p", "k", made, answer)
        store.record_call(run.id, "s", "p", "k2", free, answer)
        assert run.usage() == answer.usage + free.usage
        assert run.usage().cost is None


SEARCH = ToolCall(id="1", name="search", arguments='{"query": "æ"}')
FINISH = ToolCall(id="2", name="finish", arguments="{}")


def test_the_dialogue_shows_tool_calls_and_what_they_gave_back():
    sent = (
        Message(role="user", content="Rate."),
        Message(role="assistant", content="First,", tool_calls=(SEARCH, FINISH)),
        Message(role="tool", content="found", tool_call_id="1"),
    )
    _, answer = paid("", tool_calls=(FINISH,))
    made = Call(purpose="p", model="m", messages=sent, reply="", tool_calls=(FINISH,), usage=answer.usage)
    with Store(":memory:") as store:
        run = start(store)
        store.record_call(run.id, "s", "p", "k", made, answer)
        assert store.database.query("SELECT role, text FROM dialogue ORDER BY turn") == [
            ("user", "Rate."),
            ("assistant", 'First,\nsearch({"query": "æ"})\nfinish({})'),
            ("tool", "found"),
            ("reply", "finish({})"),
        ]


def test_only_the_reply_with_the_tool_calls_that_failed_is_distrusted():
    with Store(":memory:") as store:
        run = start(store)
        for key, wish in (("k1", SEARCH), ("k2", FINISH)):
            made, answer = paid("", tool_calls=(wish,))
            store.record_call(run.id, "s", "p", key, made, answer)
        failed = made.model_copy(update={"tool_calls": (SEARCH,), "error": "no such tool"})
        run.save(0, example("s", "failed", calls=(failed,)))
        assert store.recall(run.id, "s", "k1") is None
        assert store.recall(run.id, "s", "k2").tool_calls == (FINISH,)


def test_a_constant_prompt_is_stored_once():
    with Store(":memory:") as store:
        run = start(store)
        for name in "abc":
            made, answer = paid(name)
            store.record_call(run.id, name, "p", name, made, answer)
            run.save(ord(name), example(name, calls=(made,)))
        assert store.database.query("SELECT count(*) FROM texts WHERE text = 'constant'") == [(1,)]
        assert store.database.query("SELECT count(*) FROM texts") == [(7,)]


# Migrations


def test_a_store_of_version_1_is_brought_up_to_date_with_all_its_content(tmp_path):
    place = tmp_path / "old.db"
    with sqlite3.connect(place) as old:
        old.executescript((Path(__file__).parent / "data" / "store_v1.sql").read_text())
    old.close()
    with Store(place) as store:
        assert version(store.database.connection) == len(MIGRATIONS) > 2
        run = start(store, "old")
        made, _ = paid("old reply")
        step = Step(
            stage="postedit", text="after", proposed="after", verdict="kept", cause="better", seconds=1.5,
            calls=(made,), edits=(Edit(old="before", new="after", outcome="applied", start=0, end=6),),
            ratings=(Rating(evaluator="rules", role="editor", score=-1, errors=(), signature="sig"),),
        )  # fmt: skip
        given = Segment(id="s1", source="source", source_lang="en", target_lang="is", translation="before")
        assert list(run.chains()) == [Chain(segment=given, steps=(step,))]
        assert run.usage() == made.usage
        old = store.recall(run.id, "new", "key-1")
        assert (old.text, old.tool_calls) == ("old reply", ())
        assert store.database.query("SELECT role, text FROM dialogue ORDER BY call, turn") == [
            ("system", "constant"), ("user", "about old reply"), ("reply", "old reply")
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "sentence", "cause"),
    [
        ("kept", "translated by llm", Cause(kind="translated", by="llm")),
        ("kept", "translated by m, which lost: tags: <b> is missing", Cause(
            kind="translated", by="m", guards=("tags",), detail="tags: <b> is missing")),
        ("unchanged", "no error found", Cause(kind="error-free")),
        ("unchanged", "no edit could be made: not-found 'x'", Cause(kind="unplaced", detail="not-found 'x'")),
        ("rejected", "guards: numbers: 5 is missing; tags: <b> is missing", Cause(
            kind="guards", guards=("numbers", "tags"), detail="numbers: 5 is missing; tags: <b> is missing")),
        ("rejected", "gate: judge: fun -3 -> -4.5: worse", Cause(
            kind="scores", judgements=(Judgement(judge="judge: fun", before=-3, after=-4.5),))),
        ("kept", "judge -3 -> 0: better", Cause(
            kind="scores", judgements=(Judgement(judge="judge", before=-3, after=0),))),
        ("rejected", "gate: judge -3 -> -2: below the margin", Cause(
            kind="scores", judgements=(Judgement(judge="judge", before=-3, after=-2),), margin=None)),
        ("rejected", "gate: compared in both orders by gpt (compare@1): before, tie", Cause(
            kind="choices", judgements=(Judgement(judge="gpt (compare@1)", choices=("before", "tie")),))),
        ("failed", "KeyError: 'x'", Cause(kind="error", error="KeyError", detail="'x'")),
        ("rejected", "gate: whatever a plugin said", Cause(kind="other", detail="whatever a plugin said")),
    ],
)  # fmt: skip
def test_the_causes_of_former_versions_become_data(tmp_path, verdict, sentence, cause):
    place = tmp_path / "old.db"
    with sqlite3.connect(place) as old:
        old.executescript((Path(__file__).parent / "data" / "store_v1.sql").read_text())
        old.execute("UPDATE steps SET verdict = ?, reason = ?", (verdict, sentence))
    old.close()
    with Store(place) as store:
        (chain,) = store.read("old").chains()
        assert chain.steps[0].cause == cause


def test_a_migration_that_fails_changes_nothing():
    half = ["CREATE TABLE half (a)"] * 2
    connection = sqlite3.connect(":memory:", isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, [*MIGRATIONS, half])
    assert version(connection) == 0
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()


# Size


def test_memory_does_not_grow_with_the_number_of_segments(tmp_path):
    with Store(tmp_path / "s.db") as store:
        run = start(store)
        saving, reading = [], []
        for first, last in ((0, 200), (200, 1200)):
            tracemalloc.start()
            for position in range(first, last):
                made, answer = paid(str(position))
                store.record_call(run.id, str(position), "p", str(position), made, answer)
                run.save(position, example(str(position), calls=(made,)))
            saving.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            tracemalloc.start()
            assert sum(1 for _ in run.chains()) == last
            reading.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert saving[1] < saving[0] * 1.5
        assert reading[1] < reading[0] * 1.5


# Places


def test_the_store_is_where_the_environment_says_or_in_the_data_folder_of_the_user(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("MTAGENT_STORE", raising=False)
    assert default_path() == Path("/home/someone/.local/share/mtagent/store.db")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_path() == Path("/data/mtagent/store.db")
    monkeypatch.setenv("MTAGENT_STORE", "~/here.db")
    assert default_path() == Path("/home/someone/here.db")
    monkeypatch.setenv("MTAGENT_STORE", "")
    assert default_path() == Path("/data/mtagent/store.db")


def test_the_folder_of_a_new_store_is_made(tmp_path):
    Store(tmp_path / "a" / "b" / "s.db").close()
    assert (tmp_path / "a" / "b" / "s.db").is_file()


# The page for SQL users


def test_the_queries_of_the_page_run_and_its_tables_are_all_described(tmp_path):
    page = (ROOT / "docs" / "runs.md").read_text()
    queries = [block.split("```")[0] for block in page.split("```sql\n")[1:]]
    assert len(queries) >= 2
    made, answer = paid()
    span = ErrorSpan(text="before", category="accuracy/mistranslation", severity="major")
    edits = (Edit(old="before", new="after", outcome="applied", start=0, end=6, span=span),)
    saved = example("s", calls=(made,))
    saved = saved.model_copy(update={"steps": (saved.steps[0].model_copy(update={"edits": edits}),)})
    with Store(tmp_path / "s.db") as store:
        run = start(store, "my-run")
        store.record_call(run.id, "s", "p", "k", made, answer)
        run.save(0, saved)
        start(store, "my-ratings", kind="rating").save_ratings(
            0, [Rated(segment=saved.segment, system="a", translation="")]
        )
        assert all(store.database.query(query) for query in queries)
        for (name,) in store.database.query("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"):
            described = page.split(f"#### {name}\n")[1].split("\n#### ")[0]
            for column in store.database.connection.execute(f"SELECT * FROM {name} LIMIT 0").description:
                assert f"`{column[0]}`" in described, (name, column[0])


def readings(place):
    """Everything that is in a store, as the commands read it."""
    with Store(place) as store:
        for found in store.runs():
            run = store.read(found.name)
            list(run.chains())
            list(run.ratings())
            run.each_usage()
            run.systems()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """The bytes of a store with a run of chains, with calls, and one of ratings."""
    place = tmp_path_factory.mktemp("filled") / "s.db"
    with Store(place) as store:
        save_up_to(30, start(store))
        store.record_call(1, "0", "rate", "key", a_call(), Completion(text="Hola.", model="m", finish_reason="stop"))
    return place.read_bytes()


def a_call():
    return Call(purpose="rate", model="m", messages=(Message(role="user", content="Hello?"),), reply="Hola.")


@pytest.mark.parametrize("seed", range(40))
def test_damage_anywhere_in_a_store_ends_in_one_line_that_names_it_or_does_no_harm(filled, tmp_path, seed):
    draw = random.Random(seed)
    content = bytearray(filled)
    at = draw.randrange(100, len(content) - 600)
    size = draw.choice([1, 40, 600])
    content[at : at + size] = draw.randbytes(size)
    place = tmp_path / "s.db"
    place.write_bytes(content)
    said = f"{place}: all is well"
    try:
        readings(place)
    except StoreError as error:
        said = str(error)
    assert said.startswith(f"{place}: ")
    assert "\n" not in said


def test_a_value_that_cannot_be_is_named_with_the_run_and_the_way_to_save_the_rest(filled, tmp_path):
    place = tmp_path / "s.db"
    place.write_bytes(filled)
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE steps SET calls = substr(calls, 3) WHERE position = 7")
    connection.close()
    with pytest.raises(StoreError) as error:
        readings(place)
    assert re.search(r"s\.db: is damaged, at run 'first' \(JSONDecodeError.*\); restore a copy", str(error.value))
    assert str(error.value).endswith(f"mtagent runs rescue NEW.db --store {place}")


@pytest.mark.parametrize(
    ("damage", "reading"),
    [
        ("UPDATE runs SET settings = '-7'", start),
        ("UPDATE runs SET settings = '-7'", lambda store: store.settings("first")),
        ("UPDATE runs SET inputs = '-7'", start),
        ("UPDATE runs SET kind = x'ff'", start),
        ("UPDATE runs SET kind = x'ff'", lambda store: store.read("first").kind),
        ("UPDATE runs SET name = x'ff'", lambda store: store.read("firsst").kind),
        ("UPDATE calls SET model = x'ff'", lambda store: store.read("first").each_usage()),
        ("UPDATE calls SET model = x'ff'", lambda store: store.read("first").usages()),
        ("PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = CAST(x'ff' AS TEXT)", start),
    ],
)
def test_a_damaged_value_that_any_command_reads_first_is_named_too(filled, tmp_path, damage, reading):
    place = tmp_path / "s.db"
    place.write_bytes(filled)
    with sqlite3.connect(place) as connection:
        connection.executescript(damage)
    connection.close()
    with pytest.raises(StoreError) as error, Store(place) as store:
        reading(store)
    assert str(error.value).startswith(f"{place}: ")


def test_a_run_whose_row_is_not_there_for_every_reader_is_damaged(filled, tmp_path):
    """A page of a table is lost, and that of its index is not."""
    place = tmp_path / "s.db"
    with sqlite3.connect(":memory:") as connection:
        connection.deserialize(filled[:18] + b"\x01\x01" + filled[20:])
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()
    connection.close()
    empty_leaf = b"\x0d\x00\x00\x00\x00\x10\x00\x00" + bytes(4088)
    place.write_bytes(filled[: 4096 * (root - 1)] + empty_leaf + filled[4096 * root :])
    with Store(place) as store, pytest.raises(StoreError, match=r"is damaged.* mtagent runs rescue NEW\.db --store"):
        assert store.read("first").kind


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """The bytes of a store with a run of 600 segments."""
    place = tmp_path_factory.mktemp("long") / "s.db"
    with Store(place) as store:
        run = start(store, total=600)
        for position in range(600):
            run.save(position, numbered_chain(position))
    return place.read_bytes()


def numbered_chain(position):
    edits = tuple(Edit(old=f"{position}.{n}", new="new" * 20, outcome="applied") for n in range(3))
    step = Step(stage="postedit", text=f"t{position}" * 30, edits=edits, verdict="kept", cause="r", calls=(a_call(),))
    return Chain(segment=Segment(id=str(position), source="s", source_lang="en", target_lang="is"), steps=(step, step))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_whole_in_a_damaged_store_can_be_saved_and_the_rest_is_done_again(long, tmp_path, seed):
    content, draw = bytearray(long), random.Random(seed)
    page = draw.randrange(30, len(content) // 4096 - 1)
    content[4096 * page : 4096 * (page + 1)] = draw.randbytes(4096)
    place, new = tmp_path / "s.db", tmp_path / "new.db"
    place.write_bytes(content)
    (found,) = rescue(place, new)
    assert found.segments + found.left_out <= 600
    assert found.segments >= 300
    with Store(new) as store:
        run = start(store)
        assert all(chain == numbered_chain(int(chain.segment.id)) for chain in run.chains())
        for position in range(600):
            if not run.done(position):
                run.save(position, numbered_chain(position))
        assert list(run.chains()) == [numbered_chain(position) for position in range(600)]


@pytest.mark.parametrize(
    ("table", "column"), [("segments", "source"), ("steps", "text"), ("edits", "new"), ("steps", "calls")]
)
def test_of_a_row_whose_place_can_be_read_only_the_segment_is_left_out(long, tmp_path, table, column):
    place, new = tmp_path / "s.db", tmp_path / "new.db"
    place.write_bytes(long)
    with sqlite3.connect(place) as connection:
        connection.execute(f"UPDATE {table} SET {column} = CAST(x'ff41' AS TEXT) WHERE position = 300")
    connection.close()
    assert rescue(place, new) == [("first", 599, 1)]
    with Store(new) as store:
        run = store.read("first")
        assert [position for position in range(600) if not run.done(position)] == [300]
        with pytest.raises(StoreError, match=r"no segment '300'; of its 600 segments 1 are not there.* a rescue"):
            run.chain("300")


def test_a_store_is_saved_neither_over_another_file_nor_where_nothing_can_be_read(filled, tmp_path):
    place, new = tmp_path / "s.db", tmp_path / "new.db"
    place.write_bytes(filled[:100] + bytes(len(filled) - 100))
    with pytest.raises(StoreError, match=r"s\.db: no run in it can be read"):
        rescue(place, new)
    assert not new.exists()
    new.write_text("mine")
    with pytest.raises(StoreError, match=r"new\.db: is there already"):
        rescue(place, new)
    with pytest.raises(StoreError, match=r"none\.db: there is no store"):
        rescue(tmp_path / "none.db", tmp_path / "other.db")


def test_a_text_that_does_not_match_its_hash_is_named_and_not_used(tmp_path):
    place = tmp_path / "s.db"
    spoken = Chain(
        segment=Segment(id="0", source="Hello?", source_lang="en", target_lang="es"),
        steps=(Step(stage="translate", text="Hola.", verdict="kept", cause="-", calls=(a_call(),)),),
    )
    completion = Completion(text="Hola.", model="m", finish_reason="stop")
    with Store(place) as store:
        run = start(store)
        store.record_call(run.id, "0", "rate", "key", a_call(), completion)
        run.save(0, spoken)
        assert store.recall(run.id, "1", "key").text == "Hola."
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE texts SET text = 'Adios.' WHERE text = 'Hola.'")
    connection.close()
    with Store(place) as store:
        with pytest.raises(
            StoreError, match=r"at run 'first' \(ValueError: the text [0-9a-f]{32} does not match its hash"
        ):
            list(store.read("first").chains())
        assert store.recall(1, "1", "key") is None, "the call is made again"
        run = store.reopen("first")
        store.record_call(run.id, "1", "rate", "key", a_call(), completion)
        assert list(run.chains()) == [spoken], "the same text, stored again, mends it"
        assert store.recall(run.id, "2", "key").text == "Hola."


def read_only_folder(folder, tmp_path):
    """``folder`` mounted read-only; skips the test where this may not be done."""
    place = tmp_path / "read-only"
    place.mkdir()
    for command in (["mount", "--bind", folder, place], ["mount", "-o", "remount,ro,bind", place]):
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
            subprocess.run(["umount", place], capture_output=True)
            pytest.skip("no file system can be mounted here")
    return place


@pytest.mark.parametrize("how", ["mounted", "no room for companions"])
def test_a_store_on_read_only_media_can_be_read_and_not_written(filled, tmp_path, how):
    (tmp_path / "disk").mkdir()
    place = tmp_path / "disk" / "s.db"
    place.write_bytes(filled)
    if how == "mounted":
        place = read_only_folder(place.parent, tmp_path) / "s.db"
    else:
        (
            tmp_path / "disk" / "s.db-shm"
        ).mkdir()  # then SQLite can read this file as little as one in a read-only folder
    try:
        readings(place)
        with Store(place) as store:
            assert store.run("first").state == "interrupted"
            assert len(list(store.read("first").chains())) == 30
            with pytest.raises(StoreError, match="is read-only; choose another place with --store PATH"):
                start(store, "other")
    finally:
        if how == "mounted":
            subprocess.run(["umount", place.parent], check=True)


@pytest.mark.parametrize("shared", [False, True], ids=["log alone", "log and its index"])
def test_a_read_only_store_whose_log_is_beside_it_is_read_with_the_log_or_refused(tmp_path, shared):
    source, place = tmp_path / "live" / "s.db", tmp_path / "disk" / "s.db"
    place.parent.mkdir()
    with Store(source) as store:
        save_up_to(3, start(store))
        for end in ("", "-wal", *(["-shm"] if shared else [])):
            Path(f"{place}{end}").write_bytes(Path(f"{source}{end}").read_bytes())
    place = read_only_folder(place.parent, tmp_path) / "s.db"
    try:
        if shared:
            with Store(place) as store:
                assert [(run.name, run.state, run.counts.done) for run in store.runs()] == [("first", "interrupted", 3)]
        else:
            with pytest.raises(StoreError, match=r"the last changes are still in .*s.db-wal: copy both"):
                Store(place)
    finally:
        subprocess.run(["umount", place.parent], check=True)
