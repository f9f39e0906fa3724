"""Reading replies: the plain text in one, and the JSON in one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import json_repair
import regex

from mtagent.errors import EmptyReply, RatingParseError, UnreadableReply

_THOUGHTS = regex.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", regex.IGNORECASE)
_TAGGED = regex.compile(r"\A<(source|translation)(?:-\w++)?+>(.*)</\1(?:-\w++)?+>\Z", regex.DOTALL)
_FENCED = regex.compile(r"\A```[\w-]*+[ \t]*+\n(?:(.*)\n)?```\Z", regex.DOTALL)
_BARE_FENCE = regex.compile(r"```(?:[\w-]*+|\s*+```)")
_INVISIBLE = regex.compile(r"[\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*+")
_MERE_TAGS = regex.compile(
    r"(?:</?(?:br|hr|(?:source|translation)(?:-\w++)?+)\s*+/?>|<(?P<opened>[\w-]++)>|</(?P<closed>[\w-]++)>"
    r"|<\|[\w /]++\|>|\[(?:TOOL_CALLS|/?INST)\]|\s)*+"
)
_BROKEN = regex.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")


def plain_text(reply: str, like: str) -> str:
    """The text in ``reply``, with the outer white space of ``like``.

    A thinking block before it, our own tags around it, and a code fence around it are taken off, unless ``like`` has
    such marks itself. Remarks are not: what cannot be told from text for certain is left to the guards. Raises
    :class:`EmptyReply` where nothing is left, and :class:`UnreadableReply` for one that is cut off while thinking, or
    that holds broken or control characters which ``like`` has not.
    """
    text = _without_thoughts(whole_characters(reply), like).strip()
    if not like.lstrip().startswith("```"):
        text = _without_fence(text)
    tagged = _TAGGED.match(text)
    if tagged and f"<{tagged[1]}" not in like and f"</{tagged[1]}" not in tagged[2]:
        text = tagged[2].strip()
    if is_blank(text) and not (text and like.strip() and is_blank(like)):
        raise EmptyReply("the model's reply holds no text")
    broken = set(_BROKEN.findall(text)) - set(_BROKEN.findall(like))
    if broken:
        raise UnreadableReply(f"it holds the character U+{ord(min(broken)):04X}, which is no text")
    body = like.strip()
    start = like.index(body)
    return like[:start] + text + like[start + len(body) :] if body else text


def is_blank(text: str) -> bool:
    """Whether ``text`` holds nothing but white space and characters that nobody sees (zero-width ones, controls)."""
    return _INVISIBLE.fullmatch(text) is not None


def says_nothing(reply: str, asked: Iterable[str] = ()) -> bool:
    """Whether nothing is left of ``reply`` without thoughts, tags, fences and invisible characters.

    ``asked`` are the texts that it answers: what stands there word for word may be the answer, and where they speak of
    thinking tags, such tags are not taken for thoughts.
    """
    text, before = reply.strip(), None
    while text != before:
        before = text
        try:
            text = _without_thoughts(text, "").strip()
        except UnreadableReply:  # cut off while thinking
            text = ""
        tagged = _TAGGED.match(text)
        text = tagged[2].strip() if tagged else _without_fence(text)
    tags = _MERE_TAGS.fullmatch(text)
    is_empty = tags is not None and sorted(tags.captures("opened")) == sorted(tags.captures("closed"))
    if not is_empty and not is_blank(text):  # a tag that nobody closes may be a text: <laughs>
        return False
    shown = reply.strip()
    return is_blank(shown) or not any(shown in one or _THOUGHTS.search(one) for one in asked)


def whole_characters(text: str) -> str:
    """``text`` with U+FFFD for each half of a surrogate pair: no file, store or server takes one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _without_fence(text: str) -> str:
    """What stands in the code fence around ``text``, if there is one around all of it."""
    if _BARE_FENCE.fullmatch(text):
        return ""
    fenced = _FENCED.match(text)
    return (fenced[1] or "").strip() if fenced else text


def _without_thoughts(reply: str, like: str) -> str:
    """What comes after the thoughts at the start of ``reply``; some servers leave out the tag that opens them."""
    tags = list(_THOUGHTS.finditer(reply))
    if not tags or _THOUGHTS.search(like):
        return reply
    opened = not tags[0].group(1)
    if opened and not is_blank(reply[: tags[0].start()]):
        return reply
    closed = [tag for tag in tags if tag.group(1)]
    if not closed:
        raise UnreadableReply("it is cut off while thinking")
    return reply[closed[-1].end() :]


_TOKEN = regex.compile(
    r"""(?P<space>(?:\s|\\[nrt])++) | (?P<open>[{\[]) | (?P<close>[}\]]) | (?P<comma>,) | (?P<colon>:)
    | (?P<quote>["'“„‘]) | (?P<comment>(?://|\#)[^\n]*+) | (?P<block>/\*)
    | (?P<word>[^\W\d]\w*+) | (?P<number>[-+.\d][\w.+-]*+) | (?P<other>.)""",
    regex.VERBOSE | regex.DOTALL,
)
_CLOSERS = {'"': '"', "'": "'", "“": "”“", "„": "“”", "‘": "’"}
_STOPS = {mark: regex.compile(rf"\\.|[{closers}]", regex.DOTALL) for mark, closers in _CLOSERS.items()}
_AFTER_STRING = regex.compile(r"(?:\s|\\[nrt])*+(?:[,:}\]\#]|//|/\*|\Z)")
_QUOTE_NEXT = regex.compile(r"\s*+[\"'“„‘]")
_ESCAPE = regex.compile(r"\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})|\\'|\\|\"")
_PAIR = {"{": "}", "[": "]"}
_LITERALS = {"True": "true", "False": "false", "None": "null"}
_JSON_WORDS = frozenset({"true", "false", "null", "NaN", "Infinity"})


class Scan(NamedTuple):
    """What begins at a bracket. ``end`` is where it stops; ``closed`` says whether its bracket was closed.

    ``mended`` is the value in strict JSON, ``None`` where only guessing would help. Prose is ``closed=None``.
    """

    end: int
    closed: bool | None
    mended: str | None
    repeats: bool


def scan(text: str, start: int) -> Scan:
    """Read the value that begins with the bracket at ``start``."""
    return _Scanner(text).run(start)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._out: list[str] = []
        self._open: list[str] = []
        self._keys: list[set[str]] = []
        self._guessing = False
        self._repeats = False

    def run(self, start: int) -> Scan:
        """Go token by token until the first bracket is closed, the text ends, or it turns out to be prose."""
        at: int | None = start
        while at is not None and at < len(self._text):
            token = _TOKEN.match(self._text, at)
            assert token is not None
            at = self._take(str(token.lastgroup), token.group(), token.end())
            if at is None:
                return Scan(token.end(), None, None, False)
            if not self._open:
                return Scan(at, True, None if self._guessing else "".join(self._out), self._repeats)
        return Scan(len(self._text), False, None, self._repeats)

    def _take(self, kind: str, token: str, end: int) -> int | None:
        """Handle one token; the place to go on at, ``None`` for prose."""
        match kind:
            case "space" | "comment":
                return end
            case "block":
                close = self._text.find("*/", end)
                return close + 2 if close >= 0 else len(self._text)
            case "quote":
                return self._string(token, end)
            case "open":
                self._open.append(token)
                self._keys.append(set())
            case "close":
                self._close(token)
                return end
            case "colon":
                self._note_key()
            case "word":
                return self._word(token, end)
            case "number" | "other" if token in ("...", "…"):
                return self._left_out(end)
            case "other":
                return self._unexpected(end)
        self._out.append(token)
        return end

    def _close(self, token: str) -> None:
        if self._out[-1] == ",":
            self._out.pop()
        self._guessing |= _PAIR[self._open.pop()] != token
        self._keys.pop()
        self._out.append(token)

    def _note_key(self) -> None:
        key, keys = self._out[-1], self._keys[-1]
        self._repeats |= key in keys
        keys.add(key)

    def _word(self, word: str, end: int) -> int | None:
        if word in _LITERALS or word in _JSON_WORDS:
            self._out.append(_LITERALS.get(word, word))
        elif self._open[-1] == "{" and self._out[-1] in "{,":
            self._out.append(json.dumps(word, ensure_ascii=False))
        else:
            return self._unexpected(end)
        return end

    def _unexpected(self, end: int) -> int | None:
        """Something that is no JSON: in an object a value for the repair to guess, elsewhere a sign of prose."""
        self._guessing = True
        return end if self._open[-1] == "{" else None

    def _left_out(self, end: int) -> int | None:
        """Dots for what the model did not write: a list that goes on with them is cut off, one of dots is prose."""
        return len(self._text) if self._open[-1] == "[" and self._out[-1] != "[" else self._unexpected(end)

    def _string(self, mark: str, begin: int) -> int:
        """A string ends at its mark before a comma, colon, bracket or comment; other marks are part of it."""
        for stop in _STOPS[mark].finditer(self._text, begin):
            if stop.group()[0] == "\\":
                continue
            if _AFTER_STRING.match(self._text, stop.end()):
                self._out.append(self._quoted(self._text[begin : stop.start()]))
                return int(stop.end())
            # Either a quotation mark inside the string, or a comma is missing: the mended text must not decide.
            self._guessing |= mark == '"' or _QUOTE_NEXT.match(self._text, stop.end()) is not None
        return len(self._text)

    @staticmethod
    def _quoted(inner: str) -> str:
        return f'"{_ESCAPE.sub(_escape, inner)}"'


def _escape(found: regex.Match[str]) -> str:
    """A JSON escape as it is, ``\\'`` as an apostrophe, a lone backslash doubled, a bare quotation mark escaped."""
    escape = found.group()
    return {"\\'": "'", "\\": "\\\\", '"': '\\"'}.get(escape, escape)


EXCERPT = 120
LONGEST_REPAIR = 100_000
STRICT_TRIES = 50  # each failure counts the lines of the whole reply for its message, which would be quadratic

LONGEST_NUMBER = 300  # digits of a whole number
DEEPEST = 100
_TOO_DEEP = "the JSON in the reply is nested too deep"
_START = regex.compile(
    r"""\{\s*+(?:["'“„‘}/#\\]|[^\W\d]\w*+\s*+:) | \[\s*+(?:["'“„‘\[\]{/#\\\-\d]|true|false|null|True|False|None)""",
    regex.VERBOSE,
)
_LINE_START = regex.compile(r"[\s>*`]*+(?:jsonc?|json5|jsonl|python)?+[\s*`]*+", regex.IGNORECASE)
_LINE_END = regex.compile(r"[\s*`,;.]*+")
_LEFT_OFF = regex.compile(r"[:：。！？]|(?<=\p{L}{3})[.!?](?=\s)")
_TAG = r"(?:</?[\w -]{1,40}>)?+"
_MARKS = r"[\s\d.)|=>→•*`–—-]*+"  # of lists, tables and arrows
_LEAD = regex.compile(rf"{_MARKS}{_LINE_START.pattern}{_TAG}\s*+", regex.IGNORECASE)
_TRAIL = regex.compile(rf"\s*+{_TAG}{_LINE_END.pattern}[。|]?+\s*+")
_BETWEEN = regex.compile(r"[\s,;]*+")


class Pairs(list[tuple[str, Any]]):
    """A JSON object in which a key occurs more than once: its (key, value) pairs, in order."""


class Answer(NamedTuple):
    """The JSON of a reply. ``alone``: on lines of its own, or at the end of one after a colon or another sentence."""

    value: Any
    alone: bool


class _Found(NamedTuple):
    start: int
    end: int
    value: Any


def read_json(text: str, *, last: bool = False) -> Any:
    """The JSON object or list in ``text``.

    Fences, prose and a ``<think>`` block around it are ignored. Of several values, those on lines of their own count
    before those inside a sentence, then those that hold objects, then the last one. Objects that follow each other
    without a word between them (JSON lines) are one list. An object with repeated keys comes back as :class:`Pairs`.
    With ``last``, for replies that quote others before they conclude, the last value that holds objects counts,
    wherever it stands.

    Raises :class:`RatingParseError` for a reply without an object or a list, for one that is cut off, for numbers that
    JSON does not have (NaN) or of hundreds of digits, for more than 100 levels of nesting, and for half of a character
    (an escaped lone surrogate).
    """
    return read_answer(text, last=last).value


def read_answer(text: str, *, last: bool = False) -> Answer:
    """The same, with whether it stands where an answer does: a sentence may quote what it does not say.

    With ``last``, the end of the reply is such a place, whatever stands before it.
    """
    answer = whole_characters(text).strip().removeprefix("\ufeff").strip()
    try:
        found = _read_any(answer, last)
    except RecursionError:
        _fail(_TOO_DEEP, answer)
    if _depth_above(found.value, DEEPEST):
        _fail(_TOO_DEEP, answer)
    if "\\u" in text:
        written = json.dumps(found.value, ensure_ascii=False)
        if whole_characters(written) != written:
            _fail("the JSON in the reply holds half of a character", whole_characters(text))
    return found


def _read_any(answer: str, last: bool) -> Answer:
    try:
        whole = _DECODER.decode(answer)
    except (ValueError, RecursionError):
        return _search(without_thoughts(answer), last)
    if isinstance(whole, str):
        return _search(whole, last)
    if isinstance(whole, dict | list):
        return Answer(whole, alone=True)
    return _fail("no JSON object or list in the reply", answer)


def _search(answer: str, last: bool) -> Answer:
    groups = list(_groups(list(_values(answer)), answer))
    if not groups:
        _fail("no JSON object or list in the reply" if answer else "the reply is empty", answer)
    best = _last(groups, answer) if last else _best(groups, answer)
    concludes = last and _TRAIL.fullmatch(answer, best.end) is not None
    return Answer(best.value, alone=concludes or _is_alone(best, answer))


def _is_alone(found: _Found, answer: str) -> bool:
    before, after = answer[: found.start].rpartition("\n")[2], answer[found.end :].partition("\n")[0]
    return bool(_LEAD.fullmatch(_LEFT_OFF.split(before)[-1]) and _TRAIL.fullmatch(after))


def _values(answer: str) -> Iterator[_Found]:
    """All JSON values in ``answer``, leaving out what lies inside others."""
    at, strict_tries = 0, STRICT_TRIES
    while start := _START.search(answer, at):
        begin = start.start()
        strict = _strict(answer, begin) if strict_tries else None
        if strict is not None:
            at = strict.end
            yield strict
            continue
        strict_tries = max(0, strict_tries - 1)
        found = scan(answer, begin)
        at = max(found.end, begin + 1)
        if found.closed:
            yield _Found(begin, at, _read(answer[begin:at], found.mended, found.repeats, answer))
        elif found.closed is not None:
            _fail("the JSON in the reply is cut off", answer)


def _strict(answer: str, begin: int) -> _Found | None:
    try:
        value, end = _DECODER.raw_decode(answer, begin)
    except (ValueError, RecursionError):
        return None
    return _Found(begin, end, value)


def _read(source: str, mended: str | None, repeats: bool, answer: str) -> Any:
    try:
        if mended is not None:
            return _DECODER.decode(mended)
    except _NotANumber as error:
        _fail(f"{error} is no JSON number", answer)
    except (ValueError, RecursionError):
        pass
    if repeats:
        _fail("the JSON in the reply is broken and repeats keys, so a repair would lose some", answer)
    return _repaired(source, answer)


def _repaired(source: str, answer: str) -> Any:
    """``source`` as json-repair understands it."""
    if len(source) > LONGEST_REPAIR:
        _fail("the JSON in the reply is broken and too long to repair", answer)
    try:
        value = json_repair.loads(source)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        _fail("the JSON in the reply is broken", answer)
    return value if value and isinstance(value, dict | list) else _fail("the JSON in the reply is broken", answer)


def _groups(found: list[_Found], answer: str) -> Iterator[_Found]:
    """Values that follow each other without a word between them, as one."""
    group: list[_Found] = []
    for one in found:
        if group and not _BETWEEN.fullmatch(answer, group[-1].end, one.start):
            yield _joined(group, answer)
            group = []
        group.append(one)
    if group:
        yield _joined(group, answer)


def _joined(group: list[_Found], answer: str) -> _Found:
    values = [one.value for one in group]
    if all(value == values[0] for value in values):
        value = values[0]
    elif all(_is_object(value) for value in values):
        value = values
    else:
        _fail("several JSON values in the reply", answer)
    return _Found(group[0].start, group[-1].end, value)


def _best(groups: list[_Found], answer: str) -> _Found:
    """The last of those that rank highest: on lines of their own, then by what they hold."""
    ends = [0, *(group.end for group in groups)]
    starts = [*(group.start for group in groups), len(answer)]
    gaps = [answer[end:start] for end, start in zip(ends, starts, strict=True)]
    alone = [
        _LINE_START.fullmatch(before.rpartition("\n")[2]) is not None
        and ("\n" in before or number == 0)
        and _LINE_END.fullmatch(after.partition("\n")[0]) is not None
        and ("\n" in after or number == len(groups) - 1)
        for number, (before, after) in enumerate(pairwise(gaps))
    ]
    best = max(range(len(groups)), key=lambda number: (alone[number], _substance(groups[number].value), number))
    return groups[best]


def _last(groups: list[_Found], answer: str) -> _Found:
    """The last of those that hold the most. An empty list after them may be the conclusion, or none: it is refused."""
    best = max(enumerate(groups), key=lambda numbered: (_substance(numbered[1].value), numbered[0]))[1]
    if best.value and not groups[-1].value:
        _fail("the reply ends with an empty list or object, after JSON that holds something", answer)
    return best


def _substance(value: Any) -> int:
    """0 for nothing, 2 for objects, 1 for a list of anything else."""
    if not value:
        return 0
    return 2 if _is_object(value) or any(_is_object(item) for item in value) else 1


def _is_object(value: Any) -> bool:
    return isinstance(value, dict | Pairs)


def without_thoughts(answer: str) -> str:
    """What comes after the last block of thoughts."""
    tags = list(_THOUGHTS.finditer(answer))
    if tags and not tags[-1].group(1) and not answer[: tags[-1].start()].strip():
        _fail("the reply is cut off while thinking", answer)
    closed = [tag for tag in tags if tag.group(1)]
    return answer[closed[-1].end() :].strip() if closed else answer


def _depth_above(value: Any, most: int) -> bool:
    """Whether lists and objects are nested more than ``most`` deep."""
    level = [value]
    for _ in range(most):
        nested = [item for item in level if isinstance(item, dict | list)]
        if not nested:
            return False
        level = [
            child
            for item in nested
            for child in (
                item.values()
                if isinstance(item, dict)
                else (pair[1] for pair in item)
                if isinstance(item, Pairs)
                else item
            )
        ]
    return any(isinstance(item, dict | list) for item in level)


class _NotANumber(ValueError):
    """NaN or an infinity."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotANumber(name)


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse_constant(digits)


def _integer(digits: str) -> int:
    """A number that also fits a float; Python refuses to convert those of thousands of digits."""
    return int(digits) if len(digits) <= LONGEST_NUMBER else _refuse_constant(f"{digits[:20]}…")


def _object(pairs: list[tuple[str, Any]]) -> Any:
    as_dict = dict(pairs)
    return as_dict if len(as_dict) == len(pairs) else Pairs(pairs)


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer
)


def _fail(problem: str, answer: str) -> NoReturn:
    excerpt = answer if len(answer) <= EXCERPT else f"{answer[: EXCERPT // 2]} … {answer[-EXCERPT // 2 :]}"
    raise RatingParseError(f"{problem}: {excerpt!r}") from None
