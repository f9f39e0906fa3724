"""What is rated: the translations that several systems made of one segment, and where they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, get_args

from mtagent.errors import ConfigError
from mtagent.records import Chain, Record, Segment, Stage

GIVEN, FINAL = "given", "final"
"""The systems of a chain run that are no stage: the text before any editing, and the last accepted one."""


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
    if unknown := [name for name in wanted if name not in available]:
        raise ConfigError(f"{where}: there is no system {unknown[0]!r}; there are: {', '.join(available)}")
    return tuple(name for name in available if not wanted or name in wanted)


def stages_of(
    chains: Callable[[], Iterator[Chain]], name: str, wanted: Sequence[str] = (), limit: int | None = None
) -> Material:
    """The texts that the stages of the chain run ``name`` left, each stage taken as a system.

    They are ``given`` (where texts were given), each stage that ran on any segment, and ``final``. A stage that did not
    run on a segment leaves its text as it was.
    """
    systems = chosen(_systems(chains()), wanted, f"run {name!r}")

    def candidates() -> Iterator[Candidates]:
        return (side_by_side(chain.segment, _texts(chain, systems)) for chain in chains())

    inputs = {"run": name, "systems": list(systems), "texts": _digest(candidates())}
    return Material(systems, inputs, lambda: islice(candidates(), limit))


def _systems(chains: Iterable[Chain]) -> tuple[str, ...]:
    given, seen = False, set[str]()
    for chain in chains:
        given = given or chain.segment.translation is not None
        seen.update(step.stage for step in chain.steps)
    stages = (stage for stage in get_args(Stage) if stage in seen)
    return (*([GIVEN] if given else []), *stages, FINAL)


def _texts(chain: Chain, systems: Sequence[str]) -> dict[str, str | None]:
    """The text of each system; none where the segment has never had a translation."""
    if chain.given is None:
        return dict.fromkeys(systems)
    texts: dict[str, str | None] = {GIVEN: chain.given, FINAL: chain.text}
    text, steps = chain.given, chain.by_stage()
    for stage in get_args(Stage):
        text = steps[stage].text if stage in steps else text
        texts[stage] = text
    return {system: texts[system] for system in systems}


def _digest(candidates: Iterable[Candidates]) -> str:
    """A hash of all texts: a run that went on, or in which an edit was taken back, is another input."""
    digest = hashlib.sha256()
    for one in candidates:
        digest.update(one.model_dump_json().encode() + b"\n")
    return digest.hexdigest()
