"""MQM-APE: errors count where a judge prefers the text in which they are mended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtagent import Agent
from mtagent.config import Config
from mtagent.errors import ConfigError, EvaluationError, RatingParseError, ServerError
from mtagent.evaluators.gemba import GembaDA, GembaESA, GembaMQM
from mtagent.evaluators.mqm_ape import MqmApe, mended
from mtagent.evaluators.pairwise import Pairwise
from mtagent.evaluators.protocol import CountsCalls, Evaluator, RatesSystems
from mtagent.evaluators.registry import Surroundings, make_evaluator
from mtagent.evaluators.rubric_mqm import RubricMQM
from mtagent.llm.fake import ScriptedLLM
from mtagent.records import ErrorSpan, Message, Rating, Segment, same_rater
from tests.codes import without_codes
from tests.commands import Shell

TEXT = "Die Klinik bleibt zu, also sammeln Sie Ihre Ergebnisse spätestens heute ab."
SEGMENT = Segment(
    id="4", source="The clinic is closed on Friday, so collect your results today.", source_lang="en",
    target_lang="de", translation=TEXT,
)  # fmt: skip


def span(text: str, **fields: Any) -> ErrorSpan:
    start = TEXT.find(text)
    place = {"start": start, "end": start + len(text)} if start >= 0 else {}
    return ErrorSpan(**{"text": text, "category": "accuracy/mistranslation", "severity": "major", **place, **fields})


VERB = span("sammeln", suggestion="holen")
LATEST = span(" spätestens", suggestion="", severity="minor", category="accuracy/addition")
MISSING = span("on Friday", side="omission", category="accuracy/omission", suggestion="am Freitag", before="bleibt")


class Marks:
    """An evaluator that marks what it is given, with the weights of the rubric."""

    name = "marks"
    weights = "rubric"
    calls = (1, 2)
    signature = "marks|model:x|reference:yes|version:9"

    def __init__(self, *errors: ErrorSpan, **rating: Any) -> None:
        self._errors, self._rating = errors, rating

    async def rate(self, segment: Segment, translation: str) -> Rating:
        score = -sum({"major": 3, "minor": 1, "critical": 4, "neutral": 0}[error.severity] for error in self._errors)
        fields = {"evaluator": self.name, "score": score, "errors": self._errors, "signature": self.signature}
        return Rating(**{**fields, **self._rating})


def texts_of(messages: Sequence[Message]) -> tuple[str, str]:
    """The two texts that are compared."""
    shown = without_codes(messages[-1].content)
    return tuple(shown.split(f"<translation_{name}>")[1].split(f"</translation_{name}>")[0] for name in "ab")  # type: ignore[return-value]


def judge(*better: str, model: str = "judge") -> ScriptedLLM:
    """Prefers each text of ``better`` to the translation, and else sees a tie."""

    def reply(messages: Sequence[Message], purpose: str) -> str:
        if purpose == "fix":
            return json.dumps({"fixes": [{"number": 1, "suggestion": "holen", "before": "", "after": ""}]})
        a, b = texts_of(messages)
        return json.dumps({"better": "A" if a in better else "B" if b in better else "tie"})

    return ScriptedLLM(reply, model=model)


HOLEN = TEXT.replace("sammeln", "holen")


async def test_an_error_counts_where_the_text_with_it_alone_mended_is_preferred_in_both_orders() -> None:
    llm = judge(HOLEN)
    rating = await MqmApe(llm, Marks(VERB, MISSING, LATEST, explanation="Looked.")).rate(SEGMENT, TEXT)
    compared = {frozenset(texts_of(request.messages)) - {TEXT} for request in llm.requests}
    friday = TEXT.replace("bleibt", "bleibt am Freitag")
    assert compared == {frozenset({text}) for text in (HOLEN, friday, TEXT.replace(" spätestens", ""))}
    assert [request.purpose for request in llm.requests] == ["judge"] * 6
    assert (rating.evaluator, rating.score, rating.errors) == ("mqm-ape", -3, (VERB,))
    assert len(rating.calls) == rating.usage.calls == 6
    assert rating.explanation is not None
    looked, omission, addition = rating.explanation.splitlines()
    assert looked == "Looked."
    assert omission.startswith("dropped: major accuracy/omission, missing 'on Friday' -> 'am Freitag': mending it does")
    assert addition.endswith("' spätestens' -> '': mending it does not make the text better (tie, tie)")
    assert rating.warnings == ()


@pytest.mark.parametrize("place", ["A", "B"])
@pytest.mark.parametrize(("unmended", "score"), [("keep", -3), ("drop", 0)])
async def test_a_judge_that_chooses_the_same_place_in_both_orders_has_checked_nothing(
    place: str, unmended: Any, score: float
) -> None:
    llm = ScriptedLLM([f'{{"better": "{place}"}}'] * 2)
    rating = await MqmApe(llm, Marks(VERB), unmended=unmended).rate(SEGMENT, TEXT)
    assert rating.score == score
    said = rating.warnings[0] if unmended == "keep" else rating.explanation or ""
    assert "not checked, since the judge contradicts itself" in said


async def test_a_tie_in_one_order_is_a_doubt_and_no_contradiction() -> None:
    rating = await MqmApe(ScriptedLLM(['{"better": "B"}', '{"better": "tie"}']), Marks(VERB)).rate(SEGMENT, TEXT)
    assert (rating.score, rating.errors, rating.warnings) == (0, (), ())
    assert "(mended, tie)" in (rating.explanation or "")


async def test_neutral_errors_and_those_of_the_source_are_neither_checked_nor_dropped() -> None:
    others = (span("heute", severity="neutral", suggestion="x"), span("clinic", side="source", severity="minor"))
    rating = await MqmApe(ScriptedLLM([]), Marks(*others, warnings=("Unsure.",))).rate(SEGMENT, TEXT)
    assert (rating.score, rating.errors, rating.calls) == (-1, others, ())
    assert rating.warnings == ("Unsure.",)


async def test_what_is_not_suggested_is_asked_for_in_one_request_and_drives_the_editor_too() -> None:
    without = VERB.model_copy(update={"suggestion": None})
    llm = judge(HOLEN)
    rating = await MqmApe(llm, Marks(without, LATEST)).rate(SEGMENT, TEXT)
    assert [call.purpose for call in rating.calls] == ["fix"] + ["judge"] * 4
    assert rating.errors == (VERB,)


@pytest.mark.parametrize("unmended", ["keep", "drop"])
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (span("nirgends", suggestion="x"), "the span is not in the text"),
        (span("e", start=None, end=None, suggestion="x"), "the span stands only inside words"),
        (span("on Friday", side="omission", suggestion="am Freitag"), "no anchor tells where text is missing"),
        (span("sammeln", suggestion="sammeln"), "the suggestion is already there"),
    ],
)
async def test_what_cannot_be_mended_is_kept_with_a_warning_or_dropped_and_it_is_said(
    error: ErrorSpan, why: str, unmended: Any
) -> None:
    rating = await MqmApe(ScriptedLLM([]), Marks(error), unmended=unmended).rate(SEGMENT, TEXT)
    said = rating.warnings[0] if unmended == "keep" else rating.explanation or ""
    assert f"not checked, since it cannot be mended: {why}" in said
    assert (rating.errors, rating.score) == (((error,), -3) if unmended == "keep" else ((), 0))
    assert (bool(rating.warnings), bool(rating.explanation)) == (unmended == "keep", unmended == "drop")


async def test_a_suggestion_that_the_model_denies_leaves_the_error_unchecked() -> None:
    llm = ScriptedLLM(['{"fixes": [{"number": 1, "suggestion": null}]}'])
    rating = await MqmApe(llm, Marks(VERB.model_copy(update={"suggestion": None}))).rate(SEGMENT, TEXT)
    assert "cannot be mended: nothing is suggested" in rating.warnings[0]


async def test_overlapping_errors_are_mended_each_by_itself_and_equal_mendings_are_asked_about_once() -> None:
    wider = span("sammeln Sie", suggestion="holen Sie", severity="minor")
    assert [mending.text for mending in mended(TEXT, (VERB, wider))] == [HOLEN, HOLEN]
    llm = judge(HOLEN)
    rating = await MqmApe(llm, Marks(VERB, wider)).rate(SEGMENT, TEXT)
    assert (len(llm.requests), rating.score) == (2, -4)


def test_errors_that_say_the_same_share_their_places() -> None:
    error = ErrorSpan(text="uno", category="other", severity="major", suggestion="dos")
    first, second = mended("uno y uno", (error, error))
    assert (first.text, second.text) == ("dos y uno", "uno y dos")
    assert (first.error.start, second.error.start) == (0, 6)
    assert mended("uno y uno", (error,))[0].why == "the span stands in 2 places"


async def test_the_severest_errors_are_checked_and_the_others_are_kept_with_a_warning() -> None:
    errors = (LATEST, VERB, span("heute", suggestion="morgen", severity="minor"))
    rating = await MqmApe(judge(), Marks(*errors), most=1).rate(SEGMENT, TEXT)
    assert rating.errors == (LATEST, errors[2])
    assert rating.warnings == ("2 of 3 errors are not checked: most=1",)
    with pytest.raises(ConfigError, match="most=0 checks no error"):
        MqmApe(judge(), Marks(), most=0)


async def test_a_corrected_text_of_the_evaluator_is_not_offered_since_it_mends_what_was_dropped() -> None:
    rating = await MqmApe(judge(HOLEN), Marks(VERB, LATEST, correction="Ganz anders.")).rate(SEGMENT, TEXT)
    assert rating.correction is None


async def test_a_judge_that_cannot_be_read_fails_the_rating_with_all_calls_and_none_is_given_up() -> None:
    def reply(messages: Sequence[Message], purpose: str) -> str:
        return "Both are fine." if "holen" in messages[-1].content or len(messages) > 2 else '{"better": "tie"}'

    llm = ScriptedLLM(reply)
    with pytest.raises(RatingParseError) as caught:
        await MqmApe(llm, Marks(VERB, LATEST)).rate(SEGMENT, TEXT)
    assert len(caught.value.calls) == len(llm.requests) >= 5
    assert not any("given up" in (call.error or "") for call in caught.value.calls[-2:])


async def test_an_evaluator_that_fails_fails_the_rating_with_its_calls() -> None:
    llm = ScriptedLLM([ServerError("down")])
    with pytest.raises(ServerError) as caught:
        await MqmApe(llm, GembaMQM(llm)).rate(SEGMENT, TEXT)
    assert [call.purpose for call in caught.value.calls] == ["rate"]


class Waiting(ScriptedLLM):
    """Counts how many requests wait at once."""

    most = waiting = 0

    async def complete(self, messages: Sequence[Message], **options: Any) -> Any:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0.01)
        self.waiting -= 1
        return await super().complete(messages, **options)


async def test_all_comparisons_of_a_text_are_asked_for_at_once() -> None:
    llm = Waiting(lambda messages, purpose: '{"better": "tie"}')
    await MqmApe(llm, Marks(VERB, LATEST, MISSING)).rate(SEGMENT, TEXT)
    assert llm.most == 6


# -- what it is made of


@pytest.mark.parametrize("evaluator", [GembaDA(judge()), GembaESA(judge())])
def test_an_evaluator_whose_score_does_not_follow_from_its_errors_is_refused(evaluator: Evaluator) -> None:
    with pytest.raises(ConfigError, match=f"the score of {evaluator.name} is not the sum of the errors that it marks"):
        MqmApe(judge(), evaluator)


async def test_a_score_that_is_not_the_sum_of_its_errors_is_refused() -> None:
    for rating in ({"score": -2}, {"errors": None}):
        with pytest.raises(EvaluationError, match="choose one with rater=NAME"):
            await MqmApe(judge(), Marks(VERB, **rating)).rate(SEGMENT, TEXT)


def test_the_signature_names_evaluator_and_judge_and_the_calls_are_a_range() -> None:
    llm, other = judge(model="m"), judge(model="other")
    usual = MqmApe(llm, Marks())
    assert "|evaluator:marks|model:x|reference:yes|judge:pairwise|model:m|prompt:compare@" in usual.signature
    assert "|unmended:keep|most:10|version:" in usual.signature
    assert "version:9" not in usual.signature
    others = [MqmApe(llm, Marks(), Pairwise(other)), MqmApe(llm, GembaMQM(llm)), MqmApe(llm, Marks(), unmended="drop")]
    assert not any(same_rater(usual.signature, evaluator.signature) for evaluator in others)
    assert isinstance(usual, CountsCalls)
    assert usual.calls == (1, 2 + 1 + 20)


def made(spec: str) -> Any:
    models = {"usual": judge(model="usual")}
    surroundings = Surroundings(
        models["usual"], Config(), Path("nowhere"), another=lambda name: models.setdefault(name, judge(model=name))
    )
    return make_evaluator(spec, surroundings)


def test_options_that_are_not_its_own_are_those_of_the_evaluator_that_it_checks() -> None:
    spec = "mqm-ape:evaluator=rubric-mqm,scale=1-8,reference=yes,unmended=drop,judge-model=other"
    signature = made(spec).signature
    assert "|evaluator:rubric-mqm|model:usual|prompt:rubric-mqm-8@" in signature
    assert "|scale:1-8|forced:no|reference:yes|judge:pairwise|model:other|" in signature
    assert "|unmended:drop|" in signature
    assert "|evaluator:gemba-mqm|" in made("mqm-ape").signature


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("evaluator=mqm-ape", "checks the errors that another evaluator marks: write mqm-ape:evaluator=gemba-mqm"),
        ("evaluator=rubric-mqm:scale=1-8", "write mqm-ape:evaluator=rubric-mqm,scale=1-8"),
        ("evaluator=rubric", "no evaluator 'rubric'; did you mean 'rubric-mqm'"),
        ("evaluator=rubric-mqm,scal=1-8", "evaluator rubric-mqm: no option 'scal'; did you mean 'scale'"),
        ("evaluator=gemba-da", "mqm-ape: the score of gemba-da is not the sum"),
        ("evaluator=rate", "mqm-ape: the score of rate is not the sum"),
        ("unmended=perhaps", "evaluator mqm-ape: unmended"),
    ],
)
def test_what_is_wrong_with_its_name_is_said(options: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        made(f"mqm-ape:{options}")


def test_another_model_judges_only_where_there_is_a_way_to_ask_it() -> None:
    with pytest.raises(ConfigError, match="judge-model=x: no other model can be used here"):
        make_evaluator("mqm-ape:judge-model=x", Surroundings(judge(), Config(), Path("nowhere")))


# -- in the chain and on the command line


def test_it_drives_post_editing_with_the_mendings_that_were_preferred() -> None:
    def reply(messages: Sequence[Message], purpose: str) -> str:
        if purpose == "rate":
            errors = [
                {"span": "sammeln", "before": "", "after": "", "category": "mistranslation", "severity": 3}
                | {"suggestion": "holen"},
                {
                    "span": "heute",
                    "before": "",
                    "after": "",
                    "category": "style",
                    "severity": 1,
                    "suggestion": "morgen",
                },
            ]
            return json.dumps({"errors": errors})
        a, b = texts_of(messages)
        return json.dumps({"better": "A" if a == HOLEN else "B" if b == HOLEN else "tie"})

    llm = ScriptedLLM(reply, model="m")
    agent = Agent(llm=llm, evaluator="mqm-ape:evaluator=rubric-mqm", stages="pe", gate="guards")
    (chain,) = agent.postedit([SEGMENT.source], [TEXT], "en", "de")
    (step,) = chain.steps
    assert chain.text == HOLEN
    assert [edit.old for edit in step.edits] == ["sammeln"]
    assert len(step.calls) == 5
    rating = step.rating("editor")
    assert rating is not None
    assert "dropped: minor style, 'heute' -> 'morgen'" in (rating.explanation or "")


@pytest.mark.loopback
def test_it_rates_on_the_command_line_and_tells_what_it_dropped(shell: Shell, panel: str) -> None:
    shell.write("s.txt", "It is good.", "It is sure.")
    shell.write("t.txt", "Es errado y bueno.", "Es dudoso y bueno.")
    line = f"-s s.txt -t t.txt -l en-es --base-url {panel} --evaluator mqm-ape:evaluator=gemba-mqm -o r.jsonl"
    assert shell(f"rate {line} --name r").code == 0
    first, second = shell.objects("r.jsonl")
    assert (first["score"], second["score"]) == (-5, 0)
    assert "dropped: major accuracy/untranslated text, 'dudoso' -> 'seguro'" in shell("rate --show t/2 --name r").out


def test_annotations_of_people_are_checked_for_each_system_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    error = {"text": "sammeln", "category": "other", "severity": "major", "suggestion": "holen"}
    line = {"id": "4", "source": SEGMENT.source, "translation": TEXT, "system": "a", "errors": [error]}
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    evaluator = made(f"mqm-ape:evaluator=spans-file,path={path}")
    assert isinstance(evaluator, RatesSystems)
    rating = asyncio.run(evaluator.rate_system(SEGMENT, TEXT, "a", alone=False))
    assert (rating.score, rating.errors) == (0, ())
    assert not isinstance(MqmApe(judge(), RubricMQM(judge())), RatesSystems)
