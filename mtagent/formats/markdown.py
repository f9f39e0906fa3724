"""Markdown: headings, paragraphs, items and cells are translated; code, front matter, HTML and link targets stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import regex

from mtagent.errors import InputError, MissingExtra
from mtagent.formats.documents import ByteEdit, DecodedFile, TextEdit, TranslationUnit, content_of, decoded, newline_of
from mtagent.formats.prose import Passage, ProseFile
from mtagent.formats.xml_spans import character_fault
from mtagent.text import scripts

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FRONT_MATTER = regex.compile(
    r"\A(?:---[ \t]*\r?\n(?:.*\n)*?(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n(?:.*\n)*?\+\+\+)[ \t]*(?:\r?\n|\Z)"
)
_ONE_LINE = ("heading", "cell")
_DEEPEST = 100
"""Quotes, lists and items within each other; the parser leaves out what is deeper. Its default is 20."""
_CONTAINERS = ("blockquote_open", "list_item_open")
_KINDS = {"heading_open": "heading", "th_open": "cell", "td_open": "cell", "paragraph_open": "paragraph"}
_CLOSING_MARK = regex.compile(r"(?:^|[ \t])#+[ \t]*$")
_LONE_BACKSLASH = regex.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_LINE_END = regex.compile(r"\r\n|\r|\n")
_UNESCAPED_BAR = regex.compile(r"(?<!\\)(?:\\\\)*\K\|")


@cache
def _parser() -> MarkdownIt:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise MissingExtra("reading Markdown", "documents") from None
    return MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])


def _passages(path: Path, file: DecodedFile, definitions: dict[str, Any]) -> list[Passage]:
    """The passages of a file; the destinations that its links name go into ``definitions``."""
    content = file.content
    front_matter = _FRONT_MATTER.match(content)
    if front_matter:  # blank lines in its place keep the numbers of lines
        content = "\n" * front_matter[0].count("\n") + content[front_matter.end() :]
    first = file.content.count("\n", 0, front_matter.end()) if front_matter else 0
    starts = [0]
    lines = []
    for line_end in _LINE_END.finditer(file.content):
        lines.append(file.content[starts[-1] : line_end.start()])
        starts.append(line_end.end())
    lines.append(file.content[starts[-1] :])
    passages = []
    kind = ""
    row, column = -1, 0  # where the last cell ended
    for token in _parser().parse(content, definitions):
        if token.type in _CONTAINERS and token.level >= _DEEPEST - 1:
            line = token.map[0] + 1 if token.map else 1
            raise InputError(f"{path}:{line}: quotes and lists are nested more than {_DEEPEST} deep; flatten them")
        kind = _KINDS.get(token.type, kind)
        if token.type != "inline" or token.map is None:
            continue
        begin = token.map[0]
        if begin < first:
            continue
        if begin != row:
            row, column = begin, 0
        passage = _passage(kind, token, lines, starts, column)
        if passage is None:
            raise InputError(
                f"{path}:{begin + 1}: the place of {token.content[:40]!r} cannot be told for certain; "
                "write it without tabs and trailing backslashes"
            )
        column = passage.spans[-1][1] - starts[begin] if kind == "cell" else 0
        if any(_has_words(child) for child in token.children or ()):
            passages.append(passage)
    return passages


def _has_words(token: Token) -> bool:
    """Whether an inline token is text, or a picture's alternative text."""
    return token.type in ("text", "image") and scripts.LETTER.search(token.content) is not None


def _passage(kind: str, token: Token, lines: list[str], starts: list[int], column: int) -> Passage | None:
    """The passage of an inline token; ``None`` if its lines aren't found."""
    assert token.map is not None
    spans = []
    prefix = ""
    for number, text in enumerate(token.content.split("\n")):
        line = token.map[0] + number
        written = text.replace("|", r"\|") if kind == "cell" else text
        place = lines[line].find(written, column)
        if place < 0:
            place, written = lines[line].find(text, column), text
        if place < 0:
            return None
        if number == 1:
            prefix = lines[line][:place]
        spans.append((starts[line] + place, starts[line] + place + len(written)))
    return Passage(kind=kind, text=token.content, line=token.map[0] + 1, spans=tuple(spans), prefix=prefix)


class MarkdownFile(ProseFile):
    """A Markdown file that has been read."""

    def __init__(self, path: Path, source: Path | None, target_lang: str | None) -> None:
        files: dict[Path, DecodedFile] = {}
        self._definitions: dict[str, Any] = {}  # of links: the environment of the parser

        def read(path_of_file: Path) -> tuple[bytes, list[Passage]]:
            data = content_of(path_of_file)
            files[path_of_file] = decoded(path_of_file, data)
            return data, _passages(path_of_file, files[path_of_file], self._definitions)

        super().__init__(path, source, target_lang, read)
        self._file = files[path]
        self._newline = newline_of(self.data, self._file.encoding)

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why ``target`` would change the structure of the document."""
        problem = character_fault(target, "a text")
        if problem:
            return problem
        kind = self.passages[unit.id].kind
        is_one_line = "\n" not in unit.source  # an underlined heading may have more lines
        if kind in _ONE_LINE and "\n" in target and is_one_line:
            return f"has a line break, which a {kind} cannot hold; take it out"
        if kind == "heading" and _CLOSING_MARK.search(target) and not _CLOSING_MARK.search(unit.source):
            return "ends with #, which a heading leaves out; escape it, as in \\#"
        if kind == "cell" and _LONE_BACKSLASH.search(target):
            return "ends with a backslash, which would join its cell with the next one; write two"
        if _blocks(target) != _blocks(unit.source):
            return "is not one paragraph in Markdown; escape the mark at the beginning of a line, as in \\# or 1\\."
        return self._mark_fault(unit, target)

    def _mark_fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Which code or link ``target`` loses or invents. An old target may have others than its source."""
        in_source, used = self._marks(unit.source), self._marks(target)
        in_old_target = in_source if unit.target is None else self._marks(unit.target)
        lost = sorted((in_source & in_old_target) - used)
        if lost:
            return f"loses {' '.join(lost)}, which the source has; put it back"
        invented = sorted(used - (in_source | in_old_target))
        if invented:
            return f"has {' '.join(invented)} once too often; take it out"
        return None

    def _marks(self, text: str) -> Counter[str]:
        """The code, the HTML and the destinations of links and pictures in a text: what no language changes."""
        marks: Counter[str] = Counter()
        for block in _parser().parse(text, self._definitions):
            for token in block.children or ():
                if token.type == "code_inline":
                    marks[f"`{token.content}`"] += 1
                elif token.type == "html_inline":
                    marks[token.content] += 1
                elif token.type in ("link_open", "image"):
                    marks[f"({token.attrs.get('href') or token.attrs.get('src')})"] += 1
        return marks

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """For each passage, one edit from its first to its last line."""
        edits = []
        for unit_id, target in targets.items():
            passage = self.passages[unit_id]
            if passage.kind == "cell":
                target = _UNESCAPED_BAR.sub(r"\\|", target)
            text = target.replace("\n", f"{self._newline}{passage.prefix}")
            edits.append(TextEdit(passage.spans[0][0], passage.spans[-1][1], text))
        return self._file.byte_edits(edits)


def _blocks(text: str) -> list[str]:
    return [token.type for token in _parser().parse(text)]


class Markdown:
    """Markdown as CommonMark defines it, with tables."""

    name = "markdown"
    suffixes: tuple[str, ...] = (".md", ".markdown")

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> MarkdownFile:
        """Read a file, and perhaps the file with its sources."""
        return MarkdownFile(path, source, target_lang)


MARKDOWN = Markdown()
