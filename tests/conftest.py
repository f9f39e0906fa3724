"""What all tests share: no network, and the research data only where it is."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import pytest_socket

from bench.harness import simulator
from mtagent.store import Store
from tests.commands import Shell

hypothesis.settings.register_profile("no deadline", deadline=None)  # a busy machine is no defect
hypothesis.settings.load_profile("no deadline")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background: what a test starts would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(os.environ.get("MTAGENT_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that are allowed the longest time: one of them at the end would leave a processor idle."""

    def allowed(item: pytest.Item) -> float:
        mark = item.get_closest_marker("timeout")
        return mark.args[0] if mark else 0

    items.sort(key=allowed, reverse=True)


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest) -> None:
    """Block all sockets; tests marked ``loopback`` or ``extra`` may reach 127.0.0.1 and nothing else."""
    if request.node.get_closest_marker("loopback") or request.node.get_closest_marker("extra"):
        pytest_socket.enable_socket()
        pytest_socket.socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    else:
        pytest_socket.disable_socket(allow_unix_socket=True)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests never use the developer's own key, server or data, nor another COMET than they name."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("MTAGENT_COMET_PYTHON", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(autouse=True)
def _data_present(request: pytest.FixtureRequest) -> None:
    """Skip tests marked ``data`` where the research data is absent."""
    if request.node.get_closest_marker("data") and not DATA.is_dir():
        pytest.skip(f"no research data in {DATA}; set MTAGENT_TEST_DATA")


@pytest.fixture
def data() -> Path:
    """The folder with the research data."""
    return DATA


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command line, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MTAGENT_STORE", str(tmp_path / "store.db"))
    return Shell(tmp_path, capsys)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store in the file ``s.db``."""
    with Store(tmp_path / "s.db") as opened:
        yield opened


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server whose model improves every text: that of :mod:`tests.simulator.chain`."""
    with simulator("--behaviour", "tests.simulator.chain:improving", lifetime=3000) as base_url:
        yield base_url


@pytest.fixture(scope="session")
def shaking() -> Iterator[str]:
    """The address of a server whose model moves, drops, doubles and invents tags in every stage."""
    with simulator("--behaviour", "tests.simulator.chain:tags", lifetime=3000) as base_url:
        yield base_url


@pytest.fixture(scope="session")
def panel() -> Iterator[str]:
    """The address of a server whose model knows the prompts of all evaluators."""
    with simulator("--behaviour", "tests.simulator.evaluators:answer", lifetime=3000) as base_url:
        yield base_url
