"""What localization does every day to placeholders, ICU messages, hotkeys, Markdown, scripts and languages."""

from __future__ import annotations

import sys

import pytest

from mtagent.chain.guards import damages
from mtagent.chain.translation import refusals
from mtagent.records import Segment
from mtagent.text import identification

FILES = "{n, plural, =0 {No files} one {# file of {user}} other {# files of {user}}}"
DATEIEN = "{n, plural, =0 {Keine Dateien} one {# Datei von {user}} other {# Dateien von {user}}}"
FAJLY = (
    "{n, plural, =0 {Нет файлов} one {# файл {user}} few {# файла {user}} "
    "many {# файлов {user}} other {# файла {user}}}"
)
INVITED = (
    "{g, select, female {She invited {n, plural, one {# guest} other {# guests}}} "
    "other {They invited {n, plural, one {# guest} other {# guests}}}}."
)
LUD = (
    "{g, select, female {Sie lud {n, plural, one {# Gast} other {# Gäste}} ein} "
    "other {Er lud {n, plural, one {# Gast} other {# Gäste}} ein}}."
)
LUD_TURNED = (
    "{n, plural, one {{g, select, female {Sie lud {n} Gast ein} other {Er lud {n} Gast ein}}} "
    "other {{g, select, female {Sie lud {n} Gäste ein} other {Er lud {n} Gäste ein}}}}."
)
PLACE = "You came {p, selectordinal, one {#st} two {#nd} few {#rd} other {#th}}."

ROWS: list[tuple[str, str, str, str, str, str]] = [
    # what, pair, guard that refuses or "", source, before, after
    ("ICU: wording", "en-de", "", FILES, DATEIEN, DATEIEN.replace("Keine", "Gar keine")),
    ("ICU: the language's own forms", "en-ru", "", FILES, DATEIEN, FAJLY),
    ("ICU: branches in another order", "en-de", "", INVITED, LUD, LUD_TURNED),
    ("ICU: whole sentences in the branches", "en-de", "", "Hi {name}: {n, plural, one {# file} other {# files}}!",
     "Hi {name}: {n, plural, one {# Datei} other {# Dateien}}!",
     "{n, plural, one {Hi {name}: # Datei!} other {Hi {name}: # Dateien!}}"),
    ("ICU: the number in words", "en-de", "", "{n, plural, one {a file} other {# files}}",
     "{n, plural, one {# Datei} other {# Dateien}}", "{n, plural, one {eine Datei} other {# Dateien}}"),
    ("ICU: argument for number sign", "en-de", "", FILES, DATEIEN, DATEIEN.replace("# Dateien", "{n} Dateien")),
    ("ICU: one form is enough", "en-ja", "", "{n, plural, one {# file} other {# files}}",
     "{n, plural, one {#個} other {#個}}", "{n, plural, other {#個}}"),
    ("ICU: mended", "en-de", "", FILES, DATEIEN.replace("plural", "Plural"), DATEIEN),
    ("ICU: closed", "en-de", "", FILES, DATEIEN[:-1], DATEIEN),
    ("ICU: quoted brace", "en-de", "", "Type '{' {n, plural, one {# time} other {# times}}.",
     "Tippe '{' {n, plural, one {# mal} other {# Mal}}.", "Tippe '{' {n, plural, one {# Mal} other {# Mal}}."),
    ("ICU: apostrophe", "en-fr", "", "{n, plural, one {# year''s day} other {# years}}",
     "{n, plural, one {# jour de l'an} other {# ans}}", "{n, plural, one {# jour de l’an} other {# ans}}"),
    ("ICU: pattern of a date", "en-de", "", "{n, plural, one {{d, date, MM/dd/yy}} other {#}}",
     "{n, plural, one {{d, date, MM/dd/yy}} other {#}}", "{n, plural, one {{d, date, dd.MM.yy}} other {#}}"),
    ("ICU: ordinals of another language", "en-de", "", PLACE,
     "Du bist {p, selectordinal, one {#.} two {#.} few {#.} other {#.}} geworden.",
     "Du wurdest {p, selectordinal, one {#.} two {#.} few {#.} other {#.}}."),
    ("ICU: brace lost", "en-de", "placeholders", FILES, DATEIEN, DATEIEN[:-1]),
    ("ICU: keyword plural", "en-de", "placeholders", FILES, DATEIEN, DATEIEN.replace("plural", "Plural")),
    ("ICU: keyword other", "en-de", "placeholders", FILES, DATEIEN, DATEIEN.replace("other", "andere")),
    ("ICU: no other", "en-de", "placeholders", FILES, DATEIEN, DATEIEN[: DATEIEN.index(" other")] + "}"),
    ("ICU: exact number lost", "en-de", "placeholders", FILES, DATEIEN, DATEIEN.replace("=0 {Keine Dateien} ", "")),
    ("ICU: form lost", "en-ru", "placeholders", FILES, FAJLY, FAJLY.replace("few {# файла {user}} ", "")),
    ("ICU: form that there is not", "en-de", "placeholders", FILES, DATEIEN, DATEIEN.replace("other",
     "few {#} other")),
    ("ICU: a number in words that is also 21", "en-ru", "placeholders", FILES, FAJLY,
     FAJLY.replace("{# файл ", "{один файл ")),
    ("ICU: number sign lost", "en-de", "placeholders", FILES, DATEIEN, DATEIEN.replace("# Dateien", "Dateien")),
    ("ICU: argument lost in one branch", "en-de", "placeholders", FILES, DATEIEN,
     DATEIEN.replace("# Datei von {user}", "# Datei")),
    ("ICU: argument renamed", "en-de", "placeholders", FILES, DATEIEN, DATEIEN.replace("{user}", "{Nutzer}")),
    ("ICU: choice translated", "en-de", "placeholders", INVITED, LUD, LUD.replace("female", "weiblich")),
    ("ICU: choice lost", "en-de", "placeholders", INVITED, LUD_TURNED,
     LUD_TURNED.replace("female {Sie lud {n} Gast ein} ", "")),
    ("ICU: ordinal to cardinal", "en-de", "placeholders", PLACE, PLACE, PLACE.replace("selectordinal", "plural")),
    ("ICU: offset lost", "en-de", "placeholders", "{n, plural, offset:1 one {you} other {you and # more}}",
     "{n, plural, offset:1 one {du} other {du und # mehr}}", "{n, plural, one {du} other {du und # mehr}}"),
    ("ICU: apostrophe eats a brace", "en-fr", "placeholders", "{n, plural, one {# of {user}} other {#s of {user}}}",
     "{n, plural, one {# de {user}} other {# de {user}}}", "{n, plural, one {# d'{user}} other {# de {user}}}"),
    ("ICU: tag lost in one branch", "en-de", "tags", "{n, plural, one {<b>#</b> file} other {<b>#</b> files}}",
     "{n, plural, one {<b>#</b> Datei} other {<b>#</b> Dateien}}",
     "{n, plural, one {# Datei} other {<b>#</b> Dateien}}"),
    ("braces: plain arguments in another order", "en-de", "", "{0} of {1}", "{0} von {1}", "Von {1} sind es {0}"),
    ("braces: not ICU", "en-de", "placeholders", "a { b {x, plural, y {u}", "a { b {x, plural, y {u}", "a { b {v}"),
    # printf
    ("printf: positions", "en-ja", "", "%s has %d files.", "%sには%d個あります。", "%2$d個が%1$sにあります。"),
    ("printf: one position for all", "en-de", "", "%s of %s", "%s von %s", "%1$s von %2$s"),
    ("printf: same types", "en-de", "", "%s and %s", "%s und %s", "Nun %s, nun %s"),
    ("printf: Objective-C", "en-de", "", "%@ sent %@", "%@ hat %@ gesandt", "%2$@ hat %1$@ gesandt"),
    ("printf: names", "en-de", "", "%(user)s: %(n)d", "%(user)s: %(n)d", "%(n)d von %(user)s"),
    ("printf: mended order", "en-de", "", "%s has %d files.", "%d Dateien hat %s.", "%s hat %d Dateien."),
    ("printf: order", "en-de", "placeholders", "%s has %d files.", "%s hat %d Dateien.", "%d Dateien hat %s."),
    ("printf: position twice", "en-de", "placeholders", "%1$s of %2$s", "%1$s von %2$s", "%1$s von %1$s"),
    ("printf: position beyond", "en-de", "placeholders", "%s of %s", "%1$s von %2$s", "%1$s von %3$s"),
    ("printf: type", "en-de", "placeholders", "%s of %s", "%s von %s", "%s von %d"),
    ("printf: name", "en-de", "placeholders", "%(user)s", "%(user)s", "%(nutzer)s"),
    ("printf: per cent", "en-de", "placeholders", "%d%% of %s", "%d%% von %s", "%d% von %s"),
    ("entity in HTML: the word", "en-de", "", "<p>salt &amp; pepper</p>", "<p>Salz &amp; Pfeffer</p>",
     "<p>Salz und Pfeffer</p>"),
    ("entity in HTML: the sign", "en-de", "", "<p>R&amp;D</p>", "<p>R&amp;D</p>", "<p>R&D</p>"),
    ("entity in HTML: lost", "en-de", "placeholders", "<p>R&amp;D</p>", "<p>R&amp;D</p>", "<p>RD</p>"),
    # hotkeys
    ("hotkey: another letter", "en-de", "", "&File", "&Datei", "D&atei"),
    ("hotkey: in brackets", "en-ja", "", "&File", "&ファイル", "ファイル(&F)"),
    ("hotkey: GTK", "en-de", "", "Save _As…", "Speichern _unter…", "_Speichern unter…"),
    ("hotkey: inside", "en-de", "", "E&xit", "B&eenden", "&Beenden"),
    ("hotkey: in XML", "en-de", "", "&amp;File", "&amp;Datei", "Da&amp;tei"),
    ("hotkey: LibreOffice", "en-de", "", "~Close", "~Schließen", "Schl~ießen"),
    ("hotkey: mended", "en-de", "", "&File", "Datei", "&Datei"),
    ("hotkey: none (R&D)", "en-de", "", "R&D budget", "R&D-Budget", "F&E-Budget"),
    ("hotkey: none (snake_case)", "en-de", "", "Set file_name first", "Zuerst file_name setzen",
     "Setze file_name zuerst"),
    ("hotkey: none (entity)", "en-de", "", "Terms &copy; us", "AGB &copy; wir", "Die AGB &copy; wir"),
    ("hotkey: none (home folder)", "en-de", "", "See ~/bin first", "Siehe ~/bin", "Sieh in ~/bin nach"),
    ("hotkey: lost", "en-de", "hotkeys", "&File", "&Datei", "Datei"),
    ("hotkey: doubled", "en-de", "hotkeys", "&File", "&Datei", "&Da&tei"),
    ("hotkey: GTK lost", "en-de", "hotkeys", "_Save all", "_Alle speichern", "Alle speichern"),
    ("hotkey: XML lost", "en-ja", "hotkeys", "&amp;File", "ファイル(&amp;F)", "ファイル(F)"),
    ("hotkey: another sign", "en-de", "hotkeys", "&File", "&Datei", "_Datei"),
    ("hotkey: added", "en-de", "hotkeys", "File", "Datei", "&Datei"),
    # URLs, tags
    ("URL: joined again", "en-de", "", "See http : / / www.a.com / x _ y .", "Siehe http : / / www.a.com / x _ de .",
     "Siehe http://www.a.com/x_y ."),
    ("URL: joined wrongly", "en-de", "urls", "See http : / / www.a.com / x .", "Siehe http : / / www.a.com / x .",
     "Siehe http://www.a.com/z ."),
    ("URL: changed", "en-de", "urls", "See http://www.a.com/x.", "Siehe http://www.a.com/x.",
     "Siehe http://www.a.de/x."),
    ("tag: moved", "en-de", "", "a <b>c</b> d", "a <b>c</b> d", "<b>c</b> a d"),
    ("tag: a remark comes back translated", "en-de", "", "No <laugh/>.", "Nein.", "Nein <lacht/>."),
    ("tag: a remark is translated", "en-de", "tags", "No <laugh/>.", "Nein <laugh/>.", "Nein <lacht/>."),
    # Markdown
    ("list number of Chinese", "zh-en", "", "1、护肤品套装", "Skincare set", "1. Skincare set"),
    ("list number without space", "zh-en", "", "3.国产零件", "Domestic part", "3. Domestic part"),
    ("list number with hyphen", "en-cs", "", "2.-Tap the menu", "Klepněte na menu", "2. Klepněte na menu"),
    ("list number with bracket", "en-de", "", "2)Tap More.", "2)Tippe auf Mehr.", "2) Tippe auf Mehr."),
    ("list number of another script", "en-hi", "", "4. Open the file", "4. फ़ाइल खोलें", "४. फ़ाइल खोलिए"),
    ("ordinal that begins the line", "en-cs", "", "Third day: rest.", "Třetí den: odpočinek.", "3. den: odpočinek."),
    ("date that begins the line", "en-de", "", "On May 1 we rest.", "Am 1. Mai ruhen wir.", "1. Mai ist Ruhetag."),
    ("dialogue", "ru-en", "", "— Да. Жив ли он?", "Yes. Is he alive?", "- Yes. Is he alive?"),
    ("sign of a remark", "ja-en", "", "※使用は避けてください。", "※ Please avoid use.", "* Please avoid use."),
    ("italics as quotation marks", "en-ru", "", "From *The Voice* now.", "Из *Голос* теперь.", "Из «Голос» теперь."),
    ("italics as title brackets", "en-zh", "", "From *The Voice* now.", "来自*The Voice*。", "来自《好声音》。"),
    ("code between old quotes", "zh-en", "", "用 `-x' 选项。", "Use the `-x' option.", "Use the `-x` option."),
    ("Markdown: list number made up", "en-de", "markdown", "Tap More.", "Tippe auf Mehr.", "2. Tippe auf Mehr."),
    ("Markdown: bullet made up", "en-de", "markdown", "Tap More.", "Tippe auf Mehr.", "- Tippe auf Mehr."),
    ("Markdown: list number lost", "en-de", "markdown", "1. Tap More.", "1. Tippe auf Mehr.", "Tippe auf Mehr."),
    ("Markdown: bullet as dash", "en-de", "markdown", "- one\n- two", "- eins\n- zwei", "- eins\n– zwei"),
    ("Markdown: italics lost", "en-de", "markdown", "It is *very* good.", "Es ist *sehr* gut.", "Es ist sehr gut."),
    ("Markdown: code lost", "en-de", "markdown", "Use `ls` now.", "Nutze `ls` nun.", "Nutze ls nun."),
    # scripts
    ("terms in an Indian text", "en-hi", "", "Open the omega file in a text editor.",
     "पाठ्य संपादक में ओमेगा फाइल खोलें.",
     "Text editor में ओमेगा फ़ाइल खोलें।"),
    ("a term in a Chinese text", "en-zh", "", "It sends the cookie back.", "它发回饼干。", "它发回cookie。"),
    ("hashtag", "en-ru", "", "He is no friend of #blacklivesmatter.", "Он им не друг.",
     "Он не друг #blacklivesmatter."),
    ("address without scheme", "en-hi", "", "Apply at results.bihar.gov.in now.", "अभी आवेदन करें।",
     "results.bihar.gov.in पर आवेदन करें।"),
    ("quotation that the source has", "en-de", "", "Monkeys cry 猿狖群嘯兮虎豹原 .", "Affen weinen .",
     "Affen weinen 猿狖群嘯兮虎豹原 ."),
    ("Greek with other accents", "en-hi", "", "The Greek word ἀνταρκτική means that.", "यूनानी शब्द का यह अर्थ है।",
     "यूनानी शब्द ανταρκτική का यह अर्थ है।"),
    ("user names alone", "en-he", "", "@user3 @user2", "@user3 @user2, רק תרגום.", "@user3 @user2"),
    ("name with an ending", "en-ru", "", "Via WhatsApp and USB cable.", "По Ватсапу и кабелю.",
     "WhatsAppом и USB-кабелем."),
    ("unit of the source", "ru-uk", "", "Нагрев 5 kВт", "Нагрів 5 кВт", "Нагрів 5 kВт"),
    ("Greek symbols", "en-fr", "", "5 μm at Δt", "5 um à Dt", "5 μm à Δt"),
    ("interjection", "en-et", "", "One more.\nMM.\nOh.", "Veel üks.\nMm.\nOo.", "Veel üks.\nMm.\nOh."),
    ("Cyrillic letter in a Latin word", "en-es", "script", "The boat is here.", "El barco está aquí.",
     "El bаrco está aquí."),
    ("Latin letter in a Cyrillic word", "en-ru", "script", "The water is cold.", "Вода холодная.", "Водa холодная."),
    ("half a word", "en-ru", "script", "We explore it.", "Мы исследуем это.", "Мы исследlter это."),
    ("Han character", "en-es", "script", "The boat is here.", "El barco está aquí.", "El 船 está aquí."),
    ("Cyrillic letter alone", "en-pl", "script", "He and she", "On i ona", "On и ona"),
    ("Ukrainian letter in Russian", "en-ru", "script", "The gas here", "Газ здесь", "Газ здїсь"),
    ("Russian letter in Ukrainian", "en-uk", "script", "You read", "Ви читаєте", "Вы читаєте"),
    ("simplified characters for Taiwan", "en-zh-TW", "script", "Install the software.", "請安裝軟體。", "请安装软件。"),
    ("traditional characters for Beijing", "en-zh", "script", "Install the software.", "请安装软件。", "請安裝軟件。"),
    ("UTF-8 read as Latin-1", "en-de", "control", "The door is open.", "Die Tür ist offen.", "Die TÃ¼r steht offen."),
    ("clause left in the source language", "en-ru", "script", "Please open the old bank account now.",
     "Откройте старый банковский счёт.", "Откройте old bank account сейчас."),
    # characters that are not seen
    ("ZWNJ in Persian", "en-fa", "", "I want it.", "میخواهم.", "می\u200cخواهم."),
    ("ZWNJ in Hindi", "en-hi", "", "Scrutiny", "स्क्रूटनी", "स्\u200dक्रूटनी"),
    ("ZWJ in emoji", "en-de", "", "Family 👨\u200d👩\u200d👧", "Familie", "Familie 👨\u200d👩\u200d👧"),
    ("ZWSP in Thai", "en-th", "", "The bank is closed.", "ธนาคารปิด", "ธนาคาร\u200bปิด"),
    ("ZWSP in Khmer", "en-km", "", "The bank is closed.", "ធនាគារបិទ", "ធនាគារ\u200bបិទ"),
    ("ZWSP in German", "en-de", "control", "The bank is closed.", "Die Bank ist zu.", "Die \u200bBank ist zu."),
    ("ZWNJ in Spanish", "en-es", "control", "The boat is here.", "El barco está.", "El bar\u200cco está."),
    ("ZWJ in Russian", "en-ru", "control", "The water is cold.", "Вода холодная.", "Во\u200dда холодная."),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "guard", "source", "before", "after"), [row[1:] for row in ROWS], ids=[
    row[0] for row in ROWS
])  # fmt: skip
def test_good_edits_pass_and_bad_ones_are_refused(pair: str, guard: str, source: str, before: str, after: str) -> None:
    segment = segment_of(pair, source)
    found = {damage.guard for damage in damages(segment, before, after)}
    assert guard in found if guard else not found
    if guard:
        assert guard not in {damage.guard for damage in damages(segment, after, before)}, "repairing is allowed"


def segment_of(pair: str, source: str, **more: int) -> Segment:
    source_lang, target_lang = pair.split("-", 1)
    return Segment(id="1", source=source, source_lang=source_lang, target_lang=target_lang, max_length=more.get("most"))


def test_a_text_may_not_grow_beyond_its_maximum_length() -> None:
    segment = segment_of("en-de", "Save changes", most=12)
    assert [str(d) for d in damages(segment, "Speichern", "Änderung speichern")] == [
        "max_length: 18 characters instead of at most 12"
    ]
    assert damages(segment, "Änderungen nun speichern", "Änderung speichern") == (), "what is still too long is shorter"
    assert damages(segment, "Speichern", "Absichern") == ()
    assert [damage.guard for damage in refusals(segment, "Änderungen speichern")] == ["max_length"]


LEFT = [
    # pair, source, before, after, refused
    ("en-de", "We will meet tomorrow at the station. Bring your passport and the ticket.",
     "Wir treffen uns morgen am Bahnhof. Bringen Sie Pass und Karte mit.",
     "Wir treffen uns morgen am Bahnhof. Bring your passport and your ticket along.", True),
    ("de-en", "Der Spieler bestimmt die Lage der Panzer.", "The player finds the position of the tanks.",
     "Le joueur peut déterminer la position des chars.", True),
    ("en-pt", "The report was published on Monday.", "O relatório foi publicado na segunda-feira.",
     "El informe se publicó el lunes y nadie lo leyó.", True),
    ("ru-uk", "Мы встретимся завтра на вокзале.", "Ми зустрінемося завтра на вокзалі.",
     "Мы встретимся завтра на этом вокзале.", True),
    ("en-ru", "Please keep the door free.", "Пожалуйста, не загораживайте вход.",
     "Молим ви да оставите входа свободен.", True),
    ("en-bg", "Please keep the door free.", "Молим ви да оставите входа свободен.",
     "Пожалуйста, не загораживайте этот вход.", True),
    ("en-ru", "Please keep the door free.", "Молим не загораживать вход.",
     "Пожалуйста, не загораживайте вход в здание.", False),
    ("en-de", "Alfred Hitchcock Presents and The Twilight Zone are old.", "Beide Serien sind alt.",
     "Alfred Hitchcock Presents, The Twilight Zone: alt.", False),
    ("en-de", "He called it “the best thing that ever happened to us”.", "Er nannte es das Beste.",
     "Er nannte es „the best thing that ever happened to us“.", False),
    ("en-de", "Text editor", "Texteditor", "Text Editor", False),
    ("en-no", "The report was published on Monday.", "Rapporten kom mandag.",
     "Rapporten blev offentliggjort i mandags.", False),
    ("en-lij", "You will find your way.", "Troviai a toa strada.", "Ti troviæ a teu stradda, no te preoccupâ.",
     False),
    ("en-lld", "I have chilled out a bit.", "Me so un pô rilassade.",
     "Me so un pô calmeda y ai controlé mi telefon.", False),
    ("en-lld", "I have chilled out a bit and I feel good.", "Me so un pô rilassade.",
     "I have chilled out a little and I do feel good.", True),
    ("en-de", "We will meet tomorrow at the station.", "We shall see us tomorrow at the station.",
     "We will meet each other tomorrow morning there.", False),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "source", "before", "after", "refused"), LEFT)
def test_a_sentence_in_another_language_is_refused(
    pair: str, source: str, before: str, after: str, refused: bool
) -> None:
    found = damages(segment_of(pair, source), before, after)
    assert ("language" in {damage.guard for damage in found}) is refused


def test_without_the_identifier_no_language_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pair, source, before, after, _ = LEFT[1]
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    identification.forget()
    try:
        assert "language" not in {damage.guard for damage in damages(segment_of(pair, source), before, after)}
    finally:
        identification.forget()


def test_a_number_of_any_length_is_compared() -> None:
    digits = "1" * 5000
    pair = segment_of("en-de", f"1 of {digits}.25 things")
    assert not damages(pair, f"1 von {digits}.25 Dingen", f"1. {digits},25 Dinge", skip={"markdown"})
    assert damages(pair, f"1 von {digits},25 Dingen", f"1. {digits},26 Dinge")
