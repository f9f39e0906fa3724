"""WMT's general translation task: source documents in, a submission out, every paragraph in its place.

    python -m wmt.wmt25_general -s wmt25-genmt.jsonl -o submission.jsonl --preset paper --only en-is_IS --dry-run
    python -m wmt.wmt25_general -s wmt25-genmt.jsonl -o submission.jsonl --preset paper --only en-is_IS
    python -m wmt.wmt25_general -s wmt25-genmt.jsonl -t other-system.jsonl -o better.jsonl --stages pe

A source is a JSON object in a line, with the fields of WMT25 (doc_id, src_lang, tgt_lang, domain, src_text,
prompt_instruction) or those of WMT26's blind set (source_doc, instruction). Its paragraphs stand between blank lines,
and so do those of the submission, which has an object {"doc_id", "hypothesis"} in a line for each document, with the
fields dataset_id and tgt_lang of sources that have them.

The run is stored: the same command again goes on from where it was stopped, and tries again what failed. A paragraph
that failed keeps its last accepted text, or stays empty where it never had one; it is listed, and the exit code is 3.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from mtagent import Chain, Config
from mtagent.cli import options as offered
from mtagent.cli import run
from mtagent.cli.terminal import display
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import STANDARD, encoded, replacing
from mtagent.jobs.inputs import files_named
from mtagent.jobs.outputs import refuse_overwriting, refuse_unwritable
from mtagent.store import open_existing
from wmt.lib.stored_run import SETTINGS, Talk, as_files, improved, told_beforehand
from wmt.lib.wmt25_documents import (
    Document,
    chosen,
    documents,
    joined,
    refuse_misaligned,
    segments,
    settled,
    submission,
    with_translations,
)

PUBLISHED = """\
the paper's submission took, with gpt-4o-mini for 29,957 segments (102,060 paragraphs; its Table 1): Translate \
10,728,181 tokens ($6.05), Postedit 58,548,177 ($33.02), Proofread 15,874,680 ($8.95), together $48.03"""
OPTIONS = [
    click.option("-s", "--source", type=offered.FILE, required=True, help="The task's source documents, JSON Lines."),
    click.option("-o", "--output", type=offered.FILE, default=STANDARD, help="The submission.  [default: stdout]"),
    click.option("-t", "--translations", type=offered.FILE, help="A submission to improve."),
    click.option("--system", metavar="NAME", help="Improve this system's texts, which stand in the source file."),
    click.option("--only", multiple=True, metavar="en-is_IS", help="Only this language pair; may be repeated."),
    click.option("--by", type=click.Choice(["paragraph", "document"]), default="paragraph", show_default=True),
    click.option("--no-instructions", is_flag=True, help="Do not show the task's instructions as notes."),
    click.option("--dataset-id", metavar="ID", help="The field dataset_id.  [default: as in the source]"),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N documents."),
    click.option("--show", type=click.IntRange(0), default=1, show_default=True, help="--dry-run: segments to show."),
    click.option("--run", help="Name of the stored run.  [default: made from settings and input]"),
]


@click.command(help=__doc__.replace("\n\n    python", "\n\n\b\n    python", 1))
@offered.with_options(OPTIONS, offered.STAGE_OPTIONS, SETTINGS, offered.TALK_OPTIONS)
def command(**options: Any) -> None:
    """Read, improve, write."""
    source, output, given, by = (options.pop(name) for name in ("source", "output", "translations", "by"))
    system, only, bare, dataset = (options.pop(name) for name in ("system", "only", "no_instructions", "dataset_id"))
    limit, show, dry_run = (options.pop(name) for name in ("limit", "show", "dry_run"))
    talk = Talk(options.pop("verbose"), options.pop("quiet"))
    config = offered.read_config(options)
    talk.offline(config)
    found = prepared(source, given, system, only, bare, config)
    first = found[:limit]
    if limit:  # the stored run is that of all documents, so that it can be gone on with
        config = config.model_copy(update={"limit": sum(len(segments(one, by)) for one in first)})
    with as_files((segment for document in found for segment in segments(document, by)), source) as files:
        if dry_run:
            told_beforehand(config, files, show)
            display(f"{PUBLISHED}\nnothing was sent")
            return
        refuse_output(output, {"-s": source, "-t": given, **files_named(config)})
        name = improved(config, files, "wmt25", talk).name
    with open_existing(config.store) as store:
        chains = list(islice(store.read(name).chains(), config.limit))
    troubles = written(output, first, chains, dataset)
    for trouble in troubles:
        display(f"wmt25_general: {trouble}", err=True)
    sys.exit(3 if troubles else 0)


def prepared(
    source: Path, given: Path | None, system: str | None, only: Sequence[str], bare: bool, config: Config
) -> list[Document]:
    """The documents with what is to be improved. Raises :class:`InputError`, :class:`ConfigError`."""
    if given and system:
        raise ConfigError("-t and --system both give translations: choose one")
    found = chosen([*documents(source, config, system)], only)
    if not found:
        raise InputError(f"{source}: there is no document in it")
    if system and all(one.translation is None for one in found):
        raise ConfigError(f"--system {system}: {source} has no text of this system")
    if given:
        found = with_translations(found, submission(given), given)
    refuse_misaligned(found)
    return [one._replace(notes=None) for one in found] if bare else found


def refuse_output(output: Path, reads: Mapping[str, Path | None]) -> None:
    """Raise where the output cannot be written, or would take the place of what is read, before anything is paid."""
    refuse_overwriting((output,), {name: path for name, path in reads.items() if path})
    refuse_unwritable(output)


def written(path: Path, found: Sequence[Document], chains: Sequence[Chain], dataset: str | None) -> list[str]:
    """Write the submission; what went wrong, a line each."""
    texts: dict[str | None, list[str]] = {document.id: [] for document in found}
    troubles = []
    for chain in chains:
        text, trouble = settled(chain)
        texts[chain.segment.document].append(text)
        troubles += [f"{chain.segment.id}: {trouble}"] if trouble else []
    hypotheses = [joined(document, texts[document.id]) for document in found]  # all, before a line is written
    with replacing(path) as sink:
        for document, hypothesis in zip(found, hypotheses, strict=True):
            line = {"doc_id": document.id, "hypothesis": hypothesis}
            if in_set := dataset or document.dataset:
                line |= {"dataset_id": in_set, "tgt_lang": document.tgt_lang}
            sink.write(encoded(line) + "\n")
    return troubles


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run(command, arguments)


if __name__ == "__main__":
    main()
