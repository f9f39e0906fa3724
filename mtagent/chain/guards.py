"""Guards: what a change to a translation may never damage. Deterministic, no model, linear in the text's length.

A guard compares source, text before and text after. Most only look at source and text, and refuse what is newly wrong
(:func:`newly`). What a fresh translation, which has no text before it, may not be is in
:mod:`mtagent.chain.translation`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import regex

from mtagent.records import Edit, Record, Segment
from mtagent.text import foreign, markup, scripts
from mtagent.text import numbers as quantities
from mtagent.text.commentary import grown
from mtagent.text.omission import lost

Guard = Callable[[Segment, str, str], Sequence[str]]
"""``guard(segment, before, after)`` names what going from ``before`` to ``after`` newly damages; empty = nothing."""

Complaints = Callable[[Segment, str], Iterable[str]]
"""``complaints(segment, text)`` lists, with repeats, what is wrong with ``text`` as a translation of the source."""


def newly(complaints: Complaints) -> Guard:
    """The guard that refuses what ``complaints`` says of the text after, but did not say of the text before.

    So old damage may stay, and may be repaired, but none may be added.
    """

    def guard(segment: Segment, before: str, after: str) -> list[str]:
        new = Counter(complaints(segment, after))
        if new:
            new -= Counter(complaints(segment, before))
        return list(new.elements())

    guard.__doc__ = complaints.__doc__
    return guard


def keys(marks: Iterable[scripts.Mark | markup.Tag]) -> Counter[str]:
    """How often each mark is there."""
    return Counter(mark.key for mark in marks)


def difference(source: Counter[str], text: Counter[str], what: str = "") -> list[str]:
    """Complaints about marks that must be the same in source and text: the lost ones and the added ones."""
    if source == text:
        return []
    missing = [f"{what}{mark} is missing" for mark in (source - text).elements()]
    return missing + [f"{what}{mark} is not in the source" for mark in (text - source).elements()]


# -- markup


def placeholders(segment: Segment, text: str) -> list[str]:
    """The multiset of placeholders is that of the source."""
    return difference(keys(markup.placeholders(segment.source)), keys(markup.placeholders(text)))


def tags(segment: Segment, text: str) -> list[str]:
    """The multiset of tags is that of the source, and none is crossed, stray or left open."""
    wanted, there = markup.tags(segment.source), markup.tags(text)
    if not wanted and not there:
        return []
    faults = Counter(markup.nesting_faults(there)) - Counter(markup.nesting_faults(wanted))
    return difference(keys(wanted), keys(there)) + list(faults.elements())


def urls(segment: Segment, text: str) -> list[str]:
    """Every URL of the source is there, and no other."""
    return difference(keys(markup.urls(segment.source)), keys(markup.urls(text)))


def emails(segment: Segment, text: str) -> list[str]:
    """Every e-mail address of the source is there, and no other."""
    return difference(keys(markup.emails(segment.source)), keys(markup.emails(text)))


def markdown(segment: Segment, text: str) -> list[str]:
    """Headings, lists, links, code and emphasis are those of the source; how they are written is free."""
    return difference(markup.markdown_marks(segment.source), markup.markdown_marks(text), "Markdown: ")


def brackets(segment: Segment, text: str) -> list[str]:
    """No bracket without its partner, but for those of the source."""
    alone = keys(markup.unpaired_brackets(markup.prose(text)))
    if alone:
        alone -= keys(markup.unpaired_brackets(markup.prose(segment.source)))
    return [f"{bracket} has no partner" for bracket in alone.elements()]


def quotes(segment: Segment, text: str) -> list[str]:
    """Double quotation marks, of whatever style, come in even number where they do in the source."""
    odd, odd_source = (len(markup.double_quotes(markup.prose(side))) % 2 for side in (text, segment.source))
    return ["a quotation mark has no partner"] if odd and not odd_source else []


# -- numbers and terms


def numbers(segment: Segment, text: str) -> list[str]:
    """The numbers are those of the source by value, in any locale's format."""
    wanted, there = quantities.numbers(markup.prose(segment.source)), quantities.numbers(markup.prose(text))
    missing, extra = quantities.unmatched(wanted, there)
    if not missing and not extra:
        return []
    in_text, in_source = quantities.other_numerals(text), quantities.other_numerals(segment.source)
    faults = [f"number {number.values[0]} is missing" for number in missing if number.values[0] not in in_text]
    return faults + [
        f"number {number.values[0]} is not in the source" for number in extra if number.values[0] not in in_source
    ]


_NEAR = 2
_WORD_BESIDE = regex.compile(r"[ \u00a0\u202f-]?+[\p{L}\p{Sc}%°]")
_SIGN_BEFORE = regex.compile(r"[\p{Sc}%][ \u00a0\u202f-]?+\Z")


def units(segment: Segment, before: str, after: str) -> list[str]:
    """No unit beside a number is swapped for another of its kind (km → mi), or dropped while its number stays."""
    had, has, wanted = (
        Counter((quantity.kind, quantity.unit) for quantity in quantities.quantities(text))
        for text in (before, after, segment.source)
    )
    gone, added = had - has, has - had
    faults = []
    for (kind, unit), count in added.items():
        others = [other for (other_kind, other) in gone if other_kind == kind]
        if others and wanted[kind, unit] < has[kind, unit]:
            faults += [f"unit {others[0]} became {unit}"] * count
    return faults + [f"unit {unit} is missing" for kind, unit in gone & wanted if _is_bare(kind, unit, before, after)]


def _is_bare(kind: str, unit: str, before: str, after: str) -> bool:
    """Whether a number that had ``unit`` beside it now has no word there that could spell the unit out."""
    places = [place for place in quantities.quantities(before) if (place.kind, place.unit) == (kind, unit)]
    edges = {place.start for place in places} | {place.end for place in places}
    reach = {edge + shift for edge in edges for shift in range(-_NEAR, _NEAR + 1)}
    values = {number.values for number in quantities.numbers(before) if number.start in reach or number.end in reach}
    return any(
        not _WORD_BESIDE.match(after, number.end)
        and not _SIGN_BEFORE.search(after, max(0, number.start - _NEAR), number.start)
        for number in quantities.numbers(after)
        if number.values in values
    )


def terms(segment: Segment, text: str) -> list[str]:
    """Do-not-translate terms stay, glossary targets stay, and forbidden words stay out."""
    faults = []
    for term in segment.terms:
        exact = term.case_sensitive
        wanted = len(markup.occurrences(term.source, segment.source, case_sensitive=exact))
        if not wanted:
            continue
        if term.forbidden:
            word = term.target or term.source
            faults += [f"forbidden word {word!r}"] * len(markup.occurrences(word, text, case_sensitive=exact))
        elif term.target is None:
            there = len(markup.occurrences(term.source, text, case_sensitive=True, suffixes=True))
            faults += [f"do-not-translate term {term.source!r} is missing"] * (wanted - there)
        elif not markup.occurrences(term.target, text, case_sensitive=exact, suffixes=True, inflected=True):
            faults.append(f"glossary term {term.target!r} is missing")
    return faults


# -- lines and white space

_BREAKS = regex.compile(r"[ \t]*+\r?\n(?:[ \t]*+\r?\n)*+")


@scripts.remembered
def _breaks(text: str) -> tuple[int, ...]:
    """The line breaks between the lines of ``text``: 1 ends a line, more end a paragraph."""
    return tuple(match.group().count("\n") for match in _BREAKS.finditer(text.strip())) if "\n" in text else ()


def paragraphs(segment: Segment, before: str, after: str) -> list[str]:
    """Line and paragraph breaks stay as they were, or come closer to those of the source."""
    had, has, wanted = _breaks(before), _breaks(after), _breaks(segment.source)
    if has in (had, wanted):
        return []
    (old_paragraphs, old_lines), (new_paragraphs, new_lines), (aim_paragraphs, aim_lines) = (
        (sum(size > 1 for size in breaks) + 1, len(breaks) + 1) for breaks in (had, has, wanted)
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
        f"{name} {has!r} instead of {had!r}"
        for name, had, has, wanted in zip(names, *map(measures, (before, after, segment.source)), strict=True)
        if has not in (had, wanted)
    ]


# -- script and characters


def foreign_script(segment: Segment, text: str) -> list[str]:
    """No word in a script that the target language is not written in. Latin words are another guard's matter."""
    words = foreign.foreign_words(segment.target_lang, text)
    return [f"{word!r} is not in the script of {segment.target_lang}" for word in words]


_FOREIGN_SCRIPT = newly(foreign_script)


def script(segment: Segment, before: str, after: str) -> list[str]:
    """The target language's script stays, and no source text is copied."""
    faults = list(_FOREIGN_SCRIPT(segment, before, after))
    if len(foreign.copied_runs(segment, after)) > len(foreign.copied_runs(segment, before)):
        faults.append("source text is copied")
    elif foreign.copied_paragraphs(segment, before, after):
        faults.append("a paragraph of the source is copied")
    if drop := foreign.script_drop(segment, before, after):
        faults.append(
            f"only {drop[1]:.0%} of the letters are in the script of {segment.target_lang}, before {drop[0]:.0%}"
        )
    return faults


def control(segment: Segment, text: str) -> list[str]:
    """No control, private-use, replacement or odd invisible character that the source does not have."""
    characters = Counter(scripts.control_characters(text, segment.target_lang))
    if characters:
        characters -= Counter(scripts.control_characters(segment.source, segment.source_lang))
    return [f"character {code}" for code in characters.elements()]


# -- what a model says besides

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


@scripts.remembered
def _stutters(text: str) -> tuple[str, ...]:
    """Letters that follow themselves eight times or more within a word ("looooooooong")."""
    suspects = (w for w in scripts.words(text) if len(w) >= _STUTTER_LETTERS and len(set(w)) <= len(w) // 2)
    return tuple(match.group(1) for word in suspects if (match := _STUTTER.search(word)))


@scripts.remembered
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
        run = run + 1 if distance and distance == period else int(distance > 0)
        period = distance
        if distance:
            turns = (run + 2) // distance + 1
            most = max(most, turns // 2 if distance == len(group[0]) == 1 else turns)
    return max(most, 1)


_FINAL = regex.compile(r"[.!?…։。！？．｡।॥؟۔።፧:：」』][\p{P}\p{Sm}\s*_]*+\Z")
_TAIL = 40
_SAME_WORDING = 0.7
_FEW_WORDS = 4


def end(segment: Segment, before: str, after: str) -> list[str]:
    """Final punctuation that the source has is not dropped, unless the text is worded anew."""
    in_source, had, has = (_FINAL.search(text[-_TAIL:]) is not None for text in (segment.source, before, after))
    if has or not (had and in_source) or not after.strip():
        return []
    old, new = Counter(scripts.words(before)), Counter(scripts.words(after))
    worded_anew = old.total() >= _FEW_WORDS and (old & new).total() < _SAME_WORDING * old.total()
    return [] if worded_anew else ["the final punctuation is missing"]


def length(segment: Segment, before: str, after: str) -> list[str]:
    """The text is not emptied, no sentence is lost (``text.omission``), no commentary added (``text.commentary``)."""
    if before.strip() and not after.strip():
        return ["the text is empty"]
    texts, lang = (segment.source, before, after), segment.target_lang
    return [*lost(*texts, target_lang=lang), *grown(*texts, target_lang=lang)]


GUARDS: dict[str, Guard] = {
    "placeholders": newly(placeholders),
    "tags": newly(tags),
    "urls": newly(urls),
    "emails": newly(emails),
    "numbers": newly(numbers),
    "units": units,
    "markdown": newly(markdown),
    "paragraphs": paragraphs,
    "whitespace": whitespace,
    "terms": newly(terms),
    "brackets": newly(brackets),
    "quotes": newly(quotes),
    "script": script,
    "control": newly(control),
    "repetition": newly(repetition),
    "end": end,
    "length": length,
}
"""All guards by name. A program may add its own: ``GUARDS["mine"] = lambda segment, before, after: [...]``."""

# -- the guards at work

_MOST_DETAILS = 100
_LONGEST_DETAIL = 500


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
    skip: frozenset[str] = frozenset(),
    guards: Mapping[str, Guard] | None = None,
) -> tuple[Damage, ...]:
    """What the change from ``before`` to ``after`` newly damages; ``()`` = clean.

    ``segment`` gives source, languages and terms. Guards named in ``skip`` are left out; ``guards`` replaces
    :data:`GUARDS`.
    """
    if before == after:
        return ()
    return tuple(
        Damage(guard=name, detail=detail if len(detail) <= _LONGEST_DETAIL else f"{detail[:_LONGEST_DETAIL]}…")
        for name, guard in (GUARDS if guards is None else guards).items()
        if name not in skip
        for detail in guard(segment, before, after)[:_MOST_DETAILS]
    )


def screen(
    segment: Segment,
    before: str,
    edits: Sequence[Edit],
    apply: Callable[[str, Sequence[Edit]], str],
    *,
    skip: frozenset[str] = frozenset(),
    guards: Mapping[str, Guard] | None = None,
) -> tuple[list[Edit], str, tuple[Damage, ...]]:
    """Apply the ``applied`` ones of ``edits`` to ``before``, but for those that newly damage the text.

    Gives all edits in their order (the culprits as ``refused``, with the damage as detail), the text, and the damage
    that was averted. The culprits are found by halving, in O(k log n) checks for k culprits among n edits. Where no
    single edits are to blame, all are refused and the text is ``before``.
    """

    def text_with(chosen: Sequence[int]) -> str:
        return apply(before, [edits[index] for index in chosen]) if chosen else before

    def check(chosen: Sequence[int]) -> tuple[Damage, ...]:
        return damages(segment, before, text_with(chosen), skip=skip, guards=guards) if chosen else ()

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
    damage = check(applied)
    if not damage:
        return list(edits), text_with(applied), ()
    culprits = culprits_in(applied)
    fine = [index for index in applied if index not in set(culprits or ())]
    # Two neighbours that do damage alone may be good together (both quotation marks): each pair is tried once.
    for pair in zip(culprits or (), (culprits or ())[1:], strict=False):
        if not set(pair) & set(fine) and not check(sorted((*fine, *pair))):
            fine = sorted((*fine, *pair))
    together = culprits is None or bool(check(fine))
    if together:
        fine = []
    screened = list(edits)
    for index in applied:
        if index in set(fine):
            continue
        own = damage if together else check([index])
        detail = f"{'together with other edits: ' if together else ''}{listed(own)}"
        refused = {"outcome": "refused", "guards": names(own), "detail": detail}
        screened[index] = edits[index].model_copy(update=refused)
    return screened, text_with(fine), damage
