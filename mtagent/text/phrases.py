"""Small words that turn a sentence's meaning round, by language: negations, "at least" and "at most".

They are looked up as whole words, in scripts without spaces as parts of them.
The tables are for questions to a judge, not for refusals: they hold the usual words and no more.
"""

from __future__ import annotations

from collections.abc import Mapping

import regex

from mtagent.text.scripts import has_spaces, language_of


class Phrases:
    """Words and phrases by language, separated by ``|``. ``*`` at an end stands for any letters."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table
        self._patterns: dict[str, regex.Pattern[str]] = {}

    def find(self, text: str, lang: str) -> list[str]:
        """The phrases in ``text``, as they are written there; none for a language that is not in the table."""
        language = language_of(lang)
        language = _SAME_WORDS.get(language, language)
        if language not in self._table:
            return []
        if language not in self._patterns:
            self._patterns[language] = _pattern(self._table[language], is_spaced=has_spaces(language))
        return self._patterns[language].findall(text)


_SAME_WORDS = {"no": "nb", "nn": "nb", "bs": "hr", "sh": "hr", "ms": "id"}


def _pattern(phrases: str, is_spaced: bool) -> regex.Pattern[str]:
    """What finds any of the ``phrases``, the longest first; as whole words in scripts with spaces."""
    alternatives = []
    for phrase in sorted(phrases.split("|"), key=len, reverse=True):
        written = regex.escape(phrase.strip("*"), special_only=True).replace("'", "['’]")
        before = r"\p{L}*" if phrase.startswith("*") else ""
        after = r"[\p{L}\p{M}]*" if phrase.endswith("*") else ""
        if is_spaced:
            written = rf"(?<![\p{{L}}\p{{M}}]){before}{written}{after}(?![\p{{L}}\p{{M}}])"
        alternatives.append(written)
    return regex.compile("|".join(alternatives), regex.IGNORECASE)


NEGATIONS = Phrases({
    "ar": "لا|ليس|ليست|ليسوا|لم|لن|غير|بدون|دون|ما",
    "bg": "не|няма|нямат|нито|никой|нищо|никога|без",
    "bn": "না|নয়|নেই|নাই|নি|ছাড়া",
    "ca": "no|cap|mai|res|ningú|sense|tampoc",
    "cs": "ne*|nikdy|nikdo|nic|žádn*|bez",
    "da": "ikke|ingen|intet|aldrig|uden|hverken",
    "de": "nicht|nichts|kein*|nie|niemals|niemand*|ohne|weder|nirgends",
    "el": "δεν|δε|μη|μην|όχι|ούτε|κανένα*|κανείς|καμία|τίποτα|ποτέ|χωρίς",
    "en": "not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|*n't",
    "es": "no|nunca|jamás|nadie|nada|ningun*|ningún|ni|sin|tampoco",
    "et": "ei|pole|mitte|ära|ilma|keegi|kunagi",
    "fa": "نه|نیست|نیستند|بدون|هیچ|هرگز|نمی*|نشد*|نکرد*",
    "fi": "ei|en|et|emme|ette|eivät|älä|ilman|eikä",
    "fr": "ne|n'|pas|non|jamais|aucun|aucune|rien|personne|ni|sans",
    "he": "לא|אין|אינו|אינה|אינם|בלי|ללא|אל|מעולם",
    "hi": "नहीं|न|ना|मत|बिना|नही",
    "hr": "ne|nije|nisu|nisam|nema|nemaju|nikad*|nitko|niko|ništa|bez|ni|niti",
    "hu": "nem|ne|nincs*|sem|se|soha|senki|semmi|nélkül",
    "id": "tidak|bukan|jangan|belum|tanpa|tak|tiada",
    "is": "ekki|enginn|engin|ekkert|aldrei|án|hvorki",
    "it": "non|no|mai|nessun*|niente|nulla|né|senza|neppure|neanche",
    "ja": "ない|なく|なかっ|ません|ず|ぬ|なし|無し|まい",
    "ko": "않|없|아니|못|말아|말고|마세요|안",
    "lt": "ne*|nė|niek*|be",
    "lv": "ne*|nav|nē|nekad|bez",
    "mk": "не|нема|ниту|никој|ништо|никогаш|без",
    "nb": "ikke|ingen|intet|ingenting|aldri|uten|verken|ikkje",
    "nl": "niet|niets|geen|nooit|niemand|zonder|noch|nergens",
    "pl": "nie|nigdy|nikt|nic|żaden|żadn*|bez|ani|brak",
    "pt": "não|nunca|jamais|ninguém|nada|nenhum*|nem|sem",
    "ro": "nu|n-*|niciodată|nimeni|nimic|niciun|nicio|nici|fără",
    "ru": "не|нет|ни|никогда|никто|ничего|нельзя|без",
    "sk": "nie|nikdy|nikto|nič|žiadn*|bez|ne*",
    "sl": "ne|ni|niso|nisem|nikoli|nihče|nič|brez|noben*|nima*",
    "sr": "не|није|нису|нема|никад*|нико|ништа|без|ни|нити|ne|nije|nisu|nema|nikad*|niko|ništa|bez",
    "sv": "inte|ej|icke|ingen|inget|inga|aldrig|utan|varken",
    "th": "ไม่|มิ|ไร้|อย่า|ปราศจาก",
    "tr": "değil*|yok*|hiç*|asla|olmadan|olmayan*|*mez|*maz|*medi*|*madı*|*miyor*"
          "|*mıyor*|*muyor*|*müyor*|*meden|*madan|*meyen*|*mayan*",
    "uk": "не|ні|немає|ніколи|ніхто|нічого|без|жодн*",
    "ur": "نہیں|نہ|مت|بغیر",
    "vi": "không|chưa|chẳng|đừng|chớ",
    "zh": "不|没|沒|无|無|非|未|别|別|勿|莫",
})  # fmt: skip
AT_LEAST = Phrases({
    "ar": "على الأقل|لا يقل عن|ما لا يقل عن",
    "bg": "поне|най-малко|минимум",
    "ca": "almenys|com a mínim|pel cap baix",
    "cs": "alespoň|nejméně|minimálně|přinejmenším|aspoň",
    "da": "mindst|minimum",
    "de": "mindestens|wenigstens|zumindest|nicht weniger als|minimal",
    "el": "τουλάχιστον|κατ' ελάχιστο",
    "en": "at least|no less than|no fewer than|not less than|a minimum of|minimum",
    "es": "al menos|por lo menos|como mínimo|no menos de|mínimo",
    "fi": "vähintään|ainakin",
    "fr": "au moins|au minimum|minimum|pas moins de",
    "he": "לפחות|לכל הפחות",
    "hi": "कम से कम|न्यूनतम",
    "hr": "najmanje|barem|bar|minimalno",
    "hu": "legalább|minimum",
    "id": "setidaknya|paling sedikit|sekurang-kurangnya|minimal|minimum",
    "it": "almeno|come minimo|non meno di|minimo",
    "ja": "少なくとも|以上|最低",
    "ko": "적어도|최소|이상",
    "nb": "minst|minimum",
    "nl": "minstens|ten minste|minimaal|tenminste",
    "pl": "co najmniej|przynajmniej|minimum|minimalnie",
    "pt": "pelo menos|ao menos|no mínimo|mínimo",
    "ro": "cel puțin|minimum|minim",
    "ru": "не менее|по крайней мере|как минимум|минимум|хотя бы|не меньше",
    "sv": "minst|åtminstone|minimum",
    "th": "อย่างน้อย|ไม่น้อยกว่า",
    "tr": "en az|asgari|en azından",
    "uk": "щонайменше|не менше|принаймні|мінімум",
    "vi": "ít nhất|tối thiểu",
    "zh": "至少|最少|不少于|不低于|以上",
})  # fmt: skip
AT_MOST = Phrases({
    "ar": "على الأكثر|لا يزيد عن|لا يتجاوز|كحد أقصى",
    "bg": "най-много|максимум|не повече от",
    "ca": "com a màxim|com a molt",
    "cs": "nejvýše|maximálně|nanejvýš|nejvíce",
    "da": "højst|maksimum|maks",
    "de": "höchstens|maximal|nicht mehr als|bis zu",
    "el": "το πολύ|κατ' ανώτατο|μέγιστο",
    "en": "at most|no more than|not more than|a maximum of|maximum|up to",
    "es": "como máximo|a lo sumo|no más de|máximo|hasta",
    "fi": "enintään|korkeintaan",
    "fr": "au plus|au maximum|tout au plus|maximum|jusqu'à",
    "he": "לכל היותר|עד",
    "hi": "अधिक से अधिक|ज़्यादा से ज़्यादा|अधिकतम",
    "hr": "najviše|maksimalno",
    "hu": "legfeljebb|maximum",
    "id": "paling banyak|maksimal|maksimum",
    "it": "al massimo|tutt'al più|non più di|massimo|fino a",
    "ja": "多くとも|以下|最大|以内",
    "ko": "최대|이하|많아야",
    "nb": "høyst|maksimum|maks|maksimalt",
    "nl": "hoogstens|maximaal|ten hoogste|hooguit",
    "pl": "co najwyżej|najwyżej|maksymalnie|nie więcej niż",
    "pt": "no máximo|quando muito|não mais de|máximo|até",
    "ro": "cel mult|maximum|maxim",
    "ru": "не более|максимум|самое большее|не больше",
    "sv": "högst|maximalt|som mest",
    "th": "ไม่เกิน|มากที่สุด|สูงสุด",
    "tr": "en fazla|en çok|azami",
    "uk": "щонайбільше|не більше|максимум",
    "vi": "nhiều nhất|tối đa|không quá",
    "zh": "至多|最多|不超过|不超過|以下|以内",
})  # fmt: skip
