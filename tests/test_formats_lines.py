"""Line-aligned text: exact lines, aligned files, and no text that could shift the lines after it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtagent.errors import InputError, OutputError
from mtagent.formats import Lines, Result, SegmentDefaults, read_lines
from mtagent.records import Segment

PAIR = SegmentDefaults(source_lang="en", target_lang="is")
ONE_LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n"), max_size=30).filter(
    lambda text: not text.endswith("\r")
)


def file(folder: Path, content: bytes, name: str = "source.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def sources(path: Path) -> list[str]:
    return [segment.source for segment in read_lines(path, defaults=PAIR)]


def results(texts: Iterable[str]) -> list[Result]:
    return [
        Result(segment=Segment(id=str(number), source="s", source_lang="en", target_lang="is"), text=text)
        for number, text in enumerate(texts, start=1)
    ]


def test_source_translation_and_reference_are_read_side_by_side(tmp_path: Path) -> None:
    source = file(tmp_path, b"one\ntwo\n")
    translation = file(tmp_path, b"einn\ntveir\n", "translation.txt")
    reference = file(tmp_path, "einn\ntvö\n".encode(), "reference.txt")
    first, second = read_lines(source, translation, reference, SegmentDefaults(**PAIR.model_dump(exclude={"domain"})))
    assert (first.id, first.source, first.translation, first.reference) == ("1", "one", "einn", "einn")
    assert (second.id, second.translation, second.reference) == ("2", "tveir", "tvö")
    assert (second.source_lang, second.target_lang) == ("en", "is")


def test_defaults_for_document_and_domain_reach_every_segment(tmp_path: Path) -> None:
    defaults = PAIR.model_copy(update={"document": "d", "domain": "news"})
    assert [(one.document, one.domain) for one in read_lines(file(tmp_path, b"a\nb\n"), defaults=defaults)] == [
        ("d", "news"),
        ("d", "news"),
    ]


def test_different_numbers_of_lines_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    source, translation = file(tmp_path, b"one\ntwo\n"), file(tmp_path, b"einn\n", "translation.txt")
    with pytest.raises(InputError, match=r"source\.txt has 2, .*translation\.txt has 1"):
        read_lines(source, translation, defaults=PAIR)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("einn\ntveir\n\u0a61\n".encode("utf-16"), r"translation\.txt:1: is UTF-16; convert it first: iconv"),
        ("einn\ntveir\n\u0a61\n".encode("utf-16-be"), r"translation\.txt:1:1: a NUL byte; .*UTF-16"),
        ("einn\ntveir\nþrír\n".encode("latin-1"), r"translation\.txt:3:1: byte 0xFE is not UTF-8; convert"),
    ],
)
def test_a_wrong_encoding_is_named_before_the_numbers_of_lines(tmp_path: Path, content: bytes, message: str) -> None:
    source, translation = file(tmp_path, b"one\ntwo\n"), file(tmp_path, content, "translation.txt")
    with pytest.raises(InputError, match=message):
        read_lines(source, translation, defaults=PAIR)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd, where open pipes have names")
def test_a_pipe_that_ends_too_early_is_refused_when_it_ends(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"einn\n")
    os.close(writing)
    segments = read_lines(file(tmp_path, b"one\ntwo\n"), Path(f"/dev/fd/{reading}"), defaults=PAIR)
    assert next(segments).translation == "einn"
    with pytest.raises(InputError, match=r"/dev/fd/\d+: ends after 1 lines"):
        next(segments)
    os.close(reading)


def test_only_one_file_can_be_standard_input() -> None:
    with pytest.raises(InputError, match="only one of the files can be standard input"):
        read_lines(Path("-"), Path("-"), defaults=PAIR)


def test_a_missing_language_is_refused_with_the_option_to_give(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"source\.txt:1: no target_lang; .*--target-lang"):
        next(read_lines(file(tmp_path, b"one\n"), defaults=SegmentDefaults(source_lang="en")))


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\xa0", "\ufeff"])
def test_only_a_line_feed_ends_a_line(tmp_path: Path, inside: str) -> None:
    assert sources(file(tmp_path, f"one{inside}two\nthree\n".encode())) == [f"one{inside}two", "three"]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"\n\na\n", ["", "", "a"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\nb\r\nc", ["a", "b", "c"]),
        (b" a \n", [" a "]),
        (b"None\nNA\nnull\nnan\n", ["None", "NA", "null", "nan"]),
    ],
)
def test_line_ends_marks_and_empty_lines_are_read_exactly(tmp_path: Path, content: bytes, texts: list[str]) -> None:
    assert sources(file(tmp_path, content)) == texts


@pytest.mark.parametrize(
    "content", [b"a\nb\n", b"a\nb", b"\xef\xbb\xbfa\r\nb\r\n", b"a\nb\r\nc\r\n\n", b"\xef\xbb\xbf\xef\xbb\xbfa\n", b""]
)
def test_unchanged_texts_give_the_same_bytes(tmp_path: Path, content: bytes) -> None:
    source = file(tmp_path, content)
    output = tmp_path / "output.txt"
    assert Lines().write(output, results(sources(source)), like=source) == len(sources(source))
    assert output.read_bytes() == content


def test_byte_order_mark_and_line_ends_of_the_input_are_kept_for_new_texts(tmp_path: Path) -> None:
    source = file(tmp_path, b"\xef\xbb\xbfa\r\nb")
    Lines().write(source, results(["x", "y"]), like=source)
    assert source.read_bytes() == b"\xef\xbb\xbfx\r\ny"


def test_an_empty_text_in_an_unfinished_last_line_stays_a_line(tmp_path: Path) -> None:
    source = file(tmp_path, b"a\nb")
    Lines().write(source, results(["x", ""]), like=source)
    assert sources(source) == ["x", ""]


@pytest.mark.parametrize("text", ["one\ntwo", "one\n", "\n", "one\r", "one\r\n"])
def test_a_text_with_a_line_break_is_refused_and_the_old_file_stays(tmp_path: Path, text: str) -> None:
    output = file(tmp_path, b"old\n", "output.txt")
    with pytest.raises(OutputError, match=r"output\.txt: the text of segment '2' has a line break"):
        Lines().write(output, results(["fine", text]))
    assert output.read_bytes() == b"old\n"


@pytest.mark.parametrize(
    ("texts", "reason"), [(["x"], "the results end after 1"), (["x", "y", "z"], "result 3 is one more")]
)
def test_results_and_lines_must_agree_in_number(tmp_path: Path, texts: list[str], reason: str) -> None:
    with pytest.raises(OutputError, match=reason):
        Lines().write(tmp_path / "output.txt", results(texts), like=file(tmp_path, b"a\nb\n"))
    assert not (tmp_path / "output.txt").exists()


def test_results_in_another_order_than_the_lines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"result 1 is for segment '2', but .*:1 holds segment '1'"):
        Lines().write(tmp_path / "output.txt", results(["x", "y"])[::-1], like=file(tmp_path, b"a\nb\n"))


@settings(max_examples=60)
@given(st.lists(ONE_LINE, max_size=6))
def test_any_texts_written_as_lines_are_read_back_the_same(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.txt")
        assert Lines().write(path, results(texts)) == len(texts)
        assert sources(path) == texts


@settings(max_examples=60)
@given(st.lists(st.tuples(ONE_LINE, st.sampled_from(["\n", "\r\n"])), max_size=6), st.booleans())
def test_any_mixture_of_line_ends_is_kept(lines: list[tuple[str, str]], mark: bool) -> None:
    content = ("\ufeff" if mark and lines else "") + "".join(text + end for text, end in lines)
    with tempfile.TemporaryDirectory() as folder:
        path = file(Path(folder), content.encode())
        Lines().write(path, results(sources(path)), like=path)
        assert path.read_bytes() == content.encode()
