"""Stored runs for tests: made by scripted models through the whole chain, or put together by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtagent.config import load
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.jobs.parts import Given
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Call, Chain, Completion, Edit, Message, Segment, Stage, Step, Usage, Verdict
from mtagent.store import Store
from tests.simulator import chain as simulated

PURPOSES = ("translate", "rate", "proofread", "judge")


def scripted(usages: Mapping[str, Usage], model: str = "gpt-4o-mini-2024-07-18") -> ScriptedLLM:
    """A model that works as the simulator's, each call with the usage of its purpose."""

    def reply(messages: Sequence[Message], purpose: str) -> Completion:
        text = simulated.improving({"messages": [message.model_dump() for message in messages]})
        return Completion(text=text, model=model, usage=usages[purpose])

    return ScriptedLLM(reply, model="gpt-4o-mini")


def improve(folder: Path, llm: ScriptedLLM, name: str, sources: Sequence[str], **settings: Any) -> None:
    """A run ``name`` of the whole chain in the store of ``folder``, with a model of the test's."""
    (folder / "source.txt").write_text("".join(f"{text}\n" for text in sources), encoding="utf-8")
    given = {"source_lang": "en", "target_lang": "es", "model": llm.model, "store": folder / "store.db", "run": name}
    files = Files(source=folder / "source.txt", output=folder / f"{name}.txt")
    start = {"command": "translate", "given": Given(llm=llm), "on_start": lambda *_: None, "on_chain": lambda _: None}
    asyncio.run(improve_file(load(overrides={**given, **settings}), files, **start))


def store(
    path: Path, name: str, *chains: Chain | None, total: int | None = None, settings: Mapping[str, Any] | None = None
) -> None:
    """Save ``chains`` as a run; ``None`` is a segment that it has not come to."""
    with Store(path) as opened:
        begun = opened.start(name, settings=dict(settings or {}), inputs={}, total=total or len(chains))
        for position, chain in enumerate(chains):
            if chain is not None:
                begun.save(position, chain)
        begun.finish()


def segment(number: int, source: str, translation: str | None = None, **more: Any) -> Segment:
    """An English segment to be translated into German."""
    fields = {"source_lang": "en", "target_lang": "de", **more}
    return Segment(id=str(number), source=source, translation=translation, **fields)


def step(
    stage: Stage, text: str, verdict: Verdict = "kept", *, edits: Sequence[Edit] = (), usage: Usage | None = None
) -> Step:
    """A step of one call, where ``usage`` says what it took; two seconds long."""
    calls = () if usage is None else (Call(purpose=stage, model="m", usage=usage),)
    return Step(stage=stage, text=text, verdict=verdict, cause="-", edits=tuple(edits), calls=calls, seconds=2.0)
