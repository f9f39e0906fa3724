"""How a run goes, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Never, Self

from tqdm import tqdm

from mtagent.chain import translation
from mtagent.cli.terminal import display, say
from mtagent.formats.files import STANDARD
from mtagent.jobs.summary import system_table, warnings_line
from mtagent.records import Chain, Rated, Usage, guards_of
from mtagent.store.runs import RunSummary
from mtagent.text.amounts import counted, dollars
from mtagent.text.escaping import visible

if TYPE_CHECKING:
    from mtagent.jobs.rate import RatingReport


_BAR = "{n_fmt}/{total_fmt}|{bar}|-{remaining}{postfix}"  # short, so that 80 columns hold it

_NAMED = 10  # segments that the summary names


class Progress:
    """A bar with what became of the segments, tokens, dollars and time left; nothing if ``quiet``.

    ``counted`` are the kinds that the bar tells apart.
    """

    def __init__(
        self,
        *,
        verbose: bool = False,
        quiet: bool = False,
        counted: Sequence[str] = ("changed", "unchanged", "rejected", "failed"),
    ) -> None:
        self._verbose, self._quiet = verbose, quiet
        self._counts = dict.fromkeys(counted, 0)
        self._usage = Usage()
        self._failed_changed = 0
        self._empty = 0
        self._left_alone = 0
        self._failed: list[str] = []
        self._lossy: list[str] = []
        self._without_numbers: list[str] = []
        self._untranslated: list[str] = []
        self._warned: list[str] = []
        self._bar: tqdm[Never] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def start(self, name: str, total: int, done: int) -> None:
        """Show the bar; ``done`` segments are there from before."""
        if self._quiet:
            return
        if done:
            say(f"mtagent: resuming run {name}: {done} of {total} segments are done")
        self._bar = tqdm(
            total=total,
            initial=done,
            bar_format=_BAR,
            file=sys.stderr,
            mininterval=0.2,
            dynamic_ncols=True,
            disable=None,
        )

    def advance(self, chain: Chain) -> None:
        """Count one more segment that was improved."""
        name, failed = chain.segment.id, chain.failed
        self._counts[chain.state] += 1
        self._failed_changed += failed is not None and chain.changed
        self._empty += failed is not None and not chain.text
        given = chain.segment.translation
        if chain.segment.source.strip() and given is not None and not given.strip():
            self._untranslated.append(name)
        self._failed += [f"{name} ({failed.stage})"] if failed else []
        translated = next((step for step in chain.steps if step.stage == "translate" and step.verdict == "kept"), None)
        if translated is not None:
            damages = translation.refusals(chain.segment, chain.text)
            self._lossy += [name] if any(damage.guard in translation.RESTORABLE for damage in damages) else []
            if "numbers" in guards_of(translated.cause) and translation.lost_numbers(chain.segment, chain.text):
                self._without_numbers.append(name)
        self._left_alone += any(step.cause.kind == "triage" for step in chain.steps)
        ratings = [rating for step in chain.steps for rating in step.ratings]
        self._warned += dict.fromkeys(f"{name}: {rating.warnings[0]}" for rating in ratings if rating.warnings)
        self._say(
            [f"{name}: {step.stage}: {step.verdict}: {step.reason}" for step in chain.steps],
            [f"{name}: {failed.stage} failed: {failed.reason}"] if failed else [],
        )
        self._move(chain.usage)

    def advance_rated(self, rated: Sequence[Rated]) -> None:
        """Count the translations of one more segment that was rated."""
        for result in rated:
            is_counted = result.rating is not None or result.error is not None
            self._counts["failed" if result.error else "rated"] += is_counted
        self._say(
            [f"{result.segment.id}: {result.system}: {_said(result)}" for result in rated],
            [f"{result.segment.id}: {result.system} failed: {result.error}" for result in rated if result.error],
        )
        self._move(Usage.total(result.usage for result in rated))

    def advance_judged(self, chain: Chain) -> None:
        """Count one more edit that judges looked at."""
        name, failed = chain.segment.id, chain.failed
        self._counts["failed" if failed else "judged"] += 1
        self._say(
            [f"{name}: {step.stage}: {step.reason}" for step in chain.steps],
            [f"{name}: {failed.stage}: {failed.reason}"] if failed else [],
        )
        self._move(chain.usage)

    def _say(self, lines: Iterable[str], failures: Iterable[str]) -> None:
        """All ``lines`` if verbose, else the ``failures`` alone."""
        if self._verbose or not self._quiet:
            for line in lines if self._verbose else failures:
                tqdm.write(visible(line, one_line=True), file=sys.stderr)

    def _move(self, usage: Usage) -> None:
        self._usage += usage
        if self._bar is not None:
            cost = dollars(self._usage.cost, "?").removeprefix("$")
            tokens = self._usage.input_tokens + self._usage.output_tokens
            counts: dict[str, int | str] = {**self._counts}
            if self._failed_changed:
                counts["failed"] = f"{self._counts['failed']} ({self._failed_changed} changed)"
            self._bar.set_postfix({**counts, "$": cost, "tokens": tokens}, refresh=False)
            self._bar.update()

    def finish(self, summary: RunSummary) -> None:
        """Say what came out."""
        if self._quiet:
            return
        counts = summary.counts
        what = f"{counts.changed} changed, {counts.unchanged} unchanged, {counts.rejected} rejected"
        what += f", {failed_counts(counts.failed, counts.failed_changed)}"
        cost = self._paid(summary)
        say(f"mtagent: {counted(counts.done + counts.failed, 'segment')}: {what}; {cost}; run {summary.name}")
        if self._left_alone:
            say(f"mtagent: left alone by triage: {self._left_alone}")
        for line in warnings_line(len(self._warned), self._warned[0] if self._warned else None):
            say(f"mtagent: {line}")
        if self._lossy:
            say(f"mtagent: placeholders or tags of the source are missing in: {_listed(self._lossy)}")
        if self._without_numbers:
            say(f"mtagent: numbers of the source are missing in: {_listed(self._without_numbers)}")
        if self._untranslated:
            say(f"mtagent: the translation is empty, and stays so, in: {_listed(self._untranslated)}")
        if counts.failed:
            empty = f" ({self._empty} had none: empty lines)" if self._empty else ""
            kept = f"failed segments kept the last accepted text{empty}"
            say(f"mtagent: {kept}; the same command again retries only them.")
            if self._failed:  # none where all of them failed in a former session
                say(f"mtagent: failed: {_listed(self._failed)}")

    def finish_rated(self, report: RatingReport, paths: Iterable[Path]) -> None:
        """Say what was rated, how each system did, and which files were written."""
        if self._quiet:
            return
        run, failed = report.run, sum(system.failed for system in report.systems)
        display(system_table(report.systems), err=True)
        what = f"{sum(system.rated for system in report.systems)} rated, {failed} failed"
        if blank := sum(system.blank for system in report.systems):
            what += f", {blank} without words"
        say(f"mtagent: {what}; {self._paid(run)}; run {run.name}")
        files = [str(path) for path in paths if path != STANDARD]
        warned = sum(system.warned for system in report.systems)
        first = next((system.warning for system in report.systems if system.warning), None)
        for remark in (
            *warnings_line(warned, first),
            *report.remarks,
            *([f"written: {', '.join(files)}"] if files else []),
        ):
            say(f"mtagent: {remark}")
        if failed:
            say("mtagent: means are of what was rated; the same command again retries what failed.")

    def finish_judged(self, summary: RunSummary) -> None:
        """Say how many edits were judged, and what that took."""
        if self._quiet:
            return
        counts = summary.counts
        say(f"mtagent: {counts.done} edits judged, {counts.failed} failed; {self._paid(summary)}; run {summary.name}")
        if counts.failed:
            say("mtagent: failed edits are left out; the same command again retries only them.")

    def _paid(self, run: RunSummary) -> str:
        reused = f" ({self._usage.reused} more answered from the store)" if self._usage.reused else ""
        tokens = f"{run.usage.input_tokens} + {run.usage.output_tokens} tokens{uncounted(run)}"
        return f"{run.usage.calls} calls{reused}, {tokens}, {dollars(run.usage.cost, 'price unknown')}"


def failed_counts(failed: int, changed: int) -> str:
    """How many segments failed, and how many of them an earlier stage had changed."""
    before = f" ({changed} of them after an earlier stage changed the text)" if changed else ""
    return f"{failed} failed{before}"


def _listed(names: Sequence[str]) -> str:
    """The first of ``names``, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _said(rated: Rated) -> str:
    if rated.rating is None:
        return f"failed: {rated.error}" if rated.error else "no words"
    errors = "" if rated.rating.errors is None else f", errors: {len(rated.rating.errors)}"
    return f"{rated.rating.score:g}{errors}"


def uncounted(run: RunSummary) -> str:
    """That the tokens are not all, where the server did not count some calls."""
    return f" (the server did not count {run.uncounted} of the calls)" if run.uncounted else ""
