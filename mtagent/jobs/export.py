"""What a run holds, written again: in its own form, or in that of another tool (:data:`mtagent.formats.EXPORTS`)."""

from __future__ import annotations

import filecmp
import itertools
import json
import secrets
import shutil
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mtagent import formats
from mtagent.chain.decided_run import DecidedRun
from mtagent.config import Config
from mtagent.errors import ConfigError, OutputError
from mtagent.formats import Export
from mtagent.formats.exports import RunTexts, SegmentTexts
from mtagent.formats.files import STANDARD, spooled_copies
from mtagent.formats.ratings import FINAL, REVIEWED, chosen, ratings_of_texts, systems_of, texts_of
from mtagent.jobs.improve import write_outputs
from mtagent.jobs.inputs import Files, content_hashes
from mtagent.jobs.outputs import (
    RatingOutput,
    belongs_to,
    refuse_overwriting,
    refuse_unwritable,
    refuse_unwritable_texts,
    same_file,
)
from mtagent.jobs.rate import NO_TRANSLATION, write_ratings
from mtagent.records import Chain, Rated, Rating
from mtagent.store.runs import StoredRun
from mtagent.store.store import Store


def texts_of_run(store: Store, name: str, wanted: Sequence[str] = ()) -> RunTexts:
    """What a run holds of the ``wanted`` systems; all if none is named. The systems of a chain run are its stages.

    Raises :class:`mtagent.errors.ConfigError` for a system that is not there, :class:`OutputError` for an empty run.
    """
    run = store.read(name)
    decided_run = None if run.kind == "rating" else DecidedRun(store, name)
    there = run.systems() if decided_run is None else systems_of(decided_run.chains())
    systems = chosen(there, wanted, f"run {name!r}")

    def segments() -> Iterator[SegmentTexts]:
        return _of_ratings(run.ratings(), systems) if decided_run is None else _of_chains(decided_run.chains(), systems)

    return RunTexts.read(name, systems, segments)


def _of_chains(chains: Iterable[Chain], systems: Sequence[str]) -> Iterator[SegmentTexts]:
    for chain in chains:
        texts = texts_of(chain, systems)
        by_text: dict[str | None, dict[tuple[str, str], Rating]] = defaultdict(dict)
        for text, rating in ratings_of_texts(chain):
            by_text[text].setdefault((rating.evaluator, rating.signature), rating)
        rated = [
            Rated(segment=chain.segment, system=system, translation=text or "", rating=rating)
            for system, text in texts.items()
            for rating in by_text[text].values() or (None,)
        ]
        yield SegmentTexts(chain.segment, texts, tuple(rated))


def _of_ratings(ratings: Iterable[Rated], systems: Sequence[str]) -> Iterator[SegmentTexts]:
    """The ratings of a segment come one after the other, a system once; another segment may have the same id."""
    group: dict[str, Rated] = {}
    for rated in itertools.chain(ratings, (None,)):
        first = next(iter(group.values()), None)
        if first and (rated is None or rated.segment.id != first.segment.id or rated.system in group):
            own = tuple(group[system] for system in systems if system in group)
            texts = {item.system: None if item.error == NO_TRANSLATION else item.translation for item in own}
            yield SegmentTexts(first.segment, dict.fromkeys(systems) | texts, own)
            group = {}
        if rated is not None:
            group[rated.system] = rated


@dataclass(frozen=True)
class Target:
    """A file or folder to write. ``force`` allows it to be there already.

    ``inputs`` holds the hashes of the files that the run was made from, ``store`` is the file that holds the run: these
    are never replaced.
    """

    path: Path
    force: bool
    inputs: Container[str]
    store: Path

    def refuse_taken_file(self) -> None:
        """Raise :class:`OutputError` where the file cannot be written, or must not."""
        refuse_unwritable(self.path)
        if belongs_to(self.path, self.store):
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
        if not self.force and not all(entry.match(".mtagent-*.tmp") for entry in self.path.iterdir()):
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


class ExportReport(NamedTuple):
    """What an export came to: remarks for the user, and the ids of the segments that lack a translation."""

    remarks: tuple[str, ...]
    missing: tuple[str, ...]


def export_run(
    store: Store,
    name: str,
    form: Export,
    output: Path,
    *,
    systems: Sequence[str] = (),
    partial: bool = False,
    force: bool = False,
) -> ExportReport:
    """Write what the run ``name`` holds in ``form``, the given ``systems`` or stages or all of them.

    Where there is room for one, it is by default the ``reviewed`` one, or the ``final`` one if nobody decided.
    ``partial`` allows a run that is not complete,
    ``force`` an output that is there already. Raises :class:`mtagent.errors.OutputError` and :class:`ConfigError`.
    """
    run = _stored_run(store, name, partial)
    target = Target(output, force, stored_inputs(store, name), Path(store.database.path))
    (target.refuse_taken_folder if form.folder else target.refuse_taken_file)()
    last = REVIEWED if run.kind == "chain" and store.decisions(name) else FINAL
    texts = texts_of_run(store, name, systems or ((last,) if form.one_system and run.kind == "chain" else ()))
    if form.one_system and len(texts.systems) != 1:
        raise ConfigError(f"{form.name} holds one system a file: choose with --systems {'|'.join(texts.systems)}")
    if not form.folder:
        return ExportReport((*form.export(texts, output), *_written(output)), texts.missing)
    with target.filled() as folder:
        remarks = form.export(texts, folder)
        written = sum(path.is_file() for path in folder.rglob("*"))
    others = sum(path.is_file() for path in output.rglob("*")) - written
    left = (f"other files in {output}, left as they are: {others}",) if others else ()
    return ExportReport((*remarks, *left, f"written: {output} ({written} files)"), texts.missing)


def export_own(
    store: Store,
    name: str,
    output: Path,
    *,
    format_name: str | None = None,
    details: Path | None = None,
    like: Path | None = None,
    only_approved: bool = False,
    partial: bool = False,
    force: bool = False,
) -> ExportReport:
    """Write the run's own output again: the improved texts, in the form of ``like``, and the details; or the ratings.

    Where people decided, their text is written. With ``only_approved`` a segment that nobody approved has the text
    that was given: no edit leaves that a person has not seen.
    ``partial`` allows a run that is not complete, ``force`` outputs that are there already. Raises
    :class:`mtagent.errors.OutputError` and :class:`ConfigError`.
    """
    run, inputs = _stored_run(store, name, partial), stored_inputs(store, name)
    ratings = RatingOutput(output, format_name) if run.kind == "rating" else None
    if ratings and (details or like or only_approved):
        raise ConfigError(f"run {name!r} holds ratings: --details, --like and --only are for runs with texts")
    if same_file(output, details):
        raise ConfigError(f"{output}: texts and details cannot both go to one file")
    for path in ratings.paths if ratings else filter(None, (output, details)):
        Target(path, force, inputs, Path(store.database.path)).refuse_taken_file()
    if ratings:
        _, remarks = write_ratings(run, ratings)
        return ExportReport((*remarks, *_written(*ratings.paths)), ())
    if like:
        refuse_overwriting([details], {"--like": like})
    files = Files(source=like or output, output=output, details=details)
    refuse_unwritable_texts(output, details)
    form = formats.by_path(like or output, format_name or ("lines" if output == STANDARD and like is None else None))
    by_name = formats.by_suffix(output, formats.FORMATS) or form
    if like and format_name is None and by_name.name != form.name:
        raise ConfigError(
            f"{output}: is {by_name.name}, and --like {like} is {form.name}: leave out --like, or rename -o"
        )
    decided_run = DecidedRun(store, name)

    def approved_chains() -> Iterator[Chain]:
        for _, result in decided_run.segments():
            chain = result.reviewed_chain
            yield chain if result.approved else chain.model_copy(update={"reviewed": chain.given or ""})

    with spooled_copies({"--like": like} if like else {}) as copies:
        chains = approved_chains if only_approved else decided_run.chains
        write_outputs(chains, form, files, like=copies.get("--like"))
    remarks = ()
    if only_approved:
        states = [result.approved for _, result in decided_run.segments()]
        remarks = (f"approved: {sum(states)} of {len(states)} segments; the others have the text that was given",)
    missing = tuple(chain.segment.id for chain in decided_run.chains() if chain.given is None and not chain.reviewed)
    return ExportReport((*remarks, *_written(output, details)), missing)


def _stored_run(store: Store, name: str, partial: bool) -> StoredRun:
    """The run ``name``. Raises :class:`ConfigError` where segments are missing at its end, unless ``partial``."""
    run = store.read(name)
    counts = run.counts()
    tried = counts.done + counts.failed
    if not partial and counts.total is not None and tried < counts.total:
        raise ConfigError(
            f"run {run.name!r}: only {tried} of {counts.total} segments were tried: the command that began it goes on "
            "with it; --partial exports what there is"
        )
    return run


def _written(*paths: Path | None) -> tuple[str, ...]:
    files = [str(path) for path in paths if path not in (None, STANDARD)]
    return (f"written: {', '.join(files)}",) if files else ()


def stored_inputs(store: Store, name: str) -> str:
    """What is stored about the inputs of the run ``name``, as JSON: the hashes of its files are in it."""
    return json.dumps(store.run(name).inputs)
