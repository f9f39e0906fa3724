"""Formats of ratings: one file each, all behind one small protocol."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from mtagent.errors import ConfigError
from mtagent.formats.ratings.jsonl import JsonLines
from mtagent.formats.ratings.marot import Marot
from mtagent.formats.ratings.mtme import Mtme
from mtagent.formats.ratings.protocol import RatingFormat, Ratings

RATING_FORMATS: dict[str, RatingFormat] = {own.name: own for own in (JsonLines(), Mtme(), Marot())}
"""The formats by name."""


def by_path(output: Path, name: str | None = None) -> RatingFormat:
    """The format called ``name``, or else the one that the end of the file's name stands for, or else ``jsonl``."""
    if name is None:
        told = (one for one in RATING_FORMATS.values() if any(output.name.endswith(end) for end in one.suffixes))
        return next(told, RATING_FORMATS["jsonl"])
    if name not in RATING_FORMATS:
        near = get_close_matches(name, RATING_FORMATS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(RATING_FORMATS)}"
        raise ConfigError(f"unknown format of ratings {name!r}; {hint}")
    return RATING_FORMATS[name]


__all__ = ["RATING_FORMATS", "RatingFormat", "Ratings", "by_path"]
