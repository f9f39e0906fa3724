"""Requests without the codes that their tags carry, so that a test can say what stands between which tags."""

from __future__ import annotations

import re

_CODED = re.compile(r"(</?\w+)-[0-9a-f]{8}>")


def without_codes(content: str) -> str:
    """``content`` with ``<source>`` for ``<source-1a2b3c4d>``."""
    return _CODED.sub(r"\1>", content)
