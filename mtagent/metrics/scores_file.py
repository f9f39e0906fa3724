"""The ``scores-file`` metric: scores of the segments that another tool computed, such as COMET elsewhere."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtagent import __version__
from mtagent.errors import ConfigError, InputError
from mtagent.formats import comet
from mtagent.formats.exports import plain_name
from mtagent.formats.files import Line, lines_of, refuse_pipe
from mtagent.formats.json_text import parsed, whole_file
from mtagent.metrics.protocol import Metric
from mtagent.records import UNIT_DIGITS, Score, Segment

_COMET_LINE = re.compile(r"(?P<system>.*)\tSegment \d+\tscore: (?P<score>\S+)$")
_NO_SCORE = "'None' is no score; every segment needs one"
_COMET_WHOLE = re.compile(r".*\tscore: \S+$")


class Found(NamedTuple):
    """One score, where it stands, and what its file says about it; ``None`` = missing, and ``why`` says how."""

    value: float | None
    where: str
    system: str | None = None
    metric: str | None = None
    segment: str | None = None
    translation: str | None = None
    why: str = ""

    @property
    def number(self) -> float:
        """The score. Raises :class:`InputError` where it is missing."""
        if self.value is None:
            raise InputError(f"{self.where}: {self.why}")
        return self.value


def read_scores(path: Path) -> dict[str | None, list[Found]]:
    """The scores by system, in the order of the file; ``None`` = the file names no system.

    A score may be missing (``None``). Raises :class:`InputError` for what is no score.
    """
    by_system: dict[str | None, list[Found]] = {}
    for found in _all(path):
        by_system.setdefault(found.system, []).append(found)
    if not by_system:
        raise InputError(f"{path}: holds no scores")
    return by_system


def _all(path: Path) -> Iterator[Found]:
    lines = list(lines_of(path))
    first = lines[0].text.lstrip() if lines else ""
    if first.startswith(("{", "[")) and not holds_objects(first):
        yield from _of_comet(whole_file(path), path)
        return
    for line in lines:
        where = f"{path}:{line.number}"
        if first.startswith("{"):
            yield _of_object(parsed(line.text, where), where)
        elif not _COMET_WHOLE.match(line.text) or _COMET_LINE.match(line.text):
            yield _of_line(line, where)


def holds_objects(first: str) -> bool:
    """Whether the first line of a file is an object with a score, so that each line is one."""
    return first.lstrip().startswith("{") and first.rstrip().endswith("}") and '"score"' in first


def _of_line(line: Line, where: str) -> Found:
    if matched := _COMET_LINE.match(line.text):
        return Found(_number(matched["score"], where), where, matched["system"], "COMET")
    system, tab, score = line.text.rpartition("\t")
    missing = score == "None"
    return Found(
        None if missing else _number(score, where), where, system if tab else None, why=_NO_SCORE if missing else ""
    )


def _of_object(value: Any, where: str) -> Found:
    """A line of JSON; its ``id``, ``system`` and ``translation`` say what was scored."""
    if not isinstance(value, dict) or "score" not in value:
        raise InputError(f'{where}: no object with a "score"')
    missing = value["score"] is None
    why = f"has no score{': ' + str(value['error']) if value.get('error') else ''}" if missing else ""
    text = {name: None if value.get(name) is None else str(value[name]) for name in ("system", "id", "translation")}
    metric = value.get("metric") or value.get("evaluator") or value.get("name")
    return Found(
        None if missing else _number(value["score"], where), where, text["system"], str(metric) if metric else None,
        text["id"], text["translation"], why,
    )  # fmt: skip


def _of_comet(data: Any, path: Path) -> Iterator[Found]:
    if not comet.recognised(data):
        raise InputError(
            f'{path}: is neither the JSON of comet-score, {{FILE: [{{"COMET": 0.8, "mt": …}}]}}, nor lines'
        )
    for system, segments in data.items():
        for number, values in enumerate(segments, start=1):
            where = f"{path}: {system}, segment {number}"
            if "COMET" not in values:
                raise InputError(f'{where}: has no "COMET"')
            yield Found(_number(values["COMET"], where), where, system, "COMET", None, values["mt"])


def number_in(value: object) -> float | None:
    """The number that ``value`` is or holds as text, NaN and infinity among them; ``None`` where it is none.

    What is a number for Python alone is none: ``1_000``, digits of other scripts, true.
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
        raise InputError(f"{where}: {value!r:.40} is no score; every segment needs one")
    return number


SYSTEM = "{system}"


class ScoresFile:
    """Scores with the file ``path``, in which ``{system}`` stands for the system's name; asks nobody.

    ``system`` names the system in the file, where it is called otherwise there; ``label`` is the metric's name in
    tables, ``lower`` says that lower scores are better. The score of all segments is the mean.
    """

    name = "scores-file"

    def __init__(
        self, *, path: Path | None = None, label: str | None = None, system: str | None = None, lower: bool = False
    ) -> None:
        if path is None:
            raise ConfigError("scores-file scores with a file: write scores-file:path=FILE")
        refuse_pipe(path, "scores-file:path")
        self.higher_is_better = not lower
        self._path, self._label, self._named, self._system = path, label, system, ""

    def each(self, systems: Sequence[str]) -> list[Metric]:
        """A metric for each of ``systems``. Raises :class:`ConfigError` where the file does not tell them apart."""
        told = SYSTEM in str(self._path) or None not in read_scores(self._path)
        if len(systems) > 1 and (self._named or not told):
            raise ConfigError(
                f"{self._path}: holds the scores of one system, and there are {len(systems)}: name a file for each, "
                "as in path=comet.{system}.txt, or choose one with --systems"
            )
        return [self._of(system) for system in systems]

    def _of(self, system: str) -> ScoresFile:
        path = Path(str(self._path).replace(SYSTEM, system))
        made = ScoresFile(path=path, label=self._label, system=self._named, lower=not self.higher_is_better)
        made._system = system
        return made

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """The file's scores.

        Raises :class:`InputError` where it does not hold one for each segment, or is about another translation.
        """
        found = self._chosen(read_scores(self._path))
        values = tuple(one.number for one in found)
        if len(found) != len(segments):
            raise InputError(
                f"{self._path}: has {len(found)} scores{self._whose()}, and there are {len(segments)} segments"
            )
        for one, segment, translation in zip(found, segments, translations, strict=True):
            _refuse_misfit(one, segment, translation)
        content = hashlib.sha256(self._path.read_bytes()).hexdigest()[:12]
        label = self._label or found[0].metric or self._path.name.split(".")[0]
        parts = [f"file:{self._path.name}", f"sha256:{content}", "agg:mean", f"version:{__version__}"]
        return Score(
            metric=label,
            value=math.fsum(values) / len(values),
            segments=values,
            signature="|".join(parts),
            higher_is_better=self.higher_is_better,
            digits=UNIT_DIGITS if all(-1 <= value <= 1 for value in values) else 2,
        )

    def _chosen(self, by_system: dict[str | None, list[Found]]) -> list[Found]:
        """The scores of the system: under its name, or as mt-metrics-eval or a file of translations is called."""
        wanted = self._named or self._system
        names = [str(name) for name in by_system if name is not None]
        if None in by_system:
            if names:
                raise InputError(f"{self._path}: some of its scores name a system ({', '.join(names)}), others do not")
            return self._of_one_metric(by_system[None])
        stems = (name for name in names if Path(name).stem == wanted)
        found = next((name for name in (wanted, plain_name(wanted), *stems) if name in names), None)
        if found is None and not wanted and len(names) == 1:
            found = names[0]
        if found is not None:
            return self._of_one_metric(by_system[found])
        who = repr(wanted) if wanted else "which system"
        raise InputError(f"{self._path}: no scores of {who}; it has those of {', '.join(names)} (system=NAME chooses)")

    def _of_one_metric(self, found: list[Found]) -> list[Found]:
        metrics = list(dict.fromkeys(str(one.metric) for one in found))
        if len(metrics) == 1:
            return found
        if self._label not in metrics:
            raise InputError(f"{self._path}: has scores of {', '.join(metrics)}: choose with label=NAME")
        return [one for one in found if one.metric == self._label]

    def _whose(self) -> str:
        return f" of {self._named or self._system!r}" if self._named or self._system else ""


def _refuse_misfit(found: Found, segment: Segment, translation: str) -> None:
    if found.translation is not None and found.translation.strip() != translation.strip():
        raise InputError(f"{found.where}: was computed for another translation of segment {segment.id!r}")
    if found.segment is not None and found.segment != segment.id:
        raise InputError(f"{found.where}: is about segment {found.segment!r}, where {segment.id!r} should be")
