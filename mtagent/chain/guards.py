"""Guards against damage by a change to a translation. Deterministic, no model, linear in the text's length.

A :data:`Guard` compares source, text before and text after. Most guards wrap a :data:`Check`, which looks only at
source and text: they refuse new faults. :data:`GUARDS` lists all; :func:`screen` applies edits, except those that do
damage. The guards for a first translation are in :mod:`mtagent.chain.translation`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import regex

from mtagent.records import Edit, Record, Segment
from mtagent.text import checks, foreign, icu, identification, languages, markup, scripts
from mtagent.text.alignment import shared_ends
from mtagent.text.checks import Check, counted_units
from mtagent.text.commentary import bare, commentary, grown, is_rid_of_remarks
from mtagent.text.edits import apply
from mtagent.text.foreign import left_over
from mtagent.text.number_faults import NumberMessages, faults, not_in_words
from mtagent.text.number_words import is_number_word, readings
from mtagent.text.numbers import Number, roman_numerals
from mtagent.text.numbers import numbers as numbers_in
from mtagent.text.omission import STRICTNESS, Nearest, losses
from mtagent.text.paragraphs import LINE_BREAKS, asks_alike, endings, is_ended, line_breaks, new_line_breaks
from mtagent.text.terms import lost_targets, term_faults
from mtagent.text.units import NamedUnit, Quantity, quantities, units_in_words, units_named, units_of

Guard = Callable[[Segment, str, str], Sequence[str]]
"""``guard(segment, before, after)`` names the damage by the change from ``before`` to ``after``; empty = none."""


class DoubtingGuard(Protocol):
    """A guard that refuses less if a judge is called: ``with_doubts`` also names what only a judge can decide."""

    def __call__(self, segment: Segment, before: str, after: str) -> Sequence[str]:
        """The damage that needs no judge."""
        ...

    def with_doubts(self, segment: Segment, before: str, after: str) -> Sequence[str]:
        """The damage, and what may be damage."""
        ...


def new_faults(check: Check) -> Guard:
    """The guard that refuses the faults that ``check`` finds in the text after, but not in the text before.

    So old damage may stay, and may be repaired, but no damage may be added.
    """

    def guard(segment: Segment, before: str, after: str) -> list[str]:
        faults_after = list(check(segment, after))
        if not faults_after:
            return []
        added = Counter(faults_after) - Counter(check(segment, before))
        return list(added.elements())

    return guard


# -- placeholders


def placeholders(segment: Segment, before: str, after: str) -> Sequence[str]:
    """The placeholders are those of the source; an ICU message also keeps the forms of its plurals."""
    source = icu.message(segment.source)
    earlier = icu.readable(before) if source else None

    def check(segment: Segment, text: str) -> Iterator[str]:
        if source is not None:
            yield from checks.form_faults(source, text, segment.target_lang, earlier)
        yield from checks.placeholders(segment, text)

    return new_faults(check)(segment, before, after)


# -- ICU messages


def _branches(source: str, before: str, after: str) -> list[tuple[str, ...]]:
    """What readers may see of three ICU messages, side by side; empty where one of the texts isn't such a message."""
    if not icu.message(source):
        return []
    messages = []
    for text in (source, before, after):
        message = icu.readable(text)
        if message is None:
            return []
        messages.append(message)
    return list(icu.side_by_side(*messages))


_COUNTED = regex.compile(r"number [012] (?:is missing)?+")
"""Numbers that a language may write in words, in digits or, if it has a form for them, not at all.

How often a branch and the whole message have the number, behind this in a fault, may differ.
"""
_ARGUMENT = regex.compile(r"\u2060\{[\w.-]++\}")


def _counted(fault: str) -> str:
    """The number from 0 to 2 that a fault is about, and whether it is missing; empty for other faults."""
    match = _COUNTED.match(fault)
    return match.group() if match else ""


def in_branches(guard: Guard) -> Guard:
    """``guard`` over the texts, or over all that readers may see of them, where they are ICU messages."""

    def guarded(segment: Segment, before: str, after: str) -> Sequence[str]:
        faults_of_message = guard(segment, before, after)
        branches = _branches(segment.source, before, after)
        if not branches:
            return faults_of_message
        counted_in_message = {_counted(fault) for fault in faults_of_message}
        faults = dict[str, None]()
        for branch_source, branch_before, branch_after in branches:
            branch_segment = segment.model_copy(update={"source": branch_source})
            for fault in guard(branch_segment, branch_before, branch_after):
                # Another branch may have the number in digits.
                counted_number = _counted(fault)
                if not counted_number or counted_number in counted_in_message:
                    faults[fault] = None
        return list(faults)

    return guarded


# -- numbers, units and terms


_SAME_ORDER = frozenset([
    "be", "bg", "bs", "ca", "cs", "da", "de", "el", "en", "es", "fr", "gl", "hr", "is", "it", "mk", "nb", "nl", "nn",
    "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "uk",
])  # fmt: skip


@in_branches
def numbers(segment: Segment, before: str, after: str) -> Sequence[str]:
    """The numbers are those of the source by value, in digits or words, as its language and the target's write them."""
    source_lang, target_lang = segment.source_lang, segment.target_lang
    source, before, after = map(markup.prose, (segment.source, before, after))
    faults_before = faults(source, before, source_lang, target_lang)
    faults_after = faults(source, after, source_lang, target_lang)
    missing = _added(faults_before.missing, faults_after.missing)
    extra = _added(faults_before.extra, faults_after.extra)
    if missing:
        new_words = readings(after, target_lang).possible - readings(before, target_lang).possible
        missing = not_in_words(missing, new_words)
    complaints = list[str]()
    if missing or extra:
        messages = NumberMessages(source, after, source_lang, target_lang)
        complaints += [messages.missing(number) for number in missing]
        complaints += [messages.extra(number) for number in extra]
    complaints += (Counter(faults_after.other) - Counter(faults_before.other)).elements()
    if not missing and not extra:
        complaints += changed_number_words(segment, before, after)
    complaints += swapped(segment.source, before, after, source_lang, target_lang)
    complaints += _changed_roman_numerals(segment.source, before, after)
    return complaints


def _changed_roman_numerals(source: str, before: str, after: str) -> list[str]:
    """Roman numerals of the source that became others: chapter IV → chapter VI."""
    old, new = roman_numerals(before), roman_numerals(after)
    if old == new:
        return []
    in_source = roman_numerals(source)
    lost = [value for value in (old - new) if in_source[value] > new[value]]
    gained = [value for value in (new - old) if not in_source[value]]
    return _changes("Roman numeral", lost, gained)


def _changes(kind: str, lost: Iterable[str], gained: Iterable[str]) -> list[str]:
    """Complaints about values that became others, in the order of both."""
    return [f"{kind} {old} became {new}" for old, new in zip(lost, gained, strict=False)]


def swapped(source: str, before: str, after: str, source_lang: str, target_lang: str) -> list[str]:
    """Two numbers that changed places, and nothing else, though they were in the order of the source.

    Not in a date or a fraction, and only between languages that put the parts of a phrase in the same order.
    """
    if not _SAME_ORDER.issuperset(map(scripts.language_of, (source_lang, target_lang))):
        return []
    old, new = numbers_in(before, target_lang), numbers_in(after, target_lang)
    if len(old) != len(new):
        return []
    moved = [pair for pair in zip(old, new, strict=True) if pair[0].values != pair[1].values]
    if len(moved) != 2 or _around(before, old) != _around(after, new):
        return []
    (first, first_after), (second, second_after) = moved
    if first.values != second_after.values or second.values != first_after.values:
        return []
    values_of_source = [number.values for number in numbers_in(source, source_lang)]
    values_before = [number.values for number in old]
    for number in (first, second):
        is_unique = values_of_source.count(number.values) == values_before.count(number.values) == 1
        if not is_unique:
            return []
    has_words_between = any(map(str.isalpha, before[first.end : second.start]))
    if not has_words_between or values_of_source.index(first.values) > values_of_source.index(second.values):
        return []
    return [f"numbers {first.values[0]} and {second.values[0]} changed places"]


def _around(text: str, numbers: Sequence[Number]) -> list[str]:
    """The text around and between the ``numbers``."""
    pieces, end = [], 0
    for number in numbers:
        pieces.append(text[end : number.start])
        end = number.end
    return [*pieces, text[end:]]


def _added(old: Iterable[Number], new: Iterable[Number]) -> list[Number]:
    """The numbers among the ``new`` faults that were not among the ``old`` ones."""
    old_values = Counter(number.values[0] for number in old)
    added = []
    for number in new:
        if old_values[number.values[0]]:
            old_values[number.values[0]] -= 1
        else:
            added.append(number)
    return added


def changed_number_words(segment: Segment, before: str, after: str) -> list[str]:
    """Number words and months of the source that became others which the source doesn't have: six → sixteen."""
    source, source_lang, lang = segment.source, segment.source_lang, segment.target_lang
    old_words, new_words = Counter(scripts.words(before)), Counter(scripts.words(after))
    changed_words = [*(old_words - new_words), *(new_words - old_words)]
    if not any(is_number_word(word, lang) for word in changed_words):
        return []
    in_source, in_before, in_after = readings(source, source_lang), readings(before, lang), readings(after, lang)
    source_digits = _values_in_digits(source, source_lang)
    before_digits, after_digits = _values_in_digits(before, lang), _values_in_digits(after, lang)
    lost = in_before.certain - in_after.certain - (after_digits - before_digits)
    gained = in_after.certain - in_before.certain - (before_digits - after_digits)
    # What may be said in other words: zwei Wochen → vierzehn Tage.
    lost -= (in_after.possible - in_after.certain) - (in_before.possible - in_before.certain)
    gained -= in_source.possible + source_digits
    source_values = in_source.certain + in_source.possible + source_digits
    lost_of_source = [value for value in lost if source_values[value]]
    faults = []
    for kind in ("number", "month", "weekday"):
        faults += _changes(kind, _values_of_kind(kind, lost_of_source), _values_of_kind(kind, gained))
    return faults


def _values_in_digits(text: str, lang: str) -> Counter[str]:
    """How often each value may be in ``text`` in digits."""
    values = Counter[str]()
    for number in numbers_in(text, lang):
        values.update(number.values)
    return values


def _values_of_kind(kind: str, values: Iterable[str]) -> list[str]:
    """The ``values``, as in :class:`Readings`, of one kind: "month 5" is the month 5, "5" a number."""
    chosen = []
    for value in values:
        if kind == "number" and value.isdecimal():
            chosen.append(value)
        elif value.partition(" ")[0] == kind:
            chosen.append(value.removeprefix(f"{kind} "))
    return chosen


_NEAR = 2  # characters between a number and its unit
_RANGE_BESIDE = regex.compile(
    r"(?:(?:[ \u00a0]?(?:\p{Pd}|[,、x×*/~至到]|[\p{L}\p{M}]{1,4})){1,3}+[ \u00a0]?\d[\d.,]*+[%％]?){0,4}+"
    r"[ \u00a0\u202f-]?+"
)
_WORD_BESIDE = regex.compile(r"(?!\p{Hiragana})(?:[\p{L}\p{M}]++|[\p{Sc}%°])")
_PER_CENT = regex.compile(r"p\w*[cszц][eiе]n|per|pour|por|v\W?h|відсот|\P{Latin}", regex.IGNORECASE)
_SIGN_BEFORE = regex.compile(r"[\p{Sc}%][ \u00a0\u202f-]?+\Z")


@in_branches
def units(segment: Segment, before: str, after: str) -> Sequence[str]:
    """No unit of the source is swapped for another of its kind (km → mi), or dropped while its number stays."""
    # In a branch of an ICU message, the number sign means a number.
    source, before, after = (_ARGUMENT.sub("7", text) for text in (segment.source, before, after))
    lang = segment.target_lang
    mentioned = units_named(source, segment.source_lang)
    if mentioned is not None and not mentioned:
        return []
    named = frozenset(mentioned or ())
    in_source = counted_units(source, segment.source_lang, named)
    old, new = counted_units(before, lang, named), counted_units(after, lang, named)
    removed, added = old - new, new - old
    faults = []
    for (kind, unit), count in added.items():
        replaced = []
        for other_kind, other_unit in removed:
            if other_kind == kind and (mentioned is None or other_unit in mentioned):
                replaced.append(other_unit)
        most_in_source = in_source[kind, unit]
        if mentioned:
            most_in_source = max(most_in_source, mentioned[unit])
        if replaced and most_in_source < new[kind, unit] and _is_named_less(replaced, before, after, lang):
            faults += [f"unit {replaced[0]} became {unit}"] * count
    for kind, unit in (in_source - new) & removed:
        if unit == "year":  # a year may go without saying: aged 3
            continue
        places = [place for place in quantities(before, lang, named) if (place.kind, place.unit) == (kind, unit)]
        if _is_bare(places, before, after, lang):
            faults.append(f"unit {unit} is missing")
    return faults or _swapped_unit_words(before, after, lang, named)


def _is_named_less(units: Iterable[str], before: str, after: str, lang: str) -> bool:
    """Whether one of ``units`` is named less often after, next to a number or not: # ans → # jour de l'an."""
    old, new = units_named(before, lang), units_named(after, lang)
    return old is None or new is None or any(new[unit] < old[unit] for unit in units)


def _swapped_unit_words(before: str, after: str, lang: str, named: frozenset[str]) -> list[str]:
    """The units in words, away from a number in digits, that became others of their kind: two weeks → two days."""
    if not named or not _loses_a_unit_word(before, after, lang):
        return []
    old, new = units_in_words(before, lang, named), units_in_words(after, lang, named)
    old_units = {spelled.unit for spelled in old}
    new_units = {spelled.unit for spelled in new}
    new_units.update(unit for _, unit in counted_units(after, lang, named))
    lost = {}  # by place
    for spelled in old:
        if spelled.unit in named and spelled.unit not in new_units:
            lost[_place(spelled)] = spelled.unit
    faults: list[str] = []
    for spelled in new:
        is_added = spelled.unit not in named and spelled.unit not in old_units
        if is_added and _place(spelled) in lost:
            faults.append(f"unit {lost[_place(spelled)]} became {spelled.unit}")
    return list(dict.fromkeys(faults))


def _loses_a_unit_word(before: str, after: str, lang: str) -> bool:
    """Whether a word for a unit goes; always true in scripts without spaces, whose words aren't known."""
    if not scripts.has_spaces(lang):
        return True
    lost_words = set(scripts.words(before)).difference(scripts.words(after))
    return any(units_of(word, lang) for word in lost_words)


def _place(spelled: NamedUnit) -> tuple[str, str]:
    """What a unit must share with its replacement: its kind, and for a time also the word before it.

    A time may be said in another way: at the last minute, at the eleventh hour.
    """
    if spelled.kind == "time":
        return spelled.kind, spelled.word_before
    return spelled.kind, ""


def _is_bare(places: Sequence[Quantity], before: str, after: str, lang: str) -> bool:
    """Whether a number that had a unit at one of ``places`` now has no unit and no new word that could spell it."""
    near_edges = set[int]()
    for place in places:
        for edge in (place.start, place.end):
            near_edges.update(range(edge - _NEAR, edge + _NEAR + 1))
    values = set[tuple[str, ...]]()
    for number in numbers_in(before, lang):
        if number.start in near_edges or number.end in near_edges:
            values.add(number.values)
    new_words = Counter(scripts.words(after)) - Counter(scripts.words(before))
    for number in numbers_in(after, lang):
        if number.values not in values:
            continue
        beside = _RANGE_BESIDE.match(after, number.end)
        word = _WORD_BESIDE.match(after, beside.end() if beside else number.end)
        if word and _may_be_unit(word[0], places[0].kind, new_words, lang):
            continue
        if not _SIGN_BEFORE.search(after, max(0, number.start - _NEAR), number.start):
            return True
    return False


def _may_be_unit(word: str, kind: str, new_words: Collection[str], lang: str) -> bool:
    """Whether the ``word`` or sign next to a number is a unit, or a new word that could spell a unit of ``kind``."""
    if not word[0].isalpha():
        return True
    if not scripts.has_spaces(lang) and any(letter in new_words for letter in word):
        return True
    if word in new_words and (kind != "share" or _PER_CENT.match(word)):
        return True
    return bool(units_of(word, lang))


def terms(segment: Segment, before: str, after: str) -> list[str]:
    """Do-not-translate terms stay, one of the glossary's targets stays, and forbidden words stay out."""
    if not segment.terms:
        return []
    faults = list(_new_term_faults(segment, before, after))
    for targets in lost_targets(segment, before, after):
        faults.append(f"glossary term {' or '.join(map(repr, targets))} is left in compounds only")
    return faults


def _term_faults(segment: Segment, text: str) -> Iterator[str]:
    for fault in term_faults(segment, text):
        if fault.kind == "forbidden":
            yield f"forbidden word {fault.term.target or fault.term.source!r}"
        elif fault.kind == "missing":
            yield f"glossary term {' or '.join(map(repr, fault.targets))} is missing"
        else:
            yield f"do-not-translate term {fault.term.source!r} is missing"


_new_term_faults = new_faults(_term_faults)


# -- lines and white space

_BREAKS = regex.compile(rf"[{LINE_BREAKS}](?:[ \t]*+[{LINE_BREAKS}])*+")


class _Layout(NamedTuple):
    """Into how many paragraphs and lines a text is broken."""

    breaks: tuple[int, ...]
    """The line breaks between the lines: 1 ends a line, more end a paragraph."""

    @property
    def paragraphs(self) -> int:
        return sum(size > 1 for size in self.breaks) + 1

    @property
    def lines(self) -> int:
        return len(self.breaks) + 1


def _layout(text: str) -> _Layout:
    breaks = map(line_breaks, _BREAKS.findall(text.strip()))
    return _Layout(tuple(map(len, breaks)))


def paragraphs(segment: Segment, before: str, after: str) -> list[str]:
    """Line and paragraph breaks stay as they were, or come closer to those of the source."""
    new_kinds = new_line_breaks(after, before, segment.source)
    if new_kinds:
        # A file is read by some of them and not by others, so a swap is a change even where the count stays.
        characters = ", ".join(f"U+{ord(character):04X}" for character in sorted(new_kinds))
        return [f"line break {characters}, which neither the text nor its source has"]
    old, new, source = _layout(before), _layout(after), _layout(segment.source)
    if new in (old, source):
        return []
    old_distance = abs(old.paragraphs - source.paragraphs), abs(old.lines - source.lines)
    new_distance = abs(new.paragraphs - source.paragraphs), abs(new.lines - source.lines)
    is_no_farther = new_distance[0] <= old_distance[0] and new_distance[1] <= old_distance[1]
    if is_no_farther and new_distance != old_distance:
        return []
    return [f"{new.paragraphs} paragraphs and {new.lines} lines instead of {old.paragraphs} and {old.lines}"]


def whitespace(segment: Segment, before: str, after: str) -> list[str]:
    """White space at both ends and tabs inside stay as they were, or become as in the source."""
    old, new, source = map(checks.white_space, (before, after, segment.source))
    faults = []
    for name in new:
        if new[name] not in (old[name], source[name]):
            faults.append(f"{name} {new[name]!r} instead of {old[name]!r}")
    return faults


# -- script and characters


_FEWEST_OTHER_HAN = 2  # a single one may be a name


def script(segment: Segment, before: str, after: str) -> list[str]:
    """The target language's script stays, and no source text is copied. Latin words are foreign to no language."""
    lang = segment.target_lang
    words_before = Counter(foreign.strange_words(segment, before))
    words_after = Counter(foreign.strange_words(segment, after))
    new_words = (words_after - words_before).elements()
    faults = [f"{word!r} is not in the script of {lang}" for word in new_words]
    old_han, new_han = scripts.other_han(lang, before), scripts.other_han(lang, after)
    if len(old_han) < _FEWEST_OTHER_HAN <= len(new_han):
        faults.append(f"{''.join(new_han)} is not written so in {lang}")
    copies = len(foreign.copied_runs(segment, after))
    if copies and copies > len(foreign.copied_runs(segment, before)):
        faults.append("source text is copied")
    elif foreign.copied_paragraphs(segment, before, after):
        faults.append("a paragraph of the source is copied")
    else:
        faults += [f"{words!r} is left untranslated" for words in left_over(segment, before, after)]
    if drop := foreign.script_drop(segment, before, after):
        share_before, share_after = drop
        faults.append(f"only {share_after:.0%} of the letters are in the script of {lang}, before {share_before:.0%}")
    return faults


def language(segment: Segment, before: str, after: str) -> list[str]:
    """No sentence is left in, or put into, another language than the target's. Needs the extra ``languages``."""
    new_sentences = identification.new_sentences(segment, before, after)
    return [f"a sentence is in {languages.name(lang)}: {sentence[:60]!r}" for sentence, lang in new_sentences]


# -- the text as a whole: what it repeats, its end, its length


class Repetition:
    """No phrase is repeated without end, and no word doubled.

    A call names the words that the language never doubles. :meth:`with_doubts` names all that follow themselves: any
    language doubles some on purpose, and no list has them all.
    """

    def __call__(self, segment: Segment, before: str, after: str) -> list[str]:
        """The damage that needs no judge."""
        return self._faults(checks.surely_doubled_words, segment, before, after)

    def with_doubts(self, segment: Segment, before: str, after: str) -> list[str]:
        """The damage, and what only a judge could tell from damage."""
        return self._faults(checks.doubled_words, segment, before, after)

    def _faults(self, doubled_words: Check, segment: Segment, before: str, after: str) -> list[str]:
        loops = new_faults(checks.repetition)(segment, before, after)
        return [*loops, *new_faults(doubled_words)(segment, before, after)]


repetition = Repetition()


_SAME_WORDING = 0.7
_FEW_WORDS = 4


def end(segment: Segment, before: str, after: str) -> list[str]:
    """Final punctuation that the source has is not dropped, and no question becomes a statement or the reverse.

    Neither counts where the text is reworded.
    """
    if not after.strip():
        return []
    if is_ended(after, segment.target_lang):
        return _changed_questions(segment, before, after)
    was_ended = is_ended(before, segment.target_lang, surely=True)
    is_source_ended = is_ended(segment.source, segment.source_lang, surely=True)
    if was_ended and is_source_ended and not _is_reworded(before, after):
        return ["the final punctuation is missing"]
    return []


def _is_reworded(before: str, after: str) -> bool:
    old, new = Counter(scripts.words(before)), Counter(scripts.words(after))
    return old.total() >= _FEW_WORDS and (old & new).total() < _SAME_WORDING * old.total()


def _changed_questions(segment: Segment, before: str, after: str) -> list[str]:
    """Questions of the source that became statements, or the reverse, in the same words."""
    lang = segment.target_lang
    if scripts.script_of(lang) in scripts.WITHOUT_FINAL_MARKS or asks_alike(before, after):
        return []
    old, new = endings(before, lang), endings(after, lang)
    source = endings(segment.source, segment.source_lang)
    old_distance = abs(len(old.questions) - len(source.questions))
    new_distance = abs(len(new.questions) - len(source.questions))
    if new_distance <= old_distance:
        return []
    if len(new.questions) < len(source.questions):
        before_kind, after_kind = "question", "statement"
        turned = set(old.questions).intersection(new.statements).difference(new.questions)
        has_same_words = bool(turned)
    else:
        before_kind, after_kind = "statement", "question"
        turned = set(old.statements).intersection(new.questions).difference(new.statements)
        has_same_words = bool(turned) and not _is_reworded(before, after)
    is_last_turned = old.last == before_kind and new.last == after_kind
    if has_same_words or (is_last_turned and _begins_alike(before, after)):
        return [f"a {before_kind} became a {after_kind}"]
    return []


def _begins_alike(before: str, after: str) -> bool:
    """Whether a text has as many words as another, give or take one, and begins with half of them."""
    old, new = scripts.words(before), scripts.words(after)
    shared_beginning, _ = shared_ends(old, new)
    return abs(len(old) - len(new)) <= 1 and 2 * shared_beginning >= len(old)


_NOTE_MARK = regex.compile(r"^[ \t\u3000]*+[※⚠ℹ💡📝☞]\ufe0f?", regex.MULTILINE)
"""A sign that some languages write for the word "Note", which a translation may spell out."""


class Length:
    """The text is not emptied, no sentence is lost (``text.omission``), no commentary added (``text.commentary``).

    A call names what is surely lost. :meth:`with_doubts` also names what may be lost or may be a concise rewording: the
    word counts of the two are alike. ``nearest`` compares sentences by meaning.
    """

    def __init__(self, nearest: Nearest | None = None) -> None:
        self._nearest = nearest

    def __call__(self, segment: Segment, before: str, after: str) -> list[str]:
        """The damage that needs no judge."""
        return self._faults(segment, before, after, surely=True)

    def with_doubts(self, segment: Segment, before: str, after: str) -> list[str]:
        """The damage, and what only a judge could tell from damage."""
        return self._faults(segment, before, after, surely=False)

    def _faults(self, segment: Segment, before: str, after: str, *, surely: bool) -> list[str]:
        if before.strip() and not after.strip():
            return ["the text is empty"]
        source, lang = segment.source, segment.target_lang
        if _NOTE_MARK.search(source):
            source, before, after = (_NOTE_MARK.sub("Note: ", text) for text in (source, before, after))

        def lost(source: str, before: str, after: str) -> list[str]:
            complaints = []
            for stretch in losses(source, before, after, lang, self._nearest):
                if stretch.is_sure or (not surely and stretch.evidence + STRICTNESS > 0):
                    complaints.append(stretch.complaint)
            return complaints

        missing = lost(source, before, after)
        if missing or commentary(source, before, target_lang=lang):  # what was lost, or is left, may be a remark
            missing = lost(source, bare(source, before, lang), bare(source, after, lang))
        if missing and is_rid_of_remarks(source, before, after, lang):
            missing = []
        additions = list(grown(source, before, after, target_lang=lang))
        # A language may need more or fewer branches than the source has, so ICU messages are compared by branch.
        branches = _branches(source, before, after) if missing or additions else []
        if branches:
            missing, additions = [], []
            for texts in branches:
                missing += lost(*texts)
                additions += grown(*texts, target_lang=lang)
        return list(dict.fromkeys([*missing, *additions]))


length = Length()


def max_length(segment: Segment, before: str, after: str) -> list[str]:
    """The text has no more characters than the segment allows, or no more than it had."""
    if len(after) <= len(before):
        return []
    return checks.max_length(segment, after)


# -- all guards, and the guards at work

GUARDS: dict[str, Guard] = {
    "placeholders": placeholders,
    "literals": new_faults(checks.literals),
    "hotkeys": new_faults(checks.hotkeys),
    "tags": new_faults(checks.tags),
    "urls": new_faults(checks.urls),
    "emails": new_faults(checks.emails),
    "numbers": numbers,
    "units": units,
    "markdown": new_faults(checks.markdown),
    "paragraphs": paragraphs,
    "whitespace": whitespace,
    "terms": terms,
    "brackets": new_faults(checks.brackets),
    "quotes": new_faults(checks.quotes),
    "script": script,
    "language": language,
    "control": new_faults(checks.control),
    "width": new_faults(checks.width),
    "repetition": repetition,
    "end": end,
    "length": length,
    "max_length": max_length,
}
"""All guards by name. A program may add its own: ``GUARDS["mine"] = lambda segment, before, after: [...]``."""
_MOST_DETAILS = 100
"""How many details of one guard are kept."""
_LONGEST_DETAIL = 500
"""How many characters of a detail are kept."""


class Damage(Record):
    """Something that a change newly damages: the guard that saw it, and what it saw."""

    guard: str
    detail: str

    def __str__(self) -> str:
        return f"{self.guard}: {self.detail}"


def listed(damages: Iterable[Damage]) -> str:
    """All ``damages`` in one line."""
    return "; ".join(map(str, damages))


def names(damages: Iterable[Damage]) -> tuple[str, ...]:
    """The guards that saw ``damages``, each once."""
    return tuple(dict.fromkeys(damage.guard for damage in damages))


def damages(
    segment: Segment,
    before: str,
    after: str,
    *,
    skip: Collection[str] = frozenset(),
    instead: Mapping[str, Guard] | None = None,
    doubts: bool = False,
) -> tuple[Damage, ...]:
    """The new damage by the change from ``before`` to ``after``; ``()`` = clean.

    ``segment`` gives source, languages and terms. Guards named in ``skip`` are left out; guards in ``instead`` replace
    guards of the same name. With ``doubts``, possible damage counts too, as it must if no judge is called.
    """
    if before == after:
        return ()
    found = []
    for name, guard in {**GUARDS, **(instead or {})}.items():
        if name in skip:
            continue
        check = _with_doubts(guard) if doubts else None
        for detail in (check or guard)(segment, before, after)[:_MOST_DETAILS]:
            if len(detail) > _LONGEST_DETAIL:
                detail = f"{detail[:_LONGEST_DETAIL]}…"
            found.append(Damage(guard=name, detail=detail))
    return tuple(found)


def _with_doubts(guard: Guard) -> Guard | None:
    """The stricter form of a :class:`DoubtingGuard`; ``None`` for other guards."""
    # isinstance() with a protocol takes as long as a cheap guard.
    stricter: Guard | None = getattr(guard, "with_doubts", None)
    return stricter


def uncertain_damages(
    segment: Segment,
    before: str,
    after: str,
    *,
    skip: Collection[str] = frozenset(),
    instead: Mapping[str, Guard] | None = None,
) -> tuple[Damage, ...]:
    """Possible damage by the change, on which only a judge can decide: what :func:`damages` adds with ``doubts``."""
    guards = {**GUARDS, **(instead or {})}
    guards_without_doubts = {name for name, guard in guards.items() if _with_doubts(guard) is None}
    skip = guards_without_doubts.union(skip)
    with_doubts = damages(segment, before, after, skip=skip, instead=instead, doubts=True)
    if not with_doubts:
        return ()
    certain = Counter(damages(segment, before, after, skip=skip, instead=instead))
    return tuple((Counter(with_doubts) - certain).elements())


def screen(
    segment: Segment,
    before: str,
    edits: Sequence[Edit],
    *,
    skip: Collection[str] = frozenset(),
    instead: Mapping[str, Guard] | None = None,
    doubts: bool = False,
) -> tuple[list[Edit], str, tuple[Damage, ...]]:
    """Apply the ``applied`` ones of ``edits`` to ``before``, except those that newly damage the text.

    Returns all edits in their order (the culprits as ``refused``, with the damage as detail), the text, and the damage
    that was averted. The culprits are found by halving, in O(k log n) checks for k culprits among n edits. If no
    single edits cause the damage, all are refused and the text is ``before``. ``doubts``: as in :func:`damages`.
    """

    def text_with(chosen: Iterable[int]) -> str:
        return apply(before, [edits[index] for index in chosen])

    def check(chosen: Iterable[int]) -> tuple[Damage, ...]:
        return damages(segment, before, text_with(chosen), skip=skip, instead=instead, doubts=doubts)

    def culprits_in(group: list[int]) -> list[int] | None:
        """The edits of ``group`` that do damage alone; ``None`` where only their combination does."""
        if not check(group):
            return []
        if len(group) == 1:
            return group
        middle = len(group) // 2
        first, second = culprits_in(group[:middle]), culprits_in(group[middle:])
        if first is None or second is None:
            return None
        return first + second or None

    applied = [index for index, edit in enumerate(edits) if edit.outcome == "applied"]
    averted = check(applied)
    if not averted:
        return list(edits), text_with(applied), ()
    culprits = culprits_in(applied)
    fine = set(applied).difference(culprits or ())
    # Two neighbours that do damage alone may be good together (both quotation marks): each pair is tried once.
    for pair in pairwise(culprits or ()):
        if fine.isdisjoint(pair) and not check(fine.union(pair)):
            fine |= set(pair)
    are_culprits_together = culprits is None or bool(check(fine))
    if are_culprits_together:
        fine = set()
    screened = list(edits)
    for index in set(applied) - fine:
        if are_culprits_together:
            damage = averted
            detail = f"together with other edits: {listed(damage)}"
        else:
            damage = check([index])
            detail = listed(damage)
        refused = {"outcome": "refused", "guards": names(damage), "detail": detail}
        screened[index] = edits[index].model_copy(update=refused)
    return screened, text_with(fine), averted


def inseparable(
    segment: Segment,
    before: str,
    edits: Sequence[Edit],
    *,
    skip: Collection[str] = frozenset(),
    instead: Mapping[str, Guard] | None = None,
    doubts: bool = False,
) -> list[list[Edit]]:
    """The ``edits`` in the order of their places, grouped: those that do damage without their neighbours go together.

    An example is the two quotation marks of a pair. A last group that still does damage joins the group before it.
    ``doubts``: as in :func:`damages`.
    """
    groups: list[list[Edit]] = []
    damaged = False
    for edit in sorted(edits, key=lambda edit: edit.start or 0):
        if damaged:
            groups[-1].append(edit)
        else:
            groups.append([edit])
        text = apply(before, groups[-1])
        damaged = bool(damages(segment, before, text, skip=skip, instead=instead, doubts=doubts))
    if damaged and len(groups) > 1:
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups
