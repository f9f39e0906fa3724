"""The log of people's decisions: append-only, all or nothing, and no window overwrites another."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mtagent.errors import DecidedElsewhere, StoreError
from mtagent.records import Chain, Segment
from mtagent.records.decisions import Decision
from mtagent.store.runs import DecisionLog
from mtagent.store.store import Store


def stored(path: Path | str, *ids: str) -> Store:
    store = Store(path)
    with store.start("r", settings={}, inputs={}, total=len(ids)) as run:
        for position, name in enumerate(ids):
            segment = Segment(id=name, source="x", source_lang="en", target_lang="es", translation="y")
            run.save(position, Chain(segment=segment))
        run.finish()
    return store


def say(segment: str, edit: int | None = None, verdict: str = "accept", **more: object) -> Decision:
    return Decision.model_validate({"segment": segment, "edit": edit, "verdict": verdict, **more})


def test_what_was_decided_comes_back_in_order_with_its_time() -> None:
    with stored(":memory:", "a", "b") as store:
        log = store.decisions("r")
        assert not log
        own = say("a", None, "text", text="mine", reason="clearer", who="ana", seconds=2.5, chain="f")
        versions = log.append([(0, say("a", 1)), (1, say("b", 2, "reject")), (0, own)])
        assert [decision.verdict for decision in log.history(0)] == ["accept", "text"]
        assert log.history(0)[1].model_copy(update={"at": "", "id": 0, "command": 0}) == own
        assert log.history(0)[0].at.startswith("20")
        assert log.histories() == {0: log.history(0), 1: log.history(1)}
        assert versions == log.versions() == {0: log.version(0), 1: log.version(1)}
        assert log


def test_two_windows_do_not_overwrite_each_other(tmp_path: Path) -> None:
    with stored(tmp_path / "s.db", "a", "b") as store, Store(tmp_path / "s.db") as other:
        mine, theirs = store.decisions("r"), other.decisions("r")
        version = mine.version(0)
        theirs.append([(0, say("a", 1, "reject"))], expected={0: version})
        with pytest.raises(DecidedElsewhere, match="segment at position 0 was decided on elsewhere"):
            mine.append([(1, say("b")), (0, say("a", 1))], expected={0: version})
        assert [decision.verdict for decision in mine.history(0)] == ["reject"]
        assert not mine.history(1), "all or nothing"
        mine.append([(0, say("a", 1))], expected={0: mine.version(0)})


def test_a_segment_that_is_not_there_is_refused_and_nothing_is_written() -> None:
    with stored(":memory:", "a") as store:
        log: DecisionLog = store.decisions("r")
        for position, name in ((7, "a"), (0, "b")):
            with pytest.raises(StoreError, match=f"has no segment '{name}' at position {position}"):
                log.append([(0, say("a")), (position, say(name))])
        assert not log


def test_a_store_with_its_log_is_for_this_user_alone(tmp_path: Path) -> None:
    with stored(tmp_path / "s.db", "a") as store:
        store.decisions("r").append([(0, say("a"))])
        store.reopen("r").close()
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert set(modes.values()) == {0o600}, modes
