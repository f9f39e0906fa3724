"""Campaigns of Pearmut: translations with error spans, for people to keep, correct or delete."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mtagent.formats.exports import RunTexts, mapped
from mtagent.formats.files import replacing
from mtagent.formats.ratings import place_of
from mtagent.records import ErrorSpan, Rated

_SEVERITIES = {"critical": "major"}
"""Pearmut knows neutral, minor and major."""


class Pearmut:
    """One task for one person: a document for each of the run's, with all systems side by side.

    The spans of all evaluators are shown together, equal ones once. Ends are inclusive.
    """

    name = "pearmut"
    folder = False
    one_system = False

    def export(self, run: RunTexts, output: Path) -> tuple[str, ...]:
        """Write a campaign. A missing translation is an empty one."""
        names = mapped(run.systems, _model_name, output)
        documents: dict[str, list[dict[str, Any]]] = {}
        placeless = 0
        for segment, texts, rated in run.segments():
            spans: dict[str, list[dict[str, Any]]] = {name: [] for name in names.values()}
            for item, error in _errors(rated):
                shown = _span(error, segment.source, item.translation)
                of_system = spans[names[item.system]]
                if shown is None:
                    placeless += 1
                elif shown not in of_system:
                    of_system.append(shown)
            entry: dict[str, Any] = {"item_id": segment.id, "src": segment.source}
            if segment.reference is not None:
                entry["ref"] = segment.reference
            entry["tgt"] = {names[system]: text or "" for system, text in texts.items()}
            entry["error_spans"] = spans
            documents.setdefault(segment.document or "", []).append(entry)
        campaign = {
            "info": {"assignment": "task-based", "protocol": "ESA"},
            "campaign_id": run.name,
            "data": [list(documents.values())],
        }
        with replacing(output) as sink:
            sink.write(json.dumps(campaign, ensure_ascii=False, indent=2) + "\n")
        if not placeless:
            return ()
        return (f"errors without a place in the translation, which Pearmut cannot show: {placeless}",)


PEARMUT = Pearmut()


def _model_name(system: str) -> str:
    """The name of a system; Pearmut refuses one of digits alone."""
    return f"system_{system}" if system.isdigit() else system


def _errors(rated: Iterable[Rated]) -> Iterator[tuple[Rated, ErrorSpan]]:
    """All errors, each with the rating that marks it."""
    for item in rated:
        if item.rating is not None:
            for error in item.rating.errors or ():
                yield item, error


def _span(error: ErrorSpan, source: str, translation: str) -> dict[str, Any] | None:
    """An error as Pearmut shows it, with an inclusive end; ``None`` if it has no place in the translation."""
    if error.side == "omission":
        start = end = _index(translation)  # the mark [missing], which Pearmut shows after the text
    else:
        place = place_of(error, source, translation)
        if place is None or place.in_source:
            return None
        start, end = _index(translation[: place.start]), _index(translation[: place.end]) - 1
        if end < start:
            return None
    severity = _SEVERITIES.get(error.severity, error.severity)
    return {"start_i": start, "end_i": end, "severity": severity, "category": error.category}


def _index(text: str) -> int:
    """The index after ``text`` in Pearmut, which counts UTF-16 units, and no line feeds."""
    return len(text.replace("\n", "").encode("utf-16-le", "surrogatepass")) // 2
