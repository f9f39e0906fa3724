"""Which server to talk to, and the key for it: from the environment, never from an argument."""

from __future__ import annotations

import os
from urllib.parse import urlsplit, urlunsplit

from mtagent.errors import ConfigError
from mtagent.llm.request import OPENAI
from mtagent.masking import key_in

NO_KEY = "no-key-needed"


def server_address(base_url: str | None) -> str:
    """``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's address. Raises :class:`ConfigError`."""
    given = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip()
    if problem := address_problem(given):
        raise ConfigError(f"the base URL {problem}")
    parts = urlsplit(given)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"))).rstrip("/")


def address_problem(address: str) -> str:
    """Why ``address`` cannot be a base URL, in words that never show a key in it; ``""`` where it can be one.

    A query is sent with every request (``?api-version=2024-06-01``), but no key may stand in it.
    """
    try:
        parts = urlsplit(address.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if "@" in address.partition("?")[0].replace("://", "").partition("/")[0]:
        return "holds a user name or password; keys are read from the environment only"
    if found := key_in(address):
        return (
            f"holds {found}; it would be stored and shown: put the key in the environment variable OPENAI_API_KEY, "
            "or in the one that --api-key-env names"
        )
    if not usable:
        return "is not an address; it looks like http://localhost:8000/v1"
    return "has a part after '#', which no server receives: leave it out" if "#" in address else ""


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
