"""A Celery application with a filesystem as broker, in the folder that ``CELERY_FOLDER`` names.

The parent process uses the agent, and another one for the same MT function, before Celery forks its workers.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import worker_init

from mtagent import Agent

FOLDER = Path(os.environ["CELERY_FOLDER"])
for name in ("queue", "control", "results"):
    (FOLDER / name).mkdir(parents=True, exist_ok=True)

app = Celery("tests.programs.celery_tasks", broker="filesystem://", backend=f"file://{FOLDER / 'results'}")
app.conf.broker_transport_options = {
    "data_folder_in": str(FOLDER / "queue"),
    "data_folder_out": str(FOLDER / "queue"),
    "control_folder": str(FOLDER / "control"),
}


def translate(text: str) -> str:
    """An MT system that the rules correct: it leaves two spaces."""
    return text.replace("one two", "uno  dos")


shared_agent = Agent(translate)
PARENT = os.getpid()


@worker_init.connect  # type: ignore[untyped-decorator]
def use_before_the_fork(**_: Any) -> None:
    """Start the threads of the MT function and of the agent in the parent."""
    for agent in (shared_agent, Agent(translate)):
        assert agent.translate("one two", "en", "es").text == "uno dos"


@app.task  # type: ignore[untyped-decorator]
def with_shared_agent(text: str) -> tuple[str, bool]:
    """The text, and whether the process is a forked one."""
    return shared_agent.translate(text, "en", "es").text, os.getpid() != PARENT


@app.task  # type: ignore[untyped-decorator]
def with_new_agent(text: str) -> tuple[str, bool]:
    """The same with an agent that the forked process makes."""
    with Agent(translate) as agent:
        return agent.translate(text, "en", "es").text, os.getpid() != PARENT


@app.task  # type: ignore[untyped-decorator]
def with_async_calls(text: str) -> tuple[str, bool]:
    """The same in an event loop of the task."""

    async def run() -> str:
        async with Agent(translate) as agent:
            return (await agent.atranslate(text, "en", "es")).text

    return asyncio.run(run()), os.getpid() != PARENT
