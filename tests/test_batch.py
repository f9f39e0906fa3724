"""Files improved from Python, and runs that stop when nothing works."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from mtagent.config import Config, load
from mtagent.errors import ConfigError, MtagentError, OutputError, ServerError, StoreError
from mtagent.evaluators.protocol import Evaluator
from mtagent.jobs.improve import improve_file, outcome_of_chain
from mtagent.jobs.inputs import Files
from mtagent.jobs.parts import Given
from mtagent.jobs.pool import Outcome, work_all
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Chain, Message, Rating, Segment, Step, Verdict
from mtagent.store import RunSummary, Store
from tests.simulator import chain as simulated


def settings_of(folder: Path, **more: str | None) -> Config:
    return load(overrides={"source_lang": "en", "target_lang": "es", "store": folder / "store.db", **more})


def files_of(folder: Path) -> Files:
    return Files(source=folder / "en.txt", output=folder / "es.txt")


def improved(
    folder: Path, chains: list[Chain], *, evaluator: Evaluator | None = None, **more: str | None
) -> RunSummary:
    def reply(messages: Sequence[Message], purpose: str) -> str:
        return simulated.improving({"messages": [message.model_dump() for message in messages]})

    config, files = settings_of(folder, **more), files_of(folder)
    given = Given(llm=ScriptedLLM(reply), evaluator=evaluator)
    return asyncio.run(
        improve_file(config, files, command="translate", given=given, on_start=lambda *_: None, on_chain=chains.append)
    )


def test_a_file_is_improved_with_a_model_of_one_s_own_and_every_chain_is_handed_over(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("one two\nthree four\n", encoding="utf-8")
    chains: list[Chain] = []
    assert improved(tmp_path, chains).counts.done == 2
    assert (tmp_path / "es.txt").read_text(encoding="utf-8").splitlines() == [chain.text for chain in chains]
    assert improved(tmp_path, chains).counts.done == 2
    assert len(chains) == 2


def test_a_run_is_signed_by_its_editor_and_its_judge_also_where_nothing_was_rated(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("one two\n\nthree four\n", encoding="utf-8")
    chains: list[Chain] = []
    signatures = improved(tmp_path, chains).settings["signatures"]
    assert set(signatures) == {"postedit", "judge"}
    assert signatures["postedit"] in {rating.signature for chain in chains for s in chain.steps for rating in s.ratings}
    assert signatures["judge"].startswith("rubric-mqm|model:scripted|prompt:rubric-mqm@2#")
    (tmp_path / "en.txt").write_text("\n", encoding="utf-8")
    assert improved(tmp_path, chains).settings["signatures"] == signatures


def test_a_run_without_editor_and_judge_has_no_signatures(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("one two\n", encoding="utf-8")
    assert "signatures" not in improved(tmp_path, [], stages="t", gate="none").settings


@pytest.mark.parametrize("name", [None, "mine"])
def test_a_run_that_was_stored_before_signatures_were_kept_resumes_under_its_name(
    name: str | None, tmp_path: Path
) -> None:
    (tmp_path / "en.txt").write_text("one two\nthree four\n", encoding="utf-8")
    config, files = settings_of(tmp_path, run=name), files_of(tmp_path)
    settings, inputs = config.effective(offline=False).for_results(), files.fingerprint(config)
    stored = name or f"translate-{hashlib.sha256(repr((settings, inputs)).encode()).hexdigest()[:8]}"
    done = Segment(id="1", source="one two", source_lang="en", target_lang="es", translation="uno dos")
    with Store(tmp_path / "store.db") as store, store.start(stored, settings=settings, inputs=inputs, total=2) as run:
        run.save(0, Chain(segment=done))
    chains: list[Chain] = []
    summary = improved(tmp_path, chains, run=name)
    assert (summary.name, summary.counts.done, summary.settings) == (stored, 2, settings)
    assert [chain.segment.source for chain in chains] == ["three four"]


def test_another_prompt_of_the_evaluator_is_another_run(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("one two\n", encoding="utf-8")
    names = {improved(tmp_path, [], evaluator=Signed(signature)).name for signature in ("signed|prompt:1", "signed|2")}
    assert len(names) == 2
    long = "signed|model:" + "a-model-with-a-long-name" * 5
    improved(tmp_path, [], evaluator=Signed(long + "|prompt:p@1"), run="mine")
    with pytest.raises(StoreError, match=r"signatures.postedit was …[^…]*\|prompt:p@1', is now …[^…]*\|prompt:p@2'"):
        improved(tmp_path, [], evaluator=Signed(long + "|prompt:p@2"), run="mine")


class Signed:
    name = "signed"

    def __init__(self, signature: str) -> None:
        self.signature = signature

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=0, errors=(), signature=self.signature)


def test_an_output_that_is_a_folder_is_refused_before_the_input_is_read(tmp_path: Path) -> None:
    (tmp_path / "es.txt").mkdir()
    with pytest.raises(OutputError, match="is a folder"):
        improved(tmp_path, [])


def improve_one(verdict: Callable[[str], Verdict]) -> Callable[[int, Segment], Awaitable[Chain]]:
    async def improve(position: int, segment: Segment) -> Chain:
        step = Step(stage="postedit", text="t", verdict=verdict(segment.id), cause=f"reason {segment.id}.")
        return Chain(segment=segment, steps=(step,))

    return improve


def tried(verdict: Callable[[str], Verdict], *, give_up_after: int) -> list[int]:
    """The positions that were saved of 100 segments, or the error's message as it is raised."""
    saved: list[int] = []
    segments = (Segment(id=str(i), source="s", source_lang="en", target_lang="es") for i in range(100))
    asyncio.run(
        work_all(
            segments,
            improve_one(verdict),
            lambda position, chain: saved.append(position),
            concurrency=1,
            done=lambda position: False,
            give_up_after=give_up_after,
            outcome=outcome_of_chain,
        )
    )
    return saved


def test_a_run_stops_when_the_first_segments_all_fail() -> None:
    with pytest.raises(MtagentError, match=r"the first 7 segments all failed, the last one with reason 6\. Nothing"):
        tried(lambda number: "failed", give_up_after=7)


@pytest.mark.parametrize("good", range(7))
def test_one_success_among_the_first_keeps_the_run_going(good: int) -> None:
    assert tried(lambda number: "kept" if number == str(good) else "failed", give_up_after=7) == list(range(100))


async def tried_at_once(succeeds: Callable[[int], bool], *, concurrency: int = 16) -> list[int]:
    """What was saved of 500 items, of which those that fail do so at once, and the others take a while."""
    saved: list[int] = []

    async def work(position: int, number: int) -> str | None:
        if not succeeds(number):
            return f"reason {number}."
        for _ in range(200):
            await asyncio.sleep(0)
        return None

    await work_all(
        range(500),
        work,
        lambda position, _: saved.append(position),
        concurrency=concurrency,
        done=lambda position: position < 10,
        give_up_after=20,
        outcome=lambda failure: Outcome(failure is None, failure),
    )
    return saved


async def test_failures_that_end_before_slower_segments_succeed_stop_no_run() -> None:
    assert sorted(await tried_at_once(lambda number: number % 10 < 7)) == list(range(10, 500))
    assert sorted(await tried_at_once(lambda number: not 11 <= number < 60)) == list(range(10, 500))


async def test_a_run_in_which_all_segments_fail_stops_early_however_many_work_at_once() -> None:
    with pytest.raises(
        MtagentError, match=r"the first 2\d segments all failed, the last one with reason \d+\. Nothing"
    ):
        await tried_at_once(lambda number: False)
    with pytest.raises(MtagentError, match=r"the first 20 segments all failed"):
        await tried_at_once(lambda number: number >= 30, concurrency=1)


async def test_a_first_segment_that_hangs_does_not_keep_a_hopeless_run_going() -> None:
    hanging, failed = asyncio.Event(), []

    async def work(position: int, number: int) -> str | None:
        if number == 0:
            await hanging.wait()
        return "down."

    with pytest.raises(MtagentError, match=r"200 segments failed and none succeeded, the last one with down\."):
        await work_all(
            range(9999),
            work,
            lambda position, _: failed.append(position),
            concurrency=4,
            done=lambda _: False,
            give_up_after=20,
            outcome=lambda failure: Outcome(failure is None, failure),
        )
    assert 200 <= len(failed) < 210


def test_a_run_that_is_told_to_goes_on_whatever_fails() -> None:
    assert tried(lambda number: "failed", give_up_after=0) == list(range(100))


@pytest.mark.parametrize(
    ("files", "limit", "complaint"),
    [
        ({"output": "en.txt", "translation": "es.txt"}, None, "would overwrite this file"),
        ({"output": "en.txt"}, None, "would overwrite this file"),
        ({"output": "out.txt", "details": "out.txt"}, None, "cannot both go to one file"),
        ({"output": "out.txt", "details": "en.txt"}, None, "--details would overwrite the file of -s"),
        ({"output": "out.txt", "translation": "es.txt", "details": "es.txt"}, None, "the file of -t"),
        ({"output": "es.txt", "translation": "es.txt"}, 2, "--limit would cut the file of -t short"),
        ({"source": "in.csv", "output": "in.csv"}, 2, "--limit would cut the file of -s short"),
    ],
)
def test_an_output_never_takes_the_place_of_a_file_that_is_needed(
    files: dict[str, str], limit: int | None, complaint: str, tmp_path: Path
) -> None:
    named = {name: tmp_path / path for name, path in {"source": "en.txt", **files}.items()}
    with pytest.raises(ConfigError, match=complaint):
        Files(**named).refuse_collisions(limit)


def test_a_translation_or_a_table_may_be_improved_in_place(tmp_path: Path) -> None:
    Files(source=Path("en.txt"), translation=Path("es.txt"), output=Path("es.txt")).refuse_collisions(None)
    Files(source=Path("in.csv"), output=Path("in.csv")).refuse_collisions(None)


def test_an_improved_translation_keeps_its_own_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("One two.\nThree.\n", encoding="utf-8")
    (tmp_path / "es.txt").write_bytes("\ufeffUno  dos.\r\nTres.".encode())
    config = load(overrides={"source_lang": "en", "target_lang": "es", "store": tmp_path / "store.db"})
    files = Files(source=tmp_path / "en.txt", translation=tmp_path / "es.txt", output=tmp_path / "es.txt")
    asyncio.run(improve_file(config, files, command="postedit", on_start=lambda *_: None, on_chain=lambda chain: None))
    assert (tmp_path / "es.txt").read_bytes() == "\ufeffUno dos.\r\nTres.".encode()


def test_where_nothing_could_be_translated_the_former_output_stays(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("One.\n\nTwo.\n", encoding="utf-8")
    (tmp_path / "es.txt").write_text("Good old text.\n", encoding="utf-8")
    config = load(overrides={"source_lang": "en", "target_lang": "es", "store": tmp_path / "store.db", "stages": "t"})
    down = ScriptedLLM(lambda messages, purpose: ServerError("down"))
    files = Files(source=tmp_path / "en.txt", output=tmp_path / "es.txt")
    with pytest.raises(MtagentError, match="nothing was written: ServerError: down"):
        asyncio.run(
            improve_file(
                config, files, command="translate", given=Given(llm=down), on_start=lambda *_: None,
                on_chain=lambda chain: None,
            )
        )  # fmt: skip
    assert (tmp_path / "es.txt").read_text(encoding="utf-8") == "Good old text.\n"


def test_an_empty_line_does_not_hide_that_there_is_nothing_to_translate_with(tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("One.\n\nTwo.\n", encoding="utf-8")
    config = load(overrides={"source_lang": "en", "target_lang": "es", "store": tmp_path / "store.db"})
    files = Files(source=tmp_path / "en.txt", output=tmp_path / "es.txt")
    with pytest.raises(ConfigError, match="nothing to translate with"):
        asyncio.run(
            improve_file(config, files, command="translate", on_start=lambda *_: None, on_chain=lambda chain: None)
        )
