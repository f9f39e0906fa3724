"""Faults of a text as a translation of its source, without a text before: marks, their pairs, doubled words.

The guards over edits refuse new faults (:mod:`mtagent.chain.guards`), and the evaluator ``rules`` marks all.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import regex

from mtagent.records import Segment
from mtagent.text import icu, markup, number_faults, scripts
from mtagent.text.number_words import readings
from mtagent.text.units import quantities, units_named
from mtagent.text.word_lists import word_lists, words_by_language

Check = Callable[[Segment, str], Iterable[str]]
"""``check(segment, text)`` names, with repeats, the faults of ``text`` as a translation of the source."""

Marks = Sequence[scripts.Mark] | Sequence[markup.Tag]


def keys(marks: Marks) -> Counter[str]:
    """How often each mark occurs."""
    return Counter(mark.key for mark in marks)


def _difference(source: Counter[str], text: Counter[str], what: str = "") -> list[str]:
    """The faults of a text that must have the marks of its source: those that it lacks, and those that it adds."""
    if source == text:
        return []
    faults = [f"{what}{mark} is missing" for mark in (source - text).elements()]
    faults += [f"{what}{mark} is not in the source" for mark in (text - source).elements()]
    return faults


def in_each_variant(check: Callable[[str, str], list[str]]) -> Check:
    """``check(source, text)`` over the texts, or over each variant of two ICU messages."""

    def checked(segment: Segment, text: str) -> Iterable[str]:
        source = icu.message(segment.source)
        message = source and icu.readable(text)
        if source is None or message is None:
            return check(segment.source, text)
        faults = []
        for variant in icu.variants(source, message, segment.target_lang):
            where = f" in {variant.choice}" if variant.choice else ""
            for fault in check(variant.source, variant.text):
                faults.append(fault + where)
        return faults

    return checked


def form_faults(source: icu.Message, text: str, lang: str, before: icu.Message | None = None) -> Iterator[str]:
    """Faults of ``text`` as an ICU message that translates ``source``, besides its placeholders."""
    if message := icu.readable(text):
        yield from icu.form_faults(source, message, lang, before)
    else:
        yield "the ICU message cannot be read"


@in_each_variant
def placeholders(source: str, text: str) -> list[str]:
    """The text has the placeholders of the source, printf's in its order."""
    in_source, in_text = markup.placeholder_pair(source, text)
    if not in_source and not in_text:
        return []
    return _difference(keys(in_source), keys(in_text))


def literals(segment: Segment, text: str) -> list[str]:
    """File names, options, colours and the like stay; a shortcut or comparison does not become another."""
    runs_left = scripts.runs_right_to_left(segment.target_lang)
    check = in_each_variant(partial(_literal_faults, runs_left=runs_left))
    return list(check(segment, text))


def _literal_faults(source: str, text: str, *, runs_left: bool) -> list[str]:
    in_source = markup.literals(source)
    if not in_source:
        return []
    in_text = markup.literals(text)
    added = defaultdict[str, deque[markup.Literal]](deque)  # by kind
    for literal in _without(in_text, in_source):
        added[literal.kind].append(literal)
    faults = []
    for literal in _without(in_source, in_text):
        if literal.kind not in markup.SPELLED_OUT:
            faults.append(f"{literal.kind} {literal.key} is missing")
        elif added[literal.kind]:
            other = added[literal.kind].popleft()
            sides = (source, literal), (text, other)
            if not _is_turned(*sides, runs_left=runs_left) and not _is_localised(*sides):
                faults.append(f"{literal.kind} {literal.key} became {other.key}")
    return faults


def _without(literals: Sequence[markup.Literal], others: Sequence[markup.Literal]) -> Iterator[markup.Literal]:
    """The ``literals`` that have no partner among ``others``."""
    unpaired = Counter((other.kind, other.key) for other in others)
    for literal in literals:
        unpaired[literal.kind, literal.key] -= 1
        if unpaired[literal.kind, literal.key] < 0:
            yield literal


_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OPERAND = regex.compile(r"[\p{L}\p{M}\p{N}_.,%]{1,40}")
_MENU_ITEM = regex.compile(r"\p{Lu}\p{L}{2,}+")


MarkInText = tuple[str, markup.Literal]
"""A text and a mark in it."""


def _is_turned(source: MarkInText, text: MarkInText, *, runs_left: bool) -> bool:
    """Whether a comparison means the same with its sides changed (``5 < x``, ``x > 5``).

    Or whether it is an arrow between the items of a menu, which points left where the script runs from right to left.
    """
    sign = source[1].key
    if _MIRRORED.get(sign) != text[1].key:
        return False
    source_operands, text_operands = _operands(*source), _operands(*text)
    if all(source_operands) and source_operands == text_operands[::-1]:
        return True
    return runs_left and sign == ">" and all(map(_MENU_ITEM.match, source_operands))


def _operands(text: str, mark: markup.Literal) -> tuple[str, str]:
    """The words next to a comparison."""
    before = _OPERAND.findall(text[max(0, mark.start - 40) : mark.start])
    after = _OPERAND.findall(text[mark.end : mark.end + 40])
    return (before[-1] if before else ""), (after[0].rstrip(".,") if after else "")


def _is_localised(source: MarkInText, text: MarkInText) -> bool:
    """Whether a shortcut in brackets in a label has the first letter of a word in either language: Save (Ctrl+S)."""
    if source[1].kind != "shortcut" or source[1].key[:-1] != text[1].key[:-1]:
        return False
    for label, shortcut in (source, text):
        is_in_brackets = label[max(0, shortcut.start - 1) : shortcut.start] in ("(", "（")
        if not is_in_brackets or not markup.is_label(label):
            return False
        initials = {word[0].upper() for word in scripts.words(label[: shortcut.start])}
        if shortcut.key[-1] not in initials:
            return False
    return True


def hotkeys(segment: Segment, text: str) -> list[str]:
    """A label with one hotkey (&File, _File) keeps one, at whatever letter; one without gets none."""
    if not markup.is_label(segment.source) or not markup.is_label(text):
        return []
    in_source, in_text = markup.hotkeys(segment.source), markup.hotkeys(text)
    if not in_source and "&" in segment.source:
        return []
    if not in_source:
        in_text = Counter({"&": in_text["&"]})
    elif in_source.total() > 1:
        return []
    return _difference(in_source, in_text, "hotkey ")


@in_each_variant
def tags(source: str, text: str) -> list[str]:
    """The text has the tags of the source, and none is crossed, stray or left open.

    If a remark in the form of a tag (``<laugh/>``) is missing, its translation is not counted as a second fault.
    """
    in_source, in_text = markup.tags(source), markup.tags(text)
    if not in_source and not in_text:
        return []
    source_keys, text_keys = keys(in_source), keys(in_text)
    missing, added = source_keys - text_keys, text_keys - source_keys
    if missing and added:
        lost_remarks = list(filter(markup.is_remark, missing.elements()))
        new_remarks = list(filter(markup.is_remark, added.elements()))
        added -= Counter(new_remarks[: len(lost_remarks)])
    nesting_faults = Counter(markup.nesting_faults(in_text)) - Counter(markup.nesting_faults(in_source))
    return _difference(missing, added) + list(nesting_faults.elements())


@in_each_variant
def urls(source: str, text: str) -> list[str]:
    """The text has the URLs of the source. A URL with spaces in it may be mended."""
    if not markup.urls(source) and not markup.urls(text):
        return []
    in_source, in_text = keys(markup.urls(source)), keys(markup.urls(text))
    unspaced = markup.unspaced_urls(source)
    if unspaced:
        mended, parts = Counter[str](), Counter[str]()
        for url, count in (in_text - in_source).items():
            if url in unspaced:
                mended[url] = count
        for url, count in (in_source - in_text).items():
            if any(url in whole for whole in mended):
                parts[url] = count
        in_source = in_source - parts + mended
    return _difference(in_source, in_text)


def emails(segment: Segment, text: str) -> list[str]:
    """The text has the e-mail addresses of the source."""
    in_source, in_text = markup.emails(segment.source), markup.emails(text)
    if not in_source and not in_text:
        return []
    return _difference(keys(in_source), keys(in_text))


def markdown(segment: Segment, text: str) -> list[str]:
    """The text has the headings, lists, links, code and emphasis of the source; their notation is free."""
    in_source, in_text = markup.markdown_marks(segment.source), markup.markdown_marks(text)
    if in_source == in_text:
        return []
    missing = in_source - (in_text | markup.likely_marks(text, segment.source, is_source=False))
    said = readings(segment.source, segment.source_lang).possible
    added = in_text - (in_source | markup.likely_marks(segment.source, text, is_source=True, said=said))
    return _difference(missing, added, "Markdown: ")


def brackets(segment: Segment, text: str) -> list[str]:
    """No bracket without its partner, except those of the source."""
    alone = markup.unpaired_brackets(markup.prose(text))
    if not alone:
        return []
    surplus = keys(alone) - keys(markup.unpaired_brackets(markup.prose(segment.source)))
    return [f"{bracket} has no partner" for bracket in surplus.elements()]


def quotes(segment: Segment, text: str) -> Iterator[str]:
    """The number of double quotation marks is even if it is in the source, and each closes in the style it opened in.

    Spanish questions and exclamations have both of their marks.
    """
    yield from _quote_faults(segment, text)
    if scripts.language_of(segment.target_lang) in _WITH_OPENING_MARKS:
        yield from _unopened(markup.prose(text))


@in_each_variant
def _quote_faults(source: str, text: str) -> list[str]:
    source, text = markup.prose(source), markup.prose(text)
    if len(markup.double_quotes(source)) % 2:
        return []
    faults = []
    if len(markup.double_quotes(text)) % 2:
        faults.append("a quotation mark has no partner")
    mismatched = _mismatched_quotes(text)
    if mismatched:
        faults += mismatched[len(_mismatched_quotes(source)) :]
    return faults


_CLOSED_BY = {
    "„": "“”״", "“": "”", "”": "”", "«": "»", "»": "«»", '"': '"', "״": "״", "＂": "＂", "〝": "〞〟",
    "「": "」", "『": "』",
}  # fmt: skip
"""The marks that may close a quotation, by the mark that opens it."""
_QUOTATION_MARK = regex.compile(f"[{''.join(_CLOSED_BY)}{''.join(_CLOSED_BY.values())}]")
_OPENING_CONTEXT = regex.compile(rf"(?:\A|[\s\p{{Ps}}\p{{Pi}}\p{{Pd}}/:=\"'„{scripts.UNSPACED}]|\p{{P}}(?<![.,;!?]))\Z")
_INCHES = regex.compile(r"\d ?\Z")
_FEWEST_MARKS = 2


def _mismatched_quotes(text: str) -> list[str]:
    """The quotations of ``text`` that certainly open in one style and close in another."""
    if scripts.alphabet(text).isdisjoint(_CLOSED_BY):
        return []
    opened: list[str] = []
    faults = []
    for match in _QUOTATION_MARK.finditer(text):
        mark, start = match.group(), match.start()
        if markup.is_gershayim(text, start):
            continue
        if opened and mark in _CLOSED_BY[opened[-1]]:
            opened.pop()
        elif mark == '"' and _INCHES.search(text, max(0, start - 2), start):
            continue
        elif mark in _CLOSED_BY and _OPENING_CONTEXT.search(text, max(0, start - 1), start):
            opened.append(mark)
        elif opened:
            faults.append(f"{opened.pop()} is closed by {mark}")
    if len(set(opened)) >= _FEWEST_MARKS:
        faults.append(f"{opened[0]} is closed by {opened[-1]}")
    return faults


_WITH_OPENING_MARKS = frozenset(["ast", "es", "gl"])
_QUESTIONS = regex.compile(r"¿|(?<!\()\?++")


def _unopened(text: str) -> list[str]:
    """Spanish questions and exclamations without the mark before them, or questions without the one after them."""
    questions = Counter(match.group()[0] for match in _QUESTIONS.finditer(text))
    # A list times a negative number is empty.
    faults = ["? has no ¿"] * (questions["?"] - questions["¿"])
    faults += ["¿ has no partner"] * (questions["¿"] - questions["?"])
    faults += ["¡ has no partner"] * (text.count("¡") - text.count("!"))
    return faults


def control(segment: Segment, text: str) -> list[str]:
    """No control, private-use, replacement or odd invisible character that the source does not have."""
    characters = scripts.control_characters(text, segment.target_lang)
    if not characters:
        return []
    in_source = Counter(scripts.control_characters(segment.source, segment.source_lang))
    return [f"character {code}" for code in (Counter(characters) - in_source).elements()]


_WIDE = regex.compile(r"[\uff01-\uff5d\u3000、。]")
_HALF_WIDTH_KANA = regex.compile(r"[\uff65-\uff9f]")
_WIDE_LETTERS = regex.compile(r"[０-９Ａ-Ｚａ-ｚ]++")
_CJK = scripts.CHINESE_OR_JAPANESE
_NARROW_BESIDE_WIDE = regex.compile(rf"(?<={_CJK})(?:[,!?;]|[.:](?!\w))(?=[\s\p{{Pe}}\p{{Pf}}]*+(?:{_CJK}|\Z))")
_EAST_ASIAN = frozenset(["Hans", "Hant", "Hani", "Jpan"])


def width(segment: Segment, text: str) -> Iterator[str]:
    """Characters are as wide as the language has them, or as the source has them.

    Full-width letters, digits and marks are allowed only next to Chinese and Japanese, where marks between characters
    are full-width, but letters and digits are not; half-width kana are never allowed.
    """
    if text.isascii():
        return
    if scripts.script_of(segment.target_lang) in _EAST_ASIAN:
        for mark in _NARROW_BESIDE_WIDE.findall(text):
            yield f"{mark!r} is not full-width"
        strange = [*_WIDE_LETTERS.findall(text), *_HALF_WIDTH_KANA.findall(text)]
    else:
        strange = [*_WIDE.findall(text), *_HALF_WIDTH_KANA.findall(text)]
    if not strange:
        return
    is_from_east_asia = scripts.script_of(segment.source_lang) in _EAST_ASIAN
    of_source = frozenset[str]() if is_from_east_asia else scripts.alphabet(segment.source)
    for form in strange:
        if not of_source.issuperset(form):
            yield f"{form!r} is of another width"


_STUTTER = regex.compile(r"(\p{L}{1,6}?)\1{7,}+")
_STUTTER_LETTERS = 8
_LOOP_TURNS = 4


def repetition(segment: Segment, text: str) -> list[str]:
    """No phrase follows itself four times or more, and no letters eight times, unless the source does the like."""
    turns, stutters = _loops(text), _stutters(text)
    faults = []
    if turns >= _LOOP_TURNS and turns > _loops(segment.source) + 1:
        faults.append(f"a phrase is repeated {turns} times")
    if stutters and not _stutters(segment.source):
        faults += [f"{letters!r} is repeated" for letters in stutters]
    return faults


def _stutters(text: str) -> tuple[str, ...]:
    """Letters that follow themselves eight times or more within a word ("looooooooong")."""
    stutters = []
    for word in scripts.words(text):
        if len(word) < _STUTTER_LETTERS or len(set(word)) > len(word) // 2:
            continue
        if match := _STUTTER.search(word):
            stutters.append(match.group(1))
    return tuple(stutters)


def _loops(text: str) -> int:
    """How often the most repeated phrase of ``text`` follows itself; 1 = no phrase repeats.

    A phrase that comes back after p words makes each group of three words in it come back after p words. A single
    character (laughter in Chinese) counts half.
    """
    words = scripts.words(text)
    if len(words) - len(set(words)) < _LOOP_TURNS - 1:
        return 1
    last: dict[tuple[str, str, str], int] = {}
    most = run = period = 0
    for index, group in enumerate(zip(words, words[1:], words[2:], strict=False)):
        distance = index - last.get(group, index)
        last[group] = index
        if not distance:
            run = 0
        elif distance == period:
            run += 1
        else:
            run = 1
        period = distance
        if distance:
            turns = (run + 2) // distance + 1
            is_single_character = distance == len(group[0]) == 1
            most = max(most, turns // 2 if is_single_character else turns)
    return max(most, 1)


def max_length(segment: Segment, text: str) -> list[str]:
    """The text has no more characters than the segment allows."""
    most = segment.max_length
    if most is None or len(text) <= most:
        return []
    return [f"{len(text)} characters instead of at most {most}"]


def units(segment: Segment, text: str) -> list[str]:
    """No unit of the source has become another of its kind, where all numbers are the same (5 km → 5 mi)."""
    named = frozenset(units_named(segment.source, segment.source_lang) or ())
    in_source = counted_units(segment.source, segment.source_lang, named).keys()
    in_text = counted_units(text, segment.target_lang, named).keys()
    if not in_source or not in_text:
        return []
    faults = []
    for kind, unit in sorted(in_source - in_text):
        for other_kind, other_unit in sorted(in_text - in_source):
            if other_kind == kind and other_unit not in named:
                faults.append(f"unit {unit} became {other_unit}")
    if faults:
        of_numbers = number_faults.faults(segment.source, text, segment.source_lang, segment.target_lang)
        if of_numbers.missing or of_numbers.extra:
            return []
    return faults


def counted_units(text: str, lang: str, named: frozenset[str]) -> Counter[tuple[str, str]]:
    """How often each kind and unit is next to a number in ``text``."""
    return Counter((quantity.kind, quantity.unit) for quantity in quantities(text, lang, named))


# -- words that follow themselves: which are a slip, and which a language doubles on purpose

_DOUBLING = word_lists("doubling")
_NEVER_DOUBLED = words_by_language(_DOUBLING["never_doubled"])
_MAY_BE_DOUBLED = words_by_language(_DOUBLING["may_be_doubled"])
_DOUBLED_IN_CHINESE = words_by_language(_DOUBLING["doubled_on_purpose"])["zh"]
_DOUBLED = regex.compile(
    r"(?<![\p{L}\p{M}\p{N}\p{Pd}'’])(?P<word>\p{L}[\p{L}\p{M}]*+)"
    r"(?P<again>[ \u00a0]++(?P=word))(?![\p{L}\p{M}\p{N}\p{Pd}'’])",
    regex.IGNORECASE,
)
# Without spaces: particles and pronouns that do not follow themselves, and three characters or more that do.
_DOUBLED_SIGNS = {
    "ja": regex.compile(rf"をを|(?P<again>(?P<word>{scripts.CHINESE_OR_JAPANESE}{{3,12}}?)(?P=word))"),
    "zh": regex.compile(
        r"(?<!目)的的(?![确確士])|您您|我我|请请|與與|与与|(?P<again>(?P<word>\p{Han}{2,12}?)(?P=word))"
    ),
}
_OBJECT_MARK_TWICE = "をを"
_TWICE = regex.compile(r"(?<!\p{L})(\p{L}[\p{L}\p{M}]*+)\W++\1(?!\p{L})|(\p{Han}{2,}?)\2", regex.IGNORECASE)
_HAN = regex.compile(r"\p{Han}")
_LONGER_THAN_SOUNDS = 5
_PERIODIC = regex.compile(r"(.+?)\1++", regex.DOTALL)


class Doubled(NamedTuple):
    """A word that follows itself in ``text[start:end]``."""

    word: str
    start: int
    end: int
    certain: bool
    """Whether the language never doubles it."""

    @property
    def complaint(self) -> str:
        """The fault, as people read it."""
        return f"{self.word!r} is doubled"


def doublings(source: str, text: str, lang: str) -> Iterator[Doubled]:
    """The words of ``text`` that follow themselves by mistake, where the words of the ``source`` do not.

    For languages that double words to make new ones (Indonesian, Turkish, Hindi …) only the smallest words are listed.
    """
    lang = scripts.language_of(lang)
    signs = _DOUBLED_SIGNS.get(lang)
    if signs is None and lang not in _NEVER_DOUBLED and lang not in _MAY_BE_DOUBLED:
        return
    pattern = signs or _DOUBLED
    if not pattern.search(text) or _TWICE.search(source):
        return
    if signs is None:
        yield from _doubled_between_spaces(text, lang)
    else:
        yield from _doubled_signs(text, signs)


def _doubled_between_spaces(text: str, lang: str) -> Iterator[Doubled]:
    never_doubled, may_be_doubled = _NEVER_DOUBLED.get(lang, frozenset()), _MAY_BE_DOUBLED.get(lang)
    for match in _DOUBLED.finditer(text):
        first, again = match["word"], match["again"].strip()
        word = first.casefold()
        has_case = word.upper() != word
        is_name = has_case and not again.islower()
        if is_name:
            continue
        if word in never_doubled:
            yield Doubled(first, *match.span(), certain=True)
        elif may_be_doubled is not None and word not in may_be_doubled:
            yield Doubled(first, *match.span(), certain=False)


def _doubled_signs(text: str, pattern: regex.Pattern[str]) -> Iterator[Doubled]:
    for match in pattern.finditer(text):
        word = match["word"] or match.group()[0]
        is_particle_or_pronoun = match["again"] is None
        if is_particle_or_pronoun or not (_is_doubled_on_purpose(word) or _is_sound(word)):
            yield Doubled(word, *match.span(), certain=match.group() == _OBJECT_MARK_TWICE)


def _is_doubled_on_purpose(word: str) -> bool:
    is_periodic = _PERIODIC.fullmatch(word) is not None
    return is_periodic or len(set(word)) == 1 or word[0] in "一每" or word in _DOUBLED_IN_CHINESE


def _is_sound(word: str) -> bool:
    """Whether ``word``, doubled, imitates a sound or a manner: ひょろひょろ."""
    return len(word) < _LONGER_THAN_SOUNDS and not _HAN.search(word)


def doubled_words(segment: Segment, text: str) -> Iterator[str]:
    """No word follows itself, unless the language doubles it or the source does the like."""
    for doubled in doublings(segment.source, text, segment.target_lang):
        yield doubled.complaint


def surely_doubled_words(segment: Segment, text: str) -> Iterator[str]:
    """No word that the language never doubles follows itself, unless the source does the like."""
    for doubled in doublings(segment.source, text, segment.target_lang):
        if doubled.certain:
            yield doubled.complaint


# -- strings of programs, whose layout is fixed


def white_space(text: str) -> dict[str, str | int]:
    """The white space that must stay, by its name in complaints."""
    lead = text[: len(text) - len(text.lstrip())]
    trail = text[len(text.rstrip()) :] if len(lead) < len(text) else ""
    return {
        "leading white space is": lead,
        "trailing white space is": trail,
        "the number of tabs is": text.count("\t"),
    }


def same_white_space(segment: Segment, text: str) -> Iterator[str]:
    """White space at both ends and tabs are as in the source."""
    in_source = white_space(segment.source)
    for name, value in white_space(text).items():
        if value != in_source[name]:
            yield f"{name} {value!r} instead of {in_source[name]!r}"


_WRAPPED = 50
"""Characters. Texts with longer lines were wrapped, and a translation wraps at other places."""
_TOO_LONG = 1.25
"""Times the longest line of the source: probably two lines in one."""


def same_lines(segment: Segment, text: str) -> Iterator[str]:
    """The text has as many lines as the source, or as many paragraphs if lines are wrapped."""
    source_lines, lines = segment.source.strip().splitlines(), text.strip().splitlines()
    if len(source_lines) == len(lines):
        return
    if max(map(len, source_lines), default=0) < _WRAPPED:
        yield f"{len(lines)} lines instead of {len(source_lines)}"
        return
    source_breaks, breaks = (sum(not line.strip() for line in some) for some in (source_lines, lines))
    if breaks != source_breaks:
        yield f"{breaks + 1} paragraphs instead of {source_breaks + 1}"
    elif len(lines) < len(source_lines) and max(map(len, lines)) > _TOO_LONG * max(map(len, source_lines)):
        yield f"{len(lines)} lines instead of {len(source_lines)}, and one is too long"


_LAST_MARK = regex.compile(r"(?P<mark>\.\.\.|[.。।։!！?？؟;:：…])(?P<closers>[\p{Pe}\p{Pf}\"']*+)\s*+\Z")
_MARKS_ALIKE = {"。": ".", "।": ".", "։": ".", "！": "!", "？": "?", "؟": "?", "：": ":", "...": "…"}
_MARK_NAMES = {"?": "question mark", ":": "colon", "…": "ellipsis"}


def _last_mark(text: str, lang: str) -> str:
    """The mark that ends the text, in its ASCII or shortest form; empty if none does."""
    match = _LAST_MARK.search(text[-20:])
    if match is None:
        return ""
    mark = match["mark"]
    if match["closers"] and _MARKS_ALIKE.get(mark, mark) in (":", "…"):  # [:alpha:]
        return ""
    if mark == ";" and scripts.language_of(lang) == "el":
        return "?"
    return _MARKS_ALIKE.get(mark, mark)


def same_end_mark(segment: Segment, text: str) -> Iterator[str]:
    """A text ends in a question mark, a colon or an ellipsis if its source does, where the script has such marks."""
    if scripts.script_of(segment.target_lang) in scripts.WITHOUT_FINAL_MARKS or not text.strip():
        return
    source_mark, mark = _last_mark(segment.source, segment.source_lang), _last_mark(text, segment.target_lang)
    if source_mark == mark:
        return
    if source_mark in _MARK_NAMES:
        yield f"the {_MARK_NAMES[source_mark]} at the end is missing"
    elif mark in _MARK_NAMES:
        yield f"the {_MARK_NAMES[mark]} at the end is not in the source"


_LONG = 20
"""Characters. Shorter texts may become much longer or shorter."""
_MOST_TIMES = 4


def similar_length(segment: Segment, text: str) -> Iterator[str]:
    """A text is at most four times as long as its source, and no shorter than a quarter, except in CJK scripts."""
    if not (scripts.has_spaces(segment.source_lang) and scripts.has_spaces(segment.target_lang)):
        return
    source_length, length = len(segment.source.strip()), len(text.strip())
    shorter, longer = sorted((source_length, length))
    if longer >= _LONG and 0 < shorter * _MOST_TIMES < longer:
        yield f"{length} characters for {source_length} in the source"


# -- by name

CHECKS: dict[str, Check] = {
    "literals": literals,
    "hotkeys": hotkeys,
    "units": units,
    "control": control,
    "repetition": repetition,
    "max_length": max_length,
}
"""The checks that the evaluator ``rules`` shares with the guards of the same names."""
STRING_CHECKS: dict[str, Check] = {
    "white-space": same_white_space,
    "lines": same_lines,
    "end-mark": same_end_mark,
    "length": similar_length,
    "markdown": markdown,
}
"""The checks that ``mtagent check`` adds to the evaluator ``rules``."""
