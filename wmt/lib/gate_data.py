"""The edits of the gate experiment: a system's translations as "before", another's of the same sources as "after"."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from mtagent.learning.gain import Floats, Ints, JudgedPairs, Truths
from mtagent.learning.pairs import block_length
from wmt.lib.data import records, rows, score

T = TypeVar("T")
SystemPair = tuple[str, str]
"""The systems before and after."""

OURS = "IR-MultiagentMT"
"""The submission of Multi-agentMT's authors to WMT25."""
TEACHER = "GPT-4.1"
"""The system of WMT25 whose model also scores: no candidate, since it may favour its own texts."""


class Case(NamedTuple):
    """Edits of one or several pairs of systems, which one gate decides on."""

    name: str
    pairs: tuple[SystemPair, ...]


@dataclass(frozen=True)
class DataSet:
    """Scores by what scores and by system, an entry for each segment; NaN where a system has none.

    ``groups`` numbers the document of each segment, or its block of neighbours where no documents are known. ``target``
    is what gates are calibrated on: people's scores, or what stands in for them; ``reports`` what their effect is
    measured by. ``judges`` decide alone, the sets of them in ``panels`` by their expected gain, learnt from ``sample``
    pairs of each case (0: nothing is calibrated). ``verdicts`` are -1, 0 or +1 of a judge that compares, by pair of
    systems: of both orders (0: they disagree), with the text before shown first, and with the text after shown first.
    """

    name: str
    unit: str
    target: str
    reports: tuple[str, ...]
    judges: tuple[str, ...]
    panels: tuple[tuple[str, ...], ...]
    cases: tuple[Case, ...]
    systems: tuple[str, ...]
    groups: Ints
    scores: dict[str, dict[str, Floats]]
    verdicts: dict[str, dict[SystemPair, Floats]] = field(default_factory=dict)
    sample: int = 200

    def pairs(self, case: Case) -> dict[str, JudgedPairs]:
        """The edits of ``case`` that all judges and scorers know, by scorer; the same edits for each.

        Their groups are renumbered; :meth:`groups_of` gives those of the data set.
        """
        there, scored = self._there(case), {name: self._sides(case, name) for name in (self.target, *self.reports)}
        differences, before = [], []
        for judge in self.judges:
            if judge in self.verdicts:
                differences.append(np.concatenate([self.verdicts[judge][pair] for pair in case.pairs]))
                before.append(np.full(len(there), np.nan))
            else:
                old, new = self._sides(case, judge)
                differences.append(new - old)
                before.append(old)
        of_judges = [np.stack(columns, axis=1)[there] for columns in (differences, before)]
        groups = self.groups_of(case)
        return {
            name: JudgedPairs(self.judges, of_judges[0], old[there], new[there], groups, of_judges[1])
            for name, (old, new) in scored.items()
        }

    def segments_for(self, sample: int) -> int:
        """How many segments have ``sample`` edits of each case."""
        return math.ceil(sample / min(len(case.pairs) for case in self.cases))

    def groups_of(self, case: Case) -> Ints:
        """The number of the group of each edit of ``case``."""
        return np.tile(self.groups, len(case.pairs))[self._there(case)]

    def _sides(self, case: Case, name: str) -> tuple[Floats, Floats]:
        old, new = (np.concatenate([self.scores[name][pair[side]] for pair in case.pairs]) for side in (0, 1))
        return old, new

    def _there(self, case: Case) -> Truths:
        names = {self.target, *self.reports, *self.judges} - set(self.verdicts)
        sides = np.stack([side for name in sorted(names) for side in self._sides(case, name)])
        return np.asarray(~np.isnan(sides).any(axis=0))


def ment(folder: Path) -> list[DataSet]:
    """MENT zh-en: people's score and RATE's, 0 to 4.

    "Worse -> better" are the pairs in which people find the second system better on average: edits by someone who
    knows better.
    """
    path = folder / "ment_zh-en.jsonl"
    segments = records(path, "human", "rate")
    systems = tuple(segments[0]["human"])
    scores = {
        name: {system: _column((segment[key].get(system) for segment in segments), path) for system in systems}
        for name, key in (("human", "human"), ("RATE", "rate"))
    }
    ranked = sorted(systems, key=lambda system: float(np.nanmean(scores["human"][system])))
    up = tuple((before, after) for place, before in enumerate(ranked) for after in ranked[place + 1 :])
    down = tuple((after, before) for before, after in up)
    directions = {"worse -> better system": up, "better -> worse system": down, "both ways": (*up, *down)}
    cases = tuple(Case(name, pairs) for name, pairs in directions.items())
    groups = np.arange(len(segments)) // block_length(len(segments))
    return [
        DataSet(
            "MENT zh-en", "points 0-4", "human", ("human",), ("RATE",), (("RATE",),), cases, systems, groups, scores
        )
    ]


def wmt23(folder: Path) -> list[DataSet]:
    """WMT23 en-de: people's MQM, and two judges that see no reference; each pair of systems once.

    The other direction of a pair would repeat it: the lead of its gate is nearly the same. Each system is before about
    as often as after, since a tie keeps the text before.
    """
    judges = ("GEMBA-MQM", "CometKiwi")
    path = folder / "wmt23_en-de_seg_scores.tsv"
    cells = [row for row in rows(path, "system", "seg", "mqm", *judges) if row["system"] != "refA"]
    systems, numbers = tuple(dict.fromkeys(row["system"] for row in cells)), _numbers(row["seg"] for row in cells)
    scores = _by_system(cells, path, ("mqm", *judges), systems, lambda row: numbers[row["seg"]], len(numbers))
    panels = ((judges[0],), (judges[1],), judges)
    groups = np.arange(len(numbers)) // block_length(len(numbers))
    cases = []
    for one, other in combinations(range(len(systems)), 2):
        before, after = (one, other) if (other - one) % 2 else (other, one)
        pair = systems[before], systems[after]
        cases.append(Case(" -> ".join(pair), (pair,)))
    return [DataSet("WMT23 en-de", "MQM", "mqm", ("mqm",), judges, panels, tuple(cases), systems, groups, scores)]


def wmt25(folder: Path) -> list[DataSet]:
    """WMT25's paragraphs in all language pairs; GEMBA-ESA by GPT-4.1 stands in for people.

    A group is a source document with its translations into all languages: what makes it hard does so in each of them.
    """
    target, judges = "GEMBA-ESA-GPT4.1", ("GEMBA-ESA-CMDA", "CometKiwi-XL")
    reports = (target, "XCOMET-XL", "MetricX-24-Hybrid-XL")
    path = folder / "wmt25_paragraph_scores.tsv"
    cells = rows(path, "lp", "document", "paragraph", "system", *reports, *judges)
    places = _numbers((row["lp"], row["document"], row["paragraph"]) for row in cells)
    documents = _numbers((lp.partition("-")[0], document) for lp, document, _ in places)
    systems = tuple(dict.fromkeys(row["system"] for row in cells))

    def place(row: dict[str, str]) -> int:
        return places[row["lp"], row["document"], row["paragraph"]]

    scores = _by_system(cells, path, (*reports, *judges), systems, place, len(places))
    groups = np.array([documents[lp.partition("-")[0], document] for lp, document, _ in places])
    cases = tuple(Case(f"{system} -> {OURS}", ((system, OURS),)) for system in systems if system != OURS)
    panels = ((judges[0],), (judges[1],), judges)
    return [DataSet("WMT25", "GEMBA-ESA 0-100", target, reports, judges, panels, cases, systems, groups, scores)]


def people(folder: Path) -> list[DataSet]:
    """WMT25's scores by people, and whether a model preferred the text after to that before, asked in both orders.

    A data set for each language, in which any text of a segment is the edit of any other. The order of a segment's
    texts is random: a place in the list is not a system.
    """
    path = folder / "real" / "wmt25_human_scores.jsonl"
    compared = [row for row in records(path, "target_lang", "doc_id", "human_scores") if row.get("pairwise_winloss")]
    sets = []
    for language in dict.fromkeys(row["target_lang"] for row in compared):
        segments = [row for row in compared if row["target_lang"] == language]
        documents = _numbers(row["doc_id"].rpartition("_#_")[0] for row in segments)
        groups = np.array([documents[row["doc_id"].rpartition("_#_")[0]] for row in segments])
        texts = tuple(f"text {place + 1}" for place in range(len(segments[0]["human_scores"])))
        human = {
            text: _column((row["human_scores"][place] for row in segments), path) for place, text in enumerate(texts)
        }
        first: dict[SystemPair, Floats] = {}  # with the text before shown first
        for (before, one), (after, other) in permutations(list(zip(texts, range(len(texts)), strict=True)), 2):
            first[before, after] = -_column((row["pairwise_winloss"][one][other] for row in segments), path)
        second = {(before, after): -first[after, before] for before, after in first}
        both = {pair: np.where(first[pair] == second[pair], first[pair], 0.0) for pair in first}
        judge = "/".join(dict.fromkeys(row["pairwise_judge"] for row in segments))
        names = (judge, f"{judge}, before first", f"{judge}, after first")
        data = DataSet(
            f"WMT25 en-{language}, people's scores", "ESA 0-100", "human", ("human",), names[:1], (),
            (Case("any text -> any other of its segment", tuple(first)),), texts, groups, {"human": human},
            dict(zip(names, (both, first, second), strict=True)), sample=0,
        )  # fmt: skip
        sets.append(data)
    return sets


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


def _column(values: Iterable[str | float | None], path: Path) -> Floats:
    return np.array([_number(value, path) for value in values])


def _number(value: str | float | None, path: Path) -> float:
    number = score(value, path)
    return math.nan if number is None else number


def _numbers(keys: Iterable[T]) -> dict[T, int]:
    return {key: number for number, key in enumerate(dict.fromkeys(keys))}


DATA: dict[str, tuple[str, Callable[[Path], list[DataSet]]]] = {
    "ment": ("ment_zh-en.jsonl", ment),
    "wmt23": ("wmt23_en-de_seg_scores.tsv", wmt23),
    "wmt25": ("wmt25_paragraph_scores.tsv", wmt25),
    "people": ("real/wmt25_human_scores.jsonl", people),
}
"""File and reader by name."""
