"""M-MAD: four agents mark errors, one dimension each; debates test them; a judge merges them (M-MAD paper, §2.2).

Read :meth:`MMAD.rate` for the three stages, and :mod:`mtagent.evaluators.debate` for the debates.
"""

from __future__ import annotations

from pathlib import Path

import mtagent
from mtagent import mqm, prompts
from mtagent.errors import ConfigError
from mtagent.evaluators.debate import PROMPTS, STRATEGIES, Debate, Strategy, Topic, disputed, opposed
from mtagent.evaluators.m_mad_replies import (
    DIMENSIONS,
    Errors,
    Judgement,
    as_json,
    parse,
    parse_judgement,
    remembered,
)
from mtagent.llm.dialogue import Dialogue
from mtagent.llm.sampling import settings_of
from mtagent.prompts import Values
from mtagent.protocols import LLM
from mtagent.records import Rating, Segment
from mtagent.together import together


class MMAD:
    """4 calls for a translation without errors; one more to merge errors; for each debated dimension its debate.

    The score is −(5 · major + minor), without a cap; a non-translation is one major error. No reference is used.
    Raises :class:`ConfigError` for too few ``rounds``.
    """

    name = "m-mad"

    def __init__(
        self,
        llm: LLM,
        *,
        strategy: Strategy = "consensus",
        topic: Topic = "severity",
        rounds: int = 3,
        prompts_folder: Path | None = None,
    ) -> None:
        least = 2 if strategy == "interactive-review" else 1
        if rounds < least:
            raise ConfigError(f"m-mad: {strategy} needs at least {least} round{'s' * (least - 1)}, not {rounds}")
        self._llm, self._strategy, self._topic, self._rounds = llm, strategy, topic, rounds
        used = (*DIMENSIONS, *PROMPTS[strategy], "judge")
        self._prompts = {name: prompts.load(f"m-mad-{name}", prompts_folder) for name in used}
        self.signature = "|".join(
            [
                self.name,
                f"model:{llm.model}",
                *(f"prompt:{prompt.signature}" for prompt in self._prompts.values()),
                *settings_of(llm),
                "weights:mmad",
                f"strategy:{strategy}",
                f"topic:{topic}",
                f"rounds:{rounds}",
                f"version:{mtagent.__version__}",
            ]
        )

    async def rate(self, segment: Segment, translation: str) -> Rating:
        """Mark the errors of ``translation``. Raises :class:`RatingParseError` if an agent's replies cannot be read."""
        values = prompts.segment_values(segment, translation=translation)
        with Dialogue(self._llm, segment.id) as dialogue:
            viewpoints = await together(*(self._viewpoint(dialogue, name, values, translation) for name in DIMENSIONS))
            judgement = await self._judge(dialogue, viewpoints, values, translation)
        return Rating(
            evaluator=self.name,
            score=mqm.score(judgement.errors, "mmad"),
            errors=judgement.errors,
            explanation=judgement.analysis,
            calls=tuple(dialogue.calls),
            signature=self.signature,
            warnings=_added(judgement.errors, viewpoints),
            seconds=dialogue.seconds,
        )

    async def _viewpoint(self, dialogue: Dialogue, dimension: str, values: Values, translation: str) -> Errors:
        """The errors of one dimension: marked in stage 1, and debated in stage 2 where there is something to debate."""
        marked = await dialogue.ask(
            self._prompts[dimension],
            values,
            f"m-mad {dimension} annotate",
            lambda reply: parse(reply, translation, dimension),
        )
        if not disputed(marked, self._topic):
            return marked
        debate = Debate(
            dialogue=dialogue,
            prompts=self._prompts,
            values={**values, **_terms(dimension, self._topic, self._strategy, marked)},
            dimension=dimension,
            translation=translation,
            initial=marked,
            opposed=opposed(marked, self._topic),
            rounds=self._rounds,
        )
        return await STRATEGIES[self._strategy](debate)

    async def _judge(self, dialogue: Dialogue, viewpoints: list[Errors], values: Values, translation: str) -> Judgement:
        """Stage 3: one list of the errors of all dimensions. Where no dimension has any, nobody needs to be asked."""
        marked = [error for errors in viewpoints for error in errors]
        if not marked:
            return Judgement((), None)
        lists = {f"{name}_errors": as_json(errors) for name, errors in zip(DIMENSIONS, viewpoints, strict=True)}
        judgement = await dialogue.ask(
            self._prompts["judge"],
            {**values, **lists},
            "m-mad judge",
            lambda reply: parse_judgement(reply, translation),
        )
        return judgement._replace(errors=remembered(judgement.errors, marked))


def _terms(dimension: str, topic: Topic, strategy: Strategy, marked: Errors) -> dict[str, str | None]:
    """What the prompts of a debate must know of it; a name with a value shows the parts that are for it."""
    reviewed = strategy.endswith("review")
    garbled = any(mqm.is_non_translation(error.category) for error in marked)
    return {
        "dimension": dimension,
        "categories": ", ".join(f"{dimension}/{name}" for name in DIMENSIONS[dimension]),
        **{name: "yes" if name == dimension else None for name in DIMENSIONS},
        f"on_{topic}": "yes",
        "reviewed": "yes" if reviewed else None,
        "non_translation": "yes" if garbled else None,
    }


def _added(errors: Errors, viewpoints: list[Errors]) -> tuple[str, ...]:
    """A warning for each error of the judge that has no words in common with what any dimension marked."""
    marked = [error.text for viewpoint in viewpoints for error in viewpoint]
    return tuple(
        f"the judge marks {error.text[:80]!r}, which no dimension had marked"
        for error in errors
        if not any(error.text in text or text in error.text for text in marked)
    )
