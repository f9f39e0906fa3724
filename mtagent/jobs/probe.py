"""What a run will cost, measured on a few of its segments: the chain improves these, and the rest is extrapolated.

The replies are stored, so that the run itself doesn't pay for them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from mtagent.chain.chain import improve
from mtagent.errors import ConfigError, MtagentError
from mtagent.jobs.inputs import OpenFiles
from mtagent.jobs.parts import OwnParts, assembled
from mtagent.jobs.run import RunModels, telling_the_way_on
from mtagent.llm.gathering import together
from mtagent.metrics import overlap
from mtagent.metrics.significance import Resampling, Statistics, paired_tests
from mtagent.records import Call, Chain, Segment, Usage
from mtagent.store.store import Store, default_path
from mtagent.text.amounts import UNKNOWN, counted, dollars

FEWEST = 5
"""Probed segments from which an interval is worth showing."""


class Probe(NamedTuple):
    """What a few segments tell about a run of ``segments``."""

    segments: int
    usages: tuple[Usage, ...]
    """Of each probed segment, also of those that failed: a run pays for their calls, too."""
    failed: int
    """How many probed segments failed."""

    @property
    def factor(self) -> float:
        """How many segments of the run each probed one speaks for."""
        return self.segments / len(self.usages)

    def total(self, values: Sequence[float]) -> tuple[float, float]:
        """The sum over the run of ``values``, one for each probed segment, and half its 95 % interval (bootstrap).

        Of a few segments the interval is too narrow: it doesn't know of texts that are rarer than them. Of all segments
        there is nothing left to guess.
        """
        rows = np.array(values, dtype=np.float64)[:, None] * self.factor
        (tests,) = paired_tests([[Statistics(rows, overlap.total)]], [], Resampling())
        assert tests.intervals is not None
        finite = sqrt(1 - 1 / self.factor)  # the correction for a finite population
        return float(rows.sum()), tests.intervals[0].half_width * finite

    def __str__(self) -> str:
        measured = Usage.total(self.usages)
        calls, _ = self.total([usage.calls for usage in self.usages])
        tokens, _ = self.total([usage.tokens for usage in self.usages])
        cost = UNKNOWN
        if measured.cost is not None:
            total, half_width = self.total([usage.cost or 0.0 for usage in self.usages])
            cost = dollars(total)
            if len(self.usages) >= FEWEST:
                cost += f" (± {dollars(half_width)})"
        words = (
            f"probe: {len(self.usages)} of {counted(self.segments, 'segment')} took {counted(measured.calls, 'call')}, "
            f"{measured.tokens:,} tokens, {dollars(measured.cost)}; "
            f"the whole run: about {calls:,.0f} calls, {tokens:,.0f} tokens, {cost}"
        )
        if self.failed:
            words += f"; {self.failed} of the probed segments failed, and their calls are included"
        return words


async def probe(inputs: OpenFiles, number: int) -> Probe:
    """Improve ``number`` segments of ``inputs`` with real calls, and tell what they took.

    The segments are sorted by length and cut into as many groups of the same size; the middle one of each is taken.
    Replies of earlier runs count with what they cost then. Raises :class:`ConfigError` for settings whose costs a few
    segments don't show.
    """
    config = inputs.config
    lengths = [len(place.segment.source) for place in inputs.placed()]
    if not lengths:
        raise ConfigError("probe: the input has no segments")
    chosen = _spread(lengths, number)
    segments: list[Segment] = []
    is_untranslated = False
    for position, segment in enumerate(inputs.in_context()):
        is_untranslated = is_untranslated or segment.translation is None
        if position in chosen:
            segments.append(segment)
    with Store(config.store or default_path()) as store:
        models = RunModels(config, store)
        async with assembled(config, OwnParts(), wrap_llm=models.wrap, translates=is_untranslated) as plan:
            if plan.unlabelled is not None:
                raise ConfigError(
                    "probe: the gate gain without a calibration first asks judges about 100 edits, which a few "
                    "segments don't show: leave probe out, or set another gate"
                )
            # After the first one the server has cached what prompts begin with, as in most of a run. Requests that are
            # sent at the same time as the first would all pay the full price.
            with telling_the_way_on():
                chains = [await improve(segments[0], plan)]
                chains += await together(*(improve(segment, plan) for segment in segments[1:]))
    counted_calls = {_identity(call) for chain in chains for call in _calls(chain) if call.usage.calls}
    usages = tuple(_nominal_usage(chain, counted_calls) for chain in chains)
    failures = [chain.failed.reason for chain in chains if chain.failed is not None]
    if len(failures) == len(chains):
        paid = Usage.total(usages)
        raise MtagentError(
            f"probe: all {counted(len(failures), 'probed segment')} failed, after {counted(paid.calls, 'call')} "
            f"({dollars(paid.cost)}): {failures[0]}"
        )
    return Probe(len(lengths), usages, len(failures))


def _nominal_usage(chain: Chain, counted_calls: set[object]) -> Usage:
    """What ``chain`` took, with what its replies from the store cost when they were paid for.

    Each counts once: ``counted_calls`` has the calls that were paid for or counted before.
    """
    usage = chain.usage
    for call in _calls(chain):
        if call.usage.saved is not None and _identity(call) not in counted_calls:
            counted_calls.add(_identity(call))
            usage += call.usage.saved
    return usage


def _calls(chain: Chain) -> Iterator[Call]:
    for step in chain.steps:
        yield from step.calls


def _identity(call: Call) -> object:
    return (call.model, call.purpose, call.messages, call.reply)


def _spread(lengths: Sequence[int], number: int) -> set[int]:
    """The places of ``number`` segments of all ``lengths``: the middle one of each group of similar length."""
    by_length = sorted(range(len(lengths)), key=lambda place: lengths[place])
    number = min(number, len(lengths))
    return {by_length[int((group + 0.5) * len(lengths) / number)] for group in range(number)}
