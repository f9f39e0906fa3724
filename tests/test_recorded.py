"""Recorded replies come back; an unknown request says what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtagent.errors import ConfigError, InputError, OutputError, ServerError
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.protocol import LLM
from mtagent.llm.recorded import Recorder, Replayer
from mtagent.records import Completion, Message, TokenLogprob, Tool, ToolCall, Usage

SYSTEM = Message(role="system", content="Mark the errors.")
FULL = Completion(
    text="Góðan dag\u2028",
    model="m-2026",
    usage=Usage(calls=1, input_tokens=9, output_tokens=2, cost=0.5),
    logprobs=(TokenLogprob(token="G", logprob=-0.5),),
)


def asking(text: str) -> tuple[Message, ...]:
    return (SYSTEM, Message(role="user", content=text))


async def recorded(path: Path, **asked: str | Completion) -> Path:
    recorder = Recorder(ScriptedLLM(list(asked.values()), model="m"), path)
    assert isinstance(recorder, LLM)
    for text in asked:
        await recorder.complete(asking(text.strip("_")), purpose="rate")
    return path


async def test_a_recorded_reply_comes_back_whole_and_free(tmp_path: Path) -> None:
    replayer = Replayer(await recorded(tmp_path / "r.jsonl", hello=FULL))
    assert isinstance(replayer, LLM)
    completion = await replayer.complete(asking("hello"))
    assert (completion.text, completion.model, completion.logprobs) == (FULL.text, FULL.model, FULL.logprobs)
    assert completion.usage == Usage(reused=1, input_tokens=9, output_tokens=2, cost=0.0)


async def test_the_same_request_gets_its_replies_in_order_and_then_the_last_again(tmp_path: Path) -> None:
    replayer = Replayer(await recorded(tmp_path / "r.jsonl", hello="first", hello_="second"))
    assert [(await replayer.complete(asking("hello"))).text for _ in range(3)] == ["first", "second", "second"]


async def test_a_failed_request_is_not_recorded(tmp_path: Path) -> None:
    recorder = Recorder(ScriptedLLM([ServerError("down")]), tmp_path / "r.jsonl")
    with pytest.raises(ServerError):
        await recorder.complete(asking("hello"))
    assert not (tmp_path / "r.jsonl").exists()


@pytest.mark.parametrize(
    ("messages", "schema", "difference"),
    [
        (asking("hello word"), None, r"message 2 \(user\), character 9: recorded 'ld', asked 'd'"),
        ((SYSTEM, Message(role="assistant", content="hello world")), None, "recorded as user, asked as assistant"),
        ((*asking("hello world"), SYSTEM), None, "has 2 messages, this one 3"),
        (asking("hello world"), {"type": "object"}, "differs in the schema"),
    ],
)
async def test_an_unknown_request_shows_the_nearest_difference(
    tmp_path: Path, messages: tuple[Message, ...], schema: dict[str, str] | None, difference: str
) -> None:
    path = await recorded(tmp_path / "r.jsonl", other="x", **{"hello world": "y"}, another="z")
    with pytest.raises(InputError, match=rf"r\.jsonl: no recorded reply to this request \(judge\); .*{difference}"):
        await Replayer(path).complete(messages, schema=schema, purpose="judge")


async def test_logprobs_are_part_of_the_request(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="differs in logprobs=True"):
        await Replayer(await recorded(tmp_path / "r.jsonl", hello="x")).complete(asking("hello"), logprobs=True)


async def test_tool_calls_come_back_and_tools_are_part_of_the_request(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    tools = [Tool(name="search", description="Looks something up.", parameters={})]
    wish = ToolCall(id="1", name="search", arguments="{}")
    await Recorder(
        ScriptedLLM([FULL.model_copy(update={"text": "", "tool_calls": (wish,)})], model="m"), path
    ).complete(asking("hello"), tools=tools)
    completion = await Replayer(path).complete(asking("hello"), tools=tools)
    assert (completion.text, completion.tool_calls) == ("", (wish,))
    with pytest.raises(InputError, match="differs in the tools"):
        await Replayer(path).complete(asking("hello"))


async def test_another_tool_call_in_a_message_is_shown(tmp_path: Path) -> None:
    wishes = [ToolCall(id="1", name="search", arguments=arguments) for arguments in ('{"q": 1}', '{"q": 2}')]
    old, new = ((SYSTEM, Message(role="assistant", content="", tool_calls=(wish,))) for wish in wishes)
    await Recorder(ScriptedLLM(["x"]), tmp_path / "r.jsonl").complete(old)
    with pytest.raises(InputError, match=r"differs in the tool calls of message 2 \(assistant\)"):
        await Replayer(tmp_path / "r.jsonl").complete(new)


async def test_two_models_in_one_file_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    for model in ("editor", "judge"):
        await Recorder(ScriptedLLM([f"from {model}"], model=model), path).complete(asking("hello"))
    with pytest.raises(ConfigError, match="holds replies of editor, judge; say which"):
        Replayer(path)
    assert (await Replayer(path, model="judge").complete(asking("hello"))).text == "from judge"
    with pytest.raises(InputError, match="nothing is recorded for nobody"):
        await Replayer(path, model="nobody").complete(asking("hello"))


def test_broken_and_missing_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with pytest.raises(InputError, match=r"r\.jsonl: No such file"):
        Replayer(path)
    path.write_text('\n{"key": 1}\n')
    with pytest.raises(InputError, match=r"r\.jsonl:2: not a recorded reply"):
        Replayer(path)
    path.write_text("{")
    with pytest.raises(InputError, match=r"r\.jsonl:1: not a recorded reply"):
        Replayer(path)


async def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="absent"):
        await Recorder(ScriptedLLM(["x"]), tmp_path / "absent" / "r.jsonl").complete(asking("hello"))
