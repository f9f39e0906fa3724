"""The requests that a rating run would begin with, without sending any, for whatever evaluator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from mtagent.build import Given, assembled_evaluator
from mtagent.candidates import Candidates
from mtagent.config import Config
from mtagent.dry_run import Listener, Rendered, rendered
from mtagent.rate_segment import rate_segment


async def first_requests(config: Config, candidates: Iterable[Candidates]) -> AsyncIterator[Rendered]:
    """What is asked first about each segment; what follows depends on the replies. None where no model is asked."""
    listener = Listener(config)
    async with assembled_evaluator(config, Given() if config.offline else Given(llm=listener)) as evaluator:
        for one in candidates:
            listener.heard.clear()
            await rate_segment(one, evaluator)  # every rating fails, for want of a reply
            for heard in listener.heard:
                yield rendered(f"segment {one.segment.id}", heard)
