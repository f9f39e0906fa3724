"""What docs/how-to/python.md shows, run as it stands there."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import re
import subprocess
import sys
import textwrap
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


def translated(text: str) -> str:
    """An MT system with a text on which it fails."""
    if text == "broken":
        raise ConnectionError("no reply")
    return text.replace("world", "errado mundo")


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
        "my_translator": translated,
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
                reply = service.post("/translate", params={"text": "Hello, world!"})
                assert reply.json()["text"] == "Hello, correcto mundo!"
                assert "messages" not in reply.text
                assert service.post("/translate", params={"text": "broken"}).status_code == 502
                server.answer = lambda request: Answer("{}", status=401)
                reply = service.post("/translate", params={"text": "Good world."})
                assert (reply.status_code, reply.json()["text"]) == (200, "Good errado mundo.")
            gc.unfreeze()
        if "chains" in names:
            assert [chain.text for chain in names["chains"]] == ["Hello, correcto mundo!", "Good night."]
        for name in ("agent", "run"):
            if hasattr(names.get(name), "close"):
                names[name].close()
    if number < 2:
        assert "Good night." in capsys.readouterr().out


PAGES = (
    *("how-to/python.md", "how-to/evaluator.md", "how-to/measure.md", "how-to/observe.md", "how-to/review.md"),
    *("explanation/safety.md", "reference/meta-eval.md", "reference/scores.md"),
)
"""Pages whose code is complete, apart from these names."""
NAMES = """
from collections.abc import Callable
from mtagent import Agent, Rating, Segment
from mtagent.evaluators.protocol import Evaluator

my_translator: Callable[[str], str]
segments: list[Segment]
f: Callable[[list[str], str, str], list[str]]
my_evaluator: Evaluator
another_evaluator: Evaluator
get_token: Callable[[], str]
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_code_of_the_docs_passes_strict_type_checking(tmp_path: Path) -> None:
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL)):
            code = compile(block, page, "exec", flags=0x2000, dont_inherit=True)
            if code.co_flags & inspect.CO_COROUTINE:
                block = "async def main() -> None:\n" + textwrap.indent(block, "    ")
            (tmp_path / f"{Path(page).stem.replace('-', '_')}_{number}.py").write_text(NAMES + block, encoding="utf-8")
    modules = sorted(map(str, tmp_path.glob("*.py")))
    assert len(modules) > 15
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", "", *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
