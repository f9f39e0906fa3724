"""``mtagent runs``: list, show, export."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mtagent import formats
from mtagent.chain.revert import numbered
from mtagent.cli.options import FILE, existing_store
from mtagent.cli.terminal import display, say
from mtagent.errors import ConfigError
from mtagent.formats.files import STANDARD
from mtagent.jobs.export import Target, refuse_incomplete, stored_inputs
from mtagent.jobs.improve import write_outputs
from mtagent.jobs.inputs import Files, refuse_overwriting, same_file, spooled_copies
from mtagent.jobs.summary import show_ratings, stage_table, summaries, system_table
from mtagent.records import Chain
from mtagent.store.rescue import rescue
from mtagent.store.runs import RunSummary, StoredRun
from mtagent.store.store import default_path
from mtagent.text.amounts import dollars
from mtagent.text.escaping import visible

STORE = click.option("--store", type=FILE, help="The store.  [default: ~/.local/share/mtagent/store.db]")
EXAMPLES = """\b
Examples:
  mtagent runs list
  mtagent runs show postedit-1a2b3c4d           # stages, counts, costs
  mtagent runs show postedit-1a2b3c4d 17        # one segment, its edits numbered
  mtagent runs export postedit-1a2b3c4d -o better.txt --details edits.jsonl
  mtagent runs export postedit-1a2b3c4d -o better.csv --like segments.csv
  mtagent runs rescue new.db --store damaged.db
"""


@click.group("runs", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """List, show and export stored runs; save those of a damaged store."""


@command.command("list")
@STORE
def list_runs(store: Path | None) -> None:
    """All runs, oldest first, as tab-separated columns."""
    click.echo("name\tstate\tstarted\tsegments\tchanged\trejected\tfailed\tcalls\ttokens\tcost\tkind")
    with existing_store(store) as opened:
        for run in opened.runs():
            click.echo("\t".join(visible(cell, one_line=True) for cell in _columns(run)))


def _columns(run: RunSummary) -> list[str]:
    counts, usage = run.counts, run.usage
    edited = ("-", "-") if run.kind == "rating" else (str(counts.changed), str(counts.rejected))
    numbers = [str(counts.failed), str(usage.calls), str(usage.input_tokens + usage.output_tokens)]
    return [
        run.name,
        run.state,
        run.started,
        str(counts.done + counts.failed),
        *edited,
        *numbers,
        dollars(usage.cost, "price unknown"),
        run.kind,
    ]


@command.command("show")
@click.argument("run")
@click.argument("segment", required=False)
@STORE
def show(run: str, segment: str | None, store: Path | None) -> None:
    """A run at a glance, or everything that was done to one SEGMENT."""
    with existing_store(store) as opened:
        stored = opened.read(run)
        if segment is not None:
            rating = stored.kind == "rating"
            display(show_ratings(stored, segment) if rating else _show_chain(stored.chain(segment)[1]))
            return
        summary = opened.run(run)
        display(
            visible(summary.name, one_line=True)
            + f": {summary.state}, started {summary.started}, {summary.counts.done} segments done"
        )
        rating = summary.kind == "rating"
        display(system_table(summaries(stored.ratings())) if rating else stage_table(stored.chains()))
        click.echo(f"paid: {summary.usage.calls} calls, {dollars(summary.usage.cost, 'price unknown')}")
        display(f"settings: {json.dumps(summary.settings, ensure_ascii=False)}")


def _show_chain(chain: Chain) -> str:
    lines = [
        visible(f"segment  {chain.segment.id}", one_line=True),
        f"source   {chain.segment.source}",
        f"given    {chain.given or ''}",
    ]
    numbers = {id(edit): number for number, _, edit in numbered(chain)}
    for step in chain.steps:
        lines.append(visible(f"{step.stage}: {step.verdict} ({step.reason})", one_line=True))
        for edit in step.edits:
            why = f": {edit.detail}" if edit.detail else ""
            lines.append(
                f"  edit {numbers[id(edit)]}: {edit.old!r} -> {edit.new!r}: {edit.outcome}{visible(why, one_line=True)}"
            )
        if step.proposed is not None and step.proposed != step.text:
            lines.append(f"  proposed {step.proposed}")
    return "\n".join([*lines, f"text     {chain.text}"])


@command.command("export")
@click.argument("run")
@click.option("-o", "--output", type=FILE, default=STANDARD, help="Where the texts go.  [default: standard output]")
@click.option("--details", type=FILE, metavar="FILE.jsonl", help="Every stage's text, edits, decisions and costs.")
@click.option(
    "--format",
    "format_name",
    default=None,
    help="lines, tsv, csv or jsonl, where the name does not tell; for ratings jsonl, mtme or marot.",
)
@click.option("--like", type=FILE, help="The input file: keep its further columns, its quoting and its line ends.")
@click.option("--partial", is_flag=True, help="Write what there is of a run that is not complete.")
@STORE
def export(
    run: str,
    output: Path,
    details: Path | None,
    format_name: str | None,
    like: Path | None,
    partial: bool,
    store: Path | None,
) -> None:
    """Write the texts of a run again, for example after a revert; or its ratings, in any format of ratings.

    `mtagent export` writes all its stages, and the ratings of them, for other tools.
    """
    reads = {"--store": store or default_path()}
    with existing_store(store) as opened:
        if not partial:
            refuse_incomplete(opened.read(run))
        for path in filter(None, (output, details)):
            Target(path, True, stored_inputs(opened, run), store or default_path()).refuse_taken_file()
        if opened.read(run).kind == "rating":
            _export_ratings(opened.read(run), output, details, format_name, like, reads)
            return
    files = Files(source=like or output, output=output, details=details, format=format_name)
    if same_file(output, details):
        raise ConfigError(f"{output}: texts and details cannot both go to one file")
    refuse_overwriting([output, details], reads)
    refuse_overwriting([details], {"--like": like} if like else {})
    files.refuse_unwritable()
    name = format_name or ("lines" if output == STANDARD and like is None else None)
    kind = formats.by_path(like if like and output == STANDARD else output, name)
    with existing_store(store) as opened, spooled_copies({"--like": like} if like else {}) as copies:
        write_outputs(opened.read(run), kind, files, like=copies.get("--like"))


def _export_ratings(
    run: StoredRun,
    output: Path,
    details: Path | None,
    format_name: str | None,
    like: Path | None,
    reads: dict[str, Path],
) -> None:
    from mtagent.jobs.inputs import RatingOutput
    from mtagent.jobs.rate import write_ratings

    if details or like:
        raise ConfigError(f"run {run.name!r} holds ratings: --details and --like are for runs with texts")
    written = RatingOutput(output, format_name)
    written.refuse_collisions(reads)
    written.refuse_unwritable()
    _, remarks = write_ratings(run, written)
    files = [str(path) for path in written.paths if path != STANDARD]
    for remark in (*remarks, *([f"written: {', '.join(files)}"] if files else [])):
        say(f"mtagent: {remark}")


@command.command("rescue")
@click.argument("new", type=FILE, metavar="NEW.db")
@STORE
def rescue_runs(new: Path, store: Path | None) -> None:
    """Copy what is whole in a damaged store into a new one, NEW.db.

    Segments that are not whole are left out: the command that began their run, with --store NEW.db, does them again.
    """
    for found in rescue(store or default_path(), new):
        lost = f", {found.left_out} were not whole and are left out" if found.left_out else ""
        display(f"{found.run}: {found.segments} segments saved{lost}")
    say(f"mtagent: written: {new}")
