"""Xcode's string catalogues (``.xcstrings``): all languages of an app in one file.

The id of a unit is the catalogue's key, with the plural's category or the device after it: ``%lld files[one]``,
``Tap[device.mac]``. Substitutions are ``key[substitutions.NAME.one]``. The source is the text in the source language,
or else the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from mtagent.errors import ConfigError, InputError
from mtagent.formats.documents import (
    ByteEdit,
    TextEdit,
    TranslationUnit,
    content_of,
    refuse_repeated_ids,
    refuse_source,
)
from mtagent.formats.json_spans import JsonFile, NewValue, TreeMember, TreeValue, surrogate_fault
from mtagent.formats.monolingual import KeyedText, paired
from mtagent.text.languages import normalise
from mtagent.text.plurals import CATEGORIES
from mtagent.text.scripts import language_of

_Path = tuple[str, ...]
_PLAIN: _Path = ()
_PLURAL = ("variations", "plural")
_UNNAMED = {"variations", "plural"}


class Catalogue:
    """A string catalogue that has been read, for one target language."""

    def __init__(self, path: Path, data: bytes, target_lang: str | None) -> None:
        self.path = path
        self.data = data
        self._json = JsonFile(path, data, last_counts=False)
        members = _members(self._json.root)
        source_lang, strings = members.get("sourceLanguage"), members.get("strings")
        if source_lang is None or strings is None or source_lang.kind != "string" or strings.kind != "object":
            raise InputError(
                f"{path}:1: is not a string catalogue: expected an object with sourceLanguage and "
                "strings; is it the right file?"
            )
        self._source_lang = source_lang.text
        self._refuse_unknown_language(source_lang.text, source_lang.start)
        self._strings = {str(member.key): member for member in strings.members}
        self.target_lang = self._language(target_lang)
        self._places: dict[str, tuple[str, _Path]] = {}  # of each unit: its key, and the path in its localization
        self._units_in_file: dict[str, TreeValue] = {}  # the stringUnit of each text that the file has
        self.units: list[TranslationUnit] = []
        for member in strings.members:
            if member.value.kind != "object":
                line = self._json.line_of(member.start)
                raise InputError(f"{path}:{line}: the string {member.key!r} is not an object; correct it")
            self._add(str(member.key), member)
        refuse_repeated_ids(path, self.units)

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the catalogue cannot hold ``target``."""
        return surrogate_fault(target)

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets. A text that is new becomes ``translated``."""
        edits: list[TextEdit] = []
        added: dict[str, dict[str, NewValue]] = {}
        for unit_id, target in targets.items():
            string_unit = self._units_in_file.get(unit_id)
            if string_unit is not None:
                edits += self._changed(string_unit, target)
                continue
            key, path = self._places[unit_id]
            node = added.setdefault(key, {})
            for name in ("localizations", self.target_lang, *path):
                node = _child(node, name)
            node["stringUnit"] = {"state": "translated", "value": target}
        for key, new in added.items():
            self._complete_substitutions(key, new)
            edits += self._merged(self._strings[key].value, new)
        return self._json.file.byte_edits(edits)

    def _language(self, wanted: str | None) -> str:
        """The file's own name for the target language. Raises :class:`InputError` if it isn't clear which one it is."""
        languages: dict[str, None] = {}
        for member in self._strings.values():
            for localization in _members(_members(member.value).get("localizations")):
                languages[localization] = None
                self._refuse_unknown_language(localization, member.start)
        languages.pop(self._source_lang, None)
        listed = ", ".join(sorted(languages)) or "none"
        way_out = f"name one with -l {self._source_lang}-LANGUAGE; the file has {listed}"
        if wanted is None:
            if len(languages) != 1:
                raise InputError(f"{self.path}: does not tell which language to translate into; {way_out}")
            return next(iter(languages))
        if normalise(wanted) == normalise(self._source_lang):
            raise InputError(f"{self.path}: {wanted} is the language of its sources; {way_out}")
        for language in languages:
            if normalise(language) == normalise(wanted):
                return language
        similar = [language for language in languages if language_of(language) == language_of(wanted)]
        if similar:
            raise InputError(f"{self.path}: has {', '.join(similar)}, but not {wanted}; {way_out}")
        return wanted

    def _refuse_unknown_language(self, language: str, place: int) -> None:
        try:
            normalise(language)
        except ConfigError as error:
            raise InputError(f"{self.path}:{self._json.line_of(place)}: {error}") from None

    def _add(self, key: str, member: TreeMember) -> None:
        """Add the units of one string."""
        string = _members(member.value)
        localizations = _members(string.get("localizations"))
        in_source = dict(_texts(localizations.get(self._source_lang)))
        in_target = dict(_texts(localizations.get(self.target_lang)))
        source_texts = {path: _value(unit) or key for path, unit in in_source.items()}
        comment = string.get("comment")
        should_translate = string.get("shouldTranslate")
        sources = []
        for path in _shape(in_source, in_target):
            text = _source_text(path, source_texts, key)
            keyed = self._keyed(key, path, text, self._json.line_of(member.start))
            for category in CATEGORIES if keyed.category else ():
                self._places[keyed.key_of(category)] = (key, (*path[:-1], category))
            self._places[keyed.key] = (key, path)
            sources.append(keyed)
        targets = []
        states = {}
        for path, string_unit in in_target.items():
            keyed = self._keyed(key, path, _value(string_unit), self._json.line_of(string_unit.start))
            targets.append(keyed)
            self._units_in_file[keyed.key] = string_unit
            state = _members(string_unit).get("state")
            states[keyed.key] = state.text if state is not None else None
        extraction = string.get("extractionState")
        is_stale = extraction is not None and extraction.text == "stale"
        for unit in paired(sources, targets, self._source_lang, self.target_lang):
            if not unit.source:
                continue  # Xcode keeps a string for the empty text
            self.units.append(
                unit._replace(
                    state="stale" if is_stale else states.get(unit.id) or "new",
                    locked=should_translate is not None and should_translate.text == "false",
                    notes=(comment.text,) if comment is not None and comment.text else (),
                    line=self._json.line_of(member.start) if unit.id not in states else unit.line,
                )
            )

    def _keyed(self, key: str, path: _Path, text: str | None, line: int) -> KeyedText:
        names = [name for name in path if name not in _UNNAMED]
        if not names:
            return KeyedText(key=key, text=text, line=line)
        if path[-2] != "plural":
            return KeyedText(key=f"{key}[{'.'.join(names)}]", text=text, line=line)
        prefix = "".join(f"{name}." for name in names[:-1])
        return KeyedText(
            key=f"{key}[{prefix}{names[-1]}]",
            text=text,
            line=line,
            category=names[-1],
            plural_prefix=f"{key}[{prefix}",
            plural_suffix="]",
        )

    def _changed(self, string_unit: TreeValue, target: str) -> Iterator[TextEdit]:
        state, value = string_unit.get("state"), string_unit.get("value")
        if state is not None and state.text == "new":  # Xcode counts such a text as not translated
            yield self._json.replacement(state, "translated")
        if value is not None:
            yield self._json.replacement(value, target)
        else:
            last = string_unit.members[-1] if string_unit.members else None
            yield self._json.addition(string_unit, [("value", target)], last)

    def _complete_substitutions(self, key: str, new: dict[str, NewValue]) -> None:
        """Give each new substitution the source's ``argNum`` and ``formatSpecifier``."""
        localizations = _members(_members(self._strings[key].value).get("localizations"))
        in_source = _members(_members(localizations.get(self._source_lang)).get("substitutions"))
        in_target = _members(_members(localizations.get(self.target_lang)).get("substitutions"))
        added = _child(_child(new, "localizations"), self.target_lang).get("substitutions")
        for name, substitution in added.items() if isinstance(added, dict) else ():
            if name in in_target or not isinstance(substitution, dict):
                continue
            for field, value in _members(in_source.get(name)).items():
                if not value.is_container:
                    substitution[field] = self._json.copied(value)

    def _merged(self, container: TreeValue, new: Mapping[str, NewValue]) -> Iterator[TextEdit]:
        """The edits that add what is new to an object, in the order of the names, as Xcode has them."""
        members = {str(member.key): member for member in container.members}
        lacking: dict[str | None, list[tuple[str, NewValue]]] = {}
        for name, value in sorted(new.items()):
            member = members.get(name)
            if member is None:
                before = [other for other in members if other < name]
                lacking.setdefault(max(before, default=None), []).append((name, _sorted(value)))
            elif isinstance(value, dict) and member.value.kind == "object":
                yield from self._merged(member.value, value)
            else:
                yield self._json.replacement(member.value, _sorted(value))
        for name_before, entries in lacking.items():
            yield self._json.addition(container, entries, members.get(name_before) if name_before else None)


def _members(value: TreeValue | None) -> dict[str, TreeValue]:
    return {} if value is None else {str(member.key): member.value for member in value.members}


def _child(node: dict[str, NewValue], name: str) -> dict[str, NewValue]:
    child = node.setdefault(name, {})
    assert isinstance(child, dict)
    return child


def _sorted(value: NewValue) -> NewValue:
    if not isinstance(value, dict):
        return value
    return {name: _sorted(item) for name, item in sorted(value.items())}


def _texts(localization: TreeValue | None, path: _Path = _PLAIN) -> Iterator[tuple[_Path, TreeValue]]:
    """Each ``stringUnit`` of a localization, with the path to it: ``()``, ``("variations", "plural", "one")``."""
    members = _members(localization)
    string_unit = members.get("stringUnit")
    if string_unit is not None and string_unit.kind == "object":
        yield path, string_unit
    for kind, variations in _members(members.get("variations")).items():
        for name, variation in _members(variations).items():
            yield from _texts(variation, (*path, "variations", kind, name))
    for name, substitution in _members(members.get("substitutions")).items():
        yield from _texts(substitution, (*path, "substitutions", name))


def _shape(in_source: Mapping[_Path, TreeValue], in_target: Mapping[_Path, TreeValue]) -> list[_Path]:
    """The paths of a string's texts: those of the target's localization if the file has one, or else the source's.

    Plurals that both have keep the source's categories, from which the target language's follow.
    """
    if not in_target:
        return list(in_source) or [_PLAIN]
    source_plurals = {path[:-1] for path in in_source if path[-2:-1] == ("plural",)}
    target_groups = {path[:-1] if path[-2:-1] == ("plural",) else path for path in in_target}
    paths = [path for path in in_source if path in in_target or path[:-1] in target_groups]
    for path in in_target:
        if path not in paths and path[:-1] not in source_plurals:
            paths.append(path)
    return paths


def _source_text(path: _Path, texts: Mapping[_Path, str], key: str) -> str:
    """The source of a text: the one at its path, or else what is shown where nothing else fits."""
    others = [(*path[:-1], "other"), (*path, *_PLURAL, "other"), _PLAIN, (*_PLURAL, "other"), *texts]
    for candidate in (path, *others):
        if candidate in texts:
            return texts[candidate]
    return key


def _value(string_unit: TreeValue) -> str | None:
    value = string_unit.get("value")
    return None if value is None or value.kind != "string" else value.text


class Xcstrings:
    """Xcode's string catalogues."""

    name = "xcstrings"
    suffixes: tuple[str, ...] = (".xcstrings",)

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> Catalogue:
        """Read a file for ``target_lang``. Raises :class:`InputError`, beginning with ``file:line``."""
        refuse_source(path, source)
        return Catalogue(path, content_of(path), target_lang)


XCSTRINGS = Xcstrings()
