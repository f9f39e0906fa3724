"""Files of WMT's shared tasks: annotations of the evaluation task and of ESA, submissions to general translation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from mtagent.errors import InputError, OutputError
from mtagent.formats.annotations import Annotation, error_span, fields_of, objects_in, offset
from mtagent.formats.exports import RunTexts, pair_name
from mtagent.formats.files import encoded, lines_of, parsed, parsed_lines, replacing
from mtagent.formats.tables import open_table
from mtagent.records import ErrorSpan

MISSING = "missing"
"""What WMT's files write in place of the offsets of an omission."""

_OMISSION = "accuracy/omission"
_NAMES = {
    "segment": "segment_id",
    "document": "doc_id",
    "system": "system_id",
    "rater": "method",
    "source": "source_segment",
    "translation": "hypothesis_segment",
}
_ESA_NAMES = {
    "segment": "line_id",
    "document": "doc_id",
    "system": "system",
    "rater": "annotator",
    "source": "src",
    "translation": "tgt",
}
_SPANS = ("start_indices", "end_indices", "error_types")
_NEEDED = {"segment_id", "source_segment", "hypothesis_segment", *_SPANS}
_NO_ERROR = "no-error"


class Wmt:
    """The TSV of the evaluation task; reads error spans."""

    name = "wmt"

    def recognises(self, first: str, value: Any) -> bool:
        """Whether the first line names this format's columns."""
        return _NEEDED.issubset(first.split("\t"))

    def read_spans(self, path: Path) -> Iterator[Annotation]:
        """Yield the annotations of a file. Raises :class:`InputError`."""
        table = open_table(path, "\t", quoted=True)
        table.require(sorted(_NEEDED))
        for where, cells in table.records():
            starts, ends, types = (cells[name].split() for name in _SPANS)
            errors = _errors(starts, ends, types, where)
            yield Annotation(where=where, errors=errors, **fields_of(cells, where, **_NAMES))


def _errors(starts: list[str], ends: list[str], types: list[str], where: str) -> tuple[ErrorSpan, ...] | None:
    if not len(starts) == len(ends) == len(types):
        numbers = f"{len(starts)} starts, {len(ends)} ends and {len(types)} types"
        raise InputError(f"{where}: {numbers}; every span needs one of each")
    if not types:
        return None
    if _NO_ERROR in types and len(types) > 1:
        raise InputError(f"{where}: {_NO_ERROR} and errors at the same time; delete one or the other")
    errors = []
    for start, end, kind in zip(starts, ends, types, strict=True):
        if MISSING in (start, end, kind):
            # As an error type it takes the severity's place; the task weighs such an error like a minor one.
            severity = "minor" if kind == MISSING else kind
            errors.append(error_span(where, severity=severity, category=_OMISSION, side="source"))
        elif kind != _NO_ERROR:
            errors.append(error_span(where, severity=kind, start=offset(start, where), end=offset(end, where)))
    return tuple(errors)


class Esa:
    """WMT24's error span annotations (ESA), whose ends are inclusive; reads error spans.

    Two forms: Appraise's CSV of twelve columns without a header (annotator, system, line, type, two languages, score,
    document, a flag, spans, begin, end), which holds no texts, and the JSON Lines made of it, which do.
    """

    name = "esa"
    columns = (
        *("annotator", "system", "line", "type", "source_lang", "target_lang"),
        *("score", "document", "flag", "spans", "begin", "end"),
    )

    def recognises(self, first: str, value: Any) -> bool:
        """Whether a file that begins so is one of these, in either form."""
        if value is None:
            return first.count(",") >= len(self.columns) - 1 and (",TGT," in first or ",BAD," in first)
        return isinstance(value, dict) and "esa_spans" in value

    def read_spans(self, path: Path) -> Iterator[Annotation]:
        """Yield the annotations of a file, without the control items. Raises :class:`InputError`."""
        first = next((line.text for line in lines_of(path) if line.text.strip()), "")
        if first.strip().startswith("{"):
            for number, values in parsed_lines(path):
                where, score = f"{path}:{number}", values.get("esa_score")
                errors, warnings = _esa_errors(values.get("esa_spans"), where)
                note = None if score is None else f"ESA score {score}"
                about = fields_of(values, where, **_ESA_NAMES)
                yield Annotation(where=where, errors=errors, warnings=warnings, note=note, **about)
            return
        for where, cells in open_table(path, ",", quoted=True, columns=self.columns).records():
            score, document = cells["score"], cells["document"]
            if cells["type"] == "BAD" or document.endswith(("#bad", "#dup", "#incomplete")) or "-tutorial" in document:
                continue  # a control item
            errors, warnings = _esa_errors(parsed(cells["spans"], where), where)
            yield Annotation(
                where=where,
                errors=errors,
                segment=cells["line"],
                document=document,
                system=cells["system"],
                rater=cells["annotator"],
                warnings=warnings,
                note=f"ESA score {score}" if score else None,
            )


def _esa_errors(data: Any, where: str) -> tuple[tuple[ErrorSpan, ...], tuple[str, ...]]:
    """The errors of a segment, and a warning where the rater has left some of them undecided."""
    errors = []
    spans = objects_in(data, "the spans", where)
    for span in spans:
        start, end, severity, category = (span.get(name) for name in ("start_i", "end_i", "severity", "error_type"))
        if MISSING in (start, end):
            if start != end:
                raise InputError(f"{where}: a span from {start!r} to {end!r}; both must be {MISSING!r}, or none")
            errors.append(error_span(where, severity=severity, category=category or _OMISSION, side="source"))
        else:
            first, last = offset(start, where), offset(end, where, inclusive_end=True)
            errors.append(error_span(where, severity=severity, start=first, end=last, category=category))
    undecided = sum(str(span.get("severity")).casefold() == "undecided" for span in spans)
    warnings = (f"{where}: {undecided} spans are undecided; they weigh nothing",) if undecided else ()
    return tuple(errors), warnings


class Wmt25:
    """A submission to general translation: JSON Lines, one document a line, of one system.

    Its ``doc_id`` is the segments' document, or the id of a segment without one.
    """

    name = "wmt25"
    folder = False
    one_system = True

    def export(self, run: RunTexts, output: Path) -> tuple[str, ...]:
        """Write the documents in the order in which they begin."""
        (system,) = run.systems
        segments_left: Counter[str] = Counter()
        owners: dict[str, tuple[str, str | None]] = {}
        for segment, _, _ in run.segments():
            name = segment.document or segment.id
            owner = (pair_name(segment), segment.document)
            if name in owners and (owners[name] != owner or segment.document is None):
                raise OutputError(
                    f"{output}: segment {segment.id!r}: there is another document called {name!r}; give documents "
                    "names of their own, also in different language pairs"
                )
            owners[name] = owner
            segments_left[name] += 1
        texts: dict[str, list[str]] = {}  # only of documents that have begun, and wait for their end
        with replacing(output) as sink:
            for segment, translations, _ in run.segments():
                name = segment.document or segment.id
                texts.setdefault(name, []).append(translations[system] or "")
                segments_left[name] -= 1
                # A document that has ended is written once all that began before it are.
                for first in list(texts):
                    if segments_left[first]:
                        break
                    sink.write(encoded({"doc_id": first, "hypothesis": _joined(texts.pop(first))}) + "\n")
        return ()


def _joined(texts: list[str]) -> str:
    """The texts of a document, with a blank line between two texts that have no break of their own.

    A line break at the end of a text, or a blank line at the beginning of the next, is from the document itself.
    """
    pieces = texts[:1]
    for text, following in pairwise(texts):
        if not (text.endswith("\n") or following.startswith("\n\n")):
            pieces.append("\n\n")
        pieces.append(following)
    return "".join(pieces)


WMT, ESA, WMT25 = Wmt(), Esa(), Wmt25()
