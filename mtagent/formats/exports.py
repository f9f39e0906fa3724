"""What an export is, the names that files of other tools can bear, and a folder with a file per stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

from mtagent.errors import OutputError
from mtagent.formats.jsonl import JSONL
from mtagent.formats.lines import Lines
from mtagent.formats.segments import Format, Result
from mtagent.records import Rated, Rating, Segment, comparable


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

    def export(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write the file ``output``, or files into the empty folder ``output``, and return remarks for the user.

        Raises :class:`mtagent.errors.OutputError` for what this form cannot hold.
        """
        ...


def plain_name(name: str) -> str:
    """``name`` as mt-metrics-eval allows it: no dot, no hyphen, no white space."""
    return re.sub(r"[.\-\s]", "_", name)


def file_name(name: str) -> str:
    """``name`` without what a file name cannot hold anywhere."""
    return re.sub(r'[/\\:*?"<>|\x00-\x1f]', "_", name) or "_"


def strict_name(name: str) -> str:
    """``name`` as mt-metrics-eval allows it, and as part of a file name."""
    return file_name(plain_name(name))


def pair_name(segment: Segment) -> str:
    """The language pair as WMT writes it: ``en-sr_Latn_RS``."""
    return f"{strict_name(segment.source_lang)}-{strict_name(segment.target_lang)}"


def mapped(names: Sequence[str], plain: Callable[[str], str], output: Path) -> dict[str, str]:
    """Each of ``names`` with its ``plain`` form. Raises :class:`OutputError` where two would become one."""
    written = {name: plain(name) for name in names}
    for name in written:
        if twin := next((other for other in written if other != name and written[other] == written[name]), None):
            raise OutputError(
                f"{output}: {name!r} and {twin!r} would both be called {written[name]!r}: choose one with --systems"
            )
    return written


def renamed(names: dict[str, str]) -> tuple[str, ...]:
    """A remark on the names that had to change, if any had to."""
    changed = [f"{name} is {written}" for name, written in names.items() if name != written]
    return (f"renamed, as names there allow no '.', '-' and the like: {', '.join(changed)}",) if changed else ()


class Raters:
    """Tells evaluators apart: of two with one name and different signatures the second is ``NAME_2``.

    A post-editor and a judge may be the same evaluator with different models; their scores must not be mixed.
    """

    def __init__(self, plain: Callable[[str], str] = str) -> None:
        self._plain = plain
        self._names: dict[tuple[str, str], str] = {}
        self.plain_names: dict[str, str] = {}
        self.remarks: list[str] = []

    def name(self, rating: Rating) -> str:
        """What the one who gave this rating is called."""
        key = (rating.evaluator, comparable(rating.signature))
        if key not in self._names:
            plain = self.plain_names[rating.evaluator] = self._plain(rating.evaluator)
            self._names[key] = unused(plain, self._names.values())
            if self._names[key] != plain:
                self.remarks.append(f"{self._names[key]} is another {plain}: {rating.signature}")
        return self._names[key]


def unused(name: str, taken: Collection[str]) -> str:
    """``name``, or else ``name_2``, ``name_3`` …, whichever is not ``taken``."""
    numbered = (f"{name}_{number}" for number in count(2))
    return name if name not in taken else next(fresh for fresh in numbered if fresh not in taken)


class Stages:
    """``RUN.STAGE.txt``, a segment a line; ``RUN.STAGE.jsonl`` for all stages where any text has a line break."""

    name = "stages"
    folder = True
    one_system = False

    def export(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write one file per stage."""
        broken = held.survey.broken
        form: Format = JSONL if broken else Lines()
        names = mapped(held.systems, file_name, output)
        for system, name in names.items():
            results = (Result(segment=entry.segment, text=entry.texts[system] or "") for entry in held.entries())
            form.write(output / f"{file_name(held.run)}.{name}{form.suffixes[0]}", results)
        remarks = renamed(names)
        if broken:
            why = f"JSON Lines, for there are segments with a line break: {len(broken)} (first: {broken[0]!r})"
            remarks = (why, *remarks)
        return remarks


STAGES = Stages()
