"""What a run holds, for other tools: one file per form, all behind one small protocol.

==========  =====================================================================================
``mtme``    a folder like mt-metrics-eval's: sources, references, outputs, documents, scores
``marot``   error spans as MQM annotations, a TSV
``wmt25``   one document a line, as submitted to WMT's general translation task
``stages``  a folder with a text file per stage
==========  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.candidates import FINAL
from mtagent.errors import ConfigError
from mtagent.exports.held import held_by
from mtagent.exports.marot import Marot
from mtagent.exports.mtme import Mtme
from mtagent.exports.protocol import Entry, Export, Held, Survey
from mtagent.exports.stages import Stages
from mtagent.exports.target import Target
from mtagent.exports.wmt25 import Wmt25
from mtagent.formats.files import STANDARD
from mtagent.store import Store, StoredRun

EXPORTS: dict[str, Export] = {own.name: own for own in (Mtme(), Marot(), Wmt25(), Stages())}
"""The exports by name."""


class ExportReport(NamedTuple):
    """What an export came to: remarks for the user, and the ids of the segments that lack a translation."""

    remarks: tuple[str, ...]
    missing: tuple[str, ...]


def export_run(
    store: Store,
    name: str,
    kind: Export,
    output: Path,
    *,
    systems: Sequence[str] = (),
    partial: bool = False,
    force: bool = False,
) -> ExportReport:
    """Write what the run ``name`` holds as ``kind``, the given ``systems`` or stages or all of them.

    Where there is room for one, it is by default the ``final`` one. ``partial`` allows a run that is not complete,
    ``force`` an output that is there already. Raises :class:`mtagent.errors.OutputError` and :class:`ConfigError`.
    """
    run = store.read(name)
    if not partial:
        _refuse_incomplete(run)
    target = Target(output, force, stored_inputs(store, name), Path(store.database.path))
    (target.refuse_taken_folder if kind.folder else target.refuse_taken_file)()
    held = held_by(run, systems or ((FINAL,) if kind.one_system and run.kind == "chain" else ()))
    if kind.one_system and len(held.systems) != 1:
        raise ConfigError(f"{kind.name} holds one system a file: choose with --systems {'|'.join(held.systems)}")
    remarks = _written(kind, held, target)
    return ExportReport(remarks, held.survey.missing)


def stored_inputs(store: Store, name: str) -> frozenset[str]:
    """All that is stored about the inputs of the run ``name``, among them the hashes of its files."""
    return frozenset(_texts_in(store.run(name).inputs))


def _written(kind: Export, held: Held, target: Target) -> tuple[str, ...]:
    if not kind.folder:
        remarks = kind.write(held, target.path)
        return remarks if target.path == STANDARD else (*remarks, f"written: {target.path}")
    with target.filled() as folder:
        remarks = kind.write(held, folder)
        written = sum(path.is_file() for path in folder.rglob("*"))
    others = target.left(written)
    left = (f"other files in {target.path}, left as they are: {others}",) if others else ()
    return (*remarks, *left, f"written: {target.path} ({written} files)")


def _refuse_incomplete(run: StoredRun) -> None:
    counts = run.counts()
    tried = counts.done + counts.failed
    if counts.total is not None and tried < counts.total:
        raise ConfigError(
            f"run {run.name!r}: only {tried} of {counts.total} segments were tried: the command that began it goes on "
            "with it; --partial exports what there is"
        )


def _texts_in(inputs: object) -> Iterator[str]:
    """All texts in the stored description of the inputs, among them the hashes of the files."""
    if isinstance(inputs, str):
        yield inputs
    parts: Sequence[Any] = list(inputs.values()) if isinstance(inputs, Mapping) else []
    for part in inputs if isinstance(inputs, list) else parts:
        yield from _texts_in(part)


__all__ = ["EXPORTS", "Entry", "Export", "ExportReport", "Held", "Mtme", "Survey", "export_run", "stored_inputs"]
