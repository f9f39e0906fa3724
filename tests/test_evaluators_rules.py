"""The rules evaluator marks what is certainly wrong, and suggests only certain fixes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mtagent
from mtagent.chain.guards import damages
from mtagent.errors import ConfigError
from mtagent.evaluators.protocol import Evaluator
from mtagent.evaluators.rules import MOST_SPANS, RULES, Rules
from mtagent.records import ErrorSpan, Segment, Term

DATA = Path(os.environ.get("MTAGENT_TEST_DATA", "../shared/data"))


def segment(source: str, target_lang: str, source_lang: str = "en", terms: tuple[Term, ...] = ()) -> Segment:
    return Segment(id="1", source=source, source_lang=source_lang, target_lang=target_lang, terms=terms)


def find(source: str, translation: str, target_lang: str, terms: tuple[Term, ...] = ()) -> tuple[ErrorSpan, ...]:
    return Rules().find(segment(source, target_lang, terms=terms), translation)


def corrected(translation: str, errors: tuple[ErrorSpan, ...]) -> str:
    """``translation`` with all suggestions applied, from right to left."""
    for span in reversed([span for span in errors if span.suggestion is not None]):
        translation = translation[: span.start] + (span.suggestion or "") + translation[span.end :]
    return translation


CERTAIN = [
    ("placeholder", "de", "Hi %s, bye.", "Hallo % s, ade.", "Hallo %s, ade."),
    ("placeholder", "de", "Hi %1$s, bye.", "Hallo % 1 $ s, ade.", "Hallo %1$s, ade."),
    ("placeholder", "ja", "%s is here.", "％sはここです。", "%sはここです。"),
    ("placeholder", "de", "Hi {name}, bye.", "Hallo { name }, ade.", "Hallo {name}, ade."),
    ("placeholder", "de", "Hi {name}, bye.", "Hallo {Name}, ade.", "Hallo {name}, ade."),
    ("placeholder", "fr", "Hi {name}, bye.", "Salut {nom}, ciao.", "Salut {name}, ciao."),
    ("placeholder", "zh", "Hi {name}, bye.", "你好｛name｝，再见。", "你好{name}，再见。"),
    ("placeholder", "de", r"One\ntwo is it.", r"Eins\ Nzwei ist es.", r"Eins\nzwei ist es."),
    ("tag", "de", "A <b>big</b> dog.", "Ein < b >großer</ b > Hund.", "Ein <b>großer</b> Hund."),
    ("tag", "de", "A <b>big</b> dog.", "Ein <B>großer</B> Hund.", "Ein <b>großer</b> Hund."),
    ("URL", "de", "See https://a.org/x now.", "Siehe https: // a.org / x jetzt.", "Siehe https://a.org/x jetzt."),
    ("e-mail", "de", "Ask me@a.org now.", "Frage me @ a.org jetzt.", "Frage me@a.org jetzt."),
    ("number", "de", "In 2015 it rained.", "Im Jahr 2016 hat es geregnet.", "Im Jahr 2015 hat es geregnet."),
    ("number", "de", "In 2015 it rained.", "Im Jahr 2051 hat es geregnet.", "Im Jahr 2015 hat es geregnet."),
    ("Apertium *", "es", "The cat meowed here.", "El gato *meowed aquí.", "El gato meowed aquí."),
    ("Apertium *", "es", "Hello (there)", "Hola (*there)", "Hola (there)"),
    ("Apertium @", "es", "He is here.", "Él @be aquí.", "Él be aquí."),
    ("Apertium #", "en", "Hann er hér.", "He #be here.", "He be here."),
    ("full stop", "de", "He is here now.", "Er ist jetzt hier", "Er ist jetzt hier."),
    ("full stop", "ja", "He is here now.", "彼は今ここにいます", "彼は今ここにいます。"),
    ("full stop", "hi", "He is here now.", "वह अब यहाँ है", "वह अब यहाँ है।"),
    ("space", "de", "Well, he is here.", "Nun , er ist hier.", "Nun, er ist hier."),
    ("space", "fr", "Well, he is here.", "Eh bien , il est là.", "Eh bien, il est là."),
    ("French !", "fr", "Come here now!", "Viens ici!", "Viens ici\u202f!"),
    ("Spanish ¿", "es", "How are you?", "Cómo estás?", "¿Cómo estás?"),
    ("Spanish ¡", "es", "Good morning!", "Buenos días!", "¡Buenos días!"),
    ("full width", "zh", "Yes, he is here.", "是的,他在这里.", "是的，他在这里。"),
    ("full width", "ja", "Yes, he is here.", "はい,彼はここにいます.", "はい、彼はここにいます。"),
    ("doubled", "en", "Der Hund ist da.", "The the dog is here.", "The dog is here."),
    ("doubled", "de", "Cats and dogs are here.", "Katzen und und Hunde sind da.", "Katzen und Hunde sind da."),
    ("doubled", "es", "The house is big.", "La la casa es grande.", "La casa es grande."),
    ("doubled", "es", "I apologise.", "Me me disculpo.", "Me disculpo."),
    ("spaces", "de", "He is here.", "Er ist  hier.", "Er ist hier."),
    ("spaces", "es", "From {a} to {b} or %s.", "De {a}  {b} o  %s.", "De {a} {b} o %s."),
    ("spaces", "es", "Hello! How are you?", "¡Hola!  ¿Qué tal?", "¡Hola! ¿Qué tal?"),
    ("space before", "es", "He is here now.", "Está aquí ahora .", "Está aquí ahora."),
    ("space before", "es", "Hello {name}.", "Hola {name} .", "Hola {name}."),
    ("capital", "de", "He is here.", "er ist hier.", "Er ist hier."),
    ("capital", "ru", "He is here.", "он здесь.", "Он здесь."),
    ("capital", "es", "He is here.", "¡él está aquí!", "¡Él está aquí!"),
    ("format", "de", "It costs 1,234.50 euros.", "Es kostet 1,234.50 Euro.", "Es kostet 1.234,50 Euro."),
    ("format", "en", "Es kostet 1.234,50 Euro.", "It costs 1.234,50 euros.", "It costs 1,234.50 euros."),
    ("entity", "is", 'He said "no".', "Hann sagði &quot;nei&quot;.", 'Hann sagði "nei".'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "translation", "explanation"),
    [
        ("He gave 100,000.", "Dio 100,000.", "number 100 is not in the source, where 100,000 means 100000"),
        ("Open from 11 pm.", "Abierto desde las 11.", "number 11 is not in the source, where 11 means 23"),
        ("Closed in 2015.", "Cerrado en 2015 (2015).", "number 2015 is there twice, in the source once"),
        ("Closed.", "Cerrado en 2015.", "number 2015 is not in the source"),
        ("20 here, 20 there.", "20 aquí.", "number 20 is missing: in the text once, in the source twice"),
    ],
)
def test_the_explanation_states_what_is_wrong_with_a_number(source: str, translation: str, explanation: str) -> None:
    (error,) = find(source, translation, "es")
    assert error.explanation == explanation


def test_an_odd_character_is_marked_where_it_first_is() -> None:
    translation = "Fue hecha \x7f al\u200b se\x7fcretario."
    (error,) = find("It was made to the secretary.", translation, "es")
    assert (error.text, error.start, error.end) == ("\x7f", 10, 11)
    assert error.explanation == "character U+007F; character U+007F; character U+200B"


@pytest.mark.parametrize(("source", "lang", "wrong", "right"), [
    (source, lang, wrong, right) for _, lang, source, wrong, right in CERTAIN
], ids=[f"{what}-{lang}" for what, lang, *_ in CERTAIN])  # fmt: skip
def test_certain_fixes_are_suggested(source: str, lang: str, wrong: str, right: str) -> None:
    errors = find(source, wrong, lang)
    assert corrected(wrong, errors) == right
    assert all(span.suggestion is None for span in find(source, right, lang))


UNCERTAIN = [
    ("accuracy/omission", "de", "Hi {name}.", "Hallo."),
    ("accuracy/addition", "de", "Hi.", "Hallo {name}."),
    ("accuracy/omission", "de", "See https://a.org/x.", "Siehe da."),
    ("accuracy/omission", "de", "There were 585 of them.", "Es gab welche."),
    ("accuracy/addition", "de", "There were some of them.", "Es gab 585 davon."),
    ("accuracy/mistranslation", "de", "It is 60 inches.", "Es sind 152 cm."),
    ("accuracy/untranslated text", "de", "He went home very late.", "He went home very late."),
    ("accuracy/untranslated text", "uk", "The アン version is red.", "Версія アン червона."),
    ("fluency/grammar", "es", "The house is big.", "La casa es es grande."),
    ("fluency/grammar", "de", "The feud between them began.", "Die Fehde zwischen zwischen ihnen begann."),
    ("fluency/punctuation", "de", "It (he) is.", "Es (er ist."),
    ("fluency/punctuation", "de", 'He said "no".', 'Er sagte "nein.'),
    ("fluency/punctuation", "de", "Is he here now?", "Ist er jetzt hier"),
    ("fluency/punctuation", "es", "Juan, how are you?", "Juan, cómo estás?"),
]


@pytest.mark.parametrize(("category", "lang", "source", "translation"), UNCERTAIN)
def test_errors_without_a_certain_fix_are_marked_without_suggestion(
    category: str, lang: str, source: str, translation: str
) -> None:
    errors = find(source, translation, lang)
    assert [(span.category, span.suggestion) for span in errors] == [(category, None)]


CORRECT = [
    ("de", "It costs 1,234.50 (about 50%).", "Es kostet 1.234,50 (etwa 50 %)."),
    ("de", "He had had enough, that was that.", "Er hatte genug, das das war es."),
    ("fr", "We wash; do you?", "Nous nous lavons ; et vous ?"),
    ("fr-CA", "Come here!", "Viens ici!"),
    ("id", "The children play.", "Anak anak bermain main."),
    ("tr", "Walk slowly. It rose 50%.", "Yavaş yavaş yürü. %50 arttı."),
    ("es", "How are you? Fine!", "¿Cómo estás? ¡Bien!"),
    ("de", "iPhone sales rose.", "iPhone-Verkäufe stiegen."),
    ("nl", "In the morning.", "'s Ochtends."),
    ("ja", "He paid 3,000 yen at 10:30.", "彼は10:30に3,000円を払った。"),
    ("zh", "Version 2.0, by Bob.", "2.0版，Bob作。"),
    ("de", "A smile :)", "Ein Lächeln :)"),
    ("de", "1) one", "1) eins"),
    ("es", "Barack Obama, New York", "Barack Obama, New York"),
    ("de", "three dogs", "3 Hunde"),
    ("de", "3 dogs", "drei Hunde"),
    ("de", "See the *note and #tag here.", "Siehe *Notiz und #tag hier."),
    ("de", "a from from b .", "a von von b ."),
    ("cs", "Hello to all of you at AT&amp;T.", "Ahoj vám všem v AT&amp;T."),
    ("th", "He is here now.", "เขาอยู่ที่นี่ตอนนี้"),
    ("ar", "He is here.", "هو هنا."),
    ("de", "| a | b |", "| a  | b |"),
    ("de", "In Louis XVIII's time.", "Zur Zeit von Ludwig dem 18."),
    ("de", "{{PLURAL:$1|file|files}} changed", "{{PLURAL:$1|Datei|Dateien}} geändert"),
    ("de", "Open config.yaml with --all.", "Öffnen Sie die config.yaml-Datei mit der --all-Option."),
    ("de", "He left --and never came back.", "Er ging – und kam nie wieder."),
    ("fr", "Order #123456 has shipped.", "La commande n°\u202f123456 a été expédiée."),
]


@pytest.mark.parametrize(("lang", "source", "translation"), CORRECT)
def test_correct_translations_are_left_alone(lang: str, source: str, translation: str) -> None:
    assert find(source, translation, lang) == ()


PLURAL = "{n, plural, one {# file} other {# files}}"


@pytest.mark.parametrize(
    ("source", "translation", "marked"),
    [
        ("%s has %d files.", "%d Dateien hat %s.", "%d Dateien hat %s"),
        ("%s has %d files.", "%s hat %d Dateien.", None),
        ("%1$s has %2$d files.", "%2$d Dateien hat %1$s.", None),
        ("%s and %s.", "%s und %s.", None),
        (PLURAL, "{n, plural, one {# Datei} other {# Dateien}}", None),
        (PLURAL, "{n, plural, one {# Datei} other {# Dateien}", "{n, plural, one {# Datei} other {# Dateien}"),
        (PLURAL, "{n, plural, one {# Datei} sonst {# Dateien}}", "{n, plural, one {# Datei} sonst {# Dateien}}"),
        (PLURAL, "{n, plural, one {# '{' Datei} other {# Dateien}}", None),
        ("Save file", "Save file", "Save file"),
        ("New York", "New York", None),
        ("Windows 11", "Windows 11", None),
        (
            "It rains. The old bridge was closed for six months. We wait.",
            "Es regnet. The old bridge was closed for six months. Wir warten.",
            "The old bridge was closed for six months",
        ),
        ("I read The old man and the young sea twice.", "Ich las The old man and the young sea zweimal.", None),
    ],
)
def test_broken_messages_arguments_and_copied_sentences_are_found_without_a_suggestion(
    source: str, translation: str, marked: str | None
) -> None:
    kinds = ("arguments are in another order", "ICU message", "copied")
    spans = [s for s in find(source, translation, "de") if any(kind in (s.explanation or "") for kind in kinds)]
    assert [span.text for span in spans] == ([] if marked is None else [marked])
    assert all(span.suggestion is None and span.severity in ("major", "critical") for span in spans)


def test_several_senses_and_inflected_words_are_right() -> None:
    senses = (Term(source="bank", target="Bank"), Term(source="bank", target="Ufer"))
    assert find("The banks are green.", "Die Ufern sind grün.", "de", senses) == ()
    (missing,) = find("The banks are green.", "Die Hänge sind grün.", "de", senses)
    assert missing.explanation == "the glossary has 'Bank' or 'Ufer' for 'bank'"


TERMS = (
    Term(source="Nike", target=None),
    Term(source="account", target="Konto"),
    Term(source="account", target="Account", forbidden=True),
)


def test_terms_are_checked_and_only_the_case_of_a_fixed_one_is_certain() -> None:
    source = "Your Nike account."
    assert corrected("Ihr NIKE Konto.", find(source, "Ihr NIKE Konto.", "de", TERMS)) == "Ihr Nike Konto."
    missing, kept = find(source, "Ihr Sieg Zugang.", "de", TERMS), find(source, "Ihre Nike Konten.", "de", TERMS)
    assert [(span.side, span.text, span.suggestion) for span in missing] == [
        ("omission", "Nike", None),
        ("omission", "account", None),
    ]
    assert kept == ()
    forbidden = find(source, "Ihr Nike Konto (Account).", "de", TERMS)
    assert [(span.text, span.severity) for span in forbidden] == [("Account", "major")]


def test_spans_carry_offsets_context_and_himate_weights() -> None:
    text = "Nun , er ist 2016 hier."
    comma, year = find("Well, he was here in 2015.", text, "de")
    assert (comma.start, comma.end, comma.text, comma.before, comma.penalty) == (3, 5, " ,", "Nun", 0.1)
    assert (text[year.start : year.end], year.severity, year.penalty) == ("2016", "major", 5)


async def test_the_rating_is_signed_and_its_score_is_the_sum_of_the_weights() -> None:
    rules = Rules()
    assert isinstance(rules, Evaluator)
    rating = await rules.rate(segment("Well, he was here in 2015.", "de"), "Nun , er war 2016 hier.")
    assert rating.score == pytest.approx(-5.1)
    assert rating.signature == f"rules|v:4|weights:himate|version:{mtagent.__version__}"
    clean = await rules.rate(segment("Yes.", "de"), "Ja.")
    assert (clean.score, clean.errors, clean.calls) == (0.0, (), ())


def test_rules_can_be_left_out_by_name() -> None:
    less = Rules(skip=frozenset({"first-capital"}))
    assert less.find(segment("He is here.", "de"), "er ist hier.") == ()
    assert "skip:first-capital" in less.signature
    with pytest.raises(ConfigError, match="unknown rule 'capitals'; choose from empty, placeholders, tags"):
        Rules(skip=frozenset({"capitals"}))


WORDS = st.one_of(
    st.sampled_from(["er", "ist", "und", "und", "the", " ", "  ", ",", " ,", ".", "{n}", "{ n }", "%s", "% s", "<b>"]),
    st.sampled_from(["< b >", "</b>", "2015", "2016", "1,234.5", "https://a.org", "a@b.co", "*wort", "(", ")", '"']),
    st.sampled_from(["&quot;", "\n", "是", "Ёж", "¿", "?", "\ud800", "İ"]),
)


@given(
    st.lists(WORDS, max_size=14), st.lists(WORDS, max_size=14), st.sampled_from(["de", "fr", "zh", "es", "ar", "xx"])
)
def test_offsets_are_exact_and_suggestions_never_overlap(source: list[str], text: list[str], lang: str) -> None:
    translation = " ".join(text)
    errors = find(" ".join(source), translation, lang)
    done = 0
    for span in errors:
        if span.start is None:
            assert span.side == "omission" or not span.text
            continue
        assert translation[span.start : span.end] == span.text
        if span.suggestion is not None:
            assert span.suggestion != span.text
            assert span.start >= done
            done = span.end or 0


def test_long_texts_take_seconds() -> None:
    source, text = "The {n} price, 1,234.5 kg. " * 8_000, "Der { n } Preis , 1.234,5 kg  und und. " * 8_000
    start = time.process_time()
    assert find(source, text, "de")
    for unit in ("% s", "{ n ", "< b ", "https: // ", "* a", " ,", "a a "):
        find("%s {n} <b> https://a.org", unit * 20_000, "de")
    assert time.process_time() - start < 20


def test_a_rule_stops_where_more_errors_say_nothing_new() -> None:
    assert len(find("x", "(" * 5_000, "de")) == MOST_SPANS


def test_every_rule_has_its_own_name_and_says_what_it_does() -> None:
    assert all(rule.__doc__ for rule in RULES.values())
    assert len(set(RULES.values())) == len(RULES)


@pytest.mark.data
@pytest.mark.parametrize(("lang", "source", "translation"), [
    ("ru", "Формат даты: день/месяц/год", "Date format: day/month/year"),
    ("fr", "Comparez le rapport qualité/prix/délai.", "Compare quality, price and lead time."),
    ("zh", "请选择他/她/它。", "Please choose he, she or it."),
])  # fmt: skip
def test_words_with_slashes_between_are_no_path(lang: str, source: str, translation: str) -> None:
    assert Rules().find(segment(source, "en", lang), translation) == ()


@pytest.mark.parametrize("source", ["{{PLURAL:$1|file|files}} changed", "{{GENDER:$2|He|She}} left"])
def test_a_block_with_words_of_the_language_is_never_put_back(source: str) -> None:
    errors = find(source, "{{MEHRZAHL:$1|Datei|Dateien}} geändert", "de")
    assert errors
    assert all(span.suggestion is None for span in errors)


def test_one_fault_of_a_message_is_one_error() -> None:
    wrong = "Lösche {m, plural, one {# Datei} other {# Dateien}}?"
    assert len(find("Delete {n, plural, one {# file} other {# files}}?", wrong, "de")) == 1
    (lost,) = find("{n, plural, one {# of {u}} other {# of {u}}}", "{n, plural, one {#} other {# von {u}}}", "de")
    assert (lost.severity, lost.start) == ("major", None)


def test_many_lost_literals_are_one_short_error() -> None:
    (error,) = find(" ".join(f"a{i}.md" for i in range(2000)), "Nichts davon ist da.", "de")[-1:]
    assert error.start is None
    assert error.explanation is not None
    assert error.explanation.startswith("path a0.md is missing; path a1.md is missing")
    assert len(error.explanation) < 1000


def test_human_references_get_hardly_any_suggestion() -> None:
    path = DATA / "wmt24_docs.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is absent; set MTAGENT_TEST_DATA")
    segments = suggestions = 0
    for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
        document = json.loads(line)
        source_lang, target_lang = document["lp"].split("-")
        for texts in document["refs"].values():
            for source, text in zip(document["src"], texts, strict=True):
                errors = Rules().find(segment(source, target_lang, source_lang), text)
                suggestions += sum(span.suggestion is not None for span in errors)
                segments += 1
    assert segments > 700
    assert suggestions <= 0.01 * segments


def test_an_empty_translation_is_not_perfect() -> None:
    segment = Segment(id="1", source="It is raining today.", source_lang="en", target_lang="es")
    (error,) = Rules().find(segment, " ")
    assert (error.category, error.severity, error.side) == ("accuracy/omission", "major", "omission")
    assert Rules().find(segment.model_copy(update={"source": " "}), "") == ()


@pytest.mark.parametrize(("lang", "source", "translation"), [
    ("fr", "Use Yahoo! Mail now.", "Utilisez Yahoo! Mail maintenant."), ("es", "Yahoo!", "Yahoo!"),
    ("de", "Write to Acme Inc.", "Schreiben Sie an Acme Inc"), ("fr", "Write return; there.", "Écrivez return; là."),
])  # fmt: skip
def test_a_mark_that_belongs_to_a_name_or_to_code_is_not_corrected(lang: str, source: str, translation: str) -> None:
    assert corrected(translation, find(source, translation, lang)) == translation


@pytest.mark.parametrize(("source", "good", "bad", "most"), [
    ("Delete 3 files?", "3 Dateien löschen?", "4 Dateien löschen?", None),
    ("It costs 12 euros.", "Es kostet zwölf Euro.", "Es kostet 11 Euro.", None),
    ("It is 5 km away.", "Es ist 5 km entfernt.", "Es ist 5 mi entfernt.", None),
    ("&File", "D&atei", "Datei", None),
    ("Save", "Speichern", "Änderungen speichern", 12),
    ("%s has %d files.", "%2$d Dateien hat %1$s.", "%d Dateien hat %s.", None),
    ("%s of %s", "%2$s von %1$s", "%1$s von %1$s", None),
    ("Edit config.yaml.", "config.yaml ändern.", "konfig.yaml ändern.", None),
    ("Hi :name!", "Hallo :name!", "Hallo :nome!", None),
    ("{n, plural, one {# file of {u}} other {# files of {u}}}",
     "{n, plural, =1 {Eine Datei von {u}} other {# Dateien von {u}}}",
     "{n, plural, one {# Datei} other {# Dateien von {u}}}", None),
    ("On {d, date, MM/dd/yy}.", "Am {d, date, dd.MM.yy}.", "Am {t, date, dd.MM.yy}.", None),
    ("<p>salt &amp; pepper</p>", "<p>Salz und Pfeffer</p>", "<p>Salz & Pfeffer<p>", None),
])  # fmt: skip
def test_rules_and_guards_say_the_same(source: str, good: str, bad: str, most: int | None) -> None:
    one = segment(source, "de").model_copy(update={"max_length": most})
    assert (damages(one, bad, good), Rules().find(one, good)) == ((), ())
    assert damages(one, good, bad)
    assert Rules().find(one, bad)
