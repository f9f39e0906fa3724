"""The queue of a review: the segments of runs, the most doubtful first, and decisions on them."""

from __future__ import annotations

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtagent.chain.decided_text import Decided, DecidedRun, findings, numbered
from mtagent.chain.guards import Damage
from mtagent.config import Config
from mtagent.errors import ConfigError, DecidedElsewhere, InputError, NotStored, StoreError
from mtagent.learning.calibrate import crosswise_effect, few_groups
from mtagent.learning.gain import next_edits
from mtagent.learning.runs import EDITED_TEXT, EditLabels, all_edits, decided_edits, edits_of, of_own_gate
from mtagent.learning.text import MEANING_OF_DECISIONS, meaning, needs_no_gate, outlook, without_gate
from mtagent.records import (
    Cause,
    Chain,
    ErrorSpan,
    GainCause,
    Judgement,
    Severity,
    Step,
    guards_of,
    judgements_of,
)
from mtagent.records.decisions import Decision, fingerprint, text_hash
from mtagent.report.packing import changes, packed, packed_error, units
from mtagent.review.tracked import codes_of_pieces, tracked_as_decided
from mtagent.store.store import Store
from mtagent.text.amounts import counted
from mtagent.text.markup import InlineCode, inline_codes
from mtagent.text.mqm import SEVERITIES
from mtagent.text.scripts import runs_right_to_left

# The chance that something is wrong, for each kind of doubt.
_NO_TRANSLATION = 1.0
_FAILED_STEP = 0.8
_REFUSED_BY_GUARD = 0.35
_NOT_JUDGED = 0.3
_CORRECTED_BY_RULES = 0.05
_UNCORRECTED_ERROR: dict[Severity, float] = {"neutral": 0.0, "minor": 0.3, "major": 0.75, "critical": 0.9}
"""A serious error that nobody corrected outweighs a change that the judge hardly judged."""
_LEAST_REASON = 0.2
"""Chances below this are not shown as reasons to look at a segment."""
_STEEPNESS = 2.0
"""How fast a judge's difference removes doubt: its typical difference in favour leaves 12 %, a tie leaves 50 %."""
PART = 500
"""Segments that the page reads at a time: the server answers nothing else meanwhile."""
_MOST_LOOKED_AT = 5_000
_MOST_POSITION = 2**63
"""SQLite's integers are smaller."""


class Doubt(NamedTuple):
    """A reason to look at a segment."""

    words: str
    chance: float = 0.0
    """The chance that something is wrong, where no judges compared the texts."""
    differences: tuple[tuple[str, float], ...] = ()
    """Each judge with the score difference that it saw; it counts instead of ``chance``."""
    sign: int = 1
    """-1 for a change that was kept: a difference in its favour removes doubt."""


def doubts(chain: Chain) -> list[Doubt]:
    """All that may be wrong with a chain's text."""
    if chain.given is None:
        return [Doubt("no translation", _NO_TRANSLATION)]
    result = list[Doubt]()
    for step in chain.steps:
        if step.verdict == "failed":
            result.append(Doubt(f"{step.stage} failed", _FAILED_STEP))
        elif step.stage != "translate" and step.verdict in ("kept", "rejected"):
            result += _step_doubts(step)
    errors = (*chain.errors_left, *_errors_of_judges(chain, chain.text))
    severities = [error.severity for error in errors]
    if severities:
        chance_of_none = math.prod(1 - _UNCORRECTED_ERROR[severity] for severity in severities)
        result.append(Doubt(_errors_in_words(severities), 1 - chance_of_none))
    return result


def _errors_in_words(severities: Sequence[Severity]) -> str:
    """``1 major error not fixed``, ``2 critical and 1 minor error not fixed``."""
    counts = Counter(severities)
    present = [severity for severity in reversed(SEVERITIES) if counts[severity]]
    parts = [f"{counts[severity]} {severity}" for severity in present]
    noun = "error" if counts[present[-1]] == 1 else "errors"
    return f"{' and '.join(parts)} {noun} not fixed"


def _step_doubts(step: Step) -> Iterator[Doubt]:
    """The doubts about a step that changed the text or tried to."""
    cause = step.cause
    differences = _differences(cause)
    edit_guards: dict[str, None] = {}
    for edit in step.edits:
        edit_guards |= dict.fromkeys(edit.guards)
    guards = list(edit_guards or guards_of(cause))
    if guards:
        yield Doubt(f"an edit refused by a guard ({', '.join(guards)})", _REFUSED_BY_GUARD)
        if cause.kind == "guards":
            return
    if step.stage == "rules":
        yield Doubt("corrected by fixed rules", _CORRECTED_BY_RULES)
        return
    if isinstance(cause, GainCause) and cause.gain is not None:
        words = f"{step.verdict}, expected gain {cause.gain:+.2g}"
    else:
        judgements = judgements_of(cause)
        words = f"{step.verdict}: {_opinions(judgements) or 'no judge was asked'}"
    sign = 1 if step.verdict == "rejected" else -1
    yield Doubt(words, _NOT_JUDGED, differences, sign)


def _differences(cause: Cause) -> tuple[tuple[str, float], ...]:
    """Each judge with the score difference that it saw, or the gain that was expected from all of them."""
    if isinstance(cause, GainCause) and cause.gain is not None:
        return (("gain", cause.gain),)
    differences = list[tuple[str, float]]()
    for judgement in judgements_of(cause):
        if judgement.difference is not None:
            differences.append((judgement.judge, judgement.difference))
    return tuple(differences)


def _errors_of_judges(chain: Chain, text: str) -> Iterator[ErrorSpan]:
    """The errors that judges found in the chain's last text and no editor before, if ``text`` still has them."""
    if not chain.steps:
        return
    last = chain.steps[-1]
    rating = last.rating("after")
    if rating is None or last.verdict != "kept":
        return
    known = {error.subject for error in chain.errors_left_in(text)}
    for error in rating.errors or ():
        if error.severity != "neutral" and error.is_in(text, last.text) and error.subject not in known:
            yield error


def _reasons(weighed: Sequence[tuple[float, Doubt]]) -> list[str]:
    """Why a segment is worth a look, the strongest reason first."""
    words = [doubt.words for chance, doubt in weighed if chance >= _LEAST_REASON]
    return list(dict.fromkeys(words))


def _chance(doubt: Doubt, typical_differences: Mapping[str, float]) -> float:
    """The chance that something is wrong."""
    if not doubt.differences:
        return doubt.chance
    ratios = []
    for judge, difference in doubt.differences:
        # A judge may have judged none of the segments that were looked at.
        typical = typical_differences.get(judge) or abs(difference) or 1.0
        ratios.append(difference / typical)
    evidence = doubt.sign * _STEEPNESS * (math.fsum(ratios) / len(ratios))
    return 1 / (1 + math.exp(max(-50.0, min(50.0, -evidence))))


class SegmentDecisions(NamedTuple):
    """The ``decisions`` on a segment at ``position``, whose ``version`` and fingerprint ``seen`` were shown."""

    position: int
    version: int
    seen: str
    decisions: Sequence[Decision]


class ReviewQueue:
    """Runs to decide on, by one person. It is used by one thread, as the store is."""

    def __init__(self, store: Store, names: Sequence[str], who: str = "") -> None:
        self.store = store
        self.names = list(dict.fromkeys(names))
        self.who = who
        self._runs = [DecidedRun(store, name) for name in self.names]
        self._typical_differences: dict[str, float] | None = None
        self._edited_texts: dict[str, int] = {}  # by run

    @property
    def store_key(self) -> str:
        """What distinguishes this store from others, without its path."""
        return text_hash(str(Path(self.store.database.path).resolve()))

    def obstacle(self) -> str:
        """Why decisions cannot be stored now; empty if they can."""
        try:
            with self.store.database.writing():
                return ""
        except StoreError as error:
            return str(error)

    def segments(self) -> tuple[int, int]:
        """The number of segments of all runs, and of those that were changed or that a change was proposed for."""
        total = changed = 0
        for opened in self._runs:
            counts = opened.run.counts()
            total += counts.done + counts.failed
            changed += counts.changed + counts.rejected
        return total, changed

    def rows(self, run: int, after: int) -> list[PlainData]:
        """The next segments of a run ``after`` a position, as plain data; none at the end.

        ``worth`` is the chance that something is wrong: the page shows the highest first.
        """
        if not -1 <= after < _MOST_POSITION:
            raise ConfigError(f"{after} isn't a position")
        opened = self._opened(run)
        if self._typical_differences is None:
            self._typical_differences = _typical_differences(self._runs)
        rows = []
        for position, result, version in opened.part(after, PART):
            weighed = []
            for doubt in doubts(result.chain):
                weighed.append((_chance(doubt, self._typical_differences), doubt))
            weighed.sort(key=lambda entry: -entry[0])
            rows.append({
                **row_data(run, position, result),
                **status_data(result, version),
                "why": _reasons(weighed),
                "worth": round(1 - math.prod(1 - chance for chance, _ in weighed), 4),
            })  # fmt: skip
        return rows

    def segment(self, run: int, position: int) -> tuple[Decided, int]:
        """A segment with its decisions, and their version. Raises :class:`NotStored` if there is none."""
        opened = self._run(run, position)
        version = opened.log.version(position)
        return opened.segment(position), version

    def versions(self) -> list[dict[int, int]]:
        """For each run, the versions of the segments with decisions."""
        return [run.log.versions() for run in self._runs]

    def check(self, run: int, position: int, text: str) -> tuple[str, tuple[Damage, ...]]:
        """Why ``text`` cannot be the segment's text (empty if it can), and the damage that the guards see in it."""
        opened = self._run(run, position)
        chain = opened.run.chain_at(position)
        try:
            opened.checked(chain, Decision(segment=chain.segment.id, verdict="text", text=text), ())
        except ConfigError as error:
            return str(error), ()
        if chain.given is None:
            return "", ()
        return "", findings(chain, chain.given, text, opened.skip)

    def decide(self, run: int, position: int, decision: Decision, *, version: int, seen: str) -> int:
        """Store a decision on a segment whose ``version`` and fingerprint ``seen`` were shown, and return its id.

        If the last decision there is this one, it is not stored again: the page did not receive the answer and asked
        again. Raises :class:`DecidedElsewhere` if the segment has changed since it was shown, and
        :class:`ConfigError` for a decision that cannot be made.
        """
        opened = self._run(run, position)
        chain = opened.run.chain_at(position)
        if fingerprint(chain) != seen:
            raise DecidedElsewhere(f"segment {chain.segment.id} was done again meanwhile; look at it again")
        signed = decision.model_copy(update={"segment": chain.segment.id, "who": self.who})
        history = opened.log.history(position)
        if history and history[-1].id != version:
            if _is_repeated(signed, history[-1]):
                return history[-1].id
            raise DecidedElsewhere(f"segment {chain.segment.id} was decided on elsewhere meanwhile; look at it again")
        checked = opened.checked(chain, signed, history)
        return opened.log.append([(position, checked)], expected={position: version})[position]

    def decide_all(self, run: int, batch: Sequence[SegmentDecisions]) -> list[PlainData]:
        """Store the decisions on each segment of the ``batch`` that is still as it was shown.

        For each segment, returns its state and the ids of the decisions ``made``. Segments that were decided on or
        done again meanwhile have none, unless the page asked for these decisions before and did not receive the
        answer; what was withdrawn meanwhile is not withdrawn again. All decisions of a batch
        are written together, or none. Raises :class:`ConfigError` for a decision that cannot be made.
        """
        opened = self._opened(run)
        placed: list[tuple[int, Decision]] = []
        expected: dict[int, int] = {}
        repeated: dict[int, list[int]] = {}
        for entry in batch:
            self._run(run, entry.position)
            chain = opened.run.chain_at(entry.position)
            history = list(opened.log.history(entry.position))
            version = history[-1].id if history else 0
            if fingerprint(chain) != entry.seen or entry.position in expected:
                continue
            if version != entry.version:
                repeated[entry.position] = self._made_before(entry, history)
                continue
            expected[entry.position] = version
            withdrawn = {decision.withdraws for decision in history}
            for decision in entry.decisions:
                if decision.withdraws is not None and decision.withdraws in withdrawn:
                    continue  # somebody else was faster
                signed = decision.model_copy(update={"segment": chain.segment.id, "who": self.who})
                checked = opened.checked(chain, signed, history)
                history.append(checked)
                placed.append((entry.position, checked))
        versions = opened.log.append(placed, expected=expected) if placed else {}
        counts = Counter(position for position, _ in placed)
        states = []
        for entry in batch:
            made = repeated.get(entry.position, [])
            last = versions.get(entry.position)
            if last is not None:  # the decisions on a segment were written one after the other
                made = list(range(last - counts[entry.position] + 1, last + 1))
            result, version = self.segment(run, entry.position)
            states.append({"run": run, "position": entry.position, "made": made, **status_data(result, version)})
        return states

    def gates(self, store: Store) -> list[PlainData]:
        """What the gates can learn from the decisions on each run. ``store`` is this one, opened by another thread."""
        data = []
        for name in self.names:
            if name not in self._edited_texts:
                self._edited_texts[name] = edits_of(store, name)
            data.append({"run": name, **gate_data(store, name, self._edited_texts[name])})
        return data

    def _made_before(self, entry: SegmentDecisions, history: Sequence[Decision]) -> list[int]:
        """The ids of the last decisions in ``history`` if they are those of ``entry``, made after its version."""
        earlier = len(history) - len(entry.decisions)
        if earlier < 0 or (history[earlier - 1].id if earlier else 0) != entry.version:
            return []
        for decision, made in zip(entry.decisions, history[earlier:], strict=True):
            if not _is_repeated(decision.model_copy(update={"who": self.who}), made):
                return []
        return [decision.id for decision in history[earlier:]]

    def _opened(self, run: int) -> DecidedRun:
        if not 0 <= run < len(self._runs):
            raise ConfigError(f"there is no run {run} in this review, which has {counted(len(self._runs), 'run')}")
        return self._runs[run]

    def _run(self, run: int, position: int) -> DecidedRun:
        opened = self._opened(run)
        if not 0 <= position < _MOST_POSITION or opened.run.text_at(position) is None:
            raise NotStored(f"run {self.names[run]!r}: has no segment at position {position}, or was deleted")
        return opened


def _typical_differences(runs: Iterable[DecidedRun]) -> dict[str, float]:
    """The root mean square of each judge's differences: a large one for one judge may be small for another.

    Only some thousand segments of a large run are looked at, so that its first rows are there at once.
    """
    squares = defaultdict[str, list[float]](list)
    for opened in runs:
        for cause in opened.run.causes(_MOST_LOOKED_AT):
            for judge, difference in _differences(cause):
                squares[judge].append(difference**2)
    typical = {}
    for judge, values in squares.items():
        typical[judge] = math.sqrt(math.fsum(values) / len(values)) or 1.0
    return typical


def _is_repeated(decision: Decision, last: Decision) -> bool:
    """Whether ``decision`` was stored already as the ``last`` one."""
    fields = ("edit", "verdict", "text", "who", "withdraws")
    return all(getattr(decision, field) == getattr(last, field) for field in fields)


PlainData = dict[str, Any]
"""What JSON can hold."""


# -- segments, and what a gate learns from decisions, as the plain data that the page reads


def row_data(run: int, position: int, result: Decided) -> PlainData:
    """A segment's row in the queue: what people search and filter by."""
    chain, segment = result.chain, result.chain.segment
    stages: list[str] = []
    guards: list[str] = []
    spans: list[ErrorSpan] = []
    categories: list[str] = []
    severities: list[str] = []
    proposed: list[str] = []
    for _, _, edit in numbered(chain):
        proposed.append(edit.new)
        guards += edit.guards
        if edit.span:
            spans.append(edit.span)
    for step in chain.steps:
        if step.edits or step.verdict not in ("unchanged", "kept"):
            stages.append(step.stage)
        if step.verdict == "rejected":
            guards += guards_of(step.cause)
        for rating in step.ratings:
            spans += rating.errors or ()
    for span in spans:
        categories.append(span.category)
        severities.append(span.severity)
    return {
        "run": run,
        "position": position,
        "id": segment.id,
        "source_lang": segment.source_lang,
        "target_lang": segment.target_lang,
        "source": segment.source,
        "source_codes": codes_data(segment.source),
        "given": chain.given,
        "proposed": proposed,
        "gain": _expected_gain(chain),
        "state": _distinct([chain.state]),
        "guard": _distinct(guards),
        "category": _distinct(categories),
        "severity": _distinct(severities),
        "stage": _distinct(stages),
        "document": _distinct([segment.document]),
    }


def _expected_gain(chain: Chain) -> tuple[float, float] | None:
    """What the gate expected of the last change that it weighed: the gain, and the chance that people prefer it."""
    for step in reversed(chain.steps):
        cause = step.cause
        if isinstance(cause, GainCause) and cause.gain is not None and cause.chance is not None:
            return round(cause.gain, 4), round(cause.chance, 4)
    return None


def _distinct(values: Iterable[str | None]) -> list[str]:
    return list(filter(None, dict.fromkeys(values)))


def status_data(result: Decided, version: int) -> PlainData:
    """What was decided on a segment; ``verdict`` is ``None`` if its edits were decided on differently."""
    if result.decision is not None:
        verdicts = {result.decision.verdict}
    else:
        verdicts = {row.decision.verdict for row in result.edits if row.decision}
    if result.approved:
        extent = "all"
    elif result.reviewed:
        extent = "some"
    else:
        extent = "no"
    return {
        "text": result.text,
        "text_codes": codes_data(result.text),
        "seen": fingerprint(result.chain),
        "version": version,
        "decided": extent,
        "verdict": verdicts.pop() if len(verdicts) == 1 else None,
        "findings": len(result.findings),
    }


def codes_data(text: str) -> list[tuple[int, int, str]]:
    """The inline codes of ``text``: where each begins and ends, in UTF-16 code units, and what it is."""
    return _placed(text, inline_codes(text))


def _placed(text: str, codes: Iterable[InlineCode]) -> list[tuple[int, int, str]]:
    places = []
    for code in codes:
        start = units(text[: code.start])
        places.append((start, start + units(text[code.start : code.end]), code.meaning))
    return places


def _direction(language: str) -> str:
    return "rtl" if runs_right_to_left(language) else "ltr"


def segment_data(result: Decided) -> PlainData:
    """An open segment with its edits and decisions."""
    chain, language = result.chain, result.chain.segment.target_lang
    given = chain.given or ""
    text_changes: Sequence[int] = []
    if result.text != given:
        text_changes = changes(given, result.text, language)
    edits = []
    for row in result.edits:
        edits.append({
            "number": row.number,
            "stands": row.stands,
            "remark": row.remark,
            "alone": row.alone,
            "guards": row.edit.guards,
            "changes": changes(row.edit.old, row.edit.new, language),
            "codes": [codes_data(row.edit.old), codes_data(row.edit.new)],
            "decision": _decision_data(row.decision),
        })  # fmt: skip
    pieces = []
    tracked_pieces, is_tracked = tracked_as_decided(result)
    for piece, codes in zip(tracked_pieces, codes_of_pieces(tracked_pieces), strict=True):
        pieces.append((piece.text, piece.brought, piece.taken, _placed(piece.text, codes)))
    errors = list(result.errors_left)
    if not result.is_found_right:
        errors += _errors_of_judges(chain, result.text)
    return {
        "chain": packed(chain),
        "pieces": pieces,
        "is_tracked": is_tracked,
        "given_codes": codes_data(given),
        "directions": [_direction(chain.segment.source_lang), _direction(language)],
        "judged": [opinion_of_step(step) for step in chain.steps],
        "errors_left": [packed_error(error, result.text) for error in errors],
        "not_fixed": [len(errors_of_step) for errors_of_step in result.errors_left_by_step],
        "terms": [term.shown for term in chain.segment.terms],
        "changes": text_changes,
        "edits": edits,
        "decision": _decision_data(result.decision),
        "only_whole": result.only_whole,
        "found": [damage.model_dump() for damage in result.findings],
        "stale": len(result.stale),
    }


def opinion_of_step(step: Step) -> str:
    """What judges and gate think of a step's change, for people who know neither; empty if nobody was asked."""
    judgements = judgements_of(step.cause)
    if not judgements:
        return ""
    sentence = f"{_sentence(_opinions(judgements))}."
    if isinstance(step.cause, GainCause) and step.cause.gain is not None:
        sentence += f" Expected gain: {step.cause.gain:+.2g} points."
    judged_outcome = "applied" if step.verdict == "kept" else "rejected"
    judged_count = sum(edit.outcome == judged_outcome for edit in step.edits)
    if judged_count > 1:
        sentence += f" {judged_count} edits were judged together."
    return sentence


def _opinions(judgements: Sequence[Judgement]) -> str:
    """What the judges think of a change, without their names."""
    if len(judgements) == 1:
        return f"the judge {_preference(judgements[0])}"
    preferences = Counter(_preference(judgement) for judgement in judgements)
    parts = []
    for preference, count in preferences.most_common():
        parts.append(f"{counted(count, 'judge')}: {preference}")
    return "; ".join(parts)


def _preference(judgement: Judgement) -> str:
    if judgement.contradicts_itself:
        return "cannot tell the texts apart"
    if judgement.choices:
        if judgement.difference == 0:
            return "sees hardly any difference"
        text = "new" if judgement.difference == 1 else "earlier"
        orders = "" if len(judgement.choices) == 1 else ", in both orders"
        return f"prefers the {text} text{orders}"
    if judgement.gain is None:
        return "gave no answer"
    if judgement.gain == 0:
        return f"scores both texts {judgement.after:g}"
    text = "new" if judgement.gain > 0 else "earlier"
    return f"prefers the {text} text ({judgement.before:g} → {judgement.after:g})"


def _decision_data(decision: Decision | None) -> PlainData | None:
    if decision is None:
        return None
    return {"verdict": decision.verdict, "text": decision.text, "who": decision.who}


def gate_data(store: Store, name: str, total: int) -> PlainData:
    """What the gate can learn from the decisions on a run with ``total`` edited texts, in words, and the commands."""
    command = f"mtagent gate calibrate --run {shlex.quote(name)} --decisions -o gate.json"
    try:
        run_edits = decided_edits(store, name, total)
        data = of_own_gate(run_edits)
        effect = crosswise_effect(data)
    except (ConfigError, InputError) as error:
        return {"paragraphs": [f"The gate cannot learn from the decisions yet: {error}."], "commands": [command]}
    paragraphs = [
        f"You have decided on {run_edits.progress}{run_edits.recommended}. {_sentence(EDITED_TEXT)}.",
        f"{_sentence(MEANING_OF_DECISIONS)}: {'; '.join(meaning(effect))}.",
        *(f"{_sentence(warning)}." for warning in few_groups(effect, has_documents=data.has_documents)),
        f"{_sentence(outlook(effect, total))}.",
    ]
    all_the_same = ""
    if needs_no_gate(effect, total):
        paragraphs.append(f"{_sentence(without_gate(effect))}.")
        all_the_same = " all the same"
    paragraphs.append(f"This command makes the gate{all_the_same}. The ratings are stored, so it costs nothing:")
    commands = [command]
    if not all_the_same:
        commands.append("# it prints the next command, which uses the gate")
    return {"paragraphs": paragraphs, "commands": commands}


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


_MOST_LABELLED = 200


def worth_labelling_of(store: Store, name: str) -> list[str]:
    """The ids of the segments whose decisions would teach the gate most, best first; raises as :func:`all_edits`."""
    labels = EditLabels.of_decisions(store, name)
    edits = next_edits(all_edits(Config(store=Path(store.database.path)), name, labels), _MOST_LABELLED)
    return list(dict.fromkeys(edit.pair.segment.id for edit in edits.edits))
