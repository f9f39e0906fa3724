"""The simulator's record of every request it has answered."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from tests.simulator.settings import Body

SECRET_HEADERS = frozenset({"authorization", "api-key", "x-api-key"})


@dataclass(frozen=True)
class Entry:
    """One request. ``status`` is 0 where the connection was dropped; ``sent`` says whether the reply went out whole.

    ``fault`` is the named one that it was answered with.
    """

    id: str
    start: float
    finish: float
    status: int
    sent: bool
    sha256: str
    body: Body
    headers: dict[str, str]
    fault: str | None = None


def sha256(body: Any) -> str:
    """Hash of the canonical JSON of ``body``."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Journal:
    """Entries in the order in which their replies were sent; in memory, and as JSON lines where ``path`` is given."""

    def __init__(self, path: str | None, *, keep: bool = True) -> None:
        self._keep = keep
        self.entries: list[Entry] = []
        # Stays open as long as the server does; line-buffered, so that a kill loses no finished line.
        self._file: TextIO | None = Path(path).open("a", encoding="utf-8", buffering=1) if path else None  # noqa: SIM115

    def write(self, entry: Entry) -> None:
        """Add an entry. With a file, its line is with the operating system when this returns."""
        if self._keep:
            self.entries.append(entry)
        if self._file is not None:
            self._file.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()


def visible(headers: Any) -> dict[str, str]:
    """``headers`` in lower case without those that carry a key."""
    return {k.lower(): v for k, v in headers.items() if k.lower() not in SECRET_HEADERS}


def read_journal(path: str | Path) -> list[Entry]:
    """Entries of a journal file."""
    return [Entry(**json.loads(line)) for line in Path(path).read_text(encoding="utf-8").splitlines()]
