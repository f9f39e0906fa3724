"""``mtagent accept``, ``mtagent revert`` and ``mtagent decide``: what people decide about the edits of a run."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtagent.cli.options import FILE, STORE_OPTION, existing_store, with_options
from mtagent.cli.terminal import hand_out, say
from mtagent.formats.files import STANDARD
from mtagent.text.amounts import counted
from mtagent.text.escaping import visible

if TYPE_CHECKING:
    from mtagent.decisions import DecisionVerdict
    from mtagent.jobs.decide import Result

_HELP = {"help_option_names": ["-h", "--help"]}
_MOST_REMARKS = 20
ACCEPT_EXAMPLES = """\b
Examples:
  mtagent runs show postedit-1a2b3c4d 17               # the edits of segment 17, with their numbers
  mtagent accept postedit-1a2b3c4d 17 --edit 2         # also one that a guard or the gate refused
  mtagent accept postedit-1a2b3c4d --where guard=numbers
  mtagent accept postedit-1a2b3c4d 17 18               # these two are right as they stand
  mtagent accept postedit-1a2b3c4d 17 --undo
"""
REVERT_EXAMPLES = """\b
Examples:
  mtagent runs show postedit-1a2b3c4d 17               # the edits of segment 17, with their numbers
  mtagent revert postedit-1a2b3c4d 17 --edit 2 --edit 5
  mtagent revert postedit-1a2b3c4d 17                  # the given text again
  mtagent revert postedit-1a2b3c4d --where category=style --reason "not our style"
  mtagent revert postedit-1a2b3c4d 17 --undo
"""
DECIDE_EXAMPLES = """\b
Examples:
  mtagent decide postedit-1a2b3c4d --export decisions.csv     # a row for each edit, to fill in
  mtagent decide postedit-1a2b3c4d decisions.csv
"""


def user() -> str:
    """Who decides, unless it is said."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may know no user
        return ""


WHO = click.option("--who", metavar="NAME", help="Who decides.  [default: the user of this machine]")


def _on_edits(command: Callable[..., None]) -> Callable[..., None]:
    for decorate in reversed([
        click.argument("run"),
        click.argument("segments", nargs=-1, metavar="[SEGMENT]…"),
        click.option("--edit", "numbers", type=int, multiple=True, metavar="N", help="Only this edit; repeatable."),
        click.option(
            "--where", multiple=True, metavar="KEY=VALUE",
            help="Only edits with this guard, category, severity, outcome, stage, judge, document or domain; of all "
            "segments, if none is named. Repeatable: all must hold.",
        ),
        click.option("--undo", is_flag=True, help="Take back what was decided on them."),
        click.option("--reason", metavar="TEXT", help="Why; it is stored with the decision."),
        WHO,
        with_options(STORE_OPTION),
    ]):  # fmt: skip
        command = decorate(command)
    return command


@click.command("accept", epilog=ACCEPT_EXAMPLES, context_settings=_HELP)
@_on_edits
def accept(**options: Any) -> None:
    """Let edits of a stored RUN stand, also those that a guard or the gate refused, and print the texts.

    A SEGMENT without --edit and --where is accepted as it stands. Nothing is overwritten: --undo takes a decision back,
    and `mtagent export` writes the file with all of them.
    """
    _decide("accept", **options)


@click.command("revert", epilog=REVERT_EXAMPLES, context_settings=_HELP)
@_on_edits
def revert(**options: Any) -> None:
    """Take back edits of a stored RUN, or all those of a SEGMENT, and print the texts that this gives.

    Later edits stay where they still fit. Edits that belong together, such as both quotation marks, are taken back
    together. Nothing is overwritten: --undo takes a decision back, and `mtagent export` writes the file with all of
    them.
    """
    _decide("reject", **options)


def _decide(
    verdict: DecisionVerdict,
    *,
    run: str,
    segments: Sequence[str],
    numbers: Sequence[int],
    where: Sequence[str],
    undo: bool,
    reason: str | None,
    who: str | None,
    store: Path | None,
) -> None:
    from mtagent.jobs.decide import Filter, decide

    if not segments and not where:
        raise click.UsageError("on which edits? Name segments, or choose edits of all with --where KEY=VALUE")
    if numbers and (len(segments) != 1 or where):
        raise click.UsageError("--edit counts the edits of one segment: name one, and no --where")
    chosen = Filter.of(where)
    with existing_store(store) as opened:
        results = decide(
            opened,
            run,
            "undecided" if undo else verdict,
            segments,
            numbers=numbers,
            where=chosen,
            who=user() if who is None else who,
            reason=reason,
        )
    for result in results:
        if len(segments) == 1:
            hand_out(result.decided.text)
        else:
            _echo(result)
    edits = sum(result.edits for result in results)
    what = counted(len(results), "segment")
    what = f"{counted(edits, 'edit')} of {what}" if edits else what
    done = "accepted" if verdict == "accept" else "taken back"
    _tell(results, f"{what}: no longer decided" if undo else f"{what} {done}; --undo undoes it")


def _echo(result: Result) -> None:
    cells = (result.segment, result.decided.text)
    click.echo("\t".join(visible(cell, one_line=True) for cell in cells))


def _tell(results: Sequence[Result], done: str) -> None:
    """What did not come out as decided, what the guards see in the texts, and what was done."""
    remarks = []
    for result in results:
        remarks += [f"segment {result.segment}: {remark}" for remark in result.remarks]
        remarks += [
            f"segment {result.segment}: a guard sees in the text: {damage}" for damage in result.decided.findings
        ]
    remarks = list(dict.fromkeys(remarks))  # a guard may miss the same twice
    for remark in remarks[:_MOST_REMARKS]:
        say(f"mtagent: {visible(remark, one_line=True)}")
    if len(remarks) > _MOST_REMARKS:
        say(f"mtagent: {len(remarks) - _MOST_REMARKS} more remarks; `mtagent runs show RUN SEGMENT` has them")
    say(f"mtagent: {done}")


@click.command("decide", epilog=DECIDE_EXAMPLES, context_settings=_HELP)
@click.argument("run")
@click.argument("table", type=FILE, required=False, metavar="[FILE.csv]")
@click.option(
    "--export", type=FILE, metavar="FILE.csv",
    help="Write a row for each edit with what was decided on it, to fill in or to keep.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a file that is there already, or what others decided since.")
@WHO
@with_options(STORE_OPTION)
def decide(run: str, table: Path | None, export: Path | None, force: bool, who: str | None, store: Path | None) -> None:
    """Take over decisions on a stored RUN from a table: segment, edit, decision, text.

    A decision is accept, reject, text (a text of your own), undecided (take it back), or nothing. A row without an
    edit's number is about the segment as a whole. All rows are taken over, or none.
    """
    from mtagent.jobs.decide import export_decisions, import_decisions
    from mtagent.jobs.outputs import refuse_existing, refuse_unwritable

    if (table is None) == (export is None):
        raise click.UsageError("give a table to take over, or --export FILE.csv to write one")
    with existing_store(store) as opened:
        if export is not None:
            refuse_unwritable(export)
            if not force:
                refuse_existing([export])
            count = export_decisions(opened, run, export)
            if export != STANDARD:
                say(f"mtagent: written: {export}, with {counted(count, 'decision')}")
            return
        assert table is not None
        done = import_decisions(opened, run, table, user() if who is None else who, force=force)
    if done.unknown:
        say(f"mtagent: {table}: not read: {counted(len(done.unknown), 'column')} {', '.join(map(repr, done.unknown))}")
    for result in done.results:
        _echo(result)
    known = f", {done.known} were there already" if done.known else ""
    empty = f", {counted(done.empty, 'row')} without one" if done.empty else ""
    _tell(done.results, f"{counted(done.new, 'new decision')} on {counted(len(done.results), 'segment')}{known}{empty}")
