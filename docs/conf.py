"""How Sphinx builds the site: ``make docs``.

The pages are read where they are, from the root of the checkout, so that a link works in an editor, on a forge and on
the site. A link that leads nowhere fails the build (``-W``).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mtagent.version import __version__  # noqa: E402
from scripts.command_pages import commands_page  # noqa: E402

project = "mtagent"
copyright = "the mtagent authors"  # noqa: A001
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/README.md",
    "wmt/README.md",
    "docs/**.md",
]
exclude_patterns = [".*", "build", "dist", "site", "mtagent", "prompts", "scripts", "tests"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "mtagent"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False

MENU = {
    "Start": ["docs/tutorial"],
    "How to": [
        "docs/how-to/command-line",
        "docs/how-to/measure",
        "docs/how-to/review",
        "docs/how-to/gate",
        "docs/how-to/python",
        "docs/how-to/server",
        "docs/how-to/evaluator",
    ],
    "Reference": [
        "docs/reference/commands",
        "docs/reference/configuration",
        "docs/reference/evaluators",
        "docs/reference/scores",
        "docs/reference/meta-eval",
        "docs/reference/formats",
        "docs/reference/store",
        "docs/reference/api",
    ],
    "Explanation": [
        "docs/explanation/safety",
        "docs/explanation/gate",
        "docs/explanation/papers",
        "docs/explanation/prototypes",
    ],
    "Project": [
        "docs/README",
        "CONTRIBUTING",
        "CHANGELOG",
        "SECURITY",
        "wmt/README",
        "bench/README",
        "docs/decisions/analysis",
        "docs/decisions/chain",
        "docs/decisions/evaluators",
        "docs/decisions/models",
        "docs/decisions/runs",
    ],
}
"""The pages by caption. The menu is added here and not in the README, where a reader of the file would meet it."""


def menu() -> str:
    """The menu as Sphinx reads it."""
    parts = []
    for caption, pages in MENU.items():
        listed = "\n".join(pages)
        parts.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n")
    return "\n" + "\n".join(parts)


def complete(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add to a page what is generated."""
    if docname == root_doc:
        source[0] += menu()
    if docname == "docs/reference/commands":
        source[0] += "\n" + commands_page()


def copy_home_page(app: Sphinx, exception: Exception | None) -> None:
    """The README is the home page: an address without a file name shows it, too."""
    if exception is None:
        shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Register the two hooks."""
    app.connect("source-read", complete)
    app.connect("build-finished", copy_home_page)
