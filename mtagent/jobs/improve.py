"""The job of ``postedit`` and ``translate``: read a file, improve its segments in a stored run, write a file."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mtagent.chain.calibration import read
from mtagent.chain.chain import Plan, from_memory, improve
from mtagent.chain.decided_text import DecidedRun
from mtagent.chain.guards import listed
from mtagent.chain.translation import refusals, skipped_guards
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError
from mtagent.formats.jsonl import write_details
from mtagent.formats.localization import LocalizationFiles, Written
from mtagent.jobs.batches import in_words, refuse_unfit, trips_of
from mtagent.jobs.context import Placed
from mtagent.jobs.inputs import Files, LanguageCheck, OpenFiles, content_files, refuse_wrong_languages
from mtagent.jobs.parts import (
    OwnParts,
    assembled,
    effective,
    gate_warnings,
    package_versions,
    refuse_other_languages,
    settings_for_results,
)
from mtagent.jobs.pilot import with_settled_gates
from mtagent.jobs.pool import Outcome
from mtagent.jobs.run import Job, OnStart, RunModels, noting_outputs, run_job
from mtagent.llm.batch import Batches
from mtagent.llm.budget import Budget
from mtagent.records import Chain, ErrorSpan, Segment
from mtagent.store.runs import Run, RunSummary
from mtagent.store.store import Store, default_path
from mtagent.text import languages
from mtagent.text.amounts import counted

if TYPE_CHECKING:
    from mtagent.jobs.tables import Engine

logger = logging.getLogger(__name__)


async def improve_file(
    config: Config,
    files: Files,
    *,
    command: str,
    own: OwnParts = OwnParts(),
    on_start: OnStart,
    on_chain: Callable[[Chain], None],
    budget: Budget | None = None,
    batches: Batches | None = None,
    engine: Engine | None = None,
    on_written: Callable[[Written], None] = lambda written: None,
) -> RunSummary:
    """Improve every segment of ``files.source`` and write the outputs when all are done.

    The run is stored under ``config.run``, or under a name made from the settings and the input, so that the same
    command again resumes it. The ``budget`` defaults to that of ``config``. With ``batches``, requests are sent in
    batches, and contexts show the translations in the files, because new ones aren't known in time. With an ``engine``,
    its workers do the work. ``on_written`` is called with what became of the units of localization files.
    """
    if batches is not None:
        refuse_unfit(config)  # before the parts are made: a local model may not be installed
    effective_config = effective(config, own)
    input_files = content_files(files.inputs, config)
    with files.opened(config, writes=True) as inputs:
        config = inputs.config
        packages = package_versions(effective_config)
        # Identification costs nothing extra if the guard language is on, which loads the identifier anyway.
        contents = _contents(inputs, effective_config, identifies=bool(packages))
        _refuse_unfit_contents(contents, inputs, effective_config, own)
        with Store(config.store or default_path()) as store:
            models = RunModels(config, store, budget, batches)
            parts = assembled(config, own, wrap_llm=models.wrap, translates=contents.untranslated, batches=batches)
            async with parts as plan:
                if batches is not None:
                    refuse_unfit(config, plan, translates=contents.untranslated)
                _announce(config, plan, contents, in_batches=batches is not None)
                work = _FileWork(inputs, contents.total, models, plan)
                job = Job(
                    command=command,
                    settings=_settings(effective_config, contents, in_batches=batches is not None),
                    inputs=inputs.hashes(),
                    files=input_files,
                    total=contents.total,
                    items=inputs.placed,
                    prepare=work.prepare,
                    work=work.improve,
                    lane=(lambda place: place.document) if config.context and batches is None else None,
                    save=Run.save,
                    outcome=outcome_of_chain,
                    is_output=lambda chain: bool(chain.text.strip()),
                    outputs=inputs.outputs,
                    force=files.force,
                    signatures=plan.signatures,
                    installed=packages,
                    elsewhere=None if engine is None else work.with_engine(engine, store),
                )
                run = await run_job(job, config, store, models, on_start=on_start, on_result=on_chain)
            _write_outputs(store, run.name, files, inputs, on_written)
            return store.run(run.name)


def _refuse_unfit_contents(contents: _Contents, inputs: OpenFiles, effective_config: Config, own: OwnParts) -> None:
    """Raise :class:`ConfigError` for languages or candidates that the settings don't fit."""
    refuse_other_languages(inputs.config, contents.pairs)
    refuse_wrong_languages(contents.languages, inputs.files.source, effective_config, force=inputs.files.force)
    if contents.has_candidates:
        inputs.refuse_idle_candidates(effective_config, own.gate)


def _settings(effective_config: Config, contents: _Contents, *, in_batches: bool) -> dict[str, Any]:
    """The settings that the results depend on."""
    settings = settings_for_results(effective_config)
    if in_batches and effective_config.context:
        settings["context"] = f"{effective_config.context} with given translations"
    if contents.has_candidates:
        settings["stages"] = list(effective_config.stages or ())
    return settings


def _announce(config: Config, plan: Plan, contents: _Contents, *, in_batches: bool) -> None:
    """Log how many round trips batches take, what the gate cannot do, and why segments have to wait."""
    if in_batches:
        trips = trips_of(plan, translates=contents.untranslated, reranks=contents.has_candidates)
        logger.info("%s", in_words(trips))
    _warn_about_gate(config, plan, contents)
    if config.context and not in_batches and contents.documents == 1 and contents.total > 1:
        logger.info(
            "--context: the input is one document, so its %s are worked on one after the other; name the "
            "documents in the input (field document) to work on several at a time",
            counted(contents.total, "segment"),
        )


@dataclass
class _FileWork:
    """Improves the segments of opened files with the parts in ``plan``."""

    inputs: OpenFiles
    total: int
    """The number of segments."""
    models: RunModels
    plan: Plan

    async def prepare(self, run: Run) -> None:
        """Settle the gates that learn from the run's own edits."""
        self.plan = await with_settled_gates(
            self.plan, run, self.inputs.placed, self.total, self.inputs.config, self.models.sleepers
        )

    async def improve(self, run: Run, position: int, place: Placed) -> Chain:
        """The chain of the segment at ``place``. Its context shows the run's texts (in batches: the files' texts)."""
        if self.models.batches is None:
            segment = place.in_context(lambda neighbour, _: run.text_at(neighbour))
        else:
            segment = place.in_context(lambda _, neighbour: neighbour.translation)
        return await improve(segment, self.plan)

    def with_engine(self, engine: Engine, store: Store) -> Callable[[Run, Callable[[Chain], Outcome]], Awaitable[None]]:
        """A function that has the workers of ``engine`` improve all segments, instead of :meth:`improve`."""
        from mtagent.jobs.tables import improve_elsewhere, refuse_dependent

        config = self.inputs.config
        refuse_dependent(config, is_settled=self.plan.unlabelled is None)

        async def elsewhere(run: Run, note: Callable[[Chain], Outcome]) -> None:
            await improve_elsewhere(engine, config, self.inputs.placed(), store, run, note)

        return elsewhere


def _write_outputs(
    store: Store, name: str, files: Files, inputs: OpenFiles, on_written: Callable[[Written], None]
) -> None:
    """Write the texts of the run ``name``, and its details if a file for them is named."""
    limit = inputs.config.limit
    not_written: dict[str, str] = {}
    with noting_outputs(store, name, inputs.outputs):
        decided_run = DecidedRun(store, name)
        results = islice(decided_run.results(), limit)
        if files.localization is not None and isinstance(inputs.reader, LocalizationFiles):
            written = inputs.reader.replace_targets(
                files.localization.outputs(files.output),
                results,
                failed=_failed(decided_run),
                backup=files.localization.backup,
                after_run=True,
                why_unusable=lambda segment, text: _why_unusable(segment, text, decided_run.skip),
                errors=_errors_left(decided_run) if files.localization.marks else None,
            )
            not_written = {kept.segment_id: kept.reason for kept in written.kept}
            on_written(written)
        else:
            inputs.output_format.write(files.output, results, inputs.like)
        if files.details is not None:
            write_details(files.details, islice(decided_run.chains(dialogues=False), limit), not_written=not_written)


def _why_unusable(segment: Segment, text: str, skip: Collection[str]) -> str | None:
    """The missing placeholders and tags of a first translation, which programs need; edits were checked by guards."""
    if segment.translation is not None:
        return None
    missing = [damage for damage in refusals(segment, text, skip=skip) if damage.guard in ("placeholders", "tags")]
    return f"would break the program: {listed(missing)}" if missing else None


def _errors_left(decided_run: DecidedRun) -> dict[str, tuple[ErrorSpan, ...]]:
    """By segment, the errors that were found and not fixed."""
    errors = {}
    for _, result in decided_run.segments():
        if result.errors_left:
            errors[result.chain.segment.id] = result.errors_left
    return errors


def _failed(decided_run: DecidedRun) -> list[str]:
    """The ids of the segments that failed."""
    if not decided_run.run.counts().failed:
        return []
    return [chain.segment.id for chain in decided_run.chains(dialogues=False) if chain.failed is not None]


def _warn_about_gate(config: Config, plan: Plan, contents: _Contents) -> None:
    """Warn about what the gate cannot do, and about texts that are unlike the texts of its calibration."""
    for warning in gate_warnings(config, plan, in_run=True):
        logger.warning("%s", warning)
    if config.calibration is not None:
        for warning in read(config.calibration).foreign(contents.pairs, contents.domains):
            logger.warning("%s: %s", config.calibration, warning)


def outcome_of_chain(chain: Chain) -> Outcome:
    """Whether a chain did something and succeeded; a chain without steps had nothing to do."""
    if chain.failed is not None:
        return Outcome(False, chain.failed.reason)
    return Outcome(bool(chain.steps), None)


class _Contents(NamedTuple):
    """What the input contains."""

    total: int
    """The number of segments."""
    untranslated: bool
    """Whether any segment with words has no translation."""
    has_candidates: bool
    """Whether any segment has candidates."""
    pairs: tuple[str, ...]
    """The language pairs."""
    languages: LanguageCheck
    """The languages of the texts."""
    domains: tuple[str, ...]
    documents: int
    """The number of documents; a file without documents is one."""


def _contents(inputs: OpenFiles, effective_config: Config, *, identifies: bool) -> _Contents:
    """Read the whole input once, so that a defect in its last line is found before anything is paid for.

    ``identifies``: identify the languages of the texts.
    """
    translates = "translate" in (effective_config.stages or ())
    total = 0
    with_words = 0
    translated = 0  # of those with words
    skip = skipped_guards(inputs.config.skip_guards, inputs.config.gate)
    check = LanguageCheck()
    has_candidates = False
    pairs, domains = dict[str, None](), dict[str, None]()
    documents = set[str | None]()
    for place in inputs.placed():
        segment = place.segment
        total += 1
        documents.add(segment.document)
        has_candidates = has_candidates or any(segment.candidates)
        pairs[languages.pair_of(segment.source_lang, segment.target_lang)] = None
        if identifies:
            check.look(segment, segment.translation)
        if segment.domain:
            domains[segment.domain] = None
        if segment.source.strip():
            with_words += 1
            if segment.translation is not None or from_memory(segment, None, skip=skip) is not None:
                translated += 1
    if not total:
        raise InputError(f"{inputs.files.source}: has no segments")
    if with_words and not translated and not translates:
        stages = inputs.config.stages
        if stages is not None:
            raise ConfigError(
                f"{inputs.files.source}: has no translations, and the stages {', '.join(stages)} make none: give a "
                "translation, or add translate to stages"
            )
        raise ConfigError(
            f"{inputs.files.source}: has no translations, and there is nothing to translate with: "
            "give a translation, or set OPENAI_API_KEY, base_url, llm=local or translator, so that the stage translate "
            "makes one"
        )
    untranslated = translated < with_words
    return _Contents(total, untranslated, has_candidates, tuple(pairs), check, tuple(domains), len(documents))
