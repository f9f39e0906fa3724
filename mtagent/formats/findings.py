"""What ``mtagent check`` found, for people and for their tools: JSON Lines, SARIF, JUnit, GitHub, and baselines."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

from mtagent.errors import InputError
from mtagent.formats.documents import shown_id
from mtagent.formats.files import dumped, parsed_lines, replacing
from mtagent.records import Severity
from mtagent.text import table
from mtagent.text.amounts import counted
from mtagent.version import __version__


class Finding(NamedTuple):
    """A fault of one translation. ``start`` and ``end`` are its place in ``target``, if it has one."""

    file: str
    line: int | None
    id: str
    check: str
    severity: Severity
    message: str
    source: str
    target: str
    start: int | None = None
    end: int | None = None
    suggestion: str | None = None
    """The text that certainly belongs at this place."""

    @property
    def known_as(self) -> tuple[str, ...]:
        """What stays the same when the file changes elsewhere."""
        return self.file, self.id, self.check, self.message

    def __str__(self) -> str:
        unit = f" ({shown_id(self.id)})" if self.id else ""
        return f"{self.file}:{self.line or 1}: {self.severity} {self.check}: {self.message}{unit}"


class Checked(NamedTuple):
    """The findings in some files, which have so many ``translations`` each."""

    findings: Sequence[Finding]
    translations: dict[str, int]
    known: int = 0
    """How many findings were left out, because a baseline has them."""


def as_text(checked: Checked) -> str:
    """A line for each finding, and a table of files."""
    lines = [str(finding) for finding in checked.findings]
    by_file: dict[str, Counter[str]] = defaultdict(Counter)
    for finding in checked.findings:
        by_file[finding.file][finding.check] += 1
    rows = []
    for file, count in checked.translations.items():
        checks = ", ".join(f"{check} {number}" for check, number in sorted(by_file[file].items()))
        rows.append((file, checks or "nothing found", str(count), str(by_file[file].total())))
    total = sum(checked.translations.values())
    if len(rows) > 1:
        rows.append(("all files", "", str(total), str(len(checked.findings))))
    note = f"{checked.known} more are in the baseline." if checked.known else ""
    by_check = table.Table(
        title="", head=("file", "checks", "translations", "findings"), rows=tuple(rows), note=note, labels=2
    )
    if lines:
        lines.append("")
    return "\n".join([*lines, table.text([by_check]), ""])


def as_json(checked: Checked) -> str:
    """An object a line for each finding."""
    return "".join(f"{dumped(finding._asdict())}\n" for finding in checked.findings)


_SARIF_LEVELS: dict[Severity, str] = {"neutral": "note", "minor": "warning", "major": "error", "critical": "error"}


def as_sarif(checked: Checked) -> str:
    """SARIF 2.1.0, as code scanning reads it."""
    results = []
    for finding in checked.findings:
        region = {"startLine": finding.line or 1}
        place = {"artifactLocation": {"uri": quote(Path(finding.file).as_posix())}, "region": region}
        identity = hashlib.sha256("\0".join(finding.known_as).encode()).hexdigest()
        results.append(
            {
                "ruleId": finding.check,
                "level": _SARIF_LEVELS[finding.severity],
                "message": {"text": f"{finding.message} (unit {finding.id})"},
                "locations": [{"physicalLocation": place}],
                "partialFingerprints": {"mtagent/v1": identity},
            }
        )
    rules = [{"id": check} for check in sorted({finding.check for finding in checked.findings})]
    driver = {"name": "mtagent", "version": __version__, "rules": rules}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, ensure_ascii=False, indent=1) + "\n"


def as_junit(checked: Checked) -> str:
    """JUnit's XML: a suite for each file, with a case for each unit that has findings, and one for the others."""
    suites = ElementTree.Element("testsuites", name="mtagent check")
    by_file: dict[str, dict[str, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    for finding in checked.findings:
        by_file[finding.file][finding.id].append(finding)
    for file, count in checked.translations.items():
        by_unit = by_file[file]
        failures = str(len(by_unit))
        tests = str(max(count, len(by_unit)))  # a unit without a translation, and a file, may have findings too
        suite = ElementTree.SubElement(suites, "testsuite", name=file, tests=tests, failures=failures, errors="0")
        for unit_id, findings in by_unit.items():
            line = str(findings[0].line or 1)
            case = ElementTree.SubElement(suite, "testcase", classname=file, name=_xml(unit_id), file=file, line=line)
            message = f"{findings[0].check}: {findings[0].message}"
            failure = ElementTree.SubElement(case, "failure", type=findings[0].severity, message=_xml(message))
            failure.text = _xml("\n".join(map(str, findings)))
        if count > len(by_unit):
            others = counted(count - len(by_unit), "other translation")
            ElementTree.SubElement(suite, "testcase", classname=file, name=others)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """The text without the characters that XML 1.0 cannot hold."""
    return "".join(char if char in "\t\n\r" or (char >= " " and char not in "\ufffe\uffff") else "�" for char in text)


def as_github(checked: Checked) -> str:
    """Commands of GitHub Actions, which annotate the lines of a pull request."""
    lines = []
    for finding in checked.findings:
        command = "warning" if finding.severity in ("neutral", "minor") else "error"
        place = f"file={_property(finding.file)},line={finding.line or 1},title={_property(finding.check)}"
        lines.append(f"::{command} {place}::{_escaped(f'{finding.message} (unit {finding.id})')}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


FINDING_FORMATS: dict[str, Callable[[Checked], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "junit": as_junit,
    "github": as_github,
}
"""The formats of ``mtagent check -f``."""

_BASELINE_FIELDS = ("file", "id", "check", "message")


def read_baseline(path: Path) -> Counter[tuple[str, ...]]:
    """How often each finding is in the baseline ``path``. Raises :class:`InputError`, beginning with ``file:line``."""
    if not path.exists():
        raise InputError(f"{path}: no such file; --update-baseline writes it")
    known = Counter[tuple[str, ...]]()
    for number, values in parsed_lines(path):
        fields = [values.get(field) for field in _BASELINE_FIELDS]
        if not all(isinstance(field, str) for field in fields):
            raise InputError(f"{path}:{number}: must have {', '.join(_BASELINE_FIELDS)}; --update-baseline writes it")
        known[tuple(map(str, fields))] += 1
    return known


def write_baseline(path: Path, findings: Iterable[Finding]) -> None:
    """Write the baseline with these findings: sorted JSON Lines, which merge well."""
    lines: list[str] = []
    for known_as in sorted(finding.known_as for finding in findings):
        values: dict[str, Any] = dict(zip(_BASELINE_FIELDS, known_as, strict=True))
        lines.append(f"{dumped(values)}\n")
    with replacing(path) as sink:
        sink.write("".join(lines))


def without_known(findings: Iterable[Finding], known: Counter[tuple[str, ...]]) -> list[Finding]:
    """The findings that aren't ``known``."""
    left = known.copy()
    new = []
    for finding in findings:
        if left[finding.known_as]:
            left[finding.known_as] -= 1
        else:
            new.append(finding)
    return new
