"""Localization files as segments: the units to work on are read, and better targets are written into the same bytes.

:class:`LocalizationFiles` is the :class:`mtagent.formats.Format` of one or several such files, which share a run.
"""

from __future__ import annotations

import logging
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.formats.documents import (
    DocumentFormat,
    LocalizationFile,
    PluralForm,
    TranslationUnit,
    UnitMark,
    fault,
    mark_fault,
    replaced,
    selected,
    shown_id,
)
from mtagent.formats.files import STANDARD, replacing, sha256
from mtagent.formats.lock import Lock, LockedHashes, hashes_of
from mtagent.formats.monolingual import language_in_path
from mtagent.formats.segments import NO_DEFAULTS, Result, SegmentDefaults, segment
from mtagent.formats.tmx import MemoryEntry
from mtagent.records import ErrorSpan, Segment
from mtagent.text import languages, scripts
from mtagent.text.plurals import plural_forms, rule_examples
from mtagent.text.table import Table

logger = logging.getLogger("mtagent.formats")

_PROTECTED = "locked, approved or written by people"
_NOT_SELECTED = "not selected"
_WITHOUT_TEXT = "no source text"
_DONE = "done before, by the lock file"
_EDITED = "edited by people since the lock file was written"
_NOTHING_TRANSLATES = "no target, and no model or MT system to translate with"
_WILDCARDS = "*?["


WhyUnusable = Callable[[Segment, str], str | None]
"""``why(segment, text)``: why a text must not be a target, as the end of a sentence; ``None`` if it may be one."""


class NamedFile(NamedTuple):
    """A file that the user named, by its name, a folder or a pattern."""

    path: Path
    root: Path
    """The folder from which its place in an output folder is seen."""


def named_files(names: Sequence[str], forms: Mapping[str, DocumentFormat]) -> list[NamedFile]:
    """The files that ``names`` stand for: files, folders with all below them, and patterns such as ``i18n/**/*.po``.

    Each comes once. Folders give files in ``forms``; templates (``.pot``) must be named. What is hidden, such as
    ``.venv``, is left out of folders, and of patterns that don't name something hidden, as in shells. Raises
    :class:`InputError` for a name that stands for nothing.
    """
    files: dict[Path, NamedFile] = {}
    single = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            found = [NamedFile(file, path) for file in _in_folder(path, forms)]
            missing = "this folder has no localization files"
        elif not path.exists() and any(sign in name for sign in _WILDCARDS):
            root = _fixed_part(path)
            pattern = path.relative_to(root)
            matches = sorted(root.glob(str(pattern)))
            names_hidden = _is_hidden(pattern)
            found = [
                NamedFile(match, root)
                for match in matches
                if match.is_file() and (names_hidden or not _is_hidden(match.relative_to(root)))
            ]
            missing = "no file has such a name"
        elif not path.exists():
            raise InputError(f"{name}: no such file or directory")
        else:
            found = [NamedFile(path, path.parent)]
            single.append(path)
            missing = ""
        if not found:
            raise InputError(f"{name}: {missing}")
        for file in found:
            files.setdefault(file.path.resolve(), file)
    if len(single) > 1:  # de/app.po and fr/app.po stay apart
        common = Path(os.path.commonpath([path.absolute().parent for path in single]))
        for path in single:
            if files[path.resolve()].path == path:
                files[path.resolve()] = NamedFile(path, common)
    return list(files.values())


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _in_folder(folder: Path, forms: Mapping[str, DocumentFormat]) -> Iterator[Path]:
    suffixes = tuple(suffix for form in forms.values() for suffix in form.suffixes if suffix != ".pot")
    paths = []
    for parent, folders, names in os.walk(folder):  # goes on if a folder disappears meanwhile
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith(".") and name.casefold().endswith(suffixes):
                paths.append(Path(parent, name))
    yield from (path for path in sorted(paths) if path.is_file())


def _fixed_part(pattern: Path) -> Path:
    """The folder before the first wildcard."""
    parts = []
    for part in pattern.parts[:-1]:
        if any(sign in part for sign in _WILDCARDS):
            break
        parts.append(part)
    return Path(*parts)


class KeptTarget(NamedTuple):
    """A unit that stays as it is, because its new text cannot be written."""

    path: Path
    line: int
    segment_id: str
    reason: str

    def __str__(self) -> str:
        unit_id = self.segment_id.removeprefix(f"{self.path}#")
        return f"{self.path}:{self.line}: {shown_id(unit_id)} is not changed: the new target {self.reason}"


@dataclass
class Written:
    """What became of the units of a run."""

    files: int = 0
    units: int = 0
    changed: int = 0
    untranslated: int = 0
    """Units of the run that had no target and got none."""
    kept: list[KeptTarget] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    """How many units weren't in the run, by the reason."""


class StaleUnits(NamedTuple):
    """The units that aren't as the lock file has them: ``file:line`` and id of each."""

    places: list[str]
    untranslatable: int
    """How many of them have no target, and nothing translates them."""
    unwritable: int
    """How many of them have no target, because their file could not hold the new one."""


class _KeptDocument(NamedTuple):
    document: LocalizationFile
    hashes: list[str]  # of its file, and of the file with its sources


class OpenDocuments:
    """The documents that a run has read; one is read again only if its file, or the file with its sources, has changed.

    The first ones are kept, up to ``most_kept`` bytes of memory in all, and one of any size.
    """

    def __init__(self, most_kept: int = 400 * 2**20) -> None:
        self._memory_left = most_kept
        self._kept: dict[tuple[Path, Path | None, str | None], _KeptDocument] = {}

    def open(self, form: DocumentFormat, path: Path, source: Path | None, target_lang: str | None) -> LocalizationFile:
        """What ``form.open`` returns for the bytes that the files have now."""
        hashes = [sha256(file) for file in _files_behind(path, source)]
        key = (path, source, target_lang)
        kept = self._kept.get(key)
        if kept is not None and kept.hashes == hashes:
            return kept.document
        if kept is not None:
            self._memory_left += _memory_of(self._kept.pop(key).document)
        document = form.open(path, source, target_lang)
        if not self._kept or _memory_of(document) <= self._memory_left:
            self._kept[key] = _KeptDocument(document, hashes)
            self._memory_left -= _memory_of(document)
        return document


def _memory_of(document: LocalizationFile) -> int:
    """The bytes that a document takes, roughly: those of 100,000 PO messages take 340 MB."""
    return len(document.data) + 3500 * len(document.units)


def _files_behind(path: Path, source: Path | None) -> list[Path]:
    """The file of a document, and the file with its sources, if there are such files."""
    files = [path]
    if source is not None:
        files.append(source / path.name if source.is_dir() else source)
    return [file for file in files if file.is_file()]


@dataclass(frozen=True)
class LocalizationFiles:
    """Reads the units to work on from all of ``paths``, in their order. An empty target counts as none.

    Units that aren't :func:`selected` are left out, and so is what ``lock`` has as done or edited by people.
    """

    paths: tuple[Path, ...]
    forms: tuple[DocumentFormat, ...]
    """The format of each file."""
    lock: Lock | None = None
    force_edited: bool = False
    """Also work on targets that people have edited since."""
    translates: bool = True
    """Whether a unit without a target gets one; otherwise it is left out."""
    only: frozenset[str] = frozenset()
    not_: frozenset[str] = frozenset()
    marks: tuple[UnitMark, ...] = ()
    """How new targets are marked in their files."""
    sources: Path | None = None
    """The file or folder with the source texts of files that have one language each."""
    target_lang: str | None = None
    """The language to take from a file of several, and of a file that names none."""
    other_languages: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Notes with the translation into other languages, by id and source."""
    remembered: frozenset[tuple[Path, str]] = frozenset()
    """Units, by file and id, that get a target from a translation memory although nothing translates."""
    documents: OpenDocuments = field(default_factory=OpenDocuments, compare=False)
    name: str = "localization files"
    suffixes: tuple[str, ...] = ()

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield a segment for each unit to work on; with several files, ids begin with the file's name and ``#``.

        Raises :class:`InputError` for a file without a language, if ``defaults`` have none, and for one whose target
        language isn't that of the ``defaults``.
        """
        for document, unit, reason in self.examined():
            if reason is None:
                yield self.segment_of(document, unit, defaults)

    def examined(self) -> Iterator[tuple[LocalizationFile, TranslationUnit, str | None]]:
        """All units of all files, and why a unit isn't worked on; ``None`` if it is."""
        for path, form in zip(self.paths, self.forms, strict=True):
            document = self.documents.open(form, path, self.sources, self.target_lang)
            selected_ids = {unit.id for unit in selected(document.units, self.only, self.not_)}
            for unit in document.units:
                yield document, unit, self._reason_to_skip(path, unit, selected_ids)

    def _reason_to_skip(self, path: Path, unit: TranslationUnit, selected_ids: Collection[str]) -> str | None:
        """Why a unit isn't worked on; ``None`` if it is."""
        if unit.id not in selected_ids:
            return _PROTECTED if unit.protected else _NOT_SELECTED
        if not unit.source.strip():
            return _WITHOUT_TEXT
        if self.lock is not None:
            standing = self.lock.standing(path, unit)
            if standing == "done":
                return _DONE
            if standing == "edited" and not self.force_edited:
                return _EDITED
        if not self.translates and _target_of(unit) is None and (path, unit.id) not in self.remembered:
            return _NOTHING_TRANSLATES
        return None

    def untranslatable(self, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[tuple[Path, str, Segment]]:
        """The units that are left out because nothing translates them: file, id and segment."""
        for document, unit, reason in self.examined():
            if reason == _NOTHING_TRANSLATES:
                yield document.path, unit.id, self.segment_of(document, unit, defaults)

    def refuse_untranslated(self, *, any_of_them: bool) -> None:
        """Raise :class:`ConfigError` if nothing translates the units without a target, and all units lack one.

        ``any_of_them``: also if only some do.
        """
        if self.translates:
            return
        first: TranslationUnit | None = None
        for document, unit, reason in self.examined():
            if reason == _NOTHING_TRANSLATES and first is None:
                first, path = unit, document.path
            elif reason in (None, _DONE, _EDITED) and not any_of_them:
                return
        if first is not None:
            raise ConfigError(
                f"{path}:{first.line}: {shown_id(first.id)} has no target, and there is nothing to translate with: set "
                "OPENAI_API_KEY, --base-url, --llm local or --translator, so that the stage translate makes one; "
                "if the file has one language, name the file of its sources with -s"
            )

    def approved(self, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[MemoryEntry]:
        """The locked and approved units that aren't worked on, as entries of a translation memory."""
        for document, unit, reason in self.examined():
            target = _target_of(unit)
            if reason is None or not unit.protected or target is None:
                continue
            # A target like its source is mostly of a unit that isn't to be translated.
            if target != unit.source and unit.source.strip():
                segment = self.segment_of(document, unit, defaults)
                origin = f"{document.path}:{unit.line}"
                yield MemoryEntry(unit.source, target, segment.source_lang, segment.target_lang, origin)

    def tally(self) -> Table:
        """The number of units by file and state, and which of them are worked on."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for document, unit, reason in self.examined():
            counts[str(document.path), unit.state or "–", "yes" if reason is None else f"no: {reason}"] += 1
        rows = [(*row, f"{count:,}") for row, count in counts.items()]
        return Table("units", ("file", "state", "worked on", "units"), tuple(rows), labels=3)

    def stale(self) -> StaleUnits:
        """The units that are new or changed, or that have no target."""
        places = []
        untranslatable = unwritable = 0
        for document, unit, reason in self.examined():
            is_unwritable = reason == _DONE and _target_of(unit) is None
            if reason in (None, _NOTHING_TRANSLATES) or is_unwritable:
                places.append(f"{document.path}:{unit.line}: {shown_id(unit.id)}")
                untranslatable += reason == _NOTHING_TRANSLATES
                unwritable += is_unwritable
        return StaleUnits(places, untranslatable, unwritable)

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write the only file, with the texts of its units, to ``path``; returns how many units have a text.

        A text that the file cannot hold is left out, with a warning. Raises :class:`OutputError` without results for
        the file.
        """
        results = list(results)
        if results and not _of_file(self.paths[0], _by_document(results)):
            documents = sorted({str(result.segment.document) for result in results})
            raise OutputError(f"{self.paths[0]}: has none of the run's texts, which are of {', '.join(documents)}")
        written = self.replace_targets({self.paths[0]: path}, results)
        for kept in written.kept:
            logger.warning("%s", kept)
        return written.units - sum(written.skipped.values())

    def replace_targets(
        self,
        outputs: Mapping[Path, Path],
        results: Iterable[Result],
        *,
        failed: Iterable[str] = (),
        backup: bool = False,
        after_run: bool = False,
        why_unusable: WhyUnusable = lambda segment, text: None,
        errors: Mapping[str, tuple[ErrorSpan, ...]] | None = None,
    ) -> Written:
        """Write each file, with the texts of its units, to its output, and update the lock file.

        A text that the file cannot hold is left out, and the unit keeps its target. ``failed`` are the segments to try
        again in the next run. ``backup``: what is replaced stays as ``FILE.bak``. ``after_run``: a unit that was edited
        since it was read keeps its target, too. ``why_unusable``: further reasons to leave a text out. ``errors`` are
        those left in each segment, by id, for marks of ITS.
        """
        by_document = _by_document(results)
        written = Written()
        failed = frozenset(failed)
        for path, form in zip(self.paths, self.forms, strict=True):
            results_of_file = _of_file(path, by_document)
            try:
                document = self.documents.open(form, path, self.sources, self.target_lang)
            except InputError as error:
                if not after_run:
                    raise
                reason = f"is not written, because the file was changed meanwhile: {error}"
                written.kept += [KeptTarget(path, 1, segment_id, reason) for segment_id in results_of_file]
                continue
            results_by_id = _by_unit(document, results_of_file)
            targets = self._targets(document, results_by_id, written, why_unusable, after_run=after_run)
            for segment_id in results_of_file.keys() - {result.segment.id for result in results_by_id.values()}:
                written.kept.append(KeptTarget(path, 1, segment_id, "has no place: the file has no such unit any more"))
            marks = {unit_id: self._marks_of(results_by_id[unit_id], errors or {}) for unit_id in targets}
            data = replaced(document, targets, marks, only=self.only, not_=self.not_)
            output = outputs[path]
            if output != STANDARD:
                output.parent.mkdir(parents=True, exist_ok=True)
            if backup and data != document.data:
                with replacing(path.with_name(f"{path.name}.bak")) as sink:
                    sink.write_bytes(document.data)
            if output != path or data != document.data:
                with replacing(output) as sink:
                    sink.write_bytes(data)
            written.files += 1
            self._note(document, targets, results_by_id, failed)
            if self.lock is not None and targets:  # at once: otherwise a new target may look like a person's
                self.lock.write()
        if self.lock is not None:
            self.lock.write()
        return written

    def _targets(
        self,
        document: LocalizationFile,
        results: Mapping[str, Result],
        written: Written,
        why_unusable: WhyUnusable,
        *,
        after_run: bool,
    ) -> dict[str, str]:
        """The new targets by id; what is not written is counted in ``written``."""
        targets = {}
        selected_ids = {unit.id for unit in selected(document.units, self.only, self.not_)}
        for unit in document.units:
            written.units += 1
            result = results.get(unit.id)
            if result is None:
                written.skipped[self._reason_to_skip(document.path, unit, selected_ids) or "not in the run"] += 1
                continue
            target = _target_of(unit)
            if not result.text.strip():
                written.untranslated += target is None
                continue
            if result.text == unit.target:
                continue
            reason = None
            if result.segment.source != unit.source:
                reason = "is for another source: the source was changed in the file meanwhile"
            elif after_run and result.segment.translation != target:
                reason = "is not written over an edit that was made in the file meanwhile"
            reason = reason or fault(document, unit, result.text, self.only, self.not_)
            reason = reason or why_unusable(result.segment, result.text)
            if reason is None:
                targets[unit.id] = result.text
                written.changed += 1
            elif result.text != result.segment.translation:
                written.kept.append(KeptTarget(document.path, unit.line, result.segment.id, reason))
        return targets

    def _marks_of(self, result: Result, errors: Mapping[str, tuple[ErrorSpan, ...]]) -> list[UnitMark]:
        """The marks of a new target; those of ITS list the errors that are left in it."""
        marks = []
        for mark in self.marks:
            marks.append(replace(mark, errors=errors.get(result.segment.id, ())) if mark.kind == "its" else mark)
        return marks

    def refuse_marks(self) -> None:
        """Raise :class:`InputError` if a file cannot hold the marks of one of its units."""
        if not self.marks:
            return
        for document, unit, reason in self.examined():
            for mark in self.marks if reason is None else ():
                problem = mark_fault(document, unit, mark)
                if problem:
                    raise InputError(f"{document.path}:{unit.line}: {problem}")

    def _note(
        self,
        document: LocalizationFile,
        targets: Mapping[str, str],
        results: Mapping[str, Result],
        failed: frozenset[str],
    ) -> None:
        """Note in the lock file what became of the units of a file."""
        if self.lock is None:
            return
        finished: dict[str, LockedHashes] = {}
        to_do: dict[str, str | None] = {}
        for unit in document.units:
            result = results.get(unit.id)
            if result is None:
                continue
            if result.segment.id in failed or result.segment.source != unit.source:
                target = targets.get(unit.id, unit.target)
                to_do[unit.id] = None if target == unit.target else hashes_of(unit.source, target).target
            else:
                finished[unit.id] = hashes_of(unit.source, targets.get(unit.id, unit.target))
        self.lock.update(document.path, [unit.id for unit in document.units], finished, to_do)

    def segment_of(self, document: LocalizationFile, unit: TranslationUnit, defaults: SegmentDefaults) -> Segment:
        """The unit as a segment; ``defaults`` has what the file doesn't name."""
        path = document.path
        where = f"{path}:{unit.line}"
        source_lang = _language(unit.source_lang, defaults.source_lang, "source", path)
        named_lang = unit.target_lang
        if named_lang is None and defaults.target_lang is None:
            named_lang = language_in_path(path)  # locale/de/LC_MESSAGES/app.po
        target_lang = _language(named_lang, defaults.target_lang, "target", path)
        values = {
            "id": unit.id if len(self.paths) == 1 else f"{path}#{unit.id}",
            "source": unit.source,
            "translation": _target_of(unit),
            "document": str(path),
            "notes": _notes(unit, source_lang, target_lang, self.other_languages.get((unit.id, unit.source))),
            "max_length": _max_length(unit),
            "source_lang": source_lang,
            "target_lang": target_lang,
        }
        return segment(values, defaults.model_dump(exclude_none=True, include={"domain"}), 0, where)


def _by_document(results: Iterable[Result]) -> dict[str, dict[str, Result]]:
    """The results by document and id."""
    by_document: dict[str, dict[str, Result]] = defaultdict(dict)
    for result in results:
        by_document[result.segment.document or ""][result.segment.id] = result
    return by_document


def _of_file(path: Path, by_document: Mapping[str, dict[str, Result]]) -> dict[str, Result]:
    """The results for a file, however the run spelt its name."""
    if str(path) in by_document:
        return by_document[str(path)]
    for document, results in by_document.items():
        if Path(document).resolve() == path.resolve():
            return results
    return {}


def _by_unit(document: LocalizationFile, results: Mapping[str, Result]) -> dict[str, Result]:
    """The results by the ids of units; the ids of segments may begin with the name of the file."""
    prefixes = {f"{result.segment.document}#" for result in results.values()}
    by_unit = {}
    for unit in document.units:
        for prefix in ("", *prefixes):
            result = results.get(prefix + unit.id)
            if result is not None:
                by_unit[unit.id] = result
    return by_unit


def _target_of(unit: TranslationUnit) -> str | None:
    """The target, if it has text."""
    return unit.target if unit.target is not None and unit.target.strip() else None


def _language(in_file: str | None, default: str | None, side: str, path: Path) -> str:
    """The language of a file; that of the command line if the file has none, or a name that is not a language's."""
    if in_file:
        try:
            lang = languages.normalise(in_file)
        except ConfigError as error:
            if default is None:
                raise InputError(f"{path}: {error}; correct the file, or give -l") from None
            lang = default
        if default is not None and scripts.language_of(lang) != scripts.language_of(default):
            raise InputError(
                f"{path}: its {side} language is {in_file}, and the command line has {default}; leave -l out, or "
                "correct the file"
            )
        return lang
    if default is None:
        pair = "-l en-de" if side == "target" else "--source-lang en (or -l en-de)"
        raise InputError(f"{path}: the file doesn't name its {side} language; give it, as in {pair}")
    return default


def in_other_languages(
    files: LocalizationFiles, others: Iterable[tuple[Path, DocumentFormat]]
) -> dict[tuple[str, str], str]:
    """A note for each unit of ``files`` that is translated in ``others``, by id and source: ``In French: …``.

    Raises :class:`InputError` for a file that has none of the units, or that doesn't name its language.
    """
    wanted = {(unit.id, unit.source) for _, unit, _ in files.examined()}
    own = {path.resolve() for path in files.paths}
    notes: dict[tuple[str, str], str] = {}
    for path, form in others:
        if path.resolve() in own:
            continue
        found = False
        for unit in files.documents.open(form, path, files.sources, None).units:
            place = (unit.id, unit.source)
            target = _target_of(unit)
            if place not in wanted or target is None or unit.state == "fuzzy":
                continue
            found = True
            named_lang = unit.target_lang or language_in_path(path)
            note = f"In {languages.name(_language(named_lang, None, 'target', path))}: {target}"
            notes[place] = f"{notes[place]}\n{note}" if place in notes else note
        if not found:
            raise InputError(
                f"{path}: translates none of the texts, which must have the same id and source there; name the same "
                "file in another language with --second-language"
            )
    return notes


def _notes(unit: TranslationUnit, source_lang: str, target_lang: str, translated: str | None) -> str | None:
    """What is known of a unit, for the people and models that translate it."""
    notes = list(unit.notes)
    if _is_telling(unit):
        notes.append(f"Key: {unit.id}")
    if unit.context:
        # A note, because the context of a segment is the text around it, which may be shown as well.
        notes.append(f"Context: {unit.context}")
    if unit.max_width:
        notes.append(f"The translation must not be longer than {unit.max_width}.")
    if unit.plural is not None:
        notes += _plural_notes(unit.plural, source_lang, target_lang)
    if translated is not None:
        notes.append(translated)
    return "\n".join(notes) or None


_LONGEST_KEY = 120
_PIECE = regex.compile(r"\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+|\d+")  # of checkoutButton, ERROR_TEXT, title2
_NUMBERED = regex.compile(r"\p{L}+[-_.]?\d+")
_HASH = regex.compile(r"[\da-fA-F-]{8,}")
_PO_PLURAL = regex.compile(r"\[\d+\]\Z")  # whose key is the source of another form
_VOWEL = regex.compile(r"[aeiouyAEIOUY]|[^\x00-\x7f]")


def _is_telling(unit: TranslationUnit) -> bool:
    """Whether the id has words that say something about the text, as ``checkout.button.submit`` has."""
    key = unit.id
    if len(key) > _LONGEST_KEY or any(char.isspace() or not char.isprintable() for char in key):
        return False
    if unit.context and key in unit.context:
        return False
    if _NUMBERED.fullmatch(key) or _HASH.fullmatch(key) or (unit.plural is not None and _PO_PLURAL.search(key)):
        return False
    # The form of a plural is in brackets, where the id is the source.
    letters, source = (regex.sub(r"\P{L}+", "", text).casefold() for text in (key.partition("[")[0], unit.source))
    if letters == source:
        return False
    pieces = _PIECE.findall(key)
    return any(len(piece) > 2 and _VOWEL.search(piece) for piece in pieces)


def _plural_notes(plural: PluralForm, source_lang: str, target_lang: str) -> Iterator[str]:
    """Which form of a plural a text is, and what forms the target language has for whole numbers."""
    if plural.is_ordinal:
        yield f"Form {plural.number + 1} of {plural.count} ({plural.category}) for ordinal numbers (1st, 2nd, 3rd …)."
        return
    forms = rule_examples(plural.rule) if plural.rule else {}
    known = plural_forms(target_lang)
    categories: Sequence[str] = ()
    if known is not None and (not plural.rule or forms == rule_examples(known[1])):
        categories, forms = known[0], rule_examples(known[1])
    category = plural.category
    if category is None and plural.number < len(categories):
        category = categories[plural.number]
    form = f"Plural form {plural.number + 1} of {plural.count}"
    if category is not None:
        form += f" ({category})"
    if plural.examples:
        form += f", for counts such as {', '.join(map(str, plural.examples))}"
    yield f"{form}."
    if len(forms) < 2:
        return
    shown = []
    for number, counts in sorted(forms.items()):
        name = categories[number] if number < len(categories) else f"form {number + 1}"
        shown.append(f"{name} ({', '.join(map(str, counts))}…)" if len(counts) > 1 else f"{name} ({counts[0]})")
    rule = f"Plural forms of whole numbers in {languages.name(target_lang)}: {'; '.join(shown)}."
    of_source = plural_forms(source_lang)
    if of_source is not None and len(rule_examples(of_source[1])) != len(forms):
        rule += f" {languages.name(source_lang)} has {len(rule_examples(of_source[1]))}."
    yield rule


def _max_length(unit: TranslationUnit) -> int | None:
    """The most characters with placeholders, which the file's own limit doesn't count."""
    if not unit.max_length:
        return None
    placeholders = sum(unit.source.count(placeholder) * len(placeholder) for placeholder in unit.inline)
    return unit.max_length + placeholders
