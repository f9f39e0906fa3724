"""A file improved from Python: what makes a run, what it costs, the order of its results, and when it gives up."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import MtagentError, OutputError, ServerError, StoreError
from mtagent.jobs import parts
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Chain, Completion, Draft, Message, Segment, Usage
from mtagent.store import Store
from tests.codes import without_codes
from tests.commands import Shell
from tests.jobs import Counting, improve, improving


def test_every_chain_is_handed_over_and_the_same_again_makes_none(shell: Shell) -> None:
    chains: list[Chain] = []
    assert improve(llm=improving(), on_chain=chains.append).counts.done == 3
    assert shell.read("out.txt") == [chain.text for chain in chains]
    assert improve(llm=improving(), on_chain=chains.append).counts.done == 3
    assert len(chains) == 3


# --- what a run is signed with


def test_a_run_is_signed_by_its_editor_and_its_judge_also_where_nothing_was_rated(shell: Shell) -> None:
    chains: list[Chain] = []
    signatures = improve(llm=improving(), gate="rate", on_chain=chains.append).settings["signatures"]
    assert set(signatures) == {"postedit", "judge"}
    ratings = [rating for chain in chains for step in chain.steps for rating in step.ratings]
    assert signatures["postedit"] in {rating.signature for rating in ratings}
    assert signatures["judge"].startswith("rubric-mqm|model:scripted|prompt:rubric-mqm@")
    shell.write("blank.txt", "")
    assert improve("blank.txt", llm=improving(), gate="rate", output="b.txt").settings["signatures"] == signatures
    assert "signatures" not in improve(llm=improving(), stages="t", gate="none", output="t.txt").settings


def test_another_prompt_of_the_evaluator_is_another_run(shell: Shell) -> None:
    names = {
        improve("en.txt", "es.txt", evaluator=Counting(signature=signature)).name for signature in ("c|prompt:1", "c|2")
    }
    assert len(names) == 2
    long = "counting|model:" + "a-model-with-a-long-name" * 5
    improve("en.txt", "es.txt", evaluator=Counting(signature=long + "|prompt:p@1"), run="mine")
    with pytest.raises(
        StoreError, match=r"other settings: postedit has another prompt[;,.]|postedit has another prompt"
    ):
        improve("en.txt", "es.txt", evaluator=Counting(signature=long + "|prompt:p@2"), run="mine")


IDENTIFIER = "language identifier (extra languages)"


@pytest.mark.parametrize(
    ("before", "now", "what_to_do"),
    [
        (
            "none",
            "2.0",
            "none, and py3langid 2.0 is installed now, so that results can differ: uninstall py3langid 2.0",
        ),
        (
            "1.0",
            "2.0",
            "1.0, and py3langid 2.0 is installed now, so that results can differ: install py3langid 1.0 again",
        ),
        ("1.0", None, "1.0, and none is installed now, so that results can differ: install py3langid 1.0 again"),
    ],
)
def test_a_run_names_its_language_identifier_and_continues_with_no_other(
    before: str, now: str | None, what_to_do: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert IDENTIFIER in improve(llm=improving(), run="mine").settings
    unguarded = improve(llm=improving(), run="unguarded", skip_guards=["language"], output="u.txt")
    assert IDENTIFIER not in unguarded.settings
    with closing(sqlite3.connect("store.db")) as store, store:
        path = f'$."{IDENTIFIER}"'
        former = before if before == "none" else f"py3langid {before}"
        store.execute("UPDATE runs SET settings = json_set(settings, ?, ?) WHERE name = 'mine'", (path, former))
    monkeypatch.setattr(parts, "find_spec", lambda name: now)
    monkeypatch.setattr(parts, "version", lambda name: now)
    with pytest.raises(StoreError) as error:
        improve(llm=improving(), run="mine")
    assert str(error.value).startswith("run 'mine': was started with language identifier (extra languages): ")
    assert what_to_do in str(error.value)
    assert str(error.value).endswith(" to continue the run, or start a new one with another name (--name)")


# --- order and cost


def rewording(failing: Sequence[str] = (), kind: type[ScriptedLLM] = ScriptedLLM) -> ScriptedLLM:
    """Rewords each text; those in ``failing`` fail."""

    def reply(messages: Sequence[Message], purpose: str) -> Completion | Exception:
        text = without_codes(messages[-1].content).split("<translation>")[1].split("<")[0]
        if text in failing:
            return ServerError("down")
        return Completion(text=f"Bien {text}", model="m", usage=Usage(calls=1, input_tokens=10, cost=0.25))

    return kind(reply)


class Late(ScriptedLLM):
    """Answers in any order."""

    async def complete(self, *asked: Any, **settings: Any) -> Completion:
        await asyncio.sleep(random.random() / 100)
        return await super().complete(*asked, **settings)


@pytest.fixture
def twelve(shell: Shell) -> Shell:
    """The shell with twelve texts."""
    shell.write("en.txt", *(f"One {i}." for i in range(12)))
    shell.write("es.txt", *(f"Uno {i}." for i in range(12)))
    return shell


REWORDED = [f"Bien Uno {i}." for i in range(12)]


def test_a_failure_stops_nothing_and_the_next_try_pays_only_for_it(twelve: Shell) -> None:
    settings = {"stages": "pr", "gate": "none", "concurrency": 5}
    first = improve("en.txt", "es.txt", llm=rewording(["Uno 3.", "Uno 7."]), **settings)
    assert (first.counts.done, first.counts.failed, first.usage.calls) == (10, 2, 10)
    again = rewording()
    second = improve("en.txt", "es.txt", llm=again, **settings)
    assert [request.segment for request in again.requests] == ["4", "8"]
    assert twelve.read("out.txt") == REWORDED
    with Store("store.db") as store:
        paid = Usage.total(chain.usage for chain in store.read(second.name).chains())
    assert paid == second.usage == Usage(calls=12, input_tokens=120, cost=3.0)


def test_results_are_in_input_order_however_they_end(twelve: Shell) -> None:
    order: list[str] = []
    improve(
        "en.txt", "es.txt", llm=rewording(kind=Late), stages="pr", gate="none", concurrency=7,
        on_chain=lambda chain: order.append(chain.text),
    )  # fmt: skip
    assert twelve.read("out.txt") == REWORDED
    assert sorted(order) == sorted(REWORDED)
    assert order != REWORDED


# --- giving up


class Flaky:
    """A translator that fails on some texts at once, and takes a while for the others."""

    name = "flaky"

    def __init__(self, succeeds: Callable[[int], bool]) -> None:
        self.succeeds = succeeds
        self.asked: list[int] = []

    async def draft(self, segment: Segment) -> Draft:
        number = int(segment.id) - 1
        self.asked.append(number)
        if not self.succeeds(number):
            raise ServerError(f"reason {number}")
        for _ in range(50):
            await asyncio.sleep(0)
        return Draft(text=segment.source)


def tried(succeeds: Callable[[int], bool], give_up_after: int = 20, concurrency: int = 16) -> Flaky:
    """Translate 200 lines with a translator that fails."""
    Path("long.txt").write_text("".join(f"Text {i}.\n" for i in range(200)), encoding="utf-8")
    flaky = Flaky(succeeds)
    improve("long.txt", translator=flaky, stages="t", give_up_after=give_up_after, concurrency=concurrency)
    return flaky


def test_a_run_stops_when_the_first_segments_all_fail(shell: Shell) -> None:
    with pytest.raises(MtagentError, match=r"the first 7 segments all failed, the last one: .*reason 6.* Nothing"):
        tried(lambda number: False, give_up_after=7, concurrency=1)
    assert not Path("out.txt").exists()
    (summary,) = shell.runs().values()
    assert summary.counts.failed == 7


def test_a_run_in_which_all_segments_fail_stops_early_however_many_work_at_once(shell: Shell) -> None:
    with pytest.raises(MtagentError, match=r"the first 2\d segments all failed, the last one: .*reason \d+"):
        tried(lambda number: False)


@pytest.mark.parametrize(
    ("succeeds", "options"),
    [
        (lambda number: number == 0, {"give_up_after": 7, "concurrency": 1}),
        (lambda number: number == 6, {"give_up_after": 7, "concurrency": 1}),
        (lambda number: number == 199, {"give_up_after": 0}),
        (lambda number: number % 10 < 7, {}),
        (lambda number: not 1 <= number < 50, {}),
    ],
    ids=["first", "last of the first", "told to go on", "failures end before", "a slow success before failures"],
)
def test_a_success_among_the_first_or_the_users_word_keeps_a_run_going(
    succeeds: Callable[[int], bool], options: dict[str, int], shell: Shell
) -> None:
    flaky = tried(succeeds, **options)
    assert sorted(flaky.asked) == list(range(200))
    (summary,) = shell.runs().values()
    assert summary.counts.done == sum(map(succeeds, range(200)))


def test_a_first_segment_that_hangs_does_not_keep_a_hopeless_run_going(shell: Shell) -> None:
    class Hanging(Flaky):
        async def draft(self, segment: Segment) -> Draft:
            if segment.id == "1":
                await asyncio.Event().wait()
            return await super().draft(segment)

    shell.write("long.txt", *(f"Text {i}." for i in range(300)))
    hanging = Hanging(lambda number: False)
    with pytest.raises(MtagentError, match=r"20\d segments failed and none succeeded, the last one: .*reason"):
        improve("long.txt", translator=hanging, stages="t", concurrency=4)
    assert 200 <= len(hanging.asked) < 210


# --- files


def test_where_nothing_could_be_translated_the_former_output_stays(shell: Shell) -> None:
    shell.write("en.txt", "One.", "", "Two.")
    shell.write("out.txt", "Good old text.")
    with pytest.raises(MtagentError, match=r"nothing was written: .*down"):
        improve(llm=ScriptedLLM(lambda *_: ServerError("down")), stages="t")
    assert shell.read("out.txt") == ["Good old text."]


def test_an_output_that_is_a_folder_is_refused_before_the_input_is_read(shell: Shell) -> None:
    with pytest.raises(OutputError, match="is a folder"):
        improve("nothing.txt", output=".")


def test_an_improved_translation_may_take_its_place_and_keeps_its_line_ends_and_byte_order_mark(shell: Shell) -> None:
    shell.write("en.txt", "One two.", "Three.")
    (shell.folder / "es.txt").write_bytes("\ufeffUno  dos.\r\nTres.".encode())
    improve("en.txt", "es.txt", "es.txt")
    assert (shell.folder / "es.txt").read_bytes() == "\ufeffUno dos.\r\nTres.".encode()
