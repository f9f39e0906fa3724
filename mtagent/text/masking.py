"""Keys are never shown or stored: they are masked in servers' messages, and refused in addresses and other settings."""

from __future__ import annotations

import base64
import html
import logging
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import regex

MASK = "[key]"
SHORT = 8
"""A configured key of fewer characters is masked only as a whole word: ``key`` is also part of ``monkey``."""
LONGEST_MESSAGE = 400

_DEEPEST = 50
_NAME_LENGTH = 64
_LONGEST = 20_000
_BYTES = regex.compile(r"""\bb(?:'[^']*'|"[^"]*")""")

_SHAPES = regex.compile(
    r"""(?<![A-Za-z0-9])(?:
        sk-(?![A-Z][a-z]{3}\b)                      # sk-Latn is Slovak
        (?!(?:[a-z]{2,3}|[A-Z]{2})(?:\.[a-z]{2,6})+(?![\w.*\-]))  # a file of Slovak and German may be sk-de.csv
        [\w*.\-]{3,}                                # OpenAI, Anthropic, OpenRouter …
      | (?:gsk_|r8_|hf_|gh[oprsu]_|github_pat_|glpat-|xox[abeoprs]-|xai-|pplx-|nvapi-|ya29\.)[\w*.\-]{6,}
      | AIza[\w*\-]{8,}                             # Google
      | (?:AKIA|ASIA)[A-Z0-9*]{8,}                  # Amazon
      | eyJ[\w*\-]{6,}(?:\.[\w*\-]*){0,4}           # a JSON Web Token
      | [A-Za-z0-9]{20,}JQQJ99[A-Za-z0-9]{10,})     # Azure
    | \b(?i:bearer\s+(?:(?:bearer|basic)\s+){0,2}+
        (?!(?:auth|authentication|authorization|tokens?|schemes?|keys?|headers?)(?![\w\-.]))[^\s"',;<>]+
        (?:["'][^\s"',:;<>\]}})]+)*+)              # a quotation mark in it is not the end
    | \b(?i:basic)\s+(?=[A-Za-z0-9]*(?:[0-9=]|[a-z][A-Z]))[A-Za-z0-9+/_\-]{6,}=*
    | (?<=://)[^\s/@?\#"']+(?=@)                    # user:password@host
    """,
    regex.VERBOSE,
)
_NAME = (
    r"(?:api|access|auth|subscription|account|secret|functions?)[\-_\ ]?(?:key|token)|client[\-_]secret|passwd|password"
)
_KEY_NAME = regex.compile(rf"(?i:x-)?(?i:{_NAME}|authorization)")
_NAMED = regex.compile(
    rf"""(?i)(?<before>
        [?&;][\w.\-]*(?:key|token|secret|sig|signature|passw(?:or)?d|pwd|auth|credentials?|code)=   # in a query
      | (?:{_NAME})\s*[:=]\s*(?=[^\s"',;&<>]*[0-9*])                                             # in a header
      | \b(?:key|token|secret)(?:\s+(?:provided|given|used|is|was))?:?\s+["'`(]*(?=[^\s"',;<>\[\]{{}}]{{8}})
        (?=[^\s"',;<>\[\]{{}}]*[0-9*])                                                           # in a sentence
    )(?!\[key\]|\{{)[^\s"'\\&,;<>\#]+
    | (?<before>(?:{_NAME})["'\\]*\s*[:=]\s*["'\\]+)[^"'\\]+                                  # in JSON
    """,
    regex.VERBOSE,
)
_HEX = regex.compile(r"(?<![\w\-])[0-9A-Fa-f]{32}(?![\w\-])")  # Azure's older keys, and much else
_SECRET_FIELD = regex.compile(
    r"(?i)(?:key|token|secret|sig|signature|passw(?:or)?d|pwd|auth|authorization|credentials?|^code)$"
)
_UNSEEN = r"(?:[\u00ad\u200b-\u200f\u2060\ufeff]|\r?\n[ \t]*+)*+"  # between the letters of a key
_ADDRESS = regex.compile(r"https?:/*[^\s#]+", regex.IGNORECASE)


def masked(text: str, key: str = "", *, hexadecimal: bool = True) -> str:
    """``text`` without the configured ``key`` in any of its forms, and without anything that looks like another key.

    ``key`` may hold several keys, one per line. ``hexadecimal``: whether 32 hexadecimal digits look like a key. They
    may also be a request's number or a checksum.
    """
    if key:
        text = _forms(key).sub(MASK, text)
    text = _NAMED.sub(rf"\g<before>{MASK}", _SHAPES.sub(MASK, text))
    return _HEX.sub(MASK, text) if hexadecimal else text


def clean(text: str, key: str) -> str:
    """``text`` in one line, without the key or anything that looks like one, shortened.

    Bytes that broke a connection (``b'…'``) are left out: nobody knows what a broken answer holds.
    """
    text = masked(_BYTES.sub("b'…'", " ".join(text[:_LONGEST].split())), key)
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def redirected(location: str, key: str, way_out: str) -> str:
    """The message about a redirect to ``location``, which shows only its host and path.

    No redirect is followed: key and texts would go to another server.
    """
    try:
        parts = urlsplit(location)
    except ValueError:
        parts = urlsplit("")
    host = parts.netloc.rpartition("@")[2]
    to = f"{parts.scheme or 'http'}://{host}{parts.path}" if host else parts.path or "elsewhere"
    where = f"the server redirects to {clean(to, key)}"
    return f"{where}; key and texts do not follow: if that is the right address, {way_out}"


_masked_short = lru_cache(maxsize=1024)(masked)  # names of fields and models occur again in every reply


@lru_cache(maxsize=1024)
def _is_short_key_name(name: str) -> bool:
    return _KEY_NAME.fullmatch(name) is not None


def _is_key_name(name: str) -> bool:
    """Whether a field of this name holds a key. A server may send names of any length; only short ones are kept."""
    if len(name) > _NAME_LENGTH:
        return _KEY_NAME.fullmatch(name) is not None
    return _is_short_key_name(name)


def _masked_text(text: str, key: str) -> str:
    return _masked_short(text, key) if len(text) <= _NAME_LENGTH else masked(text[:_LONGEST], key)


def masked_data(value: Any, key: str = "", depth: int = 0) -> Any:
    """Parsed JSON with every text in it masked, the names of fields included.

    What is longer than a message is cut, and what is nested deeper than anything that means something is left out.
    """
    if depth > _DEEPEST:
        return MASK
    if isinstance(value, str):
        return _masked_text(value, key)
    if isinstance(value, dict):
        fields = {}
        for name, item in value.items():
            if isinstance(item, str) and _is_key_name(name):
                item = MASK
            elif isinstance(item, (str, dict, list)):
                item = masked_data(item, key, depth + 1)
            fields[_masked_text(name, key)] = item
        return fields
    if isinstance(value, list):
        return [masked_data(item, key, depth + 1) for item in value]
    return value


_READ_OF_REPLY = ("error", "model", "usage")  # besides the choices


def masked_reply(payload: Any, key: str = "") -> object:
    """What is read of the body of a chat completion, with everything masked except what the model wrote.

    Its text is never altered: a translation may hold whatever the source holds.
    """
    choices = payload.get("choices") if isinstance(payload, dict) else None
    if not isinstance(choices, list):
        return masked_data(payload, key)
    masked_choices = []
    for choice in choices:
        if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
            masked_choices.append(masked_data(choice, key))
            continue
        message = _masked_except(choice["message"], ("content", "tool_calls"), key)
        masked_choices.append({**_masked_except(choice, ("message", "logprobs"), key), "message": message})
    fields = {name: payload[name] for name in _READ_OF_REPLY if name in payload}
    return {**masked_data(fields, key), "choices": masked_choices}


def _masked_except(fields: dict[str, Any], written: tuple[str, ...], key: str) -> dict[str, Any]:
    """``fields`` masked, except the ``written`` ones."""
    others = {name: item for name, item in fields.items() if name not in written}
    kept = {name: fields[name] for name in written if name in fields}
    return {**masked_data(others, key), **kept}


@lru_cache(maxsize=16)
def _forms(key: str) -> regex.Pattern[str]:
    """``key``, each letter of it in any writing, or all of it in hexadecimal or Base64, at any place in that.

    Several keys, one per line, are found by one pattern.
    """
    if "\n" in key:
        return regex.compile("|".join(_forms(line).pattern for line in key.split("\n")))
    if len(key) < SHORT:
        return regex.compile(rf"(?<![\w\-]){regex.escape(key)}(?![\w\-])")
    letters = regex.sub(r"\\+", r"\\", key)
    written = r"(?<!\\)" + _UNSEEN.join(map(_writings, letters))
    raw = key.encode()
    encoded = set[str]()
    for before in range(3):  # what is before the key shifts its Base64 by as many bytes
        base = base64.b64encode(bytes(before) + raw).decode()
        inner = base[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        encoded |= {inner, inner.replace("+", "-").replace("/", "_")}
    return regex.compile("|".join([f"(?i:{written})", *map(regex.escape, encoded), f"(?i:{raw.hex()})"]))


def _writings(letter: str) -> str:
    """A pattern for ``letter`` as it is, with backslashes before it, and in URLs, JSON and HTML, escaped once or again.

    No part of it can match a run of text in two ways: the time stays linear.
    """
    if letter == "\\":
        return rf"(?:(?:\\++(?:u005c|x5c)?|%(?:25)*+5c|&(?:amp;)*+#(?:0*+92|x0*+5c);){_UNSEEN})++"  # one or several
    code = ord(letter)
    in_url = "%(?:25)*+" if letter == "%" else "".join(f"%(?:25)*+{byte:02x}" for byte in letter.encode())
    in_json = letter.encode("utf-16-be").hex()
    ways = [
        in_url,
        r"\\*+".join(f"u{in_json[at : at + 4]}" for at in range(0, len(in_json), 4)),
        f"x{code:02x}",
        f"&(?:amp;)*+#(?:0*+{code}|x0*+{code:x});",
    ]
    in_html = html.escape(letter)
    if letter == "&":
        ways.append("&(?:amp;)*+")
    elif in_html != letter:
        ways += ["&(?:amp;)*+" + in_html[1:], regex.escape(letter)]
    elif letter == " ":
        ways.append("[ +]")
    else:
        ways.append(regex.escape(letter))
    return rf"\\*+(?:{'|'.join(ways)})"


def key_in(setting: str) -> str:
    """What in a setting looks like a key, in words; ``""`` if nothing does. ``{key}`` and ``$KEY`` do not."""
    for address in _ADDRESS.findall(setting):
        try:
            parts = urlsplit(address)
        except ValueError:
            continue  # opening it will fail
        if "@" in parts.netloc:
            return "a user name or password"
        for name, value in parse_qsl(parts.query):
            if _SECRET_FIELD.search(name) and value != "{key}":
                return f"a key in its query ({masked(name)}=)"
    for match in _SHAPES.finditer(setting):
        if "$" not in match[0] and "{" not in match[0]:
            return "what looks like a key"
    return ""


@dataclass(frozen=True)
class KeyFilter:
    """Masks what other packages log of requests and answers. Equal filters are added to a logger once."""

    key: str = field(repr=False)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, masked."""
        record.msg, record.args = masked(record.getMessage(), self.key), ()
        return True
