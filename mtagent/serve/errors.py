"""Why a request is refused, and how each interface says so."""

from __future__ import annotations

import math
from collections.abc import Mapping

from starlette.responses import JSONResponse


class ServiceError(Exception):
    """A request that is not answered with a translation. ``message`` is for the client, and holds no text of theirs."""

    def __init__(self, status: int, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


class MissingKey(ServiceError):
    """There is no key in the request, and there has to be."""

    def __init__(self) -> None:
        super().__init__(401, "an API key is needed: ask the operator of this server for one")


class InvalidKey(ServiceError):
    """Nobody has the key in the request."""

    def __init__(self) -> None:
        super().__init__(403, "Invalid API key")


class QuotaExceeded(ServiceError):
    """The budget of a key, or of the whole service, or a key's limit of characters does not suffice."""

    def __init__(self, what: str = "the budget is spent") -> None:
        super().__init__(403, f"{what}: Quota Exceeded")


def is_deepl(path: str) -> bool:
    """Whether ``path`` belongs to DeepL's interface."""
    return path.startswith(("/v2/", "/v3/"))


def error_response(path: str, error: ServiceError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """``error`` as the interface to which ``path`` belongs says it."""
    status = error.status
    if is_deepl(path):
        if isinstance(error, QuotaExceeded):
            status = 456
        elif isinstance(error, MissingKey):
            status = 403
    elif isinstance(error, MissingKey) and path in ("/translate", "/detect"):
        status = 400  # as LibreTranslate does
    more = dict(headers or {})
    if error.retry_after is not None:
        more["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    return JSONResponse({"message" if is_deepl(path) else "error": error.message}, status, headers=more)
