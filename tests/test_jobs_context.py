"""Documents: what each request shows of them, in which order they are worked on, and what a resumed run sees."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent.config import load
from mtagent.errors import BudgetSpent, ServerError
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.llm.fake import Answer, ScriptedLLM
from mtagent.records import Chain, Completion, Message, Usage
from mtagent.store import Store
from tests.commands import Shell
from tests.jobs import Counting, improve, rate_files
from tests.simulator import Settings, Simulator
from tests.simulator.chain import improving

NIGHT = (
    "The night watch found Ilse Marlow at the gate.",
    "She asked the harbour master for the keys, and he refused.",
    "You must wait until morning, he told her.",
    "Marlow waited, and the harbour master did not sleep either.",
    "At six she had the keys.",
)
_CONTEXT = re.compile(r"<context-(\d+)>(.*?)</context-\1>", re.DOTALL)
_SOURCE = re.compile(r"<source-(\d+)>(.*?)</source-\1>", re.DOTALL)


def paragraphs(document: int) -> list[str]:
    """The five paragraphs of a document, which no other has."""
    return [f"{text} ({document})" for text in NIGHT]


def documents(shell: Shell, number: int) -> Path:
    """A file with so many documents."""
    rows = (
        {"id": f"{n}.{k}", "document": f"d{n}", "source": source}
        for n in range(1, number + 1)
        for k, source in enumerate(paragraphs(n), start=1)
    )
    return shell.write("d.jsonl", *map(json.dumps, rows))


async def simulated(shell: Shell, source: Path, latency: float = 0.0, **settings: Any) -> Simulator:
    """The server after the documents were translated on it."""
    async with Simulator(Settings(behaviour=improving, latency=latency)) as server:
        languages = {"source_lang": "en", "target_lang": "es", "base_url": server.base_url}
        files = Files(source=source, output=shell.folder / "out.jsonl")
        await improve_file(
            load(overrides={**languages, **settings}),
            files,
            command="translate",
            on_start=lambda *_: None,
            on_chain=lambda chain: None,
        )
    return server


def shown(messages: Sequence[dict[str, Any]]) -> tuple[str, list[str]]:
    """The source of a request, and the lines of its context."""
    content = messages[-1]["content"]
    context, source = _CONTEXT.search(content), _SOURCE.search(content)
    assert source
    return source[2], context[2].split("\n") if context else []


@pytest.mark.loopback
async def test_every_request_about_a_paragraph_shows_the_same_and_paragraphs_come_in_order(shell: Shell) -> None:
    shell.write("terms.csv", "source,target", "harbour master,harbour master")
    shell.write("style.md", "Address the reader as usted.")
    server = await simulated(
        shell, documents(shell, 1), context=2, concurrency=64, glossary=Path("terms.csv"), instructions=Path("style.md")
    )
    seen = defaultdict[str, list[list[str]]](list)
    for body in server.requests:
        source, context = shown(body["messages"])
        seen[source].append(context)
        assert body["messages"][0]["content"].endswith("asked for above:\nAddress the reader as usted.")
    sources = paragraphs(1)
    texts = [json.loads(line)["translation"] for line in shell.read("out.jsonl")]
    assert list(seen) == sources
    assert all(context == contexts[0] for contexts in seen.values() for context in contexts)
    # translated, rated, compared in both orders; where there was an error, proofread and compared too
    assert [len(contexts) for contexts in seen.values()] == [2 if "correcto" not in text else 7 for text in texts]

    def before(k: int) -> list[str]:
        return [f"Source before: {sources[k]}", f"Its translation so far: {texts[k]}"]

    assert [contexts[0] for contexts in seen.values()] == [
        [f"Next source: {sources[1]}"],
        [*before(0), f"Next source: {sources[2]}"],
        [*before(0), *before(1), f"Next source: {sources[3]}"],
        [
            *before(1),
            *before(2),
            f"Next source: {sources[4]}",
            "Names left as they are so far: Marlow",
            "Terms so far: harbour master = harbour master",
        ],
        [*before(2), *before(3)],
    ]
    assert any("correcto" in text for text in texts)  # what is shown is the final text, and not the first draft


@pytest.mark.loopback
async def test_64_documents_are_in_flight_and_each_is_worked_in_order(shell: Shell) -> None:
    server = await simulated(
        shell, documents(shell, 66), 0.25, context=1, concurrency=64, stages=("translate", "postedit"), gate="guards"
    )
    entries = sorted(server.journal.entries, key=lambda entry: entry.start)
    order, ends = defaultdict[str, list[str]](list), dict[str, float]()
    for entry in entries:
        source, context = shown(entry.body["messages"])
        paragraphs_so_far = order[source[source.rindex("(") :]]
        if source not in paragraphs_so_far:
            assert all(ends[former] <= entry.start for former in paragraphs_so_far)
            paragraphs_so_far.append(source)
        ends[source] = entry.finish
        assert any(line.startswith("Its translation so far") for line in context) == (len(paragraphs_so_far) > 1)
    assert sorted(order.values()) == sorted(paragraphs(n) for n in range(1, 67))
    assert max(sum(other.start <= entry.start < other.finish for other in entries) for entry in entries) == 64


# --- resuming, failing, limits


def story(document: str = "d", number: int = 4) -> Iterable[str]:
    return (
        json.dumps({"id": f"{document}{k}", "document": document, "source": f"Say {document}{k}."})
        for k in range(1, number + 1)
    )


def translator(failing: Sequence[str] = (), error: Exception | None = None, marks: str = "+") -> ScriptedLLM:
    """Translates by a mark; fails where the source is among ``failing``."""

    def reply(messages: Sequence[Message], purpose: str) -> Answer:
        source, _ = shown([message.model_dump() for message in messages])
        if source in failing:
            return error or ServerError("away", 500)
        return Completion(text=f"{source}{marks}", model="m", usage=Usage(calls=1, input_tokens=1, output_tokens=1))

    return ScriptedLLM(reply)


def contexts(run: str) -> list[str | None]:
    with Store("store.db") as store:
        return [chain.segment.context for chain in store.read(run).chains()]


TRANSLATE = {"stages": ("translate",), "gate": "none", "output": "o.jsonl"}


def test_a_resumed_run_shows_what_an_uninterrupted_one_shows(shell: Shell) -> None:
    source = shell.write("s.jsonl", *story("a"), *story("b"))
    with pytest.raises(BudgetSpent):
        improve(source, llm=translator(["Say b3."], BudgetSpent("spent")), context=2, run="part", **TRANSLATE)
    assert 0 < len(contexts("part")) < 8
    improve(source, llm=translator(), context=2, run="part", **TRANSLATE)
    model = translator()
    improve(source, llm=model, context=2, run="whole", **TRANSLATE)
    assert model.requests == []  # all are known from the other run
    assert contexts("part") == contexts("whole")
    assert contexts("whole")[2] == (
        "Source before: Say a1.\nIts translation so far: Say a1.+\n"
        "Source before: Say a2.\nIts translation so far: Say a2.+\nNext source: Say a4."
    )


def test_a_failed_segment_does_not_stop_its_document_and_shows_its_source_alone(shell: Shell) -> None:
    source = shell.write("s.jsonl", *story())
    improve(source, llm=translator(["Say d2."]), context=1, run="r", **TRANSLATE)
    failed = [None, None, "Source before: Say d2.\nNext source: Say d4.", None]
    assert [now for now, was in zip(contexts("r"), failed, strict=True) if was] == [failed[2]]
    improve(source, llm=translator(), context=1, run="r", **TRANSLATE)
    again = contexts("r")
    assert again[1] == "Source before: Say d1.\nIts translation so far: Say d1.+\nNext source: Say d3."
    assert again[2] == failed[2]  # it was done already, and stays as it is


def test_a_given_translation_is_shown_as_the_chain_left_it(shell: Shell) -> None:
    shell.write("s.txt", "The cat sat here.", "It ran.")
    shell.write("t.txt", "El gato se sentó aquí", "Corrió.")
    improve("s.txt", "t.txt", "o.txt", context=1, run="r")  # offline, the rules mend the end of the first
    assert contexts("r") == [
        "Next source: It ran.",
        "Source before: The cat sat here.\nIts translation so far: El gato se sentó aquí.",
    ]


def test_a_run_without_context_is_named_as_before_and_one_with_another_context_is_another(shell: Shell) -> None:
    settings = load(overrides={"source_lang": "en"}).for_results()
    assert (settings["context"], "instructions" in settings) == (0, False)
    source = shell.write("s.jsonl", *story())
    names = {improve(source, llm=translator(), context=size, **TRANSLATE).name for size in (0, 1, 2)}
    assert len(names) == 3


def test_documents_without_end_do_not_keep_the_others_waiting(shell: Shell) -> None:
    """Of a long document and a short one behind it, both are under way at once."""
    source = shell.write("s.jsonl", *story("a", 30), *story("b", 2))
    order: list[str] = []
    improve(
        source,
        llm=translator(),
        context=1,
        concurrency=2,
        on_chain=lambda chain: order.append(chain.segment.id),
        **TRANSLATE,
    )
    assert order.index("b2") < order.index("a5")
    assert [name for name in order if name[0] == "a"] == [f"a{k}" for k in range(1, 31)]


# --- what is rated


def rated_contexts(shell: Shell, systems: str) -> list[str | None]:
    seen: dict[str, str | None] = {}

    class Noting(Counting):
        async def rate(self, segment: Any, translation: str) -> Any:
            seen[segment.id] = segment.context
            return await super().rate(segment, translation)

    rate_files(Noting(), systems, context=1)
    return list(seen.values())


def test_a_rating_shows_the_translations_of_the_only_system_and_of_several_none(shell: Shell) -> None:
    shell.write("en.txt", "One Marlow.", "Two Marlow.")
    shell.write("a.txt", "Uno Marlow.", "Dos Marlow.")
    shell.write("b.txt", "Un Marlow.", "Do Marlow.")
    before = "Source before: One Marlow."
    own = f"{before}\nIts translation so far: Uno Marlow.\nNames left as they are so far: Marlow"
    assert rated_contexts(shell, "a") == ["Next source: Two Marlow.", own]
    assert rated_contexts(shell, "ab") == ["Next source: Two Marlow.", before]


# --- before anything is sent


def test_a_dry_run_shows_the_neighbours_and_the_instructions_and_says_what_is_not_known_yet(shell: Shell) -> None:
    shell.write("style.md", "Use the formal you.")
    line = "--dry-run --base-url http://127.0.0.1:9/v1 --context 1 --instructions style.md"
    done = shell(f"translate -s en.txt -l en-es --stages tpp {line}")
    assert done.out.count("Use the formal you.") == done.out.count("--- segment") == 9
    assert "Its translation so far: (the translation of the stage before)" in done.out
    assert "Next source: Hello big world." in done.out
    rated = shell(f"rate -s en.txt -t es.txt -l en-es --evaluator gemba-da {line}")
    assert rated.out.count("Use the formal you.") == 3
    assert "Its translation so far: Hola gran mundo." in rated.out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "style.md: is empty"),
        (b"\xff\xfe", "style.md: is not UTF-8"),
        (b"x" * 20_001, "style.md: has 20,001 characters, and instructions are sent with every request: shorten"),
        (b"a\0b", "style.md: holds the control character U+0000: save it as plain text"),
        (None, "style.md: no such file"),
    ],
)  # fmt: skip
def test_instructions_that_cannot_be_shown_are_refused_before_anything_is_sent(
    content: bytes | None, message: str, shell: Shell
) -> None:
    if content is not None:
        (shell.folder / "style.md").write_bytes(content)
    for command in ("postedit -s en.txt -t es.txt", "rate -s en.txt -t es.txt --evaluator gemba-da"):
        done = shell(f"{command} -l en-es --base-url http://127.0.0.1:9/v1 --instructions style.md")
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert message in done.err
    assert shell.runs() == {}


def test_other_instructions_are_another_run_and_stand_in_the_signatures(shell: Shell) -> None:
    signatures = []
    for text in ("Say usted.", "Say tú."):
        shell.write("style.md", text)
        chains: list[Chain] = []
        model = ScriptedLLM(lambda messages, purpose: improving({"messages": [m.model_dump() for m in messages]}))
        summary = improve(llm=model, output="o.txt", instructions=Path("style.md"), on_chain=chains.append)
        signatures.append((summary.name, summary.settings["signatures"]["postedit"]))
        calls = [call for chain in chains for step in chain.steps for call in step.calls]
        assert len(calls) == len(model.requests)
        assert all(text in call.messages[0].content for call in calls)  # what is on record is what was sent
    assert len({name for name, _ in signatures}) == 2
    assert all("|instructions:#" in signature for _, signature in signatures)
