"""Words of the source, two or more in a row, that an edit leaves untranslated in a translation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import regex

from mtagent.records import Segment
from mtagent.text import foreign, scripts

# Small words by language. One that the target language has not gives a run of source words away.
_SMALL_WORDS = {
    lang: frozenset(words.split())
    for lang, words in {
        "en": "the a an of and or to in on at by for from with without is are was were be been has have had do "
        "does did "
        "not no you your we our they their it its this that these those he his she her him them us can could will "
        "would should must may might if when while before after until between into about all any each every some "
        "which who what where how than then there here only also as but so i my me please",
        "de": "der die das den dem des ein eine einen einem einer und oder zu in im an am auf bei von vom für "
        "mit ohne ist "
        "sind war waren sein wird werden hat haben hatte nicht kein keine sie ihr ihre wir unser unsere er es man "
        "wurde wurden worden wegen seit gegen sich uns ihm ihn ihnen weil dass damit sehr mehr hier dort "
        "dieser diese dieses diesen jede jeder jedes jeden alle wenn während vor nach bis zwischen über unter durch "
        "kann können muss müssen soll wie was wo wer als auch nur noch aber so zum zur bitte um aus ich mein",
        "fr": "le la les l un une des du de d et ou à au aux en dans sur sous par pour avec sans est sont "
        "était être a "
        "ont ne pas vous votre vos nous notre nos il elle ils elles son sa ses leur leurs ce cet cette ces qui que "
        "quand si avant après entre chaque tous toutes tout peut doit comme mais plus aussi je mon ma mes",
        "es": "el la los las un una unos unas de del y o a al en por para con sin es son era está están ser no "
        "su sus "
        "nuestro nuestra usted nos se lo le este esta estos estas ese esa que quien cuando si antes después entre "
        "cada todos todas todo puede debe como pero más también muy mi",
        "it": "il lo la i gli le un uno una di del dello della dei degli delle e o a al alla in nel nella su "
        "sul per con "
        "senza è sono era non suo sua vostro nostro si che chi quando se prima dopo tra fra ogni tutti tutte può "
        "deve come ma più anche molto questo questa questi queste mio",
        "pt": "o a os as um uma de do da dos das e ou à ao em no na nos nas por para com sem é são era está não "
        "seu sua "
        "nosso nossa se que quem quando antes depois entre cada todos todas pode deve como mas mais também muito "
        "este esta esse essa isso meu",
        "nl": "de het een van en of te in op aan bij voor met zonder is zijn was waren niet geen u uw je jouw "
        "we ons onze "
        "hij zij het dit dat deze die als wanneer terwijl na tot tussen elke alle kan moet wordt worden door over "
        "uit maar ook alleen nog hoe wat waar wie mijn",
        "sv": "en ett och eller att i på av för från med utan är var inte du din ditt dina vi vår de den det "
        "som om när "
        "innan efter mellan varje alla kan måste ska till men också hur vad",
        "da": "en et og eller at i på af for fra med uden er var ikke du din dit dine vi vores de den det som "
        "om når før "
        "efter mellem hver alle kan skal til men også hvordan hvad",
        "nb": "en et ei og eller å i på av for fra med uten er var ikke du din ditt dine vi vår de den det som "
        "om når før "
        "etter mellom hver alle kan må skal til men også hvordan hva",
        "pl": "i w na z do że nie się o po od za dla przez przy jest są był lub oraz to ten ta te jak gdy jeśli "
        "co każdy "
        "wszystkie może musi tylko także ale",
        "cs": "a v na z do že ne se si o po od za pro při je jsou byl nebo to ten ta jak když pokud co každý "
        "všechny může "
        "musí jen také ale",
    }.items()
}
_SMALL_WORDS["no"] = _SMALL_WORDS["nb"]
# Spellings that the language's own words do not have.
_NOT_SPELT_SO = {
    lang: regex.compile(pattern)
    for lang, pattern in {
        "de": r".",  # its nouns have capitals; what is left in small letters is not German
        "es": r"[kw]|th|sh|ph|ck|gh|([bdfgmptz])\1|ee|oo|[bcfghkmpqtvwyj]$|[bcdfgklmpqrtvwz]s$",
        "pt": r"[kwy]|th|sh|ph|ck|gh|([bdfgmptzln])\1|ee|oo|[bcdfghjkpqtvwxy]$|[bcdfgklmpqrtvwz]s$",
        "it": r"[jkwxy]|th|ph|ck|gh[^ei]|[^aeiouàèéìòù]$",
        "fr": r"w|th$|sh|ck|ght|oo|ee[^s]|[^q]k|[bdgmnpkl]s?y$|ing$|[bdfgjmp]$",
        "ro": r"[kwy]|th|sh|ph|ck|ee|oo",
        "pl": r"[qvx]|th|sh|ph|ck|oo|ee",
        "cs": r"[qw]|th|sh|ph|ck|gh",
        "sk": r"[qw]|th|sh|ph|ck|gh",
        "hu": r"[qwx]|th|sh|ph|ck",
        "tr": r"[qwx]|th|ck|ph|oo|ee|[bcdg]$",
        "fi": r"[bcfqwxzå]|th|sh|[dgkmp]$",
        "id": r"[qvxz]|th|sh|ck|ee|oo|ght",
        "vi": r"[fjwz]|sh|ck|[bdfgjklqrsvwxz]$|\w{7}",
    }.items()
}
# What many languages say in English.
_TAKEN_OVER = """
affirmative action artificial intelligence backup best practice best practices big data black box call center
call centre case study cash flow check in check out chief executive cloud computing customer care data center
data lake data mining de facto deep learning double opt e commerce e mail exchange traded fact checking fair play
fair trade fast food feed back file system fine tuning first class follow up food truck fund raising high tech
hip hop home office home page in house in vitro in vivo in situ know how language model large language low cost
machine learning made in neural network offshore one way on demand on line on premise on premises open access
open air open data open source pen drive per capita pop up power bank prime time private equity pull request
pull requests push up real estate real time road map rock and roll second hand self service set up sex appeal
shopping center single sign sign on small talk smart city smart home smart phone smart working social media
soft skills software engineer stand by start up status quo stock options street art street food think tank time out
top down bottom up touch screen trade off user experience user interface venture capital video game web site
wi fi work flow work life working group world wide zero day
"""
_LOANS = frozenset(pair for line in _TAKEN_OVER.split("\n") for pair in map(" ".join, pairwise(line.split())))
"""The pairs of words of these: some are no loans, and do no harm."""
_SMALL = regex.compile(r"\p{Ll}[\p{Ll}\p{M}]*+")
_GAP = regex.compile(r"[ \u00a0]++")
_OPENED = regex.compile(r"(?:\p{Ps}[ \u00a0]?|[\p{Pi}\"'`„*_<])\Z")
_CLOSED = regex.compile(r"['’\"]?[\p{Pe}\p{Pf}\"`“*_>]")
_FEWEST_LETTERS = 5
_CERTAIN_RUN = 3
_INDIC_RUN = 4
_MIXING = frozenset(["Deva", "Beng", "Guru", "Gujr", "Orya", "Taml", "Telu", "Knda", "Mlym", "Sinh"])
_LATIN_WORD = regex.compile(r"\p{Latin}[\p{Latin}\p{M}]*+")


def left_over(segment: Segment, before: str, after: str) -> Iterator[str]:
    """The runs of source words, two or more, that stand untranslated in ``after`` and did not in ``before``.

    Only sources in Latin script. Names, what is quoted or in brackets, terms of the segment and phrases that many
    languages took over from English are left out, and so are words that the target language may share.
    """
    source_lang, target_lang = scripts.language_of(segment.source_lang), scripts.language_of(segment.target_lang)
    if source_lang not in _SMALL_WORDS or source_lang == target_lang:
        return
    new_words = set(scripts.words(after)).difference(scripts.words(before))
    if new_words.isdisjoint(scripts.words(segment.source)):
        return
    source = foreign.language_words(segment.source)
    pairs_of_source = set(_pairs(source, source_lang))
    text = foreign.language_words(after)
    if not pairs_of_source or pairs_of_source.isdisjoint(_pairs(text, source_lang)):
        return
    known = set(_pairs(foreign.language_words(before), source_lang))
    terms = {word for term in segment.terms for word in (term.target or term.source).casefold().split()}
    for run, start, end in _runs(text, pairs_of_source - known, source_lang):
        quoted = _OPENED.search(text, max(0, start - 2), start) or _CLOSED.match(text, end)
        if not quoted and not terms.issuperset(run) and _is_foreign(run, source_lang, segment.target_lang):
            yield " ".join(run)


def _is_word(word: str, lang: str) -> bool:
    """Whether ``word`` may be left over: it is no name. In German, nouns have capitals."""
    return _SMALL.fullmatch(word) is not None or (lang == "de" and len(word) > 1 and word[1:].islower())


def _pairs(text: str, lang: str) -> Iterator[tuple[str, str]]:
    for first, second in pairwise(_LATIN_WORD.finditer(text)):
        if _is_pair(text, first, second, lang):
            yield first.group(), second.group()


def _is_pair(text: str, first: regex.Match[str], second: regex.Match[str], lang: str) -> bool:
    """Whether two words follow each other, are no names, and are not both capitalised."""
    if not _GAP.fullmatch(text, first.end(), second.start()):
        return False
    words = first.group(), second.group()
    return all(_is_word(word, lang) for word in words) and any(word.islower() for word in words)


def _runs(text: str, pairs: set[tuple[str, str]], lang: str) -> Iterator[tuple[list[str], int, int]]:
    """The longest runs of words that are made of ``pairs``, with their places in ``text``."""
    run: list[str] = []
    start = end = 0
    for first, second in pairwise(_LATIN_WORD.finditer(text)):
        fits = _is_pair(text, first, second, lang) and (first.group(), second.group()) in pairs
        if fits and run and end == first.end():
            run.append(second.group())
        elif fits:
            if run:
                yield run, start, end
            run, start = [first.group(), second.group()], first.start()
        if fits:
            end = second.end()
    if run:
        yield run, start, end


def _is_foreign(run: list[str], source_lang: str, target_lang: str) -> bool:
    """Whether a run of source words is certainly no text of the target language."""
    if sum(map(len, run)) < _FEWEST_LETTERS:
        return False
    target = scripts.language_of(target_lang)
    small, small_of_target = _SMALL_WORDS[source_lang], _SMALL_WORDS.get(target, frozenset[str]())
    gives_away = any(word in small and word not in small_of_target for word in run)
    script = scripts.script_of(target_lang)
    if gives_away and (script != "Latn" or target in _SMALL_WORDS):
        return script != "Latn" or not any(word in small_of_target for word in run) or len(run) >= _CERTAIN_RUN
    if source_lang == "en" and all(pair in _LOANS for pair in map(" ".join, pairwise(run))):
        return False
    if script in _MIXING:
        return len(run) >= _INDIC_RUN
    if script != "Latn":
        return True
    spelling = _NOT_SPELT_SO.get(target)
    return spelling is not None and source_lang == "en" and any(map(spelling.search, run))
