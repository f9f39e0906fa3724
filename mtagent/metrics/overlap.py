"""BLEU, chrF, chrF++ and TER as sacreBLEU computes them, and the distance between texts.

This module keeps the counts of each segment: systems and stages that share texts share the work, and a resampled corpus
is a sum of rows. Scores and signatures equal those of sacreBLEU to the last digit.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import sacrebleu
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

from mtagent import __version__
from mtagent.errors import ConfigError, MissingExtra
from mtagent.metrics import ter as tercom
from mtagent.metrics.protocol import Counts
from mtagent.records import Score, Segment

_BETA_SQUARED = 4


def bleu_scores(sums: Counts) -> Counts:
    """BLEU of rows ``[length, reference length, 4 × matches, 4 × n-grams]``."""
    ours, theirs, matches, ngrams = sums[:, 0], sums[:, 1], sums[:, 2:6], sums[:, 6:10]
    unmatched = (matches == 0) & (ngrams > 0)
    smoothed = np.where(unmatched, 0.5 ** np.cumsum(unmatched, axis=1), matches)
    precisions = _ratio(100 * smoothed, ngrams)
    with np.errstate(divide="ignore"):
        scores: Counts = np.exp(np.log(precisions).mean(axis=1))
        brevity = np.where(ours < theirs, np.exp(1 - _ratio(theirs, ours, empty=np.inf)), 1.0)
    return np.where(matches.any(axis=1), brevity * scores, 0.0)


def chrf_scores(sums: Counts) -> Counts:
    """chrF or chrF++ of rows that hold ``n-grams, reference n-grams, matches`` for each order."""
    ours, theirs, matches = sums.reshape(len(sums), -1, 3).transpose(2, 0, 1)
    counted = (ours > 0) & (theirs > 0)
    orders = counted.sum(axis=1)
    precision = _ratio((_ratio(matches, ours) * counted).sum(axis=1), orders)
    recall = _ratio((_ratio(matches, theirs) * counted).sum(axis=1), orders)
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
"""The first and the last version of sacreBLEU that the tests ran with. Its counts by segment have no public door, so
another version is refused rather than trusted."""
Pair = tuple[str, str]
_BLOCK = 100
"""Pairs counted at a time: sacreBLEU holds the n-grams of all references that it is given, 100 KB for a sentence."""
_MANY_TOKENIZED = 100
_SACREBLEU_TOKENIZERS = (Tokenizer13a, TokenizerRegexp, TercomTokenizer)


class Overlap:
    """One of sacreBLEU's metrics for one target language.

    ``tokenize`` is the tokenizer of BLEU, by default ``zh``, ``ja-mecab`` or ``ko-mecab`` for these languages and
    ``13a`` for others. ``asian`` is TER's treatment of Chinese and Japanese (characters as tokens, normalised
    punctuation), by default on for these two. Raises :class:`MissingExtra` if a tokenizer is not installed.
    """

    def __init__(self, name: Name, target_lang: str, *, tokenize: str | None = None, asian: bool | None = None) -> None:
        self.name = name
        self.higher_is_better = name != "ter"
        language = target_lang.replace("_", "-").partition("-")[0].casefold()
        self.tokenizer = tokenize or _TOKENIZERS.get(language, "13a")
        by_character = language in _BY_CHARACTER if asian is None else asian
        self._metric: Any = _sacrebleu(name, self.tokenizer, by_character)
        self._metric.num_refs = 1
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[Pair, int] = {}  # the place of a pair in ``_counts``
        self._counts: Counts = np.empty((0, 0))
        self._alone: dict[int, float] = {}  # by that place, the score of the pair
        self._remarks: dict[Pair, str] = {}

    def release(self) -> None:
        """Free the counts, and the caches of sacreBLEU's tokenizers."""
        self._forget()
        for tokenizer in _SACREBLEU_TOKENIZERS:
            if hasattr(tokenizer.__call__, "cache_clear"):
                tokenizer.__call__.cache_clear()

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """The score of ``translations`` as a corpus, and of each by itself. Every segment needs a reference."""
        return self.score_pairs(_pairs(segments, translations))

    def score_pairs(self, pairs: Sequence[Pair]) -> Score:
        """The same for pairs of a text and its reference."""
        counts = self._statistics(pairs)
        # Python's own numbers, as sacreBLEU has them: their arithmetic gives its last digit.
        whole = self._metric._compute_score_from_stats([int(count) for count in counts.sum(axis=0)])
        rows = [self._rows[pair] for pair in pairs]
        for row, own in zip(rows, counts, strict=True):
            if row not in self._alone:
                self._alone[row] = self._segment_score([int(count) for count in own])
        *parts, version = str(self._metric.get_signature()).split("|")
        signature = "|".join(
            [*parts, *sorted({self._remarks[pair] for pair in pairs if pair in self._remarks}), version]
        )
        return Score(
            metric=_LABELS[self.name],
            value=float(whole.score),
            segments=tuple(self._alone[row] for row in rows),
            signature=signature,
            segment_signature=signature.replace("|eff:no|", "|eff:yes|") if self.name == "bleu" else "",
            higher_is_better=self.higher_is_better,
            detail=whole._verbose,
        )

    def statistics(self, segments: Sequence[Segment], translations: Sequence[str]) -> Counts:
        """One row of counts per segment; rows add up. Shape: segments × counts."""
        return self._statistics(_pairs(segments, translations))

    def combined(self, sums: Counts) -> Counts:
        """The score of each row of summed counts."""
        return _FORMULAS[self.name](sums)

    def _statistics(self, pairs: Sequence[Pair]) -> Counts:
        """The rows of ``pairs``; new ones are counted block by block."""
        if not pairs:
            raise ConfigError("there is no segment to score")
        fresh = list(dict.fromkeys(pair for pair in pairs if pair not in self._rows))
        if self.name == "bleu" and sum(text.endswith(" .") for text, _ in fresh) >= _MANY_TOKENIZED:
            logging.getLogger("sacrebleu").warning(
                f"{_MANY_TOKENIZED} translations or more end in ' .': BLEU wants texts that are not tokenized"
            )
        blocks = [self._counts] if self._rows else []
        for at in range(0, len(fresh), _BLOCK):
            block = fresh[at : at + _BLOCK]
            if self.name == "ter":
                counts = [self._edits(pair) for pair in block]
            else:
                texts, references = zip(*block, strict=True)
                counts = self._metric._extract_corpus_statistics(texts, [references])
            blocks.append(np.array(counts, dtype=np.float64))
        if fresh:
            self._counts = np.concatenate(blocks)
            self._rows |= zip(fresh, range(len(self._rows), len(self._counts)), strict=True)
        return self._counts[[self._rows[pair] for pair in pairs]]

    def _edits(self, pair: Pair) -> tuple[int, int]:
        """The counts of TER: edits, and words of the reference."""
        text, reference = (self._metric._preprocess_segment(text).split() for text in pair)
        number, remark = tercom.edits(text, reference)
        if remark:
            self._remarks[pair] = remark
        return number, len(reference)

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
    if name != "bleu":
        return CHRF(word_order=2 if name == "chrf++" else 0)
    if tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(f"bleu: no tokenizer {tokenize!r}; there are: {', '.join(BLEU.TOKENIZERS)}")
    try:
        return BLEU(tokenize=tokenize, force=True)  # it would count tokenized texts anew in each block
    except RuntimeError:
        raise MissingExtra(f"BLEU's tokenizer {tokenize}", tokenize.partition("-")[0]) from None
    except ImportError:
        raise ConfigError(f"BLEU's tokenizer {tokenize} needs another package: pip install sentencepiece") from None
    except OSError as error:  # sacreBLEU fetches the vocabulary when it is needed first
        raise ConfigError(f"BLEU's tokenizer {tokenize}: its vocabulary cannot be fetched: {error}") from None


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
    lacking = next((segment.id for segment in segments if segment.reference is None), None)
    if lacking is not None:
        raise ConfigError(f"segment {lacking}: has no reference; BLEU, chrF and TER compare with one (-r FILE)")
    return [(text, segment.reference or "") for segment, text in zip(segments, translations, strict=True)]


def ter_to(befores: Sequence[str], afters: Sequence[str], target_lang: str, ter: Overlap | None = None) -> Score:
    """TER from ``befores`` to ``afters``: edits per 100 words of ``afters``.

    From a machine translation to its post-edit this is HTER (Snover et al. 2006). Pass the same ``ter`` again to reuse
    its counts.
    """
    return (ter or Overlap("ter", target_lang)).score_pairs(list(zip(befores, afters, strict=True)))


def characters_to(befores: Sequence[str], afters: Sequence[str]) -> Score:
    """The Levenshtein distance in characters: of each text, and summed.

    The signature says if a distance may be too high, as in very long texts with many changes
    (:func:`mtagent.metrics.ter.changes`).
    """
    changes = [tercom.changes(before, after) for before, after in zip(befores, afters, strict=True)]
    how = "levenshtein" if all(change.least for change in changes) else f"levenshtein|{tercom.REPLACED}"
    return Score(
        metric="characters",
        value=float(sum(change.number for change in changes)),
        segments=tuple(float(change.number) for change in changes),
        signature=f"{how}|agg:sum|version:{__version__}",
        higher_is_better=False,
    )
