"""Many segments from a file: what a run is made of, and what it costs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtagent.chain.chain import Plan, improve
from mtagent.chain.gate import OpenGate
from mtagent.chain.proofread import Proofreader
from mtagent.config import load
from mtagent.errors import ServerError
from mtagent.jobs.improve import outcome_of_chain
from mtagent.jobs.inputs import Files, read_segments, with_context
from mtagent.jobs.pool import work_all
from mtagent.llm.cache import Cached
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Completion, Message, Segment, Usage
from mtagent.store import Store
from tests.codes import without_codes


def segments(count: int) -> list[Segment]:
    return [
        Segment(
            id=str(i), source=f"One {i}.", translation=f"Uno {i}.", source_lang="en", target_lang="es", document="d"
        )
        for i in range(count)
    ]


def test_a_changed_prompt_is_another_run(tmp_path: Path) -> None:
    (tmp_path / "proofread.toml").write_text("version = '1'", encoding="utf-8")
    source = tmp_path / "en.txt"
    source.write_text("a", encoding="utf-8")
    config = load(None, {"prompts": tmp_path})
    before = Files(source).fingerprint(config)
    assert Files(source).fingerprint(config) == before
    (tmp_path / "proofread.toml").write_text("version = '2'", encoding="utf-8")
    assert Files(source).fingerprint(config) != before


def test_the_context_of_a_segment_does_not_depend_on_where_a_run_stops(tmp_path: Path) -> None:
    source = tmp_path / "en.txt"
    source.write_text("".join(f"Line {i}.\n" for i in range(9)), encoding="utf-8")
    settings = {"source_lang": "en", "target_lang": "es", "context": 2}
    full = list(read_segments(load(None, settings), Files(source)))
    assert list(read_segments(load(None, settings | {"limit": 4}), Files(source))) == full[:4]
    assert [full[i].context for i in (0, 1, 5)] == [None, "Line 0.", "Line 3.\nLine 4."]


def test_context_ends_with_its_document_and_what_a_segment_brings_goes_before() -> None:
    own = segments(4)
    own[1] = own[1].model_copy(update={"context": "own"})
    own[3] = own[3].model_copy(update={"document": "e"})
    assert [segment.context for segment in with_context(own, 1)] == [None, "own", "One 1.", None]


class Late(ScriptedLLM):
    """Answers in any order."""

    async def complete(self, *asked: Any, **settings: Any) -> Completion:
        await asyncio.sleep(random.random() / 100)
        return await super().complete(*asked, **settings)


def flaky(failing: set[str], kind: type[ScriptedLLM] = ScriptedLLM) -> ScriptedLLM:
    """Rewords each text once it is asked; the segments in ``failing`` fail, and that is not free."""

    def reply(messages: Sequence[Message], purpose: str) -> Completion | Exception:
        text = without_codes(messages[-1].content).split("<translation>")[1].split("<")[0]
        if text in failing:
            return ServerError("down")
        return Completion(text=f"Bien {text}", model="m", usage=Usage(calls=1, input_tokens=10, cost=0.25))

    return kind(reply)


def work(store: Store, llm: ScriptedLLM, given: Sequence[Segment], concurrency: int) -> None:
    with store.start("r", settings={}, inputs={}, total=len(given)) as run:
        proofreader = Proofreader(Cached(llm, store, run.id))
        plan = Plan(("proofread",), proofreader=proofreader, gate=OpenGate("none"))
        asyncio.run(
            work_all(
                given,
                lambda position, segment: improve(segment, plan),
                run.save,
                concurrency=concurrency,
                done=run.done,
                give_up_after=0,
                outcome=outcome_of_chain,
            )
        )


def test_a_failure_stops_nothing_and_the_next_try_pays_only_for_it() -> None:
    given = segments(12)
    with Store(":memory:") as store:
        work(store, flaky({"Uno 3.", "Uno 7."}), given, 5)
        run = store.read("r")
        assert (run.counts().done, run.counts().failed, run.usage().calls) == (10, 2, 10)
        again = flaky(set())
        work(store, again, given, 5)
        assert [request.segment for request in again.requests] == ["3", "7"]
        assert [chain.text for chain in run.chains()] == [f"Bien Uno {i}." for i in range(12)]
        assert (
            Usage.total(chain.usage for chain in run.chains())
            == run.usage()
            == Usage(calls=12, input_tokens=120, cost=3.0)
        )


def test_results_are_in_input_order_however_they_end() -> None:
    given = segments(20)
    llm = flaky(set(), Late)
    with Store(":memory:") as store:
        work(store, llm, given, 7)
        assert [chain.segment.id for chain in store.read("r").chains()] == [segment.id for segment in given]
