"""Find what an edit dropped from a translation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

from mtagent.omission.cut import cut, may_be_large
from mtagent.omission.evidence import Comparison, Stretch, Units, evidence, had_surplus
from mtagent.omission.split import changed, has_end, letters, paragraphs, quoted, sentences

STRICTNESS = 0.0
"""The default: refuses at most 2 % of good texts (``docs/omission.md``). Higher refuses more, about -2 to 3."""
SMALL_EDIT = 16
"""Letters that an edit may take away in one place without a closer look, if no sentence ends among them."""
CERTAIN = 6.0
"""The evidence where a sentence is gone and its neighbours, word for word, now touch."""
PARAGRAPH = 1.0
"""Added to the evidence where paragraphs are compared: they are counted with less doubt than sentences."""
STILL_THERE = 0.6
"""Share of a sentence's word pairs that ``after`` must have as often as ``before``: it was moved, not lost."""
IMPLAUSIBLE = -4.0
"""Evidence not worth a second look."""

_Keys = tuple[str, ...]


def lost(
    source: str, before: str, after: str, *, target_lang: str = "", strictness: float = STRICTNESS
) -> tuple[str, ...]:
    """Complaints about text of ``before`` that ``after`` newly lacks, the lost text quoted; ``()`` = fine.

    A rewrite that keeps the content passes, and so does taking away what ``source`` never said. ``target_lang`` is a
    BCP-47 code; it says how sentences end in languages that mark them unlike others (Greek, Thai, Lao). ``strictness``
    is added to the evidence, in log-odds; what is then above 0 is a complaint.
    """
    return tuple(
        f"lost from the text: {quoted(stretch.text)}"
        for stretch in losses(source, before, after, target_lang)
        if stretch.evidence + strictness > 0
    )


def loss_evidence(source: str, before: str, after: str, *, target_lang: str = "") -> float:
    """The strongest evidence of a loss, in log-odds; minus infinity where ``after`` cannot have lost anything."""
    return max((stretch.evidence for stretch in losses(source, before, after, target_lang)), default=float("-inf"))


def losses(source: str, before: str, after: str, lang: str) -> Iterator[Stretch]:
    """Every stretch of ``before`` that may be missing in ``after``."""
    if not before.strip() or before.split() == after.split():
        return
    if not after.strip():
        yield Stretch(before, float("inf"))
        return
    small = _is_small(before, after)
    if small and not may_be_large(before, after):
        return
    old, new, original = paragraphs(before), paragraphs(after), paragraphs(source)
    if len(old) == len(new) == len(original):
        for part in zip(original, old, new, strict=True):
            yield from _cut_or_missing(*part, lang)
        return
    if len(old) > 1 and not small:
        for stretch in _missing(Comparison(*(Units(text, paragraphs(text)) for text in (source, before, after)))):
            yield stretch._replace(evidence=stretch.evidence + PARAGRAPH)
    yield from _cut_or_missing(source, before, after, lang)


def _cut_or_missing(source: str, before: str, after: str, lang: str) -> list[Stretch]:
    """What is missing by sentence, or what was cut from the text as a whole, whichever is more certain."""
    if before.split() == after.split():
        return []
    found = [] if _is_small(before, after) else list(_missing(_by_sentence(source, before, after, lang)))
    whole = cut(source, before, after)
    if whole and whole.evidence > max((stretch.evidence for stretch in found), default=IMPLAUSIBLE):
        return [whole]
    return found


def _by_sentence(source: str, before: str, after: str, lang: str) -> Comparison:
    return Comparison(
        Units(source, sentences(source)), Units(before, sentences(before, lang)), Units(after, sentences(after, lang))
    )


def _is_small(before: str, after: str) -> bool:
    """Whether what was taken away is too little to hold a sentence or half of one."""
    gone, _ = changed(before, after)
    return len(gone) <= SMALL_EDIT and not has_end(gone) and letters(gone) <= SMALL_EDIT


def _missing(comparison: Comparison) -> Iterator[Stretch]:
    removed = _removed(comparison)
    spared = _Spared(comparison)
    bare = _bare_gap(comparison, spared)
    for index, unit in enumerate(comparison.before.units):
        found = evidence(comparison.features(index))
        found = max(found, CERTAIN) if index in removed else found
        if spared.is_kept_or_surplus(unit.low, unit.high):
            found = IMPLAUSIBLE
        if bare and unit.low <= comparison.gap.low < unit.high and bare.evidence > found:
            yield bare
        elif found > IMPLAUSIBLE:
            yield Stretch(unit.text, found)


def _bare_gap(comparison: Comparison, spared: _Spared) -> Stretch | None:
    gap = comparison.bare_gap()
    is_loss = gap and not spared.is_kept_or_surplus(comparison.gap.low, comparison.gap.high)
    return gap if is_loss and not had_surplus(*comparison.texts) else None


def _removed(comparison: Comparison) -> set[int]:
    """Units that are gone while their neighbours (or the ends of the text) now touch."""
    old, new = (_keys(units) for units in (comparison.before, comparison.after))
    kept = set(new)
    touching = {*pairwise([(), *new, ()])}
    gone: set[int] = set()
    run: list[int] = []
    previous: _Keys = ()
    for index, keys in enumerate([*old, ()]):
        if index < len(old) and keys not in kept:
            run.append(index)
            continue
        if run and (previous, keys) in touching:
            gone.update(run)
        previous, run = keys, []
    return gone


def _keys(units: Units) -> list[_Keys]:
    return [tuple(units.keys[unit.low : unit.high]) for unit in units.units]


class _Spared:
    """Units that need no counterpart: they stand elsewhere in ``after``, or the source never said them."""

    def __init__(self, comparison: Comparison) -> None:
        self._before, self._after = comparison.before, comparison.after
        source, before, after = comparison.source, comparison.before, comparison.after
        self._has_all_units = len(after) >= len(source)
        self._may_shrink = self._has_all_units and len(before) > len(source) and had_surplus(*comparison.texts)

    @cached_property
    def _pairs(self) -> tuple[Counter[_Keys], Counter[_Keys]]:
        return Counter(pairwise(self._before.keys)), Counter(pairwise(self._after.keys))

    def is_kept_or_surplus(self, low: int, high: int) -> bool:
        """Whether the words are no loss. A repeat must stay, unless ``after`` has a unit for each of the source."""
        if self._may_shrink:
            return True
        old, new = self._pairs
        mine = list(pairwise(self._before.keys[low:high]))
        kept = sum(new[pair] >= (1 if self._has_all_units else old[pair]) for pair in mine)
        return bool(mine) and kept >= STILL_THERE * len(mine)
