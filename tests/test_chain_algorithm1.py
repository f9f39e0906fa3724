"""The paper's Algorithm 1, damage included: what it does wrong, it must do wrong here too, and nowhere else."""

import pytest

from mtagent.chain.correct import substitute
from mtagent.records import Edit, ErrorSpan


def run(text: str, changes: list[tuple[str, str]]) -> tuple[str, tuple[Edit, ...]]:
    errors = [ErrorSpan(text=old, category="style", severity="minor", suggestion=new) for old, new in changes]
    return substitute(text, errors)


NEW_YORK = "New York City is big"


@pytest.mark.parametrize(
    ("text", "changes", "wrong"),
    [
        ("We like the bank because the bank pays", [("the bank", "a firm")], "We like a firm because a firm pays"),
        ("Bank rates rose and Bank holidays fell", [("Bank", "Firm")], "Bank rates rose and Firm holidays fell"),
        ("The category of the cat, clearly.", [("cat", "dog")], "The dogegory of the dog, clearly."),
        ("He artfully sold art.", [("art", "paintings")], "He paintingsfully sold paintings."),
        ("go go go go home", [("go", "run")], "go run go run home"),
        ("bad path", [("bad", r"C:\new")], "C:\new path"),
        ("他有三本书", [("三", "四")], "他有三本书"),
        ("中国人民银行", [("中国人", "外国人")], "外国人民银行"),
        ("a very good day", [("very", "")], "a very good day"),
        ("red car", [("red", "dark red"), ("dark", "light")], "light red car"),
        (NEW_YORK, [("New York", "Boston"), ("New York City", "NYC")], "Boston City is big"),
        (NEW_YORK, [("New York City", "NYC"), ("New York", "Boston")], "NYC is big"),
        ("one two", [("one", "1"), ("one", "I")], "I two"),
    ],
)
def test_the_known_damage_is_reproduced(text: str, changes: list[tuple[str, str]], wrong: str) -> None:
    assert run(text, changes)[0] == wrong


def test_a_template_error_drops_all_edits_and_each_says_so() -> None:
    text, edits = run("one two", [("one", "1"), ("two", r"C:\1")])
    assert (text, [edit.outcome for edit in edits]) == ("one two", ["not-found", "not-found"])
    assert all("drops all edits" in (edit.detail or "") for edit in edits)


def test_what_was_not_found_is_not_listed_as_applied() -> None:
    assert [edit.outcome for edit in run("text", [("nope", "y")])[1]] == ["not-found"]


def test_separators_are_restored_where_the_paragraphs_match() -> None:
    assert run("One bad.\n\nTwo.", [("bad", "good")])[0] == "One good.\n\nTwo."
