"""The drivers of whole experiments: a submission to WMT's general task, and the paper's stages on WMT24++."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.harness import simulator
from mtagent import Chain, Config, Segment, Step
from mtagent.errors import InputError, OutputError
from mtagent.jobs.inputs import Files
from tests.codes import without_codes
from tests.comet_environment import Fake
from tests.commands import ROOT, Done, python
from tests.simulator import read_journal
from tests.simulator.asked import asked
from wmt import stages_wmt24pp, wmt25_general
from wmt.lib import wmt24pp
from wmt.lib.stored_run import as_files
from wmt.lib.wmt25_documents import Document, documents, joined, segments, settled

PAPER = "--preset paper"
NEWS = "en-es_#_news_#_a"
Drive = Callable[..., Done]


@pytest.fixture
def drive(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Drive:
    """Runs a driver in this process, in a folder and with a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MTAGENT_STORE", str(tmp_path / "store.db"))

    def run(main: Callable[[Sequence[str]], None], line: str, *more: str) -> Done:
        capsys.readouterr()
        try:
            main([*line.split(), *more])
        except SystemExit as done:
            captured = capsys.readouterr()
            return Done(int(done.code or 0), captured.out, captured.err)
        captured = capsys.readouterr()
        return Done(0, captured.out, captured.err)

    return run


def jsonl(name: str, *objects: dict[str, Any]) -> Path:
    path = Path(name)
    path.write_text("".join(json.dumps(fields, ensure_ascii=False) + "\n" for fields in objects), encoding="utf-8")
    return path


def read(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line]


def document(text: str, name: str = NEWS, **more: Any) -> dict[str, Any]:
    fields = {"src_lang": "en", "tgt_lang": "es", "domain": "news", "video": None}
    return {"doc_id": name, **fields, "src_text": text, "prompt_instruction": "Be formal.", **more}


def hypotheses(path: str = "out.jsonl") -> list[str]:
    return [line["hypothesis"] for line in read(path)]


DRIVERS = sorted(path.stem for path in (ROOT / "wmt").glob("[a-z]*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIVERS)
def test_the_drivers_start_from_a_checkout_in_both_ways(name: str) -> None:
    for command in ([f"wmt/{name}.py"], ["-m", f"wmt.{name}"]):
        done = python(*command, "--help")
        assert done.err == ""
        assert f"python -m wmt.{name} " in done.out


def test_every_module_is_a_driver_or_in_the_library() -> None:
    """A module that does nothing when it is run would end with exit code 0, as if it had worked."""
    is_driver = {}
    for path in (ROOT / "wmt").rglob("[a-z]*.py"):
        is_driver[path.relative_to(ROOT / "wmt")] = '\nif __name__ == "__main__":\n' in path.read_text(encoding="utf-8")
    assert is_driver
    assert [str(path) for path, runs in is_driver.items() if runs == (path.parts[0] == "lib")] == []


def test_every_driver_is_on_the_page() -> None:
    page = (ROOT / "wmt" / "README.md").read_text(encoding="utf-8")
    assert [name for name in DRIVERS if f"`{name}.py`" not in page] == []


# --- the general task


@pytest.mark.loopback
def test_a_submission_has_the_paragraphs_of_the_source_in_order(drive: Drive) -> None:
    source = "One two three.\nFour five.\n\nSix seven.\n\n\nEight nine."
    jsonl("s.jsonl", document(source), document("Ten.", "en-es_#_news_#_b"))
    with simulator("--behaviour", "tests.wmt_models:same") as url:
        done = drive(wmt25_general.main, f"-s s.jsonl -o out.jsonl {PAPER} --base-url {url}")
    assert done.code == 0, done.err
    assert read("out.jsonl") == [
        {"doc_id": NEWS, "hypothesis": source},
        {"doc_id": "en-es_#_news_#_b", "hypothesis": "Ten."},
    ]


@pytest.mark.loopback
def test_white_space_around_lines_that_a_model_strips_stays(drive: Drive) -> None:
    source = "  One two. \n\tThree four.\n\n Five."
    jsonl("s.jsonl", document(source))
    with simulator("--behaviour", "tests.wmt_models:stripped") as url:
        assert drive(wmt25_general.main, f"-s s.jsonl -o out.jsonl -q {PAPER} --base-url {url}").code == 0
    assert hypotheses() == [source]


@pytest.mark.loopback
@pytest.mark.parametrize("by", ["paragraph", "document"])
def test_every_stage_works_on_the_paragraphs(drive: Drive, by: str) -> None:
    jsonl("s.jsonl", document("Big cats sleep.\n\nThe old dog barks.\nIt is late now."))
    with simulator("--behaviour", "tests.simulator.chain:improving") as url:
        done = drive(wmt25_general.main, f"-s s.jsonl -o out.jsonl {PAPER} --by {by} --base-url {url}")
    assert done.code == 0, done.err
    (text,) = hypotheses()
    assert text.replace("correcto ", "") == "Big cats sleep.\n\nThe old dog barks.\nIt is late now."
    assert "correcto" in text


@pytest.mark.loopback
def test_what_failed_keeps_its_text_is_listed_and_is_all_that_is_asked_again(drive: Drive, tmp_path: Path) -> None:
    jsonl("s.jsonl", document("Big cats.\n\nA mute cat.\n\nA dog."))
    jsonl("t.jsonl", {"doc_id": NEWS, "hypothesis": "Un errado.\n\nDos errado.\n\nTres."})
    line = "-s s.jsonl -t t.jsonl -o out.jsonl --stages pe --gate none -q --base-url"
    with simulator("--behaviour", "tests.wmt_models:speechless") as url:
        done = drive(wmt25_general.main, line, url)
    assert done.code == 3
    assert f"wmt25_general: {NEWS}:2: postedit failed: no JSON object or list in the reply: " in done.err
    assert hypotheses() == ["Un acertado.\n\nDos errado.\n\nTres."]
    port, log = url.rpartition(":")[2].removesuffix("/v1"), tmp_path / "log"
    with simulator("--behaviour", "tests.simulator.chain:improving", "--port", port, "--log", str(log)) as again:
        assert again == url
        done = drive(wmt25_general.main, line, url)
    assert (done.code, hypotheses()) == (0, ["Un acertado.\n\nDos acertado.\n\nTres."])
    assert len(log.read_text().splitlines()) == 1


@pytest.mark.loopback
def test_a_paragraph_that_was_never_translated_stays_empty_in_its_place(drive: Drive) -> None:
    jsonl("s.jsonl", document("Cats.\n\nA mute cat.\n\nDogs."))
    with simulator("--behaviour", "tests.wmt_models:speechless") as url:
        done = drive(wmt25_general.main, f"-s s.jsonl -o out.jsonl --stages translate -q --base-url {url}")
    assert done.code == 3
    assert f"{NEWS}:2: translate failed" in done.err
    first, second, third = hypotheses()[0].split("\n\n")
    assert ("Cats." in first, second, "Dogs." in third) == (True, "", True)


@pytest.mark.loopback
def test_a_text_with_another_number_of_paragraphs_is_refused(drive: Drive) -> None:
    jsonl("s.jsonl", document("Please split this.\nAnd go on.\n\nLast one."))
    with simulator("--behaviour", "tests.wmt_models:talkative") as url:
        done = drive(wmt25_general.main, f"-s s.jsonl -o out.jsonl {PAPER} -q --base-url {url}")
    assert done.code == 3
    assert f"{NEWS}:1: proofread made 2 paragraphs of 1, which is refused" in done.err
    assert hypotheses() == ["Please split this.\nAnd go on.\n\nLast one."]


def test_the_first_documents_are_a_part_of_the_run_of_all(drive: Drive) -> None:
    jsonl("s.jsonl", *(document("One .\n\nTwo .", f"en-es_#_news_#_{name}") for name in "abc"))
    texts = [{"doc_id": f"en-es_#_news_#_{name}", "hypothesis": "Uno .\n\nDos ."} for name in "abc"]
    jsonl("t.jsonl", *texts)
    done = drive(wmt25_general.main, "-s s.jsonl -t t.jsonl -o out.jsonl --limit 1")
    assert (done.code, len(read("out.jsonl"))) == (0, 1)
    done = drive(wmt25_general.main, "-s s.jsonl -t t.jsonl -o out.jsonl")
    assert "2 of 6 segments are done" in done.err
    assert [line["doc_id"][-1] for line in read("out.jsonl")] == ["a", "b", "c"]
    drive(wmt25_general.main, "-s s.jsonl -t t.jsonl -o out.jsonl --limit 2")
    assert len(read("out.jsonl")) == 2


def test_a_dry_run_shows_the_request_with_the_instruction_and_the_estimate(drive: Drive) -> None:
    jsonl("s.jsonl", document("Cats sleep.\n\nDogs bark."))
    done = drive(wmt25_general.main, f"-s s.jsonl {PAPER} --model gpt-4o-mini --dry-run")
    assert done.code == 0
    assert "<notes>Be formal.</notes>" in without_codes(done.out)
    assert "<source>Cats sleep.</source>" in without_codes(done.out)
    assert "<source>Dogs bark.</source>" not in without_codes(done.out)
    assert ["translate", "2"] in [line.split()[:2] for line in done.out.splitlines()]
    assert "$48.03" in done.out
    assert not Path("store.db").exists()
    bare = drive(wmt25_general.main, f"-s s.jsonl {PAPER} --model gpt-4o-mini --dry-run --no-instructions")
    assert "Be formal." not in bare.out


@pytest.mark.parametrize(
    ("fields", "known"),
    [
        ({"doc_id": "a", "src_lang": "is", "tgt_lang": "sr_Latn", "src_text": "x"}, ("is", "sr-Latn", None, None)),
        ({"doc_id": "cs-de_DE_#_news_#_x", "src_text": "x"}, ("cs", "de-DE", "news", None)),
        ({"doc_id": "cs-de_DE_#_news_#_x", "domain": "social", "src_text": "x"}, ("cs", "de-DE", "social", None)),
        ({"doc_id": "s_###_news_###_cs_###_is_###_x", "src_text": "x"}, ("cs", "is", "news", None)),
        ({"doc_id": "a", "tgt_lang": "zh_CN", "source_doc": "x", "instruction": "y"}, ("en", "zh-CN", None, "y")),
        ({"doc_id": "a_#_b", "src_text": "x"}, ("en", "de", None, None)),
        ({"doc": "a", "lp": "ja-bho_IN", "src": "x"}, ("ja", "bho-IN", None, None)),
    ],
)  # fmt: skip
def test_the_names_of_fields_of_each_year_are_understood(
    drive: Drive, fields: dict[str, Any], known: tuple[str | None, ...]
) -> None:
    (whole,) = documents(jsonl("s.jsonl", fields), Config(source_lang="en", target_lang="de"))
    assert (whole.source, whole.source_lang, whole.target_lang, whole.domain, whole.notes) == ("x", *known)


GIVEN = {"doc_id": NEWS, "hypothesis": "Uno."}


@pytest.mark.parametrize(
    ("sources", "given", "line", "words"),
    [
        ([document("One.\n\nTwo.")], [GIVEN], "-t t.jsonl", f"s.jsonl:1: the given translation of '{NEWS}' has 1"),
        (
            [document("One.\n\nTwo."), document("One.\n\nTwo.", "b")], [GIVEN, {**GIVEN, "doc_id": "b"}], "-t t.jsonl",
            "has 1 paragraphs instead of 2; 1 more are unlike their sources; leave them out",
        ),
        ([document("One.", "x")], [GIVEN], "-t t.jsonl", "t.jsonl: it has none of these documents; the first is 'x'"),
        ([document("One."), document("Two.")], [GIVEN], "", "s.jsonl:2: the document"),
        ([document("One.")], [GIVEN, GIVEN], "-t t.jsonl", "t.jsonl:2: the document"),
        ([document("One.")], [{"id": "x"}], "-t t.jsonl", "t.jsonl:1: a submission has the fields"),
        ([{"doc_id": "x"}], [GIVEN], "", "s.jsonl:1: there is no field src_text or source_doc"),
        ([{"doc_id": "x", "src_text": "One."}], [GIVEN], "", "s.jsonl:1: languages are not said"),
        ([document("One.", tgt_lang="xxx")], [GIVEN], "", "s.jsonl:1: unknown language 'xxx'"),
        ([document(["One."])], [GIVEN], "", "s.jsonl:1: src_text is no text but ['One.']"),
        ([document("One.")], [GIVEN], "--only en-is", "--only en-is: there is no document of this language pair"),
        ([document("One.")], [GIVEN], "--system X", "s.jsonl:1: there are no translations of other systems"),
        ([document("One.", hyps={"A": "Uno."})], [GIVEN], "--system X", "--system X: s.jsonl has no text of this"),
        ([document("One.", hyps={"A": ["Uno."]})], [GIVEN], "--system A", "s.jsonl:1: what A has is no text"),
        ([document("One.")], [GIVEN], "-t t.jsonl --system X", "choose one"),
        ([], [GIVEN], "", "s.jsonl: there is no document in it"),
        ([document("One.")], [GIVEN], "", "s.jsonl: has no translations, and there is nothing to translate with"),
        ([document("One.")], [GIVEN], "-t t.jsonl -o t.jsonl", "t.jsonl: the results would overwrite the file of -t"),
        ([document("One.")], [GIVEN], "-t t.jsonl -o .", "is a folder; name a file in it"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_file_and_line(
    drive: Drive, sources: list[dict[str, Any]], given: list[dict[str, Any]], line: str, words: str
) -> None:
    jsonl("s.jsonl", *sources)
    before = jsonl("t.jsonl", *given).read_text()
    done = drive(wmt25_general.main, f"-s s.jsonl -o out.jsonl {line}" if "-o" not in line else f"-s s.jsonl {line}")
    assert done.code == 1
    assert words in done.err
    assert Path("t.jsonl").read_text() == before
    assert not Path("out.jsonl").exists()
    assert not Path("store.db").exists()


@pytest.mark.parametrize(
    ("fields", "line", "written"),
    [
        ({}, "", {}),
        ({}, "--dataset-id x", {"dataset_id": "x", "tgt_lang": "sr_Latn_RS"}),
        ({"dataset_id": "wmttest2025"}, "", {"dataset_id": "wmttest2025", "tgt_lang": "sr_Latn_RS"}),
        ({"dataset_id": "wmttest2025"}, "--dataset-id x", {"dataset_id": "x", "tgt_lang": "sr_Latn_RS"}),
        ({"tgt_lang": None, "lp": "en-pt_BR"}, "--dataset-id x", {"dataset_id": "x", "tgt_lang": "pt_BR"}),
    ],
)
def test_a_submission_names_the_data_set_as_the_source_does(
    drive: Drive, fields: dict[str, Any], line: str, written: dict[str, str]
) -> None:
    jsonl("s.jsonl", document("One .", **{"tgt_lang": "sr_Latn_RS", "tgt_text": {"A": "Jedan."}, **fields}))
    done = drive(wmt25_general.main, f"-s s.jsonl --system A -q {line}")
    assert json.loads(done.out) == {"doc_id": NEWS, "hypothesis": "Jedan.", **written}


def test_texts_of_a_system_stand_in_the_source_file(drive: Drive) -> None:
    jsonl(
        "s.jsonl",
        document("One .", tgt_text={"A": "Uno .", "B": "Dos ."}),
        document("Two .", "b", hyps={"B": "Tres ."}),
        document("No .", "c", hyps={"B": None}),
    )
    done = drive(wmt25_general.main, "-s s.jsonl --system B -q")
    assert [json.loads(line)["hypothesis"].partition(" ")[0] for line in done.out.splitlines()] == ["Dos", "Tres", ""]
    assert done.code == 3


@pytest.mark.loopback
def test_when_the_budget_is_spent_nothing_is_written_and_the_run_can_be_gone_on_with(drive: Drive) -> None:
    jsonl("s.jsonl", *(document(f"Cat {name}.\n\nDog {name}.", f"en-es_#_news_#_{name}") for name in "abc"))
    line = f"-s s.jsonl -o out.jsonl {PAPER} --max-tokens 500 --concurrency 1 --base-url"
    with simulator("--behaviour", "tests.wmt_models:same") as url:
        done = drive(wmt25_general.main, line, url, "--token-budget", "7500")
        assert (done.code, Path("out.jsonl").exists()) == (4, False)
        done = drive(wmt25_general.main, line, url)
    assert re.search(r"[1-5] of 6 segments are done", done.err)
    assert (done.code, hypotheses()) == (0, [f"Cat {name}.\n\nDog {name}." for name in "abc"])


def chain(source: str, *texts: str, given: str | None = None) -> Chain:
    segment = Segment(id="1", source=source, source_lang="en", target_lang="es", translation=given)
    steps = [Step(stage="translate", text=text, verdict="kept", cause="-") for text in texts]
    return Chain(segment=segment, steps=tuple(steps))


@pytest.mark.parametrize(
    ("improved", "text", "trouble"),
    [
        (chain("a", "b"), "b", None),
        (chain("\na", "b"), "\nb", None),
        (chain("a\n\nb", "c\n\nd", "c d"), "c\n\nd", "translate made 1 paragraphs of 2, which is refused"),
        (chain("a\n\nb", "c\n\nd\n\ne", "f"), "\n\n", "translate made 1 paragraphs of 2, which is refused"),
        (chain("a", "b\n\nc", given="d"), "d", "translate made 2 paragraphs of 1, which is refused"),
        (chain("", given="  "), "  ", None),
        (chain(" \n", " \n"), " \n", None),
        (chain("a", "\nb\n", given=""), "b", None),
        (chain("", "\n", given="\n"), "\n", None),
    ],
)
def test_the_last_text_that_fits_is_taken(improved: Chain, text: str, trouble: str | None) -> None:
    assert settled(improved) == (text, trouble)


def test_a_document_with_another_number_of_paragraphs_is_never_written() -> None:
    whole = Document("s:1", "d", "a\n\nb", "en", "es")
    with pytest.raises(OutputError, match="d: 3 paragraphs instead of 2"):
        joined(whole, ["a\n", "\nb"])


def test_a_segment_has_all_that_is_known_of_its_document() -> None:
    whole = Document("s:1", "d", "a\n\nb", "en", "es", "news", "Be formal.", "c\n\nd")
    known = {"source_lang": "en", "target_lang": "es", "document": "d", "domain": "news", "notes": "Be formal."}
    assert segments(whole, "document") == [Segment(id="d", source="a\n\nb", translation="c\n\nd", **known)]
    assert segments(whole, "paragraph") == [
        Segment(id="d:1", source="a", translation="c", **known),
        Segment(id="d:2", source="b", translation="d", **known),
    ]


def test_a_document_that_the_other_system_has_not_stays_in_its_place(drive: Drive) -> None:
    jsonl("s.jsonl", document("Two.", "b"), document("One ."))
    jsonl("t.jsonl", {"doc_id": NEWS, "hypothesis": "Uno ."})
    done = drive(wmt25_general.main, "-s s.jsonl -t t.jsonl -o out.jsonl -q")
    assert (done.code, hypotheses()) == (3, ["", "Uno ."])
    assert "b:1: postedit failed: there is no translation" in done.err


@pytest.fixture
def wmt25(data: Path, drive: Drive) -> list[dict[str, Any]]:
    """The 70 documents, and ``t.jsonl`` with the texts of a system for each."""
    whole = read(data / "wmt25_docs.jsonl")
    jsonl("t.jsonl", *({"doc_id": row["doc"], "hypothesis": next(iter(row["hyps"].values()))} for row in whole))
    return whole


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.loopback
def test_real_documents_go_through_a_chain_that_changes_nothing(
    drive: Drive, data: Path, wmt25: list[dict[str, Any]]
) -> None:
    source = data / "wmt25_docs.jsonl"
    with simulator("--behaviour", "tests.wmt_models:same") as url:
        line = f"-s {source} -q {PAPER} --concurrency 32 --base-url {url} -o"
        translated = drive(wmt25_general.main, line, "out.jsonl")
        improved = drive(wmt25_general.main, line, "better.jsonl", "-t", "t.jsonl")
    assert (translated.code, improved.code) == (0, 0), translated.err + improved.err
    assert len(wmt25) == 70
    assert [(line["doc_id"], line["hypothesis"]) for line in read("out.jsonl")] == [
        (row["doc"], row["src"]) for row in wmt25
    ]
    assert Path("better.jsonl").read_bytes() == Path("t.jsonl").read_bytes()


@pytest.mark.data
def test_real_documents_keep_every_paragraph_that_the_rules_leave_alone(
    drive: Drive, data: Path, wmt25: list[dict[str, Any]]
) -> None:
    done = drive(wmt25_general.main, f"-s {data / 'wmt25_docs.jsonl'} -t t.jsonl -o out.jsonl -q")
    assert done.code == 0, done.err
    pairs = [
        (before, after)
        for given, ours, row in zip(hypotheses("t.jsonl"), hypotheses(), wmt25, strict=True)
        for before, after in zip(given.split("\n\n"), ours.split("\n\n"), strict=True)
        if len(ours.split("\n\n")) == row["paragraphs_src"]
    ]
    changed = sum(before != after for before, after in pairs)
    assert len(pairs) == sum(row["paragraphs_src"] for row in wmt25)
    assert 0 < changed < len(pairs) / 4


# --- the paper's stages

TER_AND_EDITS = ["– / 70.28", "– / 72.86", "– / 29.58", "– / 31.89"]
ROW = {"lp": "en-is_IS", "domain": "news", "document_id": "d", "is_bad_source": False}
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa"


def rows(count: int = 12) -> list[dict[str, Any]]:
    texts = [f"{WORDS} {number}." for number in range(count)]
    return [
        {
            **ROW,
            "segment_id": number,
            "source": text,
            "target": f"omega {text} telltale",
            "original_target": f"secret {number}",
        }
        for number, text in enumerate(texts, start=1)
    ]


def given(count: int = 12) -> None:
    Path("t.txt").write_text("".join(f"{WORDS} {number}.\n" for number in range(count)), encoding="utf-8")


@pytest.mark.loopback
def test_the_tables_of_both_runs_with_tests_beside_the_published(drive: Drive, tmp_path: Path) -> None:
    jsonl("is.jsonl", *rows())
    given()
    log = tmp_path / "log"
    with simulator("--behaviour", "tests.wmt_models:reworded", "--log", str(log)) as url:
        line = f"-s is.jsonl -t t.txt --base-url {url} -q -m chrf,ter"
        done = drive(stages_wmt24pp.main, line)
        sent = log.read_text(encoding="utf-8")
        again = drive(stages_wmt24pp.main, line)
    assert done.code == 0, done.err
    tables = {line.split("  ")[0].strip(): line for line in done.out.splitlines()}
    assert tables["En-Icelandic"].split()[1:] == ["9.09", "8.33", "16.67"]
    differences = done.out.partition("differences to Translate")[2].splitlines()[2]
    assert differences.count("(p = ") == 3
    assert "/ 42.96" in done.out
    for ours in ("9.09 / 13.12", "8.33 / 29.58", "16.67 / 31.89"):
        assert ours in done.out
    section = done.out.partition("differences to Translate")[2].partition("(p:")[0]
    scores = {line.split()[1]: re.findall(r"[+-][\d.]+", line) for line in section.splitlines() if "Icelandic" in line}
    performance = done.out.partition("edits by TER")[0]
    for metric, differences in scores.items():
        shown = next(line for line in performance.splitlines() if f" {metric} " in line)
        assert differences == [re.findall(r"\(([+-][\d.]+)\)", shown)[place] for place in (0, 2, 3)]
    assert [*scores] == ["chrF2", "TER"]
    assert "(p = 0.0010)*" in done.out
    assert "paired bootstrap resampling, 1,000 resamples" in done.out
    assert len(sent.splitlines()) == 36
    assert "telltale" not in sent
    assert again.out == done.out
    assert log.read_text(encoding="utf-8") == sent


@pytest.mark.loopback
def test_without_translations_the_model_makes_them_once_for_both_runs(drive: Drive, tmp_path: Path) -> None:
    jsonl("is.jsonl", *rows(4))
    log = tmp_path / "log"
    with simulator("--behaviour", "tests.simulator.chain:improving", "--log", str(log)) as url:
        done = drive(stages_wmt24pp.main, f"-s is.jsonl --base-url {url} -q -m ter -f markdown")
    assert done.code == 0, done.err
    assert "began with different translations" not in done.out
    assert "| Icelandic | TER |" in done.out
    prompts = [prompted.prompt for entry in read_journal(log) if (prompted := asked(entry.body))]
    assert prompts.count("translate") == 4


@pytest.mark.loopback
def test_a_segment_that_failed_shows_in_the_exit_code(drive: Drive) -> None:
    jsonl("is.jsonl", *rows(2), {**rows(1)[0], "segment_id": 9, "source": "mute"})
    Path("t.txt").write_text("a b c\nd e f\ng h i\n")
    with simulator("--behaviour", "tests.wmt_models:speechless") as url:
        done = drive(stages_wmt24pp.main, f"-s is.jsonl -t t.txt --base-url {url} -m ter")
    assert done.code == 3
    assert "9: postedit failed" in done.err
    assert "En-Icelandic" in done.out


def test_the_page_and_the_driver_have_the_same_published_numbers() -> None:
    page = (ROOT / "wmt" / "README.md").read_text(encoding="utf-8")
    for pair, name in (("en-is", "Icelandic"), ("en-sr", "Serbian")):
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {name} | ")]
        stages = zip(*stages_wmt24pp.TABLE_3[pair].values(), strict=True)
        assert line == f"| {name} | {' | '.join(' '.join(f'{number:.2f}' for number in stage) for stage in stages)} |"
        assert f"{name} {', '.join(f'{number:.2f}' for number in stages_wmt24pp.TABLE_4[pair])}" in page
    tokens = (10_728_181, 58_548_177, 15_874_680)
    for number, stage in zip(tokens, ("Translate", "Postedit", "Proofread"), strict=True):
        assert f"{number:,}" in page
        assert f"{number:,}" in wmt25_general.PUBLISHED
        assert f"{number / 29_957:,.0f} for {stage}" in stages_wmt24pp.PUBLISHED_TOKENS


def test_a_line_of_wmt24pp_is_a_segment(drive: Drive) -> None:
    jsonl("is.jsonl", {**rows(1)[0], "is_bad_source": True}, {**rows(2)[1], "translation": "own"}, rows(3)[2])
    Path("t.txt").write_text("bad\nfirst\nsecond\n")
    known = {"source_lang": "en", "target_lang": "is-IS", "document": "d", "domain": "news"}
    texts = {None: ("own", None), Path("t.txt"): ("first", "second")}
    for path, (first, second) in texts.items():
        both = wmt24pp.read(Files(Path("is.jsonl"), path), "original_target", Config())
        assert both == [
            Segment(id="2", source=f"{WORDS} 1.", translation=first, reference="secret 2", **known),
            Segment(id="3", source=f"{WORDS} 2.", translation=second, reference="secret 3", **known),
        ]
        assert wmt24pp.read(Files(Path("is.jsonl")), "target", Config())[0].reference == f"omega {WORDS} 1. telltale"


def test_an_error_names_the_file_that_was_given() -> None:
    with pytest.raises(InputError, match=r"^is\.jsonl:1: not good$"), as_files([], Path("is.jsonl")) as files:
        raise InputError(f"{files.source}:1: not good")


def test_bad_sources_and_the_canary_are_left_out(drive: Drive) -> None:
    bad, canary = {**rows()[1], "is_bad_source": True}, {**rows()[0], "domain": "canary"}
    jsonl("is.jsonl", canary, bad, *rows()[2:])
    given()
    for lines in (12, 10):
        Path("t.txt").write_text("\n".join(f"{WORDS} ." for _ in range(lines)) + "\n")
        done = drive(stages_wmt24pp.main, "-s is.jsonl -t t.txt --dry-run --model gpt-4o-mini --show 0")
        assert "is.jsonl, 10 segments: postedit, proofread" in done.out
        assert "is.jsonl, 10 segments: proofread" in done.out


def test_a_dry_run_tells_what_960_segments_would_take_and_shows_no_reference(drive: Drive) -> None:
    jsonl("is.jsonl", *rows())
    given()
    done = drive(stages_wmt24pp.main, "-s is.jsonl -t t.txt --dry-run --model gpt-4o-mini")
    assert done.code == 0
    assert "both runs, 960 segments, in proportion: " in done.out
    assert "1,954 for Postedit" in done.out
    assert "telltale" not in done.out
    assert "secret" not in done.out
    assert not Path("store.db").exists()


def test_translations_that_both_runs_share_are_estimated_once(drive: Drive) -> None:
    jsonl("is.jsonl", *rows(10))
    done = drive(stages_wmt24pp.main, "-s is.jsonl --dry-run --show 0 --model gpt-4o-mini")
    low, high = (int(text.replace(",", "")) for text in re.findall(r"([\d,]+)–([\d,]+) tokens", done.out)[0])
    costs = [line.split() for line in done.out.splitlines() if re.match("(translate|postedit|proofread) ", line)]
    tokens = [[[int(number.replace(",", "")) for number in cell.split("–")] for cell in row[2:4]] for row in costs]
    assert [row[0] for row in costs] == ["translate", "postedit", "proofread", "translate", "proofread"]
    once = [row for place, row in enumerate(tokens) if place != 3]
    assert (low, high) == tuple(96 * sum(cell[end] for row in once for cell in row) for end in (0, -1))


def test_where_some_translations_are_given_the_model_makes_the_others(drive: Drive) -> None:
    jsonl("is.jsonl", {**rows()[0], "translation": WORDS}, *rows()[1:3])
    done = drive(stages_wmt24pp.main, "-s is.jsonl --dry-run --show 0 --model gpt-4o-mini")
    assert ["translate", "2"] in [line.split()[:2] for line in done.out.splitlines()]


def test_an_evaluator_that_would_show_references_has_none_to_show(drive: Drive) -> None:
    jsonl("is.jsonl", *rows(2))
    given(2)
    line = "-s is.jsonl -t t.txt --dry-run --model gpt-4o-mini --evaluator rubric-mqm:reference=yes"
    done = drive(stages_wmt24pp.main, line)
    assert (done.code, "telltale" in done.out, "secret" in done.out) == (0, False, False)


def test_offline_it_is_postedit_alone(drive: Drive) -> None:
    jsonl("is.jsonl", *rows())
    Path("t.txt").write_text("".join(f"{WORDS}  {number} .\n" for number in range(12)), encoding="utf-8")
    done = drive(stages_wmt24pp.main, "-s is.jsonl -t t.txt -m ter --limit 5 --preset safe")
    assert done.code == 0, done.err
    assert "Proofread needs a model, so this is Postedit alone" in done.err
    assert "mtagent: no model is set" in done.err
    assert "5 segments" in done.err
    assert done.out.splitlines()[2].split()[-3:] == ["–", "–", "–"]


def test_any_file_that_mtagent_reads_will_do(drive: Drive) -> None:
    for name, text in (("en.txt", "A cat ."), ("de.txt", "Eine Katze ."), ("ref.txt", "Eine Katze.")):
        Path(name).write_text(f"{text}\n" * 3, encoding="utf-8")
    done = drive(stages_wmt24pp.main, "-s en.txt -t de.txt -r ref.txt -l en-de -m chrf -f latex")
    assert done.code == 0, done.err
    assert "German & chrF2" in done.out
    assert "published in" not in done.out


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        ({"is_bad_source": "no"}, "", "is.jsonl:1: is_bad_source should be true or false, and is 'no'"),
        ({"target": None}, "", "is.jsonl:1: the field target should hold a text, and holds None"),
        ({"lp": "en"}, "", "is.jsonl:1: 'en' is not a language pair"),
        ({"lp": "en-sr_RS"}, "", "is.jsonl: holds 2 language pairs"),
        ({}, "-t t.txt -t t.txt", "1 -s and 2 -t"),
        ({}, "-s is.jsonl -t t.txt", "2 -s and 1 -t"),
        ({}, "-t t.txt -m ter,bluu", "unknown metric 'bluu'; did you mean 'bleu'?"),
        ({}, "-t short.txt", "short.txt: has 1 lines, and is.jsonl has 12 segments, 12 of them not marked as bad"),
        ({}, "-t t.txt -r t.txt", "t.txt: is.jsonl holds its references itself"),
    ],
)
def test_what_does_not_fit_wmt24pp_is_said(drive: Drive, change: dict[str, Any], line: str, words: str) -> None:
    jsonl("is.jsonl", {**rows()[0], **change}, *rows()[1:])
    given()
    Path("short.txt").write_text("x\n")
    done = drive(stages_wmt24pp.main, f"-s is.jsonl {line}")
    assert (done.code, done.out, Path("store.db").exists()) == (1, "", False)
    assert words in done.err


def test_a_file_without_references_is_refused(drive: Drive) -> None:
    jsonl("x.jsonl", {"source": "a", "translation": "b", "source_lang": "en", "target_lang": "de"})
    assert "segment '1' has no reference; 1 of 1 have none" in drive(stages_wmt24pp.main, "-s x.jsonl").err


@pytest.mark.data
def test_real_texts_with_the_rules_as_posteditor(drive: Drive, data: Path) -> None:
    lines, texts = [], []
    for whole in read(data / "wmt24_docs.jsonl"):
        if whole["lp"] == "en-is":
            system = next(name for name, tier in whole["tier"].items() if tier == "mid")
            references = next(iter(whole["refs"].values()))
            for source, reference, text in zip(whole["src"], references, whole["hyps"][system], strict=True):
                more = {"source": source, "target": reference, "original_target": reference}
                lines.append({**ROW, **more, "document_id": whole["doc"], "segment_id": len(lines) + 1})
                texts.append(" ".join(text.split()))
    jsonl("is.jsonl", *lines)
    Path("t.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    done = drive(stages_wmt24pp.main, "-s is.jsonl -t t.txt -q")
    assert done.code == 0, done.err
    assert len(lines) == 75
    (line,) = [line for line in done.out.splitlines() if line.startswith("En-Icelandic")]
    assert 0 < float(line.split()[1]) < 3
    assert re.findall(r"– / [\d.]+", done.out) == ["– / 18.00", "– / 19.19", "– / 43.55", "– / 43.80", *TER_AND_EDITS]


def test_scores_of_comet_are_a_hundredth_of_the_papers(drive: Drive, tmp_path: Path) -> None:
    jsonl("is.jsonl", *rows(3))
    given(3)
    done = drive(stages_wmt24pp.main, "-s is.jsonl -t t.txt -q -m", f"ter,comet:python={Fake(tmp_path).python}")
    assert done.code == 0, done.err
    performance, _, published = done.out.partition("ours / published in Table 3")
    (ours,) = [line.split()[1] for line in performance.splitlines() if line.lstrip().startswith("COMET ")]
    (beside,) = [line.split()[2:5] for line in published.splitlines() if " COMET " in line]
    assert len(ours) == len("0.1234")
    assert beside == [f"{100 * float(ours):.2f}", "/", "78.75"]
