"""Where a span stands in a text: the one place it must mean, or a reason why that cannot be told.

Rules, in this order, first on the text itself and then on a normalised view of it: given offsets that match; the span
with its context; the only occurrence; the only occurrence on word boundaries. An occurrence inside a word never counts
without context, and nothing is guessed.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import regex

from mtagent.records import ErrorSpan

MOST_PLACES = 1_000  # a span that occurs more often is ambiguous; bounds the work on repetitive texts
_FEW = 20_000_000  # needles x characters up to which one search per needle is faster than one scan for all
_NO_SPACES = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]")
_WIDE_PUNCTUATION = regex.compile(r"[\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")
_BREAK = r"\n\x0b\x0c\r\x85\u2028\u2029"
_LINE_BREAK = regex.compile(rf"[{_BREAK}]")
# White space within a line; a Hangul syllable in pieces, which NFC puts together; a character with its marks.
_CLUSTER = regex.compile(
    rf"[^\S{_BREAK}]++|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?+|[\uac00-\ud7a3][\u11a8-\u11c2]"
    r"|\P{M}\p{M}*+|\p{M}++"
)
_JOINERS = frozenset("\u200c\u200d")
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
_ALIKE = str.maketrans(dict.fromkeys("“”„‟«»″＂", '"') | dict.fromkeys("‘’‚‛′`´", "'") | dict.fromkeys("‐‑‒–—―−", "-"))


class Place(NamedTuple):
    """Code points ``start`` to ``end`` (exclusive)."""

    start: int
    end: int


class Finding(NamedTuple):
    """The places that a span may mean; ``certain`` if it is one and means it. ``why`` explains what is not."""

    places: tuple[Place, ...]
    certain: bool
    why: str = ""
    by_context: bool = False


def find_spans(text: str, errors: Iterable[ErrorSpan]) -> list[Finding]:
    """Locate each error's ``text`` in ``text``, in time linear in the text and the number of errors."""
    errors = list(errors)
    findings = _View(text).find(errors)
    unsure = [i for i, finding in enumerate(findings) if not finding.certain]
    if unsure:
        view = normalised(text)
        again = view.find([_normalised_error(errors[i]) for i in unsure])
        for i, finding in zip(unsure, again, strict=True):
            if not findings[i].places or finding.by_context or _is_whole_word(text, errors[i], findings[i], finding):
                findings[i] = finding._replace(places=tuple(view.original(place) for place in finding.places))
    return findings


def _is_whole_word(text: str, error: ErrorSpan, exact: Finding, alike: Finding) -> bool:
    """Whether a span that stands only inside words as it is written is one word in another case.

    Not for one or two letters: "t" in "ist" does not mean the T of "T-Shirt".
    """
    inside = not any(on_word_boundaries(text, place) for place in exact.places)
    return alike.certain and inside and len(error.text) > 2


def occurrences(text: str, needles: Iterable[str]) -> dict[str, list[int]]:
    """Start offsets of every needle in ``text``, overlapping ones too, at most :data:`MOST_PLACES` each."""
    found: dict[str, list[int]] = {needle: [] for needle in needles if needle}
    if len(found) * len(text) <= _FEW:
        for needle, starts in found.items():
            at = text.find(needle)
            while at >= 0 and len(starts) < MOST_PLACES:
                starts.append(at)
                at = text.find(needle, at + 1)
        return found
    return _scan(text, found)


def _scan(text: str, found: dict[str, list[int]]) -> dict[str, list[int]]:
    """Fill ``found`` with one pass per class of needle lengths (1, 2, 4, 8), looking up the prefix at each offset."""
    classes: dict[int, dict[str, Counter[int]]] = {}
    for needle in found:
        size = min(8, 1 << (len(needle).bit_length() - 1))
        classes.setdefault(size, {}).setdefault(needle[:size], Counter())[len(needle)] += 1
    for size, prefixes in classes.items():
        for at in range(len(text) - size + 1):
            lengths = prefixes.get(text[at : at + size])
            if lengths:
                _note(text, at, lengths, found)
    return found


def _note(text: str, at: int, lengths: Counter[int], found: dict[str, list[int]]) -> None:
    """Note the needles that begin at ``at``; a needle that is full is not looked for any more."""
    for length in list(lengths):
        starts = found.get(text[at : at + length])
        if starts is not None and at + length <= len(text) and len(starts) < MOST_PLACES:
            starts.append(at)
            if len(starts) == MOST_PLACES:
                lengths[length] -= 1
                if not lengths[length]:
                    del lengths[length]


def on_word_boundaries(text: str, place: Place) -> bool:
    """Whether neither edge of ``place`` lies inside a word; always true between letters of unspaced scripts."""
    return not (_inside_word(text, place.start) or _inside_word(text, place.end))


def _inside_word(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if unicodedata.category(right).startswith("M") or right in _SKIN_TONES or left in _JOINERS or right in _JOINERS:
        return True
    joined = _in_word(left) and _in_word(right)
    return joined and not (_NO_SPACES.match(left) or _NO_SPACES.match(right))


def is_spaced(char: str) -> bool:
    """Whether a space may stand beside ``char``: not in scripts that write words without spaces, and in their marks."""
    return not (_NO_SPACES.match(char) or _WIDE_PUNCTUATION.match(char))


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


class _View:
    """A text to search in, and for a normalised one the way back to the original offsets."""

    def __init__(self, text: str, starts: list[int] | None = None, ends: list[int] | None = None) -> None:
        self.text, self._starts, self._ends = text, starts, ends
        self._places: dict[str, tuple[list[Place], list[Place]]] = {}

    def original(self, place: Place) -> Place:
        if self._starts is None or self._ends is None:
            return place
        if place.start == place.end:
            return Place(self._starts[place.start], self._starts[place.start])
        return Place(self._starts[place.start], self._ends[place.end - 1])

    def find(self, errors: list[ErrorSpan]) -> list[Finding]:
        needles = {needle for error in errors for needle in (error.text, *(n for n, _ in _with_context(error)))}
        found = occurrences(self.text, needles)
        return [self._find_one(error, found) for error in errors]

    def _find_one(self, error: ErrorSpan, found: dict[str, list[int]]) -> Finding:
        if self._starts is None and error.start is not None and error.end is not None:
            given = Place(error.start, error.end)
            if self.text[given.start : given.end] == error.text and error.text:
                return Finding((given,), True)
        if not error.text:
            return Finding((), False, "the span is empty")
        everywhere, whole = self._everywhere(error.text, found)
        if not everywhere:
            return Finding((), False, "the span is not in the text")
        hinted = self._by_context(error, found)
        if len(hinted) == 1:
            return Finding(tuple(hinted), True, by_context=True)
        if hinted:
            everywhere, whole = hinted, [place for place in hinted if on_word_boundaries(self.text, place)]
        if len(whole) == 1 and len(found[error.text]) < MOST_PLACES:
            return Finding(tuple(whole), True)
        if not whole:
            return Finding(
                tuple(everywhere), False, "the span stands only inside words, and no context says it is meant"
            )
        return Finding(tuple(whole), False, f"the span stands in {len(whole)} places")

    def _everywhere(self, span: str, found: dict[str, list[int]]) -> tuple[list[Place], list[Place]]:
        """All places of ``span``, and those on word boundaries; worked out once for spans that come again."""
        if span not in self._places:
            places = [place for at in found[span] if self._is_aligned(place := Place(at, at + len(span)))]
            self._places[span] = places, [place for place in places if on_word_boundaries(self.text, place)]
        return self._places[span]

    def _is_aligned(self, place: Place) -> bool:
        """Whether ``place`` cuts no character of the original: "ß" is "ss" in a normalised view, and no half of it."""
        if self._starts is None:
            return True
        return all(at == 0 or self._starts[at] != self._starts[at - 1] for at in place)

    def _by_context(self, error: ErrorSpan, found: dict[str, list[int]]) -> list[Place]:
        """The places that the most context agrees on; none if no context is found, or if its two sides disagree.

        An edge inside a word counts only where the context on that side was found.
        """
        both, either = set[Place](), set[Place]()
        for needle, shift in _with_context(error):
            left, right = shift > 0, len(needle) - shift > len(error.text)
            for at in found[needle]:
                place = Place(at + shift, at + shift + len(error.text))
                inside = (not left and _inside_word(self.text, place.start)) or (
                    not right and _inside_word(self.text, place.end)
                )
                if not inside and self._is_aligned(place):
                    (both if left and right else either).add(place)
        return sorted(both or either)


def _with_context(error: ErrorSpan) -> list[tuple[str, int]]:
    """The span joined with its context on both sides and on either, each with the span's offset in the needle.

    A model often leaves out the space between context and span, so both spellings are tried.
    """
    befores = _spellings(error.before, left=True, span=error.text)
    afters = _spellings(error.after, left=False, span=error.text)
    needles = [(before + error.text + after, len(before)) for before in befores for after in afters]
    needles += [(before + error.text, len(before)) for before in befores]
    needles += [(error.text + after, 0) for after in afters]
    return needles


def _spellings(context: str | None, *, left: bool, span: str) -> list[str]:
    if not context or not span:
        return []
    touching, edge = (context[-1], span[0]) if left else (context[0], span[-1])
    if touching.isspace() or edge.isspace():
        return [context]
    return [context, context + " " if left else " " + context]


def normalised(text: str) -> _View:
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
    return _View("".join(pieces), starts, ends)


def _normal(cluster: str) -> str:
    if cluster.isspace():
        return cluster if _LINE_BREAK.match(cluster) else " "
    return unicodedata.normalize("NFC", cluster).translate(_ALIKE).casefold()


def normalise(text: str) -> str:
    """``text`` as it reads in a normalised view."""
    return "".join(_normal(cluster) for cluster in _CLUSTER.findall(text))


def _normalised_error(error: ErrorSpan) -> ErrorSpan:
    """``error`` as it must look in a normalised view; offsets do not survive."""
    spelled = {field: normalise(value) for field in ("text", "before", "after") if (value := getattr(error, field))}
    return error.model_copy(update={**spelled, "start": None, "end": None})
