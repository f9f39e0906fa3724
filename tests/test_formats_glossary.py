"""Glossaries: files with terms, and the terms that a text holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import InputError
from mtagent.formats.glossary import Glossary, read_do_not_translate, read_glossary
from mtagent.records import Term


def file(folder: Path, content: str, name: str = "terms.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


def terms_in(text: str, sources: list[str], case_sensitive: bool = False) -> list[str]:
    glossary = Glossary(Term(source=source, target="x", case_sensitive=case_sensitive) for source in sources)
    return [term.source for term in glossary.relevant(text)]


def test_a_glossary_with_all_columns_is_read(tmp_path: Path) -> None:
    content = "source,target,pos,case,note,forbidden\nbank,Bank,noun,,money,\nApple,Apple,,sensitive,,no\n"
    assert read_glossary(file(tmp_path, content + 'bank,"Ufer, das",,insensitive,river,yes\n')) == (
        Term(source="bank", target="Bank", note="money"),
        Term(source="Apple", target="Apple", case_sensitive=True),
        Term(source="bank", target="Ufer, das", forbidden=True, note="river"),
    )


@pytest.mark.parametrize(
    ("name", "content", "term"),
    [
        ("terms.csv", "\ufeffsource;target\r\na b;c\r\n", ("a b", "c")),
        ("terms.csv", "Target,Source\nc,a b\n", ("a b", "c")),
        ("terms.tsv", "source\ttarget\na b\tc\n", ("a b", "c")),
        ("terms.csv", '"source","target"\n" a b ","c"\n\n', ("a b", "c")),
        ("terms.tsv", 'source\ttarget\n5"\t"fünf"\n', ('5"', '"fünf"')),
    ],
)
def test_delimiters_marks_and_orders_of_columns_are_understood(
    tmp_path: Path, name: str, content: str, term: tuple[str, str]
) -> None:
    assert read_glossary(file(tmp_path, content, name)) == (Term(source=term[0], target=term[1]),)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", r"terms\.csv: is empty"),
        ("source,tarket\n", r"terms\.csv:1: unknown column 'tarket'; did you mean 'target'\?"),
        ("source,zzz\n", r"terms\.csv:1: unknown column 'zzz'; the columns are source, target"),
        ("source,target\n", r"terms\.csv: has a header and no terms"),
        ("source,target,source\n", r"terms\.csv:1: two columns are called 'source'; keep one"),
        ("source,note\n", r"terms\.csv:1: no column 'target' among 'source', 'note'; a glossary has both"),
        ("source,target\na\n", r"terms\.csv:2: 1 columns instead of 2"),
        ("source,target\na,b\n ,c\n", r"terms\.csv:3: the source term is empty"),
        ("source,target\na,\n", r"terms\.csv:2: 'a' has no target; .*do-not-translate list"),
        ("source,target,forbidden\na,b,maybe\n", r"terms\.csv:2: forbidden is 'maybe'; use one of yes, true"),
        ("source,target,case\na,b,upper\n", r"terms\.csv:2: case is 'upper'; use one of sensitive"),
    ],
)
def test_a_defect_is_refused_with_file_and_line(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_glossary(file(tmp_path, content))


def test_a_do_not_translate_list_holds_one_case_sensitive_term_per_line(tmp_path: Path) -> None:
    path = file(tmp_path, "\ufeffApple\r\n\r\n #hashtag \nNew\u2028York\n", "keep.txt")
    assert read_do_not_translate(path) == tuple(
        Term(source=source, target=None, case_sensitive=True) for source in ("Apple", "#hashtag", "New\u2028York")
    )


@pytest.mark.parametrize(
    ("term", "text", "is_there"),
    [
        ("cat", "The cat sat.", True),
        ("cat", "(cat)", True),
        ("cat", "l'cat", True),
        ("cat", "The category of cats", False),
        ("cat", "bobcat", False),
        ("cat", "cat_id", False),
        ("cat", "CAT", True),
        ("New York", "in new york", True),
        ("New York", "in New  York", False),
        ("C++", "C++ and C", True),
        ("C", "C++ and D", True),
        (".NET", "ASP.NET", True),
        ("#x", "a #x b", True),
        ("Straße", "STRASSE", True),
        ("caf\u00e9", "the cafe\u0301.", True),
        ("cafe", "the caf\u00e9", False),
        ("cafe", "the cafe\u0301", False),
        ("5 kg", "15 kg", False),
        ("中国", "我爱中国人", True),
        ("iPhone", "新iPhone手机", True),
        ("ภาษา", "เรียนภาษาไทย", True),
        ("カメラ", "デジタルカメラー", True),
        ("서울", "서울에서", True),
        ("울", "서울", False),
        ("книга", "книгами", False),
        ("हिन्दी", "मैं हिन्दी बोलता", True),
        ("हिन", "हिन्दी", False),
    ],
)
def test_terms_are_found_as_whole_words_where_the_script_has_words(term: str, text: str, is_there: bool) -> None:
    assert terms_in(text, [term]) == ([term] if is_there else [])


def test_a_case_sensitive_term_is_found_in_its_own_case_only() -> None:
    assert terms_in("an apple", ["Apple"], case_sensitive=True) == []
    assert terms_in("an Apple", ["Apple"], case_sensitive=True) == ["Apple"]


def test_overlapping_nested_and_repeated_terms_are_all_found_once_in_the_glossary_s_order() -> None:
    sources = ["York City", "New York City", "New York", "city"]
    assert terms_in("New York City", sources) == sources
    bank, shore = Term(source="bank", target="Bank"), Term(source="bank", target="Ufer", forbidden=True)
    assert Glossary((bank, shore, bank)).relevant("the bank") == (bank, shore)
    assert Glossary([]).relevant("text") == Glossary([bank]).relevant("") == ()


WORDS = st.lists(st.sampled_from(["a", "b", "ab", "ba", "aa", "中", "é", "-"]), max_size=8)


@given(st.lists(WORDS.map("".join).filter(bool), max_size=6), WORDS.map(" ".join) | WORDS.map("".join))
def test_exactly_the_terms_that_stand_between_word_ends_are_found(terms: list[str], text: str) -> None:
    def inside(place: int) -> bool:
        return 0 < place < len(text) and all(char.isalpha() and char != "中" for char in text[place - 1 : place + 1])

    def stands(term: str) -> bool:
        starts = [place for place in range(len(text)) if text.startswith(term, place)]
        return any(not inside(place) and not inside(place + len(term)) for place in starts)

    assert terms_in(text, terms, case_sensitive=True) == [term for term in dict.fromkeys(terms) if stands(term)]


def test_ten_thousand_terms_are_searched_without_trying_each() -> None:
    terms = [Term(source=f"term{number} of the art", target="x") for number in range(10_000)]
    glossary = Glossary(terms)
    text = "A long text about term77 of the art, and term99 of the arts. " * 1000
    assert [term.source for term in glossary.relevant(text)] == ["term77 of the art"]
