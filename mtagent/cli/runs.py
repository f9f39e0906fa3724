"""``mtagent runs``: list, show, rescue."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from mtagent.chain.revert import numbered
from mtagent.cli.options import FILE, STORE_OPTION, existing_store, store_path, with_options
from mtagent.cli.progress import uncounted
from mtagent.cli.terminal import display, say
from mtagent.formats.files import STANDARD
from mtagent.jobs.summary import show_ratings, stage_table, summaries, system_table
from mtagent.records import Chain
from mtagent.store.rescue import rescue
from mtagent.store.runs import RunSummary
from mtagent.text.amounts import counted, dollars
from mtagent.text.escaping import visible

STORE = with_options(STORE_OPTION)
EXAMPLES = """\b
Examples:
  mtagent runs list
  mtagent runs show postedit-1a2b3c4d           # stages, counts, costs
  mtagent runs show postedit-1a2b3c4d 17        # one segment, its edits numbered
  mtagent runs rescue new.db --store damaged.db
"""


@click.group("runs", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """List and show stored runs; save those of a damaged store. `mtagent export` writes what they hold."""


@command.command("list")
@STORE
def list_runs(store: Path | None) -> None:
    """All runs, oldest first, as tab-separated columns."""
    with existing_store(store) as opened:
        runs = opened.runs()
    click.echo("name\tstate\tstarted\tsegments\tchanged\trejected\tfailed\tcalls\ttokens\tcost\tkind")
    for run in runs:
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
        total = summary.counts.total
        of = "" if total in (None, summary.counts.done) else f" of {total}"
        done = counted(summary.counts.done, "segment") if not of else f"{summary.counts.done}{of} segments"
        display(visible(summary.name, one_line=True) + f": {summary.state}, started {summary.started}, {done} done")
        rating = summary.kind == "rating"
        display(system_table(summaries(stored.ratings())) if rating else stage_table(stored.chains()))
        click.echo(
            f"paid: {summary.usage.calls} calls{uncounted(summary)}, {dollars(summary.usage.cost, 'price unknown')}"
        )
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
        for error in step.not_fixed if step.stage == "rules" else ():
            shown = f"  not fixed: {error.severity} {error.category} {error.text!r}: {error.explanation}"
            lines.append(visible(shown, one_line=True))
        if step.proposed is not None and step.proposed != step.text:
            lines.append(f"  proposed {step.proposed}")
    return "\n".join([*lines, f"text     {chain.text}"])


@command.command("export", hidden=True)
@click.argument("run")
@click.option("-o", "--output", type=FILE, default=STANDARD)
@click.option("--details", type=FILE)
@click.option("--format", "format_name")
@click.option("--like", type=FILE)
@click.option("--partial", is_flag=True)
@STORE
def export(store: Path | None, **options: Any) -> None:
    """The former name of `mtagent export RUN --force`."""
    from mtagent.jobs.export import export_own

    with existing_store(store) as opened:
        report = export_own(opened, options.pop("run"), options.pop("output"), force=True, **options)
    for remark in report.remarks:
        say(f"mtagent: {remark}")


@command.command("rescue")
@click.argument("new", type=FILE, metavar="NEW.db")
@STORE
def rescue_runs(new: Path, store: Path | None) -> None:
    """Copy what is whole in a damaged store into a new one, NEW.db.

    Segments that are not whole are left out: the command that began their run, with --store NEW.db, does them again.
    """
    runs = rescue(store_path(store), new)
    for rescued in runs:
        lost = f", {rescued.left_out} were not whole and are left out" if rescued.left_out else ""
        display(f"{rescued.run}: {counted(rescued.segments, 'segment')} saved{lost}")
    say(f"mtagent: written: {new}")
    sys.exit(3 if any(rescued.left_out for rescued in runs) else 0)
