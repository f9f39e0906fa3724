"""What a reader of a comparison has to know: what is missing in it, and which number proves nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mtagent.comparison.costs import Bills, unaccounted
from mtagent.comparison.held import HeldRun
from mtagent.comparison.rows import Row
from mtagent.metrics.changes import MOST_CHANGES, REPLACED
from mtagent.metrics.flags import FLAGS
from mtagent.metrics.significance import FEW
from mtagent.metrics.tercom import MOST_WORDS, NO_SHIFTS
from mtagent.protocols import Metric
from mtagent.records import Segment, Usage
from mtagent.scoring import ScoreReport

_SHORTEST = 5  # a judge's name in a metric's: "cometkiwi" in "wmt22-cometkiwi-da", but not "rate" in "error rate"
_SHOWN = 5


def about_run(run: HeldRun, bills: Bills) -> list[str]:
    """What is not complete in ``run``, and which of its costs stand in no stage."""
    return [*_incomplete(run), *_failed(run), *_costs(run, bills)]


def _incomplete(run: HeldRun) -> list[str]:
    if run.stored >= run.total:
        return []
    return [f"run {run.name!r} is {run.state}: {run.total - run.stored} of its {run.total} segments are not in it yet"]


def _failed(run: HeldRun) -> list[str]:
    failed = run.outcomes("final").failed
    empty = [one.segment.id for one in run.passed if one.text("final") is None]
    found = []
    if failed:
        found.append(f"run {run.name!r}: {_segments(failed)} failed and kept the last accepted text")
    if empty:
        found.append(
            f"run {run.name!r}: {_segments(len(empty))} without any translation, scored as empty: {_ids(empty)}"
        )
    return found


def _costs(run: HeldRun, bills: Bills) -> list[str]:
    found = []
    rest = unaccounted(run, bills)
    if rest is not None:
        found.append(
            f"run {run.name!r} also paid for {_calls(rest)} that no stored step holds (failed tries, segments under "
            "way): they are in its row final, in none of its stages"
        )
    reused = sum(call.reused for call in run.spent("final"))
    if reused:
        found.append(
            f"run {run.name!r}: {_replies(reused)} came from the store and cost nothing here: its tokens and "
            "dollars are those of the others"
        )
    return found


def _replies(number: int) -> str:
    return "1 reply" if number == 1 else f"{number} replies"


def _calls(usage: Usage) -> str:
    dollars = "unknown dollars" if usage.cost is None else f"${usage.cost:.4f}"
    calls = "1 call" if usage.calls == 1 else f"{usage.calls} calls"
    return f"{calls} ({usage.input_tokens + usage.output_tokens:,} tokens, {dollars})"


def about_references(runs: Sequence[HeldRun]) -> list[str]:
    """The segments that runs have different references for."""
    held = zip(*([one.segment for one in run.passed] for run in runs), strict=True)
    unlike = [one[0].id for one in held if len({segment.reference for segment in one} - {None}) > 1]
    told = f"the runs have other references for {_segments(len(unlike))} ({_ids(unlike)})"
    return [f"{told}: those of the run named first are taken (-r FILE gives others)"] if unlike else []


def about_gates(runs: Iterable[HeldRun], metrics: Sequence[Metric], printed: Sequence[str]) -> list[str]:
    """Which of the metrics decided, in the gate of a run, what its texts are."""
    found = []
    for run in runs:
        judges = run.judges | _named(run)
        own = [
            label
            for metric, label in zip(metrics, printed, strict=True)
            if any(_same(judge, name) for judge in judges for name in (metric.name, label))
        ]
        found += [_gate_warning(run.name, label, alone=len(own) == len(printed)) for label in own]
    return found


def about_leaks(runs: Iterable[HeldRun], segments: Sequence[Segment]) -> list[str]:
    """Who was shown the references by which the texts are scored."""
    if not any(segment.reference for segment in segments):
        return []
    roles = {"postedit": "its editor", "judge": "its judge"}
    found = []
    for run in runs:
        signed = run.settings.get("signatures") or {}
        saw = [who for role, who in roles.items() if "|reference:yes" in str(signed.get(role, ""))]
        if saw:
            found.append(
                f"run {run.name!r} showed the references to {' and '.join(saw)}: scores against them prove nothing"
            )
    return found


def _named(run: HeldRun) -> set[str]:
    """The judge that the settings of ``run`` name."""
    settings = run.settings
    gate, judge = str(settings.get("gate", "")), settings.get("judge")
    named = judge.get("evaluator") if isinstance(judge, dict) else None
    decides = gate in ("rate", "qe") or named is not None
    return (
        {str(one).partition(":")[0] for one in (gate, named or settings.get("evaluator")) if one} if decides else set()
    )


def _same(judge: str, metric: str) -> bool:
    ours, theirs = (re.sub(r"[^a-z0-9]", "", name.casefold()) for name in (judge, metric))
    return bool(ours) and (ours == theirs or (len(ours) >= _SHORTEST and ours in theirs))


def _gate_warning(run: str, metric: str, *, alone: bool) -> str:
    why = (
        f"run {run!r} let its gate keep only what {metric} finds better, so that {metric} must rise: no proof of a gain"
    )
    return f"{why}. {'Never report it alone: add another metric (-m)' if alone else 'Go by the other metrics'}"


def about_test(report: ScoreReport) -> list[str]:
    """That there are too few segments for a test, where there are."""
    number = len(report.segments)
    return [f"{_segments(number)}: too few for a p-value to mean much"] if report.paired and number < FEW else []


def about_texts(rows: Sequence[Row], report: ScoreReport) -> list[str]:
    """What is wrong with texts as a whole: empty, copied, in another script. Rows with equal texts are told once."""
    seen: dict[tuple[str, ...], str] = {}
    found = []
    for row in rows:
        if row.texts not in seen and (told := _flagged(report, row.name)):
            found.append(f"{row.name}: {told}")
        seen.setdefault(row.texts, row.name)
    return found


def about_lengths(signatures: Iterable[str]) -> list[str]:
    """What was not computed to the last edit in texts that are too long for that, by the signatures."""
    parts = {part for one in signatures for part in one.split("|")}
    found = []
    if NO_SHIFTS in parts:
        found.append(f"a text has more than {MOST_WORDS:,} words: TER counts no shifts of words there ({NO_SHIFTS})")
    if REPLACED in parts:
        found.append(
            f"a very long text has more than {MOST_CHANGES:,} changes: all between the first and the last counts as "
            f"replaced, in TER and characters ({REPLACED})"
        )
    return found


def _flagged(report: ScoreReport, row: str) -> str:
    pairs = list(zip(report.segments, report.flags[row], strict=True))
    by_flag = {flag: [segment for segment, flags in pairs if flag in flags] for flag in FLAGS}
    return ", ".join(f"{len(ids)} {flag} ({_ids(ids)})" for flag, ids in by_flag.items() if ids)


def _segments(number: int) -> str:
    return "1 segment" if number == 1 else f"{number} segments"


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
