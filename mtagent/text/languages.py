"""Language codes and names: BCP-47 inside, English names in prompts, and the pair notations of the field outside."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mtagent.errors import ConfigError

if TYPE_CHECKING:
    from langcodes import Language


UNKNOWN_SCRIPT = "Zzzz"
"""ISO 15924's code for an unknown script."""

_CHINESE_AND_JAPANESE = frozenset({"Hans", "Hant", "Hani", "Hanb", "Jpan", "Hira", "Kana", "Hrkt"})
_SPACELESS = _CHINESE_AND_JAPANESE | {"Thai", "Laoo", "Khmr", "Mymr", "Tibt", "Talu", "Tale", "Lana", "Java", "Bali"}
_IN_SEVERAL_SCRIPTS = frozenset(
    ["az", "bs", "kk", "ks", "ku", "ky", "mn", "ms", "pa", "sd", "sr", "tg", "tk", "tt", "ug", "uz", "yue"]
)
_ALSO_IN_ANOTHER_SCRIPT = frozenset(
    [
        "ace", "ban", "ber", "bjn", "bm", "bug", "cdo", "cr", "crh", "ff", "gag", "ha", "hak", "iu", "jv", "kaa", "kab",
        "knc", "kok", "kr", "lad", "man", "min", "mni", "nan", "oj", "pi", "rif", "rom", "sa", "sat", "shi", "su", "tmh", "tzm", "zgh",
    ]
)  # fmt: skip
"""Written in a second script here and there. Who names no script means the usual one, but may get the other."""
_NOT_TRANSLATABLE = frozenset({"und", "mul", "zxx", "mis", "root"})
_POSIX_MODIFIERS = {"latin": "Latn", "cyrillic": "Cyrl", "arabic": "Arab", "devanagari": "Deva"}
_CUSTOMARY = {
    "de-AT": "Austrian German",
    "de-CH": "Swiss Standard German",
    "en-AU": "Australian English",
    "en-CA": "Canadian English",
    "en-GB": "British English",
    "en-US": "American English",
    "es-419": "Latin American Spanish",
    "es-ES": "European Spanish",
    "es-MX": "Mexican Spanish",
    "fr-CA": "Canadian French",
    "fr-CH": "Swiss French",
    "pt-BR": "Brazilian Portuguese",
    "pt-PT": "European Portuguese",
}
_ARROW = re.compile(r"->|→|>|:|\|")


def parse_pair(pair: str) -> tuple[str, str]:
    """Split a language pair into two canonical codes.

    Reads ``en-es``, WMT's ``en-sr_Latn_RS``, BCP-47 on either side (``zh-Hant-en``), names (``English-Spanish``) and,
    where the place to split must be said, ``en:pt-BR`` or ``en->pt-BR``. Of several readings the one whose letter case
    follows BCP-47 wins (``en-pt-BR`` is English to Brazilian Portuguese). Raises :class:`ConfigError`.
    """
    readings = _readings(pair)
    if len(readings) > 1:
        readings = {codes: halves for codes, halves in readings.items() if halves == codes} or readings
    if len(readings) == 1:
        return next(iter(readings))
    way_out = "give --source-lang and --target-lang"
    if not readings:
        raise ConfigError(f"{pair!r} is not a language pair such as 'en-es'{_culprit(pair)}; {way_out}")
    shown = " or ".join(f"{source} -> {target}" for source, target in sorted(readings))
    raise ConfigError(f"{pair!r} can be read as {shown}; {way_out}")


def is_code(text: str) -> bool:
    """Whether ``text`` is the two-letter code of a language. (Of three letters almost all combinations are one.)"""
    return len(text) == 2 and text.isalpha() and _code(text) == text


def pair_of(source_lang: str, target_lang: str) -> str:
    """The pair by language alone, as examples and calibrations name it: ``en-US``, ``de-AT`` give ``en-de``."""
    return "-".join(code.replace("_", "-").partition("-")[0].casefold() for code in (source_lang, target_lang))


def _readings(pair: str) -> dict[tuple[str, str], tuple[str, str]]:
    """All pairs of codes that ``pair`` can stand for, each with its halves as they were written."""
    return {
        (source, target): (left.replace("_", "-"), right.replace("_", "-"))
        for left, right in _halves(pair)
        if (source := _code(left)) and (target := _code(right))
    }


def _halves(pair: str) -> Iterator[tuple[str, str]]:
    separators = list(_ARROW.finditer(pair)) or list(re.finditer("-", pair)) or list(re.finditer("_", pair))
    for separator in separators:
        yield pair[: separator.start()].strip(), pair[separator.end() :].strip()


def _culprit(pair: str) -> str:
    """The unknown half of an otherwise plain pair, for the error message."""
    halves = list(_halves(pair))
    unknown = [half for half in halves[0] if not _code(half)] if len(halves) == 1 else []
    return "".join(f"; unknown language {half!r}{_suggestion(half)}" for half in unknown)


@lru_cache(maxsize=1024)
def normalise(code: str) -> str:
    """The canonical BCP-47 code for a code in any common spelling, or for an English language name.

    ``zh_CN`` → ``zh-CN``, ``eng`` → ``en``, ``sr@latin`` → ``sr-Latn``, ``English`` → ``en``, ``Chinese (Simplified)``
    → ``zh-Hans``. Raises :class:`ConfigError` for anything unknown.
    """
    canonical = _code(code)
    if canonical is None:
        raise ConfigError(f"unknown language {code!r}{_suggestion(code)}; use a BCP-47 code such as 'en' or 'pt-BR'")
    return canonical


@lru_cache(maxsize=1024)
def name(code: str) -> str:
    """The English name for prompts, with script or region only where they say more than the language itself.

    ``cs-CZ`` → ``Czech``, ``pt-BR`` → ``Brazilian Portuguese``, ``zh-TW`` → ``Chinese (Traditional)``, ``sr-Latn`` →
    ``Serbian (Latin script)``. A bare ``zh`` or ``sr`` names no script, because the code does not either.
    """
    language = _language(normalise(code))
    bare = f"{language.language}-{language.territory}"
    if bare in _CUSTOMARY and not language.script:
        return _CUSTOMARY[bare]
    qualifiers = [part for part in (_script_name(language), _region_name(language)) if part]
    qualifiers += language.variants or []
    return f"{language.language_name()} ({', '.join(qualifiers)})" if qualifiers else str(language.language_name())


@lru_cache(maxsize=1024)
def script(code: str) -> str:
    """The ISO 15924 code of the script that the language is most likely written in: ``Latn``, ``Cyrl``, ``Hans`` …

    ``Zzzz`` where the Unicode CLDR knows none: take it as "no idea", not as a script.
    """
    language = _language(normalise(code))
    if language.script:
        return str(language.script)
    return str(language.maximize().script) if _has_likely_script(language) else UNKNOWN_SCRIPT


@lru_cache(maxsize=1024)
def only_script(code: str) -> str | None:
    """The script that a text in this language is certainly written in; ``None`` where it may be in several."""
    canonical = _code(code)
    if canonical is None:
        return None
    language = _language(canonical)
    several = language.language in _IN_SEVERAL_SCRIPTS | _ALSO_IN_ANOTHER_SCRIPT and not language.script
    return None if several or script(canonical) == UNKNOWN_SCRIPT else script(canonical)


@lru_cache(maxsize=1024)
def has_spaces(code: str) -> bool:
    """Whether words are separated by spaces; false for Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan …"""
    return script(code) not in _SPACELESS


def _language(code: str) -> Language:
    # Imported where it is used: its tables take longer to load than the rest of the package.
    from langcodes import Language

    return Language.get(code)


@lru_cache(maxsize=1024)
def _code(written: str) -> str | None:
    """The canonical code for a code or an English name; ``None`` where it is neither."""
    from langcodes.tag_parser import LanguageTagError

    tag, _, modifier = written.strip().partition("@")
    tag = tag.partition(".")[0]
    extra = f"-{_POSIX_MODIFIERS.get(modifier.lower(), modifier)}" if modifier else ""
    try:
        language = _language(tag + extra)
    except LanguageTagError:
        language = None
    if language is None or language.language in (None, *_NOT_TRANSLATABLE) or not language.is_valid():
        return _code_for_name(written)
    return None if language.to_tag().startswith("x-") else str(language.to_tag())


def _code_for_name(written: str) -> str | None:
    """The code for ``Serbian``, ``Brazilian Portuguese`` or ``Serbian (Latin script, Serbia)``; only exact names."""
    if written.strip() in _CUSTOMARY.values():
        return next(code for code, customary in _CUSTOMARY.items() if customary == written.strip())
    if len(written.strip()) < 4:  # "ua" is a language's name too, but here it is a mistaken code
        return None
    base, _, qualifiers = written.strip().removesuffix(")").partition("(")
    tag = _look_up("language", written) or _look_up("language", base)
    if tag is None or tag in _NOT_TRANSLATABLE:
        return None
    if not qualifiers or _look_up("language", written):
        return str(_language(tag).to_tag())
    language = _language(tag)
    for qualifier in qualifiers.split(","):
        plain = qualifier.strip().removesuffix(" script")
        if script_code := _look_up("script", plain) or _look_up("script", f"{plain} Han"):
            language = language.update_dict({"script": script_code})
        elif region := _look_up("territory", plain):
            language = language.update_dict({"territory": region})
        else:
            return None
    return str(language.to_tag())


@lru_cache(maxsize=4)
def _names(kind: str) -> Any:
    """The English names of all ``language``, ``script`` or ``territory`` subtags: a mapping of name to code."""
    from language_data.names import load_trie  # type: ignore[import-untyped]
    from language_data.util import data_filename  # type: ignore[import-untyped]

    return load_trie(data_filename(f"trie/en/name_to_{kind}.marisa"))


def _look_up(kind: str, written: str) -> str | None:
    # Not langcodes.find: it takes any name that begins with a known one, so "Englishx" would be English.
    from language_data.names import normalize_name

    codes = _names(kind).get(normalize_name(written)) if written.isprintable() else None
    return codes[0].decode() if codes else None


def _script_name(language: Language) -> str:
    if language.language == "zh":
        implied = language.script or (script(language.to_tag()) if language.territory else None)
        return {"Hans": "Simplified", "Hant": "Traditional"}.get(implied or "", "")
    if not language.script:
        return ""
    bare = _language(str(language.language))
    usual = _has_likely_script(bare) and bare.maximize().script == language.script
    several = language.language in _IN_SEVERAL_SCRIPTS
    return f"{language.script_name()} script" if several or not usual else ""


def _region_name(language: Language) -> str:
    """The region's name, unless it is the region where this language in this script is at home anyway."""
    if not language.territory:
        return ""
    without = _language("-".join(filter(None, (language.language, language.script or _implied_script(language)))))
    at_home = _has_likely_script(without) and without.maximize().territory == language.territory
    return "" if at_home else str(language.territory_name()).removesuffix(" SAR China")


def _implied_script(language: Language) -> str | None:
    return script(language.to_tag()) if language.language == "zh" else None


def _has_likely_script(language: Language) -> bool:
    """Whether CLDR knows the language at all: without data, ``maximize`` answers as if it were English."""
    from langcodes.data_dicts import LIKELY_SUBTAGS

    return any(tag in LIKELY_SUBTAGS for tag in language.broader_tags() if not tag.startswith("und"))


def _suggestion(written: str) -> str:
    """The language that was probably meant: that of a country code such as ``jp``, or the closest name."""
    from langcodes.data_dicts import LIKELY_SUBTAGS

    country = f"und-{written.upper()}"
    if country in LIKELY_SUBTAGS:
        meant = str(_language(LIKELY_SUBTAGS[country]).language)
        return f"; did you mean {meant!r} ({name(meant)})?"
    if len(written) < 4:
        return ""
    close = difflib.get_close_matches(written.casefold(), _names("language").keys(), n=1, cutoff=0.75)
    return f"; did you mean {close[0].title()!r} ({_look_up('language', close[0])})?" if close else ""
