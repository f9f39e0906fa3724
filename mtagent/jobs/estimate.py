"""An estimate as a table, and what it assumes in words."""

from __future__ import annotations

import asyncio
import json
import unicodedata
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, Unpack

from mtagent.chain.correct import Corrector
from mtagent.chain.gate import PairwiseGate
from mtagent.chain.proofread import Proofreader
from mtagent.config import DEFAULT_MODEL, Config, Role
from mtagent.errors import FATAL, ConfigError, MissingExtra, ModelError, MtagentError
from mtagent.evaluators.protocol import CountsCalls, Evaluator, suggests_edits
from mtagent.formats.ratings import Candidates
from mtagent.jobs.inputs import Files, read_segments
from mtagent.jobs.parts import Given, assembled_evaluator, effective, judge_is_editor, judge_spec, named_evaluator
from mtagent.jobs.rate import rate_segment
from mtagent.jobs.summary import in_columns
from mtagent.llm.prices import Prices
from mtagent.llm.protocol import Asked
from mtagent.llm.request import Form, sent_tool
from mtagent.llm.server import server_address
from mtagent.records import Completion, ErrorSpan, Message, Rating, RatingRole, Schema, Segment, Stage, Tool, Usage
from mtagent.translators.llm import LLMTranslator

Counting = Literal["o200k", "length"]


class Counter(NamedTuple):
    """Counts the tokens of a text. ``how`` says in words how."""

    how: str
    count: Callable[[str], int]


def by_length(text: str) -> int:
    """About four characters a token, one for wide characters (Chinese, Japanese, Korean); not a tokenizer's count."""
    wide = 0 if text.isascii() else sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return wide + (len(text) - wide + 3) // 4


def counter(counting: Counting | None = None) -> Counter:
    """The counter of that name; by default the best there is. Raises :class:`MissingExtra`."""
    installed = find_spec("bpe_openai") is not None
    if counting == "length" or (counting is None and not installed):
        return Counter("estimated from the length (pip install 'mtagent[tokens]' counts them)", by_length)
    if not installed:
        raise MissingExtra("counting tokens with o200k", "tokens")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the package reads its data in an old way
        from bpe_openai import get_encoding

    encode = get_encoding("o200k_base").encode_ordinary
    # A run repeats its instructions and examples in every prompt.
    return Counter("counted with o200k, the vocabulary of gpt-4o and later", lru_cache(4096)(lambda t: len(encode(t))))


PLACEHOLDER = "(the translation of the stage before)"


class Rendered(NamedTuple):
    """A request as text to read, and about how many input tokens it has."""

    shown: str
    tokens: int


def rendered_requests(config: Config, files: Files) -> Iterator[Rendered]:
    """The first requests of each segment and stage: those that can be made without a reply.

    What a former stage would have written is shown as the text at hand.
    """
    config = config.effective()
    with files.spooled(config) as (files, config):
        listener = Listener(config)
        for segment in read_segments(config, files):
            for stage in config.stages or ():
                for heard in asyncio.run(_begun(config, segment, stage, listener)):
                    yield rendered(f"segment {segment.id}, {stage}", heard)


class Heard(NamedTuple):
    """A request that was not sent."""

    purpose: str
    messages: tuple[Message, ...]
    schema: Schema | None
    tools: tuple[Tool, ...]


class Listener:
    """Notes what it is asked, and answers nothing."""

    def __init__(self, config: Config) -> None:
        self.model = config.model or DEFAULT_MODEL
        self.heard: list[Heard] = []

    async def complete(self, messages: Sequence[Message], **asked: Unpack[Asked]) -> Completion:
        """Note the request, and fail when all that are made at the same time were noted."""
        schema, _, tools = Form.of(asked)
        self.heard.append(Heard(asked.get("purpose", ""), tuple(messages), schema, tools))
        await asyncio.sleep(0)
        raise ModelError("nothing is sent in a dry run")


async def _begun(config: Config, segment: Segment, stage: Stage, listener: Listener) -> list[Heard]:
    listener.heard.clear()
    text = segment.translation if segment.translation is not None else PLACEHOLDER
    try:
        if stage == "proofread":
            await Proofreader(listener, prompts_folder=config.prompts).draft(segment, text)
        elif stage == "postedit":
            await named_evaluator(config, config.evaluator or "rules", listener).rate(segment, text)
        elif segment.translation is None and config.translator == "llm":
            await LLMTranslator(listener, prompts_folder=config.prompts).draft(segment)
    except ModelError:
        pass
    return listener.heard


def rendered(about: str, heard: Heard) -> Rendered:
    """The request that was ``heard``, headed by what it is ``about`` and its purpose."""
    shown = "\n".join(f"[{message.role}]\n{message.content}" for message in heard.messages)
    return Rendered(f"--- {about}, {heard.purpose}\n{shown}\n", estimated_tokens(heard.messages))


def estimated_tokens(messages: tuple[Message, ...]) -> int:
    """Input tokens by the length of ``messages``."""
    return by_length("".join(message.content for message in messages))


async def first_requests(config: Config, candidates: Iterable[Candidates]) -> AsyncIterator[Rendered]:
    """What is asked first about each segment; what follows depends on the replies. None where no model is asked."""
    listener = Listener(config)
    async with assembled_evaluator(config, Given() if config.offline else Given(llm=listener)) as evaluator:
        for one in candidates:
            listener.heard.clear()
            await rate_segment(one, evaluator)  # every rating fails, for want of a reply
            for heard in listener.heard:
                yield rendered(f"segment {one.segment.id}", heard)


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
        if self._llm is None or suggests_edits(self._evaluator):
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
    match evaluator.calls if isinstance(evaluator, CountsCalls) else None:
        case (int(fewest), int(most)):
            return fewest, most
    return None


def _only_high(needed: Range) -> Range:
    """What is not needed where no error is found."""
    return Range(Usage(), needed.high)


async def _nobody(evaluator: Evaluator, text: str, role: RatingRole) -> Rating:
    raise ModelError("nothing is rated in an estimate")


_COLUMNS = ("stage", "calls", "input tokens", "output tokens", "cost")
LOW = "low: no error is found, replies are as short as they can be, and what prompts repeat is read from the cache"
HIGH = "high: every stage edits, what an evaluator leaves open is fixed, the gate judges all of it, nothing is cached"
NOT_IN_IT = "not in it: thoughts of reasoning models, replies that have to be asked for again, MT systems of yours"


def table(found: Mapping[str, Range]) -> str:
    """A row per stage, and the total."""
    total = Range()
    for needed in found.values():
        total = total.plus(needed)
    rows = [_row(stage, needed) for stage, needed in found.items()]
    return "\n".join(in_columns([_COLUMNS, *rows, _row("total", total)]))


def _row(stage: str, needed: Range) -> tuple[str, ...]:
    low, high = needed
    counts = ("calls", "input_tokens", "output_tokens")
    spans = [_span(f"{getattr(low, name):,}", f"{getattr(high, name):,}") for name in counts]
    return (stage, *spans, _cost(low, high))


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"


def _cost(low: Usage, high: Usage) -> str:
    if low.cost is None or high.cost is None:
        return "unknown"
    return _span(f"${low.cost:.4f}", f"${high.cost:.4f}")


def assumptions(config: Config, found: Mapping[str, Range], tokens: Counter, prices: Prices) -> str:
    """What the figures rest on, a line each."""
    lines = [LOW, HIGH, NOT_IN_IT, f"tokens: {tokens.how}; other vocabularies make more or fewer", _prices(config)]
    if any(needed.high.cost is None for needed in found.values()):
        lines.append("unknown: a model that no price list knows on that server; name its price in a file (--prices)")
    elif discount := prices.batch_discount(config.model or DEFAULT_MODEL, server_address(config.base_url)):
        lines.append(f"in the provider's batch queue {discount:.0%} less; mtagent sends no batches itself")
    return "\n".join(lines)


def _prices(config: Config) -> str:
    own = f"{config.prices}, then " if config.prices else ""
    return f"prices: {own}the public list prices that came with genai-prices"
