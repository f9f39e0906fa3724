"""People's texts are private: stores, notes and copies of standard input are for their user alone.

Copies do not stay.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mtagent.errors import ConfigError
from mtagent.formats import Lines, Result, spooled
from mtagent.formats.files import PREFIX, remove_stale
from mtagent.records import Segment
from mtagent.store import Store
from tests.commands import ROOT, Shell, run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes, signals and pipes as POSIX has them")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


# --- modes


def test_a_new_store_is_for_the_user_alone(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "data" / "mtagent" / "store.db"
    with Store(path) as store:
        store.start("r", settings={}, inputs={}, total=1)
        modes = {file.name: mode(file) for file in path.parent.iterdir() if not file.name.endswith(".lock")}
    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert (mode(path.parent), mode(path.parent.parent)) == (0o700, 0o700)


def test_a_store_and_a_folder_that_are_there_keep_their_modes(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "store.db"
    Store(path).close()
    path.chmod(0o664)
    Store(path).close()
    assert (mode(path), mode(tmp_path)) == (0o664, 0o755)
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    Store(tmp_path / "link.db").close()
    assert mode(tmp_path / "real.db") == 0o600, "a link to nowhere leads to a new one"


def test_an_output_has_the_mode_that_the_user_wants(shell: Shell) -> None:
    before = os.umask(0o027)
    try:
        assert shell.postedit("-q -o out.txt --details d.jsonl").code == 0
    finally:
        os.umask(before)
    assert mode(shell.folder / "out.txt") == mode(shell.folder / "d.jsonl") == 0o640


def test_what_takes_the_place_of_a_private_file_is_private_from_the_start(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(0o600)
    modes = []

    def results() -> Iterator[Result]:
        modes.extend(mode(file) for file in tmp_path.glob(".mtagent-*"))
        yield Result(segment=Segment(id="1", source="a", source_lang="en", target_lang="es"), text="b")

    Lines().write(target, results())
    assert modes == [0o600]
    assert mode(target) == 0o600


# --- copies of standard input


@pytest.fixture
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def left(spools: Path) -> list[str]:
    return [path.name for path in spools.glob(f"{PREFIX}*")]


DEFAULT = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); import sys"
WAITING = """
import sys, time
from pathlib import Path
from mtagent.cli import run
import click

@click.command()
def wait():
    from mtagent.formats import spooled
    with spooled(Path("-")) as path:
        print(path, flush=True)
        time.sleep(600)

run(wait, [])
"""
# The path is printed inside the loop: an exception of a signal handler gets lost in some places of an import.
WAITING_IN_ASYNCIO = """
import asyncio, sys
from pathlib import Path
from mtagent.cli import run
import click

async def wait_with(path):
    print(path, flush=True)
    await asyncio.sleep(600)

@click.command()
def wait():
    from mtagent.formats import spooled
    with spooled(Path("-")) as path:
        asyncio.run(wait_with(path))

run(wait, [])
"""


def waiting(code: str = WAITING, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """A process that holds a copy of its standard input."""
    process = subprocess.Popen(
        # Where the tests themselves run under nohup, it is not theirs to pass on.
        [*prefix, sys.executable, "-c", code.replace("import sys", DEFAULT, 1)],
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write("private text\n")
    process.stdin.close()
    process.stdin = None
    assert process.stdout is not None
    assert process.stdout.readline().startswith(str(os.environ["TMPDIR"]))
    return process


COPYING = """
from pathlib import Path
from mtagent.formats.files import remove_stale, spooled

with spooled(Path("-")) as path:
    remove_stale()
    print(path.read_text(), path.stat().st_mode, path.parent.stat().st_mode)
"""


def copied(text: str) -> list[str]:
    """What ``COPYING`` prints of its standard input: the text, and the modes of the copy and of its folder."""
    piped = ["/bin/sh", "-c", 'printf %s "$1" | "$2" -c "$3"', "sh", text, sys.executable, COPYING]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(piped, env=environment, capture_output=True, text=True, check=True).stdout.split()


def test_a_copy_is_private_and_goes_with_the_block(spools: Path, umask: int) -> None:
    text, *modes = copied("private")
    file_mode, folder_mode = (stat.S_IMODE(int(number)) for number in modes)
    assert text == "private"
    assert (file_mode | 0o600, folder_mode | 0o700) == (0o600, 0o700)
    assert left(spools) == []


@pytest.mark.parametrize("code", [WAITING, WAITING_IN_ASYNCIO], ids=["plain", "asyncio"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_stopped_command_leaves_no_copy(spools: Path, name: str, code: str) -> None:
    with waiting(code) as process:
        assert len(left(spools)) == 1
        process.send_signal(getattr(signal, name))
        _, err = process.communicate(timeout=60)
    assert left(spools) == []
    assert process.returncode == 128 + getattr(signal, name)
    assert err.splitlines()[-1].startswith("mtagent: stopped.")
    assert "Traceback" not in err


@pytest.mark.parametrize("ignored", ["SIGHUP", "SIGINT"])
def test_nohup_is_respected_and_sigterm_stops_what_ignores_ctrl_c(spools: Path, ignored: str) -> None:
    number = getattr(signal, ignored)  # a command in the background of a script ignores SIGINT
    code = WAITING_IN_ASYNCIO.replace(
        "import click", f"import click, signal; signal.signal({number:d}, signal.SIG_IGN)"
    )
    with waiting(code) as process:
        process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert (process.returncode, left(spools)) == (143, [])


def test_the_next_start_removes_what_a_killed_process_left_and_nothing_of_a_living_one(
    spools: Path, shell: Shell
) -> None:
    with waiting() as living:
        [of_the_living] = left(spools)
        with waiting() as killed:
            killed.kill()
            killed.communicate(timeout=60)
        assert len(left(spools)) == 2
        assert run(shell.folder, "config").code == 0
        assert left(spools) == [of_the_living]
        assert (spools / of_the_living / "input").read_text() == "private text\n"
        living.terminate()
        living.communicate(timeout=60)
    assert left(spools) == []


def test_a_folder_that_is_being_made_and_others_of_the_name_stay(spools: Path) -> None:
    (spools / f"{PREFIX}new").mkdir()
    (spools / f"{PREFIX}file").write_text("x")
    (spools / f"{PREFIX}link").symlink_to(spools / "elsewhere")
    (spools / "elsewhere").mkdir()
    (spools / "elsewhere" / "input").write_text("mine")
    remove_stale()
    assert len(left(spools)) == 3
    assert (spools / "elsewhere" / "input").exists()


def test_a_copy_in_use_in_the_same_process_stays(spools: Path) -> None:
    assert copied("one")[0] == "one", "the process has looked for copies to remove before it reads its own"


def test_endless_input_is_an_error_that_names_the_bound(
    spools: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MTAGENT_SPOOL_GIB", "0.00001")
    done = run(
        shell.folder, "postedit", "-s", "-", "-t", "es.txt", "-l", "en-es", "--format", "lines", stdin="x" * 20_000
    )
    assert done.code == 1
    bound = "is longer than 1e-05 GiB, the maximum that is copied: give a file, or set MTAGENT_SPOOL_GIB to more"
    assert f"mtagent: standard input: {bound}" in done.err
    assert left(spools) == []


@pytest.mark.parametrize("value", ["much", "-1", "0", "inf", "nan"])
def test_a_bound_that_is_none_is_an_error(spools: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MTAGENT_SPOOL_GIB", value)
    with pytest.raises(ConfigError, match=f"MTAGENT_SPOOL_GIB: '{value}' is not a number"), spooled(Path("-")):
        pass
