"""Where a span is in a text: the one place it must mean, or a reason why that is not known.

Rules, in this order, first on the text itself and then on a normalised view of it: given offsets that match; the span
with its context; the only occurrence; the only occurrence on word boundaries. An occurrence inside a word never counts
without context, except the only one before a Korean particle, or after an Arabic or Hebrew clitic. Nothing is guessed.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import regex

from mtagent.records import ErrorSpan
from mtagent.text.paragraphs import LINE_BREAKS
from mtagent.text.scripts import UNSPACED

MOST_PLACES = 1_000  # a span that occurs more often is ambiguous; bounds the work on repetitive texts
_FEW = 20_000_000  # needles x characters up to which one search per needle is faster than one scan for all


class TextRange(NamedTuple):
    """Code points ``start`` to ``end`` (exclusive)."""

    start: int
    end: int


class Location(NamedTuple):
    """The places that a span may mean; ``certain`` if it is one and means it. ``why`` explains what is not."""

    places: tuple[TextRange, ...]
    certain: bool
    why: str = ""
    by_context: bool = False


def find_spans(text: str, errors: Iterable[ErrorSpan]) -> list[Location]:
    """Locate each error's ``text`` in ``text``, in time linear in the text and the number of errors."""
    errors = list(errors)
    locations = View(text).find(errors)
    unsure = [index for index, location in enumerate(locations) if not location.certain]
    if not unsure:
        return locations
    view = normalised(text)
    normalised_errors = [_normalised_error(errors[index]) for index in unsure]
    for index, alike in zip(unsure, view.find(normalised_errors), strict=True):
        # A span that occurs only inside words as it is written may be one word in another case; but not one or two
        # letters: "t" in "ist" does not mean the T of "T-Shirt".
        exact = locations[index].places
        inside_words = not any(on_word_boundaries(text, place) for place in exact)
        is_whole_word = alike.certain and inside_words and len(errors[index].text) > 2
        if not exact or alike.by_context or is_whole_word:
            locations[index] = alike._replace(places=tuple(map(view.original, alike.places)))
    return locations


def _normalised_error(error: ErrorSpan) -> ErrorSpan:
    """``error`` to be looked for in a normalised view, where its offsets mean nothing."""
    text, before, after = map(normalise, (error.text, error.before or "", error.after or ""))
    return error.model_copy(update={"text": text, "before": before, "after": after, "start": None, "end": None})


class View:
    """A text to search in. A normalised one knows the way back to the offsets of the original."""

    def __init__(self, text: str, starts: Sequence[int] = (), ends: Sequence[int] = ()) -> None:
        self.text, self._starts, self._ends = text, starts, ends
        self._places: dict[str, tuple[list[TextRange], list[TextRange]]] = {}

    def original(self, place: TextRange) -> TextRange:
        """``place`` in the text that this normalised one was made of: whole characters."""
        start = self._starts[place.start]
        return TextRange(start, start if place.start == place.end else self._ends[place.end - 1])

    def find(self, errors: Sequence[ErrorSpan]) -> list[Location]:
        """What each of ``errors`` may mean in this text."""
        contexts = [_with_context(error) for error in errors]
        needles = {error.text for error in errors}
        for context in contexts:
            needles.update(needle for needle, _ in context)
        starts = occurrences(self.text, needles)
        return [self._location(error, context, starts) for error, context in zip(errors, contexts, strict=True)]

    def _location(self, error: ErrorSpan, context: list[tuple[str, int]], starts: dict[str, list[int]]) -> Location:
        span = error.text
        if not span:
            return Location((), False, "the span is empty")
        if not self._starts and error.start is not None and self.text[error.start : error.end] == span:
            return Location((TextRange(error.start, error.start + len(span)),), True)
        if span not in self._places:  # worked out once for spans that come again
            everywhere, whole = [], []
            for start in starts[span]:
                place = TextRange(start, start + len(span))
                if self._is_aligned(place):
                    everywhere.append(place)
                    if on_word_boundaries(self.text, place):
                        whole.append(place)
            self._places[span] = everywhere, whole
        everywhere, whole = self._places[span]
        if not everywhere:
            return Location((), False, "the span is not in the text")
        hinted = self._by_context(span, context, starts)
        if len(hinted) == 1:
            return Location(tuple(hinted), True, by_context=True)
        if hinted:
            everywhere = hinted
            whole = [place for place in hinted if on_word_boundaries(self.text, place)]
        if len(whole) == 1 and len(starts[span]) < MOST_PLACES:
            return Location(tuple(whole), True)
        if whole:
            return Location(tuple(whole), False, f"the span stands in {len(whole)} places")
        if len(everywhere) == 1 and _is_stem(self.text, everywhere[0], error.suggestion):
            return Location(tuple(everywhere), True)
        why = "the span stands only inside words, and no context says it is meant"
        return Location(tuple(everywhere), False, why)

    def _by_context(self, span: str, context: list[tuple[str, int]], starts: dict[str, list[int]]) -> list[TextRange]:
        """The places with the context on both sides; if there are none, with the context on either.

        An edge inside a word counts only where the context on that side was found.
        """
        both, either = set[TextRange](), set[TextRange]()
        for needle, shift in context:
            has_left = shift > 0
            has_right = shift + len(span) < len(needle)
            places = both if has_left and has_right else either
            for needle_start in starts[needle]:
                start = needle_start + shift
                place = TextRange(start, start + len(span))
                if not has_left and inside_word(self.text, place.start):
                    continue
                if not has_right and inside_word(self.text, place.end):
                    continue
                if self._is_aligned(place):
                    places.add(place)
        return sorted(both or either)

    def _is_aligned(self, place: TextRange) -> bool:
        """Whether ``place`` cuts no character of the original: "ß" is "ss" in a normalised view, and no half of it."""
        if self._starts:
            for at in place:
                if at > 0 and self._starts[at] == self._starts[at - 1]:
                    return False
        return True


def _with_context(error: ErrorSpan) -> list[tuple[str, int]]:
    """The span joined with its context on both sides and on either, each with the span's offset in the needle.

    A model often leaves out the space between context and span, so both spellings are tried.
    """
    span = error.text
    befores = [error.before] if error.before and span else []
    afters = [error.after] if error.after and span else []
    if befores and not (befores[0][-1].isspace() or span[0].isspace()):
        befores.append(befores[0] + " ")
    if afters and not (afters[0][0].isspace() or span[-1].isspace()):
        afters.append(" " + afters[0])
    needles = []
    for before in befores:
        needles.append((before + span, len(before)))
        for after in afters:
            needles.append((before + span + after, len(before)))
    for after in afters:
        needles.append((span + after, 0))
    return needles


def occurrences(text: str, needles: Iterable[str]) -> dict[str, list[int]]:
    """Start offsets of every needle in ``text``, overlapping ones too, at most :data:`MOST_PLACES` each.

    Many needles are looked up in one pass over the text for each class of their lengths (1, 2, 4, 8), by the prefix at
    each offset. A needle that is full is not looked for any more.
    """
    places: dict[str, list[int]] = {needle: [] for needle in needles if needle}
    if len(places) * len(text) <= _FEW:
        for needle, starts in places.items():
            at = text.find(needle)
            while at >= 0 and len(starts) < MOST_PLACES:
                starts.append(at)
                at = text.find(needle, at + 1)
        return places
    classes: dict[int, dict[str, Counter[int]]] = {}
    for needle in places:
        size = min(8, 1 << (len(needle).bit_length() - 1))
        classes.setdefault(size, {}).setdefault(needle[:size], Counter())[len(needle)] += 1
    for size, prefixes in classes.items():
        for at in range(len(text) - size + 1):
            lengths = prefixes.get(text[at : at + size])
            if not lengths:
                continue
            for length in list(lengths):
                starts_here = places.get(text[at : at + length])
                if starts_here is None or at + length > len(text) or len(starts_here) == MOST_PLACES:
                    continue
                starts_here.append(at)
                if len(starts_here) == MOST_PLACES:
                    lengths[length] -= 1
                    if not lengths[length]:
                        del lengths[length]
    return places


# -- words and characters that are not cut

_JOINERS = frozenset("\u200c\u200d")
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_UNSPACED = regex.compile(f"[{UNSPACED}]")


def on_word_boundaries(text: str, place: TextRange) -> bool:
    """Whether neither edge of ``place`` lies inside a word; always true between letters of unspaced scripts."""
    return not (inside_word(text, place.start) or inside_word(text, place.end))


def inside_word(text: str, at: int) -> bool:
    """Whether a cut at ``at`` would tear a word, or a character that is made of several."""
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if unicodedata.category(right).startswith("M") or right in _SKIN_TONES or left in _JOINERS or right in _JOINERS:
        return True
    joined = _in_word(left) and _in_word(right)
    return joined and not (_UNSPACED.match(left) or _UNSPACED.match(right))


# Korean particles, alone and joined; a letter more or less may be another word (한국 in 한국어, 학생 in 대학생).
_PARTICLES = regex.compile(
    r"(?:까지|부터|에서|에게|한테|께서|으로|로서|로써|로|에|의|을|를|은|는|이|가|와|과|도|만|보다|처럼|마다|조차|마저|밖에|이나|나|이라고|라고|들)"
    r"(?:는|은|도|만|의|이|을|를|가|까지|부터)?(?![\w\p{M}])"
)
# Arabic clitics with the article, Hebrew ones of two letters or more: a single letter may belong to the word.
_CLITICS = regex.compile(
    r"(?<![\w\p{M}])(?:[وف]?+[بك]?+ال|[وف]?+لل|[\u05d5\u05e9\u05d4\u05d1\u05db\u05dc\u05de]{2,3}+)\Z"
)


def _is_stem(text: str, place: TextRange, suggestion: str | None) -> bool:
    """Whether ``place`` is a word without the Korean particle behind it, or the Arabic or Hebrew clitics before it.

    A ``suggestion`` that has the particle or the clitic itself would double it, and an empty one leave it alone.
    """
    if not suggestion:
        return False
    start, end = place
    if regex.fullmatch(r"\p{Hangul}{2,}", text[start:end]) and not inside_word(text, start):
        particle = _PARTICLES.match(text, end)
        if particle is None:
            return False
        beginnings = tuple(particle[0][:size] for size in range(1, len(particle[0]) + 1))
        return not suggestion.endswith(beginnings)
    if regex.fullmatch(r"[\p{Arabic}\p{Hebrew}]{3,}", text[start:end]) and not inside_word(text, end):
        clitics = _CLITICS.search(text, max(0, start - 8), start)
        if clitics is None:
            return False
        endings = tuple(clitics[0][start:] for start in range(len(clitics[0])))
        return not suggestion.startswith(endings)
    return False


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


# -- the normalised view

_LINE_BREAK = regex.compile(rf"[{LINE_BREAKS}]")
# White space within a line; a Hangul syllable in pieces, which NFC puts together; a character with its marks.
_CLUSTER = regex.compile(
    rf"[^\S{LINE_BREAKS}]++|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?+|[\uac00-\ud7a3][\u11a8-\u11c2]"
    r"|\P{M}\p{M}*+|\p{M}++"
)
_ALIKE = str.maketrans(dict.fromkeys("“”„‟«»″＂", '"') | dict.fromkeys("‘’‚‛′`´", "'") | dict.fromkeys("‐‑‒–—―−", "-"))


def normalised(text: str) -> View:
    """``text`` in NFC with plain spaces, quotes and dashes, and without case; keeps the way back to its offsets."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        piece = _normal(cluster.group())
        pieces.append(piece)
        starts += [cluster.start()] * len(piece)
        ends += [cluster.end()] * len(piece)
    starts.append(len(text))
    return View("".join(pieces), starts, ends)


def normalise(text: str) -> str:
    """``text`` as it reads in a normalised view."""
    return "".join(map(_normal, _CLUSTER.findall(text)))


def _normal(cluster: str) -> str:
    if cluster.isspace():
        return cluster if _LINE_BREAK.match(cluster) else " "
    return unicodedata.normalize("NFC", cluster).translate(_ALIKE).casefold()
