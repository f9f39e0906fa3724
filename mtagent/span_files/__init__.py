"""Files with error spans that people or other tools marked: one reader per format, all giving :class:`Annotation`.

===========  =======================================================================================
``marot``    Google's MQM TSV, spans in ``<v>…</v>``
``mtme``     MTME's ``.seg.rating``
``esa``      WMT24's error span annotations, CSV or JSON Lines
``wmt``      the TSV of WMT25's evaluation task
``comet``    ``comet-score --to_json`` with an XCOMET model
``bio-mqm``  Bio-MQM's JSON
``jsonl``    this project's own, as ``mtagent rate -o x.jsonl`` writes it
===========  =======================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from mtagent.errors import InputError
from mtagent.formats.files import lines_of
from mtagent.span_files import bio_mqm, comet, esa, jsonl, marot, mtme, wmt_task
from mtagent.span_files.annotation import Annotation
from mtagent.span_files.json_text import parsed, whole_file

SpanFormat = Literal["marot", "mtme", "esa", "wmt", "comet", "bio-mqm", "jsonl"]

_READERS: dict[SpanFormat, Callable[[Path], list[Annotation]]] = {
    "marot": marot.read,
    "mtme": mtme.read,
    "esa": lambda path: esa.read_jsonl(path) if _begins(path).startswith("{") else esa.read_csv(path),
    "wmt": wmt_task.read,
    "comet": comet.read,
    "bio-mqm": bio_mqm.read,
    "jsonl": jsonl.read,
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
    elif wmt_task.recognised(first):
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
    if jsonl.recognised(values):
        return "jsonl"
    if comet.recognised(values):
        return "comet"
    return "bio-mqm" if bio_mqm.recognised(values) else None


def _begins(path: Path) -> str:
    """The first line of a file that is not empty."""
    first = next((line.text for line in lines_of(path) if line.text.strip()), None)
    if first is None:
        raise InputError(f"{path}: is empty")
    return first.rstrip("\r") if not first.startswith(("{", "[")) else first.strip()


__all__ = ["Annotation", "SpanFormat", "read_annotations", "recognised"]
