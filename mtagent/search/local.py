"""Search in the user's own notes and glossaries."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mtagent.errors import ConfigError, SearchError, StoreError
from mtagent.knowledge import Knowledge
from mtagent.records import Found


class LocalSearch:
    """Searches the knowledge in the file ``path``.

    Raises :class:`ConfigError` where there is no such file: whoever asks for the notes has some.
    """

    name = "local"

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            Knowledge(path).close()
        except StoreError as error:
            raise ConfigError(f"search local: {error}") from error

    @property
    def signature(self) -> str:
        """With a hash of the notes as they are now: ``local#0a1b2c3d``. Raises :class:`SearchError`."""
        try:
            with Knowledge(self._path) as knowledge:
                return f"{self.name}#{knowledge.digest()}"
        except StoreError as error:
            raise SearchError(f"search local: {error}") from error

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """The best entries of the notes. Raises :class:`SearchError`."""
        try:
            return await asyncio.to_thread(self._find, query, limit)
        except StoreError as error:
            raise SearchError(f"search local: {error}") from error

    def _find(self, query: str, limit: int) -> list[Found]:
        with Knowledge(self._path) as knowledge:
            return knowledge.search(query, limit)
