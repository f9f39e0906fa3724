"""The SQLite store: runs with every segment, step, edit and rating, and the log of all calls, which is the cache."""

from __future__ import annotations

from mtagent.store.runs import Counts, Run, RunKind, RunState, RunSummary, StoredRun
from mtagent.store.store import Store, default_path, open_existing

__all__ = [
    "Counts",
    "Run",
    "RunKind",
    "RunState",
    "RunSummary",
    "Store",
    "StoredRun",
    "default_path",
    "open_existing",
]
