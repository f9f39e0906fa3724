"""The report as one HTML file that needs nothing else: no network, no fonts, no other file."""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import IO, TYPE_CHECKING

from mtagent import __version__
from mtagent.comparison.rows import Comparison
from mtagent.errors import MissingExtra, OutputError
from mtagent.records import Chain
from mtagent.report import overview
from mtagent.report.plots import STYLE
from mtagent.report.segments import packed, script_json, signatures
from mtagent.report.verdict import Tally, Way, sentence, way
from mtagent.store import RunSummary

if TYPE_CHECKING:
    from jinja2 import Environment

_SCRIPTS = ("elements", "difference", "marked", "filters", "details", "list", "main")
_STYLES = ("page", "segments", "narrow")


MOST_CHARACTERS = 300_000_000
"""Of the segments in a page. No text in a browser may be longer than 512 MB; 100,000 sentences take 90 MB."""
_IN_MEMORY = 2**24


@dataclass
class _Gathered:
    """What one pass over the chains finds. The segments go to ``file`` as JSON, as long as a page has room for them."""

    tally: Tally
    file: IO[str]
    most: int
    segments: int = 0
    shown: int = 0
    characters: int = 0
    pairs: dict[tuple[str, str], None] = field(default_factory=dict)
    signatures: dict[str, None] = field(default_factory=dict)

    def add(self, chain: Chain, scores: Sequence[Sequence[float]]) -> None:
        self.tally.add(chain)
        if self.shown == self.segments:
            segment = script_json(packed(chain, scores))
            self.characters += len(segment) + 1
            if self.characters <= self.most:
                self.file.write(f"{',' if self.shown else ''}{segment}")
                self.shown += 1
        self.segments += 1
        self.pairs[chain.segment.source_lang, chain.segment.target_lang] = None
        self.signatures |= dict.fromkeys(signatures(chain))


def html(
    summary: RunSummary, chains: Iterable[Chain], comparison: Comparison | None = None, plots: Iterable[str] = ()
) -> str:
    """The page as one text; see :func:`pieces`."""
    return "".join(pieces(summary, chains, comparison, plots))


def pieces(
    summary: RunSummary,
    chains: Iterable[Chain],
    comparison: Comparison | None = None,
    plots: Iterable[str] = (),
    *,
    most: int = MOST_CHARACTERS,
) -> Iterator[str]:
    """The page about a run of chains, piece by piece. The chains are read once, and wait in a temporary file until all
    that stands before them is known.

    ``plots`` are figures that are put into the page as they are, and asked for when all chains were read. Segments
    beyond ``most`` characters are left out, and the page says so. Raises :class:`mtagent.errors.MissingExtra` without
    jinja2, and :class:`OutputError` where the temporary file finds no room.
    """
    environment = _environment()
    with _temporary() as file:
        found = _Gathered(Tally(summary.counts.total), file, most)
        scores = _scores(comparison)
        for chain in chains:
            found.add(chain, next(scores, ()))
        went = None if comparison is None else way(comparison, summary.name)
        script = "\n".join(map(_asset, (f"{name}.js" for name in _SCRIPTS)))
        yield from environment.get_template("page.html.jinja").generate(
            summary=summary,
            sentence=sentence(found.tally, went, summary.usage),
            remarks=list(_remarks(summary, comparison, found)),
            facts=[fact for fact in overview.facts(summary, list(found.pairs)) if fact[1]],
            settings=overview.settings(summary),
            heads=overview.heads(comparison) if comparison else (),
            lines=overview.lines(comparison) if comparison else (),
            signatures=[*(comparison.signatures if comparison else ()), *found.signatures],
            plots=list(plots),
            segments=found.segments,
            data=_data(summary, file, comparison, went),
            script=script,
            script_hash=_hash(script),
            style=_style(),
            version=__version__,
        )


@contextmanager
def _temporary() -> Iterator[IO[str]]:
    try:
        with tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="") as file:
            yield file
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(
            f"{tempfile.gettempdir()}: has no room for a report while it is made: {reason}; TMPDIR names another folder"
        ) from error


def _environment() -> Environment:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise MissingExtra("the page of a report", "report") from None
    return Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_asset), trim_blocks=True, lstrip_blocks=True
    )


def _asset(name: str) -> str:
    return files("mtagent.report").joinpath("page", name).read_text(encoding="utf-8")


def _style() -> str:
    """The plots' own style first: the page sets some of its colours anew."""
    return "\n".join([STYLE, *(_asset(f"{name}.css") for name in _STYLES)])


def _hash(script: str) -> str:
    """The script as the page's policy allows it: this one, and no other that a text might bring."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _scores(comparison: Comparison | None) -> Iterator[list[list[float]]]:
    """For each segment, for each metric the score of each row."""
    if comparison is None or not comparison.metrics:
        return
    for index in range(len(comparison.segments)):
        places = range(len(comparison.metrics))
        yield [[row.cells[place].score.segments[index] for row in comparison.rows] for place in places]


def _remarks(summary: RunSummary, comparison: Comparison | None, found: _Gathered) -> Iterator[str]:
    counts = summary.counts
    tried = counts.done + counts.failed
    if counts.total is not None and tried < counts.total:
        yield (
            f"The run is not complete: {tried:,} of {counts.total:,} segments were tried ({summary.state}). "
            "The command that began it goes on with it."
        )
    if found.shown < found.segments:
        yield (
            f"The page shows the first {found.shown:,} of {found.segments:,} segments: no browser holds more. All "
            "numbers are about all of them; `--format csv` and `--format json` hold every segment."
        )
    if comparison is None and len(found.pairs) > 1:
        yield "The segments are in several languages, and are not scored: run each target language by itself."
    yield from comparison.warnings if comparison else ()


def _data(summary: RunSummary, segments: IO[str], comparison: Comparison | None, went: Way | None) -> Iterator[str]:
    """All that the page's script works with, as JSON in pieces."""
    rows = comparison.rows if comparison else ()
    first, last = (rows.index(went.first), rows.index(went.last)) if went else (0, 0)
    cells = rows[0].cells if rows else ()
    head = {
        "run": summary.name,
        "rows": [overview.row_name(row) for row in rows],
        "metrics": [{"name": cell.score.metric, "higher": cell.score.higher_is_better} for cell in cells],
        "first": first,
        "last": last,
        "deciding": went.place if went else None,
    }
    yield f'{script_json(head)[:-1]},"segments":['
    segments.seek(0)
    while piece := segments.read(_IN_MEMORY):
        yield piece
    yield "]}"
