"""Ratings in stored runs: of files, and of what the stages of a chain run left. From Python: :func:`rate`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.chain.decided_run import DecidedRun
from mtagent.config import Config, ModelSettings
from mtagent.errors import ConfigError, calls_of
from mtagent.evaluators.protocol import Evaluator, RatesSystems, RatesTogether, signature_of
from mtagent.evaluators.rating import checked_rating, rating_by, ratings_by, with_absent_spans_noted
from mtagent.formats.glossary import with_terms
from mtagent.formats.ratings import Candidates, Material, Ratings, side_by_side, stages_of
from mtagent.jobs.context import with_context
from mtagent.jobs.inputs import RatingInputs, content_hashes, files_named
from mtagent.jobs.outputs import RatingOutput, refuse_overwriting
from mtagent.jobs.parts import OwnParts, assembled_evaluator, effective
from mtagent.jobs.pool import Outcome, in_order
from mtagent.jobs.python_inputs import Terms, loaded, make_segments, texts_of
from mtagent.jobs.run import Job, OnStart, RunModels, noting_outputs, run_job
from mtagent.jobs.session import OwnLoop
from mtagent.jobs.summary import SystemSummary
from mtagent.llm import prompts
from mtagent.llm.gathering import STOPPING, together
from mtagent.llm.protocol import LLM
from mtagent.records import Call, Rated, Rating, Segment
from mtagent.store.runs import Run, RunSummary, StoredRun
from mtagent.store.store import Store, default_path, open_existing

NO_TRANSLATION = "there is no translation to rate"


class _Verdict(NamedTuple):
    """What became of one text. Neither rating nor error: it has no words, and neither has its source."""

    rating: Rating | None = None
    error: str | None = None
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0

    @classmethod
    def of(cls, rated: Rated) -> _Verdict:
        """That of a former try."""
        return cls(rated.rating, None, rated.calls, rated.seconds)


async def rate_segment(
    candidates: Candidates, evaluator: Evaluator, *, known: Mapping[str, Rated] = {}, published: bool = False
) -> tuple[Rated, ...]:
    """One :class:`Rated` per system, in order. Only errors that concern every segment are raised.

    Systems with equal texts share a rating, and the first of them has its calls. ``known`` holds ratings of a former
    try, by system, which are not asked for again. Source and translation without words have neither rating nor error.
    ``published``: a model is shown what the papers' requests show.
    """
    segment, translations = candidates.segment, candidates.translations
    texts = {system: text for system, text in translations.items() if text is not None}
    if not segment.source.strip():
        texts = {system: text for system, text in texts.items() if text.strip()}
    known = {system: rated for system, rated in known.items() if rated.rating is not None}
    if isinstance(evaluator, RatesSystems):
        verdicts = await _of_systems(evaluator, segment, texts, known, alone=len(translations) == 1)
    else:
        asks_nobody = getattr(evaluator, "calls", None) == (0, 0)
        shown = prompts.published(segment) if published and not asks_nobody else segment
        verdicts = await _of_texts(evaluator, shown, texts, known, with_neighbours=not published)
    missing = _Verdict(error=NO_TRANSLATION)
    return tuple(
        Rated(
            segment=segment,
            system=system,
            translation=text or "",
            **verdicts.get(system, missing if text is None else _Verdict())._asdict(),
        )
        for system, text in translations.items()
    )


async def _of_systems(
    evaluator: RatesSystems, segment: Segment, texts: Mapping[str, str], known: Mapping[str, Rated], *, alone: bool
) -> dict[str, _Verdict]:
    """Each system for itself: equal texts of two systems may have different ratings here."""

    async def rated(system: str, text: str) -> Rating:
        rating = checked_rating(await evaluator.rate_system(segment, text, system, alone=alone), evaluator)
        return with_absent_spans_noted(rating, text)

    verdicts = {
        system: _Verdict.of(former)
        for system, former in known.items()
        if system in texts and former.translation == texts[system]
    }
    left = {system: text for system, text in texts.items() if system not in verdicts}
    fresh = await together(*(_verdict(rated(system, text)) for system, text in left.items()))
    return verdicts | dict(zip(left, fresh, strict=True))


async def _of_texts(
    evaluator: Evaluator,
    segment: Segment,
    texts: Mapping[str, str],
    known: Mapping[str, Rated],
    *,
    with_neighbours: bool,
) -> dict[str, _Verdict]:
    """Each text once; the first system that has it has its calls."""
    different = list(dict.fromkeys(texts.values()))
    if isinstance(evaluator, RatesTogether):
        by_text = dict(zip(different, await _together(evaluator, segment, different), strict=True))
    else:  # of a text that was rated before, the first rating is the one that was paid for
        by_text = {rated.translation: _Verdict.of(rated) for rated in reversed([*known.values()])}
        left = [text for text in different if text not in by_text]
        ratings = [rating_by(evaluator, segment, text, with_neighbours=with_neighbours) for text in left]
        fresh = await together(*map(_verdict, ratings))
        by_text |= zip(left, fresh, strict=True)
    verdicts = {}
    for system, text in texts.items():
        verdicts[system] = by_text[text]
        by_text[text] = by_text[text]._replace(calls=(), seconds=0.0)
    return verdicts


async def _together(evaluator: RatesTogether, segment: Segment, texts: Sequence[str]) -> list[_Verdict]:
    began = time.perf_counter()
    try:
        ratings = await ratings_by(evaluator, segment, texts) if texts else []
    except STOPPING:
        raise
    except Exception as error:  # noqa: BLE001 as below; the calls stand with the first translation, once
        first = _failed(error, time.perf_counter() - began)
        return [first, *[_Verdict(error=first.error)] * (len(texts) - 1)]
    verdicts = []
    for rating, text in zip(ratings, texts, strict=True):
        try:
            if isinstance(rating, Exception):
                raise rating
            rating = with_absent_spans_noted(checked_rating(rating, evaluator), text)
            verdicts.append(_Verdict(rating, None, rating.calls, rating.seconds))
        except STOPPING:  # in a list of results, too, it concerns every segment
            raise
        except Exception as error:  # noqa: BLE001 what the evaluator put into the list
            verdicts.append(_failed(error, getattr(rating, "seconds", 0.0)))
    return verdicts


async def _verdict(rating_to_come: Awaitable[Rating]) -> _Verdict:
    began = time.perf_counter()
    try:
        rating = await rating_to_come
    except STOPPING:
        raise
    except Exception as error:  # noqa: BLE001 a third party's part may raise anything; it must not stop the others
        return _failed(error, time.perf_counter() - began)
    return _Verdict(rating, None, rating.calls, time.perf_counter() - began)


def _failed(error: Exception, seconds: float) -> _Verdict:
    return _Verdict(None, f"{type(error).__name__}: {error}", calls_of(error), seconds)


OnRated = Callable[[Sequence[Rated]], None]
SETTINGS = {
    *("source_lang", "target_lang", "evaluator", "llm", "context", "domain", "glossary", "keep"),
    *("instructions", "prompts"),
}
"""The settings that ratings depend on, besides those of the model; all others are the chain's."""


class RatingReport(NamedTuple):
    """What a rating run came to. ``remarks`` are what the format of the output had to leave out or to rename."""

    run: RunSummary
    systems: tuple[SystemSummary, ...]
    remarks: tuple[str, ...]


async def rate_file(
    config: Config,
    inputs: RatingInputs,
    output: RatingOutput = RatingOutput(),
    *,
    own: OwnParts = OwnParts(),
    on_start: OnStart = lambda *_: None,
    on_rated: OnRated = lambda _: None,
) -> RatingReport:
    """Rate the translations in ``inputs``, and write the ratings when all are there.

    The run is stored under ``config.run``, or under a name made from settings and inputs, so that the same command
    again resumes it. ``on_rated`` gets the ratings of each segment.
    """
    with inputs.opened(config, output) as (material, config):
        total = output.refuse_unfit(material)
        with Store(config.store or default_path()) as store:
            return await _rate(config, own, store, material, total, output, on_start, on_rated)


async def rate_run(
    config: Config,
    name: str,
    output: RatingOutput = RatingOutput(),
    *,
    systems: Sequence[str] = (),
    own: OwnParts = OwnParts(),
    on_start: OnStart = lambda *_: None,
    on_rated: OnRated = lambda _: None,
) -> RatingReport:
    """Rate what the stages of the chain run ``name`` left; see :func:`mtagent.formats.ratings.stages_of`."""
    refuse_overwriting(output.paths, files_named(config))
    output.refuse_unwritable()
    with open_existing(config.store) as store:
        material = stored_stages(store, config, name, systems)
        total = output.refuse_unfit(material)
        return await _rate(config, own, store, material, total, output, on_start, on_rated)


def stored_stages(store: Store, config: Config, name: str, systems: Sequence[str]) -> Material:
    """What there is to rate in a stored chain run. Raises :class:`ConfigError` for a run that holds ratings."""
    stored = store.read(name)
    if stored.kind == "rating":
        raise ConfigError(
            f"run {name!r} holds ratings already: `mtagent export {name}` writes them again, "
            f"`mtagent rate --show SEGMENT --run {name}` shows one"
        )
    material = stages_of(DecidedRun(store, name).chains, name, systems, config.limit)
    prompts = content_hashes({}, config.model_copy(update={"glossary": None, "keep": None}))
    return Material(material.systems, {**material.inputs, **prompts}, material.candidates)


async def _rate(
    config: Config,
    own: OwnParts,
    store: Store,
    material: Material,
    total: int,
    output: RatingOutput,
    on_start: OnStart,
    on_rated: OnRated,
) -> RatingReport:
    models = RunModels(config, store)
    async with assembled_evaluator(config, own, wrap_llm=models.wrap) as evaluator:

        async def work(run: Run, position: int, candidates: Candidates) -> Sequence[Rated]:
            known = {rated.system: rated for rated in run.ratings_at(position)}
            return await rate_segment(candidates, evaluator, known=known, published=config.preset == "paper")

        job = Job(
            command="rate",
            settings=_settings(config, own, evaluator),
            inputs=material.inputs,
            total=total,
            items=material.candidates(),
            work=work,
            save=Run.save_ratings,
            outcome=_outcome,
            is_output=lambda rated: _outcome(rated).succeeded,
            outputs=output.paths,
            force=output.force,
            kind="rating",
        )
        run = await run_job(job, config, store, models, on_start=on_start, on_result=on_rated)
    with noting_outputs(store, run.name, output.paths):
        systems, remarks = write_ratings(run, output, limit=config.limit)
    return RatingReport(store.run(run.name), systems, remarks)


def _settings(config: Config, own: OwnParts, evaluator: Evaluator) -> dict[str, Any]:
    """What the ratings depend on. The signature stands for prompts, options and files that an evaluator reads."""
    decided = effective(config, own).for_results()
    settings = {name: decided[name] for name in decided if name in SETTINGS | set(ModelSettings.model_fields)}
    if own.llm:
        settings["model"] = own.llm.model
    if own.evaluator:
        settings["evaluator"] = evaluator.name
    return {**settings, "signature": signature_of(evaluator)}


def _outcome(rated: Sequence[Rated]) -> Outcome:
    """A segment has failed where none of its translations has a rating."""
    succeeded = any(result.rating is not None for result in rated)
    return Outcome(succeeded, None if succeeded else next((result.error for result in rated if result.error), None))


def write_ratings(
    run: StoredRun, output: RatingOutput, *, limit: int | None = None
) -> tuple[tuple[SystemSummary, ...], tuple[str, ...]]:
    """Write the ratings that ``run`` holds, and return what each system got, and the remarks of the format."""
    systems = {system: SystemSummary(system) for system in run.systems()}

    def read(system: str | None) -> Iterator[Rated]:
        for rated in run.ratings(system, limit=limit):
            systems[rated.system].add(rated)
            yield rated

    remarks = output.kind.write_ratings(Ratings(tuple(systems), read), output.path)
    return tuple(systems.values()), remarks


OF_RATING = (SETTINGS - {"source_lang", "target_lang"}) | {*ModelSettings.model_fields, "preset", "prices"}
OF_RATING |= {
    "budget",
    "token_budget",
    "concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "timeout",
    "deadline",
}
"""The settings that :func:`rate` takes."""


def rate(
    sources: Iterable[str],
    translations: Iterable[str] | Mapping[str, Iterable[str]],
    source_lang: str,
    target_lang: str,
    *,
    references: Iterable[str] | None = None,
    evaluator: Evaluator | str | None = None,
    llm: LLM | str | None = None,
    glossary: Terms | str | Path | None = None,
    keep: Iterable[str] | str | Path | None = None,
    config_file: str | Path | None = None,
    **settings: Any,
) -> list[Rated]:
    """Rate translations, or those of several systems by name; one :class:`Rated` per source and system, in order.

    ``evaluator`` and ``llm`` take objects of your own or the names that the configuration knows, ``glossary`` and
    ``keep`` files or terms. ``settings`` are those of :class:`mtagent.config.Config` on which a rating depends, such as
    ``model="gpt-6-luna"`` or ``context=2``. Nothing is stored. A translation that could not be rated has
    ``rating=None`` and an ``error``. Raises :class:`ConfigError` for a wrong setting.
    """
    ratings = rate_each(
        sources,
        translations,
        source_lang,
        target_lang,
        references=references,
        evaluator=evaluator,
        llm=llm,
        glossary=glossary,
        keep=keep,
        config_file=config_file,
        **settings,
    )

    async def collected() -> list[Rated]:
        return [rated async for rated in ratings]

    loop = OwnLoop()  # so that it works where a loop runs already, as in Jupyter
    try:
        return asyncio.run_coroutine_threadsafe(collected(), loop.loop).result()
    finally:
        loop.stop()


def rate_each(
    sources: Iterable[str],
    translations: Iterable[str] | Mapping[str, Iterable[str]],
    source_lang: str,
    target_lang: str,
    *,
    references: Iterable[str] | None = None,
    evaluator: Evaluator | str | None = None,
    llm: LLM | str | None = None,
    glossary: Terms | str | Path | None = None,
    keep: Iterable[str] | str | Path | None = None,
    config_file: str | Path | None = None,
    **settings: Any,
) -> AsyncGenerator[Rated, None]:
    """What :func:`rate` gives, in the same order, each as soon as it is there; for async code.

    Raises :class:`ConfigError` for a wrong setting: as soon as it is called, or when the evaluator is made.
    """
    if idle := next((name for name in settings if name in Config.model_fields and name not in OF_RATING), None):
        raise ConfigError(f"{idle}: does nothing for ratings, which are not stored and change no text")
    settings |= {name: value for name, value in (("evaluator", evaluator), ("llm", llm)) if isinstance(value, str)}
    config, terms = loaded(config_file, settings, glossary, keep)
    own = OwnParts(
        evaluator=None if isinstance(evaluator, str) else evaluator, llm=None if isinstance(llm, str) else llm
    )
    candidates = make_candidates(sources, translations, source_lang, target_lang, references=references)
    shown = [
        candidate.segment.model_copy(
            update={
                "domain": config.domain,
                "translation": next(iter(candidate.translations.values()))
                if len(candidate.translations) == 1
                else None,
            }
        )
        for candidate in candidates
    ]
    around = with_context(with_terms(shown, terms), config.context)
    candidates = [
        side_by_side(segment, candidate.translations) for segment, candidate in zip(around, candidates, strict=True)
    ]

    async def ratings() -> AsyncGenerator[Rated, None]:
        async with assembled_evaluator(config, own) as made:
            segments = in_order(
                candidates,
                partial(rate_segment, evaluator=made, published=config.preset == "paper"),
                concurrency=config.concurrency,
            )
            async with aclosing(segments):  # who leaves early must leave no task behind that asks a closed model
                async for rated in segments:
                    for result in rated:
                        yield result

    return ratings()


def make_candidates(
    sources: Iterable[str],
    translations: Iterable[str] | Mapping[str, Iterable[str]],
    source_lang: str,
    target_lang: str,
    *,
    references: Iterable[str] | None = None,
) -> list[Candidates]:
    """The translations of each source side by side.

    Raises :class:`ConfigError` for what is no text, if there is not one for each source, or if there is no system.
    """
    segments = make_segments(sources, None, source_lang, target_lang)
    systems = translations if isinstance(translations, Mapping) else {"translation": translations}
    if not systems:
        raise ConfigError("there is no system to rate: give a list of translations, or lists by the systems' names")
    if unnamed := [name for name in systems if not isinstance(name, str)]:
        raise ConfigError(f"the name of a system is a text, not {unnamed[0]!r}")
    columns = {name: _one_for_each(texts, segments, "translation") for name, texts in systems.items()}
    if references is not None:
        texts = _one_for_each(references, segments, "reference")
        segments = [
            segment.model_copy(update={"reference": text}) for segment, text in zip(segments, texts, strict=True)
        ]
    return [
        side_by_side(segment, {name: texts[number] for name, texts in columns.items()})
        for number, segment in enumerate(segments)
    ]


def _one_for_each(texts: Iterable[str], segments: Sequence[Segment], what: str) -> list[str]:
    texts = texts_of(texts, what)
    if len(texts) != len(segments):
        raise ConfigError(f"{len(segments)} sources and {len(texts)} {what}s: there must be one for each")
    return texts
