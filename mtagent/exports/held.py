"""What a stored run holds, by segment: the texts of its stages or systems, and the ratings of these very texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from mtagent.candidates import chosen, systems_of, texts_of
from mtagent.errors import OutputError
from mtagent.exports.names import pair_name
from mtagent.exports.protocol import Entry, Held, Survey
from mtagent.rate_segment import NO_TRANSLATION
from mtagent.records import Chain, Rated, Rating, Step
from mtagent.store import StoredRun


def held_by(run: StoredRun, wanted: Sequence[str] = ()) -> Held:
    """What ``run`` holds of the ``wanted`` systems; all if none is named. The systems of a chain run are its stages.

    Raises :class:`mtagent.errors.ConfigError` for a system that is not there, :class:`OutputError` for an empty run.
    """
    rating = run.kind == "rating"
    systems = chosen(run.systems() if rating else systems_of(run.chains()), wanted, f"run {run.name!r}")

    def entries() -> Iterator[Entry]:
        if rating:
            return (_of_ratings(group, systems) for group in _by_segment(run.ratings()))
        return (_of_chain(chain, systems) for chain in run.chains())

    return Held(run.name, systems, entries, _survey(run.name, entries))


def ratings_of_texts(chain: Chain) -> list[tuple[str, Rating]]:
    """The ratings that the steps of ``chain`` hold, each with the text that it is about.

    A step holds the editor's rating of the text before it, and then the judge's of the texts before and after; where
    the judge is the editor, that of the text before stands once. What is not of this shape, and what is about a text
    that was rejected or that the user has taken edits back from, is left out.
    """
    found: list[tuple[str, Rating]] = []
    before = chain.segment.translation
    for step in chain.steps:
        if before is not None:
            found += _of_step(step, before)
        if _reverted(step):
            break
        before = step.text
    return found


def _of_step(step: Step, before: str) -> Iterator[tuple[str, Rating]]:
    editors = step.ratings[:1] if step.stage == "postedit" else ()
    judges = step.ratings[len(editors) :]
    for rating in (*editors, *(judges[:1] if len(judges) == 2 else ())):
        yield before, rating
    shared = bool(editors) and [judge.evaluator for judge in judges] == [editors[0].evaluator]
    if (len(judges) == 2 or shared) and step.verdict == "kept" and not _reverted(step):
        yield step.text, judges[-1]


def _reverted(step: Step) -> bool:
    return any(edit.outcome == "reverted" for edit in step.edits)


def _of_chain(chain: Chain, systems: Sequence[str]) -> Entry:
    texts = texts_of(chain, systems)
    by_text: dict[str, dict[tuple[str, str], Rating]] = {}
    for text, rating in ratings_of_texts(chain):
        by_text.setdefault(text, {}).setdefault((rating.evaluator, rating.signature), rating)
    rated = [
        Rated(segment=chain.segment, system=system, translation=text or "", rating=rating)
        for system, text in texts.items()
        for rating in (by_text.get(text, {}).values() if text is not None else ()) or (None,)
    ]
    return Entry(chain.segment, texts, tuple(rated))


def _by_segment(ratings: Iterable[Rated]) -> Iterator[list[Rated]]:
    """The ratings of each segment, which come one after the other, a system once."""
    group: list[Rated] = []
    for rated in ratings:
        if group and (rated.segment.id != group[0].segment.id or rated.system in {one.system for one in group}):
            yield group
            group = []
        group.append(rated)
    if group:
        yield group


def _of_ratings(group: Sequence[Rated], systems: Sequence[str]) -> Entry:
    by_system: Mapping[str, Rated] = {rated.system: rated for rated in group}
    rated = tuple(by_system[system] for system in systems if system in by_system)
    texts = dict.fromkeys(systems) | {one.system: _text(one) for one in rated}
    return Entry(group[0].segment, texts, rated)


def _text(rated: Rated) -> str | None:
    return None if rated.error == NO_TRANSLATION else rated.translation


def _survey(run: str, entries: Callable[[], Iterator[Entry]]) -> Survey:
    missing, broken, referenced, segments = [], [], Counter[str](), 0
    for segment, texts, _ in entries():
        segments += 1
        if None in texts.values():
            missing.append(segment.id)
        if any(has_break(text) for text in (segment.source, segment.reference, *texts.values()) if text):
            broken.append(segment.id)
        if segment.reference is not None:
            referenced[pair_name(segment)] += 1
    if not segments:
        raise OutputError(f"run {run!r}: there is no segment in it to export")
    return Survey(tuple(missing), tuple(broken), dict(referenced))


def has_break(text: str) -> bool:
    """Whether a program that reads ``text`` by lines would see more than one."""
    return "\n" in text or "\r" in text
