"""Chains and comparisons for the tests of reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from mtagent.analysis.compare import RunComparison
from mtagent.analysis.compared_rows import Cell, ComparedTexts
from mtagent.analysis.staged_run import Cost
from mtagent.chain.guards import GUARDS
from mtagent.records import (
    Call,
    Cause,
    Chain,
    DecidedCause,
    Edit,
    ErrorSpan,
    GuardsCause,
    Judgement,
    PlainCause,
    Rating,
    RatingRole,
    Score,
    Segment,
    Step,
    Usage,
)
from mtagent.report.page import ReportedRun
from mtagent.store import Counts, RunSummary

RUN = "run-1"


def segment(number: object = 1, given: str | None = "old", **more: Any) -> Segment:
    fields = {"source": "source", "source_lang": "en", "target_lang": "de", "translation": given}
    return Segment(id=str(number), **{**fields, **more})


def edit(outcome: str, *guards: str | None) -> Edit:
    named = [guard for guard in guards if guard]
    return Edit.model_validate({"old": "a", "new": "b", "outcome": outcome, "guards": named})


def paid(cost: float | None = 0.01, tokens: int = 100) -> Call:
    return Call(purpose="rate", model="m", usage=Usage(calls=1, input_tokens=tokens, cost=cost))


def error(category: str = "accuracy/mistranslation", severity: str = "minor", side: str = "translation") -> ErrorSpan:
    return ErrorSpan.model_validate({"text": "x", "category": category, "severity": severity, "side": side})


def rating(
    value: float, *errors: ErrorSpan, spans: bool = True, evaluator: str = "judge", role: RatingRole = "editor"
) -> Rating:
    marked = errors if spans else None
    return Rating(evaluator=evaluator, role=role, score=value, errors=marked, signature=f"{evaluator}|m")


def step(stage: str, verdict: str, cause: Cause | str, text: str = "old", **more: Any) -> Step:
    return Step.model_validate({"stage": stage, "verdict": verdict, "cause": cause, "text": text, **more})


def chain(*steps: Step, number: object = 1, given: str | None = "old", **more: Any) -> Chain:
    return Chain(segment=segment(number, given, **more), steps=steps)


def score(values: Sequence[float], metric: str = "chrF2", higher: bool = True) -> Score:
    mean = sum(values) / len(values) if values else 0.0
    return Score(
        metric=metric, value=mean, segments=tuple(values), signature=f"{metric}|v", higher_is_better=higher
    )  # fmt: skip


def row(
    stage: str | None, values: Sequence[float], former: str | None = None, *, name: str | None = None,
    texts: Sequence[str] | None = None, cost: Usage | None = None, higher: bool = True,
) -> ComparedTexts:  # fmt: skip
    told = name or stage or "file"
    return ComparedTexts(
        name=told, run=RUN if stage else None, stage=stage, former=former,
        texts=tuple(texts if texts is not None else [f"{told} {i}" for i in range(len(values))]),
        cells=(Cell(score(values, higher=higher)),), cost=None if cost is None else Cost(cost, 1.0),
    )  # fmt: skip


def summary() -> RunSummary:
    """Of a finished run."""
    return RunSummary(
        name=RUN, kind="chain", state="finished", started="2026-01-01T00:00:00", updated="", settings={"model": "m"},
        inputs={}, counts=Counts(done=1, total=1), usage=Usage(),
    )  # fmt: skip


def reported(chains: Iterable[Chain]) -> ReportedRun:
    """The run of :func:`summary` with these chains, which can be read as often as ``chains``."""
    return ReportedRun(RUN, summary(), lambda: chains, Cost(Usage(), Usage(), 0.0))


def comparison(*rows: ComparedTexts, ids: Sequence[str] | None = None) -> RunComparison:
    ids = ids if ids is not None else [str(i) for i in range(1, len(rows[0].texts) + 1)]
    return RunComparison(tuple(ids), rows, ("chrF2",), "chrF2")


# --- any chain that the records allow

WORDS = st.text(max_size=12)
_EDITS = st.lists(
    st.builds(
        edit,
        st.sampled_from(
            ["applied", "not-found", "ambiguous", "overlapping", "unchanged", "refused", "rejected", "reverted"]
        ),
        st.none() | st.sampled_from(list(GUARDS)),
    ),
    max_size=3,
)
_CAUSES = st.one_of(
    WORDS,
    st.sampled_from(
        [
            DecidedCause(kind="scores", judgements=(Judgement(judge="judge", before=-3, after=-4),)),
            DecidedCause(kind="choices", judgements=(Judgement(judge="gpt", choices=("before", "tie")),)),
            GuardsCause(guards=("tags",), detail="tags: <b>"),
            PlainCause(kind="lines"),
        ]
    ),
)
_ERRORS = st.builds(
    error, WORDS, st.sampled_from(["neutral", "minor", "major", "critical"]), st.sampled_from(["translation", "source"])
)
_RATINGS = st.builds(
    lambda value, errors, spans, role: rating(value, *errors, spans=spans, role=role),
    st.floats(-25, 0),
    st.lists(_ERRORS, max_size=3),
    st.booleans(),
    st.sampled_from(["editor", "before", "after"]),
)
_STEPS = st.builds(
    lambda stage, verdict, cause, text, edits, ratings, proposed, cost: step(
        stage, verdict, cause, text, edits=edits, ratings=ratings, proposed=proposed, calls=(paid(cost),)
    ),
    st.sampled_from(["translate", "postedit", "proofread"]),
    st.sampled_from(["kept", "unchanged", "rejected", "failed"]),
    _CAUSES,
    WORDS,
    _EDITS,
    st.lists(_RATINGS, max_size=3),
    st.none() | WORDS,
    st.none() | st.floats(0, 1),
)
CHAINS = st.lists(
    st.builds(lambda steps, given, source: chain(*steps, given=given, source=source),
              st.lists(_STEPS, max_size=4), st.none() | WORDS, WORDS),
    max_size=8,
)  # fmt: skip
