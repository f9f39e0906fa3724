"""Localization files: units are read, and targets replaced in the user's own bytes."""

from __future__ import annotations

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
    LocalizationFile,
    TranslationUnit,
    placeholder_fault,
    placeholders,
    replaced,
)
from mtagent.records import Segment
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
    assert [unit.id for unit in units.values() if unit.locked] == ["d"]
    assert units["e"].target == ""


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
    ("head", "unit", "state", "locked"),
    [
        ("", UNIT.format("", 'state="needs-review-translation"'), "needs-review-translation", False),
        ("", UNIT.format("", 'state="final"'), "final", True),
        ("", UNIT.format("", 'state="signed-off"'), "signed-off", True),
        ("", UNIT.format('translate="no"', ""), None, True),
        ("", f'<group translate="no">{UNIT.format("", "")}</group>', None, True),
        ("", f'<group translate="no">{UNIT.format(YES, "")}</group>', None, False),
        (SDL, SDL_UNIT.replace("FACTS", 'conf="Translated" percent="100"'), "Translated", False),
        (SDL, SDL_UNIT.replace("FACTS", 'conf="Draft" locked="true"'), "Draft", True),
        (SDL, SDL_UNIT.replace("FACTS", 'conf="ApprovedSignOff"'), "ApprovedSignOff", True),
        (MEMOQ, UNIT.format('q:status="ManuallyConfirmed"', ""), "ManuallyConfirmed", False),
        (MEMOQ, UNIT.format('q:status="NotStarted" q:locked="locked"', ""), "NotStarted", True),
        (MEMOQ, UNIT.format('q:status="Pretranslated" q:locked="no"', ""), "Pretranslated", False),
        (MEMOQ, UNIT.format('q:status="Proofread"', ""), "Proofread", True),
        (PHRASE, UNIT.format('m:confirmed="1"', ""), "confirmed", False),
        (PHRASE, UNIT.format('m:confirmed="2"', ""), "confirmed", False),
        (PHRASE, UNIT.format('m:confirmed="0" m:locked="true"', ""), "unconfirmed", True),
    ],
)
def test_states_and_locks_are_where_each_tool_keeps_them(
    tmp_path: Path, head: str, unit: str, state: str | None, locked: bool
) -> None:
    document = xliff(tmp_path, unit, head)
    assert [(each.target, each.state, each.locked) for each in document.units] == [("Eins", state, locked)]
    if locked:
        with pytest.raises(
            InputError, match=r"a\.xlf:1: the new target of 'u.*' is not written: .* locked or approved"
        ):
            replaced(document, {document.units[0].id: "Zwei"})


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
    assert (first.source_lang, first.target_lang, document.units[1].locked) == ("en", "de", True)
    new = replaced(document, {"u/s1": "<2>C</2> <1>B</1>", "v": "allein"}).decode()
    assert '<target><sc id="2"/>C<ec startRef="2"/> <pc id="1" dispStart="x">B</pc></target>' in new
    assert "<source>lone</source><target>allein</target>" in new


def test_several_files_in_one_have_the_name_of_each_before_the_id(tmp_path: Path) -> None:
    file = '<file original="{}"><body><trans-unit id="1"><source>x</source></trans-unit></body></file>'
    text = f'<xliff version="1.2">{file.format("a")}{file.format("b")}</xliff>'
    document = opened(tmp_path, "a.xlf", text)
    assert [unit.id for unit in document.units] == ["a#1", "b#1"]
    assert replaced(document, {"b#1": "y"}).count(b"<target>y</target>") == 1
    unnamed = opened(tmp_path, "a.xlf", text.replace('"b"', '"a"'))
    assert [unit.id for unit in unnamed.units] == ["1#1", "2#1"]


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


def test_a_plural_form_that_the_file_lacks_is_inserted(tmp_path: Path) -> None:
    rule = "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"
    document = opened(tmp_path, "a.po", PO.replace("nplurals=2; plural=(n != 1)", rule))
    forms = [unit for unit in document.units if unit.plural]
    examples = [unit.plural.examples for unit in forms if unit.plural]
    assert examples == [(1, 21, 31, 41), (2, 3, 4, 22), (0, 5, 6, 7)]
    assert [unit.target for unit in forms] == ["%d Datei", "", None]
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
        ("line\n", "Zeile", "does not end with a line break as its source does"),
        ("menu\x04Open", "\nA", "does not begin with a line break"),
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
    content = XLIFF.replace("ENCODING", encoding).replace("é", "e").encode(encoding)
    new = replaced(opened(tmp_path, "a.xlf", content), {unit: text})
    assert by_id(opened(tmp_path, "b.xlf", new))[unit].target == text
    target = etree.fromstring(new).find(f".//{{*}}trans-unit[@id='{unit}']/{{*}}target")
    assert (target.text or "") == text


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
    assert opened(tmp_path, "b.po", new).units[2].target == text


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
    shell.write("units.jsonl", *[line for line in shell("units a.xlf").lines if '"locked": false' in line])
    done = shell("postedit -s units.jsonl --format jsonl-lenient -o better.jsonl --evaluator rules --gate none")
    assert done.code == 0
    assert shell("units a.xlf --set better.jsonl -o b.xlf").code == 0
    expected = text.replace('perro <x id="1"/> sentó', 'perro <x id="1"/> sentó.')
    assert (shell.folder / "b.xlf").read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "b", "target": "Taste <1></1>"}', "u.jsonl:2: the target of 'b' loses <2/>, which the source has"),
        ('{"id": "d", "target": "x"}', "u.jsonl:2: the target of 'd' is not written: the unit is locked or approved"),
        ('{"id": "x", "target": "x"}', "u.jsonl:2: a.xlf has no unit with the id 'x'; `mtagent units` lists them"),
        ('{"id": "a", "target": "x"}', "u.jsonl:2: the id 'a' is also in line 1"),
        ('{"id": "c", "target": 3}', "u.jsonl:2: the target of 'c' must be a text, not int"),
        ('{"id": "c", "target": "x", "source": "1"}', "u.jsonl:2: the source of 'c' differs from a.xlf:13"),
        ('{"id": "c", "target": "x", "file": "b.xlf"}', "u.jsonl:2: is for 'b.xlf', not 'a.xlf'"),
        ('{"id": "c", "target": "\\u0001"}', "u.jsonl:2: the target of 'c' has the character U+0001"),
    ],
)
def test_a_target_that_does_not_fit_is_named_and_nothing_is_written(shell: Shell, line: str, message: str) -> None:
    (shell.folder / "a.xlf").write_text(XLIFF.replace("ENCODING", "UTF-8"), encoding="utf-8")
    shell.write("u.jsonl", '{"id": "a", "target": "Neu"}', line)
    done = shell("units a.xlf --set u.jsonl -o out.xlf")
    assert done.code == 1
    assert message in done.err
    assert not (shell.folder / "out.xlf").exists()


def test_the_command_refuses_what_it_cannot_do(shell: Shell) -> None:
    (shell.folder / "a.po").write_text(PO, encoding="utf-8")
    shell.write("u.jsonl", '{"id": "line\\n", "target": "Z\\n"}')
    done = shell("units ./a.po --set u.jsonl -o en.txt")
    assert (done.code, done.last) == (1, "mtagent: en.txt: is there already; --force replaces it")
    assert shell("units a.po --set u.jsonl -o en.txt --force").code == 0
    assert shell("units a.xlf --set u.jsonl").code == 2
    assert shell("units a.xlf b.xlf --set u.jsonl -o o.xlf").code == 2
    done = shell("units en.txt")
    assert (done.code, "must end in .xlf" in done.err) == (1, True)
    with pytest.raises(ConfigError, match="must end in"):
        document_format(Path("a.odt"))


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
            if unit.locked:
                continue
            line_breaks = "\n" * unit.source.startswith("\n"), "\n" * unit.source.endswith("\n")
            target = f"{line_breaks[0]}ZYX <&> \\ ZYX{''.join(placeholders(unit, unit.source))}{line_breaks[1]}"
            new = tmp_path / path.name
            new.write_bytes(replaced(document, {unit.id: target}))
            _assert_only_one_differs(document, document_format(new).open(new), unit, target)
            counts["written"] += 1
            counts["read by lxml or polib"] += _is_read_by_others(path, new)
    print(f"{ending}: {dict(counts)}")  # noqa: T201 - the table in docs/reference/formats.md
    assert counts["read"] >= 0.9 * len(paths)
    assert counts["read by lxml or polib"] >= 0.85 * counts["written"]  # polib reads no UTF-16


def _opened_or_refusal(path: Path) -> LocalizationFile | str:
    try:
        return document_format(path).open(path)
    except InputError as error:
        return str(error)


def _assert_only_one_differs(
    before: LocalizationFile, after: LocalizationFile, changed: TranslationUnit, target: str
) -> None:
    for old, new in zip(before.units, after.units, strict=True):
        assert (new.id, new.source, new.state, new.locked) == (
            old.id,
            old.source,
            old.state or new.state,
            old.locked,
        ) or (old.id == changed.id)
        if old.id == changed.id:
            assert new.target == target
        else:
            assert (new.target or "") == (old.target or "")


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
