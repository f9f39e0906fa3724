"""How far one text is from another: TER and characters, for example from the text as given to that after a stage."""

from __future__ import annotations

from collections.abc import Sequence

from mtagent import __version__
from mtagent.metrics.overlap import Overlap
from mtagent.metrics.ter import REPLACED, changes
from mtagent.records import Score


def ter_to(befores: Sequence[str], afters: Sequence[str], target_lang: str, ter: Overlap | None = None) -> Score:
    """TER from ``befores`` to ``afters``: the share of the words of ``afters`` that have to be edited, times 100.

    From a machine translation to its post-edit this is HTER (Snover et al. 2006). A ``ter`` of one's own remembers the
    counts of texts, for a next call.
    """
    return (ter or Overlap("ter", target_lang)).score_pairs(list(zip(befores, afters, strict=True)))


def characters_to(befores: Sequence[str], afters: Sequence[str]) -> Score:
    """Characters to insert, delete or substitute: of each text, and of all together (Levenshtein distance).

    The signature says where a text is so long, and has changed so much, that fewer might do; see :func:`changes`.
    """
    found = [changes(before, after) for before, after in zip(befores, afters, strict=True)]
    how = "levenshtein" if all(one.least for one in found) else f"levenshtein|{REPLACED}"
    return Score(
        metric="characters",
        value=float(sum(one.number for one in found)),
        segments=tuple(float(one.number) for one in found),
        signature=f"{how}|agg:sum|version:{__version__}",
        higher_is_better=False,
    )
