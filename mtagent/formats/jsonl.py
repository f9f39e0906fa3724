"""JSON Lines: segments, this project's own ratings with their error spans, and the account of what a run did."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.errors import InputError, OutputError
from mtagent.formats.annotations import Annotation, name_field, own_spans, text_field
from mtagent.formats.files import TextLine, byte_order_mark, encoded, object_lines, parsed_lines, write_pieces
from mtagent.formats.ratings import Candidates, Ratings
from mtagent.formats.segments import (
    NO_DEFAULTS,
    SPEAKER_GENDER,
    Result,
    SegmentDefaults,
    SegmentFields,
    field_called,
    named_fields,
    paired,
    segments_from,
    suggested,
)
from mtagent.records import Call, Chain, Rated, Segment, Step

logger = logging.getLogger("mtagent.formats")

_FIELDS = frozenset(Segment.model_fields)
_ABOUT = ("id", "source_lang", "target_lang", "document", "domain", "source")
"""The fields of an account that describe its segment."""

_UNRATED: dict[str, Any] = {
    "evaluator": None,
    "score": None,
    "errors": None,
    "explanation": None,
    "confidence": None,
    "gaps": [],
    "warnings": [],
    "correction": None,
    "signature": None,
}
"""The fields of a missing rating."""


class _Object(NamedTuple):
    """A line with its object, the segment's id, and which of the object's keys holds which field."""

    line: TextLine
    values: dict[str, Any]
    keys: dict[str, str]
    id: str


@dataclass(frozen=True)
class JsonLines:
    """Reads and writes JSON Lines.

    Strict by default: an unknown field is an error, since a mistyped name would otherwise be lost without a word. With
    ``lenient`` the names that other tools use are understood, and unknown fields are carried through.
    """

    name: str = "jsonl"
    suffixes: tuple[str, ...] = (".jsonl", ".ndjson")
    lenient: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    """The user's names of some fields, by field."""

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per line. A field that is ``null`` is missing; ``""`` is an empty text."""

        def records() -> Iterator[SegmentFields]:
            for item in self._objects(path):
                values = {field: item.values[key] for field, key in item.keys.items()}
                yield SegmentFields(item.line.number, values, item.keys)

        return segments_from(records(), defaults, path, "field")

    def _objects(self, path: Path) -> Iterator[_Object]:
        for number, (line, values) in enumerate(object_lines(path), start=1):
            names = list(values)
            keys: dict[str, str] = {}
            where = f"{path}:{line.number}"
            for name in names:
                if name in _FIELDS:
                    keys[name] = name
                elif field_called(name) == SPEAKER_GENDER:
                    keys[SPEAKER_GENDER] = name
                elif not self.lenient and not self.columns:
                    way_out = suggested(name) or "; --format jsonl-lenient carries unknown fields through"
                    raise InputError(f"{where}: unknown field {name!r}{way_out}")
            if self.lenient or self.columns:
                given = {field: name for field, name in self.columns.items() if name in values}
                for field, index in named_fields(names, where, given).items():
                    keys[field] = names[index]
            written_id = values[keys["id"]] if "id" in keys else None
            yield _Object(line, values, keys, str(number if written_id is None else written_id))

    def write(self, path: Path, results: Iterable[Result], like: Path | None = None) -> int:
        """Write one object per result, its text as ``translation`` (or the name that ``like`` has for it).

        With ``like`` only the texts change; every other character of an object is copied as it is.
        """
        if like is None:
            return write_pieces(path, "", map(_plain_line, results))
        entries = ((item.id, item.line.number, item) for item in self._objects(like))

        def lines() -> Iterator[str]:
            for item, result in paired(entries, results, path, like, lambda item: item.values.get("source")):
                key = item.keys.get("translation", "translation")
                raw = item.line.text
                if result.text != (item.values.get(key) or ""):  # no translation stays none
                    raw = replaced(raw, key, result.text)
                yield raw + item.line.end

        return write_pieces(path, byte_order_mark(like), lines())

    def recognises(self, first: str, value: Any) -> bool:
        """Whether a file that begins so holds ratings in this project's own form."""
        if not isinstance(value, dict):
            return False
        names = _flat(value)
        return ("errors" in names or "error" in names) and "translation" in value

    def read_spans(self, path: Path) -> Iterator[Annotation]:
        """Yield the annotations of a file as ``mtagent rate`` writes it.

        ``id``, ``translation`` and ``errors`` (error spans, or ``null``: none were marked) must be there; ``source``,
        ``system`` and ``evaluator`` are read if present; all else is ignored. A line with an ``error`` is not
        rated. Raises :class:`InputError`.
        """
        for number, line in parsed_lines(path):
            values, where = _flat(line), f"{path}:{number}"
            errors = None
            if not values.get("error"):
                if "errors" not in values:
                    raise InputError(
                        f"{where}: no 'errors'; write [] for a translation without errors, null for one not rated"
                    )
                if values["errors"] is not None:
                    errors = own_spans(values["errors"], where)
            yield Annotation(
                where=where,
                errors=errors,
                segment=name_field(values, "id"),
                document=name_field(values, "document"),
                system=name_field(values, "system"),
                rater=name_field(values, "evaluator"),
                source=values["source"] if isinstance(values.get("source"), str) else None,
                translation=text_field(values, "translation", where),
            )

    def paths(self, output: Path) -> tuple[Path, ...]:
        """Ratings go to one file."""
        return (output,)

    def refuse(self, candidates: Candidates, output: Path) -> None:
        """JSON holds every text."""

    def write_ratings(self, ratings: Ratings, output: Path) -> tuple[str, ...]:
        """Write an object per rating, a failed one with its ``error``; all but the dialogues, which the store has."""
        write_pieces(output, "", _account_lines(map(as_object, ratings.read(None)), output))
        return ()


_BY_SYSTEM = ("hyp", "hyps", "translations")


@dataclass(frozen=True)
class JsonLinesBySystem(JsonLines):
    """JSON Lines in which an object maps systems to their translations, as in the data of MENT.

    The names that other tools use are understood, ``seg`` as the id, and unknown fields are ignored.
    """

    name: str = "jsonl"
    lenient: bool = True

    def systems(self, path: Path) -> tuple[str, ...]:
        """The systems of the first line; empty for files of another kind."""
        for _, values in object_lines(path):
            return tuple(_texts_by_system(values))
        return ()

    def read(self, path: Path, defaults: SegmentDefaults = NO_DEFAULTS) -> Iterator[Segment]:
        """Yield one segment per line, without a translation."""

        def records() -> Iterator[SegmentFields]:
            for line, values in object_lines(path):
                names = [name for name in values if name not in _BY_SYSTEM]
                keys = {field: names[at] for field, at in named_fields(names, f"{path}:{line.number}").items()}
                if "seg" in names:
                    keys.setdefault("id", "seg")
                yield SegmentFields(line.number, {field: values[key] for field, key in keys.items()}, keys)

        return segments_from(records(), defaults, path, "field")

    def texts(self, path: Path) -> Iterator[dict[str, str | None]]:
        """Yield the translations of each line by system. Raises :class:`InputError` for what isn't a text."""
        systems = self.systems(path)
        logger.info("%s: the translations of %s systems are read from one field", path, len(systems))
        for line, values in object_lines(path):
            texts = _texts_by_system(values)
            for system, text in texts.items():
                if system not in systems or not isinstance(text, str | None):
                    expected = f"a text of one of {', '.join(systems)}"
                    raise InputError(f"{path}:{line.number}: expected {expected}, but {system!r} has {text!r:.60}")
            yield {system: texts.get(system) for system in systems}


def _texts_by_system(values: dict[str, Any]) -> dict[str, Any]:
    for name in _BY_SYSTEM:
        if isinstance(values.get(name), dict):
            texts: dict[str, Any] = values[name]
            return texts
    return {}


JSONL = JsonLines()
JSONL_LENIENT = JsonLines("jsonl-lenient", (), lenient=True)


def _plain_line(result: Result) -> str:
    fields = result.segment.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return json.dumps(fields | {"translation": result.text}, ensure_ascii=False) + "\n"


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """A record's fields, next to the fields of its segment and its rating."""
    fields: dict[str, Any] = {}
    for layer in (values.get("segment"), values.get("rating"), values):
        if isinstance(layer, dict):
            fields |= layer
    return fields


def replaced(raw: str, key: str, text: str) -> str:
    """The object ``raw`` with ``text`` under ``key``; a missing key is added at its end."""
    members = _members(raw)
    escapes = "\\u" in raw and raw.isascii() and not json.dumps(json.loads(raw), ensure_ascii=False).isascii()
    value = json.dumps(text, ensure_ascii=escapes)
    for member in members:
        if member.key == key:
            return raw[: member.value_start] + value + raw[member.value_end :]
    written_key = json.dumps(key, ensure_ascii=escapes)
    if not members:
        start = raw.index("{") + 1
        return f"{raw[:start]}{written_key}: {value}{raw[start:]}"
    last = members[-1]
    colon = raw[last.end : last.value_start]
    comma = "," if colon == ":" else ", "
    if len(members) > 1:  # as between the last two members
        comma = raw[members[-2].value_end : last.start]
    return raw[: last.value_end] + comma + written_key + colon + value + raw[last.value_end :]


class _Member(NamedTuple):
    """A member of an object as it is written: its key, and where key and value start and end (exclusive)."""

    key: str
    start: int
    end: int
    value_start: int
    value_end: int


def _members(raw: str) -> list[_Member]:
    """The members of the object that ``raw`` is."""
    decode = json.JSONDecoder().raw_decode

    def skip_space(at: int) -> int:
        while raw[at] in " \t\r\n":
            at += 1
        return at

    members = []
    at = skip_space(skip_space(0) + 1)
    while raw[at] != "}":
        key, end = decode(raw, at)
        value_start = skip_space(skip_space(end) + 1)
        _, value_end = decode(raw, value_start)
        members.append(_Member(key, at, end, value_start, value_end))
        at = skip_space(value_end)
        if raw[at] == ",":
            at = skip_space(at + 1)
    return members


def write_details(
    path: Path, chains: Iterable[Chain], *, messages: bool = False, not_written: Mapping[str, str] | None = None
) -> int:
    """Write one JSON object per chain, in the order given, and return their number.

    ``messages`` adds the full requests and replies of all calls, ``not_written`` why the text of a segment isn't in its
    file, by id. The file appears when it is complete. Raises :class:`OutputError`.
    """

    def account(chain: Chain) -> dict[str, Any]:
        reason = (not_written or {}).get(chain.segment.id)
        values = details(chain, messages=messages)
        return values if reason is None else values | {"not_written": reason}

    accounts = map(account, chains)
    return write_pieces(path, "", _account_lines(accounts, path))


def _account_lines(accounts: Iterable[dict[str, Any]], path: Path) -> Iterator[str]:
    """The accounts of segments as lines; a model's reply may hold a lone surrogate, on which it must not fail."""
    for account in accounts:
        try:
            line = encoded(account)
        except ValueError as error:
            raise OutputError(f"{path}: segment {account['id']!r}: a number in its ratings is not finite") from error
        yield line + "\n"


def details(chain: Chain, *, messages: bool = False) -> dict[str, Any]:
    """The account of one chain as plain data: texts, stages, edits, ratings, calls and what they cost."""
    account = {**_about(chain.segment), "given": chain.given, "text": chain.text}
    if chain.reviewed is not None:
        account["reviewed"] = chain.reviewed
    return account | {
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
        "cause": step.cause.model_dump(exclude_defaults=True),
        "text": step.text,
        "proposed": step.proposed,
        "edits": [edit.model_dump() for edit in step.edits],
        "not_fixed": [error.model_dump(exclude_none=True) for error in step.not_fixed],
        # The step, which paid for the calls, has them.
        "ratings": [rating.model_dump(exclude={"calls"}) for rating in step.ratings],
        "calls": [_call(call, messages) for call in step.calls],
        "usage": step.usage.model_dump(),
        "seconds": step.seconds,
    }


def _call(call: Call, messages: bool) -> dict[str, Any]:
    account = call.model_dump(exclude={"messages", "reply", "tool_calls"})
    if messages:
        account["messages"] = []
        for message in call.messages:
            fields = message.model_dump(exclude_defaults=True)  # few messages have the fields of tool calls
            account["messages"].append({"role": message.role, "content": message.content} | fields)
        account |= {"reply": call.reply, "tool_calls": [tool_call.model_dump() for tool_call in call.tool_calls]}
    return account


def as_object(rated: Rated) -> dict[str, Any]:
    """The object of one rating. Fields that don't apply are ``null``; a missing ``reference`` is left out.

    ``errors`` is ``[]`` for a text judged error-free, and ``null`` where nothing is known about spans.
    """
    segment = rated.segment
    values = {"id": segment.id, "system": rated.system, **_about(segment), "translation": rated.translation}
    if segment.reference is not None:
        values["reference"] = segment.reference
    values |= _UNRATED
    if rated.rating:
        values |= rated.rating.model_dump(include=set(_UNRATED))
    return values | {"usage": rated.usage.model_dump(), "seconds": rated.seconds, "error": rated.error}


def _about(segment: Segment) -> dict[str, Any]:
    fields = segment.model_dump(include=set(_ABOUT))
    return {name: fields[name] for name in _ABOUT}
