"""All that a user names, read: people's scores, and the evaluators beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mtagent.analysis.agreement import Policy
from mtagent.analysis.mtme_folder import Folder, read_folder
from mtagent.analysis.scores_matched import Match, match
from mtagent.analysis.scores_read import (
    About,
    Given,
    Key,
    ReadAs,
    Side,
    Table,
    digest,
    evaluators_in,
    is_table,
    listed,
    meant,
    people_in,
    pooled,
    put,
    read_table,
    system_scores,
)
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import STANDARD
from mtagent.jobs.inputs import spooled_copies
from mtagent.store.store import Store, open_existing
from mtagent.text import languages


def stored(store: Store, run: str, name: str | None = None, lp: tuple[str, str] | None = None) -> Side:
    """The ratings of ``run``, of the language pair ``lp``, as one evaluator, called as it calls itself or ``name``.

    Raises :class:`ConfigError` for a run of another kind, and for one without this language pair.
    """
    held = store.read(run)
    if held.kind != "rating":
        raise ConfigError(f"run {run!r} holds no ratings of texts; rate what it made: mtagent rate --run {run}")
    segments: dict[Key, Given] = {}
    about: dict[str, About] = {}
    called: dict[str, None] = {}
    signed: dict[str, None] = {}
    signatures: dict[str, str] = {}
    for rated in held.ratings():
        one, rating = rated.segment, rated.rating
        known = About(one.source, one.source_lang, one.target_lang, one.document, one.domain)
        if not known.is_of(lp):
            continue
        where = f"run {run!r}, segment {one.id!r}, system {rated.system!r}"
        score, errors = (rating.score, rating.errors) if rating else (None, None)
        put(segments, Key(rated.system, one.id), Given(score, where, rated.translation, errors, rated.error or ""))
        about[one.id] = known
        if rating:
            called[rating.evaluator] = signed[rating.signed] = None
            signatures.setdefault(rating.signature, where)
    if not segments:
        raise ConfigError(f"run {run!r}: no segment is of the language pair {'-'.join(lp or ())}")
    others = f" (and {len(signed) - 1} others)" if len(signed) > 1 else ""
    return Side(
        name=name or next(iter(called), run),
        origin=f"run {run!r}",
        signature=next(iter(signed), f"run:{run}") + others,
        segments=segments,
        about=about,
        signatures=signatures,
    )


@dataclass(frozen=True)
class Inputs:
    """What to read.

    ``files`` and ``runs`` are ``[NAME=]FILE`` and ``[NAME=]RUN``, ``folder`` is one of mt-metrics-eval. ``human``: a
    file, ``NAME=FILE`` for the column NAME of it, a column of the files, or the name of the folder's human scores.
    ``metrics`` chooses evaluators, ``lower`` names those whose lower scores are better; ``lp`` and ``item`` as in
    :class:`ReadAs`.
    """

    human: str | None
    files: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    folder: Path | None = None
    system_scores: Path | None = None
    metrics: tuple[str, ...] = ()
    lower: tuple[str, ...] = ()
    lp: str | None = None
    item: tuple[str, ...] = ()
    store: Path | None = None

    @property
    def read_as(self) -> ReadAs:
        """How tables are read."""
        return ReadAs(self.item, languages.parse_pair(self.lp) if self.lp else None)

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them; not those in the folder."""
        found = {_option(spec): _named_file(spec)[1] for spec in self.files}
        if (people := _human_file(self.human)[1]) is not None:
            found["--human"] = people
        return found | ({"--system-scores": self.system_scores} if self.system_scores else {})

    def reading(self, copies: Mapping[str, Path]) -> Inputs:
        """The same with ``copies`` of :attr:`paths`: standard input and pipes can be read only once."""
        files = tuple(_spec(_named_file(spec)[0], copies[_option(spec)]) for spec in self.files)
        human = _spec(_human_file(self.human)[0], copies["--human"]) if "--human" in copies else self.human
        return replace(self, files=files, human=human, system_scores=copies.get("--system-scores"))


def gather(inputs: Inputs, *, missing: Policy = "refuse", drop: Sequence[str] = ()) -> list[Match]:
    """Read everything, and put each evaluator beside people, without the systems in ``drop``.

    Raises :class:`mtagent.errors.MtagentError` for what is not there or does not fit together.
    """
    with spooled_copies(inputs.paths) as copies:
        return list(_matched(inputs.reading(copies), missing, drop))


def _matched(inputs: Inputs, missing: Policy, drop: Sequence[str]) -> Iterator[Match]:
    human, evaluators = read_sides(inputs)
    if inputs.system_scores is not None:
        human, evaluators = _with_systems(human, evaluators, inputs.system_scores)
    names = dict.fromkeys([*(side.name for side in evaluators), human.name])
    for name in inputs.lower:
        if name == human.name and any(side.name == name for side in evaluators):
            raise ConfigError(f"--lower {name}: people's scores and an evaluator are called so; name one -e NAME=FILE")
        if name not in names:
            raise ConfigError(f"--lower {name}: no such evaluator{meant(name, names)}")
    human, *sides = (side.negated() if side.name in inputs.lower else side for side in (human, *evaluators))
    held = {name for side in (human, *sides) for name in side.names()}
    if unknown := [name for name in drop if name not in held]:
        raise ConfigError(f"--drop-systems {unknown[0]}: no such system{meant(unknown[0], sorted(held))}")
    yield from (match(side, human, missing=missing, drop=drop) for side in sides)


def read_sides(inputs: Inputs) -> tuple[Side, list[Side]]:
    """People's scores, and those of the evaluators, as they stand in the files. Raises as :func:`gather` does.

    What files hold of evaluators of one name is pooled.
    """
    name, path = _human_file(inputs.human)
    column = inputs.human if path is None else None
    evaluators, known, folder = list[Side](), set[str](), None
    tables = {file: read_table(file) for _, file in map(_named_file, inputs.files) if is_table(file)}
    if inputs.folder is not None:
        folder = _folder(inputs, inputs.folder, column, own_people=path is not None)
        evaluators += [one for one in folder.metrics if not inputs.metrics or any(_is(one, n) for n in inputs.metrics)]
        known |= {side.name for side in folder.metrics}
    for called, file in map(_named_file, inputs.files):
        found, names = _evaluators(called, tables.get(file, file), inputs, beside=name or column)
        evaluators += found
        known |= names
    evaluators += _of_runs(inputs)
    known |= {side.name for side in evaluators}
    if lost := [one for one in inputs.metrics if one not in known and not any(_is(side, one) for side in evaluators)]:
        raise InputError(f"--metrics {lost[0]}: no such evaluator{meant(lost[0], sorted(known))}")
    if not evaluators:
        raise ConfigError("no evaluator is left to compare")
    by_name: dict[str, list[Side]] = {}
    for side in evaluators:
        by_name.setdefault(side.name, []).append(side)
    human = folder.human if folder and path is None else _people(inputs, name, path, tables)
    return human, [pooled(sides) for sides in by_name.values()]


def _is(side: Side, name: str) -> bool:
    return name in (side.name, side.name.rpartition("-")[0])


def _folder(inputs: Inputs, path: Path, column: str | None, *, own_people: bool) -> Folder:
    """The folder's scores; with other files, ``metrics`` may be theirs, and people's scores too (``own_people``)."""
    if not path.is_dir():
        raise InputError(f"{path}: is no folder of mt-metrics-eval")
    metrics = () if inputs.files or inputs.runs else inputs.metrics
    return read_folder(path, inputs.lp, column, metrics, any_human=own_people)


def _evaluators(
    called: str | None, given: Table | Path, inputs: Inputs, beside: str | None
) -> tuple[list[Side], set[str]]:
    if isinstance(given, Table):
        return evaluators_in(given, called, inputs.metrics, beside=beside, read_as=inputs.read_as)
    if given.is_dir():
        raise InputError(f"{given}: is a folder; --mtme reads those of mt-metrics-eval")
    side = listed(given, called)
    return [side] if not inputs.metrics or side.name in inputs.metrics else [], {side.name}


def _people(inputs: Inputs, name: str | None, path: Path | None, tables: Mapping[Path, Table]) -> Side:
    """People's scores: those of a file, or a column of the ``tables`` that have it."""
    if path is not None and is_table(path):
        return people_in(tables.get(path) or read_table(path), name, inputs.read_as)
    if path is not None:
        return listed(path, name)
    if inputs.human is None:
        raise ConfigError("whose judgement to compare with? --human FILE, NAME=FILE, or a column of the scores")
    if found := [people_in(one, inputs.human, inputs.read_as) for one in tables.values() if inputs.human in one.names]:
        return pooled(found)
    columns = dict.fromkeys(name for one in tables.values() for name in one.names)
    raise InputError(f"--human {inputs.human}: neither a file nor a column of the scores{meant(inputs.human, columns)}")


def _human_file(spec: str | None) -> tuple[str | None, Path | None]:
    """The column and the file that ``spec`` names; no file where it is a column's name."""
    if spec is None:
        return None, None
    if Path(spec) == STANDARD or (Path(spec).exists() and not Path(spec).is_dir()):
        return None, Path(spec)
    name, equals, path = spec.partition("=")
    if equals and name and path:
        return name, Path(path)
    if "/" in spec or is_table(Path(spec)):
        raise InputError(f"{spec}: {'is a folder' if Path(spec).is_dir() else 'no such file'}")
    return None, None


def _named_file(spec: str) -> tuple[str | None, Path]:
    name, equals, path = spec.partition("=")
    return (name, Path(path)) if equals and name and path and not Path(spec).exists() else (None, Path(spec))


def _option(spec: str) -> str:
    """What a file is known by, however its path is written."""
    return f"-e {_spec(*_named_file(spec))}"


def _spec(name: str | None, path: Path) -> str:
    return str(path) if name is None else f"{name}={path}"


def _of_runs(inputs: Inputs) -> Iterator[Side]:
    if not inputs.runs:
        return
    with open_existing(inputs.store) as store:
        held = {run.name for run in store.runs()}
        for spec in inputs.runs:
            name, equals, run = spec.partition("=")
            which, called = (run, name) if equals and spec not in held else (spec, None)
            side = stored(store, which, called, inputs.read_as.lp)
            if not inputs.metrics or side.name in inputs.metrics:
                yield side


def _with_systems(human: Side, evaluators: Sequence[Side], path: Path) -> tuple[Side, list[Side]]:
    given = system_scores(path)
    for side in (human, *evaluators):
        if side.name not in given:
            raise InputError(f"{path}:1: no column {side.name!r}{meant(side.name, given)}")
    signed = f"|sys:{digest(path)}"
    human, *others = (
        replace(side, systems=given[side.name], signature=side.signature + signed) for side in (human, *evaluators)
    )
    return human, others
