"""Words that follow themselves: which are a slip, and which a language doubles on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex

from mtagent.text import scripts


def _by_language(words: dict[str, str]) -> dict[str, frozenset[str]]:
    return {lang: frozenset(listed.split()) for lang, listed in words.items()}


_NEVER_DOUBLED = _by_language(
    {
        "en": "the a an of and or with from my your his their our its",
        "de": "und oder mit für im am zum zur",
        "nl": "en een de van met voor",
        "sv": "och en ett med av",
        "da": "og en et med af",
        "nb": "og en et med av",
        "no": "og en et med av",
        "is": "og með frá til",
        "fr": "et le les de du des un une avec pour dans par au aux",
        "es": "el la los las de del al y un una con por para en su sus se me te",
        "pt": "o os as de do da dos das um uma com por para em",
        "it": "il i gli di del della un una con per",
        "ro": "și cu din pentru un o de",
        "pl": "i w na z do że",
        "cs": "a v na z do že pro",
        "sk": "a v na z do že pre",
        "ru": "и в на с из для от по",
        "uk": "і в у на з для від",
        "bg": "и в на с за от",
        "hr": "i u na s za od",
        "sr": "и у на с за од i u na s za od",
        "sl": "in v na z za od",
        "hu": "és",
        "fi": "ja että tai",
        "et": "ja et või",
        "lt": "ir į iš su",
        "lv": "un uz no ar",
        "el": "και στο στη στην",
        "tr": "ve için ile bu",
        "id": "dan yang di ke dari untuk dengan adalah",
        "ms": "dan yang di ke dari untuk dengan adalah",
        "vi": "và của là các cho trong với những được",
        "ar": "في من على إلى أن التي الذي مع عن هذا هذه",
        "fa": "و در از به که این را با است",
        "he": "של את על עם",
        "ur": "ہے ہیں کے کا کی کو میں سے نے اور پر",
        "hi": "है हैं के का की को में से ने और पर यह था थी थे एवं",
        "bn": "এবং ও এই করা",
        "ta": "மற்றும் இந்த",
    }
)
"""Words that never follow themselves, so that the second one is certainly too many."""
_MAY_BE_DOUBLED = _by_language(
    {
        "en": "that had was for is it her you do in on up to out "
        "so very no ha bye really many long far more there now well go",
        "de": "zu über von die der das den dem sie ihr es ist "
        "so sehr ganz nein ja ha viel weit wenn was wie immer nach",
        "nl": "die dat is zijn het heel zo ja nee ha wie wat",
        "sv": "som det den de är så mycket väldigt ha hej nej ja långt var",
        "da": "der det den de er så meget ha hej nej ja som langt",
        "nb": "der det den de er så veldig ha hei nei ja som langt",
        "no": "der det den de er så veldig ha hei nei ja som langt",
        "fr": "de faire nous vous si très bien bon non oui ha là plus peu loin doucement",
        "es": "que no ya muy casi sí ha lo poco mucho bien así tan luego",
        "pt": "se que não já muito sim ha pouco bem tão logo assim",
        "it": "se che non si piano quasi poco via così appena molto sì ha ben bene ancora no tutto su giù subito man",
        "ro": "foarte mult nu da o a hai încet ce",
        "pl": "bardzo już nie tak dawno się co no ha to hej",
        "cs": "velmi moc ne ano se si no ha to dlouho už co",
        "sk": "veľmi nie áno sa si no ha to dlho už čo",
        "ru": "очень давно еле чуть да нет вот что как много далеко ну так едва только долго ха он она",
        "uk": "дуже давно ледь ось так ні що як далеко багато ну ха ледве тільки",
        "bg": "много да не ето така само едва",
        "hr": "vrlo da ne to tako malo",
        "sl": "zelo da ne to tako",
        "fi": "hyvin se on ei joo niin sitten pitkä",
        "et": "väga ei see on nii",
        "hu": "az hogy nagyon nem igen már soha messze egy sok ki jó",
        "lt": "labai ne taip tik",
        "lv": "ļoti nē jā",
        "el": "με πολύ σιγά λίγο ναι όχι το του τα πρώτα μόλις",
        "ko": "꼭 또 매우 아주 서로 오래 하나 그 더 쭉 빨리 천천히 너무 참 정말 하루 조금 차츰 가득 멀리 네 예",
    }
)
"""Words of languages that seldom double any, and which may follow themselves all the same."""
_DOUBLED = regex.compile(
    r"(?<![\p{L}\p{M}\p{N}\p{Pd}'’])(?P<word>\p{L}[\p{L}\p{M}]*+)"
    r"(?P<again>[ \u00a0]++(?P=word))(?![\p{L}\p{M}\p{N}\p{Pd}'’])",
    regex.IGNORECASE,
)
# Without spaces: particles and pronouns that do not follow themselves, and three characters or more that do.
_DOUBLED_SIGNS = {
    "ja": regex.compile(r"をを|(?P<again>(?P<word>[\p{Han}\p{Hiragana}\p{Katakana}ー]{3,12}?)(?P=word))"),
    "zh": regex.compile(
        r"(?<!目)的的(?![确確士])|您您|我我|请请|與與|与与|(?P<again>(?P<word>\p{Han}{2,12}?)(?P=word))"
    ),
}
_OBJECT_MARK_TWICE = "をを"
_TWICE = regex.compile(r"(?<!\p{L})(\p{L}[\p{L}\p{M}]*+)\W++\1(?!\p{L})|(\p{Han}{2,}?)\2", regex.IGNORECASE)
_DOUBLED_IN_CHINESE = _by_language(
    {
        "zh": """
    研究 讨论 討論 考虑 考慮 休息 商量 了解 学习 學習 打扮 放松 放鬆 锻炼 鍛鍊 介绍 介紹 非常 很多
    好多 许多 許多 特别 特別 真的 感受 体验 體驗 准备 準備 收拾 整理 打听 打聽 检查 檢查 活动 活動
    热闹 熱鬧 庆祝 慶祝 认识 認識 比较 比較 尝试 嘗試 等等 最最 永远 永遠
    """
    }
)["zh"]
"""Words that Chinese doubles on purpose, with others that begin with 一 or 每."""
_HAN = regex.compile(r"\p{Han}")
_LONGER_THAN_SOUNDS = 5
_PERIODIC = regex.compile(r"(.+?)\1++", regex.DOTALL)


class Doubled(NamedTuple):
    """A word that follows itself in ``text[start:end]``; ``certain``: the language never doubles it."""

    word: str
    start: int
    end: int
    certain: bool

    @property
    def complaint(self) -> str:
        """The fault, as people read it."""
        return f"{self.word!r} is doubled"


def doubled_words(source: str, text: str, lang: str) -> Iterator[Doubled]:
    """The words of ``text`` that follow themselves by mistake, where the words of the ``source`` do not.

    Languages that double words to make new ones (Indonesian, Turkish, Hindi …) have only their smallest words here.
    """
    lang = scripts.language_of(lang)
    never, may = _NEVER_DOUBLED.get(lang, frozenset()), _MAY_BE_DOUBLED.get(lang)
    signs = _DOUBLED_SIGNS.get(lang)
    if not never and may is None and signs is None:
        return
    if not (signs or _DOUBLED).search(text) or _TWICE.search(source):
        return
    for match in _DOUBLED.finditer(text) if signs is None else ():
        first, again = match["word"], match["again"].strip()
        word = first.casefold()
        has_case = word.upper() != word
        if has_case and not again.islower():  # a name
            continue
        if word in never or (may is not None and word not in may):
            yield Doubled(first, *match.span(), word in never)
    for match in signs.finditer(text) if signs else ():
        word = match["word"] or match.group()[0]
        on_purpose = (
            len(set(word)) == 1
            or _PERIODIC.fullmatch(word) is not None
            or word[0] in "一每"
            or word in _DOUBLED_IN_CHINESE
        )
        is_sound = len(word) < _LONGER_THAN_SOUNDS and not _HAN.search(word)  # ひょろひょろ
        if not match["again"] or not (on_purpose or is_sound):
            yield Doubled(word, *match.span(), certain=match.group() == _OBJECT_MARK_TWICE)
