"""Commands as translators, tried on small scripts and on the real Apertium."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtagent.errors import TranslatorError
from mtagent.records import Segment
from mtagent.serve.app import event_loop
from mtagent.translators import CommandTranslator, aclose, wrap

ECHO = "for line in sys.stdin: print(line.strip().upper(), flush=True)"
Command = Callable[..., CommandTranslator]


def segment(source: str) -> Segment:
    return Segment(id="1", source=source, source_lang="en", target_lang="es")


@pytest.fixture
async def command(tmp_path: Path) -> AsyncIterator[Command]:
    """Makes a translator of a Python script; all of them are closed at the end."""
    made: list[CommandTranslator] = []

    def make(script: str, **options: Any) -> CommandTranslator:
        path = tmp_path / f"mt{len(made)}.py"
        path.write_text("import os, sys, time\n" + textwrap.dedent(script))
        made.append(CommandTranslator([sys.executable, str(path)], name="mt", **options))
        return made[-1]

    yield make
    for translator in made:
        await translator.aclose()


@pytest.fixture
def echo(command: Command) -> CommandTranslator:
    return command(ECHO)


async def text_of(translator: CommandTranslator, source: str) -> str:
    return (await translator.draft(segment(source))).text


def starts(folder: Path) -> int:
    """How often a script that appends to ``starts`` was started."""
    return len((folder / "starts").read_text())


COUNTED = "open(os.path.join(os.path.dirname(__file__), 'starts'), 'a').write('x')\n"


async def test_the_process_is_started_once_and_kept_open(command: Command, tmp_path: Path) -> None:
    translator = command(COUNTED + ECHO)
    assert await text_of(translator, " \n\n") == " \n\n"
    assert not (tmp_path / "starts").exists(), "a blank source starts nothing"
    began = time.monotonic()
    assert [await text_of(translator, text) for text in ["one", "two", *["three"] * 18]][:3] == ["ONE", "TWO", "THREE"]
    assert time.monotonic() - began < 20 * 0.2, "a quiet command is waited for only once"
    assert starts(tmp_path) == 1


async def test_concurrent_segments_each_get_their_own_answer(command: Command) -> None:
    translator = command(ECHO)
    drafts = await asyncio.gather(*(translator.draft(segment(f"line {n}\nnext {n}")) for n in range(40)))
    assert [draft.text for draft in drafts] == [f"LINE {n}\nNEXT {n}" for n in range(40)]


async def test_paragraph_separators_come_back_exactly_and_blank_lines_are_not_sent(command: Command) -> None:
    translator = command("for n, line in enumerate(sys.stdin): print(n, line.strip(), flush=True)")
    assert await text_of(translator, "a\n\n  b \r\n\r\n\t\nc\n") == "0 a\n\n  1 b \r\n\r\n\t\n2 c\n"


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(alphabet="ab \n\r\té漢", max_size=30), min_size=1, max_size=4))
async def test_any_text_keeps_its_shape(echo: CommandTranslator, texts: list[str]) -> None:
    assert [await text_of(echo, text) for text in texts] == [text.upper() for text in texts]


async def test_large_lines_do_not_deadlock(command: Command) -> None:
    # Answers while it still reads, and floods stderr: a naive writer would wait for ever.
    translator = command(
        """
        while True:
            chunk = os.read(0, 4096)
            if not chunk:
                break
            os.write(2, b"x" * 4096)
            os.write(1, chunk.upper())
        """
    )
    large = "word " * 200_000 + "end"
    assert await text_of(translator, large) == large.upper()


def test_a_shell_string_may_hold_a_pipe_and_serves_one_event_loop_after_another() -> None:
    translator = CommandTranslator("sed -u 's/cat/gato/' | sed -u 's/^/un /'")

    async def once(text: str) -> str:
        try:
            return await text_of(translator, text)
        finally:
            await translator.aclose()

    assert [asyncio.run(once("cat")), asyncio.run(once("two"))] == ["un gato", "un two"]


# --- crashes and time


async def test_a_crash_restarts_once(command: Command, tmp_path: Path) -> None:
    translator = command(COUNTED + "print(sys.stdin.readline().strip().upper(), flush=True)")
    assert [await text_of(translator, text) for text in ("one", "two")] == ["ONE", "TWO"]
    assert starts(tmp_path) == 2


async def test_a_second_crash_is_an_error_with_exit_code_and_stderr(command: Command, tmp_path: Path) -> None:
    translator = command(COUNTED + "sys.stdin.readline(); sys.stderr.write('x' * 9999 + ' no model'); sys.exit(3)")
    with pytest.raises(TranslatorError, match=r"mt: .*: exit code 3, stderr: x+ no model$") as caught:
        await text_of(translator, "one")
    assert len(str(caught.value)) < 600
    assert starts(tmp_path) == 2


@pytest.mark.parametrize("keep_open", [None, True, False])
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, event_loop])
def test_a_command_that_is_missing_is_an_error_in_each_event_loop(
    new_loop: Callable[[], asyncio.AbstractEventLoop], keep_open: bool | None
) -> None:
    translator = CommandTranslator("nosuchcmd -x", keep_open=keep_open)

    async def fail() -> None:
        for _ in range(2):
            with pytest.raises(TranslatorError, match=r"exit code 127, stderr: .*nosuchcmd.*not found$") as caught:
                await text_of(translator, "one")
            assert caught.value.cause == "exit code 127"

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(fail())


DISTURBED = """
for line in sys.stdin:
    if "bomb" in line:
        sys.exit(1)
    time.sleep(60 if "hang" in line else 0)
    print(line.strip().upper(), flush=True)
"""


async def test_no_answer_is_ever_taken_for_that_to_the_next_line(command: Command) -> None:
    translator = command(DISTURBED, keep_open=True, timeout=1.5)
    assert await text_of(translator, "one") == "ONE"
    with pytest.raises(TranslatorError, match="exit code 1, nothing on stderr"):
        await text_of(translator, "bomb")
    assert await text_of(translator, "two") == "TWO"
    with pytest.raises(TranslatorError, match=r"no answer within 1\.5 s"):
        await text_of(translator, "hang")
    assert await text_of(translator, "three") == "THREE"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(text_of(translator, "hang"), 0.1)
    assert await text_of(translator, "four") == "FOUR"


@pytest.mark.parametrize("keep_open", [True, False])
async def test_a_hanging_command_is_killed(command: Command, tmp_path: Path, keep_open: bool) -> None:
    pid = tmp_path / "pid"
    script = f"open({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)"
    with pytest.raises(TranslatorError, match="no answer within"):
        await text_of(command(script, keep_open=keep_open, timeout=1), "one")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_closing_ends_the_command_and_a_later_draft_starts_it_again(command: Command, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    translator = command(f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n{ECHO}")
    await text_of(translator, "one")
    first = int(pid.read_text())
    await aclose(translator)
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert await text_of(translator, "two") == "TWO"


# --- commands that hold their answers back

HOLDS_BACK = "text = sys.stdin.read()\nprint(text.strip().upper())"


@pytest.mark.parametrize("option", [{"patience": 0.4}, {"keep_open": False}])
async def test_a_command_that_holds_back_is_run_for_each_line(
    command: Command, tmp_path: Path, option: dict[str, Any]
) -> None:
    translator = command(COUNTED + HOLDS_BACK, **option)
    assert await text_of(translator, "one\n\ntwo") == "ONE\n\nTWO"
    assert await text_of(translator, "three") == "THREE"
    assert starts(tmp_path) == 3


# --- answers that are none


@pytest.mark.parametrize("keep_open", [True, False])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (rb"  \n", "the translation is empty"),
        (rb"one\ntwo\n", "more than one line for one line"),
        (rb"\xff\xfe\n", "not UTF-8"),
    ],
)
async def test_a_wrong_answer_is_an_error(command: Command, keep_open: bool, answer: bytes, message: str) -> None:
    written = answer.decode("ascii")
    script = f"for line in sys.stdin: sys.stdout.buffer.write(b'{written}'); sys.stdout.buffer.flush()"
    with pytest.raises(TranslatorError, match=message):
        await text_of(command(script, keep_open=keep_open), "one")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("sys.stdin.read()", "the translation is empty"),
        ("print('partial', flush=True); sys.stderr.write('boom'); sys.exit(2)", "exit code 2, stderr: boom"),
    ],
)
async def test_a_run_that_fails_or_says_nothing_is_an_error(command: Command, script: str, message: str) -> None:
    with pytest.raises(TranslatorError, match=message):
        await text_of(command(script, keep_open=False), "one")


async def test_a_late_extra_line_is_noticed_at_the_next_line(command: Command) -> None:
    translator = command("for line in sys.stdin:\n  for _ in 1, 2: print(line.strip(), flush=True); time.sleep(0.05)")
    assert await text_of(translator, "one") == "one"
    await asyncio.sleep(0.3)
    with pytest.raises(TranslatorError, match="more than one line for one line"):
        await text_of(translator, "two")


NOISY = """
for line in sys.stdin:
    if "2" in line:
        print("WARNING: unknown word", flush={flush})
    print("TR", line.strip(), flush=True)
"""


@pytest.mark.parametrize("flush", [False, True])
async def test_a_stray_line_before_an_answer_fails_its_segment_and_the_next_ones_are_in_step(
    command: Command, flush: bool
) -> None:
    translator = command(NOISY.format(flush=flush))
    assert await text_of(translator, "item 1") == "TR item 1"
    with pytest.raises(TranslatorError, match=r"^mt: .*: 'WARNING: unknown word', then 'TR item 2'; .*\(>&2\)"):
        await text_of(translator, "item 2")
    assert [await text_of(translator, f"item {n}") for n in (3, 4)] == ["TR item 3", "TR item 4"]


@pytest.mark.parametrize("keep_open", [None, True])
async def test_a_banner_is_never_the_first_translation(command: Command, keep_open: bool | None) -> None:
    translator = command(f"print('Model loaded v1', flush=True)\n{ECHO}", keep_open=keep_open)
    late = command(f"time.sleep(0.6)\nprint('Model loaded v1', flush=True)\n{ECHO}", keep_open=keep_open)
    for text in ("one", "two"):
        with pytest.raises(TranslatorError, match=r"^mt: wrote .*'Model loaded v1'.*standard error"):
            await text_of(translator, text)
    with pytest.raises(TranslatorError, match=r"more than one line .*: 'Model loaded v1', then 'ONE'"):
        await text_of(late, "one")


@pytest.mark.parametrize(
    ("program", "source", "message"),
    [
        (["no-such-program"], "one", "no-such-program: cannot be started"),
        ("no-such-program", "one", "exit code 127"),
        (["cat"], "a\0b", "NUL character"),
    ],
)
async def test_what_cannot_be_run_or_sent_says_so(program: str | list[str], source: str, message: str) -> None:
    with pytest.raises(TranslatorError, match=message):
        await text_of(CommandTranslator(program), source)


async def test_null_flush_ends_lines_with_nul_both_ways(command: Command) -> None:
    script = """
    buffer = b""
    while chunk := os.read(0, 100):
        *lines, buffer = (buffer + chunk).split(b"\\0")
        for line in lines:
            os.write(1, line.upper() + b"\\n\\0")
    """
    assert await text_of(command(script, null_flush=True), "one\n\ntwo") == "ONE\n\nTWO"


# --- the real Apertium

MODES = Path("/usr/share/apertium/modes/eng-spa.mode")
needs_apertium = pytest.mark.skipif(
    shutil.which("apertium") is None or not MODES.exists(), reason="needs apertium and apertium-eng-spa"
)


@pytest.mark.extra
@needs_apertium
async def test_apertium_keeps_the_paragraphs_and_says_what_it_has() -> None:
    translator = wrap("command:apertium -u eng-spa")
    assert (await translator.draft(segment("The cat is black.\n\nThe house is white."))).text == (
        "El gato es negro.\n\nLa casa es blanca."
    )
    with pytest.raises(TranslatorError, match="exit code 1, stderr: Error: Mode eng-xxx does not exist"):
        await wrap("command:apertium eng-xxx").draft(segment("The cat."))


@pytest.mark.extra
@needs_apertium
async def test_the_inner_pipeline_of_apertium_can_be_kept_open_with_null_flush() -> None:
    script = f"bash <(apertium-wblank-mode -z {MODES}) -g"
    translator = CommandTranslator(["bash", "-c", script], null_flush=True, keep_open=True)
    try:
        assert [await text_of(translator, text) for text in ("The cat is black.", "The house is white.")] == [
            "El gato es negro.",
            "La casa es blanca.",
        ]
    finally:
        await translator.aclose()
