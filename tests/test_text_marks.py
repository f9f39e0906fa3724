"""What must survive in a text is found, exactly and in linear time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.text import markup, number_faults, numbers
from mtagent.text import units as units_of
from mtagent.text.scripts import Mark


def keys(marks: tuple[Mark, ...] | tuple[markup.Tag, ...]) -> list[str]:
    return [mark.key for mark in marks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s of %1$s, %(name)s: %d, %.2f, %05d", ["%s", "%1$s", "%(name)s", "%d", "%.2f", "%05d"]),
        ("100 %% sure", ["%%"]), ("%dpx wide", ["%d"]), ("%sを開く", ["%s"]),
        ("{0} {name} {{name}} {}", ["{0}", "{name}", "{{name}}", "{}"]),
        ("{user.name!r:>10} {n:.2f}", ["{user.name!r:>10}", "{n:.2f}"]),
        ("$HOME ${HOME} %{count} #{name} %PATH%", ["$HOME", "${HOME}", "%{count}", "#{name}", "%PATH%"]),
        ("a &amp; b &#x2014; c", ["&amp;", "&#x2014;"]), (r"one\ntwo\tthree", [r"\n", r"\t"]),
        ("{ name } and {{ user }}", ["{ name }", "{{ user }}"]),
        ("{amount, number, percent}", ["{amount, number, percent}"]),
    ],
)  # fmt: skip
def test_placeholders_are_found_in_order(text: str, expected: list[str]) -> None:
    assert keys(markup.placeholders(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a 50% discount", "100%ig sicher", "50 %ige", "costs $5", "US$ 5",
        "R&D; AT&T", "a {set of words} here", '{"a": 1}', "&nbsp;x&quot;",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_placeholder_is_none(text: str) -> None:
    assert markup.placeholders(text) == ()


def test_an_icu_plural_is_one_placeholder_whatever_forms_the_language_has() -> None:
    english = "{count, plural, one {# file by {who}} other {# files by {who}}}"
    polish = "{count, plural, one {# plik od {who}} few {# pliki od {who}} many {# plików od {who}} other {#}}"
    assert keys(markup.placeholders(english)) == keys(markup.placeholders(polish))


def test_an_icu_select_keeps_its_choices_and_its_variables() -> None:
    source = markup.placeholders("{g, select, male {his} other {their}}")
    assert keys(source) == keys(markup.placeholders("{g, select, male {sein} other {ihr}}"))
    assert keys(source) != keys(markup.placeholders("{g, select, männlich {sein} other {ihr}}"))
    lost = markup.placeholders("{n, plural, other {von ihm}}")
    assert keys(markup.placeholders("{n, plural, other {by {who}}}")) != keys(lost)


def test_marks_give_offsets_into_the_text() -> None:
    text = "Hi {name}, see <b>https://a.org/x</b> or me@a.org."
    for find in (markup.placeholders, markup.urls, markup.emails):
        assert [text[mark.start : mark.end] for mark in find(text)] == keys(find(text))


def test_tags_are_found_and_comparisons_are_not() -> None:
    text = """<b class='x'>1 < 2, I <3 you</b><br/><x id="1"/><!-- note --><https://a.b>"""
    assert keys(markup.tags(text)) == ["<b class='x'>", "</b>", "<br>", '<x id="1"/>', "<!--", "-->"]


def test_numbered_tags_are_found_and_their_numbers_are_no_text() -> None:
    text = "Press <1>2 keys</1><12/>, a < 3 and 4 > 2"
    assert keys(markup.tags(text)) == ["<1>", "</1>", "<12/>"]
    assert markup.prose(text) == "Press    2 keys         , a < 3 and 4 > 2"


def test_attributes_that_readers_see_do_not_count() -> None:
    english, german = '<a  href="x" title="Home">', '<a href="x" title="Startseite">'
    assert keys(markup.tags(english)) == keys(markup.tags(german)) == ['<a href="x" title>']


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("<b><i>x</i></b><br>", []),
        ("<b><i>x</b></i>", ["<i> is not closed inside <b>", "</i> closes nothing"]),
        ("<b>x", ["<b> is not closed"]), ("x</b>", ["</b> closes nothing"]),
    ],
)  # fmt: skip
def test_nesting_faults_are_named(text: str, faults: list[str]) -> None:
    assert markup.nesting_faults(markup.tags(text)) == faults


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(see https://a.org/x_(y)).", ["https://a.org/x_(y)"]),
        ("请看https://a.org/x。好", ["https://a.org/x"]),
        ("www.a.org, http://b.de/ö?q=1&r=2#s!", ["www.a.org", "http://b.de/ö?q=1&r=2#s"]),
        ("http: // a.org", []),
    ],
)
def test_urls_end_before_the_sentence_goes_on(text: str, expected: list[str]) -> None:
    assert keys(markup.urls(text)) == expected


def test_emails_are_found_without_the_full_stop() -> None:
    assert keys(markup.emails("Write to a.b+c@mail.example.org. Not to @user or a@b")) == ["a.b+c@mail.example.org"]


def left(ours: str, theirs: str) -> tuple[list[str], list[str]]:
    missing, extra = number_faults.unmatched(numbers.numbers(ours), numbers.numbers(theirs))
    return [number.values[0] for number in missing], [number.values[0] for number in extra]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("1,234.5", "1.234,5"), ("1,234.5", "1 234,5"), ("1,234.5", "1\u202f234,5"),
        ("1,234.5", "1'234.5"), ("1,234.5", "١٬٢٣٤٫٥"), ("12,34,567", "1234567"),
        ("1,234", "1.234"), ("3.14", "३,१४"), ("１２ 個", "12"), ("10:30", "10.30 Uhr"),
        ("5:00", "5 Uhr"), ("2024-05-06", "06.05.2024"), ("1.50", "1,5"), ("1.5 million", "150万"),
        ("2 lakh", "200,000"), ("10–20 %", "10 bis 20 Prozent"), ("May 6, 2024", "6. Mai 2024"),
        ("the 19th", "19-й"), ("5 3", "3 und 5"),
    ],
)  # fmt: skip
def test_equal_numbers_match_in_any_locale(ours: str, theirs: str) -> None:
    assert left(ours, theirs) == ([], [])


@pytest.mark.parametrize(
    ("ours", "theirs", "missing", "extra"),
    [
        ("1.5", "15", ["1.5"], ["15"]), ("1.5", "5.1", ["1.5"], ["5.1"]),
        ("1,234.5", "1,234.6", ["1234.5"], ["1234.6"]), ("5 pm", "5:00", ["17"], ["5"]),
        ("7 and 7", "7", ["7"], []), ("three", "3", [], ["3"]), ("1.2.3", "1.2.4", ["3"], ["4"]),
    ],
)  # fmt: skip
def test_different_numbers_do_not_match(ours: str, theirs: str, missing: list[str], extra: list[str]) -> None:
    assert left(ours, theirs) == (missing, extra)


@given(st.integers(0, 10**12), st.integers(0, 99))
def test_every_number_matches_itself_in_other_separators(whole: int, cents: int) -> None:
    english = f"{whole:,}.{cents:02}"
    german = english.translate(str.maketrans(",.", ".,"))
    french = english.translate(str.maketrans(",.", "\u202f,"))
    assert left(english, german) == left(english, french) == left(german, french) == ([], [])


@given(st.integers(0, 10**9), st.integers(0, 8), st.integers(1, 9))
def test_one_changed_digit_is_never_overlooked(number: int, place: int, shift: int) -> None:
    digits = str(number)
    place %= len(digits)
    changed = digits[:place] + str((int(digits[place]) + shift) % 10) + digits[place + 1 :]
    if int(changed) != number:
        missing, extra = left(f"{number:,}", f"{int(changed):,}".replace(",", "."))
        assert missing
        assert extra


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("5 km, 5 kilometres, 5 км, 5公里", ["km", "km", "km", "km"]),
        ("$5, 5 dólares, 50 %, 50%, %50, ５％", ["$", "$", "%", "%", "%", "%"]),
        ("20 °C or 68 °F; 60 mph", ["°C", "°F", "mph"]), ("5 people in 2024 were here", []),
    ],
)  # fmt: skip
def test_units_are_known_by_symbol_and_by_word(text: str, units: list[str]) -> None:
    assert [quantity.unit for quantity in units_of.quantities(text)] == units


def test_units_that_are_remembered_cannot_be_changed() -> None:
    named = units_of.units_named("5 km and two weeks", "en")
    assert named is not None
    assert (named["km"], named["mi"]) == (1, 0)
    with pytest.raises(TypeError):
        named["mi"] = 1  # type: ignore[index]


def test_markdown_counts_structure_not_its_spelling() -> None:
    stars, dashes = "# T\n\n* a **b** _c_\n* `x`\n", "# T\n\n- a __b__ *c*\n- `x`\n"
    assert markup.markdown_marks(stars) == markup.markdown_marks(dashes)
    assert markup.markdown_marks(stars) == {"heading #": 1, "bullet": 2, "bold": 1, "italic": 1, "`x`": 1}


def test_markdown_links_count_by_target_and_plain_stars_do_not_count() -> None:
    assert markup.markdown_marks("[a](http://x) ![b](y.png)") == {"link to http://x": 1, "link to y.png": 1}
    assert not markup.markdown_marks("2 * 3 = 6, snake_case_name, *unknown")


def test_code_spans_need_runs_of_equal_length() -> None:
    assert [span.key for span in markup.code_spans("``a`b`` and `c` and `d")] == ["`a`b`", "`c`"]


def test_unpaired_brackets_are_found_across_widths() -> None:
    assert keys(markup.unpaired_brackets("1) a (b） [c")) == [")", "["]


def test_prose_blanks_marks_and_keeps_offsets() -> None:
    text = "Call {n} at https://a.org/1 or <b>2</b>"
    assert markup.prose(text) == "Call     at                 or    2    "
    assert len(markup.prose(text)) == len(text)


@given(st.text(alphabet=st.sampled_from("{}<>%$&\\`*_[]()/:;@a1 .,\n\"'"), max_size=60))
def test_marks_never_overlap_and_lie_within_the_text(text: str) -> None:
    for find in (markup.placeholders, markup.tags, markup.urls, markup.emails, markup.inline_codes):
        done = 0
        for mark in find(text):
            assert done <= mark.start < mark.end <= len(text)
            done = mark.end


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, {name}! %1$s <1>x</1> <br/>", ["{name}", "%1$s", "<1>", "</1>", "<br/>"]),
        ('<a href="{url}">x</a>', ['<a href="{url}">', "</a>"]),
        ("**bold** _it_ `a {b}` [^1]", ["**", "**", "_", "_", "`a {b}`", "[^1]"]),
        ("[S](app://x) ![i](y.png)", ["](app://x)", "](y.png)"]),
        ("# Head", ["#"]), ("2 * 3 = 6, *unknown", []), (r"one\ntwo &amp; three", [r"\n", "&amp;"]),
        ("{n, plural, one {# in {x}} other {#}} a", ["{n, plural, one {", "#", "{x}", "} other {", "#", "}}"]),
        ("{g, select, male {# he} other {they}}", ["{g, select, male {", "} other {", "}}"]),
        ("write to a@b.org or https://b.org/x.", ["a@b.org", "https://b.org/x"]),
        ("{n}\u0301", []),
    ],
)  # fmt: skip
def test_inline_codes_are_the_units_of_a_text_without_the_words_of_icu_forms(text: str, expected: list[str]) -> None:
    codes = markup.inline_codes(text)
    assert [text[code.start : code.end] for code in codes] == expected
    assert all(code.meaning for code in codes)


def test_deeply_nested_messages_are_one_code_inside() -> None:
    text = "{n, plural, other {" * 2000 + "x" + "}}" * 2000
    codes = markup.inline_codes(text)
    assert "".join(text[code.start : code.end] for code in codes) == text
