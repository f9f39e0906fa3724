"""An app's texts in JSON, YAML or ARB, one language in a file.

=============  ==========================================================================================
kind           what a file looks like
=============  ==========================================================================================
``nested``     objects and arrays of texts; plurals as ``key_one`` and ``key_other`` (i18next) or as an
               object with the keys ``one`` and ``other``
``language``   the same within an object that is named for the language, beside other values: ``{"de": {…}}``
               (Rails)
``wrapped``    ``{"locale": "de", "translations": {…}}`` (Angular), or ``entries``
``records``    ``{"key": {"message": "…", "description": "…"}}`` (Chrome), or ``defaultMessage`` (format.js)
``arb``        texts beside their ``@key`` with a description
=============  ==========================================================================================

An ICU message is one text. A key of a file's texts is the path to it, joined by dots; a dot in a name is ``\\.``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, Union

from mtagent.errors import InputError
from mtagent.formats.documents import (
    ByteEdit,
    DecodedFile,
    PluralForm,
    TextEdit,
    TranslationUnit,
    content_of,
    shown_id,
)
from mtagent.formats.json_spans import JsonFile, NewValue, TreeMember, TreeValue, surrogate_fault
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
_WRAPPERS = ("translations", "entries")

KeyPath = tuple[Union[str, int], ...]  # noqa: UP007
_Order = dict[Union[str, int], "str | _Order | None"]  # noqa: UP007 - the id of a unit, or None for what only has a place


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
        self.paths: dict[str, KeyPath] = {}
        self.values: dict[str, TreeValue] = {}
        self.aliases: set[KeyPath] = set()  # of values that are another one's
        if self.tree.root.kind != "object":
            raise InputError(
                f"{path}:1: is not a file of an app's texts: expected an object of keys and texts; is it "
                "the right file?"
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
        members = {str(member.key): member.value for member in self.tree.root.members}
        locale = members.get("@@locale") if is_arb or "@@locale" in members else members.get("locale")
        if locale is not None and locale.kind == "string":
            self.language = locale.text or None
        if is_arb or "@@locale" in members:
            return "arb"
        if "$schema" in members:
            line = self.tree.line_of(members["$schema"].start)
            raise InputError(f"{self.path}:{line}: names a $schema, so it is a configuration and not an app's texts")
        if self.language is not None:
            for name in _WRAPPERS:
                wrapped = members.get(name)
                if wrapped is not None and wrapped.kind == "object":
                    self.base = wrapped
                    return "wrapped"
        if members and all(_is_record(value) for value in members.values()):
            return "records"
        if len(members) == 1 and may_have_language:
            name, value = next(iter(members.items()))
            is_empty = value.kind == "word" and value.text == "null"
            if (value.kind == "object" or is_empty) and plural_forms(name):
                self.language = name
                self.base = value
                return "language"
        return "nested"

    def _read_arb(self) -> None:
        members = {member.key: member.value for member in self.base.members}
        for member in self.base.members:
            key = str(member.key)
            if key.startswith("@"):
                continue
            if member.value.kind != "string":
                self._refuse(member, (key,))
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
            metadata = _strings_of(member.value)
            name = next(name for name in _TEXTS if name in metadata)
            value = member.value.get(name)
            assert value is not None
            key = joined_key([member.key])
            notes = [metadata[note] for note in _NOTES if metadata.get(note)]
            self._add((member.key, name), value, KeyedText(
                key=key, text=value.text, line=self.tree.line_of(value.start), notes=tuple(notes),
                max_length=_length_of(metadata),
            ))  # fmt: skip

    def _read_nested(self, container: TreeValue, path: KeyPath) -> None:
        names = {str(member.key) for member in container.members if not member.value.is_container}
        is_plural = container.kind == "object" and "other" in names and len(container.members) == len(names) > 1
        is_plural = is_plural and names <= set(CATEGORIES)
        for member in container.members:
            place = (*path, member.key)
            value = member.value
            is_data = value.kind == "number" or (value.kind == "word" and value.text != "null")
            is_data = is_data or (value.kind == "object" and container.kind == "array")
            if is_data and self.kind != "language":
                self._refuse(member, place)
            if value.is_container:
                self._read_nested(value, place)
            elif value.kind == "alias":
                self.aliases.add(place)
            elif not is_data:
                self._add_nested(member, place, names, is_plural)

    def _add_nested(self, member: TreeMember, path: KeyPath, names: set[str], is_plural: bool) -> None:
        key = joined_key(path)
        name = str(member.key)
        stem, underscore, suffix = name.rpartition("_")
        category: str | None = None
        prefix = ""
        form: PluralForm | None = None
        if is_plural:
            category, prefix = name, key[: -len(name)]
        elif underscore and suffix in CATEGORIES and f"{stem}_other" in names:
            category, prefix = suffix, key[: -len(suffix)]
        elif f"{name}_plural" in names:
            form = PluralForm(0, 2, category="one")
        elif suffix == "plural" and stem in names:
            form = PluralForm(1, 2, category="other")
        self._add(path, member.value, KeyedText(
            key=key, text=member.value.text if member.value.kind == "string" else None,
            line=self.tree.line_of(member.start), category=category, plural_prefix=prefix, form=form,
        ))  # fmt: skip

    def _add(self, path: KeyPath, value: TreeValue, text: KeyedText) -> None:
        self.texts.append(text)
        self.paths[text.key] = path
        self.values[text.key] = value

    def _refuse(self, member: TreeMember, path: KeyPath) -> None:
        value = member.value
        what = {"object": "an object", "array": "a list", "number": "a number"}.get(value.kind, value.text)
        way_out = "expected a text" if value.is_container else "put it in quotes if it is a text"
        raise InputError(
            f"{self.path}:{self.tree.line_of(member.start)}: is not a file of an app's texts: the value of "
            f"{shown_id(joined_key(path))} is {what}; {way_out}"
        )


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
        if self._strings.aliases:
            self.units = [unit for unit in self.units if not self._is_in_alias(self._path_of(unit.id))]
        self._order = self._ordered(unit.id for unit in self.units)
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
        if len(kinds) == 1 or kinds == {"records", "nested"}:
            return
        if not self._strings.tree.root.members and self._source.kind not in ("wrapped", "language"):
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

    def _is_in_alias(self, path: KeyPath) -> bool:
        return any(path[:length] in self._strings.aliases for length in range(1, len(path) + 1))

    def _ordered(self, unit_ids: Iterable[str]) -> _Order:
        """The units as a tree of keys in the source's order."""
        order: _Order = {}
        if self._source.kind == "arb":
            for strings in (self._source, self._strings):
                order |= {member.key: None for member in strings.base.members if str(member.key).startswith("@@")}
        as_records = self._source.kind == "records" and (
            self._strings.kind == "records" or not self._strings.tree.root.members
        )
        for unit_id in unit_ids:
            path = self._path_of(unit_id)
            if self._source.kind == "records":
                order[path[0]] = unit_id if not as_records else {path[-1]: unit_id}
                continue
            node = order
            for key in path[:-1]:
                child = node.setdefault(key, {})
                if not isinstance(child, dict):
                    break
                node = child
            node[path[-1]] = unit_id
            if self._source.kind == "arb":
                order[f"@{path[0]}"] = None
        return order

    def _added_forms(self) -> dict[str, KeyPath]:
        paths = {}
        for text in self._source.texts:
            if text.category is None:
                continue
            path = self._source.paths[text.key]
            stem = str(path[-1]).removesuffix(text.category)
            for category in CATEGORIES:
                paths[text.key_of(category)] = (*path[:-1], stem + category)
        return paths

    def _misplaced(self, order: _Order, container: TreeValue) -> Iterator[tuple[str, int]]:
        """The units that have no place in the file, because it has another kind of value there; with its line."""
        members = {member.key: member for member in container.members}
        for key, child in order.items():
            member = members.get(key)
            if member is None or child is None:
                continue
            line = self._strings.tree.line_of(member.start)
            if isinstance(child, str):
                if child not in self._strings.values:
                    yield child, line
            elif member.value.is_container:
                is_array = member.value.kind == "array"
                if is_array == all(isinstance(name, int) for name in child):
                    yield from self._misplaced(child, member.value)
                else:
                    yield from ((unit_id, line) for unit_id in _leaves(child))
            elif member.value.kind == "string":
                yield from ((unit_id, line) for unit_id in _leaves(child))

    def _additions(self, order: _Order, container: TreeValue, missing: Mapping[str, str]) -> Iterator[TextEdit]:
        """The edits that add what a container lacks, each after the key that is before it in the source."""
        tree = self._strings.tree
        members = {member.key: member for member in container.members}
        after: TreeMember | None = None
        lacking: list[tuple[str, NewValue]] = []
        unused = 0  # empty items at the end of ``lacking``, which are only written before one with a text
        for key, child in order.items():
            member = members.get(key)
            if member is None:
                new = self._new(key, child, missing)
                if new is not None:
                    lacking.append((str(key), new))
                    unused = 0
                elif container.kind == "array":
                    lacking.append((str(key), _empty(child)))
                    unused += 1
                continue
            if lacking:
                yield tree.addition(container, lacking, after)
                lacking = []
            after = member
            if isinstance(child, dict):
                if member.value.is_container:
                    yield from self._additions(child, member.value, missing)
                else:
                    new = self._new(key, child, missing)
                    if new is not None:
                        yield tree.replacement(member.value, new)
        lacking = lacking[: len(lacking) - unused]
        if lacking:
            yield tree.addition(container, lacking, after)

    def _new(self, key: str | int, child: str | _Order | None, missing: Mapping[str, str]) -> NewValue | None:
        """What a key gets that the file lacks; ``None`` if none of its texts is new."""
        if child is None:
            return None
        if isinstance(child, str):
            return missing.get(child)
        if self._source.kind == "records":
            return self._new_record(child, missing)
        items = {name: self._new(name, value, missing) for name, value in child.items()}
        written = {str(name): value for name, value in items.items() if value is not None}
        if not written:
            return None
        if not all(isinstance(name, int) for name in items):
            return written
        last = max(int(name) for name in written)
        values = []
        for name, value in child.items():
            if int(name) <= last:
                new = items[name]
                values.append(_empty(value) if new is None else new)
        return values

    def _new_record(self, child: _Order, missing: Mapping[str, str]) -> NewValue | None:
        """The source's record with another text: programs need its placeholders in each language."""
        unit_id = next(iter(_leaves(child)))
        target = missing.get(unit_id)
        if target is None:
            return None
        text = self._source.values[unit_id]
        record = next(
            member.value for member in self._source.base.members if member.key == self._source.paths[unit_id][0]
        )
        return self._source.tree.copied(record, lambda value: target if value is text else None)


def _empty(child: str | _Order | None) -> NewValue:
    """An item that is only there because another one follows it."""
    return [] if isinstance(child, dict) else ""


def _leaves(order: _Order) -> Iterator[str]:
    for child in order.values():
        if isinstance(child, dict):
            yield from _leaves(child)
        elif child is not None:
            yield child


def _is_record(value: TreeValue) -> bool:
    """Whether a value is a text with remarks, such as ``{"message": "…", "description": "…"}``."""
    if value.kind != "object":
        return False
    strings = _strings_of(value)
    return sum(name in strings for name in _TEXTS) == 1 and all(member.key in _RECORD for member in value.members)


def _strings_of(value: TreeValue | None) -> dict[str, str]:
    """The members of an object that aren't containers, as texts."""
    if value is None:
        return {}
    return {str(member.key): member.value.text for member in value.members if not member.value.is_container}


def _length_of(metadata: Mapping[str, str]) -> int | None:
    for name in _LENGTHS:
        if metadata.get(name, "").isdecimal():
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
