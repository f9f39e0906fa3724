"""Units of measurement and currencies that stand beside a number."""

from __future__ import annotations

from typing import NamedTuple

import regex

from mtagent.text.scripts import UNSPACED, remembered

# Kind of quantity, unit, and ways to write it. A word that ends in * may go on (inflection).
_UNITS = """
length km: km км किमी 公里 千米 キロメートル 킬로미터 كم kilomet* kilómet* quilômet* quilómet* chilomet*
length km: километр* किलोमीटर किलोमिटर কিলোমিটার كيلومتر* กิโลเมตร กม קילומטר*
length km: кілометр* kílómet*
length m: m м 米 メートル 미터 meter* metre* mètre* metro* metr metrů метр* मीटर मिटर মিটার متر* أمتار เมตร מטר* μέτρα
length cm: cm см 厘米 センチ 센티미터 centimet* centímet* zentimeter* сантиметр* sentímet* सेंटीमीटर सेमी
length cm: سنتيمتر* سم เซนติเมตร
length mm: mm мм 毫米 ミリ millimet* milímet* миллиметр* міліметр* मिलीमीटर मिमी مليمتر* มิลลิเมตร
length mi: mi mile miles 英里 マイル 마일 मील meile* milla millas milha milhas míl* миля* мили миль mílur mílna
length mi: मील माइल মাইল ميل* أميال ไมล์ מייל*
length ft: ft feet foot 英尺 フィート 피트 फीट fuß pie pies pés фут* Fuß फुट फ़ुट ফুট قدم* أقدام ฟุต
length in: inch inches 英寸 インチ 인치 zoll palec palce palců pulgada* polegada* дюйм* इंच ইঞ্চি بوصة بوصات นิ้ว
length yd: yd yard yards 码 ヤード yarda* Yards गज ياردة ياردات หลา ярд*
mass kg: kg кг किग्रा 公斤 千克 キロ 킬로그램 كجم kilogram* kilogramm* quilo* kilo kilos kilá килограмм*
mass kg: кілограм* किलोग्राम किलो কেজি কিলোগ্রাম كيلوغرام* كيلوجرام* كغم كغ กิโลกรัม กก
mass g: g г 克 グラム 그램 gram grams gramm gramme* gramo* gramas грамм* грам* ग्राम গ্রাম غرام* جرام*
mass mg: mg мг 毫克 ミリグラム milligram* miligram*
mass lb: lb lbs pound pounds 磅 ポンド 파운드 pfund libra* фунт* पाउंड পাউন্ড رطل* أرطال ปอนด์
mass oz: oz ounce ounces 盎司 オンス unze* onza* унци*
volume l: l L л 升 リットル 리터 liter* litre* litro* litr* литр* літр* लीटर লিটার لتر* ลิตร
volume ml: ml mL мл 毫升 ミリリットル millilit* mililit*
volume gal: gal gallon* gallone* galón galones галлон* 加仑 ガロン
temperature °C: °C ℃ ºC Celsius 摄氏度
temperature °F: °F ℉ ºF Fahrenheit 华氏度
share %: % ％ ٪ percent procent* prozent* porcent* pourcent* процент* відсотк* prósent* प्रतिशत パーセント
share %: 퍼센트 بالمئة بالمائة শতাংশ เปอร์เซ็นต์
share ‰: ‰ promille*
data KB: KB kB КБ
data MB: MB Mo МБ
data GB: GB Go ГБ
data TB: TB To ТБ
power W: W Вт
power kW: kW кВт
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
money £: £ GBP sterling
money ¥: ¥ ￥ JPY CNY yen yuan 元 円 人民币
money ₹: ₹ INR rupee* rupie* रुपये 卢比 ルピー
money ₴: ₴ UAH гривн* hryvnia*
money ₽: ₽ RUB рубл* rubl* rouble*
money ₩: ₩ KRW 원
"""


class Quantity(NamedTuple):
    """A unit beside a number: ``text[start:end]`` is the unit, ``kind`` what it measures."""

    unit: str
    kind: str
    start: int
    end: int


_EXACT: dict[str, tuple[str, str]] = {}
_STEMS: dict[str, tuple[str, str]] = {}
for _line in _UNITS.strip().split("\n"):
    _head, _, _forms = _line.partition(": ")
    _kind, _unit = _head.split(" ")
    for _form in _forms.split():
        if _form.endswith("*"):
            _STEMS[_form[:-1].casefold()] = (_unit, _kind)
            if not _form.isascii():
                _EXACT.setdefault(_form[:-1], (_unit, _kind))
        else:
            _EXACT[_form if len(_form) <= 4 else _form.casefold()] = (_unit, _kind)
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
def quantities(text: str) -> tuple[Quantity, ...]:
    """Units and currencies that stand beside a number, by their canonical symbol: 5 km, 5 kilometres, 5 км."""
    quantities: dict[int, Quantity] = {}
    for match in (*_BEHIND.finditer(text), *_BEFORE.finditer(text)):
        group = match.lastgroup or "unit"
        if unit := unit_of(match[group]):
            quantities[match.start(group)] = Quantity(*unit, match.start(group), match.end(group))
    return tuple(quantities[start] for start in sorted(quantities))


def unit_of(form: str) -> tuple[str, str] | None:
    """The unit that is written as ``form``, and its kind; ``None`` where it is no unit."""
    exact = _EXACT.get(form) or _EXACT.get(form.casefold() if len(form) > 4 or len(form) == 3 else form)
    if exact or len(form) < 4:
        return exact
    folded = form.casefold()
    return next((_STEMS[folded[:size]] for size in range(len(folded[:10]), 2, -1) if folded[:size] in _STEMS), None)


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
    named = (unit_of(form) or unit_of(form.partition("/")[0]) for form in _NAMED.findall(text))
    return frozenset(unit for unit, _ in filter(None, named))
