"""What is scored, from files or from the stages of a stored run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtagent.analysis.score import Corpus, ScoreReport, Wanted, score_corpus
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError
from mtagent.formats.files import lines_of
from mtagent.formats.lines import check_counts
from mtagent.formats.ratings import Candidates, Material, chosen
from mtagent.jobs.inputs import RatingInputs, spooled_copies
from mtagent.jobs.rate import stored_stages
from mtagent.records import Segment
from mtagent.store.store import open_existing
from mtagent.text.foreign import UNKNOWN


def score_files(
    translations: Sequence[tuple[str, Path]],
    reference: Path | None,
    config: Config,
    *,
    source: Path | None = None,
    source_format: str | None = None,
    wanted: Wanted = Wanted(),
) -> ScoreReport:
    """Score line-aligned files, pairs of system and file, or a table with its translations and references (``source``).

    ``config`` tells the languages; its ``limit`` does not hold. Raises :class:`InputError` where the files have
    different numbers of lines.
    """
    if source is None:
        return score_corpus(_without_source(translations, reference, config, wanted.systems), wanted)
    inputs = RatingInputs(source, tuple(translations), reference, source_format, tuple(wanted.systems))
    with inputs.spooled(config) as (inputs, config):
        return score_corpus(_gathered(inputs.material(_whole(config))), wanted)


def score_run(name: str, config: Config, *, reference: Path | None = None, wanted: Wanted = Wanted()) -> ScoreReport:
    """Score what the stages of the stored chain run ``name`` left, as given first.

    ``reference`` takes the place of the run's own references, line by line.
    """
    with open_existing(config.store) as store:
        corpus = _gathered(stored_stages(store, _whole(config), name, wanted.systems))
    if reference is None:
        return score_corpus(corpus, wanted)
    texts = [line.text for line in lines_of(reference)]
    if len(texts) != len(corpus.segments):
        raise InputError(f"{reference}: has {len(texts)} lines, and run {name!r} has {len(corpus.segments)} segments")
    segments = [
        segment.model_copy(update={"reference": text}) for segment, text in zip(corpus.segments, texts, strict=True)
    ]
    return score_corpus(Corpus(segments, corpus.systems), wanted)


def _whole(config: Config) -> Config:
    """``config`` without the limit of a run: a score of the first segments would look like one of all."""
    return config.model_copy(update={"limit": None})


def _gathered(material: Material) -> Corpus:
    candidates: list[Candidates] = list(material.candidates())
    systems = {name: [of_segment.translations[name] for of_segment in candidates] for name in material.systems}
    return Corpus([of_segment.segment for of_segment in candidates], systems)


def _without_source(
    translations: Sequence[tuple[str, Path]], reference: Path | None, config: Config, systems: Sequence[str]
) -> Corpus:
    """Translations and references alone, as sacreBLEU has them."""
    names = [name for name, _ in translations]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"two systems are called {twice!r}: name them with -t NAME=FILE")
    kept = chosen(names, systems, "-t")
    files = {f"-t {name}": path for name, path in translations if name in kept}
    with spooled_copies({**files, **({"-r": reference} if reference else {})}) as copies:
        check_counts(copies.values())
        texts = {name: [line.text for line in lines_of(path)] for name, path in copies.items()}
    number = len(next(iter(texts.values()), []))
    references: list[str | None] = [*texts.pop("-r")] if reference else [None] * number
    source_lang, target_lang = config.source_lang or UNKNOWN, config.target_lang or UNKNOWN
    segments = [
        Segment(id=str(i), source="", source_lang=source_lang, target_lang=target_lang, reference=text)
        for i, text in enumerate(references, start=1)
    ]
    return Corpus(segments, {name.removeprefix("-t "): [*lines] for name, lines in texts.items()})
