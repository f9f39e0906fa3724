"""Files with one language each: a text is translated by the text with the same key in another file.

The units of such a file have the source file's keys, in its order. Keys that only the translated file has aren't units.
A plural has the categories of the target language, whatever the source's are, and those that the file has already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import PluralForm, TranslationUnit, refuse_repeated
from mtagent.formats.inline import InlineTag, numbered
from mtagent.text import icu
from mtagent.text.plurals import CATEGORIES, plural_forms, rule_examples

_LANGUAGE = r"[a-z]{2,3}(?:[-_][A-Z][a-z]{3})?(?:[-_](?:[A-Z]{2}|[0-9]{3}))?"
_FOLDER = regex.compile(rf"(?P<language>{_LANGUAGE})(?:\.lproj)?")
_ANDROID_FOLDER = regex.compile(r"values-(?:b\+)?(?P<language>[a-z]{2,3}(?:-r[A-Z]{2}|(?:\+\w+)*))")
_NAME = regex.compile(rf"(?:.*\.)?(?P<language>{_LANGUAGE})")
_NAME_WITH_PREFIX = regex.compile(rf"(?:.*?[._-])?(?P<language>{_LANGUAGE})")
_PREFIXED = {".arb", ".properties", ".ts"}  # app_de.arb; in other files "sign_in" or "how_to" would be languages
_WITHOUT_LANGUAGE = regex.compile(rf"(?:[._]{_LANGUAGE}(?=\.\w+$))|(?<=^values)-.*")
_LIKELY_SOURCES = ("en", "en-US", "en_US", "en-GB", "en_GB")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedText:
    """A text in a file of one language. ``key`` is unique in the file.

    The key of a plural form is ``plural_prefix``, its ``category`` and ``plural_suffix``.
    """

    key: str
    text: str | None  # None: a place without a text, such as null
    line: int
    notes: tuple[str, ...] = ()
    context: str | None = None
    max_length: int | None = None
    locked: bool = False  # not to be translated
    form: PluralForm | None = None  # of a plural that has the same forms in all languages
    category: str | None = None  # of the CLDR
    is_ordinal: bool = False  # whether the category is that of 1st, 2nd, 3rd …
    plural_prefix: str = ""
    plural_suffix: str = ""
    pieces: Sequence[str | InlineTag] | None = None  # of a text with inline tags

    @property
    def plural(self) -> str | None:
        """What all forms of a plural share; ``None`` for other texts."""
        return None if self.category is None else f"{self.plural_prefix}\0{self.plural_suffix}"

    def key_of(self, category: str) -> str:
        """The key of another form of the same plural."""
        return f"{self.plural_prefix}{category}{self.plural_suffix}"


def source_file(path: Path, source: Path | None) -> Path:
    """The file with the sources of ``path``; in a folder it has the same name.

    Raises :class:`InputError` if there is no ``source``, or if it is ``path`` itself.
    """
    if source is None:
        raise InputError(
            f"{path}: has the texts of one language; name the file with the sources: --source {_likely_source(path)}"
        )
    if source.is_dir():
        source = source / path.name
    if source.exists() and path.exists() and source.samefile(path):
        raise InputError(f"{path}: is the file with the sources itself; name one with translations")
    return source


def language_in_path(path: Path) -> str | None:
    """The language that a path certainly names: ``de.json``, ``app_de.arb``, ``messages.de.yml``, ``de/app.json``."""
    found = _language_place(path)
    return None if found is None else found[0]


def joined_key(path: Iterable[str | int]) -> str:
    """The key of a text within others: the names joined by dots. A dot or backslash in a name has one before it."""
    return ".".join(str(name).replace("\\", "\\\\").replace(".", "\\.") for name in path)


def paired(
    sources: Iterable[KeyedText],
    targets: Iterable[KeyedText],
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> list[TranslationUnit]:
    """The units of a file with ``targets`` as its texts; both must have unique keys."""
    sources = list(sources)
    in_target = {text.key: text for text in targets}
    source_plurals: dict[str, dict[str, KeyedText]] = {}
    for text in sources:
        if text.plural is not None and text.category is not None:
            source_plurals.setdefault(text.plural, {})[text.category] = text
    units = []
    for text in sources:
        if text.plural is None:
            if text.text is not None:
                units.append(_unit(text.key, text, in_target.get(text.key), text.form, source_lang, target_lang))
            continue
        source_forms = source_plurals.pop(text.plural, None)
        if source_forms is None:
            continue  # its first form has added them all
        in_file = {category for category in CATEGORIES if text.key_of(category) in in_target}
        for form in _forms(source_forms, in_file, target_lang):
            category = form.category or "other"
            like = source_forms.get(category) or source_forms.get("other") or text
            if like.text is not None:
                key = text.key_of(category)
                units.append(_unit(key, like, in_target.get(key), form, source_lang, target_lang))
    return units


def refuse_repeated_keys(path: Path, texts: Iterable[KeyedText]) -> None:
    """Raise :class:`InputError` if two texts of a file have the same key."""
    refuse_repeated(path, ((text.key, text.line) for text in texts), "key", "remove one of them")


def _unit(
    key: str,
    source: KeyedText,
    target: KeyedText | None,
    form: PluralForm | None,
    source_lang: str | None,
    target_lang: str | None,
) -> TranslationUnit:
    text = None if target is None else target.text
    notes = source.notes
    if not notes and target is not None:
        notes = target.notes
    source_text = source.text or ""
    inline: dict[str, str] = {}
    if source.pieces is not None or (target is not None and target.pieces is not None):
        target_pieces = _pieces(target) if target is not None else []
        source_text, target_text, inline = numbered(_pieces(source), target_pieces)
        text = None if target is None else target_text
    return TranslationUnit(
        id=key,
        source=source_text,
        target=text,
        state="translated" if text else "new",
        locked=source.locked or (target is not None and target.locked),
        notes=notes,
        context=source.context or (target.context if target is not None else None),
        max_length=source.max_length,
        plural=form,
        inline=inline,
        source_lang=source_lang,
        target_lang=target_lang,
        line=1 if target is None else target.line,
    )


def _pieces(text: KeyedText) -> Sequence[str | InlineTag]:
    return [text.text or ""] if text.pieces is None else text.pieces


def _forms(source_forms: Mapping[str, KeyedText], in_target: set[str], target_lang: str | None) -> Iterator[PluralForm]:
    """The forms of a plural in the target language, in the order of the CLDR."""
    is_ordinal = any(text.is_ordinal for text in source_forms.values())
    known = None if target_lang is None or is_ordinal else plural_forms(target_lang)
    needed = set(source_forms) if known is None else set(known[0])
    if is_ordinal and target_lang is not None:
        needed = set(icu.plural_forms(target_lang, "selectordinal"))
    needed |= in_target
    if "zero" in source_forms:  # programs use it for 0 in all languages
        needed.add("zero")
    categories = [category for category in CATEGORIES if category in needed]
    examples: dict[str, tuple[int, ...]] = {}
    rule = None
    if known is not None:
        examples = {known[0][number]: counts for number, counts in rule_examples(known[1]).items()}
        if "zero" in categories and "zero" not in known[0]:
            examples = {category: tuple(n for n in counts if n) for category, counts in examples.items()}
            examples["zero"] = (0,)
        rule = known[1] if tuple(categories) == known[0] else None
    for number, category in enumerate(categories):
        yield PluralForm(number, len(categories), rule, examples.get(category, ()), category, is_ordinal)


def _language_place(path: Path) -> tuple[str, str, Path] | None:
    """A path's language, the name that has it, and the folder of that name."""
    pattern = _NAME_WITH_PREFIX if path.suffix.casefold() in _PREFIXED else _NAME
    match = pattern.fullmatch(path.stem)
    if match and plural_forms(match["language"]):
        return match["language"], path.name, path.parent
    folder = path.absolute().parent
    if folder.name == "LC_MESSAGES":
        folder = folder.parent
    match = _FOLDER.fullmatch(folder.name)
    if match and plural_forms(match["language"]):
        return match["language"], folder.name, folder.parent
    match = _ANDROID_FOLDER.fullmatch(folder.name)
    if match:
        language = match["language"].replace("-r", "-").replace("+", "-")
        if plural_forms(language):
            return language, folder.name, folder.parent
    return None


def _likely_source(path: Path) -> str:
    """The file in English that lies where ``path`` lies, or else ``FILE``."""
    found = _language_place(path)
    if found is not None:
        language, name, folder = found
        names = [name.replace(language, source) for source in _LIKELY_SOURCES]  # its only such word, mostly
        names.append(_WITHOUT_LANGUAGE.sub("", name))  # messages.properties, Resources.resx, values/strings.xml
        for renamed in [folder / each for each in names if each and each != name]:
            candidate = renamed if name == path.name else renamed / path.absolute().relative_to(folder / name)
            if candidate.is_file():
                return str(candidate)
    return "FILE"
