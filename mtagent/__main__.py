"""``python -m mtagent`` is the command ``mtagent``."""

from __future__ import annotations

from mtagent.cli import main

main()
