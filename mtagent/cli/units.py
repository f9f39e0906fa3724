"""``mtagent units`` lists the texts of localization files, and writes targets back into them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from mtagent.cli.options import FILE, FUZZY_WARNING
from mtagent.cli.terminal import hand_out, say
from mtagent.formats import document_format
from mtagent.formats.documents import (
    NewTarget,
    TranslationUnit,
    UnitMark,
    parsed_mark,
    read_targets,
    replaced,
    selected,
    selection_words,
)
from mtagent.formats.files import dumped, replacing
from mtagent.text.languages import parse_pair

EXAMPLES = """\b
Examples:
  mtagent units app.xlf --only new,needs-review
  mtagent units locales/de.po locales/fr.po > units.jsonl
  mtagent units app.xlf --set units.jsonl -o app.de.xlf
  mtagent units locales/de.json --source locales/en.json
  mtagent units app.xlf --set units.jsonl --mark state=needs-review-translation -o app.de.xlf
"""


@click.command("units", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--only", metavar="WORDS",
    help="Units with one of these states: new, fuzzy, needs-review, translated, reviewed, approved, locked, people, "
    "or a state of the file's own, such as final. Separate several with commas.",
)  # fmt: skip
@click.option("--not", "not_", metavar="WORDS", help="Leave out units with one of these states.")
@click.option(
    "--set", "targets", type=FILE, metavar="UNITS.jsonl",
    help="JSON Lines with the id and the new target of units. Needs -o.",
)  # fmt: skip
@click.option(
    "-s",
    "--source",
    type=FILE,
    metavar="FILE|DIR",
    help="File with the sources of FILE, if each file has one language; or a folder with a file of the same name.",
)
@click.option("-l", "--lp", metavar="en-es", help="Language pair, for files that hold several languages or name none.")
@click.option(
    "--mark", "marks", multiple=True, metavar="MARK",
    help="How --set marks units with a new target: none (default), state=STATE, fuzzy, comment[=TEXT] or its. "
    "May be repeated.",
)  # fmt: skip
@click.option("-o", "--output", type=FILE, metavar="OUT", help="File to write, with --set; it may be FILE itself.")
@click.option("--force", is_flag=True, help="Replace an OUT that exists and isn't FILE.")
def command(
    files: tuple[Path, ...],
    only: str | None,
    not_: str | None,
    targets: Path | None,
    source: Path | None,
    lp: str | None,
    marks: tuple[str, ...],
    output: Path | None,
    force: bool,
) -> None:
    """List the units of localization files as JSON Lines, or write new targets into one file.

    Inline tags are numbered placeholders in source and target: <1>bold</1>, <2/>. A new target must have the source's
    placeholders, in any order in which each closing tag follows its opening tag. OUT differs from FILE only in the new
    targets and their marks. Units that are locked, approved or written by a person are changed only if --only names
    their state.
    """
    if (targets is None) != (output is None):
        raise click.UsageError("--set and -o need each other")
    target_lang = parse_pair(lp)[1] if lp else None
    only_words, not_words = selection_words(_words(only)), selection_words(_words(not_))
    if targets is None or output is None:
        if marks:
            raise click.UsageError("--mark needs --set")
        for path in files:
            units = document_format(path).open(path, source, target_lang).units
            if only_words or not_words:
                units = selected(units, only_words, not_words)
            for unit in units:
                hand_out(dumped(_shown(path, unit)))
        return
    if len(files) > 1:
        raise click.UsageError("--set writes one FILE; run the command once for each")
    from mtagent.jobs.outputs import refuse_existing

    if output.resolve() == targets.resolve():
        raise click.UsageError("-o would replace the file of --set: name another one")
    parsed_marks = [mark for mark in map(parsed_mark, marks) if mark is not None]
    document = document_format(files[0]).open(files[0], source, target_lang)
    if not force and output.resolve() != files[0].resolve():
        refuse_existing([output])
    changed = read_targets(targets, document, only=only_words, not_=not_words)
    data = replaced(
        document,
        {unit_id: target.text for unit_id, target in changed.items()},
        {unit_id: _marks_of(target, parsed_marks) for unit_id, target in changed.items()},
        only=only_words,
        not_=not_words,
    )
    with replacing(output) as sink:
        sink.write_bytes(data)
    if changed and any(mark.kind == "fuzzy" for mark in parsed_marks):
        say(f"mtagent: warning: {FUZZY_WARNING}")
    verb = "has" if len(changed) == 1 else "have"
    say(f"mtagent: {len(changed)} of {len(document.units)} units {verb} a new target: {output}")


def _words(written: str | None) -> list[str]:
    return [word for word in (written or "").split(",") if word.strip()]


def _marks_of(target: NewTarget, marks: list[UnitMark]) -> list[UnitMark]:
    """The marks of one unit; ITS needs what is known of its target."""
    return [
        dataclasses.replace(mark, confidence=target.confidence, errors=target.errors) if mark.kind == "its" else mark
        for mark in marks
    ]


def _shown(path: Path, unit: TranslationUnit) -> dict[str, object]:
    """The unit's fields for JSON Lines; those that are also fields of segments have the same form as there."""
    values: dict[str, object] = {"file": str(path)}
    values |= unit._asdict()
    values |= {"status": unit.status, "protected": unit.protected}
    values["notes"] = "\n".join(unit.notes) or None
    return values
