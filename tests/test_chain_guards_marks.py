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
    # what is the same in any language, typed ICU arguments, ends in all scripts
    ("=1 for one", "en-de", "", "{n, plural, one {# file} other {# files}}",
     "{n, plural, one {# Datei} other {# Dateien}}", "{n, plural, =1 {# Datei} other {# Dateien}}"),
    ("one for =1", "en-de", "", "{n, plural, =1 {# file} other {# files}}",
     "{n, plural, =1 {# Datei} other {# Dateien}}", "{n, plural, one {# Datei} other {# Dateien}}"),
    ("=1 for one ru", "en-ru", "placeholders", "{n, plural, one {# file} other {# files}}",
     "{n, plural, one {# файл} few {# файла} many {# файлов} other {# файла}}",
     "{n, plural, =1 {# файл} few {# файла} many {# файлов} other {# файла}}"),
    ("ordinal en->de other only", "en-de", "",
     "You came {p, selectordinal, one {#st} two {#nd} few {#rd} other {#th}}.",
     "Du bist {p, selectordinal, one {#.} two {#.} few {#.} other {#.}} geworden.",
     "Du bist {p, selectordinal, other {#.}} geworden."),
    ("ordinal de->en lost", "de-en", "placeholders", "Platz {p, selectordinal, other {#.}}.",
     "Place {p, selectordinal, one {#st} two {#nd} few {#rd} other {#th}}.",
     "Place {p, selectordinal, one {#st} other {#th}}."),
    ("ordinal de->en many", "de-en", "placeholders", "Platz {p, selectordinal, other {#.}}.",
     "Place {p, selectordinal, one {#st} two {#nd} few {#rd} other {#th}}.",
     "Place {p, selectordinal, one {#st} two {#nd} few {#rd} many {#th} other {#th}}."),
    ("date pattern outside", "en-de", "", "On {d, date, ::yMMMd} we start.", "Am {d, date, ::yMMMd} beginnen wir.",
     "Wir beginnen am {d, date, ::yMMMd}."),
    ("date pattern renamed skeleton", "en-de", "placeholders", "On {d, date, ::yMMMd} we start.",
     "Am {d, date, ::yMMMd} beginnen wir.", "Am {d, date, ::jMMMt} beginnen wir."),
    ("date pattern kind", "en-de", "placeholders", "On {d, date, ::yMMMd} we start.",
     "Am {d, date, ::yMMMd} beginnen wir.", "Am {d, Datum, ::yMMMd} beginnen wir."),
    ("date pattern own", "en-de", "", "On {d, date, MM/dd/yy} we start.", "Am {d, date, MM/dd/yy} beginnen wir.",
     "Am {d, date, dd.MM.yy} beginnen wir."),
    ("number style", "en-de", "placeholders", "It is {n, number, percent} now", "Es sind {n, number, percent}",
     "Es sind {n, number, prozent}"),
    ("number spacing", "en-de", "", "It is {n, number, percent} now", "Es sind {n, number, percent}",
     "Es sind jetzt {n,number,percent}"),
    ("number skeleton", "en-de", "", "Costs {n, number, ::currency/EUR precision-integer} now",
     "Kostet {n, number, ::currency/EUR precision-integer}",
     "Kostet jetzt {n, number, ::currency/EUR precision-integer}"),
    ("number skeleton lost", "en-de", "placeholders",
     "Costs {n, number, ::currency/EUR compact-short sign-always} now",
     "Kostet {n, number, ::currency/EUR compact-short sign-always}",
     "Kostet {n, number, ::currency/USD compact-short sign-always}"),
    ("'' vs quotes", "en-fr", "", "{n, plural, one {# year of {user}} other {# years of {user}}}",
     "{n, plural, one {# an de {user}} other {# ans de {user}}}",
     "{n, plural, one {# jour de l''an de {user}} other {# ans de {user}}}"),
    ("'' plain arg", "en-fr", "", "The item {item} is gone.", "Le {item} est parti.", "L''{item} est parti."),
    ("l'{item} plain", "en-fr", "", "The item {item} is gone.", "Le {item} est parti.", "L'{item} est parti."),
    ("l'{item} in ICU", "en-fr", "placeholders", "{n, plural, one {# file} other {# files}} of {item}",
     "{n, plural, one {# fichier} other {# fichiers}} de {item}",
     "{n, plural, one {# fichier} other {# fichiers}} de l'{item}"),
    ("l''{item} in ICU", "en-fr", "", "{n, plural, one {# file} other {# files}} of {item}",
     "{n, plural, one {# fichier} other {# fichiers}} de {item}",
     "{n, plural, one {# fichier} other {# fichiers}} de l''{item}"),
    ("l'{n, number} typed arg", "en-fr", "placeholders", "The year {y, number} of {item}",
     "Année {y, number} de {item}", "L'{y, number} de {item}"),
    ("l'an in ICU", "en-fr", "", "{n, plural, one {# file} other {# files}}",
     "{n, plural, one {# fichier} other {# fichiers}}",
     "{n, plural, one {# fichier de l'an} other {# fichiers de l'an}}"),
    (":name lost", "en-de", "literals", "Welcome, :name!", "Willkommen, :name!", "Willkommen, Name!"),
    (":name renamed", "en-de", "literals", "The :attribute must be at least :min.",
     "Das :attribute muss mindestens :min sein.", "Das :Attribut muss mindestens :min sein."),
    (":name moved", "en-de", "", "The :attribute must be at least :min.",
     "Das :attribute muss mindestens :min sein.", "Mindestens :min muss :attribute sein."),
    (":Name laravel case", "en-de", "literals", "Hi :Name and :NAME", "Hallo :Name und :NAME",
     "Hallo :name und :NAME"),
    ("@:key", "en-de", "placeholders", "See @:common.title now", "Siehe @:common.title jetzt",
     "Siehe @:allgemein.titel jetzt"),
    ("@.lower:key", "en-de", "placeholders", "See @.lower:common.title now", "Siehe @.lower:common.title jetzt",
     "Siehe @.klein:common.title jetzt"),
    ("@:(key)", "en-de", "placeholders", "See @:(common.title) now", "Siehe @:(common.title) jetzt",
     "Siehe @:(common.titel) jetzt"),
    ("$t(key)", "en-de", "placeholders", "Open $t(common.file) now", "Öffne $t(common.file) jetzt",
     "Öffne $t(allgemein.datei) jetzt"),
    ("$t(key) opts", "en-de", "placeholders", "Open $t(common.file, {\"count\": {{n}} }) now",
     "Öffne $t(common.file, {\"count\": {{n}} }) jetzt", "Öffne $t(common.file) jetzt"),
    ("{{count}}", "en-de", "placeholders", "{{count}} files", "{{count}} Dateien", "{{anzahl}} Dateien"),
    ("{{count, number}}", "en-de", "placeholders", "{{count, number}} files", "{{count, number}} Dateien",
     "{{anzahl, number}} Dateien"),
    ("%{name}", "en-de", "placeholders", "Hi %{name}!", "Hallo %{name}!", "Hallo %{nome}!"),
    ("%{name} pct lost", "en-de", "placeholders", "Hi %{name}!", "Hallo %{name}!", "Hallo {name}!"),
    ("${x}", "en-de", "placeholders", "Hi ${user.name}!", "Hallo ${user.name}!", "Hallo ${nutzer.name}!"),
    ("{0}", "en-de", "placeholders", "Hi {0}!", "Hallo {0}!", "Hallo {1}!"),
    ("%1$s", "en-de", "placeholders", "Hi %1$s!", "Hallo %1$s!", "Hallo %2$s!"),
    ("op", "en-de", "literals", "Use it if x < 5 and y >= 3.", "Nutze es, wenn x < 5 und y >= 3.",
     "Nutze es, wenn x > 5 und y >= 3."),
    ("op2", "en-de", "literals", "Use it if x < 5 and y >= 3.", "Nutze es, wenn x < 5 und y >= 3.",
     "Nutze es, wenn x < 5 und y > 3."),
    ("op3", "en-de", "literals", "Set a == b.", "Setze a == b.", "Setze a = b."),
    ("op ent", "en-de", "", "Use it if x &lt; 5.", "Nutze es, wenn x &lt; 5 ist.", "Verwende es, wenn x &lt; 5 ist."),
    ("≤", "en-de", "", "Use it if x <= 5.", "Nutze es, wenn x <= 5.", "Nutze es, wenn x ≤ 5."),
    ("≤ bad", "en-de", "literals", "Max size ≤ 5 MB.", "Maximale Größe ≤ 5 MB.", "Maximale Größe ≥ 5 MB."),
    ("file", "en-de", "literals", "Edit config.yaml first.", "Bearbeite zuerst config.yaml.",
     "Bearbeite zuerst konfig.yaml."),
    ("file2", "en-de", "literals", "Edit src/main.py first.", "Bearbeite zuerst src/main.py.",
     "Bearbeite zuerst src/haupt.py."),
    ("file moved", "en-de", "", "Edit config.yaml first.", "Bearbeite zuerst config.yaml.",
     "config.yaml bitte zuerst bearbeiten."),
    ("file dropped word", "en-de", "literals", "Edit config.yaml first.", "Bearbeite zuerst config.yaml.",
     "Bearbeite zuerst die Datei."),
    ("path", "en-de", "literals", "Look into /etc/hosts first.", "Sieh zuerst in /etc/hosts.",
     "Sieh zuerst in /etc/gastgeber."),
    ("option", "en-de", "literals", "Use --dry-run first.", "Nutze zuerst --dry-run.", "Nutze zuerst --trocken-lauf."),
    ("key ok", "en-de", "", "Press Ctrl+S to save.", "Drücke Ctrl+S zum Speichern.", "Drücke Strg+S zum Speichern."),
    ("key bad", "en-de", "literals", "Press Ctrl+S to save.", "Drücke Strg+S zum Speichern.",
     "Drücke Strg+D zum Speichern."),
    ("key bad mod", "en-de", "literals", "Press Ctrl+S to save.", "Drücke Strg+S zum Speichern.",
     "Drücke Alt+S zum Speichern."),
    ("key ok fr", "en-fr", "", "Press Shift+F5 now.", "Appuyez sur Shift+F5.", "Appuyez sur Maj+F5."),
    ("key bad fr", "en-fr", "literals", "Press Shift+F5 now.", "Appuyez sur Maj+F5.", "Appuyez sur Maj+F6."),
    ("colour", "en-de", "literals", "Use #ff0000 for links.", "Nutze #ff0000 für Links.", "Nutze #ff00ff für Links."),
    ("colour2", "en-de", "literals", "Use #fff for links.", "Nutze #fff für Links.", "Nutze #ffa für Links."),
    ("colour3", "en-de", "literals", "Use #ff0000 for links.", "Nutze #ff0000 für Links.", "Nutze #rot für Links."),
    ("prose emoji", "en-de", "", "Nice :smile: work", "Schöne :smile: Arbeit", "Gute :smile: Arbeit"),
    ("prose emoji bad", "en-de", "literals", "Nice :smile: work", "Schöne :smile: Arbeit", "Gute :lächeln: Arbeit"),
    ("end: greek ;", "en-el", "", "Where are you?", "Πού είσαι?", "Πού είσαι;"),
    ("end: thai", "en-th", "", "The shop is closed.", "ร้านปิดแล้ว.", "ร้านปิดแล้ว"),
    ("end: arm :", "en-hy", "", "The shop is closed.", "Խանութը փակ է.", "Խանութը փակ է։"),
    ("end: arm ՞ q", "en-hy", "", "Are you here?", "Դու այստե՞ղ ես?", "Դու այստե՞ղ ես"),
    ("end: arab ؟", "en-ar", "", "Where is it?", "أين هو?", "أين هو؟"),
    ("end: hi", "en-hi", "", "The shop is closed.", "दुकान बंद है.", "दुकान बंद है।"),
    ("end: bo", "en-bo", "", "The shop is closed.", "ཚོང་ཁང་སྒོ་བརྒྱབ་ཡོད.", "ཚོང་ཁང་སྒོ་བརྒྱབ་ཡོད།"),
    ("end: my", "en-my", "", "The shop is closed.", "ဆိုင်ပိတ်ထားသည်.", "ဆိုင်ပိတ်ထားသည်။"),
    ("end: am", "en-am", "", "The shop is closed.", "ሱቁ ዝግ ነው.", "ሱቁ ዝግ ነው።"),
    ("end: am ፧", "en-am", "", "Is it closed?", "ሱቁ ዝግ ነው?", "ሱቁ ዝግ ነው፧"),
    ("end: km", "en-km", "", "The shop is closed.", "ហាងបិទហើយ.", "ហាងបិទហើយ។"),
    ("end: lo", "en-lo", "", "The shop is closed.", "ຮ້ານປິດແລ້ວ.", "ຮ້ານປິດແລ້ວ"),
    ("end: sat", "en-sat", "", "The shop is closed.", "ᱫᱚᱠᱟᱱ ᱵᱚᱸᱫ.", "ᱫᱚᱠᱟᱱ ᱵᱚᱸᱫ᱾"),
    ("end: mni", "en-mni-Mtei", "", "The shop is closed.", "ꯗꯨꯀꯥꯟ ꯊꯤꯡꯂꯦ.", "ꯗꯨꯀꯥꯟ ꯊꯤꯡꯂꯦ꯫"),
    ("end: dv/sd ۔", "en-ur", "", "The shop is closed.", "دکان بند ہے.", "دکان بند ہے۔"),
    ("end: hy lost", "en-hy", "end", "The shop is closed.", "Խանութը փակ է։", "Խանութը փակ է"),
    ("end: el ; lost", "en-el", "end", "Where are you?", "Πού είσαι;", "Πού είσαι"),
    ("end: my lost", "en-my", "end", "The shop is closed.", "ဆိုင်ပိတ်ထားသည်။", "ဆိုင်ပိတ်ထားသည်"),
    ("end: hi lost", "en-hi", "end", "The shop is closed.", "दुकान बंद है।", "दुकान बंद है"),
    # what only looks like a literal, and endings behind one
    ("file: German compound", "en-de", "", "Open the file config.yaml.", "Öffnen Sie die Datei config.yaml.",
     "Öffnen Sie die config.yaml-Datei."),
    ("file: Finnish compound", "en-fi", "", "Edit config.yaml and restart.",
     "Muokkaa tiedostoa config.yaml ja käynnistä uudelleen.", "Muokkaa config.yaml-tiedostoa ja käynnistä uudelleen."),
    ("file: Swedish compound", "en-sv", "", "Delete data.csv first.", "Ta bort filen data.csv först.",
     "Ta bort data.csv-filen först."),
    ("file: Hungarian ending", "en-hu", "", "Open report.pdf now.", "Nyissa meg a report.pdf fájlt most.",
     "Nyissa meg most a report.pdf-et."),
    ("file: renamed in a compound", "en-de", "literals", "Open the file config.yaml.",
     "Öffnen Sie die Datei config.yaml.", "Öffnen Sie die konfig.yaml-Datei."),
    ("file: longer ending", "en-de", "literals", "Open config.yaml now.", "Öffnen Sie config.yaml nun.",
     "Öffnen Sie config.yaml.bak nun."),
    ("file: of programs", "en-de", "literals", "Run setup.ps1 or app.go", "setup.ps1 oder app.go ausführen",
     "einrichten.ps1 oder app.go ausführen"),
    ("path: of programs", "en-de", "literals", "Open src/app/main.rs", "src/app/main.rs öffnen",
     "quelle/app/main.rs öffnen"),
    ("option: German compound", "en-de", "", "Use the --verbose option.", "Verwenden Sie die Option --verbose.",
     "Verwenden Sie die --verbose-Option."),
    ("option: a longer one", "en-de", "literals", "Run it with --dry now.", "Starte es mit --dry jetzt.",
     "Starte es mit --dry-run jetzt."),
    ("option: a dash", "en-de", "", "He left --and never came back.", "Er ging --und kam nie wieder.",
     "Er ging – und kam nie wieder."),
    ("option: lost", "en-de", "literals", "Run it with --all first.", "Starte es mit --all.", "Starte es mit – alle."),
    ("number sign", "en-fr", "", "Order #123456 has shipped.", "La commande #123456 a été expédiée.",
     "La commande n° 123456 a été expédiée."),
    ("colour of digits", "en-fr", "literals", "Use #000000 here.", "Utilisez #000000 ici.", "Utilisez #000001 ici."),
    ("name: French colon", "en-fr", "", "@alice: thanks for the review.", "@alice: merci pour la relecture.",
     "@alice : merci pour la relecture."),
    ("name: wide colon", "en-zh", "", "@alice: thanks for the review.", "@alice: 谢谢您的审阅。",
     "@alice：谢谢您的审阅。"),
    ("name: Japanese", "en-ja", "", "@bob: please check.", "@bob: ご確認ください。", "@bobさん、ご確認ください。"),
    ("name: lost", "en-fr", "literals", "@alice: thanks.", "@alice: merci.", "@alix : merci."),
    ("name: at home", "en-de", "", "Stay safe @home.", "Bleiben Sie @home.", "Bleiben Sie zu Hause."),
    ("name: all", "en-pl", "", "Send to @all members", "Wyślij do @all członków", "Wyślij do wszystkich członków"),
    ("path: words with slashes", "ru-en", "", "Формат: день/месяц/год", "Format: day/month/yaer",
     "Format: day/month/year"),
    ("path: behind Chinese", "zh-en", "literals", "打开/etc/hosts文件", "Open /etc/hosts", "Open /usr/hosts"),
    ("MediaWiki: forms", "en-de", "", "{{PLURAL:$1|file|files}} changed", "{{PLURAL:$1|Datei|Datein}} geändert",
     "{{PLURAL:$1|Datei|Dateien}} geändert"),
    ("MediaWiki: argument", "en-de", "placeholders", "{{PLURAL:$1|file|files}} changed",
     "{{PLURAL:$1|Datei|Dateien}} geändert", "{{PLURAL:$2|Datei|Dateien}} geändert"),
    ("MediaWiki: name", "en-de", "placeholders", "{{PLURAL:$1|file|files}} changed",
     "{{PLURAL:$1|Datei|Dateien}} geändert", "{{MEHRZAHL:$1|Datei|Dateien}} geändert"),
    ("ICU: six forms for two", "en-ar", "", "{n, plural, one {# new message} other {# new messages}}",
     "{n, plural, one {# رسالة جديدة} other {# رسائل جديدة}}",
     "{n, plural, zero {لا توجد رسائل جديدة} one {رسالة جديدة واحدة} two {رسالتان جديدتان} "
     "few {# رسائل جديدة} many {# رسالة جديدة} other {# رسالة جديدة}}"),
    ("ICU: four long forms for two", "en-pl", "",
     "{n, plural, one {# new message in this mailbox} other {# new messages in this mailbox}}",
     "{n, plural, one {# nowa wiadomość w tej skrzynce} other {# nowych wiadomości w tej skrzynce}}",
     "{n, plural, one {# nowa wiadomość w tej skrzynce pocztowej} few {# nowe wiadomości w tej skrzynce pocztowej} "
     "many {# nowych wiadomości w tej skrzynce pocztowej} other {# nowej wiadomości w tej skrzynce pocztowej}}"),
    ("ICU: number in a branch", "en-de", "numbers",
     "{n, plural, one {Save 50% on # item} other {Save 50% on # items}}",
     "{n, plural, one {50 % auf # Artikel sparen} other {50 % auf # Artikel sparen}}",
     "{n, plural, one {60 % auf # Artikel sparen} other {60 % auf # Artikel sparen}}"),
    ("ICU: file in a branch", "en-de", "literals", "{n, plural, one {Open config.yaml} other {Open # files}}",
     "{n, plural, one {config.yaml öffnen} other {# Dateien öffnen}}",
     "{n, plural, one {konfig.yaml öffnen} other {# Dateien öffnen}}"),
    ("ICU: unit in a branch", "en-de", "units", "{n, plural, one {# km left} other {# km left}}",
     "{n, plural, one {Noch # km} other {Noch # km}}", "{n, plural, one {Noch # Meile} other {Noch # Meilen}}"),
    ("ICU: amount in a branch", "en-de", "numbers", "{n, plural, one {# card of $50} other {# cards of $50}}",
     "{n, plural, one {# Karte zu 50 $} other {# Karten zu 50 $}}",
     "{n, plural, one {# Karte zu 50 $} other {# Karten zu 500 $}}"),
    ("ICU: numbers moved into branches", "en-de", "", "Save 50% on {n, plural, one {# item} other {# items}}",
     "50 % Rabatt auf {n, plural, one {# Artikel} other {# Artikel}}",
     "{n, plural, one {50 % auf # Artikel} other {50 % auf # Artikel}}"),
    ("ICU: counts in words", "en-de", "", "{n, plural, =0 {No files} =1 {1 file} other {# files}}",
     "{n, plural, =0 {Keine Dateien} =1 {1 Datei} other {# Dateien}}",
     "{n, plural, =0 {0 Dateien} =1 {Eine Datei} other {# Dateien}}"),
    ("Chrome's name", "en-de", "placeholders", "Found $COUNT$ items", "$COUNT$ Elemente", "$COUNT Elemente"),
    ("Swift's name", "en-de", "placeholders", "Hello \\(name)", "Hallo \\(name)", "Hallo \\(nome)"),
    ("name between per cent signs", "en-de", "placeholders", "Hi %%name%%", "Hallo %%name%%", "Hallo %%nome%%"),
    ("name between number signs", "en-de", "placeholders", "Hi ##name##", "Hallo ##name##", "Hallo ##nome##"),
    ("ICU: a remark in a branch", "en-de", "length", "{n, plural, one {# file} other {# files}}",
     "{n, plural, one {# Datei} other {# Dateien}}",
     "{n, plural, one {# Datei} other {# Dateien (Anmerkung: Ich habe die Mehrzahl gewählt, weil sie hier passt.)}}"),
    ("shortcut: its letter in the language", "en-es", "", "Save (Ctrl+S)", "Guardar (Ctrl+S)", "Guardar (Ctrl+G)"),
    ("shortcut: any other letter", "en-es", "literals", "Save (Ctrl+S)", "Guardar (Ctrl+S)", "Guardar (Ctrl+D)"),
    ("shortcut: in a sentence", "en-de", "literals", "Press Ctrl+P to print.", "Drucken mit Strg+P.",
     "Drucken mit Strg+D."),
    ("comparison: turned", "en-de", "", "Only if 5 < x here.", "Nur wenn 5 < x hier.", "Nur wenn x > 5 hier."),
    ("comparison: turned names", "en-de", "", "Only if a <= b here.", "Nur wenn a <= b.", "Nur wenn b >= a."),
    ("comparison: half turned", "en-de", "literals", "Only if 5 < x here.", "Nur wenn 5 < x hier.",
     "Nur wenn 5 > x hier."),
    ("comparison: turned and weakened", "en-de", "literals", "Only if 5 < x here.", "Nur wenn 5 < x hier.",
     "Nur wenn x >= 5 hier."),
    ("arrow of a menu", "en-ar", "", "Go to Settings > Privacy.", "اذهب إلى الإعدادات > الخصوصية.",
     "انتقل إلى الإعدادات < الخصوصية."),
    ("comparison: Arabic", "en-ar", "literals", "Only if x > 5 now.", "فقط إذا x > 5 الآن.", "فقط إذا x < 5 الآن."),
    ("hotkey: none (about)", "en-de", "", "Takes ~an hour", "Dauert ~eine Stunde", "Dauert etwa eine Stunde"),
    ("hotkey: none (emphasis)", "en-de", "", "Press _now_", "Jetzt _drücken_", "Jetzt *drücken*"),
    ("hotkey: GTK lost before a name", "en-de", "hotkeys", "_Set file_name", "_Setze file_name", "Setze file_name"),
    ("hotkey: LibreOffice lost inside", "en-de", "hotkeys", "~Close", "Schl~ießen", "Schließen"),
    ("ICU: one with number for =1", "en-ru", "",
     "{n, plural, =1 {Delete this file?} other {Delete # files?}}",
     "{n, plural, =1 {Удалить этот файл?} other {Удалить # файлов?}}",
     "{n, plural, one {Удалить # файл?} few {Удалить # файла?} many {Удалить # файлов?} other {Удалить # файла?}}"),
    ("ICU: one without number for =1", "en-ru", "placeholders",
     "{n, plural, =1 {Delete this file?} other {Delete # files?}}",
     "{n, plural, =1 {Удалить этот файл?} one {Удалить # файл?} few {Удалить # файла?} many {Удалить # файлов?} "
     "other {Удалить # файла?}}",
     "{n, plural, one {Удалить этот файл?} few {Удалить # файла?} many {Удалить # файлов?} other {Удалить # файла?}}"),
    ("ICU: =1 lost", "en-ru", "placeholders",
     "{n, plural, =1 {Delete this file?} other {Delete # files?}}",
     "{n, plural, =1 {Удалить этот файл?} few {Удалить # файла?} many {Удалить # файлов?} other {Удалить # файла?}}",
     "{n, plural, few {Удалить # файла?} many {Удалить # файлов?} other {Удалить # файла?}}"),
    ("ICU: skeleton in another order", "en-de", "", "On {d, date, ::MMMMd} we start.",
     "Am {d, date, ::MMMMd} beginnen wir.", "Am {d, date, ::dMMMM} beginnen wir."),
    ("ICU: skeleton of other fields", "en-de", "placeholders", "On {d, date, ::MMMMd} we start.",
     "Am {d, date, ::MMMMd} beginnen wir.", "Am {d, date, ::MMMd} beginnen wir."),
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
