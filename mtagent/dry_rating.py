"""The requests that a rating run would begin with, without sending any, for whatever evaluator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from mtagent.build import Given, assembled_evaluator
from mtagent.candidates import Candidates
from mtagent.config import Config
from mtagent.dry_run import Listener, Rendered, estimated_tokens
from mtagent.rate_segment import rate_segment
from mtagent.records import Message


async def first_requests(config: Config, candidates: Iterable[Candidates]) -> AsyncIterator[Rendered]:
    """What is asked first about each segment; what follows depends on the replies. None where no model is asked."""
    listener = Listener(config)
    async with assembled_evaluator(config, Given() if config.offline else Given(llm=listener)) as evaluator:
        for one in candidates:
            listener.heard.clear()
            await rate_segment(one, evaluator)  # every rating fails, for want of a reply
            for purpose, messages in listener.heard:
                yield _rendered(one.segment.id, purpose, messages)


def _rendered(segment: str, purpose: str, messages: tuple[Message, ...]) -> Rendered:
    shown = "\n".join(f"[{message.role}]\n{message.content}" for message in messages)
    return Rendered(f"--- segment {segment}, {purpose}\n{shown}\n", estimated_tokens(messages))
