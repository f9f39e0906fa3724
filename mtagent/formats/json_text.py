"""JSON in files, read so that what is wrong is named with its line, and written so that every reader can read it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mtagent.errors import InputError
from mtagent.formats.files import lines_of


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


def parsed(text: str, where: str) -> Any:
    """The value that ``text`` holds. Raises :class:`InputError` beginning with ``where``."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not usable JSON: {error}") from None


def whole_file(path: Path) -> Any:
    """The value that a whole file holds, with or without a byte order mark. Raises :class:`InputError`."""
    text = "".join(line.text + line.end for line in lines_of(path))
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg.lower()}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not usable JSON: {error}") from None
