"""Rules over punctuation: the end of the text, spaces before marks, the target script's own marks, pairs."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from mtagent import marks
from mtagent.records import ErrorSpan, Segment
from mtagent.rules.spans import located

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
"""Of a longer text the end may have been cut off: then a full stop would only hide it."""
_NO_STOP = frozenset({"Thai", "Laoo", "Khmr", "Mymr", "Tibt", "Beng", "Ethi"})


def final_mark(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A text of several words that ends with a letter, where the source ends a sentence."""
    script = marks.script_of(segment.target_lang)
    wanted = _END.search(segment.source[-20:])
    bare = _OPEN_END.search(translation, len(translation) - 60 if len(translation) > 60 else 0)
    if wanted is None or bare is None or script in _NO_STOP or len(marks.words(segment.source)) < 3:
        return
    if marks.urls(segment.source)[-1:] and segment.source.rstrip().endswith(marks.urls(segment.source)[-1].key):
        return
    place = ".!?".find({"。": ".", "！": "!", "？": "?"}.get(wanted["mark"], wanted["mark"]))
    mark = _FULL_STOPS.get(script, ".!?")[place]
    start = bare.start("word") if marks.SPACED_LETTER.match(bare["word"][-1]) else bare.end() - 1
    short = len(marks.words(segment.source)) <= _SURELY_WHOLE
    certain = short and wanted["mark"] in ".。" and script not in ("Arab", "Armn")
    fixed = translation[start : bare.end()] + mark if certain else None
    yield located(translation, start, bare.end(), _PUNCTUATION, "minor", "the final punctuation is missing", fixed)


_SPACE_BEFORE = regex.compile(r"(?<=[\p{L}\p{N})\]»”\"])[ \u00a0\u202f]++(?P<mark>[,.;:!?])(?=[\s]|\Z)")
_SPACED_SOURCE = regex.compile(r"[\p{L}\p{N})\]\"] [,.;:!?](?:\s|\Z)")
_TIGHT = regex.compile(r"[\p{L}\p{N})\]\"][,.;:!?](?:\s|\Z)")
_FRENCH_MARKS = frozenset(";:!?")


def space_before(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """A space before a comma, a full stop and the like, but for French high marks.

    Text where every mark stands so is tokenised, and left alone; so is a single mark in a short text.
    """
    french = marks.language_of(segment.target_lang) == "fr"
    if marks.language_of(segment.source_lang) != "fr" and _SPACED_SOURCE.search(segment.source):
        return
    if not _TIGHT.search(translation):
        return
    for match in _SPACE_BEFORE.finditer(translation):
        if not (french and match["mark"] in _FRENCH_MARKS):
            yield located(translation, *match.span(), _PUNCTUATION, "minor", "space before punctuation", match["mark"])


_TIGHT_FRENCH = regex.compile(r"(?<=\p{L})[;!?](?=[\s]|\Z)")


def french_space(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """French of France without its narrow space before ``;``, ``!`` and ``?``."""
    if segment.target_lang not in ("fr", "fr-FR"):
        return
    for match in _TIGHT_FRENCH.finditer(translation):
        fixed = f"\u202f{match.group()}"
        yield located(translation, *match.span(), _PUNCTUATION, "minor", "no narrow space before the mark", fixed)


_SPANISH_SENTENCE = regex.compile(r"\A(?P<first>\p{Lu}[\p{L}\p{M}]*+)[\p{L}\p{M}\p{N}\s]*+(?P<mark>[?!])\Z")


def spanish_opening(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Spanish questions and exclamations without ``¿`` and ``¡``; the fix is certain where there is nothing else."""
    if marks.language_of(segment.target_lang) != "es":
        return
    for mark, opening in (("?", "¿"), ("!", "¡")):
        if mark in translation and opening not in translation and mark in segment.source:
            whole = _SPANISH_SENTENCE.match(translation)
            place = whole.span("first") if whole else (translation.index(mark), translation.index(mark) + 1)
            fixed = opening + whole["first"] if whole else None
            if mark not in marks.prose(translation):
                continue
            yield located(translation, *place, _PUNCTUATION, "minor", f"{opening} is missing", fixed)


_WIDE = {"Hans": dict(zip(",.!?;:", "，。！？；：", strict=True)), "Jpan": dict(zip(",.!?", "、。！？", strict=True))}
_WIDE["Hant"] = _WIDE["Hans"]
_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}ー]"
_NARROW = regex.compile(rf"(?<={_CJK})[,.!?;:][ ]?+(?={_CJK}|\Z)")


def full_width(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """ASCII punctuation between Chinese or Japanese characters."""
    wide = _WIDE.get(marks.script_of(segment.target_lang))
    if not wide:
        return
    for match in _NARROW.finditer(translation):
        if fixed := wide.get(match.group()[0]):
            yield located(translation, *match.span(), _PUNCTUATION, "minor", "punctuation is not full-width", fixed)


def pairs(segment: Segment, translation: str) -> Iterator[ErrorSpan]:
    """Brackets without a partner, and an odd number of quotation marks, where the source has neither."""
    source, text = marks.prose(segment.source), marks.prose(translation)
    if not marks.unpaired_brackets(source):
        for mark in marks.unpaired_brackets(text):
            yield located(translation, mark.start, mark.end, _PUNCTUATION, "minor", "a bracket without its partner")
    quotes = marks.double_quotes(text)
    if len(quotes) % 2 and len(marks.double_quotes(source)) % 2 == 0:
        last = quotes[-1]
        yield located(translation, last.start, last.end, _PUNCTUATION, "minor", "an odd number of quotation marks")
