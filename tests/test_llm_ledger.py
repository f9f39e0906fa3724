"""The ledger: processes together never spend or send more than is allowed, and a restart forgets nothing."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from mtagent.errors import BudgetSpent
from mtagent.llm.budget import ENOUGH_CALLS, Amount, CallCosts
from mtagent.llm.ledger import LeasedBudget, LeasedRate, Ledger
from mtagent.records import Usage
from tests.clocks import FakeClock

LIMIT = (10.0, inf)


def test_accounts_never_exceed_the_limit(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "shards" / "ledger.jsonl")
    ledger.open("a", (4.0, 100))
    assert ledger.lease("a", (0.01, 0), LIMIT) == (0.1, 0), "at least a hundredth of the budget"
    assert ledger.lease("b", (5.85, 0), LIMIT) == (5.85, 0)
    assert ledger.lease("b", (0.06, 0), LIMIT) is None
    assert ledger.lease("b", (0.04, 0), LIMIT) == (pytest.approx(0.05), 0), "all that is left"
    assert ledger.lease("a", (0.01, 0), LIMIT) is None


def test_a_ledger_that_was_killed_knows_all_accounts(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    ledger.open("a", (4.0, 100))
    ledger.lease("b", (1.0, 0), LIMIT)
    with path.open("a") as file:
        file.write('["c", 1.0')  # it was killed while it wrote this
    restarted = Ledger(path)
    assert restarted.total() == (5.0, 100)
    restarted.open("b", (0.25, 7))  # the shard begins again: what its store has paid counts, not what was leased
    assert Ledger(path).total() == (4.25, 107)


async def test_budgets_of_shards_share_the_limit(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    budgets = [LeasedBudget(ledger, name, 10.0, None) for name in "ab"]
    budgets[0].begin("shard-a", [("m", Usage(calls=1, input_tokens=5, cost=4.0))])
    budgets[1].begin("shard-b", [])
    await budgets[0].reserve(Amount(3.0, 10))
    await budgets[1].reserve(Amount(2.0, 10))
    budgets[1].settle(Amount(2.0, 10), Amount(0.5, 10))
    with pytest.raises(BudgetSpent, match=r"stopped: \$9\.0000 of the budget of \$10\.0000 is spent"):
        await budgets[1].reserve(Amount(2.6, 10))
    budgets[0].settle(Amount(3.0, 10), Amount(1.0, 10))
    for budget in budgets:
        budget.close()
    assert ledger.total() == (5.5, 25), "what was leased and not spent is returned"
    later = LeasedBudget(ledger, "c", 10.0, None)
    later.begin("shard-c", [])
    await later.reserve(Amount(4.4, 10))


async def test_the_message_of_a_shard_names_the_limit_for_which_nothing_could_be_leased(tmp_path: Path) -> None:
    budget = LeasedBudget(Ledger(tmp_path / "ledger.jsonl"), "a", 10.0, 1000)
    budget.begin("shard-a", [])
    budget.settle(await budget.reserve(Amount(9.0, 100)), Amount(1.0, 100))
    with pytest.raises(BudgetSpent, match=r"of the budget of 1,000 tokens are spent"):
        await budget.reserve(Amount(8.0, 2000))


async def test_the_costs_of_one_shard_are_known_in_the_next_and_a_budget_that_was_exceeded_leases_no_more(
    tmp_path: Path,
) -> None:
    ledger, costs = Ledger(tmp_path / "ledger.jsonl"), CallCosts()
    for _ in range(ENOUGH_CALLS):
        costs.add("kind", 10, Amount(1.0, 5))
    budget = LeasedBudget(ledger, "a", 2.5, None, costs)
    budget.begin("shard-a", [])
    worst = Amount(2.0, 50)
    first, second = await budget.reserve(worst, kind="kind", sent=10), await budget.reserve(worst, kind="kind", sent=10)
    assert (first, second) == (Amount(1.0, 5), Amount(1.0, 5))
    budget.settle(first, Amount(1.0, 5))
    budget.settle(second, Amount(2.0, 5))  # more than was reserved
    budget.close()
    assert ledger.total() == (3.0, 10)
    other = LeasedBudget(ledger, "b", 2.5, None, costs)
    other.begin("shard-b", [])
    with pytest.raises(BudgetSpent, match=r"stopped: \$3\.0000 of the budget of \$2\.5000 is spent"):
        await other.reserve(worst, kind="kind", sent=10)


def test_a_shard_that_could_not_begin_keeps_its_account(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.open("a", (4.0, 100))
    LeasedBudget(ledger, "a", 10.0, None).close()  # another process works on it
    assert ledger.total() == (4.0, 100)


@pytest.mark.parametrize(("limit", "amount"), [(120, 1), (3, 1), (1000, 37), (50, 80)])
def test_rates_of_processes_together_keep_the_limit(limit: int, amount: int, tmp_path: Path) -> None:
    clock = FakeClock()
    ledger = Ledger(tmp_path / "ledger.jsonl", clock)
    rates = [LeasedRate(ledger, "requests of server", limit, clock) for _ in range(3)]
    times: list[float] = []
    for _ in range(40):
        for rate in rates:
            times.append(rate.reserve(amount).time)
        clock.time += 1.5
    most = max(limit, amount)
    for start in times:
        in_window = sum(amount for time in times if start <= time < start + 60)
        assert in_window <= most
    # What wasn't used in time goes back, so that hardly anything is lost.
    assert max(times) - times[0] <= max(61 * (120 * amount / most), 40 * 1.5)


def test_workers_below_the_limit_never_wait(tmp_path: Path) -> None:
    clock = FakeClock()
    ledger = Ledger(tmp_path / "ledger.jsonl", clock)
    rates = [LeasedRate(ledger, "requests of server", 600, clock) for _ in range(8)]
    for _ in range(150):  # 480 requests a minute
        for rate in rates:
            assert rate.reserve(1).time == clock.time
        clock.time += 1.0


def test_what_a_request_really_used_is_corrected(tmp_path: Path) -> None:
    clock = FakeClock()
    rate = LeasedRate(Ledger(tmp_path / "ledger.jsonl", clock), "tokens of server", 600, clock)
    first = rate.reserve(10)
    assert first.time == clock.time
    first.correct(595)
    assert rate.reserve(10).time == clock.time + 61, "the debt of 585 and these 10 do not fit into the first minute"


@pytest.mark.parametrize("corrected", [0, 2000, 5000, 8000])
def test_what_a_former_lease_left_is_lost_and_what_it_exceeded_is_owed(corrected: int, tmp_path: Path) -> None:
    clock = FakeClock()
    ledger = Ledger(tmp_path / "ledger.jsonl", clock)
    rate = LeasedRate(ledger, "tokens of server", 60_000, clock)
    first = rate.reserve(5000)
    rate.reserve(3000)  # another lease
    first.correct(corrected)
    before = ledger.reserve("tokens of server", 60_000, 0, 0, 0)[1]
    rate.reserve(1000)
    after = ledger.reserve("tokens of server", 60_000, 0, 0, 0)[1]
    assert after - before == 2, "these 1000 tokens need a lease of their own"
    left = 60_000 - 5000 - 3000 - 1000 - max(0, corrected - 5000)
    other = LeasedRate(ledger, "tokens of server", 60_000, clock)
    assert other.reserve(left).time == clock.time
    assert other.reserve(1).time > clock.time
