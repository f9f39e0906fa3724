"""The tables of the Multi-agentMT paper from stored runs: by hand, in every form, and what does not fit them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mtagent.records import Chain, Usage
from tests.commands import ROOT, Done, Shell
from tests.stored import segment, step, store
from wmt import paper_tables

IS = ["Hún las bók í gær .", "Við förum heim ."]
TEXTS = {
    "translate": ["Hún les bók í gær .", "Við fórum heim ."],
    "postedit": ["Hún las bók í gær .", "Við fórum heim ."],
    "proofread": ["Hún las bókina í gær .", "Við förum heim ."],
    "direct": ["Hún les bók í gær .", "Við förum heim núna ."],
}
TOKENS = {"translate": (700, 0.40), "postedit": (4100, 2.25), "proofread": (1200, 0.75)}
Printed = Callable[[str], Done]


@pytest.fixture
def printed(shell: Shell, capsys: pytest.CaptureFixture[str]) -> Printed:
    """Runs the driver on the shell's store."""

    def run(line: str) -> Done:
        code = 0
        try:
            paper_tables.main(line.split())
        except SystemExit as done:
            code = int(done.code or 0)
        return Done(code, *capsys.readouterr())

    return run


def table(out: str, title: str) -> list[list[str]]:
    """The cells of the table under ``title``: two spaces stand between columns."""
    lines = out.split(title, 1)[1].splitlines()[1:]
    end = next((i for i, line in enumerate(lines) if not line or line.startswith("(")), len(lines))
    return [re.split(r"  +", line) for line in lines[:end]]


def runs(shell: Shell, target: str = "is", suffix: str = "", *, translated: bool = True) -> None:
    """A run of all stages and one without Postedit, of two segments, each call of known size."""

    def used(stage: str) -> Usage:
        number, cost = TOKENS[stage]
        return Usage(calls=1, input_tokens=number - 100, output_tokens=100, reasoning_tokens=40, cost=cost)

    def chain(number: int, **texts: str) -> Chain:
        given = None if translated else TEXTS["translate"][number]
        of = segment(number + 1, f"s{number}", given, target_lang=target, reference=IS[number])
        steps = [step(stage, TEXTS[text][number], usage=used(stage)) for stage, text in texts.items()]  # type: ignore[arg-type]
        return Chain(segment=of, steps=tuple(steps[0 if translated else 1 :]))

    full = {stage: stage for stage in TOKENS}
    path = shell.folder / "store.db"
    store(path, f"tpp{suffix}", *(chain(i, **full) for i in (0, 1)))
    store(path, f"tpr{suffix}", *(chain(i, translate="translate", proofread="direct") for i in (0, 1)))


def test_scores_are_sacrebleu_s_and_each_difference_is_to_the_right_stage(shell: Shell, printed: Printed) -> None:
    runs(shell)
    done = printed("tpr tpp")
    assert (done.code, done.err) == (0, "")
    head, *lines = table(done.out, "performance (the paper's Table 3):")
    assert head == ["Language", "Metric", "Translate", "Postedit", "Proofread", "w/ PE", "w/o PE"]
    assert [line[0] for line in lines] == ["Icelandic", "", ""]
    for line, metric in zip(lines, (BLEU(force=True), CHRF(), TER()), strict=True):
        scores = {stage: metric.corpus_score(texts, [IS]).score for stage, texts in TEXTS.items()}
        chain = [(b, a) for a, b in pairwise(["translate", "postedit", "proofread"])]
        pairs = [*chain, ("proofread", "translate"), ("direct", "translate")]
        cells = [f"{scores[b]:.2f} ({scores[b] - scores[a]:+.2f})" for b, a in pairs]
        assert line[2:] == [f"{scores['translate']:.2f}", *cells]


def test_the_numbers_by_hand(shell: Shell, printed: Printed) -> None:
    """TER of 10 words: 2 wrong, then 1, then 1; without Postedit 2 (one word, and one too many)."""
    runs(shell)
    out = printed("tpp tpr -m ter").out
    assert table(out, "Table 3):")[1] == [
        "Icelandic", "TER", "20.00", "10.00 (-10.00)", "10.00 (+0.00)", "10.00 (-10.00)", "20.00 (+0.00)"
    ]  # fmt: skip
    # edits of the words of the later text: 1 of 10; bók -> bókina and fórum -> förum, 2 of 10; all three
    assert table(out, "Table 4):") == [
        ["Language", "Trans-PE", "PE-PR", "Trans-PR"], ["En-Icelandic", "10.00", "20.00", "30.00"]
    ]  # fmt: skip
    assert table(out, "Table 1):") == [
        ["Method", "Translate Tokens", "Post-edit Tokens", "Proofread Tokens", "Cost ($)"],
        ["Translate", "1,400", "–", "–", "0.80"],
        ["Post-edit", "–", "8,200", "–", "4.50"],
        ["Proofread", "–", "–", "2,400", "1.50"],
        ["TP (Translate + Post-edit)", "1,400", "8,200", "–", "5.30"],
        ["TPP (Translate + Post-edit + Proofread)", "1,400", "8,200", "2,400", "6.80"],
    ]


def test_several_languages_stand_below_each_other_and_cost_together(shell: Shell, printed: Printed) -> None:
    runs(shell)
    runs(shell, "sr-Latn", "-sr")
    out = printed("tpp tpr tpp-sr tpr-sr -m ter,chrf").out
    assert [line[:2] for line in table(out, "Table 3):")[1:]] == [
        ["Icelandic", "TER"], ["", "chrF2"], ["Serbian (Latin script)", "TER"], ["", "chrF2"]
    ]  # fmt: skip
    assert [line[0] for line in table(out, "Table 4):")[1:]] == ["En-Icelandic", "En-Serbian (Latin script)"]
    assert table(out, "Table 1):")[5][-1] == "13.60"


def test_given_translations_a_missing_variant_and_another_start(shell: Shell, printed: Printed) -> None:
    runs(shell, translated=False)
    out = printed("tpp -m ter").out
    assert table(out, "Table 3):")[1][2:] == ["20.00", "10.00 (-10.00)", "10.00 (+0.00)", "10.00 (-10.00)", "–"]
    costs = table(out, "Table 1):")
    assert costs[1] == ["Translate", "–", "–", "–", "–"]
    assert costs[4] == ["TP (Translate + Post-edit)", "–", "8,200", "–", "4.50"]
    assert "the translations into Icelandic were given, at no known cost, and are not in it" in out
    others = [segment(i + 1, f"s{i}", "Annað .", target_lang="is", reference=IS[i]) for i in (0, 1)]
    other_chains = [Chain(segment=other, steps=(step("proofread", "x"),)) for other in others]
    store(shell.folder / "store.db", "elsewhere", *other_chains)
    assert "began with different translations" not in printed("tpp tpr").out
    assert "began with different translations" in printed("tpp elsewhere").out


def test_the_other_forms(shell: Shell, printed: Printed) -> None:
    runs(shell)
    latex = printed("tpp tpr -f latex").out
    assert r"\begin{tabular}{llS[table-format=2.2]rrrr}" in latex
    assert r"Cost (\$)" in latex
    assert "| Language | Metric | Translate |" in printed("tpp tpr -f markdown").out
    data = json.loads(printed("tpp tpr -f json").out)
    assert [len(table["rows"]) for table in data["tables"]] == [3, 1, 5]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("tpr", "take one run with Postedit for en-is, and these are given: none"),
        ("tpp tpp2", "take one run with Postedit for en-is, and these are given: tpp, tpp2"),
        ("tpp t", "run 't' has neither Postedit nor Proofread"),
        ("tpp tpp-sr -r ref.txt", "-r gives references to runs of one language pair"),
    ],
)
def test_runs_that_do_not_fit(shell: Shell, printed: Printed, names: str, message: str) -> None:
    for target, suffix in (("is", ""), ("is", "2"), ("sr", "-sr")):
        runs(shell, target, suffix)
    store(shell.folder / "store.db", "t", Chain(segment=segment(1, "s", "a", target_lang="is")))
    shell.write("ref.txt", *IS)
    done = printed(names)
    assert (done.code, done.out) == (1, "")
    assert message in done.err


def test_the_transcript_on_the_page_is_true(shell: Shell, printed: Printed) -> None:
    page = (ROOT / "wmt" / "README.md").read_text(encoding="utf-8")
    (transcript,) = re.findall(r"```console\n\$ python -m wmt\.paper_tables (.*)\n((?:.*\n)*?)```", page)
    runs(shell)
    assert printed(transcript[0]).out == transcript[1]
