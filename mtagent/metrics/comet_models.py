"""COMET models: which there are, under which licence, where they lie, and what they say about texts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mtagent.errors import ConfigError, InputError, MetricError
from mtagent.evaluators.named import parse_spec
from mtagent.metrics.comet_process import CometProcess, at_home, chosen_python
from mtagent.records import Segment

COMET, COMETKIWI, XCOMET = "Unbabel/wmt22-comet-da", "Unbabel/wmt22-cometkiwi-da", "Unbabel/XCOMET-XL"
_NOT_COMMERCIAL = "CC-BY-NC-SA-4.0, not for commercial use; gated: log in to the hub"
LICENCES = {
    COMET: "Apache-2.0",
    COMETKIWI: _NOT_COMMERCIAL,
    "Unbabel/wmt23-cometkiwi-da-xl": _NOT_COMMERCIAL,
    "Unbabel/wmt23-cometkiwi-da-xxl": _NOT_COMMERCIAL,
    XCOMET: _NOT_COMMERCIAL,
    "Unbabel/XCOMET-XXL": _NOT_COMMERCIAL,
}
USUAL = {"comet": COMET, "cometkiwi": COMETKIWI, "xcomet": XCOMET}
"""The model behind each name, where no other is chosen; metrics and evaluators are called alike."""
UNKNOWN_LICENCE = "licence unknown, look at the model's page"
TIMEOUT = 3600.0
MOST = 1_000
_ON_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")

Gpus = Literal["0", "1"]


class Texts(NamedTuple):
    """What COMET compares; the reference where the model is to see it."""

    source: str
    translation: str
    reference: str | None = None

    def sample(self) -> dict[str, str]:
        """As COMET calls them."""
        bare = {"src": self.source, "mt": self.translation}
        return bare if self.reference is None else {**bare, "ref": self.reference}


class Prediction(NamedTuple):
    """The score of one translation; ``spans`` as COMET writes them, ``None`` from a model that marks none."""

    score: float
    spans: list[dict[str, Any]] | None = None


class CometModel:
    """The model ``model``: a name on the hub, or a checkpoint, which is a file or the folder that COMET makes of it.

    It runs in a process of its own, under ``python`` or as :func:`mtagent.metrics.comet_process.chosen_python` has it,
    which is started when it is needed first and ended by :meth:`release`. ``timeout`` is in seconds, for loading the
    model, and for each 1,000 translations. ``gpus`` is 0 or 1.
    """

    def __init__(
        self, model: str, *, python: Path | None, batch_size: int | None, gpus: Gpus, timeout: float | None
    ) -> None:
        self.checkpoint = local_checkpoint(model)
        self.name = _short(self.checkpoint) if self.checkpoint else model
        self.licence = licence_of(model)
        self._python, self._timeout = chosen_python(python), TIMEOUT if timeout is None else timeout
        self._options = {"batch_size": 16 if batch_size is None else batch_size, "gpus": int(gpus)}
        if self._options["batch_size"] < 1 or self._timeout <= 0:
            raise ConfigError(f"{model}: batch_size={batch_size}, timeout={timeout}: both must be above 0")
        self._process: CometProcess | None = None
        self._revision: str | None = None

    def predict(self, texts: Sequence[Texts]) -> list[Prediction]:
        """A prediction for each of ``texts``, in order; either all have a reference or none has.

        Raises :class:`MetricError` where COMET has no score, and :class:`ConfigError` where it cannot be had at all.
        """
        return [one for at in range(0, len(texts), MOST) for one in self._predicted(texts[at : at + MOST])]

    @cached_property
    def references(self) -> str:
        """Whether the model needs references, reads them where there are some, or leaves them unused; loads it."""
        reply = self._asked([])
        self._revision = reply["revision"]
        return str(reply["references"])

    def compares(self, segments: Sequence[Segment]) -> bool:
        """Whether the model will see the references of ``segments``: all, or none.

        Raises :class:`ConfigError` that names the first segment which lacks one.
        """
        lacking = [segment.id for segment in segments if segment.reference is None]
        if self.references == "unused" or (self.references == "read" and len(lacking) == len(segments)):
            return False
        if lacking:
            raise ConfigError(
                f"segment {lacking[0]}: has no reference, and {self.name} compares with one (-r FILE); "
                "cometkiwi scores without references"
            )
        return True

    def signed(self) -> list[str]:
        """What the scores depend on; of a model on the hub the revision is known once it is loaded."""
        content = {"sha256": self._sha256, "revision": self._revision}
        return [
            f"model:{self.name}",
            *(f"{key}:{value}" for key, value in content.items() if value),
            *(f"{package}:{number}" for package, number in self._running().versions.items()),
        ]

    def release(self) -> None:
        """End the process, which frees the memory; the next prediction starts another one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _predicted(self, texts: Sequence[Texts]) -> list[Prediction]:
        reply = self._asked([one.sample() for one in texts])
        scores, spans = reply["scores"], reply["spans"] or [None] * len(texts)
        if not len(scores) == len(spans) == len(texts):
            raise MetricError(f"{self.name} gave {len(scores)} scores for {len(texts)} translations")
        return list(map(Prediction, scores, spans))

    def _asked(self, samples: list[dict[str, str]]) -> dict[str, Any]:
        name = str(self.checkpoint or self.name)
        return self._running().ask({"model": name, "samples": samples, **self._options})

    def _running(self) -> CometProcess:
        if self._process is None or not self._process.close.alive:
            self._process = CometProcess(self._python, timeout=self._timeout)
        return self._process

    @cached_property
    def _sha256(self) -> str | None:
        if self.checkpoint is None:
            return None
        with self.checkpoint.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def local_checkpoint(model: str) -> Path | None:
    """The checkpoint file that ``model`` is, or is the folder of; ``None`` for a name on the hub.

    Raises :class:`InputError` where it is a path, and there is no checkpoint.
    """
    path = at_home(Path(model))
    try:
        found = _checkpoints(path)
    except OSError as error:
        raise InputError(f"{model}: cannot be looked for: {(error.strerror or str(error)).lower()}") from error
    if found is None and _ON_HUB.fullmatch(model) and not model.endswith(".ckpt"):
        return None
    if found is None:
        raise InputError(f"{model}: no such checkpoint; a model on the hub is named like {COMET}")
    if len(found) != 1:
        raise InputError(f"{model}: holds {len(found)} checkpoints (*.ckpt); name one: model=FILE")
    return found[0].absolute()  # unresolved: COMET reads settings beside it, and in the hub's cache it is a link


def _checkpoints(path: Path) -> list[Path] | None:
    """The file ``path``, or those in the folder; ``None`` where there is neither."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        return None
    usual = path / "checkpoints" / "model.ckpt"
    return [usual] if usual.is_file() else sorted(path.glob("**/*.ckpt"))


def licence_of(model: str) -> str:
    """The licence of a model by its name on the hub; what is said of all others."""
    try:
        local = at_home(Path(model)).exists()
    except OSError:
        local = True
    return UNKNOWN_LICENCE if local else LICENCES.get(model, UNKNOWN_LICENCE)


def licence_notes(specs: Iterable[str]) -> list[str]:
    """A line for each COMET model among metrics or evaluators as users name them (``xcomet:model=…``)."""
    named = (parse_spec(spec) for spec in specs)
    models = dict.fromkeys(options.get("model") or USUAL[name] for name, options in named if name in USUAL)
    return [f"COMET model {model}: {licence_of(model)}" for model in models]


def _short(checkpoint: Path) -> str:
    """What a checkpoint is called: as its folder, where it is itself called like all of them."""
    return checkpoint.parent.parent.name if checkpoint.parent.name == "checkpoints" else checkpoint.name
