"""``mtagent runs``: list, show and delete stored runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from mtagent.analysis.staged_run import Bills, read_run
from mtagent.chain.chain import with_rules_step
from mtagent.chain.decided_text import Decided, DecidedRun
from mtagent.cli.options import FILE, STORE_OPTION, existing_store, store_path, with_options
from mtagent.cli.progress import outcomes_of, uncounted
from mtagent.cli.terminal import display, say, wrapped
from mtagent.config import Config
from mtagent.errors import ConfigError
from mtagent.formats.files import dumped
from mtagent.formats.ratings import FINAL
from mtagent.jobs.parts import LANGUAGE_IDENTIFIER
from mtagent.jobs.pilot import pilots_in
from mtagent.jobs.summary import call_tables, show_ratings, stage_table, summaries, system_table
from mtagent.records import Chain
from mtagent.store.calls import CallOverview
from mtagent.store.runs import RunSummary, StoredRun
from mtagent.store.store import Store, merge_runs, shards_in
from mtagent.text.amounts import counted, dollars, natural_order
from mtagent.text.escaping import visible
from mtagent.text.table import FORMS, Table, tab_separated
from mtagent.text.table import text as table_text

STORE = with_options(STORE_OPTION)
PRICE_UNKNOWN = "price unknown"
EXAMPLES = """\b
Examples:
  mtagent runs list
  mtagent runs show postedit-1a2b3c4d           # stages, counts, costs, settings
  mtagent runs show postedit-1a2b3c4d 17        # one segment, its edits numbered
  mtagent runs show postedit-1a2b3c4d --calls   # the slowest and most expensive calls, and why any were repeated
  mtagent runs delete postedit-1a2b3c4d
  mtagent runs delete --older-than 30d --yes
  mtagent runs delete --outside
  mtagent runs merge shards/*.db --store job.db --name job
"""


@click.group("runs", epilog=EXAMPLES)
def command() -> None:
    """List, show, merge and delete stored runs. `mtagent export` writes their texts and ratings."""


@command.command("list")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["text", "tsv"]),
    default="text",
    show_default=True,
    help="tsv: all columns, separated by tabs, for programs.",
)
@STORE
def list_runs(form: str, store: Path | None) -> None:
    """List all runs, oldest first."""
    with existing_store(store) as opened:
        runs, outside = opened.runs(), opened.outside()
    rows = [_columns(run) for run in runs]
    if form == "tsv":
        for row in (_COLUMNS, *rows):
            click.echo(tab_separated(row))
    elif rows:
        display(table_text([_overview(rows)]))
    else:
        say("mtagent: no run is stored yet")
    if outside.calls:
        say(
            f"mtagent: the store also has {counted(outside.calls, 'call')} of Agent(store=…) outside of runs, "
            f"{dollars(outside.cost, 'price unknown')}; `mtagent runs delete --outside` deletes them"
        )


_COLUMNS = (
    "name", "state", "started", "segments", "changed", "rejected", "failed", "calls", "tokens", "cost", "kind",
    "failed_changed",
)  # fmt: skip
_SHOWN = ("name", "state", "started", "segments", "changed", "failed", "cost")
"""The columns of the table for people. The others are in ``--format tsv`` and in ``runs show``."""


def _overview(rows: Iterable[Sequence[str]]) -> Table:
    """The runs as a table of 80 columns, if their names are not long."""
    shown_rows = []
    for row in rows:
        cells = dict(zip(_COLUMNS, row, strict=True))
        cells["started"] = _short_time(cells["started"])
        if cells["cost"] == PRICE_UNKNOWN:
            cells["cost"] = "unknown"
        shown_rows.append(tuple(cells[column] for column in _SHOWN))
    return Table("", _SHOWN, tuple(shown_rows), labels=3)


def _short_time(time: str) -> str:
    """``01-31 09:30`` of this year, ``2025-01-31`` of another one."""
    year = str(datetime.now(UTC).year)
    if time.startswith(year):
        return _to_the_minute(time).removeprefix(f"{year}-")
    return time[: len("2025-01-31")]


def _to_the_minute(time: str) -> str:
    """``2026-01-31 09:30`` of a time of the store, which has seconds and parts of them."""
    return time[: len("2026-01-31 09:30")]


def _columns(run: RunSummary) -> list[str]:
    counts, usage = run.counts, run.usage
    changed, rejected, failed_changed = str(counts.changed), str(counts.rejected), str(counts.failed_changed)
    if run.kind == "rating":
        changed = rejected = failed_changed = "-"
    return [
        run.name,
        run.state,
        run.started,
        str(counts.done + counts.failed),
        changed,
        rejected,
        str(counts.failed),
        str(usage.calls),
        str(usage.input_tokens + usage.output_tokens),
        dollars(usage.cost, PRICE_UNKNOWN),
        run.kind,
        failed_changed,
    ]


@command.command("show")
@click.argument("run")
@click.argument("segment", required=False)
@click.option(
    "--calls",
    "most",
    type=click.IntRange(1),
    is_flag=False,
    flag_value=10,
    metavar="[N]",
    help="Print the run's calls to models: the N slowest and most expensive ones, and why requests were sent again.  "
    "[N: 10]",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice([*FORMS, "json"]),
    help="Format of --calls; json also writes a whole run, with the signatures of its models and judges.  "
    "[default: text]",
)
@click.option("--details", is_flag=True, help="Also print all settings, and the signatures of evaluators and judges.")
@STORE
def show(run: str, segment: str | None, most: int | None, form: str | None, details: bool, store: Path | None) -> None:
    """Print a summary of a run, or everything that was done to one SEGMENT."""
    if details and (segment is not None or most is not None or form is not None):
        raise click.UsageError(
            "--details prints the settings of a whole run; leave out the segment, --calls and --format"
        )
    if segment is not None and most is not None:
        raise click.UsageError("--calls prints the calls of a whole run; leave out the segment, or --calls")
    if form is not None and most is None and (form != "json" or segment is not None):
        raise click.UsageError("--format needs --calls, except for json of a whole run")
    with existing_store(store) as opened:
        stored = opened.read(run)
        if most is not None:
            _show_calls(opened.calls.overview(stored.id, most), form or "text")
        elif form == "json":
            display(dumped(opened.run(run).model_dump(), indent=1))
        elif segment is None:
            _show_run(opened, opened.run(run), stored, details=details)
        elif stored.kind == "rating":
            display(show_ratings(stored, segment))
        else:
            result = DecidedRun(opened, run).segment(stored.chain(segment)[0])
            display(wrapped(visible(_chain_text(result)), indent=len("source   ")))


def _show_run(opened: Store, summary: RunSummary, stored: StoredRun, *, details: bool) -> None:
    recalled = 0  # replies from the store

    def chains() -> Iterator[Chain]:
        nonlocal recalled
        for chain in stored.chains(dialogues=False):
            recalled += chain.usage.reused
            yield with_rules_step(chain, summary.settings.get("stages") or ())

    done, total = summary.counts.done, summary.counts.total
    extent = counted(done, "segment") if total in (None, done) else f"{done} of {total} segments"
    started = _to_the_minute(summary.started)
    display(visible(summary.name, one_line=True) + f": {summary.state}, started {started}, {extent} done")
    if summary.kind == "rating":
        display(system_table(summaries(stored.ratings())))
    else:
        click.echo(f"segments: {outcomes_of(summary.counts)}; and in each stage:")
        display(stage_table(chains()))
    cost = dollars(summary.usage.cost, PRICE_UNKNOWN)
    from_store, full = "", None
    if recalled:
        # The calls that the run would have made alone: it sends a repeated request only once.
        full = Bills().costs(read_run(opened, summary)).by_system[FINAL].nominal
        from_others = max(0, full.calls - summary.usage.calls)
        kinds = "repeated requests"
        if from_others:
            kinds = f"{from_others} that other runs paid for"
            if recalled > from_others:
                kinds += f", {recalled - from_others} repeated requests"
        from_store = f" ({recalled} more answered from the store: {kinds})"
    click.echo(f"paid: {summary.usage.calls} calls{uncounted(summary)}{from_store}, {cost}")
    if full is not None and full.calls > summary.usage.calls:
        click.echo(f"without the replies of other runs: {full.calls} calls, {dollars(full.cost, PRICE_UNKNOWN)}")
    for name, pilot in pilots_in(stored.gates()):
        display(f"gate of {name}: {pilot}")
    usual = {} if details else Config().effective(offline=summary.settings.get("model") is None).for_results()
    settings = []
    for name, value in summary.settings.items():
        is_usual = name in usual and value == usual[name] and name not in _ALWAYS
        if details or not (is_usual or name == LANGUAGE_IDENTIFIER):
            for label, words in _settings({name: value}, signatures=details):
                settings.append((f"  {label.replace('_', ' ')}", words))
    title = "settings" if details else "settings (others are the usual ones; --details prints all)"
    if settings:
        display(table_text([Table(title, (), tuple(settings), labels=2)]))


def _show_calls(overview: CallOverview, form: str) -> None:
    if form == "json":
        display(dumped(overview, indent=1))
    elif overview["totals"]:
        display(FORMS[form](call_tables(overview)))
    else:
        say("mtagent: this run made no call to a model: it needed none, or took all replies from the store")


_ALWAYS = ("source_lang", "target_lang", "stages", "evaluator", "model", "gate")
"""Settings that are shown even if they are the usual ones."""
_FIGURES = ("moments", "cautious")
"""The figures of a calibration, which nobody reads as a setting. ``--format json`` has them."""


def _settings(settings: Mapping[str, Any], prefix: str = "", *, signatures: bool) -> Iterator[tuple[str, str]]:
    """The settings of a run by name; those of a table as ``TABLE.NAME``."""
    for name, value in settings.items():
        if name in _FIGURES or (name in ("signatures", "signature") and not signatures):
            continue
        if isinstance(value, dict):
            yield from _settings(value, f"{prefix}{name}.", signatures=signatures)
        elif name == "judges":
            yield f"{prefix}weights", ", ".join(f"{judge['judge']} {judge['weight']:+.3g}" for judge in value)
        elif isinstance(value, list):
            yield f"{prefix}{name}", ", ".join(map(str, value)) or "none"
        elif isinstance(value, bool):
            yield f"{prefix}{name}", str(value).lower()
        elif isinstance(value, float):
            yield f"{prefix}{name}", f"{value:.6g}"
        else:
            yield f"{prefix}{name}", str(value)


def _chain_text(result: Decided) -> str:
    """Everything that was done to a segment, and what people decided on it, as text."""
    chain = result.chain
    lines = [
        visible(f"segment  {chain.segment.id}", one_line=True),
        f"source   {chain.segment.source}",
        f"given    {chain.given or ''}",
    ]
    decided_edits = iter(result.edits)
    for step, errors_left in zip(chain.steps, result.errors_left_by_step, strict=True):
        lines.append(visible(f"{step.stage}: {step.verdict} ({step.reason})", one_line=True))
        for edit in step.edits:
            decided = next(decided_edits)
            detail = visible(f": {edit.detail}", one_line=True) if edit.detail else ""
            outcome = f"{edit.outcome} by the run" if result.reviewed else edit.outcome
            lines.append(f"  edit {decided.number}: {edit.old!r} -> {edit.new!r}: {outcome}{detail}")
            if decided.decision:
                lines.append(visible(f"    {decided.decision.sentence}", one_line=True))
            if decided.remark:
                lines.append(visible(f"    {decided.remark}", one_line=True))
        for error in errors_left:
            description = f"{error.severity} {error.category} {error.text!r}"
            if error.explanation:
                description += f": {error.explanation}"
            lines.append(visible(f"  not fixed: {description}", one_line=True))
        if step.proposed is not None and step.proposed != step.text:
            lines.append(f"  proposed {step.proposed}")
    lines.append(f"text     {chain.text}")
    if result.decision:
        lines.append(visible(result.decision.sentence, one_line=True))
    if result.reviewed:
        lines.append(f"decided  {result.text}")
    for damage in dict.fromkeys(map(str, result.findings)):  # a guard may report the same damage twice
        lines.append(visible(f"a guard found: {damage}", one_line=True))
    for decision in result.stale:
        lines.append(visible(f"not applied, because it is about another text: {decision.sentence}", one_line=True))
    return "\n".join(lines)


@command.command("merge")
@click.argument("stores", nargs=-1, required=True, type=FILE, metavar="STORE…")
@click.option("--name", default="merged", show_default=True, metavar="NAME", help="Name of the new run.")
@STORE
def merge_stores(stores: tuple[Path, ...], name: str, store: Path | None) -> None:
    """Join the runs of several STOREs, such as the shards of a job, into one new run.

    The segments are sorted by id. A segment that is in several stores is merged once.
    """
    path = store_path(store)
    parts = shards_in(stores)
    with Store(path) as target:
        run = merge_runs(parts, target, name, natural_order)
        counts, usage = run.counts(), run.usage()
    say(
        f"mtagent: merged {counted(len(parts), 'run')} into run {visible(name, one_line=True)}: "
        f"{counted(counts.total or 0, 'segment')}, {counts.failed} failed; {usage.calls} calls, "
        f"{dollars(usage.cost, 'price unknown')}"
    )


_AGES = {"h": "hours", "d": "days", "w": "weeks"}


@command.command("delete")
@click.argument("runs", nargs=-1, metavar="[RUN]…")
@click.option("--older-than", metavar="30d", help="Delete all runs that were last used before this time: 12h, 30d, 8w.")
@click.option(
    "--outside", is_flag=True, help="Delete the texts and replies that Agent(store=…) stored outside of runs."
)
@click.option("--yes", is_flag=True, help="Delete without asking for confirmation.")
@STORE
def delete(runs: tuple[str, ...], older_than: str | None, outside: bool, yes: bool, store: Path | None) -> None:
    """Delete runs with their texts, ratings, decisions, requests and replies.

    Texts and replies that other runs use are kept. The store's file is rewritten, so that nothing else of the deleted
    runs remains in it. A run that is in progress, or open in `mtagent review`, isn't deleted: naming it is an error,
    and --older-than leaves it out.
    """
    if [bool(runs), older_than is not None, outside].count(True) != 1:
        raise click.UsageError("give only one of these: names of runs, --older-than 30d, --outside")
    with existing_store(store) as opened:
        chosen = runs if older_than is None else _older(opened.runs(), older_than)
        run_summaries = {name: opened.run(name) for name in dict.fromkeys(chosen)}
        calls = opened.outside().calls if outside else 0
        if not run_summaries and not calls:
            if older_than:
                say(f"mtagent: no run is older than {older_than}")
            else:
                say("mtagent: nothing to delete")
            return
        for name, run in run_summaries.items():
            say(f"{visible(name, one_line=True)}: {run.counts.done + run.counts.failed} segments, {run.updated}")
        extent = f"{counted(calls, 'call')} outside of runs" if outside else counted(len(run_summaries), "run")
        if not yes:
            if not sys.stdin.isatty():
                raise click.UsageError("cannot ask for confirmation without a terminal; give --yes to delete them")
            click.confirm(f"Delete {extent}? They cannot be restored.", abort=True, err=True)
        deletion = opened.delete(list(run_summaries), outside=outside, leave_busy=older_than is not None)
    for reason in deletion.left:
        say(f"mtagent: kept: {reason}")
    if not outside:
        extent = counted(len(run_summaries) - len(deletion.left), "run")
    before, after = deletion.before / 1e6, deletion.after / 1e6
    say(f"mtagent: deleted {extent}; the store had {before:.1f} MB and now has {after:.1f} MB")
    if deletion.waiting:
        say("mtagent: another process is reading the store; the file shrinks when that process ends")
    if deletion.related:
        names = ", ".join(deletion.related)
        say(f"mtagent: these runs were made from deleted ones and may contain their texts: {names}")


def _older(runs: Sequence[RunSummary], age: str) -> list[str]:
    """The runs that were last updated before the time ``age``."""
    match = re.fullmatch(r"(\d{1,5})([hdw])", age.strip())
    if match is None:
        raise ConfigError(f"--older-than: expected a number with h, d or w, as in 30d, not {age!r}")
    limit = datetime.now(UTC) - timedelta(**{_AGES[match[2]]: int(match[1])})
    return [run.name for run in runs if datetime.fromisoformat(f"{run.updated}+00:00") < limit]
