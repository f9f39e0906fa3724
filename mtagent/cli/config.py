"""``mtagent config`` prints the settings; ``mtagent config trust`` trusts the file that they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from mtagent.cli import trust
from mtagent.cli.options import (
    CONFIG_NAME,
    FILE,
    SETTING_OPTIONS,
    SectionedCommand,
    read_config,
    settings_file,
    with_options,
)
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


class SettingsGroup(SectionedCommand, click.Group):
    """A command that prints the settings and has subcommands."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the subcommands."""
        SectionedCommand.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)


@click.command("trust", epilog=TRUST_EXAMPLES)
@click.argument("file", type=FILE, default=CONFIG_NAME)
@click.option("--remove", is_flag=True, help="Stop trusting the file.")
def trust_file(file: Path, remove: bool) -> None:
    """Trust FILE until it changes, and print the settings that need trust.  [default: mtagent.toml]

    The command doesn't ask before it stores the trust. To see the settings first, run `mtagent config`.

    mtagent reads mtagent.toml from the working folder, which may come from anyone. Some settings can send texts or keys
    elsewhere, run code, use a store, or read files outside the folder. mtagent accepts these only after this command,
    or if --config names the file.
    """
    path = trust.absolute(file)
    if remove:
        if trust.distrust(file):
            say(f"mtagent: {path} is no longer trusted")
        else:
            say(f"mtagent: {path} was not trusted")
        return
    if not file.is_file():
        raise ConfigError(f"{path}: expected a settings file to trust, but this is not a file")
    settings = SettingsFile.read(file)
    lines = trust.sensitive_lines(settings)
    if not lines:
        say(f"mtagent: {path} doesn't need trust: its settings send nothing elsewhere and run nothing")
        return
    for line in lines:
        say(line)
    trust.trust(settings)
    say(f"mtagent: {path} is trusted until it changes")


@command_of("config", EXAMPLES, cls=SettingsGroup, invoke_without_command=True, commands=[trust_file])
@with_options(SETTING_OPTIONS)
def command(**options: Any) -> None:
    """Print the effective configuration as TOML.

    Options override the settings file, which overrides the preset, which overrides the defaults. The command also reads
    a file that isn't trusted, and prints a warning to standard error.
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
    # Paths in a settings file are relative to the file, and the output may be saved in another folder.
    paths = {name: value.expanduser().absolute() for name, value in config if isinstance(value, Path)}
    by_language = {lang: path.expanduser().absolute() for lang, path in config.instructions_for.items()}
    memory = tuple(path.expanduser().absolute() for path in config.memory)
    absolute = {**paths, "instructions_for": by_language, "memory": memory}
    settings = config.model_copy(update=absolute).model_dump(mode="json")
    tables = {name: value for name, value in settings.items() if isinstance(value, dict)}
    for name, value in settings.items():
        if name in tables:
            continue
        if value is None:
            click.echo(f"# {name} is not set")
        else:
            click.echo(f"{name} = {_toml(value)}")
    for name, table in tables.items():
        click.echo(f"\n[{name}]")
        for key, value in table.items():
            if value is not None:
                click.echo(f"{key} = {_toml(value)}")


def _refuse_options(context: click.Context) -> None:
    """Raise :class:`click.UsageError` for options before a subcommand, which would be ignored."""
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{parameter.opts[-1]}: `config {context.invoked_subcommand}` has no such option; leave it out"
            )


def _tell_trust(file: SettingsFile, *, is_named: bool) -> None:
    """Print to standard error whether the file is trusted, and which settings need trust."""
    if not trust.needs_trust(file):
        say("mtagent: that file doesn't need trust: its settings send nothing elsewhere and run nothing")
    elif is_named:
        say("mtagent: that file is trusted for this command, because --config names it")
    elif trust.is_trusted(file):
        say("mtagent: that file is trusted until it changes; `mtagent config trust --remove` removes the trust")
    else:
        state = "has changed since you trusted it" if trust.has_changed(file) else "is not trusted"
        say(f"mtagent: that file {state}; other commands refuse it because of these settings:")
        for line in trust.sensitive_lines(file):
            say(line)
        say("mtagent: `mtagent config trust` trusts the file until it changes, and doesn't ask for confirmation")


def _toml(value: Any) -> str:
    """Write a text, number, truth value or list as TOML, which is the same as JSON; control characters are escaped."""
    return visible(json.dumps(value, ensure_ascii=False))
