"""The driver that runs the papers' methods: on small sets made here, with the simulator as the model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import scipy.stats

from bench.harness import simulator
from tests.commands import Done, environment
from tests.simulator import read_journal
from tests.simulator.marks import ALL, marks
from wmt import himate_table1, live, metaeval_ment
from wmt.lib import evaluation_sets

pytestmark = pytest.mark.loopback
SEGMENTS = 12
SYSTEMS = ("system_0", "system_1", "system_2")
EVALUATORS = "tests.simulator.evaluators:answer"
PRICES = '[[prices]]\nmodel = "sim"\ninput = 0.15\noutput = 0.60\n'
Drive = Callable[[str], Done]
WEIGHTS = {"critical": 25, "major": 5, "minor": 1}


def translation(segment: int, system: int) -> str:
    """A text of two lines, with none to three errors."""
    start = segment * (system + 2) + system
    words = [ALL[(start + number) % len(ALL)].word for number in range((segment + 2 * system) % 4)]
    return f"La casa {segment} de {system}:\nes {' y '.join([*words, 'bonita'])}."


def people(text: str) -> float:
    return -float(sum(WEIGHTS[mark.severity] for mark in marks(text)))


def jsonl(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All sets in small, and a file of prices."""
    ment, wmt22, documents = [], [], []
    for number in range(SEGMENTS):
        texts = {system: translation(number, place) for place, system in enumerate(SYSTEMS)}
        human = {system: people(text) for system, text in texts.items()}
        rate = {system: max(0.0, 4 + score / 5) for system, score in human.items()}
        source = f"房子 {number}{' mute' if number == 3 else ''}"
        ment.append({"seg": number, "src": source, "hyp": texts, "human": human, "rate": rate})
        text = translation(number, 1)
        wmt22.append({"seg": number, "src": source, "hyp": text, "mqm": people(text)})
        documents.append({"doc": f"en-es_#_news_#_{number}", "lp": "en-es", "src": f"Cats {number}.\n\nDogs {number}."})
    jsonl(tmp_path / metaeval_ment.FILE, ment)
    jsonl(tmp_path / himate_table1.FILE, wmt22)
    jsonl(tmp_path / live.DOCUMENTS, documents)
    for sub in ("sources", "system-outputs/en-de", "human-scores"):
        (tmp_path / "wmt23" / sub).mkdir(parents=True)
    (tmp_path / "wmt23/sources/en-de.txt").write_text("".join(f"House {n}\n" for n in range(SEGMENTS)))
    lines = []
    for place, system in enumerate(SYSTEMS):
        texts = [translation(number, place).replace("\n", " ") for number in range(SEGMENTS)]
        (tmp_path / f"wmt23/system-outputs/en-de/{system}.txt").write_text("".join(f"{text}\n" for text in texts))
        lines += [f"{system}\t{people(text) if number % 4 else None}" for number, text in enumerate(texts)]
    lines += ["refA\t0"] * SEGMENTS
    (tmp_path / "wmt23/human-scores/en-de.mqm.seg.score").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "prices.toml").write_text(PRICES)
    return tmp_path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with simulator("--behaviour", EVALUATORS, "--log", str(tmp_path / "log")) as url:
        yield url


ALWAYS = "--data . --model sim --prices prices.toml --max-tokens 500"


@pytest.fixture
def drive(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Drive:
    """Runs the driver in this process, in the folder and with a store of its own."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MTAGENT_STORE", str(folder / "store.db"))

    def run(words: str) -> Done:
        capsys.readouterr()
        code = 0
        try:
            live.main(f"{words} {ALWAYS}".split())
        except SystemExit as done:
            code = int(done.code or 0)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


def started(folder: Path, words: str) -> subprocess.Popen[str]:
    """The driver in a process of its own."""
    command = [sys.executable, "-m", "wmt.live", *words.split(), *ALWAYS.split()]
    return subprocess.Popen(command, cwd=folder, env=environment(folder / "store.db"), text=True)


def requests(folder: Path) -> Counter[str]:
    return Counter(entry.sha256 for entry in read_journal(folder / "log") if entry.sent and entry.status == 200)


def row(done: Done, start: str) -> list[str]:
    """The cells of the first row that begins so, without its label."""
    line = next(line for line in done.lines if line.startswith(start))
    return re.split(r"\s{2,}", line.strip())[1:]


# --- evaluators


def test_the_measured_row_is_beside_the_published_one(folder: Path, server: str, drive: Drive) -> None:
    done = drive(f"rate -q -o ratings.jsonl --base-url {server}")
    assert (done.code, done.err) == (0, "")
    assert row(done, "published: RATE, Tables 3 and 7") == ["all 398", *metaeval_ment.SYSTEMS, *metaeval_ment.SEGMENTS]
    segments, _, _, _, _, _, pearson, spearman = row(done, "measured, sim")
    ratings = [json.loads(line) for line in (folder / "ratings.jsonl").read_text(encoding="utf-8").splitlines()]
    scores = [rating["score"] for rating in ratings]
    human = [people(rating["translation"]) for rating in ratings]
    assert segments == str(SEGMENTS)
    assert len(ratings) == SEGMENTS * len(SYSTEMS)
    assert float(pearson) == pytest.approx(100 * scipy.stats.pearsonr(scores, human)[0], abs=0.05)
    assert float(spearman) == pytest.approx(100 * scipy.stats.spearmanr(scores, human)[0], abs=0.05)
    low, high = row(done, "  its 95 % interval")[-2].split(" … ")
    assert float(low) < float(pearson) < float(high)
    authors = row(done, "the authors' scores, same translations")
    assert authors[0] == str(SEGMENTS)
    low, high = row(done, "  95 % interval of measured minus these")[-2].split(" … ")
    assert float(low) < float(pearson) - float(authors[-2]) < float(high)
    assert "scored: 36 of 36 translations" in done.lines


@pytest.mark.parametrize(
    ("words", "published"),
    [
        ("himate", ["all 1,875", "0.404", "0.502", "0.0421", "0.0051"]),
        ("himate:stages=se", ["all 1,875", "0.359", "0.468", "0.1614", "0.0614"]),
        ("single-agent --on wmt22", ["all 1,875", "0.345", "0.417", "0.0427", "0.0042"]),
        ("gemba-da --on ment", ["all 398", "86.7", "96.5", "87.9", "93.7", "59.1", "70.1", "60.2"]),
        ("m-mad --mtme wmt23", ["all 460", "0.970", "0.979", "0.555", "0.552"]),
    ],
)
def test_each_method_has_the_row_of_its_paper(
    folder: Path, server: str, drive: Drive, words: str, published: list[str]
) -> None:
    done = drive(f"{words} -q --limit 4 --base-url {server}")
    assert (done.code, done.err) == (0, "")
    assert row(done, "published: ") == published
    measured = row(done, "measured, sim")
    assert measured[0] == "4"
    assert len(measured) == len(published)


def test_segments_that_people_did_not_rate_are_not_rated(folder: Path, server: str, drive: Drive) -> None:
    done = drive(f"gemba-da --on wmt23 --mtme wmt23 -q --base-url {server}")
    assert "scored: 27 of 27 translations" in done.lines
    assert len(read_journal(folder / "log")) == 27


def test_what_cannot_be_read_is_left_out_and_counted(folder: Path, drive: Drive) -> None:
    with simulator("--behaviour", "tests.wmt_models:unreadable") as url:
        done = drive(f"rate -q --base-url {url}")
    assert done.code == 3
    assert row(done, "measured, sim")[0] == str(SEGMENTS - 1)
    assert "scored: 33 of 36 translations; left out: 3 RatingParseError" in done.lines


def test_a_higher_limit_continues_the_run(folder: Path, server: str, drive: Drive) -> None:
    first = drive(f"m-mad --mtme wmt23 -q --limit 3 --base-url {server}")
    assert "scored: 9 of 9 translations" in first.lines
    whole = drive(f"m-mad --mtme wmt23 --base-url {server}")
    assert "3 of 9 segments are done" in whole.err
    assert "scored: 27 of 27 translations" in whole.lines
    assert set(requests(folder).values()) == {1}


def test_a_spent_budget_leaves_the_row_of_what_was_rated(folder: Path, server: str, drive: Drive) -> None:
    done = drive(f"rate -q --budget 0.012 --concurrency 2 --base-url {server}")
    assert done.code == 4
    assert "the same command with a higher budget" in done.err
    assert 0 < int(row(done, "measured, sim")[0]) < SEGMENTS
    assert "; in proportion, the whole set: $0." in done.out
    continued = drive(f"rate -q --budget 1 --base-url {server}")
    assert (continued.code, row(continued, "measured, sim")[0]) == (0, str(SEGMENTS))
    assert set(requests(folder).values()) == {1}


def test_a_budget_that_is_too_low_for_anything_measures_nothing(folder: Path, server: str, drive: Drive) -> None:
    done = drive(f"himate -q --budget 0.000001 --base-url {server}")
    assert done.code == 4
    assert "nothing was scored: there is no measured row" in done.lines
    assert read_journal(folder / "log") == []


@pytest.mark.slow
@pytest.mark.parametrize("words", ["rate", "himate", "m-mad --mtme wmt23", "stages"])
def test_a_killed_run_pays_for_nothing_twice(folder: Path, drive: Drive, words: str) -> None:
    log = folder / "log"
    with simulator("--behaviour", EVALUATORS, "--latency", "0.05", "--log", str(log)) as url:
        with started(folder, f"{words} -q --concurrency 2 --base-url {url}") as process:
            while not log.exists() or log.read_bytes().count(b"\n") < 25:
                assert process.poll() is None
                time.sleep(0.01)
            process.kill()
        resumed = drive(f"{words} -q --base-url {url}")
        assert (resumed.code, resumed.err) == (0, "")
        paid = requests(folder).total()
        undisturbed = drive(f"{words} -q --store another.db --base-url {url}")
    needed = requests(folder).total() - paid
    assert 0 <= paid - needed <= 2  # two requests were in flight when the process died
    assert resumed.lines[:-1] == undisturbed.lines[:-1]
    assert f"cost: {needed:,} calls, " in resumed.lines[-1]


# --- stages


def test_the_stages_have_tokens_and_dollars_beside_the_papers(folder: Path, drive: Drive) -> None:
    with simulator("--behaviour", "tests.simulator.chain:improving", "--log", str(folder / "log")) as url:
        done = drive(f"stages -q --limit 5 --base-url {url}")
    assert (done.code, done.err) == (0, "")
    assert "complete: 5 of 5 paragraphs; failed: 0" in done.lines
    published = {"Translate": ("105.1", "$0.0593"), "Postedit": ("573.7", "$0.3235"), "Proofread": ("155.5", "$0.0877")}
    measured = 0.0
    for stage, (tokens, cost) in published.items():
        cells = row(done, stage)
        assert (cells[1], cells[3]) == (tokens, cost)
        measured += float(cells[0].replace(",", ""))
    paid = re.search(r"cost: \d+ calls, ([\d,]+) tokens", done.out)
    assert paid is not None
    assert measured * 5 == pytest.approx(int(paid[1].replace(",", "")), abs=1)


def test_a_stage_that_fails_is_left_out(folder: Path, drive: Drive) -> None:
    with simulator("--behaviour", "tests.wmt_models:speechless") as url:
        done = drive(f"stages -q --base-url {url}")
        assert done.code == 0, done.err
        text = (folder / live.DOCUMENTS).read_text(encoding="utf-8").replace("Cats 1.", "A mute cat.")
        (folder / live.DOCUMENTS).write_text(text, encoding="utf-8")
        done = drive(f"stages -q --base-url {url}")
    assert done.code == 3
    assert "complete: 23 of 24 paragraphs; failed: 1" in done.lines


# --- what is refused, and estimates


@pytest.mark.parametrize("words", ["rate", "himate --limit 3", "m-mad --mtme wmt23", "stages"])
def test_an_estimate_sends_and_stores_nothing(folder: Path, drive: Drive, words: str) -> None:
    done = drive(f"{words} --estimate")
    assert (done.code, done.err) == (0, "")
    assert done.lines[-1] == "nothing was sent"
    assert any(line.startswith("total ") and "$" in line for line in done.lines)
    assert not (folder / "store.db").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("m-mad", 2, "--on wmt23 needs --mtme DIR"),
        ("m-mad --mtme .", 1, "sources/en-de.txt: no such file; --mtme DIR names the folder wmt23"),
        ("m-mad --mtme wmt23 -l zh-en", 1, "sources/zh-en.txt: no such file"),
        ("gemba-mqm", 2, "--on: results of gemba-mqm are published on ment, wmt22, wmt23"),
        ("rubric-mqm", 2, "name the set to rate with --on: any of them"),
        ("rate -l en-de", 2, "-l belongs to --on wmt23; leave it out with ment"),
        ("stages --on ment", 2, "--on belongs to evaluators; leave it out with stages"),
    ],
)
def test_what_does_not_fit_is_refused(folder: Path, drive: Drive, words: str, code: int, message: str) -> None:
    done = drive(f"{words} -q --base-url http://127.0.0.1:9/v1")
    assert done.code == code
    assert message in done.err
    assert not (folder / "store.db").exists()


def test_a_system_with_another_number_of_lines_is_named(folder: Path, drive: Drive) -> None:
    path = folder / "wmt23/system-outputs/en-de/system_1.txt"
    path.write_text(path.read_text(encoding="utf-8") + "One more.\n", encoding="utf-8")
    done = drive("m-mad --mtme wmt23 --estimate")
    assert done.code == 1
    assert "system_1.txt: 13 segments of system_1, but 12 sources" in done.err


def test_no_model_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        live.main(["rate", "--data", str(folder)])
    assert done.value.code == 1
    assert "no model is set: give --model" in capsys.readouterr().err


# --- published rows


def test_published_rows_have_a_value_for_each_column(folder: Path) -> None:
    sets = [evaluation_sets.ment(folder), evaluation_sets.wmt22(folder)]
    sets.append(evaluation_sets.wmt23(folder / "wmt23", "en-de", folder))
    for evaluation_set, evaluators in zip(sets, evaluation_sets.SETS.values(), strict=True):
        assert set(evaluation_set.published) == set(evaluators)
        for rows in evaluation_set.published.values():
            for published in rows:
                digits = tuple(len(value.partition(".")[2]) for value in published.values)
                assert digits == evaluation_set.digits


@pytest.mark.data
def test_the_authors_scores_on_ment_give_their_row(data: Path) -> None:
    ment = evaluation_sets.ment(data)
    assert len(ment.candidates) == ment.segments
    values = [100 * (statistic.value or 0.0) for statistic in ment.statistics(ment.paired(ment.authors["rate"]))]
    printed = [f"{value:.1f}" for value in values]
    (published,) = ment.rows_for("rate:search=local")
    assert [place for place, value in enumerate(printed) if value != published.values[place]] == [3]  # SPA


@pytest.mark.data
def test_himates_set_is_whole(data: Path) -> None:
    wmt22 = evaluation_sets.wmt22(data)
    assert len(wmt22.candidates) == wmt22.segments
