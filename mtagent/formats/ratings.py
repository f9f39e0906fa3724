"""What is rated and what came of it, for the formats that write ratings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, get_args

from mtagent.errors import ConfigError
from mtagent.records import Chain, ErrorSpan, Rated, Rating, Record, Segment, Stage, same_rater

GIVEN, FINAL, REVIEWED = "given", "final", "reviewed"
"""The systems of a chain run that are no stage: the text before any editing, the last accepted one, and what people's
decisions made of it.
"""


class Candidates(Record):
    """A segment and its translations by system, in order; ``None`` = the system has none.

    The segment's own ``translation`` is left empty: a rating shall not depend on where its text came from.
    """

    segment: Segment
    translations: dict[str, str | None]


@dataclass(frozen=True)
class Material:
    """All that a rating run rates. ``inputs`` identifies it; ``candidates`` reads it anew each time it is called."""

    systems: tuple[str, ...]
    inputs: dict[str, Any]
    candidates: Callable[[], Iterator[Candidates]]


def side_by_side(segment: Segment, translations: Mapping[str, str | None]) -> Candidates:
    """The ``translations`` of ``segment``, by system."""
    bare = segment.model_copy(update={"translation": None}) if segment.translation is not None else segment
    return Candidates(segment=bare, translations=dict(translations))


def chosen(available: Sequence[str], wanted: Sequence[str], where: str) -> tuple[str, ...]:
    """The ``wanted`` ones of the ``available`` systems, in the order in which they stand there; all if none is named.

    Raises :class:`ConfigError` for one that is not there.
    """
    for name in wanted:
        if name not in available:
            raise ConfigError(f"{where}: there is no system {name!r}; there are: {', '.join(available)}")
    return tuple(name for name in available if not wanted or name in wanted)


def stages_of(
    chains: Callable[[], Iterator[Chain]], name: str, wanted: Sequence[str] = (), limit: int | None = None
) -> Material:
    """The texts that the stages of the chain run ``name`` left, each stage taken as a system.

    They are ``given`` (where texts were given), each stage that ran on any segment, ``final``, and ``reviewed`` (where
    people decided). A stage that did not run on a segment leaves its text as it was.
    """
    systems = chosen(systems_of(chains()), wanted, f"run {name!r}")

    def candidates() -> Iterator[Candidates]:
        return (side_by_side(chain.segment, texts_of(chain, systems)) for chain in chains())

    digest = hashlib.sha256()  # a run that went on, or in which an edit was taken back, is another input
    for item in candidates():
        digest.update(item.model_dump_json().encode() + b"\n")
    inputs = {"run": name, "systems": list(systems), "texts": digest.hexdigest()}
    return Material(systems, inputs, lambda: islice(candidates(), limit))


def systems_of(chains: Iterable[Chain]) -> tuple[str, ...]:
    """``given`` (where texts were given), each stage that ran on any segment, ``final``, and ``reviewed`` (where people
    decided).
    """
    given, reviewed, seen = False, False, set[str]()
    for chain in chains:
        reviewed = reviewed or chain.reviewed is not None
        given = given or chain.segment.translation is not None
        seen.update(step.stage for step in chain.steps)
    stages = (stage for stage in get_args(Stage) if stage in seen)
    return (*([GIVEN] if given else []), *stages, FINAL, *([REVIEWED] if reviewed else []))


def texts_of(chain: Chain, systems: Sequence[str]) -> dict[str, str | None]:
    """The text of each system; none where the segment has never had a translation."""
    reviewed = chain.text if chain.reviewed is None else chain.reviewed
    if chain.given is None:
        return {system: chain.reviewed if system == REVIEWED else None for system in systems}
    texts: dict[str, str | None] = {GIVEN: chain.given, FINAL: chain.text, REVIEWED: reviewed}
    text, steps = chain.given, chain.by_stage()
    for stage in get_args(Stage):
        text = steps[stage].text if stage in steps else text
        texts[stage] = text
    return {system: texts[system] for system in systems}


def ratings_of_texts(chain: Chain) -> list[tuple[str, Rating]]:
    """The ratings that the steps of ``chain`` hold, each with the text that it is about.

    A step holds the editor's rating of the text before it, and then the judge's of the texts before and after; where
    the judge is the editor, that of the text before stands once. What is not of this shape, and what is about a text
    that was rejected or that the user has taken edits back from, is left out.
    """
    ratings: list[tuple[str, Rating]] = []
    before = chain.segment.translation
    for step in chain.steps:
        reverted = any(edit.outcome == "reverted" for edit in step.edits)
        if before is not None:
            editor, judged, after = (step.rating(role) for role in ("editor", "before", "after"))
            if editor is not None:
                ratings.append((before, editor))
            if judged is not None and (editor is None or not same_rater(judged.signature, editor.signature)):
                ratings.append((before, judged))
            if after is not None and step.verdict == "kept" and not reverted:
                ratings.append((step.text, after))
        if reverted:
            break
        before = step.text
    return ratings


class Ratings(NamedTuple):
    """The results of a rating run. ``read`` gives all in input order × system order, or those of one system."""

    systems: tuple[str, ...]
    read: Callable[[str | None], Iterator[Rated]]


class RatingFormat(Protocol):
    """Writes ratings. A file whose name ends in one of ``suffixes`` is taken to be of this format."""

    @property
    def name(self) -> str: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def paths(self, output: Path) -> tuple[Path, ...]:
        """The files that are written for ``output``. Raises :class:`ConfigError` where it cannot stand for them."""
        ...

    def refuse(self, candidates: Candidates, output: Path) -> None:
        """Raise :class:`OutputError` for what this format cannot hold, before anything is paid for."""
        ...

    def write_ratings(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write the files, each of which appears when it is complete, and return remarks for the user.

        Raises :class:`OutputError`.
        """
        ...


class SpanPlace(NamedTuple):
    """Code points ``start`` to ``end`` (exclusive) of the translation, or of the source."""

    start: int
    end: int
    in_source: bool


def place_of(span: ErrorSpan, source: str, translation: str) -> SpanPlace | None:
    """The place of ``span``; ``None`` where it is not known, or could be more than one.

    Offsets that the span has are the translation's, or the source's on the side ``source``. An omission stands where
    its words are in the source; offsets without a character are its place in the translation.
    """
    in_source = span.side == "source" or (span.side == "omission" and span.start != span.end)
    if span.start is not None and span.end is not None:
        return SpanPlace(span.start, span.end, in_source)
    text = source if span.side != "translation" else translation
    if not span.text or text.count(span.text) != 1:
        return None
    start = text.index(span.text)
    return SpanPlace(start, start + len(span.text), span.side != "translation")
