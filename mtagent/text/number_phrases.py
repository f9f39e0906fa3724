"""Numbers in one word that are no number words: double, ढाई (two and a half), hora e meia (an hour and a half).

They say what a number in digits may have become: none of them is certain, as many have other senses.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import regex

from mtagent.text.folding import fold

# Language, value and forms. + and - add to the number word that follows; a word that ends in * may go on.
_PHRASES = """
ar: 12: دزينة دزينات
ar: 2: ضعف ضعفي* الضعف ضعفا مرتين مرتان يومين يومان ساعتين ساعتان أسبوعين شهرين سنتين عامين; 3: ثلاثة_أضعاف
ar: 1.5: ساعة_ونصف سنة_ونصف شهر_ونصف يوم_ونصف; +0.5: ونصف والنصف; +0.25: وربع; -0.25: إلا_ربعا
bg: 12: дузин*
bg: 2: двойн* удво* двукратн*; 3: тройн* утро*; 1.5: час_и_половина; +0.5: и_половина
bn: 12: ডজন*
bn: 2: দ্বিগুণ; 1.5: দেড়; 2.5: আড়াই; +0.5: সাড়ে; +0.25: সোয়া; -0.25: পৌনে
ca: 2: quinze_dies; 14: quinze_dies; 12: dotzen*
ca: 2: doble doblar* duplic*; 3: triple triplic*; +0.5: i_mig i_mitja; 1.5: hora_i_mitja any_i_mig
cs: 12: tucet* tuct*
cs: 7: týden týdne; 14: dva_týdny dvou_týdnů; 24: nonstop; 500000: půlmilion* půlmilión*
cs: 2: dvojnás* zdvojnás* dvakrát dvojit*; 3: trojnás* ztrojnás* třikrát trojit*; 4: čtyřnás*
cs: +0.5: a_půl a_pul; 1.5: půldruh* jedenapůl*
da: 2: fjorten_dage; 12: dusin*
da: 7: en_uge; 14: to_uger; 24: døgn*; 2: dobbelt* fordobl*; 3: tredobl* tredobbelt*; +0.5: og_en_halv
de: 1: acht_tage acht_tagen; 2: vierzehn_tage vierzehn_tagen; 7: acht_tage acht_tagen; 12: dutzend*
de: 24: rund_um_die_uhr tagundnacht; 7: eine_woche einer_woche; 14: zwei_wochen
de: 2: doppel* verdoppel* zweifach* zweimal; 3: dreifach* verdreifach* dreimal; 4: vierfach* vervierfach*
de: 5: fünffach* verfünffach*; 10: zehnfach* verzehnfach*; +0.5: einhalb und_eine_halbe
de: 1.5: anderthalb* eineinhalb*
el: 2: δεκαπέντε_μέρες δεκαπέντε_ημέρες δεκαπενθήμερ*; 14: δεκαπέντε_μέρες δεκαπέντε_ημέρες δεκαπενθήμερ*
el: 12: ντουζίν* δωδεκάδ*
el: 2: διπλάσι* διπλ* διπλασί*; 3: τριπλ*; +0.5: και_μισή και_μισό; 1.5: ώρα_και_μισή
en: 2: fortnight* fourteen_days
en: 24: round_the_clock around_the_clock; 7: one_week a_week; 14: two_weeks
en: 2: double doubl* twice twofold pair couple both; 3: triple tripl* thrice threefold trio
en: 4: quadruple quadrupl* fourfold; 5: fivefold; 10: tenfold decade decades; 100: century centuries
en: 12: dozen dozens; +0.5: and_a_half; 1.5: hour_and_a_half; 14: fortnight*
es: 1: ocho_días; 2: quince_días; 7: ocho_días; 14: quince_días
es: 7: una_semana; 14: dos_semanas; 2: doble dobles duplic* doblar* par ambos ambas; 3: triple triples triplic*
es: 4: cuádruple cuadruplic*; 12: docena*; 15: quincena*; 10: década* decena*; +0.5: y_media y_medio
es: 1.5: hora_y_media año_y_medio
et: 12: tosin*
et: 2: kahekord* topelt*; 3: kolmekord*; 1.5: poolteis*; +0.5: ja_pool
fa: 12: دوجین
fa: 2: دوبرابر دو‌برابر; +0.5: و_نیم ونیم
fi: 12: tusina*
fi: 2: kaksinker* tuplaa* tupla* kahdesti; 3: kolminker* kolmesti; 1.5: puolitoista puolentoista
fi: +0.5: ja_puoli
fr: 1: huit_jours; 2: quinze_jours; 7: huit_jours; 14: quinze_jours
fr: 7: une_semaine; 14: deux_semaines; 2: double doubles doublé* doubler* deux_fois; 3: triple triples tripl*
fr: 4: quadruple*; 10: décuple* dizaine*; 12: douzaine*; 15: quinzaine*; 20: vingtaine*; 100: centaine*
fr: +0.5: et_demie et_demi; 1.5: heure_et_demie
gl: 2: quince_días; 14: quince_días; 12: ducia*
gl: 2: dobre duplic*; +0.5: e_media e_medio; 1.5: hora_e_media
gu: 2: બમણું બમણા; 1.5: દોઢ; 2.5: અઢી; +0.5: સાડા; +0.25: સવા; -0.25: પોણા
he: 12: תריסר
he: 2: כפול* הכפל* פעמיים יומיים שעתיים שבועיים חודשיים שנתיים; 3: פי_שלושה; +0.5: וחצי; 1.5: שעה_וחצי שנה_וחצי
he: +0.25: ורבע
hi: 2: दोगुन* दुगुन* दुगन* दोहर* दोनों; 3: तिगुन* तीनगुन*; 4: चौगुन*; 1.5: डेढ़ डेढ; 2.5: ढाई अढ़ाई ढ़ाई; +0.5: साढ़े साढे
hi: +0.25: सवा; -0.25: पौने; 1.25: सवा; 0.75: पौन पौना; 12: दर्जन*
hr: 12: tucet*
hr: 2: dvostruk* udvostruč* dvaput dvoje; 3: trostruk* utrostruč*; +0.5: i_pol i_pola; 1.5: sat_i_pol
hu: 12: tucat*
hu: 2: dupl* kétszer* megkétszer* kettős*; 3: tripl* háromszor* megháromszor*; 1.5: másfél*; +0.5: és_fél
id: 2: ganda berganda menggandak* dobel lipat_dua; 3: tiga_kali; +0.5: setengah; 12: lusin; 10: dekade
it: 1: otto_giorni; 2: quindici_giorni; 7: otto_giorni; 14: quindici_giorni
it: 7: una_settimana; 14: due_settimane; 2: doppi* raddoppi* duplic* due_volte entrambi entrambe paio
it: 3: tripl*; 4: quadrupl*; 10: decina decine; 12: dozzin*; +0.5: e_mezza e_mezzo
it: 1.5: ora_e_mezza anno_e_mezzo
ja: 2: 倍増 ダブル ペア 両方 倍 二つ; 3: トリプル; 0.5: 半; +0.5: 半; 12: ダース
ko: 1: 하루; 2: 이틀 두_배 갑절 곱절; 3: 사흘 세_배; 4: 나흘; 5: 닷새; 6: 엿새; 7: 이레 일주일; 8: 여드레
ko: 9: 아흐레; 10: 열흘; 15: 보름; +0.5: 반; 12: 다스
lt: 12: tuzin*
lt: 2: dvigub* padvigub*; 3: trigub* patrigub*; 1.5: pusantr*; +0.5: su_puse
lv: 12: ducis duci dučus duču dučiem
lv: 2: dubult* divkārš* divreiz*; 3: trīskārš*; 1.5: pusotr*; +0.5: ar_pusi
mr: 12: डझन*
mr: 2: दुप्पट; 3: तिप्पट; 1.5: दीड; 2.5: अडीच; +0.5: साडे; +0.25: सव्वा; -0.25: पावणे
ne: 2: दोब्बर; 1.5: डेढ; 2.5: अढाई; +0.5: साढे; +0.25: सवा; -0.25: पौने
nl: 2: veertien_dagen; 7: acht_dagen
nl: 7: één_week een_week; 14: twee_weken; 24: etmaal; 2: dubbel* verdubbel* tweemaal tweevoud*
nl: 3: drievoud* verdrievoudig* driemaal; 1.5: anderhal*; 12: dozijn*; +0.5: en_een_half en_een_halve
no: 2: fjorten_dager
no: 7: en_uke; 14: to_uker; 24: døgn*; 2: dobbel* doble* fordobl*; 3: tredobl* trippel*; 1.5: halvann*
no: +0.5: og_en_halv og_et_halvt; 12: dusin
pa: 2: ਦੁੱਗਣ*; 1.5: ਡੇਢ; 2.5: ਢਾਈ; +0.5: ਸਾਢੇ; +0.25: ਸਵਾ; -0.25: ਪੌਣੇ
pl: 7: tydzień tygodnia; 14: dwa_tygodnie dwóch_tygodni; 24: dob* całodobow*; 500000: półmilion*
pl: 2: dwukrotn* podwój* podwoi* podwaj* dwakroć dwojg*; 3: trzykrotn* potrój* potroi*; 4: czterokrotn*
pl: 12: tuzin*; 1.5: półtor*; +0.5: i_pół
pt: 1: oito_dias; 2: quinze_dias; 7: oito_dias; 14: quinze_dias
pt: 7: uma_semana; 14: duas_semanas; 2: dobro dobrar* dobrou duplo dupla duplos duplas duplic* ambos ambas par
pt: 3: triplo* tripla* triplic*; 4: quádruplo* quadruplic*; 10: década* dezena*; 12: dúzia*; 15: quinzena*
pt: +0.5: e_meia e_meio; 1.5: hora_e_meia ano_e_meio mês_e_meio dia_e_meio semana_e_meia
ro: 2: dubl* dublu; 3: tripl*; +0.5: și_jumătate şi_jumătate; 1.5: oră_și_jumătate; 12: duzin*
ru: 7: неделя неделю недели; 14: две_недели двух_недель; 24: сутки суток круглосуточно; 500000: полмиллион*
ru: 500: полтысяч*; 500000000: полмиллиард*
ru: 2: вдвое вдвойне двойн* двукратн* дважды удво* двоих двое оба обе пара
ru: 3: втрое тройн* трёхкратн* трижды утро* трое; 4: вчетверо четырёхкратн* четверо; 5: впятеро
ru: 10: десятикратн* вдесятеро десяток; 12: дюжин*; 1.5: полтор* полутор*; +0.5: с_половиной; 100: сотня сотни
sk: 12: tucet* tuct*
sk: 2: dvojnás* zdvojnás* dvakrát; 3: trojnás* trikrát; +0.5: a_pol
sl: 12: ducat*
sl: 2: dvojn* podvoj* dvakrat; 3: trojn* potroj*; +0.5: in_pol
sr: 12: туцет* tucet*
sr: 2: двостру* удвостру* dvostruk* udvostruč*; 3: тростру*; +0.5: и_по и_пол i_po i_pol; 1.5: сат_и_по
sv: 2: fjorton_dagar
sv: 7: en_vecka; 14: två_veckor; 24: dygn* dygnet; 2: dubbel* dubbl* fördubbl*; 3: tredubb* trefald*
sv: 1.5: anderthal* halvannan; +0.5: och_en_halv och_ett_halvt; 12: dussin*
ta: 2: இரட்டிப்* இருமடங்*; 1.5: ஒன்றரை; 2.5: இரண்டரை
te: 2: రెట్టింప*; 1.5: ఒకటిన్నర; 2.5: రెండున్నర
th: 2: สองเท่า เท่าตัว; 1.5: ชั่วโมงครึ่ง ปีครึ่ง เดือนครึ่ง วันครึ่ง; +0.5: ครึ่ง; 12: โหล
tr: 2: iki_kat* ikiye çift* duble; 3: üç_kat* üçe; +0.5: buçuk*; 12: düzine*
uk: 7: тиждень тижня; 14: два_тижні двох_тижнів; 24: доба добу доби цілодобово; 500000: півмільйон*
uk: 2: вдвічі удвічі подвій* подвоє* подвоїв* двічі двоє обидва; 3: втричі потрій* тричі; 10: десяток
uk: 12: дюжин*; 1.5: півтор*; +0.5: з_половиною; 4: вчетверо
ur: 12: درجن
ur: 2: دوگنا دگنا دوگنی; 1.5: ڈیڑھ; 2.5: ڈھائی; +0.5: ساڑھے; +0.25: سوا; -0.25: پونے
vi: 2: gấp_đôi nhân_đôi đôi; 3: gấp_ba; +0.5: rưỡi; 1.5: tiếng_rưỡi giờ_rưỡi năm_rưỡi; 12: tá
zh: 2: 翻番 翻倍 加倍 双倍 雙倍 翻一番 倍增; 0.5: 半; +0.5: 半
"""
_SAME_AS = {"nb": "no", "nn": "no"}
_WITHOUT_SPACES = frozenset(["ja", "ko", "th", "zh"])
_WORD = regex.compile(r"[\p{L}\p{M}]++")
_SHORTEST_STEM = 3

Value = tuple[bool, float]
"""A number, or, where it begins with true, a part of one that is added to the number word beside it."""


class Phrases(NamedTuple):
    """What the phrases of a text say: numbers, and parts of one that are added to a number word beside them."""

    values: list[float]
    added: list[float]


class _Table(NamedTuple):
    """The phrases of a language by their form."""

    words: dict[str, list[Value]]
    stems: dict[str, list[Value]]
    several_words: dict[str, list[tuple[str, Value]]]
    """Phrases of several words by the first of them."""


@lru_cache(maxsize=128)
def _table(lang: str) -> _Table | None:
    lang = _SAME_AS.get(lang, lang)
    lines = [line.partition(": ")[2] for line in _PHRASES.split("\n") if line.startswith(f"{lang}: ")]
    if not lines:
        return None
    words, stems = defaultdict[str, list[Value]](list), defaultdict[str, list[Value]](list)
    several_words = defaultdict[str, list[tuple[str, Value]]](list)
    for entry in ";".join(lines).split(";"):
        number, _, forms = entry.strip().partition(": ")
        value = number[0] in "+-", float(number)
        for form in map(fold, forms.split()):
            first, _, rest = form.partition("_")
            if rest:
                several_words[first].append((form.replace("_", " "), value))
            elif form.endswith("*"):
                stems[form[:-1]].append(value)
            else:
                words[form].append(value)
    return _Table(words, stems, several_words)


@lru_cache(maxsize=16_384)
def _values_of(word: str, lang: str) -> tuple[Value, ...]:
    """The numbers that a single folded word says."""
    table = _table(lang)
    if table is None:
        return ()
    values = table.words.get(word)
    if values is None:
        stems = (word[:size] for size in range(len(word), _SHORTEST_STEM - 1, -1))
        values = next((table.stems[stem] for stem in stems if stem in table.stems), [])
    return tuple(values)


def phrases(folded: str, lang: str) -> Phrases:
    """What the phrases of a ``folded`` text, in the language ``lang`` (``pt``), say."""
    found = Phrases([], [])
    table = _table(lang)
    if table is None:
        return found
    values: list[Value] = []
    if lang in _WITHOUT_SPACES:
        forms = [
            *table.words.items(),
            *((form, [value]) for forms in table.several_words.values() for form, value in forms),
        ]
        for form, its_values in forms:
            values += its_values * folded.count(form)
    else:
        words = _WORD.findall(folded)
        for word in words:
            values += _values_of(word, lang)
        for first in table.several_words.keys() & set(words):
            plain = " ".join(words)
            for form, value in table.several_words[first]:
                values += [value] * f" {plain} ".count(f" {form} ")
    for is_added, number in values:
        (found.added if is_added else found.values).append(number)
    return found
