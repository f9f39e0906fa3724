"""WMT24's error span annotations (ESA), with end offsets that are inclusive, and ``missing`` for an omission.

Two forms: Appraise's CSV of twelve columns without a header (annotator, system, line, type, two languages, score,
document, a flag, spans, begin, end), which holds no texts, and the JSON Lines made of it, which do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtagent.errors import InputError
from mtagent.formats.annotations import MISSING, OMISSION, Annotation, annotation, error_span, objects_in, offset
from mtagent.formats.files import lines_of
from mtagent.formats.json_text import parsed, parsed_lines
from mtagent.formats.tables import Dialect, rows, table_rows
from mtagent.records import ErrorSpan

_COLUMNS = 12
_DIALECT = Dialect(",", quoted=True)
_CONTROL = ("#bad", "#dup", "#incomplete")


class Esa:
    """Reads error spans."""

    name = "esa"

    def recognises(self, first: str, value: Any) -> bool:
        """Whether a file that begins so is one of these, in either form."""
        if value is None:
            return first.count(",") >= _COLUMNS - 1 and (",TGT," in first or ",BAD," in first)
        return isinstance(value, dict) and "esa_spans" in value

    def read_spans(self, path: Path) -> list[Annotation]:
        """The annotations of a file, without the control items. Raises :class:`InputError`."""
        first = next((line.text for line in lines_of(path) if line.text.strip()), "")
        return _read_jsonl(path) if first.strip().startswith("{") else _read_csv(path)


def _read_csv(path: Path) -> list[Annotation]:
    annotations = []
    for row in table_rows(rows(lines_of(path), _DIALECT, path), _COLUMNS, _DIALECT, path):
        rater, system, line_id, kind, _, _, score, document, _, spans, _, _ = row.cells
        if kind == "BAD" or document.endswith(_CONTROL) or "-tutorial" in document:
            continue
        where = f"{path}:{row.line}"
        errors, warnings = _errors(parsed(spans, where), where)
        annotations.append(
            Annotation(
                where=where,
                errors=errors,
                segment=line_id,
                document=document,
                system=system,
                rater=rater,
                warnings=warnings,
                note=f"ESA score {score}" if score else None,
            )
        )
    return annotations


def _read_jsonl(path: Path) -> list[Annotation]:
    names, texts = ("line_id", "doc_id", "system", "annotator"), ("src", "tgt")
    annotations = []
    for number, values in parsed_lines(path):
        where, score = f"{path}:{number}", values.get("esa_score")
        errors, warnings = _errors(values.get("esa_spans"), where)
        note = None if score is None else f"ESA score {score}"
        annotations.append(annotation(values, where, errors, names=names, texts=texts, warnings=warnings, note=note))
    return annotations


def _errors(data: Any, where: str) -> tuple[tuple[ErrorSpan, ...], tuple[str, ...]]:
    """The errors of a segment, and a warning where the rater has left some of them undecided."""
    errors = []
    spans = objects_in(data, "the spans", where)
    for span in spans:
        start, end, severity, category = (span.get(name) for name in ("start_i", "end_i", "severity", "error_type"))
        if MISSING in (start, end):
            if start != end:
                raise InputError(f"{where}: a span from {start!r} to {end!r}; both must be {MISSING!r}, or none")
            errors.append(error_span(where, severity=severity, category=category or OMISSION, side="source"))
        else:
            first, last = offset(start, where), offset(end, where, inclusive_end=True)
            errors.append(error_span(where, severity=severity, start=first, end=last, category=category))
    undecided = sum(str(span.get("severity")).casefold() == "undecided" for span in spans)
    warnings = (f"{where}: {undecided} spans are undecided; they weigh nothing",) if undecided else ()
    return tuple(errors), warnings


ESA = Esa()
