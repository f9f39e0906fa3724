"""Export of stored runs: as their own output, or in the form of another tool (:data:`mtagent.formats.EXPORTS`)."""

from __future__ import annotations

import filecmp
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
from mtagent.chain.decided_text import DecidedRun
from mtagent.config import Config
from mtagent.errors import ConfigError, OutputError
from mtagent.formats import Export
from mtagent.formats.exports import RunTexts, SegmentTexts
from mtagent.formats.files import STANDARD, spooled_copies
from mtagent.formats.jsonl import write_details
from mtagent.formats.localization import LocalizationFiles
from mtagent.formats.ratings import FINAL, REVIEWED, chosen, ratings_of_texts, systems_of, texts_of
from mtagent.jobs.inputs import content_hashes
from mtagent.jobs.outputs import (
    RatingOutput,
    belongs_to,
    refuse_existing,
    refuse_overwriting,
    refuse_unwritable,
    refuse_unwritable_texts,
    same_file,
)
from mtagent.jobs.rate import NO_TRANSLATION, write_ratings
from mtagent.records import Chain, Rated, Rating
from mtagent.store.runs import StoredRun
from mtagent.store.store import Store


def texts_of_run(store: Store, name: str, system_names: Sequence[str] = ()) -> RunTexts:
    """The texts of a run and their ratings, of the systems named or of all. The systems of a chain run are its stages.

    Raises :class:`mtagent.errors.ConfigError` for an unknown system, :class:`OutputError` for an empty run.
    """
    run = store.read(name)
    if run.kind == "rating":
        systems = chosen(run.systems(), system_names, f"run {name!r}")
        return RunTexts.read(name, systems, lambda: _of_ratings(run.ratings(), systems))
    decided_run = DecidedRun(store, name)
    systems = chosen(systems_of(decided_run.chains(dialogues=False)), system_names, f"run {name!r}")
    return RunTexts.read(name, systems, lambda: _of_chains(decided_run.chains(dialogues=False), systems))


def _of_chains(chains: Iterable[Chain], systems: Sequence[str]) -> Iterator[SegmentTexts]:
    for chain in chains:
        texts = texts_of(chain, systems)
        by_text: dict[str | None, dict[tuple[str, str], Rating]] = defaultdict(dict)
        for rated_text, rating in ratings_of_texts(chain):
            by_text[rated_text].setdefault((rating.evaluator, rating.signature), rating)
        rated: list[Rated] = []
        for system, text in texts.items():
            ratings: list[Rating | None] = [*by_text[text].values()]
            for text_rating in ratings or [None]:  # an unrated text is exported, too
                rated.append(Rated(segment=chain.segment, system=system, translation=text or "", rating=text_rating))
        yield SegmentTexts(chain.segment, texts, tuple(rated))


def _of_ratings(ratings: Iterable[Rated], systems: Sequence[str]) -> Iterator[SegmentTexts]:
    """Group ratings by segment. The next segment may have the same id; then a system comes for the second time."""
    by_system: dict[str, Rated] = {}
    for rated in ratings:
        first = next(iter(by_system.values()), None)
        if first and (rated.segment.id != first.segment.id or rated.system in by_system):
            yield _segment_texts(by_system, systems)
            by_system = {}
        by_system[rated.system] = rated
    if by_system:
        yield _segment_texts(by_system, systems)


def _segment_texts(by_system: dict[str, Rated], systems: Sequence[str]) -> SegmentTexts:
    texts: dict[str, str | None] = dict.fromkeys(systems)
    ratings = []
    for system in systems:
        if system not in by_system:
            continue
        rated = by_system[system]
        ratings.append(rated)
        if rated.error != NO_TRANSLATION:
            texts[system] = rated.translation
    return SegmentTexts(next(iter(by_system.values())).segment, texts, tuple(ratings))


@dataclass(frozen=True)
class Target:
    """A file or folder to write. The run's inputs and the store are never replaced."""

    path: Path
    force: bool  # may replace an existing file, or write into a folder that isn't empty
    inputs: Container[str]  # hashes of the files that the run was made from
    store: Path  # the file that holds the run
    written: Container[str] = ()  # resolved paths that the run wrote; where it changed nothing they equal an input

    def refuse_taken_file(self) -> None:
        """Raise :class:`OutputError` if the file cannot be written, or must not be."""
        refuse_unwritable(self.path)
        if belongs_to(self.path, self.store):
            raise OutputError(f"{self.path}: is the store; give -o another name")
        if not self.force:
            refuse_existing([self.path])
        is_own_output = str(self.path.resolve()) in self.written
        if self.path != STANDARD and self.path.is_file() and not is_own_output:
            self._refuse_input(self.path)

    def refuse_taken_folder(self) -> None:
        """Raise :class:`OutputError` if the folder isn't empty, or cannot be written."""
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
        """Yield a new folder, whose files are moved to their place when the block ends without an error."""
        exists = self.path.is_dir()
        fresh = (self.path if exists else self.path.parent) / f".mtagent-{secrets.token_hex(6)}.tmp"
        try:
            fresh.mkdir()
            yield fresh
            if exists:
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
        """Move the files into the existing folder. All are checked before the first one is moved."""
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
    """The result of an export."""

    remarks: tuple[str, ...]
    """Sentences for the user."""
    missing: tuple[str, ...]
    """The ids of the segments without a translation."""


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
    """Write the texts and ratings of the run ``name`` in ``form``, of the given ``systems`` (or stages) or of all.

    If a format has room for one stage, the default is ``reviewed``, or ``final`` if nobody decided. ``partial`` allows
    an incomplete run, ``force`` an existing output. Raises :class:`mtagent.errors.OutputError` and
    :class:`ConfigError`.
    """
    run = _stored_run(store, name, partial)
    target = Target(output, force, stored_inputs(store, name), Path(store.database.path))
    if form.folder:
        target.refuse_taken_folder()
    else:
        target.refuse_taken_file()
    if not systems and form.one_system and run.kind == "chain":
        systems = (REVIEWED,) if store.decisions(name) else (FINAL,)
    texts = texts_of_run(store, name, systems)
    if form.one_system and len(texts.systems) != 1:
        raise ConfigError(f"{form.name} holds one system; choose it with --systems {'|'.join(texts.systems)}")
    if not form.folder:
        return ExportReport((*form.export(texts, output), *_written(output)), texts.missing)
    with target.filled() as folder:
        remarks = [*form.export(texts, folder)]
        written = sum(path.is_file() for path in folder.rglob("*"))
    others = sum(path.is_file() for path in output.rglob("*")) - written
    if others:
        remarks.append(f"other files in {output}, which were not changed: {others}")
    remarks.append(f"written: {output} ({written} files)")
    return ExportReport(tuple(remarks), texts.missing)


def export_own(
    store: Store,
    name: str,
    output: Path,
    *,
    format_name: str | None = None,
    details: Path | None = None,
    like: Path | None = None,
    sources: Path | None = None,
    only_approved: bool = False,
    partial: bool = False,
    force: bool = False,
) -> ExportReport:
    """Write the run's own output again: the improved texts, in the form of ``like``, and the details; or the ratings.

    ``sources`` is the file or folder with the sources of ``like``, if such files have one language each.

    People's decisions are applied. With ``only_approved``, segments that nobody approved get the given text, so that
    the output has no edit that nobody has seen. ``partial`` allows an incomplete run, ``force`` existing outputs.
    Raises :class:`mtagent.errors.OutputError` and :class:`ConfigError`.
    """
    run, inputs = _stored_run(store, name, partial), stored_inputs(store, name)
    ratings = RatingOutput(output, format_name) if run.kind == "rating" else None
    if ratings and (details or like or sources or only_approved):
        raise ConfigError(f"run {name!r} holds ratings: --details, --like, -s and --only are for runs with texts")
    if same_file(output, details):
        raise ConfigError(f"{output}: texts and details cannot both go to one file")
    for path in ratings.paths if ratings else filter(None, (output, details)):
        target = Target(path, force, inputs, Path(store.database.path), store.outputs(name))
        target.refuse_taken_file()
    if ratings:
        _, remarks = write_ratings(run, ratings)
        return ExportReport((*remarks, *_written(*ratings.paths)), ())
    if like:
        refuse_overwriting([details], {"--like": like})
    if sources:
        refuse_overwriting([output, details], {"-s": sources})
    refuse_unwritable_texts(output, details)
    decided_run = DecidedRun(store, name)
    form = _own_format(output, like, sources, format_name, decided_run)
    with spooled_copies({"--like": like} if like else {}) as copies:
        results = _approved_results(decided_run) if only_approved else decided_run.results()
        form.write(output, results, copies.get("--like"))
        if details is not None:
            write_details(
                details, _approved_chains(decided_run) if only_approved else decided_run.chains(dialogues=False)
            )
    remarks = ()
    if only_approved:
        remarks = (_approved_remark(decided_run),)
    missing = []
    for result in decided_run.results():
        if result.segment.translation is None and not result.text:
            missing.append(result.segment.id)
    return ExportReport((*remarks, *_written(output, details)), tuple(missing))


def _own_format(
    output: Path, like: Path | None, sources: Path | None, format_name: str | None, decided_run: DecidedRun
) -> formats.Format:
    """The format of ``output``: the named one, that of ``like``, or the one that its name tells.

    Raises :class:`ConfigError` if the names of ``output`` and ``like`` tell different ones, and for ``sources`` of a
    format that has none.
    """
    document_form = formats.by_suffix(like, formats.DOCUMENTS) if like else None
    if like and document_form:
        if format_name is not None:
            raise ConfigError(f"--format {format_name}: leave it out, since --like {like} tells the format")
        target_langs = {result.segment.target_lang for result in decided_run.results()}
        target_lang = target_langs.pop() if len(target_langs) == 1 else None
        return LocalizationFiles((like,), (document_form,), sources=sources, target_lang=target_lang)
    if sources:
        raise ConfigError(f"-s {sources}: is for localization files with one language each; name one with --like")
    if format_name is None and like is None and output == STANDARD:
        format_name = "lines"
    form = formats.by_path(like or output, format_name)
    by_name = formats.by_suffix(output, formats.FORMATS) or form
    if like and format_name is None and by_name.name != form.name:
        raise ConfigError(
            f"{output}: is {by_name.name}, and --like {like} is {form.name}: leave out --like, or rename -o"
        )
    return form


def _approved_remark(decided_run: DecidedRun) -> str:
    """How many segments people approved, also of the edited ones, which the review counts."""
    total = edited = others = 0
    for _, result in decided_run.segments():
        total += 1
        if result.approved and result.chain.state in ("changed", "rejected"):
            edited += 1
        elif result.approved:
            others += 1
    kinds = f" ({edited} edited, {others} not edited)" if others else ""
    return f"approved: {edited + others} of {total} segments{kinds}; the others have the text that was given"


def _approved_chains(decided_run: DecidedRun) -> Iterator[Chain]:
    """The chains, with the given text where nobody approved the segment."""
    for _, result in decided_run.segments():
        chain = result.reviewed_chain
        if not result.approved:
            chain = chain.model_copy(update={"reviewed": chain.given or ""})
        yield chain


def _approved_results(decided_run: DecidedRun) -> Iterator[formats.Result]:
    for chain in _approved_chains(decided_run):
        text = chain.text if chain.reviewed is None else chain.reviewed
        yield formats.Result(segment=chain.segment, text=text)


def _stored_run(store: Store, name: str, partial: bool) -> StoredRun:
    """The run ``name``. Raises :class:`ConfigError` where segments are missing at its end, unless ``partial``."""
    run = store.read(name)
    counts = run.counts()
    tried = counts.done + counts.failed
    if not partial and counts.total is not None and tried < counts.total:
        raise ConfigError(
            f"run {run.name!r}: is incomplete, with {tried} of {counts.total} segments; run its command again to "
            "complete it, or export the finished part with --partial"
        )
    return run


def _written(*paths: Path | None) -> tuple[str, ...]:
    files = [str(path) for path in paths if path not in (None, STANDARD)]
    return (f"written: {', '.join(files)}",) if files else ()


def stored_inputs(store: Store, name: str) -> str:
    """The stored description of the inputs of the run ``name``, as JSON, which contains the hashes of its files."""
    return json.dumps(store.run(name).inputs)
