"""Records as JSON that every reader can read: no number and no character in it that JSON or UTF-8 cannot hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel


def dumped(value: object, *, indent: int | None = None) -> str:
    """``value`` as JSON. A lone surrogate, which UTF-8 cannot hold, is written as an escape."""
    told = plain(value)
    text = json.dumps(told, ensure_ascii=False, allow_nan=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(told, allow_nan=False, indent=indent)
    return text


def plain(value: Any) -> Any:
    """Records, dataclasses, mappings and sequences as plain data; a number that is not finite is ``None``."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
