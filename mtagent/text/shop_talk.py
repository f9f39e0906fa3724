"""The words by which a text speaks of itself: of its translation, its wording and what was changed, in 40 languages.

A model comments in any language. So a word counts whatever the language of the text, and what the source speaks of in
any language excuses it.
"""

from __future__ import annotations

import regex

_TRANSLATION = (
    r"\btranslat(?:ions?|ing)\b|\b(?:re)?translated?\b(?! (?:in)?to\b)|"
    r"übersetz(?:ung|en\b|t\b)|\btraduction|\btraduire\b|"
    r"traducci[oóò]n?|\btraducir\b|\btradu[cç](?:ão|ões)|\btraduzir\b|\btraduzion|\btradurre\b|\btraducer[ei]|vertal(?:ing|en)|"
    r"översätt(?:ning|a\b)|overs[æe]tt?else|\bþýðing(?:in|una|arinnar)\b|käännös|käännökse|\btõl[gk]e|\btulkojum|"
    r"\bvertim(?:as|o|ą|ai|u)\b|\bpřeklad(?:u|em|y|ů)?\b|\bpreklad(?:u|om|y|ov)?\b|\bpr(?:ij)?evod(?:a|u|om|i)?\b|"
    r"tłumaczeni|\bперевод(?:а|у|ом|е|ы|ов)?\b|\bпереклад(?:у|ом|і|и|ів)?\b|\bпераклад|\bпревод(?:а|ът|и|у|ом|от)?\b|"
    r"fordítás|μετ[άα]φρ[άα]σ|\bçeviri|\btərcümə|\btarjima|\bаударма|\bорчуулг|bản dịch|dịch thuật|\bterjemah|"
    r"pagsasalin|\btafsiri|itzulpen|përkthim|\bcyfieithiad|aistriúchán|翻译|翻譯|译文|譯文|翻訳|訳文|和訳|英訳|번역|अनुवाद|"
    "भाषांतर|অনুবাদ|અનુવાદ|ਅਨੁਵਾਦ|மொழிபெயர்|అనువాద|ಅನುವಾದ|വിവർത്തന|പരിഭാഷ|පරිවර්තන|ترجم[ةهتہے]|תרגו[םמ]|คำแปล|การแปล|ຄຳແປ|"
    "បកប្រែ|ဘာသာပြန်|თარგმან|թարգման"
)
# Stems by which a source speaks of translating, interpreting, wording or of what else is called by one of these words.
_LIKE_TRANSLATING = (
    "translat|interpret|dolmetsch|übersetz|traduc|traduz|traduç|tradott|tradui|traduk|vertaal|vertal|översätt|oversæt|"
    "oversett|þýð|käänn|tõlk|tõlg|tulko|vertim|versti|překl|přelož|prekl|prelož|tłumacz|przetłum|перевод|перевед|перевест|перевел|перевёл|перекла|превод|"
    "превед|prevod|prevaj|preved|prijevo|prijeve|fordít|tálmač|μεταφρ|çevir|çevr|tercüme|dịch|terjemah|salin|itzul|përkth|"
    "cyfieith|aistri|tafsir|fassara|humush|turjum|аудар|орчуул|译|譯|訳|번역|통역|अनुवाद|भाषांतर|অনুবাদ|અનુવાદ|ਅਨੁਵਾਦ|"
    "மொழிபெயர்|అనువాద|ಅನುವಾದ|വിവർത്തന|തർജ്ജമ|පරිවර්තන|ترجم|תרגם|תרגו|แปล|ແປ|បកប្រែ|ဘာသာပြန်|თარგმ|թարգման|ተርጉ|ትርጉ|"
    "μετάφρ|tradur|tərcümə|tarjima|пераклад|പരിഭാഷ|transfer|trasfer|remit|überweis|umrechn|convert|umsetz|lokali[sz]|locali[sz]|untertit|subtit|sous-titr|字幕|汇款|转账|送金"
)
_ON_TRANSLATING = regex.compile(_TRANSLATION, regex.IGNORECASE)
_STEMS = tuple(_LIKE_TRANSLATING.split("|"))


def may_be_on_translating(text: str) -> bool:
    """Whether ``text`` has a word for translating, or for something that is called alike in some language."""
    folded = text.casefold()
    return any(stem in folded for stem in _STEMS)


def on_translating(text: str) -> list[regex.Match[str]]:
    """The places where ``text`` speaks of translating."""
    return list(_ON_TRANSLATING.finditer(text)) if may_be_on_translating(text) else []


_ABOUT = {
    "wording": (
        r"sentences?|texts?|wording|phras(?:e|es|ing)|grammar|paragraph|original|s[äa]tze?[sn]?|formulierung|wortlaut|"
        r"(?:ziel|ausgangs|quell)(?:text|sprache)\w*|grammatik|texte|formulation|langue|grammaire|frases?|oración|textos?|testo|"
        r"redacción|idioma|língua|lingua|gramática|zin|zinnen|tekst\w*|formulering\w*|taal|mening(?:en)?|texten|sætning\w*|"
        r"setning\w*|språk\w*|lause\w*|virke\w*|keel\w*|teikum\w*|valod\w*|sakin\w*|zdani\w+|język\w*|sformułowani\w*|"
        r"vět[aueo]\w*|vet[au]|jazyk\w*|предложени\w*|язык\w*|формулировк\w*|фраз\w*|речення|формулюванн\w*|изречени\w*|"
        r"језик\w*|реченица|текст\w*|rečenic\w*|besedil\w*|mondat\w*|szöveg\w*|nyelv\w*|propoziți\w*|textul\w*|πρόταση|"
        r"κείμεν\w*|φράση|γλώσσα\w*|cümle\w*|met[in]n\w*|metin\w*|kalimat\w*|teks|sentensi|maandishi|lugha",
        "câu|văn bản|đoạn văn|ngôn ngữ|句子|文本|原文|语句|措辞|文章|表現|语法|語法|"
        "語句|言語|语言|문장|텍스트|원문|문구|표현|वाक्य|पाठ|"
        "বাক্য|வாக்கிய|వాక్య|جملة|الجملة|النص|صياغة|متن|جمله|משפט|טקסט|נוסח|ประโยค|ข้อความ|წინადად|ტექსტ|նախադաս|տեքստ",
    ),
    "quality": (
        r"natural(?:ly)?|fluent\w*|correct|correctly|accurate\w*|grammatical\w*|perfect\w*|idiomatic|sounds|natürlich\w*|"
        r"flüssig\w*|fließend\w*|korrekt\w*|klingt|richtig\w*|stimmt|naturel\w*|fluide\w*|correcte?|fidèle\w*|fluid[oa]|"
        r"correct[oa]|corrett[oa]|naturale|natuurlijk\w*|vloeiend\w*|klinkt|naturlig\w*|flytande|flydende|flytende|riktig\w*|"
        r"rigtig\w*|låter|lyder|luonnolli\w*|sujuv\w*|oikein|loomulik\w*|ladus\w*|õige|dabisk\w*|pareiz\w*|natūral\w*|teising\w*|"
        r"naturaln\w*|płynn\w*|poprawn\w*|brzmi|přirozen\w*|plynul\w*|správn\w*|zní|znie|естественн\w*|плавн\w*|правильн\w*|"
        r"звучит|звучить|природн\w*|звучи|prirodn\w*|tečn\w*|točn\w*|zvuči|természetes\w*|gördülékeny\w*|helyes\w*|firesc\w*|"
        r"corect\w*|φυσικ\w*|σωστ\w*|doğal\w*|akıcı\w*|doğru\w*|alami|benar|lancar|sahihi|tepat",
        "tự nhiên|chính xác|trôi chảy|自然|流畅|流暢|通顺|通順|正确|正確|准确|準確|正しい|자연스|"
        "정확|올바|स्वाभाविक|सही|स्पष्ट|স্বাভাবিক|সঠিক|"
        "இயல்பா|சரியா|సహజ|సరిగ్గా|طبيعي|سليم|صحيح|طبیعی|درست|טבעי|תקין|נכון|เป็นธรรมชาติ|ถูกต้อง|ბუნებრ|სწორ|բնական|ճիշտ",
    ),
    "change": (
        r"chang(?:e|es|ed|ing)|revis\w+|edit(?:s|ed|ing)?|correct(?:ed|ions?|ing)|improv\w+|rephras\w+|reword\w*|adjust\w*|"
        r"modif\w+|(?:ver|ge|ab)?änder\w*|überarbeit\w*|verbesser\w*|korrigier\w*|korrektur\w*|beibehalt\w*|corrig\w+|"
        r"correction\w*|amélior\w*|chang(?:é|ement)\w*|cambi\w+|mejor\w*|correg\w*|melhor\w*|alter(?:ar|ei|ação|ações)|"
        r"miglior\w*|corrett\w+|modific\w*|wijzig\w*|verbeter\w*|aanpass\w*|ändr\w*|förbättr\w*|ændr\w*|forbedr\w*|endr(?:e|et|ing)\w*|"
        r"muut(?:o|t)\w*|paran\w+|muuda\w*|muudat\w*|parand\w*|labo\w*|izmaiņ\w*|pakeit\w*|patais\w*|zmian\w*|zmieni\w*|popraw\w+|"
        r"uprav\w*|oprav\w*|změn\w*|zmen\w*|исправ\w*|измен\w*|правк\w*|улучш\w*|виправ\w*|змін\w*|покращ\w*|промен\w*|поправ\w*|"
        r"izmen\w*|izmjen\w*|isprav\w*|poprav\w*|spremem\w*|javít\w*|változtat\w*|módosít\w*|modificăr\w*|corect(?:at|ur)\w*|"
        r"αλλαγ\w*|διόρθω\w*|διορθώ\w*|değişiklik\w*|değiştir\w*|düzelt\w*|ubah\w*|perubahan|perbaik\w*|diperbaiki|mabadiliko",
        "thay đổi|chỉnh sửa|sửa|修改|改动|修正|改进|更改|改善|変更|수정|변경|고치|बदलाव|सुधार|"
        "परिवर्तन|পরিবর্তন|সংশোধন|மாற்ற|திருத்த|మార్పు|"
        "సవరణ|تغيير|تعديل|تصحيح|تغییر|ویرایش|اصلاح|שינוי|לשנות|תיקו[ןנ]|แก้ไข|ปรับ|ცვლილებ|შესწორ|փոփոխ|ուղղ",
    ),
    "mistake": (
        r"mistakes?|errors?|typos?|fehler\w*|erreurs?|fautes?|error(?:es)?|erros?|errore|errori|fout(?:en)?|fel(?:et|en)?|"
        r"fejl\w*|feil\w*|virhe\w*|viga|vea|vigu|kļūd\w*|klaid\w*|błęd\w*|błąd|chyb\w*|ошиб\w*|помил\w*|памыл\w*|"
        r"греш\w*|greš\w*|napak\w*|hib[aá]\w*|greșel\w*|greșeal\w*|eror\w*|λάθ\w*|σφάλμα\w*|hata\w*|yanlış\w*|kesalahan|"
        r"makosa|kosa",
        "lỗi|错误|錯誤|誤り|間違|ミス|오류|실수|गलति|गलती|ग़लती|त्रुटि|ভুল|பிழை|తప్పు|خطأ|أخطاء|خطا|اشتباه|שגיא|טעות|טעויות|"
        "ผิดพลาด|შეცდომ|սխալ",
    ),
    "need": (
        r"need(?:s|ed)?|necessary|required|nötig|notwendig|erforderlich|bedarf|nécessaire|besoin|necesit\w*|necesari\w*|"
        r"necessári\w*|precis[ao]|necessari\w*|bisogno|nodig|behöv\w*|nödvändig\w*|nødvendig\w*|behov|tarpeen|tarvit\w*|vaja|"
        r"vajalik\w*|nepiecieš\w*|reik(?:ia|aling)\w*|potrzeb\w*|konieczn\w*|nutn\w*|potřeb\w*|potrebn\w*|treba|нужн\w*|"
        r"требу\w*|необходим\w*|потріб\w*|нужд\w*|необходим\w*|потребн\w*|szükség\w*|nevoie|necesar\w*|χρειάζ\w*|απαιτ\w*|"
        r"gerek\w*|ihtiyaç|perlu|diperlukan|hitaji\w*|hakuna",
        "không cần|cần|无需|無需|不需要|需要|必要|필요|आवश्यक|ज़रूर|प्रयोजन|প্রয়োজন|தேவை|"
        "అవసర|حاجة|يلزم|ضرور|نیاز|צורך|צריך|จำเป็น|"
        "ต้อง|საჭირო|անհրաժեշտ|պետք",
    ),
    "help": (
        r"provid(?:e|ed|ing)|clarif\w+|context|assist\w*|help|request\w*|instructions?|sorry|unfortunately|leider|"
        r"kontext|angegeben\w*|bereitgestellt\w*|helfen|anfrage|fourni\w*|fournir|contexte|désolée?|malheureusement|aider|"
        r"proporcion\w*|contexto|ayudar|siento|lamentablemente|fornec\w*|ajudar|desculpe|infelizmente|fornit\w*|fornire|contesto|"
        r"aiutar\w*|purtroppo|verstrek\w*|helaas|helpen|tyvärr|hjälpa|desværre|dessverre|hjelpe|hjælpe|valitettavasti|auttaa|"
        r"kahjuks|diemžēl|deja|niestety|bohužel|bohužiaľ|sajnos|сожалению|контекст\w*|помочь|"
        r"жаль|допомогти|съжаление|nažalost|žal|din păcate|contextul\w*|"
        r"δυστυχώς|maalesef|bağlam\w*|"
        r"maaf|konteks|samahani",
        "rất tiếc|xin lỗi|请提供|請提供|提供|抱歉|上下文|很遗憾|申し訳|文脈|죄송|"
        "제공|문맥|맥락|क्षमा|संदर्भ|দুঃখিত|"
        "மன்னிக்க|క్షమించ|عذر|آسف|سياق|متأسف|מצטער|סליחה|הקשר|ขออภัย|ขอโทษ|กรุณา|โปรด|უკაცრავად|ბოდიში|"
        "ներող|խնդրում",
    ),
}
# Each: whole words, where words have spaces between them, and parts of a text, where endings join or no space stands.
ABOUT = {
    name: regex.compile(rf"\b(?:{spaced})\b|{joined}", regex.IGNORECASE) for name, (spaced, joined) in _ABOUT.items()
}
"""What remarks on a translation speak of, beside translating: its wording, whether it is good, mistakes, a change, the
need of one, and what the writer asks for or regrets."""


def subjects(text: str) -> set[str]:
    """The names of the entries of :data:`ABOUT` that ``text`` speaks of."""
    return {name for name, words in ABOUT.items() if words.search(text)}


_ASKED_FOR = {
    "mistake": regex.compile(
        r"\b(?:invalid|wrong|incorrect|fail\w*|faults?|problems?|issues?|bugs?)\b", regex.IGNORECASE
    ),
    "change": regex.compile(r"\b(?:fix\w*|updat\w*|replac\w*|amend\w*|adapt\w*|retry|try again)\b", regex.IGNORECASE),
}


def asked_for(source: str) -> set[str]:
    """The subjects that a translation of ``source`` may speak of: its own, and those that user interfaces put so."""
    return subjects(source) | {name for name, words in _ASKED_FOR.items() if words.search(source)}
