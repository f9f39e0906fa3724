"""A report of a stored run, in any of its forms, in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from mtagent.analysis.compare import Baseline, compare_staged
from mtagent.analysis.score import ScoreOptions
from mtagent.analysis.staged_run import StagedRun, read_run, texts_for
from mtagent.chain.chain import with_rules_step
from mtagent.chain.decided_text import DecidedRun
from mtagent.errors import ConfigError
from mtagent.formats.files import replacing, spooled_copies
from mtagent.jobs.export import Target, stored_inputs
from mtagent.jobs.outputs import refuse_overwriting
from mtagent.metrics.protocol import Metric
from mtagent.metrics.significance import Resampling
from mtagent.records import Chain
from mtagent.report.figures import figures
from mtagent.report.forms import as_csv, as_json, as_markdown
from mtagent.report.page import pieces as page
from mtagent.store.store import Store

Form = Literal["html", "markdown", "csv", "json"]


@dataclass(frozen=True)
class ReportOptions:
    """What a report compares with, and by which metrics (by default BLEU, chrF and TER).

    ``comet_python`` is the Python of another environment, which runs COMET.
    """

    reference: Path | None = None
    metrics: Sequence[str | Metric] = ()
    deciding: str | None = None
    baselines: Sequence[Baseline] = ()
    comet_python: Path | None = None

    @property
    def asked_for(self) -> bool:
        """Whether the user asked for scores or a comparison."""
        return bool(self.reference or self.metrics or self.deciding or self.baselines)

    @property
    def reads(self) -> dict[str, Path]:
        """The files that are read, by option."""
        named = {f"--baseline {name}": path for name, path in self.baselines}
        return named | ({"-r": self.reference} if self.reference else {})

    def reading(self, copies: Mapping[str, Path]) -> ReportOptions:
        """The same options with ``copies`` of the files in :attr:`reads`: standard input can be read only once."""
        baselines = [(name, copies[f"--baseline {name}"]) for name, _ in self.baselines]
        return replace(self, reference=copies.get("-r"), baselines=baselines)


def write_report(
    store: Store,
    name: str,
    output: Path,
    form: Form = "html",
    options: ReportOptions = ReportOptions(),
    *,
    force: bool = False,
) -> None:
    """Write the report of the chain run ``name``; ``force`` replaces a file that is there.

    Raises :class:`ConfigError` for a run of ratings and for what does not fit, :class:`mtagent.errors.OutputError` for
    a file that must not be replaced.
    """
    run = store.read(name)
    if run.kind == "rating":
        raise ConfigError(f"run {name!r} holds ratings, which have no stages to report: see `mtagent runs show {name}`")
    refuse_overwriting([output], options.reads)
    Target(output, force, stored_inputs(store, name), Path(store.database.path)).refuse_taken_file()
    with spooled_copies(options.reads) as copies:
        pieces = _pieces(store, read_run(store, name), form, options.reading(copies))
        with replacing(output) as file:
            for piece in pieces:
                file.write(piece)


def _pieces(store: Store, run: StagedRun, form: Form, options: ReportOptions) -> Iterator[str]:
    """The report in pieces of text.

    The stages are compared with each other, and tested against the first one if there are references. Runs with several
    target languages are compared only on request, which raises :class:`ConfigError`. To save memory the chains are read
    again for each use; segments that an unfinished run adds meanwhile are left out.
    """
    segments = [staged.segment for staged in run.segments]
    comparison = references = None
    if options.asked_for or len({segment.target_lang for segment in segments}) == 1:
        scorable = bool(options.metrics or options.reference) or all(s.reference is not None for s in segments)
        scoring = ScoreOptions(
            metrics=options.metrics or ScoreOptions.metrics,
            resampling=Resampling() if scorable else None,
            paired=scorable,
            comet_python=options.comet_python,
        )
        comparison = compare_staged(
            [run], baselines=options.baselines, reference=options.reference, scoring=scoring, deciding=options.deciding
        )
    if options.reference:
        references = texts_for(run, options.reference, "reference")
    name, positions = run.name, frozenset(staged.position for staged in run.segments)
    stages = run.settings.get("stages") or ()
    del run, segments  # large, and no longer needed while the chains are read again

    def chains() -> Iterator[Chain]:
        read = (
            with_rules_step(chain, stages)
            for position, chain in DecidedRun(store, name).placed_chains()
            if position in positions
        )
        if references is None:
            return read
        return (
            chain.model_copy(update={"segment": chain.segment.model_copy(update={"reference": reference})})
            for chain, reference in zip(read, references, strict=True)
        )

    if form == "csv":
        return as_csv(name, chains(), comparison)
    if form == "html":
        return page(store.run(name), chains(), comparison)
    numbers = figures(chains(), comparison)
    if form == "markdown":
        return as_markdown(name, numbers, comparison)
    return as_json(name, chains(), numbers, comparison)
