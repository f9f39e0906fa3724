"""What is translated, and what is known about it."""

from __future__ import annotations

from pydantic import Field

from mtagent.records.conversation import Call
from mtagent.records.record import Record


class Term(Record):
    """A glossary entry. ``target=None`` means: do not translate, keep the source term as it is."""

    source: str = Field(min_length=1)
    target: str | None = None
    forbidden: bool = False
    case_sensitive: bool = False


class Segment(Record):
    """One unit of translation: a sentence, a paragraph or a whole text, with what is known about it.

    ``source_lang`` and ``target_lang`` are BCP-47 codes. ``context`` is neighbouring text that is not translated.
    """

    id: str
    source: str
    source_lang: str
    target_lang: str
    translation: str | None = None
    reference: str | None = None
    document: str | None = None
    domain: str | None = None
    context: str | None = None
    notes: str | None = None
    terms: tuple[Term, ...] = ()


class Found(Record):
    """A piece of knowledge that a search brought: a note, a glossary entry, a page."""

    title: str
    text: str
    source: str = ""


class Draft(Record):
    """A text that a translator or a proofreader proposes, and the calls it took."""

    text: str
    calls: tuple[Call, ...] = ()
