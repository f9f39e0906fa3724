"""What a text says that is not a translation: labels, notes, remarks, refusals; deterministic, without a model.

:func:`grown` compares source, text before and text after an edit; :func:`commentary` needs no text before. The signs
are looked for in all languages, since a model comments in any.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from typing import Any

import regex

from mtagent.text import scripts
from mtagent.text.alignment import HALF_SAID, LONG_ENOUGH, STEM, difference, grams
from mtagent.text.omission import quoted
from mtagent.text.paragraphs import is_ended, line_breaks, sentences
from mtagent.text.scripts import language_of, letters, remembered, words
from mtagent.text.word_lists import alternatives, word_lists, words_or_parts

LENGTH_LIMIT = 1.6
"""How many times longer than both source and text before, in letters, a text after may be."""
SMALL_ADDITION = 16
"""Letters and spaces that an edit may add in one place without a closer look."""
SLACK = 40
"""Letters that a text of any length may grow by: one word may become three."""
ADDED_PIECE = 12
"""A first or last sentence of this many letters or more is a remark if the others cover the text before."""
KEPT_OF_REMARK, KEPT_IN_PLACE = 0.5, 0.3
"""A piece isn't a remark if the text before has this share of it, by groups of letters: for a piece next to the text,
and for a piece that replaces it."""
COVERED = 0.85
"""Share of the text before that the pieces besides a remark have."""
SPEAKS = "the text speaks of translating"
SUBJECTS = 2
"""An extra sentence is a remark if it mentions this many topics of remarks that source and text before don't mention. A
sentence that may translate the source must mention more, because everyday words name two of the topics."""
WITHOUT_IT, WITHOUT_LEAD = 0.7, 0.5
"""If one sentence is extra, the others have this share of the source's letters; if the words before a colon are extra,
the text after the colon has the second share."""
UNCHANGED = 0.35
""""No changes" may translate a source that denies something if it has this share of the source's letters."""
FEWEST_WORDS, LONGEST_REMARK, LONGEST_LEAD = 4, 150, 60
"""Without a text before: the fewest words of a source whose text may be a mere remark, the most letters of a remark,
and the most letters before a colon."""
MOST_REMARKS, MOST_PIECES, LEFT = 4, 400, 0.4
"""The most pieces of a remark before a text; the most pieces of a text that is searched for remarks to remove; and the
share of the source's letters that must be left after that."""

_LISTS = word_lists("commentary")
_FENCE = regex.compile(r"```|~~~")
_TAG = regex.compile(
    r"</?(?:think(?:ing)?|reasoning|analysis|scratchpad|translation|output|answer|final(?:_answer)?|result)>"
    r"|<\|[^|<>\s]{1,40}\|>|\[/?INST\]",
    regex.IGNORECASE,
)
_ENUMERATOR = regex.compile(
    r"^[^\S\n]*+[*_#>-]*+[^\S\n]*+(?:\(?(?:\d{1,2}|[a-eA-E])[.)]|[①-⑩]|"
    r"(?:option|version|variante?|alternativ\w*+|fassung|opción|вариант|варіант|选项|版本|訳案|案)\s*+[\dA-E]\b)",
    regex.MULTILINE | regex.IGNORECASE,
)
_LINE_START = r"^[^\S\n]*+[*_#>(\[（【\"“-]*+[^\S\n]*+"
_LABEL = regex.compile(
    _LINE_START + r"[\w'’ ]{0,40}?(?:post-?edit\w*+|proofread\w*+|(?:corrected|revised|improved|final|edited)\ "
    r"(?:text|version|sentence))[\w'’ ()-]{0,30}+[*_\"”)\]】]*+\s?[:：]",
    regex.MULTILINE | regex.IGNORECASE,
)
_OPENING = regex.compile(
    r"\A\W*+(?:(?:sure|certainly|of\ course|absolutely|okay|ok)\b[!,.]|here(?:'s|’s|\ is|\ are)\b[^\n]{0,120}+\n"
    r"|here(?:'s|’s|\ is|\ are)\ (?:the|my|an?|your|five|some)\ [^\n:]{0,80}+:"
    r"|(?:let\ me|let's|let’s|i\ will|i'll|i’ll|i\ need\ to|we\ need\ to|the\ user)\b)",
    regex.IGNORECASE,
)
_NOTE = regex.compile(
    _LINE_START + rf"(?:{alternatives(_LISTS['note'])})[*_]*+\s?[:：]",
    regex.MULTILINE | regex.IGNORECASE,
)
_ASIDE = regex.compile(
    _LINE_START
    + r"(?:(?:i(?:'ve|’ve|\ have)?|we(?:'ve|’ve|\ have)?)\ (?:also\ )?(?:changed|corrected|revised|improved|kept|fixed|"
    r"translated|made|adjusted|replaced|rephrased|chose|used)\b|let\ me\ know\b|please\ let\ me\ know\b|"
    r"would\ you\ like\b|(?:i\ )?hope\ this\ helps|as\ an\ ai\b|i(?:'m|’m|\ am)\ sorry\b|i\ can(?:no|')?t\b|"
    r"(?:this|the|my)\ (?:\w+\ )?translation\b)",
    regex.MULTILINE | regex.IGNORECASE,
)
_BEHIND_COLON = regex.compile(r"(?<=[:：])(?=[\s\"“„«])|(?<=：)(?!\Z)")
_ABBREVIATED = regex.compile(r"\b\p{Lu}\p{L}{0,3}\s?\.\s*\Z")
_AGREES = regex.compile(words_or_parts(_LISTS["agrees"]), regex.IGNORECASE)

_COLON = regex.compile("[:：]")
_BRACKETED = regex.compile(r"[(（\[][^()（）\[\]]{6,}+[)）\]]\s*+\Z")
_DECLINES = regex.compile(
    r"(?:\b(?:i(?:'m|’m| am) (?:sorry|afraid|unable)|i apologi[sz]e|i ca(?:nnot|n't|n’t))\b[^.!?\n]{0,60}"
    r"\b(?:(?P<help>assist|help)|fulfil|comply|process|provide)\b[^.!?\n]{0,20}\b(?:with|this|that|your|the)\b"
    r"[^.!?\n]{0,30}(?:\brequest\b|\btext\b|\bcontent\b|\bthat\b|\bthis\b)"
    r"|\bas an? (?P<help>ai|large language|language) (?:language )?(?:model|assistant)\b)",
    regex.IGNORECASE,
)


@remembered
def commentary(source: str, text: str, *, target_lang: str = "") -> tuple[str, ...]:
    """Complaints about additions to a translation of ``source`` in ``text``, without a text before it.

    Only signs that real translations practically never have: a code fence, a model's tag, a text that mentions its own
    translation or declines to help. Signs that the source has too, in any language, are fine.
    """
    complaints = []
    for sign, name in ((_FENCE, "a code fence"), (_TAG, "a tag of the model")):
        if len(sign.findall(text)) > len(sign.findall(source)):
            complaints.append(f"the text has {name}")
    sure_talk = _sure_talk(source, text)
    if sure_talk:
        start, end = sure_talk[0].span()
        complaints.append(f"{SPEAKS}: {quoted(text[max(0, start - 20) : end + 20])}")
    declined = _declined(source, text, target_lang)
    if declined:
        complaints.append(f"the text declines to translate: {quoted(declined)}")
    if not complaints:
        remark = _remark(source, text, target_lang)
        if remark:
            complaints.append(f"the text speaks of itself: {quoted(remark)}")
    return tuple(complaints)


def _declined(source: str, text: str, lang: str) -> str:
    """The words of ``text`` that decline to help, in English or its first sentences, unless ``source`` does so."""
    refusal = _DECLINES.search(text)
    if refusal and not _DECLINES.search(source):
        may_say = may_say_no_help if refusal["help"] else may_say_no_service
        if language_of(lang) not in ("", "en") or not may_say(source):
            return refusal.group()
    lead = "".join(pieces(text, lang)[:2])
    return lead if declines(source, lead) else ""


def _remark(source: str, text: str, lang: str) -> str:
    """A piece of ``text`` that is only about the text itself, unless the source has such words; or ``""``.

    The piece is certainly a remark if the rest of the text covers the whole source. If it may be a translation of the
    source, it must mention more topics.
    """
    if len(words(source)) < FEWEST_WORDS:
        return ""
    remark = _remark_on_text(source, text, lang)
    if remark and {"change", "mistake"} & asked_for(source):
        return ""
    return remark


def _remark_on_text(source: str, text: str, lang: str) -> str:
    """The same for a source that mentions no change or mistake.

    The requests of the source are looked up last, because most texts have nothing that may be a remark.
    """
    parts = pieces(text, lang)
    is_longer = len(parts) > len(pieces(source))
    source_letters = letters(source)
    text_letters = letters(text)

    def is_extra(part: str, share: float = WITHOUT_IT) -> bool:
        return is_longer and text_letters - letters(part) >= share * source_letters

    for index, part in enumerate(parts):
        is_end = index in (0, len(parts) - 1) and is_extra(part)
        is_alone = len(parts) == 1 and (text_letters < UNCHANGED * source_letters or not denies(source))
        if (is_end or is_alone) and says_unchanged(part):
            return part
        if not speaks_of_wording(part):
            continue  # what follows asks for new wording; this saves the search for the other subjects
        new = subjects(part) - asked_for(source)
        if "wording" not in new:
            continue
        is_beside = is_end and bool(new & {"quality", "change", "mistake"})
        if letters(part) <= LONGEST_REMARK and (is_beside or speaks_of_text(part, new)):
            return part
    if is_longer and len(_COLON.findall(text)) > len(_COLON.findall(source)):
        lead = ""
        for end in _ends_of_leads(parts):
            lead = "".join(parts[:end])
            break
        is_short = letters(lead) <= LONGEST_LEAD and language_of(lang) != "hy"  # its full stop looks like a colon
        if is_short and is_extra(lead, WITHOUT_LEAD):
            new_subjects = subjects(lead) - asked_for(source)
            if not new_subjects.isdisjoint({"wording", "quality", "change"}):
                return lead
        note = _NOTE.search(text)
        if note and not _NOTE.search(source) and len(line_breaks(text)) > len(line_breaks(source)):
            return note.group()
    aside = _BRACKETED.search(text)
    if not aside or _BRACKETED.search(source):
        return ""
    new_subjects = subjects(aside.group()) - asked_for(source)
    return "" if new_subjects.isdisjoint({"wording", "change", "mistake"}) else aside.group()


def _ends_of_leads(parts: Sequence[str]) -> Iterator[int]:
    """How many of the first ``parts`` may lead in the text: those up to a colon."""
    for end in range(1, min(MOST_REMARKS, len(parts) - 1) + 1):
        if parts[end - 1].rstrip()[-1:] in ":：":
            yield end


def _own_talk(source: str, text: str) -> list[regex.Match[str]]:
    """Where ``text`` speaks of translating, if ``source`` does not.

    "Transfer:" is "Перевод:" too, and so a label that the source may have as well.
    """
    spoken = on_translating(text)
    if not spoken or may_be_on_translating(source):
        return []
    own_label = _COLON.match(text, spoken[0].end()) and len(_COLON.findall(text)) <= len(_COLON.findall(source))
    return [] if own_label else spoken


def _sure_talk(source: str, text: str) -> list[regex.Match[str]]:
    """The places of :func:`_own_talk` that a second sign makes sure of.

    Words for translating are also words for a transfer, a lintel or an edition. What makes sure is a colon or a
    sentence that the source does not have, or something else next to it that remarks are about.
    """
    spoken = _own_talk(source, text)
    if not spoken:
        return []
    if len(_COLON.findall(text)) > len(_COLON.findall(source)) or len(pieces(text)) > len(pieces(source)):
        return spoken
    usual = asked_for(source)
    parts = pieces(text)
    ends = list(accumulate(map(len, parts)))
    sure = []
    for match in spoken:
        part = parts[bisect_right(ends, match.start())]
        if subjects(part) - usual:
            sure.append(match)
    return sure


# -- what an edit added

_MARKED = {"a code fence": _FENCE, "a tag of the model": _TAG, "a label": _LABEL, "a note": _NOTE}
_SPOKEN = {"an opening remark": _OPENING, "a remark to the user": _ASIDE}


def grown(source: str, before: str, after: str, *, target_lang: str = "") -> tuple[str, ...]:
    """Complaints about new additions in ``after`` to a translation of ``source``; ``()`` = fine.

    These are remarks around or in place of the text, labels, notes, code fences, lists of alternatives, reasoning, and
    a text that is far longer than both ``source`` and ``before``. What ``source`` or ``before`` has too is fine.
    """
    _, added = difference(before, after)
    is_small = len(added) <= SMALL_ADDITION and added.replace(" ", "").isalpha() and not says_unchanged(after)
    if before.split() == after.split() or is_small:
        return ()
    complaints = []
    size = letters(after)
    allowed = LENGTH_LIMIT * max(letters(source), letters(before)) + SLACK
    if size > allowed:
        complaints.append(f"the text grew to {size:.0f} letters, where source and text before allow {allowed:.0f}")
    for name, sign in _MARKED.items():
        new_signs = _new(sign, source, before, after)
        if new_signs:
            complaints.append(f"the edit added {name}: {quoted(new_signs[-1].group())}")
    numbered_lines = len(_ENUMERATOR.findall(after))
    if numbered_lines >= 2 + max(len(_ENUMERATOR.findall(source)), len(_ENUMERATOR.findall(before))):
        complaints.append(f"the edit added a list of {numbered_lines} numbered lines")
    talk_before = _own_talk(source, before)
    if talk_before and len(_own_talk(source, after)) > len(talk_before):
        complaints.append(f"{SPEAKS}, more than before")
    kinds_before = {complaint.partition(":")[0] for complaint in commentary(source, before, target_lang=target_lang)}
    for complaint in commentary(source, after, target_lang=target_lang):
        if complaint.partition(":")[0] not in kinds_before:
            complaints.append(complaint)
    if complaints:
        return tuple(complaints)
    return tuple(dict.fromkeys(Remarks(source, before, after, target_lang).complaints()))


def _new(sign: regex.Pattern[str], source: str, before: str, after: str) -> list[regex.Match[str]]:
    """The places of ``sign`` in ``after``, if it has more of them than ``source`` and ``before``."""
    signs = list(sign.finditer(after))
    if not signs or len(signs) <= max(len(sign.findall(source)), len(sign.findall(before))):
        return []
    return signs


class Remarks:
    """The pieces of a text after: its sentences, and the words before a colon. Which of them are new remarks?"""

    def __init__(self, source: str, before: str, after: str, lang: str) -> None:
        self.source, self.before, self.after = source, before, after
        self.pieces = pieces(after, lang)
        self._words = {word[:STEM] for word in words(before.casefold())}
        source_pieces = len(pieces(source))
        pieces_before = len(pieces(before, lang))
        share_of_whole = HALF_SAID
        if pieces_before < source_pieces:
            share_of_whole = LONG_ENOUGH
        is_whole = letters(before) >= share_of_whole * letters(source)
        self._has_more = is_whole and len(self.pieces) > max(source_pieces, pieces_before)
        self._has_fewer = len(self.pieces) < min(source_pieces, pieces_before)

    def complaints(self) -> Iterator[str]:
        """The edit's additions to the text, recognised by signs, topics and place."""
        limit = KEPT_OF_REMARK if self._has_more else KEPT_IN_PLACE
        new = [index for index in range(len(self.pieces)) if self._kept(index) < limit]
        for name, sign in _SPOKEN.items():
            for found in _new(sign, self.source, self.before, self.after)[-1:]:
                if self._is_spoken(found, new):
                    yield f"the edit added {name}: {quoted(found.group())}"
        if not new:
            return
        lead = self._lead(new)
        if lead:
            yield f"the edit added before the text: {quoted(''.join(self.pieces[:lead]))}"
        usual = asked_for(self.source) | subjects(self.before)
        for index in new:
            if self._is_on_text(index, usual):
                yield f"the edit speaks of the text: {quoted(self.pieces[index])}"
            elif index in (0, len(self.pieces) - 1) and self._is_beside(index):
                yield f"the edit added beside the text: {quoted(self.pieces[index])}"

    @cached_property
    def _known(self) -> Counter[str]:
        return Counter(grams(self.before))

    def _kept(self, index: int) -> float:
        """The share of the piece that the text before has too: by words, and where they are other words, by letters."""
        own = words(self.pieces[index].casefold())
        if sum(word[:STEM] in self._words for word in own if len(word) > 1) >= KEPT_OF_REMARK * len(own):
            return 1.0
        parts = Counter(grams(self.pieces[index]))
        return (parts & self._known).total() / max(1, parts.total())

    def _is_spoken(self, found: regex.Match[str], new: Sequence[int]) -> bool:
        """Whether the words ``found`` are not the text's own."""
        ends = list(accumulate(map(len, self.pieces)))
        index = bisect_right(ends, found.start())
        if index in new and self._has_more:
            return True
        agrees = _AGREES.search(found.group())
        return agrees is not None and not _AGREES.search(self.source) and not _AGREES.search(self.before)

    def _is_on_text(self, index: int, usual: frozenset[str]) -> bool:
        """Whether the piece is about the text; one that may be a translation must mention more topics."""
        piece = self.pieces[index]
        new = subjects(piece) - usual
        if self._has_fewer or (self._has_more and self._is_all([*self.pieces[:index], *self.pieces[index + 1 :]])):
            return len(new) >= SUBJECTS
        return speaks_of_text(piece, new)

    def _is_beside(self, index: int) -> bool:
        """Whether the other pieces say all that the text before said."""
        piece = self.pieces[index]
        if not self._has_more or letters(piece) < ADDED_PIECE or _ABBREVIATED.search(piece):
            return False
        return self._is_all([*self.pieces[:index], *self.pieces[index + 1 :]])

    def _lead(self, new: Sequence[int]) -> int:
        """How many pieces introduce the text, the last of them with a colon that source and text before don't have."""
        source_colons, colons_before, colons = (
            len(_COLON.findall(text)) for text in (self.source, self.before, self.after)
        )
        if not self._has_more or colons <= max(source_colons, colons_before):
            return 0
        for end in _ends_of_leads(self.pieces):
            if set(range(end)) <= set(new) and self._is_all(self.pieces[end:]):
                return end
        return 0

    def _is_all(self, rest: Sequence[str]) -> bool:
        """Whether these pieces say all that the text before said."""
        return (self._known & Counter(grams(" ".join(rest)))).total() >= COVERED * self._known.total()


@remembered
def pieces(text: str, lang: str = "") -> tuple[str, ...]:
    """``text`` cut at the ends of sentences and behind colons; nothing is lost."""
    parts: list[str] = []
    for sentence in sentences(text, lang):
        if ":" in sentence or "：" in sentence:
            parts += filter(None, _BEHIND_COLON.split(sentence))
        else:
            parts.append(sentence)
    return tuple(parts)


# -- a text without its remarks


def is_rid_of_remarks(source: str, before: str, after: str, lang: str = "") -> bool:
    """Whether ``before`` was far too long for its source, and ``after`` has its length and sentences, none a remark."""
    source_letters = letters(source)
    if letters(before) <= LENGTH_LIMIT * source_letters + SLACK:
        return False
    if not HALF_SAID * source_letters <= letters(after) <= LENGTH_LIMIT * source_letters:
        return False
    usual = asked_for(source)
    parts = pieces(after, lang)
    if any(len(subjects(part) - usual) >= SUBJECTS for part in parts) or commentary(source, after):
        return False
    if not is_ended(after, lang):
        return False
    return scripts.script_of(lang) in scripts.WITHOUT_FINAL_MARKS or len(parts) >= len(pieces(source))


def _ends_with_talk(source: str, parts: Sequence[str]) -> bool:
    """Whether the last of ``parts`` speaks of translating, and ``source``, which does so too, lacks that sentence.

    The text then has more sentences than the source, and more of them speak of translating.
    """
    source_parts = pieces(source)
    if len(parts) <= len(source_parts) or letters(parts[-1]) > LONGEST_REMARK or not on_translating(parts[-1]):
        return False
    return _count_talk(parts) > _count_talk(source_parts)


def _count_talk(parts: Sequence[str]) -> int:
    return sum(1 for part in parts if on_translating(part))


def bare(source: str, text: str, lang: str = "") -> str:
    """``text`` without the remarks at its two ends, if the rest may be a whole translation of ``source``."""
    parts = pieces(text, lang)
    if len(parts) > MOST_PIECES:
        return text
    usual = subjects(source)
    is_quiet = not may_be_on_translating(source)
    signs = [sign for sign in (_LABEL, _NOTE, _ASIDE) if not sign.search(source)]
    may_open = not _OPENING.search(source)
    are_remarks = []
    for index, part in enumerate(parts):
        is_talk = is_quiet and bool(on_translating(part))
        has_sign = any(sign.search(part) for sign in signs)
        is_opening = may_open and index < MOST_REMARKS and _OPENING.search(part) is not None
        are_remarks.append(is_talk or has_sign or is_opening or len(subjects(part) - usual) >= SUBJECTS)
    if not is_quiet and _ends_with_talk(source, parts):
        are_remarks[-1] = True
    low = _end_of_first_remarks(parts, are_remarks)
    high = max(low, 1)
    while high < len(parts) and not are_remarks[high]:
        high += 1
    rest = "".join(parts[low:high]).strip()
    if letters(rest) < LEFT * letters(source):
        return text
    return rest


def _end_of_first_remarks(parts: Sequence[str], are_remarks: Sequence[bool]) -> int:
    """How many first ``parts`` are remarks or between them: most must be remarks, or the last end in a colon."""
    end = 0
    for index in range(min(MOST_REMARKS, len(parts))):
        if are_remarks[index]:
            end = index + 1
    while end:
        remarks = are_remarks[:end].count(True)
        ends_in_colon = remarks > 0 and parts[end - 1].rstrip()[-1:] in ":："
        if 2 * remarks > end or ends_in_colon:
            break
        end -= 1
    return end


# -- the words with which a text refers to itself: its translation, its wording and its changes, in 40 languages.
# A word counts in a text of any language, and is excused if the source has the same topic in any language.

_TEXTS_KEPT = 128  # of the texts at work at a time: each is looked at several times on its way through a chain

_TALK = word_lists("shop_talk")
_ON_TRANSLATING = regex.compile(alternatives(_TALK["translation"]), regex.IGNORECASE)
_LIKE_TRANSLATING = tuple(alternatives(_TALK["like_translating"]).split("|"))


def may_be_on_translating(text: str) -> bool:
    """Whether ``text`` has a word for translating, or for something that is called alike in some language."""
    folded = text.casefold()
    return any(map(folded.__contains__, _LIKE_TRANSLATING))


def on_translating(text: str) -> list[regex.Match[str]]:
    """The places where ``text`` speaks of translating."""
    return list(_ON_TRANSLATING.finditer(text)) if may_be_on_translating(text) else []


@cache
def about() -> dict[str, regex.Pattern[str]]:
    """The topics of remarks on a translation, besides translating: its wording, its quality, mistakes, changes, the
    need for a change, and the writer's requests or regrets."""
    return _patterns(_TALK["about"])


def _patterns(lists_by_name: dict[str, Any]) -> dict[str, regex.Pattern[str]]:
    """A pattern for each list of words. Compiling them takes a tenth of the start of a command."""
    patterns = {}
    for name, lists in lists_by_name.items():
        patterns[name] = regex.compile(words_or_parts(lists), regex.IGNORECASE)
    return patterns


@lru_cache(maxsize=_TEXTS_KEPT)
def subjects(text: str) -> frozenset[str]:
    """The names of the entries of :func:`about` that ``text`` speaks of."""
    return frozenset(name for name, words in about().items() if words.search(text))


def speaks_of_wording(text: str) -> bool:
    """Whether ``"wording"`` is among the :func:`subjects` of ``text``."""
    return about()["wording"].search(text) is not None


_THIS_SENTENCE = regex.compile(words_or_parts(_TALK["this_sentence"]), regex.IGNORECASE)


def speaks_of_text(text: str, new: frozenset[str]) -> bool:
    """Whether ``text`` must be about itself, by those of its :func:`subjects` that are ``new``.

    That takes three, wording and change among them: any text may call a sentence, text or offer right or needed. Two
    are enough if the text mentions "this sentence", or that a text has no mistakes.
    """
    if "wording" not in new:
        return False
    is_praised = "quality" in new and _THIS_SENTENCE.search(text) is not None
    is_changed = "change" in new and len(new) >= 3
    return is_changed or is_praised or ("mistake" in new and _NOT.search(text) is not None)


_NOT = regex.compile(words_or_parts(_TALK["denial"]), regex.IGNORECASE)
_NO_DENIAL = frozenset(alternatives(_TALK["source"]["no_denial"]).split("|"))
_WORD = regex.compile(r"\p{Han}|[\p{Hiragana}\p{Katakana}ー]+|\p{Thai}+|[\p{L}\p{M}’']+")
_LONGEST_BARE, _COVERED_BARE = 40, 0.6


def denies(source: str) -> bool:
    """Whether ``source`` denies something: its translation may say that there is none."""
    return "n't" in source.replace("’", "'") or any(
        match.group().casefold() not in _NO_DENIAL for match in _NOT.finditer(source)
    )


def says_unchanged(text: str) -> bool:
    """Whether ``text`` says little more than that it needs no change or has no mistake."""
    if len(text) > _LONGEST_BARE:
        return False
    denied = list(_NOT.finditer(text))
    if not denied:
        return False
    places = {name: list(about()[name].finditer(text)) for name in ("change", "mistake", "need", "wording")}
    if not places["change"] and not places["mistake"]:
        return False
    spans = [match.span() for match in (*denied, *(match for found in places.values() for match in found))]
    size = covered = 0
    for word in _WORD.finditer(text):
        size += len(word.group())
        covered += len(word.group()) * any(start < word.end() and word.start() < end for start, end in spans)
    return covered >= _COVERED_BARE * size


@cache
def _asked_for_patterns() -> dict[str, regex.Pattern[str]]:
    return _patterns(_TALK["asked_for"])


@lru_cache(maxsize=_TEXTS_KEPT)
def asked_for(source: str) -> frozenset[str]:
    """The subjects that a translation of ``source`` may speak of: its own, and those that user interfaces put so."""
    return subjects(source) | {name for name, words in _asked_for_patterns().items() if words.search(source)}


_REGRET = regex.compile(words_or_parts(_TALK["regret"]), regex.IGNORECASE)
_I_CANNOT = words_or_parts(_TALK["i_cannot"])
_INABILITY = regex.compile(f"{_I_CANNOT}|{words_or_parts(_TALK['cannot'])}", regex.IGNORECASE)
_HELP = regex.compile(words_or_parts(_TALK["help"]), regex.IGNORECASE)
_REQUEST = regex.compile(words_or_parts(_TALK["request"]), regex.IGNORECASE)
_SPEAKS_OF_HELP = regex.compile(alternatives(_TALK["source"]["speaks_of_help"]), regex.IGNORECASE)
_OWN_INABILITY = regex.compile(
    rf"\b(?:I|we)\b[^.!?\n]{{0,20}}\b(?:can(?:no|['’])?t|can not|unable|not able|could(?:n['’]t|"
    rf" not)|can do nothing)\b|"
    rf"\bnothing (?:else |more )?(?:that )?(?:I|we) can\b|\bimpossible\b|"
    rf"\b(?:ich|wir) (?:kann|können)\b[^.!?\n]{{0,40}}\bnicht|\b(?:kann|können) (?:ich|wir)\b[^.!?\n]{{0,40}}\bnicht|"
    rf"\bik kan\b[^.!?\n]{{0,30}}\bniet|\bjag kan\b[^.!?\n]{{0,30}}\bint|"
    rf"\bjeg kan\b[^.!?\n]{{0,30}}\bik|恕|無理|{_I_CANNOT}",
    regex.IGNORECASE,
)
_FAILURE = regex.compile(alternatives(_TALK["source"]["failure"]), regex.IGNORECASE)


def may_say_no_help(source: str) -> bool:
    """Whether a translation of ``source`` may say that its writer cannot help."""
    return _SPEAKS_OF_HELP.search(source) is not None or _OWN_INABILITY.search(source) is not None


def may_say_no_service(source: str) -> bool:
    """Whether a translation of ``source`` may say that something cannot be done: it speaks of a request or failure."""
    return may_say_no_help(source) or denies(source) or any(signs.search(source) for signs in (_REQUEST, _FAILURE))


def declines(source: str, text: str) -> bool:
    """Whether ``text`` regrets that it can't do what was requested, unless ``source`` does so, too.

    Translations of software may regret that a request can't be processed if the source only says that it failed. "I
    can't help" is about the writer, and must come from a source about help or about something the writer can't do.
    """
    if not _REGRET.search(text) or not _INABILITY.search(text):
        return False
    if _HELP.search(text):
        return not may_say_no_help(source)
    return _REQUEST.search(text) is not None and not may_say_no_service(source)
