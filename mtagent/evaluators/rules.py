"""The ``rules`` evaluator: deterministic MQM spans, offline and free. One function per rule, all in :data:`RULES`."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import regex

from mtagent.errors import ConfigError
from mtagent.llm.gathering import aside
from mtagent.records import ErrorSpan, Rating, Segment, Severity
from mtagent.text import foreign, icu, markup, mqm, number_faults, scripts
from mtagent.text.checks import CHECKS, doublings, keys, placeholders
from mtagent.text.number_words import readings
from mtagent.text.terms import occurrences, term_faults
from mtagent.version import __version__

Rule = Callable[[Segment, str], Iterable[ErrorSpan]]
"""``rule(segment, translation)`` marks errors, with a suggestion only where the fix is certain."""

_CONTEXT = 20


def located(
    text: str,
    start: int,
    end: int,
    category: str,
    severity: Severity,
    explanation: str,
    suggestion: str | None = None,
) -> ErrorSpan:
    """The error ``text[start:end]`` with its context and its HiMATE weight."""
    return mqm.weighted(
        ErrorSpan(
            text=text[start:end],
            start=start,
            end=end,
            before=text[max(0, start - _CONTEXT) : start],
            after=text[end : end + _CONTEXT],
            category=category,
            severity=severity,
            explanation=explanation,
            suggestion=suggestion,
        ),
        "himate",
    )


_MOST_FAULTS = 20


def summary(faults: Sequence[str]) -> str:
    """The ``faults`` in one line, the first of very many."""
    more = len(faults) - _MOST_FAULTS
    return "; ".join([*faults[:_MOST_FAULTS], *([f"and {more} more"] if more > 0 else [])])


def somewhere(category: str, severity: Severity, faults: Sequence[str]) -> ErrorSpan:
    """One error of one kind, without a place."""
    return mqm.weighted(ErrorSpan(text="", category=category, severity=severity, explanation=summary(faults)), "himate")


def omitted(source_text: str, category: str, severity: Severity, explanation: str) -> ErrorSpan:
    """``source_text`` is missing from the translation; where it belongs is not known."""
    return mqm.weighted(
        ErrorSpan(text=source_text, side="omission", category=category, severity=severity, explanation=explanation),
        "himate",
    )


_PUNCTUATION = "fluency/punctuation"
_END = regex.compile(r"(?P<mark>[.!?。！？])[\p{Pe}\p{Pf}\"'\s]*+\Z")
_OPEN_END = regex.compile(r"(?P<word>[\p{L}\p{M}]++)\Z")
_FULL_STOPS = {
    "Hans": "。！？",
    "Hant": "。！？",
    "Jpan": "。！？",
    "Deva": "।!?",
    "Arab": ".!؟",
    "Grek": ".!;",
    "Armn": "։՜՞",
}
_SURELY_WHOLE = 60
"""Words. The end of a longer text may have been cut off, which a full stop would only hide."""
_NO_STOP = frozenset({"Thai", "Laoo", "Khmr", "Mymr", "Tibt", "Beng", "Ethi"})


def final_mark(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A text of several words that ends with a letter, if the source ends a sentence."""
    script = scripts.script_of(segment.target_lang)
    source_end = _END.search(segment.source[-20:])
    open_end = _OPEN_END.search(translation, max(0, len(translation) - 60))
    source_words = len(scripts.words(segment.source))
    if source_end is None or open_end is None or script in _NO_STOP or source_words < 3:
        return
    urls = markup.urls(segment.source)
    if urls and segment.source.rstrip().endswith(urls[-1].key):
        return
    source_mark = source_end["mark"]
    place = ".!?".find({"。": ".", "！": "!", "？": "?"}.get(source_mark, source_mark))
    mark = _FULL_STOPS.get(script, ".!?")[place]
    start = open_end.end() - 1
    if scripts.SPACED_LETTER.match(open_end["word"][-1]):
        start = open_end.start("word")
    belongs_to_word = segment.source.rstrip().endswith(f" {translation.split()[-1]}{source_mark}")  # Acme Inc.
    is_certain = (
        source_words <= _SURELY_WHOLE
        and source_mark in ".。"
        and script not in ("Arab", "Armn")
        and not belongs_to_word
        and not _is_tokenised(segment.source, segment.source_lang)
    )
    fixed = translation[start : open_end.end()] + mark if is_certain else None
    yield located(translation, start, open_end.end(), _PUNCTUATION, "minor", "the final punctuation is missing", fixed)


_SPACE_BEFORE = regex.compile(r"(?<=[\p{L}\p{N})\]}>%»”\"])[ \u00a0\u202f]++(?P<mark>[,.;:!?])(?=[\s]|\Z)")
_SPACED_SOURCE = regex.compile(r"[\p{L}\p{N})\]\"] [,.;:!?](?:\s|\Z)")
_SPACED_FRENCH_SOURCE = regex.compile(r"[\p{L}\p{N})\]\"] [,.](?:\s|\Z)")
_TIGHT = regex.compile(r"[\p{L}\p{N})\]\"][,.;:!?](?:\s|\Z)")
_TIGHT_END = regex.compile(r"[\p{L}\p{N})\]}>%\"][.!?][\p{Pe}\p{Pf}\"'\s]*+\Z")
_FRENCH_MARKS = frozenset(";:!?")


def _is_tokenised(source: str, lang: str) -> bool:
    """Whether ``source`` has spaces before its marks; in French some marks always have one."""
    pattern = _SPACED_FRENCH_SOURCE if scripts.language_of(lang) == "fr" else _SPACED_SOURCE
    return pattern.search(source) is not None


def space_before(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A space before a comma, a full stop and the like, except before high marks in French.

    A text with spaces before all marks is tokenised, and not edited, unless the source isn't tokenised.
    """
    french = scripts.language_of(segment.target_lang) == "fr"
    if _is_tokenised(segment.source, segment.source_lang):
        return
    if not _TIGHT.search(translation) and not _TIGHT_END.search(segment.source[-20:]):
        return
    for match in _SPACE_BEFORE.finditer(translation):
        if not (french and match["mark"] in _FRENCH_MARKS):
            yield located(translation, *match.span(), _PUNCTUATION, "minor", "space before punctuation", match["mark"])


_TIGHT_FRENCH = regex.compile(r"(?<=\p{L})[;!?](?=[\s]|\Z)")


def french_space(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """French of France without its narrow space before ``;``, ``!`` and ``?``."""
    if segment.target_lang not in ("fr", "fr-FR") or _is_tokenised(segment.source, segment.source_lang):
        return
    copied = set(segment.source.split())  # Yahoo!, Jeopardy!, return;
    for match in _TIGHT_FRENCH.finditer(translation):
        if translation[: match.end()].split()[-1] in copied:
            continue
        fixed = f"\u202f{match.group()}"
        yield located(translation, *match.span(), _PUNCTUATION, "minor", "no narrow space before the mark", fixed)


_SPANISH_SENTENCE = regex.compile(r"\A(?P<first>\p{Lu}[\p{L}\p{M}]*+)[\p{L}\p{M}\p{N}\s]*+(?P<mark>[?!])\Z")


def spanish_opening(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Spanish questions and exclamations without ``¿`` and ``¡``; the fix is certain in a text of one sentence."""
    if scripts.language_of(segment.target_lang) != "es":
        return
    for mark, opening in (("?", "¿"), ("!", "¡")):
        if mark not in translation or opening in translation or mark not in segment.source:
            continue
        if mark not in markup.prose(translation):
            continue
        place = (translation.index(mark), translation.index(mark) + 1)
        fixed = None
        sentence = _SPANISH_SENTENCE.match(translation)
        if sentence is not None:
            place = sentence.span("first")
            ends_with_name = translation.split()[-1] in segment.source.split()  # Yahoo!
            if not ends_with_name:
                fixed = opening + sentence["first"]
        yield located(translation, *place, _PUNCTUATION, "minor", f"{opening} is missing", fixed)


_PUNCTUATION_WIDE = {
    "Hans": dict(zip(",.!?;:", "，。！？；：", strict=True)),
    "Jpan": dict(zip(",.!?", "、。！？", strict=True)),
}
_PUNCTUATION_WIDE["Hant"] = _PUNCTUATION_WIDE["Hans"]
_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}ー]"
_NARROW = regex.compile(rf"(?<={_CJK})[,.!?;:][ ]?+(?={_CJK}|\Z)")


def full_width(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """ASCII punctuation between Chinese or Japanese characters."""
    wide = _PUNCTUATION_WIDE.get(scripts.script_of(segment.target_lang))
    if not wide:
        return
    for match in _NARROW.finditer(translation):
        fixed = wide.get(match.group()[0])
        if fixed:
            yield located(translation, *match.span(), _PUNCTUATION, "minor", "punctuation is not full-width", fixed)


def pairs(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Brackets without a partner, and an odd number of quotation marks, if the source has neither."""
    source, text = markup.prose(segment.source), markup.prose(translation)
    if not markup.unpaired_brackets(source):
        for mark in markup.unpaired_brackets(text):
            yield located(translation, mark.start, mark.end, _PUNCTUATION, "minor", "a bracket without its partner")
    quotes = markup.double_quotes(text)
    if len(quotes) % 2 and len(markup.double_quotes(source)) % 2 == 0:
        last = quotes[-1]
        yield located(translation, last.start, last.end, _PUNCTUATION, "minor", "an odd number of quotation marks")


def empty(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """An empty translation of a source that is not empty."""
    if segment.source.strip() and not translation.strip():
        yield omitted(segment.source, "accuracy/omission", "major", "there is no translation")


def _tags(text: str) -> list[scripts.Mark]:
    return [scripts.Mark(tag.key, tag.start, tag.end) for tag in markup.tags(text)]


_Marks = Sequence[scripts.Mark]
_FEW = 50
"""If more marks are missing, the text is not misspelt but broken."""
_BRACES = ("{", "${", "%{", "#{")
_WIDE = {narrow: narrow + wide for narrow, wide in zip("%{}$<>()/:", "％｛｝＄＜＞（）／：", strict=True)}
_MAX_LOOSE = 400
"""The longest mark, in characters, that is searched for in other spellings."""
_MAYBE_SPACE = r"[ \u00a0\u202f]?+"


def placeholder_names(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Placeholders that are missing, altered or not in the source; other rules check ICU messages and the order.

    What the guards accept isn't an error.
    """
    originals, copies = markup.placeholder_pair(segment.source, translation)
    if (
        icu.message(segment.source)
        or keys(markup.placeholders(segment.source)) == keys(markup.placeholders(translation))
        or keys(originals) == keys(copies)
    ):
        return
    yield from _taken_over("placeholder", segment.source, translation, originals, copies)


def tags(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Tags that are missing, altered or not in the source."""
    yield from _taken_over("tag", segment.source, translation, _tags(segment.source), _tags(translation))


def urls(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """URLs that are missing, altered or not in the source."""
    originals, copies = markup.urls(segment.source), markup.urls(translation)
    yield from _taken_over("URL", segment.source, translation, originals, copies)


def emails(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """E-mail addresses that are missing, altered or not in the source."""
    originals, copies = markup.emails(segment.source), markup.emails(translation)
    yield from _taken_over("e-mail address", segment.source, translation, originals, copies)


def _taken_over(what: str, source: str, translation: str, originals: _Marks, copies: _Marks) -> Iterator[ErrorSpan]:
    """The ``originals`` that the translation lacks or alters, and the ``copies`` that the source doesn't have."""
    missing = unmatched(originals, copies)
    extra = unmatched(copies, originals)
    times = Counter(mark.key for mark in missing)
    altered: list[tuple[int, int]] = []

    def is_altered(start: int, end: int) -> bool:
        return any(other_start < end and start < other_end for other_start, other_end in altered)

    for mark in missing:
        original = source[mark.start : mark.end]
        place = None
        if len(missing) <= _FEW and times[mark.key] == 1:
            place = misspelt(original, translation)
            if place is None and what == "placeholder" and len(missing) == len(extra) == 1:
                place = _only_other_placeholder(original, extra[0])
        if place is None:
            yield omitted(original, "accuracy/omission", "major", f"{what} {original} is missing")
        elif not is_altered(*place):
            altered.append(place)
            why = f"{what} {original} is altered"
            yield located(translation, *place, "accuracy/mistranslation", "major", why, original)
    for mark in extra:
        is_entity = mark.key.startswith("&")
        if not is_entity and not is_altered(mark.start, mark.end):
            why = f"{what} {mark.key} is not in the source"
            yield located(translation, mark.start, mark.end, "accuracy/addition", "major", why)


def _only_other_placeholder(original: str, other: scripts.Mark) -> tuple[int, int] | None:
    """The place of the ``other`` placeholder, if it must be the ``original`` with a translated name: ``{name}``."""
    are_names_in_braces = original.startswith(_BRACES) and other.key.startswith(_BRACES)
    if are_names_in_braces and "|" not in original and " " not in other.key:
        return other.start, other.end
    return None


def unmatched(these: Sequence[scripts.Mark], others: Sequence[scripts.Mark]) -> list[scripts.Mark]:
    """The marks of ``these`` without a partner among ``others``; of equal marks the last."""
    free = Counter(mark.key for mark in others)
    without_partner = []
    for mark in these:
        if free[mark.key]:
            free[mark.key] -= 1
        else:
            without_partner.append(mark)
    return without_partner


def misspelt(mark: str, translation: str) -> tuple[int, int] | None:
    """The one place where the translation spells ``mark`` wrongly; ``None`` for no place, or more than one.

    Translation puts spaces next to its signs, makes them full-width, and changes its case.
    """
    if len(mark) > _MAX_LOOSE:
        return None
    parts = []
    if mark[0].isalnum():
        parts.append(r"(?<![\\A-Za-z0-9_])")
    elif mark[0] == "%":  # behind a number it means per cent
        parts.append(r"(?<!\d|\d[ \u00a0])")
    for index, sign in enumerate(mark):
        if index and not (sign.isalnum() and mark[index - 1].isalnum()):
            parts.append(_MAYBE_SPACE)
        if sign in _WIDE:
            parts.append(f"[{regex.escape(_WIDE[sign])}]")
        elif sign == " ":
            parts.append(_MAYBE_SPACE)
        else:
            parts.append(regex.escape(sign))
    if mark[-1].isalnum() and mark[0] != "\\":
        parts.append(r"(?![A-Za-z0-9_])")
    matches = regex.finditer("".join(parts), translation, flags=regex.IGNORECASE)
    places = [match.span() for match in matches if match.group() != mark]
    return places[0] if len(places) == 1 else None


_CERTAIN_DIGITS = 3


def numbers(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Numbers that are missing, changed or not in the source, in digits or words."""
    if translation == segment.source:  # 120x600,120: a decimal comma in one language, and none in the other
        return
    source, text = markup.prose(segment.source), markup.prose(translation)
    languages = segment.source_lang, segment.target_lang
    faults = number_faults.faults(source, text, *languages)
    words = readings(text, languages[1]).possible.copy() if faults.missing else Counter()
    missing = [number for number in faults.missing if not number_faults.take(words, number)]
    extra = faults.extra
    originals = [source[number.start : number.end] for number in missing]
    if not missing and not extra:
        return
    messages = number_faults.NumberMessages(source, text, *languages)
    fix = None
    if len(missing) == len(extra) == 1 and is_one_slip(originals[0], text[extra[0].start : extra[0].end]):
        fix = originals[0]
    for number in extra:
        category = "accuracy/mistranslation" if missing else "accuracy/addition"
        why = messages.extra(number)
        yield located(translation, number.start, number.end, category, "major", why, fix)
    for number, original in list(zip(missing, originals, strict=True))[len(extra) :]:
        yield omitted(original, "accuracy/omission", "major", messages.missing(number, original))


def is_one_slip(right: str, wrong: str) -> bool:
    """Whether plain digits differ by one digit, or by two neighbours swapped: no conversion does that."""
    if not (right.isdecimal() and wrong.isdecimal()) or len(right) != len(wrong) or len(right) < _CERTAIN_DIGITS:
        return False
    places = [place for place in range(len(right)) if right[place] != wrong[place]]
    if len(places) == 1:
        return True
    if len(places) != 2 or places[1] != places[0] + 1:
        return False
    first, second = places
    return right[first] == wrong[second] and right[second] == wrong[first]


_APERTIUM = regex.compile(r"(?<![\p{L}\p{N}\p{Pc}\p{S}*@#/.&\\-])[*@#](?=\p{L})(?P<word>[\p{L}\p{M}'’-]++)(?![*@#_])")


def apertium_marks(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Apertium's marks on words that it could not translate or inflect: ``*word``, ``@word``, ``#word``."""
    for match in _APERTIUM.finditer(translation):
        if match.group()[0] not in segment.source:
            shown = "the MT system did not know this word"
            yield located(translation, *match.span(), "accuracy/untranslated text", "minor", shown, match.group("word"))


_CONVERSION = regex.compile(r"%[-+#0 ]*+\d*+(?:\.\d++)?+(?:hh?|ll?|z)?+(?P<kind>[sd@iouxXeEfFgGcraA])")


def argument_order(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """printf arguments of several kinds in another order than in the source, without numbers for their order."""
    originals = _conversions(segment.source)
    copies = _conversions(translation)
    if len(copies) < 2 or keys(originals) != keys(copies):
        return
    misplaced = [copy for original, copy in zip(originals, copies, strict=True) if original.key != copy.key]
    if misplaced:
        why = "the arguments are in another order than in the source; number them, as in %2$s"
        yield located(translation, misplaced[0].start, misplaced[-1].end, "accuracy/mistranslation", "major", why)


def _conversions(text: str) -> list[scripts.Mark]:
    """The printf arguments in ``text``."""
    return [mark for mark in markup.placeholders(text) if _CONVERSION.fullmatch(mark.key)]


_SURROGATE = regex.compile(r"\p{Cs}")
_CATEGORIES = {
    "literals": "accuracy/mistranslation",
    "hotkeys": "locale convention/shortcut key",
    "units": "accuracy/mistranslation",
    "control": "fluency/character encoding",
    "repetition": "fluency/repetition",
    "max_length": "other/length",
}


def as_guarded(name: str) -> Rule:
    """The rule that marks the faults that the guard ``name`` of :data:`CHECKS` finds, as one error without a place."""

    def rule(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
        if translation.strip():
            faults = list(CHECKS[name](segment, translation))
            if faults:
                yield somewhere(_CATEGORIES[name], "major", faults)

    rule.__doc__ = CHECKS[name].__doc__
    return rule


def control(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Control and odd invisible characters that the source does not have, as one error at the first of them."""
    faults = list(CHECKS["control"](segment, translation))
    if not translation.strip() or not faults:
        return
    category = _CATEGORIES["control"]
    in_source = set(scripts.control_characters(segment.source, segment.source_lang))
    for code in scripts.control_characters(translation, segment.target_lang):
        character = chr(int(code.removeprefix("U+"), 16))
        if code not in in_source and not _SURROGATE.search(translation):  # which no record can hold
            start = translation.index(character)
            yield located(translation, start, start + 1, category, "major", summary(faults))
            return
    yield somewhere(category, "major", faults)


def message_form(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """An ICU message that cannot be read, lacks an argument or a branch, or a placeholder in one of its variants."""
    source = icu.message(segment.source)
    if source is None or not translation.strip():
        return
    start = len(translation) - len(translation.lstrip())
    end = len(translation.rstrip())
    problem = "the ICU message does not fit its source"
    try:
        faults = list(icu.form_faults(source, icu.parse(translation), segment.target_lang))
    except icu.IcuError as error:
        problem = "the ICU message cannot be read"
        faults = [str(error)]
    if faults:
        why = f"{problem}: {summary(faults)}"
        fix = _with_source_names(segment, source, translation[start:end])
        yield located(translation, start, end, "accuracy/mistranslation", "critical", why, fix)
        return
    faults = list(placeholders(segment, translation))
    fix = _with_source_names(segment, source, translation[start:end]) if faults else None
    if fix is not None:
        yield located(translation, start, end, "accuracy/mistranslation", "major", summary(faults), fix)
    elif faults:
        yield somewhere("accuracy/mistranslation", "major", faults)


def _with_source_names(segment: Segment, source: icu.Message, text: str) -> str | None:
    """The message ``text`` with the capitals that its arguments have in the source, if that is all it lacks."""
    message = icu.readable(text)
    if message is None:
        return None
    in_source = icu.names(source)
    new_names = {}
    for name in icu.names(message) - in_source:
        same_letters = [original for original in in_source if original.casefold() == name.casefold()]
        if len(same_letters) == 1:
            new_names[name] = same_letters[0]
    fix = icu.renamed(text, new_names) if new_names else None
    if fix is None or any(icu.form_faults(source, icu.parse(fix), segment.target_lang)):
        return None
    return None if any(placeholders(segment, fix)) else fix


_UNTRANSLATED = "accuracy/untranslated text"
_FEWEST_WORDS = 2
"""A copied text of fewer words may be a name."""
_ENOUGH_WORDS = 4
"""A copied text with this many words isn't a label."""
_ENDS_BEFORE = regex.compile(r"(?:\A|[.!?…:。！？]|\n)[\p{P}\s]*+\Z")
_ENDS_AFTER = regex.compile(r"[\p{Pe}\p{Pf}\"'\s]*+(?:[.!?…:。！？]|\n|\Z)")


def untranslated(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A translation that is its source, sentences copied from it, and words in a script of another language."""
    if foreign.is_within_language(segment):
        return
    words = list(scripts.word_pattern(translation).finditer(markup.prose(translation)))
    texts = [word.group() for word in words]
    if tuple(texts) == scripts.words(markup.prose(segment.source)) and _needs_translation(texts):
        yield located(translation, 0, len(translation), _UNTRANSLATED, "major", "the source is copied")
        return
    stretches: list[tuple[int, int]] = []  # runs that touch are one
    for first, run in foreign.copied_runs(segment, translation):
        last = first + len(run)
        if stretches and first <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], last)
        else:
            stretches.append((first, last))
    for first, last in stretches:
        start = words[first].start()
        end = words[last - 1].end()
        if _ENDS_BEFORE.search(translation[:start][-20:]) and _ENDS_AFTER.match(translation, end):
            yield located(translation, start, end, _UNTRANSLATED, "major", "a sentence of the source is copied")
    pattern = scripts.foreign_words_of(scripts.script_of(segment.target_lang))
    if not scripts.script_of(segment.target_lang) or pattern is None or translation.isascii():
        return
    for match in pattern.finditer(translation):
        if match.group() in segment.source:
            shown = f"not in the script of {segment.target_lang}"
            yield located(translation, *match.span(), _UNTRANSLATED, "minor", shown)


def _needs_translation(words: Sequence[str]) -> bool:
    """Whether a text of these words is more than a name: a sentence, or a label."""
    if len(words) < _FEWEST_WORDS:
        return False
    if len(words) >= _ENOUGH_WORDS:
        lower_case = sum(word[0].islower() or word.upper() == word.lower() for word in words)
        return 2 * lower_case >= len(words)
    # "Save file" is a label; "New York" and "Windows 11" are names.
    has_single_letter = min(map(len, words)) == 1
    return not has_single_letter and all(word.isalpha() and word.islower() for word in words[1:])


def terms(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Do-not-translate terms, glossary terms and forbidden words."""
    if not segment.terms:
        return
    wrong_term = "terminology/inappropriate for context"
    in_other_case: dict[str, list[scripts.Mark]] = {}  # occurrences of a term with other capitals, each used once
    for fault in term_faults(segment, translation):
        source = fault.term.source
        if fault.mark is not None:
            why = f"the glossary forbids {fault.term.target or source!r} for {source!r}"
            yield located(translation, fault.mark.start, fault.mark.end, wrong_term, "major", why)
        elif fault.kind == "missing":
            why = f"the glossary has {' or '.join(map(repr, fault.targets))} for {source!r}"
            yield omitted(source, wrong_term, "major", why)
        else:
            why = f"{source!r} must not be translated"
            if source not in in_other_case:
                in_other_case[source] = [mark for mark in occurrences(source, translation) if mark.key != source]
            if in_other_case[source]:
                mark = in_other_case[source].pop(0)
                yield located(translation, mark.start, mark.end, wrong_term, "minor", why, source)
            else:
                yield omitted(source, wrong_term, "major", why)


def doubled_words(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A doubled word, if the source has none. The fix is certain if the language never doubles the word."""
    for doubled in doublings(segment.source, translation, segment.target_lang):
        why = f"{doubled.word!r} is doubled"
        fixed = doubled.word if doubled.certain else None
        yield located(translation, doubled.start, doubled.end, "fluency/grammar", "minor", why, fixed)


_SPACES = regex.compile(r"(?<=[\p{L}\p{N},;:.!?)\]}>%»”\"'’])[ ]{2,}+(?=[\p{L}\p{N}(\[{<%«„“\"'‘¿¡])")
_ALIGNED = regex.compile(r"[`|\t]|^ {2,}", regex.MULTILINE)


def double_spaces(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """More than one space between words, if the source has none and nothing is aligned by spaces."""
    if "  " not in translation or "  " in segment.source or _ALIGNED.search(translation):
        return
    if not scripts.has_spaces(segment.target_lang):  # such text is tokenised
        return
    for match in _SPACES.finditer(translation):
        yield located(translation, *match.span(), "fluency/punctuation", "minor", "more than one space", " ")


_FIRST_WORD = regex.compile(r"[\s\p{Ps}\p{Pi}\"'„¿¡*_]*+(?P<word>[\p{L}\p{M}'’-]++)")
_SENTENCE = regex.compile(r"[.!?…][\p{Pe}\p{Pf}\"'*_\s]*+\Z")
_CASED = frozenset({"Latn", "Cyrl", "Grek", "Armn"})


def first_capital(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A sentence that starts with a small letter, if the source starts with a capital."""
    if scripts.script_of(segment.target_lang) not in _CASED or not _SENTENCE.search(translation[-20:]):
        return
    source_first = _FIRST_WORD.match(segment.source)
    first = _FIRST_WORD.match(translation)
    if not source_first or not first or not _SENTENCE.search(segment.source[-20:]):
        return
    word = first["word"]
    is_copied = word in scripts.words(segment.source)
    if not source_first["word"][0].isupper() or not word[0].islower() or not word.islower() or is_copied:
        return
    start, end = first.span("word")
    is_elided = translation[max(0, start - 1) : start] in ("'", "’")
    is_in_address = translation[end : end + 1] in ("@", ".", "/", "_", ":")
    if not is_elided and not is_in_address:
        capital = word[0].upper() + word[1:]
        yield located(
            translation, start, end, "fluency/spelling", "minor", "a sentence begins with a small letter", capital
        )


_COMMA_LANGUAGES = frozenset(["de", "nl", "it", "id", "tr", "da", "is", "el", "ro", "hr", "sl", "sr"])
_POINT_LANGUAGES = frozenset(["en", "zh", "ja", "ko", "th", "he"])
_POINT_REGIONS = ("de-CH", "de-LI", "it-CH", "en-ZA")
_ENGLISH_NUMBER = regex.compile(r"(?<![\p{L}\d.,])\d{1,3}+(?:,\d{3})++\.\d{1,2}+(?![\p{L}\d.,]*+\d)")
_GERMAN_NUMBER = regex.compile(r"(?<![\p{L}\d.,])\d{1,3}+(?:\.\d{3})++,\d{1,2}+(?![\p{L}\d.,]*+\d)")
_SWAP = str.maketrans(",.", ".,")


def number_format(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """1,234.5 in a language that writes 1.234,5, or the reverse; never a number that can be read both ways."""
    lang = scripts.language_of(segment.target_lang)
    if segment.target_lang in _POINT_REGIONS or lang not in _COMMA_LANGUAGES | _POINT_LANGUAGES:
        return
    pattern = _ENGLISH_NUMBER if lang in _COMMA_LANGUAGES else _GERMAN_NUMBER
    for match in pattern.finditer(markup.prose(translation)):
        why = f"number format is not that of {segment.target_lang}"
        fixed = match.group().translate(_SWAP)
        yield located(translation, *match.span(), "locale convention/number format", "minor", why, fixed)


_ENTITY = regex.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}+|#\d{1,7}+|#[xX][0-9A-Fa-f]{1,6}+);")


def entities(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """HTML entities such as ``&quot;``, if the source is plain text without entities and tags."""
    if "&" not in translation or markup.tags(segment.source) or _ENTITY.search(segment.source):
        return
    for match in _ENTITY.finditer(translation):
        plain = html.unescape(match.group())
        if plain != match.group() and plain.isprintable():
            yield located(translation, *match.span(), "fluency/character encoding", "minor", "an HTML entity", plain)


RULES: dict[str, Rule] = {
    "empty": empty,
    "placeholders": placeholder_names,
    "tags": tags,
    "urls": urls,
    "emails": emails,
    "numbers": numbers,
    "argument-order": argument_order,
    "message-form": message_form,
    **{name.replace("_", "-"): as_guarded(name) for name in CHECKS},
    "control": control,
    "apertium-marks": apertium_marks,
    "untranslated": untranslated,
    "terms": terms,
    "final-mark": final_mark,
    "space-before": space_before,
    "french-space": french_space,
    "spanish-opening": spanish_opening,
    "full-width": full_width,
    "pairs": pairs,
    "doubled-words": doubled_words,
    "double-spaces": double_spaces,
    "first-capital": first_capital,
    "entities": entities,
    "number-format": number_format,
}
"""All rules by name."""

MOST_SPANS = 500
"""The most errors that a rule marks: more of the same kind tell nothing new about a text."""


class Rules:
    """Rates by rules alone: numbers, placeholders, tags, links, terms, punctuation, spaces, copied text.

    A span has a suggestion only if the fix is certain. The score is minus the sum of the HiMATE weights. Rules named in
    ``skip`` are left out. Raises :class:`mtagent.errors.ConfigError` for a name that no rule has.
    """

    name = "rules"
    suggests = True
    calls = (0, 0)
    weights: mqm.Preset = "himate"

    def __init__(self, *, skip: frozenset[str] = frozenset()) -> None:
        unknown = sorted(skip - RULES.keys())
        if unknown:
            raise ConfigError(f"unknown rule {unknown[0]!r}; choose from {', '.join(RULES)}")
        self.skip = skip

    @property
    def signature(self) -> str:
        """What a score depends on."""
        skipped = f"skip:{','.join(sorted(self.skip))}|" if self.skip else ""
        return f"rules|v:4|weights:{self.weights}|{skipped}version:{__version__}"

    def find(self, segment: Segment, translation: str) -> tuple[ErrorSpan, ...]:
        """The errors in the order of the text, then the errors without a place.

        Every located span has exact offsets, and no two suggestions overlap: the earlier and then the longer one stays.
        """
        return tuple(span for _, span in self.find_by_rule(segment, translation))

    def find_by_rule(self, segment: Segment, translation: str) -> list[tuple[str, ErrorSpan]]:
        """The same errors, each with the name of its rule."""
        found: list[tuple[str, ErrorSpan]] = []
        for name, rule in RULES.items():
            if name not in self.skip:
                for span in islice(rule(segment, translation), MOST_SPANS):
                    found.append((name, span))
        behind_text = len(translation) + 1
        found.sort(key=lambda named: (behind_text if named[1].start is None else named[1].start, -(named[1].end or 0)))
        kept = []
        last_suggestion_end = 0
        for name, span in found:
            if span.suggestion is not None and span.start is not None and span.end is not None:
                if span.start < last_suggestion_end:
                    continue
                last_suggestion_end = span.end
            kept.append((name, span))
        return kept

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Rate ``translation``; calls no model and never fails."""
        errors = await aside(len(segment.source) + len(translation), self.find, segment, translation)
        score = mqm.score(errors, self.weights)
        return Rating(evaluator=self.name, score=score, errors=errors, signature=self.signature)
