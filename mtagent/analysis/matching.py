"""An evaluator's scores beside people's: the same systems, the same segments, and an error where they are not.

``gather`` reads all that a user names; ``match`` puts an evaluator beside people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from mtagent.analysis.agreement import PairedScores, Policy, Row, paired, system_level
from mtagent.analysis.mtme_folder import is_metric, read_folder
from mtagent.analysis.scores import (
    NO_SCORE,
    UNNAMED,
    Key,
    ScoreTable,
    SegmentScore,
    Side,
    alternatives,
    digest,
    is_table,
    pooled,
    read_list,
    read_run,
    read_table,
    refuse_other_pair,
)
from mtagent.errors import ConfigError, InputError
from mtagent.formats.exports import plain_name
from mtagent.formats.files import STANDARD, spooled_copies
from mtagent.records import ErrorSpan
from mtagent.store.store import open_existing
from mtagent.text import languages

LEAVE_OUT = "--missing leave-out leaves such translations out, and counts them"


class Match(NamedTuple):
    """An evaluator and people, with equal names of systems and segments; ``rows`` pairs the scores of segments.

    The names are people's, and so are the texts where both have them, so that several evaluators go together.
    ``others`` are systems that only one side has, and that were left out.
    """

    evaluator: Side
    human: Side
    rows: tuple[Row, ...]
    missing: Policy
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The evaluator's."""
        return self.evaluator.name

    @property
    def scored_rows(self) -> list[Row]:
        """The rows with both scores."""
        return [row for row in self.rows if None not in row[2:]]

    def of_items(self, items: Sequence[str]) -> Match:
        """Only these segments; scores that were given for whole systems are not about them."""
        wanted = set(items)
        rows = tuple(row for row in self.rows if row.item in wanted)
        evaluator, human = (replace(side, systems={}) for side in (self.evaluator, self.human))
        return self._replace(evaluator=evaluator, human=human, rows=rows)

    def segments(self) -> PairedScores | None:
        """The paired scores of segments; ``None`` where not one has both."""
        return paired(self.rows, missing=self.missing) if self.scored_rows else None

    def systems(self) -> PairedScores | None:
        """The paired scores of systems: those given, or the means over the segments that have both scores."""
        if not self.given_systems:
            segments = self.segments()
            return system_level(segments) if segments else None
        ours, theirs = self.evaluator.systems, self.human.systems
        names = dict.fromkeys([*theirs, *ours])
        rows = [Row(name, "", ours.get(name, NO_SCORE).score, theirs.get(name, NO_SCORE).score) for name in names]
        return paired(rows, missing=self.missing, level="sys")

    @property
    def given_systems(self) -> bool:
        """Whether both sides have given scores (no means) of systems, of all whose segments both have scored."""
        ours, theirs = (
            {name for name, given in side.systems.items() if given.score is not None}
            for side in (self.evaluator, self.human)
        )
        return bool(ours & theirs) and {row.system for row in self.scored_rows} <= ours & theirs

    def translations(self) -> Iterator[tuple[Key, SegmentScore, SegmentScore]]:
        """Each translation with what the evaluator and people say of it."""
        for key in dict.fromkeys([*self.human.segments, *self.evaluator.segments]):
            yield key, self.evaluator.segments.get(key, NO_SCORE), self.human.segments.get(key, NO_SCORE)


def match(evaluator: Side, human: Side, *, missing: Policy = "refuse", drop: Sequence[str] = ()) -> Match:
    """Put both sides together, without the systems in ``drop``.

    Systems are matched by name, or by the name that mt-metrics-eval allows (``gpt_4_1`` for ``gpt-4.1``); segments by
    id, or by position where one of the sides has no ids. Raises :class:`InputError`, naming file and line, for systems
    or segments that only one side has and for missing scores (unless ``missing`` is ``leave-out``), and in any case
    where positions cannot be told, or the texts that were rated differ.
    """
    evaluator = _with_names_of(human, evaluator)
    human, evaluator = _without(human, drop), _without(evaluator, drop)
    evaluator = _with_names_of(human, evaluator)  # of a file without names, the only system that is left
    names, theirs = evaluator.names(), human.names()
    others = [*(name for name in theirs if name not in names), *(name for name in names if name not in theirs)]
    if missing == "refuse":
        _refuse_other_systems(evaluator, human)
    if not set(names) & set(theirs):
        raise InputError(
            f"{evaluator.origin}: has no system that {human.origin} has: {', '.join(names)} against {', '.join(theirs)}"
        )
    evaluator, human = evaluator.only(theirs), human.only(names)
    evaluator = _with_segments_of(human, evaluator)
    refuse_other_pair(evaluator, human.about, human.origin)
    _refuse_other_first(evaluator, human)
    rows = tuple(_rows(evaluator, human, missing))
    return Match(_with_texts_of(human, evaluator), human, rows, missing, tuple(others))


def _with_names_of(human: Side, evaluator: Side) -> Side:
    """``evaluator`` with people's names of systems, where mt-metrics-eval's names (``gpt_4_1``) leave no doubt."""
    theirs, ours = human.names(), evaluator.names()
    if len(theirs) == len(ours) == 1 and UNNAMED in (*theirs, *ours):
        return evaluator.with_names({ours[0]: theirs[0]})
    free, other = [name for name in theirs if name not in ours], [name for name in ours if name not in theirs]
    alike = {name: [own for own in free if plain_name(own) == plain_name(name)] for name in other}
    claims = Counter(own for names in alike.values() for own in names)
    sure = {name: names[0] for name, names in alike.items() if len(names) == 1 and claims[names[0]] == 1}
    return evaluator.with_names({name: sure.get(name, name) for name in ours})


def _without(side: Side, drop: Sequence[str]) -> Side:
    names = side.names()
    unwanted = {name if name in names else plain_name(name) for name in drop}
    left = [name for name in names if name not in unwanted]
    if not left:
        raise InputError(f"{side.origin}: no system of {side.name} is left to compare")
    return side.only(left)


def _refuse_other_systems(evaluator: Side, human: Side) -> None:
    for side, other in ((evaluator, human), (human, evaluator)):
        known = other.names()
        for name in side.names():
            if name not in known:
                places = [score.where for key, score in side.segments.items() if key.system == name]
                where = places[0] if places else side.systems[name].where
                raise InputError(
                    f"{where}: system {name!r} has scores of {side.name}, and none of {other.name} in {other.origin}"
                    f"{alternatives(name, known)}. --drop-systems {name} leaves it out"
                )


def _with_segments_of(human: Side, evaluator: Side) -> Side:
    """``evaluator`` with people's names of segments: those at the same positions where only one side has ids.

    Raises :class:`InputError` where positions do not tell which segments are meant.
    """
    if not evaluator.segments or not human.segments or not (evaluator.numbered or human.numbered):
        return evaluator
    segments: dict[Key, SegmentScore] = {}
    about = {}
    places: dict[str, int] = {}
    for system in evaluator.names():
        ours, theirs = evaluator.of_system(system), human.of_system(system)
        if len(ours) != len(theirs):
            raise InputError(
                f"{evaluator.origin}: {len(ours)} scores of system {system!r}, and {human.origin} has {len(theirs)}; "
                "segments without ids are matched by position, so that both must have all: None is a missing one"
            )
        named, keys = (human, theirs) if evaluator.numbered else (evaluator, ours)
        for place, key in enumerate(keys, start=1):
            if not named.numbered and places.setdefault(key.item, place) != place:
                raise InputError(
                    f"{named.segments[key].where}: segment {key.item!r} is number {place} of system {system!r} and "
                    f"number {places[key.item]} of others; scores without ids are matched by position, so that the "
                    "segments of all systems must stand in one order"
                )
        for own, key in zip(ours, theirs, strict=True):
            segments[key] = evaluator.segments[own]
            if own.item in evaluator.about:
                about[key.item] = evaluator.about[own.item]
    return replace(evaluator, segments=segments, about=about, numbered=human.numbered)


def _refuse_other_first(evaluator: Side, human: Side) -> None:
    """Equally many segments that one side counts from 0 and the other from 1: equal numbers are not one segment.

    Where texts are known on both sides, these tell. Raises :class:`InputError`.
    """
    shared = evaluator.segments.keys() & human.segments.keys()
    if any(None not in (evaluator.segments[key].translation, human.segments[key].translation) for key in shared):
        return
    ours, theirs = ({key.item for key in side.segments} for side in (evaluator, human))
    from_0, from_1 = ({str(number) for number in range(first, first + len(ours))} for first in (0, 1))
    if len(ours) > 1 and (ours, theirs) in ((from_0, from_1), (from_1, from_0)):
        raise InputError(
            f"{evaluator.origin}: counts its {len(ours)} segments from {min(map(int, ours))}, and {human.origin} from "
            f"{min(map(int, theirs))}: equal ids would be different segments; count alike in both"
        )


def _rows(evaluator: Side, human: Side, missing: Policy) -> Iterator[Row]:
    if not evaluator.segments or not human.segments:
        return
    keys = dict.fromkeys([*human.segments, *evaluator.segments])
    for key in keys:
        name = f"segment {key.item!r} of system {key.system!r}"
        ours, theirs = evaluator.segments.get(key, NO_SCORE), human.segments.get(key, NO_SCORE)
        for side, score, other in ((evaluator, ours, theirs), (human, theirs, ours)) if missing == "refuse" else ():
            if score is NO_SCORE:
                beside = human if side is evaluator else evaluator
                free = [own.item for own in side.of_system(key.system) if own not in beside.segments]
                hint = alternatives(key.item, free) if free else ""
                raise InputError(
                    f"{other.where}: {name} has no score of {side.name} in {side.origin}{hint}. {LEAVE_OUT}"
                )
            if score.score is None:
                why = f" ({score.why})" if score.why else ""
                raise InputError(f"{score.where}: the score of {name} by {side.name} is missing{why}; {LEAVE_OUT}")
        texts = [score.translation.split() for score in (ours, theirs) if score.translation is not None]
        if len(texts) == 2 and texts[0] != texts[1]:
            raise InputError(
                f"{ours.where}: {name} has another translation than in {theirs.where}: both must have been rated on "
                "the same text"
            )
        yield Row(*key, ours.score, theirs.score)
    items = dict.fromkeys(key.item for key in keys)
    for system in dict.fromkeys(key.system for key in keys) if missing == "refuse" else ():
        if lost := next((item for item in items if Key(system, item) not in keys), None):
            raise InputError(
                f"{evaluator.origin}: system {system!r} has no score of segment {lost!r}, which others have "
                f"({human.origin} has none either); {LEAVE_OUT}"
            )


def _with_texts_of(human: Side, evaluator: Side) -> Side:
    """``evaluator`` with people's texts, which may be spaced otherwise, and its spans at their places in these."""
    segments = dict(evaluator.segments)
    for key, score in evaluator.segments.items():
        text = human.segments.get(key, NO_SCORE).translation
        if text is not None and score.translation is not None and text != score.translation:
            errors = None if score.errors is None else tuple(_respaced(score.errors, score.translation, text))
            segments[key] = score._replace(translation=text, errors=errors)
    return replace(evaluator, segments=segments)


def _respaced(errors: Sequence[ErrorSpan], old: str, new: str) -> Iterator[ErrorSpan]:
    """``errors`` of ``old`` at their places in ``new``, which differs by white space alone."""
    letters = list(accumulate((not char.isspace() for char in old), initial=0))
    starts = [at for at, char in enumerate(new) if not char.isspace()]
    starts.append(len(new))
    ends = [0, *(at + 1 for at in starts)]
    for error in errors:
        start, end = error.start, error.end
        placed = start is not None and end is not None and end <= len(old) and error.side == "translation"
        if not placed or error.text not in ("", old[start:end]):
            yield error
            continue
        first, last = letters[start or 0], letters[end or 0]
        place = (starts[first], ends[last]) if first < last else (ends[first], starts[first])
        text = new[slice(*place)] if error.text else ""
        yield error.model_copy(update={"start": place[0], "end": place[1], "text": text})


# --- all that a user names


@dataclass(frozen=True)
class Inputs:
    """What to read.

    ``files`` and ``runs`` are ``[NAME=]FILE`` and ``[NAME=]RUN``, ``folder`` is one of mt-metrics-eval. ``human``: a
    file, ``NAME=FILE`` for the column NAME of it, a column of the files, or the name of the folder's human scores.
    ``metrics`` chooses evaluators (``chosen_by`` is the option that does), ``lower`` names those whose lower scores are
    better; ``item`` and ``lp`` as in :class:`ScoreTable`.
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
    chosen_by: str = "--metrics"

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them; not those in the folder."""
        paths = {f"-e {_spec(*_named_file(spec))}": _named_file(spec)[1] for spec in self.files}
        if (people := _human_file(self.human)[1]) is not None:
            paths["--human"] = people
        return paths | ({"--system-scores": self.system_scores} if self.system_scores else {})

    def reading(self, copies: Mapping[str, Path]) -> Inputs:
        """The same with ``copies`` of :attr:`paths`: standard input can be read only once."""
        files = tuple(_spec(_named_file(spec)[0], copies[f"-e {_spec(*_named_file(spec))}"]) for spec in self.files)
        human = _spec(_human_file(self.human)[0], copies["--human"]) if "--human" in copies else self.human
        return replace(self, files=files, human=human, system_scores=copies.get("--system-scores"))


def gather(inputs: Inputs, *, missing: Policy = "refuse", drop: Sequence[str] = ()) -> list[Match]:
    """Read everything, and put each evaluator beside people, without the systems in ``drop``.

    Raises :class:`mtagent.errors.MtagentError` for what is not there or does not fit together.
    """
    with spooled_copies(inputs.paths) as copies:  # errors name the files, not their copies
        inputs = inputs.reading(copies)
        human, evaluators = read_sides(inputs)
        if inputs.system_scores is not None:
            given = ScoreTable(read_table(inputs.system_scores)).systems()
            signed = f"|sys:{digest(inputs.system_scores)}"
            for side in (human, *evaluators):
                if side.name not in given:
                    hint = alternatives(side.name, given)
                    raise InputError(f"{inputs.system_scores}:1: no column {side.name!r}{hint}")
            human, *evaluators = (
                replace(side, systems=given[side.name], signature=side.signature + signed)
                for side in (human, *evaluators)
            )
        names = dict.fromkeys([*(side.name for side in evaluators), human.name])
        for name in inputs.lower:
            if name == human.name and any(side.name == name for side in evaluators):
                raise ConfigError(
                    f"--lower {name}: people's scores and an evaluator are called so; name one -e NAME=FILE"
                )
            if name not in names:
                raise ConfigError(f"--lower {name}: no such evaluator{alternatives(name, names)}")
        human, *evaluators = (side.negated() if side.name in inputs.lower else side for side in (human, *evaluators))
        systems = {name for side in (human, *evaluators) for name in side.names()}
        if unknown := [name for name in drop if name not in systems]:
            known = alternatives(unknown[0], sorted(systems))
            raise ConfigError(f"--drop-systems {unknown[0]}: no such system{known}")
        return [match(side, human, missing=missing, drop=drop) for side in evaluators]


def read_sides(inputs: Inputs) -> tuple[Side, list[Side]]:
    """People's scores, and those of the evaluators, as they stand in the files. Raises as :func:`gather` does.

    What files hold of evaluators of one name is pooled.
    """
    name, path = _human_file(inputs.human)
    column = inputs.human if path is None else None
    lp = languages.parse_pair(inputs.lp) if inputs.lp else None
    tables: dict[Path, ScoreTable] = {}
    evaluators, known, human = list[Side](), set[str](), None

    def add(sides: Sequence[Side], metrics: Sequence[str]) -> None:
        evaluators.extend(side for side in sides if not inputs.metrics or side.name in metrics)
        known.update(side.name for side in sides)

    if inputs.folder is not None:
        if not inputs.folder.is_dir():
            raise InputError(f"{inputs.folder}: is no folder of mt-metrics-eval")
        wanted = () if inputs.files or inputs.runs else inputs.metrics
        human, sides = read_folder(inputs.folder, inputs.lp, column, wanted, any_human=path is not None)
        add(sides, [side.name for side in sides for metric in inputs.metrics if is_metric(side.name, metric)])
    for given, file in map(_named_file, inputs.files):
        if file.is_dir():
            raise InputError(f"{file}: is a folder; --mtme reads those of mt-metrics-eval")
        if is_table(file):
            tables[file] = tables.get(file) or ScoreTable(read_table(file), inputs.item, lp)
            sides, names = tables[file].evaluators(given, inputs.metrics, name or column)
            add(sides, [side.name for side in sides])
            known |= names
        else:
            add([read_list(file, given)], inputs.metrics)
    if inputs.runs:
        with open_existing(inputs.store) as store:
            stored = {run.name for run in store.runs()}
            for spec in inputs.runs:
                named, equals, run = spec.partition("=")
                which, called = (run, named) if equals and spec not in stored else (spec, None)
                add([read_run(store, which, called, lp)], inputs.metrics)
    for metric in inputs.metrics:
        if metric not in known and not any(is_metric(side.name, metric) for side in evaluators):
            raise InputError(f"{inputs.chosen_by} {metric}: no such evaluator{alternatives(metric, sorted(known))}")
    if not evaluators:
        raise ConfigError("no evaluator is left to compare")
    by_name: dict[str, list[Side]] = {}
    for side in evaluators:
        by_name.setdefault(side.name, []).append(side)
    if human is None or path is not None:
        human = _read_people(inputs, tables, lp)
    return human, [pooled(sides) for sides in by_name.values()]


def _read_people(inputs: Inputs, tables: Mapping[Path, ScoreTable], lp: tuple[str, str] | None) -> Side:
    """People's scores: those of a file, or a column of the ``tables`` that have it."""
    name, path = _human_file(inputs.human)
    if path is not None:
        if not is_table(path):
            return read_list(path, name)
        return (tables.get(path) or ScoreTable(read_table(path), inputs.item, lp)).people(name)
    if inputs.human is None:
        raise ConfigError("whose judgement to compare with? --human FILE, NAME=FILE, or a column of the scores")
    sides = [table.people(inputs.human) for table in tables.values() if inputs.human in table.names]
    if not sides:
        columns = dict.fromkeys(name for table in tables.values() for name in table.names)
        raise InputError(
            f"--human {inputs.human}: neither a file nor a column of the scores{alternatives(inputs.human, columns)}"
        )
    return pooled(sides)


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


def _spec(name: str | None, path: Path) -> str:
    """What names a file, in one form however its path is written."""
    return str(path) if name is None else f"{name}={path}"
