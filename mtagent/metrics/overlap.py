"""BLEU, chrF, chrF++ and TER as sacreBLEU computes them, one pair of texts at a time and never twice.

sacreBLEU counts; this module keeps the counts of each segment, so that systems and stages that share texts share the
work, and so that a resampled corpus is a sum of rows. Scores and signatures are sacreBLEU's own, to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mtagent.errors import ConfigError, MissingExtra
from mtagent.records import Score, Segment

Name = Literal["bleu", "chrf", "chrf++", "ter"]
NAMES: tuple[Name, ...] = ("bleu", "chrf", "chrf++", "ter")
Counts = NDArray[np.float64]
_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
_BY_CHARACTER = frozenset({"zh", "ja"})


class Overlap:
    """One of sacreBLEU's metrics for one target language.

    ``tokenize`` is BLEU's tokenizer; by default ``zh``, ``ja-mecab`` and ``ko-mecab`` for these languages and ``13a``
    for all others. ``asian`` is TER's treatment of Chinese and Japanese (characters as tokens, punctuation normalised),
    by default on for these two; the signature tells. Raises :class:`MissingExtra` where a tokenizer is not installed.
    """

    def __init__(self, name: Name, target_lang: str, *, tokenize: str | None = None, asian: bool | None = None) -> None:
        self.name = name
        self.higher_is_better = name != "ter"
        language = target_lang.replace("_", "-").partition("-")[0].casefold()
        self.tokenizer = tokenize or _TOKENIZERS.get(language, "13a")
        self._metric = _made(name, self.tokenizer, asian, language)
        self._counted: dict[tuple[str, str], Counts] = {}

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """The score of ``translations`` as a corpus, and of each alone. Every segment needs a reference."""
        counts = self.statistics(segments, translations)
        return Score(
            metric=self.name,
            value=float(self.combine(counts.sum(axis=0))),
            segments=tuple(float(self.combine(row, sentence=True)) for row in counts),
            signature=str(self._metric.get_signature()),
            higher_is_better=self.higher_is_better,
        )

    def statistics(self, segments: Sequence[Segment], translations: Sequence[str]) -> Counts:
        """One row of counts per segment; rows add up. Shape: segments × counts."""
        pairs = [
            (translation, _reference(segment)) for segment, translation in zip(segments, translations, strict=True)
        ]
        self._count({pair for pair in pairs if pair not in self._counted})
        return np.array([self._counted[pair] for pair in pairs])

    def combine(self, counts: Counts, *, sentence: bool = False) -> float:
        """The score of summed ``counts``; ``sentence`` as for one segment (BLEU then uses its effective order)."""
        metric: Any = self._metric
        if sentence and isinstance(metric, BLEU):
            n = metric.max_ngram_order
            return float(BLEU.compute_bleu(
                correct=[int(count) for count in counts[2 : 2 + n]], total=[int(count) for count in counts[2 + n :]],
                sys_len=int(counts[0]), ref_len=int(counts[1]), smooth_method="exp", effective_order=True,
            ).score)  # fmt: skip
        values = counts.tolist() if isinstance(metric, TER) else [int(count) for count in counts]
        return float(metric._compute_score_from_stats(values).score)

    def _count(self, pairs: set[tuple[str, str]]) -> None:
        if not pairs:
            return
        ordered = list(pairs)
        metric: Any = self._metric
        rows = metric._extract_corpus_statistics([t for t, _ in ordered], [[r for _, r in ordered]])
        self._counted.update(zip(ordered, (np.asarray(row, dtype=np.float64) for row in rows), strict=True))


def _made(name: Name, tokenize: str, asian: bool | None, language: str) -> BLEU | CHRF | TER:
    if name == "ter":
        by_character = language in _BY_CHARACTER if asian is None else asian
        return TER(asian_support=by_character, normalized=by_character)
    if name != "bleu":
        return CHRF(word_order=2 if name == "chrf++" else 0)
    try:
        return BLEU(tokenize=tokenize)
    except RuntimeError:
        raise MissingExtra(f"BLEU's tokenizer {tokenize}", tokenize.partition("-")[0]) from None


def _reference(segment: Segment) -> str:
    if segment.reference is None:
        raise ConfigError(f"segment {segment.id}: has no reference; BLEU, chrF and TER compare with one (-r FILE)")
    return segment.reference
