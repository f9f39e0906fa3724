"""Translations of Qt: ``.ts``. Obsolete and vanished messages aren't units, and each numerus form is one.

An id is the message's own, or else its context, source and comment, with U+0004 between them; the number of a numerus
form follows in brackets.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mtagent.errors import InputError
from mtagent.formats.documents import (
    ByteEdit,
    PluralForm,
    TranslationUnit,
    content_of,
    refuse_repeated_ids,
    refuse_source,
    with_markup,
)
from mtagent.formats.inline import numbered
from mtagent.formats.monolingual import language_in_path
from mtagent.formats.xml_resources import inline_pieces
from mtagent.formats.xml_spans import XmlElement, XmlFile, character_fault, root_element, text_place
from mtagent.text.plurals import rule_examples
from mtagent.text.scripts import language_of

# Qt's rules for numerus forms, which differ from gettext's and the CLDR's. Other languages have two forms.
_RULES = [
    ("bi dz fa fj gn hu id ja jv ko ms my na om su th tr vi yo za zh bo", "0"),
    ("br fil fr hy ti wa", "n>1"),
    ("lv", "n%10==1&&n%100!=11?0:n!=0?1:2"),
    ("is", "n%10==1&&n%100!=11?0:1"),
    ("dv ga gv ik iu mi sa se sm", "n==1?0:n==2?1:2"),
    ("gd", "n==1||n==11?0:n==2||n==12?1:n>=3&&n<=19?2:3"),
    ("cs sk", "n==1?0:n>=2&&n<=4?1:2"),
    ("mk", "n%10==1?0:n%10==2?1:2"),
    ("lt", "n%10==1&&n%100!=11?0:n%10!=0&&(n%100<10||n%100>19)?1:2"),
    ("be bs hr ru sr uk", "n%10==1&&n%100!=11?0:n%10>=2&&n%10<=4&&(n%100<10||n%100>19)?1:2"),
    ("pl", "n==1?0:n%10>=2&&n%10<=4&&(n%100<10||n%100>19)?1:2"),
    ("ro", "n==1?0:n==0||n%100>=1&&n%100<=19?1:2"),
    ("sl", "n%100==1?0:n%100==2?1:n%100==3||n%100==4?2:3"),
    ("mt", "n==1?0:n==0||n%100>=1&&n%100<=10?1:n%100>=11&&n%100<=19?2:3"),
    ("cy", "n==0?0:n==1?1:n>=2&&n<=5?2:n==6?3:4"),
    ("ar", "n==0?0:n==1?1:n==2?2:n%100>=3&&n%100<=10?3:n%100>=11?4:5"),
]
_INDENT = "    "  # of a form within its translation, as Qt writes it


class _Message(NamedTuple):
    """A message: its children by name, and its numerus forms."""

    line: int
    parts: Mapping[str, XmlElement]
    last: XmlElement  # of its children
    forms: list[XmlElement]


class TsFile:
    """A file of Qt that has been read."""

    def __init__(self, path: Path, data: bytes, target_lang: str | None = None) -> None:
        self.path = path
        self.data = data
        self.units: list[TranslationUnit] = []
        self._xml = XmlFile(path, data)
        self._places: dict[str, tuple[_Message, int | None]] = {}  # of each unit, and its numerus form
        root = root_element(self._xml, "TS", "give a .ts file of Qt")
        self._source_lang = root.tag.attributes.get("sourcelanguage") or None
        self._target_lang = root.tag.attributes.get("language") or target_lang or language_in_path(path)
        for context in root.children():
            if context.tag.value == "context":
                self._add_context(context)
            elif context.tag.value == "message":
                self._add(context, "")
        refuse_repeated_ids(path, self.units)

    def _add_context(self, context: XmlElement) -> None:
        name = ""
        for element in context.children():
            if element.tag.value == "name":
                name = element.text
            elif element.tag.value == "message":
                self._add(element, name)

    def _add(self, element: XmlElement, context: str) -> None:
        children = list(element.children())
        parts = {child.tag.value: child for child in children}
        translation = parts.get("translation")
        attributes = translation.tag.attributes if translation is not None else {}
        kind = attributes.get("type", "finished")
        if kind in ("obsolete", "vanished"):
            return
        source = parts.get("source")
        identity = element.tag.attributes.get("id")
        if source is None and not identity:
            raise InputError(f"{self.path}:{element.tag.line}: this message has neither a source nor an id; add one")
        forms = list(translation.children()) if translation is not None else []
        message = _Message(element.tag.line, parts, children[-1] if children else element, forms)
        if identity is None:
            names = [context, source.text if source is not None else ""]
            names += [parts["comment"].text] if "comment" in parts else []
            identity = "\x04".join(names)
        if element.tag.attributes.get("numerus") != "yes":
            self._add_unit(message, identity, context, kind, translation, None)
            return
        message = message._replace(forms=[form for form in forms if form.tag.value == "numerusform"])
        for form in self._numerus_forms(len(message.forms)):
            content = message.forms[form.number] if form.number < len(message.forms) else None
            self._add_unit(message, f"{identity}[{form.number}]", context, kind, content, form)

    def _numerus_forms(self, in_file: int) -> list[PluralForm]:
        """The forms that the language needs, or at least those that the file has."""
        if self._target_lang is None:
            count = max(in_file, 1)
            return [PluralForm(number, count) for number in range(count)]
        language = language_of(self._target_lang)
        is_brazilian = language == "pt" and self._target_lang.upper().endswith("BR")
        rule = "n>1" if is_brazilian else "n!=1"
        for languages, language_rule in _RULES:
            if language in languages.split():
                rule = language_rule
        examples = rule_examples(rule)
        count = max(in_file, max(examples) + 1)
        return [PluralForm(number, count, rule, examples.get(number, ())) for number in range(count)]

    def _add_unit(
        self,
        message: _Message,
        identity: str,
        context: str,
        kind: str,
        content: XmlElement | None,
        form: PluralForm | None,
    ) -> None:
        source = message.parts.get("source")
        source_text, target_text, inline = numbered(
            [] if source is None else inline_pieces(self._xml, source),
            [] if content is None else inline_pieces(self._xml, content),
        )
        notes = [message.parts[name].text.strip() for name in _REMARKS if name in message.parts]
        has_variants = any(child.tag.value == "lengthvariant" for child in (content.children() if content else ()))
        self._places[identity] = (message, None if form is None else form.number)
        self.units.append(
            TranslationUnit(
                id=identity,
                source=source_text,
                target=None if content is None else target_text,
                state=kind,
                locked=has_variants,
                notes=tuple(note for note in notes if note),
                context=context or None,
                plural=form,
                inline=inline,
                source_lang=self._source_lang,
                target_lang=self._target_lang,
                line=message.line,
            )
        )

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the file cannot hold ``target``."""
        return character_fault(target)

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes that give the units with these ids these targets."""
        edits = []
        missing: dict[int, tuple[_Message, dict[int, str]]] = {}  # forms by number, by message
        units = {unit.id: unit for unit in self.units}
        for unit_id, target in targets.items():
            markup = self._markup(units[unit_id], target)
            message, number = self._places[unit_id]
            element = message.parts.get("translation")
            if number is not None and number < len(message.forms):
                element = message.forms[number]
            elif number is not None:
                missing.setdefault(id(message), (message, {}))[1][number] = markup
                continue
            if element is None:
                last = message.last
                edits.append(self._edit(last.after, last.after, f"{last.lead}<translation>{markup}</translation>"))
                continue
            start, end, before, after = text_place(self._xml, element, keeps_space=True)
            edits.append(self._edit(start, end, f"{before}{markup}{after}"))
        for message, forms in missing.values():
            edits.append(self._new_forms(message, forms))
        return edits

    def _new_forms(self, message: _Message, forms: Mapping[int, str]) -> ByteEdit:
        """Forms after those of a message, up to the last; those without a text are empty."""
        translation = message.parts.get("translation")
        lead = message.last.lead if translation is None else translation.lead
        form_lead = f"{lead}{_INDENT}" if lead else ""
        if message.forms:
            form_lead = message.forms[0].lead
        numbers = range(len(message.forms), max(forms) + 1)
        content = "".join(f"{form_lead}<numerusform>{forms.get(number, '')}</numerusform>" for number in numbers)
        if message.forms:
            return self._edit(message.forms[-1].after, message.forms[-1].after, content)
        if translation is None:
            place = message.last.after
            return self._edit(place, place, f"{lead}<translation>{content}{lead}</translation>")
        start, end, before, after = text_place(self._xml, translation, keeps_space=True)
        return self._edit(start, end, f"{before}{content}{lead}{after}")

    def _markup(self, unit: TranslationUnit, target: str) -> str:
        """``target`` as Qt writes it, with its quotes escaped."""
        return with_markup(target, unit.inline, self._escaped)

    def _escaped(self, text: str) -> str:
        return self._xml.escaped(text).replace('"', "&quot;").replace("'", "&apos;")

    def _edit(self, start: int, end: int, markup: str) -> ByteEdit:
        newline = self._xml.newline
        return ByteEdit(start, end, self._xml.encoded(markup.replace("\r\n", "\n").replace("\n", newline)))


_REMARKS = ("comment", "extracomment", "translatorcomment")


class QtTs:
    """Translations of Qt."""

    name = "ts"
    suffixes: tuple[str, ...] = (".ts",)

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> TsFile:
        """Read a file. Raises :class:`InputError`, beginning with ``file:line``."""
        refuse_source(path, source)
        return TsFile(path, content_of(path), target_lang)


TS = QtTs()
