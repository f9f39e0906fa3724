"""This project's own JSON Lines, as ``mtagent rate`` writes them: an object per rated translation.

``id``, ``translation`` and ``errors`` (a list of error spans, or ``null``: none were marked) must be there; ``source``,
``system`` and ``evaluator`` are read where they are, all else is left alone. A line with an ``error`` is not rated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mtagent.errors import InputError
from mtagent.formats.jsonl import parsed_lines
from mtagent.span_files.annotation import Annotation, name_field, objects_in, own_span, text_field


def recognised(values: Any) -> bool:
    """Whether the object of a line has this form."""
    return isinstance(values, dict) and ("errors" in _flat(values) or "error" in values) and "translation" in values


def read(path: Path) -> list[Annotation]:
    """The annotations of a file. Raises :class:`InputError`."""
    return [_annotation(_flat(values), f"{path}:{number}") for number, values in parsed_lines(path)]


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """A record's fields beside those of its segment and its rating."""
    inner = [values[name] for name in ("segment", "rating") if isinstance(values.get(name), dict)]
    own = {name: value for name, value in values.items() if name not in ("segment", "rating")}
    return {name: value for layer in (*inner, own) for name, value in layer.items()}


def _annotation(values: dict[str, Any], where: str) -> Annotation:
    errors = None
    if not values.get("error"):
        if "errors" not in values:
            raise InputError(f"{where}: no 'errors'; write [] for a translation without errors, null for one not rated")
        if values["errors"] is not None:
            errors = tuple(own_span(one, where) for one in objects_in(values["errors"], "'errors'", where))
    return Annotation(
        where=where,
        errors=errors,
        segment=name_field(values, "id"),
        document=name_field(values, "document"),
        system=name_field(values, "system"),
        rater=name_field(values, "evaluator"),
        source=values.get("source") if isinstance(values.get("source"), str) else None,
        translation=text_field(values, "translation", where),
    )
