"""What holds for every evaluator that asks a model: what it shows, that it asks again, and that it has no memory."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.config import Config
from mtagent.errors import ConfigError, RatingParseError
from mtagent.evaluators.protocol import Evaluator
from mtagent.evaluators.registry import Surroundings, make_evaluator
from mtagent.llm.fake import ScriptedLLM
from mtagent.llm.reply import read_tool_calls
from mtagent.records import Completion, Message, Segment, Term, TokenLogprob, Usage
from tests.codes import without_codes
from tests.simulator.evaluators import answer

TEXT = "El errado puente sobre el río permanecerá cerrado."
SEGMENT = Segment(
    id="1",
    source="The old bridge over the river </source> stays closed.",
    source_lang="en",
    target_lang="es",
    reference="SECRET REFERENCE",
    domain="traffic",
    notes="NOTED",
    context="BEFORE IT.",
    terms=(Term(source="bridge"),),
)
REFERENCED = ("rubric-mqm", "gemba-mqm", "gemba-esa", "gemba-da", "gemba-sqm", "eaprompt", "eaprompt:steps=1")
OTHERS = ("single-agent", "mqm-ape", "m-mad", "m-mad:strategy=interactive-review,rounds=2", "himate", "rate")
ALL = (*REFERENCED, *OTHERS)


def simulated(messages: Sequence[Message], purpose: str) -> Completion:
    """What the tests' simulator answers, with log-probabilities."""
    said = answer({"messages": [message.model_dump() for message in messages]})
    fields = {"content": said} if isinstance(said, str) else dict(said)
    text = fields.get("content") or ""
    return Completion(
        text=text,
        model="m",
        tool_calls=read_tool_calls(fields),
        usage=Usage(calls=1),
        logprobs=(TokenLogprob(token=text, logprob=-0.1),),
    )


def made(
    spec: str, reply: Callable[[Sequence[Message], str], Completion | str] = simulated
) -> tuple[Evaluator, ScriptedLLM]:
    llm = ScriptedLLM(reply)
    return make_evaluator(spec, Surroundings(llm=llm, config=Config(), data_folder=Path("nowhere"))), llm


@pytest.mark.parametrize("spec", ALL)
async def test_what_is_known_of_a_segment_is_shown_and_the_constant_part_comes_first(spec: str) -> None:
    evaluator, llm = made(spec)
    await evaluator.rate(SEGMENT, TEXT)
    other, of_other = made(spec)
    await other.rate(SEGMENT.model_copy(update={"source": "Else.", "domain": "law"}), TEXT.replace("río", "mar"))
    by_purpose = {request.purpose: request for request in reversed(of_other.requests)}
    seen = set()
    for request in llm.requests:
        first, last = request.messages[:-1], without_codes(request.messages[-1].content)
        assert not any("SECRET" in message.content or "old bridge" in message.content for message in first[:1])
        in_talk = request.purpose.startswith("m-mad") and not request.purpose.endswith("annotate")
        if (
            request.purpose not in seen
            and not in_talk
            and not request.purpose.startswith(("rate-core", "verify", "count"))
        ):
            assert first == by_purpose[request.purpose].messages[:-1]
            assert f"<source>{SEGMENT.source}</source>" in last
            for known in ("<domain>traffic<", "<notes>NOTED<", "<context>BEFORE IT.<", "bridge = keep as it is"):
                assert known in last
        seen.add(request.purpose)
        assert "SECRET" not in last


@pytest.mark.parametrize("spec", REFERENCED)
async def test_a_reference_is_shown_where_that_is_asked_for(spec: str) -> None:
    evaluator, llm = made(f"{spec}{',' if ':' in spec else ':'}reference=yes")
    await evaluator.rate(SEGMENT, TEXT)
    assert "SECRET REFERENCE" in llm.requests[0].messages[-1].content
    assert "|reference:yes|" in getattr(evaluator, "signature", "")


@pytest.mark.parametrize("spec", ALL)
async def test_an_unreadable_reply_is_asked_for_once_more(spec: str) -> None:
    asked: list[str] = []

    def reply(messages: Sequence[Message], purpose: str) -> Completion | str:
        asked.append(purpose)
        return "Well done!" if len(asked) == 1 else simulated(messages, purpose)

    evaluator, llm = made(spec, reply)
    rating = await evaluator.rate(SEGMENT, TEXT)
    usual = await made(spec)[0].rate(SEGMENT, TEXT)
    assert (rating.score, rating.errors) == (usual.score, usual.errors)
    assert len(rating.calls) == len(usual.calls) + 1
    assert rating.usage.calls == len(llm.requests) == len(rating.calls)
    failed = [call for call in rating.calls if call.error]
    assert [call.reply for call in failed] == ["Well done!"]
    again = [call for call in rating.calls if call.messages[-2:][0].content == "Well done!"]
    assert len(again) == 1
    assert "could not be used" in again[0].messages[-1].content


@pytest.mark.parametrize("spec", ALL)
async def test_two_unreadable_replies_are_an_error_that_keeps_the_calls(spec: str) -> None:
    evaluator, _ = made(spec, lambda messages, purpose: "The translation is excellent!")
    with pytest.raises(RatingParseError) as caught:
        await evaluator.rate(SEGMENT, TEXT)
    assert sum(call.reply == "The translation is excellent!" for call in caught.value.calls) >= 2


class Slow(ScriptedLLM):
    """Takes a tenth of a second, and counts how many requests of each kind wait at once."""

    def __init__(self) -> None:
        super().__init__(simulated)
        self.waiting, self.most = Counter[str](), Counter[str]()

    async def complete(self, messages: Sequence[Message], **asked: Any) -> Completion:
        step = re.sub(r" [\w ]+/.*|m-mad (\w+ (?=\w))?|round \d ", "", asked["purpose"])
        self.waiting[step] += 1
        self.most[step] = max(self.most[step], self.waiting[step])
        await asyncio.sleep(0.1)
        self.waiting[step] -= 1
        return await super().complete(messages, **asked)


@pytest.mark.parametrize(
    ("spec", "words", "at_once"),
    [
        ("himate", "errado ajeno roto", {"evaluate": 19, "correct": 3, "verify": 3, "discuss": 3}),
        (
            "m-mad:rounds=1",
            "errado ajeno",
            {"annotate": 4, "supporter": 2, "opponent": 2, "checker": 2, "judge": 1},
        ),
        ("rate", "errado", {"rate-core": 1, "rate-evaluate": 1, "rate-compare": 2}),
    ],
)
async def test_independent_calls_go_out_at_the_same_time(spec: str, words: str, at_once: dict[str, int]) -> None:
    llm = Slow()
    evaluator = make_evaluator(spec, Surroundings(llm=llm, config=Config(), data_folder=Path("nowhere")))
    await evaluator.rate(SEGMENT, TEXT.replace("errado", words))
    assert llm.most == at_once


@pytest.mark.parametrize("spec", ALL)
async def test_a_rating_does_not_depend_on_the_one_before(spec: str) -> None:
    evaluator, llm = made(spec)
    first = await evaluator.rate(SEGMENT, TEXT)
    calls = len(llm.requests)
    await evaluator.rate(SEGMENT.model_copy(update={"id": "8", "source": "Other."}), "Otro perro.")
    again = await evaluator.rate(SEGMENT, TEXT)
    assert (again.score, again.errors, again.signature) == (first.score, first.errors, first.signature)
    assert sorted(str(r.messages) for r in llm.requests[:calls]) == sorted(
        str(r.messages) for r in llm.requests[-calls:]
    )
    assert all(call.messages and call.reply is not None for call in first.calls)
    assert first.seconds > 0


@pytest.mark.parametrize(
    ("spec", "signed"),
    [
        ("rubric-mqm:scale=1-8,forced=yes", ("|prompt:rubric-mqm-8@", "|scale:1-8|forced:yes|reference:no|")),
        ("gemba-mqm", ("|prompt:gemba-mqm@", "|weights:gemba|reference:no|")),
        ("gemba-esa", ("|prompt:gemba-esa@", "|prompt:gemba-esa-score@", "|scale:0-100|")),
        ("eaprompt", ("|prompt:eaprompt-errors@", "|prompt:eaprompt-count@", "|steps:2|reference:no|")),
        ("eaprompt:steps=1", ("|prompt:eaprompt-once@", "|steps:1|")),
        ("single-agent", ("|prompt:single-agent@", "|typology:himate#", "|weights:himate|")),
        (
            "m-mad:strategy=deliberation,rounds=2",
            ("|prompt:m-mad-accuracy@", "|prompt:m-mad-decide@", "|weights:mmad|strategy:deliberation|"),
        ),
        ("himate:stages=se", ("|prompt:himate-subtype@", "|typology:himate#", "|stages:se|")),
        ("rate:rounds=4", ("|prompt:rate-core@", "|rounds:4|search:none|order:1|")),
    ],
)
async def test_a_rating_is_signed_with_all_that_it_depends_on(spec: str, signed: tuple[str, ...]) -> None:
    rating = await made(spec)[0].rate(SEGMENT, TEXT)
    assert rating.signature.startswith(f"{spec.partition(':')[0]}|model:")
    assert [part for part in signed if part not in rating.signature] == []
    assert "|version:" in rating.signature


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("eaprompt:steps=3", "steps is 1 or 2, not 3"),
        ("rubric-mqm:scale=1-5", "scale"),
        ("m-mad:strategy=interactive-review,rounds=1", "needs at least 2 rounds, not 1"),
        ("m-mad:rounds=0", "needs at least 1 round, not 0"),
        ("himate:turns=0", "a discussion needs at least 1 turn"),
        ("himate:threshold=0.5", "is never reached"),
        ("himate:threshold=nan", "must be a number of at most 0, not nan"),
        ("rate:rounds=1", "rounds=1 is too few"),
    ],
)
def test_options_that_make_no_sense_are_refused(spec: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        made(spec)
