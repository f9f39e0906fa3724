"""Terms of a glossary and names: where a text has them, as written or inflected, and the faults in their use.

Two words are forms of one word if Snowball gives them the same stem, the term loses at most its last two letters, and
the word adds an ending of nouns. In a translation more is accepted: a verb, or a common base of both. No dictionary is
used: words that differ in the middle (mouse, mice) or in their first letters are different words.

Names that a translation keeps as its source has them (:class:`KeptNames`) are found letter by letter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from threading import Lock
from typing import Literal, NamedTuple, Protocol

import regex
from rapidfuzz.distance import Levenshtein, Prefix

from mtagent.records import Segment, Term
from mtagent.text import paragraphs
from mtagent.text.scripts import SPACED_LETTER, UNSPACED, Mark, language_of, remembered
from mtagent.text.word_lists import word_lists

# -- forms of a word

_LISTS = word_lists("inflection")


def _by_language(table: dict[str, str]) -> dict[str, str]:
    """A table of which a line may be for several languages, by language."""
    entries = {}
    for languages, entry in table.items():
        entries.update(dict.fromkeys(languages.split(), entry))
    return entries


_SNOWBALL: dict[str, str] = _LISTS["stemmers"]
_SLAVIC = frozenset(["be", "bg", "bs", "cs", "hr", "hsb", "mk", "pl", "ru", "sk", "sl", "sr", "uk"])
_GERMANIC = frozenset(["af", "da", "de", "fy", "is", "lb", "nb", "nl", "nn", "no", "sv"])
_FUSED = _SLAVIC | frozenset([
    "ar", "ca", "el", "en", "eo", "es", "fa", "fr", "gl", "he", "hi", "it", "lt", "lv", "ne", "pt", "ro", "sq", "ur",
])  # fmt: skip
"""Languages without chains of suffixes and without compounds: the rest of a word is an ending."""
_COMPOUNDING = _GERMANIC | frozenset(["et", "fi", "hu"])
_CHAINING = frozenset(["et", "fi", "hu", "ta", "tr"])
_UNINFLECTED = frozenset(["km", "lo", "my", "th", "vi", "zh", "yue"])
_IRREGULAR: dict[str, str] = _LISTS["irregular"]
_PROCLITICS = {lang: proclitics.split() for lang, proclitics in _LISTS["proclitics"].items()}
_WORD = regex.compile(rf"[[\w\p{{M}}]--[{UNSPACED}]]++", regex.V1)
_LETTERS = regex.compile(r"[\p{L}\p{M}]++")
_FINAL_FORMS = str.maketrans("ךםןףץ", "כמנפצ")
_ACCENTS = regex.compile(r"[\u0300-\u036f]++")
_VOWEL = "aeiouyаеєиіїоуюяыэьъйαεηιουω"
_SLAVIC_ENDING = f"(?:[{_VOWEL}]{{1,2}}(?:ch|mi?|ми?|[hwхйьu]|v[ie]|[гh]о|[gh]o|mu|му)?|[oeоеі][vв]|mi|ми)?"
_SLAVIC_CHANGE = regex.compile(f"[{_VOWEL}]{{0,2}}>{_SLAVIC_ENDING}|ka?>c[ei]|[hg]a>d?ze|ка>ці|га>зі|ха>сі")
_CHANGES = dict.fromkeys(_SLAVIC, _SLAVIC_CHANGE)
_CHANGES |= {lang: regex.compile(change) for lang, change in _LISTS["changes"].items()}
"""Letters that a word may lose and add even if Snowball gives it another stem; accents aside."""
_NOT_KNOWN = regex.compile(f"(?:[{_VOWEL}].?|s)?>(?:[{_VOWEL}].{{0,2}}|s)|>.{{1,3}}")
"""The same where Snowball does not know the language."""
_ENDINGS = dict.fromkeys(_SLAVIC, regex.compile(_SLAVIC_ENDING))
_ENDINGS |= {lang: regex.compile(ending) for lang, ending in _by_language(_LISTS["endings"]).items()}
"""The endings of the same word with the same stem, without derived verbs and adjectives."""
_ALTERNATIONS = _by_language(_LISTS["alternations"])
"""Letters that change within the words of a language."""
_FLEETING = regex.compile(r"(?:ie|[eoеоё])(?=[^aeiouyąęóůíýаеиіїоуыэюя]$)")
_VOWELS_WITH_ACCENTS = f"{_VOWEL}ąęóěéíýáů"
_INFLECTION = regex.compile(
    f"(?<=..)(?:[{_VOWELS_WITH_ACCENTS}]{{1,2}}(?:ch|mi?|ми?|[hwхйьu]|v[ie]|[гh]о|[gh]o|mu|му)?|[oо][vв]|ь)$"
)
_WEAK_AR = regex.compile("[اأإآويىئؤءةه]")
_STRONG_AR = _WEAK_AR.pattern.replace("[", "[^")
_PLURALS_AR = {
    "of feminines": regex.compile("..ائ.|..."),
    "of three letters": regex.compile("[اأ]..ا.|..[او]."),
    "of others": regex.compile(
        f"[اأ]..ا.|[اأ].وا.|[اأ]...[ةه]|...اء|.وا..|..ائ.|{_STRONG_AR}{{2}}ا{_STRONG_AR}ي?{_STRONG_AR}|..."
    ),
}
_OPEN_NL = regex.compile(r"(.*[^aeou])?([aeou])([bcdfgklmnprstvz])(en|ens|e|er|ers)")
_FINNISH_ENDING = regex.compile(r"(?<=..)(?:i?(?:ss[aä]|st[aä]|ll[aä]|lt[aä]|lle|ksi|n[aä]|t[aä])|iden|i?n|t)$")
_SHORTEST, _SHORTEST_COMPOUND, _SURE_STEM, _LOST, _SHORT = 3, 4, 5, 2, 5
_MOST_ADDED, _MOST_ADDED_IF_FUSED = 3, 4


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802


_one_at_a_time = Lock()  # a stemmer keeps the word that it works on


@lru_cache(maxsize=64)
def _stemmer(lang: str) -> _Stemmer | None:
    import snowballstemmer

    if lang not in _SNOWBALL:
        return None
    stemmer: _Stemmer = snowballstemmer.stemmer(_SNOWBALL[lang])
    return stemmer


@lru_cache(maxsize=16_384)
def _stem(word: str, lang: str) -> str | None:
    stemmer = _stemmer(lang)
    if stemmer is None:
        return None
    with _one_at_a_time:
        return stemmer.stemWord(word)


@lru_cache(maxsize=16_384)
def _folded(word: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).casefold())


@lru_cache(maxsize=16_384)
def _plain(word: str) -> str:
    """A folded word without accents (not the signs of Indic scripts): inflection changes them (Haus, Häuser)."""
    if word.isascii():
        return word
    return _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_FINAL_FORMS)


def _variants(word: str, lang: str) -> Iterator[str]:
    """``word``, without a vowel that flees (účet, účtu; рынок, рынка), and without its proclitics (والكتاب)."""
    yield word
    if lang in _SLAVIC and len(word) > _SHORTEST and word[-2] in "eеоoёъ" and word[-1] not in "aeiouyаеиоуыэюяьй":
        yield word[:-2] + word[-1]
    if lang == "en" and word in _IRREGULAR:
        yield _IRREGULAR[word]
    for clitic in _PROCLITICS.get(lang, ()):
        if word.startswith(clitic) and len(word) - len(clitic) >= _SHORTEST:
            yield word[len(clitic) :]


def _cores(word: str, lang: str) -> tuple[str, str]:
    """A Slavic word without its ending, in one spelling; and the same without a fleeting vowel."""
    stem = _INFLECTION.sub("", word)
    cores = []
    for core in (stem, _FLEETING.sub("", stem)):
        for change in _ALTERNATIONS.get(lang, "").split():
            old, new = change.split(">")
            core = core.replace(old, new)
        cores.append(unicodedata.normalize("NFC", core))
    return cores[0], cores[1]


def _alternates(term: str, word: str, lang: str) -> bool:
    """Whether two folded words may be forms of one though letters within them change: okno, okien; كتاب, كتب."""
    if lang in _SLAVIC:
        (term_core, term_short), (core, short) = _cores(term, lang), _cores(word, lang)
        return len(short) > 1 and (term_core in (core, short) or core == term_short)
    if lang == "ar":
        consonants = _WEAK_AR.sub("", term)
        if len(consonants) < _LOST or consonants != _WEAK_AR.sub("", word):
            return False
        return _is_plural_ar(term, word) or _is_plural_ar(word, term)
    if lang == "nl":
        return _with_closed_syllable(term) == word or _with_closed_syllable(word) == term
    if lang == "fi":
        return _finnish(term) == _finnish(word) and len(term) <= _SHORT
    if lang in _GERMANIC and _plain(term) == _plain(word):  # man, män
        return True
    return lang == "es" and word in (term.removesuffix("z") + "ces", term.removesuffix("ces") + "z")


def _is_plural_ar(singular: str, word: str) -> bool:
    """Whether ``word`` has the form of a broken plural of ``singular``."""
    if singular[-1] in "ةه":
        pattern = _PLURALS_AR["of feminines"]
    elif len(singular) == _SHORTEST:
        pattern = _PLURALS_AR["of three letters"]
    else:
        pattern = _PLURALS_AR["of others"]
    return pattern.fullmatch(word) is not None


def _with_closed_syllable(word: str) -> str | None:
    """The Dutch word that ``word`` may be an inflected form of: bomen, boom; brieven, brief."""
    match = _OPEN_NL.fullmatch(word)
    if match is None:
        return None
    beginning, vowel, consonant = match.group(1, 2, 3)
    return (beginning or "") + 2 * vowel + {"v": "f", "z": "s"}.get(consonant, consonant)


def _finnish(word: str) -> str:
    """The stem of a short Finnish word: puu and puissa, käsi and kädet, katu and kadut."""
    stem = _FINNISH_ENDING.sub("", word)
    if stem != word:
        stem = regex.sub(r"(?<=[aeouyäö])i$", "", stem)
    stem = regex.sub(r"([aeouyäö])\1$|ie$|uo$|yö$", lambda match: match[0][-1], stem)
    if len(stem) <= _LOST:
        return stem
    return regex.sub(r"si$", "ti", stem).replace("d", "t").rstrip("ie")


@lru_cache(maxsize=65_536)
def same_word(term: str, word: str, lang: str, *, loose: bool = False) -> bool:
    """Whether ``word`` is a form of ``term``, a word too, in the language ``lang`` (``de``); case aside.

    ``loose``: what may be one counts too, verbs and words derived from ``term`` among them.
    """
    is_verb = lang == "de" and term[:1].isupper() and not word[:1].isupper()  # Frage, ich frage
    term, word = _folded(term), _folded(word)
    if term == word:
        return True
    if is_verb and not loose:
        return False
    if lang in _UNINFLECTED or not lang or not (_LETTERS.fullmatch(term) and _LETTERS.fullmatch(word)):
        return False
    for term_variant in _variants(term, lang):
        for word_variant in _variants(word, lang):
            if _is_form(term_variant, word_variant, lang, loose):
                return True
            if loose and _alternates(term_variant, word_variant, lang):
                return True
    return False


def _is_form(term: str, word: str, lang: str, loose: bool) -> bool:
    if term == word:
        return True
    plain_term, plain_word = _plain(term), _plain(word)
    shared = Prefix.similarity(plain_term, plain_word)
    lost, added = plain_term[shared:], plain_word[shared:]
    if shared < _SHORTEST or len(lost) > _LOST:
        return False
    if loose and lang in _FUSED and not lost and len(plain_term) > _SHORTEST:  # файл, файловый
        return True
    if lang in _SLAVIC and not lost and plain_term[-1] in _VOWEL:  # страна, страна|х
        lost, added = plain_term[-1], plain_term[-1] + added
    if lang in _CHANGES and _CHANGES[lang].fullmatch(f"{lost}>{added}"):
        return True
    stem, other_stem = _stem(term, lang), _stem(word, lang)
    if stem is None or other_stem is None:
        return (loose or lang not in _CHANGES) and bool(_NOT_KNOWN.fullmatch(f"{lost}>{added}"))
    if stem == other_stem or (lang in _CHAINING and other_stem == term):
        if loose:
            return lang not in _FUSED or len(added) <= _MOST_ADDED_IF_FUSED
        return lang not in _ENDINGS or all(map(_ENDINGS[lang].fullmatch, (lost, added)))
    if lang in _CHAINING and len(stem) >= _SURE_STEM and Levenshtein.distance(stem, other_stem) <= 1:
        return True  # sopimus, sopimuks|en
    return loose and shared > _SHORTEST and len(lost) > 0 and 0 < len(added) <= _LOST


def roots(word: str, lang: str) -> set[str]:
    """The beginnings of the forms of ``word``, accents aside. A word that isn't inflected has no root."""
    folded = _folded(word)
    if lang in _UNINFLECTED or not lang or not _LETTERS.fullmatch(folded):
        return set()
    roots = set[str]()
    for variant in _variants(folded, lang):
        plain = _plain(variant)
        roots.add(plain[: max(_SHORTEST, len(plain) - _LOST)])
    return roots


def beginnings(word: str, lang: str, lengths: Iterable[int]) -> set[str]:
    """Of which :func:`roots`, each of one of these ``lengths``, ``word`` may be a form."""
    beginnings = set[str]()
    for variant in _variants(_folded(word), lang):
        plain = _plain(variant)
        beginnings.update(plain[:length] for length in lengths if length <= len(plain))
    return beginnings


# -- terms in a text


_SPELT_ALIKE = str.maketrans("’ʼ‐‑", "''--")


class Word(NamedTuple):
    """A word of a text."""

    text: str
    start: int
    end: int
    gap: str
    """The characters between it and the word before; all white space is one space."""


def words_of(text: str) -> tuple[Word, ...]:
    """The words of ``text`` in scripts that have spaces between them."""
    words, done = [], 0
    for match in _WORD.finditer(text):
        gap = text[done : match.start()]
        gap = " " if gap.isspace() else gap.translate(_SPELT_ALIKE)
        words.append(Word(match.group(), *match.span(), gap))
        done = match.end()
    return tuple(words)


_words_of_text = remembered(words_of)


@lru_cache(maxsize=4096)
def words_of_term(term: str) -> tuple[Word, ...]:
    """The words of ``term``; none where marks or letters of scripts without spaces are part of it (C++, 账户)."""
    words = words_of(term.strip())
    joined = "".join(word.gap + word.text for word in words)
    return words if joined == " ".join(term.split()) else ()


def stands_at(
    term: Sequence[Word],
    words: Sequence[Word],
    place: int,
    lang: str,
    *,
    case_sensitive: bool = False,
    loose: bool = False,
) -> bool:
    """Whether forms of the words of ``term`` follow each other from ``words[place]`` on."""
    if place + len(term) > len(words):
        return False
    for index, word_of_term in enumerate(term):
        word = words[place + index]
        if index and word.gap != word_of_term.gap:
            return False
        if not same_word(word_of_term.text, word.text, lang, loose=loose):
            return False
        if case_sensitive and not _same_case(word_of_term.text, word.text):
            return False
    return True


def _same_case(term: str, word: str) -> bool:
    """Whether ``word`` has the capitals of ``term`` in their common part, and adds none."""
    if any(letter.isupper() for letter in word[len(term) :]):
        return False
    return all(letter.isupper() == other.isupper() for letter, other in zip(term, word, strict=False))


def _any_spelling(word: str) -> str:
    """A pattern of ``word`` with any apostrophes and hyphens."""
    pattern = regex.escape(word.translate(_SPELT_ALIKE), special_only=False)
    return pattern.replace("\\'", "['’ʼ]").replace("\\-", "[-‐‑]")


@lru_cache(maxsize=4096)
def _as_written(term: str, case_sensitive: bool, suffixes: bool) -> regex.Pattern[str]:
    parts = []
    for word in term.split():
        may_go_on = suffixes and SPACED_LETTER.match(word[-1])
        parts.append(_any_spelling(word) + (r"\w*+" if may_go_on else ""))
    pattern = r"\s++".join(parts)
    if SPACED_LETTER.match(term):
        pattern = r"(?<![\p{L}\p{N}])" + pattern
    if SPACED_LETTER.match(term[-1]) and not suffixes:
        pattern += r"(?![\p{L}\p{M}\p{N}])"
    return regex.compile(pattern, 0 if case_sensitive else regex.IGNORECASE)


def occurrences(
    term: str,
    text: str,
    lang: str = "",
    *,
    case_sensitive: bool = False,
    suffixes: bool = False,
    loose: bool = False,
) -> list[Mark]:
    """Where ``term`` occurs in ``text``: as a word, or anywhere in scripts without spaces.

    With ``lang`` its words may be inflected (``loose``: as :func:`same_word` has it), but nothing may come between
    them. ``suffixes``: the word may go on (Googles, iPhone-ում).
    """
    term = term.strip()
    if not term:
        return []
    matches = _as_written(term, case_sensitive, suffixes).finditer(text)
    marks = {match.start(): Mark(match.group(), *match.span()) for match in matches}
    term_words = words_of_term(term) if lang else ()
    if term_words:
        words = _words_of_text(text)
        for place, word in enumerate(words):
            if word.start in marks:
                continue
            if stands_at(term_words, words, place, lang, case_sensitive=case_sensitive, loose=loose):
                end = words[place + len(term_words) - 1].end
                marks[word.start] = Mark(text[word.start : end], word.start, end)
    return [marks[start] for start in sorted(marks)]


# What may follow the stem of a Japanese verb or adjective, by its last kana; a verb in する is also its noun.
_FORMS_JA = {
    "う": "いわえおっ", "く": "きかけこい", "ぐ": "ぎがげごい", "す": "しさせそ", "つ": "ちたてとっ",
    "ぬ": "になねのん", "ぶ": "びばべぼん", "む": "みまめもん", "る": "らりれろっまたてなよさず", "い": "くかけさ",
}  # fmt: skip
_FORMS_KO = "아어여고면지기는은을었았였니며도려러셨십습세시던게자"


@lru_cache(maxsize=4096)
def _verb_forms(term: str, lang: str) -> regex.Pattern[str] | None:
    """A pattern of the forms of a Japanese or Korean verb in its dictionary form; ``None`` for other words."""
    if lang == "ja" and term.endswith("する") and len(term) > len("する"):
        return regex.compile(regex.escape(term.removesuffix("する")))
    if lang == "ja" and len(term) > 1 and term[-1] in _FORMS_JA and not regex.fullmatch(r"\p{Katakana}", term[-2]):
        return regex.compile(f"{regex.escape(term[:-1])}(?:{regex.escape(term[-1])}|[{_FORMS_JA[term[-1]]}])")
    if lang == "ko" and term.endswith("하다") and len(term) > len("하다"):
        return regex.compile(regex.escape(term.removesuffix("하다")))
    if lang == "ko" and term.endswith("다") and len(term) > 1:
        return regex.compile(f"{regex.escape(term[:-1])}(?:다|[{_FORMS_KO}])")
    return None


_INFLECTED_ENDING = _by_language(
    {
        "de lb": "e[nmrs]?|ern|ens|[nst]|te[nrs]?|st",
        "nl af fy": "e[nr]?|[st]|ers?|jes?",
        "sv da nb nn no is": "(?:e[nrt]?|[aont]|[ao]r|[ae]?rne|[ao]rna|ene|na)?s?",
    }
)
_CONSONANT = "[^aeiouyäöüåæø]"
_ENDINGS_OF_OTHERS = {
    lang: (regex.compile(ending), regex.compile(f"{_CONSONANT}(?:{ending})?"))
    for lang, ending in _INFLECTED_ENDING.items()
}
"""What follows a term that is inflected, and what follows it in another word: Konto, Kontor; konto, kontoret."""


def _is_other_word(term: str, written: str, lang: str) -> bool:
    """Whether ``written``, which begins with ``term``, is another word than a form or a compound of it."""
    if lang not in _ENDINGS_OF_OTHERS or not written.casefold().startswith(term.casefold()):
        return False
    inflected, other = _ENDINGS_OF_OTHERS[lang]
    rest = written[len(term) :].casefold()
    return bool(rest) and not inflected.fullmatch(rest) and other.fullmatch(rest) is not None


class Mentions(NamedTuple):
    """How often a target term is in a translation: as a separate word, and in all."""

    words: int
    all: int

    def lost(self, after: Mentions) -> bool:
        """Whether no separate word is left ``after`` a change, and no part of a compound replaces it."""
        return self.words > 0 and after.words == 0 and after.all < self.all


def mentions(target: str, text: str, lang: str, *, case_sensitive: bool = False) -> Mentions:
    """How often a translation has the term ``target``, inflected or not.

    In Germanic and Uralic languages it may be a part of a compound, at its beginning or end. In languages with
    chains of suffixes, and in unknown languages, the word may continue.
    """
    plain = occurrences(target, text, lang, case_sensitive=case_sensitive, loose=True)
    forms = _verb_forms(target.strip(), lang)
    if forms is not None:
        count = max(len(plain), len(forms.findall(text)))
        return Mentions(count, count)
    if lang in _FUSED:
        return Mentions(len(plain), len(plain))
    going_on = occurrences(target, text, lang, case_sensitive=case_sensitive, suffixes=True, loose=True)
    if lang not in _COMPOUNDING:
        return Mentions(len(going_on), len(going_on))
    inflected = {mark.start for mark in plain}
    places = set[int]()
    for mark in going_on:
        if mark.start in inflected or not _is_other_word(target, mark.key, lang):
            places.add(mark.start)
    count = len(places)
    if len(words_of_term(target)) == 1 and len(target) >= _SHORTEST_COMPOUND:
        for word in _words_of_text(text):
            if word.start not in places and _ends_compound(target, word.text, lang):
                count += 1
    return Mentions(len(plain), count)


def _ends_compound(target: str, word: str, lang: str) -> bool:
    """Whether ``word`` is a compound that ends with a form of ``target``."""
    first = max(_SHORTEST, len(word) - len(target) - _MOST_ADDED)
    last = len(word) - len(target) + _LOST
    return any(same_word(target, word[start:], lang, loose=True) for start in range(first, last + 1))


def has_target(target: str, text: str, lang: str, *, case_sensitive: bool = False) -> bool:
    """Whether a translation has the term ``target``, as :func:`mentions` counts it."""
    return mentions(target, text, lang, case_sensitive=case_sensitive).all > 0


# -- what is wrong with the terms of a translation


class TermFault(NamedTuple):
    """A term that a translation does not have as the glossary wants it.

    ``forbidden``: its forbidden word is at ``mark``. ``untranslatable``: it must be kept, and is not. ``missing``:
    none of ``targets`` is there.
    """

    kind: Literal["forbidden", "untranslatable", "missing"]
    term: Term
    targets: tuple[str, ...] = ()
    mark: Mark | None = None


def targets_of(segment: Segment) -> dict[str, list[Term]]:
    """The terms that are to be translated, by their source in small letters: several have several senses."""
    targets: dict[str, list[Term]] = {}
    for term in segment.terms:
        if term.target is not None and not term.forbidden:
            targets.setdefault(term.source.casefold(), []).append(term)
    return targets


def term_faults(segment: Segment, text: str) -> Iterator[TermFault]:
    """The faults in the terms of ``text``. Of several targets of one source term any is right."""
    source_lang = language_of(segment.source_lang)
    targets = targets_of(segment)
    for term in segment.terms:
        exact = term.case_sensitive
        if term.target is None and not term.forbidden:
            expected = len(occurrences(term.source, segment.source, case_sensitive=exact))
            kept = len(occurrences(term.source, text, case_sensitive=True, suffixes=True)) if expected else 0
            yield from [TermFault("untranslatable", term)] * (expected - kept)
            continue
        if not occurrences(term.source, segment.source, source_lang, case_sensitive=exact):
            continue
        rivals = targets.get(term.source.casefold(), [])
        if term.forbidden:
            yield from _forbidden_words(term, rivals, text, language_of(segment.target_lang))
        elif term is rivals[0] and not _has_any_target(rivals, text, language_of(segment.target_lang)):
            yield TermFault("missing", term, _targets(rivals))


def _forbidden_words(term: Term, rivals: Sequence[Term], text: str, lang: str) -> Iterator[TermFault]:
    """Where ``text`` has the forbidden word of ``term``. A form of it may be a form of a right target as well."""
    word = term.target or term.source
    right: list[Mark] = []
    for rival in rivals:
        right += occurrences(rival.target or "", text, lang, case_sensitive=rival.case_sensitive)
    for mark in occurrences(word, text, lang, case_sensitive=term.case_sensitive):
        is_as_written = mark.key.casefold() == word.casefold()
        if is_as_written or not any(mark.start < other.end and other.start < mark.end for other in right):
            yield TermFault("forbidden", term, mark=mark)


def _has_any_target(terms: Sequence[Term], text: str, lang: str) -> bool:
    return any(has_target(term.target or "", text, lang, case_sensitive=term.case_sensitive) for term in terms)


def _targets(terms: Sequence[Term]) -> tuple[str, ...]:
    return tuple(term.target or "" for term in terms)


def lost_targets(segment: Segment, before: str, after: str) -> list[tuple[str, ...]]:
    """The targets, by source term, that a change loses though a compound with one of them is left."""
    source_lang, target_lang = language_of(segment.source_lang), language_of(segment.target_lang)
    if target_lang not in _COMPOUNDING:
        return []
    lost = []
    for terms in targets_of(segment).values():
        if not occurrences(terms[0].source, segment.source, source_lang, case_sensitive=terms[0].case_sensitive):
            continue
        old, new = _mentions_of_any(terms, before, target_lang), _mentions_of_any(terms, after, target_lang)
        if new.all and old.lost(new):
            lost.append(_targets(terms))
    return lost


def _mentions_of_any(terms: Sequence[Term], text: str, lang: str) -> Mentions:
    words = in_all = 0
    for term in terms:
        counts = mentions(term.target or "", text, lang, case_sensitive=term.case_sensitive)
        words += counts.words
        in_all += counts.all
    return Mentions(words, in_all)


# -- names

_CASED = r"\p{Lu}\p{Ll}\p{Lt}\p{M}\p{N}"
_CAPITALISED = regex.compile(
    rf"(?<![{_CASED}])(?:[\p{{Lu}}\p{{Lt}}]|\p{{Ll}}++(?=\p{{Lu}}))[{_CASED}]*+(?:['’]\p{{Lu}}[{_CASED}]*+|-[{_CASED}]++)*+"
)
_UNCAPITALISED = regex.compile(rf"(?<![{_CASED}])\p{{Ll}}[\p{{Ll}}\p{{M}}]*+(?![{_CASED}])")


def capitalised(text: str, lang: str = "") -> Iterator[tuple[str, bool]]:
    """The words of two or more letters that are written with a capital, each with whether it begins a sentence."""
    for sentence in paragraphs.sentences(text, lang):
        first = regex.search(r"\w", sentence)
        for word in _CAPITALISED.finditer(sentence):
            if len(word[0]) > 1:
                yield word[0], first is not None and word.start() == first.start()


def _uncapitalised(text: str) -> set[str]:
    """The words that are written in small letters."""
    return set(_UNCAPITALISED.findall(text))


def stands_in(word: str, text: str) -> bool:
    """Whether ``text`` has ``word`` letter by letter, as a word; characters without case do not belong to words."""
    return word in text and regex.search(rf"(?<![{_CASED}]){regex.escape(word)}(?![{_CASED}])", text) is not None


class KeptNames:
    """The names of a document that its translation has as the source has them.

    A name is written with a capital inside a sentence, and never with a small letter in the document so far; it counts
    as kept while the last translation of a source that has it holds it letter by letter. Nothing is known of names that
    are translated, transliterated or inflected, nor of those in scripts without capitals: that would be a guess.
    """

    def __init__(self) -> None:
        self._inside: set[str] = set()
        self._small: set[str] = set()
        self._kept: dict[str, bool] = {}

    def add(self, source: str, translation: str, lang: str = "") -> None:
        """Note the next source, and how it was translated."""
        self._small |= _uncapitalised(source)
        for word, begins in capitalised(source, lang):
            if not begins:
                self._inside.add(word)
            self._kept[word] = stands_in(word, translation)

    def kept_in(self, source: str, lang: str = "") -> list[str]:
        """Those that ``source`` has again, in its order."""
        words = list(capitalised(source, lang))
        inside = self._inside.union(word for word, begins in words if not begins)
        small_words = self._small | _uncapitalised(source)
        kept = []
        for word in dict.fromkeys(word for word, _ in words):
            is_name = word in inside and word.casefold() not in small_words
            if is_name and self._kept.get(word):
                kept.append(word)
        return kept
