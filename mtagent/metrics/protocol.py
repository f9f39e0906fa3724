"""What a metric is, and the metrics by name: from ``bleu:tokenize=intl,chrf,ter`` to the objects that score."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mtagent.config import parse_spec, typed_options
from mtagent.errors import ConfigError
from mtagent.records import Score, Segment

Counts = NDArray[np.float64]


class SegmentWithReferences(Segment):
    """A segment with several references, of which ``reference`` is the first one."""

    more_references: tuple[str, ...]


@runtime_checkable
class Metric(Protocol):
    """Scores the translations of one system: BLEU, COMET.

    A metric that compares with several references at once has ``references = "several"`` and finds them in
    :class:`SegmentWithReferences`; one that compares with none has ``references = "none"``. Other metrics are refused
    where there are several.
    """

    name: str
    higher_is_better: bool

    def score(self, segments: Sequence[Segment], translations: Sequence[str]) -> Score:
        """Score ``translations``, one for each of ``segments``, including empty and wrong ones.

        Raises :class:`mtagent.errors.MtagentError` if a segment cannot be scored; none is left out.
        """
        ...


@runtime_checkable
class Additive(Metric, Protocol):
    """A metric with a score that is a function of summed counts, which makes resampling fast."""

    def statistics(self, segments: Sequence[Segment], translations: Sequence[str]) -> Counts:
        """A row of counts for each segment."""
        ...

    def combined(self, sums: Counts) -> Counts:
        """The score of each row of summed counts."""
        ...


@runtime_checkable
class CountsTogether(Metric, Protocol):
    """A metric that reads each reference only once if it knows the texts of all systems from the start."""

    def count(self, segments: Sequence[Segment], systems: Sequence[Sequence[str]]) -> None:
        """Count the texts of all ``systems``, which are scored afterwards."""
        ...


@runtime_checkable
class WarnsOfTokenized(Metric, Protocol):
    """A metric that warns of tokenized texts once, if it knows the names of all systems from the start."""

    def warn_of_tokenized(self, texts: Mapping[str, Sequence[str]]) -> None:
        """Warn of the systems whose ``texts`` are tokenized. Scoring them does not warn again."""
        ...


@runtime_checkable
class BySystem(Metric, Protocol):
    """A metric that needs the name of the system that it scores, because another tool computed the scores."""

    def each(self, systems: Sequence[str]) -> list[Metric]:
        """A metric for each of ``systems``. Raises :class:`mtagent.errors.MtagentError`."""
        ...


@runtime_checkable
class HeavyMetric(Metric, Protocol):
    """A metric that holds much memory between scores, such as a large model."""

    def release(self) -> None:
        """Free the memory. Scoring again is possible, but slower."""
        ...


def for_systems(metric: Metric, systems: Sequence[str]) -> list[Metric]:
    """A metric for each of ``systems``: the same one, unless it needs the name of the system."""
    if isinstance(metric, BySystem):
        return metric.each(systems)
    return [metric] * len(systems)


# By name

METRICS = {
    "bleu": "mtagent.metrics.overlap:bleu",
    "chrf": "mtagent.metrics.overlap:chrf",
    "chrf++": "mtagent.metrics.overlap:chrf_plus_plus",
    "ter": "mtagent.metrics.overlap:ter",
    "comet": "mtagent.metrics.comet:comet",
    "cometkiwi": "mtagent.metrics.comet:cometkiwi",
    "xcomet": "mtagent.metrics.comet:xcomet",
    "qe-e5": "mtagent.metrics.qe_e5:QeE5",
    "scores-file": "mtagent.metrics.scores_file:ScoresFile",
}
"""By name, the module and the class or function that makes the metric. It gets its options as keywords, and
``target_lang`` and ``comet_python`` if it has such parameters. Other packages add metrics through the entry-point group
``mtagent.metrics``."""

_NEXT_METRIC = re.compile(r",(?!\s*[A-Za-z][\w-]*=)")


def make_metrics(specs: Sequence[str | Metric], target_lang: str, *, comet_python: Path | None = None) -> list[Metric]:
    """The metrics that ``specs`` name, each once: objects, or ``NAME[:OPTION=VALUE,…]`` separated by commas.

    ``comet_python`` runs COMET. Raises :class:`ConfigError` naming the culprit.
    """
    metrics: list[Metric] = []
    for metric in each_once(specs):
        if isinstance(metric, str):
            metric = make_metric(metric, target_lang, comet_python=comet_python)
        metrics.append(metric)
    return metrics


def each_once(specs: Sequence[str | Metric]) -> list[str | Metric]:
    """The metrics of ``specs`` one by one."""
    metrics: dict[str | Metric, None] = {}
    for spec in specs:
        if not isinstance(spec, str):
            metrics[spec] = None
            continue
        for name in _NEXT_METRIC.split(spec):
            if name.strip():
                metrics[name.strip()] = None
    if specs and not metrics:
        raise ConfigError(f"no metric is named; choose from: {', '.join(metric_names())}")
    return [*metrics]


def make_metric(spec: str, target_lang: str, *, comet_python: Path | None = None) -> Metric:
    """The metric that ``NAME[:OPTION=VALUE,…]`` names. Raises :class:`ConfigError`."""
    name, options = parse_spec(spec)
    others = {entry.name: entry for entry in entry_points(group="mtagent.metrics")}
    kind: Any
    if name in METRICS:
        module, _, attribute = METRICS[name].partition(":")
        kind = getattr(import_module(module), attribute)
    elif name in others:
        kind = others[name].load()
    else:
        hint = f"choose from: {', '.join(metric_names())}"
        near = get_close_matches(name, metric_names(), n=1)
        if near:
            hint = f"did you mean {near[0]!r}?"
        raise ConfigError(f"unknown metric {name!r}; {hint}")
    parameters = inspect.signature(kind).parameters
    needed: dict[str, object] = {}
    if "target_lang" in parameters:
        needed["target_lang"] = target_lang
    if "comet_python" in parameters:
        needed["comet_python"] = comet_python
    return cast(Metric, kind(**needed, **typed_options(f"metric {name}", kind, options)))


def metric_names() -> list[str]:
    """All names, including metrics of other packages."""
    names_of_others = {entry.name for entry in entry_points(group="mtagent.metrics")}
    return [*METRICS, *sorted(names_of_others - set(METRICS))]
