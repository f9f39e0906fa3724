"""Which server to talk to, and the key for it: from the environment, never from an argument."""

from __future__ import annotations

import os
import re
from ipaddress import IPv4Address
from urllib.parse import urlsplit, urlunsplit

from mtagent.errors import ConfigError
from mtagent.llm.request import OPENAI
from mtagent.text.masking import key_in

NO_KEY = "no-key-needed"


def server_address(base_url: str | None) -> str:
    """``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's address. Raises :class:`ConfigError`."""
    address = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip()
    if problem := address_problem(address):
        where = "the base URL" if base_url else "the environment variable OPENAI_BASE_URL"
        raise ConfigError(f"{where} {problem}")
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"))).rstrip("/")


def address_problem(address: str) -> str | None:
    """Why ``address`` cannot be a base URL; ``None`` where it can. Never shows it: people put keys there by mistake.

    A query is sent with every request (``?api-version=2024-06-01``), but no key may stand in it.
    """
    address = address.strip()
    example = "write for example http://localhost:8000/v1"
    if "@" in address.partition("?")[0].replace("://", "").partition("/")[0]:
        return "holds a user name or password; keys are read from the environment only"
    if found := key_in(address):
        return (
            f"holds {found}; it would be stored and shown: put the key in the environment variable OPENAI_API_KEY, "
            "or in the one that --api-key-env names"
        )
    if not address.isprintable() or " " in address:
        return f"holds a space or a control character: {example}"
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return f"is not an address: {example}"
        parts.hostname.encode("idna")
        if re.fullmatch(r"[\d.]+", parts.hostname):
            IPv4Address(parts.hostname)
    except UnicodeError:
        return f"holds no possible name of a server: {example}"
    except ValueError:
        return f"is not an address: {example}"
    try:
        usable = parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        return f"has a port that is not a number from 1 to 65535: {example}"
    return "has a part after '#', which no server receives: leave it out" if "#" in address else None


def server_key(variable: str, server: str) -> str:
    """The key in the environment ``variable``; a placeholder for a server of one's own where there is none."""

    # No local variable holds the key where something is raised: some tracebacks show them.
    def key() -> str:
        return os.environ.get(variable, "").strip()

    if not key() and server == OPENAI:
        raise ConfigError(
            f"no API key: set the environment variable {variable}, or give the base URL of a server that needs none"
        )
    if not key().isascii() or not key().isprintable() or " " in key():
        raise ConfigError(f"the key in {variable} holds white space or odd characters; copy it again")
    return key() or NO_KEY
