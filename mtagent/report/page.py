"""The report as one HTML file that needs nothing else: no network, no fonts, no other file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from mtagent import __version__
from mtagent.comparison.rows import Comparison
from mtagent.errors import MissingExtra
from mtagent.records import Chain
from mtagent.report import overview
from mtagent.report.plots import STYLE
from mtagent.report.segments import Packed, packed, script_json, signatures
from mtagent.report.verdict import Tally, Way, sentence, way
from mtagent.store import RunSummary

if TYPE_CHECKING:
    from jinja2 import Environment

_SCRIPTS = ("elements", "difference", "marked", "filters", "details", "list", "main")
_STYLES = ("page", "segments", "narrow")


@dataclass
class _Gathered:
    """What one pass over the chains finds."""

    tally: Tally
    segments: list[Packed] = field(default_factory=list)
    pairs: dict[tuple[str, str], None] = field(default_factory=dict)
    signatures: dict[str, None] = field(default_factory=dict)

    def add(self, chain: Chain, scores: Sequence[Sequence[float]]) -> None:
        self.tally.add(chain)
        self.segments.append(packed(chain, scores))
        self.pairs[chain.segment.source_lang, chain.segment.target_lang] = None
        self.signatures |= dict.fromkeys(signatures(chain))


def html(
    summary: RunSummary, chains: Iterable[Chain], comparison: Comparison | None = None, plots: Sequence[str] = ()
) -> str:
    """The page about a run of chains, which are read once.

    ``plots`` are figures that are put into the page as they are. Raises :class:`mtagent.errors.MissingExtra`
    without jinja2.
    """
    environment = _environment()
    found = _Gathered(Tally(summary.counts.total))
    scores = _scores(comparison)
    for chain in chains:
        found.add(chain, next(scores, ()))
    went = None if comparison is None else way(comparison, summary.name)
    script = "\n".join(map(_asset, (f"{name}.js" for name in _SCRIPTS)))
    return environment.get_template("page.html.jinja").render(
        summary=summary,
        sentence=sentence(found.tally, went, summary.usage),
        remarks=list(_remarks(summary, comparison, list(found.pairs))),
        facts=[fact for fact in overview.facts(summary, list(found.pairs)) if fact[1]],
        settings=overview.settings(summary),
        heads=overview.heads(comparison) if comparison else (),
        lines=overview.lines(comparison) if comparison else (),
        signatures=[*(comparison.signatures if comparison else ()), *found.signatures],
        plots=plots,
        segments=len(found.segments),
        data=script_json(_data(summary, found, comparison, went)),
        script=script,
        script_hash=_hash(script),
        style=_style(),
        version=__version__,
    )


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


def _remarks(summary: RunSummary, comparison: Comparison | None, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    counts = summary.counts
    tried = counts.done + counts.failed
    if counts.total is not None and tried < counts.total:
        yield (
            f"The run is not complete: {tried:,} of {counts.total:,} segments were tried ({summary.state}). "
            "The command that began it goes on with it."
        )
    if comparison is None and len(pairs) > 1:
        yield "The segments are in several languages, and are not scored: run each target language by itself."
    yield from comparison.warnings if comparison else ()


def _data(summary: RunSummary, found: _Gathered, comparison: Comparison | None, went: Way | None) -> dict[str, Any]:
    """All that the page's script works with."""
    rows = comparison.rows if comparison else ()
    first, last = (rows.index(went.first), rows.index(went.last)) if went else (0, 0)
    cells = rows[0].cells if rows else ()
    return {
        "run": summary.name,
        "rows": [overview.row_name(row) for row in rows],
        "metrics": [{"name": cell.score.metric, "higher": cell.score.higher_is_better} for cell in cells],
        "first": first,
        "last": last,
        "deciding": went.place if went else None,
        "segments": found.segments,
    }
