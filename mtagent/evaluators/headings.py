"""Errors listed as text under the headings Critical, Major and Minor, in the shapes that models give them.

This is the reply of GEMBA-MQM (``accuracy/mistranslation - "span"``) and of EAPrompt (``(1) "span" - Mistranslation``).
A line is a heading, one or more errors, a stated "no-error", or a remark; what is none of them makes the reply
unreadable. Quoted spans are marked first (:mod:`mtagent.evaluators.quoted`), so that nothing in them is taken for
structure, and lines of errors are read in :mod:`mtagent.evaluators.listed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

import regex

from mtagent.errors import RatingParseError
from mtagent.evaluators.annotations import located, named_severity, read_annotations, read_error, read_items
from mtagent.evaluators.listed import Item, Known, category_of, is_category, plain, read_listed, says_none
from mtagent.evaluators.quoted import MARK, Line, read_lines
from mtagent.llm.plain import whole_characters
from mtagent.llm.reading import EXCERPT, Pairs, read_json, without_thoughts
from mtagent.records import ErrorSpan, Severity

REQUIRED: tuple[Severity, ...] = ("major", "minor")
_SEVERITY = r"(critical|major|minor|neutral)"
_ERRORS = r"(?:[\s-](?:severity|level))?(?:\s(?:translation\s)?(?:errors?|issues?|problems?|mistakes?))?"
_HEADING = regex.compile(
    rf"[\[<(]?{_SEVERITY}{_ERRORS}[\])>]?(?:\s?\([^(){MARK}]{{0,80}}\))?\s?(?:[:：]|(?P<dash>[-–—]\s)|$)\*?\s*+",
    regex.IGNORECASE,
)
_WITHIN = regex.compile(rf"\b{_SEVERITY}{_ERRORS}(?:\s?\([^(){MARK}]{{0,40}}\))?\s?[:：]\s*+", regex.IGNORECASE)
_ENDS = (MARK, ".", ";", "|", ",", ")", "annotations:")
_NONE_OF = regex.compile(
    rf"(?:there\s(?:are|is|were)\s)?no\s({_SEVERITY}(?:(?:,\s|\sor\s|\sand\s|/|,\sor\s){_SEVERITY})*+)"
    r"[\s-]+(?:translation\s)?(?:errors?|issues?)(?:\s(?:were\s|are\s)?(?:found|identified|detected|present))?\W*+",
    regex.IGNORECASE,
)
_NAMES = regex.compile(_SEVERITY, regex.IGNORECASE)
_FENCE = regex.compile(r"^[ \t]*+```[\w-]*+[ \t]*+$\n?", regex.MULTILINE)
_JSON = regex.compile(r"^[ \t]*+(?:\{|\[\s*+[\[{\"'\]])|\{\s*+[\"']", regex.MULTILINE)
_LABEL = regex.compile(r"(explanation|reason(?:ing)?|rationale|justification|comment)\s?[:：]\s*+", regex.IGNORECASE)
_SUGGESTION = regex.compile(
    rf"(?:suggest(?:ion|ed(?:\s\w+)?)|correct(?:ion|ed(?:\s\w+)?)|fix)\s?[:：]\s?{MARK}\.?", regex.IGNORECASE
)
_CATEGORY = regex.compile(r"(?:error\s)?(?:category|type)\s?[:：]\s*+([^:：]++)", regex.IGNORECASE)
_REMARK = regex.compile(
    r"overall|in\s(?:summary|conclusion|total|general|short)|to\s(?:sum|conclude)|summary|conclusion|notes?\b|please"
    r"|let\sme\sknow|i\shope|hope\sth|if\syou|feel\sfree|based\son|total|(?:mqm\s|overall\s|quality\s|final\s)?score"
    r"|<score>|final|all\sother|all\sin\sall|no\s(?:other|further|additional|more)\b|other\sthan|apart\sfrom|otherwise"
    r"|thank|end\sof|(?:corrected|improved|suggested|better|revised)\s(?:translation|version)|explanations?\b|[-=*_~]{3,}$",
    regex.IGNORECASE,
)
_ABOUT_ALL = regex.compile(
    r"the\s(?:rest|remaining|other|above|final|translation|overall)|this\stranslation|these", regex.IGNORECASE
)
_COMPLAINT = regex.compile(
    r"error|mistransl|omi(?:t|ss)|should|wrong|incorrect|missing|inaccura|awkward|\balso\b", regex.IGNORECASE
)


@dataclass
class _Section:
    """What stands under one heading; ``errors`` as :func:`read_error` takes them."""

    severity: Severity
    errors: list[dict[str, Any]] = field(default_factory=list)
    states_none: bool = False

    def add(self, items: Iterable[Item]) -> None:
        self.errors += [item.fields(self.severity) for item in items]


@dataclass
class _Reading:
    """What has been read so far."""

    known: Known
    sections: list[_Section] = field(default_factory=list)
    introduction: list[Line] = field(default_factory=list)
    remarks: list[Line] = field(default_factory=list)
    none: set[Severity] = field(default_factory=set)
    after_blank: bool = False
    in_remark: bool = False

    def add_none(self, statement: str) -> None:
        """Take over what a line like "There are no major or critical errors" states, under a heading or without."""
        for severity in _NAMES.findall(statement):
            self.none |= set(_named(severity))
        if self.sections and self.sections[-1].severity in self.none:
            self.sections[-1].states_none = True


def read_headed(reply: str, translation: str, *, source: str = "") -> tuple[ErrorSpan, ...]:
    """The errors in ``reply``, located in ``translation`` where that is certain.

    ``()`` only where it is stated that there is no major and no minor error. The ``source`` helps to tell where a
    quoted omission ends. JSON in place of the list is read too, also with the severities as keys. Raises
    :class:`RatingParseError` for a reply without a heading, for one that seems cut off, and for one with a line that
    is neither an error, nor "no-error", nor a remark at its end.
    """
    answer = without_thoughts(whole_characters(reply)).strip().removeprefix("\ufeff")
    reading = _Reading(Known(translation, source))
    if not _JSON.match(_FENCE.sub("", answer).strip()):
        _read_text(_FENCE.sub("", answer).strip(), reading)
    if not (reading.sections or reading.none):
        if not _JSON.search(answer):
            _fail("it has no heading (Critical, Major, Minor)", answer)
        reading.sections = _sections_in_json(read_json(answer), reading.known)
        if not reading.sections:
            return read_annotations(answer, translation, named_severity)
    return _errors(reading)


def _read_text(answer: str, reading: _Reading) -> None:
    for line in map(plain, read_lines(answer, reading.known.texts)):
        if _NONE_OF.fullmatch(line.text):
            reading.add_none(line.text)
        else:
            for severities, part in _pieces(line):
                reading.sections += map(_Section, severities)
                reading.in_remark = reading.in_remark and not severities
                if part.text:
                    _read_line(part, reading)
        reading.after_blank = not line.text
        reading.in_remark = reading.in_remark and not reading.after_blank


def _pieces(line: Line) -> Iterator[tuple[list[Severity], Line]]:
    """A line cut at the headings in it: the severity that each piece begins, if it begins one, and its text."""
    heading = _HEADING.match(line.text)
    if heading and heading["dash"] and not (heading.end() < len(line.text) and _is_content(line.part(heading.end()))):
        heading = None
    at, severities = (heading.end(), _named(heading[1])) if heading else (0, [])
    for within in _WITHIN.finditer(line.text, at):
        before = line.part(at, within.start())
        if before.text.endswith(_ENDS) or says_none(before):
            yield severities, before
            at, severities = within.end(), _named(within[1])
    yield severities, line.part(at)


def _named(severity: str) -> list[Severity]:
    return [cast(Severity, severity.casefold())]


def _is_content(line: Line) -> bool:
    return says_none(line) or MARK in line.text or "/" in line.text


def _read_line(line: Line, reading: _Reading) -> None:
    if not reading.sections:
        reading.introduction.append(line)
        return
    section = reading.sections[-1]
    if says_none(line):
        section.states_none = True
    elif not reading.after_blank and _explains_last(line, section):
        return
    elif _is_remark(line, section, reading):
        reading.remarks.append(line)
        reading.in_remark = True
    elif line.open:
        section.add(_without_end_of_quote(line, reading.known))
    elif (items := read_listed(line, reading.known)) is not None:
        section.add(items)
    else:
        _fail("a line is neither an error with its category and its span in quotes, nor no-error", line.written())


def _without_end_of_quote(line: Line, known: Known) -> list[Item]:
    """The error of a line whose last quote has no end, if that is because it stands so in the texts."""
    items = read_listed(Line(line.written()), known)
    if items is None or any(item.explanation for item in items):
        _fail("a quotation does not end: it is cut off, or quotes stand inside of it", line.written())
    return items


def _is_remark(line: Line, section: _Section, reading: _Reading) -> bool:
    """Whether a line belongs to what a model says after it has listed the errors."""
    if not (section.errors or section.states_none):
        return False
    text = line.text.lstrip("([")
    if reading.in_remark or _REMARK.match(text):
        return True
    return reading.after_blank and _ABOUT_ALL.match(text) is not None


def _explains_last(line: Line, section: _Section) -> bool:
    """Whether a line says more about the error above it; takes it over if so."""
    if not section.errors:
        return False
    error = section.errors[-1]
    if _SUGGESTION.fullmatch(line.text) and error["suggestion"] is None:
        error["suggestion"] = line.quoted[0].text
    elif (named := _CATEGORY.fullmatch(line.text)) and is_category(named[1]) and error["category"] == "other":
        error["category"] = category_of(named[1])
    elif (label := _LABEL.match(line.text)) and error["explanation"] is None:
        error["explanation"] = line.part(label.end()).written()
    else:
        return False
    return True


def _sections_in_json(data: Any, known: Known) -> list[_Section]:
    """The sections of an object with severities as keys; none for JSON of another shape."""
    pairs = _pairs(data)
    if len(pairs) == 1 and _pairs(pairs[0][1]):
        pairs = _pairs(pairs[0][1])
    keys = [_HEADING.fullmatch(str(key)) for key, _ in pairs]
    return [
        _section_in_json(_Section(_named(key[1])[0]), value, known)
        for key, (_, value) in zip(keys, pairs, strict=True)
        if key and all(keys)
    ]


def _pairs(data: Any) -> list[tuple[str, Any]]:
    return list(data.items()) if isinstance(data, dict) else list(data) if isinstance(data, Pairs) else []


def _section_in_json(section: _Section, value: Any, known: Known) -> _Section:
    for one in value if isinstance(value, list) and not isinstance(value, Pairs) else [value]:
        if isinstance(one, str):
            for line in read_lines(one, known.texts):
                _read_line(plain(line), _Reading(known, [section]))
        elif one is not None:
            section.errors += [{**error, "severity": section.severity} for error in read_items(one)]
    section.states_none = section.states_none or not section.errors
    return section


def _errors(reading: _Reading) -> tuple[ErrorSpan, ...]:
    """The errors of all sections, if nothing speaks against it that these are all."""
    translation, found, stated = reading.known.translation, list[ErrorSpan](), reading.none
    for section in reading.sections:
        errors = [read_error(error, translation, named_severity) for error in section.errors]
        found += [error for error in errors if error]
        if section.states_none or None in errors:
            stated.add(section.severity)
    for last in reading.sections[-1:]:
        if not (last.errors or last.states_none):
            _fail("nothing stands under the last heading: neither an error nor no-error", last.severity)
    if not found and not stated.issuperset(REQUIRED):
        _fail("it names no error, but does not say no-error under each heading", ", ".join(sorted(stated)))
    _check_remarks(reading, found)
    return located(found, translation)


def _check_remarks(reading: _Reading, found: list[ErrorSpan]) -> None:
    """Raise if an error is named outside of the lists only."""
    spans = {error.text for error in found}
    for line in (*reading.introduction, *reading.remarks):
        items = read_listed(line, reading.known) if line.quoted else None
        named = [item.span for item in items or () if is_category(item.category)]
        if line in reading.remarks and not named and _COMPLAINT.search(line.text):
            named = [quoted.text for quoted in line.quoted]
        if named and spans.isdisjoint(named):
            _fail("an error is named outside of the lists", line.written())


def _fail(problem: str, culprit: str) -> NoReturn:
    shown = culprit if len(culprit) <= EXCERPT else f"{culprit[:EXCERPT]}…"
    raise RatingParseError(f"{problem}: {shown!r}") from None
