"""Language codes, names and pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import ConfigError
from mtagent.text import languages


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("en-es", ("en", "es")), ("eng-spa", ("en", "es")), ("en_es", ("en", "es")),
        ("en-zh_CN", ("en", "zh-CN")), ("en-sr_Latn_RS", ("en", "sr-Latn-RS")),
        ("en-sr_Cyrl_RS", ("en", "sr-Cyrl-RS")), ("en-bho_IN", ("en", "bho-IN")),
        ("cs-de_DE", ("cs", "de-DE")), ("en-sr-Latn", ("en", "sr-Latn")),
        ("zh-Hant-en", ("zh-Hant", "en")), ("zh-TW-en-US", ("zh-TW", "en-US")),
        ("pt-BR-en", ("pt-BR", "en")), ("en_US-de_DE", ("en-US", "de-DE")),
        ("English-Spanish", ("en", "es")), ("en:pt-br", ("en", "pt-BR")),
        ("en -> pt-BR", ("en", "pt-BR")), ("en→is", ("en", "is")), ("en-pt-BR", ("en", "pt-BR")),
        ("de-CH-fr", ("de-CH", "fr")),
    ],
)  # fmt: skip
def test_pairs_of_every_common_notation_are_read(pair: str, expected: tuple[str, str]) -> None:
    """In the last two, letter case decides between a region and a language."""
    assert languages.parse_pair(pair) == expected


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        ("en-pt-br", "can be read in several ways; write en:pt-BR or en-PT:br$"),
        ("en-jp", r"unknown language 'jp'; did you mean 'ja' \(Japanese\)\?$"),
        *(
            (pair, "is not a language pair such as en-es or en:pt-BR")
            for pair in ["", "-", "en", "enes", "en-", "-en", "en-xx", "en-es-de-fr-it", "Latn-en"]
        ),
    ],
)
def test_what_is_no_pair_is_refused_with_the_reason_and_the_way_out(pair: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        languages.parse_pair(pair)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("EN", "en"), ("zh_CN", "zh-CN"), ("ZH-hant-tw", "zh-Hant-TW"), ("iw", "he"),
        ("sh", "sr-Latn"), ("ger", "de"), ("sr@latin", "sr-Latn"), ("en_US.UTF-8", "en-US"),
        ("English", "en"), (" english ", "en"), ("Egyptian Arabic", "arz"), ("Maasai", "mas"),
        ("Brazilian Portuguese", "pt-BR"), ("Simplified Chinese", "zh-Hans"),
        ("Chinese (Traditional)", "zh-Hant"), ("Serbian (Cyrillic)", "sr-Cyrl"),
        ("Arabic (Morocco)", "ar-MA"),
    ],
)  # fmt: skip
def test_codes_and_english_names_become_canonical_codes(written: str, code: str) -> None:
    assert languages.normalise(written) == code


@pytest.mark.parametrize(
    "written",
    [
        "", " ", "xx", "und", "mul", "zxx", "x-private", "en-Latn-Cyrl", "💥", "\0", "Englishx",
        "Serbian (Nowhere)", "a b",
    ],
)  # fmt: skip
def test_an_unknown_language_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match="unknown language"):
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
        ("en", "English"), ("cs-CZ", "Czech"), ("is_IS", "Icelandic"),
        ("pt-BR", "Brazilian Portuguese"), ("ar_EG", "Egyptian Arabic"), ("pt", "Portuguese"),
        ("en-GB", "British English"),
        ("en-ZA", "English (South Africa)"), ("zh", "Chinese"), ("zh-CN", "Chinese (Simplified)"),
        ("zh-Hant", "Chinese (Traditional)"), ("zh-TW", "Chinese (Traditional)"),
        ("zh-HK", "Chinese (Traditional, Hong Kong)"), ("sr", "Serbian"),
        ("sr-Latn-RS", "Serbian (Latin script)"), ("sr-Cyrl", "Serbian (Cyrillic script)"),
        ("en-Latn", "English"), ("kk-Arab", "Kazakh (Arabic script)"), ("ha-Latn", "Hausa"),
        ("arz-EG", "Egyptian Arabic"), ("ca-valencia", "Catalan (valencia)"),
    ],
)  # fmt: skip
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
