"""Android's ``strings.xml``, .NET's ``.resx`` and ``.resw``, and Apple's ``.stringsdict``: an app's texts in XML.

A file is paired with the file of its sources by key. A plural form or an array's item that the file lacks is added to
its plural or array. Any other text that it lacks comes with a copy of the source's element, after its predecessor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import ByteEdit, TranslationUnit, between_placeholders, content_of, shown_id
from mtagent.formats.inline import InlineTag
from mtagent.formats.monolingual import KeyedText, joined_key, language_in_path, paired, source_file
from mtagent.formats.xml_spans import (
    INVALID,
    WHITE_SPACE,
    XmlElement,
    XmlFile,
    character_fault,
    empty_tag_pair,
    root_element,
    text_place,
)
from mtagent.text.plurals import CATEGORIES

_ARRAY = "string-array"
_PREFIX = regex.compile(r"(?:</?|\s)([\w.-]+):[\w.-]+(?=[\s=/>])")
_OPENING_TAG = regex.compile(r"<!\[CDATA\[.*?\]\]>|(?P<name><[^\s/>!?]+)[^<>]*>", regex.DOTALL)
_SURROGATE = regex.compile(r"[\uD800-\uDFFF]")


class Resource(NamedTuple):
    """A text, the element that holds it, and the place of its item, which may begin with a ``<key>``."""

    keyed: KeyedText
    element: XmlElement
    start: int
    end: int
    lead: str


class ResourceGroup(NamedTuple):
    """What is added as a whole: an element with a text, the forms of a plural, or an array."""

    name: tuple[str, str]  # kind and key
    resources: list[Resource]
    start: int
    end: int
    lead: str
    block_start: int


class ResourceDialect(Protocol):
    """Where a format keeps its texts, and how it writes them; what it doesn't define is that of plain XML."""

    root: str
    advice: str  # for a file with another root
    keeps_space: bool = True  # whether white space around a text is a part of it

    def container(self, path: Path, root: XmlElement) -> XmlElement:
        """The element that holds all groups."""
        return root

    def groups(self, path: Path, xml: XmlFile, container: XmlElement) -> Iterator[ResourceGroup]:
        """The texts of a file, in order."""
        ...

    def fault(self, target: str) -> str | None:
        """Why no file of this format can hold ``target``."""
        return character_fault(target)

    def escaped(self, texts: Sequence[str], tags: Sequence[str], like: str) -> list[str]:
        """The texts between ``tags``, escaped for the format but not for XML, to replace the text ``like``."""
        return list(texts)

    def item(self, category: str | None, markup: str, lead: str) -> str:
        """A new form of a plural, or a new item of an array."""
        raise AssertionError("a format without plurals and arrays has no items")


class _ResourceTexts:
    """The texts of one file. Raises :class:`InputError` for another kind of file and for repeated keys."""

    def __init__(self, path: Path, dialect: ResourceDialect) -> None:
        self.path = path
        self.xml = XmlFile(path, content_of(path))
        root = root_element(self.xml, dialect.root, dialect.advice)
        self.container = dialect.container(path, root)
        attributes = root.tag.attributes.items()
        self.prefixes = {name[6:]: value for name, value in attributes if name.startswith("xmlns:")}
        self.groups: dict[tuple[str, str], ResourceGroup] = {}
        self.resources: dict[str, Resource] = {}
        self.group_names: dict[str, tuple[str, str]] = {}  # of each key, and of what the keys of a plural begin with
        for group in dialect.groups(path, self.xml, self.container):
            for resource in group.resources:
                self._add(resource, group)
            self.groups.setdefault(group.name, group)

    def _add(self, resource: Resource, group: ResourceGroup) -> None:
        keyed = resource.keyed
        if keyed.key in self.resources:
            raise InputError(
                f"{self.path}:{keyed.line}: the key {shown_id(keyed.key)} is already used in line "
                f"{self.resources[keyed.key].keyed.line}; remove one of them"
            )
        self.resources[keyed.key] = resource
        self.group_names[keyed.key] = group.name
        if keyed.category is not None:
            self.group_names[keyed.plural_prefix] = group.name


class ResourceFile:
    """A file of texts in XML that has been read, with the file of its sources."""

    def __init__(self, path: Path, source: Path, dialect: ResourceDialect, target_lang: str | None) -> None:
        self.path = path
        self._dialect = dialect
        self._source = _ResourceTexts(source, dialect)
        self._target = _ResourceTexts(path, dialect)
        self.data = self._target.xml.data
        self.units = paired(
            [resource.keyed for resource in self._source.resources.values()],
            [resource.keyed for resource in self._target.resources.values()],
            language_in_path(source),
            target_lang or language_in_path(path),
        )

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the file cannot hold ``target``."""
        group = self._target.groups.get(self._group_name(unit))
        if unit.id in self._target.resources or group is None or not group.resources:
            return self._dialect.fault(target)  # it has a place, or the whole entry is added
        if group.name[0] != _ARRAY and not self._forms_beside(group, unit):
            return (
                f"has no place: the entry in line {group.resources[0].keyed.line} lacks this text of the source; "
                "add it, or remove the entry"
            )
        return self._dialect.fault(target)

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets."""
        edits = []
        missing: dict[tuple[str, str], list[TranslationUnit]] = {}
        for unit in self.units:
            if unit.id not in targets:
                continue
            resource = self._target.resources.get(unit.id)
            if resource is None:
                missing.setdefault(self._group_name(unit), []).append(unit)
                continue
            start, end, before, after = text_place(self._target.xml, resource.element, self._dialect.keeps_space)
            markup = self._markup(unit, targets[unit.id], resource.element)
            edits.append(ByteEdit(start, end, self._encoded(f"{before}{markup}{after}")))
        previous: ResourceGroup | None = None
        added: list[tuple[ResourceGroup | None, ResourceGroup, list[TranslationUnit]]] = []
        for name, group in self._source.groups.items():
            existing = self._target.groups.get(name)
            units = missing.get(name)
            if units and existing is None:
                added.append((previous, group, units))
            elif units and existing is not None and not existing.resources:
                copy = self._encoded(self._copy(group, units, targets))
                edits.append(ByteEdit(existing.start, existing.end, copy))
            elif units and existing is not None:
                for place, item in self._new_items(existing, units, targets):
                    edits.append(ByteEdit(place, place, self._encoded(item)))
            previous = existing or previous
        return [*edits, *self._insertions(added, targets)]

    def _group_name(self, unit: TranslationUnit) -> tuple[str, str]:
        names = self._source.group_names
        if unit.plural is not None and unit.plural.category is not None:
            return names[unit.id.removesuffix(unit.plural.category)]
        return names[unit.id]

    def _markup(self, unit: TranslationUnit, target: str, like: XmlElement) -> str:
        """``target`` as the content of an element, written as the text in the element ``like``."""
        xml = self._target.xml
        texts = []
        tags = []
        for text, placeholder in between_placeholders(target, unit.inline):
            texts.append(text)
            if placeholder is not None:
                tags.append(unit.inline[placeholder])
        texts = self._dialect.escaped(texts, tags, like.text)
        section = xml.cdata(texts[0]) if like.is_cdata and not tags else None
        if section is not None:
            return section
        pieces = [xml.escaped(texts[0])]
        for tag, text in zip(tags, texts[1:], strict=True):
            pieces += [tag, xml.escaped(text)]
        return "".join(pieces)

    def _with_prefixes(self, markup: str) -> str:
        """``markup`` whose tags declare the prefixes that they have from the source, and the file doesn't declare."""
        undeclared = self._source.prefixes.keys() - self._target.prefixes.keys()

        def declared(match: regex.Match[str]) -> str:
            tag = match[0]
            prefixes = [] if tag.startswith("<!") else sorted(undeclared & set(_PREFIX.findall(tag)))
            attributes = [
                f' xmlns:{prefix}="{self._target.xml.escaped(self._source.prefixes[prefix])}"' for prefix in prefixes
            ]
            return "".join([match["name"] or "", *attributes, tag[len(match["name"] or "") :]])

        return _OPENING_TAG.sub(declared, markup) if undeclared else markup

    def _forms_beside(self, group: ResourceGroup, unit: TranslationUnit) -> list[Resource]:
        """The forms in ``group`` of the plural that the unit is a form of."""
        if unit.plural is None or unit.plural.category is None:
            return []
        prefix = unit.id.removesuffix(unit.plural.category)
        return [each for each in group.resources if each.keyed.plural_prefix == prefix]

    def _new_items(
        self, group: ResourceGroup, units: Sequence[TranslationUnit], targets: Mapping[str, str]
    ) -> Iterator[tuple[int, str]]:
        """The items that a group of either file lacks, each with its place in that file."""
        array_items = {}
        for unit in units:
            if unit.plural is None or unit.plural.category is None:
                array_items[int(unit.id.rpartition(".")[2])] = unit
                continue
            category = unit.plural.category
            forms = self._forms_beside(group, unit)
            markup = self._markup(unit, targets[unit.id], forms[0].element)
            before = [each for each in forms if _rank(each) < CATEGORIES.index(category)]
            if before:
                last = max(before, key=_rank)
                yield last.end, last.lead + self._dialect.item(category, markup, last.lead)
            else:
                yield forms[0].start, self._dialect.item(category, markup, forms[0].lead) + forms[0].lead
        for number in range(len(group.resources), max(array_items, default=-1) + 1):
            last = group.resources[-1]
            item_unit = array_items.get(number)
            if item_unit is not None:
                markup = self._markup(item_unit, targets[item_unit.id], last.element)
            else:  # an array has no gaps
                like = self._source.resources[joined_key([group.name[1], number])].element
                markup = self._source.xml.raw(like.tag.end, like.end)
            yield last.end, last.lead + self._dialect.item(None, markup, last.lead)

    def _insertions(
        self,
        added: Sequence[tuple[ResourceGroup | None, ResourceGroup, Sequence[TranslationUnit]]],
        targets: Mapping[str, str],
    ) -> Iterator[ByteEdit]:
        """The edits that add groups, each after a group of the file, or else before all of them."""
        first = next(iter(self._target.groups.values()), None)
        container = self._target.container
        at_end = []
        for previous, group, units in added:
            copy = self._copy(group, units, targets)
            if previous is not None:
                yield ByteEdit(previous.end, previous.end, self._encoded(previous.lead + copy))
            elif first is not None:
                yield ByteEdit(first.block_start, first.block_start, self._encoded(copy + first.lead))
            else:
                at_end.append(group.lead + copy)
        if not at_end:
            return
        raw = self._target.xml.raw(container.tag.start, container.end)
        if container.end == container.after:  # an empty tag
            opening, closing = empty_tag_pair(raw)
            content = "".join([opening, *at_end, "\n", closing])
            yield ByteEdit(container.tag.start, container.after, self._encoded(content))
            return
        white_space = raw[len(raw.rstrip()) :]
        place = container.end - len(self._target.xml.encoded(white_space))
        if "\n" not in white_space:
            at_end.append("\n")
        yield ByteEdit(place, place, self._encoded("".join(at_end)))

    def _copy(self, group: ResourceGroup, units: Sequence[TranslationUnit], targets: Mapping[str, str]) -> str:
        """The source's element with new targets.

        Where there are none, an array's items and the form ``other`` stay, because programs show the source then
        anyway. Other forms go: they may not be forms of the target language.
        """
        xml = self._source.xml
        by_id = {unit.id: unit for unit in units}
        changes: list[tuple[int, int, str | None]] = []
        for resource in group.resources:
            unit = by_id.pop(resource.keyed.key, None)
            if unit is not None:
                start, end, before, after = text_place(xml, resource.element, self._dialect.keeps_space)
                markup = self._markup(unit, targets[unit.id], resource.element)
                changes.append((start, end, f"{before}{markup}{after}"))
            elif resource.keyed.category not in (None, "other"):
                changes.append((resource.start, resource.end, None))
        for place, item in self._new_items(group, list(by_id.values()), targets):
            changes.append((place, place, item))
        pieces = []
        position = group.start
        for start, end, text in sorted(changes, key=lambda change: change[:2]):
            pieces.append(xml.raw(position, start))
            if text is None:
                pieces = ["".join(pieces).rstrip()]
            else:
                pieces.append(text)
            position = end
        return "".join([*pieces, xml.raw(position, group.end)])

    def _encoded(self, markup: str) -> bytes:
        """``markup`` in the file's encoding and with its line ends."""
        xml = self._target.xml
        return xml.encoded(self._with_prefixes(markup).replace("\r\n", "\n").replace("\n", xml.newline))


def _rank(form: Resource) -> int:
    """The place of a plural form in the order of the CLDR."""
    return CATEGORIES.index(form.keyed.category or "other")


# -- Android

_ANDROID_TEXT = regex.compile(r'\\(u[0-9A-Fa-f]{4}|.?)|"|[ \t\n\r\f\v]++|[^\\" \t\n\r\f\v]++', regex.DOTALL)
_ANDROID_REFERENCE = regex.compile(r"\s*[@?][+*]?(?:[\w.]+:)?\w+/[\w.]+\s*")
_ANDROID_LETTERS = {"n": "\n", "t": "\t"}
_ANDROID_ESCAPES = {"\n": "\\n", "\t": "\\t", "\\": "\\\\", '"': '\\"'}


class AndroidDialect(ResourceDialect):
    """``res/values-…/strings.xml``."""

    root = "resources"
    advice = "of .xml files, those with Android's texts are read"
    keeps_space = False

    def groups(self, path: Path, xml: XmlFile, container: XmlElement) -> Iterator[ResourceGroup]:
        """The texts of a file, in order."""
        for element in container.children():
            attributes = element.tag.attributes
            kind = element.tag.value
            if kind == "item" and attributes.get("type") == "string":
                kind = "string"
            if kind not in ("string", "plurals", _ARRAY):
                continue
            name = attributes.get("name")
            if not name:
                raise InputError(f"{path}:{element.tag.line}: <{element.tag.value}> has no name; give it one")
            if attributes.get("product"):
                name = f"{name}.{attributes['product']}"
            reader = _AndroidTexts(path, xml, locked=attributes.get("translatable") == "false")
            start, end = element.tag.start, element.after
            if kind == "string":
                resources = [Resource(reader.keyed(name, element), element, start, end, element.lead)]
            else:
                resources = list(self._items(reader, name, element))
            yield ResourceGroup((kind, name), resources, start, end, element.lead, element.block_start)

    def _items(self, reader: _AndroidTexts, name: str, group: XmlElement) -> Iterator[Resource]:
        items = [item for item in group.children() if item.tag.value == "item"]
        for number, item in enumerate(items):
            category = None
            if group.tag.value == "plurals":
                category = item.tag.attributes.get("quantity", "")
                if category not in CATEGORIES:
                    raise InputError(
                        f"{reader.path}:{item.tag.line}: the quantity {category!r} is none of {', '.join(CATEGORIES)}"
                    )
            keyed = reader.keyed(f"{name}.{category or number}", item, group.comments, category)
            yield Resource(keyed, item, item.tag.start, item.after, item.lead)

    def fault(self, target: str) -> str | None:
        """Why no file of this format can hold ``target``."""
        if _SURROGATE.search(target) or "\0" in target:
            return "has half of a surrogate pair or a NUL, which are not text; take it out"
        return None

    def escaped(self, texts: Sequence[str], tags: Sequence[str], like: str) -> list[str]:
        """The texts between ``tags``, with Android's escapes. If ``like`` is in quotes, so are they."""
        if not tags and _is_in_quotes(like):
            return [f'"{"".join(map(_android_character, texts[0]))}"']
        held = ["x" if tag.count("<") > 1 else "" for tag in tags]  # in place of what ``<xliff:g>`` shows
        shown = "".join(text + next_held for text, next_held in zip(texts, [*held, ""], strict=True))
        first, last = len(shown) - len(shown.lstrip(" ")), len(shown.rstrip(" "))
        place = 0
        previous = ""
        escaped = []
        for text, next_held in zip(texts, [*held, ""], strict=True):
            characters = []
            for character in text:
                written = _android_character(character)
                if character == " " and (place < first or place >= last or previous == " "):
                    written = "\\u0020"  # Android drops it otherwise
                elif character == "'" or (place == 0 and character in "@?"):
                    written = f"\\{character}"
                characters.append(written)
                previous = written
                place += 1
            escaped.append("".join(characters))
            previous = next_held or previous
            place += len(next_held)
        return escaped

    def item(self, category: str | None, markup: str, lead: str) -> str:
        """A new form of a plural, or a new item of an array."""
        quantity = "" if category is None else f' quantity="{category}"'
        return f"<item{quantity}>{markup}</item>"


class _AndroidTexts:
    """Reads the texts of elements as Android's resource compiler does."""

    def __init__(self, path: Path, xml: XmlFile, locked: bool) -> None:
        self.path = path
        self._xml = xml
        self._locked = locked
        self._in_quotes = self._after_space = False

    def keyed(
        self, key: str, element: XmlElement, group_notes: tuple[str, ...] = (), category: str | None = None
    ) -> KeyedText:
        """The text of an element."""
        pieces = self._pieces(element)
        return KeyedText(
            key=key,
            text="".join(piece if isinstance(piece, str) else piece.markup for piece in pieces),
            line=element.tag.line,
            notes=group_notes + element.comments,
            locked=self._locked or _ANDROID_REFERENCE.fullmatch(element.text) is not None,
            category=category,
            plural_prefix=key.removesuffix(category or ""),
            pieces=pieces if any(isinstance(piece, InlineTag) for piece in pieces) else None,
        )

    def _pieces(self, element: XmlElement) -> list[str | InlineTag]:
        raw_pieces = inline_pieces(self._xml, element)
        if isinstance(raw_pieces[0], str):
            raw_pieces[0] = raw_pieces[0].lstrip(WHITE_SPACE)
        if isinstance(raw_pieces[-1], str):
            raw_pieces[-1] = raw_pieces[-1].rstrip(WHITE_SPACE)
        self._in_quotes = self._after_space = False
        pieces: list[str | InlineTag] = []
        for piece in raw_pieces:
            pieces.append(self._unescaped(piece, element.tag.line) if isinstance(piece, str) else piece)
        return pieces

    def _unescaped(self, raw: str, line: int) -> str:
        characters = []
        for match in _ANDROID_TEXT.finditer(raw):
            text, code = match[0], match[1]
            if text == '"':
                self._in_quotes = not self._in_quotes
                continue
            if text[0] in WHITE_SPACE and not self._in_quotes:
                if not self._after_space:
                    characters.append(" ")
                self._after_space = True
                continue
            self._after_space = False
            if code is None:
                characters.append(text)
            elif len(code) > 1:
                characters.append(chr(int(code[1:], 16)))
            elif code == "u":
                raise InputError(
                    f"{self.path}:{line}: \\u without four hexadecimal digits, which Android refuses; correct it"
                )
            else:
                characters.append(_ANDROID_LETTERS.get(code, code))
        text = "".join(characters)
        if not _SURROGATE.search(text):
            return text
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise InputError(
                f"{self.path}:{line}: has half of a surrogate pair; write both escapes of the character"
            ) from None


def inline_pieces(xml: XmlFile, element: XmlElement) -> list[str | InlineTag]:
    """An element's characters and inline tags; what ``<xliff:g>`` holds isn't to be translated."""
    pieces: list[str | InlineTag] = []
    characters: list[str] = []
    seen: Counter[tuple[str, str]] = Counter()
    open_tags: list[InlineTag] = []
    tokens = iter(element.tokens)
    for token in tokens:
        if token.kind in ("text", "cdata"):
            characters.append(token.value)
            continue
        if token.kind == "other":  # a comment
            continue
        pieces.append("".join(characters))
        characters = []
        if token.kind == "end":
            pieces.append(InlineTag(open_tags.pop().key, "close", f"</{token.value}>"))
            continue
        name = token.value
        identity = (name, token.attributes.get("id", ""))
        key = (*identity, seen[identity])
        seen[identity] += 1
        raw = xml.raw(token.start, token.end)
        if name.rpartition(":")[2] == "g" or raw.endswith("/>"):
            end = token.end
            depth = 1
            while depth:
                inner = next(tokens)
                depth += (inner.kind == "start") - (inner.kind == "end")
                end = inner.end
            pieces.append(InlineTag(key, "empty", xml.raw(token.start, end)))
            continue
        open_tags.append(InlineTag(key, "open", raw))
        pieces.append(open_tags[-1])
    return [*pieces, "".join(characters)]


def _is_in_quotes(raw: str) -> bool:
    """Whether a text is all in one pair of quotes."""
    text = raw.strip(WHITE_SPACE)
    quotes = [match.start() for match in _ANDROID_TEXT.finditer(text) if match[0] == '"']
    return len(text) > 1 and quotes == [0, len(text) - 1]


def _android_character(character: str) -> str:
    """A character as it is written within quotes."""
    if character in _ANDROID_ESCAPES:
        return _ANDROID_ESCAPES[character]
    if character < " " or INVALID.search(character):
        return f"\\u{ord(character):04x}"
    return character


# -- .resx


class ResxDialect(ResourceDialect):
    """.NET's resources: the entries that are texts."""

    root = "root"
    advice = "give a file of .NET's resources"

    def groups(self, path: Path, xml: XmlFile, container: XmlElement) -> Iterator[ResourceGroup]:
        """The texts of a file, in order."""
        for element in container.children():
            attributes = element.tag.attributes
            name = attributes.get("name")
            if element.tag.value != "data" or "mimetype" in attributes or name is None:
                continue
            if attributes.get("type", "System.String").partition(",")[0] != "System.String":
                continue
            if name.startswith(">>") or (name.startswith("$this.") and name != "$this.Text"):
                continue  # facts of Windows Forms about a window's parts
            parts = {part.tag.value: part for part in element.children()}
            if "value" not in parts:
                raise InputError(f"{path}:{element.tag.line}: the entry {shown_id(name)} has no <value>; give it one")
            notes = parts["comment"].text.strip() if "comment" in parts else ""
            value = parts["value"]
            keyed = KeyedText(
                key=name, text=value.text, line=element.tag.line, notes=(notes,) if notes else element.comments
            )
            start, end = element.tag.start, element.after
            resource = Resource(keyed, value, start, end, element.lead)
            yield ResourceGroup(("data", name), [resource], start, end, element.lead, element.block_start)


# -- .stringsdict

_VARIABLE = regex.compile(r"%(?:\d+\$)?#@\w+@")
_FORMAT = "NSStringLocalizedFormatKey"
_LEVELS = 20  # of dictionaries; a plural has two


class StringsdictDialect(ResourceDialect):
    """Apple's property lists with the forms of plurals, and with variants by width or device."""

    root = "plist"
    advice = "give a .stringsdict file in XML: plutil -convert xml1 FILE"

    def container(self, path: Path, root: XmlElement) -> XmlElement:
        """The element that holds all groups."""
        first = next(root.children(), None)
        if first is None or first.tag.value != "dict":
            raise InputError(f"{path}:{root.tag.line}: <plist> doesn't hold a <dict>; give a .stringsdict file")
        return first

    def groups(self, path: Path, xml: XmlFile, container: XmlElement) -> Iterator[ResourceGroup]:
        """The texts of a file, in order."""
        for key, value in _entries(path, container):
            resources = list(self._texts(path, [key.text], key, value, key.comments))
            yield ResourceGroup(("dict", key.text), resources, key.tag.start, value.after, key.lead, key.block_start)

    def _texts(
        self, path: Path, names: list[str], key: XmlElement, value: XmlElement, notes: tuple[str, ...]
    ) -> Iterator[Resource]:
        if value.tag.value == "dict":
            if len(names) > _LEVELS:
                raise InputError(
                    f"{path}:{value.tag.line}: more than {_LEVELS} levels of <dict>; such files are refused"
                )
            for inner_key, inner in _entries(path, value):
                name = inner_key.text
                if name == _FORMAT and _VARIABLE.sub("", inner.text).strip():
                    yield from self._texts(path, names, inner_key, inner, notes + inner_key.comments)
                elif inner.tag.value == "dict" or not name.startswith("NSString"):
                    yield from self._texts(path, [*names, name], inner_key, inner, notes + inner_key.comments)
        elif value.tag.value == "string":
            category = names[-1] if len(names) > 1 and names[-1] in CATEGORIES and key.text != _FORMAT else None
            keyed = KeyedText(
                key=joined_key(names),
                text=value.text,
                line=value.tag.line,
                notes=notes,
                category=category,
                plural_prefix=joined_key(names[:-1]) + "." if category else "",
            )
            yield Resource(keyed, value, key.tag.start, value.after, key.lead)

    def item(self, category: str | None, markup: str, lead: str) -> str:
        """A new form of a plural."""
        return f"<key>{category}</key>{lead}<string>{markup}</string>"


def _entries(path: Path, dictionary: XmlElement) -> Iterator[tuple[XmlElement, XmlElement]]:
    """The keys and values of a ``<dict>``."""
    children = dictionary.children()
    for key in children:
        if key.tag.value != "key":
            raise InputError(
                f"{path}:{key.tag.line}: expected <key>, not <{key.tag.value}>; put the value's key before it"
            )
        value = next(children, None)
        if value is None or value.tag.value == "key":
            raise InputError(f"{path}:{key.tag.line}: the key {shown_id(key.text)} has no value; give it one")
        yield key, value


class XmlResources:
    """A format whose files have an app's texts of one language in XML."""

    def __init__(self, name: str, suffixes: tuple[str, ...], dialect: ResourceDialect) -> None:
        self.name = name
        self.suffixes = suffixes
        self._dialect = dialect

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> ResourceFile:
        """Read a file with the file of its sources. Raises :class:`InputError`, beginning with ``file:line``."""
        return ResourceFile(path, source_file(path, source), self._dialect, target_lang)


ANDROID = XmlResources("android", (".xml",), AndroidDialect())
RESX = XmlResources("resx", (".resx", ".resw"), ResxDialect())
STRINGSDICT = XmlResources("stringsdict", (".stringsdict",), StringsdictDialect())
