"""Files of ratings and of annotations, by the name of their format."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, get_args

from mtagent.errors import ConfigError, InputError
from mtagent.formats import bio_mqm, comet, esa, jsonl, marot, mtme, wmt
from mtagent.formats.annotations import Annotation
from mtagent.formats.files import lines_of
from mtagent.formats.json_text import parsed, whole_file
from mtagent.formats.jsonl import RatingLines
from mtagent.formats.marot import MarotRatings
from mtagent.formats.mtme import MtmeRatings
from mtagent.formats.ratings import RatingFormat

RATING_FORMATS: dict[str, RatingFormat] = {own.name: own for own in (RatingLines(), MtmeRatings(), MarotRatings())}
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


SpanFormat = Literal["marot", "mtme", "esa", "wmt", "comet", "bio-mqm", "jsonl"]

_READERS: dict[SpanFormat, Callable[[Path], list[Annotation]]] = {
    "marot": marot.read_marot,
    "mtme": mtme.read_mtme,
    "esa": lambda path: esa.read_jsonl(path) if _begins(path).startswith("{") else esa.read_csv(path),
    "wmt": wmt.read,
    "comet": comet.read,
    "bio-mqm": bio_mqm.read,
    "jsonl": jsonl.read_rated,
}


def read_annotations(path: Path, format_name: SpanFormat | None = None) -> list[Annotation]:
    """The annotations of ``path``, in its order; without ``format_name`` its content tells the format.

    Raises :class:`InputError`, beginning with ``file:line``.
    """
    _begins(path)  # an empty file is no file of any format
    annotations = _READERS[format_name or recognised(path)](path)
    if not annotations:
        raise InputError(f"{path}: there is no annotation in it")
    return annotations


def recognised(path: Path) -> SpanFormat:
    """The format that the content of ``path`` has. Raises :class:`InputError` where it is none of those known."""
    first = _begins(path)
    if first[:1] in ("{", "["):
        found = _of_json(path, first)
    elif marot.layout(first):
        found = "marot"
    elif wmt.recognised(first):
        found = "wmt"
    elif mtme.recognised(first):
        found = "mtme"
    else:
        found = "esa" if esa.recognised_csv(first) else None
    if found is None:
        raise InputError(
            f"{path}:1: the content tells no known format; name one: format={'|'.join(get_args(SpanFormat))}"
        )
    return found


def _of_json(path: Path, first: str) -> SpanFormat | None:
    """JSON Lines have a whole object in their first line, and the other formats all in one."""
    try:
        values = parsed(first, str(path))
    except InputError:
        values = whole_file(path)
    if isinstance(values, dict) and "esa_spans" in values:
        return "esa"
    if jsonl.is_rated(values):
        return "jsonl"
    if comet.recognised(values):
        return "comet"
    return "bio-mqm" if bio_mqm.recognised(values) else None


def texts_around(path: Path) -> list[Path]:
    """The further files that an annotated file takes its texts from; only MTME's ratings have such."""
    if not path.is_file() or recognised(path) != "mtme":
        return []
    return mtme.texts_around(path)


def _begins(path: Path) -> str:
    """The first line of a file that is not empty."""
    first = next((line.text for line in lines_of(path) if line.text.strip()), None)
    if first is None:
        raise InputError(f"{path}: is empty")
    return first.rstrip("\r") if not first.startswith(("{", "[")) else first.strip()
