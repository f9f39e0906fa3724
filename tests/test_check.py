"""``mtagent check``: faults of existing translations, for people and for tools, and certain repairs."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mtagent.formats.findings import Checked, Finding, as_github, as_junit, as_sarif
from tests.commands import Shell

HEADER = 'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
PLURALS = HEADER.replace('"Content-Type', '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n"Content-Type')
FAULTY = f"""{HEADER}
msgid "%d files were deleted."
msgstr "Dateien wurden gelöscht."

msgid "Open the folder."
msgstr "Öffnen Sie den Ordner."

msgid "Where is it?"
msgstr "Wo ist es"
"""


def checks(shell: Shell, *arguments: str) -> list[tuple[str, int]]:
    """The checks that found something, with the lines."""
    done = shell("check", *arguments, "-f", "json", "--fail-on", "never")
    assert done.code == 0, done.err
    return [(finding["check"], finding["line"]) for finding in done.objects]


def test_findings_have_file_and_line_and_a_table_counts_them(shell: Shell) -> None:
    shell.write("de.po", *FAULTY.splitlines())

    done = shell("check", "de.po", "--source-lang", "en")

    assert done.code == 1
    assert "de.po:6: major placeholders: placeholder %d is missing ('%d files were deleted.')" in done.lines
    assert "de.po:12: minor final-mark: the final punctuation is missing ('Where is it?')" in done.lines
    assert done.lines[-1].split() == ["de.po", "final-mark", "1,", "placeholders", "1", "3", "2"]


def test_a_clean_file_exits_with_0(shell: Shell) -> None:
    shell.write("de.po", *HEADER.splitlines(), 'msgid "Open"', 'msgstr "Öffnen"')

    done = shell("check", "de.po", "--source-lang", "en")

    assert (done.code, done.lines[-1].split()) == (0, ["de.po", "nothing", "found", "1", "0"])


@pytest.mark.parametrize(
    ("source", "target", "check"),
    [
        ("Open <b>now</b>", "Jetzt <b>öffnen", "tags"),
        ("Pay 5 dollars", "Zahlen Sie 6 Dollar", "numbers"),
        ("See https://example.org/a", "Siehe https://example.org/b", "urls"),
        ("_File", "Datei", "hotkeys"),
        ("Save the file", "Save the file", "untranslated"),
        ("Name: ", "Name:", "white-space"),
        ("One\\nTwo", "Eins zwei", "lines"),
        ("Loading…", "Lädt", "end-mark"),
        ("It is a sentence.", "Das ist ein Satz", "final-mark"),
        ("It is in the house", "Es ist im im Haus", "doubled-words"),
        ("Use **bold** text", "Nutze fetten Text", "markdown"),
        ("Yes", "Ja, das ist wirklich ganz genau so", "length"),
        ("A house (red)", "Ein Haus (rot", "pairs"),
    ],
)
def test_each_kind_of_fault_is_found(shell: Shell, source: str, target: str, check: str) -> None:
    shell.write("de.po", *HEADER.splitlines(), f'msgid "{source}"', f'msgstr "{target}"')

    assert check in dict(checks(shell, "de.po", "--source-lang", "en"))


WRAPPED = "The number of lines in a text that was wrapped by a program\\nmay differ, but no line may be much longer."


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("Die Zahl der Zeilen eines umbrochenen Textes\\nkann sich ändern, aber keine\\ndarf viel länger sein.", []),
        (
            "Die Zahl der Zeilen eines Textes kann sich ändern, aber keine Zeile darf jemals viel länger sein.",
            ["lines"],
        ),
        ("Die Zahl der Zeilen darf sich ändern.\\n\\nKeine darf viel länger sein als die anderen.", ["lines"]),
    ],
)
def test_lines_of_wrapped_texts_may_differ_in_number(shell: Shell, target: str, expected: list[str]) -> None:
    shell.write("de.po", *HEADER.splitlines(), f'msgid "{WRAPPED}"', f'msgstr "{target}"')

    assert [check for check, _ in checks(shell, "de.po", "--source-lang", "en", "--only", "lines")] == expected


def test_checks_are_chosen_and_an_unknown_one_is_named(shell: Shell) -> None:
    shell.write("de.po", *FAULTY.splitlines())

    assert checks(shell, "de.po", "--source-lang", "en", "--only", "final-mark") == [("final-mark", 12)]
    assert checks(shell, "de.po", "--source-lang", "en", "--skip", "final-mark,end-mark,placeholders") == []
    done = shell("check", "de.po", "--source-lang", "en", "--skip", "endmark")
    assert done.code == 1
    assert "unknown check 'endmark'; choose from empty, placeholders" in done.err


def test_a_form_for_one_count_may_say_it_in_words_and_no_form_may_be_empty(shell: Shell) -> None:
    shell.write(
        "de.po",
        *PLURALS.splitlines(),
        *('msgid "%d page"', 'msgid_plural "%d pages"', 'msgstr[0] "Eine Seite"', 'msgstr[1] "Seiten"', ""),
        *('msgid "%d file"', 'msgid_plural "%d files"', 'msgstr[0] "%d Datei"', 'msgstr[1] ""'),
    )

    assert checks(shell, "de.po", "--source-lang", "en") == [("placeholders", 6), ("plural-forms", 11)]


def test_a_glossary_is_enforced(shell: Shell) -> None:
    shell.write("de.po", *HEADER.splitlines(), 'msgid "Open the folder"', 'msgstr "Öffnen Sie das Verzeichnis"')
    shell.write("terms.csv", "source,target", "folder,Ordner")

    assert checks(shell, "de.po", "--source-lang", "en", "--glossary", "terms.csv") == [("terms", 5)]


def test_a_baseline_leaves_known_findings_out_until_there_are_more(shell: Shell) -> None:
    shell.write("de.po", *FAULTY.splitlines())
    known = ("check", "de.po", "--source-lang", "en", "--baseline", "known.jsonl")

    assert shell(*known).code == 1
    assert "known.jsonl: no such file; --update-baseline writes it" in shell(*known).err
    assert shell(*known, "--update-baseline").code == 0
    assert shell(*known).code == 0
    shell.write("de.po", *FAULTY.splitlines(), "", 'msgid "Pay 5"', 'msgstr "Zahle 6"')
    done = shell(*known)

    assert done.code == 1
    assert "numbers" in done.out
    assert "(2 more are in the baseline.)" in done.out


def test_certain_faults_are_repaired_in_place_and_locked_units_stay(shell: Shell, tmp_path: Path) -> None:
    unit = '<trans-unit id="{}"{}><source>It is {{name}}.</source><target>Es ist {{Name}} .</target></trans-unit>'
    head = '<xliff version="1.2"><file original="a" source-language="en" target-language="de" datatype="x"><body>'
    path = shell.write(
        "a.xlf", head, unit.format("a", ""), unit.format("b", ' approved="yes"'), "</body></file></xliff>"
    )

    done = shell("check", "a.xlf", "--fix")

    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[1] == unit.format("a", "").replace("{Name} .", "{name}.").replace("{{", "{").replace("}}", "}")
    assert lines[2] == unit.format("b", ' approved="yes"')
    assert "a.xlf: repaired 1 unit" in done.err
    assert {line.rsplit("(")[-1] for line in done.lines if line.startswith("a.xlf:")} == {"'b')"}


@pytest.mark.parametrize(
    ("source", "faulty", "repaired"),
    [
        ("Hello {name}, {count} items", "Hallo {Name}, {Count} Dinge", "Hallo {name}, {count} Dinge"),
        ("See {name} and {NAME}", "Siehe {Name} und {NAME}", "Siehe {name} und {NAME}"),
        ("Hello {name}", "Hallo {Name} {NAME}", None),  # which one is it?
        (
            "{count, plural, one{{name} has one cat} other{{name} has {count} cats}}",
            "{Count, plural, one{{Name} hat eine Katze} other{{Name} hat {Count} Katzen}}",
            "{count, plural, one{{name} hat eine Katze} other{{name} hat {count} Katzen}}",
        ),
        (  # only within a variant
            "{n, plural, one{{name} has one cat} other{{name} has {n} cats}}",
            "{n, plural, one{{NAME} hat eine Katze} other{{name} hat {n} Katzen}}",
            "{n, plural, one{{name} hat eine Katze} other{{name} hat {n} Katzen}}",
        ),
        (
            "{sex, select, male{He} other{They}} saw {userName}",
            "{ Sex, select, male{Er} other{Sie}} sah {username}",
            "{ sex, select, male{Er} other{Sie}} sah {userName}",
        ),
        (  # a branch with a text like a name
            "{sex, select, male{Man} other{Sex}}: {userName}",
            "{Sex, select, male{Mann} other{Sex}}: {userName}",
            None,
        ),
        (  # a branch is missing, too
            "{sex, select, male{He} female{She} other{They}} saw {userName}",
            "{sex, select, male{Er} other{Sie}} sah {username}",
            None,
        ),
    ],
)
def test_the_capitals_of_placeholders_are_repaired_where_one_of_the_source_fits(
    shell: Shell, source: str, faulty: str, repaired: str | None
) -> None:
    shell.write("app_en.arb", json.dumps({"@@locale": "en", "text": source}))
    shell.write("app_de.arb", json.dumps({"@@locale": "de", "text": faulty}))

    shell("check", "app_de.arb", "-s", "app_en.arb", "--fix")

    assert json.loads(shell.read("app_de.arb")[0])["text"] == (repaired or faulty)


def test_the_lock_file_follows_repairs_and_people_keep_what_they_edited(shell: Shell) -> None:
    path = shell.write("de.po", *HEADER.splitlines(), 'msgid "Go, %s!"', 'msgstr ""', "", 'msgid "See"', 'msgstr ""')
    run = ("translate", "de.po", "--source-lang", "en", "--in-place", "--lock", "--stages", "t", "--translator")
    assert shell(*run, "command:sed -e s/Go./Geh\\ ,/ -e s/See/Siehe/").code == 0
    assert "Geh , %s!" in path.read_text(encoding="utf-8")
    before = shell.read("mtagent.lock")
    fix = ("check", "de.po", "--source-lang", "en", "--fix")

    assert "repaired 1 unit" in shell(*fix).err

    assert "Geh, %s!" in path.read_text(encoding="utf-8")
    after = shell.read("mtagent.lock")
    assert [line.split("\t")[:3] for line in after] == [line.split("\t")[:3] for line in before]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]
    assert "2 not in the run: done before" in shell(*run, "command:cat").err
    # A fault that a person writes is repaired, and stays the person's.
    path.write_text(path.read_text(encoding="utf-8").replace("Geh, %s!", "Geht , %s!"), encoding="utf-8")
    assert "repaired 1 unit" in shell(*fix).err
    assert shell.read("mtagent.lock") == after
    assert "1 not in the run: edited by people" in shell(*run, "command:cat").err


def test_the_lock_file_follows_each_repaired_file_although_the_next_cannot_be_written(shell: Shell) -> None:
    resource = pytest.importorskip("resource", reason="limits the size of files, as Unix can")
    for folder in ("a", "b"):
        (shell.folder / folder).mkdir()
    shell.write("a/de.po", *HEADER.splitlines(), 'msgid "Go, %s!"', 'msgstr ""')
    shell.write("b/de.po", *HEADER.splitlines(), *[f"# {'x' * 99}"] * 999, 'msgid "Go, %s!"', 'msgstr ""')
    run = ("translate", "a/de.po", "b/de.po", "--source-lang", "en", "--in-place", "--lock", "--stages", "t")
    assert shell(*run, "--translator", "command:sed s/Go./Geh\\ ,/").code == 0
    before = shell.read("mtagent.lock")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        done = shell("check", "a/de.po", "b/de.po", "--source-lang", "en", "--fix")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert done.code == 1
    assert "b/de.po: cannot be written: file too large" in done.err

    assert "Geh, %s!" in "".join(shell.read("a/de.po"))
    assert "Geh , %s!" in "".join(shell.read("b/de.po"))
    assert [old == new for old, new in zip(before, shell.read("mtagent.lock"), strict=True)] == [True, False, True]
    assert "2 not in the run: done before" in shell(*run, "--translator", "command:cat").err


def test_the_lock_file_is_named_for_repairs_only(shell: Shell) -> None:
    shell.write("de.po", *FAULTY.splitlines())

    assert "--lock needs --fix" in shell("check", "de.po", "--source-lang", "en", "--lock", "my.lock").err
    assert "my.lock: no such file" in shell("check", "de.po", "--source-lang", "en", "--fix", "--lock=my.lock").err


def finding(message: str = "100 % of\nit", unit_id: str = "a:b,c") -> Finding:
    return Finding("dir/a.po", 7, unit_id, "numbers", "major", message, "source", "target")


def test_sarif_has_rules_places_and_fingerprints_that_stay(shell: Shell) -> None:
    shell.write("de.po", *FAULTY.splitlines())

    first = json.loads(shell("check", "de.po", "--source-lang", "en", "-f", "sarif").out)
    shell.write("de.po", "# a new line", *FAULTY.splitlines())
    second = json.loads(shell("check", "de.po", "--source-lang", "en", "-f", "sarif").out)

    assert first["version"] == "2.1.0"
    [run], [moved] = first["runs"], second["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["final-mark", "placeholders"]
    assert [result["level"] for result in run["results"]] == ["error", "warning"]
    assert [result["partialFingerprints"] for result in run["results"]] == [
        result["partialFingerprints"] for result in moved["results"]
    ]
    place = moved["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "de.po"}, "region": {"startLine": 7}}


def test_sarif_names_files_as_addresses() -> None:
    log = json.loads(as_sarif(Checked([finding()._replace(file="my app/de 100%.po")], {"my app/de 100%.po": 1})))

    [result] = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "my%20app/de%20100%25.po"}


def test_junit_counts_units_and_holds_any_text() -> None:
    unreadable = finding("cut off", "")._replace(file="c.po")
    findings = [finding("a\x00b"), finding("second"), finding("other", "d"), unreadable]
    checked = Checked(findings, {"dir/a.po": 5, "b.po": 2, "c.po": 0})

    suites = ElementTree.fromstring(as_junit(checked))

    counts = [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites]
    assert counts == [("dir/a.po", "5", "2"), ("b.po", "2", "0"), ("c.po", "1", "1")]
    failures = [failure.get("message") for failure in suites.iter("failure")]
    assert failures == ["numbers: a�b", "numbers: other", "numbers: cut off"]


def test_github_commands_are_escaped() -> None:
    checked = Checked([finding()], {"dir/a.po": 5})

    assert as_github(checked) == ("::error file=dir/a.po,line=7,title=numbers::100 %25 of%0Ait (unit a:b,c)\n")


def test_a_file_that_cannot_be_read_is_a_finding_among_others(shell: Shell) -> None:
    shell.write("de.po", *FAULTY.splitlines())
    shell.write("cut.xlf", '<xliff version="1.2"><file source-language="en" target-language="de">')

    done = shell("check", "de.po", "cut.xlf", "--source-lang", "en")

    assert done.code == 1
    assert any(line.startswith("cut.xlf:2: critical unreadable: not well-formed XML") for line in done.lines)
    assert any(line.startswith("de.po:6: major placeholders: ") for line in done.lines)


@pytest.mark.skipif(find_spec("py3langid") is None, reason="py3langid is not installed")
def test_a_text_in_another_language_is_found(shell: Shell) -> None:
    shell.write(
        "de.po",
        *HEADER.splitlines(),
        'msgid "The old bridge over the river was closed for six months."',
        'msgstr "El viejo puente sobre el río estuvo cerrado durante seis meses."',
    )

    [found] = shell("check", "de.po", "--source-lang", "en", "-f", "json").objects
    assert (found["check"], found["message"]) == ("language", "the text is in Spanish")
