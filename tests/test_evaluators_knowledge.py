"""The index of the user's notes: what goes in, and what is found."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import InputError
from mtagent.evaluators.search import LONGEST, Entry, Knowledge, match, read_notes

BANK = Entry(title="Bank", text="A house for money. Banks lend it.")
RIVER = Entry(title="River bank", text="Land beside a river.")
Noted = Callable[..., Knowledge]


@pytest.fixture
def noted(tmp_path: Path) -> Noted:
    """Makes an index of files with these entries, by name."""

    def make(**files: Sequence[Entry]) -> Knowledge:
        paths = []
        for name, entries in files.items():
            objects = [json.dumps({"title": entry.title, "text": entry.text}) for entry in entries]
            paths.append(written(tmp_path, f"{name}.jsonl", "\n".join(objects)))
        return Knowledge(paths)

    return make


def titles(knowledge: Knowledge, query: str, limit: int = 5) -> list[str]:
    return [result.title for result in knowledge.search(query, limit)]


def test_the_best_match_comes_first_with_its_place(noted: Noted, tmp_path: Path) -> None:
    others = [Entry(title=f"Note {n}", text="Water and sand.") for n in range(9)]
    knowledge = noted(notes=[RIVER, BANK, *others])
    results = knowledge.search("the money of a bank")
    assert [(result.title, result.source) for result in results] == [
        ("Bank", f"{tmp_path}/notes.jsonl:2"),
        ("River bank", f"{tmp_path}/notes.jsonl:1"),
    ]
    assert titles(knowledge, "river bank", limit=1) == ["River bank"]
    assert titles(knowledge, "mountain") == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("真是太夺笋了", "夺笋"),
        ("真是太夺笋了", "太夺"),
        ("真是太夺笋了", "笋"),
        ("夺笋", "夺笋"),
        ("他说:“夺笋”。", "夺笋 网络用语"),
        ("銀行に行きました", "銀行"),
        ("コーヒーを飲む", "コーヒー"),
        ("ｺｰﾋｰを飲む", "コーヒー"),  # half-width
        ("은행은 돈을 맡기는 곳", "은행"),
        ("ภาษาไทยเป็นภาษาราชการ", "ไทย"),
        ("မြန်မာဘာသာ", "ဘာသာ"),
        ("हिन्दी भाषा में", "भाषा"),
        ("Der Straßenbau", "STRASSENBAU"),
        ("un cafe\u0301 noir", "caf\u00e9"),
        ("bankovního účtu", "bankovní"),
        ("the banks", "bank"),
        ("the bank", "banks"),
        ("GPT-4o costs 5 dollars", "gpt-4o"),
        ("𠮷野家", "𠮷野"),
        ("snake_case names", "snake_case"),
    ],
)
def test_words_of_every_script_are_found(noted: Noted, text: str, query: str) -> None:
    knowledge = noted(a=[Entry(title="x", text=text), Entry(title="other", text="nothing 无关 of the kind")])
    assert titles(knowledge, query) == ["x"]


@pytest.mark.parametrize(
    "query",
    ['"bank', "bank OR", "* bank", "NEAR(bank", "bank NOT river", "title:bank", "-bank", "^bank", "{title} : bank",
     "bank AND", "bank'; DROP TABLE words; --", "(bank", "bank)", "bank + + ", "a\0bank", '""" bank """'],
)  # fmt: skip
def test_a_query_is_never_syntax(noted: Noted, query: str) -> None:
    knowledge = noted(a=[BANK])
    assert titles(knowledge, query) == ["Bank"]
    assert titles(knowledge, "bank") == ["Bank"]


@pytest.mark.parametrize("query", ["", "   ", "*", '"', "...", "–", "😀", "OR", "NOT", "NEAR"])
def test_a_query_without_a_known_word_finds_nothing(noted: Noted, query: str) -> None:
    assert titles(noted(a=[BANK]), query) == []


@given(st.text(max_size=60))
def test_no_query_breaks_the_search(query: str) -> None:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'ascii')")
        if matched := match(query):
            connection.execute("SELECT * FROM words WHERE words MATCH ?", (matched,)).fetchall()
    finally:
        connection.close()


def test_equal_entries_of_several_files_are_found_once(noted: Noted, tmp_path: Path) -> None:
    knowledge = noted(a=[BANK, BANK, RIVER], b=[BANK])
    assert len(knowledge) == 2
    assert sorted(titles(knowledge, "bank")) == ["Bank", "River bank"]
    assert {result.source for result in knowledge.search("money")} == {f"{tmp_path}/a.jsonl:1"}


def test_the_hash_is_of_the_entries_and_not_of_their_order_or_files(noted: Noted) -> None:
    both = noted(a=[BANK, RIVER]).digest
    assert noted(a=[RIVER], b=[BANK]).digest == both
    assert noted(a=[BANK]).digest != both


def test_a_folder_is_read_whole_apart_from_files_that_hold_no_notes(tmp_path: Path) -> None:
    written(tmp_path, "a.md", "# Bank\nMoney.")
    written(tmp_path, "b.txt", "Land beside a river.")
    written(tmp_path, "picture.png", "x")
    assert len(Knowledge([tmp_path])) == 2


def test_half_a_character_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = written(tmp_path, "n.jsonl", '{"text": "a"}\n{"text": "\\ud800"}\n')
    with pytest.raises(InputError, match=r"n\.jsonl:2"):
        Knowledge([path])


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8", newline="")
    return path


def cut(folder: Path, name: str, content: str) -> list[tuple[str, str, int | None]]:
    return [(entry.title, entry.text, entry.line) for entry in read_notes(written(folder, name, content))]


def test_markdown_is_cut_at_its_headings(tmp_path: Path) -> None:
    content = "Before.\n\n# Slang #\n\n夺笋: harsh.\nMore.\n\n## Old\nx\n\n````sh\n# no\n```\n````\n# Law\n\n#tag\n# \n"
    assert cut(tmp_path, "notes.md", "\ufeff" + content) == [
        ("notes", "Before.", 1),
        ("Slang", "夺笋: harsh.\nMore.", 5),
        ("Slang › Old", "x\n\n````sh\n# no\n```\n````", 9),
        ("Law", "#tag", 17),
    ]


def test_a_word_in_the_title_counts_more_than_in_the_text(noted: Noted) -> None:
    filler = [Entry(title=f"Note {n}", text="Water and sand.") for n in range(9)]
    entries = [Entry(title="Money", text="A bank beside a bank."), Entry(title="Bank", text="A house of money.")]
    assert titles(noted(n=[*entries, *filler]), "bank")[0] == "Bank"


def test_a_long_section_is_cut_between_paragraphs(tmp_path: Path) -> None:
    paragraphs = [letter * (LONGEST // 2) for letter in "abc"] + ["d" * 3 * LONGEST]
    entries = read_notes(written(tmp_path, "n.md", "# T\n\n" + "\n\n".join(paragraphs)))
    assert [len(entry.text) for entry in entries] == [LONGEST // 2, LONGEST // 2, LONGEST // 2, 3 * LONGEST]
    assert "".join(entry.text for entry in entries) == "".join(paragraphs)


def test_plain_text_is_cut_into_paragraphs(tmp_path: Path) -> None:
    content = "\n one\r\ntwo\n \t\n\nthree\u2028four"
    assert cut(tmp_path, "n.txt", content) == [("n", " one\ntwo", 2), ("n", "three\u2028four", 6)]


def test_a_glossary_keeps_its_notes(tmp_path: Path) -> None:
    content = 'source,target,note,forbidden\nbank,"Ufer, das",river,\nbank,Bank,,yes\n'
    assert cut(tmp_path, "g.csv", content) == [
        ("bank", "source: bank\ntarget: Ufer, das\nnote: river", 2),
        ("bank", "source: bank\ntarget: Bank\nforbidden: yes", 3),
    ]


def test_any_table_will_do(tmp_path: Path) -> None:
    content = 'name\tTitle\tlanguage\n5" disk\tDisk\ten\n\t\tde\n'
    entries = read_notes(written(tmp_path, "t.tsv", content))
    assert entries == [Entry(title="Disk", text='name: 5" disk\nTitle: Disk', line=2, language="en")]


def test_json_lines(tmp_path: Path) -> None:
    content = '{"text": "a"}\n{"text": "b", "title": "B", "language": "zh", "line": null}\n'
    entries = read_notes(written(tmp_path, "n.jsonl", content))
    assert entries == [
        Entry(title="n", text="a", line=1),
        Entry(title="B", text="b", line=2, language="zh"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("n.pdf", "x", r"n\.pdf: notes are \.csv \.jsonl \.markdown \.md"),
        ("n.md", " \n# Heading alone\n", r"n\.md: has no text"),
        ("n.csv", "", r"n\.csv: is empty; the first line must name the columns"),
        ("n.csv", "a,b\n1\n", r"n\.csv:2: 1 columns instead of 2"),
        ("g.csv", "source,target,forbidden\na,b,maybe\n", r"g\.csv:2: forbidden is 'maybe'"),
        ("n.jsonl", "{}\n", r"n\.jsonl:1: field 'text': field required; an entry has text, title, language"),
        ("n.jsonl", '{"text": "a"}\n{"text": "a", "body": 1}\n', r"n\.jsonl:2: field 'body'"),
        ("n.jsonl", '{"text": "a"}\n[]\n', r"n\.jsonl:2: a line must hold an object"),
        ("n.jsonl", "{text}\n", r"n\.jsonl:1:2: not JSON"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, name: str, content: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        cut(tmp_path, name, content)
