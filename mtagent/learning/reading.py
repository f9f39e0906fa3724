"""What a calibration reads: scores of judges and of people, in files of their own or in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mtagent.analysis.matching import Inputs as Scores
from mtagent.analysis.matching import Match, match, read_sides
from mtagent.analysis.meta_eval import same_scores
from mtagent.analysis.mtme_folder import is_metric
from mtagent.analysis.scores import Cells, Key, Side, joined_about, read_table, score_in, text_in
from mtagent.chain.calibration import Source
from mtagent.errors import ConfigError, InputError
from mtagent.formats.exports import plain_name
from mtagent.formats.files import lines_of, spooled_copies
from mtagent.jobs.inputs import sha256
from mtagent.learning.error_free import Definition, Labelled
from mtagent.learning.gain import Ints, JudgedPairs
from mtagent.records import GAIN_DIGITS, comparable
from mtagent.store.store import default_path
from mtagent.text import languages

Group = tuple[str, str]
"""What belongs together: ``("document", NAME)``, or ``("segment", ID)`` where the document is not known."""
GIVEN, FINAL = "given", "final"
_LABELS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
PREFERENCES = {"before": -1.0, "after": 1.0, "same": 0.0, "tie": 0.0}
"""What people or a judge that compares prefer, as a gain."""
_LACKING = "edits without all scores"


class Text(NamedTuple):
    """A text that ``system`` left of ``segment``, the score of each judge, and what people say of it.

    ``marked``: whether they marked an error; ``label``: whether they called it error-free.
    """

    system: str
    segment: str
    scores: tuple[float | None, ...]
    human: float | None = None
    marked: bool | None = None
    label: bool | None = None
    document: str | None = None

    @property
    def group(self) -> Group:
        """What it belongs to."""
        return ("segment", self.segment) if self.document is None else ("document", self.document)

    def error_free(self, wanted: Definition) -> bool | None:
        """Whether people found it error-free; ``None``: not known. A label of theirs goes before the score."""
        return self.label if self.label is not None else wanted.holds_for(self.human, self.marked)


class Pair(NamedTuple):
    """A text before and one after: what each judge says, and people's gain with their scores (preferences: 0 and gain).

    ``before`` is ``None`` for a judge that compares, ``differences`` for one that failed.
    """

    group: Group
    segment: str
    before: tuple[float | None, ...]
    differences: tuple[float | None, ...]
    human_before: float | None
    human_after: float | None

    @property
    def complete(self) -> bool:
        """Whether everybody has said something about it."""
        return None not in (*self.differences, self.human_before, self.human_after)


@dataclass(frozen=True)
class Judged:
    """Texts and pairs with what judges and people say of them, and where all that was read.

    ``people`` says who gave the labels, where it is not simply people's scores. ``left_out`` counts what was read and
    cannot be used, by the reason. ``remarks`` are for the user.
    """

    judges: tuple[str, ...]
    texts: tuple[Text, ...] = ()
    pairs: tuple[Pair, ...] | None = None
    signatures: tuple[str, ...] = ()
    data: tuple[Source, ...] = ()
    language_pairs: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    people: str = ""

    @cached_property
    def groups(self) -> dict[Group, int]:
        """A number for each group that can be used, in alphabetical order: the order of a file changes no split."""
        found = {pair.group for pair in self.pairs or () if pair.complete}
        for text in self.texts:
            if any(score is not None for score in text.scores) and not (text.human is None and text.label is None):
                found.add(text.group)
        return {group: number for number, group in enumerate(sorted(found))}

    @property
    def scoring_judge(self) -> int:
        """The place of the first judge that scores texts (0, where all compare)."""
        places = range(len(self.judges))
        return next((place for place in places if any(text.scores[place] is not None for text in self.texts)), 0)

    def labelled(self, wanted: Definition) -> tuple[Labelled, Ints] | None:
        """The texts with a score of :attr:`scoring_judge` and a word of people, and the number of the group of each."""
        place = self.scoring_judge
        rows = [
            (text.scores[place], label, self.groups[text.group])
            for text in self.texts
            if text.scores[place] is not None and (label := text.error_free(wanted)) is not None
        ]
        if not rows:
            return None
        scores, labels, groups = map(np.array, zip(*rows, strict=True))
        return Labelled(scores, labels, groups), groups

    def judged_pairs(self) -> tuple[JudgedPairs | None, Ints]:
        """The complete pairs, and the number of the group of each; ``None`` where no edits were named.

        Raises :class:`InputError` where there is not a single one.
        """
        if self.pairs is None:
            return None, np.zeros(0, dtype=np.int64)
        complete = sorted(
            (pair for pair in self.pairs if pair.complete),
            key=lambda pair: (pair.group, pair.segment, pair.differences, pair.human_before, pair.human_after),
        )
        if not complete:
            raise InputError(f"no edit has the scores of {' and '.join(self.judges)} and people's, before and after")
        groups = np.array([self.groups[pair.group] for pair in complete], dtype=np.int64)
        return JudgedPairs(
            self.judges,
            np.array([pair.differences for pair in complete], dtype=np.float64),
            np.array([pair.human_before for pair in complete], dtype=np.float64),
            np.array([pair.human_after for pair in complete], dtype=np.float64),
            groups,
            np.array([pair.before for pair in complete], dtype=np.float64),
            self.signatures,
        ), groups  # fmt: skip

    def told(self, signatures: Sequence[str], lp: str | None) -> Judged:
        """With the signatures (``[NAME=]SIGNATURE``) and the language pair that the user says.

        Raises :class:`ConfigError` where the ratings say other.
        """
        pairs = self.language_pairs or ((languages.pair_of(*languages.parse_pair(lp)),) if lp else ())
        known = list(self.signatures)
        for spec in signatures:
            name, equals, given = spec.partition("=")
            if equals and name not in self.judges and "|" not in name:
                raise ConfigError(f"--signature {spec}: no judge {name!r}; there are {', '.join(self.judges)}")
            if not (equals and name in self.judges):
                name, given = self.judges[0], spec
                if len(self.judges) > 1:
                    raise ConfigError(f"--signature {spec}: whose? --signature NAME=…, for {' or '.join(self.judges)}")
            place = self.judges.index(name)
            if known[place] and comparable(known[place]) != comparable(given):
                raise ConfigError(f"--signature {spec}: the ratings are signed {known[place]}")
            known[place] = known[place] or given
        return replace(self, signatures=tuple(known), language_pairs=pairs)


@dataclass(frozen=True)
class Inputs:
    """A file with the scores of judges and people (``both``), or ``scores`` of each.

    ``judges`` are the names of the judges, in this order. Each line of ``documents`` names the document of a segment in
    its last column, as in the ``.docs`` files of mt-metrics-eval. Edits lead from the systems ``before`` to ``after``.
    """

    scores: Scores
    both: Path | None = None
    judges: tuple[str, ...] = ()
    documents: Path | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        judged = bool(self.scores.files or self.scores.runs or self.scores.folder)
        more = (self.scores.human, self.scores.item, self.documents, self.before, self.after)
        if self.both is not None and (judged or any(more)):
            raise ConfigError("--pairs holds the scores of both sides: give it alone")
        if self.both is None and not judged:
            raise ConfigError(
                "a calibration takes the judges' scores (-e, --run or --mtme) and people's (--human), or --pairs"
            )
        if twice := [name for name, number in Counter(self.judges).items() if number > 1]:
            raise ConfigError(f"--judge {twice[0]}: is named twice")

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them."""
        named = {"--pairs": self.both, "--documents": self.documents}
        return {option: path for option, path in named.items() if path is not None} | self.scores.paths

    @property
    def kept(self) -> dict[str, Path]:
        """All files that must not be overwritten: the inputs and the store."""
        return self.paths | {"--store": self.scores.store or default_path()}

    def read(self) -> Judged:
        """All of it. Raises :class:`InputError` with file and line."""
        with spooled_copies(self.paths) as copies:
            if (both := copies.get("--pairs")) is not None:
                judged = read_pairs(both, self.judges)
            else:
                judged = self._of_scores(self.scores.reading(copies), copies.get("--documents"))
            sources = (
                Source(option=option.partition(" ")[0], name=path.name, sha256=sha256(copies[option]))
                for option, path in self.paths.items()
            )
            return replace(judged, data=(*sources, *judged.data))

    def _of_scores(self, scores: Scores, documents: Path | None) -> Judged:
        human, sides = read_sides(replace(scores, metrics=self.judges, chosen_by="--judge"))
        if self.judges:
            sides = [_named(sides, name) for name in self.judges]
        elif len(sides) > 1:
            raise InputError(
                f"{sides[-1].origin}: there are {', '.join(side.name for side in sides)}: choose with --judge "
                "(several: a panel), or name them alike with -e NAME=FILE"
            )
        names = None if documents is None else _document_names(documents)
        judged = with_edits(side_by_side(sides, human, names), self.before, self.after)
        stored = [Source(option="--run", name=run) for run in self.scores.runs]
        if (folder := self.scores.folder) is not None:
            files = [Path(side.origin) for side in (*sides, human) if folder in Path(side.origin).parents]
            stored += [Source(option="--mtme", name=path.name, sha256=sha256(path)) for path in files]
        return replace(judged, data=tuple(stored))


def _named(sides: Sequence[Side], name: str) -> Side:
    """The judge of this name, with or without the reference that it saw."""
    fitting = [side for side in sides if side.name == name] or [side for side in sides if is_metric(side.name, name)]
    if len(fitting) != 1:
        raise InputError(f"--judge {name}: is the name of {', '.join(side.name for side in fitting)}; name one")
    return fitting[0]


def _document_names(path: Path) -> list[str]:
    names = []
    for line in lines_of(path):
        if line.text.lstrip().startswith("{"):
            raise InputError(
                f"{path}:{line.number}: a line names a document, as in mt-metrics-eval's .docs; this one is JSON"
            )
        names.append(line.text.rpartition("\t")[2])
    return names


# --- scores of judges and of people, in files of their own


def with_edits(judged: Judged, before: Sequence[str], after: Sequence[str]) -> Judged:
    """``judged`` with the pairs of the systems before and after an edit; for a chain these are ``given`` and ``final``.

    Raises :class:`ConfigError` for an unknown system, or if only one side is named.
    """
    systems = dict.fromkeys(text.system for text in judged.texts)
    if not before and not after and GIVEN in systems and FINAL in systems:
        before, after = (GIVEN,), (FINAL,)
    if bool(before) != bool(after):
        raise ConfigError("an edit leads from a text to another: name both systems, --before and --after")
    if not before:
        return judged
    called = {plain_name(name): name for name in systems} | {name: name for name in systems}
    for name in (*before, *after):
        if name not in called:
            raise ConfigError(f"there is no system {name!r} with human scores; there are: {', '.join(systems)}")
    by_place = {Key(text.system, text.segment): text for text in judged.texts}
    pairs, lacking = list[Pair](), 0
    for old, new in product((called[name] for name in before), (called[name] for name in after)):
        for text in judged.texts if old != new else ():
            if text.system == old:
                other = by_place.get(Key(new, text.segment))
                if other:
                    differences = tuple(map(_difference, text.scores, other.scores))
                    pairs.append(Pair(text.group, text.segment, text.scores, differences, text.human, other.human))
                lacking += not (other and pairs[-1].complete)
    left_out = {**judged.left_out, _LACKING: lacking} if lacking else judged.left_out
    return replace(judged, pairs=tuple(pairs), left_out=left_out)


def side_by_side(judges: Sequence[Side], human: Side, documents: Sequence[str] | None = None) -> Judged:
    """Every text that people and a judge could have scored.

    ``documents`` names the document of each segment, in the order of the first judge. Texts that one side did not score
    are counted. Raises :class:`InputError` if the sides have no system in common, different numbers of texts without
    ids, or rated different texts.
    """
    matches = [match(judge, human, missing="leave-out") for judge in judges]
    scores = [{Key(row.system, row.item): row.evaluator for row in pairs.rows} for pairs in matches]
    people = {Key(row.system, row.item): row.human for pairs in matches for row in pairs.rows}
    judged = [key for key in people if any(key in pairs.evaluator.segments for pairs in matches)]
    about = joined_about(side for pairs in matches for side in (pairs.evaluator, pairs.human))
    document_of: Mapping[str, str | None] = {item: known.document for item, known in about.items()}
    if documents is not None:
        document_of = _documents(documents, matches[0].evaluator)
    texts = []
    for key in judged:
        marks = human.segments[key].errors if key in human.segments else None
        texts.append(
            Text(
                key.system,
                key.item,
                tuple(of_judge.get(key) for of_judge in scores),
                people[key],
                marked=None if marks is None else bool(marks),
                document=document_of.get(key.item),
            )
        )
    unknown = max(
        len(judge.segments) - len(pairs.evaluator.segments) for judge, pairs in zip(judges, matches, strict=True)
    )
    left_out = {
        "texts of systems that people did not score": unknown,
        "human scores of texts that no judge scored": len(people) - len(judged),
        **{
            f"texts without a score of {judge.name}": sum(text.scores[place] is None for text in texts)
            for place, judge in enumerate(judges)
        },
        "texts without a human score": sum(text.human is None for text in texts),
    }
    pairs = (known.pair for item, known in about.items())
    domains = (known.domain for known in about.values())
    return Judged(
        judges=tuple(judge.name for judge in judges),
        texts=tuple(texts),
        signatures=tuple(map(signed, judges)),
        language_pairs=tuple(dict.fromkeys(pair for pair in pairs if pair)),
        domains=tuple(dict.fromkeys(domain for domain in domains if domain)),
        left_out={reason: number for reason, number in left_out.items() if number},
        remarks=tuple(remark for pairs in matches for remark in _remarks(pairs)),
    )


def signed(judge: Side) -> str:
    """The signature of the ratings; empty if they have none.

    Raises :class:`InputError` if they are by two evaluators.
    """
    signatures = [(signature, where) for signature, where in judge.signatures.items() if signature]
    if not signatures:
        return ""
    (first, first_place), *others = signatures
    for signature, where in others:
        if comparable(signature) != comparable(first):
            raise InputError(
                f"{where}: was rated by {signature}, and {first_place} by {first}: a judge is a single evaluator; name "
                "them apart with -e NAME=FILE"
            )
    return first


def _documents(names: Sequence[str], judge: Side) -> dict[str, str | None]:
    """The document of each segment, in the order of ``judge``."""
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
                "stand in another order than others: name documents there, in a column document"
            )
    return dict(zip(items, names, strict=True))


def _remarks(pairs: Match) -> Iterator[str]:
    """Warnings about ratings without a signature, and about a judge compared with itself."""
    judge = pairs.evaluator
    if "" in judge.signatures and len(judge.signatures) > 1:
        yield f"{judge.signatures['']}: not signed, and taken for a rating of the evaluator that signed others"
    ours, theirs = (
        {comparable(signature) for signature in side.signatures if signature} for side in (judge, pairs.human)
    )
    if ours & theirs or same_scores(pairs):
        yield f"{judge.name}: the human scores are its own: a judge compared with itself looks better than it is"


# --- judges and people in one file


def read_pairs(path: Path, judges: Sequence[str] = ()) -> Judged:
    """The texts and pairs of a file, with the scores of ``judges``; a single one's columns may be called ``judge``.

    Raises :class:`InputError`.
    """
    table = read_table(path)
    columns = tuple(judges) or ("judge",)
    if len(columns) == 1 and not {columns[0], f"{columns[0]}_before"} & set(table.names):
        columns = ("judge",)
    texts: list[Text] = []
    pairs: list[Pair] = []
    labelled: dict[tuple[object, ...], tuple[float, str]] = {}
    names: dict[str, None] = {}
    signatures: list[dict[str, str]] = [{} for _ in columns]
    rows = table.rows
    documents = {text_in(row, "id"): name for row in rows if (name := text_in(row, "document"))}
    preferences = any(text_in(row, "human") in PREFERENCES for row in rows)
    for number, row in enumerate(rows, start=1):
        segment = text_in(row, "id") or str(number)
        document = text_in(row, "document") or documents.get(segment)
        if ("human" in row.values and not preferences) or "error_free" in row.values:
            texts.append(_text_in(row, columns, segment, document))
        else:
            pair, own = _pair_in(row, columns, segment, document)
            pairs.append(pair)
            texts += own
            edit = (segment, text_in(row, "before"), text_in(row, "after"))
            if preferences or None not in edit:
                _refuse_contradiction(labelled, (*edit, pair.before, pair.differences), pair, row.where)
        for place, column in enumerate(columns):
            of_one = text_in(row, f"{column}_signature") or (text_in(row, "signature") if len(columns) == 1 else None)
            signatures[place].setdefault(of_one or "", row.where)
        if name := text_in(row, "evaluator"):
            names[name] = None
    if len(names) > 1:
        raise InputError(f"{path}: holds scores of {', '.join(names)}: a column is of a single evaluator")
    if names and columns == ("judge",) and judges and judges[0] not in names:
        raise InputError(f"{path}: --judge {judges[0]}: the scores are those of {next(iter(names))}")
    left_out = {
        **{
            f"texts without a score of {column}": sum(text.scores[place] is None for text in texts)
            for place, column in enumerate(columns)
            if any(text.scores[place] is not None for text in texts)
        },
        "texts without a human score": sum(text.human is None and text.label is None for text in texts),
        _LACKING: sum(not pair.complete for pair in pairs),
    }
    signed_by = tuple(
        signed(Side(column, str(path), "", signatures=of_one))
        for column, of_one in zip(columns, signatures, strict=True)
    )
    return Judged(
        judges=tuple(judges) or (next(iter(names), "") or signed_by[0].partition("|")[0] or "judge",),
        texts=tuple(texts),
        pairs=tuple(pairs) if pairs else None,
        signatures=signed_by,
        left_out={reason: number for reason, number in left_out.items() if number},
        people="preferences" if preferences else "",
    )


def _refuse_contradiction(
    labelled: dict[tuple[object, ...], tuple[float, str]], edit: tuple[object, ...], pair: Pair, where: str
) -> None:
    """Raise :class:`InputError` if people have said something else of the same edit; ``labelled`` remembers."""
    label = _difference(pair.human_before, pair.human_after)
    if label is None:
        return
    first, place = labelled.setdefault(edit, (label, where))
    if first != label:
        raise InputError(
            f"{where}: the gain is {label:g}, and for the same pair in {place} {first:g}: these labels contradict each "
            "other; keep one"
        )


def _text_in(row: Cells, columns: Sequence[str], segment: str, document: str | None) -> Text:
    """A line with one text: a score of each judge, and people's score or word."""
    if missing := [column for column in columns if column not in row.values]:
        raise _neither(row, missing[0])
    value = text_in(row, "error_free")
    if value is not None and value.strip().casefold() not in _LABELS:
        raise InputError(f"{row.where}: error_free is {value[:20]!r}; write yes or no")
    label = None if value is None else _LABELS[value.strip().casefold()]
    scores = tuple(score_in(row, column) for column in columns)
    return Text("", segment, scores, score_in(row, "human"), label=label, document=document)


def _pair_in(row: Cells, columns: Sequence[str], segment: str, document: str | None) -> tuple[Pair, list[Text]]:
    """A line with an edit: scores of each judge before and after, or its preference; and people's, likewise."""
    for name in ("human", *columns):
        if name not in row.values and not {f"{name}_before", f"{name}_after"} <= row.values.keys():
            raise _neither(row, name)
    human_before, human_after, scored = before_and_after(row, "human")
    judged = [before_and_after(row, column) for column in columns]
    pair = Pair(
        ("segment", segment) if document is None else ("document", document),
        segment,
        tuple(before if scores else None for before, _, scores in judged),
        tuple(_difference(before, after) for before, after, _ in judged),
        human_before,
        human_after,
    )
    texts = [
        Text(name, segment, tuple(each[side] if each[2] else None for each in judged), human, document=document)
        for side, (name, human) in enumerate((("before", human_before), ("after", human_after)))
    ]
    return pair, texts if scored else []


def before_and_after(row: Cells, name: str) -> tuple[float | None, float | None, bool]:
    """The scores before and after, and whether they are scores: a preference is a gain from 0. Raises
    :class:`InputError`.
    """
    if f"{name}_before" in row.values and f"{name}_after" in row.values:
        return score_in(row, f"{name}_before"), score_in(row, f"{name}_after"), True
    preference = text_in(row, name)
    if preference is None:
        return None, None, False
    if preference not in PREFERENCES:
        raise InputError(f"{row.where}: {name} is {preference[:20]!r}; of a pair write before, after or same")
    return 0.0, PREFERENCES[preference], False


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else round(after - before, GAIN_DIGITS)


def _neither(row: Cells, name: str) -> InputError:
    edit = f"{name}_before and {name}_after (or {name}: before, after or same)"
    return InputError(
        f"{row.where}: has {', '.join(row.values) or 'nothing'}; an edit has {edit}, for judges and human alike; a "
        "text has judge and human, or judge and error_free"
    )


def refuse_unsigned(judged: Judged, paths: Mapping[str, Path]) -> None:
    """Raise :class:`InputError` if the evaluator of ratings is unknown."""
    for name, signature in zip(judged.judges, judged.signatures, strict=True):
        if not signature:
            files = ", ".join(str(path) for path in paths.values()) or "the run"
            raise InputError(
                f"{files}: no rating of {name} is signed, so that the gate could not know whose "
                "they are: give --signature, as `mtagent rate` writes it into JSON Lines and `rate --show` prints it"
            )
