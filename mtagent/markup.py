"""Elements of XML and HTML as text. All text is escaped here and nowhere else."""

from __future__ import annotations

import re
from html import escape

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plain(text: str) -> str:
    """``text`` for XML: escaped, and without what XML has no place for."""
    return escape(_NOT_IN_XML.sub("\ufffd", text), quote=True)


def element(tag: str, content: str = "", /, **attributes: str | float | None) -> str:
    """``<tag …>content</tag>``; ``content`` is markup. ``text_anchor`` becomes ``text-anchor``."""
    told = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{plain(value) if isinstance(value, str) else f"{value:.6g}"}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{told}>{content}</{tag}>" if content else f"<{tag}{told}/>"
