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

from mtagent.analysis.comparison import Cell, Comparison, Row
from mtagent.chain.revert import revert
from mtagent.records import Chain, Edit, Rating, Score, Segment, Step, Usage, Verdict
from mtagent.report.page import Tally, Way, dollars, html, lines, packed, pieces, script_json, sentence, way
from mtagent.report.report import Asked, Form, write_report
from mtagent.store import Run, Store
from tests.commands import Shell
from tests.report_runs import EVIL, edited, error, many, rating, save, segment, varied
from tests.reported import score

_VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(HTMLParser):
    """Walks a page: its elements must close in order; keeps the data, the texts of headings and all attributes."""

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

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += text
        elif self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + text

    @property
    def data(self) -> Any:
        return json.loads(self.scripts[0])


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
    found = page(stored)
    assert re.fullmatch(
        r"Post-editing and proofreading changed 4 of 8 segments; chrF2 (rose|fell) by [\d.]+ to [\d.]+ \(p = 0\.\d{3}: "
        r"too few segments to tell\); it cost \$0\.0022; 2 segments got worse; 1 failed\.",
        found.texts["h1"],
    )


def test_all_segments_and_every_edit_with_its_outcome_and_reason_are_in_the_page(stored: Shell) -> None:
    shown = page(stored).data["segments"]
    chains = varied()
    assert [one["id"] for one in shown] == [chain.segment.id for chain in chains]
    for one, chain in zip(shown, chains, strict=True):
        edits = [edit for step in one.get("steps", ()) for edit in step.get("edits", ())]
        expected = [edit for step in chain.steps for edit in step.edits]
        assert [(e["old"], e["new"], e["outcome"], e.get("detail")) for e in edits] == [
            (e.old, e.new, e.outcome, e.detail) for e in expected
        ]
        steps = [(step["stage"], step["verdict"], step["reason"]) for step in one.get("steps", ())]
        assert steps == [(step.stage, step.verdict, step.reason) for step in chain.steps]


def test_texts_are_the_same_after_reading_the_page(stored: Shell) -> None:
    for one, chain in zip(page(stored).data["segments"], varied(), strict=True):
        assert one["source"] == chain.segment.source
        text = one["given"]
        for step in one.get("steps", ()):
            text = step.get("text", text)
        assert text == chain.text


def test_nothing_in_the_page_names_another_address_and_no_text_becomes_markup(stored: Shell) -> None:
    found = page(stored)
    tags = [tag for tag, _, _ in found.attributes]
    assert "img" not in tags
    assert not [one for one in found.attributes if one[1].startswith("on") or one[1] in ("src", "action", "srcdoc")]
    links = [value for _, name, value in found.attributes if name in ("href", "xlink:href")]
    assert all(link.startswith("#") for link in links)
    assert len(found.scripts) == 2  # the data and the page's own
    text = (stored.folder / "r.html").read_text("utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org/)", text)
    assert not re.search(r"url\((?!#)", text)  # patterns of the plots are in the page itself
    assert "innerHTML" not in found.scripts[1]


def test_only_the_page_s_own_script_may_run(stored: Shell) -> None:
    found = page(stored)
    policy = next(value for _, name, value in found.attributes if name == "content" and "default-src" in value)
    digest = base64.b64encode(hashlib.sha256(found.scripts[1].encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")
    assert "connect-src" not in policy


def test_scores_stand_beside_their_segments(stored: Shell) -> None:
    data = page(stored, "-m chrf").data
    assert [metric["name"] for metric in data["metrics"]] == ["chrF2"]
    bank = data["segments"][0]["scores"][0]
    assert (data["rows"][data["first"]], data["rows"][data["last"]]) == ("as given", "in the end")
    assert (bank[data["last"]], bank[data["first"]] < 100) == (100.0, True)


def test_a_run_without_references_is_reported_without_scores(shell: Shell) -> None:
    save(shell.folder, "r", [edited(segment("1", "A cat.", "Ein Hund."), "Eine Katze.")])
    found = page(shell)
    assert found.texts["h1"] == (
        "Post-editing changed 1 of 1 segment; whether that was for the better is not scored; it cost $0.0004."
    )
    assert found.data["metrics"] == []
    assert "no reference" in found.texts["li"]


def test_references_and_other_systems_come_from_files(shell: Shell) -> None:
    save(shell.folder, "r", [edited(segment("1", "A cat.", "Ein Hund."), "Eine Katze.")])
    shell.write("ref.txt", "Eine Katze.")
    shell.write("other.txt", "Katze.")
    found = page(shell, "-r ref.txt -m ter --baseline other=other.txt")
    assert found.data["rows"] == ["as given", "post-edit", "in the end", "other"]
    assert found.data["segments"][0]["reference"] == "Eine Katze."
    assert "TER fell by" in found.texts["h1"]
    assert "lower is better" in found.texts["h1"]


def test_an_unfinished_run_says_so(shell: Shell) -> None:
    save(shell.folder, "r", varied()[:2], total=9)
    assert "The run is not complete: 2 of 9 segments were tried (stopped)." in page(shell).texts["li"]


def test_segments_in_several_languages_are_reported_without_scores(shell: Shell) -> None:
    both = [segment("1", "A", "B", "C"), segment("2", "A", "B", "C", target_lang="ar")]
    save(shell.folder, "r", [edited(one, "C") for one in both])
    found = page(shell)
    assert "run each target language by itself" in found.texts["li"]
    assert len(found.data["segments"]) == 2
    done = shell("report r -o other.html -m chrf")
    assert (done.code, "score each target language by itself" in done.err) == (1, True)


def test_five_thousand_segments_stay_below_fifteen_megabytes(shell: Shell) -> None:
    """500 of them, and a tenth of the size: the whole number takes a minute."""
    save(shell.folder, "r", many(500), logged=False)
    page(shell, "-m chrf")
    assert (shell.folder / "r.html").stat().st_size < 1_500_000


def test_a_revert_is_on_the_page(stored: Shell) -> None:
    assert stored("revert r bank --edit 1").code == 0
    bank = page(stored).data["segments"][0]
    assert [edit["outcome"] for edit in bank["steps"][0]["edits"]] == ["reverted"]
    assert bank.get("changed", False) is False


def test_other_forms_go_to_standard_output(stored: Shell) -> None:
    assert stored("report r --format markdown").out.startswith("# Report of the run r\n")
    assert stored("report r --format csv").out.startswith("id,document,domain,stage,")
    assert len(json.loads(stored("report r --format json").out)["segments"]) == 8


def test_the_name_of_the_file_says_the_form(stored: Shell) -> None:
    for name, first in (("r.md", "# Report"), ("r.CSV", "id,"), ("r.json", "{"), ("r.htm", "<!doctype html>")):
        assert stored(f"report r -o {name}").code == 0
        assert (stored.folder / name).read_text(encoding="utf-8").startswith(first)


def test_other_forms_hold_what_compare_writes(shell: Shell) -> None:
    shell.write("ref.txt", "El gato estaba sentado aquí.", "Hola, gran mundo.", "Pague 5 dólares ahora.")
    shell.write("my_b.txt", "x", "y", "z")
    assert shell.postedit("-r ref.txt --run r -o o.txt -q").code == 0
    options = "-m chrf,ter --baseline my_b.txt"
    compared = shell(f"compare r --paired-bs {options} -f json")
    assert json.loads(shell(f"report r {options} --format json").out)["comparison"] == json.loads(compared.out)
    tables = shell(f"compare r --paired-bs {options} -f markdown").out.strip().replace("### ", "## ")
    assert r"| my\_b | " in tables
    assert f"\n\n{tables}\n\n## What became of the segments\n" in shell(f"report r {options} --format markdown").out


# --- what is refused


def test_a_rating_run_is_refused_with_the_way_out(shell: Shell) -> None:
    assert shell("rate -s en.txt -t es.txt -l en-es --evaluator rules --name q -o q.jsonl -q").code == 0
    done = shell("report q -o r.html")
    assert done.code == 1
    assert done.err == "mtagent: run 'q' holds ratings, which have no stages to report: see `mtagent runs show q`\n"
    assert not (shell.folder / "r.html").exists()


def test_a_file_is_replaced_only_with_force_and_an_input_never(shell: Shell) -> None:
    assert shell.postedit("--run r -o o.txt -q").code == 0
    shell.write("r.html", "mine")
    assert shell("report r -o r.html").err == "mtagent: r.html: is there already; --force replaces it\n"
    assert shell.read("r.html") == ["mine"]
    assert shell("report r -o r.html --force").code == 0
    for path, words in {"en.txt": "the run was made from this file", "store.db": "is the store"}.items():
        before = (shell.folder / path).read_bytes()
        done = shell(f"report r -o {path} --force")
        assert (done.code, words in done.err) == (1, True)
        assert (shell.folder / path).read_bytes()[:100] == before[:100]


def test_a_reference_or_another_system_is_not_overwritten(stored: Shell) -> None:
    stored.write("ref.txt", *["x"] * 8)
    assert "overwrite the file of -r" in stored("report r -r ref.txt -o ref.txt --force").err
    assert "overwrite the file of --baseline b" in stored("report r --baseline b=ref.txt -o ref.txt --force").err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("report nobody -o r.html", "nobody"),
        ("report r -o r.html -m blue", "did you mean 'bleu'?"),
        ("report r -o r.html -r none.txt", "none.txt"),
        ("report r -o r.html -r en.txt", "en.txt"),
        ("report r -o no/r.html", "there is no folder"),
        ("report r -o r.html --deciding ter -m chrf", "--deciding"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(line: str, words: str, stored: Shell) -> None:
    done = stored(line)
    assert (done.code, words in done.err, done.out) == (1, True, "")
    assert not (stored.folder / "r.html").exists()


# --- packing


@pytest.mark.parametrize(
    "text",
    [
        "</script>",
        "<!--<script>",
        "&lt;",
        "\u2028\u2029",
        "\ud800 alone",
        "\x00\x1f\x7f",
        "\ufffe\uffff",
        '"\\',
        "👩‍👧",
        "é",
        "",
    ],
)
def test_any_text_comes_back_from_the_script_element_as_it_was(text: str) -> None:
    written = script_json({"text": text})
    assert json.loads(written) == {"text": text}
    assert not set("<>&\u2028\u2029") & set(written)
    written.encode("utf-8")


def test_places_are_counted_as_javascript_counts_them() -> None:
    text = "👍 gut 👍 schlecht"
    chain = edited(segment("1", "good", text), "👍 gut 👍 recht", error(text, "schlecht", "recht"))
    step = packed(chain)["steps"][0]
    units = text.encode("utf-16-le")
    start, end = step["ratings"][0]["errors"][0]["at"]
    assert units[2 * start : 2 * end].decode("utf-16-le") == "schlecht"
    assert step["edits"][0]["at"] == [start, end]
    assert step["edits"][0]["error"] == 0


def test_an_error_whose_text_stands_elsewhere_is_listed_without_a_place() -> None:
    moved = error("schlecht", "schlecht").model_copy(update={"start": 3, "end": 11})
    step = packed(edited(segment("1", "bad", "ganz schlecht"), "gut", moved))["steps"][0]
    assert "at" not in step["ratings"][0]["errors"][0]


def test_the_text_that_the_gate_decided_on_is_kept_where_guards_refused_some_edits() -> None:
    applied = Edit(old="a", new="x", outcome="rejected", start=0, end=1, detail="worse")
    refused = Edit(old="{n}", new="n", outcome="refused", start=2, end=5, detail="placeholders")
    bare = Rating(evaluator="judge", score=0)
    step = Step(
        stage="proofread", text="a {n}", proposed="x n", edits=(applied, refused), verdict="rejected", cause="gate",
        ratings=(bare.model_copy(update={"role": "before"}), bare.model_copy(update={"role": "after"})),
    )  # fmt: skip
    found = packed(Chain(segment=segment("1", "a {n}", "a {n}"), steps=(step,)))["steps"][0]
    assert (found["compared"], found["proposed"], "text" in found) == ("x {n}", "x n", False)
    assert [rating["about"] for rating in found["ratings"]] == ["before", "after"]


def test_the_number_of_an_edit_is_the_one_that_revert_takes() -> None:
    chain = varied()[0]
    steps = packed(chain)["steps"]
    assert [step["first"] for step in steps] == [1, 2]
    assert revert(chain, steps[0]["first"]).text == chain.segment.translation


# --- the first sentence


def counted(*chains: Chain, total: int | None = None) -> Tally:
    tally = Tally(total)
    for chain in chains:
        tally.add(chain)
    return tally


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (None, "price unknown"),
        (0.0, "$0.00"),
        (0.1234, "$0.12"),
        (1234.5, "$1,234.50"),
        (0.00021, "$0.00021"),
        (1e-7, "under $0.0001"),
    ],
)
def test_dollars_have_the_digits_that_say_something(cost: float | None, shown: str) -> None:
    assert dollars(cost) == shown


def test_the_sentence_names_translation_an_unknown_price_and_the_store() -> None:
    draft = Step(stage="translate", text="Katze", verdict="kept", cause="translated by llm")
    tally = counted(Chain(segment=segment("1", "cat", None), steps=(draft,)), total=3)
    unknown = sentence(tally, None, Usage(calls=2, input_tokens=1200, output_tokens=34, cost=None))
    assert unknown == "1 of 3 segments translated; nothing is scored; price unknown (1,234 tokens)."
    assert "all replies came from the store" in sentence(tally, None, Usage(reused=2))


def translated(number: int, verdict: Verdict = "kept") -> Chain:
    text = f"w{number} b c" if verdict == "kept" else ""
    draft = Step(stage="translate", text=text, verdict=verdict, cause="-")
    return Chain(segment=segment(str(number), "s", None, f"w{number} b d"), steps=(draft,))


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


def test_a_test_of_one_segment_proves_nothing(shell: Shell) -> None:
    save(shell.folder, "r", [edited(segment("1", "A cat.", "Ein Hund.", "Eine Katze."), "Eine Katze.")])
    found = page(shell)
    assert "too few segments to tell" in found.texts["h1"]
    assert "1 segment: too few for a p-value to mean much" in found.texts["li"]


def test_a_tiny_change_is_not_told_as_zero() -> None:
    before, after = Cell(score([0.5] * 30)), Cell(score([0.5001] * 30), p_value=0.2)
    rows = (
        Row("given", "r", "given", ("a",) * 30, (before,)),
        Row("final", "r", "final", ("b",) * 30, (after,), "given"),
    )
    told = sentence(counted(varied()[0]), way(Comparison(("1",) * 30, rows, ("chrF2",), "chrF2"), "r"), Usage())
    assert "chrF2 rose by less than 0.001 to 0.500 (p = 0.200: may be chance)" in told


def test_where_less_is_better_the_words_do_not_say_that_a_loss_is_a_fall(stored: Shell) -> None:
    meanings = [value for tag, name, value in page(stored, "-m ter").attributes if (tag, name) == ("th", "title")]
    assert "segments whose own score is worse than before, by TER" in meanings
    assert "regressed: TER of the segment got worse;" in stored("compare r -m ter").out


def test_the_judge_s_errors_stand_in_the_text_that_it_rated_although_edits_were_taken_back(shell: Shell) -> None:
    before, after = "ein Hund und ein Tor", "die Katze und eine Tür"
    spans = error(before, "ein Hund", "die Katze"), error(before, "ein Tor", "eine Tür")
    chain = edited(segment("1", "a cat and a door", before), after, *spans)
    (step,) = chain.steps
    late = step.model_copy(update={"ratings": (*step.ratings[:1], rating(-5, error(after, "eine Tür"), role="after"))})
    found = packed(revert(chain.model_copy(update={"steps": (late,)}), 1))["steps"][0]
    assert found["text"] == "ein Hund und eine Tür"
    about = found.get("compared", found["text"])  # as afterText in details.js has it
    start, end = found["ratings"][1]["errors"][0]["at"]
    assert about[start:end] == "eine Tür"


def test_a_loss_in_the_fifth_digit_is_a_loss_on_the_page_too() -> None:
    assert packed(varied()[0], [[0.912345, 0.912341]])["scores"] == [[0.912345, 0.912341]]


def test_an_empty_translation_is_not_a_missing_one() -> None:
    draft = Step(stage="translate", text="", verdict="kept", cause="nothing to translate")
    lost = Step(stage="translate", text="", verdict="failed", cause="-")
    texts = [
        packed(Chain(segment=segment("1", "", None), steps=(one,)))["steps"][0].get("text") for one in (draft, lost)
    ]
    assert texts == ["", None]


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
        write_report(store, "r", tmp_path / "r", form, Asked(metrics=[Slow(run)]))
        run.close()
    written = (tmp_path / "r").read_text("utf-8")
    found = json.loads(written)["segments"] if form == "json" else Page(written).data["segments"]
    assert [one["id"] for one in found] == ["1", "2"]
    last = [one["scores"]["final"]["length"] if form == "json" else one["scores"][0][-1] for one in found]
    assert last == [1, 2]


def test_the_facts_name_a_translator_only_where_one_was_at_work(shell: Shell) -> None:
    assert shell.postedit("--run r -o o.txt -q").code == 0
    assert shell("report r -o r.html").code == 0
    text = shell.read("r.html")
    assert any("<dt>Evaluator</dt>" in line for line in text)
    assert not any("<dt>Translator</dt>" in line for line in text)
    assert any("1 edit<" in line for line in text)


def rows_by_ter(*, first: str = "r") -> Comparison:
    """Three segments, of which one gets worse and two better; the row of another run may stand first."""
    ids = ("1", "2", "3")
    before = Score(metric="TER", value=50, segments=(50, 50, 50), signature="t", higher_is_better=False)
    after = Score(metric="TER", value=40, segments=(60, 30, 30), signature="t", higher_is_better=False)
    rows = [
        Row("given", "r", "given", ids, (Cell(before),)),
        Row("postedit", "r", "postedit", ids, (Cell(after, -10.0, None, 0.01),), "given"),
        Row("proofread", "r", "proofread", ids, (Cell(after, 0.0, None, 0.01),), "postedit"),
        Row("final", "r", "final", ids, (Cell(after, -10.0, None, 0.01),), "given"),
    ]
    other = [] if first == "r" else [Row("o/given", first, "given", ids, (Cell(before),))]
    return Comparison(ids, (*other, *rows), ("TER",), "TER")


def test_losses_are_counted_where_less_is_better_and_noise_is_none() -> None:
    assert way(rows_by_ter(), "r").worse == 1
    went = Way(rows_by_ter().rows[0], rows_by_ter().rows[-1], 0, gains=(-1e-12, -1e-6))
    assert went.worse == 1


def test_a_p_value_is_told_only_of_the_difference_that_was_tested() -> None:
    tally, usage = counted(varied()[0]), Usage()
    assert "(p = 0.010" in sentence(tally, way(rows_by_ter(), "r"), usage)
    assert "p = " not in sentence(tally, way(rows_by_ter(first="o"), "r"), usage)
    notes = [(line.cells[0].note, line.cells[0].tone) for line in lines(rows_by_ter())]
    assert notes == [("", ""), ("−10.00 (p = 0.010)", "better"), ("0.00", ""), ("−10.00 (p = 0.010)", "better")]


def test_the_numbers_of_edits_go_on_over_stages_and_a_lone_rating_is_of_the_text_before() -> None:
    spans = error("a b", "a", "x"), error("a b", "b", "y")
    chain = edited(segment("1", "s", "a b"), "x y", *spans)
    change = Edit(old="x", new="z", outcome="applied", start=0, end=1)
    more = Step(stage="proofread", text="z y", proposed="z y", edits=(change,), verdict="kept", cause="-")
    steps = packed(chain.model_copy(update={"steps": (*chain.steps, more)}))["steps"]
    assert [step["first"] for step in steps] == [1, 3]
    same = Step(stage="postedit", text="a b", verdict="unchanged", cause="no error found", ratings=(rating(0),))
    (step,) = packed(Chain(segment=segment("1", "s", "a b"), steps=(same,)))["steps"]
    assert [one["about"] for one in step["ratings"]] == ["before"]


def test_a_run_in_which_some_references_are_missing_is_reported_without_scores(shell: Shell) -> None:
    chains = [edited(segment("1", "s", "a", "b"), "b"), edited(segment("2", "s", "a"), "b")]
    save(shell.folder, "r", chains)
    found = page(shell)
    assert found.data["metrics"] == []
    assert "1 of 2 segments have no reference" in found.texts["li"]


def test_hostile_notes_stand_in_the_data_and_nowhere_else(stored: Shell) -> None:
    found = page(stored)
    assert found.data["segments"][4]["notes"] == EVIL
    assert (stored.folder / "r.html").read_text("utf-8").count("window.hacked") == found.scripts[0].count(
        "window.hacked"
    )


def test_a_missing_extra_is_named(tmp_path: Path, shell: Shell) -> None:
    """In a process that cannot import jinja2."""
    from tests.commands import python

    save(tmp_path, "r", varied())
    hide = (
        "import sys; sys.modules['jinja2'] = None; from mtagent.cli import main; main(['report', 'r', '-o', 'r.html'])"
    )
    done = python("-c", hide, folder=tmp_path)
    assert "the page of a report needs an optional package: pip install 'mtagent[report]'" in done.err
    assert not (tmp_path / "r.html").exists()


def test_a_page_holds_the_segments_that_a_browser_can_and_says_so(stored: Shell) -> None:
    with Store(stored.folder / "store.db") as store:
        summary, chains = store.run("r"), list(store.read("r").chains())
    whole = html(summary, chains)
    sizes = [len(script_json(packed(chain))) + 1 for chain in chains]
    for most, shown in ((sum(sizes), 8), (sum(sizes) - 1, 7), (sum(sizes[:3]), 3), (0, 0)):
        text = "".join(pieces(summary, chains, most=most))
        found = Page(text)
        assert [one["id"] for one in found.data["segments"]] == [chain.segment.id for chain in chains[:shown]]
        assert (text == whole) == (shown == 8)
        said = f"The page shows the first {shown} of 8 segments: no browser holds more."
        assert (said in text) == (shown < 8)
        assert "changed 4 of 8 segments" in found.texts["h1"]


def test_the_segments_of_a_page_are_not_held_in_memory(stored: Shell) -> None:
    with Store(stored.folder / "store.db") as store:
        summary = store.run("r")
    chain = Chain(segment=Segment(id="1", source="x" * 2**20, source_lang="en", target_lang="de"))
    html(summary, [chain])  # brings what is imported late

    def peak(number: int) -> int:
        tracemalloc.start()
        for _ in pieces(summary, (chain for _ in range(number))):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(60) < 1.3 * peak(30), "16 MB wait in memory, and all the rest in a file"
