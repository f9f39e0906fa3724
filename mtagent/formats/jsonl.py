"""This project's own JSON Lines, as ``mtagent rate`` writes them: an object per rated translation.

``id``, ``translation`` and ``errors`` (a list of error spans, or ``null``: none were marked) must be there; ``source``,
``system`` and ``evaluator`` are read where they are, all else is left alone. A line with an ``error`` is not rated.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.annotations import Annotation, name_field, objects_in, own_span, text_field
from mtagent.formats.files import BOM, Line, Sink, has_bom, lines_of, replacing
from mtagent.formats.ratings import Candidates, Ratings
from mtagent.formats.segments import (
    NO_DEFAULTS,
    Result,
    SegmentDefaults,
    extra_names,
    named_fields,
    paired,
    segment,
    suggested,
    unique,
)
from mtagent.records import Call, Chain, Message, Rated, Record, Segment, Step

_DECODER = json.JSONDecoder()
_SPACE = frozenset(" \t\r\n")


class Member(NamedTuple):
    """A key of an object, and where the key and its value stand; ``key_end`` and ``end`` are exclusive."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


def members(raw: str) -> list[Member]:
    """The members of the object that ``raw`` is, not those of the objects in it. ``raw`` must be valid JSON."""
    found = []
    at = _filled(raw, _filled(raw, 0) + 1)
    while raw[at] != "}":
        key, key_end = _DECODER.raw_decode(raw, at)
        start = _filled(raw, _filled(raw, key_end) + 1)
        _, end = _DECODER.raw_decode(raw, start)
        found.append(Member(key, at, key_end, start, end))
        at = _filled(raw, end)
        if raw[at] == ",":
            at = _filled(raw, at + 1)
    return found


def replaced(raw: str, changes: Mapping[str, Any], dumps: Callable[..., str]) -> str:
    """``raw`` with the values of ``changes``; a key that it lacks is added at its end, spaced as the last one is.

    ``dumps`` is called as :func:`json.dumps`, with the separators and the escapes that ``raw`` has.
    """
    found = members(raw)
    comma, colon = _spacing(raw, found)
    style = {"ensure_ascii": _escapes(raw), "separators": (",", ":") if colon == ":" else (", ", ": ")}
    parts: list[str] = []
    at = 0
    for member in found:
        if member.key in changes:
            parts += raw[at : member.start], dumps(changes[member.key], **style)
            at = member.end
    last = found[-1].end if found else raw.index("{") + 1
    parts.append(raw[at:last])
    kept = {member.key for member in found}
    added = [dumps(key, **style) + colon + dumps(changes[key], **style) for key in changes if key not in kept]
    return "".join([*parts, comma if found and added else "", comma.join(added), raw[last:]])


def _spacing(raw: str, found: list[Member]) -> tuple[str, str]:
    """What stands before the last member, and between its key and its value."""
    if not found:
        return ", ", ": "
    colon = raw[found[-1].key_end : found[-1].start]
    if len(found) > 1:
        return raw[found[-2].end : found[-1].key_start], colon
    return "," if colon == ":" else ", ", colon


def _escapes(raw: str) -> bool:
    """Whether ``raw`` writes other characters than ASCII as escapes."""
    if "\\u" not in raw or not raw.isascii():
        return False
    return not json.dumps(json.loads(raw), ensure_ascii=False).isascii()


def _filled(raw: str, at: int) -> int:
    """The first place from ``at`` that is not white space."""
    while raw[at] in _SPACE:
        at += 1
    return at


logger = logging.getLogger("mtagent.formats")

_ABSENT = object()
_dumped = partial(json.dumps, allow_nan=False)
_OWN = frozenset(Segment.model_fields)


class _Object(NamedTuple):
    """A line's object, which of its keys holds which field, and the very characters it consists of."""

    id: str
    line: int
    values: dict[str, Any]
    keys: dict[str, str]
    raw: str
    end: str


@dataclass(frozen=True)
class JsonLines:
    """Reads and writes JSON Lines.

    Strict by default: an unknown field is an error, since a mistyped name would otherwise be lost without a word. With
    ``lenient`` the names that other tools use are understood, and unknown fields are carried through.
    """

    name: str = "jsonl"
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")
    lenient: bool = False

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per line. A field that is ``null`` is missing; ``""`` is an empty text."""
        return unique(self._segments(path, defaults), path)

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one object per result, its text as ``translation`` (or the name that ``like`` has for it).

        With ``like`` only the texts (and ``extra``) change; every other character of an object is copied as it is.
        """
        with replacing(path) as sink:
            _, results = extra_names(results, path)
            return _write_plain(sink, results) if like is None else self._write_like(sink, results, like)

    def _segments(self, path: Path, defaults: SegmentDefaults) -> Iterator[tuple[int, Segment]]:
        reported: set[str] = set()
        for number, found in enumerate(self._objects(path), start=1):
            for field, key in found.keys.items():
                if key != field and key not in reported:
                    reported.add(key)
                    logger.info("%s: field %r is read as %s", path, key, field)
            where = f"{path}:{found.line}"
            values = {field: found.values[key] for field, key in found.keys.items()}
            if type(values.get("id")) is int:  # a number will do, but not true or false
                values["id"] = found.id
            yield found.line, segment(values, defaults, number, where)

    def _objects(self, path: Path) -> Iterator[_Object]:
        for number, line in enumerate(_jsonl_filled(lines_of(path), path), start=1):
            where = f"{path}:{line.number}"
            values = _parsed(line.text, where)
            keys = self._keys(list(values), where)
            own = values[keys["id"]] if "id" in keys else None
            yield _Object(str(number if own is None else own), line.number, values, keys, line.text, line.end)

    def _keys(self, names: list[str], where: str) -> dict[str, str]:
        """Which key holds which field."""
        own = {name: name for name in names if name in _OWN}
        if self.lenient:
            return own | {field: names[index] for field, index in named_fields(names, where).items()}
        unknown = next((name for name in names if name not in own), None)
        if unknown is not None:
            way_out = suggested(unknown) or "; --format jsonl-lenient carries unknown fields through"
            raise InputError(f"{where}: unknown field {unknown!r}{way_out}")
        return own

    def _write_like(self, sink: Sink, results: Iterable[Result], like: Path) -> int:
        sink.write(BOM if has_bom(like) else "")
        count = 0
        for found, result in paired(self._objects(like), results, sink.path, like):
            key = found.keys.get("translation", "translation")
            wanted = {key: result.text, **result.extra}
            if result.text == "" and found.values.get(key) is None and not result.extra:
                wanted = {}
            changes = {name: value for name, value in wanted.items() if found.values.get(name, _ABSENT) != value}
            with _reported(sink, result):
                sink.write((replaced(found.raw, changes, _dumped) if changes else found.raw) + found.end)
            count += 1
        return count


JSONL = JsonLines()
JSONL_LENIENT = JsonLines("jsonl-lenient", (), lenient=True)


def parsed_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's number and its object. Raises :class:`InputError` as the format does, whatever the fields are."""
    for line in _jsonl_filled(lines_of(path), path):
        yield line.number, _parsed(line.text, f"{path}:{line.number}")


def _write_plain(sink: Sink, results: Iterable[Result]) -> int:
    count = 0
    for result in results:
        fields = result.segment.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        values = {**fields, "translation": result.text, **result.extra}
        with _reported(sink, result):
            sink.write(_dumped(values, ensure_ascii=False) + "\n")
        count += 1
    return count


def _jsonl_filled(lines: Iterable[Line], path: Path) -> Iterator[Line]:
    """The lines without empty ones at the end of the file; one in between is an error."""
    blank: Line | None = None
    for line in lines:
        if not line.text.strip():
            blank = blank or line
        elif blank:
            raise InputError(f"{path}:{blank.number}: an empty line between the objects; delete it")
        else:
            yield line


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        values = json.loads(text, object_pairs_hook=_without_twins, parse_constant=_refused)
        if "\\u" in text:  # only an escape can bring in what UTF-8 could not hold
            json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{where}: an escaped lone surrogate (\\u{ord(error.object[error.start]):04x})") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{error.pos + 1}: not JSON: {error.msg.lower()}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not usable JSON: {error}") from error
    if not isinstance(values, dict):
        raise InputError(f"{where}: a line must hold an object ({{…}}), not {type(values).__name__}")
    if any("\0" in value for value in values.values() if isinstance(value, str)):
        raise InputError(f"{where}: an escaped NUL (\\u0000); text has none")
    return values


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} comes twice")
    return values


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


@contextmanager
def _reported(sink: Sink, result: Result) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise OutputError(f"{sink.path}: segment {result.segment.id!r}: {error}") from error


def write_details(path: Path, chains: Iterable[Chain], *, messages: bool = False) -> int:
    """Write one JSON object per chain, in the order given, and return their number.

    ``messages`` adds the full requests and replies of all calls. The file appears when it is complete. Raises
    :class:`OutputError`.
    """
    count = 0
    with replacing(path) as sink:
        for chain in chains:
            sink.write(dumped(details(chain, messages=messages), path) + "\n")
            count += 1
    return count


def details(chain: Chain, *, messages: bool = False) -> dict[str, Any]:
    """The account of one chain as plain data: texts, stages, edits, ratings, calls and what they cost."""
    segment = chain.segment
    return {
        "id": segment.id,
        "source_lang": segment.source_lang,
        "target_lang": segment.target_lang,
        "document": segment.document,
        "domain": segment.domain,
        "source": segment.source,
        "given": chain.given,
        "text": chain.text,
        "changed": chain.changed,
        "error": chain.failed.reason if chain.failed else None,
        "stages": [_step(step, messages) for step in chain.steps],
        "usage": _plain(chain.usage),
    }


def _step(step: Step, messages: bool) -> dict[str, Any]:
    return {
        "stage": step.stage,
        "verdict": step.verdict,
        "reason": step.reason,
        "cause": step.cause.model_dump(exclude_defaults=True),
        "text": step.text,
        "proposed": step.proposed,
        "edits": [_plain(edit) for edit in step.edits],
        # The calls stand with the step, which paid for them.
        "ratings": [_plain(rating, without={"calls"}) for rating in step.ratings],
        "calls": [_call(call, messages) for call in step.calls],
        "usage": _plain(step.usage),
        "seconds": step.seconds,
    }


def _call(call: Call, messages: bool) -> dict[str, Any]:
    told = _plain(call, without={"messages", "reply", "tool_calls"})
    if messages:
        told |= {"messages": [_message(message) for message in call.messages], "reply": call.reply}
        told["tool_calls"] = [_plain(wish) for wish in call.tool_calls]
    return told


def _message(message: Message) -> dict[str, Any]:
    """A message with the fields of tool calls only where it has any: few have."""
    return {"role": message.role, "content": message.content} | message.model_dump(exclude_defaults=True)


def _plain(record: Record, without: set[str] | None = None) -> dict[str, Any]:
    return record.model_dump(exclude=without)


def dumped(account: dict[str, Any], path: Path) -> str:
    try:
        text = json.dumps(account, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise OutputError(f"{path}: segment {account['id']!r}: a number in its ratings is not finite") from error
    # A model's reply may hold a lone surrogate, which only an escape can write; the account must not fail on it.
    return text if _encodable(text) else json.dumps(account, allow_nan=False)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class RatingLines:
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


def is_rated(values: Any) -> bool:
    """Whether the object of a line has this form."""
    return isinstance(values, dict) and ("errors" in _flat(values) or "error" in values) and "translation" in values


def read_rated(path: Path) -> list[Annotation]:
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
            found = objects_in(values["errors"], "'errors'", where)
            errors = tuple(own_span(one, f"{where}: error {n} of {len(found)}") for n, one in enumerate(found, start=1))
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
