"""WMT24's error span annotations (ESA), with end offsets that are inclusive, and ``missing`` for an omission.

Two forms: Appraise's CSV of twelve columns without a header (annotator, system, line, type, two languages, score,
document, a flag, spans, begin, end), which holds no texts, and the JSON Lines made of it, which do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtagent.errors import InputError
from mtagent.formats.annotations import OMISSION, Annotation, marked, name_field, objects_in, offset, text_field
from mtagent.formats.files import lines_of
from mtagent.formats.json_text import parsed
from mtagent.formats.jsonl import parsed_lines
from mtagent.formats.tables import Dialect, rows, table_rows
from mtagent.records import ErrorSpan

_COLUMNS = 12
_DIALECT = Dialect(",", quoted=True)
_CONTROL = ("#bad", "#dup", "#incomplete")
_MISSING = "missing"


def recognised_csv(line: str) -> bool:
    """Whether ``line`` begins a file of the first form."""
    return line.count(",") >= _COLUMNS - 1 and (",TGT," in line or ",BAD," in line)


def read_csv(path: Path) -> list[Annotation]:
    """The annotations of a CSV, without the control items. Raises :class:`InputError`."""
    found = []
    for row in table_rows(rows(lines_of(path), _DIALECT, path), _COLUMNS, _DIALECT, path):
        rater, system, line_id, kind, _, _, score, document, _, spans, _, _ = row.cells
        if kind == "BAD" or document.endswith(_CONTROL) or "-tutorial" in document:
            continue
        where = f"{path}:{row.line}"
        errors, warnings = _errors(parsed(spans, where), where)
        found.append(
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
    return found


def read_jsonl(path: Path) -> list[Annotation]:
    """The annotations of JSON Lines with ``esa_spans``. Raises :class:`InputError`."""
    found = []
    for number, values in parsed_lines(path):
        where = f"{path}:{number}"
        errors, warnings = _errors(values.get("esa_spans"), where)
        found.append(
            Annotation(
                where=where,
                errors=errors,
                segment=name_field(values, "line_id"),
                document=name_field(values, "doc_id"),
                system=name_field(values, "system"),
                rater=name_field(values, "annotator"),
                source=text_field(values, "src", where),
                translation=text_field(values, "tgt", where),
                warnings=warnings,
                note=f"ESA score {values['esa_score']}" if values.get("esa_score") is not None else None,
            )
        )
    return found


def _errors(data: Any, where: str) -> tuple[tuple[ErrorSpan, ...], tuple[str, ...]]:
    spans = objects_in(data, "the spans", where)
    undecided = sum(str(span.get("severity")).casefold() == "undecided" for span in spans)
    warnings = (f"{where}: {undecided} spans are undecided; they weigh nothing",) if undecided else ()
    return tuple(_error(span, where) for span in spans), warnings


def _error(span: dict[str, Any], where: str) -> ErrorSpan:
    start, end, severity, category = (span.get(name) for name in ("start_i", "end_i", "severity", "error_type"))
    if start == _MISSING or end == _MISSING:
        if start != end:
            raise InputError(f"{where}: a span from {start!r} to {end!r}; both must be {_MISSING!r}, or none")
        return marked(where, severity=severity, category=category or OMISSION, side="source")
    return marked(
        where,
        severity=severity,
        start=offset(start, where),
        end=offset(end, where, inclusive_end=True),
        category=category,
    )
