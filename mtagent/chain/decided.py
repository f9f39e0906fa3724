"""The text that people's decisions make of a chain: a pure function of the machine's steps and the decisions.

:func:`checked` refuses what cannot be decided, :func:`decided` applies what was. Each step's edits are made anew on the
text so far. Where that is no longer the text that the machine edited, an edit still stands if nothing has changed at
its place; one that covers the place, as a reworded sentence does, is made word by word where it still fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from rapidfuzz.distance import Indel

from mtagent.chain.guards import Damage, damages
from mtagent.decisions import Decision, fingerprint, latest, standing, text_hash
from mtagent.errors import ConfigError
from mtagent.records import Chain, Edit, Stage, Step
from mtagent.text import edits, markup, scripts
from mtagent.text.paragraphs import line_breaks

MOST_CHARACTERS = 100_000
"""The longest own text, and the longest reason."""
_MOST_NEIGHBOURS = 6
"""So many other edits of a step are tried as the one that an edit belongs together with, the nearest first."""


class DecidedEdit(NamedTuple):
    """An edit, whether it ``stands`` in the decided text as a whole, in part or not, and why that is so, for people.

    ``remark`` is empty where it is as the person, or without a decision the machine, wanted it. ``alone``: it can be
    decided on alone, since it has a place, and its step changed the text by such edits only.
    """

    number: int
    stage: Stage
    edit: Edit
    alone: bool
    decision: Decision | None = None
    stands: Literal["whole", "part", "no"] = "no"
    remark: str = ""


class Decided(NamedTuple):
    """What decisions make of a chain.

    ``decision`` is the one about the whole segment. ``findings`` is what the guards have against the ``text``, which
    stands all the same: people decide. ``stale`` decisions were made about another text, and do not count.
    ``only_whole``: a step changed the text by more than edits with a place, so that only the whole can be approved.
    """

    chain: Chain
    text: str
    edits: tuple[DecidedEdit, ...] = ()
    decision: Decision | None = None
    findings: tuple[Damage, ...] = ()
    stale: tuple[Decision, ...] = ()
    only_whole: bool = False

    @property
    def reviewed(self) -> bool:
        """Whether anything of it was decided by a person."""
        return self.decision is not None or any(edit.decision for edit in self.edits)

    @property
    def approved(self) -> bool:
        """Whether a person decided on all of it: on the segment as a whole, or on each edit that has a place."""
        decisions = [edit.decision for edit in self.edits if edit.alone]
        return self.decision is not None or (bool(decisions) and not self.only_whole and all(decisions))

    @property
    def reviewed_chain(self) -> Chain:
        """The chain with the decided text, where anything was decided."""
        return self.chain.model_copy(update={"reviewed": self.text}) if self.reviewed else self.chain

    @property
    def remarks(self) -> tuple[str, ...]:
        """What did not come out as it was decided, a sentence each."""
        return tuple(f"edit {edit.number}: {edit.remark}" for edit in self.edits if edit.remark)


def numbered(chain: Chain) -> list[tuple[int, Step, Edit]]:
    """All edits of ``chain`` with the number by which people decide on them, and their step."""
    pairs = [(step, edit) for step in chain.steps for edit in step.edits]
    return [(number, step, edit) for number, (step, edit) in enumerate(pairs, 1)]


def _explained(chain: Chain) -> list[bool]:
    """Of each step, whether its edits that have a place make all of its change. The paper's strategy gives others."""
    before, explained = chain.segment.translation, list[bool]()
    for step in chain.steps:
        explained.append(before is None or _applied(before, _made(step)) == step.text)
        before = step.text
    return explained


def checked(
    chain: Chain, decision: Decision, history: Iterable[Decision] = (), *, skip: Collection[str] = frozenset()
) -> Decision:
    """``decision`` with what it is about, after those of ``history``.

    Raises :class:`ConfigError` where it cannot be made about ``chain``. Guards named in ``skip`` are left out.
    """
    stage, approves, history = None, "", list(history)
    if decision.withdraws is not None:
        if decision.withdraws not in {old.id for old in standing(history)}:
            raise ConfigError(f"segment {chain.segment.id}: decision {decision.withdraws} is not there, or withdrawn")
        return decision.model_copy(update={"chain": fingerprint(chain)})
    _refuse_unusable(chain, decision)
    if decision.edit is not None:
        rows = numbered(chain)
        if not 1 <= decision.edit <= len(rows):
            count = f"it has {len(rows)}" if rows else "it has none"
            raise ConfigError(f"segment {chain.segment.id} has no edit {decision.edit}; {count}")
        row = decided(chain, ()).edits[decision.edit - 1]
        stage, edit = row.stage, row.edit
        against = ("reject", "text") if edit.outcome == "applied" else ("accept", "text")
        if not row.alone and decision.verdict in against:
            raise ConfigError(
                f"edit {decision.edit} of segment {chain.segment.id} cannot be decided on alone: its step changed the "
                "text by more than edits with a place; decide on the whole segment"
                if edit.start is not None or edit.outcome == "applied"
                else f"edit {decision.edit} of segment {chain.segment.id} cannot be accepted: it has no place in the "
                f"text ({edit.detail or edit.outcome}); give the segment a text of your own"
            )
    elif decision.verdict == "accept":
        approves = text_hash(decided(chain, history, skip=skip).text)
    return decision.model_copy(update={"stage": stage, "chain": fingerprint(chain), "approves": approves})


def _refuse_unusable(chain: Chain, decision: Decision) -> None:
    """Raise :class:`ConfigError` for an own text or a reason that cannot be stored or written."""
    text, what = decision.text, f"segment {chain.segment.id}"
    if decision.edit is not None:
        what = f"edit {decision.edit} of {what}"
    for name, words in (("text", text or ""), ("reason", decision.reason or "")):
        if len(words) > MOST_CHARACTERS:
            raise ConfigError(
                f"{what}: the {name} has {len(words):,} characters; the most is {MOST_CHARACTERS:,}: shorten it"
            )
        if "\0" in words:
            raise ConfigError(f"{what}: the {name} holds the character NUL (U+0000); remove it")
    if decision.edit is None and text is not None and not text.strip():
        raise ConfigError(f"{what}: the text is empty; write one, or reject the segment to get the given text again")
    of_segment = (chain.segment.source, chain.segment.translation or "", *(step.text for step in chain.steps))
    if line_breaks(text or "") and not any(map(line_breaks, of_segment)):
        raise ConfigError(
            f"{what}: the text has a line break, and the segment has none: a file with one segment a line could not "
            "hold it; write it without"
        )


def decided(chain: Chain, history: Iterable[Decision], *, skip: Collection[str] = frozenset()) -> Decided:
    """What the decisions in ``history`` make of ``chain``; those in force count (:func:`mtagent.decisions.latest`).

    Guards named in ``skip`` are left out. Where two edits are in each other's way, one that a person accepted goes
    first. Edits that do damage one without the other are decided on together, unless both were decided on.
    """
    in_force, known = latest(history), fingerprint(chain)
    stale = tuple(decision for decision in in_force if decision.chain not in ("", known))
    by_edit = {decision.edit: decision for decision in in_force if decision not in stale}
    whole = by_edit.get(None)
    explained = _explained(chain)
    by_step = dict(zip(map(id, chain.steps), explained, strict=True))
    all_rows = [
        DecidedEdit(number, step.stage, edit, by_step[id(step)] and edit.start is not None, by_edit.get(number))
        for number, step, edit in numbered(chain)
    ]
    if not by_edit:
        as_made = tuple(row._replace(stands="whole") if row.edit.outcome == "applied" else row for row in all_rows)
        return Decided(chain, chain.text, as_made, stale=stale, only_whole=not all(explained))
    texts, rows = _Texts(chain.segment.translation or ""), list[DecidedEdit]()
    for step, alone in zip(chain.steps, explained, strict=True):
        candidates = all_rows[len(rows) : len(rows) + len(step.edits)]
        if step.stage == "translate" and chain.segment.translation is None:
            texts = _Texts(step.text)
            rows += candidates
            continue
        wanted = _wanted(chain, texts.machine, candidates, whole, skip)
        rows += texts.take(step, wanted, alone, rejected=whole is not None and whole.verdict == "reject")
    text, given = texts.people, chain.given
    if whole is not None and whole.text is not None:
        text = whole.text
    if whole is not None and whole.verdict == "accept" and whole.approves not in ("", text_hash(text)):
        stale, whole = (*stale, whole), None
    found = findings(chain, given, text, skip) if given is not None else ()
    return Decided(chain, text, tuple(rows), whole, found, stale, not all(explained))


_STYLES = {mark: style for style, marks in enumerate(('"＂', "“”„‟", "«»", "〝〞")) for mark in marks}


def findings(chain: Chain, before: str, after: str, skip: Collection[str] = frozenset()) -> tuple[Damage, ...]:
    """What the guards have against ``after`` in the place of ``before``.

    Quotation marks are looked at style by style here: the machine's edits may change the style of all marks, people
    may take back half of them.
    """
    found = damages(chain.segment, before, after, skip=skip, doubts=True)
    if "quotes" in skip or any(damage.guard == "quotes" for damage in found):
        return found
    alone = [
        {style for style, number in Counter(map(_STYLES.get, marks)).items() if number % 2}
        for marks in ([mark.key for mark in markup.double_quotes(markup.prose(text))] for text in (before, after))
    ]
    if len(alone[1]) <= len(alone[0]):
        return found
    return (*found, Damage(guard="quotes", detail="a quotation mark has no partner of its style"))


def _wanted(
    chain: Chain, before: str, candidates: list[DecidedEdit], whole: Decision | None, skip: Collection[str]
) -> list[DecidedEdit]:
    """Which edits of a step shall stand, marked so, with the edits that belong to those that were decided on."""

    def harm(chosen: Iterable[int]) -> bool:
        try:
            text = edits.apply(before, [candidates[i].edit.model_copy(update={"outcome": "applied"}) for i in chosen])
        except ValueError:  # they are in each other's way
            return True
        return bool(findings(chain, before, text, skip))

    def nearest(index: int, others: Iterable[int]) -> list[int]:
        return sorted(others, key=lambda other: (abs(other - index), other))[:_MOST_NEIGHBOURS]

    rejected_whole = whole is not None and whole.verdict == "reject"
    located = [i for i, row in enumerate(candidates) if row.edit.start is not None]
    applied = {i for i in located if candidates[i].edit.outcome == "applied"}
    standing = set[int]() if rejected_whole else set(applied)
    verdicts = {i: row.decision.verdict for i in located if (row := candidates[i]).decision is not None}
    standing |= {i for i, verdict in verdicts.items() if verdict in ("accept", "text")}
    standing -= {i for i, verdict in verdicts.items() if verdict == "reject"}
    remarks = dict[int, str]()
    for index, verdict in sorted(verdicts.items()):
        number = candidates[index].number
        if verdict == "reject" and index in applied and standing and harm(standing & applied):
            for other in nearest(index, (standing & applied) - verdicts.keys()):
                if not harm((standing & applied) - {other}):
                    standing.discard(other)
                    remarks[other] = f"taken back with edit {number}: they belong together"
                    break
            else:
                for other in nearest(index, standing & applied & verdicts.keys()):
                    if not harm((standing & applied) - {other}):
                        remarks[index] = f"belongs together with edit {other + candidates[0].number}, which stands"
                        break
        elif verdict == "accept" and index not in applied and harm([index]):
            for other in nearest(index, set(located) - {index}):
                if other not in applied and not harm([index, other]):
                    if other not in verdicts:
                        standing.add(other)
                        remarks[other] = f"accepted with edit {number}: they belong together"
                    elif other not in standing:
                        remarks[index] = f"belongs together with edit {candidates[other].number}, which does not stand"
                    break
    return [
        row._replace(stands="whole" if index in standing else "no", remark=remarks.get(index, ""))
        for index, row in enumerate(candidates)
    ]


class _Change(NamedTuple):
    """New words for ``start`` to ``end`` of a text."""

    start: int
    end: int
    new: str


class _Region(NamedTuple):
    """A place where the two texts differ: ``start`` to ``end`` of the machine's, ``at`` to ``to`` of people's."""

    start: int
    end: int
    at: int
    to: int


class _Texts:
    """The machine's text and people's, step by step, and the regions where they differ."""

    def __init__(self, text: str) -> None:
        self.machine = self.people = text
        self._regions: list[_Region] = []

    def take(self, step: Step, rows: Sequence[DecidedEdit], explained: bool, *, rejected: bool) -> list[DecidedEdit]:
        """Take a step: the machine's edits on its text, and those that shall stand on people's. Says which do."""
        made = _made(step)
        wanted = [row for row in rows if row.stands == "whole"]
        results = {row.number: row for row in rows}
        ours, theirs = list[_Change](), list[_Change]()  # the same changes in the machine's and in people's text
        if not explained:  # edits without a place: the paper's strategy, all or nothing
            made = [_change(edit) for edit in edits.between(self.machine, step.text)]
            for change in () if rejected else made:
                self._fit(self.machine[change.start : change.end], change, ours, theirs)
            stands = {row.number for row in rows if row.edit.outcome == "applied" and not rejected}
            results = {row.number: row._replace(stands="whole" if row.number in stands else "no") for row in rows}
            wanted = []
        for row in sorted(wanted, key=lambda row: (row.decision is None, row.number)):
            own = None if row.decision is None else row.decision.text
            change = _change(row.edit, own)
            taken, whole = self._fit(row.edit.old, change, ours, theirs)
            if not taken:
                why = "does not stand: another edit has changed its place"
                results[row.number] = row._replace(stands="no", remark=why)
            elif not whole:
                why = "stands in part: another edit has changed the rest of its place"
                results[row.number] = row._replace(stands="part", remark=why)
        self._regions = _regions(self._regions, made, ours)
        in_order = [place for _, place in sorted(zip(ours, theirs, strict=True))]
        self.machine, self.people = step.text, _applied(self.people, in_order)
        self._regions = [
            region
            for region in self._regions
            if self.machine[region.start : region.end] != self.people[region.at : region.to]
        ]
        return list(results.values())

    def _fit(self, old: str, change: _Change, ours: list[_Change], theirs: list[_Change]) -> tuple[bool, bool]:
        """Add ``change`` where it is in no other's way, word by word if it must be. Says whether any is in, and all."""
        if change in ours:
            return True, True
        place = self._place(change)
        if place is not None and not any(_overlap(change, other) for other in ours):
            ours.append(change)
            theirs.append(place)
            return True, True
        pieces = _pieces(old, change)
        placed = [(piece, place) for piece in pieces if (place := self._place(piece)) is not None]
        fitting = [(piece, place) for piece, place in placed if not any(_overlap(piece, other) for other in ours)]
        ours += [piece for piece, _ in fitting]
        theirs += [place for _, place in fitting]
        return bool(fitting), len(fitting) == len(pieces)

    def _place(self, change: _Change) -> _Change | None:
        """The ``change`` in people's text; ``None`` where that differs from the machine's."""
        shift = 0
        for region in self._regions:
            if _overlap(change, region):
                return None
            if region.end > change.start:
                break
            shift = region.to - region.end
        return _Change(change.start + shift, change.end + shift, change.new)


def _change(edit: Edit, own: str | None = None) -> _Change:
    assert edit.start is not None
    return _Change(edit.start, edit.start + len(edit.old), edit.new if own is None else own)


def _made(step: Step) -> list[_Change]:
    """The machine's changes that have a place, in order."""
    return sorted({_change(edit) for edit in step.edits if edit.outcome == "applied" and edit.start is not None})


def _applied(text: str, changes: Iterable[_Change]) -> str:
    """``text`` with ``changes``, which are in order and do not overlap."""
    pieces, done = [], 0
    for change in changes:
        pieces += [text[done : change.start], change.new]
        done = change.end
    return "".join([*pieces, text[done:]])


def _overlap(one: _Change, other: _Change | _Region) -> bool:
    """Whether two places share characters, or are one point; neighbours do not overlap."""
    same = one.start == other.start and one.end == other.end
    return same or (one.start < other.end and other.start < one.end)


def _pieces(old: str, change: _Change) -> list[_Change]:
    """A change of several words as changes of single ones; those with only a space between them are one."""
    a, b = _tokens(old), _tokens(change.new)
    offsets = [0]
    for token in a:
        offsets.append(offsets[-1] + len(token))
    spans = list[tuple[int, int, int, int]]()
    for code in Indel.opcodes(a, b):
        if code.tag == "equal":
            continue
        if spans and not "".join(a[spans[-1][1] : code.src_start]).strip():
            start, _, first, _ = spans.pop()
            spans.append((start, code.src_end, first, code.dest_end))
        else:
            spans.append((code.src_start, code.src_end, code.dest_start, code.dest_end))
    return [
        _Change(change.start + offsets[start], change.start + offsets[end], "".join(b[first:last]))
        for start, end, first, last in spans
    ]


def _tokens(text: str) -> list[str]:
    """The words of ``text``, and each character between them."""
    tokens, done = list[str](), 0
    for match in scripts.word_pattern(text).finditer(text):
        tokens += [*text[done : match.start()], match[0]]
        done = match.end()
    return [*tokens, *text[done:]]


def _regions(regions: Sequence[_Region], made: Iterable[_Change], taken: Iterable[_Change]) -> list[_Region]:
    """Where the texts differ after a step: ``made`` changed the machine's, ``taken`` people's.

    Old regions and changes that overlap make one region; its offsets are those of the texts after the step.
    """
    # For each place of the texts before: by how much the machine's text grows there, and by how much people's does.
    places = [(r.start, r.end, 0, (r.to - r.at) - (r.end - r.start)) for r in regions]
    places += [(c.start, c.end, len(c.new) - (c.end - c.start), 0) for c in made]
    places += [(c.start, c.end, 0, len(c.new) - (c.end - c.start)) for c in taken]
    joined = list[tuple[int, int, int, int]]()
    for start, end, ours, theirs in sorted(places):
        if joined and (start < joined[-1][1] or (start, end) == joined[-1][:2]):
            first, last, *grown = joined.pop()
            joined.append((first, max(last, end), grown[0] + ours, grown[1] + theirs))
        else:
            joined.append((start, end, ours, theirs))
    after, ours_so_far, theirs_so_far = list[_Region](), 0, 0
    for start, end, ours, theirs in joined:
        at, to = start + theirs_so_far, end + theirs_so_far + theirs
        after.append(_Region(start + ours_so_far, end + ours_so_far + ours, at, to))
        ours_so_far, theirs_so_far = ours_so_far + ours, theirs_so_far + theirs
    return after
