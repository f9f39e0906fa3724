"""The files that a job reads and writes: their formats, the segments in them, and what must not happen to them."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

from mtagent import formats
from mtagent.chain.gate import Gate, OpenGate, refuse_open
from mtagent.config import Config, parse_spec
from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.evaluators.confidence import FOLDER
from mtagent.evaluators.knowledge import files_of_notes
from mtagent.formats.files import lines_of, refuse_pipe, spooled_copies
from mtagent.formats.glossary import Glossary, is_tbx, read_do_not_translate, read_glossary, read_tbx
from mtagent.formats.lines import Lines, check_counts
from mtagent.formats.ratings import Candidates, Material, RatingFormat, chosen, side_by_side
from mtagent.jobs.context import Placed, placed, with_context
from mtagent.records import Segment, Term
from mtagent.store.store import default_path


def files_named(config: Config) -> dict[str, Path]:
    """Every such file, by the option that names it; some may not be there."""
    store = config.store or default_path()
    named = {"--config": config.file, "--glossary": config.glossary, "--keep": config.keep}
    named["--instructions"] = config.instructions
    named |= {"--prices": config.prices, "--calibration": config.calibration}
    files_by_option = {option: path for option, path in named.items() if path is not None}
    for path in prompts_of(config):
        files_by_option[f"--prompts, {path.name}"] = path
    for name, options in _evaluators(config):
        for key, value in options.items():
            for part in value.split("+"):
                if isfile(part):  # noqa: PTH113 Path's raises for long ones
                    files_by_option[f"--evaluator {name}:{key}={part}"] = Path(part)
        if name == "himate":  # what it reads without being told: thresholds
            beside = sorted((store.parent / FOLDER).glob("*.json"))
        elif name == "rate":  # … the notes in folders
            folders = [Path(part) for part in options.get("knowledge", "").split("+") if isdir(part)]  # noqa: PTH112
            beside = list(files_of_notes(folders))
        else:  # … the texts that were annotated
            beside = _texts_around(name, options)
        files_by_option |= {f"--evaluator {name}, {path}": path for path in beside}
    kind, _, model = (config.llm or "").partition(":")
    if kind == "local" and model:
        files_by_option["--llm"] = Path(model)
    return files_by_option | {"--store": store}


def files_of_evaluators(config: Config) -> dict[str, Path]:
    """The files that the option ``path`` of editor and judge names, and the texts that belong to them."""
    files = {}
    for name, options in _evaluators(config):
        if "path" in options:
            files[f"{name}:{options['path']}"] = Path(options["path"])
            files |= {f"{name}:{path}": path for path in _texts_around(name, options)}
    return files


def prompts_of(config: Config) -> list[Path]:
    """The user's own prompts."""
    return sorted(config.prompts.glob("*.toml")) if config.prompts else []


def _evaluators(config: Config) -> Iterator[tuple[str, dict[str, str]]]:
    for name, options in map(parse_spec, filter(None, (config.evaluator, *config.judges, config.triage))):
        if "path" in options:
            refuse_pipe(Path(options["path"]), f"{name}:path")
        yield options.get("evaluator", name), options  # of mqm-ape, the one that it asks


def _texts_around(name: str, options: dict[str, str]) -> list[Path]:
    return formats.texts_around(Path(options["path"])) if name == "spans-file" and "path" in options else []


@dataclass(frozen=True)
class Files:
    """What is read and where the results go; ``-`` is standard input or output.

    ``candidates`` are files with other translations, line-aligned with the source like ``translation``. Without
    ``force`` no file is replaced but what the same run has written.
    """

    source: Path
    translation: Path | None = None
    reference: Path | None = None
    candidates: tuple[Path, ...] = ()
    output: Path = formats.STANDARD
    details: Path | None = None
    format: str | None = None
    force: bool = True

    def reader(self) -> formats.Format:
        """The format of ``source``, together with its line-aligned companions."""
        kind = formats.by_path(self.source, self.format)
        if isinstance(kind, formats.Lines):
            refuse_tables({name: path for name, path in self.paths.items() if name != "-s"}, self.format)
            return replace(kind, translation=self.translation, reference=self.reference, candidates=self.candidates)
        if self.candidates:
            raise ConfigError(
                f"{self.candidates[0]}: candidates stand beside a source that is read line by line; in JSON Lines they "
                'are a field of the segment ("candidates": ["…", "…"])'
            )
        if self.translation or self.reference:
            raise ConfigError(f"{self.source}: a {kind.name} file holds its translations and references itself")
        return kind

    def writer(self) -> tuple[formats.Format, Path | None]:
        """The format of ``output``, and the file whose columns and line ends it keeps, if it is of the same format:
        the line-aligned translation that is improved, or else the source.

        ``format`` is the output's too, unless the name of the output tells of another one.
        """
        read = formats.by_path(self.source, self.format)
        named = next((f for f in formats.FORMATS.values() if self.output.suffix.lower() in f.suffixes), read)
        written = read if named.name == read.name.partition("-")[0] else named
        improved = self.translation or self.source
        return written, improved if written.name == read.name else None

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them."""
        named = {"-s": self.source, "-t": self.translation, "-r": self.reference}
        given = {option: path for option, path in named.items() if path is not None}
        return given | {f"--candidate {number}": path for number, path in enumerate(self.candidates, start=1)}

    @contextmanager
    def spooled(self, config: Config) -> Iterator[tuple[Files, Config]]:
        """These files and ``config`` with a copy of standard input, since each file is read more than once."""
        with spooled_inputs(self.paths, config) as (copies, config):
            copied = copies["-s"] != self.source
            yield (
                replace(
                    self,
                    source=copies["-s"],
                    translation=copies.get("-t"),
                    reference=copies.get("-r"),
                    candidates=tuple(path for option, path in copies.items() if option.startswith("--candidate")),
                    format=self.format or formats.by_path(self.source).name if copied else self.format,
                ),
                config,
            )

    def refuse_collisions(self, limit: int | None) -> None:
        """Raise :class:`ConfigError` where an output would take the place of another file that is still needed."""
        if same_file(self.output, self.details):
            raise ConfigError(f"{self.output}: texts and details cannot both go to one file")
        for option, path in self.paths.items():
            if same_file(self.details, path):
                raise ConfigError(f"{path}: --details would overwrite the file of {option}")
            if same_file(self.output, path) and limit is not None:
                raise ConfigError(f"{path}: --limit would cut the file of {option} short: give -o another name")
        lines = isinstance(formats.by_path(self.source, self.format), formats.Lines)
        kept = (self.reference, *self.candidates, *([self.source] if lines else []))
        if any(same_file(self.output, path) for path in kept):
            raise ConfigError(f"{self.output}: the translation would overwrite this file: give -o another name")

    def refuse_idle_candidates(self, config: Config, own_gate: Gate | None = None) -> None:
        """Raise :class:`ConfigError` where there are candidates, and no stage or no judge to choose among them."""
        stages = config.stages or ()
        if "rerank" in stages:
            if own_gate is not None or config.gate in ("none", "guards"):
                refuse_open(own_gate or OpenGate(config.gate or "none"))
        elif self.candidates:
            raise ConfigError(
                f"{self.candidates[0]}: the stages {', '.join(stages)} do not look at candidates: leave --stages out, "
                "or put r before the others, as in --stages rpe"
            )

    def refuse_unwritable(self) -> None:
        """Raise :class:`OutputError` where the outputs cannot be written, before anything is paid for."""
        if self.output == formats.STANDARD == self.details:
            raise ConfigError("texts and details cannot both go to standard output: give -o or --details a file")
        for path in (self.output, self.details):
            if path is not None:
                refuse_unwritable(path)

    @property
    def outputs(self) -> tuple[Path, ...]:
        """All files that are written."""
        return (self.output,) if self.details is None else (self.output, self.details)

    def fingerprint(self, config: Config) -> dict[str, str]:
        """The content hash of every file that the results depend on."""
        named = {"source": self.source, "translation": self.translation, "reference": self.reference}
        candidates = {f"candidate {number}": path for number, path in enumerate(self.candidates, start=1)}
        return content_hashes(named | candidates, config)


@contextmanager
def spooled_inputs(named: dict[str, Path], config: Config) -> Iterator[tuple[dict[str, Path], Config]]:
    """What :func:`spooled_copies` gives for ``named``, and ``config`` with such a copy where it names standard input.

    A run is known by ``config`` as it was: the copy has another name every time.
    """
    settings = {name: path for name in ("glossary", "keep", "prices") if (path := getattr(config, name)) is not None}
    with spooled_copies({**named, **settings}) as copies:
        yield (
            {name: copies[name] for name in named},
            config.model_copy(update={name: copies[name] for name in settings}),
        )


def content_hashes(named: Mapping[str, Path | None], config: Config) -> dict[str, str]:
    """The content hash of every file in ``named``, and of those that ``config`` names."""
    files = {**named, "glossary": config.glossary, "keep": config.keep, **files_of_evaluators(config)}
    files["instructions"] = config.instructions
    files |= {f"prompts/{path.name}": path for path in prompts_of(config)}
    return {name: sha256(path) for name, path in files.items() if path is not None}


def refuse_tables(companions: Mapping[str, Path | None], form: str | None) -> None:
    """Raise :class:`ConfigError` for a line-aligned file that is called a table, unless the format was said."""
    for option, path in companions.items():
        called = None if path is None or form is not None else formats.by_suffix(path, formats.FORMATS)
        if called is not None and not isinstance(called, formats.Lines):
            raise ConfigError(
                f"{path}: {option} is read line by line, and this is called a {called.name} file: put source and "
                "translation into one such file, or name the format of both: lines"
            )


def refuse_overwriting(written: Iterable[Path | None], reads: Mapping[str, Path]) -> None:
    """Raise :class:`ConfigError` where a file to be written is one of those that are read, by option."""
    for path in written:
        if option := next((option for option, read in reads.items() if belongs_to(path, read)), None):
            raise ConfigError(f"{path}: the results would overwrite the file of {option}: give them another name")


_KEPT_BESIDE = re.compile(r"-(wal|shm|journal)|\.run-\d+(\.reader-\d+)?\.lock")


def belongs_to(written: Path | None, path: Path) -> bool:
    """Whether ``written`` is the file ``path``, or has the name of one that is kept beside it where it is a store."""
    if same_file(written, path):
        return True
    if written is None or written == formats.STANDARD:
        return False
    written = written.resolve()
    return any(
        written.parent == file.parent.resolve()
        and written.name.startswith(file.name)
        and _KEPT_BESIDE.fullmatch(written.name.removeprefix(file.name)) is not None
        for file in (path.absolute(), path.resolve())
    )


def same_file(path: Path | None, other: Path | None) -> bool:
    """Whether two paths are one file; standard input and output are none."""
    if path is None or other is None or formats.STANDARD in (path, other):
        return False
    return path.resolve() == other.resolve()


def refuse_unwritable(path: Path) -> None:
    """Raise :class:`OutputError` where ``path`` cannot be written."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; name a file in it")
    if path == formats.STANDARD or (path.exists() and not path.is_file()):
        return
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent} to write it to")
    try:  # the output is written under another name beside it first
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"{path}: the folder {path.parent} cannot be written to: {reason}") from error


def refuse_existing(paths: Iterable[Path]) -> None:
    """Raise :class:`OutputError` for the first of ``paths`` at which there is a file."""
    for path in paths:
        if path != formats.STANDARD and path.is_file():
            raise OutputError(f"{path}: is there already; --force replaces it")


def hash_of(path: Path) -> str | None:
    """The hash of an output's content; ``None`` where there is no such file."""
    return sha256(path) if path != formats.STANDARD and path.is_file() else None


def hashes_of(paths: Iterable[Path]) -> dict[str, str]:
    """The hash of each output that is a file, by its full path."""
    return {str(path.resolve()): found for path in paths if (found := hash_of(path))}


def sha256(path: Path) -> str:
    """The hash of a file's content. Raises :class:`InputError`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def read_segments(config: Config, files: Files) -> Iterator[Segment]:
    """The segments of ``files`` with the terms and the domain that ``config`` adds, but without context."""
    return islice(_all_segments(config, files), config.limit)


def read_placed(config: Config, files: Files) -> Iterator[Placed]:
    """The same at their places in their documents."""
    return placed(_all_segments(config, files), config.context, config.limit)


def read_in_context(
    config: Config, files: Files, text_of: Callable[[Segment], str | None] = lambda segment: segment.translation
) -> Iterator[Segment]:
    """The same with the context that ``config`` asks for, where nothing is translated meanwhile."""
    return with_context(_all_segments(config, files), config.context, config.limit, text_of)


def _all_segments(config: Config, files: Files) -> Iterator[Segment]:
    return with_terms(files.reader().read(files.source, segment_defaults(config)), read_terms(config))


def segment_defaults(config: Config) -> formats.SegmentDefaults:
    """What ``config`` says about every segment of a file."""
    return formats.SegmentDefaults(source_lang=config.source_lang, target_lang=config.target_lang, domain=config.domain)


GlossaryFor = Callable[[str, str], Glossary]
"""The terms for a source and a target language."""


def read_terms(config: Config, glossary: Sequence[Term] = (), keep: Sequence[Term] = ()) -> GlossaryFor:
    """The terms of the files that ``config`` names, and those of ``glossary`` and ``keep``, for each language pair."""
    keep = (*(read_do_not_translate(config.keep) if config.keep else ()), *keep)
    kept = {term.source for term in keep}
    tbx = config.glossary if config.glossary is not None and is_tbx(config.glossary) else None
    if config.glossary is not None and tbx is None:
        glossary = (*read_glossary(config.glossary), *glossary)

    def unambiguous(terms: Sequence[Term]) -> Sequence[Term]:
        for term in terms:
            if term.source in kept and term.target not in (None, term.source) and not term.forbidden:
                where, other = config.keep or "keep", config.glossary or "the glossary"
                raise ConfigError(f"{where}: {term.source!r} is to be kept, but {other} has a translation of it")
        wanted = {(term.source, term.target) for term in terms if term.target and not term.forbidden}
        for term in terms:
            if term.forbidden and (term.source, term.target) in wanted:
                raise ConfigError(
                    f"{config.glossary or 'glossary'}: {term.target!r} for {term.source!r} is both wanted and forbidden"
                )
        return terms

    always = (*unambiguous(glossary), *keep)

    @lru_cache(maxsize=64)
    def glossary_for(source_lang: str, target_lang: str) -> Glossary:
        terms = unambiguous(read_tbx(tbx, source_lang, target_lang)) if tbx is not None else ()
        return Glossary((*terms, *always))

    return glossary_for


def with_terms(segments: Iterable[Segment], glossary_for: GlossaryFor) -> Iterator[Segment]:
    """``segments``, each with those of the terms for its languages which its source has."""
    for segment in segments:
        glossary = glossary_for(segment.source_lang, segment.target_lang)
        relevant = glossary.relevant(segment.source, segment.source_lang) if glossary.terms else ()
        yield segment.model_copy(update={"terms": segment.terms + relevant}) if relevant else segment


@dataclass(frozen=True)
class RatingInputs:
    """Line-aligned ``translations``, pairs of system and file; or a table or JSON Lines that carries its own.

    ``systems`` names the ones to rate; none = all. ``format`` is that of ``source``, where its name does not tell.
    """

    source: Path
    translations: tuple[tuple[str, Path], ...] = ()
    reference: Path | None = None
    format: str | None = None
    systems: tuple[str, ...] = ()

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them."""
        files = {"-s": self.source} | {f"-t {name}": path for name, path in self.translations}
        return files if self.reference is None else {**files, "-r": self.reference}

    @contextmanager
    def spooled(self, config: Config) -> Iterator[tuple[RatingInputs, Config]]:
        """These files and ``config`` with a copy of standard input, since each file is read more than once."""
        with spooled_inputs(self.paths, config) as (copies, config):
            known = self.format or formats.by_path(self.source).name
            inputs = replace(
                self,
                source=copies["-s"],
                translations=tuple((name, copies[f"-t {name}"]) for name, _ in self.translations),
                reference=copies.get("-r"),
                format=known if copies["-s"] != self.source else self.format,
            )
            yield inputs, config

    def material(self, config: Config) -> Material:
        """What there is to rate. Raises :class:`ConfigError` where the files do not go together."""
        kind = formats.by_path(self.source, self.format)
        aligned = isinstance(kind, formats.Lines)
        names = [name for name, _ in self.translations]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ConfigError(f"two systems are called {twice!r}: name them with -t NAME=FILE")
        if aligned:
            refuse_tables(
                {f"-t {name}": path for name, path in self.translations} | {"-r": self.reference}, self.format
            )
        if aligned and not names:
            raise ConfigError(f"{self.source}: give the translations with -t")
        if not aligned and (names or self.reference):
            raise ConfigError(f"{self.source}: a {kind.name} file holds its translations and references itself")
        available = tuple(name for name, _ in self.translations) if aligned else (self.source.stem,)
        systems = chosen(available, self.systems, str(self.source))
        hashes = content_hashes({"source": self.source, "reference": self.reference}, config)
        files = content_hashes(dict(self.translations), Config())
        inputs: dict[str, Any] = {**hashes, "systems": [[name, files.get(name)] for name in systems]}
        read = self._aligned if aligned else self._carried
        return Material(systems, inputs, lambda: read(config, systems))

    def _aligned(self, config: Config, systems: Sequence[str]) -> Iterator[Candidates]:
        files = {name: path for name, path in self.translations if name in systems}
        check_counts([self.source, *files.values()])
        reader = Lines(reference=self.reference, translation=next(iter(files.values())) if len(files) == 1 else None)
        segments = with_terms(reader.read(self.source, segment_defaults(config)), read_terms(config))
        texts = zip(*(lines_of(path) for path in files.values()), strict=True)
        for segment, lines in zip(with_context(segments, config.context, config.limit), texts, strict=False):
            yield side_by_side(segment, {name: line.text for name, line in zip(files, lines, strict=True)})

    def _carried(self, config: Config, systems: Sequence[str]) -> Iterator[Candidates]:
        kind = formats.by_path(self.source, self.format)
        segments = with_terms(kind.read(self.source, segment_defaults(config)), read_terms(config))
        for segment in with_context(segments, config.context, config.limit):
            yield side_by_side(segment, dict.fromkeys(systems, segment.translation))


@dataclass(frozen=True)
class RatingOutput:
    """Where the ratings go, and in which format; ``None`` = as the name tells, ``jsonl`` where it does not."""

    path: Path = formats.STANDARD
    format: str | None = None
    force: bool = True

    @cached_property
    def kind(self) -> RatingFormat:
        """The format. Raises :class:`ConfigError` for an unknown one."""
        return formats.rating_format(self.path, self.format)

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files that are written."""
        return self.kind.paths(self.path)

    def refuse_collisions(self, reads: dict[str, Path]) -> None:
        """Raise :class:`ConfigError` where a file of ratings would take the place of one that is read."""
        refuse_overwriting(self.paths, reads)

    def refuse_unwritable(self) -> None:
        """Raise :class:`OutputError` where the files cannot be written, before anything is paid for.

        Raises :class:`ConfigError` where the name says that it is no file of ratings.
        """
        if self.format is None:
            formats.refuse_other_kind(self.path)
        for path in self.paths:
            refuse_unwritable(path)

    def refuse_unfit(self, material: Material) -> int:
        """Read everything once, so that a defect in the last line is found before anything is paid for.

        Returns the number of segments. Raises :class:`InputError` where there is nothing to rate.
        """
        total = texts = 0
        for candidates in material.candidates():
            total += 1
            texts += sum(text is not None for text in candidates.translations.values())
            self.kind.refuse(candidates, self.path)
        if not texts:
            raise InputError("there is nothing to rate: " + ("no translation" if total else "no segment") + " in it")
        return total


def named_translation(spec: str) -> tuple[str, Path]:
    """``NAME=FILE``, or a file whose name without its end is the system's: ``out/gpt.txt`` is ``gpt``."""
    name, equals, path = spec.partition("=")
    if equals and name and path and not Path(spec).exists():
        return name, Path(path)
    return ("translation" if spec == "-" else Path(spec).stem), Path(spec)
