"""The error typology of HiMATE (Tables 8 and 9): 5 core types and 19 subtypes of MQM, and the three severities, in this
project's own words.

A category is written ``core/subtype``: ``accuracy/mistranslation``, ``locale convention/date format``. There is no
non-translation in it (HiMATE, appendix B).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple


class Subtype(NamedTuple):
    """A kind of error below a core type; ``definition`` is one line for prompts."""

    core: str
    name: str
    definition: str

    @property
    def category(self) -> str:
        """``core/name``."""
        return f"{self.core}/{self.name}"


CORES = {
    "accuracy": "the translation does not say what the source says",
    "terminology": "a term is not the one that the field, the client or the rest of the text asks for",
    "fluency": "the text is not correct in its own language, whatever the source says",
    "style": "the text is correct, but nobody would write it like that",
    "locale convention": "a name, date, time, amount or address is not written as the readers write it",
}
"""Core types, and what errors of them have in common."""

_TABLE = """\
accuracy/addition: The translation says something, or has punctuation with a meaning, that the source lacks.
accuracy/omission: Something of the source is missing in the translation: a passage, a phrase, a word, or \
punctuation with a meaning.
accuracy/mistranslation: A word or passage means something else than in the source, is matched with the wrong one, \
or its words are grouped wrongly.
accuracy/untranslated text: Text is left in the source language though it should be translated. Placeholders, code \
and special symbols do not count.
terminology/inappropriate for context: A term is not the one that a given glossary asks for, or not the one that is \
usual in this field.
terminology/inconsistent use: One and the same term of the source is translated by different terms.
fluency/punctuation: A mark is missing, superfluous or wrong, or one of a pair of quotes or brackets has no partner.
fluency/spelling: A word is misspelt, its capital letters and accents included.
fluency/grammar: Words do not agree, a verb has the wrong tense or form, a noun, pronoun or adjective the wrong \
ending; also wrong word order.
fluency/register: The level of formality is wrong, as with an informal pronoun where a formal one is due.
fluency/inconsistency: The text contradicts itself or changes its ways without reason; terms are not meant here.
fluency/character encoding: Characters are garbled, because they were read in the wrong encoding.
style/awkward: The sentence is understood, but clumsy, mostly because it copies the structure of the source.
locale convention/address format: An address, such as its postal code, is not in the form of the locale.
locale convention/currency format: An amount of money is not in the form of the locale.
locale convention/date format: A date is not in the form of the locale.
locale convention/name format: A name is not in the form of the locale, such as family and given name in the wrong \
order.
locale convention/telephone format: A telephone number is not in the form of the locale.
locale convention/time format: A time of day is not in the form of the locale, such as 24 hours where readers expect \
12."""
SUBTYPES = tuple(Subtype(*line.replace(": ", "/", 1).split("/", 2)) for line in _TABLE.split("\n"))
"""All 19, core type by core type."""

_SEPARATOR = re.compile(r"(?:/|::?|>|→|\s[-–—]\s|[(\[])\s*")
_OTHER_NAMES = {
    "untranslated": "untranslated text",
    "inappropriate": "inappropriate for context",
    "inconsistent": "inconsistent use",
    "terminology/inconsistency": "inconsistent use",
    "fluency/inconsistent": "inconsistency",
    "awkward style": "awkward",
    "awkwardness": "awkward",
    "encoding": "character encoding",
    "address": "address format",
    "currency": "currency format",
    "date": "date format",
    "name": "name format",
    "telephone": "telephone format",
    "telephone number format": "telephone format",
    "time": "time format",
}


def subtypes_of(core: str) -> tuple[Subtype, ...]:
    """The subtypes of a core type."""
    return tuple(subtype for subtype in SUBTYPES if subtype.core == core)


def subtype_of(category: str) -> Subtype | None:
    """The subtype that a category means, as models write it: ``Date``, ``Accuracy - Omission``, ``style/awkward``.

    ``None`` where it names a core type alone, or nothing of this typology.
    """
    by_name = {subtype.name: subtype for subtype in SUBTYPES}
    last_named = None
    core = ""
    for written in _SEPARATOR.split(category):
        part = written.strip().strip(" )]*`'\".").replace("_", " ").replace("-", " ").casefold()
        part = " ".join(part.split())
        name = _OTHER_NAMES.get(f"{core}/{part}") or _OTHER_NAMES.get(part, part)
        last_named = by_name.get(name, last_named)
        core = part
    return last_named


def category_of(written: str) -> str:
    """``written`` as ``core/subtype`` where the typology has it; else as it is, in lower case."""
    subtype = subtype_of(written)
    return subtype.category if subtype else written.strip().casefold()


def described(subtypes: Iterable[Subtype] = SUBTYPES) -> str:
    """One line per subtype for a prompt: ``- accuracy/omission: Something of the source …``."""
    return "\n".join(f"- {subtype.category}: {subtype.definition}" for subtype in subtypes)


SEVERITIES = (
    '"major" = an actual mistake of translation or grammar, "minor" = a smaller imperfection, "neutral" = purely a '
    "matter of opinion; the same for all types of errors"
)
"""What a severity means to all agents (HiMATE, Table 9)."""

_WORDING = "\n".join([described(), *(f"{core}: {definition}" for core, definition in CORES.items()), SEVERITIES])
SIGNATURE = f"typology:himate#{hashlib.sha256(_WORDING.encode()).hexdigest()[:8]}"
"""For the signature of an evaluator whose prompt shows these definitions."""
