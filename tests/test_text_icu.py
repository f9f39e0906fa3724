"""ICU messages: what is read, which translations agree with their source, and which lost something."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.chain.guards import GUARDS
from mtagent.records import Segment
from mtagent.text.icu import IcuError, message, parse, plural_forms, variants


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        "{0} {name} { spaced }",
        "{n, number, ::compact-short currency/EUR} {d, date, yyyy-MM-dd} {t, time}",
        "{n, plural, offset:1 =0 {nobody} =1{{host}} one {# {a, select, x {y} other {}}} other{#}}",
        "It''s '{literal}' and {n, plural, other {'#' is #}}",
        "{n,plural,other{{d, date, short}}}",
    ],
)
def test_messages_are_read(text: str) -> None:
    assert parse(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{n, plural, other {#}", "no keyword of 'n' at character 22"),
        ("{n", "'n' is not closed"),
        ("a } b", "closes nothing at character 3"),
        ("{{name}}", "no name"),
        ("{n, plural, other #}", "no keyword of 'n'"),
        ("{n, plural}, other {#}", "'n' has no branches"),
        ("{n, plural, }", "no branches"),
        ("{n, select, a {x} a {y} other {}}", "'a' of 'n' comes twice"),
        ("{n, plural, other {#", "not closed"),
        ("{a, select, other " * 40, "not closed"),
        ("{a, select, other {" * 40, "nested more than 30 deep"),
    ],
)
def test_what_is_no_message_says_why(text: str, why: str) -> None:
    with pytest.raises(IcuError, match=why):
        parse(text)


def test_a_text_without_branches_is_no_message_for_the_guards() -> None:
    assert message("{name}") is None
    assert message("{ color: red } {n, plural, other {#}}") is None


def test_variants_are_what_readers_see() -> None:
    source, text = parse("{n, plural, =0 {no {x}} one {# {x}} other {# {x}s}}"), parse("{n, plural, other {{n} {x}}}")
    seen = {variant.choice: (variant.source, variant.text) for variant in variants(source, text)}
    assert seen["n = one"] == ("\u2060{n} \u2060{x}", "\u2060{n} \u2060{x}")
    assert seen["n = 0"] == ("no \u2060{x}", " \u2060{x}")


def test_plural_forms_are_those_of_the_language() -> None:
    assert plural_forms("de-AT") == {"one", "other"}
    assert plural_forms("ru") == {"one", "few", "many", "other"}
    assert plural_forms("ja") == {"other"}
    assert plural_forms("ar-EG") == plural_forms("und")
    assert plural_forms("en", "selectordinal") == {"one", "two", "few", "other"}
    assert plural_forms("de", "selectordinal") == {"other"}
    assert plural_forms("it-IT", "selectordinal") == {"many", "other"}


WORDS = st.sampled_from(["Datei", "Gast ", " und ", "l’an", "»", "é", "  "])
LANGUAGES = st.sampled_from(["de", "ru", "ja", "ar", "pl", "sl"])


@st.composite
def messages(draw: st.DrawFn) -> tuple[str, str, str]:
    """A message of the source, one that says the same with the forms of a language, and the language."""
    lang = draw(LANGUAGES)
    names = draw(st.lists(st.sampled_from("abcxyz"), min_size=1, max_size=3, unique=True))
    genders = draw(st.lists(st.sampled_from(["male", "female", "they"]), min_size=1, max_size=3, unique=True))
    inner = "".join(f"{{{name}}}" for name in names)

    def branches(keywords: list[str], text: str) -> str:
        shuffled, word = draw(st.permutations([*keywords, "other"])), draw(WORDS)
        return " ".join(f"{keyword} {{{word}{text}}}" for keyword in shuffled)

    def whole(forms: list[str]) -> str:
        plural = f"{{n, plural, {branches(forms, ' # ' + inner)}}}"
        select = f"{{g, select, {branches(genders, plural)}}}"
        return draw(WORDS) + select if lang != "sl" else select + f"{{n, plural, {branches(forms, ' # ')}}}"

    own = sorted(plural_forms(lang) - {"other"})
    return whole(["one"]), whole(own), lang


def faults(source: str, before: str, after: str, lang: str) -> object:
    segment = Segment(id="1", source=source, source_lang="en", target_lang=lang)
    return GUARDS["placeholders"](segment, before, after)


@settings(max_examples=60, deadline=None)
@given(messages())
def test_any_message_with_the_same_arguments_and_the_languages_forms_passes(made: tuple[str, str, str]) -> None:
    source, text, lang = made
    assert not faults(source, source, text, lang)
    assert not faults(source, "kaputt {", text, lang), "mended"
    assert not faults(source, text, text.replace("Datei", "Akte"), lang)


@settings(max_examples=60, deadline=None)
@given(messages(), st.data())
def test_nothing_can_be_dropped(made: tuple[str, str, str], data: st.DataObject) -> None:
    source, text, lang = made
    tokens = ["#", "plural", "select", "other", "{n,", "{g,", "}", *(f"{{{name}}}" for name in "abcxyz")]
    token = data.draw(st.sampled_from([token for token in tokens if token in text]))
    places = [place for place in range(len(text)) if text.startswith(token, place)]
    place = data.draw(st.sampled_from(places))
    assert faults(source, text, text[:place] + text[place + len(token) :], lang), token


@pytest.mark.parametrize("piece", ["{a, select, other {", "{a,plural,", "'{", "{", "}", "{a, select, x {} other {}} "])
def test_a_hostile_text_is_read_in_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    faults("{n, plural, one {#} other {#}}", "x", text, "de")
    faults(text, "x", text, "de")


def test_a_message_of_many_plurals_is_read_in_time_and_each_branch_counts() -> None:
    source = " ".join(
        f"{{n{i}, plural, one {{# file of {{user}}}} other {{# files of {{user}}}}}}" for i in range(1500)
    )
    text = source.replace("file", "Datei")
    start = time.process_time()
    assert not faults(source, text, text.replace(" of ", " von "), "de")
    for branch in ("# Datei of {user}", "# Dateis of {user}"):
        place = text.rindex(branch)
        assert faults(source, text, text[:place] + branch.replace("{user}", "") + text[place + len(branch) :], "de")
    assert time.process_time() - start < 10
