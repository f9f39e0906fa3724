"""Which edits of a rejected text can be kept: one bad edit does not sink the good ones beside it.

Half of the suspects is tried beside what is accepted: a text that is kept makes these edits accepted and the other half
suspect, a rejected one makes them the suspects and the other half untested; the last suspect is left out, and what is
untested is tried again, at once. One bad edit among six is found within four tries.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from mtagent.chain.gate import GateDecision
from mtagent.records import Edit, Rating, judgements_of
from mtagent.text import edits
from mtagent.text.spans import find_spans

Numbers = tuple[int, ...]


class Parts(NamedTuple):
    """What was found: the numbers of the edits to keep, and the decision that kept them, if there are any.

    ``left_out`` holds, for each other edit, the last decision against a text that had it, and the edits of that text.
    """

    kept: Numbers
    decision: GateDecision | None
    left_out: dict[int, tuple[GateDecision, Numbers]]
    tries: tuple[GateDecision, ...]


def may_hold_a_bad_edit(decision: GateDecision) -> bool:
    """Whether the rejected text is worth trying in parts: not where all that judges say is that they cannot tell.

    Comparisons that end in a tie or disagree are guesses, and each try would be one more. A judge that scores gives no
    such chances: the score of the text before is the same for all tries.
    """
    judgements = judgements_of(decision.cause)
    return not judgements or any((judgement.difference or 0.0) < 0 or not judgement.choices for judgement in judgements)


def price(decision: GateDecision) -> int:
    """The judge calls that ``decision`` took, at least one: a metric makes no request. None if the guards decided."""
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
    """Find out which of ``count`` edits, all of them together ``rejected``, can be kept.

    ``decide`` judges the text before with the edits of these numbers. What is kept has been judged as it is. There is
    no further try where one as dear as the dearest so far would exceed ``calls``; what is then suspect or untested
    stays out. ``suspected`` edits are left out of the first try.
    """
    accepted, untested = Numbers(), Numbers()
    suspects = tuple(sorted(range(count), key=lambda number: (number in suspected, number)))
    cut = count - len(suspected)
    left_out = dict.fromkeys(suspects, (rejected, suspects))
    again = [rating for rating in rejected.ratings if rating.role != "before"]  # the text before is rated once
    kept_by, tries, dearest = None, list[GateDecision](), price(rejected._replace(ratings=tuple(again)))
    while (len(suspects) > 1 or untested) and dearest <= calls:
        if len(suspects) > 1:
            cut = cut if 0 < cut < len(suspects) else len(suspects) // 2
            part, rest, later, cut = suspects[:cut], suspects[cut:], untested, 0
        else:
            part, rest, later = untested, (), ()
        tried = tuple(sorted(accepted + part))
        decision = await decide(tried)
        tries.append(decision)
        calls, dearest = calls - price(decision), max(dearest, price(decision))
        if decision.keep:
            kept_by, accepted, suspects, untested = decision, accepted + part, rest, later
        else:
            left_out |= dict.fromkeys(part, (decision, tried))
            suspects, untested = part, rest + later
    refused = {number: why for number, why in sorted(left_out.items()) if number not in accepted}
    return Parts(tuple(sorted(accepted)), kept_by, refused, tuple(tries))


def suspected(text: str, groups: Sequence[Sequence[Edit]], ratings: Iterable[Rating]) -> list[int]:
    """The numbers of those ``groups`` of edits where a judge of the ``text`` after them marks an error that is new."""
    ratings, every = tuple(ratings), [edit for group in groups for edit in group]
    known = {error.text for rating in ratings if rating.role == "before" for error in rating.errors or ()}
    marked = [error for rating in ratings if rating.role == "after" for error in rating.errors or ()]
    new = [e for e in marked if e.side == "translation" and e.severity != "neutral" and e.text not in known]
    places = [finding.places[0] for finding in find_spans(text, new) if finding.certain]

    def is_marked(edit: Edit) -> bool:
        moved = edits.after_applying(every, edit)
        return any(place.start < (moved.end or 0) and (moved.start or 0) < place.end for place in places)

    return [number for number, group in enumerate(groups) if any(map(is_marked, group))]


def ratings_of_all(decisions: Iterable[GateDecision], final: GateDecision) -> tuple[Rating, ...]:
    """The ratings of all ``decisions``; those of texts after an edit are tries, but for the ``final`` decision's."""
    ratings: list[Rating] = []
    for decision in decisions:
        for rating in decision.ratings:
            if rating.role != "before":
                role = "after" if decision is final else "try"
                ratings.append(rating.model_copy(update={"role": role}))
            elif rating.calls or (decision is final and not any(known.role == "before" for known in ratings)):
                ratings.append(rating)
    return tuple(ratings)
