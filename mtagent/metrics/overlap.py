"""BLEU, chrF, chrF++ and TER, equal to sacreBLEU's, and the distance between texts.

This module keeps the counts of each segment: systems and stages that share texts share the work, and a resampled corpus
is a sum of rows. Scores and signatures equal sacreBLEU's to the last digit.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, count, takewhile
from math import ceil, floor
from typing import Any, Literal, NamedTuple

import numpy as np
import sacrebleu
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

from mtagent.errors import ConfigError, MissingExtra
from mtagent.metrics.protocol import Counts, SegmentWithReferences
from mtagent.records import Score, Segment
from mtagent.version import __version__

_BETA_SQUARED = 4


def bleu_scores(sums: Counts) -> Counts:
    """BLEU of rows ``[length, reference length, 4 × matches, 4 × n-grams]``."""
    lengths, reference_lengths = sums[:, 0], sums[:, 1]
    matches, ngrams = sums[:, 2:6], sums[:, 6:10]
    unmatched = (matches == 0) & (ngrams > 0)
    smoothed = np.where(unmatched, 0.5 ** np.cumsum(unmatched, axis=1), matches)
    precisions = _ratio(100 * smoothed, ngrams)
    with np.errstate(divide="ignore"):
        scores: Counts = np.exp(np.log(precisions).mean(axis=1))
        penalties = np.exp(1 - _ratio(reference_lengths, lengths, empty=np.inf))
        brevity = np.where(lengths < reference_lengths, penalties, 1.0)
    return np.where(matches.any(axis=1), brevity * scores, 0.0)


def chrf_scores(sums: Counts) -> Counts:
    """chrF or chrF++ of rows that hold ``n-grams, reference n-grams, matches`` for each order."""
    ngrams, reference_ngrams, matches = sums.reshape(len(sums), -1, 3).transpose(2, 0, 1)
    counted = (ngrams > 0) & (reference_ngrams > 0)
    orders = counted.sum(axis=1)
    precision = _ratio((_ratio(matches, ngrams) * counted).sum(axis=1), orders)
    recall = _ratio((_ratio(matches, reference_ngrams) * counted).sum(axis=1), orders)
    return 100 * _ratio((1 + _BETA_SQUARED) * precision * recall, _BETA_SQUARED * precision + recall)


def ter_scores(sums: Counts) -> Counts:
    """TER of rows ``[edits, reference length]``; 100 if there are edits and no reference."""
    edits, length = sums[:, 0], sums[:, 1]
    return 100 * np.where(length > 0, _ratio(edits, length), edits > 0)


def mean(sums: Counts) -> Counts:
    """The mean of rows ``[sum of scores, number of segments]``."""
    return _ratio(sums[:, 0], sums[:, 1])


def total(sums: Counts) -> Counts:
    """The sum of rows ``[sum]``."""
    return sums[:, 0]


def _ratio(numerator: Counts, denominator: Counts, empty: float = 0.0) -> Counts:
    ratio: Counts = np.divide(numerator, denominator, out=np.full(np.shape(numerator), empty), where=denominator > 0)
    return ratio


Name = Literal["bleu", "chrf", "chrf++", "ter"]
NAMES: tuple[Name, ...] = ("bleu", "chrf", "chrf++", "ter")
_LABELS = {"bleu": "BLEU", "chrf": "chrF2", "chrf++": "chrF2++", "ter": "TER"}
_FORMULAS = {"bleu": bleu_scores, "chrf": chrf_scores, "chrf++": chrf_scores, "ter": ter_scores}
_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
_BY_CHARACTER = frozenset({"zh", "ja"})
TESTED = ((2, 4), (2, 6))
"""The first and the last version of sacreBLEU that the tests ran with. Its counts by segment aren't public, so other
versions are refused."""
Pair = tuple[str, ...]
"""A text and its references, mostly one."""
_BLOCK = 100
"""Pairs counted at a time: sacreBLEU keeps the n-grams of all references of a call, 100 KB for a sentence."""
_MANY_TOKENIZED = 100
_CACHED_TOKENIZATIONS = 2**15
"""With more pairs, sacreBLEU's cache of 2**16 texts forgets a text before it is needed again."""
_SACREBLEU_TOKENIZERS = (Tokenizer13a, TokenizerRegexp, TercomTokenizer)


class Overlap:
    """One of sacreBLEU's metrics for one target language.

    ``tokenize`` is the tokenizer of BLEU, by default ``zh``, ``ja-mecab`` or ``ko-mecab`` for these languages and
    ``13a`` for others. ``asian`` is TER's treatment of Chinese and Japanese (characters as tokens, normalised
    punctuation), by default on for these two. Raises :class:`MissingExtra` if a tokenizer is not installed.
    """

    references = "several"

    def __init__(self, name: Name, target_lang: str, *, tokenize: str | None = None, asian: bool | None = None) -> None:
        self.name = name
        self.higher_is_better = name != "ter"
        language = target_lang.replace("_", "-").partition("-")[0].casefold()
        self.tokenizer = tokenize or _TOKENIZERS.get(language, "13a")
        if asian is None:
            asian = language in _BY_CHARACTER
        self._metric: Any = _sacrebleu(name, self.tokenizer, asian)
        self._has_warned = False  # of texts that are tokenized
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[Pair, int] = {}  # the row of a pair in ``_counts``
        self._counts: Counts = np.empty((0, 0))
        self._segment_scores: list[float] = []  # the score of each row of ``_counts``
        self._remarks: dict[Pair, str] = {}

    def release(self) -> None:
        """Free the counts, and the caches of sacreBLEU's tokenizers."""
        self._forget()
        _clear_tokenizers()
        _bands.cache_clear()

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """The score of ``translations`` as a corpus, and of each by itself. Every segment needs a reference."""
        return self.score_pairs(_pairs(segments, translations))

    def score_pairs(self, pairs: Sequence[Pair]) -> Score:
        """The same for pairs of a text and its reference, or of a text and several ones, as many for each text."""
        if not self._has_warned and self._is_tokenized(pair[0] for pair in pairs):
            self._warn_of_tokenized("")
        counts = self._statistics(pairs)
        self._metric.num_refs = len(pairs[0]) - 1
        # Python's own numbers, since sacreBLEU's last digit comes from their arithmetic.
        whole = self._metric._compute_score_from_stats(counts.sum(axis=0).tolist())
        rows = [self._rows[pair] for pair in pairs]
        for segment_counts in self._counts[len(self._segment_scores) :]:
            self._segment_scores.append(self._segment_score(segment_counts.tolist()))
        *parts, version = str(self._metric.get_signature()).split("|")
        remarks = {self._remarks[pair] for pair in pairs if pair in self._remarks}
        signature = "|".join([*parts, *sorted(remarks), version])
        segment_signature = ""
        if self.name == "bleu":  # the score of a segment uses its effective order
            segment_signature = signature.replace("|eff:no|", "|eff:yes|")
        return Score(
            metric=_LABELS[self.name],
            value=float(whole.score),
            segments=tuple(self._segment_scores[row] for row in rows),
            signature=signature,
            segment_signature=segment_signature,
            higher_is_better=self.higher_is_better,
            detail=whole._verbose,
        )

    def warn_of_tokenized(self, texts: Mapping[str, Sequence[str]]) -> None:
        """Warn once, with their names, of the ``texts`` that BLEU should not get because they are tokenized."""
        names = [name for name, translations in texts.items() if self._is_tokenized(translations)]
        if names:
            self._warn_of_tokenized(f"{', '.join(names)}: ")

    def _is_tokenized(self, translations: Iterable[str]) -> bool:
        return self.name == "bleu" and sum(text.endswith(" .") for text in translations) >= _MANY_TOKENIZED

    def _warn_of_tokenized(self, prefix: str) -> None:
        self._has_warned = True
        logging.getLogger("sacrebleu").warning(
            f"{prefix}{_MANY_TOKENIZED} translations or more end in ' .': BLEU wants texts that are not tokenized"
        )

    def statistics(self, segments: Sequence[Segment], translations: Sequence[str]) -> Counts:
        """One row of counts per segment; rows add up. Shape: segments × counts."""
        return self._statistics(_pairs(segments, translations))

    def combined(self, sums: Counts) -> Counts:
        """The score of each row of summed counts."""
        return _FORMULAS[self.name](sums)

    def count(self, segments: Sequence[Segment], systems: Sequence[Sequence[str]]) -> None:
        """Count the texts of all ``systems`` segment by segment, so that each reference is read only once."""
        pairs_by_system = [_pairs(segments, translations) for translations in systems]
        self._count(chain.from_iterable(zip(*pairs_by_system, strict=True)))

    def _statistics(self, pairs: Sequence[Pair]) -> Counts:
        """The rows of ``pairs``."""
        if not pairs:
            raise ConfigError("there are no segments to score")
        self._count(pairs)
        return self._counts[[self._rows[pair] for pair in pairs]]

    def _count(self, pairs: Iterable[Pair]) -> None:
        """Count the new ones of ``pairs``, block by block."""
        new_pairs = list(dict.fromkeys(pair for pair in pairs if pair not in self._rows))
        blocks = []
        if self._rows:
            blocks.append(self._counts)
        for at in range(0, len(new_pairs), _BLOCK):
            block = new_pairs[at : at + _BLOCK]
            counts: list[Any] = []
            if self.name == "ter":
                for pair in block:
                    counts.append(self._ter_counts(pair))
            else:
                counts = self._ngram_counts(block)
            # The mean length of several references need not be a whole number.
            is_whole = self.name != "ter" or len(block[0]) == 2
            blocks.append(np.array(counts, dtype=np.int32 if is_whole else np.float64))
            if len(new_pairs) > _CACHED_TOKENIZATIONS:
                _clear_tokenizers()
        if new_pairs:
            self._counts = np.concatenate(blocks)
            self._rows |= zip(new_pairs, range(len(self._rows), len(self._counts)), strict=True)

    def _ngram_counts(self, pairs: Sequence[Pair]) -> list[list[int]]:
        """The counts of BLEU or chrF for each pair."""
        ngrams: dict[Pair, Any] = {}  # of the references
        counts = []
        for text, *references in pairs:
            key = tuple(references)
            if key not in ngrams:
                (ngrams[key],) = self._metric._cache_references([[reference] for reference in references])
            words = self._metric._preprocess_segment(text)
            counts.append(self._metric._compute_segment_statistics(words, ngrams[key]))
        return counts

    def _ter_counts(self, pair: Pair) -> tuple[int, float]:
        """The edits to the nearest reference, and the mean number of words of the references."""
        words = self._metric._preprocess_segment(pair[0]).split()
        fewest: int | None = None
        length = 0
        for reference in pair[1:]:
            reference_words = self._metric._preprocess_segment(reference).split()
            number, remark = edits(words, reference_words)
            if remark:
                self._remarks[pair] = remark
            fewest = number if fewest is None else min(fewest, number)
            length += len(reference_words)
        assert fewest is not None
        return fewest, length / (len(pair) - 1)

    def _segment_score(self, counts: list[int]) -> float:
        """The score of one segment; BLEU then uses only the n-gram orders that the segment has (effective order)."""
        if self.name != "bleu":
            return float(self._metric._compute_score_from_stats(counts).score)
        return float(BLEU.compute_bleu(
            correct=counts[2:6], total=counts[6:], sys_len=counts[0], ref_len=counts[1],
            smooth_method="exp", effective_order=True,
        ).score)  # fmt: skip


def bleu(target_lang: str, *, tokenize: str | None = None) -> Overlap:
    """BLEU with one of sacreBLEU's tokenizers."""
    return Overlap("bleu", target_lang, tokenize=tokenize)


def chrf(target_lang: str) -> Overlap:
    """chrF."""
    return Overlap("chrf", target_lang)


def chrf_plus_plus(target_lang: str) -> Overlap:
    """chrF++."""
    return Overlap("chrf++", target_lang)


def ter(target_lang: str, *, asian: bool | None = None) -> Overlap:
    """TER; ``asian`` counts characters as words."""
    return Overlap("ter", target_lang, asian=asian)


def _sacrebleu(name: Name, tokenize: str, asian: bool) -> BLEU | CHRF | TER:
    """sacreBLEU's metric. Raises :class:`ConfigError` if something is missing."""
    refuse_untested(sacrebleu.__version__)
    if name == "ter":
        return TER(asian_support=asian, normalized=asian)
    if name == "chrf":
        return CHRF(word_order=0)
    if name == "chrf++":
        return CHRF(word_order=2)
    if tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(f"bleu: unknown tokenizer {tokenize!r}; choose one of: {', '.join(BLEU.TOKENIZERS)}")
    try:
        return BLEU(tokenize=tokenize, force=True)  # otherwise it looks for tokenized texts in each block, and warns
    except RuntimeError:
        raise MissingExtra(f"BLEU's tokenizer {tokenize}", tokenize.partition("-")[0]) from None
    except ImportError:
        raise ConfigError(f"BLEU's tokenizer {tokenize} needs another package: pip install sentencepiece") from None
    except OSError as error:  # sacreBLEU downloads the vocabulary on first use
        raise ConfigError(f"BLEU's tokenizer {tokenize}: its vocabulary cannot be fetched: {error}") from None


def _clear_tokenizers() -> None:
    """Free the tokenized texts that sacreBLEU's tokenizers keep."""
    for tokenizer in _SACREBLEU_TOKENIZERS:
        if hasattr(tokenizer.__call__, "cache_clear"):
            tokenizer.__call__.cache_clear()


def refuse_untested(version: str) -> None:
    """Raise :class:`ConfigError` for a version of sacreBLEU outside :data:`TESTED`."""
    first, last = TESTED
    number = re.match(r"(\d+)\.(\d+)", version)
    if number is None or not first <= (int(number[1]), int(number[2])) <= last:
        raise ConfigError(
            f"sacreBLEU {version} is not one of the versions that this mtagent is tested with: "
            f"pip install 'sacrebleu>={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}'"
        )


def _pairs(segments: Sequence[Segment], translations: Sequence[str]) -> list[Pair]:
    pairs = []
    for segment, translation in zip(segments, translations, strict=True):
        if segment.reference is None:
            raise ConfigError(f"segment {segment.id}: has no reference; BLEU, chrF and TER compare with one (-r FILE)")
        more_references = segment.more_references if isinstance(segment, SegmentWithReferences) else ()
        pairs.append((translation, segment.reference, *more_references))
    return pairs


def ter_to(befores: Sequence[str], afters: Sequence[str], target_lang: str, ter: Overlap | None = None) -> Score:
    """TER from ``befores`` to ``afters``: edits per 100 words of ``afters``.

    From a machine translation to its post-edit this is HTER (Snover et al. 2006). Pass the same ``ter`` again to reuse
    its counts.
    """
    return (ter or Overlap("ter", target_lang)).score_pairs(list(zip(befores, afters, strict=True)))


def characters_to(befores: Sequence[str], afters: Sequence[str]) -> Score:
    """The Levenshtein distance in characters: per text, and their sum.

    The signature notes if a distance may be too high, which happens in very long texts with many changes
    (:func:`changes`).
    """
    distances = [changes(before, after) for before, after in zip(befores, afters, strict=True)]
    method = "levenshtein"
    if not all(distance.least for distance in distances):
        method = f"levenshtein|{REPLACED}"
    numbers = [distance.number for distance in distances]
    return Score(
        metric="characters",
        value=float(sum(numbers)),
        segments=tuple(map(float, numbers)),
        signature=f"{method}|agg:sum|version:{__version__}",
        higher_is_better=False,
    )


# TER: the edits from one text to another, exactly as sacreBLEU counts them

MOST_COMPARED = 10**10
"""The product of the lengths of two texts up to which any distance is computed, in half a second."""
MOST_CHANGES = 20_000
"""For longer texts: the largest distance that is computed."""
REPLACED = "long:replaced"
"""Marks a signature if a distance isn't the least one."""
_HINT = 64  # rapidfuzz's first guess, which it raises as needed: similar texts are compared much faster


class Changes(NamedTuple):
    """How many items were inserted, deleted or substituted."""

    number: int
    least: bool = True
    """Whether the number is the minimum."""


def changes(before: Sequence[object], after: Sequence[object]) -> Changes:
    """The Levenshtein distance of two texts.

    If it is above :data:`MOST_CHANGES` in texts beyond :data:`MOST_COMPARED`, everything between the first and the last
    difference counts as replaced.
    """
    if before == after:
        return Changes(0)
    if len(before) * len(after) <= MOST_COMPARED:
        return Changes(Levenshtein.distance(before, after, score_hint=_HINT))
    distance = Levenshtein.distance(before, after, score_cutoff=MOST_CHANGES, score_hint=_HINT)
    if distance <= MOST_CHANGES:
        return Changes(distance)
    start = _common(before, after)
    rest = min(len(before), len(after)) - start
    end = min(rest, _common(before[::-1], after[::-1]))
    return Changes(max(len(before), len(after)) - start - end, least=False)


def _common(text: Sequence[object], other: Sequence[object]) -> int:
    """The length of the common beginning of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))


MOST_SHIFTED, MOST_DISTANT, BEAM, MOST_TRIED = 10, 50, 25, 1000
"""Words in a shift, words that it may cross, half the width of the band, and shifts tried for one sentence."""
MOST_WORDS = 20_000
"""No shifts are tried in texts with more words; sacreBLEU would need a matrix of 3 GB for such a text."""
NO_SHIFTS = "long:noshifts"
"""Marks a signature if no shifts were tried."""


class _Shift(NamedTuple):
    """Move ``length`` words from ``start`` to before word ``target``."""

    start: int
    length: int
    target: int


class _Band(NamedTuple):
    """The part of a row of the matrix that is computed."""

    first: int
    """The first column."""
    end: int
    """The column after the last one."""
    lowest: int
    """The bit of the first column of letters."""
    inside: int
    """The bits of all columns."""


class _MatrixRow(NamedTuple):
    """A row of the matrix of edit distances, as bits: bit j - 1 is about column j of the band.

    Neighbours in a matrix of edit distances differ by at most 1, so a row is computed by a dozen operations on whole
    integers (Myers 1999, in the form of Hyyrö 2003).
    """

    band: _Band
    higher: int
    """The columns whose cost is 1 higher than that of the column before."""
    lower: int
    """The columns whose cost is 1 lower."""
    diagonal: int
    """The columns that can be reached from the row above and the column before, by a match or a substitution."""
    down: int
    """The columns that can be reached from the row above, by a deletion."""


_Rank = tuple[int, int, int]
_Matrix = list[_MatrixRow]


class _Alignment(NamedTuple):
    """The alignment of the reference's words with the translation's."""

    distance: int
    """The edits without shifts."""
    places: list[int]
    """For each word of the reference, its position in the translation."""
    wrong_reference: list[int]
    """For each position in the reference, how many words before it are errors."""
    wrong_translation: list[int]
    """The same for the translation."""


class Edits(NamedTuple):
    """The number of edits."""

    number: int
    remark: str = ""
    """For the signature, if shifts weren't tried or the number may not be the least one."""


def edits(translation: Sequence[str], reference: Sequence[str]) -> Edits:
    """The edits that turn the words of ``translation`` into the words of ``reference``.

    In texts of more than :data:`MOST_WORDS` words shifts aren't tried, which the remark states.
    """
    if not reference:
        return Edits(len(translation))
    if translation == reference:
        return Edits(0)
    if max(len(translation), len(reference)) > MOST_WORDS:
        number, least = changes(translation, reference)
        if least:
            return Edits(number, NO_SHIFTS)
        return Edits(number, REPLACED)
    return Edits(_with_shifts(translation, reference))


def _with_shifts(translation: Sequence[str], reference: Sequence[str]) -> int:
    # Each word as one character, so that words are compared as fast as characters.
    letters: defaultdict[str, str] = defaultdict(map(chr, count(1)).__next__)
    text = "".join(letters[word] for word in translation)
    reference = "".join(letters[word] for word in reference)
    distance = Levenshtein.distance(text, reference, score_cutoff=1)
    if distance <= 1:
        return distance  # a shift would be an edit, too
    tried = shifts = 0
    rows = _rows(text, reference, [])
    alignment = _aligned(text, reference, rows)
    while True:
        possible = list(_shifts(text, reference, alignment, tried))
        tried += len(possible)
        if tried >= MOST_TRIED:
            break
        better = _best(text, reference, possible, rows, alignment.distance)
        if better is None:
            break
        shifts += 1
        text, rows, alignment = better
    return shifts + alignment.distance


def _best(
    text: str, reference: str, possible: list[_Shift], rows: _Matrix, now: int
) -> tuple[str, _Matrix, _Alignment] | None:
    """The text after the best shift, its matrix and alignment; ``None`` if no shift makes the distance less than
    ``now``.

    The best shift leaves the smallest distance; of equal ones the longest, then the first, then the one that moves
    farthest to the front.
    """
    candidates: list[tuple[int, _Rank, _Shift]] = []
    for shift in possible:
        least = Levenshtein.distance(_shifted(text, shift), reference, score_cutoff=now - 1)
        if least < now:
            candidates.append((least, (-shift.length, shift.start, shift.target), shift))
    best: tuple[int, _Rank, str, _Matrix, _Alignment] | None = None
    for at_least, rank, shift in sorted(set(candidates)):
        if best is not None and (at_least, rank) > best[:2]:
            break  # neither this one nor those after it can be better
        shifted = _shifted(text, shift)
        matrix = _rows(shifted, reference, rows[: min(shift.start, shift.target) + 1])
        alignment = _aligned(shifted, reference, matrix)
        distance = alignment.distance
        if distance < now and (best is None or (distance, rank) < best[:2]):
            best = (distance, rank, shifted, matrix, alignment)
    if best is None:
        return None
    return best[2:]


def _shifted(text: str, shift: _Shift) -> str:
    start, length, target = shift
    moved, rest = text[start : start + length], text[:start] + text[start + length :]
    # A target inside the shifted words counts from their start, any other from the start of the text.
    at = target
    if target > start + length:
        at -= length
    return rest[:at] + moved + rest[at:]


def _shifts(text: str, reference: str, alignment: _Alignment, tried: int) -> Iterator[_Shift]:
    """All shifts that sacreBLEU tries, in its order, up to the run of words that reaches its limit."""
    _, places, wrong_reference, wrong_translation = alignment
    for start, there, length in _common_runs(text, reference, wrong_translation):
        if wrong_reference[there + length] == wrong_reference[there]:
            continue
        if start <= places[there] < start + length:
            continue  # they would move into themselves
        previous = -1
        for at in range(there - 1, there + length):
            target = 0
            if at >= 0:
                target = places[at] + 1
            if target != previous:
                previous = target
                tried += 1
                yield _Shift(start, length, target)
        if tried >= MOST_TRIED:
            return


def _common_runs(text: str, reference: str, wrong: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Runs of equal words, as (start in the text, start in the reference, length), shorter ones first.

    ``wrong`` has, for each position in the text, how many words before it are errors; runs without any are left out.
    """
    where: defaultdict[str, list[int]] = defaultdict(list)
    for there, letter in enumerate(reference):
        where[letter].append(there)
    for start, letter in enumerate(text):
        if wrong[start] == wrong[min(start + MOST_SHIFTED, len(text))]:
            continue
        places = where.get(letter, [])
        near = slice(bisect_left(places, start - MOST_DISTANT), bisect_right(places, start + MOST_DISTANT))
        for there in places[near]:
            longest = min(len(text) - start, len(reference) - there, MOST_SHIFTED)
            for length in range(1, longest + 1):
                if text[start + length - 1] != reference[there + length - 1]:
                    break
                if wrong[start + length] > wrong[start]:
                    yield start, there, length


def _rows(text: str, reference: str, known: _Matrix) -> _Matrix:
    """The matrix of edit distances between all beginnings of both texts, within a band around its diagonal.

    ``known`` holds its first rows, from a text of the same length with the same beginning.
    """
    columns = defaultdict[str, int](int)
    for column, letter in enumerate(reference):
        columns[letter] |= 1 << column
    width = len(reference)
    rows = [*known] or [_MatrixRow(_Band(0, width + 1, 1, (1 << width) - 1), (1 << width) - 1, 0, 0, 0)]
    row = rows[-1]
    for letter, band in zip(text[len(rows) - 1 :], _bands(len(text), width)[len(rows) - 1 :], strict=True):
        row = _row(row, columns[letter], band)
        rows.append(row)
    return rows


@lru_cache(maxsize=1)  # shifts keep the length of a text
def _bands(rows: int, width: int) -> list[_Band]:
    """The band of each row but the first: sacreBLEU's."""
    ratio = width / rows if rows else 1.0
    beam = BEAM
    if ratio / 2 > BEAM:
        beam = ceil(ratio / 2 + BEAM)
    bands = []
    for i in range(1, rows + 1):
        middle = floor(i * ratio)
        first, end = max(0, middle - beam), min(width + 1, middle + beam)
        if i == rows:
            end = width + 1  # the last row reaches the last column, whose cost is the distance
        lowest = 1 << max(0, first - 1)
        bands.append(_Band(first, end, lowest, (1 << (end - 1)) - lowest))
    return bands


def _row(above: _MatrixRow, same: int, band: _Band) -> _MatrixRow:
    """The next row; ``same`` has the columns with its letter.

    What lies outside the band can't be the cheapest way to anywhere: each neighbour out there gets the lowest cost with
    which it is not.
    """
    first, end, lowest, inside = band
    same &= inside
    higher, lower = above.higher & inside, above.lower & inside
    if first > 0 and first == above.band.first:  # nothing is above the column before
        higher &= ~lowest
        lower |= lowest
        same &= ~lowest
    beyond = 0  # the columns with nothing above them, and nothing above the column before
    if end > above.band.end:
        new = (1 << (end - 1)) - (1 << (above.band.end - 1))
        higher |= new
        beyond = new & (new - 1)
        same &= ~beyond
    level = ((((same & higher) + higher) ^ higher) | same | lower) & inside  # as in the row above, a column before
    down = lower | (inside & ~(level | higher))
    below_higher = ((down << 1) | lowest) & inside
    below_lower = ((level & higher) << 1) & inside
    diagonal = (level & same) | (inside & ~(level | same | beyond))
    return _MatrixRow(band, below_lower | (inside & ~(level | below_higher)), level & below_higher, diagonal, down)


def _aligned(text: str, reference: str, rows: _Matrix) -> _Alignment:
    """Read the matrix from its end: a match or substitution goes before a deletion, and that before an insertion."""
    places, wrong_reference, wrong_translation = [-1] * len(reference), [0] * len(reference), [1] * len(text)
    i, j = len(text), len(reference)
    distance = 0
    while j:
        column = 1 << (j - 1)
        row = rows[i]
        if row.diagonal & column:
            i, j = i - 1, j - 1
            is_wrong = int(text[i] != reference[j])
            places[j], wrong_reference[j], wrong_translation[i] = i, is_wrong, is_wrong
            distance += is_wrong
        elif row.down & column:
            i -= 1
            distance += 1
        else:
            j -= 1
            places[j], wrong_reference[j] = i - 1, 1
            distance += 1
    return _Alignment(distance + i, places, [0, *accumulate(wrong_reference)], [0, *accumulate(wrong_translation)])
