"""The ``scores-file`` metric: segment scores that another tool computed, such as COMET elsewhere."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.errors import ConfigError, InputError
from mtagent.formats.annotations import COMET
from mtagent.formats.exports import plain_name
from mtagent.formats.files import lines_of, parsed, refuse_pipe, whole_file
from mtagent.metrics.protocol import Metric
from mtagent.records import UNIT_DIGITS, Score, Segment
from mtagent.version import __version__

_COMET_LINE = re.compile(r"(?P<system>.*)\tSegment \d+\tscore: (?P<score>\S+)$")
_COMET_SUMMARY = re.compile(r".*\tscore: \S+$")


class FileScore(NamedTuple):
    """A score in a file, with the fields that the file has about it."""

    value: float | None
    """``None`` = missing."""
    where: str
    """Its place, for messages."""
    system: str | None = None
    metric: str | None = None
    segment: str | None = None
    translation: str | None = None
    why: str = ""
    """Why the score is missing."""


def read_scores(path: Path) -> dict[str | None, list[FileScore]]:
    """The scores by system, in the order of the file; ``None`` = the file names no system.

    Raises :class:`InputError` for a value that isn't a score.
    """
    lines = list(lines_of(path))
    first = ""
    if lines:
        first = lines[0].text.lstrip()
    scores: list[FileScore] = []
    if first.startswith(("{", "[")) and not holds_objects(first):
        scores += _of_comet(whole_file(path), path)
        lines = []
    for line in lines:
        where = f"{path}:{line.number}"
        if first.startswith("{"):
            scores.append(_of_object(parsed(line.text, where), where))
        elif _COMET_LINE.match(line.text) or not _COMET_SUMMARY.match(line.text):
            scores.append(_of_line(line.text, where))
    by_system: dict[str | None, list[FileScore]] = {}
    for score in scores:
        by_system.setdefault(score.system, []).append(score)
    if not by_system:
        raise InputError(f"{path}: holds no scores")
    return by_system


def holds_objects(first: str) -> bool:
    """Whether the first line of a file is an object with a score, so that every line is one."""
    return first.lstrip().startswith("{") and first.rstrip().endswith("}") and '"score"' in first


def _of_line(text: str, where: str) -> FileScore:
    """``SYSTEM<tab>SCORE`` as in mt-metrics-eval, a bare score, or the output of comet-score."""
    match = _COMET_LINE.match(text)
    if match:
        return FileScore(_number(match["score"], where), where, match["system"], "COMET")
    before_tab, tab, score = text.rpartition("\t")
    system = None
    if tab:
        system = before_tab
    if score == "None":
        return FileScore(None, where, system, why="'None' isn't a score; every segment needs one")
    return FileScore(_number(score, where), where, system)


def _of_object(value: Any, where: str) -> FileScore:
    """A line of JSON; ``id``, ``system`` and ``translation`` name the scored text."""
    if not isinstance(value, dict) or "score" not in value:
        raise InputError(f'{where}: expected an object with a "score"')
    number = None
    if value["score"] is not None:
        number = _number(value["score"], where)
    why = "has no score"
    if value.get("error"):
        why = f"has no score: {value['error']}"
    metric = value.get("metric") or value.get("evaluator") or value.get("name") or None
    return FileScore(
        value=number,
        where=where,
        system=_text(value.get("system")),
        metric=_text(metric),
        segment=_text(value.get("id")),
        translation=_text(value.get("translation")),
        why=why,
    )


def _text(value: object) -> str | None:
    """A value of JSON as text; ``None`` for a missing one."""
    if value is None:
        return None
    return str(value)


def _of_comet(data: Any, path: Path) -> Iterator[FileScore]:
    if not COMET.recognises("", data):
        raise InputError(
            f'{path}: is neither the JSON of comet-score, {{FILE: [{{"COMET": 0.8, "mt": …}}]}}, nor lines'
        )
    for system, segments in data.items():
        for number, values in enumerate(segments, start=1):
            where = f"{path}: {system}, segment {number}"
            if "COMET" not in values:
                raise InputError(f'{where}: has no "COMET"')
            yield FileScore(_number(values["COMET"], where), where, system, "COMET", None, values["mt"])


def number_in(value: object) -> float | None:
    """``value`` as a number, including NaN and infinity; ``None`` if it isn't one.

    Python also reads ``1_000``, digits of other scripts and true as numbers; this function doesn't.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str) and (not value.isascii() or "_" in value):
        return None
    try:
        return float(value)
    except ValueError:
        return None
    except OverflowError:  # an integer of hundreds of digits
        return math.inf


def _number(value: object, where: str) -> float:
    number = number_in(value)
    if number is None or not math.isfinite(number):
        shown = repr(value[:40]) if isinstance(value, str) else f"{value!r:.40}"
        raise InputError(f"{where}: {shown} isn't a score; every segment needs one")
    return number


SYSTEM = "{system}"


class ScoresFile:
    """Scores with the file ``path``, in which ``{system}`` is replaced by the name of the system.

    ``system`` is the system's name in the file, if it differs; ``label`` is the name of the metric in tables;
    ``lower``: lower scores are better. The score of a corpus is the mean.
    """

    name = "scores-file"
    references = "none"

    def __init__(
        self, *, path: Path | None = None, label: str | None = None, system: str | None = None, lower: bool = False
    ) -> None:
        if path is None:
            raise ConfigError("scores-file needs a file: write scores-file:path=FILE")
        refuse_pipe(path, "scores-file:path")
        self.higher_is_better = not lower
        self._path = path
        self._label = label
        self._name_in_file = system
        self._system = ""

    def each(self, systems: Sequence[str]) -> list[Metric]:
        """A metric for each of ``systems``. Raises :class:`ConfigError` if the file doesn't distinguish them."""
        has_systems = SYSTEM in str(self._path) or None not in read_scores(self._path)
        if len(systems) > 1 and (self._name_in_file or not has_systems):
            raise ConfigError(
                f"{self._path}: holds the scores of one system, and there are {len(systems)}: name a file for each, "
                "as in path=comet.{system}.txt, or choose one with --systems"
            )
        metrics: list[Metric] = []
        for system in systems:
            path = Path(str(self._path).replace(SYSTEM, system))
            metric = ScoresFile(
                path=path, label=self._label, system=self._name_in_file, lower=not self.higher_is_better
            )
            metric._system = system
            metrics.append(metric)
        return metrics

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """The scores in the file.

        Raises :class:`InputError` if it lacks a segment, or is about another translation.
        """
        scores = self._of_system(read_scores(self._path))
        metrics = list(dict.fromkeys(str(score.metric) for score in scores))
        if len(metrics) > 1 and self._label not in metrics:
            raise InputError(f"{self._path}: has scores of {', '.join(metrics)}: choose with label=NAME")
        if len(metrics) > 1:
            scores = [score for score in scores if score.metric == self._label]
        values: list[float] = []
        for score in scores:
            if score.value is None:
                raise InputError(f"{score.where}: {score.why}")
            values.append(score.value)
        if len(scores) != len(segments):
            number = f"{len(scores)} scores"
            system = self._name_in_file or self._system
            if system:
                number += f" of {system!r}"
            raise InputError(f"{self._path}: has {number}, and there are {len(segments)} segments")
        for score, segment, translation in zip(scores, segments, translations, strict=True):
            if score.translation is not None and score.translation.strip() != translation.strip():
                raise InputError(f"{score.where}: was computed for another translation of segment {segment.id!r}")
            if score.segment is not None and score.segment != segment.id:
                raise InputError(f"{score.where}: is about segment {score.segment!r}, where {segment.id!r} should be")
        content = hashlib.sha256(self._path.read_bytes()).hexdigest()[:12]
        digits = 2
        if all(-1 <= value <= 1 for value in values):
            digits = UNIT_DIGITS
        return Score(
            metric=self._label or scores[0].metric or self._path.name.split(".")[0],
            value=math.fsum(values) / len(values),
            segments=tuple(values),
            signature=f"file:{self._path.name}|sha256:{content}|agg:mean|version:{__version__}",
            higher_is_better=self.higher_is_better,
            digits=digits,
        )

    def _of_system(self, by_system: dict[str | None, list[FileScore]]) -> list[FileScore]:
        """The scores of the system, under its name or its file's name, also in the spelling of mt-metrics-eval."""
        system = self._name_in_file or self._system
        names = [name for name in by_system if name is not None]
        if None in by_system:
            if names:
                raise InputError(f"{self._path}: some of its scores name a system ({', '.join(names)}), others do not")
            return by_system[None]
        spellings = [system, plain_name(system), *(name for name in names if Path(name).stem == system)]
        for name in spellings:
            if name in names:
                return by_system[name]
        if not system and len(names) == 1:
            return by_system[names[0]]
        problem = "has the scores of several systems"
        if system:
            problem = f"has no scores of {system!r}"
        raise InputError(f"{self._path}: {problem}; name one with system=NAME: {', '.join(names)}")
