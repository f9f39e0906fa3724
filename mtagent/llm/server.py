"""Which server to talk to, and the key for it: from the environment, never from an argument."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from mtagent.errors import ConfigError
from mtagent.llm.request import OPENAI

NO_KEY = "no-key-needed"


def server_address(base_url: str | None) -> str:
    """``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's address. Raises :class:`ConfigError`."""
    address = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip().rstrip("/")
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise ConfigError("the base URL holds a user name or password; keys are read from the environment only")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"base URL {address!r} is not an address; it looks like http://localhost:8000/v1")
    return address


def server_key(variable: str, server: str) -> str:
    """The key in the environment ``variable``; a placeholder for a server of one's own where there is none."""
    # No local variable holds the key where something is raised: some tracebacks show them.
    if not _read(variable) and server == OPENAI:
        raise ConfigError(
            f"no API key: set the environment variable {variable}, or give the base URL of a server that needs none"
        )
    if not _fits_a_header(_read(variable)):
        raise ConfigError(f"the key in {variable} holds white space or odd characters; copy it again")
    return _read(variable) or NO_KEY


def _read(variable: str) -> str:
    return os.environ.get(variable, "").strip()


def _fits_a_header(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key
