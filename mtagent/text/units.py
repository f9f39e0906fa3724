"""Units of measurement and currencies that stand beside a number."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import regex

from mtagent.text.scripts import UNSPACED, language_of, remembered

# Kind of quantity, unit, and ways to write it. A word that ends in * may go on (inflection). What is written alike in
# several lines is ambiguous: キロ is the unit that the source names, or else the one that comes first.
_UNITS = """
length km: km км किमी 公里 千米 キロメートル 킬로미터 كم kilomet* kilómet* kilomèt* quilômet* quilómet* chilomet*
length km: километр* किलोमीटर किलोमिटर কিলোমিটার كيلومتر* กิโลเมตร กม קילומטר*
length km: кілометр* kílómet* kilomét*
length m: m м 米 メートル 미터 meter* metre* mètre* metro* metr metrů метр* मीटर मिटर মিটার متر* أمتار เมตร מטר* μέτρα
length cm: cm см 厘米 センチ センチメートル 센티미터 centimet* centímet* centimèt* zentimeter* sentímet* सेंटीमीटर सेमी
length cm: сантиметр* سنتيمتر* سم เซนติเมตร
length mm: mm мм 毫米 ミリ ミリメートル millimet* milímet* millimèt* миллиметр* міліметр* मिलीमीटर मिमी مليمتر* มิลลิเมตร
length mi: mi mile miles 英里 マイル 마일 मील meile* milla millas milha milhas míl* миля* мили миль mílur mílna
length mi: मील माइल মাইল ميل* أميال ไมล์ מייל*
length ft: ft feet foot 英尺 フィート 피트 फीट fuß pie pies pés фут* Fuß फुट फ़ुट ফুট قدم* أقدام ฟุต
length in: inch inches 英寸 インチ 인치 zoll palec palce palců pulgada* polegada* дюйм* इंच ইঞ্চি بوصة بوصات นิ้ว
length yd: yd yard yards 码 ヤード yarda* Yards गज ياردة ياردات หลา ярд*
mass kg: kg кг किग्रा 公斤 千克 キロ キログラム 킬로그램 كجم kilogram* kilogramm* quilo* kilo kilos kilá килограмм*
mass kg: кілограм* किलोग्राम किलो কেজি কিলোগ্রাম كيلوغرام* كيلوجرام* كغم كغ กิโลกรัม กก
mass g: g г 克 グラム 그램 gram grams gramm gramme* gramo* gramas грамм* грам* ग्राम গ্রাম غرام* جرام*
mass mg: mg мг 毫克 ミリグラム milligram* miligram*
mass lb: lb lbs pound pounds 磅 ポンド 파운드 pfund libra* фунт* funt* पाउंड পাউন্ড رطل* أرطال ปอนด์
mass oz: oz ounce ounces 盎司 オンス unze* onza* унци* унці*
mass t: tonne tonnes tonelada* tonnellat* тонн* トン 吨 噸
length km: キロ
volume l: l L л 升 リットル 리터 liter* litre* litro* litr* литр* літр* लीटर লিটার لتر* ลิตร
volume ml: ml mL мл 毫升 ミリリットル ミリ millilit* mililit*
volume gal: gal gallon* gallone* galón galones галлон* 加仑 ガロン
temperature °C: °C ℃ ºC Celsius 摄氏度
temperature °F: °F ℉ ºF Fahrenheit 华氏度
share %: % ％ ٪ percent procent* prozent* porcent* pourcent* процент* відсотк* prósent* प्रतिशत パーセント
share %: 퍼센트 بالمئة بالمائة শতাংশ เปอร์เซ็นต์
share ‰: ‰ promille*
data KB: KB kB КБ キロバイト
data MB: MB Mo МБ メガバイト
data GB: GB Go ГБ ギガバイト
data TB: TB To ТБ テラバイト
power W: W Вт ワット
power kW: kW кВт キロワット
power MW: MW МВт
power kWh: kWh кВтч
frequency Hz: Hz Гц
frequency kHz: kHz кГц
frequency MHz: MHz МГц
frequency GHz: GHz ГГц
speed km/h: km/h kmh км/ч км/год
speed mph: mph
speed m/s: m/s м/с
time s: sec secs second seconds sekund* seconde* segundo* секунд* 秒 초
time min: min minute minutes minut* minuto* мин минут* хвилин* 分钟 分 분
time h: h hr hrs hour hours stunde* heure* hora horas hodin* час часа часов годин* 小时 時間 시간
time ms: ms мс 毫秒
money $: $ US$ USD dollar* dólar* доллар* долар* 美元 ドル 달러 डॉलर دولار* ডলার ดอลลาร์
money €: € EUR euro* евро євро 欧元 ユーロ 유로 यूरो يورو ইউরো ยูโร
money £: £ GBP sterling pound pounds pfund libra* фунт* funt* ポンド 英镑 英鎊 파운드
money ¥: ¥ ￥ JPY CNY yen yuan 元 円 人民币
money ₹: ₹ INR rupee* rupie* रुपये 卢比 ルピー
money ₴: ₴ UAH гривн* hryvnia*
money ₽: ₽ RUB рубл* rubl* rouble*
money ₩: ₩ KRW 원
"""


# The same for words that are no units in other languages, or other ones: mil is a thousand, a mile or ten kilometres.
_UNITS_OF = """
cs: mi mil míle mílí; ft stopa stop stopy; lb libra liber libry; oz unce uncí
da: 10km mil; ft fod; in tomme tommer; lb pund; £ pund; g gram
de: kg Kilo
el: mi μίλι μίλια; km χιλιόμετρ*; ft πόδια; in ίντσ*; kg κιλό κιλά; lb λίβρ*; £ λίρ* λίβρ*
fi: mi maili*; in tuuma*; m metri*; lb pauna*; oz unssi*; g gramma*
fr: mi mille milles; ft pied pieds; in pouce pouces; lb livre livres; £ livre livres; oz once onces
hu: mi mérföld*; in hüvelyk*; m méter*; lb font*; £ font*; oz unci*
id: mi mil; in inci
it: mi miglio miglia; ft piede piedi; in pollice pollici; yd iarda iarde; m metri; kg chilo chili chilogramm*
it: g grammo grammi; lb libbra libbre; oz oncia once
nb: 10km mil; ft fot; in tomme tommer; lb pund; £ pund; g gram
nl: mi mijl mijlen; ft voet; in duim; kg kilo; lb pond ponden; £ pond ponden
pl: mi mila mile mil milę; ft stopa stopy stóp; in cal cale cali; yd jard*; m metr*; cm centymetr*; mm milimetr*
pl: g gram*; oz uncj*; gal galon*
pt: ft pé pés; yd jarda*; oz onça onças
ro: mi milă mile
sk: mi míľ*; ft stopa stôp stopy; lb libra libier libry
sv: 10km mil; ft fot; in tum; lb pund; £ pund; oz uns
tr: mi mil; in inç
vi: mi dặm; km kilômét ki-lô-mét
"""


class Quantity(NamedTuple):
    """A unit beside a number: ``text[start:end]`` is the unit, ``kind`` what it measures."""

    unit: str
    kind: str
    start: int
    end: int


_EXACT: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
_STEMS: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
"""The units, each with its kind, by language and form: ``pl mil``; by the form alone where any language has it."""
_KINDS = {"10km": "length"}
for _line in (*_UNITS.strip().split("\n"), *_UNITS_OF.strip().split("\n")):
    _head, _, _entries = _line.partition(": ")
    _kind, _, _unit = _head.partition(" ")
    if _unit:
        _KINDS[_unit], _lang, _entries = _kind, "", f"{_unit} {_entries}"
    else:
        _lang = f"{_head} "
    for _entry in _entries.split("; "):
        _unit, *_forms = _entry.split(" ")
        for _form in _forms:
            if _form.endswith("*"):
                _STEMS[_lang + _form[:-1].casefold()].append((_unit, _KINDS[_unit]))
                if not _form.isascii():
                    _EXACT[_lang + _form[:-1]].append((_unit, _KINDS[_unit]))
            else:
                _plain = _form.casefold() if _lang or len(_form) > 4 else _form
                _EXACT[_lang + _plain].append((_unit, _KINDS[_unit]))
_UNSPACED = sorted(filter(regex.compile(rf"[{UNSPACED}\p{{Hangul}}℃℉％￥]").match, _EXACT), key=len, reverse=True)

_BEHIND = regex.compile(
    rf"""
    \d [ \u00a0\u202f-]?+ (?P<unit> km/h | m/s | км/ч | км/год | [%％٪‰℃℉$€£¥￥₹₴₽₩] | [°º][CF]\b
      | {"|".join(map(regex.escape, _UNSPACED))}
      | (?:(?![{UNSPACED}])[\p{{L}}\p{{M}}])++ )
    """,
    flags=regex.VERBOSE,
)
_BEFORE = regex.compile(
    r"(?P<unit>\bUS\$|\b(?:USD|EUR|GBP|JPY|CNY|INR|RUB|UAH|KRW)\b|[$€£¥￥₹₴₽₩])[ \u00a0\u202f]?\d"
    r"|(?P<share>(?<!\S)[%٪])\d"
)


@remembered
def quantities(text: str, lang: str = "", named: frozenset[str] = frozenset()) -> tuple[Quantity, ...]:
    """Units and currencies that stand beside a number, by their canonical symbol: 5 km, 5 kilometres, 5 км.

    What is ambiguous is the one of the units ``named``, or the likeliest.
    """
    quantities: dict[int, Quantity] = {}
    for match in (*_BEHIND.finditer(text), *_BEFORE.finditer(text)):
        group = match.lastgroup or "unit"
        if units := units_of(match[group], lang):
            unit = next((unit for unit in units if unit[0] in named), units[0])
            quantities[match.start(group)] = Quantity(*unit, match.start(group), match.end(group))
    return tuple(quantities[start] for start in sorted(quantities))


@lru_cache(maxsize=4096)
def units_of(form: str, lang: str = "") -> tuple[tuple[str, str], ...]:
    """The units that may be written as ``form`` in texts of ``lang``, each with its kind; the likeliest first."""
    folded, prefix = form.casefold(), f"{language_of(lang)} " if lang else ""
    exact = _EXACT.get(prefix + folded) if lang else None
    exact = exact or _EXACT.get(form) or _EXACT.get(folded if len(form) > 4 or len(form) == 3 else form)
    if exact or len(form) < 4:
        return tuple(exact or ())
    stems = (start + folded[:size] for size in range(len(folded[:10]), 2, -1) for start in dict.fromkeys((prefix, "")))
    return next((tuple(_STEMS[stem]) for stem in stems if stem in _STEMS), ())


_LANGUAGES = frozenset(
    ["cs", "da", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nb", "nl", "no", "pl", "pt", "ru", "sv", "uk", "zh"]
)
_NAMED = regex.compile(
    rf"[%％٪‰℃℉$€£¥￥₹₴₽₩]|[°º][CF]\b|{'|'.join(map(regex.escape, _UNSPACED))}"
    rf"|(?:(?![{UNSPACED}])[\p{{L}}\p{{M}}])++(?:/\p{{L}}++)?"
)


def units_named(text: str, lang: str) -> frozenset[str] | None:
    """The units that ``text`` names, beside a number or not; ``None`` where their words are not known in ``lang``."""
    if lang.partition("-")[0] not in _LANGUAGES:
        return None
    named = (units_of(form, lang) or units_of(form.partition("/")[0], lang) for form in _NAMED.findall(text))
    return frozenset(unit for units in named for unit, _ in units)
