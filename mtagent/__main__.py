"""``python -m mtagent`` and the command ``mtagent``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. A Ctrl-C while it is still being imported ends it without a word, too."""
    try:
        from mtagent.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
