"""Placeholders and HTML/XML tags."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import NamedTuple

import regex

from mtagent.marks.characters import Mark, alphabet, remembered

_PLAIN = regex.compile(
    r"""
    %%
    | (?<!\d|\d[ \u00a0\u202f]) % (?:\([\w.]++\)|\d{1,2}\$)?+ [-+#]?+ (?:0\d{1,2}|\d)?+ (?:\.\d++)?+ (?:hh?|ll?|z)?+
      (?: [sd@] | [iouxXeEfFgGcraA](?![\p{L}]) )
    | (?<!\d) %[A-Za-z_][A-Za-z0-9_.]{2,}+%(?![A-Za-z0-9])
    | (?<![\w$]) \$[A-Za-z_]\w*+
    | &(?:[A-Za-z][A-Za-z0-9]{1,31}+|\#\d{1,7}+|\#[xX][0-9A-Fa-f]{1,6}+);
    | \\(?:[nrt]|u[0-9A-Fa-f]{4})
    """,
    flags=regex.VERBOSE,
)
# These stand for a character that languages and editors choose differently; to lose one breaks no program.
_TYPOGRAPHIC = regex.compile(
    r"&(?:nbsp|quot|apos|[lr][ds]quo|[bs]dquo|[lr]aquo|[nm]dash|hellip|thinsp|\#39|\#34|\#160);"
)
_BRACE = regex.compile(r"[{}]")
_SIMPLE = regex.compile(
    r"""
    \{ \s*+ (?:[\p{L}\p{N}_$][\w.$-]*+ (?:\[\w*+\])*+)?+ (?:![rsa])?+
      (?: \s*+ : [^{}\s]{0,40}+
        | \s*+ , \s*+ (?:number|date|time|spellout|ordinal|duration)\b [^{}\n]{0,40}+ )?+ \s*+ \}
    | \{\{ \s*+ [\#/^&>!]?+ \s*+ [\w.$|-]++ [^{}\n]{0,40}+ \}\}
    """,
    flags=regex.VERBOSE,
)
_ICU = regex.compile(r"\{\s*+([\w.-]++)\s*+,\s*+(plural|select|selectordinal)\s*+,")
_SELECTOR = regex.compile(r"(=?\w++)\s*+\{")
_SPACES = regex.compile(r"\s++")


class _Pair(NamedTuple):
    start: int
    end: int
    depth: int


def _brace_pairs(text: str) -> list[_Pair]:
    """All matched pairs of braces, by their start."""
    pairs, opened = [], []
    for brace in _BRACE.finditer(text):
        if brace.group() == "{":
            opened.append(brace.start())
        elif opened:
            pairs.append(_Pair(opened.pop(), brace.end(), len(opened)))
    return sorted(pairs)


def _icu_key(text: str, opening: regex.Match[str], block: _Pair, inside: list[_Pair]) -> str:
    """What two languages' versions of an ICU message share.

    The variable, the kind and the variables used inside; for ``select`` the choices too, but not for plurals, whose
    forms depend on the language.
    """
    name, kind = opening.groups()
    used = {_SPACES.sub("", text[pair.start : pair.end]) for pair in inside if pair.depth == block.depth + 2}
    choices: set[str] = set()
    if kind == "select":
        depth_one = [pair for pair in inside if pair.depth == block.depth + 1]
        edges = [opening.end(), *(pair.end for pair in depth_one)]
        heads = [text[edge : pair.start + 1] for edge, pair in zip(edges, depth_one, strict=False)]
        choices = {found.group(1) for head in heads if (found := _SELECTOR.search(head))}
    return f"{{{name}, {kind}, {' '.join(sorted(choices | used))}}}"


def _brace_marks(text: str) -> list[Mark]:
    marks: list[Mark] = []
    pairs = _brace_pairs(text)
    starts = [pair.start for pair in pairs]
    taken = 0
    for index, pair in enumerate(pairs):
        if pair.start < taken:
            continue
        if opening := _ICU.match(text, pair.start, pair.end):
            inside = pairs[index + 1 : bisect_right(starts, pair.end)]
            marks.append(Mark(_icu_key(text, opening, pair, inside), pair.start, pair.end))
            taken = pair.end
        elif _SIMPLE.fullmatch(text, pair.start, pair.end):
            start = pair.start - (pair.start > 0 and text[pair.start - 1] in "$%#")
            marks.append(Mark(text[start : pair.end], start, pair.end))
            taken = pair.end
    return marks


@remembered
def placeholders(text: str) -> tuple[Mark, ...]:
    r"""printf, Python, ICU, Ruby and shell placeholders, entities, ``%VAR%`` and literal ``\n``, in order.

    An ICU plural or select is one mark. Linear in the text's length.
    """
    if alphabet(text).isdisjoint("%{$&\\"):
        return ()
    marks = _brace_marks(text) if "{" in text else []
    spans = [(mark.start, mark.end) for mark in marks]
    for match in _PLAIN.finditer(text):
        place = bisect_right(spans, (match.start(), len(text)))
        if (place and spans[place - 1][1] > match.start()) or _TYPOGRAPHIC.fullmatch(match.group()):
            continue
        marks.append(Mark(match.group(), match.start(), match.end()))
    return tuple(sorted(marks, key=lambda mark: mark.start))


_TAG = regex.compile(
    r"""
    <(?P<close>/?) (?P<name>[A-Za-z_][\w.-]*+ (?::[\w.-]++)?+) (?=[\s/>])
    (?P<attributes> (?: [^<>"'] | "[^"<]*+" | '[^'<]*+' )*+ ) >
    | <!--|-->|<!\[CDATA\[|\]\]>
    """,
    flags=regex.VERBOSE,
)
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_TRANSLATABLE = regex.compile(
    r"""\b(title|alt|placeholder|label|aria-label|content|lang)\s*+=\s*+("[^"]*+"|'[^']*+')"""
)


class Tag(NamedTuple):
    """An HTML or XML tag. ``kind`` is ``open``, ``close`` or ``empty``; comment marks are ``empty``."""

    key: str
    start: int
    end: int
    name: str
    kind: str


def _tag(match: regex.Match[str]) -> Tag:
    name, whole = match["name"], match.group()
    if name is None:
        return Tag(whole, match.start(), match.end(), whole, "empty")
    attributes = _SPACES.sub(" ", match["attributes"]).strip()
    selfclosed = attributes.endswith("/")
    attributes = _TRANSLATABLE.sub(r"\1", attributes.rstrip("/ ")).strip()
    void = name.lower() in _VOID
    kind = "close" if match["close"] else "empty" if selfclosed or void else "open"
    ends = "/" if selfclosed and not void else ""
    key = f"<{match['close']}{name}{' ' if attributes else ''}{attributes}{ends}>"
    return Tag(key, match.start(), match.end(), name, kind)


@remembered
def tags(text: str) -> tuple[Tag, ...]:
    """HTML and XML tags, comment and CDATA marks. Values of attributes that are text for readers do not count."""
    if "<" not in text and "-->" not in text:
        return ()
    return tuple(_tag(match) for match in _TAG.finditer(text))


def nesting_faults(found: tuple[Tag, ...]) -> list[str]:
    """What is wrong with the nesting of tags: unclosed, crossed and stray ones."""
    faults: list[str] = []
    stack: list[str] = []
    opened: Counter[str] = Counter()
    for tag in found:
        if tag.kind == "open":
            stack.append(tag.name)
            opened[tag.name] += 1
        elif tag.kind == "close" and not opened[tag.name]:
            faults.append(f"</{tag.name}> closes nothing")
        elif tag.kind == "close":
            while (name := stack.pop()) != tag.name:
                opened[name] -= 1
                faults.append(f"<{name}> is not closed inside <{tag.name}>")
            opened[tag.name] -= 1
    return faults + [f"<{name}> is not closed" for name in stack]
