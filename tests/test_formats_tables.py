"""What all tables share: delimiter, quotes, header, and errors that name the line and the way out."""

from pathlib import Path
from typing import Any

import pytest

from mtagent.errors import InputError
from mtagent.formats.tables import open_table

NEEDED = ("a", "b")


@pytest.mark.parametrize(
    ("content", "options", "records"),
    [
        ("a,b\n1,2\n", {}, [("2", {"a": "1", "b": "2"})]),
        ("a;b\n1;2,5\n", {}, [("2", {"a": "1", "b": "2,5"})]),
        # the first delimiter that yields the columns, not the first that is there
        ("a;b;x,y\n1;2;3\n", {}, [("2", {"a": "1", "b": "2", "x,y": "3"})]),
        ('"a"\t"b"\n"1\n"\t2\n', {"delimiters": "\t"}, [("2", {"a": "1\n", "b": "2"})]),
        ('a\tb\n"1\t2\n', {"delimiters": "\t"}, [("2", {"a": '"1', "b": "2"})]),
        (
            ' A ,"b"\n1,2\n',
            {"quoted": True, "plain": lambda name: name.strip().casefold()},
            [("2", {"a": "1", "b": "2"})],
        ),
        ('"a","b","c\nd"\n1,2,3\n', {"quoted": True}, [("3", {"a": "1", "b": "2", "c\nd": "3"})]),
        ("sep=;\na;b\n1;2\n", {"separator_line": True}, [("3", {"a": "1", "b": "2"})]),
        ("1,2\n3,4\n", {"columns": NEEDED}, [("1", {"a": "1", "b": "2"}), ("2", {"a": "3", "b": "4"})]),
        ("\ufeffa,b\r\n1,2\r\n\r\n", {}, [("2", {"a": "1", "b": "2"})]),
    ],
)
def test_the_header_tells_how_the_rows_are_read(
    tmp_path: Path, content: str, options: dict[str, Any], records: list[tuple[str, dict[str, str]]]
) -> None:
    path = tmp_path / "t"
    path.write_text(content, encoding="utf-8", newline="")
    table = open_table(path, **{"delimiters": ",;", "quoted": None, "required": NEEDED} | options)
    table.require(NEEDED)
    assert [(where.rpartition(":")[2], cells) for where, cells in table.records()] == records


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", r"t: is empty; the first line must name the columns"),
        ("bb;x\n", r"t:1: no column 'a' among 'bb', 'x'; did you mean 'b'\?"),
        ("xyz,b\n", r"t:1: no column 'a' among 'xyz', 'b'; the first line must name the columns"),
        ("a,b,aa\n", r"t:1: unknown column 'aa'; the columns are a, b, text"),
        ("a,b,texts\n", r"t:1: unknown column 'texts'; did you mean 'text'\?"),
        ("a,b,b\n", r"t:1: two columns are called 'b'; keep one"),
        ("a,b,,\n", r"t:1: unknown column ''"),
        ('"a,b\n', r"t:1: a quote opens here and is never closed"),
        ("a,b\n1,2\n\n3,4\n", r"t:3: an empty line between the rows; delete it"),
        ("a,b\n1,\0\n", r"t:2:3: a NUL byte"),
    ],
)
def test_an_error_names_the_line_and_the_way_out(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "t"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=reason):
        read_strictly(path)


def read_strictly(path: Path) -> None:
    table = open_table(path, ",;", quoted=True, required=NEEDED)
    table.require(NEEDED)
    table.refuse_unknown((*NEEDED, "text"))
    table.refuse_repeated()
    list(table.records())


def test_columns_without_a_name_may_repeat_where_they_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("a,,\n", encoding="utf-8")
    table = open_table(path, ",", quoted=True)
    table.refuse_repeated(nameless=False)
    with pytest.raises(InputError, match=r"t:1: two columns are called ''"):
        table.refuse_repeated()
