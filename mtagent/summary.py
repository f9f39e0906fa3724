"""What each stage did, what each system was rated, and what it cost, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mtagent.markup import visible
from mtagent.mqm import SEVERITIES
from mtagent.records import Chain, Rated, Step, Usage

_COLUMNS = ("stage", "kept", "unchanged", "rejected", "failed", "edits", "of", "calls", "tokens", "cost", "chrF")


@dataclass
class StageSummary:
    """The steps of one stage, added up. ``texts`` are the accepted texts after it, for scoring."""

    stage: str
    verdicts: Counter[str] = field(default_factory=Counter)
    applied: int = 0
    proposed: int = 0
    usage: Usage = Usage()
    texts: list[str] = field(default_factory=list)

    def add(self, step: Step) -> None:
        """Count ``step``."""
        self.verdicts[step.verdict] += 1
        self.applied += sum(edit.outcome == "applied" for edit in step.edits)
        self.proposed += len(step.edits)
        self.usage += step.usage


def summarise(chains: Iterable[Chain]) -> tuple[list[StageSummary], list[str]]:
    """One summary for the texts as given, then one per stage, and the references (empty unless all segments have one).

    A stage that did not run on a segment leaves its text as it was.
    """
    stages = {name: StageSummary(name) for name in ("as given", "translate", "postedit", "proofread")}
    references: list[str | None] = []
    for chain in chains:
        text = chain.segment.translation or ""
        stages["as given"].texts.append(text)
        steps = chain.by_stage()
        for name, summary in list(stages.items())[1:]:
            if name in steps:
                summary.add(steps[name])
                text = steps[name].text
            summary.texts.append(text)
        references.append(chain.segment.reference)
    used = [s for s in stages.values() if s.verdicts or (s.stage == "as given" and any(s.texts))]
    complete = [reference for reference in references if reference is not None]
    return used, complete if len(complete) == len(references) else []


def stage_table(chains: Iterable[Chain]) -> str:
    """The table of stages in plain text, with chrF (and its signature) where every segment has a reference."""
    stages, references = summarise(chains)
    scores, signature = _chrf(stages, references) if references else ([""] * len(stages), "")
    rows = [_COLUMNS, *(_row(stage, score) for stage, score in zip(stages, scores, strict=True))]
    if not references:
        rows = [row[:-1] for row in rows]
    return "\n".join([*in_columns(rows), *([signature] if signature else [])])


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """``rows`` as lines: the first column to the left, the others to the right."""
    rows = [[visible(cell, one_line=True) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]


def _row(stage: StageSummary, score: str) -> tuple[str, ...]:
    if not stage.verdicts:
        return (stage.stage, *[""] * 9, score)
    counts = [str(stage.verdicts[verdict]) for verdict in ("kept", "unchanged", "rejected", "failed")]
    return (stage.stage, *counts, str(stage.applied), str(stage.proposed), *_costs(stage.usage), score)


def _costs(usage: Usage) -> tuple[str, str, str]:
    """Calls, tokens and dollars."""
    cost = "unknown" if usage.cost is None else f"${usage.cost:.4f}"
    return (str(usage.calls), str(usage.input_tokens + usage.output_tokens), cost)


def _chrf(stages: list[StageSummary], references: list[str]) -> tuple[list[str], str]:
    from mtagent.metrics.overlap import Overlap

    metric = Overlap("chrf", "und")
    scores = [metric.score_pairs(list(zip(stage.texts, references, strict=True))) for stage in stages]
    return [f"{score.value:.2f}" for score in scores], f"chrF: {scores[0].signature}"


@dataclass
class SystemSummary:
    """The ratings of one system, added up. ``blank`` counts segments without words, which nobody rates.

    ``errors`` counts spans by severity; ``marked`` says whether the evaluator marks spans at all. ``warned`` counts the
    ratings with warnings, and ``warning`` is the first of those.
    """

    system: str
    scores: float = 0.0
    rated: int = 0
    failed: int = 0
    blank: int = 0
    marked: bool = False
    warned: int = 0
    warning: str | None = None
    errors: Counter[str] = field(default_factory=Counter)
    usage: Usage = Usage()
    seconds: float = 0.0
    signatures: set[str] = field(default_factory=set)

    @property
    def mean(self) -> float | None:
        """The mean score of what was rated; ``None`` where nothing was."""
        return self.scores / self.rated if self.rated else None

    def add(self, rated: Rated) -> None:
        """Count one rating, or its failure."""
        self.usage += rated.usage
        self.seconds += rated.seconds
        self.failed += rated.error is not None
        if rated.rating is None:
            self.blank += rated.error is None
            return
        self.rated += 1
        self.scores += rated.rating.score
        self.signatures.add(rated.rating.signed)
        self.marked = self.marked or rated.rating.errors is not None
        if rated.rating.warnings:
            self.warned += 1
            self.warning = self.warning or f"{rated.system}/{rated.segment.id}: {rated.rating.warnings[0]}"
        self.errors.update(span.severity for span in rated.rating.errors or ())


def warnings_line(count: int, first: str | None) -> list[str]:
    """A line that says how many ratings carry warnings; none where none does."""
    which = "1 rating carries a warning" if count == 1 else f"{count} ratings carry warnings; the first"
    return [f"{which}: {first}"] if count else []


def summaries(ratings: Iterable[Rated]) -> list[SystemSummary]:
    """One summary per system, in the order in which they come."""
    found: dict[str, SystemSummary] = {}
    for rated in ratings:
        found.setdefault(rated.system, SystemSummary(rated.system)).add(rated)
    return list(found.values())


_SYSTEM_COLUMNS = ("system", "mean", "rated", "failed", *reversed(SEVERITIES), "calls", "tokens", "cost", "seconds")


def system_table(systems: Sequence[SystemSummary]) -> str:
    """The table of systems in plain text, and the signatures of their ratings. Failed ratings are not in the mean."""
    rows = [_SYSTEM_COLUMNS, *(_system_row(system) for system in systems)]
    signatures = sorted({signature for system in systems for signature in system.signatures})
    return "\n".join([*in_columns(rows), *signatures])


def _system_row(of: SystemSummary) -> tuple[str, ...]:
    mean = "-" if of.mean is None else f"{of.mean:.3f}"
    spans = [str(of.errors[severity]) if of.marked else "-" for severity in reversed(SEVERITIES)]
    return (of.system, mean, str(of.rated), str(of.failed), *spans, *_costs(of.usage), f"{of.seconds:.1f}")
