"""An app's texts in JSON, YAML or ARB, one language in a file.

=============  ==========================================================================================
kind           what a file looks like
=============  ==========================================================================================
``nested``     objects and arrays of texts; plurals as ``key_one`` and ``key_other`` (i18next) or as an
               object with the keys ``one`` and ``other``
``language``   the same within an object that is named for the language, beside other values: ``{"de": {…}}``
               (Rails)
``wrapped``    ``{"locale": "de", "translations": {…}}`` (Angular), or ``entries``
``records``    ``{"key": {"message": "…", "description": "…"}}`` (Chrome), or ``defaultMessage`` (format.js), or
               a list of ``{"id": "key", "translation": "…"}`` (Hugo)
``arb``        texts beside their ``@key`` with a description
=============  ==========================================================================================

An ICU message is one text. A key of a file's texts is the path to it, joined by dots; a dot in a name is ``\\.``.
Values that aren't texts (numbers, dates, ``true``) stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Union

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import (
    ByteEdit,
    DecodedFile,
    PluralForm,
    TextEdit,
    TranslationUnit,
    content_of,
)
from mtagent.formats.json_spans import DOCUMENTS, JsonFile, NewValue, TreeMember, TreeValue, surrogate_fault
from mtagent.formats.monolingual import (
    KeyedText,
    joined_key,
    language_in_path,
    paired,
    refuse_repeated_keys,
    source_file,
)
from mtagent.formats.yaml_spans import YamlFile
from mtagent.text.plurals import CATEGORIES, plural_forms

_TEXTS = ("message", "defaultMessage", "string", "translation")
_NOTES = ("description", "developer_comment", "comment", "notes", "note", "context")
_LENGTHS = ("maxLength", "max_length", "character_limit", "limit")
_RECORD = {*_TEXTS, *_NOTES, *_LENGTHS, "id", "file", "start", "end", "line", "col", "placeholders", "example", "hash"}
_CODE_RECORD = {"message", "comment"}  # of Visual Studio Code, whose files also have plain texts
_PLURAL_REMARKS = ("description", "hash")  # of go-i18n, beside a plural's forms
_SCHEMA = "$schema"
_WRAPPERS = ("translations", "entries")

KeyPath = tuple[Union[str, int], ...]  # noqa: UP007
_Order = dict[Union[str, int], "str | TreeValue | _Order | None"]  # noqa: UP007
"""The id of a unit, a value of the source that isn't a text, or None for what only has a place."""


class TextTree(Protocol):
    """A file of nested values that has been read, and that writes values in its own layout."""

    data: bytes
    file: DecodedFile
    root: TreeValue

    def line_of(self, place: int) -> int: ...

    def replacement(self, value: TreeValue, new: NewValue) -> TextEdit: ...

    def addition(
        self, container: TreeValue, entries: list[tuple[str, NewValue]], after: TreeMember | None
    ) -> TextEdit: ...

    def copied(self, value: TreeValue, change: Callable[[TreeValue], str | None] = ...) -> NewValue: ...


class _AppStrings:
    """The texts of one file, with the path and the value of each key."""

    def __init__(
        self, path: Path, read: Callable[[Path, bytes], TextTree], is_arb: bool, may_have_language: bool = True
    ) -> None:
        self.path = path
        self.tree = read(path, content_of(path))
        self.language: str | None = None
        self.base: TreeValue = self.tree.root
        self.texts: list[KeyedText] = []
        self.by_path: dict[KeyPath, KeyedText] = {}
        self.paths: dict[str, KeyPath] = {}
        self.values: dict[str, TreeValue] = {}
        self.fixed: set[KeyPath] = set()  # where aliases and values with a tag are
        if not self.base.is_container:
            raise InputError(
                f"{path}:1: is not a file of an app's texts: expected keys and texts, or a list; is it the right file?"
            )
        self.kind = self._kind(is_arb, may_have_language)
        if self.kind == "arb":
            self._read_arb()
        elif self.kind == "records":
            self._read_records()
        else:
            self._read_nested(self.base, ())
        refuse_repeated_keys(path, self.texts)

    def _kind(self, is_arb: bool, may_have_language: bool) -> str:
        members = {str(member.key): member.value for member in self.base.members if member.key != _SCHEMA}
        locale = members.get("@@locale") if is_arb or "@@locale" in members else members.get("locale")
        if locale is not None and locale.kind == "string":
            self.language = locale.text or None
        if self.base.kind == "array":
            keyed = _keyed_by_id(self.base.members) if self.base.style != DOCUMENTS else None
            self.base.members = keyed or self.base.members
            return "nested" if keyed is None else "records"
        if is_arb or "@@locale" in members:
            return "arb"
        if self.language is not None:
            for name in _WRAPPERS:
                wrapped = members.get(name)
                if wrapped is not None and wrapped.kind == "object":
                    self.base = wrapped
                    return "wrapped"
        if members and _are_records(list(members.values())):
            return "records"
        if len(members) == 1 and may_have_language:
            name, value = next(iter(members.items()))
            if (value.kind == "object" or value.is_null) and plural_forms(name):
                self.language = name
                self.base = value
                return "language"
        return "nested"

    def _read_arb(self) -> None:
        members = {member.key: member.value for member in self.base.members}
        for member in self.base.members:
            key = str(member.key)
            if key.startswith("@") or member.value.kind != "string":
                continue
            metadata = _strings_of(members.get(f"@{key}"))
            notes = [metadata[name] for name in ("description", "context") if metadata.get(name)]
            notes += _arb_placeholders(members.get(f"@{key}"))
            locked = metadata.get("x-translate") == "false"
            self._add((key,), member.value, KeyedText(
                key=key, text=member.value.text, line=self.tree.line_of(member.start), notes=tuple(notes),
                max_length=_length_of(metadata), locked=locked,
            ))  # fmt: skip

    def _read_records(self) -> None:
        for member in self.base.members:
            if member.value.kind == "string" and member.key != _SCHEMA:
                self._read_value(member, (member.key,), set(), set(), False)
            metadata = _strings_of(member.value)
            notes = tuple(metadata[note] for note in _NOTES if metadata.get(note))
            for part in member.value.members:
                if part.key not in _TEXTS:
                    continue
                path = (member.key, part.key)
                if part.value.is_container:
                    self._read_nested(part.value, path)
                else:
                    self._add(path, part.value, KeyedText(
                        key=joined_key([member.key]), text=part.value.text, line=self.tree.line_of(part.value.start),
                        notes=notes, max_length=_length_of(metadata),
                    ))  # fmt: skip

    def _read_nested(self, container: TreeValue, path: KeyPath) -> None:
        names = {str(member.key) for member in container.members if not member.value.is_container}
        plural_stems = self._plural_stems(container)
        is_plural = _is_plural(container)
        notes: tuple[str, ...] = ()
        if is_plural:
            remarks = _strings_of(container)
            notes = tuple(remarks[name] for name in _PLURAL_REMARKS[:1] if remarks.get(name))
        for member in container.members:
            place = (*path, member.key)
            if member.is_fixed:
                self.fixed.add(place)
            elif member.value.is_container:
                self._read_nested(member.value, place)
            elif not (is_plural and member.key in _PLURAL_REMARKS) and member.key != _SCHEMA:
                self._read_value(member, place, names, plural_stems, is_plural, notes)

    def _plural_stems(self, container: TreeValue) -> set[str]:
        """What the keys of each plural of i18next begin with: ``file`` of ``file_one`` and ``file_other``.

        ``size_other`` alone is one only in a language that has no other form.
        """
        forms: dict[str, list[TreeMember]] = {}
        for member in container.members:
            stem, underscore, suffix = str(member.key).rpartition("_")
            if underscore and suffix in CATEGORIES:
                forms.setdefault(stem, []).append(member)
        language = self.language or language_in_path(self.path)
        known = plural_forms(language) if language else None
        may_be_alone = known is None or known[0] == ("other",)
        stems = set()
        for stem, members in forms.items():
            are_texts = all(_may_be_text(member.value) for member in members)
            has_other = any(member.key == f"{stem}_other" for member in members)
            if are_texts and has_other and (len(members) > 1 or may_be_alone):
                stems.add(stem)
        return stems

    def _read_value(
        self,
        member: TreeMember,
        path: KeyPath,
        names: set[str],
        plural_stems: set[str],
        is_plural: bool,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Read a value that is no container; ``names`` are the keys of the values beside it."""
        if member.value.kind == "fixed":
            self.fixed.add(path)
        if not _may_be_text(member.value):
            return
        key = joined_key(path)
        name = str(member.key)
        stem, underscore, suffix = name.rpartition("_")
        category: str | None = None
        prefix = ""
        is_ordinal = False
        form: PluralForm | None = None
        if is_plural:
            category, prefix = name, key[: -len(name)]
        elif underscore and suffix in CATEGORIES and stem in plural_stems:
            category, prefix = suffix, key[: -len(suffix)]
            is_ordinal = stem.endswith("_ordinal")
        elif f"{name}_plural" in names:
            form = PluralForm(0, 2, category="one")
        elif suffix == "plural" and stem in names:
            form = PluralForm(1, 2, category="other")
        self._add(path, member.value, KeyedText(
            key=key, text=None if member.value.is_null else member.value.text, line=self.tree.line_of(member.start),
            notes=notes, category=category, is_ordinal=is_ordinal, plural_prefix=prefix, form=form,
        ))  # fmt: skip

    def _add(self, path: KeyPath, value: TreeValue, text: KeyedText) -> None:
        self.texts.append(text)
        self.by_path[path] = text
        self.paths[text.key] = path
        self.values[text.key] = value


class AppTexts:
    """A file that has been read, with the texts of its source file."""

    def __init__(
        self,
        path: Path,
        source: Path,
        target_lang: str | None,
        read: Callable[[Path, bytes], TextTree],
        is_arb: bool = False,
    ) -> None:
        self.path = path
        self._strings = _AppStrings(path, read, is_arb)
        self._source = _AppStrings(source, read, is_arb)
        source_keys = {member.key for member in self._source.base.members}
        if self._strings.kind == "language" and self._strings.language in source_keys:
            # A key such as "no" or "it" that is the only one so far, and no language.
            self._strings = _AppStrings(path, read, is_arb, may_have_language=False)
        self.data = self._strings.tree.data
        if not any(text.text for text in self._source.texts):
            raise InputError(f"{source}:1: has no texts")
        self._refuse_other_kind()
        self.units = paired(
            self._source.texts,
            self._strings.texts,
            self._source.language or language_in_path(source),
            self._strings.language or target_lang or language_in_path(path),
        )
        self._plural_paths = self._added_forms()
        if self._strings.fixed:
            self.units = [unit for unit in self.units if not self._is_fixed(self._path_of(unit.id))]
        self._order = self._ordered()
        self._without_place = dict(self._misplaced(self._order, self._strings.base))

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the file cannot hold ``target``."""
        line = self._without_place.get(unit.id)
        if line is not None:
            return f"has no place: line {line} has another kind of value than {self._source.path}; make them alike"
        return surrogate_fault(target)

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets."""
        tree = self._strings.tree
        edits = []
        missing = {}
        for unit_id, target in targets.items():
            value = self._strings.values.get(unit_id)
            if value is None:
                missing[unit_id] = target
            else:
                edits.append(tree.replacement(value, target))
        if missing:
            edits += self._additions(self._order, self._strings.base, missing)
        return tree.file.byte_edits(edits)

    def _refuse_other_kind(self) -> None:
        kinds = {self._source.kind, self._strings.kind}
        roots = [strings.tree.root for strings in (self._source, self._strings)]
        if roots[0].style == roots[1].style == DOCUMENTS and len(roots[0].members) != len(roots[1].members):
            raise InputError(
                f"{self.path}:1: has {len(roots[1].members)} documents, and {self._source.path} has "
                f"{len(roots[0].members)}; they must be the same"
            )
        is_list = roots[0].kind == "array"
        if is_list != (roots[1].kind == "array"):
            names = ("a list", "keys and texts") if is_list else ("keys and texts", "a list")
            raise InputError(
                f"{self.path}:1: has {names[1]}, but {self._source.path} has {names[0]}; give both the same form"
            )
        if len(kinds) == 1 or (kinds == {"records", "nested"} and not is_list):
            return
        if not roots[1].members and self._source.kind not in ("wrapped", "language"):
            return
        raise InputError(
            f"{self.path}:1: has texts of the kind {self._strings.kind}, but {self._source.path} of the kind "
            f"{self._source.kind}; give both the same form"
        )

    # -- texts that the file lacks

    def _path_of(self, unit_id: str) -> KeyPath:
        """Where a unit's text belongs in the file."""
        path = self._strings.paths.get(unit_id) or self._source.paths.get(unit_id)
        if path is not None:
            return path
        # A plural form that the source lacks is where the source has the others.
        return self._plural_paths[unit_id]

    def _is_fixed(self, path: KeyPath) -> bool:
        return any(path[:length] in self._strings.fixed for length in range(1, len(path) + 1))

    def _ordered(self) -> _Order:
        """The units, and what is between them, as a tree of keys in the source's order."""
        if self._source.kind == "records" and self._strings.kind != "records" and self._strings.tree.root.members:
            return {self._source.paths[unit.id][0]: unit.id for unit in self.units}
        order: _Order = {}
        if self._source.kind == "arb":
            for strings in (self._source, self._strings):
                order |= {member.key: None for member in strings.base.members if str(member.key).startswith("@@")}
            for unit in self.units:
                order[unit.id] = unit.id
                order[f"@{unit.id}"] = None
            return order
        unit_ids = {unit.id for unit in self.units}
        containers = {path[:length] for path in self._source.by_path for length in range(len(path))}
        return self._order_within(self._source.base, (), unit_ids, containers)

    def _order_within(
        self, container: TreeValue, path: KeyPath, unit_ids: set[str], containers: set[KeyPath]
    ) -> _Order:
        order: _Order = {}
        for member in container.members:
            place = (*path, member.key)
            text = self._source.by_path.get(place)
            if member.is_fixed:
                continue
            if text is not None and text.category is not None:
                stem = str(member.key).removesuffix(text.category)
                forms = {category: text.key_of(category) for category in CATEGORIES}
                order |= {stem + category: key for category, key in forms.items() if key in unit_ids}
            elif text is not None and text.key in unit_ids:
                order[member.key] = text.key
            elif place in containers:
                order[member.key] = self._order_within(member.value, place, unit_ids, containers)
            elif member.value.kind != "fixed":
                order[member.key] = member.value
            elif container.kind == "array":
                order[member.key] = None
        return order

    def _added_forms(self) -> dict[str, KeyPath]:
        paths = {}
        for path, text in self._source.by_path.items():
            if text.category is None:
                continue
            stem = str(path[-1]).removesuffix(text.category)
            for category in CATEGORIES:
                paths[text.key_of(category)] = (*path[:-1], stem + category)
        return paths

    def _misplaced(self, order: _Order, container: TreeValue) -> Iterator[tuple[str, int]]:
        """The units that have no place in the file, because it has another kind of value there; with its line."""
        members = {member.key: member for member in container.members}
        for key, child in order.items():
            member = members.get(key)
            if member is None:
                continue
            line = self._strings.tree.line_of(member.start)
            if isinstance(child, str):
                if child not in self._strings.values:
                    yield child, line
            elif isinstance(child, dict):
                is_array = member.value.kind == "array"
                if member.value.is_container and is_array == all(isinstance(name, int) for name in child):
                    yield from self._misplaced(child, member.value)
                elif not member.value.is_null:
                    missing = (unit_id for unit_id in _leaves(child) if unit_id not in self._strings.values)
                    yield from ((unit_id, line) for unit_id in missing)

    def _additions(self, order: _Order, container: TreeValue, missing: Mapping[str, str]) -> Iterator[TextEdit]:
        """The edits that add what a container lacks, each after the key that is before it in the source."""
        tree = self._strings.tree
        members = {member.key: member for member in container.members}
        after: TreeMember | None = None
        lacking: list[tuple[str, NewValue]] = []
        unused = 0  # items without a new text at the end of ``lacking``, which are only written before one that has one
        for key, child in order.items():
            member = members.get(key)
            if member is None:
                if _has_new(child, missing):
                    lacking.append((str(key), self._new(child, missing)))
                    unused = 0
                elif isinstance(key, int):
                    lacking.append((str(key), self._new(child, missing)))
                    unused += 1
                continue
            if lacking:
                yield tree.addition(container, lacking, after)
                lacking = []
            after = member
            if isinstance(child, dict):
                if member.value.is_container:
                    yield from self._additions(child, member.value, missing)
                elif _has_new(child, missing):
                    yield tree.replacement(member.value, self._new(child, missing))
        lacking = lacking[: len(lacking) - unused]
        if lacking:
            yield tree.addition(container, lacking, after)

    def _new(self, child: str | TreeValue | _Order | None, missing: Mapping[str, str]) -> NewValue:
        """What a key gets that the file lacks: new texts, and the source's values that are no texts."""
        if isinstance(child, TreeValue):
            return self._source.tree.copied(child)
        if child is None:
            return ""
        if isinstance(child, str):
            return missing.get(child, "")
        if any(isinstance(name, int) for name in child):
            items = list(child.values())
            while items and not isinstance(items[-1], TreeValue) and not _has_new(items[-1], missing):
                items.pop()
            return [self._new(item, missing) for item in items]
        return {
            str(name): self._new(value, missing)
            for name, value in child.items()
            if isinstance(value, TreeValue) or _has_new(value, missing)
        }


def _has_new(child: str | TreeValue | _Order | None, missing: Mapping[str, str]) -> bool:
    """Whether a text that the file lacks has a target."""
    if isinstance(child, dict):
        return any(leaf in missing for leaf in _leaves(child))
    return isinstance(child, str) and child in missing


def _leaves(order: _Order) -> Iterator[str]:
    for child in order.values():
        if isinstance(child, dict):
            yield from _leaves(child)
        elif isinstance(child, str):
            yield child


def _is_record(value: TreeValue) -> bool:
    """Whether a value is a text with remarks, such as ``{"message": "…", "description": "…"}``."""
    if value.kind != "object":
        return False
    texts = [member for member in value.members if member.key in _TEXTS and not member.value.is_container]
    return len(texts) == 1 and all(member.key in _RECORD for member in value.members)


def _are_records(values: Sequence[TreeValue]) -> bool:
    """Whether all values are texts with remarks, or some are as Visual Studio Code has them beside plain texts."""
    others = [value for value in values if not _is_record(value)]
    if not others:
        return bool(values)
    are_texts = len(others) < len(values) and all(value.kind == "string" for value in others)
    return are_texts and all(
        {member.key for member in value.members} == _CODE_RECORD for value in values if value.kind == "object"
    )


def _keyed_by_id(members: Sequence[TreeMember]) -> list[TreeMember] | None:
    """The items of a list of ``{"id": "key", "translation": "…"}`` with their ids as keys; else ``None``."""
    keyed = []
    for member in members:
        name = member.value.get("id")
        texts = [part for part in member.value.members if part.key in _TEXTS]
        if name is None or name.kind != "string" or len(texts) != 1:
            return None
        if texts[0].value.kind != "string" and not _is_plural(texts[0].value):
            return None
        keyed.append(member._replace(key=name.text))
    return keyed or None


def _may_be_text(value: TreeValue) -> bool:
    return value.kind == "string" or value.is_null


def _is_plural(value: TreeValue) -> bool:
    """Whether an object has the forms of a plural, perhaps with a remark on them."""
    if value.kind != "object":
        return False
    are_plain = all(_may_be_text(member.value) for member in value.members)
    forms = {member.key for member in value.members} - set(_PLURAL_REMARKS)
    return are_plain and len(forms) > 1 and "other" in forms and forms <= set(CATEGORIES)


def _strings_of(value: TreeValue | None) -> dict[str, str]:
    """The members of an object, as texts; lists are joined, and objects left out."""
    strings = {}
    for member in value.members if value is not None else []:
        if member.value.kind == "array":
            strings[str(member.key)] = " ".join(item.value.text for item in member.value.members)
        elif member.value.kind != "object":
            strings[str(member.key)] = member.value.text
    return strings


def _length_of(metadata: Mapping[str, str]) -> int | None:
    for name in _LENGTHS:
        if regex.fullmatch(r"\d{1,9}", metadata.get(name, "")):
            return int(metadata[name]) or None
    return None


def _arb_placeholders(metadata: TreeValue | None) -> Iterator[str]:
    """A note for each placeholder that has a description or an example."""
    placeholders = metadata.get("placeholders") if metadata is not None else None
    for member in placeholders.members if placeholders is not None else []:
        details = _strings_of(member.value)
        texts = [details[name] for name in ("description", "example") if details.get(name)]
        if texts:
            yield f"{{{member.key}}}: {', for example '.join(texts)}"


class Json:
    """JSON files with an app's texts in one language."""

    name = "json"
    suffixes: tuple[str, ...] = (".json",)

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> AppTexts:
        """Read a file and the file with its sources. Raises :class:`InputError`, beginning with ``file:line``."""
        return AppTexts(path, source_file(path, source), target_lang, JsonFile)


class Arb:
    """Flutter's application resource bundles."""

    name = "arb"
    suffixes: tuple[str, ...] = (".arb",)

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> AppTexts:
        """Read a file and the file with its sources. Raises :class:`InputError`, beginning with ``file:line``."""
        return AppTexts(path, source_file(path, source), target_lang, JsonFile, is_arb=True)


class Yaml:
    """YAML files with an app's texts in one language."""

    name = "yaml"
    suffixes: tuple[str, ...] = (".yaml", ".yml")

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> AppTexts:
        """Read a file and the file with its sources. Raises :class:`InputError`, beginning with ``file:line``."""
        return AppTexts(path, source_file(path, source), target_lang, YamlFile)


APP_JSON = Json()
APP_YAML = Yaml()
ARB = Arb()
