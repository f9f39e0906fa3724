"""M-MAD: four agents mark errors, one dimension each; debates test them; a judge merges them (M-MAD paper, §2.2).

Read :meth:`MMAD.rate` for the three stages; then come the debates, the rules for lists, and the readers of replies.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import regex

from mtagent.errors import ConfigError
from mtagent.evaluators.protocol import rated, signed
from mtagent.evaluators.replies import NO_ERROR, Item, Weighed, errors_in, read_severity, refuse, text_in
from mtagent.llm import prompts
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.gathering import together
from mtagent.llm.prompts import Prompt, Values
from mtagent.llm.protocol import LLM
from mtagent.llm.reading import Answer, read_answer
from mtagent.records import ErrorSpan, Rating, Segment
from mtagent.text import mqm
from mtagent.text.amounts import counted

Errors = tuple[ErrorSpan, ...]

DIMENSIONS = {
    "accuracy": ("addition", "mistranslation", "omission", "untranslated text"),
    "fluency": ("character encoding", "grammar", "inconsistency", "punctuation", "register", "spelling"),
    "terminology": ("inappropriate for context", "inconsistent use"),
    "style": ("awkward",),
}
"""The dimensions in the order of the typology, with their subcategories (M-MAD paper, §2.2 and Table 13)."""
Topic = Literal["severity", "category", "entirety"]
Strategy = Literal["consensus", "deliberation", "interactive-review", "consultancy-review"]
_ROLES = {"A": "supporter", "B": "opponent"}
DENIAL = (
    "I do not take this for a non-translation. The text translates the source, and its errors can be told apart. So I "
    "do not mark the text as a whole: each error that there is has to be marked in its own place."
)
"""What the opponent of a non-translation says first. An empty list of errors would call the text error-free."""


class MMAD:
    """4 calls for a translation without errors, one more to merge errors, and the calls of each dimension's debate.

    The score is −(5 · major + minor), without a cap; a non-translation is one major error. No reference is used.
    Raises :class:`ConfigError` for too few ``rounds``.
    """

    name = "m-mad"
    weights: mqm.Preset = "mmad"

    def __init__(
        self,
        llm: LLM,
        *,
        strategy: Strategy = "consensus",
        topic: Topic = "severity",
        rounds: int = 3,
        prompts_folder: Path | None = None,
    ) -> None:
        fewest_rounds = 2 if strategy == "interactive-review" else 1
        if rounds < fewest_rounds:
            raise ConfigError(f"m-mad: {strategy} needs at least {counted(fewest_rounds, 'round')}, not {rounds}")
        self._llm = llm
        self._strategy = strategy
        self._topic = topic
        self._rounds = rounds
        _, debate_prompts, most_debate_calls = STRATEGIES[strategy]
        self.calls = (len(DIMENSIONS), len(DIMENSIONS) * (1 + most_debate_calls(rounds)) + 1)
        prompt_names = (*DIMENSIONS, *debate_prompts, "judge")
        self._prompts = {name: prompts.load(f"m-mad-{name}", prompts_folder) for name in prompt_names}
        self.signature = signed(
            self.name,
            llm,
            self._prompts.values(),
            f"weights:{self.weights}",
            strategy=strategy,
            topic=topic,
            rounds=rounds,
        )

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors of ``translation``. Raises :class:`RatingParseError` if an agent's replies cannot be read."""
        values = prompts.segment_values(segment, translation=translation)
        with Dialogue(self._llm, segment.id) as dialogue:
            viewpoints = await together(*(self._viewpoint(dialogue, name, values, translation) for name in DIMENSIONS))
            marked = [error for errors in viewpoints for error in errors]
            judged: Errors = ()
            analysis = None
            if marked:  # without errors the judge has nothing to merge
                for name, errors in zip(DIMENSIONS, viewpoints, strict=True):
                    values[f"{name}_errors"] = as_json(errors)
                judged, analysis = await dialogue.ask(
                    self._prompts["judge"], values, "m-mad judge", lambda reply: parse_judgement(reply, translation)
                )
        errors = with_former_places(judged, marked)
        warnings = []
        for error in errors:
            if not any(error.text in other.text or other.text in error.text for other in marked):
                warnings.append(f"the judge marks {error.text[:80]!r}, which no dimension had marked")
        score = mqm.score(errors, self.weights)
        return rated(self, dialogue, score, errors, explanation=analysis, warnings=tuple(warnings))

    async def _viewpoint(self, dialogue: Dialogue, dimension: str, values: Values, translation: str) -> Errors:
        """The errors of one dimension: marked in stage 1, and debated in stage 2 if there is something to debate."""
        marked = await dialogue.ask(
            self._prompts[dimension],
            values,
            f"m-mad {dimension} annotate",
            lambda reply: parse(reply, translation, dimension),
        )
        if not disputed(marked, self._topic):
            return marked
        # "yes" and None are the conditions of the prompts' sections.
        values = {
            **values,
            "dimension": dimension,
            "categories": ", ".join(f"{dimension}/{name}" for name in DIMENSIONS[dimension]),
            **dict.fromkeys(DIMENSIONS),
            dimension: "yes",
            f"on_{self._topic}": "yes",
            "reviewed": "yes" if self._strategy.endswith("review") else None,
            "non_translation": "yes" if _has_non_translation(marked) else None,
        }
        debate = Debate(
            dialogue=dialogue,
            prompts=self._prompts,
            values=values,
            dimension=dimension,
            translation=translation,
            initial=marked,
            opposed=opposed(marked, self._topic),
            rounds=self._rounds,
        )
        debate_by_strategy, _, _ = STRATEGIES[self._strategy]
        return await debate_by_strategy(debate)


def _has_non_translation(errors: Iterable[ErrorSpan]) -> bool:
    return any(mqm.is_non_translation(error.category) for error in errors)


# Debates


class Turn(NamedTuple):
    """A participant's turn in a debate."""

    speaker: str
    when: str
    text: str
    errors: Errors = ()
    """The annotations, if the speaker is an annotator."""


class Debater:
    """Annotator A or B: its last turn, and the conversation before, in which the other participants are the user."""

    def __init__(self, name: str, errors: Errors, words: str | None = None) -> None:
        """It starts with the given ``words``, by default with its ``errors`` as a list."""
        self.name = name
        self.last_turn = Turn(f"Annotator {name}", "at the start", words or as_json(errors), errors)
        self.talk: list[tuple[str, Values]] = []


@dataclass
class Debate:
    """What the participants of a debate share. A reviewer and a judge read all turns so far as a transcript."""

    dialogue: Dialogue
    prompts: Mapping[str, Prompt]
    """The prompts of its strategy by name."""
    values: Values
    """Of all prompts."""
    dimension: str
    translation: str
    initial: Errors
    opposed: InitVar[Errors]
    rounds: int

    def __post_init__(self, opposed: Errors) -> None:
        self.supporter = Debater("A", self.initial)
        self.opponent = Debater("B", opposed, words=DENIAL if _has_non_translation(self.initial) else None)
        self.turns = [self.supporter.last_turn]

    async def statements(self, number: int, questions: str | None = None) -> tuple[Errors, Errors]:
        """Both annotators' errors in round ``number``. Each answers the other's last turn, and the ``questions``."""
        supporter = self.supporter
        opponent = self.opponent
        if number == 1:
            self.turns.append(opponent.last_turn)
        await together(
            self._statement(supporter, number, {"other": opponent.last_turn.text, "questions": questions}),
            self._statement(opponent, number, {"other": supporter.last_turn.text, "questions": questions}),
        )
        self.turns += [supporter.last_turn, opponent.last_turn]
        return supporter.last_turn.errors, opponent.last_turn.errors

    async def answer(self, number: int, questions: str) -> None:
        """Have A alone answer in round ``number``."""
        await self._statement(self.supporter, number, {"questions": questions})
        self.turns.append(self.supporter.last_turn)

    async def _statement(self, debater: Debater, number: int, heard: Values) -> None:
        """Have a debater answer what it ``heard``."""
        debater.talk.append((debater.last_turn.text, heard))
        text, stated = await self.dialogue.ask(
            self.prompts["debate"],
            {**self.values, "annotator": debater.name, "opposed": "yes" if "other" in heard else None},
            f"m-mad {self.dimension} round {number} {_ROLES[debater.name]}",
            lambda reply: parse_statement(reply, self.translation, self.dimension),
            talk=debater.talk,
        )
        errors = with_former_places(stated, self.initial)
        debater.last_turn = Turn(debater.last_turn.speaker, f"round {number}", text, errors)

    async def agreed(self, number: int, first: Errors, second: Errors) -> bool:
        """Whether the consensus checker finds the two annotations consistent."""
        values = {"first": as_json(first, context=False), "second": as_json(second, context=False)}
        purpose = f"m-mad {self.dimension} round {number} checker"
        return await self.dialogue.ask(self.prompts["consensus"], values, purpose, parse_consensus)

    async def review(self, number: int | None = None, *, alone: bool = False) -> str:
        """The reviewer's questions in round ``number``; without a number, its report to the judge at the end.

        ``alone``: A debates without an opponent.
        """
        if number:
            when = name = f"round {number}"
            values = self._values(closing=None, opposed=None if alone else "yes")
        else:
            when, name = "at the end", "closing"
            values = self._values(closing="yes", opposed=None)
        purpose = f"m-mad {self.dimension} {name} reviewer"
        text = await self.dialogue.ask(self.prompts["review"], values, purpose, text_in)
        self.turns.append(Turn("Reviewer", when, text))
        return text

    async def decision(self) -> Errors:
        """The errors that the judge of the dimension marks after the whole debate."""
        judged, _ = await self.dialogue.ask(
            self.prompts["decide"],
            self._values(),
            f"m-mad {self.dimension} judge",
            lambda reply: parse_judgement(reply, self.translation, self.dimension),
        )
        return with_former_places(judged, self.initial)

    def _values(self, **more: str | None) -> Values:
        debate = "\n\n".join(f"{turn.speaker}, {turn.when}:\n{turn.text}" for turn in self.turns)
        return {**self.values, "debate": debate, **more}


async def consensus(debate: Debate) -> Errors:
    """Up to ``rounds`` rounds, until the annotations agree. If they never do, the supporter's count."""
    for number in range(1, debate.rounds + 1):
        first, second = await debate.statements(number)
        if await debate.agreed(number, first, second):
            break
    return first


async def deliberation(debate: Debate) -> Errors:
    """All rounds, then a judge decides."""
    for number in range(1, debate.rounds + 1):
        await debate.statements(number)
    return await debate.decision()


async def interactive_review(debate: Debate) -> Errors:
    """After each round except the last a reviewer asks questions for the next round; then a judge decides."""
    await debate.statements(1)
    for number in range(2, debate.rounds + 1):
        await debate.statements(number, await debate.review(number - 1))
    return await debate.decision()


async def consultancy_review(debate: Debate) -> Errors:
    """A alone answers a reviewer's questions in each round; the reviewer reports to a judge, who decides."""
    for number in range(1, debate.rounds + 1):
        await debate.answer(number, await debate.review(number, alone=True))
    await debate.review()
    return await debate.decision()


STRATEGIES: dict[Strategy, tuple[Callable[[Debate], Awaitable[Errors]], tuple[str, ...], Callable[[int], int]]] = {
    "consensus": (consensus, ("debate", "consensus"), lambda rounds: 3 * rounds),
    "deliberation": (deliberation, ("debate", "decide"), lambda rounds: 2 * rounds + 1),
    "interactive-review": (interactive_review, ("debate", "review", "decide"), lambda rounds: 3 * rounds),
    "consultancy-review": (consultancy_review, ("debate", "review", "decide"), lambda rounds: 2 * rounds + 2),
}
"""How each strategy debates, its prompts (``m-mad-NAME``), and the most calls for a number of rounds."""


def disputed(errors: Errors, topic: Topic) -> bool:
    """Whether there is something to debate: a major error, or for the other topics any error."""
    if topic == "severity":
        return any(error.severity == "major" for error in errors)
    return bool(errors)


def opposed(errors: Errors, topic: Topic) -> Errors:
    """The opponent's first standpoint. The words and places of the errors are never changed.

    On severity: every major error is minor. On categories: the errors are of another category. On the entirety: there
    isn't an error. A non-translation is denied, in the words of :data:`DENIAL`, whatever the topic.
    """
    if topic == "entirety" or _has_non_translation(errors):
        return ()
    if topic == "category":
        return tuple(error.model_copy(update={"category": f"not {error.category}"}) for error in errors)
    return tuple(error.model_copy(update={"severity": "minor"}) for error in errors)


# Lists of errors


def as_json(errors: Sequence[ErrorSpan], *, context: bool = True) -> str:
    """``errors`` as the annotations that the prompts ask for, with or without the words around each span."""
    annotations = []
    for error in errors:
        annotation = {"error_span": "all" if mqm.is_non_translation(error.category) else error.text}
        if context:
            annotation["before"] = error.before or ""
            annotation["after"] = error.after or ""
        annotation["category"] = error.category
        annotation["severity"] = error.severity
        annotation["is_source_error"] = "yes" if error.side == "source" else "no"
        annotations.append(annotation)
    return json.dumps({"annotations": annotations}, ensure_ascii=False)


def settled(errors: Iterable[ErrorSpan]) -> Errors:
    """The typology's rules: a non-translation excludes all other errors, and each place has one error, the worst.

    Of errors with the same severity at the same place the first counts, in the order of the dimensions.
    """
    errors = list(errors)
    for error in errors:
        if mqm.is_non_translation(error.category):
            return (error,)

    def rank(error: ErrorSpan) -> tuple[int, int]:
        kind = error.category.partition("/")[0]
        return -mqm.severity_rank(error.severity), [*DIMENSIONS, kind].index(kind)

    worst: dict[object, ErrorSpan] = {}
    for number, error in enumerate(errors):
        place = number if error.start is None else (error.start, error.end)
        worst[place] = min(worst.get(place, error), error, key=rank)
    return tuple(worst.values())


def with_former_places(errors: Iterable[ErrorSpan], former: Sequence[ErrorSpan]) -> Errors:
    """``errors``; an error without context gets the place of the ``former`` error with the same words."""
    placed = []
    for error in errors:
        if not error.before and not error.after:
            places = {_place(other) for other in former if _same_words(other, error)}
            if len(places) == 1:
                place = dict(zip(_PLACE, places.pop(), strict=True))
                error = error.model_copy(update=place)
        placed.append(error)
    return settled(placed)


_PLACE = ("side", "start", "end", "before", "after")


def _place(error: ErrorSpan) -> tuple[object, ...]:
    return tuple(getattr(error, name) for name in _PLACE)


def _same_words(error: ErrorSpan, other: ErrorSpan) -> bool:
    """Whether two errors mark the same words. An omission marks words of the source."""
    are_alike = error.category.endswith("omission") == other.category.endswith("omission")
    return are_alike and error.text == other.text


# Replies

_ALONE = regex.compile(r"^[ \t*_`\"'«“>#-]*+(yes|no)[ \t\r*_`\"'»”.!]*+$", regex.IGNORECASE | regex.MULTILINE)
# An answer inside a sentence: "the answer is no.", "no (they differ)", but not "no differences", "yes if", "no. 3".
_SAID = regex.compile(
    r"""(?<![^\W_]) (yes|no) [\"'*_`”’»]*+ (?=[^\S\n]*+(?:\Z | [\n,:;!()\[\]{}–—] | \.(?!\s?\d) | -\s))
    | \A\W*+(yes|no) (?=\s+(?:they|the|these|those|it|both|there|because|since)\b)""",
    regex.IGNORECASE | regex.VERBOSE,
)
# A yes that is none: "I would not say yes", "yes, they are inconsistent".
_NOT_YES = regex.compile(
    r"\b(?:not|never|cannot|\w+n['’]t)\s+(?:\w+\s+){0,2}[\"'“‘*]*+yes\b"
    r"|\b(?:inconsistent|disagree\w*)\b|\b(?:not|never|\w+n['’]t)\s+(?:\w+\s+)?(?:consistent|agree)\b",
    regex.IGNORECASE,
)
_CHOICE = regex.compile(r"\byes\b\W{0,3}(?:/|\b(?:or|and)\b)\W{0,3}\bno\b", regex.IGNORECASE)


def parse(reply: str, translation: str, dimension: str | None = None) -> Errors:
    """The errors in ``reply``, located in ``translation`` if that is certain; ``()`` only for a stated "no error".

    Severities are major and minor. A category without its ``dimension`` gets it, and the rules of :func:`settled`
    apply. Raises :class:`RatingParseError` if any part cannot be read.
    """
    return _errors(read_answer(reply), translation, dimension)


def parse_statement(reply: str, translation: str, dimension: str | None = None) -> tuple[str, Errors]:
    """A debater's text without its thoughts, and its errors: the last ones, since it may quote the other's first."""
    return text_in(reply), _errors(read_answer(reply, last=True), translation, dimension)


def parse_judgement(reply: str, translation: str, dimension: str | None = None) -> tuple[Errors, str | None]:
    """The ``annotations`` and the ``analysis`` of a judge."""
    answer = read_answer(reply)
    analysis = answer.value.pop("analysis", None) if isinstance(answer.value, dict) else None
    if not isinstance(analysis, str):
        analysis = None
    return _errors(answer, translation, dimension), analysis


def _errors(answer: Answer, translation: str, dimension: str | None) -> Errors:
    def with_category(item: Item) -> Item:
        """The category in full. A non-translation is major and marks the whole text, whatever the item says."""
        category = str(item.get("category") or "").strip().casefold()
        if mqm.is_non_translation(category.rpartition("/")[2]):
            return {**item, "category": "non-translation", "severity": "major", "span": "all"}
        if category.rpartition("/")[2] in NO_ERROR:
            return {**item, "category": "no-error"}
        if category.startswith("not "):  # what an opponent on categories starts from
            refuse(f"{category[:40]!r} does not say which category an error has")
        if dimension is None or ("/" in category and not category.startswith(dimension)):
            return item
        subcategory = category.removeprefix(dimension).strip(" /:>–-")
        return {**item, "category": f"{dimension}/{subcategory}".rstrip("/")}

    def severity(value: object) -> Weighed:
        weighed = read_severity(value)
        if weighed.severity not in ("major", "minor"):
            refuse(f"the severity {weighed.severity!r} is neither major nor minor")
        return weighed

    return settled(errors_in(answer, translation, severity, with_category))


def parse_consensus(reply: str) -> bool:
    """Whether a consensus checker says yes. Raises :class:`RatingParseError` unless it clearly says yes or no."""
    words = _CHOICE.sub("", text_in(reply))
    matches = _ALONE.findall(words)
    if not matches:
        matches = [inside or at_start for inside, at_start in _SAID.findall(words)]
    answers = {match.casefold() for match in matches}
    is_unclear_yes = answers == {"yes"} and _NOT_YES.search(words)
    if len(answers) != 1 or is_unclear_yes:
        refuse("it says neither yes nor no", words)
    return answers == {"yes"}
