"""``mtagent config``: print the settings; ``mtagent config trust``: trust the file that they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mtagent.cli import trust
from mtagent.cli.options import CONFIG_NAME, FILE, SETTING_OPTIONS, Command, read_config, settings_file, with_options
from mtagent.cli.options import command as command_of
from mtagent.cli.terminal import say
from mtagent.config import SettingsFile
from mtagent.errors import ConfigError
from mtagent.text.escaping import visible

EXAMPLES = """\b
Examples:
  mtagent config
  mtagent config --config mtagent.toml --preset paper
  mtagent config trust
"""
TRUST_EXAMPLES = """\b
Examples:
  mtagent config trust
  mtagent config trust --remove
"""


class SettingsGroup(Command, click.Group):
    """A command that prints the settings by itself, and has commands of its own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the commands."""
        Command.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)


@click.command("trust", epilog=TRUST_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=FILE, default=CONFIG_NAME)
@click.option("--remove", is_flag=True, help="Remove the trust again.")
def trust_file(file: Path, remove: bool) -> None:
    """Trust FILE until it changes, and show the lines that need trust.  [default: mtagent.toml]

    The trust is stored at once, without a question. To see the lines first, run `mtagent config`.

    A file with settings is read from the working folder, which may come from anyone. Lines that can send texts or keys
    elsewhere, run code, use a store, or read files outside the folder count only after this command, or where
    --config names the file.
    """
    place = trust.absolute(file)
    if remove:
        was_trusted = trust.distrust(file)
        say(f"mtagent: {place} is not trusted any more" if was_trusted else f"mtagent: {place} was not trusted")
        return
    if not file.is_file():
        raise ConfigError(f"{place}: is not a file; name the file with settings that is to be trusted")
    settings = SettingsFile.read(file)
    lines = trust.sensitive_lines(settings)
    if not lines:
        say(f"mtagent: {place} needs no trust: it sends nothing elsewhere and runs nothing")
        return
    for line in lines:
        say(line)
    trust.trust(settings)
    say(f"mtagent: {place} is trusted until it changes")


@command_of("config", EXAMPLES, cls=SettingsGroup, invoke_without_command=True, commands=[trust_file])
@with_options(SETTING_OPTIONS)
def command(**options: Any) -> None:
    """Print the effective configuration as TOML: command line before file before preset before default.

    Prints a file that isn't trusted, too, and says so on standard error.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    named = options["config_file"]
    file = settings_file(named, check_trust=False)
    if file is not None:
        _tell_trust(file, is_named=named is not None)
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


def _refuse_options(context: click.Context) -> None:
    """Raise for options in front of a command, which would be ignored."""
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[-1]}: `config {context.invoked_subcommand}` has no such option")


def _tell_trust(file: SettingsFile, *, is_named: bool) -> None:
    """Say on standard error whether the file is trusted, and which lines need trust."""
    if not trust.needs_trust(file):
        say("mtagent: that file needs no trust: it sends nothing elsewhere and runs nothing")
    elif is_named:
        say("mtagent: that file counts as trusted, because --config names it")
    elif trust.is_trusted(file):
        say("mtagent: that file is trusted until it changes; `mtagent config trust --remove` removes the trust")
    else:
        state = "has changed since you trusted it" if trust.has_changed(file) else "is not trusted"
        say(f"mtagent: that file {state}, and other commands refuse it because of these lines:")
        for line in trust.sensitive_lines(file):
            say(line)
        say("mtagent: `mtagent config trust` trusts the file until it changes, without a question")


def _toml(value: Any) -> str:
    """A text, number, truth value or list in TOML: as in JSON, with everything escaped that acts on a terminal."""
    return visible(json.dumps(value, ensure_ascii=False))
