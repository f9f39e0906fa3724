"""How the code reads, in numbers: ``python -m bench.density [FOLDER]``, by default of the package.

Prints lines, modules, modules that one other module imports, class names that mean several things, and how much happens
in a line: comprehensions, conditional expressions and assignments within expressions, each for 1,000 lines that aren't
empty.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def modules_named(tree: ast.AST) -> Iterator[str]:
    """The dotted names that may be modules in the imports of ``tree``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name


def measured(folder: Path) -> dict[str, float]:
    """The numbers by name."""
    lines = filled_lines = 0
    nodes = Counter[str]()
    classes = Counter[str]()
    imports: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines += text.count("\n")
        filled_lines += sum(bool(line.strip()) for line in text.splitlines())
        tree = ast.parse(text)
        module = ".".join((folder.name, *path.relative_to(folder).with_suffix("").parts))
        imports[module] = set(modules_named(tree))
        for node in ast.walk(tree):
            nodes["comprehensions"] += isinstance(node, COMPREHENSIONS)
            nodes["conditional expressions"] += isinstance(node, ast.IfExp)
            nodes["walruses"] += isinstance(node, ast.NamedExpr)
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name] += 1
    modules = [name for name in imports if not name.endswith(("__init__", "__main__"))]
    importers = Counter(name for names in imports.values() for name in names)
    numbers: dict[str, float] = {
        "lines": lines,
        "modules": len(modules),
        "modules with one importer": sum(importers[module] == 1 for module in modules),
        "ambiguous class names": sum(count > 1 for count in classes.values()),
    }
    for kind, count in nodes.items():
        numbers[f"{kind} in 1,000 lines"] = round(1000 * count / filled_lines, 1)
    return numbers


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("mtagent"), metavar="FOLDER")
    for name, number in measured(parser.parse_args().folder).items():
        print(f"{number:>9,} {name}")  # noqa: T201 - a benchmark is read by a person


if __name__ == "__main__":
    main()
