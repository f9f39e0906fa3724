"""Long texts are rated paragraph by paragraph, and the rating is one of the whole text."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from mtagent.errors import RatingParseError
from mtagent.evaluators.gemba import GembaDA
from mtagent.evaluators.rating import rating_by
from mtagent.evaluators.rubric_mqm import RubricMQM
from mtagent.evaluators.rules import Rules
from mtagent.llm.fake import Answer, ScriptedLLM
from mtagent.records import Message, Segment, same_rater

SENTENCE = "The river rose over night and took the bridge with it. "
PARAGRAPHS = [f"Part {name}. {SENTENCE * 20}".strip() for name in ("one", "two", "three")]
SOURCE = "\n" + "\n\n".join(PARAGRAPHS) + "\n"
TEXT = " \n" + "\n\n".join(f"Teil {name}. Der Fluss stieg." for name in ("eins", "zwei", "drei"))
SEGMENT = Segment(id="1", source=SOURCE, source_lang="en", target_lang="de", context="Source before: A flood.")


def marking(span: str, unreadable: str = "") -> ScriptedLLM:
    """Marks ``span`` wherever it stands."""

    def reply(messages: Sequence[Message], purpose: str) -> Answer:
        translation = messages[-1].content.rpartition("<translation-")[2]
        if unreadable and (unreadable in translation or messages[-1].content.startswith("That reply")):
            return "?"
        errors = [
            {"span": span, "before": "", "after": "", "category": "mistranslation", "severity": 2, "suggestion": "X"}
        ]
        return json.dumps({"errors": errors if span in translation else []})

    return ScriptedLLM(reply)


async def test_each_paragraph_is_rated_beside_its_neighbours_and_spans_lie_in_the_whole_text() -> None:
    model = marking("zwei")
    evaluator = RubricMQM(model)
    rating = await rating_by(evaluator, SEGMENT, TEXT)
    assert len(model.requests) == len(rating.calls) == 3
    [error] = rating.errors or ()
    assert error.start is not None
    assert TEXT[error.start : error.end] == "zwei"
    assert rating.score == (await evaluator.rate(SEGMENT, TEXT)).score
    shown = [request.messages[-1].content for request in model.requests]
    assert [text.count(SENTENCE.strip()) >= 20 for text in shown[:3]] == [True] * 3
    assert all("Source before: A flood." in text for text in shown[:3])
    assert "Paragraph before: Part one." in shown[1]
    assert "Its translation so far: Teil eins. Der Fluss stieg.\nNext paragraph: Part three." in shown[1]
    assert ("Paragraph before" in shown[0], "Next paragraph" in shown[2]) == (False, False)


async def test_a_rating_by_paragraphs_says_so_and_is_of_the_same_rater() -> None:
    evaluator = RubricMQM(marking("zwei"))
    rating = await rating_by(evaluator, SEGMENT, TEXT)
    assert rating.signature == f"{evaluator.signature}|paragraphs:3"
    assert same_rater(rating.signature, evaluator.signature)


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        (SEGMENT.model_copy(update={"source": "One.\nTwo."}), "Eins.\nZwei."),
        (SEGMENT.model_copy(update={"source": " ".join(PARAGRAPHS)}), "Alles."),
        (SEGMENT, "Teil eins.\n\nTeil zwei."),
    ],
    ids=["short", "one paragraph", "another number"],
)
async def test_other_texts_are_rated_at_once(segment: Segment, text: str) -> None:
    model = marking("zwei")
    rating = await rating_by(RubricMQM(model), segment, text)
    assert (len(model.requests), "paragraphs" in rating.signature) == (1, False)


async def test_scores_without_spans_and_rules_are_of_the_whole_text() -> None:
    model = ScriptedLLM(['{"score": 80}'])
    assert (await rating_by(GembaDA(model), SEGMENT, TEXT)).score == 80
    assert "paragraphs" not in (await rating_by(Rules(), SEGMENT, TEXT)).signature


async def test_where_one_paragraph_cannot_be_rated_all_calls_are_counted() -> None:
    with pytest.raises(RatingParseError) as raised:
        await rating_by(RubricMQM(marking("eins", unreadable="zwei")), SEGMENT, TEXT)
    assert len(raised.value.calls) == 4  # the second one is asked again
