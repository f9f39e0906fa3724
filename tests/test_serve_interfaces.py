"""What tools see: LibreTranslate's interface, DeepL's, and the service's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mtagent.records import Segment
from mtagent.serve.account import Limits
from mtagent.serve.service import Service
from mtagent.text import identification
from tests.jobs import improving
from tests.serving import asking, deepl_key, key_file, shout

EN_ES = (("en", "es"),)


async def test_libretranslate_translates_a_text_a_list_and_a_form() -> None:
    async with asking(Service(translator=shout, pairs=EN_ES)) as client:
        one = await client.post("/translate", json={"q": "one two", "source": "en", "target": "es"})
        assert (one.status_code, one.json()) == (200, {"translatedText": "ONE TWO"})
        two = await client.post("/translate", json={"q": ["one", "two"], "source": "en", "target": "es"})
        assert two.json() == {"translatedText": ["ONE", "TWO"]}
        form = await client.post("/translate", data={"q": "one", "source": "auto", "target": "es"})
        assert form.json()["detectedLanguage"]["language"] == "en"
        parts = await client.post(
            "/translate", files={"q": (None, "one"), "source": (None, "en"), "target": (None, "es")}
        )
        assert parts.json() == {"translatedText": "ONE"}


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"source": "en", "target": "es"}, 400, "Invalid request: missing q parameter"),
        (
            {"q": "a", "source": "en", "target": "fr"},
            400,
            "en to fr is not supported; this server translates en to es",
        ),
        ({"q": "a", "source": "auto", "target": "fr"}, 400, "error': 'to fr is not supported; this server translates"),
        ({"q": "a", "source": "en", "target": "klingonish"}, 400, "unknown language 'klingonish'"),
        ({"q": 7, "source": "en", "target": "es"}, 400, "q.str: Input should be a valid string"),
        ({"q": "a", "source": "en", "target": "es", "format": "pdf"}, 400, "format: Input should be 'text' or 'html'"),
        ({"q": ["a"] * 51, "source": "en", "target": "es"}, 413, "51 texts are too many; the limit is 50 per request"),
        ([1], 400, "the body is not a JSON object"),
    ],
)
async def test_libretranslate_refuses_in_its_own_form(body: Any, status: int, message: str) -> None:
    async with asking(Service(translator=shout, pairs=EN_ES)) as client:
        answer = await client.post("/translate", json=body)
        assert answer.status_code == status
        assert list(answer.json()) == ["error"]
        assert message in str(answer.json())


async def test_libretranslate_lists_languages_and_settings_without_a_key(tmp_path: Path) -> None:
    pairs = (("en", "es"), ("en", "pt-BR"), ("es", "en"))
    async with asking(Service(translator=shout, pairs=pairs, keys=key_file(tmp_path, ana=""))) as client:
        assert (await client.get("/languages")).json() == [
            {"code": "en", "name": "English", "targets": ["es", "pt-BR"]},
            {"code": "es", "name": "Spanish", "targets": ["en"]},
            {"code": "pt-BR", "name": "Brazilian Portuguese", "targets": []},
        ]
        settings = (await client.get("/frontend/settings")).json()
        assert settings["keyRequired"] is True
        assert settings["language"]["target"] == {"code": "es", "name": "Spanish"}


async def test_libretranslate_takes_fields_from_the_query_string_and_its_own_codes() -> None:
    pairs = (("en", "es"), ("en", "pt-BR"), ("en", "zh-TW"))
    async with asking(Service(translator=lambda text, target: f"{target} {text}", pairs=pairs)) as client:
        query = {"q": "one", "source": "en", "target": "es"}
        assert (await client.post("/translate", params=query)).json() == {"translatedText": "es one"}
        wins = await client.post("/translate", params=query, json={"q": "two"})
        assert wins.json() == {"translatedText": "es two"}
        form = await client.post("/translate", params={"source": "en", "target": "es"}, data={"q": "three"})
        assert form.json() == {"translatedText": "es three"}
        for code, meaning in (("pb", "pt-BR"), ("zt", "zh-TW")):
            answer = await client.post("/translate", params=query | {"target": code})
            assert answer.json() == {"translatedText": f"{meaning} one"}
        nothing = await client.post("/translate")
        assert (nothing.status_code, nothing.json()) == (400, {"error": "Invalid request: missing q parameter"})
    async with asking(Service(translator=lambda text, target: f"{target} {text}")) as client:
        answer = await client.post("/translate", json=query | {"target": "zt"})
        assert answer.json() == {"translatedText": "zh-Hant one"}


async def test_libretranslate_gives_earlier_texts_of_the_chain_as_alternatives() -> None:
    def draft(text: str) -> str:
        return text.replace("phrase", "frase errado")

    async with asking(Service(translator=draft, llm=improving(), pairs=EN_ES)) as client:
        body = {"q": ["phrase 1 end.", "no errors."], "source": "en", "target": "es", "alternatives": 3}
        answer = (await client.post("/translate", json=body)).json()
        assert answer["translatedText"] == ["frase correcto 1 end.", "no errors."]
        first, second = answer["alternatives"]
        assert (first[-1], second) == ("frase errado 1 end.", [])
        assert (await client.post("/translate", json=body | {"q": body["q"][0], "alternatives": 1})).json()[
            "alternatives"
        ] == first[:1]
        wrong = await client.post("/translate", json=body | {"alternatives": -1})
        assert (wrong.status_code, "alternatives" in wrong.json()["error"]) == (400, True)


async def test_a_suggestion_is_kept_where_texts_are_and_refused_elsewhere(tmp_path: Path) -> None:
    body = {"q": "one", "s": "uno", "source": "en", "target": "es"}
    async with asking(Service(translator=shout, pairs=EN_ES, keep="texts")) as client:
        assert (await client.post("/suggest", data=body)).json() == {"success": True}
        (kept,) = (await client.get("/v1/segments", params={"source": "one"})).json()["segments"]
        assert (kept["text"], kept["state"]) == ("uno", "suggested")
        missing = await client.post("/suggest", data={**body, "s": ""})
        assert (missing.status_code, missing.json()) == (400, {"error": "Invalid request: missing s parameter"})
        assert (await client.get("/frontend/settings")).json()["suggestions"] is True
    keys = key_file(tmp_path, ana="")
    async with asking(Service(translator=shout, pairs=EN_ES, keep="hashes", keys=keys)) as client:
        refused = await client.post("/suggest", data=body | {"api_key": "secret-ana"})
        assert (refused.status_code, "disabled" in refused.json()["error"]) == (403, True)
        assert (await client.post("/suggest", data=body)).status_code == 400


async def test_old_clients_of_deepl_send_the_key_and_the_fields_in_any_place(tmp_path: Path) -> None:
    fields = {"text": "one", "source_lang": "EN", "target_lang": "ES"}
    with_key = fields | {"auth_key": "secret-ana:fx"}
    async with asking(Service(translator=shout, pairs=EN_ES, keys=key_file(tmp_path, ana=""))) as client:
        for answer in (
            await client.get("/v1/translate", params=with_key),
            await client.get("/v2/translate", params=with_key),
            await client.post("/v2/translate", data=with_key),
            await client.post("/v2/translate", json=with_key),
            await client.post("/v2/translate", data=fields, headers=deepl_key("ana:fx")),
        ):
            assert answer.json()["translations"][0]["text"] == "ONE"
        usage = await client.post("/v2/usage", data={"auth_key": "secret-ana"})
        assert usage.json()["character_count"] == 15
        for path in ("/v1/translate", "/v2/translate"):
            refused = await client.post(path, data=fields | {"auth_key": "wrong:fx"})
            assert (refused.status_code, refused.json()) == (403, {"message": "Invalid API key"})
            assert (await client.post(path, data=fields)).status_code == 403


async def test_a_header_counts_the_terms_that_are_missing() -> None:
    terms = {"name": "g", "source_lang": "en", "target_lang": "es", "entries": "cat\tgato\ndog\tDOG"}
    async with asking(Service(translator=shout, pairs=EN_ES)) as client:
        number = (await client.post("/v2/glossaries", json=terms)).json()["glossary_id"]
        body = {"target_lang": "ES", "source_lang": "EN", "glossary_id": number}
        missing = await client.post("/v2/translate", json=body | {"text": ["a cat", "a dog", "a cow", "my cat"]})
        assert missing.headers["X-Mtagent-Missing-Terms"] == "2"
        complete = await client.post("/v2/translate", json=body | {"text": ["a dog"]})
        assert "X-Mtagent-Missing-Terms" not in complete.headers


async def test_health_and_the_description_are_where_clients_of_libretranslate_look_for_them(tmp_path: Path) -> None:
    async with asking(Service(translator=shout, keys=key_file(tmp_path, ana=""))) as client:
        assert (await client.get("/health")).json() == {"status": "ok"}
        paths = (await client.get("/spec")).json()["paths"]
        assert {"/translate", "/detect", "/languages", "/suggest", "/health", "/frontend/settings"} <= set(paths)


ENGLISH, SPANISH = (
    "The weather is fine today, and we go to the beach.",
    "El perro duerme en la casa de mi abuela, que está muy lejos de aquí.",
)


async def test_languages_are_found_out_among_those_that_are_offered() -> None:
    pytest.importorskip("py3langid")
    pairs = (("en", "fr"), ("es", "fr"), ("en", "de"))
    async with asking(Service(translator=shout, pairs=pairs)) as client:
        detected = (await client.post("/detect", data={"q": SPANISH})).json()
        assert (detected[0]["language"], detected[0]["confidence"] > 50) == ("es", True)
        both = {"q": [SPANISH, ENGLISH], "source": "auto", "target": "fr"}
        found = (await client.post("/translate", json=both)).json()["detectedLanguage"]
        assert [entry["language"] for entry in found] == ["es", "en"]
        deepl = await client.post("/v2/translate", json={"text": [ENGLISH, SPANISH], "target_lang": "FR"})
        assert [entry["detected_source_language"] for entry in deepl.json()["translations"]] == ["EN", "ES"]


async def test_without_the_identifier_detection_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    identification.forget()
    async with asking(Service(translator=shout)) as client:
        answer = await client.post("/detect", json={"q": SPANISH})
        assert answer.status_code == 501
        assert answer.json() == {"error": "this server can't detect the language of the text"}
    identification.forget()


async def test_tags_stay_where_they_are_and_only_what_is_between_them_is_translated() -> None:
    text = '<p title="no">one &amp; <b>two</b> <code>three</code> <i translate="no">four</i><br>five.</p><!-- six -->'
    async with asking(Service(translator=shout, pairs=EN_ES)) as client:
        answer = await client.post("/translate", json={"q": text, "source": "en", "target": "es", "format": "html"})
        assert answer.json()["translatedText"] == (
            '<p title="no">ONE &amp; <b>TWO</b> <code>three</code> <i translate="no">four</i><br>FIVE.</p><!-- six -->'
        )
        body = {"source": "en", "target": "es", "format": "html"}
        nested = await client.post("/translate", json=body | {"q": "<code>one <b>two</b> three</b></code> four"})
        assert nested.json()["translatedText"] == "<code>one <b>two</b> three</b></code> FOUR"
        plain = await client.post("/translate", json={"q": "a <b c", "source": "en", "target": "es"})
        assert plain.json()["translatedText"] == "A <B C"
        xml = {"text": ["one <x id='1'>two <y>three</y></x> four"], "target_lang": "ES", "source_lang": "EN"}
        ignoring = await client.post("/v2/translate", json=xml | {"tag_handling": "xml", "ignore_tags": "x"})
        assert ignoring.json()["translations"][0]["text"] == "ONE <x id='1'>two <y>three</y></x> FOUR"


async def test_a_large_text_with_tags_is_put_together_and_a_part_that_occurs_again_is_translated_once() -> None:
    asked: list[str] = []

    def heard(text: str) -> str:
        asked.append(text)
        return text.upper()

    text = "".join(f"<b>part {number % 50}</b><code>" for number in range(500)) + "kept</p></code>" + "</code>" * 499
    async with asking(Service(translator=heard, pairs=EN_ES)) as client:
        body = {"q": f"{text}<i>end</i>", "source": "en", "target": "es", "format": "html"}
        answer = (await client.post("/translate", json=body)).json()["translatedText"]
    assert answer == f"{text.replace('<b>part 0<', '<b>PART 0<', 1)}<i>END</i>"
    assert sorted(asked) == ["end", "part 0"]
    asked.clear()
    text = "".join(f"<b>part {number % 50}</b>" for number in range(500))
    async with asking(Service(translator=heard, pairs=EN_ES)) as client:
        answer = (await client.post("/translate", json=body | {"q": text})).json()["translatedText"]
    assert answer == text.replace("part", "PART")
    assert len(asked) == 50


async def test_deepl_translates_json_and_forms_with_context_glossary_and_instructions() -> None:
    seen: list[Segment] = []

    class Engine:
        name = "engine"

        async def draft(self, segment: Segment) -> Any:
            from mtagent.records import Draft

            seen.append(segment)
            return Draft(text=segment.source.upper())

    async with asking(Service(translator=Engine(), pairs=EN_ES)) as client:
        made = await client.post(
            "/v2/glossaries",
            json={
                "name": "g",
                "source_lang": "en",
                "target_lang": "es",
                "entries": "cat\tgato",
                "entries_format": "tsv",
            },
        )
        assert made.status_code == 201
        answer = await client.post(
            "/v2/translate",
            json={
                "text": ["a cat", "a dog"], "source_lang": "EN", "target_lang": "ES", "context": "Animals.",
                "formality": "prefer_more", "custom_instructions": ["Be brief."], "show_billed_characters": True,
                "glossary_id": made.json()["glossary_id"],
            },
        )  # fmt: skip
        assert answer.json() == {
            "translations": [
                {"detected_source_language": "EN", "text": "A CAT", "billed_characters": 5},
                {"detected_source_language": "EN", "text": "A DOG", "billed_characters": 5},
            ]
        }
        assert [[term.target for term in segment.terms] for segment in seen] == [["gato"], []]
        assert (seen[0].context, seen[0].notes) == ("Animals.", "Address the reader formally.\nBe brief.")
        form = await client.post("/v2/translate", data={"text": ["one", "two"], "target_lang": "ES"})
        assert [entry["text"] for entry in form.json()["translations"]] == ["ONE", "TWO"]
        usage = (await client.get("/v2/usage")).json()
        assert usage == {"character_count": 16, "character_limit": 1_000_000_000_000}


async def test_deepl_languages_by_kind() -> None:
    async with asking(Service(translator=shout, pairs=(("en", "pt-BR"), ("pt", "en")))) as client:
        assert (await client.get("/v2/languages")).json() == [
            {"language": "EN", "name": "English"},
            {"language": "PT", "name": "Portuguese"},
        ]
        targets = (await client.get("/v2/languages?type=target")).json()
        assert [entry["language"] for entry in targets] == ["EN", "PT-BR"]
        assert (await client.get("/v2/languages?type=other")).json() == {"message": "type must be source or target"}


async def test_glossaries_are_made_listed_changed_and_deleted() -> None:
    async with asking(Service(translator=shout)) as client:
        one = {"source_lang": "en", "target_lang": "es", "entries": "cat\tgato\ndog\tperro", "entries_format": "tsv"}
        two = {"source_lang": "EN", "target_lang": "DE", "entries": 'cat,"Katze, die"', "entries_format": "csv"}
        made = (await client.post("/v3/glossaries", json={"name": "g", "dictionaries": [one, two]})).json()
        number = made["glossary_id"]
        assert [entry["entry_count"] for entry in made["dictionaries"]] == [2, 1]
        at = f"/v3/glossaries/{number}"
        entries = (await client.get(f"{at}/entries?source_lang=EN&target_lang=DE")).json()["dictionaries"]
        assert [entry["entries"] for entry in entries] == ["cat\tKatze, die"]
        changed = await client.patch(at, json={"name": "h", "dictionaries": [one | {"entries": "cow\tvaca"}]})
        assert (changed.json()["name"], changed.json()["dictionaries"][0]["entry_count"]) == ("h", 3)
        replaced = await client.put(f"{at}/dictionaries", json=one | {"entries": "cow\tvaca"})
        assert replaced.json() == {"source_lang": "en", "target_lang": "es", "entry_count": 1}
        assert (await client.delete(f"{at}/dictionaries?source_lang=en&target_lang=de")).status_code == 204
        assert (await client.get(f"/v2/glossaries/{number}/entries")).text == "cow\tvaca"
        assert [entry["glossary_id"] for entry in (await client.get("/v2/glossaries")).json()["glossaries"]] == [number]
        assert (await client.delete(f"/v2/glossaries/{number}")).status_code == 204
        assert (await client.get(at)).json() == {"message": "Glossary not found"}
        broken = await client.post("/v2/glossaries", json={"name": "g", **one, "entries": "cat\tgato\ndog"})
        assert broken.status_code == 400
        assert "line 2" in broken.json()["message"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"target_lang": "QQ"}, "unknown language 'QQ'"),
        ({"entries": "dog\tperro\ncat\tgato\ncat\tgata"}, "entries, line 3: 'cat' has two target terms"),
    ],
)
async def test_a_glossary_of_no_language_or_with_two_targets_for_a_term_is_refused(
    change: dict[str, str], problem: str
) -> None:
    one = {"source_lang": "en", "target_lang": "es", "entries": "cat\tgato", "entries_format": "tsv"} | change
    async with asking(Service(translator=shout)) as client:
        for path, body in (("v2", one), ("v3", {"dictionaries": [one]})):
            answer = await client.post(f"/{path}/glossaries", json={"name": "g", **body})
            assert (answer.status_code, problem in answer.json()["message"]) == (400, True)
            assert (await client.get(f"/{path}/glossaries")).json() == {"glossaries": []}


async def test_improve_gives_chains_at_once_or_as_a_stream() -> None:
    body = {
        "segments": [
            {"source": "phrase 1 end.", "translation": "frase 1 errado fin."},
            {"id": "x", "source": "phrase 2 end."},
        ],
        "source_lang": "en",
        "target_lang": "es",
        "terms": {"phrase": "frase"},
    }
    async with asking(Service(translator=shout, llm=improving())) as client:
        answer = await client.post("/v1/improve", json=body)
        first, second = answer.json()["chains"]
        assert (first["text"], first["changed"], first["late"]) == ("frase 1 correcto fin.", True, False)
        assert (second["segment"]["id"], second["given"]) == ("x", "PHRASE 2 END.")
        assert first["segment"]["terms"][0]["target"] == "frase"
        assert answer.headers["X-Mtagent-Changed"] == "1"
        stream = await client.post("/v1/improve", json=body, headers={"Accept": "application/x-ndjson"})
        assert stream.headers["content-type"] == "application/x-ndjson"
        assert [json.loads(line)["text"] for line in stream.text.splitlines()] == [first["text"], second["text"]]
        wrong = await client.post("/v1/improve", json=body | {"stages": "tpp"})
        assert (wrong.status_code, wrong.json()) == (400, {"error": "stages: Extra inputs are not permitted"})


async def test_the_interface_is_described_without_a_page_that_loads_from_elsewhere() -> None:
    async with asking(Service(translator=shout, limits=Limits())) as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
        assert {"/translate", "/v2/translate", "/v1/improve"} <= set(paths)
        assert (await client.get("/docs")).status_code == 404


async def test_deepl_says_errors_as_messages(tmp_path: Path) -> None:
    async with asking(Service(translator=shout, pairs=EN_ES, keys=key_file(tmp_path, ana=""))) as client:
        missing = await client.post("/v2/translate", json={"target_lang": "ES"}, headers=deepl_key("ana"))
        assert (missing.status_code, missing.json()) == (400, {"message": "text: Field required"})
        no_path = await client.get("/v2/nothing", headers=deepl_key("ana"))
        assert (no_path.status_code, no_path.json()) == (404, {"message": "Not Found"})
