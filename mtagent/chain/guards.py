"""Guards: what a change to a translation may never damage. Deterministic, no model, linear in the text's length.

A :data:`Guard` compares source, text before and text after. Most guards are made of a :data:`Check`, which looks at
source and text alone: they refuse the faults that are new. :data:`GUARDS` is the list of all; :func:`screen` applies
edits, but for those that do damage. The guards over a translation that has no text before it are in
:mod:`mtagent.chain.translation`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Protocol, runtime_checkable

import regex

from mtagent.records import Edit, Record, Segment
from mtagent.text import checks, foreign, icu, identification, languages, markup, scripts
from mtagent.text.checks import Check
from mtagent.text.commentary import bare, commentary, grown, is_rid_of_remarks
from mtagent.text.edits import apply
from mtagent.text.left_over import left_over
from mtagent.text.number_words import is_number_word, readings
from mtagent.text.numbers import Number, faults, roman_numerals, take
from mtagent.text.numbers import numbers as numbers_in
from mtagent.text.omission import STRICTNESS, Nearest, losses
from mtagent.text.paragraphs import LINE_BREAKS, line_breaks, new_line_breaks
from mtagent.text.terms import lost_targets, term_faults
from mtagent.text.units import NamedUnit, Quantity, quantities, units_in_words, units_named, units_of

Guard = Callable[[Segment, str, str], Sequence[str]]
"""``guard(segment, before, after)`` names what the change from ``before`` to ``after`` damages; empty = nothing."""


@runtime_checkable
class DoubtingGuard(Protocol):
    """A guard that refuses less where a judge is asked: ``with_doubts`` also names what only a judge can tell."""

    def __call__(self, segment: Segment, before: str, after: str) -> Sequence[str]:
        """The damage that needs no judge."""
        ...

    def with_doubts(self, segment: Segment, before: str, after: str) -> Sequence[str]:
        """The damage, and what may be damage."""
        ...


def new_faults(check: Check) -> Guard:
    """The guard that refuses what ``check`` says of the text after, but did not say of the text before.

    So old damage may stay, and may be repaired, but none may be added.
    """

    def guard(segment: Segment, before: str, after: str) -> list[str]:
        faults = list(check(segment, after))
        return list((Counter(faults) - Counter(check(segment, before))).elements()) if faults else []

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


def _shown(source: str, before: str, after: str) -> list[tuple[str, ...]]:
    """What readers may see of three ICU messages, side by side; nothing of other texts."""
    if not icu.message(source):
        return []
    messages = [message for text in (source, before, after) if (message := icu.readable(text)) is not None]
    return [*icu.side_by_side(*messages)] if len(messages) == 3 else []


_COUNTED = regex.compile(r"number [012] ")
"""What a language may say in words, in digits or not at all, where it has a form for it."""
_ARGUMENT = regex.compile(r"\u2060\{[\w.-]++\}")


def in_branches(guard: Guard) -> Guard:
    """``guard`` over the texts, or over all that readers may see of them, where they are ICU messages."""

    def guarded(segment: Segment, before: str, after: str) -> list[str]:
        whole, shown = guard(segment, before, after), _shown(segment.source, before, after)
        of_branches = dict.fromkeys(
            fault
            for source, *sides in shown
            for fault in guard(segment.model_copy(update={"source": source}), *sides)
            if fault in whole or not _COUNTED.match(fault)
        )
        return list(of_branches if shown else whole)

    return guarded


# -- numbers, units and terms


_SAME_ORDER = frozenset([
    "be", "bg", "bs", "ca", "cs", "da", "de", "el", "en", "es", "fr", "gl", "hr", "is", "it", "mk", "nb", "nl", "nn",
    "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "uk",
])  # fmt: skip


@in_branches
def numbers(segment: Segment, before: str, after: str) -> Sequence[str]:
    """The numbers are those of the source by value, in digits or words, as its language and the target's write them."""
    languages = segment.source_lang, segment.target_lang
    source, before, after = (markup.prose(text) for text in (segment.source, before, after))
    old, new = (faults(source, text, *languages) for text in (before, after))
    missing, extra = (_added(*sides) for sides in ((old.missing, new.missing), (old.extra, new.extra)))
    if missing:
        words = readings(after, languages[1]).possible - readings(before, languages[1]).possible
        missing = [number for number in missing if not take(words, number)]
    return [
        *(f"number {number.values[0]} is missing" for number in missing),
        *(f"number {number.values[0]} is not in the source" for number in extra),
        *(Counter(new.other) - Counter(old.other)).elements(),
        *([] if missing or extra else changed_number_words(segment, before, after)),
        *swapped(segment.source, before, after, *languages),
        *_changed_roman_numerals(segment.source, before, after),
    ]


def _changed_roman_numerals(source: str, before: str, after: str) -> list[str]:
    """Roman numerals of the source that became others: chapter IV → chapter VI."""
    old, new = roman_numerals(before), roman_numerals(after)
    if old == new:
        return []
    aim = roman_numerals(source)
    lost = [value for value in (old - new) if aim[value] > new[value]]
    gained = [value for value in (new - old) if not aim[value]]
    return [f"Roman numeral {one} became {other}" for one, other in zip(lost, gained, strict=False)]


def swapped(source: str, before: str, after: str, source_lang: str, target_lang: str) -> list[str]:
    """Two numbers that changed places, and nothing else, though they stood in the order of the source.

    Not in a date or a fraction, and only between languages that put the parts of a phrase in the same order.
    """
    if any(scripts.language_of(lang) not in _SAME_ORDER for lang in (source_lang, target_lang)):
        return []
    old, new = numbers_in(before, target_lang), numbers_in(after, target_lang)
    moved = [(one, other) for one, other in zip(old, new, strict=False) if one.values != other.values]
    if len(old) != len(new) or len(moved) != 2 or _around(before, old) != _around(after, new):
        return []
    (first, second), values = (one for one, _ in moved), [number.values for number in numbers_in(source, source_lang)]
    if first.values != moved[1][1].values or second.values != moved[0][1].values:
        return []
    alone = all(
        values.count(number.values) == 1 == sum(number.values == one.values for one in old)
        for number in (first, second)
    )
    apart = any(map(str.isalpha, before[first.end : second.start]))
    if not alone or not apart or values.index(first.values) > values.index(second.values):
        return []
    return [f"numbers {first.values[0]} and {second.values[0]} changed places"]


def _around(text: str, numbers: Sequence[Number]) -> list[str]:
    """The text between the ``numbers``, with its ends."""
    starts = [*(number.start for number in numbers), len(text)]
    return [text[end:start] for end, start in zip((0, *(number.end for number in numbers)), starts, strict=True)]


def _added(old: Iterable[Number], new: Iterable[Number]) -> list[Number]:
    """The numbers among the ``new`` faults that were not among the ``old`` ones."""
    known = Counter(number.values[0] for number in old)
    added = []
    for number in new:
        if known[number.values[0]]:
            known[number.values[0]] -= 1
        else:
            added.append(number)
    return added


def changed_number_words(segment: Segment, before: str, after: str) -> list[str]:
    """Number words and months that the source has too, and that became others which it has not: six → sixteen."""
    lang = segment.target_lang
    old, new = Counter(scripts.words(before)), Counter(scripts.words(after))
    if not any(is_number_word(word, lang) for word in (*(old - new), *(new - old))):
        return []
    sides = (before, lang), (after, lang), (segment.source, segment.source_lang)
    in_before, in_after, in_source = (readings(*side) for side in sides)
    before_digits, after_digits, source_digits = (
        Counter(value for number in numbers_in(*side) for value in number.values) for side in sides
    )
    lost = in_before.certain - in_after.certain - (after_digits - before_digits)
    gained = in_after.certain - in_before.certain - (before_digits - after_digits)
    # What may be said in other words: zwei Wochen → vierzehn Tage.
    lost -= (in_after.possible - in_after.certain) - (in_before.possible - in_before.certain)
    gained -= in_source.possible + source_digits
    known = in_source.certain + in_source.possible + source_digits
    faults = []
    for what in ("number", "month", "weekday"):
        ours, theirs = (
            [
                value.removeprefix(f"{what} ")
                for value in side
                if value.partition(" ")[0] == what or (what == "number" and value.isdecimal())
            ]
            for side in (Counter({value: count for value, count in lost.items() if known[value]}), gained)
        )
        faults += [f"{what} {old} became {new}" for old, new in zip(ours, theirs, strict=False)]
    return faults


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
    source, before, after = (_ARGUMENT.sub("7", text) for text in (segment.source, before, after))  # 7 for "#"
    lang = segment.target_lang
    mentioned = units_named(source, segment.source_lang)
    named = frozenset(mentioned or ())
    if mentioned is not None and not mentioned:
        return []
    old, new = (Counter((unit.kind, unit.unit) for unit in quantities(text, lang, named)) for text in (before, after))
    in_source = Counter((unit.kind, unit.unit) for unit in quantities(source, segment.source_lang, named))
    removed, added = old - new, new - old
    faults = []
    for (kind, unit), count in added.items():
        others = [
            other for other_kind, other in removed if other_kind == kind and (mentioned is None or other in mentioned)
        ]
        in_source_count = max(in_source[kind, unit], mentioned[unit] if mentioned else 0)
        if others and in_source_count < new[kind, unit] and _is_named_less(others, before, after, lang):
            faults += [f"unit {others[0]} became {unit}"] * count
    for kind, unit in (in_source - new) & removed:
        if unit == "year":  # aged 3
            continue
        places = [place for place in quantities(before, lang, named) if (place.kind, place.unit) == (kind, unit)]
        if _is_bare(places, before, after, lang):
            faults.append(f"unit {unit} is missing")
    return faults or _swapped_unit_words(before, after, lang, named)


def _is_named_less(units: Iterable[str], before: str, after: str, lang: str) -> bool:
    """Whether one of ``units`` is named less often after, beside a number or not: # ans → # jour de l'an."""
    old, new = units_named(before, lang), units_named(after, lang)
    return old is None or new is None or any(new[unit] < old[unit] for unit in units)


def _swapped_unit_words(before: str, after: str, lang: str, named: frozenset[str]) -> list[str]:
    """The units in words, away from a number in digits, that became others of their kind: two weeks → two days."""
    if not named or not _loses_a_unit_word(before, after, lang):
        return []
    old, new = (units_in_words(text, lang, named) for text in (before, after))
    old_units, new_units = ({spelled.unit for spelled in side} for side in (old, new))
    new_units |= {quantity.unit for quantity in quantities(after, lang, named)}
    lost = {_place(spelled): spelled.unit for spelled in old if spelled.unit in named and spelled.unit not in new_units}
    added = [spelled for spelled in new if spelled.unit not in named and spelled.unit not in old_units]
    faults = [f"unit {lost[_place(other)]} became {other.unit}" for other in added if _place(other) in lost]
    return list(dict.fromkeys(faults))


def _loses_a_unit_word(before: str, after: str, lang: str) -> bool:
    """Whether a word for a unit goes; in scripts without spaces that is not asked."""
    if not scripts.has_spaces(lang):
        return True
    return any(units_of(word, lang) for word in set(scripts.words(before)).difference(scripts.words(after)))


def _place(spelled: NamedUnit) -> tuple[str, str]:
    """What a unit must have in common with one that comes for it: its kind, and of a time also the word before it.

    A time may be said in another way: at the last minute, at the eleventh hour.
    """
    return spelled.kind, spelled.word_before if spelled.kind == "time" else ""


def _is_bare(places: Sequence[Quantity], before: str, after: str, lang: str) -> bool:
    """Whether a number that had a unit at one of ``places`` has no unit now, nor a new word that could spell it."""
    edges = {place.start for place in places} | {place.end for place in places}
    reach = {edge + shift for edge in edges for shift in range(-_NEAR, _NEAR + 1)}
    values = {number.values for number in numbers_in(before, lang) if number.start in reach or number.end in reach}
    new_words = Counter(scripts.words(after)) - Counter(scripts.words(before))
    for number in numbers_in(after, lang):
        if number.values in values:
            beside = _RANGE_BESIDE.match(after, number.end)
            word = _WORD_BESIDE.match(after, beside.end() if beside else number.end)
            spelled = word and (
                not word[0][0].isalpha()
                or (not scripts.has_spaces(lang) and any(letter in new_words for letter in word[0]))
                or (word[0] in new_words and (places[0].kind != "share" or _PER_CENT.match(word[0])))
                or units_of(word[0], lang)
            )
            if not spelled and not _SIGN_BEFORE.search(after, max(0, number.start - _NEAR), number.start):
                return True
    return False


def terms(segment: Segment, before: str, after: str) -> list[str]:
    """Do-not-translate terms stay, one of the glossary's targets stays, and forbidden words stay out."""
    if not segment.terms:
        return []
    faults = new_faults(_term_faults)(segment, before, after)
    left = (" or ".join(map(repr, targets)) for targets in lost_targets(segment, before, after))
    return [*faults, *(f"glossary term {targets} is left in compounds only" for targets in left)]


def _term_faults(segment: Segment, text: str) -> Iterator[str]:
    for fault in term_faults(segment, text):
        if fault.kind == "forbidden":
            yield f"forbidden word {fault.term.target or fault.term.source!r}"
        elif fault.kind == "missing":
            yield f"glossary term {' or '.join(map(repr, fault.targets))} is missing"
        else:
            yield f"do-not-translate term {fault.term.source!r} is missing"


# -- lines and white space

_BREAKS = regex.compile(rf"[{LINE_BREAKS}](?:[ \t]*+[{LINE_BREAKS}])*+")


def _breaks(text: str) -> tuple[int, ...]:
    """The line breaks between the lines of ``text``: 1 ends a line, more end a paragraph."""
    return tuple(len(line_breaks(match.group())) for match in _BREAKS.finditer(text.strip()))


def paragraphs(segment: Segment, before: str, after: str) -> list[str]:
    """Line and paragraph breaks stay as they were, or come closer to those of the source."""
    if new_kinds := new_line_breaks(after, before, segment.source):
        # A file is read by some of them and not by others, so a swap is a change even where the count stays.
        characters = ", ".join(f"U+{ord(character):04X}" for character in sorted(new_kinds))
        return [f"line break {characters}, which neither the text nor its source has"]
    old, new, aim = _breaks(before), _breaks(after), _breaks(segment.source)
    if new in (old, aim):
        return []
    (old_paragraphs, old_lines), (new_paragraphs, new_lines), (aim_paragraphs, aim_lines) = (
        (sum(size > 1 for size in breaks) + 1, len(breaks) + 1) for breaks in (old, new, aim)
    )
    far = abs(old_paragraphs - aim_paragraphs), abs(old_lines - aim_lines)
    near = abs(new_paragraphs - aim_paragraphs), abs(new_lines - aim_lines)
    if near != far and near[0] <= far[0] and near[1] <= far[1]:
        return []
    return [f"{new_paragraphs} paragraphs and {new_lines} lines instead of {old_paragraphs} and {old_lines}"]


def whitespace(segment: Segment, before: str, after: str) -> list[str]:
    """White space at both ends and tabs inside stay as they were, or become as in the source."""

    def measures(text: str) -> tuple[str, str, int]:
        lead = text[: len(text) - len(text.lstrip())]
        return lead, text[len(text.rstrip()) :] if len(lead) < len(text) else "", text.count("\t")

    names = ("leading white space is", "trailing white space is", "the number of tabs is")
    return [
        f"{name} {new!r} instead of {old!r}"
        for name, old, new, aim in zip(names, *map(measures, (before, after, segment.source)), strict=True)
        if new not in (old, aim)
    ]


# -- script and characters


_FEWEST_OTHER_HAN = 2  # a single one may be a name


def script(segment: Segment, before: str, after: str) -> list[str]:
    """The target language's script stays, and no source text is copied. Latin words are foreign to no language."""
    words_before, words_after = (Counter(foreign.strange_words(segment, text)) for text in (before, after))
    new = (words_after - words_before).elements()
    faults = [f"{word!r} is not in the script of {segment.target_lang}" for word in new]
    old_han, new_han = (scripts.other_han(segment.target_lang, text) for text in (before, after))
    if len(old_han) < _FEWEST_OTHER_HAN <= len(new_han):
        faults.append(f"{''.join(new_han)} is not written so in {segment.target_lang}")
    copies = len(foreign.copied_runs(segment, after))
    if copies and copies > len(foreign.copied_runs(segment, before)):
        faults.append("source text is copied")
    elif foreign.copied_paragraphs(segment, before, after):
        faults.append("a paragraph of the source is copied")
    else:
        faults += [f"{words!r} is left untranslated" for words in left_over(segment, before, after)]
    if drop := foreign.script_drop(segment, before, after):
        faults.append(
            f"only {drop[1]:.0%} of the letters are in the script of {segment.target_lang}, before {drop[0]:.0%}"
        )
    return faults


def language(segment: Segment, before: str, after: str) -> list[str]:
    """No sentence is left in, or put into, another language than the target's. Needs the extra ``languages``."""
    new = identification.new_sentences(segment, before, after)
    return [f"a sentence is in {languages.name(lang)}: {sentence[:60]!r}" for sentence, lang in new]


# -- the text as a whole: what it repeats, its end, its length


class Repetition:
    """No phrase is repeated without end, and no word doubled.

    Called, it names the words that the language never doubles. :meth:`with_doubts` names all that follow themselves:
    any language doubles some on purpose, and no list has them all.
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
    if not checks.is_ended(after, segment.target_lang):
        sides = (before, segment.target_lang), (segment.source, segment.source_lang)
        if not all(checks.is_ended(*side, surely=True) for side in sides):
            return []
        return [] if _is_reworded(before, after) else ["the final punctuation is missing"]
    return _changed_questions(segment, before, after)


def _is_reworded(before: str, after: str) -> bool:
    old, new = Counter(scripts.words(before)), Counter(scripts.words(after))
    return old.total() >= _FEW_WORDS and (old & new).total() < _SAME_WORDING * old.total()


def _changed_questions(segment: Segment, before: str, after: str) -> list[str]:
    """Questions of the source that became statements, or the reverse, in the same words."""
    lang = segment.target_lang
    if scripts.script_of(lang) in checks.WITHOUT_FINAL_MARKS or checks.asks_alike(before, after):
        return []
    old, new = checks.endings(before, lang), checks.endings(after, lang)
    count, aim = len(new.questions), len(checks.endings(segment.source, segment.source_lang).questions)
    if abs(count - aim) <= abs(len(old.questions) - aim):
        return []
    asked, stated = ("question", "statement") if count < aim else ("statement", "question")
    was, becomes = (old.questions, new.statements) if count < aim else (old.statements, new.questions)
    same = set(was).intersection(becomes).difference(new.questions if count < aim else new.statements)
    if same and (count < aim or not _is_reworded(before, after)):
        return [f"a {asked} became a {stated}"]
    is_turned = old.last == asked and new.last == stated and _begins_alike(before, after)
    return [f"a {asked} became a {stated}"] if is_turned else []


def _begins_alike(before: str, after: str) -> bool:
    """Whether a text has as many words as another, give or take one, and begins with half of them."""
    old, new = scripts.words(before), scripts.words(after)
    alike = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))))
    return abs(len(old) - len(new)) <= 1 and 2 * alike >= len(old)


_NOTE_MARK = regex.compile(r"^[ \t\u3000]*+[※⚠ℹ💡📝☞]\ufe0f?", regex.MULTILINE)
"""The word for a note in some languages, which a translation may spell out."""


class Length:
    """The text is not emptied, no sentence is lost (``text.omission``), no commentary added (``text.commentary``).

    Called, it names what is surely lost. :meth:`with_doubts` also names what may be lost or may be a concise rewording:
    the word counts of the two are alike. ``nearest`` compares sentences by meaning.
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
            found = []
            for stretch in losses(source, before, after, lang, self._nearest):
                if stretch.is_sure or (not surely and stretch.evidence + STRICTNESS > 0):
                    found.append(stretch.complaint)
            return found

        missing = lost(source, before, after)
        if missing or commentary(source, before, target_lang=lang):  # what was lost, or is left, may be a remark
            missing = lost(source, bare(source, before, lang), bare(source, after, lang))
        if missing and is_rid_of_remarks(source, before, after, lang):
            missing = []
        additions = list(grown(source, before, after, target_lang=lang))
        if missing or additions:
            shown = _shown(source, before, after)
            if shown:  # branches are what the language needs
                missing = [loss for texts in shown for loss in lost(*texts)]
                additions = [addition for texts in shown for addition in grown(*texts, target_lang=lang)]
        return list(dict.fromkeys([*missing, *additions]))


length = Length()


def max_length(segment: Segment, before: str, after: str) -> list[str]:
    """The text has no more characters than the segment allows, or no more than it had."""
    return [] if len(after) <= len(before) else checks.max_length(segment, after)


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
_MOST_DETAILS, _LONGEST_DETAIL = 100, 500  # details of one guard, and their characters, that are kept


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
    """What the change from ``before`` to ``after`` newly damages; ``()`` = clean.

    ``segment`` gives source, languages and terms. Guards named in ``skip`` are left out; those of ``instead`` stand for
    the ones of the same name. With ``doubts``, what may be damage counts too: so it is where no judge is asked.
    """
    if before == after:
        return ()
    return tuple(
        Damage(guard=name, detail=detail if len(detail) <= _LONGEST_DETAIL else f"{detail[:_LONGEST_DETAIL]}…")
        for name, guard in {**GUARDS, **(instead or {})}.items()
        if name not in skip
        for detail in _checked(guard, doubts)(segment, before, after)[:_MOST_DETAILS]
    )


def _checked(guard: Guard, doubts: bool) -> Guard:
    """``guard``, or with ``doubts`` its stricter form, if it has one."""
    return guard.with_doubts if doubts and isinstance(guard, DoubtingGuard) else guard


def uncertain_damages(
    segment: Segment,
    before: str,
    after: str,
    *,
    skip: Collection[str] = frozenset(),
    instead: Mapping[str, Guard] | None = None,
) -> tuple[Damage, ...]:
    """What the change may damage, and only a judge can tell: what :func:`damages` adds with ``doubts``."""
    certain_guards = {
        name for name, guard in {**GUARDS, **(instead or {})}.items() if not isinstance(guard, DoubtingGuard)
    }
    skip = certain_guards.union(skip)
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
    """Apply the ``applied`` ones of ``edits`` to ``before``, but for those that newly damage the text.

    Gives all edits in their order (the culprits as ``refused``, with the damage as detail), the text, and the damage
    that was averted. The culprits are found by halving, in O(k log n) checks for k culprits among n edits. Where no
    single edits are to blame, all are refused and the text is ``before``. ``doubts``: as in :func:`damages`.
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
        halves = [culprits_in(half) for half in (group[: len(group) // 2], group[len(group) // 2 :])]
        culprits = [index for half in halves for index in half or ()]
        return culprits if culprits and None not in halves else None

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
    together = culprits is None or bool(check(fine))
    if together:
        fine = set()
    screened = list(edits)
    for index in set(applied) - fine:
        damage = averted if together else check([index])
        detail = f"{'together with other edits: ' if together else ''}{listed(damage)}"
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
    """The ``edits`` in the order of their places, with those together that do damage without their neighbours.

    Both quotation marks are an example. What does damage even with all edits after it is joined with those before it.
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
