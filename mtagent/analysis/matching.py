"""An evaluator's scores compared with people's: the same systems, the same segments, and an error where they are not.

``gather`` reads all that a user names; ``match`` matches an evaluator with people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from mtagent.analysis.agreement import PairedScores, Policy, ScorePair, paired, system_level
from mtagent.analysis.mtme_folder import folder_pairs, is_metric, read_folder
from mtagent.analysis.scores import (
    NO_SCORE,
    UNNAMED,
    ScoreTable,
    SegmentInfo,
    SegmentScore,
    Side,
    TranslationKey,
    alternatives,
    digest,
    is_table,
    joined_about,
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
    """An evaluator matched with people, with equal names of systems and segments.

    The names are people's, and so are the texts where both have them, so that several evaluators go together.
    """

    evaluator: Side
    human: Side
    rows: tuple[ScorePair, ...]
    """The scores of segments in pairs."""
    missing: Policy
    others: tuple[str, ...] = ()
    """Systems that only one side has; they are left out."""

    @property
    def name(self) -> str:
        """The evaluator's name."""
        return self.evaluator.name

    @property
    def scored_rows(self) -> list[ScorePair]:
        """The rows with both scores."""
        return [row for row in self.rows if row.evaluator is not None and row.human is not None]

    def of_items(self, items: Sequence[str]) -> Match:
        """Only these segments, without scores that were given for whole systems."""
        chosen = set(items)
        return self._replace(
            evaluator=replace(self.evaluator, systems={}),
            human=replace(self.human, systems={}),
            rows=tuple(row for row in self.rows if row.item in chosen),
        )

    def segments(self) -> PairedScores | None:
        """The paired scores of segments; ``None`` if no segment has both."""
        return paired(self.rows, missing=self.missing) if self.scored_rows else None

    def systems(self) -> PairedScores | None:
        """The paired scores of systems: those given, or the means over the segments that have both scores."""
        if not self.given_systems:
            segments = self.segments()
            return system_level(segments) if segments else None
        rows = []
        for name in dict.fromkeys([*self.human.systems, *self.evaluator.systems]):
            score = self.evaluator.systems.get(name, NO_SCORE).score
            human_score = self.human.systems.get(name, NO_SCORE).score
            rows.append(ScorePair(name, "", score, human_score))
        return paired(rows, missing=self.missing, level="sys")

    @property
    def given_systems(self) -> bool:
        """Whether both sides have given scores (not means) of all systems whose segments both have scored."""
        shared = _systems_with_given_score(self.evaluator) & _systems_with_given_score(self.human)
        return bool(shared) and {row.system for row in self.scored_rows} <= shared

    def translations(self) -> Iterator[tuple[TranslationKey, SegmentScore, SegmentScore]]:
        """Each translation with the score of the evaluator and the score of people."""
        for key in dict.fromkeys([*self.human.segments, *self.evaluator.segments]):
            yield key, self.evaluator.segments.get(key, NO_SCORE), self.human.segments.get(key, NO_SCORE)

    @property
    def marked(self) -> bool:
        """Whether both sides marked errors, in texts that a file holds."""
        if not (self.evaluator.marks and self.human.marks):
            return False
        for _, rating, human_rating in self.translations():
            if rating.translation is not None or human_rating.translation is not None:
                return True
        return False

    @property
    def same_scores(self) -> bool:
        """Whether all scores of the evaluator equal people's."""
        return bool(self.rows) and all(row.evaluator == row.human for row in self.rows)

    @property
    def same_spans(self) -> bool:
        """Whether all error spans of the evaluator equal people's, and there are some."""
        has_spans = False
        for key, rating in self.evaluator.segments.items():
            human_rating = self.human.segments.get(key)
            if human_rating is None or not rating.errors:
                continue
            if rating.errors != human_rating.errors:
                return False
            has_spans = True
        return has_spans


def _systems_with_given_score(side: Side) -> set[str]:
    return {name for name, given in side.systems.items() if given.score is not None}


def match(evaluator: Side, human: Side, *, missing: Policy = "refuse", drop: Sequence[str] = ()) -> Match:
    """Put both sides together, without the systems in ``drop``.

    Systems are matched by name, or by the name that mt-metrics-eval allows (``gpt_4_1`` for ``gpt-4.1``); segments by
    id, or by position where one of the sides has no ids. Raises :class:`InputError`, naming file and line, for systems
    or segments that only one side has and for missing scores (unless ``missing`` is ``leave-out``), and in any case
    where positions cannot be told, or the texts that were rated differ.
    """
    evaluator = _with_names_of(human, evaluator)
    human = _without(human, drop)
    evaluator = _without(evaluator, drop)
    # Again, for a file without names: only now it may be clear which system it is about.
    evaluator = _with_names_of(human, evaluator)
    names, human_names = evaluator.names(), human.names()
    others = _not_in(names, human_names) + _not_in(human_names, names)
    if missing == "refuse":
        _refuse_other_systems(evaluator, human)
    if not set(names) & set(human_names):
        raise InputError(
            f"{evaluator.origin}: has no system that {human.origin} has: {', '.join(names)} against "
            f"{', '.join(human_names)}"
        )
    evaluator, human = evaluator.only(human_names), human.only(names)
    evaluator = _with_segments_of(human, evaluator)
    refuse_other_pair(evaluator, human.about, human.origin)
    _refuse_other_first(evaluator, human)
    rows = tuple(_rows(evaluator, human, missing))
    return Match(_with_texts_of(human, evaluator), human, rows, missing, tuple(others))


def _not_in(others: Sequence[str], names: Sequence[str]) -> list[str]:
    """The ``names`` that are not among the ``others``."""
    return [name for name in names if name not in others]


def _with_names_of(human: Side, evaluator: Side) -> Side:
    """``evaluator`` with people's names of systems, where mt-metrics-eval's names (``gpt_4_1``) leave no doubt."""
    human_names, names = human.names(), evaluator.names()
    if len(human_names) == len(names) == 1 and UNNAMED in (*human_names, *names):
        return evaluator.with_names({names[0]: human_names[0]})
    # Names that only one side has, by the plain name that they share.
    human_names_by_plain: dict[str, list[str]] = {}
    for name in human_names:
        if name not in names:
            human_names_by_plain.setdefault(plain_name(name), []).append(name)
    unmatched_names = _not_in(human_names, names)
    claims = Counter(map(plain_name, unmatched_names))
    new_names = dict(zip(names, names, strict=True))
    for name in unmatched_names:
        candidates = human_names_by_plain.get(plain_name(name), [])
        if len(candidates) == 1 and claims[plain_name(name)] == 1:
            new_names[name] = candidates[0]
    return evaluator.with_names(new_names)


def _without(side: Side, drop: Sequence[str]) -> Side:
    names = side.names()
    dropped = {name if name in names else plain_name(name) for name in drop}
    remaining = [name for name in names if name not in dropped]
    if not remaining:
        raise InputError(f"{side.origin}: no system of {side.name} remains to compare")
    return side.only(remaining)


def _refuse_other_systems(evaluator: Side, human: Side) -> None:
    for side, other in ((evaluator, human), (human, evaluator)):
        other_names = other.names()
        for name in side.names():
            if name in other_names:
                continue
            keys = side.of_system(name)
            where = side.segments[keys[0]].where if keys else side.systems[name].where
            raise InputError(
                f"{where}: system {name!r} has scores of {side.name}, but none of {other.name} in {other.origin}"
                f"{alternatives(name, other_names)}. --drop-systems {name} leaves it out"
            )


def _with_segments_of(human: Side, evaluator: Side) -> Side:
    """``evaluator`` with people's names of segments: those at the same positions where only one side has ids.

    Raises :class:`InputError` if positions don't identify segments.
    """
    if not evaluator.segments or not human.segments or not (evaluator.numbered or human.numbered):
        return evaluator
    segments: dict[TranslationKey, SegmentScore] = {}
    about = {}
    places: dict[str, int] = {}
    for system in evaluator.names():
        keys, human_keys = evaluator.of_system(system), human.of_system(system)
        if len(keys) != len(human_keys):
            raise InputError(
                f"{evaluator.origin}: {len(keys)} scores of system {system!r}, and {human.origin} has "
                f"{len(human_keys)}; segments without ids are matched by position, so both must have all: None is a "
                "missing one"
            )
        # Positions identify segments only if ids have the same order in all systems.
        named, named_keys = (human, human_keys) if evaluator.numbered else (evaluator, keys)
        for place, key in enumerate(named_keys, start=1):
            if not named.numbered and places.setdefault(key.item, place) != place:
                raise InputError(
                    f"{named.segments[key].where}: segment {key.item!r} is number {place} of system {system!r} and "
                    f"number {places[key.item]} of others; scores without ids are matched by position, so all systems "
                    "need their segments in the same order"
                )
        for key, human_key in zip(keys, human_keys, strict=True):
            segments[human_key] = evaluator.segments[key]
            if key.item in evaluator.about:
                about[human_key.item] = evaluator.about[key.item]
    return replace(evaluator, segments=segments, about=about, numbered=human.numbered)


def _refuse_other_first(evaluator: Side, human: Side) -> None:
    """Refuse ids that one side counts from 0 and the other from 1: equal numbers would not be the same segment.

    If both sides have the texts, these decide. Raises :class:`InputError`.
    """
    for key in evaluator.segments.keys() & human.segments.keys():
        if evaluator.segments[key].translation is not None and human.segments[key].translation is not None:
            return
    items = {key.item for key in evaluator.segments}
    human_items = {key.item for key in human.segments}
    number = len(items)
    from_0 = set(map(str, range(number)))
    from_1 = set(map(str, range(1, number + 1)))
    if number > 1 and (items, human_items) in ((from_0, from_1), (from_1, from_0)):
        raise InputError(
            f"{evaluator.origin}: counts its {number} segments from {min(map(int, items))}, and {human.origin} from "
            f"{min(map(int, human_items))}: the same id would mean different segments; number both alike"
        )


def _rows(evaluator: Side, human: Side, missing: Policy) -> Iterator[ScorePair]:
    if not evaluator.segments or not human.segments:
        return
    keys = dict.fromkeys([*human.segments, *evaluator.segments])
    for key in keys:
        score = evaluator.segments.get(key, NO_SCORE)
        human_score = human.segments.get(key, NO_SCORE)
        if missing == "refuse":
            _refuse_missing(key, evaluator, human, score, human_score)
            _refuse_missing(key, human, evaluator, human_score, score)
        text, human_text = score.translation, human_score.translation
        # White space may differ.
        if text is not None and human_text is not None and text.split() != human_text.split():
            raise InputError(
                f"{score.where}: segment {key.item!r} of system {key.system!r} has another translation than in "
                f"{human_score.where}: both must have been rated on the same text"
            )
        yield ScorePair(*key, score.score, human_score.score)
    if missing == "refuse":
        _refuse_absent(keys, evaluator, human)


def _refuse_missing(
    key: TranslationKey, side: Side, other_side: Side, score: SegmentScore, other_score: SegmentScore
) -> None:
    """Raise :class:`InputError` if ``side`` has no score of a translation."""
    name = f"segment {key.item!r} of system {key.system!r}"
    if score is NO_SCORE:
        unmatched = []
        for other in side.of_system(key.system):
            if other not in other_side.segments:
                unmatched.append(other.item)
        hint = alternatives(key.item, unmatched) if unmatched else ""
        raise InputError(f"{other_score.where}: {name} has no score of {side.name} in {side.origin}{hint}. {LEAVE_OUT}")
    if score.score is None:
        why = f" ({score.why})" if score.why else ""
        raise InputError(f"{score.where}: the score of {name} by {side.name} is missing{why}; {LEAVE_OUT}")


def _refuse_absent(keys: Mapping[TranslationKey, None], evaluator: Side, human: Side) -> None:
    """Raise :class:`InputError` for a segment that some systems have, and others lack on both sides."""
    systems: dict[str, None] = {}
    items: dict[str, None] = {}
    for key in keys:
        systems[key.system] = None
        items[key.item] = None
    for system in systems:
        for item in items:
            if TranslationKey(system, item) not in keys:
                raise InputError(
                    f"{evaluator.origin}: system {system!r} has no score of segment {item!r}, which others have "
                    f"({human.origin} has none either); {LEAVE_OUT}"
                )


def _with_texts_of(human: Side, evaluator: Side) -> Side:
    """``evaluator`` with people's texts, which may be spaced otherwise, and its spans at their places in these."""
    segments = dict(evaluator.segments)
    for key, score in evaluator.segments.items():
        text = human.segments.get(key, NO_SCORE).translation
        if text is None or score.translation is None or text == score.translation:
            continue
        segments[key] = score._replace(translation=text)
        if score.errors is not None:
            errors = tuple(_respaced(score.errors, score.translation, text))
            segments[key] = segments[key]._replace(errors=errors)
    return replace(evaluator, segments=segments)


def _respaced(errors: Sequence[ErrorSpan], old: str, new: str) -> Iterator[ErrorSpan]:
    """``errors`` of ``old`` at their places in ``new``, which differs by white space alone."""
    # For each place in the old text: the letters before it. For each letter of the new text: where it starts and ends.
    letters = list(accumulate((not char.isspace() for char in old), initial=0))
    starts, ends = [], [0]
    for place, char in enumerate(new):
        if not char.isspace():
            starts.append(place)
            ends.append(place + 1)
    starts.append(len(new))
    for error in errors:
        start, end = error.start, error.end
        if start is None or end is None or end > len(old) or error.side != "translation":
            yield error
            continue
        if error.text not in ("", old[start:end]):
            yield error
            continue
        first, last = letters[start], letters[end]
        if first < last:
            new_start, new_end = starts[first], ends[last]
        else:  # a span of white space only has no letter to begin with
            new_start, new_end = ends[first], starts[first]
        text = new[new_start:new_end] if error.text else ""
        yield error.model_copy(update={"start": new_start, "end": new_end, "text": text})


# --- all that a user names


@dataclass(frozen=True)
class Inputs:
    """What to read."""

    human: str | None
    """A file, ``NAME=FILE`` for its column NAME, a column of the files, or the name of the folder's human scores."""
    files: tuple[str, ...] = ()
    """Each ``[NAME=]FILE``."""
    runs: tuple[str, ...] = ()
    """Each ``[NAME=]RUN``."""
    folder: Path | None = None
    """A folder of mt-metrics-eval."""
    system_scores: Path | None = None
    metrics: tuple[str, ...] = ()
    """The evaluators to take; all if empty."""
    lower: tuple[str, ...] = ()
    """Evaluators whose lower scores are better."""
    lp: str | None = None
    item: tuple[str, ...] = ()
    """Both as in :class:`ScoreTable`."""
    store: Path | None = None
    chosen_by: str = "--metrics"
    """The option that ``metrics`` come from, for messages."""

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them; not those in the folder."""
        paths = {}
        for spec in self.files:
            name, path = _named_file(spec)
            paths[f"-e {_spec(name, path)}"] = path
        _, human_file = _human_file(self.human)
        if human_file is not None:
            paths["--human"] = human_file
        if self.system_scores:
            paths["--system-scores"] = self.system_scores
        return paths

    def reading(self, copies: Mapping[str, Path]) -> Inputs:
        """The same with ``copies`` of :attr:`paths`: standard input can be read only once."""
        files = []
        for spec in self.files:
            name, path = _named_file(spec)
            files.append(_spec(name, copies[f"-e {_spec(name, path)}"]))
        human = self.human
        if "--human" in copies:
            column, _ = _human_file(self.human)
            human = _spec(column, copies["--human"])
        return replace(self, files=tuple(files), human=human, system_scores=copies.get("--system-scores"))


def gather(inputs: Inputs, *, missing: Policy = "refuse", drop: Sequence[str] = ()) -> dict[str | None, list[Match]]:
    """Read everything, and match each evaluator with people, without the systems in ``drop``: for each language pair.

    Without several language pairs there is one list, under ``None``. Raises :class:`mtagent.errors.MtagentError` for
    what is not there or does not fit together, and where only some of the segments have a language pair.
    """
    with spooled_copies(inputs.paths) as copies:  # errors name the files, not their copies
        inputs = inputs.reading(copies)
        sides_by_pair: dict[str | None, list[Side]] = {}
        if inputs.folder is not None and inputs.lp is None:
            _, human_file = _human_file(inputs.human)
            pairs = folder_pairs(inputs.folder, inputs.human if human_file is None else None)
            if len(pairs) > 1:
                for name in pairs:
                    sides_by_pair[name] = _sides(replace(inputs, lp=name))
        if not sides_by_pair:
            sides_by_pair = _by_pair(_sides(inputs), inputs.system_scores)
        systems: set[str] = set()
        for sides in sides_by_pair.values():
            for side in sides:
                systems.update(side.names())
        for name in drop:
            if name not in systems:
                raise ConfigError(f"--drop-systems {name}: no such system{alternatives(name, sorted(systems))}")
        matches: dict[str | None, list[Match]] = {}
        for pair, (human, *evaluators) in sides_by_pair.items():
            matches[pair] = [match(side, human, missing=missing, drop=drop) for side in evaluators]
        return matches


def _sides(inputs: Inputs) -> list[Side]:
    """People's scores and those of the evaluators, all with the better scores higher."""
    human, evaluators = read_sides(inputs)
    if inputs.system_scores is not None:
        human, *evaluators = _with_given_systems([human, *evaluators], inputs.system_scores)
    _refuse_unknown_lower(inputs.lower, human, evaluators)
    sides = []
    for side in (human, *evaluators):
        sides.append(side.negated() if side.name in inputs.lower else side)
    return sides


def _by_pair(sides: Sequence[Side], system_scores: Path | None) -> dict[str | None, list[Side]]:
    """The sides (people first) of each language pair that people have rated; evaluators only where they have scores."""
    infos = joined_about(sides)
    items_by_pair: dict[str | None, list[str]] = {}
    for side in sides:
        for key in side.segments:
            pair = _pair_name(infos.get(key.item, SegmentInfo()))
            items_by_pair.setdefault(pair, []).append(key.item)
    if len(items_by_pair.keys() - {None}) < 2:
        return {None: list(sides)}
    way_out = "take one with -l"
    if None in items_by_pair:
        raise InputError(
            f"segment {items_by_pair[None][0]!r} has no language pair, and others have several: give all of them one "
            f"(a column lp), or {way_out}"
        )
    if system_scores is not None:
        raise InputError(
            f"{system_scores}: the scores of whole systems are of one language pair, and the segments have "
            f"{len(items_by_pair)}: {way_out}"
        )
    sides_by_pair: dict[str | None, list[Side]] = {}
    for pair, items in items_by_pair.items():
        human, *evaluators = (side.of_items(items) for side in sides)
        rated = [side for side in evaluators if side.segments]
        if human.segments and rated:
            sides_by_pair[pair] = [human, *rated]
    return sides_by_pair


def _pair_name(info: SegmentInfo) -> str | None:
    """The language pair with scripts and regions, which WMT has as pairs of their own; unknown languages as given."""
    if info.source_lang is None or info.target_lang is None:
        return None
    try:
        return f"{languages.normalise(info.source_lang)}-{languages.normalise(info.target_lang)}"
    except ConfigError:
        return f"{info.source_lang}-{info.target_lang}"


def _with_given_systems(sides: Sequence[Side], path: Path) -> list[Side]:
    """``sides`` with the scores of whole systems in the table ``path``."""
    given = ScoreTable(read_table(path)).systems()
    signature = f"|sys:{digest(path)}"
    with_systems = []
    for side in sides:
        if side.name not in given:
            raise InputError(f"{path}:1: no column {side.name!r}{alternatives(side.name, given)}")
        with_systems.append(replace(side, systems=given[side.name], signature=side.signature + signature))
    return with_systems


def _refuse_unknown_lower(lower: Sequence[str], human: Side, evaluators: Sequence[Side]) -> None:
    evaluator_names = [side.name for side in evaluators]
    names = dict.fromkeys([*evaluator_names, human.name])
    for name in lower:
        if name == human.name and name in evaluator_names:
            raise ConfigError(
                f"--lower {name}: both people's scores and an evaluator have this name; name one -e NAME=FILE"
            )
        if name not in names:
            raise ConfigError(f"--lower {name}: no such evaluator{alternatives(name, names)}")


def read_sides(inputs: Inputs) -> tuple[Side, list[Side]]:
    """The scores of people and of the evaluators, as the files have them. Raises as :func:`gather` does.

    What files hold of evaluators of one name is pooled.
    """
    human_column, human_file = _human_file(inputs.human)
    if human_file is None:
        human_column = inputs.human
    lp = languages.parse_pair(inputs.lp) if inputs.lp else None
    tables: dict[Path, ScoreTable] = {}
    human: Side | None = None
    evaluators: list[Side] = []
    names: set[str] = set()

    def add(side: Side) -> None:
        names.add(side.name)
        if not inputs.metrics or side.name in inputs.metrics:
            evaluators.append(side)

    if inputs.folder is not None:
        metrics = () if inputs.files or inputs.runs else inputs.metrics
        human_name = inputs.human if human_file is None else None
        human, sides = read_folder(inputs.folder, inputs.lp, human_name, metrics, any_human=human_file is not None)
        for side in sides:
            names.add(side.name)
            # The folder's names may end with a reference that the user left out.
            if not inputs.metrics or any(is_metric(side.name, metric) for metric in inputs.metrics):
                evaluators.append(side)
    for given_name, file in map(_named_file, inputs.files):
        if file.is_dir():
            raise InputError(f"{file}: is a folder; --mtme reads those of mt-metrics-eval")
        if is_table(file):
            tables[file] = tables.get(file) or ScoreTable(read_table(file), inputs.item, lp)
            sides, table_names = tables[file].evaluators(given_name, inputs.metrics, human_column)
            evaluators += sides
            names |= table_names
        else:
            add(read_list(file, given_name))
    if inputs.runs:
        with open_existing(inputs.store) as store:
            stored = store.names()
            for spec in inputs.runs:
                name, equals, run = spec.partition("=")
                if equals and spec not in stored:
                    add(read_run(store, run, name, lp))
                else:
                    add(read_run(store, spec, None, lp))
    for metric in inputs.metrics:
        if metric not in names and not any(is_metric(side.name, metric) for side in evaluators):
            raise InputError(f"{inputs.chosen_by} {metric}: no such evaluator{alternatives(metric, sorted(names))}")
    if not evaluators:
        raise ConfigError("no evaluator remains to compare")
    by_name: dict[str, list[Side]] = {}
    for side in evaluators:
        by_name.setdefault(side.name, []).append(side)
    if human is None or human_file is not None:
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
        raise ConfigError("no human scores are given; use --human FILE, NAME=FILE, or a column of the scores")
    sides = []
    columns: dict[str, None] = {}
    for table in tables.values():
        columns |= dict.fromkeys(table.names)
        if inputs.human in table.names:
            sides.append(table.people(inputs.human))
    if not sides:
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
    if Path(spec).is_dir() and ("/" in spec or is_table(Path(spec))):
        raise InputError(f"{spec}: is a folder; expected a file with people's scores")
    if "/" in spec or is_table(Path(spec)):
        raise InputError(f"{spec}: no such file")
    return None, None


def _named_file(spec: str) -> tuple[str | None, Path]:
    name, equals, path = spec.partition("=")
    if equals and name and path and not Path(spec).exists():
        return name, Path(path)
    return None, Path(spec)


def _spec(name: str | None, path: Path) -> str:
    """What names a file, in one form however its path is written."""
    return str(path) if name is None else f"{name}={path}"
