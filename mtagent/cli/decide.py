"""``mtagent accept``, ``revert``, ``decide`` and ``review``: decisions on the edits of a run."""

from __future__ import annotations

import getpass
import shlex
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtagent.cli import ended_at_once
from mtagent.cli.options import FILE, STORE_OPTION, Duration, existing_store, with_options
from mtagent.cli.terminal import fitted, hand_out, say
from mtagent.errors import MissingExtra
from mtagent.formats.files import STANDARD
from mtagent.text.amounts import counted
from mtagent.text.escaping import visible
from mtagent.text.table import tab_separated

if TYPE_CHECKING:
    from mtagent.jobs.decision_log import LogImport
    from mtagent.jobs.decisions import DecidedSegment, TableImport
    from mtagent.records.decisions import DecisionVerdict
    from mtagent.store.store import Store

_MOST_REMARKS = 20
ACCEPT_EXAMPLES = """\b
Examples:
  mtagent runs show postedit-1a2b3c4d 17               # the edits of segment 17, with their numbers
  mtagent accept postedit-1a2b3c4d 17 --edit 2         # even if a guard or the gate refused it
  mtagent accept postedit-1a2b3c4d --where guard=numbers
  mtagent accept postedit-1a2b3c4d 17 18               # approve both segments as they are
  mtagent accept postedit-1a2b3c4d 17 --undo
"""
REVERT_EXAMPLES = """\b
Examples:
  mtagent runs show postedit-1a2b3c4d 17               # the edits of segment 17, with their numbers
  mtagent revert postedit-1a2b3c4d 17 --edit 2 --edit 5
  mtagent revert postedit-1a2b3c4d 17                  # restore the given text
  mtagent revert postedit-1a2b3c4d --where category=style --reason "not our style"
  mtagent revert postedit-1a2b3c4d 17 --undo
"""
DECIDE_EXAMPLES = """\b
Examples:
  mtagent decide postedit-1a2b3c4d --export decisions.csv     # one row per edit, to fill in
  mtagent decide postedit-1a2b3c4d decisions.csv
  mtagent decide postedit-1a2b3c4d --export ana.jsonl         # all decisions, for another person's store
  mtagent decide postedit-1a2b3c4d --import ana.jsonl
"""

REVIEW_EXAMPLES = """\b
Examples:
  mtagent review postedit-1a2b3c4d
  mtagent review postedit-1a2b3c4d postedit-5e6f7a8b --who ana
  mtagent review postedit-1a2b3c4d --port 6000 --no-browser --idle 2h
"""


def user() -> str:
    """The name of the user, who decides unless --who names somebody else."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may have no user names
        return ""


WHO = click.option("--who", metavar="NAME", help="Name of the person who decides.  [default: your user name]")


def _on_edits(command: Callable[..., None]) -> Callable[..., None]:
    for decorate in reversed([
        click.argument("run"),
        click.argument("segments", nargs=-1, metavar="[SEGMENT]…"),
        click.option(
            "--edit", "numbers", type=int, multiple=True, metavar="N", help="Choose this edit only; repeatable.",
        ),
        click.option(
            "--where", multiple=True, metavar="KEY=VALUE",
            help="Choose edits by guard, category, severity, outcome, stage, judge, document or domain, in all "
            "segments unless you name some. Repeatable: an edit must meet all conditions.",
        ),
        click.option("--undo", is_flag=True, help="Take back earlier decisions on these edits or segments."),
        click.option("--reason", metavar="TEXT", help="Reason to store with the decision."),
        WHO,
        with_options(STORE_OPTION),
    ]):  # fmt: skip
        command = decorate(command)
    return command


@click.command("accept", epilog=ACCEPT_EXAMPLES)
@_on_edits
def accept(**options: Any) -> None:
    """Accept edits of a stored RUN, including edits that a guard or the gate refused, and print the texts.

    A SEGMENT without --edit and --where is accepted as it is. Nothing is overwritten: --undo takes a decision back,
    and `mtagent export` writes the file with all decisions.
    """
    _decide("accept", **options)


@click.command("revert", epilog=REVERT_EXAMPLES)
@_on_edits
def revert(**options: Any) -> None:
    """Take back edits of a stored RUN, or all edits of a SEGMENT, and print the resulting texts.

    Later edits stay where they still fit. Edits that belong together, such as both quotation marks, are taken back
    together. Nothing is overwritten: --undo takes a decision back, and `mtagent export` writes the file with all
    decisions.
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
    from mtagent.jobs.decisions import EditFilter, decide

    if not segments and not where:
        raise click.UsageError("no edits are chosen; name segments, or choose edits with --where KEY=VALUE")
    if numbers and (len(segments) != 1 or where):
        raise click.UsageError(
            "--edit counts the edits of one segment; name exactly one segment, and leave out --where"
        )
    edit_filter = EditFilter.parse(where)
    new_verdict: DecisionVerdict = "undecided" if undo else verdict
    with existing_store(store) as opened:
        results = decide(
            opened,
            run,
            new_verdict,
            segments,
            numbers=numbers,
            where=edit_filter,
            who=user() if who is None else who,
            reason=reason,
        )
    if len(segments) == 1:
        for result in results:
            hand_out(result.decided.text)
    else:
        _print_texts(results)
    edits = sum(result.edits for result in results)
    extent = counted(len(results), "segment")
    if edits:
        extent = f"{counted(edits, 'edit')} of {extent}"
    if undo:
        withdrawn = sum(len(result.withdrawn) for result in results)
        summary = f"{extent}: {'decision' if withdrawn == 1 else 'decisions'} withdrawn"
    elif verdict == "accept":
        confirmed = sum(result.confirmed is not None for result in results)
        as_before = f", {confirmed} as decided before" if confirmed else ""
        summary = f"{extent} accepted{as_before}; --undo takes this back"
    else:
        summary = f"{extent} taken back; --undo restores them"
    _say_remarks(results)
    say(f"mtagent: {summary}")


def _print_texts(results: Sequence[DecidedSegment]) -> None:
    """Print a line for each segment under a heading. On a terminal, long texts are cut to its width."""
    if results:
        say(f"mtagent: {counted(len(results), 'segment')} with the decided text:")
    for result in results:
        click.echo(fitted(tab_separated((result.segment, result.decided.text))))


def _say_remarks(results: Sequence[DecidedSegment]) -> None:
    """Print how the texts differ from the decisions, and the damage that guards find in them."""
    remarks = []
    for result in results:
        for remark in result.remarks:
            remarks.append(f"segment {result.segment}: {remark}")
        for damage in result.decided.findings:
            remarks.append(f"segment {result.segment}: a guard found: {damage}")
    remarks = list(dict.fromkeys(remarks))  # a guard may report the same damage twice
    for remark in remarks[:_MOST_REMARKS]:
        say(f"mtagent: {visible(remark, one_line=True)}")
    if len(remarks) > _MOST_REMARKS:
        say(f"mtagent: {len(remarks) - _MOST_REMARKS} more remarks; `mtagent runs show RUN SEGMENT` prints them")


@click.command("decide", epilog=DECIDE_EXAMPLES)
@click.argument("run")
@click.argument("table", type=FILE, required=False, metavar="[FILE.csv]")
@click.option(
    "--export", type=FILE, metavar="FILE",
    help="Write a table with a row for each edit and its decision (.csv), or all decisions with their times, for "
    "another person's store (.jsonl).",
)  # fmt: skip
@click.option(
    "--import", "imported", type=FILE, metavar="FILE",
    help="Merge the decisions of another person's store (.jsonl): of two, the later one counts. Or import a table.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an existing file, or decisions made since the table was written.")
@click.option("-q", "--quiet", is_flag=True, help="Print only conflicts, remarks on texts, and errors.")
@WHO
@with_options(STORE_OPTION)
def decide(
    run: str,
    table: Path | None,
    export: Path | None,
    imported: Path | None,
    force: bool,
    quiet: bool,
    who: str | None,
    store: Path | None,
) -> None:
    """Import decisions on a stored RUN from a table: segment, edit, decision, text.

    A decision is accept, reject, text (your own text), undecided (takes a decision back), or empty. A row without the
    number of an edit decides on the whole segment. Either all rows are imported, or none.

    To bring decisions to another person who has the same run, write them to a .jsonl file with --export and read it
    there with --import. All keep their times and names, and none is lost.
    """
    from mtagent.jobs.decision_log import SUFFIX, export_log
    from mtagent.jobs.decisions import export_decisions
    from mtagent.jobs.outputs import refuse_existing, refuse_unwritable

    if [table, export, imported].count(None) != 2:
        raise click.UsageError("give a table to import, --import FILE, or --export FILE to write one")
    with existing_store(store) as opened:
        if export is not None:
            refuse_unwritable(export)
            if not force:
                refuse_existing([export])
            if export.suffix == SUFFIX:
                count = export_log(opened, run, export)
                extent = f"{counted(count, 'decision')}, with all that were replaced or withdrawn"
            else:
                table_export = export_decisions(opened, run, export)
                extent = f"{counted(table_export.rows, 'row')}, {table_export.decided} of them with a decision"
            if export != STANDARD and not quiet:
                say(f"mtagent: written: {export}: {extent}")
            return
        source = table or imported
        assert source is not None
        if source.suffix != SUFFIX:
            _import_table(opened, run, source, user() if who is None else who, force, quiet)
            return
        if who is not None or force:
            raise click.UsageError(f"{source} holds who decided and when; leave out --who and --force")
        _import_log(opened, run, source, quiet)


def _import_log(opened: Store, run: str, path: Path, quiet: bool) -> None:
    from mtagent.cli.progress import list_of
    from mtagent.jobs.decision_log import import_log

    imported = import_log(opened, run, path)
    for conflict in imported.conflicts:
        say(f"mtagent: {visible(f'segment {conflict.segment}: {conflict.sentence}', one_line=True)}")
    older = ""
    if imported.older:
        older = f" ({imported.older} older than decisions here, which count)"
    others = []
    if imported.missing:
        missing = counted(imported.missing.total(), "decision")
        segments = visible(list_of(list(imported.missing)), one_line=True)
        others.append(f"{missing} not stored: on texts or edits that this run does not have (segments: {segments})")
    if imported.conflicts:
        others.append(counted(len(imported.conflicts), "conflict"))
    changed = [result for result in imported.results if result.decided.text != result.before]
    _say_imported(imported, changed, older, others, quiet)


def _import_table(opened: Store, run: str, table: Path, who: str, force: bool, quiet: bool) -> None:
    from mtagent.jobs.decisions import import_decisions

    imported = import_decisions(opened, run, table, who, force=force)
    if imported.unknown:
        names = ", ".join(map(repr, imported.unknown))
        say(f"mtagent: {table}: ignored {counted(len(imported.unknown), 'column')}: {names}")
    others = []
    if imported.withdrawn:
        others.append(f"{counted(imported.withdrawn, 'decision')} withdrawn since the export")
    if imported.empty:
        others.append(f"{counted(imported.empty, 'row')} without a decision")
    _say_imported(imported, imported.results, "", others, quiet)


def _say_imported(
    imported: LogImport | TableImport,
    shown: Sequence[DecidedSegment],
    about_new: str,
    others: Sequence[str],
    quiet: bool,
) -> None:
    """Print the ``shown`` texts, the remarks, and how many decisions are new; ``others`` counts the other ones.

    If ``quiet``, print only the remarks.
    """
    if not quiet:
        _print_texts(shown)
    _say_remarks(imported.results)
    if quiet:
        return
    summary = "no new decision"
    if imported.new:
        summary = f"{counted(imported.new, 'new decision')} on {counted(len(imported.results), 'segment')}{about_new}"
    known = [f"{counted(imported.known, 'decision')} already stored"] if imported.known else []
    say(f"mtagent: {', '.join([summary, *known, *others])}")


@click.command("review", epilog=REVIEW_EXAMPLES)
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen at; 0: any free port.  [default: 5055, or any free port]",
)
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.option("--idle", type=Duration(), metavar="DURATION", help="End after this time without a request, as in 2h.")
@WHO
@with_options(STORE_OPTION)
@ended_at_once()
def review(
    runs: tuple[str, ...],
    port: int | None,
    no_browser: bool,
    idle: float | None,
    who: str | None,
    store: Path | None,
) -> None:
    """Decide on the edits of stored RUNs on a page in the browser.

    Segments where something is most likely wrong come first. Each decision is stored at once, like the decisions of
    `mtagent accept` and `mtagent revert`. Only people on this machine who have the address can open the page. Ctrl-C
    stops the server.
    """
    try:
        from mtagent.review.queue import ReviewQueue
        from mtagent.review.review_app import review_socket, run_server
    except ModuleNotFoundError as cause:
        if (cause.name or "").startswith("mtagent"):
            raise
        raise MissingExtra("mtagent review", "serve") from cause

    def announce(address: str, address_for_once: str) -> None:
        say(f"mtagent: review at {address}")
        say("mtagent: Ctrl-C stops it; every decision is stored at once.")
        if not no_browser:
            # Other users of the machine can see the browser's command line, so the address in it works only once.
            threading.Thread(target=webbrowser.open, args=(address_for_once,), daemon=True).start()

    with existing_store(store) as opened, review_socket(port) as listening:
        queue = ReviewQueue(opened, runs, user() if who is None else who)
        obstacle = queue.obstacle()
        if obstacle:
            say(f"mtagent: cannot store decisions now, so they wait in the browser: {obstacle}")
        run_server(queue, listening, announce, idle)
        for name in map(shlex.quote, queue.names):
            say(
                f"mtagent: `mtagent export {name} -o FILE` writes the decided texts; "
                f"`mtagent gate calibrate --run {name} --decisions -o gate.json` lets the gate learn from them"
            )
