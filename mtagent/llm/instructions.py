"""The user's instructions, such as a style guide, in every request: register, audience, house style."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from mtagent.errors import InputError
from mtagent.llm.protocol import LLM, Options, SampledLLM
from mtagent.records import Completion, Message

LONGEST = 20_000
"""Characters. They are sent with every request."""
_BEFORE = """\


Instructions of the client for this work: register, audience, terms, style. Write by them and judge by them, as far as \
the rules above allow, and reply in the form that was asked for above:"""


def read_instructions(path: Path) -> str:
    """The text of ``path``. Raises :class:`InputError` where it is no text, empty, or too long to be always sent."""
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8; save it in that encoding") from None
    if not text:
        raise InputError(f"{path}: is empty: write the instructions into it, or leave --instructions out")
    if (odd := next((char for char in text if ord(char) < 32 and char not in "\n\r\t"), None)) is not None:
        raise InputError(f"{path}: holds the control character U+{ord(odd):04X}: save it as plain text")
    if len(text) > LONGEST:
        raise InputError(
            f"{path}: has {len(text):,} characters, and instructions are sent with every request: "
            f"shorten them to {LONGEST:,}"
        )
    return text


class Instructed:
    """A model that is shown the user's instructions at the end of the system message of each request."""

    def __init__(self, llm: LLM, instructions: str) -> None:
        self.model = llm.model
        self.sampling = llm.sampling if isinstance(llm, SampledLLM) else None
        self.instructions = hashlib.sha256(instructions.encode()).hexdigest()[:8]
        self._llm, self._shown = llm, f"{_BEFORE}\n{instructions}"

    async def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Completion:
        """Ask for one reply."""
        return await self._llm.complete(self.instructed(messages), **options)

    def instructed(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """``messages`` with the instructions, once."""
        if not messages or messages[0].role != "system":
            return (Message(role="system", content=self._shown.strip()), *messages)
        first = messages[0]
        if first.content.endswith(self._shown):
            return tuple(messages)
        return (first.model_copy(update={"content": first.content + self._shown}), *messages[1:])
