"""``mtagent report`` as a user meets it: what is on the page, what cannot get out of it, what is refused."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tracemalloc
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from mtagent.analysis.compare import RunComparison
from mtagent.analysis.compared_rows import Cell, ComparedTexts, Contrast
from mtagent.analysis.staged_run import Cost
from mtagent.chain.fates import plain_reason
from mtagent.metrics.significance import Bounds
from mtagent.records import Chain, Score, Segment, Step, Usage, Verdict
from mtagent.report.figures import Flow, figures
from mtagent.report.packing import changes, packed, script_json
from mtagent.report.page import Way, lines, pieces, sentence, way
from mtagent.report.report import Form, ReportOptions, write_report
from mtagent.store import Run, Store
from tests.commands import Shell, python
from tests.report_records import CHAINS, chain, error, rating, reported, score, step
from tests.report_runs import EVIL, edited, many, save, segment, varied
from tests.report_runs import error as marked

_VOID = {"meta", "input", "br", "img", "link", "hr"}
NASTY = '</td><script>alert("1")</script>&\x00\ud800 long'


class Page(HTMLParser):
    """Walks a page: its elements must close in order; keeps the data, the texts by element and all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, str] = {}
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += text
        elif self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + text

    @property
    def data(self) -> Any:
        """What the page's script reads; all parts of the segments together."""
        data, *parts, _ = self.scripts
        segments = [segment for part in parts for segment in json.loads(part)]
        return {**json.loads(data), "segments": segments}


def page(shell: Shell, line: str = "") -> Page:
    done = shell(f"report r -o r.html --force {line}")
    assert (done.code, done.out, done.err) == (0, "", "mtagent: written: r.html\n")
    return Page((shell.folder / "r.html").read_text("utf-8"))


@pytest.fixture
def stored(shell: Shell) -> Shell:
    """The shell with the varied run ``r``."""
    save(shell.folder, "r", varied())
    return shell


# --- the page


def test_a_page_says_first_what_was_changed_whether_it_paid_off_and_what_it_cost(stored: Shell) -> None:
    assert re.fullmatch(
        r"Post-editing and proofreading changed 4 of 8 segments; chrF2 (rose|fell) by [\d.]+ to [\d.]+ \(p = 0\.\d{3}: "
        r"too few segments to tell\); it cost \$0\.0022; 2 segments got worse; 1 failed\.",
        page(stored).texts["h1"],
    )


def test_all_segments_texts_edits_decisions_and_scores_are_in_the_page(stored: Shell) -> None:
    data = page(stored, "-m chrf").data
    for packed_segment, original in zip(data["segments"], varied(), strict=True):
        assert (packed_segment["id"], packed_segment["source"]) == (original.segment.id, original.segment.source)
        steps = packed_segment.get("steps", ())
        edits = [(e["old"], e["new"], e["outcome"], e.get("detail")) for s in steps for e in s.get("edits", ())]
        assert edits == [(e.old, e.new, e.outcome, e.detail) for step in original.steps for e in step.edits]
        assert [(s["stage"], s["verdict"], s["reason"]) for s in steps] == [
            (s.stage, s.verdict, plain_reason(s)) for s in original.steps
        ]
        text = packed_segment["given"]
        for packed_step in steps:
            text = packed_step.get("text", text)
        assert text == original.text
    assert data["segments"][4]["notes"] == EVIL
    assert [metric["name"] for metric in data["metrics"]] == ["chrF2"]
    assert (data["rows"][0], data["rows"][-1]) == ("as given", "in the end")
    bank = data["segments"][0]
    first, last = bank["scores"][0][0], bank["scores"][0][-1]
    assert (last, bank["gain"]) == (100.0, pytest.approx(last - first))


def test_nothing_in_the_page_names_another_address_and_no_text_becomes_markup(stored: Shell) -> None:
    parsed = page(stored)
    names = {name for _, name, _ in parsed.attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "action", "srcdoc")]
    assert "img" not in {tag for tag, _, _ in parsed.attributes}
    assert all(value.startswith("#") for _, name, value in parsed.attributes if name in ("href", "xlink:href"))
    data, segments, script = parsed.scripts
    text = (stored.folder / "r.html").read_text("utf-8")
    assert not re.search(r"https?://|url\(", text)
    assert "innerHTML" not in script
    assert text.count("window.hacked") == (data + segments).count("window.hacked")
    policy = next(value for _, name, value in parsed.attributes if name == "content" and "default-src" in value)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")
    assert "connect-src" not in policy


def test_names_in_tables_stay_text_and_what_html_cannot_hold_is_replaced() -> None:
    rated = rating(-1, error(NASTY), evaluator=NASTY)
    text = "".join(pieces([reported([chain(step("postedit", "rejected", "x", ratings=(rated,)))])]))
    text.encode()
    assert text.count("<script") == 3
    cells = Page(text).texts
    for where in ("caption", "th"):
        assert '</td><script>alert("1")</script>&\ufffd\ufffd long' in cells[where]


@settings(max_examples=25, deadline=None)
@given(CHAINS)
def test_a_page_of_any_run_is_well_formed(chains: list[Chain]) -> None:
    parsed = Page("".join(pieces([reported(chains)])))
    assert [packed_segment["id"] for packed_segment in parsed.data["segments"]] == [c.segment.id for c in chains]


@pytest.mark.parametrize(
    ("references", "remark"), [((None, None), "the segments have no reference"), (("b", None), "1 of 2 segments have")]
)
def test_without_all_references_nothing_is_scored(references: Sequence[str | None], remark: str, shell: Shell) -> None:
    save(shell.folder, "r", [edited(segment(str(i), "s", "a", r), "b") for i, r in enumerate(references)])
    parsed = page(shell)
    assert "whether that was for the better is not scored" in parsed.texts["h1"]
    assert parsed.data["metrics"] == []
    assert remark in parsed.texts["li"]


def test_references_and_other_systems_come_from_files(shell: Shell) -> None:
    save(shell.folder, "r", [edited(segment("1", "A cat.", "Ein Hund."), "Eine Katze.")])
    shell.write("ref.txt", "Eine Katze.")
    shell.write("other.txt", "Katze.")
    parsed = page(shell, "-r ref.txt -m ter --baseline other=other.txt")
    assert parsed.data["rows"] == ["as given", "post-edit", "in the end", "other"]
    assert parsed.data["segments"][0]["reference"] == "Eine Katze."
    assert re.search(r"TER fell by .*\(lower is better\)", parsed.texts["h1"])
    assert "1 segment: too few for a p-value to mean much" in parsed.texts["li"]
    meanings = [value for tag, name, value in parsed.attributes if (tag, name) == ("th", "title")]
    assert "segments whose own score is worse than before, by TER" in meanings, "a loss is no fall here"


def test_an_unfinished_run_says_so_and_names_a_translator_only_where_one_was_at_work(shell: Shell) -> None:
    save(shell.folder, "r", varied()[:2], total=9)
    parsed = page(shell)
    assert "The run is not complete: 2 of 9 segments were tried (stopped)." in parsed.texts["li"]
    assert "Model" in parsed.texts["dt"]
    assert "Translator" not in parsed.texts["dt"]


def test_segments_in_several_languages_are_reported_without_scores(shell: Shell) -> None:
    both = [segment("1", "A", "B", "C"), segment("2", "A", "B", "C", target_lang="ar")]
    save(shell.folder, "r", [edited(item, "C") for item in both])
    parsed = page(shell)
    assert "run each target language by itself" in parsed.texts["li"]
    assert len(parsed.data["segments"]) == 2
    done = shell("report r -o other.html -m chrf")
    assert (done.code, "score each target language separately" in done.err) == (1, True)


def test_what_people_decided_is_on_the_page(stored: Shell) -> None:
    assert stored("revert r bank --edit 1").code == 0
    bank = page(stored).data["segments"][0]
    assert [edit["outcome"] for edit in bank["steps"][0]["edits"]] == ["applied"]
    assert bank["reviewed"] == bank["given"]


def test_the_form_goes_by_the_option_or_the_name_of_the_file(stored: Shell) -> None:
    assert stored("report r --format markdown").out.startswith("# Report of the run r\n")
    assert stored("report r --format csv").out.startswith("id,document,domain,stage,")
    assert len(json.loads(stored("report r --format json").out)["segments"]) == 8
    for name, first in (("r.md", "# Report"), ("r.CSV", "id,"), ("r.json", "{"), ("r.htm", "<!doctype html>")):
        assert stored(f"report r -o {name}").code == 0
        assert (stored.folder / name).read_text(encoding="utf-8").startswith(first)


def test_other_forms_hold_what_compare_writes(stored: Shell) -> None:
    stored.write("my_b.txt", *"abcdefgh")
    options = "-m chrf,ter --baseline my_b.txt"
    compared = stored(f"compare r --paired-bs {options} -f json")
    assert json.loads(stored(f"report r {options} --format json").out)["comparison"] == json.loads(compared.out)
    tables = stored(f"compare r --paired-bs {options} -f markdown").out.strip().replace("### ", "## ")
    assert r"| my\_b | " in tables
    assert f"\n\n{tables}\n\n## What became of the segments\n" in stored(f"report r {options} --format markdown").out


class Slow:
    """A metric during which the run goes on: an earlier segment is done at last."""

    name, higher_is_better = "length", True

    def __init__(self, run: Run) -> None:
        self._run = run

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        if not self._run.done(0):
            self._run.save(0, edited(segment("late", "x", "y", "z"), "a late text"))
        each = tuple(float(len(text)) for text in translations)
        return Score(metric="length", value=sum(each) / len(each), segments=each, signature="length")


@pytest.mark.parametrize("form", ["html", "json"])
def test_a_run_that_goes_on_meanwhile_is_reported_as_it_was(form: Form, tmp_path: Path) -> None:
    with Store(tmp_path / "store.db") as store:
        run = store.start("r", settings={}, inputs={}, total=3)
        for number in (1, 2):
            run.save(number, edited(segment(str(number), "x", "y", "z"), "z" * number))
        write_report(store, ["r"], tmp_path / "r", form, ReportOptions(metrics=[Slow(run)]))
        run.close()
    written = (tmp_path / "r").read_text("utf-8")
    segments = json.loads(written)["segments"] if form == "json" else Page(written).data["segments"]
    assert [item["id"] for item in segments] == ["1", "2"]
    last = [item["scores"]["final"]["length"] if form == "json" else item["scores"][0][-1] for item in segments]
    assert last == [1, 2]


# --- several runs


@pytest.fixture
def several(stored: Shell) -> Shell:
    """The shell with ``r``, and ``s``: another text of ``bank``, the first stage of ``worse``, else nothing done."""
    chains = [whole.model_copy(update={"steps": ()}) for whole in varied()]
    bank, worse = varied()[:2]
    chains[0] = edited(bank.segment, "Das Ufer vom Fluss.", marked("Die Bank des Flusses.", "Die Bank", "Das Ufer"))
    chains[1] = worse.model_copy(update={"steps": worse.steps[:1]})
    save(stored.folder, "s", chains)
    return stored


def test_a_page_of_several_runs_says_first_how_they_differ_and_then_what_each_did(several: Shell) -> None:
    assert several("report one=r s -o r.html").code == 0
    text = (several.folder / "r.html").read_text("utf-8")
    parsed = Page(text)
    assert re.fullmatch(
        r"2 runs of 8 segments\. From one to s, chrF2 fell by [\d.]+ to [\d.]+ \(p \(Holm\) = 0\.\d{3}: too few "
        r"segments to tell\); 3 final texts changed, 1 for the better and 2 for the worse\.",
        parsed.texts["h1"],
    )
    verdicts = text.split('<ul class="verdicts">')[1].split("</ul>")[0]
    assert re.findall(r'<strong dir="auto">(\w+)</strong>: ([^;]*)', verdicts) == [
        ("one", "Post-editing and proofreading changed 4 of 8 segments"),
        ("s", "Post-editing changed 2 of 8 segments"),
    ]


def test_a_page_of_several_runs_has_the_differences_that_compare_prints(several: Shell) -> None:
    assert several("report r s -o r.html -m chrf,ter").code == 0
    text = (several.folder / "r.html").read_text("utf-8")
    table = text.split("<caption>Differences</caption>")[1].split("</table>")[0]
    rows = []
    for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL):
        rows.append(re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row))
    printed = several("compare r s -m chrf,ter --paired-bs").out
    expected = printed.split("\ndifferences:\n")[1].split("\n(")[0]
    assert [" ".join(row).split() for row in rows] == [line.split() for line in expected.splitlines()]


def test_a_segment_of_several_runs_has_what_they_share_once_and_the_rest_for_each(several: Shell) -> None:
    data = page(several, "s").data
    assert data["runs"] == ["r", "s"]
    assert [item["id"] for item in data["segments"]] == [whole.segment.id for whole in varied()]
    bank, worse, *_ = data["segments"]
    assert (bank["source"], bank["domain"]) == ("The bank of the river.", "news")
    first, second = bank["runs"]
    assert [len(run["steps"]) for run in (first, second)] == [2, 1]
    assert not {"source", "reference", "scores"} & {*first, *second}
    assert second["steps"][0]["edits"][0]["new"] == "Das Ufer"
    assert second["difference"] == list(changes("Das Ufer des Flusses.", "Das Ufer vom Fluss.", "de"))
    assert ("difference" in worse["runs"][1], worse["runs"][1]["gain"]) == (False, 0)
    finals = [data["rows"].index(name) for name in ("r/final", "s/final")]
    scores = [bank["scores"][1][place] for place in finals]
    assert data["metrics"][1]["name"] == "chrF2"
    assert second["gain"] == pytest.approx(scores[1] - scores[0])
    assert "gain" not in first


def test_runs_of_other_segments_are_refused_or_reported_on_the_shared_ones(several: Shell) -> None:
    other = [whole.model_copy(update={"steps": ()}) for whole in reversed(varied()[:3])]
    save(several.folder, "t", other)
    done = several("report r t -o r.html")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "mtagent: segment 1 has another id in run 't' than in run 'r': 'refused' and 'bank'; --shared compares the "
        "segments that all runs have\n"
    )
    assert not (several.folder / "r.html").exists()
    data = page(several, "t --shared").data
    assert [(item["id"], len(item["runs"][0].get("steps", ()))) for item in data["segments"]] == [
        ("bank", 2), ("worse", 1), ("refused", 1),
    ]  # fmt: skip
    assert [item["runs"][1]["given"] for item in data["segments"]] == [
        whole.segment.translation for whole in varied()[:3]
    ]


def test_several_runs_in_several_languages_are_shown_without_scores(shell: Shell) -> None:
    given = [segment("1", "Hello.", "Hallo."), segment("2", "Bye.", "Salut.", target_lang="fr")]
    save(shell.folder, "r", [edited(one, "Hi!") for one in given])
    save(shell.folder, "s", [edited(one, "Hey!") for one in given])
    parsed = page(shell, "s")
    assert parsed.texts["h1"] == "2 runs of 2 segments; nothing is scored."
    assert [len(item["runs"][1]["difference"]) for item in parsed.data["segments"]] == [3, 3]


def test_segments_of_chosen_language_pairs_are_reported_and_scored(shell: Shell) -> None:
    given = []
    for number, language in enumerate(("de", "fr", "de")):
        given.append(segment(str(number), "Hello.", "Hallo.", reference="Hi!", target_lang=language))
    save(shell.folder, "r", [edited(one, "Hi!") for one in given])
    data = page(shell, "-l en-de").data
    assert [item["id"] for item in data["segments"]] == ["0", "2"]
    assert data["metrics"]
    assert len(page(shell, "-l en-de,en-fr").data["segments"]) == 3
    refused = shell("report r -l en-it -o other.html")
    assert refused.err == "mtagent: -l en-it: the runs have no such segments, only en-de, en-fr\n"


def test_what_only_one_run_showed_to_its_models_is_shown_there(several: Shell) -> None:
    chains = []
    for whole in varied():
        chains.append(whole.model_copy(update={"segment": whole.segment.model_copy(update={"notes": "a menu"})}))
    save(several.folder, "noted", chains)
    bank = page(several, "noted").data["segments"][0]
    assert "notes" not in bank
    assert [run.get("notes") for run in bank["runs"]] == [varied()[0].segment.notes, "a menu"]


def test_repeats_are_told_by_mean_and_deviation(shell: Shell) -> None:
    given = [segment(str(number), "Hello.", "Hallo, Welt.", reference="Hi, world!") for number in range(3)]
    for seed, text in ((1, "Hi, Welt!"), (2, "Hi, world.")):
        with Store(shell.folder / "store.db") as store:
            settings = {"stages": ["postedit"], "seed": seed}
            run = store.start(f"r-{seed}", settings=settings, inputs={}, total=3)
            for place, one in enumerate(given):
                run.save(place, edited(one, text))
            run.finish()
    assert shell("report r-1 r-2 -o r.html").code == 0
    text = (shell.folder / "r.html").read_text("utf-8")
    repeated = json.loads(shell("compare r-1 r-2 -f json").out)["repeats"]
    (final,) = [line for line in repeated if line["stage"] == "final" and line["metric"] == "chrF2"]
    assert Page(text).texts["h1"] == (
        f"2 runs of 3 segments that differ only in their seed; chrF2 {final['mean']:.2f} on average, "
        f"with a standard deviation of {final['deviation']:.2f}."
    )
    assert "<caption>repeats: runs that differ only in their seed</caption>" in text


def test_several_runs_make_a_page_only(several: Shell) -> None:
    done = several("report r s -o r.csv")
    assert (done.code, "a report of several runs is a page (--format html), not csv" in done.err) == (1, True)
    assert (
        several("report r r -o r.html").err == "mtagent: two runs are called 'r': name each run once, or as NAME=RUN\n"
    )


def test_the_cost_is_the_nominal_one_of_the_segments_shown(several: Shell) -> None:
    few = [whole.model_copy(update={"steps": ()}) for whole in varied()[:2]]
    save(several.folder, "t", few)
    assert several("report r t --shared -o r.html").code == 0
    text = (several.folder / "r.html").read_text("utf-8")
    final = next(
        row for row in json.loads(several("compare r t --shared -f json").out)["rows"] if row["name"] == "r/final"
    )
    assert final["cost"]["nominal"]["dollars"] == pytest.approx(0.001)
    assert "</strong>: Post-editing and proofreading changed 2 of 2 segments;" in text
    assert text.count("it cost $0.0010; ") == 1


def test_what_came_from_the_store_is_part_of_the_cost() -> None:
    one = flow(translated(1))
    paid = Usage(calls=1, input_tokens=5, cost=0.001)
    whole = Usage(calls=3, input_tokens=15, cost=0.0169)
    assert "it cost $0.0010 now, and $0.0169 without the store." in sentence(one, None, Cost(paid, whole, 1.0))
    assert "it cost nothing now, and $0.0169 without the store." in sentence(one, None, Cost(Usage(), whole, 1.0))
    unpriced = Usage(calls=3, input_tokens=1500, cost=None)
    assert "it cost nothing now, and an unknown price (1,500 tokens) without the store." in sentence(
        one, None, Cost(Usage(), unpriced, 1.0)
    )


def test_a_small_p_value_alone_does_not_make_a_change_sure() -> None:
    before, after = Cell(score([50.0] * 30)), Cell(score([51.0] * 30))
    rows = (
        ComparedTexts("given", "r", "given", ("a",) * 30, (before,)),
        ComparedTexts("final", "r", "final", ("b",) * 30, (after,), "given"),
    )
    for p_holm, low, words in (
        (0.039, 0.2, "(p = 0.039)"),
        (0.039, -0.2, "(p = 0.039: may be chance)"),
        (0.078, 0.2, "(p (Holm) = 0.078: may be chance)"),
    ):
        contrast = Contrast("final", "given", "chrF2", 1.0, Bounds(low, 2.0), 0.039, p_holm, 30, 0, 0)
        compared = RunComparison(("1",) * 30, rows, ("chrF2",), "chrF2", contrasts=(contrast,))
        assert words in sentence(flow(varied()[0]), way(compared, "r"), cost(Usage()))


# --- what is refused


def test_a_taken_file_is_refused_before_the_runs_are_read(several: Shell) -> None:
    save(several.folder, "t", varied()[:2])
    several.write("r.html", "mine")
    assert several("report r t -o r.html").err == "mtagent: r.html: already exists; --force replaces it\n"


def test_a_rating_run_is_refused_with_the_way_out(shell: Shell) -> None:
    assert shell("rate -s en.txt -t es.txt -l en-es --evaluator rules --name q -o q.jsonl -q").code == 0
    done = shell("report q -o r.html")
    assert (done.code, "run 'q' holds ratings" in done.err, "mtagent runs show q" in done.err) == (1, True, True)
    assert "compare" not in done.err
    assert not (shell.folder / "r.html").exists()


def test_a_file_is_replaced_only_with_force_and_an_input_never(shell: Shell) -> None:
    assert shell.postedit("--name r -o o.txt -q").code == 0
    shell.write("r.html", "mine")
    shell.write("ref.txt", *["x"] * 3)
    assert shell("report r -o r.html").err == "mtagent: r.html: already exists; --force replaces it\n"
    assert shell.read("r.html") == ["mine"]
    assert shell("report r -o r.html --force").code == 0
    for path, options, words in (
        ("en.txt", "", "the run was made from this file"), ("store.db", "", "is the store"),
        ("ref.txt", "-r ref.txt", "overwrite the file of -r"),
        ("ref.txt", "--baseline b=ref.txt", "overwrite the file of --baseline b"),
    ):  # fmt: skip
        before = (shell.folder / path).read_bytes()
        done = shell(f"report r {options} -o {path} --force")
        assert (done.code, words in done.err) == (1, True)
        assert (shell.folder / path).read_bytes()[:100] == before[:100]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("report nobody -o r.html", "nobody"),
        ("report r -o r.html -m blue", "did you mean 'bleu'?"),
        ("report r -o r.html -r none.txt", "none.txt"),
        ("report r -o r.html -r en.txt", "en.txt"),
        ("report r -o no/r.html", "the folder no does not exist"),
        ("report r -o r.html --deciding ter -m chrf", "--deciding"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(line: str, words: str, stored: Shell) -> None:
    done = stored(line)
    assert (done.code, words in done.err, done.out) == (1, True, "")
    assert not (stored.folder / "r.html").exists()


def test_a_missing_extra_is_named(tmp_path: Path, shell: Shell) -> None:
    save(tmp_path, "r", varied())
    hide = "import sys; sys.modules['jinja2'] = None; from mtagent.cli import main; main('report r -o r.html'.split())"
    done = python("-c", hide, folder=tmp_path)
    assert "the page of a report needs an optional package: pip install 'mtagent[report]'" in done.err
    assert not (tmp_path / "r.html").exists()


# --- the first sentence


def flow(*chains: Chain) -> Flow:
    return figures(chains).flow


def cost(usage: Usage) -> Cost:
    return Cost(usage, usage, 1.0)


def translated(number: int, verdict: Verdict = "kept") -> Chain:
    text = f"w{number} b c" if verdict == "kept" else ""
    draft = Step(stage="translate", text=text, verdict=verdict, cause="-")
    return Chain(segment=segment(str(number), "s", None, f"w{number} b d"), steps=(draft,))


def test_the_sentence_names_translation_an_unknown_price_and_the_store() -> None:
    one = flow(translated(1))
    unknown = sentence(one, None, cost(Usage(calls=2, input_tokens=1200, output_tokens=34, cost=None)), 3)
    assert unknown == "1 of 3 segments translated; nothing is scored; price unknown (1,234 tokens)."
    assert "all replies came from the store" in sentence(one, None, cost(Usage(reused=2)))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["failed", "failed"], "0 of 2 segments translated; chrF2 0.00; it cost nothing; 2 failed."),
        (["kept", "failed"], r"1 of 2 segments translated; chrF2 [\d.]+; it cost nothing; 1 failed."),
        (["kept", "kept"], r"2 segments translated; chrF2 [\d.]+; it cost nothing."),
    ],
)
def test_the_sentence_of_a_translation_counts_what_there_is(
    verdicts: list[Verdict], expected: str, shell: Shell
) -> None:
    save(shell.folder, "r", [translated(number, verdict) for number, verdict in enumerate(verdicts)])
    assert re.fullmatch(expected, page(shell).texts["h1"])


def test_a_tiny_change_is_not_told_as_zero() -> None:
    before, after = Cell(score([0.5] * 30)), Cell(score([0.5001] * 30))
    rows = (
        ComparedTexts("given", "r", "given", ("a",) * 30, (before,)),
        ComparedTexts("final", "r", "final", ("b",) * 30, (after,), "given"),
    )
    contrast = Contrast("final", "given", "chrF2", 0.0001, None, 0.2, 0.2, 30, 0, 0)
    compared = RunComparison(("1",) * 30, rows, ("chrF2",), "chrF2", contrasts=(contrast,))
    words = sentence(flow(varied()[0]), way(compared, "r"), cost(Usage()))
    assert "chrF2 rose by less than 0.001 to 0.500 (p = 0.200: may be chance)" in words


def rows_by_ter(*, first: str = "r") -> RunComparison:
    """Three segments, of which one gets worse and two better; the row of another run may stand first."""
    ids = ("1", "2", "3")
    before = Score(metric="TER", value=50, segments=(50, 50, 50), signature="t", higher_is_better=False)
    after = Score(metric="TER", value=40, segments=(60, 30, 30), signature="t", higher_is_better=False)
    rows = [
        ComparedTexts("given", "r", "given", ids, (Cell(before),)),
        ComparedTexts("postedit", "r", "postedit", ids, (Cell(after, -10.0),), "given"),
        ComparedTexts("proofread", "r", "proofread", ids, (Cell(after, 0.0),), "postedit"),
        ComparedTexts("final", "r", "final", ids, (Cell(after, -10.0),), "given"),
    ]
    other = [] if first == "r" else [ComparedTexts("o/given", first, "given", ids, (Cell(before),))]
    against = "given" if first == "r" else "o/given"
    contrasts = []
    for name in ("postedit", "final"):
        contrasts.append(Contrast(name, against, "TER", -10.0, None, 0.01, 0.01, 2, 0, 1))
    return RunComparison(ids, (*other, *rows), ("TER",), "TER", contrasts=tuple(contrasts))


def test_losses_are_counted_where_less_is_better_and_noise_is_none() -> None:
    went = way(rows_by_ter(), "r")
    assert went.worse == 1
    assert Way(went.first, went.last, 0, gains=(-1e-12, -1e-6)).worse == 1


def test_a_p_value_is_told_only_of_the_difference_that_was_tested() -> None:
    changed, usage = flow(varied()[0]), cost(Usage())
    assert "(p = 0.010" in sentence(changed, way(rows_by_ter(), "r"), usage)
    assert "p = " not in sentence(changed, way(rows_by_ter(first="o"), "r"), usage)
    notes = [(cells[0].note, cells[0].tone) for _, cells in lines(rows_by_ter())]
    assert notes == [
        ("", ""),
        ("−10.00 (p\xa0=\xa00.010*)", "better"),
        ("0.00", ""),
        ("−10.00 (p\xa0=\xa00.010*)", "better"),
    ]


# --- large runs


def test_five_thousand_segments_stay_below_fifteen_megabytes(shell: Shell) -> None:
    """500 of them, and a tenth of the size: the whole number takes a minute."""
    save(shell.folder, "r", many(500), logged=False)
    page(shell, "-m chrf")
    assert (shell.folder / "r.html").stat().st_size < 1_500_000


def test_a_page_holds_the_segments_that_a_browser_can_and_says_so() -> None:
    chains = varied()
    sizes = [len(script_json(packed(chain))) + 1 for chain in chains]
    for most, shown in ((sum(sizes), 8), (sum(sizes) - 1, 7), (sum(sizes[:3]), 3), (0, 0)):
        text = "".join(pieces([reported(chains)], most=most))
        parsed = Page(text)
        assert [item["id"] for item in parsed.data["segments"]] == [chain.segment.id for chain in chains[:shown]]
        assert (f"The page shows the first {shown} of 8 segments: no browser holds more." in text) == (shown < 8)
        assert "changed 4 of 8 segments" in parsed.texts["h1"]


def test_the_segments_of_a_page_are_not_held_in_memory() -> None:
    chain = Chain(segment=Segment(id="1", source="x" * 2**20, source_lang="en", target_lang="de"))
    list(pieces([reported([chain])]))  # brings what is imported late

    def peak(number: int) -> int:
        tracemalloc.start()
        for _ in pieces([reported(chain for _ in range(number))]):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(60) < 1.3 * peak(30), "16 MB wait in memory, and all the rest in a file"
