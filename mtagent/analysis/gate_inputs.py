"""What a calibration reads: scores of a judge and of people, in files of their own or in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mtagent.analysis.gate_calibration import Origin, Text, Texts, documented
from mtagent.analysis.matching import Inputs as Scores
from mtagent.analysis.matching import Match, match, read_sides
from mtagent.analysis.meta_eval import same_scores
from mtagent.analysis.score_tables import read_table, score_in, text_in
from mtagent.analysis.scores import Key, Side
from mtagent.chain.calibration import Source
from mtagent.errors import ConfigError, InputError
from mtagent.formats.exports import plain_name
from mtagent.formats.files import lines_of
from mtagent.formats.pipes import spooled_copies
from mtagent.jobs.inputs import sha256
from mtagent.records import comparable
from mtagent.store.store import default_path
from mtagent.text import languages

BEFORE, AFTER = "before", "after"
_EDIT = ("judge_before", "judge_after", "human_before", "human_after")
_LABELS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def read_pairs(path: Path) -> tuple[Texts, Side]:
    """The texts of a file, and their judge. Raises :class:`InputError`."""
    texts: list[Text] = []
    names: dict[str, None] = {}
    signatures: dict[str, str] = {}
    for number, row in enumerate(read_table(path).rows, start=1):
        segment, document = text_in(row, "id") or str(number), text_in(row, "document")
        if all(name in row.values for name in _EDIT):
            scores = {name: score_in(row, name) for name in _EDIT}
            for which in (BEFORE, AFTER):
                judge, human = scores[f"judge_{which}"], scores[f"human_{which}"]
                texts.append(Text(which, segment, judge, human, document=document, row=number))
        elif "judge" in row.values and ("human" in row.values or "error_free" in row.values):
            value = text_in(row, "error_free")
            if value is not None and value.strip().casefold() not in _LABELS:
                raise InputError(f"{row.where}: error_free is {value[:20]!r}; write yes or no")
            label = None if value is None else _LABELS[value.strip().casefold()]
            judge, human = score_in(row, "judge"), score_in(row, "human")
            texts.append(Text("", segment, judge, human, label=label, document=document, row=number))
        else:
            raise InputError(
                f"{row.where}: has {', '.join(row.values) or 'nothing'}; an edit has {', '.join(_EDIT)}, a text has "
                "judge and human, or judge and error_free"
            )
        signatures.setdefault(text_in(row, "signature") or "", row.where)
        if name := text_in(row, "evaluator"):
            names[name] = None
    if len(names) > 1:
        raise InputError(f"{path}: holds scores of {', '.join(names)}: a calibration is one of a single evaluator")
    before, after = ((BEFORE,), (AFTER,)) if any(text.system == BEFORE for text in texts) else ((), ())
    left_out = Counter({
        "texts without a score of the judge": sum(text.judge is None for text in texts),
        "texts without a human score": sum(text.human is None and text.label is None for text in texts),
    })  # fmt: skip
    judge_side = Side(next(iter(names), ""), str(path), "", signatures=signatures)
    return Texts(documented(texts), before, after, +left_out), judge_side


GIVEN, FINAL = "given", "final"


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
                f"{where}: was rated by {signature}, and {first_place} by {first}: a calibration is one of a single "
                "evaluator"
            )
    return first


def side_by_side(judge: Side, human: Side, documents: Sequence[str] | None = None) -> tuple[Texts, tuple[str, ...]]:
    """Every text that both sides could have scored, and remarks.

    ``documents`` names the document of each segment, in the order of the judge. Texts that one side did not score are
    left out and counted. Raises :class:`InputError` if the sides have no system in common, different numbers of texts
    without ids, or rated different texts.
    """
    pairs = match(judge, human, missing="leave-out")
    judged = pairs.evaluator.segments
    document_of = _documents(list(dict.fromkeys(key.item for key in judged)), documents, pairs)
    marked = {
        key: None if scored.errors is None else bool(scored.errors) for key, scored in pairs.human.segments.items()
    }
    texts = tuple(
        Text(
            row.system, row.item, row.evaluator, row.human,
            marked=marked.get(Key(row.system, row.item)), document=document_of.get(row.item),
        )
        for row in pairs.rows
        if Key(row.system, row.item) in judged
    )  # fmt: skip
    left_out = Counter(
        {
            "texts of systems that people did not score": len(judge.segments) - len(judged),
            "human scores of texts that the judge did not score": len(pairs.rows) - len(texts),
            "texts without a score of the judge": sum(text.judge is None for text in texts),
            "texts without a human score": sum(text.human is None for text in texts),
        }
    )
    return Texts(texts, left_out=+left_out), tuple(_remarks(pairs))


def chosen(texts: Texts, before: Sequence[str], after: Sequence[str]) -> Texts:
    """``texts`` with the systems before and after an edit; for a chain these are ``given`` and ``final``.

    Raises :class:`ConfigError` for an unknown system, or if only one side is named.
    """
    systems = dict.fromkeys(text.system for text in texts.texts)
    if not before and not after and GIVEN in systems and FINAL in systems:
        before, after = (GIVEN,), (FINAL,)
    if bool(before) != bool(after):
        raise ConfigError("an edit leads from a text to another: name both systems, --before and --after")
    called = {plain_name(name): name for name in systems} | {name: name for name in systems}
    for name in (*before, *after):
        if name not in called:
            raise ConfigError(f"there is no system {name!r} with human scores; there are: {', '.join(systems)}")
    return replace(texts, before=tuple(called[name] for name in before), after=tuple(called[name] for name in after))


def _documents(items: Sequence[str], documents: Sequence[str] | None, pairs: Match) -> dict[str, str | None]:
    """The document of each segment: from ``documents``, in the order of ``items``, or from the files."""
    if documents is None:
        known = {item: about.document for item, about in pairs.human.about.items()}
        return known | {item: about.document or known.get(item) for item, about in pairs.evaluator.about.items()}
    if len(documents) != len(items):
        raise InputError(
            f"--documents: has {len(documents)} lines, and {pairs.evaluator.origin} {len(items)} segments; there must "
            "be one for each, in the same order"
        )
    places = {item: place for place, item in enumerate(items)}
    for system in pairs.evaluator.names():
        order = [places[key.item] for key in pairs.evaluator.of_system(system)]
        if order != sorted(order):
            raise InputError(
                f"--documents: a line is a segment in the order of {pairs.evaluator.origin}, where those of system "
                f"{system!r} stand in another order than others: name documents there, in a column document"
            )
    return dict(zip(items, documents, strict=True))


def _remarks(pairs: Match) -> Iterator[str]:
    """Warnings about ratings without a signature, and about a judge compared with itself."""
    if "" in pairs.evaluator.signatures and len(pairs.evaluator.signatures) > 1:
        where = pairs.evaluator.signatures[""]
        yield f"{where}: not signed, and taken for a rating of the evaluator that signed others"
    ours, theirs = (
        {comparable(signature) for signature in side.signatures if signature} for side in (pairs.evaluator, pairs.human)
    )
    if ours & theirs or same_scores(pairs):
        yield "the human scores are the judge's own: a judge compared with itself looks better than it is"


@dataclass(frozen=True)
class Inputs:
    """A file of both sides (``both``), or ``scores`` of the judge and of people.

    Each line of ``documents`` names the document of a segment in its last column, as in the ``.docs`` files of
    mt-metrics-eval. Edits lead from the systems ``before`` to ``after``.
    """

    scores: Scores
    both: Path | None = None
    documents: Path | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        judged = bool(self.scores.files or self.scores.runs or self.scores.folder)
        more = (self.scores.human, self.scores.metrics, self.scores.item, self.documents, self.before, self.after)
        if self.both is not None and (judged or any(more)):
            raise ConfigError("--pairs holds the scores of both sides: give it alone")
        if self.both is None and not judged:
            raise ConfigError(
                "a calibration takes the judge's scores (-e, --run or --mtme) and people's (--human), or --pairs"
            )

    @property
    def paths(self) -> dict[str, Path]:
        """All files that are read, by the option that names them."""
        named = {"--pairs": self.both, "--documents": self.documents}
        return {option: path for option, path in named.items() if path is not None} | self.scores.paths

    @property
    def kept(self) -> dict[str, Path]:
        """All files that must not be overwritten: the inputs and the store."""
        return self.paths | {"--store": self.scores.store or default_path()}

    def read(self) -> tuple[Texts, Origin]:
        """The texts and their origin. Raises :class:`InputError` with file and line."""
        with spooled_copies(self.paths) as copies:
            if (both := copies.get("--pairs")) is not None:
                texts, judge = read_pairs(both)
                origin = Origin(judge.name, signed(judge))
            else:
                texts, origin = self._of_scores(self.scores.reading(copies), copies.get("--documents"))
            sources = (
                Source(option=option.partition(" ")[0], name=path.name, sha256=sha256(copies[option]))
                for option, path in self.paths.items()
            )
            return texts, origin._replace(data=(*sources, *origin.data))

    def _of_scores(self, scores: Scores, documents: Path | None) -> tuple[Texts, Origin]:
        human, (judge, *others) = read_sides(scores)
        if others:
            raise InputError(
                f"{others[-1].origin}: a calibration is one of a single evaluator, and there are "
                f"{' and '.join(side.name for side in (judge, *others))}: choose one with --judge, or name them alike "
                "with -e NAME=FILE"
            )
        names = None
        if documents is not None:
            names = []
            for line in lines_of(documents):
                if line.text.lstrip().startswith("{"):
                    raise InputError(
                        f"{documents}:{line.number}: a line names a document, as in mt-metrics-eval's .docs; this one "
                        "is JSON"
                    )
                names.append(line.text.rpartition("\t")[2])
        texts, remarks = side_by_side(judge, human, names)
        texts = chosen(texts, self.before, self.after)
        known = (about for side in (judge, human) for about in side.about.values())
        pairs = (
            languages.pair_of(about.source_lang, about.target_lang)
            for about in known
            if about.source_lang and about.target_lang
        )
        stored = [Source(option="--run", name=run) for run in self.scores.runs]
        if (folder := self.scores.folder) is not None:
            files = [Path(side.origin) for side in (judge, human) if folder in Path(side.origin).parents]
            stored += [Source(option="--mtme", name=path.name, sha256=sha256(path)) for path in files]
        return texts, Origin(judge.name, signed(judge), tuple(stored), tuple(dict.fromkeys(pairs)), remarks)


def refuse_unsigned(signature: str, paths: dict[str, Path]) -> None:
    """Raise :class:`InputError` if the evaluator of the ratings is unknown."""
    if not signature:
        names = ", ".join(str(path) for path in paths.values()) or "the run"
        raise InputError(
            f"{names}: no rating is signed, so that the gate could not know whose they are: give --signature, as "
            "`mtagent rate` writes it into JSON Lines and `mtagent rate --show` prints it"
        )
