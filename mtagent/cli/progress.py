"""How a run goes, on standard error."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Never, Self

import click
from tqdm import tqdm

from mtagent.records import Chain, Usage
from mtagent.store import RunSummary
from mtagent.store.rows import segment_state

_BAR = "{n_fmt}/{total_fmt}|{bar}|-{remaining}{postfix}"  # short, so that 80 columns hold it


class Progress:
    """A bar with done, changed, kept, rejected, failed, tokens, dollars and time left; nothing if ``quiet``."""

    def __init__(self, *, verbose: bool = False, quiet: bool = False) -> None:
        self._verbose, self._quiet = verbose, quiet
        self._counts = dict.fromkeys(("changed", "kept", "rejected", "failed"), 0)
        self._usage = Usage()
        self._empty = 0
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
            click.echo(f"mtagent: resuming run {name}: {done} of {total} segments are done", err=True)
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
        """Count one more segment."""
        self._counts[segment_state(chain)] += 1
        self._usage += chain.usage
        self._empty += chain.failed is not None and not chain.text
        if self._verbose:
            for step in chain.steps:
                tqdm.write(f"{chain.segment.id}: {step.stage}: {step.verdict}: {step.reason}", file=sys.stderr)
        elif chain.failed is not None and not self._quiet:
            tqdm.write(f"{chain.segment.id}: {chain.failed.stage} failed: {chain.failed.reason}", file=sys.stderr)
        if self._bar is not None:
            cost = "?" if self._usage.cost is None else f"{self._usage.cost:.4f}"
            tokens = self._usage.input_tokens + self._usage.output_tokens
            self._bar.set_postfix({**self._counts, "$": cost, "tokens": tokens}, refresh=False)
            self._bar.update()

    def finish(self, summary: RunSummary) -> None:
        """Say what came out."""
        if self._quiet:
            return
        counts, usage = summary.counts, summary.usage
        what = f"{counts.changed} changed, {counts.kept} unchanged, {counts.rejected} rejected, {counts.failed} failed"
        reused = f" ({self._usage.reused} more answered from the store)" if self._usage.reused else ""
        cost = f"{usage.calls} calls{reused}, {usage.input_tokens} + {usage.output_tokens} tokens, {dollars(usage)}"
        click.echo(f"mtagent: {counts.done + counts.failed} segments: {what}; {cost}; run {summary.name}", err=True)
        if counts.failed:
            empty = f" ({self._empty} had none: empty lines)" if self._empty else ""
            kept = f"failed segments kept their text{empty}"
            click.echo(f"mtagent: {kept}; the same command again retries only them.", err=True)


def dollars(usage: Usage) -> str:
    """``$0.0123``, or that the price is not known."""
    return "price unknown" if usage.cost is None else f"${usage.cost:.4f}"
