"""The words by which a text speaks of itself: of its translation, its wording and what was changed, in 40 languages.

A model comments in any language. So a word counts whatever the language of the text, and what the source speaks of in
any language excuses it.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from mtagent.text.word_lists import alternatives, word_lists, words_or_parts

_KEPT = 128  # of the texts at work at a time: each is looked at several times on its way through a chain

_LISTS = word_lists("shop_talk")
_ON_TRANSLATING = regex.compile(alternatives(_LISTS["translation"]), regex.IGNORECASE)
_STEMS = tuple(alternatives(_LISTS["like_translating"]).split("|"))


def may_be_on_translating(text: str) -> bool:
    """Whether ``text`` has a word for translating, or for something that is called alike in some language."""
    folded = text.casefold()
    return any(stem in folded for stem in _STEMS)


def on_translating(text: str) -> list[regex.Match[str]]:
    """The places where ``text`` speaks of translating."""
    return list(_ON_TRANSLATING.finditer(text)) if may_be_on_translating(text) else []


ABOUT = {name: regex.compile(words_or_parts(lists), regex.IGNORECASE) for name, lists in _LISTS["about"].items()}
"""What remarks on a translation speak of, beside translating: its wording, whether it is good, mistakes, a change, the
need of one, and what the writer asks for or regrets."""


@lru_cache(maxsize=_KEPT)
def subjects(text: str) -> frozenset[str]:
    """The names of the entries of :data:`ABOUT` that ``text`` speaks of."""
    return frozenset(name for name, words in ABOUT.items() if words.search(text))


def speaks_of_wording(text: str) -> bool:
    """Whether ``"wording"`` is among the :func:`subjects` of ``text``."""
    return ABOUT["wording"].search(text) is not None


_THIS_SENTENCE = regex.compile(words_or_parts(_LISTS["this_sentence"]), regex.IGNORECASE)


def speaks_of_text(text: str, new: frozenset[str]) -> bool:
    """Whether ``text`` cannot but speak of itself, by those of its :func:`subjects` that are ``new``.

    These are three of them, wording and change among them: that a sentence, text or offer is right or needed is said in
    any text. Two are enough where a sentence is called this one, or where a text is said to have no mistakes.
    """
    if "wording" not in new:
        return False
    is_praised = "quality" in new and _THIS_SENTENCE.search(text) is not None
    is_changed = "change" in new and len(new) >= 3
    return is_changed or is_praised or ("mistake" in new and _NOT.search(text) is not None)


_NOT = regex.compile(words_or_parts(_LISTS["denial"]), regex.IGNORECASE)
_NO_DENIAL = frozenset(alternatives(_LISTS["source"]["no_denial"]).split("|"))
_WORD = regex.compile(r"\p{Han}|[\p{Hiragana}\p{Katakana}ー]+|\p{Thai}+|[\p{L}\p{M}’']+")
_LONGEST_BARE, _COVERED = 40, 0.6


def denies(source: str) -> bool:
    """Whether ``source`` denies something: its translation may say that there is none."""
    return "n't" in source.replace("’", "'") or any(
        match.group().casefold() not in _NO_DENIAL for match in _NOT.finditer(source)
    )


def says_unchanged(text: str) -> bool:
    """Whether ``text`` says of itself, and next to nothing else, that it needs no change or has no mistake."""
    if len(text) > _LONGEST_BARE:
        return False
    denied = list(_NOT.finditer(text))
    if not denied:
        return False
    about = {name: list(ABOUT[name].finditer(text)) for name in ("change", "mistake", "need", "wording")}
    if not about["change"] and not about["mistake"]:
        return False
    spans = [match.span() for match in (*denied, *(match for found in about.values() for match in found))]
    size = covered = 0
    for word in _WORD.finditer(text):
        size += len(word.group())
        covered += len(word.group()) * any(start < word.end() and word.start() < end for start, end in spans)
    return covered >= _COVERED * size


_ASKED_FOR = {
    name: regex.compile(words_or_parts(lists), regex.IGNORECASE) for name, lists in _LISTS["asked_for"].items()
}


@lru_cache(maxsize=_KEPT)
def asked_for(source: str) -> frozenset[str]:
    """The subjects that a translation of ``source`` may speak of: its own, and those that user interfaces put so."""
    return subjects(source) | {name for name, words in _ASKED_FOR.items() if words.search(source)}


_REGRET = regex.compile(words_or_parts(_LISTS["regret"]), regex.IGNORECASE)
_I_CANNOT = words_or_parts(_LISTS["i_cannot"])
_INABILITY = regex.compile(f"{_I_CANNOT}|{words_or_parts(_LISTS['cannot'])}", regex.IGNORECASE)
_HELP = regex.compile(words_or_parts(_LISTS["help"]), regex.IGNORECASE)
_REQUEST = regex.compile(words_or_parts(_LISTS["request"]), regex.IGNORECASE)
_SPEAKS_OF_HELP = regex.compile(alternatives(_LISTS["source"]["speaks_of_help"]), regex.IGNORECASE)
_OWN_INABILITY = regex.compile(
    rf"\b(?:I|we)\b[^.!?\n]{{0,20}}\b(?:can(?:no|['’])?t|can not|unable|not able|could(?:n['’]t|"
    rf" not)|can do nothing)\b|"
    rf"\bnothing (?:else |more )?(?:that )?(?:I|we) can\b|\bimpossible\b|"
    rf"\b(?:ich|wir) (?:kann|können)\b[^.!?\n]{{0,40}}\bnicht|\b(?:kann|können) (?:ich|wir)\b[^.!?\n]{{0,40}}\bnicht|"
    rf"\bik kan\b[^.!?\n]{{0,30}}\bniet|\bjag kan\b[^.!?\n]{{0,30}}\bint|"
    rf"\bjeg kan\b[^.!?\n]{{0,30}}\bik|恕|無理|{_I_CANNOT}",
    regex.IGNORECASE,
)
_FAILURE = regex.compile(alternatives(_LISTS["source"]["failure"]), regex.IGNORECASE)


def may_say_no_help(source: str) -> bool:
    """Whether a translation of ``source`` may say that its writer cannot help."""
    return _SPEAKS_OF_HELP.search(source) is not None or _OWN_INABILITY.search(source) is not None


def may_say_no_service(source: str) -> bool:
    """Whether a translation of ``source`` may say that something cannot be done: it speaks of a request or failure."""
    return may_say_no_help(source) or denies(source) or any(signs.search(source) for signs in (_REQUEST, _FAILURE))


def declines(source: str, text: str) -> bool:
    """Whether ``text`` regrets that it cannot do what was asked for, where ``source`` speaks of nothing of the kind.

    Software regrets that it cannot process a request where its source merely says that it failed. That it cannot help
    is what it says of itself, and only a source about help, or about what the writer cannot do, says so too.
    """
    if not _REGRET.search(text) or not _INABILITY.search(text):
        return False
    if _HELP.search(text):
        return not may_say_no_help(source)
    return _REQUEST.search(text) is not None and not may_say_no_service(source)
