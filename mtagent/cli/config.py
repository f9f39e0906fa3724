"""``mtagent config``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from mtagent.cli.options import SETTING_OPTIONS, read_config, with_options
from mtagent.cli.options import command as command_of
from mtagent.text.escaping import visible

EXAMPLES = """\b
Examples:
  mtagent config
  mtagent config --config mtagent.toml --preset paper
"""


@command_of("config", EXAMPLES)
@with_options(SETTING_OPTIONS)
def command(**options: Any) -> None:
    """Print the effective configuration as TOML: command line before file before preset before default."""
    config = read_config(options).effective()
    # The output may be kept anywhere, and paths in a file are relative to the file.
    paths = {name: value.expanduser().absolute() for name, value in config if isinstance(value, Path)}
    settings = config.model_copy(update=paths).model_dump(mode="json")
    tables = {name: value for name, value in settings.items() if isinstance(value, dict)}
    for name, value in settings.items():
        if name not in tables:
            click.echo(f"# {name} is not set" if value is None else f"{name} = {_toml(value)}")
    for name, table in tables.items():
        click.echo(f"\n[{name}]")
        for key, value in table.items():
            if value is not None:
                click.echo(f"{key} = {_toml(value)}")


def _toml(value: Any) -> str:
    """A text, number, truth value or list in TOML: as in JSON, with everything escaped that acts on a terminal."""
    return visible(json.dumps(value, ensure_ascii=False))
