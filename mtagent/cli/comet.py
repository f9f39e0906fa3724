"""``mtagent comet setup`` makes an environment for COMET."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from mtagent.cli.options import FILE
from mtagent.cli.terminal import display, say
from mtagent.errors import ConfigError
from mtagent.metrics.comet import VARIABLE, CometProcess, make_environment, usual_folder

EXAMPLES = """\b
Examples:
  mtagent comet setup
  mtagent comet setup ~/comet --python python3.12
  PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu mtagent comet setup
"""
_GREETING_SECONDS = 60.0


@click.group("comet", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Install COMET in a separate environment."""


@command.command(epilog=EXAMPLES)
@click.argument("folder", type=FILE, required=False, metavar="[DIR]")
@click.option(
    "--python", default=sys.executable, metavar="PATH", help="Python to make the environment with.  [default: this one]"
)
def setup(folder: Path | None, python: str) -> None:
    """Make a virtual environment with COMET in DIR, and check that it works.

    By default the environment is in mtagent's data folder, where mtagent finds it. For another DIR the command prints
    the setting to add to mtagent.toml. The environment takes 1.4 GB, and more if torch comes with CUDA; to get torch
    without CUDA set PIP_EXTRA_INDEX_URL as below. No model is downloaded. An existing environment is updated.
    """
    usual = usual_folder()
    if folder is None and usual is None:
        raise ConfigError("cannot find the data folder; name a folder, or set HOME to an absolute path")
    chosen = (folder or usual or Path()).expanduser().absolute()
    say(f"mtagent: installing COMET into {chosen}, which takes minutes")
    made = make_environment(chosen, python)
    versions = CometProcess(str(made), timeout=_GREETING_SECONDS).versions
    say(f"mtagent: COMET {versions['comet']} works there, with torch {versions['torch']}")
    if chosen == usual:
        say("mtagent: no setting is needed: metrics and evaluators use it")
    else:
        say(f"mtagent: add this line to mtagent.toml, or set {VARIABLE}, or use --comet-python:")
        display(f"comet_python = {json.dumps(str(made), ensure_ascii=False)}")
