"""How sure HiMATE's agents are, and the calibrated confidence below which their findings are discussed.

A confidence is the logarithm of a probability, ≤ 0: the sum of a reply's token log-probabilities, or the logarithm of
the percentage that the model names. The threshold is a percentile of the confidences on development data (HiMATE,
appendix D: the 60th), another one for each model and language pair. It is kept in a file in the data folder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import Field, ValidationError

from mtagent.errors import ConfigError, OutputError
from mtagent.formats.files import replacing
from mtagent.records import Completion, Record
from mtagent.store.database import make_private_folder

Kind = Literal["logprobs", "verbal"]
FOLDER = "himate"
PERCENTILE = 60.0


def of_tokens(completion: Completion) -> float | None:
    """The sum of a reply's token log-probabilities; ``None`` where the server gave none."""
    return math.fsum(token.logprob for token in completion.logprobs) if completion.logprobs else None


def of_percent(percent: float) -> float:
    """The logarithm of a percentage; less than 1 % counts as 1 %, because 0 has no logarithm."""
    return math.log(max(percent, 1.0) / 100)


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which ``percent`` of ``values`` lie, interpolated between neighbours ("linear" in numpy)."""
    ranked = sorted(values)
    place = (len(ranked) - 1) * percent / 100
    low = math.floor(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (ranked[high] - ranked[low]) * (place - low)


class ConfidenceThreshold(Record):
    """A threshold and where it comes from: ``n`` confidences between ``smallest`` and ``largest``.

    ``prompts`` names the prompts that they were asked with, ``segments`` the segments read, ``failed`` those of them
    that gave none because something went wrong.
    """

    model: str
    pair: str
    threshold: float
    percentile: float = Field(ge=0, le=100)
    n: int
    smallest: float
    largest: float
    confidence: Kind
    prompts: str
    segments: int
    failed: int = 0

    @property
    def signature(self) -> str:
        """Its part of a rating's signature: ``-0.12(zh-en,p60,n=180)``."""
        return f"{self.threshold:.6g}({self.pair},p{self.percentile:g},n={self.n})"

    @property
    def way_out(self) -> str:
        """The command that repeats the calibration."""
        return command(self.model, self.pair)

    def refuse_other_prompts(self, prompts: str) -> None:
        """Raise :class:`ConfigError` unless the confidences were asked for with ``prompts``."""
        if self.prompts != prompts:
            raise ConfigError(
                f"the threshold for {self.model} and {self.pair} was calibrated with other prompts "
                f"({self.prompts}, now {prompts}); calibrate again: {self.way_out}"
            )

    def refuse_other_kind(self, kind: Kind) -> None:
        """Raise :class:`ConfigError` unless the confidences are of ``kind``."""
        if self.confidence != kind:
            raise ConfigError(
                f"the threshold for {self.model} and {self.pair} is one for {_NAMES[self.confidence]}, but there are "
                f"{_NAMES[kind]} (confidence={kind}); rate with himate:confidence={self.confidence}, "
                f"or calibrate again: {self.way_out} --confidence {kind}"
            )


_NAMES: dict[Kind, str] = {"logprobs": "log-probabilities", "verbal": "confidences in words"}


def command(model: str, pair: str) -> str:
    """The command that calibrates ``model`` for ``pair``, from a checkout."""
    return f"python -m wmt.himate_threshold -s DEV.src -t DEV.tgt -l {pair} --model {model}"


def file_of(folder: Path, model: str, pair: str, kind: Kind = "logprobs") -> Path:
    """Where the calibration of ``model`` for ``pair`` is kept in the data ``folder``, each kind of confidence apart."""
    ending = "json" if kind == "logprobs" else f"{kind}.json"
    return folder / FOLDER / f"{pair}.{quote(model, safe='')}.{ending}"


def read(folder: Path, model: str, pair: str, kind: Kind = "logprobs") -> ConfidenceThreshold | None:
    """The calibration of ``model`` for ``pair``; one of ``kind`` is preferred to one of the other kind.

    ``None`` where there is none. Raises :class:`ConfigError`.
    """
    other: Kind = "verbal" if kind == "logprobs" else "logprobs"
    for preferred in (kind, other):
        path = file_of(folder, model, pair, preferred)
        if path.is_file():
            return _read(path)
    return None


def keep(calibration: ConfidenceThreshold, folder: Path) -> Path:
    """Write a calibration where :func:`read` finds it, and return the path."""
    path = file_of(folder, calibration.model, calibration.pair, calibration.confidence)
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise OutputError(f"{path.parent}: cannot be made: {(error.strerror or str(error)).lower()}") from error
    write(calibration, path)
    return path


def write(calibration: ConfidenceThreshold, path: Path) -> None:
    """Write a calibration, replacing a former one. Raises :class:`OutputError`."""
    with replacing(path) as sink:
        sink.write(calibration.model_dump_json(indent=1) + "\n")


def _read(path: Path) -> ConfidenceThreshold:
    try:
        return ConfidenceThreshold.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        detail = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise ConfigError(f"{path}: is not a calibration: {detail}; remove it, or calibrate again") from None
