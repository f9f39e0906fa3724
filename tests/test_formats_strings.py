"""Files of an app's strings: keys and texts, paired with the file of the sources, and replaced in place."""

from __future__ import annotations

import os
import plistlib
import tracemalloc
from collections import Counter
from pathlib import Path

import javaproperties
import openstep_plist
import pytest
import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from mtagent.errors import InputError
from mtagent.formats import document_format
from mtagent.formats.documents import LocalizationFile, TranslationUnit, placeholders, replaced
from mtagent.formats.xml_spans import INVALID
from tests.commands import Shell

ANY_TEXT = st.text(
    st.one_of(st.sampled_from("\"'\\ \n\t\r=:#!@?%<>&;{}/*é😀\u2028"), st.characters(exclude_categories=["Cs"])),
    max_size=30,
    min_size=1,
).filter(lambda text: "\0" not in text)
hostile_texts = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def opened(folder: Path, name: str, target: str | bytes, source: str | bytes) -> LocalizationFile:
    """The file ``name`` in German, with its sources in English."""
    source_path = written(folder, f"en/{name}", source)
    return document_format(Path(name)).open(written(folder, f"de/{name}", target), source_path)


def by_id(document: LocalizationFile) -> dict[str, TranslationUnit]:
    return {unit.id: unit for unit in document.units}


# -- .properties

PROPERTIES = r"""# Licence

# Shown on the door.
! In capitals
sign.open = Offen
sign\ closed : Zu
  wait Bitte \
      warten
quote=Er sagt ''ja'' \u00fcber {0}
lines=Eins\n\
      Zwei
alone
"""
PROPERTIES_EN = r"""
sign.open=Open
sign\ closed=Closed
new.one=New
wait=Please wait
quote=He says ''yes'' about {0}
lines=One\nTwo
alone=Alone
"""


def test_properties_have_keys_notes_and_what_java_reads(tmp_path: Path) -> None:
    document = opened(tmp_path, "m.properties", PROPERTIES, PROPERTIES_EN)
    units = by_id(document)
    assert list(units) == ["sign.open", "sign closed", "new.one", "wait", "quote", "lines", "alone"]
    assert units["sign.open"].notes == ("Shown on the door.", "In capitals")
    assert (units["sign.open"].line, units["sign.open"].target_lang) == (5, "de")
    assert (units["sign closed"].source, units["sign closed"].target, units["new.one"].target) == ("Closed", "Zu", None)
    assert (units["wait"].target, units["quote"].target) == ("Bitte warten", "Er sagt ''ja'' über {0}")
    assert (units["lines"].target, units["alone"].target) == ("Eins\nZwei", "")
    assert (
        replaced(document, {unit.id: unit.target for unit in document.units if unit.target is not None})
        == document.data
    )


@pytest.mark.parametrize(
    ("targets", "old", "new"),
    [
        ({"sign closed": " é\n"}, "sign\\ closed : Zu\n", "sign\\ closed : \\ \\u00e9\\n\n"),
        (
            {"wait": "=Jetzt bitte lange warten"},
            "Bitte \\\n      warten",
            "\\=Jetzt \\\n      bitte \\\n      lange \\\n      warten",
        ),
        ({"lines": "A\n B\nC"}, "Eins\\n\\\n      Zwei", "A\\n\\\n      \\ B\\n\\\n      C"),
        ({"alone": "Allein"}, "alone\n", "alone=Allein\n"),
        ({"new.one": "Neu"}, "sign\\ closed : Zu\n", "sign\\ closed : Zu\nnew.one : Neu\n"),
        ({"new.one": "Neu", "sign closed": "X"}, "sign\\ closed : Zu\n", "sign\\ closed : X\nnew.one : Neu\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_properties_keep_their_layout(
    tmp_path: Path, targets: dict[str, str], old: str, new: str, newline: str
) -> None:
    document = opened(tmp_path, "m.properties", PROPERTIES.replace("\n", newline), PROPERTIES_EN)
    assert PROPERTIES.count(old) == 1
    assert replaced(document, targets).decode() == PROPERTIES.replace(old, new).replace("\n", newline)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"a=x", b"a=\\u00e9\\ud83d\\ude00"),
        (b"a=x \\u00DF", b"a=\\u00E9\\uD83D\\uDE00"),
        ("a=xß".encode(), "a=é😀".encode()),
        ("a=xß".encode("latin-1"), b"a=\xe9\\ud83d\\ude00"),
        (b"\xef\xbb\xbfa=x", b"\xef\xbb\xbfa=\\u00e9\\ud83d\\ude00"),
    ],
)
def test_properties_escape_what_their_encoding_lacks(tmp_path: Path, target: bytes, expected: bytes) -> None:
    assert replaced(opened(tmp_path, "m.properties", target, "a=b"), {"a": "é😀"}) == expected


def test_a_missing_property_is_added_after_its_predecessor_in_the_source(tmp_path: Path) -> None:
    source = "first=1\nsecond=2\n# =:\n\\#key\\ \\=\\:é=3\nlast=4"
    document = opened(tmp_path, "m.properties", "# Licence\n\nlast = d", source)
    new = replaced(document, {"first": "a", "second": "b", "#key =:é": "c"})
    assert new.decode() == "# Licence\n\nfirst = a\nsecond = b\n\\#key\\ \\=\\:\\u00e9 = c\nlast = d"
    document = opened(tmp_path, "m.properties", "first: a", source)
    assert replaced(document, {"last": "d"}) == b"first: a\nlast: d"
    assert replaced(opened(tmp_path, "m.properties", "# nothing\n", source), {"last": "d"}) == b"# nothing\nlast=d\n"
    spaced = opened(tmp_path, "m.properties", "first=a\n\nlast=d\n\nx=y\n", source)
    assert replaced(spaced, {"second": "b"}) == b"first=a\n\nsecond=b\n\nlast=d\n\nx=y\n"


@hostile_texts
@given(text=ANY_TEXT, key=ANY_TEXT)
@pytest.mark.parametrize("target", ["a = x", "a x\\\n  y", "a = x\\n\\\n  y \\\n z", "a = ß", "a"])
def test_java_reads_any_text_written_into_properties(tmp_path: Path, target: str, text: str, key: str) -> None:
    source = javaproperties.dumps({"a": "b", key: "c"}, timestamp=False)
    document = opened(tmp_path, "m.properties", target, source)
    new = replaced(document, {"a": text, key: text})
    assert javaproperties.loads(new.decode()) == {"a": text, key: text}
    units = by_id(opened(tmp_path, "m.properties", new, source))
    assert {units["a"].target, units[key].target} == {text}


# -- .strings

STRINGS = """/* Localizable.strings
   Licence */

/* Shown on the door.
   In capitals */
"sign.open" = "Offen"; // and on the window

/* No comment provided by engineer. */
closed = 'Zu';

// two lines
"two \\"lines\\"" = "Eins
\tZwei";

"emoji\\U00e9" = "\\Ud83d\\Ude00 \\101";

"Same";
"""
STRINGS_EN = """
"sign.open" = "Open";
"new" = "New";
closed = Closed;
"two \\"lines\\"" = "One\nTwo";
"emojié" = "e";
"Same" = "Same";
"""


def test_strings_have_keys_notes_and_what_apple_reads(tmp_path: Path) -> None:
    document = opened(tmp_path, "L.strings", STRINGS, STRINGS_EN)
    units = by_id(document)
    assert units["sign.open"].notes == ("Shown on the door.\nIn capitals",)
    assert (units["closed"].source, units["closed"].target, units["closed"].notes) == ("Closed", "Zu", ())
    assert (units['two "lines"'].target, units['two "lines"'].notes) == ("Eins\n\tZwei", ("two lines",))
    assert (units["Same"].target, units["new"].target) == ("Same", None)
    expected = openstep_plist.loads(STRINGS)
    assert {unit.id: unit.target for unit in document.units if unit.target is not None} == expected
    assert replaced(document, dict(expected)) == document.data


def test_the_last_of_repeated_keys_counts_in_strings(tmp_path: Path) -> None:
    english = '"a" = "Old";\n"b" = "B";\n"a" = "New";\n'
    document = opened(tmp_path, "de.strings", '"a" = "Alt";\n"a" = "Neu";\n', english)
    assert [(unit.id, unit.source, unit.target, unit.line) for unit in document.units] == [
        ("a", "New", "Neu", 2),
        ("b", "B", None, 1),
    ]
    assert replaced(document, {"a": "N"}) == b'"a" = "Alt";\n"a" = "N";\n'
    assert replaced(document, {"b": "B"}) == b'"a" = "Alt";\n"a" = "Neu";\n"b" = "B";\n'


def test_the_last_of_repeated_keys_counts_in_properties(tmp_path: Path) -> None:
    content = "a=Alt\nc = C\n\na: Neu\n"
    document = opened(tmp_path, "m.properties", content, "a=Old\nb=B\na=New\nc=See\n")
    assert [(unit.id, unit.source, unit.target, unit.line) for unit in document.units] == [
        ("a", "New", "Neu", 4),
        ("b", "B", None, 1),
        ("c", "See", "C", 2),
    ]
    assert javaproperties.loads(content)["a"] == "Neu"
    assert replaced(document, {}) == content.encode()
    assert replaced(document, {"a": "N"}) == b"a=Alt\nc = C\n\na: N\n"
    assert replaced(document, {"b": "B"}) == b"a=Alt\nc = C\n\na: Neu\nb: B\n"


@pytest.mark.parametrize(
    ("targets", "old", "new"),
    [
        ({"sign.open": 'A "B"\n\\'}, '"Offen"', '"A \\"B\\"\\n\\\\"'),
        ({"closed": 'Ist\'s "zu"'}, "'Zu'", "'Ist\\'s \"zu\"'"),
        ({'two "lines"': "A\n\tB"}, "Eins\n\tZwei", "A\n\tB"),
        ({"Same": "Gleich"}, '"Same";', '"Same" = "Gleich";'),
        ({"new": "Neu"}, "// and on the window\n", '// and on the window\n\n"new" = "Neu";\n'),
        (
            {"sign.open": "A", "new": "B"},
            '"Offen"; // and on the window\n',
            '"A"; // and on the window\n\n"new" = "B";\n',
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-16-be", b""),
    ],
)
def test_strings_keep_their_layout_and_encoding(
    tmp_path: Path, targets: dict[str, str], old: str, new: str, newline: str, encoding: str, mark: bytes
) -> None:
    data = mark + STRINGS.replace("\n", newline).encode(encoding)
    document = opened(tmp_path, "L.strings", data, STRINGS_EN)
    assert STRINGS.count(old) == 1
    assert replaced(document, targets) == mark + STRINGS.replace(old, new).replace("\n", newline).encode(encoding)


@hostile_texts
@given(text=ANY_TEXT, key=ANY_TEXT.filter(lambda key: key not in ("", "a")))
@pytest.mark.parametrize("target", ['"a" = "x";', "a = 'x';", '"a" = "x\n\ty";', '"a";', "a = x; // c"])
def test_apple_reads_any_text_written_into_strings(tmp_path: Path, target: str, text: str, key: str) -> None:
    source = openstep_plist.dumps({"a": "b", key: "c"}, unicode_escape=False).strip("{}")
    document = opened(tmp_path, "L.strings", target, source)
    new = replaced(document, {"a": text, key: text})
    assert openstep_plist.loads(new.decode()) == {"a": text, key: text}
    assert {unit.target for unit in opened(tmp_path, "L.strings", new, source).units} == {text}


# -- Android

ANDROID = """<?xml version="1.0" encoding="utf-8"?>
<!-- Licence -->
<resources xmlns:tools="http://schemas.android.com/tools">
    <!-- Section -->

    <!-- Shown on the door -->
    <string name="open" tools:ignore="x">Offen</string> <!-- big -->
    <string name="say">Er sagt \\"ja\\"\\n  und   \\'nein\\' &amp; \\u00e4\\\\</string>
    <string name="quoted">"  Ist's  zu "</string>
    <string name="html"><![CDATA[<b>Fett</b>]]></string>
    <string name="styled">
        Drück <b>die <i>Taste</i></b>.
    </string>
    <string name="empty"/>
    <string name="link">@string/open</string>
    <string name="brand" translatable="false">Acme</string>
    <plurals name="dogs">
        <item quantity="one">%d Hund</item>
        <item quantity="other">%d Hunde</item>
    </plurals>
    <string-array name="days">
        <!-- first -->
        <item>Mo</item>
    </string-array>
    <color name="red">#f00</color>
    <public type="string" name="open" id="0x7f040001"/>
</resources>
"""
ANDROID_EN = """<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="first">First</string>
    <string name="open">Open</string>
    <string name="greeting" formatted="false">Hi <xliff:g id="name" example="Ann">%1$s</xliff:g>!<br/></string>
    <string name="say">He says</string>
    <string name="quoted">It's closed</string>
    <string name="html"><![CDATA[<b>Bold</b>]]></string>
    <string name="styled">Press <b>the <i>key</i></b>.</string>
    <string name="empty">Empty</string>
    <string name="link">@string/open</string>
    <string name="brand">Acme</string>
    <plurals name="dogs"><item quantity="one">%d dog</item><item quantity="other">%d dogs</item></plurals>
    <plurals name="cats">
        <item quantity="one">%d cat</item>
        <item quantity="other">%d cats</item>
    </plurals>
    <string-array name="days"><item>Mon</item><item>Tue</item><item>Wed</item></string-array>
    <string-array name="months">
        <item>Jan</item>
        <item>Feb</item>
    </string-array>
</resources>
"""


def shown_by_android(element: etree._Element) -> str:
    """The text of an element without inline tags, read in the way that Android's documentation describes."""
    characters: list[str] = []
    in_quotes = after_space = False
    raw = iter("".join(element.itertext()).strip(" \t\n\r"))
    for character in raw:
        if character == '"':
            in_quotes = not in_quotes
        elif character in " \t\n\r" and not in_quotes:
            if not after_space:
                characters.append(" ")
            after_space = True
            continue
        elif character == "\\":
            code = next(raw, "")
            if code == "u":
                code = chr(int("".join(next(raw) for _ in range(4)), 16))
            characters.append({"n": "\n", "t": "\t"}.get(code, code))
        else:
            characters.append(character if in_quotes or character != "'" else "\ufffd")  # Android refuses it
        after_space = False
    return "".join(characters)


def test_android_texts_are_what_android_shows(tmp_path: Path) -> None:
    document = opened(tmp_path, "strings.xml", ANDROID, ANDROID_EN)
    units = by_id(document)
    assert units["open"].notes == ("Shown on the door",)
    assert units["say"].target == "Er sagt \"ja\"\n und 'nein' & ä\\"
    assert (units["quoted"].target, units["html"].target) == ("  Ist's  zu ", "<b>Fett</b>")
    assert units["styled"].target == "Drück <1>die <2>Taste</2></1>."
    assert (units["styled"].source, units["styled"].inline["</2>"]) == ("Press <1>the <2>key</2></1>.", "</i>")
    assert (units["greeting"].source, units["greeting"].target) == ("Hi <1/>!<2/>", None)
    assert units["greeting"].inline["<1/>"] == '<xliff:g id="name" example="Ann">%1$s</xliff:g>'
    assert [unit.id for unit in document.units if unit.locked] == ["link", "brand"]
    assert [units[key].target for key in ("dogs.one", "dogs.other", "cats.other", "days.0", "days.2")] == [
        "%d Hund", "%d Hunde", None, "Mo", None,
    ]  # fmt: skip
    form = units["dogs.other"].plural
    assert form is not None
    assert (form.category, form.number, form.count) == ("other", 1, 2)
    unlocked = {unit.id: unit.target for unit in document.units if unit.target is not None and not unit.locked}
    assert replaced(document, unlocked) == document.data


@pytest.mark.parametrize(
    ("targets", "old", "new"),
    [
        ({"open": "@ 'a'  \"b\"\t<&>\\ "}, ">Offen<", ">\\@ \\'a\\' \\u0020\\\"b\\\"\\t&lt;&amp;&gt;\\\\\\u0020<"),
        ({"quoted": "Ist's \"zu\"\n  "}, '"  Ist\'s  zu "', '"Ist\'s \\"zu\\"\\n  "'),
        ({"html": "<i>'</i>"}, "<![CDATA[<b>Fett</b>]]>", "<![CDATA[<i>\\'</i>]]>"),
        ({"styled": "<1>A <2>b</2> </1>"}, "Drück <b>die <i>Taste</i></b>.", "<b>A <i>b</i>\\u0020</b>"),
        ({"empty": "Leer"}, '<string name="empty"/>', '<string name="empty">Leer</string>'),
        ({"first": "A"}, "    <!-- Shown", '    <string name="first">A</string>\n    <!-- Shown'),
        (
            {"greeting": "<2/>He <1/>"},
            "</string> <!-- big",
            '</string>\n    <string name="greeting" formatted="false"><br/>He '
            '<xliff:g xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2" id="name" example="Ann">%1$s</xliff:g>'
            "</string> <!-- big",
        ),
        ({"days.1": "Di", "days.0": "M"}, "<item>Mo</item>", "<item>M</item>\n        <item>Di</item>"),
        ({"days.2": "Mi"}, "<item>Mo</item>", "<item>Mo</item>\n        <item>Tue</item>\n        <item>Mi</item>"),
        (
            {"months.0": "Jän"},
            "</string-array>",
            '</string-array>\n    <string-array name="months">\n        <item>Jän</item>\n        <item>Feb</item>\n'
            "    </string-array>",
        ),
        (
            {"cats.other": "%d Katzen"},
            "</plurals>",
            '</plurals>\n    <plurals name="cats">\n        <item quantity="other">%d Katzen</item>\n    </plurals>',
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_android_files_keep_their_layout(
    tmp_path: Path, targets: dict[str, str], old: str, new: str, newline: str
) -> None:
    document = opened(tmp_path, "strings.xml", ANDROID.replace("\n", newline), ANDROID_EN)
    assert ANDROID.count(old) == 1
    assert replaced(document, targets).decode() == ANDROID.replace(old, new).replace("\n", newline)


def test_android_collapses_white_space_across_tags(tmp_path: Path) -> None:
    file = '<resources><string name="a">\n a <b> b\n </b> c" d "\n</string></resources>'
    document = opened(tmp_path, "strings.xml", file, file)
    assert document.units[0].target == "a <1>b </1>c d "
    assert replaced(document, {"a": "<1> b</1>  "}).decode() == (
        '<resources><string name="a">\n <b>\\u0020b</b>\\u0020\\u0020\n</string></resources>'
    )


@pytest.mark.parametrize("empty", ["<resources/>", "<resources></resources>", "<resources>\n</resources>"])
def test_an_empty_android_file_is_filled(tmp_path: Path, empty: str) -> None:
    document = opened(tmp_path, "strings.xml", empty, ANDROID_EN)
    new = replaced(document, {"first": "A", "cats.one": "K", "brand": "B"})
    assert new.decode() == (
        '<resources>\n    <string name="first">A</string>\n    <string name="brand">B</string>\n'
        '    <plurals name="cats">\n        <item quantity="one">K</item>\n'
        '        <item quantity="other">%d cats</item>\n    </plurals>\n</resources>'
    )


def test_plurals_have_the_forms_of_the_target_language(tmp_path: Path) -> None:
    source = written(tmp_path, "values/strings.xml", ANDROID_EN)
    path = written(tmp_path, "values-ru/strings.xml", ANDROID)
    document = document_format(path).open(path, source, "ru")
    assert [unit.id for unit in document.units if unit.id.startswith("dogs")] == [
        "dogs.one", "dogs.few", "dogs.many", "dogs.other",
    ]  # fmt: skip
    new = replaced(document, {"dogs.many": "M", "dogs.few": "F", "cats.few": "K"}).decode()
    items = ANDROID[ANDROID.index('<plurals name="dogs">') : ANDROID.index("    <string-array")]
    one = '<item quantity="one">%d Hund</item>'
    added = '\n        <item quantity="few">F</item>\n        <item quantity="many">M</item>'
    cats = (
        '    <plurals name="cats">\n        <item quantity="few">K</item>\n'
        '        <item quantity="other">%d cats</item>\n    </plurals>\n'
    )
    assert new == ANDROID.replace(items, items.replace(one, one + added) + cats)
    japanese = document_format(path).open(path, source, "ja")
    assert [unit.id for unit in japanese.units if unit.id.startswith("cats")] == ["cats.other"]
    assert b'quantity="one">%d cat' not in replaced(japanese, {"cats.other": "K"})


@hostile_texts
@given(text=ANY_TEXT)
@pytest.mark.parametrize("target", ["x", '" x "', "<![CDATA[x]]>", "\n  x\n"])
def test_android_shows_any_text_as_it_was_written(tmp_path: Path, target: str, text: str) -> None:
    source = '<resources><string name="a">b</string><string name="c">d</string></resources>'
    file = f'<resources>\n<string name="a">{target}</string>\n</resources>'
    new = replaced(opened(tmp_path, "strings.xml", file, source), {"a": text, "c": text})
    assert [shown_by_android(element) for element in etree.fromstring(new)] == [text, text]
    assert [unit.target for unit in opened(tmp_path, "strings.xml", new, source).units] == [text, text]


# -- .resx

RESX = """\ufeff<?xml version="1.0" encoding="utf-8"?>
<root>
  <resheader name="version"><value>2.0</value></resheader>
  <data name="Title" xml:space="preserve">
    <value> Alte "Autos" &lt;b> </value>
    <comment>The window's title</comment>
  </data>
  <data name="Icon" type="System.Resources.ResXFileRef, System.Windows.Forms"><value>a.png</value></data>
  <data name=">>label1.Name" xml:space="preserve"><value>label1</value></data>
  <data name="$this.Text" xml:space="preserve"><value>Fenster</value></data>
  <data name="$this.Name" xml:space="preserve"><value>Form1</value></data>
  <data name="Image" mimetype="application/x-microsoft.net.object.bytearray.base64"><value>AAA=</value></data>
  <data name="Empty" xml:space="preserve"><value/></data>
</root>"""
RESX_EN = """<root>
  <data name="Title" xml:space="preserve"><value>Old cars</value></data>
  <data name="New" xml:space="preserve">
    <value>New</value>
    <comment>A button</comment>
  </data>
  <data name="$this.Text" xml:space="preserve"><value>Window</value></data>
  <data name="$this.Name" xml:space="preserve"><value>Form1</value></data>
  <data name=">>label1.Name" xml:space="preserve"><value>label1</value></data>
  <data name="Image" mimetype="application/x-microsoft.net.object.bytearray.base64"><value>AAA=</value></data>
  <data name="Icon" type="System.Resources.ResXFileRef, System.Windows.Forms"><value>a.png</value></data>
  <data name="Empty" xml:space="preserve"><value>Empty</value></data>
</root>"""


@pytest.mark.parametrize("name", ["R.de.resx", "R.resw"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_resx_entries_that_are_texts_are_read_and_written(tmp_path: Path, name: str, newline: str) -> None:
    document = opened(tmp_path, name, RESX.replace("\n", newline), RESX_EN)
    units = by_id(document)
    assert list(units) == ["Title", "New", "$this.Text", "Empty"]
    assert (units["Title"].target, units["Title"].notes) == (' Alte "Autos" <b> ', ("The window's title",))
    assert (units["New"].target, units["New"].notes, units["Empty"].target) == (None, ("A button",), "")
    assert (
        replaced(document, {unit.id: unit.target for unit in document.units if unit.target is not None})
        == document.data
    )
    new = replaced(document, {"Title": " <A> & B\n", "New": "Neu", "Empty": "Leer"}).decode()
    expected = RESX.replace(' Alte "Autos" &lt;b> ', " &lt;A&gt; &amp; B\n").replace("<value/>", "<value>Leer</value>")
    added = (
        '  <data name="New" xml:space="preserve">\n    <value>Neu</value>\n    <comment>A button</comment>\n  </data>\n'
    )
    assert new == expected.replace('  <data name="Icon"', added + '  <data name="Icon"').replace("\n", newline)


# -- .stringsdict

STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
\t<!-- Below the list -->
\t<key>%d files. In %d</key>
\t<dict>
\t\t<key>NSStringLocalizedFormatKey</key>
\t\t<string>%#@files@ in %#@folders@</string>
\t\t<key>files</key>
\t\t<dict>
\t\t\t<key>NSStringFormatSpecTypeKey</key>
\t\t\t<string>NSStringPluralRuleType</string>
\t\t\t<key>NSStringFormatValueTypeKey</key>
\t\t\t<string>d</string>
\t\t\t<key>one</key>
\t\t\t<string>%d file</string>
\t\t\t<key>other</key>
\t\t\t<string>%d files</string>
\t\t</dict>
\t</dict>
\t<key>width</key>
\t<dict>
\t\t<key>NSStringVariableWidthRuleType</key>
\t\t<dict>
\t\t\t<key>20</key>
\t\t\t<string>Short</string>
\t\t</dict>
\t</dict>
</dict>
</plist>
"""
EMPTY_STRINGSDICT = STRINGSDICT[: STRINGSDICT.index("<dict>")] + "<dict/>\n</plist>\n"


def test_stringsdict_forms_are_read_and_written(tmp_path: Path) -> None:
    source = written(tmp_path, "en.lproj/L.stringsdict", STRINGSDICT)
    path = written(tmp_path, "cs.lproj/L.stringsdict", STRINGSDICT.replace("%d file<", "%d soubor<"))
    document = document_format(path).open(path, source)
    key = "%d files\\. In %d"
    assert [unit.id for unit in document.units] == [
        key, f"{key}.files.one", f"{key}.files.few", f"{key}.files.other",
        "width.NSStringVariableWidthRuleType.20",
    ]  # fmt: skip
    assert (document.units[1].target, document.units[1].notes) == ("%d soubor", ("Below the list",))
    assert (document.units[2].source, document.units[2].target, document.units[2].target_lang) == (
        "%d files",
        None,
        "cs",
    )
    new = replaced(document, {f"{key}.files.few": "%d <soubory>", key: "%#@files@ v %#@folders@"})
    added = "<string>%d soubor</string>\n\t\t\t<key>few</key>\n\t\t\t<string>%d &lt;soubory&gt;</string>"
    expected = document.data.decode().replace("<string>%d soubor</string>", added).replace("@ in %", "@ v %")
    assert new.decode() == expected
    assert plistlib.loads(new)["%d files. In %d"]["files"]["few"] == "%d <soubory>"


def test_a_missing_stringsdict_entry_is_copied_from_the_source(tmp_path: Path) -> None:
    document = opened(tmp_path, "L.stringsdict", EMPTY_STRINGSDICT, STRINGSDICT)
    key = "%d files\\. In %d"
    new = replaced(document, {f"{key}.files.other": "%d Dateien", "width.NSStringVariableWidthRuleType.20": "Kurz"})
    expected = plistlib.loads(STRINGSDICT.encode())
    expected["%d files. In %d"]["files"]["other"] = "%d Dateien"
    del expected["%d files. In %d"]["files"]["one"]
    expected["width"]["NSStringVariableWidthRuleType"]["20"] = "Kurz"
    assert plistlib.loads(new) == expected


def test_a_text_of_an_entry_that_has_no_place_for_it_is_refused(tmp_path: Path) -> None:
    without_format = STRINGSDICT.replace("%#@files@ in %#@folders@", "%#@files@").replace("<key>files<", "<key>f<")
    document = opened(tmp_path, "L.stringsdict", without_format, STRINGSDICT)
    for unit in document.units[:2]:
        assert unit.target is None
        with pytest.raises(InputError, match="has no place: the entry in line 17 lacks this text of the source"):
            replaced(document, {unit.id: "%#@files@ in %#@folders@"})


@hostile_texts
@given(text=ANY_TEXT.filter(lambda text: not INVALID.search(text)))
def test_plistlib_and_lxml_read_any_text_written_into_xml(tmp_path: Path, text: str) -> None:
    document = opened(tmp_path, "L.stringsdict", STRINGSDICT, STRINGSDICT)
    new = plistlib.loads(replaced(document, {"%d files\\. In %d.files.one": text}))
    assert new["%d files. In %d"]["files"]["one"] == text
    document = opened(tmp_path, "R.resx", RESX, RESX_EN)
    values = etree.fromstring(replaced(document, {"Empty": text, "New": text})).findall("data/value")
    assert [value.text or "" for value in values].count(text) >= 2
    document = ts(tmp_path, TS)
    new = replaced(document, {"Main\x04New": text, "app.new": text, "Main\x04%n dog(s)[1]": text})
    texts = [element.text or "" for element in etree.fromstring(new).iter("translation", "numerusform")]
    assert texts.count(text) >= 3


# -- Qt

TS = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="ru_RU" sourcelanguage="en">
<context>
    <name>Main</name>
    <message>
        <location filename="../a.cpp" line="14"/>
        <source>Say &quot;hi&quot;</source>
        <comment>a button</comment>
        <extracomment>Keep it short.</extracomment>
        <translatorcomment>Kurz?</translatorcomment>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation type="unfinished">
            <numerusform>%n файл</numerusform>
            <numerusform></numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n dog(s)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>a<byte value="x1b"/>b</source>
        <translation>а</translation>
    </message>
    <message>
        <source>New</source>
    </message>
    <message>
        <source>gone</source>
        <translation type="vanished">нет</translation>
    </message>
    <message>
        <source>long</source>
        <translation variants="yes"><lengthvariant>длинный</lengthvariant></translation>
    </message>
</context>
<context>
    <name>Other</name>
    <message id="app.new">
        <source>New</source>
        <translation>Новый</translation>
    </message>
</context>
</TS>
"""


def ts(folder: Path, content: str) -> LocalizationFile:
    path = written(folder, "app.ts", content)
    return document_format(path).open(path)


def test_qt_messages_have_what_the_file_says_of_them(tmp_path: Path) -> None:
    document = ts(tmp_path, TS)
    hello = document.units[0]
    assert (hello.id, hello.source, hello.target) == ('Main\x04Say "hi"\x04a button', 'Say "hi"', "")
    assert (hello.state, hello.context, hello.line) == ("unfinished", "Main", 6)
    assert (hello.status, document.units[1].status, document.units[-1].status) == ("new", "needs-review", "translated")
    assert hello.notes == ("a button", "Keep it short.", "Kurz?")
    assert (hello.source_lang, hello.target_lang) == ("en", "ru_RU")
    forms = document.units[1:4]
    assert [form.id.removeprefix("Main\x04%n file(s)") for form in forms] == ["[0]", "[1]", "[2]"]
    assert [form.target for form in forms] == ["%n файл", "", None]
    assert [form.plural.examples[:2] for form in forms if form.plural] == [(1, 21), (2, 3), (0, 5)]
    code, new, long, by_id = document.units[7:]
    assert (code.source, code.inline["<1/>"]) == ("a<1/>b", '<byte value="x1b"/>')
    assert (new.id, new.target, new.state) == ("Main\x04New", None, "finished")
    assert (long.source, long.locked) == ("long", True)
    assert (by_id.id, by_id.context, by_id.target) == ("app.new", "Other", "Новый")
    unchanged = {unit.id: unit.target for unit in document.units if unit.target is not None and not unit.locked}
    assert replaced(document, unchanged) == document.data


@pytest.mark.parametrize(
    ("targets", "old", "new"),
    [
        (
            {'Main\x04Say "hi"\x04a button': "Скажи \"да\" & 'нет'\n"},
            '<translation type="unfinished"></translation>',
            '<translation type="unfinished">Скажи &quot;да&quot; &amp; &apos;нет&apos;\n</translation>',
        ),
        (
            {"Main\x04%n file(s)[2]": "%n файлов"},
            "            <numerusform></numerusform>\n",
            "            <numerusform></numerusform>\n            <numerusform>%n файлов</numerusform>\n",
        ),
        (
            {"Main\x04%n dog(s)[1]": "%n собаки"},
            '%n dog(s)</source>\n        <translation type="unfinished"></translation>',
            '%n dog(s)</source>\n        <translation type="unfinished">\n            <numerusform></numerusform>\n'
            "            <numerusform>%n собаки</numerusform>\n        </translation>",
        ),
        ({"Main\x04ab": "б<1/>"}, "<translation>а<", '<translation>б<byte value="x1b"/><'),
        (
            {"Main\x04New": "Новое"},
            "<source>New</source>\n    </message>",
            "<source>New</source>\n        <translation>Новое</translation>\n    </message>",
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_qt_files_keep_their_layout(tmp_path: Path, targets: dict[str, str], old: str, new: str, newline: str) -> None:
    document = ts(tmp_path, TS.replace("\n", newline))
    assert old in TS
    assert replaced(document, targets).decode() == TS.replace(old, new, 1).replace("\n", newline)


@pytest.mark.parametrize(
    ("language", "counts"),
    [("ja", [0]), ("de", [1, 0]), ("pt_BR", [0, 2]), ("pt", [1, 0]), ("lv", [1, 2, 0]), ("pl", [1, 2, 0]), (None, [])],
)
def test_qt_has_its_own_rules_for_numerus_forms(tmp_path: Path, language: str | None, counts: list[int]) -> None:
    attribute = f' language="{language}"' if language else ""
    message = '<message numerus="yes"><source>%n</source><translation/></message>'
    document = ts(tmp_path, f"<TS{attribute}><context><name>C</name>{message}</context></TS>")
    forms = [unit.plural for unit in document.units if unit.plural]
    assert [form.examples[0] for form in forms if form.examples] == counts
    assert [form.count for form in forms] == [max(len(counts), 1)] * len(forms)


def test_a_broken_qt_file_is_refused(tmp_path: Path) -> None:
    message = "<message><source>a</source></message>"
    for content, problem in (
        ("\n<xliff/>", ":2: the first element is <xliff>, not <TS>"),
        ("export const a = 1;", ":1:1: not well-formed XML: syntax error"),
        ("<TS>\n<message/></TS>", ":2: this message has neither a source nor an id"),
        (f"<TS><context>{message}\n{message}</context></TS>", ":2: the id '.x04a' is already used in line 1"),
        ("<!DOCTYPE TS [\n<!ENTITY a 'a'>]><TS/>", ":2: declares the entity 'a'"),
        ("<TS>\n<context>", r":2:\d+: not well-formed XML: no element found"),
    ):
        with pytest.raises(InputError, match=f"app.ts{problem}"):
            ts(tmp_path, content)
    path = written(tmp_path, "app.ts", TS)
    with pytest.raises(InputError, match="has its sources in itself; leave out --source"):
        document_format(path).open(path, path)


# -- broken files


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.properties", "a=1\nb=\\u12g\n", r":2: \\u without four hexadecimal digits"),
        ("m.properties", "a=1\n\nb=\\ud83d\n", ":3: has half of a surrogate pair"),
        ("m.properties", b"\xef\xbb\xbfa=1\nb=\xe9\n", ":2: byte 0xE9 is not utf-8"),
        ("m.properties", b"\xff\xfea\0=\0", ":1: is UTF-16, which Java does not read here"),
        ("m.properties", b"a=1\nb\0=2", ":2: has a NUL"),
        ("m.properties", '<?xml version="1.0"?><properties/>', ":1: is XML, not lines of KEY=TEXT"),
        ("m.properties", " \n", ": is empty"),
        ("L.strings", '"a" = "1";\n"b" = "2', r":2: this text doesn't end; close its quote \(is the file cut off\?\)"),
        ("L.strings", '"a" = "1";\n/* "b" = "2";', ":2: this comment doesn't end"),
        ("L.strings", '"a" = "1";\n"b" = "2"', r":2: this entry doesn't end with ; \(is the file cut off\?\)"),
        ("L.strings", '"a" = "1"\n"b" = "2";', ":2: expected ;, not '\"b\"'"),
        ("L.strings", '"a" = "1";\n"b" "2";', ":2: expected = or ;, not '\"2\"'"),
        ("L.strings", '"a" = "1";\n"b" = ;', ":2: expected a text, not ';'"),
        ("L.strings", '"a" = "1";\n;', ":2: expected a key or a comment, not ';'"),
        ("L.strings", '"a" = "1";\n= "2";', ":2: expected a key or a comment, not '='"),
        (
            "L.strings",
            '"a" = "1";\n"b" = { c = d; };',
            """:2: expected "KEY" = "TEXT"; or a comment, not '{ c = d; };'""",
        ),
        ("L.strings", '"a" = "1";\n"b" = "\\351";', r":2: \\351 is not ASCII"),
        ("L.strings", '"a" = "1";\n"b" = "\\UD83D";', ":2: has half of a surrogate pair"),
        ("L.strings", b'"a" = "1";\n"b" = "\xe9";', ":2: byte 0xE9 is not UTF-8"),
        ("L.strings", b"\xff\xfea\0=\0;", ":1: byte 0x3B is not utf-16-le"),
        ("L.strings", b"bplist00\xd1\x01", ":1: is compiled"),
        ("L.strings", '<?xml version="1.0"?><plist/>', ":1: is a property list in XML"),
        ("L.strings", "", ": is empty"),
        ("strings.xml", "<resources>\n<string name='a'>1</string>", r":2:\d+: not well-formed XML: no element found"),
        (
            "strings.xml",
            "<resources>\n<string name='a'/><string name='a'/></resources>",
            ":2: the key 'a' is already used",
        ),
        ("strings.xml", "<resources>\n<string>1</string></resources>", ":2: <string> has no name; give it one"),
        (
            "strings.xml",
            "<resources>\n<string name='a'>\\u12</string></resources>",
            r":2: \\u without four hexadecimal",
        ),
        ("strings.xml", "<resources>\n<string name='a'>\\ud83d</string></resources>", ":2: has half of a surrogate"),
        (
            "strings.xml",
            "<resources><plurals name='a'>\n<item quantity='1'>b</item></plurals></resources>",
            ":2: the quantity '1' is none of zero, one,",
        ),
        ("strings.xml", "\n<sst/>", ":2: the first element is <sst>, not <resources>"),
        ("strings.xml", "<!DOCTYPE r [\n<!ENTITY a 'a'>]><resources/>", ":2: declares the entity 'a'"),
        ("strings.xml", "<!DOCTYPE r [\n<!ENTITY a SYSTEM 'b'>]><resources/>", ":2: declares the entity 'a'"),
        ("strings.xml", b"<resources>\n\xe9</resources>", r":2:\d+: byte 0xE9 is not utf-8"),
        ("R.resx", "<root>\n<data name='a'/></root>", ":2: the entry 'a' has no <value>"),
        ("strings.xml", "<resources/>\n<resources/>", r":2:\d+: not well-formed XML: junk after document element"),
        ("R.resx", "<plist/>", ":1: the first element is <plist>, not <root>"),
        (
            "L.stringsdict",
            f"<plist><dict>{'<key>a</key><dict>' * 30}{'</dict>' * 31}</plist>",
            ":1: more than 20 levels",
        ),
        ("L.stringsdict", "<plist/>", ":1: <plist> doesn't hold a <dict>"),
        ("L.stringsdict", "<plist><dict>\n<string/></dict></plist>", ":2: expected <key>, not <string>"),
        ("L.stringsdict", "<plist><dict>\n<key>a</key></dict></plist>", ":2: the key 'a' has no value"),
    ],
)
@pytest.mark.parametrize("side", ["de", "en"])
def test_a_broken_file_is_refused_with_its_line(
    tmp_path: Path, name: str, content: str | bytes, message: str, side: str
) -> None:
    sound = {"strings.xml": "<resources/>", "R.resx": "<root/>", "L.stringsdict": "<plist><dict/></plist>"}
    contents = {"de": sound.get(name, "a=1;"), "en": sound.get(name, "a=1;"), side: content}
    with pytest.raises(InputError, match=f"/{side}/{name}{message}"):
        opened(tmp_path, name, contents["de"], contents["en"])


@pytest.mark.parametrize("name", ["m.properties", "L.strings"])
def test_a_text_that_no_file_can_hold_is_refused(tmp_path: Path, name: str) -> None:
    document = opened(tmp_path, name, "a=1;", "a=1;")
    for text, problem in (("\ud83d", "has half of a surrogate pair"), ("a\0b", "has a NUL")):
        with pytest.raises(InputError, match=f"/{name}:1: the new target of 'a' {problem}"):
            replaced(document, {"a": text})


@pytest.mark.parametrize("content", ["a=" + "\\\\" * 200_000, "a=" + "\\\n" * 200_000, "\\n" * 200_000])
def test_a_long_line_needs_little_memory(tmp_path: Path, content: str) -> None:
    source = written(tmp_path, "en/m.properties", "a=1")
    path = written(tmp_path, "de/m.properties", content)
    document_format(path).open(path, source)  # the settings of Python's engine
    tracemalloc.start()
    try:
        document_format(path).open(path, source)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(content)
    finally:
        tracemalloc.stop()


# -- files from public repositories


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("ending", ["properties", "strings", "xml", "resx", "stringsdict"])
def test_real_files_are_read_or_refused_and_changed_in_one_place_only(data: Path, tmp_path: Path, ending: str) -> None:
    paths = sorted((data / "formats" / ending).glob("*"))
    counts: Counter[str] = Counter(files=len(paths))
    for path in paths:
        copy = written(tmp_path, path.name, path.read_bytes())
        document = opened_or_refusal(copy, path)
        if isinstance(document, str):
            counts["refused"] += 1
            assert document.startswith((f"{path}:", f"{copy}:"))
            continue
        counts["read"] += 1
        counts["units"] += len(document.units)
        unchanged = {unit.id: unit.target for unit in document.units if unit.target is not None and not unit.locked}
        assert replaced(document, unchanged) == document.data
        step = 1 if os.environ.get("MTAGENT_TEST_ALL_UNITS") else max(1, len(document.units) // 10)
        for unit in document.units[::step]:
            if unit.locked:
                continue
            target = f"ZYX <&> \\ ' ZYX{''.join(placeholders(unit, unit.source))}"
            copy.write_bytes(replaced(document, {unit.id: target}))
            changed = document_format(copy).open(copy, path)
            assert [each.target for each in changed.units] == [
                target if each.id == unit.id else each.target for each in document.units
            ]
            assert "".join(texts_by_others(copy)).count("ZYX <&> \\ ' ZYX") == 1
            counts["replaced"] += 1
        copy.unlink()
    print(f"{ending}: {dict(counts)}")  # noqa: T201 - the table in docs/reference/formats.md
    assert counts["read"] >= 0.6 * len(paths)


def opened_or_refusal(path: Path, source: Path) -> LocalizationFile | str:
    try:
        return document_format(path).open(path, source)
    except InputError as error:
        return str(error)


def texts_by_others(path: Path) -> list[str]:
    """All texts of a file, read by another parser."""
    data = path.read_bytes()
    if path.suffix == ".properties":
        try:
            content = data.decode()
        except UnicodeDecodeError:
            content = data.decode("latin-1")
        return list(javaproperties.loads(content).values())
    if path.suffix == ".strings":
        content = data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
        return list(openstep_plist.loads(content).values())
    if path.suffix == ".xml":
        return [shown_by_android(element) for element in etree.fromstring(data).iter("string", "item")]
    if path.suffix == ".stringsdict":
        plistlib.loads(data)
    return ["".join(etree.fromstring(data).itertext())]


# -- the command


@pytest.mark.parametrize(
    ("target", "source", "language"),
    [
        ("m_de.properties", "m.properties", "de"),
        ("m_pt_BR.properties", "m_en.properties", "pt_BR"),
        ("R.de.resx", "R.resx", "de"),
        ("de.lproj/L.strings", "en.lproj/L.strings", "de"),
        ("values-de/strings.xml", "values/strings.xml", "de"),
        ("values-de-rAT/strings.xml", "values/strings.xml", "de-AT"),
        ("values-b+sr+Latn/strings.xml", "values/strings.xml", "sr-Latn"),
    ],
)
def test_a_path_names_its_language_and_the_error_its_likely_source(
    tmp_path: Path, target: str, source: str, language: str
) -> None:
    content = {"properties": "a=1", "strings": "a=1;", "xml": "<resources><string name='a'>1</string></resources>"}
    content["resx"] = "<root><data name='a'><value>1</value></data></root>"
    ending = target.rpartition(".")[2]
    path, source_path = written(tmp_path, target, content[ending]), written(tmp_path, source, content[ending])
    assert document_format(path).open(path, source_path).units[0].target_lang == language
    with pytest.raises(InputError, match=regex.escape(f"--source {source_path}")):
        document_format(path).open(path)


def test_units_of_two_files_are_listed_and_written_back(shell: Shell) -> None:
    written(shell.folder, "app_en.properties", "hello=Hello\nbye=Bye\n")
    written(shell.folder, "app_de.properties", "# Gr\\u00fc\u00dfe\nhello = Hallo\n".encode("latin-1"))
    listed = shell("units app_de.properties --source app_en.properties").objects
    assert [(unit["id"], unit["source"], unit["target"]) for unit in listed] == [
        ("hello", "Hello", "Hallo"),
        ("bye", "Bye", None),
    ]
    shell.write("new.jsonl", '{"id": "bye", "target": "Tsch\u00fcss"}')
    done = shell("units app_de.properties --source app_en.properties --set new.jsonl -o app_de.properties")
    assert done.code == 0
    expected = "# Gr\\u00fc\u00dfe\nhello = Hallo\nbye = Tsch\u00fcss\n".encode("latin-1")
    assert (shell.folder / "app_de.properties").read_bytes() == expected
    done = shell("units app_de.properties")
    assert (done.code, "--source app_en.properties" in done.err) == (1, True)
