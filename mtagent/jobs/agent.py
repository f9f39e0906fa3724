"""From Python: wrap an MT system, improve texts, get records back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from mtagent import config as configuration
from mtagent.chain.chain import improve
from mtagent.chain.gate import Gate
from mtagent.errors import ConfigError
from mtagent.evaluators.protocol import Evaluator
from mtagent.jobs.parts import OwnParts, assembled
from mtagent.jobs.pool import in_order
from mtagent.llm.protocol import LLM
from mtagent.records import Chain, Segment
from mtagent.text import languages


class Agent:
    """Improves machine translation.

    ``translator`` is any MT system: a callable, an object with ``.translate``, or a specification such as
    ``"command:apertium eng-spa"``; without one the model translates. ``evaluator``, ``judge``, ``triage``, ``gate`` and
    ``llm`` take objects of your own, or the names that the configuration knows. ``settings`` are those of the
    configuration file (:class:`mtagent.config.Config`), such as ``model="gpt-6-luna"`` or ``stages="tp"``;
    ``config_file`` names such a file.

    Raises :class:`mtagent.errors.ConfigError` for a wrong setting, at once.
    """

    def __init__(
        self,
        translator: object | None = None,
        *,
        evaluator: Evaluator | str | None = None,
        judge: Evaluator | str | Sequence[str] | None = None,
        triage: Evaluator | str | None = None,
        gate: Gate | str | None = None,
        llm: LLM | str | None = None,
        config_file: str | Path | None = None,
        **settings: Any,
    ) -> None:
        named = {"translator": translator, "evaluator": evaluator, "triage": triage, "gate": gate, "llm": llm}
        settings |= {name: value for name, value in named.items() if isinstance(value, str)}
        own_judge = None if judge is None or isinstance(judge, str | Sequence) else judge
        if judge is not None and own_judge is None:
            settings["judge"] = {"evaluator": judge}
        self.config = configuration.load(Path(config_file) if config_file else None, settings)
        self._own = OwnParts(
            translator=None if isinstance(translator, str) else translator,
            evaluator=None if isinstance(evaluator, str) else evaluator,
            judge=own_judge,
            triage=None if isinstance(triage, str) else triage,
            gate=None if isinstance(gate, str) else gate,
            llm=None if isinstance(llm, str) else llm,
        )

    def translate(self, sources: Iterable[str], source_lang: str, target_lang: str) -> list[Chain]:
        """Translate and improve each source; one :class:`Chain` per source, in order. ``chain.text`` is the result."""
        return self.improve(make_segments(sources, None, source_lang, target_lang))

    def postedit(
        self, sources: Iterable[str], translations: Iterable[str], source_lang: str, target_lang: str
    ) -> list[Chain]:
        """Improve given translations; one :class:`Chain` per source, in order."""
        return self.improve(make_segments(sources, translations, source_lang, target_lang))

    def improve(self, segments: Iterable[Segment]) -> list[Chain]:
        """Improve segments with all that is known about them: references, context, notes, terms.

        Not for use inside a running event loop: there, iterate over :meth:`stream`.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._collect(segments))
        raise ConfigError("an event loop is running here: use `async for chain in agent.stream(segments)`")

    async def stream(self, segments: Iterable[Segment]) -> AsyncGenerator[Chain, None]:
        """The chains of ``segments`` in order, as soon as each is there; for async code."""
        async with assembled(self.config, self._own) as plan:
            chains = in_order(segments, partial(improve, plan=plan), concurrency=self.config.concurrency)
            async with aclosing(chains):  # who leaves early must leave no task behind that asks a closed model
                async for chain in chains:
                    yield chain

    async def _collect(self, segments: Iterable[Segment]) -> list[Chain]:
        return [chain async for chain in self.stream(segments)]


def make_segments(
    sources: Iterable[str], translations: Iterable[str] | None, source_lang: str, target_lang: str
) -> list[Segment]:
    """Segments numbered from 1. Raises :class:`ConfigError` for what is no text, or if there is not one for each."""
    sources = texts_of(sources, "source")
    given = [None] * len(sources) if translations is None else texts_of(translations, "translation")
    if len(given) != len(sources):
        raise ConfigError(f"{len(sources)} sources and {len(given)} translations: there must be one for each")
    source_lang, target_lang = languages.normalise(source_lang), languages.normalise(target_lang)
    return [
        Segment(id=str(i), source=source, translation=translation, source_lang=source_lang, target_lang=target_lang)
        for i, (source, translation) in enumerate(zip(sources, given, strict=True), 1)
    ]


def texts_of(given: Iterable[str], what: str) -> list[str]:
    """The texts of ``given``, whatever can be iterated over in order. Raises :class:`ConfigError` for anything else."""
    if isinstance(given, str | bytes):
        raise ConfigError("give a list of texts, not one text")
    if isinstance(given, Mapping | set | frozenset) or not isinstance(given, Iterable):
        raise ConfigError(f"give a list of texts as {what}s, not {type(given).__name__} {given!r:.80}")
    texts = list(given)
    for i, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise ConfigError(f"{what} {i} is no text but {text!r}")
    return texts
