"""Processor time and memory of large localization files: ``python -m bench.documents``.

Makes an XLIFF and a PO file of 100,000 units, reads each with the library that people use for it and with this project,
and writes a new target for each unit. Every measurement has a process of its own.
"""

from __future__ import annotations

import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polib
from lxml import etree

from mtagent.formats import document_format
from mtagent.formats.documents import replaced

UNITS = 100_000
WORDS = [f"word{number}" for number in range(100)]
ROUNDS = 7


def write_files(folder: Path) -> list[Path]:
    """An XLIFF file without inline tags, one with tags in each tenth unit, and a PO file."""
    randomness = random.Random(1)

    def sentence() -> str:
        return " ".join(randomness.choices(WORDS, k=randomness.randint(5, 18)))

    paths = [folder / "plain.xlf", folder / "inline.xlf", folder / "messages.po"]
    head = '<file original="a" source-language="en" target-language="de" datatype="plaintext"><body>\n'
    for path in paths[:2]:
        lines = [f'<?xml version="1.0" encoding="UTF-8"?>\n<xliff version="1.2">{head}']
        for number in range(UNITS):
            tag = '<g id="1">see</g> &amp; ' if path.stem == "inline" and number % 10 == 0 else ""
            lines.append(
                f'  <trans-unit id="u{number}" resname="key.{number}">\n    <source>{tag}{sentence()}.</source>\n'
                f'    <target state="translated">{tag}{sentence()}.</target>\n    <note>Note {number}.</note>\n'
                "  </trans-unit>\n"
            )
        path.write_text("".join([*lines, "</body></file></xliff>\n"]), encoding="utf-8")
    messages = ['msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n']
    for number in range(UNITS):
        text, translation = sentence()[:60], sentence()[:70]
        messages.append(f'\n#. Note {number}\n#: a.c:{number}\nmsgid "{text} {number}"\nmsgstr "{translation}"\n')
    paths[2].write_text("".join(messages), encoding="utf-8")
    return paths


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def measured(who: str, path: Path) -> None:
    """Print the seconds of processor time for reading and writing, and the megabytes of this process."""
    start = time.process_time()
    if who == "library" and path.suffix == ".po":
        polib.pofile(str(path))
    elif who == "library":
        etree.parse(path)
    else:
        document = document_format(path).open(path)
        read = time.process_time()
        replaced(document, {unit.id: f"{unit.target} x" for unit in document.units})
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        say(f"{read - start} {time.process_time() - read} {memory}")
        return
    say(f"{time.process_time() - start} 0 {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}")


def main() -> None:
    """Measure each file in several rounds, the library and this project in turn, and print the medians."""
    if len(sys.argv) == 3:
        measured(sys.argv[1], Path(sys.argv[2]))
        return
    say("| file | who | read, s | all targets written, s | memory, MB |")
    say("|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for path in write_files(Path(folder)):
            runs: dict[str, list[list[float]]] = {"library": [], "mtagent": []}
            for _ in range(ROUNDS):
                for who, of_who in runs.items():
                    command = [sys.executable, "-m", "bench.documents", who, str(path)]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    of_who.append([float(figure) for figure in done.stdout.split()])
            for who, of_who in runs.items():
                read, written, memory = (statistics.median(figures) for figures in zip(*of_who, strict=True))
                say(f"| {path.name} | {who} | {read:.2f} | {written:.2f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
