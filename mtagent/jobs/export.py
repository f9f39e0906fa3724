"""What a run holds, for other tools: one file per form, all behind one small protocol.

==========  =====================================================================================
``mtme``    a folder like mt-metrics-eval's: sources, references, outputs, documents, scores
``marot``   error spans as MQM annotations, a TSV
``wmt25``   one document a line, as submitted to WMT's general translation task
``stages``  a folder with a text file per stage
==========  =====================================================================================
"""

from __future__ import annotations

import filecmp
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.config import Config
from mtagent.errors import ConfigError, OutputError
from mtagent.formats.exports import Entry, Export, Held, Survey, file_name, mapped, pair_name, renamed
from mtagent.formats.files import STANDARD
from mtagent.formats.jsonl import JSONL
from mtagent.formats.lines import Lines
from mtagent.formats.marot import MarotExport
from mtagent.formats.mtme import MtmeExport
from mtagent.formats.ratings import FINAL, chosen, systems_of, texts_of
from mtagent.formats.segments import Result
from mtagent.formats.wmt import Wmt25Export
from mtagent.jobs.inputs import companions, content_hashes, refuse_unwritable, same_file
from mtagent.jobs.rate import NO_TRANSLATION
from mtagent.records import Chain, Rated, Rating, Step, same_rater
from mtagent.store.runs import StoredRun
from mtagent.store.store import Store


def held_by(run: StoredRun, wanted: Sequence[str] = ()) -> Held:
    """What ``run`` holds of the ``wanted`` systems; all if none is named. The systems of a chain run are its stages.

    Raises :class:`mtagent.errors.ConfigError` for a system that is not there, :class:`OutputError` for an empty run.
    """
    rating = run.kind == "rating"
    systems = chosen(run.systems() if rating else systems_of(run.chains()), wanted, f"run {run.name!r}")

    def entries() -> Iterator[Entry]:
        if rating:
            return (_of_ratings(group, systems) for group in _by_segment(run.ratings()))
        return (_of_chain(chain, systems) for chain in run.chains())

    return Held(run.name, systems, entries, _survey(run.name, entries))


def ratings_of_texts(chain: Chain) -> list[tuple[str, Rating]]:
    """The ratings that the steps of ``chain`` hold, each with the text that it is about.

    A step holds the editor's rating of the text before it, and then the judge's of the texts before and after; where
    the judge is the editor, that of the text before stands once. What is not of this shape, and what is about a text
    that was rejected or that the user has taken edits back from, is left out.
    """
    found: list[tuple[str, Rating]] = []
    before = chain.segment.translation
    for step in chain.steps:
        if before is not None:
            found += _of_step(step, before)
        if _reverted(step):
            break
        before = step.text
    return found


def _of_step(step: Step, before: str) -> Iterator[tuple[str, Rating]]:
    editor = step.rating("editor")
    if editor is not None:
        yield before, editor
    judged = step.rating("before")
    if judged is not None and (editor is None or not same_rater(judged.signature, editor.signature)):
        yield before, judged
    after = step.rating("after")
    if after is not None and step.verdict == "kept" and not _reverted(step):
        yield step.text, after


def _reverted(step: Step) -> bool:
    return any(edit.outcome == "reverted" for edit in step.edits)


def _of_chain(chain: Chain, systems: Sequence[str]) -> Entry:
    texts = texts_of(chain, systems)
    by_text: dict[str, dict[tuple[str, str], Rating]] = {}
    for text, rating in ratings_of_texts(chain):
        by_text.setdefault(text, {}).setdefault((rating.evaluator, rating.signature), rating)
    rated = [
        Rated(segment=chain.segment, system=system, translation=text or "", rating=rating)
        for system, text in texts.items()
        for rating in (by_text.get(text, {}).values() if text is not None else ()) or (None,)
    ]
    return Entry(chain.segment, texts, tuple(rated))


def _by_segment(ratings: Iterable[Rated]) -> Iterator[list[Rated]]:
    """The ratings of each segment, which come one after the other, a system once."""
    group: list[Rated] = []
    for rated in ratings:
        if group and (rated.segment.id != group[0].segment.id or rated.system in {one.system for one in group}):
            yield group
            group = []
        group.append(rated)
    if group:
        yield group


def _of_ratings(group: Sequence[Rated], systems: Sequence[str]) -> Entry:
    by_system: Mapping[str, Rated] = {rated.system: rated for rated in group}
    rated = tuple(by_system[system] for system in systems if system in by_system)
    texts = dict.fromkeys(systems) | {one.system: _text(one) for one in rated}
    return Entry(group[0].segment, texts, rated)


def _text(rated: Rated) -> str | None:
    return None if rated.error == NO_TRANSLATION else rated.translation


def _survey(run: str, entries: Callable[[], Iterator[Entry]]) -> Survey:
    missing, broken, referenced, segments = [], [], Counter[str](), 0
    for segment, texts, _ in entries():
        segments += 1
        if None in texts.values():
            missing.append(segment.id)
        if any(has_break(text) for text in (segment.source, segment.reference, *texts.values()) if text):
            broken.append(segment.id)
        if segment.reference is not None:
            referenced[pair_name(segment)] += 1
    if not segments:
        raise OutputError(f"run {run!r}: there is no segment in it to export")
    return Survey(tuple(missing), tuple(broken), dict(referenced))


def has_break(text: str) -> bool:
    """Whether a program that reads ``text`` by lines would see more than one."""
    return "\n" in text or "\r" in text


_LEFTOVER = ".mtagent-*.tmp"


@dataclass(frozen=True)
class Target:
    """A file or folder to write. ``force`` allows it to be there already.

    ``inputs`` are the hashes of the files that the run was made from, ``store`` the file that holds it: these are never
    replaced.
    """

    path: Path
    force: bool
    inputs: frozenset[str]
    store: Path

    def refuse_taken_file(self) -> None:
        """Raise :class:`OutputError` where the file cannot be written, or must not."""
        refuse_unwritable(self.path)
        if any(same_file(self.path, file) for file in companions(self.store)):
            raise OutputError(f"{self.path}: is the store; give -o another name")
        if self.path != STANDARD and self.path.is_file():
            if not self.force:
                raise OutputError(f"{self.path}: is there already; --force replaces it")
            self._refuse_input(self.path)

    def refuse_taken_folder(self) -> None:
        """Raise :class:`OutputError` where the folder is not empty, or cannot be written."""
        if not self.path.is_dir():
            if self.path.exists():
                raise OutputError(f"{self.path}: is a file; name a folder")
            refuse_unwritable(self.path)
            return
        refuse_unwritable(self.path / "file")
        others = [entry for entry in self.path.iterdir() if not entry.match(_LEFTOVER)]
        if others and not self.force:
            raise OutputError(f"{self.path}: is not empty; --force writes into it and replaces files of the same name")

    @contextmanager
    def filled(self) -> Iterator[Path]:
        """A fresh folder, whose files come to their place when the block ends without an error."""
        there = self.path.is_dir()
        fresh = (self.path if there else self.path.parent) / f".mtagent-{secrets.token_hex(6)}.tmp"
        try:
            fresh.mkdir()
            yield fresh
            if there:
                self._merge(fresh)
            else:
                fresh.rename(self.path)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written: {(error.strerror or str(error)).lower()}") from error
        except OutputError as error:  # it names a file of the fresh folder
            raise OutputError(str(error).replace(str(fresh), str(self.path))) from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def left(self, written: int) -> int:
        """How many files there are in the folder besides those ``written``."""
        return sum(path.is_file() for path in self.path.rglob("*")) - written

    def _merge(self, fresh: Path) -> None:
        """Move the files into the folder that is there. All are looked at before the first one is moved."""
        files = {path: self.path / path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file()}
        for new, old in files.items():
            if old.is_dir():
                raise OutputError(f"{old}: is a folder; move it away")
            if old.is_file() and not filecmp.cmp(new, old, shallow=False):
                self._refuse_input(old)
        for old in files.values():
            old.parent.mkdir(parents=True, exist_ok=True)
        for new, old in files.items():
            new.replace(old)

    def _refuse_input(self, path: Path) -> None:
        if content_hashes({"output": path}, Config())["output"] in self.inputs:
            raise OutputError(f"{path}: the run was made from this file; give -o another name")


@dataclass(frozen=True)
class Stages:
    """``RUN.STAGE.txt``, a segment a line; ``RUN.STAGE.jsonl`` for all stages where any text has a line break."""

    name: str = "stages"
    folder: bool = True
    one_system: bool = False

    def write(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write one file per stage."""
        broken = held.survey.broken
        kind, end = (JSONL, ".jsonl") if broken else (Lines(), ".txt")
        names = mapped(held.systems, file_name, output)
        for system, name in names.items():
            kind.write(output / f"{file_name(held.run)}.{name}{end}", _results(held, system))
        why = (
            f"JSON Lines, for there are segments with a line break: {len(broken)} (first: {broken[0]!r})"
            if broken
            else ""
        )
        return (*([why] if why else []), *renamed(names))


def _results(held: Held, system: str) -> Iterator[Result]:
    return (Result(segment=entry.segment, text=entry.texts[system] or "") for entry in held.entries())


EXPORTS: dict[str, Export] = {own.name: own for own in (MtmeExport(), MarotExport(), Wmt25Export(), Stages())}
"""The exports by name."""


class ExportReport(NamedTuple):
    """What an export came to: remarks for the user, and the ids of the segments that lack a translation."""

    remarks: tuple[str, ...]
    missing: tuple[str, ...]


def export_run(
    store: Store,
    name: str,
    kind: Export,
    output: Path,
    *,
    systems: Sequence[str] = (),
    partial: bool = False,
    force: bool = False,
) -> ExportReport:
    """Write what the run ``name`` holds as ``kind``, the given ``systems`` or stages or all of them.

    Where there is room for one, it is by default the ``final`` one. ``partial`` allows a run that is not complete,
    ``force`` an output that is there already. Raises :class:`mtagent.errors.OutputError` and :class:`ConfigError`.
    """
    run = store.read(name)
    if not partial:
        refuse_incomplete(run)
    target = Target(output, force, stored_inputs(store, name), Path(store.database.path))
    (target.refuse_taken_folder if kind.folder else target.refuse_taken_file)()
    held = held_by(run, systems or ((FINAL,) if kind.one_system and run.kind == "chain" else ()))
    if kind.one_system and len(held.systems) != 1:
        raise ConfigError(f"{kind.name} holds one system a file: choose with --systems {'|'.join(held.systems)}")
    remarks = _written(kind, held, target)
    return ExportReport(remarks, held.survey.missing)


def stored_inputs(store: Store, name: str) -> frozenset[str]:
    """All that is stored about the inputs of the run ``name``, among them the hashes of its files."""
    return frozenset(_texts_in(store.run(name).inputs))


def _written(kind: Export, held: Held, target: Target) -> tuple[str, ...]:
    if not kind.folder:
        remarks = kind.write(held, target.path)
        return remarks if target.path == STANDARD else (*remarks, f"written: {target.path}")
    with target.filled() as folder:
        remarks = kind.write(held, folder)
        written = sum(path.is_file() for path in folder.rglob("*"))
    others = target.left(written)
    left = (f"other files in {target.path}, left as they are: {others}",) if others else ()
    return (*remarks, *left, f"written: {target.path} ({written} files)")


def refuse_incomplete(run: StoredRun) -> None:
    """Raise :class:`ConfigError` where segments are missing at the end of ``run``."""
    counts = run.counts()
    tried = counts.done + counts.failed
    if counts.total is not None and tried < counts.total:
        raise ConfigError(
            f"run {run.name!r}: only {tried} of {counts.total} segments were tried: the command that began it goes on "
            "with it; --partial exports what there is"
        )


def _texts_in(inputs: object) -> Iterator[str]:
    """All texts in the stored description of the inputs, among them the hashes of the files."""
    if isinstance(inputs, str):
        yield inputs
    parts: Sequence[Any] = list(inputs.values()) if isinstance(inputs, Mapping) else []
    for part in inputs if isinstance(inputs, list) else parts:
        yield from _texts_in(part)
