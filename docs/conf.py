"""How Sphinx builds the site: ``make docs``.

The pages are read where they are, from the root of the checkout, so that a link works in an editor, on a forge and on
the site. A link that leads nowhere fails the build (``-W``).
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import mtagent  # noqa: E402
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
smartquotes = False  # they turn --option into –option
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "mtagent"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False

MENU = {
    "Start": ["docs/README", "docs/tutorial"],
    "How to": [
        "docs/how-to/command-line",
        "docs/how-to/localization-files",
        "docs/how-to/check",
        "docs/how-to/batches",
        "docs/how-to/measure",
        "docs/how-to/review",
        "docs/how-to/gate",
        "docs/how-to/python",
        "docs/how-to/server",
        "docs/how-to/deploy",
        "docs/how-to/observe",
        "docs/how-to/clusters",
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
        "docs/reference/log",
        "docs/reference/api",
        "docs/reference/clients",
    ],
    "Explanation": [
        "docs/explanation/safety",
        "docs/explanation/gate",
        "docs/explanation/papers",
        "docs/explanation/prototypes",
    ],
    "Project": [
        "CONTRIBUTING",
        "CHANGELOG",
        "SECURITY",
        "wmt/README",
        "bench/README",
        "docs/decisions/analysis",
        "docs/decisions/chain",
        "docs/decisions/documents",
        "docs/decisions/evaluators",
        "docs/decisions/models",
        "docs/decisions/runs",
        "docs/decisions/style",
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


def documented(line: re.Match[str]) -> str:
    """A line of public names, and below it the entry of each, from its docstring."""
    entries = []
    for name in re.findall(r"`(\w+)`", line[0]):
        member = getattr(mtagent, name)
        if inspect.isfunction(member):
            entries.append(f".. autofunction:: mtagent.{name}\n")
        elif name == "Config":
            entries.append(f".. autoclass:: mtagent.{name}\n   :no-members:\n")
        else:
            entry = f".. autoclass:: mtagent.{name}\n   :members:\n   :undoc-members:\n"
            entry += "   :exclude-members: model_config\n"
            entries.append(entry)
    listed = "\n".join(entries)
    return f"{line[0]}\n\n```{{eval-rst}}\n{listed}```\n"


def complete(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add to a page what is generated."""
    if docname == root_doc:
        source[0] += menu()
    if docname == "docs/reference/commands":
        source[0] += "\n" + commands_page()
    if docname == "docs/reference/api":
        source[0] = re.sub(r"^`.*$", documented, source[0], flags=re.MULTILINE)


def simplify_signature(
    app: Sphinx, what: str, name: str, member: object, options: object, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Python shows the default of a dataclass's field as ``<factory>``, which is no expression that Sphinx can wrap."""
    return (signature and signature.replace("<factory>", "...")), returned


def copy_home_page(app: Sphinx, exception: Exception | None) -> None:
    """The README is the home page: an address without a file name shows it, too."""
    if exception is None:
        shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Register the hooks."""
    app.connect("source-read", complete)
    app.connect("autodoc-process-signature", simplify_signature)
    app.connect("build-finished", copy_home_page)
