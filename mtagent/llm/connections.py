"""Whether an error of other code, such as a user's function, means that a connection was not made, or was lost."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

_NO_WAY = frozenset({errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH})
_TLS_ENDED = ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError
_OF_PACKAGES = frozenset(
    {
        ("aiohttp", "ClientConnectionError"),
        ("aiohttp", "ClientPayloadError"),
        ("anthropic", "APIConnectionError"),
        ("azure", "IncompleteReadError"),
        ("azure", "ServiceRequestError"),
        ("azure", "ServiceResponseError"),
        ("botocore", "ConnectionError"),
        ("botocore", "HTTPClientError"),
        ("deepl", "ConnectionException"),
        ("google", "TransportError"),
        ("http", "IncompleteRead"),
        ("httpx", "TransportError"),
        ("httpx2", "TransportError"),
        ("openai", "APIConnectionError"),
        ("requests", "ChunkedEncodingError"),
        ("requests", "ConnectionError"),
        ("requests", "Timeout"),
        ("urllib3", "ProtocolError"),
        ("urllib3", "TimeoutError"),
    }
)
"""Package and class of errors that need not have one of Python's own errors among their causes."""


def lost_connection(error: BaseException) -> BaseException | None:
    """The error of a connection because of which ``error`` was raised: the innermost, if any. A retry may help then.

    An answer that refuses a request isn't such an error, nor is a certificate that isn't trusted. A missing file isn't
    one, either, even if a connection was lost before.
    """
    lost = None
    for cause in _causes(error):
        if getattr(cause, "response", None) is not None:  # the server has answered
            return None
        if _is_of_python(cause) or _is_of_package(cause):
            lost = cause
        elif isinstance(cause, OSError) and cause.errno is not None:
            return None
    return lost


def _causes(error: BaseException) -> Iterator[BaseException]:
    """``error``, and why it was raised.

    A function that raises ``from None`` means that what happened before doesn't matter. A package that does so hides
    its own ways: below its error, all causes count.
    """
    seen = list[BaseException]()
    is_in_package = False
    cause: BaseException | None = error
    while cause is not None and not any(cause is other for other in seen):
        seen.append(cause)
        yield cause
        is_in_package = is_in_package or _is_of_package(cause)
        if cause.__cause__ is None and cause.__suppress_context__ and not is_in_package:
            return
        cause = cause.__cause__ or cause.__context__


def _is_of_python(error: BaseException) -> bool:
    if isinstance(error, ConnectionError | TimeoutError | socket.gaierror | _TLS_ENDED):
        return True
    return isinstance(error, OSError) and error.errno in _NO_WAY


def _is_of_package(error: BaseException) -> bool:
    for kind in type(error).__mro__:
        package = kind.__module__.partition(".")[0]
        if (package, kind.__name__) in _OF_PACKAGES:
            return True
    return False
