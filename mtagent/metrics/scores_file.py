"""The ``scores-file`` metric: scores of the segments that another tool computed, such as COMET elsewhere."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from mtagent import __version__
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import refuse_pipe
from mtagent.formats.ratings.mtme import plain_name
from mtagent.metrics.score_formats import Found, read_scores
from mtagent.protocols import Metric
from mtagent.records import Score, Segment
from mtagent.records.ratings import UNIT_DIGITS

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
