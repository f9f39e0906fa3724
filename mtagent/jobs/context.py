"""The context of a segment in its document: the segments before it, with their translations, and the next source."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from mtagent.llm.prompts import described
from mtagent.records import Segment
from mtagent.text.terms import KeptNames, stands_in


class Document:
    """The finished segments of a document, each with its current text.

    The last ``size`` of them are shown. Names and glossary terms are kept from the beginning on.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._behind = deque[tuple[str, str]](maxlen=size)
        self._names = KeptNames()
        self._terms: dict[str, tuple[str, str]] = {}  # the last choice that the translation holds, by source
        self._read = deque[tuple[int, Segment]]()

    def read(self, position: int, segment: Segment) -> None:
        """Note that ``segment`` belongs to the document; its text may still change."""
        if self.size:
            self._read.append((position, segment))

    def advance(self, position: int, text_at: Callable[[int, Segment], str | None]) -> None:
        """Add all segments before ``position`` to the context; ``text_at`` returns their translations, if any."""
        while self._read and self._read[0][0] < position:
            place, segment = self._read.popleft()
            text = text_at(place, segment) or ""
            self._behind.append((segment.source, text))
            if text.strip():
                self._names.add(segment.source, text, segment.source_lang)
                for term in segment.terms:
                    if term.target and not term.forbidden and stands_in(term.target, text):
                        self._terms[term.source.casefold()] = term.source, term.target

    def around(self, segment: Segment, following: str | None) -> str | None:
        """The context to show with ``segment``."""
        sources = dict.fromkeys(term.source.casefold() for term in segment.terms)
        return described(
            self._behind,
            following,
            names=self._names.kept_in(segment.source, segment.source_lang),
            terms=[self._terms[source] for source in sources if source in self._terms],
        )


@dataclass(frozen=True)
class Placed:
    """A segment at its place in a file and in its document; ``following`` is the source after it there."""

    segment: Segment
    position: int
    document: Document
    following: str | None

    def in_context(self, text_at: Callable[[int, Segment], str | None]) -> Segment:
        """The segment with its context, unless it already has one or no context is set."""
        if not self.document.size:
            return self.segment
        self.document.advance(self.position, text_at)
        context = self.segment.context or self.document.around(self.segment, self.following)
        return self.segment.model_copy(update={"context": context})


def placed(segments: Iterable[Segment], size: int, limit: int | None = None) -> Iterator[Placed]:
    """The first ``limit`` of ``segments`` in their documents, which show the ``size`` segments before.

    A document is a row of segments with the same ``document``, which may be ``None``. The segment after the last is
    read, too, so that the context doesn't depend on the limit.
    """
    document, last = Document(size), None
    position = -1
    for position, segment in enumerate(islice(segments, limit and limit + bool(size))):
        if last is not None:
            same = segment.document == last.document
            yield Placed(last, position - 1, document, segment.source if same else None)
            if not same:
                document = Document(size)
        document.read(position, segment)
        last = segment
    if last is not None and (limit is None or position < limit):
        yield Placed(last, position, document, None)


def with_context(
    segments: Iterable[Segment],
    size: int,
    limit: int | None = None,
    text_of: Callable[[Segment], str | None] = lambda segment: segment.translation,
) -> Iterator[Segment]:
    """The first ``limit`` of ``segments`` with their context; ``text_of`` returns their translations.

    For jobs that don't translate meanwhile.
    """
    return (place.in_context(lambda _, segment: text_of(segment)) for place in placed(segments, size, limit))
