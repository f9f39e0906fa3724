"""The text that people's decisions make of a chain: a pure function of the machine's steps and the decisions.

:func:`checked` refuses decisions that cannot be made, :func:`decided` applies the others, :class:`DecidedRun` does both
for a stored run. Each step's edits are applied
again to the text so far. Where that text differs from the one the machine edited, an edit is still applied if nothing
has changed at its place. An edit that covers a changed place, such as a reworded sentence, is applied word by word
where it still fits. An edit that a person accepted also replaces words from before an edit that was taken back: if
*a* → *b* is rejected and the later *b* → *c* accepted, the text has *c*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from mtagent.chain.guards import Damage, damages
from mtagent.errors import ConfigError
from mtagent.formats.segments import Result
from mtagent.records import Chain, Edit, ErrorSpan, Stage, Step
from mtagent.records.decisions import Decision, fingerprint, latest, not_withdrawn, text_hash
from mtagent.text import alignment, edits, markup, scripts
from mtagent.text.paragraphs import line_breaks

if TYPE_CHECKING:
    from mtagent.store.store import Store

MOST_CHARACTERS = 100_000
"""The maximum length of a person's text, and of a reason."""
_MOST_NEIGHBOURS = 6
"""How many other edits of a step are tried as the partner of an edit, the nearest first."""
_QUOTE_STYLES = {
    **dict.fromkeys('"＂', "straight"),
    **dict.fromkeys("“”„‟", "curly"),
    **dict.fromkeys("«»", "angle"),
    **dict.fromkeys("〝〞", "prime"),
}


class DecidedEdit(NamedTuple):
    """An edit of a chain, the decision about it, and its outcome in the decided text."""

    number: int
    stage: Stage
    edit: Edit
    alone: bool
    """Whether people can decide on it alone: it has a place, and its step changed the text by such edits only."""
    decision: Decision | None = None
    stands: Literal["whole", "part", "no"] = "no"
    """How much of it is in the decided text."""
    remark: str = ""
    """Why this differs from the person's decision or, without one, the machine's; empty if it doesn't."""

    @property
    def is_missing(self) -> bool:
        """Whether a person accepted it, and another edit keeps it out of the text."""
        return self.decision is not None and self.decision.verdict != "reject" and self.stands == "no"


class Decided(NamedTuple):
    """A chain with people's decisions applied."""

    chain: Chain
    text: str
    edits: tuple[DecidedEdit, ...] = ()
    decision: Decision | None = None
    """The decision about the segment as a whole."""
    findings: tuple[Damage, ...] = ()
    """Damage that the guards see in the ``text``. It is not changed for that: people decide."""
    stale: tuple[Decision, ...] = ()
    """Decisions about another text, which do not count."""
    only_whole: bool = False
    """A step changed the text by more than edits with a place, so people can approve only the whole segment."""

    @property
    def reviewed(self) -> bool:
        """Whether a person decided on any of it."""
        return self.decision is not None or any(edit.decision for edit in self.edits)

    @property
    def approved(self) -> bool:
        """Whether a person decided on all of it: on the segment as a whole, or on each edit that has a place.

        An edit that was accepted and isn't in the text is not decided: the person has not seen the text without it.
        """
        if self.decision is not None:
            return True
        if self.only_whole or any(edit.is_missing for edit in self.edits):
            return False
        decisions = [edit.decision for edit in self.edits if edit.alone]
        return bool(decisions) and all(decisions)

    @property
    def is_found_right(self) -> bool:
        """Whether a person accepted the text as a whole, or wrote it."""
        return self.decision is not None and self.decision.verdict != "reject"

    @property
    def errors_left_by_step(self) -> tuple[tuple[ErrorSpan, ...], ...]:
        """The errors that each step found and that the decided text still has.

        A text that a person found right has none, and an edit that a person accepted has corrected its error.
        """
        if self.is_found_right:
            return tuple(() for _ in self.chain.steps)
        corrected = Counter[tuple[str, ...]]()  # by people; another error may read the same
        for row in self.edits:
            is_peoples = row.decision is not None and row.edit.outcome != "applied"
            if is_peoples and row.stands == "whole" and row.edit.span is not None:
                corrected[row.edit.span.identity] += 1
        left = []
        for errors in self.chain.errors_left_by_step(self.text):
            errors_of_step = []
            for error in errors:
                corrected[error.identity] -= 1
                if corrected[error.identity] < 0:
                    errors_of_step.append(error)
            left.append(tuple(errors_of_step))
        return tuple(left)

    @property
    def errors_left(self) -> tuple[ErrorSpan, ...]:
        """The errors of :attr:`errors_left_by_step`, of all steps."""
        return tuple(error for errors in self.errors_left_by_step for error in errors)

    @property
    def reviewed_chain(self) -> Chain:
        """The chain, with the decided text if anything was decided."""
        if not self.reviewed:
            return self.chain
        return self.chain.model_copy(update={"reviewed": self.text})

    @property
    def remarks(self) -> tuple[str, ...]:
        """The differences from the decisions, a sentence each."""
        return tuple(f"edit {edit.number}: {edit.remark}" for edit in self.edits if edit.remark)


def numbered(chain: Chain) -> list[tuple[int, Step, Edit]]:
    """All edits of ``chain`` with the number by which people decide on them, and their step."""
    edits_of_chain = list[tuple[int, Step, Edit]]()
    for step in chain.steps:
        for edit in step.edits:
            edits_of_chain.append((len(edits_of_chain) + 1, step, edit))
    return edits_of_chain


def _explained(chain: Chain) -> list[bool]:
    """For each step, whether its edits that have a place make up its whole change.

    With the paper's strategy (Algorithm 1) they may not.
    """
    before, explained = chain.segment.translation, list[bool]()
    for step in chain.steps:
        explained.append(before is None or _applied(before, _machine_changes(step)) == step.text)
        before = step.text
    return explained


def checked(
    chain: Chain, decision: Decision, history: Iterable[Decision] = (), *, skip: Collection[str] = frozenset()
) -> Decision:
    """``decision``, made after those in ``history``, with its ``stage``, ``chain`` and ``approves`` filled in.

    Raises :class:`ConfigError` for a decision that cannot be made about ``chain``. Guards in ``skip`` are left out.
    """
    stage, approves, history = None, "", list(history)
    if decision.withdraws is not None:
        if decision.withdraws not in {earlier.id for earlier in not_withdrawn(history)}:
            raise ConfigError(f"segment {chain.segment.id}: decision {decision.withdraws} is not there, or withdrawn")
        return decision.model_copy(update={"chain": fingerprint(chain)})
    _refuse_unusable(chain, decision)
    if decision.edit is not None:
        stage = _decidable_edit(chain, decision, decision.edit).stage
    elif decision.verdict == "accept":
        approves = text_hash(decided(chain, history, skip=skip).text)
    return decision.model_copy(update={"stage": stage, "chain": fingerprint(chain), "approves": approves})


def _decidable_edit(chain: Chain, decision: Decision, number: int) -> DecidedEdit:
    """The edit ``number``. Raises :class:`ConfigError` if it does not exist or ``decision`` cannot be made about it."""
    rows = decided(chain, ()).edits
    if not 1 <= number <= len(rows):
        count = f"it has {len(rows)}" if rows else "it has none"
        raise ConfigError(f"segment {chain.segment.id} has no edit {number}; {count}")
    row = rows[number - 1]
    # A verdict that leaves the text as the machine left it is always possible.
    changing = "reject" if row.edit.outcome == "applied" else "accept"
    if row.alone or decision.verdict not in (changing, "text"):
        return row
    if row.edit.start is None and row.edit.outcome != "applied":
        raise ConfigError(
            f"edit {number} of segment {chain.segment.id} cannot be accepted: it has no place in the text "
            f"({row.edit.detail or row.edit.outcome}); give the segment a text of your own"
        )
    raise ConfigError(
        f"edit {number} of segment {chain.segment.id} cannot be decided on alone: its step changed the text by more "
        "than edits with a place; decide on the whole segment"
    )


def _refuse_unusable(chain: Chain, decision: Decision) -> None:
    """Raise :class:`ConfigError` for a text or a reason that cannot be stored or written to a file."""
    subject = f"segment {chain.segment.id}"
    if decision.edit is not None:
        subject = f"edit {decision.edit} of {subject}"
    text = decision.text or ""
    for name, words in (("text", text), ("reason", decision.reason or "")):
        if len(words) > MOST_CHARACTERS:
            raise ConfigError(
                f"{subject}: the {name} has {len(words):,} characters; the most is {MOST_CHARACTERS:,}: shorten it"
            )
        if "\0" in words:
            raise ConfigError(f"{subject}: the {name} holds the character NUL (U+0000); remove it")
    if decision.edit is None and decision.text is not None and not text.strip():
        raise ConfigError(f"{subject}: the text is empty; write one, or reject the segment to get the given text again")
    if not line_breaks(text):
        return
    segment_texts = [chain.segment.source, chain.segment.translation or ""]
    segment_texts += [step.text for step in chain.steps]
    if not any(map(line_breaks, segment_texts)):
        raise ConfigError(
            f"{subject}: the text has a line break, and the segment has none: a file with one segment per line can't "
            "hold it; write the text without it"
        )


def decided(chain: Chain, history: Iterable[Decision], *, skip: Collection[str] = frozenset()) -> Decided:
    """``chain`` with the decisions in ``history`` that count (:func:`mtagent.records.decisions.latest`) applied.

    Guards named in ``skip`` are left out. If two edits conflict, the one that a person accepted is applied first. Edits
    that do damage without each other share a decision, unless people decided on both.
    """
    current = fingerprint(chain)
    by_edit: dict[int | None, Decision] = {}
    stale = list[Decision]()
    for decision in latest(history):
        if decision.chain in ("", current):
            by_edit[decision.edit] = decision
        else:
            stale.append(decision)
    whole = by_edit.get(None)
    is_rejected = whole is not None and whole.verdict == "reject"

    explained = _explained(chain)
    only_whole = not all(explained)
    texts = _Texts(chain.segment.translation or "")
    rows = list[DecidedEdit]()
    for step, is_explained in zip(chain.steps, explained, strict=True):
        step_rows = list[DecidedEdit]()
        for number, edit in enumerate(step.edits, len(rows) + 1):
            alone = is_explained and edit.start is not None
            step_rows.append(DecidedEdit(number, step.stage, edit, alone, by_edit.get(number)))
        if not by_edit:
            for row in step_rows:
                rows.append(row._replace(stands="whole" if row.edit.outcome == "applied" else "no"))
        elif step.stage == "translate" and chain.segment.translation is None:
            texts = _Texts(step.text)
            rows += step_rows
        else:
            step_rows = _StepChoice(chain, texts.machine, step_rows, skip).rows(is_rejected=is_rejected)
            rows += texts.apply(step, step_rows, is_explained=is_explained, is_rejected=is_rejected)
    if not by_edit:
        return Decided(chain, chain.text, tuple(rows), stale=tuple(stale), only_whole=only_whole)

    text = texts.people
    if whole is not None and whole.text is not None:
        text = whole.text
    if whole is not None and whole.verdict == "accept" and whole.approves not in ("", text_hash(text)):
        stale.append(whole)
        whole = None
    damage = findings(chain, chain.given, text, skip) if chain.given is not None else ()
    return Decided(chain, text, tuple(rows), whole, damage, tuple(stale), only_whole)


def findings(chain: Chain, before: str, after: str, skip: Collection[str] = frozenset()) -> tuple[Damage, ...]:
    """The damage that the guards see in ``after`` compared with ``before``.

    Quotation marks are also checked style by style: the machine's edits may change the style of all marks, and people
    may take back half of them.
    """
    damage = damages(chain.segment, before, after, skip=skip, doubts=True)
    if "quotes" in skip or any(finding.guard == "quotes" for finding in damage):
        return damage
    if len(_unpaired_quote_styles(after)) <= len(_unpaired_quote_styles(before)):
        return damage
    return (*damage, Damage(guard="quotes", detail="a quotation mark has no partner of its style"))


def _unpaired_quote_styles(text: str) -> list[str | None]:
    """The styles of which ``text`` has an odd number of quotation marks; ``None`` means all other styles."""
    marks = markup.double_quotes(markup.prose(text))
    counts = Counter(_QUOTE_STYLES.get(mark.key) for mark in marks)
    return [style for style, count in counts.items() if count % 2]


class DecidedRun:
    """A chain run and the decisions about it. While this object exists, the run cannot be deleted."""

    def __init__(self, store: Store, name: str) -> None:
        self._hold = store.hold(name)
        self.run, self.log = store.read(name), store.decisions(name)
        if self.run.kind != "chain":
            raise ConfigError(f"run {name!r}: expected a run with edits to decide on, found one with ratings")
        settings = store.settings(name) or {}
        self.skip = frozenset(settings.get("skip_guards") or ())
        """The guards that the run left out."""

    def segments(self, *, only_decided: bool = False) -> Iterator[tuple[int, Decided]]:
        """The segments by position, with their decisions applied; ``only_decided``: those with decisions."""
        histories = self.log.histories()
        if only_decided:
            for position, history in histories.items():
                yield position, decided(self.run.chain_at(position), history, skip=self.skip)
            return
        for position, chain in self.run.placed_chains():
            yield position, decided(chain, histories.get(position, ()), skip=self.skip)

    def part(self, after: int, most: int) -> list[tuple[int, Decided, int]]:
        """Position, segment and version of the decisions of up to ``most`` segments whose positions are ``after`` one.

        Their calls have no messages and no replies.
        """
        placed = list(islice(self.run.placed_chains(after=after, dialogues=False), most))
        if not placed:
            return []
        histories = self.log.histories(placed[0][0], placed[-1][0])
        segments = []
        for position, chain in placed:
            history = histories.get(position, [])
            version = history[-1].id if history else 0
            segments.append((position, decided(chain, history, skip=self.skip), version))
        return segments

    def segment(self, position: int) -> Decided:
        """The segment at ``position``, which must exist, with its decisions applied."""
        return decided(self.run.chain_at(position), self.log.history(position), skip=self.skip)

    def checked(self, chain: Chain, decision: Decision, history: Iterable[Decision]) -> Decision:
        """A new ``decision`` on a segment with this ``history``: see :func:`checked`."""
        return checked(chain, decision, history, skip=self.skip)

    def chains(self, *, dialogues: bool = True) -> Iterator[Chain]:
        """The chains by position; a chain with decisions has the decided text as its ``reviewed`` text.

        Without ``dialogues`` as in :meth:`mtagent.store.runs.StoredRun.chains`.
        """
        for _, chain in self.placed_chains(dialogues=dialogues):
            yield chain

    def results(self) -> Iterator[Result]:
        """The segments by position, each with the text to write: the decided one, or the text of its chain."""
        histories = self.log.histories()
        for position, segment, text in self.run.final_texts():
            history = histories.get(position)
            if history:
                text = decided(self.run.chain_at(position), history, skip=self.skip).text
            yield Result(segment=segment, text=text)

    def placed_chains(self, *, dialogues: bool = True) -> Iterator[tuple[int, Chain]]:
        """The same chains, each with its position."""
        histories = self.log.histories()
        for position, chain in self.run.placed_chains(dialogues=dialogues):
            if position in histories:
                chain = decided(chain, histories[position], skip=self.skip).reviewed_chain
            yield position, chain


class _StepChoice:
    """The edits of one step that belong in the decided text.

    Those are the edits that the machine applied and people accepted, and partners of edits that people decided on:
    without its partner (the other quotation mark, say) an edit would do damage.
    """

    def __init__(self, chain: Chain, before: str, rows: Sequence[DecidedEdit], skip: Collection[str]) -> None:
        self._chain, self._before, self._rows, self._skip = chain, before, rows, skip
        self._located, self._applied = set[int](), set[int]()
        self._verdicts = dict[int, str]()
        for index, row in enumerate(rows):
            if row.edit.start is None:
                continue
            self._located.add(index)
            if row.edit.outcome == "applied":
                self._applied.add(index)
            if row.decision is not None:
                self._verdicts[index] = row.decision.verdict
        self._chosen = set[int]()
        self._remarks = dict[int, str]()

    def rows(self, *, is_rejected: bool) -> list[DecidedEdit]:
        """The edits, marked as to whether they belong in the text. ``is_rejected``: the whole segment was rejected."""
        if not is_rejected:
            self._chosen |= self._applied
        for index, verdict in self._verdicts.items():
            if verdict == "reject":
                self._chosen.discard(index)
            else:
                self._chosen.add(index)
        for index, verdict in sorted(self._verdicts.items()):
            if verdict == "reject" and index in self._applied:
                self._take_back_partner(index)
            elif verdict == "accept" and index not in self._applied:
                self._accept_partner(index)
        marked = []
        for index, row in enumerate(self._rows):
            stands: Literal["whole", "no"] = "whole" if index in self._chosen else "no"
            marked.append(row._replace(stands=stands, remark=self._remarks.get(index, "")))
        return marked

    def _take_back_partner(self, index: int) -> None:
        """Take back the edit that does damage without the rejected edit ``index``, if nobody decided on it."""
        remaining = self._chosen & self._applied
        if not self._chosen or not self._do_damage(remaining):
            return
        for other in self._nearest(index, remaining - self._verdicts.keys()):
            if not self._do_damage(remaining - {other}):
                self._chosen.discard(other)
                self._remarks[other] = f"taken back with edit {self._rows[index].number}: they belong together"
                return
        for other in self._nearest(index, remaining & self._verdicts.keys()):
            if not self._do_damage(remaining - {other}):
                self._remarks[index] = f"belongs together with edit {self._rows[other].number}, which is in the text"
                return

    def _accept_partner(self, index: int) -> None:
        """Accept the edit without which the accepted edit ``index`` does damage, if nobody decided on it."""
        if not self._do_damage([index]):
            return
        for other in self._nearest(index, self._located - {index}):
            if other in self._applied or self._do_damage([index, other]):
                continue
            if other not in self._verdicts:
                self._chosen.add(other)
                self._remarks[other] = f"accepted with edit {self._rows[index].number}: they belong together"
            elif other not in self._chosen:
                number = self._rows[other].number
                self._remarks[index] = f"belongs together with edit {number}, which isn't in the text"
            return

    def _do_damage(self, indices: Iterable[int]) -> bool:
        applied = [self._rows[index].edit.model_copy(update={"outcome": "applied"}) for index in indices]
        try:
            text = edits.apply(self._before, applied)
        except ValueError:  # the edits overlap
            return True
        return bool(findings(self._chain, self._before, text, self._skip))

    def _nearest(self, index: int, others: Iterable[int]) -> list[int]:
        return sorted(others, key=lambda other: (abs(other - index), other))[:_MOST_NEIGHBOURS]


class _Change(NamedTuple):
    """New words for ``start`` to ``end`` of a text."""

    start: int
    end: int
    new: str


class _Region(NamedTuple):
    """A place where the texts differ: ``start`` to ``end`` of the machine's text, ``at`` to ``to`` of people's text."""

    start: int
    end: int
    at: int
    to: int
    is_wanted: bool
    """Whether people's text has words there that a person accepted or wrote."""


class _PlacedChange(NamedTuple):
    """The same change in both texts."""

    in_machine: _Change
    in_people: _Change
    is_wanted: bool
    """Whether a person accepted it, or wrote its words."""


class _Texts:
    """The machine's text and people's text, step by step, and the regions where they differ."""

    def __init__(self, text: str) -> None:
        self.machine = self.people = text
        self._regions: list[_Region] = []

    def apply(
        self, step: Step, rows: Sequence[DecidedEdit], *, is_explained: bool, is_rejected: bool
    ) -> list[DecidedEdit]:
        """Apply a step: all of its edits to the machine's text, and the edits marked in ``stands`` to people's text.

        Returns the edits with their outcomes in people's text.
        """
        changes = list[_PlacedChange]()
        if is_explained:
            machine_changes = _machine_changes(step)
            results = self._apply_edits(rows, changes)
        else:
            # Some edits have no place (the paper's strategy), so people's text gets all of the step or nothing.
            machine_changes = [_change(edit) for edit in edits.between(self.machine, step.text)]
            if not is_rejected:
                for change in machine_changes:
                    self._fit(self.machine[change.start : change.end], change, changes, is_wanted=False)
            results = []
            for row in rows:
                is_applied = row.edit.outcome == "applied" and not is_rejected
                results.append(row._replace(stands="whole" if is_applied else "no"))
        regions = _regions(self._regions, machine_changes, changes)
        self.people = _applied(self.people, [change.in_people for change in sorted(changes)])
        self.machine = step.text
        self._regions = []
        for region in regions:
            if self.machine[region.start : region.end] != self.people[region.at : region.to]:
                self._regions.append(_narrowed(region, self.machine, self.people))
        return results

    def _apply_edits(self, rows: Sequence[DecidedEdit], changes: list[_PlacedChange]) -> list[DecidedEdit]:
        """Add the edits marked in ``stands`` to ``changes``; edits that people decided on come first."""
        results = {row.number: row for row in rows}
        chosen = [row for row in rows if row.stands == "whole"]
        for row in sorted(chosen, key=lambda row: (row.decision is None, row.number)):
            new_words = None if row.decision is None else row.decision.text
            is_wanted = row.decision is not None
            extent = self._fit(row.edit.old, _change(row.edit, new_words), changes, is_wanted=is_wanted)
            if extent == "no":
                remark = "isn't in the text: another edit has changed its place"
                results[row.number] = row._replace(stands="no", remark=remark)
            elif extent == "part":
                remark = "is in the text in part: another edit has changed the rest of its place"
                results[row.number] = row._replace(stands="part", remark=remark)
        return list(results.values())

    def _fit(
        self, old: str, change: _Change, changes: list[_PlacedChange], *, is_wanted: bool
    ) -> Literal["whole", "part", "no"]:
        """Add ``change`` to ``changes`` where it conflicts with no other, word by word if necessary.

        ``is_wanted``: a person accepted it or wrote its words. Returns how much of it was added.
        """
        taken = [other.in_machine for other in changes]
        if change in taken:
            return "whole"
        shifts = self._shifts(change, taken, is_replacing=False)
        if shifts is not None:
            changes.append(_placed(change, shifts, is_wanted=is_wanted))
            return "whole"
        pieces = _pieces(old, change)
        fitting = list[_PlacedChange]()
        done = 0  # pieces that another edit has brought
        for piece in pieces:
            if piece in taken:
                done += 1
                continue
            shifts = self._shifts(piece, taken, is_replacing=is_wanted)
            if shifts is not None:
                fitting.append(_placed(piece, shifts, is_wanted=is_wanted))
        changes += fitting
        done += len(fitting)
        if done == 0:
            return "no"
        return "whole" if done == len(pieces) else "part"

    def _shifts(self, change: _Change, taken: Iterable[_Change], *, is_replacing: bool) -> tuple[int, int] | None:
        """How far the start and the end of ``change`` are moved in people's text.

        ``None`` where the texts differ or another change has ``taken`` its place. With ``is_replacing``, the change
        also replaces what people's text has for the words that it covers, unless people wanted that.
        """
        if any(_overlap(change, other) for other in taken):
            return None
        at_start = at_end = 0
        for region in self._regions:
            if _overlap(change, region):
                is_covered = change.start <= region.start < region.end <= change.end
                if not is_replacing or not is_covered or region.is_wanted:
                    return None
                at_end = region.to - region.end
            elif region.end <= change.start:
                at_start = at_end = region.to - region.end
        return at_start, at_end


def _placed(change: _Change, shifts: tuple[int, int], *, is_wanted: bool) -> _PlacedChange:
    at_start, at_end = shifts
    in_people = _Change(change.start + at_start, change.end + at_end, change.new)
    return _PlacedChange(change, in_people, is_wanted)


def _narrowed(region: _Region, machine: str, people: str) -> _Region:
    """``region`` without the words at its start and its end that both texts have.

    Words that people wanted stay in it: no later edit of the machine changes them.
    """
    if region.is_wanted:
        return region
    ours, theirs = _tokens(machine[region.start : region.end]), _tokens(people[region.at : region.to])
    first, last = 0, -1
    most = min(len(ours), len(theirs))
    while first < most and ours[first] == theirs[first]:
        first += 1
    while first - last <= most and ours[last] == theirs[last]:
        last -= 1
    before = len("".join(ours[:first]))
    behind = len("".join(ours[len(ours) + last + 1 :]))
    return region._replace(
        start=region.start + before, end=region.end - behind, at=region.at + before, to=region.to - behind
    )


def _change(edit: Edit, new_words: str | None = None) -> _Change:
    assert edit.start is not None
    return _Change(edit.start, edit.start + len(edit.old), edit.new if new_words is None else new_words)


def _machine_changes(step: Step) -> list[_Change]:
    """The changes that the machine made at known places, in order."""
    changes = set()
    for edit in step.edits:
        if edit.outcome == "applied" and edit.start is not None:
            changes.add(_change(edit))
    return sorted(changes)


def _applied(text: str, changes: Iterable[_Change]) -> str:
    """``text`` with ``changes``, which are in order and do not overlap."""
    pieces, done = [], 0
    for change in changes:
        pieces += [text[done : change.start], change.new]
        done = change.end
    return "".join([*pieces, text[done:]])


def _overlap(change: _Change, other: _Change | _Region) -> bool:
    """Whether two places share characters, or are the same point; neighbours do not overlap."""
    if change.start == other.start and change.end == other.end:
        return True
    return change.start < other.end and other.start < change.end


def _pieces(old: str, change: _Change) -> list[_Change]:
    """A change of several words as changes of single words; changes with only a space between them are joined."""
    old_tokens, new_tokens = _tokens(old), _tokens(change.new)
    offsets = [0]
    for token in old_tokens:
        offsets.append(offsets[-1] + len(token))
    spans = list[tuple[int, int, int, int]]()  # first and last token of the old words, and of the new words
    for code in alignment.opcodes(old_tokens, new_tokens):
        if code.tag == "equal":
            continue
        if spans and not "".join(old_tokens[spans[-1][1] : code.src_start]).strip():
            old_start, _, new_start, _ = spans.pop()
        else:
            old_start, new_start = code.src_start, code.dest_start
        spans.append((old_start, code.src_end, new_start, code.dest_end))
    pieces = []
    for old_start, old_end, new_start, new_end in spans:
        start, end = change.start + offsets[old_start], change.start + offsets[old_end]
        pieces.append(_Change(start, end, "".join(new_tokens[new_start:new_end])))
    return pieces


def _tokens(text: str) -> list[str]:
    """The words of ``text``, and each character between them."""
    tokens, done = list[str](), 0
    for match in scripts.word_pattern(text).finditer(text):
        tokens += [*text[done : match.start()], match[0]]
        done = match.end()
    return [*tokens, *text[done:]]


class _Growth(NamedTuple):
    """By how many characters each text grows at ``start`` to ``end`` of the texts before a step."""

    start: int
    end: int
    machine: int
    people: int
    is_wanted: bool


def _regions(
    regions: Iterable[_Region], machine_changes: Iterable[_Change], people_changes: Iterable[_PlacedChange]
) -> list[_Region]:
    """Where the texts differ after a step.

    Old regions and changes that overlap make one region, with offsets into the texts after the step.
    """
    places = list[_Growth]()
    for region in regions:
        growth = (region.to - region.at) - (region.end - region.start)
        places.append(_Growth(region.start, region.end, 0, growth, region.is_wanted))
    for change in machine_changes:
        growth = len(change.new) - (change.end - change.start)
        places.append(_Growth(change.start, change.end, growth, 0, is_wanted=False))
    for change, in_people, is_wanted in people_changes:
        growth = len(in_people.new) - (in_people.end - in_people.start)
        places.append(_Growth(change.start, change.end, 0, growth, is_wanted))

    joined = list[_Growth]()
    for place in sorted(places):
        last = joined[-1] if joined else None
        if last is not None and (place.start < last.end or (place.start, place.end) == (last.start, last.end)):
            joined[-1] = _Growth(
                last.start,
                max(last.end, place.end),
                last.machine + place.machine,
                last.people + place.people,
                last.is_wanted or place.is_wanted,
            )
        else:
            joined.append(place)

    after = list[_Region]()
    machine_shift = people_shift = 0
    for place in joined:
        start, end = place.start + machine_shift, place.end + machine_shift + place.machine
        at, to = place.start + people_shift, place.end + people_shift + place.people
        after.append(_Region(start, end, at, to, place.is_wanted))
        machine_shift += place.machine
        people_shift += place.people
    return after
