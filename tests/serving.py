"""A service for tests: inside the test's own event loop, or as a server on a free port."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx

from mtagent.serve.app import ServiceServer, make_app
from mtagent.serve.service import Service
from mtagent.web import listening_socket, server_config

Json = dict[str, Any]


def shout(text: str) -> str:
    """An MT system that anybody can check."""
    return text.upper()


def key_file(folder: Path, **limits: str) -> Path:
    """A file of keys: the secret of ``ana`` is ``secret-ana``."""
    lines = [
        f"{name}:sha256:{hashlib.sha256(f'secret-{name}'.encode()).hexdigest()}{limit}"
        for name, limit in limits.items()
    ]
    (folder / "keys.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder / "keys.txt"


def bearer(name: str) -> dict[str, str]:
    """The header with the key of ``name``."""
    return {"Authorization": f"Bearer secret-{name}"}


def deepl_key(name: str) -> dict[str, str]:
    """The same as DeepL's clients send it."""
    return {"Authorization": f"DeepL-Auth-Key secret-{name}"}


@asynccontextmanager
async def asking(service: Service, **app: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of ``service``, in the same event loop."""
    made = make_app(service, **app)
    async with made.router.lifespan_context(made):
        transport = httpx.ASGITransport(made, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


@contextmanager
def serving(service: Service, **app: Any) -> Iterator[str]:
    """The address of a server on 127.0.0.1 that stands before ``service``."""
    listening = listening_socket("127.0.0.1", 0)
    config = server_config(make_app(service, **app))
    config.lifespan = "on"
    server = ServiceServer(config, service)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        assert not thread.is_alive()
