"""A line per segment and stage, for spreadsheets and for programs that read CSV.

Texts come from sources and models that nobody has checked, and a spreadsheet runs a cell that begins like a formula.
So such a cell gets an apostrophe before it (as OWASP advises), and the column ``guarded`` names the cells in which the
value is not exactly the stored one. Taking one apostrophe off those gives the stored value. Numbers are never touched.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from mtagent.candidates import GIVEN
from mtagent.comparison.rows import Comparison
from mtagent.markup import harmless
from mtagent.records import Chain, Step, Usage
from mtagent.report.fates import KINDS, fate
from mtagent.report.segment_scores import SegmentScores
from mtagent.report.words import UNKNOWN

_UNPLACED = ("not-found", "ambiguous", "overlapping", "unchanged")
_TOKENS = ("calls", "reused", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
_EDITS = ("edits applied", "edits refused", "edits rejected", "edits unplaced", "edits reverted")
GUARDED = ("id", "document", "domain", "reason", "text")
"""The columns with free text, which are guarded."""

Line = dict[str, str | int | float | None]


def as_csv(
    run: str,
    chains: Iterable[Chain],
    comparison: Comparison | None = None,
    *,
    texts: bool = True,
    guarded: bool = True,
) -> Iterator[str]:
    """The header, then a line for the given translation (stage ``given``) and one for each step of each chain.

    ``run`` is the name of the run in ``comparison``, which brings the scores of the segments. An empty cell is what
    there is not; dollars that are not known are ``unknown``. Verdict and reason are the records' own, ``outcome`` is
    the group in which the report counts the segment. ``texts`` adds the accepted text, ``guarded=False`` leaves cells
    as they are. Each piece is one line.
    """
    scores = SegmentScores(run, comparison)
    columns = _columns(scores.metrics, texts, guarded)
    yield _written(columns)
    for chain in chains:
        for line in _lines(chain, scores):
            cells = _guard(line) if guarded else line
            yield _written([_cell(cells.get(column)) for column in columns])


def _columns(metrics: Sequence[str], texts: bool, guarded: bool) -> list[str]:
    scores = [name for metric in metrics for name in (metric, f"{metric} difference")]
    columns = ["id", "document", "domain", "stage", "verdict", "outcome", "reason", *(["text"] if texts else [])]
    return [*columns, *scores, *_EDITS, *_TOKENS, "dollars", "seconds", *(["guarded"] if guarded else [])]


def _lines(chain: Chain, scores: SegmentScores) -> Iterator[Line]:
    segment, last = chain.segment, chain.by_stage()
    about: Line = {"id": segment.id, "document": segment.document, "domain": segment.domain}
    if segment.translation is not None or not chain.steps:
        yield {**about, "stage": GIVEN, "text": segment.translation, **scores.of(segment.id, GIVEN)}
    for step in chain.steps:
        found = scores.of(segment.id, step.stage) if last[step.stage] is step else {}
        yield {**about, **_step(step), **found}


def _step(step: Step) -> Line:
    outcomes = Counter[str](edit.outcome for edit in step.edits)
    counts = [outcomes["applied"], outcomes["refused"], outcomes["rejected"]]
    counts += [sum(outcomes[name] for name in _UNPLACED), outcomes["reverted"]]
    said: Line = {"stage": step.stage, "verdict": step.verdict, "reason": step.reason, "text": step.text}
    kind, why = fate(step)
    return said | {"outcome": f"{KINDS[kind]}: {why}"} | dict(zip(_EDITS, counts, strict=True)) | _paid(step)


def _paid(step: Step) -> Line:
    usage: Usage = step.usage
    dollars = UNKNOWN if usage.cost is None else usage.cost
    return {name: getattr(usage, name) for name in _TOKENS} | {"dollars": dollars, "seconds": round(step.seconds, 3)}


def _guard(line: Line) -> Line:
    """``line`` with what a spreadsheet would run, or what UTF-8 cannot hold, made harmless, and named."""
    made = {name: harmless(str(line[name])) for name in GUARDED if line.get(name) is not None}
    return line | made | {"guarded": " ".join(name for name in made if made[name] != line[name])}


def _cell(value: str | int | float | None) -> str:
    """A float as Python writes it, so that it reads back as the same number."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _written(cells: Sequence[str]) -> str:
    """One line with its end. A lone CR in a cell is quoted only where CR is part of the line's end."""
    sheet = io.StringIO()
    csv.writer(sheet, lineterminator="\r\n").writerow(cells)
    return sheet.getvalue()[:-2] + "\n"
