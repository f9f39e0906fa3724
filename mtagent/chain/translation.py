"""Guards over a translation that has no text before it: its source is all that it can be held against.

So they refuse only what a real translation practically never is. How seldom they are wrong was measured on 26,000
translations by people and systems (``docs/explanation/safety.md``). :data:`TRANSLATION_GUARDS` is the list of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import regex

from mtagent.chain.guards import Damage, listed
from mtagent.errors import UnreadableReply
from mtagent.llm.reading import plain_text
from mtagent.records import Segment
from mtagent.text import checks, commentary, icu, markup, number_faults, scripts
from mtagent.text.checks import Check, keys
from mtagent.text.number_words import readings

TIMES_LONGER, LETTERS_LONGER = 3, 80
TIMES_SHORTER, LETTERS_SHORTER = 6, 30
"""A text may have three times the letters of its source and 80 more; its source, six times those of the text and 30.

Letters are weighted by script (:func:`mtagent.text.scripts.letters`): a Chinese character counts as three.
"""
TIMES_LONGER_AT_ALL, CHARACTERS_LONGER_AT_ALL = 30, 10_000
"""The bound in characters that holds even without guards. It is checked first, so that nothing reads megabytes."""


def refusals(segment: Segment, text: str, *, skip: Collection[str] = ()) -> tuple[Damage, ...]:
    """Why ``text`` cannot be a translation of ``segment``; ``()`` = nothing speaks against it.

    Guards named in ``skip`` are left out. Anything that isn't a text is always refused, as ``words`` or ``size``.
    """
    if len(text) > TIMES_LONGER_AT_ALL * len(segment.source) + CHARACTERS_LONGER_AT_ALL:
        detail = f"the text has {len(text):,} characters, the source {len(segment.source):,}"
        return (Damage(guard="size", detail=detail),)
    if _is_wordless(segment.source, text):
        return (Damage(guard="words", detail="the source has words, and the text has none"),)
    damages = list[Damage]()
    for name, check in TRANSLATION_GUARDS.items():
        if name not in skip:
            damages += [Damage(guard=name, detail=detail) for detail in check(segment, text)]
    return tuple(damages)


def skipped_guards(skip_guards: Collection[str], gate: str | None) -> frozenset[str]:
    """The guards over a whole translation that a run leaves out: those that the user names, and more without a gate.

    The gate ``none`` takes every translation, as the papers do. Only control characters are refused even then, because
    they make files that other programs can't read.
    """
    skipped = frozenset(skip_guards)
    if gate == "none":
        skipped |= {"numbers"} | (TRANSLATION_GUARDS.keys() - {"control"})
    return skipped


def lost_numbers(segment: Segment, text: str, *, skip: Collection[str] = ()) -> tuple[Damage, ...]:
    """The numbers of the source that ``text`` has neither in digits nor in words; ``()`` where ``skip`` names them.

    A model is called once more for a translation that lost one, and then the text is taken and marked: people leave out
    a number in one of 95 good translations, or write it as no rule expects. The plurals of ICU messages are left out.
    """
    if "numbers" in skip or icu.message(segment.source):
        return ()
    source, translation = markup.prose(segment.source), markup.prose(text)
    missing = number_faults.faults(source, translation, segment.source_lang, segment.target_lang).missing
    if not missing:
        return ()
    words = readings(translation, segment.target_lang).possible.copy()
    damages = list[Damage]()
    for number in missing:
        if not number_faults.take(words, number):
            written = source[number.start : number.end]
            damages.append(Damage(guard="numbers", detail=f"number {written} is missing"))
    return tuple(damages)


def read_revision(reply: str, segment: Segment, before: str, *, skip: Collection[str] = ()) -> str:
    """The text that a model made of the translation ``before``, from its ``reply``.

    Raises :class:`EmptyReply` for an empty reply, and :class:`UnreadableReply` for one that isn't a translation of
    ``segment``, such as a refusal. Faults of ``before`` do not count; lost marks are left to the guards over changes.
    """
    text = scripts.without_stray_spaces(plain_text(reply, before), before)
    skip = RESTORABLE.union(skip)
    damages = refusals(segment, text, skip=skip)
    if not damages:
        return text
    guards_before = {damage.guard for damage in refusals(segment, before, skip=skip)}
    new_damages = [damage for damage in damages if damage.guard not in guards_before]
    if new_damages:
        raise UnreadableReply(f"it is not a translation of the text ({listed(new_damages)})")
    return text


_HAS_WORDS = regex.compile(rf"\p{{L}}{{2}}|[{scripts.UNSPACED_OR_HANGUL}]")
_LONG_NUMBER = regex.compile(r"\d\D{0,2}+\d\D{0,2}+\d")
_SAYS_SOMETHING = regex.compile(r"[\p{N}\p{So}…]|\.\.\.")


def _is_wordless(source: str, text: str) -> bool:
    """Whether the words of ``source`` became marks (``[]``, a fence) or, if they are more than two, a mere number."""
    source, text = markup.prose(source), markup.prose(text)
    if scripts.LETTER.search(text) or not _HAS_WORDS.search(source):
        return False
    words = list[float]()
    for word in scripts.words(source):
        words.append(1 / 3 if scripts.UNSPACED_LETTER.match(word) else 1)
    if min(words, default=0) == 1 and len(words) <= 5 and _LONG_NUMBER.search(text) and text.strip(" .%") != "100":
        return False  # a number in words
    return sum(words) > 2 or not _SAYS_SOMETHING.search(text)


_CONTROL = regex.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd\u202d\u202e]")
_EMBEDDING = regex.compile("[\u202a-\u202c\u2066-\u2069]")


def control(segment: Segment, text: str) -> Iterator[str]:
    """No control or replacement character and no change of direction that the source does not have.

    Embeddings are free where either language runs from right to left; overrides never are.
    """
    allows_embeddings = any(map(scripts.runs_right_to_left, (segment.source_lang, segment.target_lang)))
    for signs in (_CONTROL,) if allows_embeddings else (_CONTROL, _EMBEDDING):
        if not signs.search(text):
            continue
        surplus = Counter(signs.findall(text)) - Counter(signs.findall(segment.source))
        for character in sorted(surplus):
            yield f"character U+{ord(character):04X}"


_RULE = regex.compile(r"([^\w\s])\1{3,}+")


def length(segment: Segment, text: str) -> Iterator[str]:
    """The text is neither a multiple nor a fraction of its source, and contains only its translation."""
    size, source_size = scripts.letters(text), scripts.letters(segment.source)
    is_long = size > TIMES_LONGER * source_size + LETTERS_LONGER
    if is_long or scripts.letters(_RULE.sub(r"\1", segment.source)) > TIMES_SHORTER * size + LETTERS_SHORTER:
        yield f"the text has {size:.0f} letters, the source {source_size:.0f}"
    yield from commentary.commentary(segment.source, text, target_lang=segment.target_lang)


_LATIN = regex.compile(r"\p{Latin}")


def script(segment: Segment, text: str) -> Iterator[str]:
    """The text is not wholly in a script that its language is not written in; words of the source may be."""
    inside = scripts.letters_of(scripts.only_script_of(segment.target_lang))
    if inside is None or inside.search(text):
        return
    source_words = {word.casefold() for word in scripts.words(segment.source)}
    latin: list[str] = []
    others: list[str] = []
    for word in scripts.words(markup.prose(text)):
        if not scripts.LETTER.search(word) or word.casefold() in source_words:
            continue
        if _LATIN.search(word):
            latin.append(word)
        else:
            others.append(word)
    names = sum(word[0].isupper() for word in latin)  # brands are written in Latin letters in any language
    is_latin_prose = len(latin) >= 3 and 2 * names <= len(latin)
    if is_latin_prose or scripts.letters("".join(others)) >= 12:
        yield f"no letter of the text is in the script of {segment.target_lang}"


_LATEX = regex.compile(r"\\[A-Za-z]++\*?+(?:\[[^\[\]]*+\])?+$")
_CURRENCY = regex.compile(r"\$(?:US|AU?|NZ|CA?|CDN|HK|S)D?\d*+", regex.IGNORECASE)


def placeholders(segment: Segment, text: str) -> Iterator[str]:
    r"""Every placeholder of the source is there.

    Escapes (``\n``), entities, amounts of money (``$US500``) and arguments of LaTeX commands are mere text.
    """

    def is_text(mark: scripts.Mark, side: str) -> bool:
        if mark.key.startswith("{"):
            return _LATEX.search(side[max(0, mark.start - 60) : mark.start]) is not None
        return mark.key.startswith(("\\", "&")) or _CURRENCY.fullmatch(mark.key) is not None

    def real_placeholders(side: str) -> Counter[str]:
        return keys([mark for mark in markup.placeholders(side) if not is_text(mark, side)])

    for key in (real_placeholders(segment.source) - real_placeholders(text)).elements():
        yield f"{key} is missing"


_KEY_NAME = regex.compile(r"[A-Z][a-z]{2,}+")
_PLAIN_NAME = regex.compile(r"[a-z]{4,}")
_HTML_NAMES = regex.compile(
    r"abbr|area|article|aside|base|blockquote|body|button|caption|center|cite|code|embed|figure|font|"
    r"footer|form|head|header|html|iframe|input|label|legend|link|main|mark|math|meta|object|option|param|"
    r"picture|quote|ruby|samp|script|section|select|small|source|span|strong|style|table|tbody|tfoot|"
    r"thead|time|title|track|video"
)


def tags(segment: Segment, text: str) -> Iterator[str]:
    """Every tag of the source is there, with any attributes. Numbered tags are as the source has them, and well nested.

    Tags of plain words that are not HTML (``<laugh/>`` in a transcript, ``<Enter>``, ``<your name>``) are not edited:
    people translate them.
    """

    def tag_names(text: str) -> Counter[str]:
        found = markup.tags(text)
        closed = {tag.name for tag in found if tag.kind == "close"}
        names: Counter[str] = Counter()
        for tag in found:
            is_plain = _PLAIN_NAME.fullmatch(tag.name.replace("_", "")) is not None
            is_words = is_plain or " " in tag.key or _KEY_NAME.fullmatch(tag.name) is not None
            is_markup = _HTML_NAMES.fullmatch(tag.name) is not None or "=" in tag.key
            if is_markup or not is_words or (tag.name in closed and not is_plain):
                names[f"<{'/' if tag.kind == 'close' else ''}{tag.name}>"] += 1
        return names

    missing = tag_names(segment.source) - tag_names(text)
    for name in missing.elements():
        yield f"{name} is missing"
    if not markup.NUMBERED_TAG.search(text):
        return
    in_source, in_text = _numbered_tags(segment.source), _numbered_tags(text)
    for key in (keys(in_text) - keys(in_source)).elements():
        yield f"{key} is not in the source"
    yield from (Counter(markup.nesting_faults(in_text)) - Counter(markup.nesting_faults(in_source))).elements()


def _numbered_tags(text: str) -> tuple[markup.Tag, ...]:
    """The placeholders of a localization file's tags."""
    return tuple(tag for tag in markup.tags(text) if tag.name.isdecimal())


TRANSLATION_GUARDS: dict[str, Check] = {
    "control": control,
    "length": length,
    "script": script,
    "placeholders": placeholders,
    "tags": tags,
    "max_length": checks.max_length,
}
"""The guards over a translation without a text before it, each named like the guard over a change."""

RESTORABLE = frozenset({"placeholders", "tags", "max_length"})
"""What weak systems damage in good translations, and later stages restore."""
