"""Language codes, names and pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import ConfigError
from mtagent.text import languages, scripts


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("en-es", ("en", "es")),
        ("eng-spa", ("en", "es")),
        ("en_es", ("en", "es")),
        ("en-zh_CN", ("en", "zh-CN")),
        ("en-sr_Latn_RS", ("en", "sr-Latn-RS")),
        ("en-sr_Cyrl_RS", ("en", "sr-Cyrl-RS")),
        ("en-bho_IN", ("en", "bho-IN")),
        ("cs-de_DE", ("cs", "de-DE")),
        ("en-sr-Latn", ("en", "sr-Latn")),
        ("zh-Hant-en", ("zh-Hant", "en")),
        ("zh-TW-en-US", ("zh-TW", "en-US")),
        ("pt-BR-en", ("pt-BR", "en")),
        ("en_US-de_DE", ("en-US", "de-DE")),
        ("English-Spanish", ("en", "es")),
        ("en:pt-br", ("en", "pt-BR")),
        ("en -> pt-BR", ("en", "pt-BR")),
        ("en→is", ("en", "is")),
    ],
)
def test_pairs_of_every_common_notation_are_read(pair: str, expected: tuple[str, str]) -> None:
    assert languages.parse_pair(pair) == expected


@pytest.mark.parametrize(("pair", "expected"), [("en-pt-BR", ("en", "pt-BR")), ("de-CH-fr", ("de-CH", "fr"))])
def test_letter_case_decides_between_a_region_and_a_language(pair: str, expected: tuple[str, str]) -> None:
    assert languages.parse_pair(pair) == expected


def test_a_truly_ambiguous_pair_is_refused_with_its_readings_and_the_way_out() -> None:
    with pytest.raises(ConfigError, match=r"en -> pt-BR or en-PT -> br; give --source-lang and --target-lang"):
        languages.parse_pair("en-pt-br")


@pytest.mark.parametrize("pair", ["", "-", "en", "enes", "en-", "-en", "en-xx", "en-es-de-fr-it", "Latn-en"])
def test_what_is_no_pair_is_refused_with_the_way_out(pair: str) -> None:
    with pytest.raises(ConfigError, match="--source-lang and --target-lang"):
        languages.parse_pair(pair)


def test_the_unknown_half_of_a_pair_is_named() -> None:
    with pytest.raises(ConfigError, match=r"unknown language 'jp'; did you mean 'ja' \(Japanese\)"):
        languages.parse_pair("en-jp")


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("EN", "en"),
        ("zh_CN", "zh-CN"),
        ("ZH-hant-tw", "zh-Hant-TW"),
        ("iw", "he"),
        ("sh", "sr-Latn"),
        ("ger", "de"),
        ("sr@latin", "sr-Latn"),
        ("en_US.UTF-8", "en-US"),
        ("English", "en"),
        (" english ", "en"),
        ("Egyptian Arabic", "arz"),
        ("Maasai", "mas"),
        ("Brazilian Portuguese", "pt-BR"),
        ("Simplified Chinese", "zh-Hans"),
        ("Chinese (Traditional)", "zh-Hant"),
        ("Serbian (Cyrillic)", "sr-Cyrl"),
        ("Arabic (Morocco)", "ar-MA"),
    ],
)
def test_codes_and_english_names_become_canonical_codes(written: str, code: str) -> None:
    assert languages.normalise(written) == code


@pytest.mark.parametrize(
    "written", ["", " ", "xx", "und", "mul", "zxx", "x-private", "en-Latn-Cyrl", "💥", "a b c", "\0"]
)
def test_an_unknown_language_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match="unknown language"):
        languages.normalise(written)


@pytest.mark.parametrize("written", ["Englishx", "Serbian (Nowhere)", "English but funny"])
def test_a_name_that_only_begins_like_a_language_is_not_taken_for_it(written: str) -> None:
    with pytest.raises(ConfigError):
        languages.normalise(written)


@pytest.mark.parametrize(
    ("written", "hint"), [("Spansh", "'Spanish' .es."), ("cz", "'cs' .Czech."), ("ua", "'uk' .Ukrainian.")]
)
def test_an_unknown_language_comes_with_a_suggestion(written: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {hint}"):
        languages.normalise(written)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en", "English"),
        ("cs-CZ", "Czech"),
        ("is_IS", "Icelandic"),
        ("pt-BR", "Brazilian Portuguese"),
        ("pt", "Portuguese"),
        ("en-GB", "British English"),
        ("en-ZA", "English (South Africa)"),
        ("zh", "Chinese"),
        ("zh-CN", "Chinese (Simplified)"),
        ("zh-Hant", "Chinese (Traditional)"),
        ("zh-TW", "Chinese (Traditional)"),
        ("zh-HK", "Chinese (Traditional, Hong Kong)"),
        ("sr", "Serbian"),
        ("sr-Latn-RS", "Serbian (Latin script)"),
        ("sr-Cyrl", "Serbian (Cyrillic script)"),
        ("en-Latn", "English"),
        ("kk-Arab", "Kazakh (Arabic script)"),
        ("arz-EG", "Egyptian Arabic"),
        ("ca-valencia", "Catalan (valencia)"),
    ],
)
def test_names_say_script_and_region_only_where_they_matter(code: str, expected: str) -> None:
    assert languages.name(code) == expected


@given(
    st.sampled_from(
        ["en", "cs", "ja", "zh-Hans", "zh-Hant-HK", "sr-Latn", "sr-Cyrl", "pt-BR", "en-ZA", "ar-MA", "kk-Arab"]
    )
)
def test_a_name_leads_back_to_its_code(code: str) -> None:
    assert languages.normalise(languages.name(code)) == code


@given(st.text(max_size=20))
def test_any_text_is_a_language_or_a_config_error(written: str) -> None:
    try:
        code = languages.normalise(written)
    except ConfigError:
        return
    assert languages.normalise(code) == code
    assert languages.name(code)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en", "Latn"),
        ("sr", "Cyrl"),
        ("sr-Latn", "Latn"),
        ("zh", "Hans"),
        ("zh-TW", "Hant"),
        ("zh-HK", "Hant"),
        ("yue", "Hant"),
        ("ja", "Jpan"),
        ("ko", "Kore"),
        ("ru-RU", "Cyrl"),
        ("ar", "Arab"),
        ("hi", "Deva"),
        ("pa-PK", "Arab"),
    ],
)
def test_the_likely_script_follows_from_language_script_and_region(code: str, expected: str) -> None:
    assert scripts.script_of(code) == expected


def test_a_language_without_script_data_is_not_taken_for_latin() -> None:
    assert scripts.script_of("ajp") == ""


def test_languages_written_without_spaces_are_known() -> None:
    spaceless = ["zh", "zh-TW", "yue", "ja", "th", "lo", "km", "my", "bo"]
    assert [code for code in spaceless if scripts.has_spaces(code)] == []
    assert all(scripts.has_spaces(code) for code in ["en", "ko", "vi", "ar", "hi", "sr-Cyrl"])
