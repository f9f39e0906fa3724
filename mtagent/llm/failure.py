"""What went wrong with one request, as a value: what kind of error it is, and whether asking again can help."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import regex

from mtagent.errors import (
    AuthenticationError,
    BadRequest,
    ModelError,
    ModelNotFound,
    RateLimited,
    Refused,
    ServerError,
)
from mtagent.llm.plain import whole_characters
from mtagent.masking import masked, masked_data

LONGEST_MESSAGE = 400
_LONGEST_READ = 20_000
_BYTES = regex.compile(r"""\bb(?:'[^']*'|"[^"]*")""")
CONFLICTS_AND_TIMEOUTS = (408, 409)
NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
FILTERED = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})
NO_MODEL = frozenset({"model_not_found", "model_not_available", "DeploymentNotFound"})
_SAYS_NO_MODEL = regex.compile(
    r"\bmodels?\b.{0,200}(?:not (?:exist|found)|no longer (?:available|exists|supported)"
    r"|been (?:deprecated|retired|removed|shut ?down|decommissioned))"
    r"|\b(?:invalid|unknown|no such) model\b|not a valid model|no endpoints found for",
    regex.IGNORECASE | regex.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that brought no usable reply. ``transient``: the same request may succeed later.

    ``unreachable``: there was no connection at all. ``answered``: the server did its work, which is to be paid for, and
    what it sent is of no use. ``retry_after`` is the number of seconds that the server asks to wait. ``param`` and
    ``code`` are the server's own words. Holds only text: never an exception, a request or a header, so that no key can
    leak through it.
    """

    kind: type[ModelError]
    message: str
    status: int = 0
    transient: bool = False
    retry_after: float | None = None
    param: str | None = None
    code: str | None = None
    unreachable: bool = False
    answered: bool = False


def status_failure(status: int, headers: Mapping[str, str], body: object, *, now: float, key: str = "") -> Failure:
    """The failure that an HTTP ``status`` with this error ``body`` stands for. ``now``: seconds since 1970."""
    body = masked_data(body, key)
    error = _error_object(body)
    code, param = (None if value is None else words_of(value) for value in (error.get("code"), error.get("param")))
    if 300 <= status < 400 and (location := headers.get("location")):
        message = redirected(location, key, "make it the base URL")
    else:
        message = clean(words_of(error.get("message") or error.get("detail") or body or ""), key) or "no message"
    kind, transient = _class_of(status, code, message)
    wait = retry_after(headers, now) if transient else None
    return Failure(kind, message, status, transient, wait, param, code)


def _class_of(status: int, code: str | None, message: str) -> tuple[type[ModelError], bool]:
    if code in FILTERED:
        return Refused, False
    if status in (401, 403):
        return AuthenticationError, False
    if status == 429:
        return RateLimited, code not in NO_MONEY
    if status >= 500 or status in CONFLICTS_AND_TIMEOUTS:
        return ServerError, True
    if code in NO_MODEL or (status in (400, 404, 410) and _SAYS_NO_MODEL.search(message)):
        return ModelNotFound, False
    return BadRequest, False


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``Retry-After`` (seconds or an HTTP date); ``None`` if unreadable."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None or (seconds := _number(value)) is not None:
        return None if value is None else seconds
    # The server's own clock, where it tells it, so that a wrong clock on either side does no harm.
    date, sent = _date(value), _date(headers.get("date"))
    return None if date is None else max(0.0, date - (now if sent is None else sent))


def clean(text: str, key: str) -> str:
    """``text`` in one line, without the key or anything that looks like one, shortened.

    Bytes that broke a connection (``b'…'``) are left out: of a broken answer nobody knows what they hold.
    """
    text = masked(_BYTES.sub("b'…'", " ".join(text[:_LONGEST_READ].split())), key)
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def redirected(location: str, key: str, way_out: str) -> str:
    """What to say of a redirect to ``location``. None is followed: the key and the texts would go to whoever is there.

    What the address holds beside host and path is not shown.
    """
    try:
        parts = urlsplit(location)
    except ValueError:
        parts = urlsplit("")
    host = parts.netloc.rpartition("@")[2]
    to = f"{parts.scheme or 'http'}://{host}{parts.path}" if host else parts.path or "elsewhere"
    where = f"the server redirects to {clean(to, key)}"
    return f"{where}; key and texts do not follow: if that is the right address, {way_out}"


def _error_object(body: object) -> Mapping[str, Any]:
    """The part of an error reply that holds message, code and param, in the shapes that servers use."""
    if not isinstance(body, Mapping):
        return {}
    inner = body.get("error", body)
    return inner if isinstance(inner, Mapping) else {"message": inner}


def words_of(value: object) -> str:
    """What a server says, as text that every store and terminal takes, whatever it is."""
    try:
        return whole_characters(str(value))
    except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
        return "(unreadable)"


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _date(value: str | None) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp() if value else None
    except (ValueError, OverflowError):
        return None
