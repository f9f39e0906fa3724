"""What an export is: the protocol that the writers share, and what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from mtagent.records import Rated, Segment


class Entry(NamedTuple):
    """A segment as a run holds it. A text is ``None`` where the system has no translation of it.

    ``rated`` goes by the systems in their order, and within a system by evaluator; a text that nobody rated has one
    record without a rating.
    """

    segment: Segment
    texts: dict[str, str | None]
    rated: tuple[Rated, ...]


class Survey(NamedTuple):
    """What has to be known before a file is opened; segments are told by their ids, in order.

    ``missing`` lack a translation by any system. ``broken`` have a line break in source, reference or a translation.
    ``referenced`` counts the references of each language pair.
    """

    missing: tuple[str, ...]
    broken: tuple[str, ...]
    referenced: dict[str, int]


@dataclass(frozen=True)
class Held:
    """What a run holds. ``entries`` reads it anew each time it is called."""

    run: str
    systems: tuple[str, ...]
    entries: Callable[[], Iterator[Entry]]
    survey: Survey


class Export(Protocol):
    """Writes what a run holds in the form of another tool.

    ``folder``: it writes a folder and not a file. ``one_system``: there is room for the texts of one system.
    """

    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> bool: ...

    @property
    def one_system(self) -> bool: ...

    def write(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write the file ``output``, or files into the empty folder ``output``, and return remarks for the user.

        Raises :class:`mtagent.errors.OutputError` for what this form cannot hold.
        """
        ...
