"""``mtagent runs``: list, show, delete."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from mtagent.chain.decided_run import DecidedRun
from mtagent.chain.decided_text import Decided
from mtagent.cli.options import STORE_OPTION, existing_store, with_options
from mtagent.cli.progress import uncounted
from mtagent.cli.terminal import display, say
from mtagent.jobs.summary import show_ratings, stage_table, summaries, system_table
from mtagent.store.runs import RunSummary
from mtagent.text.amounts import counted, dollars
from mtagent.text.escaping import visible
from mtagent.text.table import tab_separated

STORE = with_options(STORE_OPTION)
EXAMPLES = """\b
Examples:
  mtagent runs list
  mtagent runs show postedit-1a2b3c4d           # stages, counts, costs
  mtagent runs show postedit-1a2b3c4d 17        # one segment, its edits numbered
  mtagent runs delete postedit-1a2b3c4d
  mtagent runs delete --older-than 30d --yes
  mtagent runs delete --outside
"""


@click.group("runs", epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """List, show and delete stored runs. `mtagent export` writes what they hold."""


@command.command("list")
@STORE
def list_runs(store: Path | None) -> None:
    """All runs, oldest first, as tab-separated columns."""
    with existing_store(store) as opened:
        runs, outside = opened.runs(), opened.outside()
    click.echo("name\tstate\tstarted\tsegments\tchanged\trejected\tfailed\tcalls\ttokens\tcost\tkind\tfailed_changed")
    for run in runs:
        click.echo(tab_separated(_columns(run)))
    if outside.calls:
        say(
            f"mtagent: besides, {counted(outside.calls, 'call')} of Agent(store=…) outside of runs, "
            f"{dollars(outside.cost, 'price unknown')}; `mtagent runs delete --outside` deletes them"
        )


def _columns(run: RunSummary) -> list[str]:
    counts, usage = run.counts, run.usage
    edited = ("-", "-") if run.kind == "rating" else (str(counts.changed), str(counts.rejected))
    numbers = [str(counts.failed), str(usage.calls), str(usage.tokens)]
    return [
        run.name,
        run.state,
        run.started,
        str(counts.done + counts.failed),
        *edited,
        *numbers,
        dollars(usage.cost, "price unknown"),
        run.kind,
        "-" if run.kind == "rating" else str(counts.failed_changed),
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
            if rating:
                display(show_ratings(stored, segment))
            else:
                display(_show_chain(DecidedRun(opened, run).segment(stored.chain(segment)[0])))
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


def _show_chain(result: Decided) -> str:
    chain = result.chain
    lines = [
        visible(f"segment  {chain.segment.id}", one_line=True),
        f"source   {chain.segment.source}",
        f"given    {chain.given or ''}",
    ]
    rows = iter(result.edits)
    for step in chain.steps:
        lines.append(visible(f"{step.stage}: {step.verdict} ({step.reason})", one_line=True))
        for edit in step.edits:
            why = f": {edit.detail}" if edit.detail else ""
            row = next(rows)
            lines.append(
                f"  edit {row.number}: {edit.old!r} -> {edit.new!r}: {edit.outcome}{visible(why, one_line=True)}"
            )
            said = [row.remark] if row.remark else []
            said = [row.decision.sentence, *said] if row.decision else said
            lines += [visible(f"    {line}", one_line=True) for line in said]
        for error in step.not_fixed:
            shown = f"  not fixed: {error.severity} {error.category} {error.text!r}: {error.explanation}"
            lines.append(visible(shown, one_line=True))
        if step.proposed is not None and step.proposed != step.text:
            lines.append(f"  proposed {step.proposed}")
    lines.append(f"text     {chain.text}")
    if result.decision:
        lines.append(visible(result.decision.sentence, one_line=True))
    if result.reviewed:
        lines.append(f"decided  {result.text}")
    lines += [
        visible(f"a guard sees in it: {damage}", one_line=True) for damage in dict.fromkeys(map(str, result.findings))
    ]
    lines += [visible(f"about another text, and not in force: {old.sentence}", one_line=True) for old in result.stale]
    return "\n".join(lines)


_AGES = {"h": "hours", "d": "days", "w": "weeks"}


@command.command("delete")
@click.argument("runs", nargs=-1, metavar="[RUN]…")
@click.option("--older-than", metavar="30d", help="All runs that nobody worked on for so long: 12h, 30d, 8w.")
@click.option("--outside", is_flag=True, help="The texts and replies of Agent(store=…), which belong to no run.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@STORE
def delete(runs: tuple[str, ...], older_than: str | None, outside: bool, yes: bool, store: Path | None) -> None:
    """Delete runs with their texts, ratings, decisions and dialogues.

    Texts and replies that other runs share stay with them. The file is written anew, so that nothing of the rest is
    left in it. A run that is worked on, or open in `mtagent review`, is refused; --older-than leaves it out.
    """
    if [bool(runs), older_than is not None, outside].count(True) != 1:
        raise click.UsageError("name runs, or give --older-than 30d, or --outside: one of the three")
    with existing_store(store) as opened:
        chosen = runs if older_than is None else _older(opened.runs(), older_than)
        known = {name: opened.run(name) for name in dict.fromkeys(chosen)}
        calls = opened.outside().calls if outside else 0
        if not known and not calls:
            say(f"mtagent: no run is older than {older_than}" if older_than else "mtagent: there is nothing to delete")
            return
        for name, run in known.items():
            say(f"{visible(name, one_line=True)}: {run.counts.done + run.counts.failed} segments, {run.updated}")
        what = f"{counted(calls, 'call')} outside of runs" if outside else counted(len(known), "run")
        if not yes:
            if not sys.stdin.isatty():
                raise click.UsageError("there is nobody to ask: give --yes to delete them")
            click.confirm(f"Delete {what}? They cannot be brought back.", abort=True, err=True)
        done = opened.delete(list(known), outside=outside, leave_busy=older_than is not None)
    for why in done.left:
        say(f"mtagent: left: {why}")
    what = what if outside else counted(len(known) - len(done.left), "run")
    say(f"mtagent: {what} deleted; the store has {done.after / 1e6:.1f} MB now, and had {done.before / 1e6:.1f} MB")
    if done.waiting:
        say("mtagent: another process is reading the store: the file gets smaller when it has ended")
    if done.related:
        say(f"mtagent: made from what was deleted, and may hold its texts: {', '.join(done.related)}")


def _older(runs: Sequence[RunSummary], age: str) -> list[str]:
    """The runs that were not worked on for the time ``age``."""
    match = re.fullmatch(r"(\d{1,5})([hdw])", age.strip())
    if match is None:
        raise click.UsageError(f"--older-than {age!r}: write a number and h, d or w, as in 30d")
    limit = datetime.now(UTC) - timedelta(**{_AGES[match[2]]: int(match[1])})
    return [run.name for run in runs if datetime.fromisoformat(f"{run.updated}+00:00") < limit]
