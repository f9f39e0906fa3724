"""``mtagent terms extract``: what statistics propose, what a model leaves of it, and that ``--glossary`` reads it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest

from bench.harness import simulator
from mtagent.errors import UnreadableReply
from mtagent.jobs.term_extraction import TermCandidate, parse_terms
from tests.commands import Shell

SOURCES = [
    "Open the payment method.",
    "Choose a payment method in Pixlr now",
    "The payment method was deleted",
    "Every payment counts",
    "Each payment is shown",
    "Pixlr has no folder",
    "Delete the folder in Pixlr",
    "Show a folder",
    "The 3 files are open, %d are not",
]
TARGETS = [
    "Abra la forma de pago.",
    "Elija ya una forma de pago en Pixlr",
    "Se borró la forma de pago",
    "Cada pago cuenta",
    "Se muestra cada pago",
    "Pixlr no tiene carpeta",
    "Borre la carpeta de Pixlr",
    "Muestre una carpeta",
    "Los 3 archivos están abiertos, %d no",
]


@pytest.fixture
def project(shell: Shell) -> Shell:
    (shell.folder / "en.txt").write_text("\n".join(SOURCES) + "\n", encoding="utf-8")
    (shell.folder / "es.txt").write_text("\n".join(TARGETS) + "\n", encoding="utf-8")
    return shell


@pytest.fixture(scope="module")
def terminologist() -> Iterator[str]:
    """A server whose model keeps every second candidate, and corrects its target."""
    with simulator("--behaviour", "tests.simulator.chain:terminologist", lifetime=3000) as base_url:
        yield base_url


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


EXTRACT = "terms extract -s en.txt -t es.txt -l en-es"


def test_frequent_words_are_proposed_with_what_their_translations_share(project: Shell) -> None:
    done = project(EXTRACT)
    assert done.code == 0, done.err
    assert rows(done.out) == [
        ["source", "target", "count", "note"],
        ["payment", "pago", "5", ""],
        ["Pixlr", "Pixlr", "3", "same in both languages"],
        ["folder", "carpeta", "3", ""],
        ["payment method", "forma de pago", "3", ""],
    ]
    assert "4 terms in 9 translations" in done.err
    assert project(f"{EXTRACT} --at-least 4").out == "source,target,count,note\npayment,pago,5,\n"


def test_the_glossary_that_is_written_is_read(project: Shell) -> None:
    assert project(f"{EXTRACT} -o terms.csv").code == 0
    assert project(f"{EXTRACT} -o terms.csv").code == 1  # a file that people may have edited stays
    assert project(f"{EXTRACT} -o terms.csv --force").code == 0
    shown = project(
        "postedit -s en.txt -t es.txt -l en-es --glossary terms.csv --limit 1 --dry-run --model m --base-url",
        "http://127.0.0.1:9/v1",
    ).out
    assert "payment method = forma de pago" in shown


def test_localization_files_give_their_approved_texts_too_and_need_one_pair(project: Shell) -> None:
    units = "".join(
        f'<trans-unit id="{number}" approved="yes"><source>{source}</source><target>{target}</target></trans-unit>'
        for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True))
    )
    for language in ("es", "pt"):
        head = f'<file original="a" source-language="en" target-language="{language}" datatype="plaintext"><body>'
        xliff = f'<xliff version="1.2">{head}{units}</body></file></xliff>'
        (project.folder / f"{language}.xlf").write_text(xliff, encoding="utf-8")
    assert project("terms extract es.xlf").out == project(EXTRACT).out
    refused = project("terms extract es.xlf pt.xlf")
    assert refused.code == 1
    assert "several language pairs (en-es, en-pt): name files of one pair" in refused.err


@pytest.mark.loopback
def test_a_model_cleans_the_candidates_within_the_budget(project: Shell, terminologist: str) -> None:
    model = ["--model", "m", "--base-url", terminologist, "--store", "s.db"]
    done = project(EXTRACT, *model)
    assert done.code == 0, done.err
    assert rows(done.out)[1:] == [["payment", "PAGO", "5", "checked"], ["folder", "CARPETA", "3", "checked"]]
    assert "2 terms in 9 translations, of 4; 1 call, " in done.err
    again = project(EXTRACT, *model)
    assert again.out == done.out
    assert "0 calls" in again.err
    spent = project(EXTRACT, *model[:-1], "other.db", "--token-budget", "1")
    assert spent.code == 4


@pytest.mark.parametrize(
    "reply",
    ['{"terms": [{"number": 2, "target": "x"}]}', '{"terms": [{"number": 1, "target": ""}]}', '{"terms": "none"}'],
)
def test_a_reply_that_names_no_candidate_is_no_answer(reply: str) -> None:
    with pytest.raises(UnreadableReply):
        parse_terms(reply, [TermCandidate("a", "b", 3, 1.0)])
