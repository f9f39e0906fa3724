"""Evaluators of one's own, by object and by entry point: what works, and what each mistake is answered with."""

from __future__ import annotations

import functools
import math
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mtagent import Agent, Chain, ErrorSpan, Plan, Rated, Rating, Segment, rate
from mtagent.errors import ConfigError
from mtagent.gate import RateGate
from mtagent.llm.fake import ForbiddenLLM
from mtagent.records import Call, Usage

PAID = Call(purpose="rate", model="m", reply="…", usage=Usage(calls=1, input_tokens=10, cost=0.5))
MUST = "`rate` must be `async def` and return a Rating with a finite score"


class Giving:
    """Gives whatever it is made with as its rating of any text."""

    name = "mine"

    def __init__(self, found: Any) -> None:
        self.found = found

    async def rate(self, segment: Segment, translation: str) -> Any:
        return self.found() if callable(self.found) else self.found


class Picky:
    """Finds one thing to change."""

    name = "picky"

    async def rate(self, segment: Segment, translation: str) -> Rating:
        error = ErrorSpan(text="bad", category="style", severity="major", suggestion="good")
        return Rating(evaluator=self.name, score=-5, errors=(error,))


def scored(score: Any) -> Rating:
    """A rating without any check, as ``model_copy`` and ``model_construct`` make them."""
    return Rating(evaluator="mine", score=0, errors=(), calls=(PAID,)).model_copy(update={"score": score})


def edited(**parts: Any) -> Chain:
    (chain,) = Agent(llm=ForbiddenLLM(), stages="pe", **parts).postedit(["A text."], ["a bad text"], "en", "es")
    return chain


def one(evaluator: Any) -> Rated:
    (rated,) = rate(["A text."], ["a bad text"], "en", "es", evaluator=evaluator)
    return rated


WRONG = [
    (scored(math.nan), f"mine gave the score nan: {MUST}"),
    (scored(math.inf), f"mine gave the score inf: {MUST}"),
    (scored("high"), f"mine gave the score 'high': {MUST}"),
    (scored(None), f"mine gave the score None: {MUST}"),
    (7, f"mine gave int 7: {MUST}"),
    (None, f"mine gave nothing: {MUST}"),
    ({"score": 1}, f"mine gave dict {{'score': 1}}: {MUST}"),
    (
        lambda: Rating(evaluator="mine", score="high"),  # type: ignore[arg-type]
        "mine made an impossible record: Rating.score: Input should be a valid number, unable to parse string as a "
        f"number (got 'high'); {MUST}",
    ),
]


@pytest.mark.parametrize(("found", "message"), WRONG)
def test_what_is_no_rating_with_a_finite_score_is_an_error_everywhere(found: Any, message: str) -> None:
    rated = one(Giving(found))
    assert (rated.rating, rated.error) == (None, f"EvaluationError: {message}")
    (as_evaluator,) = edited(evaluator=Giving(found)).steps
    assert (as_evaluator.verdict, as_evaluator.reason) == ("failed", f"EvaluationError: {message}")
    chain = edited(evaluator=Picky(), judge=Giving(found), gate="rate")
    assert (chain.text, chain.steps[0].reason) == ("a bad text", f"EvaluationError: {message}")


def test_a_score_that_is_none_is_paid_for_once() -> None:
    assert one(Giving(scored(math.nan))).calls == (PAID,)
    assert edited(evaluator=Giving(scored(math.nan))).usage.cost == 0.5


# --- objects that are no evaluators


class Nameless:
    async def rate(self, segment: Segment, translation: str) -> Rating:
        raise AssertionError("nobody asks it")


class Blank(Nameless):
    name = " "


class Silent:
    name = "silent"


class Plain:
    name = "plain"

    def rate(self, segment: Segment, translation: str) -> Rating:
        raise AssertionError("nobody asks it")


class Generating:
    name = "generating"

    async def rate(self, segment: Segment, translation: str) -> Any:
        yield Rating(evaluator=self.name, score=0)


class Narrow:
    name = "narrow"

    async def rate(self, translation: str) -> Rating:
        raise AssertionError("nobody asks it")


class PlainTogether(Picky):
    def rate_all(self, segment: Segment, translations: list[str]) -> list[Rating]:
        raise AssertionError("nobody asks it")


OBJECTS = [
    (Picky, "Picky is a class: pass an object of it"),
    (Nameless(), "Nameless has no `name` that is a text"),
    (Blank(), "Blank has no `name` that is a text"),
    (Silent(), "Silent has no method `rate`"),
    (7, "int has no method `rate`"),
    (Plain(), "Plain.rate is not async: write `async def`"),
    (Generating(), "Generating.rate is not async: write `async def`"),
    (Narrow(), "Narrow.rate cannot be called with a segment and what to rate of it (too many positional arguments)"),
    (PlainTogether(), "PlainTogether.rate_all is not async: write `async def`"),
]
DOORS: list[Callable[[Any], object]] = [
    lambda evaluator: Agent(evaluator=evaluator),
    lambda evaluator: Agent(judge=evaluator),
    lambda evaluator: rate(["a"], ["b"], "en", "es", evaluator=evaluator),
    lambda evaluator: Plan(("postedit",), evaluator=evaluator),
    lambda evaluator: RateGate(evaluator),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("wrong", "message"), OBJECTS)
def test_what_is_no_evaluator_is_refused_at_once_with_what_one_looks_like(
    wrong: object, message: str, door: Callable[[Any], object]
) -> None:
    with pytest.raises(ConfigError) as refused:
        door(wrong)
    assert str(refused.value).startswith(message)
    assert str(refused.value).endswith(
        "an evaluator is an object with `name`, a text, and `async def rate(self, segment, translation) -> Rating`"
    )


def test_what_only_shows_when_it_is_asked_is_an_error_of_the_rating() -> None:
    unseen = SimpleNamespace(name="mine", rate=functools.partial(lambda *_: scored(0.0)))
    rated = one(unseen)
    assert rated.error is not None
    assert rated.error.startswith("EvaluationError: mine gave Rating ")
    assert rated.error.endswith("without being awaited: `rate` is not async")
    assert rated.calls == (PAID,)


class Delegating:
    """Not ``async def``, but what it gives can be awaited, and it says so."""

    name = "delegating"

    def rate(self, segment: Segment, translation: str) -> Awaitable[Rating]:
        return Picky().rate(segment, translation)


class Wrapped(Picky):
    @staticmethod
    def _wrapper(function: Any) -> Any:
        return functools.wraps(function)(lambda *given: function(*given))

    rate = _wrapper(Picky.rate)


@pytest.mark.parametrize("evaluator", [Delegating(), Wrapped(), Picky()])
def test_whatever_can_be_awaited_will_do(evaluator: Any) -> None:
    rating = one(evaluator).rating
    assert rating is not None
    assert rating.score == -5


class Together(Picky):
    def __init__(self, found: Any) -> None:
        self.found = found

    async def rate_all(self, segment: Segment, translations: list[str]) -> Any:
        return self.found


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([7], f"picky gave int 7: {MUST}"),
        ([scored(math.nan)], f"picky gave the score nan: {MUST}"),
        (None, "picky gave nothing: `rate_all` must return a list of ratings"),
        ([], "picky gave 0 ratings for 1 translations"),
    ],
)
def test_ratings_made_together_are_checked_likewise(found: Any, message: str) -> None:
    assert one(Together(found)).error == f"EvaluationError: {message}"
