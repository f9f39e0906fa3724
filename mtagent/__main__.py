"""``python -m mtagent`` is the command ``mtagent``."""

from mtagent.cli import main

main()
