"""What all formats share: encodings, files that cannot be read or written, streams, and the choice of a format."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtagent import formats
from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.formats import BINARY, FORMATS, Format, Lines, Result, SegmentDefaults
from mtagent.records import Segment

PAIR = SegmentDefaults(source_lang="en", target_lang="is")
ONE = Segment(id="1", source="s", source_lang="en", target_lang="is")
TEXTS = {name: form for name, form in FORMATS.items() if form.name not in BINARY}
ALL = pytest.mark.parametrize("form", TEXTS.values(), ids=TEXTS)


def read(form: Format, path: Path) -> list[Segment]:
    return list(form.read(path, PAIR))


@ALL
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xe9\n", r"file:2:1: byte 0xE9 is not UTF-8; convert the file first, e\.g\. iconv"),
        (b"ab\xed\xa0\xbd\n", r"file:2:3: a lone surrogate"),
        (b"ab\xed", r"file:2:3: byte 0xED is not UTF-8"),
        ("source\n".encode("utf-16-be"), r"file:1:1: a NUL byte"),
    ],
)
def test_what_is_not_utf8_text_is_refused_with_line_and_byte(
    form: Format, content: bytes, reason: str, tmp_path: Path
) -> None:
    head = (
        b"" if "UTF-16" in reason or "NUL" in reason else b'{"source": "a"}\n' if "jsonl" in form.name else b"source\n"
    )
    (tmp_path / "file").write_bytes(head + content)
    with pytest.raises(InputError, match=reason):
        read(form, tmp_path / "file")


@pytest.mark.parametrize("name", ["lines", "jsonl", "jsonl-lenient"])
def test_utf16_is_for_tables_only(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("å\n".encode("utf-16"))
    with pytest.raises(InputError, match="file:1: is UTF-16; convert it first: iconv -f UTF-16"):
        read(FORMATS[name], tmp_path / "file")


@pytest.mark.parametrize("encoding", [None, "utf-16-le", "windows-1252"])
def test_a_table_in_utf16_that_is_cut_off_is_not_taken_for_another_encoding(
    encoding: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("source,target\na,å\n".encode("utf-16")[:-1])
    reader = formats.with_columns(FORMATS["csv"], path, {}, encoding)

    with pytest.raises(InputError, match=r"a\.csv:2: is UTF-16 by its byte order mark.*cut off: restore it") as refused:
        read(reader, path)

    assert "--encoding" not in str(refused.value)
    path.write_bytes("source,target\na,å\n".encode("utf-16-le")[:-1])  # without a mark, the option decides
    with pytest.raises(InputError, match="give the right --encoding"):
        read(formats.with_columns(FORMATS["csv"], path, {}, "utf-16-le"), path)


@ALL
def test_a_missing_file_a_folder_and_a_forbidden_file_are_refused(form: Format, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: no such file"):
        read(form, tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"is a directory"):
        read(form, tmp_path)


@ALL
@pytest.mark.parametrize(
    ("name", "reason"),
    [("nowhere/out", "no such file"), ("file/out", "not a directory"), (".", "is a folder; name a file in it")],
)
def test_a_file_that_cannot_be_written_is_an_output_error(form: Format, tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=reason):
        form.write(tmp_path / name, [Result(segment=ONE, text="t")])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@ALL
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full, a device without space")
def test_a_full_device_is_an_output_error(form: Format) -> None:
    with pytest.raises(OutputError, match=r"/dev/full: cannot be written: no space left"):
        form.write(Path("/dev/full"), [Result(segment=ONE, text="t" * 100_000)])


def python(code: str, folder: Path, stdin: bytes = b"") -> str:
    """What a Python process prints that runs ``code`` in ``folder``."""
    environment = {**os.environ, "PYTHONPATH": str(Path(formats.__file__).parents[2]), "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, input=stdin, env=environment, capture_output=True, check=True
    )
    return run.stdout.decode()


@ALL
def test_an_interrupted_run_leaves_the_old_file_and_a_later_one_replaces_it(form: Format, tmp_path: Path) -> None:
    def interrupted() -> Iterator[Result]:
        yield Result(segment=ONE, text="t" * 1_000_000)
        raise KeyboardInterrupt

    (tmp_path / "out").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        form.write(tmp_path / "out", interrupted())
    with pytest.raises(OutputError, match=r"the lone surrogate U\+D83D cannot be written"):
        form.write(tmp_path / "out", [Result(segment=ONE, text="a\ud83d")])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "old"
    for _ in range(2):
        assert form.write(tmp_path / "out", [Result(segment=ONE, text="t")]) == 1
    assert len(read(form, tmp_path / "out")) == 1


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions and links")
def test_permissions_and_symbolic_links_outlive_the_replacement(tmp_path: Path) -> None:
    target, link = tmp_path / "real.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    Lines().write(link, [Result(segment=ONE, text="new")])
    assert link.is_symlink()
    assert target.read_text() == "new\n"
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_and_the_group_outlive_the_replacement(tmp_path: Path) -> None:
    target = tmp_path / "text.txt"
    target.write_text("old")
    os.chown(target, 1234, 2345)
    Lines().write(target, [Result(segment=ONE, text="new")])
    assert (target.read_text(), target.stat().st_uid, target.stat().st_gid) == ("new\n", 1234, 2345)


def test_standard_input_and_output_are_called_minus(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from mtagent.formats import *
form = by_path(Path("-"), "csv")
with spooled(Path("-")) as path:
    segments = form.read(path, SegmentDefaults(source_lang="en", target_lang="is"))
    form.write(Path("-"), (Result(segment=s, text=s.source.upper()) for s in segments), like=path)
"""
    assert python(code, tmp_path, "x,source\r\n1,æ\r\n".encode()) == "x,source,translation\r\n1,æ,Æ\r\n"


@ALL
def test_standard_input_cannot_be_followed_a_second_time(form: Format, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="standard input cannot be read a second time"):
        form.write(tmp_path / "out", [], like=Path("-"))


def alive() -> int:
    """How many segments there are in memory."""
    return sum(isinstance(thing, Segment) for thing in gc.get_objects())


@pytest.mark.parametrize("name", ["lines", "csv", "tsv", "jsonl"])
def test_ten_thousand_segments_pass_through_one_at_a_time(name: str, tmp_path: Path) -> None:
    path, form, rows = tmp_path / "in", FORMATS[name], 10_000
    line = '{"source": "s"}\n' if name == "jsonl" else "s\n"
    path.write_text(("source\n" if name in ("csv", "tsv") else "") + line * rows)
    before, in_memory = alive(), []

    def improved(segments: Iterator[Segment]) -> Iterator[Result]:
        for number, segment in enumerate(segments, start=1):
            if number % (rows // 2) == 0:
                in_memory.append(alive() - before)
            yield Result(segment=segment, text="t")

    assert form.write(path, improved(form.read(path, PAIR)), like=path) == rows
    assert len(in_memory) == 2
    assert max(in_memory) <= 3


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd, where open pipes have names")
@ALL
def test_segments_come_before_the_whole_file_is_there(form: Format) -> None:
    reading, writing = os.pipe()
    line = b'{"source": "s"}\n' if form.name.startswith("jsonl") else b"source\n"
    os.write(writing, line * 4000)
    segments = form.read(Path(f"/dev/fd/{reading}"), PAIR)
    assert [next(segments).id for _ in range(1000)][-1] == "1000"
    os.close(writing)
    assert sum(1 for _ in segments) >= 2999
    os.close(reading)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a.txt dev.src newstest.de test.REF x.qq README", "lines"),
        ("a.tsv b.tab", "tsv"),
        ("a.CSV", "csv"),
        ("a.en.jsonl a.ndjson", "jsonl"),
    ],
)
def test_the_end_of_the_name_tells_the_format_and_any_other_is_lines(names: str, expected: str) -> None:
    assert {formats.by_path(Path(name)).name for name in names.split()} == {expected}
    assert formats.by_path(Path(names.split()[0]), "tsv-quoted").name == "tsv-quoted"


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("a.tmx", "convert it to csv"),
        ("a.odt", r"save its text as \.txt"),
        ("a.ods", r"save it as \.csv"),
        ("README.rst", r"extract its texts to \.txt"),
        ("a.mo", "compiled from"),
        ("a.txt.gz", "decompress it"),
    ],
)
def test_a_file_that_is_known_not_to_be_plain_text_is_refused_with_the_way_out(name: str, way_out: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: is .*, which this command does not read or write; .*{way_out}"):
        formats.by_path(Path(name))
    assert formats.by_path(Path(name), "lines").name == "lines"


@pytest.mark.parametrize("name", ["a.xliff", "a.PO", "a.json", "app_en.arb", "a.xcstrings", "README.md", "a.docx"])
def test_a_localization_file_is_not_read_as_texts(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"{name}: is a localization file: `mtagent postedit FILE` .*without -s"):
        formats.by_path(Path(name))
    assert formats.by_path(Path(name), "lines").name == "lines"


def test_what_no_name_tells_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"standard input or output: .* give --format \(csv, jsonl"):
        formats.by_path(Path("-"))
    with pytest.raises(ConfigError, match="unknown format 'jsnl'; did you mean 'jsonl'"):
        formats.by_path(Path("a.csv"), "jsnl")


PLUGIN = """
class Shout:
    name, suffixes = "shout", (".shout",)
    def read(self, path, defaults=None): return iter(())
    def write(self, path, results, like=None): return 0
SHOUT = Shout()
"""


def install(folder: Path, entry: str) -> None:
    """Put a package into ``folder`` that offers one format."""
    (folder / "shouting.py").write_text(PLUGIN)
    metadata = folder / "shouting-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[mtagent.formats]\nshout = {entry}\n")


def test_another_package_adds_a_format_through_an_entry_point(tmp_path: Path) -> None:
    install(tmp_path, "shouting:SHOUT")
    code = "from pathlib import Path; from mtagent.formats import by_path; print(by_path(Path('a.shout')).name)"
    assert python(code, tmp_path) == "shout\n"


def test_an_entry_point_that_is_no_format_is_a_config_error(tmp_path: Path) -> None:
    install(tmp_path, "shouting:Shout.suffixes")
    code = "from pathlib import Path; from mtagent.formats import by_path; by_path(Path('a'), 'shout')"
    with pytest.raises(subprocess.CalledProcessError) as raised:
        python(code, tmp_path)
    said = b"ConfigError: the format 'shout' (shouting:Shout.suffixes) lacks a name, suffixes, read or write"
    assert said in raised.value.stderr


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs Linux's /proc/self/mem, which opens but fails")
def test_a_file_that_opens_but_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    broken = Path("/proc/self/mem")
    for form in (*TEXTS.values(), Lines(translation=broken)):
        with pytest.raises(InputError, match=r"/proc/self/mem: input/output error"):
            read(form, broken)
