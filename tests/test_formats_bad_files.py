"""Damaged and harmful files of every kind: a clear error, and the user's file stays as it is."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pytest

from mtagent.errors import InputError
from mtagent.formats import DOCUMENTS, document_format
from tests.commands import Shell

XLIFF = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2"><file original="a" source-language="en" target-language="de" datatype="plaintext"><body>
<trans-unit id="a"><source>Hello</source><target>Größe</target></trans-unit>
<trans-unit id="b"><source>Bye</source></trans-unit></body></file></xliff>
"""
PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: de\\nPlural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "Hello"
msgstr "Größe"

msgid "%d day"
msgid_plural "%d days"
msgstr[0] "%d Tag"
msgstr[1] "%d Tage"
"""
XCSTRINGS = """{"sourceLanguage" : "en", "version" : "1.0", "strings" : {
"a" : {"localizations" : {"de" : {"stringUnit" : {"state" : "translated", "value" : "Größe"}}}}}}
"""
STRINGSDICT = """<plist version="1.0"><dict><key>a</key><dict>
<key>NSStringLocalizedFormatKey</key><string>%#@n@</string>
<key>n</key><dict><key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>
<key>NSStringFormatValueTypeKey</key><string>d</string><key>one</key><string>Größe</string>
<key>other</key><string>x</string></dict></dict></dict></plist>
"""
TEXTS = {
    "xliff": ("a.xlf", XLIFF),
    "po": ("a.po", PO),
    "xcstrings": ("a.xcstrings", XCSTRINGS),
    "ts": (
        "a.ts",
        '<TS version="2.1" language="de" sourcelanguage="en"><context><name>c</name>\n'
        "<message><source>a</source><translation>Größe</translation></message></context></TS>\n",
    ),
    "json": ("de.json", '{"a": "Größe",\n "b": {"c": "x"}}\n'),
    "yaml": ("de.yml", 'a: "Größe"\nb:\n  c: x\n'),
    "arb": ("app_de.arb", '{"@@locale": "de", "a": "Größe",\n "b": "x"}\n'),
    "properties": ("de.properties", "\ufeffa=Größe\nb=x\n"),
    "strings": ("de.strings", '"a" = "Größe";\n"b" = "x";\n'),
    "android": ("strings.xml", '<resources>\n<string name="a">Größe</string>\n</resources>\n'),
    "resx": ("de.resx", '<root>\n<data name="a" xml:space="preserve"><value>Größe</value></data>\n</root>\n'),
    "stringsdict": ("de.stringsdict", STRINGSDICT),
    "srt": ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nGröße\n\n2\n00:00:03,000 --> 00:00:04,000\nb\n"),
    "vtt": ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nGröße\n\n00:03.000 --> 00:04.000\nb\n"),
    "markdown": ("a.md", "# Größe\n\nA text with [a link](b.html).\n"),
    "html": ("a.html", '<!DOCTYPE html>\n<meta charset="utf-8"><p>Größe <b>c</b></p>\n'),
}
BILINGUAL = ("xliff", "po", "xcstrings", "ts")
RUNNING_TEXT = ("srt", "vtt", "markdown", "html", "docx", "xlsx")
OFFICE = ("docx", "xlsx")
BOMB = """<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>"""
OUTSIDE = """<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>"""


def office(name: str, replacement: bytes | None = None, part: str = "") -> bytes:
    """A Word or Excel document; ``replacement`` is put in the place of a part."""
    sink = io.BytesIO()
    if name == "docx":
        document = docx.Document()
        document.add_paragraph("Größe")
        document.save(sink)
    else:
        workbook = openpyxl.Workbook()
        workbook.active.append(["Größe"])
        workbook.save(sink)
    if replacement is None:
        return sink.getvalue()
    result = io.BytesIO()
    with zipfile.ZipFile(sink) as old, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            # Only sheets with texts of their own are read.
            new.writestr(member, replacement + b"<!-- <is> -->" if member == part else old.read(member))
    return result.getvalue()


PARTS = {"docx": "word/document.xml", "xlsx": "xl/worksheets/sheet1.xml"}
GOOD = {name: (file, text.encode()) for name, (file, text) in TEXTS.items()}
GOOD |= {name: (f"a.{name}", office(name)) for name in OFFICE}
XML = ("xliff", "ts", "android", "resx", "stringsdict")


def with_entities(declarations: str, data: bytes) -> bytes:
    """The XML file with declarations of the entity ``a``, which its text refers to."""
    after_head = data.rpartition(b"?>\n")[2]
    return declarations.encode() + after_head.replace(b"Gr", b"&a;")


# What each kind of damage makes of the bytes of a sound file.
DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "only a byte order mark": lambda data: b"\xef\xbb\xbf\n",
    "random bytes": lambda data: random.Random(1).randbytes(3000),
    "NULs": lambda data: data.replace("Größe".encode(), b"a\0b"),
    "zeros": lambda data: b"\0" * len(data),
    "windows-1252": lambda data: data.removeprefix(b"\xef\xbb\xbf").decode().encode("cp1252"),
    "UTF-16, cut within a character": lambda data: b"\xff\xfe" + data.decode().encode("utf-16-le")[:-1],
    "UTF-16 with half a pair": lambda data: (
        b"\xff\xfe" + data.decode().replace("ö", "\ud800").encode("utf-16-le", "surrogatepass")
    ),
    "UTF-32": lambda data: data.decode().encode("utf-32"),
    "a long line": lambda data: b"<!-- " + b"x" * (7 * 2**20),
    "deep elements": lambda data: b"<a>" * 100_000,
    "deep arrays": lambda data: b"[" * 100_000,
    "deep objects": lambda data: b'{"a":' * 100_000,
    "entity bomb": lambda data: with_entities(BOMB, data),
    "external entity": lambda data: with_entities(OUTSIDE, data),
}
# Java reads ISO-8859-1 and any line; Markdown and HTML are what their readers make of them.
SOUND = {
    "properties": {"windows-1252", "deep elements", "deep arrays", "deep objects"},
    "markdown": {"deep elements", "deep arrays", "deep objects"},
    "html": {"deep elements", "deep arrays", "deep objects"},
}
OF_TEXT = {"NULs", "windows-1252", "UTF-16, cut within a character", "UTF-16 with half a pair", "UTF-32"}
OF_XML = {"entity bomb", "external entity"}


def damaged_files() -> list[tuple[str, str]]:
    """Each format with each kind of damage that makes its file a bad one."""
    cases = []
    for name in GOOD:
        for damage in DAMAGE:
            of_other_files = (damage in OF_TEXT and name in OFFICE) or (damage in OF_XML and name not in XML)
            if not of_other_files and damage not in SOUND.get(name, ()):
                cases.append((name, damage))
    return cases


def write(folder: Path, name: str, data: bytes) -> tuple[Path, Path | None]:
    """The file, and that of its sources if it has one language."""
    file, good = GOOD[name]
    path = folder / file
    path.write_bytes(data)
    if name in BILINGUAL or name in RUNNING_TEXT:
        return path, None
    source = folder / "en" / file
    source.parent.mkdir(exist_ok=True)
    source.write_bytes(good)
    return path, source


def refused(shell: Shell, name: str, data: bytes) -> str:
    """The error about a file; no command changes the file."""
    path, source = write(shell.folder, name, data)
    with pytest.raises(InputError) as error:
        DOCUMENTS[name].open(path, source, "de")
    before = path.stat()
    shell.write("units.jsonl", '{"id": "a", "target": "x"}')
    given = ["--source", str(source)] if source else []
    for command in ("postedit --in-place", "check --fix", f"units --set units.jsonl -o {path.name}"):
        done = shell(f"{command} {path.name} -l en-de", *given)
        assert done.code not in (0, 3), command
        assert done.last.startswith(f"mtagent: {path.name}"), (command, done.err)
    assert (path.stat(), path.read_bytes()) == (before, data)
    return str(error.value).removeprefix(str(path))


def test_all_formats_are_here() -> None:
    assert set(GOOD) == set(DOCUMENTS)
    assert document_format(Path(GOOD["android"][0])) is DOCUMENTS["android"]


@pytest.mark.parametrize("name", GOOD)
def test_the_undamaged_file_is_read(tmp_path: Path, name: str) -> None:
    path, source = write(tmp_path, name, GOOD[name][1])
    assert DOCUMENTS[name].open(path, source, "de").units


@pytest.mark.parametrize(("name", "damage"), damaged_files())
def test_a_damaged_file_is_refused_with_a_way_out_and_stays_as_it_is(shell: Shell, name: str, damage: str) -> None:
    message = refused(shell, name, DAMAGE[damage](GOOD[name][1]))

    assert message.startswith((":", "/")), message
    assert "; " in message or message.endswith("?"), message


SRT = TEXTS["srt"][1]
VTT = TEXTS["vtt"][1]
DEFAULT = "<!DOCTYPE xliff [\n<!ATTLIST note from CDATA 'x'>]>"
DEEP = b"<w:p>" * 300 + b"</w:p>" * 300
NO_CHARSETS = ("base64", "rot13", "undefined", "punycode", "unicode_escape")
"""Python's codecs that no file is in."""
SHEET = b"<worksheet><sheetData>"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("xcstrings", XCSTRINGS.replace('"en"', '"<n"'), ":1: unknown language '<n'"),
        ("xcstrings", XCSTRINGS.replace('"de"', '"&e"'), ":2: unknown language '&e'"),
        ("xcstrings", XCSTRINGS.replace('"version"', '"sourceLanguage"'), ":1:.* is already used in line 1"),
        ("xliff", XLIFF.replace("<xliff", f"{DEFAULT}<xliff"), ":3: declares a value of from in <note>"),
        *(("xliff", XLIFF.replace("UTF-8", name), ":1: unknown encoding") for name in NO_CHARSETS),
        *(("po", PO.replace("UTF-8", name), ":1: the header's charset .* is unknown") for name in NO_CHARSETS),
        *(("html", f'<meta charset="{name}"><p>Hi', ": the charset .* is unknown") for name in NO_CHARSETS),
        ("po", PO.replace("(n != 1)", "n*n") + 'msgstr[2] "x"\n', r":11: msgstr\[2\] is one form too many"),
        ("po", PO.replace("nplurals=2", f"nplurals={10**9}"), ":1: .* no language has more than"),
        ("po", PO.replace("msgstr[1]", f"msgstr[{'9' * 5000}]"), ":10: expected msgid, msgstr"),
        ("srt", SRT.replace("00:00:01", f"{'9' * 5000}:00:01"), ":2: expected the times of a cue"),
        ("vtt", VTT.replace("00:01.000", "-00:01.000"), ":3: "),
        ("vtt", VTT.replace("00:02.000", "00:00.000"), ":3: the cue ends before it begins"),
        ("srt", SRT.replace("00:00:02,000", "00:00:02,000,000"), ":2: "),
        *((name, office(name, b"<a>" + b" " * 9_000_000, PARTS[name]), ": its part .* bytes") for name in OFFICE),
        *((name, office(name, with_entities(BOMB, b"<a/>"), PARTS[name]), ":?/.*:1: declares") for name in OFFICE),
        *((name, office(name, b"<a>" * 100_000, PARTS[name]), ":?/.*:1:.* not well-formed") for name in OFFICE),
        *((name, office(name, b"\xff<a/>", PARTS[name]), ":?/.*:1:1: ") for name in OFFICE),
        *((name, office(name, DEEP, PARTS[name]), ":?/.*:1: more than 200 elements") for name in OFFICE),
        *((name, office(name)[:100] + office(name)[105:], ": a part isn't where") for name in OFFICE),
    ],
)
def test_a_harmful_file_is_refused_and_stays_as_it_is(shell: Shell, name: str, data: str | bytes, message: str) -> None:
    assert re.match(message, refused(shell, name, data.encode() if isinstance(data, str) else data))


@pytest.mark.parametrize("name", GOOD)
def test_a_cut_off_file_is_read_as_far_as_it_goes_or_refused(tmp_path: Path, name: str) -> None:
    data = GOOD[name][1]
    for eighth in range(1, 8):
        path, source = write(tmp_path, name, data[: len(data) * eighth // 8])
        message = None
        try:
            DOCUMENTS[name].open(path, source, "de")
        except InputError as error:
            message = str(error)
        if message is None:
            assert name not in (*XML, *OFFICE, "json", "arb", "xcstrings"), "their last characters close the file"
        else:
            assert message.startswith(str(path))
