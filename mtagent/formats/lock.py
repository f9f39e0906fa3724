"""The lock file of a project's localization files: the texts that were improved, as hashes, for a repository.

A line is for one text: the file, the id, the hash of its source and the hash of its target, with tabs between them.
Lines are sorted, so that two branches merge. After a merge that kept both lines of a text, each of them counts. A text
that failed has ``retry`` in place of its source's hash::

    # mtagent.lock 1: texts that mtagent has worked on, with hashes of source and target. Commit this file.
    locales/de.po	Open	6c5e2f7c01e4a2b5	0b1c8d3e6f7a9b2c
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from mtagent.errors import InputError
from mtagent.formats.documents import TranslationUnit
from mtagent.formats.files import lines_of, write_pieces

HEADER = "# mtagent.lock 1: texts that mtagent has worked on, with hashes of source and target. Commit this file."
_SHOWN_KEY = 60
_RETRY = "retry"
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\x04": "\\4"})
Standing = Literal["new", "done", "changed", "edited"]
"""What a lock knows of a text: it is new, done, done before its source changed, or edited by people since."""


class LockedHashes(NamedTuple):
    """The hashes of a text's source and target."""

    source: str
    target: str


class Lock:
    """The lock file at ``path``, which need not exist yet. Raises :class:`InputError` for a line that isn't one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._hashes: dict[str, dict[str, set[LockedHashes]]] = {}  # by file and key
        self._names: dict[Path, str] = {}
        self._updated: set[str] = set()
        if path.exists():
            self._read()
        self._in_file = _copied(self._hashes)  # as this process has last read or written it

    def _read(self) -> None:
        for line in lines_of(self.path):
            text = line.text.strip()
            if line.number == 1 and not text.startswith("# mtagent.lock 1"):
                raise InputError(f"{self.path}:1: is not a lock file of mtagent; it begins with {HEADER[:16]!r}")
            if not text or text.startswith("#"):
                continue
            cells = line.text.split("\t")
            if len(cells) != 4:
                raise InputError(
                    f"{self.path}:{line.number}: expected a file, an id and two hashes with tabs between them, found "
                    f"{text[:40]!r}; if this is the mark of a merge conflict, keep the lines of both sides"
                )
            file, key, source, target = cells
            self._hashes.setdefault(file, {}).setdefault(key, set()).add(LockedHashes(source, target))

    def standing(self, file: Path, unit: TranslationUnit) -> Standing:
        """What the lock knows of a unit of ``file``. A text that a person emptied is new."""
        hashes = hashes_of(unit.source, unit.target)
        known = self._known(file, unit.id, hashes.source)
        if not known:
            return "new"
        if hashes in known:
            return "done"
        if not (unit.target or "").strip():
            return "new"
        written = {each.target for each in known}
        return "changed" if hashes.target in written else "edited"

    def _known(self, file: Path, unit_id: str, source: str) -> set[LockedHashes]:
        """The hashes of a unit of ``file`` whose source has the hash ``source``.

        When a second ``<file>`` comes into an XLIFF file, the ids get the name of theirs and ``#`` in front. A unit
        with such an id takes over the lines of its former id, if its source is the same.
        """
        by_key = self._hashes.get(self._name(file), {})
        key = _key(unit_id)
        former_id = unit_id
        while key not in by_key and "#" in former_id:
            former_id = former_id.partition("#")[2]
            same = {each for each in by_key.get(_key(former_id), ()) if each.source == source}
            if same:
                by_key[key] = same
        return by_key.get(key, set())

    def update(
        self,
        file: Path,
        ids: Iterable[str],
        finished: Mapping[str, LockedHashes],
        to_do: Mapping[str, str | None],
    ) -> None:
        """Note what became of the units ``finished`` and ``to_do``, and forget those that aren't in ``ids``.

        ``to_do`` are the units to work on again, with the hash of the target that the tool has written, or ``None`` if
        the file has the target that it had. Targets of the tool stay known, so that people's later edits are seen.
        """
        former = self._hashes.get(self._name(file), {})
        current: dict[str, set[LockedHashes]] = {}
        for unit_id in ids:
            key = _key(unit_id)
            if unit_id in finished:
                current[key] = {finished[unit_id]}
            elif unit_id in to_do:
                own_target = to_do[unit_id]
                own_targets = {each.target for each in former.get(key, ())} if own_target is None else {own_target}
                if own_targets:
                    current[key] = {LockedHashes(_RETRY, target) for target in own_targets}
            elif key in former:
                current[key] = former[key]
        self._hashes[self._name(file)] = current
        self._updated.add(self._name(file))

    def follow(self, file: Path, old: TranslationUnit, new_target: str) -> None:
        """Note that the tool has repaired a target. One that people have edited stays theirs."""
        known = self._hashes.get(self._name(file), {}).get(_key(old.id), set())
        before, after = hashes_of(old.source, old.target), hashes_of(old.source, new_target)
        for hashes in list(known):
            if hashes.target == before.target:
                known.remove(hashes)
                known.add(hashes._replace(target=after.target))
                self._updated.add(self._name(file))

    def write(self) -> None:
        """Write the lock file, sorted by file and id. What another process has noted of other texts stays."""
        with _one_at_a_time(self.path):
            hashes = dict(Lock(self.path)._hashes)
            for name in self._updated:
                hashes[name] = self._hashes[name] | self._noted_by_others(name, hashes.get(name, {}))
            lines = []
            for file, keys in sorted(hashes.items()):
                for key, known in sorted(keys.items()):
                    lines += ["\t".join((file, key, *hashes)) + "\n" for hashes in sorted(known)]
            write_pieces(self.path, f"{HEADER}\n", lines)
        self._in_file = _copied(hashes)

    def _noted_by_others(self, name: str, now: Mapping[str, set[LockedHashes]]) -> dict[str, set[LockedHashes]]:
        """What is ``now`` in the lock file for texts that another process has finished, and this one hasn't."""
        before, own = self._in_file.get(name, {}), self._hashes[name]
        noted = {}
        for key, known in now.items():
            is_own_news = key in own and own[key] != before.get(key)
            if known != before.get(key) and not is_own_news:
                noted[key] = known
        return noted

    def _name(self, file: Path) -> str:
        """The file as seen from the folder of the lock file, with slashes on every system."""
        if file not in self._names:
            name = os.path.relpath(file.resolve(), self.path.resolve().parent)
            self._names[file] = Path(name).as_posix().translate(_ESCAPES)
        return self._names[file]


def _copied(hashes: Mapping[str, Mapping[str, set[LockedHashes]]]) -> dict[str, dict[str, set[LockedHashes]]]:
    copied = {}
    for file, by_key in hashes.items():
        copied[file] = {key: set(known) for key, known in by_key.items()}
    return copied


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Wait until no other process writes a lock file in the folder of ``path``; on Windows, folders have no locks."""
    if os.name != "posix":
        yield
        return
    import fcntl

    folder = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # a network's file system may have no locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def hashes_of(source: str, target: str | None) -> LockedHashes:
    """The hashes of a text; a target that isn't there is an empty one."""
    return LockedHashes(_hash(source), _hash(target or ""))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _key(unit_id: str) -> str:
    """An id as one cell; ids of PO files are whole texts, and are cut."""
    cell = unit_id.translate(_ESCAPES)
    if len(cell) <= _SHOWN_KEY:
        return cell
    return f"{cell[:_SHOWN_KEY]}… {_hash(unit_id)}"
