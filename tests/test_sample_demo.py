"""The replies of ``mtagent demo``: they fit the sample's texts, and some of them must be refused."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import pytest
import regex

from mtagent.jobs import demo as sample
from mtagent.records import Segment

CATEGORIES = {
    "addition",
    "mistranslation",
    "omission",
    "untranslated text",
    "grammar",
    "inconsistency",
    "punctuation",
    "word order",
    "terminology",
    "style",
}
MARK = regex.compile(r"%\d\$[ds]|%[ds]|\{\w+\}|</?\w+>|\d+")

REPLIES: list[dict[str, Any]] = json.loads(sample.sample_path("demo.json").read_text(encoding="utf-8"))["segments"]
SOURCES = {
    segment.id: segment
    for segment in map(
        Segment.model_validate_json, sample.sample_path("sample.en-es.jsonl").read_text("utf-8").splitlines()
    )
}

each = pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: str(reply["id"]))


def proofread(reply: dict[str, Any]) -> str:
    text = reply["proofread"]
    return text if isinstance(text, str) else "\n\n".join(text)


def place(text: str, error: dict[str, Any]) -> tuple[int, int]:
    """Where the span of ``error`` starts and ends in ``text``; an omission is a place between two characters."""
    span = "" if error["category"] == "omission" else error["text"]
    start = text.index(error["before"] + span + error["after"]) + len(error["before"])
    return start, start + len(span)


def postedited(reply: dict[str, Any]) -> str:
    """The text after all suggestions, the bad ones too."""
    text: str = reply["translate"]
    for error in sorted(reply["errors"], key=lambda e: place(reply["translate"], e), reverse=True):
        start, end = place(reply["translate"], error)
        space = " " if error["category"] == "omission" else ""
        text = text[:start] + space + error["suggestion"] + text[end:]
    return text


def test_the_replies_cover_every_kind_of_text() -> None:
    ids = [reply["id"] for reply in REPLIES]
    assert len(set(ids)) == len(ids) >= 12
    domains = Counter(SOURCES[one].domain for one in ids)
    assert all(domains[name] >= 3 for name in ("news", "ui", "manual", "dialogue"))
    assert any("\n\n" in SOURCES[one].source for one in ids)


@each
def test_a_reply_has_every_stage(reply: dict[str, Any]) -> None:
    assert set(reply) == {"id", "shows", "translate", "errors", "proofread", "scores"}
    assert reply["id"] in SOURCES
    assert set(reply["scores"]) == {"translate", "postedit", "proofread"}
    assert all(0 <= score <= 100 for score in reply["scores"].values())


@each
def test_each_error_names_one_place_of_the_text(reply: dict[str, Any]) -> None:
    for error in reply["errors"]:
        assert set(error) == {"text", "before", "after", "category", "severity", "suggestion"}
        omitted = error["category"] == "omission"
        marked = error["before"] + ("" if omitted else error["text"]) + error["after"]
        assert reply["translate"].count(marked) == 1, marked
        assert not omitted or error["text"] in SOURCES[reply["id"]].source
        assert error["category"] in CATEGORIES
        assert error["severity"] in (1, 2, 3, 4)
        assert error["suggestion"] != error["text"]


@each
def test_the_errors_of_a_reply_do_not_overlap(reply: dict[str, Any]) -> None:
    places = sorted(place(reply["translate"], error) for error in reply["errors"])
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(places))


@each
def test_the_paragraphs_are_those_of_the_source(reply: dict[str, Any]) -> None:
    paragraphs = SOURCES[reply["id"]].source.count("\n\n") + 1
    assert reply["translate"].count("\n\n") + 1 == paragraphs
    assert isinstance(reply["proofread"], list) == (paragraphs > 1)
    heading = reply["id"] == "news-03"
    assert proofread(reply).count("\n\n") + 1 == paragraphs + heading


def test_three_texts_have_no_error_and_are_not_touched() -> None:
    clean = [reply for reply in REPLIES if not reply["errors"]]
    assert len(clean) == 3
    assert all(proofread(reply) == reply["translate"] for reply in clean)


def test_four_replies_must_be_refused() -> None:
    """A heading, a dropped sentence, a changed number, a translated placeholder; all else keeps the marks."""
    refused = {reply["id"] for reply in REPLIES if "refused" in reply["shows"]}
    assert refused == {"news-03", "ui-03", "manual-09", "letter-01"}
    by_id = {reply["id"]: reply for reply in REPLIES}
    assert proofread(by_id["news-03"]).startswith("Aquí está la traducción:\n\n")
    assert "{cuenta}" in postedited(by_id["ui-03"])
    assert "5000" in proofread(by_id["manual-09"])
    assert by_id["letter-01"]["proofread"][1].count(".") < by_id["letter-01"]["translate"].split("\n\n")[1].count(".")
    for reply in REPLIES:
        if reply["id"] not in refused:
            wanted = Counter(MARK.findall(SOURCES[reply["id"]].source))
            assert Counter(MARK.findall(postedited(reply))) == wanted, reply["id"]
            assert Counter(MARK.findall(proofread(reply))) == wanted, reply["id"]


def test_suggestions_lead_near_the_proofread_text() -> None:
    """Where nothing is refused and nothing is left to polish, the post-edited text is the wished one."""
    same = [reply["id"] for reply in REPLIES if reply["errors"] and postedited(reply) == proofread(reply)]
    assert {"ui-01", "ui-08", "ui-13", "ui-15", "manual-02", "dialogue-06", "dialogue-08", "dialogue-11"} <= set(same)


def test_the_scores_tell_the_story() -> None:
    for reply in REPLIES:
        scores = reply["scores"]
        assert scores["postedit"] >= scores["translate"]
        worse = "refused" in reply["shows"] or "gate" in reply["shows"]
        assert scores["proofread"] >= scores["postedit"] or worse, reply["id"]
    assert sum("gate" in reply["shows"] for reply in REPLIES) == 1
