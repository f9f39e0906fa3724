"""Ratings from Python: of texts, of files, of the stages of a stored run; what is shared, what fails, what is paid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mtagent import Rated, rate
from mtagent.errors import AuthenticationError, ConfigError, MtagentError, OffScript, StoreError
from mtagent.jobs.rate import rate_each
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Completion, Message, Rating, Segment, Usage
from tests.codes import without_codes
from tests.commands import Shell
from tests.jobs import PAID, Counting, improve, improving, rate_files, rate_stages


class Together(Counting):
    """Rates all translations of a segment in one go; a later score counts the texts before."""

    def __init__(self, results: Callable[[list[Any]], Any] = lambda ratings: ratings) -> None:
        super().__init__()
        self.results = results

    async def rate_all(self, segment: Segment, translations: Sequence[str]) -> Any:
        self.asked += [(segment.id, text) for text in translations]
        scores = range(len(translations))
        return self.results(
            [Rating(evaluator=self.name, score=-i, calls=(PAID,), signature=self.signature, seconds=i) for i in scores]
        )


def rated(evaluator: Counting, translations: dict[str, str], source: str = "One two.") -> list[Rated]:
    """The ratings of one segment by system."""
    return rate([source], {name: [text] for name, text in translations.items()}, "en", "es", evaluator=evaluator)


def unusable(*calls: Any) -> MtagentError:
    error = MtagentError("unreadable")
    error.calls = calls
    return error


def fail(ratings: list[Any]) -> Any:
    raise unusable(PAID, PAID)


# --- texts


def test_three_lines_are_enough() -> None:
    (result,) = rate(["The cat sat here."], ["El gato se sentó aquí"], "en", "es", evaluator="rules")
    assert (result.system, result.translation) == ("translation", "El gato se sentó aquí")
    assert result.rating is not None
    assert (result.rating.score, len(result.rating.errors or ())) == (-0.1, 1)


def test_whatever_holds_texts_is_rated_in_the_order_of_inputs_and_systems_with_the_references() -> None:
    systems = {"b": iter(["uno", "tres"]), "a": (text for text in ["dos", "cuatro"])}
    ratings = rate(iter(["one", "three"]), systems, "en", "es", references=iter("XY"), evaluator=Counting())
    assert [(r.segment.id, r.system, r.translation, r.segment.reference) for r in ratings] == [
        ("1", "b", "uno", "X"), ("1", "a", "dos", "X"), ("2", "b", "tres", "Y"), ("2", "a", "cuatro", "Y")
    ]  # fmt: skip
    assert {r.segment.translation for r in ratings} == {None}


@pytest.mark.parametrize(
    ("sources", "translations", "references", "message"),
    [
        (["one", "two"], ["uno"], None, "there must be one for each"),
        (["one", "two"], {"a": ["uno", "dos"], "b": ["uno"]}, None, "there must be one for each"),
        (["one", "two"], ["uno", "dos"], ["u"], "there must be one for each"),
        (["one"], {}, None, "no system to rate: give a list"),
        (["one"], {1: ["uno"]}, None, "the name of a system must be a text, not 1"),
        (["one"], None, None, "give a list of texts as translations, not NoneType None"),
        (7, ["uno"], None, "give a list of texts as sources, not int 7"),
        ({"one"}, ["uno"], None, "give a list of texts as sources, not set {'one'}"),
        ("one", ["uno"], None, "give a list of texts, not one text"),
        (["one"], {"a": "uno"}, None, "give a list of texts, not one text"),
        (["one"], [None], None, "translation 1: expected a text, not None"),
    ],
)
def test_lists_that_do_not_fit_and_what_is_no_list_of_texts_are_refused(
    sources: Any, translations: Any, references: Any, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        rate(sources, translations, "en", "es", references=references, evaluator=Counting())


def test_a_model_of_one_s_own_is_asked() -> None:
    llm = ScriptedLLM(["[]"])
    (result,) = rate(["one"], ["uno"], "en", "es", evaluator="rubric-mqm", llm=llm)
    assert result.rating is not None
    assert result.rating.errors == ()
    llm.finish()


async def test_in_async_code_each_rating_comes_as_soon_as_it_is_there_in_the_order_of_rate() -> None:
    assert len(rate(["one"], ["uno"], "en", "es", evaluator="rules")) == 1, "also where a loop runs, as in Jupyter"
    with pytest.raises(ConfigError, match="no system"):
        rate_each(["one"], {}, "en", "es")  # at once, before anybody iterates
    evaluator = Counting()
    texts = ["uno", "dos", "tres", "cuatro"]
    systems = {"a": texts, "b": [text.upper() for text in texts]}
    each = rate_each(texts, systems, "en", "es", references=texts, evaluator=evaluator, concurrency=1)
    first = await anext(each)
    assert (first.segment.reference, first.system, first.translation) == ("uno", "a", "uno")
    assert {position for position, _ in evaluator.asked} == {"1"}
    rest = [(r.segment.id, r.system) async for r in each]
    assert [("1", "a"), *rest] == [(str(i), system) for i in range(1, 5) for system in "ab"]


@pytest.mark.parametrize(("settings", "shown"), [
    ({"glossary": {"cat": "gato"}}, "gato"), ({"keep": ["mtagent"]}, "mtagent"), ({"context": 1}, "the first one"),
    ({"domain": "zoology"}, "zoology"),
])  # fmt: skip
def test_what_is_known_about_the_texts_reaches_the_evaluator(settings: dict[str, Any], shown: str) -> None:
    llm = ScriptedLLM(lambda messages, purpose: '{"errors": []}')
    sources = ["This is the first one.", "A cat of MTAGENT."]
    rate(sources, ["Uno.", "Dos."], "en", "es", evaluator="rubric-mqm", llm=llm, **settings)
    assert shown in str(next(asked.messages for asked in llm.requests if "MTAGENT" in str(asked.messages)))


@pytest.mark.parametrize(("settings", "complaint"), [
    ({"store": "s.db"}, "store: has no effect on ratings"), ({"stages": "tp"}, "stages: has no effect"),
    ({"run": "r"}, "run: has no effect"), ({"budget": 1.0}, "budget: the price of .* is unknown"),
])  # fmt: skip
def test_a_setting_that_would_do_nothing_for_ratings_is_refused(settings: dict[str, Any], complaint: str) -> None:
    llm = ScriptedLLM(lambda messages, purpose: '{"errors": []}')
    with pytest.raises(ConfigError, match=f"^{complaint}"):
        rate(["one"], ["uno"], "en", "es", evaluator="rubric-mqm", llm=llm, **settings)


# --- one segment


def test_equal_texts_are_rated_once_and_paid_for_once() -> None:
    evaluator = Counting()
    ratings = rated(evaluator, {"a": "uno", "b": "dos", "c": "uno"})
    assert sorted(evaluator.asked) == [("1", "dos"), ("1", "uno")]
    assert ratings[0].rating == ratings[2].rating
    assert [len(r.calls) for r in ratings] == [1, 1, 0]
    assert Usage.total(r.usage for r in ratings) == Usage(calls=2, input_tokens=20, cost=1.0)


@pytest.mark.parametrize(
    ("answer", "message", "calls"),
    [
        (MtagentError("no"), "MtagentError: no", 0),
        (unusable(PAID), "MtagentError: unreadable", 1),
        (ZeroDivisionError("third party"), "ZeroDivisionError: third party", 0),
        (math.nan, "EvaluationError: counting gave the score nan: ", 1),
        (-math.inf, "EvaluationError: counting gave the score -inf: ", 1),
    ],
)
def test_what_fails_is_the_error_of_that_text_alone_and_keeps_the_calls_that_were_paid_for(
    answer: Exception | float, message: str, calls: int
) -> None:
    ratings = rated(Counting({"dos": answer}), {"a": "uno", "b": "dos", "c": "tres", "d": "dos"})
    assert [r.rating is None for r in ratings] == [r.error is not None for r in ratings] == [False, True, False, True]
    assert str(ratings[1].error).startswith(message)
    assert [len(r.calls) for r in ratings] == [1, calls, 1, 0]


@pytest.mark.parametrize("error", [AuthenticationError("key"), StoreError("disk"), OffScript("too many")])
def test_what_concerns_every_segment_is_raised(error: Exception) -> None:
    for evaluator in (Counting({"dos": error}), Together(lambda ratings: [ratings[0], error])):
        with pytest.raises(type(error)):
            rated(evaluator, {"a": "uno", "b": "dos"})


def test_without_words_there_is_nothing_to_rate_but_an_omitted_or_added_text_is_rated() -> None:
    evaluator = Counting()
    blank = rated(evaluator, {"a": " ", "b": "añadido"}, source="\t ")
    assert [(r.rating is None, r.error) for r in blank] == [(True, None), (False, None)]
    assert rated(evaluator, {"a": ""})[0].rating is not None
    assert evaluator.asked == [("1", "añadido"), ("1", "")]


def test_an_evaluator_that_rates_together_gets_the_different_texts_in_order() -> None:
    evaluator = Together()
    ratings = rated(evaluator, {"a": "uno", "b": "dos", "c": "uno", "d": "tres"})
    assert evaluator.asked == [("1", "uno"), ("1", "dos"), ("1", "tres")]
    assert [r.rating.score for r in ratings if r.rating] == [0, -1, 0, -2]
    assert [r.seconds for r in ratings] == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("results", "errors", "calls"),
    [
        (lambda ratings: [ratings[0], unusable(PAID)], [None, "MtagentError: unreadable"], [1, 1]),
        (lambda ratings: ratings[:1], ["EvaluationError: counting gave 1 ratings for 2 translations"] * 2, None),
        (
            lambda ratings: exec("raise error", {"error": unusable(PAID, PAID)}),
            ["MtagentError: unreadable"] * 2,
            [2, 0],
        ),
    ],
    ids=["one of them", "too few", "all"],
)
def test_an_error_among_ratings_made_together_is_of_its_text_and_one_of_all_is_paid_for_once(
    results: Callable[[list[Any]], Any], errors: list[str | None], calls: list[int] | None
) -> None:
    ratings = rated(Together(results), {"a": "uno", "b": "dos"})
    assert [r.error for r in ratings] == errors
    assert calls is None or [len(r.calls) for r in ratings] == calls


# --- files


@pytest.fixture
def files(shell: Shell) -> Shell:
    """The shell with two sources, and the systems ``a`` and ``b``."""
    shell.write("en.txt", "one", "two")
    shell.write("a.txt", "uno", "dos")
    shell.write("b.txt", "un", "do")
    return shell


def test_a_file_is_rated_and_the_same_again_asks_nobody(files: Shell) -> None:
    first, second = Counting(), Counting()
    report = rate_files(first)
    before = files.objects("o.jsonl")
    assert [(o["id"], o["system"], o["score"]) for o in before] == [
        ("1", "a", -3), ("1", "b", -2), ("2", "a", -3), ("2", "b", -2)
    ]  # fmt: skip
    assert [(s.system, s.mean, s.rated) for s in report.systems] == [("a", -3, 2), ("b", -2, 2)]
    rate_files(second)
    assert (len(first.asked), second.asked) == (4, [])
    assert files.objects("o.jsonl") == before


def test_only_what_failed_is_asked_again(files: Shell) -> None:
    rate_files(Counting({"do": MtagentError("down")}))
    assert [(o["error"], o["score"]) for o in files.objects("o.jsonl")][2:] == [
        (None, -3),
        ("MtagentError: down", None),
    ]
    again = Counting()
    rate_files(again)
    assert again.asked == [("2", "do")]
    assert [(o["error"], o["usage"]["calls"]) for o in files.objects("o.jsonl")] == [(None, 1)] * 4


def test_what_the_ratings_depend_on_makes_another_run_and_what_only_the_chain_goes_by_does_not(files: Shell) -> None:
    names = {rate_files(Counting()).run.name, rate_files().run.name, rate_files(systems="ba").run.name}
    names |= {rate_files(Counting(signature="counting|2")).run.name, rate_files(domain="news").run.name}
    files.write("b.txt", "un", "otro")
    last = rate_files().run.name
    assert len({*names, last}) == 6
    assert rate_files(gate="rate", stages="pe", concurrency=3, margin=1.0).run.name == last


def test_ratings_of_different_signatures_are_not_mixed_in_a_run(files: Shell) -> None:
    rate_files(Counting(), run="mine")
    other = Counting(signature="counting|2")
    with pytest.raises(StoreError, match=r"signature was 'counting\|1', is now 'counting\|2'"):
        rate_files(other, run="mine")
    assert other.asked == []


def test_a_call_that_was_answered_is_not_paid_for_again_by_another_run(files: Shell) -> None:
    llm = ScriptedLLM(lambda *_: Completion(text="[]", model="m", usage=Usage(calls=1, input_tokens=7, cost=0.25)))
    files.write("b.txt", "uno", "otro")
    for systems in ("a", "ab"):
        report = rate_files(systems=systems, llm=llm)
    assert len(llm.requests) == 3
    assert report.run.usage == Usage(calls=1, input_tokens=7, cost=0.25)
    assert [s.usage.calls for s in report.systems] == [0, 1]
    assert report.systems[0].usage.reused == 2


def test_a_limit_rates_the_first_segments_and_the_whole_goes_on_from_there(files: Shell) -> None:
    evaluator = Counting()
    written = []
    for limit in (1, None, 1):
        rate_files(evaluator, limit=limit)
        written.append([o["id"] for o in files.objects("o.jsonl")])
    assert written == [["1", "1"], ["1", "1", "2", "2"], ["1", "1"]]
    assert len(evaluator.asked) == 4


def test_where_nothing_could_be_rated_the_former_file_stays(files: Shell) -> None:
    files.write("o.jsonl", "good")
    with pytest.raises(MtagentError, match="nothing was written: MtagentError: down"):
        rate_files(Counting(dict.fromkeys(("uno", "dos", "un", "do"), MtagentError("down"))))
    assert files.read("o.jsonl") == ["good"]


def test_a_table_brings_its_translations_and_is_one_system(files: Shell) -> None:
    files.write("t.csv", "source,translation,reference,lp", "one,uno,UNO,en-es", "two,,,en-es")
    report = rate_files(Counting(), (), source="t.csv")
    first, second = files.objects("o.jsonl")
    assert (first["system"], first["translation"], first["reference"], first["score"]) == ("t", "uno", "UNO", -3)
    assert (second["error"], "reference" in second) == ("there is no translation to rate", False)
    assert report.systems[0].failed == 1


def test_a_reply_that_made_a_rating_fail_is_asked_for_again_and_the_others_are_not(files: Shell) -> None:
    unreadable = {"dos"}

    def reply(messages: Sequence[Message], purpose: str) -> Completion:
        request = [content for m in messages if "<translation>" in (content := without_codes(m.content))][-1]
        failing = request.split("<translation>")[1].split("<")[0] in unreadable
        return Completion(text="Excellent!" if failing else "[]", model="m", usage=Usage(calls=1, input_tokens=5))

    llm = ScriptedLLM(reply)
    assert rate_files(systems="a", llm=llm).systems[0].failed == 1
    second = files.objects("o.jsonl")[1]
    assert second["error"].startswith("RatingParseError: ")
    assert second["usage"]["calls"] == 2
    unreadable.clear()
    report = rate_files(systems="a", llm=llm)
    assert (report.systems[0].rated, report.systems[0].failed) == (2, 0)
    assert len(llm.requests) == report.run.usage.calls == 4


def test_the_stages_of_a_run_are_rated_without_running_it_again(shell: Shell) -> None:
    shell.write("en.txt", "one errado two", "three four", "five six")
    shell.write("es.txt", "uno errado dos", "tres cuatro", "cinco errado seis")
    improve("en.txt", "es.txt", llm=improving(), run="mine", gate="guards", stages="pp")
    evaluator = Counting()
    report = rate_stages("mine", evaluator)
    systems = ["given", "postedit", "proofread", "final"]
    texts = {(o["id"], o["system"]): o["translation"] for o in shell.objects("o.jsonl")}
    assert [texts["1", system] for system in systems] == [
        "uno errado dos", "uno acertado dos", "uno correcto dos", "uno correcto dos"
    ]  # fmt: skip
    assert texts["2", "proofread"] == texts["2", "given"] == "tres cuatro"
    assert len(evaluator.asked) == 3 + 1 + 3
    assert [(s.system, s.usage.calls) for s in report.systems] == list(zip(systems, [3, 2, 2, 0], strict=True))
    assert report.run.inputs["run"] == "mine"
