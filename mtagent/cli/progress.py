"""The progress and the summary of a run, on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Never, Self

from tqdm import tqdm

from mtagent.chain.translation import RESTORABLE, TRANSLATION_GUARDS, lost_numbers, refusals
from mtagent.cli.terminal import display, has_colour, say
from mtagent.formats.files import STANDARD
from mtagent.jobs.summary import system_table, warnings_line
from mtagent.records import Chain, Rated, Usage, guards_of
from mtagent.store.runs import Counts, Run, RunSummary
from mtagent.text.amounts import by_cause, cause_of, counted, dollars, natural_order
from mtagent.text.escaping import visible

if TYPE_CHECKING:
    from mtagent.jobs.rate import RatingReport


_BAR = "{n_fmt}/{total_fmt} |{bar}| {remaining} left{postfix}"
MOST_EARLIER = 5000
"""Segments of earlier sessions whose chains are read for the summary; 1,000 take about half a second."""
_COLUMNS = 80
"""The widest bar; a wider terminal gains nothing."""
_SHOWN_STATES = ("changed", "failed")
"""What the bar counts besides the segments: all states would not fit."""

_MOST_FAILURES = 3
"""Causes of failures that are printed when they first happen, without -v."""
_LONGEST_NAME = 80  # the ids of PO files are whole texts
_MOST_NAMES = 10
"""Segments that the summary lists by name."""


class Progress:
    """A bar that shows counts of segments, dollars and the time left; nothing if ``quiet``.

    ``states`` are the states that a segment can end in.
    """

    def __init__(
        self,
        *,
        verbose: bool = False,
        quiet: bool = False,
        states: Sequence[str] = ("changed", "unchanged", "rejected", "failed"),
    ) -> None:
        self._verbose = verbose
        self._quiet = quiet
        self._counts = dict.fromkeys(states, 0)
        self._usage = Usage()
        self._earlier_changed = 0  # by earlier sessions of the run
        self._earlier_usage = Usage()
        self._left_out = 0  # segments of earlier sessions that the notes of the summary are not about
        self._printed_causes = set[str]()  # of failures, to print each cause only once
        self._has_more_failures = False  # whether the line about the failures that are not printed was printed
        # Counts of segments:
        self._failed_empty = 0  # a stage failed, and the segment has no text
        self._skipped = 0  # segments that triage skipped
        self._from_memory = 0  # the text is an approved one from the translation memory
        self._not_fixed = 0  # the text has errors that were found and not fixed
        self._reasons: list[str] = []  # why segments failed
        # Names of segments, with the stage or the warning where there is one:
        self._failed: list[str] = []
        self._lost_markup: list[str] = []  # placeholders or tags of the source are missing
        self._too_long: list[str] = []  # longer than the segment's max_length
        self._lost_numbers: list[str] = []
        self._empty_translations: list[str] = []
        self._warnings: list[str] = []
        self._is_resumed = False
        self._bar: tqdm[Never] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        if error is not None and not self._quiet:
            self._say_causes()  # the run ended without its summary

    def start(self, run: Run, total: int) -> None:
        """Show the bar, on which the segments and the cost of earlier sessions already count."""
        if self._quiet:
            return
        counts = run.counts()
        done = min(total, counts.done)
        self._is_resumed = done > 0
        self._earlier_changed = counts.changed
        self._earlier_usage = run.usage()
        self._left_out = done if done > MOST_EARLIER else 0
        if done:
            say(f"mtagent: resuming run {run.name}: {done} of {total} segments are done")
        self._bar = tqdm(
            total=total,
            initial=done,
            bar_format=_BAR,
            file=sys.stderr,
            mininterval=0.2,
            ncols=_bar_width(),
            colour="green" if has_colour() else None,
            disable=None,
        )

    def advance(self, chain: Chain) -> None:
        """Count one more improved segment."""
        name, failed_step = chain.segment.id, chain.failed
        self._counts[chain.state] += 1
        if failed_step is not None:
            self._failed.append(f"{name} ({failed_step.stage})")
            self._reasons.append(failed_step.reason)
            self._failed_empty += not chain.text
        self._note(chain)
        if self._verbose:
            for step in chain.steps:
                _write(f"segment {name}: {step.stage}: {step.verdict}: {step.reason}")
        elif failed_step is not None:
            self._write_failure(f"segment {name}: {failed_step.stage} failed", failed_step.reason)
        self._move(chain.usage)

    def note_earlier(self, chains: Iterable[Chain]) -> None:
        """Note what the summary says about segments that earlier sessions have done; failed ones are tried again.

        If there are many, the summary leaves them out: a finished run should write its output again in seconds.
        """
        if self._quiet or self._left_out:
            return
        for chain in chains:
            if chain.failed is None:
                self._note(chain)

    def _note(self, chain: Chain) -> None:
        """Note what the summary says about the segment of ``chain``."""
        translation = chain.segment.translation
        if chain.segment.source.strip() and translation is not None and not translation.strip():
            self._empty_translations.append(chain.segment.id)
        if any(step.cause.kind == "triage" for step in chain.steps):
            self._skipped += 1
        if any(step.cause.kind == "memory" for step in chain.steps):
            self._from_memory += 1
        if chain.errors_left:
            self._not_fixed += 1
        self._note_losses(chain)
        self._note_warnings(chain)

    def _say_causes(self, what: str = "segment") -> None:
        """Print how many failed for each cause, the most frequent one first.

        A single cause that was printed before is not printed again: the summary has its number.
        """
        causes = by_cause(self._reasons, "; -v prints each failure")
        if len(causes) == 1 and cause_of(causes[0][1]) in self._printed_causes:
            return
        for count, reason in causes:
            say(f"mtagent: {counted(count, what)}: {reason}")

    def _write_failure(self, name: str, reason: str) -> None:
        """Print the first failure of each of the first causes; the summary has the number of all failures."""
        if self._quiet:
            return
        cause = cause_of(reason)
        if cause not in self._printed_causes and len(self._printed_causes) < _MOST_FAILURES:
            self._printed_causes.add(cause)
            _write(f"{name}: {reason}")
        elif not self._has_more_failures:
            self._has_more_failures = True
            _write("mtagent: more failed; they are counted, and -v prints each one")

    def _note_losses(self, chain: Chain) -> None:
        """Note the segment if its translation was made here, and is too long or lacks markup or numbers."""
        for step in chain.steps:
            if step.stage == "translate" and step.verdict == "kept":
                other_guards = TRANSLATION_GUARDS.keys() - RESTORABLE
                damages = refusals(chain.segment, chain.text, skip=other_guards)
                guards = {damage.guard for damage in damages}
                if "max_length" in guards:
                    self._too_long.append(chain.segment.id)
                if guards & RESTORABLE - {"max_length"}:
                    self._lost_markup.append(chain.segment.id)
                if "numbers" in guards_of(step.cause) and lost_numbers(chain.segment, chain.text):
                    self._lost_numbers.append(chain.segment.id)
                return

    def _note_warnings(self, chain: Chain) -> None:
        """Note the first warning of each rating; the same warning counts once per segment."""
        warnings: dict[str, None] = {}
        for step in chain.steps:
            for rating in step.ratings:
                if rating.warnings:
                    warnings[f"{chain.segment.id}: {rating.warnings[0]}"] = None
        self._warnings += warnings

    def advance_rated(self, rated: Sequence[Rated]) -> None:
        """Count the rated translations of one more segment."""
        for result in rated:
            name = f"segment {result.segment.id}: {result.system}"
            if result.error is not None:
                self._counts["failed"] += 1
                self._reasons.append(result.error)
            elif result.rating is not None:
                self._counts["rated"] += 1
            if self._verbose:
                _write(f"{name}: {_outcome(result)}")
            elif result.error:
                self._write_failure(f"{name} failed", result.error)
        self._move(Usage.total(result.usage for result in rated))

    def advance_judged(self, chain: Chain) -> None:
        """Count one more edit that judges rated."""
        name, failed_step = chain.segment.id, chain.failed
        self._counts["failed" if failed_step else "judged"] += 1
        if failed_step is not None:
            self._reasons.append(failed_step.reason)
        if self._verbose:
            for step in chain.steps:
                _write(f"{name}: {step.stage}: {step.reason}")
        elif failed_step is not None:
            self._write_failure(f"{name}: {failed_step.stage}", failed_step.reason)
        self._move(chain.usage)

    def _move(self, usage: Usage) -> None:
        self._usage += usage
        if self._bar is not None:
            counts = {state: count for state, count in self._counts.items() if state in _SHOWN_STATES}
            if "changed" in counts:
                counts["changed"] += self._earlier_changed
            parts = [f"{count} {state}" for state, count in counts.items()]
            parts.append(dollars((self._earlier_usage + self._usage).cost, "cost unknown"))
            self._bar.ncols = _bar_width()
            self._bar.set_postfix_str(", ".join(parts), refresh=False)
            self._bar.update()

    def finish(self, summary: RunSummary) -> None:
        """Print the summary of a run that improves segments."""
        if self._quiet:
            return
        counts = summary.counts
        segments = counted(counts.done + counts.failed, "segment")
        say(f"mtagent: {segments}: {outcomes_of(counts)}; {self._usage_text(summary)}; run {summary.name}")
        if self._left_out:
            say(f"mtagent: remarks are only about segments done now, not about the {self._left_out:,} done before")
        if self._not_fixed:
            where = f"`mtagent runs show {summary.name} SEGMENT` lists them"
            say(f"mtagent: segments with errors that were found but not fixed: {self._not_fixed}; {where}")
        if self._skipped:
            say(f"mtagent: skipped by triage: {self._skipped}")
        if self._from_memory:
            say(f"mtagent: as approved in the translation memory: {self._from_memory}")
        if self._warnings:
            for line in warnings_line(len(self._warnings), self._warnings[0]):
                say(f"mtagent: {line}")
        if self._lost_markup:
            say(f"mtagent: placeholders or tags of the source are missing in: {list_of(self._lost_markup)}")
        if self._too_long:
            say(f"mtagent: longer than max_length: {list_of(self._too_long)}")
        if self._lost_numbers:
            say(f"mtagent: numbers of the source are missing in: {list_of(self._lost_numbers)}")
        if self._empty_translations:
            say(f"mtagent: empty translations stayed empty in: {list_of(self._empty_translations)}")
        if counts.failed:
            kept = "failed segments kept their last accepted text"
            if self._failed_empty:
                kept += f" ({self._failed_empty} had none)"
            say(f"mtagent: {kept}; run the same command again to retry only them.")
            self._say_causes()
            if self._failed:  # empty if all of them failed in an earlier session
                say(f"mtagent: failed: {list_of(self._failed)}")

    def finish_rated(self, report: RatingReport, paths: Iterable[Path]) -> None:
        """Print the summary of a run of ratings, with a table of its systems and the files written."""
        if self._quiet:
            return
        display(system_table(report.systems), err=True)
        rated = failed = blank = warned = 0
        first_warning = None
        for system in report.systems:
            rated += system.rated
            failed += system.failed
            blank += system.blank
            warned += system.warned
            first_warning = first_warning or system.warning
        outcomes = f"{rated} rated, {failed} failed"
        if blank:
            outcomes += f", {blank} without words"
        say(f"mtagent: {outcomes}; {self._usage_text(report.run)}; run {report.run.name}")
        for remark in [*warnings_line(warned, first_warning), *report.remarks]:
            say(f"mtagent: {remark}")
        files = [str(path) for path in paths if path != STANDARD]
        if files:
            say(f"mtagent: written: {', '.join(files)}")
        if failed:
            self._say_causes("translation")
            say("mtagent: the means leave out failed ratings; run the same command again to retry them.")

    def finish_judged(self, summary: RunSummary) -> None:
        """Print how many edits were judged, and the calls, tokens and dollars used."""
        if self._quiet:
            return
        counts = summary.counts
        usage = self._usage_text(summary)
        say(f"mtagent: {counts.done} edited texts judged, {counts.failed} failed; {usage}; run {summary.name}")
        if counts.failed:
            self._say_causes("edit")
            say("mtagent: failed edits are left out; run the same command again to retry only them.")

    def _usage_text(self, run: RunSummary) -> str:
        calls = f"{run.usage.calls} calls"
        if self._usage.saved is not None:
            calls = f"paid: {calls}"
        if self._usage.reused:
            now = "now " if self._is_resumed else ""
            repeats = ": repeated requests" if self._usage.saved is None else ""
            calls += f" ({self._usage.reused} more {now}answered from the store{repeats})"
        tokens = f"{run.usage.input_tokens} + {run.usage.output_tokens} tokens{uncounted(run)}"
        return f"{calls}, {tokens}, {dollars(run.usage.cost, 'price unknown')}"


def outcomes_of(counts: Counts) -> str:
    """How many segments of a run were changed, and what became of the others."""
    outcomes = f"{counts.changed} changed, {counts.unchanged} unchanged, {counts.rejected} rejected"
    if not counts.failed_changed:
        return f"{outcomes}, {counts.failed} failed"
    return (
        f"{outcomes}, {counts.failed} failed ({counts.failed_changed} of them after an earlier stage changed the text)"
    )


def uncounted(run: RunSummary) -> str:
    """A remark on calls whose tokens the server did not count; empty if it counted all."""
    if not run.uncounted:
        return ""
    return f" (the server did not count {run.uncounted} of the calls)"


def _bar_width() -> int:
    """The width of a bar that fits in one line of the terminal, which may have been resized.

    The terminal is that of standard error: standard output is often a file.
    """
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        columns = 0
    return min(_COLUMNS, columns or _COLUMNS) - 1


def _write(line: str) -> None:
    """Print a line above the bar."""
    tqdm.write(visible(line, one_line=True), file=sys.stderr)


def list_of(names: Sequence[str]) -> str:
    """The first names, and the number of the others. Segments end in any order, and are listed by name."""
    shown = []
    for name in sorted(names, key=natural_order)[:_MOST_NAMES]:
        if len(name) > _LONGEST_NAME:
            name = f"{name[: _LONGEST_NAME // 2]}…{name[-_LONGEST_NAME // 2 :]}"
        shown.append(name)
    listed = ", ".join(shown)
    if len(names) > _MOST_NAMES:
        listed += f" and {len(names) - _MOST_NAMES} more"
    return listed


def _outcome(rated: Rated) -> str:
    """The score and the number of errors, or why there is no score."""
    if rated.error:
        return f"failed: {rated.error}"
    if rated.rating is None:
        return "no words"
    score = f"{rated.rating.score:g}"
    if rated.rating.errors is None:
        return score
    return f"{score}, errors: {len(rated.rating.errors)}"
