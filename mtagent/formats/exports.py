"""What an export is, names that are allowed in files of other tools, and the export of a file per stage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

from mtagent.errors import OutputError
from mtagent.formats.jsonl import JSONL
from mtagent.formats.segments import Format, Lines, Result
from mtagent.records import Rated, Rating, Segment, comparable


class SegmentTexts(NamedTuple):
    """A segment of a run with its text by each system, and the ratings of these texts.

    A text is ``None`` where the system has no translation. The ratings go by the systems in their order, and within a
    system by evaluator; an unrated text has one record without a rating.
    """

    segment: Segment
    texts: dict[str, str | None]
    rated: tuple[Rated, ...]


@dataclass(frozen=True)
class RunTexts:
    """The texts of a run, by system, with the facts that a format needs before it opens a file."""

    name: str
    systems: tuple[str, ...]
    segments: Callable[[], Iterator[SegmentTexts]]
    """Each call reads them again."""
    missing: tuple[str, ...] = ()
    """The ids of the segments without a translation by one of the systems."""
    broken: tuple[str, ...] = ()
    """The ids of the segments with a line break in source, reference or a translation."""
    references: Mapping[str, int] = field(default_factory=dict)
    """How many references each language pair has."""

    @classmethod
    def read(cls, name: str, systems: tuple[str, ...], segments: Callable[[], Iterator[SegmentTexts]]) -> RunTexts:
        """The run, after a first look at all of its segments. Raises :class:`OutputError` for an empty run."""
        is_empty = True
        missing, broken = [], []
        references = Counter[str]()
        for segment, texts, _ in segments():
            is_empty = False
            if None in texts.values():
                missing.append(segment.id)
            all_texts = (segment.source, segment.reference, *texts.values())
            if any(has_break(text) for text in all_texts if text):
                broken.append(segment.id)
            references[pair_name(segment)] += segment.reference is not None
        if is_empty:
            raise OutputError(f"run {name!r}: has no segments to export")
        return cls(name, systems, segments, tuple(missing), tuple(broken), references)


def has_break(text: str) -> bool:
    """Whether a program that reads ``text`` by lines would see more than one."""
    return "\n" in text or "\r" in text


class Export(Protocol):
    """Writes the texts of a run in the form of another tool.

    ``folder``: it writes a folder and not a file. ``one_system``: it has room for the texts of one system.
    """

    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> bool: ...

    @property
    def one_system(self) -> bool: ...

    def export(self, run: RunTexts, output: Path) -> tuple[str, ...]:
        """Write the file ``output``, or files into the empty folder ``output``, and return remarks for the user.

        Raises :class:`mtagent.errors.OutputError` for texts that this form cannot hold.
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


def mapped(
    names: Sequence[str], plain: Callable[[str], str], output: Path, way_out: str = "choose one with --systems"
) -> dict[str, str]:
    """Each of ``names`` with its ``plain`` form. Raises :class:`OutputError` where two would become one."""
    written = {name: plain(name) for name in names}
    first_names: dict[str, str] = {}
    for name, written_name in written.items():
        first = first_names.setdefault(written_name, name)
        if first != name:
            raise OutputError(f"{output}: {first!r} and {name!r} would both be called {written_name!r}: {way_out}")
    return written


def renamed(names: dict[str, str]) -> tuple[str, ...]:
    """A remark on the names that had to change, if any had to."""
    changed = [f"{name} is {written}" for name, written in names.items() if name != written]
    if not changed:
        return ()
    return (f"renamed, as names there allow no '.', '-' and the like: {', '.join(changed)}",)


def free_name(name: str, taken: Collection[str]) -> str:
    """``name``, or else the first of ``name_2``, ``name_3`` … that is not ``taken``."""
    if name not in taken:
        return name
    for number in count(2):
        numbered = f"{name}_{number}"
        if numbered not in taken:
            return numbered
    raise AssertionError("numbers do not end")


class RaterNames:
    """Tells evaluators apart: of two with one name and different signatures the second is ``NAME_2``.

    A post-editor and a judge may be the same evaluator with different models; their scores must not be mixed.
    """

    def __init__(self, plain: Callable[[str], str] = str) -> None:
        self._plain = plain
        self._names: dict[tuple[str, str], str] = {}
        self.plain_names: dict[str, str] = {}
        self.remarks: list[str] = []

    def name(self, rating: Rating) -> str:
        """The name of the evaluator that gave this rating."""
        key = (rating.evaluator, comparable(rating.signature))
        if key not in self._names:
            plain = self.plain_names[rating.evaluator] = self._plain(rating.evaluator)
            self._names[key] = free_name(plain, self._names.values())
            if self._names[key] != plain:
                self.remarks.append(f"{self._names[key]} is another {plain}: {rating.signature}")
        return self._names[key]


class StageFiles:
    """``RUN.STAGE.txt``, a segment a line; ``RUN.STAGE.jsonl`` for all stages where any text has a line break."""

    name = "stages"
    folder = True
    one_system = False

    def export(self, run: RunTexts, output: Path) -> tuple[str, ...]:
        """Write one file per stage."""
        form: Format = JSONL if run.broken else Lines()
        names = mapped(run.systems, file_name, output)
        for system, name in names.items():
            results = (Result(segment=segment, text=texts[system] or "") for segment, texts, _ in run.segments())
            form.write(output / f"{file_name(run.name)}.{name}{form.suffixes[0]}", results)
        if not run.broken:
            return renamed(names)
        why = f"JSON Lines, for there are segments with a line break: {len(run.broken)} (first: {run.broken[0]!r})"
        return (why, *renamed(names))


STAGES = StageFiles()
