"""Language codes as MT systems write them.

A system's codes are given by name (:data:`SCHEMES`), as a mapping from BCP-47 codes, as the list of the codes that it
knows, or as a function of a BCP-47 code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from langcodes import Language

from mtagent.errors import ConfigError, LanguageNeeded, TranslatorError
from mtagent.text import languages

Codes = Callable[[str, bool], str | None]
"""``codes(code, is_target)``: what the system calls the language; ``None``: it is to find out which one it is."""

# FLORES-200 names the single language where ISO 639 has a macrolanguage.
_FLORES = {
    **{"ar": "arb", "az": "azj", "ay": "ayr", "et": "est", "fa": "pes", "gn": "grn", "ku": "kmr", "lv": "lvs"},
    **{"mg": "plt", "mn": "khk", "ms": "zsm", "ne": "npi", "no": "nob", "om": "gaz", "or": "ory", "ps": "pbt"},
    **{"sq": "als", "sw": "swh", "uz": "uzn", "yi": "ydd", "zh": "zho"},
}


def same(code: str, is_target: bool) -> str | None:
    """BCP-47, as in segments."""
    return None if code == languages.UNKNOWN else code


def primary(code: str, is_target: bool) -> str | None:
    """The language without script and region: ``pt-BR`` → ``pt``."""
    return None if code == languages.UNKNOWN else code.partition("-")[0].lower()


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
    match bare:
        case "EN":
            return "EN-US" if language.territory in (None, "US") else "EN-GB"
        case "PT":
            return "PT-BR" if language.territory in (None, "BR") else "PT-PT"
        case "ZH":
            return f"ZH-{str(language.maximize().script).upper()}"
        case "ES":
            return "ES-419" if language.territory not in (None, "ES") else "ES"
        case "NO":
            return "NB"
    return bare


SCHEMES: dict[str, Codes] = {"bcp47": same, "primary": primary, "flores": flores, "nllb": flores, "deepl": deepl}
"""Codes by the name of their scheme."""


def among(known: Collection[str]) -> Codes:
    """Those of the ``known`` codes that mean the same language, whatever their spelling (``eng_Latn``, ``en_XX``).

    Of several the one with the same script and region; a language that is not among them is an error when it is asked.
    """
    read = {code: Language.get(code.replace("_XX", ""), normalize=True) for code in known}

    def found(code: str, is_target: bool) -> str | None:
        if code == languages.UNKNOWN:
            raise _must_be_told()
        language = Language.get(code)
        full = language.maximize()

        def nearness(candidate: str) -> tuple[bool, bool, bool]:
            other = read[candidate].maximize()
            return candidate == code, other.script == full.script, other.territory == full.territory

        macro = {str(language.language), _FLORES.get(str(language.language), "")}
        alike = [code for code, other in read.items() if {other.language, other.to_alpha3()} & macro]
        if not alike:
            raise TranslatorError(f"the system has no language {code!r}; it has {', '.join(sorted(known)[:40])}")
        return max(alike, key=nearness)

    return found


def codes_of(langs: str | Mapping[str, str] | Collection[str] | Codes | None) -> Codes:
    """The codes that ``langs`` describes. A mapping has BCP-47 codes, or languages alone, as keys.

    Raises :class:`ConfigError` for the name of no scheme.
    """
    if langs is None:
        return same
    if callable(langs):
        return langs
    if isinstance(langs, str):
        if langs not in SCHEMES:
            raise ConfigError(f"no language codes {langs!r}: write a mapping, or one of {', '.join(SCHEMES)}")
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
    return LanguageNeeded("the system must be told the source language")
