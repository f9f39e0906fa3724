"""Files of WMT's shared tasks: annotations of the evaluation task, submissions to general translation."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from mtagent.errors import InputError, OutputError
from mtagent.formats.annotations import MISSING, OMISSION, Annotation, annotation, error_span, offset
from mtagent.formats.exports import Held, pair_name
from mtagent.formats.files import lines_of, replacing
from mtagent.formats.jsonl import dumped
from mtagent.formats.tables import Dialect, rows, table_rows
from mtagent.records import ErrorSpan

_SPANS = ("start_indices", "end_indices", "error_types")
_NEEDED = {"segment_id", "source_segment", "hypothesis_segment", *_SPANS}
_DIALECT = Dialect("\t", quoted=True)
_NO_ERROR = "no-error"


class Wmt:
    """The TSV of the evaluation task; reads error spans."""

    name = "wmt"

    def recognises(self, first: str, value: Any) -> bool:
        """Whether the first line names this format's columns."""
        return _NEEDED.issubset(first.split("\t"))

    def read_spans(self, path: Path) -> list[Annotation]:
        """The annotations of a file. Raises :class:`InputError`."""
        table = rows(lines_of(path), _DIALECT, path)
        columns = next(table).cells
        if missing := sorted(_NEEDED - set(columns)):
            raise InputError(f"{path}:1: the column {missing[0]!r} is missing")
        names, texts = ("segment_id", "doc_id", "system_id", "method"), ("source_segment", "hypothesis_segment")
        annotations = []
        for row in table_rows(table, len(columns), _DIALECT, path):
            cells, where = dict(zip(columns, row.cells, strict=True)), f"{path}:{row.line}"
            starts, ends, types = (cells[name].split() for name in _SPANS)
            errors = _errors(starts, ends, types, where)
            annotations.append(annotation(cells, where, errors, names=names, texts=texts))
        return annotations


def _errors(starts: list[str], ends: list[str], types: list[str], where: str) -> tuple[ErrorSpan, ...] | None:
    if not len(starts) == len(ends) == len(types):
        numbers = f"{len(starts)} starts, {len(ends)} ends and {len(types)} types"
        raise InputError(f"{where}: {numbers}; every span needs one of each")
    if not types:
        return None
    if _NO_ERROR in types and len(types) > 1:
        raise InputError(f"{where}: {_NO_ERROR} stands beside errors; delete one or the other")
    errors = []
    for start, end, kind in zip(starts, ends, types, strict=True):
        if MISSING in (start, end, kind):
            # As an error type it takes the severity's place; the task weighs such an error like a minor one.
            severity = "minor" if kind == MISSING else kind
            errors.append(error_span(where, severity=severity, category=OMISSION, side="source"))
        elif kind != _NO_ERROR:
            errors.append(error_span(where, severity=kind, start=offset(start, where), end=offset(end, where)))
    return tuple(errors)


WMT = Wmt()

BREAK = "\n\n"
"""What WMT's documents have between two paragraphs."""


class Wmt25:
    """A submission to general translation: JSON Lines, one document a line, of one system.

    Its ``doc_id`` is the segments' document, or the id of a segment without one.
    """

    name = "wmt25"
    folder = False
    one_system = True

    def export(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write the documents in the order in which they begin."""
        (system,) = held.systems
        to_come: Counter[str] = Counter()
        owners: dict[str, tuple[str, str | None]] = {}
        for segment, _, _ in held.entries():
            name, owner = segment.document or segment.id, (pair_name(segment), segment.document)
            if name in owners and (owners[name] != owner or segment.document is None):
                raise OutputError(
                    f"{output}: segment {segment.id!r}: there is another document called {name!r}; give documents "
                    "names of their own, also in different language pairs"
                )
            owners[name] = owner
            to_come[name] += 1
        begun: dict[str, list[str]] = {}  # only documents that have begun, and wait for their end, are in memory
        with replacing(output) as sink:
            for segment, translations, _ in held.entries():
                name = segment.document or segment.id
                begun.setdefault(name, []).append(translations[system] or "")
                to_come[name] -= 1
                while begun and not to_come[first := next(iter(begun))]:
                    sink.write(dumped({"doc_id": first, "hypothesis": _joined(begun.pop(first))}, output) + "\n")
        return ()


def _joined(texts: list[str]) -> str:
    """The texts of a document with a blank line between two of them, unless they bring the break along.

    A line break at the end of a text, or a blank line at the beginning of the next, stood in the document already.
    """
    rest = (
        ("" if before.endswith("\n") or after.startswith(BREAK) else BREAK) + after for before, after in pairwise(texts)
    )
    return texts[0] + "".join(rest)


WMT25 = Wmt25()
