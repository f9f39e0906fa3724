"""The paper's Algorithm 1, damage included: what it does wrong, it must do wrong here too, and nowhere else."""

import pytest

from mtagent.chain.algorithm1 import substitute
from mtagent.records import ErrorSpan


def run(text: str, *changes: tuple[str, str]) -> str:
    errors = [ErrorSpan(text=old, category="style", severity="minor", suggestion=new) for old, new in changes]
    return substitute(text, errors)[0]


@pytest.mark.parametrize(
    ("text", "change", "wrong"),
    [
        ("We like the bank because the bank pays", ("the bank", "a firm"), "We like a firm because a firm pays"),
        ("Bank rates rose and Bank holidays fell", ("Bank", "Firm"), "Bank rates rose and Firm holidays fell"),
        ("The category of the cat, clearly.", ("cat", "dog"), "The dogegory of the dog, clearly."),
        ("He artfully sold art.", ("art", "paintings"), "He paintingsfully sold paintings."),
        ("go go go go home", ("go", "run"), "go run go run home"),
        ("bad path", ("bad", r"C:\new"), "C:\new path"), ("他有三本书", ("三", "四"), "他有三本书"),
        ("中国人民银行", ("中国人", "外国人"), "外国人民银行"),
        ("a very good day", ("very", ""), "a very good day"),
    ],
)  # fmt: skip
def test_the_known_damage_is_reproduced(text: str, change: tuple[str, str], wrong: str) -> None:
    assert run(text, change) == wrong


@pytest.mark.parametrize(
    ("text", "changes", "wrong"),
    [
        ("red car", [("red", "dark red"), ("dark", "light")], "light red car"),
        ("New York City is big", [("New York", "Boston"), ("New York City", "NYC")], "Boston City is big"),
        ("New York City is big", [("New York City", "NYC"), ("New York", "Boston")], "NYC is big"),
        ("one two", [("one", "1"), ("one", "I")], "I two"),
    ],
)
def test_edits_disturb_each_other(text: str, changes: list[tuple[str, str]], wrong: str) -> None:
    assert run(text, *changes) == wrong


def test_a_template_error_drops_all_edits_and_each_says_so() -> None:
    errors = [
        ErrorSpan(text=old, category="style", severity="minor", suggestion=new)
        for old, new in [("one", "1"), ("two", r"C:\1")]
    ]
    text, edits = substitute("one two", errors)
    assert text == "one two"
    assert [edit.outcome for edit in edits] == ["not-found", "not-found"]
    assert all("drops all edits" in (edit.detail or "") for edit in edits)


def test_what_was_not_found_is_not_listed_as_applied() -> None:
    _, edits = substitute("text", [ErrorSpan(text="nope", category="x", severity="minor", suggestion="y")])
    assert [edit.outcome for edit in edits] == ["not-found"]


def test_separators_are_restored_where_the_paragraphs_match() -> None:
    assert run("One bad.\n\nTwo.", ("bad", "good")) == "One good.\n\nTwo."
