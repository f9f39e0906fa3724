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
    assert not (tmp_path / "starts").exists()
    assert [await text_of(translator, text) for text in ("one", "two", "three")] == ["ONE", "TWO", "THREE"]
    assert starts(tmp_path) == 1


async def test_concurrent_segments_each_get_their_own_answer(command: Command) -> None:
    translator = command(ECHO)
    drafts = await asyncio.gather(*(translator.draft(segment(f"line {n}\nnext {n}")) for n in range(40)))
    assert [draft.text for draft in drafts] == [f"LINE {n}\nNEXT {n}" for n in range(40)]


async def test_paragraph_separators_come_back_exactly_and_blank_lines_are_not_sent(command: Command) -> None:
    translator = command("for n, line in enumerate(sys.stdin): print(n, line.strip(), flush=True)")
    assert await text_of(translator, "a\n\n  b \r\n\r\n\t\nc\n") == "0 a\n\n  1 b \r\n\r\n\t\n2 c\n"


async def test_a_blank_source_starts_nothing(command: Command, tmp_path: Path) -> None:
    assert await text_of(command(COUNTED + ECHO), " \n\n") == " \n\n"
    assert not (tmp_path / "starts").exists()


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


async def test_a_shell_string_may_hold_a_pipe() -> None:
    translator = CommandTranslator("sed -u 's/cat/gato/' | sed -u 's/^/un /'")
    try:
        assert await text_of(translator, "cat") == "un gato"
    finally:
        await translator.aclose()


# Crashes and time


async def test_a_crash_restarts_once(command: Command, tmp_path: Path) -> None:
    translator = command(COUNTED + "print(sys.stdin.readline().strip().upper(), flush=True)")
    assert [await text_of(translator, text) for text in ("one", "two")] == ["ONE", "TWO"]
    assert starts(tmp_path) == 2


async def test_a_second_crash_is_an_error_with_exit_code_and_stderr(command: Command, tmp_path: Path) -> None:
    translator = command(COUNTED + "sys.stdin.readline(); sys.stderr.write('x' * 9999 + ' no model'); sys.exit(3)")
    with pytest.raises(
        TranslatorError, match=r"mt: ended without an answer: exit code 3, stderr: x+ no model$"
    ) as caught:
        await text_of(translator, "one")
    assert len(str(caught.value)) < 600
    assert starts(tmp_path) == 2


async def test_a_line_that_crashes_the_command_does_not_harm_the_next(command: Command) -> None:
    translator = command(
        """
        for line in sys.stdin:
            if "bomb" in line:
                sys.exit(1)
            print(line.strip().upper(), flush=True)
        """
    )
    assert await text_of(translator, "one") == "ONE"
    with pytest.raises(TranslatorError, match="exit code 1, nothing on stderr"):
        await text_of(translator, "bomb")
    assert await text_of(translator, "two") == "TWO"


async def test_a_timeout_is_an_error_and_a_late_answer_is_never_taken_for_the_next_line(command: Command) -> None:
    translator = command(
        """
        for line in sys.stdin:
            time.sleep(60 if "slow" in line else 0)
            print(line.strip().upper(), flush=True)
        """,
        keep_open=True,
        timeout=1.5,
    )
    with pytest.raises(TranslatorError, match=r"no answer within 1\.5 s"):
        await text_of(translator, "slow")
    assert await text_of(translator, "fast") == "FAST"


async def test_a_cancelled_line_is_never_taken_for_the_next(command: Command) -> None:
    translator = command(
        """
        for line in sys.stdin:
            time.sleep(0.3 if "slow" in line else 0)
            print(line.strip().upper(), flush=True)
        """
    )
    assert await text_of(translator, "warm") == "WARM"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(text_of(translator, "slow"), 0.1)
    assert await text_of(translator, "fast") == "FAST"


@pytest.mark.parametrize("option", [{"keep_open": True, "timeout": 1}, {"keep_open": False, "timeout": 1}])
async def test_a_hanging_command_is_killed(command: Command, tmp_path: Path, option: dict[str, Any]) -> None:
    pid = tmp_path / "pid"
    translator = command(f"open({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)", **option)
    with pytest.raises(TranslatorError, match="no answer within"):
        await text_of(translator, "one")
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


def test_a_command_serves_one_event_loop_after_another(tmp_path: Path) -> None:
    translator = CommandTranslator([sys.executable, "-uc", f"import sys\n{ECHO}"])

    async def once(text: str) -> str:
        try:
            return await text_of(translator, text)
        finally:
            await translator.aclose()

    assert [asyncio.run(once("one")), asyncio.run(once("two"))] == ["ONE", "TWO"]


# Commands that hold their answers back


HOLDS_BACK = "text = sys.stdin.read()\nprint(text.strip().upper())"


async def test_a_command_that_holds_back_is_found_out_and_run_for_each_line(command: Command, tmp_path: Path) -> None:
    translator = command(COUNTED + HOLDS_BACK, patience=0.4)
    assert await text_of(translator, "one\n\ntwo") == "ONE\n\nTWO"
    assert await text_of(translator, "three") == "THREE"
    assert starts(tmp_path) == 3


async def test_one_run_for_each_line_can_be_asked_for(command: Command, tmp_path: Path) -> None:
    translator = command(COUNTED + HOLDS_BACK, keep_open=False)
    assert await text_of(translator, "one\ntwo") == "ONE\nTWO"
    assert starts(tmp_path) == 2


async def test_a_failing_run_is_an_error_even_with_output(command: Command) -> None:
    translator = command("print('partial', flush=True); sys.stderr.write('boom'); sys.exit(2)", keep_open=False)
    with pytest.raises(TranslatorError, match="exit code 2, stderr: boom"):
        await text_of(translator, "one")


# Answers that are none


@pytest.mark.parametrize("keep_open", [True, False])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (r"b'\n'", "the translation is empty"),
        (r"b'  \n'", "the translation is empty"),
        (r"b'one\ntwo\n'", "more than one line for one line"),
        (r"b'\xff\xfe\n'", "not UTF-8"),
    ],
)
async def test_a_wrong_answer_is_an_error(command: Command, keep_open: bool, answer: str, message: str) -> None:
    script = f"for line in sys.stdin: sys.stdout.buffer.write({answer}); sys.stdout.buffer.flush()"
    with pytest.raises(TranslatorError, match=message):
        await text_of(command(script, keep_open=keep_open), "one")


async def test_no_answer_and_exit_code_0_is_an_error(command: Command) -> None:
    with pytest.raises(TranslatorError, match="the translation is empty"):
        await text_of(command("sys.stdin.read()", keep_open=False), "one")


async def test_a_late_extra_line_is_noticed_at_the_next_line(command: Command) -> None:
    script = "for line in sys.stdin:\n  for _ in 1, 2: print(line.strip(), flush=True); time.sleep(0.05)"
    translator = command(script)
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
    with pytest.raises(
        TranslatorError,
        match=r"^mt: wrote more than one line .*: 'WARNING: unknown word', then 'TR item 2'; .*standard error \(>&2\)",
    ):
        await text_of(translator, "item 2")
    assert [await text_of(translator, f"item {n}") for n in (3, 4)] == ["TR item 3", "TR item 4"]


@pytest.mark.parametrize("keep_open", [None, True])
async def test_a_banner_is_never_the_first_translation(keep_open: bool | None) -> None:
    script = 'echo "Model loaded v1"; while read -r line; do echo "TR $line"; done'
    translator = CommandTranslator(script, name="mt", keep_open=keep_open)
    for text in ("one", "two"):
        with pytest.raises(
            TranslatorError, match=r"^mt: wrote 'Model loaded v1' before any line was sent to it; .*standard error"
        ):
            await text_of(translator, text)
    await translator.aclose()


async def test_a_banner_that_comes_late_is_noticed_with_the_first_answer(command: Command) -> None:
    script = "time.sleep(0.4)\nprint('Model loaded v1', flush=True)\n" + ECHO
    with pytest.raises(TranslatorError, match=r"more than one line .*: 'Model loaded v1', then 'ONE'"):
        await text_of(command(script), "one")


async def test_a_quiet_command_is_waited_for_only_once(command: Command) -> None:
    translator = command(ECHO)
    began = time.monotonic()
    for _ in range(20):
        await text_of(translator, "one")
    assert time.monotonic() - began < 20 * 0.2


async def test_a_program_that_is_missing_says_so() -> None:
    with pytest.raises(TranslatorError, match="no-such-program: cannot be started"):
        await text_of(CommandTranslator(["no-such-program"]), "one")
    with pytest.raises(TranslatorError, match="exit code 127"):
        await text_of(CommandTranslator("no-such-program"), "one")


async def test_a_nul_in_the_source_is_refused(command: Command) -> None:
    with pytest.raises(TranslatorError, match="NUL character"):
        await text_of(command(ECHO), "a\0b")


async def test_null_flush_ends_lines_with_nul_both_ways(command: Command) -> None:
    script = """
    buffer = b""
    while chunk := os.read(0, 100):
        *lines, buffer = (buffer + chunk).split(b"\\0")
        for line in lines:
            os.write(1, line.upper() + b"\\n\\0")
    """
    assert await text_of(command(script, null_flush=True), "one\n\ntwo") == "ONE\n\nTWO"


# The real Apertium

MODES = Path("/usr/share/apertium/modes/eng-spa.mode")
needs_apertium = pytest.mark.skipif(
    shutil.which("apertium") is None or not MODES.exists(), reason="needs apertium and apertium-eng-spa"
)


@pytest.mark.extra
@needs_apertium
async def test_apertium_keeps_the_paragraphs() -> None:
    translator = wrap("command:apertium -u eng-spa")
    assert (await translator.draft(segment("The cat is black.\n\nThe house is white."))).text == (
        "El gato es negro.\n\nLa casa es blanca."
    )


@pytest.mark.extra
@needs_apertium
async def test_apertium_with_a_wrong_direction_says_what_it_has() -> None:
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
