"""``mtagent compare`` as a user meets it: tables in every form, what is refused, the page."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from bench.harness import simulator
from mtagent.records import Chain, Usage
from tests.commands import ROOT, Shell
from tests.pages import section, transcripts
from tests.stored import segment, step, store

REFERENCES = ["El gato estaba sentado aquí.", "Hola, gran mundo.", "Pague 5 dólares ahora."]


@pytest.fixture
def improved(shell: Shell) -> Shell:
    """The shell with an offline run ``r`` of three segments, one of which has changed."""
    shell.write("ref.txt", *REFERENCES)
    assert shell.postedit("-r ref.txt --name r -o o.txt -q").code == 0
    return shell


def table(out: str, title: str) -> list[list[str]]:
    """The cells of the table under ``title``: two spaces stand between columns."""
    lines = out.split(f"{title}", 1)[1].splitlines()[1:]
    body = lines[: next((i for i, line in enumerate(lines) if not line or line.startswith("(")), len(lines))]
    return [re.split(r"  +", line) for line in body]


# --- tables


def test_the_tables_in_plain_text(improved: Shell) -> None:
    done = improved("compare r -m ter,chrf")
    assert (done.code, done.err) == (0, "")
    scores = table(done.out, "scores of 3 segments:")
    before, after = (
        TER().corpus_score(improved.read(name), [REFERENCES]).score for name in ("es.txt", "o.txt")
    )  # fmt: skip
    assert scores[0] == ["row", "TER", "change", "chrF2", "change"]
    assert [row[:3] for row in scores[1:]] == [
        ["given", f"{before:.2f}", "-"],
        ["postedit", f"{after:.2f}", f"{after - before:+.2f}"],
        ["final", f"{after:.2f}", f"{after - before:+.2f}"],
    ]
    differences = table(done.out, "differences:")
    assert differences[0] == ["metric", "row", "against", "difference", "wins", "ties", "losses"]
    assert differences[1] == ["TER", "postedit", "given", f"{after - before:+.2f}", "1", "2", "0"]
    assert len(differences) == 5
    (most, _) = table(done.out, "segments that differ most, by chrF2:")[1:]
    assert re.fullmatch(r"1 \(\d+\.\d\d\)", most[2])
    assert most[3] == "-"
    edits = table(done.out, "edits from the former row:")
    # "aquí" -> "aquí.": one of 12 words, one character
    assert edits[1][:5] == ["postedit", "given", "8.33", "1", "33.3"]
    outcomes = dict(zip(*table(done.out, "outcomes of 3 segments, and edits:")[:2], strict=True))
    assert outcomes == {
        "row": "postedit", "kept": "1", "unchanged": "2", "rejected": "0", "failed": "0", "edits": "1",
        "edits kept": "1",
    }  # fmt: skip
    assert table(done.out, "costs")[1][:9] == ["postedit", *"00000", "$0.0000", "$0.0000", "$0.0000"]
    assert "(change: since the row before; final: since given)" in done.out
    assert "(dollars as paid at the time of the run; per point of chrF2 gained)" in done.out
    assert done.out.index("costs") < done.out.index("TER|nrefs:1") < done.out.index("edited %|TER between rows|nrefs:1")


def test_the_last_line_tells_in_words_what_is_concluded(improved: Shell) -> None:
    done = improved("compare r -m ter,chrf")
    (conclusion,) = (line for line in done.lines if line.startswith("conclusion: "))
    assert done.lines[-1] == conclusion
    assert re.fullmatch(
        r"conclusion: final is better than given: \d+\.\d\d chrF2 \(segments: 1 better, 2 equal, 0 worse\); no test "
        "was made, so this may be chance",
        conclusion,
    )
    tested = improved("compare r -m ter,chrf --deciding ter --paired-bs").lines
    (backwards,) = (line for line in tested if line.startswith("conclusion: "))
    assert re.fullmatch(
        r"conclusion: final is better than given: \d+\.\d\d TER \(segments: 1 better, 2 equal, 0 worse\); the "
        "difference is not significant",
        backwards,
    ), "less is better by TER"


def test_markdown_and_latex_with_names_of_any_kind(improved: Shell) -> None:
    markdown = improved("compare r -m ter -f markdown").out
    assert markdown.startswith("### Scores of 3 segments\n\n| row | TER | change |\n| --- | ---: | ---: |\n| given | ")
    assert "\n- `TER|nrefs:1|" in markdown
    latex = improved("compare r -m ter -f latex").out
    assert latex.count(r"\begin{tabular}") == latex.count(r"\bottomrule") == 6
    assert r"postedit & given & 8.33 & 1 & 33.3 & 0.0 &" in latex
    assert r"\begin{tabular}{llS[table-format=1.2]S[table-format=1.0]S[table-format=2.1]S[table-format=1.1]" in latex
    assert "\n% TER|nrefs:1|" in latex
    assert "$" not in re.sub(r"\\\$", "", re.sub("^%.*", "", latex, flags=re.MULTILINE))
    named = Chain(segment=segment(1, "s", "a", reference="a", domain="a\\b~c^d_e\nnext"))
    store(improved.folder / "store.db", "q", named)
    latex = improved("compare q -m ter --by domain -f latex").out
    assert r"a\textbackslash{}b\~{}c\^{}d\_e next & given & 1 &" in latex
    assert r"a\b~c^d_e next" in improved("compare q -m ter --by domain").out


def test_json_has_everything(improved: Shell) -> None:
    result = json.loads(improved("compare r --by domain --paired-ar --resamples 20 -f json").out)
    assert result["segments"] == ["1", "2", "3"]
    assert result["resampling"] == {"kind": "ar", "resamples": 20, "seed": 12345}
    by_default = json.loads(improved("compare r -m ter --paired-bs -f json").out)["resampling"]
    assert by_default == {"kind": "bs", "resamples": 1000, "seed": 12345}, "the number that was drawn"
    given, postedit, final = result["rows"]
    assert (given["moved"], given["outcomes"], given["cost"]) == (None, None, None)
    chrf = postedit["scores"][1]
    assert (chrf["metric"], len(chrf["segments"]), "p_value" in chrf) == ("chrF2", 3, False)
    contrast = result["contrasts"][1]
    assert (contrast["row"], contrast["against"], contrast["metric"]) == ("postedit", "given", "chrF2")
    assert contrast["difference"] == chrf["difference"]
    assert 0 < contrast["p_value"] <= contrast["p_holm"] <= 1
    assert (contrast["bounds"], contrast["lost"], contrast["won"][0]["id"]) == (None, [], "1")
    assert [contrast[name] for name in ("wins", "ties", "losses")] == [1, 2, 0]
    assert (postedit["moved"]["characters"], postedit["outcomes"]["edits"]) == (1, {"applied": 1})
    assert final["cost"]["paid"]["dollars"] == final["cost"]["nominal"]["dollars"] == 0
    (part,) = result["parts"]["domain"]
    assert (part["part"], part["segments"]) == ("no domain", 3)
    assert part["contrasts"][1]["p_value"] is None, "a part with three segments is not tested"
    assert part["costs"]["final"]["nominal"] == final["cost"]["nominal"]
    assert part["scores"]["final"]["TER"] == pytest.approx(final["scores"][2]["score"])
    assert "|ar:20|seed:12345|" in result["signatures"][0]


@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_flat_tables_can_be_read_and_guard_what_a_spreadsheet_would_run(
    improved: Shell, form: str, delimiter: str
) -> None:
    def lines(command: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(improved(f"{command} -f {form}").out), delimiter=delimiter))

    given, postedit, *others = lines("compare r -m chrf --by length --paired-bs --resamples 40")
    rows = ["final", "postedit-given", "final-given", "given", "postedit", "final", "postedit-given", "final-given"]
    assert [f"{line['row']}-{line['against']}".rstrip("-") for line in others] == rows
    assert {(line["grouping"], line["part"]) for line in others[3:]} == {("length", "0–10 words")}
    assert {(line["grouping"], line["part"]) for line in others[:3]} == {("", "")}
    difference = others[1]
    assert float(difference["chrF2 difference"]) == float(postedit["chrF2"]) - float(given["chrF2"])
    low, high = (float(difference[f"chrF2 difference {end}"]) for end in ("low", "high"))
    assert low <= float(difference["chrF2 difference"]) <= high
    assert (difference["chrF2"], difference["chrF2 wins"], others[4]["nominal dollars"]) == ("", "1", "0.0")
    assert (difference["chrF2 p"] != "", others[6]["chrF2 p"]) == (True, "")
    assert float(postedit["chrF2 difference"]) == float(postedit["chrF2"]) - float(given["chrF2"])
    assert (postedit["kept"], postedit["edits applied"], given["kept"]) == ("1", "1", "")
    assert given["chrF2 signature"].startswith("nrefs:1|")
    names = enumerate(["=1+1", "-2", "d"])
    chains = [Chain(segment=segment(i, "s", "a", reference="a", document=name)) for i, name in names]
    store(improved.folder / "store.db", "@run", *chains)
    guarded = lines("compare @run -m ter --by document")
    assert {line["run"] for line in guarded} == {"'@run"}
    assert {line["part"]: line["guarded"] for line in guarded} == {
        "": "run", "'=1+1": "part run", "'-2": "part run", "d": "run"
    }  # fmt: skip
    assert all(float(line["TER"] or 0) == 0 for line in guarded)
    assert not any(cell.startswith(("=", "@", "-")) for line in guarded for cell in line.values())


def test_unknown_dollars_are_never_zero(shell: Shell) -> None:
    paid = step("postedit", "b", usage=Usage(calls=1, input_tokens=10, cost=None))
    store(shell.folder / "store.db", "r", Chain(segment=segment(1, "s", "a", reference="b"), steps=(paid,)))
    row = table(shell("compare r -m ter").out, "costs")[1]
    assert row == ["postedit", "1", "10", "0", "0", "0", "unknown", "unknown", "unknown", "2.0"]
    (_, line, *_) = csv.DictReader(io.StringIO(shell("compare r -m ter -f csv").out))
    assert (line["dollars"], line["dollars_per_point"], line["input_tokens"]) == ("unknown", "unknown", "10")
    assert json.loads(shell("compare r -m ter -f json").out)["rows"][1]["cost"]["paid"]["dollars"] is None


@pytest.mark.loopback
def test_a_run_that_is_answered_from_the_store_has_the_nominal_costs_of_the_first(shell: Shell) -> None:
    shell.write("prices.toml", "[[prices]]", 'model = "*"', "input = 3", "output = 9")
    sources = ["The clock stopped.", "A door was open.", "The clock stopped.", "Nobody came back."]
    shell.write("en.txt", *sources)
    with simulator("--behaviour", "tests.simulator.chain:improving") as server:
        line = f"translate -s en.txt -l en-es --base-url {server} --model m --prices prices.toml --concurrency 2"
        for name in ("first", "second"):
            done = shell(f"{line} --name {name} -o {name}.txt")
            assert done.code == 0, done.err
        part = shell(f"{line} --stages tp --name third -o third.txt")
        assert part.code == 0, part.err
    rows = {row["name"]: row["cost"] for row in json.loads(shell("compare first second third -f json").out)["rows"]}
    first = rows["first/final"]
    assert first["paid"] == {**first["nominal"], "reused": first["paid"]["reused"]}
    assert first["paid"]["reused"] > 0, "two segments are alike"
    assert rows["second/final"]["paid"]["calls"] == rows["third/final"]["paid"]["calls"] == 0
    for stage in ("translate", "postedit", "proofread", "final"):
        nominal = dict(rows[f"first/{stage}"]["nominal"])
        for name in ("second", "third") if stage in ("translate", "postedit") else ("second",):
            again = rows[f"{name}/{stage}"]["nominal"]
            assert again["dollars"] == pytest.approx(nominal["dollars"])
            assert {**again, "reused": 0, "dollars": 0} == {**nominal, "reused": 0, "dollars": 0}
    assert nominal["dollars"] > 0
    shown = shell("runs show second").out
    repeats = first["paid"]["reused"]
    assert (
        f"paid: 0 calls ({nominal['calls'] + repeats} more answered from the store: {nominal['calls']} that other runs "
        f"paid for, {repeats} repeated requests), $0.0000\n"
        f"without the replies of other runs: {nominal['calls']} calls, $"
    ) in shown
    of_first = shell("runs show first").out
    assert f" calls ({repeats} more answered from the store: repeated requests), $" in of_first
    assert "without the replies" not in of_first
    table_of_costs = table(shell("compare second").out, "costs")
    assert table_of_costs[-1][1] == "0"
    assert table_of_costs[-1][7] == str(nominal["calls"])


def test_of_many_documents_the_largest_are_shown(shell: Shell) -> None:
    sizes = [1] * 24 + [3]
    documents = [f"d{i}" for i, size in enumerate(sizes) for _ in range(size)]
    chains = [
        Chain(segment=segment(i, "s", "a", reference="a", document=document)) for i, document in enumerate(documents)
    ]
    store(shell.folder / "store.db", "r", *chains)
    done = shell("compare r -m ter --by document")
    parts = [row[0] for row in table(done.out, "by document:")[1:] if row[0]]
    assert parts == ["d24", *(f"d{i}" for i in range(19))]
    assert "(5 more, the smaller ones, are not shown: -f json and -f csv have all)" in done.out
    assert len(json.loads(shell("compare r -m ter --by document -f json").out)["parts"]["document"]) == 25


def test_warnings_stand_below_and_beside_flat_tables_on_standard_error(shell: Shell) -> None:
    shell.postedit("--name r -o o.txt -q")
    done = shell("compare r")
    assert done.err == ""
    assert done.out.splitlines()[-1].startswith("warning: the segments have no reference: BLEU, chrF and TER are left")
    assert "scores" not in done.out
    assert "regressed" not in done.out
    flat = shell("compare r -f csv")
    assert flat.err.startswith("mtagent: warning: the segments have no reference")
    assert "warning" not in flat.out


def test_several_runs_other_systems_and_tests(improved: Shell) -> None:
    improved.postedit("-r ref.txt --name q --gate none -o q.txt -q")
    done = improved("compare first=r q --baseline human=ref.txt --baseline o.txt -m chrf --paired-bs --resamples 20")
    assert [row[0] for row in table(done.out, "scores of 3 segments:")[1:]] == [
        "given", "first/postedit", "first/final", "q/postedit", "q/final", "human", "o"
    ]  # fmt: skip
    human = next(row for row in table(done.out, "scores of 3 segments:") if row[0] == "human")
    assert human[1] == "100.00"
    assert "p: paired bootstrap resampling, 20 resamples" in done.out
    assert "q/postedit: since given" in done.out
    pairs = [tuple(row[-10:-8]) for row in table(done.out, "differences:")[2:]]
    assert pairs[-1] == ("q/final", "first/final"), "the end of a run with the end of the first"
    assert "|bs:20|seed:12345|" in done.out


@pytest.fixture
def two_stages(shell: Shell) -> Shell:
    """The shell with a run ``r`` of twenty segments: proofreading mends half of what post-editing left."""
    chains = [
        Chain(
            segment=segment(i, "s", f"w{i} x x d", reference=f"w{i} b c d"),
            steps=(step("postedit", f"w{i} b x d"), step("proofread", f"w{i} b c d" if i % 2 else f"w{i} b x d")),
        )
        for i in range(20)
    ]
    store(shell.folder / "store.db", "r", *chains)
    return shell


def test_each_stage_is_tested_against_the_former_one(two_stages: Shell) -> None:
    done = two_stages("compare r -m ter --paired-bs --resamples 99")
    head, postedit, proofread, final = table(done.out, "differences:")
    assert head == ["metric", "row", "against", "difference", "from", "to", "p", "p (Holm)", "wins", "ties", "losses"]
    assert postedit[:6] == ["TER", "postedit", "given", "-25.00", "-25.00", "-25.00"]
    assert postedit[6:] == ["0.0100", "0.0300*", "20", "0", "0"]
    assert proofread[1:4] == ["proofread", "postedit", "-12.50"]
    assert proofread[-5:] == ["0.0100", "0.0300*", "10", "10", "0"]
    assert float(proofread[4]) < -12.5 < float(proofread[5]) < 0
    assert final[1:4] == ["final", "given", "-37.50"]
    assert "too few" not in done.out
    markdown = two_stages("report r -m ter --format markdown").out
    assert re.search(r"\|  \| proofread \| postedit \| -12\.50 \| -\d+\.\d\d \| -\d+\.\d\d \| 0\.0010 \|", markdown)


@pytest.mark.parametrize(
    ("against", "pairs"),
    [
        ("former", ["given>postedit", "postedit>proofread", "given>final"]),
        ("first", ["given>postedit", "given>proofread", "given>final"]),
        ("given", ["given>postedit", "given>proofread", "given>final"]),
        ("postedit", ["postedit>given", "postedit>proofread", "postedit>final"]),
        (
            "all",
            [
                "given>postedit", "given>proofread", "given>final", "postedit>proofread", "postedit>final",
                "proofread>final",
            ],
        ),
    ],
)  # fmt: skip
def test_what_rows_are_compared_with_can_be_chosen(two_stages: Shell, against: str, pairs: list[str]) -> None:
    result = json.loads(two_stages(f"compare r -m ter --against {against} --resamples 99 -f json").out)
    contrasts = result["contrasts"]
    assert [f"{contrast['against']}>{contrast['row']}" for contrast in contrasts] == pairs
    assert result["against"] == against
    for contrast in contrasts:
        same = {contrast["row"], contrast["against"]} == {"proofread", "final"}
        assert (contrast["p_value"] is None) == same, "proofread and final have the same texts"
        assert (contrast["difference"] == 0) == same
    # Rows with the same texts are tested once, so the smallest p is multiplied by the number of different pairs.
    different = 3 if against in ("former", "all") else 2
    for contrast in contrasts:
        if contrast["p_value"] is not None:
            assert contrast["p_holm"] == pytest.approx(0.01 * different)


def test_intervals_without_a_test(two_stages: Shell) -> None:
    done = two_stages("compare r -m ter -ci --by length")
    assert (done.code, done.err) == (0, "")
    assert table(done.out, "scores of 20 segments:")[0] == ["row", "TER", "±", "change"]
    assert table(done.out, "differences:")[0][3:] == ["difference", "wins", "ties", "losses"]


def test_all_pairs_are_a_matrix(two_stages: Shell) -> None:
    done = two_stages("compare r -m ter --against all --resamples 99")
    rows = table(done.out, "TER: row minus column:")
    assert rows[0] == ["row", "given", "postedit", "proofread", "final"]
    assert rows[2] == ["postedit", "-25.00*", "+12.50*", "+12.50*"]
    assert rows[4] == ["final", "-37.50*", "-12.50*", "+0.00"]
    assert [row[-10:-8] for row in table(done.out, "differences:")[2:4]] == [["proofread", "given"], ["final", "given"]]


def test_parts_are_tested_if_they_have_segments_enough(two_stages: Shell) -> None:
    result = json.loads(two_stages("compare r -m ter --by document,length --paired-bs --resamples 99 -f json").out)
    (part,) = result["parts"]["length"]
    for contrast, whole in zip(part["contrasts"], result["contrasts"], strict=True):
        assert (contrast["p_value"], contrast["bounds"]) == (whole["p_value"], whole["bounds"])


def test_a_note_tells_that_no_part_is_large_enough_for_a_test(improved: Shell) -> None:
    out = improved("compare r -m ter --by length --paired-bs --resamples 99").out
    assert "no part is tested: a test needs 20 segments or more" in out
    assert "no part is tested" not in improved("compare r -m ter --by length").out, "no test was asked for"


def test_a_run_is_a_name_for_its_end(improved: Shell) -> None:
    improved.postedit("-r ref.txt --name q --gate none -o q.txt -q")
    result = json.loads(improved("compare r q -m chrf --against q -f json").out)
    assert {contrast["against"] for contrast in result["contrasts"]} == {"q/final"}


def test_tests_between_any_two_rows_are_sacrebleu_s(shell: Shell) -> None:
    given, reference = (ROOT / "mtagent/sample" / name for name in ("sample.apertium.es.txt", "sample.ref.es.txt"))
    line = f"postedit -s {ROOT / 'mtagent/sample/sample.en.txt'} -t {given} -r {reference} -l en-es -q"
    assert shell(f"{line} --name good -o good.txt").code == 0
    assert shell(f"{line} --name weak --gate none -o weak.txt").code == 0
    shell.write("cut.txt", *[text[: len(text) * 9 // 10] for text in given.read_text(encoding="utf-8").splitlines()])
    done = shell("compare good weak --baseline another-system-with-a-long-name=cut.txt -m ter --against all")
    matrix = table(done.out, "TER: row minus")
    assert matrix[0] == ["row", *map(str, range(1, len(matrix)))]
    assert [row[0] for row in matrix[1:3]] == ["1 given", "2 good/postedit"]
    result = json.loads(shell("compare good weak --baseline cut.txt -m bleu,chrf,ter --against all -f json").out)
    texts = {
        "given": given.read_text(encoding="utf-8").splitlines(),
        "good/final": shell.read("good.txt"),
        "weak/final": shell.read("weak.txt"),
        "cut": shell.read("cut.txt"),
    }
    references = [reference.read_text(encoding="utf-8").splitlines()]
    makers: dict[str, Any] = {"BLEU": BLEU, "chrF2": CHRF, "TER": TER}
    compared = 0
    for contrast in result["contrasts"]:
        pair = (contrast["against"], contrast["row"])
        if not {*pair} <= {*texts}:
            continue
        name = contrast["metric"]
        systems = [(system, texts[system]) for system in pair]
        _, theirs = PairedTest(systems, {name: makers[name](references=references)}, None, test_type="bs")()
        first, second = theirs[name]
        if contrast["p_value"] is not None:
            assert contrast["p_value"] == second.p_value
            compared += 1
        assert contrast["difference"] == pytest.approx(second.score - first.score, abs=1e-9)
    assert compared == 17, "six pairs, three metrics; good and weak have the same counts for TER"


def test_the_metric_that_decides(improved: Shell) -> None:
    assert "regressed: TER of the segment got worse" in improved("compare r -m chrf,ter --deciding TER").out
    assert "regressed: BLEU of the segment got worse" in improved("compare r -m bleu,ter").out
    refused = improved("compare r --deciding comet")
    assert (refused.code, refused.out) == (1, "")
    assert "--deciding 'comet': is not one of the metrics; scored are: BLEU, chrF2, TER" in refused.err


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("", 2, "Missing argument"),
        ("nobody", 1, "there is no run 'nobody'"),
        ("r --by colour", 1, "--by: expected one of domain, length, document, not 'colour'"),
        ("r --paired-bs --paired-ar", 2, "choose one"),
        ("r -ci --paired-ar", 2, "--paired-ar gives no intervals"),
        ("r --resamples 9", 2, "--resamples needs"),
        ("r --baseline none.txt", 1, "none.txt: no such file"),
        ("r --baseline two.txt", 1, "two.txt: has 2 lines, and the input of run 'r' has 3 segments"),
        ("r -r two.txt", 1, "two.txt: has 2 lines"),
        ("r --baseline given=o.txt", 1, "two rows are called 'given'"),
        ("r --prices none.toml", 1, "none.toml: "),
        ("r --against nobody", 1, "--against 'nobody': expected former, first, given, all, or the name of a row; the"),
        ("r -m bleurt", 1, "unknown metric 'bleurt'; did you mean 'bleu'?"),
    ],
)
def test_what_does_not_fit_is_named(improved: Shell, line: str, code: int, message: str) -> None:
    improved.write("two.txt", "a", "b")
    done = improved(f"compare {line}")
    assert (done.code, done.out) == (code, "")
    assert message in done.err


# --- what the page shows

PAGE = section("reference/scores.md", "Comparing stages, runs and systems")


def test_the_transcripts_on_the_page_are_true(tmp_path: Path) -> None:
    def without_seconds(text: str) -> str:
        return re.sub(r"(\$\d[\d.]*) +\d+\.\d$", r"\1", text, flags=re.MULTILINE)

    results = transcripts(PAGE, tmp_path)
    assert len(results) == 2
    for output, done in results:
        assert (without_seconds(done.out), done.err, done.code) == (without_seconds(output), "", 0)


def test_the_python_on_the_page_runs(improved: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    improved.postedit("-r ref.txt --name first -o first.txt -q")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "scores.md", "exec"), {})
    first, *scores = capsys.readouterr().out.splitlines()
    assert first == "given 8.333333333333332 1 0.0 chrF2"
    assert [line.split()[0] for line in scores] == ["BLEU", "chrF2", "TER"]


def test_every_option_of_the_command_is_on_the_page(shell: Shell) -> None:
    known = {"--help", "--store", "--config", "--width", "--resamples", "--seed", "--metrics", "--reference"}
    options = set(re.findall(r"--[a-z-]+", shell("compare -h").out.split("Examples:")[0])) - known
    assert {name for name in options if name not in PAGE} <= {"--confidence", "--format"}


# --- the rules


def test_rules_looked_at_every_segment_that_they_found_nothing_in(shell: Shell) -> None:
    """Only what they find is stored."""
    free = step("postedit", "given", "unchanged")
    failed = step("translate", "", "failed")
    chains = [
        Chain(
            segment=segment(1, "s", "given"),
            steps=(step("rules", "new"), step("postedit", "new", "unchanged")),
        ),
        Chain(segment=segment(2, "s", "given"), steps=(free,)),
        Chain(
            segment=segment(3, "s"),
            steps=(step("translate", "text"), step("postedit", "text", "rejected")),
        ),
        Chain(segment=segment(4, "s", "given"), steps=(step("postedit", "given", "failed"),)),
        Chain(segment=segment(5, "s"), steps=(failed,)),
        Chain(segment=segment(6, " ", "given")),
    ]
    stages = ["translate", "rules", "postedit"]
    store(shell.folder / "store.db", "r", *chains, settings={"stages": stages})
    store(shell.folder / "store.db", "without", chains[1], settings={"stages": ["postedit"]})
    rows = table(shell("compare r").out, "outcomes of 6 segments, and edits:")
    rules = next(row for row in rows if row[0] == "rules")
    assert rules[1:6] == ["1", "3", "0", "0", "2"]
    assert "rules" not in shell("compare without").out

    assert shell("report r -o r.json").code == 0
    report = json.loads((shell.folder / "r.json").read_text())
    flow = next(stage for stage in report["figures"]["flow"]["stages"] if stage["stage"] == "rules")
    counts = [(group["kind"], group["reason"], group["segments"]) for group in flow["groups"]]
    assert counts == [
        ("changed", "edited", 1),
        ("untouched", "no error found", 3),
        ("idle", "an earlier stage failed", 1),
        ("idle", "nothing to translate", 1),
    ]
    assert shell("report r -o r.csv").code == 0
    lines = list(csv.DictReader(io.StringIO((shell.folder / "r.csv").read_text())))
    assert [line["id"] for line in lines if line["stage"] == "rules"] == ["1", "2", "3", "4"]


# --- several language pairs


@pytest.fixture
def two_pairs(shell: Shell) -> Shell:
    """The shell with runs ``a`` and ``b`` in German and French: ``b`` mends every word in German, none in French."""
    for name in ("a", "b"):
        chains = []
        for number in range(40):
            target_lang = "de" if number % 2 else "fr"
            is_better = name == "b" and target_lang == "de"
            of = segment(
                number, "s", f"w{number} x x d", target_lang=target_lang, reference=f"w{number} b c d", source_lang="en"
            )
            text = f"w{number} b c d" if is_better else f"w{number} b x d"
            chains.append(Chain(segment=of, steps=(step("postedit", text),)))
        store(shell.folder / "store.db", name, *chains)
    return shell


def test_each_language_pair_has_its_tables_and_all_their_average(two_pairs: Shell) -> None:
    done = two_pairs("compare a b -m ter --paired-bs --resamples 99")
    assert (done.code, done.err) == (0, "")
    assert done.out.index("en-fr: scores of 20 segments:") < done.out.index("en-de: scores of 20 segments:")
    assert table(done.out, "average of 2 language pairs:")[1:] == [
        ["given", "50.00"], ["a/postedit", "25.00"], ["a/final", "25.00"], ["b/postedit", "12.50"], ["b/final", "12.50"]
    ]  # fmt: skip
    head, *_, ends = table(done.out, "differences, average of 2 language pairs:")
    assert head == ["metric", "row", "against", "difference", "better", "worse", "surely better", "surely worse"]
    assert ends[1:] == ["b/final", "a/final", "-12.50", "1", "0", "1", "0"]
    assert "(en-fr, en-de; each counts the same)" in done.out


def test_the_average_of_language_pairs_as_data(two_pairs: Shell) -> None:
    data = json.loads(two_pairs("compare a b -m ter -f json").out)
    assert [pair["target_lang"] for pair in data["language_pairs"]] == ["fr", "de"]
    assert data["average"]["scores"][-1] == {"row": "b/final", "metric": "TER", "score": 12.5}
    assert data["average"]["differences"][-1]["surely_better"] is None, "nothing was tested"
    lines = list(csv.DictReader(io.StringIO(two_pairs("compare a b -m ter -f csv").out)))
    assert {line["lp"] for line in lines} == {"en-fr", "en-de", "average"}
    row, *_, contrast = (line for line in lines if line["lp"] == "average" and line["row"] == "b/final")
    assert [row["TER"], row["against"]] == ["12.5", ""]
    names = ("against", "TER difference", "TER pairs better", "TER pairs worse", "TER pairs surely_better")
    assert [contrast[name] for name in names] == ["a/final", "-12.5", "1", "0", ""]


def test_stages_can_be_scored_in_one_language_pair(two_pairs: Shell) -> None:
    done = two_pairs("score --run b -m ter -l en-de")
    compared = json.loads(two_pairs("compare b -m ter -l en-de -f json").out)
    scores = {row["name"]: row["scores"][0]["score"] for row in compared["rows"]}
    assert table(done.out, "system")[0][1] == f"{scores['given']:.2f}", done.out
    assert two_pairs("score --run b -m ter").err.endswith("score each target language separately (-l)\n")
    assert "-l en-it: run 'b' has no such segments, only en-fr, en-de" in two_pairs("score --run b -l en-it").err
    assert two_pairs("score --run b -m ter --target-lang de").out == done.out
    two_pairs.write("mtagent.toml", 'source_lang = "en"', 'target_lang = "de"')
    assert two_pairs("score --run b -m ter").err.endswith("(-l)\n"), "the settings file chooses no segments of a run"


def test_language_pairs_can_be_chosen(two_pairs: Shell) -> None:
    german = two_pairs("compare a b -m ter -l en-de")
    assert german.out.startswith("scores of 20 segments:")
    assert table(german.out, "scores of 20 segments:")[-1] == ["b/final", "0.00", "-50.00"]
    assert two_pairs("compare a b -m ter -l en-de,en-fr").out.startswith("en-de: scores")
    refused = two_pairs("compare a b -m ter -l en-it")
    assert (refused.code, refused.out) == (1, "")
    assert "-l en-it: the runs have no such segments, only en-fr, en-de" in refused.err


def test_tokenized_texts_are_named_once_for_all_stages_and_runs(shell: Shell, caplog: pytest.LogCaptureFixture) -> None:
    shell.write("long.en.txt", *(f"This is house {number}." for number in range(120)))
    shell.write("first.es.txt", *(f"Esta es la casa {number} ." for number in range(120)))
    shell.write("second.es.txt", *(f"Esta fue la casa {number} ." for number in range(120)))
    shell.write("plain.es.txt", *(f"Esta es la casa {number}." for number in range(120)))
    for name in ("first", "second", "plain"):
        line = f"-s long.en.txt -t {name}.es.txt -r plain.es.txt -l en-es --name {name} -o {name}.out.txt"
        assert shell(f"postedit {line}").code == 0
    caplog.clear()
    assert shell("compare first second plain --metrics bleu,chrf").code == 0
    warnings = [record.getMessage() for record in caplog.records if record.name == "sacrebleu"]
    assert warnings == [
        "first/given, second/given: 100 translations or more end in ' .': BLEU wants texts that are not tokenized"
    ]
