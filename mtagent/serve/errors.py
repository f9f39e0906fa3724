"""Why a request is refused, and the form in which each interface reports it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from starlette.responses import JSONResponse


class ServiceError(Exception):
    """A request that fails. ``message`` is for the client and doesn't contain the client's texts."""

    def __init__(self, status: int, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after  # seconds


class MissingKey(ServiceError):
    """The request has no key, and the server requires one."""

    def __init__(self) -> None:
        super().__init__(401, "an API key is needed; ask the operator of this server for one")


class InvalidKey(ServiceError):
    """The request has an unknown key."""

    def __init__(self) -> None:
        super().__init__(403, "Invalid API key")


class QuotaExceeded(ServiceError):
    """The budget of a key or of the whole service is spent, or a key's limit of characters is reached."""

    def __init__(self, what: str = "the budget is spent") -> None:
        super().__init__(403, f"{what}: Quota Exceeded")


def is_deepl(path: str) -> bool:
    """Whether ``path`` belongs to DeepL's interface."""
    return path.startswith(("/v2/", "/v3/"))


def error_response(path: str, error: ServiceError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The response for ``error`` in the interface to which ``path`` belongs."""
    status = error.status
    if is_deepl(path):
        if isinstance(error, QuotaExceeded):
            status = 456
        elif isinstance(error, MissingKey):
            status = 403
    elif isinstance(error, MissingKey) and path in ("/translate", "/detect"):
        status = 400  # as LibreTranslate does
    response_headers = dict(headers or {})
    if error.retry_after is not None:
        response_headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    field = "message" if is_deepl(path) else "error"
    return JSONResponse({field: error.message}, status, headers=response_headers)
