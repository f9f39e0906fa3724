"""Access control: keys from a file, with limits per minute and per month, and the errors of refused requests."""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from starlette.responses import JSONResponse

from mtagent.errors import ConfigError, InputError

# -- why a request is refused


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
    """Whether ``path`` belongs to DeepL's interface. Of version 1, which OmegaT uses, there is only one path."""
    return path.startswith(("/v2/", "/v3/")) or path == "/v1/translate"


def takes_key_in_body(path: str) -> bool:
    """Whether a client may send its key in the body of a request to ``path``: ``api_key``, in DeepL's ``auth_key``."""
    return is_deepl(path) or path in ("/translate", "/detect", "/suggest", "/translate_file")


def error_response(path: str, error: ServiceError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The response for ``error`` in the interface to which ``path`` belongs."""
    status = error.status
    if is_deepl(path):
        if isinstance(error, QuotaExceeded):
            status = 456
        elif isinstance(error, MissingKey):
            status = 403
    elif isinstance(error, MissingKey) and takes_key_in_body(path):
        status = 400  # as LibreTranslate does
    response_headers = dict(headers or {})
    if error.retry_after is not None:
        response_headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    field = "message" if is_deepl(path) else "error"
    return JSONResponse({field: error.message}, status, headers=response_headers)


logger = logging.getLogger("mtagent.serve")
# -- keys

_NAME = r"[\w.@-]{1,64}"
_LINE = re.compile(rf"(?P<name>{_NAME}):sha256:(?P<digest>[0-9a-f]{{64}})(?P<rest>(?::[^:\s]+)*)")
_FREE_PLAN = ":fx"
"""DeepL's free keys end so, and some tools want that of every key: with this ending a key is the same key."""
_PER_MINUTE = {"s": 60.0, "min": 1.0, "h": 1 / 60}


@dataclass(frozen=True)
class ApiKey:
    """The key of a client, with its limits."""

    name: str
    digest: str = field(default="", repr=False)  # SHA-256 of the secret
    dollars: float | None = None  # per month
    characters: int | None = None  # of source texts, per month
    rate: float | None = None  # requests per minute


ANYBODY = ApiKey("anybody")
"""The key of all clients if the operator has set no keys."""


def parse_keys(text: str, where: str) -> tuple[ApiKey, ...]:
    """Keys as lines ``NAME:sha256:HEX``, then ``:$20``, ``:500000`` (characters) and ``:60/min`` in any order.

    Raises :class:`InputError`, beginning with ``where:line``.
    """
    keys: list[ApiKey] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        parts = _LINE.fullmatch(line.strip())
        if parts is None:
            raise InputError(f"{where}:{number}: expected NAME:sha256:HEX[:$DOLLARS][:CHARACTERS][:RATE/min]")
        if parts["name"] in {key.name for key in keys}:
            raise InputError(f"{where}:{number}: a second key is called {parts['name']!r}; names must be unique")
        limits: dict[str, float | int] = {}
        for word in parts["rest"].split(":")[1:]:
            dollars = re.fullmatch(r"\$(\d+(?:\.\d+)?)", word)
            rate = re.fullmatch(r"(\d+(?:\.\d+)?)/(s|min|h)", word)
            value: float | int
            if dollars:
                kind, value = "dollars", float(dollars[1])
            elif rate:
                kind, value = "rate", float(rate[1]) * _PER_MINUTE[rate[2]]
            elif word.isdecimal():
                kind, value = "characters", int(word)
            else:
                raise InputError(
                    f"{where}:{number}: expected a limit such as $20, 500000 (characters) or 60/min, not {word!r}"
                )
            if kind in limits:
                raise InputError(f"{where}:{number}: {word!r} is a second limit of {kind}; keep one of them")
            limits[kind] = value
        keys.append(ApiKey(parts["name"], parts["digest"], **limits))  # type: ignore[arg-type]
    return tuple(keys)


def new_key(path: Path, name: str) -> str:
    """Make a key for ``name``, add its hash to the file ``path``, and return it. Raises :class:`ConfigError`."""
    secret = f"mt-{secrets.token_urlsafe(32)}"
    line = f"{name}:sha256:{_digest(secret)}\n"
    if not re.fullmatch(_NAME, name):
        raise ConfigError(f"--add-key: expected a name of at most 64 letters, digits and . _ - @, not {name!r}")
    try:
        content = path.read_text(encoding="utf-8") if path.exists() else ""
        if name in {key.name for key in parse_keys(content, str(path))}:
            raise ConfigError(f"--add-key {name}: {path} has a key of this name; choose another, or delete its line")
        path.touch(mode=0o600)
        if content and not content.endswith("\n"):
            line = f"\n{line}"
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
    return secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class Spent:
    """The usage of a key in a month."""

    characters: int = 0
    dollars: float = 0.0
    unpriced: bool = False  # some calls had no known price, so the dollars aren't all

    def add(self, other: Spent) -> None:
        """Add the usage in ``other``."""
        self.characters += other.characters
        self.dollars += other.dollars
        self.unpriced = self.unpriced or other.unpriced


class Access:
    """The keys of the file ``path``, which is read again when it changes; without a file, anybody has access.

    ``clock`` returns the time in seconds. Raises :class:`ConfigError` if the file cannot be read at the start.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        # Time and size of the file when it was read; (): not yet read; None: the file was missing.
        self._version_read: tuple[int, ...] | None = ()
        self._keys: tuple[ApiKey, ...] = ()
        # Requests that a key may still send at once, and the time when that was true.
        self._buckets: dict[str, tuple[float, float]] = {}
        if path is not None and not self._current_keys():
            raise ConfigError(f"{path}: has no keys; make one with --add-key NAME")

    @property
    def limits_dollars(self) -> bool:
        """Whether a key has a limit in dollars, so that all prices must be known."""
        return self._path is not None and any(key.dollars is not None for key in self._current_keys())

    def _current_keys(self) -> tuple[ApiKey, ...]:
        """The keys in the file now. If it cannot be read, the former keys, and the log has the reason."""
        assert self._path is not None
        version = None
        try:
            stat = self._path.stat()
            version = (stat.st_mtime_ns, stat.st_size)
            if version != self._version_read:
                self._keys = parse_keys(self._path.read_text(encoding="utf-8"), str(self._path))
        except (OSError, UnicodeDecodeError, InputError) as error:
            reason = str(error) if isinstance(error, InputError) else f"{self._path}: cannot be read: {error}"
            if self._version_read == ():
                raise ConfigError(reason) from None
            if version != self._version_read:
                logger.error("the former keys remain valid: %s", reason)
        self._version_read = version
        return self._keys

    @property
    def is_open(self) -> bool:
        """Whether anybody has access without a key."""
        return self._path is None

    def count_request(self, key: ApiKey) -> None:
        """Count a request with ``key``. Raises :class:`ServiceError` if it exceeds the key's rate."""
        if key.rate is None:
            return
        capacity = max(1.0, key.rate)  # the requests of a minute may come at once
        now = self._clock()
        available, last = self._buckets.get(key.name, (capacity, now))
        available = min(capacity, available + (now - last) * key.rate / 60)
        if available < 1:
            self._buckets[key.name] = available, now
            raise ServiceError(429, "too many requests", retry_after=(1 - available) * 60 / key.rate)
        self._buckets[key.name] = available - 1, now

    def find(self, secret: str | None) -> ApiKey:
        """The key that belongs to ``secret``. Raises :class:`ServiceError` if none does."""
        if self._path is None:
            return ANYBODY
        if not secret:
            raise MissingKey()
        digests = [_digest(secret), _digest(secret.removesuffix(_FREE_PLAN))]
        matching_key = None
        for key in self._current_keys():  # all of them, so that the time taken reveals nothing
            for digest in digests:
                if hmac.compare_digest(key.digest, digest):
                    matching_key = key
        if matching_key is None:
            raise InvalidKey()
        return matching_key
