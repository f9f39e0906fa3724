"""Where an export goes: nothing is taken the place of unasked, and a folder appears as a whole."""

from __future__ import annotations

import filecmp
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mtagent.config import Config
from mtagent.errors import OutputError
from mtagent.files import companions, content_hashes, refuse_unwritable, same_file
from mtagent.formats.files import STANDARD

_LEFTOVER = ".mtagent-*.tmp"


@dataclass(frozen=True)
class Target:
    """A file or folder to write. ``force`` allows it to be there already.

    ``inputs`` are the hashes of the files that the run was made from, ``store`` the file that holds it: these are never
    replaced.
    """

    path: Path
    force: bool
    inputs: frozenset[str]
    store: Path

    def refuse_taken_file(self) -> None:
        """Raise :class:`OutputError` where the file cannot be written, or must not."""
        refuse_unwritable(self.path)
        if any(same_file(self.path, file) for file in companions(self.store)):
            raise OutputError(f"{self.path}: is the store; give -o another name")
        if self.path != STANDARD and self.path.is_file():
            if not self.force:
                raise OutputError(f"{self.path}: is there already; --force replaces it")
            self._refuse_input(self.path)

    def refuse_taken_folder(self) -> None:
        """Raise :class:`OutputError` where the folder is not empty, or cannot be written."""
        if not self.path.is_dir():
            if self.path.exists():
                raise OutputError(f"{self.path}: is a file; name a folder")
            refuse_unwritable(self.path)
            return
        refuse_unwritable(self.path / "file")
        others = [entry for entry in self.path.iterdir() if not entry.match(_LEFTOVER)]
        if others and not self.force:
            raise OutputError(f"{self.path}: is not empty; --force writes into it and replaces files of the same name")

    @contextmanager
    def filled(self) -> Iterator[Path]:
        """A fresh folder, whose files come to their place when the block ends without an error."""
        there = self.path.is_dir()
        fresh = (self.path if there else self.path.parent) / f".mtagent-{secrets.token_hex(6)}.tmp"
        try:
            fresh.mkdir()
            yield fresh
            if there:
                self._merge(fresh)
            else:
                fresh.rename(self.path)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written: {(error.strerror or str(error)).lower()}") from error
        except OutputError as error:  # it names a file of the fresh folder
            raise OutputError(str(error).replace(str(fresh), str(self.path))) from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def left(self, written: int) -> int:
        """How many files there are in the folder besides those ``written``."""
        return sum(path.is_file() for path in self.path.rglob("*")) - written

    def _merge(self, fresh: Path) -> None:
        """Move the files into the folder that is there. All are looked at before the first one is moved."""
        files = {path: self.path / path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file()}
        for new, old in files.items():
            if old.is_dir():
                raise OutputError(f"{old}: is a folder; move it away")
            if old.is_file() and not filecmp.cmp(new, old, shallow=False):
                self._refuse_input(old)
        for old in files.values():
            old.parent.mkdir(parents=True, exist_ok=True)
        for new, old in files.items():
            new.replace(old)

    def _refuse_input(self, path: Path) -> None:
        if content_hashes({"output": path}, Config())["output"] in self.inputs:
            raise OutputError(f"{path}: the run was made from this file; give -o another name")
