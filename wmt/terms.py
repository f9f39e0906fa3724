"""How many terms of a small glossary are found in real sources, and in people's translations of them.

    python -m wmt.terms [--data DIR] [--show LP]

The glossary, ``terms.tsv``, has forty frequent nouns in five languages; ``|`` stands between words that are all right.
A row of the table: the terms that stand in the sources as written, and inflected or not; of the latter those whose
target stands in the translation, as written and by the guard ``terms``; and how many losses the guard sees, where all
words of a translation that are the target are replaced by another target of the glossary. ``--show`` prints, for a
language pair, the forms that count as terms, and each text whose target the guard does not find.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from mtagent.chain.guards import GUARDS, damages
from mtagent.cli.terminal import display
from mtagent.formats.glossary import Glossary
from mtagent.records import Edit, Segment, Term
from mtagent.text.edits import apply
from mtagent.text.terms import has_target, occurrences
from wmt.lib.data import DATA, records, run

SETS = ("human_postedits", "scored_refinements")


def pairs(data: Path) -> Iterator[tuple[Segment, str]]:
    """People's post-edits and references."""
    for name in SETS:
        for row in records(data / "real" / f"{name}.jsonl"):
            if text := row.get("pe") or row.get("reference"):
                languages = {key: row[key] for key in ("source_lang", "target_lang")}
                yield Segment(id=row["id"], source=row["source"], **languages), text


def glossaries() -> dict[tuple[str, str], tuple[Term, ...]]:
    """The terms by language pair."""
    terms = defaultdict(list)
    with Path(__file__).with_name("terms.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            for source_lang in row:
                for target_lang in row.keys() - {source_lang}:
                    for source in row[source_lang].split("|"):
                        for target in row[target_lang].split("|"):
                            terms[source_lang, target_lang].append(Term(source=source, target=target))
    return {pair: tuple(listed) for pair, listed in terms.items()}


def main() -> None:
    """Print a row per language pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the research data (default: %(default)s)")
    parser.add_argument("--show", metavar="LP", help="print the forms and the texts of this language pair")
    options = parser.parse_args()
    indexed = {pair: Glossary(terms) for pair, terms in glossaries().items()}
    others = GUARDS.keys() - {"terms"}
    counts: dict[str, Counter[str]] = {}
    forms: Counter[str] = Counter()
    for segment, text in pairs(options.data):
        source_lang, target_lang = segment.source_lang, segment.target_lang
        if (source_lang, target_lang) not in indexed:
            continue
        lp = f"{source_lang}-{target_lang}"
        glossary, row = indexed[source_lang, target_lang], counts.setdefault(lp, Counter())
        written = {term.source for term in glossary.relevant(segment.source)}
        senses = defaultdict(list)
        for term in glossary.relevant(segment.source, source_lang):
            senses[term.source].append(term)
        for source, terms in senses.items():
            targets = [term.target or "" for term in terms]
            row["as written"] += source in written
            row["found"] += 1
            row["target as written"] += any(occurrences(target, text) for target in targets)
            there = any(has_target(target, text, target_lang) for target in targets)
            row["target found"] += there
            if lp == options.show:
                forms.update(f"{source}: {mark.key}" for mark in occurrences(source, segment.source, source_lang))
                if not there:
                    display(f"{source} = {' or '.join(targets)}: {segment.source} || {text}", err=True)
            marks = {mark for target in targets for mark in occurrences(target, text, target_lang, loose=True)}
            if marks:
                other = next(term.target or "" for term in glossary.terms if term.target not in targets)
                changes = [Edit(old=m.key, new=other, start=m.start, end=m.end, outcome="applied") for m in marks]
                damaged = segment.model_copy(update={"terms": tuple(terms)})
                row["planted"] += 1
                row["caught"] += bool(damages(damaged, text, apply(text, changes), skip=others))
    names = ("as written", "found", "target as written", "target found", "planted", "caught")
    display("| language pair | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for lp, row in sorted(counts.items()):
        display(f"| {lp} | " + " | ".join(str(row[name]) for name in names) + " |")
    for form, count in sorted(forms.items()):
        display(f"{form} ({count})", err=True)


if __name__ == "__main__":
    run(main)
