"""Ratings in stored runs: of files, and of the texts that the stages of a chain run left. In Python: :func:`rate`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.chain.decided_text import DecidedRun
from mtagent.config import Config, ModelSettings
from mtagent.errors import ConfigError, calls_of
from mtagent.evaluators.protocol import (
    Evaluator,
    RatesSystems,
    RatesTogether,
    asks_no_model,
    rates_together,
    signature_of,
)
from mtagent.evaluators.rating import checked_rating, rating_by, ratings_by, with_absent_spans_noted
from mtagent.formats.glossary import with_terms
from mtagent.formats.ratings import Candidates, Material, Ratings, side_by_side, stages_of
from mtagent.jobs.batches import in_words, of_rating, refuse_unfit
from mtagent.jobs.context import with_context
from mtagent.jobs.inputs import (
    LANGUAGE_SAMPLE,
    LanguageCheck,
    RatingInputs,
    content_hashes,
    files_named,
    refuse_wrong_languages,
)
from mtagent.jobs.outputs import RatingOutput, refuse_overwriting
from mtagent.jobs.parts import OwnParts, assembled_evaluator, effective
from mtagent.jobs.pool import Outcome, in_order
from mtagent.jobs.python_inputs import Terms, loaded, make_segments, texts_of
from mtagent.jobs.run import Job, OnStart, RunModels, noting_outputs, run_job
from mtagent.jobs.session import OwnLoop
from mtagent.jobs.summary import SystemSummary
from mtagent.llm import prompts
from mtagent.llm.batch import Batches
from mtagent.llm.budget import Budget
from mtagent.llm.gathering import STOPPING, together
from mtagent.llm.prompts import read_instructions_by_language, with_instructions
from mtagent.llm.protocol import LLM
from mtagent.records import Call, Rated, Rating, Segment
from mtagent.store.runs import Run, RunSummary, StoredRun
from mtagent.store.store import Store, default_path, open_existing

logger = logging.getLogger(__name__)

NO_TRANSLATION = "there is no translation to rate"
"""The stored error of a missing translation; an export writes such a text as missing, not as empty."""


class _Verdict(NamedTuple):
    """The rating of one text, or the error. Neither: text and source have no words."""

    rating: Rating | None = None
    error: str | None = None
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0

    @classmethod
    def of_former_try(cls, rated: Rated) -> _Verdict:
        """The verdict that is stored in ``rated``."""
        return cls(rated.rating, None, rated.calls, rated.seconds)


async def rate_segment(
    candidates: Candidates, evaluator: Evaluator, *, known: Mapping[str, Rated] = {}, published: bool = False
) -> tuple[Rated, ...]:
    """One :class:`Rated` per system, in order. Only errors that concern every segment are raised.

    Systems with equal texts share a rating, and the first of them has its calls. ``known`` holds ratings of a former
    try, by system, which are used again. Source and translation without words have neither rating nor error.
    ``published``: a model sees only what the papers' requests show.
    """
    segment, translations = candidates.segment, candidates.translations
    has_source = bool(segment.source.strip())
    texts: dict[str, str] = {}
    for system, text in translations.items():
        if text is not None and (has_source or text.strip()):
            texts[system] = text
    known = {system: rated for system, rated in known.items() if rated.rating is not None}
    if isinstance(evaluator, RatesSystems):
        verdicts = await _of_systems(evaluator, segment, texts, known, alone=len(translations) == 1)
    else:
        shown = segment
        if published and not asks_no_model(evaluator):
            shown = prompts.published(segment)
        verdicts = await _of_texts(evaluator, shown, texts, known, with_neighbours=not published)
    results = []
    for system, text in translations.items():
        verdict = verdicts.get(system, _Verdict())
        if text is None:
            verdict = _Verdict(error=NO_TRANSLATION)
        results.append(Rated(segment=segment, system=system, translation=text or "", **verdict._asdict()))
    return tuple(results)


async def _of_systems(
    evaluator: RatesSystems, segment: Segment, texts: Mapping[str, str], known: Mapping[str, Rated], *, alone: bool
) -> dict[str, _Verdict]:
    """Each system for itself: equal texts of two systems may have different ratings here."""

    async def rated(system: str, text: str) -> Rating:
        rating = checked_rating(await evaluator.rate_system(segment, text, system, alone=alone), evaluator)
        return with_absent_spans_noted(rating, text)

    verdicts: dict[str, _Verdict] = {}
    for system, former in known.items():
        if system in texts and former.translation == texts[system]:
            verdicts[system] = _Verdict.of_former_try(former)
    unrated = {system: text for system, text in texts.items() if system not in verdicts}
    new_verdicts = await together(*(_verdict(rated(system, text)) for system, text in unrated.items()))
    return verdicts | dict(zip(unrated, new_verdicts, strict=True))


async def _of_texts(
    evaluator: Evaluator,
    segment: Segment,
    texts: Mapping[str, str],
    known: Mapping[str, Rated],
    *,
    with_neighbours: bool,
) -> dict[str, _Verdict]:
    """Each text once; its first system has its calls."""
    distinct_texts = list(dict.fromkeys(texts.values()))
    by_text: dict[str, _Verdict] = {}
    if rates_together(evaluator):
        by_text |= zip(distinct_texts, await _together(evaluator, segment, distinct_texts), strict=True)
    else:
        for rated in known.values():  # of several ratings of a text, the first is the one that was paid for
            by_text.setdefault(rated.translation, _Verdict.of_former_try(rated))
        unrated = [text for text in distinct_texts if text not in by_text]
        ratings = [rating_by(evaluator, segment, text, with_neighbours=with_neighbours) for text in unrated]
        by_text |= zip(unrated, await together(*map(_verdict, ratings)), strict=True)
    verdicts = {}
    for system, text in texts.items():
        verdicts[system] = by_text[text]
        by_text[text] = by_text[text]._replace(calls=(), seconds=0.0)
    return verdicts


async def _together(evaluator: RatesTogether, segment: Segment, texts: Sequence[str]) -> list[_Verdict]:
    if not texts:
        return []
    began = time.perf_counter()
    try:
        ratings = await ratings_by(evaluator, segment, texts)
    except STOPPING:
        raise
    except Exception as error:  # noqa: BLE001 as below; only the first translation gets the calls
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
        except Exception as error:  # noqa: BLE001 the evaluator may put any exception into the list
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
    *("instructions", "instructions_for", "prompts"),
}
"""The settings that ratings depend on, besides the model's settings; all others belong to the chain."""


class RatingReport(NamedTuple):
    """The result of a rating run."""

    run: RunSummary
    systems: tuple[SystemSummary, ...]
    remarks: tuple[str, ...]
    """What the format of the output had to leave out or to rename."""


async def rate_file(
    config: Config,
    inputs: RatingInputs,
    output: RatingOutput = RatingOutput(),
    *,
    own: OwnParts = OwnParts(),
    on_start: OnStart = lambda *_: None,
    on_rated: OnRated = lambda _: None,
    budget: Budget | None = None,
    batches: Batches | None = None,
) -> RatingReport:
    """Rate the translations in ``inputs``, and write the ratings when all are done.

    The run is stored under ``config.run``, or under a name made from settings and inputs, so that the same command
    again resumes it. ``on_rated`` gets the ratings of each segment. The ``budget`` is by default the one that
    ``config`` sets. With ``batches``, requests are sent in them.
    """
    with inputs.opened(config, output) as (material, config):
        total = output.refuse_unfit(material)
        with Store(config.store or default_path()) as store:
            return await _rate(config, own, store, material, total, output, on_start, on_rated, budget, batches)


async def rate_run(
    config: Config,
    name: str,
    output: RatingOutput = RatingOutput(),
    *,
    systems: Sequence[str] = (),
    own: OwnParts = OwnParts(),
    on_start: OnStart = lambda *_: None,
    on_rated: OnRated = lambda _: None,
    budget: Budget | None = None,
    batches: Batches | None = None,
) -> RatingReport:
    """Rate the texts after each stage of the chain run ``name``; see :func:`mtagent.formats.ratings.stages_of`."""
    refuse_overwriting(output.paths, files_named(config))
    output.refuse_unwritable()
    with open_existing(config.store) as store:
        material = stored_stages(store, config, name, systems)
        total = output.refuse_unfit(material)
        return await _rate(config, own, store, material, total, output, on_start, on_rated, budget, batches)


def stored_stages(store: Store, config: Config, name: str, systems: Sequence[str]) -> Material:
    """The texts to rate in a stored chain run. Raises :class:`ConfigError` for a run that holds ratings."""
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
    budget: Budget | None,
    batches: Batches | None,
) -> RatingReport:
    if not config.offline:
        check = LanguageCheck()
        for candidates in islice(material.candidates(), LANGUAGE_SAMPLE):
            check.look(candidates.segment, next(iter(candidates.translations.values()), None))
        refuse_wrong_languages(check, None, config, force=output.force)
    models = RunModels(config, store, budget, batches)
    async with assembled_evaluator(config, own, wrap_llm=models.wrap, batches=batches) as evaluator:
        if batches is not None:
            refuse_unfit(config)
            logger.info("%s", in_words([of_rating("rating", evaluator)]))

        async def work(run: Run, position: int, candidates: Candidates) -> Sequence[Rated]:
            known = {rated.system: rated for rated in run.ratings_at(position)}
            return await rate_segment(candidates, evaluator, known=known, published=config.preset == "paper")

        job = Job(
            command="rate",
            settings=_settings(config, own, evaluator),
            inputs=material.inputs,
            files=material.files,
            total=total,
            items=material.candidates,
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
    """The settings that the ratings depend on. The signature covers the evaluator's prompts, options and files."""
    relevant = SETTINGS | set(ModelSettings.model_fields)
    all_settings = effective(config, own).for_results()
    settings = {name: value for name, value in all_settings.items() if name in relevant}
    if own.llm:
        settings["model"] = own.llm.model
    if own.evaluator:
        settings["evaluator"] = evaluator.name
    return {**settings, "signature": signature_of(evaluator)}


def _outcome(rated: Sequence[Rated]) -> Outcome:
    """A segment has failed if none of its translations has a rating."""
    if any(result.rating is not None for result in rated):
        return Outcome(True, None)
    first_error = next((result.error for result in rated if result.error), None)
    return Outcome(False, first_error)


def write_ratings(
    run: StoredRun, output: RatingOutput, *, limit: int | None = None
) -> tuple[tuple[SystemSummary, ...], tuple[str, ...]]:
    """Write the ratings of ``run``, and return a summary per system, and the remarks of the format."""
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
    """Rate the translations of one system, or of several by name; one :class:`Rated` per source and system, in order.

    ``evaluator`` and ``llm`` take your own objects or names from the configuration, ``glossary`` and ``keep`` files or
    terms. ``settings`` are the fields of :class:`mtagent.config.Config` that a rating depends on, such as
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

    loop = OwnLoop()  # so that it works if a loop is running already, as in Jupyter
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
    """The results of :func:`rate`, in the same order, each as soon as it is ready; for async code.

    Raises :class:`ConfigError` for a wrong setting: at the call, or when the evaluator is made.
    """
    for name in settings:
        if name in Config.model_fields and name not in OF_RATING:
            raise ConfigError(f"{name}: has no effect on ratings, which are not stored and change no text")
    own_evaluator: Evaluator | None = None
    if isinstance(evaluator, str):
        settings["evaluator"] = evaluator
    else:
        own_evaluator = evaluator
    own_llm: LLM | None = None
    if isinstance(llm, str):
        settings["llm"] = llm
    else:
        own_llm = llm
    config, terms = loaded(config_file, settings, glossary, keep)
    own = OwnParts(evaluator=own_evaluator, llm=own_llm)
    candidates = make_candidates(sources, translations, source_lang, target_lang, references=references)
    segments = []
    for candidate in candidates:
        only_translation = None
        if len(candidate.translations) == 1:
            [only_translation] = candidate.translations.values()
        update = {"domain": config.domain, "translation": only_translation}
        segments.append(candidate.segment.model_copy(update=update))
    instructions_for = read_instructions_by_language(config.instructions_for)
    detailed = with_instructions(with_terms(segments, terms), instructions_for)
    in_context = with_context(detailed, config.context)
    candidates = [
        side_by_side(segment, candidate.translations) for segment, candidate in zip(in_context, candidates, strict=True)
    ]
    return _ratings_of(candidates, config, own)


async def _ratings_of(candidates: Sequence[Candidates], config: Config, own: OwnParts) -> AsyncGenerator[Rated, None]:
    """The ratings of ``candidates`` in order, each as soon as it is ready."""
    async with assembled_evaluator(config, own) as evaluator:
        results = in_order(
            candidates,
            partial(rate_segment, evaluator=evaluator, published=config.preset == "paper"),
            concurrency=config.concurrency,
        )
        async with aclosing(results):  # if the caller stops early, no task is left that calls a closed model
            async for rated in results:
                for result in rated:
                    yield result


def make_candidates(
    sources: Iterable[str],
    translations: Iterable[str] | Mapping[str, Iterable[str]],
    source_lang: str,
    target_lang: str,
    *,
    references: Iterable[str] | None = None,
) -> list[Candidates]:
    """The translations of each source side by side.

    Raises :class:`ConfigError` for anything but text, if a source has no translation or reference, and without systems.
    """
    segments = make_segments(sources, None, source_lang, target_lang)
    systems = translations if isinstance(translations, Mapping) else {"translation": translations}
    if not systems:
        raise ConfigError("no system to rate: give a list of translations, or a dictionary of lists by system name")
    for name in systems:
        if not isinstance(name, str):
            raise ConfigError(f"the name of a system must be a text, not {name!r}")
    columns = {name: _one_for_each(texts, segments, "translation") for name, texts in systems.items()}
    if references is not None:
        texts = _one_for_each(references, segments, "reference")
        for number, text in enumerate(texts):
            segments[number] = segments[number].model_copy(update={"reference": text})
    candidates = []
    for number, segment in enumerate(segments):
        by_system = {name: texts[number] for name, texts in columns.items()}
        candidates.append(side_by_side(segment, by_system))
    return candidates


def _one_for_each(texts: Iterable[str], segments: Sequence[Segment], what: str) -> list[str]:
    texts = texts_of(texts, what)
    if len(texts) != len(segments):
        raise ConfigError(f"{len(segments)} sources and {len(texts)} {what}s: there must be one for each")
    return texts
