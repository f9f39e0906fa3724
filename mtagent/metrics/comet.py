"""The COMET family of metrics: COMET, CometKiwi and XCOMET, which run in a process of their own.

COMET pins old versions of many packages, so the process may run under the Python of another environment
(``python=``, ``--comet-python``, ``MTAGENT_COMET_PYTHON``); without such it runs under this one, by the same code.
Rei et al. 2020, 2022 (COMET, CometKiwi); Guerreiro et al. 2024 (XCOMET).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mtagent import __version__
from mtagent.errors import ConfigError, MetricError
from mtagent.metrics.comet_models import USUAL, CometModel, Gpus, Texts
from mtagent.records import Score, Segment
from mtagent.records.ratings import UNIT_DIGITS


class Comet:
    """Scores with a COMET model. The score of all segments is the mean of theirs; most models go from 0 to 1.

    The model is loaded at the first :meth:`score` and kept for the next ones, until :meth:`release`, and so is what it
    said: equal texts are scored once, and get the very same score. ``comet_python`` is what ``python`` is by default.
    Raises :class:`mtagent.errors.MissingExtra` where no COMET is in reach.
    """

    higher_is_better = True

    def __init__(
        self,
        name: str,
        label: str,
        comet_python: Path | None = None,
        *,
        model: str | None = None,
        python: Path | None = None,
        batch_size: int | None = None,
        gpus: Gpus = "0",
        timeout: float | None = None,
    ) -> None:
        self.name, self._label = name, label
        self._model = CometModel(
            model or USUAL[name], python=python or comet_python, batch_size=batch_size, gpus=gpus, timeout=timeout
        )
        self._known: dict[Texts, float] = {}

    @property
    def licence(self) -> str:
        """The licence of the model."""
        return self._model.licence

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """Score ``translations``, empty ones like any other.

        Raises :class:`ConfigError` where sources, references or the model itself are missing, and
        :class:`MetricError` where a segment has no finite score.
        """
        if not any(segment.source.strip() for segment in segments):
            raise ConfigError(f"{self.name} compares translations with their sources, and there are none: add -s FILE")
        compares = self._model.compares(segments)
        texts = [
            Texts(segment.source, translation, segment.reference if compares else None)
            for segment, translation in zip(segments, translations, strict=True)
        ]
        self._learn(segments, texts)
        values = tuple(self._known[one] for one in texts)
        parts = [*self._model.signed(), f"refs:{compares:d}", "agg:mean", f"version:{__version__}"]
        return Score(
            metric=self._label,
            value=math.fsum(values) / len(values),
            segments=values,
            signature="|".join(parts),
            digits=UNIT_DIGITS,
        )

    def release(self) -> None:
        """Let go of the model; it is loaded again where another text is to be scored."""
        self._model.release()

    def _learn(self, segments: Sequence[Segment], texts: Sequence[Texts]) -> None:
        """Have what is not known yet scored, each of equal texts once."""
        fresh = {one: segment for one, segment in zip(texts, segments, strict=True) if one not in self._known}
        found = self._model.predict([*fresh])
        for (one, segment), prediction in zip(fresh.items(), found, strict=True):
            if not math.isfinite(prediction.score):
                given = f"{self._model.name} gave the score {prediction.score}"
                raise MetricError(f"segment {segment.id}: {given}; every segment needs one")
            self._known[one] = prediction.score


comet = partial(Comet, "comet", "COMET")
cometkiwi = partial(Comet, "cometkiwi", "COMETKiwi")
xcomet = partial(Comet, "xcomet", "XCOMET")
