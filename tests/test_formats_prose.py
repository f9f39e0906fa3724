"""Markdown and HTML: passages are translated in place; code, links, scripts and structure stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html
from markdown_it import MarkdownIt

from mtagent.errors import InputError
from mtagent.formats import document_format
from mtagent.formats.documents import LocalizationFile, fault, replaced

MARKDOWN = """---
title: Not touched
---
# The *title*

A paragraph with `code` and a
[link](https://example.org/a "t").

> A quote
> of two lines

- first
  more of it
- second

| Name | Use \\| abuse |
|------|-----|
| `x`  | The value |

```py
print("Hello")
```

<div>Raw HTML</div>

[ref]: https://example.org/ref
"""
HTML = """<!DOCTYPE html>
<html lang="en"><head><title>The title</title>
<meta name="description" content="What it &amp; is"><style>p { color: red }</style>
<script>var text = "<p>no</p>";</script></head>
<body><!-- comment --><p class="x">
  Read <b>this &amp; that</b>,
  then <code>run it</code> <img src="a.png" alt="A dog"> twice.</p>
<p translate="no">Brand</p><pre>as it is</pre>
<ul><li>One<li>Two</ul><input type="submit" value="Send"></body></html>
"""


def opened(folder: Path, name: str, content: str | bytes, source: str | None = None) -> LocalizationFile:
    """The document in a file of this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if source is None:
        return document_format(path).open(path)
    (folder / f"source-{name}").write_bytes(source.encode())
    return document_format(path).open(path, folder / f"source-{name}")


def sources(document: LocalizationFile) -> list[str]:
    """The texts to translate."""
    return [unit.source for unit in document.units]


def changed(document: LocalizationFile, source: str, target: str) -> str:
    """The file with a new target for a source."""
    [unit] = [unit for unit in document.units if unit.source == source]
    assert fault(document, unit, target) is None
    return replaced(document, {unit.id: target}).decode()


def test_markdown_offers_texts_and_leaves_code_and_front_matter(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.md", MARKDOWN)

    assert sources(document) == [
        "The *title*",
        'A paragraph with `code` and a\n[link](https://example.org/a "t").',
        "A quote\nof two lines",
        "first\nmore of it",
        "second",
        "Name",
        "Use | abuse",
        "The value",
    ]
    assert [unit.line for unit in document.units] == [4, 6, 9, 12, 14, 16, 16, 18]
    assert replaced(document, {}) == MARKDOWN.encode()


@pytest.mark.parametrize(
    ("source", "target", "old", "new"),
    [
        ("The *title*", "Der *Titel*", "# The *title*", "# Der *Titel*"),
        ("A quote\nof two lines", "Ein\nZitat\nmehr", "> A quote\n> of two lines", "> Ein\n> Zitat\n> mehr"),
        ("first\nmore of it", "erstens\nund mehr", "- first\n  more of it", "- erstens\n  und mehr"),
        ("Use | abuse", "Nutzen | Schaden", "Use \\| abuse", "Nutzen \\| Schaden"),
        ("The value", "Der Wert", "The value", "Der Wert"),
    ],
)
def test_only_the_passage_differs_in_markdown(tmp_path: Path, source: str, target: str, old: str, new: str) -> None:
    for newline in ("\n", "\r\n"):
        text = MARKDOWN.replace("\n", newline)
        document = opened(tmp_path, "a.md", text)

        expected = text.replace(old.replace("\n", newline), new.replace("\n", newline))
        assert changed(document, source, target) == expected


@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        ("second", "- zweitens", "is not one paragraph in Markdown"),
        ("second", "eins\n\nzwei", "is not one paragraph in Markdown"),
        ("second", "1. zweitens", "is not one paragraph in Markdown"),
        ("The *title*", "Der\nTitel", "has a line break, which a heading cannot hold"),
        ("Name", "Na\nme", "has a line break, which a cell cannot hold"),
        ("Name", "Na\ud800me", "has the character U+D800"),
        ("Name", "Name\\", "ends with a backslash"),
        ("The *title*", "Das #", "ends with #"),
    ],
)
def test_a_text_that_would_change_the_structure_is_refused(
    tmp_path: Path, source: str, target: str, problem: str
) -> None:
    document = opened(tmp_path, "a.md", MARKDOWN)
    [unit] = [unit for unit in document.units if unit.source == source]

    assert problem in str(fault(document, unit, target))


def test_deep_quotes_and_lists_are_read_or_refused_with_their_line(tmp_path: Path) -> None:
    items = "\n".join(f"{'  ' * depth}- item number {'x' * (depth + 1)}" for depth in range(60))

    assert sources(opened(tmp_path, "a.md", f"Text\n\n{'> ' * 99}deep\n")) == ["Text", "deep"]
    assert len(opened(tmp_path, "a.md", "\n".join(items.splitlines()[:49])).units) == 49
    for content in (f"Text\n\n{'> ' * 100}deep\n", f"Text\n\n{items}", f"Text\n\n{'- ' * 2000}deep\n"):
        with pytest.raises(InputError, match=r"a\.md:\d+: quotes and lists are nested more than 100 deep") as refused:
            opened(tmp_path, "a.md", content)
        assert f"a.md:{52 if content.endswith('x') else 3}:" in str(refused.value)


def test_lines_of_an_underlined_heading_stay(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.md", "Two\nlines\n---\n")

    assert fault(document, document.units[0], "Zwei\nZeilen") is None


def test_a_carriage_return_alone_ends_a_line_of_markdown(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.md", "One\rmore\r\rTwo\r")

    assert [(unit.source, unit.line) for unit in document.units] == [("One\nmore", 1), ("Two", 4)]
    assert changed(document, "Two", "Zwei") == "One\rmore\r\rZwei\r"


def test_html_offers_texts_and_attributes_and_leaves_scripts_and_code(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.html", HTML)

    assert sources(document) == [
        "The title",
        "What it & is",
        "Read <1>this & that</1>, then <2/> <3/> twice.",
        "A dog",
        "One",
        "Two",
        "Send",
    ]
    assert document.units[2].inline["<2/>"] == "<code>run it</code>"


@pytest.mark.parametrize(
    ("source", "target", "old", "new"),
    [
        ("The title", "A & <b>", "<title>The title", "<title>A &amp; &lt;b&gt;"),
        ("What it & is", 'Sag "ja"', "What it &amp; is", "Sag &quot;ja&quot;"),
        (
            "Read <1>this & that</1>, then <2/> <3/> twice.",
            "Dann <2/>, <1>dies & das</1> <3/> lesen.",
            'Read <b>this &amp; that</b>,\n  then <code>run it</code> <img src="a.png" alt="A dog"> twice.',
            'Dann <code>run it</code>, <b>dies &amp; das</b> <img src="a.png" alt="A dog"> lesen.',
        ),
        ("A dog", "Ein Hund", 'alt="A dog"', 'alt="Ein Hund"'),
        ("Two", "Zwei", "<li>Two", "<li>Zwei"),
        ("Send", "Senden", 'value="Send"', 'value="Senden"'),
    ],
)
def test_only_the_passage_differs_in_html(tmp_path: Path, source: str, target: str, old: str, new: str) -> None:
    document = opened(tmp_path, "a.html", HTML)

    assert changed(document, source, target) == HTML.replace(old, new)


def test_an_attribute_within_a_changed_text_changes_too(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.html", HTML)
    text, dog = document.units[2], document.units[3]

    new = replaced(document, {text.id: "<3/> <1>x</1> <2/>", dog.id: "Ein Hund"}).decode()

    assert '<p class="x">\n  <img src="a.png" alt="Ein Hund"> <b>x</b> <code>run it</code></p>' in new


@pytest.mark.parametrize(
    "page",
    [
        "<ul><li translate=no>Brand<li>Text</ul>",
        "<ul><li translate=no>Brand <b>x</b></ul><p>Text</p>",
        "<table><tr><td translate=no>Brand<td>Text</table>",
        "<p class=notranslate>Brand<h2>Text</h2>",
        "<p>Text</p><p translate=no>Brand</p>",
    ],
)
def test_an_element_without_end_tag_hides_only_its_own_text(tmp_path: Path, page: str) -> None:
    assert sources(opened(tmp_path, "a.html", page)) == ["Text"]


def test_each_of_two_equal_tags_gets_its_own_attribute(tmp_path: Path) -> None:
    page = '<p>See <img alt="Dog"> and <img alt="Dog"> now</p>'
    document = opened(tmp_path, "a.html", page)
    text, first, second = document.units

    targets = {text.id: "Sieh <1/> und <2/> jetzt", second.id: "Hund"}

    assert first.source == second.source
    assert replaced(document, targets).decode() == '<p>Sieh <img alt="Dog"> und <img alt="Hund"> jetzt</p>'


def test_an_attribute_within_the_value_of_another_stays(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.html", """<a data-x="a title='Old'" title="Real">12</a>""")

    assert sources(document) == ["Real"]
    assert changed(document, "Real", "Echt") == """<a data-x="a title='Old'" title="Echt">12</a>"""


def test_attributes_of_what_must_not_be_translated_stay(tmp_path: Path) -> None:
    assert sources(opened(tmp_path, "a.html", '<p class="notranslate" title="Brand">Brand</p><p>Text</p>')) == ["Text"]


def test_xhtml_has_whole_elements_in_one_tag_and_no_names_for_characters(tmp_path: Path) -> None:
    page = '<?xml version="1.0"?><html><script src="a.js"/><p>One</p><svg/><p>Two</p></html>'
    document = opened(tmp_path, "a.xhtml", page)

    assert sources(document) == ["One", "Two"]
    assert changed(document, "One", "À\u00a0une") == page.replace("One", "À\u00a0une")
    assert "U+000B" in str(fault(document, document.units[0], "a\x0bb"))


def test_a_picture_in_one_tag_does_not_end_a_page(tmp_path: Path) -> None:
    assert sources(opened(tmp_path, "a.html", "<p>One</p><svg/><p>Two</p>")) == ["One", "Two"]


def test_a_page_that_declares_utf_16_in_ascii_is_utf_8(tmp_path: Path) -> None:
    document = opened(tmp_path, "a.html", '<meta charset="utf-16"><p>A café</p>')

    assert sources(document) == ["A café"]


def test_html_keeps_its_charset_and_refers_to_characters_that_it_lacks(tmp_path: Path) -> None:
    page = '<meta charset="windows-1252"><p>Caf\u00e9 bar</p><p>\u20ac</p>'.encode("cp1252")
    document = opened(tmp_path, "a.html", page)

    new = replaced(document, {document.units[0].id: "Kaf\u00e9 \u0416"})

    assert new == '<meta charset="windows-1252"><p>Kaf\u00e9 &#1046;</p><p>\u20ac</p>'.encode("cp1252")


def test_a_translated_document_is_paired_with_its_source(tmp_path: Path) -> None:
    german = MARKDOWN.replace("second", "zweitens")
    document = opened(tmp_path, "a.md", german, MARKDOWN)

    assert [(unit.source, unit.target) for unit in document.units][4] == ("second", "zweitens")
    with pytest.raises(InputError, match=r"a\.md:14: has a heading where .*source-a\.md:14 has a paragraph"):
        opened(tmp_path, "a.md", MARKDOWN.replace("- second", "# second"), MARKDOWN)
    with pytest.raises(InputError, match=r"has 9 passages, and .* has 8"):
        opened(tmp_path, "a.md", f"{MARKDOWN}\nmore", MARKDOWN)


def test_ids_stay_when_other_passages_come(tmp_path: Path) -> None:
    before = opened(tmp_path, "a.md", "One\n\nTwo\n\nTwo\n")
    ids = [unit.id for unit in before.units]
    after = opened(tmp_path, "a.md", "Zero\n\nOne\n\nTwo\n\nTwo\n")

    assert [unit.id for unit in after.units][1:] == ids
    assert len(set(ids)) == 3


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("ab <>&\"'é\u00a0字😀;#", min_size=1, max_size=30))
def test_any_text_comes_back_from_html(tmp_path: Path, text: str) -> None:
    document = opened(tmp_path, "a.html", "<p>One <b>two</b></p><p title='x y'>z</p>")
    target = f"<1>{text}</1>"
    again = opened(tmp_path, "a.html", replaced(document, {document.units[0].id: target}))

    parsed = lxml_html.fromstring((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert " ".join(parsed.findtext(".//b").split(" ")) == text
    assert len(again.units) >= len(document.units) - 1


@pytest.mark.parametrize("ending", ["md", "html"])
def test_real_files_are_read_and_changed_in_one_place_only(data: Path, tmp_path: Path, ending: str) -> None:
    for path in sorted((data / "formats" / ending).iterdir()):
        document = document_format(path).open(path)
        assert replaced(document, {}) == document.data
        for unit in document.units[:10]:
            target = f"ZQX {unit.source}"
            assert fault(document, unit, target) is None
            new = replaced(document, {unit.id: target})
            again = opened(tmp_path, f"a.{ending}", new)
            pairs = zip(sources(document), sources(again), strict=True)
            assert [texts for texts in pairs if texts[0] != texts[1]] == [(unit.source, target)]
            if ending == "md":
                assert tokens(new) == tokens(document.data)


def tokens(data: bytes) -> list[str]:
    """The structure of a Markdown file."""
    return [token.type for token in MarkdownIt("commonmark").enable("table").parse(data.decode())]
