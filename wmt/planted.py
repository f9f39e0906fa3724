"""Damage planted in translations: how much of each kind the guards catch.

    python -m wmt.planted [--data DIR] [--own | --reworded] [--texts 30] [--kind KIND] [--show] [-f FORMAT]

Each kind of damage is planted in 30 texts of each language: in post-edits by people (``real/human_postedits.jsonl``),
where there are any that contain what is needed, and in texts of ``planted.toml``; half and half where both exist
(``--own``: in the latter alone). The text before is the clean one; with ``--reworded`` it is the machine translation
that people made their post-edit from, so that the text is also reworded. ``--show`` prints what is not caught.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import regex as re

from mtagent.chain.guards import Damage
from mtagent.cli.terminal import display
from mtagent.records import Segment
from mtagent.text.table import FORMS, Table
from wmt.guards import Change
from wmt.lib.data import DATA, run
from wmt.real_edits import PEOPLE, judged, read_edits

WORDS = Path(__file__).with_suffix(".toml")
REGIONS = {"es": "es-ES", "ar": "ar-EG"}
"""Where the digits and separators of numbers depend on the country."""


class Pair(NamedTuple):
    """A source and its translation; of a post-edit also the machine translation that it was made from."""

    source: str
    target: str
    source_lang: str
    machine: str = ""


class Language(NamedTuple):
    """A target language, with its part of ``planted.toml`` and that of the source language of the own texts."""

    name: str
    source_name: str
    words: dict[str, Any]
    source: dict[str, Any]

    @property
    def space(self) -> str:
        """The text between two sentences."""
        return "" if self.name in ("zh", "ja") else " "

    def pairs(self, frames: str, values: str) -> list[Pair]:
        """Every frame with every value, in both languages."""
        kinds = [list(product(part[frames], _values(part, values))) for part in (self.source, self.words)]
        texts = [[frame.replace("{0}", value) for frame, value in kind] for kind in kinds]
        return [Pair(_capital(one), _capital(other), self.source_name) for one, other in zip(*texts, strict=True)]

    @property
    def sentences(self) -> list[Pair]:
        """Its plain sentences."""
        texts = zip(self.source["sentences"], self.words["sentences"], strict=True)
        return [Pair(source, target, self.source_name) for source, target in texts]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _values(words: dict[str, Any], name: str) -> list[str]:
    if name == "plurals":
        return [f"{{n, plural, {branches}}}" for branches in words[name]]
    if name == "dates":
        places = ((4, 2), (12, 9), (23, 4), (7, 0), (30, 7))
        return [words["date"].format(day=day, month=words["months"][month]) for day, month in places]
    fixed = {"cold": "-5 -12 -30 -8 -15", "versions": "2.10 3.20 1.30 10.40 4.50"}
    return fixed[name].split() if name in fixed else list(words[name])


Planted = tuple[str, str, str]
"""Source, text before, text after."""
Plant = Callable[[Language, Sequence[Pair], Random], Planted | None]
"""Plants damage in one pair or in several neighbours; ``None``: they do not contain what is needed."""


class Kind(NamedTuple):
    """A kind of damage: how it is planted, in which frames with which values, and in how many sentences at a time.

    Without ``values`` it is planted in plain sentences, those of people too. ``people``: also where there are values.
    """

    plant: Plant
    frames: str = "sentences"
    values: str = ""
    size: int = 1
    people: bool = True


def replaced(pattern: str, new: Callable[[Language, re.Match[str], Random], str]) -> Plant:
    """Replaces one place of the target that matches ``pattern``, in which ``{name}`` stands for words of a language."""

    def plant(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
        (pair,) = pairs
        names = {name: _alternatives(language.words.get(name, [])) for name in re.findall(r"\{(\w+)\}", pattern)}
        if not all(names.values()):
            return None
        filled = re.sub(r"\{(\w+)\}", lambda match: names[match.group(1)], pattern)
        matches = list(re.finditer(filled, pair.target))
        if not matches:
            return None
        match = random.choice(matches)
        after = pair.target[: match.start()] + new(language, match, random) + pair.target[match.end() :]
        return pair.source, pair.target, after

    return plant


def _alternatives(words: Sequence[Any]) -> str:
    keys = [word[0] if isinstance(word, list) else word for word in words]
    return "|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True))


def _other(name: str) -> Callable[[Language, re.Match[str], Random], str]:
    """Another word of the list ``name`` than the one that was found."""

    def new(language: Language, match: re.Match[str], random: Random) -> str:
        word = random.choice([word for word in language.words[name] if word.lower() != match.group().lower()])
        return _capital(word) if match.group()[0].isupper() else str(word)

    return new


def _swapped(name: str) -> Callable[[Language, re.Match[str], Random], str]:
    return lambda language, match, _: str({a.lower(): b for a, b in language.words[name]}[match.group().lower()])


def thousandfold(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """The separator of thousands becomes the decimal one, or the number gets three zeros more."""
    (pair,) = pairs
    group, decimal = language.words["group"]
    match = re.search(rf"(?<![\d.,])\d{{1,3}}{re.escape(group)}\d{{3}}(?![\d.,{group}]*\d)", pair.target)
    if not match:
        return None
    zeros = (language.words["digits"][0] if match.group()[0] > "9" else "0") * 3
    number = random.choice([match.group().replace(group, decimal), match.group() + group + zeros])
    return pair.source, pair.target, pair.target[: match.start()] + number + pair.target[match.end() :]


def digit(language: Language, pairs: Sequence[Pair], random: Random, native: bool = False) -> Planted | None:
    """Another digit in a number that the source has as well; with ``native`` in the digits of the script."""
    (pair,) = pairs
    if native and "digits" not in language.words:
        return None
    numbers = set(re.findall(r"[0-9]{2,}", pair.source))
    matches = [m for m in re.finditer(r"(?<![\d.,])[0-9]{2,}(?![\d.,]*\d)", pair.target) if m.group() in numbers]
    if not matches:
        return None
    match = random.choice(matches)
    place = random.randrange(len(match.group()))
    old = int(match.group()[place])
    new = random.choice([number for number in range(1, 10) if number != old])
    number = match.group()[:place] + str(new) + match.group()[place + 1 :]
    texts = [pair.target[: match.start()] + text + pair.target[match.end() :] for text in (match.group(), number)]
    if native:
        texts = [text.translate(str.maketrans("0123456789", language.words["digits"])) for text in texts]
    return pair.source, texts[0], texts[1]


def native_digit(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """:func:`digit` in the digits of the target's script."""
    return digit(language, pairs, random, native=True)


def keyword(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A keyword of MessageFormat is translated."""
    (pair,) = pairs
    word = random.choice(["plural", "other"])
    return pair.source, pair.target, pair.target.replace(word, language.words["keywords"][word], 1)


def _prefixed(pairs: Sequence[Pair], random: Random, arguments: Sequence[tuple[str, str]]) -> Planted:
    """A text with two printf arguments: those of a frame, or those that are set before a sentence."""
    (pair,) = pairs
    one, other = random.choice(arguments)
    source, target = (
        text.replace("{0}", one).replace("{1}", other) if "{0}" in text else f"{one} ({other}): {text}"
        for text in (pair.source, pair.target)
    )
    return source, target, f"{one}\n{other}"


def printf_order(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """Two printf arguments without positions change places."""
    source, target, marks = _prefixed(pairs, random, [("%s", "%d"), ("%@", "%ld"), ("%s", "%.1f")])
    one, other = marks.split("\n")
    return source, target, target.replace(one, "\0").replace(other, one).replace("\0", other)


def position(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A positional argument becomes another one."""
    source, target, marks = _prefixed(pairs, random, [("%1$s", "%2$d"), ("%1$@", "%2$@"), ("{0}", "{1}")])
    one, other = marks.split("\n")
    return source, target, target.replace(other, one)


def wrong_time(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """The half of the day is lost or changed."""
    (pair,) = pairs
    for right, wrong in zip(language.words["times"], language.words["wrong_times"], strict=True):
        if right in pair.target:
            return pair.source, pair.target, pair.target.replace(right, wrong)
    return None


def wrong_month(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """Another month, next to a number."""
    (pair,) = pairs
    months = language.words["months"]
    names = _alternatives(months)
    near = (
        rf"(?<=\d )(?:{names})(?!\w)|(?<=\d[.] )(?:{names})(?!\w)|(?<!\w)(?:{names})(?= \d)|(?<=de )(?:{names})(?= de)"
    )
    matches = list(re.finditer(rf"(?<!\d)(?:{names})(?=\d)" if months[0][0] == "1" else near, pair.target))
    if not matches:
        return None
    match = random.choice(matches)
    month = random.choice([month for month in months if month != match.group()])
    return pair.source, pair.target, pair.target[: match.start()] + month + pair.target[match.end() :]


def list_number(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """Another number of a list, in any style."""
    (pair,) = pairs
    style, number = random.choice(["{}. ", "{}) ", "({}) ", "{}、", "{}."]), random.randint(1, 12)
    before, after = (style.format(n) for n in (number, number + random.randint(1, 3)))
    return before + pair.source, before + pair.target, after + pair.target


def hotkey(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """The hotkey of a menu is lost."""
    (pair,) = pairs
    mark, end = random.choice("&_"), random.choice(["", "…"])
    marked = f"{pair.target}({mark}{pair.source[0]})" if language.name in ("zh", "ja") else mark + pair.target
    return mark + pair.source + end, marked + end, pair.target + end


_UNIT_PAIRS = (("mg", "µg"), ("mmol/l", "mol/l"), ("mAh", "Ah"), ("V", "A"), ("bar", "psi"), ("ml", "cl"), ("m²", "m³"),
               ("ha", "m²"), ("kcal", "kJ"), ("Mbit/s", "MB/s"), ("kW", "V"), ("CHF", "EUR"), ("GB", "MB"))  # fmt: skip


def other_unit(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A quantity before the text gets another unit, and keeps its number."""
    (pair,) = pairs
    number = random.randint(2, 90)
    right, wrong = random.choice(_UNIT_PAIRS)
    source, before, after = (
        f"{number} {unit}: {text}" for unit, text in ((right, pair.source), (right, pair.target), (wrong, pair.target))
    )
    return source, before, after


_QUESTION_MARKS = {"zh": "？", "ja": "？", "ar": "؟"}


def question(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A sentence that ends as a question becomes a statement."""
    (pair,) = pairs
    if pair.target[-1] not in ".。।":
        return None
    asked = pair.target[:-1] + _QUESTION_MARKS.get(language.name, "?")
    opened = f"¿{asked}" if language.name == "es" else asked
    return f"{pair.source[:-1]}?", opened, pair.target


def doubled(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A word follows itself: one of three letters or more, in scripts without spaces several characters."""
    (pair,) = pairs
    pattern = r"\w{4}(?=\w)" if language.space == "" else r"(?<= )[^\W\d]{3,}(?= )"
    words = [match for match in re.finditer(pattern, pair.target) if match.group().islower() or language.space == ""]
    if not words:
        return None
    match = random.choice(words)
    return pair.source, pair.target, pair.target[: match.end()] + language.space + pair.target[match.start() :]


def source_words(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """Two small words in a row of the source replace a word."""
    (pair,) = pairs
    runs = re.findall(r"(?<= )[a-zäöüß]{3,} [a-zäöüß]{3,}(?= )", pair.source)
    pattern = r"(?<=\w)\w{2}(?=\w)" if language.space == "" else r"(?<= )[^\W\d]{3,}(?= )"
    places = list(re.finditer(pattern, pair.target))
    if not runs or not places:
        return None
    run, place = random.choice(runs), random.choice(places)
    return pair.source, pair.target, f"{pair.target[: place.start()]} {run} {pair.target[place.end() :]}"


_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")


def other_width(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """The digits become full-width."""
    (pair,) = pairs
    return pair.source, pair.target, pair.target.translate(_FULL_WIDTH)


_QUOTATION_MARKS = {"en": "“”", "de": "„“", "es": "«»", "hi": "“”", "zh": "“”", "ja": "「」", "ru": "«»", "ar": "«»"}


def mixed_quotes(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A quotation opens in the style of the language, and closes with a straight mark."""
    (pair,) = pairs
    marks = _QUOTATION_MARKS[language.name]
    before = f"{marks[0]}{pair.target}{marks[1]}"
    return f'"{pair.source}"', before, f'{before[:-1]}"'


def foreign_letter(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A letter of another script inside a word."""
    (pair,) = pairs
    letters = dict(language.words["foreign"])
    places = [m.start() for m in re.finditer(rf"(?<=\w)[{''.join(letters)}](?=\w)", pair.target)]
    return _at(pair, random, places, lambda old: letters[old], 1)


def other_script(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A word of another script in place of one of the text's."""
    (pair,) = pairs
    word = language.words["word_of_another_script"]
    pattern = r"(?<=\w)\w{2}(?=\w)" if language.space == "" else r"(?<= )[^\W\d]{4,}(?= )"
    matches = list(re.finditer(pattern, pair.target))
    if not matches:
        return None
    match = random.choice(matches)
    return pair.source, pair.target, pair.target[: match.start()] + word + pair.target[match.end() :]


def invisible(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """An invisible character inside a word: a soft hyphen, or one of private use."""
    (pair,) = pairs
    places = [m.start() for m in re.finditer(r"(?<=[^\W\d_])(?=[^\W\d_]{2})", pair.target)]
    return _at(pair, random, places, lambda _: random.choice("\ue000\u00ad"), 0)


def _at(pair: Pair, random: Random, places: Sequence[int], new: Callable[[str], str], length: int) -> Planted | None:
    if not places:
        return None
    place = random.choice(places)
    after = pair.target[:place] + new(pair.target[place : place + length]) + pair.target[place + length :]
    return pair.source, pair.target, after


def source_sentence(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """One of two sentences stays in the source language."""
    return _without(language, pairs, random, lambda pair: pair.source)


def third_language(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """One of two sentences is in a third language."""
    foreign = [sentence for name in language.words["third"] for sentence in _parts()["third"][name]]
    return _without(language, pairs, random, lambda _: random.choice(foreign))


def dropped_sentence(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """One of three sentences is lost."""
    return _without(language, pairs, random, lambda _: "")


def _without(
    language: Language, pairs: Sequence[Pair], random: Random, instead: Callable[[Pair], str]
) -> Planted | None:
    place = random.randrange(len(pairs))
    targets = [pair.target for pair in pairs]
    after = [instead(pair) if number == place else pair.target for number, pair in enumerate(pairs)]
    source_space = "" if pairs[0].source_lang in ("zh", "ja") else " "
    before, damaged = (language.space.join(filter(None, texts)) for texts in (targets, after))
    return source_space.join(pair.source for pair in pairs), before, damaged


def tag(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A tag is lost."""
    (pair,) = pairs
    name = random.choice(["b", "i", "a1", "g"])
    source, before = (f"<{name}>{text}</{name}>" for text in (pair.source, pair.target))
    after = random.choice([before.removeprefix(f"<{name}>"), before.removesuffix(f"</{name}>"), pair.target])
    return source, before, after


def placeholder(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A placeholder is lost, or becomes another."""
    (pair,) = pairs
    name, other = random.choice([("{user}", "{name}"), ("%s", "%d"), ("${value}", "$value"), ("{{id}}", "{id}")])
    new = random.choice(["", f"{other}: "])
    return f"{name}: {pair.source}", f"{name}: {pair.target}", new + pair.target


def comment(language: Language, pairs: Sequence[Pair], random: Random) -> Planted | None:
    """A comment before the text, after it or in its place."""
    (pair,) = pairs
    place = random.choice(["before", "after", "instead"])
    words = random.choice(language.words[f"comments_{place}"])
    texts = {"before": words + pair.target, "after": pair.target + words, "instead": words}
    return pair.source, pair.target, texts[place]


def listed(name: str) -> Plant:
    """Another word of the list ``name``: in Chinese and Japanese as part of the characters around it."""
    spaced = replaced(rf"(?<!\w)(?i:{{{name}}})(?!\w)", _other(name))
    unspaced = replaced(
        {"words": "(?<!第)(?:{words})(?=[个個名人位家次条座席])", "ordinals": "(?<=第)(?:{ordinals})"}[name],
        _other(name),
    )
    return lambda language, pairs, random: (spaced if language.space else unspaced)(language, pairs, random)


KINDS = {
    "ICU keyword translated": Kind(keyword, "plural_frames", "plurals", people=False),
    "ICU # lost": Kind(replaced("# ?", lambda *_: ""), "plural_frames", "plurals", people=False),
    "printf order": Kind(printf_order, "printf_frames"),
    "positional argument changed": Kind(position, "printf_frames"),
    "placeholder lost or changed": Kind(placeholder),
    "tag lost": Kind(tag),
    "hotkey lost": Kind(hotkey, "labels", people=False),
    "minus dropped": Kind(replaced(r"(?<!\d )(?<![^\W\u3040-\u9fff])[-−](?=\d)", lambda *_: ""), "cold_frames", "cold"),
    "thousandfold": Kind(thousandfold, "amounts", "thousands"),
    "version digit lost": Kind(
        replaced(r"(?<=\d\.\d)0(?!\d)", lambda *_: ""), "version_frames", "versions", people=False
    ),
    "magnitude changed": Kind(
        replaced(
            r"(?<=\d)(?<=\S)(?:{magnitude_swaps})|(?<=\d )(?:{magnitude_swaps})(?!\w)", _swapped("magnitude_swaps")
        ),
        "amounts",
        "magnitudes",
    ),
    "number word changed": Kind(listed("words"), "amounts", "words"),
    "ordinal changed": Kind(listed("ordinals"), "ordinal_frames", "ordinals"),
    "digit changed": Kind(digit, "amounts", "integers"),
    "digit changed, other digits": Kind(native_digit, "amounts", "integers"),
    "half of the day changed": Kind(wrong_time, "time_frames", "times", people=False),
    "month changed": Kind(wrong_month, "date_frames", "dates"),
    "list number changed": Kind(list_number),
    "unit swapped": Kind(
        replaced(r"(?<=(?<![a-zA-Z]\d*)\d ?)(?:{unit_swaps})(?![a-zA-Z])", _swapped("unit_swaps")),
        "unit_frames",
        "units",
    ),
    "unit of the same number": Kind(other_unit),
    "question mark lost": Kind(question, people=False),
    "word doubled": Kind(doubled),
    "two source words left": Kind(source_words),
    "other width": Kind(other_width, "amounts", "integers"),
    "quotation marks of two styles": Kind(mixed_quotes),
    "foreign letter": Kind(foreign_letter),
    "word of another script": Kind(other_script),
    "invisible character": Kind(invisible),
    "sentence in the source language": Kind(source_sentence, size=2),
    "sentence in a third language": Kind(third_language, size=2),
    "sentence dropped": Kind(dropped_sentence, size=3),
    "comment": Kind(comment),
}


@cache
def _parts() -> dict[str, dict[str, Any]]:
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))


def target_languages() -> list[Language]:
    """The languages of ``planted.toml``. English is translated from German, the others from English."""
    parts = {name: part for name, part in _parts().items() if name != "third"}
    sources = {name: "de" if name == "en" else "en" for name in parts}
    return [Language(name, sources[name], parts[name], parts[sources[name]]) for name in parts]


class Case(NamedTuple):
    """Planted damage, and the guards' complaints about it."""

    kind: str
    language: str
    people: bool
    change: Change
    damages: tuple[Damage, ...] = ()


def people(data: Path) -> dict[str, list[Pair]]:
    """The post-edits by people, by target language, in an order of their own. They have at least five words."""
    pairs = defaultdict(list)
    for edit in read_edits(data, [PEOPLE]):
        segment, before, after = edit.change
        if len(segment.source.split()) >= 5 and len(after) >= 15:
            pairs[segment.target_lang].append(Pair(segment.source, after, segment.source_lang, before))
    for name, texts in pairs.items():
        Random(name).shuffle(texts)
    return pairs


def cases(
    kind: str, language: Language, texts: Sequence[Pair], wanted: int, *, reworded: bool = False
) -> Iterator[Case]:
    """Up to ``wanted`` texts with damage of a ``kind``, the first half of them in the ``texts`` of people.

    ``reworded``: the machine translation of these stands in the text before.
    """
    plan = KINDS[kind]
    random = Random(f"{kind} {language.name}")
    known: set[Planted] = set()
    halves = [(texts, wanted // 2)] if plan.people else []
    for source, number in (*halves, (own_texts(language, plan, random), wanted)):
        for place in range(len(source) - plan.size + 1):
            group = source[place : place + plan.size]
            if len(known) == number:
                break
            planted = plan.plant(language, group, random) if len({pair.source_lang for pair in group}) == 1 else None
            if planted and planted not in known and planted[1] != planted[2]:
                known.add(planted)
                segment = Segment(
                    id=f"{kind} {len(known)}",
                    source=planted[0],
                    source_lang=group[0].source_lang,
                    target_lang=REGIONS.get(language.name, language.name),
                )
                _, before, after = planted
                for pair in group if reworded and source is texts else ():
                    before = before.replace(pair.target, pair.machine)
                yield Case(kind, language.name, source is texts, Change(segment, before, after))


def own_texts(language: Language, plan: Kind, random: Random) -> list[Pair]:
    """The texts of ``planted.toml`` for a kind of damage in a random order: alone, then each after a plain sentence."""
    if plan.values:
        own = language.pairs(plan.frames, plan.values)
    else:
        texts = zip(language.source[plan.frames], language.words[plan.frames], strict=True)
        own = [Pair(source, target, language.source_name) for source, target in texts]
    if plan.size > 1 or plan.frames == "labels":
        return [pair for _ in range(10) for pair in random.sample(own, len(own))]
    random.shuffle(own)
    sentences = [random.choice(language.sentences) for _ in range(10 * len(own))]
    joined = [
        Pair(f"{before.source} {pair.source}", language.space.join([before.target, pair.target]), pair.source_lang)
        for before, pair in zip(sentences, own * 10, strict=True)
    ]
    return own + joined


def table(found: Sequence[Case]) -> Table:
    """The share that is caught, by kind and language."""
    names = list(dict.fromkeys(case.language for case in found))

    def share(part: Sequence[Case]) -> str:
        caught = sum(bool(case.damages) for case in part)
        return f"{caught}/{len(part)}" if part else ""

    rows = []
    for kind in [*dict.fromkeys(case.kind for case in found), "all"]:
        part = [case for case in found if kind in (case.kind, "all")]
        caught = sum(bool(case.damages) for case in part) / len(part)
        cells = [share([case for case in part if case.language == name]) for name in names]
        by = [share([case for case in part if case.people == who]) for who in (True, False)]
        rows.append((kind, *cells, *by, f"{caught:.1%}"))
    head = ("damage", *names, "in texts by people", "in own texts", "caught")
    return Table("planted damage that the guards catch", head, tuple(rows))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    parser.add_argument("--own", action="store_true", help="only in the texts of planted.toml; needs no research data")
    parser.add_argument(
        "--reworded", action="store_true", help="the machine translation is the text before a post-edit"
    )
    parser.add_argument("--texts", type=int, default=30, help="texts of each kind and language (default: %(default)s)")
    parser.add_argument("--kind", action="append", choices=KINDS, metavar="KIND", help="only this kind")
    parser.add_argument("--show", action="store_true", help="print what is not caught")
    parser.add_argument("-f", "--format", choices=("text", "markdown", "json"), default="text")
    options = parser.parse_args(arguments)
    texts = {} if options.own else people(options.data)
    found = [
        case
        for kind in options.kind or KINDS
        for language in target_languages()
        for case in cases(kind, language, texts.get(language.name, []), options.texts, reworded=options.reworded)
    ]
    judgements = judged([case.change for case in found])
    # What is refused only where no judge is called is caught too: a judge that is asked is shown the question.
    found = [
        case._replace(damages=findings.damages + findings.doubts)
        for case, findings in zip(found, judgements, strict=True)
    ]
    for case in found if options.show else ():
        if not case.damages:
            segment, before, after = case.change
            head = f"{segment.id} {segment.source_lang}-{segment.target_lang}"
            display("\n".join([head, f"S {segment.source}", f"B {before}", f"A {after}", ""]), err=True)
    if options.format == "json":
        counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        for case in found:
            count = counts[case.kind][case.language]
            count[0] += bool(case.damages)
            count[1] += 1
        display(json.dumps(counts, indent=1))
    else:
        display(FORMS[options.format]([table(found)]))


if __name__ == "__main__":
    run(main)
