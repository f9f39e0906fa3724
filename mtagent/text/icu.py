"""ICU MessageFormat: a message parsed, the variants that a reader may see, and what is wrong with a translation's form.

``{count, plural, one {# file} other {# files}}`` is one message with two variants. Two languages' messages agree if
each variant of the one has the placeholders and tags of the other's, whatever the order and nesting of the branches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

import regex

from mtagent.text.scripts import language_of, remembered
from mtagent.text.word_lists import word_lists

KINDS = frozenset({"plural", "select", "selectordinal"})
_DEEPEST = 30
_MOST_CHOICES, _MOST_CHARACTERS = 20_000, 500_000

Message = tuple["str | Argument", ...]


class Argument(NamedTuple):
    """``{name}``, ``{name, kind, style}``, or one with branches: ``{name, plural, one {…} other {…}}``.

    ``kind="#"`` is the number sign of the plural ``name``.
    """

    name: str
    kind: str = ""
    style: str = ""
    branches: tuple[tuple[str, Message], ...] = ()

    def branch(self, keyword: str) -> Message:
        """What is shown for ``keyword``."""
        branches = dict(self.branches)
        return branches.get(keyword, branches.get("other", ()))


class IcuError(ValueError):
    """A text isn't an ICU message."""


# -- parsing

_NAME = regex.compile(r"\s*+([^\s{},'\"#<>|=:;()\[\]]++)\s*+")
_KEYWORD = regex.compile(r"\s*+(=\d++|[^\s{},'#=]++)\s*+\{")
_OFFSET = regex.compile(r"\s*+offset:\s*+(-?\d++)")
_CLOSING = regex.compile(r"\s*+\}")
_LITERAL = regex.compile(r"[^{}'#]++")
_TYPED = regex.compile(
    r"\{\s*+[^\s{},]++\s*+,\s*+(?:(?:plural|select|selectordinal)\s*+,|(?:number|date|time|spellout|ordinal|duration)\s*+[,}])"
)
_PATTERN = regex.compile(r"(?!::|(?:short|medium|long|full)\b)\S")
_FIELD = regex.compile(r"([^\s:])\1*+")
_SPACES = regex.compile(r"\s++")
_APART = "\u2060"  # so that ${price} is a sign and an argument, and no placeholder of another kind
_BRACES = str.maketrans("{}<%&$\\", "⦃⦄‹٪＆＄＼")  # a quoted one is a mere character


@remembered
def message(text: str) -> Message | None:
    """The message that ``text`` is; ``None`` if it isn't an ICU message, or may be a text with plain braces."""
    if "{" not in text or not _TYPED.search(text):
        return None
    return readable(text)


@remembered
def readable(text: str) -> Message | None:
    """``text`` as the message that it must be; ``None`` if it cannot be read."""
    try:
        return parse(text)
    except IcuError:
        return None


def parse(text: str) -> Message:
    """The message that ``text`` is, as ICU reads it. Raises :class:`IcuError`."""
    parsed, end = _message(text, 0, "", 0)
    if end < len(text):
        raise IcuError(f"a brace closes nothing at character {end + 1}")
    return parsed


def _message(text: str, at: int, plural: str, depth: int) -> tuple[Message, int]:
    """The message from ``at`` to the brace that ends it, or to the end; ``plural`` is whose number ``#`` stands for."""
    if depth > _DEEPEST:
        raise IcuError(f"branches are nested more than {_DEEPEST} deep")
    parts: list[str | Argument] = []
    while at < len(text) and text[at] != "}":
        char = text[at]
        if literal := _LITERAL.match(text, at):
            parts.append(literal.group())
            at = literal.end()
        elif char == "{":
            argument, at = _argument(text, at + 1, depth)
            parts.append(argument)
        elif char == "#":
            parts.append(Argument(plural, "#") if plural else "#")
            at += 1
        elif text.startswith("''", at):
            parts.append("'")
            at += 2
        elif text[at + 1 : at + 2] in (("{", "}", "#") if plural else ("{", "}")):
            end = text.find("'", at + 1)
            while end >= 0 and text.startswith("''", end):
                end = text.find("'", end + 2)
            if end < 0:
                end = len(text)
            parts.append(text[at + 1 : end].replace("''", "'").translate(_BRACES))
            at = end + 1
        else:
            parts.append("'")
            at += 1
    if depth and at >= len(text):
        raise IcuError("a brace is not closed")
    return tuple(parts), min(at, len(text))


def _argument(text: str, at: int, depth: int) -> tuple[Argument, int]:
    """The argument whose opening brace is before ``at``, and where it ends."""
    named = _NAME.match(text, at)
    if not named:
        raise IcuError(f"no name of an argument at character {at + 1}")
    name, at = named.group(1), named.end()
    if text.startswith("}", at):
        return Argument(name), at + 1
    kind = _NAME.match(text, at + 1)
    if not text.startswith(",", at) or not kind:
        raise IcuError(f"argument {name!r} is not closed")
    at = kind.end()
    if text.startswith("}", at):
        if kind.group(1) in KINDS:
            raise IcuError(f"{name!r} has no branches")
        return Argument(name, kind.group(1)), at + 1
    if not text.startswith(",", at):
        raise IcuError(f"argument {name!r} is not closed")
    if kind.group(1) in KINDS:
        return _branches(text, at + 1, name, kind.group(1), depth)
    return _style(text, at + 1, name, kind.group(1))


def _style(text: str, at: int, name: str, kind: str) -> tuple[Argument, int]:
    """An argument with a style, which may hold braces in pairs. Patterns of dates are each language's own."""
    start, opened = at, 1
    while opened:
        if at >= len(text):
            raise IcuError(f"argument {name!r} is not closed")
        opened += (text[at] == "{") - (text[at] == "}")
        at += 1
    style = _SPACES.sub(" ", text[start : at - 1]).strip()
    if kind in ("date", "time"):
        style = "" if _PATTERN.match(style) else _in_order(style)
    return Argument(name, kind, style), at


def _in_order(style: str) -> str:
    """A skeleton of a date, ``::yMMMd``, with its fields in one order, for theirs means nothing."""
    if not style.startswith("::"):
        return style
    fields = [match.group() for match in _FIELD.finditer(style)]
    return "::" + "".join(sorted(fields))


def _branches(text: str, at: int, name: str, kind: str, depth: int) -> tuple[Argument, int]:
    """An argument that chooses among branches."""
    style = ""
    offset = _OFFSET.match(text, at)
    if offset and kind != "select":
        style, at = offset[1], offset.end()
    branches: dict[str, Message] = {}
    closing = _CLOSING.match(text, at)
    while not closing:
        keyword = _KEYWORD.match(text, at)
        if not keyword:
            raise IcuError(f"no keyword of {name!r} at character {at + 1}")
        if keyword.group(1) in branches:
            raise IcuError(f"{keyword.group(1)!r} of {name!r} comes twice")
        branches[keyword.group(1)], at = _message(text, keyword.end(), "" if kind == "select" else name, depth + 1)
        at += 1
        closing = _CLOSING.match(text, at)
    if not branches:
        raise IcuError(f"{name!r} has no branches")
    return Argument(name, kind, style, tuple(branches.items())), closing.end()


def arguments(message: Message) -> Iterator[Argument]:
    """The arguments that choose among branches, outer ones first."""
    for part in message:
        if isinstance(part, Argument) and part.branches:
            yield part
            for _, branch in part.branches:
                yield from arguments(branch)


def names(message: Message) -> set[str]:
    """The names of all arguments."""
    found = set()
    for part in message:
        if isinstance(part, Argument):
            found.add(part.name)
            for _, branch in part.branches:
                found |= names(branch)
    return found


def renamed(text: str, new_names: Mapping[str, str]) -> str | None:
    """``text`` with other names of its arguments; ``None`` if something else would change, too."""
    alternatives = "|".join(map(regex.escape, new_names))
    pattern = rf"(?<=\{{\s*)(?:{alternatives})(?=\s*+[,}}])"
    written = regex.sub(pattern, lambda match: new_names[match.group()], text)
    # A branch may have a text like a name: {name, select, other {Name}}.
    return written if parse(written) == _with_names(parse(text), new_names) else None


def _with_names(message: Message, new_names: Mapping[str, str]) -> Message:
    parts: list[str | Argument] = []
    for part in message:
        if isinstance(part, Argument):
            branches = tuple((keyword, _with_names(branch, new_names)) for keyword, branch in part.branches)
            part = part._replace(name=new_names.get(part.name, part.name), branches=branches)
        parts.append(part)
    return tuple(parts)


# -- variants

Choice = Mapping[str, str]
"""The keyword that each argument chooses; ``other`` for arguments that it lacks."""

_FEW = frozenset({"zero", "one", "two", "=0", "=1", "=2"})
"""Keywords whose branch may spell the number out ("one file")."""


class Variant(NamedTuple):
    """What a reader may see of two messages: both texts for the same choice, with plain placeholders only."""

    choice: str
    source: str
    text: str


def variants(source: Message, text: Message, lang: str = "") -> Iterator[Variant]:
    """Both messages as they are shown for each choice that one of them has.

    The number sign is ``{name}``, like the argument itself. Where few are counted, the text may always have the number,
    and need not have it where another word replaces it or, in a form that the source does not know, another form.
    """
    if is_one_only_1(lang):
        source, text = _with_one_for_1(source), _with_one_for_1(text)
    numbers = _counted(source, text)
    few = _FEW - {"one"} if language_of(lang) in _ONE_IS_ALSO_21 else _FEW
    explicit = set[tuple[str, str]]()
    for argument in arguments(source):
        explicit.update((argument.name, keyword) for keyword, _ in argument.branches)
    for choice in _shown_choices(source, text):
        shown_source, shown_text = _shown(source, choice, numbers), _shown(text, choice, numbers)
        for name, keyword in choice.items():
            sign = f"{_APART}{{{name}}}"
            in_source, in_text = shown_source.count(sign), shown_text.count(sign)
            if name not in numbers or keyword not in few or in_source == in_text:
                continue
            many = _shown(text, {**choice, name: "other"}, numbers)
            words, many_words = shown_text.replace(sign, "").split(), many.replace(sign, "").split()
            is_another_word = len(words) > len(many_words)  # "one book" for "3 books"
            is_another_form = words != many_words and (name, keyword) not in explicit  # a dual
            if in_source < in_text or is_another_word or is_another_form:
                shown_source, shown_text = shown_source.replace(sign, ""), shown_text.replace(sign, "")
        label = ", ".join(f"{name} = {keyword.removeprefix('=')}" for name, keyword in choice.items())
        yield Variant(label, shown_source, shown_text)


def side_by_side(*messages: Message) -> Iterator[tuple[str, ...]]:
    """All messages as they are shown for the same choices, as few of them as show every branch."""
    numbers = _counted(*messages)
    for choice in _shown_choices(*messages, few=True):
        yield tuple(_shown(message, choice, numbers) for message in messages)


def _counted(*messages: Message) -> set[str]:
    """The names of the arguments that plurals count."""
    names = set[str]()
    for message in messages:
        names.update(argument.name for argument in arguments(message) if argument.kind != "select")
    return names


def _shown_choices(*messages: Message, few: bool = False) -> Sequence[Choice]:
    """The choices that lead to each branch of ``messages``; if these would show too much, several of them at once."""
    paths = chain.from_iterable(_choices(message, {}) for message in messages)
    distinct = {frozenset(choice.items()): dict(choice) for choice in islice(paths, _MOST_CHOICES)}
    choices = list(distinct.values()) or [{}]
    size = 1 + sum(map(_size, messages))
    most = max(1, _MOST_CHARACTERS // size)
    if few or len(choices) * size > _MOST_CHARACTERS:
        choices = _merged(choices, most)
    return choices[:most]


def _merged(choices: Sequence[dict[str, str]], most: int) -> list[dict[str, str]]:
    """The ``choices``, as many of them in one as do not contradict each other; at most ``most``."""
    merged: list[dict[str, str]] = []
    for choice in choices:
        for other in merged:
            if all(other.get(name, keyword) == keyword for name, keyword in choice.items()):
                other.update(choice)
                break
        else:
            if len(merged) < most:
                merged.append(choice)
    return merged


def _size(message: Message) -> int:
    """The characters of ``message``, about, and its branches, for they take time too."""
    size = 0
    for part in message:
        if isinstance(part, str):
            size += len(part)
            continue
        size += len(part.name)
        for _, branch in part.branches:
            size += 1 + _size(branch)
    return size


def _with_one_for_1(message: Message) -> Message:
    """``message`` with ``one`` in place of ``=1`` in plurals that have only the latter."""
    parts = []
    for part in message:
        if isinstance(part, Argument) and part.branches:
            keywords = {keyword for keyword, _ in part.branches}
            is_plural_without_one = part.kind == "plural" and not part.style and "one" not in keywords
            branches = []
            for keyword, branch in part.branches:
                if is_plural_without_one and keyword == "=1":
                    keyword = "one"
                branches.append((keyword, _with_one_for_1(branch)))
            part = part._replace(branches=tuple(branches))
        parts.append(part)
    return tuple(parts)


def _choices(message: Message, outer: Choice) -> Iterator[Choice]:
    for part in message:
        if isinstance(part, Argument):
            for keyword, branch in part.branches:
                choice = {**outer, part.name: keyword}
                yield choice
                yield from _choices(branch, choice)


def _shown(message: Message, choice: Choice, numbers: set[str]) -> str:
    pieces = []
    for part in message:
        if isinstance(part, str):
            pieces.append(part)
        elif part.branches:
            pieces.append(_shown(part.branch(choice.get(part.name, "other")), choice, numbers))
        elif part.kind == "#" or (part.name in numbers and part.kind in ("", "number") and not part.style):
            pieces.append(f"{_APART}{{{part.name}}}")
        else:
            pieces.append(f"{_APART}{{{', '.join(filter(None, part[:3]))}}}")
    return "".join(pieces)


# -- form

_FORMS = word_lists("plural_forms")
_ALL_FORMS = frozenset({"zero", "one", "two", "few", "many", "other"})
_ONE_IS_ALSO_21 = frozenset(_FORMS["one"]["also_21"].split())
_ONE_IS_MORE = _ONE_IS_ALSO_21.union(_FORMS["one"]["also_others"].split())
"""Languages in which ``one`` also means other whole numbers than 1, such as 0 or 21."""


@lru_cache(maxsize=256)
def plural_forms(lang: str, kind: str = "plural") -> frozenset[str]:
    """The plural categories of a language (BCP-47), or those of its ordinals; all six for one that is not known."""
    language = language_of(lang)
    if not language or language == "und":
        return _ALL_FORMS
    table = _FORMS["cardinals"] if kind == "plural" else _FORMS["ordinals"]
    for forms, languages in table.items():
        if language in languages.split():
            return frozenset(forms.split())
    return frozenset(["one", "other"] if kind == "plural" else ["other"])


def is_one_only_1(lang: str) -> bool:
    """Whether ``one`` and ``=1`` are the same of whole numbers in a language."""
    return "one" in plural_forms(lang) and language_of(lang) not in {"", "und", *_ONE_IS_MORE}


def form_faults(source: Message, text: Message, lang: str, before: Message | None = None) -> Iterator[str]:
    """What is wrong with the arguments of ``text`` that choose, and with their keywords, as a message in ``lang``.

    A select has the keywords of the source; a plural the forms of the language and the exact numbers of the source.
    The forms of the source may not be missing (of ordinals, those of the translation ``before``). ``=1`` replaces
    ``one``, and the reverse, in languages where both mean the same; where ``one`` also means 21, it needs the number.
    """
    spelled_out = set[str]()
    for argument in arguments(text):
        if not _has_number(argument.name, argument.branch("one")):
            spelled_out.add(argument.name)
    if is_one_only_1(lang):
        source, text, before = _with_one_for_1(source), _with_one_for_1(text), _with_one_for_1(before or ())
    in_source, in_text, in_before = _by_argument(source), _by_argument(text), _by_argument(before or ())
    for name, kind, _ in in_source.keys() - in_text.keys():
        yield f"argument {{{name}, {kind}}} is missing"
    for name, kind, _ in in_text.keys() - in_source.keys():
        yield f"argument {{{name}, {kind}}} is not in the source"
    for key, occurrences in in_text.items():
        name, kind, _ = key
        expected = frozenset[str]().union(*in_source.get(key, ()))
        forms = plural_forms(lang, kind)
        if kind != "select":
            forms_before = frozenset[str]().union(*in_before.get(key, ()))
            exact_numbers = {keyword for keyword in expected if keyword.startswith("=")}
            if kind == "plural":
                expected = (forms_before | expected) & forms | exact_numbers
            else:
                forms |= expected
                expected = forms_before & plural_forms(lang, kind) | exact_numbers
        one_replaces_1 = kind == "plural" and "one" not in expected and name not in spelled_out
        for keywords in occurrences:
            needed = expected | {"other"}
            if one_replaces_1 and "one" in keywords:
                needed -= {"=1"}
            for keyword in sorted(needed - keywords):
                yield f"{keyword!r} of {name!r} is missing"
            for keyword in sorted(keywords - expected - {"other"}):
                if kind == "select":
                    yield f"{keyword!r} of {name!r} is not in the source"
                elif not keyword.startswith("=") and keyword not in forms:
                    form = "plural" if kind == "plural" else "ordinal"
                    yield f"{keyword!r} of {name!r} is no {form} form of {lang}"


def _has_number(name: str, message: Message) -> bool:
    """Whether the number that ``name`` counts is shown."""
    for part in message:
        if isinstance(part, str):
            continue
        if not part.branches and part.name == name:
            return True
        if any(_has_number(name, branch) for _, branch in part.branches):
            return True
    return False


def _by_argument(message: Message) -> dict[tuple[str, str, str], list[frozenset[str]]]:
    """The keywords of each occurrence of the arguments that choose, by name, kind and offset."""
    keywords = defaultdict[tuple[str, str, str], list[frozenset[str]]](list)
    for argument in arguments(message):
        keywords[argument[:3]].append(frozenset(dict(argument.branches)))
    return keywords
