"""Stored runs for tests: made by scripted models through the whole chain, or put together by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from mtagent.llm.fake import ScriptedLLM
from mtagent.records import (
    Call,
    Chain,
    Completion,
    Edit,
    Message,
    Rated,
    Rating,
    Segment,
    Stage,
    Step,
    Usage,
    Verdict,
)
from mtagent.store import Run, Store
from tests import jobs
from tests.simulator import chain as simulated


def scripted(usages: Mapping[str, Usage], model: str = "gpt-4o-mini-2024-07-18") -> ScriptedLLM:
    """A model that works as the simulator's, each call with the usage of its purpose."""

    def reply(messages: Sequence[Message], purpose: str) -> Completion:
        text = simulated.improving({"messages": [message.model_dump() for message in messages]})
        return Completion(text=text, model=model, usage=usages[purpose])

    return ScriptedLLM(reply, model="gpt-4o-mini")


def improve(folder: Path, llm: ScriptedLLM, name: str, sources: Sequence[str], **settings: Any) -> None:
    """A run ``name`` of the whole chain in the store of ``folder``, with a model of the test's."""
    (folder / "source.txt").write_text("".join(f"{text}\n" for text in sources), encoding="utf-8")
    place = {"model": llm.model, "store": folder / "store.db", "run": name, "gate": "rate", "rules_first": False}
    jobs.improve(folder / "source.txt", output=folder / f"{name}.txt", llm=llm, **{**place, **settings})


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


def start(opened: Store, name: str = "first", **more: Any) -> Run:
    """A run without settings and inputs."""
    return opened.start(name, settings={}, inputs={}, **more)


def post_edited(name: str, verdict: Verdict = "kept", **of_step: Any) -> Chain:
    """The chain of the segment ``name``, in which one step turned ``before`` into ``after``."""
    fields = {"text": "before" if verdict == "failed" else "after", "cause": "because", **of_step}
    return Chain(
        segment=Segment(id=name, source="source", source_lang="en", target_lang="is", translation="before"),
        steps=(Step(stage="postedit", verdict=verdict, **fields),),
    )


def rated(name: str, *systems: str, error: str | None = None, calls: tuple[Call, ...] = ()) -> list[Rated]:
    """The ratings of the segment ``name`` by some systems, or one, or what became of them instead."""
    of = Segment(id=name, source="source", source_lang="en", target_lang="is")
    rating = None if error else Rating(evaluator="e", score=-1.5, errors=(), calls=calls, signature="e|1")
    return [
        Rated(segment=of, system=system, translation=f"{name} {system}", rating=rating, error=error, calls=calls)
        for system in systems or ("a",)
    ]


def paid(reply: str = "reply", **more: Any) -> tuple[Call, Completion]:
    """A call that cost something, and the completion that it brought."""
    used = Usage(calls=1, input_tokens=7, cached_tokens=1, output_tokens=5, reasoning_tokens=2, cost=0.25)
    answer = Completion(**{"text": reply, "model": "m-2025", "usage": used, **more})
    messages = (Message(role="system", content="constant"), Message(role="user", content=f"about {reply}"))
    return Call(purpose="p", model="m", messages=messages, reply=answer.text, usage=answer.usage), answer


@contextmanager
def sql(path: Path) -> Iterator[sqlite3.Connection]:
    """The file of a store as SQL users open it; what they change is committed."""
    with closing(sqlite3.connect(path)) as connection, connection:
        yield connection


def queried(path: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query to the file of a store."""
    with sql(path) as connection:
        return connection.execute(query).fetchall()
