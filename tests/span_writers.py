"""Annotated translations written in the formats of people and tools who mark errors, for tests to read back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.records import ErrorSpan


class Case(NamedTuple):
    """A translation and what a rater marked in it; errors of the source's side have offsets into the source."""

    id: str
    source: str
    translation: str
    errors: tuple[ErrorSpan, ...] | None
    system: str = "sys"
    rater: str = "r1"


def write(path: Path, content: str) -> Path:
    """``content`` as it is, in a folder made for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())
    return path


def _write_objects(path: Path, objects: Iterable[dict[str, Any]]) -> None:
    write(path, "".join(json.dumps(values, ensure_ascii=False) + "\n" for values in objects))


def _write_table(path: Path, rows: Sequence[Sequence[str]], delimiter: str) -> None:
    sink = io.StringIO()
    csv.writer(sink, delimiter=delimiter, lineterminator="\n").writerows(rows)
    write(path, sink.getvalue())


def marot(path: Path, cases: Sequence[Case]) -> None:
    lines = ["system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"]
    for case in cases:
        head = [case.system, "doc", "1", case.id, case.rater]
        for error in case.errors or ():
            texts = [case.source, case.translation]
            side = 1 if error.side == "translation" else 0
            if error.start is not None:
                text = texts[side]
                texts[side] = f"{text[: error.start]}<v>{text[error.start : error.end]}</v>{text[error.end :]}"
            lines.append("\t".join([*head, *texts, error.category, error.severity.capitalize()]))
        if case.errors == ():
            lines.append("\t".join([*head, case.source, case.translation, "No-error", "No-error"]))
    write(path, "\n".join(lines) + "\n")


def mtme(path: Path, cases: Sequence[Case]) -> None:
    """``path`` is in a folder of its own, beside the folders of the texts; one system."""
    root, lines = path.parent.parent, []
    for case in cases:
        kept = {"start", "end", "category", "severity"}
        errors = [
            error.model_dump(include=kept) | {"score": None, "is_source_error": error.side != "translation"}
            for error in case.errors or ()
        ]
        rating = f"{json.dumps({'errors': errors})}\t{case.rater}" if case.errors is not None else "None"
        lines.append(f"{case.system}\t{rating}\n")
    write(path, "".join(lines))
    write(root / "sources" / "en-de.txt", "".join(f"{case.source}\n" for case in cases))
    write(root / "system-outputs" / "en-de" / f"{cases[0].system}.txt", "".join(f"{c.translation}\n" for c in cases))


def _esa_spans(case: Case) -> list[dict[str, object]]:
    return [
        {
            "start_i": "missing" if error.start is None else error.start,
            "end_i": "missing" if error.end is None else error.end - 1,
            "severity": error.severity,
            "error_type": None if error.start is None else error.category,
        }
        for error in case.errors or ()
    ]


def esa_csv(path: Path, cases: Sequence[Case]) -> None:
    """Has no texts."""
    end = ["1.5", "2.5"]
    rows = [
        [c.rater, c.system, c.id, "TGT", "eng", "deu", "80", "doc", "False", json.dumps(_esa_spans(c)), *end]
        for c in cases
    ]
    _write_table(path, rows, ",")


def esa_jsonl(path: Path, cases: Sequence[Case]) -> None:
    shared = {"langs": "en-de", "doc_id": "doc", "esa_score": 80}
    _write_objects(path, (
        {
            **shared, "line_id": int(case.id), "src": case.source, "tgt": case.translation,
            "esa_spans": _esa_spans(case), "system": case.system, "annotator": case.rater,
        }
        for case in cases
    ))  # fmt: skip


def wmt(path: Path, cases: Sequence[Case]) -> None:
    """Has no categories."""
    names = ["doc_id", "segment_id", "source_lang", "target_lang", "set_id", "system_id", "source_segment"]
    names += ["hypothesis_segment", "reference_segment", "domain_name", "method"]
    rows = [[*names, "start_indices", "end_indices", "error_types"]]
    for case in cases:
        spans = [
            ("missing" if e.start is None else str(e.start), "missing" if e.end is None else str(e.end), e.severity)
            for e in case.errors or ()
        ]
        lists = [" ".join(values) for values in zip(*(spans or [("-1", "-1", "no-error")]), strict=True)]
        texts = [case.source, case.translation, ""]
        rows.append(["doc", case.id, "en", "de", "official", case.system, *texts, "news", case.rater, *lists])
    _write_table(path, rows, "\t")


def comet(path: Path, cases: Sequence[Case]) -> None:
    """Has no categories."""
    segments = []
    for case in cases:
        kept = {"text", "severity", "start", "end"}
        values: dict[str, object] = {"src": case.source, "mt": case.translation, "COMET": 0.5}
        if case.errors is not None:
            values["errors"] = [error.model_dump(include=kept) | {"confidence": 0.41} for error in case.errors]
        segments.append(values)
    write(path, json.dumps({cases[0].system: segments}, ensure_ascii=False, indent=4))


def bio_mqm(path: Path, cases: Sequence[Case]) -> None:
    segments = []
    for case in cases:
        sides: dict[str, list[dict[str, object]]] = {"target_errors": [], "source_errors": []}
        for error in case.errors or ():
            place = {"startIndex": error.start, "endIndex": (error.end or 0) - 1}
            values = {**place, "error_category": error.category, "severity": error.severity.capitalize()}
            sides["target_errors" if error.side == "translation" else "source_errors"].append(values)
        about = {"Annotator_ID": case.rater, "SEG_ID": case.id, "source": case.source, "target": case.translation}
        segments.append(about | sides)
    write(path, "\ufeff" + json.dumps(segments))


def own(path: Path, cases: Sequence[Case]) -> None:
    _write_objects(path, (
        {
            "id": case.id, "system": case.system, "source": case.source, "translation": case.translation,
            "evaluator": case.rater, "score": -1.0,
            "errors": None if case.errors is None else [error.model_dump() for error in case.errors],
        }
        for case in cases
    ))  # fmt: skip


WRITERS: dict[str, Callable[[Path, Sequence[Case]], None]] = {
    "marot": marot,
    "mtme": mtme,
    "esa": esa_jsonl,
    "esa-csv": esa_csv,
    "wmt": wmt,
    "comet": comet,
    "bio-mqm": bio_mqm,
    "jsonl": own,
}
