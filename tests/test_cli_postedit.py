"""``mtagent postedit`` and ``translate``: files in and out, runs resumed and looked at, servers that refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench.harness import simulator
from mtagent.store import Store
from tests.commands import IMPROVED, SOURCES, TRANSLATIONS, Done, Shell, run
from tests.scripted_server import Answer, Request, scripted_server
from tests.simulator import chain as simulated

# --- files


def test_tables_keep_their_columns_and_foreign_names_are_reported_once(shell: Shell) -> None:
    shell.write("t.csv", "nr,src,mt,src_lang,tgt_lang", f"7,{SOURCES[0]},{TRANSLATIONS[0]},en,es")
    done = shell("postedit -s t.csv -o better.csv")
    assert shell.read("better.csv") == ["nr,src,mt,src_lang,tgt_lang", f"7,{SOURCES[0]},{IMPROVED[0]},en,es"]
    assert done.err.count("t.csv: column 'src' is read as source") == 1
    assert "column" not in shell("postedit -s t.csv -o better.csv -q").err


def test_jsonl_holds_segments_of_several_languages(shell: Shell) -> None:
    shell.write(
        "s.jsonl",
        f'{{"id": "a", "source": "{SOURCES[0]}", "translation": "{TRANSLATIONS[0]}", "lp": "en-es"}}',
        f'{{"id": "b", "source": "{SOURCES[0]}", "translation": "Die Katze saß hier", "lp": "en-de"}}',
    )
    assert shell("postedit -s s.jsonl --format jsonl-lenient -o o.jsonl").code == 0
    assert [one["translation"] for one in shell.objects("o.jsonl")] == [IMPROVED[0], "Die Katze saß hier."]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv", "txt"])
def test_the_name_of_the_output_tells_its_format(ending: str, shell: Shell) -> None:
    shell.write("t.csv", "source,translation", "Hi you all.,Hola")
    assert shell(f"postedit -s t.csv -l en-es -o out.{ending}").code == 0
    written = "\n".join(shell.read(f"out.{ending}"))
    assert "Hola." in written
    assert ("Hi you all." in written) == (ending != "txt")


def test_a_named_format_is_the_output_s_too_where_the_name_tells_a_kin(shell: Shell) -> None:
    shell.write("t.tsv", "source\ttranslation\tlp", '"Hi\tyou all."\tHola\ten-es')
    assert shell("postedit -s t.tsv --format tsv-quoted -o o.tsv").code == 0
    assert shell.read("o.tsv")[1] == '"Hi\tyou all."\tHola.\ten-es'


def test_a_defect_in_standard_input_is_named_by_its_line(shell: Shell) -> None:
    arguments = ["postedit", "-s", "-", "--format", "csv", "-o", "out.csv"]
    done = run(shell.folder, *arguments, stdin="source,translation,lp\na,b,en-es\nHi,Hola,\n")
    assert done.last.startswith("mtagent: standard input:3: no source_lang")


def test_the_details_are_one_object_per_segment(shell: Shell) -> None:
    assert shell.postedit("-o o.txt --details d.jsonl").code == 0
    details = shell.objects("d.jsonl")
    assert (details[0]["given"], details[0]["text"], details[0]["changed"]) == (TRANSLATIONS[0], IMPROVED[0], True)
    assert len(details) == 3


def test_a_segment_without_translation_fails_alone_where_nothing_translates(shell: Shell) -> None:
    shell.write("t.csv", "source,translation,lp", f"{SOURCES[0]},{TRANSLATIONS[0]},en-es", "Hi,,en-es")
    done = shell("postedit -s t.csv")
    assert done.code == 3
    assert "segment 2: postedit failed: there is no translation" in done.err
    assert "more failed" not in done.err
    assert done.lines[1:] == [f"{SOURCES[0]},{IMPROVED[0]},en-es", "Hi,,en-es"]


def test_the_summary_counts_segments_with_errors_that_were_not_fixed(shell: Shell) -> None:
    shell.write("en.txt", "It costs 12 dollars.", "Hello big world.")
    shell.write("es.txt", "Cuesta 13 dólares.", "Hola gran mundo.")
    done = shell.postedit("--name r -o o.txt")
    assert "segments with errors that were found but not fixed: 1; `mtagent runs show r SEGMENT` lists" in done.last
    assert "not fixed: " in shell("runs show r 1").out
    assert "not fixed" not in shell("runs show r 2").out


@pytest.mark.loopback
def test_errors_that_the_rules_found_count_as_not_fixed_though_the_model_finds_none(shell: Shell) -> None:
    shell.write("en.txt", "It costs 12 dollars.", "Hello big world.")
    shell.write("es.txt", "Cuesta 13 dólares.", "Hola gran mundo.")
    with simulator("--behaviour", "tests.simulator.chain:improving", lifetime=60) as base_url:
        done = shell.postedit(f"--name r -o o.txt --model m --base-url {base_url}")
    assert "segments with errors that were found but not fixed: 1; `mtagent runs show r SEGMENT` lists" in done.err
    assert shell("decide r --export d.csv").code == 0
    assert "not fixed: major accuracy/mistranslation '13'" in shell.read("d.csv")[1]


def test_a_cause_of_failures_is_printed_once_and_the_others_counted(shell: Shell) -> None:
    shell.write("t.csv", "source,translation,lp", "Hi.,Hola.,en-es", *["Hi,,en-es"] * 9)
    done = shell("postedit -s t.csv -o o.csv")
    failures = [line for line in done.err.splitlines() if line.startswith("segment ")]
    assert [line.split(":")[0] for line in failures] == ["segment 2"]
    assert done.err.count("there is no translation") == 1
    assert done.err.count("mtagent: more failed; they are counted, and -v prints each one\n") == 1
    assert "9 failed" in done.err
    verbose = shell("postedit -s t.csv -o v.csv -v --name verbose").err
    assert verbose.count(": postedit: failed: ") == 9


@pytest.mark.loopback
def test_a_failed_segment_that_an_earlier_stage_changed_is_counted_as_such_everywhere(shell: Shell) -> None:
    shell.write("en.txt", "It is mute  %s, {name}.", "Hello big world.", "It is mute here.")
    shell.write("es.txt", "Es mudo % s, {Name}.", "Hola gran mundo.", "Es mudo aquí.")
    with simulator("--behaviour", "tests.wmt_models:speechless", lifetime=60) as base_url:
        done = shell.postedit("--name r --model m -o o.txt --base-url", base_url)
    assert done.code == 3
    assert shell.read("o.txt")[0] == "Es mudo %s, {name}."
    outcomes = "0 changed, 1 unchanged, 0 rejected, 2 failed (1 of them after an earlier stage changed the text)"
    assert outcomes in done.err
    assert outcomes in shell("runs show r").out
    assert "failed segments kept their last accepted text" in done.err
    counts = shell.runs()["r"].counts
    assert (counts.changed, counts.failed, counts.failed_changed) == (0, 2, 1)
    assert [line.split("\t")[-1] for line in shell("runs list -f tsv").lines] == ["failed_changed", "1"]
    final = json.loads(shell("compare r -f json").out)["rows"][-1]["outcomes"]
    assert (final["kept"], final["failed"], final["failed_changed"]) == (0, 2, 1)
    compared = shell("compare r").out
    assert "of the 2 failed of final, 1 changed before they failed" in compared
    assert "which an earlier stage had changed in 1 of them" in compared
    assert shell("report r -o report.md").code == 0
    report = "\n".join(shell.read("report.md"))
    assert "changed before a stage failed" in report
    assert "text kept" not in report


def test_context_stays_within_a_document_and_what_a_segment_brings_goes_before(shell: Shell) -> None:
    documents = ["aaabb", "aaab"]
    own = {4: ', "context": "own"'}
    for name, of in zip(("all", "four"), documents, strict=True):
        rows = (
            f'{{"id": "{i}", "source": "s{i}", "translation": "t", "document": "{d}"{own.get(i, "")}}}'
            for i, d in enumerate(of)
        )
        shell.write(f"{name}.jsonl", *rows)
    contexts = []
    for line in ("all.jsonl --name whole", "all.jsonl --name part --limit 4"):
        assert shell(f"postedit -l en-es --context 2 -q -s {line}").code == 0
        with Store(shell.folder / "store.db") as store:
            chains = store.read(line.split()[2]).chains()
            contexts.append([chain.segment.context for chain in chains])
    before = [f"Source before: s{i}\nIts translation so far: t" for i in range(2)]
    expected = ["Next source: s1", f"{before[0]}\nNext source: s2", "\n".join(before), "Next source: s4", "own"]
    assert contexts[0] == expected
    assert contexts[1] == contexts[0][:4]  # wherever the run stops


def test_a_dry_run_shows_the_requests_with_terms_and_context_and_touches_no_store(shell: Shell) -> None:
    shell.write("terms.csv", "source,target", "world,orbe")
    shell.write("keep.txt", "Pay")
    line = "--dry-run --base-url http://127.0.0.1:9/v1 --glossary terms.csv --keep keep.txt --context 2"
    done = shell.postedit(f"{line} --stages pe")
    first, terms, second, kept, third = done.out.split("--- segment")[1:]
    assert TRANSLATIONS[0] in first
    assert (terms, kept) == (" 2, terms\nworld = orbe\n\n", " 3, terms\nPay = keep as it is\n\n")
    assert ("orbe" in first, "orbe" in second) == (False, True)
    assert SOURCES[0] in third
    assert SOURCES[1] in third
    assert "3 requests, about" in done.err
    assert "Nothing was sent." in done.err
    pages = shell(f"translate -s en.txt -l en-es --stages tpp --limit 1 {line}").out.split("--- segment")[1:]
    stages = ["translate, translate", "postedit, rate", "proofread, proofread"]
    assert [page.split("\n")[0] for page in pages] == [f" 1, {stage}" for stage in stages]
    assert shell(f"translate -s en.txt -l en-es --stages t --translator command:cat {line}").out == "--- segment".join(
        ["", terms, kept]
    )
    assert shell.runs() == {}


# --- runs


def test_the_same_command_again_does_nothing_more(shell: Shell) -> None:
    shell.postedit("-o o.txt")
    (shell.folder / "o.txt").unlink()
    done = shell.postedit("-o o.txt -v")
    assert shell.read("o.txt") == IMPROVED
    assert "3 of 3 segments are done" in done.err
    assert ": postedit: " not in done.err


def test_the_command_of_a_run_is_stored_without_anything_that_looks_like_a_key(shell: Shell) -> None:
    line = "postedit -s en.txt -t es.txt -l en-es -o sk-0123456789abcdef --name r"
    assert shell(line).code == 0
    expected = [word.replace("sk-0123456789abcdef", "[key]") for word in line.split()]
    assert list(shell.runs()["r"].command) == expected


def test_a_limit_takes_the_first_segments_and_a_later_run_goes_on_from_them(shell: Shell) -> None:
    assert shell.postedit("--limit 1").lines == IMPROVED[:1]
    done = shell.postedit()
    assert done.lines == IMPROVED
    assert "resuming run" in done.err
    assert "1 of 3 segments are done" in done.err


def test_another_input_setting_prompt_or_glossary_under_the_same_run_is_refused(shell: Shell) -> None:
    (shell.folder / "p").mkdir()
    shell.write("p/rubric-mqm.examples.toml", "")
    shell.write("terms.csv", "source,target", "cat,gato")
    line = "--prompts p --glossary terms.csv --name mine"
    assert shell.postedit(line).lines == IMPROVED
    shell.write("es.txt", *reversed(TRANSLATIONS))
    shell.write("p/proofread.toml", "")
    shell.write("terms.csv", "source,target", "cat,minino")
    done = shell.postedit(f"{line} --gate none")
    assert done.code == 1
    assert "run 'mine': was started with other settings or inputs: gate was 'guards', is now 'none'" in done.err
    for difference in (
        "; the translation file es.txt has changed since", "; input prompts/proofread.toml was not set",
        "; the glossary file terms.csv has changed since",
    ):  # fmt: skip
        assert done.err.count(difference) == 1
    assert "source file" not in done.err
    assert not re.search("[0-9a-f]{30}", done.err)
    shell.write("other.csv", "source,target", "cat,minino")
    renamed = shell.postedit("--prompts p --glossary other.csv --name mine").err
    assert "glossary was 'terms.csv', is now 'other.csv'" in renamed
    assert renamed.count("glossary was") == 1
    assert renamed.count("'") % 2 == 0


def test_a_new_run_replaces_no_file_and_a_resumed_one_its_own(shell: Shell) -> None:
    shell.write("o.txt", "precious")
    done = shell.postedit("-o o.txt --name a")
    assert (done.code, shell.read("o.txt"), shell.runs()) == (1, ["precious"], {})
    assert "o.txt: already exists; --force replaces it" in done.err
    for more in ("--force", ""):
        assert shell.postedit(f"-o o.txt --name a {more}").code == 0
        assert shell.read("o.txt") == IMPROVED
    shell.write("r.jsonl", "precious")
    assert "r.jsonl: already exists" in shell("rate --run a -o r.jsonl").err
    assert [shell(f"rate --run a -o r.jsonl {more}").code for more in ("--force", "")] == [0, 0]


def test_runs_are_listed_shown_and_named_where_one_is_misspelt(shell: Shell) -> None:
    shell.postedit("--name summer")
    header, row = (line.split("\t") for line in shell("runs list -f tsv").lines)
    assert dict(zip(header, row, strict=True))["changed"] == "1"
    assert row[:2] == ["summer", "finished"]
    shell.postedit("--name a-much-longer-name --limit 1")
    listed = shell("runs list").lines
    assert listed[0].split() == ["name", "state", "started", "segments", "changed", "failed", "cost"]
    for column in ("state", "started"):
        place = listed[0].index(column)
        assert [line[place - 2 : place] for line in listed] == ["  "] * 3
    for column in ("segments", "changed", "failed", "cost"):
        end = listed[0].index(column) + len(column)
        assert [line[end - 1].isalnum() and line[end : end + 1] in ("", " ") for line in listed] == [True] * 3
    assert re.search(r"^summer +finished +\d\d-\d\d \d\d:\d\d +3 +1 +0 +\$0\.0000$", listed[1])
    shown = shell("runs show summer").out
    assert shown.startswith("summer: finished, started ")
    assert re.search(r"^postedit +1 +2 ", shown, re.MULTILINE)
    settings = shown[shown.index("settings (others are the usual ones; --details prints all):\n") :].splitlines()[1:]
    names = [re.split(r"  +", line.strip(), maxsplit=1)[0] for line in settings]
    assert names == ["evaluator", "gate", "source lang", "stages", "target lang"]
    assert re.search(r"\n  evaluator +rules\n", shown)
    assert len({line.index(line.split("  ")[-1].strip()) for line in settings}) == 1, "the values are in one column"
    assert not re.search(r'[{}\[\]"|]', shown), "no JSON and no signatures"
    detailed = shell("runs show summer --details").out
    assert re.search(r"\n  signatures\.postedit +rules\|", detailed)
    assert re.search(r"\n  on ambiguous +skip\n", detailed)
    assert shell("runs show summer 1 --details").code == 2
    whole = json.loads(shell("runs show summer -f json").out)
    assert whole["settings"]["signatures"]["postedit"].startswith("rules|")
    assert (whole["name"], whole["counts"]["changed"]) == ("summer", 1)
    assert shell("runs show summer 1 -f json").code == 2
    assert "edit 1: 'aquí' -> 'aquí.': applied" in shell("runs show summer 1").out
    done = shell("runs show sumer")
    assert (done.code, done.out) == (1, "")
    assert "there is no run 'sumer'; did you mean 'summer'?" in done.err


def test_a_run_is_exported_to_a_new_file_to_standard_output_and_into_the_input_s_columns(shell: Shell) -> None:
    shell.write("t.csv", "nr,src,mt,lp", f"7,{SOURCES[0]},{TRANSLATIONS[0]},en-es")
    shell("postedit -s t.csv -q --name mine")
    assert shell("export mine").out == f"{IMPROVED[0]}\n"
    assert shell("export mine -o new.jsonl --details d.jsonl").code == 0
    assert shell.objects("new.jsonl")[0]["translation"] == shell.objects("d.jsonl")[0]["text"] == IMPROVED[0]
    assert shell("export mine --like t.csv").lines == ["nr,src,mt,lp", f"7,{SOURCES[0]},{IMPROVED[0]},en-es"]


def refused(done: Done) -> str:
    assert (done.code, done.out) == (1, "")
    return done.err


# --- with a server


@pytest.mark.loopback
def test_the_whole_chain_runs_against_a_server(server: str, shell: Shell) -> None:
    limits = "--timeout 20 --deadline 60 --requests-per-minute 9999"
    done = shell(f"translate -s en.txt -l en-es --base-url {server} {limits}")
    assert done.code == 0
    assert done.lines == [simulated.translated(source).replace("errado", "correcto") for source in SOURCES]
    assert "offline" not in done.err


@pytest.mark.loopback
def test_a_wrong_key_stops_the_run_in_one_line_and_the_right_one_resumes_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with simulator("--api-key", "right") as address:
        line = f"--stages pr --gate guards --base-url {address} -o o.txt --name mine"
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
        error = refused(shell.postedit(line))
        assert error.count("\n") == 1
        assert "HTTP 401" in error
        assert "check the key in OPENAI_API_KEY" in error
        assert "sk-wrong" not in error
        assert not (shell.folder / "o.txt").exists()
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        done = shell.postedit(line)
    assert done.code == 3  # this server's fixed reply is no revision of the texts
    assert "HTTP 401" not in done.err
    assert (shell.folder / "o.txt").exists()


@pytest.mark.loopback
def test_an_address_where_nobody_answers_fails_the_segments_soon_and_keeps_their_text(shell: Shell) -> None:
    done = shell.postedit("--base-url http://127.0.0.1:9/v1 --limit 2 --no-rules-first")
    assert (done.code, done.lines) == (3, TRANSLATIONS[:2])
    assert "nobody answers there: check the base URL" in done.err
    assert "run the same command again to retry only them" in done.err


@pytest.mark.loopback
def test_https_to_a_server_without_it_is_told_to_write_http(shell: Shell) -> None:
    with scripted_server() as server:
        address = server.url.replace("http://", "https://")
        assert "write http://" in refused(
            shell(f"translate -s en.txt -l en-es -q --model m --deadline 1 --base-url {address}")
        )


@pytest.fixture
def long(shell: Shell) -> Shell:
    """The shell with 90 texts, all different."""
    shell.write("long.en.txt", *(f"The cat sat here {n}." for n in range(90)))
    shell.write("long.es.txt", *(f"El gato se sentó errado {n}." for n in range(90)))
    return shell


LONG = "postedit -s long.en.txt -t long.es.txt -l en-es -o o.txt --name mine"


@pytest.mark.loopback
def test_a_run_whose_first_segments_all_fail_stops_instead_of_asking_for_the_rest(long: Shell, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--fault-rate", "1", "--faults", "422", "--log", str(log)) as server:
        line = f"{LONG} --base-url {server} --concurrency 4"
        *before, error = refused(long(line)).splitlines()
        assert sum("change the settings or the request" in message for message in before) == 1
        # The last ones of four at a time may end together.
        assert re.search(r"stopped: the first 2[0-3] segments all failed, the last one: \S+ at ", error)
        assert "change the settings or the request" in error
        assert (
            "the same command continues (it never stops with --give-up-after 0, in Python with give_up_after=0)"
            in error
        )
        assert len(log.read_text(encoding="utf-8").splitlines()) <= 24
        assert not (long.folder / "o.txt").exists()
        assert long(f"{line} --give-up-after 0").code == 3
    assert long.read("o.txt") == long.read("long.es.txt")


@pytest.mark.loopback
def test_a_model_that_is_gone_stops_the_run_at_its_first_refusal(long: Shell, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with simulator("--fault-rate", "1", "--faults", "404", "--log", str(log)) as server:
        line = f"{LONG} --concurrency 4 --give-up-after 0 --base-url {server} --model old-model"
        error = refused(long(line)).splitlines()[-1]
    for part in (
        f"old-model at {server}: HTTP 404: ",
        "old-model may be gone",
        "name another in model",
        f"{server}/models",
    ):
        assert part in error
    assert len(log.read_text(encoding="utf-8").splitlines()) <= 4
    assert not (long.folder / "o.txt").exists()


@pytest.mark.loopback
def test_an_address_without_v1_stops_the_run_at_its_first_refusal(long: Shell, server: str) -> None:
    error = refused(long(f"{LONG} --base-url {server.removesuffix('/v1')}")).splitlines()[-1]
    assert "HTTP 404" in error
    assert error.endswith("check base_url and the model's name; base_url may lack /v1 at its end")
    error = refused(long(f"{LONG} --base-url {server}/chat".replace("--name mine", "--name other"))).splitlines()[-1]
    assert error.endswith("check base_url and the model's name")


@pytest.mark.loopback
def test_a_model_that_has_answered_is_not_gone_for_one_refusal(long: Shell) -> None:
    faults = ["--fault-rate", "0.3", "--faults", "404"]  # the first is the fourth request
    with simulator("--behaviour", "tests.simulator.chain:improving", *faults) as server:
        assert long(f"{LONG} --limit 30 --base-url {server} --concurrency 1 -q").code == 3
    assert len(long.read("o.txt")) == 30


def test_a_translation_that_is_empty_is_named_and_stays_so(shell: Shell) -> None:
    shell.write("en.txt", "Hello.", "The cat sat.")
    shell.write("es.txt", "Hola.", "")
    done = shell("postedit -s en.txt -t es.txt -l en-es -o out.txt")
    assert (done.code, shell.read("out.txt")) == (0, ["Hola.", ""])
    assert "empty translations stayed empty in: 2" in done.err


def test_a_report_is_not_written_into_a_file_of_another_kind(shell: Shell) -> None:
    shell.write("en.txt", "Hello.")
    shell.write("es.txt", "Hola.")
    assert shell("postedit -s en.txt -t es.txt -l en-es -o out.txt --name r").code == 0
    done = shell("report r -o r.pdf")
    assert (done.code, "r.pdf: cannot write a report as .pdf; use one of .html" in done.err) == (1, True)
    assert not shell.folder.joinpath("r.pdf").exists()


PUBLISHED = "--stages pe,pr --preset paper --model m --base-url http://x/v1 --dry-run"


def test_the_paper_preset_shows_source_translation_and_the_proofreaders_domain_alone(shell: Shell) -> None:
    shell.write("terms.tsv", "source\ttarget", "hello\tServus")
    record = {"id": "1", "source": "Hello.", "source_lang": "en", "target_lang": "de", "translation": "Hallo."}
    shell.write("in.jsonl", json.dumps({**record, "notes": "A greeting.", "context": "Two meet.", "max_length": 9}))
    line = f"postedit -s in.jsonl --domain news --gate guards --glossary terms.tsv {PUBLISHED}"
    published = shell(line)
    assert published.code == 0
    assert "hello = Servus" not in published.out.partition("[system]")[2], "it is for the guards"
    for hidden in ("A greeting.", "Two meet.", "at most 9 characters"):
        assert hidden not in published.out
    assert published.out.count(">news</domain") == 1
    usual = shell(line.replace("--preset paper", ""))
    for shown in (">hello = Servus</glossary", "A greeting.", "Two meet.", "at most 9 characters", ">news</domain"):
        assert usual.out.count(shown) == 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("--context 2", "context: is 2, but like the papers the preset paper shows no neighbouring segments"),
        ("--glossary terms.tsv", "glossary: terms.tsv has no effect: the preset paper shows no terms"),
        ("--keep keep.txt", "keep: keep.txt has no effect"),
        ("--glossary terms.tsv --gate none", "have the guards check its terms with gate=guards"),
    ],
)
def test_the_paper_preset_refuses_what_it_would_not_show(shell: Shell, options: str, complaint: str) -> None:
    shell.write("en.txt", "Hello.")
    shell.write("de.txt", "Hallo.")
    shell.write("terms.tsv", "source\ttarget", "hello\tServus")
    shell.write("keep.txt", "ACME")
    done = shell(f"postedit -s en.txt -t de.txt -l en-de {PUBLISHED} {options}")
    assert (done.code, complaint in done.err) == (1, True), done.err


def test_one_segment_is_one(shell: Shell) -> None:
    shell.write("en.txt", "Hello.")
    shell.write("de.txt", "Hallo.")
    assert "mtagent: 1 segment: " in shell("postedit -s en.txt -t de.txt -l en-de -o out.txt").err


def always_first(request: Request) -> Answer:
    """A model that works as the simulator's does, and that as a judge chooses A whatever stands there."""
    body = json.loads(request.body)
    asked = body["messages"][-1]["content"]
    text = '{"better": "A"}' if "<translation_b-" in asked else simulated.improving(body)
    usage = {"prompt_tokens": 10, "completion_tokens": 10}
    return Answer(json.dumps({"choices": [{"message": {"content": text}}], "usage": usage}))


@pytest.mark.loopback
@pytest.mark.parametrize("quiet", ["", "-q"])
def test_a_judge_that_chooses_by_place_is_named_once(quiet: str, long: Shell) -> None:
    with scripted_server() as server:
        server.answer = always_first
        done = long(f"{LONG} --model m --base-url {server.url}/v1 --gate pairwise --limit 30 {quiet}")
    assert done.err.count("the judge (m, comparing both texts) contradicted itself") == 1
    assert "contradicted itself in 20 of its last 20 comparisons" in done.err
    show = long("runs show mine 1")
    assert "m, comparing both texts: undecided, it chose the same place in both orders" in show.out


@pytest.mark.loopback
def test_runs_show_counts_the_rules_on_every_text_that_they_read(shell: Shell) -> None:
    shell.write("two.txt", "There are {n} cats.", "There are {n} dogs.")
    shell.write("dos.txt", "Hay {N} gatos.", "Hay {n} perros.")
    with simulator("--behaviour", "tests.simulator.chain:improving", lifetime=60) as base_url:
        options = f"--stages pe --gate rate --base-url {base_url} --name two -o out.txt"
        done = shell(f"postedit -s two.txt -t dos.txt -l en-es {options}")
    assert done.code == 0, done.err
    rows = [line.split() for line in shell("runs show two").lines]
    assert [row[1:3] for row in rows if row[:1] == ["rules"]] == [["1", "1"]]
