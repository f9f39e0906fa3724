"""The texts of one stage as a submission to WMT's general translation task: ``{"doc_id", "hypothesis"}`` a document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from mtagent.errors import OutputError
from mtagent.exports.names import pair_name
from mtagent.exports.protocol import Entry, Held
from mtagent.formats.details import dumped
from mtagent.formats.files import replacing

BREAK = "\n\n"
"""What WMT's documents have between two paragraphs."""


@dataclass(frozen=True)
class Wmt25:
    """JSON Lines, one document a line: its ``doc_id`` is the segments' document, or the id of a segment without one."""

    name: str = "wmt25"
    folder: bool = False
    one_system: bool = True

    def write(self, held: Held, output: Path) -> tuple[str, ...]:
        """Write the documents in the order in which they begin."""
        (system,) = held.systems
        documents = _documents(held.entries(), system, output)
        with replacing(output) as sink:
            for name, texts in documents.items():
                sink.write(dumped({"doc_id": name, "hypothesis": joined(texts)}, output) + "\n")
        return ()


def _documents(entries: Iterable[Entry], system: str, output: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    owners: dict[str, tuple[str, str | None]] = {}
    for segment, texts, _ in entries:
        name, owner = segment.document or segment.id, (pair_name(segment), segment.document)
        if name in owners and (owners[name] != owner or segment.document is None):
            raise OutputError(
                f"{output}: segment {segment.id!r}: there is another document called {name!r}; give documents names of "
                "their own, also in different language pairs"
            )
        owners[name] = owner
        found.setdefault(name, []).append(texts[system] or "")
    return found


def joined(texts: Sequence[str]) -> str:
    """The texts of a document with a blank line between two of them, unless they bring the break along.

    A line break at the end of a text, or a blank line at the beginning of the next, stood in the document already.
    """
    if not texts:
        return ""
    return texts[0] + "".join(("" if _broken(one, other) else BREAK) + other for one, other in pairwise(texts))


def _broken(before: str, after: str) -> bool:
    return before.endswith("\n") or after.startswith(BREAK)
