"""Text made harmless for XML and HTML, a terminal, a spreadsheet."""

from __future__ import annotations

import re
from html import escape
from typing import TextIO

_ACTING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_NOT_SHOWN = re.compile(f"[{_ACTING}]")
_NOT_ON_A_LINE = re.compile(f"[\t\n{_ACTING}]")
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plain(text: str) -> str:
    """``text`` for XML: escaped, and without characters that XML does not allow."""
    return escape(_NOT_IN_XML.sub("\ufffd", text), quote=True)


def visible(text: str, *, one_line: bool = False) -> str:
    """``text`` for a terminal: what would act there is shown instead, as ``\\u001b``.

    That is control characters (with ``one_line`` also line feed and tab), changes of direction, and half characters.
    Marks of direction (U+200E, U+200F) stay: they move only their neighbours.
    """
    acting = _NOT_ON_A_LINE if one_line else _NOT_SHOWN
    return acting.sub(lambda match: _SHORT.get(match[0], f"\\u{ord(match[0]):04x}"), text)


def shown_on(stream: TextIO | None, data: str) -> str:
    """``data`` as ``stream`` gets it: exactly, or made visible if it is a terminal, where some characters act."""
    if stream is None or not stream.isatty():
        return data
    return visible(data.replace("\r\n", "\n"))


def harmless(cell: str) -> str:
    """``cell`` for a spreadsheet, which runs what begins like a formula: that gets an apostrophe (as OWASP advises)."""
    shown = cell.encode(errors="replace").decode()
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def unguarded(cell: str) -> str:
    """A cell that :func:`harmless` guarded, without its apostrophe; any other stays as it is."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell
