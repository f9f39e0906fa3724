"""The edits of a stored run before judges and a teacher: which ones, in which sample, and what is stored of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.config import load
from mtagent.errors import ConfigError, ModelError, StoreError
from mtagent.jobs.parts import OwnParts
from mtagent.learning.runs import STRATA, JudgedRun, edits_to_judge, judge_edits, pairs_in, sampled
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import (
    Chain,
    DecidedCause,
    Edit,
    ErrorCause,
    Judgement,
    Message,
    Segment,
    Step,
    TranslatedCause,
    read_cause,
)
from mtagent.store import Store
from tests import jobs, stored
from tests.commands import Shell
from tests.simulator import taught
from tests.simulator.marks import segments


def chain(*steps: Step, translation: str | None = "uno dos") -> Chain:
    segment = Segment(id="1", source="one two", source_lang="en", target_lang="es", translation=translation)
    return Chain(segment=segment, steps=steps)


def step(text: str, proposed: str | None, verdict: Any = "kept", kind: Any = "scores", **more: Any) -> Step:
    fields = {"stage": "postedit", "cause": read_cause({"kind": kind}), **more}
    return Step(text=text, proposed=proposed, verdict=verdict, **fields)


def texts(judged: Chain, **more: Any) -> list[tuple[str, str, str]]:
    return [(pair.stage, pair.before, pair.after) for pair in pairs_in(judged, **more)]


# --- which edits


def test_rejected_edits_are_in_it_by_what_was_proposed() -> None:
    assert texts(chain(step("uno dos", "uno tres", "rejected"))) == [("postedit", "uno dos", "uno tres")]


def test_each_stage_starts_from_what_the_one_before_left() -> None:
    kept = step("uno tres", "uno tres")
    reworded = step("uno tres", "un tres", "rejected", "choices", stage="proofread")
    assert texts(chain(kept, reworded)) == [("postedit", "uno dos", "uno tres"), ("proofread", "uno tres", "un tres")]


def test_a_translation_is_no_edit() -> None:
    made = step("uno dos", None, cause=TranslatedCause(by="mt"), stage="translate")
    assert texts(chain(made, step("uno tres", "uno tres"), translation=None)) == [("postedit", "uno dos", "uno tres")]


def test_what_a_candidate_was_held_against_another_by_is_no_judgement_of_its_edit() -> None:
    said = (Judgement(judge="j", choices=("after", "after")),)
    for against, judgements in ((None, said), (1, ())):
        cause = DecidedCause(kind="choices", judgements=said, against=against, chosen=2)
        chosen = step("uno tres", "uno tres", stage="rerank", cause=cause)
        assert [pair.judgements for pair in pairs_in(chain(chosen))] == [judgements]


@pytest.mark.parametrize("nothing", [
    step("uno dos", "uno", "rejected", "guards"),
    step("uno dos", "uno\ndos", "rejected", "lines"),
    step("uno dos", "uno dos", "unchanged", "no-edit"),
    step("uno dos", None, "unchanged", "error-free"),
    step("uno dos", "uno tres", "unchanged", "judged"),
    step("uno dos", "uno tres", "failed", cause=ErrorCause(error="ServerError")),
    step("uno dos", " ", "rejected"),
])  # fmt: skip
def test_what_no_gate_is_asked_about_is_not_in_it(nothing: Step) -> None:
    assert texts(chain(nothing)) == []


def edit(old: str, new: str, start: int, outcome: Any) -> Edit:
    return Edit(old=old, new=new, start=start, end=start + len(old), outcome=outcome)


def test_what_the_guards_refused_is_taken_out_of_it() -> None:
    changes = (edit("uno", "una", 0, "rejected"), edit("dos", "{dos}", 4, "refused"))
    rejected = step("uno dos", "una {dos}", "rejected", edits=changes)
    assert texts(chain(rejected)) == [("postedit", "uno dos", "una dos")]


def test_of_an_edit_that_was_kept_in_part_people_see_the_part_and_a_teacher_the_whole() -> None:
    changes = (edit("uno", "una", 0, "applied"), edit("dos", "tres", 4, "rejected"))
    kept = step("una dos", "una tres", edits=changes, cause=DecidedCause(kind="scores", edits_kept=1, edits_tried=2))
    assert texts(chain(kept)) == [("postedit", "uno dos", "una tres")]
    assert texts(chain(kept), as_kept=True) == [("postedit", "uno dos", "una dos")]


def test_of_a_part_that_was_kept_and_then_taken_back_people_see_the_part() -> None:
    changes = (edit("uno", "un", 0, "rejected"), edit("dos", "tres", 4, "reverted"))
    taken_back = step("uno dos", "un tres", edits=changes)
    assert texts(chain(taken_back), as_kept=True) == [("postedit", "uno dos", "uno tres")]
    assert texts(chain(taken_back)) == [("postedit", "uno dos", "un tres")]


def test_an_edit_that_was_taken_back_counts_as_it_was_and_what_follows_on_it_does_not() -> None:
    reverted = step("uno dos", "una dos", edits=(edit("uno", "una", 0, "reverted"),))
    reworded = step("uno doce", "una doce", stage="proofread")
    assert texts(chain(reverted, reworded), as_kept=True) == [("postedit", "uno dos", "una dos")]


# --- the sample


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 70), st.integers(0, 3))
def test_a_sample_has_its_share_of_each_quarter_and_is_part_of_every_larger_one(
    sizes: list[int], number: int, seed: int
) -> None:
    chosen = sampled(sizes, number, seed)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(number, len(sizes))
    assert set(chosen) <= set(sampled(sizes, number + 1, seed))
    order = sorted(range(len(sizes)), key=lambda place: (sizes[place], place))
    if len(sizes) % STRATA == 0 and number <= len(sizes):
        quarter = {place: STRATA * rank // len(sizes) for rank, place in enumerate(order)}
        counts = Counter(quarter[place] for place in chosen)
        assert max(counts.values()) - min(counts.get(stratum, 0) for stratum in range(STRATA)) <= 1


def test_another_seed_is_another_sample() -> None:
    assert sampled(range(100), 20, 1) != sampled(range(100), 20, 2)


# --- asking


def model(*, fails: Sequence[str] = (), name: str = "small") -> ScriptedLLM:
    """A judge or teacher of the simulator; it fails for texts with one of the words ``fails``."""

    def reply(messages: Sequence[Message], purpose: str) -> str:
        asked = [{"role": message.role, "content": message.content} for message in messages]
        if any(word in messages[-1].content for word in fails):
            raise ModelError("the server is down")
        return str(taught.answer({"model": name, "messages": asked}))

    return ScriptedLLM(reply, model=name)


def edits_of(shell: Shell, number: int = 40, **more: Any) -> list[Segment]:
    """A stored run ``first`` with an edit of each of so many segments."""
    chosen = [segment.model_copy(update=more) for segment in segments(number)]
    chains = []
    for place, segment in enumerate(chosen):
        before = segment.translation or ""
        after = before.replace("bueno", "errado") if place % 2 else before.replace("breve", "corto")
        cause = DecidedCause(kind="scores", judgements=(Judgement(judge="j", signature="j|1", before=0, after=1),))
        verdict: Any = "rejected" if place % 3 else "kept"
        made = Step(stage="postedit", text=before if place % 3 else after, proposed=after, verdict=verdict, cause=cause)
        chains.append(Chain(segment=segment, steps=(made,)))
    stored.store(shell.folder / "store.db", "first", *chains)
    return chosen


def judge(llm: ScriptedLLM, name: str = "first", **more: Any) -> JudgedRun:
    settings = {"model": "small", "judge": {"evaluator": more.pop("judges", "gemba-da")}, **more.pop("settings", {})}
    config, teacher = load(None, settings), more.pop("teacher", None)
    edits = edits_to_judge(config, name, **more)
    return asyncio.run(judge_edits(config, edits, teacher=teacher, own=OwnParts(llm=llm)))


def test_a_judged_edit_is_a_chain_of_one_step_that_decides_nothing(shell: Shell) -> None:
    edits_of(shell)
    found = judge(model(), teacher="pairwise", sample=32)
    assert (found.run.kind, found.run.counts.done, found.run.counts.unchanged) == ("chain", 32, 32)
    with Store(shell.folder / "store.db") as store:
        again = list(store.read(found.run.name).chains())
    assert again == found.chains
    for judged in again:
        (only,) = judged.steps
        assert (only.verdict, only.cause.kind, only.text) == ("unchanged", "judged", judged.segment.translation)
        (judgement,) = only.cause.judgements
        assert judgement.before == round(taught.seen("small", only.text), 2)
        assert judgement.after == round(taught.seen("small", only.proposed or ""), 2)
        assert only.cause.teacher is not None
        assert only.cause.teacher.signature.startswith("pairwise|model:small")
        assert "; taught by small, comparing both texts: " in only.reason
        assert (len(only.calls), [rating.role for rating in only.ratings]) == (4, ["before", "after"])


def reviews(llm: ScriptedLLM) -> list[Any]:
    return [request for request in llm.requests if request.messages[0].content.startswith("You review")]


def test_the_rating_that_an_edit_was_made_by_is_not_taken_for_the_judges_or_the_teachers(shell: Shell) -> None:
    lines = [f"The cat sat here {number}." for number in range(60)]
    shell.write("source.txt", *lines)
    llm = jobs.improving()
    jobs.improve("source.txt", llm=llm, store=shell.folder / "store.db", run="first", gate="none", stages="tp")
    reviewed = len(reviews(llm))
    with Store(shell.folder / "store.db") as store:
        pairs = [pair for chain in store.read("first").chains() for pair in pairs_in(chain)]
    judge(llm, judges="rubric-mqm", teacher="pairwise", settings={"model": llm.model})
    assert (reviewed, len(reviews(llm))) == (60, 60 + 2 * len(pairs))


def test_the_same_again_pays_nothing_and_a_larger_sample_only_for_what_is_new(shell: Shell) -> None:
    edits_of(shell)
    llm = model()
    small = judge(llm, teacher="pairwise", sample=30)
    assert len(llm.requests) == 30 * 4
    assert judge(llm, teacher="pairwise", sample=30).run.name == small.run.name
    assert len(llm.requests) == 30 * 4
    large = judge(llm, teacher="pairwise", sample=40)
    assert large.run.name != small.run.name
    assert (len(llm.requests), large.run.usage.calls) == (40 * 4, 10 * 4)


def test_a_judge_that_fails_for_an_edit_fails_that_edit_alone_and_is_named(shell: Shell) -> None:
    edits_of(shell)
    found = judge(
        model(fails=["informe 7 "]), judges=("gemba-da", "pairwise"), sample=40, teacher="gemba-da:reference=yes"
    )
    assert (found.run.counts.done, found.run.counts.failed) == (39, 1)
    failed = next(judged for judged in found.chains if judged.failed)
    assert failed.segment.id == "s7"
    assert failed.steps[0].cause.by == "gemba-da"
    assert failed.steps[0].reason.startswith("gemba-da: the server is down")
    llm = model()
    mended = judge(llm, judges=("gemba-da", "pairwise"), sample=40, teacher="gemba-da:reference=yes")
    assert (mended.run.name, mended.run.counts.failed, len(llm.requests)) == (found.run.name, 0, 6)


@pytest.mark.parametrize(("more", "error"), [
    ({"teacher": "gemba-da"}, "teacher: gemba-da is one of the judges"),
    ({"judges": ("gemba-da", "gemba-da")}, "judge: gemba-da is named twice"),
    ({"judges": None}, "name the gate's judges"),
    ({"teacher": "nobody"}, "no evaluator 'nobody'"),
    ({"teacher": "gemba-da:temperature=hot"}, "teacher gemba-da: temperature: "),
])  # fmt: skip
def test_a_wrong_panel_is_refused_before_anything_is_asked(more: dict[str, Any], error: str, shell: Shell) -> None:
    edits_of(shell)
    llm = model()
    with pytest.raises(ConfigError, match=f"^{error}"):
        judge(llm, **more)
    assert llm.requests == []


def test_ratings_and_unknown_runs_are_refused(shell: Shell) -> None:
    edits_of(shell, 2)
    with Store(shell.folder / "store.db") as store:
        stored.start(store, "ratings", kind="rating").finish()
    with pytest.raises(ConfigError, match="run 'ratings': has ratings and no edits"):
        judge(model(), "ratings")
    with pytest.raises(StoreError, match="there is no run 'none'"):
        judge(model(), "none")
