"""The COMET family of metrics (COMET, CometKiwi, XCOMET), each in its own process.

COMET pins old versions of many packages, so the process may run under the Python of another environment (see
:func:`chosen_python`), such as the one that :func:`make_environment` makes. Scores are remembered on disk
(:class:`ScoreCache`). Rei et al. 2020, 2022 (COMET, CometKiwi); Guerreiro et al. 2024 (XCOMET).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import logging
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from mtagent.config import parse_spec
from mtagent.errors import ConfigError, InputError, MetricError
from mtagent.processes import OF_A_GROUP, end_group, was_killed
from mtagent.records import UNIT_DIGITS, Score, Segment
from mtagent.store.database import make_private_file, make_private_folder, user_folder
from mtagent.version import __version__

logger = logging.getLogger(__name__)

VARIABLE = "MTAGENT_COMET_PYTHON"
WORKER = Path(__file__).with_name("comet_worker.py")
_GREETING_SECONDS = 60.0
_TAIL_LINES, _TAIL = 4, 600

# -- the environment of COMET's own: COMET needs numpy 1, protobuf 4 and an old setuptools, which would change mtagent's

REQUIREMENTS = (
    "unbabel-comet==2.2.7",
    "torch==2.13.0",
    "transformers==4.57.6",
    "pytorch-lightning==2.6.6",
    "torchmetrics==0.10.3",
    "sentencepiece==0.2.3",
    "numpy==1.26.4",
    "protobuf==4.25.9",
    "setuptools==80.10.2",
)
"""The versions that the tests with COMET ran with."""
PYTHONS = ((3, 10), (3, 12))
"""The first and the last Python for which all of them have wheels."""


def usual_folder() -> Path | None:
    """The folder of the environment that needs no setting; ``None`` if the user has no data folder."""
    folder = user_folder()
    return folder and folder / "comet"


def python_in(folder: Path) -> Path:
    """The Python of the virtual environment in ``folder``."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_environment(folder: Path, base: str = sys.executable) -> Path:
    """Install COMET into the virtual environment in ``folder``, which is made with the Python ``base`` if needed.

    Returns its Python. What pip prints goes to standard error. Raises :class:`ConfigError` if the environment cannot be
    made or COMET cannot be imported in it.
    """
    python = python_in(folder)
    if not python.exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"{folder}: exists and is not a virtual environment; name another folder")
        _refuse_unfit_python(base)
        _printed_by(
            [base, "-m", "venv", str(folder)], "cannot make a virtual environment; on Debian install python3-venv"
        )
    # Python's own stdout holds data, so pip's goes to stderr.
    install = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *REQUIREMENTS]
    if subprocess.run(install, stdout=2, check=False).returncode:
        raise ConfigError(f"{folder}: pip could not install COMET, see above; the same command continues")
    _printed_by(
        [str(python), "-c", "from comet import download_model, load_from_checkpoint"], "COMET cannot be imported"
    )
    return python


def _refuse_unfit_python(base: str) -> None:
    """Raise :class:`ConfigError` for a Python that the packages don't support."""
    code = "import sys; print(*sys.version_info[:2])"
    written = _printed_by([base, "-c", code], "cannot be run").split()
    version = tuple(map(int, written))
    first, last = (".".join(map(str, bound)) for bound in PYTHONS)
    if not PYTHONS[0] <= version <= PYTHONS[1]:
        number = ".".join(written)
        raise ConfigError(f"{base}: is Python {number}, and COMET needs {first} to {last}: name one with --python")


def _printed_by(command: Sequence[str], problem: str) -> str:
    """What ``command`` prints. Raises :class:`ConfigError` that begins with the program if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ConfigError(f"{command[0]}: cannot be run: {error.strerror}") from error
    if done.returncode:
        lines = " / ".join((done.stderr.strip() or done.stdout.strip())[-_TAIL:].splitlines())
        raise ConfigError(f"{command[0]}: {problem}. It wrote: {lines}")
    return done.stdout


def chosen_python(python: Path | None) -> str:
    """The Python that runs COMET: ``python``, or ``MTAGENT_COMET_PYTHON``, or the one of the usual environment (see
    :func:`make_environment`), or this one.

    Raises :class:`ConfigError` for a missing program, and if none is named and this Python has no COMET.
    """
    named = str(python or os.environ.get(VARIABLE, "").strip())
    if not named:
        usual = usual_folder()
        if usual is not None and python_in(usual).exists():
            return str(python_in(usual))
        if importlib.util.find_spec("comet") is not None:
            return sys.executable
        raise ConfigError(
            "COMET is not installed: `mtagent comet setup` makes an environment for it; or name a Python that has it "
            f"(--comet-python, the setting comet_python, {VARIABLE})"
        )
    program = shutil.which(at_home(named))
    if program is None:
        raise ConfigError(
            f"{named}: no such program; name the Python of the environment with COMET, as in .venv/bin/python"
        )
    return program


def at_home(path: str) -> Path:
    """``path`` with ``~`` expanded; unchanged for an unknown user."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  its counterpart raises for a name that nobody has


class CometProcess:
    """COMET in its own process, started at once.

    It ends at :meth:`close`, when this object is deleted, or when this Python ends, even if it is killed. Each answer
    must come within ``timeout`` seconds. Raises :class:`ConfigError` if COMET isn't installed.
    """

    def __init__(self, python: str, *, timeout: float) -> None:
        self._python, self._timeout = python, timeout
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed by _end
        try:
            self._process = subprocess.Popen(
                [python, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
                **OF_A_GROUP,
            )  # fmt: skip
        except OSError as error:
            self._stderr.close()
            raise ConfigError(f"{python}: cannot be run: {error.strerror}") from error
        self.close = weakref.finalize(self, _end, self._process, self._stderr)
        self.versions: dict[str, str] = self._answer(_GREETING_SECONDS)
        """Of ``comet`` and ``torch``."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The worker's answer.

        Raises :class:`MetricError` if it cannot score these texts, :class:`ConfigError` if it cannot score any (unknown
        model, the process ended or doesn't answer).
        """
        return self._answer(self._timeout, json.dumps(request).encode() + b"\n")

    def _answer(self, seconds: float, question: bytes = b"") -> dict[str, Any]:
        """Ask, and read a line. The process is killed if the line is not complete in time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            end_group(self._process.pid)

        timer = threading.Timer(seconds, give_up)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended: the missing answer is reported below
                self._process.stdin.write(question)
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        answer = None
        if line.endswith(b"\n"):
            with contextlib.suppress(ValueError):
                answer = json.loads(line)
        if not isinstance(answer, dict):
            if late.is_set():
                raise self._failure(
                    f"gave no answer within {seconds:g} seconds; give it longer with the option timeout=SECONDS"
                )
            if line:
                shown = line[:80].decode("utf-8", "replace").strip()
                raise self._failure(f"expected an answer of COMET, got {shown!r}; name a Python with COMET")
            raise self._failure(self._end_in_words())
        if "error" in answer:
            message = answer["error"]["message"]
            if answer["error"]["kind"] == "prediction":
                raise MetricError(message)
            raise ConfigError(message)
        return answer

    def _end_in_words(self) -> str:
        """How the process ended, which gave no answer."""
        try:
            code = self._process.wait(_GREETING_SECONDS)
        except subprocess.TimeoutExpired:
            return "COMET closed its output"
        if code >= 0:
            return f"COMET ended with exit code {code}"
        if was_killed(code):
            return f"COMET was killed (signal {-code}): was there enough memory?"
        return f"COMET was killed (signal {-code})"

    def _failure(self, problem: str) -> ConfigError:
        """The ``problem`` with the last lines of the process's stderr. Closes the process."""
        message = f"{self._python}: {problem}"
        if self.close.alive:  # otherwise it was closed while this thread waited: Python ends
            self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - _TAIL))
            lines = [text.strip() for text in self._stderr.read().decode("utf-8", "replace").splitlines()]
            last_lines = list(filter(None, lines))[-_TAIL_LINES:]
            if last_lines:
                message += f". It wrote: {' / '.join(last_lines)}"
        self.close()
        return ConfigError(message)


def _end(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
    """End the process and its children, and close its files."""
    if process.poll() is None:
        end_group(process.pid)
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
"""The default model of each name; metrics and evaluators have the same names."""
UNKNOWN_LICENCE = "licence unknown, look at the model's page"
TIMEOUT = 3600.0
BATCH_SIZE = 16
MOST = 1_000
"""Translations in one request to the process."""
_ON_HUB = re.compile(r"[\w.-]+(/[\w.-]+)?")

Gpus = Literal["0", "1"]


class Texts(NamedTuple):
    """The texts that COMET compares, with the reference if the model should see it."""

    source: str
    translation: str
    reference: str | None = None


class Prediction(NamedTuple):
    """The score of one translation."""

    score: float
    spans: list[dict[str, Any]] | None = None
    """As COMET writes them; ``None`` from a model that doesn't mark spans."""


class CometModel:
    """A COMET model: a name on the hub, or a checkpoint (a file, or the folder that COMET makes of it).

    Its process runs under ``python`` (see :func:`chosen_python`), starts when it is first needed and ends at
    :meth:`release`. ``timeout`` is in seconds, for loading the model and for each 1,000 translations. ``gpus`` is 0 or
    1. Predictions are remembered on disk (:class:`ScoreCache`) by the texts, the content of the checkpoint and the
    versions of COMET and torch, so that the model isn't loaded if all of them are known.
    """

    def __init__(
        self, model: str, *, python: Path | None, batch_size: int | None, gpus: Gpus, timeout: float | None
    ) -> None:
        self._checkpoint = path = local_checkpoint(model)
        self._revision: str | None = None
        self.name = model
        if path is not None:
            self.name = path.name
            folder = path.parent.parent
            if path.parent.name == "checkpoints":  # COMET calls every checkpoint in such a folder model.ckpt
                self.name = folder.name
            if folder.parent.name == "snapshots":  # the hub's cache, whose folders are revisions
                self._revision = folder.name[:12]
        self._python = chosen_python(python)
        if timeout is None:
            timeout = TIMEOUT
        if batch_size is None:
            batch_size = BATCH_SIZE
        if batch_size < 1 or timeout <= 0:
            raise ConfigError(f"{model}: batch_size={batch_size}, timeout={timeout}: both must be above 0")
        self._timeout = timeout
        self._options = {"batch_size": batch_size, "gpus": int(gpus)}
        self._process: CometProcess | None = None
        self._cache = ScoreCache()

    def predict(self, texts: Sequence[Texts]) -> list[Prediction]:
        """A prediction for each of ``texts``, in order; all have a reference, or none has.

        Raises :class:`MetricError` if COMET gives no score, :class:`ConfigError` if it cannot be run.
        """
        if not texts:
            return []
        identity = self._identity()
        remembered = self._remembered(identity, texts)
        new_texts = [text for text in dict.fromkeys(texts) if text not in remembered]
        new_predictions = dict(zip(new_texts, self._predicted(new_texts), strict=True))
        if identity and self._identity() != identity:
            # The hub has a newer revision of the model, which was loaded for the new texts.
            return self.predict(texts)
        self._remember(new_predictions)
        return [remembered.get(text) or new_predictions[text] for text in texts]

    def _identity(self) -> list[str]:
        """What tells the model from all others; empty if its revision is not known."""
        if self._checkpoint is None and self._revision is None:
            self._revision = self._running().ask({"revision_of": self.name})["revision"]
            if self._revision is None:
                return []
        return [*self.signed(), self._settings_hash]

    def _remembered(self, identity: Sequence[str], texts: Sequence[Texts]) -> dict[Texts, Prediction]:
        if not identity:
            return {}
        keys = {key_of([identity, text]): text for text in texts}
        predictions = {}
        for key, answer in self._cache.recall([*keys]).items():
            predictions[keys[key]] = Prediction(*answer)
        return predictions

    def _remember(self, predictions: Mapping[Texts, Prediction]) -> None:
        identity = self._identity()
        if identity:
            finite = {text: one for text, one in predictions.items() if math.isfinite(one.score)}
            self._cache.remember({key_of([identity, text]): one for text, one in finite.items()})

    def _predicted(self, texts: Sequence[Texts]) -> list[Prediction]:
        """A prediction for each of ``texts`` by COMET itself."""
        predictions: list[Prediction] = []
        for at in range(0, len(texts), MOST):
            samples = []
            for text in texts[at : at + MOST]:
                sample = {"src": text.source, "mt": text.translation}
                if text.reference is not None:
                    sample["ref"] = text.reference
                samples.append(sample)
            reply = self._ask(samples)
            self._revision = reply["revision"]
            scores, spans = reply["scores"], reply["spans"] or [None] * len(samples)
            if not len(scores) == len(spans) == len(samples):
                raise MetricError(f"{self.name} gave {len(scores)} scores for {len(samples)} translations")
            predictions += map(Prediction, scores, spans)
        return predictions

    @cached_property
    def references(self) -> str:
        """Whether the model needs references (``needed``), can use them (``read``), or ignores them (``unused``)."""
        identity = self._identity()
        key = key_of([identity, "references"])
        if identity:
            for answer in self._cache.recall([key]).values():
                return str(answer)
        reply = self._ask([])
        self._revision = reply["revision"]
        if identity and self._identity() == identity:
            self._cache.remember({key: reply["references"]})
        return str(reply["references"])

    def compares(self, segments: Sequence[Segment]) -> bool:
        """Whether the model will see the references of ``segments``: it gets all of them, or none.

        Raises :class:`ConfigError` naming the first segment without a reference that is needed.
        """
        without_reference = [segment.id for segment in segments if segment.reference is None]
        if self.references == "unused":
            return False
        if self.references == "read" and len(without_reference) == len(segments):
            return False
        if without_reference:
            raise ConfigError(
                f"segment {without_reference[0]}: has no reference, and {self.name} compares with one (-r FILE); "
                "cometkiwi scores without references"
            )
        return True

    def signed(self) -> list[str]:
        """The parts of a signature: everything that the scores depend on.

        The revision of a model on the hub is known once it is loaded.
        """
        parts = [f"model:{self.name}"]
        if self._sha256:
            parts.append(f"sha256:{self._sha256}")
        if self._revision:
            parts.append(f"revision:{self._revision}")
        for package, number in self._running().versions.items():
            parts.append(f"{package}:{number}")
        return parts

    def release(self) -> None:
        """End the process to free its memory; the next prediction starts another one if it needs the model."""
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

    @cached_property
    def _settings_hash(self) -> str:
        """The hash of the settings that COMET reads next to a checkpoint; empty without any."""
        if self._checkpoint is None:
            return ""
        settings = self._checkpoint.parent.parent / "hparams.yaml"
        return hashlib.sha256(settings.read_bytes()).hexdigest()[:12] if settings.is_file() else ""


def local_checkpoint(model: str) -> Path | None:
    """The checkpoint file of ``model``; ``None`` for a name on the hub.

    Raises :class:`InputError` for a path without a checkpoint.
    """
    path = at_home(model)
    usual = path / "checkpoints" / "model.ckpt"
    try:
        if usual.is_file():
            checkpoints = [usual]
        elif path.is_dir():
            checkpoints = sorted(path.glob("**/*.ckpt"))
        elif path.is_file():
            checkpoints = [path]
        elif _ON_HUB.fullmatch(model) and not model.endswith(".ckpt"):
            return None
        else:
            raise InputError(f"{model}: no such checkpoint; models on the hub have names like {COMET}")
    except OSError as error:
        raise InputError(f"{model}: cannot be opened: {(error.strerror or str(error)).lower()}") from error
    if len(checkpoints) != 1:
        raise InputError(f"{model}: holds {len(checkpoints)} checkpoints (*.ckpt); name one: model=FILE")
    # Unresolved: COMET reads settings next to it, and in the hub's cache it is a link.
    return checkpoints[0].absolute()


def licence_notes(specs: Iterable[str]) -> list[str]:
    """A line for each COMET model among metrics or evaluators as users write them (``xcomet:model=…``)."""
    notes: dict[str, str] = {}
    for spec in specs:
        name, options = parse_spec(spec)
        if name in USUAL:
            model = options.get("model") or USUAL[name]
            notes[model] = f"COMET model {model}: {LICENCES.get(model, UNKNOWN_LICENCE)}"
    return list(notes.values())


class Comet:
    """Scores with a COMET model; the score of a corpus is the mean of its segments. Most models score from 0 to 1.

    The model stays loaded until :meth:`release`, and its scores are remembered: equal texts are scored once.
    ``comet_python`` is the default of ``python``. Raises :class:`ConfigError` if COMET isn't installed.
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
        self.references = "none" if name == "cometkiwi" else "one"
        self._model = CometModel(
            model or USUAL[name], python=python or comet_python, batch_size=batch_size, gpus=gpus, timeout=timeout
        )
        self._scores: dict[Texts, float] = {}

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """Score ``translations``, empty ones too.

        Raises :class:`ConfigError` if sources, references or the model are missing, :class:`MetricError` if a segment
        has no finite score.
        """
        if not any(segment.source.strip() for segment in segments):
            raise ConfigError(f"{self.name} compares translations with their sources, and there are none: add -s FILE")
        compares = self._model.compares(segments)
        texts = []
        new_texts: dict[Texts, Segment] = {}
        for segment, translation in zip(segments, translations, strict=True):
            text = Texts(segment.source, translation)
            if compares:
                text = text._replace(reference=segment.reference)
            texts.append(text)
            if text not in self._scores:
                new_texts[text] = segment
        for (text, segment), prediction in zip(new_texts.items(), self._model.predict([*new_texts]), strict=True):
            if not math.isfinite(prediction.score):
                raise MetricError(
                    f"segment {segment.id}: {self._model.name} gave the score {prediction.score}; "
                    "every segment needs one"
                )
            self._scores[text] = prediction.score
        values = tuple(self._scores[text] for text in texts)
        parts = [*self._model.signed(), f"refs:{compares:d}", "agg:mean", f"version:{__version__}"]
        return Score(
            metric=self._label,
            value=math.fsum(values) / len(values),
            segments=values,
            signature="|".join(parts),
            digits=UNIT_DIGITS,
        )

    def release(self) -> None:
        """Unload the model; it is loaded again for new texts."""
        self._model.release()


comet = partial(Comet, "comet", "COMET")
cometkiwi = partial(Comet, "cometkiwi", "COMETKiwi")
xcomet = partial(Comet, "xcomet", "XCOMET")

# -- remembered scores

_TABLE = "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
_BUSY_SECONDS = 10.0
_AT_ONCE = 500


def key_of(parts: Sequence[object]) -> bytes:
    """The key of an answer that depends on ``parts``: everything that was asked, and the model that answered."""
    return hashlib.sha256(json.dumps(parts).encode()).digest()


class ScoreCache:
    """What COMET's models have computed, on disk: equal texts are not scored twice, whatever command scores them.

    The file is ``scores.db`` in the user's data folder. It holds hashes and numbers, no texts. It may be deleted at any
    time. Any number of processes and threads may use it at once. A file that cannot be used is reported once, and
    nothing is remembered.
    """

    def __init__(self) -> None:
        folder = user_folder()
        self._path = folder and folder / "scores.db"

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """The answers to ``keys`` that are remembered."""
        answers: dict[bytes, Any] = {}

        def read(connection: sqlite3.Connection) -> None:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                for key, answer in connection.execute(f"SELECT key, answer FROM scores WHERE key IN ({marks})", some):
                    answers[key] = json.loads(answer)

        self._use(read)
        return answers

    def remember(self, answers: Mapping[bytes, Any]) -> None:
        """Add ``answers``, as plain data, by their keys."""
        rows = [(key, json.dumps(answer)) for key, answer in answers.items()]
        if rows:
            self._use(lambda connection: connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows))

    def _use(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Call ``work`` with the open file, in a transaction. After an error of the file it isn't used any more."""
        if self._path is None:
            return
        try:
            make_private_folder(self._path.parent)
            make_private_file(self._path)
            with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as connection, connection:
                connection.execute(_TABLE)
                work(connection)
        except (sqlite3.Error, OSError, ValueError) as error:
            logger.warning(f"{self._path}: scores are not remembered: {error}; delete the file if it is damaged")
            self._path = None
