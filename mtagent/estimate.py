"""What a run would take, before anything is sent: calls, tokens and dollars by stage, as a low and a high figure.

The first requests of each stage are the real ones: the parts of the chain are given a model that listens and never
answers. What follows depends on the replies, and is taken from the range of calls that an evaluator states of itself.
Low: no error is found anywhere, and all that repeats is read from the provider's cache. High: every stage edits, every
edit is fixed and judged, nothing is cached.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mtagent.batch import read_segments
from mtagent.build import Given, effective, judge_is_editor, judge_spec, named_evaluator
from mtagent.config import DEFAULT_MODEL, Config, Role
from mtagent.correct import Corrector
from mtagent.dry_run import Heard, Listener
from mtagent.errors import FATAL, ConfigError, ModelError, MtagentError
from mtagent.files import Files
from mtagent.gate import PairwiseGate
from mtagent.llm.server import server_address
from mtagent.llm.tools import sent_tool
from mtagent.pricing import Prices
from mtagent.proofread import Proofreader
from mtagent.protocols import Evaluator
from mtagent.records import ErrorSpan, Rating, Segment, Stage, Usage
from mtagent.tokens import Counter
from mtagent.translators.llm import LLMTranslator

FRAME = 4  # tokens around each message
CACHED_FROM = 1024  # providers cache prompts from here on


class Range(NamedTuple):
    """The least and the most that is expected. ``reused`` calls are not counted."""

    low: Usage = Usage()
    high: Usage = Usage()

    def plus(self, other: Range) -> Range:
        """Both together."""
        return Range(self.low + other.low, self.high + other.high)


class Reply(NamedTuple):
    """Tokens of one reply, at least and at most."""

    low: int
    high: int


@dataclass(frozen=True)
class Text:
    """A translation at a stage: ``tokens`` are those of ``text``, which stands in for what may differ from it."""

    text: str
    tokens: int
    shortest: float = 1.0
    longest: float = 1.0

    @property
    def low(self) -> int:
        """The fewest tokens that it may have."""
        return int(self.tokens * self.shortest)

    @property
    def high(self) -> int:
        """The most tokens that it may have."""
        return int(self.tokens * self.longest) + (20 if self.longest > 1 else 0)

    def edited(self) -> Text:
        """The same after edits."""
        return Text(self.text, self.tokens, 0.75 * self.shortest, 1.25 * self.longest)


def estimate(config: Config, files: Files, tokens: Counter) -> dict[str, Range]:
    """What improving ``files`` would take, by stage. Raises :class:`mtagent.errors.MtagentError` as the run would."""
    with files.spooled(config) as (files, config):
        asking = _Asking(effective(config, Given()), tokens)
        return asyncio.run(asking.chains(read_segments(config, files)))


def estimate_ratings(config: Config, files: Files, tokens: Counter) -> dict[str, Range]:
    """What rating the translations in ``files`` would take."""
    with files.spooled(config) as (files, config):
        asking = _Asking(effective(config, Given()).model_copy(update={"forced": False}), tokens)
        return asyncio.run(asking.ratings(read_segments(config, files)))


class _Asking:
    """The parts of a chain, asking a model that only listens. ``_seen`` are the requests that low has counted."""

    def __init__(self, config: Config, tokens: Counter) -> None:
        self._config, self._count = config, tokens.count
        self._listener = Listener(config)
        self._llm = None if config.offline else self._listener
        self._prices, self._seen = Prices(config.prices), set[int]()
        self._evaluator = self._named(config.evaluator or "rules", config)
        self._judge = self._named(judge_spec(config), config.model_copy(update={"forced": False}))

    def _named(self, spec: str, config: Config) -> Evaluator:
        return named_evaluator(config, spec, self._llm)

    async def ratings(self, segments: Iterator[Segment]) -> dict[str, Range]:
        """One row: all ratings."""
        total, given, missing = Range(), 0, 0
        for segment in segments:
            given, missing = given + (segment.translation is not None), missing + (segment.translation is None)
            if segment.source.strip() and segment.translation is not None:
                text = Text(segment.translation, self._count(segment.translation))
                total = total.plus(await self._rating(None, self._evaluator, segment, text))
        if missing and not given:
            raise ConfigError("there is no translation to rate: give it with -t")
        return {"rate": total}

    async def chains(self, segments: Iterator[Segment]) -> dict[str, Range]:
        """A row per stage."""
        stages = self._config.stages or ()
        total: dict[str, Range] = {stage: Range() for stage in stages}
        for segment in segments:
            if segment.source.strip() and (segment.translation is not None or "translate" in stages):
                for stage, needed in (await self._chain(segment, stages)).items():
                    total[stage] = total[stage].plus(needed)
        return total

    async def _chain(self, segment: Segment, stages: Sequence[Stage]) -> dict[Stage, Range]:
        found: dict[Stage, Range] = {}
        if segment.translation is not None:
            text = Text(segment.translation, self._count(segment.translation))
        else:  # the source stands in for its translation, which is rarely less than half or more than twice as long
            text = Text(segment.source, self._count(segment.source), 0.4, 2.5)
            found["translate"] = await self._translate(segment, text)
        if "postedit" in stages:
            found["postedit"] = await self._postedit(segment, text, judged=not judge_is_editor(self._config))
            text = text.edited()
        if "proofread" in stages:
            found["proofread"] = await self._proofread(segment, text, judged="postedit" not in stages)
        return found

    async def _translate(self, segment: Segment, text: Text) -> Range:
        if self._llm is None or self._config.translator != "llm":
            return Range()
        translator = LLMTranslator(self._llm, prompts_folder=self._config.prompts)
        heard = await self._heard(translator.draft(segment))
        return self._range("translate", heard, Text("", 0), self._share(text, heard))

    async def _postedit(self, segment: Segment, text: Text, *, judged: bool) -> Range:
        rating = await self._rating("postedit", self._evaluator, segment, text)
        gate = await self._gate(segment, text, judged=judged)
        if self._llm is None or getattr(self._evaluator, "suggests", False):
            return rating.plus(_only_high(gate))
        error = ErrorSpan(text=text.text[:12] or "-", category="accuracy/mistranslation", severity="major")
        corrector = Corrector(self._llm, prompts_folder=self._config.prompts)
        marked = Rating(evaluator="", score=-1, errors=(error,))
        heard = await self._heard(corrector.propose(segment, text.text, marked))
        listed = Text(text.text, text.tokens, 1.0, text.longest + 3)  # with the list of errors
        return rating.plus(_only_high(gate)).plus(_only_high(self._range("postedit", heard, listed, self._says(text))))

    async def _proofread(self, segment: Segment, text: Text, *, judged: bool) -> Range:
        if self._llm is None:
            return Range()
        proofreader = Proofreader(self._llm, prompts_folder=self._config.prompts)
        heard = await self._heard(proofreader.draft(segment, text.text))
        reworded = self._range("proofread", heard, text, self._share(text.edited(), heard))
        if self._config.stop_when_error_free and "postedit" in (self._config.stages or ()):
            reworded = _only_high(reworded)
        return reworded.plus(_only_high(await self._gate(segment, text, judged=judged)))

    async def _gate(self, segment: Segment, text: Text, *, judged: bool) -> Range:
        """The judge on an edited text; ``judged``: and on the text before, which it has not rated yet."""
        if self._config.gate == "pairwise" and self._llm is not None:
            gate = PairwiseGate(self._llm, prompts_folder=self._config.prompts)
            heard = await self._heard(gate.decide(segment, text.text, text.text, _nobody))
            both = Text(text.text, 2 * text.tokens, text.shortest, 1.25 * text.longest)
            return self._range("judge", heard, both, Reply(1, 30))
        if self._config.gate != "rate":
            return Range()
        after = await self._rating("judge", self._judge, segment, text.edited())
        return after.plus(await self._rating("judge", self._judge, segment, text)) if judged else after

    async def _rating(self, role: Role | None, evaluator: Evaluator, segment: Segment, text: Text) -> Range:
        calls = _stated_calls(evaluator)
        if calls == (0, 0):
            return Range()
        heard = await self._heard(evaluator.rate(segment, text.text))
        return self._range(role, heard, text, self._says(text), calls)

    async def _heard(self, work: Awaitable[Any]) -> list[Heard]:
        """The requests that ``work`` begins with."""
        self._listener.heard.clear()
        try:
            await work
        except FATAL:
            raise
        except MtagentError:
            pass
        return list(self._listener.heard)

    @staticmethod
    def _says(text: Text) -> Reply:
        """What an evaluator says: from a bare "no error" to a list of errors with explanations."""
        return Reply(1, 150 + 3 * text.high)

    @staticmethod
    def _share(text: Text, heard: Sequence[Heard]) -> Reply:
        """A text that is written in parts, one a request."""
        many = max(1, len(heard))
        return Reply(text.low // many, text.high // many + 20)

    def _range(
        self,
        role: Role | None,
        heard: Sequence[Heard],
        text: Text,
        reply: Reply,
        calls: tuple[int, int] | None = None,
    ) -> Range:
        """What the requests that were ``heard`` take, and those of the ``calls`` that follow on their replies."""
        least, most = calls or (len(heard), len(heard))
        low = self._low(role, heard, text, reply, max(0, least - len(heard)))
        sizes = [self._size(one) + FRAME * len(one.messages) + self._offered(one) for one in heard]
        more = text.high - text.tokens
        high = [Usage(calls=1, input_tokens=size + more, output_tokens=reply.high) for size in sizes]
        for number in range(most - len(heard) if heard else 0):  # each carries what was said before it
            said = (1 + number // len(heard)) * reply.high
            high.append(Usage(calls=1, input_tokens=max(sizes) + more + said, output_tokens=reply.high))
        return Range(low, Usage.total(self._priced(role, usage) for usage in high))

    def _low(self, role: Role | None, heard: Sequence[Heard], text: Text, reply: Reply, further: int) -> Usage:
        """Requests that were counted before are answered from the store, and so is what follows on them."""
        fresh = [one for one in heard if not self._was_seen(role, one)]
        if not fresh:
            return Usage()
        usages = [Usage(calls=1, input_tokens=text.low, output_tokens=reply.low)] * further
        for one in fresh:
            size = max(0, self._size(one) - text.tokens + text.low)
            cached = size - text.low if size >= CACHED_FROM else 0
            usages.append(Usage(calls=1, input_tokens=size, cached_tokens=cached, output_tokens=reply.low))
        return Usage.total(self._priced(role, usage) for usage in usages)

    def _was_seen(self, role: Role | None, heard: Heard) -> bool:
        key = hash((self._config.model_for(role), heard.messages))
        seen = key in self._seen
        self._seen.add(key)
        return seen

    def _size(self, heard: Heard) -> int:
        return sum(self._count(message.content) for message in heard.messages)

    def _offered(self, heard: Heard) -> int:
        """Tokens of the reply's schema and of the tools, which most servers count as input."""
        schema = [heard.schema] if heard.schema else []
        return sum(self._count(json.dumps(one)) for one in (*schema, *map(sent_tool, heard.tools)))

    def _priced(self, role: Role | None, usage: Usage) -> Usage:
        settings = self._config.model_for(role)
        local = self._config.llm not in (None, "openai") and settings.base_url is None
        server = "http://localhost" if local else server_address(settings.base_url)
        return usage.model_copy(update={"cost": self._prices(settings.model or DEFAULT_MODEL, usage, server)})


def _stated_calls(evaluator: Evaluator) -> tuple[int, int] | None:
    """The fewest and the most calls of a rating; ``None`` where the evaluator, perhaps a foreign one, is silent."""
    match getattr(evaluator, "calls", None):
        case (int(fewest), int(most)):
            return fewest, most
    return None


def _only_high(needed: Range) -> Range:
    """What is not needed where no error is found."""
    return Range(Usage(), needed.high)


async def _nobody(evaluator: Evaluator, text: str) -> Rating:
    raise ModelError("nothing is rated in an estimate")
