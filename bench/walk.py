"""How a segment walks through the code: ``python -m bench.walk``.

One short segment goes through ``postedit``, ``rate`` and ``report`` in a warm process: the files of the package that
are entered, and how often the way changes from one file to another. ``PYTHONPATH=CHECKOUT python bench/walk.py``
measures another checkout.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import mtagent
from mtagent.cli import cli

PACKAGE = f"{Path(mtagent.__file__).parent}{os.sep}"
TEXTS = (  # the second round has another text, so that nothing is remembered
    ("You have %d files in  the box.", "Tienes archivos en la  caja.", "Tienes %d archivos en la caja."),
    ("There are %d pears in  the bag.", "Hay peras en la  bolsa.", "Hay %d peras en la bolsa."),
)


class Walk(NamedTuple):
    """Files that were entered, changes from one to another, and calls of functions."""

    files: int
    changes: int
    calls: int


def walk(arguments: list[str]) -> Walk:
    """The way of one command."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
            entered.append(path)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            cli(arguments, standalone_mode=False)
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    changes = sum(former != path for former, path in pairwise(entered))
    return Walk(len(set(entered)), changes, len(entered))


def main() -> None:
    """Walk twice, and print the second round."""
    os.environ.pop("OPENAI_API_KEY", None)
    os.environ.pop("OPENAI_BASE_URL", None)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["MTAGENT_STORE"] = str(Path(folder, "store.db"))
        walks: dict[str, Walk] = {}
        for number, texts in enumerate(TEXTS):
            for name, text in zip(("en.txt", "es.txt", "ref.txt"), texts, strict=True):
                Path(name).write_text(f"{text}\n", encoding="utf-8")
            files = "-s en.txt -t es.txt -l en-es"
            for line in (
                f"postedit {files} -r ref.txt -o out{number}.txt --name r{number} -q",
                f"rate {files} -o ratings{number}.jsonl -q",
                f"report r{number} -o report{number}.html",
            ):
                walks[line.split()[0]] = walk(line.split())
    for command, (entered, changes, calls) in walks.items():
        print(f"{command}: {entered} files, {changes} changes of file, {calls} calls")  # noqa: T201


if __name__ == "__main__":
    main()
