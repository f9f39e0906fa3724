"""Make ``mtagent/text/number_words.json`` from the tables of ICU (libicu 72, Unicode licence) and the additions below.

    python scripts/make_number_words.py

ICU is asked through ctypes, and only here: Debian's package libicu72 is enough. A word goes into the file where
``number_words.compose`` cannot put it together from the words that are there.
"""

from __future__ import annotations

import ctypes
import json
from collections import Counter
from pathlib import Path
from typing import Any

from mtagent.text.number_words import Language, compose, fold

I18N, COMMON = ctypes.CDLL("libicui18n.so.72"), ctypes.CDLL("libicuuc.so.72")
I18N.unum_open_72.restype = I18N.udat_open_72.restype = ctypes.c_void_p
COMMON.uloc_getAvailable_72.restype = ctypes.c_char_p

LANGUAGES = """af am ar az be bg ca cs cy da de el en es et fa fi fil fo fr ga he hi hr hu hy id is it ja ka kk km ko ky
lb lo lt lv mk ms mt my ne nl no pl pt ro ru sk sl sq sr su sv sw ta th tr uk vi yue zh""".split()
SCRIPTS = {"sr": ("sr", "sr_Latn"), "zh": ("zh", "zh_Hant")}
VALUES = (*range(101), *range(200, 1000, 100), 1000, 2000, 10_000, 100_000)
POWERS = (100, 1000, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**12)

ADDED = """
en: 1000 grand; 100000 lakh|lakhs; 10000000 crore|crores; 1000000 millions; 1000000000 billions; 12 dozen|dozens
en: 1000 thousands; 100 hundreds; 1000000000000 trillions; 2 twice; 90 nineties; 80 eighties; 70 seventies; 60 sixties
en: 50 fifties; 40 forties; 30 thirties; 20 twenties
de: 2 zwo|beide|beiden|zweimal; 3 dreimal; 12 Dutzend
es: 1000000000 millardo; 100 cientos|cientas; 12 docena|docenas; 3 tercer; 1 primer
fr: 100 cents; 1000 milliers|millier; 70 septante; 90 nonante; 80 huitante; 12 douzaine
it: 1000 mila|migliaia; 12 dozzina
pt: 14 quatorze|catorze; 16 dezasseis|dezesseis; 17 dezassete|dezessete; 19 dezanove|dezenove; 1000000000 mil milhões
ru: 2 оба|обе|двое|двоих; 3 трое|троих; 4 четверо|четверых; 5 пятеро; 7 семерка|семерки|семерых; 1000 тыс
ru: 5 пятерка; 20 двадцатка|двадцатки; 8 восьмерка|восьмерки; 40 сорока; 90 девяноста; 100 ста; 4 четвертый|четвертая
uk: 2 двоє|обидва|другий|друга; 3 троє|третій|третя; 4 четверо|четвертий; 7 сьомий|сімка; 8 восьмий; 1 перший|перша
uk: 5 пятий|п'ятий; 6 шостий; 9 дев'ятий; 10 десятий; 40 сорока; 100 ста
pl: 2 oba|obie|dwoje|dwóch; 3 troje|trzech; 4 czworo|czterech; 5 pięcioro; 1000000000 mld
cs: 1 první|prvního; 2 dvou|dvěma|druhý|druhá|druhé|druhého|oba|obě; 3 tří|třem|třemi|třetí|třetího; 4 čtyř|čtyřech|čtyřem
cs: 4 čtvrtý|čtvrtá|čtvrté|čtvrtého; 5 pěti|pátý|pátá|páté|pátého; 6 šesti|šestý|šestá|šesté|šestého
cs: 7 sedmi|sedmý|sedmá|sedmé; 8 osmi|osmý|osmá|osmé; 9 devíti|devátý|devátá|deváté; 10 deseti|desátý|desátá|desáté
cs: 12 dvanácti|dvanáctý; 20 dvaceti|dvacátý|dvacátých; 30 třiceti|třicátých; 40 čtyřiceti|čtyřicátých; 50 padesáti|padesátých
cs: 60 šedesáti|šedesátých; 70 sedmdesáti|sedmdesátých; 80 osmdesáti|osmdesátých; 90 devadesáti|devadesátých; 100 stech|stý
cs: 21 jedenadvacet; 25 pětadvacet; 1000 tisíci; 1000000000 miliard
sk: 1 prvý; 2 dvoch|druhý|druhá; 3 troch|tretí|tretia; 4 štyroch|štvrtý; 5 piatich|piaty|piata; 6 šiestich|šiesty
sk: 7 siedmich|siedmy; 8 ôsmich|ôsmy; 9 deviatich|deviaty; 10 desiatich|desiaty
sl: 1 prvi; 2 drugi|dveh; 3 tretji|treh; 4 četrti|štirih; 5 peti|petih; 6 šesti|šestih; 7 sedmi; 8 osmi; 9 deveti; 10 deseti
hr: 2 oba|obje|dvaju; 3 triju; 1000000000 milijardi
sr: 2 двоје|оба; 3 троје; 2 dvoje|oba; 3 troje
bg: 1 първи; 2 втори; 3 трети; 4 четвърти; 5 пети; 6 шести; 7 седми; 8 осми; 9 девети; 10 десети
ro: 1 prima|primul; 2 doi|doilea|doua; 3 treilea|treia; 4 patrulea|patra; 5 cincilea; 6 șaselea; 7 șaptelea; 10 zecelea
ro: 1000 de mii; 1000000 de milioane
tr: 3 üçü; 2 ikisi; 100 yüzde yüz
fi: 1 ensimmäinen|ensimmäisen; 2 toinen|toisen; 3 kolmas|kolmannen; 4 neljäs; 5 viides; 6 kuudes; 7 seitsemäs; 8 kahdeksas
et: 1 esimene; 2 teine|kahe; 3 kolmas|kolme; 4 neljas|nelja; 5 viies|viie; 6 kuues|kuue; 7 seitsmes|seitsme; 8 kaheksas
et: 9 üheksas|üheksa; 10 kümnes|kümne; 100 saja|sadade; 1000 tuhande; 1 ühe; 101 saja ühe; 20 kahekümne; 15 viieteist
lt: 2 dviejų|antras; 3 trijų|trečias; 4 keturių|ketvirtas; 5 penkių|penktas; 6 šešių|šeštas; 7 septynių; 8 aštuonių; 10 dešimties
lv: 2 divu|otrais|otrā; 3 triju|trešais|trešā; 4 četru|ceturtais; 5 piecu|piektais; 6 sešu|sestais; 10 desmit
is: 1 fyrsti|fyrsta; 2 tveir|annar|önnur; 3 þriðji|þriðja; 4 fjórði|fjórða; 5 fimmti|fimmta; 6 sjötti|sjötta; 7 sjöundi|sjöunda
nl: 2 twee|beide; 12 dozijn; 8 achtste; 3 derde
hu: 2 két|kettő; 3 három|harmadik; 1 első; 2 második
el: 2 δυο; 8 οχτώ|οκτώ; 9 εννιά; 7 εφτά
ar: 1 واحدة; 2 اثنان|اثنين|اثنتين|اثنا عشر|كلا; 3 ثلاث; 4 أربع; 5 خمس; 6 ست; 7 سبع; 8 ثمان|ثماني; 9 تسع; 10 عشر
ar: 12 اثني عشر|اثنا عشر|اثنتي عشرة; 20 عشرين; 30 ثلاثين; 40 أربعين; 50 خمسين; 60 ستين; 70 سبعين; 80 ثمانين; 90 تسعين
ar: 100 مئة|مائة; 200 مئتي|مئتين|مئتان; 300 ثلاثمئة|ثلاثمائة; 400 أربعمئة|أربعمائة; 500 خمسمئة|خمسمائة; 1000 ألف|آلاف
ar: 2000 ألفين|ألفا; 1000000 مليون|ملايين|مليوني; 1000000000 مليار|مليارات; 1 أول|أولى; 2 ثاني|ثانية|ثان; 3 ثالث|ثالثة
ar: 4 رابع|رابعة; 5 خامس|خامسة; 6 سادس|سادسة; 7 سابع|سابعة; 8 ثامن|ثامنة; 9 تاسع|تاسعة; 10 عاشر|عاشرة; 1000000000000 تريليون
fa: 1 اول|یکم; 2 دوم; 3 سوم; 4 چهارم; 5 پنجم; 6 ششم; 7 هفتم; 8 هشتم; 9 نهم; 10 دهم; 1000000000000 تریلیون
he: 2 שני|שתי; 3 שלושה|שלוש; 10 עשר|עשרה
hi: 1 पहले|पहली; 2 दोनों|दूसरे; 3 तीनों|तीसरे; 4 चार|चौथे|चौथा|चौथी; 5 पाँचवें|पांचवें; 6 छः|छे|छठे|छठवें; 7 सातवें; 8 आठवें; 9 नौवें
hi: 10 दसवें; 1000 हजार|हज़ारों; 1000000 मिलियन; 1000000000 बिलियन; 1000000000000 ट्रिलियन; 100000 लाख; 10000000 करोड़; 18 अट्ठारह|अठारह
ne: 1000 हजार|हज्जार; 30 तीस; 1 पहिलो; 2 दोस्रो|दुई; 3 तेस्रो|तीन; 4 चौथो; 5 पाँचौं; 6 छैटौं; 7 सातौं; 100000 लाख; 10000000 करोड
ko: 10000 만; 100000000 억; 1000000000000 조; 1000 천; 100 백; 1 첫|첫째|첫번째; 20 스무; 3 석; 4 넉
ja: 1 ひとつ; 2 ふたつ; 3 みっつ; 4 よっつ; 5 いつつ; 6 むっつ; 7 ななつ; 8 やっつ; 9 ここのつ; 1000000 ミリオン
vi: 4 tư; 1000 ngàn|nghìn; 1000000000 tỉ|tỷ; 15 mười lăm; 2 đôi|nhì; 1 nhất; 10 chục
id: 1000000000 miliar; 1000000000000 triliun; 2 kedua; 3 ketiga; 1 pertama; 100 ratus; 1000 ribu; 1000000 juta; 12 lusin
ms: 1000000000 bilion; 100 ratus; 1000 ribu; 1000000 juta
sw: 1000 elfu; 1000000 milioni; 1000000000 bilioni; 100 mia; 2 pili|mbili|wawili; 3 tatu|watatu; 4 nne|wanne; 5 tano|watano
th: 1000000 ล้าน; 1000 พัน; 100 ร้อย; 10000 หมื่น; 100000 แสน
bn: 0 শূন্য; 1 এক|একটি|প্রথম; 2 দুই|দুটি|দু|দ্বিতীয়; 3 তিন|তিনটি|তৃতীয়; 4 চার|চারটি|চতুর্থ; 5 পাঁচ|পাঁচটি|পঞ্চম; 6 ছয়|ছয়টি|ষষ্ঠ
bn: 7 সাত|সাতটি|সপ্তম; 8 আট|আটটি|অষ্টম; 9 নয়|নবম; 10 দশ|দশটি|দশম; 11 এগারো; 12 বারো; 13 তেরো; 14 চৌদ্দ; 15 পনেরো; 16 ষোলো; 17 সতেরো
bn: 18 আঠারো; 19 উনিশ; 20 বিশ|কুড়ি; 30 ত্রিশ; 40 চল্লিশ; 50 পঞ্চাশ; 60 ষাট; 70 সত্তর; 80 আশি; 90 নব্বই; 100 একশ|একশো|শত; 1000 হাজার
bn: 100000 লাখ|লক্ষ; 10000000 কোটি; 1000000 মিলিয়ন; 1000000000 বিলিয়ন
mr: 1 एक|पहिला|पहिली|पहिले; 2 दोन|दुसरा|दुसरी|दुसरे; 3 तीन|तिसरा|तिसरी|तिसरे|तिसऱ्या; 4 चार|चौथा|चौथी|चौथ्या; 5 पाच|पाचवा|पाचव्या
mr: 6 सहा|सहावा|सहाव्या; 7 सात|सातवा|सातव्या; 8 आठ|आठवा; 9 नऊ|नववा; 10 दहा|दहावा; 11 अकरा; 12 बारा; 13 तेरा; 14 चौदा; 15 पंधरा; 16 सोळा
mr: 17 सतरा; 18 अठरा; 19 एकोणीस; 20 वीस; 30 तीस; 40 चाळीस; 50 पन्नास; 60 साठ; 70 सत्तर; 80 ऐंशी; 90 नव्वद; 100 शंभर|शे; 1000 हजार
mr: 100000 लाख; 10000000 कोटी; 1000000 दशलक्ष; 1000000000 अब्ज
gu: 1 એક|પ્રથમ; 2 બે|બીજા; 3 ત્રણ|ત્રીજા; 4 ચાર|ચોથા; 5 પાંચ; 6 છ; 7 સાત; 8 આઠ; 9 નવ; 10 દસ; 11 અગિયાર; 12 બાર; 15 પંદર; 20 વીસ; 30 ત્રીસ
gu: 40 ચાલીસ; 50 પચાસ; 60 સાઠ; 70 સિત્તેર; 80 એંસી; 90 નેવું; 100 સો; 1000 હજાર; 100000 લાખ; 10000000 કરોડ
pa: 1 ਇੱਕ; 2 ਦੋ; 3 ਤਿੰਨ; 4 ਚਾਰ; 5 ਪੰਜ; 6 ਛੇ; 7 ਸੱਤ; 8 ਅੱਠ; 9 ਨੌਂ; 10 ਦਸ; 20 ਵੀਹ; 50 ਪੰਜਾਹ; 100 ਸੌ; 1000 ਹਜ਼ਾਰ; 100000 ਲੱਖ; 10000000 ਕਰੋੜ
ur: 1 ایک|پہلا|پہلی|پہلے; 2 دو|دوسرا|دوسری|دوسرے; 3 تین|تیسرا|تیسری|تیسرے; 4 چار|چوتھا|چوتھی|چوتھے; 5 پانچ|پانچویں; 6 چھ|چھٹی; 7 سات
ur: 8 آٹھ; 9 نو; 10 دس; 11 گیارہ; 12 بارہ; 13 تیرہ; 14 چودہ; 15 پندرہ; 16 سولہ; 17 سترہ; 18 اٹھارہ; 19 انیس; 20 بیس; 30 تیس; 40 چالیس
ur: 50 پچاس; 60 ساٹھ; 70 ستر; 80 اسی; 90 نوے; 100 سو; 1000 ہزار; 100000 لاکھ; 10000000 کروڑ; 1000000000 ارب; 1000000 ملین
te: 1 ఒకటి|ఒక|మొదటి; 2 రెండు|రెండవ; 3 మూడు|మూడవ; 4 నాలుగు; 5 ఐదు; 6 ఆరు; 7 ఏడు; 8 ఎనిమిది; 9 తొమ్మిది; 10 పది; 20 ఇరవై; 50 యాభై; 100 వంద
te: 1000 వేల|వెయ్యి; 100000 లక్ష|లక్షల; 10000000 కోటి|కోట్ల; 1000000 మిలియన్; 1000000000 బిలియన్
kn: 1 ಒಂದು|ಮೊದಲ; 2 ಎರಡು|ಎರಡನೇ; 3 ಮೂರು|ಮೂರನೇ; 4 ನಾಲ್ಕು; 5 ಐದು; 6 ಆರು; 7 ಏಳು; 8 ಎಂಟು; 9 ಒಂಬತ್ತು; 10 ಹತ್ತು; 20 ಇಪ್ಪತ್ತು; 50 ಐವತ್ತು; 100 ನೂರು
kn: 1000 ಸಾವಿರ; 100000 ಲಕ್ಷ; 10000000 ಕೋಟಿ; 1000000 ಮಿಲಿಯನ್; 1000000000 ಬಿಲಿಯನ್
ml: 1 ഒന്ന്|ഒരു; 2 രണ്ട്|രണ്ടാം; 3 മൂന്ന്|മൂന്നാം; 4 നാല്; 5 അഞ്ച്; 6 ആറ്; 7 ഏഴ്; 8 എട്ട്; 9 ഒമ്പത്; 10 പത്ത്; 20 ഇരുപത്; 50 അമ്പത്; 100 നൂറ്; 1000 ആയിരം
ml: 100000 ലക്ഷം; 10000000 കോടി; 1000000 ദശലക്ഷം
si: 1 එක|එක්; 2 දෙක|දෙ; 3 තුන|තුන්; 4 හතර; 5 පහ; 6 හය; 7 හත; 8 අට; 9 නවය; 10 දහය; 20 විස්ස; 100 සියය|සිය; 1000 දහස|දහස්; 100000 ලක්ෂ|ලක්ෂය
si: 1000000 මිලියන; 1000000000 බිලියන; 10000000 කෝටි
eu: 1 bat; 2 bi; 3 hiru; 4 lau; 5 bost; 6 sei; 7 zazpi; 8 zortzi; 9 bederatzi; 10 hamar; 11 hamaika; 12 hamabi; 15 hamabost; 20 hogei; 100 ehun
eu: 1000 mila; 1000000 milioi
gl: 1 un|unha|primeiro; 2 dous|dúas|segundo; 3 tres|terceiro; 4 catro; 5 cinco; 6 seis; 7 sete; 8 oito; 9 nove; 10 dez; 11 once; 12 doce; 15 quince
gl: 20 vinte; 30 trinta; 40 corenta; 50 cincuenta; 60 sesenta; 70 setenta; 80 oitenta; 90 noventa; 100 cen|cento; 1000 mil; 1000000 millón|millóns
"""
UNSPACED = frozenset(["ja", "km", "lo", "my", "th"])
MAGNITUDES = frozenset([100, 1000, *(10**power for power in range(4, 13))])
MAGNITUDE_FIRST = frozenset(["si", "sw"])
CONJUNCTIONS = {"hi": "", "en": "and", "pt": "e", "es": "y", "fr": "et", "eu": "eta", "gl": "e", "cs": "a", "sw": "na"}


def wide(text: str) -> Any:
    """``text`` as ICU takes it."""
    return (ctypes.c_uint16 * (len(text) + 1)).from_buffer_copy(text.encode("utf-16-le") + b"\0\0")


class Buffer:
    """Where an ICU function writes its text."""

    def __init__(self) -> None:
        self.units, self.size = (ctypes.c_uint16 * 20_000)(), 20_000
        self.status = ctypes.byref(ctypes.c_int(0))

    def text(self, length: int) -> str:
        """What was written."""
        return bytes(self.units)[: 2 * length].decode("utf-16-le")


def spelled(locale: str) -> dict[int, list[str]]:
    """All spellings of the values, cardinal and ordinal, in all genders and cases."""
    buffer = Buffer()
    formatter = ctypes.c_void_p(I18N.unum_open_72(5, None, 0, locale.encode(), None, buffer.status))
    names = buffer.text(I18N.unum_getTextAttribute_72(formatter, 7, buffer.units, buffer.size, buffer.status))
    spellings: dict[int, list[str]] = {}
    for name in names.split(";"):
        if "spellout" not in name or "financial" in name or "year" in name or (locale == "fi" and "plural" in name):
            continue
        I18N.unum_setTextAttribute_72(formatter, 6, wide(name), len(name), buffer.status)
        for value in [*VALUES, *(power * times for power in POWERS[4:] for times in (1, 2, 5)), -5]:
            number = ctypes.c_int64(value)
            length = I18N.unum_formatInt64_72(formatter, number, buffer.units, buffer.size, None, buffer.status)
            words = buffer.text(length).removesuffix("\u00ad")
            if words not in spellings.setdefault(value, []):
                spellings[value].append(words)
    return spellings


def formatted(locale: str, pattern: str, moment: float) -> str:
    """A date and time (milliseconds since 1970) by a pattern of CLDR."""
    buffer = Buffer()
    opened = I18N.udat_open_72(-2, -2, locale.encode(), wide("UTC"), 3, wide(pattern), len(pattern), buffer.status)
    date = ctypes.c_double(moment)
    length = I18N.udat_format_72(ctypes.c_void_p(opened), date, buffer.units, buffer.size, None, buffer.status)
    return buffer.text(length)


def months(locale: str) -> list[str]:
    """The twelve names of months, each in all its forms."""
    forms = []
    for month in range(12):
        names = {formatted(locale, pattern, (month * 30.44 + 14) * 86_400_000) for pattern in ("MMMM", "LLLL", "MMM", "LLL")}
        names = {name.rstrip(".") for name in names} if locale != "zh" else set()
        forms.append("|".join(sorted(name for name in names if name.isalpha() and len(name) > 2 or " " in name)))
    return forms if all(forms) else []


def day_parts(locale: str) -> dict[str, str]:
    """What is said beside an hour, before noon, after noon and at night."""
    hours: dict[str, set[int]] = {}
    for hour in range(24):
        for pattern in ("a", "B"):
            part = formatted(locale, pattern, hour * 3_600_000)
            if part and not part.isdigit():
                hours.setdefault(part, set()).add(hour)
    halves: dict[str, list[str]] = {"am": [], "pm": [], "night": []}
    for part, when in hours.items():
        halves["am" if max(when) < 12 else "pm" if min(when) >= 12 else "night"].append(part)
    return {half: "|".join(sorted(parts)) for half, parts in halves.items() if parts}


class Entry:
    """The entry of one language while it grows: words that compose() needs, conjunctions, months, parts of the day."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.words: dict[int, list[str]] = {}
        self.rest: dict[str, Any] = {}
        self.language: Language | None = None

    def known(self) -> Language:
        """The language as far as it is known."""
        if self.language is None:
            words = {str(value): "|".join(phrases) for value, phrases in self.words.items()}
            self.language = Language(self.code, {**self.rest, "words": words})
        return self.language

    def add(self, value: int, phrase: str) -> None:
        """Take a phrase up, unless it has digits or is read already."""
        plain = fold(phrase).strip()
        readings = [(compose(parts), certain) for parts, certain in self.known().sequences(plain)]
        if plain and not any(map(str.isdigit, plain)) and readings != [([value], True)]:
            self.words.setdefault(value, []).append(plain)
            self.language = None

    def add_power(self, value: int, phrase: str) -> None:
        """Find the word for 1,000,000 in "two million": what is left when the words that are known are taken away."""
        left, known, values = [], 1, self.known().values
        for token in fold(phrase.replace("\u00ad", " ").replace("\u200b", " ")).split():
            if token in values:
                known *= values[token]
            else:
                left.append(token)
        if len(left) == 1 and known and value % known == 0 and value // known in MAGNITUDES:
            self.add(value // known, left[0])

    def data(self) -> dict[str, Any]:
        """As it goes into the file."""
        words = {str(value): "|".join(phrases) for value, phrases in sorted(self.words.items())}
        rest = {key: value for key, value in self.rest.items() if value}
        return {"words": words, **rest}


def entry(code: str) -> dict[str, Any]:
    """The entry of one language."""
    entry = Entry(code)
    locales = SCRIPTS.get(code, (code,))
    tables = [spelled(locale) for locale in locales] if code in LANGUAGES else []
    entry.rest["and"] = CONJUNCTIONS.get(code, " ".join(conjunctions(tables)))
    for line in ADDED.strip().split("\n"):
        if line.startswith(f"{code}: "):
            for item in line.partition(": ")[2].split("; "):
                value, _, phrases = item.partition(" ")
                for phrase in phrases.split("|"):
                    entry.add(int(value), phrase)
    for table in tables:
        for value in sorted(value for value in table if value >= 0):
            for phrase in table[value]:
                if value >= 100:
                    entry.add_power(value, phrase)
                entry.add(value, phrase)
        entry.rest["minus"] = "|".join(sorted({fold(words).split()[0] for words in table[-5]} - {"-5"}))
    for locale in locales:
        for half, parts in day_parts(locale).items():
            known = entry.rest.get(half, "").split("|")
            entry.rest[half] = "|".join(dict.fromkeys(filter(None, [*known, *parts.split("|")])))
        if names := months(locale):
            known = entry.rest.get("months", [""] * 12)
            forms = zip(known, names, strict=True)
            entry.rest["months"] = ["|".join(filter(None, (old, new))) for old, new in forms]
    entry.rest["magnitude_first"] = code in MAGNITUDE_FIRST
    entry.rest["unspaced"] = code in UNSPACED
    return entry.data()


def conjunctions(tables: list[dict[int, list[str]]]) -> list[str]:
    """The words between the parts of a number: those of many numbers between 21 and 99 that are no number by themselves."""
    counts: Counter[str] = Counter()
    whole = {fold(word) for table in tables for words in table.values() for word in words}
    for table in tables:
        for value in range(21, 100):
            for phrase in table[value][:3]:
                pieces = fold(phrase.replace("\u00ad", " ").replace("\u200b", " ").replace("-", " ")).split()
                counts.update(set(pieces[1:-1]) - whole)
    return [word for word, count in counts.items() if count > 40]


def separators() -> dict[str, str]:
    """The mark between thousands and the decimal mark, by language, and by region where it differs."""
    table: dict[str, str] = {}
    count = COMMON.uloc_countAvailable_72()
    for locale in sorted(COMMON.uloc_getAvailable_72(index).decode() for index in range(count)):
        buffer = Buffer()
        opened = ctypes.c_void_p(I18N.unum_open_72(1, None, 0, locale.encode(), None, buffer.status))
        marks = ""
        for symbol in (1, 0):  # grouping, decimal
            marks += buffer.text(I18N.unum_getSymbol_72(opened, symbol, buffer.units, buffer.size, buffer.status))[:1]
        code = locale.replace("_", "-")
        if table.get(code.rpartition("-")[0], table.get(code.partition("-")[0])) != marks:
            table[code] = marks
    return table


def main() -> None:
    """Write the file."""
    more = sorted({line.partition(":")[0] for line in ADDED.strip().split("\n")} - set(LANGUAGES))
    data = {"separators": separators(), "languages": {code: entry(code) for code in sorted([*LANGUAGES, *more])}}
    path = Path(__file__).parent.parent / "mtagent" / "text" / "number_words.json"
    lines = [f'"separators": {json.dumps(data["separators"], ensure_ascii=False)}']
    entries = [f"{json.dumps(code)}: {json.dumps(entry, ensure_ascii=False)}" for code, entry in data["languages"].items()]
    path.write_text("{" + ",\n".join([*lines, '"languages": {\n' + ",\n".join(entries) + "}"]) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
