"""Limits that several processes share: one of them has a ledger, from which the others lease in small parts.

Money is leased for an account, which is a shard of a job with a store of its own. An account holds what its shard has
paid and may still pay; what is leased to all accounts never exceeds the budget. A process that begins a shard opens its
account with what the shard's store has paid. So nothing is lost or counted twice if the process before it was killed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from itertools import count
from math import inf
from pathlib import Path

from mtagent.llm.budget import Amount, Budget, CallCosts
from mtagent.llm.limits import MINUTE, Clock, Rate, Reservation
from mtagent.records import Usage

LEASED_SHARE = 100
"""A lease is at least this part of the budget, if there is so much left."""
RATE_PARTS = 600
"""A lease of requests or tokens is at least this part of the limit per minute."""
LEASE_SECONDS = 1.0
"""For how long leased requests and tokens of a minute may be used."""


class Ledger:
    """The accounts in the file ``path``, which a later ledger reads again, and rates per minute.

    Amounts of money are pairs of dollars and tokens. Other processes call a proxy with the same methods.
    """

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._accounts: dict[str, Amount] = {}
        self._rates: dict[str, Rate] = {}
        self._leases: dict[int, Reservation] = {}  # the last one of each worker, by number
        self._numbers = count(time.time_ns())  # not those of a ledger before it
        self._lock = threading.RLock()  # a server may call it from several threads
        self._path = path
        written = path.read_text(encoding="utf-8") if path.exists() else ""
        *lines, rest = written.split("\n")
        for line in lines:
            account, dollars, tokens = json.loads(line)
            self._accounts[account] = Amount(dollars, tokens)
        if rest:  # the process was killed while it wrote the last line
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def open(self, account: str, paid: tuple[float, float]) -> None:
        """Set the account to what its shard has paid."""
        self._set(account, Amount(*paid))

    def lease(
        self, account: str, needed: tuple[float, float], limit: tuple[float, float]
    ) -> tuple[float, float] | None:
        """Add at least what is ``needed`` to the account; ``None`` if all accounts would exceed the ``limit``."""
        with self._lock:
            left = Amount(*limit) - Amount(*self.total())
            if not Amount(*needed).within(left):
                return None
            leased = Amount(_leased(needed[0], limit[0], left.dollars), _leased(needed[1], limit[1], left.tokens))
            self._set(account, self._accounts.get(account, Amount()) + leased)
            return leased.dollars, leased.tokens

    def total(self) -> tuple[float, float]:
        """The sum of all accounts."""
        with self._lock:
            total = sum(self._accounts.values(), start=Amount())
        return total.dollars, total.tokens

    def reserve(self, unit: str, limit: float, amount: float, former: int, used: float) -> tuple[float, int]:
        """Book an ``amount`` of a ``unit`` with a ``limit`` per minute, and take back what the ``former`` lease left.

        Returns in how many seconds it may be used, and the number of the lease.
        """
        with self._lock:
            if unit not in self._rates:
                # A lease may be used a second after its time, so that the minute begins a second earlier.
                self._rates[unit] = Rate(limit, self._clock, window=MINUTE + LEASE_SECONDS)
            if former in self._leases:
                self._leases.pop(former).correct(used)
            number = next(self._numbers)
            lease = self._leases[number] = self._rates[unit].reserve(amount)
            return lease.time - self._clock.now(), number

    def _set(self, account: str, amount: Amount) -> None:
        with self._lock:
            self._accounts[account] = amount
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([account, amount.dollars, amount.tokens]) + "\n")


def _leased(needed: float, limit: float, left: float) -> float:
    """What to lease of dollars or tokens; nothing of what has no limit."""
    if limit == inf:
        return 0.0
    return min(max(needed, limit / LEASED_SHARE), left)


class LeasedBudget(Budget):
    """The budget of one shard: its limit is what its account holds, and grows by leases up to the budget of the job."""

    _counted = "spent or reserved by shards in work"  # an account doesn't tell the two apart

    def __init__(
        self,
        ledger: Ledger,
        account: str,
        dollars: float | None,
        tokens: int | None,
        costs: CallCosts | None = None,
    ) -> None:
        super().__init__(dollars, tokens, costs=costs)
        self._ledger = ledger
        self._account = account
        self._job_limit = (self.limit.dollars, self.limit.tokens)
        self._set_limit(Amount())

    def begin(self, run: str, paid: Iterable[tuple[str, Usage]], *, store: str = "") -> None:
        """Open the account with what the shard has ``paid`` before. See :meth:`Budget.begin`."""
        super().begin(run, paid, store=store)
        self._open_account()

    def close(self) -> None:
        """Return what was leased and not spent, if the shard was begun. Reservations must be settled."""
        if self._begun:
            self._open_account()

    def _open_account(self) -> None:
        self._ledger.open(self._account, (self.spent.dollars, self.spent.tokens))
        self._set_limit(self.spent)

    def _set_limit(self, amount: Amount) -> None:
        dollars, tokens = self._job_limit
        self.limit = Amount(
            inf if dollars == inf else amount.dollars,
            inf if tokens == inf else amount.tokens,
        )

    def _reserved_at_once(self, amount: Amount, alone: Amount, hint: str) -> Amount | None:
        for possible_amount in (amount, alone):
            needed = self.spent + self.reserved + possible_amount
            if needed.within(self.limit):
                break
            missing = (max(0.0, needed.dollars - self.limit.dollars), max(0.0, needed.tokens - self.limit.tokens))
            leased = self._ledger.lease(self._account, missing, self._job_limit)
            if leased is not None:
                self.limit = self.limit + Amount(*leased)
                break
        return super()._reserved_at_once(amount, alone, hint)

    def _lacks_dollars(self, needed: Amount) -> bool:
        # What the account lacks was asked for in both units, and refused if one of them is spent.
        missing = max(0.0, needed.dollars - self.limit.dollars)
        return self._ledger.total()[0] + missing > self._job_limit[0]

    def _shown(self) -> tuple[Amount, Amount, Amount]:
        return Amount(*self._ledger.total()), Amount(), Amount(*self._job_limit)


class _LeasedReservation(Reservation):
    """An amount of the lease ``number``."""

    number = 0

    def correct(self, amount: float) -> None:
        """Replace the estimate. What a former lease has left is lost, but more than it had is owed by the next one."""
        assert isinstance(self.rate, LeasedRate)
        self.counts = self.number == self.rate.number or amount > self.amount
        super().correct(amount)


class LeasedRate(Rate):
    """A rate of which a ledger lends parts for about a second: never more than ``limit`` in all processes together."""

    def __init__(self, ledger: Ledger, unit: str, limit: float, clock: Clock) -> None:
        super().__init__(limit, clock)
        self._ledger = ledger
        self._unit = unit
        self.number = 0
        """Of the lease."""
        self._time = 0.0  # from which it may be used
        self._leased = 0.0
        self._before = 0.0  # the total at its beginning

    def reserve(self, amount: float) -> Reservation:
        """Book ``amount`` at the earliest time. See :meth:`Rate.reserve`."""
        now = self._clock.now()
        used = self.total - self._before
        if used + amount > self._leased or now > self._time + LEASE_SECONDS:
            self._leased = max(amount, self.limit / RATE_PARTS)
            seconds, self.number = self._ledger.reserve(self._unit, self.limit, self._leased, self.number, used)
            self._time = now + seconds
            self._before = self.total
        reservation = _LeasedReservation(self, max(now, self._time), amount)
        reservation.number = self.number
        self.total += amount
        return reservation

    def give_back(self, reservation: Reservation) -> None:
        """Leave the amount to the other requests of the lease."""
        reservation.correct(0)


def rates_of(ledger: Ledger, server: str) -> Callable[[str, float, Clock], Rate]:
    """Makes the rates of a limiter for ``server``, which all processes share."""
    return lambda unit, limit, clock: LeasedRate(ledger, f"{unit} of {server}", limit, clock)
