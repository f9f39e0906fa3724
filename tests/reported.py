"""Chains and comparisons for the tests of reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from mtagent.analysis.comparison import Cell, Comparison, Cost, Row
from mtagent.chain.guards import GUARDS
from mtagent.records import Call, Chain, Edit, ErrorSpan, Rating, Score, Segment, Step, Usage

RUN = "run-1"


def segment(number: object = 1, given: str | None = "old", **more: Any) -> Segment:
    fields = {"source": "source", "source_lang": "en", "target_lang": "de", "translation": given}
    return Segment(id=str(number), **{**fields, **more})


def edit(outcome: str, detail: str | None = None) -> Edit:
    return Edit.model_validate({"old": "a", "new": "b", "outcome": outcome, "detail": detail})


def paid(cost: float | None = 0.01, tokens: int = 100) -> Call:
    return Call(purpose="rate", model="m", usage=Usage(calls=1, input_tokens=tokens, cost=cost))


def error(category: str = "accuracy/mistranslation", severity: str = "minor", side: str = "translation") -> ErrorSpan:
    return ErrorSpan.model_validate({"text": "x", "category": category, "severity": severity, "side": side})


def rating(value: float, *errors: ErrorSpan, spans: bool = True, evaluator: str = "judge") -> Rating:
    return Rating(evaluator=evaluator, score=value, errors=errors if spans else None, signature=f"{evaluator}|m")


def step(stage: str, verdict: str, reason: str, text: str = "old", **more: Any) -> Step:
    return Step.model_validate({"stage": stage, "verdict": verdict, "reason": reason, "text": text, **more})


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
) -> Row:  # fmt: skip
    told = name or stage or "file"
    return Row(
        name=told, run=RUN if stage else None, stage=stage, former=former,
        texts=tuple(texts if texts is not None else [f"{told} {i}" for i in range(len(values))]),
        cells=(Cell(score(values, higher=higher)),), cost=None if cost is None else Cost(cost, 1.0),
    )  # fmt: skip


def comparison(*rows: Row, ids: Sequence[str] | None = None) -> Comparison:
    ids = ids if ids is not None else [str(i) for i in range(1, len(rows[0].texts) + 1)]
    return Comparison(tuple(ids), rows, ("chrF2",), "chrF2")


# --- any chain that the records allow

WORDS = st.text(max_size=12)
_DETAILS = st.one_of(WORDS, st.sampled_from(list(GUARDS)).map(lambda name: f"{name}: 5 is missing; tags: <b>"))
_EDITS = st.lists(
    st.builds(
        edit,
        st.sampled_from(
            ["applied", "not-found", "ambiguous", "overlapping", "unchanged", "refused", "rejected", "reverted"]
        ),
        st.none() | _DETAILS,
    ),
    max_size=3,
)
_REASONS = st.one_of(
    WORDS,
    st.sampled_from(
        [
            "gate: judge -3 -> -4: worse",
            "gate: compared in both orders by gpt: before, tie",
            "guards: tags: <b>",
            "gate: ?",
        ]
    ),
)
_ERRORS = st.builds(
    error, WORDS, st.sampled_from(["neutral", "minor", "major", "critical"]), st.sampled_from(["translation", "source"])
)
_RATINGS = st.builds(
    lambda value, errors, spans: rating(value, *errors, spans=spans),
    st.floats(-25, 0),
    st.lists(_ERRORS, max_size=3),
    st.booleans(),
)
_STEPS = st.builds(
    lambda stage, verdict, reason, text, edits, ratings, proposed, cost: step(
        stage, verdict, reason, text, edits=edits, ratings=ratings, proposed=proposed, calls=(paid(cost),)
    ),
    st.sampled_from(["translate", "postedit", "proofread"]),
    st.sampled_from(["kept", "unchanged", "rejected", "failed"]),
    _REASONS,
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
