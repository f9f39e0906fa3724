"""No reader of replies or texts takes quadratic time, whatever a model or a file puts into it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

import pytest

from mtagent.chain.guards import GUARDS
from mtagent.errors import MtagentError
from mtagent.evaluators import (
    eaprompt,
    fixes,
    gemba,
    headings,
    himate,
    m_mad,
    rate_replies,
    rubric_mqm,
    single_agent,
    typology,
)
from mtagent.evaluators.rules import RULES
from mtagent.evaluators.typology import SUBTYPES
from mtagent.llm.reading import plain_text, read_json, says_nothing
from mtagent.records import ErrorSpan, Segment
from mtagent.text import edits
from mtagent.text.foreign import flags

TEXT = "Der Hund lief schnell nach Hause."
ERROR = ErrorSpan(text="Hund", category="other", severity="major", suggestion="Kater", before="Der", after="lief")
UNITS = [
    "(", ")", "[", "{", '"', "'", "“", "`", "```\n", "<", ">", " ", "\n", "\t", "\\", "a", "a ", "1", "1,", "1 ", ".",
    ":", "-", " - ", "**", "/", "=", "?", "中", "\u0301", "a\n", "\n\n", '"a" - ', '"span": "', '{"a":', "<think>",
    "Score: ", "score is ", "major: ", "Major:\n", "no error ", "yes ", "yes/", "5 of 100 ", "Action: a\n",
    "Action Input:", "finish(", "<tool_call>", "<arg_key>a</arg_key><arg_value>", "<function=a>", "<parameter=a>",
    "accuracy/", "instead of ", "->", "Explanation: ", "- \"a\"\n", "corrected ", "a_", "&a", "http://", "%1$", "1. ",
    "<b>", "{a", "{a, plural, ", "<a ", '<a "', "<!--", "%a", "1 234 ", "](", "a@", "a.b@", "http://a)", "``` `` ` ",
    "{n, plural, other {", "{n, select, a {} other {}} ", "%s ", "a\u0430", "a-", ":a:", "「a",
    "*a", "_a", "\n# ", "X", "二", "。", '!"', ".\n", "note ",
    "-1 ", "ж", "1/2 ", "20%, ", "halb neun ", "Ctrl+ ", "a.md-",
]  # fmt: skip
WRAPPINGS = [("", ""), ("Action: search", ")")]


def segment(source: str = TEXT) -> Segment:
    return Segment(id="1", source=source, source_lang="en", target_lang="de")


def guarded(text: str) -> None:
    for before, after in ((TEXT, text), (text, f"b {text[len(text) // 2 :]} c")):
        for guard in GUARDS.values():
            guard(segment(text), before, after)


def ruled(text: str) -> None:
    for rule in RULES.values():
        list(islice(rule(segment(), text), 500))


READERS: dict[str, Callable[[str], object]] = {
    "json": read_json,
    "last json": lambda reply: read_json(reply, last=True),
    "plain text": lambda reply: plain_text(reply, ""),
    "blank": says_nothing,
    "fixes": lambda reply: fixes.parse_fixes(reply, [ERROR]), "scores": gemba.parse_score,
    "counts": eaprompt.read_count, "score among counts": eaprompt.read_score,
    "no score": eaprompt.split_score,
    "eaprompt": lambda reply: eaprompt.parse_once(reply, TEXT),
    "gemba-mqm": lambda reply: headings.read_headed(reply, TEXT),
    "headings, about the same text": lambda reply: headings.read_headed(reply, reply, source=reply),
    "rubric-mqm": lambda reply: rubric_mqm.parse(reply, TEXT),
    "single-agent": lambda reply: single_agent.parse(reply, TEXT),
    "himate subtype": lambda reply: himate.parse_subtype(reply, TEXT, SUBTYPES[0]),
    "himate correction": lambda reply: himate.parse_correction(reply, segment(), TEXT),
    "himate verdict": himate.parse_verdict, "himate sure": himate.parse_sure,
    "himate opinion": lambda reply: himate.parse_statement(reply, ()),
    "typology": typology.category_of, "m-mad": lambda reply: m_mad.parse(reply, TEXT),
    "m-mad judgement": lambda reply: m_mad.parse_judgement(reply, TEXT),
    "m-mad consensus": m_mad.parse_consensus, "rate actions": rate_replies.read_actions,
    "rate assessment": lambda reply: rate_replies.read_assessment(reply, TEXT),
    "rate queries": rate_replies.read_queries, "rate winner": rate_replies.read_winner,
    "rate score": rate_replies.read_score,
    "located edits": lambda text: edits.locate(text, [ERROR], on_ambiguous="all"),
    "flags": lambda text: flags(segment(), text), "guards": guarded, "rules": ruled,
}  # fmt: skip
SHORT, LONG = 2_000, 8_000
ALLOWED = 9
"""Four times the text takes four times as long, quadratic work sixteen times."""
UNNOTICED = 0.04
"""Seconds of work that no clock measures well."""


def seconds(read: Callable[[str], object], unit: str, wrapping: tuple[str, str], length: int) -> float:
    before, after = wrapping
    text = before + unit * (length // len(unit)) + after
    start = time.process_time()
    with suppress(MtagentError):
        read(text)
    return time.process_time() - start


def too_slow(read: Callable[[str], object], unit: str, wrapping: tuple[str, str]) -> bool:
    """Whether the time grows faster than the text; looked at again where it seems so, for the machine may be busy."""
    for _ in range(3):
        taken = seconds(read, unit, wrapping, LONG)
        if taken < UNNOTICED or taken < ALLOWED * seconds(read, unit, wrapping, SHORT):
            return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@pytest.mark.timeout(400)  # the guards are tried on a hundred texts
def test_time_grows_with_the_text_and_not_with_its_square(name: str) -> None:
    read = READERS[name]
    seconds(read, "warm ", WRAPPINGS[0], SHORT)
    assert [unit for unit in UNITS for wrapping in WRAPPINGS if too_slow(read, unit, wrapping)] == []


def numbered(piece: str, length: int) -> str:
    """``length`` characters of a piece, each time with another number in it."""
    return " ".join(piece.format(i) for i in range(length // len(piece)))


@pytest.mark.parametrize(("piece", "frame"), [("a{}.md", "{}"), ("a{}{{}}", "{{x, select, {} other {{}}}}")])
def test_many_different_names_and_branches_are_compared_in_time(piece: str, frame: str) -> None:
    text, other = (frame.format(numbered(letter + piece, 200_000)) for letter in "ab")
    start = time.process_time()
    for guard in ("literals", "placeholders", "length"):
        GUARDS[guard](segment(text), text, other)
    assert time.process_time() - start < 15
