"""The index of the user's notes: what goes in, what is found, and the command around it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import InputError, StoreError
from mtagent.evaluators.knowledge import LONGEST, Added, Entry, Knowledge, match, read_notes
from tests.commands import Shell

BANK = Entry(title="Bank", text="A house for money. Banks lend it.", line=1)
RIVER = Entry(title="River bank", text="Land beside a river.", line=4, language="en")


@pytest.fixture
def knowledge(tmp_path: Path) -> Iterator[Knowledge]:
    with Knowledge(tmp_path / "folder" / "knowledge.db", writing=True) as opened:
        yield opened


def titles(knowledge: Knowledge, query: str, limit: int = 5) -> list[str]:
    return [result.title for result in knowledge.search(query, limit)]


def test_the_best_match_comes_first_with_its_place(knowledge: Knowledge) -> None:
    others = [Entry(title=f"Note {n}", text="Water and sand.") for n in range(9)]
    knowledge.add("notes.md", [RIVER, BANK, *others])
    results = knowledge.search("the money of a bank")
    assert [(result.title, result.source) for result in results] == [
        ("Bank", "notes.md:1"),
        ("River bank", "notes.md:4"),
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
def test_words_of_every_script_are_found(knowledge: Knowledge, text: str, query: str) -> None:
    knowledge.add("a", [Entry(title="x", text=text), Entry(title="other", text="nothing 无关 of the kind")])
    assert titles(knowledge, query) == ["x"]


@pytest.mark.parametrize(
    "query",
    ['"bank', "bank OR", "* bank", "NEAR(bank", "bank NOT river", "title:bank", "-bank", "^bank", "{title} : bank",
     "bank AND", "bank'; DROP TABLE entries; --", "(bank", "bank)", "bank + + ", "a\0bank", '""" bank """'],
)  # fmt: skip
def test_a_query_is_never_syntax(knowledge: Knowledge, query: str) -> None:
    knowledge.add("a", [BANK])
    assert titles(knowledge, query) == ["Bank"]
    assert knowledge.sources() == [("a", 1)]


@pytest.mark.parametrize("query", ["", "   ", "*", '"', "...", "–", "😀", "OR", "NOT", "NEAR"])
def test_a_query_without_a_known_word_finds_nothing(knowledge: Knowledge, query: str) -> None:
    knowledge.add("a", [BANK])
    assert titles(knowledge, query) == []


@given(st.text(max_size=60))
def test_no_query_breaks_the_search(query: str) -> None:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'ascii')")
        if matched := match(query):
            connection.execute("SELECT * FROM words WHERE words MATCH ?", (matched,)).fetchall()
    finally:
        connection.close()


def test_adding_again_changes_nothing(knowledge: Knowledge) -> None:
    assert knowledge.add("a", [BANK, RIVER, BANK]) == Added(entries=2, new=2, gone=0)
    assert knowledge.add("a", [BANK, RIVER]) == Added(entries=2, new=0, gone=0)
    assert sorted(titles(knowledge, "bank")) == ["Bank", "River bank"]
    assert knowledge.sources() == [("a", 2)]


def test_a_changed_source_replaces_its_entries_and_only_its(knowledge: Knowledge) -> None:
    knowledge.add("a", [BANK, RIVER])
    knowledge.add("b", [Entry(title="Lake", text="A bank of sand.")])
    moved = BANK.model_copy(update={"line": 9})
    assert knowledge.add("a", [moved]) == Added(entries=1, new=0, gone=1)
    assert {result.source for result in knowledge.search("bank")} == {"a:9", "b"}
    assert knowledge.search("river") == []


def test_the_same_content_of_two_sources_is_found_once(knowledge: Knowledge) -> None:
    knowledge.add("a", [BANK])
    knowledge.add("b", [BANK])
    assert titles(knowledge, "bank") == ["Bank"]
    assert knowledge.remove("a") == 1
    assert [result.source for result in knowledge.search("bank")] == ["b:1"]


def test_removing_what_is_not_there_is_an_error(knowledge: Knowledge) -> None:
    with pytest.raises(StoreError, match="no source 'x'; `mtagent knowledge list` shows them"):
        knowledge.remove("x")


def test_a_failing_add_leaves_the_former_entries(knowledge: Knowledge) -> None:
    knowledge.add("a", [BANK])
    with pytest.raises(StoreError, match=r"U\+D800 is half of a character"):
        knowledge.add("a", [RIVER, Entry.model_construct(title="x", text="\ud800", line=None, language=None)])
    assert titles(knowledge, "bank") == ["Bank"]


def test_a_locked_file_says_so(knowledge: Knowledge) -> None:
    with sqlite3.connect(knowledge.path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process keeps it locked; try again later"):
            Knowledge(knowledge.path, writing=True, wait=0.05)
        with Knowledge(knowledge.path, wait=0.05) as reading:
            assert reading.sources() == []
    other.close()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_file_says_so(knowledge: Knowledge) -> None:
    knowledge.path.chmod(0o444)
    with pytest.raises(StoreError, match="is read-only; choose another file with --knowledge FILE"):
        Knowledge(knowledge.path, writing=True)
    with Knowledge(knowledge.path) as reading:
        assert reading.sources() == []


@pytest.mark.parametrize("name", ["taken", "taken/below/k.db", "folder"])
def test_a_place_that_cannot_hold_it_says_so(tmp_path: Path, name: str) -> None:
    (tmp_path / "taken").write_text("a text, and no database at all " * 50)
    (tmp_path / "folder").mkdir()
    with pytest.raises(
        StoreError, match=r"(is not a SQLite database|folder cannot be made|cannot be opened).*--knowledge FILE"
    ):
        Knowledge(tmp_path / name, writing=True)


def test_the_store_of_runs_is_not_taken_for_knowledge(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "store.db") as other:
        other.execute("CREATE TABLE runs (x)")
    other.close()
    with pytest.raises(StoreError, match="holds no knowledge, but something else"):
        Knowledge(tmp_path / "store.db", writing=True)


def test_an_index_of_another_version_is_not_searched(knowledge: Knowledge) -> None:
    knowledge.close()
    with sqlite3.connect(knowledge.path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(StoreError, match="was made by another version of mtagent; delete it and add its sources again"):
        Knowledge(knowledge.path)


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


def test_a_word_in_the_title_counts_more_than_in_the_text(tmp_path: Path) -> None:
    with Knowledge(tmp_path / "k.db", writing=True) as knowledge:
        filler = [Entry(title=f"Note {n}", text="Water and sand.") for n in range(9)]
        entries = [Entry(title="Money", text="A bank beside a bank."), Entry(title="Bank", text="A house of money.")]
        knowledge.add("n", [*entries, *filler])
        assert titles(knowledge, "bank")[0] == "Bank"


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
    entries = read_notes(written(tmp_path, "n.jsonl", content), title="T")
    assert entries == [
        Entry(title="T", text="a", line=1),
        Entry(title="B", text="b", line=2, language="zh"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("n.pdf", "x", r"n\.pdf: notes are \.csv \.jsonl \.markdown \.md"),
        ("n.md", " \n# Heading alone\n", r"n\.md: there is no text in it"),
        ("n.csv", "", r"n\.csv: there is no text in it"),
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


def test_the_command_adds_lists_searches_and_removes(shell: Shell) -> None:
    notes = shell.write("slang.md", "# 夺笋", "Harsh, sarcastic.", "", "# Bank", "Money.")
    done = shell("knowledge add slang.md")
    assert (done.code, done.out, done.err) == (0, "", f"{notes}: 2 entries, 2 new, 0 gone\n")
    assert shell("knowledge add", str(notes)).err == f"{notes}: 2 entries, 0 new, 0 gone\n"
    assert (shell.folder / "knowledge.db").is_file()  # beside the store
    assert shell("knowledge list").out == f"{notes}\t2\n"
    assert shell("knowledge search 夺笋").out == f"{notes}:2: 夺笋\n    Harsh, sarcastic.\n\n"
    assert shell("knowledge search --limit 1 bank sarcastic").out.count(str(notes)) == 1
    assert shell("knowledge search mountain") == (0, "", "nothing found\n")
    assert shell("knowledge remove slang.md").code == 0
    assert shell("knowledge list").out == ""


def test_the_command_keeps_several_indexes(shell: Shell) -> None:
    shell.write("a.txt", "Money.")
    assert shell("knowledge add a.txt --title Bank --knowledge mine.db").code == 0
    assert shell("knowledge search bank --knowledge mine.db").out.endswith("a.txt:1: Bank\n    Money.\n\n")
    done = shell("knowledge search bank")
    assert (done.code, done.out) == (1, "")
    assert "there is no knowledge yet; `mtagent knowledge add FILE` makes it" in done.err


def test_a_bad_file_among_good_ones_adds_nothing(shell: Shell) -> None:
    shell.write("a.txt", "Money.")
    shell.write("b.jsonl", "{")
    done = shell("knowledge add a.txt b.jsonl")
    assert done.code == 1
    assert "b.jsonl:1" in done.err
    assert "no knowledge yet" in shell("knowledge list").err
