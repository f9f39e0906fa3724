"""Texts of apps in JSON, YAML, ARB and string catalogues, replaced or added in the user's own bytes."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import regex
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtagent.errors import InputError
from mtagent.formats import document_format
from mtagent.formats.documents import PLACEHOLDER, LocalizationFile, TranslationUnit, replaced, selected
from tests.commands import Shell

EN = """{
  "title": "Hello, {name}!",
  "menu": {
    "open": "Open",
    "file.new": "New",
    "items": ["One", "Two", "Three"]
  },
  "cat_one": "{{count}} cat",
  "cat_other": "{{count}} cats",
  "days": {"one": "a day", "other": "{n} days"},
  "empty": {},
  "end": "The end"
}
"""


def opened(folder: Path, name: str, content: str | bytes, source: str | bytes, lang: str | None = None) -> Any:
    """The file ``name`` with its sources in ``en``."""
    paths = folder / name, folder / f"en{Path(name).suffix}"
    for path, text in zip(paths, (content, source), strict=True):
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return document_format(paths[0]).open(paths[0], paths[1], lang)


def by_id(document: LocalizationFile) -> dict[str, TranslationUnit]:
    return {unit.id: unit for unit in document.units}


def targets(document: LocalizationFile) -> dict[str, str | None]:
    return {unit.id: unit.target for unit in document.units}


# -- JSON


def test_texts_are_paired_by_key_in_the_order_of_the_sources(tmp_path: Path) -> None:
    document = opened(tmp_path, "de.json", '{"menu": {"open": "Öffnen", "old": "Alt"}, "title": "Hallo"}', EN)
    assert targets(document) == {
        "title": "Hallo",
        "menu.open": "Öffnen",
        "menu.file\\.new": None,
        "menu.items.0": None,
        "menu.items.1": None,
        "menu.items.2": None,
        "cat_one": None,
        "cat_other": None,
        "days.one": None,
        "days.other": None,
        "end": None,
    }
    first = document.units[0]
    assert (first.source, first.state, first.source_lang, first.target_lang) == (
        "Hello, {name}!",
        "translated",
        "en",
        "de",
    )
    assert document.units[2].state == "new"


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ('{"title" :\t"x",\r\n"end":"y"}', {"title": 'A "b"\n\\'}, '{"title" :\t"A \\"b\\"\\n\\\\",\r\n"end":"y"}'),
        ('{"title":"x","end":"y"}', {"menu.open": "O"}, '{"title":"x","menu":{"open":"O"},"end":"y"}'),
        ('{"title": "x", "end": "y"}', {"cat_one": "1"}, '{"title": "x", "cat_one": "1", "end": "y"}'),
        ('{"end": "y"}', {"title": "x"}, '{"title": "x", "end": "y"}'),
        (
            '{\n\t"title": "x"\n}',
            {"menu.open": "O", "end": "E", "days.one": "1"},
            '{\n\t"title": "x",\n\t"menu": {\n\t\t"open": "O"\n\t},\n\t"days": {\n\t\t"one": "1"\n\t},\n'
            '\t"end": "E"\n}',
        ),
        ("{}", {"end": "E"}, '{\n  "end": "E"\n}'),
        ('{\r\n  "menu": {}\r\n}\r\n', {"menu.open": "O"}, '{\r\n  "menu": {\r\n    "open": "O"\r\n  }\r\n}\r\n'),
        ('{"menu": {"items": ["A"]}}', {"menu.items.2": "C"}, '{"menu": {"items": ["A", "", "C"]}}'),
        ('{"menu": {"items": ["A"]}}', {"menu.items.1": "B"}, '{"menu": {"items": ["A", "B"]}}'),
        ('{"menu": {}}', {"menu.items.1": "B"}, '{"menu": {"items": ["", "B"]}}'),
        ('{"menu": null, "end": null}', {"menu.open": "O", "end": "E"}, '{"menu": {"open": "O"}, "end": "E"}'),
        (
            '{\n  "title": "x",\n\n  "menu": {}\n}',
            {"end": "E"},
            '{\n  "title": "x",\n\n  "menu": {},\n  "end": "E"\n}',
        ),
        (
            '{\n    "title": "x",\n\n    "end": "y"\n}',
            {"cat_other": "c"},
            '{\n    "title": "x",\n    "cat_other": "c",\n\n    "end": "y"\n}',
        ),
        (
            '{\n    "menu": { "open": "O" }\n}',
            {"menu.file\\.new": "N"},
            '{\n    "menu": { "open": "O", "file.new": "N" }\n}',
        ),
    ],
)
def test_a_text_is_replaced_or_added_in_the_layout_of_the_file(
    tmp_path: Path, before: str, new: dict[str, str], after: str
) -> None:
    written = replaced(opened(tmp_path, "de.json", before, EN), new).decode()
    assert written == after
    assert {key: value for key, value in targets(opened(tmp_path, "de.json", written, EN)).items() if key in new} == new


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"title": "\\u00e4", "end": "x"}', "\\u00e9\\ud83d\\ude00<a/>"),
        ('{"title": "\\u00E4", "end": "x"}', "\\u00E9\\uD83D\\uDE00<a/>"),
        ('{"title": "ä", "end": "x"}', "é😀<a/>"),
        ('{"title": "ä\\ud83d\\ude01", "end": "x"}', "é\\ud83d\\ude00<a/>"),
        ('{"title": "ä \\/", "end": "x"}', "é😀<a\\/>"),
        ('{"title": "ä \\u003c", "end": "x"}', "é😀\\u003ca/>"),
    ],
)
def test_characters_are_escaped_as_the_file_escapes_them(tmp_path: Path, before: str, after: str) -> None:
    document = opened(tmp_path, "de.json", before, EN)
    assert replaced(document, {"end": "é😀<a/>"}).decode() == before.replace('"x"', f'"{after}"')


@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")]
)
def test_a_byte_order_mark_and_its_encoding_stay(tmp_path: Path, encoding: str, mark: bytes) -> None:
    text = '{"title": "ä", "end": "x"}'
    document = opened(tmp_path, "de.json", mark + text.encode(encoding), EN)
    assert replaced(document, {"end": "😀"}) == mark + text.replace('"x"', '"😀"').encode(encoding)


def test_plurals_have_the_forms_of_the_target_language(tmp_path: Path) -> None:
    document = opened(tmp_path, "ru.json", '{"cat_one": "{{count}} кот", "days": {"few": "{n} дня"}}', EN)
    units = by_id(document)
    assert [key for key in units if key.startswith("cat")] == ["cat_one", "cat_few", "cat_many", "cat_other"]
    few = units["cat_few"]
    assert (few.source, few.target, units["days.few"].target) == ("{{count}} cats", None, "{n} дня")
    assert few.plural is not None
    assert (few.plural.number, few.plural.count, few.plural.category) == (1, 4, "few")
    assert few.plural.examples == (2, 3, 4, 22)
    new = replaced(document, {"cat_few": "F", "cat_many": "M", "days.one": "1", "days.other": "o"}).decode()
    assert new == (
        '{"cat_one": "{{count}} кот", "cat_few": "F", "cat_many": "M", '
        '"days": {"one": "1", "few": "{n} дня", "other": "o"}}'
    )
    german = opened(tmp_path, "de.json", '{"cat_many": "Millionen"}', EN)
    assert [unit.id for unit in german.units if unit.plural][:3] == ["cat_one", "cat_many", "cat_other"]
    japanese = opened(tmp_path, "ja.json", "{}", EN)
    assert [unit.id for unit in japanese.units if unit.plural] == ["cat_other", "days.other"]
    unknown = opened(tmp_path, "texts.json", "{}", EN)
    assert [unit.id for unit in unknown.units if unit.plural] == ["cat_one", "cat_other", "days.one", "days.other"]
    zero = opened(tmp_path, "de.json", "{}", EN.replace('"cat_one"', '"cat_zero": "no cat", "cat_one"'))
    assert [unit.plural.examples[:1] for unit in zero.units if unit.plural][:3] == [(0,), (1,), (2,)]


CHROME = """{
  "hello": {
    "message": "Hello, $user$",
    "description": "A greeting",
    "placeholders": {"user": {"content": "$1", "example": "Ann"}}
  },
  "bye": {"message": "Bye"}
}
"""


@pytest.mark.parametrize(
    "texts",
    [
        {"size_other": "Other"},  # a word of its own, because English has one and other
        {"size_one": {"title": "A", "text": "B"}, "size_other": "Other"},
        {"size_one": 1, "size_other": "Other"},
        {"sizes": {"one": 1, "other": "Other"}},
    ],
)
def test_what_only_looks_like_a_plural_is_none(tmp_path: Path, texts: dict[str, Any]) -> None:
    (tmp_path / "en.json").write_text(json.dumps({"title": "Sizes", **texts}), encoding="utf-8")
    path = tmp_path / "ru.json"
    path.write_text("{}", encoding="utf-8")
    document = document_format(path).open(path, tmp_path / "en.json")
    assert not any(unit.plural for unit in document.units)
    path.write_bytes(replaced(document, {unit.id: "x" for unit in document.units}))
    again = document_format(path).open(path, tmp_path / "en.json")
    assert [(unit.id, unit.target) for unit in again.units] == [(unit.id, "x") for unit in document.units]


@pytest.mark.parametrize(
    ("language", "categories"),
    [("en-GB", "one two few other"), ("ca", "one two few other"), ("it", "many other"), ("de", "other")],
)
def test_ordinals_have_categories_of_their_own(tmp_path: Path, language: str, categories: str) -> None:
    forms = {f"place_ordinal_{category}": category for category in ("one", "two", "few", "other")}
    (tmp_path / "en.json").write_text(json.dumps(forms), encoding="utf-8")
    path = tmp_path / f"{language}.json"
    path.write_text("{}", encoding="utf-8")
    document = document_format(path).open(path, tmp_path / "en.json")
    assert [unit.id for unit in document.units] == [f"place_ordinal_{name}" for name in categories.split()]
    assert all(unit.plural is not None and unit.plural.is_ordinal for unit in document.units)
    new = json.loads(replaced(document, {unit.id: "x" for unit in document.units}))
    assert list(new) == [unit.id for unit in document.units]


def test_records_keep_their_remarks(tmp_path: Path) -> None:
    document = opened(tmp_path, "de.json", '{\n  "bye": {"message": "Tschüs"}\n}\n', CHROME)
    assert targets(document) == {"hello": None, "bye": "Tschüs"}
    assert document.units[0].notes == ("A greeting",)
    new = json.loads(replaced(document, {"hello": "Hallo, $user$", "bye": "Tschau"}))
    assert new == json.loads(CHROME.replace("Hello", "Hallo").replace("Bye", "Tschau"))
    assert list(new) == ["hello", "bye"]
    format_js = '{"a": {"defaultMessage": "Save", "description": "A button"}, "b": {"defaultMessage": "Go"}}'
    plain = opened(tmp_path, "de.json", '{"b": "Los"}', format_js)
    assert (targets(plain), plain.units[0].notes) == ({"a": None, "b": "Los"}, ("A button",))
    assert replaced(plain, {"a": "Sichern"}).decode() == '{"a": "Sichern", "b": "Los"}'
    limited = opened(tmp_path, "de.json", "{}", '{"a": {"string": "Save", "character_limit": 12}}')
    assert limited.units[0].max_length == 12


def test_values_that_are_no_texts_stay_and_are_copied_with_what_is_around_them(tmp_path: Path) -> None:
    english = """{
  "$schema": "https://example.com/schema.json",
  "limit": 3, "on": true, "none": null,
  "title": "Hello",
  "features": [
    {"icon": 7, "name": "Fast", "more": {"url": "u"}},
    {"icon": 8, "name": "Safe", "tags": []}
  ],
  "mixed": [null, "a", 5, "b", 6]
}
"""
    german = """{
  "limit": 4,
  "title": "Hallo",
  "features": [
    {"icon": 7, "name": "Schnell"}
  ]
}
"""
    document = opened(tmp_path, "de.json", german, english)
    assert targets(document) == {
        "title": "Hallo",
        "features.0.name": "Schnell",
        "features.0.more.url": None,
        "features.1.name": None,
        "mixed.1": None,
        "mixed.3": None,
    }
    new = json.loads(replaced(document, {"features.1.name": "Sicher", "mixed.1": "A"}))
    assert new == {
        "limit": 4,
        "title": "Hallo",
        "features": [{"icon": 7, "name": "Schnell"}, {"icon": 8, "name": "Sicher", "tags": []}],
        "mixed": [None, "A", 5, "", 6],
    }
    with pytest.raises(InputError, match=r"'title' has no place: line 1 has another kind of value"):
        replaced(opened(tmp_path, "de.json", '{"title": 5}', english), {"title": "Hallo"})


def test_a_list_is_read_by_number_or_by_the_ids_in_it(tmp_path: Path) -> None:
    names = opened(tmp_path, "de.json", '["Eins"]', '["One", "Two"]')
    assert targets(names) == {"0": "Eins", "1": None}
    assert replaced(names, {"1": "Zwei"}) == b'["Eins", "Zwei"]'
    objects = opened(tmp_path, "de.json", '[{"name": "Eins", "n": 1}]', '[{"name": "One", "n": 1}]')
    assert replaced(objects, {"0.name": "Zwei"}) == b'[{"name": "Zwei", "n": 1}]'
    hugo = """- id: read
  translation: Read more

- id: day
  translation:
    one: One day
    other: "{{ .Count }} days"
- id: home
  translation: Home
"""
    german = "- id: home\n  translation: Start\n- id: read\n  translation: Mehr\n"
    document = opened(tmp_path, "de.yaml", german, hugo, "de")
    assert targets(document) == {
        "read": "Mehr",
        "day.translation.one": None,
        "day.translation.other": None,
        "home": "Start",
    }
    new = replaced(document, {"day.translation.other": "Tage", "home": "Anfang"}).decode()
    assert new == (
        "- id: home\n  translation: Anfang\n- id: read\n  translation: Mehr\n"
        "- id: day\n  translation:\n    other: Tage\n"
    )
    with pytest.raises(InputError, match=r"de\.yaml:1: has texts of the kind nested, but .* of the kind records"):
        opened(tmp_path, "de.yaml", "- id: home\n", hugo)


def test_remarks_beside_plain_texts_and_plurals_are_notes(tmp_path: Path) -> None:
    code = """{
  // for the palette
  "run": {"message": "Run", "comment": ["{0} is a file", "Keep short"]},
  "stop": "Stop" /* the same */
}
"""
    document = opened(tmp_path, "de.json", '{"stop": "Halt" // kurz\n}\n', code)
    assert targets(document) == {"run": None, "stop": "Halt"}
    assert document.units[0].notes == ("{0} is a file Keep short",)
    assert replaced(document, {"stop": "Anhalten"}) == b'{"stop": "Anhalten" // kurz\n}\n'
    assert targets(opened(tmp_path, "de.json", replaced(document, {"run": "Los"}), code))["run"] == "Los"
    go = '{"cats": {"description": "Animals", "one": "{{.n}} cat", "other": "{{.n}} cats"}}'
    plural = opened(tmp_path, "ru.json", "{}", go)
    assert (plural.units[0].id, plural.units[0].notes) == ("cats.one", ("Animals",))
    assert len(plural.units) == 4
    both = opened(tmp_path, "de.json", "{}", '{"menu": {"other": "Other", "description": "Description"}}')
    assert list(targets(both)) == ["menu.other", "menu.description"]


def test_texts_within_a_frame_that_names_the_language(tmp_path: Path) -> None:
    english = '{"locale": "en", "translations": {"1": "Save", "2": "Go"}}'
    document = opened(tmp_path, "texts.json", english.replace("en", "pt-BR", 1).replace(', "2": "Go"', ""), english)
    assert (targets(document), document.units[0].target_lang) == ({"1": "Save", "2": None}, "pt-BR")
    assert b'"1": "Save", "2": "Ir"}}' in replaced(document, {"2": "Ir"})
    word = opened(tmp_path, "de.json", '{"no": {"a": "Nein"}}', '{"no": {"a": "No"}, "yes": "Yes"}')
    assert targets(word) == {"no.a": "Nein", "yes": None}
    rooted = opened(tmp_path, "texts.json", '{"de": {"a": "Eins"}}', '{"en": {"a": "One", "b": "Two"}}')
    assert (targets(rooted), rooted.units[0].target_lang) == ({"a": "Eins", "b": None}, "de")
    assert replaced(rooted, {"b": "Zwei"}) == b'{"de": {"a": "Eins", "b": "Zwei"}}'
    with pytest.raises(
        InputError, match=r"de\.json:1: has texts of the kind nested, but .*en\.json of the kind language"
    ):
        opened(tmp_path, "de.json", '{"a": "Eins"}', '{"en": {"a": "One"}}')


# -- ARB

ARB = """{
  "@@locale": "en",
  "hello": "Hello {name}",
  "@hello": {
    "description": "A greeting",
    "placeholders": {"name": {"type": "String", "example": "Ann"}}
  },
  "brand": "Acme",
  "@brand": {"x-translate": false},
  "dogs": "{count, plural, one{a dog} other{{count} dogs}}"
}
"""


def test_arb_has_descriptions_and_names_its_language(tmp_path: Path) -> None:
    german = '{\n  "@@locale": "de",\n  "brand": "Acme",\n  "@brand": {}\n}\n'
    document = opened(tmp_path, "app_de.arb", german, ARB)
    hello, brand, dogs = document.units
    assert (hello.notes, hello.target_lang, brand.locked) == (("A greeting", "{name}: Ann"), "de", True)
    assert dogs.source == "{count, plural, one{a dog} other{{count} dogs}}"
    new = replaced(document, {"hello": "Hallo {name}", "dogs": "Hunde"}).decode()
    assert new == german.replace('"de",', '"de",\n  "hello": "Hallo {name}",').replace(
        '"@brand": {}', '"@brand": {},\n  "dogs": "Hunde"'
    )
    with pytest.raises(InputError, match="'brand' is not written: the unit is locked"):
        replaced(document, {"brand": "Spitze"})


# -- string catalogues

CATALOGUE = """{
  "sourceLanguage" : "en",
  "strings" : {
    "" : {

    },
    "%lld files" : {
      "comment" : "A count",
      "localizations" : {
        "en" : {
          "variations" : {
            "plural" : {
              "one" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld file"
                }
              },
              "other" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld files"
                }
              }
            }
          }
        }
      }
    },
    "Brand" : {
      "shouldTranslate" : false
    },
    "Hello." : {
      "localizations" : {
        "de" : {
          "stringUnit" : {
            "state" : "needs_review",
            "value" : "Hallo."
          }
        }
      }
    },
    "Old" : {
      "extractionState" : "stale"
    },
    "Tap" : {
      "localizations" : {
        "de" : {
          "variations" : {
            "device" : {
              "mac" : {
                "stringUnit" : {
                  "state" : "new",
                  "value" : ""
                }
              },
              "other" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "Tippen"
                }
              }
            }
          }
        }
      }
    }
  },
  "version" : "1.0"
}
"""


def catalogue(folder: Path, lang: str | None = "de", text: str = CATALOGUE) -> LocalizationFile:
    path = folder / "a.xcstrings"
    path.write_text(text, encoding="utf-8")
    return document_format(path).open(path, target_lang=lang)


def test_a_string_catalogue_has_states_comments_plurals_and_devices(tmp_path: Path) -> None:
    units = by_id(catalogue(tmp_path))
    assert {key: (unit.source, unit.target, unit.state, unit.locked) for key, unit in units.items()} == {
        "%lld files[one]": ("%lld file", None, "new", False),
        "%lld files[other]": ("%lld files", None, "new", False),
        "Brand": ("Brand", None, "new", True),
        "Hello.": ("Hello.", "Hallo.", "needs_review", False),
        "Old": ("Old", None, "stale", False),
        "Tap[device.mac]": ("Tap", "", "new", False),
        "Tap[device.other]": ("Tap", "Tippen", "translated", False),
    }
    one = units["%lld files[one]"]
    assert (one.notes, one.source_lang, one.target_lang, one.line) == (("A count",), "en", "de", 7)
    assert one.plural is not None
    assert (one.plural.category, one.plural.examples) == ("one", (1,))
    assert [unit.id for unit in selected(units.values(), only=["needs-review"])] == ["Hello."]
    russian = [unit.id for unit in catalogue(tmp_path, "ru").units if unit.plural]
    assert russian == [f"%lld files[{category}]" for category in ("one", "few", "many", "other")]


LANGUAGE = """
          "LANG" : {
            "stringUnit" : {
              "state" : "translated",
              "value" : "TEXT"
            }
          }"""


def test_texts_are_added_to_a_catalogue_in_the_layout_of_xcode(tmp_path: Path) -> None:
    document = catalogue(tmp_path)
    assert replaced(document, {}) == CATALOGUE.encode()
    changed = replaced(document, {"Hello.": "Hallo!", "Tap[device.mac]": "Klicken"}).decode()
    expected = CATALOGUE.replace("Hallo.", "Hallo!").replace('"value" : ""', '"value" : "Klicken"')
    assert changed == expected.replace('"state" : "new"', '"state" : "translated"')

    new = LANGUAGE.replace("LANG", "fr").replace("TEXT", "Bonjour.").replace("\n  ", "\n")
    french = catalogue(tmp_path, "fr")
    expected = CATALOGUE.replace('"Hallo."\n          }\n        }', f'"Hallo."\n          }}\n        }},{new}')
    assert replaced(french, {"Hello.": "Bonjour."}).decode() == expected

    old = '"extractionState" : "stale"'
    new = LANGUAGE.replace("LANG", "de").replace("TEXT", "Alt").replace("\n  ", "\n")
    expected = CATALOGUE.replace(old, f'{old},\n      "localizations" : {{{new}\n      }}')
    assert replaced(document, {"Old": "Alt"}).decode() == expected


def test_added_plurals_keep_the_order_of_the_names(tmp_path: Path) -> None:
    new = replaced(catalogue(tmp_path, "pl"), {f"%lld files[{name}]": name for name in ("one", "many", "few", "other")})
    localizations = json.loads(new)["strings"]["%lld files"]["localizations"]
    assert list(localizations) == ["en", "pl"]
    plural = localizations["pl"]["variations"]["plural"]
    assert {name: plural[name]["stringUnit"]["value"] for name in plural} == {name: name for name in sorted(plural)}
    assert list(plural) == ["few", "many", "one", "other"]
    path = tmp_path / "b.xcstrings"
    path.write_bytes(replaced(catalogue(tmp_path, "pl"), {"%lld files[one]": "1"}))
    again = replaced(
        document_format(path).open(path, target_lang="pl"),
        {f"%lld files[{name}]": name for name in ("one", "many", "few", "other")},
    )
    assert again == new
    path.write_bytes(new)
    assert [unit.target for unit in document_format(path).open(path, target_lang="pl").units if unit.plural] == [
        "one", "few", "many", "other",
    ]  # fmt: skip


def test_a_substitution_gets_what_the_source_says_of_its_argument(tmp_path: Path) -> None:
    forms = '"variations": {"plural": {"other": {"stringUnit": {"state": "translated", "value": "%arg files"}}}}'
    english = (
        '{"stringUnit": {"state": "translated", "value": "In %#@n@"}, '
        f'"substitutions": {{"n": {{"argNum": 1, "formatSpecifier": "lld", {forms}}}}}}}'
    )
    text = f'{{"sourceLanguage": "en", "strings": {{"k": {{"localizations": {{"en": {english}}}}}}}, "version": "1.0"}}'
    document = catalogue(tmp_path, "ja", text)
    assert [unit.id for unit in document.units] == ["k", "k[substitutions.n.other]"]
    new = json.loads(replaced(document, {"k": "%#@n@", "k[substitutions.n.other]": "%arg個"}))
    japanese = new["strings"]["k"]["localizations"]["ja"]
    assert japanese == json.loads(english.replace("In %#@n@", "%#@n@").replace("%arg files", "%arg個"))


def test_the_target_language_of_a_catalogue_must_be_clear(tmp_path: Path) -> None:
    assert catalogue(tmp_path, None).units[0].target_lang == "de"  # there is no other
    with pytest.raises(InputError, match=r"xcstrings: en-US is the language|en is the language of its sources"):
        catalogue(tmp_path, "en")
    with pytest.raises(InputError, match=r"has de, but not de-AT; name one with -l en-LANGUAGE; the file has de"):
        catalogue(tmp_path, "de-AT")
    two = CATALOGUE.replace('"Brand" : {', '"Brand" : {\n      "localizations" : {"pt-BR" : {}},')
    assert catalogue(tmp_path, "pt_BR", two).units[0].target_lang == "pt-BR"
    with pytest.raises(InputError, match=r"does not tell which language .* -l en-LANGUAGE; the file has de, pt-BR"):
        catalogue(tmp_path, None, two)
    with pytest.raises(InputError, match=":1: is not a string catalogue"):
        catalogue(tmp_path, "de", '{"strings": {}}')


# -- YAML

RAILS = """# kept
en:
  # the first
  title: Hello, %{name}!
  quoted: "Say \\"hi\\""
  single: 'It''s'
  precision: 3
  order: [":year", month]
  days:
    one: a day
    other: "%{count} days"
  long: |
    First line
    second line
  folded: >-
    A text that is
    folded
  "no": Nope
  list:
    - One
    - Two
  same: &same Same
  again: *same
  end: The end # a remark
"""
GERMAN = RAILS.replace("en:", "de:", 1)


def test_a_rails_file_is_read_within_its_language(tmp_path: Path) -> None:
    document = opened(tmp_path, "texts.yml", "de:\n  title: Hallo\n  again: &x Wieder\n", RAILS)
    units = by_id(document)
    assert list(units) == [
        "title", "quoted", "single", "order.0", "order.1", "days.one", "days.other", "long", "folded", "no",
        "list.0", "list.1", "same", "end",
    ]  # fmt: skip
    assert (units["quoted"].source, units["single"].source) == ('Say "hi"', "It's")
    assert (units["long"].source, units["folded"].source) == ("First line\nsecond line\n", "A text that is folded")
    assert (units["title"].target, units["title"].target_lang, units["title"].line) == ("Hallo", "de", 2)
    russian = opened(tmp_path, "texts.yml", "ru: {}\n", RAILS)
    assert [unit.id for unit in russian.units if unit.plural] == [
        f"days.{category}" for category in ("one", "few", "many", "other")
    ]
    aliased = opened(tmp_path, "texts.yml", "de:\n  title: &t Hallo\n  end: *t\n  days: *t\n", RAILS)
    assert not {"end", "days.one", "days.other"} & set(by_id(aliased))


@pytest.mark.parametrize(
    ("unit", "text", "old", "new"),
    [
        ("title", "Hallo", "Hello, %{name}!", "Hallo"),
        ("title", "%{name}: hi", "Hello, %{name}!", '"%{name}: hi"'),
        ("title", "yes", "Hello, %{name}!", '"yes"'),
        ("title", "1,5", "Hello, %{name}!", '"1,5"'),
        ("title", ":sym", "Hello, %{name}!", '":sym"'),
        ("title", "a # b", "Hello, %{name}!", '"a # b"'),
        ("title", "a\nb", "Hello, %{name}!", '"a\\nb"'),
        ("quoted", 'Sag "ja"\t\\', '"Say \\"hi\\""', '"Sag \\"ja\\"\\t\\\\"'),
        ("single", "Das ist's", "'It''s'", "'Das ist''s'"),
        ("single", "a\nb", "'It''s'", '"a\\nb"'),
        ("order.1", "a, b", "month]", '"a, b"]'),
        ("order.1", "Monat", "month]", "Monat]"),
        ("order.1", "was?", "month]", '"was?"]'),
        ("long", "Eins\n\nzwei: #\n", "First line\n    second line\n", "Eins\n\n    zwei: #\n"),
        ("long", "Eins", "|\n    First line\n    second line\n", "|-\n    Eins\n"),
        ("long", "Eins\n\n", "|\n    First line\n    second line\n", '"Eins\\n\\n"\n'),
        ("long", " eingerückt\n", "|\n    First line\n    second line\n", '" eingerückt\\n"\n'),
        ("folded", "Ein Text, der wieder\ngefaltet ist", "A text that is\n    folded\n",
         "Ein Text, der wieder\n\n    gefaltet ist\n"),
        ("folded", "Ein längerer Text mit Wörtern", "A text that is\n    folded\n",
         "Ein längerer Text\n    mit Wörtern\n"),
        ("list.1", "- Zwei", "- Two", '- "- Zwei"'),
        ("same", "Gleich", "&same Same", "&same Gleich"),
        ("end", "Ende", "The end #", "Ende #"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_yaml_text_keeps_its_style_if_it_can(
    tmp_path: Path, unit: str, text: str, old: str, new: str, newline: str
) -> None:
    german = GERMAN.replace("\n", newline)
    document = opened(tmp_path, "de.yml", german, RAILS)
    assert replaced(document, {}) == german.encode()
    written = replaced(document, {unit: text}).decode()
    assert written == GERMAN.replace(old, new).replace("\n", newline)
    assert targets(opened(tmp_path, "de.yml", written, RAILS)) == targets(document) | {unit: text}
    assert list(yaml.safe_load(written)) == ["de"]


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ("de:\n  title: T # x\n\n  end: E\n", {"days.one": "1"},
         "de:\n  title: T # x\n  days:\n    one: \"1\"\n\n  end: E\n"),
        ("de:\n    title: T", {"days.one": "ein"}, "de:\n    title: T\n    days:\n        one: ein"),
        ("de:\n  end: |\n    x", {"end": "E\n"}, 'de:\n  end: "E\\n"'),
        ("de:\n    title: T", {"end": "E"}, "de:\n    title: T\n    end: E"),
        ("de:\n    days:\n        one: T", {"end": "E"}, "de:\n    days:\n        one: T\n    end: E"),
        ("de:\n  end: E\n", {"title": "T"}, "de:\n  title: T\n  end: E\n"),
        ("de:\n", {"title": "T", "list.1": "Z"}, 'de:\n  title: T\n  list:\n    - ""\n    - Z\n'),
        ("de: {}\n", {"title": "T"}, "de:\n  title: T\n"),
        ("de: {title: T}\n", {"days.other": "a, b"}, 'de: {title: T, days: {other: "a, b"}}\n'),
        ("de:\n  list:\n  - A\n", {"list.1": "B", "end": "E"}, "de:\n  list:\n  - A\n  - B\n  end: E\n"),
        ("de:\n  long: |\n    x\n\n  end: E\n", {"no": "Nee"}, 'de:\n  long: |\n    x\n  "no": Nee\n\n  end: E\n'),
        ("de:\n  title:\n  end: ~\n", {"title": "T", "end": "E"}, "de:\n  title: T\n  end: E\n"),
        ("de:\r\n  title: 'T'\r\n", {"end": "E"}, "de:\r\n  title: 'T'\r\n  end: 'E'\r\n"),
    ],
)  # fmt: skip
def test_a_yaml_text_is_added_where_the_source_has_it(
    tmp_path: Path, before: str, new: dict[str, str], after: str
) -> None:
    written = replaced(opened(tmp_path, "de.yml", before, RAILS), new).decode()
    assert written == after
    reread = targets(opened(tmp_path, "de.yml", written, RAILS))
    assert {unit: reread[unit] for unit in new} == new


def test_yaml_values_that_are_no_texts_stay(tmp_path: Path) -> None:
    english = """1: One
yes: Yes
n: 5
when: 2001-01-01
defaults: &d {a: A}
merged:
  <<: *d
  b: B
picture: !!binary |
  aGk=
include: !include other.yaml
thing: !ruby/object {name: Thing}
? [complex]
: value
? {c: d}
: e: f
last: Last
"""
    document = opened(tmp_path, "de.yml", english.replace("last: Last\n", ""), english)
    assert [unit.id for unit in document.units] == ["1", "yes", "defaults.a", "merged.b", "thing.name", "last"]
    for unit in document.units:
        new = replaced(document, {unit.id: "Neu"}).decode()
        assert [after for after in new.splitlines() if after not in english.splitlines()] == [
            {"1": "1: Neu", "yes": "yes: Neu", "defaults.a": "defaults: &d {a: Neu}", "merged.b": "  b: Neu"}.get(
                unit.id, "thing: !ruby/object {name: Neu}" if unit.id == "thing.name" else "last: Neu"
            )
        ]
    whole = opened(tmp_path, "de.yml", "n: 6\n", english)
    assert replaced(whole, {"thing.name": "Ding"}).decode() == "n: 6\nthing:\n  name: Ding\n"
    items = opened(tmp_path, "de.yml", "x: y\n", "a:\n- ~\n- 2001-01-01\n- *b\n- text\nb: &b x\n".replace("*b", "!t v"))
    assert replaced(items, {"a.3": "Text"}).decode() == 'a:\n  - null\n  - 2001-01-01\n  - ""\n  - Text\nx: y\n'


def test_a_no_break_space_at_the_end_of_a_plain_text_is_its_own(tmp_path: Path) -> None:
    document = opened(tmp_path, "de.yml", "a:\n- Eins\u00a0\n- Zwei\n", "a:\n- One\n- Two\n")
    assert replaced(document, {"a.0": "x: y"}).decode() == 'a:\n- "x: y"\n- Zwei\n'


def test_the_documents_of_a_yaml_file_are_a_list(tmp_path: Path) -> None:
    english = "---\na: One\n---\n- Two\n...\n"
    document = opened(tmp_path, "de.yml", "---\nb: x\n---\n- Zwei\n...\n", english)
    assert targets(document) == {"0.a": None, "1.0": "Zwei"}
    assert replaced(document, {"0.a": "Eins"}) == b"---\na: Eins\nb: x\n---\n- Zwei\n...\n"
    with pytest.raises(InputError, match=r"de\.yml:1: has 3 documents, and .*en\.yml has 2; they must be the same"):
        opened(tmp_path, "de.yml", "a: x\n---\nb: y\n---\nc: z\n", english)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "de.yml",
            "de:\n  a: old\n  menu:\n    gone: Weg\n  menu: &m\n    x: X\n  a: 'A' # last\n  c: *m\n",
            "de:\n  a: old\n  menu:\n    gone: Weg\n  menu: &m\n    open: O\n    x: X\n  a: 'new' # last\n"
            "  b: B\n  c: *m\n",
        ),
        ("de.yml", "de: {a: old}\nde: {a: A}\n", "de: {a: old}\nde: {menu: {open: O}, a: new, b: B}\n"),
        (
            "de.json",
            '{"de": {"a": {"x": "y"}, "a": "old", "menu": "M", "menu": {"x": "X"}, "a": "A", "b": ""}}',
            '{"de": {"a": {"x": "y"}, "a": "old", "menu": "M", "menu": {"open": "O", "x": "X"}, "a": "new", "b": "B"}}',
        ),
    ],
)
def test_the_last_of_repeated_keys_counts_and_the_others_stay(
    tmp_path: Path, name: str, content: str, expected: str
) -> None:
    parse = yaml.safe_load if name.endswith(".yml") else json.loads
    source = '{"en": {"a": "not read", "menu": {"open": "Open"}, "a": "An a", "b": "A b"}}'
    document = opened(tmp_path, name, content, source)
    assert by_id(document)["a"].source == "An a"
    assert by_id(document)["a"].target == parse(content)["de"]["a"] == "A"
    assert "menu.gone" not in by_id(document)
    assert replaced(document, {}) == content.encode()
    new = replaced(document, {"a": "new", "b": "B", "menu.open": "O"}).decode()
    assert new == expected
    assert parse(new)["de"]["a"] == "new"
    assert parse(new)["de"]["menu"]["open"] == "O"


def test_a_symbol_that_is_copied_into_braces_is_in_quotes(tmp_path: Path) -> None:
    source = "title: A\ndate:\n  order: :year\n  day: D\n"
    new = replaced(opened(tmp_path, "de.yml", "{title: A}\n", source), {"date.day": "T"})
    assert new.decode() == '{title: A, date: {order: ":year", day: T}}\n'
    assert yaml.safe_load(new)["date"] == {"order": ":year", "day": "T"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- a\n", ":1: has a list, but .*en.yml has keys and texts; give both the same form"),
        ("a\n", ":1: is not a file of an app's texts: expected keys and texts, or a list"),
        ("1: x\n'1': y\n", ":2: the key '1' is already used in line 1, once in quotes and once without"),
        ("- {id: a, translation: x}\n- {id: a, translation: y}\n", ":2: the key 'a' is already used in line 1"),
        ("a: [x\nb: y\n", ":2: not YAML: while parsing a flow sequence"),
        ("a: 'x\n", ":2: not YAML: while scanning a quoted scalar"),
        ("a: x\n---\nb: y\n", ":1: has a list, but .*en.yml has keys"),
        ("a: \x07\n", ":1: not YAML: "),
        ("# only\n", ":1: has no values"),
        ("[" * 200, ":1: is nested more than 100 levels deep"),
        (b"a: \xe9\n", ":1: byte 0xE9 is not UTF-8"),
    ],
)
def test_other_or_broken_yaml_is_refused_with_its_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=rf"de\.yml{message}"):
        opened(tmp_path, "de.yml", content, "a: x\n")


# -- what is refused


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["a"]', r":1: has a list, but .*en\.json has keys and texts; give both the same form"),
        ('"a"', ":1: is not a file of an app's texts: expected keys and texts, or a list"),
        ('{"a": NaN}', ":1:7: not JSON: expected a value, not 'NaN}'"),
        ('{"a": 01}', ":1:7: not JSON: expected a value, not '01}'"),
        ('{"a": "x",\n "b": "y', ":2:7: not JSON: '\"y' begins a string without an end"),
        ('{"a": "x"', ":1:10: not JSON: expected a comma or }, but the file ends; is it cut off?"),
        ('{"a": "x",}', ":1:11: not JSON: expected a key in quotes, not '}'"),
        ('{"a": "x"} {}', ":1:12: not JSON: expected the end of the file, not '{}'"),
        ('{\n/* a\n"a": "x"}', ":2:1: not JSON: the comment does not end"),
        ('{"a": "x" # b\n}', ":1:11: not JSON: expected a comma or }"),
        ('{"a": "\\ud83d"}', ":1:7: the escaped surrogate .* is alone"),
        ('{"a": ' * 200 + "1" + "}" * 200, ":1:.*: is nested more than 100 levels deep"),
        (b'{"a": "\xe9"}', ":1: byte 0xE9 is not UTF-8; convert the file"),
        (
            '{"a": "x"}'.encode("utf-16-le"),
            ":1: has a NUL, which no text has; is it compiled, or UTF-16 without a byte order mark",
        ),
        ("  \n", ": is empty"),
    ],
)
def test_a_file_of_other_data_or_a_broken_one_is_refused_with_its_line(
    shell: Shell, content: str | bytes, message: str
) -> None:
    data = content.encode() if isinstance(content, str) else content
    with pytest.raises(InputError, match=f"de\\.json{message}"):
        opened(shell.folder, "de.json", data, EN)
    shell.write("units.jsonl", '{"id": "a", "target": "x"}')
    done = shell("units de.json --source en.json --set units.jsonl -o de.json")
    assert (done.code, "Traceback" in done.err) == (1, False)
    assert (shell.folder / "de.json").read_bytes() == data


def test_a_file_of_sources_without_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"en\.json:1: has no texts"):
        opened(tmp_path, "de.json", "{}", '{"a": null}')


def test_a_target_that_has_no_place_is_refused(tmp_path: Path) -> None:
    document = opened(tmp_path, "de.json", '{"title": {"a": "x"},\n"menu": "Menü", "days": ["x"]}', EN)
    for unit_id, line in (("title", 1), ("menu.open", 2), ("days.one", 2)):
        with pytest.raises(InputError, match=rf"'{unit_id}' has no place: line {line} has another kind of value"):
            replaced(document, {unit_id: "x"})
    with pytest.raises(InputError, match=r"'end' has a lone surrogate \(U\+D800\)"):
        replaced(document, {"end": "\ud800"})


# -- the command


def test_the_file_with_the_sources_is_named_and_never_guessed(shell: Shell) -> None:
    (shell.folder / "en").mkdir()
    (shell.folder / "de").mkdir()
    (shell.folder / "en" / "app.json").write_text('{"a": "One"}')
    (shell.folder / "de" / "app.json").write_text('{"a": "Eins"}')
    done = shell("units de/app.json")
    assert done.code == 1
    assert "de/app.json: has the texts of one language; name the file with the sources: --source " in done.last
    assert done.last.endswith("en/app.json")
    for source in ("en/app.json", "en"):
        units = shell(f"units de/app.json --source {source}").objects
        assert [(unit["source"], unit["target"], unit["target_lang"]) for unit in units] == [("One", "Eins", "de")]
    assert "is the file with the sources itself" in shell("units de/app.json --source de").last
    assert "en/none.json: no such file" in shell("units de/app.json --source en/none.json").last
    (shell.folder / "a.po").write_text('msgid "a"\nmsgstr ""\n')
    assert "has its sources in itself; leave out --source en" in shell("units a.po --source en").last
    shell.write("units.jsonl", '{"id": "a", "target": "Zwei"}')
    assert shell("units de/app.json --source en --set units.jsonl -o de/app.json").code == 0
    assert (shell.folder / "de" / "app.json").read_text() == '{"a": "Zwei"}'


def test_the_language_pair_tells_the_plural_forms_of_a_file_that_names_no_language(shell: Shell) -> None:
    (shell.folder / "en.json").write_text('{"a_one": "cat", "a_other": "cats"}')
    (shell.folder / "texts.json").write_text("{}")
    units = shell("units texts.json --source en.json -l en-pl").objects
    assert [unit["id"] for unit in units] == ["a_one", "a_few", "a_many", "a_other"]


# -- any text

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\t\\\"'/:#{}😀é\u2028\x7f"), min_size=1)
anything = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@anything
@given(
    text=TEXT,
    unit=st.sampled_from(["title", "menu.open", "menu.items.2", "days.other"]),
    style=st.sampled_from(['{"title": "\\u00e9"}', '{\n "menu": {"open": "\\/"}}', "{}"]),
)
def test_any_text_comes_back_from_json(tmp_path: Path, text: str, unit: str, style: str) -> None:
    if PLACEHOLDER.search(text):
        return
    new = replaced(opened(tmp_path, "de.json", style, EN), {unit: text})
    assert targets(opened(tmp_path, "de.json", new, EN))[unit] == text
    value = json.loads(new)
    for key in unit.split("."):
        value = value[int(key) if key.isdecimal() else key]
    assert value == text


YAML = """title: plain
menu:
    quoted: "double"
    single: 'single'
    flow: [One, 'Two', {key: "Three"}]
block: |
  line
  line
kept: |+
  line

folded: >
  a text that is folded
end: x
"""


@anything
@given(text=TEXT, data=st.data())
def test_any_text_comes_back_from_yaml(tmp_path: Path, text: str, data: st.DataObject) -> None:
    content = YAML.replace('{key: "Three"}', "Three")
    document = opened(tmp_path, "de.yml", content, content)
    unit = data.draw(st.sampled_from([unit.id for unit in document.units]))
    if PLACEHOLDER.search(text):
        return
    new = replaced(document, {unit: text})
    assert targets(opened(tmp_path, "de.yml", new, content)) == targets(document) | {unit: text}
    value = yaml.safe_load(new)
    for key in unit.split("."):
        value = value[int(key) if key.isdecimal() else key]
    assert value == text


@anything
@given(text=TEXT, unit=st.sampled_from(["title", "menu.quoted", "menu.flow.1", "block", "end"]))
def test_any_text_can_be_added_to_yaml(tmp_path: Path, text: str, unit: str) -> None:
    content = YAML.replace('{key: "Three"}', "Three")
    if PLACEHOLDER.search(text):
        return
    new = replaced(opened(tmp_path, "de.yml", "kept: 'x'\n", content), {unit: text})
    assert targets(opened(tmp_path, "de.yml", new, content))[unit] == text


# -- files from public repositories

MARKER = "ZYX \"'<&> \\ é😀 #: \n\tZYX"


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("ending", "least"), [("json", 14), ("arb", 2), ("xcstrings", 4), ("yaml", 10), ("yml", 9)])
def test_real_files_are_read_or_refused_and_changed_in_one_place_only(
    data: Path, tmp_path: Path, ending: str, least: int
) -> None:
    counts: Counter[str] = Counter()
    for path in sorted((data / "formats" / ending).glob("*")):
        counts["files"] += 1
        source = tmp_path / path.name
        source.write_bytes(path.read_bytes())
        document = _opened_or_refusal(path, source)
        if isinstance(document, str):
            counts["refused"] += 1
            assert regex.match(rf"{regex.escape(str(path))}:\d|{regex.escape(str(source))}:\d+: has no texts", document)
            continue
        counts["read"] += 1
        counts["units"] += len(document.units)
        assert replaced(document, {unit.id: unit.target for unit in document.units if unit.target is not None}) == (
            document.data
        )
        step = 1 if os.environ.get("MTAGENT_TEST_ALL_UNITS") else max(1, len(document.units) // 10)
        for unit in document.units[::step]:
            if unit.locked:
                continue
            new = tmp_path / f"new.{ending}"
            new.write_bytes(replaced(document, {unit.id: MARKER}))
            changed = targets(_opened(new, source))
            assert changed == targets(document) | {unit.id: MARKER}
            assert _loaded(new).count(MARKER) == 1, path
            counts["written"] += 1
    print(f"{ending}: {dict(counts)}")  # noqa: T201 - the table in docs/reference/formats.md
    assert counts["read"] >= least


def _opened(path: Path, source: Path) -> LocalizationFile:
    if path.suffix == ".xcstrings":
        return document_format(path).open(path, target_lang="es")
    return document_format(path).open(path, source)


def _opened_or_refusal(path: Path, source: Path) -> LocalizationFile | str:
    try:
        return _opened(path, source)
    except InputError as error:
        return str(error)


def _loaded(path: Path) -> list[str]:
    """The texts that another parser reads: Python's json, or PyYAML's in Python, which isn't libyaml."""
    if path.suffix in (".yaml", ".yml"):
        events = yaml.parse(path.read_bytes(), Loader=yaml.SafeLoader)
        return [event.value for event in events if isinstance(event, yaml.ScalarEvent)]
    texts = []
    values = [json.loads(path.read_bytes())]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += value.values()
        elif isinstance(value, list):
            values += value
        else:
            texts.append(value)
    return texts
