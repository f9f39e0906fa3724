"""From error spans to located edits to an edited text.

All spans are located first on the unmodified text, then applied in one pass, literally. The result does not depend on
the order of the spans, applying an edit twice changes nothing more, and every applied edit can be reverted alone. The
paper's own procedure is in :func:`mtagent.chain.correct.substitute`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from mtagent.records import Edit, ErrorSpan
from mtagent.text import paragraphs
from mtagent.text.scripts import is_spaced, without_stray_spaces, words
from mtagent.text.spans import Location, TextRange, find_spans, normalise, normalised, occurrences, on_word_boundaries

OnAmbiguous = Literal["skip", "spaced", "first", "all"]
"""What to do with a span that may mean several places."""
_OPENING = "([{¿¡«“„\"'"
_BINDING = _OPENING + "-/’@#"
_RANK = {"critical": 0, "major": 1, "minor": 2, "neutral": 3}
_CLOSING = ".,;:!?)]}\r\n\u00a0\u202f"


def locate(
    text: str, errors: Iterable[ErrorSpan], *, on_ambiguous: OnAmbiguous | Sequence[OnAmbiguous] = "skip"
) -> tuple[Edit, ...]:
    """One edit or more for each error that suggests a change, with the outcome that :func:`apply` will give it.

    ``on_ambiguous`` decides about a span that may mean several places: ``skip`` reports it, ``spaced`` takes the only
    one between spaces (the paper's rule), ``first`` the first and ``all`` all of them. Of several policies, the first
    that finds a place decides. Errors without a suggestion, or that suggest what is there already, give no edit.
    """
    policies: Sequence[OnAmbiguous] = (on_ambiguous,) if isinstance(on_ambiguous, str) else on_ambiguous
    insertions: list[Edit] = []
    unlocated: list[Edit] = []
    marked: list[ErrorSpan] = []
    for error in errors:
        if error.suggestion is None:
            continue
        error = _without_stray_spaces(text, error)
        if error.side == "omission":  # an omitted name may be the same in both languages
            insertions.append(_insertion(text, error))
        elif error.suggestion == error.text:
            continue
        elif error.side == "source":
            unlocated.append(_unlocated(error, "not-found", "the span marks the source"))
        else:
            marked.append(error)
    edits = insertions + unlocated
    locations = _share_out(marked, find_spans(text, marked))
    for error, location in zip(marked, locations, strict=True):
        places: Sequence[TextRange] = location.places
        if not location.certain:
            places = _chosen(text, location.places, policies)
        if places:
            edits += [_replacement(text, error, place) for place in places]
        elif location.places:
            edits.append(_unlocated(error, "ambiguous", location.why))
        else:
            edits.append(_unlocated(error, "not-found", location.why))
    return _without_overlaps(edits)


def _without_stray_spaces(text: str, error: ErrorSpan) -> ErrorSpan:
    """``error`` without the zero-width spaces that its suggestion would bring into ``text``."""
    suggestion = without_stray_spaces(error.suggestion or "", text)
    return error if suggestion == error.suggestion else error.model_copy(update={"suggestion": suggestion})


def apply(text: str, edits: Sequence[Edit]) -> str:
    """``text`` with all edits whose outcome is ``applied``, in one pass from left to right.

    Raises ``ValueError`` where an edit does not fit the text or overlaps another; equal edits count once.
    """
    pieces: list[str] = []
    done = 0
    for start, end, old, new in sorted(_changes(edits)):
        if start < done or text[start:end] != old:
            raise ValueError(f"the edit {old!r} -> {new!r} at {start} does not fit the text")
        pieces += [text[done:start], new]
        done = end
    pieces.append(text[done:])
    return "".join(pieces)


def _changes(edits: Iterable[Edit]) -> set[tuple[int, int, str, str]]:
    """Start, end, old and new text of all edits that are applied."""
    return {(_start(edit), _end(edit), edit.old, edit.new) for edit in edits if edit.outcome == "applied"}


def between(before: str, after: str, lang: str = "") -> tuple[Edit, ...]:
    """The edits that turn ``before`` into ``after``: one per changed sentence, or for more where these belong together.

    If the paragraph breaks differ, it is one edit for all. Sentences end as they do in ``lang``. Zero-width spaces that
    ``after`` would bring in are left out.
    """
    after = without_stray_spaces(after, before)
    old, new = paragraphs.split(before), paragraphs.split(after)
    if old.separators != new.separators:
        whole = Edit(old=before, new=after, start=0, end=len(before), outcome="applied")
        return (whole,) if before != after else ()
    edits: list[Edit] = []
    start = 0
    for separator, old_paragraph, new_paragraph in zip(old.separators, old.texts, new.texts, strict=False):
        start += len(separator)
        if old_paragraph != new_paragraph:
            edits += _between_sentences(old_paragraph, new_paragraph, start, lang)
        start += len(old_paragraph)
    return tuple(edits)


def _between_sentences(before: str, after: str, start: int, lang: str) -> Iterator[Edit]:
    """The edits of a paragraph that begins at ``start``.

    Neighbours that are not alike may have changed places, or share out their content in another way: together they are
    one edit.
    """
    pairs = _paired(paragraphs.sentences(before, lang), paragraphs.sentences(after, lang))
    are_alike = [_alike(old, new) for old, new in pairs]
    old_run = new_run = ""
    for number, (old, new) in enumerate(pairs):
        old_run += old
        new_run += new
        is_last = number + 1 == len(pairs)
        if not is_last and not are_alike[number] and not are_alike[number + 1]:
            continue
        if old_run != new_run:
            # The space before the next sentence isn't part of the edit, unless it changes.
            space = _space_after(old_run)
            kept = len(space) if space == _space_after(new_run) else 0
            old_text = old_run[: len(old_run) - kept]
            new_text = new_run[: len(new_run) - kept]
            yield Edit(old=old_text, new=new_text, start=start, end=start + len(old_text), outcome="applied")
        start += len(old_run)
        old_run = new_run = ""


def _paired(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    """The sentences of two texts in pairs: the n-th with the n-th.

    If their number changed, they are paired from each end, up to the last unchanged sentence before they are no longer
    alike. All that is between makes one pair.
    """
    pairs = list(zip(old, new, strict=False))
    if len(old) == len(new):
        return pairs
    head = _agreeing(pairs)
    tail = _agreeing(list(zip(reversed(old[head:]), reversed(new[head:]), strict=False)))
    old_end, new_end = len(old) - tail, len(new) - tail
    middle = ("".join(old[head:old_end]), "".join(new[head:new_end]))
    return [*pairs[:head], middle, *zip(old[old_end:], new[new_end:], strict=True)]


def _agreeing(pairs: Sequence[tuple[str, str]]) -> int:
    """How many of the first ``pairs`` of sentences are alike, up to the last of them that is unchanged."""
    agreeing = 0
    for number, (old, new) in enumerate(pairs, start=1):
        if not _alike(old, new):
            break
        if old == new:
            agreeing = number
    return agreeing


def _alike(old: str, new: str) -> bool:
    """Whether two sentences have half of their words in common, and the same space after them."""
    before, after = Counter(words(old)), Counter(words(new))
    shared = (before & after).total()
    return _space_after(old) == _space_after(new) and 4 * shared >= before.total() + after.total()


def _space_after(text: str) -> str:
    return text[len(text.rstrip()) :]


def after_applying(edits: Sequence[Edit], edit: Edit) -> Edit:
    """``edit``, one of ``edits``, with its ``start`` and ``end`` in the text after all of them are applied."""
    start = _start(edit)
    for other_start, other_end, old, new in _changes(edits):
        if (other_start, other_end) < (_start(edit), _end(edit)):
            start += len(new) - len(old)
    return edit.model_copy(update={"start": start, "end": start + len(edit.new)})


def _start(edit: Edit) -> int:
    if edit.start is None:
        raise ValueError(f"the edit {edit.old!r} -> {edit.new!r} has no place in the text")
    return edit.start


def _end(edit: Edit) -> int:
    return _start(edit) + len(edit.old)


def _share_out(errors: Sequence[ErrorSpan], locations: list[Location]) -> list[Location]:
    """Give the n places of a span to n equal errors, which are then no longer ambiguous."""
    alike: dict[tuple[str, str | None, tuple[TextRange, ...]], list[int]] = {}
    for index, (error, location) in enumerate(zip(errors, locations, strict=True)):
        if not location.certain and len(location.places) > 1:
            alike.setdefault((error.text, error.suggestion, location.places), []).append(index)
    for (_, _, places), indices in alike.items():
        if len(places) == len(indices):
            indices.sort(key=lambda index: _RANK[errors[index].severity])  # whatever order the errors come in
            for index, place in zip(indices, places, strict=True):
                locations[index] = Location((place,), True)
    return locations


def _chosen(text: str, places: tuple[TextRange, ...], policies: Sequence[OnAmbiguous]) -> Sequence[TextRange]:
    """The places of an uncertain span that the first fitting one of ``policies`` takes; never one inside a word."""
    whole_words = [place for place in places if on_word_boundaries(text, place)]
    for policy in policies:
        if policy == "first" and whole_words:
            return whole_words[:1]
        if policy == "all" and whole_words:
            return whole_words
        if policy == "spaced":
            spaced = [place for place in whole_words if _is_between_spaces(text, place)]
            if len(spaced) == 1:
                return spaced
    return ()


def _is_between_spaces(text: str, place: TextRange) -> bool:
    """Whether a space or an end of the text is on both sides of ``place``."""
    return text[max(0, place.start - 1) : place.start] in ("", " ") and text[place.end : place.end + 1] in ("", " ")


def _replacement(text: str, error: ErrorSpan, place: TextRange) -> Edit:
    """The edit of a located span. A deletion also takes one of the spaces around it where it would leave two."""
    start, end = place
    if error.suggestion == "":
        before, after = text[start - 1 : start], text[end : end + 1]
        if before == " " and (after in ("", " ") or after in _CLOSING):
            start -= 1
        elif after == " " and before in ("", "\n"):
            end += 1
    if text[start:end] == error.suggestion:
        return _unlocated(error, "unchanged", "the text already reads so")
    span = error.model_copy(update={"start": place.start, "end": place.end})
    return Edit(span=span, start=start, end=end, old=text[start:end], new=error.suggestion or "", outcome="applied")


def _insertion(text: str, error: ErrorSpan) -> Edit:
    """The insertion of omitted text between its anchors ``before`` and ``after``, with the spaces it needs."""
    new = (error.suggestion or "").strip()
    if not new:
        return _unlocated(error, "not-found", "nothing to insert")
    before, after = error.before or "", error.after or ""
    points = [error.start] if error.start is not None and error.start <= len(text) else _gaps(text, before, after)
    if not points and (before or after):
        view = normalised(text)
        alike = _gaps(view.text, normalise(before), normalise(after))
        points = sorted({view.original(TextRange(at, at)).start for at in alike})
    if not points:
        return _unlocated(error, "not-found", "no anchor tells where text is missing")
    if len(points) > 1:
        return _unlocated(error, "ambiguous", f"the place of the omission fits {len(points)} times")
    at = points[0]
    new = _space_between(text[at - 1 : at], new[0]) + new + _space_between(new[-1], text[at : at + 1])
    span = error.model_copy(update={"start": at, "end": at})
    return Edit(span=span, start=at, end=at, old="", new=new, outcome="applied")


def _gaps(text: str, before: str, after: str) -> list[int]:
    """Offsets where ``before`` ends and ``after`` begins; where only one of them is there, its own edge."""
    joined: dict[str, int] = {}
    if before and after:
        joined = {before + after: len(before), f"{before} {after}": len(before)}
    single = [(before, len(before)), (after, 0)]
    starts = occurrences(text, [*joined, before, after])
    for needles in (joined.items(), single):
        points = set[int]()
        for needle, shift in needles:
            if needle:
                points.update(start + shift for start in starts[needle])
        on_boundaries = [point for point in sorted(points) if on_word_boundaries(text, TextRange(point, point))]
        if on_boundaries:
            return on_boundaries
    return []


def _space_between(left: str, right: str) -> str:
    """The space that belongs between two characters that come together."""
    if not left.strip() or not right.strip() or left in _BINDING or not (right.isalnum() or right in _OPENING):
        return ""
    return " " if is_spaced(left) and is_spaced(right) else ""


def _unlocated(error: ErrorSpan, outcome: Literal["not-found", "ambiguous", "unchanged"], why: str) -> Edit:
    return Edit(span=error, old=error.text, new=error.suggestion or "", outcome=outcome, detail=why)


def _without_overlaps(edits: list[Edit]) -> tuple[Edit, ...]:
    """Of edits that overlap the more severe stays, then the longer, then the first in the text.

    The others become ``overlapping``. Two insertions at one point overlap, neighbours do not.
    """

    def strength(index: int) -> tuple[int, int, int, str]:
        edit = edits[index]
        severity = edit.span.severity if edit.span else "minor"
        return _RANK[severity], -len(edit.old), _start(edit), edit.new

    taken: list[tuple[int, int]] = []
    made: set[tuple[int, int, str]] = set()
    applied = [index for index, edit in enumerate(edits) if edit.outcome == "applied"]
    for index in sorted(applied, key=strength):
        start, end = _start(edits[index]), _end(edits[index])
        at = bisect_left(taken, (start, end))
        neighbours = taken[max(0, at - 1) : at + 1]
        if any((start, end) == other or (start < other[1] and other[0] < end) for other in neighbours):
            is_repeated = (start, end, edits[index].new) in made
            why = "another edit does the same" if is_repeated else "another edit covers this place"
            edits[index] = edits[index].model_copy(update={"outcome": "overlapping", "detail": why})
        else:
            taken.insert(at, (start, end))
            made.add((start, end, edits[index].new))
    return tuple(edits)
