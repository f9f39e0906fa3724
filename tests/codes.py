"""Requests without the codes that their tags carry, so that a test can say what stands between which tags."""

from __future__ import annotations

import re

_CODED = re.compile(r"(</?\w+)-\d{6,}>")


def without_codes(content: str) -> str:
    """``content`` with ``<source>`` for ``<source-482913>``."""
    return _CODED.sub(r"\1>", content)
