"""JSON as models write it, rewritten as strict JSON in one pass.

Understood: comments, trailing commas, keys without quotes, single and typographic quotes, ``True``/``False``/``None``,
backslashes that begin no escape, line breaks inside strings and ``\\n`` between tokens.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import regex

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
