"""HiMATE's single-agent baseline: replies in the shapes that models give, its weights, and what is no error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mtagent.evaluators.single_agent import SingleAgent
from mtagent.evaluators.typology import SUBTYPES, described
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Segment, Term

SOURCE = "她说：「我明天不来，对不起。」"
TEXT = 'She said: "I will come tomorrow,\nsorry", and l\'amie left the café early, early.'
SEGMENT = Segment(id="1", source=SOURCE, source_lang="zh", target_lang="en", reference="A reference.")
FIELDS = {
    "span": "will come",
    "before": "I ",
    "after": " tomorrow",
    "category": "accuracy/mistranslation",
    "severity": "major",
    "explanation": "She will not come.",
}
ONE = json.dumps(FIELDS)


def item(**changes: Any) -> str:
    return json.dumps({**FIELDS, **changes}, ensure_ascii=False)


@pytest.mark.parametrize(
    ("marked", "score"),
    [
        ([("style/awkward", "major")], -5),
        ([("fluency/punctuation", "minor")], -0.1),
        ([("Punctuation", "minor"), ("fluency/grammar", "minor")], -1.1),
        ([("locale convention/date format", "minor")] * 3, -3),
        ([("accuracy/omission", "major")] * 6, -30),
        ([("accuracy/addition", "critical")], -5),
        ([("hallucination", "minor")], -1),
    ],
)
async def test_errors_add_up_with_the_weights_of_himate_table_6(marked: list[tuple[str, str]], score: float) -> None:
    reply = ", ".join(item(category=category, severity=severity) for category, severity in marked)
    rating = await SingleAgent(ScriptedLLM([f"[{reply}]"])).rate(SEGMENT, TEXT)
    assert rating.errors is not None
    assert (rating.score, len(rating.errors)) == (score, len(marked))


async def test_a_neutral_remark_is_no_error_and_stays_readable() -> None:
    taste = item(category="style/awkward", severity="neutral", explanation="I would say otherwise.")
    rating = await SingleAgent(ScriptedLLM([f"[{taste}]", f"[{taste}, {ONE}]"])).rate(SEGMENT, TEXT)
    assert (rating.errors, rating.score) == ((), 0)
    assert rating.explanation == "neutral, not counted: style/awkward - 'will come': I would say otherwise."


async def test_one_call_asks_for_all_19_kinds_and_shows_no_reference() -> None:
    llm = ScriptedLLM([f"[{ONE}]"])
    segment = SEGMENT.model_copy(update={"domain": "chat", "notes": "Be brief.", "terms": (Term(source="她"),)})
    await SingleAgent(llm).rate(segment, TEXT)
    (request,) = llm.requests
    assert described() in request.messages[0].content
    asked = request.messages[-1].content
    assert ("A reference." in asked, "chat" in asked, "Be brief." in asked, "她 = keep as it is" in asked) == (
        False,
        True,
        True,
        True,
    )
    assert request.schema is not None
    properties = request.schema["properties"]["errors"]["items"]["properties"]
    assert properties["category"]["enum"] == [subtype.category for subtype in SUBTYPES]
    assert properties["severity"]["enum"] == ["major", "minor", "neutral"]
