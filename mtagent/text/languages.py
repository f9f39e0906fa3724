"""Language codes and names: BCP-47 inside, English names in prompts, and the pair notations of the field outside."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mtagent.errors import ConfigError
from mtagent.text.scripts import IN_SEVERAL_SCRIPTS, known_language, language_of, script_of

UNKNOWN = "und"
"""The code of a source language that the system is to find out itself."""
_NOT_TRANSLATABLE = frozenset({UNKNOWN, "mul", "zxx", "mis", "root"})
_POSIX_MODIFIERS = {"latin": "Latn", "cyrillic": "Cyrl", "arabic": "Arab", "devanagari": "Deva"}
_CUSTOMARY = {
    "ar-001": "Modern Standard Arabic",
    "ar-EG": "Egyptian Arabic",
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
_SEPARATORS = (re.compile(r"->|→|>|:|\|"), re.compile("-"), re.compile("_"))


def parse_pair(pair: str) -> tuple[str, str]:
    """Split a language pair into two canonical codes.

    Reads ``en-es``, WMT's ``en-sr_Latn_RS``, BCP-47 on either side (``zh-Hant-en``), names (``English-Spanish``) and,
    where the place to split must be said, ``en:pt-BR`` or ``en->pt-BR``. Of several readings the one whose letter case
    follows BCP-47 wins (``en-pt-BR`` is English to Brazilian Portuguese). Raises :class:`ConfigError`.
    """
    halves: list[tuple[str, str]] = []
    for separator in _SEPARATORS:
        for mark in separator.finditer(pair):
            halves.append((pair[: mark.start()].strip(), pair[mark.end() :].strip()))
        if halves:
            break
    readings: dict[tuple[str, str], tuple[str, str]] = {}
    for left, right in halves:
        source, target = _code(left), _code(right)
        if source and target:
            readings[source, target] = left.replace("_", "-"), right.replace("_", "-")
    as_written = [codes for codes, written in readings.items() if codes == written]
    if len(readings) == 1 or len(as_written) == 1:
        return (as_written or list(readings))[0]
    if readings:
        ways = [f"{source}:{target}" for source, target in sorted(as_written or readings)]
        raise ConfigError(f"{pair!r} can be read in several ways; write {' or '.join(ways)}")
    culprit = ""
    if len(halves) == 1:
        for half in halves[0]:
            if not _code(half):
                culprit += f"; unknown language {half!r}{_suggestion(half)}"
    raise ConfigError(f"{pair!r} is not a language pair such as en-es or en:pt-BR{culprit}")


def pair_of(source_lang: str, target_lang: str) -> str:
    """The pair by language alone, as examples and calibrations name it: ``en-US``, ``de-AT`` give ``en-de``."""
    return "-".join(code.replace("_", "-").partition("-")[0].casefold() for code in (source_lang, target_lang))


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


_ANOTHER_REGION = 9  # in langcodes' distances


def closest(lang: str, offered: Sequence[str]) -> str | None:
    """The one of ``offered`` codes that fits ``lang``: itself, or the same language and script elsewhere."""
    from langcodes import tag_distance

    def kind(code: str) -> tuple[str, str]:
        return language_of(code), script_of(code)

    near = []
    for code in offered:
        if known_language(code) and kind(code) == kind(lang):
            distance = tag_distance(lang, code)
            if distance <= _ANOTHER_REGION:
                near.append((distance, code))
    return min(near)[1] if near else None


@lru_cache(maxsize=1024)
def name(code: str) -> str:
    """The English name for prompts, with script or region only where they add something to the language.

    ``cs-CZ`` → ``Czech``, ``pt-BR`` → ``Brazilian Portuguese``, ``ar-EG`` → ``Egyptian Arabic``, ``zh-TW`` → ``Chinese
    (Traditional)``, ``sr-Latn`` → ``Serbian (Latin script)``. A bare ``zh`` or ``sr`` names no script, because the code
    does not either.
    """
    if code == UNKNOWN:
        return "its own language"
    language = known_language(normalise(code))
    assert language is not None
    bare, script, region = str(language.language), language.script, language.territory
    customary = _CUSTOMARY.get(f"{bare}-{region}")
    if customary and not script:
        return customary
    qualifiers = []
    if bare == "zh":
        if region and not script:
            script = script_of(language.to_tag())
        qualifiers = [{"Hans": "Simplified", "Hant": "Traditional"}.get(script or "", "")]
    elif script and (script_of(bare) != script or bare in IN_SEVERAL_SCRIPTS):
        qualifiers = [f"{language.script_name()} script"]
    home = known_language(f"{bare}-{script}" if script else bare)
    at_home = script_of(bare) and home and home.maximize().territory == region
    if region and not at_home:
        qualifiers.append(str(language.territory_name()).removesuffix(" SAR China"))
    qualifiers += language.variants or ()
    details = ", ".join(filter(None, qualifiers))
    return f"{language.language_name()} ({details})" if details else str(language.language_name())


@lru_cache(maxsize=1024)
def _code(written: str) -> str | None:
    """The canonical code for a code or an English name; ``None`` where it is neither."""
    tag, _, modifier = written.strip().partition("@")
    extra = f"-{_POSIX_MODIFIERS.get(modifier.lower(), modifier)}" if modifier else ""
    language = known_language(tag.partition(".")[0] + extra)
    if language is None or language.language in (None, *_NOT_TRANSLATABLE) or not language.is_valid():
        return _code_of_name(written.strip())
    return None if language.to_tag().startswith("x-") else str(language.to_tag())


def _code_of_name(written: str) -> str | None:
    """The code for ``Serbian``, ``Brazilian Portuguese`` or ``Serbian (Latin script, Serbia)``; only exact names."""
    whole = _look_up("language", written)  # "Egyptian Arabic" has a code of its own, arz
    if whole is None and written in _CUSTOMARY.values():
        return next(code for code, customary in _CUSTOMARY.items() if customary == written)
    base, _, qualifiers = written.removesuffix(")").partition("(")
    tag = whole or _look_up("language", base)
    if len(written) < 4 or tag is None or tag in _NOT_TRANSLATABLE:  # "ua" names a language too, by mistake for "uk"
        return None
    language = known_language(tag)
    assert language is not None
    if whole or not qualifiers:
        return str(language.to_tag())
    for qualifier in qualifiers.split(","):
        plain = qualifier.strip().removesuffix(" script")
        script = _look_up("script", plain) or _look_up("script", f"{plain} Han")
        if script:
            language = language.update_dict({"script": script})
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
    from language_data.names import normalize_name

    # Not langcodes.find: it takes any name that begins with a known one, so "Englishx" would be English.
    codes = _names(kind).get(normalize_name(written)) if written.isprintable() else None
    return codes[0].decode() if codes else None


def _suggestion(written: str) -> str:
    """The language that was probably meant: for a country code such as ``jp`` its language, or the closest name."""
    from langcodes.data_dicts import LIKELY_SUBTAGS

    if likely := LIKELY_SUBTAGS.get(f"und-{written.upper()}"):
        meant = likely.partition("-")[0]
        return f"; did you mean {meant!r} ({name(meant)})?"
    close = difflib.get_close_matches(written.casefold(), _names("language").keys(), n=1, cutoff=0.75)
    if not close or len(written) <= 3:
        return ""
    return f"; did you mean {close[0].title()!r} ({_look_up('language', close[0])})?"
