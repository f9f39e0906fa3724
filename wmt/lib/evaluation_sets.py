"""The sets on which the papers evaluate evaluators, with texts to rate, people's scores, and what is published."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mtagent import Config, Rated, Segment
from mtagent.analysis.agreement import PairedScores, ScorePair, Statistic, paired, system_level
from mtagent.errors import InputError
from mtagent.formats.files import lines_of
from mtagent.formats.ratings import Candidates, Material, side_by_side
from mtagent.jobs.inputs import RatingInputs
from mtagent.jobs.outputs import RatingOutput
from mtagent.text import languages
from wmt import himate_table1, metaeval_ment, metaeval_wmt23
from wmt.lib.data import records, rows, score

Scores = Mapping[tuple[str, str], float | None]
"""Scores by system and segment."""

RATE_MODELS = "GLM-4.6 and GPT-4o, with a search engine"
MINI = "gpt-4o-mini"
AUTHORS_METHODS = {"m-mad": "M-MAD", "gemba-mqm": "GEMBA-MQM", "eaprompt": "EAPrompt"}
"""The methods whose scores come with the M-MAD paper, and what its file calls them."""


class PublishedRow(NamedTuple):
    """A row of a paper's table."""

    table: str
    model: str
    values: tuple[str, ...]
    """As printed, one for each column of the set."""


@dataclass(frozen=True)
class EvaluationSet:
    """Texts with people's scores."""

    name: str
    candidates: tuple[Candidates, ...]
    """In :func:`sample_order`."""
    segments: int
    """How many the published rows are of."""
    human: Scores
    columns: tuple[str, ...]
    digits: tuple[int, ...]
    """The digits after the point that the paper prints in each column."""
    scale: float
    """100 where the paper prints per cent."""
    statistics: Callable[[PairedScores], list[Statistic]]
    """One for each column."""
    published: Mapping[str, tuple[PublishedRow, ...]]
    """By evaluator."""
    authors: Mapping[str, Scores] = field(default_factory=dict)
    """The scores that authors published, by evaluator."""

    def rows_for(self, evaluator: str) -> tuple[PublishedRow, ...]:
        """The published rows of an evaluator: of these options, or else of its name."""
        return self.published.get(evaluator) or self.published.get(evaluator.partition(":")[0], ())

    def paired(self, scores: Scores) -> PairedScores:
        """``scores`` with people's; translations without one of them are left out.

        Raises :class:`mtagent.errors.InputError` if none is left.
        """
        pairs = [ScorePair(*key, value, self.human.get(key)) for key, value in scores.items()]
        return paired(pairs, missing="leave-out")


@dataclass(frozen=True)
class SetInputs(RatingInputs):
    """The texts of a set in place of files: line-aligned files cannot hold texts of several lines."""

    candidates: tuple[Candidates, ...] = ()

    @contextmanager
    def opened(self, config: Config, output: RatingOutput | None = None) -> Iterator[tuple[Material, Config]]:
        """The texts, up to the limit of ``config``. Raises :class:`OutputError` if ``output`` cannot be written."""
        if output is not None:
            output.refuse_unwritable()
        digest = hashlib.sha256()  # of all texts, so that a run with a higher limit is the same run
        for candidates in self.candidates:
            digest.update(candidates.model_dump_json().encode() + b"\n")
        systems = tuple(self.candidates[0].translations)
        inputs = {"set": str(self.source), "systems": list(systems), "texts": digest.hexdigest()}
        yield Material(systems, inputs, lambda: islice(self.candidates, config.limit)), config


def sample_order(segment: Segment) -> bytes:
    """Sorts segments at random, always in the same way, so that the first N are a sample of all."""
    return hashlib.sha256(segment.id.encode()).digest()


def scores_of(ratings: Iterable[Rated]) -> Scores:
    """The scores of ratings; ``None`` for one that failed."""
    scores: dict[tuple[str, str], float | None] = {}
    for rated in ratings:
        scores[rated.system, rated.segment.id] = None if rated.rating is None else rated.rating.score
    return scores


def _ordered(candidates: Iterable[Candidates]) -> tuple[Candidates, ...]:
    return tuple(sorted(candidates, key=lambda candidate: sample_order(candidate.segment)))


# --- MENT


def ment(data: Path) -> EvaluationSet:
    """MENT zh-en: 398 segments, 10 systems, people's scores from 0 to 4."""
    path = data / metaeval_ment.FILE
    candidates = []
    human: dict[tuple[str, str], float | None] = {}
    rate: dict[tuple[str, str], float | None] = {}
    for row in records(path, "seg", "src", "hyp", "rate", "human"):
        name = str(row["seg"])
        segment = Segment(id=name, source=row["src"], source_lang="zh", target_lang="en")
        candidates.append(side_by_side(segment, row["hyp"]))
        for system in row["hyp"]:
            human[system, name] = score(row["human"].get(system), path)
            rate[system, name] = score(row["rate"].get(system), path)
    judges = {
        "gemba-mqm": ("82.2", "97.0", "80.6", "91.6", "46.2", "56.0", "26.8"),
        "gemba-da": ("86.7", "96.5", "87.9", "93.7", "59.1", "70.1", "60.2"),
        "eaprompt": ("82.2", "93.6", "74.5", "91.6", "36.1", "-6.4", "-10.9"),
        "m-mad": ("82.2", "96.3", "83.3", "92.6", "43.9", "39.6", "23.0"),
    }
    table = "RATE, Tables 3 and 7"
    published = {name: (PublishedRow(table, "GPT-4o", values),) for name, values in judges.items()}
    published["rate"] = (PublishedRow(table, RATE_MODELS, metaeval_ment.SYSTEMS + metaeval_ment.SEGMENTS),)
    return EvaluationSet(
        name="MENT zh-en",
        candidates=_ordered(candidates),
        segments=398,
        human=human,
        columns=("sys Acc", "sys r", "sys ρ", "SPA", "seg Acc-t", "seg r", "seg ρ"),
        digits=(1,) * 7,
        scale=100,
        statistics=metaeval_ment.statistics,
        published=published,
        authors={"rate": rate},
    )


# --- WMT22


def wmt22(data: Path) -> EvaluationSet:
    """HiMATE's ZH-EN set: 1,875 segments of HuaweiTSC at WMT22, people's MQM."""
    path = data / himate_table1.FILE
    system = "HuaweiTSC"
    candidates = []
    human: dict[tuple[str, str], float | None] = {}
    for row in records(path, "seg", "src", "hyp", "mqm"):
        segment = Segment(id=str(row["seg"]), source=row["src"], source_lang="zh", target_lang="en")
        candidates.append(side_by_side(segment, {system: row["hyp"]}))
        human[system, segment.id] = score(row["mqm"], path)
    models = (MINI, "qwen2.5-72b-instruct", "qwen-max")  # each method has a row for each of them
    table_1 = {
        "himate": [
            ("0.404", "0.502", "0.0421", "0.0051"),
            ("0.413", "0.498", "0.0281", "0.0028"),
            ("0.425", "0.531", "0.0386", "0.0045"),
        ],
        "m-mad": [
            ("0.350", "0.435", "0.0379", "0.0033"),
            ("0.297", "0.365", "0.0323", "0.0027"),
            ("0.350", "0.425", "0.0417", "0.0050"),
        ],
        "gemba-mqm": [
            ("0.381", "0.464", "0.0755", "0.0131"),
            ("0.407", "0.510", "0.0419", "0.0039"),
            ("0.417", "0.527", "0.0873", "0.0159"),
        ],
    }
    table_2 = {
        "single-agent": [
            ("0.345", "0.417", "0.0427", "0.0042"),
            ("0.341", "0.413", "0.0356", "0.0031"),
            ("0.395", "0.480", "0.0374", "0.0049"),
        ],
        "himate:stages=se": [
            ("0.359", "0.468", "0.1614", "0.0614"),
            ("0.397", "0.489", "0.0572", "0.0172"),
            ("0.409", "0.523", "0.1047", "0.0405"),
        ],
        "himate:stages=se+sr": [
            ("0.370", "0.477", "0.1178", "0.0362"),
            ("0.406", "0.496", "0.0479", "0.0110"),
            ("0.409", "0.517", "0.0925", "0.0326"),
        ],
    }
    published = {}
    for table, methods in (("HiMATE, Table 1", table_1), ("HiMATE, Table 2", table_2)):
        for name, values_by_model in methods.items():
            rows_of_method = []
            for model, values in zip(models, values_by_model, strict=True):
                rows_of_method.append(PublishedRow(table, model, values))
            published[name] = tuple(rows_of_method)
    return EvaluationSet(
        name="WMT22 zh-en, HuaweiTSC",
        candidates=_ordered(candidates),
        segments=1875,
        human=human,
        columns=("Kendall", "Spearman", "MAE", "MSE"),
        digits=himate_table1.DIGITS,
        scale=1,
        statistics=himate_table1.statistics,
        published=published,
    )


# --- WMT23


WMT23_PAIRS = ("en-de", "zh-en", "he-en")
_WMT23_OTHERS = {
    "zh-en": {
        "m-mad": ("M-MAD, Table 2", ("0.933", "0.987", "0.517", "0.577")),
        "gemba-mqm": ("M-MAD, Table 2", ("0.933", "0.986", "0.472", "0.475")),
        "eaprompt": ("M-MAD, Table 2", ("0.876", "0.907", "0.452", "0.516")),
    },
    "he-en": {"m-mad": ("M-MAD, Table 9", ("0.910", "0.972", "0.538", "0.425"))},
}


def wmt23(folder: Path, pair: str, data: Path) -> EvaluationSet:
    """WMT23's metrics task in a ``folder`` of mt-metrics-eval, without references as systems.

    Segments that people did not rate are left out. For en-de, ``data`` has the scores of the M-MAD paper's authors.
    Raises :class:`InputError` if a file is missing, or has another number of lines.
    """
    sources = [line.text for line in lines_of(_file(folder, f"sources/{pair}.txt"))]
    people = _file(folder, f"human-scores/{pair}.mqm.seg.score")
    by_system: dict[str, list[float | None]] = {}
    for line in lines_of(people):
        system, _, value = line.text.partition("\t")
        by_system.setdefault(system, []).append(score(value.strip(), people))
    texts = {}
    human: dict[tuple[str, str], float | None] = {}
    for system, scores in by_system.items():
        if system.startswith(("ref", "synthetic_ref")):
            continue
        path = _file(folder, f"system-outputs/{pair}/{system}.txt")
        texts[system] = [line.text for line in lines_of(path)]
        for where, found in ((path, texts[system]), (people, scores)):
            if len(found) != len(sources):
                raise InputError(f"{where}: {len(found)} segments of {system}, but {len(sources)} sources")
        human |= {(system, str(number)): rating for number, rating in enumerate(scores)}
    source_lang, target_lang = languages.parse_pair(pair)
    candidates = []
    for number, source in enumerate(sources):
        rated = {system: lines[number] for system, lines in texts.items() if human[system, str(number)] is not None}
        if rated:
            segment = Segment(id=str(number), source=source, source_lang=source_lang, target_lang=target_lang)
            candidates.append(side_by_side(segment, rated))
    if not candidates:
        raise InputError(f"{people}: has no score of a system")
    return EvaluationSet(
        name=f"WMT23 {pair}",
        candidates=_ordered(candidates),
        segments=460 if pair == "en-de" else len(candidates),
        human=human,
        columns=("sys Acc", "sys r", "seg Acc-t", "seg r"),
        digits=(3,) * 4,
        scale=1,
        statistics=lambda segments: metaeval_wmt23.statistics(system_level(segments), segments),
        published=_published_at_wmt23(pair),
        authors=_authors_at_wmt23(data / metaeval_wmt23.SEGMENTS) if pair == "en-de" else {},
    )


def _published_at_wmt23(pair: str) -> dict[str, tuple[PublishedRow, ...]]:
    if pair != "en-de":
        others: dict[str, tuple[PublishedRow, ...]] = {}
        for name, (table, values) in _WMT23_OTHERS[pair].items():
            others[name] = (PublishedRow(table, MINI, values),)
        return others
    published: dict[str, tuple[PublishedRow, ...]] = {}
    published["rate"] = (PublishedRow("RATE, Table 5", RATE_MODELS, ("0.985", "0.990", "0.523", "0.389")),)
    for name, metric in AUTHORS_METHODS.items():
        printed = tuple(f"0{value}" for value in metaeval_wmt23.PUBLISHED[metric])
        published[name] = (PublishedRow("M-MAD, Table 2", MINI, printed),)
    return published


def _authors_at_wmt23(path: Path) -> dict[str, Scores]:
    """The authors' scores, if the research data has them."""
    if not path.is_file():
        return {}
    table = rows(path, "system", "seg", *AUTHORS_METHODS.values())
    authors: dict[str, Scores] = {}
    for name, metric in AUTHORS_METHODS.items():
        authors[name] = {(row["system"], row["seg"]): score(row[metric], path) for row in table}
    return authors


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise InputError(
            f"{path}: no such file; --mtme DIR names the folder wmt23 of mt-metrics-eval (github.com/google-research/"
            "mt-metrics-eval, its download has sources, system outputs and people's scores)"
        )
    return path


SETS: Mapping[str, Sequence[str]] = {
    "ment": ("rate", "gemba-mqm", "gemba-da", "eaprompt", "m-mad"),
    "wmt22": ("himate", "m-mad", "gemba-mqm", "single-agent", "himate:stages=se", "himate:stages=se+sr"),
    "wmt23": ("m-mad", "gemba-mqm", "eaprompt", "rate"),
}
"""The sets, and the evaluators of which results on them are published."""
