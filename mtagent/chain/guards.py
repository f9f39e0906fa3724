"""Guards: what a change to a translation may never damage. Deterministic, no model, linear in the text's length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import regex

from mtagent.records import Edit, Record, Segment, Term
from mtagent.text import foreign, markup, scripts
from mtagent.text import numbers as marks
from mtagent.text.foreign import Guard, difference, newly


def placeholders(segment: Segment, text: str) -> list[str]:
    """The multiset of placeholders is that of the source."""
    wanted, there = markup.placeholders(segment.source), markup.placeholders(text)
    return difference((mark.key for mark in wanted), (mark.key for mark in there), "") if wanted or there else []


def tags(segment: Segment, text: str) -> list[str]:
    """The multiset of tags is that of the source, and none is crossed, stray or left open."""
    wanted, there = markup.tags(segment.source), markup.tags(text)
    if not wanted and not there:
        return []
    faults = Counter(markup.nesting_faults(there)) - Counter(markup.nesting_faults(wanted))
    return difference((tag.key for tag in wanted), (tag.key for tag in there), "") + list(faults.elements())


def urls(segment: Segment, text: str) -> list[str]:
    """Every URL of the source is there, and no other."""
    wanted, there = markup.urls(segment.source), markup.urls(text)
    return difference((mark.key for mark in wanted), (mark.key for mark in there), "") if wanted or there else []


def emails(segment: Segment, text: str) -> list[str]:
    """Every e-mail address of the source is there, and no other."""
    wanted, there = markup.emails(segment.source), markup.emails(text)
    return difference((mark.key for mark in wanted), (mark.key for mark in there), "") if wanted or there else []


def numbers(segment: Segment, text: str) -> list[str]:
    """The numbers are those of the source by value, in any locale's format."""
    wanted, there = marks.numbers(markup.prose(segment.source)), marks.numbers(markup.prose(text))
    if not wanted and not there:
        return []
    missing, extra = marks.unmatched(wanted, there)
    if not missing and not extra:
        return []
    written_there, written_wanted = marks.other_numerals(text), marks.other_numerals(segment.source)
    lost = [f"number {number.values[0]} is missing" for number in missing if number.values[0] not in written_there]
    return lost + [
        f"number {number.values[0]} is not in the source" for number in extra if number.values[0] not in written_wanted
    ]


def units(segment: Segment, before: str, after: str) -> list[str]:
    """No unit beside a number is swapped for another of its kind (km → mi), or dropped while its number stays."""
    old, new = marks.quantities(before), marks.quantities(after)
    if not old and not new:
        return []
    had, has = (Counter((found.kind, found.unit) for found in side) for side in (old, new))
    if had == has:
        return []
    wanted = Counter((found.kind, found.unit) for found in marks.quantities(segment.source))
    lost, added = (had - has), (has - had)
    faults = []
    for (kind, unit), count in added.items():
        others = [other for (other_kind, other) in lost if other_kind == kind]
        if others and wanted[kind, unit] < has[kind, unit]:
            faults += [f"unit {others[0]} became {unit}"] * count
    bare = (lost & wanted).keys() if lost else ()
    return faults + [f"unit {unit} is missing" for kind, unit in bare if _is_bare(kind, unit, before, after)]


_NEAR = 2
_WORD_BESIDE = regex.compile(r"[ \u00a0\u202f-]?+[\p{L}\p{Sc}%°]")
_SIGN_BEFORE = regex.compile(r"[\p{Sc}%][ \u00a0\u202f-]?+\Z")


def _is_bare(kind: str, unit: str, before: str, after: str) -> bool:
    """Whether a number that had ``unit`` beside it now has no word there that could spell the unit out."""
    places = [found for found in marks.quantities(before) if (found.kind, found.unit) == (kind, unit)]
    edges = {place.start for place in places} | {place.end for place in places}
    reach = {edge + shift for edge in edges for shift in range(-_NEAR, _NEAR + 1)}
    values = {number.values for number in marks.numbers(before) if number.start in reach or number.end in reach}
    return any(
        not _WORD_BESIDE.match(after, number.end)
        and not _SIGN_BEFORE.search(after, max(0, number.start - _NEAR), number.start)
        for number in marks.numbers(after)
        if number.values in values
    )


def terms(segment: Segment, text: str) -> list[str]:
    """Do-not-translate terms stay, glossary targets stay, and forbidden words stay out."""
    return [complaint for term in segment.terms for complaint in _about_term(term, segment.source, text)]


def _about_term(term: Term, source: str, text: str) -> list[str]:
    wanted = len(markup.occurrences(term.source, source, case_sensitive=term.case_sensitive))
    if not wanted:
        return []
    if term.forbidden:
        word = term.target or term.source
        return [f"forbidden word {word!r}"] * len(markup.occurrences(word, text, case_sensitive=term.case_sensitive))
    if term.target is None:
        there = len(markup.occurrences(term.source, text, case_sensitive=True, suffixes=True))
        return [f"do-not-translate term {term.source!r} is missing"] * (wanted - there)
    if markup.occurrences(term.target, text, case_sensitive=term.case_sensitive, suffixes=True, inflected=True):
        return []
    return [f"glossary term {term.target!r} is missing"]


def markdown(segment: Segment, text: str) -> list[str]:
    """Headings, lists, links, code and emphasis are those of the source; how they are written is free."""
    wanted, there = markup.markdown_marks(segment.source), markup.markdown_marks(text)
    return difference(wanted.elements(), there.elements(), "Markdown: ") if wanted != there else []


_BREAKS = regex.compile(r"[ \t]*+\r?\n(?:[ \t]*+\r?\n)*+")


@scripts.remembered
def _breaks(text: str) -> tuple[int, ...]:
    """The line breaks between the lines of ``text``: 1 ends a line, more end a paragraph."""
    if "\n" not in text:
        return ()
    return tuple(match.group().count("\n") for match in _BREAKS.finditer(text.strip()))


def _counts(breaks: tuple[int, ...]) -> tuple[int, int]:
    """Paragraphs and lines, less one."""
    return sum(size > 1 for size in breaks), len(breaks)


def paragraphs(segment: Segment, before: str, after: str) -> list[str]:
    """Line and paragraph breaks stay as they were, or come closer to those of the source."""
    had, has, wanted = _breaks(before), _breaks(after), _breaks(segment.source)
    if has in (had, wanted):
        return []
    far, near = (
        tuple(abs(count - aim) for count, aim in zip(_counts(side), _counts(wanted), strict=True))
        for side in (had, has)
    )
    if near != far and all(now <= then for now, then in zip(near, far, strict=True)):
        return []
    (old_paragraphs, old_lines), (new_paragraphs, new_lines) = _counts(had), _counts(has)
    return [
        f"{new_paragraphs + 1} paragraphs and {new_lines + 1} lines instead of {old_paragraphs + 1} and {old_lines + 1}"
    ]


def _edges(text: str) -> tuple[str, str]:
    lead = text[: len(text) - len(text.lstrip())]
    return lead, text[len(text.rstrip()) :] if len(lead) < len(text) else ""


def whitespace(segment: Segment, before: str, after: str) -> list[str]:
    """White space at both ends and tabs inside stay as they were, or become as in the source."""
    faults = []
    sides = zip(("leading", "trailing"), _edges(before), _edges(after), _edges(segment.source), strict=True)
    for name, had, has, wanted in sides:
        if has not in (had, wanted):
            faults.append(f"{name} white space is {has!r} instead of {had!r}")
    tabs = after.count("\t")
    if tabs not in (before.count("\t"), segment.source.count("\t")):
        faults.append(f"{tabs} tabs instead of {before.count(chr(9))}")
    return faults


def brackets(segment: Segment, text: str) -> list[str]:
    """No bracket without its partner, but for those of the source."""
    alone = markup.unpaired_brackets(markup.prose(text))
    if not alone:
        return []
    allowed = Counter(mark.key for mark in markup.unpaired_brackets(markup.prose(segment.source)))
    faults = Counter(mark.key for mark in alone) - allowed
    return [f"{bracket} has no partner" for bracket in faults.elements()]


def quotes(segment: Segment, text: str) -> list[str]:
    """Double quotation marks, of whatever style, come in even number where they do in the source."""
    if len(markup.double_quotes(markup.prose(text))) % 2 == 0:
        return []
    odd_source = len(markup.double_quotes(markup.prose(segment.source))) % 2
    return [] if odd_source else ["a quotation mark has no partner"]


_FINAL = regex.compile(r"[.!?…։。！？．｡।॥؟۔።፧:：」』][\p{P}\p{Sm}\s*_]*+\Z")
_TAIL = 40
_SAME_WORDING = 0.7
_FEW_WORDS = 4


def _ends(text: str) -> bool:
    return _FINAL.search(text[-_TAIL:]) is not None


def end(segment: Segment, before: str, after: str) -> list[str]:
    """Final punctuation that the source has is not dropped, unless the text is worded anew."""
    if _ends(after) or not _ends(before) or not _ends(segment.source) or not after.strip():
        return []
    had, has = Counter(scripts.words(before)), Counter(scripts.words(after))
    if had.total() >= _FEW_WORDS and (had & has).total() < _SAME_WORDING * had.total():
        return []
    return ["the final punctuation is missing"]


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
    "script": foreign.script,
    "control": newly(foreign.control),
    "repetition": newly(foreign.repetition),
    "end": end,
    "length": foreign.length,
}
"""All guards by name. A program may add its own: ``GUARDS["mine"] = lambda segment, before, after: [...]``."""


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


Apply = Callable[[str, Sequence[Edit]], str]
_Check = Callable[[Sequence[int]], tuple[Damage, ...]]


def _culprits(group: list[int], check: _Check) -> list[int] | None:
    """The edits of ``group`` that do damage alone, by halving; ``None`` where only their combination does."""
    if not check(group):
        return []
    if len(group) == 1:
        return group
    middle = len(group) // 2
    halves = [_culprits(half, check) for half in (group[:middle], group[middle:])]
    if None in halves or not any(halves):
        return None
    return [index for half in halves for index in half or ()]


def _without_partners(culprits: list[int], fine: list[int], check: _Check) -> list[int]:
    """Two neighbours that damage alone may be good together (both quotation marks): try each pair once."""
    left, index = [], 0
    while index < len(culprits):
        pair = culprits[index : index + 2]
        if len(pair) == 2 and not check(sorted(fine + pair)):
            fine = sorted(fine + pair)
            index += 2
        else:
            left.append(culprits[index])
            index += 1
    return left


def screen(
    segment: Segment,
    before: str,
    edits: Sequence[Edit],
    apply: Apply,
    *,
    skip: frozenset[str] = frozenset(),
    guards: Mapping[str, Guard] | None = None,
) -> tuple[list[Edit], str, tuple[Damage, ...]]:
    """Apply the ``applied`` ones of ``edits`` to ``before``, but for those that newly damage the text.

    Gives all edits in their order (the culprits as ``refused``, with the damage as detail), the text, and the damage
    that was averted. The culprits are found by halving, in O(k log n) checks for k culprits among n edits. Where no
    single edits are to blame, all are refused and the text is ``before``.
    """
    applied = [index for index, edit in enumerate(edits) if edit.outcome == "applied"]

    def text_with(chosen: Sequence[int]) -> str:
        return apply(before, [edits[index] for index in chosen])

    def check(chosen: Sequence[int]) -> tuple[Damage, ...]:
        return damages(segment, before, text_with(chosen), skip=skip, guards=guards) if chosen else ()

    damage = check(applied)
    if not damage:
        return list(edits), text_with(applied) if applied else before, ()
    culprits = _culprits(applied, check)
    if culprits is not None:
        culprits = _without_partners(culprits, _others(applied, culprits), check)
    if culprits is None or check(_others(applied, culprits)):
        together = f"together with other edits: {listed(damage)}"
        refused = {"outcome": "refused", "guards": names(damage), "detail": together}
        return [e.model_copy(update=refused) if e.outcome == "applied" else e for e in edits], before, damage
    screened = list(edits)
    for index in culprits:
        own = check([index])
        refused = {"outcome": "refused", "guards": names(own), "detail": listed(own)}
        screened[index] = edits[index].model_copy(update=refused)
    fine = _others(applied, culprits)
    return screened, text_with(fine) if fine else before, damage


def _others(applied: list[int], culprits: list[int]) -> list[int]:
    bad = set(culprits)
    return [index for index in applied if index not in bad]
