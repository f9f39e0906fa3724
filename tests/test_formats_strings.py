"""Files of an app's strings: keys and texts, paired with the file of the sources, and replaced in place."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import javaproperties
import openstep_plist
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtagent.errors import InputError
from mtagent.formats import document_format
from mtagent.formats.documents import LocalizationFile, TranslationUnit, replaced
from tests.commands import Shell

ANY_TEXT = st.text(
    st.one_of(st.sampled_from("\"'\\ \n\t\r=:#!@?%<>&;{}/*é😀\u2028"), st.characters(exclude_categories=["Cs"])),
    max_size=30,
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


# -- broken files


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.properties", "a=1\nb=2\n\na:3\n", ":4: the key 'a' is already used in line 1; remove one of them"),
        ("m.properties", "a=1\nb=\\u12g\n", r":2: \\u without four hexadecimal digits"),
        ("m.properties", "a=1\n\nb=\\ud83d\n", ":3: has half of a surrogate pair"),
        ("m.properties", b"\xef\xbb\xbfa=1\nb=\xe9\n", ":2: byte 0xE9 is not utf-8"),
        ("m.properties", b"\xff\xfea\0=\0", ":1: is UTF-16, which Java does not read here"),
        ("m.properties", b"a=1\nb\0=2", ":2: has a NUL"),
        ("m.properties", '<?xml version="1.0"?><properties/>', ":1: is XML, not lines of KEY=TEXT"),
        ("m.properties", " \n", ": is empty"),
        ("L.strings", '"a" = "1";\n\na = "2";', ":3: the key 'a' is already used in line 1; remove one of them"),
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
    ],
)
@pytest.mark.parametrize("side", ["de", "en"])
def test_a_broken_file_is_refused_with_its_line(
    tmp_path: Path, name: str, content: str | bytes, message: str, side: str
) -> None:
    contents = {"de": "a=1;", "en": "a=1;", side: content}
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


# -- the command


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
