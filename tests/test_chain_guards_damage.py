"""Damage that has a guard by kind: units, questions, doubled and leftover words, widths, quotation marks, numerals."""

from __future__ import annotations

import pytest

from mtagent.chain.guards import damages
from mtagent.chain.translation import read_revision
from mtagent.evaluators.rules import Rules
from mtagent.records import ErrorSpan, Segment
from mtagent.text import edits, scripts, units


def segment_of(pair: str, source: str) -> Segment:
    source_lang, _, target_lang = pair.partition("-")
    return Segment(id="1", source=source, source_lang=source_lang, target_lang=target_lang)


ROWS = [
    ("units", "en-de", "Dissolve 5 mg per 10 ml.", "Lösen Sie 5 mg in 10 ml auf.", "Lösen Sie 5 µg in 10 ml auf."),
    ("units", "en-fr", "Sugar: 5 mg/dl", "Sucre : 5 mg/dl", "Sucre : 5 mg/l"),
    ("units", "en-es", "It has 90 square meters.", "El jardín mide 90 metros cuadrados.", "El jardín mide 90 m."),
    ("units", "en-ru", "The garden has 90 m².", "Площадь сада 90 кв. м.", "Площадь сада 90 куб. м."),
    ("units", "en-pl", "Rest for two hours.", "Odpocznij dwie godziny.", "Odpocznij dwie minuty."),
    ("units", "en-zh", "The prize is 2 million dollars.", "奖金为200万美元。", "奖金为200万欧元。"),
    ("end", "en-sv", "Is the lamp on?", "Är lampan tänd?", "Är lampan tänd."),
    ("end", "en-zh", "Is the lamp on?", "灯开着吗？", "灯开着吗。"),
    ("end", "en-cs", "The lamp is on.", "Lampa svítí.", "Lampa svítí?"),
    ("repetition", "en-nl", "The lamp and the bulb.", "De lamp en de peer.", "De lamp en en de peer."),
    ("repetition", "en-ja", "Turn on the lamp.", "ランプをつけます。", "ランプををつけます。"),
    ("repetition", "en-hi", "The lamp is on.", "दीपक जल रहा है।", "दीपक जल रहा है है।"),
    ("script", "en-de", "Turn the lamp off before you leave.", "Schalten Sie die Lampe vorher aus.",
     "Schalten Sie die Lampe before you aus."),
    ("script", "en-ru", "Check the brake fluid today.", "Проверьте тормозную жидкость сегодня.",
     "Проверьте brake fluid сегодня."),
    ("width", "en-pl", "Room 12", "Pokój 12", "Pokój １２"),
    ("width", "en-zh", "Turn it off, please.", "请关掉，谢谢。", "请关掉,谢谢。"),
    ("quotes", "en-de", 'The "Lamp" menu', "Das Menü „Lampe“", 'Das Menü „Lampe"'),
    ("quotes", "en-es", "Is the lamp on?", "¿Está encendida?", "Está encendida?"),
    ("numbers", "en-fr", "Henry VIII died.", "Henri VIII est mort.", "Henri VII est mort."),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "pair", "source", "good", "bad"), ROWS, ids=[f"{r[0]} {r[1]} {r[2]}" for r in ROWS])
def test_damage_is_refused_by_its_guard_and_its_repair_passes(
    guard: str, pair: str, source: str, good: str, bad: str
) -> None:
    segment = segment_of(pair, source)
    assert guard in {damage.guard for damage in damages(segment, good, bad)}
    assert damages(segment, bad, good) == ()
    assert guard not in {damage.guard for damage in damages(segment, bad, f"{bad} ")}  # it was there before


@pytest.mark.parametrize(("pair", "source", "good", "bad"), [
    ("en-nl", "The lamp must stay on.", "De lamp moet aan blijven.", "De lamp moet moet aan blijven."),
    ("en-de", "The cat is asleep.", "Die Katze schläft.", "Die Katze schläft schläft."),
    ("en-zh", "Turn off the lamp.", "请关掉台灯。", "请关掉台灯台灯。"),
])  # fmt: skip
def test_a_doubled_word_that_the_language_may_double_is_a_doubt(pair: str, source: str, good: str, bad: str) -> None:
    segment = segment_of(pair, source)
    assert damages(segment, good, bad) == ()
    assert {damage.guard for damage in damages(segment, good, bad, doubts=True)} == {"repetition"}
    assert damages(segment, bad, good, doubts=True) == ()
    assert damages(segment, bad, f"{bad} ", doubts=True) == damages(segment, bad, f"{bad} ")


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("80 square meters", "en", ["m²"]),
        ("80 metros cuadrados", "es", ["m²"]),
        ("80 кв. м", "ru", ["m²"]),
        ("広さは80平方メートル", "ja", ["m²"]),
        ("80 Kubikmeter, 80 m3", "de", ["m³", "m³"]),
        ("4 mmol/l", "fr", ["mmol", "/l"]),
        ("大さじ2", "ja", ["tbsp"]),
        ("2 c. à s.", "fr", ["tbsp"]),
        ("A$5, R$ 5, CHF 5, 5 zł", "en", ["A$", "R$", "CHF", "zł"]),
        ("三周", "zh", ["week"]),
        ("the 1990s", "en", []),
        ("5 cubes, 3 quadrants", "en", []),
    ],
)
def test_units_are_read_in_signs_and_words(text: str, lang: str, expected: list[str]) -> None:
    assert [quantity.unit for quantity in units.quantities(text, lang)] == expected


def test_a_suggestion_is_applied_without_the_zero_width_space_that_it_brings() -> None:
    error = ErrorSpan(
        text="Haus",
        start=4,
        end=8,
        category="fluency",
        severity="minor",
        suggestion="Ge\u200bbäude\ufeff",
    )
    (edit,) = edits.locate("Das Haus", [error])
    assert edits.apply("Das Haus", [edit]) == "Das Gebäude"


def test_a_rewording_is_taken_without_the_zero_width_spaces_that_it_brings() -> None:
    assert edits.apply("Das Haus.", edits.between("Das Haus.", "Ein \u200bHaus.")) == "Ein Haus."
    segment = segment_of("en-de", "The house is old.")
    assert read_revision("Das \u200bHaus ist alt.", segment, "Das Haus ist alt") == "Das Haus ist alt."


@pytest.mark.parametrize("text", ["គេហទំព័រ\u200bរបស់យើង", "می\u200cخواهم", "👩\u200d🔧", "สวัสดี\u200bครับ"])
def test_what_divides_or_joins_letters_stays(text: str) -> None:
    assert scripts.without_stray_spaces(text) == text


def test_zero_width_spaces_stay_where_the_text_before_has_some() -> None:
    assert scripts.without_stray_spaces("a\u200bb", "c\u200bd") == "a\u200bb"


@pytest.mark.parametrize(
    ("pair", "source", "translation"),
    [
        ("en-de", "He left , she stayed .", "Er ging , sie blieb."),
        ("fr-en", "Il est parti , elle est restée .", "He left , she stayed."),
        ("en-de", "He left , she stayed .", "Er ging , sie blieb"),
        ("en-fr", "Is it new ?", "Est-ce nouveau?"),
    ],
)
def test_tokenised_text_is_not_corrected_where_its_source_is_tokenised(
    pair: str, source: str, translation: str
) -> None:
    found = Rules().find(segment_of(pair, source), translation)
    assert [error.suggestion for error in found if error.suggestion is not None] == []


def test_a_quotation_mark_that_changes_alone_waits_for_its_partner() -> None:
    segment = segment_of("en-de", 'Press "Go".')
    before, after = 'Drücken Sie "Los".', "Drücken Sie „Los“."
    assert damages(segment, before, before.replace(' "', " „")) != ()
    assert damages(segment, before, after) == ()
