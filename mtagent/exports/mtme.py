"""A test set in the folders of mt-metrics-eval, one line per segment, a set of files for each language pair.

==============================================  ================================================================
``sources/LP.txt``, ``references/LP.refA.txt``  the texts; no references where no segment has one
``system-outputs/LP/NAME.txt``                  those of each stage or system
``documents/LP.docs``                           ``DOMAIN⇥DOCUMENT`` per segment
``metric-scores/LP/EVALUATOR-REF.*.score``      ``SYSTEM⇥SCORE``; ``REF`` is ``refA`` for who saw references, or ``src``
==============================================  ================================================================
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from mtagent.errors import OutputError
from mtagent.exports.names import Raters, mapped, pair_name, renamed, strict_name
from mtagent.exports.protocol import Entry, Held
from mtagent.formats.files import Sink, replacing
from mtagent.formats.ratings.mtme import write_scores
from mtagent.records import Rating, Segment

REFERENCE = "refA"
_UNKNOWN = "unknown"
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r"})
ESCAPED = (
    r"escaped: in all texts a line feed is written \n, a carriage return \r, a backslash \\; "
    "read these from left to right to undo it"
)


@dataclass(frozen=True)
class Mtme:
    """``escape`` allows line breaks in segments: they, and backslashes, are escaped in all texts."""

    escape: bool = False
    name: str = "mtme"
    folder: bool = True
    one_system: bool = False

    def write(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write the folders. Raises :class:`OutputError` for a segment with a line break, unless ``escape``."""
        broken = held.survey.broken
        if broken and not self.escape:
            raise OutputError(
                f"segment {broken[0]!r} (and {len(broken) - 1} more): has a line break, and mt-metrics-eval holds a "
                "segment a line; --escape writes \\n for it"
            )
        names = mapped(held.systems, strict_name, output)
        pairs: dict[str, _Pair] = {}
        with ExitStack() as stack:
            for entry in held.entries():
                lp = pair_name(entry.segment)
                if lp not in pairs:
                    pairs[lp] = _Pair(_Folder(output, stack, self.escape), lp, names, held.survey.referenced.get(lp, 0))
                pairs[lp].add(entry)
            remarks = [remark for pair in pairs.values() for remark in pair.finish(held.run)]
        evaluators = {name: plain for pair in pairs.values() for name, plain in pair.raters.plain_names.items()}
        return (*([ESCAPED] if self.escape else []), *renamed(names | evaluators), *remarks)


@dataclass(frozen=True)
class _Folder:
    """Where the files go, all of which stay open until the last segment."""

    path: Path
    stack: ExitStack
    escape: bool

    def open(self, *parts: str) -> Sink:
        path = self.path.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return self.stack.enter_context(replacing(path))

    def write(self, sink: Sink, text: str | None) -> None:
        """Write one line; there is none of a text that is missing."""
        text = text or ""
        sink.write((text.translate(_ESCAPES) if self.escape else text) + "\n")


class _Pair:
    """The files of one language pair."""

    def __init__(self, folder: _Folder, lp: str, names: dict[str, str], referenced: int) -> None:
        self._folder, self._lp, self._names, self._referenced = folder, lp, names, referenced
        self._sources = folder.open("sources", f"{lp}.txt")
        self._references = folder.open("references", f"{lp}.{REFERENCE}.txt") if referenced else None
        self._outputs = {system: folder.open("system-outputs", lp, f"{name}.txt") for system, name in names.items()}
        self._docs = folder.open("documents", f"{lp}.docs")
        self._documents, self.raters = _Documents(), Raters(strict_name)
        self._scores: dict[str, dict[str, list[float | None]]] = {}
        self._count = 0

    def add(self, entry: Entry) -> None:
        """Write the lines of one segment, and remember its scores, which stand system by system."""
        segment = entry.segment
        self._folder.write(self._sources, segment.source)
        if self._references is not None:
            self._folder.write(self._references, segment.reference)
        for system, sink in self._outputs.items():
            self._folder.write(sink, entry.texts[system])
        self._docs.write("\t".join(self._documents.line(segment)) + "\n")
        self._remember(entry)
        self._count += 1

    def finish(self, run: str) -> list[str]:
        """Write the scores, and return the remarks on this language pair."""
        for metric, by_system in self._scores.items():
            scores, averages = (
                self._folder.open("metric-scores", self._lp, f"{metric}.{level}.score") for level in ("seg", "sys")
            )
            for system, found in by_system.items():
                write_scores(self._names[system], found, scores, averages)
        remarks = [*self.raters.remarks, *self._documents.remarks(), *self._unrated(run)]
        if 0 < self._referenced < self._count:
            remarks.append(f"{self._count - self._referenced} of {self._count} segments have no reference: empty lines")
        return [f"{self._lp}: {remark}" for remark in remarks]

    def _remember(self, entry: Entry) -> None:
        found: dict[tuple[str, str], float] = {}
        for rated in entry.rated:
            if rated.rating is not None:
                metric = self._metric(rated.rating)
                if metric not in self._scores:  # a default that is made for every rating would be quadratic
                    self._scores[metric] = {system: [None] * self._count for system in self._names}
                found[metric, rated.system] = rated.rating.score
        for metric, by_system in self._scores.items():
            for system, scores in by_system.items():
                scores.append(found.get((metric, system)))

    def _metric(self, rating: Rating) -> str:
        """``NAME-REF`` as mt-metrics-eval wants it."""
        seen = self._referenced and "reference:yes" in rating.signature.split("|")
        return f"{self.raters.name(rating)}-{REFERENCE if seen else 'src'}"

    def _unrated(self, run: str) -> list[str]:
        if not self._scores:
            return [] if not run else ["the run holds no rating of these texts: no metric-scores"]
        return [
            f"{metric}: {missing} of {sum(map(len, by_system.values()))} texts are not rated (None), which "
            f"mt-metrics-eval does not read as a metric's scores: `mtagent rate --run {run}` rates all"
            for metric, by_system in self._scores.items()
            if (missing := sum(scores.count(None) for scores in by_system.values()))
        ]


class _Documents:
    """Names of domains and documents as mt-metrics-eval needs them: without white space, each document in one piece."""

    def __init__(self) -> None:
        self._raw: str | None = None
        self._name = ""
        self._used: set[str] = set()
        self._changed: dict[str, None] = {}

    def line(self, segment: Segment) -> tuple[str, str]:
        """Domain and document of the next segment."""
        if not self._used or segment.document != self._raw:
            self._raw, self._name = segment.document, self._fresh(_bare(segment.document))
            if segment.document and self._name != segment.document:
                self._changed[f"{segment.document} is {self._name}"] = None
        return _bare(segment.domain), self._name

    def remarks(self) -> list[str]:
        """What was renamed."""
        if not self._changed:
            return []
        shown = ", ".join([*list(self._changed)[:3], *(["…"] if len(self._changed) > 3 else [])])
        return [f"documents renamed, to stand in one piece and without spaces: {len(self._changed)} ({shown})"]

    def _fresh(self, name: str) -> str:
        number, fresh = 1, name
        while fresh in self._used:
            number += 1
            fresh = f"{name}_{number}"
        self._used.add(fresh)
        return fresh


def _bare(name: str | None) -> str:
    return "_".join((name or "").split()) or _UNKNOWN
