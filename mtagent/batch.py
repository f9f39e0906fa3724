"""A file in, a file out: read the segments, improve them in a stored run, write the texts and the details."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from mtagent import formats
from mtagent.build import Given, assembled, effective
from mtagent.chain import Plan, improve
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError, MtagentError
from mtagent.files import Files, refuse_overwriting
from mtagent.formats.details import write_details
from mtagent.glossary import Glossary, read_do_not_translate, read_glossary
from mtagent.named_files import files_named
from mtagent.records import Chain, Segment
from mtagent.run_models import RunModels
from mtagent.runner import improve_all
from mtagent.store import Run, RunSummary, Store, StoredRun, default_path

OnStart = Callable[[str, int, int], None]
OnChain = Callable[[Chain], None]


async def improve_file(
    config: Config, files: Files, *, command: str, given: Given = Given(), on_start: OnStart, on_chain: OnChain
) -> RunSummary:
    """Improve every segment of ``files.source`` and write the outputs when all are there.

    The run is stored under ``config.run``, or under a name made from the settings and the input, so that the same
    command again resumes it. ``on_start`` gets its name, the number of segments, and how many are done already.
    """
    files.refuse_collisions(config.limit)
    refuse_overwriting((files.output, files.details), files_named(config))
    files.refuse_unwritable()
    settings = effective(config, given).for_results()
    with files.spooled(config) as (files, config):
        total = _count(effective(config, given), files)
        inputs = files.fingerprint(config)
        with Store(config.store or default_path()) as store:
            models = RunModels(config, store)
            async with assembled(config, given, wrap_llm=models.wrap) as plan:
                # Only now: a setting that fails must not leave a run behind that the corrected one does not fit.
                name, settings = _identity(config.run, command, settings, plan.signatures, inputs, store)
                run = store.start(name, settings=settings, inputs=inputs, total=total)
                with models.working_on(run):
                    on_start(name, total, min(total, run.counts().done))
                    await _improve(config, files, plan, run, models.asleep, on_chain)
            run.finish()
            kind, like = files.writer()
            write_outputs(
                store.read(name), kind, files, like=like if config.limit is None else None, limit=config.limit
            )
            return store.run(name)


def _identity(
    chosen: str | None,
    command: str,
    settings: dict[str, Any],
    signatures: dict[str, str],
    inputs: dict[str, str],
    store: Store,
) -> tuple[str, dict[str, Any]]:
    """The name and the settings of the run: those of one that was stored before signatures were kept have none."""
    unsigned = chosen or _name(command, settings, inputs)
    stored = store.settings(unsigned)
    if not signatures or (stored is not None and "signatures" not in stored):
        return unsigned, settings
    settings = {**settings, "signatures": signatures}
    return chosen or _name(command, settings, inputs), settings


def _name(command: str, settings: dict[str, Any], inputs: dict[str, str]) -> str:
    return f"{command}-{hashlib.sha256(repr((settings, inputs)).encode()).hexdigest()[:8]}"


async def _improve(
    config: Config, files: Files, plan: Plan, run: Run, asleep: Callable[[], int], on_chain: OnChain
) -> None:
    fruitful, fruitless = run.counts().done > 0, ""

    def save(position: int, chain: Chain) -> None:
        nonlocal fruitful, fruitless
        run.save(position, chain)
        on_chain(chain)
        fruitful = fruitful or bool(chain.text.strip())
        fruitless = fruitless or (chain.failed.reason if chain.failed else "")

    await improve_all(
        read_segments(config, files),
        partial(improve, plan=plan),
        save,
        concurrency=config.concurrency,
        asleep=asleep,
        done=run.done,
        give_up_after=config.give_up_after,
    )
    if fruitless and not fruitful:
        raise MtagentError(f"no segment could be translated, and nothing was written: {fruitless}")


def write_outputs(
    run: StoredRun, kind: formats.Format, files: Files, *, like: Path | None = None, limit: int | None = None
) -> None:
    """Write what ``run`` holds, in input order: the texts in the form of ``like``, and the details if asked for."""
    results = (formats.Result(segment=chain.segment, text=chain.text) for chain in islice(run.chains(), limit))
    kind.write(files.output, results, like)
    if files.details is not None:
        write_details(files.details, islice(run.chains(), limit))


def read_segments(config: Config, files: Files) -> Iterator[Segment]:
    """The segments of ``files`` with the terms, context and domain that ``config`` adds."""
    defaults = segment_defaults(config)
    return enriched(islice(files.reader().read(files.source, defaults), config.limit), config)


def segment_defaults(config: Config) -> formats.SegmentDefaults:
    """What ``config`` says about every segment of a file."""
    return formats.SegmentDefaults(source_lang=config.source_lang, target_lang=config.target_lang, domain=config.domain)


def enriched(segments: Iterable[Segment], config: Config) -> Iterator[Segment]:
    """``segments`` with the terms and the context that ``config`` asks for."""
    terms = _terms(config)
    if terms.terms:
        segments = (_with_terms(segment, terms) for segment in segments)
    return with_context(segments, config.context) if config.context else iter(segments)


def with_context(segments: Iterable[Segment], size: int) -> Iterator[Segment]:
    """Each segment with up to ``size`` sources that precede it in its document, unless it has a context of its own."""
    former: deque[str] = deque(maxlen=size)
    document = None
    for segment in segments:
        if segment.document != document:
            former.clear()
            document = segment.document
        context = segment.context or "\n".join(former) or None
        former.append(segment.source)
        yield segment.model_copy(update={"context": context})


def _count(config: Config, files: Files) -> int:
    """Read the whole input once, so that a defect in its last line is found before anything is paid for."""
    total = filled = workable = 0
    for segment in read_segments(config, files):
        total += 1
        filled += bool(segment.source.strip())
        workable += bool(segment.source.strip()) and segment.translation is not None
    if not total:
        raise InputError(f"{files.source}: there is no segment in it")
    if filled and not workable and "translate" not in (config.stages or ()):
        raise ConfigError(
            f"{files.source}: there is no translation in it, and nothing to translate with: "
            "give -t, or the stage translate with OPENAI_API_KEY, --base-url, --llm local or --translator"
        )
    return total


def _terms(config: Config) -> Glossary:
    glossary = read_glossary(config.glossary) if config.glossary else ()
    keep = read_do_not_translate(config.keep) if config.keep else ()
    kept = {term.source for term in keep}
    for term in glossary:
        if term.source in kept and term.target not in (None, term.source) and not term.forbidden:
            raise ConfigError(
                f"{config.keep}: {term.source!r} is to be kept, but {config.glossary} has a translation of it"
            )
    return Glossary((*glossary, *keep))


def _with_terms(segment: Segment, terms: Glossary) -> Segment:
    found = terms.relevant(segment.source)
    return segment.model_copy(update={"terms": segment.terms + found}) if found else segment
