"""What each stage did and cost, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mtagent.records import Chain, Step, Usage

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
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    return "\n".join([*lines, *([signature] if signature else [])])


def _row(stage: StageSummary, score: str) -> tuple[str, ...]:
    if not stage.verdicts:
        return (stage.stage, *[""] * 9, score)
    counts = [str(stage.verdicts[verdict]) for verdict in ("kept", "unchanged", "rejected", "failed")]
    usage = stage.usage
    cost = "unknown" if usage.cost is None else f"${usage.cost:.4f}"
    tokens = str(usage.input_tokens + usage.output_tokens)
    return (stage.stage, *counts, str(stage.applied), str(stage.proposed), str(usage.calls), tokens, cost, score)


def _chrf(stages: list[StageSummary], references: list[str]) -> tuple[list[str], str]:
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    scores = [metric.corpus_score(stage.texts, [references]).score for stage in stages]
    return [f"{score:.2f}" for score in scores], f"chrF: {metric.get_signature()}"
