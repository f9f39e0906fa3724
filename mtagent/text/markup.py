"""Marks that must survive an edit, besides numbers: placeholders, tags, links, Markdown, brackets and quotes.

:func:`inline_codes` lists the units that a page shows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Collection
from typing import NamedTuple

import regex

from mtagent.text.scripts import UNSPACED_OR_HANGUL, Mark, alphabet, remembered

# -- placeholders

_PLAIN = regex.compile(
    r"""
    %%[A-Za-z_]\w*+%% | %% | %\#@\w++@ | (?<![\w\#])\#\#[A-Za-z_]\w*+\#\#(?![\w\#])
    | (?<!\d|\d[ \u00a0\u202f]) % (?:\([\w.]++\)|\d{1,2}\$)?+ [-+#]?+ (?:0\d{1,2}|\d)?+ (?:\.\d++)?+ (?:hh?|ll?|z)?+
      (?: [sd@] | [iouxXeEfFgGcraA](?![\p{L}]) )
    | (?<!\d) %[A-Za-z_][A-Za-z0-9_.]{2,}+%(?![A-Za-z0-9])
    | (?<!\d) %(?: n(?!\w) | <\w++>[-+.\d]*+[a-z] )
    | \$t\([^(){}\n]{0,200}+\)?+ | \$\(\w++\)
    | (?<!\w) @(?:\.\w++)?+: (?: \([\w.]++\) | \{'[^'\n]{0,100}+'\} | [A-Za-z_][\w-]*+(?:\.[\w-]++)*+ )
    | <%[^%\n]{0,200}+%> | \{%[^%\n]{0,200}+%\} | \[%[^%\n]{0,200}+%\] | \*\|[\w:.]++\|\*
    | (?<![\w$]) \$[A-Za-z_]\w*+(?:\$(?!\w))?+
    | &(?:[A-Za-z][A-Za-z0-9]{1,31}+|\#\d{1,7}+|\#[xX][0-9A-Fa-f]{1,6}+);
    | \\(?:[nrt]|u[0-9A-Fa-f]{4}|\([A-Za-z_][\w.]*+\))
    """,
    flags=regex.VERBOSE,
)
# Languages and editors choose these characters differently; to lose one breaks no program.
_TYPOGRAPHIC = regex.compile(
    r"&(?:nbsp|quot|apos|[lr][ds]quo|[bs]dquo|[lr]aquo|[nm]dash|hellip|thinsp|\#39|\#34|\#160);"
)
_BRACE = regex.compile(r"[{}]")
_SIMPLE = regex.compile(
    r"""
    \{ \s*+ (?:-?+!?+[\p{L}\p{N}_$][\w.$-]*+ (?:\[(?:\w*+|'\w++'|"\w++")\])*+)?+ (?:![rsa])?+
      (?: \s*+ : [^{}\s]{0,40}+
        | \s*+ , \s*+ (?:number|date|time|spellout|ordinal|duration)\b [^{}\n]{0,200}+ )?+ \s*+ \}
    | \{\{ \s*+ (?P<chooser>\#?[A-Za-z]++:[^{}|\n]++) \| [^{}\n]*+ \}\}
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


def _brace_marks(text: str) -> list[Mark]:
    """Simple placeholders in braces, and ICU plurals and selects as one mark each.

    Of MediaWiki's ``{{PLURAL:$1|file|files}}`` name and argument are the key, because forms differ by language.
    """
    pairs: list[_Pair] = []
    opened: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace.group() == "{":
            opened.append(brace.start())
        elif opened:
            pairs.append(_Pair(opened.pop(), brace.end(), len(opened)))
    pairs.sort()
    marks: list[Mark] = []
    for index, (start, end, _) in enumerate(pairs):
        if marks and start < marks[-1].end:
            continue
        if opening := _ICU.match(text, start, end):
            inside = pairs[index + 1 : bisect_right(pairs, (end,))]
            marks.append(Mark(_icu_key(text, opening, pairs[index], inside), start, end))
        elif simple := _SIMPLE.fullmatch(text, start, end):
            if start > 0 and text[start - 1] in "$%#":
                start -= 1
            key = f"{{{{{simple['chooser']}|}}}}" if simple["chooser"] else text[start:end]
            marks.append(Mark(key, start, end))
    return marks


def _icu_key(text: str, opening: regex.Match[str], block: _Pair, inside: list[_Pair]) -> str:
    """What two languages' versions of an ICU message share.

    The variable, the kind and the variables used inside; for ``select`` the choices too, but not for plurals, whose
    forms depend on the language.
    """
    name, kind = opening.groups()
    shared = set()
    edge = opening.end()
    for pair in inside:
        if pair.depth == block.depth + 2:
            shared.add(_SPACES.sub("", text[pair.start : pair.end]))
        elif pair.depth == block.depth + 1:
            choice = _SELECTOR.search(text[edge : pair.start + 1])
            if choice and kind == "select":
                shared.add(choice[1])
            edge = pair.end
    return f"{{{name}, {kind}, {' '.join(sorted(shared))}}}"


@remembered
def placeholders(text: str) -> tuple[Mark, ...]:
    r"""Placeholders of printf, Python, ICU, Ruby, Vue, i18next, templates and shells, entities and ``\n``, in order.

    An ICU plural or select is one mark. Linear in the text's length.
    """
    if alphabet(text).isdisjoint("%{$&\\@|#"):
        return ()
    marks = _brace_marks(text) if "{" in text else []
    spans = [(mark.start, mark.end) for mark in marks]
    for match in _PLAIN.finditer(text):
        place = bisect_right(spans, (match.start(), len(text)))
        is_inside = place > 0 and match.start() < spans[place - 1][1]
        if not is_inside and not _TYPOGRAPHIC.fullmatch(match.group()):
            marks.append(Mark(match.group(), *match.span()))
    return tuple(sorted(marks, key=lambda mark: mark.start))


_CONVERSION = regex.compile(r"%(?:(\d{1,2})\$)?+([^%(]*[A-Za-z@])")
_AMPERSAND = regex.compile(r"(?<=\w)&(?:amp;|(?!\w++;))(?=\w)")


def placeholder_pair(source: str, text: str) -> tuple[list[Mark], list[Mark]]:
    """The placeholders of a source and its translation, spelt alike where they are the same.

    If one side has several printf conversions or positions, the second ``%s`` in a row is ``%2$s``, so that order
    counts. In HTML ``&amp;`` and ``&`` are the same, and count inside words only (R&D): between words "and" will do.
    """
    is_html = bool(tags(source))
    pair = []
    is_numbered = _has_several_conversions(source) or _has_several_conversions(text)
    for side in (source, text):
        marks = list(placeholders(side))
        if is_numbered:
            marks = _with_positions(marks)
        if is_html:
            marks = [mark for mark in marks if mark.key != "&amp;"]
            for ampersand in _AMPERSAND.finditer(side):
                marks.append(Mark("&", *ampersand.span()))
        pair.append(marks)
    return pair[0], pair[1]


def _with_positions(marks: list[Mark]) -> list[Mark]:
    """``marks`` with printf conversions spelt with their position: ``%2$s``."""
    with_positions = []
    position = 0
    for mark in marks:
        conversion = _CONVERSION.fullmatch(mark.key)
        if conversion and not mark.key.endswith("%"):
            if conversion[1] is None:
                position += 1
            mark = mark._replace(key=f"%{conversion[1] or position}${conversion[2]}")
        with_positions.append(mark)
    return with_positions


def _has_several_conversions(text: str) -> bool:
    """Whether ``text`` has two printf conversions, or one with a position, so that their order matters."""
    if "%" not in text:
        return False
    conversions = 0
    for mark in placeholders(text):
        conversion = _CONVERSION.fullmatch(mark.key)
        if conversion:
            conversions += 1
            if conversion[1]:
                return True
    return conversions > 1


# -- what is the same in any language

# A dash before one of these words is a dash, and no option: "He left --and never came back."
_NO_OPTIONS = (
    "and|but|or|nor|yet|so|the|an?|he|she|it|they|we|you|this|that|which|who|und|aber|oder|et|mais|ou|y|pero|e|ma"
)
_AT = "all|every(?:one|body)|home|night|school|sea|work"
_LITERAL = regex.compile(
    rf"""
    (?P<path> (?<![\w.:/\\~@-]) (?:~|\.\.?)?+/[\w.-]++/[\w./-]*[\w/]
      | (?<=[{UNSPACED_OR_HANGUL}]) (?:~|\.\.?)?+/[A-Za-z0-9_.-]++/[A-Za-z0-9_./-]*[A-Za-z0-9_/]
      | (?<![A-Za-z0-9_.:/\\~@-]) (?: [A-Za-z]:\\[\w.\\-]*\w
        | (?:[A-Za-z0-9_.-]++/)*+[A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)*?\.(?i:7z|apk|bat|bmp|cfg|conf|cpp|css|csv|dll
          |docx?|epub|exe|gif|go|gz|html?|ico|ini|ipynb|iso|jar|java|jpe?g|jsonl?|jsx?|m4a|md|mkv|mov|mp[34]|odt|ods
          |ogg|pdf|php|png|pptx?|properties|ps1|py|rar|rs|rtf|sh|sql|srt|svg|tar|tiff?|tmx|toml|tsv|tsx?|ttf|txt|vue|wav
          |webm|webp|xhtml|xlf|xliff|xlsx?|xml|ya?ml
          |zip)(?![A-Za-z0-9_/]|\.[A-Za-z0-9]|-[A-Za-z0-9_-]++\.[A-Za-z0-9]) ) )
    | (?<![A-Za-z0-9_-]) (?P<option> --(?!(?:{_NO_OPTIONS})\b)[a-z][a-z0-9]*+(?:-[a-z0-9]++)*+ )
      (?![A-Za-z0-9_]|-[a-z0-9-])
    | (?<![A-Za-z0-9_&\#/]) (?: (?P<number> \#\d{{6}} )
      | (?P<colour> \#(?=\d*+[A-Fa-f]) (?:[0-9A-Fa-f]{{3,4}}|[0-9A-Fa-f]{{6}}(?:[0-9A-Fa-f]{{2}})?+)) ) (?![A-Za-z0-9_])
    | (?<![A-Za-z0-9_:./@%!]) (?P<name> :[A-Za-z_][A-Za-z0-9_]++:?+ (?!:)
      | [@%!](?!(?<=@)(?:{_AT})\b)[A-Za-z_][A-Za-z0-9_]++ ) (?![A-Za-z0-9_@%])
    | (?<![<>=!&|+*/~^:-]) (?P<comparison> [<>=!]=?+ | [≤≥≠＜＞] ) (?<=[<>≤≥≠＜＞]|==|<=|>=|!=|(?<!\S)=) (?![<>=&|-])
    """,
    flags=regex.VERBOSE,
)
# What every literal but a shortcut has: most texts have none of it, and are not searched for the rest.
_PART_OF_LITERAL = regex.compile(r"[/\\#@%<>=≤≥≠＜＞]|\.[A-Za-z0-9]|--[a-z]|[:!][A-Za-z_]")
_COMPARISONS = {"≤": "<=", "≥": ">=", "≠": "!=", "＜": "<", "＞": ">"}
_MODIFIERS = {
    **dict.fromkeys(["ctrl", "control", "ctl", "strg", "ctr", "⌃", "контрол"], "Ctrl"),
    **dict.fromkeys(["shift", "umschalt", "umsch", "maj", "mayús", "mayus", "maiusc", "skift", "vaihto", "⇧"], "Shift"),
    **dict.fromkeys(["alt", "altgr", "option", "opt", "⌥"], "Alt"),
    **dict.fromkeys(["cmd", "command", "⌘", "befehl", "commande", "comando"], "Cmd"),
    **dict.fromkeys(["win", "windows", "super", "meta"], "Win"),
}
_SHORTCUT = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}+＋-])(?i:(?:{'|'.join(_MODIFIERS)})(?![\p{{L}}\p{{N}}]))[ ]?+[+＋-][ ]?+"
    r"(?:[\p{L}⌘⌥⇧⌃]{1,12}+[ ]?+[+＋-][ ]?+){0,4}+(?:F\d{1,2}|[\p{Lu}\d](?![\p{L}\p{N}]))(?![\p{L}\p{N}])"
)
_KEYS = regex.compile(r"[^\s+＋-]++")
SPELLED_OUT = frozenset({"comparison", "number", "shortcut"})
"""Kinds of literals that people also write in words, so that one is lost only where another came instead."""


class Literal(NamedTuple):
    """Text that is equal in any language; ``kind`` is the group of the pattern that found it, or ``shortcut``."""

    kind: str
    key: str
    start: int
    end: int


@remembered
def literals(text: str) -> tuple[Literal, ...]:
    """Paths and names of files, options (``--all``), colours (``#ff0000``) and six digits that may be one, names with a
    sign (``:name``, ``@name``), comparisons and shortcuts, the latter with the usual names of their keys (Strg+S is
    Ctrl+S)."""
    literals: list[Literal] = []
    if _PART_OF_LITERAL.search(text):
        for match in _LITERAL.finditer(prose(text)):
            key, kind = match.group(), match.lastgroup or ""
            key = key.casefold() if kind == "colour" else _COMPARISONS.get(key, key)
            literals.append(Literal(kind, key, *match.span()))
    if not alphabet(text).isdisjoint("+＋-"):
        for match in _SHORTCUT.finditer(text):
            *names, last = _KEYS.findall(match.group())
            modifiers = sorted(_MODIFIERS.get(name.casefold(), name) for name in names)
            literals.append(Literal("shortcut", "+".join([*modifiers, last]), *match.span()))
    return tuple(literals)


# A hotkey is marked before a word or, behind a capital or small letter, before a small one: &File, E&xit; not R&D, and
# not _emphasis_ or "~half of it".
_HOTKEYS = {
    "&": regex.compile(r"(?<![\p{L}\p{N}&])&(?:amp;)?(?!\w++;)[\p{L}\p{N}]|(?<=\p{L})&(?:amp;)?(?!\w++;)\p{Ll}"),
    "_": regex.compile(
        r"(?<![\p{L}\p{N}_])_(?![^_\n]{0,60}+(?<!\s)_(?![\p{L}\p{N}_]))[\p{L}\p{N}]|(?<=\b\p{Lu}\p{Ll}*+)_\p{Ll}"
    ),
    "~": regex.compile(r"(?<![\p{L}\p{N}~/])~[\p{Lu}\p{Lo}]|(?<=\p{L})~\p{L}"),
}
_LONGEST_LABEL = 60
_SENTENCE_END = regex.compile(r"[.!?]\s")


def hotkeys(text: str) -> Counter[str]:
    """The signs before the letters that are keys of a user interface: ``&File``, ``_File``, ``~File``."""
    if alphabet(text).isdisjoint(_HOTKEYS):
        return Counter()
    signs = Counter[str]()
    for sign, pattern in _HOTKEYS.items():
        if sign in text:
            signs[sign] = len(pattern.findall(text))
    return +signs


def is_label(text: str) -> bool:
    """Whether ``text`` may be a label of a user interface: short, one line, no two sentences, no tags or addresses."""
    plain = len(text) <= _LONGEST_LABEL and "\n" not in text and not _SENTENCE_END.search(text)
    return plain and not tags(text) and not urls(text) and not emails(text)


# -- tags

_TAG = regex.compile(
    r"""
    <(?P<close>/?) (?P<name>[A-Za-z_][\w.-]*+ (?::[\w.-]++)?+) (?=[\s/>])
    (?P<attributes> (?: [^<>"'] | "[^"<]*+" | '[^'<]*+' )*+ ) >
    | <(?P<close>/?) (?P<name>[0-9]{1,9}+) (?P<attributes>/?) >
    | <!--|-->|<!\[CDATA\[|\]\]>
    """,
    flags=regex.VERBOSE,
)
NUMBERED_TAG = regex.compile(r"<(?P<closes>/)?(?P<number>[0-9]{1,9})(?P<empty>/)?>")
"""The placeholder of an inline tag of a localization file: ``<1>``, ``</1>`` or ``<2/>``."""
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_TRANSLATABLE = regex.compile(
    r"""\b(title|alt|placeholder|label|aria-label|content|lang)\s*+=\s*+("[^"]*+"|'[^']*+')"""
)


class Tag(NamedTuple):
    """An HTML, XML or numbered tag. ``kind`` is ``open``, ``close`` or ``empty``; comment marks are ``empty``."""

    key: str
    start: int
    end: int
    name: str
    kind: str


@remembered
def tags(text: str) -> tuple[Tag, ...]:
    """HTML, XML and numbered tags, comment and CDATA marks. Attributes' values that readers see do not count."""
    if "<" not in text and "-->" not in text:
        return ()
    tags = []
    for match in _TAG.finditer(text):
        name = match["name"]
        if name is None:
            tags.append(Tag(match.group(), *match.span(), match.group(), "empty"))
            continue
        attributes = _SPACES.sub(" ", match["attributes"]).strip()
        is_self_closed, is_void = attributes.endswith("/"), name.lower() in _VOID
        attributes = _TRANSLATABLE.sub(r"\1", attributes.rstrip("/ ")).strip()
        content = f"{name} {attributes}" if attributes else name
        end = "/" if is_self_closed and not is_void else ""
        key = f"<{match['close']}{content}{end}>"
        kind = "open"
        if match["close"]:
            kind = "close"
        elif is_self_closed or is_void:
            kind = "empty"
        tags.append(Tag(key, *match.span(), name, kind))
    return tuple(tags)


_REMARK = regex.compile(r"<\p{L}{4,}+(?: [\p{L} ]++)?+/>")


def is_remark(key: str) -> bool:
    """Whether a tag with this key has words and isn't HTML or data: ``<laugh/>`` in a transcript."""
    return _REMARK.fullmatch(key) is not None


def nesting_faults(tags: tuple[Tag, ...]) -> list[str]:
    """Faults in the nesting of tags: unclosed, crossed and stray ones."""
    faults: list[str] = []
    stack: list[str] = []
    opened: Counter[str] = Counter()
    for tag in tags:
        if tag.kind == "open":
            stack.append(tag.name)
            opened[tag.name] += 1
        elif tag.kind == "close" and not opened[tag.name]:
            faults.append(f"</{tag.name}> closes nothing")
        elif tag.kind == "close":
            name = stack.pop()
            while name != tag.name:
                opened[name] -= 1
                faults.append(f"<{name}> is not closed inside <{tag.name}>")
                name = stack.pop()
            opened[tag.name] -= 1
    return faults + [f"<{name}> is not closed" for name in stack]


# -- URLs and e-mail addresses

# In scripts without spaces, and in Korean, the sentence goes on right behind the URL.
_URL_LETTER = rf"[[\p{{L}}\p{{M}}]--[{UNSPACED_OR_HANGUL}]]"
_URL = regex.compile(
    rf"""
    (?<![A-Za-z0-9_]) (?: (?:https?|ftps?|file)://(?=\w) | www\.(?=\w) | (?:mailto|tel):(?=[\w+]) )
    (?: [A-Za-z0-9\-._~:/?\#@!$&()*+,;=%] | {_URL_LETTER} )++
    """,
    flags=regex.VERBOSE | regex.IGNORECASE | regex.V1,
)
_EMAIL = regex.compile(r"(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]++@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++")
_TRAILING = ".,;:!?*_"


@remembered
def urls(text: str) -> tuple[Mark, ...]:
    """URLs, in order, without the punctuation that follows them and without brackets that were opened before them."""
    if ":" not in text and "www." not in text:
        return ()
    urls = []
    for match in _URL.finditer(text):
        url, end = match.group(), len(match.group())
        surplus = url.count(")") - url.count("(")
        while end and (url[end - 1] in _TRAILING or (url[end - 1] == ")" and surplus > 0)):
            if url[end - 1] == ")":
                surplus -= 1
            end -= 1
        urls.append(Mark(url[:end], match.start(), match.start() + end))
    return tuple(urls)


_SPACED_URL = regex.compile(r"(?::\s++/\s*+/|:\s*+/\s++/|\bwww\s*+\.\s|\bwww\s\.|\bwww\.\w++\s[./])")


@remembered
def unspaced_urls(text: str) -> str:
    """``text`` without any white space if it has URLs with spaces inside, as tokenisers write them; else ``""``."""
    return _SPACES.sub("", text) if _SPACED_URL.search(text) else ""


@remembered
def emails(text: str) -> tuple[Mark, ...]:
    """E-mail addresses, in order."""
    if "@" not in text:
        return ()
    addresses = []
    for match in _EMAIL.finditer(text):
        address = match.group().rstrip(".-")
        addresses.append(Mark(address, match.start(), match.start() + len(address)))
    return tuple(addresses)


# -- Markdown

_BLOCK = regex.compile(
    r"""
    ^[ ]{0,3} (?: (?P<heading>\#{1,6})(?=[ \t]) | (?P<fence>```++|~~~++) | (?P<quote>>)(?=[ \t]) | (?P<table>\|) )
    | ^[ \t]*+ (?: (?P<bullet>[-*+])(?=[ \t]) | (?P<ordered>\d{1,9}[.)])(?=[ \t]) )
    """,
    flags=regex.VERBOSE | regex.MULTILINE,
)
_BLOCK_START = regex.compile(r"\s*+[\#>|~`+*\d-]")
# What looks like the sign of a list item at the start of a line, in any style: — Yes, ※注意, 1、, 2)Tap, (3), ④.
_ITEM = regex.compile(
    r"""
    ^[ \t\u3000]*+ (?: (?P<bullet>(?:[-‐‒–—―−*+•‣⁃◦·・●○■□▪▫◆◇►※])(?!\d))
      | (?P<ordered> [(（]?+(?:\d{1,3}|[①-⑳])(?:[ ]?+[.)、．）。,:：\]]|-)(?!\d) | [①-⑳] ) )
    """,
    flags=regex.VERBOSE | regex.MULTILINE,
)
_LINK = regex.compile(r"\]\((?P<target>[^\s()<>]*+(?:\([^\s()<>]*+\)[^\s()<>]*+)?+)(?:[ \t]++\"[^\"\n()]*+\")?+\)")
_FOOTNOTE = regex.compile(r"\[\^[\w-]++\]")
_BACKTICKS = regex.compile(r"`++")
_EMPHASES = {1: "italic", 2: "bold", 3: "bold italic"}
_EMPHASIS = regex.compile(r"\*{1,3}+(?=[^\s*])|(?<=[^\s*])\*{1,3}+|(?<!\w)_{1,3}+(?=[^\s_])|(?<=[^\s_])_{1,3}+(?!\w)")


def code_spans(text: str) -> list[Mark]:
    """Code between equal runs of backticks, in linear time: each run looks for the next of its length."""
    runs = list(_BACKTICKS.finditer(text))
    waiting: defaultdict[int, deque[int]] = defaultdict(deque)
    for index, run in enumerate(runs):
        waiting[len(run.group())].append(index)
    spans, taken = [], -1
    for index, run in enumerate(runs):
        partners = waiting[len(run.group())]
        while partners and partners[0] <= max(index, taken):
            partners.popleft()
        if index > taken and partners:
            taken = partners[0]
            code = text[run.end() : runs[taken].start()]
            spans.append(Mark("code block" if "\n" in code else f"`{code.strip()}`", run.start(), runs[taken].end()))
    return spans


@remembered
def markdown_marks(text: str) -> Counter[str]:
    """Headings by level, list items, quotes, table rows, fences, code, links by target, footnotes, bold and italic."""
    characters = alphabet(text)
    marks: Counter[str] = Counter()
    if "\n" in characters or _BLOCK_START.match(text):
        for match in _BLOCK.finditer(text):
            kind = match.lastgroup or ""
            marks[f"heading {match.group().strip()}" if kind == "heading" else kind] += 1
    if "](" in text:
        for match in _LINK.finditer(text):
            marks[f"link to {match['target']}"] += 1
    if "[^" in text:
        for match in _FOOTNOTE.finditer(text):
            marks[f"footnote {match.group()}"] += 1
    if "`" in characters:
        marks.update(span.key for span in code_spans(text))
    if not characters.isdisjoint("*_"):
        sizes = Counter(map(len, _EMPHASIS.findall(text)))
        for size, count in sizes.items():  # in pairs: an odd mark (a footnote's star) is not emphasis
            marks[_EMPHASES[size]] += count // 2
    return +marks


_TITLE_QUOTES = regex.compile(r"[\"“”„‟«»＂〝〞「」『』《》]|''|``")
_NUMBER = regex.compile(r"\d++")


def _plain_number(text: str) -> str:
    """The first number of ``text`` in digits of ASCII, without zeros before it."""
    digits = _NUMBER.findall(text)[0]
    return "".join(str(int(digit)) for digit in digits).lstrip("0")


def likely_marks(text: str, other: str, *, is_source: bool, said: Collection[str] = ()) -> Counter[str]:
    """What may replace Markdown in ``text`` where ``other``, its source or translation, has the Markdown itself.

    List numbers in any style, quotation marks for italics, code between quotes that begin with a backtick; in a source
    also dashes and other signs before a line ("— Yes"), and any number that begins a line of the translation (1. Mai),
    of those ``said`` in words too.
    """
    marks = Counter(match.lastgroup or "" for match in _ITEM.finditer(text))
    if is_source:
        numbers = {*map(_plain_number, _NUMBER.findall(text)), *said}
        likely_items = 0
        for item in _BLOCK.finditer(other):
            if item["ordered"] and _plain_number(item.group()) in numbers:
                likely_items += 1
        marks["ordered"] = max(marks["ordered"], likely_items)
    else:
        del marks["bullet"]
    quoted = len(_TITLE_QUOTES.findall(text)) - len(_TITLE_QUOTES.findall(other))
    marks["italic"] += max(0, quoted // 2) + markdown_marks(text)["italic"]
    if "`" in text:
        for code in code_spans(other):
            if code.key.strip("`") in text:
                marks[code.key] += 1
    return +marks


# -- inline codes: what people see as units

_DEEPEST_MESSAGE = 10
_CHARACTER = regex.compile(r"\X")


class InlineCode(NamedTuple):
    """``text[start:end]`` is syntax, which people keep or move as a whole; ``meaning`` explains it."""

    start: int
    end: int
    meaning: str


@remembered
def inline_codes(text: str) -> tuple[InlineCode, ...]:
    """Tags, placeholders, the syntax of ICU messages, Markdown and addresses, in order and without overlaps.

    The words inside the forms of an ICU plural or select aren't code.
    """
    return tuple(_inline_codes(text, 0))


def _inline_codes(text: str, depth: int) -> list[InlineCode]:
    codes: list[InlineCode] = []
    for tag in tags(text):
        action = {"open": "opening tag", "close": "closing tag", "empty": "tag"}[tag.kind]
        codes.append(InlineCode(tag.start, tag.end, f"{action} {tag.name}"))
    for mark in placeholders(text):
        if mark.key.startswith("&"):
            codes.append(InlineCode(mark.start, mark.end, "a character written as an entity"))
        elif mark.key in ("\\n", "\\r", "\\t"):
            codes.append(InlineCode(mark.start, mark.end, "a line break or tab of the program"))
        else:
            opening = _ICU.match(text, mark.start)
            if opening and depth < _DEEPEST_MESSAGE:
                codes += _message_codes(text, mark, opening[2], depth)
            else:
                codes.append(InlineCode(mark.start, mark.end, "placeholder: the program puts a value here"))
    for address in (*urls(text), *emails(text)):
        codes.append(InlineCode(address.start, address.end, "address"))
    codes += _markdown_codes(text, has_lines=depth == 0)
    separate: list[InlineCode] = []
    for code in sorted(codes, key=lambda code: (code.start, -code.end)):
        overlaps = bool(separate) and code.start < separate[-1].end
        # A combining mark behind it belongs to its last character, which nothing may split.
        last_character = _CHARACTER.match(text, code.end - 1)
        is_whole = last_character is not None and last_character.end() == code.end
        if not overlaps and is_whole:
            separate.append(code)
    return separate


def _message_codes(text: str, message: Mark, kind: str, depth: int) -> list[InlineCode]:
    """The syntax of an ICU plural or select around the words of its forms, and the codes in these."""
    meaning = f"ICU {kind}: chooses one of several forms"
    codes: list[InlineCode] = []
    level, edge, form_start = 0, message.start, 0
    for brace in _BRACE.finditer(text, message.start, message.end):
        if brace.group() == "{":
            if level == 1:
                codes.append(InlineCode(edge, brace.end(), meaning))
                form_start = brace.end()
            level += 1
        else:
            level -= 1
            if level == 1:
                form = text[form_start : brace.start()]
                if kind != "select":
                    for at in (index for index, character in enumerate(form, form_start) if character == "#"):
                        codes.append(InlineCode(at, at + 1, "the number that the form is about"))
                for code in _inline_codes(form, depth + 1):
                    codes.append(InlineCode(form_start + code.start, form_start + code.end, code.meaning))
                edge = brace.start()
    codes.append(InlineCode(edge, message.end, meaning))
    return codes


def _markdown_codes(text: str, *, has_lines: bool) -> list[InlineCode]:
    """The signs of Markdown; those that begin a line only where ``text`` has lines and is no part of one."""
    codes: list[InlineCode] = []
    characters = alphabet(text)
    if "](" in text:
        for match in _LINK.finditer(text):
            codes.append(InlineCode(*match.span(), f"Markdown: link to {match['target']}"))
    if "[^" in text:
        for match in _FOOTNOTE.finditer(text):
            codes.append(InlineCode(*match.span(), "Markdown: footnote"))
    if "`" in characters:
        for span in code_spans(text):
            codes.append(InlineCode(span.start, span.end, "Markdown: code"))
    if not characters.isdisjoint("*_"):
        emphases = list(_EMPHASIS.finditer(text))
        sizes = Counter(len(match.group()) for match in emphases)
        for match in emphases:
            size = len(match.group())
            if sizes[size] % 2 == 0:  # an odd mark (a footnote's star) is not emphasis
                codes.append(InlineCode(*match.span(), f"Markdown: {_EMPHASES[size]}"))
    if has_lines and "#" in characters:
        for match in _BLOCK.finditer(text):
            if match.lastgroup == "heading":
                codes.append(InlineCode(*match.span("heading"), "Markdown: heading"))
    return codes


# -- brackets and quotation marks

_OPENING = dict(zip("([{（［【「『《〈", ")]})]】」』》〉", strict=True))
_CLOSING = dict(zip(")]}）］】」』》〉", ")]})]】」』》〉", strict=True))
_PAIRS_PLAIN = {"（": "(", "［": "[", "）": ")", "］": "]"}
_BRACKET = regex.compile("[" + regex.escape("".join(_OPENING) + "".join(_CLOSING)) + "]")
_QUOTE = regex.compile(r"""["“”„‟«»＂〝〞״]|''|‘‘|’’|``""")
_GERSHAYIM = regex.compile(r"""(?<=[א-ת])["״](?=[א-ת](?![א-ת]))""")
"""The mark before the last letter of a Hebrew abbreviation; in front of a whole word it is a quotation mark."""


@remembered
def unpaired_brackets(text: str) -> tuple[Mark, ...]:
    """Brackets without a partner, in order; a full-width bracket has the key of the plain one."""
    if not _BRACKET.search(text):
        return ()
    opened: dict[str, list[int]] = {}
    alone: list[int] = []
    for match in _BRACKET.finditer(text):
        bracket, start = match.group(), match.start()
        if closing := _OPENING.get(bracket):
            opened.setdefault(closing, []).append(start)
        elif waiting := opened.get(_CLOSING[bracket]):
            waiting.pop()
        else:
            alone.append(start)
    for waiting in opened.values():
        alone += waiting
    marks = []
    for start in sorted(alone):
        plain_bracket = _PAIRS_PLAIN.get(text[start], text[start])
        marks.append(Mark(plain_bracket, start, start + 1))
    return tuple(marks)


@remembered
def double_quotes(text: str) -> tuple[Mark, ...]:
    """All double quotation marks of any style, in order. Single ones are left out: they may be apostrophes."""
    if alphabet(text).isdisjoint("\"“”„‟«»＂〝〞״'‘’`"):
        return ()
    quotes = []
    for match in _QUOTE.finditer(text):
        if not is_gershayim(text, match.start()):
            quotes.append(Mark(match.group(), *match.span()))
    return tuple(quotes)


def is_gershayim(text: str, start: int) -> bool:
    """Whether the mark at ``start`` belongs to a Hebrew abbreviation and quotes nothing."""
    return _GERSHAYIM.match(text, start) is not None


# -- words


_ESCAPED_APOSTROPHE = regex.compile(r"(?<=\p{L})''(?=[\p{L}{])")  # l''{item}


@remembered
def prose(text: str) -> str:
    """``text`` with placeholders, tags, URLs and e-mail addresses blanked out; offsets stay as they are."""
    if alphabet(text).isdisjoint("%{$&\\<@:w|#"):
        return text
    marks: tuple[Mark | Tag, ...] = (*placeholders(text), *urls(text), *emails(text), *tags(text))
    spans = [(mark.start, mark.end) for mark in marks]
    if "{" in text and "''" in text:
        spans += [match.span() for match in _ESCAPED_APOSTROPHE.finditer(text)]
    spans.sort()
    if not spans:
        return text
    pieces, done = [], 0
    for start, end in spans:
        if end > done:
            start = max(start, done)
            pieces += [text[done:start], " " * (end - start)]
            done = end
    return "".join(pieces) + text[done:]
