"""Remarks on a translation, in many languages and places: found where they are new, and free to be removed."""

from __future__ import annotations

import pytest

from mtagent.chain.guards import damages
from mtagent.chain.translation import refusals
from mtagent.records import Segment
from mtagent.text.commentary import bare, commentary, grown

SOURCE = "The ferry to the island leaves at eight. Dogs travel free of charge."
# A translation of the source, a remark in place of it, one to go before it, and one to go behind it.
TALK = {
    "de": (
        "Die Fähre zur Insel fährt um acht Uhr ab. Hunde reisen kostenlos mit.",
        "Dieser Satz ist bereits flüssig, eine Überarbeitung ist nicht nötig.",
        "Gerne, so lautet die verbesserte Fassung der Übersetzung:",
        "Ich habe nur die Wortstellung geändert, damit es natürlicher klingt.",
    ),
    "fr": (
        "Le ferry pour l’île part à huit heures. Les chiens voyagent gratuitement.",
        "La phrase est déjà fluide, aucune modification n’est nécessaire.",
        "Voici ma traduction améliorée :",
        "J’ai seulement modifié la phrase pour qu’elle soit plus naturelle.",
    ),
    "es": (
        "El ferri a la isla sale a las ocho. Los perros viajan gratis.",
        "La frase ya es correcta y no necesita cambios.",
        "Esta sería la traducción revisada:",
        "He cambiado la frase para que el texto resulte más natural.",
    ),
    "pt": (
        "O ferry para a ilha parte às oito. Os cães viajam de graça.",
        "O texto já está correto, não é necessário alterar nada.",
        "Segue a tradução melhorada:",
        "Melhorei a frase para ficar mais natural.",
    ),
    "it": (
        "Il traghetto per l’isola parte alle otto. I cani viaggiano gratis.",
        "La frase è già corretta e non sono necessarie modifiche.",
        "Ecco la traduzione migliorata:",
        "Ho modificato la frase perché suoni più naturale.",
    ),
    "nl": (
        "De veerboot naar het eiland vertrekt om acht uur. Honden reizen gratis mee.",
        "Deze zin klinkt al vloeiend, een wijziging is niet nodig.",
        "Dit is de verbeterde vertaling:",
        "Ik heb de formulering aangepast.",
    ),
    "sv": (
        "Färjan till ön går klockan åtta. Hundar reser gratis.",
        "Meningen låter redan naturlig, inga ändringar behövs.",
        "Det här är min översättning:",
        "Jag har ändrat meningen så att den låter naturlig.",
    ),
    "da": (
        "Færgen til øen sejler klokken otte. Hunde rejser gratis.",
        "Sætningen lyder allerede naturlig, ingen ændringer er nødvendige.",
        "Den forbedrede oversættelse lyder:",
        "Jeg har ændret sætningen, så den lyder naturlig.",
    ),
    "fi": (
        "Lautta saarelle lähtee kello kahdeksan. Koirat matkustavat ilmaiseksi.",
        "Lause on jo sujuva, muutoksia ei tarvita.",
        "Tässä on parannettu käännös:",
        "Muutin lausetta, jotta se olisi sujuvampi.",
    ),
    "et": (
        "Praam saarele väljub kell kaheksa. Koerad sõidavad tasuta.",
        "Lause on juba loomulik, muudatusi pole vaja.",
        "Siin on parandatud tõlge:",
        "Muutsin lauset, et see oleks loomulikum.",
    ),
    "pl": (
        "Prom na wyspę odpływa o ósmej. Psy podróżują bezpłatnie.",
        "To zdanie brzmi naturalnie i nie wymaga żadnych zmian.",
        "Oto poprawione tłumaczenie:",
        "Zmieniłem zdanie, aby brzmiało naturalnie.",
    ),
    "cs": (
        "Trajekt na ostrov odplouvá v osm. Psi cestují zdarma.",
        "Věta zní přirozeně, žádné změny nejsou potřeba.",
        "Zde je upravený překlad:",
        "Větu jsem upravil, aby zněla přirozeně.",
    ),
    "ru": (
        "Паром на остров отходит в восемь. Собаки едут бесплатно.",
        "Предложение звучит естественно, исправления не требуются.",
        "Вот улучшенный перевод:",
        "Я исправил предложение, чтобы оно звучало естественно.",
    ),
    "uk": (
        "Пором на острів відходить о восьмій. Собаки їдуть безкоштовно.",
        "Речення звучить природно, змін не потрібно.",
        "Ось виправлений переклад:",
        "Я змінив речення, щоб воно звучало природно.",
    ),
    "hu": (
        "A komp nyolckor indul a szigetre. A kutyák ingyen utaznak.",
        "A mondat már természetes, nincs szükség módosításra.",
        "Íme a javított fordítás:",
        "Módosítottam a mondatot, hogy természetesebb legyen.",
    ),
    "el": (
        "Το πλοίο για το νησί φεύγει στις οκτώ. Οι σκύλοι ταξιδεύουν δωρεάν.",
        "Το κείμενο είναι σωστό και δεν χρειάζεται αλλαγές.",
        "Ορίστε η βελτιωμένη μετάφραση:",
        "Έκανα μερικές αλλαγές για να είναι το κείμενο φυσικό.",
    ),
    "tr": (
        "Adaya giden feribot saat sekizde kalkıyor. Köpekler ücretsiz seyahat ediyor.",
        "Cümle zaten doğal, değişiklik gerekmiyor.",
        "İşte düzeltilmiş çeviri:",
        "Cümleyi daha doğal olması için değiştirdim.",
    ),
    "vi": (
        "Phà ra đảo khởi hành lúc tám giờ. Chó được đi miễn phí.",
        "Câu này đã tự nhiên, không cần chỉnh sửa.",
        "Đây là bản dịch đã chỉnh sửa:",
        "Tôi đã sửa câu này cho tự nhiên hơn.",
    ),
    "id": (
        "Feri ke pulau berangkat pukul delapan. Anjing naik gratis.",
        "Kalimat ini sudah benar, tidak perlu perubahan.",
        "Berikut terjemahan yang sudah diperbaiki:",
        "Saya ubah kalimat ini agar lebih alami.",
    ),
    "zh": (
        "去岛上的渡轮八点出发。狗可以免费乘坐。",
        "这句话的措辞已经很自然，不需要修改。",
        "修改后的译文如下：",
        "我修改了措辞，让语句更通顺。",
    ),
    "ja": (
        "島へのフェリーは八時に出ます。犬は無料で乗れます。",
        "この文章はすでに自然で、修正の必要はありません。",
        "改善した翻訳は次のとおりです：",
        "文章がより自然になるように変更しました。",
    ),
    "ko": (
        "섬으로 가는 배는 여덟 시에 떠납니다. 개는 무료로 탑니다.",
        "이 문장은 이미 자연스러워 수정할 필요가 없습니다.",
        "수정한 번역은 다음과 같습니다:",
        "더 자연스럽게 문장을 수정했습니다.",
    ),
    "hi": (
        "द्वीप के लिए नौका आठ बजे निकलती है। कुत्ते मुफ़्त में जाते हैं।",
        "यह वाक्य पहले से स्वाभाविक है, बदलाव की आवश्यकता नहीं।",
        "संशोधित अनुवाद इस प्रकार है:",
        "मैंने वाक्य में सुधार किया ताकि वह स्वाभाविक लगे।",
    ),
    "ar": (
        "تغادر العبّارة إلى الجزيرة في الثامنة. تسافر الكلاب مجانًا.",
        "هذه الجملة صحيحة ولا حاجة إلى أي تغيير.",
        "إليك الترجمة المحسّنة:",
        "قمت بتعديل الجملة لتبدو طبيعية.",
    ),
    "he": (
        "המעבורת לאי יוצאת בשמונה. כלבים נוסעים בחינם.",
        "המשפט כבר נכון ואין צורך בשינוי.",
        "הנה התרגום המשופר:",
        "ערכתי תיקון כדי שהמשפט יהיה טבעי.",
    ),
    "th": (
        "เรือไปเกาะออกตอนแปดโมง สุนัขขึ้นฟรี",
        "ประโยคนี้ถูกต้องแล้ว ไม่จำเป็นต้องแก้ไข",
        "นี่คือคำแปลที่แก้ไขแล้ว:",
        "ฉันแก้ไขประโยคให้เป็นธรรมชาติมากขึ้น",
    ),
    "en": (
        "The ferry to the island departs at eight. Dogs go free.",
        "This sentence already sounds natural and needs no revision.",
        "Happy to help, this would be the improved translation:",
        "I changed the wording so that the sentence sounds natural.",
    ),
}  # fmt: skip
PLACES = ("{after}", "{before} {text}", "{before}\n\n{text}", "{text}\n\n{behind}", "{text} {behind}",
          "{before}\n{text}\n\n{behind}", "{place} {text}", "{place}")  # fmt: skip


def segment(lang: str, source: str = SOURCE, source_lang: str = "en") -> Segment:
    return Segment(id="1", source=source, source_lang=source_lang, target_lang=lang)


def placed(template: str, lang: str) -> str:
    text, place, before, behind = TALK[lang]
    return template.format(text=text, place=place, before=before, behind=behind, after=before)


@pytest.mark.parametrize("template", PLACES)
@pytest.mark.parametrize("lang", TALK)
def test_a_remark_is_refused_wherever_it_stands(lang: str, template: str) -> None:
    source = SOURCE if lang != "en" else TALK["de"][0]
    assert grown(source, TALK[lang][0], placed(template, lang), target_lang=lang)


@pytest.mark.parametrize("template", [place for place in PLACES if "{text}" in place])
@pytest.mark.parametrize("lang", TALK)
def test_a_remark_may_be_removed(lang: str, template: str) -> None:
    one = segment(lang) if lang != "en" else segment(lang, TALK["de"][0], "de")
    text = TALK[lang][0]
    assert damages(one, placed(template, lang), text) == ()
    assert bare(one.source, text, lang) == text


@pytest.mark.parametrize("lang", TALK)
def test_a_translation_with_a_remark_on_itself_is_refused_without_a_text_before_it(lang: str) -> None:
    source = SOURCE if lang != "en" else TALK["de"][0]
    assert refusals(segment(lang, source), TALK[lang][0]) == ()
    assert refusals(segment(lang, source), placed("{before} {text}", lang))
    assert refusals(segment(lang, source), placed("{before}\n\n{text}", lang))


BELONGS = [
    ("de", "en", "Natürlich kommt es vor.", "Of course it happens.", "Of course, it happens."),
    ("zh", "en", "我一定会投诉", "I am so making a complaint.", "I will definitely complain"),
    ("et", "en", "Ühtki neist ma ei saa teistele näidata.", "None of them can I show to others.",
     "I cannot show any of them to others."),
    ("ru", "en", "Было времечко, едали и мы семечко.", "It was time to eat, and we did.",
     "We used to have great times."),
    ("zh", "en", "找不到", "Not found", "I can't find it"),
    ("de", "en", "Klar, ich komme mit.", "Clear, I come along.", "Sure, I'll come along."),
    ("en", "de", "Sure! See you tomorrow.", "Klar! Bis morgen.", "Sicher! Wir sehen uns morgen."),
    ("fr", "en", "Voici la liste des invités : Anne et Paul.", "The list of guests follows: Anne and Paul.",
     "Here is the list of guests: Anne and Paul."),
    ("en", "de", "This sentence is correct.", "Der Satz da ist in Ordnung.", "Dieser Satz ist richtig."),
    ("en", "ru", "The interpreter was ill.", "Толмач болел.", "Переводчик был болен, и перевода не было."),
    ("ja", "en", "申し訳ありませんが、お手伝いできません。", "Apologies, no help possible.",
     "I'm sorry, but I can't help you with that."),
    ("en", "es", "Changes to the text need the consent of both parties.", "Cambios del texto con permiso de ambos.",
     "Toda modificación del texto necesita el consentimiento de ambas partes."),
    ("en", "de", "The museum opens at nine. Mr. Lee is its head.", "Das Museum öffnet um neun. Herr Lee leitet es.",
     "Das Museum öffnet um neun. Mr. Lee ist sein Leiter."),
    ("en", "de", "The house is old. It has a red roof.", "Das Haus ist alt.",
     "Das Haus ist alt. Es hat ein rotes Dach."),
]  # fmt: skip


@pytest.mark.parametrize(("source_lang", "lang", "source", "before", "after"), BELONGS)
def test_what_the_source_says_is_no_remark(source_lang: str, lang: str, source: str, before: str, after: str) -> None:
    assert grown(source, before, after, target_lang=lang) == ()
    assert refusals(segment(lang, source, source_lang), after) == ()


OTHERS = [
    ("de", "Das klingt gut so: {}"), ("en", "Sure, {}"), ("en", "I need more context to help with this sentence."),
    ("en", "No changes needed."), ("en", "{} (No changes were necessary.)"), ("de", "Keine Änderungen nötig."),
    ("en", "Hope that is what you had in mind. {}"), ("en", "{}\nFeel free to ask for another round."),
    ("fr", "Désolé, je ne peux pas vous aider avec ce texte."),
    ("en", "Please provide the text in the source language."),
    ("es", "{} ¡Espero que le guste el resultado!"),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "template"), OTHERS)
def test_remarks_without_a_word_on_translating_are_refused(lang: str, template: str) -> None:
    source = SOURCE if lang != "en" else TALK["de"][0]
    assert grown(source, TALK[lang][0], template.format(TALK[lang][0]), target_lang=lang)


def test_more_talk_of_translating_is_refused_and_as_much_as_before_is_not() -> None:
    source, before = "Please open the door.", "Bitte die Tür öffnen, nur die Übersetzung."
    assert grown(source, before, "Bitte öffnen Sie die Tür, nur die Übersetzung.") == ()
    assert grown(source, before, "Bitte öffnen Sie die Tür, keine Übersetzungen, nur die Übersetzung.")
    assert commentary("Umrechnung in Euro", "Currency translation") == ()


@pytest.mark.parametrize(("lang", "source", "text"), [
    ("ru", "The money order was lost.", "Денежный перевод потерялся."),
    ("cs", "The lintel cracked.", "Překlad nad dveřmi praskl."),
    ("sl", "The gear ratio is too high.", "Prevod je previsok."),
    ("de", "The German edition is by Schlegel.", "Die deutsche Übersetzung stammt von Schlegel."),
    ("fr", "The Bible in French.", "La Bible en traduction française."),
    ("ar", "His biography was published.", "نُشرت ترجمته."),
    ("hr", "The wire was late.", "Prijevod novca je kasnio."),
])  # fmt: skip
def test_words_for_translating_that_mean_something_else_are_no_remark(lang: str, source: str, text: str) -> None:
    assert commentary(source, text, target_lang=lang) == ()


@pytest.mark.parametrize(("lang", "before", "after"), [
    ("fr", "Saisie fausse. Réparez.", "Saisie incorrecte. Veuillez corriger l’erreur."),
    ("de", "Ungültig. Probier nochmal.", "Ungültige Eingabe. Bitte korrigieren Sie den Fehler."),
    ("ja", "無効なエントリ。", "入力が正しくありません。修正してください。"),
    ("pl", "Nieważny. Napraw.", "Nieprawidłowa wartość. Proszę poprawić błąd."),
])  # fmt: skip
def test_messages_about_mistakes_are_no_remark(lang: str, before: str, after: str) -> None:
    assert grown("Invalid value. Fix it.", before, after, target_lang=lang) == ()


@pytest.mark.parametrize(("lang", "remark"), [
    ("de", "Gerne! Natürlicher klingt es so: "), ("zh", "好的！更自然的说法是："), ("hi", "संशोधित पाठ: "),
    ("is", "Betri útgáfa af þessu: "),
])  # fmt: skip
def test_what_leads_the_text_in_with_a_colon_is_a_remark_in_any_language(lang: str, remark: str) -> None:
    text = {"zh": "由于暴风雨，大桥关闭了。"}.get(lang, "Brúin var lokuð vegna stormsins.")
    assert grown("The bridge was closed because of the storm.", text, remark + text, target_lang=lang)


# What a model says of a text that needs no change, and how it declines to help.
UNCHANGED = {
    "en": "No changes needed.|No corrections.|No edits necessary.|No errors found.|Nothing to change.",
    "de": "Keine Änderungen nötig.|Keine Fehler.|Keine Korrekturen erforderlich.|Nichts zu ändern.",
    "fr": "Aucune modification nécessaire.|Pas de correction.|Aucune erreur.|Rien à modifier.",
    "es": "Sin cambios.|No se necesitan cambios.|Ningún error.|Nada que corregir.",
    "pt": "Sem alterações.|Nenhuma correção necessária.|Sem erros.|Nada a corrigir.",
    "it": "Nessuna modifica.|Nessuna correzione necessaria.|Nessun errore.|Niente da correggere.",
    "nl": "Geen wijzigingen nodig.|Geen fouten.|Geen aanpassingen.",
    "sv": "Inga ändringar behövs.|Inga fel.|Inget att ändra.",
    "da": "Ingen ændringer.|Ingen fejl.|Ingen rettelser nødvendige.",
    "nb": "Ingen endringer nødvendig.|Ingen feil.",
    "is": "Engar breytingar.|Engar villur.|Engra breytinga er þörf.",
    "fi": "Ei muutoksia.|Ei virheitä.|Ei korjattavaa.",
    "et": "Muudatusi pole vaja.|Vigu pole.|Parandusi ei ole.",
    "lv": "Izmaiņas nav nepieciešamas.|Kļūdu nav.|Bez izmaiņām.",
    "lt": "Pakeitimų nereikia.|Klaidų nėra.|Be pakeitimų.",
    "pl": "Bez zmian.|Brak błędów.|Nie wymaga poprawek.",
    "cs": "Beze změn.|Žádné chyby.|Není třeba nic měnit.",
    "sk": "Bez zmien.|Žiadne chyby.|Nie sú potrebné zmeny.",
    "sl": "Brez sprememb.|Ni napak.|Popravki niso potrebni.",
    "hr": "Bez izmjena.|Nema grešaka.|Nisu potrebne izmjene.",
    "sr": "Без измена.|Нема грешака.",
    "bg": "Без промени.|Няма грешки.|Не са нужни корекции.",
    "ru": "Изменений не требуется.|Без изменений.|Ошибок нет.|Правки не нужны.",
    "uk": "Без змін.|Помилок немає.|Виправлень не потрібно.",
    "hu": "Nincs változtatás.|Nincs hiba.|Nem szükséges módosítani.",
    "ro": "Fără modificări.|Nicio greșeală.|Nu sunt necesare corecturi.",
    "el": "Καμία αλλαγή.|Κανένα λάθος.|Δεν χρειάζονται διορθώσεις.",
    "tr": "Değişiklik gerekmez.|Hata yok.|Düzeltme yok.",
    "id": "Tidak ada perubahan.|Tidak ada kesalahan.|Tanpa perubahan.",
    "vi": "Không cần chỉnh sửa.|Không có lỗi.|Không thay đổi.",
    "sw": "Hakuna mabadiliko.|Hakuna makosa.",
    "zh": "无需修改。|没有错误。|无改动。|不需要更改。",
    "ja": "変更なし。|修正不要。|誤りはありません。|修正の必要はありません。",
    "ko": "변경 없음.|수정할 필요 없음.|오류 없음.",
    "hi": "कोई बदलाव नहीं।|कोई त्रुटि नहीं।|सुधार की आवश्यकता नहीं।",
    "bn": "কোনো পরিবর্তন নেই।|কোনো ভুল নেই।",
    "ta": "மாற்றம் தேவையில்லை.|பிழை இல்லை.",
    "te": "మార్పులు అవసరం లేదు.",
    "ar": "لا تغييرات.|لا توجد أخطاء.|لا حاجة إلى تعديل.",
    "fa": "بدون تغییر.|هیچ خطایی نیست.",
    "he": "אין שינויים.|אין שגיאות.|לא נדרשים תיקונים.",
    "th": "ไม่มีการแก้ไข|ไม่ต้องแก้ไข|ไม่มีข้อผิดพลาด",
    "ka": "ცვლილებები არ არის.|შეცდომები არ არის.",
    "hy": "Փոփոխություններ չկան։|Սխալներ չկան։",
    "ca": "Sense canvis.|Cap error.",
}  # fmt: skip
DECLINED = {
    "en": "I'm sorry, but I cannot help with that.|I can't assist with this request.",
    "de": "Es tut mir leid, aber ich kann dabei nicht helfen.|Ich kann diesen Text leider nicht übersetzen.",
    "fr": "Je suis désolé, mais je ne peux pas vous aider.|Désolé, je ne peux pas traiter cette demande.",
    "es": "Lo siento, no puedo ayudarte con eso.|Lo lamento, pero no puedo cumplir con esta solicitud.",
    "pt": "Desculpe, mas não posso ajudar com isso.|Lamento, não consigo atender a esse pedido.",
    "it": "Mi dispiace, ma non posso aiutarti.|Spiacente, non posso soddisfare questa richiesta.",
    "nl": "Het spijt me, maar ik kan hier niet mee helpen.|Sorry, ik kan dit verzoek niet uitvoeren.",
    "sv": "Jag är ledsen, men jag kan inte hjälpa till med det.|Tyvärr kan jag inte hjälpa dig.",
    "da": "Jeg beklager, men jeg kan ikke hjælpe med det.|Desværre kan jeg ikke hjælpe.",
    "nb": "Beklager, men jeg kan ikke hjelpe med det.",
    "is": "Því miður get ég ekki hjálpað með þetta.|Fyrirgefðu, ég get ekki aðstoðað þig.",
    "fi": "Valitettavasti en voi auttaa tässä.|Olen pahoillani, mutta en voi auttaa.",
    "et": "Vabandust, ma ei saa sellega aidata.|Kahjuks ei saa ma aidata.",
    "lv": "Atvainojiet, es nevaru palīdzēt.|Diemžēl es nevaru ar to palīdzēt.",
    "lt": "Atsiprašau, bet negaliu padėti.",
    "pl": "Przykro mi, ale nie mogę w tym pomóc.|Niestety nie mogę pomóc.",
    "cs": "Omlouvám se, ale s tím nemohu pomoci.|Bohužel vám nemohu pomoct.",
    "sk": "Prepáčte, ale s tým nemôžem pomôcť.",
    "sl": "Žal mi je, ampak pri tem ne morem pomagati.",
    "hr": "Žao mi je, ali ne mogu pomoći s tim.",
    "sr": "Жао ми је, али не могу да помогнем.",
    "bg": "Съжалявам, но не мога да помогна с това.",
    "ru": "Извините, но я не могу помочь с этим.|К сожалению, я не могу выполнить этот запрос.",
    "uk": "Вибачте, але я не можу з цим допомогти.|На жаль, я не можу допомогти.",
    "hu": "Sajnálom, de ebben nem tudok segíteni.|Sajnos nem tudok segíteni.",
    "ro": "Îmi pare rău, dar nu te pot ajuta cu asta.|Din păcate, nu pot ajuta.",
    "el": "Λυπάμαι, αλλά δεν μπορώ να βοηθήσω με αυτό.|Δυστυχώς δεν μπορώ να βοηθήσω.",
    "tr": "Üzgünüm, bu konuda yardımcı olamam.|Maalesef yardımcı olamıyorum.",
    "id": "Maaf, saya tidak bisa membantu dengan itu.|Mohon maaf, saya tidak dapat membantu.",
    "vi": "Xin lỗi, tôi không thể giúp với yêu cầu này.|Rất tiếc, tôi không thể hỗ trợ.",
    "sw": "Samahani, siwezi kusaidia na hilo.",
    "zh": "抱歉，我无法提供帮助。|对不起，我不能协助您完成这个请求。|很抱歉，我无法翻译此内容。",
    "ja": "申し訳ありませんが、お手伝いできません。|すみませんが、それには対応できません。|"
          "申し訳ございませんが、ご要望にはお応えできません。",
    "ko": "죄송하지만 도와드릴 수 없습니다.|죄송합니다. 그 요청은 도와드릴 수 없습니다.",
    "hi": "क्षमा करें, मैं इसमें मदद नहीं कर सकता।|माफ़ कीजिए, मैं सहायता नहीं कर सकता।",
    "bn": "দুঃখিত, আমি এতে সাহায্য করতে পারছি না।",
    "ta": "மன்னிக்கவும், என்னால் உதவ முடியாது.",
    "te": "క్షమించండి, నేను సహాయం చేయలేను.",
    "ar": "عذرًا، لا يمكنني المساعدة في ذلك.|آسف، لا أستطيع مساعدتك.|أعتذر، لا يمكنني تلبية هذا الطلب.",
    "fa": "متأسفم، نمی‌توانم در این مورد کمک کنم.",
    "he": "מצטער, אני לא יכול לעזור בזה.|סליחה, אין באפשרותי לסייע.",
    "th": "ขออภัย ฉันไม่สามารถช่วยเรื่องนี้ได้|ขอโทษครับ ผมช่วยไม่ได้",
    "ka": "უკაცრავად, ამაში ვერ დაგეხმარებით.",
    "hy": "Ներողություն, ես չեմ կարող օգնել։",
    "ca": "Ho sento, però no puc ajudar-te amb això.",
}  # fmt: skip


@pytest.mark.parametrize("source", [SOURCE, "The ferry leaves at eight."])
@pytest.mark.parametrize("remarks", [UNCHANGED, DECLINED], ids=["unchanged", "declined"])
def test_a_bare_remark_in_place_of_the_text_is_refused_with_and_without_a_text_before(
    remarks: dict[str, str], source: str
) -> None:
    kept = []
    for lang, line in remarks.items():
        asked = source if lang != "en" else TALK["de"][0]
        for remark in line.split("|"):
            if not refusals(segment(lang, asked), remark) or not grown(asked, "Xyz abcde.", remark, target_lang=lang):
                kept.append(remark)
    assert kept == []


@pytest.mark.parametrize(("lang", "source", "text"), [
    ("de", "Nothing was changed here.", "Keine Änderungen."), ("fr", "Everything stays the same.", "Aucun changement."),
    ("es", "The test found no errors.", "Sin errores."), ("de", "Optional for members.", "Nicht nötig."),
    ("ru", "Sorry, we cannot help you here.", "Извините, мы не можем помочь."), ("de", "Unchanged", "Keine Änderungen"),
    ("de", "I am afraid I can do nothing.", "Leider kann ich nicht helfen."),
])  # fmt: skip
def test_what_the_source_says_of_changes_and_help_is_no_remark(lang: str, source: str, text: str) -> None:
    assert refusals(segment(lang, source), text) == ()


@pytest.mark.parametrize("lang", TALK)
@pytest.mark.parametrize("place", ["{place}", "{text} {behind}", "{place} {text}"])
def test_most_remarks_are_seen_without_a_text_before(lang: str, place: str) -> None:
    source = SOURCE if lang != "en" else TALK["de"][0]
    if (lang, place) != ("nl", "{text} {behind}"):  # formulering: one subject in this list, too few
        assert refusals(segment(lang, source), placed(place, lang))


LONG = {
    "before": (
        "Okay, step by step. The user wants a polished version. First I look at the verb. It is in the present. "
        "The noun seems fine to me. The second sentence is short. I could join both with a comma. That would change "
        "the rhythm. So there are two sentences. People say otherwise. Here is the final version:\n\n{text}"
    ),
    "after": (
        "{text}\n\n**Explanation of changes:**\n\n1. **Verb**: it sounded stiff in this place.\n2. **Order**: The "
        "time stands where readers expect it.\n3. **Tone**: The second one is shorter. It reads better. People say it "
        "so.\n\nLet me know if you would like a more formal alternative, or one for children!"
    ),
    "silent": (
        "{text}\n\nThe first half is about a ferry. It is a boat that goes to an island. The word is common. In "
        "some regions people say otherwise. The second half is about dogs. They need no ticket. This is usual."
    ),
}  # fmt: skip


@pytest.mark.parametrize("long", LONG.values(), ids=LONG)
@pytest.mark.parametrize("lang", ["sv", "cs", "vi", "th", "en", "de"])
def test_a_long_remark_may_be_removed_and_not_the_text_with_it(lang: str, long: str) -> None:
    text = TALK[lang][0]
    one = segment(lang) if lang != "en" else segment(lang, TALK["de"][0], "de")
    assert damages(one, long.format(text=text), text) == ()
    assert damages(one, long.format(text=text), text[: len(text) // 2]), "half of the text is lost"


# Translations that have everyday words in them by which remarks on a text speak too: language, offer, text, need.
EVERYDAY = [
    ("ru", "Select another interface language", "Выбор языка", "Изменить язык пользовательского интерфейса"),
    ("ru", "You must know the language.", "Вы знаете речь.", "Нужно знать язык."),
    ("ru", "Your proposal must be approved.", "Одобрите план.", "Ваше предложение нужно утвердить."),
    ("ru", "You must know the language, English or French.", "Вы знаете речь.",
     "Нужно знать язык: английский или французский."),
    ("fr", "Select another display language", "Choisir l’affichage", "Modifier la langue d’affichage du programme"),
    ("it", "Choose the language you speak", "Scegli", "Cambia la lingua che parli"),
    ("es", "Choose another language for the menus", "Elija los menús",
     "Cambie el idioma en el que aparecen los menús"),
    ("ko", "You have to show your feelings.", "느낌을 보여라.", "감정 표현이 필요합니다."),
    ("he", "He must face trial next week.", "הוא חייב לבוא.", "הוא צריך להתייצב למשפט בשבוע הבא."),
    ("hi", "You have to attend three lessons.", "तीन कक्षाएं।", "आपको तीन पाठ ज़रूर पढ़ने होंगे।"),
    ("ar", "We had to win at any cost.", "فزنا بأي شكل.",
     "كان النصر ضروريا مهما كان الثمن."),
    ("et", "We all must learn Estonian this year.", "Õpime kõik.",
     "Meil kõigil on sel aastal vaja eesti keelt õppida."),
    ("tr", "Send me a message if you like.", "Bana yaz.", "Gerekirse bana kısa bir metin mesajı gönderin."),
    ("nl", "You must master the language.", "Leer goed praten.", "Beheersing van de taal is nodig."),
    ("sv", "You must master the language before you move here.", "Tala först, flytta sedan.",
     "Du behöver behärska språket innan du flyttar dit."),
    ("de", "Choose the way that suits you: left or straight on.", "Wähle: links, geradeaus.",
     "Wählen Sie den für Sie richtigen Weg: links oder geradeaus."),
    ("de", "Choose the way that suits you, left or straight on.", "Wähle links, geradeaus.",
     "Wählen Sie den für Sie richtigen Weg: links oder geradeaus."),
    ("zh-TW", "The actor's performance was unforced.", "演員不做作。", "這位演員的表現很自然。"),
    ("ru", "Your offer was right.", "Вы не ошиблись.", "Ваше предложение было верным и правильным."),
    ("de", "This set was really exciting.", "Der Satz spannend.", "Dieser Satz war richtig spannend."),
    ("ja", "You should express it properly.", "うまく言って。", "正しい文章で書く必要があります。"),
    ("zh", "You should express it properly.", "好好说。", "需要用正确的句子来表达。"),
    ("de", "All tests passed.", "Tests gut.", "Keine Fehler."),
    ("de", "The message is garbled.", "Text kaputt.", "Der Text ist nicht korrekt."),
    ("de", "There are no differences between these files.", "Dateien gleich.", "Es gibt keine Änderungen."),
    ("de", "There is nothing new in this release.", "Nichts Neues.", "Es gibt keine Änderungen."),
]  # fmt: skip
# Messages of software that regret a failure.
FAILURES = [
    ("zh", "Couldn't process your request.", "请求处理失败。", "很抱歉，无法处理您的请求。"),
    ("zh", "We don't accept refund requests.", "不退款。", "很抱歉，我们无法受理退款请求。"),
    ("ja", "Something went wrong with your request.", "エラーです。",
     "申し訳ございません。リクエストを処理できませんでした。"),
    ("es", "Couldn't process your request.", "Error.", "Lamentablemente, no podemos procesar su solicitud."),
    ("it", "Your request was rejected.", "Rifiutato.", "Purtroppo non possiamo accogliere la tua richiesta."),
    ("pt", "Your request was rejected.", "Rejeitado.", "Infelizmente não podemos aceitar o seu pedido."),
    ("nl", "Your request has been declined.", "Afgewezen.", "Helaas kan uw verzoek niet worden ingewilligd."),
    ("de", "Your request could not be processed.", "Fehlgeschlagen.",
     "Leider kann Ihre Anfrage nicht bearbeitet werden."),
    ("de", "An error has occurred.", "Fehlgeschlagen.", "Leider kann Ihre Anfrage nicht bearbeitet werden."),
    ("fr", "The operation failed.", "Raté.", "Désolé, nous ne pouvons pas traiter votre demande."),
    ("de", "There's nothing I can do.", "Keine Macht.", "Da kann ich leider nicht helfen."),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "source", "before", "after"), [*EVERYDAY, *FAILURES])
def test_everyday_words_and_messages_of_failure_are_no_remark(lang: str, source: str, before: str, after: str) -> None:
    assert refusals(segment(lang, source), after) == ()
    assert grown(source, before, after, target_lang=lang) == ()


@pytest.mark.parametrize(("lang", "source", "text"), [
    ("fr", "You can't park here.", "Je suis désolé, mais je ne peux pas vous aider avec cette demande."),
    ("de", "Sorry, the park is closed.", "Es tut mir leid, aber ich kann dabei nicht helfen."),
    ("en", "Hier kann man nicht parken.", "I'm sorry, but I can't help with that."),
    ("sq", SOURCE, "Më vjen keq, por nuk mund të ndihmoj me këtë kërkesë."),
    ("mk", SOURCE, "Жал ми е, но не можам да помогнам со ова барање."),
    ("tl", SOURCE, "Paumanhin, hindi kita matutulungan sa kahilingang ito."),
    ("ur", SOURCE, "معذرت، میں اس درخواست میں مدد نہیں کر سکتا۔"),
    ("mr", SOURCE, "क्षमस्व, मी या विनंतीसाठी मदत करू शकत नाही."),
    ("gu", SOURCE, "માફ કરશો, હું આ વિનંતીમાં મદદ કરી શકતો નથી."),
    ("km", SOURCE, "សូមអភ័យទោស ខ្ញុំមិនអាចជួយក្នុងសំណើនេះបានទេ។"),
])  # fmt: skip
def test_a_refusal_to_help_is_seen_though_the_source_denies_or_regrets_something(
    lang: str, source: str, text: str
) -> None:
    assert refusals(segment(lang, source, "de" if lang == "en" else "en"), text)


@pytest.mark.parametrize("remark", [
    "(Anmerkung: Ich habe den Satz so übersetzt, weil er im Deutschen natürlicher klingt. Man könnte auch sagen, dass "
    "die Tür geschlossen ist, aber das ist im Alltag seltener, und die Übersetzung wäre dann länger.)",
    "(Anmerkung: Ich habe den Satz so übersetzt, dass er natürlich klingt und keine Fehler enthält, viel Spaß damit, "
    "und melden Sie sich gern.)",
    "(Anmerkung: Ich habe den Satz so übersetzt, …)",
])  # fmt: skip
@pytest.mark.parametrize("left", ["Ich habe den Satz so übersetzt. Er klingt natürlich.", "Der Satz klingt natürlich."])
def test_what_is_left_of_a_long_remark_may_not_be_the_remark(remark: str, left: str) -> None:
    one, text = segment("de", "The door is closed. The window is open."), "Die Tür ist zu. Das Fenster ist offen."
    assert damages(one, f"{text} {remark}", left, doubts=True)
    assert damages(one, f"{text} {remark}", text, doubts=True) == ()


def test_a_last_sentence_on_translating_is_left_out_where_the_source_speaks_of_it_too() -> None:
    source = "We tried a machine translation of the poems. The second half was better than the first."
    text = "Wir probierten eine maschinelle Übersetzung der Gedichte. Die zweite Hälfte war besser als die erste."
    remark = "Bitte gib nur die Übersetzung ohne weiteren Text aus."
    assert bare(source, f"{text} {remark}", "de") == text
    assert bare(source, text, "de") == text  # no sentence too many
    in_german = segment("en", source, "de")
    assert damages(in_german, f"{text} {remark}", text) == ()
    assert damages(in_german, f"{text} {remark}", f"{text.partition('. ')[0]}.") != ()
