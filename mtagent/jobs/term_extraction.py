"""The job of ``terms extract``: proposes a glossary from translations, by statistics and by a model if there is one."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import regex

from mtagent.config import Config
from mtagent.errors import ConfigError, UnreadableReply
from mtagent.formats.localization import LocalizationFiles
from mtagent.jobs.inputs import OpenFiles, segment_defaults
from mtagent.jobs.parts import assembled_model
from mtagent.jobs.run import RunModels, telling_the_way_on
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.gathering import together
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import read_json
from mtagent.records import Segment, Usage
from mtagent.store.store import Store, default_path
from mtagent.text import languages, markup, scripts
from mtagent.text.foreign import SMALL_WORDS

FEWEST = 3
"""Segments in which a term occurs, at least."""
CANDIDATES_PER_CALL = 50
_LONGEST, _LONGEST_UNSPACED = 3, 6
"""Words of a term, and characters of one in a script without spaces."""
_MOST_COUNTED = 300
"""Segments with a term in which its counterpart is looked for."""
_LEAST_ALIKE = 0.5
"""Dice's coefficient of a term and its counterpart, and the share of the term's segments that have the counterpart."""
_NEARLY_ALWAYS = 0.8
"""A term that is part of a longer one in this share of its segments is left out."""
_BREAK = regex.compile(r"[^\p{L}\p{M}\p{N}\s'’-]+|\n")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]++(?:['’-][\p{L}\p{M}\p{N}]++)*")
_HAS_LETTERS = regex.compile(r"\p{L}")


@dataclass(frozen=True)
class TermCandidate:
    """A term in ``count`` segments, and its usual translation; ``together`` is the share of them that has both."""

    source: str
    target: str
    count: int
    together: float
    note: str = ""


def translated_segments(inputs: OpenFiles) -> Iterator[Segment]:
    """The segments with a translation; of localization files also those that are locked or approved."""
    segments: Iterable[Segment]
    if isinstance(inputs.reader, LocalizationFiles):
        reader, defaults = inputs.reader, segment_defaults(inputs.config)
        segments = (reader.segment_of(document, unit, defaults) for document, unit, _ in reader.examined())
    else:
        segments = inputs.segments()
    for segment in segments:
        if segment.source.strip() and segment.translation is not None and segment.translation.strip():
            yield segment


def candidates(segments: Sequence[Segment], fewest: int = FEWEST) -> list[TermCandidate]:
    """The terms in ``segments`` with their translations, the most frequent first.

    Raises :class:`ConfigError` for segments of several language pairs, and without translations.
    """
    pairs = sorted({languages.pair_of(segment.source_lang, segment.target_lang) for segment in segments})
    if not pairs:
        raise ConfigError("there are no translations to find terms in")
    if len(pairs) > 1:
        raise ConfigError(f"the files have several language pairs ({', '.join(pairs)}): name files of one pair")
    first = segments[0]
    # Repeated segments say nothing new.
    texts = list(dict.fromkeys((segment.source, segment.translation or "") for segment in segments))
    sources = _Phrases([source for source, _ in texts], first.source_lang)
    targets = _Phrases([target for _, target in texts], first.target_lang)
    found = []
    for term in _frequent(sources, fewest):
        counterpart = _counterpart(sources.places[term], targets, sources.size(term))
        if counterpart is not None:
            target, together = counterpart
            count = len(sources.places[term])
            found.append(TermCandidate(sources.written(term), targets.written(target), count, together))
    return sorted(found, key=lambda candidate: (-candidate.count, candidate.source))


class _Phrases:
    """The phrases of some texts: where each occurs, and how it is written most often."""

    def __init__(self, texts: Sequence[str], lang: str) -> None:
        self._is_spaced = scripts.has_spaces(lang)
        self._small_words = SMALL_WORDS.get(scripts.language_of(lang), frozenset())
        self.places: dict[str, list[int]] = defaultdict(list)
        self.in_text: list[set[str]] = []
        self._forms: dict[str, Counter[str]] = defaultdict(Counter)
        for place, text in enumerate(texts):
            forms = list(self._phrases_in(text))
            folded = {form.casefold() for form in forms}
            for form in forms:
                self._forms[form.casefold()][form] += 1
            for phrase in folded:
                self.places[phrase].append(place)
            self.in_text.append(folded)

    def written(self, phrase: str) -> str:
        """The usual form of a phrase. One that also occurs in lower case is not a name."""
        forms = self._forms[phrase]
        if phrase in forms:
            return phrase
        return min(forms, key=lambda form: (-forms[form], form))

    def size(self, phrase: str) -> int:
        """The number of its words without small ones; of its characters in a script without spaces."""
        words = phrase.split(" ") if self._is_spaced else list(phrase)
        return sum(word not in self._small_words for word in words)

    def _phrases_in(self, text: str) -> Iterator[str]:
        space, longest = " ", _LONGEST
        if not self._is_spaced:
            space, longest = "", _LONGEST_UNSPACED
        for stretch in _BREAK.split(markup.prose(text)):
            words = _WORD.findall(stretch) if self._is_spaced else list(scripts.words(stretch))
            for start in range(len(words)):
                for end in range(start + 1, min(start + longest, len(words)) + 1):
                    if self._may_be_term(words[start:end]):
                        yield space.join(words[start:end])

    def _may_be_term(self, words: Sequence[str]) -> bool:
        if len(words) == 1 and (not self._is_spaced or len(words[0]) < 3):
            return False
        for word in (words[0], words[-1]):
            if word.casefold() in self._small_words or not _HAS_LETTERS.search(word):
                return False
            if self._is_spaced and len(word) == 1:
                return False
        return True


def _frequent(phrases: _Phrases, fewest: int) -> list[str]:
    """The phrases in at least ``fewest`` texts, without those that are nearly always part of a longer one."""
    counts = {phrase: len(places) for phrase, places in phrases.places.items() if len(places) >= fewest}
    in_longer: Counter[str] = Counter()  # the count of the most frequent longer phrase
    for phrase, count in counts.items():
        parts, joint = list(phrase), ""
        if " " in phrase:
            parts, joint = phrase.split(" "), " "
        for part in (joint.join(parts[1:]), joint.join(parts[:-1])):
            in_longer[part] = max(in_longer[part], count)
    return sorted(phrase for phrase, count in counts.items() if in_longer[phrase] < _NEARLY_ALWAYS * count)


def _counterpart(places: Sequence[int], targets: _Phrases, size: int) -> tuple[str, float] | None:
    """The phrase that the translations at ``places`` have, and others do not; and the share that has it.

    Of phrases that always occur together, one of the ``size`` of the term is taken.
    """
    sample = places[:: len(places) // _MOST_COUNTED + 1]
    together: Counter[str] = Counter()
    for place in sample:
        together.update(targets.in_text[place])
    best: tuple[float, int, str] | None = None
    for phrase, count in together.items():
        share = count / len(sample)
        if share < _LEAST_ALIKE:
            continue
        alike = 2 * share * len(places) / (len(places) + len(targets.places[phrase]))
        rank = (-round(alike, 6), abs(targets.size(phrase) - size), phrase)
        if alike >= _LEAST_ALIKE and (best is None or rank < best):
            best = rank
    if best is None:
        return None
    return best[2], together[best[2]] / len(sample)


async def cleaned(found: Sequence[TermCandidate], pair: Segment, config: Config) -> tuple[list[TermCandidate], Usage]:
    """What a model leaves of the candidates, with its targets and notes; and what that cost.

    ``pair`` has the languages. Replies are stored, so that the same command pays for none of them again.
    """
    groups = [found[start : start + CANDIDATES_PER_CALL] for start in range(0, len(found), CANDIDATES_PER_CALL)]
    with Store(config.store or default_path()) as store:
        models = RunModels(config, store)
        async with assembled_model(config, wrap_llm=models.wrap) as llm:
            with telling_the_way_on():
                results = await together(*(_cleaned_group(llm, group, pair, config) for group in groups))
    kept = [candidate for candidates_of_group, _ in results for candidate in candidates_of_group]
    return kept, Usage.total(usage for _, usage in results)


async def _cleaned_group(
    llm: LLM, group: Sequence[TermCandidate], pair: Segment, config: Config
) -> tuple[list[TermCandidate], Usage]:
    prompt = prompts.load("terms", config.prompts)
    lines = []
    for number, candidate in enumerate(group, start=1):
        fields = {"number": number, "source": candidate.source, "target": candidate.target, "count": candidate.count}
        lines.append(json.dumps(fields, ensure_ascii=False))
    values = prompts.segment_values(pair, candidates="\n".join(["", *lines, ""]))
    with Dialogue(llm, group[0].source) as dialogue:
        kept = await dialogue.ask(prompt, values, "terms", lambda reply: parse_terms(reply, group))
    return kept, Usage.total(call.usage for call in dialogue.calls)


def parse_terms(reply: str, group: Sequence[TermCandidate]) -> list[TermCandidate]:
    """The candidates that ``reply`` keeps, with its targets and notes, in the order of the ``group``.

    Raises :class:`UnreadableReply`.
    """
    data = read_json(reply)
    items = data.get("terms") if isinstance(data, dict) else data
    if not isinstance(items, list):
        raise UnreadableReply('it has no list "terms"')
    kept: dict[int, TermCandidate] = {}
    for item in items:
        number = item.get("number") if isinstance(item, dict) else None
        if not isinstance(number, int) or not 1 <= number <= len(group):
            raise UnreadableReply(f"{number!r} is not the number of a candidate")
        if number in kept:
            raise UnreadableReply(f"it has the candidate {number} twice")
        target, note = item.get("target"), item.get("note") or ""
        if not isinstance(target, str) or not target.strip() or not isinstance(note, str):
            raise UnreadableReply(f"the candidate {number} has no target")
        kept[number] = replace(group[number - 1], target=" ".join(target.split()), note=" ".join(note.split()))
    return [kept[number] for number in sorted(kept)]


def as_csv(terms: Iterable[TermCandidate]) -> str:
    """The terms as a glossary for people to edit: ``source,target,count,note``."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(("source", "target", "count", "note"))
    for term in terms:
        notes = []
        if term.note:
            notes.append(term.note)
        if term.source == term.target:
            notes.append("same in both languages")
        if round(100 * term.together) < 100:
            notes.append(f"in {term.together:.0%} of the translations")
        writer.writerow((term.source, term.target, term.count, "; ".join(notes)))
    return sink.getvalue()
