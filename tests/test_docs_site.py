"""The site that ``make docs`` builds, in a real browser: it works, and asks nothing of any other host.

Needs the extra ``docs``, Debian's ``chromium`` and the package ``playwright`` (``scripts/setup_extras.sh``).
"""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands import ROOT

pytest.importorskip("sphinx", reason="sphinx is not installed: pip install '.[docs]'")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium")

pytestmark = [
    pytest.mark.extra,
    pytest.mark.loopback,
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: sudo apt-get install chromium"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing."""


def build(target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build the site as ``make docs`` does."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", *options]
    command += ["-c", "docs", "-d", str(target / "doctrees"), ".", str(target / "site")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the built site."""
    folder = tmp_path_factory.mktemp("docs")
    built = build(folder)
    assert built.returncode == 0, built.stderr
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder / "site")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(site: str) -> Iterator[Any]:
    """A page whose requests and errors are recorded; at the end none may have left this machine or failed."""
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        opened = browser.new_page()
        requests: list[str] = []
        problems: list[str] = []
        opened.on("request", lambda request: requests.append(request.url))
        opened.on("response", lambda response: problems.append(response.url) if response.status >= 400 else None)
        opened.on("pageerror", lambda error: problems.append(str(error)))
        yield opened
        browser.close()
    assert requests
    assert [url for url in requests if not url.startswith((site, "data:"))] == []
    assert problems == []


def test_the_home_page_leads_to_the_tutorial(page: Any, site: str) -> None:
    page.goto(f"{site}/")
    assert page.locator("h1").first.inner_text().startswith("mtagent")
    assert "Translate → Postedit" in page.locator("article").inner_text()
    page.locator(".sidebar-tree a", has_text="from one file").click()
    page.wait_for_url("**/docs/tutorial.html")
    assert "mtagent runs show first 22" in page.locator("article").inner_text()
    link = page.locator(".sidebar-tree a", has_text="from one file")
    assert link.get_attribute("class") == "current reference internal"


def test_the_search_finds_a_page(page: Any, site: str) -> None:
    page.goto(f"{site}/")
    page.locator(".sidebar-search").fill("glossary")
    page.locator(".sidebar-search").press("Enter")
    page.locator("#search-results li > a", has_text="File formats").click()
    assert "A glossary is a CSV or TSV" in page.locator("article").inner_text()


def test_the_references_have_content(page: Any, site: str) -> None:
    page.goto(f"{site}/docs/reference/api.html")
    assert page.locator("dt#mtagent\\.Agent").count() == 1
    assert "Improves machine translation" in page.locator("article").inner_text()
    page.goto(f"{site}/docs/reference/commands.html")
    assert page.locator("h2", has_text="mtagent postedit").count() == 1
    assert page.locator("td code", has_text="--glossary").count() >= 3


def test_a_phone_can_read_it(page: Any, site: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{site}/docs/reference/commands.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "docs", "wmt", "bench"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, tmp_path / name)
    for name in ("mtagent", "scripts", "prompts"):
        (tmp_path / name).symlink_to(ROOT / name)
    tutorial = tmp_path / "docs" / "tutorial.md"
    tutorial.write_text(tutorial.read_text(encoding="utf-8") + "\n[nowhere](how-to/nothing.md)\n", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", "site"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "nothing.md" in done.stderr
