"""A service with FastAPI, as docs/how-to/python.md shows it; the MT system fails on the text ``broken``.

Loaded before a fork, the agent is used there, too.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Response

from mtagent import Agent, Chain
from mtagent.errors import MtagentError


def translate_by_machine(text: str) -> str:
    """An MT system that the rules correct: it leaves two spaces."""
    if text == "broken":
        raise ConnectionError("no reply")
    return text.replace("one two", "uno  dos")


agent = Agent(translate_by_machine)
assert agent.translate("one two", "en", "es").text == "uno dos"
PARENT = os.getpid()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the agent in the worker process."""
    async with agent:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/translate")
async def translate(text: str, response: Response) -> Chain:
    """The chain of a text."""
    response.headers["X-Process"] = str(os.getpid())
    response.headers["X-Forked"] = str(os.getpid() != PARENT)
    try:
        return await agent.atranslate(text, "en", "es", timeout=30)
    except MtagentError as error:
        raise HTTPException(502, "the translation failed") from error
