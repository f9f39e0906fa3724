"""Localization files through the chain: what is worked on, where it is written, and what never reaches a file."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docx
import polib
import pytest
import yaml
from lxml import etree

from mtagent.config import load
from mtagent.errors import MtagentError
from mtagent.formats import document_format
from mtagent.formats.documents import LocalizationFile, fault
from mtagent.formats.localization import NamedFile, OpenDocuments, Written
from mtagent.formats.lock import Lock, hashes_of
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files, LocalizationInputs
from tests.commands import Shell, start
from tests.simulator import Settings, Simulator
from tests.simulator.chain import improving

XLIFF = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="en" target-language="es" datatype="plaintext"><body>
<trans-unit id="cat"><source>The cat sat here.</source><target>El gato se sentó aquí</target></trans-unit>
<trans-unit id="done" approved="yes"><source>Go away now.</source><target>Vete ya</target></trans-unit>
<trans-unit id="kept" translate="no"><source>Go there now.</source><target>Ve ya</target></trans-unit>
<trans-unit id="key"><source>Press <g id="7">this key</g> now.</source><target>Pulsa <g id="7">una tecla</g> ya</target>
</trans-unit>
<trans-unit id="new"><source>Hello <x id="1"/> world.</source></trans-unit>
</body></file></xliff>
"""
PO = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: es\\n"

#. on a sign
msgctxt "menu"
msgid "The cat sat here."
msgstr "El gato se sentó aquí"

msgid "Hello big world."
msgstr "Hola gran mundo."

#~ msgid "The dog sat here."
#~ msgstr "El perro se sentó aquí"
"""


@pytest.fixture
def project(shell: Shell) -> Shell:
    """The shell with an XLIFF file and two catalogues in folders."""
    (shell.folder / "app.xlf").write_text(XLIFF, encoding="utf-8")
    for language in ("es", "pt"):
        folder = shell.folder / "locales" / language
        folder.mkdir(parents=True)
        (folder / "app.po").write_text(PO.replace("Language: es", f"Language: {language}"), encoding="utf-8")
    return shell


def opened(path: Path) -> LocalizationFile:
    return document_format(path).open(path)


def targets(path: Path) -> dict[str, str | None]:
    return {unit.id: unit.target for unit in opened(path).units}


def with_model(server: str) -> list[str]:
    return ["--base-url", server, "--model", "m", "--gate", "guards"]


# -- what is worked on


def test_a_file_that_names_its_languages_needs_no_option_and_changes_in_its_targets_only(project: Shell) -> None:
    done = project("postedit app.xlf -o better.xlf --details d.jsonl")
    assert done.code == 0, done.err
    better = (project.folder / "better.xlf").read_text(encoding="utf-8")
    assert better == XLIFF.replace("sentó aquí<", "sentó aquí.<").replace("</g> ya<", "</g> ya.<")
    assert "1 file: 2 of 5 units have a new target" in done.err
    assert "2 not in the run: locked, approved or written by people" in done.err
    assert "1 not in the run: no target, and no model or MT system to translate with" in done.err
    details = project.objects("d.jsonl")
    assert [segment["id"] for segment in details] == ["cat", "key"]
    assert details[0]["document"] == "app.xlf"
    assert project("postedit app.xlf").out == better


@pytest.mark.loopback
def test_an_empty_target_is_translated_where_a_model_is(project: Shell, server: str) -> None:
    done = project("postedit app.xlf -o better.xlf", *with_model(server))
    assert done.code == 0, done.err
    assert (
        "<x"
        in (project.folder / "better.xlf").read_text(encoding="utf-8").partition('"new"')[2].partition("<target>")[2]
    )
    assert project("translate app.xlf -o b.xlf").code == 1
    refusal = project("translate app.xlf -o b.xlf").err
    assert "'new' has no target, and there is nothing to translate with" in refusal


def test_what_the_file_knows_of_a_text_reaches_the_model(project: Shell) -> None:
    (project.folder / "app.xlf").write_text(
        XLIFF.replace('id="key"', 'id="key" maxwidth="50" size-unit="char" resname="dialog.key"'), encoding="utf-8"
    )
    asked = project("postedit app.xlf --dry-run --model m --base-url http://127.0.0.1:9/v1").out
    assert "Context: dialog.key" in asked
    assert "Numbered marks such as <1> are tags" in asked
    assert "at most 57 characters" in asked  # 50 without the placeholders
    request_about_cat = asked.partition("segment cat")[2].partition("segment key")[0]
    assert "Numbered marks" not in request_about_cat


@pytest.mark.parametrize(
    ("unit_id", "source", "shown"),
    [
        ("checkout.button.submit", "Send", "Key: checkout.button.submit"),
        ("errorTooLong", "Text too long", "Key: errorTooLong"),
        ("TITLE", "Welcome", "Key: TITLE"),
        ("tu12", "Send", None),
        ("string_7", "Send", None),
        ("4606963464835766483", "Send", None),
        ("3f786850e387550fdab836ed7e6dc881de23001b", "Send", None),
        ("550e8400-e29b-41d4-a716-446655440000", "Send", None),
        ("x9Kqz", "Send", None),
        ("big_cat", "Big cat!", None),
        ("a b", "Send", None),
    ],
)
def test_a_key_that_tells_something_is_shown(project: Shell, unit_id: str, source: str, shown: str | None) -> None:
    units = XLIFF.replace('id="cat"', f'id="{unit_id}"').replace("The cat sat here.", source)
    (project.folder / "app.xlf").write_text(units, encoding="utf-8")
    asked = project("postedit app.xlf --dry-run --force --model m --base-url http://127.0.0.1:9/v1").out
    request = asked.partition(f"segment {unit_id}")[2].partition("segment key")[0]
    assert request
    assert ("Key:" in request) == bool(shown)
    assert shown is None or f">{shown}</" in request


POLISH = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"


@pytest.mark.parametrize(
    ("language", "header", "expected"),
    [
        (
            "pl",
            POLISH,
            "Plural form 2 of 3 (few), for counts such as 2, 3, 4, 22.\nPlural forms of whole numbers in Polish: "
            "one (1); few (2, 3, 4, 22…); many (0, 5, 6, 7…). English has 2.",
        ),
        (
            "de",
            "nplurals=2; plural=(n != 1);",
            "Plural form 2 of 2 (other), for counts such as 0, 2, 3, 4.\nPlural forms of whole numbers in German: "
            "one (1); other (0, 2, 3, 4…).",
        ),
        (  # a rule of the file's own
            "de",
            "nplurals=3; plural=(n==0 ? 0 : n==7 ? 1 : 2);",
            "Plural form 2 of 3, for counts such as 7.\nPlural forms of whole numbers in German: "
            "form 1 (0); form 2 (7); form 3 (1, 2, 3, 4…). English has 2.",
        ),
    ],
)
def test_the_rule_of_a_plural_is_shown_in_words(shell: Shell, language: str, header: str, expected: str) -> None:
    lines = [
        *('msgid ""', 'msgstr ""', '"Content-Type: text/plain; charset=UTF-8\\n"', f'"Language: {language}\\n"'),
        *(f'"Plural-Forms: {header}\\n"', "", 'msgid "%d cat"', 'msgid_plural "%d cats"'),
    ]
    lines += [f'msgstr[{number}] "%d x{number}"' for number in range(int(header[9]))]
    shell.write("app.po", *lines)
    asked = shell("postedit app.po --source-lang en --dry-run --model m --base-url http://127.0.0.1:9/v1").out
    assert expected in asked.partition("cat[1]")[2].partition("cat[2]")[0]


@pytest.mark.parametrize(
    ("language", "options", "message"),
    [
        ("es", "", "the file doesn't name its source language; give it, as in --source-lang en"),
        ("", "--source-lang en", "the file doesn't name its target language; give it, as in -l en-de"),
        ("es", "-l en-fr", "its target language is es, and the command line has fr"),
        ("Klingonese", "--source-lang en", "unknown language 'Klingonese'"),
        ("es", "--source-lang en", None),
        ("", "-l en-es", None),
        ("Klingonese", "-l en-es", None),
    ],
)
def test_the_command_line_gives_the_languages_that_a_file_lacks(
    project: Shell, language: str, options: str, message: str | None
) -> None:
    (project.folder / "a.po").write_text(PO.replace("Language: es", f"Language: {language}"), encoding="utf-8")
    done = project(f"postedit a.po -o b.po {options}")
    if message is None:
        assert done.code == 0, done.err
        assert targets(project.folder / "b.po")["menu\x04The cat sat here."] == "El gato se sentó aquí."
        assert 'El perro se sentó aquí"\n' in (project.folder / "b.po").read_text(encoding="utf-8")
    else:
        assert (done.code, message in done.err) == (1, True), done.err
        assert done.last.startswith("mtagent: a.po: ")


def test_a_dry_run_counts_units_by_file_and_state_and_writes_nothing(project: Shell) -> None:
    done = project("postedit app.xlf locales --source-lang en --dry-run")
    assert done.code == 0, done.err
    rows = [re.split(r"\s{2,}", line) for line in done.lines]
    assert ["app.xlf", "–", "yes", "2"] in rows
    assert ["app.xlf", "–", "no: locked, approved or written by people", "2"] in rows
    assert ["locales/es/app.po", "translated", "yes", "2"] in rows
    assert not project.runs()


@pytest.mark.parametrize(
    ("options", "worked_on"),
    [
        ("--only needs-review-translation", ["cat"]),
        ("--not needs-review", ["key"]),
        ("--only approved", ["done"]),
        ("--only approved,translated", ["done", "key"]),
    ],
)
def test_units_are_selected_by_state_and_protected_ones_only_by_name(
    project: Shell, options: str, worked_on: list[str]
) -> None:
    path = project.folder / "app.xlf"
    edit(path, "<target>El gato", '<target state="needs-review-translation">El gato')
    done = project(f"postedit app.xlf -o out.xlf --details d.jsonl {options}")
    assert done.code == 0, done.err
    assert [segment["id"] for segment in project.objects("d.jsonl")] == worked_on
    changed = [unit for unit, target in targets(path).items() if targets(project.folder / "out.xlf")[unit] != target]
    assert changed == worked_on


def test_new_targets_get_the_user_s_marks(project: Shell) -> None:
    done = project("postedit app.xlf -o out.xlf --mark state=needs-review-translation --mark comment=MT")
    assert done.code == 0, done.err
    assert {unit.id: unit.state for unit in opened(project.folder / "out.xlf").units} == {
        **dict.fromkeys(["cat", "key"], "needs-review-translation"),
        **dict.fromkeys(["done", "kept", "new"]),
    }
    assert opened(project.folder / "out.xlf").units[0].notes == ("MT",)
    fuzzy = project("postedit locales --source-lang en --in-place --mark fuzzy")
    assert "warning: gettext doesn't compile fuzzy messages" in fuzzy.err
    assert [unit.state for unit in opened(project.folder / "locales" / "es" / "app.po").units] == [
        "fuzzy",
        "translated",
    ]
    done = project("postedit app.xlf -o b.xlf --mark fuzzy")
    assert (done.code, "app.xlf:3: such a file cannot hold the mark 'fuzzy'" in done.err) == (1, True), done.err


def test_the_errors_that_are_left_become_marks_of_its(project: Shell) -> None:
    edit(project.folder / "app.xlf", "The cat sat here.", "The 3 cats sat here. Go.")
    done = project("postedit app.xlf -o out.xlf --mark its")
    assert done.code == 0, done.err
    new = (project.folder / "out.xlf").read_text(encoding="utf-8")
    assert "its:locQualityIssueType=" in new
    etree.parse(project.folder / "out.xlf")


# -- where it is written


@pytest.mark.parametrize("names", ["locales", "locales/**/*.po", "locales/es/app.po locales/pt/app.po"])
def test_several_files_are_one_run_and_keep_their_layout(project: Shell, names: str) -> None:
    done = project(f"postedit {names} --source-lang en -o out --details d.jsonl")
    assert done.code == 0, done.err
    written = sorted(str(path.relative_to(project.folder)) for path in (project.folder / "out").rglob("*.po"))
    assert written == ["out/es/app.po", "out/pt/app.po"]
    assert "2 files: 2 of 4 units have a new target" in done.err
    assert len(project.runs()) == 1
    ids = [segment["id"] for segment in project.objects("d.jsonl")]
    assert ids[0] == "locales/es/app.po#menu\x04The cat sat here."
    assert {segment["target_lang"] for segment in project.objects("d.jsonl")} == {"es", "pt"}
    assert project(f"postedit {names} --source-lang en -o out").code == 0, "its own output"


def test_a_pattern_leaves_out_what_is_hidden_unless_it_names_it(project: Shell) -> None:
    shutil.copytree(project.folder / "locales", project.folder / ".venv" / "lib")
    done = project("postedit **/*.po --source-lang en -o out --dry-run")
    assert "locales/es/app.po" in done.out
    assert ".venv" not in done.out
    assert ".venv/lib/es/app.po" in project("postedit .venv/**/*.po --source-lang en -o out --dry-run").out


def test_in_place_changes_only_files_with_new_targets_and_keeps_what_it_replaces(project: Shell) -> None:
    clean = project.folder / "locales" / "pt" / "app.po"
    clean.write_text(PO.replace("sentó aquí", "sentó aquí.").replace("Language: es", "Language: pt"), encoding="utf-8")
    before = clean.stat()
    done = project("postedit locales --source-lang en --in-place --backup")
    assert done.code == 0, done.err
    changed = project.folder / "locales" / "es" / "app.po"
    assert (changed.parent / "app.po.bak").read_text(encoding="utf-8") == PO
    assert targets(changed)["menu\x04The cat sat here."] == "El gato se sentó aquí."
    assert clean.stat() == before
    assert not (clean.parent / "app.po.bak").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("app.xlf locales --source-lang en", "several files need an output folder: name it with -o"),
        ("app.xlf -o a.xlf --in-place", "-o and --in-place do not go together"),
        ("app.xlf --backup", "--backup needs --in-place"),
        ("app.xlf --lock -o a.xlf", "--lock needs --in-place"),
        ("app.xlf -t es.txt", "leave out -t"),
        ("app.xlf --force-edited --in-place", "--force-edited needs --lock"),
        ("-s en.txt -t es.txt --in-place", "--in-place is for localization files"),
        ("", "name localization files as arguments"),
    ],
)
def test_options_that_do_not_go_together_are_refused(project: Shell, arguments: str, message: str) -> None:
    done = project(f"postedit {arguments}")
    assert (done.code, message in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("en.txt", "en.txt: the name tells no format of localization files"),
        ("*.nothing", "*.nothing: no file has such a name"),
        ("app.xlf missing.po", "missing.po: no such file or directory"),
        ("app.xlf -o app.xlf", "app.xlf: is the input: use --in-place, with --backup to keep a copy"),
        ("app.xlf -o en.txt", "en.txt: already exists; --force replaces it"),
        ("locales --source-lang en -o en.txt/out", "en.txt: is a file; several files are written into a folder"),
        ("locales --source-lang en --in-place --lock=no/a.lock", "no/a.lock: the folder no does not exist"),
        ("locales --source-lang en -o en.txt", "en.txt: is a file; several files are written into a folder"),
        ("-s app.xlf -o b.xlf", "`mtagent postedit FILE` and `mtagent translate FILE` improve it, without -s"),
    ],
)
def test_files_that_cannot_be_read_or_written_are_named(project: Shell, arguments: str, message: str) -> None:
    done = project(f"postedit {arguments}")
    assert (done.code, message in done.err) == (1, True), done.err


def test_a_limit_works_on_some_units_and_the_others_stay(project: Shell) -> None:
    done = project("postedit app.xlf -o better.xlf --limit 1")
    assert "1 of 5 units has a new target" in done.err
    assert targets(project.folder / "better.xlf")["key"] == "Pulsa <1>una tecla</1> ya"
    assert project("postedit app.xlf -o better.xlf").code == 0
    assert targets(project.folder / "better.xlf")["key"] == "Pulsa <1>una tecla</1> ya."


def test_a_run_is_exported_into_its_file_with_peoples_decisions(project: Shell) -> None:
    assert project("postedit app.xlf -o better.xlf --name r").code == 0
    assert project("revert r cat --edit 1").code == 0
    done = project("export r -o final.xlf --like app.xlf")
    assert done.code == 0, done.err
    assert targets(project.folder / "final.xlf")["cat"] == "El gato se sentó aquí"
    assert targets(project.folder / "final.xlf")["key"] == "Pulsa <1>una tecla</1> ya."
    other = project("export r -o other.po --like locales/es/app.po")
    assert (other.code, "has none of the run's texts, which are of app.xlf" in other.err) == (1, True)


@pytest.mark.parametrize("sources", ["en/app.json", "en"])
def test_a_run_on_a_file_with_one_language_is_exported_with_its_sources(shell: Shell, sources: str) -> None:
    for folder, go, see in (("en", "Go there.", "See %s."), ("de", "Geh hin .", "Siehe %s .")):
        (shell.folder / folder).mkdir()
        shell.write(f"{folder}/app.json", json.dumps({"go": go, "see": see}))
    assert shell(f"postedit de/app.json -s {sources} -o new.json --name r").code == 0
    assert shell("revert r go --edit 1").code == 0

    done = shell(f"export r -o final.json --like de/app.json -s {sources}")

    assert done.code == 0, done.err
    assert shell.read("final.json") == ['{"go": "Geh hin .", "see": "Siehe %s."}']
    refused = shell("export r -o other.json --like de/app.json").last
    assert "has the texts of one language; name the file with the sources" in refused
    assert shell(f"export r -o {sources} --like de/app.json -s {sources} --force").code == 1
    assert shell.read("en/app.json") == ['{"go": "Go there.", "see": "See %s."}']
    assert "-s en: is for localization files" in shell("export r -o a.txt -s en").last


def test_a_run_on_a_catalogue_of_several_languages_is_exported_into_its_own(shell: Shell) -> None:
    texts = {
        lang: {"stringUnit": {"state": "translated", "value": value}}
        for lang, value in (("de", "Geh hin ."), ("fr", "Allez ."))
    }
    catalogue = {"sourceLanguage": "en", "strings": {"Go there.": {"localizations": texts}}, "version": "1.0"}
    shell.write("a.xcstrings", json.dumps(catalogue))
    assert shell("postedit a.xcstrings -l en-de -o new.xcstrings --name r").code == 0

    assert shell("export r -o final.xcstrings --like a.xcstrings").code == 0

    assert shell.read("final.xcstrings") == shell.read("new.xcstrings") != shell.read("a.xcstrings")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("se sentó aquí", "se echó aquí", "is not written over an edit that was made in the file meanwhile"),
        (
            "The cat sat here.",
            "The cat lay here.",
            "is for another source: the source was changed in the file meanwhile",
        ),
        ('id="cat"', 'id="dog"', "has no place: the file has no such unit any more"),
        ("</body>", "</bod", "is not written, because the file was changed meanwhile: "),
    ],
)
def test_what_people_do_to_a_file_during_the_run_stays(project: Shell, old: str, new: str, reason: str) -> None:
    path = project.folder / "app.xlf"
    edited = XLIFF.replace(old, new)

    def edit(_: object) -> None:
        path.write_text(edited, encoding="utf-8")

    reports: list[Written] = []
    named = LocalizationInputs((NamedFile(path, path.parent),), in_place=True)
    asyncio.run(
        improve_file(
            load(overrides={}),
            Files(source=path, localization=named),
            command="postedit",
            on_start=lambda *_: None,
            on_chain=edit,
            on_written=reports.append,
        )
    )
    after = path.read_text(encoding="utf-8")
    kept = reports[0].kept[0]
    assert reason in str(kept)
    assert kept.segment_id == "cat"
    expected = edited if new == "</bod" else edited.replace("</g> ya<", "</g> ya.<")
    assert after == expected


def test_a_file_is_parsed_again_only_if_it_or_its_source_has_changed(project: Shell) -> None:
    source, target = project.folder / "en.json", project.folder / "es.json"
    source.write_text('{"cat": "The cat sat here."}', encoding="utf-8")
    target.write_text('{"cat": "El gato"}', encoding="utf-8")
    form, documents = document_format(target), OpenDocuments()

    def read() -> LocalizationFile:
        return documents.open(form, target, source, "es")

    first = read()
    assert read() is first
    times = target.stat()
    target.write_text('{"cat": "El pato"}', encoding="utf-8")
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    second = read()
    assert [unit.target for unit in second.units] == ["El pato"]
    source.write_text('{"cat": "The duck sat here."}', encoding="utf-8")
    assert [unit.source for unit in read().units] == ["The duck sat here."]
    assert documents.open(form, target, source, "pt") is not read()


def test_few_documents_are_kept(project: Shell) -> None:
    paths = [project.folder / f"locales/{language}/app.po" for language in ("es", "pt")]
    forms = [document_format(path) for path in paths]
    documents = OpenDocuments(most_kept=10_000)
    first = [documents.open(form, path, None, None) for form, path in zip(forms, paths, strict=True)]
    again = [documents.open(form, path, None, None) for form, path in zip(forms, paths, strict=True)]
    assert [len(document.units) for document in first] == [2, 2]
    assert [document is kept for document, kept in zip(first, again, strict=True)] == [True, False]


def test_kill_while_writing_leaves_the_old_or_the_new_file(project: Shell) -> None:
    entries = []
    for number in range(800):
        entries.append(f'msgid "The cat {number} sat here."\nmsgstr "El gato {number} se sentó aquí"\n')
    old = PO + "\n".join(["", *entries])
    path = project.folder / "big.po"
    command = ["postedit", "big.po", "--source-lang", "en", "--in-place"]
    path.write_text(old, encoding="utf-8")
    with start(project.folder, *command) as process:
        process.communicate(timeout=100)
    new = path.read_text(encoding="utf-8")
    assert new.count("aquí.") == 801
    outcomes = set()
    for _ in range(3):
        path.write_text(old, encoding="utf-8")
        with start(project.folder, *command) as process:
            while process.poll() is None and not list(project.folder.glob(".mtagent-*.tmp")):
                time.sleep(0.0005)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=100)
        outcomes.add(path.read_text(encoding="utf-8"))
        for leftover in project.folder.glob(".mtagent-*.tmp"):
            leftover.unlink()
    assert outcomes <= {old, new}


def written_big(path: Path, texts: list[str]) -> list[str]:
    """Write ``texts`` as a translation into a Word document or an XLIFF file; further words of its command."""
    if path.suffix == ".docx":
        source = path.with_name(f"source-{path.name}")
        for name, content in ((source, [f"The cat {n} sat here." for n in range(len(texts))]), (path, texts)):
            document = docx.Document()
            for text in content:
                document.add_paragraph(text)
            document.save(str(name))
        return ["-s", source.name, "-l", "en-es"]
    unit = '<trans-unit id="u{}"><source>The cat {} sat here.</source><target>{}</target></trans-unit>\n'
    units = "".join(unit.format(number, number, text) for number, text in enumerate(texts))
    head = XLIFF.partition('<trans-unit id="cat">')[0]
    path.write_text(f"{head}{units}</body></file></xliff>\n", encoding="utf-8")
    return []


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["big.docx", "big.xlf"])
def test_kill_at_random_moments_leaves_the_old_or_the_new_document(project: Shell, name: str) -> None:
    path = project.folder / name
    options = written_big(path, [f"El gato {number} se sentó aquí" for number in range(600)])
    old = path.read_bytes()
    command = ["postedit", name, *options, "--in-place", "--lock"]
    with start(project.folder, *command) as process:
        assert "600 units have a new target" in process.communicate(timeout=100)[1]
    new = path.read_bytes()
    chance = random.Random(1)
    killed = set()
    for attempt in range(12):
        path.write_bytes(old)
        (project.folder / "mtagent.lock").unlink(missing_ok=True)
        with start(project.folder, *command) as process:
            # The run is stored, so that it only writes; half of the kills wait until the file is being written.
            while attempt % 2 and process.poll() is None and path.stat().st_size == len(old):
                if list(project.folder.glob(".mtagent-*.tmp")):
                    break
                time.sleep(0.0005)
            time.sleep(chance.uniform(0, 0.01 if attempt % 2 else 3))
            process.kill()
            process.communicate(timeout=100)
        assert path.read_bytes() in (old, new)
        killed.add(process.returncode)
        for leftover in project.folder.glob(".mtagent-*.tmp"):
            leftover.unlink()
        assert project(" ".join(command)).code == 0
        assert path.read_bytes() == new
    assert -signal.SIGKILL in killed


# -- tags


@pytest.mark.loopback
def test_a_text_with_broken_tags_is_not_written_and_is_accounted(project: Shell, shaking: str) -> None:
    sources = [f'Hello <x id="1"/> world {number}.' for number in range(12)]
    units = "".join(
        f'<trans-unit id="u{n}"><source>{source}</source></trans-unit>\n' for n, source in enumerate(sources)
    )
    head = XLIFF.partition('<trans-unit id="cat">')[0]
    (project.folder / "many.xlf").write_text(head + units + "</body></file></xliff>\n", encoding="utf-8")
    done = project("postedit many.xlf -o out.xlf --details d.jsonl", *with_model(shaking))
    assert done.code == 0, done.err
    lines = {unit.id: unit.line for unit in opened(project.folder / "many.xlf").units}
    not_written = {each["id"]: each["not_written"] for each in project.objects("d.jsonl") if "not_written" in each}
    assert 0 < len(not_written) < 12, "the simulator breaks some of them"
    new = targets(project.folder / "out.xlf")
    for unit_id, reason in not_written.items():
        assert new[unit_id] is None
        assert f"many.xlf:{lines[unit_id]}: '{unit_id}' is not changed: the new target {reason}" in done.err
    assert f"{12 - len(not_written)} of 12 units have a new target; {len(not_written)} are not changed" in done.err
    etree.parse(project.folder / "out.xlf")


def test_a_text_that_is_too_long_is_not_called_one_without_a_placeholder(project: Shell) -> None:
    unit = '<trans-unit id="a" maxwidth="5" size-unit="char"><source>Bye!</source></trans-unit>'
    text = f"{XLIFF.partition('<trans-unit')[0]}{unit}</body></file></xliff>"
    (project.folder / "a.xlf").write_text(text, encoding="utf-8")
    done = project("translate a.xlf -o b.xlf --translator", "command:sed s/Bye/Hasta.luego/")
    assert "mtagent: longer than max_length: a" in done.err
    assert "placeholders" not in done.err
    assert "1 is not changed, because its new target cannot be written" in done.err


def test_a_translation_without_a_placeholder_is_not_written(project: Shell) -> None:
    units = '<trans-unit id="a"><source>Hi {name}!</source></trans-unit><trans-unit id="b"><source>Bye!</source>'
    (project.folder / "a.xlf").write_text(
        f"{XLIFF.partition('<trans-unit')[0]}{units}</trans-unit></body></file></xliff>", encoding="utf-8"
    )
    done = project("translate a.xlf -o b.xlf --translator", "command:sed -e s/.name./you/ -e s/Bye/Adiós/")
    assert done.code == 0, done.err
    assert targets(project.folder / "b.xlf") == {"a": None, "b": "¡Adiós!"}
    reason = "a.xlf:3: 'a' is not changed: the new target would break the program: placeholders: {name} is missing"
    assert reason in done.err


@pytest.mark.loopback
@pytest.mark.data
@pytest.mark.timeout(300)
def test_no_broken_tag_reaches_a_real_file_and_a_second_run_with_the_lock_asks_nothing(
    data: Path, project: Shell, shaking: str
) -> None:
    folder = project.folder / "real"
    groups: dict[str, list[str]] = {}
    for original in _real_files(data / "formats", {"xlf": 12, "xliff": 8, "po": 10}):
        copy = folder / original.parent.name / original.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(original, copy)
        first = opened(copy).units[0]
        options = "" if first.source_lang else " --source-lang en"
        options += "" if first.target_lang else " --target-lang de"
        groups.setdefault(options, []).append(str(copy))
    before = {path: opened(path) for path in sorted(folder.rglob("*.*"))}
    remarks = ""
    for options, paths in groups.items():
        done = project(f"postedit --in-place --lock --force{options}", *with_model(shaking), *paths)
        assert done.code == 0, done.err
        remarks += done.err
    changed = 0
    for path, document in before.items():
        after = opened(path)
        for unit, new in zip(document.units, after.units, strict=True):
            if new.target != unit.target:
                assert not unit.locked
                assert new.target is not None
                assert fault(document, unit, new.target) is None
                changed += 1
        if path.suffix == ".po":
            polib.pofile(str(path))
        else:
            etree.parse(path)
    assert changed >= 20
    assert "not changed, because their new target cannot be written" in remarks
    for options, paths in groups.items():
        again = project(f"postedit --in-place --lock --force{options}", *with_model(shaking), *paths)
        assert "nothing to process; no model was called" in again.err, again.err


READERS = {
    ".json": lambda path: json.loads(path.read_bytes()),
    ".yml": lambda path: yaml.safe_load(path.read_bytes()),
    ".xml": etree.parse,
    ".xcstrings": lambda path: json.loads(path.read_bytes()),
}
EMPTY = {".json": "{}\n", ".yml": "{}\n", ".xml": "<resources/>\n"}
"""Files of one language without a text."""
WORKED_ON = {".json": 10, ".yml": 7, ".xml": 3, ".xcstrings": 4}
"""How many of the real files have 1 to 60 units and no language that is wrong for the run."""


@pytest.mark.loopback
@pytest.mark.data
@pytest.mark.parametrize("ending", READERS)
def test_no_broken_tag_reaches_a_file_with_sources(data: Path, shell: Shell, shaking: str, ending: str) -> None:
    changed = worked_on = 0
    for original in sorted((data / "formats" / ending[1:]).iterdir()):
        source = shell.folder / "en" / original.name
        path = shell.folder / "es" / original.name
        for copy in (source, path):
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(original, copy)
        if ending in EMPTY:
            path.write_text(EMPTY[ending], encoding="utf-8")
        has_sources = ending not in EMPTY
        try:
            before = document_format(path).open(path, None if has_sources else source, "es")
            READERS[ending](original)
        except (MtagentError, OSError, ValueError, yaml.YAMLError):
            continue
        if not 0 < len(before.units) <= 60:
            continue
        command = f"translate {path} --in-place --lock --force -l en-es"
        options = [] if has_sources else ["-s", str(source)]
        done = shell(command, *with_model(shaking), *options)
        if "its source language is" in done.err or "its target language is" in done.err:
            continue
        assert done.code == 0, done.err
        worked_on += 1
        after = document_format(path).open(path, None if has_sources else source, "es")
        for unit, new in zip(before.units, after.units, strict=True):
            if new.target != unit.target:
                assert new.target is not None
                assert fault(before, unit, new.target) is None
                changed += 1
        READERS[ending](path)
        again = shell(command, *with_model(shaking), *options)
        assert "nothing to process; no model was called" in again.err, again.err
    assert worked_on >= WORKED_ON[ending]
    assert changed


def _real_files(folder: Path, numbers: dict[str, int]) -> list[Path]:
    """The first files of each kind that have units and that lxml or polib reads."""
    chosen = []
    for ending, number in numbers.items():
        fit = []
        for path in sorted((folder / ending).iterdir()):
            try:
                units = opened(path).units
                if path.suffix == ".po":
                    polib.pofile(str(path))
                else:
                    etree.parse(path)
            except (MtagentError, OSError, UnicodeDecodeError, etree.XMLSyntaxError):
                continue
            # The simulator writes no Chinese, so that each text would fail.
            if 0 < len(units) < 100 and not (units[0].target_lang or "").startswith("zh"):
                fit.append(path)
        chosen += fit[:number]
    return chosen


# -- the lock file


@pytest.fixture
def locked(project: Shell) -> Shell:
    """The project after a run with the lock file."""
    done = project("postedit app.xlf locales --source-lang en --in-place --lock")
    assert done.code == 0, done.err
    return project


LOCKED = "postedit --source-lang en --in-place --lock app.xlf locales"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_second_run_with_the_lock_has_nothing_to_do(locked: Shell) -> None:
    lock = locked.read("mtagent.lock")
    assert lock[0].startswith("# mtagent.lock 1")
    assert [line.split("\t")[:2] for line in lock[1:]] == [
        ["app.xlf", "cat"],
        ["app.xlf", "key"],
        ["locales/es/app.po", "Hello big world."],
        ["locales/es/app.po", "menu\\4The cat sat here."],
        ["locales/pt/app.po", "Hello big world."],
        ["locales/pt/app.po", "menu\\4The cat sat here."],
    ]
    done = locked(LOCKED)
    assert (done.code, "nothing to process; no model was called" in done.err) == (0, True), done.err
    assert "6 not in the run: done before, by the lock file" in done.err
    assert locked.read("mtagent.lock") == lock


def test_frozen_fails_while_a_text_is_new_or_changed(project: Shell) -> None:
    done = project("postedit --frozen locales")
    assert (done.code, "4 texts new or changed since mtagent.lock was written" in done.err) == (1, True)
    assert project("postedit --source-lang en --in-place --lock locales").code == 0
    done = project("postedit --frozen locales")
    assert (done.code, "no text is new or changed since mtagent.lock was written" in done.err) == (0, True)
    edit(project.folder / "locales" / "es" / "app.po", 'msgid "Hello big world."', 'msgid "Hello small world."')
    done = project("postedit --frozen locales")
    assert (done.code, "locales/es/app.po:11: 'Hello small world.' is new or changed" in done.err) == (1, True)
    assert len(project.runs()) == 1


def test_frozen_names_the_way_out_for_texts_that_nothing_translates(locked: Shell) -> None:
    done = locked("postedit --frozen app.xlf locales")
    assert (done.code, "app.xlf:8: 'new' is new or changed" in done.err) == (1, True), done.err
    assert "1 text without a target, and no model or MT system to translate with" in done.last
    assert done.last.endswith("or leave such texts out with --not new")
    done = locked("postedit --frozen app.xlf locales --base-url http://127.0.0.1:9/v1 --model m")
    assert (done.code, "1 text new or changed since mtagent.lock was written" in done.last) == (1, True), done.err
    done = locked("postedit --frozen app.xlf locales --not new")
    assert (done.code, "no text is new or changed since mtagent.lock was written" in done.err) == (0, True), done.err


def test_frozen_fails_for_a_text_without_a_target_that_the_file_could_not_hold(project: Shell) -> None:
    units = '<trans-unit id="a"><source>Hi {name}!</source></trans-unit>'
    (project.folder / "a.xlf").write_text(
        f"{XLIFF.partition('<trans-unit')[0]}{units}</body></file></xliff>", encoding="utf-8"
    )
    done = project("translate a.xlf --in-place --lock --translator", "command:sed -e s/.name./you/")
    assert "'a' is not changed" in done.err
    done = project("translate a.xlf --frozen --translator cat")
    assert (done.code, "a.xlf:3: 'a' is new or changed" in done.err) == (1, True), done.err
    assert "1 text without a target, because the file could not hold the new one" in done.last
    assert done.last.endswith("or delete the lines from mtagent.lock to try again")


def test_a_text_that_people_edited_is_left_alone_unless_told_to(locked: Shell) -> None:
    path = locked.folder / "app.xlf"
    edit(path, "El gato se sentó aquí.", "El gato se echó ahí")
    done = locked(LOCKED)
    assert "1 not in the run: edited by people since the lock file was written" in done.err
    assert targets(path)["cat"] == "El gato se echó ahí"
    edit(path, "The cat sat here.", "The cat lay here.")
    assert targets(path)["cat"] == "El gato se echó ahí", "the person may have translated the new source"
    done = locked(f"{LOCKED} --force-edited")
    assert "1 of 9 units has a new target" in done.err
    assert targets(path)["cat"] == "El gato se echó ahí."


def test_a_text_whose_source_changed_is_worked_on_again(locked: Shell) -> None:
    edit(locked.folder / "app.xlf", "The cat sat here.", "The cat sat here!")
    done = locked(LOCKED)
    assert done.code == 0, done.err
    assert re.search(r"\b1 segment:", done.err)


@pytest.mark.loopback
def test_texts_are_known_when_a_second_file_comes_into_their_xliff(locked: Shell) -> None:
    path = locked.folder / "app.xlf"
    content = path.read_text(encoding="utf-8")
    body = '<body><trans-unit id="cat"><source>Bye</source><target>Adiós</target></trans-unit></body>'
    second = f'<file original="b" source-language="en" target-language="es" datatype="plaintext">{body}</file>'
    path.write_text(content.replace("</xliff>", f"{second}</xliff>"), encoding="utf-8")

    done = locked(LOCKED)

    assert "1 segment: " in done.err, done.err
    assert "nothing to process; no model was called" in locked(LOCKED).err
    path.write_text(path.read_text(encoding="utf-8").replace("Adiós", "Chao"), encoding="utf-8")
    assert "edited by people" in locked(LOCKED).err
    assert "Chao" in path.read_text(encoding="utf-8")


def test_a_failed_text_is_tried_again(project: Shell) -> None:
    command = "postedit --source-lang en --in-place --lock locales --stages p --model m --deadline 1 --base-url"
    assert project(f"{command} http://127.0.0.1:9/v1", "--give-up-after", "0").code == 3
    assert [line.split("\t")[2] for line in project.read("mtagent.lock")[1:]] == ["retry"] * 2
    assert "4 texts new or changed" in project("postedit --frozen locales").err


def test_lines_of_both_branches_count_after_a_merge_and_a_conflict_is_named(locked: Shell) -> None:
    lock = locked.folder / "mtagent.lock"
    header, *lines = locked.read("mtagent.lock")
    other = lines[0].rpartition("\t")[0] + "\t0123456789abcdef"
    lock.write_text("\n".join([header, *lines, other, ""]), encoding="utf-8")
    assert "nothing to process" in locked(LOCKED).err
    lock.write_text("\n".join([header, *lines[:2], "<<<<<<< HEAD", *lines[2:], ""]), encoding="utf-8")
    done = locked(LOCKED)
    assert (done.code, "mtagent.lock:4: expected a file, an id and two hashes" in done.err) == (1, True), done.err


def test_people_s_edit_of_a_text_that_had_failed_stays(locked: Shell) -> None:
    path = locked.folder / "app.xlf"
    path.write_text(path.read_text("utf-8").replace("The cat sat here.", "The cat sat there."), encoding="utf-8")
    options = "--give-up-after 0 --deadline 1 --model m --base-url http://127.0.0.1:9/v1"
    assert locked(f"postedit app.xlf --in-place --lock {options}").code == 3
    assert "nothing to process" not in locked(LOCKED + " --dry-run").err, "it is tried again"
    assert locked(LOCKED + " --frozen").code == 1
    mine = path.read_text(encoding="utf-8").replace("El gato", "El  gatito")
    path.write_text(mine, encoding="utf-8")
    done = locked(LOCKED)
    assert "1 not in the run: edited by people since the lock file was written" in done.err, done.err
    assert path.read_text(encoding="utf-8") == mine


def test_the_lock_forgets_texts_that_are_gone_and_keeps_other_files(locked: Shell) -> None:
    (locked.folder / "app.xlf").write_text(re.sub(r'<trans-unit id="cat">.*', "", XLIFF), encoding="utf-8")
    assert locked("postedit --in-place --lock app.xlf").code == 0
    keys = [tuple(line.split("\t")[:2]) for line in locked.read("mtagent.lock")[1:]]
    assert ("app.xlf", "cat") not in keys
    assert ("app.xlf", "key") in keys
    assert ("locales/es/app.po", "Hello big world.") in keys


def test_two_processes_share_a_lock_file_if_they_work_on_different_files(project: Shell) -> None:
    path = project.folder / "mtagent.lock"
    first, second = Lock(path), Lock(path)
    for lock, file in ((first, "es.po"), (second, "pt.po")):
        lock.update(project.folder / file, ["a"], {"a": hashes_of("a", "b")}, {})
        lock.write()
    assert [line.partition("\t")[0] for line in project.read("mtagent.lock")[1:]] == ["es.po", "pt.po"]


def test_a_text_that_failed_here_keeps_the_line_that_another_process_has_written_meanwhile(project: Shell) -> None:
    path, file = project.folder / "mtagent.lock", project.folder / "es.po"
    slow, quick = Lock(path), Lock(path)
    quick.update(file, ["a", "b"], {"a": hashes_of("a", "quick"), "b": hashes_of("b", "quick")}, {})
    quick.write()
    slow.update(file, ["a", "b"], {"b": hashes_of("b", "slow")}, {"a": None})
    slow.write()
    slow.update(file, ["b"], {}, {})  # the text is gone, and nobody else has noted anything since
    expected = {
        "a": [*hashes_of("a", "quick")],
        "b": [*hashes_of("b", "slow")],
    }
    lines = [line.split("\t") for line in project.read("mtagent.lock")[1:]]
    assert {key: hashes for _, key, *hashes in lines} == expected
    slow.write()
    assert [line.split("\t")[1] for line in project.read("mtagent.lock")[1:]] == ["b"]


def test_no_line_is_lost_if_several_write_the_lock_file_at_once(project: Shell) -> None:
    path = project.folder / "mtagent.lock"
    texts = {str(number): hashes_of(str(number), "b") for number in range(500)}

    def write(language: str) -> None:
        lock = Lock(path)
        for number in range(8):
            lock.update(project.folder / f"{language}{number}.po", texts, texts, {})
            lock.write()

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, ("es", "pt", "fr")))
    assert len(project.read("mtagent.lock")) == 1 + 3 * 8 * 500


# -- context per text


def asked_for(project: Shell, arguments: str) -> str:
    """The requests of a dry run for ``arguments``."""
    done = project(f"{arguments} --source-lang en --dry-run --model m --base-url http://127.0.0.1:9/v1")
    assert done.code == 0, done.err
    return done.out


def test_the_translation_into_a_second_language_is_shown(project: Shell) -> None:
    before = asked_for(project, "postedit locales/es/app.po")
    other = PO.replace("Language: es", "Language: fr").replace("Hola gran mundo.", "Bonjour le monde.")
    other = other.replace("El gato se sentó aquí", "")
    project.write("fr.po", other)
    asked = asked_for(project, "postedit locales/es/app.po --second-language fr.po")
    assert asked.count("In French: Bonjour le monde.") == 2  # postedit and proofread
    assert asked.count("In French") == 2
    about_cat = before.partition("menu")[2].partition("segment Hello")[0]
    assert about_cat in asked  # without a translation there, nothing changes
    (project.folder / "fr").mkdir()
    project.write("fr/app.po", other.replace("Language: fr", "X-Generator: x"))
    assert "In French: Bonjour le monde." in asked_for(
        project, "postedit locales/es/app.po --second-language fr/app.po"
    )
    # Files that are worked on are no second language of themselves.
    everything = asked_for(project, "postedit locales/es/app.po --second-language locales --second-language fr.po")
    assert "In Portuguese: Hola gran mundo.\nIn French: Bonjour le monde." in everything
    assert "In Spanish" not in everything


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Hello big world.", "Hello, world.", "translates none of the texts, which must have the same id and source"),
        ("Language: fr", "X: y", "the file doesn't name its target language"),
    ],
)
def test_a_second_language_that_cannot_be_shown_is_refused(project: Shell, old: str, new: str, message: str) -> None:
    other = PO.replace("Language: es", "Language: fr").replace("El gato se sentó aquí", "")
    project.write("other.po", other.replace(old, new))
    done = project("postedit locales/es/app.po --source-lang en --second-language other.po")
    assert done.code == 1
    assert "other.po: " in done.err
    assert message in done.err


@pytest.mark.loopback
def test_another_second_language_file_is_another_run(project: Shell, server: str) -> None:
    names = []
    for word in ("monde", "monde", "globe"):
        project.write("fr.po", PO.replace("Language: es", "Language: fr").replace("mundo", word))
        options = "locales/es/app.po -o b.po --force --source-lang en --second-language fr.po"
        done = project(f"postedit {options}", *with_model(server))
        assert done.code == 0, done.err
        names.append(re.findall(r"postedit-[0-9a-f]{8}", done.err)[0])
    assert names[0] == names[1] != names[2]


def test_instructions_for_a_language_reach_its_texts_only(project: Shell) -> None:
    project.write("es.md", "Tutea siempre.")
    project.write("br.md", "Use você.")
    project.write("all.md", "Be brief.")
    before = asked_for(project, "postedit locales")
    options = "--instructions all.md --instructions es=es.md --instructions pt-BR=br.md"
    asked = asked_for(project, f"postedit locales {options}")
    spanish, portuguese = asked.split("segment locales/pt", 1)
    assert "Tutea siempre." in spanish
    assert "Tutea siempre." not in portuguese
    assert "Use você." not in asked  # pt is not pt-BR
    assert asked.count("Be brief.") == asked.count("[system]")
    assert "Tutea" not in before
    project.write("mtagent.toml", "[instructions_for]", 'es = "es.md"')
    assert "Tutea siempre." in asked_for(project, "postedit locales/es/app.po")
    assert "Tutea" not in asked_for(project, "postedit locales/pt/app.po")


def test_the_more_specific_language_of_instructions_wins(shell: Shell) -> None:
    shell.write("de.md", "Allgemein.")
    shell.write("at.md", "Jänner statt Januar.")
    shell.write("s.jsonl", '{"id": "a", "source": "January", "translation": "Januar"}')
    options = "postedit -s s.jsonl --instructions de=de.md --instructions de-AT=at.md --target-lang"
    austrian, swiss = asked_for(shell, f"{options} de-AT"), asked_for(shell, f"{options} de-CH")
    assert "Jänner statt Januar." in austrian
    assert "Allgemein." not in austrian
    assert "Allgemein." in swiss
    assert "Jänner" not in swiss


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--instructions es=", "expected FILE or LANG=FILE"),
        ("--instructions es=none.md", "none.md: no such file or directory"),
        ("--instructions es=empty.md", "empty.md: is empty: write the instructions into it"),
        ("--instructions klingonese=es.md", "unknown language 'klingonese'"),
        ("--instructions es=es.md --instructions spa=es.md", "es is given twice"),
        ("--instructions es.md --instructions es.md", "give only one file for all languages"),
    ],
)
def test_instructions_that_cannot_be_used_are_refused(project: Shell, options: str, message: str) -> None:
    project.write("es.md", "Tutea.")
    project.write("empty.md", "")
    done = project(f"postedit app.xlf {options}")
    assert done.code != 0
    assert message in done.err


@pytest.mark.loopback
def test_other_instructions_for_a_language_are_another_run(project: Shell, server: str) -> None:
    names = []
    for text in ("Tutea.", "Tutea.", "Trata de usted."):
        project.write("es.md", text)
        done = project("postedit app.xlf -o b.xlf --force --instructions es=es.md", *with_model(server))
        assert done.code == 0, done.err
        names.append(re.findall(r"postedit-[0-9a-f]{8}", done.err)[0])
    assert names[0] == names[1] != names[2]


def test_files_of_one_language_are_improved_with_the_file_of_their_sources(shell: Shell) -> None:
    shell.write("en.json", "{", '  "a": "Hello world.",', '  "b": "Yes"', "}")
    shell.write("de.json", "{", '  "a": "Hallo , Welt."', "}")

    done = shell("postedit de.json -s en.json -o better.json -q")

    assert done.code == 0, done.err
    assert shell.read("better.json") == ["{", '  "a": "Hallo, Welt."', "}"]
    assert "name the file with the sources" in shell("postedit de.json -o other.json").last
    assert (
        "en.json: has the sources, and no file with translations is named"
        in shell("postedit en.json -s en.json -o other.json").last
    )


def test_a_folder_gives_files_of_one_language_only_with_sources_and_no_running_text(shell: Shell) -> None:
    (shell.folder / "i18n").mkdir()
    for name, text in (("en", "Hello world."), ("de", "Hallo , Welt."), ("es", "Hola , mundo.")):
        (shell.folder / "i18n" / f"{name}.json").write_text(f'{{"a": "{text}"}}\n', encoding="utf-8")
    (shell.folder / "i18n" / "README.md").write_text("Not , touched", encoding="utf-8")

    assert "has no localization files" in shell("postedit i18n --in-place").last
    done = shell("postedit i18n -s i18n/en.json --source-lang en --in-place -q")

    assert done.code == 0, done.err
    texts = {path.name: path.read_text(encoding="utf-8") for path in (shell.folder / "i18n").iterdir()}
    assert texts == {
        "en.json": '{"a": "Hello world."}\n',
        "de.json": '{"a": "Hallo, Welt."}\n',
        "es.json": '{"a": "Hola, mundo."}\n',
        "README.md": "Not , touched",
    }


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "a.srt",
            "1\n00:00:01,000 --> 00:00:03,500\nWhen we came,\n\n2\n00:00:04,000 --> 00:00:06,500\nit was on.\n",
            "1\n00:00:01,000 --> 00:00:03,500\nWHEN WE CAME,\n\n2\n00:00:04,000 --> 00:00:06,500\nIT WAS ON.\n",
        ),
        ("a.md", "# Title\n\n- some text\n\n```\ncode\n```\n", "# TITLE\n\n- SOME TEXT\n\n```\ncode\n```\n"),
        ("a.html", "<p>Some <b>bold</b> text</p><script>x</script>", "<p>SOME <b>BOLD</b> TEXT</p><script>x</script>"),
    ],
)
def test_running_text_is_translated_in_a_copy(shell: Shell, name: str, content: str, expected: str) -> None:
    (shell.folder / name).write_text(content, encoding="utf-8")

    done = shell(f"translate {name} -l en-de -o new-{name} --stages t -q --translator", "command:tr a-z A-Z")

    assert done.code == 0, done.err
    assert (shell.folder / f"new-{name}").read_text(encoding="utf-8") == expected
    assert (shell.folder / name).read_text(encoding="utf-8") == content


@pytest.mark.loopback
@pytest.mark.parametrize("gate", ["pairwise", "rate"])
async def test_everything_that_is_known_of_a_text_reaches_translator_editor_proofreader_and_judges(
    shell: Shell, gate: str
) -> None:
    unit = '<trans-unit id="door.handle" maxwidth="{}" size-unit="{}"><source>{}</source>{}</trans-unit>'
    units = unit.format(300, "pixel", "The night watch found the keys at the gate.", "<note>on a sign</note>")
    units += unit.format(90, "char", "She asked for the keys.", "").replace("door.", "lost.")
    file = f'<file original="a" source-language="en" target-language="es"><body>{units}</body></file>'
    shell.write("app.xlf", f'<xliff version="1.2">{file}</xliff>')
    shell.write("es.md", "Tutea siempre.")
    path = shell.folder / "app.xlf"
    files = Files(
        source=path,
        output=shell.folder / "out.xlf",
        localization=LocalizationInputs(files=(NamedFile(path, shell.folder),)),
    )
    async with Simulator(Settings(behaviour=improving)) as server:
        settings = {"base_url": server.base_url, "model": "m", "gate": gate}
        await improve_file(
            load(
                overrides={
                    **settings,
                    "store": shell.folder / "store.db",
                    "instructions_for": {"es": shell.folder / "es.md"},
                }
            ),
            files,
            command="translate",
            on_start=lambda *_: None,
            on_chain=lambda chain: None,
        )
    purposes = set()
    for body in server.requests:
        asked = body["messages"][-1]["content"]
        assert "Tutea siempre." in asked
        if "night watch" in asked:
            assert "on a sign\nKey: door.handle\nThe translation must not be longer than 300 pixel." in asked
        else:
            assert "Key: lost.handle" in asked
            assert "The translation must have at most 90 characters." in asked
        purposes.add(body["messages"][0]["content"])
    assert len(purposes) >= 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("a.po b.po --source-lang en -o out.po", "-o out.po: is the name of a file, but there may be several"),
        ("a.po --source-lang en -o out.xlf", "-o out.xlf: a.po stays po; name it with .po"),
    ],
)
def test_an_output_of_another_kind_is_refused(shell: Shell, arguments: str, message: str) -> None:
    for name in ("a.po", "b.po"):
        shell.write(name, 'msgid ""', 'msgstr "Language: de\\n"', "", 'msgid "Yes"', 'msgstr "Ja"')

    done = shell(f"postedit {arguments}")

    assert (done.code, message in done.last) == (2, True), done.err


def test_the_same_text_under_another_name_and_other_states_are_other_runs(shell: Shell) -> None:
    faulty = ('msgid ""', 'msgstr "Language: de\\n"', "", "#, fuzzy", 'msgid "See %s."', 'msgstr "Siehe %S ."')
    for name in ("a.po", "b.po"):
        shell.write(name, *faulty)

    for name in ("a.po", "b.po"):
        assert shell(f"postedit {name} --source-lang en -o new-{name} -q").code == 0
        assert 'msgstr "Siehe %s."' in shell.read(f"new-{name}")
    done = shell("postedit a.po --source-lang en -o none.po --only translated")
    assert "0 of 1 unit has a new target; 1 not in the run" in done.err


def test_the_path_of_a_catalogue_may_name_its_language(shell: Shell) -> None:
    folder = shell.folder / "locale" / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "app.po").write_text('msgid "Hello."\nmsgstr "Hallo ."\n', encoding="utf-8")

    assert shell("postedit locale --source-lang en --in-place -q").code == 0
    assert (folder / "app.po").read_text(encoding="utf-8") == 'msgid "Hello."\nmsgstr "Hallo."\n'


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_not_replaced(shell: Shell) -> None:
    path = shell.write("a.po", 'msgid ""', 'msgstr "Language: de\\n"', "", 'msgid "Hello."', 'msgstr "Hallo ."')
    path.chmod(0o444)

    assert "a.po: is read-only; make it writable" in shell("postedit a.po --source-lang en --in-place").last
