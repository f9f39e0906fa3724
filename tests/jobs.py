"""Jobs from Python, with models and evaluators of a test's own, in the folder and the store of the ``shell``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mtagent.config import load
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files, RatingInputs
from mtagent.jobs.outputs import RatingOutput
from mtagent.jobs.parts import OwnParts
from mtagent.jobs.rate import RatingReport, rate_file, rate_run
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Call, Chain, Message, Rating, Segment, Usage
from mtagent.store import RunSummary
from tests.simulator import chain as simulated

PAID = Call(purpose="rate", model="m", reply="…", usage=Usage(calls=1, input_tokens=10, cost=0.5))
"""The call that each rating of :class:`Counting` costs."""


class Counting:
    """Scores a text by its length, and notes what it was asked; ``answers`` stand in the place of some ratings."""

    name = "counting"

    def __init__(self, answers: Mapping[str, Exception | float] | None = None, signature: str = "counting|1") -> None:
        self.asked: list[tuple[str, str]] = []
        self.answers = answers or {}
        self.signature = signature

    async def rate(self, segment: Segment, translation: str) -> Rating:
        self.asked.append((segment.id, translation))
        answer = self.answers.get(translation, -float(len(translation)))
        if isinstance(answer, Exception):
            raise answer
        return Rating(evaluator=self.name, score=answer, errors=(), calls=(PAID,), signature=self.signature)


def improving() -> ScriptedLLM:
    """A model that works as the simulator's does."""

    def reply(messages: Sequence[Message], purpose: str) -> str:
        return simulated.improving({"messages": [message.model_dump() for message in messages]})

    return ScriptedLLM(reply)


def improve(
    source: str | Path = "en.txt",
    translation: str | None = None,
    output: str | Path = "out.txt",
    *,
    llm: ScriptedLLM | None = None,
    translator: Any = None,
    evaluator: Any = None,
    on_chain: Callable[[Chain], None] = lambda chain: None,
    **settings: Any,
) -> RunSummary:
    """Improve a file from English into Spanish; offline without ``llm``."""
    given = Path(translation) if translation else None
    return asyncio.run(
        improve_file(
            load(overrides={"source_lang": "en", "target_lang": "es", **settings}),
            Files(source=Path(source), translation=given, output=Path(output)),
            command="postedit" if given else "translate",
            own=OwnParts(llm=llm, translator=translator, evaluator=evaluator),
            on_start=lambda *_: None,
            on_chain=on_chain,
        )
    )


def rate_files(
    evaluator: Any = None,
    systems: Iterable[str] = ("a", "b"),
    *,
    llm: ScriptedLLM | None = None,
    source: str = "en.txt",
    **settings: Any,
) -> RatingReport:
    """Rate the files of ``systems``, such as ``a.txt``, into ``o.jsonl``."""
    config = load(overrides={"source_lang": "en", "target_lang": "es", **settings})
    inputs = RatingInputs(Path(source), tuple((name, Path(f"{name}.txt")) for name in systems))
    own = OwnParts(evaluator=evaluator, llm=llm)
    return asyncio.run(rate_file(config, inputs, RatingOutput(Path("o.jsonl")), own=own))


def rate_stages(run: str, evaluator: Any) -> RatingReport:
    """Rate the stages of a stored run into ``o.jsonl``."""
    return asyncio.run(rate_run(load(), run, RatingOutput(Path("o.jsonl")), own=OwnParts(evaluator=evaluator)))
