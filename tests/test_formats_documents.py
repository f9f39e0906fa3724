"""Localization files: units are read, and targets replaced in the user's own bytes."""

from __future__ import annotations

import gettext
import io
import json
import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import polib
import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from mtagent.chain.guards import GUARDS
from mtagent.errors import ConfigError, InputError
from mtagent.formats import document_format
from mtagent.formats.documents import (
    PLACEHOLDER,
    STATES,
    LocalizationFile,
    MarkingFile,
    TranslationUnit,
    UnitMark,
    mark_fault,
    parsed_mark,
    placeholder_fault,
    placeholders,
    replaced,
    selected,
)
from mtagent.records import ErrorSpan, Segment
from tests.commands import Shell

XLIFF = """<?xml version="1.0" encoding="ENCODING"?>
<!-- kept -->
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a.txt" source-language="en" target-language='de' datatype="plaintext">
    <body>
      <trans-unit id="a" resname="title"  maxwidth="40" size-unit="char">
        <source>Caf&#233; &amp; bar</source>
        <target   state="translated">Café &amp; Bar</target>
        <note>A sign.</note>
        <alt-trans><source>x</source><target>alt</target></alt-trans>
      </trans-unit>
      <trans-unit id="b" maxwidth="120"><source>Press <g id="1">the <x id="2"/> key</g>.</source></trans-unit>
      <trans-unit id="c"><source><![CDATA[1 < 2]]></source><target><![CDATA[1 < 2 & 3]]></target></trans-unit>
      <trans-unit id="d" approved="yes"><source>Done</source><target>Fertig</target></trans-unit>
      <trans-unit id="e"><source>Empty</source><target/></trans-unit>
    </body>
  </file>
</xliff>
"""
PO = """# translators
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: de\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#. a note
# by a person
#: a.c:1
#, fuzzy, c-format
#| msgid "Old"
msgctxt "menu"
msgid "Open"
msgstr "Öffne"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] ""

msgid "line\\n"
msgstr   "Zeile\\n"

#~ msgid "gone"
#~ msgstr "weg"
"""


def opened(folder: Path, name: str, content: str | bytes) -> LocalizationFile:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return document_format(path).open(path)


def xliff(folder: Path, units: str, head: str = "", version: str = "1.2") -> LocalizationFile:
    body = units if version.startswith("2") else f"<body>{units}</body>"
    root = f'<xliff version="{version}" xmlns="urn:oasis:names:tc:xliff:document:{version}" {head}>'
    return opened(folder, "a.xlf", f'{root}<file id="f" original="f">{body}</file></xliff>')


def by_id(document: LocalizationFile) -> dict[str, TranslationUnit]:
    return {unit.id: unit for unit in document.units}


# -- XLIFF


def test_xliff_units_have_what_the_file_says_of_them(tmp_path: Path) -> None:
    units = by_id(opened(tmp_path, "a.xlf", XLIFF.replace("ENCODING", "UTF-8")))
    first = units["a"]
    assert (first.source, first.target, first.state) == ("Café & bar", "Café & Bar", "translated")
    assert (first.notes, first.context, first.max_length) == (("A sign.",), "title", 40)
    assert (first.source_lang, first.target_lang, first.line) == ("en", "de", 7)
    assert (units["b"].source, units["b"].target) == ("Press <1>the <2/> key</1>.", None)
    assert units["b"].inline == {"<1>": '<g id="1">', "<2/>": '<x id="2"/>', "</1>": "</g>"}
    assert (units["b"].max_length, units["b"].max_width) == (None, "120 pixel")
    assert [unit.id for unit in units.values() if unit.protected] == ["d"]
    assert [(unit.target, unit.status) for unit in (units["d"], units["e"])] == [("Fertig", "approved"), (None, "new")]


@pytest.mark.parametrize(
    ("attributes", "max_length", "max_width"),
    [
        ('maxwidth=" 40 " size-unit="char"', 40, None),
        ('maxwidth="0" size-unit="char"', None, None),
        (f'maxwidth="{"9" * 5000}" size-unit="char"', None, None),
        ('maxwidth="40" size-unit="byte"', None, "40 byte"),
        ('maxbytes="40"', None, "40 bytes"),
    ],
)
def test_limits_of_a_target(tmp_path: Path, attributes: str, max_length: int | None, max_width: str | None) -> None:
    [unit] = xliff(tmp_path, f'<trans-unit id="a" {attributes}><source>x</source></trans-unit>').units
    assert (unit.max_length, unit.max_width) == (max_length, max_width)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("declared", "encoding", "mark"),
    [
        ("UTF-8", "utf-8", b""),
        ("utf-8", "utf-8", b"\xef\xbb\xbf"),
        ("UTF-16", "utf-16-le", b"\xff\xfe"),
        ("UTF-16", "utf-16-be", b"\xfe\xff"),
        ("windows-1252", "cp1252", b""),
        ("US-ASCII", "ascii", b""),
    ],
)
def test_only_the_bytes_of_the_new_target_differ(
    tmp_path: Path, declared: str, encoding: str, mark: bytes, newline: str
) -> None:
    text = XLIFF.replace("ENCODING", declared).replace("\n", newline)
    text = text.replace("Café &amp; Bar", "Kaffee &amp; Bar") if encoding == "ascii" else text
    old = "Kaffee &amp; Bar" if encoding == "ascii" else "Café &amp; Bar"
    data = mark + text.encode(encoding)
    document = opened(tmp_path, "a.xlf", data)
    assert replaced(document, {}) == data
    assert replaced(document, {unit.id: unit.target for unit in document.units if unit.target is not None}) == data

    new = replaced(document, {"a": "Zwei\nZeilen: <☃> & é"})
    before, after = (part.encode(encoding) for part in text.split(old))
    assert new.startswith(mark + before)
    assert new.endswith(after)
    target = etree.fromstring(new).findall(".//{*}target")[0]
    assert (target.text, target.attrib) == ("Zwei\nZeilen: <☃> & é", {"state": "translated"})
    assert newline.encode(encoding) in new[len(mark + before) : -len(after)]


def test_no_mark_is_written_before_a_text_where_pythons_name_of_utf_8_with_a_mark_is_declared(tmp_path: Path) -> None:
    data = XLIFF.replace("ENCODING", "utf-8-sig").encode()
    new = replaced(opened(tmp_path, "a.xlf", data), {"a": "Kaffee", "e": "Leer"})
    expected = data.decode().replace("Café &amp; Bar", "Kaffee").replace("<target/>", "<target>Leer</target>")
    assert new.decode() == expected


def test_a_missing_target_is_inserted_below_its_source_and_cdata_stays_cdata(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.xlf", XLIFF.replace("ENCODING", "UTF-8"))
    new = replaced(document, {"b": "Taste <1><2/></1>.", "c": "<b>", "e": "Leer"}).decode()
    assert '</source><target>Taste <g id="1"><x id="2"/></g>.</target></trans-unit>' in new
    assert "<target><![CDATA[<b>]]></target>" in new
    assert "<source>Empty</source><target>Leer</target>" in new
    indented = xliff(tmp_path, '<trans-unit id="a">\n  <source>x</source>\n</trans-unit>')
    assert b"\n  <source>x</source>\n  <target>y</target>\n</trans-unit>" in replaced(indented, {"a": "y"})
    assert b"<target>]]&gt;</target>" in replaced(document, {"c": "]]>"})


SEGMENTED = (
    '<trans-unit id="u"><source>One. Two.</source><seg-source><mrk mtype="seg" mid="1">One.</mrk> '
    '<mrk mtype="seg" mid="2">Two.</mrk></seg-source>TARGET</trans-unit>'
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            '<target><mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2"/></target>',
            '<target><mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk></target>',
        ),
        (
            '<target><mrk mtype="seg" mid="1">Eins.</mrk></target>',
            '<target><mrk mtype="seg" mid="1">Eins.</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk></target>',
        ),
        ("", '<target><mrk mtype="seg" mid="1"></mrk> <mrk mtype="seg" mid="2">Zwei.</mrk></target>'),
        ("<target/>", '<target><mrk mtype="seg" mid="1"></mrk> <mrk mtype="seg" mid="2">Zwei.</mrk></target>'),
    ],
)
def test_each_segment_of_a_segmented_source_is_a_unit(tmp_path: Path, target: str, expected: str) -> None:
    document = xliff(tmp_path, SEGMENTED.replace("TARGET", target))
    assert [(unit.id, unit.source) for unit in document.units] == [("u/1", "One."), ("u/2", "Two.")]
    assert expected.encode() in replaced(document, {"u/2": "Zwei."})


def nested_segments(target: str) -> str:
    """A unit with three segments, written ``[mid text]``; a ``<g>`` is around the last two."""
    source = '<source>One. <g id="1">Two. Three.</g></source>'
    segmented = '<seg-source>[1 One.] <g id="1">[2 Two.] [3 Three.]</g></seg-source>'
    unit = f'<trans-unit id="u">{source}{segmented}<target>{target}</target></trans-unit>'
    return regex.sub(r"\[(\d)(?: ([^]]*))?\]", r'<mrk mtype="seg" mid="\1">\2</mrk>', unit)


@pytest.mark.parametrize(
    ("target", "targets", "expected"),
    [
        ("[3 Drei&#46;]", {"2": "Zwei.", "1": "Eins."}, '[1 Eins.] <g id="1">[2 Zwei.] [3 Drei&#46;]</g>'),
        ("[1 Eins&#46;]", {"3": "Drei.", "2": "Zwei."}, '[1 Eins&#46;] <g id="1">[2 Zwei.] [3 Drei.]</g>'),
        ("[1 Eins.]", {"3": "Drei."}, '[1 Eins.] <g id="1">[2] [3 Drei.]</g>'),
        ("[1 Eins.]", {"1": "A", "2": "B"}, '[1 A] <g id="1">[2 B] [3]</g>'),
        ("[1 Eins.]", {"1": "A"}, "[1 A]"),
        ('\n [1 Eins.]\n<g id="1">[2 Zwei.]</g>', {"3": "Drei."}, '\n [1 Eins.]\n<g id="1">[2 Zwei.] [3 Drei.]</g>'),
    ],
)
def test_segments_that_a_target_lacks_are_added_as_in_the_source(
    tmp_path: Path, target: str, targets: dict[str, str], expected: str
) -> None:
    before, after = xliff(tmp_path, nested_segments(target)), xliff(tmp_path, nested_segments(expected))
    assert replaced(before, {f"u/{mid}": text for mid, text in targets.items()}) == after.data


@pytest.mark.parametrize(
    "target",
    [
        "[2 Zwei.] [1 Eins.]",
        "[1 Eins.] und [2 Zwei.]",
        '<g id="2">[1 Eins.]</g> [2 Zwei.]',
        "[1 Eins.][2 Zwei.][4 Vier.]",
    ],
)
def test_a_segment_without_a_place_in_its_target_is_refused(shell: Shell, target: str) -> None:
    document = xliff(shell.folder, nested_segments(target))
    shell.write("u.jsonl", '{"id": "u/3", "target": "Drei."}')
    done = shell("units a.xlf --set u.jsonl -o out.xlf")
    assert done.code == 1
    assert "u.jsonl:1: the target of 'u/3' has no place: in the unit at a.xlf:1, the target lacks" in done.err
    assert not (shell.folder / "out.xlf").exists()
    assert b">A</mrk>" in replaced(document, {"u/1": "A"})
    given_a_place = xliff(shell.folder, nested_segments(f"{target}[3]"))
    assert b'<mrk mtype="seg" mid="3">Drei.</mrk></target>' in replaced(given_a_place, {"u/3": "Drei."})


SDL = 'xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0"'
MEMOQ = 'xmlns:q="MQXliff"'
PHRASE = 'xmlns:m="http://www.memsource.com/mxlf/2.0"'
SDL_UNIT = (
    '<trans-unit id="u"><source>One</source><seg-source><mrk mtype="seg" mid="7">One</mrk></seg-source><target>'
    '<mrk mtype="seg" mid="7">Eins</mrk></target><sdl:seg-defs><sdl:seg id="7" FACTS/></sdl:seg-defs></trans-unit>'
)
YES = 'translate="yes"'
UNIT = '<trans-unit id="u" {}><source>One</source><target {}>Eins</target></trans-unit>'


@pytest.mark.parametrize(
    ("head", "unit", "state", "status", "protected"),
    [
        ("", UNIT.format("", ""), None, "translated", False),
        ("", UNIT.format("", 'state="new"'), "new", "new", False),
        ("", UNIT.format("", 'state="needs-review-translation"'), "needs-review-translation", "needs-review", False),
        ("", UNIT.format("", 'state="x-own"'), "x-own", "translated", False),
        ("", UNIT.format("", 'state="final"'), "final", "approved", True),
        ("", UNIT.format("", 'state="signed-off"'), "signed-off", "approved", True),
        ("", UNIT.format('approved="yes"', 'state="translated"'), "translated", "approved", True),
        ("", UNIT.format('translate="no"', ""), None, "locked", True),
        ("", f'<group translate="no">{UNIT.format("", "")}</group>', None, "locked", True),
        ("", f'<group translate="no">{UNIT.format(YES, "")}</group>', None, "translated", False),
        (SDL, SDL_UNIT.replace("FACTS", 'conf="Translated" percent="100"'), "Translated", "translated", False),
        (SDL, SDL_UNIT.replace("FACTS", 'conf="Translated" origin="interactive"'), "Translated", "translated", True),
        (SDL, SDL_UNIT.replace("FACTS", 'conf="Draft" origin="mt"'), "Draft", "needs-review", False),
        (SDL, SDL_UNIT.replace("FACTS", 'conf="Draft" locked="true"'), "Draft", "locked", True),
        (SDL, SDL_UNIT.replace("FACTS", 'conf="ApprovedSignOff"'), "ApprovedSignOff", "approved", True),
        (MEMOQ, UNIT.format('q:status="ManuallyConfirmed"', ""), "ManuallyConfirmed", "translated", True),
        (MEMOQ, UNIT.format('q:status="PartiallyEdited"', ""), "PartiallyEdited", "needs-review", True),
        (MEMOQ, UNIT.format('q:status="NotStarted" q:locked="locked"', ""), "NotStarted", "locked", True),
        (MEMOQ, UNIT.format('q:status="Pretranslated" q:locked="no"', ""), "Pretranslated", "needs-review", False),
        (MEMOQ, UNIT.format('q:status="Proofread"', ""), "Proofread", "approved", True),
        (PHRASE, UNIT.format('m:confirmed="1"', ""), "confirmed", "translated", True),
        (PHRASE, UNIT.format('m:confirmed="2"', ""), "confirmed", "translated", True),
        (PHRASE, UNIT.format('m:confirmed="0"', ""), "unconfirmed", "needs-review", False),
        (PHRASE, UNIT.format('m:confirmed="0" m:locked="true"', ""), "unconfirmed", "locked", True),
    ],
)
def test_states_and_locks_are_where_each_tool_keeps_them(
    tmp_path: Path, head: str, unit: str, state: str | None, status: str, protected: bool
) -> None:
    document = xliff(tmp_path, unit, head)
    read = document.units[0]
    assert (read.target, read.state, read.status, read.protected) == ("Eins", state, status, protected)
    name = "people" if read.by_person else status
    if protected:
        with pytest.raises(InputError, match=rf"a\.xlf:1: the new target of 'u.*' is not written: .* --only {name}"):
            replaced(document, {read.id: "Zwei"})
    assert b">Zwei</" in replaced(document, {read.id: "Zwei"}, only=[name])


def test_units_are_selected_by_status_or_state(tmp_path: Path) -> None:
    units = [
        SDL_UNIT.replace('"u"', f'"{number}"').replace("FACTS", facts)
        for number, facts in enumerate(
            [
                'conf="Draft"',
                'conf="Translated"',
                'conf="Translated" origin="interactive"',
                'conf="ApprovedTranslation"',
                'conf="ApprovedSignOff"',
                'conf="ApprovedSignOff" locked="true"',
            ]
        )
    ]
    empty = '<trans-unit id="6"><source>x</source><target> </target></trans-unit>'
    document = xliff(tmp_path, "".join([*units, empty.replace("<target> </target>", "<target/>")]), SDL)

    def chosen(only: list[str], not_: list[str]) -> str:
        return "".join(unit.id[0] for unit in selected(document.units, only, not_))

    assert chosen([], []) == "016"
    assert chosen(["draft", "Translated"], []) == "01"
    assert chosen(["people"], []) == "2"
    assert chosen(["translated", "people"], ["needs-review"]) == "12"
    assert chosen(["approved"], []) == "34"
    assert chosen(["ApprovedSignOff"], []) == "4"
    assert chosen(["locked", "approved"], ["ApprovedSignOff"]) == "3"
    assert chosen(["new", "fuzzy"], []) == "6"
    assert chosen([], ["draft"]) == "16"
    with pytest.raises(ConfigError, match="unknown status 'aproved'; did you mean 'approved'"):
        chosen(["aproved"], [])
    plain = xliff(tmp_path, empty)
    assert [(unit.target, unit.status) for unit in plain.units] == [(None, "new")]
    assert b"<target>y</target>" in replaced(plain, {"6": "y"})
    assert replaced(plain, {"6": ""}) == plain.data


MARK_UNIT = '<trans-unit id="u" approved="no"><source>One</source>TARGET<note>n</note></trans-unit>'
OLD = "<target xml:lang=\"de\"\n state = 'new' >Eins</target>"
SEGMENT = (
    '<unit id="u">BEFORE<segment id="s" state="initial" subState="a:b"><source>One</source><target>Eins</target>'
    "</segment></unit>"
)
NOTE = '<note category="mtagent" appliesTo="target">Look &amp; see</note>'


@pytest.mark.parametrize(
    ("head", "unit", "mark", "expected"),
    [
        ("", "TARGET", "none", "<target>Zwei</target>"),
        ("", OLD, "state=needs-review-translation", OLD.replace("new", "needs-review-translation")),
        ("", "", "state=needs-review", '<target state="needs-review-translation">Zwei</target>'),
        ("", "<target/>", "state=x-own", '<target state="x-own">Zwei</target>'),
        ("", "<target>Eins</target>", "comment=Look & see", 'Zwei</target><note from="mtagent">Look &amp; see</note>'),
        ("", "", "comment=Look & see", 'Zwei</target><note from="mtagent">Look &amp; see</note><note>n'),
        ("", "", "comment=n", "<target>Zwei</target><note>n</note></trans-unit>"),
    ],
)
def test_a_mark_changes_only_what_it_names(tmp_path: Path, head: str, unit: str, mark: str, expected: str) -> None:
    target = "<target>Eins</target>" if unit == "TARGET" else unit
    document = xliff(tmp_path, MARK_UNIT.replace("TARGET", target), head)
    parsed = parsed_mark(mark)
    new = replaced(document, {"u": "Zwei"}, {"u": [parsed] if parsed else []}).decode()
    assert expected.replace("Eins", "Zwei") in new
    etree.fromstring(new.encode())
    without = new.replace("Zwei", "Eins").replace("needs-review-translation", "new")
    if unit == OLD:
        assert without.encode() == document.data


@pytest.mark.parametrize(
    ("head", "unit", "mark", "old", "new"),
    [
        (SDL, SDL_UNIT.replace("FACTS", 'conf="Translated"'), "needs-review", '"Translated"', '"Draft"'),
        (SDL, SDL_UNIT.replace("FACTS", 'percent="9"'), "RejectedSignOff", '"9"/>', '"9" conf="RejectedSignOff"/>'),
        (MEMOQ, UNIT.format("q:status='NotStarted'", ""), "needs-review", "NotStarted", "PreTranslated"),
        (PHRASE, UNIT.format('m:confirmed="0"', ""), "translated", 'confirmed="0"', 'confirmed="1"'),
        (PHRASE, UNIT.format("", ""), "needs-review-translation", 'id="u" ', 'id="u" m:confirmed="0" '),
    ],
)
def test_a_state_is_written_where_the_tool_keeps_it(
    tmp_path: Path, head: str, unit: str, mark: str, old: str, new: str
) -> None:
    document = xliff(tmp_path, unit, head)
    written = replaced(
        document, {document.units[0].id: "Zwei"}, {document.units[0].id: [UnitMark(kind="state", text=mark)]}
    )
    assert written.decode() == document.data.decode().replace("Eins", "Zwei").replace(old, new)


@pytest.mark.parametrize(
    ("before", "mark", "old", "new"),
    [
        ("", "state=needs-review-translation", 'initial" subState="a:b"', 'translated"'),
        ("", "state=final", 'initial" subState="a:b"', 'final"'),
        ("", "state=my:check", 'initial" subState="a:b"', 'translated" subState="my:check"'),
        ("", "comment=Look & see", "<segment", f"<notes>{NOTE}</notes><segment"),
        ("\n <originalData/>", "comment=Look & see", "<originalData", f"<notes>{NOTE}</notes>\n <originalData"),
        ("<notes><note>a</note></notes>", "comment=Look & see", "</notes>", f"{NOTE}</notes>"),
        ("<notes />", "comment=Look & see", "<notes />", f"<notes>{NOTE}</notes>"),
    ],
)
def test_marks_of_xliff_2(tmp_path: Path, before: str, mark: str, old: str, new: str) -> None:
    document = xliff(tmp_path, SEGMENT.replace("BEFORE", before), "", "2.0")
    parsed = parsed_mark(mark)
    assert parsed is not None
    written = replaced(document, {"u": "Zwei"}, {"u": [parsed]}).decode()
    assert written == document.data.decode().replace("Eins", "Zwei").replace(old, new)


def test_marks_of_segments_that_share_a_target(tmp_path: Path) -> None:
    marks = [
        UnitMark(kind="state", text="translated"),
        UnitMark(kind="its", confidence=0.75),
        UnitMark(kind="comment", text="c"),
    ]
    its = 'xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0" its:annotatorsRef="mt-confidence|mtagent" '
    segments = (
        f'<target state="translated"><mrk mtype="seg" mid="1" {its}its:mtConfidence="0.75">Eins.</mrk> '
        f'<mrk mtype="seg" mid="2" {its}its:mtConfidence="0.75">Zwei.</mrk></target><note from="mtagent">c</note>'
    )
    targets = {"u/1": "Eins.", "u/2": "Zwei."}
    half = '<target state="new"><mrk mtype="seg" mid="2">2</mrk></target>'
    for target in ("", "<target/>", half, half.replace("2</mrk>", "</mrk>").replace("></mrk>", "/>")):
        document = xliff(tmp_path, SEGMENTED.replace("TARGET", target))
        assert segments.encode() in replaced(document, targets, dict.fromkeys(targets, marks)), target
        again = opened(tmp_path, "b.xlf", replaced(document, targets, dict.fromkeys(targets, marks)))
        assert [unit.target for unit in again.units] == list(targets.values())
        more = replaced(again, {"u/1": "A"}, {"u/1": marks})
        assert more == again.data.replace(b"Eins.", b"A")


def test_its_names_the_worst_error_and_what_is_gone_is_removed(tmp_path: Path) -> None:
    head = 'xmlns:i="http://www.w3.org/2005/11/its" i:version="2.0"'
    document = xliff(tmp_path, UNIT.format("", 'i:mtConfidence="0.1"'), head)
    errors = (
        ErrorSpan(text="Eins", category="style/register", severity="minor"),
        ErrorSpan(text="<Eins>", category="fluency/spelling", severity="critical", explanation="not a word"),
    )
    new = replaced(document, {"u": "Zwei"}, {"u": [UnitMark(kind="its", errors=errors)]})
    target = etree.fromstring(new).find(".//{*}target")
    assert target.text == "Zwei"
    assert target.attrib == {
        "{http://www.w3.org/2005/11/its}locQualityIssueType": "misspelling",
        "{http://www.w3.org/2005/11/its}locQualityIssueComment": (
            "minor style/register: Eins; critical fluency/spelling: <Eins> (not a word)"
        ),
        "{http://www.w3.org/2005/11/its}locQualityIssueSeverity": "100",
    }
    cleaned = opened(tmp_path, "b.xlf", new)
    assert b"<target>Drei</target>" in replaced(cleaned, {"u": "Drei"}, {"u": [UnitMark(kind="its")]})


def test_approval_goes_with_the_approved_text(tmp_path: Path) -> None:
    document = xliff(tmp_path, UNIT.format("approved='yes'", 'state="final"'))
    mark = UnitMark(kind="state", text="needs-review")
    new = replaced(document, {"u": "Zwei"}, {"u": [mark]}, only=["approved"])
    assert b"""approved='no'><source>One</source><target state="needs-review-translation">Zwei<""" in new


def test_xliff_2_segments_notes_states_and_inline_codes(tmp_path: Path) -> None:
    units = (
        '<unit id="u" name="title"><notes><note>Short.</note></notes>'
        '<segment id="s1" state="translated"><source>A <pc id="1">b</pc> <sc id="2"/>c<ec startRef="2"/></source>'
        '<target>A <pc id="1" dispStart="x">B</pc> <sc id="2"/>C<ec startRef="2"/></target></segment>'
        "<ignorable><source> </source></ignorable>"
        '<segment state="final"><source>x</source><target>X</target></segment></unit>'
        '<unit id="v"><segment><source>lone</source></segment></unit>'
    )
    document = xliff(tmp_path, units, 'srcLang="en" trgLang="de"', "2.0")
    assert [unit.id for unit in document.units] == ["u/s1", "u/[2]", "v"]
    first = document.units[0]
    assert (first.source, first.target) == ("A <1>b</1> <2>c</2>", "A <1>B</1> <2>C</2>")
    assert first.inline["<1>"] == '<pc id="1" dispStart="x">'  # the target's own
    assert (first.state, first.notes, first.context) == ("translated", ("Short.",), "title")
    assert (first.source_lang, first.target_lang, document.units[1].status) == ("en", "de", "approved")
    new = replaced(document, {"u/s1": "<2>C</2> <1>B</1>", "v": "allein"}).decode()
    assert '<target><sc id="2"/>C<ec startRef="2"/> <pc id="1" dispStart="x">B</pc></target>' in new
    assert "<source>lone</source><target>allein</target>" in new


def test_several_files_in_one_have_the_name_of_each_before_the_id(tmp_path: Path) -> None:
    file = '<file original="{}"><body><trans-unit id="1"><source>x</source></trans-unit></body></file>'
    text = f'<xliff version="1.2">{file.format("a")}{file.format("b")}</xliff>'
    document = opened(tmp_path, "a.xlf", text)
    assert [unit.id for unit in document.units] == ["a#1", "b#1"]
    assert replaced(document, {"b#1": "y"}).count(b"<target>y</target>") == 1


@pytest.mark.parametrize(
    ("names", "prefixes"),
    [
        (["a", "a", "b", "a"], ["a", "a[2]", "b", "a[3]"]),
        (["new", "a", "a", "b"], ["new", "a", "a[2]", "b"]),
        (["a", "a", "a[2]", "a[2]"], ["a", "a[3]", "a[2]", "a[2][2]"]),
        (["", "b", ""], ["[1]", "b", "[2]"]),
    ],
)
def test_files_with_the_same_name_in_one_are_numbered(tmp_path: Path, names: list[str], prefixes: list[str]) -> None:
    file = '<file original="{}"><body><trans-unit id="1"><source>{}</source></trans-unit></body></file>'
    files = [file.format(name, number) for number, name in enumerate(names)]
    document = opened(tmp_path, "a.xlf", f'<xliff version="1.2">{"".join(files)}</xliff>')
    assert [unit.id for unit in document.units] == [f"{prefix}#1" for prefix in prefixes]
    for number, prefix in enumerate(prefixes):
        source = f"<source>{number}</source>".encode()
        assert replaced(document, {f"{prefix}#1": "y"}) == document.data.replace(source, source + b"<target>y</target>")


INLINE = (
    '<trans-unit id="u"><source><g id="1">a</g> <g id="2">b</g> <bpt id="3">[</bpt>c<ept id="3">]</ept> <x id="4"/>'
    "</source><target>old</target></trans-unit>"
)


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("<4/> <3>c</3> <2>b</2> <1>a</1>", None),
        ("<1><2>b</2> a</1> <3>c</3> <4/>", None),
        ("<3><1>a</3></1> <2>b</2><4/>", None),  # bpt and ept mark places, and may cross elements
        ("<1>a <2>b</1></2> <3>c</3> <4/>", "has its tags in the wrong order: <2> is not closed inside <1>"),
        ("<1>a</1> <2>b</2> <3>c</3>", "loses <4/>"),
        ("<1>a <2>b</2> <3>c</3> <4/>", "loses </1>"),
        ("<1>a</1> <2>b</2> </3>c<3> <4/>", "has its tags in the wrong order: </3> closes nothing"),
        ("<1>a</1> <2>b</2> <3>c</3> <4/><4/>", "has <4/> once too often"),
        ("<1>a</1> <2>b</2> <3>c</3> <4/><5/>", "has <5/> once too often"),
    ],
)
def test_placeholders_may_move_and_none_is_lost_or_invented(tmp_path: Path, target: str, fault: str | None) -> None:
    document = xliff(tmp_path, INLINE)
    assert document.units[0].source == "<1>a</1> <2>b</2> <3>c</3> <4/>"
    if fault is None:
        new = replaced(document, {"u": target})
        assert opened(tmp_path, "b.xlf", new).units[0].target == target
    else:
        with pytest.raises(InputError, match=f"the new target of 'u' {fault}"):
            replaced(document, {"u": target})


def test_an_end_before_the_beginning_of_another_pair_is_a_tag_of_its_own(tmp_path: Path) -> None:
    source = '<ept id="1">]</ept> and <bpt id="1">[</bpt>'
    document = xliff(tmp_path, f'<trans-unit id="a"><source>{source}</source></trans-unit>')
    assert document.units[0].source == "<1/> and <2/>"
    assert f"<target>{source.replace('and', 'und')}</target>" in replaced(document, {"a": "<1/> und <2/>"}).decode()


def test_a_segment_of_white_space_stays_in_a_new_target(tmp_path: Path) -> None:
    segments = [f'<mrk mtype="seg" mid="{number}">{text}</mrk>' for number, text in enumerate(["A.", " ", "B."])]
    source = f"<source>A. B.</source><seg-source>{''.join(segments)}</seg-source>"
    document = xliff(tmp_path, f'<trans-unit id="a">{source}</trans-unit>')
    new = replaced(document, {"a/0": "C.", "a/2": "D."}).decode()
    assert f"<target>{''.join(segments).replace('A.', 'C.').replace('B.', 'D.')}</target>" in new


def test_a_text_that_looks_like_a_placeholder_stays_text(tmp_path: Path) -> None:
    document = xliff(tmp_path, '<trans-unit id="u"><source>&lt;1&gt; <x id="9"/></source></trans-unit>')
    assert (document.units[0].source, dict(document.units[0].inline)) == ("<1> <2/>", {"<2/>": '<x id="9"/>'})
    assert b'<target><x id="9"/> &lt;1&gt;</target>' in replaced(document, {"u": "<2/> <1>"})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlf", "<xliff version='1.2'><file><body><trans-unit id='1'>", r":1:\d+: not well-formed XML"),
        ("a.xlf", b"<?xml version='1.0' encoding='utf-8'?>\n<xliff>\xe9</xliff>", r":2:\d+: byte 0xE9 is not utf-8"),
        ("a.xlf", "<?xml version='1.0' encoding='klingon'?><xliff/>", ":1: unknown encoding 'klingon'"),
        ("a.xlf", "<?xml version='1.0' encoding='shift_jis'?><xliff/>", ":1: the encoding shift_jis"),
        (
            "a.xlf",
            "<!DOCTYPE x [\n<!ENTITY a 'aaa'><!ENTITY b '&a;&a;'>]><xliff>&b;</xliff>",
            ":2: declares the entity 'a'",
        ),
        (
            "a.xlf",
            "<!DOCTYPE x [\n<!ENTITY a SYSTEM 'file:///etc/passwd'>]><xliff>&a;</xliff>",
            ":2: declares the entity",
        ),
        (
            "a.xlf",
            "<!DOCTYPE x SYSTEM 'x.dtd'>\n<xliff version='1.2'>&a;</xliff>",
            ":2: the entity &a; is not declared",
        ),
        ("a.xlf", "<html/>", ":1: the first element is <html>"),
        ("a.xlf", "<xliff version='3.0'/>", ":1: XLIFF '3.0' is unknown"),
        ("a.xlf", "  ", ": is empty"),
        (
            "a.xlf",
            "<xliff version='1.2'><file><body><trans-unit id='1'><source>a</source></trans-unit>\n"
            "<trans-unit id='1'><source>b</source></trans-unit></body></file></xliff>",
            ":2: the id '1' is already used in line 1",
        ),
        (
            "a.xlf",
            "<xliff version='1.2'><file><body><trans-unit id='1'><source>a</source><seg-source>"
            "<mrk mtype='seg' mid='1'>a"
            "</mrk>\n<mrk mtype='seg' mid='1'>b</mrk></seg-source></trans-unit></body></file></xliff>",
            ":2: a second segment '1' in one text",
        ),
        ("a.po", 'msgid "a"\nmsgstr "b"\n\nmsgid "c"\n', ":4: this message has no msgstr .*cut off"),
        ("a.po", 'msgid "a"\nmsgstr "b\n', ":2: '\"b' is outside of the quotes"),
        ("a.po", 'msgid "a"\nmsgstr "b"\nmsgid "a"\nmsgstr "c"\n', ":3: the id 'a' is already used in line 1"),
        ("a.po", 'msgid "a"\nmsgstr "b"\nmsgstr "c"\n', r":3: a second msgstr\[0\]"),
        ("a.po", b'msgid "a"\nmsgstr "\xe9"\n', ":2: byte 0xE9 is not utf-8"),
        (
            "a.po",
            'msgid ""\nmsgstr "Content-Type: text/plain; charset=klingon"\n',
            ":1: the header's charset 'klingon' is unknown",
        ),
        ("a.po", "hello\n", ":1: expected msgid"),
        ("a.po", "domain\n", ":1: expected msgid"),
        ("a.po", '"Language: de\\n"\n', r':1: "Language: de\\n" belongs to no msgid or msgstr; a header begins with'),
        (
            "a.po",
            'msgid ""\nmsgstr ""\n\nmsgid ""\nmsgstr "x"\n',
            ':4: msgid "" is the header, which is already in line 1',
        ),
        ("a.po", PO.replace('msgstr[1] ""', 'msgstr[1] ""\nmsgstr[2] ""'), r":21: msgstr\[2\] is one form too many"),
        (
            "a.po",
            PO.replace("msgstr[0]", "msgstr[2]").replace("nplurals=2", "nplurals=3"),
            r":19: msgstr\[2\] is where",
        ),
    ],
)
def test_a_broken_file_is_refused_with_its_line_and_stays_as_it_is(
    shell: Shell, name: str, content: str | bytes, message: str
) -> None:
    data = content.encode() if isinstance(content, str) else content
    path = shell.folder / name
    path.write_bytes(data)
    shell.write("units.jsonl", '{"id": "1", "target": "x"}')
    with pytest.raises(InputError, match=f"{name}{message}"):
        document_format(path).open(path)
    done = shell(f"units {name} --set units.jsonl -o {name}")
    assert (done.code, "Traceback" in done.err) == (1, False)
    assert path.read_bytes() == data


# Units that are read in one go, and others that look like it. In UTF-16 expat reads all of them.
MIXED = """<?xml version="1.0" encoding="ENCODING"?>
<!-- <trans-unit id="c1"><source>comment</source></trans-unit>
<trans-unit id="c2"><source>comment</source></trans-unit> -->
<xliff version="1.2" HEAD>
<file original='a&amp;b' source-language="en"  target-language="de">
<header><skipped/><note>of the file</note></header><body>
<trans-unit id="1" resname='a "b"' maxwidth="9" size-unit="char"
  approved = "yes" ><source xml:lang="en">A &lt;1&gt; &amp;amp; &quot;</source>
  <target state="final" > B
</target><note from="a>b"> n1 </note><context-group purpose="x"><context>c1</context></context-group></trans-unit>
<trans-unit id="2"><source>A</source><note>n2</note><note>n3</note></trans-unit> <trans-unit id="3"><source
>A]]&gt;</source>
<target> </target></trans-unit>
<group translate="no"><trans-unit id="4"><source>A</source><target>B</target></trans-unit>
<group maxwidth="5"><trans-unit id="5" translate="yes"><source>A</source><target>B</target></trans-unit>
<trans-unit id="6"><source>A</source><target/></trans-unit></group></group>
<trans-unit id="7"><source><![CDATA[<trans-unit id="c3"><source>x</source></trans-unit>]]></source></trans-unit>
<?x <trans-unit id="c4"><source>x</source></trans-unit>?>
<trans-unit id="8"><source>A</source><target>B</target><alt-trans><target>C</target></alt-trans><note/></trans-unit>
<trans-unit id="9"><source>&#65;</source><target>B &#x42;</target></trans-unit>
<trans-unit id="10"><source>A<x id="1"/></source></trans-unit>
<trans-unit id="11"><source></source><target></target></trans-unit>
</body></file></xliff>"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("head", ["", MEMOQ, SDL])
def test_units_are_the_same_however_they_are_read(tmp_path: Path, head: str, newline: str) -> None:
    text = MIXED.replace("HEAD", head).replace("\n", newline)
    plain = opened(tmp_path, "a.xlf", text.replace("ENCODING", "utf-8").encode())
    by_expat = opened(tmp_path, "b.xlf", text.replace("ENCODING", "utf-16").encode("utf-16"))
    assert plain.units == by_expat.units
    assert [(unit.id, unit.line) for unit in plain.units][:3] == [("1", 8), ("2", 11), ("3", 11)]
    assert [unit.id for unit in plain.units][-1] == "11"
    assert isinstance(plain, MarkingFile)
    every_status = ["new", "needs-review", "translated", "approved", "locked", "people"]
    known = {"state": UnitMark(kind="state", text="translated"), "comment": UnitMark(kind="comment", text="c")}
    marks = [mark for kind, mark in known.items() if kind in plain.mark_kinds and head != SDL]
    for unit in plain.units:
        changes = {unit.id: "Z" + "".join(placeholders(unit, unit.source))}, {unit.id: marks}
        new = replaced(plain, *changes, only=every_status).decode()
        assert new == replaced(by_expat, *changes, only=every_status).decode("utf-16").replace("utf-16", "utf-8")
        etree.fromstring(new.encode())


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ('<trans-unit id="b" id="c"><source>x</source></trans-unit>', "a.xlf:2:.*duplicate attribute"),
        (
            '<trans-unit id="b"><source>x</source><note a="1" a="2">n</note></trans-unit>',
            "a.xlf:2:.*duplicate attribute",
        ),
        ('<trans-unit id="b"><source>x]]></source></trans-unit>', "a.xlf:2:.*not well-formed"),
        ('<trans-unit id="b"><source>\x01</source></trans-unit>', "a.xlf:2:.*not well-formed"),
        ('<trans-unit id="b"><source>\uffff</source></trans-unit>', "a.xlf:2:.*not well-formed"),
        ('<trans-unit id="b"><source>x &amp y</source></trans-unit>', "a.xlf:2:.*not well-formed"),
        ('<note <trans-unit id="b"><source>x</source></trans-unit> a="b"></note>', "a.xlf:2:.*not well-formed"),
        ('<trans-unit id=""><source>x</source></trans-unit>', "a.xlf:2: this unit has no id"),
        ("<a>\n</b>", "a.xlf:3:.*mismatched tag"),
        ('<trans-unit id="b"><source>x</source></trans-unit><a></b>', "a.xlf:2:56: .*mismatched tag"),
    ],
)
def test_what_is_wrong_near_simple_units_is_named_with_its_line(tmp_path: Path, unit: str, message: str) -> None:
    good = '<trans-unit id="{}"><source>x</source></trans-unit>'
    with pytest.raises(InputError, match=message):
        xliff(tmp_path, good.format("a") + "\n" + unit + good.format("z"))


# -- PO


def test_po_units_have_plural_forms_contexts_and_comments(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.po", PO)
    first, one, many, line = document.units
    assert (first.id, first.source, first.target, first.state) == ("menu\x04Open", "Open", "Öffne", "fuzzy")
    assert (first.notes, first.context, first.target_lang) == (("a note", "by a person"), "menu", "de")
    assert (one.id, one.source, many.id, many.source) == ("%d file[0]", "%d file", "%d file[1]", "%d files")
    assert one.plural is not None
    assert (one.plural.number, one.plural.count, one.plural.rule, one.plural.examples) == (0, 2, "(n != 1)", (1,))
    assert many.plural is not None
    assert many.plural.examples == (0, 2, 3, 4)
    assert (many.state, line.target) == ("new", "Zeile\n")


def test_a_plural_rule_that_is_too_long_to_compute_has_no_examples(tmp_path: Path) -> None:
    rule = f"n{'+n' * 5000}"
    unit = opened(tmp_path, "a.po", PO.replace("(n != 1)", rule)).units[1]
    assert unit.plural is not None
    assert (unit.plural.rule, unit.plural.examples) == (rule, ())


def test_only_the_changed_message_of_a_catalogue_differs(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.po", PO)
    assert replaced(document, {"%d file[0]": "%d Datei"}) == PO.encode()
    new = replaced(document, {"%d file[1]": 'Die "%d" Dateien\t', "line\n": "Z\n"}).decode()
    assert new == PO.replace('msgstr[1] ""', r'msgstr[1] "Die \"%d\" Dateien\t"').replace("Zeile", "Z")


def test_escaped_numbers_are_bytes_of_the_charset(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.po", 'msgid "charset=latin1 \\303\\251\\x41 \\q \\377"\nmsgstr "a"\n')
    assert document.units[0].source == "charset=latin1 éA \\q \\377"


LONG = "Tu navegador de internet parece no tener las cookies habilitadas. Las cookies se necesitan para entrar."


def test_a_long_text_is_wrapped_as_msgmerge_wraps_it_unless_the_file_has_long_lines(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.po", PO.replace("\n", "\r\n"))
    expected = (
        'msgstr[1] ""\r\n"Tu navegador de internet parece no tener las cookies habilitadas. Las "\r\n'
        '"cookies se necesitan para entrar."\r\n'
    )
    assert expected.encode() in replaced(document, {"%d file[1]": LONG})
    unwrapped = opened(tmp_path, "a.po", f'{PO}\nmsgid "{LONG}"\nmsgstr ""\n')
    assert f'msgstr[1] "{LONG}"\n'.encode() in replaced(unwrapped, {"%d file[1]": LONG})
    assert b'msgstr[1] ""\n"a\\n"\n"b"\n' in replaced(unwrapped, {"%d file[1]": "a\nb"})


TEXTS = [
    LONG,
    "Ein 14-Jähriger und ein 24-Jähriger wurden in Verbindung mit dem Angriff auf einen 14-Jährigen verhört.",
    "Please read https://example.com/some/long/path.html?with=query;and=more before you leave this page ; now .",
    '"Words in quotes," she said, "are escaped in a catalogue, and each has a \\\\ before it as \\"this\\" has."',
    "从结构上来看，高科技企业裁员影响仍在，但占比较低；高接触性服务业如休闲酒店、"
    "餐饮（包括外卖）的 2023 年数据都在改善。",
    "ファイルを保存できませんでした。ディスクの空き容量を確認してから、もう一度やり直してください（エラー 12）。",
    "Если вы хотите продолжить, нажмите кнопку «Далее»; иначе закройте окно — изменения не будут сохранены.",
    "One line.\nAnother line that is much longer than eighty columns, and so has to be wrapped again.\n\nEnd.",
]


@pytest.mark.skipif(shutil.which("msgcat") is None, reason="needs gettext")
def test_a_message_that_is_flagged_so_is_not_wrapped_and_the_others_are(tmp_path: Path) -> None:
    long = f"{'word ' * 30}end"
    content = f'{PO}\n#, no-wrap\nmsgid "a"\nmsgstr "{long}"\n\n#, no-wrap\nmsgid "b"\nmsgstr "x"\n'
    document = opened(tmp_path, "a.po", content)
    new = replaced(document, {"a": f"{long}!", "b": long, "menu\x04Open": long}).decode()
    assert f'msgid "a"\nmsgstr "{long}!"\n' in new
    assert f'msgid "b"\nmsgstr "{long}"\n' in new
    assert 'msgid "Open"\nmsgstr ""\n"word word' in new


def test_a_long_line_in_the_header_says_nothing_of_the_messages(tmp_path: Path) -> None:
    rule = "(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2)"
    content = PO.replace("nplurals=2; plural=(n != 1)", f"nplurals=3; plural={rule}")
    new = replaced(opened(tmp_path, "a.po", content), {"menu\x04Open": f"{'word ' * 30}end"}).decode()
    assert 'msgid "Open"\nmsgstr ""\n"word word' in new


def test_changed_messages_are_wrapped_as_gettext_wraps_them(tmp_path: Path) -> None:
    header = PO.partition("#. a note")[0].replace("plural=(n != 1);", "plural=n != 1;")
    messages = "".join(f'#, c-format\nmsgid "{number}"\nmsgstr ""\n\n' for number in range(len(TEXTS)))
    plural = 'msgid "one"\nmsgid_plural "many"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    document = opened(tmp_path, "a.po", header + messages + plural)
    targets = {str(number): text for number, text in enumerate(TEXTS)} | {"one[0]": LONG, "one[1]": TEXTS[1]}
    path, compiled = tmp_path / "b.po", tmp_path / "b.mo"
    path.write_bytes(
        replaced(document, targets, {unit_id: [UnitMark(kind="comment", text="c")] for unit_id in targets})
    )
    again = subprocess.run(["msgcat", path], capture_output=True, check=True)
    assert again.stdout == path.read_bytes()
    done = subprocess.run(["msgfmt", "-c", "-o", compiled, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert gettext.GNUTranslations(io.BytesIO(compiled.read_bytes())).gettext("7") == TEXTS[7]


def test_a_plural_form_that_the_file_lacks_is_inserted(tmp_path: Path) -> None:
    rule = "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"
    document = opened(tmp_path, "a.po", PO.replace("nplurals=2; plural=(n != 1)", rule))
    forms = [unit for unit in document.units if unit.plural]
    examples = [unit.plural.examples for unit in forms if unit.plural]
    assert examples == [(1, 21, 31, 41), (2, 3, 4, 22), (0, 5, 6, 7)]
    assert [unit.target for unit in forms] == ["%d Datei", None, None]
    assert b'msgstr[1] ""\nmsgstr[2] "%d many"\n\nmsgid "line' in replaced(document, {"%d file[2]": "%d many"})


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([2, 1], ["%d Datei", "%d new 1", "%d new 2"]),
        ([2], ["%d Datei", "", "%d new 2"]),
        ([1], ["%d Datei", "%d new 1"]),
        ([2, 0], ["%d new 0", "", "%d new 2"]),
    ],
)
def test_new_plural_forms_are_in_the_order_of_their_numbers_without_a_gap(
    tmp_path: Path, numbers: list[int], expected: list[str]
) -> None:
    text = PO.replace("nplurals=2; plural=(n != 1)", "nplurals=3; plural=n%3").replace('msgstr[1] ""\n', "")
    new = replaced(opened(tmp_path, "a.po", text), {f"%d file[{number}]": f"%d new {number}" for number in numbers})
    path = tmp_path / "b.po"
    path.write_bytes(new)
    forms = polib.pofile(str(path)).find("%d file").msgstr_plural
    assert forms == dict(enumerate(expected))
    assert regex.findall(rb"msgstr\[(\d)\]", new) == [b"%d" % number for number in range(len(expected))]
    msgfmt = shutil.which("msgfmt")
    if msgfmt and len(expected) == 3:  # it refuses a message with fewer forms than nplurals
        done = subprocess.run([msgfmt, "-c", "-o", tmp_path / "b.mo", path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("unit_id", "target", "message"),
    [
        ("line\n", "Zeile", r"lacks the trailing line break \(\\n\) of its source"),
        ("line\n", "\nZeile\n", r"has a leading line break \(\\n\) that its source lacks; take it out"),
        ("menu\x04Open", "\nA", r"has a leading line break \(\\n\) that its source lacks; take it out"),
        ("menu\x04Open", "☃", r"has '☃' \(U\+2603\), which the file's charset windows-1252 lacks; .* msgconv"),
        ("menu\x04Open", "a\0", "has a NUL"),
        ("nothing", "a", "has no unit 'nothing'"),
    ],
)
def test_what_a_catalogue_cannot_hold_is_refused(tmp_path: Path, unit_id: str, target: str, message: str) -> None:
    document = opened(tmp_path, "a.po", PO.replace("UTF-8", "windows-1252").encode("cp1252"))
    expected = PO.replace("UTF-8", "windows-1252").replace("Zeile", "Über").encode("cp1252")
    assert replaced(document, {"line\n": "Über\n"}) == expected
    with pytest.raises(InputError, match=message):
        replaced(document, {unit_id: target})


def test_marks_of_a_catalogue(tmp_path: Path) -> None:
    fuzzy, comment = UnitMark(kind="fuzzy"), UnitMark(kind="comment", text="by a person\nnew <1>")
    document = opened(tmp_path, "a.po", PO.replace('msgid "line', '#| msgid "old"\nmsgid "line'))
    targets = {"menu\x04Open": "A", "%d file[0]": "B", "%d file[1]": "C", "line\n": "D\n"}
    new = replaced(document, targets, {key: [fuzzy, comment] for key in targets}).decode()
    assert '#. a note\n# by a person\n#: a.c:1\n#, fuzzy, c-format\n#| msgid "Old"' in new
    assert "# new <1>\n#. a note" in new
    assert '\n\n# by a person\n# new <1>\n#, fuzzy\nmsgid "%d file"' in new
    assert '\n\n# by a person\n# new <1>\n#, fuzzy\n#| msgid "old"\nmsgid "line' in new
    again = opened(tmp_path, "b.po", new)
    assert {unit.status for unit in again.units} == {"fuzzy"}
    assert replaced(again, {"line\n": "E\n"}, {"line\n": [fuzzy, comment]}).decode() == new.replace("D\\n", "E\\n")
    flagged = opened(tmp_path, "c.po", PO.replace("#, fuzzy, c-format", "#,c-format"))
    assert "#, fuzzy,c-format" in replaced(flagged, {"menu\x04Open": "A"}, {"menu\x04Open": [fuzzy]}).decode()


def test_messages_of_a_domain_have_its_name_in_their_ids(tmp_path: Path) -> None:
    header = 'msgid ""\nmsgstr "Language: {}\\n"\n\n'
    content = header.format("de") + (
        'msgid "a"\nmsgstr "A"\n\n#. of b\n\ndomain two\n\n'
        + header.format("de")
        + 'msgid "a"\nmsgstr "Z"\ndomain "messages"\nmsgctxt "c"\nmsgid "a"\nmsgstr ""\n'
    )
    document = opened(tmp_path, "a.po", content)
    assert [(unit.id, unit.target, unit.notes) for unit in document.units] == [
        ("a", "A", ()),
        ("two/a", "Z", ()),
        ("messages/c\x04a", None, ()),
    ]
    assert replaced(document, {"two/a": "Y"}).decode() == content.replace('"Z"', '"Y"')


def test_comments_and_flags_of_obsolete_messages_are_not_those_of_the_next(tmp_path: Path) -> None:
    obsolete = '# old\n#, fuzzy\n#~ msgid "gone"\n#~ msgstr "weg"\n\n# new\nmsgid "a"\nmsgstr "b"\n'
    assert [(unit.notes, unit.status) for unit in opened(tmp_path, "a.po", obsolete).units] == [
        (("new",), "translated")
    ]


@pytest.mark.parametrize(
    ("name", "text", "mark", "message"),
    [
        ("a.po", PO, "state=translated", "cannot hold the mark 'state'; use one of none, fuzzy, comment"),
        ("a.po", PO.replace("UTF-8", "ascii").replace("Ö", "O"), "comment=é", "the comment has 'é'"),
        ("a.xlf", XLIFF.replace("ENCODING", "UTF-8"), "fuzzy", "'fuzzy'; use one of none, state, comment, its"),
        (
            "a.xlf",
            XLIFF.replace("ENCODING", "UTF-8"),
            "state=reviewd",
            "XLIFF 1.x has no state for 'reviewd'; it has new",
        ),
        ("a.xlf", XLIFF.replace("ENCODING", "UTF-8"), "comment=\x01", r"the mark has the character U\+0001"),
        (
            "a.xlf",
            f'<xliff version="1.2" {MEMOQ}/>',
            "comment",
            "cannot hold the mark 'comment'; use one of none, state",
        ),
    ],
)
def test_a_mark_that_a_file_cannot_hold_is_refused(
    tmp_path: Path, name: str, text: str, mark: str, message: str
) -> None:
    if text.endswith("/>"):
        unit = UNIT.format("", "")
        text = f'{text.removesuffix("/>")}><file original="a"><body>{unit}</body></file></xliff>'
    document = opened(tmp_path, name, text)
    parsed = parsed_mark(mark)
    assert parsed is not None
    unit_id = document.units[-2 if len(document.units) > 1 else 0].id
    target = "B\n" if unit_id.endswith("\n") else "B"
    with pytest.raises(InputError, match=message):
        replaced(document, {unit_id: target}, {unit_id: [parsed]}, only=["approved", "translated", "new", "fuzzy"])


def test_a_segment_that_trados_has_no_state_for_is_not_marked(tmp_path: Path) -> None:
    document = xliff(tmp_path, SDL_UNIT.replace('id="7" FACTS', 'id="8"'), SDL)
    with pytest.raises(InputError, match="has no sdl:seg"):
        replaced(document, {"u/7": "Zwei"}, {"u/7": [UnitMark(kind="state", text="Draft")]})


def test_a_mark_in_a_file_without_a_place_for_marks_is_refused_with_a_way_out(shell: Shell) -> None:
    for name in ("en.json", "de.json"):
        (shell.folder / name).write_text('{"a": "Text"}', encoding="utf-8")
    done = shell("postedit de.json -s en.json --in-place --mark fuzzy")
    assert done.code == 1
    assert "de.json:1: such a file has no place for the mark 'fuzzy'; leave out --mark for it: `git diff`" in done.err


@pytest.mark.parametrize("mark", ["fuzy", "state", "state=", "comment=", "fuzzy=1", ""])
def test_an_unknown_mark_is_refused(mark: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown mark .*; there are none, state=STATE, fuzzy, comment"):
        parsed_mark(mark)


def test_no_state_has_two_meanings() -> None:
    meanings: dict[str, set[str]] = {}
    for states in STATES.values():
        for state, status in states.items():
            meanings.setdefault(state.casefold(), set()).add(status)
    assert [state for state, statuses in meanings.items() if len(statuses) > 1] == []


# -- any text

XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r<&>]'\"é")
)
anything = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@anything
@given(
    text=XML_TEXT, encoding=st.sampled_from(["utf-8", "utf-16", "windows-1252", "ascii"]), unit=st.sampled_from("ace")
)
def test_any_text_comes_back_from_xml_in_any_encoding(tmp_path: Path, text: str, encoding: str, unit: str) -> None:
    if PLACEHOLDER.search(text):
        return
    content = XLIFF.replace("ENCODING", encoding).replace("é", "e").replace(' maxwidth="40"', "").encode(encoding)
    new = replaced(opened(tmp_path, "a.xlf", content), {unit: text})
    assert by_id(opened(tmp_path, "b.xlf", new))[unit].target == (text if text.strip() else None)
    target = etree.fromstring(new).find(f".//{{*}}trans-unit[@id='{unit}']/{{*}}target")
    assert (target.text or "") == text


SIGNS = ["<", ">", "&", '"', "'", "/", "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>", "&lt;", "&#1;", " ", "\r", "\0"]
TAGS = [
    "<source>",
    "</source>",
    "</target>",
    "<g>",
    "</g>",
    "<body>",
    "<x id='1'/>",
    '<mrk mtype="seg" mid="1">',
    "</mrk>",
]
OTHERS = ["<!DOCTYPE x>", 'xmlns:q="MQXliff"', 'id="1"', '<trans-unit id="q"><source>x</source></trans-unit>', "\uffff"]


@settings(anything, max_examples=150)
@given(
    places=st.lists(
        st.tuples(st.integers(100, len(MIXED)), st.integers(0, 3), st.sampled_from([*SIGNS, *TAGS, *OTHERS])),
        min_size=1,
        max_size=3,
    )
)
def test_a_damaged_file_is_read_or_refused_however_it_is_read(
    tmp_path: Path, places: list[tuple[int, int, str]]
) -> None:
    text = MIXED.replace("HEAD", "")
    for place, deleted, inserted in places:
        text = text[:place] + inserted + text[place + deleted :]
    results = []
    for encoding in ("utf-8", "utf-16"):
        try:
            document = opened(tmp_path, "a.xlf", text.replace("ENCODING", encoding).encode(encoding))
            results.append([str(unit) for unit in document.units])
        except InputError as error:
            results.append([str(error)])
    assert results[0] == results[1]


@anything
@given(order=st.permutations(["<1>a</1>", "<2>b</2>", "<3>c</3>", "<4/>", " & ", "<b>"]))
def test_placeholders_in_any_order_come_back(tmp_path: Path, order: list[str]) -> None:
    document = xliff(tmp_path, INLINE)
    target = "".join(order)
    new = replaced(document, {"u": target})
    assert opened(tmp_path, "b.xlf", new).units[0].target == target
    etree.fromstring(new)


@anything
@given(seed=st.integers(0, 10**6), drop=st.integers(0, 6))
def test_a_target_that_a_model_has_shaken_is_refused_or_well_formed(tmp_path: Path, seed: int, drop: int) -> None:
    document = xliff(tmp_path, INLINE)
    unit = document.units[0]
    pieces = placeholders(unit, unit.source)
    random.Random(seed).shuffle(pieces)
    target = " ".join(pieces[drop % 3 :])
    if placeholder_fault(unit, target) is None:
        etree.fromstring(replaced(document, {"u": target}))
        assert Counter(pieces) == Counter(placeholders(unit, target))
    else:
        with pytest.raises(InputError):
            replaced(document, {"u": target})


@anything
@given(
    pieces=st.lists(st.sampled_from(["<1>", "</1>", "<2>", "</2>", "<3/>", "<4/>", "x"]), max_size=9),
    source=st.permutations(["<1>a</1>", "<2>b</2>", "<3/>"]),
)
def test_what_the_guard_of_the_chain_allows_the_file_can_hold(
    tmp_path: Path, pieces: list[str], source: list[str]
) -> None:
    tags = {"<1>": '<g id="1">', "<2>": '<g id="2">', "</1>": "</g>", "</2>": "</g>", "<3/>": '<x id="3"/>'}
    markup = "".join(source)
    for placeholder, tag in tags.items():
        markup = markup.replace(placeholder, tag)
    document = xliff(tmp_path, f'<trans-unit id="u"><source>{markup}</source></trans-unit>')
    unit = document.units[0]
    segment = Segment(id="u", source=unit.source, source_lang="en", target_lang="es")
    is_allowed = not GUARDS["tags"](segment, unit.source, "".join(pieces))
    assert is_allowed == (placeholder_fault(unit, "".join(pieces)) is None)


@anything
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from('\n\t\\" ')))
def test_any_text_comes_back_from_a_catalogue(tmp_path: Path, text: str) -> None:
    text = text.strip("\n")
    if PLACEHOLDER.search(text):
        return
    new = replaced(opened(tmp_path, "a.po", PO), {"%d file[1]": text})
    assert opened(tmp_path, "b.po", new).units[2].target == (text or None)


# -- the command


def test_units_are_listed_and_written_back(shell: Shell) -> None:
    (shell.folder / "a.xlf").write_text(XLIFF.replace("ENCODING", "UTF-8"), encoding="utf-8")
    (shell.folder / "a.po").write_text(PO, encoding="utf-8")
    listed = shell("units a.xlf a.po").objects
    assert [unit["file"] for unit in listed] == ["a.xlf"] * 5 + ["a.po"] * 4
    assert {"id", "source", "target", "state", "locked", "notes", "max_length", "plural", "inline"} <= set(listed[0])
    assert (listed[0]["notes"], listed[6]["plural"]["number"]) == ("A sign.", 0)

    lines = [json.dumps(unit) for unit in listed[:5]]
    shell.write("same.jsonl", *lines)
    assert shell("units a.xlf --set same.jsonl -o same.xlf").code == 0
    assert (shell.folder / "same.xlf").read_bytes() == (shell.folder / "a.xlf").read_bytes()

    shell.write(
        "new.jsonl", json.dumps(listed[1] | {"target": "<1>Taste <2/></1>"}), '{"id": "e", "translation": "Leer"}'
    )
    done = shell("units a.xlf --set new.jsonl -o a.xlf")
    assert (done.code, done.last) == (0, "mtagent: 2 of 5 units have a new target: a.xlf")
    assert [unit["target"] for unit in shell("units a.xlf").objects][1::3] == ["<1>Taste <2/></1>", "Leer"]
    assert shell("units a.xlf --set new.jsonl -o new.jsonl --force").code == 2
    assert shell.objects("new.jsonl")[1] == {"id": "e", "translation": "Leer"}


def test_listed_units_can_be_postedited_and_written_back(shell: Shell) -> None:
    unit = (
        '<trans-unit id="{}" {}><source>{} <x id="1"/> sat.</source><target>{} <x id="1"/> sentó</target></trans-unit>'
    )
    units = unit.format("a", 'approved="yes"', "The cat", "El gato") + unit.format("b", "", "A dog", "Un perro")
    file = f'<file original="a" source-language="en" target-language="es"><body>{units}</body></file>'
    text = f'<xliff version="1.2">{file}</xliff>'
    (shell.folder / "a.xlf").write_text(text, encoding="utf-8")
    shell.write("units.jsonl", *shell("units a.xlf --only translated").lines)
    done = shell("postedit -s units.jsonl --format jsonl-lenient -o better.jsonl --evaluator rules --gate none")
    assert done.code == 0
    assert shell("units a.xlf --set better.jsonl -o b.xlf").code == 0
    expected = text.replace('perro <x id="1"/> sentó', 'perro <x id="1"/> sentó.')
    assert (shell.folder / "b.xlf").read_text(encoding="utf-8") == expected


def test_units_are_listed_by_state_and_marked(shell: Shell) -> None:
    (shell.folder / "a.xlf").write_text(XLIFF.replace("ENCODING", "UTF-8"), encoding="utf-8")
    (shell.folder / "a.po").write_text(PO, encoding="utf-8")
    assert [unit["id"] for unit in shell("units a.xlf --only new,approved").objects] == ["b", "d", "e"]
    assert [unit["id"] for unit in shell("units a.po a.xlf --not new,fuzzy").objects] == [
        "%d file[0]",
        "line\n",
        "a",
        "c",
    ]
    assert "did you mean 'fuzzy'" in shell("units a.po --only fuzy").err
    shell.write("u.jsonl", '{"id": "d", "target": "Erledigt", "confidence": 0.9}')
    assert shell("units a.xlf --set u.jsonl -o b.xlf").code == 1
    assert shell("units a.xlf --set u.jsonl --only approved --mark its --mark comment -o b.xlf").code == 0
    new = (shell.folder / "b.xlf").read_text(encoding="utf-8")
    assert 'its:mtConfidence="0.9">Erledigt</target><note from="mtagent">Machine translation, not reviewed' in new
    shell.write("p.jsonl", '{"id": "%d file[0]", "target": "%d Akte"}')
    done = shell("units a.po --set p.jsonl --mark fuzzy -o b.po")
    assert "warning: gettext doesn't compile fuzzy messages" in done.err
    assert '#, fuzzy\nmsgid "%d file"' in (shell.folder / "b.po").read_text(encoding="utf-8")
    assert shell("units a.po --mark fuzzy").code == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "b", "target": "Taste <1></1>"}', "u.jsonl:2: the target of 'b' loses <2/>, which the source has"),
        (
            '{"id": "d", "target": "x"}',
            "u.jsonl:2: the target of 'd' is not written: the unit is approved; leave it out",
        ),
        (f'{{"id": "a", "target": "{"x" * 41}"}}', "u.jsonl:2: the target of 'a' has 41 characters, and at most 40"),
        ('{"id": "c", "targt": "x"}', "u.jsonl:2: unknown field 'targt'; did you mean 'target'?"),
        ('{"id": "c", "target": "x", "confidence": 2}', "u.jsonl:2: confidence must be a probability from 0 to 1"),
        ('{"id": "x", "target": "x"}', "u.jsonl:2: a.xlf has no unit with the id 'x'; `mtagent units` lists them"),
        ('{"id": "e", "target": "x"}', "u.jsonl:2: the id 'e' is also in line 1"),
        ('{"id": "c", "target": 3}', "u.jsonl:2: the target of 'c' must be a text, not int"),
        ('{"id": "c", "target": "x", "source": "1"}', "u.jsonl:2: the source of 'c' differs from a.xlf:13"),
        ('{"id": "c", "target": "x", "file": "b.xlf"}', "u.jsonl:2: is for 'b.xlf', not 'a.xlf'"),
        ('{"id": "c", "target": "\\u0001"}', "u.jsonl:2: the target of 'c' has the character U+0001"),
    ],
)
def test_a_target_that_does_not_fit_is_named_and_nothing_is_written(shell: Shell, line: str, message: str) -> None:
    (shell.folder / "a.xlf").write_text(XLIFF.replace("ENCODING", "UTF-8"), encoding="utf-8")
    shell.write("u.jsonl", '{"id": "e", "target": "Neu"}', line)
    done = shell("units a.xlf --set u.jsonl -o out.xlf")
    assert done.code == 1
    assert message in done.err
    assert not (shell.folder / "out.xlf").exists()


def test_the_command_refuses_what_it_cannot_do(shell: Shell) -> None:
    (shell.folder / "a.po").write_text(PO, encoding="utf-8")
    shell.write("u.jsonl", '{"id": "line\\n", "target": "Z\\n"}')
    done = shell("units ./a.po --set u.jsonl -o en.txt")
    assert (done.code, done.last) == (1, "mtagent: en.txt: already exists; --force replaces it")
    assert shell("units a.po --set u.jsonl -o en.txt --force").code == 0
    assert shell("units a.xlf --set u.jsonl").code == 2
    assert shell("units a.xlf b.xlf --set u.jsonl -o o.xlf").code == 2
    done = shell("units en.txt")
    assert (done.code, "must end in .xlf" in done.err) == (1, True)
    with pytest.raises(ConfigError, match="must end in"):
        document_format(Path("a.odt"))


def test_a_comment_of_its_holds_no_character_that_xml_cannot(tmp_path: Path) -> None:
    document = xliff(tmp_path, '<trans-unit id="u"><source>a</source><target>b</target></trans-unit>')
    error = ErrorSpan(text='"<b>"\x01', category="accuracy/mistranslation", severity="major", explanation="\0")
    new = replaced(document, {"u": "c"}, {"u": [UnitMark(kind="its", errors=(error,))]})
    etree.fromstring(new)


# -- files from public repositories


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ending", ["sdlxliff", "xlf", "xliff", "po", "pot"])
def test_real_files_are_read_or_refused_and_changed_in_one_place_only(data: Path, tmp_path: Path, ending: str) -> None:
    paths = sorted((data / "formats" / ending).glob("*"))
    counts: Counter[str] = Counter(files=len(paths))
    for path in paths:
        document = _opened_or_refusal(path)
        if isinstance(document, str):
            counts["refused"] += 1
            assert document.startswith(f"{path}:")
            continue
        counts["read"] += 1
        counts["units"] += len(document.units)
        assert (
            replaced(document, {unit.id: unit.target for unit in document.units if unit.target is not None})
            == document.data
        )
        step = 1 + len(document.data) // 100_000  # of files that take minutes, not every unit
        if not os.environ.get("MTAGENT_TEST_ALL_UNITS"):
            step = max(step, len(document.units) // 10)
        for unit in document.units[::step]:
            if unit.protected or (unit.max_length or 99) < 20:
                continue
            line_breaks = "\n" * unit.source.startswith("\n"), "\n" * unit.source.endswith("\n")
            target = f"{line_breaks[0]}ZYX <&> \\ ZYX{''.join(placeholders(unit, unit.source))}{line_breaks[1]}"
            new = tmp_path / path.name
            new.write_bytes(replaced(document, {unit.id: target}))
            _assert_only_one_differs(document, document_format(new).open(new), unit, target)
            counts["written"] += 1
            counts["read by lxml or polib"] += _is_read_by_others(path, new)
            counts["marked"] += _is_marked(document, unit, target, new)
    print(f"{ending}: {dict(counts)}")  # noqa: T201 - the table in docs/reference/formats.md
    assert counts["read"] >= 0.9 * len(paths)
    assert counts["read by lxml or polib"] >= 0.75 * counts["written"]  # polib: no UTF-16, no domains


@pytest.mark.data
def test_states_locks_and_limits_of_real_files_are_those_that_lxml_reads(data: Path) -> None:
    seen: Counter[str] = Counter()
    for path in sorted((data / "formats").glob("*xl*f*/*")):
        document = _opened_or_refusal(path)
        if isinstance(document, str):
            continue
        tree = etree.fromstring(path.read_bytes(), etree.XMLParser(recover=True))
        elements: dict[str, list[etree._Element]] = {}
        for element in tree.iter("{*}trans-unit", "{*}unit"):
            elements.setdefault(element.get("id", ""), []).append(element)
        for unit in document.units:
            named = [name for name in elements if f"#{unit.id}".startswith(f"#{name}") or f"#{name}" in unit.id]
            found = elements[max(named, key=len)]
            if len(found) == 1:
                _assert_facts_are_those_of(found[0], unit, seen)
    assert seen["sdl:seg"] >= 400
    assert seen["mq:status"] >= 119
    assert {"state", "size-unit", "alt-trans"} <= set(seen)


def _assert_facts_are_those_of(element: etree._Element, unit: TranslationUnit, seen: Counter[str]) -> None:
    """Compare a unit with its trans-unit or unit as lxml reads it."""
    seen["units"] += 1
    definitions = element.findall(".//{http://sdl.com/FileTypes/SdlXliff/1.0}seg")
    definition = [each for each in definitions if unit.id.endswith(f"/{each.get('id')}")]
    memoq = element.get("{MQXliff}status")
    target = element.find("{*}target")
    if definition:
        seen["sdl:seg"] += 1
        assert unit.state == definition[0].get("conf")
        assert unit.locked == (definition[0].get("locked") == "true" or element.get("translate") == "no")
        assert unit.by_person == (definition[0].get("origin") == "interactive")
    elif memoq:
        seen["mq:status"] += 1
        assert (unit.state, unit.by_person) == (memoq, memoq == "PartiallyEdited")
    elif element.tag.endswith("}trans-unit"):
        state = None if target is None else target.get("state")
        seen["state"] += state is not None
        assert unit.state == state
    if element.get("size-unit") == "char" and element.get("maxwidth"):
        seen["size-unit"] += 1
        assert unit.max_length == int(element.get("maxwidth", ""))
    seen["alt-trans"] += element.find("{*}alt-trans") is not None


def _opened_or_refusal(path: Path) -> LocalizationFile | str:
    try:
        return document_format(path).open(path)
    except InputError as error:
        return str(error)


def _assert_only_one_differs(
    before: LocalizationFile, after: LocalizationFile, changed: TranslationUnit, target: str
) -> None:
    for old, new in zip(before.units, after.units, strict=True):
        assert (new.id, new.source, new.protected) == (old.id, old.source, old.protected)
        assert new.state == old.state or old.state is None or old.id == changed.id
        if old.id == changed.id:
            assert new.target == target
        else:
            assert (new.target or "") == (old.target or "")


def _is_marked(document: LocalizationFile, unit: TranslationUnit, target: str, new: Path) -> bool:
    """Write the target with all marks that the file can hold into ``new``, and look for them; ``False`` without any."""
    assert isinstance(document, MarkingFile)
    marks = [UnitMark(kind=kind, text="needs-review", confidence=0.5) for kind in document.mark_kinds]
    marks = [mark for mark in marks if mark_fault(document, unit, mark) is None]
    new.write_bytes(replaced(document, {unit.id: target}, {unit.id: marks}))
    marked = by_id(document_format(new).open(new))
    assert {each.id: each.target for each in document.units} | {unit.id: target} == {
        each.id: each.target for each in marked.values()
    }
    kinds = {mark.kind for mark in marks}
    if "state" in kinds:
        assert marked[unit.id].status in ("needs-review", "translated")
    if "fuzzy" in kinds:
        assert marked[unit.id].status == "fuzzy"
    if "comment" in kinds:
        assert "needs-review" in marked[unit.id].notes
    if "its" in kinds:
        assert b':mtConfidence="0.5"' in new.read_bytes().replace(b"\0", b"")
    return bool(marks)


def _is_read_by_others(original: Path, new: Path) -> bool:
    """Whether another parser finds the new text, once; ``False`` if it cannot read the original either."""
    if new.suffix in (".po", ".pot"):
        try:
            polib.pofile(str(original))
        except (OSError, UnicodeError, ValueError):
            return False
        messages = [text for entry in polib.pofile(str(new)) for text in (entry.msgstr, *entry.msgstr_plural.values())]
        assert sum("ZYX <&> \\ ZYX" in text for text in messages) == 1
        return True
    try:
        etree.fromstring(original.read_bytes())
    except etree.XMLSyntaxError:
        return False
    text = "".join(etree.fromstring(new.read_bytes()).itertext())
    assert text.count("ZYX <&> \\ ZYX") == 1
    return True
