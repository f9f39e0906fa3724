"""Defects planted into real catalogues: ``python -m bench.check FOLDER --pofilter PROGRAM``.

FOLDER has ``LANG/LC_MESSAGES/NAME.mo``, as /usr/share/locale has. In each of ten languages, ten defects are planted,
one of each kind. ``mtagent check`` and translate-toolkit's ``pofilter`` check the catalogues as they are, and with
defects.
A hit is a new finding at a planted defect. What is found in the catalogues as they are is counted as false alarms,
although some of it is real: these translations were reviewed and shipped.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import polib

from mtagent.text.table import Table, text

LANGUAGES = ("de", "es", "fr", "ja", "pl", "ru", "sv", "tr", "uk", "zh_CN")
MOST_MESSAGES = 1_000
"""How many messages of each language are checked."""
SEED = 7
Defect = Callable[[str, str], str | None]
"""The translation with a defect; ``None`` where it has no place for one."""
Found = dict[str, set[str]]
"""The checks that found something, by message."""


def without(pattern: str) -> Defect:
    """The defect that removes the first thing that both texts have."""

    def defect(source: str, target: str) -> str | None:
        match = re.search(pattern, target)
        if match is None or match.group() not in source:
            return None
        return target[: match.start()] + target[match.end() :]

    return defect


def number_changed(source: str, target: str) -> str | None:
    """Another number: 12 becomes 22."""
    match = re.search(r"(?<![\w%.-])[1-9]\d?(?![\w%.])", target)
    if match is None or not re.search(rf"(?<![\w%.-]){match.group()}(?![\w%.])", source):
        return None
    changed = str(int(match.group()) + 10)
    return target[: match.start()] + changed + target[match.end() :]


def argument_changed(source: str, target: str) -> str | None:
    """A printf argument of another kind."""
    return target.replace("%s", "%d", 1) if "%s" in target and "%s" in source else None


def copied(source: str, target: str) -> str | None:
    """The source in place of its translation."""
    return source if len(source.split()) > 5 and "%" not in source else None


def doubled_space(source: str, target: str) -> str | None:
    """Two spaces between words."""
    if "  " in source or "\n" in source or target.count(" ") < 3:
        return None
    middle = target.find(" ", len(target) // 3)
    return f"{target[:middle]} {target[middle:]}" if middle > 0 and target[middle - 1].isalpha() else None


def line_lost(source: str, target: str) -> str | None:
    """Two lines in one."""
    inner = target.strip("\n")
    if inner.count("\n") < 1 or inner.count("\n") != source.strip("\n").count("\n"):
        return None
    place = target.index("\n", len(target) - len(target.lstrip("\n")))
    return f"{target[:place]} {target[place + 1 :]}"


def end_lost(source: str, target: str) -> str | None:
    """No line break at the end."""
    return target.rstrip("\n") if source.endswith("\n") and target.endswith("\n") else None


def colon_lost(source: str, target: str) -> str | None:
    """No colon at the end."""
    return target.rstrip(":： \u00a0") if source.endswith(":") and target.endswith((":", "：")) else None


KINDS: dict[str, tuple[Defect, set[str], set[str]]] = {
    "argument lost": (without(r"%[sd]"), {"placeholders", "argument-order"}, {"printf", "variables"}),
    "argument of another kind": (argument_changed, {"placeholders", "argument-order"}, {"printf", "variables"}),
    "number changed": (number_changed, {"numbers"}, {"numbers"}),
    "URL cut": (without(r"(?<=://)[\w.-]+"), {"urls"}, {"urls"}),
    "bracket lost": (without(r"\)"), {"pairs"}, {"brackets", "puncspacing"}),
    "option lost": (without(r"--[a-z][a-z-]+"), {"literals"}, {"options", "functions"}),
    "copied source": (copied, {"untranslated"}, {"untranslated", "unchanged"}),
    "double space": (doubled_space, {"double-spaces"}, {"doublespacing"}),
    "line break lost": (line_lost, {"lines"}, {"newlines"}),
    "colon lost": (colon_lost, {"end-mark"}, {"endpunc"}),
}
"""Each kind of defect: how it is made, and the checks of mtagent and pofilter that are meant to find it."""


def messages(folder: Path, language: str) -> dict[str, str]:
    """Translations by source, of all catalogues of a language, in a random order."""
    found = {}
    for path in sorted((folder / language / "LC_MESSAGES").glob("*.mo")):
        for entry in polib.mofile(str(path)):
            has_forms = bool(entry.msgid_plural) or bool(entry.msgctxt)
            if entry.msgid and entry.msgstr and not has_forms:
                found[entry.msgid] = entry.msgstr
    chosen = sorted(found)
    random.Random(f"{SEED} {language}").shuffle(chosen)
    return {source: found[source] for source in chosen}


def planted(texts: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The texts with one defect of each kind, and the messages that have them, by kind."""
    damaged = dict(texts)
    places: dict[str, str] = {}
    for kind, (defect, _, _) in KINDS.items():
        for source, target in texts.items():
            wrong = defect(source, target) if source not in places.values() else None
            if wrong is not None and wrong.strip() and wrong != target:
                damaged[source] = wrong
                places[kind] = source
                break
    return damaged, places


def write_catalogue(path: Path, language: str, texts: dict[str, str]) -> None:
    """A PO file with these translations."""
    catalogue = polib.POFile()
    catalogue.metadata = {"Language": language, "Content-Type": "text/plain; charset=UTF-8"}
    for source, target in texts.items():
        catalogue.append(polib.POEntry(msgid=source, msgstr=target))
    catalogue.save(str(path))


def found_by_mtagent(path: Path) -> Found:
    """What ``mtagent check`` finds."""
    command = [sys.executable, "-m", "mtagent", "check", str(path), "--source-lang", "en", "-f", "json"]
    done = subprocess.run([*command, "--fail-on", "never"], capture_output=True, text=True, check=True)
    found: Found = defaultdict(set)
    for line in done.stdout.splitlines():
        finding = json.loads(line)
        found[finding["source"]].add(finding["check"])
    return found


def found_by_pofilter(path: Path, program: str) -> Found:
    """What ``pofilter`` finds."""
    output = path.with_suffix(".filtered.po")
    subprocess.run([program, "--progress=none", str(path), str(output)], capture_output=True, check=True)
    found: Found = defaultdict(set)
    if output.exists():
        for entry in polib.pofile(str(output)):
            found[entry.msgid] |= set(re.findall(r"\(pofilter\) ([a-z]+):", entry.tcomment))
    return found


def tables(folder: Path, program: str) -> Iterator[Table]:
    """Hits by kind of defect, and findings by check in the catalogues as they are."""
    hits: Counter[tuple[str, str]] = Counter()
    count: Counter[str] = Counter()
    alarms: dict[str, Counter[str]] = {"mtagent": Counter(), "pofilter": Counter()}
    with tempfile.TemporaryDirectory() as temporary:
        for language in LANGUAGES:
            everything = messages(folder, language)
            damaged, places = planted(everything)
            kept = [*places.values(), *(source for source in everything if source not in places.values())]
            kept = kept[:MOST_MESSAGES]
            for name, texts in (("as-is", everything), ("damaged", damaged)):
                write_catalogue(Path(temporary, f"{language}-{name}.po"), language, {key: texts[key] for key in kept})
            count["messages"] += len(kept)
            for tool in alarms:
                found = []
                for name in ("as-is", "damaged"):
                    path = Path(temporary, f"{language}-{name}.po")
                    found.append(found_by_mtagent(path) if tool == "mtagent" else found_by_pofilter(path, program))
                as_is, with_defects = found
                for checks in as_is.values():
                    alarms[tool].update(checks)
                for kind, source in places.items():
                    new = with_defects.get(source, set()) - as_is.get(source, set())
                    meant = KINDS[kind][1] if tool == "mtagent" else KINDS[kind][2]
                    hits[kind, tool] += bool(new & meant)
            count.update(places.keys())
    rows: list[tuple[str, ...]] = []
    for kind in KINDS:
        rows.append((kind, str(count[kind]), str(hits[kind, "mtagent"]), str(hits[kind, "pofilter"])))
    sums = [sum(int(row[column]) for row in rows) for column in (1, 2, 3)]
    rows.append(("all", *map(str, sums)))
    yield Table("Planted defects that were found", ("defect", "planted", "mtagent", "pofilter"), tuple(rows))
    for tool, counts in alarms.items():
        title = f"{tool}: findings in {count['messages']:,} shipped translations"
        by_check = [(check, str(number)) for check, number in counts.most_common()]
        yield Table(title, ("check", "findings"), (*by_check, ("all", str(counts.total()))))


def main() -> None:
    """Plant, check and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--pofilter", default="pofilter", metavar="PROGRAM")
    arguments = parser.parse_args()
    print(text(list(tables(arguments.folder, arguments.pofilter))))  # noqa: T201 - a benchmark is read by a person


if __name__ == "__main__":
    main()
