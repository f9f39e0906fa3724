"""WMT24++ (Deutsch et al. 2025) as segments: what its files hold, and what of it the paper's experiment takes.

A file has a language pair, an object in a line: ``lp, domain, document_id, segment_id, is_bad_source, source, target,
original_target``. There ``original_target`` is the human translation, and ``target`` its post-edit: both are
references, never translations to improve. These are in a file of their own, or in a field ``translation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mtagent import Config, Segment
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of, parsed_lines
from mtagent.jobs.inputs import Files
from mtagent.text import languages

Reference = Literal["target", "original_target"]
CANARY = "canary"
"""The domain of the line that marks the file as test data."""


class Row(NamedTuple):
    """A line of a WMT24++ file."""

    where: str
    values: dict[str, Any]

    def text(self, field: str) -> str:
        """The text in ``field``. Raises :class:`InputError` where there is none."""
        value = self.values.get(field)
        if not isinstance(value, str):
            raise InputError(f"{self.where}: the field {field} should hold a text, and holds {value!r:.60}")
        return value

    @property
    def translation(self) -> str | None:
        """The text to improve, where someone has added it."""
        return None if self.values.get("translation") is None else self.text("translation")

    @property
    def taken(self) -> bool:
        """Whether the source is fit for use, as the data's authors say."""
        bad = self.values.get("is_bad_source")
        if not isinstance(bad, bool):
            raise InputError(f"{self.where}: is_bad_source should be true or false, and is {bad!r:.60}")
        return not bad and self.values.get("domain") != CANARY


def read(files: Files, reference: Reference, config: Config) -> list[Segment]:
    """The segments to work on, with references; those that WMT24++ marks as bad are left out.

    Raises :class:`InputError` where one has no reference. A file that is not of WMT24++ is read as mtagent reads it.
    """
    source, rows = files.source, _rows(files.source)
    if rows and files.reference:
        raise ConfigError(f"{files.reference}: {source} holds its references itself: leave -r out")
    if rows:
        found = _segments(rows, files, reference)
    else:
        with files.opened(config) as inputs:
            found = list(inputs.segments())
    if not found:
        raise InputError(f"{source}: there is no segment in it to work on")
    if lacking := [one.id for one in found if one.reference is None]:
        raise InputError(f"{source}: segment {lacking[0]!r} has no reference; {len(lacking)} of {len(found)} have none")
    if len(pairs := {(one.source_lang, one.target_lang) for one in found}) > 1:
        raise InputError(f"{source}: holds {len(pairs)} language pairs; each needs a file of its own")
    return found


def _rows(source: Path) -> list[Row]:
    """The lines of a WMT24++ file; none of any other."""
    if source.suffix.lower() not in (".jsonl", ".ndjson"):
        return []
    rows = [Row(f"{source}:{number}", values) for number, values in parsed_lines(source)]
    ours = rows and {"is_bad_source", "original_target"} & set(rows[0].values)
    return rows if ours else []


def _segments(rows: Sequence[Row], files: Files, reference: Reference) -> list[Segment]:
    taken = [index for index, row in enumerate(rows) if row.taken]
    texts: Sequence[str | None] = [rows[index].translation for index in taken]
    if files.translation is not None:
        texts = _lines(files.translation, files.source, len(rows), taken)
    return [_segment(rows[index], text, reference) for index, text in zip(taken, texts, strict=True)]


def _segment(row: Row, translation: str | None, reference: Reference) -> Segment:
    try:
        source_lang, target_lang = languages.parse_pair(row.text("lp"))
    except ConfigError as error:
        raise InputError(f"{row.where}: {error}") from None
    return Segment(
        id=str(row.values.get("segment_id", row.where.rpartition(":")[2])),
        source=row.text("source"),
        source_lang=source_lang,
        target_lang=target_lang,
        translation=translation,
        reference=row.text(reference),
        document=row.text("document_id"),
        domain=row.text("domain"),
    )


def _lines(path: Path, source: Path, number: int, taken: Sequence[int]) -> list[str]:
    """The lines for the rows that are taken, of a file with a line for each of these, or for every row."""
    lines = [line.text for line in lines_of(path)]
    if len(lines) == number:
        return [lines[index] for index in taken]
    if len(lines) == len(taken):
        return lines
    raise InputError(
        f"{path}: has {len(lines)} lines, and {source} has {number} segments, {len(taken)} of them not marked as bad"
    )
