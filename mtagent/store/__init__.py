"""The SQLite store: runs with every segment, step, edit and rating, and the log of all calls, which is the cache."""

from mtagent.store.runs import Counts, Run, RunState, RunSummary, StoredRun
from mtagent.store.store import Store, default_path

__all__ = ["Counts", "Run", "RunState", "RunSummary", "Store", "StoredRun", "default_path"]
