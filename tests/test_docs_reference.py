"""The reference covers what there is: every command and option, and every public name."""

from __future__ import annotations

import re

import click

import mtagent
from mtagent.cli import COMMANDS, cli
from scripts.command_pages import commands, commands_page
from tests.pages import DOCS

PAGE = commands_page()


def described() -> list[tuple[str, click.Command]]:
    """All commands by their full names, those of groups included."""
    found: list[tuple[str, click.Command]] = []
    waiting = [(cli, click.Context(cli, info_name="mtagent"))]
    while waiting:
        group, context = waiting.pop()
        for command, inner in commands(group, context):
            found.append((inner.command_path, command))
            if isinstance(command, click.Group):
                waiting.append((command, inner))
    return found


def test_every_command_and_every_option_is_in_the_reference() -> None:
    names = {name for name, _ in described()}
    assert names >= {f"mtagent {name}" for name in COMMANDS}
    assert "mtagent gate calibrate" in names
    for name, command in described():
        part = re.split(rf"^##+ {name}$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0].split("\n### ")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option) and "--help" not in parameter.opts:
                assert re.search(rf"^\| `[^`]*{re.escape(parameter.opts[-1])}\b", part, re.MULTILINE), (name, parameter)


def test_hidden_settings_stand_apart_with_their_meaning() -> None:
    part = PAGE.split("\n## mtagent postedit\n")[1].split("\n## ")[0]
    assert re.search(r"\*\*More settings\*\*\n\n\| option \| \|\n\|---\|---\|\n(\| `.*` \| \S.* \|\n)+", part)


def test_every_public_name_is_in_the_python_reference() -> None:
    page = (DOCS / "reference/api.md").read_text(encoding="utf-8")
    lines = re.findall(r"^`.*$", page, re.MULTILINE)
    names = re.findall(r"`(\w+)`", "\n".join(lines))
    assert sorted(names) == sorted(mtagent.__all__)
