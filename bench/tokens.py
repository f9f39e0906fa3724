"""Calls and tokens that each evaluator and judge takes for a segment of about 30 words. ``python -m bench.tokens``.

The model is the tests' simulator, which answers every prompt briefly and well; tokens are those of OpenAI's o200k
vocabulary, counted here (package ``bpe-openai``), with four for the frame of each message. Two translations of one
source are rated: one without errors, and one with a major and a minor error; the judges compare the two. With
``--prompts`` it prints the constant part of each prompt, for English to Spanish: the system message and the examples.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from bpe_openai import get_encoding

from mtagent.config import Config
from mtagent.evaluators.registry import Surroundings, make_evaluator, make_pairwise
from mtagent.llm import prompts
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.reply import read_tool_calls
from mtagent.llm.request import sent_tool
from mtagent.records import Completion, Message, Segment, TokenLogprob, Usage
from mtagent.store import default_path
from tests.simulator.evaluators import answer

SPECS = (
    "rubric-mqm", "gemba-mqm", "gemba-esa", "gemba-da", "gemba-sqm", "eaprompt", "eaprompt:steps=1", "single-agent",
    "m-mad", "m-mad:strategy=deliberation", "himate:stages=se", "himate", "rate", "mqm-ape",
)  # fmt: skip
JUDGES = ("pairwise", "pairwise:reason=yes")
PUBLISHED = {
    "rubric-mqm": "1,450–2,100", "gemba-mqm": "1,276", "eaprompt": "340 + 41", "m-mad": "5.5k–36k", "rate": "about 6k",
}  # fmt: skip
SOURCE = (
    "The city council decided on Tuesday evening that the old bridge over the river will stay closed to all traffic "
    "until the end of the year, because its pillars need urgent repairs."
)
GOOD = (
    "El consejo municipal decidió el martes por la noche que el viejo puente sobre el río permanecerá cerrado a "
    "todo el tráfico hasta finales de año, porque sus pilares necesitan reparaciones urgentes."
)
BAD = GOOD.replace("viejo puente", "errado puente").replace("pilares", "roto pilares")
FRAME = 4
_VOCABULARY = get_encoding("o200k_base")


def measure_judges() -> str:
    """A table in Markdown: what one comparison, in both orders, takes."""
    lines = [
        "| judge | calls | input | output | constant part of a request |",
        "|---|---|---|---|---|",
    ]
    segment = Segment(id="1", source=SOURCE, source_lang="en", target_lang="es")
    for spec in JUDGES:
        llm = ScriptedLLM(_reply)
        judge = make_pairwise(spec, Surroundings(llm=llm, config=Config(), data_folder=default_path().parent))
        calls = asyncio.run(judge.compare(segment, BAD, GOOD)).calls
        usage = Usage.total(call.usage for call in calls)
        constant = sum(map(_tokens, llm.requests[0].messages[:-1]))
        lines.append(
            f"| `{spec}` | {usage.calls:,} | {usage.input_tokens:,} | {usage.output_tokens:,} | {constant:,} |"
        )
    return "\n".join(lines)


def measure_prompts() -> str:
    """A table in Markdown: the constant part of each prompt, without the parts that only some settings show."""
    lines = ["| prompt | version | constant part |", "|---|---|---|"]
    for name in prompts.names():
        prompt = prompts.load(name)
        conditions = {part.when for part in (*prompt.system, *prompt.user)}
        conditions |= {example.when for example in prompt.examples}
        values: dict[str, str | None] = dict.fromkeys(prompt.variables, "")
        values |= dict.fromkeys(filter(None, conditions))
        values |= {"lp": "en-es", "source_language": "English", "target_language": "Spanish"}
        constant = sum(map(_tokens, prompt.render(values)[:-1]))
        lines.append(f"| `{name}` | {prompt.version} | {constant:,} |")
    return "\n".join(lines)


def measure() -> str:
    """A table in Markdown."""
    lines = [
        "| evaluator | calls, no error | input | output | calls, two errors | input | output | published input |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for spec in SPECS:
        cells = [f"{value:,}" for text in (GOOD, BAD) for value in asyncio.run(_rated(spec, text))]
        lines.append(f"| `{spec}` | {' | '.join(cells)} | {PUBLISHED.get(spec, '')} |")
    return "\n".join(lines)


async def _rated(spec: str, translation: str) -> tuple[int, int, int]:
    """Calls, input tokens and output tokens."""
    llm = ScriptedLLM(_reply)
    evaluator = make_evaluator(spec, Surroundings(llm=llm, config=Config(), data_folder=default_path().parent))
    segment = Segment(id="1", source=SOURCE, source_lang="en", target_lang="es")
    rating = await evaluator.rate(segment, translation)
    offered = [sum(_count(json.dumps(sent_tool(tool))) for tool in request.tools) for request in llm.requests]
    return len(rating.calls), rating.usage.input_tokens + sum(offered), rating.usage.output_tokens


def _reply(messages: Sequence[Message], purpose: str) -> Completion:
    said = answer({"messages": [message.model_dump() for message in messages]})
    fields: dict[str, Any] = {"content": said} if isinstance(said, str) else dict(said)
    text, calls = fields.get("content") or "", read_tool_calls(fields)
    put_out = _count(text) + sum(_count(call.name + call.arguments) for call in calls)
    return Completion(
        text=text,
        model="simulator",
        tool_calls=calls,
        usage=Usage(calls=1, input_tokens=sum(map(_tokens, messages)), output_tokens=put_out),
        logprobs=(TokenLogprob(token=text, logprob=-0.1),),
    )


def _count(text: str) -> int:
    return len(_VOCABULARY.encode(text))


def _tokens(message: Message) -> int:
    called = sum(_count(call.name + call.arguments) for call in message.tool_calls)
    return _count(message.content) + called + FRAME


if __name__ == "__main__":
    report = measure_prompts() if "--prompts" in sys.argv else f"{measure()}\n\n{measure_judges()}"
    print(report)  # noqa: T201 - a benchmark is read by a person
