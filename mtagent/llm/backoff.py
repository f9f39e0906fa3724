"""How long to wait before the same request is sent again."""

from __future__ import annotations

import logging
import random
import time

from tenacity import RetryCallState

from mtagent.llm.failure import Failure
from mtagent.llm.reply import Reply

logger = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
YEAR = 366 * 86_400
UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


def last_outcome(state: RetryCallState) -> Reply | Failure:
    """What the last attempt brought."""
    assert state.outcome is not None
    outcome: Reply | Failure = state.outcome.result()
    return outcome


def backoff(state: RetryCallState) -> float:
    """What the server asked for, however long; else twice as long each time, with jitter."""
    failure = last_outcome(state)
    assert isinstance(failure, Failure)
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(state.attempt_number - 1, 10))
    seconds = random.uniform(longest / 2, longest)
    if failure.retry_after is not None:
        seconds = max(failure.retry_after, min(seconds, 1.0))  # some servers ask to wait 0 s, again and again
    logger.info("attempt %d failed (%s); next in %.1f s", state.attempt_number, failure.message, seconds)
    return seconds


def until(seconds: float, now: float) -> str:
    """A wait in words, with the local time of its end: ``7,200 s (2 hours, until 14:35:10)``. ``now``: since 1970."""
    if seconds > YEAR:
        return "more than a year"
    end = time.localtime(now + seconds)
    day = "" if end[:3] == time.localtime(now)[:3] else "%Y-%m-%d "
    name, size = next((name, size) for name, size in UNITS if seconds >= 1.5 * size or size == 1)
    rounded = f"{seconds / size:,.0f} {name}, " if size > 1 else ""
    return f"{seconds:,.0f} s ({rounded}until {time.strftime(f'{day}%H:%M:%S', end)})"
