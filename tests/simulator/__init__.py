"""An OpenAI-compatible test server: ``Simulator`` in-process, ``python -m tests.simulator`` as a process."""

from tests.simulator.journal import Entry, read_journal
from tests.simulator.odd import ODD
from tests.simulator.server import Simulator
from tests.simulator.settings import KINDS, Fault, Settings

__all__ = ["KINDS", "ODD", "Entry", "Fault", "Settings", "Simulator", "read_journal"]
