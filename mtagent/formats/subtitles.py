"""Subtitles in SubRip and WebVTT: cues keep their numbers, times and settings, and are never merged or moved.

A sentence that goes on in the next cue is one unit, in which ``<1/>``, ``<2/>`` … stand for the cuts between cues. A
new target is cut at the same placeholders and wrapped into lines that fit on a screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import regex

from mtagent.errors import InputError
from mtagent.formats.documents import (
    ByteEdit,
    TextEdit,
    TranslationUnit,
    content_of,
    decoded,
    newline_of,
    refuse_repeated_ids,
)
from mtagent.formats.monolingual import language_in_path, source_file
from mtagent.formats.xml_spans import character_fault
from mtagent.text import languages, scripts

LONGEST_LINE = 42
"""Characters in a line, as broadcasters and streaming services ask for; half of it in Chinese, Japanese and Korean."""
MOST_LINES = 2
MOST_PER_SECOND = 20
"""Characters that can be read in a second; a cue may always be as long as its source."""
MOST_CUES = 8
"""Cues of a sentence. Automatic captions have no punctuation: without a limit, all of them would be one unit."""
_LONGEST_PAUSE = 1.0  # seconds, within a sentence
_TIME = (
    r"(?:(?P<{0}_hours>\d{{1,9}}):)?(?P<{0}_minutes>[0-5]?\d):(?P<{0}_seconds>[0-5]?\d)"
    r"(?:[,.](?P<{0}_fraction>\d{{1,3}}))?"
)
_TIMES = regex.compile(rf"[ \t]*{_TIME.format('start')}[ \t]*-->[ \t]*{_TIME.format('end')}(?:[ \t]+\S.*)?[ \t]*")
_NOT_CUES = regex.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t].*)?")
_SENTENCE_END = regex.compile(r"[.!?…。！？؟।♪:;][\p{Pe}\p{Pf}\"'*]*(?:</?[^<>]*>|\s)*\Z")
_DIALOGUE = regex.compile(r"(?:<[^<>]*>|\{[^{}]*\}|\s)*(?:[-–—♪\[(]|<v[ .])")


@dataclass(frozen=True, slots=True)
class Cue:
    """A subtitle: its text is at the characters ``start`` to ``end`` of the content, and shown at these seconds."""

    number: str
    line: int
    start: int
    end: int
    text: str
    shown: float
    hidden: float

    @property
    def seconds(self) -> float:
        """How long the text is shown."""
        return self.hidden - self.shown


class _Line(NamedTuple):
    number: int
    start: int
    text: str


def _lines(content: str) -> list[_Line]:
    lines = []
    start = 0
    for number, line in enumerate(content.split("\n"), start=1):
        lines.append(_Line(number, start, line.removesuffix("\r")))
        start += len(line) + 1
    return lines


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """The lines between blank lines. A line of times also begins a block, with the number before it."""
    block: list[_Line] = []
    has_times = False
    for line in lines:
        text = line.text.strip()
        if not text:
            if len(block) != 1 or not block[0].text.strip().isdecimal():  # a number may have a blank line after it
                yield block
                block, has_times = [], False
            continue
        are_times = "-->" in text and _TIMES.fullmatch(line.text) is not None
        if are_times and has_times:
            numbers = [block.pop()] if block[-1].text.strip().isdecimal() else []
            yield block
            block = numbers
        has_times = has_times or are_times
        block.append(line)
    yield block


def read_cues(path: Path, content: str, *, is_webvtt: bool) -> list[Cue]:
    """The cues of a file. Raises :class:`InputError`, beginning with ``file:line``."""
    blocks = [block for block in _blocks(_lines(content)) if block]
    if is_webvtt:
        if not blocks or not regex.fullmatch(r"WEBVTT(?:[ \t].*)?", blocks[0][0].text):
            raise InputError(f"{path}:1: the first line must be WEBVTT; restore it")
        # Headers of old files have settings, and even styles, without a blank line before them; a cue ends the header.
        header = blocks.pop(0)
        after_header = [place for place, line in enumerate(header) if "-->" in line.text]
        if after_header:
            blocks.insert(0, header[after_header[0] :])
        # Players skip what has no times.
        blocks = [block for block in blocks if any("-->" in line.text for line in block)]
        blocks = [block for block in blocks if not _NOT_CUES.fullmatch(block[0].text)]
    cues: list[Cue] = []
    for block in blocks:
        cue = _cue(path, content, block, str(len(cues) + 1))
        if not is_webvtt and not cue.number.isdecimal():
            raise InputError(f"{path}:{cue.line}: expected the number of a cue, not {cue.number[:60]!r}; correct it")
        cues.append(cue)
    if not cues:
        raise InputError(f"{path}: has no cues; restore the file, or leave it out")
    if len({cue.number for cue in cues}) < len(cues):  # some are repeated, so the cues are counted instead
        return [replace(cue, number=str(number)) for number, cue in enumerate(cues, start=1)]
    return cues


def _cue(path: Path, content: str, block: Sequence[_Line], number: str) -> Cue:
    """The cue in a block of lines: perhaps a number, the times, and the text."""
    times = _TIMES.fullmatch(block[0].text)
    head = 1
    if times is None:
        number = block[0].text.strip()
        times = _TIMES.fullmatch(block[1].text) if len(block) > 1 else None
        head = 2
    if times is None:
        wrong = block[0] if "-->" in block[0].text or len(block) == 1 else block[1]
        raise InputError(
            f"{path}:{wrong.number}: expected the times of a cue, as in 00:00:01,000 --> 00:00:02,500, "
            f"not {wrong.text.strip()[:60]!r}; a cue has no blank line within its text"
        )
    shown, hidden = _seconds(times, "start"), _seconds(times, "end")
    times_line = block[head - 1]
    if hidden < shown:
        raise InputError(f"{path}:{times_line.number}: the cue ends before it begins; correct its times")
    text_lines = block[head:]
    if text_lines:
        last = text_lines[-1]
        start, end = text_lines[0].start, last.start + len(last.text)
    else:  # after the line of the times
        start = end = min(times_line.start + len(content[times_line.start :].split("\n", 1)[0]) + 1, len(content))
    text = "\n".join(line.text for line in text_lines)
    return Cue(number, block[0].number, start, end, text, shown, hidden)


def _seconds(times: regex.Match[str], name: str) -> float:
    hours, minutes = int(times[f"{name}_hours"] or 0), int(times[f"{name}_minutes"])
    return hours * 3600 + minutes * 60 + int(times[f"{name}_seconds"]) + float(f"0.{times[f'{name}_fraction'] or 0}")


def sentences(cues: Sequence[Cue]) -> list[list[Cue]]:
    """The cues, grouped where a sentence goes on in the next one."""
    groups: list[list[Cue]] = []
    for cue in cues:
        former = groups[-1][-1] if groups else None
        goes_on = (
            former is not None
            and len(groups[-1]) < MOST_CUES
            and bool(former.text.strip())
            and bool(cue.text.strip())
            and not _SENTENCE_END.search(former.text)
            and not _DIALOGUE.match(cue.text)
            and not _DIALOGUE.match(former.text)
            and _begins_within_sentence(former.text, cue.text)
            and cue.shown - former.hidden <= _LONGEST_PAUSE
        )
        if goes_on:
            groups[-1].append(cue)
        else:
            groups.append([cue])
    return groups


def _begins_within_sentence(former: str, text: str) -> bool:
    letter = next((character for character in text if character.isalpha()), "")
    return not letter.isupper() or former.rstrip().endswith(",")


def _cut(number: int) -> str:
    return f"<{number}/>"


def _joined(cues: Sequence[Cue]) -> str:
    """The texts, with placeholders for the cuts between them."""
    text = cues[0].text
    for number, cue in enumerate(cues[1:], start=1):
        text += f" {_cut(number)} {cue.text}"
    return text


class SubtitleFile:
    """Subtitles that have been read; without a ``source`` file, the file has the sources, and no targets."""

    def __init__(self, path: Path, source: Path | None, target_lang: str | None, *, is_webvtt: bool) -> None:
        self.path = path
        self.data = content_of(path)
        self._file = decoded(path, self.data)
        self._newline = newline_of(self.data, self._file.encoding)
        cues = read_cues(path, self._file.content, is_webvtt=is_webvtt)
        source_cues = cues
        source_lang = language_in_path(path)
        if source is not None:
            source = source_file(path, source)
            content = decoded(source, content_of(source)).content
            source_cues = read_cues(source, content, is_webvtt=is_webvtt)
            _refuse_other_times(path, cues, source, source_cues)
            target_lang = language_in_path(path) or target_lang
            source_lang = language_in_path(source)
        self._line_length = LONGEST_LINE
        if target_lang is not None and not scripts.has_spaces(languages.normalise(target_lang)):
            self._line_length //= 2
        self._cues: dict[str, list[Cue]] = {}
        self._source_cues: dict[str, list[Cue]] = {}
        self.units: list[TranslationUnit] = []
        place = 0
        for group in sentences(source_cues):
            own = cues[place : place + len(group)]
            place += len(group)
            unit_id = group[0].number if len(group) == 1 else f"{group[0].number}-{group[-1].number}"
            self._cues[unit_id], self._source_cues[unit_id] = own, group
            has_target = source is not None and any(cue.text.strip() for cue in own)
            self.units.append(
                TranslationUnit(
                    id=unit_id,
                    source=_joined(group),
                    target=_joined(own) if has_target else None,
                    state="translated" if has_target else "new",
                    max_length=sum(map(self._most, group)) + 2 * (len(group) - 1),  # with the spaces around cuts
                    inline={_cut(cut): "the next subtitle" for cut in range(1, len(group))},
                    source_lang=source_lang,
                    target_lang=target_lang,
                    line=own[0].line,
                )
            )
        refuse_repeated_ids(path, self.units)

    def _most(self, cue: Cue) -> int:
        """The most characters that a cue may have."""
        readable = min(MOST_LINES * self._line_length, int(MOST_PER_SECOND * cue.seconds))
        return max(readable, len(cue.text))

    def fault(self, unit: TranslationUnit, target: str) -> str | None:
        """Why a cue cannot hold its part of the target; ``None`` if all can."""
        problem = character_fault(target, "a text")
        if problem:
            return problem
        cues = self._source_cues[unit.id]
        parts = _parts(target, len(cues))
        if parts is None:
            return "has the cuts between its subtitles in another order; put them in the source's order"
        for cue, part in zip(cues, parts, strict=True):
            if cue.text.strip() and not part:
                return f"leaves subtitle {cue.number} empty; put a part of the text there"
            most = self._most(cue)
            if len(part) > most:
                return f"has {len(part)} characters in subtitle {cue.number}, and at most {most} fit; shorten it"
            if any(not line.strip() for line in part.splitlines()):
                return "has a blank line, which ends a subtitle; take it out"
            if "-->" in part:
                return "has -->, which is for times; take it out"
        return None

    def edits(self, targets: Mapping[str, str]) -> list[ByteEdit]:
        """The changes of the cues' texts."""
        edits = []
        for unit_id, target in targets.items():
            cues = self._cues[unit_id]
            for cue, part in zip(cues, _parts(target, len(cues)) or (), strict=True):
                text = part
                if part == cue.text.strip():
                    continue
                if part.split() != cue.text.split():
                    text = wrapped(part, self._line_length, max(MOST_LINES, cue.text.count("\n") + 1))
                elif "\n" not in part:
                    continue  # only the cut has moved
                written = text.replace("\n", self._newline)
                if cue.start == cue.end and written:
                    written += self._newline
                    if not self._file.content[: cue.start].endswith("\n"):
                        written = self._newline + written.removesuffix(self._newline)
                edits.append(TextEdit(cue.start, cue.end, written))
        return self._file.byte_edits(edits)


def _parts(target: str, count: int) -> list[str] | None:
    """The texts of ``count`` cues; ``None`` if the cuts aren't in their order."""
    parts = []
    rest = target
    for number in range(1, count):
        part, cut, rest = rest.partition(_cut(number))
        if not cut:
            return None
        parts.append(part.strip())
    return [*parts, rest.strip()]


def wrapped(text: str, length: int, most_lines: int) -> str:
    """The text in lines of at most ``length`` characters, as even as possible; unchanged if its lines fit already."""
    lines = text.split("\n")
    fits = len(lines) <= most_lines and all(len(line) <= length for line in lines)
    if fits or _DIALOGUE.match(text):
        return text
    words = text.split()
    if len(words) < 2 or len(" ".join(words)) <= length:
        return " ".join(words)
    whole = " ".join(words)
    spaces = [place for place, character in enumerate(whole) if character == " "]
    middle = min(spaces, key=lambda place: (max(place, len(whole) - place - 1) > length, abs(2 * place - len(whole))))
    return f"{whole[:middle]}\n{whole[middle + 1 :]}"


def _refuse_other_times(path: Path, cues: Sequence[Cue], source: Path, source_cues: Sequence[Cue]) -> None:
    """Raise :class:`InputError` unless both files have the same cues."""
    for cue, source_cue in zip(cues, source_cues, strict=False):
        if (cue.shown, cue.hidden) != (source_cue.shown, source_cue.hidden):
            raise InputError(
                f"{path}:{cue.line}: cue {cue.number} has other times than {source}:{source_cue.line}; "
                "both files must have the same cues"
            )
    if len(cues) != len(source_cues):
        raise InputError(f"{path}: has {len(cues)} cues, and {source} has {len(source_cues)}; they must be the same")


class SubRip:
    """Subtitles of SubRip."""

    name = "srt"
    suffixes: tuple[str, ...] = (".srt",)

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> SubtitleFile:
        """Read a file, and perhaps the file with its sources."""
        return SubtitleFile(path, source, target_lang, is_webvtt=False)


class WebVtt:
    """Subtitles of the web."""

    name = "vtt"
    suffixes: tuple[str, ...] = (".vtt",)

    def open(self, path: Path, source: Path | None = None, target_lang: str | None = None) -> SubtitleFile:
        """Read a file, and perhaps the file with its sources."""
        return SubtitleFile(path, source, target_lang, is_webvtt=True)


SRT = SubRip()
VTT = WebVtt()
