"""Inputs of ``Agent`` and ``rate``: texts, terms and settings in Python become segments and a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from pydantic import ValidationError

from mtagent import config as configuration
from mtagent.errors import ConfigError
from mtagent.formats.glossary import Glossary, GlossaryFor, read_terms, with_terms
from mtagent.records import Segment, Term
from mtagent.text import languages

Terms = Mapping[str, str] | Iterable[Term] | Glossary


class TextDetails(TypedDict, total=False):
    """Details of texts."""

    # Terms to use: {"segment": "Segment"}, or Term records.
    terms: Terms | None
    # Text around them, which is not translated.
    context: str | None
    domain: str | None
    # How to translate them, such as "Address the reader formally."
    instructions: str | None
    # Seconds after which the text is returned as it is.
    timeout: float | None


def mapping_of(given: Mapping[Any, Any] | None, what: str) -> dict[Any, Any]:
    """``given`` as a dictionary. Raises :class:`ConfigError`, which begins with ``what``, for anything else."""
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"{what}, not {given!r:.80}")
    return dict(given or {})


def loaded(
    config_file: str | Path | None,
    given: Mapping[str, Any],
    glossary: Terms | str | Path | None,
    keep: Iterable[str] | str | Path | None,
) -> tuple[configuration.Config, GlossaryFor]:
    """The configuration, and the terms to use, from files or as given. Raises :class:`ConfigError`."""
    files: dict[str, str | Path] = {}
    if isinstance(glossary, str | Path):
        files["glossary"] = glossary
    if isinstance(keep, str | Path):
        files["keep"] = keep
    if config_file is not None and not (isinstance(config_file, str | Path) and str(config_file).strip()):
        raise ConfigError(f"config_file: expected a path, not {config_file!r:.80}")
    config = configuration.load(None if config_file is None else Path(config_file), {**given, **files})
    terms = () if "glossary" in files else terms_of(glossary)  # type: ignore[arg-type]
    kept = list[Term]()
    if "keep" not in files and keep is not None:
        if not isinstance(keep, Iterable):
            raise ConfigError(f"keep: expected a file or a list of words, not {keep!r:.80}")
        words = list(keep)
        for word in words:
            if not isinstance(word, str) or not word.strip():
                raise ConfigError(f"keep: expected words, not {word!r:.80}")
        kept = [Term(source=word) for word in words]
    for name, what, given_terms in (("glossary", "the glossary", terms), ("keep", "the list of words", kept)):
        if given_terms:
            configuration.refuse_idle_terms(config, name, what)
    return config, read_terms(config.glossary, config.keep, terms, kept)


def terms_of(terms: Terms | None) -> tuple[Term, ...]:
    """Terms given as ``{"source": "target"}``, as records, or as a glossary. Raises :class:`ConfigError`."""
    if terms is None:
        return ()
    if isinstance(terms, Glossary):
        return terms.terms
    if isinstance(terms, Mapping):
        try:
            return tuple(Term(source=source, target=target) for source, target in terms.items())
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"terms: {first['loc'][0]} {first['input']!r:.80}: {first['msg'].lower()}") from None
    if not isinstance(terms, Iterable):
        raise ConfigError(f"terms: {terms!r:.80} are not terms: give a mapping from source to target, or Term records")
    records = tuple(terms)
    for term in records:
        if not isinstance(term, Term):
            raise ConfigError(f"terms: {term!r} is not a term: give a mapping from source to target, or Term records")
    return records


def segments_of(
    texts: str | Iterable[str],
    translations: str | Iterable[str] | None,
    source_lang: str,
    target_lang: str,
    about: TextDetails,
) -> list[Segment]:
    """Make segments of one text or several, with their details ``about``. Raises :class:`ConfigError`."""
    for name in about:
        if name not in TextDetails.__annotations__:
            names = ", ".join(TextDetails.__annotations__)
            raise TypeError(f"unexpected keyword argument {name!r}; expected one of: {names}")
    if isinstance(texts, str):
        if translations is not None and not isinstance(translations, str):
            raise ConfigError("one text has one translation, and several texts a list of them")
        texts = [texts]
        translations = None if translations is None else [translations]
    details = {"context": about.get("context"), "domain": about.get("domain"), "notes": about.get("instructions")}
    fields = {name: value for name, value in details.items() if value}
    segments = []
    for segment in make_segments(texts, translations, source_lang, target_lang):
        segments.append(segment.model_copy(update=fields))
    terms = Glossary(terms_of(about.get("terms")))
    return list(with_terms(segments, lambda *_: terms))


def make_segments(
    sources: Iterable[str], translations: Iterable[str] | None, source_lang: str, target_lang: str
) -> list[Segment]:
    """Make segments numbered from 1, each with its translation, if ``translations`` are given.

    The source language ``"auto"`` is for MT systems that detect it. Raises :class:`ConfigError` for anything but texts,
    and for different numbers of sources and translations.
    """
    sources = texts_of(sources, "source")
    texts: list[Any] = [None] * len(sources) if translations is None else texts_of(translations, "translation")
    if len(texts) != len(sources):
        raise ConfigError(f"{len(sources)} sources and {len(texts)} translations: there must be one for each")
    source_lang = languages.UNKNOWN if source_lang == "auto" else languages.normalise(source_lang)
    target_lang = languages.normalise(target_lang)
    return [
        Segment(id=str(i), source=source, translation=translation, source_lang=source_lang, target_lang=target_lang)
        for i, (source, translation) in enumerate(zip(sources, texts, strict=True), 1)
    ]


def texts_of(given: Iterable[str], what: str) -> list[str]:
    """The texts of ``given``, whatever can be iterated over in order. Raises :class:`ConfigError` for anything else."""
    if isinstance(given, str | bytes):
        raise ConfigError("give a list of texts, not one text")
    if isinstance(given, Mapping | set | frozenset) or not isinstance(given, Iterable):
        raise ConfigError(f"give a list of texts as {what}s, not {type(given).__name__} {given!r:.80}")
    texts = list(given)
    for i, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise ConfigError(f"{what} {i}: expected a text, not {text!r}")
    return texts
