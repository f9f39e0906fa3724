"""What the drivers share that run the chain: their options, segments as a file, a stored run, its estimate."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mtagent import Config, MtagentError, Segment
from mtagent.cli import options as offered
from mtagent.cli.improve import offline
from mtagent.cli.progress import Progress
from mtagent.cli.terminal import display, notices
from mtagent.formats.files import replacing
from mtagent.jobs.estimate import Range, assumptions, counter, estimate, rendered_requests, table
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files
from mtagent.llm.prices import Prices
from mtagent.store import RunSummary

SETTINGS = [
    one for one in offered.SETTING_OPTIONS if one not in offered.CHAIN_RUN_OPTIONS and one not in offered.STAGE_OPTIONS
]
"""The options of ``mtagent translate`` without those that each driver has in its own way."""


class Talk(NamedTuple):
    """How much is printed."""

    verbose: bool
    quiet: bool

    def offline(self, config: Config) -> None:
        """Print that there is no model, if there is none."""
        if config.offline and not self.quiet:
            display(offline(config), err=True)


@contextmanager
def as_files(segments: Iterable[Segment], source: Path) -> Iterator[Files]:
    """The segments as a file for mtagent, whose errors name ``source`` instead."""
    with tempfile.TemporaryDirectory(prefix="wmt-") as folder:
        files = Files(source=Path(folder, "segments.jsonl"), output=Path(folder, "texts.jsonl"))
        written_segments(files.source, segments)
        try:
            yield files
        except MtagentError as error:
            error.args = (str(error).replace(str(files.source), str(source)),)
            raise


def written_segments(path: Path, segments: Iterable[Segment]) -> None:
    """Write ``segments`` as JSON Lines, with all that is known of them."""
    with replacing(path) as sink:
        for segment in segments:
            sink.write(segment.model_dump_json(exclude_none=True, exclude_defaults=True) + "\n")


def improved(config: Config, files: Files, command: str, talk: Talk) -> RunSummary:
    """Run the chain on ``files``, or go on with it; the run is stored, named after ``command`` and what goes in."""
    with notices(talk.quiet), Progress(verbose=talk.verbose, quiet=talk.quiet) as progress:
        work = improve_file(config, files, command=command, on_start=progress.start, on_chain=progress.advance)
        summary = asyncio.run(work)
    progress.finish(summary)
    return summary


def told_beforehand(config: Config, files: Files, show: int) -> dict[str, Range]:
    """Print the first requests for ``show`` segments, and what all would take; nothing is sent."""
    if show:
        for request in rendered_requests(config.model_copy(update={"limit": show}), files):
            display(request.shown)
    tokens = counter()
    found = estimate(config, files, tokens)
    display(f"{table(found)}\n{assumptions(config, found, tokens, Prices(config.prices))}")
    return found
