"""Reading replies: the plain text in one, the JSON in one, and reports of failures in either."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

import json_repair
import regex

from mtagent.errors import EmptyReply, RatingParseError, UnreadableReply
from mtagent.text.commentary import declines
from mtagent.text.word_lists import word_lists

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

    A thinking block before it, the prompt's tags around it, and a code fence around it are removed, unless ``like`` has
    such marks itself. Remarks stay, since they can't be distinguished from text with certainty: the guards check them.
    Raises :class:`EmptyReply` if nothing is left, and :class:`UnreadableReply` for a reply that is cut off while
    thinking, that is JSON and reports a failure, or that contains broken or control characters which ``like`` hasn't.
    """
    text = _after_thoughts(whole_characters(reply), like).strip()
    if not like.lstrip().startswith("```"):
        text = _without_fence(text)
    tagged = _TAGGED.match(text)
    if tagged and f"<{tagged[1]}" not in like and f"</{tagged[1]}" not in tagged[2]:
        text = tagged[2].strip()
    if is_blank(text) and not (text and like.strip() and is_blank(like)):
        raise EmptyReply("the model's reply holds no text")
    failure = None if like.lstrip().startswith(("{", "[")) else failure_in_text(text)
    if failure is not None:
        raise UnreadableReply(f"it reports a failure ({failure})")
    broken = set(_BROKEN.findall(text)) - set(_BROKEN.findall(like))
    if broken:
        raise UnreadableReply(f"it holds the character U+{ord(min(broken)):04X}, which is no text")
    body = like.strip()
    start = like.index(body)
    return like[:start] + text + like[start + len(body) :] if body else text


def is_blank(text: str) -> bool:
    """Whether ``text`` has only white space and invisible characters (zero-width ones, controls)."""
    return _INVISIBLE.fullmatch(text) is not None


def says_nothing(reply: str, request: Iterable[str] = ()) -> bool:
    """Whether nothing is left of ``reply`` without thoughts, tags, fences and invisible characters.

    ``request`` holds the texts that it answers: a reply that occurs there word for word may be the answer, and if they
    mention thinking tags, such tags aren't thoughts.
    """
    text, before = reply.strip(), None
    while text != before:
        before = text
        try:
            text = _after_thoughts(text, "").strip()
        except UnreadableReply:  # cut off while thinking
            text = ""
        tagged = _TAGGED.match(text)
        text = tagged[2].strip() if tagged else _without_fence(text)
    tags = _MERE_TAGS.fullmatch(text)
    is_empty = tags is not None and sorted(tags.captures("opened")) == sorted(tags.captures("closed"))
    if not is_empty and not is_blank(text):  # a tag that nobody closes may be a text: <laughs>
        return False
    shown = reply.strip()
    return is_blank(shown) or not any(shown in text or _THOUGHTS.search(text) for text in request)


def whole_characters(text: str) -> str:
    """``text`` with U+FFFD for each half of a surrogate pair, which files, stores and servers refuse."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _without_fence(text: str) -> str:
    """The content of the code fence around ``text``; ``text`` itself without a fence around all of it."""
    if _BARE_FENCE.fullmatch(text):
        return ""
    fenced = _FENCED.match(text)
    if fenced:
        return (fenced[1] or "").strip()
    return text


def _after_thoughts(reply: str, like: str) -> str:
    """The text after the thoughts at the start of ``reply``; some servers leave out the opening tag."""
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
_LITERALS = {word: word for word in ("true", "false", "null", "NaN", "Infinity")}
_LITERALS |= {"True": "true", "False": "false", "None": "null"}
_ESCAPES = {"\\'": "'", "\\": "\\\\", '"': '\\"'}


class Scan(NamedTuple):
    """A value or prose that begins at a bracket."""

    end: int
    """Where it stops."""
    closed: bool | None
    """Whether its bracket was closed; ``None`` = it is prose."""
    mended: str | None = None
    """The value in strict JSON; ``None`` = it could only be guessed."""
    repeats: bool = False
    """Whether an object repeats a key."""


def scan(text: str, at: int) -> Scan:
    """Read the value that begins with the bracket at ``at``, token by token, until it is closed or proves to be prose.

    ``out`` collects the tokens of strict JSON, ``keys`` the keys of each open object.
    """
    out: list[str] = []
    opened: list[str] = []
    keys: list[set[str]] = []
    guessing = repeats = False
    while match := _TOKEN.match(text, at):
        kind, token, at = str(match.lastgroup), match.group(), match.end()
        if kind == "block":
            at = text.find("*/", at) + 2
            if at == 1:
                break
        elif kind == "quote":
            string, at, uncertain = _string(text, token, at)
            guessing |= uncertain
            if string is None:
                break
            out.append(string)
        elif kind == "open":
            opened.append(token)
            keys.append(set())
            out.append(token)
        elif kind == "close":
            if out[-1] == ",":
                out.pop()
            guessing |= _PAIR[opened.pop()] != token
            keys.pop()
            out.append(token)
            if not opened:
                return Scan(at, True, None if guessing else "".join(out), repeats)
        elif kind == "word" and token in _LITERALS:
            out.append(_LITERALS[token])
        elif kind == "word" and opened[-1] == "{" and out[-1] in "{,":
            out.append(json.dumps(token, ensure_ascii=False))
        elif token in ("...", "…") and opened[-1] == "[" and out[-1] != "[":
            break  # a list that goes on with dots for what the model did not write is cut off
        elif kind in ("word", "other") or token == "...":
            guessing = True  # in an object a value for the repair to guess, elsewhere a sign of prose
            if opened[-1] != "{":
                return Scan(at, None)
        elif kind not in ("space", "comment"):
            if kind == "colon":
                repeats |= out[-1] in keys[-1]
                keys[-1].add(out[-1])
            out.append(token)
    return Scan(len(text), False, None, repeats)


def _string(text: str, mark: str, begin: int) -> tuple[str | None, int, bool]:
    """A string as JSON, its end, and whether that is uncertain; ``None`` for an unfinished one.

    It ends at its mark before a comma, colon, bracket or comment; other marks are part of it.
    """
    uncertain = False
    for stop in _STOPS[mark].finditer(text, begin):
        if stop.group()[0] == "\\":
            continue
        if _AFTER_STRING.match(text, stop.end()):
            # An escape of JSON stays, \' is an apostrophe, a lone backslash is doubled, a bare quotation mark escaped.
            inner = _ESCAPE.sub(lambda match: _ESCAPES.get(match.group(), match.group()), text[begin : stop.start()])
            return f'"{inner}"', stop.end(), uncertain
        # Either a quotation mark inside the string, or a comma is missing: the mended text must not decide.
        uncertain |= mark == '"' or _QUOTE_NEXT.match(text, stop.end()) is not None
    return None, len(text), uncertain


EXCERPT = 120
LONGEST_REPAIR = 100_000
STRICT_TRIES = 50  # each failure counts the lines of the whole reply for its message, which would be quadratic

LONGEST_LEAD = 200  # characters before a verdict that aren't reasoning
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


class RepeatedKeys(list[tuple[str, Any]]):
    """A JSON object in which a key occurs more than once: its (key, value) pairs, in order."""


class Answer(NamedTuple):
    """The JSON of a reply. ``alone``: on lines of its own, or at the end of one after a colon or another sentence."""

    value: Any
    alone: bool


class _Value(NamedTuple):
    start: int
    end: int
    value: Any


def read_json(text: str, *, last: bool = False) -> Any:
    """The JSON object or list in ``text``.

    Fences, prose and a ``<think>`` block around it are ignored. Of several values, those on lines of their own go
    before those inside a sentence, then those that hold objects, then the last one. Objects that follow each other
    without a word between them (JSON lines) are one list. An object with repeated keys is returned as
    :class:`RepeatedKeys`. With ``last``, for replies that quote others before they conclude, the last value that holds
    objects is returned, wherever it is.

    Raises :class:`RatingParseError` for a reply without an object or a list, for one that is cut off, for numbers that
    JSON does not have (NaN) or of hundreds of digits, for more than 100 levels of nesting, for half of a character (an
    escaped lone surrogate), for JSON that reports a failure, and for an empty list with a refusal in words next to it.
    """
    return read_answer(text, last=last).value


def read_answer(text: str, *, last: bool = False) -> Answer:
    """The same, with whether it is in the place of an answer: a sentence may quote JSON without answering.

    With ``last``, the end of the reply is such a place, whatever comes before it.
    """
    answer = whole_characters(text).strip().removeprefix("\ufeff").strip()
    try:
        try:
            whole = _DECODER.decode(answer)
        except (ValueError, RecursionError):
            read = _search(without_thoughts(answer), last)
        else:
            read = _search(whole, last) if isinstance(whole, str) else Answer(whole, alone=True)
    except RecursionError:
        _fail(_TOO_DEEP, answer)
    if not isinstance(read.value, dict | list):
        _fail("no JSON object or list in the reply", answer)
    brackets = text.count("{") + text.count("[")
    if brackets > DEEPEST and _depth_above(read.value, DEEPEST):
        _fail(_TOO_DEEP, answer)
    failure = failure_in(read.value)
    if failure is not None:
        _fail(f"the JSON in the reply reports a failure ({failure})", answer)
    if "\\u" in text:
        written = json.dumps(read.value, ensure_ascii=False)
        if whole_characters(written) != written:
            _fail("the JSON in the reply holds half of a character", whole_characters(text))
    return read


def _search(answer: str, last: bool) -> Answer:
    """The best value in ``answer``: one on lines of its own (except with ``last``), then the one that holds most.

    Of several equal ones it is the last.
    """
    # Values that follow each other without a word between them are one: JSON lines are a list.
    runs: list[list[_Value]] = []
    for value in _values(answer):
        if not runs or not _BETWEEN.fullmatch(answer, runs[-1][-1].end, value.start):
            runs.append([])
        runs[-1].append(value)
    groups: list[_Value] = []
    for run in runs:
        parts = [part.value for part in run]
        alike = all(part == parts[0] for part in parts)
        if not alike and not all(isinstance(part, dict | RepeatedKeys) for part in parts):
            _fail("several JSON values in the reply", answer)
        groups.append(_Value(run[0].start, run[-1].end, parts[0] if alike else parts))
    if not groups:
        _fail("no JSON object or list in the reply" if answer else "the reply is empty", answer)
    gaps, end = [], 0
    for group in groups:
        gaps.append(answer[end : group.start])
        end = group.end
    gaps.append(answer[end:])

    def rank(number: int) -> tuple[bool, int, int]:
        before, after = gaps[number], gaps[number + 1]
        on_own_lines = (
            not last
            and _LINE_START.fullmatch(before.rpartition("\n")[2]) is not None
            and ("\n" in before or number == 0)
            and _LINE_END.fullmatch(after.partition("\n")[0]) is not None
            and ("\n" in after or number == len(groups) - 1)
        )
        return on_own_lines, _substance(groups[number].value), number

    best = groups[max(range(len(groups)), key=rank)]
    if last and best.value and not groups[-1].value:  # may be the conclusion, or none
        _fail("the reply ends with an empty list or object, after JSON that holds something", answer)
    if finds_nothing(best.value):
        # A long text before is the reasoning about what the source and the translation say.
        lead = answer[: best.start] if best.start <= LONGEST_LEAD else ""
        if refuses(lead) or refuses(answer[best.end :]):
            _fail("the reply lists nothing, and declines to judge", answer)
    concludes = last and _TRAIL.fullmatch(answer, best.end) is not None
    before, after = answer[: best.start].rpartition("\n")[2], answer[best.end :].partition("\n")[0]
    is_alone = _LEAD.fullmatch(_LEFT_OFF.split(before)[-1]) and _TRAIL.fullmatch(after)
    return Answer(best.value, alone=concludes or bool(is_alone))


def _values(answer: str) -> Iterator[_Value]:
    """All JSON values in ``answer``, leaving out what lies inside others."""
    at, strict_tries = 0, STRICT_TRIES
    while start := _START.search(answer, at):
        begin = start.start()
        if strict_tries:
            try:
                value, at = _DECODER.raw_decode(answer, begin)
                yield _Value(begin, at, value)
                continue
            except (ValueError, RecursionError):
                strict_tries -= 1
        scanned = scan(answer, begin)
        at = max(scanned.end, begin + 1)
        if scanned.closed:
            yield _Value(begin, at, _read(answer[begin:at], scanned, answer))
        elif scanned.closed is not None:
            _fail("the JSON in the reply is cut off", answer)


def _read(source: str, scanned: Scan, answer: str) -> Any:
    """The value in ``source``: mended if that is certain, or else as json-repair understands it."""
    try:
        if scanned.mended is not None:
            return _DECODER.decode(scanned.mended)
    except _NotANumber as error:
        _fail(f"{error} is no JSON number", answer)
    except (ValueError, RecursionError):
        pass
    if scanned.repeats:
        _fail("the JSON in the reply is broken and repeats keys, so a repair would lose some", answer)
    if len(source) > LONGEST_REPAIR:
        _fail("the JSON in the reply is broken and too long to repair", answer)
    try:
        value = json_repair.loads(source)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        _fail("the JSON in the reply is broken", answer)
    if not value or not isinstance(value, dict | list):
        _fail("the JSON in the reply is broken", answer)
    return value


def _substance(value: Any) -> int:
    """0 for nothing, 2 for objects, 1 for a list of anything else."""
    if not value:
        return 0
    if any(isinstance(part, dict | RepeatedKeys) for part in [value, *value]):
        return 2
    return 1


def without_thoughts(answer: str) -> str:
    """The text after the last block of thoughts."""
    tags = list(_THOUGHTS.finditer(answer))
    if tags and not tags[-1].group(1) and not answer[: tags[-1].start()].strip():
        _fail("the reply is cut off while thinking", answer)
    closed = [tag for tag in tags if tag.group(1)]
    if closed:
        return answer[closed[-1].end() :].strip()
    return answer


def _depth_above(value: Any, most: int) -> bool:
    """Whether lists and objects are nested more than ``most`` deep."""
    level = [value]
    for _ in range(most):
        next_level: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                next_level += item.values()
            elif isinstance(item, RepeatedKeys):
                next_level += [content for _, content in item]
            elif isinstance(item, list):
                next_level += item
        level = next_level
    return any(isinstance(item, dict | list) for item in level)


class _NotANumber(ValueError):
    """NaN or an infinity."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotANumber(name)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        _refuse_constant(digits)
    return number


def _integer(digits: str) -> int:
    """A number that also fits a float; Python refuses to convert thousands of digits."""
    if len(digits) > LONGEST_NUMBER:
        _refuse_constant(f"{digits[:20]}…")
    return int(digits)


_DECODER = json.JSONDecoder(
    strict=False,
    object_pairs_hook=lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else RepeatedKeys(pairs),
    parse_constant=_refuse_constant,
    parse_float=_finite,
    parse_int=_integer,
)


def _fail(problem: str, answer: str) -> NoReturn:
    excerpt = answer if len(answer) <= EXCERPT else f"{answer[: EXCERPT // 2]} … {answer[-EXCERPT // 2 :]}"
    raise RatingParseError(f"{problem}: {excerpt!r}") from None


# Reports of failures: JSON or prose with which a model or a server reports one, instead of an answer or next to it.
# ``{"errors": [], "error": "context length exceeded"}`` lists no error of the translation, but isn't a verdict.
# ``text/data/failures.toml`` says what each list of words and names is for.

_LISTS = word_lists("failures")
_NAMES = {name: frozenset(entries) for name, entries in _LISTS.items()}
_REFUSALS = tuple(f"{cannot} {task}" for cannot in _LISTS["cannot"] for task in _LISTS["tasks"])
_TASK_PHRASES = (*_REFUSALS, *_LISTS["task_phrases"])
_PHRASES = (*_TASK_PHRASES, *_LISTS["phrases"])
_FINDINGS = ("annotations", "errors", "exists", "views")  # empty or false if the judge found nothing
_FAILED = regex.compile(r"(?:error(?! free\b)|fail(?:ed|ure)?)\b")
_TEXT = r"(?:source|text|translation)\b"
_OF_WRITER = r"(?:^|[,:;] |\b(?:and|but|i|so|we)(?:'m| am| are| was| were)? )"
_NO_TEXT = regex.compile(
    rf"\bno {_TEXT} (?:given|provided|was (?:found|given|provided))\b"
    rf"|\bno translation to (?:{'|'.join(_LISTS['tasks'])})\b"
    rf"|\b{_TEXT} (?:is|was) not provided\b"
    rf"|\bprovide (?:a|both|the|your) (?:(?:and|original|source|target|the|translated) )*{_TEXT}"
    rf"|{_OF_WRITER}(?:{'|'.join(_LISTS['cannot'])}) (?:access|open|parse|read|see) the {_TEXT}"
)
"""Said where a text did not arrive. Next to errors it may be about a part of the text."""
_TELLS_CONTENT = regex.compile(r"\b(?:ask|instruct|mean|say|state|tell)(?:s|ing)?\b")
_SENTENCE_END = regex.compile(r"[.!?]++ ")
_ERROR_WORD = rf"(?:{'|'.join(_LISTS['error_words'])})"
_NONE_ABROAD = rf"(?:{'|'.join(_LISTS['foreign_none_words'])})"
_ERROR_LINE = regex.compile(
    rf"^[^\w\n>]*+\p{{Latin}}*?{_ERROR_WORD}(?: \d{{3}})?(?:[ *_\])]*+[:：]|\])[ *_]*+"
    rf"(?!(?:{'|'.join(_LISTS['none_words'])})\b|no[ .]*$|{_NONE_ABROAD}[ .。]*$"
    r"|(?:there (?:are|is|was|were) )?no (?:\w+ )?(?:errors?|issues?|mistakes?)\b"
    rf"|(?:\w+ ){{0,3}}{_NONE_ABROAD} ?(?:\w+ )?{_ERROR_WORD})(?:\w|\W*(?:json)?\W*\Z)",
    regex.IGNORECASE | regex.MULTILINE,
)
"""Not a line that is marked as quoted. With nothing after the colon it is a report if it ends the text."""
_SHORT_REPORT = 4  # words of a reply's prose that is nothing but a report
_HTTP_FAILURE = regex.compile(r"[45]\d\d")
_QUOTED = regex.compile(r"""(?<!\w)["'“„«‘].{0,200}?["'”“»’](?!\w)""", regex.DOTALL)
_CAMEL = regex.compile(r"(?<=[a-z])(?=[A-Z])")
_SPACING = regex.compile(r"[\s_-]++")
_LONGEST_REPORT = 60  # characters of a report that are shown


def failure_in(value: Any) -> str | None:
    """The failure that ``value``, the JSON of a reply, reports, as ``name: text``; ``None`` for no failure.

    Looks into lists and into objects inside of objects, except errors in the translation.
    """
    for fields in _objects_in(value):
        for name, content in fields:
            if _reports_failure(name, content, fields):
                shown = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
                return f"{name}: {shown[:_LONGEST_REPORT]}"
    return None


def failure_in_text(text: str) -> str | None:
    """The same of a reply in plain text, if all of it is JSON."""
    if not text.startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return failure_in(value)


def finds_nothing(value: Any) -> bool:
    """Whether ``value``, the JSON of a reply, is empty or lists no error, and holds no other verdict."""
    if not value:
        return True
    return isinstance(value, dict) and _finds_nothing(_fields(value.items()))


def refuses(prose: str) -> bool:
    """Whether ``prose`` next to JSON that finds nothing reports an error, or that its writer cannot do the task.

    Quoted words don't count.
    """
    said = _unified(prose)
    reports_error = _ERROR_LINE.search(_QUOTED.sub("", prose)) is not None
    is_report = len(said.split()) <= _SHORT_REPORT and _holds(_TASK_PHRASES, said)
    return reports_error or is_report or _holds(_REFUSALS, said) or _lacks_text(said) or declines("", prose)


def _objects_in(value: Any) -> Iterator[list[tuple[str, Any]]]:
    """The objects in ``value`` that are not errors in the translation, as lists of name and content."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if not isinstance(item, dict | list):
            continue
        if isinstance(item, list) and not isinstance(item, RepeatedKeys):
            waiting += reversed(item)
            continue
        fields = _fields(item.items() if isinstance(item, dict) else item)
        if any(name in _NAMES["error_fields"] for name, _ in fields):
            continue
        yield fields
        for name, content in reversed(fields):
            if name not in _FINDINGS or not isinstance(content, dict):
                waiting.append(content)
                continue
            for span, found in reversed(content.items()):
                # {"errors": {"Haus": {"error": "wrong word"}}} describes the error in a span.
                if not isinstance(found, dict) or "error" not in found or _plain(span) in _NAMES["reports"]:
                    waiting.append(found)


def _fields(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[str, Any]]:
    """The names of an object in plain words, each with its content."""
    return [(_plain(str(name)), content) for name, content in pairs]


@lru_cache(1000)  # replies use the same names again and again
def _plain(name: str) -> str:
    """``name`` in lower case with spaces between its words: ``finishReason`` and ``finish_reason`` are the same."""
    words = _SPACING.sub(" ", _CAMEL.sub(" ", name)).strip().casefold()
    return words.removeprefix("is ").removeprefix("was ")


def _reports_failure(name: str, content: Any, fields: list[tuple[str, Any]]) -> bool:
    """Whether the field ``name`` of an object with these ``fields`` reports a failure by its ``content``."""
    text = _unified(content) if isinstance(content, str) else ""
    if name in _NAMES["reports"]:
        if content is True or text in ("true", "yes"):  # it may answer whether there is an error in the translation
            return not any(other in _FINDINGS and findings for other, findings in fields)
        if isinstance(content, dict | list) and _describes_errors(content):
            return False
        return bool(content) and text not in _NAMES["answers"]
    if name in _NAMES["flags"]:
        return content is True or text in ("true", "yes")
    if name in _NAMES["success"]:
        return content is False or text in ("false", "no")
    if name in _NAMES["states"]:
        is_number = isinstance(content, int) and not isinstance(content, bool)
        if (is_number and 400 <= content <= 599) or _HTTP_FAILURE.fullmatch(text):
            return True
        if text in _NAMES["state_words"] or text in _NAMES["flags"]:
            return True
    if name in _NAMES["kinds"] and (name != "type" or _finds_nothing(fields)):  # the type of an error may be anything
        return _FAILED.match(text) is not None or _holds(_TASK_PHRASES, text)
    if name in _NAMES["endings"]:
        return content is not None and text not in _NAMES["regular_endings"]
    if name in _NAMES["messages"]:
        if _has_verdict(fields):
            return _holds(_TASK_PHRASES, text)
        return _holds(_PHRASES, text) or _lacks_text(text)
    if name in _NAMES["remarks"]:
        return _finds_nothing(fields) and (_holds(_TASK_PHRASES, text) or _lacks_text(text) or declines("", text))
    return False


def _unified(text: str) -> str:
    """``text`` in lower case, with straight apostrophes, and with single spaces for white space, ``_`` and ``-``."""
    return _SPACING.sub(" ", text).strip().casefold().replace("’", "'")


def _holds(phrases: tuple[str, ...], text: str) -> bool:
    """Whether ``text`` contains one of the ``phrases``, except in quotes, which come from source or translation."""
    said = _QUOTED.sub("", text)
    return any(phrase in said for phrase in phrases)


def _lacks_text(text: str) -> bool:
    """Whether ``text`` says that its writer got no source or no translation."""
    for sentence in _SENTENCE_END.split(_QUOTED.sub("", text)):
        # "The source asks to provide the text" tells what is translated.
        if _NO_TEXT.search(sentence) and not _TELLS_CONTENT.search(sentence):
            return True
    return False


def _has_verdict(fields: list[tuple[str, Any]]) -> bool:
    return any(name in _NAMES["verdicts"] or (name in _FINDINGS and content) for name, content in fields)


def _finds_nothing(fields: list[tuple[str, Any]]) -> bool:
    return not _has_verdict(fields) and any(name in _FINDINGS for name, _ in fields)


def _describes_errors(content: dict[str, Any] | list[Any]) -> bool:
    """Whether the content of a field is an error in the translation, or a list of them: its name is a span then."""
    for item in content if isinstance(content, list) else [content]:
        if isinstance(item, dict):
            for name in item:
                if _plain(str(name)) in _NAMES["error_fields"]:
                    return True
    return False
