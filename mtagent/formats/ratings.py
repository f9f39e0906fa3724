"""Texts to rate and their ratings, for the formats that write ratings."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, get_args

from mtagent.errors import ConfigError
from mtagent.records import Chain, ErrorSpan, Rated, Rating, Record, Segment, Stage, same_rater

GIVEN, FINAL, REVIEWED = "given", "final", "reviewed"
"""The systems of a chain run besides its stages: the text before any editing, the last accepted text, and the text
after people's decisions.
"""


class Candidates(Record):
    """A segment and its translations by system, in order; ``None`` = the system has none.

    The segment's own ``translation`` is left empty: a rating must not depend on where its text came from.
    """

    segment: Segment
    translations: dict[str, str | None]


@dataclass(frozen=True)
class Material:
    """All texts that a rating run rates."""

    systems: tuple[str, ...]
    inputs: dict[str, Any]
    """Names and hashes that identify the texts."""
    candidates: Callable[[], Iterator[Candidates]]
    """Each call reads them again."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """The paths of the inputs that are files, for messages."""


def side_by_side(segment: Segment, translations: Mapping[str, str | None]) -> Candidates:
    """The ``translations`` of ``segment``, by system."""
    if segment.translation is not None:
        segment = segment.model_copy(update={"translation": None})
    return Candidates(segment=segment, translations=dict(translations))


def chosen(available: Sequence[str], names: Sequence[str], where: str) -> tuple[str, ...]:
    """The ``available`` systems with these ``names``, in the order of ``available``; all without ``names``.

    Raises :class:`ConfigError` for an unknown name.
    """
    for name in names:
        if name not in available:
            raise ConfigError(f"{where}: has no system {name!r}; there are: {', '.join(available)}")
    if not names:
        return tuple(available)
    return tuple(name for name in available if name in names)


def stages_of(
    chains: Callable[[], Iterator[Chain]], name: str, chosen_systems: Sequence[str] = (), limit: int | None = None
) -> Material:
    """The texts after the stages of the chain run ``name``, with each stage as a system.

    The systems are ``given`` (if texts were given), each stage that ran on any segment, ``final``, and ``reviewed`` (if
    people decided). A stage that did not run on a segment leaves its text unchanged.
    """
    systems = chosen(systems_of(chains()), chosen_systems, f"run {name!r}")

    def candidates() -> Iterator[Candidates]:
        return (side_by_side(chain.segment, texts_of(chain, systems)) for chain in chains())

    digest = hashlib.sha256()  # a run that was continued, or with a reverted edit, is another input
    for item in candidates():
        digest.update(item.model_dump_json().encode() + b"\n")
    inputs = {"run": name, "systems": list(systems), "texts": digest.hexdigest()}
    return Material(systems, inputs, lambda: islice(candidates(), limit))


def systems_of(chains: Iterable[Chain]) -> tuple[str, ...]:
    """``given`` (if texts were given), each stage that ran on any segment, ``final``, and ``reviewed`` (if people
    decided).
    """
    has_given = has_reviewed = False
    stages: set[str] = set()
    for chain in chains:
        has_reviewed = has_reviewed or chain.reviewed is not None
        has_given = has_given or chain.segment.translation is not None
        stages.update(step.stage for step in chain.steps)
    systems = []
    if has_given:
        systems.append(GIVEN)
    systems += [stage for stage in get_args(Stage) if stage in stages]
    systems.append(FINAL)
    if has_reviewed:
        systems.append(REVIEWED)
    return tuple(systems)


def texts_of(chain: Chain, systems: Sequence[str]) -> dict[str, str | None]:
    """The text of each system; ``None`` if the segment has never had a translation."""
    if chain.given is None:
        texts: dict[str, str | None] = dict.fromkeys(systems)
        if REVIEWED in texts:
            texts[REVIEWED] = chain.reviewed
        return texts
    by_system: dict[str, str | None] = {GIVEN: chain.given, FINAL: chain.text, REVIEWED: chain.reviewed}
    if chain.reviewed is None:
        by_system[REVIEWED] = chain.text
    text, steps = chain.given, chain.by_stage()
    for stage in get_args(Stage):
        if stage in steps:
            text = steps[stage].text
        by_system[stage] = text
    return {system: by_system[system] for system in systems}


def ratings_of_texts(chain: Chain) -> list[tuple[str, Rating]]:
    """The ratings in the steps of ``chain``, each with the text that it rates.

    A step holds the editor's rating of the text before it, and then the judge's ratings of the texts before and after.
    If the judge is the editor, the text before has one rating. Ratings of rejected texts are left out, and ratings of
    texts with reverted edits.
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
    """The results of a rating run."""

    systems: tuple[str, ...]
    read: Callable[[str | None], Iterator[Rated]]
    """Reads the ratings of one system, or of all (``None``), in input order × system order."""


class RatingFormat(Protocol):
    """Writes ratings. A file has this format if its name ends in one of ``suffixes``."""

    @property
    def name(self) -> str: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def paths(self, output: Path) -> tuple[Path, ...]:
        """The files that are written for ``output``. Raises :class:`ConfigError` if they can't be named after it."""
        ...

    def refuse(self, candidates: Candidates, output: Path) -> None:
        """Raise :class:`OutputError` for texts that this format cannot hold, before anything is paid for."""
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
    """The place of ``span``; ``None`` if it is unknown or ambiguous.

    The offsets of a span refer to the translation, or to the source on the side ``source``. An omission is placed at
    its words in the source; an empty span is its place in the translation.
    """
    in_source = span.side == "source" or (span.side == "omission" and span.start != span.end)
    if span.start is not None and span.end is not None:
        return SpanPlace(span.start, span.end, in_source)
    text = translation if span.side == "translation" else source
    if not span.text or text.count(span.text) != 1:
        return None
    start = text.index(span.text)
    return SpanPlace(start, start + len(span.text), span.side != "translation")
