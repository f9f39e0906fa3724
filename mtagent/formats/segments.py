"""Segments in files: the protocol of a format, the names of fields, what every reader checks, and line-aligned text."""

from __future__ import annotations

import difflib
import logging
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from pydantic import ValidationError

from mtagent.errors import ConfigError, InputError, OutputError
from mtagent.formats.files import BOM, STANDARD, byte_order_mark, count_lines, lines_of, write_pieces
from mtagent.records import Record, Segment
from mtagent.text import languages

logger = logging.getLogger("mtagent.formats")


class SegmentDefaults(Record):
    """The user's values for all segments of a file; the file's own values for a segment override them."""

    source_lang: str | None = None
    target_lang: str | None = None
    document: str | None = None
    domain: str | None = None


class Result(Record):
    """One segment and the text to write for it."""

    segment: Segment
    text: str


NO_DEFAULTS = SegmentDefaults()


@runtime_checkable
class Format(Protocol):
    """Reads segments from a file and writes texts to one. ``-`` as path is standard input or output.

    ``name`` is what a user calls it; a file whose name ends in one of ``suffixes`` is taken to be of this format.
    """

    @property
    def name(self) -> str: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield the segments in file order, one at a time; only the ids seen so far are kept in memory.

        Raises :class:`mtagent.errors.InputError`, whose message starts with ``file:line``, at the first defect.
        """
        ...

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write ``results`` in the order given, one at a time, and return their number.

        ``like`` is the file that the segments were read from. It is read again beside the results, and everything but
        the texts stays as it is there: columns, fields, quoting, line ends, byte order mark. Without it, or where the
        input was not a file, the format's plain form is written.

        The file appears under ``path`` only when it is complete; ``path`` and ``like`` may be the same file. Raises
        :class:`mtagent.errors.OutputError`, and then leaves what was at ``path`` untouched.
        """
        ...


FIELDS = (
    *("id", "source_lang", "target_lang", "source", "translation", "reference"),
    *("document", "domain", "context", "notes", "max_length"),
)
"""The fields that a table column can hold."""

PAIR = "lp"
"""A column of other tools that holds both languages, such as ``en-is``."""

SPEAKER_GENDER = "speaker_gender"
"""A column or field with the speaker's gender, which is shown as a note."""

_NAMES_ELSEWHERE = {
    "source": "src src_text source_text source_segment",
    "translation": "target tgt tgt_text mt mt_text hyp hypothesis hypothesis_segment",
    "reference": "ref ref_text reference_segment",
    "source_lang": "src_lang source_language",
    "target_lang": "tgt_lang target_language",
    "id": "seg_id segment_id",
    "document": "doc doc_id document_id",
    PAIR: "language_pair",
    "domain": "domain_name",
    "notes": "note comment",
    "max_length": "maxlength max_len maxlen max_chars maxwidth length_limit char_limit character_limit",
}
"""What other tools call the fields: Multi-agentMT, WMT's tasks, COMET, quality estimation data."""

ALIASES = {alias: field for field, aliases in _NAMES_ELSEWHERE.items() for alias in aliases.split()}
"""The field for each of these names."""
ALIASES |= dict.fromkeys(["gender", "speaker gender", "gender of the speaker"], SPEAKER_GENDER)

_FEMALE = frozenset({"f", "fem", "female", "feminine", "w", "woman", "weiblich", "femenino", "féminin", "femminile"})
_MALE = frozenset({"m", "masc", "male", "masculine", "man", "männlich", "masculino", "masculin", "maschile"})
_NO_GENDER = frozenset({"", "-", "–", "?", "n/a", "na", "none", "null", "unknown", "unbekannt", "any", "u"})


def field_called(name: str) -> str:
    """The field that a column of this name holds; the name in plain spelling if it is not one of a field."""
    plain = name.strip().casefold()
    return ALIASES.get(plain, plain)


def named_fields(names: Sequence[str], where: str, columns: Mapping[str, str] = {}) -> dict[str, int]:
    """The index in ``names`` of each known field. A field's own name takes precedence over an alias.

    ``columns`` has the user's names of some fields. Unknown names are left out. Raises :class:`InputError` where two
    names mean the same field, and where a name of ``columns`` is missing.
    """
    plain = [name.strip().casefold() for name in names]
    fields: dict[str, int] = {}
    for field_of_user, column in columns.items():
        if column.strip().casefold() not in plain:
            raise InputError(f"{where}: no column {column!r} for {field_of_user}; the columns are {', '.join(names)}")
        fields[field_of_user] = plain.index(column.strip().casefold())
    plain = ["" if index in fields.values() else name for index, name in enumerate(plain)]
    for known in ({name: name for name in (*FIELDS, PAIR, SPEAKER_GENDER)}, ALIASES):
        claimed = set(fields)
        for index, name in enumerate(plain):
            field = known.get(name)
            if field is None or field in claimed or field in columns:
                continue
            if field in fields:
                both = f"{names[fields[field]]!r} and {names[index]!r}"
                raise InputError(f"{where}: {both} both mean {field!r}; rename one of them")
            fields[field] = index
    return fields


_COLUMN = re.compile(r'\s*(?P<field>\w+)\s*=\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^,"]*))\s*(?:,|\Z)')


def parse_columns(text: str) -> dict[str, str]:
    """The columns by field, from ``source=English,target=MT,max_length="Max length"``. Raises :class:`ConfigError`."""
    columns: dict[str, str] = {}
    place = 0
    while place < len(text):
        match = _COLUMN.match(text, place)
        column = "" if match is None else (match["quoted"] or match["plain"] or "").strip()
        if match is None or not column:
            raise ConfigError(f"--columns: expected FIELD=COLUMN,…, as in source=English,translation=MT, not {text!r}")
        field = field_called(match["field"])
        fields = (*FIELDS, SPEAKER_GENDER)
        if field not in fields:
            raise ConfigError(f"--columns: no field is called {match['field']!r}; the fields are {', '.join(fields)}")
        if field in columns:
            raise ConfigError(f"--columns: {field} is given twice; keep one")
        for other, other_column in columns.items():
            if other_column.casefold() == column.casefold():
                raise ConfigError(f"--columns: {column!r} is given for {other} and for {field}; a column has one field")
        columns[field] = column
        place = match.end()
    return columns


_LIKELY_IDS = frozenset(["key", "name", "no", "nr", "number", "string_id", "#", ""])


def without_source(names: Sequence[str], fields: Mapping[str, int]) -> str:
    """Why a table cannot be read, whose columns are ``names``, and some of them hold ``fields``; and what to give."""
    listed = ", ".join(names)
    free = [name for index, name in enumerate(names) if index not in fields.values()]
    texts = [name for name in free if name.strip().casefold() not in _LIKELY_IDS]
    if not texts:
        return f"no column holds the source; the first line must name the columns, and has {listed}"
    columns = f"source={_column_word(texts[0])}"
    if len(texts) > 1 and "translation" not in fields:
        columns += f",translation={_column_word(texts[1])}"
    if free[0] != texts[0] and "id" not in fields:
        columns += f",id={_column_word(free[0])}"
    return (
        f"no column holds the source; the first line must name the columns, and has {listed}: say what they hold, as "
        f"in --columns {shlex.quote(columns)}"
    )


def _column_word(name: str) -> str:
    """A column's name as :func:`parse_columns` reads it."""
    return f'"{name}"' if "," in name else name


def suggested(unknown: str) -> str:
    """The field that was probably meant, as the end of an error message."""
    plain = unknown.strip().casefold()
    if ALIASES.get(plain, PAIR) != PAIR:
        return f"; did you mean {ALIASES[plain]!r}?"
    close = difflib.get_close_matches(plain, (*FIELDS, "terms", "candidates"), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def segment(values: Mapping[str, Any], defaults: Mapping[str, str], number: int, where: str) -> Segment:
    """The segment with a file's ``values``, else the ``defaults``; ``number`` is its id if they have none.

    Raises :class:`InputError`, beginning with ``where``.
    """
    file_values = {field: value for field, value in values.items() if value is not None}
    fields: dict[str, Any] = {"id": str(number), **defaults}
    speaker = _about_speaker(file_values.pop(SPEAKER_GENDER, ""), where)
    if speaker:
        file_values["notes"] = "\n".join(note for note in (file_values.get("notes"), speaker) if note)
    try:
        if PAIR in file_values:
            fields["source_lang"], fields["target_lang"] = languages.parse_pair(str(file_values.pop(PAIR)))
        fields |= file_values
        if type(fields["id"]) is int:  # a number will do, but not true or false
            fields["id"] = str(fields["id"])
        for side in ("source_lang", "target_lang"):
            if side not in fields:
                raise InputError(
                    f"{where}: no {side}; give the language pair, as in -l en-es, or a column or field of that name"
                )
            fields[side] = languages.normalise(str(fields[side]))
        return Segment.model_validate(fields)
    except ConfigError as error:
        raise InputError(f"{where}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InputError(f"{where}: field {field!r}: {first['msg'].lower()}") from error


def _about_speaker(gender: Any, where: str) -> str:
    """A note on the speaker's gender; empty if it isn't known. Raises :class:`InputError` if it is no text."""
    if not isinstance(gender, str):
        raise InputError(f"{where}: field {SPEAKER_GENDER!r}: expected a text such as 'female', not {gender!r:.80}")
    plain = gender.strip().casefold()
    if plain in _NO_GENDER:
        return ""
    if plain in _FEMALE:
        return "The speaker is female."
    if plain in _MALE:
        return "The speaker is male."
    return f"Gender of the speaker: {' '.join(gender.split())}"


class SegmentFields(NamedTuple):
    """A segment in a file, from ``line`` on: its values by field, and the file's names of these fields."""

    line: int
    values: dict[str, Any]
    names: dict[str, str]


def segments_from(
    records: Iterable[SegmentFields], defaults: SegmentDefaults, path: Path, part: str
) -> Iterator[Segment]:
    """Yield the segment of each record.

    The log notes once which ``part`` of the file (column, field) is read as a field of another name.
    Raises :class:`InputError` for values that make no segment, and for an id that comes twice.
    """
    lines: dict[str, int] = {}
    reported: set[str] = set()
    default_fields = defaults.model_dump(exclude_none=True)
    for number, (line, values, names) in enumerate(records, start=1):
        for field, name in names.items():
            if name != field and name not in reported:
                reported.add(name)
                logger.info("%s: %s %r is read as %s", path, part, name, field)
        item = segment(values, default_fields, number, f"{path}:{line}")
        if "id" in names:  # numbers are different by themselves
            if item.id in lines:
                raise InputError(f"{path}:{line}: the id {item.id!r} was already used in line {lines[item.id]}")
            lines[item.id] = line
        yield item


T = TypeVar("T")


def paired(
    entries: Iterable[tuple[str, int, T]],
    results: Iterable[Result],
    path: Path,
    like: Path,
    source_of: Callable[[T], str | None] = lambda content: None,
) -> Iterator[tuple[T, Result]]:
    """Yield what the file ``like`` holds of each segment with its result; ``entries`` are ``(id, line, content)``.

    Raises :class:`OutputError` for a result too many, too few, or in the wrong place, and, if ``source_of`` knows the
    source, for another source.
    """
    for number, (entry, result) in enumerate(zip_longest(entries, results), start=1):
        if entry is None:
            raise OutputError(f"{path}: result {number} is one more than {like} has segments")
        id_in_file, line, content = entry
        if result is None:
            raise OutputError(f"{path}: the results end after {number - 1}, before {like}:{line}")
        if id_in_file != result.segment.id:
            misplaced = f"result {number} is for segment {result.segment.id!r}"
            raise OutputError(f"{path}: {misplaced}, but {like}:{line} holds segment {id_in_file!r}")
        if source_of(content) not in (None, result.segment.source):
            raise OutputError(f"{path}: {like}:{line} has another source than segment {id_in_file!r} of the run")
        yield content, result


@dataclass(frozen=True)
class Lines:
    """Reads the source lines of a file, and the aligned lines of ``translation``, ``reference`` and ``candidates``.

    An empty line in a file of candidates means that this system has no translation.
    """

    name: str = "lines"
    suffixes: tuple[str, ...] = (".txt",)
    translation: Path | None = None
    reference: Path | None = None
    candidates: tuple[Path, ...] = ()

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per line of ``path``; the ids are the line numbers, from 1, as strings.

        An empty line is an empty text. Raises :class:`InputError` if a file isn't UTF-8, or the files have
        different numbers of lines: files are compared before the first segment, standard input and pipes as they are
        read.
        """
        fields_read, files = ["source"], [path]
        if self.translation is not None:
            fields_read.append("translation")
            files.append(self.translation)
        if self.reference is not None:
            fields_read.append("reference")
            files.append(self.reference)
        files += self.candidates
        if files.count(STANDARD) > 1:
            raise InputError("only one of the files can be standard input")
        if len(files) > 1 and all(file.is_file() for file in files):
            check_counts(files)
        fields = defaults.model_dump(exclude_none=True)
        for number, row in enumerate(zip_longest(*map(lines_of, files)), start=1):
            if None in row:
                short = files[row.index(None)]
                raise InputError(f"{short}: ends after {number - 1} lines, before the other files do")
            texts: dict[str, Any] = {field: line.text for field, line in zip(fields_read, row, strict=False)}
            if self.candidates:
                texts["candidates"] = [line.text for line in row[len(fields_read) :]]
            yield segment(texts, fields, number, f"{path}:{number}")

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one line per result.

        ``like`` is any of the aligned files: its line ends and byte order mark are kept. A text with
        a line break in it is an :class:`OutputError`, because it would shift all lines after it.
        """
        mark = ""
        lines: Iterable[tuple[str, Result]] = (("\n", result) for result in results)
        if like:
            mark = byte_order_mark(like)
            line_ends = ((str(line.number), line.number, line.end) for line in lines_of(like))
            lines = paired(line_ends, results, path, like)

        def checked() -> Iterator[str]:
            for number, (end, result) in enumerate(lines, start=1):
                text = result.text
                if "\n" in text or text.endswith("\r"):
                    reason = "has a line break, which line-aligned text cannot hold; write csv or jsonl instead"
                    raise OutputError(f"{path}: the text of segment {result.segment.id!r} {reason}")
                if not (end or text):
                    end = "\n"  # an empty last line needs an end to be a line
                if number == 1 and not mark and text.startswith(BOM):
                    text = BOM + text  # otherwise the text's own mark would be read as the file's
                yield text + end

        return write_pieces(path, mark, checked())


def check_counts(paths: Iterable[Path]) -> None:
    """Raise :class:`InputError` if the files have different numbers of lines.

    Lines are counted without decoding them. If the counts differ the files are decoded too: a wrong encoding may be the
    reason, and then the error must name that.
    """
    counts = {path: count_lines(path) for path in paths}
    if len(set(counts.values())) > 1:
        for path in counts:
            for _ in lines_of(path):
                pass
        listed = ", ".join(f"{path} has {count}" for path, count in counts.items())
        raise InputError(f"the files have different numbers of lines: {listed}")
