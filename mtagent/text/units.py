"""Units of measurement and currencies that stand beside a number."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from typing import NamedTuple

import regex

from mtagent.text.scripts import UNSPACED, language_of, remembered

# Kind of quantity, unit, and ways to write it. A word that ends in * may go on (inflection). What is written alike in
# several lines is ambiguous: キロ is the unit that the source names, or else the one that comes first.
# A kind holds all units that one may be taken for another of: an area and a volume are both of the kind "space".
_UNITS = """
space km: km км किमी 公里 千米 キロメートル 킬로미터 كم kilomet* kilómet* kilomèt* quilômet* quilómet* chilomet*
space km: километр* किलोमीटर किलोमिटर কিলোমিটার كيلومتر* กิโลเมตร กม קילומטר*
space km: кілометр* kílómet* kilomét*
space m: m м 米 メートル 미터 meter* metre* mètre* metro* metr metrů метр* मीटर मिटर মিটার متر* أمتار เมตร מטר*
space m: μέτρα
space dm: dm дм decimet* dezimeter* дециметр*
space cm: cm см 厘米 センチ センチメートル 센티미터 centimet* centímet* centimèt* zentimeter* sentímet* सेंटीमीटर सेमी
space cm: сантиметр* سنتيمتر* سم เซนติเมตร
space mm: mm мм 毫米 ミリ ミリメートル 밀리미터 millimet* milímet* millimèt* миллиметр* міліметр* मिलीमीटर मिमी
space mm: مليمتر* ملم มิลลิเมตร
space µm: µm μm мкм 微米 マイクロメートル micromet* micrómet* micromèt* mikromet* микрометр* micron* micrones
space µm: мікрометр*
space nm: nm нм 纳米 奈米 ナノメートル nanomet* nanómet* nanomèt* нанометр*
space mi: mi mile miles 英里 マイル 마일 मील meile* milla millas milha milhas míl* миля* мили миль mílur mílna
space mi: मील माइल মাইল ميل* أميال ไมล์ מייל*
space ft: ft feet foot 英尺 フィート 피트 फीट fuß pie pies pés фут* Fuß फुट फ़ुट ফুট قدم* أقدام ฟุต
space in: inch inches 英寸 インチ 인치 zoll palec palce palců pulgada* polegada* дюйм* इंच ইঞ্চি بوصة بوصات นิ้ว
space yd: yd yard yards 码 ヤード yarda* Yards गज ياردة ياردات หลา ярд*
space nmi: nmi sm 海里 seemeile* seemil* sjømil*
space ha: ha га 公顷 公頃 ヘクタール 헥타르 hectare* hectár* hektar* hektár* hehtaari* hectáreas ettar* гектар*
space ha: हेक्टेयर هكتار*
space ha: เฮกตาร์
space acre: acre acres ac 英亩 英畝 エーカー 에이커 akr* акр* acro acri एकड़ فدان* فدادين acro* เอเคอร์
space m²: qm mq 平米 坪米 ㎡
space m³: cbm mc ㎥
space cm³: ccm cc
space l: l L л 升 公升 リットル 리터 liter* litre* litro* litr* литр* літр* लीटर লিটার لتر* ลิตร
space hl: hl гл hectolit* hektolit*
space dl: dl dL дл 分升 デシリットル decilit* decílit* dezilit* децилитр* desilit*
space cl: cl cL сл centilit* centílit* zentilit* сантилитр* senttilit*
space ml: ml mL мл 毫升 ミリリットル ミリ 밀리리터 millilit* mililit* mililít* milílit* миллилитр* мілілітр*
space ml: मिलीलीटर मिली
space ml: ملليلتر* مليلتر* มิลลิลิตร
space µl: µl μl µL μL мкл 微升 マイクロリットル microlit* microlít* mikrolit* микролитр*
space gal: gal gallon* gallone* galón galones галлон* 加仑 ガロン
space pint: pt pint pints pinta pintas pinte* пинт*
space tsp: tsp tsps teaspoon* 茶匙 小匙 小さじ 작은술 티스푼
space tbsp: tbsp tbsps tablespoon* 汤匙 湯匙 大匙 大さじ 큰술 테이블스푼
space cup: cup cups 杯 カップ 컵
mass kg: kg кг किग्रा 公斤 千克 キロ キログラム 킬로그램 كجم kilogram* kilogramm* quilo* kilo kilos kilá килограмм*
mass kg: кілограм* किलोग्राम किलो কেজি কিলোগ্রাম كيلوغرام* كيلوجرام* كغم كغ กิโลกรัม กก
mass g: g г 克 グラム 그램 gram grams gramm gramme* gramo* gramas грамм* грам* ग्राम গ্রাম غرام* جرام*
mass mg: mg мг 毫克 ミリグラム 밀리그램 milligram* miligram* milligramm* миллиграмм* міліграм* मिलीग्राम ملغ
mass mg: ملليغرام* มิลลิกรัม
mass µg: µg μg mcg мкг 微克 マイクログラム 마이크로그램 microgram* microgramm* mikrogram* mikrogramm*
mass µg: микрограмм* мікрограм*
mass µg: माइक्रोग्राम ميكروغرام* ไมโครกรัม
mass ng: ng нг 纳克 ナノグラム nanogram* нанограмм*
mass IU: IU IE UI МЕ
mass mol: mol mole moles моль* 摩尔 モル
mass mmol: mmol ммоль 毫摩尔 ミリモル millimol* milimol* миллимоль
mass µmol: µmol μmol мкмоль 微摩尔 マイクロモル micromol* mikromol*
mass nmol: nmol нмоль
mass lb: lb lbs pound pounds 磅 ポンド 파운드 pfund libra libras фунт* funt* पाउंड পাউন্ড رطل* أرطال ปอนด์
mass oz: oz ounce ounces 盎司 オンス unze* onza* унци* унці*
mass t: t т tonne tonnes ton tons tonnen tonelada* tonnellat* tona tony tonn тонн* トン 吨 噸 톤 टन طن أطنان ตัน
space km: キロ
temperature °C: °C ℃ ºC Celsius Celsia Celsjusza Цельси* Цельсі* 摄氏度 攝氏 摄氏 セ氏 섭씨 सेल्सियस مئوية سيلسيوس
temperature °C: เซลเซียส
temperature °C: צלזיוס
temperature °F: °F ℉ ºF Fahrenheit Fahrenheita Фаренгейт* 华氏度 华氏 華氏 カ氏 화씨 फ़ारेनहाइट फारेनहाइट फ़ारेनहाइट
temperature °F: فهرنهايت ฟาเรนไฮต์ פרנהייט
temperature K: Kelvin* Кельвин*
share %: % ％ ٪ percent procent* prozent* porcent* pourcent* процент* відсотк* prósent* प्रतिशत パーセント
share %: 퍼센트 بالمئة بالمائة শতাংশ เปอร์เซ็นต์
share ‰: ‰ promille*
share pp: pp prozentpunkt* procentpoint* procentpunkt* procentenhet* prosentpoeng* prosenttiyksik* ポイント
share pp: 百分点 個百分點 个百分点
data bit: bit bits бит* 比特
data B: byte bytes байт* 字节
data kbit: kbit Kbit kb Kb kbps Kbps кбит
data Mbit: Mbit Mb Mbps Мбит megabit* мегабит* 兆比特 メガビット 메가비트
data Gbit: Gbit Gb Gbps Гбит gigabit* гигабит* 吉比特 ギガビット 기가비트
data KB: KB kB КБ KiB kilobyte* キロバイト
data MB: MB Mo МБ MBps MiB megabyte* мегабайт* メガバイト 메가바이트
data GB: GB Go ГБ GiB gigabyte* гигабайт* ギガバイト 기가바이트
data TB: TB To ТБ TiB terabyte* терабайт* テラバイト
screen px: px pixel* píxel* пиксел* 像素 ピクセル 픽셀
screen pt: pt
screen dpi: dpi
screen ppi: ppi
energy mW: mW мВт
energy W: W Вт ワット watt* vatio* ватт* 瓦 와트
energy kW: kW кВт キロワット kilowatt* kilovatio* киловатт* 千瓦 킬로와트
energy MW: MW МВт megawatt* мегаватт* 兆瓦
energy GW: GW ГВт
energy hp: hp PS CV bhp horsepower pferdestärk* 马力 馬力
energy Wh: Wh Втч
energy kWh: kWh кВтч kilowattstunde* kilowattheure* 千瓦时 度电
energy MWh: MWh МВтч
energy mV: mV мВ millivolt*
energy V: V В volt* voltio* вольт* 伏 伏特 ボルト 볼트 वोल्ट فولت
energy kV: kV кВ kilovolt* киловольт*
energy µA: µA μA мкА
energy mA: mA мА 毫安 ミリアンペア milliamp* miliamp* миллиампер*
energy A: A А amp amps ampere* amperio* ампер* 安 安培 アンペア 암페어 एम्पियर أمبير
energy mAh: mAh мАч 毫安时 毫安時 ミリアンペア時
energy Ah: Ah Ач 安时 アンペア時 amperestunde*
energy J: J Дж joule* julio* джоул*
energy kJ: kJ кДж 千焦 キロジュール kilojoule* kilojulio* килоджоул*
energy cal: cal кал calorie calories caloría calorías kalori* калори* カロリー 칼로리
energy kcal: kcal ккал 千卡 大卡 キロカロリー 킬로칼로리 kilocalor* kilokalor* килокалори*
energy Ω: Ω ohm ohms Ом
energy kΩ: kΩ кОм
energy MΩ: MΩ МОм
force N: N Н newton newtons
force kN: kN кН
force Nm: Nm Нм
pressure Pa: Pa Па pascal*
pressure hPa: hPa гПа
pressure kPa: kPa кПа
pressure MPa: MPa МПа
pressure bar: bar bars bara barów bares бар бара バール
pressure mbar: mbar мбар millibar*
pressure psi: psi PSI
pressure atm: atm атм
pressure mmHg: mmHg
sound dB: dB дБ decibel* Dezibel децибел*
frequency Hz: Hz Гц hertz герц
frequency kHz: kHz кГц
frequency MHz: MHz МГц
frequency GHz: GHz ГГц
frequency rpm: rpm
speed km/h: km/h kmh км/ч км/год kph
speed mph: mph
speed m/s: m/s м/с
speed kn: kn knot knots
time s: s sec secs second seconds sekund* seconde* segundo* секунд* 秒 秒钟 秒鐘 초 ثانية ثوان सेकंड วินาที secondi
time s: secondo
time min: min minute minutes minut* minuto* мин минут* хвилин* 分钟 分 分鐘 分間 분 دقيقة دقائق मिनट นาที minuti
time h: h hr hrs hour hours stunde* heure* hora horas hodin* час часа часов годин* 小时 小時 時間 鐘頭 시간 ساعة
time h: ساعات
time h: घंटे घंटा घंटों ชั่วโมง ore ora
time day: 天 日間 일 يوم أيام दिन दिनों วัน วันทำการ
time week: 周 週 週間 星期 礼拜 주 주간 أسبوع أسابيع सप्ताह हफ़्ते हफ्ते สัปดาห์
time month: 个月 個月 か月 ヶ月 カ月 ヵ月 ケ月 ヶ月間 か月間 개월 달 شهر أشهر شهور महीने महीना महीनों เดือน
time year: 年 年間 년 سنة سنوات عام أعوام साल वर्ष वर्षों ปี
time ms: ms мс 毫秒 ミリ秒 밀리초 millisec* milliseconde* millisekund* milisegundo*
time µs: µs μs мкс 微秒
money $: $ US$ USD dollar* dólar* доллар* долар* 美元 ドル 달러 डॉलर دولار* ডলার ดอลลาร์
money A$: A$ AU$ AUD 澳元 豪ドル
money C$: C$ CA$ CAD 加元
money NZ$: NZ$ NZD
money S$: S$ SGD
money HK$: HK$ HKD 港元 港币 港幣 香港ドル
money NT$: NT$ TWD 新台币 新臺幣
money MX$: MX$ MXN
money R$: R$ BRL reais reales
money €: € EUR euro* евро євро 欧元 ユーロ 유로 यूरो يورو ইউরো ยูโร avro eura eurų
money £: £ GBP sterling pound pounds pfund libra libras фунт* funt* ポンド 英镑 英鎊 파운드 पाउंड جنيه* ปอนด์
money ¥: ¥ ￥ JPY 日元 日圓 円 yen yenes йен* иен* エン 엔 येन ين เยน
money 元: 元 CNY RMB yuan* 人民币 人民幣 юан* 위안 युआन يوان หยวน ¥ ￥ 人民元
money ₹: ₹ INR rupee* rupie* рупи* 卢比 盧比 ルピー 루피 रुपये रुपए रुपया روبية รูปี
money ₴: ₴ UAH гривн* hryvnia*
money ₽: ₽ RUB рубл* rubl* rouble* 卢布 ルーブル 루블
money ₩: ₩ KRW 원 won wones вон 韩元 ウォン
money CHF: CHF SFr sFr franken schweizerfranc*
money zł: zł PLN złot* zlot* злот* ズウォティ 兹罗提
money Kč: Kč CZK korun koruna koruny
money Ft: Ft HUF forint*
money SEK: SEK kr kronor kron*
money NOK: NOK kr kroner
money DKK: DKK kr kroner
money ISK: ISK krón*
money RON: RON lei leu
money ₺: ₺ TRY TL lira* lirası лир* 里拉 リラ
money ₪: ₪ ILS NIS shekel* schekel* шекел* שקל* שקלים
money ฿: ฿ THB baht บาท 泰铢 バーツ
money ₫: ₫ VND đồng 越南盾 ドン
money Rp: Rp IDR rupiah
money RM: RM MYR ringgit
money ₱: ₱ PHP
money ZAR: ZAR
money SAR: SAR ريال riyal*
money AED: AED درهم دراهم dirham*
money EGP: EGP
"""


# The same for words that are no units in other languages, or other ones: mil is a thousand, a mile or ten kilometres.
_UNITS_OF = """
ar: °C مئوية
bg: day ден дни дена; week седмиц*; month месец*; year годин*; h час часа часове; € евро
cs: mi mil míle mílí; ft stopa stop stopy; lb libra liber libry; oz unce uncí
cs: day den dny dnů dní dnech dnem; week týden týdn*; month měsíc*; year rok roky roku let roků letech; s vteřin*
cs: tsp lžičk* čl; tbsp lžíc* lžic*; cup hrn*; hp koní; acre akr*
da: 10km mil; ft fod; in tomme tommer; lb pund; £ pund; g gram
da: s sekund*; h time timer timers; day dag dage døgn; week uge uger; month måned*; year år; tsp tsk teske*
da: tbsp spsk spiseske*; cup kop kopper; hp hk; DKK krone kroner kr
de: kg Kilo
de: day Tag Tage Tagen Tages; week Woche Wochen; month Monat Monate Monaten Monats; year Jahr Jahre Jahren Jahres
de: tsp TL Teelöffel*; tbsp EL Esslöffel*; cup Tasse Tassen; t Tonne Tonnen; hp PS; ha Hektar; acre Acre Acres
de: pp Prozentpunkt Prozentpunkte Prozentpunkten; CHF Franken Fr; Kč Kronen; SEK Kronen; NOK Kronen; DKK Kronen
el: mi μίλι μίλια; km χιλιόμετρ*; ft πόδια; in ίντσ*; kg κιλό κιλά; lb λίβρ*; £ λίρ* λίβρ*
el: s δευτερόλεπτ*; min λεπτό λεπτά λεπτών; h ώρα ώρες ωρών; day ημέρα ημέρες ημερών μέρες; week εβδομάδ*
el: month μήνα μήνας μήνες μηνών; year έτος έτη ετών χρόνια; € ευρώ; $ δολάρι*; % εκατό
en: day day days; week week weeks; month month months; year year years yr yrs; °C centigrade; ha hectare hectares
en: fortnight fortnight fortnights; decade decade decades; century century centuries
en: pp percentage; £ quid; hp horsepower hp; Mbit megabit megabits; ₺ lira; t ton tons tonne tonnes
es: s segundo segundos; day día días; week semana semanas; month mes meses; year año años; h hora horas
es: pp porcentual*; tsp cdta cdtas cdita cucharadit* cucharill*; tbsp cda cdas cucharada cucharadas; cup taza tazas
es: °C centígrado*
es: CHF franco francos; SEK corona coronas; NOK corona coronas; DKK corona coronas; Kč corona coronas; RON lei
es: century siglo siglos; decade década décadas; fortnight quincena*; ha hectárea*; acre acre acres; t toneladas
et: s sekund*; min minut*; h tund tundi tunni; day päev päeva päevad; week nädal*; month kuu kuud kuu
et: year aasta aastat
fi: mi maili*; in tuuma*; m metri*; lb pauna*; oz unssi*; g gramma*
fi: s sekunti*; min minuutti*; h tunti tuntia tunnin tunnit; day päivä* päivää; week viikko* viikkoa viikon
fi: t tonni*
fi: month kuukau* kuukautta; year vuosi vuotta vuoden vuodet; tsp tl teelusikal*; tbsp rkl ruokalusi*; l litra*
fi: dl desilitr*
fr: mi mille milles; ft pied pieds; in pouce pouces; lb livre livres; £ livre livres; oz once onces
fr: day jour jours journées; week semaine semaines; month mois; year an ans année années; KB Ko; bit bit bits; hp ch
fr: pp pourcentage; cup tasse tasses; CHF franc francs; century siècle siècles; decade décennie*; t tonne tonnes
he: s שניות שנייה; min דקות דקה; h שעות שעה; day ימים יום; week שבועות שבוע; month חודשים חודש; year שנים שנה
hi: h घंटा घंटे घंटों; s सेकंड सेकेंड; ₹ रुपये रुपए रुपया
hr: s sekund*; min minut*; h sat sata sati; day dan dana dani; week tjed*; month mjesec*; year godin*; € eura euro
hu: mi mérföld*; in hüvelyk*; m méter*; lb font*; £ font*; oz unci*
hu: s másodperc*; min perc perce perces percig; h óra órát órán órás
hu: day nap napot napon napja napos napig napra napos napi
hu: week hét hetet hétig héten hetes
hu: month hónap*; year év évet éves évig; tsp teáskan* kiskan* tk; tbsp evőkan* ek; l liter*; ml millilit*
hu: dl decilit*
id: mi mil; in inci
id: s detik; min menit; h jam; day hari; week minggu; month bulan; year tahun; Rp rupiah; ₹ rupee; t ton
it: mi miglio miglia; ft piede piedi; in pollice pollici; yd iarda iarde; m metri; kg chilo chili chilogramm*
it: g grammo grammi; lb libbra libbre; oz oncia once
it: s secondi secondo; min minuti minuto; h ora ore; day giorno giorni; week settiman*; month mese mesi
it: year anno anni
it: tsp cucchiaini cucchiaino; tbsp cucchiaio cucchiai; cup tazza tazze; °C centigrad*; ha ettaro ettari
it: acre acro acri
it: CHF franco franchi; century secolo secoli; l litro litri; ml millilitr*; km chilometr*; £ sterlin*; t tonnellat*
ja: ¥ 円
lt: day dien*; week savait*; month mėnes* mėn; year metų metai metus; h valand*; min minut*; s sekund*
nb: 10km mil; ft fot; in tomme tommer; lb pund; £ pund; g gram
nb: s sekund*; h time timer; day dag dager døgn; week uke uker; month måned*; year år; tsp ts teskje*
nb: tbsp ss spiseskje*
nb: cup kopp kopper; hp hk; NOK krone kroner kr
nl: mi mijl mijlen; ft voet; in duim; kg kilo; lb pond ponden; £ pond ponden
nl: s seconde*; min minuut minuten; h uur uren; day dag dagen; week week weken; month maand maanden; year jaar jaren
nl: tsp tl theelepel*; tbsp el eetlepel*; cup kop kopje kopjes kopp*; °C Celsius; hp pk; SEK kroon kronen
nl: pp procentpunt*; t ton
no: s sekund*; h time timer; day dag dager døgn; week uke uker; month måned*; year år; NOK krone kroner kr
pl: mi mila mile mil milę; ft stopa stopy stóp; in cal cale cali; yd jard*; m metr*; cm centymetr*; mm milimetr*
pl: g gram*; oz uncj*; gal galon*
pl: s sekund*; min minut*; h godzin* godz; day dzień dni dniach dnia; week tydzień tygodni* tygodnie
pl: month miesiąc* miesięcy*
pl: year rok lat lata latach roku; tsp łyżecz*; tbsp łyżk* łyżek; cup szklan*; °C Celsjusz*; ha hektar*; acre akr*
pl: hp KM koni; ml mililitr*; t ton tony tona tonę; CHF frank*; SEK koron*; NOK koron*; DKK koron*; Kč koron*
pl: € euro
pt: ft pé pés; yd jarda*; oz onça onças
pt: s segundo segundos; day dia dias; week semana semanas; month mês meses; year ano anos; h hora horas
pt: tsp colheradinha*; cup xícara* chávena*; CHF franco francos; R$ real reais; century século séculos
pt: acre acre acres
pt: SEK coroa coroas; NOK coroa coroas; DKK coroa coroas; Kč coroa coroas; % porcento; °C centígrado*; ha hectare*
ro: mi milă mile
ro: s secund*; min minut*; h ore oră ora; day zi zile zilele zilelor; week săptămân*; month lună luni
ro: year an ani ai; RON lei leu
ro: tsp linguriț*; tbsp lingur*; °C Celsius; t ton*; € euro
ru: s сек секунд*; day день дня дней дни днях дням дне; week недел*; month месяц*
ru: year год года лет году годы годах годов
ru: h ч час часа часов часах; cup стакан*; ¥ иен* йен*; t т тонн*; CHF франк*; SEK крон*; NOK крон*
ru: DKK крон*; Kč крон*; l л литр*; ft фут*; ha га гектар*; % процент*; century век века веков
sk: mi míľ*; ft stopa stôp stopy; lb libra libier libry
sk: s sekund*; min minút*; h hodin* hodín; day deň dni dní dňoch; week týžd*; month mesiac*
sk: year rok roky rokov roku
sk: tsp lyžičk* čl; tbsp lyžic*; hp koní
sl: day dan dni dneva dneh; week teden tedn*; month mesec*; year leto leta let; h ura ure ur; s sekund*; min minut*
sr: day дан дана дани dan dana dani; week недељ* nedelj*; month месец* mesec*; year годин* godin*
sr: h сат сата сати sat sata sati
sv: 10km mil; ft fot; in tum; lb pund; £ pund; oz uns
sv: s sekund*; min minut*; h timme timmar timmars timmen; day dag dagar dagars dygn dagen
sv: week vecka veckor veckors veckan
sv: month månad*; year år års året; tsp tsk tesked*; tbsp msk matsked*; cup kopp koppar; hp hk hästkraft*
sv: SEK krona kronor kr
sv: t ton; pp procentenhet*; ha hektar; acre tunnland acre
tr: mi mil; in inç
tr: s saniye*; min dakika* dk; h saat saatte saatlik; day gün günde günlük günü; week hafta*; month ay ayda aylık
tr: year yıl yılda yıllık
tr: € avro* euro*; $ dolar*; ₺ lira* TL; g gram*; kg kilogram* kilo; l litre*; ml mililitre*; cm santimetre*
tr: m metre*; km kilometre*
tr: m² metrekare*; m³ metreküp*; hp beygir*; t ton; °C santigrat Celsius; ha hektar; acre dönüm
uk: s с сек секунд*; day день дня днів дні днях; week тиж*; month місяц*; year рік року років роки роках
uk: h год годин*
uk: cup склян*; °C Цельсі*; CHF франк*; l л літр*; t т тонн*; ha га гектар*
vi: mi dặm; km kilômét ki-lô-mét
vi: s giây; min phút; h giờ tiếng; day ngày; week tuần; month tháng; year năm; t tấn; % phần; € euro; $ đô
"""


# Units of several words, and words for them that stand before the number (大さじ2).
_PHRASES = """
tsp: c. à c.|c. à café|cuillère à café|cuillères à café|cuillerée à café|cuillerées à café|colher de chá|colheres de chá
tsp: ч. л.|чайная ложка|чайные ложки|чайной ложки|чайных ложек|чайную ложку|чайна ложка|чайні ложки|чайних ложок
tsp: çay kaşığı|thìa cà phê|muỗng cà phê|tea spoon|tea spoons
tbsp: c. à s.|c. à soupe|cuillère à soupe|cuillères à soupe|cuillerée à soupe|cuillerées à soupe|colher de sopa
tbsp: colheres de sopa|ст. л.|столовая ложка|столовые ложки|столовой ложки|столовых ложек|столовую ложку
tbsp: столова ложка|столові ложки|столових ложок|yemek kaşığı|thìa canh|muỗng canh|table spoon|table spoons
hp: л. с.|к. с.|лошадиных сил|лошадиные силы|chevaux-vapeur
pp: percentage point|percentage points|процентных пункта|процентных пунктов|процентный пункт|punkty procentowe
pp: punktów procentowych|punti percentuali|pontos percentuais|puncte procentuale
fl oz: fl oz|fl. oz.|fluid ounce|fluid ounces
"""
_POWERS = {
    "²": "square squared sq quadrat* carré* carrées cuadrad* quadrad* kvadrat* vierkante kwadrat* čtverečn* štvorcov* "
    "neliö* négyzet* квадратн* кв pătra* metrekare वर्ग مربع* τετραγωνικ* vuông 平方 제곱 "
    "বর্গ சதுர चौरस ตาราง רבוע* persegi kvadratin* kvadrāt* ruut* fersjaga fermetr*",
    "³": "cubic cubed cu kubik* kubiek* cube* cúbic* cubi* kubisk* sześcienn* krychlov* kubick* kuutio* köb* кубическ* "
    "кубічн* куб घन مكعب* κυβικ* khối 立方 세제곱 "
    "מעוקב* kubin* kuup* ลูกบาศก์",
}
"""Words beside a length that make an area or a volume of it, or begin its name (Quadratmeter, 平方メートル)."""
_LENGTHS = frozenset(["km", "m", "dm", "cm", "mm", "µm", "nm", "mi", "ft", "in", "yd"])


class Quantity(NamedTuple):
    """A unit beside a number: ``text[start:end]`` is the unit, ``kind`` what it measures."""

    unit: str
    kind: str
    start: int
    end: int


Units = tuple[tuple[str, str], ...]
"""Units, each with its kind."""

_EXACT: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
_STEMS: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
"""The units, each with its kind, by language and form: ``pl mil``; by the form alone where any language has it."""
_KINDS = {
    "10km": "space", "century": "time", "decade": "time", "fl oz": "space", "fortnight": "time",
}  # fmt: skip
_PHRASE_UNITS: dict[str, str] = {}
_POWER_FORMS: dict[str, str] = {}
_LONGEST_STEM = 14


def _read_tables() -> None:
    """Fill the tables by form from those by unit."""
    for line in (*_UNITS.strip().split("\n"), *_UNITS_OF.strip().split("\n")):
        head, _, entries = line.partition(": ")
        kind, _, unit = head.partition(" ")
        lang = ""
        if unit:
            _KINDS[unit], entries = kind, f"{unit} {entries}"
        else:
            lang = f"{head} "
        for entry in entries.split(";"):
            name, *its_forms = entry.split()
            for form in its_forms:
                _add_form(form, lang, name)
    for line in _PHRASES.strip().split("\n"):
        unit, _, phrases = line.partition(": ")
        _PHRASE_UNITS.update(dict.fromkeys((phrase.replace(" ", "") for phrase in phrases.split("|")), unit))
    for power, forms in _POWERS.items():
        _POWER_FORMS.update((form.rstrip("*"), power) for form in forms.split())


def _add_form(form: str, lang: str, unit: str) -> None:
    known = (unit, _KINDS[unit])
    if form.endswith("*"):
        _STEMS[lang + form[:-1].casefold()].append(known)
        if not form.isascii():
            _EXACT[lang + form[:-1]].append(known)
    else:
        plain = form.casefold() if lang or len(form) > 4 else form
        _EXACT[lang + plain].append(known)


_read_tables()
_IS_UNSPACED = regex.compile(rf"[{UNSPACED}\p{{Hangul}}℃℉％￥㎡㎥]")
_UNSPACED = "|".join(map(regex.escape, sorted(filter(_IS_UNSPACED.match, _EXACT), key=len, reverse=True)))


def _phrases() -> str:
    """A pattern of the units of several words, whatever space is in them."""
    patterns = []
    for line in _PHRASES.strip().split("\n"):
        for phrase in line.partition(": ")[2].split("|"):
            patterns.append(r"[ \u00a0\u202f]?+".join(map(regex.escape, phrase.split(" "))))
    return "|".join(sorted(patterns, key=len, reverse=True))


def _power_words() -> str:
    """A pattern of the words for the square and the cube."""
    forms = []
    for words in _POWERS.values():
        forms += [form.replace("*", r"[\p{L}\p{M}]{0,5}+") for form in words.split()]
    return "|".join(sorted(forms, key=len, reverse=True))


_SPACE = r"[ \u00a0\u202f]"
_POWER_BEHIND = rf"[²³]|\^?[23](?![\d\p{{L}}]|[.,]\d)|{_SPACE}(?i:{_power_words()})(?![\p{{L}}\p{{M}}])"
_WORD = rf"(?:(?![{UNSPACED}\p{{Hangul}}])[\p{{L}}\p{{M}}])++"
_HAN_NUMERAL = "一二三四五六七八九十百千万亿萬億两兩几半数"
_BEHIND = regex.compile(
    rf"""
    (?:\d(?:{_SPACE}|-)?+ (?:[万亿萬億만억천]++)?+ | (?<=[{_HAN_NUMERAL}])(?=[{UNSPACED}]))
    (?:(?P<power>(?i:{_power_words()}))\.?{_SPACE}*+(?=\p{{L}}))?
    (?P<unit> km/h | m/s | км/ч | км/год | (?:A|AU|C|CA|NZ|S|HK|NT|MX|R|US)\$ | [%％٪‰℃℉$€£¥￥₹₴₽₩₺₪฿₫₱Ω]
      | [°º]{_SPACE}?[CF]\b | (?i:{_phrases()})(?![\p{{L}}\p{{M}}]) | {_UNSPACED} | {_WORD} )
    (?:(?P<behind>{_POWER_BEHIND}))?
    (?:(?P<slash>/)(?P<per>{_WORD}))?
    """,
    flags=regex.VERBOSE,
)
_CODES = sorted(
    (form for form, units in _EXACT.items() if units[0][1] == "money" and form.isupper() and len(form) == 3), key=str
)
_BEFORE = regex.compile(
    r"(?P<unit>(?<![\p{L}\p{N}])(?:(?:A|AU|C|CA|NZ|S|HK|NT|MX|R|US)\$|"
    rf"(?:{'|'.join(_CODES)}|SFr\.?|Fr\.|Rp|RM|kr\.?|TL|zł|Kč|Ft))(?={_SPACE}?\d)|[$€£¥￥₹₴₽₩₺₪฿₫₱](?={_SPACE}?\d))"
    rf"|(?P<spoon>[大小](?:さじ|匙))(?={_SPACE}?[\d{_HAN_NUMERAL}])"
    r"|(?P<share>(?<!\S)[%٪])(?=\d)"
)


@remembered
def quantities(text: str, lang: str = "", named: frozenset[str] = frozenset()) -> tuple[Quantity, ...]:
    """Units and currencies that stand beside a number, by their canonical symbol: 5 km, 5 kilometres, 5 км.

    What is ambiguous is the one of the units ``named``, or the likeliest. What a unit is divided by is one of its own:
    mg and /dl.
    """
    quantities: dict[int, Quantity] = {}
    for match in _BEHIND.finditer(text):
        start, end = match.span("unit")
        if units := _units_at(match, lang):
            quantities[start] = Quantity(*_likeliest(units, named), start, end)
        if units and match["per"] and (below := units_of(match["per"], lang)):
            unit, kind = _likeliest(below, named)
            start, end = match.span("per")
            quantities[start] = Quantity(f"/{unit}", f"/{kind}", start, end)
    for match in _BEFORE.finditer(text):
        start, end = match.span()
        if units := units_of(match.group().rstrip("."), lang):
            quantities[start] = Quantity(*_likeliest(units, named), start, end)
    return tuple(quantities[start] for start in sorted(quantities))


def _likeliest(units: Units, named: frozenset[str]) -> tuple[str, str]:
    """The one of ambiguous ``units`` that is ``named``, or the first."""
    return next((unit for unit in units if unit[0] in named), units[0])


def _units_at(match: regex.Match[str], lang: str) -> Units:
    """What the match of a number with a unit may measure in."""
    form = match["unit"]
    if form == "s" and match.string[match.start("unit") - 1].isdigit():  # the 1990s
        return ()
    units = units_of(form, lang)
    before, behind = match["power"], match["behind"]
    if not before and not behind:
        return units
    lengths = tuple(unit for unit in units if unit[0] in _LENGTHS)
    if lengths:
        power = _power_of(before or behind)
        return tuple((unit + power, kind) for unit, kind in lengths)
    # The word for a power was none: 5 quadrants, 5 cubes.
    return units or (units_of(before + form, lang) if before else ())


@lru_cache(maxsize=1024)
def _power_of(form: str) -> str:
    """Which power ``form`` is a sign or a word for: ``²`` or ``³``."""
    folded = form.strip("^ .\u00a0\u202f").casefold()
    if folded in ("²", "2"):
        return "²"
    if folded in ("³", "3"):
        return "³"
    sizes = range(len(folded), 0, -1)
    return next((_POWER_FORMS[folded[:size]] for size in sizes if folded[:size] in _POWER_FORMS), "")


@lru_cache(maxsize=65_536)
def units_of(form: str, lang: str = "") -> Units:
    """The units that may be written as ``form`` in texts of ``lang``, each with its kind; the likeliest first."""
    if not form[0].isalpha() or " " in form or "." in form or "\u00a0" in form:
        phrase = _PHRASE_UNITS.get("".join(form.split()).casefold())
        if phrase:
            return ((phrase, _KINDS[phrase]),)
        form = "".join(form.split())
    folded, prefix = form.casefold(), f"{language_of(lang)} " if lang else ""
    exact = _EXACT.get(prefix + folded) if lang else None
    exact = exact or _EXACT.get(form) or _EXACT.get(folded if len(form) > 4 or len(form) == 3 else form)
    if exact or len(form) < 3:
        return tuple(exact or ())
    places = (prefix, "") if lang else ("",)
    for size in range(min(len(folded), _LONGEST_STEM), 2, -1):
        for place in places if len(form) > 3 else places[:-1]:
            if place + folded[:size] in _STEMS:
                return tuple(_STEMS[place + folded[:size]])
    return _raised_length(folded, lang)


def _raised_length(folded: str, lang: str) -> Units:
    """The area or volume that a length with a power before it is: Quadratmeter, 平方メートル."""
    for size in range(min(len(folded) - 1, _LONGEST_STEM), 1, -1):
        power = _POWER_FORMS.get(folded[:size])
        if power:
            lengths = [unit for unit in units_of(folded[size:], lang) if unit[0] in _LENGTHS]
            return tuple((unit + power, kind) for unit, kind in lengths)
    return ()


_LANGUAGES = frozenset(
    ["cs", "da", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "nb", "nl", "no", "pl", "pt", "ru", "sv", "uk", "zh"]
)
_NAMED = regex.compile(
    rf"""
    (?:(?P<power>(?<![\p{{L}}\p{{M}}])(?i:{_power_words()}))\.?{_SPACE}*+(?=\p{{L}}))?
    (?P<unit> [%％٪‰℃℉€£¥￥₹₴₽₩₺₪฿₫₱Ω] | (?:(?:A|AU|C|CA|NZ|S|HK|NT|MX|R|US)(?=\$))?\$ | [°º]{_SPACE}?[CF]\b
      | (?<![\p{{L}}\p{{M}}])(?i:{_phrases()})(?![\p{{L}}\p{{M}}]) | {_UNSPACED} | {_WORD} )
    (?:(?P<behind>{_POWER_BEHIND}))?
    (?:(?P<slash>/)(?P<per>{_WORD}))?
    """,
    flags=regex.VERBOSE,
)


_DIGIT = regex.compile(r"\d")
_PLAIN_WORD = regex.compile(rf"[[\p{{L}}\p{{M}}]--[{UNSPACED}\p{{Hangul}}]]++", flags=regex.V1)
_SIGN = regex.compile(rf"[%％٪‰℃℉$€£¥￥₹₴₽₩₺₪฿₫₱Ω°º㎡㎥²³]|{_UNSPACED}")
_FIRST_OF_PHRASES = frozenset(
    _PLAIN_WORD.findall(phrase)[0]
    for line in _PHRASES.strip().split("\n")
    for phrase in line.partition(": ")[2].casefold().split("|")
)


def _may_name_units(text: str, lang: str) -> bool:
    """Whether a word or sign of ``text`` may be a unit: the cheapest question that rules most texts out."""
    words = set(_PLAIN_WORD.findall(text))
    has_digits = _DIGIT.search(text) is not None
    if any(units_of(word, lang) for word in words if len(word) > 1 or has_digits):
        return True
    if not _FIRST_OF_PHRASES.isdisjoint(map(str.casefold, words)):
        return True
    return _SIGN.search(text) is not None


def _is_stray_letter(match: regex.Match[str]) -> bool:
    """Whether a single letter is no unit, as no number stands before it: A lamp, I'm."""
    form, start = match["unit"], match.start()
    if len(form) > 1 or not form.isalpha() or _IS_UNSPACED.match(form):
        return False
    return not match.string[max(0, start - 2) : start].strip(" \u00a0\u202f-").isdecimal()


def units_named(text: str, lang: str) -> Counter[str] | None:
    """How often ``text`` names each unit, beside a number or not; ``None``: their words in ``lang`` are not known.

    A word for several units counts for each of them.
    """
    if lang.partition("-")[0] not in _LANGUAGES:
        return None
    named = Counter[str]()
    if not _may_name_units(text, lang):
        return named
    for match in _NAMED.finditer(text):
        if _is_stray_letter(match):
            continue
        named.update(unit for unit, _ in _units_at(match, lang))
        if match["per"]:
            below = units_of(match["per"], lang)
            named.update(unit for unit, _ in below)
            named.update(f"/{unit}" for unit, _ in below)
            named.update(unit for unit, _ in units_of(f"{match['unit']}/{match['per']}", lang))
    return named


_LAST_WORD = regex.compile(r"([\p{L}\p{M}\p{N}.,]++)[\p{Pd} \u00a0]*+\Z")
_LONGEST_WORD_BEFORE = 24
_FEWEST_LETTERS = 4  # of a unit's name that counts without a number beside it
_FEWEST_SIGNS = 2  # the same in scripts without spaces


class NamedUnit(NamedTuple):
    """A unit that a text spells, what it measures, and the word or number before it."""

    unit: str
    kind: str
    word_before: str


def units_in_words(text: str, lang: str, named: frozenset[str]) -> list[NamedUnit]:
    """The units that ``text`` spells, beside a number or not: 20 degrees Celsius, two weeks."""
    spelled = []
    for match in _NAMED.finditer(text):
        form = match["unit"]
        unspaced = _IS_UNSPACED.match(form) is not None
        if len(form) >= (_FEWEST_SIGNS if unspaced else _FEWEST_LETTERS):
            units = _units_at(match, lang)
            if units:
                before = _LAST_WORD.search(text, max(0, match.start() - _LONGEST_WORD_BEFORE), match.start())
                spelled.append(NamedUnit(*_likeliest(units, named), before[1].casefold() if before else ""))
    return spelled
