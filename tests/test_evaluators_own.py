"""Evaluators of one's own, by object and by entry point: what works, and what each mistake is answered with."""

from __future__ import annotations

import functools
import json
import math
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from mtagent import Agent, Chain, ErrorSpan, Plan, Rated, Rating, Segment, rate
from mtagent.chain.gate import RateGate
from mtagent.errors import ConfigError
from mtagent.evaluators.protocol import signature_of
from mtagent.llm.fake import ForbiddenLLM
from mtagent.records import Call, Usage
from tests.commands import Done, Shell
from tests.pages import section

PAID = Call(purpose="rate", model="m", reply="…", usage=Usage(calls=1, input_tokens=10, cost=0.5))
MUST = "`rate` must be `async def` and return a Rating with a finite score"


class Giving:
    """Gives whatever it is made with as its rating of any text."""

    name = "mine"

    def __init__(self, result: Any) -> None:
        self.result = result

    async def rate(self, segment: Segment, translation: str) -> Any:
        return self.result() if callable(self.result) else self.result


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


def rated_by(evaluator: Any) -> Rated:
    (rated,) = rate(["A text."], ["a bad text"], "en", "es", evaluator=evaluator)
    return rated


WRONG = [
    (scored(math.nan), f"mine gave the score nan: {MUST}"),
    (scored("high"), f"mine gave the score 'high': {MUST}"),
    (None, f"mine gave nothing: {MUST}"),
    ({"score": 1}, f"mine gave dict {{'score': 1}}: {MUST}"),
    (
        lambda: Rating(evaluator="mine", score="high"),  # type: ignore[arg-type]
        "mine made an impossible record: Rating.score: Input should be a valid number, unable to parse string as a "
        f"number (got 'high'); {MUST}",
    ),
]


@pytest.mark.parametrize(("result", "message"), WRONG)
def test_what_is_no_rating_with_a_finite_score_is_an_error_everywhere(result: Any, message: str) -> None:
    rated = rated_by(Giving(result))
    assert (rated.rating, rated.error) == (None, f"EvaluationError: {message}")
    (as_evaluator,) = edited(evaluator=Giving(result)).steps
    assert (as_evaluator.verdict, as_evaluator.reason) == ("failed", message)
    chain = edited(evaluator=Picky(), judge=Giving(result), gate="rate")
    assert (chain.text, chain.steps[0].reason) == ("a bad text", message)


def test_a_score_that_is_none_is_paid_for_once() -> None:
    assert rated_by(Giving(scored(math.nan))).calls == (PAID,)
    assert edited(evaluator=Giving(scored(math.nan))).usage.cost == 0.5


# --- objects that are no evaluators


def like_an_evaluator(kind: str, **attributes: Any) -> object:
    """An object of a class ``kind`` with ``attributes``."""
    return type(kind, (), attributes)()


async def rated_by_nobody(self: Any, segment: Segment, translation: str) -> Rating:
    raise AssertionError("nobody asks it")


async def generating(self: Any, segment: Segment, translation: str) -> Any:
    yield Rating(evaluator="mine", score=0)


async def narrow(self: Any, translation: str) -> Rating:
    raise AssertionError("nobody asks it")


def plain(self: Any, segment: Segment, translation: Any) -> Any:
    raise AssertionError("nobody asks it")


OBJECTS = [
    (Picky, "Picky is a class: pass an object of it"),
    (like_an_evaluator("Nameless", rate=rated_by_nobody), "Nameless has no string `name`"),
    (like_an_evaluator("Blank", rate=rated_by_nobody, name=" "), "Blank has no string `name`"),
    (like_an_evaluator("Silent", name="silent"), "Silent has no method `rate`"),
    (like_an_evaluator("Plain", rate=plain, name="plain"), "Plain.rate is not async: write `async def`"),
    (like_an_evaluator("Generating", rate=generating, name="g"), "Generating.rate is not async: write `async def`"),
    (
        like_an_evaluator("Narrow", rate=narrow, name="narrow"),
        "Narrow.rate cannot be called with a segment and a translation (too many positional arguments)",
    ),
    (
        like_an_evaluator("PlainTogether", rate=rated_by_nobody, rate_all=plain, name="together"),
        "PlainTogether.rate_all is not async: write `async def`",
    ),
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
        "an evaluator is an object with a string `name` and `async def rate(self, segment, translation) -> Rating`"
    )


def test_what_only_shows_when_it_is_asked_is_an_error_of_the_rating() -> None:
    unseen = SimpleNamespace(name="mine", rate=functools.partial(lambda *_: scored(0.0)))
    rated = rated_by(unseen)
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
    @functools.wraps(Picky.rate)
    def rate(self, *given: Any) -> Any:
        return super().rate(*given)


@pytest.mark.parametrize("evaluator", [Delegating(), Wrapped(), Picky()])
def test_whatever_can_be_awaited_will_do(evaluator: Any) -> None:
    rating = rated_by(evaluator).rating
    assert rating is not None
    assert rating.score == -5


class Together(Picky):
    def __init__(self, result: Any) -> None:
        self.result = result

    async def rate_all(self, segment: Segment, translations: list[str]) -> Any:
        return self.result


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([7], f"picky gave int 7: {MUST}"),
        ([scored(math.nan)], f"picky gave the score nan: {MUST}"),
        (None, "picky gave nothing: `rate_all` must return a list of ratings"),
        ([], "picky gave 0 ratings for 1 translations"),
    ],
)
def test_ratings_made_together_are_checked_likewise(result: Any, message: str) -> None:
    assert rated_by(Together(result)).error == f"EvaluationError: {message}"


# --- entry points

LENGTH = """
from __future__ import annotations
from typing import TYPE_CHECKING, Literal
from mtagent.records import Rating
if TYPE_CHECKING:
    from mtagent.config import Config

class Length:
    name = "len"
    def __init__(self, factor, unit, rest):
        self.factor, self.unit, self.rest = factor, unit, rest
    async def rate(self, segment, translation):
        return Rating(evaluator=self.name, score=-self.factor * len(translation), explanation=f"{self.unit}{self.rest}")

def made(config: Config, llm, *, factor: float = 1.0, unit: Literal["char", "word"] = "char", note=""):
    return Length(factor, unit, note)
def open_handed(config, llm, **options: str): return Length(1.0, "", options)
def needing(config, llm, *, size: int): return Length(size, "", "")
def failing(config, llm): raise KeyError("no such file")
def asking(config, llm, **options):
    from mtagent.errors import ConfigError
    raise ConfigError("say it so")
def nothing(config, llm): return None
class Direct:
    name = "direct"
    def __init__(self, config, llm, factor: float = 1.0): self.factor = factor
    async def rate(self, segment, translation): return Rating(evaluator=self.name, score=self.factor)
class Bare:
    name = "bare"
    async def rate(self, segment, translation): raise AssertionError
FACTOR = 3
"""
ENTRIES = {
    "len": "made",
    "open": "open_handed",
    "needing": "needing",
    "failing": "failing",
    "asking": "asking",
    "nothing": "nothing",
    "direct": "Direct",
    "bare": "Bare",
    "number": "FACTOR",
    "lost": "lost",
}


@pytest.fixture
def package(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """The command line beside a package that offers evaluators, as pip would install it."""
    site = shell.folder / "site"
    info = site / "lengths-1.0.dist-info"
    info.mkdir(parents=True)
    lines = [f"{name} = lengths_of_texts:{attribute}" for name, attribute in ENTRIES.items()]
    shell.write("site/lengths_of_texts.py", LENGTH)
    shell.write("site/lengths-1.0.dist-info/METADATA", "Metadata-Version: 2.1", "Name: lengths", "Version: 1.0")
    shell.write(
        "site/lengths-1.0.dist-info/entry_points.txt", "[mtagent.evaluators]", *lines, "gone = no_such_module:made"
    )
    monkeypatch.syspath_prepend(str(site))
    yield shell
    sys.modules.pop("lengths_of_texts", None)


def rated_with(package: Shell, spec: str, *more: str) -> Done:
    return package("rate -s en.txt -t es.txt -l en-es --evaluator", spec, *more)


@pytest.mark.parametrize(
    ("spec", "score", "explanation"),
    [
        ("len", -21.0, "char"),
        ("len:factor=2", -42.0, "char"),
        ("len:factor=0.5,unit=word,note=12", -10.5, "word12"),
        ("open:any=1,thing=2", -21.0, "{'any': '1', 'thing': '2'}"),
        ("direct:factor=2", 2.0, None),
        ("needing:size=3", -63.0, ""),
    ],
)
def test_another_package_s_evaluator_gets_its_options_as_its_types(
    spec: str, score: float, explanation: str | None, package: Shell
) -> None:
    done = rated_with(package, spec)
    assert done.code == 0, done.err
    first = json.loads(done.out.splitlines()[0])
    assert (first["score"], first["explanation"]) == (score, explanation)


CALLED = "; an entry point is called with the configuration, the model (or None) and, by name, the options"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("len:facto=2", "evaluator len: no option 'facto'; did you mean 'factor'?"),
        ("direct:facto=2", "evaluator direct: no option 'facto'; did you mean 'factor'?"),
        ("failing:x=1", "evaluator failing: no option 'x'; it has no options"),
        ("len:factor=two", "evaluator len: factor: input should be a valid number, unable to parse"),
        ("len:unit=line", "evaluator len: unit: input should be 'char' or 'word' (got 'line')"),
        ("lost", "evaluator lost (lengths_of_texts:lost of lengths) cannot be loaded: AttributeError: module "),
        ("gone", "evaluator gone (no_such_module:made of lengths) cannot be loaded: ModuleNotFoundError: No module "),
        (
            "failing",
            f"evaluator failing (lengths_of_texts:failing of lengths) cannot be made: KeyError: 'no such file'{CALLED}",
        ),
        (
            "needing",
            "evaluator needing (lengths_of_texts:needing of lengths) cannot be made: TypeError: needing() missing 1",
        ),
        ("bare", "evaluator bare (lengths_of_texts:Bare of lengths) cannot be made: TypeError: "),
        ("number", "evaluator number (lengths_of_texts:FACTOR of lengths) is 3, which cannot be called"),
        (
            "nothing",
            "evaluator nothing (lengths_of_texts:nothing of lengths) gave no evaluator: NoneType has no method",
        ),
        ("asking", "say it so"),
    ],
)
def test_what_is_wrong_with_another_package_s_evaluator_is_one_message(spec: str, message: str, package: Shell) -> None:
    done = rated_with(package, spec)
    assert done.code == 1
    assert (done.out, "Traceback" in done.err) == ("", False)
    assert f"mtagent: {message}" in done.err


# --- without a signature


def test_without_a_signature_the_table_says_so_and_changed_code_is_another_run(package: Shell) -> None:
    def run_of(done: Done) -> str:
        return done.err.rpartition("run ")[2].split()[0].rstrip(".;")

    first = rated_with(package, "len", "-o", "o.jsonl")
    assert "\nlen (no signature)\n" in first.err
    again = rated_with(package, "len", "-o", "o.jsonl")
    assert run_of(again) == run_of(first)
    changed = LENGTH.replace("score=-self.factor", "score=-3 * self.factor")
    package.write("site/lengths_of_texts.py", changed, "# longer, so that no compiled file is taken for it")
    sys.modules.pop("lengths_of_texts")
    other = rated_with(package, "len", "-o", "o.jsonl", "--force")
    assert run_of(other) != run_of(first)
    assert json.loads(package.read("o.jsonl")[0])["score"] == -63.0
    assert "signature    len (no signature)" in package("rate --show 1").out


def test_a_named_run_is_not_mixed_after_the_code_has_changed(package: Shell) -> None:
    assert rated_with(package, "len", "--name", "mine").code == 0
    package.write("site/lengths_of_texts.py", LENGTH, "# another content")
    sys.modules.pop("lengths_of_texts")
    done = rated_with(package, "len", "--name", "mine")
    assert done.code == 1
    assert "signature was 'len (no signature)|class:lengths_of_texts.Length#" in done.err


def test_a_class_without_a_file_is_known_by_its_name() -> None:
    namespace: dict[str, Any] = {"__name__": "nowhere", "Rating": Rating}
    source = "class Nowhere:\n name = 'n'\n async def rate(self, s, t): return Rating(evaluator='n', score=0)\n"
    exec(source, namespace)
    assert signature_of(namespace["Nowhere"]()) == "n (no signature)|class:nowhere.Nowhere"


def test_the_evaluator_of_the_page_runs_as_object_and_by_name(
    package: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    page = section("how-to/evaluator.md", "An object")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(code, {"__name__": "page"})
    assert capsys.readouterr().out == "-2.0\n"
    package.write("site/lengths_of_texts.py", *code.partition("\nfor rated in")[0].splitlines(), "made = Length")
    done = rated_with(package, "len:factor=2")
    assert "\nlength|v:1|factor:2.0\n" in done.err
    assert json.loads(done.out.splitlines()[0])["score"] == -8.0
