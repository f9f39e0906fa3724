"""The research data that the drivers read: the folder it is in, and its files as records with the fields they need.

``--data DIR`` or the variable ``MTAGENT_TEST_DATA`` names the folder; wmt/README.md says what is in it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mtagent.errors import InputError, MtagentError
from mtagent.formats.files import lines_of, parsed_lines

DATA = Path(os.environ.get("MTAGENT_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")


def run(main: Callable[[], None]) -> None:
    """Run ``main`` from a command line: an error of ours ends it with one line and exit code 1.

    So does, without a word, that nobody reads the output any more (``| head``).
    """
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python would write what is left once more when it ends
        sys.exit(1)
    except MtagentError as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")


def records(path: Path, *fields: str) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file. Raises :class:`InputError` where there is none, or one lacks a field."""
    refuse_absent(path)
    objects = []
    for number, values in parsed_lines(path):
        _refuse_incomplete(values, fields, f"{path}:{number}")
        objects.append(values)
    if not objects:
        raise InputError(f"{path}: there is nothing in it")
    return objects


def rows(path: Path, *columns: str) -> list[dict[str, str]]:
    """The rows of a TSV file without quoting, by the names in its first line; errors as for :func:`records`."""
    refuse_absent(path)
    cells = [line.text.split("\t") for line in lines_of(path)]
    if len(cells) < 2:
        raise InputError(f"{path}: there is nothing in it")
    _refuse_incomplete(dict.fromkeys(cells[0]), columns, f"{path}:1")
    for number, row in enumerate(cells, start=1):
        if len(row) != len(cells[0]):
            raise InputError(f"{path}:{number}: has {len(row)} columns, and the header has {len(cells[0])}")
    return [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]


def refuse_absent(*paths: Path) -> None:
    """Raise :class:`InputError` for the first file that is not there."""
    for path in paths:
        if not path.is_file():
            raise InputError(
                f"{path}: no such file; --data DIR (or MTAGENT_TEST_DATA) names the folder with the research data, "
                "and wmt/README.md says what is in it and where it comes from"
            )


def score(value: str | float | None, path: Path) -> float | None:
    """The score that ``value`` is; ``None`` where there is none. Raises :class:`InputError` for anything else."""
    try:
        return None if value in (None, "None") else float(value)
    except (TypeError, ValueError):
        raise InputError(f"{path}: {value!r} is not a score") from None


def _refuse_incomplete(values: Mapping[str, object], fields: tuple[str, ...], where: str) -> None:
    for name in fields:
        if name not in values:
            raise InputError(f"{where}: there is no field {name!r}; there are: {', '.join(values)}")
