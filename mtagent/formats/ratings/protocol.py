"""What a format of ratings is: the protocol that its writers share, and what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from mtagent.candidates import Candidates
from mtagent.records import Rated


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

    def write(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write the files, each of which appears when it is complete, and return remarks for the user.

        Raises :class:`OutputError`.
        """
        ...
