"""Ratings as a library: of texts, of files, of the stages of a stored run; what is shared, what fails, what is paid."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent import Rated, rate
from mtagent.chain.revert import revert
from mtagent.config import Config, load
from mtagent.errors import (
    AuthenticationError,
    ConfigError,
    InputError,
    MtagentError,
    OffScript,
    OutputError,
    StoreError,
)
from mtagent.evaluators.protocol import GIVES
from mtagent.formats.ratings import side_by_side
from mtagent.jobs.improve import improve_file
from mtagent.jobs.inputs import Files, RatingInputs, RatingOutput, named_translation
from mtagent.jobs.parts import Given
from mtagent.jobs.rate import RatingReport, rate_each, rate_file, rate_run, rate_segment
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import Call, Completion, ErrorSpan, Message, Rating, Segment, Usage
from mtagent.store import Store
from tests.codes import without_codes
from tests.simulator import chain as simulated

PAID = Call(purpose="rate", model="m", reply="…", usage=Usage(calls=1, input_tokens=10, cost=0.5))


class Counting:
    """Scores a text by its length, and notes what it was asked; ``answers`` stand in the place of some ratings."""

    name = "counting"
    signature = "counting|1"

    def __init__(self, answers: dict[str, Exception | float] | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self.answers = answers or {}

    async def rate(self, segment: Segment, translation: str) -> Rating:
        self.asked.append((segment.id, translation))
        answer = self.answers.get(translation, -float(len(translation)))
        if isinstance(answer, Exception):
            raise answer
        return Rating(evaluator=self.name, score=answer, errors=(), calls=(PAID,), signature=self.signature)


class Together(Counting):
    """Rates in one go; a later score counts the texts before."""

    def __init__(self, results: Callable[[list[Any]], Any] = lambda found: found) -> None:
        super().__init__()
        self.results = results

    async def rate_all(self, segment: Segment, translations: Sequence[str]) -> Any:
        self.asked += [(segment.id, text) for text in translations]
        found = [
            Rating(evaluator=self.name, score=-i, calls=(PAID,), signature=self.signature, seconds=i)
            for i, _ in enumerate(translations)
        ]
        return self.results(found)


def segment(source: str = "One two.", **more: Any) -> Segment:
    return Segment(id="1", source=source, source_lang="en", target_lang="es", **more)


def rated(evaluator: Counting, translations: dict[str, str | None], source: str = "One two.") -> tuple[Rated, ...]:
    return asyncio.run(rate_segment(side_by_side(segment(source), translations), evaluator))


# --- texts


def test_three_lines_are_enough() -> None:
    (one,) = rate(["The cat sat here."], ["El gato se sentó aquí"], "en", "es", evaluator="rules")
    assert (one.system, one.translation) == ("translation", "El gato se sentó aquí")
    assert one.rating is not None
    assert (one.rating.score, len(one.rating.errors or ())) == (-0.1, 1)


def test_several_systems_come_in_input_order_times_system_order_with_the_references() -> None:
    systems = {"b": ["uno", "tres"], "a": ["dos", "cuatro"]}
    found = rate(["one", "three"], systems, "en", "es", references=["UNO", "TRES"], evaluator=Counting())
    assert [(r.segment.id, r.system, r.translation) for r in found] == [
        ("1", "b", "uno"), ("1", "a", "dos"), ("2", "b", "tres"), ("2", "a", "cuatro")
    ]  # fmt: skip
    assert [r.segment.reference for r in found] == ["UNO", "UNO", "TRES", "TRES"]
    assert {r.segment.translation for r in found} == {None}


@pytest.mark.parametrize(
    ("translations", "references"), [(["uno"], None), ({"a": ["uno", "dos"], "b": ["uno"]}, None), (["u", "d"], ["u"])]
)
def test_lists_of_different_lengths_are_refused(translations: Any, references: Any) -> None:
    with pytest.raises(ConfigError, match="there must be one for each"):
        rate(["one", "two"], translations, "en", "es", references=references, evaluator="rules")


def test_whatever_can_be_iterated_over_is_a_list_of_texts() -> None:
    systems = {"a": (text for text in ["uno", "dos"]), "b": iter(("un", "do"))}
    found = rate((text for text in ["one", "two"]), systems, "en", "es", references=iter("xy"), evaluator=Counting())
    assert [(r.translation, r.segment.reference) for r in found] == [
        ("uno", "x"), ("un", "x"), ("dos", "y"), ("do", "y")
    ]  # fmt: skip
    (one,) = rate(iter(["one"]), iter(["uno"]), "en", "es", evaluator=Counting())
    assert one.system == "translation"


@pytest.mark.parametrize(
    ("sources", "translations", "message"),
    [
        (["one"], {}, "there is no system to rate"),
        (["one"], {1: ["uno"]}, "the name of a system is a text, not 1"),
        (["one"], None, "give a list of texts as translations, not NoneType None"),
        (7, ["uno"], "give a list of texts as sources, not int 7"),
        ({"one"}, ["uno"], "give a list of texts as sources, not set {'one'}"),
        ("one", ["uno"], "give a list of texts, not one text"),
        (["one"], {"a": "uno"}, "give a list of texts, not one text"),
        (["one"], [None], "translation 1 is no text but None"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(sources: Any, translations: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rate(sources, translations, "en", "es", evaluator=Counting())


def test_a_model_of_one_s_own_is_asked() -> None:
    llm = ScriptedLLM(["[]"])
    (one,) = rate(["one"], ["uno"], "en", "es", evaluator="rubric-mqm", llm=llm)
    assert one.rating is not None
    assert one.rating.errors == ()
    llm.finish()


def test_a_running_event_loop_is_told_the_way_out() -> None:
    async def inside() -> None:
        with pytest.raises(ConfigError, match="rate_each"):
            rate(["one"], ["uno"], "en", "es", evaluator="rules")
        found = [r async for r in rate_each(["one"], {"a": ["x"], "b": ["y"]}, "en", "es", evaluator=Counting())]
        assert [r.system for r in found] == ["a", "b"]
        with pytest.raises(ConfigError, match="no system"):
            rate_each(["one"], {}, "en", "es")  # at once, before anybody iterates

    asyncio.run(inside())


async def test_rate_each_gives_what_rate_gives_as_soon_as_it_is_there() -> None:
    evaluator = Counting()
    texts = ["uno", "dos", "tres", "cuatro"]
    given: dict[str, Any] = {"references": texts, "evaluator": evaluator, "concurrency": 1}
    each = rate_each(texts, {"a": texts, "b": [text.upper() for text in texts]}, "en", "es", **given)
    first = await anext(each)
    assert (first.segment.reference, first.system, first.translation) == ("uno", "a", "uno")
    assert {position for position, _ in evaluator.asked} == {"1"}
    assert [(r.segment.id, r.system) async for r in each] == [
        (str(i), system) for i in range(1, 5) for system in "ab" if (i, system) != (1, "a")
    ]


# --- one segment


def test_equal_texts_are_rated_once_and_paid_for_once() -> None:
    evaluator = Counting()
    found = rated(evaluator, {"a": "uno", "b": "dos", "c": "uno"})
    assert sorted(evaluator.asked) == [("1", "dos"), ("1", "uno")]
    assert found[0].rating == found[2].rating
    assert [len(r.calls) for r in found] == [1, 1, 0]
    assert Usage.total(r.usage for r in found) == Usage(calls=2, input_tokens=20, cost=1.0)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (MtagentError("no"), "MtagentError: no"),
        (ZeroDivisionError("third party"), "ZeroDivisionError: third party"),
        (math.nan, "EvaluationError: counting gave the score nan: " + GIVES),
        (-math.inf, "EvaluationError: counting gave the score -inf: " + GIVES),
    ],
)
def test_what_fails_is_the_error_of_that_translation_alone(answer: Exception | float, message: str) -> None:
    found = rated(Counting({"dos": answer}), {"a": "uno", "b": "dos", "c": "tres"})
    assert [r.error for r in found] == [None, message, None]
    assert [r.rating is None for r in found] == [False, True, False]


def test_a_failure_keeps_the_calls_that_were_paid_for() -> None:
    error = MtagentError("unreadable")
    error.calls = (PAID,)
    assert rated(Counting({"dos": error}), {"a": "dos", "b": "dos"})[0].calls == (PAID,)
    assert rated(Counting({"dos": math.nan}), {"a": "dos"})[0].usage.cost == 0.5


@pytest.mark.parametrize("error", [AuthenticationError("key"), StoreError("disk"), OffScript("too many")])
def test_what_concerns_every_segment_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        rated(Counting({"dos": error}), {"a": "uno", "b": "dos"})
    with pytest.raises(type(error)):
        rated(Together(lambda found: [found[0], error]), {"a": "uno", "b": "dos"})


def test_without_words_there_is_nothing_to_rate_but_an_omitted_or_added_text_is_rated() -> None:
    evaluator = Counting()
    blank = rated(evaluator, {"a": " ", "b": "añadido"}, source="\t ")
    assert [(r.rating is None, r.error) for r in blank] == [(True, None), (False, None)]
    omitted = rated(evaluator, {"a": ""})
    assert omitted[0].rating is not None
    assert evaluator.asked == [("1", "añadido"), ("1", "")]


def test_a_system_without_a_translation_is_an_error_and_no_empty_text() -> None:
    found = rated(Counting(), {"a": None, "b": "", "c": "uno"})
    assert [r.error for r in found] == ["there is no translation to rate", None, None]
    assert [len(r.calls) for r in found] == [0, 1, 1]


def test_an_evaluator_that_rates_together_gets_the_different_texts_in_order() -> None:
    evaluator = Together()
    found = rated(evaluator, {"a": "uno", "b": "dos", "c": "uno", "d": "tres"})
    assert evaluator.asked == [("1", "uno"), ("1", "dos"), ("1", "tres")]
    assert [r.rating.score for r in found if r.rating] == [0, -1, 0, -2]
    assert [r.seconds for r in found] == [0, 1, 0, 2]


def test_an_error_among_ratings_that_were_made_together_is_of_that_text_alone() -> None:
    error = MtagentError("unreadable")
    error.calls = (PAID,)
    found = rated(Together(lambda ratings: [ratings[0], error]), {"a": "uno", "b": "dos"})
    assert [(r.error, len(r.calls)) for r in found] == [(None, 1), ("MtagentError: unreadable", 1)]


def test_too_few_ratings_made_together_are_no_ratings() -> None:
    found = rated(Together(lambda ratings: ratings[:1]), {"a": "uno", "b": "dos"})
    assert {r.error for r in found} == {"EvaluationError: counting gave 1 ratings for 2 translations"}


def test_a_failure_of_ratings_made_together_is_paid_for_once() -> None:
    error = MtagentError("down")
    error.calls = (PAID, PAID)

    def fail(_: list[Any]) -> Any:
        raise error

    found = rated(Together(fail), {"a": "uno", "b": "dos"})
    assert [(r.error, len(r.calls)) for r in found] == [("MtagentError: down", 2), ("MtagentError: down", 0)]


# --- files


def write(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def config(folder: Path, **more: Any) -> Config:
    return load(overrides={"source_lang": "en", "target_lang": "es", "store": folder / "store.db", **more})


def rated_file(folder: Path, evaluator: object = None, *, output: str = "o.jsonl", **more: Any) -> RatingReport:
    """Rate ``en.txt`` with the systems ``a`` and ``b``, which are made where they are missing."""
    for name, lines in {"en": ["one", "two"], "a": ["uno", "dos"], "b": ["un", "do"]}.items():
        if not (folder / f"{name}.txt").exists():
            write(folder, f"{name}.txt", *lines)
    inputs = RatingInputs(folder / "en.txt", (("a", folder / "a.txt"), ("b", folder / "b.txt")))
    given = Given(evaluator=evaluator) if evaluator is not None else Given()  # type: ignore[arg-type]
    return asyncio.run(rate_file(config(folder, **more), inputs, RatingOutput(folder / output), given=given))


def objects(folder: Path, name: str = "o.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def test_a_file_is_rated_and_the_same_again_asks_nobody(tmp_path: Path) -> None:
    evaluator = Counting()
    report = rated_file(tmp_path, evaluator)
    assert [(o["id"], o["system"], o["score"]) for o in objects(tmp_path)] == [
        ("1", "a", -3), ("1", "b", -2), ("2", "a", -3), ("2", "b", -2)
    ]  # fmt: skip
    assert [(s.system, s.mean, s.rated) for s in report.systems] == [("a", -3, 2), ("b", -2, 2)]
    before = (tmp_path / "o.jsonl").read_bytes()
    again = Counting()
    rated_file(tmp_path, again)
    assert (len(evaluator.asked), again.asked) == (4, [])
    assert (tmp_path / "o.jsonl").read_bytes() == before


def test_only_what_failed_is_asked_again(tmp_path: Path) -> None:
    rated_file(tmp_path, Counting({"do": MtagentError("down")}))
    assert [o["error"] for o in objects(tmp_path)] == [None, None, None, "MtagentError: down"]
    assert objects(tmp_path)[3]["score"] is None
    again = Counting()
    rated_file(tmp_path, again)
    assert again.asked == [("2", "do")]
    assert [o["error"] for o in objects(tmp_path)] == [None] * 4
    assert [o["usage"]["calls"] for o in objects(tmp_path)] == [1] * 4


def test_another_evaluator_system_or_order_is_another_run(tmp_path: Path) -> None:
    names = {rated_file(tmp_path, Counting()).run.name}
    write(tmp_path, "b.txt", "un", "otro")
    names.add(rated_file(tmp_path, Counting()).run.name)
    names.add(rated_file(tmp_path).run.name)
    inputs = RatingInputs(tmp_path / "en.txt", (("b", tmp_path / "b.txt"), ("a", tmp_path / "a.txt")))
    done = asyncio.run(rate_file(config(tmp_path), inputs, RatingOutput(tmp_path / "o.jsonl")))
    assert len({*names, done.run.name}) == 4


def test_ratings_of_different_signatures_are_not_mixed_in_a_run(tmp_path: Path) -> None:
    rated_file(tmp_path, Counting(), run="mine")
    other = Counting()
    other.signature = "counting|2"
    with pytest.raises(StoreError, match=r"signature was 'counting\|1', is now 'counting\|2'"):
        rated_file(tmp_path, other, run="mine")
    assert other.asked == []


def test_what_only_the_chain_goes_by_does_not_make_another_run(tmp_path: Path) -> None:
    name = rated_file(tmp_path).run.name
    assert rated_file(tmp_path, gate="none", stages="pe", concurrency=3, margin=1.0).run.name == name
    assert rated_file(tmp_path, domain="news").run.name != name


def test_a_call_that_was_answered_is_not_paid_for_again_by_another_run(tmp_path: Path) -> None:
    def reply(messages: Sequence[Message], purpose: str) -> Completion:
        return Completion(text="[]", model="m", usage=Usage(calls=1, input_tokens=7, cost=0.25))

    write(tmp_path, "en.txt", "one", "two")
    write(tmp_path, "a.txt", "uno", "dos")
    write(tmp_path, "b.txt", "uno", "otro")
    llm = ScriptedLLM(reply)
    for systems in (("a",), ("a", "b")):
        inputs = RatingInputs(tmp_path / "en.txt", tuple((name, tmp_path / f"{name}.txt") for name in systems))
        report = asyncio.run(
            rate_file(config(tmp_path), inputs, RatingOutput(tmp_path / "o.jsonl"), given=Given(llm=llm))
        )
    assert len(llm.requests) == 3
    assert report.run.usage == Usage(calls=1, input_tokens=7, cost=0.25)
    assert [s.usage.calls for s in report.systems] == [0, 1]
    assert report.systems[0].usage.reused == 2


def test_a_limit_rates_the_first_segments_and_the_whole_goes_on_from_there(tmp_path: Path) -> None:
    evaluator = Counting()
    rated_file(tmp_path, evaluator, limit=1)
    assert [o["id"] for o in objects(tmp_path)] == ["1", "1"]
    rated_file(tmp_path, evaluator)
    assert len(evaluator.asked) == 4
    rated_file(tmp_path, evaluator, limit=1)
    assert [o["id"] for o in objects(tmp_path)] == ["1", "1"]


def test_where_nothing_could_be_rated_the_former_file_stays(tmp_path: Path) -> None:
    write(tmp_path, "o.jsonl", "good")
    down = Counting({text: MtagentError("down") for text in ("uno", "dos", "un", "do")})
    with pytest.raises(MtagentError, match="nothing was written: MtagentError: down"):
        rated_file(tmp_path, down)
    assert (tmp_path / "o.jsonl").read_text(encoding="utf-8") == "good\n"


def test_a_run_gives_up_where_the_first_segments_all_fail(tmp_path: Path) -> None:
    lines = [f"text {i}" for i in range(50)]
    for name in ("en", "a", "b"):
        write(tmp_path, f"{name}.txt", *lines)
    down = Counting(dict.fromkeys(lines, MtagentError("down.")))
    with pytest.raises(MtagentError, match=r"the first 3 segments all failed, the last one with MtagentError: down\."):
        rated_file(tmp_path, down, give_up_after=3, concurrency=1)
    assert len(down.asked) == 3


def test_a_table_brings_its_translations_and_is_one_system(tmp_path: Path) -> None:
    write(tmp_path, "t.csv", "source,translation,reference,lp", "one,uno,UNO,en-es", "two,,,en-es")
    done = asyncio.run(
        rate_file(
            config(tmp_path), RatingInputs(tmp_path / "t.csv"), RatingOutput(tmp_path / "o.jsonl"),
            given=Given(evaluator=Counting()),
        )
    )  # fmt: skip
    first, second = objects(tmp_path)
    assert (first["system"], first["translation"], first["reference"], first["score"]) == ("t", "uno", "UNO", -3)
    assert (second["error"], "reference" in second) == ("there is no translation to rate", False)
    assert done.systems[0].failed == 1


@pytest.mark.parametrize(
    ("files", "complaint", "kind"),
    [
        ({}, "give the translations with -t", ConfigError),
        ({"t": [("a", "a.txt"), ("a", "b.txt")]}, "two systems are called 'a'", ConfigError),
        ({"t": [("a", "short.txt")]}, "different numbers of lines", InputError),
        ({"t": [("a", "a.txt")], "systems": ("c",)}, "there is no system 'c'; there are: a", ConfigError),
        ({"s": "t.csv", "t": [("a", "a.txt")]}, "a csv file holds its translations", ConfigError),
        ({"s": "none.csv"}, "nothing to rate: no translation in it", InputError),
        ({"t": [("a", "a.txt")], "o": "a.txt"}, "would overwrite the file of -t a", ConfigError),
        ({"t": [("a", "x.seg.score")], "o": "x.sys.score"}, "x.seg.score: the results would overwrite", ConfigError),
        ({"t": [("a", "a.txt")], "o": "no/o.jsonl"}, "there is no folder", OutputError),
        ({"t": [("a", "a.txt")], "o": "-", "f": "mtme"}, "mtme writes several files", ConfigError),
        ({"t": [("a.b", "a.txt"), ("a-b", "b.txt")], "o": "o.seg.score"}, "'a.b' and 'a-b' are the same", OutputError),
        ({"t": [("a", "tab.txt")], "o": "o.tsv"}, "the translation by a has a tab", OutputError),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_stored(
    files: dict[str, Any], complaint: str, kind: type[Exception], tmp_path: Path
) -> None:
    for name in ("en", "a", "b"):
        write(tmp_path, f"{name}.txt", "one", "two")
    write(tmp_path, "short.txt", "one")
    write(tmp_path, "tab.txt", "one", "a\tb")
    write(tmp_path, "x.seg.score", "one", "two")
    write(tmp_path, "t.csv", "source,translation", "one,uno")
    write(tmp_path, "none.csv", "source,translation", "one,")
    systems = tuple((name, tmp_path / path) for name, path in files.get("t", ()))
    inputs = RatingInputs(tmp_path / files.get("s", "en.txt"), systems, systems=files.get("systems", ()))
    place = Path("-") if files.get("o") == "-" else tmp_path / files.get("o", "o.jsonl")
    with pytest.raises(kind, match=complaint):
        asyncio.run(rate_file(config(tmp_path), inputs, RatingOutput(place, files.get("f"))))
    assert not (tmp_path / "store.db").exists()


def test_a_system_is_called_like_its_file_or_as_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert named_translation("out/gpt-4o.txt") == ("gpt-4o", Path("out/gpt-4o.txt"))
    assert named_translation("best=out/gpt.txt") == ("best", Path("out/gpt.txt"))
    write(tmp_path, "a=b.txt")
    assert named_translation("a=b.txt") == ("a=b", Path("a=b.txt"))
    assert named_translation("x=-") == ("x", Path("-"))


# --- the stages of a stored run


def chain_run(folder: Path, name: str = "mine", **more: Any) -> None:
    def reply(messages: Sequence[Message], purpose: str) -> str:
        return simulated.improving({"messages": [message.model_dump() for message in messages]})

    write(folder, "en.txt", "one errado two", "three four", "five six")
    write(folder, "es.txt", "uno errado dos", "tres cuatro", "cinco errado seis")
    files = Files(source=folder / "en.txt", translation=folder / "es.txt", output=folder / "out.txt")
    asyncio.run(
        improve_file(
            config(folder, run=name, gate="guards", **more), files, command="postedit",
            given=Given(llm=ScriptedLLM(reply)), on_start=lambda *_: None, on_chain=lambda _: None,
        )
    )  # fmt: skip


def rated_run(folder: Path, evaluator: object, name: str = "mine", systems: Sequence[str] = ()) -> RatingReport:
    settings = load(overrides={"store": folder / "store.db"})
    given = Given(evaluator=evaluator)  # type: ignore[arg-type]
    return asyncio.run(rate_run(settings, name, RatingOutput(folder / "r.jsonl"), systems=systems, given=given))


def test_the_stages_of_a_run_are_rated_without_running_it_again(tmp_path: Path) -> None:
    chain_run(tmp_path, stages="pp")
    evaluator = Counting()
    report = rated_run(tmp_path, evaluator)
    assert [s.system for s in report.systems] == ["given", "postedit", "proofread", "final"]
    texts = {(o["id"], o["system"]): o["translation"] for o in objects(tmp_path, "r.jsonl")}
    assert [texts["1", s.system] for s in report.systems] == [
        "uno errado dos", "uno acertado dos", "uno correcto dos", "uno correcto dos"
    ]  # fmt: skip
    assert texts["2", "proofread"] == texts["2", "given"] == "tres cuatro"
    assert len(evaluator.asked) == 3 + 1 + 3
    assert [s.usage.calls for s in report.systems] == [3, 2, 2, 0]
    assert report.run.inputs["run"] == "mine"


def test_systems_of_a_run_can_be_chosen_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    chain_run(tmp_path, stages="pe")
    assert [s.system for s in rated_run(tmp_path, Counting(), systems=["final", "given"]).systems] == ["given", "final"]
    with pytest.raises(
        ConfigError, match="run 'mine': there is no system 'proofread'; there are: given, postedit, final"
    ):
        rated_run(tmp_path, Counting(), systems=["proofread"])


def test_a_run_in_which_an_edit_was_taken_back_is_another_input(tmp_path: Path) -> None:
    chain_run(tmp_path, stages="pe")
    before = rated_run(tmp_path, Counting())
    with Store(tmp_path / "store.db") as store, store.reopen("mine") as run:
        position, chain = run.chain("1")
        run.replace(position, revert(chain))
    after = rated_run(tmp_path, Counting())
    assert before.run.name != after.run.name
    assert objects(tmp_path, "r.jsonl")[2]["translation"] == "uno errado dos"


def test_a_segment_that_was_never_translated_has_no_rating_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, "t.csv", "source,translation", "one,uno", "two,")
    files = Files(source=tmp_path / "t.csv", output=tmp_path / "out.csv")
    asyncio.run(
        improve_file(
            config(tmp_path, run="mine"), files, command="postedit", on_start=lambda *_: None, on_chain=lambda _: None
        )
    )
    report = rated_run(tmp_path, Counting())
    assert {o["error"] for o in objects(tmp_path, "r.jsonl") if o["id"] == "2"} == {"there is no translation to rate"}
    assert [s.failed for s in report.systems] == [1] * len(report.systems)


def test_a_run_of_ratings_cannot_be_rated_and_a_missing_store_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store yet"):
        rated_run(tmp_path, Counting())
    assert not (tmp_path / "store.db").exists()
    name = rated_file(tmp_path, Counting()).run.name
    with pytest.raises(ConfigError, match=f"holds ratings already: `mtagent export {name}` writes them again"):
        rated_run(tmp_path, Counting(), name)


def test_a_rating_run_and_a_chain_run_do_not_share_a_name(tmp_path: Path) -> None:
    chain_run(tmp_path, "mine")
    write(tmp_path, "en.txt", "one", "two")
    with pytest.raises(StoreError, match="run 'mine': holds improved texts, not ratings: choose another name"):
        rated_file(tmp_path, Counting(), run="mine")


# --- unreadable replies


def test_a_reply_that_made_a_rating_fail_is_not_recalled_and_the_others_are(tmp_path: Path) -> None:
    bad = {"dos"}

    def reply(messages: Sequence[Message], purpose: str) -> Completion:
        text = [content for m in messages if "<translation>" in (content := without_codes(m.content))][-1]
        failing = text.split("<translation>")[1].split("<")[0] in bad
        return Completion(text="Excellent!" if failing else "[]", model="m", usage=Usage(calls=1, input_tokens=5))

    write(tmp_path, "en.txt", "one", "two")
    write(tmp_path, "a.txt", "uno", "dos")
    inputs = RatingInputs(tmp_path / "en.txt", (("a", tmp_path / "a.txt"),))
    llm = ScriptedLLM(reply)

    def run() -> RatingReport:
        return asyncio.run(
            rate_file(config(tmp_path), inputs, RatingOutput(tmp_path / "o.jsonl"), given=Given(llm=llm))
        )

    assert run().systems[0].failed == 1
    assert objects(tmp_path)[1]["error"].startswith("RatingParseError: ")
    assert objects(tmp_path)[1]["usage"]["calls"] == 2
    bad.clear()
    report = run()
    assert (report.systems[0].rated, report.systems[0].failed) == (2, 0)
    assert len(llm.requests) == 4
    assert report.run.usage.calls == 4


def test_error_spans_are_counted_by_severity(tmp_path: Path) -> None:
    class Marking(Counting):
        async def rate(self, segment: Segment, translation: str) -> Rating:
            spans = [ErrorSpan(text="x", category="style", severity=s) for s in ("minor", "minor", "major")]
            return Rating(evaluator="marking", score=-7, errors=tuple(spans), signature="marking|1")

    (a, b) = rated_file(tmp_path, Marking()).systems
    assert a.errors == b.errors == {"minor": 4, "major": 2}
    assert a.signatures == {"marking|1"}
