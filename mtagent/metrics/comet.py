"""The COMET family of metrics: COMET, CometKiwi and XCOMET, which run in a process of their own.

COMET pins old versions of many packages, so the process may run under the Python of another environment
(``python=``, ``--comet-python``, ``MTAGENT_COMET_PYTHON``); without such it runs under this one, by the same code.
Rei et al. 2020, 2022 (COMET, CometKiwi); Guerreiro et al. 2024 (XCOMET).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from mtagent import __version__
from mtagent.config import parse_spec
from mtagent.errors import ConfigError, InputError, MetricError, MissingExtra
from mtagent.records import UNIT_DIGITS, Score, Segment

VARIABLE = "MTAGENT_COMET_PYTHON"
WORKER = Path(__file__).with_name("comet_worker.py")
_GREETING_SECONDS = 60.0
_TAIL_LINES, _TAIL = 4, 600


def chosen_python(python: Path | None) -> str:
    """The program that runs COMET: ``python``, else what ``MTAGENT_COMET_PYTHON`` names, else this very Python.

    Raises :class:`MissingExtra` where this one has no COMET, and :class:`ConfigError` where there is no such program.
    """
    named = str(python or os.environ.get(VARIABLE, "").strip())
    if not named:
        if importlib.util.find_spec("comet") is None:
            where = "COMET, where no other Python is named for it (--comet-python, MTAGENT_COMET_PYTHON),"
            raise MissingExtra(where, "comet")
        return sys.executable
    program = shutil.which(at_home(named))
    if program is None:
        raise ConfigError(
            f"{named}: no such program; name the Python of the environment with COMET, as in .venv/bin/python"
        )
    return program


def at_home(path: str) -> Path:
    """``path`` with the home folder for its ``~``; where nobody has that name, as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  its counterpart raises for a name that nobody has


class CometProcess:
    """COMET in a process of its own, which is started at once and lives until :meth:`close`.

    It also ends when this object or this Python is gone, even if that was killed. ``versions`` are those of ``comet``
    and ``torch``. An answer must come within ``timeout`` seconds. Raises :class:`ConfigError` for one without COMET.
    """

    def __init__(self, python: str, *, timeout: float) -> None:
        self._python, self._timeout = python, timeout
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed by _end
        try:
            self._process = subprocess.Popen(
                [python, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self._stderr.close()
            raise ConfigError(f"{python}: cannot be run: {error.strerror}") from error
        self.close = weakref.finalize(self, _end, self._process, self._stderr)
        self.versions: dict[str, str] = self._answer(_GREETING_SECONDS)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The worker's answer.

        Raises :class:`MetricError` where it cannot score these texts, and :class:`ConfigError` where it cannot score
        any: no such model, a process that ended or does not answer.
        """
        return self._answer(self._timeout, json.dumps(request).encode() + b"\n")

    def _answer(self, seconds: float, question: bytes = b"") -> dict[str, Any]:
        """Ask, and read a line, which must be whole in so many seconds: otherwise the process is killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            _kill(self._process)

        timer = threading.Timer(seconds, give_up)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended: that there is no answer says why
                self._process.stdin.write(question)
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        try:
            answer = json.loads(line) if line.endswith(b"\n") else None
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failure(line, seconds if late.is_set() else None)
        if "error" in answer:
            kind, message = answer["error"]["kind"], answer["error"]["message"]
            raise MetricError(message) if kind == "prediction" else ConfigError(message)
        return answer

    def _failure(self, line: bytes, seconds: float | None) -> ConfigError:
        """What went wrong, with what the process said at last. The process is of no more use."""
        if seconds is not None:
            how = f"gave no answer within {seconds:g} seconds; give it longer with the option timeout=SECONDS"
        elif line:
            how = f"runs no COMET, it wrote {line[:80].decode('utf-8', 'replace').strip()!r}"
        else:
            try:
                code = self._process.wait(_GREETING_SECONDS)
            except subprocess.TimeoutExpired:
                how = "COMET closed its output"
            else:
                memory = ": was there enough memory?" if code == -signal.SIGKILL else ""
                how = (
                    f"COMET ended with exit code {code}" if code >= 0 else f"COMET was killed (signal {-code}){memory}"
                )
        said = ""
        if self.close.alive:  # otherwise it was closed while this thread waited: Python ends
            self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - _TAIL))
            lines = [text.strip() for text in self._stderr.read().decode("utf-8", "replace").splitlines()]
            said = " / ".join(list(filter(None, lines))[-_TAIL_LINES:])
        self.close()
        return ConfigError(f"{self._python}: {how}" + (f". It said: {said}" if said else ""))


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
    """End the process and whatever it started, and close all that belongs to it."""
    if process.poll() is None:
        _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout, stderr):
        with contextlib.suppress(OSError):
            pipe.close()  # type: ignore[union-attr]


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


class Prediction(NamedTuple):
    """The score of one translation; ``spans`` as COMET writes them, ``None`` from a model that marks none."""

    score: float
    spans: list[dict[str, Any]] | None = None


class CometModel:
    """The model ``model``: a name on the hub, or a checkpoint, which is a file or the folder that COMET makes of it.

    It runs in a process of its own, under ``python`` or as :func:`chosen_python` has it, which is started when it is
    needed first and ended by :meth:`release`. ``timeout`` is in seconds, for loading the model, and for each 1,000
    translations. ``gpus`` is 0 or 1.
    """

    def __init__(
        self, model: str, *, python: Path | None, batch_size: int | None, gpus: Gpus, timeout: float | None
    ) -> None:
        self._checkpoint = path = local_checkpoint(model)
        self.name = model
        if path is not None:  # as its folder, where it is itself called like all of them
            self.name = path.parent.parent.name if path.parent.name == "checkpoints" else path.name
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
        predictions: list[Prediction] = []
        for at in range(0, len(texts), MOST):
            part = texts[at : at + MOST]
            named = (zip(("src", "mt", "ref"), text, strict=True) for text in part)
            reply = self._ask([{key: value for key, value in pairs if value is not None} for pairs in named])
            scores, spans = reply["scores"], reply["spans"] or [None] * len(part)
            if not len(scores) == len(spans) == len(part):
                raise MetricError(f"{self.name} gave {len(scores)} scores for {len(part)} translations")
            predictions += map(Prediction, scores, spans)
        return predictions

    @cached_property
    def references(self) -> str:
        """Whether the model needs references, reads them where there are some, or leaves them unused; loads it."""
        reply = self._ask([])
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

    def _ask(self, samples: list[dict[str, str]]) -> dict[str, Any]:
        name = str(self._checkpoint or self.name)
        return self._running().ask({"model": name, "samples": samples, **self._options})

    def _running(self) -> CometProcess:
        if self._process is None or not self._process.close.alive:
            self._process = CometProcess(self._python, timeout=self._timeout)
        return self._process

    @cached_property
    def _sha256(self) -> str | None:
        if self._checkpoint is None:
            return None
        with self._checkpoint.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def local_checkpoint(model: str) -> Path | None:
    """The checkpoint file that ``model`` is, or is the folder of; ``None`` for a name on the hub.

    Raises :class:`InputError` where it is a path, and there is no checkpoint.
    """
    path = at_home(model)
    usual = path / "checkpoints" / "model.ckpt"
    try:
        if path.is_dir():
            checkpoints = [usual] if usual.is_file() else sorted(path.glob("**/*.ckpt"))
        elif path.is_file():
            checkpoints = [path]
        elif _ON_HUB.fullmatch(model) and not model.endswith(".ckpt"):
            return None
        else:
            raise InputError(f"{model}: no such checkpoint; a model on the hub is named like {COMET}")
    except OSError as error:
        raise InputError(f"{model}: cannot be looked for: {(error.strerror or str(error)).lower()}") from error
    if len(checkpoints) != 1:
        raise InputError(f"{model}: holds {len(checkpoints)} checkpoints (*.ckpt); name one: model=FILE")
    return checkpoints[0].absolute()  # unresolved: COMET reads settings beside it, and in the hub's cache it is a link


def licence_notes(specs: Iterable[str]) -> list[str]:
    """A line for each COMET model among metrics or evaluators as users name them (``xcomet:model=…``)."""
    named = (parse_spec(spec) for spec in specs)
    models = dict.fromkeys(options.get("model") or USUAL[name] for name, options in named if name in USUAL)
    return [f"COMET model {model}: {LICENCES.get(model, UNKNOWN_LICENCE)}" for model in models]


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
        fresh = {text: segment for text, segment in zip(texts, segments, strict=True) if text not in self._known}
        for (text, segment), prediction in zip(fresh.items(), self._model.predict([*fresh]), strict=True):
            if not math.isfinite(prediction.score):
                raise MetricError(
                    f"segment {segment.id}: {self._model.name} gave the score {prediction.score}; "
                    "every segment needs one"
                )
            self._known[text] = prediction.score
        values = tuple(self._known[text] for text in texts)
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


comet = partial(Comet, "comet", "COMET")
cometkiwi = partial(Comet, "cometkiwi", "COMETKiwi")
xcomet = partial(Comet, "xcomet", "XCOMET")
