"""What caching, repeats and ratings that are used again save, and how near estimates are. ``python -m bench.savings``.

Runs of the chain on the tests' simulator, through the real client, store and price table; tokens are OpenAI's o200k.
``--estimates`` prints the estimates of several settings, ``--probes`` what ``--probe 10`` measures on healthy and
faulty servers, ``--padding`` when a longer prompt would be cheaper.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from bench.chain import MODEL, sample_file
from mtagent.config import load
from mtagent.jobs.estimate import Range, counter, estimate
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.jobs.probe import Probe, probe
from mtagent.llm import prompts
from mtagent.records import Chain, Usage
from tests.simulator import Fault, Settings, Simulator
from tests.simulator.evaluators import answer

INPUT, CACHED, WRITTEN, OUTPUT = 0.1, 0.01, 0.125, 0.5
"""US dollars per million tokens of gpt-6-luna, as in genai-prices."""
SEGMENTS, REPEATED = 200, 60
CACHES: dict[str, tuple[Settings, dict[str, Any]]] = {
    "nothing cached": (Settings(behaviour=answer, o200k=True, cached_tokens=False), {}),
    "prefixes cached": (Settings(behaviour=answer, o200k=True), {}),
    "cached to a mark, none set": (Settings(behaviour=answer, o200k=True, cached_to_marks=True), {}),
    "cached to a mark, `cache_control`": (
        Settings(behaviour=answer, o200k=True, cached_to_marks=True),
        {"cache_control": "openai"},
    ),
}
CHAINS: dict[str, dict[str, Any]] = {
    "default": {},
    "`--gate rate`": {"gate": "rate"},
    "`--evaluator m-mad`": {"evaluator": "m-mad"},
}
ESTIMATED: dict[str, dict[str, Any]] = {
    "default": {},
    "`--go-on`": {"stop_when_error_free": False},
    "`--stages tp`": {"stages": "tp"},
    "`--stages t-pr`": {"stages": "t-pr"},
    "`--gate guards`": {"gate": "guards"},
    "`--gate rate`": {"gate": "rate"},
    "`--gate rate --samples 3`": {"gate": "rate", "samples": 3},
    "`--proposals 2`": {"proposals": 2},
    "`--judge gemba-esa`": {"judge": {"evaluator": "gemba-esa"}},
    "`--judge m-mad`": {"judge": {"evaluator": "m-mad"}},
    "`--preset paper`": {"preset": "paper"},
    **{
        f"`--evaluator {name}`": {"evaluator": name}
        for name in (
            *("gemba-mqm", "gemba-esa", "gemba-da", "eaprompt", "single-agent"),
            *("m-mad", "himate", "rate", "mqm-ape"),
        )
    },
}


PROBED = ("default", "`--gate rate`", "`--preset paper`", "`--evaluator m-mad`")
PROBED_SEGMENTS = 100
SERVERS = {
    "none": Settings(behaviour=answer, o200k=True),
    "10 %": Settings(
        behaviour=answer,
        o200k=True,
        fault_rate=0.1,
        faults=tuple(map(Fault, ("status", "reset", "bad-json", "empty", "truncate", "nonsense"))),
    ),
    "30 %": Settings(
        behaviour=answer, o200k=True, fault_rate=0.3, faults=tuple(map(Fault, ("empty", "truncate", "nonsense")))
    ),
}
"""What fails, and the server."""


class Result(NamedTuple):
    """What a run took, and how many requests were sent before."""

    chains: Sequence[Chain]
    repeated: int = 0

    @property
    def usage(self) -> Usage:
        """Of all chains."""
        return Usage.total(chain.usage for chain in self.chains)

    @property
    def dollars(self) -> float:
        """Of all chains."""
        assert self.usage.cost is not None
        return self.usage.cost

    def row(self, name: str, baseline: Result) -> str:
        """A row of a table, with what is saved of the ``baseline``'s dollars."""
        usage = self.usage
        input_tokens = (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens)
        cells = " | ".join(f"{number:,}" for number in (usage.calls, *input_tokens, usage.output_tokens))
        return f"| {name} | {cells} | ${self.dollars:.4f} | {1 - self.dollars / baseline.dollars:.0%} |"


HEAD = "| | calls | input | cached | written | output | dollars | saved |\n|---|---|---|---|---|---|---|---|"


class Estimates(NamedTuple):
    """What was expected of a run."""

    range: Range
    probe: Probe | None
    """What some of its segments took."""


async def run(
    lines: Sequence[str], settings: Mapping[str, Any], server: Settings, *, probed: int = 0
) -> tuple[Result, Estimates]:
    """What translating ``lines`` takes, in a store of its own, and what was estimated, also by ``probed`` segments."""
    with tempfile.TemporaryDirectory() as name:
        folder, chains = Path(name), list[Chain]()
        source, prices = folder / "en.txt", folder / "prices.toml"
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        prices.write_text(
            f'[[prices]]\nmodel = "{MODEL}"\ninput = {INPUT}\ncached_input = {CACHED}\n'
            f"cache_write = {WRITTEN}\noutput = {OUTPUT}\n",
            encoding="utf-8",
        )
        async with Simulator(server) as simulator:
            places = {"base_url": simulator.base_url, "store": folder / "store.db", "prices": prices}
            config = load(overrides={"source_lang": "en", "target_lang": "es", **places, **settings})
            files = Files(source=source, output=folder / "es.txt")
            ranges = await asyncio.to_thread(estimate, config, files, counter("o200k"))
            measured = None
            if probed:
                with files.opened(config.model_copy(update={"store": folder / "probe.db"})) as inputs:
                    measured = await probe(inputs, probed)
            await improve_file(config, files, command="bench", on_start=lambda *_: None, on_chain=chains.append)
            sent = [entry.sha256 for entry in simulator.journal.entries]
            result = Result(chains, len(sent) - len(set(sent)))
            return result, Estimates(reduce(Range.plus, ranges.values(), Range()), measured)


def in_parts_without_repeats(lines: Sequence[str]) -> list[list[str]]:
    """``lines`` in as few parts as possible, none of which has a line twice."""
    parts = defaultdict[int, list[str]](list)
    seen = defaultdict[str, int](int)
    for line in lines:
        parts[seen[line]].append(line)
        seen[line] += 1
    return list(parts.values())


def ratings_used_again(chains: Sequence[Chain]) -> Usage:
    """What the ratings took that a later stage used again as its ratings of the text before."""
    saved = Usage()
    for chain in chains:
        latest: dict[str, Usage] = {}
        for step in chain.steps:
            for rating in step.ratings:
                if rating.role == "before" and not rating.calls and rating.evaluator in latest:
                    saved += latest[rating.evaluator]
            for rating in step.ratings:
                if rating.role == "after" and rating.calls:
                    latest[rating.evaluator] = rating.usage
    return saved


async def measure() -> str:
    """Three tables in Markdown."""
    lines = sample_lines(SEGMENTS)
    rows = [HEAD]
    for name, settings in CHAINS.items():
        baseline = None
        for cache, (server, cache_settings) in CACHES.items():
            result, _ = await run(lines, {**settings, **cache_settings}, server)
            baseline = baseline or result
            rows.append(result.row(f"{name}: {cache}", baseline))

    repeated = [*lines, *lines[:REPEATED]]
    server, _ = CACHES["prefixes cached"]
    apart = [(await run(part, {}, server))[0] for part in in_parts_without_repeats(repeated)]
    each_paid = Result([chain for result in apart for chain in result.chains])
    together, _ = await run(repeated, {}, server)
    rows += ["", HEAD, each_paid.row("each segment paid for", each_paid), together.row("equal ones once", each_paid)]

    rows += ["", HEAD]
    rating_gate, _ = await run(lines, {"gate": "rate"}, server)
    saved = ratings_used_again(rating_gate.chains)
    rated_again = Result([*rating_gate.chains, _chain_of(rating_gate.chains[0], saved)])
    rows.append(rated_again.row("`--gate rate`: texts before rated in each stage", rated_again))
    rows.append(rating_gate.row("`--gate rate`: ratings used again", rated_again))
    go_on, _ = await run(lines, {"stop_when_error_free": False}, server)
    default, _ = await run(lines, {}, server)
    rows.append(go_on.row("error-free texts proofread (`--go-on`)", go_on))
    rows.append(default.row("error-free texts left alone", go_on))
    return "\n".join(rows)


def _chain_of(chain: Chain, usage: Usage) -> Chain:
    """A chain that took ``usage``."""
    call = chain.steps[0].calls[0].model_copy(update={"usage": usage})
    step = chain.steps[0].model_copy(update={"calls": (call,)})
    return chain.model_copy(update={"steps": (step,)})


def sample_lines(segments: int) -> list[str]:
    """Lines that differ."""
    with tempfile.TemporaryDirectory() as name:
        return sample_file(Path(name), segments).read_text(encoding="utf-8").splitlines()


async def estimates() -> str:
    """A table in Markdown: estimated costs as multiples of the real one."""
    rows = ["| settings | real cost | low | likely | high |", "|---|---|---|---|---|"]
    server, _ = CACHES["cached to a mark, none set"]
    for name, settings in ESTIMATED.items():
        result, ((low, high, likely), _) = await run(sample_lines(50), settings, server)
        ratios = [(cost or 0.0) / result.dollars for cost in (low.cost, likely, high.cost)]
        rows.append(f"| {name} | ${result.dollars:.4f} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |")
    return "\n".join(rows)


async def probes() -> str:
    """A table in Markdown: what ten segments tell of the cost of 100, as a multiple of the real one."""
    rows = ["| settings | faults | real cost | failed | by the probe | failed in it |", "|---|---|---|---|---|---|"]
    for name in PROBED:
        for faults, server in SERVERS.items():
            result, (_, measured) = await run(sample_lines(PROBED_SEGMENTS), ESTIMATED[name], server, probed=10)
            assert measured is not None
            expected, _ = measured.total([usage.cost or 0.0 for usage in measured.usages])
            failed = sum(chain.failed is not None for chain in result.chains)
            figures = f"${result.dollars:.4f} | {failed} | {expected / result.dollars:.2f} | {measured.failed}"
            rows.append(f"| {name} | {faults} | {figures} |")
    return "\n".join(rows)


def padding() -> str:
    """A table in Markdown: from which share of cache hits a prompt of 1,024 constant tokens is cheaper than it is now.

    Now it costs its constant part at full price; then 1,024 tokens, at the price of reading or of writing the cache.
    """
    rows = ["| prompt | constant part with schema | cached at | written at | hits needed |", "|---|---|---|---|---|"]
    count = counter("o200k").count
    for name in ("compare", "proofread"):
        prompt = prompts.load(name)
        conditions = {part.when for part in prompt.user}
        values = dict.fromkeys(prompt.variables, "") | dict.fromkeys(filter(None, conditions))
        values |= {"lp": "en-es", "source_language": "English", "target_language": "Spanish"}
        constant = count(prompt.schema_text or "") + sum(count(m.content) + 4 for m in prompt.render(values)[:-1])
        for cached, written in ((0.5, 1.0), (0.25, 1.0), (0.1, 1.0), (0.1, 1.25)):
            hits = (1024 * written - constant) / (1024 * (written - cached))
            needed = f"{hits:.0%}" if hits < 1 else "never cheaper"
            rows.append(f"| `{name}` | {constant} | {cached:.0%} | {written:.0%} | {needed} |")
    return "\n".join(rows)


if __name__ == "__main__":
    if "--padding" in sys.argv:
        report = padding()
    elif "--estimates" in sys.argv:
        report = asyncio.run(estimates())
    elif "--probes" in sys.argv:
        report = asyncio.run(probes())
    else:
        report = asyncio.run(measure())
    print(report)  # noqa: T201 - a benchmark is read by a person
