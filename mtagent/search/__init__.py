"""Where background knowledge is looked up: nowhere, in the user's own notes, or with a search engine.

========================  ========================================================================================
spec                      searches
========================  ========================================================================================
``none``                  nothing
``local``                 the user's notes and glossaries (:mod:`mtagent.knowledge`, ``mtagent knowledge add``)
``searxng:URL``           a SearXNG server whose settings allow the JSON format
``endpoint:URL#PATHS``    any address that answers with JSON, see :mod:`mtagent.search.endpoint`
========================  ========================================================================================
"""

from __future__ import annotations

from pathlib import Path

from mtagent.errors import ConfigError
from mtagent.protocols import Search
from mtagent.search.local import LocalSearch
from mtagent.search.none import NoSearch

KINDS = ("none", "local", "searxng:URL", "endpoint:URL")


def open_search(spec: str, knowledge: Path) -> Search:
    """The search that ``spec`` names; ``knowledge`` is the file of the user's notes.

    Nothing stays open between searches, so there is nothing to close. Raises :class:`ConfigError`.
    """
    kind, _, address = spec.strip().partition(":")
    if kind == "none" and not address:
        return NoSearch()
    if kind == "local" and not address:
        return LocalSearch(knowledge)
    if kind in ("searxng", "endpoint"):
        from mtagent.search import endpoint

        return endpoint.searxng(address) if kind == "searxng" else endpoint.parse(address)
    raise ConfigError(f"no search {spec!r}; write one of {', '.join(KINDS)}")


__all__ = ["LocalSearch", "NoSearch", "open_search"]
