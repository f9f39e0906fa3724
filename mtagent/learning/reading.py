"""Judged pairs and rated texts in files: scores of judges and of people, in separate files or in one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from mtagent.analysis.matching import Inputs as ScoreInputs
from mtagent.analysis.matching import Match, match, read_sides
from mtagent.analysis.mtme_folder import is_metric
from mtagent.analysis.scores import (
    NO_SCORE,
    ScoreFile,
    ScoreRow,
    SegmentInfo,
    Side,
    TranslationKey,
    joined_about,
    read_table,
    score_in,
    text_in,
)
from mtagent.chain.calibration import Source
from mtagent.errors import ConfigError, InputError
from mtagent.formats.exports import plain_name
from mtagent.formats.files import lines_of, sha256, spooled_copies
from mtagent.formats.ratings import FINAL, GIVEN
from mtagent.learning.pairs import (
    JudgedData,
    JudgedPair,
    Label,
    RatedText,
    averaged,
    group_of,
    mean_label,
    without_zeros,
)
from mtagent.records import Choice, Judgement, Segment, comparable
from mtagent.store.store import default_path

LABELS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
"""What a column ``error_free`` may hold."""
PREFERENCES: dict[str, Choice] = {"before": "before", "after": "after", "same": "tie", "tie": "tie"}
"""What people or a judge that compares may prefer."""
_INCOMPLETE = "edits without all scores"


@dataclass(frozen=True)
class JudgedInputs:
    """Where scores are read: from one table (``both``), or from ``scores`` of judges and people."""

    scores: ScoreInputs
    both: Path | None = None
    judges: tuple[str, ...] = ()
    """The names of the judges, in this order."""
    documents: Path | None = None
    """Each line names the document of a segment in its last column, as in the ``.docs`` files of mt-metrics-eval."""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """Edits lead from the systems ``before`` to the systems ``after``."""

    def __post_init__(self) -> None:
        has_ratings = bool(self.scores.files or self.scores.runs or self.scores.folder)
        only_for_ratings = (self.scores.human, self.scores.item, self.documents, self.before, self.after)
        if self.both is not None and (has_ratings or any(only_for_ratings)):
            raise ConfigError("--pairs has the scores of judges and people: leave the other options out")
        if self.both is None and not has_ratings:
            raise ConfigError(
                "a calibration needs the judges' scores (-e, --run or --mtme) and people's (--human), or --pairs"
            )
        for name, number in Counter(self.judges).items():
            if number > 1:
                raise ConfigError(f"--judge {name}: is named twice")

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them."""
        paths = {}
        if self.both is not None:
            paths["--pairs"] = self.both
        if self.documents is not None:
            paths["--documents"] = self.documents
        return paths | self.scores.paths

    @property
    def kept(self) -> dict[str, Path]:
        """All files that must not be overwritten: the inputs and the store."""
        return self.paths | {"--store": self.scores.store or default_path()}

    def read(self) -> JudgedData:
        """All of it. Raises :class:`InputError` with file and line."""
        with spooled_copies(self.paths) as copies:
            if "--pairs" in copies:
                data = read_pairs(copies["--pairs"], self.judges)
            else:
                data = self._read_scores(self.scores.reading(copies), copies.get("--documents"))
            sources = []
            for option, path in self.paths.items():
                name = option.partition(" ")[0]
                sources.append(Source(option=name, name=path.name, sha256=sha256(copies[option])))
            return replace(data, sources=(*sources, *data.sources))

    def _read_scores(self, scores: ScoreInputs, documents: Path | None) -> JudgedData:
        """The scores of judges and people, in files, runs or a folder."""
        human, sides = read_sides(replace(scores, metrics=self.judges, chosen_by="--judge"))
        if self.judges:
            sides = [_named(sides, name) for name in self.judges]
        elif len(sides) > 1:
            raise InputError(
                f"{sides[-1].origin}: there are {', '.join(side.name for side in sides)}: choose with --judge "
                "(several: a panel), or give them the same name with -e NAME=FILE"
            )
        data = with_edits(side_by_side(sides, human, documents), self.before, self.after)
        sources = []
        for run in self.scores.runs:
            sources.append(Source(option="--run", name=run))
        if self.scores.folder is not None:
            for side in (*sides, human):
                path = Path(side.origin)
                if self.scores.folder in path.parents:
                    sources.append(Source(option="--mtme", name=path.name, sha256=sha256(path)))
        return replace(data, sources=tuple(sources))


# Scores of judges and of people, in separate files


def _named(sides: Sequence[Side], name: str) -> Side:
    """The judge of this name, with or without the reference that it saw."""
    exact, with_reference = list[Side](), list[Side]()
    for side in sides:
        if side.name == name:
            exact.append(side)
        elif is_metric(side.name, name):
            with_reference.append(side)
    fitting = exact or with_reference
    if len(fitting) != 1:
        raise InputError(f"--judge {name}: is the name of {', '.join(side.name for side in fitting)}; name one")
    return fitting[0]


def side_by_side(judges: Sequence[Side], human: Side, documents: Path | None = None) -> JudgedData:
    """Every text that people and a judge could have scored.

    ``documents`` names the document of each segment, in the order of the first judge. Texts that one side did not score
    are counted. Raises :class:`InputError` if the sides have no system in common, different numbers of texts without
    ids, or rated different texts.
    """
    matches = [match(judge, human, missing="leave-out") for judge in judges]
    human_scores: dict[TranslationKey, float | None] = {}
    scores = list[dict[TranslationKey, float | None]]()
    sides = list[Side]()
    rated, remarks, unknown = set[TranslationKey](), list[str](), 0
    for judge, matched in zip(judges, matches, strict=True):
        sides += (matched.evaluator, matched.human)
        rated.update(matched.evaluator.segments)
        scores.append({})
        for row in matched.rows:
            key = TranslationKey(row.system, row.item)
            human_scores[key] = row.human
            scores[-1][key] = row.evaluator
        remarks += _remarks(matched)
        unknown = max(unknown, len(judge.segments) - len(matched.evaluator.segments))
    about = joined_about(sides)
    if documents is not None:
        for item, document in _documents(documents, matches[0].evaluator).items():
            about[item] = about.get(item, SegmentInfo())._replace(document=document)
    segments: dict[str, Segment] = {}
    texts = []
    for key, score in human_scores.items():
        if key not in rated:
            continue
        if key.item not in segments:
            segments[key.item] = about.get(key.item, SegmentInfo()).segment(key.item)
        judge_scores = tuple(of_judge.get(key) for of_judge in scores)
        marks = human.segments.get(key, NO_SCORE).errors
        marked = None if marks is None else bool(marks)
        texts.append(RatedText(key.system, segments[key.item], judge_scores, score, marked))
    left_out = {
        "texts of systems that people did not score": unknown,
        "human scores of texts that no judge scored": len(human_scores) - len(texts),
    }
    for place, judge in enumerate(judges):
        left_out[f"texts without a score of {judge.name}"] = _unscored(texts, place)
    left_out["texts without a human score"] = sum(text.human is None for text in texts)
    language_pairs, domains = dict[str, None](), dict[str, None]()
    for info in about.values():
        if info.pair:
            language_pairs[info.pair] = None
        if info.domain:
            domains[info.domain] = None
    return JudgedData(
        judges=tuple(judge.name for judge in judges),
        texts=tuple(texts),
        signatures=tuple(map(signed, judges)),
        language_pairs=tuple(language_pairs),
        domains=tuple(domains),
        left_out=without_zeros(left_out),
        remarks=tuple(remarks),
    )


def with_edits(data: JudgedData, before: Sequence[str], after: Sequence[str]) -> JudgedData:
    """The texts as pairs: from each system ``before`` to each system ``after``; of a chain from given to final.

    Raises :class:`ConfigError` for an unknown system, or if only one side is named.
    """
    systems = list(dict.fromkeys(text.system for text in data.texts))
    if not before and not after and GIVEN in systems and FINAL in systems:
        before, after = (GIVEN,), (FINAL,)
    if bool(before) != bool(after):
        raise ConfigError("an edit has a text before and a text after: name both systems with --before and --after")
    if not before:
        return data
    names = dict(zip(map(plain_name, systems), systems, strict=True))
    names |= dict(zip(systems, systems, strict=True))
    for name in (*before, *after):
        if name not in names:
            raise ConfigError(f"there is no system {name!r} with human scores; there are: {', '.join(systems)}")
    by_key = {TranslationKey(text.system, text.segment.id): text for text in data.texts}
    pairs, incomplete = list[JudgedPair](), 0
    for name_before, name_after in product(before, after):
        system_before, system_after = names[name_before], names[name_after]
        if system_before == system_after:
            continue
        for old in data.texts:
            if old.system != system_before:
                continue
            new = by_key.get(TranslationKey(system_after, old.segment.id))
            if new is None:
                incomplete += 1
                continue
            judgements = []
            for judge, score_before, score_after in zip(data.judges, old.scores, new.scores, strict=True):
                judgements.append(Judgement(judge=judge, before=score_before, after=score_after))
            label = Label(old.human, new.human, has_scores=True)
            pair = JudgedPair(
                old.segment,
                group_of(old.segment),
                judgements=tuple(judgements),
                systems=(system_before, system_after),
                label=label,
            )
            pairs.append(pair)
            incomplete += not pair.is_complete
    return replace(data, pairs=tuple(pairs), left_out=without_zeros({**data.left_out, _INCOMPLETE: incomplete}))


def _unscored(texts: Sequence[RatedText], place: int) -> int:
    """How many texts the judge at ``place`` gave no score."""
    return sum(text.scores[place] is None for text in texts)


def signed(judge: Side) -> str:
    """The signature of the ratings; empty if they have none.

    Raises :class:`InputError` if they are by two evaluators.
    """
    first = ""
    for signature, where in judge.signatures.items():
        if not signature:
            continue
        first = first or signature
        if comparable(signature) != comparable(first):
            raise InputError(
                f"{where}: was rated by {signature}, and {judge.signatures[first]} by {first}: a judge is a single "
                "evaluator; give them different names with -e NAME=FILE"
            )
    return first


def _documents(path: Path, judge: Side) -> dict[str, str]:
    """The document of each segment, in the order of ``judge``."""
    names = []
    for line in lines_of(path):
        if line.text.lstrip().startswith("{"):
            raise InputError(
                f"{path}:{line.number}: a line names a document, as in mt-metrics-eval's .docs; this one is JSON"
            )
        names.append(line.text.rpartition("\t")[2])
    items = list(dict.fromkeys(key.item for key in judge.segments))
    if len(names) != len(items):
        raise InputError(
            f"--documents: has {len(names)} lines, and {judge.origin} {len(items)} segments; there must be one for "
            "each, in the same order"
        )
    places = {item: place for place, item in enumerate(items)}
    for system in judge.names():
        order = [places[key.item] for key in judge.of_system(system)]
        if order != sorted(order):
            raise InputError(
                f"--documents: a line is a segment in the order of {judge.origin}, where those of system {system!r} "
                "have another order than others: give the documents in a column `document` there"
            )
    return dict(zip(items, names, strict=True))


def _remarks(matched: Match) -> Iterator[str]:
    """Warnings about ratings without a signature, and about a judge compared with itself."""
    judge = matched.evaluator
    if "" in judge.signatures and len(judge.signatures) > 1:
        yield f"{judge.signatures['']}: not signed, and taken for a rating of the evaluator that signed others"
    signatures = set(map(comparable, filter(None, judge.signatures)))
    human_signatures = set(map(comparable, filter(None, matched.human.signatures)))
    if signatures & human_signatures or matched.same_scores:
        yield f"{judge.name}: the human scores are its own: a judge compared with itself looks better than it is"


# Judges and people in one table


def read_pairs(path: Path, judges: Sequence[str] = ()) -> JudgedData:
    """The texts and pairs of a file, with the scores of ``judges``; a single one's columns may be called ``judge``.

    Raises :class:`InputError`.
    """
    table = read_table(path)
    columns = tuple(judges) if len(judges) > 1 else ("judge",)
    if len(judges) == 1 and not {judges[0], f"{judges[0]}_before"}.isdisjoint(table.names):
        columns = (judges[0],)
    documents: dict[str, str] = {}
    has_preferences = False
    for row in table.rows:
        segment_id, document = text_in(row, "id"), text_in(row, "document")
        if segment_id is not None and document is not None:
            documents[segment_id] = document
        has_preferences |= text_in(row, "human") in PREFERENCES
    texts, pairs = list[RatedText](), list[JudgedPair]()
    labels = list[list[Label]]()  # of each pair, by several annotators where there are several
    places: dict[tuple[object, ...], int] = {}
    for number, row in enumerate(table.rows, start=1):
        segment_id = text_in(row, "id") or str(number)
        document = text_in(row, "document") or documents.get(segment_id)
        segment = SegmentInfo(document=document).segment(segment_id)
        is_text = "error_free" in row.values or ("human" in row.values and not has_preferences)
        if is_text:
            texts.append(_text_in(row, columns, segment))
            continue
        pair = _pair_in(row, columns, segment)
        place = len(pairs)
        # Scores without the texts may be of several edits of a segment.
        if has_preferences or (pair.before and pair.after):
            edit = (segment.id, pair.before, pair.after, pair.scores_before, pair.differences)
            place = places.setdefault(edit, place)
        if place == len(pairs):
            pairs.append(pair)
            labels.append([])
        labels[place].append(pair.label)
    for place, of_pair in enumerate(labels):
        pairs[place] = replace(pairs[place], label=mean_label(of_pair))
        texts += pairs[place].texts
    annotated_again = sum(len(of_pair) > 1 for of_pair in labels)
    signatures = tuple(_signature_in(table, column, alone=len(columns) == 1) for column in columns)
    evaluator = _evaluator_in(table, judges, columns)
    left_out = {}
    for place, column in enumerate(columns):
        unscored = _unscored(texts, place)
        if unscored < len(texts):  # otherwise the judge compares, or there are no texts
            left_out[f"texts without a score of {column}"] = unscored
    left_out["texts without a human score"] = sum(not text.is_labelled for text in texts)
    left_out[_INCOMPLETE] = sum(not pair.is_complete for pair in pairs)
    return JudgedData(
        judges=tuple(judges) or (evaluator or signatures[0].partition("|")[0] or "judge",),
        texts=tuple(texts),
        pairs=tuple(pairs) if pairs else None,
        signatures=signatures,
        left_out=without_zeros(left_out),
        remarks=(averaged(annotated_again),) if annotated_again else (),
        people="preferences" if has_preferences else "",
    )


def _evaluator_in(table: ScoreFile, judges: Sequence[str], columns: Sequence[str]) -> str:
    """The evaluator that the table names in a column; empty where it names none."""
    names = list[str]()
    for row in table.rows:
        name = text_in(row, "evaluator")
        if name and name not in names:
            names.append(name)
    if not names:
        return ""
    if len(names) > 1:
        raise InputError(f"{table.path}: holds scores of {', '.join(names)}: a column is of a single evaluator")
    if columns == ("judge",) and judges and judges[0] not in names:
        raise InputError(f"{table.path}: --judge {judges[0]}: the scores are those of {names[0]}")
    return names[0]


def _signature_in(table: ScoreFile, column: str, *, alone: bool) -> str:
    """The signature of the scores in ``column``; empty if they have none."""
    places: dict[str, str] = {}
    for row in table.rows:
        signature = text_in(row, f"{column}_signature")
        if signature is None and alone:
            signature = text_in(row, "signature")
        places.setdefault(signature or "", row.where)
    return signed(Side(column, str(table.path), "", signatures=places))


def _text_in(row: ScoreRow, columns: Sequence[str], segment: Segment) -> RatedText:
    """A row with one text: a score of each judge, and people's score or label."""
    for column in columns:
        if column not in row.values:
            raise _neither(row, column)
    label = None
    value = text_in(row, "error_free")
    if value is not None:
        label = LABELS.get(value.strip().casefold())
        if label is None:
            raise InputError(f"{row.where}: error_free is {value[:20]!r}; write yes or no")
    scores = tuple(score_in(row, column) for column in columns)
    return RatedText("", segment, scores, score_in(row, "human"), label=label)


def _pair_in(row: ScoreRow, columns: Sequence[str], segment: Segment) -> JudgedPair:
    """A row with an edit: scores of each judge before and after, or its preference; and people's, likewise."""
    for name in ("human", *columns):
        if name not in row.values and not _has_scores(row, name):
            raise _neither(row, name)
    label = label_in(row, "human")
    judgements = tuple(_judgement_in(row, column) for column in columns)
    before, after = text_in(row, "before") or "", text_in(row, "after") or ""
    return JudgedPair(segment, group_of(segment), before, after, judgements, label=label)


def label_in(row: ScoreRow, name: str) -> Label:
    """People's scores before and after, or the preference in column ``name``. Raises :class:`InputError`."""
    label = Label.of(_judgement_in(row, name), row.where)
    return label._replace(has_scores=_has_scores(row, name))


def _has_scores(row: ScoreRow, name: str) -> bool:
    return f"{name}_before" in row.values and f"{name}_after" in row.values


def _judgement_in(row: ScoreRow, name: str) -> Judgement:
    """Scores before and after, or the preference in the column ``name``; neither where the cells are empty."""
    if _has_scores(row, name):
        return Judgement(judge=name, before=score_in(row, f"{name}_before"), after=score_in(row, f"{name}_after"))
    preference = text_in(row, name)
    if preference is None:
        return Judgement(judge=name)
    if preference not in PREFERENCES:
        raise InputError(f"{row.where}: {name} is {preference[:20]!r}; of a pair write before, after or same")
    return Judgement(judge=name, choices=(PREFERENCES[preference],))


def _neither(row: ScoreRow, name: str) -> InputError:
    edit = f"{name}_before and {name}_after (or {name}: before, after or same)"
    return InputError(
        f"{row.where}: has {', '.join(row.values) or 'nothing'}; an edit has {edit}, for judges and human alike; a "
        "text has judge and human, or judge and error_free"
    )
