"""What docs/how-to/python.md shows, run as it stands there."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mtagent import Rating, Segment, make_segments
from tests.pages import DOCS
from tests.scripted_server import Answer, Request, scripted_server
from tests.simulator import chain as simulated

BLOCKS = re.findall(r"```python\n(.*?)```", (DOCS / "how-to/python.md").read_text(encoding="utf-8"), re.DOTALL)


class Mine:
    """An evaluator of one's own."""

    name = "mine"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        return Rating(evaluator=self.name, score=0.9, errors=())


def answered(request: Request) -> Answer:
    message = {"role": "assistant", "content": simulated.improving(json.loads(request.body))}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return Answer(
        json.dumps({"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
    )


def test_there_are_as_many_blocks_as_are_run_below() -> None:
    assert len(BLOCKS) == 9


@pytest.mark.loopback
@pytest.mark.parametrize("number", range(9))
def test_the_code_on_the_page_works(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    names: dict[str, Any] = {
        "my_translator": lambda text: text.replace("world", "errado mundo"),
        "segments": make_segments(["Hello, world!", "Good night."], None, "en", "is"),
        "f": lambda texts, a, b: [text.upper() for text in texts],
        "my_evaluator": Mine(),
        "get_token": lambda: "token",
        "another_evaluator": Mine(),
    }
    exec("from mtagent import Agent", names)
    with scripted_server() as server:
        server.answer = answered
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        code = compile(BLOCKS[number], "python.md", "exec", flags=0x2000)  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        if code.co_flags & inspect.CO_COROUTINE:
            asyncio.run(eval(code, names))
        else:
            exec(code, names)
        if "app" in names:
            client = pytest.importorskip("fastapi.testclient").TestClient
            with client(names["app"]) as service:
                assert service.post("/translate", params={"text": "Hello, world!"}).json() == "Hello, correcto mundo!"
            gc.unfreeze()
        if "chains" in names:
            assert [chain.text for chain in names["chains"]] == ["Hello, correcto mundo!", "Good night."]
        for name in ("agent", "run"):
            if hasattr(names.get(name), "close"):
                names[name].close()
    if number < 2:
        assert "Good night." in capsys.readouterr().out
