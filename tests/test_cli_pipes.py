"""``mtagent … | head -1``: whoever reads the output goes away, and no command has anything to say about that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import environment, run, start

FULL = Path("/dev/full")
FILES = "-s en.txt -t es.txt -l en-es"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two files, and a store with a run of each kind."""
    folder = tmp_path_factory.mktemp("pipes")
    (folder / "en.txt").write_text("".join(f"The cat sat here {n}.\n" for n in range(300)), encoding="utf-8")
    (folder / "es.txt").write_text("".join(f"El gato se sentó aquí {n}\n" for n in range(300)), encoding="utf-8")
    assert run(folder, *f"postedit {FILES} -q --name texts -o better.txt".split()).code == 0
    assert run(folder, *f"rate {FILES} -q --evaluator rules --name ratings -o ratings.jsonl".split()).code == 0
    return folder


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("--help", ""),
        ("--version", ""),
        ("postedit --help", ""),
        (f"postedit {FILES} -q --name texts", ""),
        (f"rate {FILES} -q --evaluator rules --name ratings", ""),
        ("rate --show 1 --run ratings", ""),
        (f"estimate {FILES} --model gpt-6-luna", ""),
        ("score -t better.txt -r es.txt -l en-es -m bleu", ""),
        ("score -t better.txt -r es.txt -l en-es -m bleu -f json", ""),
        ("demo", ""),
        ("config", ""),
        ("runs list", ""),
        ("runs show texts", ""),
        ("runs show texts 7", ""),
        ("export texts", ""),
        ("export texts", "El gato se sentó aquí 0\n"),
        ("export ratings", ""),
    ],
)
def test_a_reader_that_goes_away_is_no_error_to_speak_of(line: str, first: str, folder: Path) -> None:
    with start(folder, *line.split()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.stdout.readline() if first else "") == first
        process.stdout.close()
        said = process.stderr.read()
    assert said == ""
    assert first or process.returncode == 1


def test_progress_into_a_closed_pipe_ends_the_command_too(folder: Path) -> None:
    with start(folder, *f"postedit {FILES} -o other.txt --verbose --name told".split()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stderr.close()
        assert process.stdout.read() == ""
    assert process.returncode == 1


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("line", ["compare texts", "runs list", "export texts --format marot"])
def test_a_full_disk_under_the_output_is_one_line(line: str, unbuffered: str, folder: Path) -> None:
    with FULL.open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mtagent", *line.split()],
            cwd=folder,
            env=environment(folder / "store.db") | {"PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("mtagent: ")
    assert "no space left on device" in done.stderr
    assert "Traceback" not in done.stderr
