"""Documents of running text: passages that are translated where they are, in a copy of the file.

Such a document names no targets. Without a source file its own passages are the sources, and a new target takes a
passage's place. With one, both files must have the same passages in the same order.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtagent.errors import InputError
from mtagent.formats.documents import ByteEdit, TranslationUnit
from mtagent.formats.monolingual import language_in_path, source_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text of a document, of a ``kind`` such as ``heading``, at the places ``spans``, which the format counts."""

    kind: str
    text: str
    line: int
    spans: tuple[tuple[int, int], ...]
    prefix: str = ""
    """What each further line of the text begins with in the file, such as ``> ``."""
    inline: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


Reader = Callable[[Path], tuple[bytes, list[Passage]]]
"""Reads a file: its bytes and its passages."""


class ProseFile:
    """A document of running text that has been read. Formats say what a passage holds, and how it is written."""

    def __init__(self, path: Path, source: Path | None, target_lang: str | None, read: Reader) -> None:
        self.path = path
        self.data, own = read(path)
        source_lang = language_in_path(path)
        sources: Sequence[Passage] = own
        if source is not None:
            source = source_file(path, source)
            _, sources = read(source)
            _refuse_other_passages(path, own, source, sources)
            source_lang, target_lang = language_in_path(source), source_lang or target_lang
        self.passages: dict[str, Passage] = {}
        self.units: list[TranslationUnit] = []
        for unit_id, passage, place in zip(_ids(sources), sources, own, strict=True):
            self.passages[unit_id] = place
            self.units.append(
                TranslationUnit(
                    id=unit_id,
                    source=passage.text,
                    target=None if source is None else place.text,
                    state="new" if source is None else "translated",
                    notes=passage.notes,
                    context=passage.kind,
                    inline=place.inline,
                    source_lang=source_lang,
                    target_lang=target_lang,
                    line=place.line,
                )
            )
        self._sources = dict(zip(self.passages, sources, strict=True))

    def source_of(self, unit: TranslationUnit) -> Passage:
        """The passage that the unit translates."""
        return self._sources[unit.id]

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why the file cannot hold ``target``."""
        raise NotImplementedError

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes of the file's bytes."""
        raise NotImplementedError


def _ids(passages: Sequence[Passage]) -> list[str]:
    """An id for each passage by its text, which stays when other passages come or go."""
    seen: Counter[str] = Counter()
    ids = []
    for passage in passages:
        digest = hashlib.sha256(passage.text.encode()).hexdigest()[:12]
        seen[digest] += 1
        ids.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return ids


def _refuse_other_passages(path: Path, own: Sequence[Passage], source: Path, sources: Sequence[Passage]) -> None:
    """Raise :class:`InputError` unless both files have passages of the same kinds."""
    for passage, source_passage in zip(own, sources, strict=False):
        if passage.kind != source_passage.kind:
            raise InputError(
                f"{path}:{passage.line}: has a {passage.kind} where {source}:{source_passage.line} has a "
                f"{source_passage.kind}; both files must have the same structure"
            )
    if len(own) != len(sources):
        raise InputError(f"{path}: has {len(own)} passages, and {source} has {len(sources)}; they must be the same")
