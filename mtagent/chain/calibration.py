"""What a calibration changes in the chain: the margin of the gate, and what is called error-free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import replacing
from mtagent.formats.json_text import whole_file
from mtagent.records import Record, comparable, same_rater

KIND = "mtagent gate calibration"


class Figure(Record):
    """A figure and its 95 % confidence interval; ``None``: it is not defined for these items."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Effect(Record):
    """What a gate does to edits; see :class:`mtagent.analysis.gate_calibration.Effect`."""

    items: int
    groups: int
    gate: Figure
    always: Figure
    never: Figure
    oracle: Figure
    over_always: Figure
    over_never: Figure
    accepted: Figure
    good_kept: Figure
    harmful_refused: Figure


class Margin(Record):
    """By how much a text must be rated better: chosen on ``calibrated_on`` edits, its effect on the others.

    ``value`` ``None``: no margin was worth more than leaving every text as it was, so that nothing is kept.
    """

    value: float | None = Field(ge=0, allow_inf_nan=False)
    calibrated_on: int
    held_out: Effect
    unmargined: Effect


class Labels(Record):
    """What a threshold does to texts; see :class:`mtagent.analysis.gate_calibration.Labels`."""

    items: int
    groups: int
    error_free: Figure
    precision: Figure
    coverage: Figure
    recall: Figure


class Point(Record):
    """A point of the precision–coverage curve, of the texts that were calibrated on."""

    threshold: float
    precision: float
    coverage: float


class ErrorFree(Record):
    """From which score on a text is error-free: chosen on ``calibrated_on`` texts, its effect on the others.

    ``threshold`` ``None``: none reaches the ``wanted`` precision. ``definition`` says what people call error-free,
    ``low`` and ``high`` where the threshold lies in 95 % of resamples, of which the share ``reached`` has one.
    """

    definition: str
    wanted: float
    threshold: float | None = Field(allow_inf_nan=False)
    low: float | None = None
    high: float | None = None
    reached: float = 0.0
    calibrated_on: int
    held_out: Labels | None = None
    curve: tuple[Point, ...] = Field(min_length=1)


class Source(Record):
    """What was read: the option that names it, the name of the file or run, and the hash of a file's content."""

    option: str
    name: str
    sha256: str | None = None


class Calibration(Record):
    """A gate's calibration, as it stands in its file.

    ``signature`` is that of the ratings, ``human`` the kind of people's scores, ``pairs`` the language pairs, ``date``
    and ``version`` when and by which mtagent it was made, ``left_out`` what was not used and why.
    """

    kind: str = Field(default=KIND, pattern=f"^{KIND}$")
    evaluator: str
    signature: str
    version: str
    date: str
    data: tuple[Source, ...]
    pairs: tuple[str, ...] = ()
    human: str
    seed: int
    resamples: int
    left_out: dict[str, int] = Field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    margin: Margin | None = None
    error_free: ErrorFree | None = None

    @property
    def threshold(self) -> float | None:
        """The threshold for error-free, if there is one."""
        return self.error_free.threshold if self.error_free else None

    def holds_for(self, signature: str) -> bool:
        """Whether ratings of ``signature`` are those that were calibrated on."""
        return same_rater(self.signature, signature)

    def settings(self) -> dict[str, Any]:
        """What results depend on, as plain data: the values, and whose ratings they are for."""
        settings: dict[str, Any] = {"signature": comparable(self.signature)}
        if self.margin is not None:
            settings["margin"] = "never" if self.margin.value is None else self.margin.value
        if self.threshold is not None:
            settings["error_free"] = self.threshold
        return settings


def write(calibration: Calibration, path: Path) -> None:
    """Write a calibration, in the place of a former one. Raises :class:`mtagent.errors.OutputError`."""
    with replacing(path) as sink:
        sink.write(calibration.model_dump_json(indent=1) + "\n")


def read(path: Path) -> Calibration:
    """The calibration in a file. Raises :class:`ConfigError` that names the file, and what in it is wrong."""
    try:
        return Calibration.model_validate(whole_file(path))
    except InputError as error:
        raise ConfigError(f"{error}; `mtagent gate calibrate -o FILE` writes calibrations") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(
            f"{path}: is no calibration of a gate: {where}: {first['msg'].lower()}; "
            "`mtagent gate calibrate -o FILE` writes them"
        ) from None
