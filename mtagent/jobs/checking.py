"""The job of ``check``: rules over the translations of localization files, without a model, and certain repairs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mtagent.chain.guards import screen
from mtagent.errors import ConfigError
from mtagent.evaluators.rules import RULES, Rules
from mtagent.formats.documents import TranslationUnit, fault, replaced
from mtagent.formats.files import replacing
from mtagent.formats.findings import Checked, Finding
from mtagent.formats.localization import LocalizationFiles
from mtagent.formats.segments import SegmentDefaults
from mtagent.records import ErrorSpan, Segment
from mtagent.text import edits
from mtagent.text.checks import STRING_CHECKS

PLURAL_FORMS = "plural-forms"
CHECK_NAMES = (*RULES, *STRING_CHECKS, PLURAL_FORMS)
"""The names of all checks."""


@dataclass(frozen=True)
class Checker:
    """Finds the faults of translations; ``only`` these checks if any, without ``skip``.

    Raises :class:`ConfigError` for the name of no check.
    """

    only: Collection[str] = ()
    skip: Collection[str] = ()

    def __post_init__(self) -> None:
        for name in (*self.only, *self.skip):
            if name not in CHECK_NAMES:
                raise ConfigError(f"unknown check {name!r}; choose from {', '.join(CHECK_NAMES)}")

    def _wants(self, name: str) -> bool:
        return name not in self.skip and (not self.only or name in self.only)

    def faults(self, segment: Segment, translation: str) -> Iterator[tuple[str, ErrorSpan]]:
        """Each fault of a translation, with the name of its check. Faults without a place have an empty text."""
        rules = Rules(skip=frozenset(name for name in RULES if not self._wants(name)))
        yield from rules.find_by_rule(segment, translation)
        for name, check in STRING_CHECKS.items():
            if self._wants(name):
                for complaint in check(segment, translation):
                    yield name, ErrorSpan(text="", category="other", severity="minor", explanation=complaint)

    def check(self, files: LocalizationFiles, defaults: SegmentDefaults) -> Checked:
        """The findings in all ``files``, by file and line. ``defaults`` has the languages that files don't name."""
        findings: list[Finding] = []
        translations: dict[str, int] = {str(path): 0 for path in files.paths}
        units_by_file: dict[str, list[TranslationUnit]] = {path: [] for path in translations}
        for document, unit, _ in files.examined():
            file = str(document.path)
            units_by_file[file].append(unit)
            if not unit.source.strip() or not (unit.target or "").strip():
                continue
            translations[file] += 1
            segment = files.segment_of(document, unit, defaults)
            for name, span in self.faults(segment, unit.target or ""):
                findings.append(_finding(file, unit, name, span))
        if self._wants(PLURAL_FORMS):
            for file, units in units_by_file.items():
                findings += _missing_forms(file, units)
        findings.sort(key=lambda finding: (list(translations).index(finding.file), finding.line or 0))
        return Checked(findings, translations)


def _finding(file: str, unit: TranslationUnit, check: str, span: ErrorSpan) -> Finding:
    return Finding(
        file=file,
        line=unit.line or None,
        id=unit.id,
        check=check,
        severity=span.severity,
        message=span.explanation or span.category,
        source=unit.source,
        target=unit.target or "",
        start=span.start,
        end=span.end,
        suggestion=span.suggestion,
    )


def _missing_forms(file: str, units: Iterable[TranslationUnit]) -> Iterator[Finding]:
    """A finding for each plural form without a text, of a message whose other forms have one."""
    message: list[TranslationUnit] = []
    for unit in (*units, None):
        begins_message = unit is None or unit.plural is None or unit.plural.number == 0
        if begins_message:
            empty = [form for form in message if not (form.target or "").strip()]
            if len(empty) < len(message):
                for form in empty:
                    assert form.plural is not None
                    explanation = f"form {form.plural.number} of {form.plural.count} has no text, and others have"
                    span = ErrorSpan(text="", category="other", severity="major", explanation=explanation)
                    yield _finding(file, form, PLURAL_FORMS, span)
            message = []
        if unit is not None and unit.plural is not None:
            message.append(unit)


@dataclass(frozen=True)
class Repair:
    """What was repaired in a file: how many ``units``, and how many findings had no certain repair (``left``)."""

    path: Path
    units: int
    left: int


def repaired(segment: Segment, translation: str, faults: Iterable[ErrorSpan]) -> str:
    """The translation with the suggestions of ``faults``, except those that would do damage."""
    with_suggestions = [span for span in faults if span.suggestion is not None and span.start is not None]
    located = edits.locate(translation, with_suggestions)
    _, text, _ = screen(segment, translation, located)
    return text


def repair(files: LocalizationFiles, checker: Checker, defaults: SegmentDefaults) -> Mapping[Path, int]:
    """Repair what is certain in the files, in place; the number of units that changed by file.

    Locked and approved units stay as they are.
    """
    changed: dict[Path, int] = {}
    targets: dict[Path, dict[str, str]] = {path: {} for path in files.paths}
    documents = {}
    for document, unit, reason in files.examined():
        documents[document.path] = document
        if reason is not None or not (unit.target or "").strip():
            continue
        target = unit.target or ""
        segment = files.segment_of(document, unit, defaults)
        text = repaired(segment, target, [span for _, span in checker.faults(segment, target)])
        if text != target and fault(document, unit, text) is None:
            targets[document.path][unit.id] = text
    for path, document in documents.items():
        if targets[path]:
            data = replaced(document, targets[path])
            with replacing(path) as sink:
                sink.write_bytes(data)
        changed[path] = len(targets[path])
    return changed
