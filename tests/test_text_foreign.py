"""Output that is no translation: flags, and the share of a text that was translated."""

from __future__ import annotations

from typing import Any

import pytest

from mtagent.records import Segment
from mtagent.text.foreign import copied_share, flags, translated_share


def segment(source: str, pair: str = "en-de") -> Segment:
    source_lang, target_lang = pair.split("-")
    return Segment(id="1", source=source, source_lang=source_lang, target_lang=target_lang)


EN_ES = Segment(
    id="1", source="The council approved the plan last week.", source_lang="en", target_lang="es",
    reference="El consejo aprobó el plan la semana pasada.",
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "translation", "expected"),
    [
        ({}, "El ayuntamiento dio luz verde al plan.", ()),
        ({}, None, ("missing",)),
        ({}, "  ", ("empty",)),
        ({"source": " ", "reference": None}, "", ()),
        ({}, "The council approved the plan last week.", ("copied",)),
        ({"reference": "The council approved the plan last week."}, "The council approved the plan last week.", ()),
        ({"reference": None}, "The council approved the plan last week.", ("copied",)),
        ({"target_lang": "en-GB"}, "The council approved the plan last week.", ()),
        ({}, "Совет одобрил план на прошлой неделе.", ("script",)),
        ({}, "El consejo (совет) aprobó el plan la semana pasada.", ()),
        ({"reference": None}, "議会は先週その計画を承認した。", ("script",)),
        ({"source": "Nokia Corporation", "reference": None}, "Nokia Corporation", ()),
        ({"source": "Good morning"}, "Good morning", ("copied",)),
        ({"target_lang": "und"}, "Совет одобрил план.", ()),
        ({"target_lang": "uk", "reference": "Рада схвалила план тижня."}, "I cannot translate this.", ("script",)),
        ({"target_lang": "uk", "reference": None}, "I cannot translate this.", ("script",)),
        ({"target_lang": "uk", "reference": None}, "Рада схвалила plan.", ()),
        ({"target_lang": "uk", "reference": None}, "We did not схвалила plan.", ("script",)),
        ({"target_lang": "uk", "reference": "OK"}, "I cannot translate this.", ()),
        ({"target_lang": "uk", "reference": "Рада схвалила план тижня."}, EN_ES.source, ("copied", "script")),
        ({"target_lang": "ja", "reference": "議会は先週その計画を承認した。"}, "議会は計画を承認しました。", ()),
    ],
)  # fmt: skip
def test_flags(changes: dict[str, Any], translation: str | None, expected: tuple[str, ...]) -> None:
    assert flags(EN_ES.model_copy(update=changes), translation) == expected


@pytest.mark.parametrize(
    ("source", "text", "pair", "share"),
    [
        ("The bridge is closed today.", "Die Brücke ist heute gesperrt.", "en-de", 1),
        ("The bridge is closed today.", "The bridge is closed today.", "en-de", 0),
        ("The bridge is closed today.", "the bridge is closed today", "en-de", 0),
        ("The bridge is closed today.", "The bridge is closed today.", "en-en", 1),
        ("The bridge is closed.", "El puente: The bridge is closed.", "en-es", 1 / 3),
        ("save", "save", "en-de", 0),
        ("London", "London", "en-de", 1),
        ("New York City", "New York City", "en-de", 1),
        ("PLEASE CLOSE THE DOOR BEHIND YOU", "PLEASE CLOSE THE DOOR BEHIND YOU", "en-de", 0),
        ("12:30", "12:30", "en-de", 1),
        ("@user8", "@user8", "en-de", 1),
        ("@user8 #science", "@user8 #science", "en-de", 1),
        ("{name} – https://example.org", "{name} – https://example.org", "en-de", 1),
        ("The bridge is closed.", "Мост закрыт.", "en-de", 0),
        ("The bridge is closed.", "Мост закрыт.", "en-uk", 1),
        ("Привіт усім", "Hello everyone", "uk-en", 1),
        ("The bridge is closed.", "A bridge got shut.", "en-ja", 0),
        ("The bridge is closed.", "橋は閉鎖されています。", "en-ja", 1),
        ("Windows Server is closed.", "Windows Server は閉鎖されています。", "en-ja", 1),
        ("橋は閉鎖されています。", "橋は閉鎖されています。", "ja-zh", 0),
        ("", "", "en-de", 1),
    ],
)  # fmt: skip
def test_copies_and_wrong_scripts_are_no_translation(source: str, text: str, pair: str, share: float) -> None:
    assert translated_share(segment(source, pair), text) == pytest.approx(share)


def test_a_copied_part_counts_as_much_as_it_is() -> None:
    source = segment("We met him there on a cold and rainy day in late November.")
    text = "Wir trafen ihn there on a cold and rainy day Ende November."
    assert copied_share(source, text) == pytest.approx(7 / 12)
    assert translated_share(source, text) == pytest.approx(5 / 12)
