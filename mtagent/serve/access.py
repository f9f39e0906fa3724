"""Who may use the service, and how much: keys from a file, rates, budgets of a calendar month."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mtagent.errors import ConfigError, InputError
from mtagent.serve.errors import InvalidKey, MissingKey, QuotaExceeded, ServiceError

logger = logging.getLogger("mtagent.serve")
_NAME = r"[\w.@-]{1,64}"
_LINE = re.compile(rf"(?P<name>{_NAME}):sha256:(?P<digest>[0-9a-f]{{64}})(?P<rest>(?::[^:\s]+)*)")
_PER_MINUTE = {"s": 60.0, "min": 1.0, "h": 1 / 60}


@dataclass(frozen=True)
class ApiKey:
    """Somebody who may ask: at most ``rate`` requests a minute, ``dollars`` and source ``characters`` a month."""

    name: str
    digest: str = field(default="", repr=False)
    dollars: float | None = None
    characters: int | None = None
    rate: float | None = None


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
            raise InputError(f"{where}:{number}: not a key: write NAME:sha256:HEX[:$DOLLARS][:CHARACTERS][:RATE/min]")
        if parts["name"] in {key.name for key in keys}:
            raise InputError(f"{where}:{number}: a second key with the name {parts['name']!r}; names must be unique")
        limits: dict[str, float | int] = {}
        for word in parts["rest"].split(":")[1:]:
            dollars = re.fullmatch(r"\$(\d+(?:\.\d+)?)", word)
            rate = re.fullmatch(r"(\d+(?:\.\d+)?)/(s|min|h)", word)
            if dollars:
                limits["dollars"] = float(dollars[1])
            elif rate:
                limits["rate"] = float(rate[1]) * _PER_MINUTE[rate[2]]
            elif word.isdecimal():
                limits["characters"] = int(word)
            else:
                raise InputError(f"{where}:{number}: {word!r} is not a limit: write $20, 500000 (characters) or 60/min")
        keys.append(ApiKey(parts["name"], parts["digest"], **limits))  # type: ignore[arg-type]
    return tuple(keys)


def new_key(path: Path, name: str) -> str:
    """Make a key for ``name``, note its hash in the file ``path``, and return it. Raises :class:`ConfigError`."""
    secret = f"mt-{secrets.token_urlsafe(32)}"
    line = f"{name}:sha256:{hashlib.sha256(secret.encode()).hexdigest()}\n"
    if not re.fullmatch(_NAME, name):
        raise ConfigError(f"--add-key {name!r}: a name has at most 64 letters, digits and . _ - @")
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if name in {key.name for key in parse_keys(before, str(path))}:
            raise ConfigError(f"--add-key {name}: {path} has a key of this name: take another, or delete its line")
        path.touch(mode=0o600)
        with path.open("a", encoding="utf-8") as file:
            file.write(line if before.endswith("\n") or not before else f"\n{line}")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None
    return secret


@dataclass
class Spent:
    """What a key has used in a month."""

    characters: int = 0
    dollars: float = 0.0
    unpriced: bool = False


class Access:
    """The keys of the file ``path``, read again when it changes; without one, anybody may ask.

    Raises :class:`ConfigError` where the file cannot be read at the start.
    ``spent_by`` gives what a key has used this month. ``clock`` counts seconds.
    """

    def __init__(
        self, path: Path | None, spent_by: Callable[[str], Spent], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path, self._spent_by, self._clock = path, spent_by, clock
        self._read_at: tuple[int, ...] | None = ()  # (): not yet; None: the file was not there
        self._keys: tuple[ApiKey, ...] = ()
        self._buckets: dict[str, tuple[float, float]] = {}
        if path is not None and not self._current():
            raise ConfigError(f"{path}: has no keys: make one with --add-key NAME")

    def _current(self) -> tuple[ApiKey, ...]:
        """The keys as the file has them now. While it cannot be read, those that it had before: the log says why."""
        assert self._path is not None
        stamp = None
        try:
            stat = self._path.stat()
            if (stamp := (stat.st_mtime_ns, stat.st_size)) != self._read_at:
                self._keys = parse_keys(self._path.read_text(encoding="utf-8"), str(self._path))
        except (OSError, UnicodeDecodeError, InputError) as error:
            why = str(error) if isinstance(error, InputError) else f"{self._path}: cannot be read: {error}"
            if self._read_at == ():
                raise ConfigError(why) from None
            if stamp != self._read_at:
                logger.error("the keys stay as they were: %s", why)
        self._read_at = stamp
        return self._keys

    @property
    def is_open(self) -> bool:
        """Whether nobody needs a key."""
        return self._path is None

    def admit(self, given: str | None) -> ApiKey:
        """Whose key ``given`` is, counted as one request. Raises :class:`ServiceError`."""
        key = ANYBODY if self._path is None else self._find(given)
        if key.rate is not None:
            most = max(1.0, key.rate)  # a minute's worth at once
            now = self._clock()
            left, last = self._buckets.get(key.name, (most, now))
            left = min(most, left + (now - last) * key.rate / 60)
            if left < 1:
                self._buckets[key.name] = left, now
                raise ServiceError(429, "too many requests", retry_after=(1 - left) * 60 / key.rate)
            self._buckets[key.name] = left - 1, now
        return key

    def _find(self, given: str | None) -> ApiKey:
        if not given:
            raise MissingKey()
        digest, found = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest(), None
        for key in self._current():  # all of them, so that the time taken tells nothing
            if hmac.compare_digest(key.digest, digest):
                found = key
        if found is None:
            raise InvalidKey()
        return found

    def check_budget(self, key: ApiKey, characters: int) -> None:
        """Raise :class:`QuotaExceeded` where ``characters`` more are too many, or the dollars are spent."""
        spent = self._spent_by(key.name)
        if key.characters is not None and spent.characters + characters > key.characters:
            raise QuotaExceeded("the character limit is reached")
        if key.dollars is not None and (spent.dollars >= key.dollars or spent.unpriced):
            raise QuotaExceeded()
