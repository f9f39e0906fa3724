"""``mtagent postedit`` and ``translate``: files in and out, runs resumed and looked at, servers that refuse."""

from __future__ import annotations

import re

import pytest

from mtagent.store import Store
from tests.commands import IMPROVED, SOURCES, TRANSLATIONS, Shell, run

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
    assert "2: postedit failed: there is no translation" in done.err
    assert done.lines[1:] == [f"{SOURCES[0]},{IMPROVED[0]},en-es", "Hi,,en-es"]


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
    for difference in ("translation was", "prompts/proofread.toml was not set", "glossary was"):
        assert difference in done.err


def test_a_new_run_replaces_no_file_and_a_resumed_one_its_own(shell: Shell) -> None:
    shell.write("o.txt", "precious")
    done = shell.postedit("-o o.txt --name a")
    assert (done.code, shell.read("o.txt"), shell.runs()) == (1, ["precious"], {})
    assert "o.txt: is there already; --force replaces it" in done.err
    for more in ("--force", ""):
        assert shell.postedit(f"-o o.txt --name a {more}").code == 0
        assert shell.read("o.txt") == IMPROVED
    shell.write("r.jsonl", "precious")
    assert "r.jsonl: is there already" in shell("rate --run a -o r.jsonl").err
    assert [shell(f"rate --run a -o r.jsonl {more}").code for more in ("--force", "")] == [0, 0]


def test_runs_are_listed_shown_and_named_where_one_is_misspelt(shell: Shell) -> None:
    shell.postedit("--name summer")
    header, row = (line.split("\t") for line in shell("runs list").lines)
    assert dict(zip(header, row, strict=True))["changed"] == "1"
    assert row[:2] == ["summer", "finished"]
    shown = shell("runs show summer").out
    assert shown.startswith("summer: finished, started ")
    assert re.search(r"^postedit +1 +2 ", shown, re.MULTILINE)
    assert '"evaluator": "rules"' in shown
    assert "edit 1: 'aquí' -> 'aquí.': applied" in shell("runs show summer 1").out
    done = shell("runs show sumer")
    assert (done.code, done.out) == (1, "")
    assert "there is no run 'sumer'; did you mean 'summer'?" in done.err


def test_a_run_is_exported_to_a_new_file_to_standard_output_and_into_the_input_s_columns(shell: Shell) -> None:
    shell.write("t.csv", "nr,src,mt,lp", f"7,{SOURCES[0]},{TRANSLATIONS[0]},en-es")
    shell("postedit -s t.csv -q --name mine")
    assert shell("runs export mine").out == f"{IMPROVED[0]}\n"
    assert shell("runs export mine -o new.jsonl --details d.jsonl").code == 0
    assert shell.objects("new.jsonl")[0]["translation"] == shell.objects("d.jsonl")[0]["text"] == IMPROVED[0]
    assert shell("runs export mine --like t.csv").lines == ["nr,src,mt,lp", f"7,{SOURCES[0]},{IMPROVED[0]},en-es"]
