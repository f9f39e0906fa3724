"""Every applied edit can be taken back alone, after the run, with later edits moved along."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.chain.revert import numbered, revert
from mtagent.errors import ConfigError
from mtagent.records import Chain, Edit, Segment, Stage, Step
from mtagent.text import edits


def edit(text: str, old: str, new: str) -> Edit:
    start = text.index(old)
    return Edit(old=old, new=new, start=start, end=start + len(old), outcome="applied")


def step(stage: Stage, text: str, *changes: Edit) -> Step:
    after = edits.apply(text, changes)
    return Step(stage=stage, text=after, edits=changes, verdict="kept", cause="better")


def chain(translation: str = "one two three four") -> Chain:
    segment = Segment(id="s", source="x", source_lang="en", target_lang="es", translation=translation)
    first = step("postedit", translation, edit(translation, "one", "first"), edit(translation, "three", "3"))
    second = step("proofread", first.text, edit(first.text, "four", "fourth!"))
    return Chain(segment=segment, steps=(first, second))


def test_one_edit_is_taken_back_and_later_ones_stay() -> None:
    reverted = revert(chain(), 1)
    assert reverted.text == "one two 3 fourth!"
    assert [(n, e.outcome) for n, _, e in numbered(reverted)] == [(1, "reverted"), (2, "applied"), (3, "applied")]
    assert revert(reverted, 3).text == "one two 3 four"


def test_all_edits_give_the_given_text_back() -> None:
    assert revert(chain()).text == "one two three four"


def test_an_edit_under_a_later_one_is_refused_with_the_way_out() -> None:
    given = "one two"
    first = step("postedit", given, edit(given, "two", "deux"))
    second = step("proofread", first.text, edit(first.text, "one deux", "un deux"))
    segment = Segment(id="s", source="x", source_lang="en", target_lang="fr", translation=given)
    both = Chain(segment=segment, steps=(first, second))
    with pytest.raises(ConfigError, match="revert that one first"):
        revert(both, 1)
    assert revert(both).text == given


def test_a_rejected_step_in_between_takes_over_the_text() -> None:
    first = chain().steps[0]
    rejected = Step(stage="proofread", text=first.text, proposed="?", verdict="rejected", cause="gate")
    segment = chain().segment
    assert revert(Chain(segment=segment, steps=(first, rejected)), 2).text == "first two three four"


def test_what_was_not_applied_cannot_be_reverted() -> None:
    lost = Edit(old="x", new="y", outcome="not-found", detail="the span is not in the text")
    with pytest.raises(ConfigError, match="edit 1 of segment s cannot be reverted: it is not-found"):
        revert(Chain(segment=chain().segment, steps=(step("postedit", "one", lost),)), 1)
    with pytest.raises(ConfigError, match="segment s has no edit 9; it has 3"):
        revert(chain(), 9)


@given(st.permutations([1, 2, 3]), st.integers(0, 3))
def test_the_order_of_reverting_does_not_matter(order: list[int], count: int) -> None:
    reverted = chain()
    for number in order[:count]:
        reverted = revert(reverted, number)
    words = ["one" if 1 in order[:count] else "first", "two", "three" if 2 in order[:count] else "3"]
    assert reverted.text == " ".join([*words, "four" if 3 in order[:count] else "fourth!"])


def test_an_edit_right_before_another_of_a_later_step_is_reverted_at_its_place() -> None:
    given = "中国人民银行很大"
    first = step("postedit", given, edit(given, "银行", "商店"))
    second = step("proofread", first.text, edit(first.text, "人民", "大众的"))
    third = step("proofread", second.text, edit(second.text, "的", "之"))
    segment = Segment(id="s", source="x", source_lang="en", target_lang="zh", translation=given)
    three = Chain(segment=segment, steps=(first, second, third))
    assert three.text == "中国大众之商店很大"
    assert revert(three, 1).text == "中国大众之银行很大"
    assert revert(revert(three, 3), 2).text == "中国人民商店很大"
