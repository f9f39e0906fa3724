"""Every call of real clients that ``mtagent serve`` gets, with its result: the rows of docs/reference/clients.md."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.simulator.chain import translated

WORKS = "works"
NOT_SENT = {"close", "set_app_info", "upload_translation_memory_file", "download_translation_memory_export"}
"""Methods of ``deepl`` that send nothing to this server: two change the client, two use the address of a storage."""
TEXT, OTHER = "phrase 1 end.", "phrase 2 end."
IMPROVED, OTHER_IMPROVED = (translated(text).replace("errado", "correcto") for text in (TEXT, OTHER))


class Call(NamedTuple):
    """A call: its client, how the table names it, its result (``works`` or a status), and what ``make`` returns."""

    client: str
    name: str
    result: str
    make: Callable[[], object]
    expected: object = ...  # ...: any value

    @property
    def row(self) -> str:
        """Its row of the table."""
        result = self.result if self.result == WORKS else f"refused: {self.result}"
        return f"| {self.client} | `{self.name}` | {result} |"

    def run(self) -> str:
        """Make the call, and return its result. A wrong value is returned as it is."""
        try:
            value = self.make()
        except Exception as error:  # noqa: BLE001 - each client has its own errors
            return _status(error)
        return WORKS if self.expected in (..., value) else repr(value)


def _status(error: BaseException) -> str:
    """The HTTP status in an error of any client, or the error."""
    for name in ("http_status_code", "status_code", "code"):
        status = getattr(error, name, None)
        if isinstance(status, int):
            return str(status)
    response = getattr(error, "response", None)
    if response is not None:
        return str(response.status_code)
    if error.__cause__ is not None:
        return _status(error.__cause__)
    return repr(error)


def deepl_calls(client: Any, folder: Path) -> list[Call]:
    """The calls of the package ``deepl`` with its ``client``."""
    import deepl

    to_spanish: dict[str, Any] = {"source_lang": "EN", "target_lang": "ES"}
    entries = deepl.api_data.MultilingualGlossaryDictionaryEntries("EN", "ES", {"phrase": "frase"})
    old = client.create_glossary("old", "EN", "ES", {"phrase": "frase"})
    new = client.create_multilingual_glossary("new", [entries])
    spare, spare_new = (
        client.create_glossary("spare", "EN", "ES", {"a": "b"}),
        client.create_multilingual_glossary("spare", [entries]),
    )
    handle = deepl.DocumentHandle("id", "key")
    file = folder / "file.txt"
    file.write_text("one", encoding="utf-8")
    memory = folder / "file.tmx"
    memory.write_text("<tmx/>", encoding="utf-8")

    def call(name: str, make: Callable[[], object], expected: object = ..., result: str = WORKS) -> Call:
        return Call("`deepl`", name, result, make, expected)

    def refused(name: str, make: Callable[[], object]) -> Call:
        return call(name, make, result="404")

    return [
        call("translate_text", lambda: client.translate_text(TEXT, **to_spanish).text, IMPROVED),
        call(
            "translate_text(list)",
            lambda: [result.text for result in client.translate_text([TEXT, OTHER], **to_spanish)],
            [IMPROVED, OTHER_IMPROVED],
        ),
        call(
            "translate_text(tag_handling, ignore_tags)",
            lambda: client.translate_text("<x>one</x>", tag_handling="xml", ignore_tags=["x"], **to_spanish),
        ),
        call(
            "translate_text(context, formality, custom_instructions)",
            lambda: (
                client.translate_text(
                    TEXT, context="A letter.", formality="more", custom_instructions=["Be brief."], **to_spanish
                ).text
            ),
            IMPROVED,
        ),
        call("translate_text(glossary)", lambda: client.translate_text(TEXT, glossary=new, **to_spanish)),
        call(
            "translate_text(split_sentences, preserve_formatting, model_type, outline_detection)",
            lambda: (
                client.translate_text(
                    TEXT,
                    split_sentences="nonewlines",
                    preserve_formatting=True,
                    model_type="quality_optimized",
                    outline_detection=False,
                    **to_spanish,
                ).text
            ),
            IMPROVED,
        ),
        call("translate_text_with_glossary", lambda: client.translate_text_with_glossary(TEXT, old)),
        call("get_source_languages", lambda: [entry.code for entry in client.get_source_languages()], ["EN"]),
        call(
            "get_target_languages",
            lambda: [entry.code for entry in client.get_target_languages()],
            ["ES", "PT-BR", "ZH-HANT"],
        ),
        call("get_glossary_languages", lambda: len(client.get_glossary_languages()), 3),
        call("get_usage", lambda: client.get_usage().character.limit, 1_000_000_000_000),
        call("create_glossary", lambda: client.create_glossary("g", "EN", "ES", {"a": "b"}).entry_count, 1),
        call(
            "create_glossary_from_csv", lambda: client.create_glossary_from_csv("g", "EN", "ES", "a,b").entry_count, 1
        ),
        call("get_glossary", lambda: client.get_glossary(old.glossary_id).name, "old"),
        call("list_glossaries", lambda: client.list_glossaries()[0].name, "old"),
        call("get_glossary_entries", lambda: client.get_glossary_entries(old), {"phrase": "frase"}),
        call("delete_glossary", lambda: client.delete_glossary(spare)),
        call("create_multilingual_glossary", lambda: client.create_multilingual_glossary("m", [entries]).name, "m"),
        call(
            "create_multilingual_glossary_from_csv",
            lambda: client.create_multilingual_glossary_from_csv("m", "EN", "ES", "a,b").name,
            "m",
        ),
        call("get_multilingual_glossary", lambda: client.get_multilingual_glossary(new.glossary_id).name, "new"),
        call("list_multilingual_glossaries", lambda: len(client.list_multilingual_glossaries()) > 2, True),
        call(
            "get_multilingual_glossary_entries",
            lambda: client.get_multilingual_glossary_entries(new, "EN", "ES").dictionaries[0].entries,
            "phrase\tfrase",
        ),
        call("update_multilingual_glossary_name", lambda: client.update_multilingual_glossary_name(new, "n").name, "n"),
        call(
            "update_multilingual_glossary_dictionary",
            lambda: client.update_multilingual_glossary_dictionary(new, entries),
        ),
        call(
            "update_multilingual_glossary_dictionary_from_csv",
            lambda: client.update_multilingual_glossary_dictionary_from_csv(new, "EN", "ES", "c,d"),
        ),
        call(
            "replace_multilingual_glossary_dictionary",
            lambda: client.replace_multilingual_glossary_dictionary(new, entries).entry_count,
            1,
        ),
        call(
            "replace_multilingual_glossary_dictionary_from_csv",
            lambda: client.replace_multilingual_glossary_dictionary_from_csv(new, "EN", "ES", "c,d").entry_count,
            1,
        ),
        call(
            "delete_multilingual_glossary_dictionary",
            lambda: client.delete_multilingual_glossary_dictionary(spare_new, source_lang="EN", target_lang="ES"),
        ),
        call("delete_multilingual_glossary", lambda: client.delete_multilingual_glossary(spare_new)),
        refused(
            "translate_document",
            lambda: client.translate_document(b"one", io.BytesIO(), filename="a.txt", **to_spanish),
        ),
        refused(
            "translate_document_from_filepath",
            lambda: client.translate_document_from_filepath(file, folder / "out.txt", **to_spanish),
        ),
        refused(
            "translate_document_upload",
            lambda: client.translate_document_upload(b"one", filename="a.txt", **to_spanish),
        ),
        refused("translate_document_get_status", lambda: client.translate_document_get_status(handle)),
        refused("translate_document_wait_until_done", lambda: client.translate_document_wait_until_done(handle)),
        refused("translate_document_download", lambda: client.translate_document_download(handle)),
        refused("rephrase_text", lambda: client.rephrase_text("one")),
        refused("correct_text", lambda: client.correct_text("one")),
        refused("get_all_style_rules", client.get_all_style_rules),
        refused("create_style_rule", lambda: client.create_style_rule("s", "en")),
        refused("get_style_rule", lambda: client.get_style_rule("s")),
        refused("update_style_rule_name", lambda: client.update_style_rule_name("s", "t")),
        refused("update_style_rule_configured_rules", lambda: client.update_style_rule_configured_rules("s", {})),
        refused("delete_style_rule", lambda: client.delete_style_rule("s")),
        refused(
            "create_style_rule_custom_instruction",
            lambda: client.create_style_rule_custom_instruction("s", "label", "Be brief."),
        ),
        refused("get_style_rule_custom_instruction", lambda: client.get_style_rule_custom_instruction("s", "i")),
        refused(
            "update_style_rule_custom_instruction",
            lambda: client.update_style_rule_custom_instruction("s", "i", "label", "Be brief."),
        ),
        refused("delete_style_rule_custom_instruction", lambda: client.delete_style_rule_custom_instruction("s", "i")),
        refused("list_translation_memories", client.list_translation_memories),
        refused("get_translation_memory", lambda: client.get_translation_memory("m")),
        refused("list_translation_memory_segments", lambda: client.list_translation_memory_segments("m")),
        refused("delete_translation_memory", lambda: client.delete_translation_memory("m")),
        refused("create_translation_memory_import", lambda: client.create_translation_memory_import("a.tmx", 3)),
        refused(
            "import_translation_memory_from_filepath", lambda: client.import_translation_memory_from_filepath(memory)
        ),
        refused("create_translation_memory_export", lambda: client.create_translation_memory_export("m")),
        refused(
            "export_translation_memory_to_filepath",
            lambda: client.export_translation_memory_to_filepath("m", folder / "out.tmx"),
        ),
        refused("get_translation_memory_job", lambda: client.get_translation_memory_job("j")),
        refused("wait_until_translation_memory_job_done", lambda: client.wait_until_translation_memory_job_done("j")),
    ]


def other_package_calls(url: str, key: str, folder: Path) -> list[Call]:
    """The calls of ``libretranslatepy``, and of the two classes of ``deep-translator`` with these interfaces."""
    import libretranslatepy
    from deep_translator import DeeplTranslator, LibreTranslator

    libre = libretranslatepy.LibreTranslateAPI(url, key)
    deep = LibreTranslator(source="en", target="es", api_key=key, custom_url=f"{url}/")
    deep_deepl = DeeplTranslator(source="en", target="es", api_key=key)
    deep_deepl._base_url = f"{url}/v2/"  # it has no option for the address
    file = folder / "text.txt"
    file.write_text(TEXT, encoding="utf-8")
    spanish = "El perro duerme en la casa de mi abuela."
    calls = [
        Call("`libretranslatepy`", "translate", WORKS, lambda: libre.translate(TEXT, "en", "es"), IMPROVED),
        Call("`libretranslatepy`", "detect", WORKS, lambda: libre.detect(spanish)[0]["language"], "es"),
        Call("`libretranslatepy`", "languages", WORKS, lambda: libre.languages()[0]["code"], "en"),
    ]
    for name, client in (("LibreTranslator", deep), ("DeeplTranslator", deep_deepl)):
        calls += _deep_translator_calls(name, client, file)
    return calls


def _deep_translator_calls(name: str, client: Any, file: Path) -> list[Call]:
    package = "`deep-translator`"
    both = [IMPROVED, OTHER_IMPROVED]
    return [
        Call(package, f"{name}.translate", WORKS, lambda: client.translate(TEXT), IMPROVED),
        Call(package, f"{name}.translate_batch", WORKS, lambda: client.translate_batch([TEXT, OTHER]), both),
        Call(package, f"{name}.translate_file", WORKS, lambda: client.translate_file(str(file)), IMPROVED),
    ]


def replayed_calls(http: httpx.Client, key: str) -> list[Call]:
    """The requests that Weblate's two back ends and OmegaT make, and LibreTranslate's others."""
    weblate, omegat, libre = "Weblate", "OmegaT", "LibreTranslate"
    header = {"Authorization": f"DeepL-Auth-Key {key}"}
    batch = {"api_key": key, "q": [TEXT, OTHER], "source": "en", "target": "es"}
    xml: dict[str, Any] = {
        "text": [TEXT], "source_lang": "EN", "target_lang": "ES", "formality": "default", "tag_handling": "xml",
        "ignore_tags": ["x"], "model_type": "prefer_quality_optimized",
    }  # fmt: skip
    terms = {"name": "w", "source_lang": "EN", "target_lang": "ES", "entries": "a\tb", "entries_format": "tsv"}
    cat = {
        "auth_key": key, "preserve_formatting": "1", "source_lang": "EN", "split_sentences": "1", "tag_handling": "xml",
        "target_lang": "ES", "text": TEXT,
    }  # fmt: skip
    one = {"api_key": key, "q": TEXT, "source": "en", "target": "es"}

    def answer(method: str, path: str, **request: Any) -> Any:
        response = http.request(method, path, **request)
        response.raise_for_status()
        return response.json() if response.content else None

    def delete() -> None:
        number = answer("GET", "/v2/glossaries", headers=header)["glossaries"][0]["glossary_id"]
        answer("DELETE", f"/v2/glossaries/{number}", headers=header)

    def text_of(method: str, path: str, **request: Any) -> str:
        text: str = answer(method, path, **request)["translations"][0]["text"]
        return text

    return [
        Call(weblate, "GET /languages", WORKS, lambda: answer("GET", "/languages")[0]["code"], "en"),
        Call(
            weblate, "POST /translate (JSON, list)", WORKS,
            lambda: answer("POST", "/translate", json=batch)["translatedText"], [IMPROVED, OTHER_IMPROVED],
        ),
        Call(
            weblate, "GET /v2/languages?type=source", WORKS,
            lambda: answer("GET", "/v2/languages?type=source", headers=header)[0]["language"], "EN",
        ),
        Call(
            weblate, "GET /v2/languages?type=target", WORKS,
            lambda: len(answer("GET", "/v2/languages?type=target", headers=header)), 3,
        ),
        Call(
            weblate, "POST /v2/translate (JSON, XML)", WORKS,
            lambda: text_of("POST", "/v2/translate", json=xml, headers=header), IMPROVED,
        ),
        Call(
            weblate, "GET /v2/glossary-language-pairs", WORKS,
            lambda: len(answer("GET", "/v2/glossary-language-pairs", headers=header)["supported_languages"]), 3,
        ),
        Call(
            weblate, "POST /v2/glossaries", WORKS,
            lambda: answer("POST", "/v2/glossaries", json=terms, headers=header)["entry_count"], 1,
        ),
        Call(weblate, "GET, DELETE /v2/glossaries", WORKS, delete),
        Call(omegat, "GET /v1/translate", WORKS, lambda: text_of("GET", "/v1/translate", params=cat), IMPROVED),
        Call(
            libre, "POST /translate (alternatives)", WORKS,
            lambda: answer("POST", "/translate", data=one | {"alternatives": "2"})["alternatives"][-1],
            translated(TEXT),
        ),
        Call(
            libre, "POST /translate (target pb)", WORKS,
            lambda: answer("POST", "/translate", data=one | {"target": "pb"})["translatedText"], IMPROVED,
        ),
        Call(
            libre, "POST /translate (target zt)", WORKS,
            lambda: set(answer("POST", "/translate", data=one | {"target": "zt"})), {"translatedText"},
        ),
        Call(
            libre, "POST /suggest (with --keep texts)", WORKS,
            lambda: answer("POST", "/suggest", data=one | {"s": "frase"}), {"success": True},
        ),
        Call(libre, "GET /spec", WORKS, lambda: "/translate" in answer("GET", "/spec")["paths"], True),
        Call(libre, "GET /health", WORKS, lambda: answer("GET", "/health"), {"status": "ok"}),
        Call(libre, "GET /frontend/settings", WORKS, lambda: answer("GET", "/frontend/settings")["suggestions"], True),
        Call(libre, "POST /translate_file", "404", lambda: answer("POST", "/translate_file", data=one)),
    ]  # fmt: skip
