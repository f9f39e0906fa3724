"""The requests that a rating run would begin with, without sending any, for whatever evaluator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Never

from mtagent.build import Given, assembled_evaluator
from mtagent.candidates import Candidates
from mtagent.config import DEFAULT_MODEL, Config
from mtagent.dry_run import Rendered, estimated_tokens
from mtagent.rate_segment import rate_segment
from mtagent.records import Message, Schema, Tool

_PATIENCE = 200  # turns of the event loop in which a first request must come: an evaluator only renders before it


class _Unsent:
    """A model that notes what it is asked, and never answers."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.asked: list[tuple[str, tuple[Message, ...]]] = []

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        logprobs: bool = False,
        tools: Sequence[Tool] = (),
        purpose: str = "",
        segment: str = "",
    ) -> Never:
        """Wait until the work is given up."""
        self.asked.append((purpose, tuple(messages)))
        await asyncio.Event().wait()
        raise AssertionError("nobody wakes it")


async def first_requests(config: Config, candidates: Iterable[Candidates]) -> AsyncIterator[Rendered]:
    """What is asked first about each segment; what follows depends on the replies. None where no model is asked."""
    model = _Unsent(config.model or DEFAULT_MODEL)
    async with assembled_evaluator(config, Given() if config.offline else Given(llm=model)) as evaluator:
        for one in candidates:
            work = asyncio.ensure_future(rate_segment(one, evaluator))
            for _ in range(_PATIENCE):
                await asyncio.sleep(0)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            for purpose, messages in model.asked:
                yield _rendered(one.segment.id, purpose, messages)
            model.asked.clear()


def _rendered(segment: str, purpose: str, messages: tuple[Message, ...]) -> Rendered:
    shown = "\n".join(f"[{message.role}]\n{message.content}" for message in messages)
    return Rendered(f"--- segment {segment}, {purpose}\n{shown}\n", estimated_tokens(messages))
