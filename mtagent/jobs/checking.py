"""The job of ``check``: rules over the translations of localization files, without a model, and certain repairs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.chain.guards import screen
from mtagent.config import Config
from mtagent.errors import ConfigError, InputError
from mtagent.evaluators.rules import RULES, Rules
from mtagent.formats.documents import LocalizationFile, TranslationUnit, fault, replaced
from mtagent.formats.files import replacing
from mtagent.formats.findings import Checked, Finding
from mtagent.formats.glossary import read_terms, with_terms
from mtagent.formats.localization import LocalizationFiles, OpenDocuments
from mtagent.formats.lock import Lock
from mtagent.jobs.inputs import segment_defaults
from mtagent.jobs.outputs import refuse_unwritable
from mtagent.records import ErrorSpan, Segment
from mtagent.text import edits, languages
from mtagent.text.checks import STRING_CHECKS
from mtagent.text.identification import other_language

PLURAL_FORMS = "plural-forms"
UNREADABLE = "unreadable"
"""What a file is that cannot be read. It isn't a check that can be left out."""
LANGUAGE = "language"
"""Whether the text is in another language, as far as the extra ``languages`` can tell."""
CHECK_NAMES = (*RULES, *STRING_CHECKS, PLURAL_FORMS, LANGUAGE)
"""The names of all checks."""


@dataclass(frozen=True)
class Checker:
    """Finds the faults of a translation: by the checks ``only``, or else by all, without ``skip``.

    Raises :class:`ConfigError` for a name that no check has.
    """

    only: Collection[str] = ()
    skip: Collection[str] = ()

    def __post_init__(self) -> None:
        for name in (*self.only, *self.skip):
            if name not in CHECK_NAMES:
                raise ConfigError(f"unknown check {name!r}; choose from {', '.join(CHECK_NAMES)}")

    def uses(self, name: str) -> bool:
        """Whether the check is one of those to use."""
        return name not in self.skip and (not self.only or name in self.only)

    def faults(self, segment: Segment, translation: str) -> Iterator[tuple[str, ErrorSpan]]:
        """The faults of ``translation``, each with the name of its check."""
        rules = Rules(skip=frozenset(name for name in RULES if not self.uses(name)))
        by_rules = rules.find_by_rule(segment, translation)
        yield from by_rules
        rules_with_errors = {name for name, _ in by_rules}
        if self.uses(LANGUAGE) and "untranslated" not in rules_with_errors:
            other = other_language(segment, translation)
            if other:
                complaint = f"the text is in {languages.name(other)}"
                yield LANGUAGE, ErrorSpan(text="", category="other", severity="major", explanation=complaint)
        for name, check_text in STRING_CHECKS.items():
            is_found_already = name == "end-mark" and "final-mark" in rules_with_errors
            if self.uses(name) and not is_found_already:
                for complaint in check_text(segment, translation):
                    yield name, ErrorSpan(text="", category="other", severity="minor", explanation=complaint)


class _Translated(NamedTuple):
    """A unit that has a translation, in its document."""

    document: LocalizationFile
    unit: TranslationUnit
    is_locked: bool
    segment: Segment


def _translated(files: LocalizationFiles, config: Config) -> Iterator[_Translated]:
    """The units with source and target, in the order of the files."""
    terms = read_terms(config.glossary, config.keep)
    defaults = segment_defaults(config)
    for document, unit, reason in files.examined():
        if unit.source.strip() and unit.target is not None and unit.target.strip():
            [segment] = with_terms([files.segment_of(document, unit, defaults)], terms)
            yield _Translated(document, unit, reason is not None, segment)


def check(files: LocalizationFiles, config: Config, checker: Checker) -> Checked:
    """The findings in all ``files``, by file and line. ``config`` has terms, and languages that files don't name."""
    if len(files.paths) > 1:
        return _check_each(files, config, checker)
    findings: dict[str, list[Finding]] = {str(path): [] for path in files.paths}
    translations = dict.fromkeys(findings, 0)
    for document, unit, _, segment in _translated(files, config):
        file = str(document.path)
        translations[file] += 1
        for name, span in checker.faults(segment, unit.target or ""):
            may_be_said_in_words = name in _OF_COUNTS and _is_for_one_count(unit) and span.side == "omission"
            if not may_be_said_in_words:
                findings[file].append(_finding(file, unit, name, span))
    if checker.uses(PLURAL_FORMS):
        for file, units in _units_by_file(files).items():
            findings[file] += _missing_forms(file, units)
    in_order: list[Finding] = []
    for of_file in findings.values():
        in_order += sorted(of_file, key=lambda finding: finding.line or 0)
    return Checked(in_order, translations)


_PLACE = regex.compile(r"(?:(?P<line>\d+):(?:\d+:)?)?\s*(?P<problem>.*)", regex.DOTALL)
"""What follows the name of the file in an error: perhaps its line and column, and what is wrong."""


def _check_each(files: LocalizationFiles, config: Config, checker: Checker) -> Checked:
    """The findings file by file; a file that cannot be read is a finding, so that the others are still checked."""
    findings: list[Finding] = []
    translations: dict[str, int] = {}
    for path, form in zip(files.paths, files.forms, strict=True):
        try:
            single = replace(files, paths=(path,), forms=(form,), documents=OpenDocuments())
            checked = check(single, config, checker)
        except InputError as error:
            place = _PLACE.match(str(error).removeprefix(f"{path}:"))
            assert place is not None
            line = int(place["line"]) if place["line"] else None
            findings.append(Finding(str(path), line, "", UNREADABLE, "critical", place["problem"], "", ""))
            translations[str(path)] = 0
            continue
        findings += checked.findings
        translations |= checked.translations
    return Checked(findings, translations)


_OF_COUNTS = ("placeholders", "numbers", "argument-order")


def _is_for_one_count(unit: TranslationUnit) -> bool:
    """Whether a plural form is chosen for a single number, which it may then say in words: one page."""
    return unit.plural is not None and len(unit.plural.examples) == 1


def _finding(file: str, unit: TranslationUnit, check_name: str, span: ErrorSpan) -> Finding:
    return Finding(
        file=file,
        line=unit.line or None,
        id=unit.id,
        check=check_name,
        severity=span.severity,
        message=span.explanation or span.category,
        source=unit.source,
        target=unit.target or "",
        start=span.start,
        end=span.end,
        suggestion=span.suggestion,
    )


def _units_by_file(files: LocalizationFiles) -> dict[str, list[TranslationUnit]]:
    units: dict[str, list[TranslationUnit]] = {str(path): [] for path in files.paths}
    for document, unit, _ in files.examined():
        units[str(document.path)].append(unit)
    return units


def _missing_forms(file: str, units: Iterable[TranslationUnit]) -> Iterator[Finding]:
    """A finding for each plural form without a text, of a message whose other forms have one."""
    forms: list[tuple[TranslationUnit, str]] = []
    for unit in units:
        if unit.plural is None or unit.plural.number == 0:
            yield from _empty_among(file, forms)
            forms = []
        if unit.plural is not None:
            forms.append((unit, f"form {unit.plural.number} of {unit.plural.count}"))
    yield from _empty_among(file, forms)


def _empty_among(file: str, forms: Iterable[tuple[TranslationUnit, str]]) -> Iterator[Finding]:
    empty = [(unit, form) for unit, form in forms if not (unit.target or "").strip()]
    if len(empty) == len(list(forms)):
        return
    for unit, form in empty:
        explanation = f"{form} has no text, and others have"
        span = ErrorSpan(text="", category="accuracy/omission", severity="major", explanation=explanation)
        yield _finding(file, unit, PLURAL_FORMS, span)


def repair(files: LocalizationFiles, config: Config, checker: Checker, lock: Lock | None = None) -> dict[Path, int]:
    """Repair in place what is certain; returns how many units changed, by file. The ``lock`` follows.

    A repair that would damage the text, or that the file cannot hold, is left out. Locked and approved units stay.
    """
    documents: dict[Path, LocalizationFile] = {}
    targets: dict[Path, dict[str, str]] = {}
    repaired: dict[Path, list[TranslationUnit]] = {}
    for document, unit, is_locked, segment in _translated(files, config):
        target = unit.target or ""
        if is_locked:
            continue
        spans = [span for _, span in checker.faults(segment, target) if span.suggestion is not None]
        _, text, _ = screen(segment, target, edits.locate(target, spans))
        if text != target and fault(document, unit, text) is None:
            documents[document.path] = document
            targets.setdefault(document.path, {})[unit.id] = text
            repaired.setdefault(document.path, []).append(unit)
    for path in documents:
        refuse_unwritable(path)
    if lock is not None and repaired:
        refuse_unwritable(lock.path)
    for path, document in documents.items():
        data = replaced(document, targets[path])
        with replacing(path) as sink:
            sink.write_bytes(data)
        if lock is not None:  # at once: if the next file cannot be written, these texts must not look like a person's
            for unit in repaired[path]:
                lock.follow(path, unit, targets[path][unit.id])
            lock.write()
    return {path: len(changed) for path, changed in targets.items()}
