"""What a calibration reads: scores of the judge and of people as ``meta_eval.files`` reads them, or both in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mtagent.analysis.agreement import Row
from mtagent.analysis.gate_calibration import Origin, Text, Texts, documented
from mtagent.analysis.matching import Inputs as Scores
from mtagent.analysis.matching import Match, match, read_sides
from mtagent.analysis.meta_eval import same_scores
from mtagent.analysis.score_tables import Cells, read_table, score_in, text_in
from mtagent.analysis.scores import Key, Side
from mtagent.chain.calibration import Source
from mtagent.errors import ConfigError, InputError
from mtagent.formats.exports import plain_name
from mtagent.formats.files import lines_of
from mtagent.jobs.inputs import sha256, spooled_copies
from mtagent.records import ErrorSpan, comparable
from mtagent.store.store import default_path
from mtagent.text import languages

BEFORE, AFTER = "before", "after"
_EDIT = ("judge_before", "judge_after", "human_before", "human_after")
_LABELS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def read_pairs(path: Path) -> tuple[Texts, Side]:
    """The texts of a file, and who judged them, as far as they are signed. Raises :class:`InputError`."""
    texts: list[Text] = []
    names: dict[str, None] = {}
    signatures: dict[str, str] = {}
    for number, row in enumerate(read_table(path).rows, start=1):
        texts += _texts(row, number)
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
    judge = Side(next(iter(names), ""), str(path), "", signatures=signatures)
    return Texts(documented(texts), before, after, +left_out), judge


def _texts(row: Cells, number: int) -> Iterator[Text]:
    segment, document = text_in(row, "id") or str(number), text_in(row, "document")
    if all(name in row.values for name in _EDIT):
        scores = {name: score_in(row, name) for name in _EDIT}
        for which in (BEFORE, AFTER):
            judge, human = scores[f"judge_{which}"], scores[f"human_{which}"]
            yield Text(which, segment, judge, human, document=document, row=number)
    elif "judge" in row.values and ("human" in row.values or "error_free" in row.values):
        judge, human, label = score_in(row, "judge"), score_in(row, "human"), _label(row)
        yield Text("", segment, judge, human, label=label, document=document, row=number)
    else:
        raise InputError(
            f"{row.where}: has {', '.join(row.values) or 'nothing'}; an edit has {', '.join(_EDIT)}, a text has judge "
            "and human, or judge and error_free"
        )


def _label(row: Cells) -> bool | None:
    value = text_in(row, "error_free")
    if value is None:
        return None
    label = _LABELS.get(value.strip().casefold())
    if label is None:
        raise InputError(f"{row.where}: error_free is {value[:20]!r}; write yes or no")
    return label


GIVEN, FINAL = "given", "final"


def only(sides: Sequence[Side]) -> Side:
    """The judge. Raises :class:`InputError` where the ratings come from several evaluators."""
    if len(sides) > 1:
        names = " and ".join(side.name for side in sides)
        raise InputError(
            f"{sides[-1].origin}: a calibration is one of a single evaluator, and there are {names}: choose one with "
            "--judge, or name them alike with -e NAME=FILE"
        )
    return sides[0]


def signed(judge: Side) -> str:
    """The signature of the ratings; empty where they have none.

    Raises :class:`InputError` where those of two evaluators are among them.
    """
    found = [(signature, where) for signature, where in judge.signatures.items() if signature]
    for signature, where in found[1:]:
        if comparable(signature) != comparable(found[0][0]):
            raise InputError(
                f"{where}: was rated by {signature}, and {found[0][1]} by {found[0][0]}: a calibration is one of a "
                "single evaluator"
            )
    return found[0][0] if found else ""


def side_by_side(judge: Side, human: Side, documents: Sequence[str] | None = None) -> tuple[Texts, tuple[str, ...]]:
    """Every text that both could have scored, and what is to be said of them.

    ``documents`` names the document of each segment, in the judge's order. What one of them did not score is left out
    and counted. Raises :class:`InputError` where they have no system in common, another number of texts without ids,
    or rated different texts.
    """
    found = match(judge, human, missing="leave-out")
    held = found.evaluator.segments
    of = _documents(list(dict.fromkeys(key.item for key in held)), documents, found)
    theirs = {key: given.errors for key, given in found.human.segments.items()}
    rows = [(row, theirs.get(Key(row.system, row.item))) for row in found.rows if Key(row.system, row.item) in held]
    texts = tuple(_text(row, errors, of.get(row.item)) for row, errors in rows)
    left_out = Counter(
        {
            "texts of systems that people did not score": len(judge.segments) - len(held),
            "human scores of texts that the judge did not score": len(found.rows) - len(rows),
            "texts without a score of the judge": sum(text.judge is None for text in texts),
            "texts without a human score": sum(text.human is None for text in texts),
        }
    )
    return Texts(texts, left_out=+left_out), tuple(_remarks(found))


def chosen(texts: Texts, before: Sequence[str], after: Sequence[str]) -> Texts:
    """``texts`` with the systems that edits lead from and to; of a chain's stages these are ``given`` and ``final``.

    Raises :class:`ConfigError` for one that is not there, or where only one side is named.
    """
    held = dict.fromkeys(text.system for text in texts.texts)
    if not before and not after and GIVEN in held and FINAL in held:
        before, after = (GIVEN,), (FINAL,)
    if bool(before) != bool(after):
        raise ConfigError("an edit leads from a text to another: name both systems, --before and --after")
    called = {plain_name(name): name for name in held} | {name: name for name in held}
    for name in (*before, *after):
        if name not in called:
            raise ConfigError(f"there is no system {name!r} with human scores; there are: {', '.join(held)}")
    return replace(texts, before=tuple(called[name] for name in before), after=tuple(called[name] for name in after))


def _text(row: Row, errors: tuple[ErrorSpan, ...] | None, document: str | None) -> Text:
    marked = None if errors is None else bool(errors)
    return Text(row.system, row.item, row.evaluator, row.human, marked=marked, document=document)


def _documents(items: Sequence[str], given: Sequence[str] | None, found: Match) -> dict[str, str | None]:
    """The document of each segment: the ``given`` ones in the order of ``items``, or what the files say."""
    if given is None:
        known = {item: about.document for item, about in found.human.about.items()}
        return known | {item: about.document or known.get(item) for item, about in found.evaluator.about.items()}
    if len(given) != len(items):
        raise InputError(
            f"--documents: has {len(given)} lines, and {found.evaluator.origin} {len(items)} segments; there must be "
            "one for each, in the same order"
        )
    places = {item: place for place, item in enumerate(items)}
    for system in found.evaluator.names():
        order = [places[key.item] for key in found.evaluator.of_system(system)]
        if order != sorted(order):
            raise InputError(
                f"--documents: a line is a segment in the order of {found.evaluator.origin}, where those of system "
                f"{system!r} stand in another order than others: name documents there, in a column document"
            )
    return dict(zip(items, given, strict=True))


def _remarks(found: Match) -> Iterator[str]:
    """A judge held against itself looks perfect; and nobody knows whose a score without a signature is."""
    if "" in found.evaluator.signatures and len(found.evaluator.signatures) > 1:
        where = found.evaluator.signatures[""]
        yield f"{where}: not signed, and taken for a rating of the evaluator that signed others"
    ours, theirs = ({comparable(one) for one in side.signatures if one} for side in (found.evaluator, found.human))
    if ours & theirs or same_scores(found):
        yield "the human scores are the judge's own: a judge held against itself looks better than it is"


@dataclass(frozen=True)
class Inputs:
    """``both`` alone, or ``scores`` of the judge and of people.

    ``documents`` names the document of each segment (a line each; the last column, as in mt-metrics-eval's ``.docs``).
    ``before`` and ``after`` are the systems between which edits lead.
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
        """All files that no output may take the place of: those that are read, and the store."""
        return self.paths | {"--store": self.scores.store or default_path()}

    def read(self) -> tuple[Texts, Origin]:
        """The texts, and where they come from. Raises :class:`InputError` that names file and line."""
        with spooled_copies(self.paths) as copies:
            both, scores = copies.get("--pairs"), self.scores.reading(copies)
            given = replace(self, scores=scores, both=both, documents=copies.get("--documents"))
            texts, origin = given._of_both(both) if both else given._of_scores()
            return texts, origin._replace(data=(*self._sources(copies), *origin.data))

    def _of_both(self, path: Path) -> tuple[Texts, Origin]:
        texts, judge = read_pairs(path)
        return texts, Origin(judge.name, signed(judge))

    def _of_scores(self) -> tuple[Texts, Origin]:
        human, sides = read_sides(self.scores)
        judge = only(sides)
        documents = None
        if self.documents is not None:
            documents = [_document(line.text, f"{self.documents}:{line.number}") for line in lines_of(self.documents)]
        texts, remarks = side_by_side(judge, human, documents)
        texts = chosen(texts, self.before, self.after)
        signature = signed(judge)
        return texts, Origin(judge.name, signature, self._stored(judge, human), _pairs(judge, human), remarks)

    def _sources(self, copies: Mapping[str, Path]) -> Iterator[Source]:
        for option, path in self.paths.items():
            yield Source(option=option.partition(" ")[0], name=path.name, sha256=sha256(copies[option]))

    def _stored(self, judge: Side, human: Side) -> tuple[Source, ...]:
        """What is read from a run, or from a folder of mt-metrics-eval."""
        runs = (Source(option="--run", name=run) for run in self.scores.runs)
        if self.scores.folder is None:
            return tuple(runs)
        files = [Path(side.origin) for side in (judge, human) if self.scores.folder in Path(side.origin).parents]
        return (*runs, *(Source(option="--mtme", name=path.name, sha256=sha256(path)) for path in files))


def _document(line: str, where: str) -> str:
    if line.lstrip().startswith("{"):
        raise InputError(f"{where}: a line names a document, as in mt-metrics-eval's .docs; this one is JSON")
    return line.rpartition("\t")[2]


def _pairs(*sides: Side) -> tuple[str, ...]:
    """The language pairs that files tell."""
    known = (about for side in sides for about in side.about.values())
    found = (
        languages.pair_of(one.source_lang, one.target_lang) for one in known if one.source_lang and one.target_lang
    )
    return tuple(dict.fromkeys(found))


def refuse_unsigned(signature: str, paths: dict[str, Path]) -> None:
    """Raise :class:`InputError` where it is not known whose ratings were calibrated on."""
    if not signature:
        names = ", ".join(str(path) for path in paths.values()) or "the run"
        raise InputError(
            f"{names}: no rating is signed, so that the gate could not know whose they are: give --signature, as "
            "`mtagent rate` writes it into JSON Lines and `mtagent rate --show` prints it"
        )
