"""The edits of the gate experiment: a system's translations as "before", another's of the same sources as "after"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from mtagent.analysis.gate_calibration import Edits, Floats, Ints
from wmt.data import records, rows, score

T = TypeVar("T")

OURS = "IR-MultiagentMT"
"""The submission of Multi-agentMT's authors to WMT25."""


class Scores(NamedTuple):
    """A data set: scores by what scores and by system, an entry for each segment; NaN where a system has none.

    ``groups`` numbers the document of each segment, or the segment where no documents are known. ``target`` is what
    the gate is calibrated on: people's scores, or what stands in for them.
    """

    name: str
    unit: str
    target: str
    judges: tuple[str, ...]
    reports: tuple[str, ...]
    systems: tuple[str, ...]
    groups: Ints
    scores: dict[str, dict[str, Floats]]


class Case(NamedTuple):
    """Edits of several pairs of systems, by one judge."""

    data: str
    judge: str
    name: str
    pairs: tuple[tuple[str, str], ...]


def edits(data: Scores, case: Case, report: str) -> Edits:
    """The edits of ``case`` with the scores of ``report`` as people's; segments that a system lacks are left out."""
    judge, human = data.scores[case.judge], data.scores[report]
    columns = [
        np.concatenate([scores[pair[side]] for pair in case.pairs]) for scores in (judge, human) for side in (0, 1)
    ]
    there = ~np.isnan(columns).any(axis=0)
    groups = np.tile(data.groups, len(case.pairs))[there]
    old_judge, new_judge, old_human, new_human = (column[there] for column in columns)
    return Edits(old_judge, new_judge, old_human, new_human, groups)


def ment(folder: Path) -> Scores:
    """MENT zh-en: people's score and RATE's, 0 to 4."""
    path = folder / "ment_zh-en.jsonl"
    segments = records(path, "human", "rate")
    systems = tuple(segments[0]["human"])
    scores = {
        name: {
            system: np.array([_number(segment[key].get(system), path) for segment in segments]) for system in systems
        }
        for name, key in (("human", "human"), ("RATE", "rate"))
    }
    return Scores("MENT zh-en", "RATE 0-4", "human", ("RATE",), (), systems, np.arange(len(segments)), scores)


def wmt23(folder: Path) -> Scores:
    """WMT23 en-de: people's MQM, and four judges; without the reference."""
    judges = ("M-MAD", "GEMBA-MQM", "EAPrompt", "CometKiwi")
    path = folder / "wmt23_en-de_seg_scores.tsv"
    cells = [row for row in rows(path, "system", "seg", "mqm", *judges) if row["system"] != "refA"]
    systems, numbers = tuple(dict.fromkeys(row["system"] for row in cells)), _numbers(row["seg"] for row in cells)
    scores = _by_system(cells, path, ("mqm", *judges), systems, lambda row: numbers[row["seg"]], len(numbers))
    return Scores("WMT23 en-de", "MQM", "mqm", judges, (), systems, np.arange(len(numbers)), scores)


def wmt25(folder: Path) -> Scores:
    """WMT25's paragraphs in all language pairs; GEMBA-ESA by GPT-4.1 stands in for people.

    A group is a source document with its translations into all languages: what makes it hard does so in each of them.
    """
    target, judges = "GEMBA-ESA-GPT4.1", ("GEMBA-ESA-CMDA", "CometKiwi-XL")
    reports = ("XCOMET-XL", "MetricX-24-Hybrid-XL", *judges)
    path = folder / "wmt25_paragraph_scores.tsv"
    cells = rows(path, "lp", "document", "paragraph", "system", target, *reports)
    places = _numbers((row["lp"], row["document"], row["paragraph"]) for row in cells)
    documents = _numbers((lp.partition("-")[0], document) for lp, document, _ in places)
    systems = tuple(dict.fromkeys(row["system"] for row in cells))

    def place(row: dict[str, str]) -> int:
        return places[row["lp"], row["document"], row["paragraph"]]

    scores = _by_system(cells, path, (target, *reports), systems, place, len(places))
    groups = np.array([documents[lp.partition("-")[0], document] for lp, document, _ in places])
    return Scores("WMT25", "GEMBA-ESA 0-100", target, judges, reports, systems, groups, scores)


DATA: dict[str, tuple[str, Callable[[Path], Scores]]] = {
    "ment": ("ment_zh-en.jsonl", ment),
    "wmt23": ("wmt23_en-de_seg_scores.tsv", wmt23),
    "wmt25": ("wmt25_paragraph_scores.tsv", wmt25),
}
"""File and reader by name."""


def cases(data: Scores) -> list[Case]:
    """The cases of a data set: edits of one system for WMT25; else all pairs of systems, up, down and both ways.

    "Up" are the pairs in which people find the second system better on average: edits by someone who knows better.
    """
    all_cases = []
    for judge in data.judges:
        if OURS in data.systems:
            all_cases += [
                Case(data.name, judge, f"{system} -> {OURS}", ((system, OURS),))
                for system in data.systems
                if system != OURS
            ]
            continue
        up = ranked_pairs(data)
        down = tuple((after, before) for before, after in up)
        ways = {"worse -> better system": up, "better -> worse system": down, "both ways": (*up, *down)}
        all_cases += [Case(data.name, judge, name, pairs) for name, pairs in ways.items()]
    return all_cases


def ranked_pairs(data: Scores) -> tuple[tuple[str, str], ...]:
    """All pairs of systems, the one that people find worse first."""
    ranked = sorted(data.systems, key=lambda system: float(np.nanmean(data.scores[data.target][system])))
    return tuple((before, after) for place, before in enumerate(ranked) for after in ranked[place + 1 :])


def _by_system(
    cells: Sequence[dict[str, str]],
    path: Path,
    names: Sequence[str],
    systems: Sequence[str],
    place: Callable[[dict[str, str]], int],
    size: int,
) -> dict[str, dict[str, Floats]]:
    scores = {name: {system: np.full(size, np.nan) for system in systems} for name in names}
    for row in cells:
        for name in names:
            scores[name][row["system"]][place(row)] = _number(row[name], path)
    return scores


def _number(value: str | float | None, path: Path) -> float:
    number = score(value, path)
    return math.nan if number is None else number


def _numbers(keys: Iterable[T]) -> dict[T, int]:
    return {key: number for number, key in enumerate(dict.fromkeys(keys))}
