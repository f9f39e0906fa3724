"""Which edits of a rejected text can be kept: one bad edit does not sink the good ones next to it.

Half of the suspects is tried together with the accepted edits. If the gate keeps the text, these edits are accepted and
the other half is suspect. If it rejects the text, they are the suspects and the other half is untested. The last
suspect is left out, and the untested edits are tried together. One bad edit among six is found within four tries.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from mtagent.chain.gate import GateDecision
from mtagent.records import Edit, ErrorSpan, Rating, UndecidedCause, judgements_of
from mtagent.text import edits
from mtagent.text.spans import find_spans

Numbers = tuple[int, ...]


class Parts(NamedTuple):
    """Which edits to keep, by their numbers."""

    kept: Numbers
    decision: GateDecision | None
    """The decision that kept them, if there are any."""
    left_out: dict[int, tuple[GateDecision, Numbers]]
    """For each other edit, the last decision against a text that had it, and the edits of that text."""
    tries: tuple[GateDecision, ...]


def may_hold_a_bad_edit(decision: GateDecision) -> bool:
    """Whether the rejected text is worth trying in parts.

    It isn't if all judges compared the texts and none preferred the text before. Comparisons that end in a tie or
    disagree are guesses, and each try would be another guess. Scores aren't guesses: the score of the text before is
    the same for all tries.
    """
    if isinstance(decision.cause, UndecidedCause):
        return False  # a pilot has not rejected it
    judgements = judgements_of(decision.cause)
    gives_scores = any(not judgement.choices for judgement in judgements)
    prefers_before = any((judgement.difference or 0.0) < 0 for judgement in judgements)
    return not judgements or gives_scores or prefers_before


def price(decision: GateDecision) -> int:
    """The judge calls that ``decision`` took, at least 1, since a metric makes no request; 0 if the guards decided."""
    if decision.cause.kind == "guards":
        return 0
    return max(1, len(decision.calls) + sum(len(rating.calls) for rating in decision.ratings))


async def keep_in_parts(
    count: int,
    rejected: GateDecision,
    decide: Callable[[Numbers], Awaitable[GateDecision]],
    *,
    calls: int,
    suspected: Collection[int] = (),
) -> Parts:
    """Find out which of ``count`` edits, which were ``rejected`` together, can be kept.

    ``decide`` judges the text before with the edits of these numbers. A text is kept only as it was judged. The tries
    end if another one, as expensive as the most expensive so far, would exceed ``calls``; edits that are suspect or
    untested by then are left out. ``suspected`` edits are left out of the first try.
    """
    accepted: Numbers = ()
    untested: Numbers = ()
    suspects = tuple(sorted(range(count), key=lambda number: (number in suspected, number)))
    left_out = dict.fromkeys(suspects, (rejected, suspects))
    kept_by = None
    tries: list[GateDecision] = []
    to_rate_again = [rating for rating in rejected.ratings if rating.role != "before"]  # the text before is rated once
    highest_price = price(rejected._replace(ratings=tuple(to_rate_again)))
    first_cut = count - len(suspected)
    while (len(suspects) > 1 or untested) and highest_price <= calls:
        if len(suspects) > 1:
            cut = len(suspects) // 2
            if not tries and 0 < first_cut < len(suspects):
                cut = first_cut
            part = suspects[:cut]
            rest = suspects[cut:]
            later = untested
        else:
            part = untested
            rest = later = ()
        tried = tuple(sorted(accepted + part))
        decision = await decide(tried)
        tries.append(decision)
        calls -= price(decision)
        highest_price = max(highest_price, price(decision))
        if decision.keep:
            kept_by = decision
            accepted += part
            suspects = rest
            untested = later
        else:
            left_out |= dict.fromkeys(part, (decision, tried))
            suspects = part
            untested = rest + later
    refused = dict(sorted(left_out.items()))
    for number in accepted:
        refused.pop(number, None)
    return Parts(tuple(sorted(accepted)), kept_by, refused, tuple(tries))


def suspected(text: str, groups: Sequence[Sequence[Edit]], ratings: Iterable[Rating]) -> list[int]:
    """The numbers of ``groups`` of edits with a new error, marked by a judge of the ``text`` after all edits."""
    errors_before: set[str] = set()
    errors_after: list[ErrorSpan] = []
    for rating in ratings:
        if rating.role == "before":
            errors_before.update(error.text for error in rating.errors or ())
        elif rating.role == "after":
            errors_after += rating.errors or ()
    new_errors = []
    for error in errors_after:
        if error.side == "translation" and error.severity != "neutral" and error.text not in errors_before:
            new_errors.append(error)
    places = []
    for finding in find_spans(text, new_errors):
        if finding.certain:
            places.append(finding.places[0])
    all_edits = list(chain.from_iterable(groups))

    def is_marked(edit: Edit) -> bool:
        moved = edits.after_applying(all_edits, edit)
        start = moved.start or 0
        end = moved.end or 0
        return any(place.start < end and start < place.end for place in places)

    suspects = []
    for number, group in enumerate(groups):
        if any(map(is_marked, group)):
            suspects.append(number)
    return suspects


def ratings_of_all(decisions: Iterable[GateDecision], final: GateDecision) -> tuple[Rating, ...]:
    """The ratings of all ``decisions``. Texts after an edit were tried, except the text of the ``final`` decision."""
    ratings: list[Rating] = []
    for decision in decisions:
        for rating in decision.ratings:
            if rating.role != "before":
                role = "after" if decision is final else "try"
                ratings.append(rating.model_copy(update={"role": role}))
                continue
            has_before = any(earlier.role == "before" for earlier in ratings)
            if rating.calls or (decision is final and not has_before):
                ratings.append(rating)
    return tuple(ratings)
