"""Numbers are read as the language of their text writes them, in digits and in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.chain.guards import GUARDS
from mtagent.records import Segment
from mtagent.text import number_words
from mtagent.text.number_faults import faults
from mtagent.text.numbers import numbers, other_numerals


def refused(source: str, before: str, after: str, langs: str, guard: str = "numbers") -> bool:
    """Whether the guard refuses the change, in a pair such as ``en-de``."""
    source_lang, _, target_lang = langs.partition("-")
    segment = Segment(id="1", source=source, source_lang=source_lang, target_lang=target_lang)
    return bool(GUARDS[guard](segment, before, after))


WORDS = [
    ("en", "six", 6), ("en", "fifteenth", 15), ("en", "twenty-one", 21), ("en", "three hundred and five", 305),
    ("en", "seven thousand", 7000), ("en", "two million", 2_000_000), ("en", "a dozen", 12),
    ("de", "einundzwanzig", 21), ("de", "fünfzehnten", 15), ("de", "dreihundert", 300),
    ("de", "zwei Milliarden", 2 * 10**9),
    ("fr", "quatre-vingt-dix-sept", 97), ("fr", "soixante et onze", 71), ("fr", "deux milliards", 2 * 10**9),
    ("es", "treinta y uno", 31), ("es", "dos mil millones", 2 * 10**9), ("it", "ventuno", 21), ("it", "duemila", 2000),
    ("pt", "vinte e cinco", 25), ("ro", "douăzeci și cinci", 25), ("ca", "sis", 6), ("gl", "vinte", 20),
    ("nl", "vijfentwintig", 25), ("sv", "tjugofem", 25), ("da", "femogtyve", 25), ("no", "tjuefem", 25),
    ("is", "sex", 6),
    ("fi", "kaksikymmentäviisi", 25), ("et", "kuus", 6), ("hu", "huszonöt", 25), ("tr", "yirmi beş", 25),
    ("az", "altı", 6),
    ("ru", "двадцати пяти", 25), ("ru", "семь тысяч", 7000), ("uk", "шість", 6), ("be", "пяць", 5), ("bg", "шест", 6),
    ("pl", "dwudziestu pięciu", 25), ("cs", "pátého", 5), ("cs", "devadesátých", 90), ("sk", "šesť", 6),
    ("sl", "šest", 6),
    ("hr", "dvadeset i pet", 25), ("sr", "двадесет и пет", 25), ("sr", "šest", 6), ("mk", "шест", 6), ("lt", "šeši", 6),
    ("lv", "seši", 6), ("el", "είκοσι πέντε", 25), ("sq", "gjashtë", 6), ("hy", "վեց", 6), ("ka", "ექვსი", 6),
    ("ar", "خمسة وعشرون", 25), ("ar", "بعشرة", 10), ("he", "עשרים וחמש", 25), ("fa", "بیست و پنج", 25),
    ("ur", "تین", 3),
    ("hi", "तीसरे", 3), ("hi", "सात हजार", 7000), ("ne", "सात हजार", 7000), ("bn", "তিন", 3), ("mr", "तीन", 3),
    ("ta", "ஆறு", 6),
    ("te", "ఆరు", 6), ("kn", "ಆರು", 6), ("ml", "ആറ്", 6), ("gu", "ત્રણ", 3), ("pa", "ਤਿੰਨ", 3), ("si", "හතර", 4),
    ("zh", "二十一", 21), ("zh", "三万五千", 35_000), ("zh", "一亿两千万", 120_000_000), ("ja", "二十一", 21),
    ("ja", "ふたつ", 2),
    ("ko", "여섯", 6), ("ko", "세번째", 3), ("ko", "이십오", 25), ("vi", "hai mươi lăm", 25),
    ("th", "ยี่สิบเอ็ด", 21), ("km", "ប្រាំមួយ", 6),
    ("id", "dua puluh lima", 25), ("ms", "enam", 6), ("sw", "sita", 6), ("fil", "anim", 6), ("af", "ses", 6),
    ("eu", "sei", 6),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "words", "value"), WORDS)
def test_number_words_are_read_in_their_language(lang: str, words: str, value: int) -> None:
    assert number_words.readings(words, lang).possible[str(value)] == 1


@pytest.mark.parametrize(("lang", "words", "value"), [row for row in WORDS if row[2] > 2])
def test_a_number_may_turn_from_digits_into_words_and_back(lang: str, words: str, value: int) -> None:
    digits = f"({value})"
    assert not refused(digits, digits, f"({words})", f"en-{lang}")
    assert not refused(f"({words})", "(x)", digits, f"{lang}-en")
    assert refused(digits, digits, "(x)", f"en-{lang}")
    assert refused(f"({words})", "(x)", f"({value + 1})", f"{lang}-en")


def test_the_words_of_more_than_sixty_languages_are_known() -> None:
    assert len({lang for lang, _, _ in WORDS}) >= 60


GOOD = [
    ("en-es", "3,500 people", "3,500 personas", "3.500 personas"),
    ("en-de", "It costs $2.50.", "Es kostet 2.50 $.", "Es kostet 2,50 $."),
    ("en-zh", "1.5 million", "1500000", "150万"), ("en-zh", "1.2 billion people", "十二亿人", "12亿人"),
    ("en-de", "5 billion", "fünf Milliarden", "5 Milliarden"),
    ("en-es", "5 billion", "cinco mil millones", "5 mil millones"),
    ("es-en", "2 billones", "two trillion", "2 trillion"), ("hi-en", "15 लाख", "15 lakh", "1.5 million"),
    ("en-hi", "20 million", "दो करोड़", "2 करोड़"), ("en-ko", "120 million", "1억 2천만", "1억 2000만"),
    ("en-de", "3 to 5 million", "drei bis fünf Millionen", "3 bis 5 Millionen"),
    ("en-es", "5m-6m Muslims", "5m-6m musulmanes", "5-6 millones de musulmanes"),
    ("en-de", "At 3:30 pm.", "Um 3:30 pm.", "Um 15:30 Uhr."), ("en-de", "At 3:30 pm.", "Um 3:30 pm.", "Um 15 Uhr 30."),
    ("en-zh", "3:30 pm", "15:30", "下午3点30分"), ("en-ja", "3:30 pm", "15時30分", "午後3時30分"),
    ("en-es", "at 4.30pm", "a las 4.30pm", "a las 16:30"), ("cs-en", "v 19:45", "at 7.45pm", "at 7:45 p.m."),
    ("en-es", "3:30 pm", "15:30", "3:30 de la tarde"), ("en-de", "12 a.m.", "0 Uhr", "24 Uhr"),
    ("zh-en", "2024年3月12日", "12 March 2024", "March 12, 2024"),
    ("en-ar", "31 March 2024", "31 مارس 2024", "31/03/2024"),
    ("en-de", "03/12/2024", "03/12/2024", "12.3.2024"), ("ja-en", "令和6年", "2024", "Reiwa 6"),
    ("th-en", "พ.ศ. 2567", "2567 BE", "2024"), ("cs-en", "devadesátých let", "the nineties", "the 1990s"),
    ("ru-en", "начале 80-х", "the early 80s", "the early 1980s"),
    ("zh-en", "新冠肺炎疫情", "the epidemic", "the COVID-19 epidemic"),
    ("en-zh", "the COVID-19 pandemic", "COVID-19大流行", "新冠疫情"),
    ("ru-en", "страны «Большой семерки»", "the Big Seven", "the G7"), ("en-de", "Half of them", "Die Hälfte", "50 %"),
    ("en-es", "half past eight", "las ocho y media", "las 8:30"), ("en-de", "1/2 cup", "1/2 Tasse", "½ Tasse"),
    ("en-de", "24/7 support", "24/7-Support", "Support rund um die Uhr"),
    ("en-de", "3-day trip", "3-Tage-Reise", "dreitägige Reise"),
    ("ru-en", "тел. 229 62 01", "tel. 229 62 01", "tel. 229-6201"), ("en-fr", "−5 °C", "-5 °C", "moins 5 °C"),
    ("zh-en", "零下5度", "-5 degrees", "5 degrees below zero"), ("zh-en", "负二层", "the second floor", "floor -2"),
    ("en-de", "from 5-10", "von 5-10", "von 5 bis 10"), ("en-de", "- 5 apples", "-5 Äpfel", "- 5 Äpfel"),
    ("en-de", "2.10 kg", "2,10 kg", "2,1 kg"), ("en-hi", "Web 2.0", "Web 2.0", "वेब २.०"),
    ("zh-en", "1、安装", "1. Install", "1) Install"), ("zh-en", "3.国产", "3. Domestic", "3) Domestic"),
    ("zh-en", "(一)安装", "(1) Install", "1. Install"), ("ja-en", "①開く", "Open", "1. Open"),
    ("en-ru", "per m²", "на м²", "на м2"), ("en-de", "six or 6", "sechs oder 6", "6 oder 6"),
    ("en-hu", "three of 10", "10-ből 3", "tízből három"), ("en-cs", "5th floor", "5. patro", "páté patro"),
    ("en-th", "5 million baht", "5 ล้านบาท", "5,000,000 บาท"), ("en-ko", "300 people", "300명", "삼백 명"),
    ("et-en", "saja ühe asemel", "instead of 100", "instead of 101"),
    ("en-de", "Closes at 12:30 am.", "Schließt um 00:30.", "Schließt um 0.30 Uhr."),
    ("en-de", "at 8:30 pm", "um 20.30 Uhr", "um 8:30 Uhr abends"),
    ("en-fr", "Opens at noon.", "Ouvre à midi.", "Ouvre à 12 h."), ("en-de", "12 pm", "12 Uhr", "mittags"),
    ("en-de", "at midnight", "um Mitternacht", "um 0:00 Uhr"), ("en-de", "at 8:30", "um 8:30 Uhr", "um halb neun"),
    ("en-de", "at half past eight", "um halb acht", "um halb neun"),
    ("en-ru", "at 7:30", "в 7:30", "в половине восьмого"), ("en-pl", "at 7:30", "o 7:30", "o wpół do ósmej"),
    ("en-sv", "at 2:30 pm", "kl. 14:30", "klockan halv tre på eftermiddagen"),
    ("en-de", "at twenty past seven in the evening", "abends um 7:20", "um 19:20 Uhr"),
    ("en-de", "a quarter past seven", "Viertel nach sieben", "7:15 Uhr"),
    ("en-de", "half a cup", "eine halbe Tasse", "1/2 Tasse"), ("en-de", "½ cup", "½ Tasse", "eine halbe Tasse"),
    ("en-de", "1 1/2 cups", "1 1/2 Tassen", "1,5 Tassen"), ("en-fr", "1½ hours", "1½ heures", "une heure et demie"),
    ("en-de", "two thirds", "zwei Drittel", "2/3"), ("en-de", "2½ cups", "2½ Tassen", "zweieinhalb Tassen"),
    ("en-ru", "on 1/2", "1/2", "1 февраля"), ("en-es", "2.5 million", "2,5 millones", "dos millones y medio"),
    ("en-it", "30 years", "30 anni", "trent’anni"), ("en-hu", "12 pears", "12 körte", "tizenkét körte"),
    ("en-nl", "2.5 hours", "2,5 uur", "tweeënhalf uur"), ("en-ru", "1.5 hours", "1,5 часа", "полтора часа"),
    ("en-ru", "both 2 sisters", "2 сестры", "обе сестры"), ("en-zh", "1.5 million", "150万人", "一五〇万人"),
    ("en-de", "5 dogs, 3 cats", "3 Hunde, 5 Katzen", "5 Hunde, 3 Katzen"),
    ("en-ja", "3 of 5 pages", "3ページ中5", "5ページ中3"), ("en-de", "5/3/2024", "5.3.2024", "3.5.2024"),
    # idioms: a fortnight, a week and a day less or more, dozens
    ("en-fr", "It takes two weeks.", "Cela prend deux semaines.", "Cela prend quinze jours."),
    ("en-fr", "It takes 2 weeks.", "Cela prend 2 semaines.", "Cela prend quinze jours."),
    ("en-fr", "It takes a fortnight.", "Cela prend deux semaines.", "Cela prend quinze jours."),
    ("en-fr", "It takes fourteen days.", "Cela prend quatorze jours.", "Cela prend quinze jours."),
    ("fr-en", "Cela prend quinze jours.", "It takes fifteen days.", "It takes two weeks."),
    ("de-fr", "Das dauert zwei Wochen.", "Cela prend deux semaines.", "Cela prend quinze jours."),
    ("en-es", "It takes two weeks.", "Tarda dos semanas.", "Tarda quince días."),
    ("en-it", "It takes two weeks.", "Ci vogliono due settimane.", "Ci vogliono quindici giorni."),
    ("en-de", "It takes two weeks.", "Das dauert zwei Wochen.", "Das dauert vierzehn Tage."),
    ("en-de", "There are 12 eggs.", "Es gibt 12 Eier.", "Es gibt ein Dutzend Eier."),
    ("en-de", "There are six eggs.", "Es gibt sechs Eier.", "Es gibt ein halbes Dutzend Eier."),
    ("en-de", "There are 24 eggs.", "Es gibt 24 Eier.", "Es gibt zwei Dutzend Eier."),
    ("en-de", "There are twenty-four eggs.", "Es gibt vierundzwanzig Eier.", "Es gibt zwei Dutzend Eier."),
    ("de-en", "Es gibt zwei Dutzend Eier.", "There are twenty-four eggs.", "There are two dozen eggs."),
    ("en-pl", "There are 36 eggs.", "Jest 36 jaj.", "Są trzy tuziny jaj."),
    ("en-fr", "There are 18 dozen.", "Il y en a dix-huit douzaines.", "Il y en a 18 douzaines."),
    ("en-ja", "There are two dozen pencils.", "鉛筆が二ダースある。", "鉛筆が24本ある。"),
    ("en-de", "a two-dozen pack of eggs", "eine Zwei-Dutzend-Packung Eier", "eine 24er-Packung Eier"),
    ("en-nl", "half a dozen eggs", "een half dozijn eieren", "zes eieren"),
    ("en-es", "half a dozen eggs", "media docena de huevos", "seis huevos"),
]  # fmt: skip


@pytest.mark.parametrize(("langs", "source", "before", "after"), GOOD)
def test_the_same_number_in_another_form_passes(langs: str, source: str, before: str, after: str) -> None:
    assert not refused(source, before, after, langs)


BAD = [
    ("en-es", "3,500 people", "3.500 personas", "3,500 personas"),
    ("es-en", "3.500 personas", "3,500 people", "3.500 people"),
    ("en-de", "3,500 people", "3.500 Personen", "3,500 Personen"), ("en-de", "1.5 %", "1,5 %", "15 %"),
    ("en-es", "3 million", "3 millones", "3 mil millones"), ("en-fr", "40 billion", "40 milliards", "40 millions"),
    ("en-de", "3 million", "3 Millionen", "3 Milliarden"), ("en-de", "3 million", "3 Millionen", "3"),
    ("en-zh", "1.2 billion", "12亿", "1.2亿"), ("en-zh", "30,000", "3万", "3千"),
    ("es-en", "2 billones", "2 trillion", "2 billion"),
    ("en-hi", "2 crore", "2 करोड़", "2 लाख"), ("en-de", "3:30 pm", "15:30 Uhr", "3:30 Uhr"),
    ("en-fr", "9 PM", "21 h", "9 h"),
    ("en-ko", "6:15 p.m.", "오후 6시 15분", "오전 6시 15분"),
    ("en-hi", "97.42 per cent", "97.42 प्रतिशत", "९७.४ प्रतिशत"),
    ("en-de", "−5 °C", "−5 °C", "5 °C"), ("en-de", "minus 5", "-5", "5 Grad"), ("en-de", "5 °C", "5 °C", "-5 °C"),
    ("en-fr", "a change of -10%", "une variation de -10 %", "une variation de 10 %"),
    ("en-de", "version 2.10", "Version 2.10", "Version 2.1"), ("en-de", "Python 3.1", "Python 3.1", "Python 3.10"),
    ("en-de", "the G7", "die G7", "die G8"), ("en-de", "an MP3", "eine MP3", "eine MP4"),
    ("en-de", "COVID-19", "COVID-19", "COVID-18"),
    ("en-hi", "Covid-19 vaccine", "कोविड-19 वैक्सीन", "कोविड-89 वैक्सीन"),
    ("en-de", "6 states", "sechs Länder", "sechzehn Länder"),
    ("en-de", "six states", "sechs Länder", "sechzehn Länder"),
    ("en-fr", "the fifteenth", "le quinzième", "le cinquantième"),
    ("en-zh", "six states", "六个州", "十六个州"), ("en-es", "on Monday", "el lunes", "el martes"),
    ("en-de", "in March", "im März", "im April"),
    ("zh-en", "3月", "March", "April"), ("en-ru", "seven years", "семь лет", "восемь лет"),
    ("en-de", "1 apple, a pear", "1 Apfel, eine Birne", "Apfel, eine Birne"),
    ("en-ja", "six books", "六冊の本", "七冊の本"),
    ("en-de", "on 24 May, 0 days", "am 24. Mai, Tage", "am 240. Mai, Tage"),
    ("en-de", "at 12:00 am", "um 00:00 Uhr", "um 12:00 Uhr"), ("en-de", "at noon", "um 12 Uhr", "um 11 Uhr"),
    ("en-de", "at 8:30", "um 8:30 Uhr", "um halb acht"), ("en-de", "at 8:30", "um halb neun", "um halb zehn"),
    ("en-de", "½ cup", "½ Tasse", "¼ Tasse"), ("en-de", "1 1/2 cups", "1 1/2 Tassen", "1 Tasse"),
    ("en-it", "thirty years", "trent'anni", "quarant'anni"), ("en-hu", "two apples", "két alma", "három alma"),
    ("en-cs", "on Wednesday", "ve středu", "v neděli"), ("en-pl", "on Tuesday", "we wtorek", "w środę"),
    ("en-hu", "on Tuesday", "kedden", "szerdán"), ("en-pl", "in February", "w lutym", "w marcu"),
    ("en-cs", "in July", "v červenci", "v červnu"), ("en-ru", "in May", "в мае", "в июне"),
    ("et-en", "detsembris 1781", "in December 1781", "in September 1781"),
    ("en-es", "5 September 2019", "5 de sept. de 2019", "5 de oct. de 2019"),
    ("en-de", "3 cats and 5 dogs", "3 Katzen und 5 Hunde", "5 Katzen und 3 Hunde"),
    ("en-fr", "It takes two weeks.", "Cela prend deux semaines.", "Cela prend seize jours."),
    ("en-fr", "It takes three weeks.", "Cela prend trois semaines.", "Cela prend quinze jours."),
    ("en-de", "There are 24 eggs.", "Es gibt 24 Eier.", "Es gibt drei Dutzend Eier."),
    ("en-de", "There are three eggs.", "Es gibt drei Eier.", "Es gibt ein Dutzend Eier."),
    # a dozen beside another number is no multiple of it
    ("en-de", "two apples and a dozen eggs", "zwei Äpfel und ein Dutzend Eier", "zwei Äpfel und 24 Eier"),
    ("en-de", "two apples and a dozen eggs", "zwei Äpfel und ein Dutzend Eier", "zwei Äpfel und zehn Eier"),
    ("en-fr", "three men and a dozen women", "trois hommes et une douzaine de femmes", "trois hommes et 36 femmes"),
    ("en-de", "half of it and a dozen", "die Hälfte davon und ein Dutzend", "die Hälfte davon und sechs"),
]  # fmt: skip


@pytest.mark.parametrize(("langs", "source", "before", "after"), BAD)
def test_another_number_is_refused_and_its_repair_passes(langs: str, source: str, before: str, after: str) -> None:
    assert refused(source, before, after, langs)
    assert not refused(source, after, before, langs)


@pytest.mark.parametrize(
    ("langs", "source", "before", "after"),
    [
        ("en-zh", "Gusts of 80-85mph.", "阵风 80-85米/小时。", "阵风 80-85 英里/小时。"),
        ("zh-en", "需要30余万费用", "It cost $300,000.", "It cost 300,000 yuan."),
        ("en-zh", "37mm, and 7 and 37.", "37 毫米，7 毫米和 37 毫米。", "37 毫米，7 和 37。"),
        ("en-ru", "0.3mm - 0.5mm", "0,3 мм - 0,5 мм", "0,3-0,5 мм"),
        ("en-es", "5m-6m Muslims", "5m-6m musulmanes", "5-6 millones de musulmanes"),
        ("en-fr", "a rise of 20%", "une hausse de 20 %", "une hausse de 20 pour cent"),
        ("en-de", "by 20 to 30%", "um 20 % bis 30 %", "um 20 bis 30 %"),
        ("en-es", "5,000 people", "5000 personas", "5 mil personas"),
        ("en-de", "It is £5.", "Es sind £5.", "Es sind 5 Pfund."),
        ("zh-en", "酒精度52，95%好评", "52% alcohol, 95% liked it", "52 alcohol, 95% liked it"),
    ],
)
def test_a_unit_may_move_and_become_that_of_the_source(langs: str, source: str, before: str, after: str) -> None:
    assert not refused(source, before, after, langs, "units")


@pytest.mark.parametrize(
    ("langs", "source", "before", "after"),
    [
        ("en-es", "a 20-yard kick", "una patada de 20 yardas", "una patada de 20 metros"),
        ("en-ja", "The discount is 20%.", "割引は20%です。", "割引は20です。"),
        ("zh-de", "五公里", "5 km", "5 Meilen"), ("en-th", "5 dollars", "5 $", "5 €"),
        ("en-it", "5 miles", "5 miglia", "5 chilometri"), ("en-pl", "5 miles", "5 mil", "5 kilometrów"),
        ("en-nl", "5 miles", "5 mijl", "5 kilometer"), ("en-ja", "5 km", "5キロ", "5マイル"),
        ("en-ja", "5 kg", "5キロ", "5ポンド"), ("en-sv", "5 km", "5 kilometer", "5 mil"),
        ("en-de", "It is £5.", "Es sind 5 Pfund.", "Es sind 5 Euro."),
        ("en-de", "It rose by 20 % yesterday.", "Es stieg um 20 % gestern.", "Es stieg um 20 gestern."),
        ("en-ja", "a 20% increase", "20%増", "20増"),
    ],
)  # fmt: skip
def test_a_unit_of_the_source_is_kept(langs: str, source: str, before: str, after: str) -> None:
    before = before.replace("20 yardas", "20 yard")
    assert refused(source, before, after, langs, "units")


@pytest.mark.parametrize(
    ("text", "lang", "values"),
    [
        ("1.234", "de", ("1234",)), ("1.234", "en", ("1.234",)), ("1,234", "en", ("1234",)),
        ("1,234", "ru", ("1.234",)),
        ("1.234", "", ("1234", "1.234")), ("1.234", "de-CH", ("1.234",)), ("3,500", "es-MX", ("3500",)),
        ("3 Billionen", "de", ("3000000000000",)), ("3 billion", "en", ("3000000000",)), ("5m", "en", ("5", "5000000")),
        ("3 ล้าน", "th", ("3000000",)), ("මිලියන 10.94ක", "si", ("10940000",)), ("3万5000", "zh", ("35000",)),
        ("5千米", "zh", ("5",)),
        ("3 Hunde", "de", ("3",)), ("5 миллионов", "ru", ("5000000",)), ("12 pm", "en", ("12",)),
        ("3 дня", "ru", ("15", "3")),
    ],
)  # fmt: skip
def test_a_number_is_read_by_the_customs_of_its_language(text: str, lang: str, values: tuple[str, ...]) -> None:
    assert [number.values for number in numbers(text, lang)] == [values]


SEPARATORS = {lang: number_words.separators(lang) for lang in ("en", "de", "fr", "es", "ru", "hi", "ar", "de-CH", "sv")}
LANGUAGES = st.sampled_from(sorted(SEPARATORS))


@given(st.integers(0, 10**12), st.integers(0, 99), LANGUAGES, LANGUAGES)
def test_a_number_matches_itself_in_the_format_of_every_language(whole: int, cents: int, one: str, other: str) -> None:
    texts = []
    for lang in (one, other):
        thousands, decimal = SEPARATORS[lang]
        texts.append(f"{whole:,}.{cents:02}".translate({ord(","): thousands or "\u00a0", ord("."): decimal}))
    assert faults(*texts, one, other) == ((), (), ())


@given(st.integers(0, 10**9), st.integers(0, 8), st.integers(1, 9), LANGUAGES)
def test_one_changed_digit_is_always_refused(number: int, place: int, shift: int, lang: str) -> None:
    digits = str(number)
    place %= len(digits)
    changed = digits[:place] + str((int(digits[place]) + shift) % 10) + digits[place + 1 :]
    thousands = SEPARATORS[lang][0] or "\u00a0"
    before, after = (f"x {int(text):,} y".replace(",", thousands) for text in (digits, changed))
    assert int(changed) == number or refused(f"x {number:,} y", before, after, f"en-{lang}")


def test_roman_and_circled_numerals_are_read() -> None:
    assert other_numerals("Louis XVIII, chapter IX, MIX, CIVIL, ③") == {"18", "9", "1009", "3"}


def test_a_language_without_a_table_is_read_by_its_digits() -> None:
    assert not refused("3 million", "3 milions", "3 milions!", "en-lld")
    assert refused("3 million", "3 milions", "4 milions", "en-lld")
