"""Files of WMT's shared tasks: annotations of the evaluation task, submissions to general translation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from mtagent.errors import InputError, OutputError
from mtagent.formats.annotations import OMISSION, Annotation, marked, offset
from mtagent.formats.exports import Entry, Held, pair_name
from mtagent.formats.files import lines_of, replacing
from mtagent.formats.jsonl import dumped
from mtagent.formats.tables import Dialect, rows, table_rows
from mtagent.records import ErrorSpan

_SPANS = ("start_indices", "end_indices", "error_types")
_NEEDED = {"segment_id", "source_segment", "hypothesis_segment", *_SPANS}
_DIALECT = Dialect("\t", quoted=True)
_MISSING, _NO_ERROR = "missing", "no-error"


def recognised(header: str) -> bool:
    """Whether ``header`` names this format's columns."""
    return _NEEDED.issubset(header.split("\t"))


def read(path: Path) -> list[Annotation]:
    """The annotations of a file. Raises :class:`InputError`."""
    table = rows(lines_of(path), _DIALECT, path)
    names = next(table).cells
    if missing := sorted(_NEEDED - set(names)):
        raise InputError(f"{path}:1: the column {missing[0]!r} is missing")
    found = []
    for row in table_rows(table, len(names), _DIALECT, path):
        cells, where = dict(zip(names, row.cells, strict=True)), f"{path}:{row.line}"
        found.append(
            Annotation(
                where=where,
                errors=_errors([cells[name].split() for name in _SPANS], where),
                segment=cells["segment_id"] or None,
                document=cells.get("doc_id") or None,
                system=cells.get("system_id") or None,
                rater=cells.get("method") or None,
                source=cells["source_segment"],
                translation=cells["hypothesis_segment"],
            )
        )
    return found


def _errors(lists: list[list[str]], where: str) -> tuple[ErrorSpan, ...] | None:
    starts, ends, types = lists
    if not len(starts) == len(ends) == len(types):
        numbers = f"{len(starts)} starts, {len(ends)} ends and {len(types)} types"
        raise InputError(f"{where}: {numbers}; every span needs one of each")
    if not types:
        return None
    if _NO_ERROR in types and len(types) > 1:
        raise InputError(f"{where}: {_NO_ERROR} stands beside errors; delete one or the other")
    return tuple(_error(*one, where) for one in zip(starts, ends, types, strict=True) if one[2] != _NO_ERROR)


def _error(start: str, end: str, kind: str, where: str) -> ErrorSpan:
    if _MISSING in (start, end, kind):
        # As an error type it takes the severity's place; the task weighs such an error like a minor one.
        severity = "minor" if kind == _MISSING else kind
        return marked(where, severity=severity, category=OMISSION, side="source")
    return marked(where, severity=kind, start=offset(start, where), end=offset(end, where))


BREAK = "\n\n"
"""What WMT's documents have between two paragraphs."""


@dataclass(frozen=True)
class Wmt25Export:
    """JSON Lines, one document a line: its ``doc_id`` is the segments' document, or the id of a segment without one."""

    name: str = "wmt25"
    folder: bool = False
    one_system: bool = True

    def write(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write the documents in the order in which they begin."""
        (system,) = held.systems
        documents = _documents(held.entries(), system, output)
        with replacing(output) as sink:
            for name, texts in documents.items():
                sink.write(dumped({"doc_id": name, "hypothesis": joined(texts)}, output) + "\n")
        return ()


def _documents(entries: Iterable[Entry], system: str, output: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    owners: dict[str, tuple[str, str | None]] = {}
    for segment, texts, _ in entries:
        name, owner = segment.document or segment.id, (pair_name(segment), segment.document)
        if name in owners and (owners[name] != owner or segment.document is None):
            raise OutputError(
                f"{output}: segment {segment.id!r}: there is another document called {name!r}; give documents names of "
                "their own, also in different language pairs"
            )
        owners[name] = owner
        found.setdefault(name, []).append(texts[system] or "")
    return found


def joined(texts: Sequence[str]) -> str:
    """The texts of a document with a blank line between two of them, unless they bring the break along.

    A line break at the end of a text, or a blank line at the beginning of the next, stood in the document already.
    """
    if not texts:
        return ""
    return texts[0] + "".join(("" if _broken(one, other) else BREAK) + other for one, other in pairwise(texts))


def _broken(before: str, after: str) -> bool:
    return before.endswith("\n") or after.startswith(BREAK)
