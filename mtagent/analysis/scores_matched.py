"""An evaluator's scores beside people's: the same systems, the same segments, and an error where they are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import NamedTuple

from mtagent.analysis.agreement import Paired, Policy, Row, paired, system_level
from mtagent.analysis.scores_read import ONE, Given, Key, Side, meant, refuse_other_pair
from mtagent.errors import InputError
from mtagent.formats.exports import plain_name
from mtagent.records import ErrorSpan


def named_alike(evaluator: Side, human: Side) -> Side:
    """``evaluator`` with people's names of systems, where mt-metrics-eval's names (``gpt_4_1``) leave no doubt."""
    theirs, ours = human.names(), evaluator.names()
    if len(theirs) == len(ours) == 1 and ONE in (*theirs, *ours):
        return evaluator.with_names({ours[0]: theirs[0]})
    free = {name: plain_name(name) for name in theirs if name not in ours}
    alike = {name: [one for one in free if free[one] == plain_name(name)] for name in ours if name not in theirs}
    names = {name: found[0] for name, found in alike.items() if len(found) == 1}
    claims = Counter(names.values())
    return evaluator.with_names({name: one for name, one in names.items() if claims[one] == 1})


def in_their_segments(evaluator: Side, human: Side) -> Side:
    """``evaluator`` with people's names of segments: those at the same positions where only one side has ids.

    Raises :class:`InputError` where positions do not tell which segments are meant.
    """
    if not evaluator.segments or not human.segments:
        return evaluator
    if evaluator.numbered or human.numbered:
        for system in evaluator.names():
            ours, theirs = len(evaluator.of_system(system)), len(human.of_system(system))
            if ours != theirs:
                raise InputError(
                    f"{evaluator.origin}: {ours} scores of system {system!r}, and {human.origin} has {theirs}; "
                    "segments without ids are matched by position, so that both must have all: None is a missing one"
                )
    if evaluator.numbered == human.numbered:
        return evaluator
    _refuse_other_order(human if evaluator.numbered else evaluator)
    found: dict[Key, Given] = {}
    about = {}
    for system in evaluator.names():
        for own, key in zip(evaluator.of_system(system), human.of_system(system), strict=True):
            found[key] = evaluator.segments[own]
            if own.item in evaluator.about:
                about[key.item] = evaluator.about[own.item]
    return replace(evaluator, segments=found, about=about, numbered=human.numbered)


def _refuse_other_order(side: Side) -> None:
    """A segment at another position for another system: then positions do not tell which segment is meant."""
    places: dict[str, int] = {}
    for system in side.names():
        for place, key in enumerate(side.of_system(system)):
            if places.setdefault(key.item, place) != place:
                raise InputError(
                    f"{side.segments[key].where}: segment {key.item!r} is number {place + 1} of system {system!r} and "
                    f"number {places[key.item] + 1} of others; scores without ids are matched by position, so that the "
                    "segments of all systems must stand in one order"
                )


def refuse_other_first(evaluator: Side, human: Side) -> None:
    """Equally many segments that one side counts from 0 and the other from 1: equal numbers are not one segment.

    Where texts are known on both sides, these tell. Raises :class:`InputError`.
    """
    shared = ((given, human.segments[key]) for key, given in evaluator.segments.items() if key in human.segments)
    if any(None not in (one.translation, other.translation) for one, other in shared):
        return
    ours, theirs = ({key.item for key in side.segments} for side in (evaluator, human))
    counted = [{str(number) for number in range(first, first + len(ours))} for first in (0, 1)]
    if len(ours) > 1 and [ours, theirs] in (counted, counted[::-1]):
        raise InputError(
            f"{evaluator.origin}: counts its {len(ours)} segments from {min(map(int, ours))}, and {human.origin} from "
            f"{min(map(int, theirs))}: equal ids would be different segments; count alike in both"
        )


def refuse_other_text(key: Key, ours: Given, theirs: Given) -> None:
    """Raise :class:`InputError` where both texts are known, and differ by more than white space."""
    texts = (ours.translation, theirs.translation)
    if None not in texts and " ".join(str(texts[0]).split()) != " ".join(str(texts[1]).split()):
        raise InputError(
            f"{ours.where}: segment {key.item!r} of system {key.system!r} has another translation than in "
            f"{theirs.where}: both must have been rated on the same text"
        )


def in_their_texts(evaluator: Side, human: Side) -> Side:
    """``evaluator`` with people's texts, which may be spaced otherwise, and its spans at their places in these."""
    found = dict(evaluator.segments)
    for key, ours in evaluator.segments.items():
        text = human.segments[key].translation if key in human.segments else None
        if text is not None and ours.translation is not None and text != ours.translation:
            errors = None if ours.errors is None else tuple(_respaced(ours.errors, ours.translation, text))
            found[key] = ours._replace(translation=text, errors=errors)
    return replace(evaluator, segments=found)


def _respaced(errors: Sequence[ErrorSpan], old: str, new: str) -> Iterator[ErrorSpan]:
    """``errors`` of ``old`` at their places in ``new``, which differs by white space alone."""
    letters = list(accumulate((not char.isspace() for char in old), initial=0))
    starts = [at for at, char in enumerate(new) if not char.isspace()]
    starts.append(len(new))
    ends = [0, *(at + 1 for at in starts)]
    for one in errors:
        start, end = one.start, one.end
        if one.side != "translation" or start is None or end is None or end > len(old):
            yield one
        elif one.text in ("", old[start:end]):
            first, last = letters[start], letters[end]
            place = (starts[first], ends[last]) if first < last else (ends[first], starts[first])
            text = new[slice(*place)] if one.text else ""
            yield one.model_copy(update={"start": place[0], "end": place[1], "text": text})
        else:
            yield one


LEAVE_OUT = "--missing leave-out leaves such translations out, and counts them"
NOTHING = Given(None, "")


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

    def of_items(self, items: Sequence[str]) -> Match:
        """Only these segments; scores that were given for whole systems are not about them."""
        wanted = set(items)
        rows = tuple(row for row in self.rows if row.item in wanted)
        evaluator, human = (replace(side, systems={}) for side in self[:2])
        return self._replace(evaluator=evaluator, human=human, rows=rows)

    def segments(self) -> Paired | None:
        """The paired scores of segments; ``None`` where not one has both."""
        if not any(row.evaluator is not None and row.human is not None for row in self.rows):
            return None
        return paired(self.rows, missing=self.missing)

    def systems(self) -> Paired | None:
        """The paired scores of systems: those given, or the means over the segments that have both scores."""
        if not self.given_systems:
            segments = self.segments()
            return system_level(segments) if segments else None
        given = [side.systems for side in (self.evaluator, self.human)]
        names = dict.fromkeys([*given[1], *given[0]])
        rows = [Row(name, "", *(systems.get(name, NOTHING).score for systems in given)) for name in names]
        if not any(row.evaluator is not None and row.human is not None for row in rows):
            return None
        return paired(rows, missing=self.missing, level="sys")

    @property
    def given_systems(self) -> bool:
        """Whether both sides have given scores (no means) of systems, of all whose segments both have scored."""
        evaluator, human = (
            {name for name, given in side.systems.items() if given.score is not None} for side in self[:2]
        )
        scored = {row.system for row in self.rows if row.evaluator is not None and row.human is not None}
        return bool(evaluator & human) and scored <= evaluator & human


def match(evaluator: Side, human: Side, *, missing: Policy = "refuse", drop: Sequence[str] = ()) -> Match:
    """Put both sides together, without the systems in ``drop``.

    Systems are matched by name, or by the name that mt-metrics-eval allows (``gpt_4_1`` for ``gpt-4.1``); segments by
    id, or by position where one of the sides has no ids. Raises :class:`InputError`, naming file and line, for systems
    or segments that only one side has and for missing scores (unless ``missing`` is ``leave-out``), and in any case
    where positions cannot be told, or the texts that were rated differ.
    """
    evaluator = named_alike(evaluator, human)
    human, evaluator = _without(human, drop), _without(evaluator, drop)
    evaluator, others = named_alike(evaluator, human), list[str]()
    if missing == "refuse":
        _refuse_other_systems(evaluator, human)
    else:
        shared = set(evaluator.names()) & set(human.names())
        if not shared:
            raise InputError(f"{evaluator.origin}: has no system that {human.origin} has{_both(evaluator, human)}")
        others = [name for side in (human, evaluator) for name in side.names() if name not in shared]
        evaluator, human = evaluator.only(shared), human.only(shared)
    evaluator = in_their_segments(evaluator, human)
    refuse_other_pair(evaluator, human.about, human.origin)
    refuse_other_first(evaluator, human)
    rows = tuple(_rows(evaluator, human, missing))
    return Match(in_their_texts(evaluator, human), human, rows, missing, tuple(others))


def _without(side: Side, drop: Sequence[str]) -> Side:
    held = side.names()
    unwanted = {name if name in held else plain_name(name) for name in drop}
    kept = side.only(name for name in held if name not in unwanted)
    if not kept.names():
        raise InputError(f"{side.origin}: no system of {side.name} is left to compare")
    return kept


def _refuse_other_systems(evaluator: Side, human: Side) -> None:
    for side, other in ((evaluator, human), (human, evaluator)):
        held = other.names()
        for name in side.names():
            if name not in held:
                where = next((given.where for key, given in _all(side) if key.system == name), side.origin)
                raise InputError(
                    f"{where}: system {name!r} has scores of {side.name}, and none of {other.name} in {other.origin}"
                    f"{meant(name, held)}. --drop-systems {name} leaves it out"
                )


def _all(side: Side) -> Iterator[tuple[Key, Given]]:
    return chain(side.segments.items(), ((Key(name, ""), given) for name, given in side.systems.items()))


def _both(evaluator: Side, human: Side) -> str:
    return f": {', '.join(evaluator.names())} against {', '.join(human.names())}"


def _rows(evaluator: Side, human: Side, missing: Policy) -> Iterator[Row]:
    if not evaluator.segments or not human.segments:
        return
    keys = list(dict.fromkeys([*human.segments, *evaluator.segments]))
    for key in keys:
        ours, theirs = evaluator.segments.get(key, NOTHING), human.segments.get(key, NOTHING)
        if missing == "refuse":
            _refuse_missing(key, ours, theirs, evaluator, human)
        refuse_other_text(key, ours, theirs)
        yield Row(*key, ours.score, theirs.score)
    if missing == "refuse":
        _refuse_gaps(keys, evaluator, human)


def _refuse_gaps(keys: Sequence[Key], evaluator: Side, human: Side) -> None:
    """A segment that both sides lack for one of the systems."""
    held = set(keys)
    items = dict.fromkeys(key.item for key in keys)
    for system in dict.fromkeys(key.system for key in keys):
        if lost := next((item for item in items if Key(system, item) not in held), None):
            raise InputError(
                f"{evaluator.origin}: system {system!r} has no score of segment {lost!r}, which others have "
                f"({human.origin} has none either); {LEAVE_OUT}"
            )


def _refuse_missing(key: Key, ours: Given, theirs: Given, evaluator: Side, human: Side) -> None:
    for given, other, side, beside in ((ours, theirs, evaluator, human), (theirs, ours, human, evaluator)):
        named = f"segment {key.item!r} of system {key.system!r}"
        if given is NOTHING:
            others = [one.item for one in side.of_system(key.system) if one not in beside.segments]
            hint = meant(key.item, others) if others else ""
            raise InputError(f"{other.where}: {named} has no score of {side.name} in {side.origin}{hint}. {LEAVE_OUT}")
        if given.score is None:
            why = f" ({given.why})" if given.why else ""
            raise InputError(f"{given.where}: the score of {named} by {side.name} is missing{why}; {LEAVE_OUT}")
