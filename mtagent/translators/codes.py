"""Language codes as MT systems write them.

A system's codes are given by name (:data:`SCHEMES`), as a mapping from BCP-47 codes, as the list of its codes, or as a
function of a BCP-47 code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from langcodes import Language

from mtagent.errors import ConfigError, LanguageNeeded, TranslatorError
from mtagent.text import languages

Codes = Callable[[str, bool], str | None]
"""``codes(code, is_target)``: the system's name for the language; ``None``: the system must detect it."""

# FLORES-200 names the single language where ISO 639 has a macrolanguage.
_FLORES = {
    **{"ar": "arb", "az": "azj", "ay": "ayr", "et": "est", "fa": "pes", "gn": "grn", "ku": "kmr", "lv": "lvs"},
    **{"mg": "plt", "mn": "khk", "ms": "zsm", "ne": "npi", "no": "nob", "om": "gaz", "or": "ory", "ps": "pbt"},
    **{"sq": "als", "sw": "swh", "uz": "uzn", "yi": "ydd", "zh": "zho"},
}


def same(code: str, is_target: bool) -> str | None:
    """BCP-47, as in segments."""
    if code == languages.UNKNOWN:
        return None
    return code


def primary(code: str, is_target: bool) -> str | None:
    """The language without script and region: ``pt-BR`` → ``pt``."""
    if code == languages.UNKNOWN:
        return None
    return code.partition("-")[0].lower()


def flores(code: str, is_target: bool) -> str | None:
    """FLORES-200's codes, which NLLB takes: ``pt-BR`` → ``por_Latn``, ``zh-TW`` → ``zho_Hant``."""
    if code == languages.UNKNOWN:
        raise _must_be_told()
    language = Language.get(code).maximize()
    bare = str(language.language)
    return f"{_FLORES.get(bare) or Language.get(bare).to_alpha3()}_{language.script}"


def deepl(code: str, is_target: bool) -> str | None:
    """DeepL's codes, with the variety of a target that has several: ``en`` → ``EN-US``, ``zh-TW`` → ``ZH-HANT``."""
    if code == languages.UNKNOWN:
        return None
    language = Language.get(code)
    bare = str(language.language).upper()
    if not is_target:
        return bare
    territory = language.territory
    match bare:
        case "EN" if territory in (None, "US"):
            return "EN-US"
        case "EN":
            return "EN-GB"
        case "PT" if territory in (None, "BR"):
            return "PT-BR"
        case "PT":
            return "PT-PT"
        case "ZH":
            return f"ZH-{str(language.maximize().script).upper()}"
        case "ES" if territory not in (None, "ES"):
            return "ES-419"
        case "NO":
            return "NB"
    return bare


SCHEMES: dict[str, Codes] = {"bcp47": same, "primary": primary, "flores": flores, "nllb": flores, "deepl": deepl}
"""Codes by the name of their scheme."""


def among(known: Collection[str]) -> Codes:
    """The ``known`` code for the same language, whatever its spelling (``eng_Latn``, ``en_XX``).

    If there are several, the one with the same script and region. A segment in an unknown language raises
    :class:`TranslatorError`.
    """
    known_languages = {code: Language.get(code.replace("_XX", ""), normalize=True) for code in known}

    def nearest(code: str, is_target: bool) -> str | None:
        if code == languages.UNKNOWN:
            raise _must_be_told()
        language = Language.get(code)
        full = language.maximize()

        def nearness(candidate: str) -> tuple[bool, bool, bool]:
            other = known_languages[candidate].maximize()
            return candidate == code, other.script == full.script, other.territory == full.territory

        bare = str(language.language)
        names = {bare, _FLORES.get(bare, "")}
        candidates = [code for code, other in known_languages.items() if {other.language, other.to_alpha3()} & names]
        if not candidates:
            raise TranslatorError(f"the system has no language {code!r}; it has {', '.join(sorted(known)[:40])}")
        return max(candidates, key=nearness)

    return nearest


def codes_of(langs: str | Mapping[str, str] | Collection[str] | Codes | None) -> Codes:
    """The codes that ``langs`` describes. A mapping has BCP-47 codes, or languages alone, as keys.

    Raises :class:`ConfigError` for an unknown scheme.
    """
    if langs is None:
        return same
    if callable(langs):
        return langs
    if isinstance(langs, str):
        if langs not in SCHEMES:
            raise ConfigError(f"unknown language codes {langs!r}: write a mapping, or one of {', '.join(SCHEMES)}")
        return SCHEMES[langs]
    if not isinstance(langs, Mapping):
        return among(langs)
    mapping = {languages.normalise(code): name for code, name in langs.items()}

    def mapped(code: str, is_target: bool) -> str | None:
        if code == languages.UNKNOWN:
            return None
        name = mapping.get(code) or mapping.get(code.partition("-")[0])
        if name is None:
            raise TranslatorError(f"the system has no language {code!r}; langs names {', '.join(mapping)}")
        return name

    return mapped


def _must_be_told() -> LanguageNeeded:
    return LanguageNeeded("the system needs to know the source language")
