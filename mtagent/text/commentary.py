"""What a text says that is no translation: labels, notes, remarks, refusals; deterministic, without a model.

:func:`grown` compares source, text before and text after an edit; :func:`commentary` needs no text before. The signs
are looked for in all languages, since a model comments in any.
"""

from __future__ import annotations

import regex

from mtagent.text.omission import Units, difference, match, quoted
from mtagent.text.scripts import letters

LENGTH_LIMIT = 1.6
"""How many times longer than both source and text before, in letters, a text after may be."""
SMALL_ADDITION = 16
"""Letters and spaces that an edit may add in one place without a closer look."""
SLACK = 40
"""Letters that a text may grow by whatever its length: one word may become three."""
ADDED_LINE = 15
"""Letters of a line at the beginning or end that make it a line of commentary if nothing before matches it."""
KEPT_OF_LINE = 0.3
"""Share of such a line that must be matched in the text before."""

_TRANSLATION = (
    "übersetzung|traducción|tradução|traduzione|traduction|vertaling|översättning|oversættelse|oversettelse|þýðing|"
    "käännös|tõlge|tulkojums|vertimas|překlad|preklad|tłumaczenie|перевод|переклад|превод|prijevod|prevod|fordítás|"
    "traducere|μετάφραση|çeviri|bản dịch|terjemahan"
)
_TRANSLATION_ELSEWHERE = "翻译|翻譯|译文|譯文|翻訳|訳文|訳|번역|अनुवाद|الترجمة|ترجمة|תרגום|คำแปล"
# Stems by which a source speaks of translating, or of interpreting, itself.
_TRANSLATE = (
    "translat|interpret|dolmetsch|übersetz|traduc|traduz|traduç|tradott|tradui|traduk|vertaal|vertal|översätt|oversæt|"
    "oversett|þýð|käänn|tõlk|tõlg|tulko|vertim|verst|překl|přelož|prekl|prelož|tłumacz|przetłum|перев|перекла|превод|"
    "превед|prevo|preve|prije?vo|prije?ve|fordít|tálmač|μεταφρ|çevir|çevr|tercüme|dịch|terjemah|salin|itzul|përkth|"
    "cyfieith|aistri|tafsir|fassara|humush|turjum|аудар|орчуул|译|譯|訳|번역|통역|अनुवाद|भाषांतर|অনুবাদ|અનુવાદ|ਅਨੁਵਾਦ|"
    "மொழிபெயர்|అనువాద|ಅನುವಾದ|വിവർത്തന|തർജ്ജമ|පරිවර්තන|ترجم|תרגם|תרגו|แปล|ແປ|បកប្រែ|ဘာသာပြန်|თარგმ|թարգման|ተርጉ|ትርጉ"
)

_FENCE = regex.compile(r"```|~~~")
_TAG = regex.compile(
    r"</?(?:think(?:ing)?|reasoning|analysis|scratchpad|translation|output|answer|final(?:_answer)?|result)>"
    r"|<\|[^|<>\s]{1,40}\|>|\[/?INST\]",
    regex.IGNORECASE,
)
_ENUMERATOR = regex.compile(
    r"^[^\S\n]*+[*_#>-]*+[^\S\n]*+(?:\(?(?:\d{1,2}|[a-eA-E])[.)]|[①-⑩]|"
    r"(?:option|version|variante?|alternativ\w*+|fassung|opción|вариант|варіант|选项|版本|訳案|案)\s*+[\dA-E]\b)",
    regex.MULTILINE | regex.IGNORECASE,
)
_LINE_START = r"^[^\S\n]*+[*_#>(\[（【\"“-]*+[^\S\n]*+"
_LABEL = regex.compile(
    _LINE_START + r"(?:[\w'’ ]{0,40}?(?:translation|translated\ text|post-?edit\w*+|proofread\w*+|"
    rf"(?:corrected|revised|improved|final|edited)\ (?:text|version|sentence)|{_TRANSLATION})"
    rf"[\w'’ ()-]{{0,30}}+|[^\s:：]{{0,12}}(?:{_TRANSLATION_ELSEWHERE})[^\s:：]{{0,12}})"
    r"[*_\"”)\]】]*+\s?[:：]",
    regex.MULTILINE | regex.IGNORECASE,
)
_OPENING = regex.compile(
    r"\A\W*+(?:(?:sure|certainly|of\ course|absolutely|okay|ok)\b[!,.]|here(?:'s|’s|\ is|\ are)\b[^\n]{0,120}+\n"
    r"|here(?:'s|’s|\ is|\ are)\ (?:the|my|an?|your|five|some)\ [^\n:]{0,80}+:"
    r"|(?:let\ me|let's|let’s|i\ will|i'll|i’ll|i\ need\ to|we\ need\ to|the\ user)\b)",
    regex.IGNORECASE,
)
_NOTE = regex.compile(
    _LINE_START
    + r"(?:(?:translator['’]?s?\ )?notes?|explanations?|reasoning|rationale|comments?|changes(?:\ made)?|corrections?|"
    r"alternatives?|justification|analysis|confidence|anmerkung(?:en)?|hinweis|erklärung|remarques?|"
    r"note\ du\ traducteur|explication|notas?|explicación|nota\ del\ traductor|poznámk[ay]|uwag[ai]|"
    r"примечани[ея]|примітк[аи]|пояснение|пояснення|napomen[ae]|athugasemd(?:ir)?|märkus(?:ed)?|注释?|备注|说明|解释|修改说明|注意|注記|備考|解説|説明|修正点|"
    r"참고|설명|टिप्पणी|ملاحظة|ملاحظات|หมายเหตุ)[*_]*+\s?[:：]",
    regex.MULTILINE | regex.IGNORECASE,
)
_ASIDE = regex.compile(
    _LINE_START
    + r"(?:(?:i(?:'ve|’ve|\ have)?|we(?:'ve|’ve|\ have)?)\ (?:also\ )?(?:changed|corrected|revised|improved|kept|fixed|"
    r"translated|made|adjusted|replaced|rephrased|chose|used)\b|let\ me\ know\b|please\ let\ me\ know\b|"
    r"would\ you\ like\b|(?:i\ )?hope\ this\ helps|as\ an\ ai\b|i(?:'m|’m|\ am)\ sorry\b|i\ can(?:no|')?t\b|"
    r"(?:this|the|my)\ (?:\w+\ )?translation\b)",
    regex.MULTILINE | regex.IGNORECASE,
)
_LINE = regex.compile(r"\S[^\n]*+")

_ON_TRANSLATING = regex.compile(
    rf"(?:here(?:'s|’s| is| are)|this is|below is|following is)\b[^.!?\n]{{0,60}}\btranslations?\b"
    r"|\btranslat(?:ions?|es|ed)\b[^.!?\n:\"“]{0,60}:|\A\W*the translation of\b"
    r"|\b(?:ca(?:nnot|n't|n’t)|can not|unable|not able|comfortable|sorry|apologi[sz]e)\b[^.!?\n]{0,80}\btranslat"
    r"|\b(?:require|need)(?:s|d)?\b[^.!?\n]{0,20}\btranslation\b|\btranslate the following\b"
    r"|\b(?:provide|like)\b[^.!?\n]{0,60}\btranslated?\b"
    r"|\b(?:this|provided|current|original|human) (?:\w+ )?translation\b"
    r"|(?:\b(?:hier (?:ist|sind|folgt|is)|aquí (?:está|tiene)|aqui (?:está|vai)|ecco|voici|här är|her er|zde je|tu je"
    r"|oto|вот|ось|ето|íme|iată|ορίστε|işte|đây là|berikut)\b|以下是|以下は|这是|這是|다음은"
    r"|यहाँ|هذا هو|هذه هي|إليك|להלן|הנה)"
    rf"[^.!?。！？\n]{{0,60}}?(?:{_TRANSLATION}|{_TRANSLATION_ELSEWHERE})"
    r"|\bdiese? (?:\w+ )?übersetzung (?:klingt|ist|lautet|wirkt)\b|\bkann\b[^.!?\n]{0,60}\bnicht übersetzen\b"
    r"|\b(?:no puedo traducir|não posso traduzir|non posso tradurre|ne (?:peux|puis) pas traduire|"
    r"kan [^.!?\n]{0,40}niet vertalen|не (?:могу|можу) пере(?:вести|класти))\b"
    r"|(?:无法|不能|無法)(?:提供)?(?:翻译|翻譯)|翻訳(?:することは|は)?でき(?:ません|ない)|번역할 수 없|अनुवाद नहीं कर"
    r"|لا (?:يمكنني|أستطيع) (?:ترجمة|أن أترجم)|לא (?:יכול|יכולה|אוכל) לתרגם",
    regex.IGNORECASE,
)
_COLON = regex.compile("[:：]")
_SPEAKS_OF_TRANSLATING = regex.compile(_TRANSLATE, regex.IGNORECASE)
_DECLINES = regex.compile(
    r"(?P<english>\b(?:i(?:'m|’m| am) (?:sorry|afraid|unable)|i apologi[sz]e|i ca(?:nnot|n't|n’t))\b[^.!?\n]{0,60}"
    r"\b(?:assist|help|fulfil|comply|process|provide)\b[^.!?\n]{0,20}\b(?:with|this|that|your|the)\b"
    r"[^.!?\n]{0,30}(?:\brequest\b|\btext\b|\bcontent\b|\bthat\b|\bthis\b)"
    r"|\bas an? (?:ai|large language|language) (?:language )?(?:model|assistant)\b)"
    r"|\bes tut mir leid, (?:aber )?(?:ich kann )?dabei kann ich nicht (?:behilflich|helfen)|"
    r"\blo siento, (?:pero )?no puedo (?:ayudar|asistir|cumplir)|\b(?:désolée?|regrette), (?:mais )?"
    r"je ne (?:peux|puis) pas (?:vous )?(?:aider|répondre)"
    r"|\b(?:desculpe|sinto muito), (?:mas )?não posso (?:ajudar|atender)|"
    r"\bmi dispiace, (?:ma )?non posso (?:aiutar|assister)"
    r"|к сожалению, я не могу (?:помочь|выполнить)|抱歉，?(?:但)?我(?:无法|不能)(?:协助|帮助|满足|提供)"
    r"|申し訳(?:ありません|ございません)が、(?:その|この)?"
    r"(?:ご)?(?:要望|リクエスト|依頼)",
    regex.IGNORECASE,
)
_SPEAKS_OF_HELP = regex.compile(
    r"help|assist|sorry|apolog|support|\bA\.?I\b|\bK\.?I\b|\bI\.?A\b|\bИИ\b|model|AI[のは・]|人工知能|モデル|인공지능|모델|"
    r"afraid|unfortunat|unable|\bcannot\b|\bcan['’]?t\b|forgive|pardon|malheureus|hélas|désagr|leider|bedau[er]|"
    r"valitettav|ikävä|tyvärr|dessverre|desværre|uheldigvis|helaas|jammer|niestety|bohužel|žiaľ|na ?žalost|purtroppo|"
    r"infelizmente|desgracia|desafortunad|увы|din păcate|sajnos|maalesef|ne yazık|δυστυχώς|sayangnya|rất tiếc|恕|無理|"
    r"できません|できない|samahani|saidi|pole sana|ბოდიში|უკაცრავად|ეხმარ|ներ[եող]|ցավ|օգն|দুঃখিত|ক্ষমা|সাহায্য|క్షమ|సహాయ|"
    r"ይቅርታ|ልረዳ|እርዳ|માફ|ક્ષમ|મદદ|ਮਾਫ|ਮੁਆਫ|ਮਦਦ|ಕ್ಷಮ|ಸಹಾಯ|ക്ഷമ|സഹായ|ขออภัย|ຂໍໂທດ|ຊ່ວຍ|សុំទោស|ជួយ|တောင်းပန်|ကူညီ|fyrirgef|því miður|"
    r"hjálp|tabhair|brón|barkatu|lagun|uxuni|кешір|көмек|узр|afsus|yordam|təəssüf|üzr|kömək|"
    r"hilf|helf|leid|entschuld|ayud|siento|lament|disculp|ajud|"
    r"desculp|sinto|aiut|dispiac|scus|aid[eé]|désol|regret|excus|assur|hjälp|hjelp|hjæl|ledsen|beklag|spijt|hulp|pomoc|"
    r"pomoh|pomoz|pomóc|przykr|přeb?ač|omlouv|lituj|помо|допомо|извин|прости|жал|вибач|прост|segít|sajnál|ajut|scuz|βοηθ|"
    r"λυπ|συγγνώμη|yardım|üzgün|özür|giúp|xin lỗi|bantu|maaf|auta|autta|apua|pahoittel|aita|abi|vaband|"
    r"kahju|palīdz|padė|帮|幫|助|抱歉|对不起|對不起|遗憾|遺憾|不好意思|人工智能|模型|手伝|役|助け|申し訳|すみ|ごめん|恐れ入|残念|도와|도움|죄송|미안|유감|मदद|"
    r"सहायता|क्षमा|माफ|खेद|ساعد|آسف|عذر|أسف|עזור|עזר|סיוע|מצטער|סליחה|ช่วย|ขอโทษ|เสียใจ|"
    r"உதவ|மன்னி|සමාව|කණගාටු|උදව්|मद्दत|کمک|متأسف|مدد|معذرت",
    regex.IGNORECASE,
)


def commentary(source: str, text: str, *, target_lang: str = "") -> tuple[str, ...]:
    """Complaints about what ``text`` says beyond a translation of ``source``, where there is no text before it.

    Only signs that real translations practically never have: a code fence, a model's tag, a label, a text that speaks
    of its own translation or declines to help. A sign that the source shows itself, in any language, is no complaint.
    """
    complaints = []
    for sign, name in ((_FENCE, "a code fence"), (_TAG, "a tag of the model")):
        if len(sign.findall(text)) > len(sign.findall(source)):
            complaints.append(f"the text has {name}")
    spoken = _LABEL.search(text) or _ON_TRANSLATING.search(text)
    # "Transfer:" is "Перевод:" too, and so a label that the source may have as well.
    own_label = spoken and spoken.group()[-1] in ":：" and len(_COLON.findall(text)) <= len(_COLON.findall(source))
    if spoken and not own_label and not _SPEAKS_OF_TRANSLATING.search(source):
        complaints.append(f"the text speaks of translating: {quoted(spoken.group())}")
    declined = _DECLINES.search(text)
    if declined and not _DECLINES.search(source):
        foreign = declined["english"] is not None and target_lang.partition("-")[0].casefold() not in ("", "en")
        if foreign or not _SPEAKS_OF_HELP.search(source):
            complaints.append(f"the text declines to translate: {quoted(declined.group())}")
    return tuple(complaints)


_ADDED = {
    "a code fence": _FENCE,
    "a tag of the model": _TAG,
    "a label": _LABEL,
    "an opening remark": _OPENING,
    "a note": _NOTE,
    "a remark to the user": _ASIDE,
}


def grown(source: str, before: str, after: str, *, target_lang: str = "") -> tuple[str, ...]:
    """Complaints about what ``after`` newly says beyond a translation of ``source``; ``()`` = fine.

    These are commentary at the beginning or end, labels, notes, code fences, lists of alternatives, reasoning, and a
    text that is far longer than both ``source`` and ``before``. What ``source`` or ``before`` has too is fine.
    """
    del target_lang  # the signs are looked for in all languages
    _, added = difference(before, after)
    if before.split() == after.split() or (len(added) <= SMALL_ADDITION and added.replace(" ", "").isalpha()):
        return ()
    complaints = []
    size, allowed = letters(after), LENGTH_LIMIT * max(letters(source), letters(before)) + SLACK
    if size > allowed:
        complaints.append(f"the text grew to {size:.0f} letters, where source and text before allow {allowed:.0f}")
    for name, sign in _ADDED.items():
        signs = [match.group() for match in sign.finditer(after)]
        if len(signs) > max(len(sign.findall(source)), len(sign.findall(before))):
            complaints.append(f"the edit added {name}: {quoted(signs[-1])}")
    numbered = [len(_ENUMERATOR.findall(text)) for text in (source, before, after)]
    if numbered[2] >= 2 + max(numbered[:2]):
        complaints.append(f"the edit added a list of {numbered[2]} numbered lines")
    return (*complaints, *_comment_lines(source, before, after))


def _comment_lines(source: str, before: str, after: str) -> list[str]:
    """A first or last line that nothing in ``before`` matches, where source and ``before`` have fewer lines."""
    counts = [len(_LINE.findall(text)) for text in (source, before, after)]
    lines = Units(after, _LINE.findall(after))
    if counts[2] <= max(*counts[:2], 1) or not lines.units:
        return []
    matched = {j for _, j in match(Units(before, [before]).keys, lines.keys)}
    complaints = []
    for line in dict.fromkeys((lines.units[0], lines.units[-1])):
        size = lines.size_of(line.low, line.high)
        kept = sum(lines.size_of(k, k + 1) for k in range(line.low, line.high) if k in matched)
        if size >= ADDED_LINE and kept < KEPT_OF_LINE * size:
            complaints.append(f"the edit added a line: {quoted(line.text)}")
    return complaints
