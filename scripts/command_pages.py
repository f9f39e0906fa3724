"""The page of all commands and options, from the commands themselves. The site adds it to docs/reference/commands.md.

``python -m scripts.command_pages`` prints it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

import click

from mtagent.cli import cli

HIDDEN = "More settings"
"""The section of the options that ``--help`` leaves out."""
SETTING = "The setting of this name, see [configuration](configuration.md)."
"""The text for an option without a help text: the settings have its meaning."""


def commands_page() -> str:
    """Each command with its usage, its description, its options by section and its examples, in Markdown."""
    context = click.Context(cli, info_name="mtagent")
    return "\n".join(_described(cli, context, level=2))


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """The commands of a group in their order, each with the context that knows its full name."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            yield command, click.Context(command, info_name=name, parent=context)


def _described(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} {context.command_path}\n"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```\n"
    if command.help:
        yield inspect.cleandoc(command.help).replace("\b\n", "") + "\n"
    for title, rows in _options(command, context).items():
        yield f"**{title}**\n" if title else ""
        yield "| option | |"
        yield "|---|---|"
        for names, text in rows:
            yield f"| `{_cell(names)}` | {_cell(text)} |"
        yield ""
    if command.epilog:
        yield f"```text\n{inspect.cleandoc(command.epilog.replace(chr(8), '')).strip()}\n```\n"
    if isinstance(command, click.Group):
        for member, inner in commands(command, context):
            yield from _described(member, inner, min(level + 1, 3) if command is not cli else level)


def _options(command: click.Command, context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Names and help of the options by section, in the order in which the sections come."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        if not isinstance(parameter, click.Option) or "--help" in parameter.opts:
            continue
        title = getattr(parameter, "section", "") or "Options"
        if parameter.hidden:
            title = HIDDEN
        names = ", ".join([*parameter.opts, *parameter.secondary_opts])
        if not parameter.is_flag:
            names += " " + parameter.make_metavar(context)
        record = parameter.get_help_record(context)
        text = record[1] if record else parameter.help or SETTING
        sections.setdefault(title, []).append((names, text))
    if HIDDEN in sections:
        sections[HIDDEN] = sections.pop(HIDDEN)
    return sections


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(commands_page())
