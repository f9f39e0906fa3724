"""The replies of models as tables, one per reader in ``data/replies``: read as they should be, or refused.

A table holds groups: what else the reader is ``given``, the replies that are ``read`` with what they give, and those
that are ``refused``. A reply that cannot be read must be an error, and never a perfect or a wrong rating.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import RatingParseError
from mtagent.evaluators import eaprompt, gemba, headings, himate, m_mad, rate_replies, rubric_mqm, single_agent
from mtagent.evaluators.replies import text_in
from mtagent.evaluators.typology import subtype_of
from mtagent.llm.reading import read_json
from mtagent.records import ErrorSpan, Segment

TABLES = Path(__file__).parent / "data" / "replies"


def read_subtype(reply: str, translation: str, category: str) -> object:
    subtype = subtype_of(category)
    assert subtype is not None
    return himate.parse_subtype(reply, translation, subtype)


READERS: dict[str, Callable[..., object]] = {
    "count": eaprompt.read_count,
    "eaprompt": eaprompt.parse,
    "eaprompt_once": eaprompt.parse_once,
    "headed": lambda reply, translation, options=None: headings.read_headed(reply, translation, **(options or {})),
    "himate_correction": lambda reply, fields, text: himate.parse_correction(reply, Segment(**fields), text),
    "himate_opinion": lambda reply, views: himate.parse_statement(
        reply, tuple(himate.ErrorOpinion(*view) for view in views)
    ),
    "himate_subtype": read_subtype,
    "himate_sure": himate.parse_sure,
    "himate_verdict": himate.parse_verdict,
    "json": lambda reply, options=None: read_json(reply, **(options or {})),
    "m_mad": m_mad.parse,
    "m_mad_consensus": m_mad.parse_consensus,
    "m_mad_judgement": m_mad.parse_judgement,
    "m_mad_statement": m_mad.parse_statement,
    "m_mad_words": text_in,
    "rate_actions": rate_replies.read_actions,
    "rate_assessment": rate_replies.read_assessment,
    "rate_queries": rate_replies.read_queries,
    "rate_summary": rate_replies.read_summary,
    "rate_winner": rate_replies.read_winner,
    "rubric_mqm": rubric_mqm.parse,
    "score": gemba.parse_score,
    "score_after_list": eaprompt.read_score,
    "single_agent": single_agent.parse,
}


def groups(reader: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((TABLES / f"{reader}.json").read_text(encoding="utf-8"))
    return loaded


def as_data(value: object) -> object:
    """A value as the tables have it: error spans without what is usual, and any tuple as a list."""
    if isinstance(value, ErrorSpan):
        assert value.end == (None if value.start is None else value.start + len(value.text))
        return value.model_dump(exclude_defaults=True, exclude={"end"})
    if isinstance(value, list | tuple):
        return [as_data(item) for item in value]
    return {key: as_data(item) for key, item in value.items()} if isinstance(value, dict) else value


def replies(kind: str) -> list[Any]:
    cases = [(reader, group["given"], case) for reader in READERS for group in groups(reader) for case in group[kind]]
    as_read = [(reader, given, *(case if kind == "read" else (case, None))) for reader, given, case in cases]
    return [
        pytest.param(reader, reply, given, gives, id=f"{reader}-{reply[:60]!a}")
        for reader, given, reply, gives in as_read
    ]


@pytest.mark.parametrize(("reader", "reply", "given", "gives"), replies("read"))
def test_a_reply_is_read(reader: str, reply: str, given: list[Any], gives: object) -> None:
    assert as_data(READERS[reader](reply, *given)) == gives


@pytest.mark.parametrize(("reader", "reply", "given", "gives"), replies("refused"))
def test_a_reply_is_refused(reader: str, reply: str, given: list[Any], gives: object) -> None:
    assert gives is None
    with pytest.raises(RatingParseError) as caught:
        READERS[reader](reply, *given)
    assert len(str(caught.value)) < 500


def test_every_table_has_a_reader() -> None:
    assert {path.stem for path in TABLES.iterdir()} == READERS.keys()


# What the published prototypes get wrong

SOURCE, TEXT = "The red dog slept.", "El perro rojo durmió."
NONE = "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error"
ONE = '{"error_span": "perro rojo", "category": "mistranslation", "severity": "major"}'


@pytest.mark.parametrize(
    "reply",
    [
        'Major:\naccuracy/mistranslation - "perro rojo"\nMinor:\nno-error',
        '**Major:**\n- accuracy/mistranslation - "perro rojo"\n\n**Minor:**\nno-error',
        'Critical: no-error\nMajor: accuracy/mistranslation - "perro rojo"\nMinor: no-error',
        '[{"span": "perro rojo", "category": "accuracy/mistranslation", "severity": "Major"},]',
        'Sure:\n```json\n[{"span": "perro rojo", "category": "accuracy/mistranslation", "severity": "major"}]\n```',
    ],
)
def test_the_same_error_in_many_shapes(reply: str) -> None:
    (error,) = headings.read_headed(reply, TEXT, source=SOURCE)
    assert (error.severity, error.category, error.start) == ("major", "accuracy/mistranslation", 3)


@pytest.mark.parametrize("reply", [NONE, NONE.replace("\n", " "), NONE.replace("Major:", "**Major:**")])
def test_a_stated_no_error_is_error_free(reply: str) -> None:
    assert headings.read_headed(reply, TEXT) == ()


@pytest.mark.parametrize(
    "reply", ["", "The translation is excellent!", "I'm sorry, but I can't help with that.", "Score: 85/100", "{}"]
)
def test_an_unreadable_reply_is_an_error_and_never_perfect(reply: str) -> None:
    for reader in ("headed", "eaprompt", "rubric_mqm", "single_agent", "himate_subtype", "m_mad"):
        with pytest.raises(RatingParseError):
            READERS[reader](reply, TEXT, *(["accuracy/omission"] if reader == "himate_subtype" else []))


@pytest.mark.parametrize(
    ("reply", "score"), [("85/100", 85), ("85.5", 85.5), ("Score: 85", 85), ("**85**", 85), ('{"score": 85}', 85)]
)
def test_scores_in_many_shapes(reply: str, score: float) -> None:
    assert gemba.parse_score(reply) == score


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("-5", "between 0 and 100"), ("105", "between 0 and 100"), ("80-90", "no number"), ("7/10", "no number"),
     ("Score: 80. Score: 90.", "several scores"), ("1. The translation is good.", "no number")],
)  # fmt: skip
def test_what_is_no_single_score_on_the_scale_is_an_error(reply: str, reason: str) -> None:
    with pytest.raises(RatingParseError, match=reason):
        gemba.parse_score(reply)


@pytest.mark.parametrize("ending", ['{"annotations": []}', 'So my final answer is {"annotations": []}.'])
def test_what_a_debater_quotes_is_not_what_it_concludes(ending: str) -> None:
    quoted = f'The other annotator says\n{{"annotations": [{ONE}]}}\nand I do not agree.'
    assert m_mad.parse_statement(f"{quoted}\n{ending}", TEXT, "accuracy")[1] == ()


@pytest.mark.parametrize(("reply", "agreed"), [("Yes.", True), ("**Yes**", True), ("YES", True), ("No.", False)])
def test_a_consensus_is_read(reply: str, agreed: bool) -> None:
    assert m_mad.parse_consensus(reply) is agreed
