"""Numbers and quantities in a text, and which of them have no counterpart in another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import regex

from mtagent.text.scripts import remembered

# -- numbers

_NUMBER = regex.compile(
    r"""
    (?<!\d) (?: \d{1,3}+ (?:[ \u00a0\u202f\u2009] \d{3}(?!\d))++ (?:[.,٫]\d++)?+
              | \d++ (?:[.,'’٫٬·．，]\d++)*+ )
    """,
    flags=regex.VERBOSE,
)
_DIGITS = regex.compile(r"\d++")
_DECIMAL_MARKS = ".,٫·．，"
_FULL_HOUR = regex.compile(r"(?<=\d[:：hH.])00(?!\d)")
_MULTIPLIERS = (
    (3, r"k\b|thousand|mil\b|tausend|mille\b|тыс|千|천|हज़ार|हजार"),
    (4, r"万|萬|만"),
    (5, r"lakh|लाख"),
    (6, r"millions?\b|Million|millón|millones|milhão|milhões|milion|miljo|miljó|milljón|milió|миллион|мільйон|млн|Mio\b"
        r"|百万|मिलियन|مليون"),
    (7, r"crore|करोड़|करोड"),
    (8, r"亿|億|억"),
    (9, r"billions?\b|milliard|Mrd\b|miliard|milj?ard|milljarð|миллиард|мільярд|млрд"
        r"|bilhão|bilhões|mil millones|अरब|مليار"),
)  # fmt: skip
_MULTIPLIER = regex.compile(
    r"[ \u00a0\u202f-]?+(?:" + "|".join(f"(?P<e{power}>{words})" for power, words in _MULTIPLIERS) + ")",
    flags=regex.IGNORECASE,
)


class Number(NamedTuple):
    """A number in a text: ``text[start:end]``.

    ``values`` are all its possible readings in canonical form ("1.234" is 1234 or 1.234); ``parts`` are its groups of
    digits.
    """

    values: tuple[str, ...]
    parts: tuple[str, ...]
    start: int
    end: int


def _canonical(whole: str, fraction: str = "") -> str:
    fraction = fraction.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


def _is_grouped(groups: list[str]) -> bool:
    """Whether groups of digits are one whole number: 12,345,678 or, in India, 1,23,45,678."""
    head, inner, last = groups[0], groups[1:-1], groups[-1]
    if not 1 <= len(head) <= 3 or head.startswith("0") or len(last) != 3:
        return False
    return all(len(group) == 3 for group in inner) or (len(head) < 3 and all(len(group) == 2 for group in inner))


def _readings(groups: list[str], marks: list[str]) -> tuple[str, ...]:
    """The values that groups of digits with ``marks`` between them can stand for.

    ``()`` = it is not one number but a date, a version or a list.
    """
    whole = _canonical("".join(groups))
    if not marks:
        return (whole,)
    has_fraction = marks[-1] in _DECIMAL_MARKS and marks.count(marks[-1]) == 1
    fraction = _canonical("".join(groups[:-1]), groups[-1])
    if len(set(marks)) == 1:  # 1.234, 1,234,567
        return ((whole,) if _is_grouped(groups) else ()) + ((fraction,) if has_fraction else ())
    if len(set(marks)) == 2 and has_fraction and _is_grouped(groups[:-1]):
        return (fraction,)  # 1,234.5
    return ()


@remembered
def numbers(text: str) -> tuple[Number, ...]:
    """The numbers of ``text`` in order; number words are not numbers. A time or a date gives one number per part.

    The empty minutes of a full hour (5:00) do not count.
    """
    if not _DIGITS.search(text):
        return ()
    empty = {match.start() for match in _FULL_HOUR.finditer(text)} if "00" in text else set()
    numbers = []
    for match in _NUMBER.finditer(text):
        token, start = match.group(), match.start()
        plain = token
        if not token.isascii():
            plain = "".join(str(int(character)) if character.isdecimal() else character for character in token)
        groups = _DIGITS.findall(plain)
        values = _readings(groups, [character for character in token if not character.isdecimal()])
        if not values:
            for digits in _DIGITS.finditer(plain):
                part = (_canonical(digits.group()),)
                numbers.append(Number(part, part, start + digits.start(), start + digits.end()))
            continue
        if multiplier := _MULTIPLIER.match(text, match.end()):
            power = int(str(multiplier.lastgroup)[1:])
            for value in values:
                whole, _, fraction = value.partition(".")
                fraction = fraction.ljust(power, "0")
                values += (_canonical(whole + fraction[:power], fraction[power:]),)
        numbers.append(Number(values, tuple(map(_canonical, groups)), start, match.end()))
    return tuple(number for number in numbers if number.start not in empty)


_ROMAN = regex.compile(
    r"(?<![\p{L}\p{N}])(?=[IVXLCDM]{2,9}(?![\p{L}\p{N}]))"
    r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?![\p{L}\p{N}])"
)
_CHINESE_DIGITS = {digit: str(value) for value, digit in enumerate("二三四五六七八九十", start=2)}
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


@remembered
def other_numerals(text: str) -> frozenset[str]:
    """The values of Roman numerals of two letters or more (XVIII → "18") and of the Chinese digits from two to ten.

    A translation may write these in digits, and the other way round.
    """
    values = {value for digit, value in _CHINESE_DIGITS.items() if digit in text}
    for match in _ROMAN.finditer(text):
        digits = [_ROMAN_DIGITS[letter] for letter in match.group()]
        following = [*digits[1:], 0]
        values.add(str(sum(-now if now < then else now for now, then in zip(digits, following, strict=True))))
    return frozenset(values)


# -- pairs of numbers


def unmatched(ours: Sequence[Number], theirs: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """The numbers of two texts that have no partner in the other: ours, and theirs.

    Numbers are paired by value, each at most once: first those with the same readings, then those that share one.
    """
    same = Counter(number.values for number in ours) & Counter(number.values for number in theirs)
    ours, theirs = (_without(numbers, same, lambda number: number.values) for numbers in (ours, theirs))
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for index, number in enumerate(theirs):
        for value in number.values:
            waiting[value].append(index)
    taken: set[int] = set()
    missing = []
    for number in ours:
        for value in number.values:
            while waiting[value] and waiting[value][-1] in taken:
                waiting[value].pop()
            if waiting[value]:
                taken.add(waiting[value].pop())
                break
        else:
            missing.append(number)
    extra = [number for index, number in enumerate(theirs) if index not in taken]
    if missing and extra:
        missing, extra = _pair_by_parts(missing, extra)
        extra, missing = _pair_by_parts(extra, missing)
    return missing, extra


def _pair_by_parts(joined: list[Number], singles: list[Number]) -> tuple[list[Number], list[Number]]:
    """10.30 is 10:30, and "1 234" may be two numbers: a joined number may stand for two or more single ones."""
    free = Counter(number.parts for number in singles if len(number.parts) == 1)
    used: Counter[tuple[str, ...]] = Counter()
    left = []
    for number in joined:
        parts = Counter((part,) for part in number.parts)
        if len(number.parts) > 1 and max(map(len, number.parts)) <= 3 and parts <= free:
            free -= parts
            used += parts
        else:
            left.append(number)
    return left, _without(singles, used, lambda number: number.parts)


def _without(
    numbers: Iterable[Number], counted: Counter[tuple[str, ...]], key: Callable[[Number], tuple[str, ...]]
) -> list[Number]:
    """``numbers`` without as many of each ``key`` as are ``counted``."""
    waiting = counted.copy()
    rest = []
    for number in numbers:
        if waiting[key(number)]:
            waiting[key(number)] -= 1
        else:
            rest.append(number)
    return rest


# -- quantities

# Kind of quantity, unit, and ways to write it. A word that ends in * may go on (inflection).
_UNITS = """
length km: km км किमी 公里 千米 キロメートル 킬로미터 كم kilomet* kilómet* quilômet* quilómet* chilomet* километр*
length km: кілометр* kílómet*
length m: m м 米 メートル 미터 meter* metre* mètre* metro* metr metrů метр*
length cm: cm см 厘米 センチ 센티미터 centimet* centímet* zentimeter* сантиметр* sentímet*
length mm: mm мм 毫米 ミリ millimet* milímet* миллиметр* міліметр*
length mi: mi mile miles 英里 マイル 마일 मील meile* milla millas milha milhas míl* миля* мили миль mílur mílna
length ft: ft feet foot 英尺 フィート 피트 फीट fuß pie pies pés фут*
length in: inch inches 英寸 インチ 인치 zoll palec palce palců pulgada* polegada* дюйм*
length yd: yd yard yards 码 ヤード
mass kg: kg кг किग्रा 公斤 千克 キロ 킬로그램 كجم kilogram* kilogramm* quilo* kilo kilos kilá килограмм* кілограм*
mass g: g г 克 グラム 그램 gram grams gramm gramme* gramo* gramas грамм* грам*
mass mg: mg мг 毫克 ミリグラム milligram* miligram*
mass lb: lb lbs pound pounds 磅 ポンド 파운드 pfund libra* фунт*
mass oz: oz ounce ounces 盎司 オンス unze* onza* унци*
volume l: l L л 升 リットル 리터 liter* litre* litro* litr* литр* літр*
volume ml: ml mL мл 毫升 ミリリットル millilit* mililit*
volume gal: gal gallon* gallone* galón galones галлон* 加仑 ガロン
temperature °C: °C ℃ ºC Celsius 摄氏度
temperature °F: °F ℉ ºF Fahrenheit 华氏度
share %: % ％ ٪ percent procent* prozent* porcent* pourcent* процент* відсотк* prósent* प्रतिशत パーセント 퍼센트
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
money $: $ US$ USD dollar* dólar* доллар* долар* 美元 ドル 달러 डॉलर
money €: € EUR euro* евро євро 欧元 ユーロ 유로 यूरो
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
        else:
            _EXACT[_form if len(_form) <= 4 else _form.casefold()] = (_unit, _kind)
_UNSPACED = sorted((form for form in _EXACT if ord(form[0]) > 0x2E80), key=len, reverse=True)

_BEHIND = regex.compile(
    rf"""
    \d [ \u00a0\u202f-]?+ (?P<unit> km/h | m/s | км/ч | км/год | [%％٪‰℃℉$€£¥￥₹₴₽₩] | [°º][CF]\b
      | {"|".join(map(regex.escape, _UNSPACED))}
      | \p{{L}}++ )
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
        if unit := _unit_of(match[group]):
            quantities[match.start(group)] = Quantity(*unit, match.start(group), match.end(group))
    return tuple(quantities[start] for start in sorted(quantities))


def _unit_of(form: str) -> tuple[str, str] | None:
    """The unit that is written as ``form``, and its kind."""
    exact = _EXACT.get(form) or _EXACT.get(form.casefold() if len(form) > 4 or len(form) == 3 else form)
    if exact or len(form) < 4:
        return exact
    folded = form.casefold()
    return next((_STEMS[folded[:size]] for size in range(len(folded[:10]), 2, -1) if folded[:size] in _STEMS), None)
