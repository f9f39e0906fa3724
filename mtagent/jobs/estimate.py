"""The cost of a run before anything is sent: its first requests, and a range of calls, tokens and dollars.

A run is estimated with its own parts and a model that only listens, so the first requests are the real ones. What
follows on replies is a range: each evaluator knows how many calls a rating takes.
"""

from __future__ import annotations

import asyncio
import json
import math
import unicodedata
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from importlib.util import find_spec
from itertools import islice
from typing import Any, Literal, NamedTuple, Unpack

from mtagent.chain.chain import MANY, SHORTLIST, from_memory
from mtagent.chain.correct import Corrector
from mtagent.chain.proofread import Proofreader
from mtagent.chain.translation import skipped_guards
from mtagent.config import DEFAULT_MODEL, Config, ModelSettings
from mtagent.errors import FATAL, ConfigError, MissingExtra, ModelError, MtagentError
from mtagent.evaluators.pairwise import Pairwise
from mtagent.evaluators.protocol import Evaluator, stated_calls, suggests_edits
from mtagent.evaluators.rating import rating_by, reviewed_paragraphs
from mtagent.evaluators.registry import PAIRWISE, asks_model
from mtagent.formats.ratings import Candidates
from mtagent.jobs.inputs import Files
from mtagent.jobs.parts import (
    OwnParts,
    effective,
    instructed,
    judge_settings,
    judge_specs,
    named_evaluator,
    named_pairwise,
    rater_settings,
    refuse_other_languages,
)
from mtagent.jobs.pilot import EDITS, WAVE
from mtagent.jobs.rate import rate_segment
from mtagent.llm import prompts
from mtagent.llm.budget import ASSUMED_ROOM, PriceOf, bytes_sent, worst_requests
from mtagent.llm.prices import Prices, highest_cost
from mtagent.llm.protocol import RequestOptions
from mtagent.llm.request import sent_tool
from mtagent.llm.server import Endpoint
from mtagent.records import Completion, ErrorSpan, Message, Rating, Schema, Segment, Tool, Usage
from mtagent.text import languages
from mtagent.text.amounts import UNKNOWN, dollars, rounded_up
from mtagent.text.table import Table, text
from mtagent.translators.llm import LLMTranslator

Counting = Literal["o200k", "length"]


class Counter(NamedTuple):
    """Counts the tokens of a text."""

    how: str
    """The method, in words."""
    count: Callable[[str], int]


def by_length(text: str) -> int:
    """About four characters a token, one for wide characters (Chinese, Japanese, Korean); not a tokenizer's count."""
    wide = 0
    if not text.isascii():
        wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return wide + (len(text) - wide + 3) // 4


_MOST_ENCODED = 50_000
"""Longer texts are counted in pieces of this number of characters: the tokenizer refuses very long ones."""


def counter(counting: Counting | None = None) -> Counter:
    """The counter of that name; by default the best that is installed. Raises :class:`MissingExtra`."""
    installed = find_spec("bpe_openai") is not None
    if counting == "length" or (counting is None and not installed):
        return Counter("estimated from the length (pip install 'mtagent[tokens]' counts them)", by_length)
    if not installed:
        raise MissingExtra("counting tokens with o200k", "tokens")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the package reads its data in an old way
        from bpe_openai import get_encoding

    encode = get_encoding("o200k_base").encode_ordinary

    @lru_cache(4096)  # a run repeats its instructions and examples in every prompt
    def count(counted_text: str) -> int:
        starts = range(0, len(counted_text), _MOST_ENCODED)
        return sum(len(encode(counted_text[start : start + _MOST_ENCODED])) for start in starts)

    return Counter("counted with o200k, the vocabulary of gpt-4o and later", count)


PLACEHOLDER = "(the translation of the stage before)"


class Rendered(NamedTuple):
    """What a dry run shows: a request and about how many input tokens it has, or the terms of a segment."""

    shown: str
    tokens: int = 0
    requests: int = 1


class UnsentRequest(NamedTuple):
    """A request that was not sent."""

    purpose: str
    messages: tuple[Message, ...]
    schema: Schema | None
    tools: tuple[Tool, ...]

    def rendered(self, about: str) -> Rendered:
        """The request to read, headed by what it is ``about`` and its purpose."""
        shown = "\n".join(f"[{message.role}]\n{message.content}" for message in self.messages)
        tokens = by_length("".join(message.content for message in self.messages))
        return Rendered(f"--- {about}, {self.purpose}\n{shown}\n", tokens)


def rendered_terms(segment: Segment) -> Iterator[Rendered]:
    """The terms that the glossary has for ``segment``, if there are any, one a line."""
    if segment.terms:
        lines = "\n".join(term.shown for term in segment.terms)
        yield Rendered(f"--- segment {segment.id}, terms\n{lines}\n", requests=0)


class Listener:
    """A model that notes the requests and doesn't answer."""

    def __init__(self, config: Config) -> None:
        self.model = config.model or DEFAULT_MODEL
        self.requests: list[UnsentRequest] = []

    async def complete(self, messages: Sequence[Message], **options: Unpack[RequestOptions]) -> Completion:
        """Note the request, and fail after all requests made at the same time were noted."""
        schema, tools = options.get("schema"), tuple(options.get("tools", ()))
        self.requests.append(UnsentRequest(options.get("purpose", ""), tuple(messages), schema, tools))
        await asyncio.sleep(0)
        raise ModelError("nothing is sent in a dry run")

    async def requests_of(self, work: Awaitable[Any]) -> list[UnsentRequest]:
        """The requests that ``work`` begins with."""
        self.requests = []
        try:
            await work
        except FATAL:
            raise
        except MtagentError:  # every call fails without a reply
            pass
        return self.requests


def rendered_requests(config: Config, files: Files) -> Iterator[Rendered]:
    """The first requests of each segment and stage: those that can be made without a reply.

    What a former stage would have written is shown as the text at hand.
    """
    with files.opened(config.effective()) as inputs:
        config = inputs.config
        listener, folder = Listener(config), config.prompts
        is_published = config.preset == "paper"
        skip = skipped_guards(config.skip_guards, config.gate)
        llm = instructed(listener, config)
        evaluator = None
        if "postedit" in (config.stages or ()):
            evaluator = named_evaluator(config, config.evaluator or "rules", llm)
        triage = None
        if config.triage is not None:
            free = config.model_copy(update={"forced": False})
            triage = named_evaluator(free, judge_settings(config, config.triage, who="triage")[2], llm)
        for segment in inputs.in_context(lambda segment: segment.translation or PLACEHOLDER):
            text = segment.translation if segment.translation is not None else PLACEHOLDER
            yield from rendered_terms(segment)
            if from_memory(segment, segment.translation, skip=skip) is not None:
                continue
            translated = proofread = rated = segment
            if is_published:
                translated = prompts.published(segment, prompts.PUBLISHED_IN_TRANSLATE)
                proofread = prompts.published(segment, prompts.PUBLISHED_IN_PROOFREAD)
                rated = prompts.published(segment)
            if triage is not None:
                asked = rating_by(triage, rated, text, with_neighbours=not is_published)
                for request in asyncio.run(listener.requests_of(asked)):
                    yield request.rendered(f"segment {segment.id}, triage")
            for stage in config.stages or ():
                work: Awaitable[Any]
                if stage in ("rerank", "rules"):  # the requests of the first are the gate's, the other has none
                    continue
                if stage == "proofread":
                    work = Proofreader(llm, strategy=config.strategy, prompts_folder=folder).draft(proofread, text)
                elif evaluator is not None and stage == "postedit":
                    work = rating_by(evaluator, rated, text, with_neighbours=not is_published)
                elif segment.translation is None and config.translator == "llm":
                    translator = LLMTranslator(llm, with_neighbours=not is_published, prompts_folder=folder)
                    work = translator.draft(translated)
                else:
                    continue
                for request in asyncio.run(listener.requests_of(work)):
                    yield request.rendered(f"segment {segment.id}, {stage}")


def first_requests(config: Config, candidates: Iterable[Candidates]) -> Iterator[Rendered]:
    """The first requests about each segment; later ones depend on the replies. None if no model is used."""
    config = config.effective().model_copy(update={"forced": False})
    listener = Listener(config)
    llm = None if config.offline else instructed(listener, config)
    evaluator = named_evaluator(config, config.evaluator or "rules", llm)
    for candidate in candidates:
        yield from rendered_terms(candidate.segment)
        rating = rate_segment(candidate, evaluator, published=config.preset == "paper")
        for request in asyncio.run(listener.requests_of(rating)):
            yield request.rendered(f"segment {candidate.segment.id}")


PILOT = "pilot"
"""The row of a pilot whose replies cannot be used again."""
RESERVE = "reserve"
"""The row with what a budget holds back for one call, at most."""
FRAME = 4  # tokens around each message
CACHED_FROM = 1024  # providers cache prompts from here on


class Range(NamedTuple):
    """The least and the most that is expected, and a dollar figure between. ``reused`` calls are not counted."""

    low: Usage = Usage()
    high: Usage = Usage()
    likely: float | None = 0.0
    """US dollars; ``None`` = unknown."""

    def plus(self, other: Range) -> Range:
        """Both together."""
        likely = None if self.likely is None or other.likely is None else self.likely + other.likely
        return Range(self.low + other.low, self.high + other.high, likely)

    def times(self, number: int) -> Range:
        """The same ``number`` times."""
        likely = None if self.likely is None else self.likely * number
        return Range(Usage.total([self.low] * number), Usage.total([self.high] * number), likely)

    def at_most(self) -> Range:
        """The same, but nothing of it is needed if no error is found, which is likely for half of the texts."""
        return Range(Usage(), self.high, None if self.likely is None else self.likely / 2)


class ReplySize(NamedTuple):
    """Tokens of one reply, at least and at most."""

    low: int
    high: int

    @property
    def likely(self) -> int:
        """The geometric mean: the range may cover two orders of magnitude."""
        return between(self.low, self.high)


def between(low: int, high: int) -> int:
    """The geometric mean of two counts."""
    return round(math.sqrt(low * high))


@dataclass(frozen=True)
class Text:
    """A translation at a stage. Its text is not known yet: another text is used in its place."""

    text: str
    """The text that is used in its place."""
    tokens: int
    """The tokens of that text."""
    shortest: float = 1.0
    """The least length of the translation, as a multiple of that text's."""
    longest: float = 1.0
    """The greatest length."""

    @property
    def low(self) -> int:
        """The fewest tokens that it may have."""
        return int(self.tokens * self.shortest)

    @property
    def high(self) -> int:
        """The most tokens that it may have."""
        return int(self.tokens * self.longest) + (20 if self.longest > 1 else 0)

    @property
    def listed(self) -> ReplySize:
        """An evaluator's reply about it: from a bare "no error" to a list of errors with explanations."""
        return ReplySize(1, 150 + 3 * self.high)

    def edited(self) -> Text:
        """The same after edits."""
        return Text(self.text, self.tokens, 0.75 * self.shortest, 1.25 * self.longest)

    def in_parts(self, number: int) -> ReplySize:
        """One of ``number`` replies that write it together."""
        return ReplySize(self.low // max(1, number), self.high // max(1, number) + 20)


def estimate(config: Config, files: Files, tokens: Counter, *, batch: bool = False) -> dict[str, Range]:
    """What improving ``files`` would take, by stage, and the :data:`RESERVE`; ``batch``: at the prices of batches.

    Raises :class:`mtagent.errors.MtagentError` as the run would.
    """
    with files.opened(config) as inputs:
        decided = effective(inputs.config, OwnParts())
        pairs = {languages.pair_of(segment.source_lang, segment.target_lang) for segment in inputs.segments()}
        refuse_other_languages(decided, sorted(pairs))
        if any(any(segment.candidates) for segment in inputs.segments()):
            inputs.refuse_idle_candidates(decided)

        def segments() -> Iterator[Segment]:
            return inputs.in_context(lambda segment: segment.translation or segment.source)

        estimator = Estimator(decided, tokens, batch=batch)
        ranges = asyncio.run(estimator.chains(segments()))
        if decided.context and decided.gate == "gain" and decided.calibration is None:
            # The run shows the texts before a segment as they are after their improvement, the pilot as they were. An
            # edit changes the requests of the segments that it is shown with, and makes the pilot shorter.
            tried = islice(segments(), EDITS * decided.context + WAVE)
            pilot = asyncio.run(Estimator(decided, tokens).chains(tried))
            ranges[PILOT] = reduce(Range.plus, pilot.values(), Range()).at_most()
        return ranges | estimator.reserve


def estimate_ratings(config: Config, files: Files, tokens: Counter, *, batch: bool = False) -> dict[str, Range]:
    """What rating the translations in ``files`` would take, and the :data:`RESERVE`."""
    with files.opened(config) as inputs:
        config = effective(inputs.config, OwnParts()).model_copy(update={"forced": False})
        estimator = Estimator(config, tokens, batch=batch)
        return asyncio.run(estimator.ratings(inputs.in_context())) | estimator.reserve


def repeated(ranges: Mapping[str, Range], number: int) -> dict[str, Range]:
    """What ``number`` repeats would take, each with replies of its own; the :data:`RESERVE` is for one call."""
    return {stage: needed if stage == RESERVE else needed.times(number) for stage, needed in ranges.items()}


class Estimator:
    """The parts of a chain, asking a model that only listens; ``evaluator`` rates in the postedit stage."""

    def __init__(self, config: Config, tokens: Counter, *, batch: bool = False) -> None:
        self._config = config
        self._count = tokens.count
        self.listener = Listener(config)
        self._llm = None if config.offline else instructed(self.listener, config)
        self._is_published = config.preset == "paper"
        self._prices = Prices(config.prices, batch=batch)
        self._seen: set[int] = set()  # the requests that the low end has counted
        self._spec = config.evaluator or "rules"
        self.evaluator = named_evaluator(config, self._spec, self._llm)
        self.judges: list[tuple[ModelSettings, Evaluator | Pairwise]] = []
        if config.gate not in ("none", "guards"):
            self.judges = [self.judge(spec) for spec in judge_specs(config)]
        self._reserve = Usage()
        self._triage: tuple[ModelSettings, Evaluator] | None = None
        if config.triage is not None:
            _, settings, spec = judge_settings(config, config.triage, who="triage")
            self._triage = settings, named_evaluator(config.model_copy(update={"forced": False}), spec, self._llm)

    @property
    def reserve(self) -> dict[str, Range]:
        """The row :data:`RESERVE`, if there are any calls.

        A budget sends the first calls of a kind only where their worst case is left. So a run that takes as much as
        estimated needs room for the worst case of its last call too.
        """
        if not self._reserve.calls:
            return {}
        likely = None if self._reserve.cost is None else 0.0
        return {RESERVE: Range(Usage(), self._reserve, likely)}

    def judge(self, spec: str) -> tuple[ModelSettings, Evaluator | Pairwise]:
        """The judge that ``spec`` names, and the settings of the model that it asks."""
        name, settings, spec = judge_settings(self._config, spec)
        if name == PAIRWISE:
            return settings, named_pairwise(self._config, spec, self._llm)
        return settings, named_evaluator(self._config.model_copy(update={"forced": False}), spec, self._llm)

    async def ratings(self, segments: Iterator[Segment]) -> dict[str, Range]:
        """One row: all ratings."""
        total = Range()
        is_translated = False
        is_missing = False
        _, settings, _ = rater_settings(self._spec, self._config.model_for(None))
        for segment in segments:
            if segment.translation is None:
                is_missing = True
                continue
            is_translated = True
            if segment.source.strip():
                text = Text(segment.translation, self._count(segment.translation))
                total = total.plus(await self._rating(settings, self.evaluator, segment, text))
        if is_missing and not is_translated:
            raise ConfigError("there is no translation to rate: give it with -t")
        return {"rate": total}

    async def chains(self, segments: Iterator[Segment]) -> dict[str, Range]:
        """A row per stage, but not for rerank if there is no candidate."""
        stages = self._config.stages or ()
        skip = skipped_guards(self._config.skip_guards, self._config.gate)
        total: dict[str, Range] = {stage: Range() for stage in stages if stage != "rules"}
        has_candidates = False

        def after_triage(work: Range, rating: Range) -> Range:
            """The work of a stage and the triage before it, which may skip the text."""
            return rating.plus(work.at_most() if self._triage else work)

        for segment in segments:
            if not segment.source.strip() or from_memory(segment, segment.translation, skip=skip) is not None:
                continue
            if segment.translation is not None:
                text = Text(segment.translation, self._count(segment.translation))
            elif "translate" in stages:
                # The source is used for its translation, which is rarely less than half or more than twice as long.
                text = Text(segment.source, self._count(segment.source), 0.4, 2.5)
                total["translate"] = total["translate"].plus(await self._translate(segment, text))
            else:
                continue
            triage = Range()  # the first stage after translate rates the text for triage
            if self._triage is not None:
                triage = await self._rating(*self._triage, segment, text)

            candidates = list(dict.fromkeys(filter(str.strip, segment.candidates)))
            if "rerank" in stages and candidates:
                has_candidates = True
                others = [Text(candidate, self._count(candidate)) for candidate in candidates]
                judged = others
                if self._config.gate != "gain" and len(others) >= MANY:
                    judged = others[:SHORTLIST]
                work = await self._gate(segment, text, *judged)
                total["rerank"] = total["rerank"].plus(after_triage(work, triage))
                lengths = [other.tokens / max(1, text.tokens) for other in others]
                text = Text(text.text, text.tokens, min(text.shortest, *lengths), max(text.longest, *lengths))
                triage = Range()
            if "postedit" in stages:
                work = await self._postedit(segment, text)
                total["postedit"] = total["postedit"].plus(after_triage(work, triage))
                text = text.edited()
                triage = Range()
            if "proofread" in stages:
                work = await self._proofread(segment, text)
                total["proofread"] = total["proofread"].plus(after_triage(work, triage))
        if not has_candidates:
            total.pop("rerank", None)
        return total

    async def judgement(
        self,
        settings: ModelSettings,
        judge: Evaluator | Pairwise,
        segment: Segment,
        texts: tuple[str, str],
        samples: int = 1,
    ) -> Range:
        """What ``judge`` takes to judge the two ``texts``: a comparison, or ``samples`` ratings of each."""
        before, after = [Text(side, self._count(side)) for side in texts]
        if isinstance(judge, Pairwise):
            requests = await self.listener.requests_of(judge.compare(segment, before.text, after.text))
            shown = Text(after.text, before.tokens + after.tokens)
            return self._range(settings, requests, shown, ReplySize(*judge.reply_tokens))
        total = Range()
        for side in (before, after):
            rating = await self._rating(settings, judge, segment, side)
            total = total.plus(rating.times(samples))
        return total

    async def _translate(self, segment: Segment, text: Text) -> Range:
        if self._llm is None or self._config.translator != "llm":
            return Range()
        if self._is_published:
            segment = prompts.published(segment, prompts.PUBLISHED_IN_TRANSLATE)
        translator = LLMTranslator(
            self._llm, with_neighbours=not self._is_published, prompts_folder=self._config.prompts
        )
        requests = await self.listener.requests_of(translator.draft(segment))
        return self._range(self._config.model_for("translate"), requests, Text("", 0), text.in_parts(len(requests)))

    async def _postedit(self, segment: Segment, text: Text) -> Range:
        settings = self._config.model_for("postedit")
        proposals = self._config.proposals
        _, asked, _ = rater_settings(self._spec, settings)
        rating = (await self._rating(asked, self.evaluator, segment, text)).times(proposals)
        gate = (await self._gate(segment, text, *[text.edited()] * proposals)).at_most()
        if self._llm is None or suggests_edits(self.evaluator):
            return rating.plus(gate)
        if self._is_published:
            segment = prompts.published(segment)
        error = ErrorSpan(text=text.text[:12] or "-", category="accuracy/mistranslation", severity="major")
        corrector = Corrector(self._llm, prompts_folder=self._config.prompts)
        marked = Rating(evaluator="", score=-1, errors=(error,))
        requests = await self.listener.requests_of(corrector.propose(segment, text.text, marked))
        with_errors = Text(text.text, text.tokens, 1.0, text.longest + 3)
        correction = self._range(settings, requests, with_errors, text.listed)
        return rating.plus(gate).plus(correction.at_most().times(proposals))

    async def _proofread(self, segment: Segment, text: Text) -> Range:
        if self._llm is None:
            return Range()
        stages = self._config.stages or ()
        gate = (await self._gate(segment, text, text.edited(), rated="postedit" in stages)).at_most()
        if self._is_published:
            segment = prompts.published(segment, prompts.PUBLISHED_IN_PROOFREAD)
        strategy = self._config.strategy
        proofreader = Proofreader(self._llm, strategy=strategy, prompts_folder=self._config.prompts)
        requests = await self.listener.requests_of(proofreader.draft(segment, text.text))
        reply = text.edited().in_parts(len(requests))
        if strategy != "paper":  # the reply also names the problems of the text
            reply = ReplySize(reply.low + 8, reply.high + 100)
        reworded = self._range(self._config.model_for("proofread"), requests, text, reply)
        if self._config.stop_when_error_free and "postedit" in stages:
            reworded = reworded.at_most()
        return reworded.plus(gate)

    async def _gate(self, segment: Segment, text: Text, *others: Text, rated: bool = False) -> Range:
        """All judges on ``text`` and the ``others``, or only on these if they ``rated`` it in the stage before."""
        total = Range()
        if self._is_published:
            segment = prompts.published(segment)
        for settings, judge in self.judges:
            if isinstance(judge, Pairwise):
                for other in others:
                    requests = await self.listener.requests_of(judge.compare(segment, text.text, other.text))
                    shown = Text(text.text, text.tokens + other.tokens, text.shortest, max(text.longest, other.longest))
                    total = total.plus(self._range(settings, requests, shown, ReplySize(*judge.reply_tokens)))
                continue
            rated_texts = others if rated else (text, *others)
            for rated_text in rated_texts:
                rating = await self._rating(settings, judge, segment, rated_text)
                total = total.plus(rating.times(self._config.samples))
        return total

    async def _rating(self, settings: ModelSettings, evaluator: Evaluator, segment: Segment, text: Text) -> Range:
        calls = stated_calls(evaluator)  # another package's evaluator may not know
        if calls == (0, 0):
            return Range()
        parts = len(reviewed_paragraphs(evaluator, segment, text.text))
        if parts and calls:
            calls = calls[0] * parts, calls[1] * parts
        if self._is_published and calls != (0, 0):
            segment = prompts.published(segment)
        rating = rating_by(evaluator, segment, text.text, with_neighbours=not self._is_published)
        requests = await self.listener.requests_of(rating)
        return self._range(settings, requests, text, text.listed, calls)

    def _frame(self, request: UnsentRequest) -> int:
        """Tokens besides the texts of the messages: most servers count the reply's schema and the tools as input."""
        tokens = FRAME * len(request.messages)
        if request.schema:
            tokens += self._count(json.dumps(request.schema))
        for tool in request.tools:
            tokens += self._count(json.dumps(sent_tool(tool)))
        return tokens

    def _range(
        self,
        settings: ModelSettings,
        requests: Sequence[UnsentRequest],
        text: Text,
        reply: ReplySize,
        calls: tuple[int, int] | None = None,
    ) -> Range:
        """What the first ``requests`` about ``text`` take, and the ``calls`` that follow on their replies."""
        fewest, most = calls or (len(requests), len(requests))
        sizes = [sum(self._count(message.content) for message in request.messages) for request in requests]
        frames = [self._frame(request) for request in requests]
        price_of = self._price_of(settings)
        # Models that charge for writing to a cache read only what was marked.
        is_only_written = settings.cache_control is None and _charges_for_writing(price_of)

        low: list[Usage] = []
        likely: list[Usage] = []
        for request, size, frame in zip(requests, sizes, frames, strict=True):
            key = hash((settings, request.messages))
            if key in self._seen:  # the store answers it, and what follows on it
                continue
            self._seen.add(key)
            least = max(0, size - text.tokens + text.low)
            cached = least - text.low if least + frame >= CACHED_FROM else 0
            low.append(Usage(calls=1, input_tokens=least, cached_tokens=cached, output_tokens=reply.low))
            usage = Usage(calls=1, input_tokens=size + frame, cached_tokens=cached, output_tokens=reply.likely)
            if cached and is_only_written:
                usage = usage.model_copy(update={"cached_tokens": 0, "cache_write_tokens": usage.input_tokens})
            likely.append(usage)
        if low:
            follow = Usage(calls=1, input_tokens=text.low, output_tokens=reply.low)
            low += [follow] * max(0, fewest - len(requests))
            follow = Usage(calls=1, input_tokens=max(sizes) + reply.likely, output_tokens=reply.likely)
            likely += [follow] * ((fewest + between(fewest, most)) // 2 - len(requests))

        high: list[Usage] = []
        bytes_per_token = 1.0
        for request, size, frame in zip(requests, sizes, frames, strict=True):
            sent = bytes_sent(request.messages, request.schema, request.tools)
            bytes_per_token = max(bytes_per_token, sent / max(1, size))
            high.append(Usage(calls=1, input_tokens=size + frame + text.high - text.tokens, output_tokens=reply.high))
        longest = max((usage.input_tokens for usage in high), default=0)
        further_calls = most - len(requests) if requests else 0
        for number in range(further_calls):  # each repeats the conversation before it
            earlier_replies = (1 + number // len(requests)) * reply.high
            high.append(Usage(calls=1, input_tokens=longest + earlier_replies, output_tokens=reply.high))

        longest = max((usage.input_tokens for usage in high), default=0)
        if longest:
            room = settings.max_tokens or ASSUMED_ROOM
            worst = worst_requests(math.ceil(longest * bytes_per_token), room)
            self._reserve = _larger(self._reserve, _priced(worst, partial(highest_cost, price_of)))
        most_paid = _priced(high, partial(highest_cost, price_of))
        return Range(_priced(low, price_of), most_paid, _priced(likely, price_of).cost)

    def _price_of(self, settings: ModelSettings) -> PriceOf:
        local = self._config.llm not in (None, "openai") and not any(settings.server)
        server = "http://localhost" if local else Endpoint(*settings.server).address
        model = settings.model or DEFAULT_MODEL
        return lambda usage: self._prices(model, usage, server)


def _charges_for_writing(price_of: PriceOf) -> bool:
    """Whether input costs more if it is written to a cache."""
    prompt = Usage(calls=1, input_tokens=CACHED_FROM)
    plain, highest = price_of(prompt), highest_cost(price_of, prompt)
    return plain is not None and highest is not None and highest > plain


def _priced(usages: Iterable[Usage], price_of: PriceOf) -> Usage:
    """Their sum, with what each costs."""
    total = Usage()
    for usage in usages:
        total += usage.model_copy(update={"cost": price_of(usage)})
    return total


def _larger(usage: Usage, other: Usage) -> Usage:
    """The larger figure of each, since dollars and tokens may be limited; unknown dollars stay unknown."""
    cost = None
    if usage.cost is not None and other.cost is not None:
        cost = max(usage.cost, other.cost)
    return Usage(
        calls=max(usage.calls, other.calls),
        input_tokens=max(usage.input_tokens, other.input_tokens),
        output_tokens=max(usage.output_tokens, other.output_tokens),
        cost=cost,
    )


LOW = "low: no error is found, replies are as short as possible, repeated parts of prompts are read from the cache"
HIGH = (
    "high: every stage edits, every error without a suggestion needs a call to fix it, the gate judges every text, "
    "nothing is read from a cache, and all input is written to one if that costs more"
)
LIKELY = (
    "likely: half of the texts have errors; the number of their calls, and the lengths of replies, are the geometric "
    "means of the least and the most; repeated parts of prompts are read from the cache (on models that charge for "
    "cache writes, without --cache-control, long prompts are only written to it)"
)
TRIAGED = "triage: skips every text (low) or none (high)"
CHEAP_FIRST = "judges: in high, models judge every edit; usually half or less, after the metrics (--ask-all)"
REPEATED = "pilot: its requests are sent again if --context shows texts that were improved in the meantime"
NOT_IN_IT = (
    "not included: reasoning tokens, requests after unusable replies, tries in parts (--gate-calls), questions to "
    "judges about doubtful edits, your own MT systems"
)


HELD_BACK = (
    "reserve: a call that is sent three times, each with the longest reply (--max-tokens); with the total as --budget "
    "a run finishes, if it needs nothing else: the first calls are sent only if the budget covers the reserve"
)


def table(ranges: Mapping[str, Range]) -> str:
    """A row per stage, and the total."""

    def span(low: str, high: str) -> str:
        return low if low == high else f"{low}–{high}"

    rows = []
    for stage, (low, high, likely) in {**ranges, "total": reduce(Range.plus, ranges.values(), Range())}.items():
        cost = UNKNOWN
        if low.cost is not None and high.cost is not None:
            # A user may take the high end as a budget: rounded down, it would be too low.
            most = dollars(rounded_up(high.cost))
            cost = most if low.cost == high.cost else span(dollars(low.cost), most)
        calls = span(f"{low.calls:,}", f"{high.calls:,}")
        input_tokens = span(f"{low.input_tokens:,}", f"{high.input_tokens:,}")
        output_tokens = span(f"{low.output_tokens:,}", f"{high.output_tokens:,}")
        rows.append((stage, calls, input_tokens, output_tokens, cost, dollars(likely)))
    return text([Table("", ("stage", "calls", "input tokens", "output tokens", "cost", "likely"), tuple(rows))])


def assumptions(
    config: Config, ranges: Mapping[str, Range], tokens: Counter, prices: Prices, *, batch: bool = False
) -> str:
    """The assumptions behind the figures, a line each."""
    lines = [LOW, HIGH, LIKELY, NOT_IN_IT]
    if config.triage:
        lines.insert(0, TRIAGED)
    asks_models = {asks_model(spec.partition(":")[0]) for spec in config.judges}
    if len(asks_models) > 1 and not config.ask_all and effective(config, OwnParts()).gate == "gain":
        lines.append(CHEAP_FIRST)
    if PILOT in ranges:
        lines.append(REPEATED)
    if RESERVE in ranges:
        lines.append(HELD_BACK)
    lines.append(f"tokens: {tokens.how}; other vocabularies make more or fewer")
    own_prices = f"{config.prices}, then " if config.prices else ""
    lines.append(f"prices: {own_prices}the public list prices that came with genai-prices")
    if any(needed.high.cost is None for needed in ranges.values()):
        lines.append("unknown: a model that no price list knows on that server; name its price in a file (--prices)")
        return "\n".join(lines)
    discount = prices.batch_discount(config.model or DEFAULT_MODEL, Endpoint(*config.server).address)
    less = f"{discount:.0%} less, as with OpenAI and Azure, or as batch_discount in a price file"
    lines.append(f"batch: {less}" if batch else f"with --batch {less}")
    return "\n".join(lines)
