"""``mtagent units`` lists the texts of localization files, and writes targets back into them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from mtagent.cli.options import FILE
from mtagent.cli.terminal import hand_out, say
from mtagent.formats import document_format
from mtagent.formats.documents import TranslationUnit, read_targets, replaced
from mtagent.formats.files import dumped, replacing
from mtagent.text.languages import parse_pair

EXAMPLES = """\b
Examples:
  mtagent units app.xlf
  mtagent units locales/de.po locales/fr.po > units.jsonl
  mtagent units app.xlf --set units.jsonl -o app.de.xlf
  mtagent units locales/de.json --source locales/en.json
"""


@click.command("units", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--set", "targets", type=FILE, metavar="UNITS.jsonl",
    help="JSON Lines with the id and the new target of units. Needs -o.",
)  # fmt: skip
@click.option(
    "--source",
    type=FILE,
    metavar="FILE|DIR",
    help="File with the sources of FILE, if files have one language each; in a folder, the file of the same name.",
)
@click.option("-l", "--lp", metavar="en-es", help="Language pair, for files that hold several languages or name none.")
@click.option("-o", "--output", type=FILE, metavar="OUT", help="File to write, with --set; it may be FILE itself.")
@click.option("--force", is_flag=True, help="Replace an OUT that exists and isn't FILE.")
def command(
    files: tuple[Path, ...],
    targets: Path | None,
    source: Path | None,
    lp: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """List the units of localization files as JSON Lines, or write new targets into one file.

    Inline tags are numbered placeholders in source and target: <1>bold</1>, <2/>. A new target must have the source's
    placeholders, in any order that makes sense. All bytes of FILE that are not a new target stay as they are. A unit
    that is locked, approved or not to be translated isn't changed.
    """
    if (targets is None) != (output is None):
        raise click.UsageError("--set and -o need each other")
    target_lang = parse_pair(lp)[1] if lp else None
    if targets is None or output is None:
        for path in files:
            for unit in document_format(path).open(path, source, target_lang).units:
                hand_out(dumped(_shown(path, unit)))
        return
    if len(files) > 1:
        raise click.UsageError("--set writes one FILE; run the command once for each")
    from mtagent.jobs.outputs import refuse_existing

    if output.resolve() == targets.resolve():
        raise click.UsageError("-o would replace the file of --set: name another one")
    document = document_format(files[0]).open(files[0], source, target_lang)
    if not force and output.resolve() != files[0].resolve():
        refuse_existing([output])
    changed = read_targets(targets, document)
    data = replaced(document, changed)
    with replacing(output) as sink:
        sink.write_bytes(data)
    say(f"mtagent: {len(changed)} of {len(document.units)} units have a new target: {output}")


def _shown(path: Path, unit: TranslationUnit) -> dict[str, object]:
    """The unit's fields for JSON Lines; those that are also fields of segments have the same form as there."""
    values: dict[str, object] = {"file": str(path)}
    values |= {each.name: getattr(unit, each.name) for each in dataclasses.fields(unit)}
    values["notes"] = "\n".join(unit.notes) or None
    return values
