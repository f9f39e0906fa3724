"""Headed lists of errors, whatever stands in them: spans come back whole, and no text is error-free by accident.

The shapes in which models give such lists are in ``data/replies/headed.json``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import RatingParseError
from mtagent.evaluators.headings import read_headed
from mtagent.text import mqm

SOURCE = "The account holder must agree today, and the red dog slept."
TEXT = "El Banco pagó a el banco «central» ayer, y el perro rojo durmió."


def spans(reply: str, translation: str = TEXT) -> list[tuple[str, str, str]]:
    return [(e.severity, e.category, e.text) for e in read_headed(reply, translation, source=SOURCE)]


FORMS: list[Callable[[str, str], str]] = [
    lambda category, span: f'{category} - "{span}"',
    lambda category, span: f"- **{category}** – “{span}”",
    lambda category, span: f"* {category}: '{span}'",
    lambda category, span: f"{category}: «{span}»",
    lambda category, span: f'(1) "{span}" - {category}',
    lambda category, span: f'2. "{span}" ({category})',
    lambda category, span: f'{category} - "{span}" (this is not what the source says)',
]


def written(errors: list[tuple[str, str, str]], form: Callable[[str, str], str]) -> str:
    """A reply with ``errors``, each a severity, a category and a span."""
    return "\n".join(
        f"{severity.title()}:\n"
        + ("\n".join(form(category, span) for sev, category, span in errors if sev == severity) or "no-error")
        for severity in ("critical", "major", "minor")
    )


def human_errors(data: Path) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
    """Source, translation, and the errors that people marked in it, those with the worst severity first."""
    lines = (data / "mqm_spans.jsonl").read_text(encoding="utf-8").split("\n")
    for row in map(json.loads, filter(None, lines)):
        marked = [s for s in row["spans"] if s["side"] == "tgt" and s["text"].strip() and s["severity"] != "neutral"]
        errors = [(s["severity"], (s["category"] or "").casefold().replace("_", " "), s["text"]) for s in marked]
        errors = [error for error in errors if "/" in error[1].strip("/")]
        if errors:
            yield row["src"], row["tgt"], sorted(errors, key=lambda e: ("critical", "major", "minor").index(e[0]))


@pytest.mark.data
@pytest.mark.parametrize("form", FORMS)
def test_what_people_marked_comes_back_whole(data: Path, form: Callable[[str, str], str]) -> None:
    rows = list(human_errors(data))
    assert len(rows) > 500
    for source, translation, errors in rows:
        errors_read = read_headed(written(errors, form), translation, source=source)
        assert [(e.severity, e.category, e.text) for e in errors_read] == errors


@pytest.mark.parametrize("form", FORMS[:3])
def test_a_reply_cut_off_anywhere_gives_no_error_that_it_does_not_name_whole(form: Callable[[str, str], str]) -> None:
    errors = [
        ("major", "accuracy/mistranslation", "perro rojo"),
        ("minor", "style/awkward", "«central» ayer"),
        ("minor", "fluency/grammar", "a el"),
    ]
    reply = written(errors, form)
    assert spans(reply) == errors
    for end in range(len(reply)):
        try:
            errors_read = spans(reply[:end])
        except RatingParseError:
            continue
        assert errors_read
        assert errors_read == errors[: len(errors_read)]


PIECES = st.sampled_from(
    [*"\"'“”«»`(){}[]\\ \n\ue000\ud83d\x00", "Major:", "Minor:", "no-error", "none", "accuracy/mistranslation", "style",
     " - ", ": ", "\n\n", "```", "(1) ", "ayer", "perro rojo", "should be", "->", ", ", "and", "Overall,", "<think>",
     "</think>", "errors", "no", "Note: "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_is_read_or_refused(reply: str) -> None:
    with contextlib.suppress(RatingParseError):
        for error in read_headed(reply, TEXT, source=SOURCE):
            assert error.start is None or error.text


@pytest.mark.parametrize(("span", "score"), [('source error - "The acc"', 0.0), ("Non-translation!", -25.0)])
def test_what_an_error_of_the_source_and_a_non_translation_weigh(span: str, score: float) -> None:
    assert mqm.score(read_headed(f"Major:\n{span}\nMinor:\nno-error", TEXT, source=SOURCE), "gemba") == score


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(RatingParseError, match="wrong word somewhere"):
        read_headed("Major:\nThere is a wrong word somewhere.\nMinor:\nno-error", TEXT)
