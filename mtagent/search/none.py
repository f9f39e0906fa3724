"""No search at all: an agent has to do with what its model knows."""

from __future__ import annotations

from mtagent.records import Found


class NoSearch:
    """Finds nothing."""

    name = "none"

    async def find(self, query: str, *, limit: int = 5) -> list[Found]:
        """Nothing, whatever ``query`` is."""
        return []
