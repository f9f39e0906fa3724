"""A stored chain run with people's decisions applied to its segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mtagent.chain.decided_text import Decided, checked, decided
from mtagent.errors import ConfigError
from mtagent.records import Chain
from mtagent.records.decisions import Decision
from mtagent.store.store import Store


class DecidedRun:
    """A chain run and the decisions about it. While this object exists, the run cannot be deleted."""

    def __init__(self, store: Store, name: str) -> None:
        self._hold = store.hold(name)
        self.run, self.log = store.read(name), store.decisions(name)
        if self.run.kind != "chain":
            raise ConfigError(f"run {name!r}: expected a run with edits to decide on, found one with ratings")
        settings = store.settings(name) or {}
        self.skip = frozenset(settings.get("skip_guards") or ())
        """The guards that the run left out."""

    def segments(self, *, only_decided: bool = False) -> Iterator[tuple[int, Decided]]:
        """The segments by position, with their decisions applied; ``only_decided``: those with decisions."""
        histories = self.log.histories()
        if only_decided:
            for position, history in histories.items():
                yield position, decided(self.run.chain_at(position), history, skip=self.skip)
            return
        for position, chain in self.run.placed_chains():
            yield position, decided(chain, histories.get(position, ()), skip=self.skip)

    def segment(self, position: int) -> Decided:
        """The segment at ``position``, which must exist, with its decisions applied."""
        return decided(self.run.chain_at(position), self.log.history(position), skip=self.skip)

    def checked(self, chain: Chain, decision: Decision, history: Iterable[Decision]) -> Decision:
        """A new ``decision`` on a segment with this ``history``: :func:`mtagent.chain.decided_text.checked`."""
        return checked(chain, decision, history, skip=self.skip)

    def chains(self) -> Iterator[Chain]:
        """The chains by position; a chain with decisions has the decided text as its ``reviewed`` text."""
        for _, chain in self.placed_chains():
            yield chain

    def placed_chains(self) -> Iterator[tuple[int, Chain]]:
        """The same chains, each with its position."""
        histories = self.log.histories()
        for position, chain in self.run.placed_chains():
            if position in histories:
                chain = decided(chain, histories[position], skip=self.skip).reviewed_chain
            yield position, chain
