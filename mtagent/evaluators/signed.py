"""The signature of an evaluator: all that its ratings depend on, in one line."""

from __future__ import annotations

from collections.abc import Iterable

import mtagent
from mtagent.llm.sampling import settings_of
from mtagent.prompts import Prompt
from mtagent.protocols import LLM


def signed(name: str, llm: LLM, prompts: Iterable[Prompt], *parts: str, **options: object) -> str:
    """Name, model, prompts with version and content hash, sampling settings, ``parts``, ``options`` and version.

    As in ``gemba-mqm|model:m|prompt:gemba-mqm@1#0a1b2c3d|temperature:0.0|reference:no|weights:gemba|version:0.1.0``.
    """
    shown = [f"{option}:{_ANSWERS[value] if isinstance(value, bool) else value}" for option, value in options.items()]
    asked = [f"prompt:{prompt.signature}" for prompt in prompts]
    return "|".join(
        [name, f"model:{llm.model}", *asked, *settings_of(llm), *parts, *shown, f"version:{mtagent.__version__}"]
    )


_ANSWERS: dict[bool, str] = {True: "yes", False: "no"}
