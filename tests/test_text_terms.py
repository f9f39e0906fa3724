"""Terms in a text: inflected forms of many languages, what is accepted in a translation, and what is a fault."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.formats.glossary import Glossary
from mtagent.records import Segment, Term
from mtagent.text.terms import has_target, occurrences, term_faults

FORMS = {  # term: forms of it, and after "!" words that are none
    "en": "account: accounts !accounting | policy: policies !police | leaf: leaves | woman: women | child: "
    "children | operator: operators !operation | university: universities !universe | market: !marketing",
    "de": "Konto: Konten Kontos !Kontakt !konto- | Haus: Häuser Häusern Hauses | Problem: Probleme | Versicherung: "
    "Versicherungen !versichern | Gerät: Geräte Geräten !gerade | Schule: Schulen !Schutz | Frage: Fragen !fragen",
    "nl": "rekening: rekeningen | huis: huizen | brief: brieven !brij",
    "sv": "konto: konton kontot kontona | fil: filer filen filerna | !kontor: konto",
    "da": "konto: kontoen konti kontoerne",
    "is": "samningur: samningi samningar",
    "es": "cuenta: cuentas !cuentan !cuento | actriz: actrices | canción: canciones | casa: casas !caso",
    "pt": "opção: opções | conta: contas !contar | homem: homens",
    "fr": "compte: comptes !compteur | cheval: chevaux | !porte: portier",
    "it": "conto: conti !contatto | banca: banche | problema: problemi",
    "ro": "cont: contul conturile contului",
    "ru": "счёт: счёта счетом | договор: договорами !договориться | рынок: рынка рынков | отец: отца отцом | страна: "
    "стран странах !странный | год: года годом !годится | фильм: фильмы !фильтр | рука: рукой !рукав | Москва: Москве",
    "uk": "рахунок: рахунку рахунками | книга: книги книгами | місто: міста містом",
    "cs": "smlouva: smlouvou smlouvám | okno: oken | týden: týdne týdnem | otázka: otázce | rodina: rodinou !rodič | "
    "servis: servisu !server | účet: účtu účty",
    "pl": "konto: kontem kont | umowa: umów umowy | rynek: rynku",
    "bg": "договор: договора договорът договорите",
    "hr": "račun: računa računi",
    "fi": "sopimus: sopimuksen sopimukset | talo: talossa taloihin | käyttäjä: käyttäjien käyttäjille",
    "hu": "szerződés: szerződésekkel szerződést | fiók: fiókjában",
    "tr": "kitap: kitabı kitaplarımızda | hesap: hesabınızdan hesaplar | sözleşme: sözleşmenin",
    "et": "leping: lepingu lepingutega | konto: kontol kontod",
    "el": "λογαριασμός: λογαριασμού λογαριασμών !λόγος",
    "lt": "sutartis: sutarties sutartį",
    "ar": "شركة: شركات الشركة وشركته | كتاب: للكتاب والكتاب كتابه | حساب: حسابات الحساب بحسابك",
    "he": "חשבון: החשבון חשבונות בחשבונך",
    "hi": "खाता: खाते खातों | किताब: किताबें किताबों",
}
CASES = [
    (lang, term.strip().lstrip("!"), form.lstrip("!"), not form.startswith("!") and not term.strip().startswith("!"))
    for lang, entries in FORMS.items()
    for term, forms in (entry.split(":") for entry in entries.split("|"))
    for form in forms.split()
    if not form.endswith("-")
]


@pytest.mark.parametrize(("lang", "term", "form", "is_form"), CASES)
def test_forms_of_a_term_are_found_and_other_words_of_its_beginning_are_not(
    lang: str, term: str, form: str, is_form: bool
) -> None:
    text = f"1 {form}, 2"
    assert bool(occurrences(term, text, lang)) is is_form
    assert not occurrences(term, text)  # the language must be known
    relevant = Glossary([Term(source=term, target="x")]).relevant(text, f"{lang}-Zzzz" if lang == "zh" else lang)
    assert bool(relevant) is is_form
    if is_form:
        assert has_target(term, text, lang)


@pytest.mark.parametrize(
    ("lang", "term", "text", "is_there"),
    [
        ("en", "credit card", "two Credit Cards.", True),
        ("en", "credit card", "credit and card", False),
        ("es", "tarjeta de crédito", "las tarjetas  de crédito", True),
        ("ru", "кредитная карта", "кредитной карты", True),
        ("de", "E-Mail-Adresse", "die E-Mail-Adressen", True),
        ("zh", "账户", "请打开账户吧", True),
        ("vi", "ma", "má mà", False),
        ("tr", "İstanbul", "İstanbul'da", True),
        ("fa", "کتاب", "کتاب\u200cها", True),
    ],
)
def test_terms_of_several_words_and_of_other_scripts(lang: str, term: str, text: str, is_there: bool) -> None:
    assert bool(occurrences(term, text, lang)) is is_there


@pytest.mark.parametrize(
    ("term", "text", "is_there"),
    [
        ("Apple", "Apples", True),
        ("Apple", "apples", False),
        ("IT", "its", False),
        ("US", "used", False),
    ],
)
def test_a_case_sensitive_term_is_inflected_in_its_own_case(term: str, text: str, is_there: bool) -> None:
    assert bool(occurrences(term, text, "en", case_sensitive=True)) is is_there


@pytest.mark.parametrize(
    ("lang", "target", "text", "is_there"),
    [
        ("de", "Konto", "Ihr Benutzerkonto", True),
        ("de", "Konto", "Ihre Benutzerkonten", True),
        ("de", "Konto", "die Kontonummer", True),
        ("de", "Konto", "Ihr Kontakt", False),
        ("de", "Konto", "Ihre Rechnung", False),
        ("de", "Rate", "die Beratung", False),
        ("de", "klicken", "sie klickt", True),
        ("de", "speichern", "sie speichert", True),
        ("en", "cat", "category", False),
        ("en", "click", "clicking", True),
        ("fi", "tili", "käyttäjätili", True),
        ("ru", "файл", "файловый", True),
        ("ru", "договор", "разговор", False),
        ("kk", "кітап", "кітаптарымызда", True),
        ("ko", "계정", "계정을", True),
        ("hy", "iPhone", "iPhone-ում", True),
    ],
)
def test_a_target_may_be_part_of_a_compound_or_a_verb_but_no_other_word(
    lang: str, target: str, text: str, is_there: bool
) -> None:
    assert has_target(target, text, lang) is is_there


def faults(source: str, text: str, terms: tuple[Term, ...], lang: str = "de") -> list[str]:
    segment = Segment(id="1", source=source, source_lang="en", target_lang=lang, terms=terms)
    return [fault.kind for fault in term_faults(segment, text)]


SENSES = (
    Term(source="bank", target="Bank", note="money"),
    Term(source="bank", target="Ufer", note="river"),
    Term(source="bank", target="Geldhaus", forbidden=True),
)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Das Ufer ist grün.", []),
        ("Die Banken sind zu.", []),
        ("Die Böschung ist grün.", ["missing"]),
        ("Die Bank, ein Geldhaus.", ["forbidden"]),
        ("Die Banken, zwei Geldhäuser.", ["forbidden"]),
        ("Zwei Geldhäuser.", ["missing", "forbidden"]),
    ],
)
def test_of_several_targets_any_is_right_and_a_forbidden_word_is_found_inflected(text: str, kinds: list[str]) -> None:
    assert faults("The banks are here.", text, SENSES) == kinds


def test_a_forbidden_word_that_an_allowed_target_looks_like_counts_only_as_it_is_written() -> None:
    terms = (
        Term(source="account", target="Konten"),
        Term(source="account", target="Konto", forbidden=True),
    )
    assert faults("accounts", "Ihre Konten", terms) == []
    assert faults("accounts", "Ihr Konto", terms) == ["forbidden"]


def test_terms_that_the_source_does_not_have_ask_for_nothing() -> None:
    assert faults("Accountancy is fun.", "Buchhaltung macht Freude.", (Term(source="account", target="Konto"),)) == []
    assert faults("Nike and Nike", "Nike", (Term(source="Nike", case_sensitive=True),)) == ["untranslatable"]


WORDS = st.lists(st.sampled_from(["Konto", "Konten", "konto", "Kontos", "das", "des", "C++", "中国"]), max_size=6)


@given(WORDS.map(" ".join), st.lists(WORDS.map(" ".join).filter(bool), max_size=4), st.sampled_from(["de", "ru", "zh"]))
@settings(max_examples=60)
def test_what_is_found_as_it_is_written_is_found_in_a_known_language_too(
    text: str, terms: list[str], lang: str
) -> None:
    glossary = Glossary(Term(source=term, target="x") for term in terms)
    found = glossary.relevant(text, lang)
    assert set(glossary.relevant(text)) <= set(found)
    for term in found:
        assert occurrences(term.source, text, lang) or term in glossary.relevant(text)


def test_ten_thousand_terms_are_found_inflected_in_one_pass() -> None:
    stems = [f"{first}{second}{third}ung" for first in "bdfgklm" for second in "aeiou" for third in ("nd", "rt", "st")]
    terms = [Term(source=f"{stem} {number}", target="x") for stem in stems for number in range(100)]
    glossary = Glossary(terms)
    glossary.relevant("", "de")
    taken = []
    for length in (400, 1600):
        text = "Die bandungen 7 und die mostungen 99, aber nicht die landungen. " * length
        began = time.perf_counter()
        assert [term.source for term in glossary.relevant(text, "de")] == ["bandung 7", "mostung 99"]
        taken.append(time.perf_counter() - began)
    assert taken[1] < 12 * taken[0]


@pytest.mark.parametrize("text", ["La page d'accueil", "La page d’accueil", "La page dʼaccueil"])
@pytest.mark.parametrize("term", ["page d'accueil", "page d’accueil"])
def test_apostrophes_and_hyphens_are_alike_however_they_are_written(term: str, text: str) -> None:
    assert len(occurrences(term, text, "fr")) == 1
    assert len(occurrences("E-Mail", "Die E‑Mail", "de")) == 1
