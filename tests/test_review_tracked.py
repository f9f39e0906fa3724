"""The text of a chain with every edit in its place (tracked changes)."""

from __future__ import annotations

import pytest

from mtagent.chain.decided_text import decided
from mtagent.records import Chain, Edit, PlainCause, Step
from mtagent.records.decisions import Decision
from mtagent.review.tracked import UNNUMBERED, Piece, codes_of_pieces, tracked, tracked_as_decided
from tests.report_runs import edited, error, many, rejected, segment, varied


def shown(pieces: list[Piece]) -> list[tuple[str, int | None, list[int]]]:
    return [(piece.text, piece.brought, piece.taken) for piece in pieces]


def applied(chain: Chain) -> str:
    """The machine's text, put together from the pieces again."""
    return "".join(piece.text for piece in tracked(chain) if piece.is_after)


def step(stage: str, before: str, *edits: Edit, text: str | None = None, verdict: str = "kept") -> Step:
    fields = {"stage": stage, "edits": edits, "verdict": verdict, "cause": PlainCause(kind="unchecked")}
    return Step(text=before if text is None else text, **fields)


def edit(before: str, old: str, new: str, outcome: str = "applied") -> Edit:
    start = before.index(old)
    return Edit(old=old, new=new, start=start, end=start + len(old), outcome=outcome)


def test_an_edit_takes_and_brings_only_the_words_that_it_changes() -> None:
    given = "Die alte Bank des Flusses."
    chain = edited(
        segment("s", "The old bank.", given),
        "Das alte Ufer des Flusses.",
        error(given, "Die alte Bank", "Das alte Ufer"),
    )
    assert shown(tracked(chain)) == [
        ("Die", None, [1]), ("Das", 1, []), (" alte ", None, []), ("Bank", None, [1]), ("Ufer", 1, []),
        (" des Flusses.", None, []),
    ]  # fmt: skip


def test_a_later_step_takes_what_an_earlier_one_brought_and_a_rejected_edit_leaves_all_in_place() -> None:
    given, second, third = "Ein altes Haus.", "Ein neues Haus.", "Ein ganz neues Haus."
    chain = Chain(
        segment=segment("s", "A house.", given),
        steps=(
            step("postedit", given, edit(given, "altes", "neues"), text=second),
            step("rules", second, edit(second, "neues", "kleines", "refused"), verdict="rejected"),
            step("proofread", second, edit(second, "neues", "ganz neues"), text=third),
        ),
    )
    assert shown(tracked(chain)) == [
        ("Ein ", None, []), ("altes", None, [1]), ("ganz ", 3, []), ("neues", 1, [2]), ("kleines", 2, []),
        (" Haus.", None, []),
    ]  # fmt: skip
    assert applied(chain) == third


def test_an_accepted_edit_takes_the_words_from_before_an_edit_that_was_taken_back() -> None:
    given, second, third = "Ein altes Haus.", "Ein neues Haus.", "Ein schönes Haus."
    chain = Chain(
        segment=segment("s", "A house.", given),
        steps=(
            step("postedit", given, edit(given, "altes", "neues"), text=second),
            step("proofread", second, edit(second, "neues", "schönes"), text=third),
        ),
    )
    history = [Decision(segment="s", edit=1, verdict="reject"), Decision(segment="s", edit=2, verdict="accept")]
    result = decided(chain, history)
    assert result.text == third
    pieces, is_tracked = tracked_as_decided(result)
    assert is_tracked
    assert shown(pieces) == [
        ("Ein ", None, []), ("altes", None, [1, 2]), ("neues", 1, [2]), ("schönes", 2, []), (" Haus.", None, []),
    ]  # fmt: skip
    own = Decision(segment="s", edit=1, verdict="text", text="kleines")
    assert not tracked_as_decided(decided(chain, [own]))[1]  # no edit has these words


def test_a_step_that_its_edits_do_not_explain_is_one_change_without_a_number() -> None:
    given, after = "Die Bank des Flusses.", "Das Ufer eines Flusses."
    chain = Chain(
        segment=segment("s", "The bank.", given),
        steps=(step("postedit", given, edit(given, "Die", "Das"), text=after),),
    )
    pieces = tracked(chain)
    assert {piece.brought for piece in pieces} == {None, UNNUMBERED}
    assert applied(chain) == after


def test_a_fresh_translation_is_the_text_from_the_start_and_its_steps_count() -> None:
    first = edit("x", "x", "y", "not-found")
    translate = step("translate", "", first.model_copy(update={"start": None, "end": None}), text="Ein Haus.")
    chain = Chain(
        segment=segment("s", "A house.", None),
        steps=(translate, step("postedit", "Ein Haus.", edit("Ein Haus.", "Ein", "Das"), text="Das Haus.")),
    )
    assert shown(tracked(chain)) == [("Ein", None, [2]), ("Das", 2, []), (" Haus.", None, [])]


@pytest.mark.parametrize("chain", [*varied(), *many(30)], ids=lambda chain: chain.segment.id)
def test_the_pieces_make_the_given_and_the_machines_text(chain: Chain) -> None:
    assert applied(chain) == chain.text
    assert "".join(piece.text for piece in tracked(chain) if piece.brought is None) == (chain.given or "")


def test_insertions_at_one_place_stand_in_the_order_of_the_edits_and_characters_beyond_utf_16_count_once() -> None:
    given = "👩‍👩‍👧 Haus 👍 da."
    at = given.index(" da")
    inserted = [Edit(old="", new=new, start=at, end=at, outcome="refused") for new in (" hier", " dort")]
    chain = rejected(
        Chain(segment=segment("s", "x", given), steps=(step("postedit", given, *inserted, verdict="rejected"),)),
        given.replace("👍", "👎"), "no",
    )  # fmt: skip
    assert shown(tracked(chain)) == [
        ("👩‍👩‍👧 Haus ", None, []), ("👍", None, [3]), ("👎", 3, []), (" hier", 1, []), (" dort", 2, []),
        (" da.", None, []),
    ]  # fmt: skip


def test_an_edit_inside_of_a_tag_or_placeholder_takes_all_of_it() -> None:
    given = "Zahlen {name} <b>jetzt</b>."
    broken = edit(given, "name", "nom", "refused")
    across = edit(given, "b>jetzt", "i>nun")
    text = "Zahlen {name} <i>nun</b>."
    chain = Chain(segment=segment("s", "x", given), steps=(step("postedit", given, broken, across, text=text),))
    assert shown(tracked(chain)) == [
        ("Zahlen ", None, []), ("{name}", None, [1]), ("{nom}", 1, []), (" ", None, []), ("<b>jetzt", None, [2]),
        ("<i>nun", 2, []), ("</b>.", None, []),
    ]  # fmt: skip
    assert applied(chain) == text


def test_codes_are_found_in_the_texts_that_the_pieces_make() -> None:
    given = "{n, plural, one {# Datei} other {# Dateien}}"
    after = given.replace("Dateien", "Akten")
    chain = edited(segment("s", "x", given), after, error(given, "Dateien", "Akten"))
    pieces = tracked(chain)
    codes = [
        [piece.text[c.start : c.end] for c in found]
        for piece, found in zip(pieces, codes_of_pieces(pieces), strict=True)
    ]
    assert codes == [["{n, plural, one {", "#", "} other {", "#"], [], [], ["}}"]]
