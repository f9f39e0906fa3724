"""Scores that were compared, written into the folders of mt-metrics-eval, from which they are read back as they were.

The texts are written by ``mtagent export``'s writer, where all are known; scores and spans as ``mtagent rate`` does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from mtagent.analysis.matching import NO_SCORE, Match
from mtagent.analysis.scores import METRICS, NO_REFERENCE, PEOPLE, RATINGS, SEGMENTS, SYSTEMS, About, Key, Side
from mtagent.errors import OutputError
from mtagent.formats.exports import RunTexts, SegmentTexts, has_break, mapped, pair_name, renamed, strict_name
from mtagent.formats.files import replacing
from mtagent.formats.mtme import MTME, rating_line, write_scores
from mtagent.jobs.export import Target
from mtagent.records import Segment
from mtagent.text import languages
from mtagent.text.foreign import UNKNOWN


def write_folder(matches: Sequence[Match], target: Target, lp: str | None = None) -> list[str]:
    """Write people's scores and those of all evaluators, and return remarks.

    A missing score is ``None``. ``lp`` is the language pair, where the scores do not tell it. Raises
    :class:`mtagent.errors.OutputError` where it is not known, where two names would become one, and where the folder is
    not empty.
    """
    target.refuse_taken_folder()
    writer = _Writer(matches, target.path, lp)
    with target.filled() as folder:
        remarks = writer.write(folder)
        # former ratings, scores of systems or texts beside new scores would be read as if they were theirs
        ratings = [
            scores.with_name(scores.name.removesuffix(SEGMENTS) + end).relative_to(folder)
            for scores in folder.rglob(f"*{SEGMENTS}")
            for end in (SYSTEMS, RATINGS)
        ]
        texts = [Path("sources", f"{writer.pair}.txt"), Path("documents", f"{writer.pair}.docs")]
        texts += [Path("system-outputs", writer.pair, f"{name}.txt") for name in writer.systems.values()]
        for path in (*ratings, *texts):
            if (target.path / path).is_file() and not (folder / path).is_file():
                raise OutputError(
                    f"{target.path / path}: is an older one, and would be read with the new scores: remove it"
                )
    names = {name: written for name, written in writer.evaluators.items() if not written.startswith(name)}
    return [*renamed(writer.systems | names), *remarks, f"written: {target.path}"]


class _Writer:
    def __init__(self, matches: Sequence[Match], path: Path, lp: str | None) -> None:
        people = [match.human for match in matches]  # each has the systems that it shares with the evaluator
        self._human = replace(
            people[0],
            segments={key: score for side in people for key, score in side.segments.items()},
            systems={name: score for side in people for name, score in side.systems.items()},
        )
        self._metrics = [match.evaluator for match in matches]
        sides = [self._human, *self._metrics]
        self._items = list(dict.fromkeys(key.item for side in sides for key in side.segments))
        self.systems = mapped(list(dict.fromkeys(name for side in sides for name in side.names())), strict_name, path)
        self.evaluators = mapped([side.name for side in self._metrics], _file_name, path)
        self._about: dict[str, About] = {}
        self._texts: dict[Key, str] = {}
        for side in sides:
            for item, about in side.about.items():
                self._about[item] = self._about.get(item, About()).or_else(about)
            self._texts |= {
                key: score.translation for key, score in side.segments.items() if score.translation is not None
            }
        unknown = About(None, *(languages.parse_pair(lp) if lp else ()))
        self._segments = [as_segment(item, self._about.get(item, About()).or_else(unknown)) for item in self._items]
        pairs = list(dict.fromkeys(map(pair_name, self._segments)))
        if len(pairs) != 1 or UNKNOWN in pairs[0].split("-"):
            several = f"the scores are of {len(pairs)} language pairs"
            why = several if len(pairs) != 1 else "no file tells the language pair"
            raise OutputError(f"{path}: {why}; name one with -l, e.g. -l en-de")
        self.pair = pairs[0]

    def write(self, folder: Path) -> list[str]:
        """Write all files, and return remarks."""
        remarks = self._write_texts(folder)
        unplaced = self._write_side(self._human, folder / PEOPLE, f"{self.pair}.{strict_name(self._human.name)}")
        for side in self._metrics:
            unplaced += self._write_side(side, folder / METRICS / self.pair, self.evaluators[side.name])
        if unplaced:
            remarks.append(f"{unplaced} errors have no known place: empty spans at the text's start")
        return remarks

    def _write_texts(self, folder: Path) -> list[str]:
        """Write sources, translations and documents, where all are known and stand in a line each; return remarks."""
        texts = [self._texts.get(Key(system, item)) for system in self.systems for item in self._items]
        texts += [self._about.get(item, About()).source for item in self._items]
        if any(text is None or has_break(text) for text in texts):
            return ["sources, translations and documents are not written: not all are known, or one has a line break"]

        def entries() -> Iterator[SegmentTexts]:
            for segment in self._segments:
                yield SegmentTexts(segment, {name: self._texts[Key(name, segment.id)] for name in self.systems}, ())

        remarks = MTME.export(RunTexts("", tuple(self.systems), entries), folder)
        return [remark for remark in remarks if remark not in renamed(self.systems)]

    def _write_side(self, side: Side, folder: Path, stem: str) -> int:
        """Write the files of one side, and return how many errors have no place."""
        folder.mkdir(parents=True, exist_ok=True)
        ends = (SEGMENTS, SYSTEMS, *([RATINGS] if side.marks else []))
        rater = _without_reference(side.name)
        unplaced = 0
        with ExitStack() as stack:
            sinks = [stack.enter_context(replacing(folder / (stem + end))) for end in ends]
            for system in side.names():
                name, given = self.systems[system], side.systems.get(system, NO_SCORE).score
                scores = [side.segments.get(Key(system, item), NO_SCORE) for item in self._items]
                write_scores(name, [score.score for score in scores], *sinks[:2], given=given)
                for segment, score in zip(self._segments, scores, strict=True) if side.marks else ():
                    text = self._texts.get(Key(system, segment.id), "")
                    line, lost = rating_line(score.errors, rater, segment.source, text)
                    sinks[2].write(f"{name}\t{line}\n")
                    unplaced += lost
        return unplaced


def as_segment(item: str, about: About) -> Segment:
    """The segment, as far as it is known."""
    return Segment(
        id=item,
        source=about.source or "",
        source_lang=about.source_lang or UNKNOWN,
        target_lang=about.target_lang or UNKNOWN,
        document=about.document,
        domain=about.domain,
    )


def _file_name(name: str) -> str:
    """``NAME-REF``: what an evaluator's files are called; names that have such an end keep it."""
    bare = _without_reference(name)
    return f"{strict_name(bare)}-{strict_name(name.removeprefix(bare).removeprefix('-') or NO_REFERENCE)}"


def _without_reference(name: str) -> str:
    """``name`` without the ``-REF`` of a file of mt-metrics-eval."""
    base, dash, reference = name.rpartition("-")
    return base if dash and (reference == NO_REFERENCE or reference.startswith("ref")) else name
