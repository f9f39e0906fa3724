"""``mtagent knowledge``: add, list, search, remove."""

from __future__ import annotations

from pathlib import Path

import click

from mtagent.cli.options import FILE
from mtagent.cli.terminal import display, say
from mtagent.evaluators.knowledge import Knowledge, default_path, read_notes
from mtagent.text.escaping import visible

KNOWLEDGE = click.option(
    "--knowledge", type=FILE, metavar="FILE", help="The index.  [default: knowledge.db beside the store]"
)
EXAMPLES = """\b
Examples:
  mtagent knowledge add slang.md glossary.csv
  mtagent knowledge add minutes.txt --title "Meeting of 3 May"
  mtagent knowledge list
  mtagent knowledge search "夺笋" --limit 3
  mtagent knowledge remove slang.md
"""


@click.group("knowledge", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Notes and glossaries that evaluators look things up in."""


@command.command("add")
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--title", help="Title of the entries that have none.  [default: the file's name]")
@KNOWLEDGE
def add(files: tuple[Path, ...], title: str | None, knowledge: Path | None) -> None:
    """Add FILES, or take them in again: .md, .txt, .csv, .tsv, .jsonl."""
    read = [(str(path.expanduser().absolute()), read_notes(path, title)) for path in files]
    with Knowledge(knowledge or default_path(), writing=True) as opened:
        for source, entries in read:
            added = opened.add(source, entries)
            say(f"{source}: {added.entries} entries, {added.new} new, {added.gone} gone")


@command.command("list")
@KNOWLEDGE
def list_sources(knowledge: Path | None) -> None:
    """The sources and how many entries each has, tab-separated."""
    with Knowledge(knowledge or default_path()) as opened:
        for source, entries in opened.sources():
            click.echo(f"{visible(source, one_line=True)}\t{entries}")


@command.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), default=5, show_default=True, help="Most entries to show.")
@KNOWLEDGE
def search(query: tuple[str, ...], limit: int, knowledge: Path | None) -> None:
    """The entries that fit QUERY best, the best first."""
    with Knowledge(knowledge or default_path()) as opened:
        entries = opened.search(" ".join(query), limit)
    for entry in entries:
        display(visible(f"{entry.source}: {entry.title}", one_line=True))
        display("".join(f"    {line}\n" for line in entry.text.split("\n")))
    if not entries:
        say("nothing found")


@command.command("remove")
@click.argument("source")
@KNOWLEDGE
def remove(source: str, knowledge: Path | None) -> None:
    """Remove SOURCE, a file as it was added or as `list` names it; the file itself stays."""
    with Knowledge(knowledge or default_path(), writing=True) as opened:
        known = {name for name, _ in opened.sources()}
        absolute = str(Path(source).expanduser().absolute())
        count = opened.remove(absolute if absolute in known else source)
    say(f"{source}: {count} entries removed")
