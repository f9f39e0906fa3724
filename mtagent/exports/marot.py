"""The ratings of a run as MQM annotations in Marot's TSV: the stages are the systems, the evaluators the raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mtagent.candidates import Candidates
from mtagent.errors import OutputError
from mtagent.exports.names import Raters, pair_name
from mtagent.exports.protocol import Entry, Held
from mtagent.formats import ratings
from mtagent.formats.ratings.marot import Marot as MarotFile
from mtagent.records import Rated


@dataclass(frozen=True)
class Marot:
    """Error spans and nothing else: a text that nobody marked has no row."""

    name: str = "marot"
    folder: bool = False
    one_system: bool = False

    def write(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write the rows of all ratings with spans; see :class:`mtagent.formats.ratings.marot.Marot`."""
        file = MarotFile(way_out="use --format mtme --escape")
        marked = scored = 0
        for entry in held.entries():
            file.refuse(Candidates(segment=entry.segment, translations=entry.texts), output)
            marked += sum(_marks(rated) for rated in entry.rated)
            scored += sum(rated.rating is not None and not _marks(rated) for rated in entry.rated)
        if not marked:
            raise OutputError(
                f"{output}: no text of run {held.run!r} has a rating with error spans: see `mtagent rate`"
            )
        raters: dict[str, Raters] = defaultdict(Raters)
        remarks = file.write(ratings.Ratings(held.systems, lambda _: _rows(held, raters)), output)
        without = (f"ratings without a row, for their evaluator marks no spans: {scored}",) if scored else ()
        return (*remarks, *without, *(remark for pair in raters.values() for remark in pair.remarks))


def _rows(held: Held, raters: dict[str, Raters]) -> Iterator[Rated]:
    for entry in held.entries():
        yield from (_named(rated, entry, raters) for rated in entry.rated)


def _named(rated: Rated, entry: Entry, raters: dict[str, Raters]) -> Rated:
    """``rated`` with the rater's name in this file; without a rating that marks no spans."""
    if rated.rating is None or rated.rating.errors is None:
        return rated.model_copy(update={"rating": None})
    name = raters[pair_name(entry.segment)].name(rated.rating)
    return rated.model_copy(update={"rating": rated.rating.model_copy(update={"evaluator": name})})


def _marks(rated: Rated) -> bool:
    return rated.rating is not None and rated.rating.errors is not None
