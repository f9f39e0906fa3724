"""Which guards there are, what a change damages, and which edit is to blame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mtagent.guards import kept, language, shape
from mtagent.guards.newly import Guard, newly
from mtagent.records import Edit, Record, Segment

GUARDS: dict[str, Guard] = {
    "placeholders": newly(kept.placeholders),
    "tags": newly(kept.tags),
    "urls": newly(kept.urls),
    "emails": newly(kept.emails),
    "numbers": newly(kept.numbers),
    "units": kept.units,
    "markdown": newly(shape.markdown),
    "paragraphs": shape.paragraphs,
    "whitespace": shape.whitespace,
    "terms": newly(kept.terms),
    "brackets": newly(shape.brackets),
    "quotes": newly(shape.quotes),
    "script": language.script,
    "control": newly(language.control),
    "repetition": newly(language.repetition),
    "end": shape.end,
    "length": language.length,
}
"""All guards by name. A program may add its own: ``GUARDS["mine"] = lambda segment, before, after: [...]``."""


_MOST_DETAILS = 100
_LONGEST_DETAIL = 500


class Damage(Record):
    """Something that a change newly damages: the guard that saw it, and what it saw."""

    guard: str
    detail: str

    def __str__(self) -> str:
        return f"{self.guard}: {self.detail}"


def damages(
    segment: Segment,
    before: str,
    after: str,
    *,
    skip: frozenset[str] = frozenset(),
    guards: Mapping[str, Guard] | None = None,
) -> tuple[Damage, ...]:
    """What the change from ``before`` to ``after`` newly damages; ``()`` = clean.

    ``segment`` gives source, languages and terms. Guards named in ``skip`` are left out; ``guards`` replaces
    :data:`GUARDS`.
    """
    if before == after:
        return ()
    return tuple(
        Damage(guard=name, detail=detail if len(detail) <= _LONGEST_DETAIL else f"{detail[:_LONGEST_DETAIL]}…")
        for name, guard in (GUARDS if guards is None else guards).items()
        if name not in skip
        for detail in guard(segment, before, after)[:_MOST_DETAILS]
    )


Apply = Callable[[str, Sequence[Edit]], str]
_Check = Callable[[Sequence[int]], tuple[Damage, ...]]


def _culprits(group: list[int], check: _Check) -> list[int] | None:
    """The edits of ``group`` that do damage alone, by halving; ``None`` where only their combination does."""
    if not check(group):
        return []
    if len(group) == 1:
        return group
    middle = len(group) // 2
    halves = [_culprits(half, check) for half in (group[:middle], group[middle:])]
    if None in halves or not any(halves):
        return None
    return [index for half in halves for index in half or ()]


def _without_partners(culprits: list[int], fine: list[int], check: _Check) -> list[int]:
    """Two neighbours that damage alone may be good together (both quotation marks): try each pair once."""
    left, index = [], 0
    while index < len(culprits):
        pair = culprits[index : index + 2]
        if len(pair) == 2 and not check(sorted(fine + pair)):
            fine = sorted(fine + pair)
            index += 2
        else:
            left.append(culprits[index])
            index += 1
    return left


def screen(
    segment: Segment,
    before: str,
    edits: Sequence[Edit],
    apply: Apply,
    *,
    skip: frozenset[str] = frozenset(),
    guards: Mapping[str, Guard] | None = None,
) -> tuple[list[Edit], str, tuple[Damage, ...]]:
    """Apply the ``applied`` ones of ``edits`` to ``before``, but for those that newly damage the text.

    Gives all edits in their order (the culprits as ``refused``, with the damage as detail), the text, and the damage
    that was averted. The culprits are found by halving, in O(k log n) checks for k culprits among n edits. Where no
    single edits are to blame, all are refused and the text is ``before``.
    """
    applied = [index for index, edit in enumerate(edits) if edit.outcome == "applied"]

    def text_with(chosen: Sequence[int]) -> str:
        return apply(before, [edits[index] for index in chosen])

    def check(chosen: Sequence[int]) -> tuple[Damage, ...]:
        return damages(segment, before, text_with(chosen), skip=skip, guards=guards) if chosen else ()

    damage = check(applied)
    if not damage:
        return list(edits), text_with(applied) if applied else before, ()
    culprits = _culprits(applied, check)
    if culprits is not None:
        culprits = _without_partners(culprits, _others(applied, culprits), check)
    if culprits is None or check(_others(applied, culprits)):
        reason = "; ".join(map(str, damage))
        return _refuse(edits, dict.fromkeys(applied, f"together with other edits: {reason}")), before, damage
    reasons = {index: "; ".join(map(str, check([index]))) for index in culprits}
    fine = _others(applied, culprits)
    return _refuse(edits, reasons), text_with(fine) if fine else before, damage


def _others(applied: list[int], culprits: list[int]) -> list[int]:
    bad = set(culprits)
    return [index for index in applied if index not in bad]


def _refuse(edits: Sequence[Edit], reasons: Mapping[int, str]) -> list[Edit]:
    return [
        edit.model_copy(update={"outcome": "refused", "detail": reasons[index]}) if index in reasons else edit
        for index, edit in enumerate(edits)
    ]
