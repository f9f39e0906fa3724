"""JSON in annotated files, read so that what is wrong is named with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mtagent.errors import InputError
from mtagent.formats.files import lines_of


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
