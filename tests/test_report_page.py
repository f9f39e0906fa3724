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
from hypothesis import given
from hypothesis import strategies as st

from mtagent.analysis.compare import Cell, Comparison, Row
from mtagent.chain.revert import revert
from mtagent.records import Chain, Edit, Rating, Score, Segment, Step, Usage, Verdict
from mtagent.report.packing import changes, packed, script_json, units
from mtagent.report.page import Tally, Way, lines, pieces, sentence, way
from mtagent.report.report import Form, ReportOptions, write_report
from mtagent.store import Run, Store
from tests.commands import Shell, python
from tests.report_records import score
from tests.report_runs import EVIL, edited, error, many, rating, save, segment, varied

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
    assert re.fullmatch(
        r"Post-editing and proofreading changed 4 of 8 segments; chrF2 (rose|fell) by [\d.]+ to [\d.]+ \(p = 0\.\d{3}: "
        r"too few segments to tell\); it cost \$0\.0022; 2 segments got worse; 1 failed\.",
        page(stored).texts["h1"],
    )


def test_all_segments_texts_edits_and_decisions_are_in_the_page(stored: Shell) -> None:
    shown = page(stored).data["segments"]
    for one, chain in zip(shown, varied(), strict=True):
        assert (one["id"], one["source"]) == (chain.segment.id, chain.segment.source)
        steps = one.get("steps", ())
        edits = [(e["old"], e["new"], e["outcome"], e.get("detail")) for s in steps for e in s.get("edits", ())]
        assert edits == [(e.old, e.new, e.outcome, e.detail) for step in chain.steps for e in step.edits]
        assert [(s["stage"], s["verdict"], s["reason"]) for s in steps] == [
            (s.stage, s.verdict, s.reason) for s in chain.steps
        ]
        text = one["given"]
        for step in steps:
            text = step.get("text", text)
        assert text == chain.text
    assert shown[4]["notes"] == EVIL


def test_nothing_in_the_page_names_another_address_and_no_text_becomes_markup(stored: Shell) -> None:
    found = page(stored)
    tags = [tag for tag, _, _ in found.attributes]
    assert "img" not in tags
    assert not [one for one in found.attributes if one[1].startswith("on") or one[1] in ("src", "action", "srcdoc")]
    assert all(value.startswith("#") for _, name, value in found.attributes if name in ("href", "xlink:href"))
    assert len(found.scripts) == 2  # the data and the page's own
    text = (stored.folder / "r.html").read_text("utf-8")
    assert not re.search(r"https?://|url\(", text)
    assert "innerHTML" not in found.scripts[1]
    assert text.count("window.hacked") == found.scripts[0].count("window.hacked")
    policy = next(value for _, name, value in found.attributes if name == "content" and "default-src" in value)
    digest = base64.b64encode(hashlib.sha256(found.scripts[1].encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")
    assert "connect-src" not in policy


def test_scores_stand_beside_their_segments(stored: Shell) -> None:
    found = page(stored, "-m chrf")
    data, bank = found.data, found.data["segments"][0]
    assert [metric["name"] for metric in data["metrics"]] == ["chrF2"]
    assert (data["rows"][data["first"]], data["rows"][data["last"]]) == ("as given", "in the end")
    first, last = (bank["scores"][0][data[name]] for name in ("first", "last"))
    assert (last, bank["gain"]) == (100.0, pytest.approx(last - first))
    meanings = [value for tag, name, value in page(stored, "-m ter").attributes if (tag, name) == ("th", "title")]
    assert "segments whose own score is worse than before, by TER" in meanings, "a loss is no fall here"


@pytest.mark.parametrize(
    ("references", "remark"), [((None, None), "the segments have no reference"), (("b", None), "1 of 2 segments have")]
)
def test_without_all_references_nothing_is_scored(references: Sequence[str | None], remark: str, shell: Shell) -> None:
    save(shell.folder, "r", [edited(segment(str(i), "s", "a", r), "b") for i, r in enumerate(references)])
    found = page(shell)
    assert found.texts["h1"] == (
        "Post-editing changed 2 of 2 segments; whether that was for the better is not scored; it cost $0.0008."
    )
    assert found.data["metrics"] == []
    assert remark in found.texts["li"]


def test_references_and_other_systems_come_from_files(shell: Shell) -> None:
    save(shell.folder, "r", [edited(segment("1", "A cat.", "Ein Hund."), "Eine Katze.")])
    shell.write("ref.txt", "Eine Katze.")
    shell.write("other.txt", "Katze.")
    found = page(shell, "-r ref.txt -m ter --baseline other=other.txt")
    assert found.data["rows"] == ["as given", "post-edit", "in the end", "other"]
    assert found.data["segments"][0]["reference"] == "Eine Katze."
    assert "TER fell by" in found.texts["h1"]
    assert "lower is better" in found.texts["h1"]
    assert "1 segment: too few for a p-value to mean much" in found.texts["li"]


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


def test_the_form_goes_by_the_option_or_the_name_of_the_file(stored: Shell) -> None:
    assert stored("report r --format markdown").out.startswith("# Report of the run r\n")
    assert stored("report r --format csv").out.startswith("id,document,domain,stage,")
    assert len(json.loads(stored("report r --format json").out)["segments"]) == 8
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


def test_the_facts_name_a_translator_only_where_one_was_at_work(shell: Shell) -> None:
    assert shell.postedit("--run r -o o.txt -q").code == 0
    assert shell("report r -o r.html").code == 0
    text = "\n".join(shell.read("r.html"))
    assert "<dt>Evaluator</dt>" in text
    assert "<dt>Translator</dt>" not in text


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
        write_report(store, "r", tmp_path / "r", form, ReportOptions(metrics=[Slow(run)]))
        run.close()
    written = (tmp_path / "r").read_text("utf-8")
    found = json.loads(written)["segments"] if form == "json" else Page(written).data["segments"]
    assert [one["id"] for one in found] == ["1", "2"]
    last = [one["scores"]["final"]["length"] if form == "json" else one["scores"][0][-1] for one in found]
    assert last == [1, 2]


# --- what is refused


def test_a_rating_run_is_refused_with_the_way_out(shell: Shell) -> None:
    assert shell("rate -s en.txt -t es.txt -l en-es --evaluator rules --name q -o q.jsonl -q").code == 0
    done = shell("report q -o r.html")
    assert (done.code, "run 'q' holds ratings" in done.err, "mtagent runs show q" in done.err) == (1, True, True)
    assert not (shell.folder / "r.html").exists()


def test_a_file_is_replaced_only_with_force_and_an_input_never(shell: Shell) -> None:
    assert shell.postedit("--run r -o o.txt -q").code == 0
    shell.write("r.html", "mine")
    shell.write("ref.txt", *["x"] * 3)
    assert shell("report r -o r.html").err == "mtagent: r.html: is there already; --force replaces it\n"
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
        ("report r -o no/r.html", "there is no folder"),
        ("report r -o r.html --deciding ter -m chrf", "--deciding"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(line: str, words: str, stored: Shell) -> None:
    done = stored(line)
    assert (done.code, words in done.err, done.out) == (1, True, "")
    assert not (stored.folder / "r.html").exists()


def test_a_missing_extra_is_named(tmp_path: Path, shell: Shell) -> None:
    """In a process that cannot import jinja2."""
    save(tmp_path, "r", varied())
    hide = (
        "import sys; sys.modules['jinja2'] = None; from mtagent.cli import main; main(['report', 'r', '-o', 'r.html'])"
    )
    done = python("-c", hide, folder=tmp_path)
    assert "the page of a report needs an optional package: pip install 'mtagent[report]'" in done.err
    assert not (tmp_path / "r.html").exists()


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
    start, end = step["ratings"][0]["errors"][0]["at"]
    assert text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le") == "schlecht"
    assert step["edits"][0]["at"] == [start, end]
    assert step["edits"][0]["error"] == 0


def test_an_error_whose_text_stands_elsewhere_is_listed_without_a_place() -> None:
    moved = error("schlecht", "schlecht").model_copy(update={"start": 3, "end": 11})
    step = packed(edited(segment("1", "bad", "ganz schlecht"), "gut", moved))["steps"][0]
    assert "at" not in step["ratings"][0]["errors"][0]


def test_the_text_that_the_gate_decided_on_is_kept_where_guards_refused_some_edits() -> None:
    applied = Edit(old="a", new="x", outcome="rejected", start=0, end=1, detail="worse")
    refused = Edit(old="{n}", new="n", outcome="refused", start=2, end=5, detail="placeholders")
    step = Step(
        stage="proofread", text="a {n}", proposed="x n", edits=(applied, refused), verdict="rejected", cause="gate",
        ratings=(Rating(evaluator="judge", score=0, role="before"), Rating(evaluator="judge", score=0, role="after")),
    )  # fmt: skip
    found = packed(Chain(segment=segment("1", "a {n}", "a {n}"), steps=(step,)))["steps"][0]
    assert (found["compared"], found["proposed"], "text" in found) == ("x {n}", "x n", False)
    assert [rating["about"] for rating in found["ratings"]] == ["before", "after"]


def test_the_judge_s_errors_stand_in_the_text_that_it_rated_although_edits_were_taken_back() -> None:
    before, after = "ein Hund und ein Tor", "die Katze und eine Tür"
    spans = error(before, "ein Hund", "die Katze"), error(before, "ein Tor", "eine Tür")
    chain = edited(segment("1", "a cat and a door", before), after, *spans)
    (step,) = chain.steps
    late = step.model_copy(update={"ratings": (*step.ratings[:1], rating(-5, error(after, "eine Tür"), role="after"))})
    found = packed(revert(chain.model_copy(update={"steps": (late,)}), 1))["steps"][0]
    assert found["text"] == "ein Hund und eine Tür"
    start, end = found["ratings"][1]["errors"][0]["at"]
    assert found.get("compared", found["text"])[start:end] == "eine Tür"


def test_the_numbers_of_edits_go_on_over_stages_and_are_those_that_revert_takes() -> None:
    chain = varied()[0]
    steps = packed(chain)["steps"]
    assert [step["first"] for step in steps] == [1, 2]
    assert revert(chain, steps[0]["first"]).text == chain.segment.translation


def test_a_loss_in_the_fifth_digit_is_a_loss_and_an_empty_translation_is_not_a_missing_one() -> None:
    assert packed(varied()[0], [[0.912345, 0.912341]])["scores"] == [[0.912345, 0.912341]]
    for verdict, text in (("kept", ""), ("failed", None)):
        draft = Step.model_validate({"stage": "translate", "text": "", "verdict": verdict, "cause": "-"})
        (step,) = packed(Chain(segment=segment("1", "", None), steps=(draft,)))["steps"]
        assert step.get("text") == text


def rebuilt(before: str, after: str, runs: Sequence[int]) -> tuple[list[str], str]:
    """The pieces that went, and the later text, made of the earlier one and the pieces that came."""
    old, new = (text.encode("utf-16-le", "surrogatepass") for text in (before, after))
    gone, made, i, j = [], b"", 0, 0
    for same, went, came in zip(runs[::3], runs[1::3], runs[2::3], strict=True):
        made += old[2 * i : 2 * (i + same)] + new[2 * (j + same) : 2 * (j + same + came)]
        gone.append(old[2 * (i + same) : 2 * (i + same + went)].decode("utf-16-le", "surrogatepass"))
        i, j = i + same + went, j + same + came
    return gone, (made + old[2 * i :]).decode("utf-16-le", "surrogatepass")


_TEXTS = st.lists(st.sampled_from(["a ", "b", " ", "e\u0301", "👩‍👩‍👧", "猫", "\n", ".", "\u200b", "word "])).map(
    "".join
)


@given(_TEXTS, _TEXTS, st.sampled_from(["de", "ja", "xx"]))
def test_a_difference_leads_from_one_text_to_the_other(before: str, after: str, language: str) -> None:
    assert rebuilt(before, after, changes(before, after, language))[1] == after


@pytest.mark.parametrize(
    ("language", "before", "after", "gone"),
    [
        ("de", "Die Bank des Flusses.", "Das Ufer des Flusses.", ["Die Bank"]),
        ("ja", "水曜日に閉じる", "火曜日に閉じる", ["水"]),
        ("hi", "पुराने पुल को", "पुरानी पुल को", ["पुराने"]),
        ("th", "สวัสดีครับ", "สวัสดีค่ะ", ["ครับ"]),
        ("ar", "يوم الأربعاء هنا", "يوم الثلاثاء هنا", ["الأربعاء"]),
        ("de", "one, two.", "one two.", [","]),
        ("de", "x e\u0301 👩‍👩‍👧", "x e\u0300 👩‍👩‍👦", ["e\u0301 👩‍👩‍👧"]),
        ("de", "a b c d " * 9000, "e f g h " * 9000, [("a b c d " * 9000)[:-1]]),
    ],
)
def test_a_difference_goes_by_words_or_characters_and_splits_none(
    language: str, before: str, after: str, gone: list[str]
) -> None:
    assert rebuilt(before, after, changes(before, after, language)) == (gone, after)
    assert units("👩") == 2


# --- the first sentence


def counted(*chains: Chain, total: int | None = None) -> Tally:
    tally = Tally(total)
    for chain in chains:
        tally.add(chain)
    return tally


def translated(number: int, verdict: Verdict = "kept") -> Chain:
    text = f"w{number} b c" if verdict == "kept" else ""
    draft = Step(stage="translate", text=text, verdict=verdict, cause="-")
    return Chain(segment=segment(str(number), "s", None, f"w{number} b d"), steps=(draft,))


def test_the_sentence_names_translation_an_unknown_price_and_the_store() -> None:
    tally = counted(translated(1), total=3)
    unknown = sentence(tally, None, Usage(calls=2, input_tokens=1200, output_tokens=34, cost=None))
    assert unknown == "1 of 3 segments translated; nothing is scored; price unknown (1,234 tokens)."
    assert "all replies came from the store" in sentence(tally, None, Usage(reused=2))


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
    before, after = Cell(score([0.5] * 30)), Cell(score([0.5001] * 30), p_value=0.2)
    rows = (
        Row("given", "r", "given", ("a",) * 30, (before,)),
        Row("final", "r", "final", ("b",) * 30, (after,), "given"),
    )
    told = sentence(counted(varied()[0]), way(Comparison(("1",) * 30, rows, ("chrF2",), "chrF2"), "r"), Usage())
    assert "chrF2 rose by less than 0.001 to 0.500 (p = 0.200: may be chance)" in told


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
    went = way(rows_by_ter(), "r")
    assert went.worse == 1
    assert Way(went.first, went.last, 0, gains=(-1e-12, -1e-6)).worse == 1


def test_a_p_value_is_told_only_of_the_difference_that_was_tested() -> None:
    tally, usage = counted(varied()[0]), Usage()
    assert "(p = 0.010" in sentence(tally, way(rows_by_ter(), "r"), usage)
    assert "p = " not in sentence(tally, way(rows_by_ter(first="o"), "r"), usage)
    notes = [(cells[0].note, cells[0].tone) for _, cells in lines(rows_by_ter())]
    assert notes == [("", ""), ("−10.00 (p = 0.010)", "better"), ("0.00", ""), ("−10.00 (p = 0.010)", "better")]


# --- large runs


def test_a_page_holds_the_segments_that_a_browser_can_and_says_so(stored: Shell) -> None:
    with Store(stored.folder / "store.db") as store:
        summary, chains = store.run("r"), list(store.read("r").chains())
    sizes = [len(script_json(packed(chain))) + 1 for chain in chains]
    for most, shown in ((sum(sizes), 8), (sum(sizes) - 1, 7), (sum(sizes[:3]), 3), (0, 0)):
        text = "".join(pieces(summary, chains, most=most))
        found = Page(text)
        assert [one["id"] for one in found.data["segments"]] == [chain.segment.id for chain in chains[:shown]]
        said = f"The page shows the first {shown} of 8 segments: no browser holds more."
        assert (said in text) == (shown < 8)
        assert "changed 4 of 8 segments" in found.texts["h1"]


def test_the_segments_of_a_page_are_not_held_in_memory(stored: Shell) -> None:
    with Store(stored.folder / "store.db") as store:
        summary = store.run("r")
    chain = Chain(segment=Segment(id="1", source="x" * 2**20, source_lang="en", target_lang="de"))
    list(pieces(summary, [chain]))  # brings what is imported late

    def peak(number: int) -> int:
        tracemalloc.start()
        for _ in pieces(summary, (chain for _ in range(number))):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(60) < 1.3 * peak(30), "16 MB wait in memory, and all the rest in a file"
