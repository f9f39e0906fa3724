"""The words by which a text speaks of itself: of its translation, its wording and what was changed, in 40 languages.

A model comments in any language. So a word counts whatever the language of the text, and what the source speaks of in
any language excuses it.
"""

from __future__ import annotations

from functools import lru_cache

import regex

_KEPT = 128  # of the texts at work at a time: each is looked at several times on its way through a chain

_TRANSLATION = (
    r"\btranslat(?:ions?|ing)\b|\b(?:re)?translated?\b(?! (?:in)?to\b)|"
    r"übersetz(?:ung|en\b|t\b)|\btraduction|\btraduire\b|"
    r"traducci[oóò]n?|\btraducir\b|\btradu[cç](?:ão|ões)|\btraduzir\b|\btraduzion|\btradurre\b|\btraducer[ei]|"
    r"vertal(?:ing|en)|"
    r"översätt(?:ning|a\b)|overs[æe]tt?else|\bþýðing(?:in|una|arinnar)\b|käännös|käännökse|\btõl[gk]e|\btulkojum|"
    r"\bvertim(?:as|o|ą|ai|u)\b|\bpřeklad(?:u|em|y|ů)?\b|\bpreklad(?:u|om|y|ov)?\b|\bpr(?:ij)?evod(?:a|u|om|i)?\b|"
    r"tłumaczeni|\bперевод(?:а|у|ом|е|ы|ов)?\b|\bпереклад(?:у|ом|і|и|ів)?\b|\bпераклад|\bпревод(?:а|ът|и|у|ом|от)?\b|"
    r"fordítás|μετ[άα]φρ[άα]σ|\bçeviri|\btərcümə|\btarjima|\bаударма|\bорчуулг|bản dịch|dịch thuật|\bterjemah|"
    r"pagsasalin|\btafsiri|itzulpen|përkthim|\bcyfieithiad|aistriúchán|翻译|翻譯|译文|譯文|翻訳|訳文|和訳|英訳|번역|अनुवाद|"
    "भाषांतर|অনুবাদ|અનુવાદ|ਅਨੁਵਾਦ|மொழிபெயர்|అనువాద|ಅನುವಾದ|വിവർത്തന|പരിഭാഷ|පරිවර්තන|ترجم[ةهتہے]|תרגו[םמ]|"
    "คำแปล|การแปล|ຄຳແປ|"
    "បកប្រែ|ဘာသာပြန်|თარგმან|թարգման"
)
# Stems by which a source speaks of translating, interpreting, wording or of what else is called by one of these words.
_LIKE_TRANSLATING = (
    "translat|interpret|dolmetsch|übersetz|traduc|traduz|traduç|tradott|tradui|traduk|vertaal|vertal|"
    "översätt|oversæt|"
    "oversett|þýð|käänn|tõlk|tõlg|tulko|vertim|versti|překl|přelož|prekl|prelož|tłumacz|przetłum|перевод|"
    "перевед|перевест|перевел|перевёл|перекла|превод|"
    "превед|prevod|prevaj|preved|prijevo|prijeve|fordít|tálmač|μεταφρ|çevir|çevr|tercüme|dịch|terjemah|salin|"
    "itzul|përkth|"
    "cyfieith|aistri|tafsir|fassara|humush|turjum|аудар|орчуул|译|譯|訳|번역|통역|अनुवाद|भाषांतर|অনুবাদ|અનુવાદ|ਅਨੁਵਾਦ|"
    "மொழிபெயர்|అనువాద|ಅನುವಾದ|വിവർത്തന|തർജ്ജമ|පරිවර්තන|ترجم|תרגם|תרגו|แปล|ແປ|បកប្រែ|ဘာသာပြန်|თარგმ|թարգման|ተርጉ|ትርጉ|"
    "μετάφρ|tradur|tərcümə|tarjima|пераклад|പരിഭാഷ|transfer|trasfer|remit|überweis|umrechn|convert|umsetz|"
    "lokali[sz]|locali[sz]|untertit|subtit|sous-titr|字幕|汇款|转账|送金"
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
        r"sentences?|texts?|wording|phras(?:e|es|ing)|grammar|paragraph|word order|wortstellung|woordvolgorde|"
        r"ordre des mots|orden de las palabras|ordem das palavras|ordine delle parole|порядок слов|порядку слів|"
        r"s[äa]tze?[sn]?|formulierung|wortlaut|"
        r"(?:ziel|ausgangs|quell)(?:text|sprache)\w*|grammatik|texte|formulation|grammaire|frases?|oración|"
        r"textos?|testo|"
        r"redacción|gramática|zin|zinnen|tekst\w*|formulering\w*|mening(?:en)?|texten|"
        r"sætning\w*|"
        r"setning\w*|lause\w*|virke\w*|teikum\w*|sakin\w*|zdani\w+|"
        r"sformułowani\w*|"
        r"vět[aueo]\w*|vet[au]|предложени\w*|формулировк\w*|фраз\w*|речення|формулюванн\w*|"
        r"изречени\w*|"
        r"реченица|текст\w*|rečenic\w*|besedil\w*|mondat\w*|szöveg\w*|propoziți\w*|textul\w*|"
        r"πρόταση|"
        r"κείμεν\w*|φράση|cümle\w*|met[in]n\w*|metin\w*|kalimat\w*|teks|sentensi|maandishi",
        "câu|văn bản|đoạn văn|句子|这句|這句|语序|語序|この文|語順|어순|ترتيب الكلمات|शब्दों का क्रम|"
        "文本|原文|语句|措辞|文章|语法|語法|"
        "語句|문장|텍스트|원문|문구|वाक्य|पाठ|"
        "বাক্য|வாக்கிய|వాక్య|جملة|الجملة|\\bالنص\\b|صياغة|متن|جمله|משפט|טקסט|נוסח|ประโยค|ข้อความ|წინადად|ტექსტ|նախադաս|"
        "տեքստ",
    ),
    "quality": (
        r"natural(?:ly)?|fluent\w*|correct|correctly|accurate\w*|grammatical\w*|perfect\w*|idiomatic|sounds|"
        r"natürlich\w*|"
        r"flüssig\w*|fließend\w*|korrekt\w*|klingt|stimmt|naturel\w*|fluide\w*|correcte?|fidèle\w*|"
        r"fluid[oa]|"
        r"correct[oa]|corrett[oa]|naturale|natuurlijk\w*|vloeiend\w*|klinkt|naturlig\w*|flytande|flydende|"
        r"flytende|riktig\w*|"
        r"rigtig\w*|låter|lyder|luonnolli\w*|sujuv\w*|oikein|loomulik\w*|ladus\w*|õige|dabisk\w*|pareiz\w*|"
        r"natūral\w*|teising\w*|"
        r"naturaln\w*|płynn\w*|poprawn\w*|brzmi|přirozen\w*|plynul\w*|správn\w*|zní|znie|естественн\w*|плавн\w*|"
        r"правильн\w*|"
        r"звучит|звучить|природн\w*|звучи|prirodn\w*|tečn\w*|točn\w*|zvuči|természetes\w*|gördülékeny\w*|"
        r"helyes\w*|firesc\w*|"
        r"corect\w*|φυσικ\w*|σωστ\w*|doğal\w*|akıcı\w*|doğru\w*|alami|benar|lancar|sahihi|tepat",
        "tự nhiên|chính xác|trôi chảy|滑らか|自然|流畅|流暢|通顺|通順|正确|正確|准确|準確|正しい|자연스|"
        "정확|올바|स्वाभाविक|सही|स्पष्ट|স্বাভাবিক|সঠিক|"
        "இயல்பா|சரியா|సహజ|సరిగ్గా|طبيعي|سليم|صحيح|طبیعی|درست|טבעי|תקין|נכון|เป็นธรรมชาติ|ถูกต้อง|ბუნებრ|სწორ|"
        "բնական|ճիշտ",
    ),
    "change": (
        r"chang(?:e|es|ed|ing)|revis\w+|edit(?:s|ed|ing)?|correct(?:ed|ions?|ing)|improv\w+|rephras\w+|reword\w*|"
        r"adjust\w*|"
        r"modif\w+|(?:ver|ge|ab)?änder\w*|überarbeit\w*|verbesser\w*|korrigier\w*|korrektur\w*|beibehalt\w*|"
        r"corrig\w+|"
        r"correction\w*|correção|correções|correcci\w+|correzion\w*|canvi\w*|amélior\w*|chang(?:é|ement)\w*|"
        r"cambi\w+|mejor\w*|correg\w*|melhor\w*|alter(?:ar|ei|ação|ações)|"
        r"miglior\w*|corrett\w+|modific\w*|wijzig\w*|verbeter\w*|aanpass\w*|ändr\w*|förbättr\w*|ændr\w*|"
        r"forbedr\w*|endr(?:e|et|ing)\w*|"
        r"muut(?:o|t)\w*|paran\w+|muuda\w*|muudat\w*|parand\w*|labo\w*|izmaiņ\w*|pakeit\w*|patais\w*|zmian\w*|"
        r"zmieni\w*|popraw\w+|"
        r"uprav\w*|oprav\w*|změn\w*|měnit|zmen\w*|zmien|rettels\w*|breyting\w*|korja\w*|korekci\w*|корекци\w*|"
        r"исправ\w*|измен\w*|правк\w*|улучш\w*|виправ\w*|змін\w*|покращ\w*|промен\w*|поправ\w*|"
        r"izmen\w*|izmjen\w*|isprav\w*|poprav\w*|spremem\w*|javít\w*|változtat\w*|módosít\w*|modificăr\w*|"
        r"corect(?:at|ur)\w*|"
        r"αλλαγ\w*|διόρθω\w*|διορθώ\w*|değişiklik\w*|değiştir\w*|düzelt\w*|ubah\w*|perubahan|perbaik\w*|"
        r"diperbaiki|mabadiliko",
        "thay đổi|chỉnh sửa|sửa|修改|改动|修正|改进|更改|改善|変更|수정|변경|고치|बदलाव|सुधार|"
        "परिवर्तन|পরিবর্তন|সংশোধন|மாற்ற|திருத்த|మార్పు|"
        "సవరణ|تغيير|تعديل|تصحيح|تغییر|ویرایش|اصلاح|שינוי|לשנות|תיקו[ןנ]|แก้ไข|ปรับ|ცვლილებ|შესწორ|փոփոխ|ուղղ",
    ),
    "mistake": (
        r"mistakes?|errors?|typos?|fehler\w*|erreurs?|fautes?|error(?:es)?|erros?|errore|errori|fout(?:en)?|"
        r"fel(?:et|en)?|"
        r"fejl\w*|feil\w*|vill(?:a|u|ur|na)|virhe\w*|viga|vea|vigu|kļūd\w*|klaid\w*|błęd\w*|błąd|chyb\w*|ошиб\w*|"
        r"помил\w*|памыл\w*|"
        r"греш\w*|greš\w*|napak\w*|hib[aá]\w*|greșel\w*|greșeal\w*|eror\w*|λάθ\w*|σφάλμα\w*|hata\w*|yanlış\w*|"
        r"kesalahan|"
        r"makosa|kosa",
        "lỗi|错误|錯誤|誤り|間違|ミス|오류|실수|गलति|गलती|ग़लती|त्रुटि|ভুল|பிழை|తప్పు|خطأ|أخطاء|خطا|اشتباه|שגיא|טעות|טעויות|"
        "ผิดพลาด|შეცდომ|սխալ",
    ),
    "need": (
        r"need(?:s|ed)?|necessary|required|nötig|notwendig|erforderlich|bedarf|nécessaire|besoin|necesit\w*|"
        r"necesari\w*|"
        r"necessári\w*|precis[ao]|necessari\w*|bisogno|nodig|behöv\w*|nödvändig\w*|nødvendig\w*|behov|tarpeen|"
        r"tarvit\w*|vaja|"
        r"vajalik\w*|nepiecieš\w*|reik(?:ia|aling)\w*|potrzeb\w*|konieczn\w*|nutn\w*|potřeb\w*|potrebn\w*|treba|"
        r"нужн\w*|"
        r"требу\w*|необходим\w*|потріб\w*|нужд\w*|необходим\w*|потребн\w*|szükség\w*|nevoie|necesar\w*|χρειάζ\w*|"
        r"απαιτ\w*|"
        r"gerek\w*|ihtiyaç|perlu|diperlukan|hitaji\w*|hakuna",
        "không cần|cần|无需|無需|不需要|需要|必要|필요|आवश्यक|ज़रूर|प्रयोजन|প্রয়োজন|தேவை|"
        "అవసర|حاجة|يلزم|ضرور|نیاز|צורך|צריך|จำเป็น|"
        "ต้อง|საჭირო|անհրաժեշտ|պետք",
    ),
    "help": (
        r"original|provid(?:e|ed|ing)|clarif\w+|context|assist\w*|help|request\w*|instructions?|sorry|"
        r"unfortunately|leider|"
        r"kontext|angegeben\w*|bereitgestellt\w*|helfen|anfrage|fourni\w*|fournir|contexte|désolée?|"
        r"malheureusement|aider|"
        r"proporcion\w*|contexto|ayudar|siento|lamentablemente|fornec\w*|ajudar|desculpe|infelizmente|fornit\w*|"
        r"fornire|contesto|"
        r"aiutar\w*|purtroppo|verstrek\w*|helaas|helpen|tyvärr|hjälpa|desværre|dessverre|hjelpe|hjælpe|"
        r"valitettavasti|auttaa|"
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


@lru_cache(maxsize=_KEPT)
def subjects(text: str) -> frozenset[str]:
    """The names of the entries of :data:`ABOUT` that ``text`` speaks of."""
    return frozenset(name for name, words in ABOUT.items() if words.search(text))


def speaks_of_wording(text: str) -> bool:
    """Whether ``"wording"`` is among the :func:`subjects` of ``text``."""
    return ABOUT["wording"].search(text) is not None


_THIS_SENTENCE = regex.compile(
    r"\b(?:this (?:sentence|phrase)|diese[rsnm]? (?:satz|formulierung)|cette phrase|(?:esta|questa|aquesta) fra[sz]e|"
    r"deze zin|denne (?:sætning|setning)(?:en)?|den här meningen|þessi setning|tämä lause|see lause|šis teikums|"
    r"šis sakinys|to zdanie|tato věta|táto veta|ta stavek|ova rečenica|ова реченица|това изречение|оваа реченица|"
    r"это предложение|эта фраза|це речення|гэты сказ|ez a mondat|această propoziție|αυτή η πρόταση|bu cümle|"
    r"kalimat ini|câu này|sentensi hii|kjo fjali)\b|这句|這句|这个句子|這個句子|この文(?!化|字|明|献|書)|이 문장|"
    r"यह वाक्य|हे वाक्य|"
    r"এই বাক্য|இந்த வாக்கிய|ఈ వాక్య|આ વાક્ય|یہ جملہ|هذه الجملة|این جمله|המשפט הזה|ประโยคนี้|ប្រយោគនេះ|ეს წინადადება|"
    r"այս նախադասություն",
    regex.IGNORECASE,
)


def speaks_of_text(text: str, new: frozenset[str]) -> bool:
    """Whether ``text`` cannot but speak of itself, by those of its :func:`subjects` that are ``new``.

    These are three of them, wording and change among them: that a sentence, text or offer is right or needed is said in
    any text. Two are enough where a sentence is called this one, or where a text is said to have no mistakes.
    """
    if "wording" not in new:
        return False
    is_praised = "quality" in new and _THIS_SENTENCE.search(text) is not None
    is_changed = "change" in new and len(new) >= 3
    return is_changed or is_praised or ("mistake" in new and _NOT.search(text) is not None)


_NOT = regex.compile(
    r"\b(?:no|none|not|nothing|without|kein\w*|nichts?|ohne|aucune?|pas|rien|sans|sin|ning[uú]n\w*|nada|sem|"
    r"nenhum\w*|não|"
    r"nessun\w*|niente|nulla|senza|non|geen|niets?|zonder|inga|ing[ae]t|ingen|ikke|intet|ekki|eng\w+|án|ei|"
    r"eivät|ilman|"
    r"pole|mitte|ilma|nav|bez|beze|nėra|nereik\w*|be|nie|nič|nic|brak|żadn\w*|ne|není|nejsou|žádn\w*|žiadn\w*|"
    r"ni|niso|brez|"
    r"nema|nisu|nije|ništa|без|нет|нема|не|няма|немає|нічого|нищо|ничего|nincs\w*|nem|semmi|fără|nici\w*|nu|"
    r"nimic|δεν|"
    r"καμ[ίι]α|καν[έε]να|τίποτα|χωρίς|yok|değil|gerekm\w+|tidak|tanpa|tiada|không|hakuna|bila|sense|cap)\b"
    r"|[无無没沒不]|なし|ない|ません|없|않|불필요|नहीं|बिना|নেই|নয়|இல்லை|ில்லை|లేదు|లేవు|\bلا\b|بدون|نیست|"
    r"هیچ|ليس|\bאין\b|ללא|\bלא\b|ไม่|\bარ\b|\bչ",
    regex.IGNORECASE,
)
# What is no denial in a source: other words of English and German than the ones above that are written alike.
_NO_DENIAL = frozenset({"be", "cap", "sense", "bila", "ei", "ni", "nu", "an", "pole", "sans", "sin"})
_WORD = regex.compile(r"\p{Han}|[\p{Hiragana}\p{Katakana}ー]+|\p{Thai}+|[\p{L}\p{M}’']+")
_LONGEST_BARE, _COVERED = 40, 0.6


def denies(source: str) -> bool:
    """Whether ``source`` denies something: its translation may say that there is none."""
    return "n't" in source.replace("’", "'") or any(
        match.group().casefold() not in _NO_DENIAL for match in _NOT.finditer(source)
    )


def says_unchanged(text: str) -> bool:
    """Whether ``text`` says of itself, and next to nothing else, that it needs no change or has no mistake."""
    if len(text) > _LONGEST_BARE or not (denied := list(_NOT.finditer(text))):
        return False
    about = {name: list(ABOUT[name].finditer(text)) for name in ("change", "mistake", "need", "wording")}
    if not about["change"] and not about["mistake"]:
        return False
    spans = [match.span() for match in (*denied, *(match for found in about.values() for match in found))]
    size = covered = 0
    for word in _WORD.finditer(text):
        size += len(word.group())
        covered += len(word.group()) * any(start < word.end() and word.start() < end for start, end in spans)
    return covered >= _COVERED * size


_ASKED_FOR = {
    "mistake": regex.compile(
        r"\b(?:invalid|wrong|incorrect|fail\w*|faults?|problems?|issues?|bugs?)\b", regex.IGNORECASE
    ),
    "change": regex.compile(
        r"\b(?:differ\w*|identical\w*|equal\w*|fix\w*|updat\w*|replac\w*|amend\w*|adapt\w*|retry|"
        r"try again|unchang\w*|unmodif\w*|alter\w*|same|"
        r"remain\w*|"
        r"stay\w*|kee?pt?|turn\w*|switch\w*|shift\w*|become\w*|vary|vari\w+)\b",
        regex.IGNORECASE,
    ),
}


@lru_cache(maxsize=_KEPT)
def asked_for(source: str) -> frozenset[str]:
    """The subjects that a translation of ``source`` may speak of: its own, and those that user interfaces put so."""
    return subjects(source) | {name for name, words in _ASKED_FOR.items() if words.search(source)}


_REGRET = regex.compile(
    r"\b(?:sorry|afraid|apologi[sz]e|unfortunately|tut mir leid|bedaure|leider|entschuldig\w+|désolée?|regrette|"
    r"malheureusement|lo siento|lamento|lamentablemente|disculp\w+|desculp\w+|sinto muito|infelizmente|"
    r"dispiace|spiacente|"
    r"purtroppo|spijt|helaas|ledsen|tyvärr|beklager|desværre|dessverre|því miður|fyrirgef\w+|valitettavasti|"
    r"pahoillani|"
    r"vabandust|kahjuks|atvainoj\w+|diemžēl|atsiprašau|deja|przykro|niestety|przepraszam|omlouvám|bohužel|"
    r"prepáčte|bohužiaľ|"
    r"žal|nažalost|žao|жао|нажалост|жал|жалам|съжалявам|извин\w+|сожалению|прост[ии]\w*|вибач\w+|жаль|sajnál\w+|sajnos|"
    r"rău|păcate|vjen keq|fatkeqësisht|paumanhin|pasensya|ikinalulungkot|"
    r"λυπάμαι|δυστυχώς|συγγνώμη|üzgünüm|maalesef|maaf|samahani|ho sento|em sap greu)\b|xin lỗi|rất tiếc|抱歉|"
    r"对不起|對不起|申し訳|"
    r"すみません|ごめん|죄송|미안|क्षम|माफ|દિલગીર|માફ|ક્ષમ|দুঃখিত|மன்னிக்க|క్షమించ|عذر|عتذر|آسف|متأسف|معذرت|معاف|افسوس|"
    r"מצטער|סליחה|ขออภัย|"
    r"ขอโทษ|เสียใจ|សូមទោស|សុំទោស|អភ័យទោស|უკაცრავად|ბოდიში|ներող",
    regex.IGNORECASE,
)
# Inability, as who writes says it of himself; then, as it may be said of anyone.
_I_CANNOT = (
    r"\b(?:ne (?:peux|puis|pouvons)|no puedo|no podemos|não (?:posso|consigo|podemos)|non (?:posso|possiamo)|"
    r"get (?:ég )?ekki|en voi|ma ei|nevaram|negaliu|negalime|nie mog[ęe]|nie możemy|nemohu|nemůžu|nemôžem|"
    r"ne mor(?:em|emo)|ne mogu|не могу|не мога|не можам|не можу|не можемо|nem tudo[km]|nu (?:te |vă )?pot|nu putem|"
    r"δεν μπορώ|nuk mund të (?:ju |të )?\w+j|\w+am(?:am|ıyorum)|siwezi|no puc)\b|できません|できない|できかね|"
    r"いたしかね|応えできません|"
    r"我[^。]{0,8}(?:[无無]法|不能)|நான்[^.]{0,20}முடியாது|لا (?:يمكنني|أستطيع)|نمی‌?توانم|אין באפשרותי|אני לא יכול|"
    r"मैं[^।]{0,30}नहीं कर सक|পারছি না|পারব না|లేను|չեմ կարող"
)
_CANNOT = (
    r"\b(?:can(?:no|['’])?t|can not|unable|not able|kann|können|no pue?d\w+|"
    r"kan (?:\w+ ){0,3}niet|niet|kan (?:\w+ )?(?:inte|ikke)|ei (?:voi|saa)|ei saa ma|nevaru|nuk mund|hindi|"
    r"tidak (?:bisa|dapat)|không thể)\b|[无無]法|不能|対応できません|수 없|नहीं कर सकत|असमर्थ|शकत नाही|શક(?:તો|તી|"
    r"તા) નથી|"
    r"முடியாது|نہیں کر سک|قاصر|نمی‌?توان|לא יכול|ไม่สามารถ|ไม่ได้|មិនអាច|ვერ"
)
_INABILITY = regex.compile(f"{_I_CANNOT}|{_CANNOT}", regex.IGNORECASE)
_HELP = regex.compile(
    r"\b(?:help|assist\w*|comply|fulfil\w*|helfen|behilflich|weiterhelfen|aider|assister|ayudar\w*|asistir\w*|cumplir|"
    r"ajudar\w*|atender|aiutar\w*|assister\w*|helpen|hjälpa|hjelpe|hjælpe|hjálpað?|aðstoða\w*|auttaa|aidata|palīdzēt|"
    r"padėti|pomóc|pomoci|pomoct|pomôcť|pomagati|pomoći|помогнем|помогна|помогнам|помочь|допомогти|segíte\w+|ajut\w*|"
    r"βοηθήσω|yardımcı|yardım|membantu|kusaidia|ndihmo\w*|\w*tulung\w*)\b|giúp|hỗ trợ|帮助|幫助|协助|協助|"
    r"手伝|도와|도움|"
    r"मदद|मदत|સહાય|મદદ|सहायता|सहाय्य|সাহায্য|உதவ|సహాయ|ساعد|کمک|مدد|עזור|סייע|ช่วย|ជួយ|ხმარ|օգն",
    regex.IGNORECASE,
)
_REQUEST = regex.compile(
    r"\b(?:requests?|anfragen?|demandes?|solicitud(?:es)?|pedidos?|richiest[ae]|verzoek(?:en)?|запрос\w*|барање\w*|"
    r"kërkes\w+)\b|请求|請求|対応|要望|依頼|リクエスト|طلب|요청|अनुरोध|विनंती|વિનંતી|درخواست",
    regex.IGNORECASE,
)
_SPEAKS_OF_HELP = regex.compile(
    r"help|assist|support|\bA\.?I\b|\bK\.?I\b|\bI\.?A\b|\bИИ\b|model|AI[のは・]|人工知能|モデル|인공지능|모델|人工智能|模型|"
    r"saidi|ეხმარ|օգն|সাহায্য|సహాయ|ልረዳ|እርዳ|મદદ|ਮਦਦ|ಸಹಾಯ|സഹായ|ຊ່ວຍ|ជួយ|ကူညီ|hjálp|tabhair|lagun|көмек|yordam|kömək|"
    r"hilf|helf|ayud|ajud|aiut|aid[eé]|hjälp|hjelp|hjæl|hulp|pomoc|pomoh|pomoz|pomóc|помо|допомо|segít|ajut|βοηθ|"
    r"yardım|giúp|bantu|auta|autta|apua|aita|abi|palīdz|padė|帮|幫|助|手伝|役|도와|도움|मदद|सहायता|ساعد|עזור|עזר|סיוע|"
    r"ช่วย|உதவ|උදව්|मद्दत|کمک|مدد|ndihm|tulong",
    regex.IGNORECASE,
)
_OWN_INABILITY = regex.compile(
    rf"\b(?:I|we)\b[^.!?\n]{{0,20}}\b(?:can(?:no|['’])?t|can not|unable|not able|could(?:n['’]t|"
    rf" not)|can do nothing)\b|"
    rf"\bnothing (?:else |more )?(?:that )?(?:I|we) can\b|\bimpossible\b|"
    rf"\b(?:ich|wir) (?:kann|können)\b[^.!?\n]{{0,40}}\bnicht|\b(?:kann|können) (?:ich|wir)\b[^.!?\n]{{0,40}}\bnicht|"
    rf"\bik kan\b[^.!?\n]{{0,30}}\bniet|\bjag kan\b[^.!?\n]{{0,30}}\bint|"
    rf"\bjeg kan\b[^.!?\n]{{0,30}}\bik|恕|無理|{_I_CANNOT}",
    regex.IGNORECASE,
)
_FAILURE = regex.compile(
    r"fail|error|wrong|problem|trouble|reject|refus|\bden(?:y|ie)|declin|invalid|unavailab|unsupport|abort|crash|"
    r"exceed|expired|timed? ?out|too many|unable|cannot|"
    r"fehlgeschlagen|fehler|abgelehnt|verweiger|ungültig|échou|échec|erreur|rejet|rechaz|denega|falló|fallid|rifiut|"
    r"errore|falh|erro\b|recus|mislukt|fout|geweiger|ошиб|не уда|отказ|отклон|сбой|помил|błąd|odrzuc|chyb|"
    r"失败|失敗|错误|錯誤|拒|エラー|오류|실패|거부|خطأ|فشل|שגיאה|त्रुटि|विफल",
    regex.IGNORECASE,
)


def may_say_no_help(source: str) -> bool:
    """Whether a translation of ``source`` may say that its writer cannot help."""
    return _SPEAKS_OF_HELP.search(source) is not None or _OWN_INABILITY.search(source) is not None


def may_say_no_service(source: str) -> bool:
    """Whether a translation of ``source`` may say that something cannot be done: it speaks of a request or failure."""
    return may_say_no_help(source) or denies(source) or any(signs.search(source) for signs in (_REQUEST, _FAILURE))


def declines(source: str, text: str) -> bool:
    """Whether ``text`` regrets that it cannot do what was asked for, where ``source`` speaks of nothing of the kind.

    Software regrets that it cannot process a request where its source merely says that it failed. That it cannot help
    is what it says of itself, and only a source about help, or about what the writer cannot do, says so too.
    """
    if not _REGRET.search(text) or not _INABILITY.search(text):
        return False
    if _HELP.search(text):
        return not may_say_no_help(source)
    return _REQUEST.search(text) is not None and not may_say_no_service(source)
