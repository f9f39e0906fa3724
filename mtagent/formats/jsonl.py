"""JSON Lines: segments, this project's own ratings with their error spans, and the account of what a run did."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.annotations import Annotation, name_field, own_spans, text_field
from mtagent.formats.files import Sink, byte_order_mark, replacing
from mtagent.formats.json_text import encoded, object_lines, parsed_lines
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
from mtagent.records import Call, Chain, Rated, Segment, Step

logger = logging.getLogger("mtagent.formats")

_ABSENT = object()
_FIELDS = frozenset(Segment.model_fields)


class _Object(NamedTuple):
    """A line's object, which of its keys holds which field, and the very characters it consists of."""

    line: int
    values: dict[str, Any]
    keys: dict[str, str]
    raw: str
    end: str

    def id(self, number: int) -> str:
        """The object's own id, or else its number."""
        own = self.values[self.keys["id"]] if "id" in self.keys else None
        return str(number if own is None else own)


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

    def _segments(self, path: Path, defaults: SegmentDefaults) -> Iterator[tuple[int, Segment]]:
        reported: set[str] = set()
        for number, item in enumerate(self._objects(path), start=1):
            for field, key in item.keys.items():
                if key != field and key not in reported:
                    reported.add(key)
                    logger.info("%s: field %r is read as %s", path, key, field)
            values = {field: item.values[key] for field, key in item.keys.items()}
            if type(values.get("id")) is int:  # a number will do, but not true or false
                values["id"] = item.id(number)
            yield item.line, segment(values, defaults, number, f"{path}:{item.line}")

    def _objects(self, path: Path) -> Iterator[_Object]:
        for line, values in object_lines(path):
            names = list(values)
            keys = {name: name for name in names if name in _FIELDS}
            where = f"{path}:{line.number}"
            if self.lenient:
                keys |= {field: names[index] for field, index in named_fields(names, where).items()}
            elif unknown := next((name for name in names if name not in keys), ""):
                way_out = suggested(unknown) or "; --format jsonl-lenient carries unknown fields through"
                raise InputError(f"{where}: unknown field {unknown!r}{way_out}")
            yield _Object(line.number, values, keys, line.text, line.end)

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one object per result, its text as ``translation`` (or the name that ``like`` has for it).

        With ``like`` only the texts (and ``extra``) change; every other character of an object is copied as it is.
        """
        count = 0
        with replacing(path) as sink:
            _, results = extra_names(results, path)
            if like is None:
                for result in results:
                    fields = result.segment.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
                    values = {**fields, "translation": result.text, **result.extra}
                    with _reported(sink, result):
                        sink.write(json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n")
                    count += 1
                return count
            sink.write(byte_order_mark(like))
            entries = ((item.id(number), item.line, item) for number, item in enumerate(self._objects(like), start=1))
            for item, result in paired(entries, results, path, like):
                key = item.keys.get("translation", "translation")
                values = {key: result.text, **result.extra}
                if result.text == "" and item.values.get(key) is None and not result.extra:
                    values = {}
                changes = {name: value for name, value in values.items() if item.values.get(name, _ABSENT) != value}
                with _reported(sink, result):
                    sink.write((replaced(item.raw, changes) if changes else item.raw) + item.end)
                count += 1
        return count

    def recognises(self, first: str, value: Any) -> bool:
        """Whether a file that begins so holds ratings in this project's own form."""
        if not isinstance(value, dict):
            return False
        names = _flat(value)
        return ("errors" in names or "error" in names) and "translation" in value

    def read_spans(self, path: Path) -> list[Annotation]:
        """The annotations of a file as ``mtagent rate`` writes it.

        ``id``, ``translation`` and ``errors`` (error spans, or ``null``: none were marked) must be there; ``source``,
        ``system`` and ``evaluator`` are read where they are, all else is left alone. A line with an ``error`` is not
        rated. Raises :class:`InputError`.
        """
        annotations = []
        for number, line in parsed_lines(path):
            values, where, errors = _flat(line), f"{path}:{number}", None
            if not values.get("error"):
                if "errors" not in values:
                    raise InputError(
                        f"{where}: no 'errors'; write [] for a translation without errors, null for one not rated"
                    )
                errors = None if values["errors"] is None else own_spans(values["errors"], where)
            annotations.append(
                Annotation(
                    where=where,
                    errors=errors,
                    segment=name_field(values, "id"),
                    document=name_field(values, "document"),
                    system=name_field(values, "system"),
                    rater=name_field(values, "evaluator"),
                    source=values["source"] if isinstance(values.get("source"), str) else None,
                    translation=text_field(values, "translation", where),
                )
            )
        return annotations

    def paths(self, output: Path) -> tuple[Path, ...]:
        """Ratings go to one file."""
        return (output,)

    def refuse(self, candidates: Candidates, output: Path) -> None:
        """JSON holds every text."""

    def write_ratings(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write an object per rating, a failed one with its ``error``; all but the dialogues, which the store has."""
        with replacing(output) as sink:
            for rated in ratings.read(None):
                sink.write(dumped(as_object(rated), output) + "\n")
        return ()


JSONL = JsonLines()
JSONL_LENIENT = JsonLines("jsonl-lenient", (), lenient=True)


@contextmanager
def _reported(sink: Sink, result: Result) -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError) as error:
        raise OutputError(f"{sink.path}: segment {result.segment.id!r}: {error}") from error


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """A record's fields beside those of its segment and its rating."""
    inner = [values[name] for name in ("segment", "rating") if isinstance(values.get(name), dict)]
    own = {name: value for name, value in values.items() if name not in ("segment", "rating")}
    return {name: value for layer in (*inner, own) for name, value in layer.items()}


class _Member(NamedTuple):
    """A key of an object, and where the key and its value stand; ``key_end`` and ``end`` are exclusive."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


def _members(raw: str) -> list[_Member]:
    """The members of the object that ``raw`` is, not those of the objects in it. ``raw`` must be valid JSON."""
    decode = json.JSONDecoder().raw_decode

    def skip_space(at: int) -> int:
        while raw[at] in " \t\r\n":
            at += 1
        return at

    members = []
    at = skip_space(skip_space(0) + 1)
    while raw[at] != "}":
        key, key_end = decode(raw, at)
        start = skip_space(skip_space(key_end) + 1)
        _, end = decode(raw, start)
        members.append(_Member(key, at, key_end, start, end))
        at = skip_space(end)
        if raw[at] == ",":
            at = skip_space(at + 1)
    return members


def replaced(raw: str, changes: Mapping[str, Any]) -> str:
    """``raw`` with the values of ``changes``; a key that it lacks is added at its end, spaced as the last one is."""
    members = _members(raw)
    comma, colon = ", ", ": "
    if members:
        colon = raw[members[-1].key_end : members[-1].start]
        comma = "," if colon == ":" else ", "
    if len(members) > 1:
        comma = raw[members[-2].end : members[-1].key_start]
    escapes = "\\u" in raw and raw.isascii() and not json.dumps(json.loads(raw), ensure_ascii=False).isascii()
    separators = (",", ":") if colon == ":" else (", ", ": ")
    dumps = partial(json.dumps, allow_nan=False, ensure_ascii=escapes, separators=separators)
    parts, at = list[str](), 0
    for member in members:
        if member.key in changes:
            parts += raw[at : member.start], dumps(changes[member.key])
            at = member.end
    last = members[-1].end if members else raw.index("{") + 1
    kept = {member.key for member in members}
    added = comma.join(dumps(key) + colon + dumps(value) for key, value in changes.items() if key not in kept)
    return "".join([*parts, raw[at:last], comma if members and added else "", added, raw[last:]])


def dumped(account: dict[str, Any], path: Path) -> str:
    """A segment's account as JSON; a model's reply may hold a lone surrogate, on which it must not fail."""
    try:
        return encoded(account)
    except ValueError as error:
        raise OutputError(f"{path}: segment {account['id']!r}: a number in its ratings is not finite") from error


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
        "stages": [_stage(step, messages) for step in chain.steps],
        "usage": chain.usage.model_dump(),
    }


def _stage(step: Step, messages: bool) -> dict[str, Any]:
    return {
        "stage": step.stage,
        "verdict": step.verdict,
        "reason": step.reason,
        "text": step.text,
        "proposed": step.proposed,
        "edits": [edit.model_dump() for edit in step.edits],
        # The calls stand with the step, which paid for them.
        "ratings": [rating.model_dump(exclude={"calls"}) for rating in step.ratings],
        "calls": [_call(call, messages) for call in step.calls],
        "usage": step.usage.model_dump(),
        "seconds": step.seconds,
    }


def _call(call: Call, messages: bool) -> dict[str, Any]:
    account = call.model_dump(exclude={"messages", "reply", "tool_calls"})
    if messages:
        account["messages"] = [  # with the fields of tool calls only where there are any: few have
            {"role": message.role, "content": message.content} | message.model_dump(exclude_defaults=True)
            for message in call.messages
        ]
        account |= {"reply": call.reply, "tool_calls": [tool_call.model_dump() for tool_call in call.tool_calls]}
    return account


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
