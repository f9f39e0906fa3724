"""Names that a translation has as its source has them: only what is certain."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mtagent.text.terms import KeptNames


@pytest.mark.parametrize(
    ("pairs", "source", "kept"),
    [
        ([("We met Ilse Marlow.", "Nos vio Ilse Marlow.")], "Marlow left.", ["Marlow"]),
        ([("Marlow left.", "Marlow se fue.")], "Then Marlow came.", ["Marlow"]),
        ([("Marlow left.", "Marlow se fue.")], "Marlow came.", []),  # a word that only ever began a sentence
        ([("We saw Prague.", "Vimos Praga.")], "In Prague it rained.", []),  # translated: which word it is, is a guess
        ([("We saw Prague.", "Vimos Praga."), ("To Prague.", "A Prague.")], "Of Prague.", ["Prague"]),
        ([("To Prague.", "A Prague."), ("We saw Prague.", "Vimos Praga.")], "Of Prague.", []),  # the last one counts
        ([("The In Crowd, in town", "The In Crowd, en")], "All In Crowd.", ["Crowd"]),  # "in" is also a small word
        ([("with COVID-19 and iOS", "con COVID-19 e iOS")], "after COVID-19 on iOS", ["COVID-19", "iOS"]),
        ([("call O'Brien and D’Arcy", "O'Brien y D’Arcy")], "so D’Arcy and O'Brien", ["D’Arcy", "O'Brien"]),
        ([("We met Marlow.", "Spotkaliśmy Marlowa.")], "To Marlow.", []),  # inflected
        ([("我们买了Tesla的股票", "We bought Tesla shares")], "因此Tesla很好", ["Tesla"]),
        ([("the Green Park", "el Green Park")], "at Green Park, I", ["Green", "Park"]),
        ([("We met МАРЛО in Łódź", "МАРЛО, Łódź")], "of Łódź and МАРЛО", ["Łódź", "МАРЛО"]),
        ([], "To Marlow.", []),
    ],
)
def test_a_name_is_kept_while_the_last_translation_has_it_letter_by_letter(
    pairs: Sequence[tuple[str, str]], source: str, kept: list[str]
) -> None:
    names = KeptNames()
    for former, translation in pairs:
        names.add(former, translation)
    assert names.kept_in(source) == kept
