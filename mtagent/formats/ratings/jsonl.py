"""Ratings as JSON Lines, one object per segment and system; ``docs/formats.md`` lists the fields."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtagent.candidates import Candidates
from mtagent.formats.details import dumped
from mtagent.formats.files import replacing
from mtagent.formats.ratings.protocol import Ratings
from mtagent.records import Rated


@dataclass(frozen=True)
class JsonLines:
    """Holds everything but the dialogues, which ``mtagent rate --show`` prints."""

    name: str = "jsonl"
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")

    def paths(self, output: Path) -> tuple[Path, ...]:
        """The output itself."""
        return (output,)

    def refuse(self, candidates: Candidates, output: Path) -> None:
        """JSON holds every text."""

    def write(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write the ratings, a failed one as an object with its ``error``."""
        with replacing(output) as sink:
            for rated in ratings.read(None):
                sink.write(dumped(as_object(rated), output) + "\n")
        return ()


def as_object(rated: Rated) -> dict[str, Any]:
    """The object of one rating. Fields that do not apply are ``null``; ``reference`` stands there where there is one.

    ``errors`` is ``[]`` for a text judged error-free, and ``null`` where nothing is known about spans.
    """
    segment, rating = rated.segment, rated.rating
    reference = {} if segment.reference is None else {"reference": segment.reference}
    return {
        "id": segment.id,
        "system": rated.system,
        "source_lang": segment.source_lang,
        "target_lang": segment.target_lang,
        "document": segment.document,
        "domain": segment.domain,
        "source": segment.source,
        "translation": rated.translation,
        **reference,
        "evaluator": rating.evaluator if rating else None,
        "score": rating.score if rating else None,
        "errors": None if rating is None or rating.errors is None else [span.model_dump() for span in rating.errors],
        "explanation": rating.explanation if rating else None,
        "confidence": rating.confidence if rating else None,
        "gaps": list(rating.gaps) if rating else [],
        "warnings": list(rating.warnings) if rating else [],
        "correction": rating.correction if rating else None,
        "signature": rating.signature if rating else None,
        "usage": rated.usage.model_dump(),
        "seconds": rated.seconds,
        "error": rated.error,
    }
