"""BLEU, chrF, chrF++ and TER as sacreBLEU computes them, one pair of texts at a time and never twice.

This module keeps the counts of each segment, so that systems and stages that share texts share the work, and so that a
resampled corpus is a sum of rows. Scores and signatures are sacreBLEU's own, to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from mtagent.errors import ConfigError, MissingExtra
from mtagent.metrics import formulas, tercom
from mtagent.metrics.formulas import Counts
from mtagent.records import Score, Segment

Name = Literal["bleu", "chrf", "chrf++", "ter"]
NAMES: tuple[Name, ...] = ("bleu", "chrf", "chrf++", "ter")
_LABELS = {"bleu": "BLEU", "chrf": "chrF2", "chrf++": "chrF2++", "ter": "TER"}
_FORMULAS = {"bleu": formulas.bleu, "chrf": formulas.chrf, "chrf++": formulas.chrf, "ter": formulas.ter}
_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
_BY_CHARACTER = frozenset({"zh", "ja"})
Pair = tuple[str, str]


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
        self._metric: Any = _made(name, self.tokenizer, language in _BY_CHARACTER if asian is None else asian)
        self._metric.num_refs = 1
        self._counted: dict[Pair, Counts] = {}
        self._remarks: dict[Pair, str] = {}

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """The score of ``translations`` as a corpus, and of each alone. Every segment needs a reference."""
        counts = self.statistics(segments, translations)
        whole = self._metric._compute_score_from_stats(_plain(counts.sum(axis=0)))
        signature = self._signature(zip(translations, map(_reference, segments), strict=True))
        return Score(
            metric=_LABELS[self.name],
            value=float(whole.score),
            segments=tuple(map(self._of_segment, counts)),
            signature=signature,
            segment_signature=signature.replace("|eff:no|", "|eff:yes|") if self.name == "bleu" else "",
            higher_is_better=self.higher_is_better,
            detail=whole._verbose,
        )

    def statistics(self, segments: Sequence[Segment], translations: Sequence[str]) -> Counts:
        """One row of counts per segment; rows add up. Shape: segments × counts."""
        if not segments:
            raise ConfigError("there is no segment to score")
        pairs = [(text, _reference(segment)) for segment, text in zip(segments, translations, strict=True)]
        new = dict.fromkeys(pair for pair in pairs if pair not in self._counted)
        self._counted.update(zip(new, self._count(new), strict=True))
        return np.array([self._counted[pair] for pair in pairs])

    def combined(self, sums: Counts) -> Counts:
        """The score of each row of added-up counts."""
        return _FORMULAS[self.name](sums)

    def _count(self, pairs: Iterable[Pair]) -> list[Counts]:
        if isinstance(self._metric, TER):
            return [self._edits(pair) for pair in pairs]
        ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        rows = self._metric._extract_corpus_statistics(ours, [theirs]) if ours else []
        return [np.array(row, dtype=np.float64) for row in rows]

    def _edits(self, pair: Pair) -> Counts:
        """TER's counts: edits, and words of the reference."""
        ours, theirs = (self._metric._preprocess_segment(text).split() for text in pair)
        number, remark = tercom.edits(ours, theirs)
        if remark:
            self._remarks[pair] = remark
        return np.array([number, len(theirs)], dtype=np.float64)

    def _signature(self, pairs: Iterable[Pair]) -> str:
        """sacreBLEU's, with what is to be said of these ``pairs`` before the version."""
        remarks = sorted({self._remarks[pair] for pair in pairs if pair in self._remarks})
        *parts, version = str(self._metric.get_signature()).split("|")
        return "|".join([*parts, *remarks, version])

    def _of_segment(self, counts: Counts) -> float:
        """The score of one segment; BLEU then goes by the orders that the segment has (its effective order)."""
        values = _plain(counts)
        if isinstance(self._metric, BLEU):
            return float(BLEU.compute_bleu(
                correct=values[2:6], total=values[6:], sys_len=values[0], ref_len=values[1],
                smooth_method="exp", effective_order=True,
            ).score)  # fmt: skip
        return float(self._metric._compute_score_from_stats(values).score)


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
    """TER; ``asian`` for characters as words."""
    return Overlap("ter", target_lang, asian=asian)


def _plain(counts: Counts) -> list[int]:
    """``counts`` as sacreBLEU has them: Python's own numbers, whose arithmetic gives its last digit."""
    return [int(count) for count in counts]


def _made(name: Name, tokenize: str, asian: bool) -> BLEU | CHRF | TER:
    if name == "ter":
        return TER(asian_support=asian, normalized=asian)
    if name != "bleu":
        return CHRF(word_order=2 if name == "chrf++" else 0)
    if tokenize not in BLEU.TOKENIZERS:
        raise ConfigError(f"bleu: no tokenizer {tokenize!r}; there are: {', '.join(BLEU.TOKENIZERS)}")
    try:
        return BLEU(tokenize=tokenize)
    except RuntimeError:
        raise MissingExtra(f"BLEU's tokenizer {tokenize}", tokenize.partition("-")[0]) from None
    except ImportError:
        raise ConfigError(f"BLEU's tokenizer {tokenize} needs another package: pip install sentencepiece") from None
    except OSError as error:  # sacreBLEU fetches the vocabulary when it is needed first
        raise ConfigError(f"BLEU's tokenizer {tokenize}: its vocabulary cannot be fetched: {error}") from None


def _reference(segment: Segment) -> str:
    if segment.reference is None:
        raise ConfigError(f"segment {segment.id}: has no reference; BLEU, chrF and TER compare with one (-r FILE)")
    return segment.reference
