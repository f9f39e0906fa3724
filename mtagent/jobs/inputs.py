"""The input files of a job, opened once: one object has their format, hashes and segments.

It also refuses outputs that would overwrite them, and texts in other languages than the settings name.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from os.path import isdir, isfile, relpath
from pathlib import Path
from typing import Any

from mtagent import formats
from mtagent.chain.chain import from_memory
from mtagent.chain.gate import Gate, OpenGate, refuse_open
from mtagent.chain.translation import skipped_guards
from mtagent.config import Config, parse_spec
from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.evaluators.confidence import FOLDER
from mtagent.evaluators.search import files_of_notes
from mtagent.formats.documents import UnitMark
from mtagent.formats.files import lines_of, refuse_named_pipe, refuse_pipe, sha256, spooled_copies
from mtagent.formats.glossary import read_terms, with_terms
from mtagent.formats.jsonl import JsonLines, JsonLinesBySystem
from mtagent.formats.localization import LocalizationFiles, NamedFile, OpenDocuments, in_other_languages
from mtagent.formats.lock import Lock
from mtagent.formats.ratings import Candidates, Material, chosen, side_by_side
from mtagent.formats.segments import Lines, check_counts
from mtagent.formats.tmx import TranslationMemory, with_matches
from mtagent.jobs.context import Placed, placed, with_context
from mtagent.jobs.outputs import (
    RatingOutput,
    refuse_overwriting,
    refuse_unwritable,
    refuse_unwritable_texts,
    same_file,
)
from mtagent.llm.prompts import read_instructions_by_language, with_instructions
from mtagent.records import Segment
from mtagent.store.store import default_path
from mtagent.text import languages, scripts
from mtagent.text.identification import other_language

logger = logging.getLogger(__name__)


def files_named(config: Config) -> dict[str, Path]:
    """Every file that ``config`` names, by the option that names it; some may not exist."""
    store = config.store or default_path()
    by_option = {
        "--config": config.file,
        "--glossary": config.glossary,
        "--keep": config.keep,
        "--instructions": config.instructions,
        **{f"--instructions {lang}": path for lang, path in config.instructions_for.items()},
        "--prices": config.prices,
        "--calibration": config.calibration,
        "--log": config.log,
    }
    files_by_option = {option: path for option, path in by_option.items() if path is not None}
    for path in config.memory:
        files_by_option[f"--memory {path}"] = path
    for path in prompts_of(config):
        files_by_option[f"--prompts, {path.name}"] = path
    for name, options in _evaluators(config):
        for key, value in options.items():
            for part in value.split("+"):
                if isfile(part):  # noqa: PTH113 Path.is_file raises for a long text
                    files_by_option[f"--evaluator {name}:{key}={part}"] = Path(part)
        # Files that evaluators read although no option names them: thresholds, notes in folders, annotated texts.
        if name == "himate":
            unnamed = sorted((store.parent / FOLDER).glob("*.json"))
        elif name == "rate":
            folders = filter(isdir, options.get("knowledge", "").split("+"))
            unnamed = list(files_of_notes(map(Path, folders)))
        else:
            unnamed = _texts_around(name, options)
        for path in unnamed:
            files_by_option[f"--evaluator {name}, {path}"] = path
    kind, _, model = (config.llm or "").partition(":")
    if kind == "local" and model:
        files_by_option["--llm"] = Path(model)
    files_by_option["--store"] = store
    return files_by_option


def files_of_evaluators(config: Config) -> dict[str, Path]:
    """The files in the option ``path`` of editor and judges, and the texts that belong to them."""
    files = {}
    for name, options in _evaluators(config):
        if "path" in options:
            files[f"{name}:{options['path']}"] = Path(options["path"])
            for path in _texts_around(name, options):
                files[f"{name}:{path}"] = path
    return files


def prompts_of(config: Config) -> list[Path]:
    """The user's own prompts."""
    if not config.prompts:
        return []
    return sorted(config.prompts.glob("*.toml"))


def _evaluators(config: Config) -> Iterator[tuple[str, dict[str, str]]]:
    """Name and options of each evaluator in ``config``."""
    for spec in (config.evaluator, *config.judges, config.triage):
        if not spec:
            continue
        name, options = parse_spec(spec)
        if "path" in options:
            refuse_pipe(Path(options["path"]), f"{name}:path")
        yield options.get("evaluator", name), options  # mqm-ape names the evaluator that finds its errors


def _texts_around(name: str, options: dict[str, str]) -> list[Path]:
    if name != "spans-file" or "path" not in options:
        return []
    return formats.texts_around(Path(options["path"]))


@dataclass(frozen=True)
class LocalizationInputs:
    """Localization files as the user names them, and how they are written."""

    files: tuple[NamedFile, ...]
    in_place: bool = False
    backup: bool = False
    """Keep each file that is replaced in place as ``FILE.bak``."""
    into_folder: bool = False
    """The output is a folder, although there may be a single file."""
    lock: Path | None = None
    force_edited: bool = False
    """Also work on targets that people have edited since the lock file was written."""
    only: frozenset[str] = frozenset()
    """Work on units of these states only."""
    not_: frozenset[str] = frozenset()
    marks: tuple[UnitMark, ...] = ()
    sources: Path | None = None
    """The file or folder with the source texts of files that have one language each."""
    target_lang: str | None = None
    """The language that the user names."""
    second: tuple[Path, ...] = ()
    """The same files in other languages, whose translations are shown."""
    documents: OpenDocuments = field(default_factory=OpenDocuments, compare=False)

    @property
    def source_files(self) -> list[Path]:
        """The files with source texts that exist."""
        if self.sources is None:
            return []
        if not self.sources.is_dir():
            return [self.sources]
        named = [self.sources / file.path.name for file in self.files]
        return [path for path in dict.fromkeys(named) if path.is_file()]

    def outputs(self, output: Path) -> dict[Path, Path]:
        """Where each file is written. Raises :class:`ConfigError` if two would have the same name."""
        if self.in_place:
            return {file.path: file.path for file in self.files}
        if not self.into_folder:
            [file] = self.files
            return {file.path: output}
        outputs: dict[Path, Path] = {}
        for file in self.files:
            place = output / relpath(file.path, file.root)  # which follows no links
            for other, other_place in outputs.items():
                if place == other_place:
                    raise ConfigError(f"{file.path}: would be written to {place}, like {other}: give another -o")
            outputs[file.path] = place
        return outputs

    def opened(self, config: Config | None = None) -> LocalizationFiles:
        """The files, ready to be read; units without a target are left out if nothing in ``config`` translates them,
        and the translation memory has no target for them.

        Raises :class:`ConfigError` for a file of another kind, and for running text without its sources if there is a
        lock, or if the only copy of its texts would be replaced.
        """
        translates = config is None or "translate" in (config.effective().stages or ())
        paths = tuple(file.path for file in self.files)
        forms = tuple(map(formats.document_format, paths))
        for path, form in zip(paths, forms, strict=True):
            if self.sources is not None or form.name not in formats.RUNNING_TEXT:
                continue
            if self.lock is not None:
                raise ConfigError(
                    f"{path}: a lock file needs the source texts, which a translation in place replaces; name their "
                    "file with -s"
                )
            if self.in_place and not self.backup:
                raise ConfigError(
                    f"{path}: a translation in place would replace the source texts; give -o FILE, or --backup, or "
                    "name the file of the sources with -s"
                )
        lock = Lock(self.lock) if self.lock is not None else None
        files = LocalizationFiles(
            paths, forms, lock, self.force_edited, translates,
            self.only, self.not_, self.marks, self.sources, self.target_lang, documents=self.documents,
        )  # fmt: skip
        if config is not None and not translates:
            files = replace(files, remembered=_remembered(files, config))
        if not self.second:
            return files
        others = [(path, formats.document_format(path)) for path in self.second]
        return replace(files, other_languages=in_other_languages(files, others))


def _memory_of(reader: object, config: Config, *, warns: bool = True) -> TranslationMemory | None:
    """The translation memory: the files that ``config`` names, and the approved units of localization files."""
    entries = []
    if config.own_memory and config.preset != "paper" and isinstance(reader, LocalizationFiles):
        entries = list(reader.approved(segment_defaults(config)))
    if not entries and not config.memory:
        return None
    return TranslationMemory(config.memory, entries, warns=warns)


def _remembered(files: LocalizationFiles, config: Config) -> frozenset[tuple[Path, str]]:
    """The units without a target that the translation memory has a usable translation for."""
    units = []
    skip = skipped_guards(config.skip_guards, config.gate)
    memory: TranslationMemory | None = None
    for path, unit_id, segment in files.untranslatable(segment_defaults(config)):
        memory = memory or _memory_of(files, config, warns=False)
        if memory is None:
            break
        if memory.has_source(segment):
            [matched] = with_matches([segment], memory)
            if from_memory(matched, None, skip=skip) is not None:
                units.append((path, unit_id))
    return frozenset(units)


@dataclass(frozen=True)
class Files:
    """The files of a job on segments, as the user names them; ``-`` is standard input or output."""

    source: Path
    translation: Path | None = None
    reference: Path | None = None
    candidates: tuple[Path, ...] = ()
    """Files with other translations, line-aligned with the source like ``translation``."""
    output: Path = formats.STANDARD
    details: Path | None = None
    format: str | None = None
    """The format of the source, and of the output unless its name has another ending; ``None`` = by the name."""
    force: bool = True
    """Without it, a file is replaced only if the same run has written it."""
    localization: LocalizationInputs | None = None
    """Localization files instead of all these; ``source`` is the first of them."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """The names that fields have in the source, which is a table, by field."""
    encoding: str | None = None
    """The encoding of the source, which is a table; ``None`` = UTF-8, or UTF-16 with a byte order mark."""

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them."""
        if self.localization is not None:
            named = {f"FILE {number}": file.path for number, file in enumerate(self.localization.files, start=1)}
            for number, path in enumerate(self.localization.source_files, start=1):
                named[f"-s {number}"] = path
            for number, path in enumerate(self.localization.second, start=1):
                named[f"--second-language {number}"] = path
            return named
        paths = {"-s": self.source}
        if self.translation is not None:
            paths["-t"] = self.translation
        if self.reference is not None:
            paths["-r"] = self.reference
        for number, path in enumerate(self.candidates, start=1):
            paths[f"--candidate {number}"] = path
        return paths

    @property
    def inputs(self) -> dict[str, Path | None]:
        """The files that the results depend on, by the name under which a run stores their hashes."""
        files: dict[str, Path | None] = {
            "source": self.source,
            "translation": self.translation,
            "reference": self.reference,
        }
        for number, path in enumerate(self.candidates, start=1):
            files[f"candidate {number}"] = path
        localization = self.localization
        if localization is not None:
            files |= self.paths
            if localization.lock is not None and localization.lock.exists():
                files["edited by people, too" if localization.force_edited else "lock"] = localization.lock
        return files

    @contextmanager
    def opened(self, config: Config, *, writes: bool = False) -> Iterator[OpenFiles]:
        """The files, ready to be read, and ``config`` with them; standard input is copied, since it is read twice.

        With ``writes`` the results will be written: raises :class:`ConfigError` if they would replace a file that is
        still needed, and :class:`OutputError` if they cannot be written. Also raises :class:`ConfigError` for files
        that don't go together.
        """
        for path in self.paths.values():
            refuse_named_pipe(path)  # before anything is asked about its format
        if self.localization is not None:
            with self._opened_localization(self.localization, config, writes=writes) as inputs:
                yield inputs
            return
        form = formats.by_path(self.source, self.format)
        form = formats.with_columns(form, self.source, self.columns, self.encoding)
        outputs: tuple[Path, ...] = (self.output,)
        if self.details is not None:
            outputs = (self.output, self.details)
        if writes:
            self._refuse_collisions(config.limit, isinstance(form, Lines))
            refuse_overwriting(outputs, files_named(config))
            refuse_unwritable_texts(self.output, self.details)
        self._refuse_companions(form)
        with spooled_inputs(self.paths, config) as (copies, config):
            candidates = [path for option, path in copies.items() if option.startswith("--candidate")]
            files = replace(
                self,
                source=copies["-s"],
                translation=copies.get("-t"),
                reference=copies.get("-r"),
                candidates=tuple(candidates),
                format=form.name,
            )
            if isinstance(form, Lines):
                reader: formats.Format = replace(
                    form, translation=files.translation, reference=files.reference, candidates=files.candidates
                )
            else:
                reader = form
            written = self._output_format(form)
            if writes and written.name in formats.BINARY and self.output == formats.STANDARD:
                raise ConfigError(f"a {written.name} file cannot be written to standard output: give -o a file")
            like = None  # a shorter output cannot keep the lines of its input
            if written.name == form.name and config.limit is None:
                like = files.translation or files.source
            yield OpenFiles(files, config, reader, outputs, written, like)

    @contextmanager
    def _opened_localization(
        self, localization: LocalizationInputs, config: Config, *, writes: bool
    ) -> Iterator[OpenFiles]:
        reader = localization.opened(config)
        outputs: tuple[Path, ...] = ()  # those that must not be there, and files in place must
        if not localization.in_place:
            outputs = tuple(localization.outputs(self.output).values())
        if self.details is not None:
            outputs += (self.details,)
        if writes:
            for option, path in self.paths.items():
                if same_file(self.details, path):
                    raise ConfigError(f"{path}: --details would overwrite {option}")
            refuse_overwriting(outputs, files_named(config))
            self._refuse_unwritable_localization(localization)
            reader.refuse_marks()
            if outputs.count(formats.STANDARD) > 1:
                raise ConfigError("texts and details cannot both go to standard output: give -o or --details a file")
        with spooled_inputs({}, config) as (_, config):
            yield OpenFiles(self, config, reader, outputs, reader, None)

    def _refuse_unwritable_localization(self, localization: LocalizationInputs) -> None:
        """Raise :class:`OutputError` if the files cannot be written, before anything is paid for."""
        paths = [self.details, localization.lock]
        if localization.in_place:
            paths += [file.path.resolve() for file in localization.files]
        elif localization.into_folder:
            folder = self.output
            while not folder.exists():
                folder = folder.absolute().parent
            if not folder.is_dir():
                raise OutputError(f"{folder}: is a file; several files are written into a folder")
            paths.append(folder / "file")
        else:
            paths.append(self.output)
        for path in paths:
            if path is not None:
                refuse_unwritable(path)

    def _refuse_companions(self, form: formats.Format) -> None:
        """Raise :class:`ConfigError` for line-aligned files with a source of another format, and for tables."""
        if isinstance(form, Lines):
            refuse_tables(self.paths, self.format)
            return
        if self.candidates:
            raise ConfigError(
                f"{self.candidates[0]}: a file of candidates needs a source that is read line by line; in JSON Lines "
                'candidates are a field of the segment ("candidates": ["…", "…"])'
            )
        refuse_companions_of(self.source, form, self.paths)

    def _output_format(self, read: formats.Format) -> formats.Format:
        """The format of the output: by its name, or else the source's format, which was ``read``."""
        for form in formats.FORMATS.values():
            if self.output.suffix.lower() not in form.suffixes:
                continue
            if form.name == read.name.partition("-")[0]:
                return read  # tsv-quoted and jsonl-lenient files have the same endings as tsv and jsonl
            return form
        return read

    def _refuse_collisions(self, limit: int | None, aligned: bool) -> None:
        if same_file(self.output, self.details):
            raise ConfigError(f"{self.output}: texts and details cannot both go to one file")
        for option, path in self.paths.items():
            if same_file(self.details, path):
                raise ConfigError(f"{path}: --details would overwrite the file of {option}")
            if same_file(self.output, path) and limit is not None:
                raise ConfigError(f"{path}: --limit would cut the file of {option} short: give -o another name")
        kept = [self.reference, *self.candidates]
        if aligned:
            kept.append(self.source)
        if any(same_file(self.output, path) for path in kept):
            raise ConfigError(f"{self.output}: the translation would overwrite this file: give -o another name")


@dataclass(frozen=True)
class OpenFiles:
    """The files of a job, ready to be read as often as needed."""

    files: Files
    """With a copy of standard input, and with the name of the format."""
    config: Config
    """With a copy of standard input if it names that. A run is identified by the settings without the copy."""
    reader: formats.Format
    outputs: tuple[Path, ...]
    output_format: formats.Format
    like: Path | None
    """The output keeps the columns and line ends of this file: the improved translation, or else the source."""

    def segments(self) -> Iterator[Segment]:
        """The segments with the terms and the domain that the settings add, but without context."""
        return islice(self._all(), self.config.limit)

    def placed(self) -> Iterator[Placed]:
        """The same at their places in their documents."""
        return placed(self._all(), self.config.context, self.config.limit)

    def in_context(
        self, text_of: Callable[[Segment], str | None] = lambda segment: segment.translation
    ) -> Iterator[Segment]:
        """The same with the context that the settings name, for jobs that don't translate meanwhile."""
        return with_context(self._all(), self.config.context, self.config.limit, text_of)

    def _all(self) -> Iterator[Segment]:
        segments = with_details(self.reader.read(self.files.source, segment_defaults(self.config)), self.config)
        return segments if self._memory is None else with_matches(segments, self._memory)

    @cached_property
    def _memory(self) -> TranslationMemory | None:
        return _memory_of(self.reader, self.config)

    def hashes(self) -> dict[str, str]:
        """The content hash of every file that the results depend on."""
        hashes = content_hashes(self.files.inputs, self.config)
        localization = self.files.localization
        if localization is not None:
            # Results go back to the files by name, and other units are other work.
            hashes["names"] = "\n".join(str(file.path) for file in localization.files)
            for name, words in (("only", localization.only), ("not", localization.not_)):
                if words:
                    hashes[name] = ",".join(sorted(words))
        if self.files.columns:
            hashes["columns"] = ",".join(f"{field}={column}" for field, column in sorted(self.files.columns.items()))
        return hashes

    def refuse_idle_candidates(self, config: Config, own_gate: Gate | None = None) -> None:
        """Raise :class:`ConfigError` if there are candidates, but no stage or no judge to choose among them."""
        stages = config.stages or ()
        if "rerank" in stages:
            if own_gate is not None or config.gate in ("none", "guards"):
                refuse_open(own_gate or OpenGate(config.gate or "none"))
        elif self.files.candidates:
            raise ConfigError(
                f"{self.files.candidates[0]}: the stages {', '.join(stages)} do not use candidates: leave --stages "
                "out, or put r before the others, as in --stages rpe"
            )


@dataclass(frozen=True)
class RatingInputs:
    """The files of a rating job, as the user names them.

    They are line-aligned, or one table or JSON Lines file that carries its own translations.
    """

    source: Path
    translations: tuple[tuple[str, Path], ...] = ()
    """Pairs of system and line-aligned file."""
    reference: Path | None = None
    format: str | None = None
    """The format of the source; ``None`` = by its name."""
    systems: tuple[str, ...] = ()
    """The systems to rate; empty = all."""

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them."""
        paths = {"-s": self.source}
        for name, path in self.translations:
            paths[f"-t {name}"] = path
        if self.reference is not None:
            paths["-r"] = self.reference
        return paths

    @contextmanager
    def opened(self, config: Config, output: RatingOutput | None = None) -> Iterator[tuple[Material, Config]]:
        """The texts to rate, and ``config`` with prices that can be read; standard input is copied.

        Raises :class:`ConfigError` for files that don't go together, and if the ``output`` would replace one of them;
        :class:`OutputError` if it cannot be written.
        """
        if output is not None:
            refuse_overwriting(output.paths, self.paths | files_named(config))
            output.refuse_unwritable()
        form = formats.by_path(self.source, self.format)
        available = self._available(form)
        with spooled_inputs(self.paths, config) as (copies, readable):
            translations = tuple((name, copies[f"-t {name}"]) for name, _ in self.translations)
            files = replace(self, source=copies["-s"], translations=translations, reference=copies.get("-r"))
            systems = chosen(available, self.systems, str(self.source))
            hashes = content_hashes({"source": files.source, "reference": files.reference}, readable)
            hashes_by_system = {name: sha256(path) for name, path in files.translations}
            hashed_systems = [[name, hashes_by_system.get(name)] for name in systems]
            inputs: dict[str, Any] = {**hashes, "systems": hashed_systems}
            named = {"source": self.source, "reference": self.reference}
            for name, path in self.translations:
                named[f"-t {name}"] = path
            paths = content_files(named, config)

            def candidates() -> Iterator[Candidates]:
                if isinstance(form, Lines):
                    return files._aligned(readable, systems)
                return files._carried(form, readable, systems)

            prices = config.model_copy(update={"prices": readable.prices})
            yield Material(systems, inputs, candidates, paths), prices

    def _available(self, form: formats.Format) -> tuple[str, ...]:
        """The systems in the files. Raises :class:`ConfigError` for files that don't go together."""
        names = tuple(name for name, _ in self.translations)
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"two systems are called {name!r}: name them with -t NAME=FILE")
        if not isinstance(form, Lines):
            refuse_companions_of(self.source, form, self.paths)
            return _systems_in(self.source, form) or (self.source.stem,)
        refuse_tables(self.paths, self.format)
        if not names:
            raise ConfigError(f"{self.source}: give the translations with -t")
        return names

    def _aligned(self, config: Config, systems: Sequence[str]) -> Iterator[Candidates]:
        files = {name: path for name, path in self.translations if name in systems}
        check_counts([self.source, *files.values()])
        only = None
        if len(files) == 1:
            [only] = files.values()
        segments = _segments_in_context(Lines(reference=self.reference, translation=only), self.source, config)
        texts = zip(*map(lines_of, files.values()), strict=True)
        for segment, lines in zip(segments, texts, strict=False):
            translations = {name: line.text for name, line in zip(files, lines, strict=True)}
            yield side_by_side(segment, translations)

    def _carried(self, form: formats.Format, config: Config, systems: Sequence[str]) -> Iterator[Candidates]:
        if not set(systems).issubset(_systems_in(self.source, form)):
            for segment in _segments_in_context(form, self.source, config):
                yield side_by_side(segment, dict.fromkeys(systems, segment.translation))
            return
        by_system = JsonLinesBySystem()
        segments = _segments_in_context(by_system, self.source, config)
        for segment, texts in zip(segments, by_system.texts(self.source), strict=False):
            yield side_by_side(segment, {system: texts[system] for system in systems})


def _systems_in(path: Path, form: formats.Format) -> tuple[str, ...]:
    """The systems whose translations each line of JSON Lines holds; empty for other files, and for pipes."""
    if not isinstance(form, JsonLines) or (path.exists() and not path.is_file()) or path == formats.STANDARD:
        return ()
    return JsonLinesBySystem().systems(path)


def _segments_in_context(reader: formats.Format, path: Path, config: Config) -> Iterator[Segment]:
    segments = with_details(reader.read(path, segment_defaults(config)), config)
    return with_context(segments, config.context, config.limit)


def with_details(segments: Iterator[Segment], config: Config) -> Iterator[Segment]:
    """``segments`` with the terms and the instructions for their languages that ``config`` names."""
    if config.glossary is not None or config.keep is not None:
        segments = with_terms(segments, read_terms(config.glossary, config.keep))
    if config.instructions_for:
        segments = with_instructions(segments, read_instructions_by_language(config.instructions_for))
    return segments


def segment_defaults(config: Config) -> formats.SegmentDefaults:
    """The languages and the domain that ``config`` sets for every segment of a file."""
    return formats.SegmentDefaults(source_lang=config.source_lang, target_lang=config.target_lang, domain=config.domain)


@contextmanager
def spooled_inputs(named: dict[str, Path], config: Config) -> Iterator[tuple[dict[str, Path], Config]]:
    """The result of :func:`spooled_copies` for ``named``, and ``config`` with a copy if it names standard input.

    A run is identified by the original ``config``: the copy has another name every time.
    """
    settings = {}
    for name, path in (("glossary", config.glossary), ("keep", config.keep), ("prices", config.prices)):
        if path is None:
            continue
        if path != formats.STANDARD and not path.exists():
            setting = f"{name} in {config.file}, or --{name}" if config.file else f"--{name}"
            raise InputError(f"{path}: no such file or directory; check {setting}")
        settings[name] = path
    with spooled_copies({**named, **settings}) as copies:
        inputs = {name: copies[name] for name in named}
        yield inputs, config.model_copy(update={name: copies[name] for name in settings})


def content_hashes(named: Mapping[str, Path | None], config: Config) -> dict[str, str]:
    """The content hash of every file in ``named``, and of the files that ``config`` names."""
    return {name: sha256(path) for name, path in content_files(named, config).items()}


def content_files(named: Mapping[str, Path | None], config: Config) -> dict[str, Path]:
    """The files in ``named``, and those that ``config`` names, by the name under which a run stores their hashes."""
    files = {**named, "glossary": config.glossary, "keep": config.keep, **files_of_evaluators(config)}
    files["instructions"] = config.instructions
    for lang, path in config.instructions_for.items():
        files[f"instructions for {lang}"] = path
    for number, path in enumerate(config.memory, start=1):
        files[f"memory {number}"] = path
    for prompt in prompts_of(config):
        files[f"prompts/{prompt.name}"] = prompt
    return {name: path for name, path in files.items() if path is not None}


def refuse_companions_of(source: Path, form: formats.Format, paths: Mapping[str, Path]) -> None:
    """Raise :class:`ConfigError` for line-aligned files that are given with a source that holds all texts itself."""
    superfluous = [option for option in paths if option != "-s"]
    if superfluous:
        raise ConfigError(
            f"{source}: a {form.name} file holds its translations and references itself: leave out "
            f"{', '.join(superfluous)}"
        )


def refuse_tables(companions: Mapping[str, Path | None], form: str | None) -> None:
    """Raise :class:`ConfigError` for a line-aligned file with the name of a table, unless the format was given."""
    if form is not None:
        return
    for option, path in companions.items():
        if path is None or option == "-s":
            continue
        named_format = formats.by_suffix(path, formats.FORMATS)
        if named_format is not None and not isinstance(named_format, formats.Lines):
            raise ConfigError(
                f"{path}: {option} is read line by line, but the name is of a {named_format.name} file: put source and "
                "translation into one such file, or name the format of both: lines"
            )


# -- the languages of the texts, which may be others than the settings name

LANGUAGE_SAMPLE = 50
"""How many segments are looked at."""
_FEWEST = 2
_SHARE = 0.5
"""The share of texts, among those long enough to tell, that must be in the other language."""
_LONG_ENOUGH = 30
"""Characters. What is shorter is rarely in one language for certain."""


class LanguageCheck:
    """Looks at the first segments of a job. Without the extra ``languages`` it finds nothing."""

    def __init__(self) -> None:
        self._seen = 0
        self._count: Counter[str] = Counter()  # of long texts, by side
        self._others: dict[str, Counter[str]] = {"source": Counter(), "translation": Counter()}
        self._swapped = 0
        self._pairs: Counter[tuple[str, str]] = Counter()

    def look(self, segment: Segment, translation: str | None) -> None:
        """Look at one of the first segments; further ones are ignored."""
        if self._seen >= LANGUAGE_SAMPLE:
            return
        self._seen += 1
        source_lang, target_lang = segment.source_lang, segment.target_lang
        self._pairs[source_lang, target_lang] += 1
        as_declared = segment.model_copy(update={"target_lang": source_lang, "source_lang": target_lang})
        found = {}
        try:
            found["source"] = other_language(as_declared, segment.source)
            if translation is not None:
                found["translation"] = other_language(segment, translation)
        except OSError:  # the identifier needs room for its model in the temporary folder
            self._seen = LANGUAGE_SAMPLE
            return
        for side, text in (("source", segment.source), ("translation", translation or "")):
            self._count[side] += len(text) >= _LONG_ENOUGH
            if found.get(side):
                self._others[side][found[side]] += 1
        is_source_swapped = found["source"] == scripts.language_of(target_lang)
        self._swapped += is_source_swapped and found.get("translation") in (None, scripts.language_of(source_lang))

    @property
    def fault(self) -> str | None:
        """What is wrong with the languages, as the end of a sentence; ``None`` if nothing is."""
        if not self._pairs:
            return None
        [((source_lang, target_lang), _)] = self._pairs.most_common(1)
        if self._is_much(self._swapped, "source"):
            pair = languages.pair_of(source_lang, target_lang)
            return f"the languages of {pair} seem to be swapped"
        for side, lang in (("source", source_lang), ("translation", target_lang)):
            for other, count in self._others[side].most_common(1):
                if self._is_much(count, side):
                    return f"the {side}s seem to be in {languages.name(other)}, not in {languages.name(lang)}"
        return None

    def _is_much(self, count: int, side: str) -> bool:
        return count >= max(_FEWEST, _SHARE * self._count[side])


def refuse_wrong_languages(check: LanguageCheck, path: Path | None, config: Config, *, force: bool) -> None:
    """Raise :class:`ConfigError` if texts are in other languages, or warn if nothing is paid; not with ``force``."""
    if force or check.fault is None:
        return
    where = "" if path is None else f"{path}: "
    if config.offline:
        logger.warning("%s%s; check the languages (-l, or those in the file)", where, check.fault)
        return
    raise ConfigError(f"{where}{check.fault}; check the languages (-l, or those in the file), or continue with --force")
