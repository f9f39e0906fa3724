"""The environment of COMET's own: ``mtagent comet setup`` makes it, and mtagent uses the usual one by itself.

COMET needs numpy 1, protobuf 4 and an old setuptools, which would change the environment that mtagent is in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mtagent.errors import ConfigError
from mtagent.store.database import user_folder

REQUIREMENTS = (
    "unbabel-comet==2.2.7",
    "torch==2.13.0",
    "transformers==4.57.6",
    "pytorch-lightning==2.6.6",
    "torchmetrics==0.10.3",
    "sentencepiece==0.2.3",
    "numpy==1.26.4",
    "protobuf==4.25.9",
    "setuptools==80.10.2",
)
"""The versions that the tests with COMET ran with."""
PYTHONS = ((3, 10), (3, 12))
"""The first and the last Python for which all of them have wheels."""
_TAIL = 600


def usual_folder() -> Path | None:
    """The folder of the environment that needs no setting; ``None`` if the user has no data folder."""
    folder = user_folder()
    return folder and folder / "comet"


def python_in(folder: Path) -> Path:
    """The Python of the virtual environment in ``folder``."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_environment(folder: Path, base: str = sys.executable) -> Path:
    """Install COMET into the virtual environment in ``folder``, which is made with the Python ``base`` if needed.

    Returns its Python. What pip prints goes to standard error. Raises :class:`ConfigError` if the environment cannot be
    made or COMET cannot be imported in it.
    """
    python = python_in(folder)
    if not python.exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"{folder}: exists and is not a virtual environment; name another folder")
        _refuse_unfit(base)
        _run([base, "-m", "venv", str(folder)], "cannot make a virtual environment; on Debian install python3-venv")
    # Python's own stdout holds data, so pip's goes to stderr.
    install = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *REQUIREMENTS]
    if subprocess.run(install, stdout=2, check=False).returncode:
        raise ConfigError(f"{folder}: pip could not install COMET, see above; the same command continues")
    _run([str(python), "-c", "from comet import download_model, load_from_checkpoint"], "COMET cannot be imported")
    return python


def _refuse_unfit(base: str) -> None:
    """Raise :class:`ConfigError` for a Python that the packages don't support."""
    code = "import sys; print(*sys.version_info[:2])"
    written = _run([base, "-c", code], "cannot be run").split()
    version = tuple(map(int, written))
    first, last = (".".join(map(str, bound)) for bound in PYTHONS)
    if not PYTHONS[0] <= version <= PYTHONS[1]:
        number = ".".join(written)
        raise ConfigError(f"{base}: is Python {number}, and COMET needs {first} to {last}: name one with --python")


def _run(command: Sequence[str], problem: str) -> str:
    """What ``command`` prints. Raises :class:`ConfigError` that begins with the program if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ConfigError(f"{command[0]}: cannot be run: {error.strerror}") from error
    if done.returncode:
        lines = " / ".join((done.stderr.strip() or done.stdout.strip())[-_TAIL:].splitlines())
        raise ConfigError(f"{command[0]}: {problem}. It wrote: {lines}")
    return done.stdout
