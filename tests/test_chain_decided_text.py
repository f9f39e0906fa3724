"""What people's decisions make of a chain: any order, any undo, later edits moved along, pairs kept together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.chain.decided_text import checked, decided, numbered
from mtagent.chain.guards import GUARDS
from mtagent.errors import ConfigError
from mtagent.records import Chain, Edit, ErrorSpan, Outcome, Rating, Segment, Stage, Step
from mtagent.records.decisions import Decision, latest
from mtagent.text import edits


def edit(text: str, old: str, new: str, outcome: Outcome = "applied") -> Edit:
    start = text.index(old)
    return Edit(old=old, new=new, start=start, end=start + len(old), outcome=outcome)


def step(stage: Stage, text: str, *changes: Edit) -> Step:
    after = edits.apply(text, changes)
    verdict = "kept" if after != text else "rejected"
    return Step(stage=stage, text=after, proposed=after, edits=changes, verdict=verdict, cause="better")


def chain_of(translation: str, *steps: Step, source: str = "x", lang: str = "es") -> Chain:
    segment = Segment(id="s", source=source, source_lang="en", target_lang=lang, translation=translation)
    return Chain(segment=segment, steps=steps)


def chain() -> Chain:
    given = "one two three four"
    first = step("postedit", given, edit(given, "one", "first"), edit(given, "three", "tres"))
    second = step("proofread", first.text, edit(first.text, "four", "fourth!"))
    return chain_of(given, first, second)


def say(verdict: str, number: int | None = None, text: str | None = None) -> Decision:
    return Decision.model_validate({"segment": "s", "edit": number, "verdict": verdict, "text": text})


def text_of(chain: Chain, *history: Decision) -> str:
    return decided(chain, history).text


def test_one_edit_is_taken_back_and_later_ones_stay() -> None:
    assert text_of(chain(), say("reject", 1)) == "one two tres fourth!"
    assert text_of(chain(), say("reject", 1), say("reject", 3)) == "one two tres four"
    assert text_of(chain(), say("reject", 1), say("undecided", 1)) == "first two tres fourth!"


def test_a_rejected_segment_has_the_given_text_and_edits_that_are_accepted_afterwards() -> None:
    assert text_of(chain(), say("accept", 1), say("reject")) == "one two three four"
    assert text_of(chain(), say("accept", 1), say("reject"), say("accept", 2)) == "one two tres four"
    assert text_of(chain(), say("reject", 2), say("reject"), say("undecided")) == "first two three fourth!"


def test_own_texts_stand_for_an_edit_and_for_a_segment() -> None:
    assert text_of(chain(), say("text", 1, "First of all")) == "First of all two tres fourth!"
    own = decided(chain(), [say("reject", 1), say("text", None, "all mine")])
    assert (own.text, own.approved) == ("all mine", True)
    assert text_of(chain(), say("text", None, "all mine"), say("undecided")) == "first two tres fourth!"


def test_a_refused_edit_is_accepted_and_what_the_guards_have_against_it_is_shown() -> None:
    given = "Hay 5 casas."
    refused = edit(given, "5", "6", "refused")
    result = decided(
        chain_of(given, step("postedit", given, refused), source="There are 5 houses."), [say("accept", 1)]
    )
    assert result.text == "Hay 6 casas."
    assert {damage.guard for damage in result.findings} == {"numbers"}


def test_an_edit_under_a_reworded_sentence_is_taken_back_and_the_rest_of_the_rewording_stays() -> None:
    given = "The cat sat upon the mat."
    first = step("postedit", given, edit(given, "cat", "dog"))
    second = step("proofread", first.text, edit(first.text, first.text, "The dog was sitting on the mat."))
    both = chain_of(given, first, second)
    result = decided(both, [say("reject", 1)])
    assert result.text == "The cat was sitting on the mat."
    assert result.edits[1].stands == "whole"
    third = step("proofread", first.text, edit(first.text, first.text, "The puppy sat on the mat."))
    result = decided(chain_of(given, first, third), [say("reject", 1)])
    assert result.text == "The cat sat on the mat."
    assert result.remarks == ("edit 2: is in the text in part: another edit has changed the rest of its place",)


def reworded() -> Chain:
    """The proofreading rewords a sentence with the word that the post-edit brought."""
    given = "The text is erronous today."
    first = step("postedit", given, edit(given, "erronous", "wrong"))
    second = step("proofread", first.text, edit(first.text, first.text, "The text is incorrect now."))
    return chain_of(given, first, second)


@pytest.mark.parametrize("history", [[say("reject", 1), say("accept", 2)], [say("reject"), say("accept", 2)]])
def test_an_accepted_edit_replaces_the_words_from_before_an_edit_that_was_taken_back(history: list[Decision]) -> None:
    result = decided(reworded(), history)
    assert result.text == "The text is incorrect now."
    assert [row.stands for row in result.edits] == ["no", "whole"]
    assert not result.remarks


def test_an_accepted_edit_replaces_no_words_that_a_person_wrote_and_the_segment_is_not_approved_then() -> None:
    given = "a wrong text"
    first = step("postedit", given, edit(given, "wrong", "false"))
    both = chain_of(given, first, step("proofread", first.text, edit(first.text, "false", "incorrect")))
    history = [say("text", 1, "bad"), say("accept", 2)]
    result = decided(both, history)
    assert result.text == "a bad text"
    assert result.remarks == ("edit 2: isn't in the text: another edit has changed its place",)
    assert not result.approved
    assert decided(both, [*history, say("accept")]).approved


def test_two_edits_that_make_the_same_change_are_both_in_the_text() -> None:
    given = "of varied degrees"
    change = edit(given, "varied degrees", "varying degree")
    same = edit(given, given, "of varying degree", "overlapping")
    result = decided(chain_of(given, step("postedit", given, change, same)), [say("accept", 1), say("accept", 2)])
    assert result.text == "of varying degree"
    assert [row.stands for row in result.edits] == ["whole", "whole"]
    assert not result.remarks


def test_words_that_an_edit_left_alone_stay_if_it_is_taken_back_and_a_later_one_accepted() -> None:
    given = "a very big house"
    first = step("postedit", given, edit(given, "very big", "big"))
    second = step("proofread", first.text, edit(first.text, "big", "large"))
    assert text_of(chain_of(given, first, second), say("reject", 1), say("accept", 2)) == "a very large house"


def test_an_accepted_edit_goes_before_one_that_covers_its_place() -> None:
    given = "a big house"
    made = edit(given, "big house", "mansion")
    other = edit(given, "big", "large", "overlapping")
    result = decided(chain_of(given, step("postedit", given, made, other)), [say("accept", 2)])
    assert result.text == "a large house"
    assert [row.stands for row in result.edits] == ["no", "whole"]
    assert result.remarks == ("edit 1: isn't in the text: another edit has changed its place",)


def test_a_later_edit_does_not_change_words_of_an_own_text_that_the_machine_has_as_well() -> None:
    given = "a big home stands"
    first = step("postedit", given, edit(given, "big home", "huge home"))
    second = step("proofread", first.text, edit(first.text, "home", "flat"))
    result = decided(chain_of(given, first, second), [say("text", 1, "tall home")])
    assert result.text == "a tall home stands"
    assert result.remarks == ("edit 2: isn't in the text: another edit has changed its place",)


def found(before: str, errors: Sequence[ErrorSpan], *changes: Edit) -> Step:
    """A post-edit by errors that an editor found."""
    ratings = (Rating(evaluator="editor", role="editor", score=-5, errors=tuple(errors)),)
    return step("postedit", before, *changes).model_copy(update={"ratings": ratings})


def test_an_accepted_edit_corrects_its_error_and_not_another_one_that_reads_the_same() -> None:
    given = "the bank and the bank"
    span = ErrorSpan(text="bank", category="accuracy", severity="major", suggestion="shore")
    made = edit(given, "bank", "shore").model_copy(update={"span": span})
    refused = Edit(old="bank", new="shore", start=17, end=21, outcome="refused", span=span)
    left = {
        (): ["bank"],
        (say("accept", 1),): ["bank"],
        (say("accept", 1), say("reject", 2)): ["bank"],
        (say("accept", 2),): [],
    }
    both = chain_of(given, found(given, [span, span], made, refused))
    for history, texts in left.items():
        assert [error.text for error in decided(both, history).errors_left] == texts
    neither = chain_of(given, found(given, [span, span], made.model_copy(update={"outcome": "refused"}), refused))
    assert [len(decided(neither, history).errors_left) for history in left] == [2, 1, 1, 1]


def test_errors_without_words_that_two_steps_found_are_two_errors() -> None:
    given = "the bank"
    stiff, dated = (
        ErrorSpan(text="", category="style", severity="major", explanation=reason) for reason in ("stiff", "dated")
    )
    result = decided(chain_of(given, found(given, [stiff]), found(given, [stiff, dated])), ())
    assert [error.explanation for error in result.errors_left] == ["stiff", "dated"]


QUOTED = 'Dijo "sí" al plan.'


def quotes(outcome: Outcome) -> Chain:
    opening = Edit(old='"', new="«", start=5, end=6, outcome=outcome)
    closing = Edit(old='"', new="»", start=8, end=9, outcome=outcome)
    other = edit(QUOTED, "plan", "proyecto", outcome)
    return chain_of(QUOTED, step("postedit", QUOTED, opening, closing, other), source='He said "yes" to the plan.')


@pytest.mark.parametrize("number", [1, 2])
def test_both_quotation_marks_are_taken_back_and_accepted_together(number: int) -> None:
    back = decided(quotes("applied"), [say("reject", number)])
    assert back.text == 'Dijo "sí" al proyecto.'
    assert back.remarks == (f"edit {3 - number}: taken back with edit {number}: they belong together",)
    there = decided(quotes("refused"), [say("accept", number)])
    assert there.text == "Dijo «sí» al plan."
    assert there.remarks == (f"edit {3 - number}: accepted with edit {number}: they belong together",)


def test_who_decides_on_both_quotation_marks_gets_what_was_decided_and_is_told() -> None:
    result = decided(quotes("applied"), [say("reject", 1), say("accept", 2)])
    assert result.text == 'Dijo "sí» al proyecto.'
    assert result.remarks == ("edit 1: belongs together with edit 2, which is in the text",)
    assert [damage.guard for damage in result.findings] == ["quotes"]


def test_a_decision_about_another_text_is_stale() -> None:
    decision = checked(chain(), say("reject", 1))
    given = "one two three four"
    again = chain_of(given, step("postedit", given, edit(given, "two", "2")))
    result = decided(again, [decision])
    assert (result.text, result.stale, result.reviewed) == ("one 2 three four", (decision,), False)


def test_a_step_without_places_is_approved_with_the_segment_alone() -> None:
    given = "one two three four"
    first = step("postedit", given, edit(given, "one", "first"))
    reworded = Step(stage="proofread", text="all is new", proposed="all is new", verdict="kept", cause="better")
    both = chain_of(given, first, reworded)
    assert not decided(both, [say("accept", 1)]).approved
    assert decided(both, [say("accept", 1), say("accept")]).approved
    assert decided(chain_of(given, first), [say("accept", 1)]).approved
    more = chain_of(given, first.model_copy(update={"text": "first two three"}))  # not by its edits alone
    assert decided(more, ()).only_whole
    with pytest.raises(ConfigError, match="its step changed the text by more than edits with a place"):
        checked(more, say("reject", 1))


def test_what_cannot_be_decided_says_why() -> None:
    segment = Segment(id="s", source="x", source_lang="en", target_lang="es", translation="a b")
    lost = Edit(old="q", new="r", outcome="not-found", detail="the words are not in the text")
    paper = Edit(old="a", new="c", outcome="applied")
    both = Chain(
        segment=segment,
        steps=(Step(stage="postedit", text="c b", edits=(lost, paper), verdict="kept", cause="x"),),
    )
    with pytest.raises(ConfigError, match="segment s has no edit 9; it has 2"):
        checked(both, say("accept", 9))
    with pytest.raises(ConfigError, match="edit 1 of segment s cannot be accepted: it has no place in the text"):
        checked(both, say("accept", 1))
    with pytest.raises(ConfigError, match="edit 2 of segment s cannot be decided on alone"):
        checked(both, say("reject", 2))
    assert decided(both, [say("reject")]).text == "a b"
    assert decided(both, [say("accept")]).text == "c b"


@pytest.mark.parametrize("text", ["", "   ", "\t\n"])
def test_an_own_text_of_a_segment_is_never_empty_and_that_of_an_edit_may_be(text: str) -> None:
    with pytest.raises(ConfigError, match="segment s: the text is empty; write one, or reject the segment"):
        checked(chain(), say("text", None, text))
    assert text_of(chain(), checked(chain(), say("text", 1, ""))) == " two tres fourth!"


def test_an_own_text_and_a_reason_fit_into_any_file() -> None:
    for number, what in ((None, "segment s"), (1, "edit 1 of segment s")):
        for text, why in (
            ("a\0b", r"the text holds the character NUL \(U\+0000\)"),
            ("x" * 100_001, "the text has 100,001 characters; the most is 100,000"),
            ("one\ntwo", "the text has a line break, and the segment has none"),
            ("one two\r", "the text has a line break, and the segment has none"),
        ):
            with pytest.raises(ConfigError, match=f"^{what}: {why}"):
                checked(chain(), say("text", number, text))
    assert checked(chain(), say("text", None, "x" * 100_000)).text
    for reason, why in (("a\0b", "NUL"), ("x" * 100_001, "the most is 100,000")):
        with pytest.raises(ConfigError, match=f"the reason .*{why}"):
            checked(chain(), say("accept").model_copy(update={"reason": reason}))


@pytest.mark.parametrize(("source", "given"), [("x\ny", "a b"), ("x", "a\nb")])
def test_a_line_break_is_no_fault_where_the_segment_has_one(source: str, given: str) -> None:
    assert checked(chain_of(given, source=source), say("text", None, "a\n\nb")).text == "a\n\nb"


WORDS = st.lists(st.sampled_from(["ab", "bc", "cd", "de", "ef", "1", "2", "«x»", "(", ")"]), min_size=1, max_size=8)


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """A chain of two or three steps with edits of every outcome, as the machine leaves them."""
    given = text = " ".join(draw(WORDS))
    steps = []
    for stage in draw(st.sampled_from([("postedit",), ("postedit", "proofread"), ("rules", "postedit", "proofread")])):
        changes = list(edits.between(text, " ".join(draw(WORDS)))) if draw(st.booleans()) else []
        for _ in range(draw(st.integers(0, 4))):
            start = draw(st.integers(0, len(text)))
            end = draw(st.integers(start, min(len(text), start + 4)))
            new = "".join(draw(st.lists(st.sampled_from("XYZ "), max_size=3)))
            one = Edit(old=text[start:end], new=new, start=start, end=end, outcome="applied")
            others = [other for other in changes if other.outcome == "applied"]
            free = all((one.end or 0) < (o.start or 0) or (o.end or 0) < start for o in others)
            outcome = "applied" if free and draw(st.booleans()) else draw(st.sampled_from(["refused", "overlapping"]))
            changes.append(one.model_copy(update={"outcome": outcome}))
        steps.append(step(stage, text, *changes))
        text = steps[-1].text
    return chain_of(given, *steps)


def decisions_on(chain: Chain) -> st.SearchStrategy[list[Decision]]:
    numbers = st.sampled_from([None, *(number for number, _, _ in numbered(chain))])
    return st.lists(st.builds(say, st.sampled_from(["accept", "reject", "undecided"]), numbers), max_size=8)


def pieces(chain: Chain) -> str:
    return chain.segment.translation + "".join(edit.new for step in chain.steps for edit in step.edits)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_decisions_give_a_text_of_the_machines_edits_alone(data: st.DataObject) -> None:
    made = data.draw(chains())
    history = data.draw(decisions_on(made))
    result = decided(made, history)
    allowed = set(pieces(made))
    assert set(result.text) <= allowed
    kept = sum(len(row.edit.new) for row in result.edits if row.stands != "no")
    assert len(result.text) <= len(made.segment.translation or "") + kept
    if not latest(history):
        assert result.text == made.text


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_undoing_everything_gives_the_machines_text_back(data: st.DataObject) -> None:
    made = data.draw(chains())
    history = data.draw(decisions_on(made))
    undo = [say("undecided", number) for number in data.draw(st.permutations([d.edit for d in history]))]
    assert decided(made, [*history, *undo]).text == made.text


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_accepting_what_stands_changes_nothing_and_rejecting_all_gives_the_given_text(data: st.DataObject) -> None:
    made = data.draw(chains())
    applied = [number for number, _, edit in numbered(made) if edit.outcome == "applied"]
    assert text_of(made, *(say("accept", number) for number in applied)) == made.text
    assert text_of(made, *(say("reject", number) for number in applied)) == made.given
    assert text_of(made, say("reject")) == made.given


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_order_of_decisions_about_different_edits_does_not_matter(data: st.DataObject) -> None:
    made = data.draw(chains())
    history: Sequence[Decision] = [d for d in data.draw(decisions_on(made)) if d.edit is not None]
    history = list({decision.edit: decision for decision in history}.values())
    assert text_of(made, *data.draw(st.permutations(history))) == text_of(made, *history)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_edits_of_other_words_stand_as_they_were_decided_whatever_step_made_them(data: st.DataObject) -> None:
    """Each word is edited once, in any step: then the text is exactly the given one with the edits that were kept."""
    words = [f"w{place}" for place in range(data.draw(st.integers(1, 7)))]
    edited = data.draw(st.permutations(range(len(words))))[: data.draw(st.integers(0, len(words)))]
    bounds = sorted(data.draw(st.lists(st.integers(0, len(edited)), min_size=2, max_size=2)))
    text, steps = " ".join(words), []
    for places in (edited[: bounds[0]], edited[bounds[0] : bounds[1]], edited[bounds[1] :]):
        outcomes = [data.draw(st.sampled_from(["applied", "refused"])) for _ in places]
        new = [data.draw(st.sampled_from(["", "v", "longer words here"])) for _ in places]
        changes = [
            edit(text, f"w{place}", word, outcome) for place, word, outcome in zip(places, new, outcomes, strict=True)
        ]
        steps.append(step("postedit", text, *changes))
        text = steps[-1].text
    made = chain_of(" ".join(words), *steps)
    history, expected = [], dict(enumerate(words))
    for number, _, change in numbered(made):
        verdict = data.draw(st.sampled_from(["accept", "reject", "undecided"]))
        history.append(say(verdict, number))
        if verdict == "accept" or (verdict == "undecided" and change.outcome == "applied"):
            expected[int(change.old[1:])] = change.new
    result = decided(made, history, skip=GUARDS.keys())
    assert result.text == " ".join(expected.values())
    assert not result.remarks
